"""Which providers a session has: those of the bundle and the settings, else those with a key, else the local model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from amplifier.bundles.draft import Draft, config_of, is_named, mounted_name
from amplifier.bundles.installed import IsInstalled
from amplifier.bundles.merge import Entry, entry_key, short_name
from amplifier.problems import ProviderProblem
from amplifier.settings import Settings
from amplifier.settings.key_paths import join_key
from amplifier.settings.origins import SCOPES, Origin

LOCAL = "provider-local"
BY_VARIABLE: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("provider-anthropic", ("ANTHROPIC_API_KEY",)),
    ("provider-openai", ("OPENAI_API_KEY",)),
    ("provider-gemini", ("GEMINI_API_KEY", "GOOGLE_API_KEY")),
    ("provider-azure-openai", ("AZURE_OPENAI_API_KEY",)),
    ("provider-ollama", ("OLLAMA_HOST",)),
    ("provider-vllm", ("VLLM_BASE_URL",)),
    ("provider-chat-completions", ("CHAT_COMPLETIONS_BASE_URL",)),
)
"""Providers that a variable makes usable, the one to ask first in front."""


class Choice(NamedTuple):
    """A provider that is to be in the plan, and why."""

    entry: Entry
    origin: Origin


def choose_providers(settings: Settings, environ: Mapping[str, str], is_installed: IsInstalled) -> list[Choice]:
    """The providers for a bundle that names none: as the settings say, else by variables, else the local model."""
    if listed := listed_providers(settings):
        return listed
    found = [
        Choice({"module": module, "config": {"priority": place}}, Origin("environment", name=names[0]))
        for place, (module, variables) in enumerate(BY_VARIABLE, start=1)
        if (names := [name for name in variables if environ.get(name)]) and is_installed(module)
    ]
    return found or [Choice({"module": LOCAL}, Origin("default", name="no provider is configured and no key is set"))]


def listed_providers(settings: Settings) -> list[Choice]:
    """The providers that settings list, under ``config.providers`` and ``modules.providers``."""
    return [
        Choice(cast("Entry", entry), settings.origin(key))
        for key in ("config.providers", "modules.providers")
        for entry in settings.get(key, [])
        if isinstance(entry, dict) and cast("Entry", entry).get("module")
    ]


def add_providers(
    draft: Draft, settings: Settings, environ: Mapping[str, str], is_installed: IsInstalled, *, is_closed: bool
) -> None:
    """Completes the providers of ``draft``; where the bundle ``is_closed`` none is added, only configured."""
    own = draft.sections["providers"]
    chosen = listed_providers(settings) if own else choose_providers(settings, environ, is_installed)
    known = {entry_key(entry) for entry in own}
    for choice in chosen:
        if not is_closed or entry_key(choice.entry) in known:
            draft.add("providers", choice.entry, choice.origin)
    for name, config in settings.section("providers").items():
        _configure(draft, name, config, settings.origin(join_key(("providers", name))))
    _apply_model(draft, settings, is_installed, is_closed=is_closed)


def _configure(draft: Draft, name: str, config: Any, origin: Origin) -> None:
    entries = [entry for entry in draft.sections["providers"] if name in (mounted_name(entry), entry["module"])]
    for entry in entries if isinstance(config, dict) else ():
        draft.merge_at(("providers", entry_key(entry)), {"config": config}, origin)


def _apply_model(draft: Draft, settings: Settings, is_installed: IsInstalled, *, is_closed: bool) -> None:
    """Puts the provider and the model that were asked for in front of all others."""
    provider, model = _asked(draft, settings, is_installed)
    if provider is None and model is None:
        return
    origin = settings.origin("model" if model else "provider")
    if is_closed and origin.scope != "flags":
        draft.warnings.append(f"{origin.place}: the choice of a model does not count: the bundle has its own provider")
        return
    _promote(draft, _wanted_entry(draft, provider, is_installed, origin, is_closed=is_closed), model, origin)


def _asked(draft: Draft, settings: Settings, is_installed: IsInstalled) -> tuple[str | None, str | None]:
    """The provider and the model that settings ask for; where they disagree the stronger scope counts."""
    provider, model = settings.get("provider"), settings.get("model")
    if model is None:
        return provider, None
    head, _, tail = model.partition("/")
    # The ids of some models have a slash themselves.
    names_provider = bool(tail) and (_finds(draft, head) is not None or is_installed(f"provider-{head}"))
    if provider is None:
        return (head, tail) if names_provider else (None, model)
    if names_provider and short_name(provider) == short_name(head):
        return provider, tail
    strength = _strength(settings, "model") - _strength(settings, "provider")
    if strength < 0:
        return provider, None  # the model was chosen for another provider
    return (head, tail) if names_provider and strength > 0 else (provider, model)


def _strength(settings: Settings, key: str) -> int:
    return SCOPES.index(settings.origin(key).scope)


def _finds(draft: Draft, name: str) -> Entry | None:
    called = [entry for entry in draft.sections["providers"] if is_named(entry, name)]
    return next((entry for entry in called if mounted_name(entry) == name), called[0] if called else None)


def _wanted_entry(
    draft: Draft, wanted: str | None, is_installed: IsInstalled, origin: Origin, *, is_closed: bool
) -> Entry:
    entries = draft.sections["providers"]
    if wanted is None:
        return min(entries, key=_priority)
    found = _finds(draft, wanted)
    if found is not None:
        return found
    module = wanted if wanted.startswith("provider-") else f"provider-{wanted}"
    if is_closed or not is_installed(module):
        names = ", ".join(map(mounted_name, entries))
        reason = "the bundle allows only its own providers" if is_closed else f"{module} is not installed"
        raise ProviderProblem(
            f"{origin.place or origin.scope}: there is no provider '{wanted}': {reason}.", f"There is: {names}."
        )
    draft.add("providers", {"module": module}, origin)
    return draft.sections["providers"][-1]


def _promote(draft: Draft, entry: Entry, model: str | None, origin: Origin) -> None:
    others = [each for each in draft.sections["providers"] if each is not entry]
    config: dict[str, Any] = {"priority": min([0, *(_priority(each) - 1 for each in others if _priority(each) <= 0)])}
    if model:
        config["model" if "model" in config_of(entry) else "default_model"] = model
    draft.merge_at(("providers", entry_key(entry)), {"config": config}, origin)
    if draft.origins.get(("providers", LOCAL), origin).scope == "default" and entry["module"] != LOCAL:
        # It was only there because nobody had asked for another one.
        draft.sections["providers"] = [each for each in draft.sections["providers"] if each["module"] != LOCAL]
    loop = config_of(draft.session.get("orchestrator", {}))
    stated = {"default_provider": mounted_name(entry), "model": model}
    change = {key: value for key, value in stated.items() if loop.get(key) and value}
    if change:
        draft.merge_at(("session", "orchestrator"), {"config": change}, origin)


def _priority(entry: Entry) -> int:
    priority = config_of(entry).get("priority")
    return priority if isinstance(priority, int) else 100
