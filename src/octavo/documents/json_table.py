"""Reads tables and cards of a JSON document. Rows are in its records, columns in its definition, and cell texts in
fragments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from octavo.documents.blocks import NO_ATTRS, Run, TableColumn, plain_text
from octavo.documents.inline import trim_runs
from octavo.documents.json_inline import (
    MAX_JSON_DEPTH,
    InlineReader,
    all_text,
    as_object,
    as_text,
    join_equal_runs,
    nodes_in,
    reference_url,
    texts_in,
)
from octavo.documents.open_blocks import DraftBlock


class JsonTable:
    """Reads one table or set of cards of a JSON document."""

    def __init__(self, data: dict[str, Any], fragments: dict[str, Any], reader: InlineReader) -> None:
        self._reader, self._fragments = reader, fragments
        self._view = as_object(data.get("view"))
        self._full_width = data.get("fullWidth") is True
        self._definition = {
            as_text(name): given for name, given in as_object(data.get("definition")).items() if isinstance(given, dict)
        }
        records = [each for each in as_object(data.get("records")).values() if isinstance(each, dict)]
        self._records = sorted(records, key=_sort_key)
        self._cards = self._view.get("type") == "cards"
        self._roles = {}
        for name, role in (
            ("targetDefinition", "target"),
            ("coverDefinition", "cover"),
            ("coverDefinitionDark", "cover-dark"),
        ):
            if given := as_text(self._view.get(name)):
                self._roles[given] = role
        visible = [as_text(name) for name in self._view.get("columns") or () if isinstance(name, str)]
        known = [name for name in visible if name in self._definition]
        self._shown = set(known)
        self._names = list(dict.fromkeys([*known, *self._definition]))

    def draft(self) -> DraftBlock:
        """Return the table or the cards as a block."""
        columns = tuple(self._column(name) for name in self._names)
        table = DraftBlock("cards" if self._cards else "table", {"columns": columns})
        if self._full_width:
            table.attrs["full_width"] = True
        if self._cards:
            table.attrs["size"] = "large" if self._view.get("cardSize") == "large" else "medium"
            if self._view.get("hideColumnTitle") is True:
                table.attrs["titles_hidden"] = True
        else:
            names = {"header_sticky": "stickyHeader", "search": "search"}
            table.attrs |= {ours: True for ours, theirs in names.items() if self._view.get(theirs) is True}
            if self._view.get("hideHeader") is True or not any(plain_text(column.title).strip() for column in columns):
                table.attrs["header_hidden"] = True
        for record in self._records:
            row = self._row(as_object(record.get("values")), columns)
            if record.get("head") is True:
                row.attrs["head"] = True
            for name, span in as_object(record.get("spans")).items():
                if name in self._names:
                    row.children[self._names.index(name)].attrs |= {
                        kind: cells
                        for kind, cells in as_object(span).items()
                        if kind in ("colspan", "rowspan") and isinstance(cells, int) and 1 < cells <= 1000
                    }
            table.children.append(row)
        if unplaced := [nodes for nodes in self._fragments.values() if nodes]:
            table.children.append(
                DraftBlock("row", children=[DraftBlock("cell", runs=self._flat_runs(nodes)) for nodes in unplaced])
            )
        return table

    def _column(self, name: str) -> TableColumn:
        given = self._definition[name]
        widths = self._view.get("columnWidths")
        width = as_object(widths).get(name)
        limit = given.get("max")
        align = as_text(given.get("textAlignment"))
        options = {
            as_text(option.get("value")): as_text(option.get("label")) for option in nodes_in(given.get("options"))
        }
        text = as_text(given.get("title"))
        title: tuple[Run, ...] = (Run(text),) if text else ()
        if (nodes := self._fragments.pop(as_text(given.get("titleFragment")), None)) is not None:
            title = self._flat_runs(nodes)
        return TableColumn(
            title=title,
            type=as_text(given.get("type")) or "text",
            align=align if align in ("center", "right") else None,
            width=int(width) if isinstance(width, (int, float)) and 0 < width < 100_000 else None,
            hidden=name not in self._shown,
            role=self._roles.get(name),
            max=int(limit) if isinstance(limit, (int, float)) and 0 < limit <= 20 else 5,
            options=options or NO_ATTRS,
        )

    def _row(self, values: dict[str, Any], columns: tuple[TableColumn, ...]) -> DraftBlock:
        row = DraftBlock("card" if self._cards else "row")
        for name, column in zip(self._names, columns, strict=True):
            value = values.get(name)
            cell = DraftBlock("cell", runs=self._cell(value, column))
            if column.type == "checkbox" and isinstance(value, bool):
                cell.attrs["value"] = value
            elif (
                column.type == "rating"
                and not isinstance(value, bool)
                and isinstance(value, (int, float))
                and 0 <= value < 1_000_000
            ):
                cell.attrs["value"] = min(int(value), column.max)
            row.children.append(cell)
            if self._cards and column.role and (target := _link_target(cell.runs)):
                row.attrs[column.role.replace("-", "_")] = target
        return row

    def _cell(self, value: Any, column: TableColumn) -> tuple[Run, ...]:
        if isinstance(value, str) and value in self._fragments:
            # Each fragment is read only once. Fragments that no cell refers to are added to the end of the table.
            nodes, self._fragments[value] = self._fragments[value], None
            return self._flat_runs(nodes)
        values = value if isinstance(value, list) else [value]
        found: list[Run] = []
        for each in values:
            reader = _TYPES.get(column.type)
            runs = reader(each, column) if reader else None
            if runs is None:
                text = as_text(each) if not isinstance(each, (dict, list)) else _reference(each)
                runs = [Run(text)] if isinstance(text, str) else text
            if found and any(run.text for run in runs):
                found.append(Run(", "))
            found += [run for run in runs if run.text or run.kind != "text"]
        return tuple(found)

    def _flat_runs(self, nodes: Any) -> tuple[Run, ...]:
        found: list[Run] = []
        for line in self._lines(nodes_in(nodes), 0, 0):
            found += [Run("\n", kind="break"), *line] if found else line
        return trim_runs(join_equal_runs(found))

    def _lines(self, nodes: list[dict[str, Any]], depth: int, level: int) -> Iterator[list[Run]]:
        if not any(node.get("object") == "block" for node in nodes):
            if runs := self._reader.runs(nodes):
                yield list(runs)
            return
        for node in nodes:
            inner = nodes_in(node.get("nodes"))
            mark = {"list-ordered": "", "list-unordered": "• ", "list-tasks": "• "}.get(as_text(node.get("type")))
            if depth > MAX_JSON_DEPTH:
                yield [Run(" ".join(texts_in(node)))]
            elif mark is not None:
                for number, item in enumerate(inner, 1):
                    lines = list(self._lines([item], depth + 1, level + 1))
                    if lines:
                        lines[0].insert(0, Run("  " * level + (mark or f"{number}. ")))
                    yield from lines
            elif inner:
                yield from self._lines(inner, depth + 1, level)
            elif text := " ".join(texts_in(node)) or all_text(node.get("data")):
                yield [Run(text)]


def _sort_key(record: dict[str, Any]) -> tuple[float, str]:
    order = record.get("orderIndex")
    return (order, "") if isinstance(order, (int, float)) and abs(order) < 1e300 else (0.0, as_text(order))


def _reference(value: Any) -> list[Run]:
    """Return the value of a cell, such as a reference, as runs."""
    given = as_object(value)
    ref = given.get("ref") if isinstance(given.get("ref"), dict) else given
    if isinstance(ref, dict) and "kind" in ref and (link := reference_url(ref)):
        return [Run(link, link=link)]
    text = all_text(value)
    return [Run(text)] if text else []


def _user(value: Any, column: TableColumn) -> list[Run] | None:
    if isinstance(value, dict):
        value = value.get("user") or value.get("id")
    if not isinstance(value, str) or not value:
        return None
    return [Run(as_text(value), link=f"/users/{reference_url(value)}", kind="mention")]


def _file(value: Any, column: TableColumn) -> list[Run] | None:
    if not isinstance(value, str) or not value:
        return None
    link = reference_url({"kind": "file", "file": value})
    return [Run(link, link=link)]


def _option(value: Any, column: TableColumn) -> list[Run] | None:
    return [Run(column.options.get(value) or as_text(value))] if isinstance(value, str) and value else None


_TYPES: dict[str, Callable[[Any, TableColumn], list[Run] | None]] = {"users": _user, "files": _file, "select": _option}


def _link_target(runs: tuple[Run, ...]) -> str | None:
    return next((run.link for run in runs if run.link), None) or plain_text(runs).strip() or None
