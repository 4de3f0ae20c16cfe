"""The input of a batch: a line of JSON per item, checked before anything runs, and read one by one when it does."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, cast

from amplifier.nearest import nearest
from amplifier.problems import StorageProblem, UsageProblem

_TEXTS = ("id", "bundle", "provider", "model", "system_prompt")
_NUMBERS = ("max_turns", "max_budget_usd", "timeout")
_KNOWN = (*_TEXTS, "prompt", *_NUMBERS, "metadata")
_MOST_ID_CHARS = 200


@dataclass(frozen=True, slots=True)
class Item:
    """One prompt of a batch, and what is different for it."""

    id: str
    prompt: str
    digest: str
    """Tells whether the line is the one that was run before."""
    line: int
    bundle: str | None = None
    provider: str | None = None
    model: str | None = None
    system_prompt: str | None = None
    max_turns: int | None = None
    max_budget_usd: float | None = None
    timeout: float | None = None
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    """Handed on to the result as it is."""

    def flags(self) -> dict[str, Any]:
        """The settings that the item has of its own, by dotted key."""
        said = {
            "provider": self.provider,
            "model": self.model,
            "limits.max_turns": self.max_turns,
            "limits.max_budget_usd": self.max_budget_usd,
        }
        return {key: value for key, value in said.items() if value is not None}


class BadLine(NamedTuple):
    """A line that is no item, and why."""

    line: int
    reason: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.reason}"


class Survey(NamedTuple):
    """What a file of items has."""

    total: int
    """How many lines are items."""
    bad: list[BadLine]


class _UnfitError(ValueError):
    """A line cannot be an item; the text says why."""


def survey(path: Path) -> Survey:
    """Reads all lines once, and keeps none of them."""
    total, bad = 0, list[BadLine]()
    for found in read_lines(path):
        if isinstance(found, BadLine):
            bad.append(found)
        else:
            total += 1
    return Survey(total, bad)


def read_items(path: Path) -> Iterator[Item]:
    """The items of a file, one by one; lines that are none are left out."""
    return (found for found in read_lines(path) if isinstance(found, Item))


def read_lines(path: Path) -> Iterator[Item | BadLine]:
    """Every line that is not empty, as an item or with what is wrong; raises ``StorageProblem`` for a file that is not
    readable."""
    ids: dict[str, int] = {}
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, start=1):
                if raw.strip():
                    yield _item_or_reason(raw, number, ids)
    except OSError as error:
        raise StorageProblem(
            f"{path} cannot be read: {error.strerror}.", "Give a file with a line of JSON per item."
        ) from None


def require_items(path: Path, found: Survey, *, skips_bad: bool, most_told: int = 20) -> None:
    """Raises ``UsageProblem`` for a file with lines that are no items, unless they may be skipped, and for none."""
    if found.bad and not skips_bad:
        told = "\n".join(f"  {each}" for each in found.bad[:most_told])
        more = f"\n  and {len(found.bad) - most_told} more" if len(found.bad) > most_told else ""
        raise UsageProblem(
            f"{path} has lines that are no items:\n{told}{more}", "Correct them, or leave them out with --skip-invalid."
        )
    if not found.total:
        raise UsageProblem(f"{path} has no items.", 'Expected a line of JSON per item: {"prompt": "…"}')


def _item_or_reason(raw: bytes, number: int, ids: dict[str, int]) -> Item | BadLine:
    try:
        item = _item(raw, number)
    except _UnfitError as error:
        return BadLine(number, str(error))
    first = ids.setdefault(item.id, number)
    return item if first == number else BadLine(number, f"the id '{item.id}' is that of line {first}")


def _item(raw: bytes, number: int) -> Item:
    fields = _fields(raw)
    unknown = next((key for key in fields if key not in _KNOWN), None)
    if unknown is not None:
        near = nearest(unknown, _KNOWN)
        raise _UnfitError(f"nobody reads '{unknown}'" + (f"; did you mean '{near}'?" if near else ""))
    prompt = fields.get("prompt")
    if not isinstance(prompt, str) or not prompt.strip():
        raise _UnfitError("'prompt' must be a text")
    for key in _TEXTS:
        if fields.get(key) is not None and not (isinstance(fields[key], str) and fields[key].strip()):
            raise _UnfitError(f"'{key}' must be a text")
    for key in _NUMBERS:
        _require_number(key, fields.get(key))
    metadata: Any = fields.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise _UnfitError("'metadata' must be an object")
    own_id = str(fields.get("id") or f"line-{number}")
    if len(own_id) > _MOST_ID_CHARS:
        raise _UnfitError(f"'id' has more than {_MOST_ID_CHARS} characters")
    rest = {key: fields[key] for key in (*_TEXTS[1:], *_NUMBERS) if fields.get(key) is not None}
    return Item(own_id, prompt, _digest(fields), number, **rest, metadata=cast("dict[str, Any]", metadata))


def _fields(raw: bytes) -> dict[str, Any]:
    try:
        data: Any = json.loads(raw)
    except UnicodeDecodeError:
        raise _UnfitError("is no UTF-8") from None
    except ValueError as error:
        raise _UnfitError(f"is no JSON: {error}") from None
    if isinstance(data, str):
        return {"prompt": data}
    if not isinstance(data, dict):
        raise _UnfitError('expected an object, such as {"prompt": "…"}')
    return cast("dict[str, Any]", data)


def _require_number(key: str, value: Any) -> None:
    if value is None:
        return
    is_number = isinstance(value, int if key == "max_turns" else int | float) and not isinstance(value, bool)
    if not is_number or value <= 0:
        raise _UnfitError(f"'{key}' must be {'a whole number' if key == 'max_turns' else 'a number'} above 0")


def _digest(fields: dict[str, Any]) -> str:
    text = json.dumps(fields, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
