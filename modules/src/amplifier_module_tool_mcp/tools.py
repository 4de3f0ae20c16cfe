"""What servers offer, as tools: one for each of theirs, one to read resources, one to fill in prompts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, cast

from amplifier_core.models import ToolResult
from amplifier_modkit.clipping import clip_chars
from amplifier_module_tool_mcp.connection import Connection, Offer
from amplifier_module_tool_mcp.contents import Answer, success, to_result
from amplifier_module_tool_mcp.errors import ServerError, TimedOutError
from amplifier_module_tool_mcp.link import ServerLink
from amplifier_module_tool_mcp.texts import (
    MOST_DESCRIPTION_CHARS,
    description_of,
    error_line,
    name_line,
    one_line,
    usable_schema,
)

if TYPE_CHECKING:
    from mcp.shared.dispatcher import ProgressFnT

TellProgress = Callable[[dict[str, Any]], Awaitable[object]]

READ_RESOURCE, GET_PROMPT = "read_resource", "get_prompt"
_MOST_LINE_CHARS = 200
# Between two events of one call; the last one of a burst may be left out.
_BETWEEN_PROGRESS_S = 0.1


@dataclass(frozen=True, slots=True)
class Desk:
    """What the tools of one server share."""

    link: ServerLink
    max_chars: int
    timeout_s: float
    tell_progress: TellProgress

    @property
    def server(self) -> str:
        """The server's name."""
        return self.link.plan.name

    async def carry_out(self, tool: str, work: Callable[[Connection], Awaitable[ToolResult]]) -> ToolResult:
        """Does something with the connection, in the time there is for one call; a failure is a result."""
        scope = asyncio.timeout(self.timeout_s)
        try:
            async with scope:
                return await self.link.use(work)
        except TimeoutError:
            if not scope.expired():
                raise
            return self._failure(tool, TimedOutError(f"no answer within {self.timeout_s:g} s; the call was cancelled"))
        except ServerError as error:
            return self._failure(tool, error)

    def _failure(self, tool: str, error: ServerError) -> ToolResult:
        told = self.link.plan.mask(error_line(error))
        facts = {"type": error.kind, "message": told, "mcp_server": self.server, "mcp_tool": tool}
        return ToolResult(success=False, error=facts)


class ServerTool:
    """One tool of a server, as long as the server offers it."""

    def __init__(self, name: str, tool: Any, desk: Desk) -> None:
        self.name = name
        self.mcp_name: str = tool.name
        described = description_of(tool.description or tool.title)
        self.description = described or f"The tool '{name_line(tool.name)}' of the MCP server '{desk.server}'."
        self.input_schema = usable_schema(tool.input_schema)
        hints = tool.annotations
        # A server's word is worth what the user says it is.
        self.read_only: bool = desk.link.plan.trusts_annotations and bool(hints and hints.read_only_hint)
        self._desk = desk

    async def execute(self, input: dict[str, Any]) -> ToolResult:
        """What the server answers."""
        if not is_sendable(input):
            return _wrong("the input cannot be sent: it must be JSON, in proper Unicode")

        async def call(connection: Connection) -> ToolResult:
            called = await connection.call_tool(self.mcp_name, dict(input), self._progress())
            return to_result(called, self._desk.server, self.mcp_name, self._desk.max_chars)

        return await self._desk.carry_out(self.mcp_name, call)

    def _progress(self) -> ProgressFnT:
        next_time = 0.0

        async def tell(progress: float, total: float | None, message: str | None) -> None:
            nonlocal next_time
            now = asyncio.get_running_loop().time()
            if now < next_time and progress != total:
                return
            next_time = now + _BETWEEN_PROGRESS_S
            told = None if message is None else one_line(message, _MOST_LINE_CHARS)
            await self._desk.tell_progress(
                {
                    "server": self._desk.server,
                    "tool_name": self.name,
                    "mcp_tool": self.mcp_name,
                    "progress": progress,
                    "total": total,
                    "message": told,
                }
            )

        return tell


