"""Responses with unconfirmed writes applied."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from octavo.api import change_requests, comments, spaces
from octavo.api.bodies import Body, Markdown
from octavo.api.change_requests import ChangeRequest
from octavo.api.comments import Comment, Reaction, Reply, UserReaction
from octavo.api.operation import ChangeRequestRef, ListPage, Operation, OrganizationRef, SpaceRef
from octavo.api.spaces import Space
from octavo.api.users import User
from octavo.data.writes.machine import ExpectedState, OutboxEntry
from octavo.data.writes.optimistic_updates import apply_entries, shown_state
from octavo.data.writes.store import kind_of
from tests.server.small_platform import START

if TYPE_CHECKING:
    from octavo.data.writes.machine import DurableWrite

HERE = SpaceRef(space_id="docs")
THERE = ChangeRequestRef(space_id="docs", change_request_id="cr1")
ME, ADA = User(id="mia"), User(id="ada")
OPEN = Comment(id="k1", body=Body(markdown="Right?"), posted_by=ADA, replies=1)
DONE = Comment(id="k2", body=Body(markdown="Right."), posted_by=ADA, status="resolved")
PAGE = ListPage[Comment](items=(OPEN, DONE), count=2)
REPLY = Reply(id="r1", body=Body(markdown="Yes."), posted_by=ME)
REPLIES = ListPage[Reply](items=(REPLY,))
HELLO = Markdown(markdown="Hello")
NEW = comments.Create(at=HERE, body=HELLO)
ANSWER = comments.CreateReply(at=HERE, comment_id="k1", body=HELLO)


def queued_entry(op: DurableWrite, **more: Any) -> OutboxEntry:
    return replace(
        OutboxEntry(
            id="e1",
            op=op,
            traits=kind_of(op).traits(op),
            action="write",
            created_at=START,
            requested_at=START,
            state="queued",
        ),
        **more,
    )


def with_writes(read: Operation[Any], value: Any, *ops: DurableWrite, **more: Any) -> Any:
    return apply_entries(read, value, [queued_entry(op, **more) for op in ops], ME)[0]


def ids_of(page: ListPage[Any]) -> list[str]:
    return [item.id for item in page.items]


def change(comment_id: str, **changes: Any) -> comments.Update:
    return comments.Update(at=HERE, comment_id=comment_id, **changes)


@pytest.mark.parametrize(
    ("filters", "shown"),
    [
        ({}, ["pending-e1", "k1", "k2"]),
        ({"order": "asc"}, ["k1", "k2", "pending-e1"]),
        ({"status": "open"}, ["pending-e1", "k1"]),
        ({"status": "resolved"}, ["k2"]),
        ({"target_page": "usage"}, ["k1", "k2"]),
        ({"authors": ("ada",)}, ["k1", "k2"]),
        ({"authors": ("mia",)}, ["pending-e1", "k1", "k2"]),
    ],
)
def test_new_thread_is_sorted_into_the_list(filters: dict[str, Any], shown: list[str]) -> None:
    wanted = {"open": (OPEN,), "resolved": (DONE,)}.get(filters.get("status", ""), PAGE.items)
    page = ListPage[Comment](items=wanted)
    assert ids_of(with_writes(comments.List(at=HERE, **filters), page, NEW)) == shown


def test_new_thread_has_all_fields() -> None:
    op = comments.Create(at=HERE, body=HELLO, page="usage", node="b7")
    value, count = apply_entries(comments.List(at=HERE, target_page="usage"), PAGE, [queued_entry(op)], ME)
    thread = value.items[0]
    assert (thread.body.text, thread.posted_by, thread.posted_at, thread.is_open) == ("Hello", ME, START, True)
    assert (thread.target.page.id, thread.target.node.id, count, value.count) == ("usage", "b7", 1, 3)


def test_write_in_another_space_changes_no_list() -> None:
    assert with_writes(comments.List(at=THERE), PAGE, NEW) is PAGE
    assert ids_of(with_writes(comments.List(at=THERE), PAGE, comments.Create(at=THERE, body=HELLO)))[0] == "pending-e1"


def test_posted_comment_is_not_shown_twice() -> None:
    posted = Comment(id="k3", body=Body(markdown="Hello"), posted_by=ME, posted_at=START)
    page = PAGE.model_copy(update={"items": (posted, *PAGE.items)})
    read = comments.List(at=HERE)
    assert ids_of(with_writes(read, page, NEW, state="sending", started_at=START, baseline=("k1", "k2"))) == [
        "k3",
        "k1",
        "k2",
    ]
    assert (
        ids_of(with_writes(read, page, NEW, state="sending", started_at=START, baseline=("k1", "k3")))[0]
        == "pending-e1"
    )
    assert ids_of(with_writes(read, page, NEW, state="done", remote_id="k3")) == ["k3", "k1", "k2"]
    assert ids_of(with_writes(read, PAGE, NEW, state="done", remote_id="k3")) == ["k3", "k1", "k2"]


def test_resolved_thread_leaves_the_list_of_open_threads() -> None:
    both = with_writes(comments.List(at=HERE), PAGE, change("k1", resolved=True))
    assert [(each.status, each.resolved_by) for each in both.items] == [("resolved", ME), ("resolved", None)]
    still_open = ListPage[Comment](items=(OPEN,), count=1)
    assert with_writes(comments.List(at=HERE, status="open"), still_open, change("k1", resolved=True)).items == ()
    again = with_writes(comments.List(at=HERE), PAGE, change("k1", resolved=True), change("k1", resolved=False))
    assert again.items[0].is_open


def test_edit_and_delete_are_shown_at_once() -> None:
    read = comments.List(at=HERE)
    assert with_writes(read, PAGE, change("k1", body=HELLO)).items[0].body.text == "Hello"
    assert ids_of(with_writes(read, PAGE, comments.Delete(at=HERE, comment_id="k1"))) == ["k2"]
    assert with_writes(comments.Get(at=HERE, comment_id="k1"), OPEN, change("k1", body=HELLO)).edited_at == START
    assert with_writes(comments.Get(at=HERE, comment_id="k2"), DONE, change("k1", body=HELLO)) is DONE


def test_replies_are_counted_and_listed() -> None:
    assert with_writes(comments.List(at=HERE), PAGE, ANSWER, ANSWER).items[0].replies == 3
    replies = comments.ListReplies(at=HERE, comment_id="k1")
    assert ids_of(with_writes(replies, REPLIES, ANSWER)) == ["r1", "pending-e1"]
    where = {"at": HERE, "comment_id": "k1", "comment_reply_id": "r1"}
    assert with_writes(replies, REPLIES, comments.UpdateReply(**where, body=HELLO)).items[0].body.text == "Hello"
    assert with_writes(replies, REPLIES, comments.DeleteReply(**where)).items == ()
    assert with_writes(comments.Get(at=HERE, comment_id="k1"), OPEN, comments.DeleteReply(**where)).replies == 0
    assert with_writes(comments.ListReplies(at=HERE, comment_id="k2"), REPLIES, ANSWER) is REPLIES


def test_reaction_joins_others_in_any_notation() -> None:
    thumbs = Reaction(emoji="1f44d", count=1, users=(UserReaction(user=ADA),))
    liked = OPEN.model_copy(update={"reactions": (thumbs,)})
    read = comments.Get(at=HERE, comment_id="k1")
    (joined,) = with_writes(read, liked, change("k1", added_reactions=("👍",))).reactions
    assert (joined.count, [each.user.id for each in joined.users]) == (2, ["ada", "mia"])
    assert (
        with_writes(read, liked, change("k1", added_reactions=("👍",)), change("k1", removed_reactions=("1f44d",)))
        == liked
    )
    assert with_writes(read, OPEN, change("k1", added_reactions=("🎉",))).reactions[0].count == 1
    assert with_writes(read, liked, change("k1", removed_reactions=("👍",))) is liked, "Only one's own goes"


@pytest.mark.parametrize(
    ("op", "expected", "count"),
    [
        (NEW, ExpectedState(), 6),
        (change("k1", resolved=True), ExpectedState(is_open=True), 4),
        (change("k1", resolved=True), ExpectedState(is_open=False), 5),
        (change("k2", resolved=False), ExpectedState(is_open=False), 6),
        (comments.Delete(at=HERE, comment_id="k1"), ExpectedState(is_open=True), 4),
        (comments.Delete(at=HERE, comment_id="k2"), ExpectedState(is_open=False), 5),
        (ANSWER, ExpectedState(), 5),
        (comments.Create(at=THERE, body=HELLO), ExpectedState(), 5),
    ],
)
def test_spaces_count_their_open_comments(op: DurableWrite, expected: ExpectedState, count: int) -> None:
    space, other = Space(id="docs", comments=5), Space(id="blog", comments=1)
    assert with_writes(spaces.Get(at=HERE), space, op, expected=expected).comments == count
    listed = with_writes(
        spaces.List(at=OrganizationRef(organization_id="acme")),
        ListPage[Space](items=(space, other)),
        op,
        expected=expected,
    )
    assert [each.comments for each in listed.items] == [count, 1]


def test_change_requests_count_comments_by_id_or_number() -> None:
    request = ChangeRequest(id="cr1", number=7, space="docs", comments=2)
    for name in ("cr1", "7"):
        at = ChangeRequestRef(space_id="docs", change_request_id=name)
        op = comments.Create(at=at, body=HELLO)
        assert with_writes(change_requests.Get(at=THERE), request, op).comments == 3
        page = with_writes(change_requests.List(at=HERE), ListPage[ChangeRequest](items=(request,)), op)
        assert page.items[0].comments == 3


def test_refused_write_leaves_only_its_text() -> None:
    read = comments.List(at=HERE)
    value, count = apply_entries(read, PAGE, [queued_entry(NEW, state="failed")], ME)
    assert (ids_of(value)[0], count) == ("pending-e1", 0)
    assert with_writes(read, PAGE, change("k1", resolved=True), state="failed") is PAGE
    assert with_writes(spaces.Get(at=HERE), Space(id="docs", comments=5), NEW, state="failed").comments == 5


def test_expected_text_of_an_edit_is_the_shown_text() -> None:
    shown: list[tuple[Operation[Any], Any]] = [
        (comments.List(at=HERE), PAGE),
        (comments.ListReplies(at=HERE, comment_id="k1"), REPLIES),
    ]
    assert shown_state(change("k2", resolved=False), shown) == ExpectedState("Right.", False)
    reply = comments.DeleteReply(at=HERE, comment_id="k1", comment_reply_id="r1")
    assert shown_state(reply, shown) == ExpectedState("Yes.", None)
    assert shown_state(change("k9", resolved=False), shown) == shown_state(NEW, shown) == ExpectedState()
    assert shown_state(change("k1", body=HELLO), [(comments.List(at=HERE, format="document"), PAGE)]) == ExpectedState()


class CountingId(str):
    """An id that counts comparisons."""

    comparisons = 0

    def __eq__(self, other: object) -> bool:
        CountingId.comparisons += 1
        return super().__eq__(other)

    __hash__ = str.__hash__


def test_writes_are_found_in_a_list_without_comparing_all_ids() -> None:
    threads = tuple(OPEN.model_copy(update={"id": CountingId(f"k{number}")}) for number in range(100))
    page = PAGE.model_copy(update={"items": threads, "count": 100})
    ops: list[DurableWrite] = [change(f"k{number}", resolved=True) for number in range(0, 100, 2)]
    ops += [comments.Delete(at=HERE, comment_id=f"k{number}") for number in range(0, 100, 5)]
    entries = [queued_entry(op, id=f"e{number}") for number, op in enumerate([NEW, *ops])]
    CountingId.comparisons = 0
    shown, changed = apply_entries(comments.List(at=HERE, status="open"), page, entries, ME)
    assert CountingId.comparisons < 10 * len(entries)
    assert changed == len(entries) - 10, "deleting a resolved thread changes nothing on this list"
    assert ids_of(shown) == ["pending-e0", *(f"k{number}" for number in range(1, 100, 2) if number % 5)]
    assert shown.count == len(shown.items)
    everywhere, _ = apply_entries(comments.List(at=HERE), page, entries, ME)
    assert [item.status for item in everywhere.items[1:4]] == ["open", "resolved", "open"]
    assert apply_entries(comments.List(at=THERE), page, entries, ME) == (page, 0)
