"""The guard in a session: whom it asks, what it makes of their answers, and what it tells and writes down."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.modkit.spawning_world import LoopClock

import amplifier_module_hooks_approval
from amplifier_core.approval import ApprovalTimeoutError
from amplifier_core.events import APPROVAL_DENIED, APPROVAL_GRANTED, APPROVAL_REQUIRED, TOOL_PRE
from amplifier_core.interfaces import ApprovalRequest, ApprovalResponse
from amplifier_core.models import HookResult
from amplifier_core.testing import FakeClock, MockCoordinator, MockTool
from amplifier_module_hooks_approval import mount
from amplifier_module_hooks_approval.calls import Call
from amplifier_module_hooks_approval.desk import ApprovalDesk
from amplifier_module_hooks_approval.modes import APPROVAL_MODE_CHANGED

GO_ON = HookResult().action
NOT_APPROVED = "not approved; do not try it again, ask what to do instead"
SILENT: dict[str, Any] = {"audit": {"enabled": False}}


class World:
    """A coordinator with a guard, and a way to call tools past it."""

    def __init__(self, folder: Path, answer: str = "Deny") -> None:
        self.coordinator = MockCoordinator()
        self.coordinator.register_capability("session.working_dir", str(folder))
        self.people = self.coordinator.approval_system
        self.people.answer = answer
        self.told: list[tuple[str, dict[str, Any]]] = []
        self._calls = 0
        for event in (APPROVAL_REQUIRED, APPROVAL_GRANTED, APPROVAL_DENIED, APPROVAL_MODE_CHANGED):
            self.coordinator.hooks.register(event, self._note)

    async def mounted(self, **config: Any) -> World:
        """The world with a guard of this config."""
        await mount(self.coordinator, {**SILENT, **config})
        return self

    async def _note(self, event: str, data: dict[str, Any]) -> None:
        kept = {key: value for key, value in data.items() if key not in ("timestamp", "session_id", "parent_id")}
        self.told.append((event, kept))

    async def call(self, tool: Any, tool_input: Any = None, **more: Any) -> str:
        """``continue``, or the reason of a refusal."""
        self._calls += 1
        data = {"tool_name": tool, "tool_call_id": f"c{self._calls}", "tool_input": tool_input or {}, **more}
        result = await self.coordinator.hooks.emit(TOOL_PRE, data)
        return (result.reason or "") if result.action == "deny" else result.action

    async def bash(self, command: str) -> str:
        """The same for a command."""
        return await self.call("bash", {"command": command})

    @property
    def questions(self) -> list[tuple[Any, ...]]:
        """What people were asked."""
        return [each.args for each in self.people.request_approval.call_args_list]

    def granted(self, command: str) -> bool:
        """What a tool is told that asks."""
        return self.coordinator.get_capability("approval.granted")("bash", {"command": command})


async def test_a_call_is_asked_about_and_runs_if_allowed(tmp_path: Path) -> None:
    """The question shows the whole command and the rule that may be saved; events tell what was decided."""
    world = await World(tmp_path, "Allow once").mounted()
    assert await world.bash("make\nall") == GO_ON
    prompt = (
        "Allow 'bash'?\n\n  make\n  all\n\nAsked because 'bash' may change something.\n"
        "'Allow this session' and 'Allow always' save this rule:\n  bash(=make\n  all)\n"
        "'Allow always' holds for this session only: nobody here keeps rules for longer."
    )
    options = ["Allow once", "Allow this session", "Allow always", "Deny"]
    assert world.questions == [(prompt, options, 300.0, "deny")]
    call = {"tool_name": "bash", "tool_call_id": "c1"}
    assert world.told == [
        (APPROVAL_REQUIRED, {**call, "action": "make all", "risk_level": "high"}),
        (APPROVAL_GRANTED, {**call, "reason": "approved (once)"}),
    ]


async def test_once_is_once(tmp_path: Path) -> None:
    """The next call is asked about again, also one with the same id."""
    world = await World(tmp_path, "Allow once").mounted()
    assert [await world.bash("make"), await world.call("bash", {"command": "make"}, tool_call_id="c1")] == [GO_ON] * 2
    assert len(world.questions) == 2


async def test_what_is_harmless_goes_on_without_a_word(tmp_path: Path) -> None:
    """Nobody is asked, and no event is told."""
    world = await World(tmp_path).mounted()
    world.coordinator.mount("tools", MockTool("look"), "look")
    world.coordinator.get("tools")["look"].read_only = True
    assert [await world.call("read_file", {"file_path": "a"}), await world.call("look")] == [GO_ON, GO_ON]
    assert (world.questions, world.told) == ([], [])


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("Deny", NOT_APPROVED),
        ("no", NOT_APPROVED),
        ("", NOT_APPROVED),
        ("Deny: use npm", "not approved: use npm"),
        ("No - not now", "not approved: not now"),
        ("Not like that", "not approved: Not like that"),
        ("Allowed?", "not approved: Allowed?"),
        ("yes", "not approved: yes"),
    ],
)
async def test_a_refusal_reaches_the_model_with_its_reason(tmp_path: Path, answer: str, reason: str) -> None:
    """Whatever is not one of the offered allowances is a refusal."""
    world = await World(tmp_path, answer).mounted()
    assert await world.bash("make") == f"'bash': {reason}"
    assert world.told[-1] == (APPROVAL_DENIED, {"tool_name": "bash", "tool_call_id": "c1", "reason": reason})


@pytest.mark.parametrize("answer", ["Allow this session", "allow always "])
async def test_an_answer_for_longer_is_remembered(tmp_path: Path, answer: str) -> None:
    """The same command is not asked about again, another one is."""
    world = await World(tmp_path, answer).mounted()
    assert await world.bash("rm *") == GO_ON
    world.people.answer = "Deny"
    assert [await world.bash("rm *"), await world.bash("rm x")] == [GO_ON, f"'bash': {NOT_APPROVED}"]


async def test_always_is_saved_by_the_application(tmp_path: Path) -> None:
    """It gets the rule as text, by a function that may be async; the question does not say otherwise."""
    saved: list[str] = []

    async def save_later(rule: str) -> None:
        saved.append(f"{rule} later")

    world = await World(tmp_path, "Allow always").mounted()
    for save, command in ((saved.append, "a"), (save_later, "b")):
        world.coordinator.register_capability("approval.save_rule", save)
        assert await world.bash(command) == GO_ON
    assert saved == ["bash(=a)", "bash(=b) later"]
    assert "nobody here keeps rules" not in world.questions[0][0]


async def test_a_rule_that_cannot_be_saved_holds_for_the_session(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It is said in the log."""

    def fail(rule: str) -> None:
        raise OSError("disk full")

    world = await World(tmp_path, "Allow always").mounted()
    world.coordinator.register_capability("approval.save_rule", fail)
    assert [await world.bash("a"), await world.bash("a")] == [GO_ON, GO_ON]
    assert len(world.questions) == 1
    told = "The rule 'bash(=a)' holds for this session only, it could not be saved: OSError('disk full')"
    assert caplog.messages == [told]


