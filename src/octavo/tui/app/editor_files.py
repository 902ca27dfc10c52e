"""Drafts in files of external editors that were not sent, because Octavo ended or because the text could not be used."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from octavo.api.places import SpaceRef
from octavo.data.state_db import NotSaved
from octavo.data.unsent_index import KIND_NAMES
from octavo.tui.core.dialog_draft import DialogDraft, save_error
from octavo.tui.core.routes import ToChangeRequest
from octavo.tui.editing.page_drafts import parse_draft_key, unused_key
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
from octavo.tui.widgets.confirm import ConfirmDialog
from octavo.tui.widgets.short_texts import plural

if TYPE_CHECKING:
    from octavo.api.change_requests import ChangeRequest
    from octavo.tui.core.session import Session
    from octavo.tui.core.shell import Shell
    from octavo.tui.widgets.confirm import Confirmed

SECONDS = 15.0
_LEFT = "This draft was open in an editor when Octavo stopped."
UNSAVED = "unsaved"
"""Prefix of the names of files with drafts that could not be saved in the database."""
_NAMES = {"comment": "A comment", "conflict": "A resolved conflict", "page": "A page"}


@dataclass(frozen=True)
class UnsentFile:
    """A file with an unsent draft: an editor that has ended left it, or Octavo could not save the draft in the
    database."""

    path: Path
    note: FileNote
    saved_at: datetime

    @property
    def is_unsaved_draft(self) -> bool:
        """True if Octavo wrote the file, because the draft could not be saved in the database."""
        return self.path.name.startswith(f"{UNSAVED}-")

    @property
    def sentence(self) -> str:
        """Reason why the text was not used, and which keys open or delete the file."""
        result = read_back(self.path)
        why = self.note.why or (result.sentence if isinstance(result, NotEdited) else _LEFT)
        return f"{why} Press enter to open the draft in your editor, or X to delete the file {self.path}."


def unsent_files(app: Shell) -> tuple[UnsentFile, ...]:
    """Return the unsent files of this session, the newest first."""
    files = []
    for path in (*_folder(app).glob("*.md"), *_folder(app).glob("*.yaml")):
        note = read_note(path)
        if note is None:
            kind = path.name.partition("-")[0].partition(".")[0]
            if kind == "page":
                continue  # The editor finds this file by the name of the page, when the user edits the page again.
            note = FileNote(_NAMES.get(kind, "A draft"), "", app.session.state.namespace)
        if note.of == app.session.state.namespace and not _is_open(note.process) and path.is_file():
            files.append(UnsentFile(path, note, datetime.fromtimestamp(path.stat().st_mtime, UTC)))
    return tuple(sorted(files, key=lambda each: each.saved_at, reverse=True))


def open_in_editor(app: Shell, file: UnsentFile) -> None:
    """Open the file in the editor, and save the result as the draft of its thread, page or form."""
    place = file.note.place

    def save_text(text: str) -> str:
        return save_error(partial(_save_draft, app, file.note), text) if place else ""

    result = reopen_file(app, file.path, save_text)
    if isinstance(result, NotEdited):
        app.say(result.message, tone="care", seconds=SECONDS)
    elif not place:
        app.copy_to_clipboard(result.text)
        app.say(
            "Copied your draft to the clipboard, because Octavo no longer knows which page or thread the draft belongs to.",
            tone="care",
            seconds=SECONDS,
        )
    else:
        _show_draft(app, file.note)


def confirm_and_delete(app: Shell, file: UnsentFile) -> None:
    """Delete the file after a confirmation."""

    def delete(answer: Confirmed | None) -> None:
        if answer is not None:
            try:
                delete_file(file.path)
            except OSError as error:
                app.say(f"Could not delete {file.path}: {error.strerror}.", tone="failed")

    intro = "The text that you wrote in the editor will be lost. You cannot undo this."
    app.push_screen(ConfirmDialog(f"Discard your draft “{file.note.title}”?", verb="Discard", intro=intro), delete)


async def recover_drafts(app: Shell) -> None:
    """Save the unsent files as drafts, except those of pages, and notify the user of files that could not be used."""
    unused = []
    for file in unsent_files(app):
        result = read_back(file.path)
        if not isinstance(result, Edited) or file.note.why or not file.note.place:
            unused.append(file)
        elif file.is_unsaved_draft or not file.note.place.startswith("page "):
            _recover_draft(app, file, result.text)
        # The file of a page is not recovered here: it is read when the user edits the page again.
    if len(unused) == 1:
        app.say(f"Your draft “{unused[0].note.title}” was not sent. Press ! to open it.", tone="care", seconds=SECONDS)
    elif unused:
        app.say(
            f"{len(unused)} drafts from your editor were not sent. Press ! to open them.", tone="care", seconds=SECONDS
        )


def _recover_draft(app: Shell, file: UnsentFile, text: str) -> None:
    """Save the text of a file as a draft, delete the file, and show the draft."""
    try:
        if file.is_unsaved_draft:
            DialogDraft(app, file.note.place).save_newer(text, file.saved_at)
        else:
            _save_draft(app, file.note, text)
    except NotSaved as error:
        app.say(str(error), tone="failed")
        return
    delete_file(file.path)
    _show_draft(app, file.note)


def write_unsaved(session: Session, state_folder: Path) -> str:
    """Write the drafts that could not be saved to files. Return sentences with the number of drafts and what happened
    to them.

    Files are written to the state folder, where the next start recovers them. If that fails, they are written to the
    folder for temporary files.
    """
    own, other = state_folder / "editing", Path(tempfile.gettempdir())
    unsaved, written = session.drafts.unsaved(), {own: 0, other: 0}
    for draft in unsaved:
        title = KIND_NAMES.get(draft.key.partition(" ")[0], "a draft").capitalize()
        note = FileNote(title, draft.key, session.state.namespace)
        for folder in written:
            with suppress(OSError):
                write_file(draft.text, folder, UNSAVED, ".md", note)
                written[folder] += 1
                break
    sentences = f"Octavo could not save {plural(len(unsaved), 'draft')}: {session.drafts.unsaved_reason}."
    if written[own]:
        sentences += f" {plural(written[own], 'draft')} will be restored when you start Octavo again."
    if written[other]:
        sentences += f" {plural(written[other], 'draft was', 'drafts were')} saved in {other}, in files whose names begin with {UNSAVED}-."
    if lost := len(unsaved) - sum(written.values()):
        sentences += f" {plural(lost, 'draft was', 'drafts were')} lost."
    return sentences


def _save_draft(app: Shell, note: FileNote, text: str) -> None:
    """Save a text as the draft of its thread, page or form. Raises NotSaved. A page gets an additional draft. In a
    thread or form, the text is appended to an existing draft, or replaces the draft if it contains it."""
    if note.place.startswith("page "):
        DialogDraft(app, unused_key(app.session.drafts, parse_draft_key(note.place)).text).save_now(text)
        return
    draft = DialogDraft(app, note.place)
    text = text.replace("\r\n", "\n").removesuffix("\n")
    before = draft.text
    draft.save_now(text if before in text else f"{before}\n\n{text}")


def _show_draft(app: Shell, note: FileNote) -> None:
    """Notify the user of a saved draft, or start the edit of its page."""
    if not note.place.startswith("page "):
        app.say(f"Saved your text as a draft: “{note.title}”.", seconds=SECONDS)
        return
    place = parse_draft_key(note.place)
    space, current = SpaceRef(space_id=place.space), app.screen

    def ended(change_request: ChangeRequest | None) -> None:
        if change_request is not None and app.screen is current:
            app.go(ToChangeRequest(change_request.ref(space), change_request))

    app.background(PageEdit(app, space, place.page, note.title, on_end=ended).start())


def _folder(app: Shell) -> Path:
    return app.settings.state_folder / "editing"


def _is_open(process: int) -> bool:
    """Return True if another Octavo process still waits for the editor."""
    if process in (0, os.getpid()):
        return False
    try:
        os.kill(process, 0)
    except (OSError, OverflowError):
        return False
    return True
