"""Fingerprints tell if a cached response is current. Fingerprints are stored: if their format changes, every user fetches all such responses again."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from octavo.api.change_requests import ChangeRequest
from octavo.api.comments import Comment
from octavo.api.content import Change, Changes, Page, PageReference, PageTree
from octavo.api.operation import ChangeRequestRef, ListPage, SpaceRef
from octavo.api.spaces import Get, Space
from octavo.api.users import Contributor, User
from octavo.data import inbox_plan, offline_plan
from octavo.data.inbox_plan import ListedFingerprints, space_fingerprint
from octavo.data.queries import open_threads_op

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
LATER = datetime(2026, 5, 4, 13, 30, 5, 250_000, tzinfo=UTC)
ADA = User(id="ada")
SPACE = Space(
    id="s",
    organization="o",
    revision="r9",
    updated_at=NOON,
    comments=3,
    change_requests=4,
    change_requests_open=2,
    change_requests_draft=1,
)
BARE = Space(id="b", comments=1)
"""A space of a server that says little."""
OPEN = ChangeRequest(
    id="c",
    number=7,
    space="s",
    status="open",
    created_by=ADA,
    comments=2,
    updated_at=LATER,
    revision="r12",
    base="r9",
)
DRAFT = ChangeRequest(id="d", number=8, space="s", status="draft", comments=0)
THREADS = [
    Comment(id="t1", posted_by=ADA, replies=2, edited_at=NOON),
    Comment(id="t2", posted_by=ADA, replies=1, repliers=(Contributor(user=ADA, updated_at=LATER),)),
    Comment(id="t3", posted_by=ADA, replies=0),
]
TREE = PageTree(pages=(Page(id="p1", type="document", updated_at=NOON, pages=(Page(id="p2", type="document"),)),))
CHANGES = Changes(
    changes=(
        Change(type="page_edited", page=PageReference(id="p1", type="document")),
        Change(type="page_created", page=PageReference(id="p2", type="document")),
    )
)
HERE = SpaceRef(space_id="s")
REQUESTS = {each.id: ChangeRequestRef(space_id="s", change_request_id=each.id) for each in (OPEN, DRAFT)}

INBOX = {
    "/v1/spaces/s/change-requests/c/reviews?limit=1000&format=markdown": "open 2026-05-04T13:30:05.250000+00:00 r12",
    "/v1/spaces/s/change-requests/c/requested-reviewers?limit=1000": "open 2026-05-04T13:30:05.250000+00:00 r12",
    "/v1/spaces/s/change-requests/c/comments?limit=1000&status=open&format=markdown": "2 2026-05-04T13:30:05.250000+00:00",
    "/v1/spaces/s/change-requests/d/reviews?limit=1000&format=markdown": "draft  ",
    "/v1/spaces/s/change-requests/d/requested-reviewers?limit=1000": "draft  ",
    "/v1/spaces/s/comments?limit=1000&status=open&format=markdown": "3",
    "/v1/spaces/b/comments?limit=1000&status=open&format=markdown": "1",
    "/v1/spaces/s/comments/t1/replies?limit=1000&format=markdown": "2 2026-05-04T12:00:00+00:00",
    "/v1/spaces/s/comments/t2/replies?limit=1000&format=markdown": "1 2026-05-04T13:30:05.250000+00:00",
}
OFFLINE = {
    "/v1/spaces/s/content/pages": "r9",
    "/v1/spaces/s/comments?limit=200&status=all&format=markdown": "r9 2026-05-04T12:00:00+00:00 3 2 1",
    "/v1/spaces/s/change-requests?limit=100&status=open": "r9 2026-05-04T12:00:00+00:00 3 2 1",
    "/v1/spaces/s/change-requests?limit=100&status=draft": "r9 2026-05-04T12:00:00+00:00 3 2 1",
    "/v1/spaces/s/content/files?limit=200": "r9",
    "/v1/spaces/s/links?limit=200": "r9",
    "/v1/orgs/o/change-requests?limit=1000&status=draft": "?",
    "/v1/orgs/o/change-requests?limit=1000&status=open": "?",
    "/v1/orgs/o/change-requests?limit=100&status=archived": "?",
    "/v1/orgs/o/change-requests?limit=100&status=merged": "?",
    "/v1/spaces/b/content/pages": "  1 0 0",
    "/v1/spaces/b/comments?limit=200&status=all&format=markdown": "  1 0 0",
    "/v1/spaces/b/change-requests?limit=100&status=open": "  1 0 0",
    "/v1/spaces/b/change-requests?limit=100&status=draft": "  1 0 0",
    "/v1/spaces/b/content/files?limit=200": "  1 0 0",
    "/v1/spaces/b/links?limit=200": "  1 0 0",
    "/v1/spaces/s/content/page/p1?format=markdown&dereferenced=reusable-contents": "2026-05-04T12:00:00+00:00",
    "/v1/spaces/s/content/page/p2?format=markdown&dereferenced=reusable-contents": "r9",
    "/v1/spaces/s/comments/t1/replies?limit=1000&format=markdown": "2 2026-05-04T12:00:00+00:00",
    "/v1/spaces/s/comments/t2/replies?limit=1000&format=markdown": "1 2026-05-04T13:30:05.250000+00:00",
    "/v1/spaces/s/comments/t3/replies?limit=1000&format=markdown": "0",
    "/v1/spaces/s/change-requests/c": "open 2026-05-04T13:30:05.250000+00:00 r12 2",
    "/v1/spaces/s/change-requests/c/changes?limit=100": "r12",
    "/v1/spaces/s/change-requests/c/changes?limit=1000": "r12",
    "/v1/spaces/s/change-requests/c/content/pages": "r12",
    "/v1/spaces/s/change-requests/c/reviews?limit=1000&format=markdown": "open 2026-05-04T13:30:05.250000+00:00 r12",
    "/v1/spaces/s/change-requests/c/requested-reviewers?limit=1000": "open 2026-05-04T13:30:05.250000+00:00 r12",
    "/v1/spaces/s/change-requests/c/contributors": "open 2026-05-04T13:30:05.250000+00:00 r12 2",
    "/v1/spaces/s/change-requests/c/comments?limit=200&status=all&format=markdown": "open 2026-05-04T13:30:05.250000+00:00 r12 2",
    "/v1/spaces/s/change-requests/c/comments?limit=1000&status=open&format=markdown": "2 2026-05-04T13:30:05.250000+00:00",
    "/v1/spaces/s/change-requests/d": "draft   0",
    "/v1/spaces/s/change-requests/d/changes?limit=100": "draft   0",
    "/v1/spaces/s/change-requests/d/changes?limit=1000": "draft   0",
    "/v1/spaces/s/change-requests/d/content/pages": "draft   0",
    "/v1/spaces/s/change-requests/d/reviews?limit=1000&format=markdown": "draft  ",
    "/v1/spaces/s/change-requests/d/requested-reviewers?limit=1000": "draft  ",
    "/v1/spaces/s/change-requests/d/contributors": "draft   0",
    "/v1/spaces/s/change-requests/d/comments?limit=200&status=all&format=markdown": "draft   0",
}


def test_fingerprints_of_the_inbox_have_the_stored_format() -> None:
    parts = [
        *inbox_plan.needed_lists_of_requests([OPEN, DRAFT], "ada"),
        *inbox_plan.needed_lists_of_spaces([SPACE, BARE]),
        *inbox_plan.needed_replies(HERE, THREADS, "ada", is_own_request=False),
    ]
    assert {each.url: each.fingerprint for each in parts} == INBOX


def test_fingerprints_of_offline_spaces_have_the_stored_format() -> None:
    parts = [
        *offline_plan.needed_for_space(SPACE, "k"),
        *offline_plan.needed_for_space(BARE, "k"),
        *offline_plan.needed_for_tree(HERE, TREE, "r9", "k"),
        *offline_plan.needed_for_threads(HERE, THREADS, "k"),
        *offline_plan.needed_for_change_request(REQUESTS["c"], OPEN, "k"),
        *offline_plan.needed_for_change_request(REQUESTS["d"], DRAFT, "k"),
        *offline_plan.needed_for_changes(REQUESTS["c"], OPEN, CHANGES, "k"),
    ]
    assert {each.url: each.fingerprint for each in parts} == OFFLINE


def test_fingerprint_of_a_space_changes_with_its_content() -> None:
    assert space_fingerprint(SPACE) == "r9 2026-05-04T12:00:00+00:00 3 2 1"
    assert space_fingerprint(BARE) == "  1 0 0"


def test_views_inbox_and_offline_spaces_agree_on_fingerprints() -> None:
    """Both share stored versions: with different fingerprints, each would fetch again what the other has fetched."""
    listed = ListedFingerprints()
    listed.update([ListPage[Space](items=(SPACE,)), ListPage[ChangeRequest](items=(OPEN, DRAFT)), None])
    needed_responses: list[Any] = [
        *offline_plan.needed_for_space(SPACE, "k"),
        *offline_plan.needed_for_change_request(REQUESTS["c"], OPEN, "k"),
        *offline_plan.needed_for_change_request(REQUESTS["d"], DRAFT, "k"),
    ]
    needed_responses += [
        *inbox_plan.needed_lists_of_requests([OPEN, DRAFT], "ada"),
        *inbox_plan.needed_lists_of_spaces([SPACE]),
    ]
    fingerprints = {
        each.url: (each.fingerprint, listed.fingerprint_of(each.op))
        for each in needed_responses
        if "/orgs/" not in each.url
    }
    assert len(fingerprints) == 24
    assert {url: one for url, (one, _) in fingerprints.items()} == {
        url: other for url, (_, other) in fingerprints.items()
    }


def test_response_in_no_list_has_no_fingerprint() -> None:
    listed = ListedFingerprints()
    listed.update([ListPage[Space](items=(SPACE,))])
    assert listed.fingerprint_of(Get(at=HERE)) == space_fingerprint(SPACE)
    assert listed.fingerprint_of(open_threads_op(REQUESTS["d"])) == ""
    listed.update([])
    assert listed.fingerprint_of(Get(at=HERE)) == ""


def test_inbox_and_offline_spaces_give_a_response_the_same_fingerprint() -> None:
    """Both share stored versions: with different fingerprints, each would fetch again what the other has fetched."""
    assert {url for url in INBOX if url in OFFLINE} == {
        f"/v1/spaces/s/{path}"
        for path in (
            "change-requests/c/reviews?limit=1000&format=markdown",
            "change-requests/c/requested-reviewers?limit=1000",
            "change-requests/c/comments?limit=1000&status=open&format=markdown",
            "change-requests/d/reviews?limit=1000&format=markdown",
            "change-requests/d/requested-reviewers?limit=1000",
            "comments/t1/replies?limit=1000&format=markdown",
            "comments/t2/replies?limit=1000&format=markdown",
        )
    }
    assert {url: INBOX[url] for url in INBOX if url in OFFLINE} == {
        url: OFFLINE[url] for url in OFFLINE if url in INBOX
    }
