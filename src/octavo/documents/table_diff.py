"""Which columns of two tables belong together."""

from __future__ import annotations

from collections.abc import Sequence

from octavo.documents.blocks import Block, Column, words
from octavo.documents.changes import ColumnPair
from octavo.documents.sequences import stretches


def column_pairs(old: Block, new: Block) -> tuple[ColumnPair, ...]:
    """The columns of both, in an order that is that of both."""
    before: Sequence[Column] = old.attrs.get("columns", ())
    after: Sequence[Column] = new.attrs.get("columns", ())
    pairs: list[ColumnPair] = []
    for equal, i1, i2, j1, j2 in stretches(_names(before), _names(after)):
        if equal or i2 - i1 == j2 - j1:
            both = zip(range(i1, i2), range(j1, j2), strict=True)
            pairs += [ColumnPair(before[i], after[j], i, j) for i, j in both]
        else:
            pairs += [ColumnPair(before[i], None, i, None) for i in range(i1, i2)]
            pairs += [ColumnPair(None, after[j], None, j) for j in range(j1, j2)]
    return tuple(pairs)


def _names(columns: Sequence[Column]) -> list[str]:
    """What columns are told apart by: their titles, or their places if they have none."""
    titles = [words(column.title).strip() for column in columns]
    return titles if any(titles) else [str(index) for index in range(len(titles))]
