"""Drafts of page texts: the user has saved the text in the editor, but it is not in a change request yet.

The name of an editor file contains the key of its draft, so that the text can be found after a crash.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from octavo.api import content
from octavo.api.errors import ApiError
from octavo.api.operation import ChangeRequestRef, RevisionRef, SpaceRef
from octavo.api.text import Raw
from octavo.lazy_import import lazy
from octavo.tui.core.dialog_draft import DialogDraft
from octavo.tui.core.routes import Route

if TYPE_CHECKING:
    from octavo.api.change_requests import ChangeRequest
    from octavo.data.drafts import Drafts
    from octavo.tui.core.session import Session
    from octavo.tui.core.shell import Shell

_page_source = lazy("octavo.data.writes.content_writes:page_source")
_with_line_ends_of = lazy("octavo.tui.terminal.external_editor:with_line_ends_of")

_NO_CHANGE_REQUEST = "-"
"""Stored in place of the ID of a change request that does not exist yet."""


@dataclass(frozen=True)
class PageDraftKey:
    """Identifies the draft of a page: the page, the revision that was edited, and the change request to save it to."""

    space_id: str
    page_id: str
    revision_id: str
    """ID of the revision from which the editor got the text."""
    request_id: str = ""
    """ID of the change request to save to. Empty if a new one will be created."""
    number: int = 1
    """1, or a higher number if there are several drafts of the same page and revision."""

    @property
    def stored_key(self) -> str:
        """Key under which the draft is stored in `state.db`."""
        return f"page {self.space_id} {self.page_id} {self.request_id or _NO_CHANGE_REQUEST} {self.revision_id} {self.number}"

    @property
    def base_ref(self) -> RevisionRef:
        """Reference to the revision that was edited."""
        return RevisionRef(space_id=self.space_id, revision_id=self.revision_id)

    @property
    def request_ref(self) -> ChangeRequestRef:
        """Reference to the change request to save to. Do not use it if `request_id` is empty."""
        return ChangeRequestRef(space_id=self.space_id, change_request_id=self.request_id)

    def file_name(self, session: Session) -> str:
        """Return the beginning of the name of the editor file: hash of the page, other key fields, and process ID."""
        digest = _page_digest(session, self.space_id, self.page_id)
        return f"page.{digest}.{self.request_id or _NO_CHANGE_REQUEST}.{self.revision_id}.{self.number}.{os.getpid()}"


@dataclass(frozen=True)
class ToConflicts(Route):
    """Route to the view for conflicts between a draft of a page and edits that others made to this page."""

    key: PageDraftKey
    title: str
    change_request: ChangeRequest
    send: Callable[[Raw], None]
    """Called with the text of the page when all conflicts are resolved. Sends the text."""


class PageDraft(NamedTuple):
    """A page text that is not sent yet."""

    key: PageDraftKey
    text: Raw
    saved_at: datetime


def parse_draft_key(text: str) -> PageDraftKey:
    """Return the PageDraftKey whose `stored_key` is `text`."""
    _, space_id, page_id, request_id, revision, number = text.split(" ")
    return PageDraftKey(
        space_id, page_id, revision, "" if request_id == _NO_CHANGE_REQUEST else request_id, int(number)
    )


def page_drafts(drafts: Drafts, space_id: str, page_id: str, request_id: str = "") -> tuple[PageDraft, ...]:
    """Return the drafts of a page, newest first. All drafts of the page then count as seen by the user. If `request_id`
    is given, return only the drafts for this change request."""
    matches = []
    for draft in drafts.with_prefix(f"page {space_id} {page_id} "):
        key = parse_draft_key(draft.key)
        if request_id in ("", key.request_id):
            matches.append(PageDraft(key, Raw(draft.text), draft.saved_at))
    return tuple(matches)


def unused_key(drafts: Drafts, key: PageDraftKey) -> PageDraftKey:
    """Return `key` with the lowest number that has no draft yet."""
    used_keys = {draft.key for draft in page_drafts(drafts, key.space_id, key.page_id)}
    return next(free_key for number in count(1) if (free_key := replace(key, number=number)) not in used_keys)


def store_conflict_base(app: Shell, key: PageDraftKey, revision_id: str) -> None:
    """Store the common base revision of both sides of the conflicts in a draft."""
    app.session.state.set_value(f"base {key.stored_key}", revision_id)


def conflict_base(app: Shell, key: PageDraftKey) -> RevisionRef | None:
    """Return the common base revision of both sides of the conflicts in a draft. None if it was not stored."""
    revision_id = app.session.state.get_value(f"base {key.stored_key}")
    return RevisionRef(space_id=key.space_id, revision_id=revision_id) if isinstance(revision_id, str) else None


def pages_with_drafts(app: Shell, space_id: str, page_ids: Iterable[str]) -> frozenset[str]:
    """Return the `page_ids` of pages that have a draft, or an editor file that was left behind by a crash."""
    drafts = app.session.drafts.with_prefix(f"page {space_id} ")
    drafted_ids = {draft.key.split(" ")[2] for draft in drafts}
    orphaned_digests = {path.name.split(".")[1] for path in editor_folder(app).glob("page.*.md") if _is_orphaned(path)}
    if not drafted_ids and not orphaned_digests:
        return frozenset()
    return frozenset(
        page
        for page in page_ids
        if page in drafted_ids or (orphaned_digests and _page_digest(app.session, space_id, page) in orphaned_digests)
    )


async def recover_drafts(app: Shell, space_id: str, page_id: str) -> None:
    """Make drafts of the changed texts in the editor files that a crash has left for a page. Then delete these files. A
    text that was rejected or cannot be read stays in its file. Raises NotSaved if a draft cannot be saved."""
    if not (files := _orphaned_files(app, space_id, page_id)):
        return
    from octavo.tui.terminal import external_editor  # lazy: needed only after a crash

    drafts = {draft.key: draft for draft in page_drafts(app.session.drafts, space_id, page_id)}
    saved_keys: set[PageDraftKey] = set()
    for path, key in files:
        result, note = external_editor.read_back(path), external_editor.read_note(path)
        # A rejected text stays in its file, which the activity list shows.
        if isinstance(result, external_editor.Edited) and not (note and note.reason):
            draft, opened_at = drafts.get(key), external_editor.note_timestamp(path)
            is_known = draft is not None and draft.text.text == result.text
            # With a draft, save even a text that equals the page: the user may have undone the draft in the editor.
            if result.text.strip() and not is_known and (draft or not await _is_unchanged(app, key, result.text)):
                # A draft that was saved after the editor was opened belongs to another edit. Keep both texts.
                is_other = key in saved_keys or (draft is not None and draft.saved_at.timestamp() > opened_at)
                free_key = unused_key(app.session.drafts, key) if is_other else key
                await DialogDraft(app, free_key.stored_key).save(result.text)
                saved_keys.add(free_key)
            external_editor.delete_file(path)


def _orphaned_files(app: Shell, space_id: str, page_id: str) -> list[tuple[Path, PageDraftKey]]:
    files = []
    for path in sorted(editor_folder(app).glob(f"page.{_page_digest(app.session, space_id, page_id)}.*.md")):
        if _is_orphaned(path):
            _, _, request_id, revision, number, *_ = path.name.split(".")
            files.append((path, parse_draft_key(f"page {space_id} {page_id} {request_id} {revision} {number}")))
    return files


def _is_orphaned(path: Path) -> bool:
    parts = path.name.split(".")
    if len(parts) != 7 or not parts[4].isdecimal():
        return False
    process_id = parts[5].partition("-")[0]
    return not (process_id.isdecimal() and is_other_process(int(process_id)))


def editor_folder(app: Shell) -> Path:
    return app.settings.state_folder / "editing"


def restore_line_endings(original: str, edited: str) -> str:
    """Return `edited` with the line endings of `original`, and with a final newline only if `original` has one."""
    if not original.endswith("\n"):
        edited = edited.removesuffix("\n").removesuffix("\r")
    elif edited and not edited.endswith("\n"):
        edited += "\n"
    return str(_with_line_ends_of(original, edited))


async def _is_unchanged(app: Shell, key: PageDraftKey, text: str) -> bool:
    try:
        base_source = await _page_source(app.session.live, key.base_ref, key.page_id)
    except ApiError:
        return False
    return base_source is not None and restore_line_endings(base_source.text, text) == base_source.text


def _page_digest(session: Session, space_id: str, page_id: str) -> str:
    return hashlib.sha256(f"{session.state.namespace} {space_id} {page_id}".encode()).hexdigest()[:16]


def is_other_process(process_id: int) -> bool:
    """Return True if another process of the user has this ID. An editor that it started may still have a draft open."""
    if process_id in (0, os.getpid()):
        return False
    try:
        os.kill(process_id, 0)
    except (OSError, OverflowError):
        return False
    return True


NOTICE_SECONDS = 15.0


async def report_unsent_pages(app: Shell, session: Session) -> None:
    """Tell the user how many pages have unsent drafts, and which key opens a draft."""
    drafts = [draft.key.split(" ")[1:3] for draft in session.drafts.with_prefix("page ")]
    if not drafts and not any(editor_folder(app).glob("page.*.md")):
        return
    last_space_id = session.state.get_value("space")
    space_ids = dict.fromkeys(
        [*(space_id for space_id, _ in drafts), *([last_space_id] if isinstance(last_space_id, str) else [])]
    )
    unsent_labels: list[str] = []
    page_count = 0
    for space_id in space_ids:
        try:
            tree = await session.live.cached_or_fetch(content.ListPages(at=SpaceRef(space_id=space_id)))
        except ApiError:
            # Pages without a known title are counted too.
            page_count += len({page for at, page in drafts if at == space_id})
            continue
        titles = {page.id: page.title or "Untitled" for page in tree.walk()}
        unsent_ids = pages_with_drafts(app, space_id, [*titles, *(page for at, page in drafts if at == space_id)])
        page_count += len(unsent_ids)
        space = app.workspace.space(space_id)
        suffix = f" in {space.title}" if space is not None else ""
        unsent_labels += [f"{titles[page]}{suffix}" for page in titles if page in unsent_ids]
    if page_count == 1:
        sentence = (
            f"Your draft of {unsent_labels[0]} has not been sent"
            if unsent_labels
            else "Your draft of a page has not been sent"
        )
        app.say(f"{sentence}. Press e on the page to continue.", tone="care", seconds=NOTICE_SECONDS)
    elif page_count:
        example = f", including {unsent_labels[0]}" if unsent_labels else ""
        message = f"You have unsent drafts of {page_count} pages{example}. Press 2 to see the marked pages, then press e on a page to continue."
        app.say(message, tone="care", seconds=NOTICE_SECONDS)
