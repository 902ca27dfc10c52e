"""Revisions never change, and main refers to one revision."""

from __future__ import annotations

from octavo.documents import page_trees
from octavo.server.handlers import spaces
from octavo.server.handlers.change_requests import create, merge, record_edit
from octavo.server.handlers.spaces import (
    add_edit_revision,
    add_first_revision,
    get_current,
    get_revision,
    new_page,
    page_text,
    set_current,
    with_stored_text,
)
from octavo.server.rest import RequestContext
from octavo.server.store import Json


def create_space_with(context: RequestContext, markdown: str) -> Json:
    space = spaces.create_space(context, "acme", title="Docs")
    return set_current(context, space["id"], add_first_revision(context, space, markdown))


def test_first_revision_has_one_page_named_by_its_heading(context: RequestContext) -> None:
    space = create_space_with(context.for_user("ada"), "# Welcome\n\nwords")
    revision = get_current(context, space["id"])
    (page,) = revision["pages"]
    assert (page["title"], page["slug"], page["path"]) == ("Welcome", "welcome", "")
    assert page_text(context, page) == "# Welcome\n\nwords"
    assert (revision["author"], revision["parents"]) == ("ada", [])


def test_next_revision_keeps_unchanged_content(context: RequestContext) -> None:
    space = create_space_with(context.for_user("ada"), "# Welcome")
    before = get_current(context, space["id"])
    page = new_page(context, "Second", "words")
    after = add_edit_revision(context.for_user("jun"), before, pages=[*before["pages"], page])
    assert (after["parents"], after["author"], after["type"]) == ([before["id"]], "jun", "edits")
    assert [each["title"] for each in page_trees.walk(after["pages"])] == ["Welcome", "Second"]
    assert get_revision(context, space["id"], before["id"]) == before
    assert get_current(context, space["id"]) == before


def test_equal_texts_are_stored_once(context: RequestContext) -> None:
    one, two = (new_page(context, title, "the same words") for title in ("One", "Two"))
    assert one["text"] == two["text"]
    assert "text" not in with_stored_text(context, one, "")


def test_new_main_revision_updates_the_time_of_the_space(context: RequestContext) -> None:
    space = create_space_with(context, "# Welcome")
    before = get_current(context, space["id"])
    after = add_edit_revision(context, before, pages=[])
    moved = set_current(context, space["id"], after)
    assert (moved["revision"], moved["updatedAt"]) == (after["id"], context.timestamp())


def test_content_of_a_change_request_is_not_in_main_before_the_merge(context: RequestContext) -> None:
    context = context.for_user("ada")
    space = create_space_with(context, "# Welcome")
    change_request = create(context, space["id"], "More")
    before = get_current(context, space["id"])
    page = new_page(context, "Second", "words")
    change_request = record_edit(
        context, change_request, add_edit_revision(context, before, pages=[*before["pages"], page])
    )
    assert get_current(context, space["id"]) == before
    merge(context, change_request)
    merged = get_current(context, space["id"])
    assert [each["title"] for each in merged["pages"]] == ["Welcome", "Second"]
    assert merged["mergedFrom"] == change_request["id"]
