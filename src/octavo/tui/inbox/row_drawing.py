"""How a row of the inbox is drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rich.cells import cell_len
from textual.content import Content

from octavo.data.inbox import InboxRow
from octavo.tui.inbox.sections import SHORT, SIGNS
from octavo.tui.widgets.row_list import Heading
from octavo.tui.widgets.row_list import Row as Drawn
from octavo.tui.widgets.wording import plural, short_age


class RowDrawing:
    """Draws rows, by what is known of all of them."""

    def __init__(self, open_threads: Callable[[InboxRow], int]) -> None:
        """`open_threads` returns how many threads of a row's change request are open. 0 for other rows."""
        self._open_threads = open_threads
        self.order = "reason"
        self.headings: Mapping[str, Heading] = {}
        """By reason or space, as the rows are ordered."""
        self.unread: frozenset[str] = frozenset()
        """The keys of those that were not read."""
        self.until: Mapping[str, str] = {}
        """Until when those sleep that are put off, by key."""

    def groups(self, row: InboxRow) -> Sequence[Heading]:
        """What a row stands under."""
        heading = self.headings.get(row.space_id if self.order == "space" else row.reason)
        return [heading] if heading is not None else []

    def draw(self, row: InboxRow, width: int) -> Drawn:
        """A row in a list of so many cells."""
        why = row.words.partition(" · ")[0]
        if cell_len(why) > max(16, width * 2 // 5):
            why = SHORT[row.reason]
        age = self.until.get(row.key) or short_age(row.moment)
        threads = self._open_threads(row)
        also = f"also {', '.join(SHORT[each] for each in row.also)}" if row.also else ""
        return Drawn(
            text=Content.styled(row.title, "bold") if row.key in self.unread else row.title,
            right=Content.styled(f"{why} {age:>4}", "$octavo-muted"),
            second_line=" · ".join(filter(None, (row.context, plural(threads, "open thread") if threads else ""))),
            second_right=also,
            sign=Content.styled(*SIGNS[row.reason]),
        )
