"""What stands in an inbox that needs nobody: what was done today, what sleeps until when, and where one goes on. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from textual.content import Content

from octavo.data.inbox import InboxRow
from octavo.data.inbox_marks import Mark
from octavo.tui.inbox.acting import moment
from octavo.tui.widgets.safe_text import fit, safe, spread

MOST = 12
"""Things done today, and as many that sleep, that are named."""
_WIDEST = 76


def beginning_of_day(now: datetime) -> datetime:
    """When the day of a person began, `now` being in their zone."""
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


def summary(done: Sequence[Mark], asleep: Sequence[tuple[InboxRow, datetime | None]]) -> str:
    """`9 done today, 2 snoozed.`"""
    said = [f"{len(done)} done today" if done else "", f"{len(asleep)} snoozed" if asleep else ""]
    return f"{', '.join(filter(None, said))}." if any(said) else ""


def lines(
    done: Sequence[Mark],
    asleep: Sequence[tuple[InboxRow, datetime | None]],
    counts: dict[str, int],
    now: datetime,
    width: int,
) -> list[Content]:
    """What is to be seen, in lines of at most `width` cells, as a column in the middle."""
    room = max(20, min(width - 4, _WIDEST))
    indent = " " * max(2, (width - room) // 2)
    out: list[Content] = [
        Content(""),
        Content.assemble(("✓ ", "$success"), ("Nothing needs your attention.", "bold")),
        Content.styled(summary(done, asleep) or "You are all caught up.", "$octavo-muted"),
    ]
    if done:
        out += [Content(""), Content.styled("DONE TODAY", "bold $octavo-muted")]
        for mark in done[:MOST]:
            text = Content.assemble(("✓ ", "$success"), safe(mark.title))
            out.append(spread(text, Content.styled(f"{mark.marked_at.astimezone():%H:%M}", "$octavo-muted"), room))
        out += _more(len(done))
    if asleep:
        out += [Content(""), Content.styled("SNOOZED", "bold $octavo-muted")]
        for row, until in asleep[:MOST]:
            when = f"until {moment(until, now)}"
            text = Content.assemble(("○ ", "$octavo-muted"), safe(row.title))
            out.append(spread(text, Content.styled(when, "$octavo-muted"), room))
        out += _more(len(asleep))
    keys = [
        ("3", f"change requests ({counts.get('changes', 0)})"),
        ("4", f"open threads ({counts.get('comments', 0)})"),
        ("2", "pages"),
        ("s", "search"),
    ]
    pieces = [piece for key, does in keys for piece in ((key, "$primary"), (f" {does}   ", "$octavo-muted"))]
    out += [Content(""), *Content.assemble(*pieces).wrap(room)]
    return [Content(indent) + fit(line, room) if line.cell_length else line for line in out]


def _more(number: int) -> list[Content]:
    return [Content.styled(f"  and {number - MOST} more", "$octavo-muted")] if number > MOST else []
