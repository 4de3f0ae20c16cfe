"""Reads a scenario, a script in a YAML file; every mistake is told with the file, the step and the key."""

from collections.abc import Hashable
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel, ConfigDict

from amplifier_module_provider_mock.errors import ScriptFormatError
from amplifier_module_provider_mock.reading import read_as


class Scenario(BaseModel):
    """A whole conversation as the model plays it; ``name`` and ``description`` are for people."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: str | None = None
    description: str | None = None
    model: str | None = None
    steps: list[Any]


def load_scenario(path: Path) -> Scenario:
    """The scenario in the file ``path``; raises ``ScriptFormatError`` for one that cannot be read."""
    place = f"Scenario {path}"
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ScriptFormatError(f"{place} cannot be read: {error}. Give the path of a YAML file in UTF-8") from error
    content = _parse(text, place)
    if not isinstance(content, dict):
        raise ScriptFormatError(f"{place}: must be a mapping with the key 'steps', got {type(content).__name__}")
    return read_as(Scenario, cast("dict[Any, Any]", content), place)


def _parse(text: str, place: str) -> Any:
    # Only a scenario needs YAML, and importing it takes longer than all the rest of the module.
    import yaml

    class StrictLoader(yaml.SafeLoader):
        """A safe loader that does not drop a key that is there twice."""

        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
            keys: list[Any] = [key.value for key, _ in node.value]
            twice = next((key for key in keys if keys.count(key) > 1), None)
            if twice is not None:
                raise yaml.constructor.ConstructorError(None, None, f"key '{twice}' is there twice", node.start_mark)
            return super().construct_mapping(node, deep)

    try:
        return yaml.load(text, Loader=StrictLoader)
    except yaml.YAMLError as error:
        raise ScriptFormatError(f"{place} is no valid YAML: {error}") from error
