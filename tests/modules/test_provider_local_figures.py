"""The published figures of the embedded model are those that were measured."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_page_shows_the_figures_of_the_last_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table is made from the result file; every prompt of the set is in it, and every call was valid."""
    monkeypatch.syspath_prepend(str(ROOT))
    bench = import_module("bench.local_model")
    page = (ROOT / "docs/guide/local-model.md").read_text(encoding="utf-8")
    figures = json.loads(bench.RESULTS.read_text(encoding="utf-8"))["figures"]
    results = figures.pop("results")
    prompts = json.loads(bench.PROMPTS.read_text(encoding="utf-8"))
    assert figures["free"]["prompts"] == sum(len(each["prompts"]) for each in prompts["sets"]) >= 24
    assert all(each["valid_calls"] == each["calls"] for each in figures.values())
    assert bench.table(figures) in page
    assert f"of ten: {results['with_the_result']}." in page
    assert results["answers"] == 10
