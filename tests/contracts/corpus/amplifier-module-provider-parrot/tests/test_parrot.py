# pyright: reportMissingImports=false
import pytest
from amplifier_core import ChatRequest, Message
from amplifier_core.llm_errors import AuthenticationError
from amplifier_core.testing import create_test_coordinator

from amplifier_module_provider_parrot import Client, ParrotProvider, mount


@pytest.mark.asyncio
async def test_provider_mount():
    """The client is closed by the clean-up."""
    coordinator = create_test_coordinator()
    cleanup = await mount(coordinator, {"api_key": "test-key"})
    assert "parrot" in coordinator.get_mounted("providers")
    if cleanup:
        await cleanup()
    assert coordinator.get("providers")["parrot"].client.closed


@pytest.mark.asyncio
async def test_without_key_nothing_is_mounted(monkeypatch, caplog):
    """A missing key is a warning, no error."""
    monkeypatch.delenv("PARROT_API_KEY")
    coordinator = create_test_coordinator()
    assert await mount(coordinator, {}) is None
    assert coordinator.get("providers") == {}
    assert "No API key" in caplog.text


@pytest.mark.asyncio
async def test_vendor_errors_are_translated():
    """A refused key is an AuthenticationError."""
    provider = ParrotProvider(Client("wrong"), {})
    with pytest.raises(AuthenticationError):
        await provider.complete(ChatRequest(messages=[Message(role="user", content="hi")]))
