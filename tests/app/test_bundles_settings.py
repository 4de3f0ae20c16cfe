"""What settings change in a plan: providers and models, permissions, folders, limits, and config by module."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.app.bundle_corpus import places_in, write

from amplifier.bundles.load import load_bundle
from amplifier.bundles.plan import MountPlan, make_plan
from amplifier.bundles.providers import choose_providers
from amplifier.problems import ProviderProblem
from amplifier.settings import Settings

SESSION = "session: {orchestrator: loop-basic, context: context-simple}\n"
ALL = {"provider-anthropic", "provider-openai", "provider-local", "provider-mock", "provider-gemini"}


def planned(
    tmp_path: Path,
    bundle: str,
    settings: str = "",
    *,
    flags: dict[str, Any] | None = None,
    environ: dict[str, str] | None = None,
    has: set[str] | None = None,
) -> MountPlan:
    """The plan of a bundle with ``settings`` of the user; providers of ``has`` and all other modules are installed."""
    places = places_in(tmp_path)
    write(places.working_dir, {"b.yaml": bundle if "session:" in bundle else SESSION + bundle})
    write(places.home, {"settings.yaml": settings})
    available = ALL if has is None else has
    return make_plan(
        load_bundle("./b.yaml", places),
        Settings.load(places, flags, {}),
        places,
        environ=environ or {},
        has_module=lambda module: module in available or not module.startswith("provider-"),
    )


def providers(*arguments: Any, **options: Any) -> list[Any]:
    """The providers of a plan."""
    return planned(*arguments, **options).plan["providers"]


def test_without_any_provider_the_local_model_answers(tmp_path: Path) -> None:
    """No setting and no key: the local model, and the plan says why."""
    made = planned(tmp_path, "")
    assert made.plan["providers"] == [{"module": "provider-local"}]
    assert str(made.origins["providers.provider-local"]) == "default (no provider is configured and no key is set)"


def test_keys_bring_their_providers_in_a_fixed_order(tmp_path: Path) -> None:
    """A key makes its provider usable if that is installed; variables that are empty do not count."""
    environ = {"OPENAI_API_KEY": "x", "ANTHROPIC_API_KEY": "y", "GOOGLE_API_KEY": "", "OLLAMA_HOST": "h"}
    made = planned(tmp_path, "", environ=environ)
    assert made.plan["providers"] == [
        {"module": "provider-anthropic", "config": {"priority": 1}},
        {"module": "provider-openai", "config": {"priority": 2}},
    ]
    assert str(made.origins["providers.provider-openai"]) == "environment (OPENAI_API_KEY)"


def test_settings_go_before_keys_and_merge_with_the_bundle(tmp_path: Path) -> None:
    """Listed providers count; one that the bundle has as well has the config of both."""
    settings = """
config:
  providers:
    - {module: provider-openai, id: openai, config: {priority: 1}}
    - {module: provider-openai, id: second, config: {priority: 2}}
    - {id: without-module}
modules:
  providers: [{module: provider-mock}]
