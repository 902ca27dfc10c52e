"""The operation that undoes a change already made on the server. Pure."""

from __future__ import annotations

from typing import Any

from octavo.api import comments, reviews
from octavo.api.bodies import Markdown
from octavo.data.comment_write import CommentWrite
from octavo.data.writes.machine import Entry


def inverse(entry: Entry) -> CommentWrite | str:
    """Return the operation that undoes `entry`, or a sentence that says why nothing can."""
    match entry.op:
        case comments.Update() | comments.UpdateReply() as op:
            changes: dict[str, Any] = {}
            if op.body is not None:
                if entry.basis.text is None:
                    return "Could not undo the edit: the previous text is unknown. Edit the text again instead."
                changes["body"] = Markdown(markdown=entry.basis.text)
            if isinstance(op, comments.Update) and op.resolved is not None:
                changes["resolved"] = not op.resolved
            if op.added_reactions:
                changes["removed_reactions"] = op.added_reactions
            if op.removed_reactions:
                changes["added_reactions"] = op.removed_reactions
            where = {"comment_id": op.comment_id, "at": op.at}
            if isinstance(op, comments.UpdateReply):
                where["comment_reply_id"] = op.comment_reply_id
            return type(op)(**where, **changes)
        case comments.Delete() | comments.DeleteReply():
            return "Could not undo: the text is already deleted. Write it again instead."
        case reviews.Submit():
            return "Could not undo: your review is already submitted. Withdraw it, or submit another."
        case comments.Create() | comments.CreateReply():
            return "Could not undo: the comment is already posted. Delete it instead."
