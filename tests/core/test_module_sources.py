"""Errors and protocols of module sources."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import pytest

from amplifier_core import loader, module_sources
from amplifier_core._error_text import describe_error, error_text
from amplifier_core.module_sources import (
    MODULE_FAILURE_REASONS,
    FileSystemModuleSource,
    ModuleLoadError,
    ModuleNotFoundError,
    ModuleSource,
    ModuleSourceResolver,
    ModuleValidationError,
    SecondSourceError,
    module_failure_reason,
)


def test_the_error_tree_is_what_callers_catch() -> None:
    """Old code catches ValueError, ModuleValidationError or ImportError, and each still hits."""
    assert issubclass(ModuleNotFoundError, ValueError)
    assert not issubclass(ModuleNotFoundError, ImportError)
    assert not issubclass(ModuleNotFoundError, ModuleValidationError)
    assert not issubclass(ModuleValidationError, ValueError)
    assert issubclass(ModuleLoadError, ModuleValidationError)
    assert issubclass(ModuleLoadError, ValueError)
    assert issubclass(SecondSourceError, ModuleLoadError)
    assert issubclass(SecondSourceError, ImportError)


def test_the_loader_offers_the_same_names() -> None:
    """The errors and reason codes are one object under both import paths."""
    for name in ("ModuleNotFoundError", "ModuleLoadError", "ModuleValidationError"):
        assert getattr(loader, name) is getattr(module_sources, name)
    assert loader.MODULE_FAILURE_REASONS is MODULE_FAILURE_REASONS
    assert loader.module_failure_reason is module_failure_reason


def test_not_found_tells_what_was_tried() -> None:
    """The places looked at are kept in order beside the message."""
    error = ModuleNotFoundError("Module 'x' not found", tried=["a", "b"])
    assert (str(error), error.tried, error.reason_code) == ("Module 'x' not found", ("a", "b"), "missing_source")
    assert ModuleNotFoundError().tried == ()


@pytest.mark.parametrize("cls", [ModuleValidationError, ModuleLoadError, SecondSourceError])
def test_a_failure_has_message_and_reason(cls: type[ModuleValidationError]) -> None:
    """The reason is a keyword with a default; text and reason survive copying and pickling."""
    assert cls("wrong").reason_code == "validation_failed"
    error = cls("wrong", reason_code="invalid_entry_point")
    for twin in (error, copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert (type(twin), str(twin), twin.reason_code) == (cls, "wrong", "invalid_entry_point")


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ModuleNotFoundError("x"), "missing_source"),
        (ModuleValidationError("x"), "validation_failed"),
        (ModuleLoadError("x", reason_code="invalid_package_layout"), "invalid_package_layout"),
        (ModuleLoadError("x", reason_code="made-up"), "unknown"),
        (ValueError("x"), "unknown"),
        (KeyboardInterrupt(), "unknown"),
    ],
)
def test_every_error_has_a_known_reason_code(error: BaseException, reason: str) -> None:
    """Codes are stable: whatever is raised, the answer is one of the published set."""
    assert module_failure_reason(error) == reason
    assert reason in MODULE_FAILURE_REASONS


def test_the_reason_codes_are_the_published_ones() -> None:
    """The set is part of the public surface."""
    assert set(MODULE_FAILURE_REASONS) == {
        "invalid_package_layout",
        "missing_source",
        "invalid_entry_point",
        "invalid_module_metadata",
        "validation_failed",
        "unknown",
    }


def test_any_object_with_resolve_is_a_source() -> None:
    """The protocol is structural: no base class is needed."""

    class Duck:
        def resolve(self) -> Path:
            return Path()

    assert isinstance(Duck(), ModuleSource)
    assert not isinstance(object(), ModuleSource)


def test_a_source_can_be_subclassed_and_must_then_resolve() -> None:
    """A subclass without ``resolve`` cannot be made, as with an abstract base class."""

    class Here(ModuleSource):
        def resolve(self) -> Path:
            return Path("here")

    class Unfinished(ModuleSource):
        pass

    incomplete: Any = Unfinished
    assert Here().resolve() == Path("here")
    with pytest.raises(TypeError, match="resolve"):
        incomplete()


def test_any_object_with_resolve_is_a_resolver() -> None:
    """Resolvers of every signature count."""

    class Short:
        def resolve(self, module_id: str) -> ModuleSource:
            raise ModuleNotFoundError(module_id)

    assert isinstance(Short(), ModuleSourceResolver)


def test_a_file_system_source_gives_copies() -> None:
    """Changing what was given or what is answered changes nothing inside."""
    paths = ["/a"]
    source = FileSystemModuleSource(paths)
    paths.append("/b")
    source.get_module_paths().append("/c")
    source.get_mention_mappings()["x"] = "y"
    assert source.get_module_paths() == ["/a"]
    assert source.get_mention_mappings() == {}
    assert FileSystemModuleSource().get_module_paths() == []


def test_an_error_whose_text_cannot_be_made_is_shown_by_its_repr() -> None:
    """Messages never fail because of the error they tell about."""

    class MuteError(Exception):
        def __str__(self) -> str:
            raise UnicodeDecodeError("utf-8", b"\x9d", 0, 1, "no")

        def __repr__(self) -> str:
            return "MuteError(\\x9d)"

    assert error_text(MuteError()) == "MuteError(\\x9d)"
    assert describe_error(MuteError()) == "MuteError: MuteError(\\x9d)"
    assert describe_error(KeyError("k")) == "KeyError: 'k'"
