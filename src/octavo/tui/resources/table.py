"""The columns and the order of a table, both saved, and the export of its rows as CSV, Markdown or JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from operator import is_
from typing import Any, cast

from textual.content import Content

from octavo.api.operation import Model
from octavo.data.state_db import StateDb
from octavo.tui.resources.resource import NameOf, Resource, ResourceColumn
from octavo.tui.widgets import row_list
from octavo.tui.widgets.row_list import Row

MIN_COLUMN_WIDTH = 10
"""Minimum width in cells of a column without a fixed width. A narrower column is hidden."""
MIN_FIRST_WIDTH = 21
"""Minimum width in cells of the first column. Other columns are hidden to make room for this column."""


class TableState:
    """The columns and the order of one table."""

    def __init__(self, resource: Resource[Any], state: StateDb) -> None:
        self.resource, self._state = resource, state
        saved_titles = state.get_fact(self._fact_name("columns"))
        titles = {each.title for each in resource.columns}
        # Columns can be renamed in a new version of Octavo. A choice with an unknown title is ignored.
        is_valid = isinstance(saved_titles, list) and titles.issuperset(saved_titles)
        saved = [each for each in resource.columns if is_valid and each.title in saved_titles]
        self.columns = tuple(saved or (each for each in resource.columns if each.is_shown))
        """Visible columns."""
        order = state.get_fact(self._fact_name("order"))
        column, is_descending = order if isinstance(order, list) and len(order) == 2 else (resource.default_sort, False)
        self.sort_column = next((each for each in resource.columns if each.title == column), None)
        """Column to sort by. None for the order of the server."""
        self.is_descending = bool(is_descending)
        self._sorted_items: Sequence[Any] = ()
        self._sort_keys: dict[ResourceColumn[Any], list[str | float | None]] = {}
        """Sort keys of the last sorted items, for each column sorted by."""

    def _fact_name(self, kind: str) -> str:
        return f"{kind} of {self.resource.name}"

    def headings(self) -> list[row_list.Column]:
        """Return the headings of the list, with an arrow at the column to sort by."""
        return [
            row_list.Column(
                f"{each.title} {'▼' if self.is_descending else '▲'}" if each is self.sort_column else each.title,
                each.width and max(each.width, len(each.title) + 2 * (each is self.sort_column)),
                right=each.align_right,
                drop_order=each.drop_rank,
                min_width=MIN_COLUMN_WIDTH if at else MIN_FIRST_WIDTH,
            )
            for at, each in enumerate(self.columns)
        ]

    def render_row(self, item: Any, name_of: NameOf) -> Row:
        """Return the row for an item."""
        cells = [each.cell(item, name_of) for each in self.columns]
        first = Content(cells[0]) if cells and isinstance(cells[0], str) else cells[0] if cells else ""
        return Row(cells=(first, *cells[1:]))

    def search_text(self, item: Any, name_of: NameOf) -> str:
        """Return the text that a filter searches, including hidden columns."""
        return " ".join([each.search_text(item, name_of) for each in self.resource.columns])

    def clear_sort_keys(self) -> None:
        """Forget the sort keys after names or items have changed."""
        self._sorted_items, self._sort_keys = (), {}

    def sort_items(self, items: Iterable[Any], name_of: NameOf) -> Sequence[Any]:
        """Return the items in the chosen order."""
        column, items = self.sort_column, tuple(items)
        if column is None:
            return items
        if len(items) != len(self._sorted_items) or not all(map(is_, items, self._sorted_items)):
            self._sorted_items, self._sort_keys = items, {}
        if (keys := self._sort_keys.get(column)) is None:
            keys = self._sort_keys[column] = [column.sort_key(each, name_of) for each in items]
        # Indexes instead of pairs: many new objects would trigger the garbage collector during the sort.
        indexes = [index for index, key in enumerate(keys) if key is not None]
        indexes.sort(key=cast(Callable[[int], Any], keys.__getitem__), reverse=self.is_descending)
        return [items[index] for index in indexes] + [
            item for item, key in zip(items, keys, strict=True) if key is None
        ]

    def sort_by(self, column: ResourceColumn[Any] | None) -> None:
        """Sort by a column, or reverse the order if the column is the present one."""
        self.is_descending = column is not None and column is self.sort_column and not self.is_descending
        self.sort_column = column
        self._state.set_fact(self._fact_name("order"), [column.title if column is not None else "", self.is_descending])

    def toggle_column(self, column: ResourceColumn[Any]) -> None:
        """Show or hide a column. The last visible column stays."""
        shown = [each for each in self.resource.columns if (each in self.columns) != (each is column)]
        if shown:
            self.columns = tuple(shown)
            self._state.set_fact(self._fact_name("columns"), [each.title for each in shown])

    @property
    def sort_label(self) -> str:
        """Description of the order for the status line."""
        return (
            f"sorted by {self.sort_column.name} {'▼' if self.is_descending else '▲'}"
            if self.sort_column is not None
            else ""
        )


_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""Characters that start a formula in a spreadsheet. Such a cell gets a leading quote, so that it is shown as text."""


def as_csv(columns: Sequence[ResourceColumn[Any]], items: Sequence[Any], name_of: NameOf) -> str:
    """Return a header line and one line for each item."""
    output = io.StringIO()
    writer = csv.writer(output, lineterminator="\r\n")
    writer.writerow([each.title.lower() for each in columns])
    for item in items:
        cells = [_plain_text(each, item, name_of) for each in columns]
        writer.writerow([f"'{cell}" if cell.startswith(_FORMULA) else cell for cell in cells])
    return output.getvalue()


def as_markdown(columns: Sequence[ResourceColumn[Any]], items: Sequence[Any], name_of: NameOf) -> str:
    """Return a Markdown table."""
    rows = [[each.title.capitalize() for each in columns], ["---" for _ in columns]]
    rows += [[_escaped(_plain_text(each, item, name_of)) for each in columns] for item in items]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def as_json(items: Sequence[Model], excluded: frozenset[str]) -> str:
    """Return all fields of the items as the API names them, except those in `excluded`."""
    return json.dumps(
        [each.model_dump(mode="json", by_alias=True, exclude=set(excluded)) for each in items],
        indent=2,
        ensure_ascii=False,
    )


FormatWriter = Callable[[Sequence[ResourceColumn[Any]], Sequence[Any], NameOf, frozenset[str]], str]
FORMATS: Mapping[str, tuple[str, FormatWriter]] = {
    "csv": ("CSV", lambda columns, items, name_of, _: as_csv(columns, items, name_of)),
    "json": ("JSON", lambda columns, items, name_of, excluded: as_json(items, excluded)),
    "md": ("Markdown", lambda columns, items, name_of, _: as_markdown(columns, items, name_of)),
}
"""Label and writer of each format, by file extension."""


def _plain_text(column: ResourceColumn[Any], item: Any, name_of: NameOf) -> str:
    value = column.value_of(item)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = column.cell(item, name_of)
    return text if isinstance(text, str) else text.plain


def _escaped(cell: str) -> str:
    return cell.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")
