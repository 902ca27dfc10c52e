"""Reasons of inbox rows. Each reason has a similar case that makes no row."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from octavo.api import comments, reviews
from octavo.api.bodies import Body, Markdown
from octavo.api.change_requests import ChangeRequest
from octavo.api.comments import Comment, Reply, Target, TargetPage
from octavo.api.operation import ChangeRequestRef, Discussion, SpaceRef
from octavo.api.reviews import RequestedReviewer, Review, TeamReference
from octavo.api.spaces import Permissions, Space
from octavo.api.users import User
from octavo.data.drafts import Draft
from octavo.data.inbox import (
    DraftRef,
    Inbox,
    InboxData,
    InboxRow,
    MessageSummary,
    ThreadRef,
    UnknownCounts,
    WriteRef,
    inbox_of,
    matches,
    message_summary,
)
from octavo.data.writes.machine import OutboxEntry
from octavo.data.writes.store import kind_of
from octavo.documents.suggestions import mention_suffix
from octavo.settings.table import INBOX_REASONS, InboxFilter
from tests.server.small_platform import START

if TYPE_CHECKING:
    from octavo.data.writes.machine import DurableWrite

MIA, TOM, ADA = (User(id=name.lower(), display_name=f"{name} Lund") for name in ("Mia", "Tom", "Ada"))
SPACE = Space(id="s", title="Handbook", permissions=Permissions(merge=True), merge_rules={"type": "none"})
HERE = SpaceRef(space_id="s")
AT = ChangeRequestRef(space_id="s", change_request_id="c")
MENTION = f"[@Mia Lund{mention_suffix('mia')} what do you think?"


def at_hour(hours: float) -> Any:
    return START + timedelta(hours=hours)


def change_request(by: User = TOM, **more: Any) -> ChangeRequest:
    about = {"id": "c", "number": 7, "status": "open", "subject": "Rotate secrets", "space": "s", "revision": "r2"}
    return ChangeRequest(**{**about, "created_by": by, "updated_at": at_hour(5), **more})


def review(by: User, status: str = "approved", **more: Any) -> Review:
    about = {"id": f"by {by.id}", "status": status, "reviewer": by, "revision": "r2", "created_at": at_hour(4)}
    return Review(**{**about, **more})


def requested_reviewer(of: User | None = MIA, **more: Any) -> RequestedReviewer:
    return RequestedReviewer(**{"user": of, "requested_by": TOM, "created_at": at_hour(1), "revision": "r1", **more})


def comment(by: User, says: str = "Is that so?", name: str = "k", **more: Any) -> Comment:
    return Comment(id=name, posted_by=by, posted_at=at_hour(2), body=Body(markdown=says), **more)


def reply(by: User, says: str = "It is.", name: str = "a1", hour: float = 3) -> MessageSummary:
    return message_summary(Reply(id=name, posted_by=by, posted_at=at_hour(hour), body=Body(markdown=says)))


def entry(op: DurableWrite, state: Any = "queued", **more: Any) -> OutboxEntry:
    about = {"id": "e1", "action": "reply", "created_at": at_hour(6), "requested_at": at_hour(6), "state": state}
    return OutboxEntry(op=op, traits=kind_of(op).traits(op), **{**about, **more})


def inbox_facts(about: ChangeRequest | None = None, **more: Any) -> InboxData:
    requests = () if about is None else (about,)
    read: dict[str, Any] = {"reviews": {AT: ()}, "requested_reviewers": {AT: ()}, "threads": {AT: (), HERE: ()}}
    return InboxData(**{"me": MIA, "spaces": {"s": SPACE}, "change_requests": requests, **read, **more})


def facts_of_thread(root: Comment, *replies: MessageSummary, at: Discussion = HERE, **more: Any) -> InboxData:
    """Return facts with one thread whose replies are loaded."""
    with_count = root.model_copy(update={"replies": len(replies)})
    return inbox_facts(threads={at: (with_count,)}, replies={at: {root.id: replies}}, **more)


def only_row(inbox: Inbox) -> InboxRow:
    (row,) = inbox.rows
    return row


def new_reply(thread: str = "k", at: Discussion = HERE) -> comments.CreateReply:
    return comments.CreateReply(at=at, comment_id=thread, body=Markdown(markdown="Later."))


def resolved_and_reopened(*states: str) -> tuple[OutboxEntry, ...]:
    writes = (comments.Update(at=HERE, comment_id="k", resolved=is_resolved) for is_resolved in (True, False))
    return tuple(entry(op, state, id=f"e {state}") for op, state in zip(writes, states, strict=True))


def new_review() -> reviews.Submit:
    return reviews.Submit(at=AT, status="approved")


FRESH = {"reviews": {AT: (review(TOM),)}}
STALE = {"reviews": {AT: (review(MIA, revision="r1"),)}}
REFUSED = {"reviews": {AT: (review(TOM, "changes-requested"),)}}
NAMED_TEAM = requested_reviewer(None, kind="team", team=TeamReference(id="docs"))
REVIEWS_RULE = {"type": "rules", "rules": [{"rule": "require_specific_reviewers", "users": ["ada"]}]}
RULED = SPACE.model_copy(update={"merge_rules": REVIEWS_RULE})
CUSTOM = SPACE.model_copy(update={"merge_rules": {"type": "rules", "rules": [{"rule": "custom", "expression": "x"}]}})
READER = SPACE.model_copy(update={"permissions": Permissions()})


@pytest.mark.parametrize(
    ("reason", "words", "there", "nearest"),
    [
        pytest.param(
            "not sent",
            "could not reply",
            inbox_facts(entries=(entry(new_reply(), "failed", reason="The thread is gone."),)),
            inbox_facts(entries=(entry(new_reply()),)),
            id="a write that failed, not one on its way",
        ),
        pytest.param(
            "not sent",
            "may have been sent: reply",
            inbox_facts(entries=(entry(new_reply(), "unknown"),)),
            inbox_facts(entries=(entry(new_reply(), "unknown", may_arrive_until=at_hour(7)),)),
            id="a write in doubt that waits for a person, not one that is looked for",
        ),
        pytest.param(
            "review requested",
            "review requested by Tom Lund",
            inbox_facts(change_request(), requested_reviewers={AT: (requested_reviewer(),)}),
            inbox_facts(change_request(), requested_reviewers={AT: (requested_reviewer(ADA),)}),
            id="my review, not that of another",
        ),
        pytest.param(
            "review requested",
            "review requested from your team by Tom Lund",
            inbox_facts(change_request(), requested_reviewers={AT: (NAMED_TEAM,)}, teams=frozenset({"docs"})),
            inbox_facts(change_request(), requested_reviewers={AT: (NAMED_TEAM,)}, teams=frozenset({"sales"})),
            id="that of my team, not of another team",
        ),
        pytest.param(
            "review requested",
            "review requested by Tom Lund",
            inbox_facts(change_request(status="draft"), requested_reviewers={AT: (requested_reviewer(),)}),
            inbox_facts(change_request(status="merged"), requested_reviewers={AT: (requested_reviewer(),)}),
            id="of a draft, not of what is merged",
        ),
        pytest.param(
            "review requested",
            "review requested by Tom Lund",
            inbox_facts(
                change_request(),
                requested_reviewers={AT: (requested_reviewer(),)},
                entries=(entry(new_review(), "failed", reason="No."),),
            ),
            inbox_facts(
                change_request(), requested_reviewers={AT: (requested_reviewer(),)}, entries=(entry(new_review()),)
            ),
            id="also when my verdict failed, not while it is on its way",
        ),
        pytest.param(
            "changed since review",
            "changed since you approved it",
            inbox_facts(change_request(), **STALE),
            inbox_facts(change_request(revision="r1"), **STALE),
            id="what I approved and was edited, not as I approved it",
        ),
        pytest.param(
            "changed since review",
            "changed since you requested changes",
            inbox_facts(change_request(), reviews={AT: (review(MIA, "changes-requested", revision="r1"),)}),
            inbox_facts(
                change_request(), reviews={AT: (review(MIA, "changes-requested", revision="r1", outdated=True),)}
            ),
            id="what I asked changes for, not by a review that counts no more",
        ),
        pytest.param(
            "changed since review",
            "changed since you approved it",
            inbox_facts(change_request(TOM), **STALE),
            inbox_facts(change_request(MIA), **STALE),
            id="what another edits, not my own",
        ),
        pytest.param(
            "approved",
            "approved by Tom Lund, ready to merge",
            inbox_facts(change_request(MIA), **FRESH),
            inbox_facts(change_request(ADA), **FRESH),
            id="mine approved, not that of another",
        ),
        pytest.param(
            "approved",
            "approved by Tom Lund, ready to merge",
            inbox_facts(change_request(MIA), **FRESH),
            inbox_facts(change_request(MIA), reviews={AT: (review(MIA),)}),
            id="approved by another, not by myself",
        ),
        pytest.param(
            "approved",
            "approved by Tom Lund, ready to merge",
            inbox_facts(change_request(MIA), **FRESH),
            inbox_facts(change_request(MIA, revision="r3"), **FRESH),
            id="approved as it is, not as it was",
        ),
        pytest.param(
            "approved",
            "approved by Tom Lund, ready to merge",
            inbox_facts(change_request(MIA), **FRESH),
            inbox_facts(change_request(MIA), **FRESH, spaces={"s": READER}),
            id="where I may merge, not where I may not",
        ),
        pytest.param(
            "approved",
            "approved by Tom Lund; the server will check the merge rules",
            inbox_facts(change_request(MIA), **FRESH, spaces={"s": CUSTOM}),
            inbox_facts(change_request(MIA), **FRESH, spaces={"s": RULED}),
            id="where a rule is not to be told, not where one lacks a reviewer",
        ),
        pytest.param(
            "changes requested",
            "Tom Lund requested changes",
            inbox_facts(change_request(MIA), **REFUSED),
            inbox_facts(change_request(MIA, revision="r3"), **REFUSED),
            id="of mine as it is, not of what I edited since",
        ),
        pytest.param(
            "outdated",
            "main has changed: update needed",
            inbox_facts(change_request(MIA, outdated=True)),
            inbox_facts(change_request(TOM, outdated=True)),
            id="mine, not that of another",
        ),
        pytest.param(
            "new replies",
            "1 new reply from Tom Lund",
            facts_of_thread(comment(MIA), reply(TOM)),
            facts_of_thread(comment(MIA), reply(TOM), reply(MIA, name="a2", hour=4)),
            id="a reply to my thread, not when mine was the last",
        ),
        pytest.param(
            "new replies",
            "2 new replies from Tom Lund and Ada Lund",
            facts_of_thread(comment(TOM), reply(MIA), reply(TOM, name="a2"), reply(ADA, name="a3")),
            facts_of_thread(comment(TOM), reply(ADA), reply(TOM, name="a2"), reply(ADA, name="a3")),
            id="where I replied, not where I never wrote",
        ),
        pytest.param(
            "new replies",
            "1 new reply from Tom Lund",
            facts_of_thread(comment(MIA), reply(TOM)),
            facts_of_thread(comment(MIA, status="resolved"), reply(TOM)),
            id="in an open thread, not in one that is done",
        ),
        pytest.param(
            "new replies",
            "1 new reply from Tom Lund",
            facts_of_thread(comment(MIA), reply(TOM), entries=(entry(new_reply("other")),)),
            facts_of_thread(comment(MIA), reply(TOM), entries=(entry(new_reply()),)),
            id="not once my answer is on its way",
        ),
        pytest.param(
            "new replies",
            "1 new reply from Tom Lund",
            facts_of_thread(comment(MIA), reply(TOM)),
            facts_of_thread(
                comment(MIA),
                reply(TOM),
                entries=(entry(comments.Update(at=HERE, comment_id="k", resolved=True), "done"),),
            ),
            id="not once I resolved it",
        ),
        pytest.param(
            "new replies",
            "1 new reply from Tom Lund",
            facts_of_thread(comment(MIA), reply(TOM), entries=resolved_and_reopened("done", "queued")),
            facts_of_thread(comment(MIA), reply(TOM), entries=resolved_and_reopened("done", "queued")[:1]),
            id="again once I reopened it",
        ),
        pytest.param(
            "on my change requests",
            "Tom Lund commented on your change request",
            facts_of_thread(comment(TOM), at=AT, about=change_request(MIA)),
            facts_of_thread(comment(TOM), at=AT, about=change_request(ADA)),
            id="on my change request, not on that of another",
        ),
        pytest.param(
            "on my change requests",
            "Tom Lund commented on your change request",
            facts_of_thread(comment(TOM), at=AT, about=change_request(MIA)),
            facts_of_thread(comment(TOM, target=Target(review="r")), at=AT, about=change_request(MIA)),
            id="a thread, not the words of a review",
        ),
        pytest.param(
            "on my change requests",
            "Tom Lund commented on your change request",
            facts_of_thread(comment(TOM), at=AT, about=change_request(MIA)),
            facts_of_thread(comment(TOM), at=AT, about=change_request(MIA, status="merged")),
            id="while it is open, not once it is merged",
        ),
        pytest.param(
            "mentioned",
            "Tom Lund mentioned you",
            facts_of_thread(comment(TOM, MENTION)),
            facts_of_thread(comment(TOM, "@Mia Lund what do you think?")),
            id="by a mention, not by a name in the text",
        ),
        pytest.param(
            "mentioned",
            "Ada Lund mentioned you",
            facts_of_thread(comment(TOM), reply(ADA, MENTION)),
            facts_of_thread(comment(TOM), reply(ADA, MENTION), reply(MIA, name="a2")),
            id="in a reply, not before my own",
        ),
        pytest.param(
            "unsent draft",
            "unsent draft: a request for changes",
            inbox_facts(drafts=(Draft("review s c changes-requested", "Half a", at_hour(6)),)),
            inbox_facts(drafts=(Draft("conflict s k", "Half a", at_hour(6)),)),
            id="a draft of a review, which names its dialog",
        ),
        pytest.param(
            "unsent draft",
            "unsent draft: a reply",
            inbox_facts(drafts=(Draft("reply s k", "Half a", at_hour(6)),)),
            inbox_facts(drafts=(Draft("conflict s k", "Half a", at_hour(6)),)),
            id="a draft, not the text of a conflict",
        ),
        pytest.param(
            "unsent draft",
            "2 pending comments: submit your review to send them",
            inbox_facts(entries=tuple(entry(new_reply(at=AT), "pending", id=name) for name in ("e1", "e2"))),
            inbox_facts(entries=tuple(entry(new_reply(at=AT), id=name, review="e9") for name in ("e1", "e2"))),
            id="held comments, not those let go with a verdict",
        ),
    ],
)
def test_each_reason_makes_a_row_and_its_closest_case_makes_none(
    reason: str, words: str, there: InboxData, nearest: InboxData
) -> None:
    row = only_row(inbox_of(there)) if len(inbox_of(there).rows) == 1 else inbox_of(there).rows[-1]
    assert (row.reason, row.reason_text) == (reason, words)
    assert not [each for each in inbox_of(nearest).rows if reason in (each.reason, *each.other_reasons)]


def test_unsaved_edit_of_a_pending_comment_has_a_row_when_the_comment_is_sent() -> None:
    draft = Draft("held e1", "Half a", at_hour(6))
    pending = inbox_of(inbox_facts(entries=(entry(new_reply(at=AT), "pending", id="e1"),), drafts=(draft,)))
    assert only_row(pending).reason_text == "1 pending comment: submit your review to send it"
    row = only_row(inbox_of(inbox_facts(drafts=(draft,))))
    assert (row.title, row.reason_text) == ("Half a", "unsent draft: an edited comment of a review")


def test_row_has_title_space_author_and_time() -> None:
    row = only_row(inbox_of(inbox_facts(change_request(comments=2), requested_reviewers={AT: (requested_reviewer(),)})))
    assert (row.title, row.context) == ("#7 Rotate secrets", "Handbook · Tom Lund")
    assert (row.moment, row.space_id, row.target) == (at_hour(1), "s", AT)
    page = Target(page=TargetPage(id="p", title="Retries"))
    row = only_row(inbox_of(facts_of_thread(comment(MIA, "**Why** 24 h?", target=page), reply(TOM))))
    assert (row.title, row.context, row.moment) == ("Why 24 h?", "Handbook · Retries · Mia Lund", at_hour(3))
    assert row.target == ThreadRef(HERE, "k")


def test_item_with_several_reasons_is_one_row_by_urgency() -> None:
    row = only_row(inbox_of(facts_of_thread(comment(MIA), reply(TOM, MENTION))))
    assert (row.reason, row.other_reasons) == ("new replies", ("mentioned",))
    assert row.reason_text == "1 new reply from Tom Lund · Tom Lund mentioned you"
    held = (entry(new_reply(at=AT), "pending"),)
    row = only_row(
        inbox_of(inbox_facts(change_request(), requested_reviewers={AT: (requested_reviewer(),)}, entries=held))
    )
    assert (row.reason, row.other_reasons) == ("review requested", ("unsent draft",))
    unsent = (Draft("reply s k", "Half a", at_hour(6)),)
    row = only_row(inbox_of(facts_of_thread(comment(MIA), reply(TOM), drafts=unsent)))
    assert (row.reason, row.other_reasons, row.target) == ("new replies", ("unsent draft",), ThreadRef(HERE, "k"))


def test_rows_are_sorted_by_urgency_then_by_time() -> None:
    early, late = (comment(MIA, name=name, replies=1) for name in ("k1", "k2"))
    replies = {HERE: {"k1": (reply(TOM, hour=3),), "k2": (reply(TOM, hour=4),)}}
    failed = entry(new_reply(), "failed", reason="No.")
    rows = inbox_of(
        inbox_facts(
            change_request(),
            requested_reviewers={AT: (requested_reviewer(),)},
            threads={HERE: (early, late)},
            replies=replies,
            entries=(failed,),
            drafts=(Draft("page s p - r1 1", "# Half a page", at_hour(9)),),
        )
    ).rows
    assert [row.reason for row in rows] == [
        "not sent",
        "review requested",
        "new replies",
        "new replies",
        "unsent draft",
    ]
    assert [row.target for row in rows[2:4]] == [ThreadRef(HERE, "k2"), ThreadRef(HERE, "k1")]
    assert [INBOX_REASONS.index(row.reason) for row in rows] == sorted(INBOX_REASONS.index(row.reason) for row in rows)
    assert (rows[0].target, rows[-1].target) == (WriteRef("e1"), DraftRef("page s p - r1 1"))
    assert len({row.key for row in rows}) == len(rows)


def test_stamp_of_a_row_changes_only_with_news() -> None:
    before = only_row(inbox_of(inbox_facts(change_request(), requested_reviewers={AT: (requested_reviewer(),)})))
    renamed = change_request(subject="Rotate them", updated_at=at_hour(8), comments=3)
    same = only_row(inbox_of(inbox_facts(renamed, requested_reviewers={AT: (requested_reviewer(),)})))
    assert (same.key, same.stamp) == (before.key, before.stamp)
    edited = only_row(
        inbox_of(inbox_facts(change_request(revision="r3"), requested_reviewers={AT: (requested_reviewer(),)}))
    )
    again = only_row(
        inbox_of(inbox_facts(change_request(), requested_reviewers={AT: (requested_reviewer(created_at=at_hour(7)),)}))
    )
    assert (edited.key, again.key) == (before.key, before.key)
    assert len({before.stamp, edited.stamp, again.stamp}) == 3
    thread = only_row(inbox_of(facts_of_thread(comment(MIA), reply(TOM))))
    more = only_row(inbox_of(facts_of_thread(comment(MIA), reply(TOM), reply(ADA, name="a2"))))
    assert thread.key == more.key
    assert thread.stamp != more.stamp


def test_unread_lists_make_no_rows_and_are_counted() -> None:
    unread = inbox_facts(
        change_request(comments=2),
        reviews={},
        requested_reviewers={},
        threads={HERE: (comment(MIA, replies=3),)},
        spaces={"s": SPACE, "t": SPACE.model_copy(update={"id": "t", "comments": 4})},
    )
    inbox = inbox_of(unread)
    assert inbox.rows == ()
    assert inbox.unknown == UnknownCounts(reviews=1, requested_reviewers=1, thread_lists=2, replies=1)
    assert inbox.unknown.summary == (
        "not loaded yet: reviews of 1 change request, reviewers of 1 change request, threads in 2 locations, "
        "replies in 1 thread"
    )
    assert inbox_of(inbox_facts(change_request())).unknown.summary == ""


def test_unknown_user_sees_only_local_rows() -> None:
    nobody = replace(
        facts_of_thread(comment(MIA), reply(TOM)), me=None, entries=(entry(new_reply(), "failed", reason="No."),)
    )
    inbox = inbox_of(nobody)
    assert [row.reason for row in inbox.rows] == ["not sent"]
    assert inbox.unknown.summary == "not loaded yet: your account"


def test_text_of_other_users_is_one_line_of_safe_text() -> None:
    row = only_row(inbox_of(inbox_facts(entries=(entry(new_reply(), "failed", reason="No\x1b[2J\nway"),))))
    assert "\x1b" not in row.context
    assert "\n" not in row.context
    row = only_row(inbox_of(inbox_facts(drafts=(Draft("comment s  ", "a\x1b]0;x\x07\n\nb" * 500, at_hour(1)),))))
    assert row.title.isprintable()
    assert len(row.title) <= 300


@pytest.mark.parametrize(
    ("by", "is_among"),
    [
        (InboxFilter("all"), True),
        (InboxFilter("a reason", ("mentioned", "review requested")), True),
        (InboxFilter("another reason", ("mentioned",)), False),
        (InboxFilter("beside another reason", ("changed since review",)), True),
        (InboxFilter("its space", space="handBOOK"), True),
        (InboxFilter("its space in full width", space="Ｈａｎｄｂｏｏｋ"), True),
        (InboxFilter("words in full width", words="ｓｅｃｒｅｔｓ"), True),
        (InboxFilter("the id of it", space="s"), True),
        (InboxFilter("another space", space="Handbook of others"), False),
        (InboxFilter("words anywhere", words="SECRETS tom  requested"), True),
        (InboxFilter("one word of two", words="secrets harbour"), False),
        (InboxFilter("all but one", ("review requested",), "Handbook", "harbour"), False),
    ],
    ids=lambda value: value.name if isinstance(value, InboxFilter) else "",
)
def test_saved_filter_shows_rows_that_match_all_conditions(by: InboxFilter, is_among: bool) -> None:
    before = review(MIA, revision="r1")
    row = only_row(
        inbox_of(
            inbox_facts(change_request(), reviews={AT: (before,)}, requested_reviewers={AT: (requested_reviewer(),)})
        )
    )
    assert (row.reason, row.other_reasons) == ("review requested", ("changed since review",))
    assert matches(row, by, "Handbook") is is_among
