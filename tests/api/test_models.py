"""Models accept documented, newer, older and partly invalid responses."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from octavo.api.bodies import document_text
from octavo.api.change_requests import ChangeRequest
from octavo.api.comments import Comment, TargetPage
from octavo.api.content import Page, PageReference, PageTree, Revision
from octavo.api.links import Location
from octavo.api.operation import ListPage, Urls, decode_response
from octavo.api.search import PageHit
from octavo.api.site_structure import SiteSection
from octavo.api.spaces import Space
from octavo.api.users import User

ADA = {"object": "user", "id": "ada", "displayName": "Ada", "urls": {"location": "https://x.example"}}
COMMENT: dict[str, Any] = {
    "object": "comment", "id": "k1", "postedBy": ADA, "postedAt": "2026-01-02T03:04:05.000Z",
    "reactions": [], "replies": 0, "body": {"markdown": "Hi"}, "target": {"space": "s", "revision": "r"},
    "urls": {"location": "https://x.example"}, "permissions": {"view": True, "edit": False, "delete": False},
    "status": "open",
}  # fmt: skip


def test_unknown_fields_and_values_are_accepted() -> None:
    comment = Comment.model_validate({**COMMENT, "status": "parked", "likers": [{"x": 1}], "new": {}})
    assert comment.status == "parked"


def test_target_with_ids_only_is_accepted() -> None:
    comment = Comment.model_validate({**COMMENT, "target": {"page": {"id": "p"}, "node": {"id": "n"}}})
    assert comment.target.page is not None
    assert comment.target.page.outdated is None


def test_one_bad_item_does_not_hide_the_others() -> None:
    items: list[Any] = [COMMENT, {**COMMENT, "id": "../x"}, {"id": 3}, "nonsense", {**COMMENT, "id": "k2"}]
    page = decode_response(TypeAdapter(ListPage[Comment]), json.dumps({"items": items, "next": {"page": "c"}}).encode())
    assert [comment.id for comment in page.items] == ["k1", "k2"]
    assert page.unreadable == 3
    assert page.next is not None


def test_response_of_another_shape_is_refused() -> None:
    with pytest.raises(ValidationError):
        ListPage[Comment].model_validate({"items": "none"})


def test_both_names_of_the_git_field_are_read() -> None:
    for name in ("createdByPlatform", "createdByGitBook"):
        revision = Revision.model_validate({"id": "r", "pages": [], "git": {"oid": "1", name: True}})
        assert revision.git is not None
        assert revision.git.created_by_platform is True


def test_page_tree_can_be_walked_and_searched() -> None:
    pages = [{"id": "g", "type": "group", "title": "G", "pages": [{"id": "p", "title": "P"}]}, {"id": "q"}]
    tree = PageTree.model_validate({"pages": pages})
    assert [page.id for page in tree.walk()] == ["g", "p", "q"]
    assert [page.id for page in tree.path_to("p")] == ["g", "p"]
    assert tree.path_to("nowhere") == ()
    assert tree.find("q") is not None


def test_server_text_is_sanitized_when_the_model_is_built() -> None:
    page = Page.model_validate({"id": "p", "title": "a\x1b]0;x\x07b\nc", "markdown": "x\x1b[2Jy\nz"})
    assert page.title == "a␛]0;x␇b c"
    assert page.markdown == "x␛[2Jy\nz"


LONG = f"https://app.gitbook.com/s/harbour/{'%E6%B8%AF' * 60}"


@pytest.mark.parametrize(
    "text",
    [
        Urls.model_validate({"app": LONG}).app,
        PageHit.model_validate({"id": "p", "path": LONG}).path,
        TargetPage.model_validate({"id": "p", "path": LONG}).path,
        PageReference.model_validate({"id": "p", "path": LONG}).path,
        SiteSection.model_validate({"id": "s", "path": LONG}).path,
        User.model_validate({"id": "u", "photoURL": LONG}).photo_url,
    ],
    ids=["link", "search hit", "page of a comment", "changed page", "section", "photo"],
)
def test_long_link_or_path_is_not_cut(text: str) -> None:
    assert text == LONG


def test_free_form_json_is_sanitized() -> None:
    description = {
        "object": "document",
        "nodes": [{"object": "block", "nodes": [{"object": "text", "leaves": [{"text": "a\x1bb"}]}]}],
    }
    change_request = ChangeRequest.model_validate({"id": "c", "description": description})
    assert change_request.description_text == "a␛b"


def test_change_request_without_subject_has_a_title() -> None:
    assert ChangeRequest.model_validate({"id": "c", "number": 7, "subject": ""}).title == "Untitled"


def test_base_is_the_merged_ancestor_or_the_initial_revision() -> None:
    started = {"id": "c", "revisionInitial": "a"}
    assert ChangeRequest.model_validate(started).base == "a"
    assert ChangeRequest.model_validate({**started, "revisionMergedAncestor": "b"}).base == "b"


def test_space_needs_only_its_id() -> None:
    space = Space.model_validate({"id": "s"})
    assert (space.comments, space.permissions.merge, space.ref.space_id) == (0, False, "s")


def test_text_of_a_json_document() -> None:
    leaf = {"object": "text", "leaves": [{"object": "leaf", "text": "one "}, {"object": "leaf", "text": "two"}]}
    document = {
        "object": "document",
        "nodes": [{"object": "block", "nodes": [leaf]}, {"object": "block", "nodes": [leaf]}],
    }
    assert document_text(document) == "one two\none two"
    assert document_text(None) == document_text("nonsense") == document_text({"nodes": "no"}) == ""


@pytest.mark.parametrize("leaves", [7, True, "ab", {"text": "a"}, [None, {"text": None}, {"text": ["a"]}, "a"]])
def test_malformed_leaves_have_no_text(leaves: Any) -> None:
    paragraph = {"object": "block", "type": "paragraph", "nodes": [{"object": "text", "leaves": leaves}]}
    assert document_text({"nodes": [paragraph]}) == ""


def test_user_always_has_a_name() -> None:
    assert User.model_validate({"id": "u", "displayName": ""}).name == "u"


def test_locations_of_links_share_equal_spaces_only() -> None:
    first, same = (Location.model_validate({"space": {"id": "s", "title": "Tides"}}).space for _ in range(2))
    renamed, other = (Location.model_validate({"space": {"id": id, "title": "Charts"}}).space for id in ("s", "charts"))
    assert first is same
    assert [each.title for each in (first, renamed, other) if each is not None] == ["Tides", "Charts", "Charts"]
    assert [each.id for each in (first, renamed, other) if each is not None] == ["s", "s", "charts"]
