"""What runs the model: the engine over its library, asking it from a coroutine, and sharing it between sessions."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
import weakref
from pathlib import Path
from typing import Any

import pytest
from tests.modules.local_world import FakeEngine, FakeServer, chunks_of, fake_library, model_file

from amplifier_core.llm_errors import ContextLengthError, InvalidRequestError, LLMError, ProviderUnavailableError
from amplifier_module_provider_local.asking import ask
from amplifier_module_provider_local.engine import LlamaEngine
from amplifier_module_provider_local.engines import EngineKey, EngineTable
from amplifier_module_provider_local.errors import LibraryMissingError, ModelFileError

__all__ = ["fake_library", "model_file"]

KEY = EngineKey(Path("a.gguf"), 4096, 1)


def body_for(text: str) -> dict[str, Any]:
    """A request to an engine."""
    return {"messages": [{"role": "user", "content": text}]}


async def test_an_engine_sets_the_library_up_for_one_process_that_shares_its_machine(
    fake_library: list[FakeServer], model_file: Path
) -> None:
    """The listener is on loopback behind a key, copies of prompts take no memory, and threads are as many as said."""
    engine = LlamaEngine(model_file, context_window=2048, n_threads=3)
    params = fake_library[0].params
    assert (params.model.path, params.n_ctx, params.cpuparams.n_threads) == (str(model_file), 2048, 3)
    assert (params.hostnames, params.port, params.ui, params.cache_ram_mib) == (["127.0.0.1"], 0, False, 0)
    assert len(params.api_keys[0]) > 40
    assert (await ask(engine, body_for("hi"))).text == "Hello there"
    assert engine.tokens("three little words") == [1, 1, 1]
    assert engine.count([{"role": "user", "content": "two words"}]) == 3
    assert engine.grammar({"type": "object"}).startswith('grammar of {"type": "object", "x-guidance": ')


def test_without_the_library_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, model_file: Path) -> None:
    """The extra is named."""
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(LibraryMissingError) as failed:
        LlamaEngine(model_file, context_window=512, n_threads=1)
    assert str(failed.value).endswith('Install it with: pip install "amplifier-modules[local]"')


def test_a_file_that_is_no_model_is_refused_before_the_library_sees_it(tmp_path: Path) -> None:
    """Missing and wrong files are told with their path and the key to correct."""
    missing, wrong = tmp_path / "gone.gguf", tmp_path / "page.gguf"
    wrong.write_text("<html>")
    told: list[str] = []
    for path in (missing, wrong):
        with pytest.raises(ModelFileError) as failed:
            LlamaEngine(path, context_window=512, n_threads=1)
        told.append(str(failed.value))
    assert told[0].startswith(f"The model file {missing} cannot be read: ")
    assert told[1] == f"{wrong} is no GGUF file: it begins with b'<htm'. Check 'model_path'."


def test_a_model_that_cannot_be_loaded_is_told(fake_library: list[FakeServer], tmp_path: Path) -> None:
    """What the library says comes with the path."""
    path = tmp_path / "broken.gguf"
    path.write_bytes(b"GGUF")
    with pytest.raises(ModelFileError, match=r"broken.gguf cannot be loaded: failed to load model. Give another GGUF"):
        LlamaEngine(path, context_window=512, n_threads=1)


async def test_text_comes_piece_by_piece_and_then_as_a_whole() -> None:
    """Pieces are told in order; the whole has the tokens it took and how it ended."""
    pieces: list[str] = []

    async def on_text(piece: str) -> None:
        pieces.append(piece)

    engine = FakeEngine(lambda body: chunks_of("one two three", "length"))
    generated = await ask(engine, body_for("count"), on_text)
    assert pieces == ["one", " two", " three"]
    assert (generated.text, generated.finish) == ("one two three", "length")
    assert (generated.prompt_tokens, generated.cached_tokens, generated.output_tokens) == (20, 5, 3)
    assert engine.bodies[0]["return_progress"] is True


async def test_usage_without_details_counts_nothing_as_cached() -> None:
    """An engine that does not tell what it had remembered is taken to remember nothing."""
    engine = FakeEngine(lambda body: [{"usage": {"prompt_tokens": 3, "completion_tokens": 1}}])
    assert (await ask(engine, body_for("hi"))).cached_tokens == 0


@pytest.mark.parametrize(
    ("error", "kind", "told"),
    [
        (
            {"code": 400, "type": "exceed_context_size_error", "message": "too long"},
            ContextLengthError,
            "too long; 'context_window' of provider-local sets the size",
        ),
        ({"code": 400, "type": "invalid_request_error", "message": "bad grammar"}, InvalidRequestError, "bad grammar"),
        ({"code": 500, "message": "went wrong"}, ProviderUnavailableError, "went wrong"),
        ({"message": "odd"}, ProviderUnavailableError, "odd"),
    ],
)
async def test_what_the_engine_refuses_is_an_error_of_the_right_kind(
    error: dict[str, Any], kind: type[LLMError], told: str
) -> None:
    """None of them is worth repeating: the engine answers the same request in the same way."""
    with pytest.raises(kind) as failed:
        await ask(FakeEngine(lambda body: [{"error": error}]), body_for("hi"))
    assert (str(failed.value), failed.value.retryable) == (told, False)


async def test_what_the_engine_raises_is_a_request_it_does_not_take() -> None:
    """The library raises ``ValueError`` for what it cannot read."""

    def refuse(body: Any) -> Any:
        raise ValueError("no such template")

    with pytest.raises(InvalidRequestError, match="The engine does not take the request: no such template"):
        await ask(FakeEngine(refuse), body_for("hi"))


async def test_giving_up_returns_at_once_and_ends_the_work_at_its_next_piece() -> None:
    """The coroutine does not wait for the thread; the thread stops when it has something to hand over."""
    may_go_on, has_begun = threading.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def slow(body: Any) -> Any:
        yield from list(chunks_of("one two"))[:2]
        loop.call_soon_threadsafe(has_begun.set)
        may_go_on.wait(10)
        yield from chunks_of("never told")

    engine = FakeEngine(slow)
    task = asyncio.create_task(ask(engine, body_for("hi")))
    await has_begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not engine.given_up.is_set()
    may_go_on.set()
    assert await asyncio.to_thread(engine.given_up.wait, 10)


def test_a_loop_that_is_closed_ends_the_work() -> None:
    """Where nobody can be told any more, the thread stops as if it were given up."""
    may_go_on = threading.Event()
    engine = FakeEngine(lambda body: may_go_on.wait(10) and chunks_of("one two"))
    loop = asyncio.new_event_loop()
    task = loop.create_task(ask(engine, body_for("hi")))
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()  # with the task pending, as by somebody who does not clean up
    may_go_on.set()
    assert engine.given_up.wait(10)
    unfinished: Any = task
    unfinished._log_destroy_pending = False
    with pytest.raises(RuntimeError, match="Event loop is closed"):
        unfinished.get_coro().close()


async def test_users_of_one_model_share_it_until_the_last_has_gone() -> None:
    """It is loaded once, however many ask at the same time, and let go with the last of them."""
    loaded: list[EngineKey] = []

    def load(key: EngineKey) -> FakeEngine:
        loaded.append(key)
        return FakeEngine()

    table = EngineTable()
    first, second = await asyncio.gather(table.lease(KEY, load), table.lease(KEY, load))
    other = await table.lease(KEY._replace(n_threads=2), load)
    assert (first.engine is second.engine, first.engine is other.engine, len(loaded), len(table)) == (True, False, 2, 2)
    gone = weakref.ref(first.engine)
    first.release()
    first.release()
    assert (len(table), gone() is second.engine) == (2, True)
    second.release()
    other.release()
    gc.collect(0)
    assert (len(table), gone()) == (0, None)


async def test_a_load_that_fails_is_told_to_all_and_tried_again_by_the_next() -> None:
    """Nobody is left waiting, and the failure is not remembered."""

    def broken(key: EngineKey) -> FakeEngine:
        raise ModelFileError("broken")

    table = EngineTable()
    outcomes = await asyncio.gather(*(table.lease(KEY, broken) for _ in range(2)), return_exceptions=True)
    assert [str(each) for each in outcomes] == ["broken", "broken"]
    assert len(table) == 0
    lease = await table.lease(KEY, lambda key: FakeEngine())
    lease.release()


async def test_whoever_gives_up_while_a_model_loads_leaves_it_to_the_others() -> None:
    """The load goes on for those who wait."""
    may_load, is_loading = threading.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def slow(key: EngineKey) -> FakeEngine:
        loop.call_soon_threadsafe(is_loading.set)
        may_load.wait(10)
        return FakeEngine()

    table = EngineTable()
    impatient, patient = asyncio.create_task(table.lease(KEY, slow)), asyncio.create_task(table.lease(KEY, slow))
    await is_loading.wait()
    impatient.cancel()
    with pytest.raises(asyncio.CancelledError):
        await impatient
    may_load.set()
    lease = await patient
    assert (len(table), lease.engine.tokens("a b")) == (1, [1, 1])
    lease.release()
    assert len(table) == 0
