"""Hooks under load and abuse: odd data, very many handlers, handlers that hang, several threads."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_core.hooks import HookRegistry, HookResult


def recursive() -> dict[str, Any]:
    """Data that contain themselves."""
    data: dict[str, Any] = {"list": []}
    data["self"] = data
    data["list"].append(data["list"])
    return data


ODD_VALUES: dict[str, Any] = {
    "NUL bytes": "a\x00b",
    "lone surrogate": "\ud800",
    "escaped byte": b"\xff".decode("utf-8", "surrogateescape"),
    "10 MB": "x" * 10_000_000,
    "10 MB of bytes": b"\xff" * 10_000_000,
    "recursive": recursive(),
}


@pytest.mark.parametrize("value", ODD_VALUES.values(), ids=ODD_VALUES.keys())
async def test_odd_values_reach_handlers_and_emitter_untouched(value: Any) -> None:
    """They are neither copied nor changed nor refused, whatever the handlers answer."""
    registry, seen = HookRegistry(), list[Any]()

    def modify(event: str, data: dict[str, Any]) -> HookResult:
        seen.append(data["value"])
        return HookResult(action="modify", data={**data, "again": data["value"]})

    def inject(event: str, data: dict[str, Any]) -> HookResult:
        seen.append(data["again"])
        return HookResult(action="inject_context", context_injection="text")

    registry.register("e", modify)
    registry.register("e", inject)
    registry.register("e", lambda event, data: None, on_error="deny")
    result = await registry.emit("e", {"value": value})
    assert result.action == "inject_context"
    assert result.data is not None
    assert all(each is value for each in (*seen, result.data["value"], result.data["again"]))
    registry.register("ask", lambda event, data: {"data": data})
    (collected,) = await registry.emit_and_collect("ask", {"value": value})
    assert collected["value"] is value


async def test_recursive_data_that_two_guards_write_are_compared_without_harm() -> None:
    """Equal or not, the guards come to an end."""
    registry = HookRegistry()
    for name in ("one", "two"):
        registry.register(
            "e",
            lambda event, data: HookResult(action="modify", data={**data, "r": recursive()}),
            name=name,
            on_error="deny",
        )
    result = await registry.emit("e", {})
    assert result.action == "deny"
    assert result.reason == "Guard 'one' and another one keep changing each other's data of 'e'"


async def test_odd_names_of_events_and_handlers_are_only_names() -> None:
    """NUL bytes and lone surrogates in names reach reasons unharmed."""
    registry = HookRegistry()

    def fail(event: str, data: dict[str, Any]) -> None:
        raise ValueError("\x00")

    registry.register("\ud800:\x00", fail, name="\udfff", on_error="deny")
    assert registry.list_handlers() == {"\ud800:\x00": ["\udfff"]}
    assert (await registry.emit("\ud800:\x00", {})).reason == "Guard '\udfff' failed on '\ud800:\x00': ValueError: \x00"


async def test_odd_text_in_an_answer_is_clean_where_a_model_reads_it() -> None:
    """Injected text loses what providers refuse; the event's data keep it."""
    coordinator, messages = ModuleCoordinator(), list[dict[str, Any]]()

    class Context:
        async def add_message(self, message: dict[str, Any]) -> None:
            messages.append(message)

    coordinator.mount("context", Context())
    coordinator.hooks.register("e", lambda event, data: {"action": "inject_context", "context_injection": data["text"]})
    result = await coordinator.hooks.emit("e", {"text": "a\x00b\ud800c\n"})
    assert result.data is not None
    assert result.data["text"] == "a\x00b\ud800c\n"
    await coordinator.process_hook_result(result, "e")
    assert [message["content"] for message in messages] == ["abc\n"]


@pytest.mark.slow
async def test_ten_thousand_handlers_run_in_order_and_compose() -> None:
    """Registering, emitting, listing and removing all of them works."""
    registry, order = HookRegistry(), list[int]()

    def handler(number: int) -> Any:
        def handle(event: str, data: dict[str, Any]) -> HookResult:
            order.append(number)
            return HookResult(action="inject_context", context_injection=str(number))

        return handle

    count = 10_000
    undo = [registry.register("e", handler(number), -number, f"h{number}") for number in range(count)]
    result = await registry.emit("e", {})
    assert order == list(range(count - 1, -1, -1))
    assert [item.content for item in result.context_injections] == [str(number) for number in order]
    assert registry.list_handlers("e")["e"] == [f"h{number}" for number in order]
    for each in undo:
        each()
    assert registry.list_handlers() == {"e": []}


