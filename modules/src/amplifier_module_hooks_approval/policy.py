"""What becomes of a call by the rules, the mode and what is known of its tool. No person is asked here."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from amplifier_modkit.paths.spelling import is_within
from amplifier_module_hooks_approval.calls import Call
from amplifier_module_hooks_approval.config import Action, ApprovalConfig
from amplifier_module_hooks_approval.matching import Fit, covering, wide_fit
from amplifier_module_hooks_approval.modes import Mode
from amplifier_module_hooks_approval.rules import Rule
from amplifier_module_hooks_approval.tool_kinds import EDITS

Verdict = Literal["allow", "ask", "deny"]

_ACTIONS: dict[Action, Verdict] = {
    "auto_approve": "allow",
    "auto_deny": "deny",
    "allow": "allow",
    "ask": "ask",
    "deny": "deny",
}
_PLAN = "plan mode only reads, and '{tool}' may change something; describe what you would do instead"
_UNASKED = "it needs approval ({why}), and the mode 'dont-ask' asks nobody; do it in another way"


@dataclass(frozen=True, slots=True)
class Decision:
    """What becomes of a call, and why."""

    verdict: Verdict
    reason: str
    is_granted: bool = False
    """Whether somebody has allowed this very thing: by a rule, by the mode, or by an answer."""
    is_routine: bool = False
    """Whether nobody had to decide anything."""
    can_be_remembered: bool = False
    """Whether an answer may become a rule that spares the next question."""
    must_be_answered: bool = False
    """Whether no answer in time is a refusal, whatever the config says."""


class Policy:
    """The rules of one config; never changes."""

    def __init__(self, config: ApprovalConfig) -> None:
        self._tools = {name: each.require_approval for name, each in config.tools.items()}
        self._is_policy_driven = config.policy_driven_only
        self._rules: dict[Verdict, list[Rule]] = {
            "deny": [Rule.read(each) for each in config.deny],
            "ask": [Rule.read(each) for each in config.ask],
            "allow": [Rule.read(each) for each in config.allow],
        }
        for rule in config.rules:
            self._rules[_ACTIONS[rule.action]].append(Rule(rule.tool, rule.pattern))

    def decide(
        self, call: Call, mode: Mode, learned: Sequence[Rule] = (), required: Collection[str] = frozenset()
    ) -> Decision:
        """Denials first, then the plan mode, then questions, then what is allowed, then the mode.

        ``learned`` are rules from answers, ``required`` the names of tools that need approval besides. May take some
        milliseconds, and asks the file system.
        """
        rule, fit = _strongest(self._rules["deny"], call)
        if fit is Fit.YES:
            return Decision("deny", f"the rule '{rule}' denies it")
        if mode == "plan" and call.changes:
            return Decision("deny", _PLAN.format(tool=call.name))
        if fit is Fit.MAYBE:
            return _asked(f"it may turn out to be what the rule '{rule}' denies", mode, is_doubtful=True)
        rule, fit = _strongest(self._rules["ask"], call)
        if fit is not Fit.NO:
            return _asked(f"the rule '{rule}' says so", mode)
        if allowing := covering([*self._rules["allow"], *learned], call):
            return Decision("allow", f"allowed by '{_told(allowing)}'", is_granted=True)
        if not self._needs_approval(call, required):
            return Decision("allow", "it needs no approval", is_routine=True)
        return _by_mode(call, mode)

    def _needs_approval(self, call: Call, required: Collection[str]) -> bool:
        if call.name in required:
            return True
        if self._is_policy_driven:
            return False
        return self._tools.get(call.name, call.changes or call.wants_approval)


def _strongest(rules: Iterable[Rule], call: Call) -> tuple[Rule | None, Fit]:
    found: tuple[Rule | None, Fit] = (None, Fit.NO)
    for rule in rules:
        fit = wide_fit(rule, call)
        if fit > found[1]:
            found = (rule, fit)
    return found


def _told(rules: Iterable[Rule]) -> str:
    return "', '".join(map(str, rules))


def _asked(why: str, mode: Mode, *, is_doubtful: bool = False) -> Decision:
    """A question that a rule wants. What a denial may be about is asked in every mode that asks anybody."""
    if mode == "dont-ask":
        return Decision("deny", _UNASKED.format(why=why))
    if mode == "bypass" and not is_doubtful:
        return Decision("allow", "the mode 'bypass' allows it", is_granted=True)
    return Decision("ask", why, must_be_answered=is_doubtful)


def _by_mode(call: Call, mode: Mode) -> Decision:
    why = f"'{call.name}' may change something" if call.changes else f"'{call.name}' is to be approved"
    if mode == "bypass":
        return Decision("allow", "the mode 'bypass' allows it", is_granted=True)
    if mode == "dont-ask":
        return Decision("deny", _UNASKED.format(why=why))
    if mode == "accept-edits" and _edits_inside(call):
        return Decision("allow", "the mode 'accept-edits' allows it", is_granted=True)
    return Decision("ask", why, can_be_remembered=True)


def _edits_inside(call: Call) -> bool:
    root = str(call.working_dir)
    return call.name in EDITS and call.paths is not None and all(is_within(each.resolved, root) for each in call.paths)
