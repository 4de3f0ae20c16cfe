"""What has become of a command, as the result that the model gets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amplifier_core.models import ToolResult
from amplifier_modkit.processes import KeptProcess


def failure(message: str, kind: str) -> ToolResult:
    """The result of a call that came to nothing."""
    return ToolResult(success=False, error={"message": message, "type": kind})


def finished(process: KeptProcess, missing: Sequence[str]) -> ToolResult:
    """The result of a command that has ended by itself."""
    output = _output(process, missing)
    code = output["returncode"]
    if code == 0:
        return ToolResult(output=output)
    return ToolResult(success=False, output=output, error={"message": f"Exit code {code}", "type": "exit_code"})


def timed_out(process: KeptProcess, timeout_s: float, missing: Sequence[str]) -> ToolResult:
    """The result of a command that was ended because it took too long; with what it had written by then."""
    message = (
        f"Timed out after {timeout_s:g} s and was ended, with everything it had started. Its output so far is here. "
        "Give it more with 'timeout', or run it with 'run_in_background'."
    )
    output = {**_output(process, missing), "timed_out": True}
    return ToolResult(success=False, output=output, error={"message": message, "type": "timeout"})


def _output(process: KeptProcess, missing: Sequence[str]) -> dict[str, Any]:
    outputs = process.outputs
    told: dict[str, Any] = {stream: output.text() for stream, output in outputs.items()}
    told["returncode"] = process.returncode
    if any(output.is_truncated for output in outputs.values()):
        told["truncated"] = True
        told |= {f"{stream}_total_bytes": output.total_bytes for stream, output in outputs.items()}
    if missing:
        told["note"] = note_of(missing)
    return told


def note_of(missing: Sequence[str]) -> str:
    """What a sandbox leaves open, in a sentence."""
    return f"The sandbox is not complete: {'; '.join(missing)}."