@pytest.mark.slow
async def test_ten_thousand_guards_and_one_change_are_asked_twice_each() -> None:
    """The last handler changes the data; equal names are removed one by one, latest first."""
    registry, asked, count = HookRegistry(), list[None](), 10_000
    for _ in range(count):
        registry.register("e", lambda event, data: asked.append(None), name="twin", on_error="deny")
    registry.register("e", lambda event, data: HookResult(action="modify", data={}), 1, "last")
    assert (await registry.emit("e", {})).action == "modify"
    assert len(asked) == 2 * count
    for _ in range(count):
        registry.unregister("twin")
    assert registry.list_handlers() == {"e": ["last"]}


async def test_a_handler_that_hangs_ends_with_the_emitter_s_own_time_limit() -> None:
    """``asyncio.timeout`` around an emit is the emitter's: it reaches the handler and comes out."""
    registry, ended = HookRegistry(), list[str]()

    async def hang(event: str, data: dict[str, Any]) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("hang")

    registry.register("e", hang, on_error="deny", timeout=60)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.001):
            await registry.emit("e", {})
    assert ended == ["hang"]


async def test_a_handler_that_cancels_another_task_it_waits_for_only_fails_itself() -> None:
    """The emitter's task is not being cancelled, so the emit goes on."""
    registry = HookRegistry()

    async def wait_for_cancelled(event: str, data: dict[str, Any]) -> None:
        task = asyncio.ensure_future(asyncio.Event().wait())
        asyncio.get_running_loop().call_soon(task.cancel)
        await task

    registry.register("e", wait_for_cancelled, name="bad")
    registry.register("e", lambda event, data: HookResult(user_message="still here"))
    assert (await registry.emit("e", {})).user_message == "still here"
    registry.register("e", wait_for_cancelled, name="guard", on_error="deny")
    assert (await registry.emit("e", {})).reason == "Guard 'guard' failed on 'e': CancelledError: "


async def test_an_emit_inside_a_handler_of_the_same_event_ends() -> None:
    """Nested emits have their own data and answers."""
    registry = HookRegistry()

    async def nest(event: str, data: dict[str, Any]) -> HookResult:
        if data["depth"] == 3:
            return HookResult(action="deny", reason="deep enough")
        inner = await registry.emit(event, {"depth": data["depth"] + 1})
        return HookResult(user_message=f"{data['depth']}: {inner.action}")

    registry.register("e", nest)
    assert (await registry.emit("e", {"depth": 0})).user_message == "0: continue"
    assert (await registry.emit("e", {"depth": 2})).user_message == "2: deny"


def test_registries_in_two_threads_never_see_each_other() -> None:
    """Each thread has a loop, a registry and handlers of its own."""
    seen: dict[str, list[dict[str, Any]]] = {"a": [], "b": []}
    begin = threading.Barrier(2)

    def work(name: str) -> None:
        registry = HookRegistry()
        registry.set_default_fields(session_id=name)

        async def handler(event: str, data: dict[str, Any]) -> HookResult:
            seen[name].append(data)
            await asyncio.sleep(0)
            return HookResult(action="modify", data={**data, "by": name})

        async def emit_all() -> list[Any]:
            return [(await registry.emit("llm:request", {"n": n})).data for n in range(200)]

        registry.register("llm:request", handler, on_error="deny", timeout=60)
        begin.wait()
        results[name] = asyncio.run(emit_all())

    results: dict[str, list[Any]] = {}
    threads = [threading.Thread(target=work, args=(name,)) for name in seen]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name, data in seen.items():
        assert [(each["session_id"], each["n"]) for each in data] == [(name, n) for n in range(200)]
        assert [each["by"] for each in results[name]] == [name] * 200
    ids = [{each["request_id"] for each in data} for data in seen.values()]
    assert len(ids[0] | ids[1]) == 400
