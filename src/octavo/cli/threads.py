"""Threads on the command line: finds the thread that a REF or an id names, and makes rows of threads."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from octavo.api import comments
from octavo.api.comments import Comment, Message, Reply
from octavo.api.errors import ApiError, NotFound, Unauthorized
from octavo.api.places import ChangeRequestRef, Discussion
from octavo.api.safety import safe_line
from octavo.cli.failures import NOT_FOUND, USAGE, Failure
from octavo.cli.output import Field
from octavo.cli.refs import Ref, References, Target, parse_ref
from octavo.data.loaders import all_items
from octavo.data.queries import UNDECIDED, change_requests_of, open_threads_of, replies_of
from octavo.documents.suggestions import find_suggestions

if TYPE_CHECKING:
    from octavo.api.change_requests import ChangeRequest

FIELDS = (
    Field("id", "string"),
    Field("ref", "string"),
    Field("space", "object"),
    Field("change", "integer?"),
    Field("page", "object?"),
    Field("block", "string?"),
    Field("status", "string"),
    Field("author", "string"),
    Field("at", "time?"),
    Field("text", "string"),
    Field("suggestion", "string?"),
    Field("outdated", "boolean"),
    Field("url", "string?"),
    Field("replies", "object[]", is_extra=True),
    Field("reactions", "object[]", is_extra=True),
)
PARALLEL = 6
"""Requests at the same time while a thread is searched by its id."""
MAX_PLACES = 300
"""Maximum number of spaces and change requests in which a thread is searched by its id."""


@dataclass(frozen=True)
class FoundThread:
    """A thread, and the space or change request that it is in."""

    target: Target
    comment: Comment

    @property
    def at(self) -> Discussion:
        return self.target.at

    @property
    def ref(self) -> str:
        """The REF of the thread as Octavo prints it."""
        own = self.target.ref
        return str(Ref(own.space, own.number, block=self.comment.id))


async def find_thread(references: References, text: str) -> FoundThread:
    """Return the thread that `text` names: SPACE@ID, SPACE/NUMBER@ID, a URL, or an id alone. Raises ApiError, or Failure
    if there is none."""
    if "://" not in text:
        ref = parse_ref(text)
        if not ref.block and not ref.number and not ref.page:
            return await _find_by_id(references, ref.space)
    target = await references.target(text)
    if not target.block:
        raise Failure(f"Could not find a thread: {safe_line(text[:60])} names none. Write SPACE/NUMBER@ID.", USAGE)
    return await thread_at(references, target, target.block)


async def find_named(references: References, text: str) -> Target | FoundThread:
    """Return what a REF, a URL or the id of a thread names. Raises ApiError, or Failure if it names nothing."""
    try:
        target = await references.target(text)
    except Failure as failure:
        ref = parse_ref(text) if "://" not in text else None
        # A word that names no space may be the id of a thread. Searching it takes many requests.
        is_word = ref is not None and bool(ref.space) and ref.place == str(ref) and ref.number is None
        if failure.code != NOT_FOUND or "Did you mean" in str(failure) or not is_word:
            raise
        try:
            return await find_thread(references, text)
        except Failure:
            raise failure from None
    if target.block and target.page is None:
        return await thread_at(references, target, target.block)
    return target


async def thread_at(references: References, target: Target, thread_id: str) -> FoundThread:
    """Return a thread of a space or change request. Raises ApiError, or Failure if there is none."""
    try:
        found = await references.live.fetch(comments.Get(at=target.at, comment_id=thread_id, format="markdown"))
    except NotFound:
        raise Failure(f"Could not find thread {safe_line(thread_id[:60])} in {target.ref.place}.", NOT_FOUND) from None
    return FoundThread(target, found)


async def _find_by_id(references: References, thread_id: str) -> FoundThread:
    """Search a thread by its id: in the cache, then in the spaces and their open and draft change requests. Raises
    ApiError, or Failure if there is none."""
    live, places = references.live, await _places(references)
    for at in places:
        cached = live.cache.get(open_threads_of(at))
        if cached is not None and any(each.id == thread_id for each in cached[0].items):
            return await thread_at(references, await _target(references, at, places[at]), thread_id)
    semaphore = asyncio.Semaphore(PARALLEL)

    async def find_in(at: Discussion) -> tuple[Discussion, Comment] | None:
        async with semaphore:
            try:
                return at, await live.fetch(comments.Get(at=at, comment_id=thread_id, format="markdown"))
            except Unauthorized:
                raise
            except ApiError:
                return None

    searches = [asyncio.ensure_future(find_in(at)) for at in list(places)[:MAX_PLACES]]
    try:
        for finished in asyncio.as_completed(searches):
            if (found := await finished) is not None:
                return FoundThread(await _target(references, found[0], places[found[0]]), found[1])
    finally:
        for each in searches:
            each.cancel()
    raise Failure(
        f"Could not find thread {safe_line(thread_id[:60])}. Write its place too: SPACE/NUMBER@ID.", NOT_FOUND
    )


async def _places(references: References) -> dict[Discussion, ChangeRequest | None]:
    """Return the places that may have threads: the chosen space or all spaces, and their open and draft change
    requests."""
    chosen = await references.chosen_space()
    spaces = [chosen] if chosen is not None else [each for each in await references.spaces() if each.comments]
    found: dict[Discussion, ChangeRequest | None] = {each.ref: None for each in spaces}
    for organization in await references.organizations():
        for status in UNDECIDED:
            for each in await all_items(references.live, change_requests_of(organization.id, status), is_fresh=False):
                if each.space is not None and (chosen is None or each.space == chosen.id):
                    found[ChangeRequestRef(space_id=each.space, change_request_id=each.id)] = each
    return found


async def _target(references: References, at: Discussion, change_request: ChangeRequest | None) -> Target:
    space = await references.space(at.space_id)
    number = change_request.number if change_request is not None else None
    return Target(space, Ref(await references.name_of(space.id), number), change_request)


def thread_row(found: FoundThread, replies: Sequence[Reply] = ()) -> dict[str, Any]:
    """Return the row of a thread. `replies` are its replies, if they are printed."""
    comment, target = found.comment, found.target
    text, page, node = comment.body.text, comment.target.page, comment.target.node
    suggestions = find_suggestions(text)
    change = target.change_request
    return {
        "id": comment.id,
        "ref": found.ref,
        "space": {"id": target.space.id, "title": target.space.title},
        "change": change.number if change is not None else None,
        "page": {"id": page.id, "title": page.title, "path": page.path} if page is not None else None,
        "block": node.id if node is not None else None,
        "status": comment.status,
        "author": comment.posted_by.name,
        "at": comment.posted_at,
        "text": text,
        "suggestion": suggestions[0].text if suggestions else None,
        "outdated": bool(page is not None and page.outdated),
        "url": comment.urls.app or target.url or None,
        "replies": [_message(each) for each in replies],
        "reactions": [{"emoji": each.emoji, "count": each.count} for each in comment.reactions],
    }


def _message(message: Message) -> Mapping[str, Any]:
    return {"id": message.id, "author": message.posted_by.name, "at": message.posted_at, "text": message.body.text}


async def load_replies(references: References, found: FoundThread) -> tuple[Reply, ...]:
    """Return the replies of a thread, oldest first. Raises ApiError."""
    if not found.comment.replies:
        return ()
    return tuple(await all_items(references.live, replies_of(found.at, found.comment.id)))


async def load_threads(references: References, target: Target) -> list[FoundThread]:
    """Return the threads of a space or change request, or of its page if `target` has one. The oldest is first. Raises
    ApiError."""
    page = {"target_page": target.page.id} if target.page is not None else {}
    op = comments.List(at=target.at, status="all", format="markdown", limit=1000, **page)
    found = await all_items(references.live, op)
    threads = [FoundThread(target, each) for each in found if not each.is_review]
    return sorted(threads, key=lambda each: (each.comment.posted_at is not None, each.comment.posted_at))