async def test_a_rule_that_asks_asks_each_time(tmp_path: Path) -> None:
    """No longer answer is offered, and one that comes nevertheless counts once."""
    world = await World(tmp_path, "Allow always").mounted(ask=["Bash(git push:*)"])
    assert [await world.bash("git push"), await world.bash("git push")] == [GO_ON, GO_ON]
    assert [question[1] for question in world.questions] == [["Allow once", "Deny"]] * 2


async def test_without_anybody_to_ask_nothing_is_allowed(tmp_path: Path) -> None:
    """A session without an approval system and without a provider refuses."""
    world = await World(tmp_path).mounted()
    world.coordinator.approval_system = None
    assert await world.bash("make") == "'bash': not approved: there is nobody to ask for approval"


@pytest.mark.parametrize(
    ("default", "deny", "expected"),
    [
        ("deny", [], "'bash': not approved: nobody answered in time"),
        ("allow", [], GO_ON),
        ("continue", [], GO_ON),
        ("allow", ["Bash(rm:*)"], "'bash': not approved: nobody answered in time"),
    ],
)
async def test_nobody_answers_in_time(tmp_path: Path, default: str, deny: list[str], expected: str) -> None:
    """The config says what that means, but for what may be denied."""

    class Slow:
        def request_approval(self, *asked: Any) -> Any:
            raise ApprovalTimeoutError

    world = await World(tmp_path).mounted(default_action=default, deny=deny)
    world.coordinator.approval_system = Slow()
    assert await world.bash('"$x"') == expected


@pytest.mark.parametrize("is_provider", [True, False])
async def test_whoever_does_not_keep_the_limit_is_left(tmp_path: Path, is_provider: bool) -> None:
    """A question that is never answered does not hold up the session for ever."""
    asked = asyncio.Event()

    class Asleep:
        async def request_approval(self, *asked_for: Any) -> Any:
            asked.set()
            await asyncio.Event().wait()

    world = await World(tmp_path).mounted(default_timeout=2)
    world.coordinator.approval_system = Asleep()
    if is_provider:
        world.coordinator.get_capability("approval.register_provider")(Asleep())
    clock = LoopClock()
    call = asyncio.create_task(world.bash("make"))
    await asked.wait()
    clock.advance(7.1)
    assert await call == "'bash': not approved: nobody answered in time"


