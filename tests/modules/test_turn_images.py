"""Images in a prompt, in every loop: kept, sent, and sent again the same way."""

from __future__ import annotations

from typing import Any

import pytest
from tests.modules.turn_world import LOOPS, fast_loop

from amplifier_core.testing import EventRecorder, MockContextManager, MockProvider
from amplifier_modkit.memory.tokens import estimate
from amplifier_modkit.messages import plain

DATA = "iVBORw0K" * 50_000
IMAGE: dict[str, Any] = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": DATA}}
CONTENT: list[dict[str, Any]] = [{"type": "text", "text": "see "}, IMAGE, {"type": "text", "text": "there"}]


@pytest.mark.parametrize("name", LOOPS)
async def test_every_loop_takes_a_prompt_with_images(name: str) -> None:
    """It is sent with the first request and all that follow, in its order."""
    context, provider = MockContextManager(), MockProvider(["It is red.", "Yes."])
    world: dict[str, Any] = {"context": context, "providers": {"mock": provider}, "tools": {}, "hooks": EventRecorder()}
    assert await fast_loop(name).execute("see there", content=CONTENT, **world) == "It is red."
    assert await fast_loop(name).execute("sure?", **world) == "Yes."
    assert [each["content"] for each in context.messages if each["role"] == "user"] == [CONTENT, "sure?"]
    sent = [plain(request.messages[0].content) for request in provider.requests]
    assert sent == [CONTENT, CONTENT]
    assert "iVBORw0K" not in str([data for event, data in world["hooks"].events if event != "provider:request"])


def test_an_image_counts_as_what_it_costs() -> None:
    """Its encoding is no text: 400,000 characters of it are no 100,000 tokens."""
    assert 1_600 <= estimate({"role": "user", "content": CONTENT}) <= 1_700
