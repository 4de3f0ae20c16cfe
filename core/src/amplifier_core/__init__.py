"""Amplifier's kernel: sessions, hooks, mount points and a module loader; mechanisms, no policy.

This is the front door. Names are loaded when they are first used, so that the bare import costs next to nothing; type
checkers see all of them at once.
"""

from __future__ import annotations

from importlib import import_module

# Type checkers know the name; importing it from typing would cost more than all the rest of this file.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from amplifier_core import (
        capabilities,
    )
    from amplifier_core.cancellation import (
        CancellationState,
        CancellationToken,
    )
    from amplifier_core.content_models import (
        ContentBlock,
        ContentBlockType,
        TextContent,
        ThinkingContent,
        ToolCallContent,
        ToolResultContent,
    )
    from amplifier_core.coordinator import (
        ModuleCoordinator,
    )
    from amplifier_core.hooks import (
        HookRegistry,
    )
    from amplifier_core.interfaces import (
        ApprovalProvider,
        ApprovalRequest,
        ApprovalResponse,
        ContextManager,
        HookHandler,
        Orchestrator,
        Provider,
        Tool,
    )
    from amplifier_core.llm_errors import (
        AbortError,
        AccessDeniedError,
        AuthenticationError,
        ConfigurationError,
        ContentFilterError,
        ContextLengthError,
        InvalidRequestError,
        InvalidToolCallError,
        LLMError,
        LLMTimeoutError,
        NetworkError,
        NotFoundError,
        ProviderUnavailableError,
        QuotaExceededError,
        RateLimitError,
        StreamError,
    )
    from amplifier_core.loader import (
        ModuleLoader,
        ModuleValidationError,
    )
    from amplifier_core.message_models import (
        ChatRequest,
        ChatResponse,
        Degradation,
        ImageBlock,
        Message,
        ReasoningBlock,
        RedactedThinkingBlock,
        ResponseFormat,
        ResponseFormatJson,
        ResponseFormatJsonSchema,
        ResponseFormatText,
        TextBlock,
        ThinkingBlock,
        ToolCall,
        ToolCallBlock,
        ToolResultBlock,
        ToolSpec,
        Usage,
    )
    from amplifier_core.models import (
        ConfigField,
        ContextInjection,
        HookResult,
        ModelInfo,
        ModuleInfo,
        Pricing,
        ProviderInfo,
        SessionStatus,
        ToolResult,
    )
    from amplifier_core.session import (
        AmplifierSession,
    )
    from amplifier_core.testing import (
        EventRecorder,
        MockContextManager,
        MockCoordinator,
        MockTool,
        ScriptedOrchestrator,
        create_test_coordinator,
        wait_for,
    )
    from amplifier_core.utils.retry import (
        RetryConfig,
        classify_error_message,
        retry_with_backoff,
    )

    RustSession = AmplifierSession
    RustHookRegistry = HookRegistry
    RustCoordinator = ModuleCoordinator
    RustCancellationToken = CancellationToken

__version__ = "3.0.0"

RUST_AVAILABLE = False
"""Kept for code that asks; this kernel is pure Python."""

