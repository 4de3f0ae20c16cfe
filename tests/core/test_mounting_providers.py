"""Mounting providers: instances of one module, rollback of a failure, the two capabilities, missing keys."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from amplifier_core.module_sources import ModuleLoadError
from amplifier_core.report import ModuleProblem

NOTHING = "Provider mount did not install a new provider instance; is a key or a setting missing?"


def failures(seen: list[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
    """The payloads of ``module:load_failed``, without what every event carries."""
    always = ("session_id", "parent_id", "timestamp")
    return [
        {key: value for key, value in data.items() if key not in always}
        for event, data in seen
        if event == "module:load_failed"
    ]


def instances(session: Any) -> dict[str, Any]:
    """The config of each mounted provider by name, in order."""
    return {name: provider.config for name, provider in session.coordinator.get("providers").items()}


def configured(stage: Any, name: str) -> Any:
    """The mount function of a provider that remembers its config and mounts under ``name``."""

    def mount(coordinator: Any, config: Any) -> None:
        provider = stage.Model(name)
        provider.config = config
        coordinator.mount("providers", provider, name=name)

    return mount


async def test_instances_of_one_module_have_names_of_their_own(stage: Any) -> None:
    """Each instance mounts under the module's name and is then moved to its own; the nameless one keeps the name."""
    stage.module("provider-x", configured(stage, "x"))
    entries = [
        {"module": "provider-x", "instance_id": "fast", "config": {"model": "small"}},
        {"module": "provider-x", "config": {"model": "plain"}},
        {"module": "provider-x", "instance_id": "clever", "config": {"model": "big"}},
    ]
    session = stage.session(stage.plan(providers=entries))
    await session.initialize()
    assert instances(session) == {
        "fast": {"model": "small"},
        "x": {"model": "plain"},
        "clever": {"model": "big"},
    }
    assert list(instances(session)) == ["fast", "x", "clever"]
    assert [str(mounted) for mounted in session.report.mounted[2:]] == [
        "provider provider-x as fast",
        "provider provider-x as x",
        "provider provider-x as clever",
    ]


async def test_an_instance_named_like_its_module_stays_where_it_is(stage: Any) -> None:
    """There is nothing to move."""
    stage.module("provider-x", configured(stage, "x"))
    session = stage.session(stage.plan(providers=[{"module": "provider-x", "instance_id": "x", "config": {"a": 1}}]))
    await session.initialize()
    assert instances(session) == {"x": {"a": 1}}


async def test_a_returned_provider_can_be_an_instance(stage: Any) -> None:
    """What ``mount()`` returns is registered under its name first, then moved."""
    stage.module("provider-a", lambda coordinator, config: stage.Model("a"))
    session = stage.session(stage.plan(providers=[{"module": "provider-a", "instance_id": "mine"}]))
    await session.initialize()
    assert list(session.coordinator.get("providers")) == ["mine"]


async def test_moving_an_instance_gives_the_name_back_to_whom_it_belongs(stage: Any) -> None:
    """A provider that the application mounted under the module's name stays there."""
    stage.module("provider-x", configured(stage, "x"))
    session = stage.session(stage.plan(providers=[{"module": "provider-x", "instance_id": "mine"}]))
    of_app = stage.Model("x")
    session.coordinator.mount("providers", of_app)
    await session.initialize()
    assert list(session.coordinator.get("providers")) == ["x", "mine"]
    assert session.coordinator.get("providers", "x") is of_app


async def test_an_instance_that_cannot_be_moved_has_failed(stage: Any) -> None:
    """A provider that mounts under another name than its module's cannot be told apart."""
    stage.module("provider-x", configured(stage, "other"))
    entry = {"module": "provider-x", "instance_id": "mine"}
    session = stage.session(stage.plan(providers=[entry]))
    seen = stage.watch(session)
    await session.initialize()
    told = (
        "Named provider mount did not install a new instance at its default mount name "
        "'x' to be renamed to 'mine'; it mounted ['other']"
    )
    assert session.coordinator.get("providers") == {}
    assert session.report.failed == [ModuleProblem("provider", "provider-x", told, "validation_failed")]
    assert failures(seen) == [
        {
            "module_type": "provider",
            "module_id": "provider-x",
            "error": told,
            "reason_code": "validation_failed",
            "instance_id": "mine",
        }
    ]


