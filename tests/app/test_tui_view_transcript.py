"""From events to changes: who tells of a block, whose output it is, who speaks, and what is worth a note."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from amplifier.tui.view.changes import Begun, Call, Change, Code, Note, Prose, Speaker, Thought
from amplifier.tui.view.transcript import Transcript

ROOT = {"session_id": "root", "parent_id": None}


class World:
    """A transcript whose clock stands where it is put."""

    def __init__(self) -> None:
        self.now = 0.0
        self.transcript = Transcript(lambda: self.now)

    def tell(self, event: str, **data: Any) -> list[Change]:
        return self.transcript.apply(event, {**ROOT, **data})


@pytest.fixture
def world() -> World:
    return World()


def block(kind: str, text: str) -> dict[str, Any]:
    return {"block_type": kind, "block": {"type": kind, "thinking" if kind == "thinking" else "text": text}}


def test_a_block_that_was_not_streamed_is_taken_whole(world: World) -> None:
    """From a dict or an object, of whichever kind; and once, however many events tell of it."""
    assert world.tell("content_block:end", **block("thinking", "Hm.")) == [Thought("Hm.")]
    assert world.tell("thinking:final", text="Hm.") == []
    spoken = SimpleNamespace(type="text", text="One.\n\n```\ntwo\n```")
    assert world.tell("content_block:end", block=spoken) == [Prose("One."), Code(("two",))]
    assert world.tell("content_block:end", **block("text", "  ")) == []
    assert world.tell("content_block:end", **block("tool_call", "x")) == []
    world.tell("provider:request")
    assert world.tell("content_block:end", **block("thinking", "Hm.")) == [Thought("Hm.")]


def test_the_first_who_tells_of_a_stream_is_listened_to(world: World) -> None:
    """Providers and loops tell of the same pieces; the answer after may have another teller."""
    assert world.tell("content_block:delta", text="a\n\nb", block_type="text") == [Prose("a")]
    assert world.tell("llm:stream_block_start", block_type="text") == []
    assert world.tell("llm:stream_block_delta", text="a\n\nb", block_type="text") == []
    assert world.tell("llm:stream_block_end") == []
    assert world.tell("content_block:end", **block("text", "a\n\nb")) == [Prose("b")]
    world.tell("llm:request")
    assert world.tell("llm:stream_block_delta", text="c\n\nd") == [Prose("c")]
    assert world.tell("content_block:delta", text="c\n\nd") == []
    assert world.tell("content_block:end", **block("text", "c\n\nd")) == []
    assert world.tell("llm:stream_block_end") == [Prose("d")]


def test_a_block_ends_where_another_begins(world: World) -> None:
    """Also where nobody says so; thinking is timed, and a thought of nothing is none."""
    world.tell("llm:stream_block_delta", block_type="thinking", text="Hm")
    world.now = 2.0
    assert world.tell("llm:stream_block_delta", block_type="text", text="So.") == [Thought("Hm", 2.0)]
    assert world.tell("llm:stream_block_start", block_type="thinking") == [Prose("So.")]
    assert world.tell("llm:stream_block_start", block_type="tool_use", name="bash") == []
    world.tell("llm:stream_block_delta", block_type="tool_use", text="{}")
    assert world.tell("llm:stream_block_end") == []
    assert world.tell("unknown:event") == []


def test_a_call_ends_what_is_being_said(world: World) -> None:
    """Its beginning is told for those who have no live lines."""
    world.tell("llm:stream_block_delta", text="Look.")
    changes = world.tell("tool:pre", tool_name="bash", tool_call_id="1", tool_input={"command": "ls"})
    assert changes == [Prose("Look."), Begun("bash", {"command": "ls"})]


def test_a_call_is_timed_by_whoever_ran_it(world: World) -> None:
    """Else by our clock; a call that nobody saw begin is told as well."""
    world.tell("tool:pre", tool_name="a", tool_call_id="1", tool_input={})
    world.tell("tool:pre", tool_name="b", tool_call_id="2", tool_input={})
    world.now = 3.0
    good = {"result": {"success": True, "output": "x"}}
    assert world.tell("tool:post", tool_call_id="1", duration_ms=500, **good) == [Call("a", {}, "good", "x", "", 0.5)]
    assert world.tell("tool:error", tool_call_id="2", error={"msg": "no"}) == [Call("b", {}, "bad", "", "no", 3.0)]
    endless = world.tell("tool:post", tool_name="c", duration_ms=float("inf"), **good)
    assert endless == [Call("c", None, "good", "x", "", 0.0)]
    assert world.tell("tool:post", tool_name="c", tool_input=None, **good) == [Call("c", None, "good", "x", "", 0.0)]
    assert len(world.transcript.calls) == 0


def test_a_call_that_is_denied_is_told_at_its_place(world: World) -> None:
    """With the reason; it never runs, and took no time. Others of the same id in other sessions do run."""
    kid = {"session_id": "kid", "parent_id": "root"}
    denial = {"tool_name": "bash", "tool_call_id": "1", "reason": "not approved: no"}
    told = Call("bash", {"command": "rm"}, "bad", error="not approved: no")
    pre = {"tool_name": "bash", "tool_call_id": "1", "tool_input": {"command": "rm"}}
    world.tell("llm:stream_block_delta", text="Let me.")
    # What is meant for the model alone is not shown.
    addressed = {**denial, "reason": "not approved; do not try it again, ask what to do instead"}
    world.tell("approval:denied", **{**addressed, "tool_call_id": "2"})
    assert world.tell("tool:pre", **{**pre, "tool_call_id": "2"})[-1] == replace(told, error="not approved")
    world.tell("llm:stream_block_delta", text="Let me.")
    assert world.tell("approval:denied", **denial) == []
    assert world.tell("tool:pre", **pre) == [Prose("Let me."), told]
    assert len(world.transcript.calls) == 0
    # The guard of a parent tells of its agents' calls as well.
    world.tell("approval:denied", **denial)
    assert world.tell("tool:pre", **pre, **kid) == [replace(told, speaker=Speaker("agent", 1))]
    world.tell("approval:denied", **denial)
    world.tell("execution:end")
    assert world.tell("tool:pre", **pre) == [Begun("bash", {"command": "rm"})]


def test_a_call_that_was_not_run_is_over_when_the_model_is_asked_again(world: World) -> None:
    """A hook may refuse a call without a word; the model of an agent has nothing to do with it."""
    world.tell("tool:pre", tool_name="bash", tool_call_id="1", tool_input={})
    world.tell("provider:request", session_id="kid", parent_id="root")
    world.tell("llm:request")
    assert len(world.transcript.calls) == 1
    assert world.tell("provider:request") == [Call("bash", {}, "stopped", seconds=0.0)]


def test_output_goes_to_the_call_that_wrote_it(world: World) -> None:
    """By the call's id where it is told, else a run belongs to the first call of that tool that has none."""
    for number in ("1", "2", "3"):
        world.tell("tool:pre", tool_name="bash", tool_call_id=number, tool_input={})
    world.tell("tool:output", tool_name="bash", run_id="r1", text="one\nmo")
    world.tell("tool:output", tool_name="bash", run_id="r2", text="two\n")
    world.tell("tool:output", tool_name="bash", run_id="r1", text="re\n\nlast\n")
    world.tell("tool:output", tool_name="bash", tool_call_id="3", text="three")
    world.tell("tool:output", tool_name="bash", tool_call_id="9", text="nobody's")
    world.tell("tool:output", tool_name="other", run_id="r1", text="nobody's")
    told = [call.last_lines() for call in world.transcript.calls]
    assert told == [["more", "last"], ["two"], ["three"]]


