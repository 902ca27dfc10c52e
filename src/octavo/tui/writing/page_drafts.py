"""The text of a page on its way to a change request: a draft from the moment the editor wrote it until it is there.

An editor writes a file whose name says which page it is, so that what it holds is found however the app ended.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from octavo.api.errors import ApiError
from octavo.api.places import ChangeRequestRef, RevisionRef
from octavo.api.text import Raw
from octavo.tui.shell.dialog_draft import DialogDraft

if TYPE_CHECKING:
    from octavo.data.drafts import Drafts
    from octavo.tui.shell.session import Session
    from octavo.tui.shell.shell import Shell

_NONE = "-"
"""What stands in a name for a change request that is not there yet. Ids may begin so, but none is that short."""


@dataclass(frozen=True)
class PagePlace:
    """Which page is written, where, and on top of what."""

    space: str
    page: str
    revision: str
    """What it said when the editor opened."""
    change_request: str = ""
    """Empty: it starts a change request."""
    number: int = 1
    """Which of the texts on top of the same."""

    @property
    def name(self) -> str:
        """Its place among the drafts."""
        return f"page {self.space} {self.page} {self.change_request or _NONE} {self.revision} {self.number}"

    @property
    def base(self) -> RevisionRef:
        """Where its text can be read as it was."""
        return RevisionRef(space_id=self.space, revision_id=self.revision)

    @property
    def into(self) -> ChangeRequestRef:
        """The change request it is for, where there is one."""
        return ChangeRequestRef(space_id=self.space, change_request_id=self.change_request)

    def file_name(self, session: Session) -> str:
        """What the name of an editor's file begins with."""
        of_page = _digest(session, self.space, self.page)
        return f"page.{of_page}.{self.change_request or _NONE}.{self.revision}.{self.number}.{os.getpid()}"


@dataclass(frozen=True)
class PageDraft:
    """A text that is not sent."""

    place: PagePlace
    text: Raw
    saved_at: datetime


def page_place(name: str) -> PagePlace:
    """The place that has this name."""
    _, space, page, into, revision, number = name.split(" ")
    return PagePlace(space, page, revision, "" if into == _NONE else into, int(number))


def page_drafts(drafts: Drafts, space: str, page: str, change_request: str = "") -> tuple[PageDraft, ...]:
    """What is not sent of a page, newest first: for one change request, or for any."""
    found = []
    for draft in drafts.with_prefix(_begin(space, page)):
        place = page_place(draft.key)
        if change_request in ("", place.change_request):
            found.append(PageDraft(place, Raw(draft.text), draft.saved_at))
    return tuple(found)


def free_place(drafts: Drafts, place: PagePlace) -> PagePlace:
    """`place`, or another like it where no draft is: what was begun anew does not take the place of what is there."""
    taken = {draft.place for draft in page_drafts(drafts, place.space, place.page)}
    return next(free for number in count(1) if (free := replace(place, number=number)) not in taken)


def keep_base(app: Shell, place: PagePlace, revision: str) -> None:
    """Remember what both sides of the conflicts in a draft come from."""
    app.session.state.set_fact(f"base {place.name}", revision)


def base_of(app: Shell, place: PagePlace) -> RevisionRef | None:
    """What both sides of the conflicts in a draft come from, if that is known."""
    revision = app.session.state.get_fact(f"base {place.name}")
    return RevisionRef(space_id=place.space, revision_id=revision) if isinstance(revision, str) else None


def unsent_pages(app: Shell, space: str, pages: Iterable[str]) -> frozenset[str]:
    """Those of which something was written that is not sent."""
    drafts = app.session.drafts.with_prefix(f"page {space} ")
    kept = {draft.key.split(" ")[2] for draft in drafts}
    left = {path.name.split(".")[1] for path in folder(app).glob("page.*.md") if _is_left(path)}
    if not kept and not left:
        return frozenset()
    return frozenset(page for page in pages if page in kept or (left and _digest(app.session, space, page) in left))


async def take_over(app: Shell, space: str, page: str) -> None:
    """Make drafts of what editors left behind that nobody waits for any more. Raises NotSaved."""
    from octavo.tui.terminal.external_editor import (  # to know whether there is any takes less
        Edited,
        delete_file,
        read_back,
        read_note,
    )

    known = {draft.place for draft in page_drafts(app.session.drafts, space, page)}  # what it began with is taken over
    for path, place in _left(app, space, page):
        left, about = read_back(path), read_note(path)
        if isinstance(left, Edited) and not (about and about.why):  # what was not taken then, ! opens again
            if left.text.strip() and (place in known or not await _is_as_it_was(app, place, left.text)):
                await DialogDraft(app, place.name).save(left.text)
            delete_file(path)


def _left(app: Shell, space: str, page: str) -> list[tuple[Path, PagePlace]]:
    """Files of a page that no editor has open any more."""
    found = []
    for path in sorted(folder(app).glob(f"page.{_digest(app.session, space, page)}.*.md")):
        if _is_left(path):
            _, _, into, revision, number, *_ = path.name.split(".")
            found.append((path, PagePlace(space, page, revision, "" if into == _NONE else into, int(number))))
    return found


def _is_left(path: Path) -> bool:
    parts = path.name.split(".")
    return len(parts) == 7 and parts[4].isdecimal() and not _runs(parts[5].partition("-")[0])


def folder(app: Shell) -> Path:
    """Where the files of editors are."""
    return app.settings.state_folder / "editing"


def with_own_end(before: str, after: str) -> str:
    """`after` with the line ends that `before` has, also at its end: editors put one there, or take it away."""
    from octavo.tui.terminal.external_editor import with_line_ends_of  # lazy: few pages are edited

    after = with_line_ends_of(before, after)
    if not before.endswith("\n"):
        return after.removesuffix("\n").removesuffix("\r")
    return after if after.endswith("\n") or not after else f"{after}\n"


async def _is_as_it_was(app: Shell, place: PagePlace, text: str) -> bool:
    from octavo.data.writes.content_writes import page_source

    try:
        before = await page_source(app.session.live, place.base, place.page)
    except ApiError:
        return False
    return before is not None and with_own_end(before.text, text) == before.text


def _begin(space: str, page: str) -> str:
    return f"page {space} {page} "


def _digest(session: Session, space: str, page: str) -> str:
    return hashlib.sha256(f"{session.state.namespace} {space} {page}".encode()).hexdigest()[:16]


def _runs(process: str) -> bool:
    """Whether another process runs, so that an editor may be open in another window: ours stands still for one."""
    if not process.isdecimal() or int(process) == os.getpid():
        return False
    try:
        os.kill(int(process), 0)
    except (OSError, OverflowError):
        return False
    return True
