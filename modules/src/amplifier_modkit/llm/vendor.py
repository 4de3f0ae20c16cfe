"""What is fixed about a vendor: its names, its place, how a key is shown, which models are known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from amplifier_core.capabilities import STREAMING, TOOLS
from amplifier_core.models import ConfigField
from amplifier_modkit.llm.catalogue import Catalogue
from amplifier_modkit.llm.errors import Judge
from amplifier_modkit.llm.limits import ReadLimits, read_rate_limits


def bearer(key: str | None) -> Mapping[str, str]:
    """The header that most services read a key from."""
    return {"authorization": f"Bearer {key}"} if key else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Vendor:
    """One vendor; ``name`` is what its provider is mounted under, the module's id without ``provider-``.

    ``origin`` marks blocks that only this vendor can read; several names may share one.
    """

    name: str
    display_name: str
    base_url: str
    default_model: str
    catalogue: Catalogue
    origin: str = ""
    key_vars: tuple[str, ...] = ()
    url_vars: tuple[str, ...] = ()
    needs_key: bool = True
    authorise: Callable[[str | None], Mapping[str, str]] = bearer
    models_path: str | None = None
    capabilities: tuple[str, ...] = (TOOLS, STREAMING)
    config_fields: tuple[ConfigField, ...] = ()
    read_limits: ReadLimits = read_rate_limits
    judge: Judge | None = None

    @property
    def mark(self) -> str:
        """What blocks of this vendor are marked with."""
        return self.origin or self.name
