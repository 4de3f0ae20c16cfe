"""What the file tools of one session share: the policy, what has been read, the threads, and the way to tell others."""

from __future__ import annotations

import asyncio
import re
from inspect import isawaitable
from pathlib import Path
from typing import Any

from amplifier_core.events import ARTIFACT_READ, ARTIFACT_WRITE
from amplifier_modkit.paths.checkpoints import checkpoint
from amplifier_modkit.paths.io_threads import IoThreads
from amplifier_modkit.paths.policy import PathPolicy
from amplifier_modkit.paths.walk import Place
from amplifier_modkit.paths.working_dir import working_dir_of
from amplifier_module_tool_filesystem.config import FilesystemConfig
from amplifier_module_tool_filesystem.ledger import Ledger
from amplifier_module_tool_filesystem.problems import InputError

# A scoped package such as "@types/node" is a path like any other.
_MENTION = re.compile(r"@[\w.-]+:.+", re.DOTALL)


class Desk:
    """Lives as long as the tools of one session."""

    def __init__(self, coordinator: Any, config: FilesystemConfig, policy: PathPolicy) -> None:
        self.config = config
        self.policy = policy
        self.ledger = Ledger()
        self.io = IoThreads(config.io_timeout)
        self.writing = asyncio.Lock()
        """Held by whoever changes files: of two edits at once, the second sees what the first has made."""
        self._coordinator = coordinator

    @classmethod
    async def of_session(cls, coordinator: Any, config: FilesystemConfig) -> Desk:
        """The desk of a session that begins; its working directory is settled here and now."""

        def make(leave: object) -> PathPolicy:
            return PathPolicy.from_config(config, working_dir_of(coordinator, config.working_dir))

        return cls(coordinator, config, await IoThreads(config.io_timeout).run(make))

    async def path_for(self, asked: str) -> str:
        """The path that a model means: what begins with ``@bundle:`` is looked up by the session's resolver."""
        if not _MENTION.fullmatch(asked):
            return asked
        resolver = self._coordinator.get_capability("mention_resolver")
        if resolver is None:
            raise InputError(f"{asked!r} names a file of a bundle, and this session has no bundles. Give a plain path.")
        try:
            found = getattr(resolver, "resolve", resolver)(asked)
            found = await found if isawaitable(found) else found
        except Exception as error:
            raise InputError(f"{asked!r} cannot be looked up: {type(error).__name__}: {error}") from error
        if found is None:
            raise InputError(f"There is no {asked!r} in the bundles of this session. Check its name, or give a path.")
        return str(found)

    def checkpoint(self, place: Place, before: bytes | None, after: bytes | None) -> None:
        """Has the application keep what a file was, right before it is changed; ``after`` is ``None`` for a removal."""
        checkpoint(self._coordinator, place, before, after)

    async def tell_read(self, path: Path, size: int) -> None:
        """Tells that a file was read."""
        await self._coordinator.hooks.emit(ARTIFACT_READ, {"path": str(path), "bytes": size})

    async def tell_written(self, path: Path, size: int) -> None:
        """Tells that a file was written; with no bytes when it was removed."""
        await self._coordinator.hooks.emit(ARTIFACT_WRITE, {"path": str(path), "bytes": size})
