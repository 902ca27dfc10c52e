"""Requests of the inbox, and when they are sent."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

from octavo.api import change_requests, comments, organizations, reviews, spaces, teams
from octavo.api.bodies import Markdown
from octavo.api.errors import NotSent, Trace, rejected
from octavo.api.operation import ChangeRequestRef, SpaceRef
from octavo.api.organizations import Organization
from octavo.api.users import User
from octavo.data import inbox_loader, inbox_plan, sync_queue
from octavo.data.drafts import Drafts
from octavo.data.inbox import Inbox, InboxData, MessageSummary, ThreadRef, UnknownCounts, inbox_of
from octavo.data.inbox_loader import InboxLoader, InboxSnapshot
from octavo.data.inbox_plan import OWNER, url_of
from octavo.data.inbox_responses import InboxResponses
from octavo.data.live import Live
from octavo.data.offline_spaces import OfflineSpaces
from octavo.data.polling import Poller
from octavo.data.queries import change_requests_op, replies_op
from octavo.data.response_cache import ResponseCache
from octavo.data.state_db import StateDb
from octavo.data.sync_queue import MAX_BACKGROUND, MAX_FAILURES
from octavo.data.writes.machine import NewWrite
from octavo.documents.suggestions import mention_suffix
from tests.data.background_requests import wait_idle
from tests.data.conftest import ManualOutbox
from tests.data.connections import RequestGate
from tests.data.snapshot_watcher import SnapshotWatcher
from tests.server.refusing_platform import Platform
from tests.server.small_platform import ACME, Ask, Clock, space_with


class InboxWatcher:
    """Records the snapshots of the inbox."""

    def __init__(self) -> None:
        self.seen: list[InboxSnapshot] = []
        self.is_shown = asyncio.Event()

    def __call__(self, snapshot: InboxSnapshot) -> None:
        self.seen.append(snapshot)
        self.is_shown.set()

    @property
    def now(self) -> InboxSnapshot:
        return self.seen[-1]

    def reasons(self) -> list[str]:
        return [row.reason for row in self.now.rows]


@pytest.fixture
async def acme(ask: Ask) -> Organization:
    return await ask(organizations.Get(at=ACME))


@pytest.fixture
async def inbox(live: Live, drafts: Drafts, acme: Organization) -> InboxLoader:
    return InboxLoader(live, drafts, acme)


def take_requests(gate: RequestGate) -> Counter[str]:
    """Return the number of requests since the last call, by operation."""
    found = Counter(f"{type(op).__module__.rpartition('.')[2]}.{type(op).__name__}" for op in gate.requests)
    gate.requests.clear()
    return found


async def follow(inbox: InboxLoader) -> InboxWatcher:
    view = InboxWatcher()
    inbox.subscribe(view)
    await inbox.refresh()
    return view


async def wait_for_rows(inbox: InboxLoader) -> None:
    inbox.rebuild()
    async with asyncio.timeout(60):
        while not inbox.is_idle:  # noqa: ASYNC110  # no event marks the end of a build
            await asyncio.sleep(0.001)


async def refresh_and_compare(inbox: InboxLoader, view: InboxWatcher) -> None:
    await inbox.refresh()
    assert view.now == inbox.snapshot()


async def open_change_request(ask: Ask, here: SpaceRef, by: str = "ada", subject: str = "Rotate") -> ChangeRequestRef:
    made = await ask(change_requests.Create(at=here, subject=subject), by)
    await ask(change_requests.Update(at=made.ref(here), status="open"), by)
    return made.ref(here)


def markdown(text: str) -> Markdown:
    return Markdown(markdown=text)


MENTION = f"[@Mia{mention_suffix('mia')} look"


async def test_inbox_without_watchers_sends_no_requests(inbox: InboxLoader, gate: RequestGate, here: SpaceRef) -> None:
    await inbox.refresh()
    assert gate.requests == []
    leave = inbox.subscribe(InboxWatcher())
    await inbox.refresh()
    assert gate.requests
    leave()
    gate.requests.clear()
    await inbox.refresh()
    assert gate.requests == []


async def test_inbox_builds_no_rows_after_the_last_watcher_left(inbox: InboxLoader, gate: RequestGate) -> None:
    gate.hold()
    errors: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: errors.append(context))
    leave = inbox.subscribe(InboxWatcher())
    refresh = asyncio.create_task(inbox.refresh())
    inbox.rebuild()
    while len(gate.requests) < 3:  # noqa: ASYNC110  # the gate has no event for requests
        await asyncio.sleep(0.01)
    leave()
    for _ in range(20):
        await asyncio.sleep(0)
        assert inbox.is_idle, "what rows are made of may be closed by now"
    await refresh
    gc.collect()
    assert not errors


async def test_edited_and_replaced_replies_are_noticed(
    inbox: InboxLoader, ask: Ask, here: SpaceRef, clock: Clock
) -> None:
    mine = await ask(comments.Create(at=here, body=markdown("Is this so?")), "mia")
    other = await ask(comments.Create(at=here, body=markdown("And this?")), "ada")
    reply = await ask(comments.CreateReply(at=here, comment_id=mine.id, body=markdown("Yes.")), "ada")
    edited = await ask(comments.CreateReply(at=here, comment_id=other.id, body=markdown("No.")), "ada")
    view = await follow(inbox)
    assert view.reasons() == ["new replies"]
    clock.forward(minutes=1)
    await ask(comments.DeleteReply(at=here, comment_id=mine.id, comment_reply_id=reply.id), "ada")
    await ask(comments.CreateReply(at=here, comment_id=mine.id, body=markdown("Thanks.")), "mia")
    op = comments.UpdateReply(at=here, comment_id=other.id, comment_reply_id=edited.id, body=markdown(MENTION))
    await ask(op, "ada")
    await inbox.refresh()
    await wait_for_rows(inbox)
    assert view.reasons() == ["mentioned"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # from objects of earlier tests
async def test_loader_without_watchers_is_freed(live: Live, drafts: Drafts, acme: Organization) -> None:
    inbox = InboxLoader(live, drafts, acme)
    leave = inbox.subscribe(InboxWatcher())
    await inbox.refresh()
    leave()
    loader = weakref.ref(inbox)
    del inbox, leave
    for _ in range(20):
        await asyncio.sleep(0)
    gc.collect()
    assert loader() is None


async def test_actions_of_other_users_make_rows(inbox: InboxLoader, ask: Ask, here: SpaceRef) -> None:
    asked_of_mia = await open_change_request(ask, here)
    await ask(reviews.Request(at=asked_of_mia, users=("mia",)))
    mine = await open_change_request(ask, here, "mia")
    await ask(reviews.Submit(at=mine, status="approved"), "ada")
    thread = await ask(comments.Create(at=here, body=markdown("Why 24 hours?")), "mia")
    await ask(comments.CreateReply(at=here, comment_id=thread.id, body=markdown("For the nights.")), "tom")
    named = await ask(comments.Create(at=here, page="intro", body=markdown(MENTION)), "zoe")
    on_mine = await ask(comments.Create(at=mine, body=markdown("Too long.")), "tom")
    view = await follow(inbox)
    assert [(row.reason, row.target) for row in view.now.rows] == [
        ("review requested", asked_of_mia),
        ("approved", mine),
        ("new replies", ThreadRef(here, thread.id)),
        ("on my change requests", ThreadRef(mine, on_mine.id)),
        ("mentioned", ThreadRef(here, named.id)),
    ]
    assert view.now.unknown.summary == ""
    assert view.now.failed == ()
    assert (view.now.fetched_count, view.now.due_count, view.now.is_loading) == (
        view.now.due_count,
        view.now.due_count,
        False,
    )


async def test_unsent_writes_of_another_account_do_not_change_the_inbox(
    inbox: InboxLoader,
    ask: Ask,
    gate: RequestGate,
    here: SpaceRef,
    outbox: ManualOutbox,
    state: StateDb,
    drafts: Drafts,
) -> None:
    at = await open_change_request(ask, here)
    thread = await ask(comments.Create(at=here, body=markdown("Why 24 hours?")), "mia")
    await ask(comments.CreateReply(at=here, comment_id=thread.id, body=markdown("For the nights.")), "tom")
    jun = ManualOutbox(gate, state, drafts, me=User(id="jun"), undo_seconds=0.0)
    answer = comments.CreateReply(at=here, comment_id=thread.id, body=markdown("I see."))
    await jun.add_all([NewWrite(answer, "reply")])
    await jun.add_pending_comments([NewWrite(comments.Create(at=at, body=markdown("Later.")), "comment")])
    outbox._entries.reload()
    view = await follow(inbox)
    assert [(row.reason, row.target) for row in view.now.rows] == [("new replies", ThreadRef(here, thread.id))]
    await jun.close()


async def test_space_of_a_write_that_cannot_be_sent_is_fetched(
    inbox: InboxLoader, ask: Ask, gate: RequestGate, here: SpaceRef, outbox: ManualOutbox, clock: Clock
) -> None:
    thread = await ask(comments.Create(at=here, body=markdown("Why 24 hours?")), "mia")
    await outbox.add_all([NewWrite(comments.Create(at=here, body=markdown("Hello.")), "comment")])
    clock.forward(seconds=outbox.undo_seconds)
    await outbox.step()
    gate.errors.append(rejected("Please wait.", Trace(status=429, retry_at=clock() + timedelta(hours=9))))
    await outbox.send_due()
    view = await follow(inbox)
    assert view.reasons() == []
    await ask(comments.CreateReply(at=here, comment_id=thread.id, body=markdown("For the nights.")), "tom")
    await refresh_and_compare(inbox, view)
    assert view.reasons() == ["new replies"]


async def test_team_of_the_user_is_loaded_without_failures(inbox: InboxLoader, ask: Ask, here: SpaceRef) -> None:
    await ask(teams.Create(at=ACME, title="Docs", members=("mia",)))
    view = await follow(inbox)
    assert view.now.failed == ()


async def test_round_without_changes_requests_lists_and_few_others(
    inbox: InboxLoader, ask: Ask, gate: RequestGate, here: SpaceRef
) -> None:
    for number in range(12):
        at = await open_change_request(ask, here, subject=f"n{number}")
        await ask(comments.Create(at=at, body=markdown("Hm.")), "tom")
    view = await follow(inbox)
    first = take_requests(gate)
    assert (first["reviews.List"], first["reviews.ListRequested"], first["comments.List"]) == (12, 12, 12)
    await refresh_and_compare(inbox, view)
    again = take_requests(gate)
    assert (again["spaces.List"], again["change_requests.ListOfOrganization"]) == (1, 2)
    assert again.total() <= 12
    assert (again["reviews.List"], again["reviews.ListRequested"], again["comments.List"]) == (1, 1, 5)


async def test_round_requests_only_changed_responses(
    inbox: InboxLoader, ask: Ask, gate: RequestGate, here: SpaceRef, clock: Clock
) -> None:
    ats = [await open_change_request(ask, here, subject=f"n{number}") for number in range(20)]
    view = await follow(inbox)
    assert view.reasons() == []
    clock.forward(seconds=1)
    await ask(reviews.Request(at=ats[7], users=("mia",)))
    take_requests(gate)
    await refresh_and_compare(inbox, view)
    assert [(row.reason, row.target) for row in view.now.rows] == [("review requested", ats[7])]
    assert take_requests(gate).total() <= 12


async def test_changes_without_a_fingerprint_are_found(
    inbox: InboxLoader, ask: Ask, gate: RequestGate, here: SpaceRef
) -> None:
    thread = await ask(comments.Create(at=here, body=markdown("Why 24 hours?")), "mia")
    for number in range(12):
        other = await space_with(ask, f"Space {number}")
        await ask(comments.Create(at=other.ref, body=markdown("Hm.")), "tom")
    at = await open_change_request(ask, here)
    await ask(reviews.Request(at=at, users=("mia",)))
    view = await follow(inbox)
    assert view.reasons() == ["review requested"]
    await ask(reviews.Withdraw(at=at, user_id="mia"))
    await ask(comments.CreateReply(at=here, comment_id=thread.id, body=markdown("For the nights.")), "tom")
    await refresh_and_compare(inbox, view)
    assert view.reasons() == ["new replies"]


async def test_poll_that_finds_a_changed_list_shows_no_loading(
    live: Live, inbox: InboxLoader, ask: Ask, here: SpaceRef, clock: Clock
) -> None:
    view = await follow(inbox)
    poller = Poller(live, after_poll=inbox.poll)
    at = await open_change_request(ask, here)
    await ask(reviews.Request(at=at, users=("mia",)), "ada")
    clock.forward(minutes=2)
    view.seen.clear()
    await poller.run()
    await wait_for_rows(inbox)
    assert view.reasons() == ["review requested"]
    assert [each.is_loading for each in view.seen if each.is_loading] == []


async def test_reply_is_found_although_a_list_changes_before_each_poll(
    inbox: InboxLoader, live: Live, ask: Ask, here: SpaceRef, clock: Clock
) -> None:
    drafts = [(await ask(change_requests.Create(at=here, subject=f"n{n}"), "ada")).ref(here) for n in range(12)]
    at = await open_change_request(ask, here)
    thread = await ask(comments.Create(at=at, body=markdown("Why 24 hours?")), "mia")
    view = await follow(inbox)
    poller = Poller(live, after_poll=inbox.poll)
    await ask(comments.CreateReply(at=at, comment_id=thread.id, body=markdown("For the nights.")), "tom")
    for number in range(3):
        clock.forward(minutes=2)
        for each in drafts:
            await ask(change_requests.Update(at=each, subject=f"Rotate {number}"), "ada")
        await poller.run()
    assert view.reasons() == ["new replies"]


async def test_mention_in_a_new_reply_to_a_thread_of_others_is_found(
    inbox: InboxLoader, ask: Ask, here: SpaceRef
) -> None:
    thread = await ask(comments.Create(at=here, body=markdown("Why 24 hours?")), "zoe")
    await ask(comments.CreateReply(at=here, comment_id=thread.id, body=markdown("For the nights.")), "tom")
    view = await follow(inbox)
    assert view.reasons() == []
    await ask(comments.CreateReply(at=here, comment_id=thread.id, body=markdown(MENTION)), "tom")
    await refresh_and_compare(inbox, view)
    assert view.reasons() == ["mentioned"]


async def test_thread_of_another_user_with_a_reply_of_yours_is_found(
    inbox: InboxLoader, ask: Ask, here: SpaceRef
) -> None:
    thread = await ask(comments.Create(at=here, body=markdown("Why 24 hours?")), "zoe")
    await ask(comments.CreateReply(at=here, comment_id=thread.id, body=markdown("For the nights.")), "mia")
    await ask(comments.CreateReply(at=here, comment_id=thread.id, body=markdown("Which?")), "zoe")
    view = await follow(inbox)
    assert view.reasons() == ["new replies"]


async def test_replies_that_the_inbox_has_fetched_are_shown_at_once(
    inbox: InboxLoader, live: Live, ask: Ask, gate: RequestGate, here: SpaceRef
) -> None:
    thread = await ask(comments.Create(at=here, body=markdown("Why 24 hours?")), "mia")
    await ask(comments.CreateReply(at=here, comment_id=thread.id, body=markdown("For the nights.")), "tom")
    await follow(inbox)
    take_requests(gate)
    screen = SnapshotWatcher()
    live.watch(replies_op(here, thread.id), screen, refetch=False)
    await wait_idle(live)
    assert screen.texts == ["For the nights."]
    assert take_requests(gate).total() == 0


async def test_next_start_shows_cached_rows_with_few_requests(
    inbox: InboxLoader,
    live: Live,
    ask: Ask,
    gate: RequestGate,
    here: SpaceRef,
    outbox: ManualOutbox,
    cache: ResponseCache,
    drafts: Drafts,
    acme: Organization,
    clock: Clock,
) -> None:
    for number in range(12):
        at = await open_change_request(ask, here, subject=f"n{number}")
        await ask(reviews.Request(at=at, users=("mia",)))
        thread = await ask(comments.Create(at=at, body=markdown("Hm.")), "mia")
        await ask(comments.CreateReply(at=at, comment_id=thread.id, body=markdown("Why?")), "tom")
    view = await follow(inbox)
    rows = view.now.rows
    assert len(rows) == 24
    await live.close()
    cache.flush()
    gate.requests.clear()
    gate.hold()
    later = InboxLoader(Live(gate, cache, outbox, now=clock), drafts, acme)
    view = InboxWatcher()
    leave = later.subscribe(view)
    async with asyncio.timeout(60):
        while view.now.rows != rows:
            view.is_shown.clear()
            await view.is_shown.wait()
    assert view.now.is_loading
    gate.release()
    await later.refresh()
    assert later.snapshot().rows == rows
    counted = take_requests(gate)
    assert counted == {"spaces.List": 1, "change_requests.ListOfOrganization": 2}, (
        "the few that may have moved can wait"
    )
    leave()
    clock.forward(hours=1)
    await follow(InboxLoader(Live(gate, cache, outbox, now=clock), drafts, acme))
    assert take_requests(gate)["teams.ListOfMember"] == 1


async def test_row_with_a_write_in_flight_is_hidden_and_stays_hidden(
    inbox: InboxLoader, ask: Ask, gate: RequestGate, here: SpaceRef, outbox: ManualOutbox, clock: Clock
) -> None:
    thread = await ask(comments.Create(at=here, body=markdown("Why 24 hours?")), "mia")
    await ask(comments.CreateReply(at=here, comment_id=thread.id, body=markdown("For the nights.")), "tom")
    view = await follow(inbox)
    assert view.reasons() == ["new replies"]
    answer = comments.CreateReply(at=here, comment_id=thread.id, body=markdown("I see."))
    await outbox.add_all([NewWrite(answer, "reply")])
    await wait_for_rows(inbox)
    assert view.reasons() == []
    clock.forward(seconds=10)
    await outbox.send_due()
    assert not outbox.entries
    await wait_for_rows(inbox)
    assert view.reasons() == []
    await refresh_and_compare(inbox, view)
    assert view.reasons() == []
    await ask(comments.CreateReply(at=here, comment_id=thread.id, body=markdown("Do you?")), "tom")
    await refresh_and_compare(inbox, view)
    assert view.reasons() == ["new replies"]


async def test_failed_lists_are_reported_and_the_rest_is_shown(
    inbox: InboxLoader, ask: Ask, gate: RequestGate, here: SpaceRef
) -> None:
    await ask(comments.Create(at=here, body=markdown(MENTION)), "zoe")
    view = await follow(inbox)
    assert view.reasons() == ["mentioned"]
    gate.errors += [NotSent("Can't reach the server.")] * 9
    await refresh_and_compare(inbox, view)
    gate.errors.clear()
    assert view.reasons() == ["mentioned"]
    assert {each.cause for each in view.now.failed} == {"Can't reach the server."}
    await refresh_and_compare(inbox, view)
    assert view.now.failed == ()


async def test_server_that_always_fails_gets_few_requests(
    inbox: InboxLoader, ask: Ask, gate: RequestGate, platform: Platform, here: SpaceRef
) -> None:
    for number in range(12):
        at = await open_change_request(ask, here, subject=f"n{number}")
        await ask(comments.Create(at=at, body=markdown("Hm.")), "tom")
    kinds = (reviews.List, reviews.ListRequested, comments.List)
    for each in kinds:
        platform.refuse_next(each, 503, "The harbour master says no.", times=100)
    view = await follow(inbox)
    assert 0 < sum(isinstance(op, kinds) for op in gate.requests) <= MAX_FAILURES + MAX_BACKGROUND
    assert view.now.failed
    platform._refusals.clear()
    await refresh_and_compare(inbox, view)
    assert (view.now.failed, view.now.unknown.summary) == ((), "")


async def test_one_failing_response_blocks_no_other(
    inbox: InboxLoader, ask: Ask, platform: Platform, here: SpaceRef
) -> None:
    places = [await open_change_request(ask, here, subject=f"n{number}") for number in range(12)]
    await ask(comments.Create(at=places[0], body=markdown("Hm.")), "tom")
    platform.refuse_next(comments.List, 500, "The harbour master says no.", times=4)
    view = await follow(inbox)
    assert [each.label for each in view.now.failed] == ["threads"]
    assert view.now.unknown == UnknownCounts(thread_lists=1)


async def test_offline_requests_are_repeated_after_the_first_response(
    inbox: InboxLoader, ask: Ask, gate: RequestGate, here: SpaceRef, live: Live
) -> None:
    await ask(comments.Create(at=here, body=markdown(MENTION)), "zoe")
    view = await follow(inbox)
    gate.errors += [NotSent("Can't reach the server.")] * 9
    await refresh_and_compare(inbox, view)
    assert view.now.failed
    gate.errors.clear()
    await live.fetch(spaces.Get(at=here))
    while view.now.failed:
        view.is_shown.clear()
        await view.is_shown.wait()
    assert view.reasons() == ["mentioned"]


async def test_drafts_and_pending_comments_are_rows_at_once(
    inbox: InboxLoader, ask: Ask, here: SpaceRef, drafts: Drafts, outbox: ManualOutbox, state: StateDb
) -> None:
    at = await open_change_request(ask, here)
    view = await follow(inbox)
    await outbox.add_pending_comments([NewWrite(comments.Create(at=at, body=markdown("Too long.")), "comment")])
    await drafts.save(f"comment {here.space_id} intro ", "Half a")
    await wait_for_rows(inbox)
    assert [(row.reason, row.reason_text) for row in view.now.rows] == [
        ("unsent draft", "1 pending comment: submit your review to send it"),
        ("unsent draft", "unsent draft: a comment"),
    ]
    assert view.now.failed == ()


async def test_threads_of_a_space_without_open_threads_are_not_requested(
    inbox: InboxLoader, ask: Ask, gate: RequestGate, here: SpaceRef
) -> None:
    thread = await ask(comments.Create(at=here, body=markdown(MENTION)), "zoe")
    view = await follow(inbox)
    assert view.reasons() == ["mentioned"]
    await ask(comments.Update(at=here, comment_id=thread.id, resolved=True))
    take_requests(gate)
    await refresh_and_compare(inbox, view)
    assert view.reasons() == []
    assert take_requests(gate)["comments.List"] == 0
    assert (await ask(spaces.Get(at=here))).comments == 0


async def test_changed_list_keeps_cached_replies(
    inbox: InboxLoader,
    live: Live,
    ask: Ask,
    gate: RequestGate,
    here: SpaceRef,
    outbox: ManualOutbox,
    cache: ResponseCache,
    drafts: Drafts,
    acme: Organization,
    clock: Clock,
) -> None:
    for _ in range(5):
        thread = await ask(comments.Create(at=here, body=markdown("Hm.")), "mia")
        await ask(comments.CreateReply(at=here, comment_id=thread.id, body=markdown("Why?")), "tom")
    await follow(inbox)
    assert take_requests(gate)["comments.ListReplies"] == 5
    await live.close()
    cache.flush()
    cache._writer.submit(lambda db: db.execute("DELETE FROM answers WHERE url LIKE '%/comments?%'")).result()
    later = InboxLoader(Live(gate, cache, outbox, now=clock), drafts, acme)
    leave = later.subscribe(InboxWatcher())
    await later.refresh()
    assert len(later.snapshot().rows) == 5
    counted = take_requests(gate)
    assert (counted["comments.List"], counted["comments.ListReplies"]) == (1, 0)
    leave()


async def test_responses_in_memory_share_users_and_shorten_replies(ask: Ask, here: SpaceRef) -> None:
    first = await ask(comments.Create(at=here, body=markdown("Hm.")), "tom")
    await ask(comments.Create(at=here, body=markdown("Why?")), "tom")
    await ask(comments.CreateReply(at=here, comment_id=first.id, body=markdown("So.")), "tom")
    threads = comments.List(at=here, status="open", format="markdown")
    replies = comments.ListReplies(at=here, comment_id=first.id, format="markdown")
    responses = InboxResponses()
    loaded = (await ask(threads)).items
    responses.unreduced = {"t": (threads, loaded), "r": (replies, (await ask(replies)).items)}
    assert responses.put(responses.reduce(responses.take_new_responses()))
    one, other = before = responses.values["t"]
    assert one.posted_by is other.posted_by
    assert one.permissions is other.permissions
    assert before == loaded
    (reply,) = responses.values["r"]
    assert isinstance(reply, MessageSummary)
    assert (reply.author_id, reply.text, reply.posted_at is not None) == ("tom", "So.", True)
    responses.unreduced = {"t": (threads, (await ask(threads)).items)}
    assert not responses.put(responses.reduce(responses.take_new_responses())), "nothing differs"
    assert responses.values["t"] is before


async def test_complete_responses_do_not_stay_in_memory(
    inbox: InboxLoader, live: Live, ask: Ask, here: SpaceRef
) -> None:
    for number in range(6):
        at = await open_change_request(ask, here, subject=f"n{number}")
        await ask(comments.Create(at=at, body=markdown("Hm.")), "tom")
    await follow(inbox)
    await wait_idle(live)
    assert {type(answer.op) for answer in live._responses.values()}.isdisjoint((comments.List, reviews.List))


async def test_responses_are_read_from_disk_once(
    inbox: InboxLoader, cache: ResponseCache, ask: Ask, here: SpaceRef, monkeypatch: pytest.MonkeyPatch
) -> None:
    await ask(comments.Create(at=here, body=markdown("Hm.")), "tom")
    view = await follow(inbox)
    assert url_of(comments.List, here) in cache.versions
    read: list[object] = []
    monkeypatch.setattr(cache, "decode", lambda op, *body: read.append(op))
    await refresh_and_compare(inbox, view)
    assert not read, "they were fetched in this run"


async def test_remaining_replies_are_loaded_after_the_update(
    inbox: InboxLoader, live: Live, ask: Ask, gate: RequestGate, here: SpaceRef, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbox_plan, "MAX_UNCERTAIN_THREADS", 2)
    monkeypatch.setattr(sync_queue, "LATER_INTERVAL", timedelta())
    for _ in range(7):
        thread = await ask(comments.Create(at=here, body=markdown("Hm.")), "zoe")
        await ask(comments.CreateReply(at=here, comment_id=thread.id, body=markdown(MENTION)), "tom")
    view = InboxWatcher()
    inbox.subscribe(view)
    while not view.now.due_count or view.now.is_loading:
        view.is_shown.clear()
        await view.is_shown.wait()
        if view.now.rows and not view.now.is_loading:
            break
    left = view.now.unknown
    assert left.summary.endswith(f": replies in {left.replies} threads")
    assert 0 < left.replies <= 5
    await live.syncer.wait_idle(OWNER)
    await wait_for_rows(inbox)
    assert (view.now.unknown.summary, len(view.now.rows)) == ("", 7)
    assert take_requests(gate)["comments.ListReplies"] == 7, "each once"


async def test_offline_space_reuses_responses_of_the_inbox(
    inbox: InboxLoader, live: Live, state: StateDb, gate: RequestGate, ask: Ask, here: SpaceRef
) -> None:
    for by in ("ada", "mia"):
        at = await open_change_request(ask, here, by)
        await ask(comments.Create(at=at, body=markdown("Too long.")), "tom")
    await follow(inbox)
    take_requests(gate)
    offline = OfflineSpaces(live, state)
    offline.begin()
    offline.add(await ask(spaces.Get(at=here)))
    await offline.wait_idle()
    found = take_requests(gate)
    assert (found["reviews.List"], found["reviews.ListRequested"], found["comments.List"]) == (0, 0, 3), (
        "of the threads all, of the space and of each change request: the inbox reads the open ones"
    )
    kept = offline.get(here.space_id)
    assert kept is not None
    assert (kept.state, kept.failed, kept.downloaded) == ("kept", (), kept.wanted)
    await offline.close()


async def test_inbox_reuses_responses_of_an_offline_space(
    inbox: InboxLoader, live: Live, state: StateDb, gate: RequestGate, ask: Ask, here: SpaceRef, clock: Clock
) -> None:
    mine = await open_change_request(ask, here, "mia")
    view = await follow(inbox)
    assert view.reasons() == []
    clock.forward(minutes=1)
    await ask(reviews.Submit(at=mine, status="approved"), "ada")
    await ask(change_requests.Update(at=mine, subject="Rotate all"), "ada")
    offline = OfflineSpaces(live, state)
    offline.begin()
    offline.add(await ask(spaces.Get(at=here)))
    await offline.wait_idle()
    assert take_requests(gate)["reviews.List"]
    await live.refresh(change_requests_op(ACME.organization_id, "open"))
    while inbox.is_loading:  # noqa: ASYNC110  # no event marks the end of a turn
        await asyncio.sleep(0)
    await wait_for_rows(inbox)
    assert view.reasons() == ["approved"]
    assert take_requests(gate)["reviews.List"] == 0
    await offline.close()


async def test_inbox_is_loading_until_its_first_rows_are_built(
    inbox: InboxLoader, ask: Ask, here: SpaceRef, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked_of_mia = await open_change_request(ask, here)
    await ask(reviews.Request(at=asked_of_mia, users=("mia",)))
    may_build, view = threading.Event(), InboxWatcher()

    def build_later(facts: InboxData) -> Inbox:
        may_build.wait(10)
        return inbox_of(facts)

    monkeypatch.setattr(inbox_loader, "inbox_of", build_later)
    inbox.subscribe(view)
    while inbox.is_loading:  # noqa: ASYNC110  # no event marks the end of an update
        await asyncio.sleep(0.01)
    assert inbox.snapshot().is_loading
    assert inbox.snapshot().rows == ()
    may_build.set()
    await wait_for_rows(inbox)
    assert [row.target for row in view.now.rows] == [asked_of_mia]
    assert not view.now.is_loading
