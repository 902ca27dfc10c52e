from __future__ import annotations

import pytest

from octavo.api import collections, spaces
from octavo.api.collections import Collection
from octavo.api.operation import CollectionRef
from octavo.api.spaces import CollectionPointer, Position
from octavo.server.rest import RequestContext, iso
from tests.server.small_platform import ACME, START, Ask, check_refused, space_with


async def _make(ask: Ask, title: str, parent: Collection | None = None) -> Collection:
    return await ask(collections.Create(at=ACME, title=title, **({"parent": parent.id} if parent else {})))


def _ref(collection: Collection) -> CollectionRef:
    return CollectionRef(collection_id=collection.id)


async def _parents(ask: Ask) -> dict[str, str | None]:
    """Return the title of each collection's parent by title."""
    found = (await ask(collections.List(at=ACME))).items
    titles = {each.id: each.title for each in found}
    return {each.title: titles.get(each.parent or "") for each in found}


async def test_collections_can_be_nested(ask: Ask) -> None:
    outer = await _make(ask, "Outer")
    await _make(ask, "Inner", outer)
    assert await _parents(ask) == {"Outer": None, "Inner": "Outer"}
    at_root = await ask(collections.List(at=ACME, nested=False))
    assert [each.title for each in at_root.items] == ["Outer"]
    assert ask.last.json()["items"][0]["object"] == "collection"


async def test_collection_needs_neither_title_nor_body(ask: Ask) -> None:
    answer = await ask.http("POST", "/v1/orgs/acme/collections")
    assert (answer.status_code, answer.json()["title"], answer.json()["defaultLevel"]) == (201, "Untitled", "inherit")


