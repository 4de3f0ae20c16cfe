from amplifier_core.validation.behavioral import ToolBehaviorTests
from amplifier_core.validation.structural import ToolStructuralTests


class TestBehavior(ToolBehaviorTests):
    pass


class TestStructure(ToolStructuralTests):
    pass
