"""Items without access are not found by any operation."""

from __future__ import annotations

from typing import Any

import pytest

from octavo.api import collections, invites, permissions, site_structure, spaces
from octavo.api.operation import CollectionRef, Operation, SpaceRef
from octavo.api.spaces import CollectionPointer, Position, SpacePointer
from octavo.api.wire import encode
from tests.server.sample_sites import create_site
from tests.server.small_platform import ACME, Ask, check_refused, space_with

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
