"""Converts change requests, pages and other items to the JSON objects that commands print. Finds threads."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from octavo.api import comments
from octavo.api.change_requests import ChangeRequest
from octavo.api.comments import Comment, Message, Reply
from octavo.api.content import ListChanges, Page
from octavo.api.errors import ApiError, NotFound, RateLimited, Unauthorized
from octavo.api.operation import ChangeRequestRef, Discussion
from octavo.api.safety import safe_line
from octavo.api.spaces import Space
from octavo.api.text import is_id
from octavo.api.users import User
from octavo.cli.access import read_settings
from octavo.cli.output import declare_fields
from octavo.cli.refs import Ref, RefResolver, RefTarget, parse_ref, short_name
from octavo.cli.standard_streams import NOT_FOUND, USAGE, Failure
from octavo.concurrency import MAX_REQUESTS
from octavo.data.loaders import all_items
from octavo.data.queries import (
    PAGE_LIMIT,
    UNDECIDED,
    change_requests_op,
    open_threads_op,
    replies_op,
    requested_reviewers_op,
    reviews_op,
)
from octavo.documents.suggestions import find_suggestions
from octavo.lazy_import import lazy

if TYPE_CHECKING:
    from octavo.data.live import Live
    from octavo.tui.review.merge_checks import Checks

_run_checks = lazy("octavo.tui.review.merge_checks:run_checks")  # lazy: needed only for merge checks


CHANGE_FIELDS = declare_fields(
    "number integer, id string, ref string, space object, subject string, status string, author string?, "
    "createdAt time?, updatedAt time?, revision string?, outdated boolean, url string?",
    extra=(
        "description string, reviewers object[], threadsOpen integer, pagesChanged integer, checks object[], "
        "mergedAt time?"
    ),
)
_CHECK_NAMES = {
    "threads": "open-threads",
    "up to date": "outdated",
    "merge rules": "merge-rules",
    "merged text": "merged-text",
}
"""Names of merge checks in JSON and for `--allow`, by the label of the check in the app."""


async def change_row(
    resolver: RefResolver, change_request: ChangeRequest, space: Space | None, field_names: AbstractSet[str]
) -> dict[str, Any]:
    """Return a change request as JSON. Fields that need more requests are added if in `field_names`. Raises
    ApiError."""
    live = resolver.live
    space_id = space.id if space is not None else change_request.space or ""
    name = await resolver.name_of(space_id)
    row: dict[str, Any] = {
        "number": change_request.number,
        "id": change_request.id,
        "ref": str(Ref(name, change_request.number)),
        "space": {"id": space_id, "title": space.title if space is not None else ""},
        "subject": change_request.title,
        "status": change_request.status,
        "author": change_request.author_name or None,
        "createdAt": change_request.created_at,
        "updatedAt": change_request.updated_at,
        "revision": change_request.revision,
        "outdated": change_request.outdated,
        "url": change_request.urls.app,
        "description": change_request.description_text,
        "mergedAt": change_request.merged_at,
    }
    at = ChangeRequestRef(space_id=space_id, change_request_id=change_request.id)
    if field_names & {"reviewers", "review"} and (change_request.status in UNDECIDED or "reviewers" in field_names):
        row["reviewers"] = reviewers = await load_reviewers(live, at, change_request)
        row["review"] = review_state(change_request, reviewers)
    if "threadsOpen" in field_names:
        threads = await all_items(live, open_threads_op(at))
        row["threadsOpen"] = sum(each.is_open_thread for each in threads)
    if "pagesChanged" in field_names:
        changes = await live.fetch(ListChanges(at=at, limit=PAGE_LIMIT))
        pages = {each.page.id for each in changes.changes if each.page is not None}
        row["pagesChanged"] = len(pages) + changes.missing_count
    if "checks" in field_names:
        row["checks"] = check_rows(await _run_checks(live, at, read_settings().linters))
    return row


def check_rows(checks: Checks) -> list[dict[str, str]]:
    """Return the merge checks as JSON objects. Their names are the values of `octavo merge --allow`."""
    rows: list[dict[str, str]] = []
    for info_row in checks.info_rows:
        label = info_row.label or (rows[-1]["name"] if rows else "status")
        name = _CHECK_NAMES.get(label, label.replace(" ", "-"))
        rows.append({"name": name, "status": info_row.mark, "text": str(info_row.text)})
    return rows


async def load_reviewers(live: Live, at: ChangeRequestRef, change_request: ChangeRequest) -> list[dict[str, Any]]:
    """Return a JSON object for each review without a newer one, then for each requested reviewer. Raises ApiError."""
    reviews, requests = await asyncio.gather(live.fetch(reviews_op(at)), live.fetch(requested_reviewers_op(at)))
    rows = [
        {
            "id": each.reviewer.id,
            "name": each.reviewer.name,
            "status": each.status,
            "outdated": each.revision is not None and each.revision != change_request.revision,
        }
        for each in reviews.items
        if not each.outdated
    ]
    return rows + [
        {"id": each.user.id, "name": each.user.name, "status": "requested", "outdated": False}
        for each in requests.items
        if each.user is not None
    ]


def review_state(change_request: ChangeRequest, reviewers: Sequence[Mapping[str, Any]]) -> str:
    """Return a summary of the reviews, such as `approved`. Return `outdated` if main has changed and no changes are
    requested. Return an empty text if main has not changed and there are no `reviewers`."""
    statuses = {(each["status"], each["outdated"]) for each in reviewers}
    if ("changes-requested", False) in statuses or ("changes-requested", True) in statuses:
        return "changes requested"
    if change_request.outdated:
        return "outdated"
    if ("approved", False) in statuses:
        return "approved"
    if ("approved", True) in statuses:
        return "approval outdated"
    return "review requested" if reviewers else ""


PAGE_FIELDS = declare_fields(
    "id string, ref string, title string, path string?, space object, revision string?, updatedAt time?, url string?",
    extra="description string?, markdown string, outline object[], threads object[]",
)
SPACE_FIELDS = declare_fields(
    "id string, ref string, title string, organization string?, revision string?, updatedAt time?, "
    "changesOpen integer, threadsOpen integer, url string?"
)
USER_FIELDS = declare_fields("id string, ref string, name string, email string?, url string?")


def page_row(target: RefTarget, page: Page, revision_id: str | None) -> dict[str, Any]:
    """Return a page as a JSON object, without the fields `threads` and `outline`. Its Markdown must be loaded."""
    return {
        "id": page.id,
        "ref": str(target.ref),
        "title": page.title,
        "path": page.path,
        "space": {"id": target.space.id, "title": target.space.title},
        "revision": revision_id,
        "updatedAt": page.updated_at,
        "url": page.urls.app,
        "description": page.description,
        "markdown": page.markdown or "",
    }


def space_row(space: Space, spaces: Sequence[Space]) -> dict[str, Any]:
    """Return a space as a JSON object, without the field `pages`. Its `ref` is unique among `spaces`."""
    return {
        "id": space.id,
        "ref": short_name(space, spaces),
        "title": space.title,
        "organization": space.organization,
        "revision": space.revision,
        "updatedAt": space.updated_at,
        "changesOpen": space.change_requests_open,
        "threadsOpen": space.comments,
        "url": space.urls.app,
    }


def user_row(user: User) -> dict[str, Any]:
    return {"id": user.id, "ref": f"@{user.id}", "name": user.name, "email": user.email, "url": user.urls.app}


THREAD_FIELDS = declare_fields(
    "id string, ref string, space object, change integer?, page object?, block string?, status string, "
    "author string, at time?, text string, suggestion string?, outdated boolean, url string?",
    extra="replies object[], reactions object[]",
)
_MAX_SEARCHED_DISCUSSIONS = 300


@dataclass(frozen=True)
class FoundThread:
    """A thread, and the space or change request in which it was found."""

    target: RefTarget
    comment: Comment

    @property
    def at(self) -> Discussion:
        return self.target.at

    @property
    def ref(self) -> str:
        """The REF of the thread, such as `handbook/7@k1`."""
        target_ref = self.target.ref
        return str(Ref(target_ref.space, target_ref.number, block=self.comment.id))


async def find_thread(resolver: RefResolver, text: str) -> FoundThread:
    """Return the thread that a REF such as SPACE/NUMBER@ID, a URL or an ID names. Raises ApiError or Failure."""
    if "://" not in text:
        ref = parse_ref(text)
        if not ref.block and not ref.number and not ref.page:
            return await _find_by_id(resolver, ref.space)
    target = await resolver.resolve(text)
    if not target.block:
        raise Failure(f"Could not find a thread: {safe_line(text[:60])} names none. Write SPACE/NUMBER@ID.", USAGE)
    return await thread_at(resolver, target, target.block)


async def find_named(resolver: RefResolver, text: str) -> RefTarget | FoundThread:
    """Return the target or the thread that `text` names: a REF, a URL or a thread ID. Raises ApiError or Failure."""
    try:
        target = await resolver.resolve(text)
    except Failure as failure:
        ref = parse_ref(text) if "://" not in text else None
        # Only a single word is searched as the ID of a thread, because the search takes many requests.
        is_word = ref is not None and bool(ref.space) and ref.without_page == str(ref) and ref.number is None
        if failure.code != NOT_FOUND or "Did you mean" in str(failure) or not is_word:
            raise
        try:
            return await find_thread(resolver, text)
        except Failure:
            raise failure from None
    if target.block and target.page is None:
        return await thread_at(resolver, target, target.block)
    return target


async def thread_at(resolver: RefResolver, target: RefTarget, thread_id: str) -> FoundThread:
    """Load a thread of the space or change request that a REF names. Raises ApiError, or Failure if there is none."""
    try:
        if is_id(thread_id):
            op = comments.Get(at=target.at, comment_id=thread_id, format="markdown")
            return FoundThread(target, await resolver.live.fetch(op))
    except NotFound:
        pass
    raise Failure(f"Could not find thread {safe_line(thread_id[:60])} in {target.ref.without_page}.", NOT_FOUND)


async def _find_by_id(resolver: RefResolver, thread_id: str) -> FoundThread:
    """Find a thread in the results of `find_discussions`. Raises ApiError, or Failure if there is no such thread."""
    live, discussions = resolver.live, await find_discussions(resolver) if is_id(thread_id) else {}
    for at in discussions:
        cached = live.cache.get(open_threads_op(at))
        if cached is not None and any(each.id == thread_id for each in cached[0].items):
            return await thread_at(resolver, await target_of(resolver, at, discussions[at]), thread_id)
    semaphore = asyncio.Semaphore(MAX_REQUESTS)
    failures: list[ApiError] = []

    async def find_in(at: Discussion) -> tuple[Discussion, Comment] | None:
        async with semaphore:
            try:
                return at, await live.fetch(comments.Get(at=at, comment_id=thread_id, format="markdown"))
            except Unauthorized:
                raise
            except ApiError as error:
                if isinstance(error, RateLimited) or error.status is None or error.status >= 500:
                    failures.append(error)
                return None

    searches = [asyncio.ensure_future(find_in(at)) for at in list(discussions)[:_MAX_SEARCHED_DISCUSSIONS]]
    try:
        for finished in asyncio.as_completed(searches):
            if (found := await finished) is not None:
                return FoundThread(await target_of(resolver, found[0], discussions[found[0]]), found[1])
    finally:
        for each in searches:
            each.cancel()
    if failures:
        raise failures[0]
    raise Failure(
        f"Could not find thread {safe_line(thread_id[:60])}. Write its place too: SPACE/NUMBER@ID.", NOT_FOUND
    )


async def find_discussions(resolver: RefResolver) -> dict[Discussion, ChangeRequest | None]:
    """Return the spaces and the undecided change requests, those with open threads first. Each value is the change
    request, None for a space. With `--space`, leave out other spaces. Raises ApiError or Failure."""
    chosen_space = await resolver.chosen_space()
    spaces = [chosen_space] if chosen_space is not None else await resolver.spaces(fresh=True)
    found: list[tuple[Discussion, ChangeRequest | None, int]] = [(each.ref, None, each.comments) for each in spaces]
    for organization in await resolver.organizations():
        for status in UNDECIDED:
            for each in await all_items(resolver.live, change_requests_op(organization.id, status)):
                if each.space is not None and (chosen_space is None or each.space == chosen_space.id):
                    at = ChangeRequestRef(space_id=each.space, change_request_id=each.id)
                    found.append((at, each, each.comments))
    found.sort(key=lambda item: not item[2])
    return {at: change_request for at, change_request, _ in found}


async def target_of(resolver: RefResolver, at: Discussion, change_request: ChangeRequest | None) -> RefTarget:
    """Return a RefTarget for a space or change request of `find_discussions`. Raises ApiError or Failure."""
    space = await resolver.space(at.space_id)
    number = change_request.number if change_request is not None else None
    return RefTarget(space, Ref(await resolver.name_of(space.id), number), change_request)


def thread_row(thread: FoundThread, replies: Sequence[Reply] = ()) -> dict[str, Any]:
    """Return a thread as a JSON object. `replies` may be empty if they are not printed."""
    comment, target = thread.comment, thread.target
    text, page, node = comment.body.text, comment.target.page, comment.target.node
    suggestions = find_suggestions(text)
    change_request = target.change_request
    return {
        "id": comment.id,
        "ref": thread.ref,
        "space": {"id": target.space.id, "title": target.space.title},
        "change": change_request.number if change_request is not None else None,
        "page": {"id": page.id, "title": page.title, "path": page.path} if page is not None else None,
        "block": node.id if node is not None else None,
        "status": comment.status,
        "author": comment.posted_by.name,
        "at": comment.posted_at,
        "text": text,
        "suggestion": suggestions[0].text if suggestions else None,
        "outdated": bool(page is not None and page.outdated),
        "url": comment.urls.app or target.url or None,
        "replies": [message_row(each) for each in replies],
        "reactions": [{"emoji": each.emoji, "count": each.count} for each in comment.reactions],
    }


def message_row(message: Message) -> dict[str, Any]:
    """Return a comment or reply as a JSON object, as it is printed inside its thread."""
    return {"id": message.id, "author": message.posted_by.name, "at": message.posted_at, "text": message.body.text}


async def load_replies(resolver: RefResolver, thread: FoundThread) -> tuple[Reply, ...]:
    """Return the replies of a thread, oldest first. Raises ApiError."""
    if not thread.comment.replies:
        return ()
    return tuple(await all_items(resolver.live, replies_op(thread.at, thread.comment.id)))


async def load_threads(resolver: RefResolver, target: RefTarget, **filters: Any) -> list[FoundThread]:
    """Load the threads of the space, change request or page that a REF names, oldest first. Reviews are left out.
    `filters` are further fields of `comments.List`, such as `status`. Raises ApiError."""
    page = {"target_page": target.page.id} if target.page is not None else {}
    op = comments.List(at=target.at, format="markdown", limit=1000, **page, **filters)
    all_comments = await all_items(resolver.live, op)
    threads = [FoundThread(target, each) for each in all_comments if not each.is_review_text]
    return sorted(threads, key=lambda each: (each.comment.posted_at is not None, each.comment.posted_at))
