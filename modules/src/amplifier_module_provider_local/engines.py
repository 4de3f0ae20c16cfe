"""Loaded models of this process: sessions that use the same model file share one, and the last to go unloads it.

This is state of the process, on purpose: a model takes hundreds of megabytes and seconds to load, and sessions have
nothing in common but the process. It holds nothing of any conversation that another one could read: what the engine
remembers of prompts only spares it work for prompts that begin with the same tokens.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from amplifier_module_provider_local.engine import Engine


class EngineKey(NamedTuple):
    """What makes two engines the same."""

    path: Path
    context_window: int
    n_threads: int


Load = Callable[[EngineKey], Engine]


@dataclass(slots=True)
class _Entry:
    loaded: Future[Engine] = field(default_factory=Future[Engine])
    users: int = 0


class Lease:
    """The use of an engine, until it is given back."""

    def __init__(self, engine: Engine, give_back: Callable[[], None]) -> None:
        self._held: tuple[Engine, Callable[[], None]] | None = (engine, give_back)

    @property
    def engine(self) -> Engine:
        """The engine; not to be asked for after ``release``."""
        assert self._held is not None
        return self._held[0]

    def release(self) -> None:
        """Gives the engine back; the second time does nothing."""
        if self._held is not None:
            give_back = self._held[1]
            self._held = None
            give_back()


class EngineTable:
    """Engines by what they are made of, each with the number of its users; for any thread and any event loop."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: dict[EngineKey, _Entry] = {}

    def __len__(self) -> int:
        return len(self._entries)

    async def lease(self, key: EngineKey, load: Load) -> Lease:
        """The engine for ``key``, loaded in a thread if nobody has it; raises what ``load`` raises.

        A caller who gives up leaves the loading to the others who wait for it.
        """
        with self._lock:
            entry = self._entries.get(key)
            is_first = entry is None
            if entry is None:
                entry = self._entries[key] = _Entry()
            entry.users += 1
        try:
            if is_first:
                threading.Thread(target=_load, args=(entry, key, load), name="amplifier-model", daemon=True).start()
            engine = await asyncio.shield(asyncio.wrap_future(entry.loaded))
        except BaseException:
            self._leave(key, entry)
            raise
        return Lease(engine, lambda: self._leave(key, entry))

    def _leave(self, key: EngineKey, entry: _Entry) -> None:
        with self._lock:
            entry.users -= 1
            # A load that failed is nobody's any more, so that the next one tries again.
            is_failed = entry.loaded.done() and entry.loaded.exception() is not None
            if (entry.users == 0 or is_failed) and self._entries.get(key) is entry:
                del self._entries[key]


def _load(entry: _Entry, key: EngineKey, load: Load) -> None:
    try:
        engine = load(key)
    except BaseException as error:
        entry.loaded.set_exception(error)
    else:
        entry.loaded.set_result(engine)


ENGINES = EngineTable()
"""The engines of this process."""
