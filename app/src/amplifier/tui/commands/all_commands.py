"""Every command of a chat, and how a line with one is read and carried out."""

from __future__ import annotations

from collections.abc import Mapping

from amplifier.nearest import nearest
from amplifier.paths import Places
from amplifier.problems import UsageProblem
from amplifier.tui.commands.command import Command, Desk, table
from amplifier.tui.commands.copying import COPYING
from amplifier.tui.commands.memory import MEMORY
from amplifier.tui.commands.models import MODELS
from amplifier.tui.commands.project import PROJECT
from amplifier.tui.commands.rewind import REWIND
from amplifier.tui.commands.sessions import SESSIONS
from amplifier.tui.commands.setup import SETUP
from amplifier.tui.commands.written import WRITTEN, find_written

_KEYS = """\
| key | |
| --- | --- |
| Enter | send; while the agent works, it hears it before its next step |
| Shift+Enter, Alt+Enter, Ctrl-J, `\\` Enter | another line |
| Esc, Ctrl-C | let the agent finish its step and stop; again: at once |
| Esc Esc | go back to before something you said |
| Shift+Tab | another mode |
| Ctrl-O | show what was folded |
| Ctrl-L | empty the screen |
| Ctrl-X Ctrl-E | write in your editor |
| Ctrl-R, ↑ | what you typed before |
| Ctrl-D | leave |

`@path` sends a file along, `!command` runs a command, and its output goes along with what you say next. \
`#text` adds a line to the instructions of the project."""


async def help_(desk: Desk, argument: str) -> None:
    """All commands and keys; with a name, that command."""
    commands = desk.commands
    if argument:
        one = require_command(argument.removeprefix("/"), commands)
        desk.say(f"`/{one.name}{' ' + one.usage if one.usage else ''}` — {one.about}")
        return
    rows = [(f"/{each.name} {each.usage}".strip(), each.about) for each in commands.values()]
    desk.say(f"{table(('command', ''), rows)}\n\n{_KEYS}")


async def unfold(desk: Desk, argument: str) -> None:
    """Shows thinking and results that were folded, whole."""
    if not desk.unfold():
        desk.notice("nothing is folded")


async def vim(desk: Desk, argument: str) -> None:
    """Goes over to the other keys, in this chat."""
    desk.notice(f"keys: {desk.terminal.switch_keys()}; for every chat: amplifier config set chat.keys vi")


BUILT_IN = (
    Command("help", "All commands and keys.", help_, "[COMMAND]", is_quick=True),
    *SESSIONS,
    *COPYING,
    *REWIND,
    *MODELS,
    *SETUP,
    *PROJECT,
    *MEMORY,
    *WRITTEN,
    Command("vim", "Go over to vi keys, or back.", vim, is_quick=True),
    Command("unfold", "Show what was folded last, whole.", unfold, is_quick=True),
)


def commands_in(places: Places) -> dict[str, Command]:
    """The commands by name: those that are built in, then those that were written for the project and the user."""
    own = {each.name: each for each in BUILT_IN}
    return own | {name: each for name, each in find_written(places).commands.items() if name not in own}


def split_line(line: str) -> tuple[str, str]:
    """The name of a command and what stands behind it."""
    name, _, argument = line.strip().removeprefix("/").partition(" ")
    return name, argument.strip()


def require_command(name: str, commands: Mapping[str, Command]) -> Command:
    """The command of that name, or the only one that begins so; raises ``UsageProblem`` with the nearest one."""
    fitting = [name] if name in commands else [each for each in commands if name and each.startswith(name)]
    if len(fitting) == 1:
        return commands[fitting[0]]
    near = nearest(name, commands)
    meant = f"; did you mean /{near}?" if near else "."
    raise UsageProblem(f"There is no command '/{name}'{meant}", "/help lists them all.")
