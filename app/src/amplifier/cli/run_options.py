"""The options of the commands that run an agent, and what they say, as data."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from amplifier.console.formats import FORMATS, OutputFormat
from amplifier.problems import UsageProblem

_Function = TypeVar("_Function", bound=Callable[..., Any])
_MODES = ("default", "plan", "accept-edits", "dont-ask", "bypass")
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path, resolve_path=True)


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What the options of one call say; ``None`` and empty is "nothing was said"."""

    bundle: str | None = None
    provider: str | None = None
    model: str | None = None
    max_tokens: int | None = None
    effort: str | None = None
    resume: str | None = None
    session_id: str | None = None
    fork_session: bool = False
    name: str | None = None
    ephemeral: bool = False
    system_prompt: str | None = None
    system_prompt_file: Path | None = None
    append_system_prompt: str | None = None
    allowed_tools: tuple[str, ...] = ()
    disallowed_tools: tuple[str, ...] = ()
    permission_mode: str | None = None
    add_dir: tuple[Path, ...] = ()
    image: tuple[Path, ...] = ()
    max_turns: int | None = None
    max_budget_usd: float | None = None
    timeout: float | None = None
    output_format: OutputFormat | None = None
    input_format: str = "text"
    include_partial_messages: bool = False
    json_schema: str | None = None
    output_last_message: Path | None = None
    verbose: bool = False

    @classmethod
    def of(cls, given: dict[str, Any]) -> RunOptions:
        """The options among the parameters of a command."""
        names = {each.name for each in fields(cls)}
        return cls(**{name: value for name, value in given.items() if name in names})

    def flags(self) -> dict[str, Any]:
        """The settings that options stand for, by dotted key."""
        said: dict[str, Any] = {
            "provider": self.provider,
            "model": self.model,
            "permissions.allow": list(self.allowed_tools),
            "permissions.deny": list(self.disallowed_tools),
            "permissions.mode": self.permission_mode,
            "permissions.additional_directories": [str(folder) for folder in self.add_dir],
            "limits.max_turns": self.max_turns,
            "limits.max_budget_usd": self.max_budget_usd,
            "limits.timeout": self.timeout,
            "output.format": self.output_format,
        }
        return {key: value for key, value in said.items() if value not in (None, [])}

    def overrides(self) -> dict[str, Any]:
        """What options change in the plan itself; see ``make_plan``."""
        loop = {"max_output_tokens": self.max_tokens, "reasoning_effort": self.effort}
        config = {key: value for key, value in loop.items() if value is not None}
        instruction = self.system_prompt
        if self.system_prompt_file is not None:
            instruction = read_text(self.system_prompt_file)
        said: dict[str, Any] = {
            "instruction": instruction,
            "append_instruction": self.append_system_prompt,
            "session": {"orchestrator": {"config": config}} if config else None,
        }
        return {key: value for key, value in said.items() if value is not None}

    def schema(self) -> dict[str, Any] | None:
        """The schema that the answer must fit, from JSON text or a file."""
        if self.json_schema is None:
            return None
        is_text = self.json_schema.lstrip().startswith("{")
        text = self.json_schema if is_text else read_text(Path(self.json_schema))
        try:
            schema: Any = json.loads(text)
        except ValueError as error:
            raise UsageProblem(
                f"--json-schema is no JSON: {error}.", "Give a JSON Schema, or a file that has one."
            ) from None
        if not isinstance(schema, dict):
            raise UsageProblem("--json-schema must be an object.", 'For example: {"type": "object"}')
        return cast("dict[str, Any]", schema)


def read_text(path: Path) -> str:
    """The text of a file that an option names."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageProblem(f"{path} cannot be read: {error}.", "Give a UTF-8 text file.") from None


def _rules(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Several rules may stand in one word, apart by commas; a comma inside parentheses belongs to a rule."""
    found: list[str] = []
    for value in values:
        depth, rule = 0, ""
        for character in value:
            depth += (character == "(") - (character == ")")
            if character == "," and depth <= 0:
                found.append(rule.strip())
                rule = ""
            else:
                rule += character
        found.append(rule.strip())
    return tuple(rule for rule in found if rule)


def run_options(function: _Function) -> _Function:
    """Adds the options of ``RunOptions`` to a command."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


_OPTIONS = (
    click.option("-B", "--bundle", metavar="REF", help="The bundle, by name or path."),
    click.option("-p", "--provider", metavar="NAME", help="The provider to ask."),
    click.option("-m", "--model", metavar="MODEL", help="The model to ask; provider/model names both."),
    click.option("--max-tokens", type=click.IntRange(1), metavar="N", help="The most tokens of one answer."),
    click.option("--effort", metavar="LEVEL", help="How much the model thinks: low, medium, high …"),
    click.option("--session-id", metavar="ID", help="The id of the new session."),
    click.option("-n", "--name", metavar="NAME", help="A name for the session."),
    click.option("--ephemeral", is_flag=True, help="Keep nothing of the session."),
    click.option("--system-prompt", metavar="TEXT", help="In the place of the bundle's."),
    click.option("--system-prompt-file", type=_FILE, metavar="FILE", help="The same from a file."),
    click.option("--append-system-prompt", metavar="TEXT", help="Behind the bundle's."),
    click.option(
        "--allowed-tools", "--allowedTools", multiple=True, callback=_rules, metavar="RULES",
        help='What runs without asking, such as "Bash(git *),read_file".',
    ),
    click.option(
        "--disallowed-tools", "--disallowedTools", multiple=True, callback=_rules, metavar="RULES",
        help="What never runs.",
    ),
    click.option("--permission-mode", type=click.Choice(_MODES), help="How much is asked."),
    click.option("--add-dir", type=_FOLDER, multiple=True, metavar="DIR", help="One more folder; may be given often."),
    click.option(
        "-i", "--image", type=_FILE, multiple=True, metavar="FILE",
        help="An image for the prompt; may be given often.",
    ),
    click.option("--max-turns", type=click.IntRange(1), metavar="N", help="The most calls of the model."),
    click.option("--max-budget-usd", type=click.FloatRange(0), metavar="USD", help="The most money."),
    click.option("--timeout", type=click.FloatRange(0, min_open=True), metavar="S", help="The most seconds."),
    click.option("--output-format", type=click.Choice(FORMATS), help="What is printed (else setting output.format)."),
    click.option(
        "--input-format", type=click.Choice(["text", "stream-json"]), default="text", show_default=True,
        help="What standard input is: a prompt, or a line of JSON per prompt.",
    ),
    click.option("--include-partial-messages", is_flag=True, help="Pieces of answers in stream-json."),
    click.option("--json-schema", metavar="JSON|FILE", help="A JSON Schema that the answer must fit."),
    click.option(
        "-o", "--output-last-message", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
        help="Write the answer into a file as well.",
    ),
    click.option("-v", "--verbose", is_flag=True, help="Tell on standard error what goes on."),
)  # fmt: skip
