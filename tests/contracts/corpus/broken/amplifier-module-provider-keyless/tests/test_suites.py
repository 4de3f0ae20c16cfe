from amplifier_core.validation.behavioral import ProviderBehaviorTests
from amplifier_core.validation.structural import ProviderStructuralTests


class TestBehavior(ProviderBehaviorTests):
    pass


class TestStructure(ProviderStructuralTests):
    pass
