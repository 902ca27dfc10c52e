"""The write that edits pages: how it is checked before sending, and found again after a lost response."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from octavo.api import change_requests, content
from octavo.api.content import DeletePage, InsertFiles, InsertPage, Page, Revision, UpdatePage
from octavo.api.operation import Operation
from octavo.api.places import ChangeRequestRef, RevisionRef
from octavo.api.safety import line
from octavo.data.sending import Send
from octavo.data.writes.write_kind import AlreadyDone, Attempt, Basis, Changed, Check, Ready, WriteKind

FAR = 10
"""Revisions that are gone back in search of an edit whose response was lost."""
NOT_SAVED = "Not saved"
_SETTINGS = frozenset(("description", "emoji", "icon", "hidden", "no_index", "no_robots_index"))


@dataclass(frozen=True)
class FoundEdit:
    """An edit that was found after its response was lost."""

    head: str
    """Head revision of the change request now."""
    made: Revision
    """Revision that the edit made."""


async def check_edit(send: Send, attempt: Attempt[content.Edit]) -> Check:
    """Compare the head of the change request with the revision on screen."""
    now, expected = await send(change_requests.Get(at=attempt.op.at)), attempt.basis.revision
    if expected is None or now.revision == expected:
        return Ready()
    why = f"{NOT_SAVED}: the change request has changed since you opened it. Read the new changes before you save again"
    return Changed(why, now.revision)


async def find_edit(send: Send, attempt: Attempt[content.Edit]) -> AlreadyDone | None:
    """Return the edit as a FoundEdit. None if no later revision contains the changes of the edit."""
    head, expected = (await send(change_requests.Get(at=attempt.op.at))).revision, attempt.basis.revision
    made = await _made(send, attempt.op, expected, head) if head is not None and head != expected else None
    return AlreadyDone(made.id, FoundEdit(head, made)) if head is not None and made is not None else None


def _claim(op: content.Edit, basis: Basis) -> str:
    # Two key presses send the same edit. Others may edit at the same time: the head tells.
    same = f"{basis.revision} {op.model_dump_json()}".encode(errors="surrogatepass")
    return f"edit {op.at.space_id}/{op.at.change_request_id} {sha256(same).hexdigest()[:16]}"


async def _made(send: Send, op: content.Edit, expected: str | None, head: str) -> Revision | None:
    """Return the revision since `expected` that does what `op` asks for. None if there is none."""
    after = await send(get_revision(op.at, head))
    for _ in range(FAR):
        if not after.parents:
            return after if await _does(send, op, None, after) else None
        before = await send(get_revision(op.at, after.parents[0]))
        if await _does(send, op, before, after):
            return after
        if before.id == expected:
            return None
        after = before
    return None


async def _does(send: Send, op: content.Edit, before: Revision | None, after: Revision) -> bool:
    old, new = _pages(before), _pages(after)
    for change in op.changes:
        match change:
            case UpdatePage(page=page_id):
                if page_id not in new or not await _says(send, op, change, new[page_id], after):
                    return False
            case InsertPage(title=title):
                made = [page for name, page in new.items() if name not in old]
                if not any(title is None or page.title == line(title) for page in made):
                    return False
            case DeletePage(page=page_id):
                if page_id in new:
                    return False
            case InsertFiles():
                if len(after.files) <= (len(before.files) if before is not None else 0):
                    return False
            case _:
                if _state(old.get(change.page)) == _state(new.get(change.page)):
                    return False
    return True


async def _says(send: Send, op: content.Edit, change: UpdatePage, page: Page, after: Revision) -> bool:
    """Return True if the page equals `change`."""
    if change.title is not None and page.title != line(change.title):
        return False
    if any(
        _plain(getattr(change, name)) != _plain(getattr(page, name)) for name in _SETTINGS & change.model_fields_set
    ):
        return False
    if "into" in change.model_fields_set:
        above = after.above(page.id)
        if (above and above.id) != change.into:
            return False
    if change.document is None or change.document.markdown is None:
        return True
    there = await send(content.GetAsWritten(at=revision_ref(op.at, after.id), page_id=page.id, format="markdown"))
    return there.markdown is not None and _words(there.markdown.text) == _words(change.document.markdown)


def _plain(value: str | bool | None) -> str:
    """A setting as a server may write it, an emoji by its code."""
    if not isinstance(value, str):
        return str(value or "")
    code = "-".join(f"{ord(each):x}" for each in value) if value and ord(value[0]) > 0x2000 else value
    return " ".join(line(code).split())


def _state(page: Page | None) -> tuple[str | None, ...]:
    return (page.title, page.document_id, page.path, page.description, page.emoji) if page is not None else ()


def _words(text: str) -> list[str]:
    """Return the words of a text, which a server keeps when it changes line breaks."""
    return text.split()


def _pages(revision: Revision | None) -> dict[str, Page]:
    return {page.id: page for page in revision.walk()} if revision is not None else {}


def revision_ref(at: ChangeRequestRef, revision: str) -> RevisionRef:
    return RevisionRef(space_id=at.space_id, revision_id=revision)


def get_revision(at: ChangeRequestRef, revision: str) -> content.Get:
    return content.Get(at=revision_ref(at, revision))


CONTENT_KINDS: Mapping[type[Operation[Any]], WriteKind[Any]] = {
    content.Edit: WriteKind(check_edit, find_edit, claim=_claim)
}
