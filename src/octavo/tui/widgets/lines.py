"""A list that is drawn line by line, with a cursor that is a bar and never jumps."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Sequence
from typing import ClassVar

from rich.segment import Segment
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.events import Blur, Click, Focus, Resize
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.style import Style

from octavo.tui.commands import Explained
from octavo.tui.widgets.content import fit, spread
from octavo.tui.widgets.states import Waiting, failed, filtered_out, nothing, partial

_KEPT_STRIPS = 2000


class Lines(Explained, ScrollView, can_focus=True, inherit_bindings=False):
    """Items of one or two lines with other lines between them. Only what is on screen is drawn.

    A subclass says how many items there are, where each stands (`lay_out`) and how one is drawn (`draw_item`).
    The three states of a list without items are drawn in its place: `wait_for`, `fail` and being empty.
    """

    CONTEXT: ClassVar[str] = "lists"
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
    Lines {
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
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Open", tooltip="Open what the cursor is on", id="list.open"),
        Binding("j,down", "move(1)", "Down", show=False, tooltip="Go down one row", id="list.down"),
        Binding("k,up", "move(-1)", "Up", show=False, tooltip="Go up one row", id="list.up"),
        Binding("g,home", "first", "Top", show=False, tooltip="Go to the first row", id="list.top"),
        Binding("G,end", "last", "Bottom", show=False, tooltip="Go to the last row, loading on", id="list.bottom"),
        Binding(
            "ctrl+d,pagedown",
            "page(1)",
            "Half page down",
            show=False,
            tooltip="Go down half a page",
            id="list.page_down",
        ),
        Binding(
            "ctrl+u,pageup", "page(-1)", "Half page up", show=False, tooltip="Go up half a page", id="list.page_up"
        ),
        Binding("slash", "filter", "Filter", key_display="/", tooltip="Show only what matches", id="list.filter"),
        Binding("escape", "clear_filter", "Clear filter", show=False, tooltip="Show everything again", id="list.clear"),
    ]

    class Highlighted(Message):
        """The cursor came to another item. `key` is None when there are no items."""

        def __init__(self, lines: Lines, key: Hashable | None) -> None:
            super().__init__()
            self.lines = lines
            self.key = key

        @property
        def control(self) -> Lines:
            return self.lines

    class Chosen(Message):
        """An item was opened, with enter or a second click."""

        def __init__(self, lines: Lines, key: Hashable) -> None:
            super().__init__()
            self.lines = lines
            self.key = key

        @property
        def control(self) -> Lines:
            return self.lines

    class MoreWanted(Message):
        """The cursor came near the end of what is loaded, and there is more."""

        def __init__(self, lines: Lines) -> None:
            super().__init__()
            self.lines = lines

        @property
        def control(self) -> Lines:
            return self.lines

    class FilterWanted(Message):
        """`/` was pressed: whoever has a filter line for this list shows it."""

        def __init__(self, lines: Lines) -> None:
            super().__init__()
            self.lines = lines

        @property
        def control(self) -> Lines:
            return self.lines

    class Filtered(Message):
        """Another filter holds."""

        def __init__(self, lines: Lines, query: str) -> None:
            super().__init__()
            self.lines = lines
            self.query = query

        @property
        def control(self) -> Lines:
            return self.lines

    def __init__(
        self,
        *,
        empty: str = "Nothing here.",
        hint: str = "",
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        """`empty` says why there is nothing, `hint` names the next key."""
        super().__init__(name=name, id=id, classes=classes)
        self.empty, self.hint = empty, hint
        self.can_filter = False
        self.always_lit = False
        """Draw the cursor as if the list had focus: another widget passes keys on to it."""
        self.total: int | None = None
        self.query_text = ""
        self._keys: Sequence[Hashable] = ()
        self._firsts: Sequence[int] = range(0)
        self._height = 1
        self._between: dict[int, tuple[Content, Content]] = {}
        self._line_count = 0
        self._unfiltered = 0
        self._cursor = 0
        self.kept_key: Hashable | None = None
        """The item the cursor was put on by hand: where it goes back to when a filter is cleared."""
        self._announced: Hashable | None = None
        self._asked_more = -1
        self._memo: dict[int, list[Strip]] = {}
        self._waiting: Waiting | None = None
        self._failure: tuple[str, str] | None = None

    # What a subclass says

    def draw_item(self, index: int, width: int) -> list[Content]:
        """The lines of one item in `width` cells, without the bar at the left."""
        raise NotImplementedError

    def can_stop_at(self, index: int) -> bool:
        """Whether the cursor may be on an item."""
        return True

    def columns_line(self, width: int) -> Content | None:
        """A line that stays at the top, such as the names of columns."""
        return None

    def apply_filter(self, query: str) -> None:
        """Show only the items that match `query`."""

    # What callers ask and do

    @property
    def key(self) -> Hashable | None:
        """The key of the item the cursor is on."""
        return self._keys[self._cursor] if self._keys else None

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the filter, in lower case."""
        return tuple(self.query_text.lower().split())

    @property
    def loaded(self) -> str:
        """How much is shown, for the status line: `14 of 14`, `300 of 812 loaded`, `2 of 31 match`."""
        if self.query_text:
            return f"{self._item_count()} of {self._unfiltered} match"
        if self.total is not None and self.total > self._unfiltered:
            return f"{self._unfiltered} of {self.total} loaded"
        return f"{self._unfiltered} of {self._unfiltered}"

    @property
    def cursor_region(self) -> Region:
        """Where the cursor stands on the screen: what nothing may cover."""
        if not self._keys:
            return Region()
        top = self._firsts[self._cursor] - self.scroll_offset.y + self._head
        return Region(self.region.x, self.region.y + top, self.size.width, self._height)

    def go_to(self, key: Hashable | None) -> bool:
        """Put the cursor on the item called `key`. False when it is not there."""
        try:
            index = self._keys.index(key)
        except ValueError:
            return False
        self._set_cursor(index)
        return True

    def look_at(self, index: int) -> None:
        """Put the cursor on an item for now: it goes back to where it was when other items are shown."""
        held = self.kept_key
        self._set_cursor(index)
        self.kept_key = held

    def stay(self) -> None:
        """Where the cursor is now is where it was put."""
        self.kept_key = self.key

    def wait_for(self, what: str, *, cancel: str = "") -> None:
        """Say that `what` (such as "the comments of Mobile SDK") is loading, if there is nothing to show yet."""
        self._failure = None
        if self._unfiltered or self._waiting is not None:
            return
        self._waiting = Waiting(self, what, cancel)
        self._refresh_all()

    def fail(self, what: str, cause: str) -> None:
        """Say what did not load and why, in place of the items, or below those there are."""
        self._stop_waiting()
        self._failure = (what, cause)
        self._lay_out_again()

    def set_filter(self, query: str) -> None:
        """Show only what holds every word of `query`. Empty: everything."""
        if query == self.query_text:
            return
        self.query_text = query
        self.apply_filter(query)
        self.post_message(self.Filtered(self, query))
        self.refresh_bindings()

    def redraw(self, key: Hashable | None = None) -> None:
        """Draw again: one item, or all of them."""
        if key is None:
            self._refresh_all()
        elif key in self._keys:
            self._memo.pop(self._keys.index(key), None)
            self.refresh()

    # Laying out

    def lay_out(
        self,
        keys: Sequence[Hashable],
        *,
        firsts: Sequence[int] | None = None,
        between: dict[int, tuple[Content, Content]] | None = None,
        height: int = 1,
        line_count: int | None = None,
        unfiltered: int | None = None,
    ) -> None:
        """Show other items: `firsts` is the line each begins on, `between` the two ends of lines that are no item's.

        The cursor stays on its key and on its place on the screen.
        """
        self._stop_waiting()
        held = self.kept_key
        above = self._firsts[self._cursor] - self.scroll_offset.y if self._keys else 0
        at_top = self.scroll_offset.y == 0
        old_cursor, had = self._cursor, bool(self._keys)
        self._keys, self._height = keys, height
        self._firsts = range(0, len(keys) * height, height) if firsts is None else firsts
        self._between = between or {}
        self._line_count = len(keys) * height if line_count is None else line_count
        self._unfiltered = len(keys) if unfiltered is None else unfiltered
        self._asked_more = -1
        try:
            self._cursor = keys.index(held) if held is not None else 0
        except ValueError:
            self._cursor = max(0, min(old_cursor, len(keys) - 1))
        self._cursor = self._next_stop(self._cursor, 1)
        self._lay_out_again()
        if keys and had:
            line = self._firsts[self._cursor]
            top = 0 if at_top and line < self._room else line - above
            self.scroll_to(y=max(0, top), animate=False, immediate=True)
        self._reveal()
        if self.kept_key is None and keys:
            self.kept_key = self.key
        self._announce()

    def _lay_out_again(self) -> None:
        self._memo.clear()
        head = self._head
        self.virtual_size = Size(self.scrollable_content_region.width, head + self._line_count + len(self._footer()))
        self.refresh_bindings()
        self.refresh()

    def _refresh_all(self) -> None:
        self._memo.clear()
        self.refresh()

    def _stop_waiting(self) -> None:
        self._failure = None
        if self._waiting is not None:
            self._waiting.stop()
            self._waiting = None

    def _item_count(self) -> int:
        return len(self._keys)

    @property
    def _head(self) -> int:
        return 1 if self._keys and self.columns_line(max(self.size.width, 1)) is not None else 0

    @property
    def _room(self) -> int:
        return max(1, self.size.height - self._head - len(self._footer()))

    def _footer(self) -> list[Content]:
        """The lines that stay at the bottom while there are items."""
        if not self._keys:
            return []
        lines: list[Content] = []
        if self._failure is not None:
            lines += failed(*self._failure, shown=self._unfiltered)
        if self.total is not None and self.total > self._unfiltered and not self.query_text:
            lines.append(partial(self._unfiltered, self.total))
        return lines

    # Drawing

    def on_resize(self, event: Resize) -> None:
        self._lay_out_again()
        self._reveal()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._memo.clear()

    def on_focus(self, event: Focus) -> None:
        self._refresh_cursor(self._cursor)

    def on_blur(self, event: Blur) -> None:
        self._refresh_cursor(self._cursor)

    def render_lines(self, crop: Region) -> list[Strip]:
        if self.styles.gutter.totals != (0, 0) or self.opacity < 1:
            return super().render_lines(crop)
        strips = [self.render_line(y) for y in crop.line_range]
        background = self.background_colors[1]
        for line_filter in self.get_line_filters():
            strips = [strip.apply_filter(line_filter, background) for strip in strips]
        if crop.column_span != (0, self.size.width):
            strips = [strip.crop(*crop.column_span) for strip in strips]
        return strips

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        if not self._keys:
            lines = self._state_lines()
            return self._strip(fit(lines[y], width) if y < len(lines) else Content(""), width)
        head, footer = self._head, self._footer()
        if y < head:
            return self._strip(self.columns_line(width) or Content(""), width, self.get_visual_style("line--columns"))
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
        kept = self._memo.get(index)
        if kept is not None:
            return kept
        is_cursor = index == self._cursor and self.can_stop_at(index)
        blurred = "" if self.has_focus or self.always_lit else "-blurred"
        base = self.get_visual_style(f"line--cursor{blurred}") if is_cursor else self.visual_style
        bar = Content.styled("▌", self.part(f"line--bar{blurred}")) if is_cursor else Content(" ")
        lines = self.draw_item(index, width - 1)
        strips = [self._strip(bar + fit(line, width - 1), width, base) for line in lines]
        strips += [self._strip(bar, width, base)] * (self._height - len(strips))
        if len(self._memo) >= _KEPT_STRIPS:
            self._memo.clear()
        self._memo[index] = strips
        return strips

    def part(self, name: str) -> Style:
        """The style of a component class, to lay over whatever is below."""
        return self.get_visual_style(name, partial=True)

    def _strip(self, content: Content, width: int, base: Style | None = None) -> Strip:
        style = base or self.visual_style
        segments = content.truncate(width).render(style, end="", parse_style=self.app.stylesheet.parse_style)
        return Strip([Segment(text, each.rich_style) for text, each in segments if text]).extend_cell_length(
            width, style.rich_style
        )

    def _state_lines(self) -> list[Content]:
        if self._failure is not None:
            return failed(*self._failure)
        if self._waiting is not None:
            return self._waiting.lines()
        if self.query_text and self._unfiltered:
            return filtered_out(self._unfiltered, self.query_text)
        return nothing(self.empty, self.hint)

    # Moving

    def _next_stop(self, index: int, step: int) -> int:
        """The nearest item from `index` on (or before, if there is none) where the cursor may be."""
        count = len(self._keys)
        index = max(0, min(index, count - 1))
        for direction in (step, -step):
            at = index
            while 0 <= at < count:
                if self.can_stop_at(at):
                    return at
                at += direction
        return index

    def _set_cursor(self, index: int, *, step: int = 1) -> None:
        if not self._keys:
            return
        old, self._cursor = self._cursor, self._next_stop(index, step)
        self.kept_key = self.key
        if old != self._cursor:
            self._refresh_cursor(old)
            self._refresh_cursor(self._cursor)
        self._reveal()
        self._announce()
        self._ask_for_more()

    def _refresh_cursor(self, index: int) -> None:
        self._memo.pop(index, None)
        if index < len(self._firsts):
            top = self._firsts[index] - self.scroll_offset.y + self._head
            self.refresh(Region(0, top, self.size.width, self._height))

    def _reveal(self) -> None:
        """Scroll as little as it takes to show the cursor, and the heading it stands under."""
        if not self._keys or not self.size.height:
            return
        first = self._firsts[self._cursor]
        top = first
        while top - 1 in self._between and first - top < 3:
            top -= 1
        offset, room = self.scroll_offset.y, self._room
        if top < offset:
            self.scroll_to(y=top, animate=False, immediate=True)
        elif first + self._height > offset + room:
            self.scroll_to(y=first + self._height - room, animate=False, immediate=True)

    def _announce(self) -> None:
        if self.key != self._announced:
            self._announced = self.key
            self.post_message(self.Highlighted(self, self.key))
            self.refresh_bindings()

    def _ask_for_more(self) -> None:
        count = len(self._keys)
        more = self.total is not None and self.total > self._unfiltered and not self.query_text
        if more and self._cursor >= count - 10 and self._asked_more != count:
            self._asked_more = count
            self.post_message(self.MoreWanted(self))

    def on_click(self, event: Click) -> None:
        line = event.y - self._head + self.scroll_offset.y
        index = bisect_right(self._firsts, line) - 1
        if event.y < self._head or index < 0 or line >= self._firsts[index] + self._height:
            return
        if not self.can_stop_at(index):
            return
        again = index == self._cursor and event.chain > 1
        self._set_cursor(index)
        self.clicked(index, event.x, again=again)

    def clicked(self, index: int, x: int, *, again: bool) -> None:
        """An item was clicked at cell `x`; `again` when it was the second click on it."""
        if again:
            self.action_choose()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "filter" and not self.can_filter:
            return False
        if action == "clear_filter" and not self.query_text:
            return False
        return super().check_action(action, parameters)

    def why_not(self, action: str, parameters: tuple[object, ...]) -> str | None:
        if action == "choose" and not self._keys:
            return "There is nothing here to open."
        return None

    def action_move(self, step: int) -> None:
        self._set_cursor(self._cursor + step, step=step)

    def action_first(self) -> None:
        self._set_cursor(0)
        self.scroll_to(y=0, animate=False, immediate=True)

    def action_last(self) -> None:
        self._set_cursor(len(self._keys) - 1, step=-1)

    def action_page(self, direction: int) -> None:
        step = max(1, self._room // self._height // 2)
        self._set_cursor(self._cursor + direction * step, step=direction)

    def action_choose(self) -> None:
        if self._keys and (key := self.key) is not None:
            self.post_message(self.Chosen(self, key))

    def action_filter(self) -> None:
        self.post_message(self.FilterWanted(self))

    def action_clear_filter(self) -> None:
        self.set_filter("")
