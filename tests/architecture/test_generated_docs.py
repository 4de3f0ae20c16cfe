"""The generated pages under `docs/` are what their generator writes today."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

from amplifier_core.event_payloads import PAYLOADS

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    """The script `docs/generate_events.py` as a module."""
    spec = importlib.util.spec_from_file_location("generate_events", DOCS / "generate_events.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_event_pages_are_current(generator: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    """`docs/events.md` and `docs/events.schema.json` match the payload types; if not, the message says what to run."""
    exit_code = generator.main(["--check"])
    assert (exit_code, capsys.readouterr().err) == (0, "")


def test_a_stale_or_missing_page_is_named(
    generator: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The check fails on an edited and on an absent file, names each, and says how to renew it."""
    assert generator.main(["--into", str(tmp_path)]) == 0
    assert generator.main(["--into", str(tmp_path), "--check"]) == 0
    (tmp_path / "events.md").write_text("edited by hand", encoding="utf-8")
    (tmp_path / "events.schema.json").unlink()
    capsys.readouterr()
    exit_code = generator.main(["--into", str(tmp_path), "--check"])
    todo = "does not match the event payloads. Run `python docs/generate_events.py` and commit the result."
    assert (exit_code, capsys.readouterr().err) == (1, f"events.md {todo}\nevents.schema.json {todo}\n")
    assert (tmp_path / "events.md").read_text(encoding="utf-8") == "edited by hand"


def test_the_page_has_a_section_for_every_event() -> None:
    """Each event is found under its own heading, once, with a table of its fields."""
    page = (DOCS / "events.md").read_text(encoding="utf-8")
    assert {event: page.count(f"\n### `{event}`\n") for event in PAYLOADS} == dict.fromkeys(PAYLOADS, 1)
    assert page.count("| field | type | required | meaning |") == len(PAYLOADS)


def test_the_schema_file_is_keyed_by_event() -> None:
    """Tools in other languages read one JSON file that has a schema per event."""
    schemas = json.loads((DOCS / "events.schema.json").read_text(encoding="utf-8"))
    assert list(schemas) == list(PAYLOADS)
