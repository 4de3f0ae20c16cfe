"""The text of a PDF, page by page, as far as limits on pages, characters and time allow.

Runs in the worker process, since PDFs are written by strangers and the library runs at its own pace.
"""

from __future__ import annotations

import io
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


class UnreadablePdfError(Exception):
    """It is no PDF, or one with a password."""


@dataclass(frozen=True, slots=True)
class PdfLimits:
    """How much of a PDF is read."""

    max_pages: int
    max_chars: int
    max_seconds: float


@dataclass(slots=True)
class PdfText:
    """What was read: each page behind a line that tells its number."""

    text: str
    title: str | None
    notes: list[str] = field(default_factory=list[str])


def to_text(data: bytes, limits: PdfLimits, clock: Callable[[], float] = time.monotonic) -> PdfText:
    """The text of the pages; raises ``UnreadablePdfError``. What the limits leave out is told in ``notes``."""
    from pypdf import PdfReader
    from pypdf.errors import PyPdfError

    # The library complains at length about what it can live with.
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    end = clock() + limits.max_seconds
    try:
        reader: Any = PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise UnreadablePdfError("The PDF is protected by a password")
        page_count, title = len(reader.pages), _title(reader)
    except PyPdfError as error:
        raise UnreadablePdfError(f"The PDF cannot be read: {error}") from error
    parts: list[str] = []
    notes: list[str] = []
    size = 0
    for number in range(1, page_count + 1):
        if number > limits.max_pages or size > limits.max_chars or clock() > end:
            notes.append(f"only {number - 1} of {page_count} pages were read")
            break
        part = f"[page {number} of {page_count}]\n{_page_text(reader, number, notes)}"
        parts.append(part)
        size += len(part)
    return PdfText("\n\n".join(parts), title, notes)


def _page_text(reader: Any, number: int, notes: list[str]) -> str:
    try:
        return str(reader.pages[number - 1].extract_text()).strip()
    except Exception as error:  # one page that the library cannot read is no reason to lose the others
        notes.append(f"page {number} could not be read ({type(error).__name__})")
        return ""


def _title(reader: Any) -> str | None:
    try:
        title = reader.metadata.title
    except Exception:
        return None
    return " ".join(title.split()) or None if isinstance(title, str) else None
