"""Finds the block that an anchor leads to, for checks, link lists and the reader. Start at `anchored_blocks`."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from octavo.api.folding import PLAIN_LETTERS, fold
from octavo.documents.blocks import Block, Document, kinds_with, plain_text

_PUNCTUATION = re.compile(r"['’‘\"“”`*(){}\[\]<>!?,:;=+#@$%^~|\\…]+")
_SEPARATORS = re.compile(r"[^\w.]+")
_LATIN_MARK = re.compile(r"(?<=[a-z])[\u0300-\u036f]+")
_LETTERS = PLAIN_LETTERS | str.maketrans({"ß": "ss", "ð": "d", "þ": "th", "ı": "i"})
"""ASCII replacements of letters in anchors, such as `ss` for `ß`."""
_ROMAN_FORMS = _LETTERS | dict(zip(map(ord, "ёєжїхчшщюя"), re.findall("..", "yoyezhyikhchshshyuya"), strict=True))
"""`_LETTERS`, and Latin letters for Cyrillic letters, as in GitBook. Soft and hard signs become accents to remove."""
_ROMAN_FORMS.update(str.maketrans("абвгґдезийіклмнопрстуфцыэьъ", "abvggdeziiiklmnoprstufcye\u0301\u0301"))
_HANGUL = re.compile("[\u1100-\u11ff]+")
"""Letters of Korean words, which GitBook often leaves out of anchors."""
_UMLAUT = re.compile("(?<=[aou])e")
_WORDS = re.compile(r"[^\W_]+")
_SYLLABLES = re.compile("[\u4e00-\u9fff]|[A-Za-z0-9]+")
_MAX_TITLE = 1_000
"""Maximum number of characters of a title that are used for its anchor."""
_COMPARISON_SIGNS = re.compile(r"(?:less|greater)-than")
_NUMBER_SUFFIX = re.compile(r"-\d+\Z")
_HTML_ID = re.compile(r"""<[a-zA-Z][^<>]{0,1000}?\s(?:id|name)=["']([^"'<>\n]{1,300})["']""")
_ANCHORED_KINDS = kinds_with("titled") | {"api-method"}
_ANCHOR_ATTRIBUTES = ("slug", "title", "summary")
"""Attributes from which the anchor of a block is made, the preferred first."""
_SPECIFIED_KINDS = frozenset({"openapi", "api-method"})
"""Kinds of blocks whose headings come from an API specification and are not on the page."""
_OTHER_FRAGMENTS = (":~:", "user-content-fn")
"""Starts of URL fragments that are no anchors: text fragments (`#:~:text=`) and footnotes."""


def anchor_of_title(title: str) -> str:
    """Return a heading's anchor: lower case, `-` between words, `id-` if a digit is first, no signs but `.` and `_`."""
    joined = _join_words(title, _LETTERS)
    return f"id-{joined}" if joined[:1].isdigit() else joined


def slug_of_title(title: str) -> str:
    """Return a page's slug as GitBook makes it: like an anchor, but without `id-`, and with Latin for Cyrillic letters.
    Empty if the title has no letters and digits."""
    return _join_words(title, _ROMAN_FORMS)


def _join_words(title: str, letters: Mapping[int, int | str]) -> str:
    decomposed = unicodedata.normalize("NFKD", title[:_MAX_TITLE]).lower().replace("&", "and")
    plain = unicodedata.normalize("NFC", _LATIN_MARK.sub("", decomposed)).translate(letters)
    return _SEPARATORS.sub("-", _PUNCTUATION.sub("", _LATIN_MARK.sub("", plain))).strip("-.")


def is_anchor_of(title: str, anchor: str) -> bool:
    """Return whether `anchor` can belong to a heading with `title`. A suffix such as `-2` is ignored."""
    own_anchor = anchor_of_title(" ".join(title.split())) or "section"
    return any(match_anchor(each, [own_anchor]) is not None for each in (anchor, _NUMBER_SUFFIX.sub("", anchor)))


class AnchorAssigner:
    """Assigns unique anchors on one page. The second heading with the anchor `name` gets `name-1`."""

    def __init__(self) -> None:
        self._used_anchors: set[str] = set()
        self._last_numbers: dict[str, int] = {}

    def assign(self, title: str, explicit_anchor: str | None = None) -> str:
        """Reserve and return a unique anchor for a heading, from `explicit_anchor` if given, else from `title`."""
        wanted_anchor = explicit_anchor or anchor_of_title(title) or "section"
        anchor, number = wanted_anchor, self._last_numbers.get(wanted_anchor, 0)
        while anchor in self._used_anchors:
            number += 1
            anchor = f"{wanted_anchor}-{number}"
        self._last_numbers[wanted_anchor] = number
        self._used_anchors.add(anchor)
        return anchor


