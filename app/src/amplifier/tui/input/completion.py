"""Completion in the input line: commands behind a slash at its start, paths behind an ``@``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from amplifier.console.plain import one_line

_PATH = re.compile(r'(?<![\w@/.:])@(?:"(?P<quoted>[^"\n]*)|(?P<bare>[\w~./+-]*))\Z')
_COMMAND = re.compile(r"\A/(?P<name>[\w:.-]*)\Z")

Described = Callable[[], Mapping[str, str]]
"""Names of commands with what they do."""


class Suggestion(NamedTuple):
    """One thing that could stand there."""

    text: str
    shown: str
    about: str
    start: int
    """Where it begins, counted from the cursor."""


def suggestions(before: str, commands: Described, paths: Callable[[str], list[str]]) -> list[Suggestion]:
    """What could be meant, by the text before the cursor."""
    if (command := _COMMAND.match(before)) is not None:
        name = command["name"].casefold()
        fitting = {each: about for each, about in commands().items() if each.startswith(name)}
        return [Suggestion(f"/{each} ", f"/{each}", about, -len(before)) for each, about in fitting.items()]
    if (mention := _PATH.search(before)) is None:
        return []
    word = mention["quoted"] if mention["bare"] is None else mention["bare"]
    found = paths(word)
    return [Suggestion(_written(path), path, "", mention.start() - len(before)) for path in found]


def _written(path: str) -> str:
    end = "" if path.endswith("/") else " "
    is_plain = re.fullmatch(r"[\w~./+-]*", path) is not None
    return f"@{path}{end}" if is_plain else f'@"{path}"{end}'


class ChatCompleter(Completer):
    """Completes commands and paths for the input line."""

    def __init__(self, commands: Described, paths: Callable[[str], list[str]]) -> None:
        self._commands = commands
        self._paths = paths

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """What could be meant at the cursor."""
        for each in suggestions(document.text_before_cursor, self._commands, self._paths):
            about = one_line(each.about, 60)
            yield Completion(each.text, each.start, display=one_line(each.shown, 80), display_meta=about)
