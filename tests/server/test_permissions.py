from __future__ import annotations

import pytest

from octavo.api import collections, spaces
from octavo.api.operation import CollectionRef
from octavo.api.spaces import Space
from octavo.server.handlers.permissions import ROLES, require, role
from octavo.server.rest import Refusal, RequestContext
from tests.server.small_platform import ACME, PEOPLE, Ask, check_refused, space_with

ALLOWED = {
    "ada": {"view", "access", "comment", "edit", "review", "merge", "admin"},
    "mia": {"view", "access", "comment", "edit", "review", "merge"},
    "tom": {"view", "access", "comment", "edit", "review"},
    "jun": {"view", "access", "comment", "edit"},
    "zoe": {"view", "access", "comment"},
    "sam": {"view", "access"},
}


def _role_of(context: RequestContext, space: Space, user: str) -> str | None:
    return role(context, context.store.get(f"/spaces/{space.id}"), user)


@pytest.mark.parametrize("user", sorted(ALLOWED))
async def test_each_role_has_its_documented_permissions(ask: Ask, user: str) -> None:
    space = await ask(spaces.Get(at=(await space_with(ask)).ref), user)
    names = {"view", "access", "comment", "edit", "review", "merge", "admin"}
    assert {name for name in names if getattr(space.permissions, name)} == ALLOWED[user]


@pytest.mark.parametrize("user", ["gil", "eve"])
async def test_space_is_not_found_without_a_role(ask: Ask, user: str) -> None:
    space = await space_with(ask)
    assert "space “" in await check_refused(ask(spaces.Get(at=space.ref), user), 404)


async def test_default_access_limits_every_role_except_admin(ask: Ask, context: RequestContext) -> None:
    space = await space_with(ask)
    await ask(spaces.Update(at=space.ref, default_level="comment"))
    held = {user: _role_of(context, space, user) for user in PEOPLE}
    assert held == {
        "ada": "admin",
        "mia": "comment",
        "tom": "comment",
        "jun": "comment",
        "zoe": "comment",
        "sam": "read",
        "gil": None,
    }


async def test_default_access_null_allows_only_admins(ask: Ask, context: RequestContext) -> None:
    space = await space_with(ask)
    await ask(spaces.Update(at=space.ref, default_level=None))
    assert [user for user in PEOPLE if _role_of(context, space, user)] == ["ada"]


async def test_inherit_uses_the_level_of_the_collection(ask: Ask, context: RequestContext) -> None:
    outer = await ask(collections.Create(at=ACME, title="Outer"))
    inner = await ask(collections.Create(at=ACME, title="Inner", parent=outer.id))
    space = await space_with(ask, parent=inner.id)
    await ask(collections.Update(at=CollectionRef(collection_id=outer.id), default_level="edit"))
    assert (_role_of(context, space, "mia"), _role_of(context, space, "sam")) == ("edit", "read")
    await ask(collections.Update(at=CollectionRef(collection_id=inner.id), default_level="read"))
    assert _role_of(context, space, "mia") == "read"
    await ask(spaces.Update(at=space.ref, default_level="review"))
    assert _role_of(context, space, "mia") == "review"


async def test_higher_direct_role_counts(ask: Ask, context: RequestContext) -> None:
    collection = await ask(collections.Create(at=ACME, title="Manuals"))
    space = await space_with(ask, parent=collection.id)
    context.store.put(f"/spaces/{space.id}/permissions/users/gil", {"id": "gil", "role": "comment"})
    context.store.put(f"/spaces/{space.id}/permissions/users/jun", {"id": "jun", "role": "read"})
    context.store.put(f"/collections/{collection.id}/permissions/users/sam", {"id": "sam", "role": "review"})
    assert [_role_of(context, space, user) for user in ("gil", "jun", "sam")] == ["comment", "edit", "review"]
    assert (await ask(spaces.Get(at=space.ref), "gil")).permissions.comment


async def test_collection_is_visible_with_any_visible_content(ask: Ask, context: RequestContext) -> None:
    outer = await ask(collections.Create(at=ACME, title="Outer"))
    inner = await ask(collections.Create(at=ACME, title="Inner", parent=outer.id))
    space = await space_with(ask, parent=inner.id)
    assert (await ask(collections.List(at=ACME), "gil")).items == ()
    context.store.put(f"/spaces/{space.id}/permissions/users/gil", {"id": "gil", "role": "read"})
    assert [each.title for each in (await ask(collections.List(at=ACME), "gil")).items] == ["Outer", "Inner"]


async def test_refusal_names_the_current_and_the_required_role(ask: Ask, context: RequestContext) -> None:
    space = await space_with(ask, "Handbook")
    document = context.store.get(f"/spaces/{space.id}")
    with pytest.raises(Refusal) as refusal:
        require(context.for_user("sam"), document, "merge")
    assert refusal.value.status == 403
    assert str(refusal.value) == (
        "Your role in “Handbook” is Reader. To merge, you need the Creator role or a higher role. Ask an admin for this role."
    )


def test_roles_rank_in_the_order_of_the_api() -> None:
    assert ROLES == ("read", "comment", "edit", "review", "create", "admin")
