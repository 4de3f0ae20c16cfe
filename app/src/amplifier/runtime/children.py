"""Child sessions that are kept: told apart in the store, found again when the command was ended in between.

How a child's plan is made is the affair of the module that starts it (``session.spawn`` and ``session.resume``, as
offered by ``tool-task``). This adds the folder of each child, with whose child it is, and brings back one that only the
store remembers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from amplifier.store import SessionStore, StoredSession

SPAWN, RESUME, CHILDREN = "session.spawn", "session.resume", "session.children"


class KeptChildren:
    """The children of one session, with their folders beside the parent's."""

    def __init__(self, session: Any, parent: StoredSession, store: SessionStore) -> None:
        self._session = session
        self._parent = parent
        self._store = store
        self._spawn = session.coordinator.get_capability(SPAWN)
        self._resume = session.coordinator.get_capability(RESUME)

    def offer(self) -> None:
        """Takes the place of the capabilities that it is built on, if there are any."""
        if callable(self._spawn) and callable(self._resume):
            self._session.coordinator.register_capability(SPAWN, self.spawn)
            self._session.coordinator.register_capability(RESUME, self.resume)

    async def spawn(self, agent_name: str, *args: Any, **options: Any) -> dict[str, Any]:
        """Has an agent carry out a task in a session of its own; gives what the capability gives."""
        sub_session_id = options.get("sub_session_id")
        if isinstance(sub_session_id, str):
            self._note(sub_session_id, agent_name, "running")
        result: dict[str, Any] = await self._spawn(agent_name, *args, **options)
        self._note_result(result, agent_name)
        return result

    async def resume(self, sub_session_id: str, instruction: str) -> dict[str, Any]:
        """Lets a child go on, also one of an earlier run of the command."""
        self._bring_back(sub_session_id)
        result: dict[str, Any] = await self._resume(sub_session_id=sub_session_id, instruction=instruction)
        self._note_result(result, None)
        return result

    def _bring_back(self, sub_session_id: str) -> None:
        children = self._session.coordinator.get_capability(CHILDREN)
        adopt = getattr(children, "adopt", None)
        folder = self._parent.folder.parent / sub_session_id
        # The id comes from the model, and must not lead anywhere else.
        if children is None or not callable(adopt) or folder.name != sub_session_id:
            return
        about = StoredSession(folder).metadata()
        if about.parent_id == self._session.session_id and about.agent and children.record(sub_session_id) is None:
            adopt(sub_session_id, about.agent, self._session, StoredSession(folder).messages())

    def _note_result(self, result: Mapping[str, Any], agent: str | None) -> None:
        session_id = result.get("session_id")
        if isinstance(session_id, str):
            self._note(session_id, agent, str(result.get("status") or "success"))

    def _note(self, session_id: str, agent: str | None, status: str) -> None:
        child = StoredSession(self._parent.folder.parent / session_id)
        now = self._store.now()
        known = child.metadata()
        parent = self._parent.metadata()
        child.update(
            created=known.created or now,
            updated=now,
            agent=agent or known.agent,
            parent_id=self._session.session_id,
            bundle=parent.bundle,
            working_dir=parent.working_dir,
            status=status,
        )
        self._store.refresh(child)
