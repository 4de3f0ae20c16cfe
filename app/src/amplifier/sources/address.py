"""What a source says: a folder, a repository, an archive or an installed package, taken apart and checked as text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Literal, cast
from urllib.parse import SplitResult, unquote, urlsplit

from amplifier.problems import SourceProblem

Kind = Literal["path", "git", "zip", "package"]

SECURE = ("https", "ssh", "file")
_ALONE_AT_HOME = ("http", "git")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_ZIP_SCHEMES = ("https", "http", "file")
_REF = re.compile(r"[A-Za-z0-9_][\w./+-]{0,200}")
_PACKAGE = re.compile(r"(?:package:|installed:)?(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)")
_USERINFO = re.compile(r"(?P<plain>ssh://[^@:/\s]+@)|(?<=://)[^@/\s]+@")
_FORMS = "./folder, git+https://host/repository@ref#subdirectory=folder, https://host/file.zip, or package:NAME"


@dataclass(frozen=True, slots=True)
class Address:
    """A source as it is written, and what that means."""

    kind: Kind
    text: str
    """What the lock knows it by."""
    place: str
    """The folder, the URL without ``git+`` and ref, the archive, or the name of the package."""
    ref: str | None = None
    """The branch, tag or commit of a repository; the default branch without one."""
    subdirectory: str = ""

    @property
    def is_local(self) -> bool:
        """Whether nothing has to come over a network."""
        return self.kind in ("path", "package") or not urlsplit(self.place).scheme


def parse_source(given: Any, base: Path) -> Address:
    """The address that a text or a mapping (``git``, ``path``, ``zip`` or ``package``) names.

    Paths start in ``base``. Raises ``SourceProblem`` for what is no source, has a password inside, or would come over
    an open connection.
    """
    text = source_text(given)
    if text.startswith("git+"):
        return _git(text)
    if text.startswith(("zip+", "https://", "http://")):
        return _zip(text, text.removeprefix("zip+"))
    if text.startswith("file://"):
        return _file(text)
    if text.startswith((".", "/", "~")) or "/" in text or text.endswith(".zip"):
        return _path(text, base)
    named = _PACKAGE.fullmatch(text)
    if named is None:
        raise SourceProblem(f"{told(text)!r} is no source.", f"Expected {_FORMS}.")
    return Address("package", f"package:{named['name']}", named["name"])


def source_text(given: Any) -> str:
    """A source in one line, whatever the form it was written in."""
    if isinstance(given, str) and given and given.isprintable() and given == given.strip():
        return given
    fields: Mapping[str, Any] = cast("Mapping[str, Any]", given) if isinstance(given, Mapping) else {}
    kind = next((kind for kind in ("git", "zip", "path", "package") if isinstance(fields.get(kind), str)), None)
    if kind is None:
        raise SourceProblem(f"{told(str(cast('object', given)))!r:.200} is no source.", f"Expected {_FORMS}.")
    place, inner = str(fields[kind]), str(fields.get("subdirectory") or "")
    fragment = f"#subdirectory={inner}" if inner else ""
    if kind == "git":
        ref = f"@{fields['ref']}" if fields.get("ref") else ""
        return source_text(f"git+{place.removeprefix('git+')}{ref}{fragment}")
    if kind == "package":
        return source_text(f"package:{place}")
    return source_text(f"{place}{fragment}")


def told(text: str) -> str:
    """``text`` without the user names, passwords and tokens of its addresses, for messages."""
    return _USERINFO.sub(lambda found: found["plain"] or "", text)


def _git(text: str) -> Address:
    parts = _parsed(text.removeprefix("git+"), text)
    if parts.scheme not in (*SECURE, *_ALONE_AT_HOME):
        raise SourceProblem(
            f"{told(text)!r} cannot be fetched: git+{parts.scheme} is not a way to get a repository.",
            "Use git+https://, git+ssh:// or git+file://.",
        )
    _require_no_secret(parts, text)
    _require_closed_connection(parts, text)
    path, _, ref = parts.path.rpartition("@") if "@" in parts.path else (parts.path, "", "")
    if ref and not _REF.fullmatch(ref):
        raise SourceProblem(f"{told(text)!r} names {ref!r}, which is no branch, tag or commit.", f"Expected {_FORMS}.")
    url = parts._replace(path=path, fragment="", query="").geturl()
    return Address("git", text, url, ref or None, _subdirectory(parts, text))


def _zip(text: str, url: str) -> Address:
    parts = _parsed(url, text)
    if parts.scheme not in _ZIP_SCHEMES:
        raise SourceProblem(
            f"{told(text)!r} cannot be fetched: zip+{parts.scheme} is not a way to get an archive.",
            "Use https://, or the path of a file.",
        )
    if parts.scheme == "file":
        return Address("zip", text, unquote(parts.path), None, _subdirectory(parts, text))
    if not text.startswith("zip+") and not parts.path.endswith(".zip"):
        raise SourceProblem(
            f"{told(text)!r} does not end with .zip, and an address without git+ is that of an archive.",
            f"For a repository: git+{told(text)}; for an archive: zip+{told(text)}",
        )
    _require_no_secret(parts, text)
    _require_closed_connection(parts, text)
    return Address("zip", text, parts._replace(fragment="").geturl(), None, _subdirectory(parts, text))


def _file(text: str) -> Address:
    parts = _parsed(text, text)
    path = unquote(parts.path)
    return Address("zip" if path.endswith(".zip") else "path", text, path, None, _subdirectory(parts, text))


def _path(text: str, base: Path) -> Address:
    given, _, fragment = text.partition("#")
    try:
        path = base / Path(given).expanduser()
    except RuntimeError:
        raise SourceProblem(f"{told(text)!r} is in the home of nobody known here.", f"Expected {_FORMS}.") from None
    inner = _subdirectory(urlsplit(f"#{fragment}"), text)
    return Address("zip" if path.suffix == ".zip" else "path", text, str(path), None, inner)


def _parsed(url: str, text: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise SourceProblem(f"{told(text)!r} is no address: {error}.", f"Expected {_FORMS}.") from None
    host = parts.hostname or ""
    if (not host and parts.scheme != "file") or host.startswith("-") or not parts.path.strip("/"):
        raise SourceProblem(f"{told(text)!r} names no host and path.", f"Expected {_FORMS}.")
    return parts


def _subdirectory(parts: SplitResult, text: str) -> str:
    if not parts.fragment:
        return ""
    name, _, value = parts.fragment.partition("=")
    path = PurePosixPath(unquote(value))
    is_inside = value and not path.is_absolute() and ".." not in path.parts and "\\" not in value and "\0" not in value
    if name != "subdirectory" or not is_inside:
        raise SourceProblem(
            f"{told(text)!r} ends with '#{parts.fragment}'; expected #subdirectory=FOLDER, a folder inside it.",
            f"Expected {_FORMS}.",
        )
    return str(path)


def _require_no_secret(parts: SplitResult, text: str) -> None:
    # What is in an address ends in lock files, logs and lists of processes.
    if parts.password is not None or (parts.username is not None and parts.scheme != "ssh"):
        raise SourceProblem(
            f"The source {told(text)!r} has a user name or a password in its address.",
            "Take it out, and let git ask its credential helper, or use git+ssh://.",
        )


def _require_closed_connection(parts: SplitResult, text: str) -> None:
    if parts.scheme in _ALONE_AT_HOME and parts.hostname not in _LOOPBACK:
        raise SourceProblem(
            f"{told(text)!r} would come over a connection that anybody on the way can change.",
            "Use https:// or ssh://.",
        )
