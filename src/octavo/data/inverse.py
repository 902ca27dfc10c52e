"""What takes back a write the server has done already. Pure."""

from __future__ import annotations

from typing import Any

from octavo.api import comments, reviews
from octavo.api.bodies import Markdown
from octavo.data.comment_write import CommentWrite
from octavo.data.entry import Entry


def inverse(entry: Entry) -> CommentWrite | str:
    """The operation that takes `entry` back, or the sentence that says why there is none."""
    match entry.op:
        case comments.Update() | comments.UpdateReply() as op:
            changes: dict[str, Any] = {}
            if op.body is not None:
                if entry.basis.text is None:
                    return "The text was changed already, and what it said before is not known. Edit it again instead."
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
            return "It is deleted already and cannot be brought back. Write it again instead."
        case reviews.Submit():
            return "Your review is given. Withdraw it instead, or give another."
        case comments.Create() | comments.CreateReply():
            return "It is posted already. Delete it instead."
