"""A provider asked once, with as little as possible: does it answer, with which model, and how quickly?"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

from amplifier.problems import ProviderProblem

_LIMIT_S = 60.0


class Trial(NamedTuple):
    """What came of asking."""

    provider: str
    model: str | None
    text: str
    duration_ms: float
    input_tokens: int
    output_tokens: int


async def try_provider(name: str, provider: Any, prompt: str, model: str | None, timeout_s: float = _LIMIT_S) -> Trial:
    """Asks; raises ``ProviderProblem`` with what it said where there is no answer."""
    import asyncio

    from amplifier_core.llm_errors import AuthenticationError
    from amplifier_core.message_models import ChatRequest, Message

    request = ChatRequest(messages=[Message(role="user", content=prompt)], model=model)
    started = time.perf_counter()
    try:
        async with asyncio.timeout(timeout_s):
            response = await provider.complete(request)
    except AuthenticationError as error:
        raise ProviderProblem(
            f"The provider '{name}' refuses the key: {error}", "Set another one: amplifier config set-key NAME"
        ) from None
    except TimeoutError:
        raise ProviderProblem(
            f"The provider '{name}' did not answer in {timeout_s:g} s.",
            "Is the service reachable? --timeout gives more.",
        ) from None
    except Exception as error:
        raise ProviderProblem(
            f"The provider '{name}' cannot be asked: {type(error).__name__}: {error}", "amplifier doctor --online"
        ) from None
    took_ms = round((time.perf_counter() - started) * 1000, 1)
    used = response.usage
    tokens = (0, 0) if used is None else (used.input_tokens, used.output_tokens)
    return Trial(name, model or _model_of(provider, response), _text_of(response), took_ms, *tokens)


def _model_of(provider: Any, response: Any) -> str | None:
    return getattr(response, "model", None) or provider.get_info().defaults.get("model")


def _text_of(response: Any) -> str:
    return "".join(getattr(block, "text", "") for block in response.content).strip()
