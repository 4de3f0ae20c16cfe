"""One call of the command: its places, what its common options say, and the settings that follow from them.

Commands get it with ``@click.pass_obj``. The common options may stand before the command and behind it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from amplifier.cli.output import color_from, printable, warn
from amplifier.paths import Places
from amplifier.problems import SettingsProblem, UsageProblem

if TYPE_CHECKING:
    from amplifier.settings import Settings
    from amplifier.sources import Sources

_Function = TypeVar("_Function", bound=Callable[..., Any])


class Invocation:
    """One call of the command, made at its start; settings are read once, when they are first asked for."""

    def __init__(self) -> None:
        self.assignments: list[str] = []
        """Each ``-c key=value``, in order."""
        self.settings_texts: list[str] = []
        """Each ``--settings FILE|JSON``, in order."""
        self.flags: dict[str, Any] = {}
        """Settings by dotted key that options of a command stand for, such as ``{"model": …}`` for ``--model``."""
        self.is_strict = False
        self.is_trusting = False
        """Whether the settings of the folder count for this call, whatever the user has said before."""
        self.may_ask = False
        """Whether the user may be asked if the folder is trusted: for commands that run an agent."""
        self.color: str | None = None
        self.is_debug = False

    @cached_property
    def places(self) -> Places:
        """Where everything is; from now on modules agree, since the variable of the home is set."""
        try:
            cwd = Path.cwd()
        except FileNotFoundError:
            raise UsageProblem(
                "The working directory does not exist any more.", "Change to one that does, and call it again."
            ) from None
        places = Places.find(os.environ, cwd)
        os.environ["AMPLIFIER_HOME"] = str(places.home)
        return places

    def work_in(self, folder: Path) -> None:
        """Has everything that follows find its places as if the command had been started in ``folder``."""
        self.places = Places.find(os.environ, folder)

    @cached_property
    def settings(self) -> Settings:
        """The settings that count for this call; warnings are told on standard error."""
        from amplifier.settings import Settings, flags_from
        from amplifier.settings.trust import FolderTrust

        flags = {**flags_from(self.assignments), **self.flags}
        has_terminal = sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()
        ask = _confirmed if self.may_ask and has_terminal else None
        trust = FolderTrust(self.places, is_granted=self.is_trusting, ask=ask)
        settings = Settings.load(
            self.places, flags, os.environ, strict=self.is_strict, texts=self.settings_texts, admit=trust.admit
        )
        if self.is_strict and trust.left_out:
            raise SettingsProblem(trust.warnings()[0], "Trust the folder, or leave --strict-config out.")
        for warning in [*settings.warnings, *trust.warnings()]:
            warn(warning)
        if self.color is None:
            click.get_current_context().color = color_from(settings.get("output.color"), os.environ)
        return settings

    @cached_property
    def sources(self) -> Sources:
        """Where modules and bundles come from, as the settings say; warnings are told on standard error."""
        from amplifier.sources import Sources

        return Sources.of(self.settings, self.places, tell=warn)

    def fetch(self, ref: str) -> Path:
        """Brings a bundle that is elsewhere to this machine; what that takes is imported only then."""
        return self.sources.fetch(ref)


def common_options(function: _Function) -> _Function:
    """Adds the options that every command may have: ``-c --settings --strict-config --trust --frozen --color --debug``.

    Their values are in the invocation, not among the parameters of the function.
    """
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def _invocation(ctx: click.Context) -> Invocation:
    return ctx.ensure_object(Invocation)


def _keep_assignments(ctx: click.Context, _: click.Parameter, values: tuple[str, ...]) -> None:
    _invocation(ctx).assignments.extend(values)


def _keep_settings(ctx: click.Context, _: click.Parameter, values: tuple[str, ...]) -> None:
    _invocation(ctx).settings_texts.extend(values)


def _keep_strict(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    _invocation(ctx).is_strict |= value


def _keep_trusting(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    _invocation(ctx).is_trusting |= value


def _keep_frozen(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        _invocation(ctx).flags["sources.frozen"] = True


def _confirmed(question: str) -> bool:
    return click.confirm(printable(question), default=False, err=True)


def _keep_debug(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    _invocation(ctx).is_debug |= value


def _keep_color(ctx: click.Context, _: click.Parameter, value: str | None) -> None:
    invocation = _invocation(ctx)
    invocation.color = value or invocation.color
    ctx.color = color_from(invocation.color, os.environ)


_OPTIONS = (
    click.option(
        "-c",
        "--config",
        metavar="KEY=VALUE",
        multiple=True,
        expose_value=False,
        callback=_keep_assignments,
        help="Set a setting for this call; may be given often.",
    ),
    click.option(
        "--settings",
        metavar="FILE|JSON",
        multiple=True,
        expose_value=False,
        callback=_keep_settings,
        help="Settings for this call, from a file or as JSON.",
    ),
    click.option(
        "--strict-config",
        is_flag=True,
        expose_value=False,
        callback=_keep_strict,
        help="Make unknown settings an error.",
    ),
    click.option(
        "--trust",
        is_flag=True,
        expose_value=False,
        callback=_keep_trusting,
        help="Let the settings of this folder count, for this call.",
    ),
    click.option(
        "--frozen",
        is_flag=True,
        expose_value=False,
        callback=_keep_frozen,
        help="Use no source but those in amplifier.lock, to the byte.",
    ),
    click.option(
        "--color",
        type=click.Choice(["auto", "always", "never"]),
        expose_value=False,
        callback=_keep_color,
        help="When to use colours.",
    ),
    click.option(
        "--debug",
        is_flag=True,
        expose_value=False,
        callback=_keep_debug,
        help="Show tracebacks of errors.",
    ),
)
