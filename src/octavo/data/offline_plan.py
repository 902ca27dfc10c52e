"""Decides which responses an offline space needs, so that all its views work without a connection.

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
from octavo.api.operation import ChangeRequestRef, ContentRef, Discussion, Listing, ListPage, Operation, SpaceRef
from octavo.api.spaces import Space
from octavo.api.wire import encode
from octavo.data import inbox_plan
from octavo.data.loaders import page_source_op, page_to_read_op
from octavo.data.queries import (
    UNDECIDED,
    all_threads_op,
    change_requests_op,
    open_threads_op,
    replies_op,
    requested_reviewers_op,
    reviews_op,
)
from octavo.data.response_cache import ResponseCache, never_changes
from octavo.data.sync_queue import NeededResponse, Rank

# The views use these limits, which are part of the URL and the cache key.
CHANGE_REQUESTS_LIMIT = 100
FILES_AND_LINKS_LIMIT = 200
CHANGES_LIMITS = (100, 1000)
"""A view sends two requests for the changes of a change request, with these limits."""
MAX_LIST_AGE = timedelta(minutes=1)
"""Maximum age of a list of the organization. All offline spaces share these lists."""
MAX_LIST_ITEMS = 10_000
"""Maximum number of items of a list that are available offline."""


class OfflinePlanner:
    """Decides which responses an offline space needs, and pins them. Each sync has a new planner."""

    def __init__(self, space_id: str, cache: ResponseCache, pinned: Mapping[str, int | None]) -> None:
        """`pinned` has the sizes in bytes of the pinned responses, by URL. None for a response that is not on disk."""
        self.owner = owner_of(space_id)
        op = spaces.Get(at=SpaceRef(space_id=space_id))
        self.needed_space = _needed(
            self.owner, op, inbox_plan.NO_FINGERPRINT, "the space", needs_cached_value=True, has_fingerprint=False
        )
        """The response that is needed first: the space. The space shows which other responses are needed."""
        self.space: Space | None = None
        """The space. None until it is fetched in this sync."""
        self.page_count = 0
        self.incomplete: dict[NeededResponse, str] = {}
        """Lists that are only partly on disk, each with a sentence for the user that says so."""
        self.needed_by_url: dict[str, NeededResponse] = {}
        self._cache = cache
        self._pinned = {url for url, size in pinned.items() if size is not None}
        self.urls_with_dependents: set[str] = set()
        """URLs of responses whose values tell which other responses are needed."""
        self._change_requests: dict[ChangeRequestRef, ChangeRequest] = {}

    def needed_responses(self) -> Iterator[NeededResponse]:
        """Yield the response that is needed first: the space. `on_response` yields the other responses."""
        return self._prepare((self.needed_space,))

    def on_response(self, needed: NeededResponse, value: Any) -> Iterator[NeededResponse]:
        """Pin a response. If it is a list, record whether it is incomplete. Yield the responses that `value` makes
        necessary."""
        if needed.url not in self._pinned:
            self._pinned.add(needed.url)
            self._cache.pin(self.owner, needed.url)
        if (
            isinstance(value, ListPage)
            and isinstance(needed.op, Listing)
            and needed.min_items
            and value.next is not None
        ):
            self.incomplete[needed] = f"Only the first {len(value.items)} items are available offline."
        return self._prepare(self._dependents(needed.op, value))

    def _dependents(self, op: Operation[Any], value: Any) -> Iterator[NeededResponse]:
        match op, value:
            case spaces.Get(), Space():
                self.space = value
                # With this fingerprint, views do not fetch the space again.
                self._cache.put_version(self.needed_space.url, inbox_plan.space_fingerprint(value))
                if value.deleted_at is None:
                    yield from needed_for_space(value, self.owner)
            case content.ListPages(at=SpaceRef() as at), PageTree():
                self.page_count = sum(page.type == "document" for page in value.walk())
                revision = self.space.revision if self.space is not None else None
                yield from needed_for_tree(at, value, revision or "", self.owner)
            case comments.List(at=at, status="all"), ListPage():
                yield from needed_for_threads(at, value.items, self.owner)
            case change_requests.List(at=at), ListPage():
                for item in value.items:
                    self._change_requests[item.ref(at)] = item
                    yield from needed_for_change_request(item.ref(at), item, self.owner)
            case content.ListChanges(at=ChangeRequestRef() as at), Changes():
                if (change_request := self._change_requests.get(at)) is not None:
                    yield from needed_for_changes(at, change_request, value, self.owner)

    def _prepare(self, needed_responses: Iterable[NeededResponse]) -> Iterator[NeededResponse]:
        """Record and yield `needed_responses`. Unpinned ones get `needs_cached_value`, and `on_response` pins them."""
        for needed in needed_responses:
            if needed.url in self._cache.unstored_urls:
                needed = needed.as_due()  # The response may be current, but it is not on disk.
            self.needed_by_url[needed.url] = needed
            if needed.needs_cached_value:
                self.urls_with_dependents.add(needed.url)
            if needed.url in self._pinned:
                yield needed
                continue
            if (
                needed.fingerprint == inbox_plan.IMMUTABLE_FINGERPRINT
                and needed.url not in self._cache.versions
                and self._cache.read_body(needed.op)
            ):
                # A view has cached this response. Store its version, so that it is not fetched again.
                self._cache.put_version(needed.url, needed.fingerprint)
            if isinstance(needed.op, comments.ListReplies) and needed.fingerprint.partition(" ")[0] == "0":
                empty_list: ListPage[Any] = ListPage(items=())
                self._cache.put(needed.op, empty_list)  # no request is needed if a thread has no replies
                self._cache.put_version(needed.url, needed.fingerprint)
            yield replace(needed, needs_cached_value=True)


def owner_of(space_id: str) -> str:
    """Return the name under which an offline space owns needed responses and pins."""
    return f"offline {space_id}"


def needed_for_space(space: Space, owner: str) -> Iterator[NeededResponse]:
    """Yield the responses that an offline space needs, the page tree first. The pages are not included."""
    at, space_fingerprint = space.ref, inbox_plan.space_fingerprint(space)
    revision, has_revision = space.revision or space_fingerprint, bool(space.revision)
    tree = content.ListPages(at=at)
    yield _needed(owner, tree, revision, "the page tree", needs_cached_value=True, has_fingerprint=has_revision)
    yield _needed(
        owner, all_threads_op(at), space_fingerprint, "the threads", needs_cached_value=True, has_fingerprint=False
    )
    for status in UNDECIDED:
        op = change_requests.List(at=at, status=status, limit=CHANGE_REQUESTS_LIMIT)
        yield _needed(
            owner,
            op,
            space_fingerprint,
            f"the list of {status} change requests",
            needs_cached_value=True,
            has_fingerprint=False,
        )
    for list_type, label in ((content.ListFiles, "the list of files"), (links.ListOfSpace, "the links")):
        yield _needed(
            owner, list_type(at=at, limit=FILES_AND_LINKS_LIMIT), revision, label, has_fingerprint=has_revision
        )
    if space.organization is not None:
        for status in get_args(Status):
            of_all = change_requests_op(space.organization, status)
            label = f"the {status} change requests in the organization"
            yield replace(_needed(owner, of_all, inbox_plan.NO_FINGERPRINT, label), max_age=MAX_LIST_AGE)


def needed_for_tree(at: SpaceRef, tree: PageTree, revision_id: str, owner: str) -> Iterator[NeededResponse]:
    """Yield the needed responses for the pages of `tree`. Pages without a time get the fingerprint `revision_id`."""
    for page in tree.walk():
        if page.type == "document":
            op = page_to_read_op(at, page.id)
            yield _needed(
                owner, op, inbox_plan.page_fingerprint(page, revision_id), f"the page {page.title or 'Untitled'}"
            )


def needed_for_threads(at: Discussion, threads: Iterable[Comment], owner: str) -> Iterator[NeededResponse]:
    """Yield the lists of replies of `threads` as needed responses."""
    for thread in threads:
        label = f"the replies to {thread.posted_by.name or 'an unknown author'}"
        yield _needed(owner, replies_op(at, thread.id), inbox_plan.replies_fingerprint(thread), label)


def needed_for_change_request(
    at: ChangeRequestRef, change_request: ChangeRequest, owner: str
) -> Iterator[NeededResponse]:
    """Yield the responses for a change request, such as its page tree, reviews and threads, but not its pages."""
    fingerprint, name = inbox_plan.change_request_fingerprint(change_request), f"#{change_request.number}"
    revision = change_request.revision or fingerprint
    yield _needed(owner, change_requests.Get(at=at), fingerprint, f"change request {name}")
    for limit in CHANGES_LIMITS:
        op = content.ListChanges(at=at, limit=limit)
        yield _needed(owner, op, revision, f"the changes in {name}", needs_cached_value=True)
    yield _needed(owner, content.ListPages(at=at), revision, f"the page tree in {name}")
    yield _needed(owner, reviews_op(at), inbox_plan.reviews_fingerprint(change_request), f"the reviews of {name}")
    yield _needed(
        owner, requested_reviewers_op(at), inbox_plan.reviews_fingerprint(change_request), f"the reviewers of {name}"
    )
    yield _needed(owner, change_requests.ListContributors(at=at), fingerprint, f"the contributors to {name}")
    yield _needed(owner, all_threads_op(at), fingerprint, f"the threads in {name}", needs_cached_value=True)
    if change_request.comments:
        yield _needed(
            owner,
            open_threads_op(at),
            inbox_plan.open_threads_fingerprint(change_request),
            f"the open threads in {name}",
        )
    for side in revisions_compared(at.space, change_request):
        yield _needed(owner, content.Get(at=side), revision, f"a revision of {name}")


def needed_for_changes(
    at: ChangeRequestRef, change_request: ChangeRequest, changes: Changes, owner: str
) -> Iterator[NeededResponse]:
    """Yield what `owner` needs: the old and the new version of each changed page of a change request, if they exist."""
    types_by_page: dict[str, set[str]] = {}
    titles: dict[str, str] = {}
    for change in changes.changes:
        if change.page is not None and change.page.type == "document":
            types_by_page.setdefault(change.page.id, set()).add(change.type)
            titles[change.page.id] = change.page.title or "Untitled"
    both_sides = revisions_compared(at.space, change_request)
    types_without_page = ("page_created", "page_deleted")
    """Types of changes without an old version of the page, and without a new version, in the order of `both_sides`."""
    for page, types in types_by_page.items():
        refs: Any = "stable" if "page_moved" in types else None
        for side, type_without_page in zip(both_sides, types_without_page, strict=False):
            if type_without_page not in types:
                op = page_source_op(side, page)
                op = op.model_copy(update={"refs": refs}) if refs else op
                label = f"the page {titles[page]} in #{change_request.number}"
                yield _needed(
                    owner,
                    op,
                    change_request.revision or inbox_plan.NO_FINGERPRINT,
                    label,
                    has_fingerprint=bool(change_request.revision),
                )


def revisions_compared(space: SpaceRef, change_request: ChangeRequest) -> tuple[ContentRef, ...]:
    """Return the base and the head of a change request. Empty if the base is unknown."""
    if not change_request.base:
        return ()
    head = space.revision_ref(change_request.revision) if change_request.revision else change_request.ref(space)
    return space.revision_ref(change_request.base), head


def _needed(
    owner: str,
    op: Operation[Any],
    fingerprint: str,
    label: str,
    *,
    needs_cached_value: bool = False,
    has_fingerprint: bool = True,
) -> NeededResponse:
    """Return a NeededResponse for `op`. Without `has_fingerprint`, each sync fetches the response, because
    `fingerprint` may stay the same when the response changes."""
    fingerprint = inbox_plan.IMMUTABLE_FINGERPRINT if never_changes(op) else fingerprint
    is_complete_list = isinstance(op, Listing) and not isinstance(op, change_requests.ListOfOrganization)
    return NeededResponse(
        op,
        encode(op).url,
        owner,
        Rank.OFFLINE,
        fingerprint,
        label=label,
        max_age=None if has_fingerprint else timedelta(),
        needs_cached_value=needs_cached_value,
        min_items=MAX_LIST_ITEMS if is_complete_list else 0,
    )
