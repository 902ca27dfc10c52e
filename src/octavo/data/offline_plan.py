"""Computes the wants of an offline space: the responses that its views need, with their stamps.

A view finds a cached response only if it sends the same operation. So the operations here must equal those of the
views. `tests/journeys/test_offline.py` opens all views.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, get_args

from octavo.api import change_requests, comments, content, links, spaces
from octavo.api.change_requests import ChangeRequest, Status
from octavo.api.comments import Comment
from octavo.api.content import Changes, PageTree
from octavo.api.operation import (
    ChangeRequestRef,
    ContentRef,
    Discussion,
    Listing,
    ListPage,
    Operation,
    SpaceRef,
)
from octavo.api.spaces import Space
from octavo.api.wire import encode
from octavo.data import inbox_plan
from octavo.data.loaders import get_page_source, get_page_to_read
from octavo.data.queries import (
    UNDECIDED,
    all_threads_of,
    change_requests_of,
    open_threads_of,
    replies_of,
    requested_reviewers_of,
    reviews_of,
)
from octavo.data.response_cache import ResponseCache, never_changes
from octavo.data.sync_queue import Rank, Want

# The views use these limits, which are part of the URL and the cache key.
CHANGE_REQUESTS_LIMIT = 100
FILES_AND_LINKS_LIMIT = 200
CHANGES_LIMITS = (100, 1000)
"""Limits of a view's two requests for the changes of a change request."""
MAX_LIST_AGE = timedelta(minutes=1)
"""Maximum age of a list of the organization. All offline spaces share these lists."""
MAX_LIST_ITEMS = 10_000
"""Maximum number of items of a list that are available offline."""


class OfflinePlanner:
    """Decides which responses an offline space needs, and pins the responses. Each pass has a new planner."""

    def __init__(self, space_id: str, cache: ResponseCache, pinned: Mapping[str, int | None]) -> None:
        """`pinned` are the sizes of the pinned responses by URL. None if not on disk."""
        self.owner = owner_of(space_id)
        get = spaces.Get(at=SpaceRef(space_id=space_id))
        self.space_want = _want(self.owner, get, inbox_plan.NO_STAMP, "the space", needs_value=True, has_stamp=False)
        """The want for the space. All other wants depend on its response."""
        self.space: Space | None = None
        """The space. None until it is fetched in this pass."""
        self.page_count = 0
        self.incomplete: dict[Want, str] = {}
        """The wants for lists that are only partly on disk, each with a sentence for the user."""
        self.wanted_urls: set[str] = set()
        self._cache = cache
        self._pinned = {url for url, size in pinned.items() if size is not None}
        self.urls_with_dependents: set[str] = set()
        """URLs of the responses on which other wants depend."""
        self._change_requests: dict[ChangeRequestRef, ChangeRequest] = {}

    def wants(self) -> Iterator[Want]:
        """Return the want for the space. `on_response` returns the wants for the contents of the space."""
        return self._prepare_wants((self.space_want,))

    def on_response(self, want: Want, value: Any) -> Iterator[Want]:
        """Pin a response. Return the wants that depend on the response."""
        if want.url not in self._pinned:
            self._pinned.add(want.url)
            self._cache.pin(self.owner, want.url)
        if isinstance(value, ListPage) and isinstance(want.op, Listing) and want.min_items and value.next is not None:
            self.incomplete[want] = f"Only the first {len(value.items)} items are available offline."
        return self._prepare_wants(self._dependent_wants(want.op, value))

    def _dependent_wants(self, op: Operation[Any], value: Any) -> Iterator[Want]:
        match op, value:
            case spaces.Get(), Space():
                self.space = value
                # With this stamp, views do not fetch the space again.
                self._cache.put_version(self.space_want.url, inbox_plan.space_stamp(value))
                if value.deleted_at is None:
                    yield from wants_of_space(value, self.owner)
            case content.ListPages(at=SpaceRef() as at), PageTree():
                self.page_count = sum(page.type == "document" for page in value.walk())
                revision = self.space.revision if self.space is not None else None
                yield from wants_of_tree(at, value, revision or "", self.owner)
            case comments.List(at=at, status="all"), ListPage():
                yield from wants_of_threads(at, value.items, self.owner)
            case change_requests.List(at=at), ListPage():
                for item in value.items:
                    self._change_requests[item.ref(at)] = item
                    yield from wants_of_change_request(item.ref(at), item, self.owner)
            case content.ListChanges(at=ChangeRequestRef() as at), Changes():
                if (listed := self._change_requests.get(at)) is not None:
                    yield from wants_of_changes(at, listed, value, self.owner)

    def _prepare_wants(self, wants: Iterable[Want]) -> Iterator[Want]:
        """Yield the wants. `needs_value` makes the Syncer call `on_response`, which pins."""
        for want in wants:
            self.wanted_urls.add(want.url)
            if want.needs_value:
                self.urls_with_dependents.add(want.url)
            if want.url in self._pinned:
                yield want
                continue
            if (
                want.stamp == inbox_plan.IMMUTABLE_STAMP
                and want.url not in self._cache.versions
                and self._cache.read_body(want.op)
            ):
                # A view has cached this response. With a version, it is not fetched again.
                self._cache.put_version(want.url, want.stamp)
            if isinstance(want.op, comments.ListReplies) and want.stamp.partition(" ")[0] == "0":
                empty: ListPage[Any] = ListPage(items=())
                self._cache.put(want.op, empty)  # no request is needed if a thread has no replies
                self._cache.put_version(want.url, want.stamp)
            yield replace(want, needs_value=True)


