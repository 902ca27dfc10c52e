"""Whether something on the server is what we wrote. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable
from datetime import datetime, timedelta

from octavo.api import safety
from octavo.api.comments import Comment, Create, CreateReply, Reaction, Reply, Update, UpdateReply

CLOCKS_APART = timedelta(minutes=2)
"""A service of several machines has several clocks: what came later may be said to be older."""

_CODE_POINTS = re.compile(r"[0-9a-fA-F]{2,6}(-[0-9a-fA-F]{2,6})*")


def normal(words: str) -> str:
    """A body as every server gives it back: made safe, composed, trimmed, with plain new lines."""
    return unicodedata.normalize("NFC", safety.text(words)).strip()


def same_words(one: str, other: str) -> bool:
    """Whether two bodies say the same in another markup: a platform may write markdown in its own way."""
    mine = _letters(one)
    return mine != "" and mine == _letters(other)


def emoji_key(emoji: str) -> str:
    """One emoji, however it is written: a character, or its code points such as `1f44d`."""
    if _CODE_POINTS.fullmatch(emoji):
        points = [int(each, 16) for each in emoji.split("-")]
        if all(point < 0x110000 for point in points):
            emoji = "".join(map(chr, points))
    return emoji.replace("\ufe0f", "")


def reacted(reactions: Iterable[Reaction], emoji: str, user_id: str) -> bool:
    """Whether `user_id` is among those who reacted with `emoji`."""
    return any(
        emoji_key(reaction.emoji) == emoji_key(emoji) and any(each.user.id == user_id for each in reaction.users)
        for reaction in reactions
    )


def made(
    op: Create | CreateReply,
    found: Collection[Comment | Reply],
    *,
    baseline: Collection[str],
    since: datetime | None,
    claimed: Collection[str],
    me: str | None,
) -> Comment | Reply | None:
    """Which of `found` is what the lost write `op` made. The oldest, if there are several.

    It was not there before, no other write of ours made it, it is by `me`, and it says the same. `since` is when the
    newest of those that were there before was posted, by a clock of the server: nothing of ours can be much older.
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
    exact = [each for each in candidates if normal(each.body.text) == normal(body)]
    alike = exact or [each for each in candidates if same_words(each.body.text, body)]
    return min(alike, key=lambda each: each.posted_at.timestamp() if each.posted_at else 0.0, default=None)


def holds(
    op: Update | UpdateReply, now: Comment | Reply, me: str | None, *, was: str | None = None, sent: bool = False
) -> bool:
    """Whether `now` is already as `op` wants it. Once it was `sent`, its text may have come back in other markup:
    the same words will do, unless they are also those of the text there `was`.
    """
    if op.body is not None and normal(now.body.text) != normal(op.body.markdown):
        reworded = was is not None and not same_words(was, op.body.markdown)
        if not (sent and reworded and same_words(now.body.text, op.body.markdown)):
            return False
    if isinstance(op, Update) and op.resolved is not None and isinstance(now, Comment) and now.is_open == op.resolved:
        return False
    added, removed = op.added_reactions or (), op.removed_reactions or ()
    if (added or removed) and me is None:
        return False
    return all(reacted(now.reactions, each, me or "") for each in added) and not any(
        reacted(now.reactions, each, me or "") for each in removed
    )


def _letters(words: str) -> str:
    return "".join(each for each in unicodedata.normalize("NFKC", words) if each.isalnum())
