"""Whether a rule is about a call: narrowly for rules that allow, widely for rules that ask or deny.

In a wide comparison, what cannot be known before the call runs is a ``MAYBE``. In a narrow one it is a no.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from enum import IntEnum
from fnmatch import fnmatchcase
from pathlib import Path

from amplifier_modkit import shell
from amplifier_modkit.paths.rules import entry_for, identity_of
from amplifier_modkit.paths.spelling import absolute, fold
from amplifier_module_hooks_approval.calls import Call, CallPath
from amplifier_module_hooks_approval.rules import Rule

_WILD = re.compile(r"(\*\*/|\*\*|\*|\?)")
_MEANING = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
_DOMAIN = "domain"


class Fit(IntEnum):
    """Whether a rule fits."""

    NO = 0
    MAYBE = 1
    YES = 2


def covering(rules: Sequence[Rule], call: Call) -> tuple[Rule, ...]:
    """The rules that together allow all of what ``call`` does; none if something is left over."""
    about = [rule for rule in rules if rule.is_about(call.name)]
    for rule in about:
        if rule.specifier is None or _allows(rule.specifier, rule.literal, call):
            return (rule,)
    commands = tuple(rule for rule in about if rule.literal is None)
    return commands if call.is_about_command and commands and _covers(commands, call.command) else ()


def wide_fit(rule: Rule, call: Call) -> Fit:
    """Whether a rule that asks or denies is about ``call``."""
    if not rule.may_be_about(call.name):
        return Fit.NO
    if rule.specifier is None:
        return Fit.YES
    if call.is_about_command:
        return _wide_command(rule.specifier, rule.literal, call)
    if call.is_about_paths:
        return _wide_paths(rule.specifier if rule.literal is None else rule.literal, rule.literal is not None, call)
    return _wide_field(rule.specifier, call)


def _covers(rules: Sequence[Rule], command: shell.ParsedCommand | None) -> bool:
    if command is None:
        return False
    # A shell on another machine is more than a wrapper, even where all that it is told to run is known.
    elsewhere = {shell.Mark.REMOTE, shell.Mark.CONTAINER, shell.Mark.PRIVILEGED}
    outer = [each.marks for each in command.commands if not each.origin]
    leaves = any(shell.Mark.WRAPPER in marks and elsewhere & marks for marks in outer)
    return not leaves and shell.covers([f"Bash({rule.specifier})" for rule in rules], command)


def _allows(specifier: str, literal: str | None, call: Call) -> bool:
    if call.is_about_command:
        return literal is not None and call.input.get("command") == literal
    if call.is_about_paths:
        paths = call.paths
        if paths is None:
            return False
        if literal is not None:
            return all(path.resolved == literal for path in paths)
        pattern = _path_pattern(specifier, call.working_dir)
        return all(pattern.fullmatch(path.resolved) for path in paths)
    if call.is_about_host and call.changes:
        return False  # a specifier says what may be fetched, not where it may be saved
    key, _, wanted = specifier.partition(":")
    if key == _DOMAIN and call.is_about_host:
        return call.host is not None and fnmatchcase(call.host, wanted.lower())
    value = call.input.get(key)
    return bool(wanted) and isinstance(value, str) and fnmatchcase(value, wanted)


def _wide_command(specifier: str, literal: str | None, call: Call) -> Fit:
    if call.command is None:
        return Fit.MAYBE
    if literal is not None:
        return Fit.YES if call.command.text.split() == literal.split() else Fit.NO
    rule = f"Bash({specifier})"
    if shell.matches(rule, call.command):
        return Fit.YES
    is_doubtful = any(each.is_dynamic for each in call.command.commands) or shell.may_match(rule, call.command)
    return Fit.MAYBE if is_doubtful else Fit.NO


def _wide_paths(specifier: str, is_literal: bool, call: Call) -> Fit:
    if call.paths is None:
        return Fit.MAYBE
    entry = entry_for(specifier, absolute(specifier, call.working_dir))
    denied = entry.matcher()
    pattern = (
        re.compile(re.escape(specifier)) if is_literal else _path_pattern(specifier, call.working_dir, re.IGNORECASE)
    )

    def is_met(path: CallPath) -> bool:
        if any(denied.match(fold(each)) or pattern.fullmatch(each) for each in (path.written, path.resolved)):
            return True
        return entry.identity is not None and entry.identity == identity_of(path.resolved)

    return Fit.YES if any(map(is_met, call.paths)) else Fit.NO


def _wide_field(specifier: str, call: Call) -> Fit:
    key, _, wanted = specifier.partition(":")
    wanted = wanted.casefold()
    if key == _DOMAIN and call.is_about_host:
        host = call.host
        if host is None:
            return Fit.MAYBE
        domain = wanted.removeprefix("*.")
        return Fit.YES if fnmatchcase(host, wanted) or host == domain or host.endswith(f".{domain}") else Fit.NO
    value = call.input.get(key)
    if not wanted or key.startswith("=") or (value is not None and not isinstance(value, str)):
        return Fit.MAYBE
    return Fit.YES if value is not None and fnmatchcase(value.casefold(), wanted) else Fit.NO


def _path_pattern(specifier: str, working_dir: Path, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
    """Matches the resolved paths that a specifier means: what it names, and everything below that.

    A name alone with wildcards is looked for anywhere below the working directory.
    """
    if "/" not in specifier and _WILD.search(specifier):
        specifier = f"**/{specifier}"
    pieces = _WILD.split(absolute(specifier, working_dir))
    head, rest = pieces[0], pieces[1:]
    folder, _, name = head.rpartition("/") if rest else (head, "", "")
    resolved = os.path.realpath(folder or "/").rstrip("/")
    begin = re.escape(f"{resolved}/{name}" if rest else resolved)
    tail = "".join(_MEANING.get(piece, re.escape(piece)) for piece in rest)
    return re.compile(f"{begin}{tail}(?:/.*)?", re.DOTALL | flags)
