"""Change requests: creates, edits and merges them, and updates them from main."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from octavo.api import change_requests
from octavo.api.change_requests import ChangeRequest
from octavo.api.merge_rules import MergeCandidate, bypasses, parse_merge_rules
from octavo.api.operation import ChangeRequestRef
from octavo.api.reviews import Review
from octavo.api.users import User
from octavo.lazy_import import lazy
from octavo.server.handlers.organizations import present_user
from octavo.server.handlers.permissions import require
from octavo.server.handlers.spaces import add_revision, get_current, get_revision, set_current, visible_spaces
from octavo.server.rest import Refusal, World, handle, omit, paginate, presents, request_fields
from octavo.server.store import Json, MissingResource

if TYPE_CHECKING:
    from octavo.documents.merging.revision_merge import RevisionMerge

_merge_revisions = lazy("octavo.documents.merging.revision_merge:merge_revisions")  # lazy: for merges and updates only


def change_request_path(at: ChangeRequestRef) -> str:
    """Return the path of a change request in the store, such as `/spaces/docs/change-requests/12`."""
    return f"/spaces/{at.space_id}/change-requests/{at.change_request_id}"


def get_by_number(world: World, space_id: str, number: str) -> Json:
    """Return the change request with a number. Raises MissingResource if there is none."""
    collection = f"/spaces/{space_id}/change-requests"
    is_number = number.isascii() and number.isdecimal() and len(number) < 10
    change_request = world.store.find_by(collection, "number", int(number)) if is_number else None
    if change_request is None:
        raise MissingResource(f"{collection}/{number}")
    return change_request


def base_of(change_request: Json) -> str:
    """Return the ID of the main revision that a change request was created from or last updated from. Its changes are
    relative to this revision."""
    return str(change_request.get("revisionMergedAncestor") or change_request["revisionInitial"])


def is_outdated(space: Json, change_request: Json) -> bool:
    """Return whether main has changed since the change request was created or last updated. False if it is merged."""
    return change_request["status"] != "merged" and base_of(change_request) != str(space["revision"])


@presents(change_requests.ChangeRequest)
def present_change_request(world: World, change_request: Json) -> Json:
    """Convert a stored change request to the API resource. Adds the number of open comments."""
    space = world.store.get(f"/spaces/{change_request['space']}")
    path = f"/spaces/{space['id']}/change-requests/{change_request['id']}"
    app = f"/o/{space['organization']}/s/{space['id']}/~/changes/{change_request['number']}"
    people: Json = {
        name: present_user(world, change_request[name]) for name in ("createdBy", "mergedBy") if name in change_request
    }
    return {
        "object": "change-request",
        **omit(change_request, "editors"),
        **people,
        "comments": world.store.count_by_status(f"{path}/comments")["open"],
        "outdated": is_outdated(space, change_request),
        "urls": {"location": world.url(f"/v1{path}"), "app": world.url(app)},
    }


def create(world: World, space_id: str, subject: str = "") -> Json:
    """Create a draft change request by the caller, and return it."""
    space = world.store.get(f"/spaces/{space_id}")
    number, now = space.get("nextNumber", 1), world.timestamp()
    world.store.update(f"/spaces/{space_id}", nextNumber=number + 1)
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


def record_edit(world: World, change_request: Json, revision: Json) -> Json:
    """Make `revision` the current one of a change request, and count the caller's edit. Return the change request."""
    before = change_request["editors"].get(world.caller, {"count": 0})
    now = world.timestamp()
    editors = {**change_request["editors"], world.caller: {"count": before["count"] + 1, "updatedAt": now}}
    path = f"/spaces/{change_request['space']}/change-requests/{change_request['id']}"
    return world.store.update(path, revision=revision["id"], updatedAt=now, editors=editors)


def refuse_closed(change_request: Json, action: str) -> None:
    """Raise Refusal if a change request is merged or archived. `action` completes “it cannot be edited”."""
    name, status = f"Change request #{change_request['number']}", change_request["status"]
    if status == "merged":
        raise Refusal(409, f"{name} is already merged, so it cannot {action}. Create a new change request.")
    if status == "archived":
        raise Refusal(409, f"{name} is archived, so it cannot {action}. Reopen it first.")


@handle.register
def _list(op: change_requests.List | change_requests.ListOfOrganization, world: World) -> Json:
    spaces = (
        [op.at.space_id]
        if isinstance(op, change_requests.List)
        else [space["id"] for _, space in visible_spaces(world, op.at.organization_id)]
    )
    matching = [
        ((change_request["updatedAt"], space, change_request["number"]), change_request)
        for space in spaces
        for change_request in world.store.all(f"/spaces/{space}/change-requests", status=op.status)
        if op.creator in (None, change_request["createdBy"])
        and (op.contributor is None or op.contributor in {user for user, _ in _contributions(world, change_request)})
    ]
    matching.sort(key=lambda pair: pair[0], reverse=True)
    return paginate(op, matching, lambda change_request: present_change_request(world, change_request), descending=True)


@handle.register
def _create(op: change_requests.Create, world: World) -> Json:
    require(world, world.store.get(f"/spaces/{op.at.space_id}"), "edit")
    return present_change_request(world, create(world, op.at.space_id, op.subject or ""))


@handle.register
def _update(op: change_requests.Update, world: World) -> Json:
    require(world, world.store.get(f"/spaces/{op.at.space_id}"), "edit")
    change_request = world.store.get(change_request_path(op.at))
    fields = request_fields(op)
    if "status" in fields and change_request["status"] == "merged":
        raise Refusal(400, f"Change request #{change_request['number']} is merged, so its status cannot change.")
    return present_change_request(world, update_fields(world, change_request, **fields))