providers:
  openai: {base_url: http://x}
  second: 7
  nobody: {x: 1}
"""
    expected = [
        {"module": "provider-openai", "config": {"priority": 1, "base_url": "http://x"}},
        {"module": "provider-openai", "instance_id": "second", "config": {"priority": 2}},
        {"module": "provider-mock"},
    ]
    assert providers(tmp_path, "", settings, environ={"ANTHROPIC_API_KEY": "x"}) == expected
    own = "providers: [{module: provider-openai, config: {default_model: m}}]"
    assert providers(tmp_path, own, settings)[0]["config"] == {
        "default_model": "m",
        "priority": 1,
        "base_url": "http://x",
    }


def test_a_closed_bundle_has_its_own_providers_alone(tmp_path: Path) -> None:
    """Others are not added, its own are configured; a model counts only if the command asks for it."""
    bundle = "bundle: {only_own_providers: true}\nproviders: [provider-local]\n" + SESSION
    settings = (
        "model: openai/gpt\nconfig: {providers: [{module: provider-openai}, {module: provider-local, config: {x: 1}}]}"
    )
    made = planned(tmp_path, bundle, settings)
    assert made.plan["providers"] == [{"module": "provider-local", "config": {"x": 1}}]
    assert made.warnings == [
        f"{tmp_path}/home/settings.yaml:1: the choice of a model does not count: the bundle has its own provider"
    ]
    assert providers(tmp_path, bundle, flags={"model": "small"}) == [
        {"module": "provider-local", "config": {"priority": 0, "default_model": "small"}}
    ]
    with pytest.raises(ProviderProblem) as caught:
        planned(tmp_path, bundle, flags={"provider": "openai"})
    assert caught.value.message.endswith("there is no provider 'openai': the bundle allows only its own providers.")
    assert caught.value.hint == "There is: local."


OPENAI = {"module": "provider-openai", "config": {"priority": 0, "default_model": "gpt-5"}}


@pytest.mark.parametrize(
    ("settings", "flags", "chosen"),
    [
        ("", {"model": "openai/gpt-5"}, OPENAI),
        ("", {"provider": "openai", "model": "gpt-5"}, OPENAI),
        ("", {"provider": "provider-openai", "model": "openai/gpt-5"}, OPENAI),
        ("provider: anthropic", {"model": "openai/gpt-5"}, OPENAI),
        ("model: anthropic/claude", {"provider": "openai"}, {**OPENAI, "config": {"priority": 0}}),
        (
            "",
            {"provider": "openai", "model": "anthropic/x"},
            {**OPENAI, "config": {"priority": 0, "default_model": "anthropic/x"}},
        ),
        ("", {"provider": "mock"}, {"module": "provider-mock", "config": {"priority": 0}}),
        (
            "",
            {"model": "org/open"},
            {"module": "provider-anthropic", "config": {"priority": 0, "default_model": "org/open"}},
        ),
    ],
    ids=[
        "both in one",
        "both",
        "both twice",
        "command first",
        "other model",
        "slash in the id",
        "not listed",
        "model alone",
    ],
)
def test_the_model_that_is_asked_for_goes_in_front(
    tmp_path: Path, settings: str, flags: dict[str, Any], chosen: dict[str, Any]
) -> None:
    """The provider is found by its short name or id; where settings disagree the stronger scope counts."""
    environ = {"OPENAI_API_KEY": "x", "ANTHROPIC_API_KEY": "y"}
    found = providers(tmp_path, "", settings, flags=flags, environ=environ)
    assert [entry for entry in found if entry["config"]["priority"] == 0] == [chosen]


def test_a_provider_that_is_asked_for_replaces_the_local_one(tmp_path: Path) -> None:
    """The local model is only there because nobody has asked for another."""
    assert providers(tmp_path, "", flags={"model": "mock/m"}) == [
        {"module": "provider-mock", "config": {"priority": 0, "default_model": "m"}}
    ]
    assert providers(tmp_path, "", flags={"model": "local/m"})[0]["module"] == "provider-local"


def test_a_provider_in_front_is_before_all_others_and_known_to_the_loop(tmp_path: Path) -> None:
    """Priorities below zero are undercut; a loop that names a provider and a model names these."""
    bundle = """
session:
  orchestrator: {module: loop-basic, config: {default_provider: openai, model: old}}
  context: context-simple
providers:
  - {module: provider-openai, config: {priority: -3}}
  - {module: provider-mock, id: m2, config: {model: old}}
"""
    made = planned(tmp_path, bundle, flags={"provider": "m2", "model": "fresh"})
    assert made.plan["providers"][1] == {
        "module": "provider-mock",
        "instance_id": "m2",
        "config": {"model": "fresh", "priority": -4},
    }
    assert made.plan["session"]["orchestrator"]["config"] == {"default_provider": "m2", "model": "fresh"}


def test_a_provider_that_is_not_there_is_told(tmp_path: Path) -> None:
    """The message says what is missing and which providers there are."""
    with pytest.raises(ProviderProblem) as caught:
        planned(tmp_path, "providers: [provider-mock]", flags={"provider": "nobody"})
    assert (caught.value.message, caught.value.hint, caught.value.exit_code) == (
        "-c provider: there is no provider 'nobody': provider-nobody is not installed.",
        "There is: mock.",
        69,
    )


def test_providers_can_be_chosen_without_a_bundle(tmp_path: Path) -> None:
    """The same choice is open to whoever wants to show it."""
    settings = Settings.load(places_in(tmp_path), None, {})
    chosen = choose_providers(settings, {"GEMINI_API_KEY": "x"}, lambda _: True)
    assert [(choice.entry["module"], choice.origin.name) for choice in chosen] == [
        ("provider-gemini", "GEMINI_API_KEY")
    ]


def config_of(made: MountPlan, section: str, module: str) -> Any:
    """The config of a module in a plan; ``None`` if it is not there."""
    return next((entry.get("config", {}) for entry in made.plan[section] if entry["module"] == module), None)


def test_permissions_go_to_the_approval_hook(tmp_path: Path) -> None:
    """Rules join those of the bundle, the mode replaces its; nothing set changes nothing."""
    bundle = "tools: [tool-a]\nhooks: [{module: hooks-approval, config: {mode: plan, allow: [A]}}, hooks-x]"
    settings = "permissions: {mode: accept-edits, allow: [A, B], deny: [C]}"
    assert config_of(planned(tmp_path, bundle, settings), "hooks", "hooks-approval") == {
        "mode": "accept-edits",
        "allow": ["A", "B"],
        "deny": ["C"],
    }
    assert config_of(planned(tmp_path, bundle), "hooks", "hooks-approval") == {"mode": "plan", "allow": ["A"]}


def test_rules_are_kept_by_somebody(tmp_path: Path) -> None:
    """A bundle with tools and without the hook gets it as soon as there are rules; one without tools needs none."""
    settings = "permissions: {deny: [Bash]}"
    made = planned(tmp_path, "tools: [tool-a]", settings)
    assert config_of(made, "hooks", "hooks-approval") == {"deny": ["Bash"]}
    assert str(made.origins["hooks.hooks-approval"]).startswith("user (")
    assert planned(tmp_path, "", settings).plan["hooks"] == []


def test_more_folders_may_be_written_and_read(tmp_path: Path) -> None:
    """They join what a module may write and, where that is limited, read; other modules are left alone."""
    bundle = """
tools:
  - tool-filesystem
  - {module: tool-search, config: {allowed_paths: [src]}}
  - {module: tool-bash, config: {allowed_write_paths: [out], allowed_read_paths: [src]}}
  - tool-web
"""
    made = planned(tmp_path, bundle, "permissions: {additional_directories: [../more, /data]}")
    more = [f"{tmp_path}/project/../more", "/data"]
    assert made.plan["tools"] == [
        {"module": "tool-filesystem", "config": {"allowed_write_paths": [".", *more]}},
        {"module": "tool-search", "config": {"allowed_paths": ["src", *more]}},
        {
            "module": "tool-bash",
            "config": {"allowed_write_paths": ["out", *more], "allowed_read_paths": ["src", *more]},
        },
        {"module": "tool-web"},
    ]


def test_limits_go_to_the_loop_and_the_cost_hook(tmp_path: Path) -> None:
    """Turns limit the loop; a budget brings the hook that keeps it."""
    made = planned(tmp_path, "hooks: [hooks-x]", "limits: {max_turns: 5, max_budget_usd: 1.5}")
    assert made.plan["session"]["orchestrator"] == {"module": "loop-basic", "config": {"max_iterations": 5}}
    assert made.plan["hooks"] == [{"module": "hooks-x"}, {"module": "hooks-cost", "config": {"max_cost_usd": 1.5}}]


def test_a_limit_alone_makes_no_session(tmp_path: Path) -> None:
    """A bundle without a loop is a problem with and without limits."""
    with pytest.raises(Exception, match="names no session.orchestrator"):
        planned(tmp_path, "session: {context: context-simple}", "limits: {max_turns: 5}")


@pytest.mark.parametrize(
    ("settings", "section", "module", "config"),
    [
        ("sandbox: {mode: required, network: true}", "tools", "tool-bash", {"sandbox": "required", "network": True}),
        ("sandbox: {enabled: false}", "tools", "tool-bash", {"sandbox": "off"}),
        ("sandbox: {enabled: true, network: true}", "tools", "tool-bash", {"network": True}),
        ("env: {A: 1, B: x}", "tools", "tool-bash", {"env": {"A": "1", "B": "x"}}),
        ("mcp: {servers: {s: {command: c}}}", "tools", "tool-mcp", {"servers": {"s": {"command": "c"}}}),
        ("overrides: {tool-bash: {config: {env: {X: y}}}}", "tools", "tool-bash", {"env": {"X": "y"}}),
    ],
)
def test_a_section_becomes_the_config_of_its_module(
    tmp_path: Path, settings: str, section: str, module: str, config: dict[str, Any]
) -> None:
    """Each setting has a module that keeps it; without that module it is told that it does not count."""
    made = planned(tmp_path, "tools: [tool-bash, tool-mcp]", settings)
    assert (config_of(made, section, module), made.warnings) == (config, [])
    without = planned(tmp_path, "", settings)
    assert [warning.split(" does not count: ")[1] for warning in without.warnings] == [
        f"{module} is not part of the bundle"
    ]


@pytest.mark.parametrize("bundle", ["", "hooks: [hooks-shell]"])
def test_commands_of_the_user_bring_the_hook_that_runs_them(tmp_path: Path, bundle: str) -> None:
    """They may be there to refuse something, so they count with every bundle."""
    made = planned(tmp_path, bundle, "hooks: {Stop: []}")
    assert made.plan["hooks"] == [{"module": "hooks-shell", "config": {"hooks": {"Stop": []}}}]
    assert made.warnings == []


def test_modules_sources_and_overrides_change_single_modules(tmp_path: Path) -> None:
    """Modules are added, sources set, and config is replaced, lists included: the way to take something out."""
    bundle = "tools: [{module: tool-a, config: {list: [1, 2], x: 1}}, {module: tool-b, id: second}]"
    settings = """
modules: {tools: [{module: tool-c}, {id: none}], hooks: [{module: hooks-h}]}
sources: {tool-c: git+https://e.org/c, tool-gone: x, tool-a: 7}
overrides:
  tool-a: {config: {list: [3]}, source: ../a}
  second: {config: {y: 2}}
  loop-basic: {config: {z: 3}}
  tool-gone: {config: {x: 1}}
  tool-c: {}
"""
    made = planned(tmp_path, bundle, settings)
    assert made.plan["tools"] == [
        {"module": "tool-a", "config": {"list": [3], "x": 1}, "source": "../a"},
        {"module": "tool-b", "id": "second", "config": {"y": 2}},
        {"module": "tool-c", "source": "git+https://e.org/c"},
    ]
    assert made.plan["hooks"] == [{"module": "hooks-h"}]
    assert made.plan["session"]["orchestrator"] == {"module": "loop-basic", "config": {"z": 3}}
    assert [warning.split(": ", 1)[1] for warning in made.warnings] == [
        "overrides.tool-gone does not count: tool-gone is not part of the bundle",
        "overrides.tool-c says nothing: expected 'config' or 'source'",
    ]


def test_raw_events_can_be_asked_for(tmp_path: Path) -> None:
    """``session.raw`` goes into the plan."""
    assert planned(tmp_path, "", "session: {raw: true}").plan["session"]["raw"] is True
