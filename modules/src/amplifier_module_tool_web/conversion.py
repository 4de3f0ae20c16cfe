"""From a document to a page: the right conversion for its kind, and words for what cannot be shown."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from amplifier_module_tool_web.charset import to_text
from amplifier_module_tool_web.converter import Converted, Converter, Job
from amplifier_module_tool_web.errors import BadContentError
from amplifier_module_tool_web.fetching import Document
from amplifier_module_tool_web.kinds import ContentType, Kind, declared_kind, image_type, kind_of
from amplifier_module_tool_web.pages import Image, Page, without_invisible

_CHARS_PER_BYTE = 2


@dataclass(frozen=True, slots=True)
class PageSettings:
    """How documents are shown."""

    extract_text: bool = True
    """Whether HTML becomes Markdown; otherwise its source is shown."""
    max_image_bytes: int = 3_500_000
    max_pdf_pages: int = 200
    timeout_s: float = 20.0


class PageMaker:
    """Makes pages of documents; lives as long as the tool that uses it."""

    def __init__(self, settings: PageSettings, converter: Converter | None = None) -> None:
        self._settings = settings
        self._converter = converter or Converter()

    async def to_page(self, document: Document) -> Page:
        """The document as it is shown; raises ``WebError`` if it cannot be."""
        kind = kind_of(document.content_type, document.body.data)
        if kind == "image":
            return self._image(document)
        if kind == "binary" or document.body.is_skipped:
            return _description(document, "Its content is not text")
        converted = await self._converted(document, kind)
        notes = (*_notes(document), *converted.notes)
        return Page(document.target.url, document.content_type.media, converted.text, converted.title, notes)

    async def _converted(self, document: Document, kind: Kind) -> Converted:
        if kind == "pdf":
            if document.body.is_cut:
                raise BadContentError(f"The PDF has more than the {len(document.body.data)} bytes that are fetched.")
            return await self._converter.convert(self._job("pdf", document), document.body.data)
        if kind == "html" and self._settings.extract_text:
            return await self._converter.convert(self._job("html", document), document.body.data)
        # In a thread: where nothing is declared, guessing takes its time.
        return Converted(await asyncio.to_thread(_text, document, is_marked_up=kind == "html"))

    def _job(self, kind: Kind, document: Document) -> Job:
        return Job(
            kind="pdf" if kind == "pdf" else "html",
            base_url=document.target.url,
            charset=document.content_type.charset,
            max_pages=self._settings.max_pdf_pages,
            max_chars=_CHARS_PER_BYTE * max(len(document.body.data), 500_000),
            max_seconds=self._settings.timeout_s,
        )

    def _image(self, document: Document) -> Page:
        body, media_type = document.body, image_type(document.body.data)
        if media_type is None:
            return _description(document, "The image is of a kind that cannot be shown")
        if body.is_cut or len(body.data) > self._settings.max_image_bytes:
            return _description(document, f"An image of more than {self._settings.max_image_bytes} bytes is not shown")
        text = f"[Image: {media_type}, {len(body.data)} bytes]"
        return Page(document.target.url, media_type, text, is_readable=False, image=Image(media_type, body.data))


def is_worth_reading(declared: ContentType, head: bytes) -> bool:
    """Whether a body can be shown at all; what cannot is not downloaded."""
    return (kind_of(declared, head) if head else declared_kind(declared)) != "binary"


def _text(document: Document, *, is_marked_up: bool) -> str:
    return without_invisible(to_text(document.body.data, document.content_type.charset, is_marked_up=is_marked_up))


def _description(document: Document, why: str) -> Page:
    size = document.declared_bytes
    if size is None and not (document.body.is_cut or document.body.is_skipped):
        size = len(document.body.data)
    what = document.content_type.media or "content of unknown type"
    told = "unknown size" if size is None else f"{size} bytes"
    text = f"[{why}: {what}, {told}. To have it as a file, fetch it with 'save_to_file'.]"
    return Page(document.target.url, document.content_type.media, text, is_readable=False)


def _notes(document: Document) -> tuple[str, ...]:
    if not document.body.is_cut:
        return ()
    return (f"the download was stopped after {len(document.body.data)} bytes; the rest is missing",)
