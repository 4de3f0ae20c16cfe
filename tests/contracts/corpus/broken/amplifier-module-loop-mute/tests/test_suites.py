from amplifier_core.validation.behavioral import OrchestratorBehaviorTests
from amplifier_core.validation.structural import OrchestratorStructuralTests


class TestBehavior(OrchestratorBehaviorTests):
    pass


class TestStructure(OrchestratorStructuralTests):
    pass
