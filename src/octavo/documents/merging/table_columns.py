"""Gives three versions of a table the same columns, so that their rows can be merged and every row is as wide as the head."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from octavo.documents.source_blocks import SourceBlock, Versions, cells, is_html, with_cells

Column: TypeAlias = "int | str"
"""A column: its number in the base, or the name of a new one."""


def align_columns(tables: Versions[SourceBlock]) -> Versions[SourceBlock] | None:
    """Return the three versions with the columns of the merged table. Columns that a side deleted are gone, and columns that a side
    added are there.

    Return None if one side deleted a column that the other side edited, or if the columns cannot be told apart.
    """
    if len({is_html(each.head) for each in tables}) > 1:
        return None
    names = [_names(each) for each in tables]
    found = [_places(names[0], each) for each in names]
    if any(places is None for places in found):
        return None
    places = [each for each in found if each is not None]
    places = [
        {old: new for old, new in of_base.items() if not _is_replaced(tables.base, old, table, new)}
        for table, of_base in zip(tables, places, strict=True)
    ]
    columns = [_columns(*each) for each in zip(names, places, strict=True)]
    if columns[0] == columns[1] == columns[2]:
        return tables
    if any(len(set(columns[side])) < len(names[side]) or _is_ragged(tables[side], columns, side) for side in range(3)):
        return None
    for side, other in ((1, 2), (2, 1)):
        for column in columns[0]:
            if column not in columns[side] and column in columns[other] and _is_edited(column, tables, columns, other):
                return None
    kept = [[each for each in of_side if all(each in other for other in columns)] for of_side in columns]
    if not Versions(*kept).is_settled:
        return None  # both put the columns in another order
    heads = _heads(tables, columns)
    return Versions(*(_with_columns(each, side, columns, heads) for side, each in enumerate(tables)))


def _names(table: SourceBlock) -> list[str]:
    return [cell.strip() for cell in cells(table.head.split("\n")[0] if not is_html(table.head) else table.head)]


def _places(old: Sequence[str], new: Sequence[str]) -> dict[int, int] | None:
    """Return where each column is now: by its name, or in order between those that kept theirs. None if that is ambiguous."""
    found = {i: new.index(name) for i, name in enumerate(old) if name and old.count(name) == new.count(name) == 1}
    left = [i for i in range(len(old)) if i not in found]
    free = [j for j in range(len(new)) if j not in found.values()]
    if len(left) == len(free):
        found |= dict(zip(left, free, strict=True))
    elif any(old.count(old[i]) > 1 or not old[i] for i in left) or any(
        new.count(new[j]) > 1 or not new[j] for j in free
    ):
        return None
    return dict(sorted(found.items()))


def _is_replaced(base: SourceBlock, old: int, table: SourceBlock, new: int) -> bool:
    """Return whether a column has another name and none of the cells of the base: it was replaced, not renamed."""
    if _names(base)[old] == _names(table)[new] or _is_uneven(base) or _is_uneven(table):
        return False
    before, now = _values(base, old), _values(table, new)
    del before[_names(base)[old]], now[_names(table)[new]]
    return bool(before and now) and not before & now


def _is_uneven(table: SourceBlock) -> bool:
    rows = [each for row in table.children or () for each in (row, *(row.restored_from or ()))]
    return any(len(cells(row.head)) != len(_names(table)) for row in rows)


def _columns(names: Sequence[str], places: Mapping[int, int]) -> list[Column]:
    of_base = {new: old for old, new in places.items()}
    return [of_base.get(place, name) for place, name in enumerate(names)]


def _is_ragged(table: SourceBlock, columns: Sequence[Sequence[Column]], side: int) -> bool:
    """Return whether a row is not as wide as the head."""
    rows = [(line, side) for line in _head_lines(table)]
    for row in table.children or ():
        rows += [(row.head, 0 if row.restored_from else side), *((each.head, side) for each in row.restored_from or ())]
        if row.move is not None:
            rows += [(row.move.base.head, 0), *((each.head, 3 - side) for each in row.move.other)]
    return any(len(cells(row)) != len(columns[of]) for row, of in rows)


def _is_edited(column: Column, tables: Versions[SourceBlock], columns: Sequence[Sequence[Column]], side: int) -> bool:
    """Return whether a side wrote something new into a column, or into its head."""
    before, now = (_values(tables[at], list(columns[at]).index(column)) for at in (0, side))
    return bool(now - before)


def _values(table: SourceBlock, place: int) -> Counter[str]:
    """Count what a column says, with its name."""
    rows = [each for row in table.children or () for each in row.restored_from or (row,)]
    found = Counter([_names(table)[place], *(" ".join(cells(row.head)[place].split()) for row in rows)])
    del found[""]
    return found


def _merged(columns: Sequence[Sequence[Column]]) -> list[Column]:
    """Return the columns of the merged table, in main's order, or in the order of the change request if main has the base's. New
    columns of the other side are behind the column that is before them there."""
    base, *sides = columns
    shared = [[each for each in of_side if all(each in other for other in columns)] for of_side in (base, sides[0])]
    first, second = sides if shared[0] != shared[1] else sides[::-1]
    merged = [each for each in first if isinstance(each, str) or each in second]
    for place, each in enumerate(second):
        if isinstance(each, str) and each not in merged:
            before = next((one for one in reversed(second[:place]) if one in merged), None)
            merged.insert(merged.index(before) + 1 if before is not None else 0, each)
    return merged


def _heads(tables: Versions[SourceBlock], columns: Sequence[Sequence[Column]]) -> dict[Column, list[str]]:
    """Return what the head says of each new column, line by line."""
    found: dict[Column, list[str]] = {}
    for table, of_table in zip(tables, columns, strict=True):
        for place, column in enumerate(of_table):
            if isinstance(column, str):
                found.setdefault(column, [cells(line)[place] for line in _head_lines(table)])
    return found


def _head_lines(table: SourceBlock) -> list[str]:
    """Return the lines of the head that have cells: in markdown the names and the marks below them."""
    return [table.head] if is_html(table.head) else table.head.split("\n")


def _with_columns(
    table: SourceBlock, side: int, columns: Sequence[Sequence[Column]], heads: Mapping[Column, list[str]]
) -> SourceBlock:
    """Return a table of one side with the merged columns."""
    merged = _merged(columns)

    def line(text: str, of: int, new: Sequence[str]) -> str:
        said = dict(zip(columns[of], cells(text), strict=True))
        return with_cells(text, [said.get(each, blank) for each, blank in zip(merged, new, strict=True)])

    def row(block: SourceBlock, of: int) -> SourceBlock:
        if block.restored_from is not None:
            real = tuple(row(each, of) for each in block.restored_from)
            return replace(row(replace(block, restored_from=None), 0), restored_from=real)
        blank = "<td></td>" if is_html(block.head) else " "
        move = block.move
        if move is not None:
            move = replace(move, base=row(move.base, 0), other=tuple(row(each, 3 - of) for each in move.other))
        return replace(block, head=line(block.head, of, [blank] * len(merged)), move=move)

    lines = [
        line(text, side, [heads[each][number] if each in heads else "" for each in merged])
        for number, text in enumerate(_head_lines(table))
    ]
    return replace(table, head="\n".join(lines), children=tuple(row(each, side) for each in table.children or ()))
