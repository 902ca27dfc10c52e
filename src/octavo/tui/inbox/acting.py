"""Commands for the selected rows of the inbox: mark as done, snooze, mark as unread, discard."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from octavo.api.places import ChangeRequestRef
from octavo.data.inbox import DraftRef, Row, ThreadRef, WriteRef
from octavo.data.inbox_marks import InboxMarks, snooze_until
from octavo.data.state_db import NotSaved
from octavo.data.unsent_index import UnsentText
from octavo.tui.comments import discarding
from octavo.tui.shell.write_queue import LocalChange
from octavo.tui.widgets.wording import plural

if TYPE_CHECKING:
    from octavo.data.writes.machine import OutboxEntry
    from octavo.tui.shell.inbox_feed import InboxFeed
    from octavo.tui.shell.shell import Shell
    from octavo.tui.widgets.confirm import Confirmed

SnoozeEnd = Literal["hour", "tomorrow", "next week", "change", "back"]
_MAX_LISTED = 5
"""Most changes that are listed before they are discarded."""


@dataclass(frozen=True)
class SelectedRows:
    """The selected rows of the inbox, and callbacks of their screen."""

    rows: tuple[Row, ...]
    feed: InboxFeed
    is_removed: bool
    """Whether the rows are done or snoozed."""
    before_removal: Callable[[], None]
    """Called before the rows leave the list."""
    after_undo: Callable[[Row], None]
    """Called with the first row after an undo."""

    @property
    def marks(self) -> InboxMarks:
        assert self.feed.marks is not None, "the inbox feed has no marks"
        return self.feed.marks


def done_label(app: Shell, about: SelectedRows) -> str | None:
    """Return the label of the key for rows that are done or snoozed. None for other rows."""
    return "Move back" if about.is_removed else None


def mark_done(app: Shell, about: SelectedRows) -> None:
    """Remove rows from the inbox until something new happens. Rows that are done or snoozed move back to the inbox."""
    if about.is_removed:
        _move_back(app, about)
        return
    rows = about.rows
    about.before_removal()
    change = _mark_change(
        about,
        rows,
        f"mark {_items_label(rows)} as done",
        lambda: about.marks.mark_done(*rows),
        "Moved back to the inbox.",
    )
    app.writes.change(change, said=f"Marked {_items_label(rows)} as done until something new happens")


def snooze(app: Shell, about: SelectedRows) -> None:
    """Ask until when to snooze the rows."""
    from octavo.tui.widgets.chooser import Choice
    from octavo.tui.widgets.picker import Picker

    now = app.session.state.now().astimezone()
    moments = {each: snooze_until(each, now) for each in ("hour", "tomorrow", "next week")}
    choices: list[Choice[SnoozeEnd]] = [
        Choice("hour", "For an hour", right=f"{moments['hour']:%H:%M}"),
        Choice("tomorrow", "Until tomorrow", right=f"{moments['tomorrow']:%a %H:%M}"),
        Choice("next week", "Until next week", right=f"{moments['next week']:%a %d %b %H:%M}"),
        Choice("change", "Until something new happens"),
    ]
    if about.is_removed:
        choices.append(Choice("back", "Move back to the inbox now"))

    def chosen(until: SnoozeEnd | None) -> None:
        if until == "back":
            _move_back(app, about)
        elif until is not None:
            _snooze_until(app, about, moments.get(until))

    row = about.rows[0]
    one = "this thread" if isinstance(row.about, ThreadRef) else row.title
    title = f"Snooze {plural(len(about.rows), 'item') if len(about.rows) > 1 else one}"
    app.push_screen(Picker(title, choices), chosen)


def _snooze_until(app: Shell, about: SelectedRows, until: datetime | None) -> None:
    rows = about.rows
    about.before_removal()
    many = f" {plural(len(rows), 'item')}" if len(rows) > 1 else ""
    said = f"Snoozed{many} until {snooze_end_label(until, app.session.state.now())}"
    asleep = _mark_change(
        about,
        rows,
        f"snooze {_items_label(rows)}",
        lambda: about.marks.snooze(*rows, until=until),
        "Moved back to the inbox.",
    )
    app.writes.change(asleep, said=said)


def _move_back(app: Shell, about: SelectedRows) -> None:
    keys = tuple(row.key for row in about.rows)
    about.before_removal()
    marks, feed = about.marks, about.feed
    sorted_before = marks.sort(about.rows)

    async def back() -> None:
        await marks.restore(*keys)
        feed.look_again()

    async def again() -> None:
        for row, until in sorted_before.snoozed:
            await marks.snooze(row, until=until)
        await marks.mark_done(*sorted_before.done)
        feed.look_again()

    said = f"Moved {plural(len(keys), 'item')} back to the inbox" if len(keys) > 1 else "Moved back to the inbox"
    app.writes.change(
        LocalChange(f"move {_items_label(about.rows)} back to the inbox", back, again, "Removed from the inbox."),
        said=said,
    )


def _mark_change(
    about: SelectedRows, rows: Sequence[Row], doing: str, mark: Callable[[], Awaitable[object]], said_back: str
) -> LocalChange:
    feed, marks = about.feed, about.marks

    async def do() -> None:
        await mark()
        feed.look_again()

    async def back() -> None:
        await marks.restore(*(row.key for row in rows))
        if rows:
            about.after_undo(rows[0])
        feed.look_again()

    return LocalChange(doing, do, back, said_back)


def _items_label(rows: Sequence[Row]) -> str:
    return plural(len(rows), "item") if len(rows) > 1 else "the item"


def snooze_end_label(until: datetime | None, now: datetime) -> str:
    """Return the end of a snooze: `14:30`, `Tue 08:00`, `30 Nov`, or `something new happens`."""
    if until is None:
        return "something new happens"
    until, now = until.astimezone(), now.astimezone()
    if until.date() == now.date():
        return f"{until:%H:%M}"
    return f"{until:%a %H:%M}" if (until - now).days < 7 else f"{until:%d %b}"


def mark_unread(app: Shell, about: SelectedRows) -> None:
    """Mark the rows as unread."""

    async def say() -> None:
        try:
            await about.marks.mark_unread(*about.rows)
        except NotSaved as error:
            app.say(f"Could not mark {_items_label(about.rows)} as unread: {error}", tone="failed")
        about.feed.look_again()

    app.background(say())


# Drafts and changes in the outbox


def unsent_texts(app: Shell, about: SelectedRows) -> list[UnsentText]:
    """Return the drafts and pending comments of the rows."""
    index = app.workspace.unsent.index
    found: list[UnsentText] = []
    for row in about.rows:
        match row.about:
            case DraftRef(draft_key=place):
                found += index.of_draft(place)
            case ThreadRef(at=at, comment_id=thread):
                found += index.of_thread(at, thread)
            case ChangeRequestRef() as at:
                found += index.of_change_request(at)
    return list(dict.fromkeys(found))


def _outbox_entries(app: Shell, about: SelectedRows) -> list[OutboxEntry]:
    wanted = {row.about.entry_id for row in about.rows if isinstance(row.about, WriteRef)}
    return [entry for entry in app.session.outbox.entries if entry.id in wanted]


def why_not_discarded(app: Shell, about: SelectedRows) -> str | None:
    """Return why there is nothing to discard. None if there is something."""
    return None if _outbox_entries(app, about) or unsent_texts(app, about) else discarding.NOTHING


def discard(app: Shell, about: SelectedRows) -> None:
    """Discard drafts and pending comments. Changes in the outbox are confirmed first, because some may have arrived."""
    from octavo.tui.widgets.confirm import Confirm

    words, entries = unsent_texts(app, about), _outbox_entries(app, about)

    def throw_words_away() -> None:
        if words:
            discarding.discard(app, words)

    if not entries:
        about.before_removal()
        throw_words_away()
        return
    named = [f"“{_shortened(each.facts.text or each.action)}”" for each in entries[:_MAX_LISTED]]
    if len(entries) > _MAX_LISTED:
        named.append(f"and {len(entries) - _MAX_LISTED} more")
    changes = "These changes" if len(entries) > 1 else "This change"
    after = f"{changes} will not be sent. Your text will be kept as a draft."
    if words:
        after = f"{after} {plural(len(words), 'unsent draft')} will also be discarded. You can press u afterward to restore discarded drafts."

    async def not_sent() -> None:
        try:
            for entry in entries:
                await app.session.outbox.discard(entry.id)
        except NotSaved as error:
            app.say(f"Could not discard the change: {error}", tone="failed")

    def decided(answer: Confirmed | None) -> None:
        if answer is not None:
            about.before_removal()
            app.background(not_sent())
            throw_words_away()

    title = f"Discard {plural(len(entries), 'change')}?" if len(entries) > 1 else "Discard this change?"
    app.push_screen(Confirm(title, verb="Discard", intro="\n".join(named), after=after), decided)


def _shortened(words: str) -> str:
    line = " ".join(words.split())
    return line if len(line) <= 160 else f"{line[:159]}…"


class ReadMarker:
    """Marks a row as read after the cursor stays on it."""

    DELAY = 1.0
    """Seconds that the cursor stays on the row."""

    def __init__(self, feed: InboxFeed, app: Shell) -> None:
        self._feed, self._app = feed, app

    def mark_read(self, row: Row) -> None:
        """Mark a row as read, if it is unread."""
        if self._feed.rows is not None and row.key in self._feed.rows.unread:
            self._app.background(self._save_mark(row))

    async def _save_mark(self, row: Row) -> None:
        if self._feed.marks is None:
            return
        try:
            await self._feed.marks.mark_read(row)
        except NotSaved:
            return  # Not reported: the row only stays unread.
        self._feed.look_again()
