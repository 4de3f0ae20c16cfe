"""A second opinion: the text is parsed by tree-sitter as well, and every command that it sees must be one we have seen.

Neither reading is trusted alone. Ours follows bash where the grammar of tree-sitter does not (text behind a
substitution in a here-document, ``coproc``, long loops); tree-sitter's catches what we may have overlooked.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Language, Node, TreeCursor

_COMMANDS = frozenset({"command", "declaration_command", "unset_command", "variable_assignments"})
_per_thread = threading.local()


def disagreement(text: str, starts: Iterable[int], skipped: Sequence[tuple[int, int]]) -> str | None:
    """Why the two readings of ``text`` differ; ``None`` if they do not.

    ``starts`` are the places where we saw commands; ``skipped`` are stretches that are compared on their own.
    """
    source = _masked(text, skipped)
    data = source.encode("utf-8", "surrogatepass")
    try:
        root = _parse(data)
    except ImportError as error:
        return f"tree-sitter is not there to check it ({error})"
    if root.has_error:
        return "tree-sitter cannot parse it"
    seen = set(starts) if source.isascii() else set(_byte_places(source, starts))
    for start in _command_starts(root.walk()):
        if start not in seen:
            at = data[start : start + 40].decode("utf-8", "replace").partition("\n")[0]
            return f"tree-sitter sees a command at '{at}'"
    return None


def _byte_places(text: str, places: Iterable[int]) -> Iterable[int]:
    """The same places, counted in bytes."""
    done = count = 0
    for place in sorted(place for place in places if place >= 0):
        count += len(text[done:place].encode("utf-8", "surrogatepass"))
        done = place
        yield count


def _masked(text: str, skipped: Sequence[tuple[int, int]]) -> str:
    """``text`` with words of no meaning where the rest is compared on its own; what ends such a stretch stays."""
    pieces: list[str] = []
    done = 0
    for start, end in sorted(skipped):
        if start < done:
            continue
        stretch = text[start:end]
        head, newline, last = stretch.removesuffix("\n").rpartition("\n")
        if stretch.startswith("`"):
            masked = "x" * len(stretch)
        else:
            masked = "".join(char if char == "\n" else "x" for char in head) + newline + last
            masked += "\n" * (len(stretch) - len(masked))
        pieces += [text[done:start], masked]
        done = end
    return "".join([*pieces, text[done:]])


def _command_starts(cursor: TreeCursor) -> Iterable[int]:
    """Where commands begin, in a walk that needs no stack."""
    while True:
        node = cursor.node
        if node is not None and node.type in _COMMANDS:
            yield node.start_byte
        if cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return


def _parse(data: bytes) -> Node:
    from tree_sitter import Parser

    # A parser must not be used by two threads at once.
    parser = getattr(_per_thread, "parser", None)
    if parser is None:
        parser = _per_thread.parser = Parser(_language())
    return parser.parse(data).root_node


@cache
def _language() -> Language:
    import tree_sitter_bash
    from tree_sitter import Language

    return Language(tree_sitter_bash.language())
