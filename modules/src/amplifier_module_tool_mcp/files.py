"""Where servers are written down: the plan, and files. A name that is in several places counts where it comes first.

Everything here blocks, and is called in a thread.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from amplifier_modkit.locations import amplifier_home

CONFIG_VARIABLE = "AMPLIFIER_MCP_CONFIG"
_LARGEST = 1_000_000
_KEY = "mcpServers"


@dataclass(frozen=True, slots=True)
class Written:
    """What is written about one server, and where."""

    entry: Any = field(repr=False)
    source: str
    is_from_project: bool = False


@dataclass(frozen=True, slots=True)
class Findings:
    """All servers by name, and what is wrong with files."""

    servers: dict[str, Written]
    problems: list[str]


def find_servers(inline: Mapping[str, Any], working_dir: Path, environment: Mapping[str, str]) -> Findings:
    """The servers of the plan, then those of ``$AMPLIFIER_MCP_CONFIG``, of the project's files, and of the user's."""
    found = Findings({name: Written(entry, "the plan") for name, entry in inline.items()}, [])
    named = environment.get(CONFIG_VARIABLE)
    if named:
        path = working_dir / Path(named).expanduser()
        _add(found, path, is_from_project=False, must_exist=True)
    for path, is_from_project in _usual_places(working_dir):
        _add(found, path, is_from_project=is_from_project, must_exist=False)
    return found


def _usual_places(working_dir: Path) -> Iterator[tuple[Path, bool]]:
    yield working_dir / ".mcp.json", True
    of_user = amplifier_home() / "mcp.json"
    of_project = working_dir / ".amplifier" / "mcp.json"
    # In the user's home both are one file, and it is the user's.
    if of_project.resolve() != of_user.resolve():
        yield of_project, True
    yield of_user, False


def _add(found: Findings, path: Path, *, is_from_project: bool, must_exist: bool) -> None:
    try:
        servers = _servers_in(path)
    except FileNotFoundError:
        if must_exist:
            found.problems.append(f"{path}, named by {CONFIG_VARIABLE}, is not there")
        return
    except (OSError, ValueError) as error:
        found.problems.append(f"the servers in {path} are left out: {error}")
        return
    for name, entry in servers.items():
        found.servers.setdefault(name, Written(entry, str(path), is_from_project))


def _servers_in(path: Path) -> dict[str, Any]:
    if path.stat().st_size > _LARGEST:
        raise ValueError(f"it has more than {_LARGEST:,} bytes")
    content: Any = json.loads(path.read_text(encoding="utf-8"))
    servers: Any = cast("dict[str, Any]", content).get(_KEY) if isinstance(content, dict) else None
    if not isinstance(servers, dict):
        raise ValueError(f"expected an object with the key '{_KEY}', which is an object of servers by name")
    return cast("dict[str, Any]", servers)
