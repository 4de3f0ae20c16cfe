"""The process in which pages are converted: one job from its input, one answer to its output.

What a page makes a library do (run for ever, take all memory, crash) happens here, and costs one answer. Nothing of the
kernel is imported, so that starting takes a moment only.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any, BinaryIO

from amplifier_module_tool_web.charset import to_text
from amplifier_module_tool_web.markdown import to_markdown
from amplifier_module_tool_web.pages import without_invisible
from amplifier_module_tool_web.pdf import PdfLimits, UnreadablePdfError
from amplifier_module_tool_web.pdf import to_text as pdf_to_text

_MOST_MEMORY = 2 << 30


def main(source: BinaryIO, sink: BinaryIO) -> None:
    """Reads a line of JSON that describes the job, and the content behind it; writes the answer as JSON.

    What limits the process stays in force: it is for a process that ends afterwards.
    """
    job = json.loads(source.readline())
    limit_resources(job["max_seconds"])
    told = json.dumps(answer(job, source.read()), ensure_ascii=False)
    sink.write(told.encode("utf-8", "replace"))
    sink.flush()


def answer(job: dict[str, Any], data: bytes) -> dict[str, Any]:
    """What the content converts to: ``text``, ``title``, ``notes``; or an ``error``, or the ``missing`` library."""
    try:
        return _cleaned(_page(job, data) if job["kind"] == "html" else _pdf(job, data), job["max_chars"])
    except UnreadablePdfError as error:
        return {"error": str(error)}
    except ImportError as error:
        return {"missing": error.name}
    except Exception as error:
        return {"error": f"The content cannot be converted ({type(error).__name__})"}


def limit_resources(max_seconds: float) -> None:
    """Bounds memory and processor time, and forbids files, where the system can do so."""
    try:
        import resource
    except ImportError:  # no such thing on Windows; the time limit of whoever started us holds there as well
        return
    seconds = int(max_seconds) + 1
    for what, value in (
        (resource.RLIMIT_AS, _MOST_MEMORY),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(what)
        with suppress(ValueError, OSError):  # some systems know a limit and do not let it be set
            resource.setrlimit(what, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))


def _cleaned(page: dict[str, Any], max_chars: int) -> dict[str, Any]:
    text, notes = without_invisible(page["text"]), page["notes"]
    if len(text) > max_chars:
        text, notes = text[:max_chars], [*notes, f"the text was cut after {max_chars} characters"]
    return {"text": text, "title": without_invisible(page["title"] or "") or None, "notes": notes}


def _page(job: dict[str, Any], data: bytes) -> dict[str, Any]:
    page = to_markdown(to_text(data, job["charset"], is_marked_up=True), job["base_url"])
    notes = [] if page.is_complete else ["parts of the page are nested too deeply and were left out"]
    return {"text": page.text, "title": page.title, "notes": notes}


def _pdf(job: dict[str, Any], data: bytes) -> dict[str, Any]:
    limits = PdfLimits(job["max_pages"], job["max_chars"], job["max_seconds"] * 0.8)
    pdf = pdf_to_text(data, limits)
    return {"text": pdf.text, "title": pdf.title, "notes": pdf.notes}
