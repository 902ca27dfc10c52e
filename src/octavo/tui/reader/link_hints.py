"""Letters at what can be opened: typing them opens it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import repeat

from rich.cells import split_graphemes
from rich.style import Style
from textual.strip import Strip

from octavo.tui.render.painting import overlay_text, restyle
from octavo.tui.render.styled_lines import ClickableSpan, Line, cells
from octavo.tui.render.styles import Styles

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

    hots: Sequence[ClickableSpan]
    """What can be opened, in reading order; a link over several lines several times."""
    typed: str = ""
    upper: bool = False
    by_label: dict[str, ClickableSpan] = field(init=False)

    def __post_init__(self) -> None:
        once = list({id(hot.clickable): hot for hot in reversed(self.hots)}.values())[::-1]
        self.by_label = dict(zip(labels(len(once)), once, strict=False))

    def press(self, letter: str) -> ClickableSpan | bool:
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
            letters = f"type one more letter after {self.typed}"
        return letters, "capital letters open in browser", "esc cancel"

    @property
    def keys(self) -> tuple[tuple[str, str], ...]:
        """The keys that do something, for the key bar."""
        return ("a–z", "follow link"), ("A–Z", "open in browser"), ("escape", "cancel")

    def veil(self, strip: Strip, row: int, line: Line, margin: int, look: Styles, ground: Style) -> Strip:
        """The strip of a row, which shows `line` behind a margin, standing back but for what can be opened on it, with
        the letters for that."""
        known = set(map(id, (hot.clickable for hot in self.by_label.values())))
        faded, link = ground + look.faded + _LEVEL, ground + look.text + _LEVEL + Style(dim=False)
        here = [hot for hot in self.hots if hot.line == row and id(hot.clickable) in known]
        strip = restyle(strip, [(0, strip.cell_length, faded), *((hot.start, hot.end, link) for hot in here)])
        free = [True] * margin + list(_free(line, look.glyphs.bullets)) if here else []
        for label, hot in self.by_label.items():
            if hot.line == row and label.startswith(self.typed):
                at, chip = chip_of(free, hot.start, hot.end, label)
                left = label[len(self.typed) :].rjust(len(label))
                strip = overlay_text(strip, at, chip.replace(label, left), ground + look.button)
                free[at : at + len(chip)] = [False] * len(chip)
        return strip


def _free(line: Line, bullets: Sequence[str]) -> Iterator[bool]:
    """Whether each cell says nothing: a blank, or the bullet of an item."""
    for text, _, spot, furniture in line.pieces:
        if furniture and spot is None and text.strip() in bullets:
            yield from repeat(True, cells(text))
            continue
        for start, end, wide in split_graphemes(text)[0]:
            yield from repeat(text[start:end].isspace(), wide)


def chip_of(free: Sequence[bool], start: int, end: int, label: str) -> tuple[int, str]:
    """Where the chip of a label goes, and its text: on the free cells before the first word from `start` on, with a blank
    between it and all words. As far as those do not suffice it lies on the beginning of that word, up to `end`."""
    size = len(label)
    first = next((cell for cell in range(start, min(end, len(free))) if not free[cell]), start)
    found = (room for room in range(size + 3) if first - room < 1 or not free[first - room - 1])
    room = next(found, size + 3)
    room -= 0 if room == first else min(room, 1)  # at the very left there is nothing to stand apart from
    if room > size:
        before = " " if room > size + 1 else ""
        return first - size - 1 - len(before), f"{before}{label} "
    after = first - room + size
    return first - room, label + (" " if after < end or after >= len(free) or free[after] else "")
