from amplifier_core.validation.behavioral import ContextBehaviorTests
from amplifier_core.validation.structural import ContextStructuralTests


class TestBehavior(ContextBehaviorTests):
    pass


class TestStructure(ContextStructuralTests):
    pass
