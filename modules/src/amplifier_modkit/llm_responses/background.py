"""Answers that the service works on in the background: asked for again and again until they are there."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from amplifier_core.llm_errors import LLMError, LLMTimeoutError
from amplifier_core.utils.retry import RetryConfig, retry_with_backoff

logger = logging.getLogger(__name__)

RUNNING = ("queued", "in_progress")

Ask = Callable[[str, str], Awaitable[Mapping[str, Any]]]
"""Asks the service, by method and id of the answer (or what to do with it), and gives its JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How often to ask, for how long, and how to try again when asking fails; times in seconds."""

    poll_interval: float
    timeout: float
    retries: RetryConfig


async def wait_for_answer(
    response_id: str,
    ask: Ask,
    tell: Callable[[Any, float], Awaitable[None]],
    patience: Patience,
    sleep: Callable[[float], Awaitable[None]],
) -> Mapping[str, Any]:
    """The answer once it is there; ``tell`` hears each status. One that is given up is cancelled over there, too."""
    waited = 0.0
    try:
        while waited < patience.timeout:
            await sleep(patience.poll_interval)
            waited += patience.poll_interval
            body = await retry_with_backoff(lambda: ask("GET", response_id), patience.retries)
            await tell(body.get("status"), waited)
            if body.get("status") not in RUNNING:
                return body
    except asyncio.CancelledError:
        await _cancel(response_id, ask)
        raise
    await _cancel(response_id, ask)
    raise LLMTimeoutError(
        f"The answer {response_id} was not ready after {patience.timeout:g} s; 'background_timeout' is the limit",
        retryable=False,
    )


async def _cancel(response_id: str, ask: Ask) -> None:
    try:
        await asyncio.shield(asyncio.wait_for(_quietly(ask("POST", f"{response_id}/cancel")), 5))
    except (TimeoutError, asyncio.CancelledError):
        logger.warning("The answer %s could not be cancelled in time; it goes on at the service", response_id)


async def _quietly(asking: Awaitable[Any]) -> None:
    try:
        await asking
    except LLMError as error:
        logger.warning("An answer in the background could not be cancelled: %s", error)
