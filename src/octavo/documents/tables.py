"""Reads tables and cards in Markdown (`read_pipe_table`) or in HTML (`HtmlTable`)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from markdown_it.token import Token

from octavo.documents.blocks import DraftBlock, Run, TableColumn, plain_text
from octavo.documents.html import HtmlTag, HtmlToken, html_tokens
from octavo.documents.inline import RunBuilder, runs_of_tokens

_ALIGN = re.compile(r"text-align:\s*(\w+)")
_ROLES = {"data-card-target": "target", "data-card-cover": "cover", "data-card-cover-dark": "cover-dark"}
_FLAGS = {
    False: {"header_hidden": "data-header-hidden", "header_sticky": "data-header-sticky", "search": "data-search"},
    True: {"titles_hidden": "data-column-title-hidden"},
}
"""HTML attributes that are on or off, by block attribute. The key False is for tables, True for cards."""
_FENCE = "```"
_CHECKBOX_VALUES = {"true": True, "false": False, "1": True, "0": False, "": False}


def read_pipe_table(tokens: Sequence[Token]) -> DraftBlock:
    """Return the table that the Markdown parser read as `tokens`."""
    columns: list[TableColumn] = []
    table_draft = DraftBlock("table")
    for token in tokens:
        first, last = token.map or (0, 0)
        if token.type == "tr_open" and columns:
            table_draft.children.append(DraftBlock("row", first_line=first, end_line=last))
        elif token.type == "th_open":
            columns.append(TableColumn(align=_alignment(str(token.attrs.get("style", "")))))
        elif token.type == "td_open":
            row = table_draft.children[-1]
            row.children.append(DraftBlock("cell", first_line=row.first_line, end_line=row.end_line))
        elif token.type == "inline":
            runs = runs_of_tokens(token.children)
            if table_draft.children:
                table_draft.children[-1].children[-1].runs = runs
            else:
                columns[-1] = columns[-1]._replace(title=runs)
    table_draft.attrs["columns"] = tuple(columns)
    if not any(column.has_title for column in columns):
        table_draft.attrs["header_hidden"] = True
    return table_draft


@dataclass(slots=True)
class _Cell:
    tag: HtmlTag
    line: int
    end_line: int
    """The line after the cell, counted from 0."""
    builder: RunBuilder = field(default_factory=RunBuilder)


class HtmlTable:
    """A table or cards in HTML. The HTML is read when the object is created."""

    def __init__(self, raw: str, line: int) -> None:
        self._table: HtmlTag | None = None
        self._rows: list[list[_Cell]] = []
        self._head_row_count = 0
        self._is_in_head = False
        self._cell: _Cell | None = None
        self._options: dict[int, dict[str, str]] = {}
        self._caption: RunBuilder | None = None
        self._depth = 0
        counted_to = 0
        for token in html_tokens(raw):
            line += raw.count("\n", counted_to, token.start)
            counted_to = token.start
            self._read(token, line)
            if self._cell:
                self._cell.end_line = line + 1 + raw.count("\n", token.start, token.end)
        self.end_line = line + 1 + raw.count("\n", counted_to)
        """The line after the table, counted from 0."""

    def to_draft_block(self) -> DraftBlock:
        attrs = self._table.attrs if self._table else {}
        is_cards = attrs.get("data-view") == "cards"
        first_row = self._rows[0] if self._rows else []
        has_head = bool(self._head_row_count) or all(cell.tag.name == "th" for cell in first_row)
        head = first_row if has_head else []
        body = self._rows[1:] if head else self._rows
        width = max((len(row) for row in self._rows), default=0)
        columns = tuple(self._column(head, index) for index in range(max(len(head), width)))
        table_draft = DraftBlock("cards" if is_cards else "table", {"columns": columns}, end_line=self.end_line)
        if attrs.get("data-full-width") == "true":
            table_draft.attrs["full_width"] = True
        if is_cards:
            table_draft.attrs["size"] = "large" if attrs.get("data-card-size") == "large" else "medium"
        elif not any(column.has_title for column in columns):
            table_draft.attrs["header_hidden"] = True
        table_draft.attrs |= {
            name: True
            for name, attribute in _FLAGS[is_cards].items()
            if attribute in attrs and attrs[attribute] != "false"
        }
        for index, row in enumerate(body, start=1 if head else 0):
            row_draft = _card(row, columns) if is_cards else DraftBlock("row", children=_cells(row, columns))
            row_draft.first_line, row_draft.end_line = (row[0].line, row[-1].end_line) if row else (0, 0)
            if index < self._head_row_count:
                row_draft.attrs["head"] = True
            if row:
                table_draft.children.append(row_draft)
        return table_draft

    def take_outside_text(self) -> tuple[Run, ...]:
        """Remove and return the text that belongs to no cell: the caption, and text between cells."""
        return self._caption.take() if self._caption else ()

    def _read(self, token: HtmlToken, line: int) -> None:
        tag = token.tag
        if tag is None:
            if self._cell:
                _add_cell_text(self._cell.builder, token.text)
            elif token.text.strip():
                self._caption = self._caption or RunBuilder()
                self._caption.add_html_text(token.text)
        elif tag.name == "table":
            self._depth += -1 if tag.is_closing else 1
            if self._table is None:
                self._table = tag
            elif self._cell and not tag.is_closing:
                self._cell.builder.add_line_break()
        elif self._depth > 1 and self._cell:
            self._read_nested(tag)
        elif tag.name in ("thead", "tbody", "tfoot"):
            self._is_in_head = tag.name == "thead" and not tag.is_closing
        elif tag.name == "tr":
            self._cell = None
            if not tag.is_closing:
                self._rows.append([])
                self._head_row_count += self._is_in_head
        elif tag.name in ("td", "th"):
            self._begin_cell(tag, line)
        elif tag.name == "option" and self._cell and not tag.is_closing:
            options = self._options.setdefault(len(self._rows[-1]) - 1, {})
            options[tag.attrs.get("value", "")] = tag.attrs.get("label", "")
        elif self._cell:
            self._cell.builder.read_html_tag(tag)
        elif self._caption and tag.name != "caption":
            self._caption.read_html_tag(tag)

    def _begin_cell(self, tag: HtmlTag, line: int) -> None:
        self._cell = None
        if not tag.is_closing:
            self._cell = _Cell(tag, line, line + 1)
            if not self._rows:
                self._rows.append([])
            self._rows[-1].append(self._cell)

    def _read_nested(self, tag: HtmlTag) -> None:
        """Read a tag of a table inside a cell. Inner rows become lines of the cell. A bar precedes each inner cell."""
        if self._cell is None:
            return
        if tag.name not in ("tr", "td", "th"):
            self._cell.builder.read_html_tag(tag)
        elif not tag.is_closing and tag.name == "tr":
            self._cell.builder.add_line_break()
        elif not tag.is_closing:
            self._cell.builder.add_text(" | ")

    def _column(self, head: list[_Cell], index: int) -> TableColumn:
        if index >= len(head):
            return TableColumn()
        cell, attrs = head[index], head[index].tag.attrs
        width = attrs.get("width", "").removesuffix("px").partition(".")[0]
        limit = attrs.get("data-max", "")
        options = self._options.get(index, {})
        return TableColumn(
            title=cell.builder.take(),
            type=attrs.get("data-type") or ("select" if options else "text"),
            align=attrs.get("align") or _alignment(attrs.get("style", "")),
            width=int(width) if width.isdecimal() and len(width) < 6 else None,
            hidden="data-hidden" in attrs,
            role=next((role for name, role in _ROLES.items() if name in attrs), None),
            max=int(limit) if limit.isdecimal() and len(limit) < 3 and 0 < int(limit) <= 20 else 5,
            options=options,
        )


def _is_fence(line: str) -> bool:
    mark = line.strip()
    return mark.startswith(_FENCE) and "`" not in mark.lstrip("`")


def _add_cell_text(builder: RunBuilder, text: str) -> None:
    """Add text to a cell. If the number of Markdown fences is even, the lines between two fences become code."""
    fences = sum(map(_is_fence, text.split("\n"))) if _FENCE in text else 0
    if fences == 0 or fences % 2:
        builder.add_html_text(text)
        return
    is_code = False
    prose_lines: list[str] = []
    for line in text.split("\n"):
        if _is_fence(line):
            is_code = not is_code
            if is_code and " ".join(prose_lines).strip():
                builder.add_html_text(" ".join(prose_lines).rstrip())
            prose_lines = []
        elif is_code:
            if builder.runs and builder.runs[-1].kind != "break":
                builder.add_line_break()
            builder.open_element("code")
            builder.add_special("code", line)
            builder.close_element("code")
        else:
            prose_lines.append(line)
    if " ".join(prose_lines).strip():
        builder.add_line_break()
        builder.add_html_text(" ".join(prose_lines))


def _cells(row: list[_Cell], columns: Sequence[TableColumn]) -> list[DraftBlock]:
    return [_cell(cell, columns[index]) for index, cell in enumerate(row)]


def _cell(cell: _Cell, column: TableColumn) -> DraftBlock:
    runs = cell.builder.take()
    draft = DraftBlock("cell", runs=runs, first_line=cell.line, end_line=cell.end_line)
    text = plain_text(runs).strip().lower()
    if column.type == "checkbox" and text in _CHECKBOX_VALUES:
        draft.attrs["value"] = _CHECKBOX_VALUES[text]
    elif column.type == "rating" and text == "null":
        draft.runs = ()
    elif column.type == "rating" and text.isdecimal():
        draft.attrs["value"] = min(int(text[:3]), column.max)
    for name in ("colspan", "rowspan"):
        span = cell.tag.attrs.get(name, "")
        if span.isdecimal() and 1 < int(span[:4]) <= 1000:
            draft.attrs[name] = int(span[:4])
    return draft


def _card(row: list[_Cell], columns: Sequence[TableColumn]) -> DraftBlock:
    card = DraftBlock("card", children=_cells(row, columns))
    for column, cell in zip(columns, card.children, strict=False):
        if column.role and (url := first_url(cell.runs)):
            card.attrs[column.role.replace("-", "_")] = url
    return card


def first_url(runs: tuple[Run, ...]) -> str | None:
    """Return the URL of the first image or link in a cell, for a card's link or cover. None if there is none."""
    for run in runs:
        if run.kind == "image" and run.attrs.get("src"):
            return str(run.attrs["src"])
        if run.link:
            return run.link
    return None


def _alignment(style: str) -> str | None:
    align_match: Any = _ALIGN.search(style)
    return align_match[1] if align_match else None
