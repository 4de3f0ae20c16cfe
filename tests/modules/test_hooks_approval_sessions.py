"""The guard in whole sessions and their children, among hooks that misbehave: nothing runs that was not allowed."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.modkit.spawning_world import Modules, call, model, plan, shelf

import amplifier_module_hooks_approval
from amplifier_core import AmplifierSession
from amplifier_core.events import APPROVAL_GRANTED, TOOL_PRE
from amplifier_core.models import HookResult
from amplifier_core.testing import RecordingApproval
from amplifier_core.validation import HookValidator
from amplifier_core.validation.behavioral import HookBehaviorTests
from amplifier_core.validation.structural import HookStructuralTests
from amplifier_kit.chaos.suites import HookChaosTests
from amplifier_modkit.spawning.children import offer_children
from amplifier_module_hooks_approval import mount
from amplifier_module_hooks_approval.modes import MODES

AUDIT_OFF = {"audit": {"enabled": False}}


class Running:
    """A tool that notes the commands it would run."""

    name = "bash"
    description = "Runs."
    input_schema: dict[str, Any] = {"type": "object", "properties": {"command": {"type": "string"}}}

    def __init__(self, ran: list[str]) -> None:
        self.ran = ran

    async def execute(self, input: dict[str, Any]) -> str:
        self.ran.append(input["command"])
        return "done"


def modules_of(ran: list[str], **more: Any) -> Modules:
    """The guard, and a tool that notes what runs."""
    return {"hooks-approval": mount, "tool-run": lambda coordinator, config: Running(ran), **more}


def guarded(*script: Any, agents: Any = None, **config: Any) -> dict[str, Any]:
    """A plan with the guard and the tool."""
    hooks = [{"module": "hooks-approval", "config": {**AUDIT_OFF, **config}}]
    return plan(*script, agents=agents or {}, hooks=hooks, tools=["tool-run"])


async def spawn(parent: AmplifierSession, name: str = "a", **wishes: Any) -> dict[str, Any]:
    """What a child session answers."""
    children = offer_children(parent.coordinator)
    return await children.spawn(name, "go", parent, parent.config["agents"], **wishes)


def prompts(people: RecordingApproval) -> list[str]:
    """What people were asked."""
    return [each.args[0] for each in people.request_approval.call_args_list]


async def test_one_call_of_a_child_is_asked_about_once() -> None:
    """The parent's guard and the child's own share an answer, and the question says which session asks."""
    ran: list[str] = []
    people = RecordingApproval("Allow once")
    agents = {"a": {"providers": model(call("bash", command="x"), call("bash", command="x"), "done")}}
    async with AmplifierSession(
        guarded(agents=agents), loader=shelf(modules_of(ran)), session_id="root", approval_system=people
    ) as parent:
        await spawn(parent, sub_session_id="root-child")
    assert ran == ["x", "x"]
    assert len(prompts(people)) == 2
    assert all("by the child session root-child." in prompt for prompt in prompts(people))


async def test_an_answer_for_the_session_holds_in_the_whole_tree() -> None:
    """And what an application saves rules with is there in children, too."""
    ran, saved = [], []
    people = RecordingApproval("Allow always")
    agents = {"a": {"providers": model(call("bash", command="x"), "done")}}
    async with AmplifierSession(
        guarded(call("bash", command="x"), "done", agents=agents),
        loader=shelf(modules_of(ran)),
        approval_system=people,
    ) as parent:
        parent.coordinator.register_capability("approval.save_rule", saved.append)
        await spawn(parent)
        await parent.execute("go")
    assert (ran, saved, len(prompts(people))) == (["x", "x"], ["bash(=x)"], 1)


@pytest.mark.parametrize(
    ("parents", "childs", "at_run_time", "expected"),
    [
        ("bypass", "bypass", None, ["x"]),
        ("bypass", "plan", None, []),
        ("plan", "bypass", None, []),
        ("plan", "plan", "bypass", ["x"]),
        ("bypass", "bypass", "plan", []),
        ("default", "dont-ask", "bypass", []),
    ],
)
async def test_a_child_is_never_freer_than_its_parent(
    parents: str, childs: str, at_run_time: str | None, expected: list[str]
) -> None:
    """It follows the parent's mode unless its plan says another; the parent's guard is there in any case."""
    ran: list[str] = []
    own = [{"module": "hooks-approval", "config": {**AUDIT_OFF, "mode": childs}}]
    agents = {"a": {"providers": model(call("bash", command="x"), "done"), "hooks": own}}
    async with AmplifierSession(guarded(agents=agents, mode=parents), loader=shelf(modules_of(ran))) as parent:
        if at_run_time is not None:
            await parent.coordinator.get_capability("approval.mode").set(at_run_time)
        await spawn(parent)
    assert ran == expected


async def test_a_child_without_the_module_is_guarded_nevertheless() -> None:
    """What it leaves out of its plan it inherits."""
    ran: list[str] = []
    agents = {"a": {"providers": model(call("bash", command="x"), "done")}}
    async with AmplifierSession(guarded(agents=agents), loader=shelf(modules_of(ran))) as parent:
        told = await spawn(parent, hook_inheritance={"exclude_hooks": ["*"]})
        assert parent.coordinator.get_capability("approval.granted")("bash", {"command": "x"}) is False
    assert (ran, told["output"]) == ([], "done")


async def test_a_grant_of_a_childs_call_is_known_in_the_child() -> None:
    """Also where only the parent has the module."""
    known: list[bool] = []

    class Asking(Running):
        coordinator: Any

        async def execute(self, input: dict[str, Any]) -> str:
            known.append(self.coordinator.get_capability("approval.granted")("bash", input))
            return "done"

    def asking(coordinator: Any, config: Any) -> Any:
        tool = Asking([])
        tool.coordinator = coordinator
        return tool

    agents = {"a": {"providers": model(call("bash", command="x"), "done")}}
    modules = modules_of([], **{"tool-run": asking})
    async with AmplifierSession(guarded(agents=agents, mode="bypass"), loader=shelf(modules)) as parent:
        for exclude in ([], ["*"]):
            await spawn(parent, hook_inheritance={"exclude_hooks": exclude})
    assert known == [True, True]


COMMANDS = ["ls", "make", "rm -rf x", "echo a; rm x", '"$c" x', "git push", "env rm x", "ls $(rm x)"]
RULES = ["Bash", "Bash(rm:*)", "Bash(make)", "Bash(git:*)", "Bash(ls:*)", "ba*", "bash(=make)", "*", "write_file"]
ANSWERS = ["Allow once", "Allow this session", "Allow always", "Deny", "raise", "hang", 7]
FAULTS = ["raise", "hang", "cancel", "change", "deny", "nothing"]
rule_lists = st.lists(st.sampled_from(RULES), max_size=2)
configs = st.fixed_dictionaries(
    {
        "deny": rule_lists,
        "ask": rule_lists,
        "allow": rule_lists,
        "mode": st.sampled_from(MODES),
        "default_action": st.sampled_from(["deny", "allow"]),
        "policy_driven_only": st.booleans(),
    }
)


class People:
    """An approval system with moods."""

    def __init__(self, answers: list[Any]) -> None:
        self.answers = answers

    async def request_approval(self, *asked: Any) -> Any:
        answer = self.answers.pop(0) if self.answers else "Deny"
        if answer == "raise":
            raise RuntimeError("broken")
        if answer == "hang":
            await asyncio.Event().wait()
        return answer


def misbehave(coordinator: Any, fault: str, priority: int, changed: str) -> None:
    """Registers a hook with a fault."""

    async def hook(event: str, data: dict[str, Any]) -> HookResult:
        match fault:
            case "raise":
                raise RuntimeError("broken hook")
            case "hang":
                await asyncio.Event().wait()
            case "cancel":
                raise asyncio.CancelledError
            case "change":
                return HookResult(action="modify", data={**data, "tool_input": {"command": changed}})
            case "deny":
                return HookResult(action="deny", reason="no")
            case _:
                pass
        return HookResult()

    coordinator.hooks.register(TOOL_PRE, hook, priority=priority, timeout=0.01)


@pytest.mark.slow
@settings(max_examples=120, deadline=None)
@given(
    configs=st.tuples(configs, configs),
    answers=st.lists(st.sampled_from(ANSWERS), max_size=4),
    faults=st.lists(
        st.tuples(st.sampled_from(FAULTS), st.sampled_from([-50, 0, 50]), st.sampled_from(COMMANDS)), max_size=3
    ),
    commands=st.lists(st.sampled_from(COMMANDS), min_size=1, max_size=3),
    breaks_guard=st.sampled_from(["", "Policy.decide", "AuditTrail.note", "question_about"]),
    in_child=st.booleans(),
)
async def test_nothing_runs_without_a_recorded_allowance(
    configs: tuple[dict[str, Any], dict[str, Any]],
    answers: list[Any],
    faults: list[tuple[str, int, str]],
    commands: list[str],
    breaks_guard: str,
    in_child: bool,
) -> None:
    """Whatever rules, modes, people, other hooks and faults of the guard itself: each run has an allowance before it.

    And what a rule surely denies does not run at all.
    """
    ran: list[str] = []
    script = [call("bash", command=command) for command in commands]

    def disturb(coordinator: Any, config: Any) -> None:
        for fault in faults:
            misbehave(coordinator, *fault)

    own = {"module": "hooks-approval", "config": {**configs[1], **AUDIT_OFF, "default_timeout": 0.01}}
    config = {**configs[0], "default_timeout": 0.01}
    agents = {"a": {"providers": model(*script, "done"), "hooks": [own, "hooks-faulty"]}}
    top = guarded(*script, "done", agents=agents, **config)
    top["hooks"].append("hooks-faulty")
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        audit = Path(folder) / "audit.jsonl"
        top["hooks"][0]["config"]["audit"] = own["config"]["audit"] = {"path": str(audit)}
        patch.setattr("amplifier_module_hooks_approval.guard._GRACE_S", 0.01)
        if breaks_guard:
            patch.setattr(f"amplifier_module_hooks_approval.guard.{breaks_guard}", _fail)
        loader = shelf(modules_of(ran, **{"hooks-faulty": disturb}))
        async with AmplifierSession(top, loader=loader, approval_system=People(answers)) as parent:
            await (spawn(parent) if in_child else parent.execute("go"))
        allowed = _allowances(audit)
    guards = configs if in_child else configs[:1]
    assert all(allowed[command] >= count * len(guards) for command, count in Counter(ran).items())
    assert breaks_guard not in ("Policy.decide", "AuditTrail.note") or ran == []
    if any(rule in ("Bash", "ba*", "*") for each in guards for rule in each["deny"]):
        assert ran == []
    if any("Bash(rm:*)" in each["deny"] for each in guards):
        assert not {"rm -rf x", "echo a; rm x", "env rm x", "ls $(rm x)"} & set(ran)
    if any(each["mode"] == "plan" for each in guards):
        assert ran == []


def _fail(*given: Any, **more: Any) -> Any:
    raise RuntimeError("the guard is broken")


def _allowances(audit: Path) -> Counter[str]:
    lines = audit.read_text().splitlines() if audit.exists() else []
    records = [json.loads(line) for line in lines]
    return Counter(record["input"]["command"] for record in records if record["decision"] == "allow")


async def test_a_grant_is_told_in_the_session_of_the_call() -> None:
    """Observers of the child hear of it there."""
    heard: list[str] = []

    def listening(coordinator: Any, config: Any) -> None:
        async def hear(event: str, data: dict[str, Any]) -> None:
            heard.append(data["session_id"])

        coordinator.hooks.register(APPROVAL_GRANTED, hear)

    modules = modules_of([], **{"hooks-listening": listening})
    agents = {"a": {"providers": model(call("bash", command="x"), "done")}}
    top = guarded(agents=agents, mode="bypass")
    top["hooks"].append("hooks-listening")
    async with AmplifierSession(top, loader=shelf(modules), session_id="root") as parent:
        await spawn(parent, sub_session_id="root-child")
    assert set(heard) == {"root-child"}


class Guard:
    """Tests of the module as a plan without config mounts it."""

    @pytest.fixture(autouse=True)
    def home(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("AMPLIFIER_HOME", str(tmp_path))

    @pytest.fixture
    def module_path(self) -> Path:
        return _package()


class TestContract(Guard, HookBehaviorTests, HookStructuralTests):
    """What every module of its kind promises."""


@pytest.mark.slow
class TestUnderChaos(Guard, HookChaosTests):
    """The same under every fault."""


def _package() -> Path:
    return Path(str(amplifier_module_hooks_approval.__file__)).parent


async def test_the_validator_finds_nothing() -> None:
    """Package, declarations and mount are in order, without a warning."""
    result = await HookValidator().validate(_package())
    assert [check.message for check in result.checks if not check.passed] == []
