"""Runs handlers. Checks that the caller can see the resource of an operation, and runs each write in a transaction."""

from __future__ import annotations

from typing import Any, TypeVar

from octavo.api import spaces
from octavo.api.operation import SPECS, Operation
from octavo.api.places import ChangeRequestRef, CollectionRef, OrganizationRef, RevisionRef, SiteRef, SpaceRef
from octavo.server.handlers import load_for, site_tree
from octavo.server.handlers.permissions import can_see_collection, membership, role
from octavo.server.handlers.spaces import is_expired
from octavo.server.rest import handle
from octavo.server.store import MissingResource
from octavo.server.world import World

Op = TypeVar("Op", bound=Operation[Any])


def run_operation(op: Operation[Any], world: World) -> Any:
    """Run the handler of an operation, and return its JSON value or None. Raises Refusal and MissingResource.

    A failed write changes nothing. Deleting a missing resource is not an error.
    """
    load_for(type(op))
    method = SPECS[type(op)].method
    try:
        with world.store.cached_reads() if method == "GET" else world.store.transaction():
            return handle(resolve_place(op, world), world)
    except MissingResource:
        if method == "DELETE":
            return None
        raise


def resolve_place(op: Op, world: World) -> Op:
    """Check that the caller can see the resource of `op`. Return `op`, with the ID of its change request in place of
    a number. Raises MissingResource if the resource is missing or hidden."""
    match getattr(op, "at", None):
        case OrganizationRef() as at:
            if membership(world, at.organization_id) is None:
                raise MissingResource(f"/orgs/{at.organization_id}")
        case SiteRef() as at:
            # Operations with a share key are for visitors of the published site too.
            visits = "share_key" in type(op).model_fields
            site_tree.require_site_access(world, at, visits=visits, share_key=getattr(op, "share_key", None))
        case CollectionRef() as at:
            if not can_see_collection(world, world.store.get(f"/collections/{at.collection_id}")):
                raise MissingResource(f"/collections/{at.collection_id}")
        case SpaceRef() as at:
            deleted = isinstance(op, spaces.Get | spaces.Restore)
            _require_space(world, at.space_id, deleted=deleted, visitor=op if isinstance(op, spaces.Get) else None)
        case ChangeRequestRef() as at:
            _require_space(world, at.space_id)
            place = at.model_copy(update={"change_request_id": _change_request_id(world, at)})
            return op.model_copy(update={"at": place})
        case RevisionRef() as at:
            _require_space(world, at.space_id)
            world.store.get(f"/spaces/{at.space_id}/revisions/{at.revision_id}")
    return op


def _require_space(world: World, space_id: str, *, deleted: bool = False, visitor: spaces.Get | None = None) -> None:
    space = world.store.get(f"/spaces/{space_id}")
    hidden = is_expired(world, space) if deleted else space.get("deletedAt")
    if hidden or (
        role(world, space) is None
        and (visitor is None or not site_tree.is_published_to(world, space, visitor.share_key))
    ):
        raise MissingResource(f"/spaces/{space_id}")


def _change_request_id(world: World, at: ChangeRequestRef) -> str:
    """Return the ID of a change request named by ID or number. Raises MissingResource if it does not exist."""
    collection = f"/spaces/{at.space_id}/change-requests"
    if world.store.find(f"{collection}/{at.change_request_id}"):
        return at.change_request_id
    number = at.change_request_id
    if (
        number.isascii()
        and number.isdecimal()
        and len(number) < 10
        and (document := world.store.find_by(collection, "number", int(number)))
    ):
        return str(document["id"])
    raise MissingResource(f"{collection}/{number}")
