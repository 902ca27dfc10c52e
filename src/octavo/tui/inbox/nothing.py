"""The text of an empty inbox: items done today, snoozed items, and keys to continue with."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from textual.content import Content

from octavo.data.inbox import Row
from octavo.data.inbox_marks import Mark
from octavo.tui.inbox.acting import snooze_end_label
from octavo.tui.widgets.safe_text import fit, safe, spread

MAX_ITEMS = 12
"""Most done items, and most snoozed items, that are listed."""
_MAX_WIDTH = 76


def start_of_day(now: datetime) -> datetime:
    """Return the last midnight in the time zone of `now`."""
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


def summary(done: Sequence[Mark], asleep: Sequence[tuple[Row, datetime | None]]) -> str:
    """Return the number of done and snoozed items, for example `9 done today, 2 snoozed.`"""
    said = [f"{len(done)} done today" if done else "", f"{len(asleep)} snoozed" if asleep else ""]
    return f"{', '.join(filter(None, said))}." if any(said) else ""


def summary_lines(
    done: Sequence[Mark],
    asleep: Sequence[tuple[Row, datetime | None]],
    counts: dict[str, int],
    now: datetime,
    width: int,
) -> list[Content]:
    """Return the text as centered lines of at most `width` cells."""
    room = max(20, min(width - 4, _MAX_WIDTH))
    indent = " " * max(2, (width - room) // 2)
    out: list[Content] = [
        Content(""),
        Content.assemble(("✓ ", "$success"), ("Nothing needs your attention.", "bold")),
        Content.styled(summary(done, asleep) or "You are all caught up.", "$octavo-muted"),
    ]
    if done:
        out += [Content(""), Content.styled("DONE TODAY", "bold $octavo-muted")]
        for mark in done[:MAX_ITEMS]:
            text = Content.assemble(("✓ ", "$success"), safe(mark.title))
            out.append(spread(text, Content.styled(f"{mark.marked_at.astimezone():%H:%M}", "$octavo-muted"), room))
        out += _more_line(len(done))
    if asleep:
        out += [Content(""), Content.styled("SNOOZED", "bold $octavo-muted")]
        for row, until in asleep[:MAX_ITEMS]:
            when = f"until {snooze_end_label(until, now)}"
            text = Content.assemble(("○ ", "$octavo-muted"), safe(row.title))
            out.append(spread(text, Content.styled(when, "$octavo-muted"), room))
        out += _more_line(len(asleep))
    keys = [
        ("3", f"change requests ({counts.get('changes', 0)})"),
        ("4", f"open threads ({counts.get('comments', 0)})"),
        ("2", "pages"),
        ("s", "search"),
    ]
    pieces = [piece for key, does in keys for piece in ((key, "$primary"), (f" {does}   ", "$octavo-muted"))]
    out += [Content(""), *Content.assemble(*pieces).wrap(room)]
    return [Content(indent) + fit(line, room) if line.cell_length else line for line in out]


def _more_line(number: int) -> list[Content]:
    return [Content.styled(f"  and {number - MAX_ITEMS} more", "$octavo-muted")] if number > MAX_ITEMS else []
