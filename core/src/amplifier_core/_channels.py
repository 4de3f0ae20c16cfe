"""Contribution channels: modules offer data under a name, whoever needs it collects it on demand."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict

from amplifier_core._awaiting import belongs_to_caller, settle

logger = logging.getLogger(__name__)


class Contributor(TypedDict):
    """One registered source of a channel."""

    name: str
    callback: Callable[[], Any]


async def collect_contributions(channels: Mapping[str, Sequence[Contributor]], channel: str) -> list[Any]:
    """Calls the contributors of ``channel`` in the order of their registration and gives what is not ``None``.

    One that fails is logged and left out. One that raises ``CancelledError`` by itself ends the collection, since it
    means that the work behind it is being stopped; the cancellation of the collecting task travels on.
    """
    collected: list[Any] = []
    for contributor in list(channels.get(channel, ())):
        name = contributor["name"]
        try:
            contribution = await settle(contributor["callback"]())
        except Exception as error:
            logger.warning("Contributor '%s' on channel '%s' failed: %s", name, channel, error)
            continue
        except BaseException as error:
            if belongs_to_caller(error):
                raise
            logger.warning("Contributor '%s' on channel '%s' was cancelled; collection stops here", name, channel)
            break
        if contribution is not None:
            collected.append(contribution)
    return collected
