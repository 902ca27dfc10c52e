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
    with_text,
)
from octavo.server.rest import World
from octavo.server.store import Json


def create_space_with(world: World, markdown: str) -> Json:
    space = spaces.create_space(world, "acme", title="Docs")
    return set_current(world, space["id"], add_first_revision(world, space, markdown))


def test_first_revision_has_one_page_named_by_its_heading(world: World) -> None:
    space = create_space_with(world.for_user("ada"), "# Welcome\n\nwords")
    revision = get_current(world, space["id"])
    (page,) = revision["pages"]
    assert (page["title"], page["slug"], page["path"]) == ("Welcome", "welcome", "")
    assert page_text(world, page) == "# Welcome\n\nwords"
    assert (revision["author"], revision["parents"]) == ("ada", [])


def test_next_revision_keeps_unchanged_content(world: World) -> None:
    space = create_space_with(world.for_user("ada"), "# Welcome")
    before = get_current(world, space["id"])
    page = new_page(world, "Second", "words")
    after = add_edit_revision(world.for_user("jun"), before, pages=[*before["pages"], page])
    assert (after["parents"], after["author"], after["type"]) == ([before["id"]], "jun", "edits")
    assert [each["title"] for each in page_trees.walk(after["pages"])] == ["Welcome", "Second"]
    assert get_revision(world, space["id"], before["id"]) == before
    assert get_current(world, space["id"]) == before


def test_equal_texts_are_stored_once(world: World) -> None:
    one, two = (new_page(world, title, "the same words") for title in ("One", "Two"))
    assert one["text"] == two["text"]
    assert "text" not in with_text(world, one, "")


def test_new_main_revision_updates_the_time_of_the_space(world: World) -> None:
    space = create_space_with(world, "# Welcome")
    before = get_current(world, space["id"])
    after = add_edit_revision(world, before, pages=[])
    moved = set_current(world, space["id"], after)
    assert (moved["revision"], moved["updatedAt"]) == (after["id"], world.timestamp())


def test_content_of_a_change_request_is_not_in_main_before_the_merge(world: World) -> None:
    world = world.for_user("ada")
    space = create_space_with(world, "# Welcome")
    change_request = create(world, space["id"], "More")
    before = get_current(world, space["id"])
    page = new_page(world, "Second", "words")
    change_request = record_edit(
        world, change_request, add_edit_revision(world, before, pages=[*before["pages"], page])
    )
    assert get_current(world, space["id"]) == before
    merge(world, change_request)
    merged = get_current(world, space["id"])
    assert [each["title"] for each in merged["pages"]] == ["Welcome", "Second"]
    assert merged["mergedFrom"] == change_request["id"]