@pytest.mark.parametrize(
    ("method", "body", "sentence"),
    [
        ("POST", {"title": "x" * 51}, "title may have at most 50 characters."),
        ("PATCH", {"title": "x" * 51}, "title may have at most 50 characters."),
        ("PATCH", {"description": "x" * 101}, "description may have at most 100 characters."),
        ("PATCH", {"description": None}, "description cannot be null."),
        ("PATCH", {"defaultLevel": "king"}, "defaultLevel must be one of"),
    ],
)
async def test_values_beyond_the_limits_of_a_collection_are_refused(
    ask: Ask, method: str, body: dict[str, object], sentence: str
) -> None:
    collection = await _make(ask, "Manuals")
    url = "/v1/orgs/acme/collections" if method == "POST" else f"/v1/collections/{collection.id}"
    answer = await ask.http(method, url, json=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["message"].startswith(sentence)


async def test_admin_updates_a_collection(ask: Ask) -> None:
    at = _ref(await _make(ask, "Manuals"))
    changed = await ask(collections.Update(at=at, title="Guides", description="All of them", default_level=None))
    assert (changed.title, changed.description, changed.default_level) == ("Guides", "All of them", None)
    assert changed == await ask(collections.Get(at=at))
    await check_refused(ask(collections.Get(at=at), "mia"), 404)


async def test_other_roles_cannot_change_collections(ask: Ask) -> None:
    at = _ref(await _make(ask, "Manuals"))
    assert "need the Admin role" in await check_refused(ask(collections.Update(at=at, title="Mine"), "mia"), 403)
    await check_refused(ask(collections.Delete(at=at), "mia"), 403)
    await check_refused(ask(collections.Create(at=ACME), "jun"), 403)
    await check_refused(ask(collections.Get(at=at), "eve"), 404)
    await check_refused(ask(collections.Create(at=ACME, parent="nowhere")), 404)


async def test_contents_of_a_deleted_collection_move_to_its_parent(ask: Ask) -> None:
    outer = await _make(ask, "Outer")
    middle = await _make(ask, "Middle", outer)
    await _make(ask, "Inner", middle)
    space = await space_with(ask, parent=middle.id)
    await ask(collections.Delete(at=_ref(middle)))
    assert await _parents(ask) == {"Outer": None, "Inner": "Outer"}
    assert (await ask(spaces.Get(at=space.ref))).parent == outer.id
    await ask(collections.Delete(at=_ref(outer)))
    assert await _parents(ask) == {"Inner": None}
    loose = await ask(spaces.Get(at=space.ref))
    assert (loose.parent, loose.visibility) == (None, "private")
    await ask(collections.Delete(at=_ref(outer)))
    assert ask.last.status_code == 204


async def test_contents_of_a_deleted_closed_collection_stay_closed(ask: Ask) -> None:
    closed = await ask(collections.Update(at=_ref(await _make(ask, "Closed")), default_level=None))
    await _make(ask, "Inner", closed)
    space = await space_with(ask, parent=closed.id)
    await check_refused(ask(spaces.Get(at=space.ref), "sam"), 404)
    await ask(collections.Delete(at=_ref(closed)))
    await check_refused(ask(spaces.Get(at=space.ref), "sam"), 404)
    assert {each.default_level for each in (await ask(collections.List(at=ACME))).items} == {None}
    assert (await ask(spaces.Get(at=space.ref))).default_level is None


async def test_contents_of_a_deleted_collection_take_its_position(ask: Ask) -> None:
    await _make(ask, "First")
    middle = await _make(ask, "Middle")
    await _make(ask, "Last")
    await _make(ask, "One", middle)
    await _make(ask, "Two", middle)
    await ask(collections.Delete(at=_ref(middle)))
    assert list(await _parents(ask)) == ["First", "One", "Two", "Last"]


async def test_spaces_of_a_collection_exclude_nested_ones(ask: Ask) -> None:
    outer = await _make(ask, "Outer")
    inner = await _make(ask, "Inner", outer)
    await space_with(ask, "Direct", parent=outer.id)
    await space_with(ask, "Deeper", parent=inner.id)
    gone = await space_with(ask, "Gone", parent=outer.id)
    await ask(spaces.Delete(at=gone.ref))
    assert [each.title for each in (await ask(collections.ListSpaces(at=_ref(outer)))).items] == ["Direct"]


async def test_collection_moves_with_its_contents(ask: Ask) -> None:
    outer, other = await _make(ask, "Outer"), await _make(ask, "Other")
    inner = await _make(ask, "Inner", outer)
    await _make(ask, "Innermost", inner)
    assert (await ask(collections.Move(at=_ref(inner), parent=other.id))).parent == other.id
    assert await _parents(ask) == {"Outer": None, "Other": None, "Inner": "Other", "Innermost": "Inner"}
    first = Position(before=CollectionPointer(collection=outer.id))
    assert (await ask(collections.Move(at=_ref(inner), position=first))).parent is None
    assert [each for each, parent in (await _parents(ask)).items() if parent is None] == ["Inner", "Outer", "Other"]


async def test_collection_cannot_move_into_itself(ask: Ask) -> None:
    outer = await _make(ask, "Outer")
    inner = await _make(ask, "Inner", outer)
    innermost = await _make(ask, "Innermost", inner)
    for target in (outer, inner, innermost):
        sentence = await check_refused(ask(collections.Move(at=_ref(outer), parent=target.id)), 409)
        assert sentence == "“Outer” cannot be moved into itself. Choose another collection."
    beside = Position(after=CollectionPointer(collection=innermost.id))
    await check_refused(ask(collections.Move(at=_ref(outer), position=beside)), 409)
    assert await _parents(ask) == {"Outer": None, "Inner": "Outer", "Innermost": "Inner"}


async def test_collection_is_transferred_with_its_contents(ask: Ask, context: RequestContext) -> None:
    outer = await _make(ask, "Outer")
    inner = await _make(ask, "Inner", outer)
    space = await space_with(ask, parent=inner.id)
    context.store.put("/orgs/other", {"id": "other", "title": "Other", "createdAt": iso(START)})
    context.store.put("/orgs/other/members/ada", {"id": "ada", "role": "admin", "joinedAt": iso(START)})
    context.store.put(f"/spaces/{space.id}/permissions/users/gil", {"id": "gil", "role": "read"})
    transfer = collections.Transfer(at=_ref(outer), organization="other")
    await check_refused(ask(transfer), 412)
    context.store.delete(f"/spaces/{space.id}/permissions/users/gil")
    await ask(transfer)
    assert (await ask(collections.Get(at=_ref(inner)))).organization == "other"
    assert (await ask(spaces.Get(at=space.ref))).organization == "other"
    assert await _parents(ask) == {}
    await check_refused(ask(transfer), 409)


async def test_invalid_move_of_a_collection_is_refused(ask: Ask) -> None:
    outer, other = await _make(ask, "Outer"), await _make(ask, "Other")
    inner = await _make(ask, "Inner", outer)
    beside = Position(before=CollectionPointer(collection=inner.id))
    itself = Position(after=CollectionPointer(collection=other.id))
    nowhere = Position(after=CollectionPointer(collection="nowhere"))
    for status, op in (
        (400, collections.Move(at=_ref(other), position=Position())),
        (400, collections.Move(at=_ref(other), position=itself)),
        (404, collections.Move(at=_ref(other), position=nowhere)),
        (404, collections.Move(at=_ref(other), parent="nowhere")),
        (409, collections.Move(at=_ref(other), parent=None, position=beside)),
    ):
        await check_refused(ask(op), status)
    await check_refused(ask(collections.Move(at=_ref(other), parent=outer.id), "mia"), 403)
    assert await _parents(ask) == {"Outer": None, "Other": None, "Inner": "Outer"}


async def test_transfer_needs_permission_in_the_destination(ask: Ask, context: RequestContext) -> None:
    folder = await _make(ask, "Folder", await _make(ask, "Outer"))
    transfer = collections.Transfer(at=_ref(folder), organization="other")
    await check_refused(ask(transfer), 404)
    context.store.put("/orgs/other", {"id": "other", "title": "Other", "createdAt": iso(START)})
    for user, role in (("ada", "edit"), ("mia", "admin")):
        context.store.put(f"/orgs/other/members/{user}", {"id": user, "role": role, "joinedAt": iso(START)})
    await check_refused(ask(transfer), 403)
    await check_refused(ask(transfer, "mia"), 403)
    context.store.update("/orgs/other/members/ada", role="create")
    moved = await ask(transfer)
    assert (moved.organization, moved.parent) == ("other", None)
    assert await _parents(ask) == {"Outer": None}
