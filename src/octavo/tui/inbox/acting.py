"""What is done with rows of the inbox: done, put off, read, thrown away. Each is taken back with `u`, but that a write is
not to be sent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from octavo.api.places import ChangeRequestRef
from octavo.data.inbox import DraftRef, InboxRow, ThreadRef, WriteRef
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

Until = Literal["hour", "tomorrow", "next week", "change", "back"]
_MOST_NAMED = 5
"""Writes that are named before they are thrown away."""


@dataclass(frozen=True)
class Rows:
    """What the keys of the inbox are about: rows, and what they have to do with them."""

    rows: tuple[InboxRow, ...]
    feed: InboxFeed
    away: bool
    """Whether they are done or put off already."""
    went: Callable[[], None]
    """They go: called before."""
    came_back: Callable[[InboxRow], None]
    """What was done with them was taken back: called with the first."""

    @property
    def marks(self) -> InboxMarks:
        assert self.feed.marks is not None, "the inbox feed has no marks"
        return self.feed.marks


def done_label(app: Shell, about: Rows) -> str | None:
    """Return the label of `d` for rows that are done or snoozed already."""
    return "Move back" if about.away else None


def mark_done(app: Shell, about: Rows) -> None:
    """Remove rows from the inbox until something new happens to them. Rows that are done or snoozed come back."""
    if about.away:
        _put_back(app, about)
        return
    rows = about.rows
    about.went()
    change = _marking(
        about, rows, f"mark {_them(rows)} as done", lambda: about.marks.mark_done(*rows), "Moved back to the inbox."
    )
    app.writes.change(change, message=f"Marked {_them(rows)} as done until something new happens")


def snooze(app: Shell, about: Rows) -> None:
    """Ask until when they are put off."""
    from octavo.tui.widgets.chooser import Choice
    from octavo.tui.widgets.picker import Picker

    now = app.session.state.now().astimezone()
    moments = {each: snooze_until(each, now) for each in ("hour", "tomorrow", "next week")}
    choices: list[Choice[Until]] = [
        Choice("hour", "For an hour", right=f"{moments['hour']:%H:%M}"),
        Choice("tomorrow", "Until tomorrow", right=f"{moments['tomorrow']:%a %H:%M}"),
        Choice("next week", "Until next week", right=f"{moments['next week']:%a %d %b %H:%M}"),
        Choice("change", "Until something new happens"),
    ]
    if about.away:
        choices.append(Choice("back", "Move back to the inbox now"))

    def chosen(until: Until | None) -> None:
        if until == "back":
            _put_back(app, about)
        elif until is not None:
            _put_off(app, about, moments.get(until))

    row = about.rows[0]
    one = "this thread" if isinstance(row.target, ThreadRef) else row.title
    title = f"Snooze {plural(len(about.rows), 'item') if len(about.rows) > 1 else one}"
    app.push_screen(Picker(title, choices), chosen)


def _put_off(app: Shell, about: Rows, until: datetime | None) -> None:
    rows = about.rows
    about.went()
    many = f" {plural(len(rows), 'item')}" if len(rows) > 1 else ""
    said = f"Snoozed{many} until {moment(until, app.session.state.now())}"
    asleep = _marking(
        about, rows, f"snooze {_them(rows)}", lambda: about.marks.snooze(*rows, until=until), "Moved back to the inbox."
    )
    app.writes.change(asleep, message=said)


def _put_back(app: Shell, about: Rows) -> None:
    keys = tuple(row.key for row in about.rows)
    about.went()
    marks, feed = about.marks, about.feed
    sorted_before = marks.sort(about.rows)

    async def back() -> None:
        await marks.restore(*keys)
        feed.regroup()

    async def again() -> None:
        for row, until in sorted_before.snoozed:
            await marks.snooze(row, until=until)
        await marks.mark_done(*sorted_before.done)
        feed.regroup()

    said = f"Moved {plural(len(keys), 'item')} back to the inbox" if len(keys) > 1 else "Moved back to the inbox"
    app.writes.change(
        LocalChange(f"move {_them(about.rows)} back to the inbox", back, again, "Removed from the inbox."), message=said
    )


def _marking(
    about: Rows, rows: Sequence[InboxRow], doing: str, mark: Callable[[], object], said_back: str
) -> LocalChange:
    feed, marks = about.feed, about.marks

    async def do() -> None:
        await mark()  # type: ignore[misc]  # what it returns is awaited
        feed.regroup()

    async def back() -> None:
        await marks.restore(*(row.key for row in rows))
        if rows:
            about.came_back(rows[0])
        feed.regroup()

    return LocalChange(doing, do, back, said_back)


def _them(rows: Sequence[InboxRow]) -> str:
    return plural(len(rows), "item") if len(rows) > 1 else "the item"


def moment(until: datetime | None, now: datetime) -> str:
    """Until when something sleeps: `14:30`, `Tue 08:00`, `30 Nov`, or `something new happens`."""
    if until is None:
        return "something new happens"
    until, now = until.astimezone(), now.astimezone()
    if until.date() == now.date():
        return f"{until:%H:%M}"
    return f"{until:%a %H:%M}" if (until - now).days < 7 else f"{until:%d %b}"


def unread(app: Shell, about: Rows) -> None:
    """Say that they were not read."""

    async def say() -> None:
        try:
            await about.marks.mark_unread(*about.rows)
        except NotSaved as error:
            app.say(f"Could not mark {_them(about.rows)} as unread: {error}", tone="failed")
        about.feed.regroup()

    app.background(say())


# What is not sent


def words_of(app: Shell, about: Rows) -> list[UnsentText]:
    """The drafts and held comments that rows tell of."""
    index = app.workspace.unsent.index
    found: list[UnsentText] = []
    for row in about.rows:
        match row.target:
            case DraftRef(draft_key=place):
                found += index.of_draft(place)
            case ThreadRef(at=at, comment_id=thread):
                found += index.of_thread(at, thread)
            case ChangeRequestRef() as at:
                found += index.of_change_request(at)
    return list(dict.fromkeys(found))


def _writes_of(app: Shell, about: Rows) -> list[OutboxEntry]:
    wanted = {row.target.entry_id for row in about.rows if isinstance(row.target, WriteRef)}
    return [entry for entry in app.session.outbox.entries if entry.id in wanted]


def why_not_discarded(app: Shell, about: Rows) -> str | None:
    """Why there is nothing to throw away, in a sentence."""
    return None if _writes_of(app, about) or words_of(app, about) else discarding.NOTHING


def discard(app: Shell, about: Rows) -> None:
    """Throw away drafts and held comments. Of writes that are not sent it is asked first: some may have arrived."""
    from octavo.tui.widgets.confirm import ConfirmDialog

    words, entries = words_of(app, about), _writes_of(app, about)

    def throw_words_away() -> None:
        if words:
            discarding.discard(app, words)

    if not entries:
        about.went()
        throw_words_away()
        return
    named = [f"“{_cut(each.facts.text or each.action)}”" for each in entries[:_MOST_NAMED]]
    if len(entries) > _MOST_NAMED:
        named.append(f"and {len(entries) - _MOST_NAMED} more")
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
            about.went()
            app.background(not_sent())
            throw_words_away()

    title = f"Discard {plural(len(entries), 'change')}?" if len(entries) > 1 else "Discard this change?"
    app.push_screen(ConfirmDialog(title, verb="Discard", intro="\n".join(named), after=after), decided)


def _cut(words: str) -> str:
    line = " ".join(words.split())
    return line if len(line) <= 160 else f"{line[:159]}…"


class Reading:
    """Says of the row the cursor rests on that it was read."""

    AFTER = 1.0
    """Seconds."""

    def __init__(self, feed: InboxFeed, app: Shell) -> None:
        self._feed, self._app = feed, app

    def rested(self, row: InboxRow) -> None:
        """The cursor rested on it."""
        if self._feed.rows is not None and row.key in self._feed.rows.unread:
            self._app.background(self._read(row))

    async def _read(self, row: InboxRow) -> None:
        if self._feed.marks is None:
            return
        try:
            await self._feed.marks.mark_read(row)
        except NotSaved:
            return  # it is shown as unread, which it is for the next run
        self._feed.regroup()
