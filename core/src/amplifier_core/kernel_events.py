"""Event names that this kernel adds to the canonical ones of ``events``.

``events`` is a closed list that other packages count; these are announced on the contribution channel
``observability.events`` instead, as any module announces its own.
"""

from __future__ import annotations

SESSION_CONFIG = "session:config"
MODULE_CONFIG_UNKNOWN = "module:config_unknown"
MODULE_CLEANUP_FAILED = "module:cleanup_failed"

KERNEL_EVENTS = [SESSION_CONFIG, MODULE_CONFIG_UNKNOWN, MODULE_CLEANUP_FAILED]
