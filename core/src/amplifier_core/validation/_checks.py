"""The checks that the five kinds of modules are made of, as data: what a member must be, and how to tell.

A kind is a short list of them. They never call a module except for ``get_info()`` and ``get_schema()``, which are cheap
by contract.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from inspect import Signature, iscoroutine
from typing import Any, Protocol

from amplifier_core._discovery import TYPE_TO_MOUNT_POINT
from amplifier_core.models import ProviderInfo
from amplifier_core.validation.base import Severity, ValidationCheck, is_async_callable, signature_of


def passed(name: str, message: str) -> ValidationCheck:
    """A check that found nothing wrong."""
    return ValidationCheck(name, True, message, "info")


def failed(name: str, message: str, severity: Severity = "error") -> ValidationCheck:
    """A check that found something."""
    return ValidationCheck(name, False, message, severity)


class InstanceCheck(Protocol):
    """One question about an instance of a module; ``who`` names it in the answer."""

    @property
    def name(self) -> str:
        """The name of the check."""
        ...

    def __call__(self, instance: Any, who: str) -> ValidationCheck:
        """Answers the question."""
        ...


@dataclass(frozen=True, slots=True)
class Kind:
    """What distinguishes one kind of module: its names, and the checks of its instances beyond having all members."""

    name: str
    title: str
    interface: str
    checks: tuple[InstanceCheck, ...]

    @property
    def point(self) -> str:
        """The mount point."""
        return TYPE_TO_MOUNT_POINT[self.name]


@dataclass(frozen=True, slots=True)
class NonEmptyText:
    """An attribute that must be a non-empty string; ``if_empty`` is how bad an empty one is."""

    name: str
    attribute: str
    if_empty: Severity = "error"

    def __call__(self, instance: Any, who: str) -> ValidationCheck:
        """Reads the attribute."""
        value: Any = getattr(instance, self.attribute)
        if not isinstance(value, str):
            return failed(
                self.name, f"{who}: {self.attribute} should be a non-empty string, got {type(value).__name__}"
            )
        if not value.strip():
            return failed(self.name, f"{who}: {self.attribute} should not be empty", self.if_empty)
        return passed(self.name, f"{who}: {self.attribute} is {value!r:.100}")


@dataclass(frozen=True, slots=True)
class AsyncMethod:
    """A method that must be async and take ``arguments``; the empty name is the object itself, being called.

    Arguments are passed by position, or all by name.
    """

    name: str
    method: str
    arguments: tuple[str, ...] = ()
    by_name: bool = False

    def __call__(self, instance: Any, who: str) -> ValidationCheck:
        """Looks at the method without calling it."""
        function = getattr(instance, self.method) if self.method else instance
        if not is_async_callable(function):
            return failed(self.name, f"{who}: {self.not_async()}")
        found = signature_of(function)
        if found is None or self._fits(found):
            return passed(self.name, f"{who}: {self.method}({', '.join(self.arguments)}) is async")
        if len(found.parameters) < len(self.arguments):
            return failed(self.name, f"{who}: {self.too_few(len(found.parameters))}")
        return failed(self.name, f"{who}: {self._called} fails, since its signature is {found}", "warning")

    def not_async(self) -> str:
        """The complaint about a plain function."""
        return f"{self._shown} should be async (async def {self.method or 'handler'}({', '.join(self.arguments)}))"

    def too_few(self, count: int) -> str:
        """The complaint about a function with fewer parameters than arguments."""
        wanted = f"{len(self.arguments)} parameter{'s' if len(self.arguments) > 1 else ''}"
        return f"{self._shown} should have at least {wanted} ({', '.join(self.arguments)}), found {count}"

    def _fits(self, found: Signature) -> bool:
        return binds(found, **dict.fromkeys(self.arguments)) if self.by_name else binds(found, *self.arguments)

    @property
    def _shown(self) -> str:
        return f"{self.method}()" if self.method else "it"

    @property
    def _called(self) -> str:
        return f"calling {self.method or 'it as handler'}({', '.join(self.arguments)})"


@dataclass(frozen=True, slots=True)
class CallableMember:
    """A member that must be callable; whether it is async does not matter."""

    name: str
    method: str

    def __call__(self, instance: Any, who: str) -> ValidationCheck:
        """Looks at the member."""
        if callable(getattr(instance, self.method, None)):
            return passed(self.name, f"{who}: {self.method}() is callable")
        return failed(self.name, f"{who}: {self.method} should be a method")


@dataclass(frozen=True, slots=True)
class GivesProviderInfo:
    """``get_info()`` must answer a ``ProviderInfo``; that it may not be able to without a key is only a warning."""

    name: str

    def __call__(self, instance: Any, who: str) -> ValidationCheck:
        """Calls ``get_info()``."""
        try:
            info = _without_awaiting(instance.get_info())
        except Exception as error:
            return failed(self.name, f"{who}: get_info() raised {type(error).__name__}: {error}", "warning")
        if isinstance(info, ProviderInfo):
            return passed(self.name, f"{who}: get_info() returns ProviderInfo")
        return failed(self.name, f"{who}: get_info() should return ProviderInfo, returned {info_type(info)}")


@dataclass(frozen=True, slots=True)
class OptionalSchema:
    """A tool's schema, in ``input_schema`` or by ``get_schema()``: may be missing, and is a dict otherwise."""

    name: str

    def __call__(self, instance: Any, who: str) -> ValidationCheck:
        """Reads the schema."""
        try:
            source, schema = _read_schema(instance)
        except Exception as error:
            return failed(self.name, f"{who}: reading its schema raised {type(error).__name__}: {error}", "warning")
        if schema is None:
            return passed(self.name, f"{who}: has no input schema, which is optional")
        if isinstance(schema, dict):
            return passed(self.name, f"{who}: {source} is a dict")
        return failed(self.name, f"{who}: {source} should be a dict, got {info_type(schema)}", "warning")


def check_instance(kind: Kind, instance: Any, who: str) -> Iterator[ValidationCheck]:
    """Every check of one instance that has all members of its kind."""
    for check in kind.checks:
        yield check(instance, who)


def binds(found: Signature, *positional: Any, **named: Any) -> bool:
    """Whether a function of that signature can be called so."""
    try:
        found.bind(*positional, **named)
    except TypeError:
        return False
    return True


def info_type(value: object) -> str:
    """How a wrong value is called in messages; a coroutine is usually a method that should not be async."""
    return "a coroutine; write it without async" if iscoroutine(value) else type(value).__name__


def _read_schema(instance: Any) -> tuple[str, Any]:
    schema: Any = getattr(instance, "input_schema", None)
    get_schema: Any = getattr(instance, "get_schema", None)
    if schema is None and callable(get_schema):
        return "get_schema()", _without_awaiting(get_schema())
    return "input_schema", schema


def _without_awaiting(value: Any) -> Any:
    if iscoroutine(value):
        value.close()  # or Python complains that it was never awaited
    return value
