"""What an editor wrote that could not be taken from it: files that stay, are told of, and can be opened again."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from octavo.data.state_db import NotSaved
from octavo.data.unsent_index import KIND_NAMES
from octavo.tui.shell.dialog_draft import DialogDraft, why_not_saved
from octavo.tui.shell.routes import ToChangeRequest
from octavo.tui.terminal.external_editor import (
    Edited,
    FileNote,
    NotEdited,
    about_of,
    edit_again,
    forget,
    read_back,
    write_file,
)
from octavo.tui.widgets.wording import plural

if TYPE_CHECKING:
    from octavo.api.change_requests import ChangeRequest
    from octavo.tui.shell.session import Session
    from octavo.tui.shell.shell import Shell
    from octavo.tui.widgets.confirm import Confirmed

SECONDS = 15.0
_LEFT = "This draft was open in an editor when Octavo stopped."
UNSAVED = "unsaved"
"""How the names of files begin that hold a draft which could not be saved."""
_NAMES = {"comment": "A comment", "conflict": "A resolved conflict", "page": "A page"}


@dataclass(frozen=True)
class KeptFile:
    """A file of an editor that nobody waits for any more."""

    path: Path
    about: FileNote
    saved_at: datetime

    @property
    def is_draft(self) -> bool:
        """Whether it is the newest version of a draft, not what an editor left."""
        return self.path.name.startswith(f"{UNSAVED}-")

    @property
    def sentence(self) -> str:
        """Why the text was not taken, and what can be done."""
        read = read_back(self.path)
        why = self.about.why or (read.sentence if isinstance(read, NotEdited) else _LEFT)
        return f"{why} Press enter to open the draft in your editor, or X to delete the file {self.path}."


def kept_files(app: Shell) -> tuple[KeptFile, ...]:
    """Those of this session, the newest first."""
    found = []
    for path in (*_folder(app).glob("*.md"), *_folder(app).glob("*.yaml")):
        about = about_of(path)
        if about is None:
            kind = path.name.partition("-")[0].partition(".")[0]
            if kind == "page":
                continue  # whose it is says its name, and the page it is of takes it over
            about = FileNote(_NAMES.get(kind, "A draft"), "", app.session.state.namespace)
        if about.of == app.session.state.namespace and not _is_open(about.process) and path.is_file():
            found.append(KeptFile(path, about, datetime.fromtimestamp(path.stat().st_mtime, UTC)))
    return tuple(sorted(found, key=lambda each: each.saved_at, reverse=True))


def open_again(app: Shell, file: KeptFile) -> None:
    """Let the person go on in it. Once it can be read it is the draft of what it was written for."""
    place = file.about.place

    def keep(text: str) -> str:
        return why_not_saved(partial(_keep, app, file.about), text) if place else ""

    result = edit_again(app, file.path, keep)
    if isinstance(result, NotEdited):
        app.say(result.said, tone="care", seconds=SECONDS)
    elif not place:
        app.copy_to_clipboard(result.text)
        app.say(
            "Copied your draft to the clipboard, because Octavo no longer knows which page or thread the draft belongs to.",
            tone="care",
            seconds=SECONDS,
        )
    else:
        _say_where(app, file.about)


def throw_away(app: Shell, file: KeptFile) -> None:
    """Delete it, once the person said yes."""
    from octavo.tui.widgets.confirm import ConfirmDialog

    def decided(answer: Confirmed | None) -> None:
        if answer is not None:
            try:
                forget(file.path)
            except OSError as error:
                app.say(f"Could not delete {file.path}: {error.strerror}.", tone="failed")

    said = "The text that you wrote in the editor will be lost. You cannot undo this."
    app.push_screen(ConfirmDialog(f"Discard your draft “{file.about.title}”?", verb="Discard", intro=said), decided)


async def tell(app: Shell) -> None:
    """Make drafts of what editors left when Octavo was ended, but for pages, and say what is kept beside."""
    left = []
    for file in kept_files(app):
        is_of_page = file.about.place.startswith("page ")
        read = read_back(file.path)
        if isinstance(read, Edited) and not file.about.why and is_of_page and not file.is_draft:
            continue  # the page takes it over
        if isinstance(read, Edited) and not file.about.why and file.about.place:
            try:
                if file.is_draft:
                    DialogDraft(app, file.about.place).take_newer(read.text, file.saved_at)
                else:
                    _keep(app, file.about, read.text)
            except NotSaved as error:
                app.say(str(error), tone="failed")
                continue
            forget(file.path)
            _say_where(app, file.about)
        else:
            left.append(file)
    if len(left) == 1:
        app.say(f"Your draft “{left[0].about.title}” was not sent. Press ! to open it.", tone="care", seconds=SECONDS)
    elif left:
        app.say(
            f"{len(left)} drafts from your editor were not sent. Press ! to open them.", tone="care", seconds=SECONDS
        )


def write_unsaved(session: Session, state_folder: Path) -> str:
    """Write the drafts that could not be saved to files, and say where they are. The next start makes drafts of them, if
    they are where it looks."""
    own, other = state_folder / "editing", Path(tempfile.gettempdir())
    unsaved, written = session.drafts.unsaved(), {own: 0, other: 0}
    for draft in unsaved:
        title = KIND_NAMES.get(draft.key.partition(" ")[0], "a draft").capitalize()
        about = FileNote(title, draft.key, session.state.namespace)
        for folder in written:
            with suppress(OSError):
                write_file(draft.text, folder, UNSAVED, ".md", about)
                written[folder] += 1
                break
    said = f"Octavo could not save {plural(len(unsaved), 'draft')}: {session.drafts.unsaved_reason}."
    if written[own]:
        said += f" {plural(written[own], 'draft')} will be restored when you start Octavo again."
    if written[other]:
        said += f" {plural(written[other], 'draft was', 'drafts were')} saved in {other}, in files whose names begin with {UNSAVED}-."
    if lost := len(unsaved) - sum(written.values()):
        said += f" {plural(lost, 'draft was', 'drafts were')} lost."
    return said


def _keep(app: Shell, about: FileNote, text: str) -> None:
    """Let it be the draft of its place, beside what else may be there by now. Raises NotSaved."""
    if about.place.startswith("page "):
        from octavo.tui.writing.page_drafts import free_place, page_place

        DialogDraft(app, free_place(app.session.drafts, page_place(about.place)).name).save_now(text)
        return
    kept = DialogDraft(app, about.place)
    text = text.replace("\r\n", "\n").removesuffix("\n")
    before = kept.text
    kept.save_now(text if before in text else f"{before}\n\n{text}")


def _say_where(app: Shell, about: FileNote) -> None:
    if not about.place.startswith("page "):
        app.say(f"Saved your text as a draft: “{about.title}”.", seconds=SECONDS)
        return
    from octavo.api.places import SpaceRef
    from octavo.tui.writing.page_drafts import page_place
    from octavo.tui.writing.page_edit import PageEdit

    place = page_place(about.place)
    space, on_show = SpaceRef(space_id=place.space), app.screen

    def ended(change_request: ChangeRequest | None) -> None:
        if change_request is not None and app.screen is on_show:
            app.go(ToChangeRequest(change_request.ref(space), change_request))

    app.background(PageEdit(app, space, place.page, about.title, ended=ended).start())


def _folder(app: Shell) -> Path:
    return app.settings.state_folder / "editing"


def _is_open(process: int) -> bool:
    """Whether another Octavo waits for the editor that has it: ours stands still for one."""
    if process in (0, os.getpid()):
        return False
    try:
        os.kill(process, 0)
    except (OSError, OverflowError):
        return False
    return True
