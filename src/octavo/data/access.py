"""Explains in a sentence why a person has a role in a space or collection, and why the user cannot do something. Remembers which
operations the server does not have, or the plan does not include.

    if (why := live.why_unavailable(links.ListOfSpace(at=here))) is not None: ...   # a sentence, shown instead of the list

Octavo learns this from error responses. It is forgotten when the session ends, because the server may be updated.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from octavo.api.errors import ApiError, NotFound, Rejected
from octavo.api.labels import label
from octavo.api.operation import SPECS, Listing, Operation, load
from octavo.api.wire import NoSuchOperation, Request, decode, route_of, url_path

if TYPE_CHECKING:
    from octavo.api.comments import Comment, Message
    from octavo.api.sites import Site
    from octavo.api.spaces import Space

ROLES = ("read", "comment", "edit", "review", "create", "admin")
"""The roles. Each allows everything that the roles before it allow."""
MERGE_ROLES = ("create", "admin")
"""Roles that may merge."""
_ACTIONS = {
    "read": "read",
    "comment": "comment",
    "edit": "edit",
    "review": "review",
    "create": "merge",
    "admin": "administer",
}
"""The action that each role adds to the actions of the roles before."""


@dataclass(frozen=True)
class RoleScope:
    """A space or collection, and the roles given there."""

    id: str
    title: str
    default_level: str | None = "inherit"
    """The highest role that members of the organization inherit here. `inherit` takes the level of the parent
    collection. None if members inherit no role."""
    people: Mapping[str, str] = field(default_factory=dict)
    """Roles by user id."""
    teams: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Title and role of each team, by team id."""
    load_error: str = ""
    """Reason why the roles given here could not be loaded. Empty if they are loaded."""


class Person(NamedTuple):
    """A member or guest of the organization."""

    id: str
    name: str
    role: str | None
    """Role in the organization. None for a guest."""
    teams: frozenset[str] = frozenset()
    """Ids of the teams of the person."""
    disabled: bool = False


class RoleSource(NamedTuple):
    """One reason why a person has a role, such as membership in a team or a role in a collection."""

    kind: str
    """`direct`, `team`, `inherited`, `inherited from team`, `organization` or `administrator`."""
    role: str
    description: str
    """For example `Editor in the collection Product through the team Docs, which includes Jun`."""


def rank(role: str | None) -> int:
    """Return the rank of a role. An unknown role ranks below all others."""
    return ROLES.index(role) if role in ROLES else -1


def role_sources(person: Person, chain: Sequence[RoleScope], organization: str) -> tuple[RoleSource, ...]:
    """Return the reasons why a person has a role in a space or collection, the highest role first. Empty if the account
    is disabled.

    `chain` has the space or collection first, then the collections that contain it, from the innermost to the
    outermost. `organization` is the title of the organization.
    """
    if person.disabled:
        return ()
    sources: list[RoleSource] = []
    for depth, place in enumerate(chain):
        suffix = _location_suffix(chain, depth)
        if role := place.people.get(person.id):
            sources.append(
                RoleSource(
                    "inherited" if depth else "direct",
                    role,
                    f"{role_name(role)}{suffix}, given directly to {person.name}",
                )
            )
        for team, (title, role) in place.teams.items():
            if team in person.teams:
                through_team = f"{',' if depth > 1 else ''} through the team {title}, which includes {person.name}"
                sources.append(
                    RoleSource(
                        "inherited from team" if depth else "team", role, f"{role_name(role)}{suffix}{through_team}"
                    )
                )
    if (organization_source := _organization_source(person, chain, organization)) is not None:
        sources.append(organization_source)
    return tuple(sorted(sources, key=lambda source: -rank(source.role)))


def no_access_reason(person: Person, chain: Sequence[RoleScope], organization: str) -> str:
    """Return a sentence that says why a person inherits no role from the organization in the first place of `chain`.
    Empty if the organization's settings let the person inherit a role."""
    if person.disabled:
        return f"The account of {person.name} is disabled in {organization} and has no access."
    if person.role is None:
        return f"{person.name} is a Guest in {organization}. Guests have only the roles that they have been given."
    place = _scope_with_default_level(chain)
    if person.role != "admin" and place is not None and place.default_level is None:
        return f"{person.name} has the {role_name(person.role)} role in {organization}, but {place.title} gives no default access."
    return ""


