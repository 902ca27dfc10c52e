"""Reads the Markdown of comments: as one line for lists, and for mentions of a user. Pure."""

from __future__ import annotations

import re
from urllib.parse import quote

_MARKED = re.compile(r"(\*{1,2}|`)(?=\S)([^*`\n]{1,300})(?<=\S)\1")
_QUOTE = re.compile(r"^\s*(?:> ?)+")
_LINK = re.compile(r"\[([^\[\]\n]{1,200})\]\([^()\s]{1,500}\)")


def mention_suffix(person: str) -> str:
    """Return the second half of the Markdown link that mentions a person: `](/users/ID)`."""
    return f"](/users/{quote(person, safe=':@.+')})"


def mentions(markdown: str, me: str) -> bool:
    """Return True if a text mentions the user `me`, as the composer writes a mention."""
    return bool(me) and mention_suffix(me) in markdown


def plain_text(markdown: str) -> str:
    """Return a comment as one line of text, without URLs and Markdown syntax. A middle dot separates lines of code."""
    said: list[str] = []
    in_code = goes_on = False
    for row in markdown.split("\n"):
        words = _QUOTE.sub("", row).strip()
        if words.startswith(("```", "~~~")):
            in_code, goes_on = not in_code, False
        elif words:
            said += ["·", words] if goes_on else [words]
            goes_on = in_code
    return " ".join(_MARKED.sub(r"\2", _LINK.sub(r"\1", " ".join(said))).split())
