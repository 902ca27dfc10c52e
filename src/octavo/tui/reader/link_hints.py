"""Link hints: letters at links that open them when typed."""

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
"""Most links with one letter each. If there are more links, each gets two letters."""
_LEVEL = Style(bold=False, italic=False, underline=False, strike=False, reverse=False)


def labels(count: int) -> list[str]:
    """Return `count` labels, none of which is the beginning of another."""
    if count <= _SHORT:
        return list(_LETTERS[:count])
    return [first + second for first in _LETTERS for second in _LETTERS][:count]


@dataclass
class Hints:
    """The hints that are shown, and the letters typed so far."""

    hots: Sequence[ClickableSpan]
    """Clickable spans in reading order. A link over several lines occurs several times."""
    typed: str = ""
    upper: bool = False
    by_label: dict[str, ClickableSpan] = field(init=False)

    def __post_init__(self) -> None:
        once = list({id(hot.clickable): hot for hot in reversed(self.hots)}.values())[::-1]
        self.by_label = dict(zip(labels(len(once)), once, strict=False))

    def press(self, letter: str) -> ClickableSpan | bool:
        """Type a letter. Return the link it opens, or True if some label begins with the typed letters."""
        self.upper = self.upper or letter.isupper()
        self.typed += letter.lower()
        if (hot := self.by_label.get(self.typed)) is not None:
            return hot
        return any(label.startswith(self.typed) for label in self.by_label)

    @property
    def rows(self) -> set[int]:
        """Rows with a clickable span."""
        return {hot.line for hot in self.hots}

    @property
    def said(self) -> tuple[str, ...]:
        """Parts of the help text for hints."""
        letters = "type two letters" if len(self.by_label) > _SHORT else "type a letter"
        if self.typed:
            letters = f"type one more letter after {self.typed}"
        return letters, "capital letters open in browser", "esc cancel"

    @property
    def keys(self) -> tuple[tuple[str, str], ...]:
        """Keys for the key bar."""
        return ("a–z", "follow link"), ("A–Z", "open in browser"), ("escape", "cancel")

    def veil(self, strip: Strip, row: int, line: Line, margin: int, look: Styles, ground: Style) -> Strip:
        """Return the strip of a row with labels at its links and other text dimmed. `line` is the line of the row,
        after a margin."""
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
    """Yield True for each cell that a label may cover: a blank or the bullet of a list item."""
    for text, _, spot, furniture in line.pieces:
        if furniture and spot is None and text.strip() in bullets:
            yield from repeat(True, cells(text))
            continue
        for start, end, wide in split_graphemes(text)[0]:
            yield from repeat(text[start:end].isspace(), wide)


def chip_of(free: Sequence[bool], start: int, end: int, label: str) -> tuple[int, str]:
    """Return the column and the text of a label at the link in cells `start` to `end`.

    The label is in free cells before the first word of the link, with a blank between the label and other words. If
    there are too few free cells, the label covers the beginning of the word, but no cell from `end` on."""
    size = len(label)
    first = next((cell for cell in range(start, min(end, len(free))) if not free[cell]), start)
    found = (room for room in range(size + 3) if first - room < 1 or not free[first - room - 1])
    room = next(found, size + 3)
    room -= 0 if room == first else min(room, 1)  # In the first column, no blank is needed before the label.
    if room > size:
        before = " " if room > size + 1 else ""
        return first - size - 1 - len(before), f"{before}{label} "
    after = first - room + size
    return first - room, label + (" " if after < end or after >= len(free) or free[after] else "")
