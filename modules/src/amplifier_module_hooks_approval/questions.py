"""What people are asked, which rule their answer may save, and what their answer means."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

from amplifier_core.interfaces import ApprovalResponse
from amplifier_modkit.clipping import clip_chars
from amplifier_modkit.plain_text import on_one_line, without_controls
from amplifier_module_hooks_approval.calls import Call
from amplifier_module_hooks_approval.matching import covering
from amplifier_module_hooks_approval.policy import Decision
from amplifier_module_hooks_approval.rules import Rule, can_be_named

ONCE, SESSION, ALWAYS, DENY = "Allow once", "Allow this session", "Allow always", "Deny"

Scope = Literal["once", "session", "always"]

_SCOPES: dict[str, Scope] = {
    "allow": "once",
    ONCE.casefold(): "once",
    SESSION.casefold(): "session",
    ALWAYS.casefold(): "always",
}
_BARE_REFUSALS = frozenset({"", "deny", "no", "n"})
_REFUSAL = re.compile(r"\A(?:deny|no)\s*[:,.-]+\s*", re.IGNORECASE)
_MOST_SHOWN_CHARS = 8_000
_MOST_REASON_CHARS = 1_000


@dataclass(frozen=True, slots=True)
class Answer:
    """What somebody has answered; a refusal may have a reason for the model."""

    is_allowed: bool
    reason: str = ""
    scope: Scope = "once"


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked about one call."""

    prompt: str
    options: tuple[str, ...]
    rule: Rule | None
    """What is saved if the answer is for longer than once."""


def question_about(call: Call, decision: Decision, *, asked_in: str, can_save: bool) -> Question:
    """The question; ``asked_in`` is the session of whoever asks, ``can_save`` whether rules outlive the session."""
    rule = _rule_for(call) if decision.can_be_remembered else None
    # A command is shown whole, however long: what is left out is where one would hide something.
    subject = without_controls(call.subject)
    subject = subject if call.is_about_command else clip_chars(subject, _MOST_SHOWN_CHARS)
    lines = [f"Allow '{on_one_line(call.name)}'?", "", _indented(subject), ""]
    if call.session_id != asked_in:
        lines.append(f"It is asked for by the child session {on_one_line(call.session_id)}.")
    lines.append(f"Asked because {on_one_line(decision.reason)}.")
    if rule is None:
        return Question("\n".join(lines), (ONCE, DENY), None)
    lines.append(f"'{SESSION}' and '{ALWAYS}' save this rule:")
    lines.append(_indented(str(rule)))
    if not can_save:
        lines.append(f"'{ALWAYS}' holds for this session only: nobody here keeps rules for longer.")
    return Question("\n".join(lines), (ONCE, SESSION, ALWAYS, DENY), rule)


def _indented(text: str) -> str:
    # No line of it can be taken for one of ours.
    return "\n".join(f"  {line}" for line in text.split("\n"))


def _rule_for(call: Call) -> Rule | None:
    """A rule that allows this call again and as little else as can be said; ``None`` if there is none.

    It is to the letter: a wildcard in a command or a path, or in the name of a tool, must not become one of the rule.
    """
    if not can_be_named(call.name):
        return None
    specifier: str | None = None
    if call.is_about_command:
        specifier = f"={call.subject}"
    elif call.is_about_paths:
        specifier = f"={call.paths[0].resolved}" if call.paths else "="
    elif call.is_about_host:
        specifier = f"domain:{call.host}"
    rule = Rule(call.name, specifier)
    return rule if covering([rule], call) and without_controls(str(rule)) == str(rule) else None


def read_choice(choice: Any, question: Question) -> Answer:
    """What the answer of an approval system means: one of the options, or a refusal in words of its own."""
    if not isinstance(choice, str):
        raise TypeError(f"An approval system must answer with text, got {type(choice).__name__}")
    said = choice.strip()
    scope = _SCOPES.get(said.casefold())
    if scope is None:
        reason = "" if said.casefold() in _BARE_REFUSALS else _REFUSAL.sub("", said, count=1)
        return Answer(False, clip_chars(reason, _MOST_REASON_CHARS))
    return Answer(True, scope=scope if question.rule is not None else "once")


def read_response(response: Any, question: Question) -> Answer:
    """What the answer of an approval provider means."""
    if not isinstance(response, ApprovalResponse):
        raise TypeError(f"An approval provider must answer with an ApprovalResponse, got {type(response).__name__}")
    reason = clip_chars(response.reason or "", _MOST_REASON_CHARS)
    remembers = response.approved and response.remember and question.rule is not None
    return Answer(response.approved, reason, "always" if remembers else "once")
