"""A module's config checked against what the module declares as ``__amplifier_config__``.

A declaration is a pydantic model class, or a set, frozenset, list or tuple of key names. Unknown keys are told, invalid
values refused; the module still gets the plain dict.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from pydantic import AliasChoices, AliasPath, BaseModel, ValidationError

from amplifier_core.module_sources import ModuleLoadError
from amplifier_core.report import UnknownConfigKey

CONFIG_DECLARATION = "__amplifier_config__"

_UNKNOWN_KEY = "extra_forbidden"
# Texts of these two come from the module's own validators and may quote what they were given.
_FOREIGN_TEXTS = frozenset({"value_error", "assertion_error"})
_SHORTEST_SECRET = 4
# The comparison is quadratic in the length, and no key that somebody mistyped is this long.
_LONGEST_COMPARED_KEY = 100


def check_config(module_id: str, declared: Any, config: dict[str, Any]) -> list[UnknownConfigKey]:
    """The keys of ``config`` that the module does not declare, each with the nearest declared one.

    Raises ``ModuleLoadError`` for an invalid value, naming key and type but never the value, and for a declaration that
    is none.
    """
    if declared is None:
        return []
    if isinstance(declared, type) and issubclass(declared, BaseModel):
        return _check_model(module_id, declared, config)
    known = _declared_keys(module_id, declared)
    return [_unknown(module_id, key, known) for key in config if key not in known]


def _declared_keys(module_id: str, declared: Any) -> list[str]:
    if isinstance(declared, set | frozenset | list | tuple):
        keys = list(cast(Iterable[Any], declared))
        if all(isinstance(key, str) for key in keys):
            return sorted(set(keys))
    raise ModuleLoadError(
        f"Module '{module_id}' declares {CONFIG_DECLARATION} as {_shape(declared)}; "
        "expected a pydantic model class, or a set, list or tuple of key names",
        reason_code="invalid_module_metadata",
    )


def _check_model(module_id: str, model: type[BaseModel], config: dict[str, Any]) -> list[UnknownConfigKey]:
    problems = _problems(module_id, model, config)
    if problems and all(problem["type"] == _UNKNOWN_KEY for problem in problems):
        # A forbidden key hides what the model's own validators would say about the rest.
        forbidden = {problem["loc"] for problem in problems}
        problems = _problems(module_id, model, {key: config[key] for key in config if (key,) not in forbidden})
    invalid = [problem for problem in problems if problem["type"] != _UNKNOWN_KEY]
    if invalid:
        raise ModuleLoadError(
            f"Module '{module_id}' was given an invalid config: {'; '.join(map(_tell, invalid))}. "
            f"Correct it in the 'config' of '{module_id}' in the mount plan."
        )
    known = _known_keys(model)
    top_level = [] if known is None else [_unknown(module_id, key, known) for key in config if key not in known]
    nested = [UnknownConfigKey(module_id, _dotted(problem["loc"])) for problem in problems]
    return [*top_level, *nested]


def _problems(module_id: str, model: type[BaseModel], config: dict[str, Any]) -> list[dict[str, Any]]:
    try:
        model.model_validate(config)
    except ValidationError as error:
        return cast(list[dict[str, Any]], error.errors(include_url=False, include_context=False))
    except Exception as error:
        raised = type(error).__name__
    else:
        return []
    # Raised outside the handler: the original error may quote secrets, and would be printed as the context of this one.
    raise ModuleLoadError(
        f"Module '{module_id}': a validator of its {CONFIG_DECLARATION} ({model.__name__}) raised {raised}"
    )


def _known_keys(model: type[BaseModel]) -> list[str] | None:
    """Every key that the model reads, aliases included; ``None`` when it takes any key."""
    if model.model_config.get("extra") == "allow" or model.__pydantic_root_model__:
        return None
    by_name = model.model_config.get("populate_by_name") or model.model_config.get("validate_by_name")
    known: set[str] = set()
    for name, field in model.model_fields.items():
        known.update(_alias_keys(field.validation_alias))
        if by_name or field.validation_alias is None:
            known.add(name)
    return sorted(known)


def _alias_keys(alias: str | AliasPath | AliasChoices | None) -> Iterator[str]:
    if isinstance(alias, str):
        yield alias
    elif isinstance(alias, AliasPath):
        yield str(alias.path[0])
    elif isinstance(alias, AliasChoices):
        for choice in alias.choices:
            yield from _alias_keys(choice)


def _unknown(module_id: str, key: Any, known: list[str]) -> UnknownConfigKey:
    from difflib import get_close_matches

    text = str(key)
    near = get_close_matches(text, known, n=1) if len(text) <= _LONGEST_COMPARED_KEY else []
    return UnknownConfigKey(module_id, text, near[0] if near else None)


def _tell(problem: Mapping[str, Any]) -> str:
    text: str = problem["msg"]
    if problem["type"] in _FOREIGN_TEXTS:
        text = _hide(text, problem["input"])
    where = f"key '{_dotted(problem['loc'])}'" if problem["loc"] else "as a whole"
    given = "" if problem["type"] == "missing" else f" (given: {type(problem['input']).__name__})"
    return f"{where}: {text}{given}"


def _hide(text: str, given: Any) -> str:
    for secret in sorted(_texts_in(given), key=len, reverse=True):
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, "<hidden>")
    return text


def _texts_in(value: Any) -> set[str]:
    """Every string inside ``value``, at any depth."""
    found: set[str] = set()
    seen: set[int] = set()
    waiting: list[Any] = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            found.add(item)
        elif isinstance(item, dict | list | tuple) and id(cast(object, item)) not in seen:
            seen.add(id(cast(object, item)))
            waiting.extend(cast(dict[Any, Any], item).values() if isinstance(item, dict) else cast(list[Any], item))
    return found


def _dotted(location: tuple[int | str, ...]) -> str:
    return ".".join(map(str, location))


def _shape(declared: Any) -> str:
    name = type(declared).__name__
    return (
        f"a {name} with entries that are not text"
        if isinstance(declared, set | frozenset | list | tuple)
        else f"a {name}"
    )
