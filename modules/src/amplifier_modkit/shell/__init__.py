"""Shell commands decided on by what they do: parsed to the last simple command, and judged by rules on those.

``parse`` reads a text, ``judge`` decides by a safety profile and the user's lists; ``matches``, ``may_match`` and
``covers`` answer for single rules such as ``Bash(git status)``.
"""

from amplifier_modkit.shell.commands import Assignment, Mark, ParsedCommand, Redirection, SimpleCommand, Target
from amplifier_modkit.shell.judging import CommandLists, Verdict, judge
from amplifier_modkit.shell.parsing import parse
from amplifier_modkit.shell.patterns import covers, matches, may_match
from amplifier_modkit.shell.rules import PROFILES, Decision, Profile
from amplifier_modkit.shell.words import Word

__all__ = [
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
