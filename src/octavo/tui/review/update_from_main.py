"""Updates a change request from main. Contains the dialog, the view of the incoming changes, and the commands that open
the conflicts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from octavo.api import change_requests, content, spaces
from octavo.api.change_requests import ChangeRequest
from octavo.api.content import Change
from octavo.api.errors import ApiError, Forbidden, NotFound
from octavo.api.operation import ChangeRequestRef
from octavo.data.writes.change_request_kinds import MergeState, describe_changes_since
from octavo.data.writes.change_request_writes import create, update
from octavo.documents.page_trees import ChangedPage, changed_pages, changes_between
from octavo.tui.core.list_view import ListView
from octavo.tui.core.routes import ToChangeRequest
from octavo.tui.core.shell import Shell, opening
from octavo.tui.core.write_queue import show_progress
from octavo.tui.editing.target_change_request import remembered_request
from octavo.tui.reader.diff_view import DiffView
from octavo.tui.reader.reading_pane import Reader
from octavo.tui.review import merge_checks
from octavo.tui.review.changed_pages import SIGN_STYLES, ComparedRevisions, DiffCache, conflicting_keys, describe_change
from octavo.tui.review.checked_dialog import CheckedDialog, CheckedWrite, DialogContent
from octavo.tui.review.conflict_choices import RequestConflicts
from octavo.tui.review.conflict_finder import find_conflicts
from octavo.tui.review.conflicts import ConflictsScreen
from octavo.tui.review.diff_layouts import with_page_options
from octavo.tui.review.merge_checks import ALREADY_ON_MAIN, ARCHIVE_HINT
from octavo.tui.review.status_changes import RequestTarget, archive_opener
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.confirm import ConfirmDialog
from octavo.tui.widgets.line_list import LineList
from octavo.tui.widgets.row_list import Row, RowList
from octavo.tui.widgets.short_texts import InfoRow, first_few, plural, safe

if TYPE_CHECKING:
    from octavo.data.live import Live


@dataclass(frozen=True)
class UpdatePreview:
    """Results of the checks before an update from main."""

    merge_state: MergeState
    """Change request and revision of main that were checked."""
    incoming: tuple[content.Change, ...]
    prediction: merge_checks.ConflictPrediction

    @property
    def change_request(self) -> ChangeRequest:
        return self.merge_state.change_request

    @property
    def info_rows(self) -> tuple[InfoRow, ...]:
        info_rows = [
            merge_checks.outdated_row(self.change_request),
            merge_checks.conflict_row(self.change_request, self.prediction),
            *merge_checks.merged_text_rows(self.prediction),
            *merge_checks.same_name_rows(self.change_request, self.prediction.duplicates),
        ]
        if self.incoming:
            info_rows.insert(1, InfoRow("note", "incoming", merge_checks.change_line(self.incoming)))
        return tuple(info_rows)


async def preview_update(live: Live, at: ChangeRequestRef) -> UpdatePreview:
    """Return the results of the checks before an update from main. Raises ApiError."""
    change_request, space = await asyncio.gather(
        live.fetch(change_requests.Get(at=at)), live.fetch(spaces.Get(at=at.space))
    )
    # Load the changes last: a list that is older than the change request's revision could hide a conflict.
    changes = await live.fetch(content.ListChanges(at=at, limit=1000))
    prediction, incoming = await asyncio.gather(
        merge_checks.predict_conflicts(live, at, change_request, changes, main=space.revision),
        _incoming_changes(live, at, change_request, space.revision),
    )
    return UpdatePreview(MergeState(change_request, space.revision), incoming, prediction)


async def _incoming_changes(
    live: Live, at: ChangeRequestRef, change_request: ChangeRequest, main: str | None
) -> tuple[content.Change, ...]:
    if not change_request.outdated or change_request.base is None or main is None:
        return ()
    revisions = [at.revision_ref(each) for each in (change_request.base, main)]
    try:
        old, new = await asyncio.gather(*(live.cached_or_fetch(content.Get(at=each)) for each in revisions))
    except (NotFound, Forbidden):
        return ()
    return await asyncio.to_thread(changes_between, old, new)


OnConflicts = Callable[[], bool]
"""Opens the view of an update's conflicts and returns True. Returns False if the user has left the change request."""


