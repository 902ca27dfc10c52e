"""How much of a page is laid out. Time and memory grow with what is counted here, and real pages stay far below: what
is beyond is shown as source."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING

from octavo.api.safety import text as safe

if TYPE_CHECKING:
    from markdown_it.token import Token

MAX_PAGE_LENGTH = 5_000_000
"""Pages of more characters, or of more lines than `MOST_LINES`, are shown as source."""

MAX_PAGE_LINES = 200_000

MAX_BLOCK_PARTS = 60_000
"""The parts (tokens of the parser) of one block of the top level. The page is source from a block on that has more."""

MAX_LINE_VISITS = 60_000
"""How often lines are looked at to read a page, or a tenth of its length: within many quotes a line is looked at once
for each. Where these are used up, the rest of the page is source."""

MAX_ROW_LENGTH = 20_000
"""The characters of a row of a table in markdown."""

MAX_MARKS = 10_000
"""The characters that may be marks in one paragraph, or brackets in one stretch of HTML."""

_MARK = re.compile(r"[*_\[\]<`&$:{~\\!\n]")


class BlockTooLarge(Exception):
    """A block has more parts than are laid out."""


def max_page_parts(length: int) -> int:
    """The parts of a page of that many characters. It is source after the block with the last of them."""
    return max(70_000, length // 20)


def max_table_rows(columns: int) -> int:
    """The rows of a table in markdown. Those after them are source."""
    return max(1, (MAX_BLOCK_PARTS - 1000) // (2 + 3 * columns))


def count_parts(tokens: Iterable[Token]) -> int:
    """How much is to be laid out of a block: tags and HTML take longer than other tokens."""
    return sum(
        6 if token.type == "platform_tag" else 1 + 3 * token.content.count("<") if token.type == "platform_html" else 1
        for token in tokens
    )


def has_too_many_marks(words: str) -> bool:
    """Whether a paragraph holds more marks than are read."""
    return len(words) > MAX_MARKS and next(islice(_MARK.finditer(words), MAX_MARKS, None), None) is not None


_AT_A_TIME = 10_000


def sanitize(text: str) -> str:
    """`text` made safe to show, with its lines and tabs kept."""
    if len(text) < _AT_A_TIME or text.isascii():
        return safe(text)
    parts, done, start = [], 0, 0
    while start < len(text):
        end = text.find("\n", start + _AT_A_TIME, start + 2 * _AT_A_TIME) + 1 or start + 2 * _AT_A_TIME
        stretch = text[start:end]
        if (kept := safe(stretch)) is not stretch:
            parts += [text[done:start], kept]
            done = end
        start = end
    return "".join([*parts, text[done:]]) if parts else text
