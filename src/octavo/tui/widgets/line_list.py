"""The base class of all lists and trees, `LineList`. When its items change, the cursor stays on the same item."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar

from textual.color import TRANSPARENT
from textual.content import Content
from textual.events import Blur, Click, Focus, Resize
from textual.filter import LineFilter
from textual.geometry import Region, Size
from textual.message import Message
from textual.strip import Strip
from textual.style import Style
from textual.widget import Widget

from octavo.api.folding import fold
from octavo.lazy_import import lazy
from octavo.tui.widgets.commands import Command, Commands, StillLoading
from octavo.tui.widgets.short_texts import fit, plural, spread
from octavo.tui.widgets.text_widgets import (
    LoadingMessage,
    ScrollWidget,
    age_line,
    empty_lines,
    failure_lines,
    limit_lines,
    no_match_lines,
    wrap_lines,
)

if TYPE_CHECKING:
    from octavo.tui.widgets.text_inputs import FilterLine

_create_filter_line = lazy("octavo.tui.widgets.text_inputs:FilterLine")

_MAX_MESSAGE_LINES = 3
"""Maximum number of lines for the error message below the items."""
_CACHE_SIZE = 2000
MATCH_STYLE = "bold underline $primary"
"""Style of the words that match the filter."""
_CURSOR_STYLES = {"lit": ("$primary", "on $octavo-cursor"), "blurred": ("$octavo-muted", "on $octavo-cursor 45%")}
"""Styles of the bar before the selected item and of the item itself."""


STILL_LOADING = StillLoading("Still loading. Wait a moment.")


LIST: Commands[LineList] = Commands(
    "list",
    (
        Command("open", "enter", "Open", "Open the selected item", run=lambda _, lines: lines.choose(),
                why_not=lambda _, lines: None if lines.keys else "There is nothing to open here.", applies=lambda _, lines: not lines.is_empty),
        Command("down", "j,down", "Down", "Go to the next item", run=lambda _, lines: lines.move(1), shown=False),
        Command("up", "k,up", "Up", "Go to the previous item", run=lambda _, lines: lines.move(-1), shown=False),
        Command("top", "g,home", "Top", "Go to the first item", run=lambda _, lines: lines.go_to_first(), shown=False),
        Command("bottom", "G,end", "Bottom", "Go to the last item and load more", run=lambda _, lines: lines.go_to_last(), shown=False),
        Command("page_down", "ctrl+d,pagedown", "Half page down", "Go down half a page", run=lambda _, lines: lines.move_by_half_page(1), shown=False),
        Command("page_up", "ctrl+u,pageup", "Half page up", "Go up half a page", run=lambda _, lines: lines.move_by_half_page(-1), shown=False),
        Command("next_heading", "right_curly_bracket", "Next heading", "Go to the next heading",
                run=lambda _, lines: lines.go_to_heading(1), is_available=lambda _, lines: bool(lines.extra_lines), key_display="}", shown=False),
        Command("previous_heading", "left_curly_bracket", "Previous heading", "Go to the previous heading",
                run=lambda _, lines: lines.go_to_heading(-1), is_available=lambda _, lines: bool(lines.extra_lines), key_display="{", shown=False),
        Command("filter", "slash", "Filter", "Filter the list", takes_text=True,
                run=lambda _, lines: lines.open_filter(), is_available=lambda _, lines: lines.can_filter, key_display="/"),
        Command("clear", "escape", "Clear", "Clear the filter, or the selection if no filter is set", run=lambda _, lines: lines.clear_filter(),
                is_available=lambda _, lines: lines.has_filter, shown=False),
    ),
)  # fmt: skip


class LineList(ScrollWidget, can_focus=True, inherit_bindings=False):
    """A list of items with a cursor, a filter and messages. Subclasses define `draw_item` and call `lay_out`."""

    draw_item: Callable[[int, int], list[Content]]
    """Returns the lines of the item with an index, for a width in cells."""
    HELP_NAME: ClassVar[str] = "lists"
    ALLOW_SELECT = False
    DEFAULT_CSS = """
    LineList {
        background: $background;
        color: $foreground;
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-size-vertical: 1;
    }
    """
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (LIST,)
    DELAYED_COMMANDS: ClassVar[frozenset[str]] = frozenset(
        ("open", "down", "up", "top", "bottom", "page_down", "page_up")
    )

    @dataclass
    class ListMessage(Message):
        """Base class of messages that a list posts. `lines` is the list."""

        lines: LineList

        @property
        def control(self) -> LineList:
            return self.lines

    @dataclass
    class Highlighted(ListMessage):
        """Posted when the cursor has moved to another item. `key` is None if the list is empty."""

        key: Hashable | None

    @dataclass
    class Opened(ListMessage):
        """Posted when the user opens an item with enter or a double click."""

        key: Hashable

    class MoreRequested(ListMessage):
        """Posted when the cursor comes near the end of the loaded items, and the server has more."""

    class FilterChanged(ListMessage):
        """Posted when the filter has changed."""

    def __init__(self, *, empty: str = "No items.", hint: str = "", id: str | None = None) -> None:
        """A list without items shows `empty`, and below it `hint`, which says what the user can do."""
        super().__init__(id=id)
        self.state = ListState(self, empty, hint)
        self.is_always_highlighted = False
        """True if the cursor is highlighted even while another widget has the focus."""
        self.counts = ListCounts(self)
        self.query_text = ""
        """The filter as the user typed it. Empty without a filter."""
        self.cursor = 0
        """Index of the item with the cursor."""
        self.keys: Sequence[Hashable] = ()
        """Keys of the items that the list shows, in order."""
        self.first_lines: Sequence[int] = range(0)
        """Number of the line at which each item begins, counted from 0."""
        self.item_height = 1
        self.extra_lines: dict[int, tuple[Content, Content]] = {}
        """Headings and blank lines between items, by line number. Each has a text at the left and one at the right."""
        self.line_count = 0
        self.painter = ItemPainter(self)
        self.footer: list[Content] = []
        """Lines at the bottom that do not scroll, such as an error."""
        self.can_filter: bool = False
        self.last_selected_key: Hashable | None = None
        """Key of the item to which the user moved the cursor last. If a filter hid this item, it is selected again when
        the filter is cleared. None before the first layout."""
        self.replaced_at = -inf
        """Time, as by `time.monotonic`, when the item with the cursor was last removed. A neighbor got the cursor."""
        self._announced_key: Hashable | None = None
        self._requested_count = -1
        self._layout_query = ""
        """The filter for which the items were laid out last."""
        self._filter_line: FilterLine | None = None

    def can_select(self, index: int) -> bool:
        """Return True if the cursor can be on the item with this index."""
        return True

    column_titles: Callable[[int], Content] | None = None
    """Returns the line with the column titles for a width in cells. None if there are no titles."""

    def match_count(self) -> int:
        """Return the number of items that match the filter."""
        return len(self.keys)

    def apply_filter(self) -> None:
        """Show only the items that contain every word of the filter. Subclasses with a filter define this method."""

    @property
    def key(self) -> Hashable | None:
        """Key of the item with the cursor. None if the list is empty."""
        return self.keys[self.cursor] if self.keys else None

    @property
    def filter_words(self) -> tuple[str, ...]:
        """Words of the filter, folded by `api.folding.fold`: case, width and the encoding of accents do not matter."""
        return tuple(fold(self.query_text).split())

    def go_to(self, key: Hashable | None) -> bool:
        """Move the cursor to the item with this key. Return False if the list does not show this item."""
        try:
            index = self.keys.index(key)
        except ValueError:
            return False
        self._set_cursor(index)
        return True

    def select_temporarily(self, index: int) -> None:
        """Move the cursor to an item until the next layout, which restores the item that the user selected."""
        user_key = self.last_selected_key
        self._set_cursor(index)
        self.last_selected_key = user_key

    def set_filter(self, query: str) -> None:
        """Show only items that contain every word of `query`. Show all items if `query` is empty."""
        if query == self.query_text:
            return
        self.query_text = query
        if self._filter_line is not None:
            self._filter_line.show_filter(query)
        self.apply_filter()
        self.post_message(self.FilterChanged(self))
        self.refresh_bindings()

    def lay_out(
        self,
        keys: Sequence[Hashable],
        *,
        first_lines: Sequence[int] | None = None,
        extra_lines: dict[int, tuple[Content, Content]] | None = None,
        height: int = 1,
        line_count: int | None = None,
        loaded_count: int | None = None,
    ) -> None:
        """Show the items with these keys. The cursor stays on its item, or moves to a neighbor if the item is gone.
        `height` is the number of lines of each item. If there are lines between items, pass `first_lines`,
        `extra_lines` and `line_count`. `loaded_count` is the number of items including those that the filter hides."""
        user_key, old_cursor, had_items = self.last_selected_key, self.cursor, bool(self.keys)
        old_keys = self.keys
        height_above = self.first_lines[old_cursor] - self.scroll_offset.y if had_items else 0
        is_at_top = self.scroll_offset.y == 0
        self.keys, self.item_height = keys, height
        self.first_lines = range(0, len(keys) * height, height) if first_lines is None else first_lines
        self.extra_lines = extra_lines or {}
        self.line_count = len(keys) * height if line_count is None else line_count
        self.counts.loaded = len(keys) if loaded_count is None else loaded_count
        if self._filter_line is not None:
            self._filter_line.show_counts(self.match_count(), self.counts.loaded)
        self._requested_count = -1
        is_same_filter, self._layout_query = self._layout_query == self.query_text, self.query_text
        remaining_index = None
        try:
            index = keys.index(user_key) if user_key is not None else 0
        except ValueError:
            remaining_index = _nearest_remaining(old_keys, old_cursor, keys) if is_same_filter else None
            index = remaining_index if remaining_index is not None else 0 if self.query_text else old_cursor
            self.replaced_at = monotonic() if remaining_index is not None else self.replaced_at
        self.cursor = self._nearest_selectable(index, 1)
        if keys and (not self.query_text or (remaining_index is not None and user_key in old_keys)):
            # Remember the neighbor of a removed item as selected by the user, but not an item that a filter selects.
            self.last_selected_key = self.key
        self.lay_out_again()
        if keys and had_items:
            cursor_line = self.first_lines[self.cursor]
            new_top = 0 if is_at_top and cursor_line < self._visible_height else cursor_line - height_above
            self.scroll_to(y=max(0, new_top), animate=False, force=True, immediate=True)
        self._scroll_to_cursor()
        self._announce_selection()
        if self.waiting_commands and keys:
            self.call_later(self.run_waiting_commands)  # Later, because the view may first select another item.

    @property
    def is_waiting_for_lines(self) -> bool:
        return self.state.shows_loading and not self.keys

    @property
    def is_empty(self) -> bool:
        return not self.keys and not self.state.shows_loading

    def run_waiting_commands(self) -> None:
        if self.app.focused is not self:
            self.waiting_commands = ()
        super().run_waiting_commands()

    def on_resize(self, event: Resize) -> None:
        self.lay_out_again()
        self._scroll_to_cursor()

    def on_focus(self, event: Focus) -> None:
        self._refresh_items(self.cursor)

    def on_blur(self, event: Blur) -> None:
        self.waiting_commands = ()
        self._refresh_items(self.cursor)

    def _nearest_selectable(self, index: int, step: int) -> int:
        """Return the nearest index on which the cursor can be: first in the direction `step`, then in the other. If the
        cursor can be on no item, return `index`, moved into the bounds of the list."""
        count = len(self.keys)
        index = max(0, min(index, count - 1))
        for direction in (step, -step):
            candidate = index
            while 0 <= candidate < count:
                if self.can_select(candidate):
                    return candidate
                candidate += direction
        return index

    def _set_cursor(self, index: int, *, step: int = 1) -> None:
        if not self.keys:
            self._request_more()
            return
        old_cursor, self.cursor = self.cursor, self._nearest_selectable(index, step)
        self.last_selected_key = self.key
        if old_cursor != self.cursor:
            self._refresh_items(old_cursor, self.cursor)
        self._scroll_to_cursor()
        self._announce_selection()
        self._request_more()

    def _refresh_items(self, *indexes: int) -> None:
        offset, width, count = self.header_height - self.scroll_offset.y, self.size.width, len(self.first_lines)
        rows = [
            Region(0, self.first_lines[index] + offset, width, self.item_height) for index in indexes if index < count
        ]
        if rows:
            self.refresh(*rows)

    def _scroll_to_cursor(self) -> None:
        if not self.keys or not self.size.height:
            return
        first_line = self.first_lines[self.cursor]
        top_line = first_line
        while top_line - 1 in self.extra_lines and first_line - top_line < 3:
            top_line -= 1
        offset, visible_height = self.scroll_offset.y, self._visible_height
        lowest_offset = min(first_line, first_line + self.item_height - visible_height)
        if offset > (top_line := max(top_line, lowest_offset)):
            self.scroll_to(y=top_line, animate=False, force=True, immediate=True)
        elif offset < lowest_offset:
            self.scroll_to(y=lowest_offset, animate=False, force=True, immediate=True)

    def _announce_selection(self) -> None:
        if self.key != self._announced_key:
            self._announced_key = self.key
            self.post_message(self.Highlighted(self, self.key))
            self.refresh_bindings()

    def _request_more(self) -> None:
        count = len(self.keys)
        if (
            self.counts.is_partial
            and not self.query_text
            and self.cursor >= count - 10
            and self._requested_count != count
        ):
            self._requested_count = count
            self.post_message(self.MoreRequested(self))

    def on_click(self, event: Click) -> None:
        line = event.y - self.header_height + self.scroll_offset.y
        index = bisect_right(self.first_lines, line) - 1
        is_on_items = self.header_height <= event.y < self.size.height - len(self.footer)
        if not is_on_items or index < 0 or line >= self.first_lines[index] + self.item_height:
            return
        if not self.can_select(index):
            return
        is_double = index == self.cursor and event.chain > 1
        self._set_cursor(index)
        self.item_clicked(index, event.x, is_double=is_double)

    def item_clicked(self, index: int, x: int, *, is_double: bool) -> None:
        """Called when the user clicks an item. Open it if the click `is_double`. `x` is the clicked column."""
        if is_double:
            self.choose()

    def move(self, step: int) -> None:
        """Move the cursor down by `step` items, or up if `step` is negative."""
        self._set_cursor(self.cursor + step, step=step)

    def go_to_first(self) -> None:
        """Move the cursor to the first item, and scroll to the top."""
        self._set_cursor(0)
        self.scroll_to(y=0, animate=False, force=True, immediate=True)
        self._scroll_to_cursor()

    def go_to_last(self) -> None:
        """Move the cursor to the last item that is loaded."""
        self._set_cursor(len(self.keys) - 1, step=-1)

    def go_to_heading(self, step: int) -> None:
        """Move the cursor to the next (1) or the previous (-1) item that is the first below a heading."""
        indexes = {bisect_left(self.first_lines, line) for line in self.extra_lines}
        first_indexes = {self._nearest_selectable(index, 1) for index in indexes if index < len(self.keys)}
        candidates = [item for item in first_indexes if (item > self.cursor if step > 0 else item < self.cursor)]
        if candidates:
            self._set_cursor(min(candidates) if step > 0 else max(candidates))

    def move_by_half_page(self, direction: int) -> None:
        """Move the cursor down (1) or up (-1) by half the height of the list."""
        step = max(1, self._visible_height // self.item_height // 2)
        self._set_cursor(self.cursor + direction * step, step=direction)

    def choose(self) -> None:
        """Post `Opened` for the item with the cursor."""
        if self.keys and (key := self.key) is not None:
            self.post_message(self.Opened(self, key))

    async def open_filter(self) -> None:
        """Show and focus the filter input above the list. The list must be in a container with a vertical layout."""
        if self._filter_line is None and isinstance(self.parent, Widget):
            self._filter_line = _create_filter_line(self.set_filter, self._finish_filter)
            await self.parent.mount(self._filter_line, before=self)
        if self._filter_line is not None:
            self._filter_line.open()

    def _finish_filter(self, is_kept: bool) -> None:
        if is_kept and self.keys:
            self.last_selected_key = self.key
        self.focus()

    @property
    def has_filter(self) -> bool:
        """True if `clear_filter` would change something."""
        return bool(self.query_text)

    def clear_filter(self) -> None:
        self.set_filter("")

    @property
    def cursor_region(self) -> Region:
        """Screen region of the item with the cursor. Notifications avoid this region."""
        if not self.keys:
            return Region()
        top = self.first_lines[self.cursor] - self.scroll_offset.y + self.header_height
        return Region(self.region.x, self.region.y + top, self.size.width, self.item_height)

    @property
    def visible_indexes(self) -> range:
        """Indexes of the items that are on the screen."""
        top_line = self.scroll_offset.y
        first_index = max(0, bisect_right(self.first_lines, top_line) - 1)
        return range(first_index, min(len(self.keys), bisect_left(self.first_lines, top_line + self._visible_height)))

    def redraw(self, key: Hashable | None = None) -> None:
        """Draw the item with this key again, or all items if `key` is None."""
        if key is None:
            self.painter.discard()
        elif key in self.keys:
            self.painter.discard_item(self.keys.index(key))
        self.refresh()

    def lay_out_again(self) -> None:
        """Lay out the same items again, after the width, the column titles or the footer have changed."""
        self.painter.discard()
        self.footer = self.state.footer() if self.keys else []
        lines = self.header_height + self.line_count + len(self.footer) if self.keys else len(self.state.lines())
        self.virtual_size = Size(self.scrollable_content_region.width, lines)
        self.refresh_bindings()
        self.refresh()

    @property
    def header_height(self) -> int:
        """Number of lines for column titles at the top: 1 or 0."""
        return 1 if self.keys and self.column_titles is not None else 0

    @property
    def _visible_height(self) -> int:
        return max(1, self.size.height - self.header_height - len(self.footer))

    def watch_show_vertical_scrollbar(self) -> None:
        self.lay_out_again()  # The scroll bar changes the width of the lines without a resize event.

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self.painter.discard()

    def render_lines(self, crop: Region) -> list[Strip]:
        if self.styles.gutter.totals != (0, 0):
            return super().render_lines(crop)
        strips = self.painter.strips_of_rows(crop.line_range)
        if crop.column_span != (0, self.size.width):
            strips = [strip.crop(*crop.column_span) for strip in strips]
        return strips

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        if not self.keys:
            lines = self.state.lines()
            return self.painter.make_strip(fit(lines[y], width) if y < len(lines) else Content(""), width)
        header_height, footer = self.header_height, self.footer
        if y < header_height and self.column_titles is not None:
            return self.painter.make_strip(
                self.column_titles(width), width, self.visual_style + Style.parse("$octavo-muted on $panel")
            )
        items_end = min(self.size.height - len(footer), header_height + self.line_count)
        if y >= items_end:
            index = y - items_end
            return self.painter.make_strip(fit(footer[index], width) if index < len(footer) else Content(""), width)
        return self.painter.strip_of_line(self.scroll_offset.y + y - header_height, width)


class ListState:
    """Messages of a list: it is loading, loading has failed, it is empty, or it is only partly loaded."""

    def __init__(self, widget: LineList, empty: str, hint: str) -> None:
        self._list = widget
        self.empty, self.hint = empty, hint
        self.custom_lines: Callable[[int], list[Content]] | None = None
        """Returns the lines of an empty list for a width in cells. None if an empty list shows `empty` and `hint`."""
        self._loading_message: LoadingMessage | None = None
        self._failure: tuple[str, str] | None = None
        self._age_note = ""

    @property
    def shows_loading(self) -> bool:
        return self._loading_message is not None

    def show_loading(self, subject: str, *, titles: Sequence[str] = ()) -> None:
        """Show in an empty list that `subject`, such as “the comments”, is loading, with all `titles` known so far."""
        if self._failure is not None:
            self._failure = None
            self._list.lay_out_again()
        if not self._list.counts.loaded and self._loading_message is None:
            self._loading_message = LoadingMessage(self._list, subject, titles)
            self._list.redraw()

    def fail(self, message: str, cause: str) -> None:
        """Show an error and its cause below the loaded items. If no items are loaded, show them instead of items."""
        self.clear_messages()
        self._list.waiting_commands = ()
        self._failure = (message, cause)
        self._list.lay_out_again()

    def show_age(self, note: str) -> None:
        """Show `note`, which says how old the items are, below the items. Remove the other messages."""
        self.clear_messages()
        self._age_note = note
        self._list.lay_out_again()

    def show_unreadable(self, unreadable_count: int) -> None:
        """If no items are loaded because Octavo cannot read `unreadable_count` items of the server, show an error."""
        if unreadable_count and not self._list.counts.loaded:
            message = f"{plural(unreadable_count, 'item')} could not be read"
            self.fail(
                message, "This version of Octavo cannot read the server's response. Update Octavo, then try again."
            )

    def clear_messages(self) -> None:
        """Remove the loading message, the error and the note that says how old the items are."""
        self._failure, self._age_note = None, ""
        if self._loading_message is not None:
            self._loading_message.stop()
            self._loading_message = None

    def lines(self) -> list[Content]:
        """Return the lines that are shown instead of items: a loading message, an error, or why the list is empty."""
        query, loaded_count = self._list.query_text, self._list.counts.loaded
        if self._loading_message is not None:
            return self._loading_message.lines()
        if self._failure is not None:
            return self._wrap(failure_lines(*self._failure, self._list.screen))
        if query and loaded_count:
            return self._wrap(no_match_lines(loaded_count, query))
        if self.custom_lines is not None:
            return self.custom_lines(max(1, self._list.scrollable_content_region.width))
        return self._wrap(empty_lines(self.empty, self.hint))

    def footer(self) -> list[Content]:
        """Return lines below the items: an error, the age of the data, and the key that loads more. Empty if none."""
        lines: list[Content] = []
        counts = self._list.counts
        if self._failure is not None:
            message_line, key_line = failure_lines(*self._failure, self._list.screen, item_count=counts.loaded)
            lines += [*limit_lines(self._wrap([message_line]), _MAX_MESSAGE_LINES), *self._wrap([key_line])]
        if self._age_note:
            lines.append(age_line(self._age_note))
        if counts.is_partial and not self._list.query_text:
            lines.append(counts.more_line)
        return lines

    def _wrap(self, lines: list[Content]) -> list[Content]:
        # At least 1, because 0 means no wrapping, and the scroll bar would appear and disappear forever.
        width = self._list.scrollable_content_region.width
        return wrap_lines(lines, max(1, width) if self._list.outer_size.width else 0)


class ListCounts:
    """The number of loaded items and of all items of a list, and texts with these numbers."""

    def __init__(self, widget: LineList) -> None:
        self._list = widget
        self.loaded = 0
        """Number of loaded items, including items that the filter hides."""
        self.total: int | None = None
        """Number of items on the server. None if it is unknown, or if all items are loaded."""
        self.partial_note = ""
        """Text that says how much is loaded if `total` is unknown. Empty if all items are loaded."""

    @property
    def is_partial(self) -> bool:
        """True if the server has more items than are loaded."""
        return bool(self.partial_note) or (self.total is not None and self.total > self.loaded)

    @property
    def more_line(self) -> Content:
        """The line below a list that is not completely loaded, such as `300 of 812 loaded   G load more`."""
        is_counted = self.total is not None and self.total > self.loaded
        progress = f"{self.loaded} of {self.total} loaded" if is_counted else self.partial_note
        return Content.assemble(
            (f"  {progress}   ", "$octavo-muted"), ("G", "$primary"), (" load more", "$octavo-muted")
        )

    @property
    def summary(self) -> str:
        """Counts for the status bar, such as `14 of 14`, `300 of 812 loaded` or `2 of 31 shown`."""
        if self._list.query_text:
            return f"{self._list.match_count()} of {self.loaded} shown"
        if self.total is not None and self.total > self.loaded:
            return f"{self.loaded} of {self.total} loaded"
        return f"{self.loaded} loaded, more on the server" if self.partial_note else f"{self.loaded} of {self.loaded}"


class ItemPainter:
    """Paints the items of a list as Textual strips, and caches the strips."""

    def __init__(self, widget: LineList) -> None:
        self._list = widget
        self._cache: dict[int, tuple[list[Content], dict[str, list[Strip]]]] = {}
        """Lines of each item, and their strips for each style of the cursor, by index of the item."""
        self._filters: Sequence[LineFilter] = ()
        """Textual line filters of the app, as they were when the strips were painted."""

    def discard(self) -> None:
        self._cache.clear()

    def discard_item(self, index: int) -> None:
        self._cache.pop(index, None)

    def strips_of_rows(self, rows: range) -> list[Strip]:
        """Return the strips for these visible rows of the list, counted from the top of the widget."""
        widget = self._list
        if (filters := widget.get_line_filters()) != self._filters:
            self._filters = filters
            self._cache.clear()
        width, header = widget.scrollable_content_region.width, widget.header_height
        items_end = min(widget.size.height - len(widget.footer), header + widget.line_count) if widget.keys else 0
        first_line = widget.scroll_offset.y - header
        return [
            self.strip_of_line(first_line + y, width) if header <= y < items_end else widget.render_line(y)
            for y in rows
        ]

    def strip_of_line(self, line: int, width: int) -> Strip:
        """Return the strip for a line of the list. Line 0 is the first line of the list, even if scrolled away."""
        widget = self._list
        if line >= widget.line_count:
            return self.make_strip(Content(""), width)
        if (extra_line := widget.extra_lines.get(line)) is not None:
            return self.make_strip(spread(*extra_line, width - 1), width)
        index = bisect_right(widget.first_lines, line) - 1
        line_of_item = line - widget.first_lines[index] if index >= 0 else widget.item_height
        if line_of_item >= widget.item_height:
            return self.make_strip(Content(""), width)
        return self._item(index, width)[line_of_item]

    def _item(self, index: int, width: int) -> list[Strip]:
        widget = self._list
        is_cursor = index == widget.cursor and widget.can_select(index)
        cursor_style = "" if not is_cursor else "lit" if widget.has_focus or widget.is_always_highlighted else "blurred"
        if (entry := self._cache.get(index)) is None:
            if len(self._cache) >= _CACHE_SIZE:
                self._cache.clear()
            entry = self._cache[index] = ([fit(line, width - 1) for line in widget.draw_item(index, width - 1)], {})
        lines, strips_by_style = entry
        if (strips := strips_by_style.get(cursor_style)) is None:
            bar = Content(" ")
            base_style = widget.visual_style
            if is_cursor:
                bar_style, item_style = _CURSOR_STYLES[cursor_style]
                bar = Content.styled("▌", bar_style)
                base_style += Style.parse(item_style)
            missing_lines = [Content("")] * (widget.item_height - len(lines))
            strips = strips_by_style[cursor_style] = [
                self.make_strip(bar + line, width, base_style) for line in (*lines, *missing_lines)
            ]
        return strips

    def make_strip(self, content: Content, width: int, base: Style | None = None) -> Strip:
        """Return `content` as a strip of `width` cells. `base` is the base style, by default the style of the list."""
        widget = self._list
        style = base or widget.visual_style
        strip = Strip(content.truncate(width).render_segments(style)).extend_cell_length(width, style.rich_style)
        for line_filter in self._filters:
            strip = strip.apply_filter(line_filter, widget.visual_style.background or TRANSPARENT)
        return strip


def _nearest_remaining(old_keys: Sequence[Hashable], cursor: int, keys: Sequence[Hashable]) -> int | None:
    """Return the index in `keys` of the item that gets the cursor after items were removed: the item at `cursor`, else
    the next remaining item, else the previous remaining item. None if no old item remains."""
    new_indexes = {key: index for index, key in enumerate(keys)}
    from_cursor, before_cursor = old_keys[cursor:], reversed(old_keys[:cursor])
    return next((new_indexes[key] for key in (*from_cursor, *before_cursor) if key in new_indexes), None)
