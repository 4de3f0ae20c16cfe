"""Provider preferences: which provider, and which of its models, a child session asks first.

A preference names a provider and perhaps a model, both as patterns; the first that fits what there is counts.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple, cast

from amplifier_modkit.spawning.module_lists import Entry, config_of, module_of, short_name

logger = logging.getLogger(__name__)

_LISTING_LIMIT_S = 10.0
_DIGITS = re.compile(r"(\d+)")
_PATTERN_SIGNS = frozenset("*?[")


class Preference(NamedTuple):
    """A provider, by a pattern of its name, and one of its models, by a pattern of its id."""

    provider: str
    model: str | None = None


class Choice(NamedTuple):
    """The preference that fits: the place of the provider in the plan, its name, and the id of the model."""

    place: int
    provider: str
    model: str | None


def read_preferences(given: Any) -> list[Preference]:
    """The preferences in a list of dicts, or of objects with ``provider`` and ``model``; others are left out."""
    items = cast("Sequence[Any]", given) if isinstance(given, list | tuple) else ()
    found = [Preference(_text(item, "provider") or "", _text(item, "model") or None) for item in items]
    return [preference for preference in found if preference.provider]


async def choose(
    preferences: Iterable[Preference], entries: Sequence[Entry], mounted: Mapping[str, Any]
) -> Choice | None:
    """The first preference that fits one of ``entries``; ``mounted`` are providers that can tell their models.

    ``None`` when no preference fits: the plan's own order holds then.
    """
    wanted = list(preferences)
    for preference in wanted:
        for place, entry in enumerate(entries):
            if not _names(entry, preference.provider):
                continue
            name = mounted_name(entry)
            model = await _model(preference.model, mounted.get(name))
            if model is not None or preference.model is None:
                return Choice(place, name, model)
    if wanted:
        logger.warning("No provider of the plan fits any of the preferences %s; its own order holds", wanted)
    return None


def promoted(entries: Sequence[Entry], choice: Choice) -> list[Entry]:
    """``entries`` with the chosen provider in front, before all others by its priority, and with the chosen model."""
    entry = entries[choice.place]
    others = [each for place, each in enumerate(entries) if place != choice.place]
    config = {**config_of(entry), "priority": min([0, *map(_priority, others)])}
    if choice.model is not None:
        config["model" if "model" in config else "default_model"] = choice.model
    return [{**entry, "config": config}, *others]


def mounted_name(entry: Entry) -> str:
    """The name that a provider of the plan is mounted under."""
    return str(entry.get("instance_id") or config_of(entry).get("name") or short_name(module_of(entry)))


def _names(entry: Entry, pattern: str) -> bool:
    names = {mounted_name(entry), module_of(entry), short_name(module_of(entry))}
    return any(fnmatchcase(name.casefold(), pattern.casefold()) for name in names)


async def _model(pattern: str | None, provider: Any) -> str | None:
    if pattern is None or not _PATTERN_SIGNS & set(pattern):
        return pattern
    ids = [each for each in await _model_ids(provider) if fnmatchcase(each.casefold(), pattern.casefold())]
    return max(ids, key=_by_number, default=None)


async def _model_ids(provider: Any) -> list[str]:
    """The models of a provider; one that cannot tell them has none."""
    if provider is None:
        return []
    try:
        async with asyncio.timeout(_LISTING_LIMIT_S):
            return [str(model.id) for model in await provider.list_models()]
    except Exception as error:
        logger.warning("A provider cannot list its models, so no pattern fits them: %r", error)
        return []


def _by_number(model_id: str) -> list[tuple[int, str]]:
    """Sorts ids so that version 10 comes after version 9, and the newest last."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in _DIGITS.split(model_id)]


def _priority(entry: Entry) -> int:
    priority = config_of(entry).get("priority")
    return priority if isinstance(priority, int) else 0


def _text(item: Any, key: str) -> str | None:
    value = cast("Mapping[str, Any]", item).get(key) if isinstance(item, Mapping) else getattr(item, key, None)
    return value if isinstance(value, str) else None
