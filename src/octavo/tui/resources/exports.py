"""Exports of table rows: the visible columns as CSV or Markdown, or all fields as JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from octavo.api.operation import Model
from octavo.tui.resources.resource import NameOf, TableColumn

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""Characters that start a formula in a spreadsheet. Such a cell gets a leading quote, so that it is shown as text."""


def as_csv(columns: Sequence[TableColumn[Any]], items: Sequence[Any], name_of: NameOf) -> str:
    """Return a header line and one line for each item."""
    output = io.StringIO()
    writer = csv.writer(output, lineterminator="\r\n")
    writer.writerow([each.title.lower() for each in columns])
    for item in items:
        cells = [_plain_text(each, item, name_of) for each in columns]
        writer.writerow([f"'{cell}" if cell.startswith(_FORMULA) else cell for cell in cells])
    return output.getvalue()


def as_markdown(columns: Sequence[TableColumn[Any]], items: Sequence[Any], name_of: NameOf) -> str:
    """Return a Markdown table."""
    rows = [[each.title.capitalize() for each in columns], ["---" for _ in columns]]
    rows += [[_escaped(_plain_text(each, item, name_of)) for each in columns] for item in items]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def as_json(items: Sequence[Model], excluded: frozenset[str]) -> str:
    """Return all fields of the items as the API names them, except those in `without`."""
    return json.dumps(
        [each.model_dump(mode="json", by_alias=True, exclude=set(excluded)) for each in items],
        indent=2,
        ensure_ascii=False,
    )


FormatWriter = Callable[[Sequence[TableColumn[Any]], Sequence[Any], NameOf, frozenset[str]], str]
FORMATS: Mapping[str, tuple[str, FormatWriter]] = {
    "csv": ("CSV", lambda columns, items, name_of, _: as_csv(columns, items, name_of)),
    "json": ("JSON", lambda columns, items, name_of, excluded: as_json(items, excluded)),
    "md": ("Markdown", lambda columns, items, name_of, _: as_markdown(columns, items, name_of)),
}
"""Label and writer of each format, by file extension."""


def _plain_text(column: TableColumn[Any], item: Any, name_of: NameOf) -> str:
    value = column.value_of(item)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = column.cell(item, name_of)
    return text if isinstance(text, str) else text.plain


def _escaped(cell: str) -> str:
    return cell.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")
