"""What servers may ask of us: where we work, a form for the user, an answer of the model."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from inspect import isawaitable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from amplifier_core.message_models import ChatRequest, Message
from amplifier_modkit.messages import plain, text_of
from amplifier_module_tool_mcp.texts import description_of, error_line

if TYPE_CHECKING:
    from mcp.client import ClientRequestContext
    from mcp_types import (
        CreateMessageRequestParams,
        CreateMessageResult,
        ElicitRequestParams,
        ElicitResult,
        ErrorData,
        ListRootsResult,
    )

logger = logging.getLogger(__name__)

ELICIT = "mcp.elicit"
"""The capability that asks the user: ``elicit(server, message, schema)`` gives the fields as a dict, ``False`` if the
user refuses, ``None`` if they go away."""
_MOST_SAMPLED_TOKENS = 8_192


@dataclass(frozen=True, slots=True)
class Callbacks:
    """Answers the requests of one server."""

    server: str
    working_dir: Path
    elicit: Callable[..., Any] | None = None
    require_provider: Callable[[], Any] | None = None
    """Gives the provider that may be asked; raises ``LookupError`` where there is none."""

    def to_arguments(self) -> dict[str, Callable[..., Awaitable[Any]]]:
        """The callbacks under the names that the SDK's client knows; what is not there is not offered to servers."""
        offered: dict[str, Callable[..., Awaitable[Any]]] = {"list_roots_callback": self.list_roots}
        if self.elicit is not None:
            offered["elicitation_callback"] = self.fill_form
        if self.require_provider is not None:
            offered["sampling_callback"] = self.sample
        return offered

    async def list_roots(self, context: ClientRequestContext) -> ListRootsResult:
        """The working directory."""
        from mcp_types import ListRootsResult, Root

        uri: Any = self.working_dir.as_uri()
        return ListRootsResult(roots=[Root(uri=uri, name=self.working_dir.name or None)])

    async def fill_form(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult | ErrorData:
        """What the user fills in; fields that are left out get the defaults of the form."""
        from mcp_types import ElicitResult

        if params.mode != "form" or self.elicit is None:
            return _error("only forms can be shown to the user, and no pages of others")
        schema: dict[str, Any] = plain(params.requested_schema)
        answer = self.elicit(self.server, description_of(params.message), schema)
        fields = await answer if isawaitable(answer) else answer
        if not isinstance(fields, dict):
            return ElicitResult(action="decline" if fields is False else "cancel")
        return ElicitResult(action="accept", content={**_defaults(schema), **cast("dict[str, Any]", fields)})

    async def sample(
        self, context: ClientRequestContext, params: CreateMessageRequestParams
    ) -> CreateMessageResult | ErrorData:
        """An answer of the session's model to text; it gets no tools and knows nothing of the session."""
        from mcp_types import CreateMessageResult, TextContent

        try:
            assert self.require_provider is not None
            provider, request = self.require_provider(), _to_request(params)
            response = await provider.complete(request)
        except Exception as error:
            logger.warning("MCP server %s: its sampling request failed: %s", self.server, error_line(error))
            return _error(f"sampling failed: {type(error).__name__}")
        text = text_of([plain(block) for block in response.content])
        model = str(getattr(response, "model", None) or provider.name)
        return CreateMessageResult(role="assistant", content=TextContent(text=text), model=model)


def _to_request(params: CreateMessageRequestParams) -> ChatRequest:
    messages = [Message(role="system", content=params.system_prompt)] if params.system_prompt else []
    for each in params.messages:
        texts = [block.text for block in each.content_as_list if block.type == "text"]
        if len(texts) < len(each.content_as_list):
            raise ValueError("only text can be sampled")
        messages.append(Message(role=each.role, content="\n".join(texts)))
    return ChatRequest(
        messages=messages,
        max_output_tokens=min(params.max_tokens, _MOST_SAMPLED_TOKENS),
        temperature=params.temperature,
        stop=params.stop_sequences,
        metadata={"stream": False},
    )


def _defaults(schema: dict[str, Any]) -> dict[str, Any]:
    fields: Any = schema.get("properties")
    known = cast("dict[str, Any]", fields) if isinstance(fields, dict) else {}
    return {name: each["default"] for name, each in known.items() if isinstance(each, dict) and "default" in each}


def _error(message: str) -> ErrorData:
    from mcp_types import INVALID_REQUEST, ErrorData

    return ErrorData(code=INVALID_REQUEST, message=message)
