"""Every write, sent by a user of each role: exactly the users with the required role may send it.

Ada walks through the whole API. Before each of her writes, every user tries the same write, and the try is rolled back.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from octavo.api.operation import SPECS, Operation
from octavo.api.wire import Route, operation_for_route
from octavo.server.app import resolve_reference, run_operation
from octavo.server.handlers import uploads
from octavo.server.handlers.permissions import ROLES
from octavo.server.rest import BackgroundWork, Refusal, RequestContext, iso, path_of
from octavo.server.store import Json, MissingResource
from tests.operation_walk import CHANGE_REQUEST, COLLECTION, ORGANIZATION, SITE, SPACE, Walk, full_context
from tests.server.small_platform import PEOPLE, START, Clock

MEMBERS = f"{ORGANIZATION}/members/{{userId}}"
TEAM = f"{ORGANIZATION}/teams/{{teamId}}"

LEAST: dict[str, tuple[str, ...]] = {
    "guest": (f"POST {ORGANIZATION}/ping",),
    "read": (
        f"POST {SITE}/search",
        # Reactions. Only the author changes the text of a comment: see test_comments.
        f"PUT {CHANGE_REQUEST}/comments/{{commentId}}",
    ),
    "comment": tuple(
        f"POST {place}/{what}"
        for place in (SPACE, CHANGE_REQUEST)
        for what in ("comments", "comments/{commentId}/replies")
    ),
    "edit": (
        f"POST {SPACE}/change-requests",
        f"PATCH {CHANGE_REQUEST}",
        f"POST {CHANGE_REQUEST}/content",
        f"POST {CHANGE_REQUEST}/content/import",
        f"POST {CHANGE_REQUEST}/update",
        f"POST {CHANGE_REQUEST}/requested-reviewers",
        f"DELETE {CHANGE_REQUEST}/requested-reviewers/{{userId}}",
    ),
    "review": (f"POST {CHANGE_REQUEST}/reviews",),
    "create": (
        f"POST {CHANGE_REQUEST}/merge",
        f"POST {SPACE}/content/import",
        f"POST {SPACE}/duplicate",
        f"POST {ORGANIZATION}/spaces",
        f"POST {ORGANIZATION}/collections",
        f"POST {ORGANIZATION}/storage/upload",
        f"PUT {ORGANIZATION}/fonts",
        f"POST {ORGANIZATION}/fonts/{{fontId}}",
        f"DELETE {ORGANIZATION}/fonts/{{fontId}}",
        f"POST {ORGANIZATION}/openapi",
        f"PUT {ORGANIZATION}/openapi/{{specSlug}}",
        f"PATCH {ORGANIZATION}/openapi/{{specSlug}}",
        f"DELETE {ORGANIZATION}/openapi/{{specSlug}}",
        f"POST {ORGANIZATION}/translations",
        f"PUT {ORGANIZATION}/translations/{{translationSettingsId}}",
        f"DELETE {ORGANIZATION}/translations/{{translationSettingsId}}",
        f"POST {ORGANIZATION}/sites",
        *(
            f"{method} {SITE}/{what}"
            for kind, name in (
                ("mcp-servers", "siteMcpServerId"),
                ("redirects", "siteRedirectId"),
                ("section-groups", "siteSectionGroupId"),
                ("sections", "siteSectionId"),
                ("site-spaces", "siteSpaceId"),
            )
            for method, what in (
                ("POST", kind),
                ("PATCH", f"{kind}/{{{name}}}"),
                ("DELETE", f"{kind}/{{{name}}}"),
            )
        ),
        f"POST {SITE}/sections/{{siteSectionId}}/move",
        f"PATCH {SITE}/structure/sort",
    ),
    "admin": (
        f"PATCH {ORGANIZATION}",
        f"POST {ORGANIZATION}/invites",
        f"POST {ORGANIZATION}/link-invites",
        f"PATCH {ORGANIZATION}/link-invites/{{inviteId}}",
        f"DELETE {ORGANIZATION}/link-invites/{{inviteId}}",
        f"PATCH {MEMBERS}",
        f"DELETE {MEMBERS}",
        f"POST {MEMBERS}/sso",
        f"POST {ORGANIZATION}/saml",
        f"PATCH {ORGANIZATION}/saml/{{samlProviderId}}",
        f"DELETE {ORGANIZATION}/saml/{{samlProviderId}}",
        f"PUT {ORGANIZATION}/teams",
        f"PATCH {TEAM}",
        f"DELETE {TEAM}",
        f"PUT {TEAM}/members",
        f"PUT {TEAM}/members/{{userId}}",
        f"DELETE {TEAM}/members/{{userId}}",
        f"PATCH {SITE}",
        f"DELETE {SITE}",
        f"PUT {SITE}/adaptive-schema",
        f"POST {SITE}/publish",
        f"POST {SITE}/unpublish",
        f"POST {SITE}/share-links",
        f"PATCH {SITE}/share-links/{{shareLinkId}}",
        f"DELETE {SITE}/share-links/{{shareLinkId}}",
        *(
            f"{method} {place}{what}"
            for place in (SPACE, COLLECTION)
            for method, what in (
                ("PATCH", ""),
                ("DELETE", ""),
                ("POST", "/move"),
                ("POST", "/transfer"),
                ("POST", "/permissions"),
                ("PATCH", "/permissions/users/{userId}"),
                ("DELETE", "/permissions/users/{userId}"),
                ("PATCH", "/permissions/teams/{teamId}"),
                ("DELETE", "/permissions/teams/{teamId}"),
            )
        ),
        f"POST {SPACE}/restore",
        # Comments of other users. Authors may delete and edit their own: see test_comments.
        f"PUT {SPACE}/comments/{{commentId}}",
        *(f"DELETE {place}/comments/{{commentId}}" for place in (SPACE, CHANGE_REQUEST)),
        *(
            f"{method} {place}/comments/{{commentId}}/replies/{{commentReplyId}}"
            for place in (SPACE, CHANGE_REQUEST)
            for method in ("PUT", "DELETE")
        ),
    ),
}
"""The least role that may send each write. Users outside of the organization may send none."""

THEMSELVES = {f"DELETE {MEMBERS}": "gil", f"DELETE {TEAM}/members/{{userId}}": "jun"}
"""Operations by which users leave on their own."""

NOT_WALKED = (f"POST {SPACE}/content/import", f"POST {CHANGE_REQUEST}/content/import")
"""Operations that would fetch a remote page."""


class RollBack(Exception):
    """Raised to roll back a try."""


def users_who_can(context: RequestContext, op: Operation[Any]) -> set[str]:
    """Return the users of acme, and Eve, who can send the operation."""
    return {user for user in (*PEOPLE, "eve") if _can(context, op, user)}


def _can(context: RequestContext, op: Operation[Any], user: str) -> bool:
    done = False
    try:
        with context.store.transaction():
            for name, role in PEOPLE.items():  # The walk changes some roles, so the original roles are restored.
                context.store.put(f"/orgs/acme/members/{name}", {"id": name, "role": role, "joinedAt": iso(START)})
            done = _succeeds(op, context, user)
            raise RollBack
    except RollBack:
        return done


def _succeeds(op: Operation[Any], context: RequestContext, user: str) -> bool:
    deletes = SPECS[type(op)].method == "DELETE"
    path = path_of(resolve_reference(op, context.for_user("ada")))
    if deletes and "/permissions/users/" in path:
        context.store.put(path, {"id": path.rpartition("/")[2], "role": "read"})
    assert not deletes or context.store.get(path)
    try:
        run_operation(op, context.for_user(user))
    except (Refusal, MissingResource):
        assert not deletes or context.store.get(path)
        return False
    # The platform tells users without access that the item does not exist, so look if it was deleted.
    return not deletes or "deletedAt" in (context.store.find(path) or {"deletedAt": ""})


@pytest.fixture(scope="module")
def allowed_users() -> Iterator[dict[str, set[str]]]:
    """Yield the users who could send each write."""
    context = full_context(Clock())
    found: dict[str, set[str]] = {}

    def ask(route: Route, values: Json) -> tuple[int, Any]:
        op = operation_for_route(route, values)
        if route.spec.method != "GET":
            found[route.key] = users_who_can(context, op)
        try:
            said = run_operation(op, context.for_user("ada"))
        except (Refusal, MissingResource) as refusal:
            return getattr(refusal, "status", 404), str(refusal)
        if isinstance(said, BackgroundWork):
            with context.store.transaction():
                settled = said.finish(said.run()) if route.key not in NOT_WALKED else None
            said = settled if said.early_response is None else said.early_response
        return route.spec.success, said

    def put(url: str, content: bytes) -> None:
        organization, upload, secret = url.split("/")[-3:]
        uploads.receive_file(context, organization, upload, secret, content)

    results = list(Walk(ask, put=put).all())
    assert [each for each in results if not each.is_as_declared] == []
    yield found
    context.store.close()


def expected_users(key: str, least: str) -> set[str]:
    """Return the users who may send a write with this least role."""
    enough = ROLES if least == "guest" else ROLES[ROLES.index(least) :]
    may = {user for user, role in PEOPLE.items() if (least == "guest" if role is None else role in enough)}
    return may | ({THEMSELVES[key]} if key in THEMSELVES else set())


def test_every_write_has_a_least_role(allowed_users: dict[str, set[str]]) -> None:
    said = [key for keys in LEAST.values() for key in keys]

    assert sorted(said) == sorted(allowed_users)


@pytest.mark.parametrize(("key", "least"), [(key, least) for least, keys in LEAST.items() for key in keys])
def test_write_is_allowed_exactly_from_its_least_role(key: str, least: str, allowed_users: dict[str, set[str]]) -> None:
    assert allowed_users[key] == expected_users(key, least)
