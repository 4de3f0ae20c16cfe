"""The context that keeps a conversation in a journal as well as in memory, and goes on with it after a restart."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from amplifier_core.events import CONTEXT_INCLUDE
from amplifier_modkit.events import CONTEXT_HEALED, CONTEXT_JOURNAL_REPAIRED
from amplifier_modkit.memory.context import CompactingContext, CompactionPolicy, Plan
from amplifier_modkit.messages import Message, plain
from amplifier_module_context_persistent.config import PersistentContextConfig
from amplifier_module_context_persistent.journal import Journal
from amplifier_module_context_persistent.journal_file import Repair
from amplifier_module_context_persistent.location import journal_path, working_dir_of
from amplifier_module_context_persistent.memory_files import read_memory_files
from amplifier_module_context_persistent.records import Record, Transcript, clear, compaction, header
from amplifier_module_context_persistent.thinking import without_loose_thinking

logger = logging.getLogger(__name__)

JOURNAL_EVENTS = (CONTEXT_JOURNAL_REPAIRED, CONTEXT_INCLUDE)
"""What it emits beside the events of every context."""

_MOST_LINES_TOLD = 20


class PersistentContext(CompactingContext):
    """A conversation whose messages are in a journal before they count; lives from ``begin()`` to ``close()``.

    The journal is the authority: what it had at the beginning is the conversation, whoever says otherwise.
    """

    def __init__(self, policy: CompactionPolicy, journal: Journal, *, coordinator: Any = None) -> None:
        super().__init__(policy, coordinator=coordinator)
        self._journal = journal
        self._is_resumed = False
        # The messages that the journal will have since its last clear when all that is under way is written.
        self._stored_count = 0
        # Loaded messages of which a part cannot be sent again, as they were, by their place in the history.
        self._originals: dict[int, Message] = {}
        # Hooks are mounted after the context, so what happened before is told when they are there.
        self._untold: list[tuple[str, dict[str, Any]]] = []

    @classmethod
    async def begin(cls, config: PersistentContextConfig, coordinator: Any) -> Self:
        """Opens the journal of the coordinator's session, and goes on with what it has or begins with memory files.

        Raises ``JournalError`` or ``MemoryFileError`` where that fails, ``ValueError`` for an unusable session id.
        """
        working_dir = working_dir_of(coordinator)
        path = journal_path(config.transcript_path, coordinator.session_id, working_dir)
        journal, found = await Journal.open(
            path,
            header(coordinator.session_id, coordinator.timestamp()),
            durability=config.durability,
            group_interval_s=config.group_interval_ms / 1_000,
        )
        context = cls(config.policy(), journal, coordinator=coordinator)
        try:
            context._note_repair(found.repair)
            if found.transcript.messages:
                context._resume(found.transcript)
            else:
                context._note_healing(_unreadable(found.transcript))
                await context._include(config.memory_files, working_dir, config.max_tokens)
        except BaseException:
            await journal.close()
            raise
        return context

    @property
    def path(self) -> Path:
        """The file of the journal."""
        return self._journal.path

    @property
    def is_resumed(self) -> bool:
        """Whether the conversation is the one that the journal had at the beginning."""
        return self._is_resumed

    async def set_messages(self, messages: list[dict[str, Any]]) -> None:
        """Replaces everything, or nothing if one message is refused; ignored in a session that was resumed.

        What an application has kept often lacks a part of what the journal has.
        """
        if self._is_resumed:
            logger.info("set_messages() is ignored: the session was resumed from %s", self.path)
            return
        stored = [self._stored_form(message) for message in messages]
        await self._write(*self._clearing(), *stored, growth=len(stored) - self._stored_count)
        self.restore(stored, None)

    async def get_messages(self) -> list[dict[str, Any]]:
        """Everything since the last ``clear()``, in order; a copy through and through."""
        messages = await super().get_messages()
        for index, original in self._originals.items():
            messages[index] = plain(original)
        return messages

    async def tell_beginning(self) -> None:
        """Tells hooks what happened before they were there: a repair, lines left out, memory files."""
        untold, self._untold = self._untold, []
        for event, data in untold:
            await self._announcements.tell(event, data)

    async def close(self) -> None:
        """Puts everything on the disk, as far as the durability says, and lets go of the file."""
        await self._journal.close()

    async def _keep(self, message: dict[str, Any]) -> None:
        await self._write(message, growth=1)

    async def _keep_plan(self, plan: Plan) -> None:
        await self._journal.append(compaction(plan.to_dict(), self._stored_count))

    async def _forget(self) -> None:
        await self._write(*self._clearing(), growth=-self._stored_count)
        self._originals = {}
        self._is_resumed = False

    async def _write(self, *records: Record, growth: int) -> None:
        """Writes records that add ``growth`` stored messages; counted at once, since writing keeps the order."""
        self._stored_count += growth
        try:
            await self._journal.append(*records)
        except BaseException:
            self._stored_count -= growth
            raise

    def _clearing(self) -> list[Record]:
        """The record that ends the conversation so far, if there is one."""
        return [clear()] if self._stored_count else []

    def _resume(self, transcript: Transcript) -> None:
        messages = transcript.messages
        sendable = [without_loose_thinking(message) for message in messages]
        self._originals = {index: message for index, message in enumerate(messages) if message is not sendable[index]}
        notes = _unreadable(transcript)
        if self._originals:
            notes.append(f"Thinking without a signature is left out of {len(self._originals)} messages")
        self.restore(sendable, self._plan_in(transcript, notes))
        self._stored_count = len(messages)
        self._is_resumed = True
        logger.info("Resumed %d messages from %s", len(messages), self.path)
        self._note_healing(notes)

    def _plan_in(self, transcript: Transcript, notes: list[str]) -> Plan | None:
        if transcript.plan is None:
            return None
        try:
            return Plan.from_dict(transcript.plan)
        except ValueError as error:
            notes.append(f"The stored plan of a compaction is not followed: {error}")
            return None

    async def _include(self, names: Sequence[str], working_dir: Path, max_tokens: int) -> None:
        if not names:
            return
        files = await asyncio.to_thread(read_memory_files, names, working_dir, max_tokens)
        await self.set_messages([file.to_message() for file in files])
        for file in files:
            told = {"source": str(file.path), "bytes": file.bytes, "token_count": file.token_count}
            self._untold.append((CONTEXT_INCLUDE, told))

    def _note_repair(self, repair: Repair | None) -> None:
        if repair is None:
            return
        saved_to = None if repair.saved_to is None else str(repair.saved_to)
        logger.warning(
            "The journal %s ended in the middle of a line: %s",
            self.path,
            "its end was added" if saved_to is None else f"{repair.bytes} bytes were moved to {saved_to}",
        )
        data = {"path": str(self.path), "bytes": repair.bytes, "saved_to": saved_to}
        self._untold.append((CONTEXT_JOURNAL_REPAIRED, data))

    def _note_healing(self, notes: list[str]) -> None:
        if notes:
            logger.warning("The conversation in %s has to be healed: %s", self.path, "; ".join(notes))
            self._untold.append((CONTEXT_HEALED, {"notes": notes, "count": len(notes)}))


def _unreadable(transcript: Transcript) -> list[str]:
    lines = transcript.unreadable
    if not lines:
        return []
    told = ", ".join(map(str, lines[:_MOST_LINES_TOLD]))
    more = ", …" if len(lines) > _MOST_LINES_TOLD else ""
    return [f"{len(lines)} unreadable lines of the journal are left out: {told}{more}"]
