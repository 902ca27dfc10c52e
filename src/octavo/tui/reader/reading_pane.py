"""A pane one reads in: a cursor of blocks, letters at what can be opened, words to find, wide blocks to move."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

from textual.binding import Binding, BindingType
from textual.events import Blur, Click, Key
from textual.message import Message
from textual.strip import Strip

from octavo.documents.blocks import Block
from octavo.tui.reader.cursor_pane import Stop
from octavo.tui.reader.find_pane import FindPane
from octavo.tui.render.layout_context import Folds
from octavo.tui.render.styled_lines import HotSpot, hot_spots_of
from octavo.tui.render.table_records import as_text
from octavo.tui.widgets.commands import Explaining

if TYPE_CHECKING:
    from octavo.tui.reader.link_hints import Hints

_PAN = 16


def motions(place: str) -> list[BindingType]:
    """The keys by which one moves in `place`, and what they are called."""
    rows = (
        ("j,down", "scroll_lines(1)", "Down", "Scroll down one line", "down"),
        ("k,up", "scroll_lines(-1)", "Up", "Scroll up one line", "up"),
        ("g,home", "scroll_edge(0)", "Top", "Go to the top", "top"),
        ("G,end", "scroll_edge(1)", "Bottom", "Go to the end", "bottom"),
        ("ctrl+d,pagedown", "scroll_half(1)", "Half page down", "Scroll down half a page", "page_down"),
        ("ctrl+u,pageup", "scroll_half(-1)", "Half page up", "Scroll up half a page", "page_up"),
        ("b", "scroll_page(-1)", "Page back", "Scroll up one page", "read_back"),
        ("left_parenthesis", "move_cursor(-1)", "Block before", "Put the cursor on the block before", "prev_block"),
        ("right_parenthesis", "move_cursor(1)", "Next block", "Put the cursor on the next block", "next_block"),
    )
    return [
        Binding(keys, action, title, show=False, tooltip=tooltip, id=f"{place}.{name}")
        for keys, action, title, tooltip, name in rows
    ]


@runtime_checkable
class TakesComments(Protocol):
    """A screen one can say something in about the block under the cursor: it knows where that would go, and who may."""

    def why_no_comment(self) -> str | None:
        """Why nothing can be said about the block under the cursor, in a sentence."""


class Reader(FindPane):
    """A pane with a cursor on a block, link hints and a find line. A subclass opens what is opened (`open_spot`)."""

    FIRST_KEYS: ClassVar[tuple[str, ...]] = ()
    HIT_KEYS: ClassVar[tuple[str, ...]] = ()

    class ReadOn(Message):
        """`space` was pressed at the end: the reader wants what comes next."""

    class BlockChosen(Message):
        """The reader wants to say something about a block."""

        def __init__(self, block: Block) -> None:
            super().__init__()
            self.block = block

    class ThreadWanted(Message):
        """The reader wants to see what is said about a block."""

        def __init__(self, block: Block) -> None:
            super().__init__()
            self.block = block

    class Copied(Message):
        """Something was copied to the clipboard. `what` names it: code, paragraph."""

        def __init__(self, text: str, what: str) -> None:
            super().__init__()
            self.text = text
            self.what = what

    folds: Folds
    _hints: Hints | None = None

    @property
    def KEYBAR(self) -> tuple[str, ...]:
        """The ids the key bar begins with: while something is searched, those that go from one place to the next."""
        return (*self.HIT_KEYS, *self.FIRST_KEYS) if self.needle else self.FIRST_KEYS

    # What a subclass says

    def open_spot(self, hot: HotSpot, *, outside: bool) -> None:
        """Something on the page was opened; `outside`: in the browser."""

    def thread_at(self, stop: Stop) -> Block | None:
        """The block an open thread hangs on that is shown at a stop."""
        return None

    def wide_at(self, stop: Stop) -> Iterable[Block]:
        """The blocks at a stop that may be too wide."""
        raise NotImplementedError

    def explain(self, sentence: str) -> None:
        """Say why something cannot be done."""
        if isinstance(self.app, Explaining):
            self.app.explain(sentence)
        else:
            self.notify(sentence, severity="warning", markup=False)

    # Reading on

    def action_read_on(self) -> None:
        if self.scroll_offset.y >= self.galley.total - self.rows:
            self.post_message(self.ReadOn())
        else:
            self.action_scroll_page(1)

    def why_not(self, action: str, parameters: tuple[object, ...]) -> str | None:
        if action == "comment" and isinstance(self.screen, TakesComments):
            return self.screen.why_no_comment()
        return super().why_not(action, parameters)

    def action_copy(self) -> None:
        if (stop := self.cursor_stop()) is not None:
            text = as_text(stop[3])
            self.app.copy_to_clipboard(text)
            self.post_message(self.Copied(text, stop[3].kind))

    def action_comment(self) -> None:
        if (stop := self.cursor_stop()) is not None:
            self.post_message(self.BlockChosen(stop[3]))

    # What can be opened

    def visible_hot_spots(self) -> list[HotSpot]:
        """What can be opened now; `line` counts rows of the pane."""
        self.paint()
        out = []
        for y, (unit, _, line) in enumerate(self.rows_on_show[: self.rows]):
            margin = self.margin_of(unit)
            out += [
                hot._replace(line=y, start=hot.start + margin, end=hot.end + margin) for hot in hot_spots_of([line])
            ]
        return out

    def action_link_hints(self) -> None:
        if hots := self.visible_hot_spots():
            self.show_hints(hots)
        else:
            self.explain("There is nothing to open on this part of the page.")

    def show_hints(self, hots: list[HotSpot], *, outside: bool = False) -> None:
        """Put letters at what can be opened; `outside`: in the browser, whatever case is typed."""
        from octavo.tui.reader.link_hints import Hints  # no frame needs it before a key is pressed

        if not self.has_focus:
            self.focus()  # the letters are typed here
        self._hints = Hints(hots, upper=outside)
        self.repaint()

    def action_open(self) -> None:
        """Open what the block under the cursor has: its open thread, the one link, one of several by its letter; else
        ask for a thread on it."""
        stop = self.cursor_stop()
        if stop is None:
            return
        block = stop[3]
        if (hangs := self.thread_at(stop)) is not None:
            self.post_message(self.ThreadWanted(hangs))
            return
        hots = [hot for hot in self.visible_hot_spots() if self.about(hot) is block]
        if len({id(hot.spot) for hot in hots}) == 1:
            self.open_spot(hots[0], outside=False)
        elif hots:
            self.show_hints(hots)
        else:
            self.post_message(self.ThreadWanted(block))

    def about(self, hot: HotSpot) -> Block | None:
        """The block that something on show is part of."""
        unit, _, line = self.rows_on_show[hot.line]
        return self.block_at(line, hot.start - self.margin_of(unit))

    def on_click(self, event: Click) -> None:
        self._end_hints()
        hot = next(
            (hot for hot in self.visible_hot_spots() if hot.line == event.y and hot.start <= event.x < hot.end), None
        )
        if hot is not None:
            self.open_spot(hot, outside=event.ctrl)
            return
        if event.y < len(self.rows_on_show):
            unit, _, line = self.rows_on_show[event.y]
            block = self.block_at(line, event.x - self.margin_of(unit))
            stop = next((stop for stop in self.stops_of(unit) if stop[3] is block), None)
            if stop is not None:
                self.put_cursor(stop, bring=None)

    # Moving what is wide

    def action_pan(self, step: int) -> None:
        here = self.cursor_stop()
        for stop in ([] if here is None else [here]) + self.visible_stops():
            wide = {block.key for block in self.wide_at(stop) if self.folds.hidden.get(block.key)}
            if wide:
                moved = [self.folds.move(key, step * _PAN) for key in sorted(wide)]
                if any(moved):
                    self.change(stop[0])
                return
        self.explain("Everything on this part of the page has room enough.")

    # Letters

    def _end_hints(self) -> None:
        if self._hints is not None:
            self._hints = None
            self.repaint()

    @property
    def is_typing(self) -> bool:
        return self._hints is not None or super().is_typing

    def on_key(self, event: Key) -> None:
        hints, letter = self._hints, event.character or ""
        if hints is None:
            return
        event.stop()
        event.prevent_default()
        pressed = letter.isalpha() and hints.press(letter)
        if not pressed or isinstance(pressed, HotSpot):
            self._end_hints()
        if isinstance(pressed, HotSpot):
            self.open_spot(pressed, outside=hints.upper)
        self.repaint()

    def on_blur(self, event: Blur) -> None:
        self._hints = None

    def scrolled(self, *, down: bool) -> None:
        self._hints = None
        super().scrolled(down=down)

    def relaid(self) -> None:
        super().relaid()
        self._hints = None

    # Painting

    def before_painting(self) -> None:
        super().before_painting()
        if self._hints is not None:
            self._cursor_block = None

    def veiled(self, strip: Strip, row: int) -> Strip:
        if self._hints is None:
            return strip
        unit, _, line = self.rows_on_show[row]
        return self._hints.veil(strip, row, line, self.margin_of(unit), self.look, self.ground)

    def foot(self) -> tuple[int, Strip] | None:
        if self._hints is None:
            return super().foot()
        taken, height = self._hints.rows, self.size.height
        free = next((row for row in (height - 1, 0, *range(height - 2, 0, -1)) if row not in taken), None)
        return None if free is None else (free, self.at_foot("", "", *self._hints.said)[1])
