"""Shell commands decided on by what they do: parsed to the last simple command, and judged by rules on those.

``parse`` reads a text, ``judge`` decides by a safety profile and the user's lists; ``matches``, ``may_match`` and
``covers`` answer for single rules such as ``Bash(git status)``.

The room has many tables and patterns, and most sessions run no command. So a name is loaded when it is first used:
``from amplifier_modkit import shell``, then ``shell.parse(…)``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from amplifier_modkit.shell.commands import Assignment, Mark, ParsedCommand, Redirection, SimpleCommand, Target
    from amplifier_modkit.shell.judging import CommandLists, Verdict, judge
    from amplifier_modkit.shell.parsing import parse
    from amplifier_modkit.shell.patterns import covers, matches, may_match
    from amplifier_modkit.shell.terms import MAX_CHARS, PROFILES, Decision, Profile
    from amplifier_modkit.shell.words import Word

__all__ = [
    "MAX_CHARS",
    "PROFILES",
    "Assignment",
    "CommandLists",
    "Decision",
    "Mark",
    "ParsedCommand",
    "Profile",
    "Redirection",
    "SimpleCommand",
    "Target",
    "Verdict",
    "Word",
    "covers",
    "judge",
    "matches",
    "may_match",
    "parse",
]

_ROOMS = {
    "commands": ("Assignment", "Mark", "ParsedCommand", "Redirection", "SimpleCommand", "Target"),
    "judging": ("CommandLists", "Verdict", "judge"),
    "parsing": ("parse",),
    "patterns": ("covers", "matches", "may_match"),
    "terms": ("MAX_CHARS", "PROFILES", "Decision", "Profile"),
    "words": ("Word",),
}
_HOME_OF = {name: room for room, names in _ROOMS.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value
