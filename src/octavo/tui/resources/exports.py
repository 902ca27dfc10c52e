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


def as_csv(columns: Sequence[TableColumn[Any]], things: Sequence[Any], names: NameOf) -> str:
    """Return a header line and one line for each item."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow([each.title.lower() for each in columns])
    for thing in things:
        cells = [_plain_text(each, thing, names) for each in columns]
        writer.writerow([f"'{cell}" if cell.startswith(_FORMULA) else cell for cell in cells])
    return out.getvalue()


def as_markdown(columns: Sequence[TableColumn[Any]], things: Sequence[Any], names: NameOf) -> str:
    """Return a Markdown table."""
    rows = [[each.title.capitalize() for each in columns], ["---" for _ in columns]]
    rows += [[_escaped(_plain_text(each, thing, names)) for each in columns] for thing in things]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def as_json(things: Sequence[Model], without: frozenset[str]) -> str:
    """Return all fields of the items as the API names them, except those in `without`."""
    return json.dumps(
        [each.model_dump(mode="json", by_alias=True, exclude=set(without)) for each in things],
        indent=2,
        ensure_ascii=False,
    )


FormatWriter = Callable[[Sequence[TableColumn[Any]], Sequence[Any], NameOf, frozenset[str]], str]
FORMATS: Mapping[str, tuple[str, FormatWriter]] = {
    "csv": ("CSV", lambda columns, things, names, _: as_csv(columns, things, names)),
    "json": ("JSON", lambda columns, things, names, without: as_json(things, without)),
    "md": ("Markdown", lambda columns, things, names, _: as_markdown(columns, things, names)),
}
"""Label and writer of each format, by file extension."""


def _plain_text(column: TableColumn[Any], thing: Any, names: NameOf) -> str:
    value = column.value_of(thing)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bool):
        return "yes" if value else "no"
    words = column.cell(thing, names)
    return words if isinstance(words, str) else words.plain


def _escaped(cell: str) -> str:
    return cell.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")
