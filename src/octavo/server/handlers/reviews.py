"""Reviews of change requests, and review requests.

A review applies to the revision at that time. It becomes outdated when its author reviews again or is requested again.
Authors may review their own change requests.
"""

from __future__ import annotations

from octavo.api import reviews
from octavo.api.bodies import Format
from octavo.api.labels import label
from octavo.api.places import ChangeRequestRef
from octavo.server.handlers import comments
from octavo.server.handlers.change_requests import change_request_path, refuse_closed, update_fields
from octavo.server.handlers.comments import Threads
from octavo.server.handlers.members import present_user
from octavo.server.handlers.permissions import allows, require, role
from octavo.server.rest import handle, paginate, request_fields
from octavo.server.store import Json
from octavo.server.world import Refusal, World


def present_review(world: World, at: ChangeRequestRef, document: Json, format: Format | None = None) -> Json:
    """Return a review with its comment, if the comment still exists."""
    review = {"object": "change-request-review", **document, "reviewer": present_user(world, document["reviewer"])}
    if "requestedBy" in document:
        review["requestedBy"] = present_user(world, document["requestedBy"])
    if comment := world.store.find(f"{change_request_path(at)}/comments/{review.pop('comment', '')}"):
        review["comment"] = Threads(world, at).comment(comment, format)
    return review


def present_requested_reviewer(world: World, document: Json) -> Json:
    """Return a requested reviewer as an API resource."""
    return {
        "object": "change-request-requested-reviewer",
        "kind": "user",
        "user": present_user(world, document["id"]),
        "requestedBy": present_user(world, document["requestedBy"]),
        "revision": document["revision"],
        "createdAt": document["createdAt"],
    }


@handle.register
def _list(op: reviews.List, world: World) -> Json:
    stored = world.store.items(f"{change_request_path(op.at)}/reviews", newest_first=True)
    matching = [pair for pair in stored if op.outdated in (None, pair[1]["outdated"])]
    return paginate(op, matching, lambda document: present_review(world, op.at, document, op.format), descending=True)


@handle.register
def _submit(op: reviews.Submit, world: World) -> Json:
    require(world, world.store.get(f"/spaces/{op.at.space_id}"), "review")
    path, now = change_request_path(op.at), world.timestamp()
    change_request = world.store.get(path)
    refuse_closed(change_request, "be reviewed")
    _mark_outdated(world, path, world.caller)
    review: Json = {
        "id": world.new_id(),
        "revision": change_request["revision"],
        "reviewer": world.caller,
        "status": op.status,
        "outdated": False,
        "createdAt": now,
        "updatedAt": now,
    }
    requested = f"{path}/requested-reviewers/{world.caller}"
    if request := world.store.find(requested):
        review["requestedBy"] = request["requestedBy"]
        world.store.delete(requested)
    if op.comment is not None:
        review["comment"] = comments.post(world, op.at, comments.body_markdown(op.comment), review=review["id"])["id"]
    world.store.put(f"{path}/reviews/{review['id']}", review)
    world.store.update(path, updatedAt=now)
    return present_review(world, op.at, review)


def _mark_outdated(world: World, path: str, user: str) -> None:
    """Mark the current reviews by `user` as outdated."""
    for review in world.store.all(f"{path}/reviews"):
        if review["reviewer"] == user and not review["outdated"]:
            world.store.update(f"{path}/reviews/{review['id']}", outdated=True, updatedAt=world.timestamp())


@handle.register
def _list_requested(op: reviews.ListRequested, world: World) -> Json:
    stored = world.store.items(f"{change_request_path(op.at)}/requested-reviewers")
    return paginate(op, stored, lambda document: present_requested_reviewer(world, document))


@handle.register
def _request(op: reviews.Request, world: World) -> Json:
    space = world.store.get(f"/spaces/{op.at.space_id}")
    require(world, space, "edit")
    path = change_request_path(op.at)
    change_request = world.store.get(path)
    refuse_closed(change_request, "be reviewed")
    fields = request_fields(op)
    users = list(dict.fromkeys(fields.pop("users")))
    if not users:
        raise Refusal(400, "users is empty. Name at least one reviewer.")
    for user in users:
        _refuse_reviewer(world, space, user)
    update_fields(world, change_request, **fields)
    return {"users": [_request_review(world, path, change_request["revision"], user) for user in users]}


def _refuse_reviewer(world: World, space: Json, user: str) -> None:
    current_role = role(world, space, user)
    if current_role is None:
        raise Refusal(404, f"No one with the ID “{user}” has access to “{space['title']}”. Give them a role first.")
    if not allows(current_role, "review"):
        name = present_user(world, user)["displayName"]
        raise Refusal(
            400,
            f"The role of {name} in “{space['title']}” is {label(current_role)}. To review, a member needs the Reviewer role or a higher role.",
        )


def _request_review(world: World, path: str, revision: str, user: str) -> Json:
    _mark_outdated(world, path, user)
    request: Json = {"id": user, "requestedBy": world.caller, "createdAt": world.timestamp(), "revision": revision}
    return present_requested_reviewer(world, world.store.put(f"{path}/requested-reviewers/{user}", request))


@handle.register
def _withdraw(op: reviews.Withdraw, world: World) -> None:
    if op.user_id != world.caller:
        require(world, world.store.get(f"/spaces/{op.at.space_id}"), "edit")
    world.store.delete(f"{change_request_path(op.at)}/requested-reviewers/{op.user_id}")
