"""Tool calls that arrive in pieces: which piece belongs to which call, with and without indexes and ids."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from amplifier_modkit.llm.blocks import output_text
from amplifier_modkit.llm_chat.calls import read_arguments

_CALL_KEYS = frozenset({"index", "id", "type", "function"})
_FUNCTION_KEYS = frozenset({"name", "arguments"})


@dataclass(slots=True)
class GrowingCall:
    """One call while it comes; ``place`` is that of its block."""

    place: int
    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list[str])
    size: int = 0
    untold: str = ""
    is_told: bool = False
    extra: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])

    @property
    def text(self) -> str:
        """All that came of the arguments, in order."""
        return "".join(self.pieces)

    def arguments(self) -> Any:
        """The arguments: the pieces together, unless only the last one, or all but an empty beginning, is an object.

        Some servers repeat the arguments from the beginning in each piece, and some begin with ``{}``.
        """
        whole = self.text
        readings = [whole, self.pieces[-1] if self.pieces else "", whole.removeprefix("{}")]
        return next((text for text in readings if isinstance(read_arguments(text), dict) and text), whole)

    def take(self, delta: Mapping[str, Any]) -> None:
        """Adds one piece; what is to be told of it is put to ``untold``."""
        function = function_of(delta)
        self.id = self.id or output_text(delta.get("id") or "")
        self._take_name(function.get("name"))
        given = function.get("arguments")
        if given is not None and given != "":
            piece = output_text(given)
            # Only a piece that is longer than all before it can repeat them; so they are rarely put together here.
            is_repeated = 0 < self.size < len(piece) and piece.startswith(self.text)
            self.pieces.append(piece)
            self.untold += piece[self.size :] if is_repeated else piece
            self.size += len(piece)
        self._keep("call", delta, _CALL_KEYS)
        self._keep("function", function, _FUNCTION_KEYS)

    def _take_name(self, name: Any) -> None:
        if not isinstance(name, str) or not name or self.pieces:
            return
        # Most send it once, some again with every piece, some from the beginning each time, some in pieces.
        self.name = name if name.startswith(self.name) else self.name + name

    def _keep(self, place: str, given: Mapping[str, Any], known: frozenset[str]) -> None:
        if given.keys() <= known:
            return
        unknown = {key: value for key, value in given.items() if key not in known and value is not None}
        if unknown:
            self.extra.setdefault(place, {}).update(unknown)


class CallRouter:
    """Finds the call that a piece belongs to; ``begin`` makes one for a piece that belongs to none."""

    def __init__(self, begin: Callable[[], GrowingCall]) -> None:
        self.calls: list[GrowingCall] = []
        self._begin = begin
        self._by_id: dict[str, GrowingCall] = {}
        self._by_index: dict[int, GrowingCall] = {}

    def take(self, delta: Mapping[str, Any]) -> GrowingCall:
        """Adds ``delta`` to its call, which it gives back."""
        index, call_id = delta.get("index"), output_text(delta.get("id") or "")
        call = self._call_of(index, call_id, function_of(delta).get("name"))
        if call is None:
            call = self._begin()
            self.calls.append(call)
        if isinstance(index, int):
            self._by_index[index] = call
        if call_id:
            self._by_id[call_id] = call
        call.take(delta)
        return call

    def _call_of(self, index: Any, call_id: str, name: Any) -> GrowingCall | None:
        """The call that a piece continues.

        An id that is known decides; one that is not begins a call, even under an index in use, unless the call there
        still waits for its id. Without an id the index decides, or else the call that came last; a name begins another
        call once the arguments of that one are whole.
        """
        if call_id in self._by_id:
            return self._by_id[call_id]
        latest = self.calls[-1] if self.calls else None
        indexed = self._by_index.get(index) if isinstance(index, int) else None
        if call_id:
            return indexed if indexed is not None and not indexed.id and not _is_whole(indexed) else None
        if indexed is None and name and isinstance(index, int):
            return None
        candidate = indexed or latest
        if candidate is not None and name and candidate.name and (name != candidate.name or _is_whole(candidate)):
            return candidate if indexed is not None and not _is_whole(candidate) else None
        return candidate


def function_of(call: Mapping[str, Any]) -> Mapping[str, Any]:
    """The function of a call: under its key, or the call itself where a server leaves that level out."""
    function = call.get("function")
    if isinstance(function, Mapping):
        return cast("Mapping[str, Any]", function)
    return {key: call[key] for key in ("name", "arguments") if key in call}


def _is_whole(call: GrowingCall) -> bool:
    return bool(call.pieces) and isinstance(read_arguments(call.arguments()), dict)
