"""A list whose items are drawn as rows or as a table: start at `RowList`. Rows can have headings, and can be selected
and filtered. Also the fuzzy search of choosers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from textual.app import App
from textual.content import Content
from textual.style import Style

from octavo.api.folding import FoldedText, fold
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.line_list import MATCH_STYLE, STILL_LOADING, LineList
from octavo.tui.widgets.short_texts import AnyText, fit, highlight, safe, spread

T = TypeVar("T")


class SearchTexts(Generic[T]):
    """Texts of list items in which the filter searches, each computed once and folded by `api.folding.fold`."""

    def __init__(self, text_of: Callable[[T], str]) -> None:
        self._text_of = text_of
        self._items: Sequence[T] = ()
        self._texts: list[str] = []
        """Folded text of each item. Empty if the texts are not computed yet."""

    def set_items(self, items: Sequence[T]) -> None:
        """Replace the items."""
        self._items, self._texts = tuple(items), []

    def discard(self) -> None:
        """Forget all texts. The caller must then apply the filter again."""
        self._texts = []

    def matching(self, words: tuple[str, ...]) -> Sequence[int]:
        """Return the indexes of the items whose text contains every one of `words`."""
        if not self._texts:
            self._texts = [fold(self._text_of(item)) for item in self._items]
        return [index for index, text in enumerate(self._texts) if all(word in text for word in words)]


class FuzzyMatch(NamedTuple):
    """Match of a text with a query: a score, higher for better matches, and the indexes of the matching letters."""

    score: float
    indexes: tuple[int, ...] = ()

    def highlight(self, content: Content, style: str | Style) -> Content:
        """Return `content`, the text that was searched, with the matching letters in `style`."""
        start = end = -1
        for index in (*self.indexes, -1):
            if index != end:
                if start >= 0:
                    content = content.stylize(style, start, end)
                start = index
            end = index + 1
        return content


def fuzzy_match(query: str, text: str) -> FuzzyMatch | None:
    """Return how `text` matches `query`. None if a word of the query does not match."""
    folded = FoldedText(text)
    score, matched_indexes = 0.0, set[int]()
    for word in fold(query).split():
        word_match = _match_substring(word, folded.text) or _match_letters(word, folded.text)
        if word_match is None:
            return None
        score += word_match.score
        for index in word_match.indexes:
            matched_indexes.update(range(*folded.original_range(index, index + 1)))
    return FuzzyMatch(score - len(text) / 1000, tuple(sorted(matched_indexes)))


def _match_substring(word: str, text: str) -> FuzzyMatch | None:
    best_match: FuzzyMatch | None = None
    start = text.find(word)
    while start >= 0:
        starts_word = _starts_word(text, start)
        score = (100.0 if starts_word else 60.0) - min(start, 40) / 10
        if best_match is None or score > best_match.score:
            best_match = FuzzyMatch(score, tuple(range(start, start + len(word))))
        start = text.find(word, start + 1)
    return best_match


def _match_letters(word: str, text: str) -> FuzzyMatch | None:
    """Match the letters of `word` in order, as `oc` in `open comment`. None if a letter is missing or too far away."""
    for start, letter in enumerate(text):
        if letter != word[0] or not _starts_word(text, start):
            continue
        indexes, distance = [start], 0
        for next_in_word in word[1:]:
            next_letter = _find_next(next_in_word, text, indexes[-1] + 1)
            if next_letter is None:
                break
            indexes.append(next_letter[0])
            distance += next_letter[1]
        if len(indexes) == len(word) and distance <= 3 * len(word):
            return FuzzyMatch(30.0 - distance, tuple(indexes))
    return None


def _find_next(letter: str, text: str, start: int) -> tuple[int, int] | None:
    """Return the index and the distance of the closest `letter` from `start` on. The distance is the number of skipped
    characters, or at the start of a word, 2 for each skipped word if this is less. None if there is no `letter`."""
    nearest_index = text.find(letter, start)
    if nearest_index < 0:
        return None
    skipped_words = 0
    for index in range(start, len(text)):
        if text[index].isalnum() and _starts_word(text, index):
            if text[index] == letter and 2 * skipped_words < nearest_index - start:
                return index, 2 * skipped_words
            skipped_words += 1
    return nearest_index, nearest_index - start


def _starts_word(text: str, index: int) -> bool:
    return index == 0 or not text[index - 1].isalnum()


@dataclass(frozen=True)
class ListFilter:
    """A filter that the user can apply to a list, such as “by Ana”. Only one filter of each `kind` is active."""

    kind: str
    name: str


@dataclass(frozen=True)
class ItemFilter(ListFilter, Generic[T]):
    """A filter whose result for an item depends only on this item."""

    matches: Callable[[T], bool] = field(compare=False)


F = TypeVar("F", bound=ItemFilter[Any])


def filter_items(items: Iterable[T], filters: Collection[ItemFilter[T]]) -> list[T]:
    return [item for item in items if all(each.matches(item) for each in filters)]


def available_filters(candidates: Iterable[F], items: Sequence[Any], active: Sequence[F]) -> list[tuple[F, int]]:
    """Return the `candidates` that are not `active` and would leave out some items but not all. Each comes with the
    number of items that would be shown if the candidate replaced the active filter of its kind."""
    filters = []
    for candidate in candidates:
        filtered_items = filter_items(items, [each for each in active if each.kind != candidate.kind])
        match_count = sum(map(candidate.matches, filtered_items))
        if candidate not in active and 0 < match_count < len(filtered_items):
            filters.append((candidate, match_count))
    return filters


@dataclass(frozen=True, slots=True)
class Row:
    """Texts and style of one row."""

    text: AnyText = ""
    """Text at the left of the first line."""
    right: AnyText = ""
    """Text at the right end of the first line, such as an age. In a narrow row, `text` is cut first."""
    second_line: AnyText | None = None
    """Text at the left of the second line, if the list has two lines per row. None to leave it empty."""
    second_right: AnyText = ""
    sign: AnyText | None = None
    """Symbol of one cell before the text, such as `●`. None if the rows of the list have no symbols."""
    cells: tuple[AnyText, ...] = ()
    """Texts of the columns, if the list is a table. `text` and `right` are then not used."""
    dim: bool = False


class RowHeading(NamedTuple):
    """A heading above a group of rows."""

    text: str
    right: str = ""
    key: Hashable = None
    """Key that distinguishes two groups with the same heading."""


class Column(NamedTuple):
    """Column of a table. Columns with width 0 share the free width. The highest `drop_priority` is hidden first."""

    title: str
    width: int = 0
    align_right: bool = False
    drop_priority: int = 0
    min_width: int = 12
    """Minimum width in cells, for a column with the width 0."""


class ColumnLayout:
    """The columns of a table, and their widths. Columns that do not fit are hidden."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self.columns = tuple(columns)

    def __bool__(self) -> bool:
        return bool(self.columns)

    def title_line(self, width: int) -> Content:
        """Return the line with the column titles, `width` cells wide."""
        return fit(Content("  ") + self.row_line([column.title for column in self.columns], width - 2, safe), width)

    def row_line(self, cells: Sequence[AnyText], width: int, draw: Callable[[AnyText], Content]) -> Content:
        """Return the line with the cells of a row, `width` cells wide. `draw` adds styles to the text of a cell."""
        texts = [
            fit(draw(cell), column_width, right=column.align_right)
            for (column, column_width), cell in zip(self._widths(width), cells, strict=False)
            if column_width
        ]
        return Content("  ").join(texts)

    def _widths(self, width: int) -> list[tuple[Column, int]]:
        """Return all columns with their widths. The width of a hidden column is 0."""
        visible_columns = list(self.columns)
        while len(visible_columns) > 1 and sum((each.width or each.min_width) + 2 for each in visible_columns) > width:
            dropped_column = max(visible_columns, key=lambda each: (each.drop_priority, visible_columns.index(each)))
            visible_columns.remove(dropped_column)
        sharing_columns = [each for each in visible_columns if not each.width]
        free_width = width - sum(each.width + 2 for each in visible_columns)
        while narrow_columns := [
            each for each in sharing_columns if each.min_width > free_width // len(sharing_columns)
        ][: len(sharing_columns) - 1]:
            free_width -= sum(each.min_width for each in narrow_columns)
            sharing_columns = [each for each in sharing_columns if each not in narrow_columns]
        widths: list[tuple[Column, int]] = []
        for column in self.columns:
            if column not in visible_columns:
                widths.append((column, 0))
            elif column in sharing_columns:
                shared_width = max(0, free_width // len(sharing_columns))
                free_width, sharing_columns = free_width - shared_width, sharing_columns[1:]
                widths.append((column, shared_width))
            else:
                widths.append((column, column.width or column.min_width))
        return widths


def _why_nothing_selectable(app: App[Any], selection: RowSelection[Any]) -> str | None:
    if any(map(selection.can_select, selection.rows.items)):
        return None
    return STILL_LOADING if selection.rows.is_waiting_for_lines else "There is nothing to select here."


def _why_not_selectable(app: App[Any], selection: RowSelection[Any]) -> str | None:
    if (
        (reason := _why_nothing_selectable(app, selection)) is None
        and (item := selection.rows.item) is not None
        and not selection.can_select(item)
    ):
        return "You cannot select this item. Press * to select all items that can be selected."
    return reason


def _why_no_range(app: App[Any], selection: RowSelection[Any]) -> str | None:
    reason, items = _why_nothing_selectable(app, selection), selection.rows.items
    has_all = all(selection.rows.key_of(each) in selection.keys for each in items if selection.can_select(each))
    return reason or ("All items are already selected. Press * to deselect them." if has_all else None)


def _can_select_row(app: App[Any], selection: RowSelection[Any]) -> bool:
    return not selection.rows.is_empty and ((item := selection.rows.item) is None or selection.can_select(item))


SELECTION: Commands[RowSelection[Any]] = Commands(
    "list",
    (
        Command("tick", "x", "Select", "Select or deselect the item", run=lambda _, selection: selection.toggle(),
                why_not=_why_not_selectable, applies=_can_select_row, is_available=lambda _, selection: selection.is_enabled),
        Command("tick_range", "v", "Select range", "Start or end a range selection", run=lambda _, selection: selection.select_range(),
                why_not=_why_no_range, is_available=lambda _, selection: selection.is_enabled, shown=False),
        Command("tick_all", "asterisk", "Select all", "Select or deselect all items", run=lambda _, selection: selection.toggle_all(),
                why_not=_why_nothing_selectable, is_available=lambda _, selection: selection.is_enabled, key_display="*", shown=False),
    ),
    find_target=lambda rows: rows.selection,
)  # fmt: skip


class RowSelection(Generic[T]):
    """The rows that the user has selected, for an action on all of them."""

    def __init__(self, rows: RowList[T], selectable: bool | Callable[[T], bool]) -> None:
        """`selectable` is True if all rows can be selected, False if none can, or a function that decides by item."""
        self.rows = rows
        self.is_enabled: bool = selectable is not False
        self.can_select: Callable[[T], bool] = selectable if callable(selectable) else lambda item: True
        self.keys: frozenset[Hashable] = frozenset()
        """Keys of the selected rows, including rows that the filter hides now."""
        self._range_start: Hashable | None = None

    @property
    def items(self) -> list[T]:
        """The selected items in the order of the list, without items that the filter hides now."""
        return [item for item in self.rows.items if self.rows.key_of(item) in self.keys] if self.keys else []

    def toggle(self) -> None:
        """Select the row with the cursor, or deselect it. Then go to the next row."""
        key = self.rows.key
        if key is not None:
            self._set_keys(self.keys ^ {key})
            self.rows.move(1)

    def toggle_all(self) -> None:
        """Select all selectable rows that are shown. If all are selected already, deselect all, even hidden rows."""
        all_keys = self._selectable_keys(self.rows.items)
        self._set_keys(frozenset() if all_keys <= self.keys else self.keys | all_keys)

    def select_range(self) -> None:
        """In the first call, select the row with the cursor. In the second call, select the rows from that row to the
        cursor. Skip rows that are not selectable."""
        rows = self.rows
        range_start, self._range_start = self._range_start, rows.key
        if range_start is not None and range_start in rows.keys:
            first_index, last_index = sorted((rows.keys.index(range_start), rows.cursor))
            self._range_start = None
            self._set_keys(self.keys | self._selectable_keys(rows.items[first_index : last_index + 1]))
        elif rows.item is not None:
            self._set_keys(self.keys | self._selectable_keys([rows.item]))

    def add(self, keys: Iterable[Hashable]) -> None:
        """Select the rows with these keys, in addition to the rows that are already selected."""
        self._set_keys(self.keys | frozenset(keys))

    def remove(self, keys: Iterable[Hashable]) -> None:
        """Deselect the rows with these keys."""
        self._set_keys(self.keys.difference(keys))

    def clear(self) -> None:
        self._range_start = None
        self._set_keys(frozenset())

    def retain(self, keys: Iterable[Hashable]) -> None:
        """Deselect the rows whose keys are not in `keys`."""
        if self.keys:
            self._set_keys(self.keys.intersection(keys))

    def _selectable_keys(self, items: Sequence[T]) -> frozenset[Hashable]:
        return frozenset(self.rows.key_of(item) for item in items if self.can_select(item))

    def _set_keys(self, keys: frozenset[Hashable]) -> None:
        if keys != self.keys:
            self.keys = keys
            self.rows.redraw()
            self.rows.post_message(RowList.SelectionChanged(self.rows))
            self.rows.refresh_bindings()


class RowList(LineList, Generic[T]):
    """A list of items of type `T`. `draw` returns the row of an item. `groups` returns the headings above an item, the
    outermost first. `search` returns the text in which the filter searches. Without `search`, there is no filter."""

    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (SELECTION,)

    class SelectionChanged(LineList.ListMessage):
        """Posted when the selection has changed, also because selected rows were removed."""

    def __init__(
        self,
        draw: Callable[[T], Row],
        *,
        key: Callable[[T], Hashable],
        groups: Callable[[T], Sequence[RowHeading]] | None = None,
        search: Callable[[T], str] | None = None,
        columns: Sequence[Column] = (),
        two_lines: bool = False,
        selectable: bool | Callable[[T], bool] = False,
        empty: str = "No items.",
        hint: str = "",
        id: str | None = None,
    ) -> None:
        super().__init__(empty=empty, hint=hint, id=id)
        self._draw, self.key_of, self._groups = draw, key, groups
        self.search_texts = SearchTexts(search or (lambda item: ""))
        self.columns = columns
        self._row_height = 2 if two_lines else 1
        self.can_filter = search is not None
        self._all_items: Sequence[T] = ()
        self._all_keys: Sequence[Hashable] = ()
        self._shown_items: Sequence[T] = ()
        self.selection = RowSelection(self, selectable)

    @property
    def item(self) -> T | None:
        """The item with the cursor. None if the list is empty."""
        return self._shown_items[self.cursor] if self._shown_items else None

    @property
    def items(self) -> Sequence[T]:
        """The items that the list shows: all items, or the items that match the filter."""
        return self._shown_items

    @property
    def columns(self) -> Sequence[Column]:
        """Columns of the table. Empty if the rows are not a table."""
        return self._columns.columns

    @columns.setter
    def columns(self, columns: Sequence[Column]) -> None:
        self._columns = ColumnLayout(columns)
        self.column_titles = self._columns.title_line if any(column.title for column in columns) else None
        self.painter.discard()
        self.refresh()

    def show(self, items: Sequence[T], *, total: int | None = None, partial_note: str = "") -> None:
        """Replace the items. `total` is the number of items on the server. If `total` is unknown and the list is not
        completely loaded, `partial_note` says how much is loaded."""
        self.state.clear_messages()
        self._all_items, self.counts.total, self.counts.partial_note = items, total, partial_note
        self._all_keys = [self.key_of(item) for item in items]
        self.search_texts.set_items(items)
        self.selection.retain(self._all_keys)
        self.apply_filter()

    def apply_filter(self) -> None:
        keys: Sequence[Hashable]
        if self.filter_words and self.can_filter:
            indexes = self.search_texts.matching(self.filter_words)
            self._shown_items, keys = (
                [self._all_items[index] for index in indexes],
                [self._all_keys[index] for index in indexes],
            )
        else:
            self._shown_items, keys = self._all_items, self._all_keys
        if self._groups is None:
            self.lay_out(keys, height=self._row_height, loaded_count=len(self._all_items))
            return
        first_lines, extra_lines, line_count = _lay_out_headings(self._shown_items, self._groups, self._row_height)
        self.lay_out(
            keys,
            first_lines=first_lines,
            extra_lines=extra_lines,
            height=self._row_height,
            line_count=line_count,
            loaded_count=len(self._all_items),
        )

    def clear_filter(self) -> None:
        """Clear the filter. If no filter is set, deselect all rows."""
        if self.query_text:
            super().clear_filter()
        else:
            self.selection.clear()

    @property
    def has_filter(self) -> bool:
        return super().has_filter or bool(self.selection.keys)

    def draw_item(self, index: int, width: int) -> list[Content]:
        item = self._shown_items[index]
        row = self._draw(item)
        mark = Content.styled("✓", "$success") if self.keys[index] in self.selection.keys else Content(" ")
        width -= 1
        lines = (
            [mark + self._columns.row_line(row.cells, width, self._highlight)]
            if self._columns
            else self._row_lines(row, width, mark)
        )
        if row.dim:
            lines = [line.stylize_before("$octavo-muted") for line in lines]
        return lines

    def _row_lines(self, row: Row, width: int, mark: Content) -> list[Content]:
        symbol = Content("") if row.sign is None else fit(safe(row.sign), 1) + Content(" ")
        indent = symbol.cell_length
        padding = Content(" ")
        first_line = spread(self._highlight(row.text), safe(row.right), width - indent - 1)
        lines = [mark + symbol + first_line + padding]
        if self._row_height == 2:
            second_line = spread(self._highlight(row.second_line or ""), safe(row.second_right), width - indent - 1)
            lines.append((Content(" " * (indent + 1)) + second_line + padding).stylize_before("$octavo-muted"))
        return lines

    def _highlight(self, text: AnyText) -> Content:
        content = safe(text)
        if self.filter_words and self.can_filter:
            content = highlight(content, self.filter_words, MATCH_STYLE)
        return content


def _lay_out_headings(
    items: Sequence[T], groups: Callable[[T], Sequence[RowHeading]], height: int
) -> tuple[list[int], dict[int, tuple[Content, Content]], int]:
    """Return for `LineList.lay_out`: first line of each item, headings and blank lines by line, and line count."""
    first_lines: list[int] = []
    extra_lines: dict[int, tuple[Content, Content]] = {}
    old_headings: Sequence[RowHeading] = ()
    line = 0
    for item in items:
        headings = groups(item)
        if headings != old_headings:
            is_same = True
            for level, heading in enumerate(headings):
                is_same = is_same and level < len(old_headings) and old_headings[level] == heading
                if is_same:
                    continue
                if level == 0 and line:
                    extra_lines[line] = (Content(""), Content(""))
                    line += 1
                text = Content(" " * (level + 1)) + safe(heading.text)
                style = "bold $octavo-muted" if level == 0 else "$octavo-muted"
                extra_lines[line] = text.stylize(style), safe(heading.right).stylize("$octavo-muted")
                line += 1
            old_headings = headings
        first_lines.append(line)
        line += height
    return first_lines, extra_lines, line
