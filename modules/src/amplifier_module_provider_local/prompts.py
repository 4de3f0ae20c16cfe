"""What the model is asked when it is not simply asked to answer: by example, since it hardly follows instructions."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from amplifier_core.message_models import ToolSpec

SMALL_TALK = "small talk"
"""What somebody needs who needs no tool."""

_MOST_NEED_CHARS = 120

_NEEDS = (
    ("plays music", "Put on some jazz by Miles Davis"),
    (SMALL_TALK, "Hi, who are you?"),
    ("books a table in a restaurant", "Dinner for two at Luigi's at 8 pm?"),
    (SMALL_TALK, "Why do cats purr?"),
    ("switches a lamp on or off", "It is too dark in the kitchen"),
    (SMALL_TALK, "Thanks, tell me a story!"),
)
_ARGUMENTS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("plays music", "Put on some jazz by Miles Davis", {"artist": "Miles Davis"}),
    ("books a table in a restaurant", "Dinner for 2 at Luigi's, please", {"restaurant": "Luigi's", "people": 2}),
    ("finds a page of the handbook", "Where is chapter-3.html?", {"title": "chapter-3.html"}),
    ("solves a formula", "What is half of 30?", {"formula": "30 / 2"}),
)
_RESULTS = (
    ("How many apples are left?", "7", "There are 7 apples left."),
    ("Who is in the team?", "Tom, Eva", "Tom and Eva are in the team."),
)

Messages = list[dict[str, str]]


def saying_for(need: str) -> Messages:
    """Asks what somebody would say who has that ``need``; how likely a request is as the answer tells if it fits."""
    told = _system("Write what somebody says who needs this.")
    for example, said in _NEEDS:
        told += _exchange(example, said)
    return [*told, {"role": "user", "content": need}]


def arguments_for(tool: ToolSpec, names: Sequence[str], asked: str) -> Messages:
    """Asks for the arguments called ``names`` that the request has for ``tool``."""
    told = _system("Take the arguments out of the request, as JSON.")
    for need, said, arguments in _ARGUMENTS:
        told += _exchange(_with_names(need, list(arguments), said), json.dumps(arguments))
    return [*told, {"role": "user", "content": _with_names(need_of(tool), names, asked)}]


def answer_from(asked: str, results: Sequence[str]) -> Messages:
    """Asks for an answer in words to what was asked, now that tools have given ``results``."""
    told = _system("Answer the question with the result, in one sentence.")
    for question, result, answer in _RESULTS:
        told += _exchange(_with_result(question, result), answer)
    return [*told, {"role": "user", "content": _with_result(asked, "\n".join(results))}]


def need_of(tool: ToolSpec) -> str:
    """What somebody needs who needs ``tool``: the first sentence of its description, else its name in words."""
    sentence = re.split(r"(?<=[.!?])\s|\n", (tool.description or "").strip(), maxsplit=1)[0].rstrip(".")[
        :_MOST_NEED_CHARS
    ]
    return sentence[:1].lower() + sentence[1:] if sentence else re.sub(r"[\W_]+", " ", tool.name).strip()


def _system(text: str) -> Messages:
    return [{"role": "system", "content": text}]


def _exchange(said: str, answered: str) -> Messages:
    return [{"role": "user", "content": said}, {"role": "assistant", "content": answered}]


def _with_names(need: str, names: Sequence[str], said: str) -> str:
    return f"{need} ({', '.join(names)})\n{said}"


def _with_result(question: str, result: str) -> str:
    return f"Question: {question}\nResult: {result}"
