"""The selected block of a pane (`BlockCursor`), and link hints: letters that open links (`Clickables`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, repeat
from operator import attrgetter

from rich.cells import split_graphemes
from rich.style import Style
from textual.events import Click, Key
from textual.geometry import Region
from textual.strip import Strip

from octavo.documents.blocks import Block
from octavo.tui.reader.reading_position import (
    START,
    BlockSpan,
    LinePosition,
    ScrollTo,
    lines_between,
    scrolled_top,
    top_at_end,
)
from octavo.tui.reader.viewport import PanePart, Viewport, explain
from octavo.tui.render.painting import bottom_line, overlay_text, restyle
from octavo.tui.render.styled_lines import ClickableSpan, Line, cells, clickable_spans, line_blocks
from octavo.tui.render.styles import Styles
from octavo.tui.widgets.commands import Command, Commands

_PAN_CELLS = 16
"""Number of cells by which one key press scrolls wide code or tables."""
_MAX_CACHED_CHUNKS = 100
"""Maximum number of chunks whose selectable blocks are cached."""
_MAX_BAR_STRIPS = 300
"""Maximum number of strips with the cursor bar that are kept from one frame to the next."""


class BlockCursor(PanePart):
    """The selected block of a pane, and the moves of the selection to other blocks."""

    def __init__(self, viewport: Viewport) -> None:
        super().__init__(viewport)
        self.selected: tuple[int, Block] | None = None
        """Chunk index and block of the last selection. While None, the first visible block counts as selected."""
        self._bar_block: Block | None = None
        """The block that was selected when the current frame was painted. None if no block was visible."""
        self._bar_ids: frozenset[int] = frozenset()
        """`id()` of `_bar_block` and of all blocks inside it, which get the cursor bar."""
        self._is_bar_shown = False
        self._bar_strips: dict[tuple[int, int, Style], tuple[Strip, Strip]] = {}
        """Strips without and with the cursor bar, by `id()` of the former, column and style of the bar."""
        self._spans: dict[int, tuple[list[Line], list[BlockSpan]]] = {}

    def lines_changed(self) -> None:
        self._spans = {}
        if self.selected is not None:
            # Blocks may have been added or removed above the selected block.
            chunk_index, block = self.selected
            self.selected = (self.viewport.contents.find_chunk_index(chunk_index, block.key), block)

    def select_again(self, selected: BlockSpan, row: int) -> None:
        """Select a block again after the page has changed, and scroll so that the block is in the same row as before.
        Do not scroll if the block is gone."""
        self.selected = (selected.chunk_index, selected.block)
        self.lines_changed()
        if (span := self.current()) is not None and span.block.key == selected.block.key:
            self.viewport.show_in_row(span.start, row)

    def before_painting(self, *, shows_bar: bool) -> None:
        """Find the selected block for the next frame. With `shows_bar`, this frame has the cursor bar at the block."""
        selected = self.current()
        block = selected.block if selected is not None else None
        if block is not self._bar_block:
            self._bar_block, self._bar_ids = block, _ids_inside(block)
        if len(self._bar_strips) > _MAX_BAR_STRIPS:
            self._bar_strips.clear()
        self._is_bar_shown = shows_bar

    def with_bar(self, strip: Strip, chunk_index: int, line: Line) -> Strip:
        """Return the strip of a line, with the cursor bar if the block of the line is selected."""
        viewport = self.viewport
        column = viewport.contents.cursor_bar_column(line, self._bar_ids) if self._is_bar_shown else None
        if column is None:
            return strip
        styles = viewport.text_styles
        style = viewport.base_style + (styles.accent if viewport.widget.has_focus else styles.muted)
        key = id(strip), viewport.contents.margin_of(chunk_index) + column, style
        if key not in self._bar_strips:
            self._bar_strips[key] = strip, overlay_text(strip, key[1], styles.glyphs.bar, style)
        return self._bar_strips[key][1]

    def spans_of(self, chunk_index: int) -> list[BlockSpan]:
        """Return the selectable blocks of a chunk. This renders the chunk if it is not rendered yet."""
        lines = self.viewport.virtual_lines.lines(chunk_index)
        cached_lines, spans = self._spans.get(chunk_index, (None, []))
        if cached_lines is not lines:
            if len(self._spans) >= _MAX_CACHED_CHUNKS:
                self._spans.clear()
            ranges = self.viewport.contents.spans_in(lines)
            spans = [BlockSpan(chunk_index, first, last, block) for first, last, block in ranges]
            self._spans[chunk_index] = lines, spans
        return spans

    def keys_beginning_on(self, chunk_index: int, number: int, line: Line) -> list[str]:
        """Return the keys of the blocks that begin on `line`, which is line `number` of a chunk."""
        first_lines = {id(span.block): span.first for span in self.spans_of(chunk_index)}
        return [block.key for block in line_blocks(line) if first_lines.get(id(block)) == number]

    def spans_from(
        self, chunk_index: int, block: Block | None, step: int, may_match: Callable[[int], bool]
    ) -> Iterator[BlockSpan]:
        """Yield the selectable blocks below `block`, which is in the chunk `chunk_index`. If `step` is -1, yield blocks
        above `block`, from bottom to top. If `block` is None, begin with all blocks of the chunk. Skip other chunks
        for which `may_match` returns False, without rendering them."""
        spans = self.spans_of(chunk_index) if 0 <= chunk_index < len(self.viewport.virtual_lines) else []
        index_of_block = next(
            (index for index, span in enumerate(spans) if span.block is block), -1 if step > 0 else len(spans)
        )
        yield from spans[index_of_block + 1 :] if step > 0 else reversed(spans[: max(0, index_of_block)])
        for next_index in range(chunk_index + step, len(self.viewport.virtual_lines) if step > 0 else -1, step):
            if may_match(next_index) and self.viewport.contents.has_spans(next_index):
                spans = self.spans_of(next_index)
                yield from spans if step > 0 else reversed(spans)

    def selected_span(self) -> BlockSpan | None:
        """Return the block on which commands act, as `current` does. None if no block was selected yet."""
        return self.current() if self.selected is not None else None

    def current(self) -> BlockSpan | None:
        """Return the block on which commands act: the selected block, or if it is gone, the nearest visible block. If
        no block was selected, return the first visible block. None if no block is visible."""
        selected_index = 0
        if self.selected is not None and self.selected[0] < len(self.viewport.virtual_lines):
            selected_index, block = self.selected
            spans = self.spans_of(selected_index)
            same_key = (span for span in spans if block.key and span.block.key == block.key)
            if span := next((span for span in spans if span.block is block), None) or next(same_key, None):
                return span
        return min(self.visible_spans(), key=lambda span: abs(span.chunk_index - selected_index), default=None)

    @property
    def region(self) -> Region:
        """Area of the screen that shows the selected block. Empty if no block is visible."""
        selected = self.current()
        if selected is None:
            return Region()
        viewport = self.viewport
        row = viewport.row_of(selected.start, viewport.widget.size.height)
        block_region = Region(
            viewport.widget.region.x,
            viewport.widget.region.y + row,
            viewport.widget.size.width,
            selected.last - selected.first + 1,
        )
        return block_region.intersection(viewport.widget.region)

    def visible_spans(self) -> list[BlockSpan]:
        """Return the visible blocks that may be selected when the user scrolls (`Contents.reachable_spans`)."""
        viewport, virtual_lines = self.viewport, self.viewport.virtual_lines
        if not len(virtual_lines):
            return []
        spans: list[BlockSpan] = []
        chunk_index, first_row = viewport.top.chunk_index, -viewport.top.line
        row_count, covered_rows = viewport.row_count, viewport.contents.sticky_row_count(viewport.top)
        while chunk_index < len(virtual_lines) and first_row < row_count:
            spans += [
                span
                for span in self.spans_of(chunk_index)
                if first_row + span.last >= covered_rows and first_row + span.first < row_count
            ]
            first_row += len(virtual_lines.lines(chunk_index))
            chunk_index += 1
        return viewport.contents.reachable_spans(spans)

    def layout_changed(self) -> None:
        """Select the last visible block if the selected block has moved below the pane."""
        if self.selected is not None:
            self.top_changed(is_down=False)  # A new layout keeps the first row, so blocks can only have moved down.

    def top_changed(self, *, is_down: bool) -> None:
        """If the selected block is out of view, select the first visible block (the last if not `is_down`)."""
        spans = self.visible_spans()
        selected = self.current()
        if spans and selected is not None and all(span.block is not selected.block for span in spans):
            self.select(spans[0] if is_down else spans[-1], scroll_to=None)

    def select(self, span: BlockSpan, *, scroll_to: ScrollTo | None = "near") -> None:
        """Select a block, and scroll to it by the rule `scroll_to`. If `scroll_to` is None, do not scroll."""
        chunk_index, first, last, block = span
        self.selected = (chunk_index, block)
        if scroll_to is not None:
            self.scroll_to_lines(chunk_index, first, last, scroll_to)
            self.selected = (chunk_index, block)  # Scrolling may have selected another block (`top_changed`).
        self.viewport.repaint()
        self.viewport.notify_moved()

    def scroll_into_view(self) -> None:
        """Scroll as little as possible to show the selected block. Do not scroll if the user is reading a block that is
        taller than the pane."""
        if (selected := self.current()) is None:
            return
        chunk_index, first, last, block = selected
        ids_inside = _ids_inside(block)
        last = max([last, *(span.last for span in self.spans_of(chunk_index) if id(span.block) in ids_inside)])
        row_count = self.viewport.row_count
        row = self.viewport.row_of(selected.start, 2 * row_count)
        is_read = row <= 1 and row + last - first > row_count // 3
        if last - first < row_count or not is_read:
            self.scroll_to_lines(chunk_index, first, last, "near")

    def scroll_to_lines(self, chunk_index: int, first: int, last: int, scroll_to: ScrollTo) -> None:
        """Scroll to the lines `first` to `last` of a chunk by the rule `scroll_to`. No sticky header covers `first`."""
        viewport, start = self.viewport, LinePosition(chunk_index, first)
        top = scrolled_top(viewport.virtual_lines, viewport.top, viewport.row_count, start, last - first + 1, scroll_to)
        covered_rows = viewport.contents.sticky_row_count(top)
        if 0 <= lines_between(viewport.virtual_lines, top, start, viewport.row_count) < covered_rows:
            viewport.show_in_row(start, covered_rows)
        else:
            viewport.go_to(top)

    def go_to_edge(self, *, at_end: bool) -> None:
        """Scroll to the start of the page and select the first block. With `at_end`, scroll to the end and select the
        last visible block."""
        self.viewport.go_to(top_at_end(self.viewport.virtual_lines, self.viewport.row_count) if at_end else START)
        if spans := self.visible_spans():
            self.select(spans[-1 if at_end else 0], scroll_to=None)

    def move(self, step: int) -> bool:
        """Select the next block, or the previous block if `step` is -1. Return False if there is no such block."""
        selected = self.current()
        if selected is None:
            return False
        next_span = next(self.spans_from(selected.chunk_index, selected.block, step, lambda chunk: True), None)
        self.select(next_span or selected)
        return next_span is not None

    def move_in_view(self, step: int) -> None:
        """Select the next (1) or previous (-1) visible block. Do nothing if there is no such block, or if the
        selected block is not visible."""
        spans, selected = self.visible_spans(), self.current()
        selected_index = next(
            (index for index, span in enumerate(spans) if selected and span.block is selected.block), None
        )
        if selected_index is not None and 0 <= selected_index + step < len(spans):
            self.select(spans[selected_index + step], scroll_to=None)

    def pan(self, step: int) -> None:
        """Scroll wide code and tables by `step` cells to the right, or to the left if negative. Affects the selected
        block, else the first visible block that is wide. Without such a block, tell the user."""
        viewport = self.viewport
        selected = self.current()
        for span in ([] if selected is None else [selected]) + self.visible_spans():
            wide_keys = {
                block.key
                for block in viewport.contents.wide_blocks(span)
                if viewport.view_state.overflow.get(block.key)
            }
            if wide_keys:
                has_moved = [viewport.view_state.pan_by(key, step) for key in sorted(wide_keys)]
                if any(has_moved):
                    viewport.lay_out_again(span.chunk_index)
                return
        explain(viewport.widget, "Nothing to scroll here: no code or table is wider than the pane.")

    def find_next(
        self, step: int, is_match: Callable[[BlockSpan], bool], may_match: Callable[[int], bool]
    ) -> BlockSpan | None:
        """Return the next (1) or previous (-1) block for which `is_match` returns True. None if there is no such block,
        or if no block is visible. Chunks for which `may_match` returns False are skipped."""
        selected = self.current()
        if selected is None:
            return None
        return next(filter(is_match, self.spans_from(selected.chunk_index, selected.block, step, may_match)), None)


def _panner(step: int) -> Callable[[object, BlockCursor], None]:
    return lambda _, cursor: cursor.pan(step)


PAN_COMMANDS: Commands[BlockCursor] = Commands(
    "page",
    (
        Command("pan_right", "right", "Scroll right", "Scroll wide code or tables to the right", run=_panner(_PAN_CELLS), shown=False),
        Command("pan_left", "left", "Scroll left", "Scroll wide code or tables to the left", run=_panner(-_PAN_CELLS), shown=False),
    ),
    find_target=lambda view: view.cursor,
)  # fmt: skip


def _ids_inside(block: Block | None) -> frozenset[int]:
    ids: set[int] = set()
    level = [block] if block is not None else []
    while level:
        ids.update(map(id, level))
        level = [child for block_in_level in level for child in block_in_level.children]
    return frozenset(ids)


_HINT_LETTERS = "asdfghjklqwertyuiopzxcvbnm"
_MAX_SINGLE_LETTERS = 20
"""Up to this number of links, one letter opens a link. With more links, each has two letters."""
_PLAIN_STYLE = Style(bold=False, italic=False, underline=False, strike=False, reverse=False)


def hint_labels(count: int) -> list[str]:
    """Return `count` different labels, but at most 676. Either all labels have one letter, or all have two letters."""
    if count <= _MAX_SINGLE_LETTERS:
        return list(_HINT_LETTERS[:count])
    return [first + second for first in _HINT_LETTERS for second in _HINT_LETTERS][:count]


@dataclass
class Hints:
    """The link hints that are shown, and the letters that the user has typed so far."""

    clickables: Sequence[ClickableSpan]
    """Clickable texts with hints, such as links, in reading order. A link on several lines occurs several times."""
    typed_letters: str = ""
    in_browser: bool = False
    """True if the chosen link will be opened in the browser."""
    by_label: dict[str, ClickableSpan] = field(init=False)

    def __post_init__(self) -> None:
        unique = list({id(each.clickable): each for each in reversed(self.clickables)}.values())[::-1]
        self.by_label = dict(zip(hint_labels(len(unique)), unique, strict=False))

    def press(self, letter: str) -> ClickableSpan | bool:
        """Add `letter` to the typed letters. A capital sets `in_browser`. Return the link whose label was typed.
        Otherwise, return True if any label begins with the typed letters."""
        self.in_browser = self.in_browser or letter.isupper()
        self.typed_letters += letter.lower()
        if (clickable := self.by_label.get(self.typed_letters)) is not None:
            return clickable
        return any(label.startswith(self.typed_letters) for label in self.by_label)

    @property
    def rows(self) -> set[int]:
        """Rows of the pane that show a part of a link with a hint. Only the first row of a link has the hint."""
        return {each.line for each in self.clickables}

    @property
    def help_parts(self) -> tuple[str, ...]:
        """Short texts that explain the hints, for a row of the pane."""
        prompt = "type two letters" if len(self.by_label) > _MAX_SINGLE_LETTERS else "type a letter"
        if self.typed_letters:
            prompt = f"type one more letter after {self.typed_letters}"
        return prompt, "capital letters open in browser", "esc cancel"

    @property
    def keys(self) -> tuple[tuple[str, str], ...]:
        """Keys and labels for the key bar, such as `("escape", "cancel")`."""
        return ("a–z", "follow link"), ("A–Z", "open in browser"), ("escape", "cancel")

    def with_labels(self, strip: Strip, row: int, line: Line, margin: int, styles: Styles, base_style: Style) -> Strip:
        """Return the strip of a row with labels at its links, and with all other text faded. The text of `line` begins
        at the cell `margin`. Labels that do not begin with the typed letters are left out."""
        labelled_ids = {id(each.clickable) for each in self.by_label.values()}
        faded_style = base_style + styles.faded + _PLAIN_STYLE
        link_style = base_style + styles.text + _PLAIN_STYLE + Style(dim=False)
        links_in_row = [each for each in self.clickables if each.line == row and id(each.clickable) in labelled_ids]
        strip = restyle(
            strip, [(0, strip.cell_length, faded_style), *((each.start, each.end, link_style) for each in links_in_row)]
        )
        are_free = [True] * margin + list(_free_cells(line, styles.glyphs.bullets)) if links_in_row else []
        for label, clickable in self.by_label.items():
            if clickable.line == row and label.startswith(self.typed_letters):
                column, label_text = place_label(are_free, clickable.start, clickable.end, label)
                remaining_letters = label[len(self.typed_letters) :].rjust(len(label))
                strip = overlay_text(
                    strip, column, label_text.replace(label, remaining_letters), base_style + styles.button
                )
                are_free[column : column + len(label_text)] = [False] * len(label_text)
        return strip


def _free_cells(line: Line, bullets: Sequence[str]) -> Iterator[bool]:
    """Yield for each cell of a line True if a label may cover the cell, because the cell shows a space or a bullet."""
    for text, _, clickable, is_decoration, _ in line.pieces:
        if is_decoration and clickable is None and text.strip() in bullets:
            yield from repeat(True, cells(text))
            continue
        for start, end, cell_count in split_graphemes(text)[0]:
            yield from repeat(text[start:end].isspace(), cell_count)


def place_label(are_free: Sequence[bool], start: int, end: int, label: str) -> tuple[int, str]:
    """Return the first cell of the hint of a link, and its text: `label` with the spaces around it. The hint covers the
    blank cells before the link, and if these cells are too few, also the first letters of the link. The link is in the
    cells from `start` to before `end`. `are_free` is True for each cell that may be covered."""
    width = len(label)
    first = next((cell for cell in range(start, min(end, len(are_free))) if not are_free[cell]), start)
    blank_counts = (count for count in range(width + 3) if first - count < 1 or not are_free[first - count - 1])
    blank_count = next(blank_counts, width + 3)
    if blank_count and blank_count != first:
        blank_count -= 1  # One blank cell stays before the label, except in the first column.
    if blank_count > width:
        blank_before = " " if blank_count > width + 1 else ""
        return first - width - 1 - len(blank_before), f"{blank_before}{label} "
    label_end = first - blank_count + width
    needs_blank = label_end < end or label_end >= len(are_free) or are_free[label_end]
    return first - blank_count, f"{label} " if needs_blank else label


def _link_texts(block: Block, target: str) -> Iterator[str]:
    for each in block.walk():
        for link, runs in groupby(each.runs, key=attrgetter("link")):
            if link == target:
                yield " ".join("".join(run.text for run in runs).split())


class Clickables(PanePart):
    """The links, buttons and other clickable texts in a pane, and their link hints."""

    def __init__(
        self, viewport: Viewport, cursor: BlockCursor, open_clickable: Callable[[ClickableSpan, bool], None]
    ) -> None:
        super().__init__(viewport)
        self.cursor, self._open_clickable = cursor, open_clickable
        self._hints: Hints | None = None

    @property
    def hints(self) -> Hints | None:
        """The link hints that are shown. None if they are hidden."""
        return self._hints

    @hints.setter
    def hints(self, hints: Hints | None) -> None:
        is_toggled = (hints is None) != (self._hints is None)
        self._hints = hints
        if is_toggled and self.viewport.widget.is_running:
            self.viewport.widget.refresh_bindings()

    def lines_changed(self) -> None:
        self.hints = None

    def top_changed(self, *, is_down: bool) -> None:
        self.hints = None

    def visible_spans(self) -> list[ClickableSpan]:
        """Return visible links and other clickable texts. Their `line`, `start` and `end` are positions in the pane."""
        viewport = self.viewport
        covered_rows = viewport.contents.sticky_row_count(viewport.top)
        spans = []
        for row, (chunk_index, _, line) in enumerate(viewport.visible_rows[: viewport.row_count]):
            margin = viewport.contents.margin_of(chunk_index)
            if row >= covered_rows:
                spans += [
                    each._replace(line=row, start=each.start + margin, end=each.end + margin)
                    for each in clickable_spans([line])
                ]
        return spans

    def block_of(self, clickable: ClickableSpan) -> Block | None:
        """Return the block that contains a visible link. None if the link is not in a block."""
        chunk_index, _, line = self.viewport.visible_rows[clickable.line]
        return self.viewport.contents.block_at(line, clickable.start - self.viewport.contents.margin_of(chunk_index))

    def spans_in_selected_block(self) -> list[ClickableSpan]:
        """Return the visible links and other clickable texts of the selected block."""
        span = self.cursor.current()
        if span is None:
            return []
        return [clickable for clickable in self.visible_spans() if self.block_of(clickable) is span.block]

    def link_text(self, clickable: ClickableSpan) -> str:
        """Return the text of a visible link as one line."""
        rows = [
            "".join(
                piece.text
                for piece in line.pieces
                if piece.clickable is clickable.clickable and not piece.is_decoration
            )
            for _, _, line in self.viewport.visible_rows
        ]
        # A line may break inside a word. So find the link text in the block. Spaces are not compared.
        block = self.block_of(clickable)
        texts = _link_texts(block, clickable.target) if block is not None else ()
        shown_text = "".join("".join(rows).split())
        return next((text for text in texts if text.replace(" ", "") == shown_text), " ".join(" ".join(rows).split()))

    def open_or_show_hints(self, clickables: list[ClickableSpan], *, in_browser: bool = False) -> None:
        """Open the link if all `clickables` are parts of one link. Otherwise, show hints at all `clickables`."""
        if len({id(clickable.clickable) for clickable in clickables}) == 1:
            self._open_clickable(clickables[0], in_browser)
        else:
            self.show_hints(clickables, in_browser=in_browser)

    def show_all_hints(self) -> None:
        """Show hints at all visible links. If there are no links, tell the user."""
        if clickables := self.visible_spans():
            self.show_hints(clickables)
        else:
            explain(self.viewport.widget, "No links on this part of the page.")

    def show_hints(self, clickables: list[ClickableSpan], *, in_browser: bool = False) -> None:
        """Show hints at `clickables`. A capital letter (or each letter if `in_browser`) opens a link in the browser."""
        if not self.viewport.widget.has_focus:
            self.viewport.widget.focus()  # The pane then gets the typed letters.
        self.hints = Hints(clickables, in_browser=in_browser)
        self.viewport.repaint()

    def end_hints(self) -> None:
        if self.hints is not None:
            self.hints = None
            self.viewport.repaint()

    def press(self, event: Key) -> bool:
        """Add the pressed letter to the typed letters of the hints. Open the link whose label is then complete. Hide
        the hints if no label begins with the letters. Return False if no hints are shown."""
        hints, letter = self.hints, event.character or ""
        if hints is None:
            return False
        pressed = letter.isalpha() and hints.press(letter)
        if not pressed or isinstance(pressed, ClickableSpan):
            self.end_hints()
        if isinstance(pressed, ClickableSpan):
            self._open_clickable(pressed, hints.in_browser)
        self.viewport.repaint()
        return True

    def click(self, event: Click) -> None:
        """Activate the clickable text at the mouse, such as a link, or select the block there. Only select the block if
        the mouse has just selected text."""
        self.end_hints()
        clickable = next(
            (
                clickable
                for clickable in self.visible_spans()
                if clickable.line == event.y and clickable.start <= event.x < clickable.end
            ),
            None,
        )
        if clickable is not None and not self._has_selected_text:
            self._open_clickable(clickable, event.ctrl)
            return
        covered_rows = self.viewport.contents.sticky_row_count(self.viewport.top)
        if covered_rows <= event.y < len(self.viewport.visible_rows):
            chunk_index, _, line = self.viewport.visible_rows[event.y]
            block = self.viewport.contents.block_at(line, event.x - self.viewport.contents.margin_of(chunk_index))
            spans = self.cursor.spans_of(chunk_index)
            if (span := next((each for each in spans if each.block is block), None)) is not None:
                self.cursor.select(span, scroll_to=None)

    @property
    def _has_selected_text(self) -> bool:
        """True if the user has selected text with the mouse. A click that moves by one cell does not count."""
        selection = self.viewport.widget.text_selection
        if selection is None or selection.start is None or selection.end is None:
            return selection is not None
        width, height = selection.end - selection.start
        return height > 0 or width > 2

    def with_hints(self, strip: Strip, row: int) -> Strip:
        """Return the strip of a row, with link hints and all other text dimmed. Unchanged if no hints are shown."""
        if self.hints is None:
            return strip
        viewport, (chunk_index, _, line) = self.viewport, self.viewport.visible_rows[row]
        margin = viewport.contents.margin_of(chunk_index)
        return self.hints.with_labels(strip, row, line, margin, viewport.text_styles, viewport.base_style)

    def help_row(self) -> tuple[int, Strip] | None:
        """Return the number of a row of the pane without links, and a strip for this row that explains the hints. None
        if each row has links, or if no hints are shown."""
        if self.hints is None:
            return None
        rows_with_links, height = self.hints.rows, self.viewport.widget.size.height
        free_row = next((row for row in (height - 1, 0, *range(height - 2, 0, -1)) if row not in rows_with_links), None)
        if free_row is None:
            return None
        viewport = self.viewport
        return free_row, bottom_line(
            viewport.text_styles, viewport.base_style, viewport.pane_width, "", "", *self.hints.help_parts
        )


HINT_COMMANDS: Commands[Clickables] = Commands(
    "page",
    (
        Command("link_hints", "f", "Follow link", "Open a link by typing its letters", takes_text=True, run=lambda _, clickables: clickables.show_all_hints()),
    ),
    find_target=lambda view: view.clickables,
)  # fmt: skip
