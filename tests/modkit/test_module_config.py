"""A module's config: the kernel is told of unknown keys, a module passes them over."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from amplifier_modkit.module_config import ModuleConfig


class Settings(ModuleConfig):
    most: int = 3


def test_known_keys_are_read_and_checked() -> None:
    """Unknown ones are left out, since the kernel has reported them; wrong values are refused."""
    assert Settings.read({"most": 5, "nonsense": True}).most == 5
    assert Settings.read(None) == Settings()
    with pytest.raises(ValidationError):
        Settings.read({"most": "many"})


def test_as_a_declaration_it_knows_its_keys() -> None:
    """The kernel learns from it which keys nobody reads, and nobody changes it afterwards."""
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        Settings.model_validate({"nonsense": True})
    with pytest.raises(ValidationError, match="frozen"):
        Settings().most = 4  # pyright: ignore[reportAttributeAccessIssue]
