"""The lists of a whole organization, asked in one way: who follows the same list shares its answer, and it is asked once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from octavo.api.places import OrganizationRef
from octavo.api.spaces import List as ListSpaces

if TYPE_CHECKING:
    from octavo.api.change_requests import ListOfOrganization, Status
    from octavo.api.collections import List as ListCollections

MOST = 1000
"""Items on a page: as many as the interface allows (2.5)."""
UNDECIDED: tuple[Literal["open", "draft"], ...] = ("open", "draft")
"""The states in which a change request still needs somebody."""
_DECIDED = 100
"""Of change requests that are merged or archived, the first are wanted, and not all there ever were."""


def spaces_of(organization_id: str) -> ListSpaces:
    """All spaces of an organization."""
    return ListSpaces(at=OrganizationRef(organization_id=organization_id), limit=MOST)


def collections_of(organization_id: str) -> ListCollections:
    """All collections of an organization."""
    from octavo.api.collections import List as ListCollections  # as below

    return ListCollections(at=OrganizationRef(organization_id=organization_id), nested=True, limit=MOST)


def change_requests_of(organization_id: str, status: Status) -> ListOfOrganization:
    """Change requests of an organization that have a status."""
    from octavo.api.change_requests import ListOfOrganization  # the first screen does without

    at = OrganizationRef(organization_id=organization_id)
    return ListOfOrganization(at=at, status=status, limit=MOST if status in UNDECIDED else _DECIDED)
