"""One change in a YAML text that leaves everything else as it is: order, blank lines, comments.

An edit is a proposal. Whoever uses it reads the result again and compares, since YAML has more ways to write a thing
than are known here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

from amplifier.settings.key_paths import KeyPath, put
from amplifier.settings.yaml_text import compose

if TYPE_CHECKING:
    import yaml

_INDENT = 2
_MOST_WIDTH = 10**9
_HIDDEN_LINE_ENDS = frozenset("\x85\u2028\u2029")


class _Found(NamedTuple):
    """How far a path leads: the mapping where it ends, its depth, and key and value of the next part if it is there."""

    mapping: yaml.MappingNode
    depth: int
    entry: tuple[yaml.ScalarNode, yaml.Node] | None


def with_value(text: str, path: KeyPath, value: Any) -> str:
    """``text`` with the value at ``path`` set."""
    found = _find(text, path)
    if found is None:
        return _ended(text) + _block(path, value, 0)
    rest = path[found.depth :]
    if found.entry is not None:
        key, old = found.entry
        return _replaced(text, key, old, rest[1:], value)
    return _added(text, found.mapping, rest, value)


def without(text: str, path: KeyPath) -> str:
    """``text`` without the entry at ``path``."""
    found = _find(text, path)
    if found is None or found.entry is None:
        return text
    key, old = found.entry
    rest = path[found.depth + 1 :]
    if rest:
        return text[: old.start_mark.index] + dumped(_pruned(_held(old), rest)) + text[old.end_mark.index :]
    begin = key.start_mark.index - key.start_mark.column
    end = _end_of_line(text, _content_end(text, old))
    return text[:begin] + text[end:]


def dumped(value: Any) -> str:
    """``value`` on one line."""
    text = as_yaml(value, default_flow_style=True, width=_MOST_WIDTH)
    return text.removesuffix("\n").removesuffix("\n...")


def as_yaml(value: Any, **layout: Any) -> str:
    """``value`` as YAML that is read as it was: line ends that are easily overlooked are escaped."""
    import yaml

    def written(*, is_plain: bool) -> str:
        return cast("str", yaml.safe_dump(value, allow_unicode=is_plain, sort_keys=False, **layout))  # pyright: ignore[reportUnknownMemberType]

    text = written(is_plain=True)
    return text if _HIDDEN_LINE_ENDS.isdisjoint(text) else written(is_plain=False)


def _find(text: str, path: KeyPath) -> _Found | None:
    import yaml

    node = compose(text)
    if not isinstance(node, yaml.MappingNode):
        return None
    depth = 0
    while True:
        entry = _entry(node, path[depth])
        is_last = entry is None or depth + 1 == len(path) or not _is_filled_block(entry[1])
        if entry is None or is_last:
            return _Found(node, depth, entry)
        node = cast("yaml.MappingNode", entry[1])
        depth += 1


def _entry(node: yaml.MappingNode, name: str) -> tuple[yaml.ScalarNode, yaml.Node] | None:
    return next(((key, value) for key, value in node.value if key.value == name), None)


def _is_filled_block(node: yaml.Node) -> bool:
    import yaml

    return isinstance(node, yaml.MappingNode) and not node.flow_style and bool(node.value)


def _replaced(text: str, key: yaml.ScalarNode, old: yaml.Node, rest: KeyPath, value: Any) -> str:
    begin, end = key.end_mark.index, max(_content_end(text, old), key.end_mark.index + 1)
    if "#" in text[begin : old.start_mark.index]:
        # A comment stands between the key and its value.
        return text[: old.start_mark.index] + dumped(_nested(old, rest, value)) + text[end:]
    if rest and _is_empty(old):
        return f"{text[:begin]}:\n{_block(rest, value, key.start_mark.column + _INDENT).rstrip()}{text[end:]}"
    return f"{text[:begin]}: {dumped(_nested(old, rest, value))}{text[end:]}"


def _is_empty(node: yaml.Node) -> bool:
    return node.start_mark.index == node.end_mark.index


def _nested(old: yaml.Node, rest: KeyPath, value: Any) -> Any:
    """The value to write in the place of ``old``: what it holds already, with ``value`` at ``rest``."""
    if not rest:
        return value
    held = _held(old)
    put(held, rest, value)
    return held


def _held(node: yaml.Node) -> dict[str, Any]:
    import yaml

    if not isinstance(node, yaml.MappingNode):
        return {}
    loader: Any = yaml.SafeLoader("")
    return {key.value: loader.construct_object(each, deep=True) for key, each in node.value}


def _pruned(held: dict[str, Any], rest: KeyPath) -> dict[str, Any]:
    if len(rest) == 1:
        return {name: value for name, value in held.items() if name != rest[0]}
    return held | {rest[0]: _pruned(held[rest[0]], rest[1:])}


def _added(text: str, mapping: yaml.MappingNode, rest: KeyPath, value: Any) -> str:
    if mapping.flow_style or not mapping.value:
        begin, end = mapping.start_mark.index, mapping.end_mark.index
        return text[:begin] + dumped(_nested(mapping, rest, value)) + text[end:]
    end = _end_of_line(text, _content_end(text, mapping))
    return _ended(text[:end]) + _block(rest, value, mapping.start_mark.column) + text[end:]


def _block(path: KeyPath, value: Any, indent: int) -> str:
    """``path`` as nested keys, a line each, with ``value`` behind the last."""
    lines = [f"{' ' * (indent + _INDENT * depth)}{dumped(part)}:" for depth, part in enumerate(path)]
    return "\n".join(lines) + f" {dumped(value)}\n"


def _content_end(text: str, node: yaml.Node) -> int:
    """Where the last character of a value is; the mark of a block is behind the comments that follow it."""
    import yaml

    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last: Any = node.value[-1]
        return _content_end(text, last[1] if isinstance(node, yaml.MappingNode) else last)
    if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">"):
        return len(text[: node.end_mark.index].rstrip())
    return node.end_mark.index


def _end_of_line(text: str, position: int) -> int:
    found = text.find("\n", position)
    return len(text) if found < 0 else found + 1


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"