@pytest.mark.parametrize("how", ["nothing", "cleanup", "the old one", "a tool"])
async def test_a_provider_that_installs_nothing_new_is_skipped(
    stage: Any, caplog: pytest.LogCaptureFixture, how: str
) -> None:
    """A missing key is no failure: it is logged, told and reported, what it did is undone, and the session goes on."""
    cleaned: list[str] = []

    def mount(coordinator: Any, config: Any) -> Any:
        if how == "cleanup":
            return lambda: cleaned.append("cleaned")
        if how == "the old one":
            coordinator.mount("providers", coordinator.get("providers", "a"))
        if how == "a tool":
            coordinator.mount("tools", stage.Hammer())
        return None

    stage.module("provider-x", mount)
    session = stage.session(stage.plan(providers=["provider-a", "provider-x"]))
    seen = stage.watch(session)
    await session.initialize()
    assert session.report.skipped == [ModuleProblem("provider", "provider-x", NOTHING)]
    assert session.report.failed == []
    assert failures(seen) == [
        {"module_type": "provider", "module_id": "provider-x", "error": NOTHING, "reason_code": "unknown"}
    ]
    assert f"Failed to load provider 'provider-x': {NOTHING}" in caplog.messages
    assert list(session.coordinator.get("providers")) == ["a"]
    assert session.coordinator.get("tools") == {}
    assert cleaned == (["cleaned"] if how == "cleanup" else [])
    assert await session.execute("hi") == "answer to hi"


@pytest.mark.parametrize("damage", ["replaces one", "adds one", "removes one", "swaps one", "all of it"])
async def test_a_provider_that_fails_leaves_the_others_in_their_order(stage: Any, damage: str) -> None:
    """Names it added are gone, those it overwrote or removed are back, each in its old place."""

    def mount(coordinator: Any, config: Any) -> None:
        if damage in ("replaces one", "all of it"):
            coordinator.mount("providers", stage.Model(), name="one")
        if damage in ("adds one", "all of it"):
            coordinator.mount("providers", stage.Model(), name="four")
        if damage in ("removes one", "all of it"):
            coordinator.unmount("providers", "two")
        if damage in ("swaps one", "all of it"):
            coordinator.unmount("providers", "one")
            coordinator.mount("providers", stage.Model(), name="one")
        raise ValueError("bad key")

    stage.module("provider-x", mount)
    session = stage.session(stage.plan(providers=["provider-x"]))
    table = session.coordinator.get("providers")
    before = {name: stage.Model(name) for name in ("one", "two", "three")}
    table.update(before)
    await session.initialize()
    assert session.coordinator.get("providers") is table
    assert list(table.items()) == list(before.items())


async def test_a_wrong_provider_is_rolled_back(stage: Any, caplog: pytest.LogCaptureFixture) -> None:
    """The message names the module, the object, the place and what is missing."""

    class NoProvider:
        name = "x"

        def complete(self) -> None: ...

    stage.module("provider-x", lambda coordinator, config: coordinator.mount("providers", NoProvider()))
    session = stage.session(stage.plan(providers=["provider-a", "provider-x"]))
    seen = stage.watch(session)
    await session.initialize()
    told = (
        "Module 'provider-x' mounted NoProvider at 'providers' as 'x', which is no provider: "
        "it lacks get_info, list_models, parse_tool_calls. See the provider contract."
    )
    assert list(session.coordinator.get("providers")) == ["a"]
    assert session.report.failed == [ModuleProblem("provider", "provider-x", told, "validation_failed")]
    assert failures(seen) == [
        {"module_type": "provider", "module_id": "provider-x", "error": told, "reason_code": "validation_failed"}
    ]
    assert f"Failed to load provider 'provider-x': {told}" in caplog.messages


async def test_nothing_is_no_provider(stage: Any) -> None:
    """``None`` mounted under a name is a wrong object like any other."""
    stage.module("provider-x", lambda coordinator, config: coordinator.mount("providers", None, name="x"))
    session = stage.session(stage.plan(providers=["provider-a", "provider-x"]))
    await session.initialize()
    assert list(session.coordinator.get("providers")) == ["a"]
    assert "mounted NoneType at 'providers' as 'x', which is no provider" in str(session.report)


