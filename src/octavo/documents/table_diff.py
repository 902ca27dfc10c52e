"""Which columns and which rows of two tables belong together."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from octavo.documents.alignment import Pair, align_without, best_pairs
from octavo.documents.blocks import Block, Column, plain_text
from octavo.documents.changes import AttributeChange, ColumnPair
from octavo.documents.nodes import Node, runs_key
from octavo.documents.sequences import diff_ranges
from octavo.documents.setting_diff import changed_run_attributes, changed_values, shorten
from octavo.documents.word_diff import diff_runs

_SETTING_NAMES = {"align": "aligned", "max": "maximum stars"}
_MIN_CELLS_IN_COMMON = 0.5
"""The share of their cells that columns have in common which are one."""
_MAX_ROWS = 1000
_LETTER = re.compile(r"[^\W\d_]")


def column_pairs(old: Block, new: Block) -> tuple[ColumnPair, ...]:
    """The columns of both, in an order that is that of both."""
    before: Sequence[Column] = old.attrs.get("columns", ())
    after: Sequence[Column] = new.attrs.get("columns", ())
    pairs: list[ColumnPair] = []
    if len(before) != len(after) and not any(plain_text(column.title).strip() for column in (*before, *after)):
        return tuple(_pair_by_cells(old, new, range(len(before)), range(len(after)), untitled=True))
    for equal, i1, i2, j1, j2 in diff_ranges(_column_names(before), _column_names(after)):
        if equal or i2 - i1 == j2 - j1:
            both = zip(range(i1, i2), range(j1, j2), strict=True)
            pairs += [ColumnPair(before[i], after[j], i, j) for i, j in both]
        else:
            pairs += _pair_by_cells(old, new, range(i1, i2), range(j1, j2))
    return tuple(pairs)


def _pair_by_cells(
    old: Block, new: Block, ours: range, theirs: range, *, untitled: bool = False
) -> Iterator[ColumnPair]:
    """Columns in pairs whose titles do not say which is which: those that have most of their cells in common. Those between
    them are paired by their places if they have no titles."""
    before, after = ([_column_texts(table, at) for at in some] for table, some in ((old, ours), (new, theirs)))
    worth = [
        {j: share for j, other in enumerate(after) if (share := _shared_share(one, other)) >= _MIN_CELLS_IN_COMMON}
        for one in before
    ]
    i = j = 0
    columns, others = (table.attrs.get("columns", ()) for table in (old, new))
    for next_i, next_j in [*best_pairs(worth, len(after)), (len(ours), len(theirs))]:
        while untitled and i < next_i and j < next_j:
            yield ColumnPair(columns[i], others[j], i, j)
            i, j = i + 1, j + 1
        yield from (ColumnPair(columns[ours[at]], None, ours[at], None) for at in range(i, next_i))
        yield from (ColumnPair(None, others[theirs[at]], None, theirs[at]) for at in range(j, next_j))
        if next_i < len(ours):
            yield ColumnPair(columns[ours[next_i]], others[theirs[next_j]], ours[next_i], theirs[next_j])
        i, j = next_i + 1, next_j + 1


def _column_texts(table: Block, column: int) -> Counter[str]:
    """The words of the cells of a column that has any."""
    rows = (row.children for row in table.children[:_MAX_ROWS])
    return Counter(text for cells in rows if column < len(cells) and (text := plain_text(cells[column].runs).strip()))


def _shared_share(one: Counter[str], other: Counter[str]) -> float:
    return (one & other).total() / max(one.total(), other.total(), 1)


def _column_names(columns: Sequence[Column]) -> list[str]:
    """What columns are told apart by: their titles, or their places if they have none."""
    titles = [plain_text(column.title).strip() for column in columns]
    return titles if any(titles) else [str(index) for index in range(len(titles))]


def column_changes(columns: Sequence[ColumnPair]) -> tuple[AttributeChange, ...]:
    """What became of the columns that both tables have, but for their titles."""
    found: list[AttributeChange] = []
    for number, pair in enumerate(columns, 1):
        if pair.old is None or pair.new is None:
            continue
        title = shorten(plain_text(pair.new.title))
        name = f"column “{title}”" if title else f"column {number}"
        before, after = pair.old._asdict(), pair.new._asdict()
        titles = (before.pop("title"), after.pop("title"))
        found += [
            replace(each, name=f"{name}, {_SETTING_NAMES.get(each.name, each.name)}")
            for each in changed_values(before, after)
        ]
        found += [
            replace(each, name=f"{name}, {each.name}") for each in changed_run_attributes(diff_runs(*titles).words)
        ]
    return tuple(found)


def has_same_title(pair: ColumnPair) -> bool:
    """Whether a column of both tables is headed alike."""
    return runs_key(pair.old.title if pair.old else ()) == runs_key(pair.new.title if pair.new else ())


def row_pairs(
    old: Sequence[Node], new: Sequence[Node], columns: Sequence[ColumnPair]
) -> tuple[list[Pair], dict[int, Node]]:
    """The rows of two tables in pairs, in an order that is that of both. Those that are elsewhere now stand by
    themselves, once for each side: the second answer has the other row of each of them by its id.

    A row is known by the cell that no other row has, and by its likeness otherwise.
    """
    ours, theirs = _identified_rows(old, new, columns)
    before = [ours.get(id(row), row.number) for row in old]
    after = [theirs.get(id(row), row.number) for row in new]
    found = diff_ranges(before, after)
    left = {
        name: row
        for each in found
        if not each.equal
        for name, row in _identified_in_range(old, before, each.i1, each.i2)
    }
    came = {
        name: row
        for each in found
        if not each.equal
        for name, row in _identified_in_range(new, after, each.j1, each.j2)
    }
    twins = {id(row): came[name] for name, row in left.items()} | {id(row): left[name] for name, row in came.items()}
    pairs: list[Pair] = []
    for equal, i1, i2, j1, j2 in found:
        pairs += zip(old[i1:i2], new[j1:j2], strict=True) if equal else align_without(old[i1:i2], new[j1:j2], twins)
    return pairs, twins


def _identified_rows(
    old: Sequence[Node], new: Sequence[Node], columns: Sequence[ColumnPair]
) -> tuple[dict[int, str], dict[int, str]]:
    """What rows that both sides have are known by: their words in the first column that tells most rows apart."""
    for pair in columns:
        if pair.old_index is None or pair.new_index is None:
            continue
        ours, theirs = _rows_by_unique_text(old, pair.old_index), _rows_by_unique_text(new, pair.new_index)
        if 2 * len(ours) >= len(old) and 2 * len(theirs) >= len(new):
            both = ours.keys() & theirs.keys()
            return {id(ours[name]): name for name in both}, {id(theirs[name]): name for name in both}
    return {}, {}


def _rows_by_unique_text(rows: Sequence[Node], column: int) -> dict[str, Node]:
    """Rows by the words they alone have in a column. Numbers are none: a row put in counts those below it anew."""
    cells = [(row.children[column].text if column < len(row.children) else "", row) for row in rows]
    counts = Counter(text for text, _ in cells)
    return {text: row for text, row in cells if counts[text] == 1 and _LETTER.search(text)}


def _identified_in_range(
    rows: Sequence[Node], names: Sequence[str | int], first: int, last: int
) -> Iterator[tuple[str, Node]]:
    for row, name in zip(rows[first:last], names[first:last], strict=True):
        if isinstance(name, str):
            yield name, row
