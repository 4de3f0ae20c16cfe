"""Writes `events.md` and `events.schema.json` from the payload types of the kernel, or checks that they are current.

Run `python docs/generate_events.py` after a change of the payloads, and commit what it wrote.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from amplifier_core import events, kernel_events
from amplifier_core.event_payloads import PAYLOADS, CorrelatedDefaults, EventDefaults, catalogue_schema

COMMAND = "python docs/generate_events.py"

INTRODUCTION = f"""\
<!-- Written by `{COMMAND}` from `amplifier_core.event_payloads`: change the types there, not this page. -->

# Events

A session tells what happens in it by *events*: a name and a dict, the *payload*. Anybody may register a handler for
any of them (`coordinator.hooks.register("tool:pre", handler)`). This page lists the canonical events and those that
the kernel adds, each with its payload. Names are constants: the canonical ones in `amplifier_core.events`, the
kernel's own in `amplifier_core.kernel_events`. Every payload is also a `TypedDict` in
`amplifier_core.event_payloads`, and a JSON Schema: `payload_schema("tool:pre")` in Python, all of them in
[`events.schema.json`](events.schema.json), keyed by event.

*Required* says what the contract asks of everyone who emits the event, so a handler may count on it. A field that is
not required comes only in some situations or from some emitters; read it with `data.get(...)`. A name with a dot is a
field of the object before the dot, and required within that object. Further fields are always allowed: modules add
their own, and a handler leaves alone what it does not know.

The kernel emits only the events that name it below. The others are the contract between orchestrators, providers,
context managers, tools, hooks and the app; a module that replaces a standard one emits them as well.

## What every handler receives

The handler's dict is the emitter's, with these fields added. The emitter's own value wins over a default.
"""

NOTES = """\
**Defaults.** A session sets `session_id` and `parent_id` once for all its events. Code that uses a `HookRegistry`
without a session sets its own with `set_default_fields`, or has none. `emit_and_collect` adds nothing, and neither does
`emit` for an event that nobody handles.

**Values keep their identity.** Each handler gets a dict of its own, but what stands in it are the emitter's very
objects, never a copy: `data["tool_result"]` is the object that the tool returned. Adding a key is invisible to others;
changing an object inside is not, so leave that alone and answer `modify` instead. Because values may be any Python
object, whoever writes an event to a file converts it first.

**After a `modify`**, later handlers get the data of that answer and nothing else: defaults and timestamp are there if
the handler kept them.

**`timestamp`** is written by the registry at each emit, whatever the emitter put there.

