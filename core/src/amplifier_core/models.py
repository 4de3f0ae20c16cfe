"""Data that crosses module boundaries: answers of tools and hooks, descriptions of models and modules, session status.

Annotations are evaluated here on purpose: pydantic builds models faster from types than from their source text.
"""

import re
from collections.abc import Mapping
from copy import deepcopy
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal, Self, cast

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)
from typing_extensions import override

from amplifier_core._tool_content import normalize_content, without_images
from amplifier_core.message_models import CostUSD, ImageBlock, TextBlock

InjectionRole = Literal["system", "user", "assistant"]

_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_CURRENCY = re.compile("[A-Z]{3}")


def _json_default(obj: object) -> str:
    if isinstance(obj, Decimal):
        return str(obj)
    raise TypeError(f"Object of type {type(obj).__name__} is not JSON serializable")


def sanitize_for_llm(text: str) -> str:
    """``text`` without control characters and lone surrogates, which some providers refuse; tab and line ends stay."""
    return _UNPRINTABLE.sub("", text)


# Modules written for older kernels import it under this name.
_sanitize_for_llm = sanitize_for_llm


def _now() -> datetime:
    # Not ``datetime.now`` itself as the factory: pydantic reads its signature, which takes long for a built-in.
    return datetime.now()


class ToolResult(BaseModel):
    """What a tool gives back; ``content`` is for results that are more than text.

    ``is_error=True`` is taken for ``success=False``. A failure without output takes its error's message for output.
    """

    model_config = ConfigDict(validate_assignment=True, hide_input_in_errors=True)

    success: bool = True
    output: Any | None = None
    error: dict[str, Any] | None = None
    content: list[TextBlock | ImageBlock] | None = None

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            success: bool = True,
            output: Any | None = None,
            error: dict[str, Any] | None = None,
            content: list[Any] | None = None,
            is_error: bool = False,
        ) -> None: ...

    @model_validator(mode="before")
    @classmethod
    def _read_is_error(cls, data: object) -> object:
        if not isinstance(data, dict):
            return data
        fields = cast("dict[str, Any]", data)
        return {**fields, "success": False} if fields.get("is_error") else fields

    @field_validator("content", mode="before")
    @classmethod
    def _check_content(cls, content: object) -> list[dict[str, Any]] | None:
        return normalize_content(content)

    @override
    def model_post_init(self, context: Any, /) -> None:
        message = self._error_message()
        if not self.success and self.output is None and message:
            self.output = message

    # No return annotation: pydantic would take it for the JSON Schema and lose the fields.
    @model_serializer(mode="wrap")
    def _leave_out_empty_content(self, dump: SerializerFunctionWrapHandler):
        content = normalize_content(self.content)
        fields: dict[str, Any] = dump(self)
        if content is None:
            fields.pop("content", None)
        elif "content" in fields:
            fields["content"] = content
        return fields

    @override
    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy that is validated anew, so that ``update`` cannot smuggle anything in."""
        fields = {**self.__dict__, **(self.model_extra or {})}
        return type(self).model_validate({**(deepcopy(fields) if deep else fields), **(update or {})})

    def get_serialized_output(self) -> str:
        """The output as the text a model reads: JSON for dicts and lists, clean of control characters.

        Raises ``TypeError`` for a dict or list with something in it that is not JSON.
        """
        output: Any = self.output
        if output is None:
            text = "Success" if self.success else f"Error: {self._error_message('Unknown error') or 'Failed'}"
        elif isinstance(output, (dict, list)):
            import json  # not needed to start a session

            text = json.dumps(cast("Any", output), default=_json_default)
        else:
            text = str(output)
        return sanitize_for_llm(text)

    def safe_hook_presentation(self) -> dict[str, Any]:
        """The result as event data, with images left out."""
        fields: dict[str, Any] = {"success": self.success, "output": self.output, "error": self.error}
        content = normalize_content(self.content)
        return fields if content is None else {**fields, "content": without_images(content)}

    def __str__(self) -> str:
        if self.success:
            return str(self.output) if self.output else "Success"
        return f"Error: {self._error_message('Unknown error')}" if self.error else "Failed"

    def _error_message(self, default: object = None) -> Any:
        return (self.error.get("message") or default) if self.error else None


class ContextInjection(BaseModel):
    """One text that a hook puts into the conversation, with where it came from."""

    content: str
    role: InjectionRole = "system"
    ephemeral: bool = False
    append_to_last_tool_result: bool = False
    hook_name: str = "unknown"
    event: str = ""


def _no_injections() -> list[ContextInjection]:
    # Not ``list`` itself as the factory: pydantic reads its signature at import, which takes long for a built-in.
    return []


class HookResult(BaseModel):
    """What a hook answers to an event.

    Handlers make one per event, so this stays a plain model: a validator or a private attribute slows down every emit.
    """

    action: Literal["continue", "deny", "modify", "inject_context", "ask_user"] = "continue"
    data: dict[str, Any] | None = None
    reason: str | None = None
    context_injection: str | None = None
    context_injection_role: InjectionRole = "system"
    ephemeral: bool = False
    approval_prompt: str | None = None
    approval_options: list[str] | None = None
    approval_timeout: float = 300.0
    approval_default: Literal["allow", "deny"] = "deny"
    suppress_output: bool = False
    user_message: str | None = None
    user_message_level: Literal["info", "warning", "error"] = "info"
    user_message_source: str | None = None
    append_to_last_tool_result: bool = False
    context_injections: list[ContextInjection] = Field(default_factory=_no_injections)


class Pricing(BaseModel):
    """What a model costs per million tokens."""

    input_per_million: float
    output_per_million: float
    cache_read_per_million: float | None = None
    cache_write_per_million: float | None = None
    currency: str = "USD"

    @field_validator("currency")
    @classmethod
    def _check_currency(cls, currency: str) -> str:
        if not _CURRENCY.fullmatch(currency):
            raise ValueError(f"currency must be a 3-letter ISO 4217 code, got {currency!r}")
        return currency


class ModelInfo(BaseModel):
    """A model that a provider offers."""

    id: str
    display_name: str
    context_window: int
    max_output_tokens: int
    capabilities: list[str] = Field(default_factory=list[str])
    defaults: dict[str, Any] = Field(default_factory=dict[str, Any])
    pricing: Pricing | None = None


class ConfigField(BaseModel):
    """One question that an application asks to configure a provider."""

    id: str
    display_name: str
    prompt: str
    field_type: Literal["text", "secret", "choice", "boolean"] = "text"
    env_var: str | None = None
    choices: list[str] | None = None
    required: bool = True
    default: str | None = None
    show_when: dict[str, str] | None = None
    requires_model: bool = False


class ProviderInfo(BaseModel):
    """A provider's description of itself."""

    id: str
    display_name: str
    credential_env_vars: list[str] = Field(default_factory=list[str])
    capabilities: list[str] = Field(default_factory=list[str])
    defaults: dict[str, Any] = Field(default_factory=dict[str, Any])
    config_fields: list[ConfigField] = Field(default_factory=list[ConfigField])


class ModuleInfo(BaseModel):
    """A module that can be mounted."""

    id: str
    name: str
    version: str
    type: Literal["orchestrator", "provider", "tool", "context", "hook", "resolver"]
    mount_point: str
    description: str
    config_schema: dict[str, Any] | None = None


class SessionStatus(BaseModel):
    """Where a session stands and what it used; lives as long as the session."""

    session_id: str
    started_at: datetime = Field(default_factory=_now)
    ended_at: datetime | None = None
    status: Literal["running", "completed", "failed", "cancelled"] = "running"
    total_messages: int = 0
    tool_invocations: int = 0
    tool_successes: int = 0
    tool_failures: int = 0
    total_input_tokens: int = 0
    total_output_tokens: int = 0
    cost_usd: CostUSD | None = None
    last_activity: datetime | None = None
    last_error: dict[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """The status as JSON data, without what is unknown."""
        return self.model_dump(mode="json", exclude_none=True)
