"""Where the searches of one session take place: the path policy, the roots, and the threads that go through trees."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from amplifier_modkit.paths.errors import shown
from amplifier_modkit.paths.io_threads import IoThreads
from amplifier_modkit.paths.policy import PathPolicy
from amplifier_modkit.paths.spelling import is_within
from amplifier_modkit.paths.working_dir import working_dir_of
from amplifier_module_tool_search.config import SearchConfig
from amplifier_module_tool_search.problems import InputError
from amplifier_module_tool_search.walking import Scope, Walk

Result = TypeVar("Result")
IsStopped = Callable[[], bool]

_MOUNT_SECONDS = 30.0
# The tools have limits of their own; what still runs beyond them hangs, and is counted.
_THREAD_SECONDS = 86_400.0


@dataclass(frozen=True, slots=True)
class Root:
    """Where one search begins; judged and resolved."""

    folder: Path
    only: str | None = None
    """The name of the one file that is meant, if no folder is."""


class SearchPlace:
    """Lives as long as the tools of one session."""

    def __init__(self, policy: PathPolicy) -> None:
        self.policy = policy
        self._threads = IoThreads(_THREAD_SECONDS)

    @classmethod
    async def of_session(cls, coordinator: Any, config: SearchConfig) -> SearchPlace:
        """The place of a session that begins; its working directory is settled here and now."""

        def make(leave: object) -> PathPolicy:
            return PathPolicy.from_config(config.path_settings(), working_dir_of(coordinator, config.working_dir))

        return cls(await IoThreads(_MOUNT_SECONDS).run(make))

    async def work(self, work: Callable[[IsStopped], Result]) -> Result:
        """What ``work`` returns, in a thread; it is told to stop when nobody waits for it any more."""
        stopped = threading.Event()
        try:
            return await self._threads.run(lambda leave: work(stopped.is_set))
        finally:
            stopped.set()

    def root(self, path: str | None) -> Root:
        """Where a search in ``path`` begins; raises ``InputError`` if nothing is there, and ``PathDeniedError``."""
        with self.policy.visit(path or str(self.policy.working_dir), "read") as place:
            if place.is_folder:
                return Root(place.path)
            if place.facts is None:
                raise InputError(
                    f"There is no {shown(str(place.path))}. Check 'path'; without it, the search begins in "
                    f"{shown(str(self.policy.working_dir))}."
                )
            return Root(place.path.parent, place.path.name)

    def walk(self, root: Root, scope: Scope, is_stopped: IsStopped) -> Walk:
        """The way through the tree at ``root``, past folders that may not be read."""
        return Walk(root.folder, scope, may_enter=self.may_read, is_stopped=is_stopped)

    def may_read(self, resolved: str) -> bool:
        """Whether a resolved path may be read."""
        return self.policy.why_unreadable(resolved) is None

    def told(self, root: Root, name: str) -> str:
        """The path of ``name`` below ``root`` for a model: from the working directory if it is there."""
        path, base = str(root.folder.joinpath(*name.split("/"))), str(self.policy.working_dir)
        if is_within(path, base):
            return Path(path).relative_to(base).as_posix()
        return Path(path).as_posix()
