"""Quitting with `q`, and the questions about unsent changes and unsaved drafts: start at `quit_or_up`. Also the drafts
that external editors left in files: start at `unsent_files`."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from octavo.api.operation import SpaceRef
from octavo.data.drafts import Draft, draft_name
from octavo.data.state_db import NotSaved
from octavo.tui.core.dialog_draft import DialogDraft, save_or_get_error
from octavo.tui.core.external_links import copy_text, is_too_long_to_copy
from octavo.tui.core.file_dialogs import Export, ask_for_path
from octavo.tui.core.routes import ToChangeRequest
from octavo.tui.core.view import View
from octavo.tui.editing.page_drafts import editor_folder, is_other_process, parse_draft_key, unused_key
from octavo.tui.editing.page_edit import PageEdit
from octavo.tui.terminal.external_editor import (
    Edited,
    FileNote,
    NotEdited,
    delete_file,
    read_back,
    read_note,
    reopen_file,
    write_file,
)
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.confirm import ConfirmDialog, Confirmed
from octavo.tui.widgets.short_texts import InfoRow, first_few, plural

if TYPE_CHECKING:
    from octavo.api.change_requests import ChangeRequest
    from octavo.tui.core.session import Session
    from octavo.tui.core.shell import Shell

_MAX_NAMED = 5
PRESS_AGAIN = "Press q again to quit."


def quit_or_up(app: Shell) -> None:
    """Go up one level. At the top level, ask the user to press q again, then quit. Without a view, quit at once."""
    screen = app.screen
    is_second_press = app.notices.close_text(PRESS_AGAIN)
    if app.history.go_up():
        return
    focused_id = screen.focused.id if screen.focused is not None else None
    if isinstance(screen, View) and focused_id not in screen.QUIT_LISTS and screen.go_up():
        return
    if len(app.screen_stack) > 1:
        app.pop_screen()
    elif is_second_press or not isinstance(screen, View):
        _quit(app)
    else:
        app.say(PRESS_AGAIN, tone="care")


def _quit(app: Shell) -> None:
    entries = app.session.outbox.own_entries if app.has_session else ()
    if not entries:
        app.background(app.action_quit())
        return

    action_counts = Counter(entry.action for entry in entries)
    action_phrases = [each if count == 1 else f"{each} ({count} times)" for each, count in action_counts.most_common()]
    intro = " · ".join(first_few(action_phrases, _MAX_NAMED))
    pending_count = sum(entry.state == "pending" for entry in entries)
    after = (
        "Octavo will try to send these changes now. Any changes that cannot be sent now will be sent the next time you "
        "start Octavo."
    )
    if pending_count == len(entries):
        after = (
            "Your pending comments will stay in your review. To submit the review, start Octavo again, open the change "
            "request, and press a to approve or A to request changes."
        )
    elif pending_count:
        after += f" {plural(pending_count, 'pending comment')} will stay in your review."
    title = f"Quit with {plural(len(entries), 'unsent change')}?"
    app.ask(ConfirmDialog(title, verb="Quit", intro=intro, after=after), lambda _: app.background(app.action_quit()))


def ask_about_unsaved_drafts(app: Shell, on_answer: Callable[[Confirmed | None], None]) -> None:
    """Ask whether to quit without the drafts that could not be saved. Do nothing if this dialog is already open."""
    if not any(isinstance(each, UnsavedDrafts) for each in app.screen_stack):
        app.push_screen(UnsavedDrafts(app), on_answer)


UNSAVED: Commands[UnsavedDrafts] = Commands(
    "unsaved",
    (
        Command("copy", "c", "Copy", "Copy the drafts to the clipboard", run=lambda _, dialog: dialog.copy()),
        Command(
            "write", "w", "Write to a file", "Write the drafts to a file", run=lambda _, dialog: dialog.write_to_file()
        ),
    ),
)


class UnsavedDrafts(ConfirmDialog):
    """A dialog that lists the unsaved drafts and asks whether to quit. Octavo keeps trying to save them."""

    HELP_NAME: ClassVar[str] = "unsaved drafts"
    HELP: ClassVar[str] = (
        "This dialog lists drafts that Octavo could not save in its data folder. Press c to copy the drafts, "
        "w to write them to a file that you choose, or y to discard them and quit. Press esc to go back."
    )
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (UNSAVED,)

    def __init__(self, shell: Shell) -> None:
        self._shell = shell
        self._unobserve = shell.session.drafts.changed.add(self._update)
        self._drafts: tuple[Draft, ...] = shell.session.drafts.unsaved()
        super().__init__(
            "Quit and discard unsaved drafts?",
            verb="Quit and discard drafts",
            intro=self._problem_text,
            info_rows=self._draft_rows,
            foot="c copy · w write to a file",
        )

    @property
    def _problem_text(self) -> str:
        return f"Not saved yet: {self._shell.session.drafts.unsaved_reason}. Octavo will keep trying."

    @property
    def _draft_rows(self) -> tuple[InfoRow, ...]:
        return tuple(
            InfoRow("bad", _kind(each), f"{plural(len(each.text), 'character')}: {' '.join(each.text.split())[:60]}")
            for each in self._drafts
        )

    def on_unmount(self) -> None:
        self._unobserve()

    def _update(self) -> None:
        self._drafts = self._shell.session.drafts.unsaved()
        if self._drafts:
            self.update(intro=self._problem_text, info_rows=self._draft_rows)
        else:
            self.update(intro="All drafts are saved now.", info_rows=(), verb="Quit", foot="")

    def copy(self) -> None:
        """Copy all drafts to the clipboard."""
        copy_text(self._shell, self._joined_texts, f"Copied {plural(len(self._drafts), 'draft')}.")

    def write_to_file(self) -> None:
        """Write all drafts to a file that the user chooses."""
        content = self._joined_texts.encode("utf-8", "surrogatepass")

        async def chunks() -> AsyncIterator[bytes]:
            yield content

        ask_for_path(self._shell, Export("the unsaved drafts", "octavo-unsaved.md", chunks))

    @property
    def _joined_texts(self) -> str:
        return "\n\n".join(each.text for each in self._drafts)


def _kind(draft: Draft) -> str:
    return draft_name(draft.key).capitalize()


NOTICE_SECONDS = 15.0
_LEFT_OPEN_REASON = "This draft was open in an editor when Octavo stopped."
_NOT_SAVED_REASON = "Octavo wrote this file because the draft could not be saved."
UNSAVED_FILE_PREFIX = "unsaved"
"""First part of the names of files that have drafts which could not be saved in the database."""
_TITLES = {"comment": "A comment", "conflict": "A resolved conflict", "page": "A page"}


@dataclass(frozen=True)
class UnsentFile:
    """A file with a draft that was not sent. An external editor left the file, or Octavo wrote it because the database
    could not be written."""

    path: Path
    note: FileNote
    saved_at: datetime

    @property
    def is_unsaved_draft(self) -> bool:
        """True if Octavo wrote the file. False if an external editor left it."""
        return self.path.name.startswith(f"{UNSAVED_FILE_PREFIX}-")

    @property
    def sentence(self) -> str:
        """Sentences that say why the draft was not sent, and which keys open or delete the file."""
        result = read_back(self.path)
        default_reason = _NOT_SAVED_REASON if self.is_unsaved_draft else _LEFT_OPEN_REASON
        reason = self.note.reason or (result.sentence if isinstance(result, NotEdited) else default_reason)
        return f"{reason} Press enter to open the draft in your editor, or X to delete the file {self.path}."


def unsent_files(app: Shell) -> tuple[UnsentFile, ...]:
    """Return the files with unsent drafts of this account, newest first, without files that other processes use."""
    files = []
    for path in (*editor_folder(app).glob("*.md"), *editor_folder(app).glob("*.yaml")):
        note = read_note(path)
        if note is None:
            kind = path.name.partition("-")[0].partition(".")[0]
            if kind == "page":
                continue  # Not listed: when the user edits the page again, Octavo finds the file by its name.
            note = FileNote(_TITLES.get(kind, "A draft"), "", app.session.state.namespace)
        if note.namespace == app.session.state.namespace and not is_other_process(note.process_id) and path.is_file():
            files.append(UnsentFile(path, note, datetime.fromtimestamp(path.stat().st_mtime, UTC)))
    return tuple(sorted(files, key=lambda each: each.saved_at, reverse=True))


def open_in_editor(app: Shell, file: UnsentFile) -> None:
    """Open a draft in the user's editor, and save the text as a draft, or copy the text if the file names no draft."""
    draft_key = file.note.draft_key

    def save_text(text: str) -> str:
        if draft_key:
            return save_or_get_error(partial(_save_draft, app, file.note), text)
        if is_too_long_to_copy(text):
            return f"Could not copy the draft: it is too long for the terminal's clipboard. It is still in {file.path}."
        return ""

    result = reopen_file(app, file.path, save_text)
    if isinstance(result, NotEdited):
        app.say(result.message, tone="care", seconds=NOTICE_SECONDS)
    elif not draft_key:
        app.copy_to_clipboard(result.text)
        app.say(
            "Copied your draft to the clipboard, because Octavo no longer knows which page or thread the draft belongs to.",
            tone="care",
            seconds=NOTICE_SECONDS,
        )
    else:
        _show_draft(app, file.note)


