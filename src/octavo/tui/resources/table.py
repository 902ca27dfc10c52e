"""Columns and sort order of a table (`TableState`), the export of its rows, and details of the selected row."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from operator import itemgetter
from typing import Any, ClassVar

from pydantic import ValidationError
from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.events import Resize
from textual.widgets import Static
from textual.worker import WorkType

from octavo.api.errors import ApiError
from octavo.api.labels import field_label
from octavo.api.operation import Model
from octavo.data.live import Live
from octavo.data.state_db import StateDb
from octavo.tui.core.item_info import HIDDEN_VALUE, field_details
from octavo.tui.core.view import View
from octavo.tui.resources.resource import NO_VALID_ID, Arguments, LabeledValues, NameOf, Resource, ResourceColumn
from octavo.tui.widgets import row_list
from octavo.tui.widgets.delay import Delay
from octavo.tui.widgets.row_list import Row
from octavo.tui.widgets.short_texts import InfoRow
from octavo.tui.widgets.text_widgets import ChangingText, InfoTable

MIN_COLUMN_WIDTH = 10
"""Minimum width in cells of a column without a fixed width. Columns that would be narrower are hidden."""
MIN_FIRST_WIDTH = 21
"""Minimum width in cells of the first column. Other columns are hidden to keep this width."""


class TableState:
    """The visible columns and the sort order of one table. Both are stored for the next start."""

    def __init__(self, resource: Resource[Any], state: StateDb) -> None:
        self.resource, self._state = resource, state
        saved_titles = state.get_value(self._state_key("columns"))
        all_titles = {each.title for each in resource.columns}
        # Saved titles may be unknown, because another version of Octavo saved them.
        is_valid = isinstance(saved_titles, list) and all_titles.issuperset(saved_titles)
        saved_columns = [each for each in resource.columns if is_valid and each.title in saved_titles]
        self.columns = tuple(saved_columns or (each for each in resource.columns if each.is_shown))
        """Columns that are visible."""
        order = state.get_value(self._state_key("order"))
        column_title, is_descending = order if isinstance(order, list) and len(order) == 2 else ("", False)
        self.sort_column = next((each for each in resource.columns if each.title == column_title), None)
        """Column by which the table is sorted. None for the order of the server."""
        self.is_descending = bool(is_descending)

    def _state_key(self, kind: str) -> str:
        return f"{kind} of {self.resource.name}"

    def headings(self) -> list[row_list.Column]:
        """Return the visible columns. The title of the sorted column has an arrow."""
        return [
            row_list.Column(
                f"{each.title} {'▼' if self.is_descending else '▲'}" if each is self.sort_column else each.title,
                each.width and max(each.width, len(each.title) + 2 * (each is self.sort_column)),
                align_right=each.align_right,
                drop_priority=each.drop_priority,
                min_width=MIN_COLUMN_WIDTH if index else MIN_FIRST_WIDTH,
            )
            for index, each in enumerate(self.columns)
        ]

    def render_row(self, item: Any, name_of: NameOf) -> Row:
        """Return the row for an item, with the visible columns."""
        return Row(cells=tuple(column.cell(item, name_of) for column in self.columns))

    def search_text(self, item: Any, name_of: NameOf) -> str:
        """Return the text of an item in which the filter searches: all columns, including hidden columns."""
        return " ".join([column.search_text(item, name_of) for column in self.resource.columns])

    def sort_items(self, items: Iterable[Any], name_of: NameOf) -> Sequence[Any]:
        """Return the items sorted by the chosen column, or unsorted without one. Items without a sort key come last."""
        column, items = self.sort_column, tuple(items)
        if column is None:
            return items
        keys_and_items = [(column.sort_key(each, name_of), each) for each in items]
        sortable = [(key, item) for key, item in keys_and_items if key is not None]
        sortable.sort(key=itemgetter(0), reverse=self.is_descending)
        return [item for _, item in sortable] + [item for key, item in keys_and_items if key is None]

    def sort_by(self, column: ResourceColumn[Any] | None) -> None:
        """Sort by `column`, or as on the server if None. Store the order. The same column again reverses the order."""
        self.is_descending = column is not None and column is self.sort_column and not self.is_descending
        self.sort_column = column
        self._state.set_value(
            self._state_key("order"), [column.title if column is not None else "", self.is_descending]
        )

    def toggle_column(self, column: ResourceColumn[Any]) -> None:
        """Show or hide a column. The last visible column cannot be hidden."""
        visible_columns = [each for each in self.resource.columns if (each in self.columns) != (each is column)]
        if visible_columns:
            self.columns = tuple(visible_columns)
            self._state.set_value(self._state_key("columns"), [each.title for each in visible_columns])

    @property
    def sort_label(self) -> str:
        """The sort order, for the status bar, such as `sorted by name ▲`. Empty for the order of the server."""
        return (
            f"sorted by {self.sort_column.name} {'▼' if self.is_descending else '▲'}"
            if self.sort_column is not None
            else ""
        )


_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""First characters of a formula. The CSV export puts `'` before such a cell, so that spreadsheets do not run it."""


