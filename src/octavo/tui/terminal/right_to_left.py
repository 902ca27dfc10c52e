"""Turns round what is written from right to left, for terminals that show letters in the order in which they come."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter

from octavo.tui.terminal.text_direction import FROM_RIGHT, reads_from_right

_FURNITURE = re.compile(r"[\s•◦▪‣☐☑▸▾↳▌●○]*|\s*\d{1,4}\.\s*")
_BORDER = re.compile(r"[\u2500-\u259f]|\s{2,}")


class _Letter(NamedTuple):
    """A letter with the marks on it, and its style."""

    text: str
    style: Style | None


class RightToLeft(LineFilter):
    """Gives the letters of each line the order in which they are seen. What stands in other cells of a table, or behind a
    border or a bullet, is a line of its own."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        if not any(FROM_RIGHT.search(segment.text) for segment in segments):
            return segments
        out: list[Segment] = []
        for stretch in _stretches(segments):
            for letter in _turned(stretch):
                if out and out[-1].style is letter.style:
                    out[-1] = Segment(out[-1].text + letter.text, letter.style)
                else:
                    out.append(Segment(letter.text, letter.style))
        return out


def _stretches(segments: Sequence[Segment]) -> Iterator[list[_Letter]]:
    """The letters of a line, those that are read as one together."""
    stretch: list[_Letter] = []
    for segment in segments:
        if segment.control:
            continue
        at = 0
        text = segment.text
        if _FURNITURE.fullmatch(text) and text != " ":
            yield from (stretch, [_Letter(text, segment.style)])
            stretch = []
            continue
        for border in _BORDER.finditer(text):
            stretch += _letters(text[at : border.start()], segment.style)
            yield from (stretch, [_Letter(border.group(), segment.style)])
            stretch, at = [], border.end()
        stretch += _letters(text[at:], segment.style)
    yield stretch


def _letters(text: str, style: Style | None) -> list[_Letter]:
    found: list[_Letter] = []
    for char in text:
        if found and not cell_len(char):
            found[-1] = _Letter(found[-1].text + char, style)
        else:
            found.append(_Letter(char, style))
    return found


def _turned(stretch: list[_Letter]) -> list[_Letter]:
    """Letters in the order in which they are seen."""
    text = "".join(letter.text[0] for letter in stretch)
    if not FROM_RIGHT.search(text):
        return stretch
    first, last = len(text) - len(text.lstrip()), len(text.rstrip())
    if (first, last) != (0, len(text)):
        return [*stretch[:first], *_turned(stretch[first:last]), *stretch[last:]]
    from_right = reads_from_right(text)
    from bidi import algorithm  # of an extra that not everybody has

    storage = algorithm.get_empty_storage()
    storage["base_level"], storage["base_dir"] = int(from_right), "R" if from_right else "L"
    algorithm.get_embedding_levels(text, storage)
    for at, char in enumerate(storage["chars"]):
        char["at"] = at
    algorithm.explicit_embed_and_overrides(storage, False)
    algorithm.resolve_weak_types(storage, False)
    algorithm.resolve_neutral_types(storage, False)
    algorithm.resolve_implicit_levels(storage, False)
    algorithm.reorder_resolved_levels(storage, False)
    algorithm.apply_mirroring(storage, False)
    order = [(int(char["at"]), str(char["ch"])) for char in storage["chars"]]
    lost = sorted(set(range(len(stretch))) - {at for at, _ in order})
    return [_Letter(char + stretch[at].text[1:], stretch[at].style) for at, char in order] + [
        stretch[at] for at in lost
    ]
