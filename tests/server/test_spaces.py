from __future__ import annotations

import pytest

from octavo.api import change_requests, collections, comments, content, permissions, spaces
from octavo.api.bodies import Markdown
from octavo.api.operation import CollectionRef, OrganizationRef, SpaceRef
from octavo.api.spaces import CollectionPointer, Position, SpacePointer
from octavo.server.handlers.spaces import add_edit_revision, delete_expired_spaces, get_current, new_page, set_current
from octavo.server.rest import RequestContext, iso
from tests.server.small_platform import ACME, START, Ask, Clock, check_refused, space_with
from tests.server.space_editor import SpaceEditor, update

HOSTILE = "[@click=app.quit]x[/] \x1b]52;c;aGk=\x07"


async def _titles(ask: Ask, user: str = "ada") -> list[str]:
    return [space.title for space in (await ask(spaces.List(at=ACME), user)).items]


async def test_new_space_has_one_empty_page(ask: Ask) -> None:
    space = await ask(spaces.Create(at=ACME, title="Handbook"), "mia")
    assert (space.title, space.visibility, space.emoji, space.edit_mode) == ("Handbook", "private", "📘", "live")
    tree = await ask(content.ListPages(at=space.ref), "sam")
    assert len(tree.pages) == 1
    page = await ask(content.GetPage(at=space.ref, page_id=tree.pages[0].id, format="markdown"), "sam")
    assert not page.markdown


async def test_new_space_has_the_settings_of_the_request(ask: Ask) -> None:
    body = {"title": "Handbuch", "emoji": "🚀", "editMode": "locked", "language": "de"}
    created = (await ask.http("POST", "/v1/orgs/acme/spaces", json=body)).json()
    assert body.items() <= created.items()
    shown = (await ask.http("GET", f"/v1/spaces/{created['id']}")).json()
    assert body.items() <= shown.items()


async def test_new_space_needs_the_creator_role(ask: Ask) -> None:
    assert "need the Creator role" in await check_refused(ask(spaces.Create(at=ACME), "tom"), 403)
    missing = spaces.Create(at=ACME, parent="nowhere")
    assert "collection “nowhere”" in await check_refused(ask(missing), 404)
    await check_refused(ask(spaces.Create(at=OrganizationRef(organization_id="other"))), 404)


async def test_visible_spaces_are_listed_in_order(ask: Ask, context: RequestContext) -> None:
    for title in ("One", "Two", "Three"):
        await space_with(ask, title)
    shared = await space_with(ask, "Shared")
    context.store.put(f"/spaces/{shared.id}/permissions/users/gil", {"id": "gil", "role": "read"})
    assert await _titles(ask) == ["One", "Two", "Three", "Shared"]
    assert await _titles(ask, "gil") == ["Shared"]


async def test_admins_change_settings_of_a_space(ask: Ask, clock: Clock) -> None:
    space = await space_with(ask)
    clock.forward(hours=1)
    changed = await ask(
        spaces.Update(at=space.ref, title="Guide", emoji="🎉", edit_mode="locked", default_level="read", language="da")
    )
    assert (changed.title, changed.emoji, changed.edit_mode, changed.default_level) == ("Guide", "🎉", "locked", "read")
    assert changed.language == "da"
    assert changed.created_at == START
    assert changed.updated_at == clock.moment
    assert "need the Admin role" in await check_refused(ask(spaces.Update(at=space.ref, title="Mine"), "mia"), 403)


