"""Items drawn line by line: only what is on screen is asked for, and a list without items says why."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Sequence
from typing import ClassVar

from rich.segment import Segment
from textual.color import TRANSPARENT
from textual.content import Content
from textual.filter import LineFilter
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.style import Style

from octavo.tui.widgets.empty_states import Waiting, failed, filtered_out, nothing, partial, shortened, wrapped
from octavo.tui.widgets.safe_text import fit, spread
from octavo.tui.widgets.scrolling import Scrolling, let_go
from octavo.tui.widgets.wording import plural

_MOST_SAID = 3
"""Lines that say what could not be refreshed: the list is more."""
_KEPT_ITEMS = 2000
_MORE = "loaded, more on the server"


class VirtualList(Scrolling, inherit_bindings=False):
    """Draws items of one or two lines, with other lines between them, and a bar where the cursor is.

    A subclass says where each item stands (`set_items`) and how one is drawn (`draw_item`).
    """

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "line--bar",
        "line--bar-blurred",
        "line--cursor",
        "line--cursor-blurred",
        "line--muted",
        "line--heading",
        "line--columns",
        "line--hit",
    }
    DEFAULT_CSS = """
    VirtualList {
        background: $background;
        color: $foreground;
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-size-vertical: 1;
        .line--bar { color: $primary; }
        .line--bar-blurred { color: $octavo-muted; }
        .line--cursor { background: $octavo-cursor; }
        .line--cursor-blurred { background: $octavo-cursor 45%; }
        .line--muted { color: $octavo-muted; }
        .line--heading { color: $octavo-muted; text-style: bold; }
        .line--columns { color: $octavo-muted; background: $panel; }
        .line--hit { color: $primary; text-style: bold underline; }
    }
    """

    def __init__(
        self, *, empty: str, hint: str, name: str | None = None, id: str | None = None, classes: str | None = None
    ) -> None:
        """`empty` says why there is nothing, `hint` names the next key."""
        super().__init__(name=name, id=id, classes=classes)
        self.empty, self.hint = empty, hint
        self.always_lit = False
        """Draw the cursor as if the list had focus: another widget passes keys on to it."""
        self.total: int | None = None
        """How many items there are, when not all of them are loaded."""
        self.beyond = ""
        """That there is more, and how much is here, where nobody says how many items there are."""
        self.query_text = ""
        """The filter that holds."""
        self.cursor = 0
        """The index of the item the cursor is on."""
        self.keys: Sequence[Hashable] = ()
        """What the items are called, in order."""
        self._firsts: Sequence[int] = range(0)
        self._height = 1
        self._between: dict[int, tuple[Content, Content]] = {}
        self._line_count = 0
        self._unfiltered = 0
        self._memo: dict[int, tuple[list[Content], dict[str, list[Strip]]]] = {}
        """The lines of items, and as what they are painted: without the cursor, with it, and with it while something else
        has the focus."""
        self._parts: dict[str, Style] = {}
        self._filters: Sequence[LineFilter] = ()
        """Those of the app, through which every strip goes when it is made."""
        self._waiting: Waiting | None = None
        self._failure: tuple[str, str] | None = None
        self._foot: list[Content] = []

    # What a subclass says

    def draw_item(self, index: int, width: int) -> list[Content]:
        """The lines of one item in `width` cells, without the bar at the left."""
        raise NotImplementedError

    def can_stop_at(self, index: int) -> bool:
        """Whether the cursor may be on an item."""
        return True

    has_columns_line = False
    """Whether a line stays at the top: `columns_line`."""

    def columns_line(self, width: int) -> Content:
        """The names of the columns, in `width` cells."""
        return Content("")

    def matching(self) -> int:
        """How many items the filter leaves."""
        return len(self.keys)

    # What there is

    def set_items(
        self,
        keys: Sequence[Hashable],
        *,
        firsts: Sequence[int] | None = None,
        between: dict[int, tuple[Content, Content]] | None = None,
        height: int = 1,
        line_count: int | None = None,
        unfiltered: int | None = None,
    ) -> None:
        """Draw other items: `firsts` is the line each begins on, `between` the two ends of lines that are no item's."""
        self.keys, self._height = keys, height
        self._firsts = range(0, len(keys) * height, height) if firsts is None else firsts
        self._between = between or {}
        self._line_count = len(keys) * height if line_count is None else line_count
        self._unfiltered = len(keys) if unfiltered is None else unfiltered

    @property
    def loaded(self) -> str:
        """How much is shown, for the status line: `14 of 14`, `300 of 812 loaded`, `2 of 31 match`."""
        shown, total, how = self._counts()
        return f"{total} {how}" if how == _MORE else f"{shown} of {total} {how}".rstrip()

    def counted(self, one: str) -> str:
        """The same, saying what there is: `1 organization`, `300 of 812 organizations loaded`."""
        shown, total, how = self._counts()
        return (
            f"{shown} of {plural(total, one)} {how}"
            if how not in ("", _MORE)
            else f"{plural(total, one)} {how}".rstrip()
        )

    def _counts(self) -> tuple[int, int, str]:
        """How many are shown, of how many, and why those are fewer, if they may be."""
        if self.query_text:
            return self.matching(), self._unfiltered, "match"
        if self.total is not None and self.total > self._unfiltered:
            return self._unfiltered, self.total, "loaded"
        if self.beyond:
            return self._unfiltered, self._unfiltered, _MORE
        return self._unfiltered, self._unfiltered, ""

    @property
    def cursor_region(self) -> Region:
        """Where the cursor stands on the screen: what nothing may cover."""
        if not self.keys:
            return Region()
        top = self._firsts[self.cursor] - self.scroll_offset.y + self._head
        return Region(self.region.x, self.region.y + top, self.size.width, self._height)

    @property
    def in_sight(self) -> range:
        """The indexes of the items that are on the screen."""
        top = self.scroll_offset.y
        first = max(0, bisect_right(self._firsts, top) - 1)
        return range(first, min(len(self.keys), bisect_left(self._firsts, top + self._room)))

    def wait_for(self, what: str, *, cancel: str = "") -> None:
        """Say that `what` (such as "the comments of Mobile SDK") is loading, if there is nothing to show yet."""
        if self._failure is not None:
            self._failure = None
            self._lay_out_again()
        if not self._unfiltered and self._waiting is None:
            self._waiting = Waiting(self, what, cancel)
            self._refresh_all()

    def fail(self, what: str, cause: str) -> None:
        """Say what did not load and why, in place of the items, or below those there are."""
        self.settled()
        self._failure = (what, cause)
        self._lay_out_again()

    def lacks(self, unreadable: int) -> None:
        """Say that there may be something here all the same, when nothing is: so much of the answer is left out."""
        if unreadable and not self._unfiltered:
            what = f"{plural(unreadable, 'part')} of the answer could not be read"
            self.fail(what, "It has a form Octavo does not know. A newer Octavo may.")

    @property
    def is_waiting(self) -> bool:
        """Whether it says that what there is to show is loading."""
        return self._waiting is not None

    def settled(self) -> None:
        """There is an answer: nothing is waited for, nothing has failed."""
        self._failure = None
        if self._waiting is not None:
            self._waiting.stop()
            self._waiting = None

    def redraw(self, key: Hashable | None = None) -> None:
        """Draw again: one item, or all of them."""
        if key is None:
            self._refresh_all()
        elif key in self.keys:
            self._memo.pop(self.keys.index(key), None)
            self.refresh()

    def _lay_out_again(self) -> None:
        self._memo.clear()
        self._foot = self._footer()
        lines = self._head + self._line_count + len(self._foot) if self.keys else len(self._state_lines())
        self.virtual_size = Size(self.scrollable_content_region.width, lines)
        self.refresh_bindings()
        self.refresh()

    def _refresh_all(self) -> None:
        self._memo.clear()
        self.refresh()

    @property
    def _head(self) -> int:
        return 1 if self.keys and self.has_columns_line else 0

    @property
    def _room(self) -> int:
        return max(1, self.size.height - self._head - len(self._foot))

    def _footer(self) -> list[Content]:
        """The lines that stay at the bottom while there are items."""
        if not self.keys:
            return []
        lines: list[Content] = []
        if self._failure is not None:
            said, keys = failed(*self._failure, shown=self._unfiltered)
            lines += [*shortened(self._wrapped([said]), _MOST_SAID), *self._wrapped([keys])]
        if self.total is not None and self.total > self._unfiltered and not self.query_text:
            lines.append(partial(f"{self._unfiltered} of {self.total} loaded"))
        elif self.beyond and not self.query_text:
            lines.append(partial(self.beyond))
        return lines

    def watch_show_vertical_scrollbar(self) -> None:
        self._lay_out_again()  # the lines have a cell less, and no resize tells of it

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._memo.clear()
        self._parts.clear()

    def render_lines(self, crop: Region) -> list[Strip]:
        if self.styles.gutter.totals != (0, 0):
            return super().render_lines(crop)
        if (filters := self.get_line_filters()) != self._filters:
            self._filters = filters
            self._memo.clear()
        strips = self._lines(crop.line_range)
        if crop.column_span != (0, self.size.width):
            strips = [strip.crop(*crop.column_span) for strip in strips]
        return strips

    def _lines(self, rows: range) -> list[Strip]:
        """Rows of the widget. Each frame asks for all of them, also of what has not changed."""
        if not self.keys:
            return [self.render_line(y) for y in rows]
        width, head = self.scrollable_content_region.width, self._head
        end, first = min(self.size.height - len(self._foot), head + self._line_count), self.scroll_offset.y - head
        if self._height > 1 or self._between:
            return [self._body_line(first + y, width) if head <= y < end else self.render_line(y) for y in rows]
        known, cursor = self._memo, self.cursor  # most rows of a frame are those of the one before
        return [
            self.render_line(y)
            if not head <= y < end
            else kept[1][""][0]
            if first + y != cursor and (kept := known.get(first + y)) is not None and "" in kept[1]
            else self._body_line(first + y, width)
            for y in rows
        ]

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        if not self.keys:
            lines = self._state_lines()
            return self._strip(fit(lines[y], width) if y < len(lines) else Content(""), width)
        head, footer = self._head, self._foot
        if y < head:
            return self._strip(self.columns_line(width), width, self.get_visual_style("line--columns"))
        end = min(self.size.height - len(footer), head + self._line_count)
        if y >= end:
            index = y - end
            return self._strip(fit(footer[index], width) if index < len(footer) else Content(""), width)
        return self._body_line(self.scroll_offset.y + y - head, width)

    def _body_line(self, line: int, width: int) -> Strip:
        if line >= self._line_count:
            return self._strip(Content(""), width)
        if (other := self._between.get(line)) is not None:
            return self._strip(spread(*other, width - 1), width)
        index = bisect_right(self._firsts, line) - 1
        within = line - self._firsts[index] if index >= 0 else self._height
        if within >= self._height:
            return self._strip(Content(""), width)
        return self._item_strips(index, width)[within]

    def _item_strips(self, index: int, width: int) -> list[Strip]:
        is_cursor = index == self.cursor and self.can_stop_at(index)
        shade = "" if not is_cursor else "lit" if self.has_focus or self.always_lit else "blurred"
        if (kept := self._memo.get(index)) is None:
            if len(self._memo) >= _KEPT_ITEMS:
                self._memo.clear()
            kept = self._memo[index] = ([fit(line, width - 1) for line in self.draw_item(index, width - 1)], {})
        lines, painted = kept
        if (strips := painted.get(shade)) is None:
            blurred = "-blurred" if shade == "blurred" else ""
            base = self.get_visual_style(f"line--cursor{blurred}") if is_cursor else self.visual_style
            bar = Content.styled("▌", self.part(f"line--bar{blurred}")) if is_cursor else Content(" ")
            missing = [Content("")] * (self._height - len(lines))
            strips = painted[shade] = [self._strip(bar + line, width, base) for line in (*lines, *missing)]
        return strips

    def part(self, name: str) -> Style:
        """The style of a component class, to lay over whatever is below."""
        found = self._parts.get(name)
        if found is None:
            found = self._parts[name] = self.get_visual_style(name, partial=True)
        return found

    def _strip(self, content: Content, width: int, base: Style | None = None) -> Strip:
        style = base or self.visual_style
        segments = content.truncate(width).render(style, end="", parse_style=self.app.stylesheet.parse_style)
        strip = Strip([Segment(text, each.rich_style) for text, each in segments if text])
        strip = strip.extend_cell_length(width, style.rich_style)
        for line_filter in self._filters:
            strip = strip.apply_filter(line_filter, self.visual_style.background or TRANSPARENT)
        let_go([strip])
        return strip

    def _state_lines(self) -> list[Content]:
        if self._waiting is not None:
            return self._waiting.lines()
        if self._failure is not None:
            lines = failed(*self._failure)
        elif self.query_text and self._unfiltered:
            lines = filtered_out(self._unfiltered, self.query_text)
        else:
            lines = nothing(self.empty, self.hint)
        return self._wrapped(lines)

    def _wrapped(self, lines: list[Content]) -> list[Content]:
        # Beside a scroll bar there may be no cell left. Not to wrap for that would take the bar away, and bring it back.
        width = self.scrollable_content_region.width
        return wrapped(lines, max(1, width) if self.outer_size.width else 0)
