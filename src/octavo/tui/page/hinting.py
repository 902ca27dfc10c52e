"""Letters at what can be opened: typing them opens it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import repeat

from rich.cells import split_graphemes
from rich.style import Style
from textual.strip import Strip

from octavo.tui.page.lines import Hot, Line, cells
from octavo.tui.page.look import Look
from octavo.tui.page.painting import over, restyled

_LETTERS = "asdfghjklqwertyuiopzxcvbnm"
_SHORT = 20
"""How many places get one letter; of more, each gets two."""
_LEVEL = Style(bold=False, italic=False, underline=False, strike=False, reverse=False)


def labels(count: int) -> list[str]:
    """`count` labels, none of which another begins with."""
    if count <= _SHORT:
        return list(_LETTERS[:count])
    return [first + second for first in _LETTERS for second in _LETTERS][:count]


@dataclass
class Hints:
    """The labels on show, and what has been typed of one."""

    hots: Sequence[Hot]
    """What can be opened, in reading order; a link over several lines several times."""
    typed: str = ""
    upper: bool = False
    by_label: dict[str, Hot] = field(init=False)

    def __post_init__(self) -> None:
        once = list({id(hot.spot): hot for hot in reversed(self.hots)}.values())[::-1]
        self.by_label = dict(zip(labels(len(once)), once, strict=False))

    def press(self, letter: str) -> Hot | bool:
        """One more letter: what it opens; else whether any label still begins with what was typed."""
        self.upper = self.upper or letter.isupper()
        self.typed += letter.lower()
        if (hot := self.by_label.get(self.typed)) is not None:
            return hot
        return any(label.startswith(self.typed) for label in self.by_label)

    @property
    def rows(self) -> set[int]:
        """The rows that have something to open."""
        return {hot.line for hot in self.hots}

    @property
    def said(self) -> tuple[str, ...]:
        """What can be done, in parts."""
        letters = "type two letters" if len(self.by_label) > _SHORT else "type a letter"
        if self.typed:
            letters = f"{self.typed} and a letter"
        return letters, "upper case opens the browser", "esc"

    def veil(self, strip: Strip, row: int, line: Line, margin: int, look: Look, ground: Style) -> Strip:
        """The strip of a row, which shows `line` behind a margin, standing back but for what can be opened on it, with
        the letters for that."""
        known = set(map(id, (hot.spot for hot in self.by_label.values())))
        faded, link = ground + look.faded + _LEVEL, ground + look.text + _LEVEL + Style(dim=False)
        here = [hot for hot in self.hots if hot.line == row and id(hot.spot) in known]
        strip = restyled(strip, [(0, strip.cell_length, faded), *((hot.start, hot.end, link) for hot in here)])
        free = [True] * margin + list(_free(line)) if here else []
        for label, hot in self.by_label.items():
            if hot.line == row and label.startswith(self.typed):
                size = len(label)
                at = place_of(free, hot.start, size)
                strip = over(strip, at, label[len(self.typed) :].rjust(size), ground + look.button)
                free[at : at + size] = [False] * size
        return strip


def _free(line: Line) -> Iterator[bool]:
    """Whether each cell has no word in it and nothing to open: a blank, a bullet, a border."""
    for text, _, spot, furniture in line.pieces:
        if furniture and spot is None:
            yield from repeat(True, cells(text))
            continue
        for start, end, wide in split_graphemes(text)[0]:
            yield from repeat(text[start:end].isspace(), wide)


def place_of(free: Sequence[bool], start: int, size: int) -> int:
    """Where a label of `size` cells goes: right before the first word from `start` on, as far as there are free cells. When
    it covers the beginning of that word it leaves a blank after the word before: words stay apart."""
    first = next((cell for cell in range(start, min(start + size, len(free))) if not free[cell]), start + size)
    room = next((room for room in range(size) if first - room < 1 or not free[first - room - 1]), size)
    if 0 < room < size and first - room >= 1 and not free[first - room - 1]:
        room -= 1
    return first - room
