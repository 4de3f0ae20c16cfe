"""Pages as they are shown to a model: text that is turned over in parts, and a few of them kept for turning on."""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import dataclass

# Characters that no reader sees and models read: tags that spell hidden words, marks that turn text around.
_INVISIBLE = re.compile("[\u200b\u2060-\u2064\u202a-\u202e\u2066-\u206f\ufeff\U000e0000-\U000e007f]")


@dataclass(frozen=True, slots=True)
class Image:
    """A picture for models that can look at it."""

    media_type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Page:
    """What a document has become."""

    url: str
    content_type: str
    text: str
    title: str | None = None
    notes: tuple[str, ...] = ()
    """What is missing or odd."""
    is_readable: bool = True
    """Whether ``text`` is the content, and not a description of it."""
    image: Image | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a text; ``offset`` and the rest count bytes of the whole text in UTF-8."""

    content: str
    offset: int
    returned_bytes: int
    total_bytes: int

    @property
    def next_offset(self) -> int | None:
        """Where the next part begins, ``None`` behind the last one."""
        end = self.offset + self.returned_bytes
        return end if end < self.total_bytes else None


def to_part(text: str, offset: int, limit: int) -> Part:
    """The part of at most ``limit`` bytes from ``offset`` on, moved so that no character is cut.

    There is always at least one character, so whoever goes on at ``next_offset`` comes to the end.
    """
    data = text.encode("utf-8", "replace")
    begin = _boundary(data, min(offset, len(data)))
    end = _boundary(data, min(begin + limit, len(data)))
    while end <= begin < len(data):
        limit += 1
        end = _boundary(data, min(begin + limit, len(data)))
    return Part(data[begin:end].decode("utf-8"), begin, end - begin, len(data))


def without_invisible(text: str) -> str:
    """The text without characters that only machines see."""
    return _INVISIBLE.sub("", text)


class PageCache:
    """The latest pages of a session by their URLs, as many as fit."""

    def __init__(self, max_pages: int = 16, max_chars: int = 20_000_000) -> None:
        self._max_pages = max_pages
        self._max_chars = max_chars
        self._pages: OrderedDict[str, Page] = OrderedDict()
        self._aliases: dict[str, str] = {}

    def put(self, asked: str, page: Page) -> None:
        """Keeps a page under its own URL and the one that was asked for; the oldest make room."""
        self._forget(page.url)
        self._pages[page.url] = page
        self._aliases[asked] = page.url
        while len(self._pages) > self._max_pages or self._chars() > self._max_chars:
            self._forget(next(iter(self._pages)))

    def get(self, asked: str) -> Page | None:
        """The page, if it is still there."""
        url = self._aliases.get(asked, asked)
        if url not in self._pages:
            return None
        self._pages.move_to_end(url)
        return self._pages[url]

    def clear(self) -> None:
        """Forgets everything."""
        self._pages.clear()
        self._aliases.clear()

    def _forget(self, url: str) -> None:
        self._pages.pop(url, None)
        self._aliases = {alias: of for alias, of in self._aliases.items() if of != url}

    def _chars(self) -> int:
        return sum(len(page.text) for page in self._pages.values())


def _boundary(data: bytes, position: int) -> int:
    while 0 < position < len(data) and data[position] & 0xC0 == 0x80:
        position -= 1
    return position