@pytest.mark.parametrize("answer", [True, None, TimeoutError("network"), RuntimeError("broken")])
async def test_an_approval_system_that_fails_allows_nothing(tmp_path: Path, answer: Any) -> None:
    """Nor does a time-out of something else count as a time-out of people."""

    class Broken:
        async def request_approval(self, *asked: Any) -> Any:
            if isinstance(answer, Exception):
                raise answer
            return answer

    world = await World(tmp_path).mounted(default_action="allow")
    world.coordinator.approval_system = Broken()
    assert "Guard 'hooks-approval' failed on 'tool:pre'" in await world.bash("make")
    assert not world.granted("make")


class Provider:
    """A provider that answers with what it is given."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.requests: list[ApprovalRequest] = []

    async def request_approval(self, request: ApprovalRequest) -> Any:
        self.requests.append(request)
        return self.answer


async def test_a_registered_provider_is_asked_instead(tmp_path: Path) -> None:
    """It gets the call with everything that the question says, and may remember."""
    world = await World(tmp_path).mounted(default_timeout=9.0)
    provider = Provider(ApprovalResponse(approved=True, reason="fine", remember=True))
    register = world.coordinator.get_capability("approval.register_provider")
    register(provider)
    write = {"file_path": "a", "content": "x"}
    assert [await world.call("write_file", write), await world.call("write_file", write)] == [GO_ON, GO_ON]
    assert (world.questions, len(provider.requests)) == ([], 1)
    request = provider.requests[0]
    assert (request.tool_name, request.risk_level, request.timeout) == ("write_file", "medium", 9.0)
    assert request.details.pop("prompt").startswith("Allow 'write_file'?")
    rule = f"write_file(={tmp_path}/a)"
    assert request.details == {"tool_input": write, "rule": rule, "session_id": "test-session", "tool_call_id": "c1"}
    assert world.told[1][1]["reason"] == "approved (always): fine"
    register(None)
    assert await world.bash("make") == f"'bash': {NOT_APPROVED}"


async def test_a_provider_may_refuse_with_a_reason(tmp_path: Path) -> None:
    """What it remembers of a refusal is nothing; of what has no rule, nothing either."""
    world = await World(tmp_path).mounted(ask=["task"])
    register = world.coordinator.get_capability("approval.register_provider")
    register(Provider(ApprovalResponse(approved=False, reason="not today", remember=True)))
    assert await world.bash("make") == "'bash': not approved: not today"
    register(Provider(ApprovalResponse(approved=True, remember=True)))
    assert await world.call("task") == GO_ON
    assert world.told[-1][1]["reason"] == "approved (once)"
    register(Provider("yes"))
    assert "must answer with an ApprovalResponse, got str" in await world.call("task")


async def test_what_is_no_provider_is_not_registered(tmp_path: Path) -> None:
    """The message names what is missing."""
    world = await World(tmp_path).mounted()
    with pytest.raises(TypeError, match="An approval provider needs 'request_approval', which int has not"):
        world.coordinator.get_capability("approval.register_provider")(3)


async def test_calls_side_by_side_are_asked_about_one_after_another(tmp_path: Path) -> None:
    """Never two questions at once; what the first answer settles is not asked again."""
    open_questions, most = 0, 0

    class Counting:
        async def request_approval(self, *asked: Any) -> str:
            nonlocal open_questions, most
            open_questions += 1
            most = max(most, open_questions)
            await asyncio.sleep(0)
            open_questions -= 1
            asked_for.append(asked[0].split("\n")[2])
            return "Allow this session"

    asked_for: list[str] = []
    world = await World(tmp_path).mounted()
    world.coordinator.approval_system = Counting()
    assert await asyncio.gather(*map(world.bash, ("a", "b", "a", "a"))) == [GO_ON] * 4
    assert (most, sorted(asked_for)) == (1, ["  a", "  b"])


async def test_what_a_later_hook_changes_is_judged_again(tmp_path: Path) -> None:
    """Only the final input counts, and one that stays as it is is not asked about twice."""

    async def change(event: str, data: dict[str, Any]) -> HookResult:
        return HookResult(action="modify", data={**data, "tool_input": {"command": changed}})

    world = await World(tmp_path, "Allow once").mounted(deny=["Bash(rm:*)"])
    world.coordinator.hooks.register(TOOL_PRE, change, priority=50)
    changed = "rm -rf /"
    assert await world.bash("ls") == "'bash': the rule 'Bash(rm:*)' denies it"
    changed = "make"
    assert await world.bash("make") == "modify"
    assert len(world.questions) == 1


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ({"tool_name": None}, "the event names no tool"),
        ({"tool_name": ""}, "the event names no tool"),
        ({"tool_input": "ls"}, "the input of 'bash' is no object"),
        ({"tool_input": {("a",): 1}}, "failed on 'tool:pre'"),
    ],
)
async def test_a_call_that_cannot_be_judged_is_refused(tmp_path: Path, data: dict[str, Any], reason: str) -> None:
    """Also in the mode that allows everything."""
    world = await World(tmp_path).mounted(mode="bypass")
    result = await world.coordinator.hooks.emit(TOOL_PRE, {"tool_name": "bash", "tool_input": {}, **data})
    assert result.action == "deny"
    assert reason in (result.reason or "")


@pytest.mark.parametrize(
    "config",
    [{"mode": "yolo"}, {"deny": ["Bash("]}, {"audit": {"path": "{session_id}/x", "files": 1}}, {"deny": "Bash"}],
)
async def test_a_config_that_cannot_be_read_allows_nothing(
    tmp_path: Path, config: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    """The session would go on without a module that does not mount, so the module mounts and refuses all calls."""
    coordinator = MockCoordinator()
    finish = await mount(coordinator, config)
    result = await coordinator.hooks.emit(TOOL_PRE, {"tool_name": "read_file", "tool_input": {}})
    assert result.action == "deny"
    assert (result.reason or "").startswith("hooks-approval cannot read its config, so nothing is allowed until")
    assert len(caplog.messages) == 1
    assert await finish() is None


async def test_unknown_keys_are_left_to_the_kernel(tmp_path: Path) -> None:
    """They do not keep the guard from its work."""
    world = await World(tmp_path, "Allow").mounted(unheard_of=1)
    assert await world.bash("make") == GO_ON


async def test_the_mode_can_be_changed_at_any_time(tmp_path: Path) -> None:
    """By the capability or in the session's state; either way it is told."""
    world = await World(tmp_path).mounted(mode="bypass")
    mode = world.coordinator.get_capability("approval.mode")
    assert (mode.get(), await world.bash("a")) == ("bypass", GO_ON)
    await mode.set("plan")
    assert "plan mode only reads" in await world.bash("a")
    world.coordinator.session_state["approval_mode"] = "dont-ask"
    assert "the mode 'dont-ask' asks nobody" in await world.bash("a")
    changes = [(data["former_mode"], data["mode"]) for event, data in world.told if event == APPROVAL_MODE_CHANGED]
    assert (changes, world.questions) == ([("bypass", "plan"), ("plan", "dont-ask")], [])
    assert await world.coordinator.collect_contributions("observability.events") == [[APPROVAL_MODE_CHANGED]]


