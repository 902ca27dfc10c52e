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
from octavo.tui.resources.resource import Known
from octavo.tui.shell.shell import Shell
from octavo.tui.widgets.chooser import Choice

Lists = Callable[[Shell, Known], References]


def _here(shell: Shell) -> OrganizationRef:
    organization = shell.workspace.organization
    assert organization is not None, "a form must belong to an organization"
    return OrganizationRef(organization_id=organization.id)


def _site(known: Known) -> SiteRef:
    at: SiteRef = known["at"]
    return at


def _titled(thing: Any) -> Choice[str]:
    space = getattr(thing, "space", None)
    return Choice(thing.id, thing.title or getattr(space, "title", "") or thing.id, getattr(thing, "path", "") or "")


def people(shell: Shell, known: Known) -> References:
    """Return the list of the organization's members."""
    return References(
        organizations.ListMembers(at=_here(shell), limit=1000),
        lambda each: Choice(each.user.id, each.user.name, each.user.email or ""),
        search=lambda words: organizations.ListMembers(at=_here(shell), search=words, limit=100),
    )


def _teams(shell: Shell, known: Known) -> References:
    return References(teams.List(at=_here(shell), limit=1000), _titled)


def _spaces(shell: Shell, known: Known) -> References:
    return References(spaces_of(_here(shell).organization_id), _titled)


def _collections(shell: Shell, known: Known) -> References:
    return References(collections.List(at=_here(shell), limit=1000), _titled)


def _sites(shell: Shell, known: Known) -> References:
    return References(sites.List(at=_here(shell), limit=1000), _titled)


def _sections(shell: Shell, known: Known) -> References:
    return References(site_structure.ListSections(at=_site(known), limit=1000), _titled)


def groups(shell: Shell, known: Known) -> References:
    """Return the list of the site's section groups."""
    return References(site_structure.ListGroups(at=_site(known), limit=1000), _titled)


def _site_spaces(shell: Shell, known: Known) -> References:
    return References(site_structure.ListSiteSpaces(at=_site(known), limit=1000), _titled)


def _pages(shell: Shell, known: Known) -> References:
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


_BY_FIELD: Mapping[str, Lists] = {
    "user_id": people,
    "users": people,
    "members": people,
    "teams": _teams,
    "default_team": _teams,
    "space": _spaces,
    "space_id": _spaces,
    "spaces": _spaces,
    "source.space": _spaces,
    "collection": _collections,
    "parent": _collections,
    "default_content.site": _sites,
    "sections": _sections,
    "section_id": _sections,
    "default_site_section": _sections,
    "destination.site_section_id": _sections,
    "default_site_space": _site_spaces,
    "destination.site_space_id": _site_spaces,
    "destination.page_id": _pages,
}
"""Lists by the field name in a request."""


def listed_for(shell: Shell, known: Known, other: Mapping[str, Lists], name: str) -> list[Any] | None:
    """Return the items that can be chosen for a field. None if they are not loaded."""
    lists = {**_BY_FIELD, **other}[name](shell, known)
    op = lists.op({})
    listed = None if op is None else shell.session.live.peek(op).value
    return None if listed is None else list(lists.items(listed))


def references(shell: Shell, known: Known, other: Mapping[str, Lists]) -> dict[str, References]:
    """Return the lists for the fields of a request. `other` has lists for fields with a different meaning."""
    in_site = isinstance(known.get("at"), SiteRef)
    of_sites = {_sections, _site_spaces, _pages, groups}
    return {
        name: lists(shell, known) for name, lists in {**_BY_FIELD, **other}.items() if in_site or lists not in of_sites
    }