def confirm_and_delete(app: Shell, file: UnsentFile) -> None:
    """Delete the file of a draft after a confirmation."""

    def delete(answer: Confirmed) -> None:
        try:
            delete_file(file.path)
        except OSError as error:
            app.say(f"Could not delete {file.path}: {error.strerror}.", tone="failed")

    intro = "The text that you wrote in the editor will be lost. You cannot undo this."
    app.ask(ConfirmDialog(f"Discard your draft “{file.note.title}”?", verb="Discard", intro=intro), delete)


async def recover_drafts(app: Shell) -> None:
    """Save the texts in unsent files as drafts, delete these files, and notify the user. A file stays if it has a
    `reason` or no draft key, if it cannot be read or saved, or if a newer draft has another text. A page that an editor
    left in a file stays without a message."""
    remaining_files = []
    for file in unsent_files(app):
        result = read_back(file.path)
        if isinstance(result, Edited) and not file.note.reason and file.note.draft_key:
            is_file_of_page = file.note.draft_key.startswith("page ") and not file.is_unsaved_draft
            if is_file_of_page or _recover_draft(app, file, result.text):
                continue
        remaining_files.append(file)
    if remaining_files:
        message = f"{len(remaining_files)} drafts from your editor were not sent. Press ! to open them."
        if len(remaining_files) == 1:
            message = f"Your draft “{remaining_files[0].note.title}” was not sent. Press ! to open it."
        app.say(message, tone="care", seconds=NOTICE_SECONDS)


