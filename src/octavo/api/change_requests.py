"""Proposed edits to a space, which are reviewed and then merged."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from octavo.api.bodies import plain
from octavo.api.operation import Listing, Model, Operation, Urls
from octavo.api.places import ChangeRequestRef, InChangeRequest, InSpace, OrganizationRef, SpaceRef
from octavo.api.text import Id, Known, Moment, Number, RawJson, SafeJson, SafeLine
from octavo.api.users import Contributor, User


class ChangeRequest(Model):
    """Proposed edits to a space (2.8, 4.21)."""

    object: Literal["change-request"] = "change-request"
    id: Id
    number: Number = 0
    status: Annotated[SafeLine, Known("draft", "open", "archived", "merged")] = ""
    subject: SafeLine = ""
    description: SafeJson | None = None
    space: Id | None = None
    created_by: User | None = None
    created_at: Moment | None = None
    updated_at: Moment | None = None
    revision: Id | None = None
    """What it proposes."""
    revision_initial: Id | None = None
    """Where it started from the primary content."""
    revision_merged_ancestor: Id | None = None
    """The primary revision it was last updated from."""
    revision_merged: Id | None = None
    """The primary revision its merge made."""
    merged_at: Moment | None = None
    merged_by: User | None = None
    """The user who merged it. None if it is not merged, or if the server does not say."""
    comments: Number = 0
    """Open comments."""
    outdated: bool = False
    """True when the primary content moved on since it started or was last updated."""
    urls: Urls = Field(default_factory=Urls)

    @property
    def title(self) -> str:
        """Its subject, or what to call it without one."""
        return self.subject or f"Untitled #{self.number}"

    @property
    def about(self) -> str:
        """The words of its description."""
        return plain(self.description)

    @property
    def base(self) -> str | None:
        """The primary revision it is compared with (documents.md 4.0)."""
        return self.revision_merged_ancestor or self.revision_initial

    def within(self, space: SpaceRef) -> "ChangeRequest":
        """The same as one of `space`, where the server does not say of which it is."""
        return self if self.space is not None else self.model_copy(update={"space": space.space_id})

    def ref(self, space: SpaceRef) -> ChangeRequestRef:
        return ChangeRequestRef(space_id=self.space or space.space_id, change_request_id=self.id)


class MergeResult(Model):
    """What a merge or an update did. `conflicts` means it was applied with both sides kept (1, trap 2)."""

    revision: Id | None = None
    result: Annotated[SafeLine, Known("merge", "update", "conflicts")]


Status = Literal["draft", "open", "archived", "merged"]


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

    subject: str | None = None
    agent_task_id: str | None = None


class Get(InChangeRequest, Operation[ChangeRequest], get=""):
    """Get a change request."""


class Update(InChangeRequest, Operation[ChangeRequest], patch="", nullable=("description",)):
    """Change the subject, description or status of a change request."""

    subject: Annotated[str, Field(max_length=100)] | None = None
    description: RawJson | None = None
    status: Literal["draft", "open", "archived"] | None = None


class Merge(InChangeRequest, Operation[MergeResult], post="/merge", success=200):
    """Merge a change request into the main content of the space."""


class UpdateFromMain(InChangeRequest, Operation[MergeResult], post="/update", success=200):
    """Update a change request from the main content of the space."""


class ListContributors(InChangeRequest, Listing[Contributor], get="/contributors"):
    """List everyone who edited or commented on a change request."""
