"""YAML texts of settings: values with their lines, and every malformed text told with line and column."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from amplifier.problems import SettingsProblem, UsageProblem
from amplifier.settings import yaml_text
from amplifier.settings.key_paths import join_key, put, split_key
from amplifier.settings.yaml_text import MOST_CHARACTERS, MOST_DEPTH, MOST_VALUES, compose, parse_yaml


def problem_of(text: str) -> str:
    """The message for a text that cannot be read."""
    with pytest.raises(SettingsProblem) as caught:
        parse_yaml(text, "s.yaml")
    assert caught.value.exit_code == 78
    return caught.value.message


def test_each_value_has_its_line() -> None:
    """Keys have the line they stand in, items of lists that of the item."""
    document = parse_yaml("# top\nmodel: x\nsession:\n  persist: true\nlist:\n  - a\n  - b: 1\n", "s.yaml")
    assert document.value == {"model": "x", "session": {"persist": True}, "list": ["a", {"b": 1}]}
    assert document.lines == {
        (): 2,
        ("model",): 2,
        ("session",): 3,
        ("session", "persist"): 4,
        ("list",): 5,
        ("list", "0"): 6,
        ("list", "1"): 7,
        ("list", "1", "b"): 7,
    }


@pytest.mark.parametrize("text", ["", "# only a comment\n", "---\n", "null"])
def test_nothing_is_none(text: str) -> None:
    """An empty text has no value."""
    assert parse_yaml(text, "s.yaml").value is None


def test_keys_are_texts_as_they_were_written() -> None:
    """``on``, ``no`` and numbers stay what was typed when they are keys."""
    assert parse_yaml("on: 1\nno: 2\n3: x\n~: y\n", "s.yaml").value == {"on": 1, "no": 2, "3": "x", "~": "y"}


def test_merge_keys_take_what_is_not_there_yet() -> None:
    """``<<`` with a mapping or a list of them; own keys count more, then those named first."""
    text = "a: &a {x: 1, y: 1}\nb: &b {y: 2, z: 2}\nc:\n  <<: [*a, *b]\n  x: 3\nd:\n  <<: *b\n"
    assert parse_yaml(text, "s.yaml").value == {
        "a": {"x": 1, "y": 1},
        "b": {"y": 2, "z": 2},
        "c": {"x": 3, "y": 1, "z": 2},
        "d": {"y": 2, "z": 2},
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("model: [a\n", "s.yaml:2:1: expected ',' or ']', but got '<stream end>'"),
        ("model: x\n  bad: y\n", "s.yaml:2:6: mapping values are not allowed here"),
        ("a: 1\n\tb: 2\n", "s.yaml:2:1: found character '\\t' that cannot start any token"),
        ("a: 1\na: 2\n", "s.yaml:2:1: the key 'a' is there twice, first in line 1"),
        ("a: !!python/object:os.system x\n", "s.yaml:1:4: could not determine a constructor for the tag"),
        ("a: !mine {x: 1}\n", "s.yaml:1:4: could not determine a constructor for the tag '!mine'"),
        ("a: *nobody\n", "s.yaml:1:4: found undefined alias 'nobody'"),
        ("? [a, b]\n: 1\n", "s.yaml:1:3: a key must be a plain text"),
        ("a: 1\n---\nb: 2\n", "s.yaml:2:1: but found another document"),
        ("a: 2024-13-45\n", "s.yaml:1:4: the value cannot be read: month must be in 1..12"),
        ("<<: 3\n", "s.yaml:1:5: '<<' expects a mapping or a list of mappings"),
        ("a: 1\nb: \x07\n", "s.yaml:2:4: the character U+0007 is not allowed in YAML"),
        ("a: \udc80\n", "s.yaml:1:4: the character U+DC80 is not allowed in YAML"),
        ("a: !!int x", "s.yaml:1:4: the value cannot be read: invalid literal for int() with base 10: 'x'"),
    ],
)
def test_what_is_malformed_is_told_with_line_and_column(text: str, message: str) -> None:
    """The message names the file, the place and the reason."""
    assert problem_of(text).startswith(message)


def test_an_error_without_a_place_is_told_with_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader of YAML may know no line; the file is named all the same."""

    def fail(_: object) -> None:
        raise yaml.MarkedYAMLError(problem="it rains")

    monkeypatch.setattr(yaml.SafeLoader, "get_single_node", fail)
    assert problem_of("a") == "s.yaml: it rains"


def test_an_unreadable_character_may_come_as_a_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both forms of the reader's error are told in the same way."""

    def fail(_: object) -> None:
        raise yaml.reader.ReaderError("", 2, b"\x07", "utf-8", "no")  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(yaml.SafeLoader, "get_single_node", fail)
    assert problem_of("a: x") == "s.yaml:1:3: the character U+0007 is not allowed in YAML"


def test_aliases_cannot_blow_up() -> None:
    """An alias counts as often as it is used, so a small text cannot become a huge value."""
    bomb = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12))
    assert f"there are more than {MOST_VALUES:,} values, aliases included" in problem_of(bomb)


@pytest.mark.parametrize("text", ["a: &a [*a]", "[" * 60 + "]" * 60, "{a: " * 5000], ids=["itself", "deep", "deeper"])
def test_depth_is_bounded(text: str) -> None:
    """What is nested too deeply, also in itself, is refused and does not end the process."""
    assert problem_of(text) == f"s.yaml is nested too deeply: expected at most {MOST_DEPTH} levels."


def test_size_is_bounded() -> None:
    """A text that is much too long is not read at all."""
    assert problem_of(" " * (MOST_CHARACTERS + 1)) == "s.yaml has 524,289 characters; expected at most 524,288."


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.from_regex(r"[a-z]+", fullmatch=True), inner),
    max_leaves=10,
)


@given(values)
def test_what_yaml_writes_is_read_as_it_was(value: object) -> None:
    """Reading has the safe types of YAML, and changes none of their values."""
    assert parse_yaml(yaml.safe_dump(value), "s.yaml").value == value


def test_nodes_are_given_for_edits() -> None:
    """The same text as nodes, which have their places in it."""
    node = compose("a: 1")
    assert isinstance(node, yaml.MappingNode)
    assert (compose(""), yaml_text.compose("# x")) == (None, None)


@given(st.lists(st.text(min_size=1), min_size=1).map(tuple))
def test_a_dotted_key_comes_back(path: tuple[str, ...]) -> None:
    """Whatever characters names have, the key says them all."""
    assert split_key(join_key(path)) == path


@pytest.mark.parametrize("text", ["", ".", "a.", ".a", "a..b", '"a', 'a"b', '"a"b'])
def test_what_is_no_key_is_refused(text: str) -> None:
    """The message shows what a key looks like."""
    with pytest.raises(UsageProblem) as caught:
        split_key(text)
    message = f"The key {text!r} cannot be read: expected names joined by dots, such as session.persist."
    assert (caught.value.message, caught.value.exit_code) == (message, 2)


def test_putting_makes_the_mappings_on_the_way() -> None:
    """What stands in the way and is no mapping is replaced."""
    tree: dict[str, object] = {"a": 1, "b": {"c": 2}}
    put(tree, ("a", "x"), 3)
    put(tree, ("b", "d"), 4)
    assert tree == {"a": {"x": 3}, "b": {"c": 2, "d": 4}}
