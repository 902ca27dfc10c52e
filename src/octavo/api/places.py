"""References to the resources that operations belong to, and mixins with the field `at`."""

from pydantic import BaseModel

from octavo.api.operation import Ref
from octavo.api.text import Id


class OrganizationRef(Ref, path="/orgs/{organization_id}"):
    """An organization."""

    organization_id: Id


class SiteRef(Ref, path="/orgs/{organization_id}/sites/{site_id}"):
    """A site of an organization."""

    organization_id: Id
    site_id: Id


class CollectionRef(Ref, path="/collections/{collection_id}"):
    """A collection of spaces."""

    collection_id: Id


class SpaceRef(Ref, path="/spaces/{space_id}", content="/content"):
    """A space. Its content is main."""

    space_id: Id


class ChangeRequestRef(Ref, path="/spaces/{space_id}/change-requests/{change_request_id}", content="/content"):
    """A change request, by its id or by its number in the space. Its content is the proposed content."""

    space_id: Id
    change_request_id: Id

    @property
    def space(self) -> SpaceRef:
        return SpaceRef(space_id=self.space_id)


class RevisionRef(Ref, path="/spaces/{space_id}/revisions/{revision_id}"):
    """A revision, whose content never changes."""

    space_id: Id
    revision_id: Id

    @property
    def space(self) -> SpaceRef:
        return SpaceRef(space_id=self.space_id)


ContentRef = SpaceRef | ChangeRequestRef | RevisionRef
"""Resources with pages."""

Discussion = SpaceRef | ChangeRequestRef
"""Resources with comments."""

Shared = SpaceRef | CollectionRef
"""Resources in which users and teams have roles."""


class InOrganization(BaseModel, defer_build=True):
    at: OrganizationRef


class InSite(BaseModel, defer_build=True):
    at: SiteRef


class InCollection(BaseModel, defer_build=True):
    at: CollectionRef


class InSpace(BaseModel, defer_build=True):
    at: SpaceRef


class InChangeRequest(BaseModel, defer_build=True):
    at: ChangeRequestRef
