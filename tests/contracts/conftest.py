"""What the tests of the contracts share: modules of one name from several places, in one process after another."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

# The corpus has test suites of its own; they are run by ``test_corpus``, each as its author would.
collect_ignore = ["corpus"]


@pytest.fixture(autouse=True)
def forget_modules_under_test() -> Iterator[None]:
    """Makes the packages that a test has imported unknown again; a page and the corpus may use one name."""
    known = set(sys.modules)
    yield
    for name in set(sys.modules) - known:
        if name.startswith(("amplifier_module_", "my_")):
            del sys.modules[name]
