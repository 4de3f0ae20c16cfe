"""``amplifier session``: lists, shows, searches, forks, renames, exports, imports and deletes stored sessions."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from amplifier.cli.invocation import Invocation, common_options
from amplifier.cli.output import echo, echo_json, echo_table, plain
from amplifier.problems import StorageProblem, UsageProblem

if TYPE_CHECKING:
    from amplifier.store import SessionStore, StoredSession

_SHOWN_CHARS = 2_000
_COLUMNS = {
    "id": "session_id",
    "used": "updated",
    "turns": "turn_count",
    "name": "name",
    "model": "model",
    "directory": "working_dir",
}


@click.group()
def session() -> None:
    """List, show, search, fork, export and delete sessions.

    A session is named by its id, by the beginning of its id, or by its name.
    """


def _store(invocation: Invocation) -> SessionStore:
    from amplifier.store import SessionStore

    return SessionStore(invocation.places)


def _row(stored: StoredSession) -> dict[str, Any]:
    about = stored.metadata().to_dict()
    keys = (
        "name",
        "updated",
        "turn_count",
        "bundle",
        "provider",
        "model",
        "status",
        "working_dir",
        "parent_id",
        "agent",
    )
    return {"session_id": stored.id, **{key: about.get(key) for key in keys}}


@session.command("list")
@click.option("-n", "--limit", type=click.IntRange(1), default=20, show_default=True, help="How many.")
@click.option("--all", "is_all", is_flag=True, help="All of them.")
@click.option("--here", is_flag=True, help="Only those of this directory.")
@click.option("--children", is_flag=True, help="Child sessions of agents as well.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@common_options
@click.pass_obj
def list_(invocation: Invocation, limit: int, is_all: bool, here: bool, children: bool, as_json: bool) -> None:
    """List sessions, the last used first."""
    working_dir = invocation.places.working_dir if here else None
    most = None if is_all else limit
    found = _store(invocation).list(most, working_dir=working_dir, with_children=children)
    rows = [_row(each) for each in found]
    if as_json:
        echo_json(rows)
    elif not rows:
        echo('No sessions yet. Begin one: amplifier run "…"', err=True)
    else:
        shown = [[_cell(row, key) for key in _COLUMNS.values()] for row in rows]
        echo_table(list(_COLUMNS), shown)


@session.command()
@click.argument("wanted", metavar="SESSION")
@click.option("--full", is_flag=True, help="Long messages whole.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@common_options
@click.pass_obj
def show(invocation: Invocation, wanted: str, full: bool, as_json: bool) -> None:
    """Show what a session is and what was said in it."""
    from amplifier.store import to_document

    stored = _store(invocation).find(wanted)
    if as_json:
        echo_json({**to_document(stored), "folder": str(stored.folder)})
        return
    for key, value in stored.metadata().to_dict().items():
        echo(f"{key + ':':<14} {plain(str(value))}")
    echo(f"{'folder:':<14} {stored.folder}")
    for message in stored.messages():
        echo()
        echo(click.style(f"[{message['role']}]", bold=True))
        echo(_shown(message, full))


@session.command()
@click.argument("words", nargs=-1, required=True)
@click.option("-n", "--limit", type=click.IntRange(1), default=20, show_default=True, help="How many.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@common_options
@click.pass_obj
def search(invocation: Invocation, words: tuple[str, ...], limit: int, as_json: bool) -> None:
    """Search all conversations for words."""
    hits = _store(invocation).search(" ".join(words), limit)
    if as_json:
        echo_json([{**_row(hit.session), "excerpt": hit.excerpt} for hit in hits])
    elif not hits:
        echo(f"No session has: {plain(' '.join(words))}", err=True)
    else:
        rows = [(hit.session.short_id, hit.session.metadata().name or "", hit.excerpt) for hit in hits]
        echo_table(["id", "name", "where"], rows)


@session.command()
@click.argument("wanted", metavar="SESSION")
@click.option("--at", "turn", type=click.IntRange(1), help="Up to and with this turn; without it, everything.")
@click.option("--session-id", help="The id of the new session.")
@common_options
@click.pass_obj
def fork(invocation: Invocation, wanted: str, turn: int | None, session_id: str | None) -> None:
    """Make a new session from the beginning of another one; print its id."""
    store = _store(invocation)
    echo(store.fork(store.find(wanted), turn, session_id).id)


@session.command()
@click.argument("wanted", metavar="SESSION")
@click.argument("name")
@common_options
@click.pass_obj
def rename(invocation: Invocation, wanted: str, name: str) -> None:
    """Give a session a name."""
    store = _store(invocation)
    store.rename(store.find(wanted), name)


@session.command()
@click.argument("wanted", metavar="SESSION...", nargs=-1, required=True)
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@common_options
@click.pass_obj
def delete(invocation: Invocation, wanted: tuple[str, ...], yes: bool) -> None:
    """Delete sessions with everything that was kept of them."""
    store = _store(invocation)
    found = [store.find(each) for each in wanted]
    _delete_all(store, found, yes)


@session.command()
@click.option(
    "--older-than",
    type=click.FloatRange(0),
    metavar="DAYS",
    help="Not used for so many days (setting session.retention_days, else 30).",
)
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Only tell what would be deleted.")
@common_options
@click.pass_obj
def cleanup(invocation: Invocation, older_than: float | None, yes: bool, dry_run: bool) -> None:
    """Delete sessions that were not used for long."""
    store = _store(invocation)
    days = float(invocation.settings.get("session.retention_days", 30)) if older_than is None else older_than
    found = store.expired(days)
    if dry_run or not found:
        echo(f"{len(found)} sessions were not used for {days:g} days" + ("." if dry_run else "; nothing to delete."))
        for each in found:
            echo(f"  {each.id}")
        return
    _delete_all(store, found, yes)


@session.command()
@click.argument("wanted", metavar="SESSION")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Into a file; without it, to standard output.",
)
@click.option("--format", "kind", type=click.Choice(["json", "markdown"]), default="json", show_default=True)
@click.option("--redact", is_flag=True, help="Without the secrets in it.")
@common_options
@click.pass_obj
def export(invocation: Invocation, wanted: str, output: Path | None, kind: str, redact: bool) -> None:
    """Write a session as one document."""
    import json

    from amplifier.console.plain import escaped, harmless
    from amplifier.runtime.redaction import redactor
    from amplifier.store import to_document, to_markdown

    stored = _store(invocation).find(wanted)
    masking = redactor() if redact else None
    if kind == "markdown":
        text = harmless(to_markdown(stored, masking))
    else:
        text = escaped(json.dumps(to_document(stored, masking), indent=2, ensure_ascii=False)) + "\n"
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        output.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise StorageProblem(f"{output} cannot be written: {error.strerror}.", "Choose another file.") from None


@session.command("import")
@click.argument("file", type=click.File("r", encoding="utf-8"))
@click.option("--session-id", help="The id of the session that is made.")
@common_options
@click.pass_obj
def import_(invocation: Invocation, file: Any, session_id: str | None) -> None:
    """Take in an exported session ('-' is standard input); print its id."""
    try:
        text = file.read()
    except UnicodeDecodeError:
        raise UsageProblem(f"{file.name} is no UTF-8 text.", "Give a file that 'session export' has written.") from None
    echo(_store(invocation).import_document(text, str(file.name), session_id).id)


@session.command()
@common_options
@click.pass_obj
def reindex(invocation: Invocation) -> None:
    """Make the index of all sessions anew."""
    echo(f"{_store(invocation).reindex()} sessions")


def _delete_all(store: SessionStore, found: list[StoredSession], is_sure: bool) -> None:
    if not is_sure:
        for each in found:
            echo(f"  {each.id}  {plain(each.metadata().name or '')}")
        if not sys.stdin.isatty():
            raise UsageProblem(
                f"Nobody is there to confirm that {len(found)} sessions are deleted.", "Say it with --yes."
            )
        click.confirm(f"Delete {len(found)} sessions for good?", abort=True)
    for each in found:
        store.delete(each)
    echo(f"Deleted {len(found)} sessions.")


def _cell(row: dict[str, Any], key: str) -> str:
    text = "" if row[key] is None else str(row[key])
    if key == "session_id":
        return text[:8]
    return text[:16].replace("T", " ") if key == "updated" else text


def _shown(message: dict[str, Any], is_full: bool) -> str:
    from amplifier.store.transcript import calls_in, text_of

    text = text_of(message)
    called = [str(call.get("name")) for call in calls_in(message)]
    lines = [plain(line) for line in text.splitlines()] + [f"→ calls {plain(name)}" for name in called]
    shown = "\n".join(lines)
    if is_full or len(shown) <= _SHOWN_CHARS:
        return shown
    return f"{shown[:_SHOWN_CHARS]}\n… {len(shown) - _SHOWN_CHARS:,} characters more; --full shows them"
