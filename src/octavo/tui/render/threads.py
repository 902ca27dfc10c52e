"""Threads as they are shown between the lines of a diff (`ThreadSummary`). Also quotes text in comments."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from textwrap import dedent
from typing import NamedTuple

from octavo.documents.suggestions import WordChange, fence

DRAFT_PREFIX = "draft "
WORD_CHANGES: Mapping[WordChange, str] = {"changed": "words changed since this comment", "gone": "words are gone"}
"""Text for the user, for each change of the commented words since the comment was written."""
WORD_MARKS: Mapping[WordChange, str] = {"changed": "words changed", "gone": "words are gone"}
"""Short forms of the texts in `WORD_CHANGES`, for a row of a list."""
FINDING_PREFIX = "finding "


class ThreadReply(NamedTuple):
    """A reply in a thread, as it is shown in a diff."""

    author: str
    age: str
    text: str
    """Markdown. Only the first lines are shown."""
    suggestion_diffs: tuple[Hashable, ...] = ()
    """A `PageComparison` for each suggested change in `text`. Empty until the comparisons are ready."""


@dataclass(frozen=True)
class ThreadSummary:
    """A thread, unsent draft or check finding, as it is shown in a diff. `text` is Markdown, of which only the first
    lines are shown. `reply_count` also counts replies that are not shown."""

    author: str
    age: str
    text: str
    reply_count: int = 0
    is_open: bool = True
    shown_replies: tuple[ThreadReply, ...] = ()
    key: str = ""
    """ID of the thread. The key of a draft or finding begins with `DRAFT_PREFIX` or `FINDING_PREFIX`. Empty if not
    selectable."""
    word_change: WordChange = ""
    """Change of the commented words since the comment was written, such as `gone`. Empty if no change is known."""
    new_page_title: str = ""
    """Title of the page to which the commented words were moved. Empty if they were not moved to another page."""
    quote: str = ""
    """Text that was commented on. Empty if the text is shown right above the thread."""
    is_pending: bool = False
    """True for a comment in a review that is not submitted yet. `age` then says so."""
    is_review: bool = False
    """True for an open comment that is the text of a review. It does not count as an open thread."""
    is_draft: bool = False
    """True for an unsent draft."""
    sign: str = ""
    """Symbol such as `▲` for a check finding. `author` is then the name of the rule. Empty for threads and drafts."""
    unsent: str = ""
    """Text such as `✎ draft`, if the user has an unsent reply in the thread. Otherwise empty."""
    suggestion_diffs: tuple[Hashable, ...] = ()
    """A `PageComparison` for each suggested change in `text`. Empty until the comparisons are ready."""

    @property
    def counts_as_thread(self) -> bool:
        """False for a draft and for a check finding. True for all other threads, also for comments that wait to be
        sent."""
        return not self.is_draft and not self.sign

    @property
    def state(self) -> str:
        """State of the thread: `open`, `resolved`, `review` (the open comment of a review) or `not sent yet`."""
        if self.is_pending or self.is_draft:
            return "not sent yet"
        return "review" if self.is_review else "open" if self.is_open else "resolved"


_MAX_EXCERPT_LENGTH = 240
_QUOTE = re.compile(r" {0,3}> ?")
_QUOTED = re.compile(r"^ {0,3}>", re.MULTILINE)
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_BLOCK_START = re.compile(r"\s{0,3}(?:#{1,6}\s|##|[-*+]\s|\d+[.)]\s|[>|=]|-{3}|\{%|<)")
"""Matches a line of Markdown that begins a new block, and so does not continue the paragraph above."""


def quote_excerpt(text: str) -> str:
    """Return the beginning of a text for a quote, without common indentation and blank lines."""
    lines = "\n".join(line.rstrip() for line in dedent(text).split("\n") if line.strip())
    return lines if len(lines) <= _MAX_EXCERPT_LENGTH else lines[: _MAX_EXCERPT_LENGTH - 1] + "…"


def quote_markdown(text: str, *, is_code: bool) -> str:
    """Return Markdown that quotes the beginning of a text. If `is_code`, the quote is a code block."""
    beginning = quote_excerpt(text)
    source = fence(beginning) if is_code else beginning.replace("\n", "\\\n")
    return "\n".join(f"> {line}" for line in source.split("\n"))


def keep_quoted_lines(markdown: str) -> str:
    """Return a comment in which quoted lines stay separate, because users often quote code without a code block."""
    if not _QUOTED.search(markdown):
        return markdown
    rows = markdown.split("\n")
    open_fence, is_in_paragraph = "", False
    for index, row in enumerate(rows):
        quote_match = _QUOTE.match(row)
        text = row[quote_match.end() :] if quote_match else ""
        if fence_match := _FENCE.match(text):
            open_fence = "" if open_fence and fence_match[1].startswith(open_fence) else open_fence or fence_match[1]
        is_code = bool(open_fence or fence_match) or (text.startswith("    ") and not is_in_paragraph)
        open_fence = open_fence if quote_match else ""
        is_in_paragraph = bool(text.strip()) and not is_code and not _BLOCK_START.match(text)
        next_match = _QUOTE.match(rows[index + 1]) if index + 1 < len(rows) else None
        next_text = rows[index + 1][next_match.end() :] if next_match else ""
        if (
            is_in_paragraph
            and next_text.strip()
            and not (_BLOCK_START.match(next_text) or _FENCE.match(next_text) or text.endswith(("\\", "  ")))
        ):
            rows[index] += "\\"
    return "\n".join(rows)
