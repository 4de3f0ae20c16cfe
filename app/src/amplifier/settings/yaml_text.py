"""YAML texts with the lines of their values: safe types only, bounded in size and depth, no key twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

from amplifier.problems import SettingsProblem
from amplifier.settings.key_paths import KeyPath

if TYPE_CHECKING:
    import yaml

MOST_CHARACTERS = 512 * 1024
MOST_VALUES = 50_000
MOST_DEPTH = 50

_HINT = "Correct the file there, and call it again."


class Document(NamedTuple):
    """What a text says: its value, and the line of each value by its path; items of lists count from ``"0"``."""

    value: Any
    lines: dict[KeyPath, int]


def parse_yaml(text: str, name: str) -> Document:
    """Reads one YAML document; raises ``SettingsProblem`` with ``name``, line and column of what is wrong."""
    if len(text) > MOST_CHARACTERS:
        raise SettingsProblem(
            f"{name} has {len(text):,} characters; expected at most {MOST_CHARACTERS:,}.", "Is it the right file?"
        )
    import yaml

    try:
        loader = yaml.SafeLoader(text)
        return _Reader(loader, name).document(loader.get_single_node())
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise problem_at(name, mark, str(error.problem or error.context)) from None
    except yaml.reader.ReaderError as error:
        raise _unreadable_character(error, text, name) from None
    except RecursionError:
        raise _too_deep(name) from None


def compose(text: str) -> yaml.Node | None:
    """The node tree of a text that ``parse_yaml`` accepts."""
    import yaml

    loader: Any = yaml.SafeLoader(text)
    return loader.get_single_node()


def problem_at(name: str, mark: Any, reason: str) -> SettingsProblem:
    """The problem that ``reason`` is, at ``mark`` of the file ``name``."""
    place = f"{name}:{mark.line + 1}:{mark.column + 1}" if mark else name
    return SettingsProblem(f"{place}: {reason}", _HINT)


class _Reader:
    """Makes one document of its nodes, and counts them: an alias counts as often as it is used."""

    def __init__(self, loader: yaml.SafeLoader, name: str) -> None:
        self._loader: Any = loader
        self._name = name
        self._lines: dict[KeyPath, int] = {}
        self._count = 0

    def document(self, node: yaml.Node | None) -> Document:
        value = None if node is None else self._value(node, ())
        return Document(value, self._lines)

    def _value(self, node: yaml.Node, path: KeyPath) -> Any:
        import yaml

        self._count += 1
        if self._count > MOST_VALUES:
            raise problem_at(
                self._name, node.start_mark, f"there are more than {MOST_VALUES:,} values, aliases included"
            )
        if len(path) > MOST_DEPTH:
            raise _too_deep(self._name)
        self._lines.setdefault(path, node.start_mark.line + 1)
        if isinstance(node, yaml.MappingNode) and node.tag.endswith(":map"):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode) and node.tag.endswith(":seq"):
            return [self._value(item, (*path, str(index))) for index, item in enumerate(node.value)]
        return self._scalar(node)

    def _mapping(self, node: yaml.MappingNode, path: KeyPath) -> dict[str, Any]:
        own: dict[str, Any] = {}
        inherited: dict[str, Any] = {}
        for key, value in node.value:
            if key.tag.endswith(":merge"):
                inherited |= self._merged(value, path)
                continue
            name = self._key(key)
            if name in own:
                first = self._lines[(*path, name)]
                raise problem_at(self._name, key.start_mark, f"the key '{name}' is there twice, first in line {first}")
            self._lines[(*path, name)] = key.start_mark.line + 1
            own[name] = self._value(value, (*path, name))
        return inherited | own

    def _merged(self, node: yaml.Node, path: KeyPath) -> dict[str, Any]:
        value = self._value(node, path)
        values = cast("list[Any]", value if isinstance(value, list) else [value])
        merged: dict[str, Any] = {}
        for each in reversed(values):
            if not isinstance(each, dict):
                raise problem_at(self._name, node.start_mark, "'<<' expects a mapping or a list of mappings")
            merged |= cast("dict[str, Any]", each)
        return merged

    def _key(self, node: yaml.Node) -> str:
        import yaml

        if not isinstance(node, yaml.ScalarNode):
            raise problem_at(self._name, node.start_mark, "a key must be a plain text")
        # As it was written: `on` stays `on`, and 1 is "1".
        return str(node.value)

    def _scalar(self, node: yaml.Node) -> Any:
        try:
            return self._loader.construct_object(node, deep=True)
        except (ValueError, OverflowError) as error:
            raise problem_at(self._name, node.start_mark, f"the value cannot be read: {error}") from None


def _too_deep(name: str) -> SettingsProblem:
    return SettingsProblem(f"{name} is nested too deeply: expected at most {MOST_DEPTH} levels.", _HINT)


def _unreadable_character(error: Any, text: str, name: str) -> SettingsProblem:
    before = text[: error.position]
    line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
    character = error.character if isinstance(error.character, int) else ord(error.character)
    return SettingsProblem(f"{name}:{line}:{column}: the character U+{character:04X} is not allowed in YAML", _HINT)
