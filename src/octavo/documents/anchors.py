"""Anchors: the names by which links point to headings."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Protocol, TypeVar

from octavo.api.folding import fold

_DROPPED = re.compile(r"['’‘\"“”`*(){}\[\]<>!?,:;=+#@$%^~|\\…]+")
_JOINED = re.compile(r"[^\w.]+")
_LATIN_MARK = re.compile(r"(?<=[a-z])[\u0300-\u036f]+")
_WORDS = re.compile(r"[^\W_]+")
_LONGEST = 1_000
"""Characters of a title that become its anchor."""
_REPEATED = re.compile(r"-\d+\Z")


class HasAnchor(Protocol):
    """A heading, or anything else that a link can name."""

    @property
    def anchor(self) -> str: ...


Heading = TypeVar("Heading", bound=HasAnchor)


def slug(title: str) -> str:
    """Return the anchor of a heading: lower case, `&` as `and`, no punctuation, hyphens between words, `id-` before a digit."""
    decomposed = unicodedata.normalize("NFKD", title[:_LONGEST]).lower().replace("&", "and")
    plain = unicodedata.normalize("NFC", _LATIN_MARK.sub("", decomposed))
    joined = _JOINED.sub("-", _DROPPED.sub("", plain)).strip("-.")
    return f"id-{joined}" if joined[:1].isdigit() else joined


def is_anchor_of(title: str, anchor: str) -> bool:
    """Whether `anchor` is one that a heading with `title` is given, whatever other headings the page has."""
    own = slug(" ".join(title.split())) or "section"
    return any(match_anchor(each, [own]) is not None for each in (anchor, _REPEATED.sub("", anchor)))


class Anchors:
    """The anchors given out on one page: the second of a name is `name-1`, the third `name-2`."""

    def __init__(self) -> None:
        self._given: set[str] = set()
        self._next: dict[str, int] = {}

    def take(self, title: str, own: str | None = None) -> str:
        """Return an anchor for a heading: its `own` if it has one, or else a new one from its title."""
        wanted = own or slug(title) or "section"
        anchor, number = wanted, self._next.get(wanted, 0)
        while anchor in self._given:
            number += 1
            anchor = f"{wanted}-{number}"
        self._next[wanted] = number
        self._given.add(anchor)
        return anchor


def match_anchor(wanted: str, anchors: Iterable[str]) -> str | None:
    """Return the anchor that a link to `wanted` leads to, or None if there is none.

    The same anchor comes first, then one that differs in punctuation, case and accents, then one that also differs in the
    word `and`, which some programs write for `&` and others leave out.
    """
    known = list(anchors)
    if wanted in known:
        return wanted
    for without_and in (False, True):
        if key := _comparison_key(wanted, without_and=without_and):
            alike = (anchor for anchor in known if _comparison_key(anchor, without_and=without_and) == key)
            if (found := next(alike, None)) is not None:
                return found
    return None


def find_heading(wanted: str, headings: Iterable[Heading]) -> Heading | None:
    """Return the first heading that a link to `wanted` leads to, as `match` has it."""
    by_anchor: dict[str, Heading] = {}
    for heading in headings:
        by_anchor.setdefault(heading.anchor, heading)
    found = match_anchor(wanted, by_anchor)
    return by_anchor[found] if found is not None else None


def _comparison_key(anchor: str, *, without_and: bool) -> str:
    """Return the letters and digits of an anchor, in the form in which anchors are compared."""
    plain = _LATIN_MARK.sub("", unicodedata.normalize("NFKD", fold(anchor).removeprefix("id-")))
    return "".join(word for word in _WORDS.findall(plain) if not (without_and and word == "and"))