def access_sentence(person: Person, chain: Sequence[RoleScope], organization: str, role: str | None) -> str:
    """Return a sentence that says why a person has access, or why the person has none. `role` is the role according to
    the server, or None for no access."""
    place_title = chain[0].title
    sources = role_sources(person, chain, organization)
    source = next((each for each in sources if each.role == role), None)
    if source is not None:
        return f"{person.name} can {actions(role)} in {place_title}: {source.description}."
    if role is None:
        return f"{person.name} has no access to {place_title}. {no_access_reason(person, chain, organization)}".strip()
    unread = [f"{each.title} ({each.load_error})" for each in chain if each.load_error]
    unloaded_note = f" Could not load the roles given in {' and '.join(unread)}." if unread else ""
    return f"{person.name} can {actions(role)} in {place_title} as {role_name(role)}. The server does not say where this role comes from.{unloaded_note}"


def actions(role: str | None) -> str:
    """Return the actions that a role allows, such as `merge, review, edit, comment, and read`."""
    if role not in ROLES:
        return f"do what the role {role} allows"
    *others, last = [_ACTIONS[each] for each in reversed(ROLES[: rank(role) + 1])]
    return f"{', '.join(others)}{',' * (len(others) > 1)} and {last}" if others else last


def role_name(role: str | None) -> str:
    """Return the name of a role. Without a role a member is a Guest."""
    return label(role or "guest")


def _location_suffix(chain: Sequence[RoleScope], depth: int) -> str:
    """Return the place where a role was given, to be appended to the name of the role."""
    if not depth:
        return " here"
    inside = f", which contains {chain[depth - 1].title}" if depth > 1 else ""
    return f" in the collection {chain[depth].title}{inside}"


def _scope_with_default_level(chain: Sequence[RoleScope]) -> RoleScope | None:
    """Return the place whose default level applies. None if every level is `inherit`. Members then inherit their full
    role."""
    return next((each for each in chain if each.default_level != "inherit"), None)


def _organization_source(person: Person, chain: Sequence[RoleScope], organization: str) -> RoleSource | None:
    own_role = person.role
    if own_role is None:
        return None
    if own_role == "admin":
        return RoleSource("administrator", own_role, f"Admin in {organization}, and Admins have access everywhere")
    place = _scope_with_default_level(chain)
    if place is None:
        return RoleSource(
            "organization", own_role, f"{role_name(own_role)} in {organization}, and this role is inherited here"
        )
    max_level = place.default_level
    if max_level is None:
        return None
    default_access = "the default access here" if place is chain[0] else f"the default access of {place.title}"
    if rank(own_role) <= rank(max_level):
        return RoleSource(
            "organization",
            own_role,
            f"{role_name(own_role)} in {organization}, and {default_access} allows roles up to {role_name(max_level)}",
        )
    return RoleSource(
        "organization",
        max_level,
        f"{role_name(own_role)} in {organization}, but {default_access} limits this role to {role_name(max_level)}",
    )


def why_not_in_space(space: Space | None, permission: str) -> str | None:
    """Return the reason why the user lacks `permission` in a space. None if the user has the permission,
    or if the space is not loaded."""
    if space is not None and not getattr(space.permissions, permission):
        return f"Your role in {space.title} does not let you {permission}. Ask an admin of the space for access."
    return None


def why_not_in_thread(space: Space | None, thread: Comment, action: str) -> str | None:
    """Return the reason why the user cannot `reply`, `resolve` or `reply_resolve` in a thread. None if the user can."""
    if action in ("reply", "reply_resolve") and is_permission_denied(thread, "reply"):
        return "You can read this thread, but you cannot reply to it. Ask an admin of the space for access."
    can_resolve = thread.permissions.edit or (space is not None and space.permissions.edit)
    if action in ("resolve", "reply_resolve") and not can_resolve:
        verb = "resolve" if thread.is_open else "reopen"
        return f"Only the author of this thread or an Editor of the space can {verb} it."
    return None


def is_permission_denied(message: Message, permission: str) -> bool:
    """Return whether the server explicitly denies a permission on a message. Some servers list only some permissions."""
    return permission in message.permissions.model_fields_set and not getattr(message.permissions, permission)


T = TypeVar("T")

NO_METHOD = frozenset({405, 501})
"""Statuses of a server that does not have the operation."""
NOT_PAID = 402


