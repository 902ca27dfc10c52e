"""The writes the outbox can carry, and what it has to know of each. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from octavo.api import comments, reviews
from octavo.api.bodies import Markdown

CommentWrite = (
    comments.Create
    | comments.CreateReply
    | comments.Update
    | comments.UpdateReply
    | comments.Delete
    | comments.DeleteReply
    | reviews.Submit
)
"""An operation that can be looked for once its answer is lost, and so may wait on disk: what is said in threads, what
is done to them, and a review."""


@dataclass(frozen=True, slots=True)
class WriteFacts:
    """What order, looking for it and the person depend on, whatever kind of write it is."""

    thread: str = ""
    """The id of the comment it changes or answers. Empty: it begins a thread, or is a review."""
    page: str = ""
    """The id of the page a new thread hangs on, and the key of its block."""
    node: str = ""
    words: str = ""
    """The text it brings."""
    makes: bool = False
    """Whether it makes something: sent twice, that would be there twice."""
    is_verdict: bool = False
    """Whether it gives a review."""
    only_resolves: bool = False
    """Whether it does nothing but resolve or reopen a thread."""


def facts_of(op: CommentWrite) -> WriteFacts:
    """The facts of one write."""
    match op:
        case comments.Create():
            return WriteFacts(page=op.page or "", node=op.node or "", words=op.body.markdown, makes=True)
        case comments.CreateReply():
            return WriteFacts(op.comment_id, words=op.body.markdown, makes=True)
        case comments.Update():
            more = {"body", "added_reactions", "removed_reactions"} & op.model_fields_set
            return WriteFacts(op.comment_id, words=_text(op.body), only_resolves=op.resolved is not None and not more)
        case comments.UpdateReply():
            return WriteFacts(op.comment_id, words=_text(op.body))
        case comments.Delete() | comments.DeleteReply():
            return WriteFacts(op.comment_id)
        case reviews.Submit():
            return WriteFacts(words=_text(op.comment), makes=True, is_verdict=True)


def _text(body: Markdown | None) -> str:
    return body.markdown if body is not None else ""
