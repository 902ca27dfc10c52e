"""The responses of a space that is available offline, and their stamps. Pure.

They are the operations of the views: a view finds a cached response only under the operation that it sends
(`tests/journeys/test_offline.py` opens all views).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, get_args

from octavo.api import change_requests, comments, content, links
from octavo.api.change_requests import ChangeRequest, Status
from octavo.api.comments import Comment
from octavo.api.content import Changes, PageTree
from octavo.api.operation import Operation
from octavo.api.places import ChangeRequestRef, ContentRef, Discussion, RevisionRef, SpaceRef
from octavo.api.spaces import Space
from octavo.api.wire import encode
from octavo.data import stamps
from octavo.data.queries import change_requests_of, open_threads_of, requested_of, reviews_of
from octavo.data.response_cache import never_changes

LISTED, THREADS, CHANGES = 100, 200, (100, 1000)
"""Items on a page of short lists; of threads, replies, files and links; and of changes: as the views ask."""


@dataclass(frozen=True, slots=True)
class OfflinePart:
    """A response that an offline space needs."""

    op: Operation[Any]
    url: str
    stamp: str
    """Differs when the response differs."""
    what: str
    """Its name in messages."""

    @property
    def is_always_due(self) -> bool:
        return self.stamp == stamps.UNTOLD

    @property
    def never_moves(self) -> bool:
        return self.stamp == stamps.IMMUTABLE


def part(op: Operation[Any], stamp: str, what: str) -> OfflinePart:
    """Return the response to `op`. A response of a revision never changes."""
    return OfflinePart(op, encode(op).url, stamps.IMMUTABLE if never_changes(op) else stamp, what)


def of_space(space: Space) -> Iterator[OfflinePart]:
    """Return the responses of a space as a whole. The page tree is first: it says how much there is."""
    at, revision = space.ref, space.revision or stamps.UNTOLD
    yield part(content.ListPages(at=at), revision, "the page tree")
    yield _threads(at, stamps.UNTOLD, "the threads")
    for status in ("open", "draft"):
        op = change_requests.List(at=at, status=status, limit=LISTED)
        yield part(op, stamps.UNTOLD, f"the list of {status} change requests")
    yield part(content.ListFiles(at=at, limit=THREADS), revision, "the list of files")
    yield part(links.ListOfSpace(at=at, limit=THREADS), revision, "the links")
    if space.organization is not None:
        for status in get_args(Status):
            of_all = change_requests_of(space.organization, status)
            yield part(of_all, stamps.UNTOLD, f"the {status} change requests in the organization")


def of_tree(at: SpaceRef, tree: PageTree, revision: str) -> Iterator[OfflinePart]:
    """Return the pages of a space."""
    for page in tree.walk():
        if page.type == "document":
            op = content.GetPage(at=at, page_id=page.id, format="markdown", dereferenced="reusable-contents")
            yield part(op, stamps.page_stamp(page, revision), f"the page {page.title or 'Untitled'}")


def of_threads(at: Discussion, threads: Iterable[Comment]) -> Iterator[OfflinePart]:
    """Return the replies of the threads of a space or change request."""
    for thread in threads:
        op = comments.ListReplies(at=at, comment_id=thread.id, format="markdown", limit=THREADS)
        what = f"the replies to {thread.posted_by.name or 'an unknown author'}"
        yield part(op, stamps.edited_replies_stamp(thread), what)


def of_request(at: ChangeRequestRef, about: ChangeRequest) -> Iterator[OfflinePart]:
    """Return the responses of a change request."""
    stamp, name = stamps.change_request_stamp(about), f"#{about.number}"
    yield part(change_requests.Get(at=at), stamp, f"change request {name}")
    for limit in CHANGES:
        yield part(content.ListChanges(at=at, limit=limit), about.revision or stamp, f"the changes in {name}")
    yield part(content.ListPages(at=at), about.revision or stamp, f"the page tree in {name}")
    yield part(reviews_of(at), stamps.reviews_stamp(about), f"the reviews of {name}")
    yield part(requested_of(at), stamps.reviews_stamp(about), f"the reviewers of {name}")
    yield part(change_requests.ListContributors(at=at), stamp, f"the contributors to {name}")
    yield _threads(at, stamp, f"the threads in {name}")
    if about.comments:
        yield part(open_threads_of(at), stamps.open_threads_stamp(about), f"the open threads in {name}")
    for side in sides(at.space, about):
        yield part(content.Get(at=side), about.revision or stamp, f"a revision of {name}")


def of_changes(at: ChangeRequestRef, about: ChangeRequest, changes: Changes) -> Iterator[OfflinePart]:
    """Return both sides of the pages that a change request changes."""
    kinds: dict[str, set[str]] = {}
    titles: dict[str, str] = {}
    for change in changes.changes:
        if change.page is not None and change.page.type == "document":
            kinds.setdefault(change.page.id, set()).add(change.type)
            titles[change.page.id] = change.page.title or "Untitled"
    ends = sides(at.space, about)
    missing = ("page_created", "page_deleted")
    for page, types in kinds.items():
        refs: Any = "stable" if "page_moved" in types else None
        for end, is_missing in zip(ends, missing, strict=False):
            if is_missing not in types:
                op = content.GetPage(at=end, page_id=page, format="markdown")
                op = op.model_copy(update={"refs": refs}) if refs else op
                yield part(op, about.revision or stamps.UNTOLD, f"the page {titles[page]} in #{about.number}")


def sides(space: SpaceRef, about: ChangeRequest) -> tuple[ContentRef, ...]:
    """Return the base and the head of a change request. Empty if the base is not known."""
    if not about.base:
        return ()
    old = RevisionRef(space_id=space.space_id, revision_id=about.base)
    if not about.revision:
        return old, about.ref(space)
    return old, RevisionRef(space_id=space.space_id, revision_id=about.revision)


def _threads(at: Discussion, stamp: str, what: str) -> OfflinePart:
    return part(comments.List(at=at, status="all", format="markdown", limit=THREADS), stamp, what)
