"""Reviews of change requests, and review requests."""

from typing import Annotated, Literal

from octavo.api.bodies import Format, Markdown
from octavo.api.change_requests import Subject
from octavo.api.comments import Comment
from octavo.api.operation import InChangeRequest, Listing, Model, Operation
from octavo.api.text import Id, KnownValues, Moment, RawJson, SafeLine
from octavo.api.users import Author, User


class Review(Model):
    """A review of one revision of a change request: approved, or changes requested."""

    object: Literal["change-request-review"] = "change-request-review"
    id: Id
    status: Annotated[SafeLine, KnownValues("approved", "changes-requested")] = ""
    reviewer: Author
    requested_by: User | None = None
    revision: Id | None = None
    outdated: bool = False
    """Whether a newer review or review request replaced this review."""
    comment: Comment | None = None
    created_at: Moment | None = None
    updated_at: Moment | None = None

    def is_of_other_revision(self, revision_id: str | None) -> bool:
        """Return whether the review is of another revision than `revision_id`. False if its revision is unknown."""
        return self.revision not in (None, revision_id)


class TeamReference(Model):
    """A reference to a team, by its ID."""

    id: Id


class RequestedReviewer(Model):
    """A user or team whose review is requested."""

    object: Literal["change-request-requested-reviewer"] = "change-request-requested-reviewer"
    kind: Annotated[SafeLine, KnownValues("user", "team")] = "user"
    user: User | None = None
    team: TeamReference | None = None
    revision: Id | None = None
    requested_by: User | None = None
    created_at: Moment | None = None


class RequestedReviewers(Model):
    """The requested reviewers after a review request."""

    users: tuple[RequestedReviewer, ...] = ()


class List(InChangeRequest, Listing[Review], get="/reviews"):
    """List the submitted reviews, newest first."""

    format: Format | None = None
    outdated: bool | None = None


class Submit(InChangeRequest, Operation[Review], post="/reviews"):
    """Submit a review: approve, or request changes."""

    status: Literal["approved", "changes-requested"]
    comment: Markdown | None = None


class ListRequested(InChangeRequest, Listing[RequestedReviewer], get="/requested-reviewers"):
    """List the requested reviewers."""


class Request(
    InChangeRequest, Operation[RequestedReviewers], post="/requested-reviewers", success=200, nullable=("description",)
):
    """Request a review from one or more people."""

    users: tuple[Id, ...]
    subject: Subject | None = None
    description: RawJson | None = None


class Withdraw(InChangeRequest, Operation[None], delete="/requested-reviewers/{user_id}"):
    """Withdraw a request for a review, not the review."""

    user_id: Id
