"""Brace expansion: ``{sudo,id}`` is two words before the shell looks at anything else."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from amplifier_modkit.shell.words import Kind, Piece

MOST_WORDS = 200
_MOST_ATOMS = 2_000
_MOST_BRACES = 20
_SEQUENCE = re.compile(r"(-?\d{1,9}|[A-Za-z])\.\.(-?\d{1,9}|[A-Za-z])(?:\.\.(-?\d{1,9}))?")

Atom = str | Piece
"""A character without quotes, or a piece that is taken as a whole."""


class UnknownWordsError(Exception):
    """Braces that stand for more words than anybody needs, or for what shells do not agree about."""


def expand_braces(pieces: Sequence[Piece]) -> list[tuple[Piece, ...]]:
    """The words that ``pieces`` become; a row of no pieces is a word that vanishes.

    Raises ``UnknownWordsError``.
    """
    if not any("{" in piece.text for piece in pieces if _is_open(piece)):
        return [tuple(pieces)]
    atoms: list[Atom] = []
    for piece in pieces:
        atoms.extend(piece.text if _is_open(piece) else [piece])
    if len(atoms) > _MOST_ATOMS or atoms.count("{") > _MOST_BRACES:
        raise UnknownWordsError
    return [tuple(_joined(row)) for row in _expanded(atoms)]


def _is_open(piece: Piece) -> bool:
    return piece.kind is Kind.TEXT and not piece.is_quoted


def _expanded(atoms: list[Atom]) -> list[list[Atom]]:
    for start, atom in enumerate(atoms):
        if atom == "{" and (choices := _choices(atoms, start)) is not None:
            alternatives, end = choices
            if len(alternatives) > MOST_WORDS:
                raise UnknownWordsError
            heads = [atoms[:start] + each for choice in alternatives for each in _expanded(choice)]
            tails = _expanded(atoms[end:])
            if len(heads) * len(tails) > MOST_WORDS:
                raise UnknownWordsError
            return [head + tail for head in heads for tail in tails]
    return [atoms]


def _choices(atoms: list[Atom], start: int) -> tuple[list[list[Atom]], int] | None:
    """What the brace at ``start`` offers, and where it ends; ``None`` if it is no expansion."""
    depth = 0
    commas: list[int] = []
    has_dots = False
    for position in range(start + 1, len(atoms)):
        atom = atoms[position]
        if atom == "," and depth == 0:
            commas.append(position)
        elif atom == "." and depth == 0:
            has_dots = has_dots or atoms[position - 1] == "."
        elif atom == "{":
            depth += 1
        elif atom == "}" and depth:
            depth -= 1
        elif atom == "}" and (commas or has_dots):
            # A brace that closes before there is anything to choose from is a part of what is inside.
            inside = [start, *commas, position]
            return _alternatives(atoms, inside) if commas else _sequence(atoms[start + 1 : position]), position + 1
    return None


def _alternatives(atoms: list[Atom], bounds: list[int]) -> list[list[Atom]]:
    return [atoms[left + 1 : right] for left, right in pairwise(bounds)]


def _sequence(inside: list[Atom]) -> list[list[Atom]]:
    match = _SEQUENCE.fullmatch("".join([atom if isinstance(atom, str) else "\0" for atom in inside]))
    if match is None or match[1].isalpha() != match[2].isalpha():
        raise UnknownWordsError
    as_number = ord if match[1].isalpha() else int
    first, last, step = as_number(match[1]), as_number(match[2]), abs(int(match[3] or 1)) or 1
    if abs(last - first) // step >= MOST_WORDS or (match[1].isalpha() and match[1].islower() != match[2].islower()):
        raise UnknownWordsError
    numbers = range(first, last + 1, step) if first <= last else range(first, last - 1, -step)
    if match[1].isalpha():
        return [[chr(number)] for number in numbers]
    width = max(len(end) for end in match.groups()[:2]) if _is_padded(match[1], match[2]) else 0
    return [list[Atom](f"{number:0{width}d}") for number in numbers]


def _is_padded(*ends: str) -> bool:
    return any(re.match(r"-?0\d", end) for end in ends)


def _joined(atoms: list[Atom]) -> Iterator[Piece]:
    run: list[str] = []
    for atom in [*atoms, None]:
        if isinstance(atom, str):
            run.append(atom)
            continue
        if run:
            yield Piece(Kind.TEXT, "".join(run))
            run = []
        if atom is not None:
            yield atom
