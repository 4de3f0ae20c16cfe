"""Keeps the answer to a tool's result from inventing numbers: a grammar in which there are only those that were given.

Data in, data out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

_MOST_NUMBERS = 40
_MOST_VERBATIM_CHARS = 40
_NUMBER = re.compile(r"[0-9]+(?:[.,:][0-9]+)*")
_WORDS = re.compile(r"[^\W\d_]|\n")
# Two numbers are not joined to a third one by a point between them, and behind the last one there is little to say.
_BETWEEN = (r"sep ::= [^0-9\n]* [^0-9.,:\n] [.,:]*", r"end ::= [^0-9=\n]{0,60}")


def numbers_grammar(asked: str, results: Sequence[str]) -> str | None:
    """A grammar for one line whose numbers come from the question and the results; ``None`` where results have none.

    A single result that is short and has no letters, such as a sum or a phone number, must be told as it is.
    """
    given = "\n".join(results).strip()
    told, known = _NUMBER.findall(given), _NUMBER.findall(asked)
    if not told or len(told) + len(known) > _MOST_NUMBERS:
        return None
    is_verbatim = len(given) <= _MOST_VERBATIM_CHARS and not _WORDS.search(given)
    if not is_verbatim:
        return "\n".join(["root ::= num? (sep num)* end", _numbers([*told, *known]), *_BETWEEN])
    result = json.dumps(given, ensure_ascii=False)
    if not known:
        return "\n".join([f"root ::= sep? {result} end", *_BETWEEN])
    # Before the result at most as many numbers as the question has, behind it one more: no sum goes on for ever.
    most = len(known)
    root = (
        f"root ::= (sep? num (sep num){{0,{most - 1}}} sep | sep)? {result} (sep (num | {result})){{0,{most + 1}}} end"
    )
    return "\n".join([root, _numbers(known), *_BETWEEN])


def _numbers(found: Sequence[str]) -> str:
    return f"num ::= {' | '.join(map(json.dumps, dict.fromkeys(found)))}"