def owner_of(space_id: str) -> str:
    """Return the name of an offline space in its wants and pins (`Want.owner`)."""
    return f"offline {space_id}"


def wants_of_space(space: Space, owner: str) -> Iterator[Want]:
    """Yield the wants of a space, the page tree first. The pages are not included."""
    at, space_stamp = space.ref, inbox_plan.space_stamp(space)
    revision, has_revision = space.revision or space_stamp, bool(space.revision)
    tree = content.ListPages(at=at)
    yield _want(owner, tree, revision, "the page tree", needs_value=True, has_stamp=has_revision)
    yield _threads_want(owner, at, space_stamp, "the threads", has_stamp=False)
    for status in UNDECIDED:
        op = change_requests.List(at=at, status=status, limit=CHANGE_REQUESTS_LIMIT)
        yield _want(owner, op, space_stamp, f"the list of {status} change requests", needs_value=True, has_stamp=False)
    yield _want(
        owner,
        content.ListFiles(at=at, limit=FILES_AND_LINKS_LIMIT),
        revision,
        "the list of files",
        has_stamp=has_revision,
    )
    yield _want(
        owner, links.ListOfSpace(at=at, limit=FILES_AND_LINKS_LIMIT), revision, "the links", has_stamp=has_revision
    )
    if space.organization is not None:
        for status in get_args(Status):
            of_all = change_requests_of(space.organization, status)
            label = f"the {status} change requests in the organization"
            yield replace(_want(owner, of_all, inbox_plan.NO_STAMP, label), max_age=MAX_LIST_AGE)


def wants_of_tree(at: SpaceRef, tree: PageTree, revision: str, owner: str) -> Iterator[Want]:
    """Yield a want for each page of a space."""
    for page in tree.walk():
        if page.type == "document":
            op = get_page_to_read(at, page.id)
            yield _want(owner, op, inbox_plan.page_stamp(page, revision), f"the page {page.title or 'Untitled'}")


def wants_of_threads(at: Discussion, threads: Iterable[Comment], owner: str) -> Iterator[Want]:
    """Yield a want for the replies of each thread."""
    for thread in threads:
        label = f"the replies to {thread.posted_by.name or 'an unknown author'}"
        yield _want(owner, replies_of(at, thread.id), inbox_plan.replies_stamp(thread), label)


