"""A small model of spaces, change requests and comments, to compare the platform with."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeVar

import pytest
from hypothesis import strategies as st
from pydantic import SecretStr

from octavo.api import change_requests, collections, comments, content, spaces
from octavo.api.bodies import Markdown
from octavo.api.errors import NotFound, Rejected
from octavo.api.operation import ChangeRequestRef, CollectionRef, Discussion, Operation, SpaceRef
from octavo.client.client import Client
from tests.server.refusing_platform import Platform
from tests.server.small_platform import ACME, Clock, small_context

T = TypeVar("T")
Texts = dict[str, str]
"""Texts of pages by title. Every title is used once."""

WEEK = timedelta(days=7)


@dataclass
class ThreadModel:
    id: str
    resolved: bool = False
    replies: list[str] = field(default_factory=list)


@dataclass
class ChangeRequestModel:
    """The expected state of a change request."""

    at: ChangeRequestRef
    number: int
    base: str
    """Revision of main at the last update."""
    texts: Texts
    status: str = "draft"
    merged: str | None = None
    threads: list[ThreadModel] = field(default_factory=list)

    @property
    def is_closed(self) -> bool:
        return self.status in ("merged", "archived")


@dataclass
class SpaceModel:
    """The expected state of a space."""

    at: SpaceRef
    title: str
    main: str
    """Current revision of main."""
    texts: dict[str, Texts]
    """Contents of the revisions of main by id."""
    parent: str | None = None
    deleted: datetime | None = None
    threads: list[ThreadModel] = field(default_factory=list)
    proposals: list[ChangeRequestModel] = field(default_factory=list)


def count_open(threads: Sequence[ThreadModel]) -> int:
    return sum(not thread.resolved for thread in threads)


PICK = st.integers(0, 30)
"""Index of an existing item, modulo their number."""


def pick_item(things: Sequence[T], pick: int) -> T:
    return things[pick % len(things)]


class PlatformWithModel:
    """The platform, a client of an admin, and the expected state."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.clock = Clock()
        self.context = small_context(self.clock)
        self.open()
        self.places: list[SpaceModel] = []
        self.rows: dict[str | None, list[SpaceModel]] = {}
        """Items of each collection and of the root in order, with deleted spaces."""

    def open(self) -> None:
        self.platform = Platform(self.context)
        self.client = Client("http://octavo.test", SecretStr("key-ada"), transport=self.platform)

    def close(self) -> None:
        self.run(self.client.aclose())
        self.platform.close()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    def ask(self, op: Operation[T]) -> T:
        return self.run(self.client(op))

    def assert_refused(self, op: Operation[Any], kind: type[Rejected], says: str | None = None) -> None:
        with pytest.raises(kind, match=says):
            self.ask(op)

    @property
    def current_places(self) -> list[SpaceModel]:
        return [place for place in self.places if place.deleted is None]

    @property
    def deleted(self) -> list[SpaceModel]:
        return [place for place in self.places if place.deleted is not None]

    def is_removed(self, place: SpaceModel) -> bool:
        return place.deleted is not None and self.clock() - place.deleted >= WEEK

    def place(self, pick: int) -> SpaceModel:
        return pick_item(self.current_places, pick)

    def texts(self, at: SpaceRef | ChangeRequestRef) -> Texts:
        pages = self.ask(content.ListPages(at=at)).pages
        found = {}
        for page in pages:
            read = self.ask(content.GetPage(at=at, page_id=page.id, format="markdown"))
            found[page.title] = (read.markdown or "").strip()
        assert len(found) == len(pages)
        return found

    def check(self, place: SpaceModel, at: Discussion | None = None, threads: Sequence[ThreadModel] = ()) -> None:
        """Check a space and its change requests against the model. With `at`, also check its threads."""
        if self.is_removed(place):
            self.assert_refused(spaces.Get(at=place.at), NotFound)
            return
        shown = self.ask(spaces.Get(at=place.at))
        statuses = Counter(each.status for each in place.proposals)
        assert (shown.title, shown.parent, shown.deleted_at) == (place.title, place.parent, place.deleted)
        assert (shown.revision, shown.comments) == (place.main, count_open(place.threads))
        assert shown.change_requests == len(place.proposals)
        assert (shown.change_requests_open, shown.change_requests_draft) == (statuses["open"], statuses["draft"])
        if place.deleted is not None:
            self.assert_refused(content.ListPages(at=place.at), NotFound)
            self.assert_refused(comments.Create(at=place.at, body=Markdown(markdown="x")), NotFound)
            return
        for proposal in place.proposals:
            self.check_proposal(place, proposal)
        if at is not None:
            listed = self.ask(comments.List(at=at, order="asc", limit=1000)).items
            assert [(each.id, each.status, each.replies) for each in listed] == [
                (each.id, "resolved" if each.resolved else "open", len(each.replies)) for each in threads
            ]

    def check_proposal(self, place: SpaceModel, proposal: ChangeRequestModel) -> None:
        shown = self.ask(change_requests.Get(at=proposal.at))
        assert (shown.number, shown.status) == (proposal.number, proposal.status)
        assert (shown.revision_merged, shown.comments) == (proposal.merged, count_open(proposal.threads))
        assert shown.outdated is (proposal.status != "merged" and proposal.base != place.main)
        assert shown.base == proposal.base

    def check_order(self) -> None:
        """Check the order of the spaces that are not deleted."""
        listed = self.ask(spaces.List(at=ACME, limit=1000)).items
        for parent, row in self.rows.items():
            wanted = [place.at.space_id for place in row if place.deleted is None]
            assert [each.id for each in listed if each.parent == parent] == wanted
            if parent:
                inside = self.ask(collections.ListSpaces(at=CollectionRef(collection_id=parent), limit=1000)).items
                assert [each.id for each in inside] == wanted

    def check_statuses(self, place: SpaceModel) -> None:
        for status in ("draft", "open", "archived", "merged"):
            listed = self.ask(change_requests.List(at=place.at, status=status, limit=1000)).items
            wanted = {each.number for each in place.proposals if each.status == status}
            assert {each.number for each in listed} == wanted

    def check_everything(self) -> None:
        if not self.rows:
            return
        self.check_order()
        for place in self.places:
            self.check(place)
        for place in self.current_places:
            assert self.texts(place.at) == place.texts[place.main]
            self.check_statuses(place)
            for proposal in place.proposals:
                assert self.texts(proposal.at) == proposal.texts
