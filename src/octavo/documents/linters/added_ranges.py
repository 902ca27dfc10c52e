"""The ranges of a page that a change request added."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from octavo.documents.checks.findings import Place
from octavo.documents.diff_text import diff_lines


@dataclass(frozen=True)
class AddedRanges:
    """The columns that were added to each line, by line number. Lines are counted from 1, columns from 0."""

    lines: Mapping[int, tuple[tuple[int, int], ...]]

    def touches(self, place: Place, *, has_column: bool = True) -> bool:
        """Return whether a range contains an added character, or the place of a deletion. A place without a column
        stands for whole lines."""
        return any(
            not has_column or _overlaps(start, end, *_columns_on(place, line))
            for line in range(place.line, place.end_line + 1)
            for start, end in self.lines.get(line, ())
        )


def added_ranges(before: str, after: str) -> AddedRanges:
    """Return what was added to `before`, the Markdown of a page, to get `after`."""
    lines: dict[int, tuple[tuple[int, int], ...]] = {}
    for change in diff_lines(before, after):
        if change.op == "insert":
            lines[change.new_number + 1] = ((0, len(change.new)),)
        elif change.op == "change":
            ranges, position = [], 0
            for part in change.words:
                length = 0 if part.op == "delete" else len(part.run.text)
                if part.op in ("insert", "delete"):
                    ranges.append((position, position + length))
                position += length
            lines[change.new_number + 1] = tuple(ranges)
    return AddedRanges(lines)


def _columns_on(place: Place, line: int) -> tuple[int, int]:
    """Return the columns of a place on one of its lines, counted from 0."""
    start = place.column - 1 if line == place.line else 0
    end = place.end_column - 1 if line == place.end_line else 10**9
    return start, max(end, start + 1)


def _overlaps(start: int, end: int, other_start: int, other_end: int) -> bool:
    if start == end:  # A deletion stands between two characters.
        return other_start <= start <= other_end
    return start < other_end and other_start < end
