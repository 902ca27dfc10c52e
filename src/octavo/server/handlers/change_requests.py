"""Change requests: creates, edits and merges them, and updates them from main."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from octavo.api import change_requests
from octavo.api.change_requests import ChangeRequest
from octavo.api.merge_rules import MergeCandidate, bypasses, parse_merge_rules
from octavo.api.operation import ChangeRequestRef
from octavo.api.reviews import Review
from octavo.documents.site_rules import evaluate_expression
from octavo.lazy_import import lazy
from octavo.server.handlers import spaces
from octavo.server.handlers.organizations import present_user, refuse_malformed_document
from octavo.server.handlers.permissions import require
from octavo.server.rest import Refusal, RequestContext, handle, omit, paginate, presents, request_fields
from octavo.server.store import Json, MissingResource

if TYPE_CHECKING:
    from octavo.documents.merging.revision_merge import RevisionMerge

# lazy: only merges need it
_merge_revisions: Callable[..., RevisionMerge] = lazy("octavo.documents.merging.revision_merge:merge_revisions")


def change_request_path(at: ChangeRequestRef) -> str:
    """Return the path of a change request in the store, such as `/spaces/docs/change-requests/12`."""
    return f"/spaces/{at.space_id}/change-requests/{at.change_request_id}"


def get_by_number(context: RequestContext, space_id: str, number: str) -> Json:
    """Return the change request with a number. Raises MissingResource if there is none."""
    collection = f"/spaces/{space_id}/change-requests"
    is_number = number.isascii() and number.isdecimal() and len(number) < 10
    change_request = context.store.find_by(collection, "number", int(number)) if is_number else None
    if change_request is None:
        raise MissingResource(f"{collection}/{number}")
    return change_request


def base_revision_id(change_request: Json) -> str:
    """Return the ID of the main revision from which a change request was created or updated last."""
    return str(change_request.get("revisionMergedAncestor") or change_request["revisionInitial"])


def is_outdated(space: Json, change_request: Json) -> bool:
    """Return whether main has changed since the change request was created or last updated. False if it is merged."""
    return change_request["status"] != "merged" and base_revision_id(change_request) != str(space["revision"])


@presents(change_requests.ChangeRequest)
def present_change_request(context: RequestContext, change_request: Json) -> Json:
    """Convert a stored change request to the API resource. Adds the number of open comments."""
    space = context.store.get(f"/spaces/{change_request['space']}")
    path = f"/spaces/{space['id']}/change-requests/{change_request['id']}"
    app_path = f"/o/{space['organization']}/s/{space['id']}/~/changes/{change_request['number']}"
    user_fields: Json = {
        name: present_user(context, change_request[name])
        for name in ("createdBy", "mergedBy")
        if name in change_request
    }
    return {
        "object": "change-request",
        **omit(change_request, "editors"),
        **user_fields,
        "comments": context.store.count_by_status(f"{path}/comments")["open"],
        "outdated": is_outdated(space, change_request),
        "urls": {"location": context.url(f"/v1{path}"), "app": context.url(app_path)},
    }


def create(context: RequestContext, space_id: str, subject: str = "") -> Json:
    """Create a draft change request whose author is the caller, and return it."""
    space = context.store.get(f"/spaces/{space_id}")
    number, now = space.get("nextNumber", 1), context.timestamp()
    context.store.update(f"/spaces/{space_id}", nextNumber=number + 1)
    change_request: Json = {
        "id": context.new_id(),
        "number": number,
        "status": "draft",
        "subject": subject,
        "space": space_id,
        "createdBy": context.caller,
        "createdAt": now,
        "updatedAt": now,
        "revision": space["revision"],
        "revisionInitial": space["revision"],
        "editors": {},
    }
    return context.store.put(f"/spaces/{space_id}/change-requests/{change_request['id']}", change_request)


def record_edit(context: RequestContext, change_request: Json, revision: Json) -> Json:
    """Make `revision` current in a change request, count an edit by the caller, and return the new change request."""
    old_edits = change_request["editors"].get(context.caller, {"count": 0})
    now = context.timestamp()
    editors = {**change_request["editors"], context.caller: {"count": old_edits["count"] + 1, "updatedAt": now}}
    path = f"/spaces/{change_request['space']}/change-requests/{change_request['id']}"
    return context.store.update(path, revision=revision["id"], updatedAt=now, editors=editors)


def refuse_closed(change_request: Json, action: str) -> None:
    """Raise Refusal if a change request is merged or archived. `action` is for the message, for example `be edited`."""
    name, status = f"Change request #{change_request['number']}", change_request["status"]
    if status == "merged":
        raise Refusal(409, f"{name} is already merged, so it cannot {action}. Create a new change request.")
    if status == "archived":
        raise Refusal(409, f"{name} is archived, so it cannot {action}. Reopen it first.")


@handle.register
def _list(op: change_requests.List | change_requests.ListOfOrganization, context: RequestContext) -> Json:
    space_ids = (
        [op.at.space_id]
        if isinstance(op, change_requests.List)
        else [space["id"] for _, space in spaces.visible_spaces(context, op.at.organization_id)]
    )
    pairs = [
        ((change_request["updatedAt"], space, change_request["number"]), change_request)
        for space in space_ids
        for change_request in context.store.all(f"/spaces/{space}/change-requests", status=op.status)
        if op.creator in (None, change_request["createdBy"])
        and (op.contributor is None or op.contributor in {user for user, _ in _contributions(context, change_request)})
    ]
    pairs.sort(key=lambda pair: pair[0], reverse=True)
    return paginate(
        op, pairs, lambda change_request: present_change_request(context, change_request), is_descending=True
    )


@handle.register
def _create(op: change_requests.Create, context: RequestContext) -> Json:
    require(context, context.store.get(f"/spaces/{op.at.space_id}"), "edit")
    return present_change_request(context, create(context, op.at.space_id, op.subject or ""))


@handle.register
def _update(op: change_requests.Update, context: RequestContext) -> Json:
    require(context, context.store.get(f"/spaces/{op.at.space_id}"), "edit")
    change_request = context.store.get(change_request_path(op.at))
    fields = request_fields(op)
    if "status" in fields and change_request["status"] == "merged":
        raise Refusal(400, f"Change request #{change_request['number']} is merged, so its status cannot change.")
    return present_change_request(context, update_fields(context, change_request, **fields))


def update_fields(context: RequestContext, change_request: Json, **fields: Any) -> Json:
    """Save `fields`. Return the updated change request. A description of None is removed. Raises Refusal if invalid."""
    refuse_malformed_document(fields, "description")
    change_request = {**change_request, **fields, "updatedAt": context.timestamp()}
    if change_request.get("description") is None:
        change_request.pop("description", None)
    return context.store.put(
        f"/spaces/{change_request['space']}/change-requests/{change_request['id']}", change_request
    )


@handle.register
def _list_contributors(op: change_requests.ListContributors, context: RequestContext) -> Json:
    change_request = context.store.get(change_request_path(op.at))
    contributors: dict[str, Json] = {}
    for user_id, each in _contributions(context, change_request):
        old_counts = contributors.get(user_id, {**each, "count": 0})
        contributors[user_id] = {
            "count": old_counts["count"] + each["count"],
            "actionType": old_counts["actionType"],
            "updatedAt": max(old_counts["updatedAt"], each["updatedAt"]),
        }
    newest_first = sorted(contributors.items(), key=lambda pair: (pair[1]["updatedAt"], pair[0]), reverse=True)
    items = [{"user": present_user(context, user_id), **each} for user_id, each in newest_first]
    return {"items": items, "count": len(items)}


def _contributions(context: RequestContext, change_request: Json) -> Iterator[tuple[str, Json]]:
    """Yield a user ID and JSON (type, date, count) for all edits of a user, for each comment, and for each reply."""
    for user_id, edits in change_request["editors"].items():
        yield user_id, {**edits, "actionType": "edit"}
    path = f"/spaces/{change_request['space']}/change-requests/{change_request['id']}/comments"
    for comment in context.store.all(path):
        for each in (comment, *context.store.all(f"{path}/{comment['id']}/replies")):
            yield each["postedBy"], {"count": 1, "updatedAt": each["postedAt"], "actionType": "comment"}


@handle.register
def _merge(op: change_requests.Merge, context: RequestContext) -> Json:
    space = context.store.get(f"/spaces/{op.at.space_id}")
    change_request = context.store.get(change_request_path(op.at))
    require(context, space, "merge")
    refuse_closed(change_request, "be merged")
    _refuse_unmet_merge_rules(context, space, change_request)
    return merge(context, change_request)


def _refuse_unmet_merge_rules(context: RequestContext, space: Json, change_request: Json) -> None:
    organization = context.store.get(f"/orgs/{space['organization']}")
    rules = parse_merge_rules(space.get("mergeRules"), organization.get("mergeRules"))
    if bypasses(rules, context.caller):
        return
    current_reviews = [
        {**omit(review, "comment", "requestedBy"), "reviewer": present_user(context, review["reviewer"])}
        for review in context.store.all(f"/spaces/{space['id']}/change-requests/{change_request['id']}/reviews")
        if not review["outdated"]
    ]
    names = {each: present_user(context, each)["displayName"] for each in (*rules.users, change_request["createdBy"])}
    presented = present_change_request(context, change_request)
    candidate = MergeCandidate(
        ChangeRequest.model_validate(presented), [*map(Review.model_validate, current_reviews)], context.caller, names
    )
    values = {"changeRequest": presented, "reviews": current_reviews, "actor": present_user(context, context.caller)}
    for rule in rules.rules:
        state, phrase = candidate.check(rule)
        if rule["rule"] == "custom":
            is_true = evaluate_expression(rule["expression"], {**values, "space": spaces.present_space(context, space)})
            state, phrase = "met" if is_true else "unmet", f"{rule['expression']} must be true"
        if state != "met":
            reason = phrase if state == "unmet" else "this server cannot check it"
            raise Refusal(409, f"Merge rule {rule['rule']} is not met: {reason}.")


def merge(context: RequestContext, change_request: Json) -> Json:
    """Merge a change request into main without checking permissions or merge rules. Return a `MergeResult`."""
    space_id = change_request["space"]
    main = spaces.get_current(context, space_id)
    outcome = _merge_contents(context, change_request, main)
    parents = [main["id"], change_request["revision"]]
    revision = spaces.add_revision(
        context, space_id, outcome.content, type="merge", parents=parents, merged_from=change_request["id"]
    )
    spaces.set_current(context, space_id, revision)
    now = context.timestamp()
    context.store.update(
        f"/spaces/{space_id}/change-requests/{change_request['id']}",
        status="merged",
        revisionMerged=revision["id"],
        updatedAt=now,
        mergedAt=now,
        mergedBy=context.caller,
    )
    return {"revision": revision["id"], "result": "conflicts" if outcome.conflicts else "merge"}


@handle.register
def _update_from_main(op: change_requests.UpdateFromMain, context: RequestContext) -> Json:
    require(context, context.store.get(f"/spaces/{op.at.space_id}"), "edit")
    change_request = context.store.get(change_request_path(op.at))
    refuse_closed(change_request, "be updated")
    return update_from_main(context, change_request)


def update_from_main(context: RequestContext, change_request: Json) -> Json:
    """Merge main into a change request if the change request is outdated. Return a `MergeResult` of the API."""
    if not is_outdated(context.store.get(f"/spaces/{change_request['space']}"), change_request):
        return {"revision": change_request["revision"], "result": "update"}
    main = spaces.get_current(context, change_request["space"])
    outcome = _merge_contents(context, change_request, main)
    parents = [change_request["revision"], main["id"]]
    revision = spaces.add_revision(context, change_request["space"], outcome.content, type="update", parents=parents)
    context.store.update(
        f"/spaces/{change_request['space']}/change-requests/{change_request['id']}",
        revision=revision["id"],
        revisionMergedAncestor=main["id"],
        updatedAt=context.timestamp(),
    )
    return {"revision": revision["id"], "result": "conflicts" if outcome.conflicts else "update"}


def _merge_contents(context: RequestContext, change_request: Json, main: Json) -> RevisionMerge:
    base = spaces.get_revision(context, change_request["space"], base_revision_id(change_request))
    proposed = spaces.get_revision(context, change_request["space"], change_request["revision"])
    return _merge_revisions(
        base, main, proposed, f"#{change_request['number']}", context.store.text, context.store.put_blob
    )