async def test_a_mode_that_does_not_exist_opens_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It cannot be set, and in the session's state it counts as ``dont-ask``."""
    world = await World(tmp_path).mounted()
    with pytest.raises(ValueError, match="There is no approval mode 'yolo'; expected one of default, plan"):
        await world.coordinator.get_capability("approval.mode").set("yolo")
    world.coordinator.session_state["approval_mode"] = ["bypass"]
    assert "asks nobody" in await world.bash("make")
    assert "There is no approval mode ['bypass'], 'dont-ask' is used" in caplog.messages[0]


@pytest.mark.parametrize("required", [["read_file"], {"read_file"}, "read_file"])
async def test_the_state_of_a_session_names_tools_that_need_approval(tmp_path: Path, required: Any) -> None:
    """How other modules demand it; what is no list of names demands nothing."""
    world = await World(tmp_path).mounted(policy_driven_only=True)
    world.coordinator.session_state["require_approval_tools"] = required
    assert [await world.call("read_file"), await world.bash("make")] == [f"'read_file': {NOT_APPROVED}", GO_ON]
    world.coordinator.session_state["require_approval_tools"] = 3
    assert await world.call("read_file") == GO_ON
    assert not world.granted("make")


async def test_a_tool_learns_that_its_call_was_allowed_once(tmp_path: Path) -> None:
    """By name and input; neither a refusal nor another guard's denial leaves an allowance behind."""
    world = await World(tmp_path, "Allow once").mounted(deny=["Bash(rm:*)"])
    assert [await world.bash("make"), await world.bash("rm x")] == [GO_ON, "'bash': the rule 'Bash(rm:*)' denies it"]
    asked = ["other", "rm x", "make", "make"]
    assert [world.granted(command) for command in asked] == [False, False, True, False]


