"""The line of sessions from the one that a person started down to this one: how deep it is, how deep it may go, ids.

The depth does not come from any config, which an agent's overlay could change. It travels with the call that starts a
child, and can be read from a child's id where the child runs in another process.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from hashlib import sha256

_GENERATION = re.compile(r"-[0-9a-f]{16}_")
_CHILD_PART = re.compile(r"-[0-9a-f]{16}_[A-Za-z0-9.-]+")
_UNFIT_IN_NAME = re.compile(r"[^A-Za-z0-9.-]+")
_MOST_NAME_CHARS = 32
# An id is also the name of a folder, and file systems take 255 bytes.
_MOST_PARENT_CHARS = 160
_KEPT_PARENT_CHARS = 120


@dataclass(frozen=True, slots=True)
class Lineage:
    """Where a session stands: generations below the first one, and the deepest that its line may have."""

    depth: int = 0
    max_depth: int | None = None

    @classmethod
    def of(cls, session_id: str) -> Lineage:
        """The lineage of the session ``session_id``, which is being set up here and now."""
        here = _current.get()
        return cls(max(here.depth, len(_GENERATION.findall(session_id))), here.max_depth)

    def narrowed(self, max_depth: int) -> Lineage:
        """The same place with ``max_depth`` as a further limit; a limit can be tightened, never loosened."""
        return Lineage(self.depth, max_depth if self.max_depth is None else min(max_depth, self.max_depth))

    @property
    def has_room(self) -> bool:
        """Whether this session may have children."""
        return self.max_depth is None or self.depth < self.max_depth

    @contextmanager
    def descended(self) -> Generator[None]:
        """Sessions that are set up inside are one generation below this one."""
        token = _current.set(Lineage(self.depth + 1, self.max_depth))
        try:
            yield
        finally:
            _current.reset(token)


_ROOT = Lineage()
_current: ContextVar[Lineage] = ContextVar("amplifier_modkit_lineage", default=_ROOT)


def sub_session_id(parent_id: str, agent: str, new_id: Callable[[], str]) -> str:
    """An id for a child: ``<parent>-<16 hex>_<agent>``; what no file name can have is left out of the agent's name."""
    name = _UNFIT_IN_NAME.sub("-", agent)[:_MOST_NAME_CHARS].strip("-.") or "agent"
    return f"{_shortened(parent_id)}-{_digest(new_id())}_{name}"


def is_child_id(session_id: str, parent_id: str) -> bool:
    """Whether an id is one that ``sub_session_id`` gives to a child of ``parent_id``."""
    beginning = _shortened(parent_id)
    return session_id.startswith(beginning) and _CHILD_PART.fullmatch(session_id, len(beginning)) is not None


def _shortened(parent_id: str) -> str:
    if len(parent_id) <= _MOST_PARENT_CHARS:
        return parent_id
    return f"{parent_id[:_KEPT_PARENT_CHARS]}-{_digest(parent_id)}_"


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
