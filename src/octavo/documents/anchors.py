"""Computes the anchors of headings. An anchor is the fragment of a URL that links to a heading."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from octavo.api.folding import fold
from octavo.documents.blocks import Heading

_PUNCTUATION = re.compile(r"['’‘\"“”`*(){}\[\]<>!?,:;=+#@$%^~|\\…]+")
_SEPARATORS = re.compile(r"[^\w.]+")
_LATIN_MARK = re.compile(r"(?<=[a-z])[\u0300-\u036f]+")
_WORDS = re.compile(r"[^\W_]+")
_MAX_TITLE = 1_000
"""Maximum number of characters of a title that are used for its anchor."""
_COMPARISON_SIGNS = re.compile(r"(?:less|greater)-than")
_NUMBER_SUFFIX = re.compile(r"-\d+\Z")


def slug(title: str) -> str:
    """Return the anchor of a heading: lower case, hyphens between words, `id-` before a digit, no punctuation."""
    decomposed = unicodedata.normalize("NFKD", title[:_MAX_TITLE]).lower().replace("&", "and")
    plain = unicodedata.normalize("NFC", _LATIN_MARK.sub("", decomposed))
    joined = _SEPARATORS.sub("-", _PUNCTUATION.sub("", plain)).strip("-.")
    return f"id-{joined}" if joined[:1].isdigit() else joined


def is_anchor_of(title: str, anchor: str) -> bool:
    """Return whether `anchor` can belong to a heading with `title`. A suffix such as `-2` is ignored, because several
    headings may have the same title."""
    own_anchor = slug(" ".join(title.split())) or "section"
    return any(match_anchor(each, [own_anchor]) is not None for each in (anchor, _NUMBER_SUFFIX.sub("", anchor)))


class Anchors:
    """Assigns unique anchors on one page. The second heading with the anchor `name` gets `name-1`, the third
    `name-2`."""

    def __init__(self) -> None:
        self._used: set[str] = set()
        self._next: dict[str, int] = {}

    def assign(self, title: str, explicit: str | None = None) -> str:
        """Return a unique anchor for a heading: `explicit`, or an anchor made from the title."""
        wanted = explicit or slug(title) or "section"
        anchor, number = wanted, self._next.get(wanted, 0)
        while anchor in self._used:
            number += 1
            anchor = f"{wanted}-{number}"
        self._next[wanted] = number
        self._used.add(anchor)
        return anchor


def match_anchor(wanted: str, anchors: Iterable[str]) -> str | None:
    """Return the anchor that a link to `wanted` leads to. None if no anchor matches.

    An identical anchor is preferred. The second choice is an anchor that differs only in punctuation, case and accents.
    The last choice may also differ in the words for `&`, `<` and `>`, which some programs write and others leave out.
    """
    candidates = list(anchors)
    if wanted in candidates:
        return wanted
    for without_signs in (False, True):
        if key := _comparison_key(wanted, without_signs=without_signs):
            alike = (anchor for anchor in candidates if _comparison_key(anchor, without_signs=without_signs) == key)
            if (found := next(alike, None)) is not None:
                return found
    return None


def find_heading(wanted: str, headings: Iterable[Heading]) -> Heading | None:
    """Return the heading that a link to `wanted` leads to, according to `match_anchor`. None if no heading matches."""
    by_anchor: dict[str, Heading] = {}
    for heading in headings:
        by_anchor.setdefault(heading.anchor, heading)
    found = match_anchor(wanted, by_anchor)
    return by_anchor[found] if found is not None else None


def _comparison_key(anchor: str, *, without_signs: bool) -> str:
    """Return the letters and digits of an anchor, without case and accents. With `without_signs`, the words for `&`,
    `<` and `>` are left out too."""
    plain = _LATIN_MARK.sub("", unicodedata.normalize("NFKD", fold(anchor).removeprefix("id-")))
    words = _WORDS.findall(_COMPARISON_SIGNS.sub("", plain) if without_signs else plain)
    return "".join(word for word in words if not (without_signs and word == "and"))
