"""What a first run can begin with: keys that are set, an Ollama that answers, the model inside the process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from amplifier.bundles.installed import is_installed
from amplifier.bundles.merge import short_name
from amplifier.inspector.provider_list import keys_present, variables_of
from amplifier.nearest import nearest
from amplifier.paths import Places
from amplifier.problems import ProviderProblem
from amplifier.settings import set_value, unset_value

LOCAL, OLLAMA = "provider-local", "provider-ollama"
_OLLAMA_PORT = 11434
_LIMIT_S = 1.0

Answers = Callable[[str], bool]


class Choice(NamedTuple):
    """A provider that could be asked now, and why."""

    module: str
    why: str

    @property
    def name(self) -> str:
        """What people call it."""
        return short_name(self.module)


def choices(environ: Mapping[str, str], kept: Iterable[str], answers: Answers | None = None) -> list[Choice]:
    """What works here, the best first: keys in the order of preference, Ollama, the embedded model."""
    found = [
        Choice(module, f"{', '.join(names)} is set")
        for module, names in keys_present(environ, kept).items()
        if is_installed(module) and module != OLLAMA
    ]
    address = ollama_address(environ)
    if is_installed(OLLAMA) and (answers or _answers)(address):
        found.append(Choice(OLLAMA, f"Ollama answers at {address}"))
    if is_installed(LOCAL) and find_spec("xllamacpp") is not None:
        found.append(Choice(LOCAL, "a small model inside the process; needs no key"))
    return found


def ollama_address(environ: Mapping[str, str]) -> str:
    """Where Ollama is: as ``OLLAMA_HOST`` says, in any of its forms, else on this machine."""
    given = environ.get("OLLAMA_HOST") or "localhost"
    address = given if "://" in given else f"http://{given}"
    scheme, _, rest = address.partition("://")
    host = rest.rstrip("/").replace("0.0.0.0", "localhost")
    has_port = ":" in host.rpartition("]")[2]
    return f"{scheme}://{host}" if has_port or scheme == "https" else f"{scheme}://{host}:{_OLLAMA_PORT}"


def require_choice(wanted: str, found: Iterable[Choice]) -> Choice:
    """The provider that somebody names; one that is installed but has no key yet is one as well.

    Raises ``ProviderProblem`` for one that is not installed.
    """
    module = wanted if wanted.startswith("provider-") else f"provider-{wanted}"
    known = {choice.module: choice for choice in found}
    if module in known:
        return known[module]
    if is_installed(module):
        return Choice(module, "you chose it")
    near = nearest(short_name(module), [choice.name for choice in known.values()])
    meant = f"; did you mean '{near}'?" if near else "."
    raise ProviderProblem(f"There is no provider '{wanted}'{meant}", "amplifier provider list shows what is installed.")


def choose(places: Places, scope: str, choice: Choice, model: str | None) -> Path:
    """Writes the provider and the model of new sessions into the settings of a scope; gives the file."""
    file = set_value(places, scope, "provider", choice.name).file
    if model:
        set_value(places, scope, "model", model)
    else:
        # A model that was chosen for another provider would be asked for in vain.
        unset_value(places, scope, "model")
    return file


def missing_key(choice: Choice, environ: Mapping[str, str], kept: Iterable[str]) -> str | None:
    """What a provider still needs, in a sentence; ``None`` if it has it."""
    names = variables_of(choice.module)
    if not names or choice.module in keys_present(environ, kept):
        return None
    return f"{choice.name} needs {' or '.join(names)}: amplifier config set-key {names[0]}"


def _answers(address: str) -> bool:
    from urllib.error import URLError
    from urllib.request import ProxyHandler, build_opener

    try:
        # Nobody's proxy has to know about a server on this machine.
        with build_opener(ProxyHandler({})).open(f"{address}/api/version", timeout=_LIMIT_S) as response:
            return response.status == 200
    except (URLError, OSError, ValueError):
        return False
