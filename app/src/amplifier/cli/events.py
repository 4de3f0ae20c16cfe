"""``amplifier events``: the catalogue of what a session tells its hooks."""

from __future__ import annotations

import click

from amplifier.cli.invocation import common_options
from amplifier.cli.output import echo, echo_json, echo_table
from amplifier.cli.planning import json_option


@click.command()
@click.argument("name", required=False)
@json_option
@common_options
def events(name: str | None, as_json: bool) -> None:
    """List the events of sessions, or show the fields of the event NAME.

    Hooks, logs and output formats have these names. --json prints the JSON Schema of one event, or the list.
    """
    from amplifier.inspector.event_list import event_schema, fields_of, listed_events

    if name is None:
        found = listed_events()
        if as_json:
            echo_json([each._asdict() for each in found])
        else:
            echo_table(["EVENT", "EMITTED BY", "WHEN"], found)
        return
    schema = event_schema(name)
    if as_json:
        echo_json(schema)
        return
    echo(f"{name}\n\n{schema['description']}\n")
    rows = [(each.name, each.type, "yes" if each.is_required else "", each.meaning) for each in fields_of(schema)]
    echo_table(["FIELD", "TYPE", "ALWAYS", "MEANING"], rows)
