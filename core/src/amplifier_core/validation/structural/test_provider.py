"""The structure of a provider."""

from __future__ import annotations

from amplifier_core.validation.provider import ProviderValidator
from amplifier_core.validation.structural._suite import StructuralTests


class ProviderStructuralTests(StructuralTests):
    """What every provider is made of; to be inherited by its author's tests."""

    validator = ProviderValidator
