"""Model calls under way: which of them an event belongs to, so that each is paid once."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from amplifier_module_hooks_cost.estimates import Estimate

_REQUESTS_REMEMBERED = 1_000


@dataclass(slots=True)
class Call:
    """A call from ``provider:request`` to ``provider:response``."""

    key: Hashable
    session_id: str
    provider: str
    model: str
    estimate: Estimate
    reservation: str
    """The id of what is reserved for it in the file of the day."""
    is_paid: bool = False
    """Whether its provider has told what it took."""


class Calls:
    """The calls under way of some sessions.

    One task makes one call at a time, so a call is known by session and task. Its provider may work in another task;
    then it is known by its name.
    """

    def __init__(self) -> None:
        self._open: dict[Hashable, Call] = {}
        self._paid_requests: OrderedDict[str, None] = OrderedDict()

    @staticmethod
    def key(session_id: str) -> Hashable:
        """The key of a call that the running task makes."""
        return session_id, asyncio.current_task()

    def begin(self, call: Call) -> None:
        """Notes a call."""
        self._open[call.key] = call

    def end(self, session_id: str, provider: Any) -> Call | None:
        """Takes out the call that was answered or failed."""
        call = self.find(session_id, provider)
        return None if call is None else self._open.pop(call.key)

    def take(self, key: Hashable) -> Call | None:
        """Takes out the call with that key."""
        return self._open.pop(key, None)

    def find(self, session_id: str, provider: Any) -> Call | None:
        """The call that an event of that session is about."""
        own = self._open.get(self.key(session_id))
        return own or next((call for call in self.of(session_id) if call.provider == provider), None)

    def of(self, session_id: str) -> list[Call]:
        """The calls of one session."""
        return [call for call in self._open.values() if call.session_id == session_id]

    def is_first_report(self, request_id: Any) -> bool:
        """Whether that request was not paid before: an event may be shown twice, when a later handler changed it."""
        if not isinstance(request_id, str):
            return True
        if request_id in self._paid_requests:
            return False
        self._paid_requests[request_id] = None
        if len(self._paid_requests) > _REQUESTS_REMEMBERED:
            self._paid_requests.popitem(last=False)
        return True
