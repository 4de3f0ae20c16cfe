"""From a mounted resolver to a folder: calls resolvers of every signature, and rejects answers that are no source."""

from __future__ import annotations

import os
from collections.abc import Callable
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, cast

from amplifier_core._awaiting import settle
from amplifier_core.module_sources import ModuleLoadError, ModuleSource

_HINT_NAMES = ("source_hint", "profile_hint")
_BY_NAME = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
_BY_POSITION = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


async def resolve_folder(resolver: Any, module_id: str, hint: Any) -> Path:
    """The absolute folder of a module, as ``resolver`` tells it; what resolver or source raise comes out as it is."""
    ask = getattr(resolver, "async_resolve", None) or getattr(resolver, "resolve", None)
    if not callable(ask):
        raise ModuleLoadError(f"{_culprit(resolver, module_id)} has no resolve(module_id); mount one that has")
    source = await settle(_call_with_hint(ask, module_id, hint))
    if not isinstance(source, ModuleSource):
        raise ModuleLoadError(
            f"{_culprit(resolver, module_id)} answered {type(source).__name__}; "
            "expected a source, which is an object with resolve()"
        )
    answer: Any = await settle(source.resolve())
    folder = _as_folder(answer)
    if folder is None:
        raise ModuleLoadError(
            f"{_culprit(resolver, module_id)} gave a {type(source).__name__} that resolves to {type(answer).__name__}; "
            "expected the path of a folder"
        )
    return folder


def _as_folder(answer: Any) -> Path | None:
    try:
        text = cast("object", os.fspath(answer))
    except TypeError:
        return None
    return Path(text).absolute() if isinstance(text, str) and text else None


def _call_with_hint(ask: Callable[..., Any], module_id: str, hint: Any) -> Any:
    try:
        parameters = signature(ask).parameters.values()
    except (TypeError, ValueError):  # some callables written in C tell none
        return ask(module_id, hint)
    if any(parameter.kind is Parameter.VAR_KEYWORD for parameter in parameters):
        named = _HINT_NAMES
    else:
        named = tuple(p.name for p in parameters if p.name in _HINT_NAMES and p.kind in _BY_NAME)
    if named:
        return ask(module_id, **dict.fromkeys(named, hint))
    takes_more = any(parameter.kind is Parameter.VAR_POSITIONAL for parameter in parameters)
    if takes_more or sum(parameter.kind in _BY_POSITION for parameter in parameters) > 1:
        return ask(module_id, hint)
    return ask(module_id)


def _culprit(resolver: Any, module_id: str) -> str:
    return f"Module '{module_id}' cannot be loaded: the mounted module-source-resolver {type(resolver).__name__}"
