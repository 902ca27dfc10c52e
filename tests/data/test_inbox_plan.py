"""Which responses the inbox plans to request, and which it requests again without a changed list."""

from __future__ import annotations

from datetime import timedelta
from itertools import count

import pytest

from octavo.api import teams
from octavo.api.bodies import Markdown
from octavo.api.change_requests import ChangeRequest
from octavo.api.comments import Comment, CreateReply, List, ListReplies
from octavo.api.operation import ListPage, OrganizationRef, SpaceRef
from octavo.api.spaces import Space
from octavo.api.users import Contributor, User
from octavo.data import inbox_plan
from octavo.data.inbox_plan import MAX_RECHECKED_PAGES, FinishedWrite, InboxPlanner, InboxUpdate, needed_replies
from octavo.data.inbox_responses import InboxResponses
from octavo.data.sync_queue import NeededResponse, Rank, Version, is_due
from octavo.data.writes.machine import OutboxEntry
from octavo.data.writes.store import kind_of
from tests.server.small_platform import START

MIA, TOM, ZOE = (User(id=name) for name in ("mia", "tom", "zoe"))
NEAR, FAR = ["a", "b", "c", "d", "e", "f"], ["u", "v", "w", "x", "y", "z"]


class PlanOnDisk:
    """A planner, and the versions on disk of the responses that it needs."""

    def __init__(self) -> None:
        self.versions: dict[str, Version] = {}
        self.now = START + timedelta(hours=1)
        self.responses = InboxResponses()
        self.plan = InboxPlanner(
            OrganizationRef(organization_id="o"), self.responses, self.versions.get, lambda: self.now
        )
        self.plan.my_id = "mia"

    def needed_responses(self, planned: InboxUpdate) -> dict[str, NeededResponse]:
        self.plan.update = planned
        return {needed.url: needed for needed in self.plan.needed_responses()}

    def due(self, planned: InboxUpdate) -> list[NeededResponse]:
        return [
            needed
            for url, needed in self.needed_responses(planned).items()
            if is_due(needed, self.versions.get(url), self.now)
        ]

    def fetch(self, needed: NeededResponse, value: ListPage[Comment] | None = None) -> list[NeededResponse]:
        """Store a response. Return the responses that are needed because of it."""
        self.versions[needed.url] = Version(needed.fingerprint, self.now)
        value = value if value is not None else ListPage[Comment](items=())
        found = list(self.plan.on_response(needed, value))
        self.responses.put(self.responses.reduce(self.responses.take_new_responses()))
        return found


def thread(name: str, by: User = TOM, replies: int = 0) -> Comment:
    return Comment(id=name, posted_by=by, replies=replies, posted_at=START)


def space_of(needed: NeededResponse) -> str:
    return inbox_plan.discussion_of(needed).space_id


