"""The helpers' front door."""

from __future__ import annotations

import subprocess
import sys

import pytest

from amplifier_core import utils
from amplifier_core.utils import retry, truncate

NAMES = {
    "truncate_values",
    "redact_secrets",
    "SENSITIVE_KEYS",
    "RetryConfig",
    "retry_with_backoff",
    "classify_error_message",
}


def test_exports_are_the_published_names() -> None:
    """``__all__`` has exactly the published names, and each is the object of its module."""
    assert set(utils.__all__) == NAMES
    assert len(utils.__all__) == len(NAMES)
    for name in utils.__all__:
        home = retry if hasattr(retry, name) else truncate
        assert getattr(utils, name) is getattr(home, name)
    assert set(dir(utils)) >= NAMES


def test_unknown_names_are_attribute_errors() -> None:
    """A name that is not exported is refused as by any module."""
    with pytest.raises(AttributeError, match=r"module 'amplifier_core\.utils' has no attribute 'no_such_name'"):
        _ = utils.no_such_name


def test_importing_the_package_loads_nothing_more() -> None:
    """The helpers are loaded when first used, so that the package itself costs nothing."""
    code = (
        "import sys, amplifier_core.utils as utils;"
        "print(any(name.startswith('amplifier_core.utils.') for name in sys.modules));"
        "utils.SENSITIVE_KEYS;"
        "print('amplifier_core.utils.truncate' in sys.modules, 'SENSITIVE_KEYS' in vars(utils))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "True", "True"]
