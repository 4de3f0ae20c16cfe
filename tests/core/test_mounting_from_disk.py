"""Modules found on disk by the kernel's own loader and mounted by a session, from the source file to the report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from amplifier_core import AmplifierSession, ModuleLoader
from amplifier_core.report import UnknownConfigKey


def payloads(seen: list[tuple[str, dict[str, Any]]], wanted: str) -> list[dict[str, Any]]:
    """The payloads of one event, without what every event carries."""
    always = ("session_id", "parent_id", "timestamp")
    return [{key: value for key, value in data.items() if key not in always} for event, data in seen if event == wanted]


MODULE = """
from amplifier_core.models import ToolResult

__amplifier_module_type__ = "tool"
__amplifier_config__ = {"color", "size"}

calls = []


class Brush:
    name = "brush"
    description = "Paints."

    def __init__(self, config):
        self.config = config

    async def execute(self, input):
        return ToolResult(success=True, output=self.config)


async def mount(coordinator, config):
    calls.append("mount")
    coordinator.mount("tools", Brush(config))

    async def cleanup():
        calls.append("cleanup")

    return cleanup


async def on_session_ready(coordinator):
    calls.append("ready")
"""


async def test_a_module_of_the_disk_lives_its_whole_life(
    stage: Any, workshop: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Found on a search path, checked, mounted once, made ready, and cleaned up; nobody's config keys are told."""
    module_id = workshop.new_id()
    workshop.package(workshop.root / f"amplifier-module-{module_id}", workshop.package_name(module_id), MODULE)
    config = {"colour": "red", "size": 1, "zzzzzz": 2}
    plan = stage.plan(tools=[{"module": module_id, "config": config}])
    own = ModuleLoader(search_paths=[workshop.root])

    class Both(ModuleLoader):
        """Modules of the stage, and those of the disk."""

        async def load(self, module_id: str, *arguments: Any, **options: Any) -> Any:
            return await (stage if module_id in stage.mounts else own).load(module_id, *arguments, **options)

        def cleanup(self) -> None:
            own.cleanup()

    heard: list[Any] = []

    async def on_unknown(event: str, data: dict[str, Any]) -> None:
        heard.append(data)

    stage.module(
        "hooks-x", lambda coordinator, config: coordinator.hooks.register("module:config_unknown", on_unknown) and None
    )
    plan["hooks"] = ["hooks-x"]
    session = AmplifierSession(plan, loader=Both())
    seen = stage.watch(session)
    await session.execute("hi")
    assert session.coordinator.get("tools", "brush").config is config
    assert session.report.unknown_keys == [
        UnknownConfigKey(module_id, "colour", "color"),
        UnknownConfigKey(module_id, "zzzzzz"),
    ]
    assert payloads(seen, "module:config_unknown") == [
        {"module_id": module_id, "key": "colour", "nearest": "color"},
        {"module_id": module_id, "key": "zzzzzz", "nearest": None},
    ]
    assert [data["key"] for data in heard] == ["colour", "zzzzzz"]
    told = f"{module_id}: nobody reads config key 'colour' (did you mean 'color'?)"
    assert told in caplog.messages
    assert f"unread config: {told}" in str(session.report)
    await session.cleanup()
    assert workshop.imported(module_id).calls == ["mount", "ready", "cleanup"]


async def test_a_whole_plan_is_found_by_a_resolver_of_the_application(workshop: Any, stage: Any) -> None:
    """The kernel's own loader, a resolver mounted in one plain line, and modules of every kind from a folder."""
    sources = {
        "loop": "class M:\n    async def execute(self, prompt, context, providers, tools, hooks):\n"
        "        return f'{prompt} {sorted(providers)} {sorted(tools)}'\n",
        "context": "class M:\n    async def add_message(self, message): ...\n    async def get_messages(self): ...\n"
        "    async def get_messages_for_request(self, token_budget=None, provider=None): ...\n"
        "    async def set_messages(self, messages): ...\n    async def clear(self): ...\n",
        "provider": "class M:\n    name = 'p'\n    def get_info(self): ...\n    async def list_models(self): ...\n"
        "    async def complete(self, request): ...\n    def parse_tool_calls(self, response): ...\n",
        "tool": "class M:\n    name = 't'\n    description = 'x'\n    async def execute(self, input): ...\n",
    }
    folders: dict[str, Path] = {}
    ids: dict[str, str] = {}
    for kind, source in sources.items():
        module_id, folder = workshop.module(
            f"{source}\n\nasync def mount(coordinator, config):\n    return M()\n", kind=kind
        )
        folders[module_id], ids[kind] = folder, module_id

    class Source:
        def __init__(self, folder: Path) -> None:
            self.folder = folder

        def resolve(self) -> Path:
            return self.folder

    class Resolver:
        def resolve(self, module_id: str, source_hint: Any = None, profile_hint: Any = None) -> Source:
            return Source(folders[module_id])

    session = AmplifierSession(
        {
            "session": {"orchestrator": ids["loop"], "context": ids["context"]},
            "providers": [{"module": ids["provider"]}],
            "tools": [ids["tool"]],
        }
    )
    session.coordinator.mount("module-source-resolver", Resolver())
    async with session:
        assert await session.execute("hi") == "hi ['p'] ['t']"
        assert session.report.is_clean
        async with session.fork() as child:
            assert await child.execute("ho") == "ho ['p'] ['t']"
        assert await session.execute("again") == "again ['p'] ['t']"


@pytest.mark.parametrize(
    ("source", "code", "told"),
    [
        ("raise OSError('no disk')\n", "validation_failed", "raised OSError: no disk"),
        ("mount = 5\n", "invalid_entry_point", "mount is not callable"),
        ("def mount(coordinator, config):\n    return None\n", "invalid_entry_point", "mount must be async"),
        (MODULE.replace('= "tool"', '= "kind"'), "invalid_module_metadata", "has unknown type 'kind'"),
        (MODULE.replace('{"color", "size"}', "5"), "invalid_module_metadata", "declares __amplifier_config__ as a int"),
    ],
)
async def test_a_module_of_the_disk_that_is_broken_is_told_with_its_reason(
    stage: Any, workshop: Any, source: str, code: str, told: str
) -> None:
    """Whatever is wrong with it, the session starts, and the event names the module and the cause."""
    module_id = workshop.new_id()
    workshop.package(workshop.root / f"amplifier-module-{module_id}", workshop.package_name(module_id), source)
    own = ModuleLoader(search_paths=[workshop.root])

    class Both:
        async def load(self, module_id: str, *arguments: Any, **options: Any) -> Any:
            return await (stage if module_id in stage.mounts else own).load(module_id, *arguments, **options)

    session = stage.session(stage.plan(tools=[module_id]), loader=Both())
    seen = stage.watch(session)
    assert await session.execute("hi") == "answer to hi"
    [data] = payloads(seen, "module:load_failed")
    assert (data["module_type"], data["module_id"], data["reason_code"]) == ("tool", module_id, code)
    assert told in data["error"]
    assert module_id in data["error"]
    assert session.coordinator.get("tools") == {}
    own.cleanup()
