from amplifier_core.validation.behavioral import ProviderBehaviorTests
from amplifier_core.validation.structural import ProviderStructuralTests


class TestParrotProviderBehavior(ProviderBehaviorTests):
    """Standard behavior."""


class TestParrotProviderStructure(ProviderStructuralTests):
    """Standard structure."""
