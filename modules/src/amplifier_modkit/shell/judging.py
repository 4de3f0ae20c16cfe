"""``judge``: whether a parsed text may run under a safety profile, with the lists of commands that users keep."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from amplifier_modkit.shell.answers import Answer
from amplifier_modkit.shell.commands import Mark, ParsedCommand, SimpleCommand
from amplifier_modkit.shell.patterns import entry_pattern, pattern_matches, pattern_may_match, patterns_cover
from amplifier_modkit.shell.rules import DECISIONS, RULES, TEXT_RULES, Level
from amplifier_modkit.shell.terms import Decision, Profile

_ORDER: dict[Decision, int] = {"allow": 0, "ask": 1, "deny": 2}
_MOST_TOLD = 3


@dataclass(frozen=True, slots=True)
class CommandLists:
    """Commands that users allow or deny, each entry words with ``*`` and ``?``."""

    allowed: tuple[str, ...] = ()
    """Take precedence over rules outside of the strict profile, and over questions in it."""
    denied: tuple[str, ...] = ()
    """Hold in every profile, before anything that allows."""
    override_allow: tuple[str, ...] = ()
    """Take precedence over rules in every profile."""
    override_block: tuple[str, ...] = ()
    """Hold like ``denied``."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is decided about a text."""

    decision: Decision
    reason: str = ""
    rule_id: str = ""
    commands: tuple[str, ...] = ()
    """The commands that decided it."""


_ALLOWED = Verdict("allow")
_NO_LISTS = CommandLists()


def judge(parsed: ParsedCommand, profile: Profile = "strict", lists: CommandLists = _NO_LISTS) -> Verdict:
    """Whether ``parsed`` may run.

    Denials of the user come first, then allowances that cover every command, then the rules of the profile, of which
    the strictest counts.
    """
    denial = _by_denial(parsed, profile, (*lists.denied, *lists.override_block))
    if denial.decision == "deny" or profile == "unrestricted":
        return denial
    if _covered(lists.override_allow, parsed):
        return max(Verdict("allow", "the user allows it", "override-allow"), denial, key=_severity)
    found = max(_findings(parsed, profile), key=_severity, default=_ALLOWED)
    may_yield = profile != "strict" or found.decision == "ask"
    if may_yield and found.decision != "allow" and _covered((*lists.allowed, *lists.override_allow), parsed):
        found = Verdict("allow", "the user allows it", "allowed")
    return max(found, denial, key=_severity)


def _severity(verdict: Verdict) -> int:
    return _ORDER[verdict.decision]


def _covered(entries: Sequence[str], parsed: ParsedCommand) -> bool:
    return bool(entries) and patterns_cover([entry_pattern(entry) for entry in entries], parsed, lambda path: True)


def _by_denial(parsed: ParsedCommand, profile: Profile, entries: Sequence[str]) -> Verdict:
    doubt = _ALLOWED
    for entry in entries:
        pattern = entry_pattern(entry)
        if pattern_matches(pattern, parsed):
            guilty = [each for each in parsed.commands if pattern.answer(each, is_wide=True) is Answer.YES]
            return Verdict("deny", f"the user denies '{entry}'", "denied", _texts(guilty))
        if pattern_may_match(pattern, parsed):
            doubt = Verdict("ask", f"it may turn out to be '{entry}', which the user denies", "may-be-denied")
    return doubt


def _findings(parsed: ParsedCommand, profile: Profile) -> Iterator[Verdict]:
    if not parsed.is_understood:
        yield Verdict(DECISIONS["unfollowed"][profile], f"it is not understood: {parsed.reason}", "not-understood")
    for doubt in parsed.doubts:
        yield Verdict(DECISIONS["doubtful"][profile], doubt.detail, doubt.id)
    for rule in TEXT_RULES:
        if guilty := rule.when(parsed):
            yield Verdict(DECISIONS[rule.level][profile], rule.reason, rule.id, _texts(guilty))
    for command in parsed.commands:
        for rule in RULES:
            decision = _decided(rule.level, rule.when(command, parsed), command, profile)
            if decision != "allow":
                yield Verdict(decision, rule.reason, rule.id, _texts([command]))


def _decided(level: Level, answer: Answer, command: SimpleCommand, profile: Profile) -> Decision:
    decision = DECISIONS[level][profile]
    if answer is Answer.NO:
        return "allow"
    if answer is Answer.YES:
        # A guess is no ground for a question: what is not known of the command asks it already.
        return "allow" if Mark.GUESS in command.marks and decision == "ask" else decision
    return "ask" if decision != "allow" and profile != "permissive" else "allow"


def _texts(commands: Sequence[SimpleCommand]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(command.text for command in commands))[:_MOST_TOLD]
