"""The text of an empty inbox: items done today, snoozed items, and keys to continue with."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from textual.content import Content

from octavo.data.inbox import InboxRow
from octavo.data.inbox_marks import Mark
from octavo.tui.inbox.row_commands import snooze_end_label
from octavo.tui.widgets.safe_text import fit, safe, spread

MAX_ITEMS = 12
"""Maximum number of done items, and of snoozed items, that are listed."""
_MAX_WIDTH = 76


def start_of_day(now: datetime) -> datetime:
    """Return the last midnight in the time zone of `now`."""
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


def summary(done: Sequence[Mark], snoozed: Sequence[tuple[InboxRow, datetime | None]]) -> str:
    """Return the number of done and snoozed items, for example `9 done today, 2 snoozed.`"""
    parts = [f"{len(done)} done today" if done else "", f"{len(snoozed)} snoozed" if snoozed else ""]
    return f"{', '.join(filter(None, parts))}." if any(parts) else ""


def summary_lines(
    done: Sequence[Mark],
    snoozed: Sequence[tuple[InboxRow, datetime | None]],
    counts: dict[str, int],
    now: datetime,
    width: int,
) -> list[Content]:
    """Return the lines of the text, centered in `width` cells."""
    content_width = max(20, min(width - 4, _MAX_WIDTH))
    indent = " " * max(2, (width - content_width) // 2)
    lines: list[Content] = [
        Content(""),
        Content.assemble(("✓ ", "$success"), ("Nothing needs your attention.", "bold")),
        Content.styled(summary(done, snoozed) or "You are all caught up.", "$octavo-muted"),
    ]
    if done:
        lines += [Content(""), Content.styled("DONE TODAY", "bold $octavo-muted")]
        for mark in done[:MAX_ITEMS]:
            text = Content.assemble(("✓ ", "$success"), safe(mark.title))
            lines.append(
                spread(text, Content.styled(f"{mark.marked_at.astimezone():%H:%M}", "$octavo-muted"), content_width)
            )
        lines += _more_line(len(done))
    if snoozed:
        lines += [Content(""), Content.styled("SNOOZED", "bold $octavo-muted")]
        for row, until in snoozed[:MAX_ITEMS]:
            when = f"until {snooze_end_label(until, now)}"
            text = Content.assemble(("○ ", "$octavo-muted"), safe(row.title))
            lines.append(spread(text, Content.styled(when, "$octavo-muted"), content_width))
        lines += _more_line(len(snoozed))
    keys = [
        ("3", f"change requests ({counts.get('changes', 0)})"),
        ("4", f"open threads ({counts.get('comments', 0)})"),
        ("2", "pages"),
        ("s", "search"),
    ]
    spans = [span for key, label in keys for span in ((key, "$primary"), (f" {label}   ", "$octavo-muted"))]
    lines += [Content(""), *Content.assemble(*spans).wrap(content_width)]
    return [Content(indent) + fit(line, content_width) if line.cell_length else line for line in lines]


def _more_line(number: int) -> list[Content]:
    return [Content.styled(f"  and {number - MAX_ITEMS} more", "$octavo-muted")] if number > MAX_ITEMS else []