def test_of_allowances_the_latest_are_kept() -> None:
    """What no tool asks for does not pile up."""
    desk = ApprovalDesk()
    for number in range(1_001):
        desk.note_grant(Call("bash", {"command": str(number)}, "s", "c", "now", Path("/")))
    assert [desk.granted("bash", {"command": number}) for number in ("0", "1", "1000")] == [False, True, True]


async def test_a_tool_may_have_a_working_directory_of_its_own(tmp_path: Path) -> None:
    """Its relative paths are resolved there."""

    class Writing(MockTool):
        working_dir = str(tmp_path / "other")

    world = await World(tmp_path).mounted(deny=[f"write_file({tmp_path}/other/a)"])
    world.coordinator.mount("tools", Writing("write_file"), "write_file")
    assert "denies it" in await world.call("write_file", {"file_path": "a"})


async def test_decisions_are_written_down_without_secrets(tmp_path: Path) -> None:
    """Every decision is one line; what is long is cut, after secrets were taken out."""
    key = "sk-ant-api03-" + "A1b2C3d4" * 12
    coordinator = MockCoordinator(clock=FakeClock())
    coordinator.register_capability("session.working_dir", str(tmp_path))
    config = {"mode": "dont-ask", "audit": {"path": "audit/{session_id}.jsonl"}}
    flush = await mount(coordinator, config)
    inputs = [("read_file", {"file_path": "a"}), ("bash", {"command": f"curl -H 'x-api-key: {key}'"})]
    for tool, tool_input in [*inputs, ("bash", {"command": "x" * 5_000})]:
        await coordinator.hooks.emit(TOOL_PRE, {"tool_name": tool, "tool_call_id": "c", "tool_input": tool_input})
    await flush()
    text = (tmp_path / "audit" / "test-session.jsonl").read_text()
    records = [json.loads(line) for line in text.splitlines()]
    assert key not in text
    assert records[0] == {
        "ts": coordinator.timestamp(),
        "session_id": "test-session",
        "guard_session_id": "test-session",
        "tool_call_id": "c",
        "tool_name": "read_file",
        "decision": "allow",
        "reason": "it needs no approval",
        "mode": "dont-ask",
        "input": {"file_path": "a"},
    }
    assert [record["decision"] for record in records] == ["allow", "deny", "deny"]
    assert len(records[2]["input"]) == 4_000


async def test_the_audit_trail_has_a_usual_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Below the user's own folder."""
    monkeypatch.setenv("AMPLIFIER_HOME", str(tmp_path))
    world = World(tmp_path)
    flush = await mount(world.coordinator)
    await world.call("todo")
    await flush()
    assert (tmp_path / "audit" / "approvals.jsonl").read_text().count("\n") == 1


async def test_an_audit_trail_that_cannot_be_written_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Calls are judged as ever."""
    (tmp_path / "file").write_text("")
    world = World(tmp_path)
    flush = await mount(world.coordinator, {"audit": {"path": "file/x.jsonl"}})
    assert await world.call("todo") == GO_ON
    await flush()
    assert f"The audit trail {tmp_path}/file/x.jsonl is not written to the end" in caplog.messages


async def test_a_long_input_is_shown_with_a_note(tmp_path: Path) -> None:
    """A command is shown whole; of any other input head and tail, and nothing in it moves the cursor."""
    world = await World(tmp_path).mounted()
    await world.bash("a" * 9_000 + "\x1b[2J rm")
    await world.call("mcp_x", {"text": "b" * 20_000, "z": "\x07"})
    first, second = (question[0] for question in world.questions)
    assert "a" * 9_000 in first
    assert "\x1b" not in first
    assert "characters left out" in second
    assert len(second) < 9_000


async def test_the_guard_leaves_with_its_session(tmp_path: Path) -> None:
    """Nothing of the session stays at the desk."""
    world = await World(tmp_path).mounted()
    desk = world.coordinator.get_capability("approval.desk")
    assert isinstance(desk, ApprovalDesk)
    assert list(desk.homes) == list(desk.modes) == ["test-session"]
    await world.coordinator.cleanup()
    assert (desk.homes, desk.modes) == ({}, {})


def test_the_declared_keys_are_those_of_the_config() -> None:
    """Unknown keys can be told."""
    assert "deny" in amplifier_module_hooks_approval.__amplifier_config__
