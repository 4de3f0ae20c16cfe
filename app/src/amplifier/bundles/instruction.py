"""The system prompt: a bundle's text, the files it asks for and mentions, and the project's instructions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from amplifier.bundles.bundle import ContextFile
from amplifier.bundles.mentions import Passage, Reader, Reading
from amplifier.bundles.project import read_instructions
from amplifier.paths import Places


class PromptWriter:
    """Writes the system prompts of a session and its agents; ``warnings`` tell what had to be left out."""

    def __init__(self, places: Places, namespaces: Mapping[str, Path], *, has_project: bool) -> None:
        self._places = places
        self._namespaces = namespaces
        self._has_project = has_project
        self.warnings: list[str] = []

    def write(self, passage: Passage | None, context: Mapping[str, ContextFile]) -> str:
        """The prompt that begins with ``passage``; every file is in it once, whoever mentions it."""
        reader = Reader(self._namespaces)
        parts: list[str] = []
        if passage is not None:
            passage = self._reaching_project(passage)
            parts.append(passage.text)
            parts += _blocks(reader.read_all(passage))
        for name, file in context.items():
            text = reader.read_file(file.file, (file.root, self._places.project_dir))
            if text is not None:
                parts += _blocks([Reading(name, text), *reader.read_all(text)])
        if self._has_project:
            parts += self._project_parts(reader)
        self.warnings += [warning for warning in reader.warnings if warning not in self.warnings]
        return "\n\n".join(part for part in parts if part)

    def _reaching_project(self, passage: Passage) -> Passage:
        return replace(passage, roots=(*passage.roots, self._places.project_dir))

    def _project_parts(self, reader: Reader) -> Iterable[str]:
        for passage in read_instructions(self._places, reader):
            yield _block("project_instructions", passage.file.name, passage.text)
            yield from _blocks(reader.read_all(passage))


def _blocks(readings: Iterable[Reading]) -> list[str]:
    return [_block("context_file", reading.name, reading.passage.text) for reading in readings]


def _block(tag: str, name: str, text: str) -> str:
    return f'<{tag} name="{name}">\n{text}\n</{tag}>'
