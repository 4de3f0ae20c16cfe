"""Images from what the user says to what the model gets: in the chat, in ``amplifier run``, and over the wire."""

from __future__ import annotations

import asyncio
import io
import json
import sys
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from tests.app.command import Command, Result, environment
from tests.app.images_world import gif, png
from tests.app.run_world import write_bundle
from tests.app.store_world import StoreWorld
from tests.app.test_runtime import mount_plan
from tests.app.tui_world import ChatWorld
from tests.modules.llm_server import LlmServer, json_answer, serving
from tests.modules.provider_samples import KEY, SAMPLES, Sample

from amplifier.paths import Places
from amplifier.runtime.prompts import Prompt, prompt_of
from amplifier.runtime.runtime import Runtime, Setting
from amplifier.store import SessionStore, StoredSession
from amplifier_core import ChatRequest, ChatResponse, Degradation
from amplifier_module_provider_mock.provider import MockProvider

SENT = b64encode(png()).decode()


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    made = Command(tmp_path, monkeypatch, capsys)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    (made.work / "shot.png").write_bytes(png())
    return made


def sessions(command: Command) -> list[StoredSession]:
    """What is stored, the last used first."""
    return SessionStore(Places.find(command.variables, command.work)).list()


def shape(content: Any) -> list[str]:
    """The blocks of a content, an image as its bytes."""
    return [block["source"]["data"] if block["type"] == "image" else block["text"] for block in content]


# A session at work


class Watched:
    """A runtime of one session, and what it told."""

    def __init__(self, folder: Path, plan: Any) -> None:
        world = StoreWorld(folder)
        self.told: list[str] = []
        self.stored = world.store.create("root")
        self.runtime = Runtime(plan, Setting(folder, world.store, self.stored, tell=self.told.append))
        (folder / "shot.png").write_bytes(png())
        self.prompt = prompt_of("see @shot.png", folder)


async def test_the_turn_gets_the_images_of_a_prompt(tmp_path: Path) -> None:
    """In their place, and as part of the same message; a prompt without images is a text."""
    watched = Watched(tmp_path, mount_plan(["It is red.", "Yes."]))
    async with watched.runtime as runtime:
        assert (await runtime.run_turn(watched.prompt)).text == "It is red."
        assert (await runtime.run_turn(Prompt(("sure?",)))).text == "Yes."
    messages = watched.stored.messages()
    assert shape(messages[0]["content"]) == ['see @shot.png\n\n<image path="shot.png">', SENT, "</image>"]
    assert (messages[2]["content"], watched.told) == ("sure?", [])


async def test_a_loop_that_knows_no_images_gets_the_text_and_the_user_is_told(tmp_path: Path) -> None:
    """Also where it takes any option, since it would drop this one."""
    watched = Watched(tmp_path, mount_plan(["never"]))

    class Foreign:
        async def execute(self, prompt: str, context: Any, providers: Any, tools: Any, hooks: Any, **more: Any) -> str:
            assert "content" not in more
            return f"I read: {prompt}"

    async with watched.runtime as runtime:
        runtime.session.coordinator.mount_points["orchestrator"] = Foreign()
        outcome = await runtime.run_turn(watched.prompt)
    assert outcome.text == 'I read: see @shot.png\n\n<image path="shot.png"></image>'
    assert watched.told == ["warning: the loop of this session takes no images; the agent gets their paths"]


