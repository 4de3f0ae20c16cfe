"""The command that gives an answer, or the code in it, to the clipboard."""

from __future__ import annotations

import re

from amplifier.problems import Problem
from amplifier.store.transcript import text_of
from amplifier.tui.commands.command import Command, Desk

_BLOCK = re.compile(
    r"^ {0,3}(?P<fence>`{3,}+|~{3,}+)[^\n]*\n(?P<code>.*?)(?:^ {0,3}(?P=fence)[`~]* *$|\Z)", re.M | re.S
)


async def copy(desk: Desk, argument: str) -> None:
    """Copies the last answer, the one so many before, or the last block of code."""
    said = [text_of(each) for each in await desk.talk.messages() if each.get("role") == "assistant"]
    answers = [text for text in reversed(said) if text.strip()]
    if not answers:
        raise Problem("There is no answer yet.")
    text = _last_code(answers) if argument == "code" else _answer(answers, argument)
    desk.notice(f"{len(text):,} characters: {await desk.copy(text)}")


def _last_code(answers: list[str]) -> str:
    for answer in answers:
        blocks = [found["code"] for found in _BLOCK.finditer(answer)]
        if blocks:
            return blocks[-1]
    raise Problem("There is no block of code in the answers.", "/copy takes the last answer.")


def _answer(answers: list[str], argument: str) -> str:
    if argument and not (argument.isdecimal() and 1 <= int(argument) <= len(answers)):
        raise Problem(
            f"There is no answer '{argument}'.",
            f"/copy code takes the last code; /copy 1 … {len(answers)} an answer, counted from the last.",
        )
    return answers[int(argument or 1) - 1]


COPYING = (
    Command(
        "copy", "Put the last answer, an earlier one, or the last code into the clipboard.", copy, "[code | NUMBER]",
        is_quick=True,
    ),
)  # fmt: skip