def as_csv(columns: Sequence[ResourceColumn[Any]], items: Sequence[Any], name_of: NameOf) -> str:
    """Return `columns` of the items as CSV with a header line."""
    output = io.StringIO()
    writer = csv.writer(output, lineterminator="\r\n")
    writer.writerow([column.title.lower() for column in columns])
    for item in items:
        cells = [_plain_text(column, item, name_of) for column in columns]
        writer.writerow([f"'{cell}" if cell.startswith(_FORMULA) else cell for cell in cells])
    return output.getvalue()


def as_markdown(columns: Sequence[ResourceColumn[Any]], items: Sequence[Any], name_of: NameOf) -> str:
    """Return `columns` of the items as a Markdown table."""
    rows = [[column.title.capitalize() for column in columns], ["---" for _ in columns]]
    escapes = str.maketrans({"\\": "\\\\", "|": "\\|", "\n": " "})
    rows += [[_plain_text(column, item, name_of).translate(escapes) for column in columns] for item in items]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def as_json(items: Sequence[Model], excluded: frozenset[str]) -> str:
    """Return the items as JSON with the field names of the API. Fields in `excluded` are left out."""
    return json.dumps(
        [item.model_dump(mode="json", by_alias=True, exclude=set(excluded)) for item in items],
        indent=2,
        ensure_ascii=False,
    )


FormatWriter = Callable[[Sequence[ResourceColumn[Any]], Sequence[Any], NameOf, frozenset[str]], str]
FORMATS: Mapping[str, tuple[str, FormatWriter]] = {
    "csv": ("CSV", lambda columns, items, name_of, _: as_csv(columns, items, name_of)),
    "json": ("JSON", lambda columns, items, name_of, excluded: as_json(items, excluded)),
    "md": ("Markdown", lambda columns, items, name_of, _: as_markdown(columns, items, name_of)),
}
"""Formats of an export by file extension: a label, and the function that returns the file content."""


def _plain_text(column: ResourceColumn[Any], item: Any, name_of: NameOf) -> str:
    value = column.value_of(item)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = column.cell(item, name_of)
    return text if isinstance(text, str) else text.plain


LOAD_DELAY = 0.3
"""Seconds that the cursor must stay on a row before Octavo loads its details."""
LOADING: LabeledValues = (("", "Loading…"),)


class DetailLoader:
    """Loads the details of the selected row, one row at a time."""

    def __init__(self, view: View, get_live: Callable[[], Live], on_loaded: Callable[[], None]) -> None:
        """`get_live` returns the `Live` of the session. `on_loaded` is called after loading or an error."""
        self._view, self._get_live, self._on_loaded = view, get_live, on_loaded
        self._loaded_values: dict[tuple[str, str], LabeledValues] = {}
        self._loading_key: tuple[str, str] | None = None
        self._load_delay = Delay(view)

    def clear(self) -> None:
        """Stop loading, and forget the loaded details, because they may be outdated."""
        self._loaded_values.clear()
        self._stop()

    def request_details(self, resource: Resource[Any], arguments: Arguments, item: Any | None) -> LabeledValues:
        """Return the details of an item. If they are not loaded yet, begin to load them, and return `LOADING`. If there
        is nothing to load, return an empty tuple and cancel a running load."""
        if resource.load_details is None or item is None:
            self._stop()
            return ()
        key = (resource.plural, resource.key(item))
        if key in self._loaded_values:
            return self._loaded_values[key]
        if key != self._loading_key:
            self._stop()
            self._loading_key = key
            # Not a coroutine: if the worker is canceled, Python would warn that the coroutine was never awaited.
            load: WorkType[None] = partial(self._load_details, resource, arguments, item, key)
            self._load_delay.start(LOAD_DELAY, lambda: self._view.run_worker(load, group="details"))
        return LOADING

    def _stop(self) -> None:
        self._loading_key = None
        self._load_delay.stop()
        self._view.workers.cancel_group(self._view, "details")

    async def _load_details(
        self, resource: Resource[Any], arguments: Arguments, item: Any, key: tuple[str, str]
    ) -> None:
        assert resource.load_details is not None, "checked above"
        try:
            self._loaded_values[key] = await resource.load_details(self._get_live(), arguments, item)
        except ApiError as error:
            self._loaded_values[key] = (("error", f"Could not load more details: {error}"),)
        except ValidationError:
            self._loaded_values[key] = (("error", NO_VALID_ID),)
        self._on_loaded()


