"""Edits of the content of a change request: based on the revision on screen, sent once, checked if the response is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal

from octavo.api import change_requests, content
from octavo.api.content import ContentEdit, DeletePage, InsertFiles, InsertPage, Page, Revision, UpdatePage
from octavo.api.errors import ApiError, NotFound
from octavo.api.places import ChangeRequestRef, ContentRef, RevisionRef
from octavo.api.safety import line
from octavo.api.text import Raw, SafeJson
from octavo.data.live import Live
from octavo.data.sending import Send
from octavo.data.writes.direct import Sent, SingleRequest, send_once

FAR = 10
"""Revisions that are gone back in search of an edit whose answer was lost."""
_SETTINGS = frozenset(("description", "emoji", "icon", "hidden", "no_index", "no_robots_index"))
CHANGES_OF_ONE_EDIT = 50
"""More of them are several edits."""
NOT_SAVED = "Not saved"
NO_OPERATION = "This server does not support editing content. Edit pages in the browser."


@dataclass(frozen=True)
class EditOutcome:
    """Result of an edit."""

    kind: Literal["sent", "moved", "refused", "unknown", "no_operation"]
    """`moved`: not sent, because the change request has changed. `no_operation`: the server cannot edit content."""
    sentence: str
    revision: str | None = None
    """Current revision of the change request. None if unknown."""
    over: str | None = None
    """The revision it was made on top of, when that is not the expected one: somebody wrote in the same moment, and what
    they wrote on the pages of this edit is no longer there."""
    error: ApiError | None = None
    """What it was refused with."""

    @property
    def cause(self) -> str:
        """The sentence without “Not saved”, to follow “Could not revert #7:”."""
        return self.sentence.removeprefix(f"{NOT_SAVED}: ")


async def texts(live: Live, at: ContentRef, page_id: str) -> Raw | None:
    """The markdown of a page as its writers have it: to be changed and sent back, never to be shown.

    None where there is no such page, or none that has markdown. Raises ApiError.
    """
    try:
        # Never through what `live` keeps: the text that is kept is the one made safe, and has the same address.
        page = await live.send(content.GetAsWritten(at=at, page_id=page_id, format="markdown"))
    except NotFound:
        return None
    return page.markdown


async def edit(
    live: Live,
    at: ChangeRequestRef,
    expected: str | None,
    changes: Sequence[ContentEdit],
    *,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> EditOutcome:
    """Make up to 50 `changes`, all or none, if the head of the change request is still `expected`: what the person saw.

    It is sent once, and never queued: without a connection it is refused.
    """
    op = content.Edit(at=at, changes=tuple(changes), compat=False)
    base: str | None = None
    found: Revision | None = None
    """The revision it made, when that was to be looked for."""

    async def ready() -> Sent[SafeJson] | None:
        nonlocal base  # what was deleted is still there
        now = await live.send(change_requests.Get(at=at))
        base = now.base
        if expected is None or now.revision == expected:
            return None
        sentence = (
            f"{NOT_SAVED}: the change request has changed since you opened it. Read the changes, then save again."
        )
        return Sent("moved", sentence, now.revision)

    async def happened() -> SafeJson | None:
        nonlocal found
        head = (await live.send(change_requests.Get(at=at))).revision
        found = await _made(live.send, op, expected, head) if head is not None and head != expected else None
        return {"revision": head} if found else None

    # Who presses twice asks for the same. Others may write at the same time: the head tells.
    digest = sha256(f"{expected} {op.model_dump_json()}".encode(errors="surrogatepass")).hexdigest()[:16]
    what = SingleRequest(
        f"edit {at.space_id}/{at.change_request_id} {digest}",
        op,
        happened,
        ready,
        undone=NOT_SAVED,
        missing="the server does not have the edit",
    )
    sent = await send_once(live, what, sleep=sleep)
    if sent.kind == "done":
        return await _judged(live.send, at, expected, _revision(sent.answer), found)
    if sent.kind == "moved":
        live.touched(op)  # what is on show is not what is there
        return EditOutcome("moved", sent.sentence, sent.answer)
    if isinstance(sent.error, NotFound) and await _all_there(live.send, op, base):
        live.availability.lacks(op, NO_OPERATION)
        return EditOutcome("no_operation", NO_OPERATION)
    return EditOutcome(sent.kind, sent.sentence, error=sent.error)


async def _judged(
    send: Send, at: ChangeRequestRef, expected: str | None, revision: str | None, made: Revision | None
) -> EditOutcome:
    """It is written. Whether it lies on top of what was seen."""
    try:
        revision = revision or (await send(change_requests.Get(at=at))).revision
        if made is None and revision is not None:
            made = await send(_get(at, revision))
    except ApiError:
        pass  # it is written all the same
    parents = made.parents if made is not None else ()
    if expected is None or not parents or parents[0] == expected:
        return EditOutcome("sent", "Saved.", revision)
    return EditOutcome("sent", "Saved, but someone else saved at the same moment.", revision, parents[0])


async def _made(send: Send, op: content.Edit, expected: str | None, head: str) -> Revision | None:
    """The revision since `expected` that does what `op` asks for."""
    after = await send(_get(op.at, head))
    for _ in range(FAR):
        if not after.parents:
            return after if await _does(send, op, None, after) else None
        before = await send(_get(op.at, after.parents[0]))
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
    """Whether the page is as `change` wants it."""
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
    there = await send(content.GetAsWritten(at=_revision_ref(op.at, after.id), page_id=page.id, format="markdown"))
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
    """What a server keeps of a text whatever it does to its lines."""
    return text.split()


async def _all_there(send: Send, op: content.Edit, base: str | None) -> bool:
    """Whether all pages an edit names are there, so that it was not one of them that was not found."""
    named: set[str] = set()
    for change in op.changes:
        named |= {getattr(change, "page", None) or "", getattr(change, "into", None) or ""} - {""}
    there: set[str] = set()
    revisions = {getattr(change, "revision", None) or base for change in op.changes}
    places: list[ContentRef] = [op.at, *(_revision_ref(op.at, each) for each in revisions if each)]
    try:
        for place in places if named else ():
            there |= {page.id for page in (await send(content.ListPages(at=place))).walk()}
    except ApiError:
        return False
    return named <= there


def _pages(revision: Revision | None) -> dict[str, Page]:
    return {page.id: page for page in revision.walk()} if revision is not None else {}


def _revision(answer: Any) -> str | None:
    """The new head, as the answer names it: a server may answer with the change request alone."""
    if not isinstance(answer, dict):
        return None
    of = answer.get("changeRequest")
    found = of.get("revision") if isinstance(of, dict) else answer.get("revision")
    return found if isinstance(found, str) else None


def _revision_ref(at: ChangeRequestRef, revision: str) -> RevisionRef:
    return RevisionRef(space_id=at.space_id, revision_id=revision)


def _get(at: ChangeRequestRef, revision: str) -> content.Get:
    return content.Get(at=_revision_ref(at, revision))