def _recover_draft(app: Shell, file: UnsentFile, text: str) -> bool:
    """Save `text` as a draft, delete `file`, and return True. If saving fails, show the error, keep `file`, and also
    return True. If a newer draft has another text, save nothing, keep `file`, and return False."""
    try:
        if not file.is_unsaved_draft:
            _save_draft(app, file.note, text)
        elif not DialogDraft(app, file.note.draft_key).save_newer(text, file.saved_at):
            return False
    except NotSaved as error:
        app.say(str(error), tone="failed")
        return True
    delete_file(file.path)
    _show_draft(app, file.note)
    return True


def write_unsaved(session: Session, state_folder: Path) -> str:
    """Write the drafts that could not be saved to files in `state_folder/editing`. If this fails for a draft, write it
    to the temporary folder. Return sentences that say where the drafts are, and how many were lost."""
    editing_folder, temporary_folder = state_folder / "editing", Path(tempfile.gettempdir())
    drafts, counts_by_folder = session.drafts.unsaved(), {editing_folder: 0, temporary_folder: 0}
    for draft in drafts:
        note = FileNote(_kind(draft), draft.key, session.state.namespace)
        for folder in counts_by_folder:
            with suppress(OSError):
                write_file(draft.text, folder, UNSAVED_FILE_PREFIX, ".md", note)
                counts_by_folder[folder] += 1
                break
    sentences = f"Octavo could not save {plural(len(drafts), 'draft')}: {session.drafts.unsaved_reason}."
    if editing_count := counts_by_folder[editing_folder]:
        sentences += f" {plural(editing_count, 'draft')} will be restored when you start Octavo again."
    if temporary_count := counts_by_folder[temporary_folder]:
        sentences += f" {plural(temporary_count, 'draft was', 'drafts were')} saved in {temporary_folder}, in files whose names begin with {UNSAVED_FILE_PREFIX}-."
    if lost_count := len(drafts) - sum(counts_by_folder.values()):
        sentences += f" {plural(lost_count, 'draft was', 'drafts were')} lost."
    return sentences


def _save_draft(app: Shell, note: FileNote, text: str) -> None:
    """Save a text as the draft `note.draft_key`. If the draft has another text, keep both texts: as two drafts of a
    page, else joined in one draft. Raises NotSaved if saving fails, or if the draft of a form has another text."""
    if note.draft_key.startswith("page "):
        DialogDraft(app, unused_key(app.session.drafts, parse_draft_key(note.draft_key)).stored_key).save_now(text)
        return
    draft = DialogDraft(app, note.draft_key)
    text = text.replace("\r\n", "\n").removesuffix("\n")
    existing_text = draft.text
    if existing_text not in ("", text) and note.draft_key.startswith("form "):
        raise NotSaved("The form has a newer draft. Send it or clear its fields, then open this file again.")
    draft.save_now(text if existing_text in text else f"{existing_text}\n\n{text}")


def _show_draft(app: Shell, note: FileNote) -> None:
    if not note.draft_key.startswith("page "):
        app.say(f"Saved your text as a draft: “{note.title}”.", seconds=NOTICE_SECONDS)
        return
    key = parse_draft_key(note.draft_key)
    space, screen_at_start = SpaceRef(space_id=key.space_id), app.screen

    def on_edit_ended(change_request: ChangeRequest | None) -> None:
        if change_request is not None and app.screen is screen_at_start:
            app.go(ToChangeRequest(change_request.ref(space), change_request))

    app.background(PageEdit(app, space, key.page_id, note.title, on_end=on_edit_ended).start())
