"""Which Gemini models there are, what each can do, and where they are."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from amplifier_core.capabilities import FAST, JSON_MODE, LONG_CONTEXT, STREAMING, THINKING, TOOLS, VISION, WEB_SEARCH
from amplifier_core.llm_errors import (
    AccessDeniedError,
    AuthenticationError,
    LLMError,
    QuotaExceededError,
    RateLimitError,
)
from amplifier_core.models import ConfigField
from amplifier_modkit.llm.catalogue import Catalogue, KnownModel
from amplifier_modkit.llm.errors import Refusal
from amplifier_modkit.llm.vendor import Vendor

NAME = "gemini"
BASE_URL = "https://generativelanguage.googleapis.com"
DEFAULT_MODEL = "gemini-3.8-flash"

Level = Literal["MINIMAL", "LOW", "MEDIUM", "HIGH"]

ABILITIES = (TOOLS, STREAMING, THINKING, VISION, JSON_MODE, WEB_SEARCH, LONG_CONTEXT)
_WINDOW, _OUTPUT = 1_048_576, 65_536
_VERSION = re.compile(r"gemini-(\d+)(?:\.(\d+))?-([a-z]+(?:-[a-z]+)*?)(?:-preview.*|-latest|-exp.*|-\d{3})?")
_BAD_KEY = re.compile(r"api[ _]key (not valid|not found|expired|is invalid)|api_key_invalid", re.IGNORECASE)
_BAD_PLACE = re.compile(r"location is not supported", re.IGNORECASE)
_SPENT = re.compile(r"limit: 0\b|per ?day|credits? (are|is|have been) depleted|prepay", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Budget:
    """For how many tokens a model may think; ``least`` is 0 where it can do without."""

    least: int
    most: int


@dataclass(frozen=True, slots=True)
class Traits:
    """How one model wants to be asked.

    ``levels`` are the efforts it knows, ``budget`` what older ones have in their place; a model with neither does not
    think. ``longest`` is the length of an answer over several calls, ``longest_whole`` that of one that is not
    streamed. Models that are not ``is_modern`` take no images in results, no tools beside a schema or a search, and
    know no signed calls.
    """

    levels: tuple[Level, ...] = ()
    budget: Budget | None = None
    is_modern: bool = True
    takes_sampling: bool = True
    longest: int | None = None
    longest_whole: int | None = None

    @property
    def can_think(self) -> bool:
        """Whether the model thinks at all."""
        return bool(self.levels) or self.budget is not None


_THREE: tuple[Level, ...] = ("LOW", "MEDIUM", "HIGH")
_NEWEST = Traits(_THREE, takes_sampling=False)
_ARGON = Traits(_THREE, takes_sampling=False, longest=_WINDOW, longest_whole=32_768)
_TRAITS: Mapping[str, Traits] = {
    "gemini-4-argon": _ARGON,
    "gemini-3.8-flash": _NEWEST,
    "gemini-3.1-pro-preview": Traits(_THREE),
    "gemini-3.1-flash-lite": Traits(("MINIMAL", *_THREE)),
}

CATALOGUE = Catalogue(
    [
        KnownModel("gemini-4-argon", "Gemini 4 Argon", _WINDOW, _OUTPUT, ABILITIES, "argon"),
        KnownModel("gemini-3.8-flash", "Gemini 3.8 Flash", _WINDOW, _OUTPUT, ABILITIES, "flash"),
        KnownModel("gemini-3.1-pro-preview", "Gemini 3.1 Pro", _WINDOW, _OUTPUT, ABILITIES, "pro"),
        KnownModel(
            "gemini-3.1-flash-lite", "Gemini 3.1 Flash-Lite", _WINDOW, _OUTPUT, (*ABILITIES, FAST), "flash-lite"
        ),
    ]
)


def bare(model: str) -> str:
    """The id of a model without the collection it is in."""
    return model.removeprefix("models/")


def line_of(model: str) -> tuple[str, tuple[int, int]] | None:
    """The family of a model and its version; ``None`` for an id that names none."""
    found = _VERSION.fullmatch(bare(model))
    return None if found is None else (found[3], (int(found[1]), int(found[2] or 0)))


def traits_of(model: str) -> Traits:
    """How a model wants to be asked, also one that is not known."""
    known = CATALOGUE.find(bare(model))
    if known is not None:
        return _TRAITS[known.id]
    line = line_of(model)
    if line is None:
        # Either a name for the latest, or no Gemini at all.
        return _NEWEST if "gemini" in model else Traits(is_modern=False)
    family, version = line
    if version < (2, 5):
        return Traits(is_modern=False)
    if version < (3, 0):
        return Traits(budget=_budget_of(family), is_modern=False)
    return Traits(_THREE, takes_sampling=version < (3, 5))


def authorise(key: str | None) -> Mapping[str, str]:
    """The header that the service reads a key from."""
    return {"x-goog-api-key": key} if key else {}


def judge(refusal: Refusal) -> type[LLMError] | None:
    """What the service says in its own way.

    A wrong key is a bad request to it, and it speaks of a quota that is exceeded also where it only wants a pause.
    """
    if refusal.status in (400, 401, 403) and _BAD_KEY.search(refusal.message):
        return AuthenticationError
    if refusal.status == 400 and _BAD_PLACE.search(refusal.message):
        return AccessDeniedError
    if refusal.status == 429:
        return QuotaExceededError if _SPENT.search(refusal.message) else RateLimitError
    return None


def _budget_of(family: str) -> Budget:
    if family.startswith("pro"):
        return Budget(128, 32_768)
    return Budget(0, 24_576)


GEMINI = Vendor(
    name=NAME,
    display_name="Google Gemini",
    base_url=BASE_URL,
    default_model=DEFAULT_MODEL,
    catalogue=CATALOGUE,
    key_vars=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    url_vars=("GOOGLE_GEMINI_BASE_URL",),
    models_path="/v1beta/models?pageSize=1000",
    authorise=authorise,
    capabilities=ABILITIES,
    judge=judge,
    config_fields=(
        ConfigField(
            id="api_key",
            display_name="API key",
            prompt="Your Gemini API key?",
            field_type="secret",
            env_var="GEMINI_API_KEY",
        ),
        ConfigField(
            id="base_url",
            display_name="Address",
            prompt="Another address of the service?",
            env_var="GOOGLE_GEMINI_BASE_URL",
            required=False,
            default=BASE_URL,
        ),
        ConfigField(
            id="default_model",
            display_name="Model",
            prompt="Which model is to answer?",
            required=False,
            default=DEFAULT_MODEL,
        ),
    ),
)
