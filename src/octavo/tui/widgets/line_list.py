"""A list that is drawn line by line, with a cursor that is a bar and never jumps."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import App
from textual.content import Content
from textual.events import Blur, Click, Focus, Resize
from textual.geometry import Region
from textual.message import Message
from textual.widget import Widget

from octavo.tui.widgets.commands import Command, Commands, Explained
from octavo.tui.widgets.virtual_list import VirtualList

if TYPE_CHECKING:
    from octavo.tui.widgets.filter_input import FilterLine


def _why_not_opened(app: App[Any], lines: Lines) -> str | None:
    if lines.keys:
        return None
    return "Wait a moment: this is still loading." if lines.is_waiting else "There is nothing here to open."


LIST: Commands[Lines] = Commands(
    "list",
    (
        Command("open", "enter", "Open", "Open what the cursor is on", run=lambda _, lines: lines.choose(), why_not=_why_not_opened),
        Command("down", "j,down", "Down", "Go down one row", run=lambda _, lines: lines.move(1), shown=False),
        Command("up", "k,up", "Up", "Go up one row", run=lambda _, lines: lines.move(-1), shown=False),
        Command("top", "g,home", "Top", "Go to the first row", run=lambda _, lines: lines.go_to_first(), shown=False),
        Command("bottom", "G,end", "Bottom", "Go to the last row, loading on", run=lambda _, lines: lines.go_to_last(), shown=False),
        Command("page_down", "ctrl+d,pagedown", "Half page down", "Go down half a page", run=lambda _, lines: lines.page(1), shown=False),
        Command("page_up", "ctrl+u,pageup", "Half page up", "Go up half a page", run=lambda _, lines: lines.page(-1), shown=False),
        Command("filter", "slash", "Filter", "Show only what matches",
                run=lambda _, lines: lines.open_filter(), there=lambda _, lines: lines.can_filter, key_display="/"),
        Command("clear", "escape", "Clear filter", "Show everything again; then untick all", run=lambda _, lines: lines.clear_filter(),
                there=lambda _, lines: lines.is_narrowed, shown=False),
    ),
    find=lambda lines: lines,
)  # fmt: skip


class Lines(Explained, VirtualList, can_focus=True):
    """Items with a cursor that stays on its key, a filter, and messages about both.

    A subclass says where each item stands (`lay_out`) and how one is drawn (`draw_item`).
    """

    CONTEXT: ClassVar[str] = "lists"
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (LIST,)

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
        super().__init__(empty=empty, hint=hint, name=name, id=id, classes=classes)
        self.can_filter: bool = False
        self.kept_key: Hashable | None = None
        """The item the cursor was put on by hand: where it goes back to when a filter is cleared."""
        self._announced: Hashable | None = None
        self._asked_more = -1
        self._laid_out_for = ""
        """The filter that held when items were laid out last."""
        self._filter_line: FilterLine | None = None

    # What a subclass says

    def apply_filter(self, query: str) -> None:
        """Show only the items that match `query`."""

    # What callers ask and do

    @property
    def key(self) -> Hashable | None:
        """The key of the item the cursor is on."""
        return self.keys[self.cursor] if self.keys else None

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the filter, in lower case."""
        return tuple(self.query_text.lower().split())

    def go_to(self, key: Hashable | None) -> bool:
        """Put the cursor on the item called `key`. False when it is not there."""
        try:
            index = self.keys.index(key)
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

    def set_filter(self, query: str) -> None:
        """Show only what holds every word of `query`. Empty: everything."""
        if query == self.query_text:
            return
        self.query_text = query
        self.apply_filter(query)
        if self._filter_line is not None:
            self._filter_line.holds(query, self.loaded)
        self.post_message(self.Filtered(self, query))
        self.refresh_bindings()

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
        held, old, had = self.kept_key, self.cursor, bool(self.keys)
        before = self.keys
        above = self._firsts[old] - self.scroll_offset.y if had else 0
        at_top = self.scroll_offset.y == 0
        self.set_items(
            keys, firsts=firsts, between=between, height=height, line_count=line_count, unfiltered=unfiltered
        )
        self._asked_more = -1
        is_same_filter, self._laid_out_for = self._laid_out_for == self.query_text, self.query_text
        left = None
        try:
            index = keys.index(held) if held is not None else 0
        except ValueError:
            left = _nearest_left(before, old, keys) if is_same_filter else None
            index = left if left is not None else 0 if self.query_text else old
        self.cursor = self._next_stop(index, 1)
        if keys and (not self.query_text or (left is not None and held in before)):
            # What the cursor was on may be gone: should it come back, the cursor must not go back to it by itself.
            self.kept_key = self.key
        self._lay_out_again()
        if keys and had:
            line = self._firsts[self.cursor]
            top = 0 if at_top and line < self._room else line - above
            self.scroll_to(y=max(0, top), animate=False, force=True, immediate=True)
        self._reveal()
        self._announce()

    def on_resize(self, event: Resize) -> None:
        self._lay_out_again()
        self._reveal()

    def on_focus(self, event: Focus) -> None:
        self._refresh_items(self.cursor)

    def on_blur(self, event: Blur) -> None:
        self._refresh_items(self.cursor)

    # Moving

    def _next_stop(self, index: int, step: int) -> int:
        """The nearest item from `index` on (or before, if there is none) where the cursor may be."""
        count = len(self.keys)
        index = max(0, min(index, count - 1))
        for direction in (step, -step):
            at = index
            while 0 <= at < count:
                if self.can_stop_at(at):
                    return at
                at += direction
        return index

    def _set_cursor(self, index: int, *, step: int = 1) -> None:
        if not self.keys:
            self._ask_for_more()
            return
        old, self.cursor = self.cursor, self._next_stop(index, step)
        self.kept_key = self.key
        if old != self.cursor:
            self._refresh_items(old, self.cursor)
        self._reveal()
        self._announce()
        self._ask_for_more()

    def _refresh_items(self, *indexes: int) -> None:
        above, width, count = self._head - self.scroll_offset.y, self.size.width, len(self._firsts)
        rows = [Region(0, self._firsts[each] + above, width, self._height) for each in indexes if each < count]
        if rows:
            self.refresh(*rows)

    def _reveal(self) -> None:
        """Scroll as little as it takes to show the cursor, and the heading it stands under."""
        if not self.keys or not self.size.height:
            return
        first = self._firsts[self.cursor]
        top = first
        while top - 1 in self._between and first - top < 3:
            top -= 1
        offset, room = self.scroll_offset.y, self._room
        if top < offset:
            self.scroll_to(y=top, animate=False, force=True, immediate=True)
        elif first + self._height > offset + room:
            self.scroll_to(y=first + self._height - room, animate=False, force=True, immediate=True)

    def _announce(self) -> None:
        if self.key != self._announced:
            self._announced = self.key
            self.post_message(self.Highlighted(self, self.key))
            self.refresh_bindings()

    def _ask_for_more(self) -> None:
        count = len(self.keys)
        more = self.beyond or (self.total is not None and self.total > self._unfiltered)
        if more and not self.query_text and self.cursor >= count - 10 and self._asked_more != count:
            self._asked_more = count
            self.post_message(self.MoreWanted(self))

    def on_click(self, event: Click) -> None:
        line = event.y - self._head + self.scroll_offset.y
        index = bisect_right(self._firsts, line) - 1
        if event.y < self._head or index < 0 or line >= self._firsts[index] + self._height:
            return
        if not self.can_stop_at(index):
            return
        again = index == self.cursor and event.chain > 1
        self._set_cursor(index)
        self.clicked(index, event.x, again=again)

    def clicked(self, index: int, x: int, *, again: bool) -> None:
        """An item was clicked at cell `x`; `again` when it was the second click on it."""
        if again:
            self.choose()

    def move(self, step: int) -> None:
        """Go so many rows down, or up."""
        self._set_cursor(self.cursor + step, step=step)

    def go_to_first(self) -> None:
        """Go to the first row, and show what is above it."""
        self._set_cursor(0)
        self.scroll_to(y=0, animate=False, force=True, immediate=True)
        self._reveal()

    def go_to_last(self) -> None:
        """Go to the last row that is loaded."""
        self._set_cursor(len(self.keys) - 1, step=-1)

    def page(self, direction: int) -> None:
        """Go down half a page, or with -1 up."""
        step = max(1, self._room // self._height // 2)
        self._set_cursor(self.cursor + direction * step, step=direction)

    def choose(self) -> None:
        """Open what the cursor is on."""
        if self.keys and (key := self.key) is not None:
            self.post_message(self.Chosen(self, key))

    async def open_filter(self) -> None:
        """Open the filter line, which stands above the list: the list has to be in a column."""
        if self._filter_line is None and isinstance(self.parent, Widget):
            from octavo.tui.widgets.filter_input import FilterLine  # a list is shown without it

            self._filter_line = FilterLine(self.set_filter, self._filter_left)
            await self.parent.mount(self._filter_line, before=self)
        if self._filter_line is not None:
            self._filter_line.open()

    def _filter_left(self, kept: bool) -> None:
        if kept and self.keys:
            self.stay()
        self.focus()

    @property
    def is_narrowed(self) -> bool:
        """Whether there is something that `clear_filter` takes away."""
        return bool(self.query_text)

    def clear_filter(self) -> None:
        """Show everything again."""
        self.set_filter("")


def _nearest_left(before: Sequence[Hashable], cursor: int, keys: Sequence[Hashable]) -> int | None:
    """Where among `keys` the first is that stood at the cursor or after it, else the last that stood before it."""
    places = {key: index for index, key in enumerate(keys)}
    after, above = before[cursor:], reversed(before[:cursor])
    return next((places[key] for key in (*after, *above) if key in places), None)