def match_anchor(link_anchor: str, anchors: Iterable[str]) -> str | None:
    """Return the one of `anchors` that `link_anchor` matches, else None. Case, accents and punctuation may differ."""
    candidates = list(anchors)
    if link_anchor in candidates:
        return link_anchor
    for strictness in (3, 2, 1, 0):
        key = _comparison_key(link_anchor, strictness or 1)  # At 0, only the headings lose their Korean letters.
        matches = (each for each in candidates if _comparison_key(each, strictness) == key)
        if key and (matching_anchor := next(matches, None)) is not None:
            return matching_anchor
    return None


def anchored_blocks(document: Document) -> dict[str, Block]:
    """Return the block of each anchor on a page, by anchor. If an anchor occurs several times, prefer a heading."""
    blocks_by_anchor = {heading.anchor: heading.block for heading in document.headings}
    anchors = AnchorAssigner()
    for block in document.walk():
        if block.kind in _ANCHORED_KINDS and (
            title := next(
                (str(each) for name in _ANCHOR_ATTRIBUTES if (each := block.attrs.get(name))), plain_text(block.runs)
            )
        ):
            blocks_by_anchor.setdefault(anchors.assign(title), block)
    for name, block in _html_ids(document):
        blocks_by_anchor.setdefault(name, block)
    for block in (each.block for each in document.headings if any(run.kind == "image" for run in each.block.runs)):
        words = "".join(run.text for run in block.runs if run.kind != "image")  # GitBook leaves out alt texts.
        blocks_by_anchor.setdefault(anchor_of_title(words) or "section", block)
    return blocks_by_anchor


class PageAnchors(NamedTuple):
    """The anchors of a page or of reusable content."""

    names: tuple[str, ...]
    are_complete: bool
    """True if the page has no further anchors. A page with an API specification, for example, may have more anchors."""


def page_anchors(document: Document) -> PageAnchors:
    """Return the anchors of a page, and whether these are all anchors of the page."""
    are_complete = not any(block.kind in _SPECIFIED_KINDS or block.attrs.get("source") for block in document.walk())
    return PageAnchors(tuple(anchored_blocks(document)), are_complete)


def is_missing_anchor(anchor: str, contents: Iterable[PageAnchors]) -> bool:
    """Return whether `contents`, a page and its reusable content, lacks `anchor`. `name-1` is the second anchor `name`.
    False for incomplete `contents`, and if `anchor` is empty, may be pinyin or begins as in `_OTHER_FRAGMENTS`."""
    contents, assigner = list(contents), AnchorAssigner()
    if not anchor or anchor.startswith(_OTHER_FRAGMENTS) or not all(each.are_complete for each in contents):
        return False
    names = [assigner.assign("", name) for each in contents for name in each.names]
    syllable_counts = {len(_SYLLABLES.findall(name)) for name in names if "\u4e00" <= max(name) < "\ua000"}
    may_be_pinyin = anchor.isascii() and len(_SYLLABLES.findall(anchor)) in syllable_counts
    return not may_be_pinyin and match_anchor(anchor, names) is None


def _html_ids(document: Document) -> Iterator[tuple[str, Block]]:
    """Yield each HTML ID outside code, and the block to which a link to the ID leads."""
    matches = list(_HTML_ID.finditer(document.source))
    blocks_by_line = {line: block for block in document.walk() for line in range(*block.lines)} if matches else {}
    lines = sorted(blocks_by_line)
    line = position = 0
    for match in matches:
        line += document.source.count("\n", position, match.start())
        position = match.start()
        innermost_block = blocks_by_line.get(line)
        if lines and (innermost_block is None or innermost_block.kind != "code" or innermost_block.attrs.get("source")):
            yield match[1], innermost_block or blocks_by_line[lines[min(bisect_left(lines, line), len(lines) - 1)]]


@lru_cache(10_000)  # Cached: each link to a missing heading is compared with all headings.
def _comparison_key(anchor: str, strictness: int) -> str:
    """Return a key that is equal for anchors that match. With the `strictness` 3, the key has all words. With less, it
    lacks the word `and`. With 1, it also lacks the `e` of umlauts, and with 0 all Korean letters."""
    plain = _LATIN_MARK.sub("", unicodedata.normalize("NFKD", fold(anchor).removeprefix("id-").translate(_ROMAN_FORMS)))
    words = _WORDS.findall(plain if strictness == 3 else _COMPARISON_SIGNS.sub("", plain))
    key = "".join(word for word in words if strictness == 3 or word != "and")
    removed_letters = _UMLAUT if strictness == 1 else _HANGUL
    return key if strictness > 1 else removed_letters.sub("", key)
