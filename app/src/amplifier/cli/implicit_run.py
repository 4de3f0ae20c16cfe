"""``amplifier "prompt"`` and ``amplifier -p "prompt"``: how arguments get the command that they leave out.

On a terminal that is ``chat``; with ``-p``, with options of what is printed, or without a terminal it is ``run``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Sequence

PRINT_FLAGS = ("-p", "--print")
_PRINTING = (
    *PRINT_FLAGS,
    "--output-format",
    "--input-format",
    "--include-partial-messages",
    "--json-schema",
    "-o",
    "--output-last-message",
)


def is_terminal() -> bool:
    """Whether somebody sits in front of it who can be talked with."""
    streams = (sys.stdin, sys.stdout)
    return all(stream is not None and stream.isatty() for stream in streams)


def with_command(
    args: Sequence[str],
    commands: Collection[str],
    flags: Collection[str],
    with_value: Collection[str],
    is_prompt: Callable[[str], bool],
    *,
    can_talk: bool = False,
) -> list[str]:
    """The arguments with the command that was left out: ``chat`` for those who ``can_talk``, else ``run``.

    ``-p`` says ``run``, and is taken out. Without anything to run nothing is put in.

    ``flags`` and ``with_value`` are the options of the top level. They stay where they are; from the first other
    argument on everything belongs to the command.
    """
    end = _end_of_top_level(args, flags, with_value)
    top, rest = list(args[:end]), list(args[end:])
    first = rest[0] if rest else None
    if first is None and can_talk:
        return [*top, "chat"]
    if first is None or first in commands or not (first.startswith("-") or is_prompt(first)):
        return [*top, *rest]
    is_chat = can_talk and not any(word.partition("=")[0] in _PRINTING for word in rest)
    return [*top, "chat" if is_chat else "run", *_without_print(rest)]


def _end_of_top_level(args: Sequence[str], flags: Collection[str], with_value: Collection[str]) -> int:
    position = 0
    while position < len(args):
        word = args[position]
        if word in with_value:
            position += 2
        elif word in flags or word.partition("=")[0] in with_value or _has_joined_value(word, with_value):
            position += 1
        else:
            break
    return min(position, len(args))


def _has_joined_value(word: str, with_value: Collection[str]) -> bool:
    return len(word) > 2 and word[1] != "-" and word[:2] in with_value


def _without_print(rest: list[str]) -> list[str]:
    # Behind "--" everything is the prompt, whatever it looks like.
    end = rest.index("--") if "--" in rest else len(rest)
    return [word for word in rest[:end] if word not in PRINT_FLAGS] + rest[end:]
