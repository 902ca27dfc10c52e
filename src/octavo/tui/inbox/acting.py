"""What is done with rows of the inbox: done, put off, read, thrown away. Each is taken back with `u`, but what is discarded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from octavo.api import comments
from octavo.api.places import ChangeRequestRef
from octavo.data.inbox import DraftRef, Row, ThreadRef, WriteRef, place_of_draft
from octavo.data.inbox_marks import InboxMarks, later
from octavo.data.state import NotSaved
from octavo.tui.comments import thread_actions
from octavo.tui.shell.permissions import not_allowed_with
from octavo.tui.shell.write_queue import LocalChange, QueuedWrite
from octavo.tui.widgets.wording import plural

if TYPE_CHECKING:
    from octavo.tui.shell.inbox_feed import InboxFeed
    from octavo.tui.shell.shell import Shell
    from octavo.tui.widgets.confirm import Confirmed

Until = Literal["hour", "tomorrow", "next week", "change", "back"]
_MOST_NAMED = 5
"""Drafts that are named before they are thrown away."""


@dataclass(frozen=True)
class Rows:
    """What the keys of the inbox are about: rows, and what they have to do with them."""

    rows: tuple[Row, ...]
    feed: InboxFeed
    away: bool
    """Whether they are done or put off already."""
    went: Callable[[], None]
    """They go: called before."""
    came_back: Callable[[Row], None]
    """What was done with them was taken back: called with the first."""

    @property
    def marks(self) -> InboxMarks:
        assert self.feed.marks is not None, "rows come from a feed that has marks"
        return self.feed.marks


def called_done(app: Shell, about: Rows) -> str | None:
    """What `d` does with them."""
    if about.away:
        return "Needs me"
    return "Resolve" if all(_resolvable(app, about, row) for row in about.rows) else None


def writes_done(app: Shell, about: Rows) -> bool:
    """Whether `d` sends anything: other rows only leave the inbox of this machine."""
    return not about.away and any(_resolvable(app, about, row) for row in about.rows)


def done(app: Shell, about: Rows) -> None:
    """Resolve threads, where one may, and let the others go until something new happens to them. Those that are gone come
    back."""
    if about.away:
        _put_back(app, about)
        return
    writes, others = [], []
    for row in about.rows:
        comment = about.feed.comment(row)
        if comment is not None and isinstance(row.about, ThreadRef) and _resolvable(app, about, row):
            op = comments.Update(at=row.about.at, comment_id=comment.id, resolved=True)
            writes.append(QueuedWrite(op, "resolve the thread", about=thread_actions.name(comment)))
        else:
            others.append(row)
    about.went()
    said = f"{plural(len(others), 'row')} done" if len(others) > 1 else "Done"
    away = _marking(about, others, "take it out of the inbox", lambda: about.marks.done(*others), "It needs you again.")
    if not writes:
        app.writes.change_here(away, said=f"{said}: back when something new happens")
        return
    resolved = f"{plural(len(writes), 'thread')} resolved" if len(writes) > 1 else "Thread resolved"
    app.writes.queue(*writes, said=f"{resolved}, {said.lower()}" if others else resolved, here=away if others else None)


def _resolvable(app: Shell, about: Rows, row: Row) -> bool:
    comment = about.feed.comment(row)
    if comment is None or not isinstance(row.about, ThreadRef):
        return False
    return comment.is_open and not_allowed_with(app, row.about.at, "resolve", comment) is None


def snooze(app: Shell, about: Rows) -> None:
    """Ask until when they are put off."""
    from octavo.tui.widgets.chooser import Choice
    from octavo.tui.widgets.picker import Picker

    now = app.session.state.now().astimezone()
    moments = {each: later(each, now) for each in ("hour", "tomorrow", "next week")}
    choices: list[Choice[Until]] = [
        Choice("hour", "For an hour", right=f"{moments['hour']:%H:%M}"),
        Choice("tomorrow", "Until tomorrow", right=f"{moments['tomorrow']:%a %H:%M}"),
        Choice("next week", "Until next week", right=f"{moments['next week']:%a %d %b}"),
        Choice("change", "Until something new happens"),
    ]
    if about.away:
        choices.append(Choice("back", "No longer: it needs me now"))

    def chosen(until: Until | None) -> None:
        if until == "back":
            _put_back(app, about)
        elif until is not None:
            _put_off(app, about, moments.get(until))

    title = f"Snooze {plural(len(about.rows), 'row')}" if len(about.rows) > 1 else f"Snooze: {about.rows[0].title}"
    app.push_screen(Picker(title, choices), chosen)


def _put_off(app: Shell, about: Rows, until: datetime | None) -> None:
    rows = about.rows
    about.went()
    what = plural(len(rows), "row") if len(rows) > 1 else "Snoozed"
    said = f"{what}{' snoozed' if len(rows) > 1 else ''} until {moment(until, app.session.state.now())}"
    asleep = _marking(about, rows, "put it off", lambda: about.marks.snooze(*rows, until=until), "It needs you again.")
    app.writes.change_here(asleep, said=said)


def _put_back(app: Shell, about: Rows) -> None:
    keys = tuple(row.key for row in about.rows)
    about.went()
    marks, feed = about.marks, about.feed
    sorted_before = marks.sorted(about.rows)

    async def back() -> None:
        await marks.put_back(*keys)
        feed.look_again()

    async def again() -> None:
        for row, until in sorted_before.asleep:
            await marks.snooze(row, until=until)
        await marks.done(*sorted_before.done)
        feed.look_again()

    said = plural(len(keys), "row") + " need you again" if len(keys) > 1 else "It needs you again"
    app.writes.change_here(LocalChange("put it back", back, again, "It is away again."), said=said)


def _marking(about: Rows, rows: Sequence[Row], doing: str, mark: Callable[[], object], said_back: str) -> LocalChange:
    feed, marks = about.feed, about.marks

    async def do() -> None:
        await mark()  # type: ignore[misc]  # what it returns is awaited
        feed.look_again()

    async def back() -> None:
        await marks.put_back(*(row.key for row in rows))
        if rows:
            about.came_back(rows[0])
        feed.look_again()

    return LocalChange(doing, do, back, said_back)


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
            await about.marks.unread(*about.rows)
        except NotSaved as error:
            app.say(f"Couldn't mark it unread: {error}", tone="failed")
        about.feed.look_again()

    app.background(say())


# What is not sent


def drafts_of(app: Shell, row: Row) -> list[str]:
    """The places of the words that were typed about what a row is about, and not sent."""
    if "left unsent" not in (row.reason, *row.also):
        return []
    if isinstance(row.about, DraftRef):
        return [row.about.place]
    found = []
    for draft in app.session.drafts.all():
        kind, at, thread = place_of_draft(draft.place)
        match row.about:
            case ThreadRef() as ref:
                mine = at == ref.at and thread == ref.comment_id
            case ChangeRequestRef() as ref:
                mine = at == ref and kind in ("review", "subject", "description")
            case _:
                mine = False
        if mine:
            found.append(draft.place)
    return found


def why_not_discarded(app: Shell, about: Rows) -> str | None:
    """Why there is nothing to throw away, in a sentence."""
    for row in about.rows:
        held = isinstance(row.about, ChangeRequestRef) and app.session.outbox.gathered(row.about)
        if isinstance(row.about, WriteRef) or held or drafts_of(app, row):
            return None
    return "There are no words of yours here that are not sent."


def discard(app: Shell, about: Rows) -> None:
    """Ask whether words that are not sent are to be thrown away."""
    from octavo.tui.widgets.confirm import Confirm

    drafts = [place for row in about.rows for place in drafts_of(app, row)]
    entries = [
        entry
        for row in about.rows
        for entry in app.session.outbox.entries
        if row.about == WriteRef(entry.id) or (entry.state == "gathered" and entry.at == row.about)
    ]
    words = [app.session.drafts.get(place) or "" for place in drafts] + [each.words or each.doing for each in entries]
    named = [f"“{_cut(each)}”" for each in words[:_MOST_NAMED]]
    if len(words) > _MOST_NAMED:
        named.append(f"and {len(words) - _MOST_NAMED} more")
    after = "Drafts are gone for good." if drafts else "It is not sent any more. What you wrote stays as a draft."
    if drafts and entries:
        after = "Drafts are gone for good; of what is held or not sent the words stay as drafts."

    async def throw_away() -> None:
        try:
            for place in drafts:
                await app.session.drafts.drop(place)
            for entry in entries:
                await app.session.outbox.discard(entry.id)
        except NotSaved as error:
            app.say(f"Couldn't discard it: {error}", tone="failed")
        if about.feed.answers is not None:
            about.feed.answers.recompute()

    def decided(answer: Confirmed | None) -> None:
        if answer is not None:
            about.went()
            app.background(throw_away())

    title = f"Discard {plural(len(words), 'text')}?" if len(words) > 1 else "Discard this?"
    app.push_screen(Confirm(title, verb="Discard", intro="\n".join(named), after=after), decided)


def _cut(words: str) -> str:
    line = " ".join(words.split())
    return line if len(line) <= 160 else f"{line[:159]}…"


class Reading:
    """Says of the row the cursor rests on that it was read."""

    AFTER = 1.0
    """Seconds."""

    def __init__(self, feed: InboxFeed, app: Shell) -> None:
        self._feed, self._app = feed, app

    def rested(self, row: Row) -> None:
        """The cursor rested on it."""
        if self._feed.rows is not None and row.key in self._feed.rows.unread:
            self._app.background(self._read(row))

    async def _read(self, row: Row) -> None:
        if self._feed.marks is None:
            return
        try:
            await self._feed.marks.read(row)
        except NotSaved:
            return  # it is shown as unread, which it is for the next run
        self._feed.look_again()
