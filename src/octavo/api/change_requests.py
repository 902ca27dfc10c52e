"""Proposed edits to a space, which are reviewed and then merged."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from octavo.api.bodies import document_text
from octavo.api.operation import (
    ChangeRequestRef,
    InChangeRequest,
    InSpace,
    Listing,
    Model,
    Operation,
    OrganizationRef,
    SpaceRef,
    Urls,
)
from octavo.api.text import Id, KnownValues, Moment, Number, RawJson, SafeJson, SafeLine
from octavo.api.users import Contributor, User


class ChangeRequest(Model):
    """Proposed edits to a space."""

    object: Literal["change-request"] = "change-request"
    id: Id
    number: Number = 0
    status: Annotated[SafeLine, KnownValues("draft", "open", "archived", "merged")] = ""
    subject: SafeLine = ""
    description: SafeJson | None = None
    space: Id | None = None
    created_by: User | None = None
    created_at: Moment | None = None
    updated_at: Moment | None = None
    revision: Id | None = None
    """The revision with the proposed content."""
    revision_initial: Id | None = None
    """The revision of main from which the change request started."""
    revision_merged_ancestor: Id | None = None
    """The revision of main from which the change request was last updated."""
    revision_merged: Id | None = None
    """The revision of main that the merge created."""
    merged_at: Moment | None = None
    merged_by: User | None = None
    """The user who merged the change request. None if it is not merged, or if the user is unknown."""
    comments: Number = 0
    """Number of open comments."""
    outdated: bool = False
    """Whether main has changed since the change request started or was last updated."""
    urls: Urls = Field(default_factory=Urls)

    @property
    def title(self) -> str:
        """The subject, or “Untitled” if there is no subject."""
        return self.subject or "Untitled"

    @property
    def description_text(self) -> str:
        """The description without formatting."""
        return document_text(self.description)

    @property
    def base(self) -> str | None:
        """ID of the main revision with which the content is compared. None if the server does not send it."""
        return self.revision_merged_ancestor or self.revision_initial

    def with_space(self, space: SpaceRef) -> "ChangeRequest":
        """Return a copy whose field `space` is set. If it is set already, return the change request unchanged."""
        return self if self.space is not None else self.model_copy(update={"space": space.space_id})

    @property
    def author_name(self) -> str:
        """Name of the author. Empty if the server did not send it."""
        return self.created_by.name if self.created_by is not None else ""

    @property
    def author_id(self) -> str:
        """ID of the author. Empty if the server did not send it."""
        return self.created_by.id if self.created_by is not None else ""

    @property
    def space_ref(self) -> SpaceRef | None:
        """Reference of the space. None if the server did not send it."""
        return SpaceRef(space_id=self.space) if self.space else None

    def ref(self, space: SpaceRef) -> ChangeRequestRef:
        return ChangeRequestRef(space_id=self.space or space.space_id, change_request_id=self.id)


class MergeResult(Model):
    """The result of a merge or an update. After `conflicts`, the content has both sides of each conflict."""

    revision: Id | None = None
    result: Annotated[SafeLine, KnownValues("merge", "update", "conflicts")]


Status = Literal["draft", "open", "archived", "merged"]
Subject = Annotated[str, Field(max_length=100)]


class Filters(BaseModel, defer_build=True):
    at: SpaceRef | OrganizationRef
    status: Status = "open"
    """A single status. One request cannot list all statuses."""
    creator: str | None = None
    contributor: str | None = None


class List(Filters, Listing[ChangeRequest], get="/change-requests"):
    """List the change requests of a space, most recently updated first."""

    at: SpaceRef


class ListOfOrganization(Filters, Listing[ChangeRequest], get="/change-requests"):
    """List the change requests of all spaces in an organization."""

    at: OrganizationRef


class Create(InSpace, Operation[ChangeRequest], post="/change-requests"):
    """Create a draft change request from the main content."""

    subject: Subject | None = None
    agent_task_id: str | None = None


class Get(InChangeRequest, Operation[ChangeRequest], get=""):
    """Get a change request."""


class Update(InChangeRequest, Operation[ChangeRequest], patch="", nullable=("description",)):
    """Change the subject, description or status of a change request."""

    subject: Subject | None = None
    description: RawJson | None = None
    status: Literal["draft", "open", "archived"] | None = None


class Merge(InChangeRequest, Operation[MergeResult], post="/merge", success=200):
    """Merge a change request into the main content of the space."""


class UpdateFromMain(InChangeRequest, Operation[MergeResult], post="/update", success=200):
    """Update a change request from the main content of the space."""


class ListContributors(InChangeRequest, Listing[Contributor], get="/contributors"):
    """List everyone who edited or commented on a change request."""