async def test_emoji_and_icon_of_a_space_replace_each_other(ask: Ask) -> None:
    space = await space_with(ask)
    await ask(spaces.Update(at=space.ref, emoji="🎉"))
    shown = await ask(spaces.Update(at=space.ref, icon="https://x.example/icon.png"))
    assert shown.emoji == "📘"
    assert ask.last.json()["urls"]["icon"] == "https://x.example/icon.png"
    await ask(spaces.Update(at=space.ref, emoji="🎉"))
    assert "icon" not in ask.last.json()["urls"]
    both = spaces.Update(at=space.ref, emoji="🎉", icon="https://x.example/icon.png")
    assert "emoji and icon" in await check_refused(ask(both), 400)
    assert (await ask(spaces.Update(at=space.ref, emoji=None, icon=None))).emoji == "📘"


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"title": "x" * 51}, "title may have at most 50 characters."),
        ({"emoji": "x" * 51}, "emoji may have at most 50 characters."),
        ({"editMode": "frozen"}, "editMode must be one of 'live' or 'locked'."),
        ({"defaultLevel": "king"}, "defaultLevel must be one of"),
        ({"title": 7}, "title must be text."),
        ({"icon": "javascript:x"}, "icon must be a link"),
        ({"editMode": None}, "editMode cannot be null"),
    ],
)
async def test_values_outside_the_documented_limits_are_refused(
    ask: Ask, body: dict[str, object], sentence: str
) -> None:
    space = await space_with(ask)
    answer = await ask.http("PATCH", f"/v1/spaces/{space.id}", json=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["message"].startswith(sentence)


async def test_hostile_text_is_stored_unchanged(ask: Ask) -> None:
    space = await space_with(ask, HOSTILE)
    answer = await ask.http("GET", f"/v1/spaces/{space.id}")
    assert answer.json()["title"] == HOSTILE


async def test_open_threads_and_change_requests_are_counted(ask: Ask) -> None:
    space = await space_with(ask)
    for body in ("one", "two", "three"):
        thread = await ask(comments.Create(at=space.ref, body=Markdown(markdown=body)), "zoe")
    await ask(comments.Update(at=space.ref, comment_id=thread.id, resolved=True), "zoe")
    draft = await ask(change_requests.Create(at=space.ref, subject="Draft"), "jun")
    opened = await ask(change_requests.Create(at=space.ref, subject="Open"), "jun")
    await ask(change_requests.Update(at=opened.ref(space.ref), status="open"), "jun")
    on_draft = comments.Create(at=draft.ref(space.ref), body=Markdown(markdown="not on the primary content"))
    await ask(on_draft, "zoe")
    counted = await ask(spaces.Get(at=space.ref), "sam")
    assert counted.comments == 2
    assert (counted.change_requests, counted.change_requests_open, counted.change_requests_draft) == (2, 1, 1)


async def test_deleted_space_is_hidden_and_can_be_restored(ask: Ask, clock: Clock) -> None:
    space = await space_with(ask)
    assert "need the Admin role" in await check_refused(ask(spaces.Delete(at=space.ref), "mia"), 403)
    await ask(spaces.Delete(at=space.ref))
    assert await _titles(ask) == []
    assert (await ask(spaces.Get(at=space.ref))).deleted_at == START
    assert "space “" in await check_refused(ask(content.ListPages(at=space.ref)), 404)
    clock.forward(days=6, hours=23)
    restored = await ask(spaces.Restore(at=space.ref))
    assert (restored.deleted_at, await _titles(ask)) == (None, ["Handbook"])


async def test_deleted_space_is_removed_after_seven_days(ask: Ask, clock: Clock, context: RequestContext) -> None:
    space = await space_with(ask, page="word")
    await ask(spaces.Delete(at=space.ref))
    clock.forward(days=7)
    await check_refused(ask(spaces.Restore(at=space.ref)), 404)
    await check_refused(ask(spaces.Get(at=space.ref)), 404)
    delete_expired_spaces(context)
    assert context.store.find(f"/spaces/{space.id}") is None
    assert list(context.store.all(f"/spaces/{space.id}/revisions")) == []
    assert context.store.search([space.id], '"word"', 9) == []


async def test_deleting_a_missing_space_is_no_error(ask: Ask) -> None:
    space = await space_with(ask)
    for _ in range(2):
        await ask(spaces.Delete(at=space.ref))
    await ask(spaces.Delete(at=SpaceRef(space_id="nowhere")))
    assert ask.last.status_code == 204
    assert ask.last.content == b""


async def test_duplicated_space_has_the_pages_but_no_comments(ask: Ask) -> None:
    space = await space_with(ask, "Handbook " + "x" * 41, intro="# Intro\n\nHello", setup="# Setup")
    await ask(comments.Create(at=space.ref, body=Markdown(markdown="Typo")))
    copy = await ask(spaces.Duplicate(at=space.ref), "mia")
    assert (copy.title, copy.comments) == ("Copy of Handbook " + "x" * 33, 0)
    pages = (await ask(content.ListPages(at=copy.ref))).pages
    assert [page.title for page in pages] == ["Intro", "Setup"]
    read = await ask(content.GetPage(at=copy.ref, page_id=pages[0].id, format="markdown"))
    assert read.markdown == "# Intro\n\nHello"
    assert copy.revision != space.revision
    await check_refused(ask(spaces.Duplicate(at=space.ref), "jun"), 403)


async def test_duplicated_space_has_the_settings_of_the_original(ask: Ask) -> None:
    space = await space_with(ask)
    rules = {"type": "rules", "rules": []}
    await ask(spaces.Update(at=space.ref, edit_mode="locked", language="de", merge_rules=rules, emoji="🚀"))
    copy = await ask(spaces.Duplicate(at=space.ref))
    assert (copy.edit_mode, copy.language, copy.merge_rules, copy.emoji) == ("locked", "de", rules, "🚀")


async def test_user_sees_the_copy_of_a_shared_space(ask: Ask) -> None:
    space = await space_with(ask)
    await ask(spaces.Update(at=space.ref, default_level=None))
    await ask(permissions.Grant(at=space.ref, users=("mia",), role="create"))
    copy = await ask(spaces.Duplicate(at=space.ref), "mia")
    assert (await ask(spaces.Get(at=copy.ref), "mia")).permissions.admin
    await check_refused(ask(spaces.Get(at=copy.ref), "tom"), 404)


async def test_duplicated_space_is_an_independent_copy(ask: Ask, context: RequestContext) -> None:
    space = await space_with(ask, intro="# Intro")
    mine = context.for_user("ada")
    child = new_page(mine, "Child", "See ![chart](/files/chart).")
    group = {"id": "group", "type": "group", "title": "Group", "slug": "group", "pages": [child]}
    before = get_current(mine, space.id)
    file = {
        "id": "chart",
        "name": "c.png",
        "contentType": "image/png",
        "size": 5,
        "blob": context.store.put_blob("chart"),
    }
    shared = {"id": "shared", "title": "Shared", "text": context.store.put_blob("Mind the gap.")}
    pages = [*before["pages"], group]
    after = add_edit_revision(mine, before, pages=pages, files=[file], reusableContents=[shared])
    set_current(mine, space.id, after)
    draft = await ask(change_requests.Create(at=space.ref, subject="Draft"))
    await ask(comments.Create(at=draft.ref(space.ref), body=Markdown(markdown="Typo")))

    copy = await ask(spaces.Duplicate(at=space.ref))
    assert (copy.comments, copy.change_requests) == (0, 0)
    tree = await ask(content.ListPages(at=copy.ref))
    assert [(page.title, page.path) for page in tree.walk()] == [
        ("Intro", tree.pages[0].path),
        ("Group", "group"),
        ("Child", "group/child"),
    ]
    assert [each.name for each in (await ask(content.ListFiles(at=copy.ref))).items] == ["c.png"]
    reused = content.GetReusableContent(at=copy.ref, reusable_content_id="shared")
    assert (await ask(reused)).title == "Shared"

    await ask(spaces.Delete(at=space.ref))
    read = await ask(content.GetPage(at=copy.ref, page_id=tree.pages[1].pages[0].id, format="markdown"))
    assert read.markdown == "See ![chart](/files/chart)."
    editor = SpaceEditor(ask, copy.ref)
    await editor.publish(update(tree.pages[0].id, "# Changed"))
    await ask(spaces.Restore(at=space.ref))
    assert await SpaceEditor(ask, space.ref).outline() == "Intro Group(Child)"
    assert await editor.outline() == "Changed Group(Child)"


async def test_spaces_and_collections_are_reordered(ask: Ask) -> None:
    one, _, three = [await space_with(ask, title) for title in ("One", "Two", "Three")]
    folder = await ask(collections.Create(at=ACME, title="Folder"))
    await ask(spaces.Move(at=three.ref, position=Position(before=SpacePointer(space=one.id))))
    assert await _titles(ask) == ["Three", "One", "Two"]
    await ask(spaces.Move(at=one.ref, position=Position(after=CollectionPointer(collection=folder.id))))
    assert await _titles(ask) == ["Three", "Two", "One"]
    moved = await ask(spaces.Move(at=three.ref, parent=None))
    assert (moved.parent, await _titles(ask)) == (None, ["Two", "One", "Three"])


async def test_space_moves_into_a_collection_beside_a_neighbor(ask: Ask) -> None:
    folder = await ask(collections.Create(at=ACME, title="Folder"))
    inside, loose, other = (
        await space_with(ask, "Inside", parent=folder.id),
        await space_with(ask, "Loose"),
        await space_with(ask, "Other"),
    )
    assert inside.visibility == "in-collection"
    beside = Position(before=SpacePointer(space=inside.id))
    assert (await ask(spaces.Move(at=loose.ref, position=beside))).parent == folder.id
    assert (await ask(spaces.Move(at=other.ref, parent=folder.id))).parent == folder.id
    listed = await ask(collections.ListSpaces(at=CollectionRef(collection_id=folder.id)))
    assert [space.title for space in listed.items] == ["Loose", "Inside", "Other"]
    out = await ask(spaces.Move(at=inside.ref, parent=None))
    assert (out.parent, out.visibility) == (None, "private")


async def test_invalid_move_of_a_space_is_refused(ask: Ask) -> None:
    folder = await ask(collections.Create(at=ACME, title="Folder"))
    one, two = await space_with(ask, "One"), await space_with(ask, "Two")
    neighbour = SpacePointer(space=two.id)
    for status, op in (
        (400, spaces.Move(at=one.ref, position=Position())),
        (400, spaces.Move(at=one.ref, position=Position(before=neighbour, after=neighbour))),
        (400, spaces.Move(at=one.ref, position=Position(before=SpacePointer(space=one.id)))),
        (404, spaces.Move(at=one.ref, position=Position(before=SpacePointer(space="nowhere")))),
        (404, spaces.Move(at=one.ref, parent="nowhere")),
        (409, spaces.Move(at=one.ref, parent=folder.id, position=Position(before=neighbour))),
    ):
        await check_refused(ask(op), status)
    await check_refused(ask(spaces.Move(at=one.ref, parent=folder.id), "mia"), 403)


async def test_space_is_transferred_to_another_organization(ask: Ask, context: RequestContext) -> None:
    folder = await ask(collections.Create(at=ACME, title="Folder"))
    space = await space_with(ask, parent=folder.id)
    context.store.put("/orgs/other", {"id": "other", "title": "Other", "createdAt": iso(START)})
    to_other = spaces.Transfer(at=space.ref, organization="other")
    await check_refused(ask(to_other), 404)
    context.store.put("/orgs/other/members/ada", {"id": "ada", "role": "edit", "joinedAt": iso(START)})
    await check_refused(ask(to_other), 403)
    context.store.update("/orgs/other/members/ada", role="admin")
    await check_refused(ask(spaces.Transfer(at=space.ref, organization="acme")), 409)
    await check_refused(ask(to_other, "mia"), 403)
    context.store.put(f"/spaces/{space.id}/permissions/users/gil", {"id": "gil", "role": "read"})
    assert "shared with people" in await check_refused(ask(to_other), 412)
    context.store.delete(f"/spaces/{space.id}/permissions/users/gil")
    moved = await ask(to_other)
    assert (moved.organization, moved.parent) == ("other", None)
    assert await _titles(ask) == []
    await check_refused(ask(spaces.Get(at=space.ref), "sam"), 404)
