"""The input of a batch: what is an item, and what is wrong with lines that are none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier.batch.items import BadLine, Item, Survey, read_items, read_lines, require_items, survey
from amplifier.problems import StorageProblem, UsageProblem


def written(folder: Path, *lines: Any) -> Path:
    """A file with these lines: bytes as they are, anything else as JSON."""
    file = folder / "items.jsonl"
    raw = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    file.write_bytes(b"\n".join(raw))
    return file


def test_lines_become_items(tmp_path: Path) -> None:
    """A text is a prompt; empty lines are none; everything that an item may have is read."""
    whole = {
        "id": "a", "prompt": "Why?", "bundle": "b", "provider": "p", "model": "m", "system_prompt": "s",
        "max_turns": 2, "max_budget_usd": 0.5, "timeout": 3, "metadata": {"k": 1},
    }  # fmt: skip
    file = written(tmp_path, "How?", b"", whole, {"prompt": "x", "id": None})
    first, second, third = read_items(file)
    assert (first.id, first.prompt, first.line, first.flags()) == ("line-1", "How?", 1, {})
    assert second == Item("a", "Why?", second.digest, 3, "b", "p", "m", "s", 2, 0.5, 3, {"k": 1})
    assert second.flags() == {"provider": "p", "model": "m", "limits.max_turns": 2, "limits.max_budget_usd": 0.5}
    assert (third.id, survey(file)) == ("line-4", Survey(3, []))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{", "is no JSON"),
        (b'"\xff"', "is no UTF-8"),
        ([], "expected an object"),
        ({}, "'prompt' must be a text"),
        ({"prompt": "  "}, "'prompt' must be a text"),
        ({"prompt": "x", "modle": "y"}, "did you mean 'model'?"),
        ({"prompt": "x", "zzzzzzzz": "y"}, "nobody reads 'zzzzzzzz'"),
        ({"prompt": "x", "model": 7}, "'model' must be a text"),
        ({"prompt": "x", "id": ""}, "'id' must be a text"),
        ({"prompt": "x", "id": "i" * 201}, "more than 200"),
        ({"prompt": "x", "max_turns": 1.5}, "'max_turns' must be a whole number above 0"),
        ({"prompt": "x", "timeout": True}, "'timeout' must be a number above 0"),
        ({"prompt": "x", "max_budget_usd": 0}, "'max_budget_usd' must be a number above 0"),
        ({"prompt": "x", "metadata": [1]}, "'metadata' must be an object"),
    ],
)
def test_a_line_that_is_no_item_says_why(tmp_path: Path, line: Any, reason: str) -> None:
    """With its number."""
    found = list(read_lines(written(tmp_path, {"prompt": "fine"}, line)))[1]
    assert isinstance(found, BadLine)
    assert (found.line, reason in found.reason, str(found).startswith("line 2: ")) == (2, True, True)


def test_an_id_is_there_once(tmp_path: Path) -> None:
    """The second one is refused, with where the first is."""
    file = written(tmp_path, {"id": "a", "prompt": "1"}, {"id": "a", "prompt": "2"})
    assert survey(file) == Survey(1, [BadLine(2, "the id 'a' is that of line 1")])


def test_bad_lines_stop_a_batch_unless_they_may_be_left_out(tmp_path: Path) -> None:
    """All at once, but not more than fit on a screen; a file without items is refused anyway."""
    file = tmp_path / "f"
    bad = [BadLine(number, "is no JSON") for number in range(1, 26)]
    with pytest.raises(UsageProblem) as caught:
        require_items(file, Survey(1, bad), skips_bad=False)
    assert caught.value.message.count("\n") == 21
    assert caught.value.message.endswith("and 5 more")
    with pytest.raises(UsageProblem, match="line 1: is no JSON$"):
        require_items(file, Survey(1, bad[:1]), skips_bad=False)
    require_items(file, Survey(1, bad), skips_bad=True)
    with pytest.raises(UsageProblem, match="has no items"):
        require_items(file, Survey(0, bad), skips_bad=True)


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    """As a problem of storage."""
    with pytest.raises(StorageProblem, match="cannot be read"):
        survey(tmp_path / "nowhere")


@given(st.dictionaries(st.sampled_from(["id", "bundle", "model"]), st.text(min_size=1)), st.text(), st.text())
def test_an_item_is_known_by_what_it_says(fields: dict[str, str], one: str, other: str) -> None:
    """The same line has the same digest, another one has another."""
    from amplifier.batch.items import _digest

    assert _digest({**fields, "prompt": one}) == _digest(dict(reversed({**fields, "prompt": one}.items())))
    assert (_digest({"prompt": one}) == _digest({"prompt": other})) == (one == other)
