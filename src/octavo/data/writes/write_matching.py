"""Recognizes items on the server that Octavo wrote. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable
from datetime import datetime, timedelta

from octavo.api import safety
from octavo.api.comments import Comment, Create, CreateReply, Reaction, Reply, Update, UpdateReply

CLOCKS_APART = timedelta(minutes=2)
"""Largest difference between the clocks of the server: a service of several machines has several clocks."""

_CODE_POINTS = re.compile(r"[0-9a-fA-F]{2,6}(-[0-9a-fA-F]{2,6})*")


def normalized(words: str) -> str:
    """Return a text as every server returns it: sanitized, composed, trimmed, with plain line breaks."""
    return unicodedata.normalize("NFC", safety.text(words)).strip()


def same_letters(one: str, other: str) -> bool:
    """Return whether two texts have the same letters: a server may write markdown in another way."""
    mine = _letters(one)
    return mine != "" and mine == _letters(other)


def emoji_key(emoji: str) -> str:
    """Return one spelling of an emoji, which may be given as a character or as code points such as `1f44d`."""
    if _CODE_POINTS.fullmatch(emoji):
        points = [int(each, 16) for each in emoji.split("-")]
        if all(point < 0x110000 for point in points):
            emoji = "".join(map(chr, points))
    return emoji.replace("\ufe0f", "")


def has_reaction(reactions: Iterable[Reaction], emoji: str, user_id: str) -> bool:
    """Return whether the user reacted with an emoji."""
    return any(
        emoji_key(reaction.emoji) == emoji_key(emoji) and any(each.user.id == user_id for each in reaction.users)
        for reaction in reactions
    )


def find_own(
    op: Create | CreateReply,
    found: Collection[Comment | Reply],
    *,
    baseline: Collection[str],
    since: datetime | None,
    claimed: Collection[str],
    me: str | None,
) -> Comment | Reply | None:
    """Return the item of `found` that the lost write `op` created: the oldest, if there are several. None if there is none.

    The item was not there before, no other write of this profile created it, and its author and its text are those of
    `op`. `since` is the time of the newest item of the baseline, by a clock of the server: the item cannot be much older.
    """
    body = op.body.markdown
    page = op.page if isinstance(op, Create) else None
    candidates = [
        each
        for each in found
        if each.id not in baseline
        and each.id not in claimed
        and (me is None or each.posted_by.id == me)
        and (since is None or each.posted_at is None or each.posted_at >= since - CLOCKS_APART)
        and (not isinstance(each, Comment) or (each.target.page.id if each.target.page else None) == page)
    ]
    exact = [each for each in candidates if normalized(each.body.text) == normalized(body)]
    alike = exact or [each for each in candidates if same_letters(each.body.text, body)]
    return min(alike, key=lambda each: each.posted_at.timestamp() if each.posted_at else 0.0, default=None)


def is_applied(
    op: Update | UpdateReply, now: Comment | Reply, me: str | None, *, was: str | None = None, sent: bool = False
) -> bool:
    """Return whether `now` is as `op` wants it.

    Once the write was `sent`, the server may have changed the markup: the same letters are enough, unless the previous
    text `was` has them too.
    """
    if op.body is not None and normalized(now.body.text) != normalized(op.body.markdown):
        reworded = was is not None and not same_letters(was, op.body.markdown)
        if not (sent and reworded and same_letters(now.body.text, op.body.markdown)):
            return False
    if isinstance(op, Update) and op.resolved is not None and isinstance(now, Comment) and now.is_open == op.resolved:
        return False
    added, removed = op.added_reactions or (), op.removed_reactions or ()
    if (added or removed) and me is None:
        return False
    return all(has_reaction(now.reactions, each, me or "") for each in added) and not any(
        has_reaction(now.reactions, each, me or "") for each in removed
    )


def _letters(words: str) -> str:
    return "".join(each for each in unicodedata.normalize("NFKC", words) if each.isalnum())
