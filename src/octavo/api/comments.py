"""Threads on a space or a change request."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from octavo.api.bodies import Body, Format, Markdown
from octavo.api.operation import Discussion, Listing, Model, Operation, Urls
from octavo.api.organizations import Member
from octavo.api.text import Id, KnownValues, Moment, Number, SafeAddress, SafeLine, SafeText
from octavo.api.users import Author, Contributor, User


class UserReaction(Model):
    """The reaction of one user."""

    user: User
    reacted_at: Moment | None = None


class Reaction(Model):
    """An emoji with the users who reacted with it. `emoji` is a character or a code point such as `1f44d`."""

    emoji: SafeLine = ""
    count: Number = 0
    users: tuple[UserReaction, ...] = ()


class Permissions(Model):
    """The caller's permissions for a comment."""

    view: bool = False
    edit: bool = False
    reply: bool = False
    delete: bool = False


class TargetNode(Model):
    """The block of a comment, with its text when the comment was written."""

    id: SafeLine
    preview: SafeText | None = None


class TargetPage(Model):
    """The page of a comment. Newer servers send only the ID."""

    id: Id
    title: SafeLine | None = None
    path: SafeAddress | None = None
    emoji: SafeLine | None = None
    icon: SafeLine | None = None
    outdated: bool | None = None
    """Whether the page or block is missing from main. None if the server does not tell."""


class TableCell(Model):
    """The table cell of a comment. `record` is the ID of its row, `definition` of its column."""

    record: SafeLine
    definition: SafeLine


class Target(Model):
    """The page, block or change request that a comment is attached to."""

    space: Id | None = None
    revision: Id | None = None
    page: TargetPage | None = None
    node: TargetNode | None = None
    table_cell: TableCell | None = None
    change_request: Id | None = None
    review: Id | None = None


class Message(Model):
    """A comment or reply in a thread."""

    id: Id
    body: Body = Field(default_factory=Body)
    posted_by: Author
    posted_at: Moment | None = None
    edited_at: Moment | None = None
    reactions: tuple[Reaction, ...] = ()
    urls: Urls = Field(default_factory=Urls)
    permissions: Permissions = Field(default_factory=Permissions)


class Comment(Message):
    """The first comment of a thread."""

    object: Literal["comment"] = "comment"
    replies: Number = 0
    repliers: tuple[Contributor, ...] | None = None
    """The users who replied, with the time of their last reply. None on older servers."""
    target: Target = Field(default_factory=Target)
    status: Annotated[SafeLine, KnownValues("open", "resolved")] = "open"
    resolved_at: Moment | None = None
    resolved_by: User | None = None

    @property
    def is_open(self) -> bool:
        return self.status != "resolved"

    @property
    def is_review_text(self) -> bool:
        """Whether this comment is the text of a review, such as an approval."""
        return self.target.review is not None

    @property
    def is_open_thread(self) -> bool:
        """Whether this is an open thread, and not the comment of a review."""
        return self.is_open and not self.is_review_text


class Reply(Message):
    """A reply in a thread."""

    object: Literal["comment-reply"] = "comment-reply"


class InDiscussion(BaseModel, defer_build=True):
    at: Discussion


class InComment(BaseModel, defer_build=True):
    at: Discussion
    comment_id: Id


class InReply(BaseModel, defer_build=True):
    at: Discussion
    comment_id: Id
    comment_reply_id: Id


class List(InDiscussion, Listing[Comment], get="/comments"):
    """List the comment threads, by default newest first."""

    order: Literal["asc", "desc"] = "desc"
    status: Literal["all", "open", "resolved"] = "all"
    format: Format | None = None
    target_page: Id | None = None
    """Only threads on this page."""
    authors: tuple[str, ...] | None = None
    """Only threads by these users."""


class Create(InDiscussion, Operation[Comment], post="/comments", success=200):
    """Start a thread on a space or change request, or on one of its pages or blocks."""

    body: Markdown
    page: Id | None = None
    node: Annotated[str, Field(max_length=256)] | None = None
    """The key of a block on the page."""
    table_cell: TableCell | None = None
    """The table cell that the thread is about."""


class Get(InComment, Operation[Comment], get="/comments/{comment_id}"):
    """Get a comment, without its replies."""

    format: Format | None = None


class Update(InComment, Operation[Comment], put="/comments/{comment_id}"):
    """Edit the text of a comment, resolve or reopen its thread, or react to it."""

    body: Markdown | None = None
    resolved: bool | None = None
    added_reactions: tuple[str, ...] | None = None
    removed_reactions: tuple[str, ...] | None = None


class Delete(InComment, Operation[None], delete="/comments/{comment_id}"):
    """Delete a comment and its replies."""


class ListReplies(InComment, Listing[Reply], get="/comments/{comment_id}/replies"):
    """List the replies to a comment, oldest first."""

    format: Format | None = None


class CreateReply(InComment, Operation[Reply], post="/comments/{comment_id}/replies", success=200, query=("format",)):
    """Reply to a comment."""

    body: Markdown
    format: Format | None = None


class GetReply(InReply, Operation[Reply], get="/comments/{comment_id}/replies/{comment_reply_id}"):
    """Get a reply."""

    format: Format | None = None


class UpdateReply(InReply, Operation[Reply], put="/comments/{comment_id}/replies/{comment_reply_id}"):
    """Edit a reply, or react to it."""

    body: Markdown | None = None
    added_reactions: tuple[str, ...] | None = None
    removed_reactions: tuple[str, ...] | None = None


class DeleteReply(InReply, Operation[None], delete="/comments/{comment_id}/replies/{comment_reply_id}"):
    """Delete a reply."""


class ListCommenters(InDiscussion, Listing[Member], get="/commenters"):
    """List the people who commented."""