def wants_of_change_request(at: ChangeRequestRef, listed: ChangeRequest, owner: str) -> Iterator[Want]:
    """Yield the wants of a change request, with its page tree but without its pages."""
    stamp, name = inbox_plan.change_request_stamp(listed), f"#{listed.number}"
    revision = listed.revision or stamp
    yield _want(owner, change_requests.Get(at=at), stamp, f"change request {name}")
    for limit in CHANGES_LIMITS:
        op = content.ListChanges(at=at, limit=limit)
        yield _want(owner, op, revision, f"the changes in {name}", needs_value=True)
    yield _want(owner, content.ListPages(at=at), revision, f"the page tree in {name}")
    yield _want(owner, reviews_of(at), inbox_plan.reviews_stamp(listed), f"the reviews of {name}")
    yield _want(owner, requested_reviewers_of(at), inbox_plan.reviews_stamp(listed), f"the reviewers of {name}")
    yield _want(owner, change_requests.ListContributors(at=at), stamp, f"the contributors to {name}")
    yield _threads_want(owner, at, stamp, f"the threads in {name}")
    if listed.comments:
        yield _want(owner, open_threads_of(at), inbox_plan.open_threads_stamp(listed), f"the open threads in {name}")
    for side in revisions_compared(at.space, listed):
        yield _want(owner, content.Get(at=side), revision, f"a revision of {name}")


def wants_of_changes(at: ChangeRequestRef, listed: ChangeRequest, changes: Changes, owner: str) -> Iterator[Want]:
    """Yield the wants for the old and the new version of each changed page."""
    kinds: dict[str, set[str]] = {}
    titles: dict[str, str] = {}
    for change in changes.changes:
        if change.page is not None and change.page.type == "document":
            kinds.setdefault(change.page.id, set()).add(change.type)
            titles[change.page.id] = change.page.title or "Untitled"
    both_sides = revisions_compared(at.space, listed)
    types_without_page = ("page_created", "page_deleted")
    """Change types of a page that the old side lacks, and that the new side lacks."""
    for page, types in kinds.items():
        refs: Any = "stable" if "page_moved" in types else None
        for side, type_without_page in zip(both_sides, types_without_page, strict=False):
            if type_without_page not in types:
                op = get_page_source(side, page)
                op = op.model_copy(update={"refs": refs}) if refs else op
                label = f"the page {titles[page]} in #{listed.number}"
                yield _want(owner, op, listed.revision or inbox_plan.NO_STAMP, label, has_stamp=bool(listed.revision))


def revisions_compared(space: SpaceRef, listed: ChangeRequest) -> tuple[ContentRef, ...]:
    """Return the base and the head of a change request. Empty if the base is unknown."""
    if not listed.base:
        return ()
    head = space.revision_ref(listed.revision) if listed.revision else listed.ref(space)
    return space.revision_ref(listed.base), head


def _threads_want(owner: str, at: Discussion, stamp: str, label: str, *, has_stamp: bool = True) -> Want:
    return _want(owner, all_threads_of(at), stamp, label, needs_value=True, has_stamp=has_stamp)


def _want(
    owner: str, op: Operation[Any], stamp: str, label: str, *, needs_value: bool = False, has_stamp: bool = True
) -> Want:
    """Return a want, which is due in each pass with `has_stamp=False`."""
    stamp = inbox_plan.IMMUTABLE_STAMP if never_changes(op) else stamp
    is_complete_list = isinstance(op, Listing) and not isinstance(op, change_requests.ListOfOrganization)
    return Want(
        op,
        encode(op).url,
        owner,
        Rank.OFFLINE,
        stamp,
        label=label,
        max_age=None if has_stamp else timedelta(),
        needs_value=needs_value,
        min_items=MAX_LIST_ITEMS if is_complete_list else 0,
    )
