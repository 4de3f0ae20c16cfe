"""Reads what commands answer, by exit code and by JSON, and makes one answer of several: the strictest counts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from amplifier_modkit.clipping import clip_chars
from amplifier_module_hooks_shell.commands import Outcome

Verdict = Literal["go on", "ask", "block"]

_STRICTNESS: tuple[Verdict, ...] = ("go on", "ask", "block")
_DECISIONS: dict[str | None, Verdict] = {
    None: "go on",
    "allow": "go on",
    "approve": "go on",
    "defer": "go on",
    "ask": "ask",
    "deny": "block",
    "block": "block",
}
_BLOCKING_CODE = 2
_LONGEST_TEXT = 10_000
_LONGEST_NOTE = 500


@dataclass(frozen=True, slots=True)
class Answer:
    """What commands want."""

    verdict: Verdict = "go on"
    reason: str = ""
    updated_input: dict[str, Any] | None = None
    context: str = ""
    """A text for the model."""
    message: str = ""
    """A text for the person at the screen."""
    is_warning: bool = False
    suppresses_output: bool = False
    stops: bool = False
    """Whether the agent is to stop altogether."""


def read_answer(command: str, outcome: Outcome, *, takes_text: bool, fail_closed: bool) -> Answer:
    """The answer of one command; one that failed blocks if ``fail_closed`` says so, and is told in any case."""
    if outcome.trouble:
        return _failed(command, outcome.trouble, fail_closed)
    if outcome.exit_code == _BLOCKING_CODE:
        reason = outcome.stderr.strip() or f"the hook {_short(command)} blocked it without giving a reason"
        return Answer("block", clip_chars(reason, _LONGEST_TEXT))
    if outcome.exit_code != 0:
        said = outcome.stderr.strip()
        return _failed(command, f"ended with exit code {outcome.exit_code}{': ' + said if said else ''}", fail_closed)
    text = outcome.stdout.strip()
    if not text.startswith("{"):
        return Answer(context=clip_chars(text, _LONGEST_TEXT)) if takes_text else Answer()
    try:
        answer = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        cause = "it is longer than max_output_bytes" if outcome.is_truncated else str(error)
        return _failed(command, f"gave an answer that is no JSON: {cause}", fail_closed)
    return _from_json(command, answer)


def compose(answers: Sequence[Answer]) -> Answer:
    """One answer for several that were given at the same time; the strictest verdict counts, no text is lost."""
    verdict = _strictest([answer.verdict for answer in answers])
    changes = [answer.updated_input for answer in answers if answer.updated_input is not None]
    composed = Answer(
        verdict,
        _joined(answer.reason for answer in answers if answer.verdict == verdict),
        changes[0] if changes else None,
        _joined(answer.context for answer in answers),
        _joined(answer.message for answer in answers),
        any(answer.is_warning for answer in answers),
        any(answer.suppresses_output for answer in answers),
        any(answer.stops for answer in answers),
    )
    if any(change != changes[0] for change in changes):
        return replace(composed, verdict="block", reason="hooks want to change the input in different ways")
    return composed


def _from_json(command: str, answer: dict[str, Any]) -> Answer:
    found = answer.get("hookSpecificOutput")
    specific = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
    decisions = (answer.get("decision"), specific.get("permissionDecision"))
    unknown = [each for each in decisions if not isinstance(each, str | None) or each not in _DECISIONS]
    updated: Any = specific.get("updatedInput")
    common = Answer(
        context=clip_chars(_text(specific, "additionalContext"), _LONGEST_TEXT),
        message=clip_chars(_text(answer, "systemMessage"), _LONGEST_TEXT),
        suppresses_output=answer.get("suppressOutput") is True,
        updated_input=cast("dict[str, Any]", updated) if isinstance(updated, dict) else None,
    )
    if answer.get("continue") is False:
        reason = _text(answer, "stopReason") or f"the hook {_short(command)} stopped the agent"
        return replace(common, verdict="block", reason=clip_chars(reason, _LONGEST_TEXT), stops=True)
    if unknown or not isinstance(updated, dict | None):
        wrong = f"decision {unknown[0]!r}" if unknown else "updatedInput that is no object"
        return replace(common, verdict="block", reason=f"the hook {_short(command)} answered with the {wrong}")
    verdict = _strictest([_DECISIONS[each] for each in decisions])
    reason = _text(specific, "permissionDecisionReason") or _text(answer, "reason")
    return replace(common, verdict=verdict, reason=clip_chars(reason, _LONGEST_TEXT))


def _strictest(verdicts: Sequence[Verdict]) -> Verdict:
    return max(verdicts, key=_STRICTNESS.index) if verdicts else "go on"


def _failed(command: str, trouble: str, fail_closed: bool) -> Answer:
    told = f"The hook {_short(command)} {clip_chars(trouble, _LONGEST_NOTE)}"
    if fail_closed:
        return Answer("block", f"{told}; what it should have judged is blocked (fail_closed)", is_warning=True)
    return Answer(message=told, is_warning=True)


def _short(command: str) -> str:
    first = command.strip().splitlines()[0]
    return f"'{first if len(first) <= 80 else first[:80] + '…'}'"


def _text(answer: dict[str, Any], key: str) -> str:
    value = answer.get(key)
    return value.strip() if isinstance(value, str) else ""


def _joined(texts: Iterable[str]) -> str:
    return "\n".join(dict.fromkeys(text for text in texts if text))