TWO_COLUMNS = 84
"""Minimum width in cells for two columns, which are used if the details are too long for one column."""
LABELS_OF_PLAIN_VALUES = frozenset({"ID", "path", "slug", "host name", "subdomain", "title"})
"""Labels whose values are shown as they are, because they are never IDs of other items."""


class Details(VerticalScroll, can_focus=False):
    """The pane with the details of one item: labels and values. Scrolled by the keys of the table."""

    DEFAULT_CSS: ClassVar[str] = """
    Details {
        background: $background; color: $foreground; padding: 0 1; scrollbar-size-vertical: 1;
        & > Horizontal { height: auto; }
        & InfoTable { padding: 0 1 0 0; }
    }
    """

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._rows: Sequence[InfoRow] = ()
        self._key: tuple[str, str] | None = None
        """Name of the shown item's kind, and key of the shown item. None if no item is shown."""

    def compose(self) -> ComposeResult:
        yield ChangingText("", classes="details--title")
        with Horizontal():
            yield InfoTable(classes="details--left")
            yield InfoTable(classes="details--right")

    def show(
        self, resource: Resource[Any], item: Any | None, name_of: NameOf, loaded_values: LabeledValues = ()
    ) -> None:
        """Show `loaded_values`, then those details of `item` whose labels are not in `loaded_values`. If `item` is
        None, show no details."""
        title = Content.styled(resource.title(item), "bold") if item is not None else Content("")
        self.query_one(".details--title", Static).update(title)
        labels = {label for label, _ in loaded_values}
        other_values = [pair for pair in labeled_values_of(resource, item, name_of) if pair[0] not in labels]
        self._rows = [InfoRow("note", label, value) for label, value in (*loaded_values, *other_values)]
        key = (resource.name, resource.key(item)) if item is not None else None
        if key != self._key:
            self._key = key
            self.scroll_home(animate=False)
        self._lay_out()

    def on_resize(self, event: Resize) -> None:
        self._lay_out()

    def _lay_out(self) -> None:
        left_list, right_list = (
            self.query_one(".details--left", InfoTable),
            self.query_one(".details--right", InfoTable),
        )
        is_one_column = len(self._rows) < self.size.height or self.size.width < TWO_COLUMNS
        left_list.min_height = self.size.height - self.query_one(".details--title", Static).size.height
        left_count = len(self._rows) if is_one_column else (len(self._rows) + 1) // 2
        for table, shown_rows in ((left_list, self._rows[:left_count]), (right_list, self._rows[left_count:])):
            if tuple(shown_rows) != table.rows:
                table.rows = shown_rows


def labeled_values_of(resource: Resource[Any], item: Any | None, name_of: NameOf) -> list[tuple[str, Any]]:
    """Return labels and non-empty values: `Resource.details`, then other fields, then `HIDDEN_VALUE` for secret fields.
    Empty if `item` is None."""
    if item is None:
        return []
    first_values = [(label, value) for label, value in resource.details(item) if value]
    labels, title = {label for label, _ in first_values}, resource.title(item)
    field_names = {column.value: column.name for column in resource.columns if isinstance(column.value, str)}
    fields = [
        field_detail
        for field_detail in field_details(item, resource.secret_fields, field_names)
        if field_detail[0] not in labels and field_detail[1] != title
    ]
    renderers = {column.name: column.render for column in resource.columns if column.render is not None}
    field_values = [
        (
            label,
            renderers[label](value)
            if label in renderers
            else value
            if label in LABELS_OF_PLAIN_VALUES
            else name_of(value),
        )
        for label, value in fields
    ]
    masks = [(field_label(name), HIDDEN_VALUE) for name in sorted(resource.secret_fields) if getattr(item, name, None)]
    return [*first_values, *field_values, *masks]
