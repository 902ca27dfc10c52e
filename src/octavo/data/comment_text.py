"""What the markdown of a comment says: its words as a list shows them, and whom it names. Pure."""

from __future__ import annotations

import re
from urllib.parse import quote

_MARKED = re.compile(r"(\*{1,2}|`)(?=\S)([^*`\n]{1,300})(?<=\S)\1")
_QUOTE = re.compile(r"^\s*(?:> ?)+")
_LINK = re.compile(r"\[([^\[\]\n]{1,200})\]\([^()\s]{1,500}\)")


def mention_suffix(person: str) -> str:
    """What a mention of a person ends with."""
    return f"](/users/{quote(person, safe=':@.+')})"


def mentions(markdown: str, me: str) -> bool:
    """Whether a text names somebody, as the composer writes it: a link to the person."""
    return bool(me) and mention_suffix(me) in markdown


def plain_text(markdown: str) -> str:
    """The words of a comment as a list shows them: in one line, links without their addresses, no marks of emphasis and
    quotation, and dots where lines of code end."""
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