**`request_id`** ties together the events of one model call: `llm:request` opens the call, `provider:retry` and
`provider:throttle` belong to it, `llm:response` or `provider:error` close it. The registry adds the id to these events
only, and keeps an id that the emitter gives. Calls that run side by side in different tasks have different ids.
"""

PLAIN_TYPES = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "object": "object",
    "array": "list",
    "null": "nothing",
}


def properties_of(payload: type) -> dict[str, Any]:
    """Field name to its schema."""
    return TypeAdapter[Any](payload).json_schema()["properties"]


DEFAULT_FIELDS = frozenset(properties_of(EventDefaults))


def main(arguments: list[str] | None = None) -> int:
    """Write both files, or with `--check` only compare them; the exit code is 1 if one is not current."""
    parser = argparse.ArgumentParser(description="Write docs/events.md and docs/events.schema.json.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a file is out of date")
    parser.add_argument(
        "--into", type=Path, default=Path(__file__).parent, metavar="FOLDER", help="where the files are"
    )
    options = parser.parse_args(arguments)
    wanted = {options.into / name: text for name, text in render_files().items()}
    return check(wanted) if options.check else write(wanted)


def check(wanted: dict[Path, str]) -> int:
    """Name each file that differs from what it should be, and say what to do about it."""
    stale = [path for path, text in wanted.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    for path in stale:
        sys.stderr.write(f"{path.name} does not match the event payloads. Run `{COMMAND}` and commit the result.\n")
    return 1 if stale else 0


def write(wanted: dict[Path, str]) -> int:
    """Write the files and name them."""
    for path, text in wanted.items():
        path.write_text(text, encoding="utf-8", newline="\n")
        sys.stdout.write(f"wrote {path}\n")
    return 0


def render_files() -> dict[str, str]:
    """File name to content."""
    schemas = catalogue_schema()
    return {
        "events.md": render_page(schemas),
        "events.schema.json": json.dumps(schemas, indent=2, ensure_ascii=False) + "\n",
    }


def render_page(schemas: dict[str, Any]) -> str:
    """The whole page: what holds for all events, an overview, then a section per group."""
    parts = [INTRODUCTION, render_default_fields(), NOTES, render_overview(schemas)]
    for group, names in group_events().items():
        parts += render_group(group, {name: schemas[name] for name in names})
    return "\n".join(parts)


def render_default_fields() -> str:
    """The table of what is added to events."""
    fields = properties_of(CorrelatedDefaults).items()
    return render_table(("field", "type", "meaning"), [(f"`{n}`", plain_type(f), f["description"]) for n, f in fields])


def render_overview(schemas: dict[str, Any]) -> str:
    """One line per event: who emits it and when, each linked to its section."""
    rows: list[tuple[str, ...]] = []
    for name, schema in schemas.items():
        emitter, when, _ = read_description(schema["description"])
        rows.append((f"[`{name}`](#{name.replace(':', '')})", emitter, when))
    return f"## All {len(rows)} events\n\n" + render_table(("event", "emitted by", "when"), rows)


def group_events() -> dict[str, list[str]]:
    """The module docstring of a payload is its group; groups come in the order of their first event."""
    groups: dict[str, list[str]] = {}
    for name, payload in PAYLOADS.items():
        groups.setdefault(sys.modules[payload.__module__].__doc__ or "", []).append(name)
    return groups


def render_group(docstring: str, schemas: dict[str, Any]) -> Iterator[str]:
    """A heading, what the group holds, and its events."""
    first, _, rest = docstring.strip().partition("\n\n")
    title, _, summary = first.partition(": ")
    yield f"## {title}\n\n{capitalised(summary)}\n"
    if rest:
        yield f"{rest}\n"
    for name, schema in schemas.items():
        yield render_event(name, schema)


def render_event(name: str, schema: dict[str, Any]) -> str:
    """When an event comes, what its type is called, and a table of its fields."""
    emitter, when, more = read_description(schema["description"])
    told = f"Emitted by {emitter}. {when}" + (f"\n\n{more}" if more else "")
    rows = list(field_rows(schema))
    table = render_table(("field", "type", "required", "meaning"), rows) if rows else "No fields of its own.\n"
    return f"### `{name}`\n\n{told}\n\nConstant `{constant_of(name)}`, type `{schema['title']}`.\n\n{table}"


def read_description(description: str) -> tuple[str, str, str]:
    """Take `Emitted by X: it happens.` apart into who, when, and what else is said."""
    first, _, more = description.partition("\n\n")
    emitter, _, when = first.removeprefix("Emitted by ").partition(": ")
    return emitter, capitalised(when), more


def field_rows(schema: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, ...]]:
    """A row per field, the fields of a nested object below it; defaults that nobody must give are told once above."""
    required: list[str] = schema.get("required", [])
    for name, field in schema["properties"].items():
        if name in DEFAULT_FIELDS and name not in required:
            continue
        is_required = "yes" if name in required else "no"
        yield f"`{prefix}{name}`", plain_type(field), is_required, field["description"]
        for nested in (field, *field.get("anyOf", [])):
            if "properties" in nested:
                yield from field_rows(nested, f"{prefix}{name}.")


def plain_type(field: dict[str, Any]) -> str:
    """A JSON Schema type in words."""
    if "enum" in field:
        return "one of " + ", ".join(f"`{value}`" for value in field["enum"])
    if "anyOf" in field:
        return " or ".join(plain_type(choice) for choice in field["anyOf"])
    if "type" not in field:
        return "any value"
    items = field.get("items") or {}
    return PLAIN_TYPES[field["type"]] + (f" of {plain_type(items)}" if items else "")


def constant_of(name: str) -> str:
    """Where the event's name is defined."""
    home = kernel_events if name in kernel_events.KERNEL_EVENTS else events
    return f"{home.__name__}.{name.replace(':', '_').upper()}"


def render_table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A Markdown table."""
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def capitalised(sentence: str) -> str:
    """The sentence with a capital first letter."""
    return sentence[:1].upper() + sentence[1:]


if __name__ == "__main__":
    sys.exit(main())
