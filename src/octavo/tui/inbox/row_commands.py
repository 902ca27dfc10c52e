"""Commands for the selected rows of the inbox, such as mark as done, snooze and discard."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from octavo.api.operation import ChangeRequestRef
from octavo.data.drafts import UnsentText, unsent_draft
from octavo.data.inbox import DraftRef, InboxRow, ThreadRef, WriteRef
from octavo.data.inbox_marks import InboxMarks, MarkedRows, end_of_snooze
from octavo.data.state_db import NotSaved
from octavo.local_time import localize
from octavo.tui.comments import thread_commands
from octavo.tui.core.routes import ToActivity, ToChangeRequest, ToPage
from octavo.tui.core.write_queue import LocalChange, discard_consequences, discard_entries
from octavo.tui.widgets.chooser import Choice, Picker
from octavo.tui.widgets.confirm import ConfirmDialog, Confirmed
from octavo.tui.widgets.short_texts import first_few, plural, shorten

if TYPE_CHECKING:
    from octavo.data.writes.machine import OutboxEntry
    from octavo.tui.core.session import InboxFeed
    from octavo.tui.core.shell import Shell

SnoozeEnd = Literal["hour", "tomorrow", "next week", "change", "back"]
_MAX_LISTED_CHANGES = 5
_MAX_CHANGE_LENGTH = 160


@dataclass(frozen=True)
class SelectedRows:
    """The inbox rows that commands act on, and callbacks of their screen."""

    rows: tuple[InboxRow, ...]
    feed: InboxFeed
    are_hidden: bool
    """True if the rows are done or snoozed, so that the inbox hides them."""
    before_removal: Callable[[], None]
    """Called before the rows leave the list."""
    after_undo: Callable[[InboxRow], None]
    """Called with the first row after the user has undone marking the rows as done or snoozing them."""
    keep_unread: Callable[[], None]
    """Called before the rows are marked as unread, so that their preview does not mark them as read again."""

    @property
    def marks(self) -> InboxMarks:
        assert self.feed.marks is not None, "the inbox feed has no marks"
        return self.feed.marks


def mark_done(app: Shell, selected: SelectedRows) -> None:
    """Mark the rows as done until something new happens. If they are done or snoozed, move them back to the inbox."""
    if selected.are_hidden:
        _move_back(app, selected)
        return
    rows = selected.rows
    selected.before_removal()
    label = _items_label(rows)
    change = _mark_change(selected, f"mark {label} as done", lambda: selected.marks.mark_done(*rows))
    app.writes.apply_change(change, message=f"Marked {label} as done until something new happens.")


def snooze(app: Shell, selected: SelectedRows) -> None:
    """Ask how long to snooze the rows, then snooze them. For done or snoozed rows, also offer to move them back."""
    now = localize(app.session.state.now())
    end_times = {each: end_of_snooze(each, now) for each in ("hour", "tomorrow", "next week")}
    choices: list[Choice[SnoozeEnd]] = [
        Choice("hour", "For an hour", right=f"{end_times['hour']:%H:%M}"),
        Choice("tomorrow", "Until tomorrow", right=f"{end_times['tomorrow']:%a %H:%M}"),
    ]
    if end_times["next week"] != end_times["tomorrow"]:  # On a Sunday, both are Monday.
        choices.append(Choice("next week", "Until next week", right=f"{end_times['next week']:%a %d %b %H:%M}"))
    choices.append(Choice("change", "Until something new happens"))
    if selected.are_hidden:
        choices.append(Choice("back", "Move back to the inbox now"))

    def on_chosen(until: SnoozeEnd) -> None:
        if until == "back":
            _move_back(app, selected)
        else:
            _snooze_until(app, selected, end_times.get(until))

    row = selected.rows[0]
    noun = "this thread" if isinstance(row.target, ThreadRef) else row.title
    title = f"Snooze {plural(len(selected.rows), 'item') if len(selected.rows) > 1 else noun}"
    app.ask(Picker(title, choices), on_chosen)  # type: ignore[misc]  # mypy infers no union


def _snooze_until(app: Shell, selected: SelectedRows, until: datetime | None) -> None:
    rows = selected.rows
    selected.before_removal()
    count = f" {plural(len(rows), 'item')}" if len(rows) > 1 else ""
    message = f"Snoozed{count} until {snooze_end_label(until, app.session.state.now())}."
    change = _mark_change(selected, f"snooze {_items_label(rows)}", lambda: selected.marks.snooze(*rows, until=until))
    app.writes.apply_change(change, message=message)


def _move_back(app: Shell, selected: SelectedRows) -> None:
    keys = tuple(row.key for row in selected.rows)
    selected.before_removal()
    marks, feed = selected.marks, selected.feed
    marks_before = marks.group(selected.rows)

    async def restore() -> None:
        await marks.restore(*keys)
        feed.regroup()

    async def remove_again() -> None:
        await _restore_marks(marks, marks_before)
        feed.regroup()

    place = f"{_items_label(selected.rows)} back to the inbox"
    app.writes.apply_change(
        LocalChange(f"move {place}", restore, remove_again, "Removed from the inbox."), message=f"Moved {place}."
    )


def _mark_change(selected: SelectedRows, title: str, mark: Callable[[], Awaitable[object]]) -> LocalChange:
    """Return a change that calls `mark`, which marks the rows. Its undo restores the earlier marks."""
    rows, feed, marks = selected.rows, selected.feed, selected.marks
    marks_before, moved_back = marks.group(rows), f"Moved {_items_label(rows)} back to the inbox."

    async def apply() -> None:
        await mark()
        feed.regroup()

    async def undo() -> None:
        await marks.restore(*(row.key for row in rows))
        await _restore_marks(marks, marks_before)
        selected.after_undo(rows[0])
        feed.regroup()

    return LocalChange(title, apply, undo, "Undid the snooze." if selected.are_hidden else moved_back)


async def _restore_marks(marks: InboxMarks, marks_before: MarkedRows) -> None:
    for row, until in marks_before.snoozed:
        await marks.snooze(row, until=until)
    await marks.mark_done(*marks_before.done)


def _items_label(rows: Sequence[InboxRow]) -> str:
    return plural(len(rows), "item") if len(rows) > 1 else "the item"


def snooze_end_label(until: datetime | None, now: datetime) -> str:
    """Return when a snooze ends: `14:30`, `Tue 08:00`, `30 Nov`, or `something new happens` if `until` is None."""
    if until is None:
        return "something new happens"
    until, now = localize(until), localize(now)
    if until.date() == now.date():
        return f"{until:%H:%M}"
    return f"{until:%a %H:%M}" if (until.date() - now.date()).days < 7 else f"{until:%d %b}"


def mark_unread(app: Shell, selected: SelectedRows) -> None:
    """Mark the rows as unread, and show a message with the result."""

    async def save() -> None:
        try:
            await selected.marks.mark_unread(*selected.rows)
        except NotSaved as error:
            app.say(f"Could not mark {_items_label(selected.rows)} as unread: {error}", tone="failed")
        else:
            app.say(f"Marked {_items_label(selected.rows)} as unread.")
        selected.feed.regroup()

    selected.keep_unread()
    app.background(save())


def unsent_texts(app: Shell, selected: SelectedRows) -> list[UnsentText]:
    """Return the unsent drafts and pending comments of the selected rows."""
    index = app.workspace.unsent.index
    texts: list[UnsentText] = []
    for row in selected.rows:
        match row.target:
            case DraftRef(draft_key=draft_key):
                texts += index.of_draft(draft_key)
            case ThreadRef(at=at, comment_id=comment_id):
                texts += index.of_thread(at, comment_id)
            case ChangeRequestRef() as at:
                texts += index.of_change_request(at)
    return list(dict.fromkeys(texts))


def _outbox_entries(app: Shell, selected: SelectedRows) -> list[OutboxEntry]:
    entry_ids = {row.target.entry_id for row in selected.rows if isinstance(row.target, WriteRef)}
    return [entry for entry in app.session.outbox.entries if entry.id in entry_ids]


def why_not_discard(app: Shell, selected: SelectedRows) -> str | None:
    """Return the reason why the rows have nothing to discard. None if there is a draft, pending comment or change."""
    return None if _outbox_entries(app, selected) or unsent_texts(app, selected) else thread_commands.NO_DRAFTS


def discard(app: Shell, selected: SelectedRows) -> None:
    """Discard the drafts, pending comments and queued changes of the rows. With queued changes, ask for confirmation
    first, because the server may have received them."""
    drafts, entries = unsent_texts(app, selected), _outbox_entries(app, selected)

    def discard_drafts() -> None:
        if drafts:
            thread_commands.discard(app, drafts)

    if not entries:
        selected.before_removal()
        discard_drafts()
        return
    titles = [
        f"“{shorten(' '.join((each.traits.text or each.action).split()), _MAX_CHANGE_LENGTH)}”" for each in entries
    ]
    consequence = discard_consequences(entries)
    if drafts:
        consequence = f"{consequence} {plural(len(drafts), 'unsent draft')} will also be discarded. You can press u afterward to restore discarded drafts."

    def on_decided(answer: Confirmed) -> None:
        selected.before_removal()
        app.background(discard_entries(app, app.session.outbox, entries))
        discard_drafts()

    title = f"Discard {plural(len(entries), 'change')}?" if len(entries) > 1 else "Discard this change?"
    app.ask(
        ConfirmDialog(
            title, verb="Discard", intro="\n".join(first_few(titles, _MAX_LISTED_CHANGES)), after=consequence
        ),
        on_decided,
    )


READ_DELAY = 1.0
"""Seconds from when the preview of a selected row starts to load until the row is marked as read."""


def mark_read(app: Shell, feed: InboxFeed, row: InboxRow) -> None:
    """Mark a row as read. Show no message if this cannot be saved."""

    async def save() -> None:
        if feed.marks is not None:
            with suppress(NotSaved):
                await feed.marks.mark_read(row)
                feed.regroup()

    if feed.rows is not None and row.key in feed.rows.unread:
        app.background(save())


def open_row(app: Shell, feed: InboxFeed, row: InboxRow) -> None:
    """Open what a row is about: a change request, a thread or a draft. For a failed change, open the activity list."""
    match row.target:
        case ChangeRequestRef() as at:
            app.go(ToChangeRequest(at, feed.change_request(row)))
        case ThreadRef() as ref:
            thread_commands.open_on_page(app, ref.at, feed.comment(row))
        case DraftRef(draft_key=draft_key):
            _open_draft(app, draft_key)
        case WriteRef():
            app.go(ToActivity())


def _open_draft(app: Shell, draft_key: str) -> None:
    draft = unsent_draft(draft_key)
    if draft.at is None:
        app.explain("Could not open this draft: its page or thread is unknown. Press X to discard the draft.")
    elif isinstance(draft.at, ChangeRequestRef):
        app.go(ToChangeRequest(draft.at))
    else:
        app.go(ToPage(draft.at.space_id, draft.page_id or None, draft.block_key))