async def test_a_model_that_sees_no_images_is_told_of_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As far as its provider says so; what else it could not do is not told here."""
    complete: Any = MockProvider.complete
    blind = Degradation(requested="2 message(s); 1 image(s)", actual="cut; left out", reason="text only")

    async def answer(self: MockProvider, request: ChatRequest, **options: Any) -> ChatResponse:
        response: ChatResponse = await complete(self, request, **options)
        response.degradation = blind
        return response

    monkeypatch.setattr(MockProvider, "complete", answer)
    watched = Watched(tmp_path, mount_plan(["One.", "Two."]))
    async with watched.runtime as runtime:
        await runtime.run_turn(watched.prompt)
        await runtime.run_turn("again")
    assert watched.told == ["warning: 1 image(s): left out; the model does not see them"]


async def test_a_model_that_refuses_images_is_told_with_what_to_do(tmp_path: Path) -> None:
    """A refusal of a text is told as before."""
    refusal = {"error": {"type": "InvalidRequestError", "message": "image input is not supported"}}
    watched = Watched(tmp_path, mount_plan([refusal, refusal]))
    async with watched.runtime as runtime:
        problems = [(await runtime.run_turn(each)).problem for each in (watched.prompt, "text")]
    assert [(each.message, each.hint) for each in problems if each is not None] == [
        (
            "The model does not take what it was shown: image input is not supported",
            "If it sees no images, ask another --model; in the chat, /rewind takes the image back.",
        ),
        ("The model cannot be asked: image input is not supported", "Try again later, or another --provider."),
    ]


# The chat


@pytest.mark.slow
async def test_the_chat_shows_which_images_go_along(tmp_path: Path) -> None:
    """Under what the user said, with warnings for those that do not; nothing in a name steers the terminal."""
    world = ChatWorld(tmp_path, ["It is red.", "Blue.", "Green."])
    folder = world.places.working_dir
    (folder / "shot.png").write_bytes(png(640, 480))
    (folder / "evil\x1b[31m.png").write_bytes(png())
    async with world:
        shown = await world.say("see @shot.png @gone.png")
        assert shown.startswith("\n❯ see @shot.png @gone.png\n\n· [image shot.png, 640×480, 2 kB]\n! ")
        assert f"{folder / 'gone.png'}: there is no such image It is red." in " ".join(shown.split())
        shown = await world.say('see @"evil\x1b[31m.png"')
        assert ("\x1b" in shown, "[image evil" in shown) == (False, True)
        shown = await world.say(f"'{folder / 'shot.png'}'")
        assert "\n· [image shot.png, 640×480, 2 kB]\n" in shown
        stored = world.chat.talk.opening.setting.stored
        assert stored is not None
        first = stored.messages()[0]["content"]
    assert shape(first)[1] == b64encode(png(640, 480)).decode()


@pytest.mark.slow
async def test_commands_know_what_an_image_is(tmp_path: Path) -> None:
    """It counts as what it costs, not as its encoding; taken back, the line has what was typed, and no more."""
    world = ChatWorld(tmp_path, ["It is red."])
    (world.places.working_dir / "shot.png").write_bytes(png(600, 600, b"\x01\x02\x03"))
    (world.places.working_dir / "a.txt").write_text("text")
    async with world:
        await world.say("see @shot.png @a.txt")
        assert "images 1,600" in " ".join((await world.say("/context")).replace("│", " ").split())
        assert "shortened: about 1,6" in await world.say("/compact")
        stored = world.chat.talk.opening.setting.stored
        assert stored is not None
        assert "❯ see @shot.png @a.txt\n\nIt is red." in await world.say("/new", f"/resume {stored.id}")
        await world.say("/rewind 1 conversation")
        assert world.terminal.filled == ["see @shot.png @a.txt"]


@pytest.mark.slow
async def test_an_image_waits_until_the_agent_is_done(tmp_path: Path) -> None:
    """What is said meanwhile is heard as text; an image begins a turn of its own."""
    world = ChatWorld(tmp_path, [{"text": "Done.", "delay_s": 0.3}, "It is red."])
    (world.places.working_dir / "shot.png").write_bytes(png())
    async with world:
        world.chat.submit("work")
        await world.until(lambda: not world.chat.is_idle)
        world.chat.submit("see @shot.png")
        await world.until(lambda: world.chat.is_idle and "It is red." in world.terminal.shown)
    assert "comes next: see @shot.png" in world.terminal.shown
    assert "[image shot.png, 4×3, 1 kB]" in world.terminal.shown


# One prompt


def test_a_run_takes_images_that_are_mentioned_or_given(command: Command) -> None:
    """In order; what cannot go along is told on standard error, and the text goes all the same."""
    (command.work / "My Shot.gif").write_bytes(gif())
    bundle = write_bundle(command.work, ["It is red."])
    result = command("run", "see @shot.png @gone.png", "-i", "My Shot.gif", "--image", "shot.png", "-B", bundle)
    gone = command.work / "gone.png"
    assert result == Result(0, "It is red.\n", f"amplifier: warning: {gone}: there is no such image\n")
    assert shape(sessions(command)[0].messages()[0]["content"]) == [
        'see @shot.png @gone.png\n\n<image path="shot.png">', SENT,
        '</image>\n\n<image path="My Shot.gif">', b64encode(gif()).decode(),
        '</image>\n\n<image path="shot.png">', SENT, "</image>",
    ]  # fmt: skip


def test_an_image_that_is_given_must_be_one(command: Command) -> None:
    """Nothing is asked otherwise; the exit code is that of a wrong call."""
    (command.work / "notes.txt").write_text("text")
    bundle = write_bundle(command.work, ["never"])
    for args, told in (
        (("-i", "notes.txt"), "notes.txt: is no image.\n  → Give a file that is PNG, JPEG, GIF or WebP."),
        (("-i", "gone.png"), "'gone.png' does not exist"),
        (("-i", "shot.png", "--input-format", "stream-json"), "Leave the prompt out"),
    ):
        result = command("run", "see", *args, "-B", bundle)
        assert (result.code, result.out, told in result.err) == (2, "", True)
    result = command("run", "-i", "shot.png", "--input-format", "stream-json", "-B", bundle)
    assert (result.code, "Put the images into the prompts." in result.err) == (2, True)
    assert sessions(command) == []


def test_a_trace_tells_of_images_and_does_not_have_them(command: Command) -> None:
    """Nor has what is shown of a session, its export to be read, or its log."""
    bundle = write_bundle(command.work, ["It is red."], hooks=[{"module": "hooks-logging"}])
    result = command("run", "see @shot.png", "-B", bundle, "--output-format", "json-trace")
    assert (result.code, SENT[:40] in result.out) == (0, False)
    assert f'"data": "[{len(SENT)} characters]"' in result.out
    (session,) = sessions(command)
    assert SENT[:40] not in (session.folder / "events.jsonl").read_text()
    for args in (("show", session.id, "--full"), ("export", session.id, "--format", "markdown")):
        told = command("session", *args)
        assert (told.code, SENT[:40] in told.out, '<image path="shot.png">' in told.out) == (0, False, True)


@pytest.mark.slow
def test_what_is_piped_in_mentions_nothing(command: Command) -> None:
    """It may come from anybody; images that the user gives go along with it."""
    bundle = write_bundle(command.work, ["It is red."])
    for args, expected in (
        ((), "see @shot.png"),
        (("-i", "shot.png"), ['see @shot.png\n\n<image path="shot.png">', SENT, "</image>"]),
        (("look:",), "look:\n\n<stdin>\nsee @shot.png\n</stdin>"),
    ):
        assert command.process("run", *args, "-B", bundle, stdin=b"see @shot.png").code == 0
        content = sessions(command)[0].messages()[0]["content"]
        assert (content if isinstance(content, str) else shape(content)) == expected


@pytest.mark.slow
def test_programs_send_images_as_blocks(command: Command) -> None:
    """As a line of JSON; the line that tells of the prompt has its text."""
    bundle = write_bundle(command.work, ["It is red."])
    source = {"type": "base64", "media_type": "image/png", "data": SENT}
    blocks = [{"type": "text", "text": "see"}, {"type": "image", "source": source}]
    line = json.dumps({"type": "user", "message": {"role": "user", "content": blocks}})
    options = ("--input-format", "stream-json", "--output-format", "stream-json")
    result = command.process("run", "-B", bundle, *options, stdin=line.encode() + b"\n")
    assert (result.code, result.err) == (0, "")
    assert json.loads(result.out.splitlines()[1])["text"] == "see"
    assert sessions(command)[0].messages()[0]["content"] == blocks


# Over the wire


async def called(command: Command, *args: str) -> Result:
    """The command as a process, while this one serves it."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "amplifier", *args,
        cwd=command.work, env=environment() | command.variables,
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, err = await process.communicate()
    return Result(process.returncode or 0, out.decode(), err.decode())


