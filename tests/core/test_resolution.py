"""Resolvers of every signature, and what they must not answer."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest

from amplifier_core._resolution import resolve_folder
from amplifier_core.module_sources import ModuleLoadError, ModuleNotFoundError


class Source:
    """A source that resolves to whatever it was given."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def resolve(self) -> Any:
        return self.answer


class ResolverBase:
    """Records what a resolver was called with, and answers a source."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def note(self, *call: Any) -> Source:
        self.calls.append(call)
        return Source("/found")


class OnlyId(ResolverBase):
    def resolve(self, module_id: str) -> Any:
        return self.note(module_id)


class WithHint(ResolverBase):
    def resolve(self, module_id: str, profile_hint: Any = None) -> Any:
        return self.note(module_id, profile_hint)


class BothHints(ResolverBase):
    def resolve(self, module_id: str, source_hint: Any = None, profile_hint: Any = None) -> Any:
        return self.note(module_id, source_hint, profile_hint)


class KeywordHint(ResolverBase):
    def resolve(self, module_id: str, *, source_hint: Any) -> Any:
        return self.note(module_id, source_hint)


class OtherName(ResolverBase):
    def resolve(self, module_id: str, where: Any) -> Any:
        return self.note(module_id, where)


class ByPosition(ResolverBase):
    def resolve(self, module_id: str, source_hint: Any, /) -> Any:
        return self.note(module_id, source_hint)


class AnyPosition(ResolverBase):
    def resolve(self, *args: Any) -> Any:
        return self.note(*args)


class AnyKeyword(ResolverBase):
    def resolve(self, module_id: str, **hints: Any) -> Any:
        return self.note(module_id, hints)


class AsyncResolve(ResolverBase):
    def resolve(self, module_id: str) -> Any:
        raise AssertionError("async_resolve is preferred")

    async def async_resolve(self, module_id: str, source_hint: Any = None, profile_hint: Any = None) -> Any:
        return self.note(module_id, source_hint, profile_hint)


class AsyncOnlyId(ResolverBase):
    async def async_resolve(self, module_id: str) -> Any:
        return self.note(module_id)


class AsyncDef(ResolverBase):
    async def resolve(self, module_id: str, profile_hint: Any) -> Any:
        return self.note(module_id, profile_hint)


class GivesFuture(ResolverBase):
    def resolve(self, module_id: str) -> Any:
        future = asyncio.get_running_loop().create_future()
        future.set_result(self.note(module_id))
        return future


@pytest.mark.parametrize(
    ("kind", "call"),
    [
        (OnlyId, ("tool-x",)),
        (WithHint, ("tool-x", "hint")),
        (BothHints, ("tool-x", "hint", "hint")),
        (KeywordHint, ("tool-x", "hint")),
        (OtherName, ("tool-x", "hint")),
        (ByPosition, ("tool-x", "hint")),
        (AnyPosition, ("tool-x", "hint")),
        (AnyKeyword, ("tool-x", {"source_hint": "hint", "profile_hint": "hint"})),
        (AsyncResolve, ("tool-x", "hint", "hint")),
        (AsyncOnlyId, ("tool-x",)),
        (AsyncDef, ("tool-x", "hint")),
        (GivesFuture, ("tool-x",)),
    ],
)
async def test_a_resolver_of_any_signature_is_asked_once(kind: type[ResolverBase], call: tuple[Any, ...]) -> None:
    """The hint goes where the resolver takes it; whatever awaitable it gives is awaited."""
    resolver = kind()
    assert await resolve_folder(resolver, "tool-x", "hint") == Path("/found")
    assert resolver.calls == [call]


async def test_a_callable_without_signature_gets_id_and_hint() -> None:
    """Some callables cannot be inspected; they are called with both by position."""

    class Opaque:
        __signature__ = "none of your business"

        def __call__(self, *args: Any) -> Source:
            return Source("/" + "-".join(args))

    class Resolver:
        resolve = Opaque()

    assert await resolve_folder(Resolver(), "id", "hint") == Path("/id-hint")


async def test_a_mock_serves_as_resolver() -> None:
    """Mocks take any arguments and have any attribute; tests of applications use them so."""
    resolver = MagicMock(spec=["resolve"])
    resolver.resolve.return_value = Source(Path("/found"))
    assert await resolve_folder(resolver, "tool-x", None) == Path("/found")
    resolver.resolve.assert_called_once_with("tool-x", source_hint=None, profile_hint=None)


async def test_a_source_may_be_async_and_give_any_path() -> None:
    """Text, ``Path`` and path-like objects count, relative ones from the current folder."""

    class PathLike:
        def __fspath__(self) -> str:
            return "/like"

    class AsyncSource:
        async def resolve(self) -> Path:
            return Path("relative")

    class Resolver:
        def __init__(self, source: Any) -> None:
            self.source = source

        def resolve(self, module_id: str) -> Any:
            return self.source

    assert await resolve_folder(Resolver(AsyncSource()), "x", None) == Path(os.getcwd()) / "relative"  # noqa: PTH109
    assert await resolve_folder(Resolver(Source(PathLike())), "x", None) == Path("/like")
    assert await resolve_folder(Resolver(Path("/plain")), "x", None) == Path("/plain")


@pytest.mark.parametrize("rubbish", [None, 3, "a text", {}, ["/p"], object()])
async def test_an_answer_that_is_no_source_is_an_error(rubbish: Any) -> None:
    """The message names module, resolver, what it gave and what was expected."""

    class Resolver:
        def resolve(self, module_id: str) -> Any:
            return rubbish

    with pytest.raises(ModuleLoadError) as caught:
        await resolve_folder(Resolver(), "tool-x", None)
    assert str(caught.value) == (
        "Module 'tool-x' cannot be loaded: the mounted module-source-resolver Resolver answered "
        f"{type(rubbish).__name__}; expected a source, which is an object with resolve()"
    )


@pytest.mark.parametrize("rubbish", [None, 3, "", b"/bytes", {}, object()])
async def test_a_source_that_resolves_to_no_path_is_an_error(rubbish: Any) -> None:
    """An empty text would be the current folder, so it is refused too."""

    class Resolver:
        def resolve(self, module_id: str) -> Any:
            return Source(rubbish)

    with pytest.raises(ModuleLoadError) as caught:
        await resolve_folder(Resolver(), "tool-x", None)
    assert str(caught.value) == (
        "Module 'tool-x' cannot be loaded: the mounted module-source-resolver Resolver gave a Source that resolves to "
        f"{type(rubbish).__name__}; expected the path of a folder"
    )


@pytest.mark.parametrize("resolver", [object(), 3, MagicMock(spec=[])])
async def test_a_resolver_that_cannot_resolve_is_an_error(resolver: Any) -> None:
    """Anything can be mounted; only something with ``resolve`` is a resolver."""
    with pytest.raises(ModuleLoadError, match=r"'tool-x' .*resolver \w+ has no resolve\(module_id\)"):
        await resolve_folder(resolver, "tool-x", None)


@pytest.mark.parametrize("error", [ModuleNotFoundError("not mine"), OSError("disk"), KeyboardInterrupt()])
async def test_what_a_resolver_or_source_raises_comes_out_as_it_is(error: BaseException) -> None:
    """Applications catch the errors of their own resolvers."""

    class Raising:
        def resolve(self, *args: Any) -> Any:
            raise error

    class Resolver:
        def resolve(self, module_id: str) -> Any:
            return Raising()

    for resolver in (Raising(), Resolver()):
        with pytest.raises(type(error)) as caught:
            await resolve_folder(resolver, "tool-x", None)
        assert caught.value is error
