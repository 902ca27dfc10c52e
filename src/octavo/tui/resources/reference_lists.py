"""The lists to choose from in forms: members, teams, spaces, pages. The field name determines the list in most requests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from octavo.api import collections, content, organizations, site_structure, sites, teams
from octavo.api.operation import Listing, Operation
from octavo.api.places import OrganizationRef, SiteRef
from octavo.data.queries import spaces_of
from octavo.tui.core.connection import MAX_ITEMS
from octavo.tui.core.shell import Shell
from octavo.tui.resources.form_values import FieldTexts
from octavo.tui.resources.resource import Arguments
from octavo.tui.widgets.chooser import Choice


def _response_items(response: Any) -> Iterable[Any]:
    items: Iterable[Any] = response.items
    return items


@dataclass(frozen=True)
class OptionList:
    """Items to choose from, as far as they are loaded."""

    choices: Sequence[Choice[str]]
    is_complete: bool = True

    @property
    def title_suffix(self) -> str:
        """End of the picker's title, if the list is incomplete."""
        return "" if self.is_complete else f" · first {len(self.choices)} shown · type to find more"


@dataclass(frozen=True)
class ReferenceList:
    """A list of items that a form field can refer to: the operation that loads the items, and their labels."""

    operation: Operation[Any] | Callable[[FieldTexts], Operation[Any] | None]
    """Operation that lists the items, or a function that builds it from the text of the other fields."""
    choice_of: Callable[[Any], Choice[str]]
    """Returns the ID and the label of an item."""
    items_in: Callable[[Any], Iterable[Any]] = _response_items
    """Returns the items in a response."""
    search_operation: Callable[[str], Operation[Any]] | None = None
    """Returns the operation that searches a list that is too long to load."""
    blocked_message: str = "Fill in the fields above first."
    """Message that says which fields the user must fill in first."""

    def list_operation(self, texts: FieldTexts) -> Operation[Any] | None:
        """Return the operation that lists the items for the current form. None if other fields must be filled in
        first."""
        return self.operation if isinstance(self.operation, Operation) else self.operation(texts)

    def loaded_choices(self, shell: Shell, texts: FieldTexts) -> Sequence[Choice[str]]:
        """Return the items that are loaded already."""
        op = self.list_operation(texts)
        value = shell.session.live.peek(op).value if op is not None else None
        return [self.choice_of(item) for item in self.items_in(value)] if value is not None else ()

    async def load(self, shell: Shell, op: Operation[Any]) -> OptionList:
        """Return the whole list, or its first `MAX_ITEMS` items. Raises ApiError."""
        live = shell.session.live
        value = await live.fetch(op)
        if isinstance(op, Listing):
            await live.fetch_pages(op, MAX_ITEMS)  # If a page fails, the picker shows the error.
            value = live.peek(op).value or value
        return OptionList([self.choice_of(item) for item in self.items_in(value)], getattr(value, "next", None) is None)


ListFactory = Callable[[Shell, Arguments], ReferenceList]


def _organization(shell: Shell) -> OrganizationRef:
    organization = shell.workspace.organization
    assert organization is not None, "a form must belong to an organization"
    return OrganizationRef(organization_id=organization.id)


def _site(arguments: Arguments) -> SiteRef:
    at: SiteRef = arguments["at"]
    return at


def _choice(item: Any) -> Choice[str]:
    space = getattr(item, "space", None)
    return Choice(item.id, item.title or getattr(space, "title", "") or item.id, getattr(item, "path", "") or "")


def member_list(shell: Shell, arguments: Arguments) -> ReferenceList:
    """Return the list of the organization's members."""
    return ReferenceList(
        organizations.ListMembers(at=_organization(shell), limit=1000),
        lambda item: Choice(item.user.id, item.user.name, item.user.email or ""),
        search_operation=lambda query: organizations.ListMembers(at=_organization(shell), search=query, limit=100),
    )


def _team_list(shell: Shell, arguments: Arguments) -> ReferenceList:
    return ReferenceList(teams.List(at=_organization(shell), limit=1000), _choice)


def _space_list(shell: Shell, arguments: Arguments) -> ReferenceList:
    return ReferenceList(spaces_of(_organization(shell).organization_id), _choice)


def _collection_list(shell: Shell, arguments: Arguments) -> ReferenceList:
    return ReferenceList(collections.List(at=_organization(shell), limit=1000), _choice)


def _site_list(shell: Shell, arguments: Arguments) -> ReferenceList:
    return ReferenceList(sites.List(at=_organization(shell), limit=1000), _choice)


def _section_list(shell: Shell, arguments: Arguments) -> ReferenceList:
    return ReferenceList(site_structure.ListSections(at=_site(arguments), limit=1000), _choice)


def group_list(shell: Shell, arguments: Arguments) -> ReferenceList:
    """Return the list of the site's section groups."""
    return ReferenceList(site_structure.ListGroups(at=_site(arguments), limit=1000), _choice)


def _site_space_list(shell: Shell, arguments: Arguments) -> ReferenceList:
    return ReferenceList(site_structure.ListSiteSpaces(at=_site(arguments), limit=1000), _choice)


def _page_list(shell: Shell, arguments: Arguments) -> ReferenceList:
    def ask(texts: FieldTexts) -> Operation[Any] | None:
        space_id = texts.get("destination.site_space_id")
        response = shell.session.live.peek(site_structure.ListSiteSpaces(at=_site(arguments), limit=1000)).value
        site_space = next(
            (item for item in (response.items if response is not None else ()) if item.id == space_id), None
        )
        return (
            content.ListPages(at=site_space.space.ref)
            if site_space is not None and site_space.space is not None
            else None
        )

    return ReferenceList(
        ask,
        lambda page: Choice(page.id, page.title or page.path or page.id, page.path or ""),
        items_in=lambda tree: [page for page in tree.walk() if page.type == "document"],
        blocked_message="First choose the space that contains the page.",
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
"""Functions that create the list for a field, by the name of the field in a request."""


def loaded_items(
    shell: Shell, arguments: Arguments, extra_lists: Mapping[str, ListFactory], name: str
) -> list[Any] | None:
    """Return the items that can be chosen for a field. None if they are not loaded."""
    lists = {**_LISTS_BY_FIELD, **extra_lists}[name](shell, arguments)
    op = lists.list_operation({})
    response = None if op is None else shell.session.live.peek(op).value
    return None if response is None else list(lists.items_in(response))


def reference_lists(
    shell: Shell, arguments: Arguments, extra_lists: Mapping[str, ListFactory]
) -> dict[str, ReferenceList]:
    """Return the lists for the fields of a request. `extra_lists` has lists for fields with a different meaning."""
    is_in_site = isinstance(arguments.get("at"), SiteRef)
    site_lists = {_section_list, _site_space_list, _page_list, group_list}
    return {
        name: lists(shell, arguments)
        for name, lists in {**_LISTS_BY_FIELD, **extra_lists}.items()
        if is_in_site or lists not in site_lists
    }