def test_the_end_of_a_turn_ends_everything_of_its_session(world: World) -> None:
    """What was being said is printed, calls that never end are stopped; the end of all ends its agents as well."""
    kids = [{"session_id": kid, "parent_id": "root"} for kid in ("k1", "k2")]
    for about in ({}, *kids):
        world.tell("tool:pre", tool_name="bash", tool_call_id="1", tool_input={}, **about)
    world.tell("llm:stream_block_delta", text="And")
    assert [speech.speaker.label for speech in world.transcript.speeches] == [""]
    world.now = 1.0
    stopped = Call("bash", {}, "stopped", seconds=1.0)
    first, second = Speaker("agent", 1), Speaker("agent 2", 1)
    assert world.tell("execution:end", **kids[0]) == [replace(stopped, speaker=first)]
    assert [call.speaker.label for call in world.transcript.calls] == ["", "agent 2"]
    assert world.tell("execution:end") == [replace(stopped, speaker=second), Prose("And"), stopped]
    assert world.tell("execution:end") == []


def test_agents_have_names_of_their_own(world: World) -> None:
    """Two of one kind are numbered; an agent that ends gives its name back, and what it said is printed whole."""
    for kid in ("k1", "k2"):
        world.tell("task:agent_spawned", agent="painter", sub_session_id=kid)
    first, second = Speaker("painter", 1), Speaker("painter 2", 1)
    kid = {"session_id": "k2", "parent_id": "root"}
    assert world.tell("llm:stream_block_delta", text="a\n\nb", **kid) == []
    grandchild = {"session_id": "g", "parent_id": "k2"}
    assert world.tell("user:notification", message="hi", **grandchild) == [Note("hi", "info", Speaker("agent", 2))]
    ended = world.tell("task:agent_completed", sub_session_id="k2")
    assert ended == [Prose("a", speaker=second), Prose("b", speaker=second)]
    assert world.tell("session:end", session_id="k1", parent_id="root") == []
    world.tell("delegate:agent_resumed", agent="painter", sub_session_id="k1")
    begun = world.tell("tool:pre", tool_name="x", tool_call_id="1", session_id="k1", parent_id="root")
    assert begun == [Begun("x", None, first)]


@pytest.mark.parametrize(
    ("event", "data", "note"),
    [
        ("user:notification", {"message": "m", "level": "error"}, Note("m", "error")),
        ("provider:retry", {"delay": 2, "error_message": "a"}, Note("The model is asked again in 2.0 s: a", "warning")),
        ("provider:retry", {"error": {"type": "Busy"}}, Note("The model is asked again: Busy", "warning")),
        ("provider:throttle", {"delay": 3}, Note("Waiting 3 s so as not to run into a rate limit")),
        ("llm:stream_aborted", {"error": {"msg": "gone"}}, Note("The answer broke off: gone", "warning")),
        (
            "context:compaction",
            {"before_tokens": 120_000, "after_tokens": 900},
            Note("The conversation was compacted from 120.0k to 900 tokens"),
        ),
        ("context:compaction", {}, Note("The conversation was compacted")),
        ("policy:violation", {}, Note("A rule was broken", "warning")),
    ],
)  # fmt: skip
def test_some_events_are_worth_a_note(world: World, event: str, data: dict[str, Any], note: Note) -> None:
    """A short line, with the reason where there is one."""
    assert world.tell(event, **data) == [note]
