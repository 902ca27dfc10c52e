"""The lists to choose from in forms, by field name. The same name means the same in most requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from octavo.api import collections, organizations, site_structure, sites, teams
from octavo.api.operation import Operation
from octavo.api.places import OrganizationRef, SiteRef
from octavo.data.queries import spaces_of
from octavo.tui.resources.form_references import References
from octavo.tui.resources.form_values import Written
from octavo.tui.resources.resource import Arguments
from octavo.tui.shell.shell import Shell
from octavo.tui.widgets.chooser import Choice

ListFactory = Callable[[Shell, Arguments], References]


def _organization(shell: Shell) -> OrganizationRef:
    organization = shell.workspace.organization
    assert organization is not None, "a form must belong to an organization"
    return OrganizationRef(organization_id=organization.id)


def _site(known: Arguments) -> SiteRef:
    at: SiteRef = known["at"]
    return at


def _choice(thing: Any) -> Choice[str]:
    space = getattr(thing, "space", None)
    return Choice(thing.id, thing.title or getattr(space, "title", "") or thing.id, getattr(thing, "path", "") or "")


def member_list(shell: Shell, known: Arguments) -> References:
    """Return the list of the organization's members."""
    return References(
        organizations.ListMembers(at=_organization(shell), limit=1000),
        lambda each: Choice(each.user.id, each.user.name, each.user.email or ""),
        search=lambda words: organizations.ListMembers(at=_organization(shell), search=words, limit=100),
    )


def _team_list(shell: Shell, known: Arguments) -> References:
    return References(teams.List(at=_organization(shell), limit=1000), _choice)


def _space_list(shell: Shell, known: Arguments) -> References:
    return References(spaces_of(_organization(shell).organization_id), _choice)


def _collection_list(shell: Shell, known: Arguments) -> References:
    return References(collections.List(at=_organization(shell), limit=1000), _choice)


def _site_list(shell: Shell, known: Arguments) -> References:
    return References(sites.List(at=_organization(shell), limit=1000), _choice)


def _section_list(shell: Shell, known: Arguments) -> References:
    return References(site_structure.ListSections(at=_site(known), limit=1000), _choice)


def group_list(shell: Shell, known: Arguments) -> References:
    """Return the list of the site's section groups."""
    return References(site_structure.ListGroups(at=_site(known), limit=1000), _choice)


def _site_space_list(shell: Shell, known: Arguments) -> References:
    return References(site_structure.ListSiteSpaces(at=_site(known), limit=1000), _choice)


def _page_list(shell: Shell, known: Arguments) -> References:
    def ask(written: Written) -> Operation[Any] | None:
        from octavo.api import content  # lazy: the models of page content, rarely chosen in forms

        chosen = written.get("destination.site_space_id")
        listed = shell.session.live.peek(site_structure.ListSiteSpaces(at=_site(known), limit=1000)).value
        found = next((each for each in (listed.items if listed is not None else ()) if each.id == chosen), None)
        return content.ListPages(at=found.space.ref) if found is not None and found.space is not None else None

    return References(
        ask,
        lambda page: Choice(page.id, page.title or page.path or page.id, page.path or ""),
        items=lambda tree: [page for page in tree.walk() if page.type == "document"],
        nothing="First choose the space that contains the page.",
    )


_LISTS_BY_FIELD: Mapping[str, ListFactory] = {
    "user_id": member_list,
    "users": member_list,
    "members": member_list,
    "teams": _team_list,
    "default_team": _team_list,
    "space": _space_list,
    "space_id": _space_list,
    "spaces": _space_list,
    "source.space": _space_list,
    "collection": _collection_list,
    "parent": _collection_list,
    "default_content.site": _site_list,
    "sections": _section_list,
    "section_id": _section_list,
    "default_site_section": _section_list,
    "destination.site_section_id": _section_list,
    "default_site_space": _site_space_list,
    "destination.site_space_id": _site_space_list,
    "destination.page_id": _page_list,
}
"""Lists by the field name in a request."""


def loaded_items(shell: Shell, known: Arguments, other: Mapping[str, ListFactory], name: str) -> list[Any] | None:
    """Return the items that can be chosen for a field. None if they are not loaded."""
    lists = {**_LISTS_BY_FIELD, **other}[name](shell, known)
    op = lists.op({})
    listed = None if op is None else shell.session.live.peek(op).value
    return None if listed is None else list(lists.items(listed))


def reference_lists(shell: Shell, known: Arguments, other: Mapping[str, ListFactory]) -> dict[str, References]:
    """Return the lists for the fields of a request. `other` has lists for fields with a different meaning."""
    in_site = isinstance(known.get("at"), SiteRef)
    of_sites = {_section_list, _site_space_list, _page_list, group_list}
    return {
        name: lists(shell, known)
        for name, lists in {**_LISTS_BY_FIELD, **other}.items()
        if in_site or lists not in of_sites
    }
