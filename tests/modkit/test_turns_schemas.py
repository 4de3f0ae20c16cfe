"""JSON Schemas are compiled without asking the network, and what does not fit is told in few words."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from amplifier_modkit.turns.schemas import Schema


def test_what_fits_has_no_complaint() -> None:
    """Models and tuples count as the data they stand for."""
    schema = Schema({"type": "object", "properties": {"n": {"type": "array", "items": {"type": "integer"}}}})
    assert [schema.complaint(value) for value in ({"n": [1]}, {}, {"n": (1, 2)})] == [None, None, None]


def test_each_complaint_says_where_it_is_about() -> None:
    """The way to the value goes before what is wrong with it."""
    schema = Schema(
        {
            "type": "object",
            "properties": {"list": {"items": {"type": "object", "required": ["id"]}}, "size": {"maximum": 3}},
            "additionalProperties": False,
        }
    )
    assert schema.complaint({"list": [{}], "size": 4, "extra": 1}) == (
        'list.0: "id" is a required property; '
        "size: 4 is greater than the maximum of 3; "
        "Additional properties are not allowed ('extra' was unexpected)"
    )


def test_of_many_complaints_the_first_five_are_told() -> None:
    """A model that got everything wrong is not drowned in words."""
    told = Schema({"items": {"type": "string"}}).complaint(list(range(9)))
    assert told == "; ".join(f'{n}: {n} is not of type "string"' for n in range(5)) + " (and 4 more)"


def test_a_complaint_does_not_repeat_a_whole_file() -> None:
    """The value that is wrong is quoted, but only its head and tail; what is wrong with it stays readable."""
    told = Schema({"properties": {"text": {"type": "string"}}}).complaint({"text": ["x" * 1_000_000]})
    assert told is not None
    assert len(told) <= 500
    assert told.startswith('text: ["xxx')
    assert told.endswith('is not of type "string"')


def test_the_schema_can_be_shown() -> None:
    """As JSON, in its own characters."""
    assert str(Schema({"title": "Größe"})) == '{"title": "Größe"}'


@pytest.mark.parametrize("schema", [{"type": "nonsense"}, {"properties": 5}, {"pattern": "("}, {"$ref": "#/gone"}])
def test_what_is_no_schema_is_refused_in_one_line(schema: dict[str, Any]) -> None:
    """The reason is told without the library's appendix."""
    with pytest.raises(ValueError, match=r"^[^\n]+$"):
        Schema(schema)


@pytest.mark.parametrize(
    "value",
    [
        {"\ud800": 1},
        {"a": {"\ud800": 1}},
        {"a": "\ud800"},
        {"a": float("nan")},
        {"a": float("inf")},
        {"a": 10**400},
        {"a": {1, 2}},
        {1: 2},
    ],
    ids=repr,
)
def test_no_value_breaks_the_check(value: Any) -> None:
    """Text that is no Unicode, numbers without end and foreign objects fit or do not fit, and nothing else happens."""
    for schema in ({"type": "object"}, {"type": "object", "additionalProperties": {"type": "string"}}, {"maxItems": 1}):
        assert isinstance(Schema(schema).complaint(value), str | None)


def test_a_value_that_the_library_cannot_read_is_a_complaint() -> None:
    """It is never taken for fitting."""
    told = Schema({"type": "object", "additionalProperties": {"type": "integer"}}).complaint({"\ud800": 1})
    assert told is not None
    assert told.startswith("it cannot be checked ('utf-8' codec can't encode character")


@pytest.mark.parametrize("keyword", ["$ref", "$schema", "$dynamicRef", "$recursiveRef"])
async def test_a_schema_never_makes_a_request(keyword: str, tmp_path: Path) -> None:
    """A schema that points somewhere, at a server or a file, is refused or taken without a look there."""
    requests: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        requests.append(await reader.readline())
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 4\r\n\r\ntrue")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    secret = tmp_path / "schema.json"
    secret.write_text(json.dumps({"const": "secret"}), encoding="utf-8")
    async with server:
        for uri in (f"http://127.0.0.1:{port}/schema.json", secret.as_uri()):
            for schema in ({keyword: uri}, {"properties": {"a": {keyword: uri}}}, {"$defs": {"a": {keyword: uri}}}):
                await asyncio.to_thread(_use, schema)
    assert requests == []


def _use(schema: dict[str, Any]) -> None:
    try:
        complaint = Schema(schema).complaint({"a": 1})
    except ValueError:
        return
    assert complaint is None or "secret" not in complaint


def test_the_refusal_to_fetch_says_why() -> None:
    """Whoever wrote the schema learns that it must stand on its own."""
    with pytest.raises(ValueError, match="it refers to http://127.0.0.1:1/x, and schemas are never fetched"):
        Schema({"$ref": "http://127.0.0.1:1/x"})