_FEATURES = {
    "redirects": "sites-redirects",
    "share_links": "sites-share-links",
    "adaptive_schema": "sites-adaptive-content",
    "site_structure.CreateSection": "sites-sections",
    "site_structure.UpdateSection": "sites-sections",
    "site_structure.CreateGroup": "sites-sections",
    "fonts": "sites-custom-fonts",
    "search.InSite": "sites-full-text-search",
}
"""The id of the site feature that an operation needs, by the name of the operation or of its API module."""


def frozen_feature_reason(site: Site, op: type[Operation[Any]]) -> str | None:
    """Return a sentence that says why the plan of a site no longer includes the feature of an operation. None if the
    feature is not frozen."""
    name = SPECS[op].name
    feature_id = _FEATURES.get(name) or _FEATURES.get(name.partition(".")[0])
    feature = next((each for each in site.features if each.id == feature_id and each.frozen), None)
    if feature is None:
        return None
    feature_name = feature.id.removeprefix("sites-").replace("-", " ")
    upgrade = f" Upgrade the site to the {feature.plan} plan." if feature.plan else ""
    return f"The plan of “{site.title}” no longer includes {feature_name}.{upgrade}"


class Send(Protocol):
    """A function that sends one operation and returns its response. It raises ApiError. `Client` is such a function."""

    async def __call__(self, op: Operation[T]) -> T: ...


class Availability:
    """Sends operations, and remembers which of them the server or the plan does not have."""

    def __init__(self, send: Send) -> None:
        self.changed: Callable[[], None] = lambda: None
        """Called when the availability of an operation changes."""
        self._send = send
        self._missing: dict[type[Operation[Any]], dict[str, str]] = {}
        """Reasons why operations are unavailable. The inner key is a route if the server does not have the operation. It is
        a path if the plan of one organization does not include the operation."""

    async def __call__(self, op: Operation[T]) -> T:
        try:
            response = await self._send(op)
        except Rejected as error:
            if unavailability := await self._unavailability(op, error):
                self._mark_unavailable(op, *unavailability)
            raise
        if type(op) in self._missing and self.why_unavailable(op) is not None:
            del self._missing[type(op)]
            self.changed()
        return response

    def why_unavailable(self, op: Operation[Any] | type[Operation[Any]]) -> str | None:
        """Return a sentence that says why an operation is unavailable. None if Octavo knows no reason.

        If `op` is a type, the reason may apply to only one of its paths.
        """
        if isinstance(op, type):
            return next(iter(self._missing.get(op, {}).values()), None)
        reasons = self._missing.get(type(op), {})
        return (reasons.get(route_of(op)) or reasons.get(url_path(op))) if reasons else None

    def mark_unavailable(self, op: Operation[Any], sentence: str) -> None:
        """Record that the server does not have an operation, for a caller who learned this without an error
        response."""
        self._mark_unavailable(op, route_of(op), sentence)

    def _mark_unavailable(self, op: Operation[Any], route_or_path: str, reason: str) -> None:
        if self._missing.setdefault(type(op), {}).get(route_or_path) != reason:
            self._missing[type(op)][route_or_path] = reason
            self.changed()

    async def _unavailability(self, op: Operation[Any], error: Rejected) -> tuple[str, str] | None:
        """Return the route or path where an operation is unavailable, and the reason. None if the error concerns only
        the values of this request."""
        if error.status == NOT_PAID:
            return url_path(op), f"Your plan does not include this feature: {error}"
        if error.status in NO_METHOD or (isinstance(error, NotFound) and await self._is_only_list_missing(op)):
            route = f"{SPECS[type(op)].method} {route_of(op)}"
            return route_of(op), f"This server does not support this operation: it returned {error.status} for {route}."
        return None

    async def _is_only_list_missing(self, op: Operation[Any]) -> bool:
        """Return whether a list was not found although its parent resource exists. Then the server does not have the
        operation: otherwise it would return an empty list. Always False for operations that are not lists."""
        parent_route, _, last = route_of(op).rpartition("/")
        if not isinstance(op, Listing) or last.startswith("{") or "{" not in parent_route:
            return False
        # `decode` needs all operations. They are loaded only here, because 404 for a list is rare.
        await asyncio.to_thread(load)
        parent_path = url_path(op).rpartition("/")[0]
        while not parent_route.endswith("}"):
            parent_route, parent_path = parent_route.rpartition("/")[0], parent_path.rpartition("/")[0]
        try:
            parent_op = decode(Request("GET", parent_path))
        except NoSuchOperation:
            return False
        try:
            await self._send(parent_op)
        except ApiError:
            return False
        return True
