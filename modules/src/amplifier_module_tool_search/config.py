"""The config keys of tool-search, beside those of the path policy.

Annotations are evaluated here on purpose: pydantic builds models faster from types than from their source text.
"""

from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from amplifier_modkit.paths.settings import PathSettings
from amplifier_module_tool_search.globs import GlobError, name_glob

DEFAULT_EXCLUSIONS = (
    ".git",
    ".hg",
    ".svn",
    ".venv",
    "venv",
    ".tox",
    ".nox",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    "__pycache__",
    "node_modules",
    ".next",
    ".cache",
    "build",
    "dist",
    "target",
    "vendor",
)
"""Folders with what others wrote, or what is made from the rest."""


def _require_name(entry: str) -> str:
    name = entry.rstrip("/")
    if not name or "/" in name:
        raise ValueError(f"{entry!r} must be one name, with wildcards if need be")
    try:
        name_glob(name)
    except GlobError as error:
        raise ValueError(str(error)) from error
    return name


Exclusion = Annotated[str, AfterValidator(_require_name)]
Limit = Annotated[int, Field(ge=0)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class GrepLimits(_Part):
    """How much one call gives when the model asks for no number, by output mode; 0 for everything."""

    files_with_matches: Limit = 200
    content: Limit = 500
    count: Limit = 200


class GlobLimits(_Part):
    """How much one call gives; 0 for everything."""

    glob: Limit = 500


class SearchPart(_Part):
    """What is said for one of the two tools."""

    max_file_size: Annotated[int, Field(gt=0)] = 10_000_000
    """Bytes; larger files are not searched."""
    timeout: Annotated[float, Field(gt=0)] = 60.0
    """Seconds that one search may take."""
    exclusions: tuple[Exclusion, ...] = DEFAULT_EXCLUSIONS
    """Names below the searched folder that are passed over."""


class GrepPart(SearchPart):
    """What is said for ``grep``."""

    default_limits: GrepLimits = GrepLimits()


class GlobPart(SearchPart):
    """What is said for ``glob``; it does not look into files, so their size does not matter."""

    default_limits: GlobLimits = GlobLimits()


class SearchConfig(PathSettings):
    """What a plan may say about the search tools."""

    max_results: Limit | None = None
    """How much one call gives at most, whatever is asked for."""
    allowed_paths: tuple[str, ...] | None = None
    """Another name of ``allowed_read_paths``."""
    grep: GrepPart = GrepPart()
    glob: GlobPart = GlobPart()

    @model_validator(mode="after")
    def _require_one_list(self) -> Self:
        if self.allowed_paths is not None and self.allowed_read_paths is not None:
            raise ValueError("'allowed_paths' and 'allowed_read_paths' mean the same; give one of them")
        return self

    def path_settings(self) -> PathSettings:
        """What the path policy is made of."""
        settings = self.model_dump(include=set(PathSettings.model_fields))
        if self.allowed_paths is not None:
            settings["allowed_read_paths"] = self.allowed_paths
        return PathSettings.model_validate(settings)
