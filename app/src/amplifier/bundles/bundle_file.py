"""One file of a bundle: from the document to a bundle by itself, each value checked and with its origin."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple, cast

from amplifier.bundles.agent_file import agent_of_file, agent_of_mapping, checked_session
from amplifier.bundles.bundle import MODULE_SECTIONS, AgentSpec, Bundle, ContextFile, Include, Origins, Way
from amplifier.bundles.checks import (
    require_flag,
    require_list,
    require_mapping,
    require_modules,
    require_text,
    unknown_keys,
)
from amplifier.bundles.document import Document, dotted, read_document
from amplifier.bundles.folders import Surroundings, root_of
from amplifier.bundles.mentions import Passage
from amplifier.bundles.merge import Entry, entry_key
from amplifier.settings.key_paths import KeyPath

FLAGS = ("only_own_providers", "project_instructions")
_HEADER_KEYS = ("name", "version", "description", "namespace_root", "author", "license", *FLAGS)
_TOP_KEYS = ("bundle", "meta", "includes", "session", *MODULE_SECTIONS, "spawn", "agents", "context", "instruction")


class Header(NamedTuple):
    """Who a bundle is: what is known before anything it includes."""

    name: str
    root: Path
    version: str
    description: str
    flags: dict[str, bool]


def read_header(document: Document) -> Header:
    """The ``bundle`` section (or an agent's ``meta``); the file's name stands for a name that is missing."""
    section = "bundle" if "bundle" in document.data else "meta"
    header = require_mapping(document, (section,), document.data.get(section))
    own_name = document.file.parent.name if document.file.stem == "bundle" else document.file.stem
    texts = {
        key: require_text(document, (section, key), header.get(key, usual))
        for key, usual in (("name", own_name), ("version", ""), ("description", ""))
    }
    named_root = header.get("namespace_root")
    root = root_of(
        document, None if named_root is None else require_text(document, (section, "namespace_root"), named_root)
    )
    flags = {key: require_flag(document, (section, key), header[key]) for key in FLAGS if key in header}
    return Header(texts["name"], root, texts["version"], texts["description"], flags)


def read_includes(document: Document) -> list[Include]:
    """What the bundle is built on, in order."""
    includes: list[Include] = []
    for place, item in enumerate(require_list(document, ("includes",), document.data.get("includes"))):
        path = ("includes", str(place))
        ref = cast("dict[str, Any]", item).get("bundle") if isinstance(item, dict) else item
        if not isinstance(ref, str) or not ref.strip():
            raise document.problem(path, f"{dotted(path)} must name a bundle", "Write '- bundle: NAME, PATH or URL'.")
        includes.append(Include(ref.strip(), document.place(path)))
    return includes


def read_bundle(document: Document, header: Header, surroundings: Surroundings) -> Bundle:
    """The bundle that the file describes, without those it includes."""
    scope = f"bundle {header.name}"
    roots = (header.root,)
    session = checked_session(document, ("session",), document.data.get("session"))
    modules = {name: require_modules(document, (name,), document.data.get(name)) for name in MODULE_SECTIONS}
    spawn = require_mapping(document, ("spawn",), document.data.get("spawn"))
    origins: Origins = {}
    for name, section in (("session", session), ("spawn", spawn)):
        _trace(document, scope, (name,), (name,), section, origins)
    for name, entries in modules.items():
        for place, entry in enumerate(entries):
            _trace(document, scope, (name, entry_key(entry)), (name, str(place)), entry, origins)
    return Bundle(
        header.name,
        document.file,
        header.root,
        header.version,
        header.description,
        header.flags,
        tuple(read_includes(document)),
        session,
        **modules,
        spawn=spawn,
        agents=_agents(document, surroundings, scope),
        context=_context(document, header, surroundings, scope),
        passage=_passage(document, roots),
        namespaces=dict(surroundings.namespaces),
        origins=origins,
        parts=(header.name,),
        warnings=tuple(_unread(document)),
    )


def _passage(document: Document, roots: tuple[Path, ...]) -> Passage | None:
    if document.body:
        return Passage(document.body, document.file, document.body_line, roots)
    given = document.data.get("instruction")
    if given is None:
        return None
    text = require_text(document, ("instruction",), given)
    return Passage(text, document.file, document.line_of(("instruction",)), roots)


def _agents(document: Document, surroundings: Surroundings, scope: str) -> dict[str, AgentSpec]:
    section = document.data.get("agents")
    if "bundle" not in document.data and not isinstance(section, dict):
        return {}  # an agent's own file: whom it may call
    agents = require_mapping(document, ("agents",), section)
    included = require_list(document, ("agents", "include"), agents.pop("include", None))
    found = [
        _included_agent(document, ("agents", "include", str(place)), ref, surroundings, scope)
        for place, ref in enumerate(included)
    ]
    roots = (surroundings.root,)
    for name, fields in agents.items():
        path = ("agents", name)
        found.append(agent_of_mapping(document, path, name, require_mapping(document, path, fields), roots, scope))
    return {agent.name: agent for agent in found}


def _included_agent(document: Document, path: KeyPath, given: Any, surroundings: Surroundings, scope: str) -> AgentSpec:
    ref = require_text(document, path, given)
    file, root = _require_file(document, path, ref, surroundings, "agents")
    # A path says where the file is; everything else is what texts call the agent.
    name = None if "/" in ref or file.name == ref.rpartition(":")[2] else ref
    return agent_of_file(read_document(file), name, (root, surroundings.root), scope)


def _context(document: Document, header: Header, surroundings: Surroundings, scope: str) -> dict[str, ContextFile]:
    section = document.data.get("context")
    fields = require_mapping(document, ("context",), section)
    included = require_list(document, ("context", "include"), fields.pop("include", None))
    wanted: list[tuple[KeyPath, str, Any]] = [
        (("context", "include", str(place)), str(ref), ref) for place, ref in enumerate(included)
    ]
    wanted += [(("context", key), key, ref) for key, ref in fields.items()]
    context: dict[str, ContextFile] = {}
    for path, key, given in wanted:
        ref = require_text(document, path, given)
        file, root = _require_file(document, path, ref, surroundings, "")
        context[f"{header.name}:{key}"] = ContextFile(file, root, document.origin(path, scope))
    return context


def _require_file(
    document: Document, path: KeyPath, ref: str, surroundings: Surroundings, usual: str
) -> tuple[Path, Path]:
    try:
        found = surroundings.find(ref, usual)
    except LookupError as error:
        raise document.problem(path, f"{ref!r} cannot be used: {error.args[0]}") from None
    if found is None:
        start = surroundings.folder / usual
        raise document.problem(
            path, f"{dotted(path)} names {ref!r}, which is not there", f"Looked in {start} and in {surroundings.root}."
        )
    return found


def _trace(document: Document, scope: str, way: Way, path: KeyPath, value: Any, origins: Origins) -> None:
    """Notes where ``value`` and everything inside it come from; items of lists are known by themselves."""
    origins[way] = document.origin(path, scope)
    if isinstance(value, dict):
        for key, inner in cast("Entry", value).items():
            _trace(document, scope, (*way, key), (*path, key), inner, origins)
    elif isinstance(value, list):
        for place, inner in enumerate(cast("list[Any]", value)):
            _trace(document, scope, (*way, repr(inner)), (*path, str(place)), inner, origins)


def _unread(document: Document) -> list[str]:
    header = document.data.get("bundle")
    in_header = unknown_keys(document, ("bundle",), cast("Entry", header), _HEADER_KEYS) if header else []
    is_agent = "bundle" not in document.data
    return [*in_header, *([] if is_agent else unknown_keys(document, (), document.data, _TOP_KEYS))]