def make_update_dialog(
    app: Shell, at: ChangeRequestRef, change_request: ChangeRequest, on_conflicts: OnConflicts
) -> CheckedDialog[UpdatePreview]:
    """Return the dialog that shows incoming changes and possible conflicts. Its button updates the change request."""

    def reopen() -> None:
        app.push_screen(make_update_dialog(app, at, change_request, on_conflicts))

    return CheckedDialog(
        app,
        CheckedWrite(
            title=f"Update #{change_request.number} from main?",
            verb="Update",
            intro=change_request.title,
            checks_label="checks",
            blocked_while_loading="The checks are still loading.",
            blocked_on_error="Could not load the checks, so you cannot update yet. Press r to retry.",
            load=lambda: preview_update(app.session.live, at),
            make_content=lambda preview: _dialog_content(app, at, preview, reopen),
            send=lambda preview: send_update(app, at, preview, on_conflicts),
            next_step="Review the checks again before you update.",
            describe_changes=lambda before, after: describe_changes_since(
                app.session.live.cached_or_fetch, at, before.merge_state.expected, after.merge_state
            ),
        ),
    )


def _dialog_content(
    app: Shell, at: ChangeRequestRef, preview: UpdatePreview, reopen: Callable[[], None]
) -> DialogContent:
    text_below, archive = "", None
    if preview.prediction.is_on_main:
        archive = archive_opener(app, at, preview.change_request)
        text_below = ALREADY_ON_MAIN if archive is None else f"{ALREADY_ON_MAIN} {ARCHIVE_HINT}"
    elif preview.prediction.names_with_markers or not preview.prediction.is_known:
        text_below = (
            "If there are conflicts, the text will contain both versions, marked with conflict markers. "
            "You can resolve the conflicts after the update."
        )
    elif preview.prediction.conflicts:
        text_below = "You can resolve the conflicts after the update."
    blocked_reason = "" if preview.change_request.outdated else "This change request is up to date with main."
    return DialogContent(
        preview.info_rows,
        text_below=text_below,
        blocked=blocked_reason,
        show_diff=partial(_show_diff, app, at, preview, reopen) if preview.incoming else None,
        archive=archive,
    )


def _show_diff(app: Shell, at: ChangeRequestRef, preview: UpdatePreview, reopen: Callable[[], None]) -> None:
    base, main = preview.change_request.base, preview.merge_state.main_revision
    if base is None or main is None:
        return
    old_ref, new_ref = (at.revision_ref(each) for each in (base, main))
    keys = conflicting_keys(preview.prediction.conflicts)
    compared = ComparedRevisions(old_ref, new_ref)
    app.push_screen(IncomingChangesScreen(preview.change_request, preview.incoming, compared, keys, reopen))


async def send_update(app: Shell, at: ChangeRequestRef, preview: UpdatePreview, on_conflicts: OnConflicts) -> str:
    """Update the change request, and store its old revisions in `state.db`. Show the result, or let `on_conflicts` show
    conflicts. If data changed since the preview, update nothing and return a sentence about it. Empty otherwise."""
    change_request = preview.change_request
    # Stored before the update, which replaces the base.
    stored_update = {
        "base": change_request.base,
        "main": preview.merge_state.main_revision,
        "mine": change_request.revision,
    }
    state, state_key = app.session.state, f"update {change_request.id}"
    earlier_update = state.get_value(state_key)
    state.set_value(state_key, stored_update)
    name = f"#{change_request.number}"
    with show_progress(app, f"Updating {name}…") as show:
        searching_text = f"The result of the update is unknown. Checking whether {name} is updated…"
        sent = await update(app.session.live, at, preview.merge_state, partial(show, searching_text))
    if sent.kind in ("changed", "refused"):
        state.set_value(state_key, earlier_update)
    if sent.kind == "changed":
        return sent.message
    if sent.kind != "done" or sent.result is None:
        app.say(sent.message, tone="failed")
        return ""
    app.writes.forbid_undo(f"You cannot undo the update of {name} by pressing u.")
    result = sent.result.result
    if result == "conflicts" or (not result and preview.prediction.conflicts):
        revision = sent.result.revision if result else None
        state.set_value(state_key, {**stored_update, "conflicts": revision})
        if not on_conflicts():
            app.say(
                f"Updated {name} with conflicts. Press R on this change request to resolve the conflicts.", tone="care"
            )
    elif result and (count := len(preview.prediction.word_merges)):
        paragraphs_text = "1 paragraph was" if count == 1 else f"{count} paragraphs were"
        app.say(f"Updated {name}. {paragraphs_text} merged word by word. Press R to check the text.", tone="care")
    elif result and preview.prediction.is_on_main:
        app.say(f"Updated {name}. {ALREADY_ON_MAIN} {ARCHIVE_HINT}")
    elif result:
        app.say(sent.message or f"Updated {name}.")
    else:
        # The conflicts were listed only in the response, which was lost.
        app.say(
            f"Updated {name}. The server's response was lost, so Octavo does not know whether the update caused conflicts. "
            "Press R on this change request to check.",
            tone="care",
        )
    return ""


