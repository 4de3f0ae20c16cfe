"""What orchestrators can be asked to do: to run a turn, among tools that fail, guards that refuse, and after a cut."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from amplifier_core.events import TOOL_PRE
from amplifier_core.message_models import ChatResponse
from amplifier_kit.chaos._calls import Call, cancel_at
from amplifier_kit.chaos._collaborators import calls_response, text_response
from amplifier_kit.chaos._conversation import parted_calls
from amplifier_kit.chaos._exercises import Exercise, expects, raise_if, shown
from amplifier_kit.chaos._stage import Stage, Subject

_is_text = expects(str, "a text")


def ordinary(stage: Stage) -> list[Exercise]:
    """One turn."""
    return [_turn(stage, f"Hello from session {stage.session.session_id}")]


def malformed(stage: Stage) -> Iterator[Exercise]:
    """Prompts that say nothing, and models that say nonsense."""
    for prompt in ("", " \n", "\x00\ud800"):
        yield _turn(stage, prompt)
    for told, reply in _strange_replies().items():
        stage.around.provider.replies = [reply]
        yield _turn(stage, "Hello", f" when the model gives {told}")


def huge(stage: Stage) -> Iterator[Exercise]:
    """A prompt and a tool result of a megabyte, and very many tool calls."""
    text = "chaos " * 200_000
    yield _turn(stage, text)
    stage.around.tool.output = text
    yield _turn(stage, "Hello", " with a tool result of a megabyte")
    stage.around.tool.output = "done"
    stage.around.provider.replies = [calls_response(*(f"chaos-many-{number}" for number in range(200)))]
    yield _turn(stage, "Hello", " with 200 tool calls at once")


async def leak(one: Stage, other: Stage) -> str | None:
    """Whether a conversation holds what is said in another session at the same time."""
    for turn in [Call(turn.call) for stage in (one, other) for turn in ordinary(stage)]:
        await one.run(turn)
    for stage, stranger in ((one, other), (other, one)):
        if any(stranger.session.session_id in str(message) for message in stage.around.context.messages):
            return "the conversation of one session holds the prompt of the other"
    return None


async def failing_tool(subject: Subject) -> None:
    """A tool raises; the model must be told, and the turn must go on."""
    async with subject.stage(tool="failing") as stage:
        (turn,) = ordinary(stage)
        outcome = await stage.run(Call(turn.call))
        raise_if(turn.judge(outcome))
        requests = len(stage.around.provider.requests)
        if stage.around.tool.executions and not (turn.worked(outcome) and requests > 1):
            raise_if(f"a tool raised, and {turn.told} {outcome} after asking the model {requests} time(s)")


async def denied_tool(subject: Subject) -> None:
    """A guard refuses every tool call by failing; no tool may run."""
    async with subject.stage() as stage:
        stage.coordinator.hooks.register(TOOL_PRE, _refuse, name="chaos-guard", on_error="deny")
        (turn,) = ordinary(stage)
        raise_if(turn.judge(await stage.run(Call(turn.call))), "a guard denied a tool call, and ")
        executions = stage.around.tool.executions
        raise_if(f"a guard denied {TOOL_PRE}, and the tool was executed {executions} time(s)" if executions else None)


async def torn_turn(subject: Subject) -> None:
    """Cuts a turn at each of its waits, takes the next one, and looks at what the model gets to see."""
    await subject.sweep(partial(_cut_once, subject))


async def _cut_once(subject: Subject, cut: int) -> bool:
    """Cuts one turn at one wait; says whether it came that far."""
    async with subject.stage("waiting") as stage:
        (turn,) = ordinary(stage)
        call = Call(turn.call, cancel_at(cut))
        await stage.run(call)
        if call.suspensions < cut:
            return False
        requests = stage.around.provider.requests
        requests.clear()
        await stage.run(Call(_turn(stage, "Go on").call))
        parted = [told for request in requests for told in parted_calls(request.messages)]
        told = (
            f"a turn was cancelled at its wait {cut}; the next one sends the model: {'; '.join(dict.fromkeys(parted))}"
        )
        raise_if(told if parted else None)
    return True


async def _refuse(event: str, data: dict[str, Any]) -> None:
    raise PermissionError("this guard refuses everything")


def _turn(stage: Stage, prompt: str, circumstance: str = "") -> Exercise:
    return Exercise(f"execute({shown(prompt)}){circumstance}", lambda: stage.session.execute(prompt), _is_text)


def _strange_replies() -> dict[str, ChatResponse]:
    return {
        "no content at all": ChatResponse(content=[]),
        "an empty text": text_response(""),
        "a call of a tool that does not exist": calls_response("chaos-gone", tool="chaos_gone"),
        "two calls of one id": calls_response("chaos-twin", "chaos-twin"),
        "a call without a name": calls_response("chaos-nameless", tool=""),
    }