_NAMES_BY_HOME: dict[str, tuple[str, ...]] = {
    "cancellation": (
        "CancellationState",
        "CancellationToken",
    ),
    "content_models": (
        "ContentBlock",
        "ContentBlockType",
        "TextContent",
        "ThinkingContent",
        "ToolCallContent",
        "ToolResultContent",
    ),
    "coordinator": ("ModuleCoordinator",),
    "hooks": ("HookRegistry",),
    "interfaces": (
        "ApprovalProvider",
        "ApprovalRequest",
        "ApprovalResponse",
        "ContextManager",
        "HookHandler",
        "Orchestrator",
        "Provider",
        "Tool",
    ),
    "llm_errors": (
        "AbortError",
        "AccessDeniedError",
        "AuthenticationError",
        "ConfigurationError",
        "ContentFilterError",
        "ContextLengthError",
        "InvalidRequestError",
        "InvalidToolCallError",
        "LLMError",
        "LLMTimeoutError",
        "NetworkError",
        "NotFoundError",
        "ProviderUnavailableError",
        "QuotaExceededError",
        "RateLimitError",
        "StreamError",
    ),
    "loader": (
        "ModuleLoader",
        "ModuleValidationError",
    ),
    "message_models": (
        "ChatRequest",
        "ChatResponse",
        "Degradation",
        "ImageBlock",
        "Message",
        "ReasoningBlock",
        "RedactedThinkingBlock",
        "ResponseFormat",
        "ResponseFormatJson",
        "ResponseFormatJsonSchema",
        "ResponseFormatText",
        "TextBlock",
        "ThinkingBlock",
        "ToolCall",
        "ToolCallBlock",
        "ToolResultBlock",
        "ToolSpec",
        "Usage",
    ),
    "models": (
        "ConfigField",
        "ContextInjection",
        "HookResult",
        "ModelInfo",
        "ModuleInfo",
        "Pricing",
        "ProviderInfo",
        "SessionStatus",
        "ToolResult",
    ),
    "session": ("AmplifierSession",),
    "testing": (
        "EventRecorder",
        "MockContextManager",
        "MockCoordinator",
        "MockTool",
        "ScriptedOrchestrator",
        "create_test_coordinator",
        "wait_for",
    ),
    "utils.retry": (
        "RetryConfig",
        "classify_error_message",
        "retry_with_backoff",
    ),
}
_HOMES = {name: (home, name) for home, names in _NAMES_BY_HOME.items() for name in names} | {
    "RustSession": ("session", "AmplifierSession"),
    "RustHookRegistry": ("hooks", "HookRegistry"),
    "RustCoordinator": ("coordinator", "ModuleCoordinator"),
    "RustCancellationToken": ("cancellation", "CancellationToken"),
}

__all__ = [
    "RUST_AVAILABLE",
    "AbortError",
    "AccessDeniedError",
    "AmplifierSession",
    "ApprovalProvider",
    "ApprovalRequest",
    "ApprovalResponse",
    "AuthenticationError",
    "CancellationState",
    "CancellationToken",
    "ChatRequest",
    "ChatResponse",
    "ConfigField",
    "ConfigurationError",
    "ContentBlock",
    "ContentBlockType",
    "ContentFilterError",
    "ContextInjection",
    "ContextLengthError",
    "ContextManager",
    "Degradation",
    "EventRecorder",
    "HookHandler",
    "HookRegistry",
    "HookResult",
    "ImageBlock",
    "InvalidRequestError",
    "InvalidToolCallError",
    "LLMError",
    "LLMTimeoutError",
    "Message",
    "MockContextManager",
    "MockCoordinator",
    "MockTool",
    "ModelInfo",
    "ModuleCoordinator",
    "ModuleInfo",
    "ModuleLoader",
    "ModuleValidationError",
    "NetworkError",
    "NotFoundError",
    "Orchestrator",
    "Pricing",
    "Provider",
    "ProviderInfo",
    "ProviderUnavailableError",
    "QuotaExceededError",
    "RateLimitError",
    "ReasoningBlock",
    "RedactedThinkingBlock",
    "ResponseFormat",
    "ResponseFormatJson",
    "ResponseFormatJsonSchema",
    "ResponseFormatText",
    "RetryConfig",
    "RustCancellationToken",
    "RustCoordinator",
    "RustHookRegistry",
    "RustSession",
    "ScriptedOrchestrator",
    "SessionStatus",
    "StreamError",
    "TextBlock",
    "TextContent",
    "ThinkingBlock",
    "ThinkingContent",
    "Tool",
    "ToolCall",
    "ToolCallBlock",
    "ToolCallContent",
    "ToolResult",
    "ToolResultBlock",
    "ToolResultContent",
    "ToolSpec",
    "Usage",
    "capabilities",
    "classify_error_message",
    "create_test_coordinator",
    "retry_with_backoff",
    "wait_for",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        home, attribute = _HOMES[name]
        value = getattr(import_module(f"{__name__}.{home}"), attribute)
    else:
        value = _submodule(name)
    globals()[name] = value
    return value


def _submodule(name: str) -> Any:
    try:
        if name.isidentifier():
            return import_module(f"{__name__}.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"{__name__}.{name}":
            raise
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
