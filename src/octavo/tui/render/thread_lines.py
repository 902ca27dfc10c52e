"""A thread between the lines of a diff, as data."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

DRAFT = "draft "
"""How the key of a draft begins; the place of the draft follows."""


@dataclass(frozen=True)
class ThreadReply:
    """A reply in a thread."""

    author: str
    age: str
    text: str
    """Markdown, of which the first lines are shown."""
    suggestion_diffs: tuple[Hashable, ...] = ()
    """Comparisons (`comparison.Compared`) of the suggestions in `text` with their block. Empty while they are not loaded."""


@dataclass(frozen=True)
class ThreadSummary:
    """What a rail shows of a thread. `text` is markdown, of which the first lines are shown. `replies` counts all of them, `answers` are those to show."""

    author: str
    age: str
    text: str
    reply_count: int = 0
    is_open: bool = True
    shown_replies: tuple[ThreadReply, ...] = ()
    key: str = ""
    """The id of the thread."""
    is_outdated: bool = False
    """Its block is not as it was when it was begun, or is gone."""
    quote: str = ""
    """The words it is about, where they do not stand above it."""
    is_pending: bool = False
    """It is held for a review: `age` says so, and nobody else sees it yet."""
    is_review: bool = False
    """These are the words of a review, which nobody waits for an answer to."""
    is_draft: bool = False
    """It is no thread yet: these words are not sent."""
    unsent: str = ""
    """The mark of what is written in it and not sent."""
    suggestion_diffs: tuple[Hashable, ...] = ()
    """Comparisons (`comparison.Compared`) of the suggestions in `text` with their block. Empty while they are not loaded."""

    @property
    def state(self) -> str:
        """What became of it, in a word or two."""
        if self.is_pending or self.is_draft:
            return "not sent yet"
        became = "review" if self.is_review else "open" if self.is_open else "resolved"
        return became + (", outdated" if self.is_outdated else "")