def open_update_dialog(app: Shell, target: RequestTarget) -> None:
    if not target.change_request.outdated:
        app.say(f"{target.name} is up to date with main.")
        return

    def on_conflicts() -> bool:
        is_view_open = app.screen is target.view
        if is_view_open:
            _open_conflicts_view(app, target, target.change_request)
        return is_view_open

    app.push_screen(make_update_dialog(app, target.at, target.change_request, on_conflicts))


def open_conflicts(app: Shell, target: RequestTarget) -> None:
    """Open the conflicts of a change request. After its merge, open the change request that resolves them in main."""
    if target.change_request.status != "merged":
        _open_conflicts_view(app, target, target.change_request)
    else:
        app.background(_resolve_merged(app, target))


def _open_conflicts_view(
    app: Shell, target: RequestTarget, change_request: ChangeRequest, merged_request: ChangeRequest | None = None
) -> None:
    """Open the view in which `change_request` resolves conflicts. `merged_request` is the change request whose merge
    left the conflicts. None if they come from an update."""

    def on_written(change_request: ChangeRequest, pages: tuple[str, ...]) -> None:
        if merged_request is None and target.show_edited is not None and app.screen is target.view:
            target.show_edited(pages)
        else:
            app.go(ToChangeRequest(change_request.ref(target.at.space), change_request))

    space = target.at.space
    request_conflicts = RequestConflicts(
        app, change_request, space, merged_request=merged_request, on_written=on_written
    )
    app.push_screen(ConflictsScreen(request_conflicts))


async def _resolve_merged(app: Shell, target: RequestTarget) -> None:
    """Open the change request that resolves a merge's conflicts. If it does not exist yet and conflicts are left, offer
    to create it."""
    merged_request, space, live = target.change_request, target.at.space, app.session.live
    if merged_request.revision_merged is None:
        app.say(f"The server did not return the revision created by merging {target.name}.", tone="care")
        return
    revision = space.revision_ref(merged_request.revision_merged)
    with opening(app, "Loading the conflicts…", f"Could not check {target.name} for conflicts"):
        request = await remembered_request(app, space, f"resolved in {merged_request.id}")
        if request is None:
            changes = await live.cached_or_fetch(content.ListChanges(at=revision, limit=1000))
            conflicts = await find_conflicts(live, space, None, changes, None)
    if request is not None:
        _open_conflicts_view(app, target, request, merged_request)
        return
    if not conflicts.pages:
        left = plural(conflicts.unchecked_count, "changed page was", "changed pages were")
        app.say(
            f"{left} not checked for conflicts."
            if conflicts.unchecked_count
            else f"The merge of {target.name} left no conflicts in main."
        )
        return
    subject = f"Resolve the conflicts left by {target.name}"
    titles_text = ", ".join(first_few([page.title for page in conflicts.pages], 3))
    intro = f"Readers see both versions of each conflict on {titles_text}. Octavo will create a change request in which you can resolve the conflicts."
    dialog = ConfirmDialog(f"{subject}?", verb="Create", intro=intro)
    app.ask(dialog, lambda _: app.background(_create_and_open(app, target, subject)))


async def _create_and_open(app: Shell, target: RequestTarget, subject: str) -> None:
    sent = await create(app.session.live, target.at.space, subject)
    if sent.kind != "done" or sent.result is None:
        app.say(sent.message, tone="failed")
        return
    state = app.session.state
    state.set_value(f"resolved in {target.change_request.id}", sent.result.id)
    state.set_value(f"resolves {sent.result.id}", target.change_request.id)
    app.say(f"Created #{sent.result.number} {sent.result.title}")
    if app.screen is target.view:
        _open_conflicts_view(app, target, sent.result, target.change_request)


