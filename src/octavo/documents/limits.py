"""Limits on the size of a page. Content beyond a limit is shown as source. The limits bound the time and memory of
hostile pages, and real pages are far below them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING

from octavo.api.safety import safe_text

if TYPE_CHECKING:
    from markdown_it.token import Token

MAX_PAGE_LENGTH = 5_000_000
"""Maximum number of characters of a page. Larger pages, and pages with more than `MAX_PAGE_LINES` lines, are shown as
source."""

MAX_PAGE_LINES = 200_000

MAX_BLOCK_PARTS = 60_000
"""Maximum number of tokens in a top-level block. A larger block and the rest of the page are shown as source."""

MAX_LINE_VISITS = 60_000
"""Maximum number of lines that the parser reads in a page, with repeats. For a long page, it is a tenth of the number
of characters. A limit is needed because each level of quotes reads its lines again. The rest of the page is shown as
source."""

MAX_ROW_LENGTH = 20_000
"""Maximum number of characters of a table row in Markdown."""

MAX_MARKS = 10_000
"""Maximum number of characters in a paragraph that can be formatting marks, or of `<` in a piece of HTML."""

SLICE_LENGTH = 3000
"""Number of characters parsed at a time. A longer block is parsed again with twice as many."""

FENCE_ESCAPE = "\U0010f7e5"
"""Character before a fence in the source that is part of the code. It is removed from the parsed text."""

_MARK = re.compile(r"[*_\[\]<`&$:{~\\!\n]")


class BlockTooLarge(Exception):
    """Raised for a block that is too large: it has more than `MAX_BLOCK_PARTS` parts, or its page exceeds
    `MAX_LINE_VISITS`."""


def max_page_parts(length: int) -> int:
    """Return the maximum number of parts of a page with `length` characters. The rest of the page is shown as
    source."""
    return max(70_000, length // 20)


def max_table_rows(columns: int) -> int:
    """Return the maximum number of rows of a Markdown table. Further rows are shown as source."""
    return max(1, (MAX_BLOCK_PARTS - 1000) // (2 + 3 * columns))


def count_parts(tokens: Iterable[Token]) -> int:
    """Return the number of parts of the tokens of a block. Tags and HTML count several times, because they take
    longer."""
    return sum(
        6 if token.type == "platform_tag" else 1 + 3 * token.content.count("<") if token.type == "platform_html" else 1
        for token in tokens
    )


def has_too_many_marks(words: str) -> bool:
    """Return whether a paragraph has so many formatting marks that it is shown as source."""
    return len(words) > MAX_MARKS and next(islice(_MARK.finditer(words), MAX_MARKS, None), None) is not None


_SLICE_LENGTH = 10_000


def sanitize(text: str) -> str:
    """Return `text` in the form of `safe_text`: without control and invisible characters, with its line breaks and
    tabs. A long text is read in slices to save memory."""
    if len(text) < _SLICE_LENGTH or text.isascii():
        return safe_text(text)
    parts, copied_to, start = [], 0, 0
    while start < len(text):
        end = text.find("\n", start + _SLICE_LENGTH, start + 2 * _SLICE_LENGTH) + 1 or start + 2 * _SLICE_LENGTH
        part = text[start:end]
        if (safe_slice := safe_text(part)) is not part:
            parts += [text[copied_to:start], safe_slice]
            copied_to = end
        start = end
    return "".join([*parts, text[copied_to:]]) if parts else text
