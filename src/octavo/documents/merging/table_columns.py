"""Gives three versions of a table the same columns, so that their rows can be merged cell by cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from octavo.documents.source_blocks import SourceBlock, Versions, cells, is_html, with_cells

Column: TypeAlias = "int | str"
"""A column: its index in the base, or the name of a new column."""


def align_columns(tables: Versions[SourceBlock]) -> Versions[SourceBlock] | None:
    """Return the three versions with the columns of the merged table. None if a side deleted a column that the other
    side edited, or if the columns are ambiguous.

    The merged table has the columns that a side added, and not the columns that a side deleted. In this module, version
    0 is the base, 1 is main, and 2 is the change request."""
    if len({is_html(each.head) for each in tables}) > 1:
        return None
    columns = [each for table in tables if (each := _columns(tables.base, table)) is not None]
    if len(columns) < len(tables):
        return None
    if columns[0] == columns[1] == columns[2]:
        return tables
    if any(len(set(each)) < len(each) for each in columns) or _has_uneven_versions(tables, columns):
        return None
    for version, other in ((1, 2), (2, 1)):
        deleted = [each for each in columns[0] if each not in columns[version] and each in columns[other]]
        if any(_is_edited(each, tables, columns, other) for each in deleted):
            return None
    if not Versions(*_shared_columns(columns)).is_conflict_free:
        return None  # both sides reordered the columns differently
    return Versions(*(_with_columns(tables, version, columns) for version in range(3)))


def _names(table: SourceBlock) -> list[str]:
    return [cell.strip() for cell in cells(table.head.split("\n")[0] if not is_html(table.head) else table.head)]


def _new_places(old: Sequence[str], new: Sequence[str]) -> dict[int, int] | None:
    """Return the new index of each old column. Columns are matched by name, else by order. None if that is
    ambiguous."""
    found = {i: new.index(name) for i, name in enumerate(old) if name and old.count(name) == new.count(name) == 1}
    unnamed_old = [i for i in range(len(old)) if i not in found]
    unnamed_new = [j for j in range(len(new)) if j not in found.values()]
    if len(unnamed_old) == len(unnamed_new):
        return found | dict(zip(unnamed_old, unnamed_new, strict=True))
    others = [(names, names[place]) for names, places in ((old, unnamed_old), (new, unnamed_new)) for place in places]
    return None if any(not name or names.count(name) > 1 for names, name in others) else found


def _is_replaced(base: SourceBlock, old: int, table: SourceBlock, new: int) -> bool:
    """Return whether a column was replaced and not only renamed: it has another name, and no cell of the base
    column."""
    if _names(base)[old] == _names(table)[new] or _has_uneven_rows(base) or _has_uneven_rows(table):
        return False
    before, values_after = _values(base, old), _values(table, new)
    del before[_names(base)[old]], values_after[_names(table)[new]]
    return bool(before and values_after) and not before & values_after


def _has_uneven_rows(table: SourceBlock) -> bool:
    rows = [each for row in table.children or () for each in (row, *(row.replaced_blocks or ()))]
    return any(len(cells(row.head)) != len(_names(table)) for row in rows)


def _columns(base: SourceBlock, table: SourceBlock) -> list[Column] | None:
    """Return the columns of a version of a table. None if they are ambiguous."""
    names = _names(table)
    places = _new_places(_names(base), names)
    if places is None:
        return None
    old_place_by_new = {new: old for old, new in places.items() if not _is_replaced(base, old, table, new)}
    return [old_place_by_new.get(place, name) for place, name in enumerate(names)]


def _shared_columns(columns: list[list[Column]]) -> list[list[Column]]:
    return [
        [version_column for version_column in version_columns if all(version_column in other for other in columns)]
        for version_columns in columns
    ]


def _has_uneven_versions(tables: Versions[SourceBlock], columns: list[list[Column]]) -> bool:
    """Return whether the number of cells of a row or head line differs from the number of columns of its version. For a
    moved row, the rows of the other versions are checked too."""
    rows: list[tuple[str, int]] = []
    for version, table in enumerate(tables):
        rows += [(line, version) for line in _head_lines(table)]
        for row in table.children or ():
            rows.append((row.head, 0 if row.replaced_blocks else version))
            rows += [(replaced_block.head, version) for replaced_block in row.replaced_blocks or ()]
            if row.move is not None:
                rows += [(row.move.base.head, 0), *((each.head, 3 - version) for each in row.move.other)]
    return any(len(cells(row)) != len(columns[version_number]) for row, version_number in rows)


def _is_edited(column: Column, tables: Versions[SourceBlock], columns: list[list[Column]], version: int) -> bool:
    before, values_after = (_values(tables[each], columns[each].index(column)) for each in (0, version))
    return bool(values_after - before)


def _values(table: SourceBlock, place: int) -> Counter[str]:
    """Return the texts of the cells of a column and its name, with their counts."""
    rows = [replaced_block for row in table.children or () for replaced_block in row.replaced_blocks or (row,)]
    found = Counter([_names(table)[place], *(" ".join(cells(row.head)[place].split()) for row in rows)])
    del found[""]
    return found


def _merge_columns(columns: list[list[Column]]) -> list[Column]:
    """Return the columns of the merged table. They are in main's order, or in the order of the change request if main
    kept the order of the base. New columns of the other side are put after their predecessor on that side."""
    shared, (_, main, request) = _shared_columns(columns), columns
    first, second = (main, request) if shared[0] != shared[1] else (request, main)
    merged = [each for each in first if isinstance(each, str) or each in second]
    for place, each in enumerate(second):
        if isinstance(each, str) and each not in merged:
            before = next((neighbor for neighbor in reversed(second[:place]) if neighbor in merged), None)
            merged.insert(merged.index(before) + 1 if before is not None else 0, each)
    return merged


def _header_cells(tables: Versions[SourceBlock], columns: list[list[Column]]) -> dict[Column, list[str]]:
    """Return the cells of each new column in the lines of the head."""
    found: dict[Column, list[str]] = {}
    for table, table_columns in zip(tables, columns, strict=True):
        for place, column in enumerate(table_columns):
            if isinstance(column, str):
                found.setdefault(column, [cells(line)[place] for line in _head_lines(table)])
    return found


def _head_lines(table: SourceBlock) -> list[str]:
    """Return the lines of the head that have cells: in Markdown, the names of the columns and the dashes below them."""
    return [table.head] if is_html(table.head) else table.head.split("\n")


def _with_columns(tables: Versions[SourceBlock], version: int, columns: list[list[Column]]) -> SourceBlock:
    """Return one version of a table with the merged columns."""
    table, merged, header_cells = tables[version], _merge_columns(columns), _header_cells(tables, columns)

    def line(text: str, version_number: int, new: Sequence[str]) -> str:
        by_column = dict(zip(columns[version_number], cells(text), strict=True))
        return with_cells(text, [by_column.get(each, blank) for each, blank in zip(merged, new, strict=True)])

    def row(block: SourceBlock, version_number: int) -> SourceBlock:
        if block.replaced_blocks is not None:
            replaced = tuple(row(each, version_number) for each in block.replaced_blocks)
            return replace(row(replace(block, replaced_blocks=None), 0), replaced_blocks=replaced)
        blank = "<td></td>" if is_html(block.head) else " "
        move = block.move
        if move is not None:
            move = replace(
                move, base=row(move.base, 0), other=tuple(row(each, 3 - version_number) for each in move.other)
            )
        return replace(block, head=line(block.head, version_number, [blank] * len(merged)), move=move)

    lines = [
        line(text, version, [header_cells[each][number] if each in header_cells else "" for each in merged])
        for number, text in enumerate(_head_lines(table))
    ]
    return replace(table, head="\n".join(lines), children=tuple(row(each, version) for each in table.children or ()))
