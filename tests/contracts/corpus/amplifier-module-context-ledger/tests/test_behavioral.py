from amplifier_core.validation.behavioral import ContextBehaviorTests
from amplifier_core.validation.structural import ContextStructuralTests


class TestLedgerContextBehavior(ContextBehaviorTests):
    async def test_compacts_when_long(self, context_module):
        """A long ledger is shortened for a request."""
        context_module.max_tokens = 100
        for number in range(50):
            await context_module.add_message({"role": "user", "content": f"message {number}"})
        assert len(await context_module.get_messages_for_request()) == 10


class TestLedgerContextStructure(ContextStructuralTests):
    pass
