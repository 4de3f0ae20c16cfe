"""What rules ask about a text as a whole: dangers that no single command shows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from amplifier_modkit.paths.known_places import SECRET_NAMES, SECRET_PLACES
from amplifier_modkit.shell.answers import may_fit, one_of
from amplifier_modkit.shell.commands import Mark, ParsedCommand, SimpleCommand
from amplifier_modkit.shell.program_table import program_for
from amplifier_modkit.shell.programs import Form
from amplifier_modkit.shell.words import ANYTHING, listed

_MOST_FILES = 100

Scenario = Callable[[ParsedCommand], tuple[SimpleCommand, ...]]
"""Gives the commands that are to blame; none if there is nothing to blame them for."""

_FETCHES_OR_DECODES = frozenset(
    (
        *listed("aria2c curl fetch ftp http lynx nc ncat netcat socat telnet wget"),
        *listed("base32 base64 basenc bunzip2 gpg gunzip openssl rev tac tr uudecode xxd xz zcat"),
    )
)
_SENDS = frozenset(
    listed("dig drill ftp host mail mutt nc ncat netcat nslookup rsync scp sendmail sftp socat ssh telnet")
)
_SENDS_WITH = re.compile(
    r"-d.*|-F.*|-T.*|--data.*|--form.*|--upload-file.*|--post-(?:data|file).*|--body-(?:data|file).*|--json.*|-X|--request.*"
)
_is_secret_name = one_of(
    (*SECRET_NAMES, ".bash_history", ".zsh_history", ".python_history", ".mysql_history", ".psql_history")
)


def fork_bombs(parsed: ParsedCommand) -> tuple[SimpleCommand, ...]:
    """Functions that start themselves again beside themselves, directly or through others."""
    calls: dict[str, set[str]] = {name: set() for name in parsed.functions}
    for command in parsed.commands:
        if command.function in calls and command.argv:
            calls[command.function].add(command.argv[0].value or "")
    guilty = _in_circles(calls)
    return tuple(
        command
        for command in parsed.commands
        if command.function in guilty and (command.is_background or command.is_piped) and _calls(command, guilty)
    )


def _calls(command: SimpleCommand, names: set[str]) -> bool:
    return bool(command.argv) and command.argv[0].value in names


def _in_circles(calls: dict[str, set[str]]) -> set[str]:
    """The functions that come back to themselves, and those on the way between such."""
    left = set(calls)
    while True:
        called = {name for caller in left for name in calls[caller]}
        ending = {name for name in left if name not in called or left.isdisjoint(calls[name])}
        if not ending:
            return left
        left -= ending


def hidden_scripts(parsed: ParsedCommand) -> tuple[SimpleCommand, ...]:
    """Shells that run what was fetched or decoded in the same text."""
    if not any(command.name in _FETCHES_OR_DECODES for command in parsed.commands):
        return ()
    return tuple(command for command in parsed.commands if Mark.OPAQUE in command.marks and _is_shell(command))


def _is_shell(command: SimpleCommand) -> bool:
    program = program_for(command.name)
    return program is not None and (program.form in (Form.SHELL, Form.TEXT) or command.name in (".", "source"))


def sent_secrets(parsed: ParsedCommand) -> tuple[SimpleCommand, ...]:
    """Commands that send data away in a text that names secrets or histories, or lists the environment."""
    if not any(_lists_environment(command) or any(map(_is_secret, _mentioned(command))) for command in parsed.commands):
        return ()
    return tuple(command for command in parsed.commands if _sends(command))


def _lists_environment(command: SimpleCommand) -> bool:
    return command.name == "printenv" or (
        command.name in ("env", "export", "history", "set") and len(command.argv) == 1
    )


def _mentioned(command: SimpleCommand) -> Iterator[str]:
    for word in (*command.argv[1:], *(each.target for each in command.redirections)):
        yield from re.split(r"[@=:,\s]+", word.text)


def _is_secret(text: str) -> bool:
    path = "/" + text.casefold().strip("/")
    name = path.rpartition("/")[2]
    return _is_secret_name(name) or any(f"/{place}/" in path + "/" for place in SECRET_PLACES)


def _sends(command: SimpleCommand) -> bool:
    if command.name in _SENDS:
        return True
    return command.name in ("curl", "wget", "http") and any(
        _SENDS_WITH.fullmatch(word.known_start) or not word.is_static for word in command.argv[1:]
    )


def written_then_run(parsed: ParsedCommand) -> tuple[SimpleCommand, ...]:
    """Files that the text writes and then runs: what they do is nowhere to be seen."""
    written: dict[str, None] = {}
    guilty: list[SimpleCommand] = []
    for command in parsed.certain:
        if any(_may_be_one(name, written) for name in _run_files(command)):
            guilty.append(command)
        for target in command.targets:
            if target.access == "write":
                written |= dict.fromkeys(_names_to_run(target.path.outline))
    return tuple(guilty)


def _may_be_one(name: str, written: dict[str, None]) -> bool:
    return name in written or any(may_fit(name, each) for each in list(written)[:_MOST_FILES] if ANYTHING in each)


def _names_to_run(path: str) -> Iterable[str]:
    """The names under which a written file may be run: one in a folder of programs needs no slash."""
    name = _name(path)
    # Of a place of which nothing is known other rules tell.
    if name.strip(ANYTHING):
        yield f"/{name}"
        if path.removesuffix(name).endswith("bin/"):
            yield name


def _run_files(command: SimpleCommand) -> Iterable[str]:
    if command.argv:
        program = command.argv[0].outline
        yield f"/{_name(program)}" if "/" in program else program
    if Mark.RUNS_FILE in command.marks:
        yield from (f"/{_name(word.outline)}" for word in command.argv[1:])


def _name(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]
