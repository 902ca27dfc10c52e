"""References to the resources that operations belong to, and mixins with the field `at`."""

from pydantic import BaseModel

from octavo.api.operation import Ref
from octavo.api.text import Id


class OrganizationRef(Ref, path="/orgs/{organization_id}"):
    """A reference to an organization."""

    organization_id: Id


class SiteRef(Ref, path="/orgs/{organization_id}/sites/{site_id}"):
    """A reference to a site of an organization."""

    organization_id: Id
    site_id: Id


class CollectionRef(Ref, path="/collections/{collection_id}"):
    """A reference to a collection of spaces."""

    collection_id: Id


class SpaceRef(Ref, path="/spaces/{space_id}", content="/content"):
    """A reference to a space. Its content is the main content."""

    space_id: Id


class ChangeRequestRef(Ref, path="/spaces/{space_id}/change-requests/{change_request_id}", content="/content"):
    """A reference to a change request, by its id or number. Its content is the proposed content."""

    space_id: Id
    change_request_id: Id

    @property
    def space(self) -> SpaceRef:
        return SpaceRef(space_id=self.space_id)


class RevisionRef(Ref, path="/spaces/{space_id}/revisions/{revision_id}"):
    """A reference to a revision, whose content never changes."""

    space_id: Id
    revision_id: Id

    @property
    def space(self) -> SpaceRef:
        return SpaceRef(space_id=self.space_id)


ContentRef = SpaceRef | ChangeRequestRef | RevisionRef
"""References to resources that contain pages."""

Discussion = SpaceRef | ChangeRequestRef
"""References to resources that can have comments."""

Shared = SpaceRef | CollectionRef
"""References to resources in which users and teams can have roles."""


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