class ResourceTool:
    """Reads the resources of a server."""

    mcp_name = READ_RESOURCE
    input_schema: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "uri": {"type": "string", "description": "the address of the resource; without it, all are listed"}
        },
    }

    def __init__(self, name: str, offer: Offer, desk: Desk) -> None:
        self.name = name
        self.read_only = desk.link.plan.trusts_annotations
        self._desk = desk
        self._lines = [_line(each.uri, each) for each in offer.resources]
        self._lines += [
            _line(f"{each.uri_template} (a template: fill in the braces)", each) for each in offer.templates
        ]
        self.description = _with_list(f"Reads a resource of the MCP server '{desk.server}':", self._lines)

    async def execute(self, input: dict[str, Any]) -> ToolResult:
        """The contents of a resource, or the list of them."""
        uri = input.get("uri")
        if uri is None:
            return _listed(self._lines, self._desk, self.mcp_name)
        if not isinstance(uri, str) or not is_sendable(uri):
            return _wrong("'uri' must be text, the address of a resource")

        async def read(connection: Connection) -> ToolResult:
            answer = Answer(self._desk.max_chars)
            for contents in (await connection.read_resource(uri)).contents:
                answer.add_resource(contents)
            return success(answer, self._desk.server, self.mcp_name)

        return await self._desk.carry_out(self.mcp_name, read)


class PromptTool:
    """Fills in the prompts of a server."""

    mcp_name = GET_PROMPT
    input_schema: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "the name of the prompt; without it, all are listed"},
            "arguments": {"type": "object", "additionalProperties": {"type": "string"}},
        },
    }

    def __init__(self, name: str, offer: Offer, desk: Desk) -> None:
        self.name = name
        self.read_only = desk.link.plan.trusts_annotations
        self._desk = desk
        self._lines = [_line(f"{each.name}({_parameters(each)})", each) for each in offer.prompts]
        self.description = _with_list(f"Gives a prompt of the MCP server '{desk.server}', filled in:", self._lines)

    async def execute(self, input: dict[str, Any]) -> ToolResult:
        """The messages of a prompt, or the list of prompts."""
        name, given = input.get("name"), input.get("arguments")
        if name is None:
            return _listed(self._lines, self._desk, self.mcp_name)
        if not isinstance(name, str) or not (given is None or isinstance(given, Mapping)):
            return _wrong("'name' must be text, the name of a prompt, and 'arguments' an object of texts")
        arguments = {str(key): str(value) for key, value in cast("Mapping[Any, Any]", given or {}).items()}
        if not is_sendable([name, arguments]):
            return _wrong("the input cannot be sent: it must be proper Unicode")

        async def get(connection: Connection) -> ToolResult:
            answer = Answer(self._desk.max_chars)
            for message in (await connection.get_prompt(name, arguments)).messages:
                answer.add_text(f"[{name_line(message.role)}]")
                answer.add_all([message.content])
            return success(answer, self._desk.server, self.mcp_name)

        return await self._desk.carry_out(self.mcp_name, get)


McpTool = ServerTool | ResourceTool | PromptTool


def tools_of(offer: Offer, desk: Desk, name_of: Callable[..., str]) -> dict[str, McpTool]:
    """The tools for what a server offers, by their names; ``name_of(tool, is_taken=…)`` gives those."""
    tools: dict[str, McpTool] = {}
    for each in offer.tools:
        name = name_of(each.name)
        tools[name] = ServerTool(name, each, desk)
    extras = (
        (READ_RESOURCE, ResourceTool, offer.resources or offer.templates),
        (GET_PROMPT, PromptTool, offer.prompts),
    )
    for label, kind, is_offered in extras:
        if is_offered:
            name = name_of(label)
            name = name_of(label, is_taken=True) if name in tools else name
            tools[name] = kind(name, offer, desk)
    return tools


def is_sendable(value: Any) -> bool:
    """Whether a message can carry it; one that cannot would cost the connection."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def _line(head: str, each: Any) -> str:
    return one_line(f"{head}: {each.description or each.title or each.name}", _MOST_LINE_CHARS)


def _parameters(prompt: Any) -> str:
    return ", ".join(f"{each.name}{'' if each.required else '?'}" for each in prompt.arguments or ())


def _with_list(head: str, lines: list[str]) -> str:
    return clip_chars("\n".join([head, *lines]), MOST_DESCRIPTION_CHARS)


def _listed(lines: list[str], desk: Desk, tool: str) -> ToolResult:
    answer = Answer(desk.max_chars)
    answer.add_text("\n".join(lines))
    return success(answer, desk.server, tool)


def _wrong(message: str) -> ToolResult:
    return ToolResult(success=False, error={"type": "invalid_input", "message": message})
