"""Link hints: letters at links that open them when typed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import repeat

from rich.cells import split_graphemes
from rich.style import Style
from textual.events import Click, Key
from textual.strip import Strip

from octavo.documents.blocks import Block
from octavo.tui.reader.block_cursor import BlockCursor
from octavo.tui.reader.viewport import PanePart, Viewport, explain
from octavo.tui.render.painting import bottom_line, overlay_text, restyle
from octavo.tui.render.styled_lines import ClickableSpan, Line, cells, clickable_spans
from octavo.tui.render.styles import Styles
from octavo.tui.widgets.commands import Command, Commands

_LETTERS = "asdfghjklqwertyuiopzxcvbnm"
_MOST_SINGLE_LETTERS = 20
"""Maximum number of links with one letter each. If there are more links, each link gets two letters."""
_PLAIN = Style(bold=False, italic=False, underline=False, strike=False, reverse=False)


def labels(count: int) -> list[str]:
    """Return `count` labels, none of which is the beginning of another."""
    if count <= _MOST_SINGLE_LETTERS:
        return list(_LETTERS[:count])
    return [first + second for first in _LETTERS for second in _LETTERS][:count]


@dataclass
class Hints:
    """The hints that are shown, and the letters typed so far."""

    clickables: Sequence[ClickableSpan]
    """Clickable spans in reading order. A link over several lines occurs several times."""
    typed: str = ""
    outside: bool = False
    by_label: dict[str, ClickableSpan] = field(init=False)

    def __post_init__(self) -> None:
        unique = list({id(each.clickable): each for each in reversed(self.clickables)}.values())[::-1]
        self.by_label = dict(zip(labels(len(unique)), unique, strict=False))

    def press(self, letter: str) -> ClickableSpan | bool:
        """Type a letter. Return the link that it opens. If there is none yet, return True if a label begins with the
        typed letters, False otherwise."""
        self.outside = self.outside or letter.isupper()
        self.typed += letter.lower()
        if (clickable := self.by_label.get(self.typed)) is not None:
            return clickable
        return any(label.startswith(self.typed) for label in self.by_label)

    @property
    def rows(self) -> set[int]:
        """Rows with a clickable span."""
        return {each.line for each in self.clickables}

    @property
    def help_parts(self) -> tuple[str, ...]:
        """Parts of the help text for hints."""
        letters = "type two letters" if len(self.by_label) > _MOST_SINGLE_LETTERS else "type a letter"
        if self.typed:
            letters = f"type one more letter after {self.typed}"
        return letters, "capital letters open in browser", "esc cancel"

    @property
    def keys(self) -> tuple[tuple[str, str], ...]:
        """Keys for the key bar."""
        return ("a–z", "follow link"), ("A–Z", "open in browser"), ("escape", "cancel")

    def with_labels(self, strip: Strip, row: int, line: Line, margin: int, styles: Styles, base_style: Style) -> Strip:
        """Return the strip of a row with labels at its links and other text dimmed. `line` is the line in the row,
        which begins after the margin."""
        known = {id(each.clickable) for each in self.by_label.values()}
        faded, link = base_style + styles.faded + _PLAIN, base_style + styles.text + _PLAIN + Style(dim=False)
        here = [each for each in self.clickables if each.line == row and id(each.clickable) in known]
        strip = restyle(strip, [(0, strip.cell_length, faded), *((each.start, each.end, link) for each in here)])
        free = [True] * margin + list(_free_cells(line, styles.glyphs.bullets)) if here else []
        for label, clickable in self.by_label.items():
            if clickable.line == row and label.startswith(self.typed):
                at, chip = label_position(free, clickable.start, clickable.end, label)
                left = label[len(self.typed) :].rjust(len(label))
                strip = overlay_text(strip, at, chip.replace(label, left), base_style + styles.button)
                free[at : at + len(chip)] = [False] * len(chip)
        return strip


def _free_cells(line: Line, bullets: Sequence[str]) -> Iterator[bool]:
    """Yield True for each cell that a label may cover: a blank or the bullet of a list item."""
    for text, _, clickable_style, is_decoration in line.pieces:
        if is_decoration and clickable_style is None and text.strip() in bullets:
            yield from repeat(True, cells(text))
            continue
        for start, end, wide in split_graphemes(text)[0]:
            yield from repeat(text[start:end].isspace(), wide)


def label_position(free: Sequence[bool], start: int, end: int, label: str) -> tuple[int, str]:
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


class Clickables(PanePart):
    """Clickable spans of a pane: links, expandable blocks, tabs, files, images and buttons."""

    def __init__(
        self, viewport: Viewport, cursor: BlockCursor, open_clickable: Callable[[ClickableSpan, bool], None]
    ) -> None:
        super().__init__(viewport)
        self.cursor, self._open = cursor, open_clickable
        self._hints: Hints | None = None

    @property
    def hints(self) -> Hints | None:
        """Link hints on the page. None if no hints are shown."""
        return self._hints

    @hints.setter
    def hints(self, hints: Hints | None) -> None:
        is_other = (hints is None) != (self._hints is None)
        self._hints = hints
        if is_other and self.viewport.widget.is_running:
            self.viewport.widget.refresh_bindings()

    def forget_lines(self) -> None:
        self.hints = None

    def top_changed(self, *, down: bool) -> None:
        self.hints = None

    def visible(self) -> list[ClickableSpan]:
        """Return the visible clickable spans. Their `line` counts rows of the pane."""
        viewport = self.viewport
        covered = viewport.contents.sticky_rows(viewport.top)
        out = []
        for y, (unit, _, line) in enumerate(viewport.visible_rows[: viewport.rows]):
            margin = viewport.contents.margin_of(unit)
            if y >= covered:
                out += [
                    each._replace(line=y, start=each.start + margin, end=each.end + margin)
                    for each in clickable_spans([line])
                ]
        return out

    def block_of(self, clickable: ClickableSpan) -> Block | None:
        """Return the block of a visible clickable span. None if the span is outside all blocks."""
        unit, _, line = self.viewport.visible_rows[clickable.line]
        return self.viewport.contents.block_at(line, clickable.start - self.viewport.contents.margin_of(unit))

    def at_cursor(self) -> list[ClickableSpan]:
        """Return the visible clickable spans of the selected block."""
        span = self.cursor.current()
        return (
            [clickable for clickable in self.visible() if self.block_of(clickable) is span.block]
            if span is not None
            else []
        )

    def link_text(self, clickable: ClickableSpan) -> str:
        """Return the text of a link, also if the link breaks over several lines."""
        rows = self.viewport.visible_rows
        pieces = (piece for _, _, line in rows for piece in line.pieces)
        return " ".join("".join(piece.text for piece in pieces if piece.clickable is clickable.clickable).split())

    def open_one(self, clickables: list[ClickableSpan], *, outside: bool = False) -> None:
        """Open the only link of a list, or show hints if there are several."""
        if len({id(clickable.clickable) for clickable in clickables}) == 1:
            self._open(clickables[0], outside)
        else:
            self.show_hints(clickables, outside=outside)

    # Link hints

    def begin(self) -> None:
        """Show hints at all visible links."""
        if clickables := self.visible():
            self.show_hints(clickables)
        else:
            explain(self.viewport.widget, "No links on this part of the page.")

    def show_hints(self, clickables: list[ClickableSpan], *, outside: bool = False) -> None:
        """Show hints at some links. Lower-case letters open a link in Octavo, capital letters in the browser. With
        `outside`, all letters open it in the browser."""
        if not self.viewport.widget.has_focus:
            self.viewport.widget.focus()  # The letters of hints are typed in the pane.
        self.hints = Hints(clickables, outside=outside)
        self.viewport.repaint()

    def end_hints(self) -> None:
        """Remove the hints."""
        if self.hints is not None:
            self.hints = None
            self.viewport.repaint()

    def press(self, event: Key) -> bool:
        """Handle a key while hints are shown. Return False if none are shown."""
        hints, letter = self.hints, event.character or ""
        if hints is None:
            return False
        pressed = letter.isalpha() and hints.press(letter)
        if not pressed or isinstance(pressed, ClickableSpan):
            self.end_hints()
        if isinstance(pressed, ClickableSpan):
            self._open(pressed, hints.outside)
        self.viewport.repaint()
        return True

    def click(self, event: Click) -> None:
        """Open the clicked span, or select the clicked block."""
        self.end_hints()
        clickable = next(
            (
                clickable
                for clickable in self.visible()
                if clickable.line == event.y and clickable.start <= event.x < clickable.end
            ),
            None,
        )
        if clickable is not None:
            self._open(clickable, event.ctrl)
            return
        if event.y < len(self.viewport.visible_rows):
            unit, _, line = self.viewport.visible_rows[event.y]
            block = self.viewport.contents.block_at(line, event.x - self.viewport.contents.margin_of(unit))
            spans = self.cursor.spans_of(unit)
            if (span := next((each for each in spans if each.block is block), None)) is not None:
                self.cursor.select(span, scroll_to=None)

    # Painting

    def with_hints(self, strip: Strip, row: int) -> Strip:
        """Return the strip of a row with link hints on it, and other text dimmed."""
        if self.hints is None:
            return strip
        viewport, (unit, _, line) = self.viewport, self.viewport.visible_rows[row]
        margin = viewport.contents.margin_of(unit)
        return self.hints.with_labels(strip, row, line, margin, viewport.text_styles, viewport.base_style)

    def help_row(self) -> tuple[int, Strip] | None:
        """Return the row number and the strip of the help for hints. None if every row has a link."""
        if self.hints is None:
            return None
        taken, height = self.hints.rows, self.viewport.widget.size.height
        free = next((row for row in (height - 1, 0, *range(height - 2, 0, -1)) if row not in taken), None)
        if free is None:
            return None
        viewport = self.viewport
        return free, bottom_line(
            viewport.text_styles, viewport.base_style, viewport.pane_width, "", "", *self.hints.help_parts
        )


LINK_HINTS: Commands[Clickables] = Commands(
    "page",
    (
        Command("link_hints", "f", "Follow link", "Open a link by typing its letters", takes_text=True, run=lambda _, clickables: clickables.begin()),
    ),
    find=lambda view: view.clickables,
)  # fmt: skip