def update_fields(world: World, change_request: Json, **fields: Any) -> Json:
    """Save new values of `fields`, and return the change request. The value None removes the description. Raises
    Refusal if the description is invalid."""
    description = fields.get("description")
    if description is not None and description.get("object") != "document":
        raise Refusal(400, "description must be a JSON object with object set to document.")
    change_request = {**change_request, **fields, "updatedAt": world.timestamp()}
    if change_request.get("description") is None:
        change_request.pop("description", None)
    return world.store.put(f"/spaces/{change_request['space']}/change-requests/{change_request['id']}", change_request)


@handle.register
def _list_contributors(op: change_requests.ListContributors, world: World) -> Json:
    change_request = world.store.get(change_request_path(op.at))
    contributors: dict[str, Json] = {}
    for user, each in _contributions(world, change_request):
        before = contributors.get(user, {**each, "count": 0})
        contributors[user] = {
            "count": before["count"] + each["count"],
            "actionType": before["actionType"],
            "updatedAt": max(before["updatedAt"], each["updatedAt"]),
        }
    newest = sorted(contributors.items(), key=lambda pair: (pair[1]["updatedAt"], pair[0]), reverse=True)
    return {"items": [{"user": present_user(world, user), **each} for user, each in newest], "count": len(newest)}


def _contributions(world: World, change_request: Json) -> Iterator[tuple[str, Json]]:
    """Yield the edits and comments in a change request: the ID of each user, with number and date."""
    for user, each in change_request["editors"].items():
        yield user, {**each, "actionType": "edit"}
    path = f"/spaces/{change_request['space']}/change-requests/{change_request['id']}/comments"
    for comment in world.store.all(path):
        for each in (comment, *world.store.all(f"{path}/{comment['id']}/replies")):
            yield each["postedBy"], {"count": 1, "updatedAt": each["postedAt"], "actionType": "comment"}


@handle.register
def _merge(op: change_requests.Merge, world: World) -> Json:
    space = world.store.get(f"/spaces/{op.at.space_id}")
    change_request = world.store.get(change_request_path(op.at))
    require(world, space, "merge")
    refuse_closed(change_request, "be merged")
    _refuse_unmet_merge_rules(world, space, change_request)
    return merge(world, change_request)


def _refuse_unmet_merge_rules(world: World, space: Json, change_request: Json) -> None:
    organization = world.store.get(f"/orgs/{space['organization']}")
    rules = parse_merge_rules(space.get("mergeRules"), organization.get("mergeRules"))
    if bypasses(rules, world.caller):
        return
    current = [
        Review(
            id=review["id"],
            status=review["status"],
            reviewer=User.model_validate(present_user(world, review["reviewer"])),
        )
        for review in world.store.all(f"/spaces/{space['id']}/change-requests/{change_request['id']}/reviews")
        if not review["outdated"]
    ]
    names = {user: present_user(world, user)["displayName"] for user in (*rules.users, change_request["createdBy"])}
    request = ChangeRequest.model_validate(present_change_request(world, change_request))
    candidate = MergeCandidate(request, current, world.caller, names)
    for rule in rules.rules:
        state, phrase = candidate.check(rule)
        if state == "unmet":
            raise Refusal(409, f"Merge rule {rule['rule']} is not met: {phrase}.")


def merge(world: World, change_request: Json) -> Json:
    """Merge a change request into main without any checks. Return a `MergeResult` of the API."""
    space_id = change_request["space"]
    main = get_current(world, space_id)
    outcome = _merge_contents(world, change_request, main)
    parents = [main["id"], change_request["revision"]]
    revision = add_revision(
        world, space_id, outcome.content, type="merge", parents=parents, merged_from=change_request["id"]
    )
    set_current(world, space_id, revision)
    now = world.timestamp()
    world.store.update(
        f"/spaces/{space_id}/change-requests/{change_request['id']}",
        status="merged",
        revisionMerged=revision["id"],
        updatedAt=now,
        mergedAt=now,
        mergedBy=world.caller,
    )
    return {"revision": revision["id"], "result": "conflicts" if outcome.conflicts else "merge"}


@handle.register
def _update_from_main(op: change_requests.UpdateFromMain, world: World) -> Json:
    require(world, world.store.get(f"/spaces/{op.at.space_id}"), "edit")
    change_request = world.store.get(change_request_path(op.at))
    refuse_closed(change_request, "be updated")
    return update_from_main(world, change_request)


def update_from_main(world: World, change_request: Json) -> Json:
    """Merge the changes of main into a change request, and return a `MergeResult` of the API."""
    if not is_outdated(world.store.get(f"/spaces/{change_request['space']}"), change_request):
        return {"revision": change_request["revision"], "result": "update"}
    main = get_current(world, change_request["space"])
    outcome = _merge_contents(world, change_request, main)
    parents = [change_request["revision"], main["id"]]
    revision = add_revision(world, change_request["space"], outcome.content, type="update", parents=parents)
    world.store.update(
        f"/spaces/{change_request['space']}/change-requests/{change_request['id']}",
        revision=revision["id"],
        revisionMergedAncestor=main["id"],
        updatedAt=world.timestamp(),
    )
    return {"revision": revision["id"], "result": "conflicts" if outcome.conflicts else "update"}


def _merge_contents(world: World, change_request: Json, main: Json) -> RevisionMerge:
    base = get_revision(world, change_request["space"], base_of(change_request))
    proposed = get_revision(world, change_request["space"], change_request["revision"])
    merge: RevisionMerge = _merge_revisions(
        base, main, proposed, f"#{change_request['number']}", world.store.text, world.store.put_blob
    )
    return merge
