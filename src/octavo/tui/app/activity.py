"""The activity list, which the key `!` opens: unsent changes, drafts left in an editor, offline spaces, recent API
requests, and errors in the settings. Start at `ActivityScreen`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, TypeAlias

from textual import on
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

from octavo.api import comments
from octavo.api.activity import Activity
from octavo.data.offline_spaces import OfflineSpace
from octavo.data.state_db import NotSaved
from octavo.data.writes.machine import OutboxEntry, blocked_by
from octavo.tui.app.quitting import UnsentFile, confirm_and_delete, open_in_editor, unsent_files
from octavo.tui.comments.thread_actions import short_quote
from octavo.tui.content import offline_copies
from octavo.tui.core.item_labels import format_size, offline_mark, offline_summary
from octavo.tui.core.shell import Shell, shell_of
from octavo.tui.core.workspace import MAY_BE_SENT
from octavo.tui.core.write_queue import discard_consequences, discard_entries
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.confirm import ConfirmDialog, Confirmed
from octavo.tui.widgets.dialog import Dialog, DialogFrame, dialog_styles
from octavo.tui.widgets.line_list import LineList
from octavo.tui.widgets.row_list import Column, Row, RowHeading, RowList
from octavo.tui.widgets.short_texts import as_clause, first_few, plural, short_age

ActivityItem: TypeAlias = OutboxEntry | UnsentFile | OfflineSpace | Activity | str
"""Item of a row in the activity list. A `str` is an error message about an invalid setting."""


class ActivityRow(NamedTuple):
    """A row of the activity list, identified by `key`."""

    key: str
    item: ActivityItem


STATES = {
    "pending": "pending comment",
    "held": "sending soon",
    "queued": "queued",
    "sending": "sending",
    "unknown": "checking",
    "failed": "failed",
}
_HEADINGS: dict[type, str] = {
    str: "INVALID SETTINGS",
    UnsentFile: "DRAFTS FROM YOUR EDITOR",
    OfflineSpace: "AVAILABLE OFFLINE",
    Activity: "API REQUESTS",
}
_WRITE_HEADINGS = ("WAITING FOR YOUR DECISION", "FAILED", "IN PROGRESS")
_MAX_NAMED_CHANGES = 5


def _why_not_sent(app: Shell, view: ActivityScreen) -> str | None:
    if reasons := list(filter(None, map(app.session.outbox.other_account_reason, view.selected))):
        return f"{reasons[0]} Press X to discard the change and keep its text as a draft."
    if any(each.state == "pending" for each in view.selected):
        return "This comment is pending. Submit your review to send it."
    if view.offline_space is not None and not view.selected:
        return "Offline spaces are updated automatically. Press X to remove this offline copy."
    if view.unsent_file is not None and not view.selected:
        return "This draft was not sent. Press enter to open the draft in your editor, then send it."
    return _why_not_changed(app, view)


def _why_not_discard(app: Shell, view: ActivityScreen) -> str | None:
    return None if (view.unsent_file or view.offline_space) and not view.selected else _why_not_changed(app, view)


def _why_not_changed(app: Shell, view: ActivityScreen) -> str | None:
    entries = view.selected
    if not entries:
        return "You can retry or discard only unsent changes."
    if all(each.state == "sending" for each in entries):
        return "This change is being sent. Wait a moment."
    return None


ACTIVITY: Commands[ActivityScreen] = Commands(
    "activity",
    (
        Command("undo", "u", "Undo", "Undo your last change", run=lambda app, _: app.undo(),
                applies=lambda app, _: any(each.state == "held" for each in app.session.outbox.own_entries)),
        Command("retry", "r", "Retry", "Retry the selected changes", writes=True, run=lambda _, view: view.retry(), why_not=_why_not_sent,
                applies=lambda _, view: any(each.state not in ("pending", "held", "sending") for each in view.selected)),
        Command("discard", "X", "Discard", "Discard the selected changes, but keep their text as drafts",
                run=lambda _, view: view.discard(), why_not=_why_not_discard,
                applies=lambda _, view: bool(view.selected or view.unsent_file or view.offline_space)),
        Command("close", "escape,q,exclamation_mark", "Close", "Close the activity list", run=lambda _, view: view.dismiss(None)),
    ),
)  # fmt: skip


def _status_cell(item: ActivityItem) -> Content:
    match item:
        case OutboxEntry():
            style = "$error" if item.needs_user else "$warning" if item.state != "failed" else "$octavo-muted"
            state = MAY_BE_SENT if item.needs_user and item.state == "unknown" else STATES.get(item.state, item.state)
            return Content.styled(state, style)
        case str():
            return Content.styled("ignored", "$warning")
        case UnsentFile():
            return Content.styled("not sent", "$warning")
        case OfflineSpace():
            style = "$warning" if item.failed or item.state in ("waiting", "lost") else "$octavo-muted"
            return Content.styled(offline_mark(item), style)
    return Content(f"{item.method} {item.attempts}x" if item.attempts > 1 else item.method)


class ActivityScreen(Dialog[None]):
    """The dialog with the activity list, which opens with `!`."""

    shell = cached_property(shell_of)

    CSS_PATH = dialog_styles(__file__, "activity.tcss")
    HELP_NAME: ClassVar[str] = "activity"
    HELP: ClassVar[str] = (
        "This list shows unsent changes, drafts from your editor, offline spaces, and recent API requests. "
        "Press r to retry a change, X to discard a change and keep its text as a draft, x to select a change, or enter to open a draft in your editor. "
        "If a change might already have been sent, check on the server whether the change was made before you retry it. "
        "Press esc to close the list."
    )
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (ACTIVITY,)

    _unsent_files: tuple[UnsentFile, ...] = ()
    """Drafts that an external editor left in files, as found when the dialog was last shown."""

    def body(self) -> ComposeResult:
        self.rows: RowList[ActivityRow] = RowList(
            self._draw,
            key=lambda line: line.key,
            groups=lambda line: [RowHeading(_heading(line.item))],
            selectable=lambda line: (
                isinstance(line.item, OutboxEntry) and (line.item.needs_user or line.item.state == "failed")
            ),
            empty="No activity yet.",
            id="lines",
        )
        with DialogFrame() as frame:
            frame.set_border_texts("Activity")
            yield self.rows
            yield Static("", id="why")

    def on_mount(self) -> None:
        self.shell.workspace.frame_changed.subscribe(self, lambda _: self._show())
        self._load_files()
        self.focus_at_once(self.rows)

    def on_screen_resume(self) -> None:
        self._load_files()

    def _load_files(self) -> None:
        if self.shell.has_session:
            self._unsent_files = unsent_files(self.shell)
            self._show()

    def _show(self) -> None:
        if not self.shell.has_session:
            return  # The session ended in the meantime.
        session = self.shell.session
        entries = sorted(session.outbox.entries, key=lambda entry: _WRITE_HEADINGS.index(_heading(entry)))
        rows = [ActivityRow(entry.id, entry) for entry in entries]
        rows += [ActivityRow(f"setting {number}", error) for number, error in enumerate(self.shell.settings_errors)]
        rows += [ActivityRow(file.path.name, file) for file in self._unsent_files]
        rows += [ActivityRow(f"kept {space.id}", space) for space in session.offline.all]
        count_by_time: Counter[datetime] = Counter()
        requests: list[ActivityRow] = []
        for request in reversed(tuple(session.latest_requests())):
            count_by_time[request.moment] += 1
            requests.append(ActivityRow(f"{request.moment.timestamp()} {count_by_time[request.moment]}", request))
        rows += reversed(requests)
        columns = (
            Column("", max((_status_cell(item).cell_length for _, item in rows), default=0)),
            Column("", min_width=30),
            Column("", 11, align_right=True),
            Column("", 6, align_right=True, drop_priority=1),
        )
        if columns != self.rows.columns:
            self.rows.columns = columns
        self.rows.show(rows)
        self._show_details()

    def _draw(self, row: ActivityRow) -> Row:
        item = row.item
        if isinstance(item, OutboxEntry):
            return Row(
                cells=(
                    _status_cell(item),
                    Content.assemble(item.action, (f"  {self._context_of(item)}", "$octavo-muted")),
                    "",
                    short_age(item.created_at),
                )
            )
        if isinstance(item, str):
            return Row(cells=(_status_cell(item), item, "", ""))
        if isinstance(item, UnsentFile):
            return Row(cells=(_status_cell(item), item.note.title, "", short_age(item.saved_at)))
        if isinstance(item, OfflineSpace):
            detail = (f"  {offline_summary(item)}", "$octavo-muted")
            return Row(
                cells=(
                    _status_cell(item),
                    Content.assemble(item.title, detail),
                    format_size(item.bytes),
                    short_age(item.read_at),
                )
            )
        status = str(item.status) if item.status else "canceled" if item.given_up else "no response"
        style = "$octavo-muted" if item.given_up else "$error" if item.error else "$success"
        return Row(
            cells=(
                _status_cell(item),
                re.sub(r"\{\w+\}", "…", item.route),  # Narrow terminals would cut the end, in which the routes differ.
                Content.styled(status, style),
                f"{item.ms:.0f}ms" if item.ms < 1000 else f"{item.ms / 1000:.1f}s",
            )
        )

    def _context_of(self, entry: OutboxEntry) -> str:
        """Return what an unsent change is about, such as `“Is it true?” on Install in Handbook`."""
        space = self.shell.workspace.space(entry.at.space_id)
        starts_thread = isinstance(entry.op, comments.Create) and entry.context
        subject = f"{short_quote(entry.traits.text)} on {entry.context}" if starts_thread else entry.context
        return " ".join(filter(None, (subject, f"in {space.title}" if space is not None else "")))

    def _why_waiting(self, entry: OutboxEntry) -> str:
        outbox = self.shell.session.outbox
        blocker = blocked_by(entry, outbox.own_entries) if entry.state == "queued" else None
        if blocker is None:
            return outbox.connection.pause_reason if entry.state == "queued" else ""
        description = f"{blocker.action} · {context}" if (context := self._context_of(blocker)) else blocker.action
        return f"Waiting for another change to be sent first: {description}."

    @property
    def _current_item(self) -> ActivityItem | None:
        return self.rows.item.item if self.rows.item is not None else None

    @property
    def selected(self) -> list[OutboxEntry]:
        """The selected unsent changes, else the unsent change with the cursor. Empty if the cursor is elsewhere."""
        selected_entries = [row.item for row in self.rows.selection.items if isinstance(row.item, OutboxEntry)]
        item = self._current_item
        return selected_entries or ([item] if isinstance(item, OutboxEntry) else [])

    @property
    def unsent_file(self) -> UnsentFile | None:
        """The editor draft in the selected row. None if the row has another item."""
        item = self._current_item
        return item if isinstance(item, UnsentFile) else None

    @property
    def offline_space(self) -> OfflineSpace | None:
        """The offline space in the selected row. None if the row has another item."""
        item = self._current_item
        return item if isinstance(item, OfflineSpace) else None

    @on(LineList.Opened)
    def _on_row_opened(self) -> None:
        if (file := self.unsent_file) is not None:
            self.dismiss(None)
            self.app.call_later(open_in_editor, self.shell, file)
        elif self.rows.item is not None:
            self.shell.explain("You can open only drafts from your editor here.")

    @property
    def hidden_keys(self) -> frozenset[str]:
        return super().hidden_keys | (frozenset() if self.unsent_file is not None else frozenset({"enter"}))

    @on(RowList.SelectionChanged)
    @on(LineList.Highlighted)
    def _show_details(self) -> None:
        text = ""
        match self._current_item:
            case OutboxEntry() as item:
                context, outbox = self._context_of(item), self.shell.session.outbox
                delay_reason = outbox.other_account_reason(item) or item.reason or self._why_waiting(item)
                text = " ".join(filter(None, (delay_reason, f"{context[:1].upper()}{context[1:]}." if context else "")))
            case UnsentFile() as item:
                text = item.sentence
            case str() as text:
                pass
            case OfflineSpace() as item:
                failures_text = "; ".join(
                    f"{each.label}: {as_clause(each.reason)}" for each in item.failed[:_MAX_NAMED_CHANGES]
                )
                text = f"{item.title}: {offline_summary(item)}." + (f" {failures_text}." if failures_text else "")
            case Activity() as item:
                text = ": ".join(filter(None, (f"{item.method} {item.route}", item.error)))
        if self.rows.selection.keys:
            selected_count = len(self.rows.selection.keys)
            pronoun, draft_noun = ("it", "a draft") if selected_count == 1 else ("them", "drafts")
            text = f"{plural(selected_count, 'change')} selected. Press r to retry {pronoun}, or X to discard {pronoun} and keep the text as {draft_noun}."
        self.query_one("#why", Static).update(Content(text))
        self.refresh_bindings()

    def retry(self) -> None:
        """Send the selected changes again. Stop and show an error if the disk cannot be written."""
        app, entries = self.shell, self.selected
        self.rows.selection.clear()

        async def retry_all() -> None:
            for entry in entries:
                try:
                    await app.session.outbox.retry(entry.id)
                except NotSaved as error:
                    app.say(f"Could not send “{entry.action}” again: {error}", tone="failed")
                    return

        app.background(retry_all())

    def discard(self) -> None:
        """After a confirmation, discard the selected changes, else the editor draft or offline copy with the cursor."""
        if entries := self.selected:
            self._ask_to_discard(entries)
        elif (file := self.unsent_file) is not None:
            confirm_and_delete(self.shell, file)
        elif (space := self.offline_space) is not None:
            offline_copies.confirm_remove(self.shell, space)

    def _ask_to_discard(self, entries: Sequence[OutboxEntry]) -> None:
        def discard(answer: Confirmed) -> None:
            self.rows.selection.clear()
            self.shell.background(discard_entries(self.shell, self.shell.session.outbox, entries))

        lines = [f"{each.action}  {self._context_of(each)}".rstrip() for each in entries]
        title = f"Discard {len(entries)} changes?" if len(entries) > 1 else "Discard this change?"
        after = discard_consequences(entries)
        self.shell.ask(
            ConfirmDialog(title, verb="Discard", intro="\n".join(first_few(lines, _MAX_NAMED_CHANGES)), after=after),
            discard,
        )


def _heading(item: ActivityItem) -> str:
    if not isinstance(item, OutboxEntry):
        return _HEADINGS[type(item)]
    needs_decision, failed, in_progress = _WRITE_HEADINGS
    return needs_decision if item.needs_user else failed if item.state == "failed" else in_progress
