"""The words a comment is about, where it is written and in what is sent."""

from __future__ import annotations

import re
from textwrap import dedent

from octavo.documents.suggestions import fence

_CHARACTERS = 240
_QUOTE = re.compile(r" {0,3}> ?")
_QUOTED = re.compile(r"^ {0,3}>", re.MULTILINE)
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_BLOCK = re.compile(r"\s{0,3}(?:#{1,6}\s|[-*+]\s|\d+[.)]\s|[>|=]|-{3}|\{%|<)")
"""How a line begins that goes on no paragraph."""


def excerpt_of(text: str) -> str:
    """The beginning of what is written about, in the lines it has."""
    lines = "\n".join(line.rstrip() for line in dedent(text).split("\n") if line.strip())
    return lines if len(lines) <= _CHARACTERS else lines[: _CHARACTERS - 1] + "…"


def quoted(text: str, *, is_code: bool) -> str:
    """Markdown that quotes the beginning of a text, in the lines it has."""
    beginning = excerpt_of(text)
    source = fence(beginning) if is_code else beginning.replace("\n", "\\\n")
    return "\n".join(f"> {line}" for line in source.split("\n"))


def lines_kept(markdown: str) -> str:
    """A comment in which quoted lines stay lines: who quotes code seldom puts a fence around it."""
    if not _QUOTED.search(markdown):
        return markdown
    rows = markdown.split("\n")
    fenced_by, goes_on = "", False
    for at, row in enumerate(rows):
        quote = _QUOTE.match(row)
        said = row[quote.end() :] if quote else ""
        if fence_here := _FENCE.match(said):
            fenced_by = "" if fenced_by and fence_here[1].startswith(fenced_by) else fenced_by or fence_here[1]
        is_code = bool(fenced_by or fence_here) or (said.startswith("    ") and not goes_on)
        fenced_by = fenced_by if quote else ""
        goes_on = bool(said.strip()) and not is_code and not _BLOCK.match(said)
        following = _QUOTE.match(rows[at + 1]) if at + 1 < len(rows) else None
        below = rows[at + 1][following.end() :] if following else ""
        if (
            goes_on
            and below.strip()
            and not (_BLOCK.match(below) or _FENCE.match(below) or said.endswith(("\\", "  ")))
        ):
            rows[at] += "\\"
    return "\n".join(rows)
