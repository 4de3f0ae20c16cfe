import pytest
from amplifier_core.validation.behavioral import ProviderBehaviorTests
from amplifier_core.validation.structural import ProviderStructuralTests


@pytest.fixture
def amplifier_module_config():
    return {"text": "tested"}


class TestFixedBehavior(ProviderBehaviorTests):
    def test_text_is_configured(self, provider_module):
        """The author's config reaches the module."""
        assert provider_module.text == "tested"


class TestFixedStructure(ProviderStructuralTests):
    pass
