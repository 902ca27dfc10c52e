"""The status of a change request in one line of any width."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.api.change_requests import ChangeRequest
from octavo.api.comments import Comment, Target
from octavo.api.reviews import RequestedReviewer, Review
from octavo.api.users import User
from octavo.tui.review.merge_checks import approval_rows
from octavo.tui.review.request_list import RequestFilter, can_still_match
from octavo.tui.review.request_status import RequestStatus, request_status, status_line, status_signs

ADA, TOM = User(id="ada", display_name="Ada Lovelace"), User(id="tom", display_name="Tom Weaver")
OUTDATED_REQUEST = ChangeRequest(id="c", number=4, status="open", revision="r2", outdated=True)


def review(by: User, status: str, revision: str = "r2", *, outdated: bool = False) -> Review:
    return Review(id=f"{by.id}-{status}", reviewer=by, status=status, revision=revision, outdated=outdated)


def test_status_has_reviews_by_revision() -> None:
    given = [review(ADA, "approved"), review(TOM, "approved", "r1"), review(TOM, "changes-requested", outdated=True)]
    status = request_status(OUTDATED_REQUEST, 2, given, [RequestedReviewer(user=ADA)], ["Start"], "ada")
    assert (status.approved, status.outdated_approvals, status.changes_requested) == (
        ("Ada Lovelace",),
        ("Tom Weaver",),
        (),
    )
    assert (status.is_requested_from_me, status.is_outdated, status.conflicts, status.open_thread_count) == (
        True,
        True,
        ("Start",),
        2,
    )


def test_merge_checks_mark_outdated_reviews() -> None:
    reviews = (review(ADA, "changes-requested"), review(TOM, "changes-requested", "r1"))
    assert [row.text for row in approval_rows(OUTDATED_REQUEST, reviews)] == [
        "Ada Lovelace requested changes",
        "Tom Weaver requested changes (outdated)",
    ]


def sign_texts(*reviews: Review) -> list[str]:
    counts = {
        "open_thread_count": 0,
        "conflict_count": 0,
        "unresolved_count": 0,
        "pending_count": 0,
        "proposed_count": 0,
    }
    return [text for text, _ in status_signs(OUTDATED_REQUEST, reviews, **counts, is_on_main=False)]


@pytest.mark.parametrize(
    ("reviews", "text"),
    [
        ([review(ADA, "approved"), review(TOM, "approved", "r1")], "  ✓ 2 approved (1 outdated)"),
        ([review(ADA, "approved", "r1"), review(TOM, "approved", "r1")], "  ✓ 2 approved (outdated)"),
        ([review(TOM, "changes-requested")], "  ✗ Tom Weaver requested changes"),
        ([review(TOM, "changes-requested", "r1")], "  ✗ Tom Weaver requested changes (outdated)"),
        (
            [review(ADA, "changes-requested"), review(TOM, "changes-requested", "r1")],
            "  ✗ 2 reviewers requested changes (1 outdated)",
        ),
    ],
)
def test_signs_say_how_many_reviews_are_outdated(reviews: list[Review], text: str) -> None:
    assert text in sign_texts(*reviews)


def test_approval_without_a_revision_is_not_outdated() -> None:
    approval = Review(id="r", reviewer=ADA, status="approved")
    assert "  ✓ 1 approved" in sign_texts(approval)
    assert request_status(OUTDATED_REQUEST, 0, [approval], [], [], "ada").approved == ("Ada Lovelace",)


def test_change_request_whose_facts_failed_to_load_cannot_match_any_more() -> None:
    status = request_status(OUTDATED_REQUEST, 0, None, [], [], "ada", {"reviews": "refused"})
    outdated = RequestFilter("Status", "outdated", lambda _, status: status.is_outdated)
    approved = RequestFilter("Review", "approved", lambda _, status: bool(status.approved), "reviews")
    requested = RequestFilter("Review", "review requested", lambda _, status: status.is_requested_from_me, "requested")
    assert not can_still_match([OUTDATED_REQUEST], [outdated, approved], lambda _: status)
    assert can_still_match([OUTDATED_REQUEST], [outdated, requested], lambda _: status)


def test_facts_that_are_not_loaded_are_unknown() -> None:
    assert request_status(OUTDATED_REQUEST, 0, None, [], None, "ada").loaded_fields == {"requested"}


def test_merged_change_request_is_not_outdated() -> None:
    assert not request_status(
        OUTDATED_REQUEST.model_copy(update={"status": "merged"}), 0, (), (), (), "ada"
    ).is_outdated


FULL_STATUS = RequestStatus(
    approved=("Ada Lovelace",),
    outdated_approvals=("Tom Weaver",),
    is_requested_from_me=True,
    is_outdated=True,
    conflicts=("Start",),
    open_thread_count=2,
)


@pytest.mark.parametrize(
    ("width", "expected"),
    [
        (
            200,
            "Guide · Ada · ○ your review requested · ✓ Ada Lovelace · ✓ Tom Weaver (outdated) · ✗ may conflict: Start · outdated · ● 2 open threads",
        ),
        (
            110,
            "Guide · Ada · ○ review requested · ✓ Ada Lovelace · ✓ Tom (outdated) · ✗ may conflict · outdated · ● 2 threads",
        ),
        (83, "Guide · Ada · ○ review · ✓ Ada · ✓ Tom (outdated) · ✗ may conflict · outdated · ● 2"),
        (75, "Guide · Ada · ○ review · ✓ Ada · ✓ 1 outdated · ✗ conflict · outdated · ● 2"),
        (67, "Ada · ○ review · ✓ 1 · ✓ 1 outdated · ✗ conflict · outdated · ● 2"),
        (61, "○ review · ✓ 1 · ✓ 1 outdated · ✗ conflict · outdated · ● 2"),
    ],
)
def test_narrow_line_shortens_the_facts(width: int, expected: str) -> None:
    assert status_line(FULL_STATUS, ("Guide", "Ada"), width).plain == expected


def test_narrow_line_says_in_words_that_the_status_is_partly_loaded() -> None:
    status = replace(FULL_STATUS, load_errors={"reviews": "Offline."})
    assert "?" not in status_line(status, ("Guide", "Ada"), 75).plain
    assert " · partial · " in status_line(status, ("Guide", "Ada"), 75).plain


@given(
    st.lists(st.text(max_size=30), max_size=4),
    st.lists(st.text(max_size=30), max_size=4),
    st.lists(st.text(max_size=12), max_size=2),
    st.integers(0, 500),
    st.integers(4, 160),
)
def test_summary_line_fits_its_width(
    names: list[str], titles: list[str], before: list[str], threads: int, width: int
) -> None:
    status = RequestStatus(tuple(names), tuple(names), tuple(names), True, True, tuple(titles), threads)
    assert status_line(status, before, width).cell_length <= width


def test_review_comment_is_not_an_open_thread() -> None:
    expected = Comment(id="a", posted_by=ADA, target=Target(review="r"))
    assert (expected.is_open, expected.is_open_thread) == (True, False)
    thread = Comment(id="b", posted_by=ADA)
    assert thread.is_open_thread
    assert not thread.model_copy(update={"status": "resolved"}).is_open_thread
