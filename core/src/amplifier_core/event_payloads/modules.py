"""Modules: payloads of the events that tell when a module did not do its part."""

from typing import Annotated, Literal, NotRequired

from pydantic import Field

from amplifier_core.event_payloads.base import EventDefaults

ModuleId = Annotated[str, Field(description="Id of the module as the mount plan names it.")]
ErrorText = Annotated[str, Field(description="Text of the exception.")]


class ModuleLoadFailed(EventDefaults):
    """Emitted by the kernel: a provider, tool or hook module of the plan did not mount.

    The session goes on without it. Handlers of modules that mount later do not see the event; the session's report
    keeps every failure.
    """

    module_type: Annotated[
        Literal["provider", "tool", "hook"],
        Field(description="Kind of the module: the section of the plan it stands in."),
    ]
    module_id: ModuleId
    error: Annotated[str, Field(description="What went wrong, in words.")]
    reason_code: Annotated[
        str,
        Field(description="Stable word for the cause, such as `missing_source`; `unknown` if none fits."),
    ]
    instance_id: NotRequired[
        Annotated[str, Field(description="Name of the provider instance, where the plan gives one.")]
    ]


class ModuleOnSessionReadyFailed(EventDefaults):
    """Emitted by the kernel: a module's `on_session_ready` raised.

    The module stays mounted, and the callbacks of other modules still run.
    """

    module_id: ModuleId
    error: ErrorText


class ModuleConfigUnknown(EventDefaults):
    """Emitted by the kernel: the plan gives a module a config key that the module does not declare.

    Once per key. The module is mounted all the same.
    """

    module_id: ModuleId
    key: Annotated[str, Field(description="The key that nobody reads.")]
    nearest: Annotated[str | None, Field(description="The declared key that resembles it most, or nothing.")]


class ModuleCleanupFailed(EventDefaults):
    """Emitted by the kernel: a clean-up function raised.

    The remaining clean-up functions still run.
    """

    error: ErrorText
    callable: Annotated[str, Field(description="Name of the clean-up function.")]
