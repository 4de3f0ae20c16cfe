from amplifier_core.validation.behavioral import HookBehaviorTests
from amplifier_core.validation.structural import HookStructuralTests


class TestBehavior(HookBehaviorTests):
    pass


class TestStructure(HookStructuralTests):
    pass