async def test_the_application_is_asked_before_and_told_after_a_load(stage: Any) -> None:
    """Both capabilities get the coordinator and a copy of the entry; the second one the error as well."""
    calls: list[Any] = []

    async def before_load(*arguments: Any) -> None:
        calls.append(("before", arguments))

    def load_failure(*arguments: Any) -> None:
        calls.append(("failure", arguments))

    problem = ValueError("bad key")

    def broken(coordinator: Any, config: Any) -> None:
        raise problem

    stage.module("provider-x", broken)
    entry = {"module": "provider-x", "config": {"nested": {"a": 1}}}
    session = stage.session(stage.plan(providers=["provider-a", entry]))
    coordinator = session.coordinator
    coordinator.register_capability("provider.before_load", before_load)
    coordinator.register_capability("provider.load_failure", load_failure)
    seen = stage.watch(session)
    await session.initialize()
    assert calls == [
        ("before", (coordinator, "provider-a")),
        ("before", (coordinator, entry)),
        ("failure", (coordinator, entry, problem)),
    ]
    for _, arguments in calls[1:]:
        assert arguments[1] is not entry
        assert arguments[1]["config"]["nested"] is not entry["config"]["nested"]
    assert len(failures(seen)) == 1


async def test_the_capabilities_are_for_providers_alone(stage: Any) -> None:
    """Tools and hooks are loaded without asking."""
    calls: list[Any] = []
    session = stage.session(stage.plan(providers=[], tools=["tool-none"], hooks=["hooks-none"]))
    for name in ("provider.before_load", "provider.load_failure"):
        session.coordinator.register_capability(name, lambda *arguments: calls.append(arguments))
    await session.initialize()
    assert calls == []


async def test_an_entry_is_copied_only_for_somebody(stage: Any) -> None:
    """A config that cannot be copied is no obstacle while nobody asks for the entry."""
    entries = [
        {"module": module_id, "config": {"lock": threading.Lock()}} for module_id in ("provider-a", "provider-x")
    ]
    session = stage.session(stage.plan(providers=entries))
    await session.initialize()
    assert list(session.coordinator.get("providers")) == ["a"]
    assert [problem.module_id for problem in session.report.failed] == ["provider-x"]


async def test_an_application_that_refuses_a_provider_makes_it_fail(stage: Any) -> None:
    """An error of ``provider.before_load`` counts as the provider's own; it is not even loaded."""

    async def before_load(coordinator: Any, entry: Any) -> None:
        raise PermissionError("not this one")

    session = stage.session()
    session.coordinator.register_capability("provider.before_load", before_load)
    await session.initialize()
    assert "provider-a" not in [module_id for module_id, _, _ in stage.loads]
    assert session.report.failed == [ModuleProblem("provider", "provider-a", "PermissionError: not this one")]


async def test_an_application_can_give_up_on_a_failed_provider(stage: Any) -> None:
    """An error of ``provider.load_failure`` ends the initialisation as it is, and everything is taken down."""
    problem = PermissionError("not without it")

    async def load_failure(coordinator: Any, entry: Any, error: Exception) -> None:
        raise problem

    session = stage.session(stage.plan(providers=["provider-none"]))
    session.coordinator.register_capability("provider.load_failure", load_failure)
    with pytest.raises(PermissionError) as caught:
        await session.initialize()
    assert caught.value is problem
    assert session.initialized is False
    assert session.coordinator.get("orchestrator") is None
    with pytest.raises(RuntimeError, match=r"^Session not initialized: not without it$"):
        await session.execute("hi")


async def test_a_ready_callback_of_a_failed_provider_is_not_called(stage: Any) -> None:
    """Only what mounted is called when the session is ready."""
    called: list[str] = []

    async def ready(coordinator: Any) -> None:
        called.append("ready")

    stage.module("provider-x", lambda coordinator, config: None, ready=ready)
    await stage.session(stage.plan(providers=["provider-x"])).initialize()
    assert called == []


async def test_a_loader_that_gives_no_function_is_an_error_of_the_module(stage: Any) -> None:
    """The message says what came and what was expected."""

    class Rubbish:
        async def load(self, module_id: str, *_: Any, **__: Any) -> Any:
            return {"no": "function"} if module_id == "provider-x" else await stage.load(module_id)

    session = stage.session(stage.plan(providers=["provider-x"]), loader=Rubbish())
    await session.initialize()
    [problem] = session.report.failed
    assert problem.reason == "The loader gave dict for module 'provider-x', expected an async mount function"
    assert problem.reason_code == ModuleLoadError("").reason_code
