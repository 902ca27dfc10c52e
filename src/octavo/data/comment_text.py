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
    parts: list[str] = []
    in_code = follows_code = False
    for line in markdown.split("\n"):
        text = _QUOTE.sub("", line).strip()
        if text.startswith(("```", "~~~")):
            in_code, follows_code = not in_code, False
        elif text:
            parts += ["·", text] if follows_code else [text]
            follows_code = in_code
    return " ".join(_MARKED.sub(r"\2", _LINK.sub(r"\1", " ".join(parts))).split())
