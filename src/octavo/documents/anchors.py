"""The names that headings are linked by."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from octavo.api.folding import fold

_DROPPED = re.compile(r"['’‘\"“”`*(){}\[\]<>!?,:;&=+#@$%^~|\\…]+")
_JOINED = re.compile(r"[^\w.]+")
_LATIN_MARK = re.compile(r"(?<=[a-z])[\u0300-\u036f]+")
_LOOSE = re.compile(r"[\W_]+")
_LONGEST = 1_000
"""Characters of a title that are looked at for its name."""


def slug(title: str) -> str:
    """The anchor of a heading: lower case, without punctuation, words joined by hyphens, `id-` before a digit."""
    decomposed = unicodedata.normalize("NFKD", title[:_LONGEST]).lower()
    plain = unicodedata.normalize("NFC", _LATIN_MARK.sub("", decomposed))
    joined = _JOINED.sub("-", _DROPPED.sub("", plain)).strip("-.")
    return f"id-{joined}" if joined[:1].isdigit() else joined


def follows(title: str, anchor: str) -> bool:
    """Whether an anchor is one that is given to a title, whatever else is on the page."""
    own = slug(" ".join(title.split())) or "section"
    return anchor == own or (anchor.startswith(f"{own}-") and anchor[len(own) + 1 :].isdecimal())


class Anchors:
    """The anchors given out on one page: the second of a name is `name-1`, the third `name-2`."""

    def __init__(self) -> None:
        self._given: set[str] = set()
        self._next: dict[str, int] = {}

    def take(self, title: str, own: str | None = None) -> str:
        """An anchor for a heading: its `own` if it has one, or else a new one from its title."""
        wanted = own or slug(title) or "section"
        anchor, number = wanted, self._next.get(wanted, 0)
        while anchor in self._given:
            number += 1
            anchor = f"{wanted}-{number}"
        self._next[wanted] = number
        self._given.add(anchor)
        return anchor


def match(wanted: str, anchors: Iterable[str]) -> str | None:
    """The anchor that a link to `wanted` leads to: that very one, or else one that differs in punctuation only."""
    known = list(anchors)
    if wanted in known:
        return wanted
    loose = _loose(wanted)
    return next((anchor for anchor in known if _loose(anchor) == loose), None) if loose else None


def _loose(anchor: str) -> str:
    return _LOOSE.sub("", fold(anchor).removeprefix("id-"))
