"""Each row of the table of write kinds, against the embedded platform."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import pytest

import octavo.api
from octavo.api import change_requests, comments, content, reviews, spaces
from octavo.api.bodies import Markdown
from octavo.api.errors import NotFound
from octavo.api.operation import SPECS, ChangeRequestRef, ListPage, Model, Operation, OrganizationRef, SpaceRef
from octavo.api.users import User
from octavo.data.drafts import Drafts
from octavo.data.live import Live
from octavo.data.response_cache import ResponseCache
from octavo.data.state_db import StateDb
from octavo.data.writes.change_request_kinds import MergeState, read_merge_state
from octavo.data.writes.comment_kinds import COMMENT_WRITES
from octavo.data.writes.direct import SendResult, send_direct
from octavo.data.writes.machine import AlreadyDone, Changed, ExpectedState, OutboxEntry, Ready, WriteAttempt
from octavo.data.writes.optimistic_updates import apply_entries
from octavo.data.writes.outbox import Outbox
from octavo.data.writes.store import kind_of, write_kinds
from tests.data.conftest import MIA
from tests.data.connections import RequestGate
from tests.data.test_change_request_writes import edit
from tests.server.small_platform import START, Ask


def update_of(page: str, markdown: str) -> content.UpdatePage:
    """Return an edit of the page."""
    return content.UpdatePage(page=page, document=content.DocumentBody(markdown=markdown))


NEW = Markdown(markdown="Is this *really* right?")


@dataclass(frozen=True)
class PreparedSpace:
    """A space with a thread and a reply of Mia, and a change request that Mia reviews."""

    ask: Ask
    here: SpaceRef
    thread: comments.Comment
    reply: comments.Reply
    at: ChangeRequestRef
    review: reviews.Review
    """A review of Mia."""
    checked: MergeState
    """State for which the merge checks ran: main is newer than the base of the change request."""

    @property
    def of_thread(self) -> dict[str, Any]:
        return {"at": self.here, "comment_id": self.thread.id}

    @property
    def of_reply(self) -> dict[str, Any]:
        return {**self.of_thread, "comment_reply_id": self.reply.id}

    async def send_as(self, op: Operation[Any], user: str = "mia") -> None:
        """Send an operation without the client under test, by default as Mia: only its author can edit a comment."""
        await self.ask(op, user)

    async def edit(self, words: str) -> None:
        """Edit a page of the change request as another user."""
        await edit(self.ask, self.at, "intro", f"# Intro\n\n{words}")


@dataclass(frozen=True)
class Case:
    """A write of one kind."""

    op: Callable[[PreparedSpace], Operation[Any]]
    expected: Callable[[PreparedSpace], ExpectedState] = lambda context: ExpectedState()
    change: Callable[[PreparedSpace], Awaitable[None]] | None = None
    """Changes the target in another place. None if the write depends on nothing that can change."""
    read: Callable[[PreparedSpace], Operation[Any]] | None = None
    """Reads what the write changes. None if the write cannot be undone."""
    is_done_once: bool = True
    """Whether the same write does nothing a second time."""
    user: str = "mia"
    """Id of the user."""


CASES: dict[str, Case] = {
    "new thread": Case(lambda context: comments.Create(at=context.here, page="intro", body=NEW), is_done_once=False),
    "reply": Case(lambda context: comments.CreateReply(**context.of_thread, body=NEW), is_done_once=False),
    "edit of a thread": Case(
        lambda context: comments.Update(**context.of_thread, body=NEW),
        lambda context: ExpectedState(text="Is this right?"),
        lambda context: context.send_as(comments.Update(**context.of_thread, body=Markdown(markdown="No."))),
        lambda context: comments.Get(**context.of_thread, format="markdown"),
    ),
    "resolve": Case(
        lambda context: comments.Update(**context.of_thread, resolved=True),
        read=lambda context: comments.Get(**context.of_thread, format="markdown"),
    ),
    "reaction to a thread": Case(
        lambda context: comments.Update(**context.of_thread, added_reactions=("1f389",)),
        read=lambda context: comments.Get(**context.of_thread, format="markdown"),
    ),
    "edit of a reply": Case(
        lambda context: comments.UpdateReply(**context.of_reply, body=NEW),
        lambda context: ExpectedState(text="It is."),
        lambda context: context.send_as(comments.UpdateReply(**context.of_reply, body=Markdown(markdown="No."))),
        lambda context: comments.GetReply(**context.of_reply, format="markdown"),
    ),
    "reaction to a reply": Case(
        lambda context: comments.UpdateReply(**context.of_reply, added_reactions=("1f44d",)),
        read=lambda context: comments.GetReply(**context.of_reply, format="markdown"),
    ),
    "deletion of a thread": Case(
        lambda context: comments.Delete(**context.of_thread),
        lambda context: ExpectedState(text="Is this right?"),
        lambda context: context.send_as(comments.Update(**context.of_thread, body=Markdown(markdown="No."))),
    ),
    "deletion of a reply": Case(
        lambda context: comments.DeleteReply(**context.of_reply),
        lambda context: ExpectedState(text="It is."),
        lambda context: context.send_as(comments.UpdateReply(**context.of_reply, body=Markdown(markdown="No."))),
    ),
    "review": Case(
        lambda context: reviews.Submit(at=context.at, status="approved", comment=NEW),
        lambda context: ExpectedState(revision=context.checked.expected.revision),
        lambda context: context.edit("Something else."),
        is_done_once=False,
    ),
    "new change request": Case(
        lambda context: change_requests.Create(at=context.here, subject="Say less"), is_done_once=False
    ),
    "ready for review": Case(
        lambda context: change_requests.Update(at=context.at, status="draft"),
        lambda context: ExpectedState(status="open"),
        lambda context: context.send_as(change_requests.Update(at=context.at, status="archived"), "ada"),
        is_done_once=False,
    ),
    "review request": Case(
        lambda context: reviews.Request(at=context.at, users=("tom", "ada")),
        change=lambda context: context.send_as(reviews.Request(at=context.at, users=("tom",)), "ada"),
    ),
    "withdrawal of a review": Case(
        lambda context: reviews.Request(at=context.at, users=("mia",)),
        lambda context: ExpectedState(review=context.review.id),
    ),
    "edit of a page": Case(
        lambda context: content.Edit(at=context.at, changes=(update_of("intro", "# Intro\n\nMine"),), compat=False),
        lambda context: ExpectedState(revision=context.checked.change_request.revision),
        lambda context: context.edit("Something else."),
        user="ada",
        is_done_once=False,
    ),
    "merge": Case(
        lambda context: change_requests.Merge(at=context.at),
        lambda context: context.checked.expected,
        lambda context: context.edit("Something else."),
        user="ada",
    ),
    "update from main": Case(
        lambda context: change_requests.UpdateFromMain(at=context.at),
        lambda context: context.checked.expected,
        lambda context: context.edit("Something else."),
        user="ada",
    ),
}


DIRECT = [
    "review",
    "new change request",
    "ready for review",
    "review request",
    "withdrawal of a review",
    "edit of a page",
    "merge",
    "update from main",
]
"""The writes that the user waits for."""


@pytest.fixture
async def context(ask: Ask, here: SpaceRef) -> PreparedSpace:
    thread = await ask(comments.Create(at=here, page="intro", body=Markdown(markdown="Is this right?")), "mia")
    where = {"at": here, "comment_id": thread.id}
    reply = await ask(comments.CreateReply(**where, body=Markdown(markdown="It is.")), "mia")
    made = await ask(change_requests.Create(at=here, subject="Say more"))
    at = made.ref(here)
    await edit(ask, at, "intro", "# Intro\n\nHello, reader.")
    other = await ask(change_requests.Create(at=here, subject="Press more"))
    await edit(ask, other.ref(here), "usage", "# Usage\n\nPress two keys.")
    await ask(change_requests.Merge(at=other.ref(here)))
    await ask(change_requests.Update(at=at, status="open"))
    review = await ask(reviews.Submit(at=at, status="approved"), "mia")
    return PreparedSpace(ask, here, thread, reply, at, review, await read_merge_state(ask, at))


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


@pytest.fixture
def user(request: pytest.FixtureRequest) -> str:
    if "case" not in request.fixturenames:
        return "mia"
    user: str = request.getfixturevalue("case").user
    return user


async def checked_attempt(gate: RequestGate, case: Case, context: PreparedSpace) -> WriteAttempt[Any]:
    """Return an attempt that passed the check and may be sent."""
    op = case.op(context)
    before = WriteAttempt(op, case.expected(context), my_id=case.user)
    ready = await kind_of(op).check(gate, before)
    assert isinstance(ready, Ready)
    return replace(before, baseline=ready.baseline, newest_at=ready.newest_at)


async def test_lost_response_is_found(case: Case, context: PreparedSpace, gate: RequestGate) -> None:
    attempt = await checked_attempt(gate, case, context)
    result = await gate(attempt.op)
    found = await kind_of(attempt.op).search(gate, attempt)
    assert isinstance(found, AlreadyDone)
    if kind_of(attempt.op).traits(attempt.op).creates:
        assert found.remote_id == result.id


async def test_lost_request_is_not_found(case: Case, context: PreparedSpace, gate: RequestGate) -> None:
    attempt = await checked_attempt(gate, case, context)
    assert await kind_of(attempt.op).search(gate, attempt) is None


async def test_same_write_of_another_user_is_not_found(
    case: Case, context: PreparedSpace, gate: RequestGate, ask: Ask
) -> None:
    attempt = await checked_attempt(gate, case, context)
    if kind_of(attempt.op).traits(attempt.op).creates:
        await ask(attempt.op)
        assert await kind_of(attempt.op).search(gate, attempt) is None


async def test_changed_target_is_noticed_before_sending(case: Case, context: PreparedSpace, gate: RequestGate) -> None:
    op, expected = case.op(context), case.expected(context)
    if case.change is not None:
        await case.change(context)
        assert isinstance(await kind_of(op).check(gate, WriteAttempt(op, expected, my_id=case.user)), Changed)
    assert gate.writes == []


async def test_check_of_a_write_that_is_done_sends_nothing(
    case: Case, context: PreparedSpace, gate: RequestGate
) -> None:
    attempt = await checked_attempt(gate, case, context)
    await gate(attempt.op)
    again = await kind_of(attempt.op).check(gate, attempt)
    assert isinstance(again, AlreadyDone) == case.is_done_once


async def test_undo_restores_the_response(case: Case, context: PreparedSpace, gate: RequestGate) -> None:
    op, expected = case.op(context), case.expected(context)
    undo = kind_of(op).undo(op, expected)
    if case.read is None:
        assert isinstance(undo, str)
        return
    assert not isinstance(undo, str)
    before = await gate(case.read(context))
    await gate(op)
    assert await gate(case.read(context)) != before, "The write changes what is read"
    await gate(undo)
    assert without_times(await gate(case.read(context))) == without_times(before)


def without_times(thing: Model) -> Model:
    """Return the value without its times: each change updates them."""
    return thing.model_copy(update={"edited_at": None, "updated_at": None})


@pytest.mark.parametrize("name", DIRECT)
async def test_two_instances_send_a_direct_write_once(
    name: str, context: PreparedSpace, ask: Ask, tmp_path: Path
) -> None:
    case = CASES[name]
    write, expected = case.op(context), case.expected(context)
    sent: list[Operation[Any]] = []

    following = asyncio.Event()

    async def send(op: Operation[Any]) -> Any:
        sent.append(op)
        if op == write:
            await following.wait()
        return await ask(op, case.user)

    async def wait(seconds: float) -> None:
        following.set()  # The other instance looked for the write and did not find it.
        await asyncio.sleep(0)

    async def run_instance() -> SendResult[Any]:
        state = StateDb(tmp_path, "mia@test", sleep=wait)
        outbox = Outbox(send, state, Drafts(state), me=User(id=case.user))
        cache = ResponseCache(None, "mia@test")
        live = Live(send, cache, outbox)
        try:
            return await send_direct(
                live, write, expected, failure_prefix="Could not send", if_not_found="nothing is there"
            )
        finally:
            following.set()
            await live.close()
            await outbox.close()
            cache.close()
            state.close()

    results = await asyncio.gather(run_instance(), run_instance())
    assert [each.kind for each in results] == ["done", "done"]
    assert sent.count(write) == 1


READS: dict[type[Operation[Any]], Callable[[PreparedSpace], Operation[Any]]] = {
    comments.List: lambda context: comments.List(at=context.here, status="all", format="markdown"),
    comments.Get: lambda context: comments.Get(**context.of_thread, format="markdown"),
    comments.ListReplies: lambda context: comments.ListReplies(**context.of_thread, format="markdown"),
    comments.GetReply: lambda context: comments.GetReply(**context.of_reply, format="markdown"),
    spaces.Get: lambda context: spaces.Get(at=context.here),
    spaces.List: lambda context: spaces.List(at=OrganizationRef(organization_id="acme")),
    change_requests.Get: lambda context: change_requests.Get(at=context.at),
    change_requests.List: lambda context: change_requests.List(at=context.here, status="open"),
    change_requests.ListOfOrganization: lambda context: change_requests.ListOfOrganization(
        at=OrganizationRef(organization_id="acme")
    ),
}


def visible_part(value: Any) -> Any:
    """Return the visible part of a response, without ids and times."""
    match value:
        case ListPage():
            return [visible_part(each) for each in value.items]
        case comments.Comment() | comments.Reply():
            reactions = [(each.emoji, each.count) for each in value.reactions]
            of_thread = (value.status, value.replies) if isinstance(value, comments.Comment) else ()
            return value.body.text, value.posted_by.id, reactions, of_thread
        case _:
            return value.id, value.comments


async def test_overlay_equals_the_later_response(case: Case, context: PreparedSpace, gate: RequestGate) -> None:
    op: Any = case.op(context)
    kind = kind_of(op)
    before, after = dict[type[Operation[Any]], Any](), dict[type[Operation[Any]], Any]()
    reads = READS if type(op) in COMMENT_WRITES else {}
    for read in reads:
        before[read] = await gate(READS[read](context))
    await gate(op)
    for read in reads:
        try:
            after[read] = await gate(READS[read](context))
        except NotFound:  # A deleted comment stays visible until the server has deleted it.
            assert isinstance(op, comments.Delete | comments.DeleteReply)
    entry = OutboxEntry(
        "e1", op, kind.traits(op), "write", START, START, state="queued", expected=ExpectedState(is_open=True)
    )
    for read, there in after.items():
        shown, _ = apply_entries(READS[read](context), before[read], [entry], MIA)
        assert visible_part(shown) == visible_part(there), read.__name__


async def test_changed_text_is_not_restored_if_unknown(context: PreparedSpace) -> None:
    op = comments.Update(**context.of_thread, body=NEW)
    assert isinstance(kind_of(op).undo(op, ExpectedState()), str)


async def test_every_row_has_a_case(context: PreparedSpace) -> None:
    assert {type(case.op(context)) for case in CASES.values()} == set(write_kinds())


_LIST = "a thing of a table: its form names the state it has after, and a deletion has a row by resource"
_SETTING = "the form shows the new state after it is sent, and a second request would do the same"
_MOVE = "the new place is on screen, and a second request would do the same"
PLAIN: dict[str, str] = {
    "adaptive_schema.Update": _SETTING,
    "collections": _LIST,
    "fonts": _LIST,
    "imports.Create": "the progress of imports is on screen",
    "invites": _LIST,
    "mcp_servers": _LIST,
    "openapi": _LIST,
    "organizations.DeleteMember": _LIST,
    "organizations.EnrollMember": _LIST,
    "organizations.Ping": "changes nothing",
    "organizations.Update": _SETTING,
    "organizations.UpdateMember": _SETTING,
    "permissions": _SETTING,
    "redirects": _LIST,
    "reviews.Withdraw": "a second request finds no request to withdraw",
    "search.InSite": "reads",
    "share_links": _LIST,
    "site_structure": _LIST,
    "sites": _LIST,
    "spaces.Create": _LIST,
    "spaces.Delete": _LIST,
    "spaces.Duplicate": "the copy is in the list of spaces, and the user decides whether to try again",
    "spaces.Move": _MOVE,
    "spaces.Restore": _MOVE,
    "spaces.Transfer": _MOVE,
    "spaces.Update": _SETTING,
    "sso": _LIST,
    "storage.Upload": "an upload that nothing refers to has no effect",
    "teams": _LIST,
    "translations": _LIST,
}
"""Operations, or areas of the API, that are sent without a row, and why: Octavo neither checks nor finds them."""


def test_every_writing_operation_has_a_row_or_a_reason_for_none() -> None:
    for each in iter_modules(octavo.api.__path__):
        import_module(f"octavo.api.{each.name}")
    writing = {
        kind: spec.name
        for kind, spec in SPECS.items()
        if spec.method != "GET" and kind.__module__.startswith("octavo.")  # Other tests define operations of their own.
    }
    plain = {kind for kind, name in writing.items() if name in PLAIN or name.partition(".")[0] in PLAIN}
    assert plain & set(write_kinds()) == set()
    assert plain | set(write_kinds()) == set(writing)
    assert all(any(f"{name}.".startswith(f"{each}.") for name in writing.values()) for each in PLAIN)
