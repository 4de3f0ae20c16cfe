"""The event catalogue: the payload of every event of the kernel as a `TypedDict`, and its JSON Schema.

For people, editors and tools; the kernel itself never imports it, so that a session starts without it.
"""

from amplifier_core.event_payloads.approvals import (
    ApprovalDenied,
    ApprovalGranted,
    ApprovalRequired,
    PolicyViolation,
)
from amplifier_core.event_payloads.base import (
    CorrelatedDefaults,
    ErrorDetails,
    EventDefaults,
    Timestamped,
)
from amplifier_core.event_payloads.catalogue import PAYLOADS
from amplifier_core.event_payloads.context import (
    ContextCompaction,
    ContextInclude,
    ContextPostCompact,
    ContextPreCompact,
)
from amplifier_core.event_payloads.model_calls import (
    ContentBlockDelta,
    ContentBlockEnd,
    ContentBlockStart,
    LlmRequest,
    LlmResponse,
    ProviderError,
    ProviderRequest,
    ProviderResolve,
    ProviderResponse,
    ProviderRetry,
    ProviderThrottle,
    ProviderToolSequenceRepaired,
    ThinkingDelta,
    ThinkingFinal,
    TokenUsage,
)
from amplifier_core.event_payloads.modules import (
    ModuleCleanupFailed,
    ModuleConfigUnknown,
    ModuleLoadFailed,
    ModuleOnSessionReadyFailed,
)
from amplifier_core.event_payloads.schema import catalogue_schema, payload_schema
from amplifier_core.event_payloads.session import (
    SessionConfig,
    SessionEnd,
    SessionFork,
    SessionResume,
    SessionStart,
)
from amplifier_core.event_payloads.tools import (
    ArtifactRead,
    ArtifactWrite,
    ToolError,
    ToolPost,
    ToolPre,
)
from amplifier_core.event_payloads.turn import (
    CancelCompleted,
    CancelRequested,
    ExecutionEnd,
    ExecutionStart,
    OrchestratorComplete,
    PlanEnd,
    PlanStart,
    PromptComplete,
    PromptSubmit,
    UserNotification,
)

__all__ = [
    "PAYLOADS",
    "ApprovalDenied",
    "ApprovalGranted",
    "ApprovalRequired",
    "ArtifactRead",
    "ArtifactWrite",
    "CancelCompleted",
    "CancelRequested",
    "ContentBlockDelta",
    "ContentBlockEnd",
    "ContentBlockStart",
    "ContextCompaction",
    "ContextInclude",
    "ContextPostCompact",
    "ContextPreCompact",
    "CorrelatedDefaults",
    "ErrorDetails",
    "EventDefaults",
    "ExecutionEnd",
    "ExecutionStart",
    "LlmRequest",
    "LlmResponse",
    "ModuleCleanupFailed",
    "ModuleConfigUnknown",
    "ModuleLoadFailed",
    "ModuleOnSessionReadyFailed",
    "OrchestratorComplete",
    "PlanEnd",
    "PlanStart",
    "PolicyViolation",
    "PromptComplete",
    "PromptSubmit",
    "ProviderError",
    "ProviderRequest",
    "ProviderResolve",
    "ProviderResponse",
    "ProviderRetry",
    "ProviderThrottle",
    "ProviderToolSequenceRepaired",
    "SessionConfig",
    "SessionEnd",
    "SessionFork",
    "SessionResume",
    "SessionStart",
    "ThinkingDelta",
    "ThinkingFinal",
    "Timestamped",
    "TokenUsage",
    "ToolError",
    "ToolPost",
    "ToolPre",
    "UserNotification",
    "catalogue_schema",
    "payload_schema",
]
