"""The errors of a script: any class of ``amplifier_core.llm_errors`` or of Python itself, by name.

Annotations are evaluated here on purpose: pydantic builds models faster from types than from their source text.
"""

import builtins
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, model_validator

from amplifier_core import llm_errors
from amplifier_core.llm_errors import LLMError


class ErrorItem(BaseModel):
    """An error that a call is to end with; what its class does not take is refused when the script is read."""

    model_config = ConfigDict(extra="forbid", strict=True)

    type: str
    message: str = "The script says so"
    provider: str | None = None
    model: str | None = None
    status_code: int | None = None
    retryable: bool | None = None
    retry_after: float | None = None
    delay_multiplier: float | None = None
    tool_name: str | None = None
    raw_arguments: str | None = None

    def make(self, provider: str, model: str | None) -> BaseException:
        """The error itself, made anew; errors of providers name ``provider`` and ``model`` unless the script does."""
        error_class = _class_named(self.type)
        fields: dict[str, Any] = self.model_dump(exclude_none=True, exclude={"type", "message"})
        if issubclass(error_class, LLMError):
            fields = {"provider": provider, "model": model, **fields}
        try:
            return error_class(self.message, **fields)
        except TypeError as refusal:
            raise ValueError(f"{self.type} cannot be made of a message and {sorted(fields)}: {refusal}") from refusal

    @model_validator(mode="after")
    def _require_that_it_can_be_made(self) -> Self:
        self.make("", None)
        return self


def _class_named(name: str) -> type[BaseException]:
    for home, base in ((llm_errors, LLMError), (builtins, BaseException)):
        found: Any = getattr(home, name, None)
        if isinstance(found, type) and issubclass(found, base):
            return found
    raise ValueError(
        f"there is no error class '{name}'; known are {', '.join(_provider_errors())} and those of Python itself"
    )


def _provider_errors() -> list[str]:
    return sorted(
        name for name, value in vars(llm_errors).items() if isinstance(value, type) and issubclass(value, LLMError)
    )