INCOMING_COMMANDS: Commands[IncomingChangesScreen] = Commands(
    "incoming",
    (
        Command("next_page", "J", "Next page", "Go to the next changed page", run=lambda _, view: view.rows.move(1)),
        Command("previous_page", "K", "Previous page", "Go to the previous changed page", run=lambda _, view: view.rows.move(-1), shown=False),
        Command("close", "escape,d", "Back", "Go back to the update", run=lambda _, view: view.close()),
    ),
)  # fmt: skip


class IncomingChangesScreen(ListView[ChangedPage]):
    """View of the incoming changes: the pages that changed in main, and the diff of the selected page."""

    MODE = "changes"
    HELP_NAME = "incoming changes"
    HELP = (
        "This view shows the changes made to main since this change request was created or last updated from main. "
        "Press J or K to go to the next or previous page. Press esc to go back to the update."
    )
    CSS_PATH = "incoming_changes.tcss"
    KEYBAR: ClassVar[tuple[str, ...]] = ("incoming.next_page", "incoming.close")
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (INCOMING_COMMANDS,)

    def __init__(
        self,
        change_request: ChangeRequest,
        changes: Sequence[Change],
        revisions: ComparedRevisions,
        conflicting: Collection[str],
        on_close: Callable[[], None],
    ) -> None:
        """`conflicting` has the keys of pages that may conflict. `on_close` is called when the user goes back."""
        super().__init__()
        self._on_close = on_close
        self._change_request, self._revisions, self._conflicting = change_request, revisions, conflicting
        self._pages = changed_pages(changes)

    def body(self) -> Iterable[Widget]:
        rows: RowList[ChangedPage] = RowList(
            self._row, key=lambda page: page.key, search=lambda page: page.title, empty="No changes.", id="incoming"
        )
        yield Static(self._head(), id="head")
        self.view = DiffView(ascii=self.shell.settings.ascii, id="diff")
        yield from self.list_with_preview(rows, self.view)

    @property
    def main_pane(self) -> Widget:
        return self.view

    def on_mount(self) -> None:
        self._diffs = DiffCache(self.live, lambda *_: None)
        self._diffs.set_revisions(self._revisions)
        self.view.block_commands.why_no_comment_here = lambda: (
            "You cannot comment on incoming changes. To comment on the page, open the page in main."
        )
        self.rows.show(self._pages)
        self.rows.focus()
        self._show()

    def on_unmount(self) -> None:
        self._diffs.stop()

    def refresh_data(self) -> None:
        super().refresh_data()
        self._show()

    def close(self) -> None:
        """Close this view, and call `on_close`, which opens the update dialog again."""
        self.app.pop_screen()
        self._on_close()

    def _head(self) -> Content:
        summary = plural(len(self._pages), "change")
        return Content.assemble(
            " INCOMING ",
            (f" {summary} to main since #{self._change_request.number} was created or last updated from main", "bold"),
        )

    def _row(self, page: ChangedPage) -> Row:
        text = Content.assemble((page.sign or " ", SIGN_STYLES.get(page.sign, "")), " ", safe(page.title or "Untitled"))
        conflict_mark = Content.styled("conflicts", "$warning") if page.key in self._conflicting else Content()
        return Row(text=text, right=conflict_mark)

    @on(LineList.Highlighted, "#incoming")
    def _show(self) -> None:
        page = self.rows.item
        notes = []
        if page is not None:
            notes.append(describe_change(page).partition("\n")[0])
            if page.key in self._conflicting:
                notes.append(f"Conflicts with #{self._change_request.number}.")
        self.show_location(
            f"Changes › #{self._change_request.number} {self._change_request.title} › Incoming changes", " ".join(notes)
        )
        if page is not None and page.is_document:
            self.view.state.show_loading(page.title)
            self.run_worker(self._compare(page), exclusive=True, group="diff")
        elif page is not None:
            self.view.state.fail(f"{page.title} has no text to compare", describe_change(page))

    @on(LineList.Opened, "#incoming")
    def _on_page_opened(self) -> None:
        self.view.focus()

    @on(Reader.NextPageRequested)
    def _on_next_page_requested(self) -> None:
        self.rows.move(1)

    async def _compare(self, page: ChangedPage) -> None:
        try:
            compared = await self._diffs.load_diff(page)
        except ApiError as error:
            if self.rows.item is page:
                self.view.state.fail(f"Could not load the diff of {page.title}", str(error))
            return
        if self.rows.item is page:
            self.view.show(with_page_options(page, compared), title=page.title, key=page.key)
