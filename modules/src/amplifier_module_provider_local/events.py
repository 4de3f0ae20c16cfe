"""Names of the events that this module emits beside those of every provider."""

from __future__ import annotations

PROVIDER_MODEL_FETCH = "provider:model_fetch"
"""The package with the model is being fetched: ``provider``, ``package``, ``bytes``, ``total_bytes``, ``status``
(``running``, ``done`` or ``error``), and ``error`` where there is one."""
