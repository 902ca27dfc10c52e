"""Data of the threads that are shown between the lines of a diff, and functions for quotations in comments."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from textwrap import dedent
from typing import NamedTuple

from octavo.documents.suggestions import WordChange, fence

DRAFT_PREFIX = "draft "
WORD_CHANGES: Mapping[WordChange, str] = {"changed": "words changed since this comment", "gone": "words are gone"}
"""Texts for the user about commented words that have changed since the comment."""
WORD_MARKS: Mapping[WordChange, str] = {"changed": "words changed", "gone": "words are gone"}
"""Short forms of `WORD_CHANGES` for a row of a list."""
FINDING_PREFIX = "finding "


class ThreadReply(NamedTuple):
    """A reply in a thread."""

    author: str
    age: str
    text: str
    """Markdown text. Only its first lines are shown."""
    suggestion_diffs: tuple[Hashable, ...] = ()
    """Comparisons (`PageComparison`) for the suggestions in `text`. Empty until they are loaded."""


@dataclass(frozen=True)
class ThreadSummary:
    """Summary of a thread. `text` is Markdown, and only its first lines are shown. `reply_count` counts all replies."""

    author: str
    age: str
    text: str
    reply_count: int = 0
    is_open: bool = True
    shown_replies: tuple[ThreadReply, ...] = ()
    key: str = ""
    """Id of the thread. Drafts and findings have `DRAFT_PREFIX` or `FINDING_PREFIX`. Empty if the row cannot be
    selected."""
    word_change: WordChange = ""
    """Change of the commented words since the comment was written. Empty if no change is known."""
    moved_to: str = ""
    """Title of the page to which the words have moved. Empty if they have not moved."""
    quote: str = ""
    """Text that the thread is about. Empty if its block is right above."""
    is_pending: bool = False
    """True if the comment belongs to a review that is not submitted. Then `age` says so."""
    is_review: bool = False
    """True if the text belongs to a review, which needs no reply."""
    is_draft: bool = False
    """True if the text is an unsent draft."""
    sign: str = ""
    """Symbol of a row that is no thread, such as `▲` for a finding. Then `author` is the name of a rule."""
    unsent: str = ""
    """Mark of an unsent reply. Empty if there is none."""
    suggestion_diffs: tuple[Hashable, ...] = ()
    """Comparisons (`PageComparison`) for the suggestions in `text`. Empty until they are loaded."""

    @property
    def is_posted(self) -> bool:
        """True if the row is a thread, not a draft, finding or mark."""
        return not self.is_draft and not self.sign

    @property
    def state(self) -> str:
        """State of the thread as text, for example `open` or `not sent yet`."""
        if self.is_pending or self.is_draft:
            return "not sent yet"
        return "review" if self.is_review else "open" if self.is_open else "resolved"


_LONGEST_EXCERPT = 240
_QUOTE = re.compile(r" {0,3}> ?")
_QUOTED = re.compile(r"^ {0,3}>", re.MULTILINE)
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_BLOCK_START = re.compile(r"\s{0,3}(?:#{1,6}\s|[-*+]\s|\d+[.)]\s|[>|=]|-{3}|\{%|<)")
"""Pattern for the beginning of a line that does not continue a paragraph."""


def quote_excerpt(text: str) -> str:
    """Return the beginning of a text, without common indent and blank lines."""
    lines = "\n".join(line.rstrip() for line in dedent(text).split("\n") if line.strip())
    return lines if len(lines) <= _LONGEST_EXCERPT else lines[: _LONGEST_EXCERPT - 1] + "…"


def quote_markdown(text: str, *, is_code: bool) -> str:
    """Return Markdown that quotes the beginning of a text. `is_code` quotes it as a code block."""
    beginning = quote_excerpt(text)
    source = fence(beginning) if is_code else beginning.replace("\n", "\\\n")
    return "\n".join(f"> {line}" for line in source.split("\n"))


def keep_quoted_lines(markdown: str) -> str:
    """Return a comment with hard line breaks in its quotes. Users often quote code without a code block."""
    if not _QUOTED.search(markdown):
        return markdown
    rows = markdown.split("\n")
    open_fence, in_paragraph = "", False
    for index, row in enumerate(rows):
        quote = _QUOTE.match(row)
        text = row[quote.end() :] if quote else ""
        if line_fence := _FENCE.match(text):
            open_fence = "" if open_fence and line_fence[1].startswith(open_fence) else open_fence or line_fence[1]
        is_code = bool(open_fence or line_fence) or (text.startswith("    ") and not in_paragraph)
        open_fence = open_fence if quote else ""
        in_paragraph = bool(text.strip()) and not is_code and not _BLOCK_START.match(text)
        next_quote = _QUOTE.match(rows[index + 1]) if index + 1 < len(rows) else None
        next_text = rows[index + 1][next_quote.end() :] if next_quote else ""
        if (
            in_paragraph
            and next_text.strip()
            and not (_BLOCK_START.match(next_text) or _FENCE.match(next_text) or text.endswith(("\\", "  ")))
        ):
            rows[index] += "\\"
    return "\n".join(rows)