@pytest.mark.parametrize(
    ("pages", "fetched"),
    [
        ({}, "abcdu"),
        ({"c": 2}, "abcu"),
        ({"a": 3}, "abu"),
        ({"a": 9}, "au"),
        ({"u": 9}, "au"),
        ({"b": 4}, "auvwx"),
    ],
)
def test_long_thread_lists_reduce_other_requests(
    pages: dict[str, int], fetched: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("octavo.data.inbox_responses.PAGE_LIMIT", 1)
    disk, minutes = PlanOnDisk(), count()
    disk.plan.lists = (tuple(Space(id=name, title=name, comments=1) for name in NEAR + FAR), (), ())
    for needed in disk.due(InboxUpdate.START):
        if isinstance(needed.op, List):
            name, disk.now = space_of(needed), START + timedelta(minutes=next(minutes))
            by = MIA if name in NEAR else TOM
            disk.fetch(needed, ListPage(items=tuple(thread(f"{name}{n}", by) for n in range(pages.get(name, 1)))))
        else:
            disk.fetch(needed)
    disk.now = START + timedelta(hours=1)
    assert disk.due(InboxUpdate.START) == disk.due(InboxUpdate.LISTS_CHANGED) == []
    assert "".join(sorted(map(space_of, disk.due(InboxUpdate.POLL)))) == fetched


def test_round_without_own_threads_requests_five_spaces_of_others() -> None:
    disk = PlanOnDisk()
    disk.plan.lists = (tuple(Space(id=name, title=name, comments=1) for name in FAR), (), ())
    for needed in disk.due(InboxUpdate.START):
        disk.fetch(needed)
    assert [space_of(needed) for needed in disk.due(InboxUpdate.REFRESH)] == FAR[:5]


def test_replies_without_times_replace_two_thread_lists_in_a_poll() -> None:
    disk = PlanOnDisk()
    disk.plan.lists = (tuple(Space(id=name, title=name, comments=1) for name in NEAR + FAR), (), ())
    for needed in disk.due(InboxUpdate.START):
        name = space_of(needed) if isinstance(needed.op, List) else ""
        threads = (thread(f"{name}1", MIA if name in NEAR else TOM, replies=1),) if name else ()
        for replies in disk.fetch(needed, ListPage(items=threads)):
            disk.fetch(replies)
    disk.now = START + timedelta(hours=2)
    due = [needed for needed in disk.due(InboxUpdate.POLL) if isinstance(needed.op, List | ListReplies)]
    assert [needed.rank for needed in due if isinstance(needed.op, ListReplies)] == [Rank.INBOX, Rank.LATER]
    assert len(due) == MAX_RECHECKED_PAGES


def test_each_round_rechecks_reviews_of_one_change_request() -> None:
    disk = PlanOnDisk()
    disk.plan.lists = ((), tuple(ChangeRequest(id=name, space="s", status="open") for name in "pqr"), ())
    for needed in disk.due(InboxUpdate.START):
        disk.fetch(needed)
    seen = []
    for _ in range(3):
        disk.now += timedelta(minutes=1)
        due = disk.due(InboxUpdate.POLL)
        assert len(due) == 2
        (at,) = {inbox_plan.discussion_of(needed) for needed in due}
        seen.append(at)
        for needed in due:
            disk.fetch(needed)
    assert len(set(seen)) == 3


def test_threads_of_others_per_update_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inbox_plan, "MAX_UNCERTAIN_THREADS", 3)
    disk = PlanOnDisk()
    disk.plan.lists = ((Space(id="a", comments=9), Space(id="b", comments=9)), (), ())
    page = ListPage[Comment](items=tuple(thread(f"k{n}", replies=1) for n in range(4)))
    first = [needed for needed in disk.due(InboxUpdate.START) if isinstance(needed.op, List)]
    found = [disk.fetch(needed, page) for needed in first]
    assert [sum(needed.rank is Rank.INBOX for needed in needed_responses) for needed_responses in found] == [3, 0]
    assert {needed.rank for needed in found[1]} == {Rank.LATER}
    urgent = [each for each in found[0] if each.rank is Rank.INBOX]
    for needed in urgent:
        disk.fetch(needed)
    replies = [
        needed for needed in disk.needed_responses(InboxUpdate.POLL).values() if isinstance(needed.op, ListReplies)
    ]
    assert len(replies) == 8
    again = [needed for needed in replies if needed.rank is Rank.INBOX]
    assert len(again) == 3
    assert not {needed.url for needed in again} & {needed.url for needed in urgent}


def test_spaces_with_a_write_in_flight_are_read_from_disk() -> None:
    disk, at = PlanOnDisk(), SpaceRef(space_id="a")
    disk.plan.lists = ((Space(id="a", comments=1), Space(id="b", comments=1)), (), ())
    for needed in disk.due(InboxUpdate.START):
        disk.fetch(needed)
    disk.plan.lists = ((Space(id="a", comments=2), Space(id="b", comments=2), Space(id="c", comments=1)), (), ())
    disk.plan.busy_discussions = frozenset({at, SpaceRef(space_id="c")})
    assert [space_of(needed) for needed in disk.due(InboxUpdate.LISTS_CHANGED)] == ["b"]
    needed_responses = disk.needed_responses(InboxUpdate.LISTS_CHANGED).values()
    assert [space_of(needed) for needed in needed_responses if needed.label == "threads"] == ["a", "b"]
    disk.plan.busy_discussions = frozenset()
    assert [space_of(needed) for needed in disk.due(InboxUpdate.LISTS_CHANGED)] == ["a", "b", "c"]


