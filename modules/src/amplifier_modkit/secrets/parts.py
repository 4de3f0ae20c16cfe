"""Takes containers apart and puts them together again: mappings, models, dataclasses, sequences and sets."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import fields, is_dataclass
from typing import Any, Literal, NamedTuple, cast

from pydantic import BaseModel

Kind = Literal["mapping", "model", "dataclass", "list", "tuple", "set"]


class Parts(NamedTuple):
    """What is in a container: a dict where the parts have names, a list where they have places."""

    kind: Kind
    values: dict[Any, Any] | list[Any]

    @property
    def is_named(self) -> bool:
        """Whether the parts have names."""
        return self.kind in ("mapping", "model", "dataclass")


def parts_of(obj: Any) -> Parts | None:
    """The parts of ``obj``, or nothing if it is no container that is known here."""
    if isinstance(obj, Mapping):
        return Parts("mapping", dict(cast("Mapping[Any, Any]", obj)))
    if isinstance(obj, list | tuple):
        return Parts("list" if isinstance(obj, list) else "tuple", list(cast("list[Any]", obj)))
    if isinstance(obj, set | frozenset):
        return Parts("set", list(cast("set[Any]", obj)))
    if isinstance(obj, BaseModel):
        return Parts("model", {**vars(obj), **(obj.model_extra or {})})
    if is_dataclass(obj) and not isinstance(obj, type):
        return Parts("dataclass", {field.name: getattr(obj, field.name, None) for field in fields(obj)})
    return None


def put_together(obj: Any, before: Parts, values: Any) -> Any:
    """An object like ``obj``, whose parts were ``before``, with ``values`` in their place."""
    match before.kind:
        case "mapping" | "list":
            return values
        case "tuple":
            return _tuple_like(obj, values)
        case "set":
            return frozenset(values) if isinstance(obj, frozenset) else set(values)
        case _:
            return _object_like(obj, cast("dict[str, Any]", before.values), values)


def _tuple_like(obj: Any, items: list[Any]) -> Any:
    make: Any = getattr(cast("type[Any]", type(obj)), "_make", None)
    return tuple(items) if make is None else make(items)


def _object_like(obj: Any, before: dict[str, Any], after: dict[str, Any]) -> Any:
    changed = {name: value for name, value in after.items() if name not in before or before[name] is not value}
    if before.keys() != after.keys():
        return after
    try:
        if isinstance(obj, BaseModel):
            return obj.model_copy(update=changed)
        twin = copy(obj)
        for name, value in changed.items():
            object.__setattr__(twin, name, value)
    except Exception:
        # Some objects refuse to be copied or changed; what they hold is told all the same.
        return after
    return twin
