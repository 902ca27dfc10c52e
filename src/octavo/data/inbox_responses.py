"""Holds the responses that inbox rows are built from. They are reduced to the parts that rows depend on, because
complete responses would take ten times the memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeAlias

from octavo.api.comments import Comment, List, ListReplies
from octavo.api.operation import Operation
from octavo.data.inbox import message_facts
from octavo.data.queries import PAGE_LIMIT

MOST_SHARED = 10_000
"""Number of shared authors, pages and permissions above which the shared objects are released."""
ListedItems: TypeAlias = tuple[Operation[Any], Sequence[Any]]
"""A list operation, and the items of its response."""


class InboxResponses:
    """The items of each response, by URL."""

    def __init__(self) -> None:
        self.values: dict[str, tuple[Any, ...]] = {}
        """The reduced items of each response. Replies are `MessageFacts`. If a response is fetched again unchanged, its
        items stay the same object."""
        self.new: dict[str, ListedItems] = {}
        """Responses that are not reduced yet, by URL."""
        self._shared: dict[Any, Any] = {}
        """Authors, pages and permissions of comments. Equal ones are one object that all comments share."""
        self._last_posts: dict[str, tuple[object, datetime | None]] = {}
        """The results of `last_post`, and the items they were computed from."""

    @property
    def pages(self) -> dict[str, int]:
        """The number of pages of each response that has more than one, by URL."""
        return {url: -(-len(items) // PAGE_LIMIT) for url, items in self.values.items() if len(items) > PAGE_LIMIT}

    def take_new(self) -> dict[str, ListedItems]:
        """Remove and return the responses that are not reduced yet."""
        new, self.new = self.new, {}
        return new

    def reduce(self, new: Mapping[str, ListedItems]) -> dict[str, tuple[Any, ...]]:
        """Return the reduced items of each response. Can be called in any thread, but not in two at the same time."""
        if len(self._shared) > MOST_SHARED:
            self._shared.clear()
        return {url: self._reduced(self.values.get(url), *response) for url, response in new.items()}

    def put(self, reduced: Mapping[str, tuple[Any, ...]]) -> bool:
        """Store reduced responses. Return whether any of them has changed."""
        differs = any(self.values.get(url) is not items for url, items in reduced.items())
        self.values.update(reduced)
        return differs

    def keep_only(self, urls: Collection[str]) -> None:
        """Remove all responses except those with these URLs."""
        for url in [url for url in self.values if url not in urls]:
            del self.values[url]
            self._last_posts.pop(url, None)
        self.new = {url: response for url, response in self.new.items() if url in urls}

    def last_post(self, op: Operation[Any], url: str, me: str, *, is_mine: bool) -> datetime | None:
        """Return the time of the last post in the user's threads in the response at `url`. None if it has no such
        thread.

        For a response with replies, `is_mine` is whether its thread concerns the user.
        """
        items = self.values.get(url, ())
        known = self._last_posts.get(url)
        if known is not None and known[0] is items:
            return known[1]
        posts: Sequence[Any] = ()
        if isinstance(op, ListReplies):
            posts = items if is_mine or any(each.by == me for each in items) else ()
        elif isinstance(op, List):
            posts = [each for each in items if each.posted_by.id == me]
        last = max((each.posted_at for each in posts if each.posted_at is not None), default=None)
        self._last_posts[url] = items, last
        return last

    def _reduced(self, before: tuple[Any, ...] | None, op: Operation[Any], response: Sequence[Any]) -> tuple[Any, ...]:
        items: tuple[Any, ...] = tuple(map(message_facts, response) if isinstance(op, ListReplies) else response)
        if before is not None and items == before:
            return before
        return tuple(map(self._share_parts, items)) if isinstance(op, List) else items

    def _share_parts(self, comment: Comment) -> Comment:
        """Return the comment with its author, page and permissions replaced by equal objects that other comments
        use."""
        share, target = self._shared.setdefault, comment.target
        by, may, page = comment.posted_by, comment.permissions, target.page
        target = target.model_copy(update={"page": share(page, page)})
        return comment.model_copy(update={"posted_by": share(by, by), "permissions": share(may, may), "target": target})
