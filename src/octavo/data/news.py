"""What others have done meanwhile, found by comparing responses. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from octavo.api import change_requests, comments, reviews
from octavo.api.change_requests import ChangeRequest
from octavo.api.operation import ListPage, Operation
from octavo.api.places import Discussion


@dataclass(frozen=True)
class News:
    """The number of changes of each kind."""

    threads: int = 0
    replies: int = 0
    reviews: int = 0
    change_requests: int = 0
    merges: int = 0

    def __add__(self, more: News) -> News:
        return News(
            self.threads + more.threads,
            self.replies + more.replies,
            self.reviews + more.reviews,
            self.change_requests + more.change_requests,
            self.merges + more.merges,
        )


class NewsFinder:
    """Compares responses with those before. A change that several responses show counts once, a change by `me` not at
    all."""

    def __init__(self, me: str) -> None:
        self._me = me
        self._threads: set[str] = set()
        self._replies: dict[tuple[Discussion, str], int] = {}
        self._reviews: set[str] = set()
        self._before: dict[str, ChangeRequest] = {}
        self._after: dict[str, ChangeRequest] = {}

    def compare(self, op: Operation[Any], before: object, after: object) -> None:
        """Count what differs between two responses to `op`."""
        if not isinstance(before, ListPage) or not isinstance(after, ListPage):
            return
        known = {getattr(each, "id", None): each for each in before.items}
        new = [each for each in after.items if getattr(each, "id", None) not in known]
        match op:
            case comments.List():
                # A list that is not whole may show what is old for the first time.
                if before.next is None:
                    self._threads |= {each.id for each in new if each.is_open_thread and each.posted_by.id != self._me}
                for each in after.items:
                    if (old := known.get(each.id)) is not None and each.replies > old.replies:
                        self._count_replies(op.at, each.id, each.replies - old.replies)
            case comments.ListReplies():
                if before.next is None:
                    others = sum(each.posted_by.id != self._me for each in new)
                    self._count_replies(op.at, op.comment_id, others)
            case reviews.List():
                if before.next is None:
                    self._reviews |= {each.id for each in new if each.reviewer.id != self._me}
            case change_requests.ListOfOrganization(status="open" | "draft") if not (before.next or after.next):
                self._before |= {each.id: each for each in before.items}
                self._after |= {each.id: each for each in after.items}

    @property
    def gone(self) -> list[ChangeRequest]:
        """The change requests that were in one of the lists before and are in none now."""
        return [each for name, each in self._before.items() if name not in self._after]

    def news(self, gone: Iterable[ChangeRequest]) -> News:
        """Return all changes. `gone` are the change requests of `gone` as they are now."""
        begun = [each for name, each in self._after.items() if name not in self._before]
        return News(
            threads=len(self._threads),
            replies=sum(self._replies.values()),
            reviews=len(self._reviews),
            change_requests=sum(each.created_by is None or each.created_by.id != self._me for each in begun),
            merges=sum(each.status == "merged" for each in gone),
        )

    def _count_replies(self, at: Discussion, thread: str, number: int) -> None:
        if number > 0:
            self._replies[at, thread] = max(number, self._replies.get((at, thread), 0))