def test_plan_from_disk_has_no_due_requests() -> None:
    disk = PlanOnDisk()
    disk.plan.lists = ((Space(id="a", comments=1), Space(id="b", comments=1)), (), ())
    disk.fetch(next(needed for needed in disk.due(InboxUpdate.START) if needed.label == "threads"))
    disk.plan.lists = ((Space(id="a", comments=2), Space(id="b", comments=1)), (), ())
    disk.plan.is_from_disk = True
    assert disk.due(InboxUpdate.START) == []
    assert [space_of(needed) for needed in disk.needed_responses(InboxUpdate.START).values()] == ["a"]


@pytest.mark.parametrize("passed", [timedelta(seconds=1), timedelta(days=-1)], ids=["later", "clock set back"])
def test_responses_changed_by_a_write_are_fetched_once(entry: OutboxEntry, passed: timedelta) -> None:
    disk, at = PlanOnDisk(), entry.at
    disk.plan.lists = ((Space(id=at.space_id, comments=1), Space(id="b", comments=1)), (), ())
    page = ListPage[Comment](items=(thread("k", MIA, 1),))
    for needed in disk.due(InboxUpdate.START):
        for reply in disk.fetch(needed, page if needed.label == "threads" else None):
            disk.fetch(reply)
    disk.now += timedelta(minutes=1)
    disk.plan.finished.append(FinishedWrite(entry, disk.now))
    assert disk.due(InboxUpdate.LISTS_CHANGED) == []
    disk.now += passed

    def due_discussions() -> list[NeededResponse]:
        return [needed for needed in disk.due(InboxUpdate.START) if needed.url != disk.plan.teams_url]

    due = due_discussions()
    assert [(needed.label, space_of(needed)) for needed in due] == [("threads", at.space_id), ("replies", at.space_id)]
    disk.fetch(due[0], page)
    assert not disk.plan.drop_finished()
    disk.fetch(due[1])
    assert disk.plan.drop_finished()
    assert due_discussions() == []


@pytest.fixture
def entry() -> OutboxEntry:
    op = CreateReply(at=SpaceRef(space_id="a"), comment_id="k", body=Markdown(markdown="I see."))
    return OutboxEntry("e", op, kind_of(op).traits(op), "reply", START, START)


def test_repliers_come_from_servers_that_list_them() -> None:
    here, later = SpaceRef(space_id="s"), START + timedelta(hours=1)

    def needed(*repliers: Contributor, lists_them: bool = True) -> NeededResponse:
        root = Comment(id="k", posted_by=TOM, replies=2, repliers=repliers if lists_them else None)
        (found,) = needed_replies(here, [root], "mia", is_own_request=False)
        return found

    of_others = needed(Contributor(user=ZOE, count=2, updated_at=START))
    with_mine = needed(Contributor(user=ZOE, count=1, updated_at=START), Contributor(user=MIA, updated_at=START))
    assert (needed(lists_them=False).rank, of_others.rank, with_mine.rank) == (Rank.LATER, Rank.LATER, Rank.INBOX)
    assert of_others.fingerprint == with_mine.fingerprint != needed(lists_them=False).fingerprint
    assert needed(Contributor(user=ZOE, count=2, updated_at=later)).fingerprint != of_others.fingerprint


def test_teams_are_not_requested_while_the_user_is_unknown() -> None:
    disk = PlanOnDisk()
    disk.plan.my_id = ""
    assert disk.plan.teams_url == ""
    assert not any(
        isinstance(needed.op, teams.ListOfMember) for needed in disk.needed_responses(InboxUpdate.REFRESH).values()
    )
    disk.plan.drop_finished()
    disk.plan.my_id = "mia"
    assert disk.plan.teams_url in disk.needed_responses(InboxUpdate.REFRESH)
