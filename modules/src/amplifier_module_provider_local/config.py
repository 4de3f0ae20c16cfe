"""The config of the module: which model, how it generates, how much it is given to read.

Annotations are evaluated here on purpose: pydantic builds models faster from types than from their source text.
"""

from pathlib import Path

from pydantic import Field

from amplifier_modkit.module_config import ModuleConfig


class LocalConfig(ModuleConfig):
    """Every key with its default."""

    model_path: Path | None = None
    model: str | None = Field(default=None, min_length=1)
    prepare: bool = False
    priority: int = 100

    context_window: int = Field(default=4096, ge=512)
    max_tokens: int = Field(default=256, gt=0)
    temperature: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    repeat_penalty: float = Field(default=1.1, gt=0, allow_inf_nan=False)
    seed: int = Field(default=0, ge=0)
    n_threads: int = Field(default=1, gt=0)
    timeout: float | None = Field(default=None, gt=0, allow_inf_nan=False)

    max_system_chars: int = Field(default=1000, ge=0)
    max_result_chars: int = Field(default=2000, gt=0)

    use_streaming: bool = True
    raw: bool = False
