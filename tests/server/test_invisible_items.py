"""Items without access are not found by any operation."""

from __future__ import annotations

from typing import Any

import pytest

from octavo.api import collections, content, invites, links, permissions, redirects, site_structure, spaces
from octavo.api.operation import CollectionRef, Operation, SpaceRef
from octavo.api.redirects import ToPage, ToSection, ToSpace
from octavo.api.spaces import CollectionPointer, Position, SpacePointer
from octavo.api.wire import encode
from octavo.server.rest import RequestContext
from tests.server.sample_sites import create_site
from tests.server.small_platform import ACME, Ask, check_refused, replace_pages, space_with

SECRET = "Merger with North"
PEOPLE = ("mia", "sam", "gil")
"""A creator, a reader and a guest, who each administer one space and one collection."""


@pytest.fixture
async def unseen(ask: Ask) -> tuple[SpaceRef, CollectionRef]:
    """Create a space in a collection, both visible to administrators only."""
    collection = await ask(collections.Create(at=ACME, title=SECRET))
    ref = CollectionRef(collection_id=collection.id)
    await ask(collections.Update(at=ref, default_level=None))
    return (await space_with(ask, SECRET, parent=collection.id)).ref, ref


@pytest.fixture
async def own(ask: Ask) -> tuple[SpaceRef, CollectionRef]:
    """Create a space and a collection with all users of the tests as administrators."""
    space = await space_with(ask, "Own")
    collection = CollectionRef(collection_id=(await ask(collections.Create(at=ACME, title="Own"))).id)
    for at in (space.ref, collection):
        await ask(permissions.Grant(at=at, role="admin", users=PEOPLE))
    return space.ref, collection


@pytest.mark.parametrize("user", PEOPLE)
async def test_move_beside_an_invisible_place_is_refused(
    ask: Ask, user: str, unseen: tuple[SpaceRef, CollectionRef], own: tuple[SpaceRef, CollectionRef]
) -> None:
    (space, collection), (own_space, own_collection) = unseen, own
    beside = Position(before=SpacePointer(space=space.space_id))
    below = Position(after=CollectionPointer(collection=collection.collection_id))
    ops: tuple[Operation[Any], ...] = (
        spaces.Create(at=ACME, parent=collection.collection_id),
        collections.Create(at=ACME, parent=collection.collection_id),
        spaces.Move(at=own_space, parent=collection.collection_id),
        spaces.Move(at=own_space, position=beside),
        spaces.Move(at=own_space, parent=None, position=beside),
        collections.Move(at=own_collection, parent=collection.collection_id),
        collections.Move(at=own_collection, position=below),
    )
    for op in ops:
        sentence = await check_refused(ask(op, user), 404)
        assert SECRET not in sentence
        assert collection.collection_id in sentence or space.space_id in sentence


@pytest.mark.parametrize("user", PEOPLE)
async def test_invite_links_of_invisible_places_are_hidden(
    ask: Ask, user: str, unseen: tuple[SpaceRef, CollectionRef]
) -> None:
    space, collection = unseen
    link = await ask(invites.CreateLink(at=ACME, level="read", space=space.space_id))
    ops: tuple[Operation[Any], ...] = (
        invites.CreateLink(at=ACME, level="admin", space=space.space_id),
        invites.CreateLink(at=ACME, level="admin", collection=collection.collection_id),
        invites.GetLink(at=ACME, invite_id=link.id),
        invites.UpdateLink(at=ACME, invite_id=link.id, level="admin"),
    )
    for op in ops:
        assert SECRET not in await check_refused(ask(op, user), 404)
    await ask(invites.DeleteLink(at=ACME, invite_id=link.id), user)
    assert await ask(invites.GetLink(at=ACME, invite_id=link.id)) == link


async def test_move_beside_a_deleted_space_is_refused(ask: Ask, own: tuple[SpaceRef, CollectionRef]) -> None:
    gone = await space_with(ask, SECRET)
    await ask(spaces.Delete(at=gone.ref))
    beside = Position(before=SpacePointer(space=gone.id))

    assert SECRET not in await check_refused(ask(spaces.Move(at=own[0], position=beside)), 404)


async def test_collection_is_visible_while_it_has_visible_content(
    ask: Ask, unseen: tuple[SpaceRef, CollectionRef]
) -> None:
    space, collection = unseen
    await ask(permissions.Grant(at=space, role="read", users=("sam",)))
    assert (await ask(collections.Get(at=collection), "sam")).title == SECRET
    await ask(spaces.Delete(at=space))

    assert SECRET not in await check_refused(ask(collections.Get(at=collection), "sam"), 404)
    assert (await ask(collections.List(at=ACME), "sam")).items == ()


async def test_section_hides_an_invisible_space_from_readers(ask: Ask, unseen: tuple[SpaceRef, CollectionRef]) -> None:
    at = await create_site(ask, await space_with(ask, "Open"))
    await ask(site_structure.CreateSection(at=at, space_id=unseen[0].space_id))
    for user in ("sam", "gil"):
        for op in (site_structure.Get(at=at), site_structure.ListSections(at=at)):
            answer = await ask.http("GET", encode(op).url, user)
            assert answer.status_code in (200, 404)
            assert SECRET not in answer.text
    assert SECRET in (await ask.http("GET", encode(site_structure.Get(at=at)).url)).text


async def test_redirect_reveals_no_path_of_an_invisible_space(ask: Ask, unseen: tuple[SpaceRef, CollectionRef]) -> None:
    at = await create_site(ask, await space_with(ask, "Open"))
    section = await ask(site_structure.CreateSection(at=at, space_id=unseen[0].space_id))
    site_space = section.site_spaces[0].id
    (page,) = (await ask(content.ListPages(at=unseen[0]))).pages
    destinations = (
        ToSection(site_section_id=section.id),
        ToSpace(site_space_id=site_space),
        ToPage(site_space_id=site_space, page_id=page.id),
    )
    for number, destination in enumerate(destinations):
        await ask(redirects.Create(at=at, source=f"/old{number}", destination=destination))
        resolve = redirects.Resolve(at=at, source=f"/old{number}")
        assert (await ask(resolve)).target
        for user in ("sam", "gil"):
            assert "merger" not in (await check_refused(ask(resolve, user), 404)).lower()
    for destination in destinations[1:]:
        await check_refused(ask(redirects.Create(at=at, source="/new", destination=destination), "mia"), 404)


async def test_link_to_a_user_of_another_organization_is_broken(ask: Ask, context: RequestContext) -> None:
    context.store.put("/users/zed", {"id": "zed", "displayName": SECRET, "email": "zed@north.example"})
    space = await space_with(ask, guide="[her](/users/zed) [me](/users/ada) [you](/users/sam)")
    target = {"kind": "user", "user": "zed"}
    await replace_pages(ask, space, [{"id": "link", "type": "link", "title": "Her", "target": target}])
    assert [each.status for each in (await ask(links.ListOfSpace(at=space.ref))).items] == ["broken"]
    await replace_pages(ask, space, context.store.get(f"/spaces/{space.id}/revisions/{space.revision}")["pages"])
    found = (await ask(links.ListOfSpace(at=space.ref), "sam")).items
    assert [(each.status, each.target_reference and each.target_reference.kind) for each in found] == [
        ("broken", "url"),
        ("ok", "user"),
        ("ok", "user"),
    ]
    assert SECRET not in ask.last.text
