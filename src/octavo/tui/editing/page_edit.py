"""Edits a page in the external editor (`PageEdit.start`), and applies suggested changes (`apply_to_page`)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from octavo.api import change_requests, spaces
from octavo.api.change_requests import ChangeRequest
from octavo.api.comments import Comment, Reply
from octavo.api.content import DocumentBody, InsertPage
from octavo.api.errors import ApiError
from octavo.api.operation import ChangeRequestRef, Discussion, SpaceRef
from octavo.api.text import Raw
from octavo.data.loaders import find_page, page_source_op
from octavo.data.queries import UNDECIDED
from octavo.data.state_db import NotSaved
from octavo.data.writes import text_edits
from octavo.data.writes.content_writes import PageOutcome, edit, page_source, write_page
from octavo.data.writes.direct import SendResult
from octavo.documents import page_trees
from octavo.documents.blocks import Block
from octavo.documents.source_reader import find_markers, parse
from octavo.documents.suggestions import ThreadAnchors, find_suggestions, with_conflict_markers
from octavo.tui.comments.thread_actions import resolution_write
from octavo.tui.core import permissions
from octavo.tui.core.dialog_draft import DialogDraft, save_or_get_error
from octavo.tui.core.shell import Shell, explained, opening
from octavo.tui.core.write_queue import DirectUndo, show_progress
from octavo.tui.editing import target_change_request
from octavo.tui.editing.page_drafts import (
    PageDraft,
    PageDraftKey,
    ToConflicts,
    editor_folder,
    page_drafts,
    recover_drafts,
    restore_line_endings,
    store_conflict_base,
    unused_key,
)
from octavo.tui.editing.target_change_request import TargetChangeRequest
from octavo.tui.terminal.external_editor import FileNote, NotEdited, edit_text
from octavo.tui.widgets.chooser import Choice, Picker
from octavo.tui.widgets.confirm import ConfirmDialog, Confirmed
from octavo.tui.widgets.short_texts import long_age, plural

DRAFT_HINT = "Your text is saved as a draft. Press e on the page to continue."


@dataclass(frozen=True)
class PageEdit:
    """One edit of a page: opens the external editor, then sends the text to a change request."""

    app: Shell
    space: SpaceRef
    page_id: str
    title: str
    change_request: ChangeRequest | None = None
    """Change request in which the page is edited. None to let the user choose one before the editor opens."""
    on_end: Callable[[ChangeRequest | None], None] = lambda _: None
    """Called when the edit ends, with the change request that has the text, or with None if the text was not sent."""
    block: Block | None = None
    """Block of the page at which the editor opens. None for the start of the page."""

    async def start(self) -> None:
        """Open the page in the editor. If the page has unsent drafts, first ask what to do with the drafts."""
        try:
            await recover_drafts(self.app, self.space.space_id, self.page_id)
        except NotSaved as error:
            self.app.say(f"Could not open {self.title}: {error}", tone="failed")
            return
        request_id = self.change_request.id if self.change_request is not None else ""
        drafts = page_drafts(self.app.session.drafts, self.space.space_id, self.page_id, request_id)
        if drafts:
            with opening(self.app, f"Opening {self.title}…", f"Could not open {self.title}"):
                titles = [await self._target_title(draft.key) for draft in drafts]
            self._offer(drafts, titles)
        else:
            await self._start_new_edit()

    async def open_changed(self, change: Callable[[str], str]) -> None:
        """Open the page in the editor, with its text changed by `change`. Do nothing without a change request."""
        if self.change_request is not None:
            await self._open_current(TargetChangeRequest(self.space, change_request=self.change_request), change)

    async def _start_new_edit(self) -> None:
        if self.change_request is not None:
            await self._open_current(TargetChangeRequest(self.space, change_request=self.change_request))
        else:
            await target_change_request.choose_target(self.app, self.space, f"Edit {self.title}", self._open_current)

    def _offer(self, drafts: tuple[PageDraft, ...], titles: list[str]) -> None:
        choices: list[Choice[Callable[[], Coroutine[Any, Any, None]]]] = []
        for draft, name in zip(drafts, titles, strict=True):
            group = f"Unsent draft from {long_age(draft.saved_at)} for {name}"
            conflict_count = len(find_markers(draft.text.text))
            if conflict_count and draft.key.request_id:
                conflicts = f"{plural(conflict_count, 'conflict')} with the change request"
                choices.append(Choice(partial(self._resolve_draft, draft), "Resolve conflicts", conflicts, group=group))
            detail = (
                f"in your editor, with {plural(conflict_count, 'conflict')} marked"
                if conflict_count
                else "in your editor"
            )
            choices += [
                Choice(partial(self._continue, draft), "Continue editing", detail, group=group),
                Choice(
                    partial(self._send_draft, draft),
                    "Save the draft to the server",
                    "without further edits",
                    group=group,
                ),
                Choice(partial(self._discard, draft), "Discard the draft", "you cannot undo this", group=group),
            ]
        note = "the draft will be kept" if len(drafts) == 1 else "the drafts will be kept"
        choices.append(Choice(self._start_new_edit, "Start a new edit", f"from the current page ({note})", group="Or"))

        self.app.ask(Picker(self.title, choices), lambda act: self.app.background(act()))

    async def _target_title(self, key: PageDraftKey) -> str:
        if not key.request_id:
            return TargetChangeRequest(self.space).title
        try:
            change_request = await self.app.session.live.cached_or_fetch(change_requests.Get(at=key.request_ref))
        except ApiError:
            return "a change request"
        return TargetChangeRequest(self.space, change_request=change_request).title

    async def _continue(self, draft: PageDraft) -> None:
        await self._edit(draft.key, await self._load_target(draft.key), draft.text)

    async def _send_draft(self, draft: PageDraft) -> None:
        self._send_or_confirm(draft.key, await self._load_target(draft.key), draft.text)

    async def _discard(self, draft: PageDraft) -> None:
        async def discard() -> None:
            try:
                await DialogDraft(self.app, draft.key.stored_key).save("")
            except NotSaved as error:
                self.app.say(f"Could not discard your draft: {error}", tone="failed")
            self.on_end(None)

        warning = f"Your draft from {long_age(draft.saved_at)} will be lost. You cannot undo this. The page {self.title} itself will not change."
        dialog = ConfirmDialog(f"Discard your draft of {self.title}?", verb="Discard", intro=warning)
        self.app.ask(dialog, lambda _: self.app.background(discard()))

    async def _load_target(self, key: PageDraftKey) -> TargetChangeRequest:
        """Return the change request to which a draft is saved, or a new change request if the draft has none. If the
        change request is merged or archived, tell the user and return a new one. Raises ApiError if loading fails."""
        new_target = target_change_request.new_request_target(self.space, f"Edit {self.title}")
        if not key.request_id:
            return new_target
        with explained("Could not load the change request for this draft"):
            change_request = await self.app.session.live.fetch(change_requests.Get(at=key.request_ref))
        if change_request.status not in UNDECIDED:
            self.app.say(
                f"#{change_request.number} is now {change_request.status}. Your text will be saved to a new change request.",
                tone="care",
            )
            return new_target
        return TargetChangeRequest(self.space, change_request=change_request)

    async def _open_current(
        self, target: TargetChangeRequest, change: Callable[[str], str] = lambda text: text
    ) -> None:
        with opening(self.app, f"Opening {self.title}…", f"Could not open {self.title}"):
            revision_id = await self._current_revision(target)
            target_id = target.change_request.id if target.change_request is not None else ""
            key = unused_key(
                self.app.session.drafts, PageDraftKey(self.space.space_id, self.page_id, revision_id or "", target_id)
            )
            text = await page_source(self.app.session.live, key.base_ref, self.page_id) if revision_id else None
        if text is None:
            target_name = target.title if target.change_request is not None else "main"
            self.app.say(
                f"Could not edit {self.title}: the page is not in {target_name}, or it has no text.", tone="care"
            )
            return
        await self._edit(key, target, Raw(change(text.text)))

    async def _current_revision(self, target: TargetChangeRequest) -> str | None:
        live = self.app.session.live
        if target.ref is not None:
            return (await live.fetch(change_requests.Get(at=target.ref))).revision
        return (await live.fetch(spaces.Get(at=self.space))).revision

    async def _edit(self, key: PageDraftKey, target: TargetChangeRequest, text: Raw) -> None:
        line = await asyncio.to_thread(block_line, text.text, self.block) if self.block is not None else 1
        draft = DialogDraft(self.app, key.stored_key)

        def save_text(new_text: str) -> str:
            new_text = restore_line_endings(text.text, new_text)
            return save_or_get_error(draft.save_now, new_text) if new_text.strip() and new_text != text.text else ""

        name = key.file_name(self.app.session)
        note = FileNote(self.title, key.stored_key, self.app.session.state.namespace)
        result = edit_text(
            self.app, text.text, editor_folder(self.app), name=name, save_text=save_text, note=note, line=line
        )
        if isinstance(result, NotEdited):
            self.app.say(result.message, tone="care", seconds=10.0)
            self.on_end(None)
            return
        edited = Raw(restore_line_endings(text.text, result.text))
        if edited == text:
            self.app.say("You made no changes, so nothing was sent.")
            self.on_end(None)
        elif not edited.text.strip():
            self.app.say(
                f"Nothing was sent, because the text of {self.title} is empty. To delete the page, select the page in the table of contents and press X.",
                tone="care",
            )
            self.on_end(None)
        else:
            self._send_or_confirm(key, target, edited)

    def _send_or_confirm(self, key: PageDraftKey, target: TargetChangeRequest, edited: Raw) -> None:
        conflict_count = len(find_markers(edited.text))
        if not conflict_count:
            self.send(key, target, edited)
            return

        def on_decided(result: Confirmed | None) -> None:
            if result is not None:
                self.send(key, target, edited)
            else:
                self.app.say(DRAFT_HINT)
                self.on_end(None)

        conflicts_text = plural(conflict_count, "conflict")
        warning = (
            f"The text still contains {conflicts_text}, marked with <<<<<<<, =======, and >>>>>>>. "
            "If you send the text, readers will see both versions after the merge."
        )
        self.app.push_screen(
            ConfirmDialog(f"Send {self.title} with conflicts?", verb="Send", intro=warning), on_decided
        )

    def send(self, key: PageDraftKey, target: TargetChangeRequest, edited: Raw) -> None:
        """Send an edited text to a change request in the background. Then show the result and call `on_end`."""
        self.app.background(self._send_and_report(key, target, edited))

    async def _send_and_report(self, key: PageDraftKey, target: TargetChangeRequest, edited: Raw) -> None:
        with show_progress(self.app, f"Saving {self.title} to {target.title}…"):
            written_request = await self._write(key, target, edited)
        self.on_end(written_request)

    async def _write(self, key: PageDraftKey, target: TargetChangeRequest, edited: Raw) -> ChangeRequest | None:
        """Send an edited text and show the result. Return the change request, None if it does not have the text."""
        app, screen = self.app, self.app.screen
        delete_draft = DialogDraft(app, key.stored_key).deletion()
        change_request = await target_change_request.find_or_create(app, target)
        if change_request is None:
            return None
        try:
            if key.request_id != change_request.id:
                key = replace(key, request_id=change_request.id)
                await DialogDraft(app, key.stored_key).save(edited.text)
                delete_draft()
                delete_draft = DialogDraft(app, key.stored_key).deletion()
            outcome = await write_page(
                app.session.live, change_request.ref(self.space), self.page_id, key.base_ref, edited
            )
            if outcome.kind == "conflict" and outcome.text is not None:
                key = await self._save_conflict(key, outcome.text, outcome.revision)
                delete_draft()
        except NotSaved as error:
            app.say(f"Could not send {self.title}: {error}", tone="failed")
            return None
        title = f"#{change_request.number} {change_request.title}"
        new_page_note = ""
        at = change_request.ref(self.space)
        if outcome.kind == "gone" and await find_page(app.session.live, page_source_op(at, self.page_id)) is None:
            page_title = page_trees.leading_heading(edited.text) or self.title
            new_page = InsertPage(title=page_title, document=DocumentBody(markdown=edited.text))
            sent = await edit(app.session.live, at, None, [new_page])
            outcome = PageOutcome("sent" if sent.kind == "done" else "refused", sent.message)
            new_page_note = f"{self.title} was deleted, so your text is now a new page in {title}."
        if outcome.kind in ("sent", "merged", "same"):
            delete_draft()
            target_change_request.record_edit(app, self.space, change_request)
            app.say(new_page_note or await self._success_message(title, key, outcome))
            return change_request
        if outcome.kind == "conflict":
            message = f"Could not send {self.title}: others changed the same text in {title}."
            if app.screen is screen:  # If the user has opened another screen, only a notification appears.
                app.say(f"{message} Resolve the conflicts.", tone="care", seconds=10.0)
                self._resolve_conflicts(key, change_request)
            else:
                app.say(f"{message} Press e on the page to resolve the conflicts.", tone="care", seconds=15.0)
        else:
            app.say(f"{outcome.message} {DRAFT_HINT}", tone="failed", seconds=10.0)
        return None

    async def _save_conflict(self, key: PageDraftKey, text: Raw, revision_id: str) -> PageDraftKey:
        """Save `text`, which has conflict markers, as a new draft based on `revision_id`. Return the key of the new
        draft. `key` is the key of the old draft. Raises NotSaved."""
        # The page may have another draft that is based on `revision_id`.
        new_key = unused_key(self.app.session.drafts, replace(key, revision_id=revision_id))
        await DialogDraft(self.app, new_key.stored_key).save(text.text)
        store_conflict_base(self.app, new_key, key.revision_id)
        return new_key

    def _resolve_conflicts(self, key: PageDraftKey, change_request: ChangeRequest) -> None:
        target = TargetChangeRequest(self.space, change_request=change_request)
        self.app.go(ToConflicts(key, self.title, change_request, partial(self.send, key, target)))

    async def _resolve_draft(self, draft: PageDraft) -> None:
        target = await self._load_target(draft.key)
        if target.change_request is not None:
            self._resolve_conflicts(draft.key, target.change_request)
        else:  # The conflict view needs a change request, and a new one does not exist yet.
            await self._edit(draft.key, target, draft.text)

    async def _success_message(self, title: str, key: PageDraftKey, outcome: PageOutcome) -> str:
        if outcome.kind == "same":
            return f"{title} already has this text."
        note = (
            " The page also includes the changes that others made in the meantime." if outcome.kind == "merged" else ""
        )
        saved_text = None
        if outcome.revision:
            with suppress(ApiError):
                saved_text = await page_source(
                    self.app.session.live, replace(key, revision_id=outcome.revision).base_ref, self.page_id
                )
        if outcome.message:
            note += f" {outcome.message}"
        elif saved_text not in (None, outcome.text):
            note += " The server changed the formatting when it saved the page. Check the diff."
        return f"Saved {self.title} to {title}.{note}"


def block_line(text: str, block: Block) -> int:
    """Return the line of `text`, counted from 1, at which `block`, or else the most similar block, begins. If there is
    no similar block, return the former line of `block`. Slow for a long text."""
    document = parse(text)
    match = document.find(block.key) if block.key else None
    if match is None and (similar_key := ThreadAnchors(document).most_similar_key(block.plain())):
        match = document.find(similar_key)
    line = match.lines[0] if match is not None else block.lines[0]
    return min(line, text.count("\n")) + 1


Sending = Callable[[], Coroutine[Any, Any, SendResult[text_edits.SuggestionOutcome]]]


def why_not_apply(
    app: Shell, at: Discussion | None, thread: Comment, message: Comment | Reply, *, resolve: bool = False
) -> str | None:
    """Return why the suggested change in a comment or reply cannot be applied. None if it can. With `resolve`, the user
    must also be allowed to resolve the thread."""
    texts = find_suggestions(message.body.text)
    if not texts:
        return "This comment has no suggestion."
    if app.workspace.sending_status(message.id) or app.workspace.sending_status(thread.id):
        return "This comment has not been sent yet. You can apply the suggestion after the comment is sent."
    if len(texts) > 1:
        return "This comment has several suggestions for the same block, so Octavo cannot apply them. Press e to edit the page yourself."
    if not text_edits.suggested_texts(thread, message):
        return "This thread is about the page as a whole, so the suggestion has no block to change."
    if not isinstance(at, ChangeRequestRef):
        return (
            "You can apply suggestions only in change requests, and this comment is on main. Press e to edit the page."
        )
    if reason := permissions.why_no_editing(app) or _why_not_in_request(app, at):
        return reason
    return permissions.why_not_in_discussion(app, at, "resolve", thread) if resolve and thread.is_open else None


def _why_not_in_request(app: Shell, at: ChangeRequestRef) -> str | None:
    change_request = app.session.live.peek(change_requests.Get(at=at)).value
    if change_request is None:
        return permissions.why_not_in_space(app, at.space_id, "edit")
    return permissions.why_not_in_change_request(app, change_request, at.space, "edit", *UNDECIDED)


def apply_to_page(
    app: Shell, at: Discussion, thread: Comment, message: Comment | Reply, *, resolve: bool = False
) -> None:
    """Apply the suggested change in `message` to the page of `thread`. Resolve the thread if `resolve`. If the block
    has changed since the suggestion, offer to open the editor. No effect unless `at` is a change request."""
    texts = text_edits.suggested_texts(thread, message)
    if not isinstance(at, ChangeRequestRef) or not texts:
        return
    page = thread.target.page
    title = (page.title if page is not None else None) or "the page"
    resolves = resolve and thread.is_open
    later_writes = [resolution_write(at, thread)] if resolves else []
    screen = app.screen

    async def send() -> SendResult[text_edits.SuggestionOutcome]:
        result = await text_edits.apply_suggestions(app.session.live, at, texts, later_writes)
        if result.kind != "changed" or result.result is None:
            return (
                result
                if result.kind == "done"
                else SendResult(result.kind, f"Could not apply the suggestion: {result.message}")
            )
        match result.result.results[0][1]:
            case "same":
                next_step = " Press d to resolve the thread." if thread.is_open else ""
                return SendResult("refused", f"{title} already has the suggested text.{next_step}")
            case "gone":
                return SendResult(
                    "refused", "Could not apply the suggestion: the page was deleted from this change request."
                )
        if app.screen is screen:  # If the user has opened another screen, only a notification appears.
            _offer_editor(app, at, title, texts[0])
        return SendResult("refused", "Could not apply the suggestion: its block was edited or deleted in the meantime.")

    next_step = "Resolving thread…" if resolves else "Press d to resolve the thread, or D to reply and resolve."
    send_suggestions(
        app,
        at,
        send,
        "apply the suggestion",
        f"Applied the suggestion to {title}. {next_step if thread.is_open else ''}",
    )


def send_suggestions(app: Shell, at: ChangeRequestRef, send: Sending, action: str, message: str) -> None:
    """Apply suggested changes with `send`, then show `message`. Key `u` undoes them. `action` names them in errors."""
    live = app.session.live
    app.writes.send(
        action,
        send(),
        message=message,
        make_undo=lambda outcome: DirectUndo(
            "undo the suggested change",
            lambda: text_edits.revert_suggestions(live, at, outcome),
            "Undid the suggested change.",
        ),
    )


def _offer_editor(app: Shell, at: ChangeRequestRef, title: str, suggested: text_edits.SuggestedText) -> None:
    async def open_editor() -> None:
        with explained(f"Could not open {title}"):
            change_request = await app.session.live.fetch(change_requests.Get(at=at))
        edit = PageEdit(app, at.space, suggested.page_id, title, change_request)
        await edit.open_changed(lambda page: with_conflict_markers(page, suggested.block_key, suggested.text))

    intro = "The block changed after the suggestion was made. Your editor shows both versions between conflict markers."
    dialog = ConfirmDialog(f"Resolve the conflict in {title}?", verb="Open editor", intro=intro)
    app.ask(dialog, lambda _: app.background(open_editor()))
