"""The settings that every loop understands: in its config for all turns, or as options of one ``execute()``."""

from typing import Any, Self, cast

from pydantic import BaseModel, Field, ValidationError, field_validator

from amplifier_modkit.module_config import ModuleConfig


class LoopSettings(ModuleConfig):
    """What a mount plan may say about a loop; the same keys are options of a single turn."""

    max_iterations: int = Field(default=-1, ge=-1, description="Model calls per turn; -1 is no limit.")
    default_provider: str | None = Field(default=None, description="Name of the provider to ask first.")
    provider_fallback: bool = Field(default=False, description="Whether another provider is asked when one fails.")
    model: str | None = Field(default=None, description="Id of the model; the provider's own default without it.")
    extended_thinking: bool = Field(default=False, description="Whether the model is asked to think at length.")
    reasoning_effort: str | None = Field(default=None, description="How hard to think, in the vendor's words.")
    temperature: float | None = Field(default=None, description="How freely the model chooses its words.")
    max_output_tokens: int | None = Field(default=None, ge=1, description="Length of one answer at most.")
    timeout: float | None = Field(default=None, gt=0, description="Seconds that one model call may take.")
    tool_timeout: float | None = Field(default=None, gt=0, description="Seconds that one tool call may take.")
    max_parallel_tools: int = Field(default=8, ge=0, description="Tool calls that run at the same time; 0 is no limit.")
    validate_arguments: bool = Field(default=True, description="Whether arguments must fit the tool's schema.")
    max_retries: int = Field(default=2, ge=0, description="Further attempts after an error that may pass.")
    min_retry_delay: float = Field(default=1.0, ge=0, description="Seconds before the first further attempt.")
    max_retry_delay: float = Field(default=60.0, ge=0, description="Seconds to wait for a further attempt at most.")
    repeat_reminder_after: int = Field(default=3, ge=0, description="Equal calls in a row until a reminder; 0: never.")
    repeat_stop_after: int = Field(default=8, ge=0, description="Equal calls in a row until the turn ends; 0: never.")
    output_schema: dict[str, Any] | None = Field(default=None, description="JSON Schema that the answer must fit.")

    @field_validator("output_schema", mode="before")
    @classmethod
    def _schema_of_model(cls, schema: Any) -> Any:
        if isinstance(schema, type) and issubclass(schema, BaseModel):
            return schema.model_json_schema()
        return cast("Any", schema)

    def for_turn(self, options: dict[str, Any]) -> Self:
        """These settings with the ``options`` of one turn; raises ``TypeError`` for an option that does not exist."""
        given = {name: value for name, value in options.items() if value is not None}
        if not given:
            return self
        try:
            return type(self).model_validate({**self.model_dump(exclude_unset=True), **given})
        except ValidationError as error:
            problem = error.errors(include_url=False, include_input=False)[0]
            known = ", ".join(sorted((*type(self).model_fields, "provider")))
            told = f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}"
            raise TypeError(f"An option of execute() is not right: {told}. Options are: {known}") from error
