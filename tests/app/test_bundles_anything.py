"""Whatever a bundle's file says: it becomes a plan, or a problem that names the file."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tests.app.bundle_corpus import places_in

from amplifier.bundles.load import load_bundle
from amplifier.bundles.plan import MountPlan, make_plan
from amplifier.paths import Places
from amplifier.problems import Problem
from amplifier.settings import Settings

KEYS = [
    "bundle",
    "name",
    "includes",
    "session",
    "orchestrator",
    "context",
    "tools",
    "module",
    "config",
    "agents",
    "include",
    "spawn",
    "instruction",
    "meta",
    "id",
    "source",
    "namespace_root",
    "description",
    "providers",
    "hooks",
    "provider_preferences",
]
TEXTS = ["", "minimal", "./b.yaml", "x:y", "See @x:y.md", "${A}", "a/${A:-b}"]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.dates() | st.sampled_from(TEXTS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)


def outcome(data: dict[str, Any], places: Places) -> MountPlan | Problem:
    """The plan of a bundle with ``data``, or what is told to its author."""
    (places.working_dir / "b.yaml").write_text(yaml.safe_dump(data), encoding="utf-8")
    try:
        settings = Settings.load(places, None, {})
        return make_plan(load_bundle("./b.yaml", places), settings, places, environ={}, has_module=lambda _: True)
    except Problem as problem:
        return problem


@pytest.mark.slow
@given(st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=6))
def test_whatever_a_file_says_is_a_plan_or_a_problem(data: dict[str, Any]) -> None:
    """No file makes the command fail in a way that does not tell what is wrong with the file."""
    base = {"session": {"orchestrator": "loop-basic", "context": "context-simple"}}
    with TemporaryDirectory() as folder:
        found = outcome({**base, **data}, places_in(Path(folder)))
    if isinstance(found, Problem):
        assert "b.yaml" in found.message
    else:
        assert set(found.shown()) >= {"session", "providers", "tools", "hooks", "agents"}
        assert set(found.origins) >= {"session.orchestrator.module", "session.context.module"}
