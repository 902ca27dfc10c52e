"""Explains why a member or guest has a role in a space or collection. Start at `role_reason`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from octavo.api.labels import label

ROLES = ("read", "comment", "edit", "review", "create", "admin")
"""The roles, the lowest first. A role also allows everything that lower roles allow."""
MERGE_ROLES = ("create", "admin")
"""Roles that allow merging."""
_ACTIONS = {
    "read": "read",
    "comment": "comment",
    "edit": "edit",
    "review": "review",
    "create": "merge",
    "admin": "administer",
}
"""Action that a role allows in addition to the next lower role, by role."""


@dataclass(frozen=True)
class RoleScope:
    """A space or collection, and the roles that members and teams were given in it."""

    id: str
    title: str
    default_level: str | None = "inherit"
    """Highest role that members get here because of their role in the organization. `inherit` if the collection around
    this scope decides. None if members get no role."""
    member_roles: Mapping[str, str] = field(default_factory=dict)
    """Role of each member by user ID."""
    teams: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Title and role of each team by team ID."""
    load_error: str = ""
    """Sentence that says why `member_roles` and `teams` could not be loaded. Empty if they are loaded."""


class Person(NamedTuple):
    """A member or guest of the organization."""

    id: str
    name: str
    role: str | None
    """Role in the organization. None for a guest."""
    teams: frozenset[str] = frozenset()
    """IDs of the person's teams."""
    is_disabled: bool = False


class RoleSource(NamedTuple):
    """One reason why a person has a role, such as membership in a team."""

    kind: str
    """`direct`, `team`, `inherited`, `inherited from team`, `organization` or `administrator`."""
    role: str
    description: str
    """Phrase such as `Editor in the collection Product through the team Docs, which includes Jun`."""


def rank(role: str | None) -> int:
    """Return the position of a role in `ROLES`: 0 for the lowest role, -1 for an unknown role."""
    return ROLES.index(role) if role in ROLES else -1


def role_sources(person: Person, scopes: Sequence[RoleScope], organization_title: str) -> tuple[RoleSource, ...]:
    """Return all reasons why a person has a role, the highest role first. `scopes` has the space or collection, then
    the collections around it, from inside out. Empty if the account is disabled or has no role."""
    if person.is_disabled:
        return ()
    sources: list[RoleSource] = []
    for depth, scope in enumerate(scopes):
        suffix = _location_suffix(scopes, depth)
        if role := scope.member_roles.get(person.id):
            sources.append(
                RoleSource(
                    "inherited" if depth else "direct",
                    role,
                    f"{role_name(role)}{suffix}, given directly to {person.name}",
                )
            )
        for team_id, (title, role) in scope.teams.items():
            if team_id in person.teams:
                through_team = f"{',' if depth > 1 else ''} through the team {title}, which includes {person.name}"
                sources.append(
                    RoleSource(
                        "inherited from team" if depth else "team", role, f"{role_name(role)}{suffix}{through_team}"
                    )
                )
    if (organization_source := _organization_source(person, scopes, organization_title)) is not None:
        sources.append(organization_source)
    return tuple(sorted(sources, key=lambda source: -rank(source.role)))


def no_access_reason(person: Person, scopes: Sequence[RoleScope], organization_title: str) -> str:
    """Return why the organization gives a person no role in `scopes[0]`. Empty if it gives one. See `role_sources`."""
    if person.is_disabled:
        return f"The account of {person.name} is disabled in {organization_title} and has no access."
    if person.role is None:
        return (
            f"{person.name} is a Guest in {organization_title}. Guests have only the roles that they have been given."
        )
    scope = _scope_with_default_level(scopes)
    if person.role != "admin" and scope is not None and scope.default_level is None:
        return f"{person.name} has the {role_name(person.role)} role in {organization_title}, but {scope.title} gives no default access."
    return ""


def role_reason(person: Person, scopes: Sequence[RoleScope], organization_title: str, role: str | None) -> str:
    """Return why a person has `role` in `scopes[0]`, or no role if `role` is None. `scopes` is as in `role_sources`."""
    scope_title = scopes[0].title
    sources = role_sources(person, scopes, organization_title)
    source = next((each for each in sources if each.role == role), None)
    if source is not None:
        return f"{person.name} can {actions(role)} in {scope_title}: {source.description}."
    if role is None:
        return f"{person.name} has no access to {scope_title}. {no_access_reason(person, scopes, organization_title)}".strip()
    failed_scopes = [f"{each.title} ({each.load_error})" for each in scopes if each.load_error]
    unloaded_note = f" Could not load the roles given in {' and '.join(failed_scopes)}." if failed_scopes else ""
    return f"{person.name} can {actions(role)} in {scope_title} as {role_name(role)}. The server does not say where this role comes from.{unloaded_note}"


def actions(role: str | None) -> str:
    """Return what a role allows, such as `merge, review, edit, comment, and read`."""
    if role not in ROLES:
        return f"do what the role {role} allows"
    *verbs, last_verb = [_ACTIONS[each] for each in reversed(ROLES[: rank(role) + 1])]
    return f"{', '.join(verbs)}{',' * (len(verbs) > 1)} and {last_verb}" if verbs else last_verb


def role_name(role: str | None) -> str:
    """Return the displayed name of a role, such as `Editor`. If `role` is None, `Guest`."""
    return label(role or "guest")


def _location_suffix(scopes: Sequence[RoleScope], depth: int) -> str:
    if not depth:
        return " here"
    inner_suffix = f", which contains {scopes[depth - 1].title}" if depth > 1 else ""
    return f" in the collection {scopes[depth].title}{inner_suffix}"


def _scope_with_default_level(scopes: Sequence[RoleScope]) -> RoleScope | None:
    return next((each for each in scopes if each.default_level != "inherit"), None)


def _organization_source(person: Person, scopes: Sequence[RoleScope], organization_title: str) -> RoleSource | None:
    own_role = person.role
    if own_role is None:
        return None
    if own_role == "admin":
        return RoleSource(
            "administrator", own_role, f"Admin in {organization_title}, and Admins have access everywhere"
        )
    scope = _scope_with_default_level(scopes)
    if scope is None:
        return RoleSource(
            "organization", own_role, f"{role_name(own_role)} in {organization_title}, and this role is inherited here"
        )
    max_level = scope.default_level
    if max_level is None:
        return None
    default_access = "the default access here" if scope is scopes[0] else f"the default access of {scope.title}"
    if rank(own_role) <= rank(max_level):
        return RoleSource(
            "organization",
            own_role,
            f"{role_name(own_role)} in {organization_title}, and {default_access} allows roles up to {role_name(max_level)}",
        )
    return RoleSource(
        "organization",
        max_level,
        f"{role_name(own_role)} in {organization_title}, but {default_access} limits this role to {role_name(max_level)}",
    )
