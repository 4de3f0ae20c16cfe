"""Settings for all tests: properties are judged by what they say, never by how long they take."""

from __future__ import annotations

import sys
from collections.abc import Generator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# Based on what is in force by now: hypothesis itself makes runs repeatable where the variable CI is set.
settings.register_profile("amplifier", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("amplifier")


# ``make tests`` switches the plug-in's entry point off, since that is loaded before coverage begins.
pytest_plugins = [] if "amplifier_core.pytest_plugin" in sys.modules else ["amplifier_core.pytest_plugin"]


def pytest_configure(config: pytest.Config) -> None:
    """Makes the mark known where coverage is not installed."""
    config.addinivalue_line("markers", "no_cover: runs without coverage, which would take most of its time")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Lets properties run without coverage: it doubles their time, and what only luck reaches is not covered."""
    for item in items:
        if item.get_closest_marker("hypothesis"):
            item.add_marker(pytest.mark.no_cover)


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable() -> Generator[None, Any, Any]:
    """Lets reports with lone surrogates pass from one test process to another.

    Some tests log such characters on purpose. pytest-xdist should carry them; it ends the whole run instead, since its
    messages are UTF-8. This can go when it escapes what it cannot encode.
    """
    return _encodable((yield))


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, dict):
        return {_encodable(key): _encodable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_encodable(item) for item in value)
    return value
