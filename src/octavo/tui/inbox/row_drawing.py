"""Renders the rows of the inbox."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rich.cells import cell_len
from textual.content import Content

from octavo.data.inbox import Row
from octavo.tui.inbox.sections import REASON_SIGNS, SHORT_REASONS
from octavo.tui.widgets.row_list import Heading
from octavo.tui.widgets.row_list import Row as Drawn
from octavo.tui.widgets.wording import plural, short_age


class RowRenderer:
    """Renders rows, given the state of the whole list."""

    def __init__(self, open_threads: Callable[[Row], int]) -> None:
        """`open_threads` returns the number of open threads in a row's change request. 0 for other rows."""
        self._open_threads = open_threads
        self.order = "reason"
        self.headings: Mapping[str, Heading] = {}
        """Headings by reason, or by space ID."""
        self.unread: frozenset[str] = frozenset()
        """Keys of the unread rows."""
        self.snooze_labels: Mapping[str, str] = {}
        """End of the snooze, by the key of the row."""

    def groups(self, row: Row) -> Sequence[Heading]:
        """Return the heading of a row."""
        heading = self.headings.get(row.space_id if self.order == "space" else row.reason)
        return [heading] if heading is not None else []

    def render(self, row: Row, width: int) -> Drawn:
        """Return a row for a list of `width` cells."""
        why = row.words.partition(" · ")[0]
        if cell_len(why) > max(16, width * 2 // 5):
            why = SHORT_REASONS[row.reason]
        age = self.snooze_labels.get(row.key) or short_age(row.moment)
        threads = self._open_threads(row)
        also = f"also {', '.join(SHORT_REASONS[each] for each in row.also)}" if row.also else ""
        return Drawn(
            text=Content.styled(row.title, "bold") if row.key in self.unread else row.title,
            right=Content.styled(f"{why} {age:>4}", "$octavo-muted"),
            below=" · ".join(filter(None, (row.context, plural(threads, "open thread") if threads else ""))),
            below_right=also,
            sign=Content.styled(*REASON_SIGNS[row.reason]),
        )