def on_the_service(command: Command, sample: Sample, service: LlmServer) -> str:
    """A bundle whose model is asked at a local service."""
    config = {**sample.config, sample.place: service.url, "api_key": KEY, "max_retries": 0, "use_streaming": False}
    return write_bundle(command.work, [], providers=[{"module": f"provider-{sample.name}", "config": config}])


@pytest.mark.slow
@pytest.mark.parametrize("sample", SAMPLES, ids=[each.name for each in SAMPLES])
async def test_the_bytes_of_an_image_arrive_at_the_vendor(command: Command, sample: Sample) -> None:
    """Through ``amplifier run``, behind the text that mentions it; a session that goes on sends them the same way."""
    answer = json_answer(sample.body)
    paths = {path: json_answer(body) for path, body in sample.paths.items()}
    async with serving(*[answer] * 8, paths=paths) as service:
        bundle = on_the_service(command, sample, service)
        first = await called(command, "run", "What is in @shot.png?", "-B", bundle, "--max-turns", "1")
        again = await called(command, "continue", "Sure?", "-B", bundle, "--max-turns", "1")
    sent = [body for body in map(json.dumps, service.bodies) if "What is in @shot.png?" in body]
    # The service always asks for tools, which are not there; so the limit ends each run.
    assert (first.code, again.code, len(sent) >= 2) == (53, 53, True)
    for body in sent:
        assert 0 < body.index("What is in @shot.png?") < body.index(SENT)
        assert body.count(SENT) == 1
