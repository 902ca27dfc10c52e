"""Change requests: started from the primary content, described, kept up to date and merged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from octavo.api import change_requests
from octavo.api.places import ChangeRequestRef
from octavo.documents.merging import revision_merge
from octavo.server.behaviour import revisions
from octavo.server.behaviour.arranging import visible_spaces
from octavo.server.behaviour.merge_rules import refuse_unless_met
from octavo.server.behaviour.permissions import need
from octavo.server.behaviour.users import present_user
from octavo.server.rest import given, handle, page, shows, without
from octavo.server.store import Json
from octavo.server.world import Refused, World


def path_of(at: ChangeRequestRef) -> str:
    """Where a change request is filed."""
    return f"/spaces/{at.space_id}/change-requests/{at.change_request_id}"


def base_of(change_request: Json) -> str:
    """The primary revision that a change request is compared with."""
    return str(change_request.get("revisionMergedAncestor") or change_request["revisionInitial"])


def is_outdated(space: Json, change_request: Json) -> bool:
    """Whether the primary content moved on since a change request started or was updated. No merged one is."""
    return change_request["status"] != "merged" and base_of(change_request) != str(space["revision"])


@shows(change_requests.ChangeRequest)
def present_change_request(world: World, document: Json) -> Json:
    """A change request as the caller sees it, with what is open in it counted."""
    space = world.store.get(f"/spaces/{document['space']}")
    path = f"/spaces/{space['id']}/change-requests/{document['id']}"
    app = f"/o/{space['organization']}/s/{space['id']}/~/changes/{document['number']}"
    people: Json = {name: present_user(world, document[name]) for name in ("createdBy", "mergedBy") if name in document}
    return {
        "object": "change-request",
        **without(document, "editors"),
        **people,
        "comments": world.store.tally(f"{path}/comments", "status")["open"],
        "outdated": is_outdated(space, document),
        "urls": {"location": world.url(f"/v1{path}"), "app": world.url(app)},
    }


def create(world: World, space_id: str, subject: str = "") -> Json:
    """File a draft of the caller that starts from the primary content of a space."""
    space = world.store.get(f"/spaces/{space_id}")
    number, now = space.get("nextNumber", 1), world.timestamp()
    world.store.change(f"/spaces/{space_id}", nextNumber=number + 1)
    change_request: Json = {
        "id": world.new_id(),
        "number": number,
        "status": "draft",
        "subject": subject,
        "space": space_id,
        "createdBy": world.caller,
        "createdAt": now,
        "updatedAt": now,
        "revision": space["revision"],
        "revisionInitial": space["revision"],
        "editors": {},
    }
    return world.store.put(f"/spaces/{space_id}/change-requests/{change_request['id']}", change_request)


def edited(world: World, change_request: Json, revision: Json) -> Json:
    """Let a change request stand at `revision`, which the caller made. Returns the change request."""
    before = change_request["editors"].get(world.caller, {"count": 0})
    now = world.timestamp()
    editors = {**change_request["editors"], world.caller: {"count": before["count"] + 1, "updatedAt": now}}
    path = f"/spaces/{change_request['space']}/change-requests/{change_request['id']}"
    return world.store.change(path, revision=revision["id"], updatedAt=now, editors=editors)


def refuse_closed(change_request: Json, deed: str) -> None:
    """Refuse when a change request is merged or archived. `deed` says what of it is wanted: “be merged”."""
    name, status = f"Change request #{change_request['number']}", change_request["status"]
    if status == "merged":
        raise Refused(409, f"{name} is already merged, so it cannot {deed}. Create a new change request.")
    if status == "archived":
        raise Refused(409, f"{name} is archived, so it cannot {deed}. Reopen it first.")


@handle.register
def _list(op: change_requests.List, world: World) -> Json:
    found = _wanted(op, world, [op.at.space_id])
    return page(op, found, lambda each: present_change_request(world, each), descending=True)


@handle.register
def _list_of_organization(op: change_requests.ListOfOrganization, world: World) -> Json:
    spaces = [space["id"] for _, space in visible_spaces(world, op.at.organization_id)]
    found = _wanted(op, world, spaces)
    return page(op, found, lambda each: present_change_request(world, each), descending=True)


def _wanted(op: change_requests.Filters, world: World, spaces: Iterable[str]) -> list[tuple[Any, Json]]:
    """The change requests that the filters let through, those touched last first, with their places in this order."""
    found = [
        ((each["updatedAt"], space, each["number"]), each)
        for space in spaces
        for each in world.store.all(f"/spaces/{space}/change-requests", status=op.status)
        if op.creator in (None, each["createdBy"])
        and (op.contributor is None or op.contributor in {user for user, _ in _contributions(world, each)})
    ]
    return sorted(found, key=lambda pair: pair[0], reverse=True)


@handle.register
def _create(op: change_requests.Create, world: World) -> Json:
    need(world, world.store.get(f"/spaces/{op.at.space_id}"), "edit")
    return present_change_request(world, create(world, op.at.space_id, op.subject or ""))


@handle.register
def _update(op: change_requests.Update, world: World) -> Json:
    need(world, world.store.get(f"/spaces/{op.at.space_id}"), "edit")
    document = world.store.get(path_of(op.at))
    fields = given(op)
    if "status" in fields and document["status"] == "merged":
        raise Refused(400, f"Change request #{document['number']} is merged, so its status cannot change.")
    return present_change_request(world, describe(world, document, **fields))


def describe(world: World, document: Json, **fields: Any) -> Json:
    """Change fields of a change request. A description of None takes it away."""
    description = fields.get("description")
    if description is not None and description.get("object") != "document":
        raise Refused(400, "description must be a JSON object with object set to document.")
    document = {**document, **fields, "updatedAt": world.timestamp()}
    if document.get("description") is None:
        document.pop("description", None)
    return world.store.put(f"/spaces/{document['space']}/change-requests/{document['id']}", document)


@handle.register
def _list_contributors(op: change_requests.ListContributors, world: World) -> Json:
    document = world.store.get(path_of(op.at))
    found: dict[str, Json] = {}
    for user, each in _contributions(world, document):
        before = found.get(user, {**each, "count": 0})
        found[user] = {
            "count": before["count"] + each["count"],
            "actionType": before["actionType"],
            "updatedAt": max(before["updatedAt"], each["updatedAt"]),
        }
    newest = sorted(found.items(), key=lambda pair: (pair[1]["updatedAt"], pair[0]), reverse=True)
    return {"items": [{"user": present_user(world, user), **each} for user, each in newest], "count": len(newest)}


def _contributions(world: World, document: Json) -> Iterator[tuple[str, Json]]:
    """What each user did in a change request: edits first, then each comment and reply."""
    for user, each in document["editors"].items():
        yield user, {**each, "actionType": "edit"}
    path = f"/spaces/{document['space']}/change-requests/{document['id']}/comments"
    for comment in world.store.all(path):
        for each in (comment, *world.store.all(f"{path}/{comment['id']}/replies")):
            yield each["postedBy"], {"count": 1, "updatedAt": each["postedAt"], "actionType": "comment"}


@handle.register
def _merge(op: change_requests.Merge, world: World) -> Json:
    space = world.store.get(f"/spaces/{op.at.space_id}")
    document = world.store.get(path_of(op.at))
    need(world, space, "merge")
    refuse_closed(document, "be merged")
    refuse_unless_met(world, space, document, outdated=is_outdated(space, document))
    return merge(world, document)


def merge(world: World, document: Json) -> Json:
    """Merge a change request into the primary content, whatever the rules say. Answers a MergeResult."""
    space_id = document["space"]
    main = revisions.current(world, space_id)
    outcome = _merged(world, document, main)
    parents = [main["id"], document["revision"]]
    revision = revisions.add(world, space_id, outcome.held, type="merge", parents=parents, merged_from=document["id"])
    revisions.move_primary(world, space_id, revision)
    now = world.timestamp()
    world.store.change(
        f"/spaces/{space_id}/change-requests/{document['id']}",
        status="merged",
        revisionMerged=revision["id"],
        updatedAt=now,
        mergedAt=now,
        mergedBy=world.caller,
    )
    return {"revision": revision["id"], "result": "conflicts" if outcome.conflicts else "merge"}


@handle.register
def _update_from_main(op: change_requests.UpdateFromMain, world: World) -> Json:
    need(world, world.store.get(f"/spaces/{op.at.space_id}"), "edit")
    document = world.store.get(path_of(op.at))
    refuse_closed(document, "be updated")
    return update_from_main(world, document)


def update_from_main(world: World, document: Json) -> Json:
    """Bring the primary content into a change request. Nothing happens to one that is up to date."""
    if not is_outdated(world.store.get(f"/spaces/{document['space']}"), document):
        return {"revision": document["revision"], "result": "update"}
    main = revisions.current(world, document["space"])
    outcome = _merged(world, document, main)
    parents = [document["revision"], main["id"]]
    revision = revisions.add(world, document["space"], outcome.held, type="update", parents=parents)
    world.store.change(
        f"/spaces/{document['space']}/change-requests/{document['id']}",
        revision=revision["id"],
        revisionMergedAncestor=main["id"],
        updatedAt=world.timestamp(),
    )
    return {"revision": revision["id"], "result": "conflicts" if outcome.conflicts else "update"}


def _merged(world: World, document: Json, main: Json) -> revision_merge.RevisionMerge:
    base = revisions.get(world, document["space"], base_of(document))
    proposed = revisions.get(world, document["space"], document["revision"])
    return revision_merge.merge_revisions(base, main, proposed, f"#{document['number']}", world.store)
