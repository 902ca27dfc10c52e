"""A thread between the lines of a diff, as data."""

from __future__ import annotations

import re
from collections.abc import Hashable
from dataclasses import dataclass
from textwrap import dedent

from octavo.documents.suggesting import fence

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


_CHARACTERS = 240
_QUOTE = re.compile(r" {0,3}> ?")
_QUOTED = re.compile(r"^ {0,3}>", re.MULTILINE)
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_BLOCK_START = re.compile(r"\s{0,3}(?:#{1,6}\s|[-*+]\s|\d+[.)]\s|[>|=]|-{3}|\{%|<)")
"""How a line begins that goes on no paragraph."""


def quote_excerpt(text: str) -> str:
    """The beginning of what is written about, in the lines it has."""
    lines = "\n".join(line.rstrip() for line in dedent(text).split("\n") if line.strip())
    return lines if len(lines) <= _CHARACTERS else lines[: _CHARACTERS - 1] + "…"


def quote_markdown(text: str, *, is_code: bool) -> str:
    """Markdown that quotes the beginning of a text, in the lines it has."""
    beginning = quote_excerpt(text)
    source = fence(beginning) if is_code else beginning.replace("\n", "\\\n")
    return "\n".join(f"> {line}" for line in source.split("\n"))


def keep_quoted_lines(markdown: str) -> str:
    """A comment in which quoted lines stay lines: who quotes code seldom puts a fence around it."""
    if not _QUOTED.search(markdown):
        return markdown
    rows = markdown.split("\n")
    fenced_by, goes_on = "", False
    for at, row in enumerate(rows):
        quote = _QUOTE.match(row)
        text = row[quote.end() :] if quote else ""
        if fence_here := _FENCE.match(text):
            fenced_by = "" if fenced_by and fence_here[1].startswith(fenced_by) else fenced_by or fence_here[1]
        is_code = bool(fenced_by or fence_here) or (text.startswith("    ") and not goes_on)
        fenced_by = fenced_by if quote else ""
        goes_on = bool(text.strip()) and not is_code and not _BLOCK_START.match(text)
        following = _QUOTE.match(rows[at + 1]) if at + 1 < len(rows) else None
        below = rows[at + 1][following.end() :] if following else ""
        if (
            goes_on
            and below.strip()
            and not (_BLOCK_START.match(below) or _FENCE.match(below) or text.endswith(("\\", "  ")))
        ):
            rows[at] += "\\"
    return "\n".join(rows)
