"""Wrapping of text into lines.

Lines break at spaces, between CJK characters (never before closing or after opening marks), between the syllables of
scripts without spaces, after hyphens in compound words, and inside other words only if they are longer than a line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from itertools import accumulate

from rich.cells import split_graphemes

from octavo.tui.render.styled_lines import Line, Piece, cells, crop, flatten_emoji, width_of
from octavo.tui.render.styles import PLAIN

_CJK = (
    "\u1100-\u115f\u2e80-\u3029\u3030-\u30ff\u3105-\u4dbf\u4e00-\ua4cf\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6"
    "\U0001b000-\U0001b2ff\U00020000-\U0003fffd"
)
_OPENING = "（［｛「『【〔《〈｟“‘(\\[{"
_CLOSING = "、。，．！？：；）］｝」』】〕》〉｠”’ーｰ…‥・々〻ゝゞヽヾぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮヵヶ゛゜%,.!?:;)\\]}"
_MARKS = "\u0300-\u036f\u302a-\u302f\u3099\u309a\ufe00-\ufe0f\u200d"
_SYLLABLES = (
    # Thai and Lao: leading vowels, a consonant, its marks and following vowels, final signs.
    "[\u0e40-\u0e44\u0ec0-\u0ec4]*[\u0e01-\u0e2e\u0e81-\u0eae\u0edc-\u0edf]"
    "[\u0e2f-\u0e3a\u0e45-\u0e4e\u0eaf-\u0ebd\u0ec6-\u0ece]*"
    # Khmer: a consonant or vowel, its subscripts, its marks.
    "|[\u1780-\u17b3](?:\u17d2[\u1780-\u17b3])*[\u17b6-\u17d1\u17d3-\u17dd]*"
    # Burmese: a consonant, its stacked consonants, its marks, and final consonants.
    "|[\u1000-\u102a\u103f](?:\u1039[\u1000-\u102a]|[\u102b-\u1038\u103a-\u103e]|[\u1000-\u102a](?=[\u1039\u103a]))*"
)
_SYLLABIC = "\u0e01-\u0e2e\u0e40-\u0e44\u0e81-\u0eae\u0ec0-\u0ec4\u0edc-\u0edf\u1780-\u17b3\u1000-\u102a\u103f"
_LATIN_WORDS = re.compile(r"[^ ]+ *| +")
_UNSPACED = re.compile(
    "[\u0e01-\u115f\u1780-\u17dd\u2e80-\ud7ff\uf900-\uffef\U00016fe0-\U0001b2ff\U00020000-\U0003fffd]"
)
"""A letter of a script without spaces between words."""
_ITEM = re.compile(r"^ *(?:[•*]|\d{1,3}\.) ", re.MULTILINE)
_WORD_HYPHEN = re.compile(r"(?<=[^\W\d_]{2})[-\u2010\u2013\u2014](?=[^\W\d_]{2})")
_HYPHENATED = re.compile(r"[\"'“‘(]*[^\W\d_]+(?:['’\u2010\u2013\u2014-][^\W\d_]+)+[^\w/@=:\\]*")
"""A compound word with hyphens or dashes. Command line options, file names and URLs are not compound words."""
_BREAK_SIGNS = r"[/\-_.?&=,:;#]+|(?<=[\w)])(?=%[0-9A-Fa-f]{2})"
_SIGN_BREAK = re.compile(_BREAK_SIGNS)
_INNER_BREAK = re.compile(rf"{_BREAK_SIGNS}|(?<=[a-z0-9])(?<!%[0-9a-f])(?=[A-Z(])")
_LOOKAHEAD = 3
"""Number of characters after a possible break that `_last_break` also looks at."""
_NO_BREAK = re.compile(r"(?!)")
_OPAQUE_ID = re.compile(r"(?=(?:[A-Za-z]*[0-9]+[A-Za-z]+){3})[0-9A-Za-z]{16,}")
"""An identifier of letters and digits, which has no meaningful parts."""


def wrap(pieces: Sequence[Piece], width: int) -> list[list[Piece]]:
    """Return styled text wrapped into lines of at most `width` cells. A line feed also ends a line."""
    width = max(1, width)
    text = "".join([piece.text for piece in pieces])
    if "\n" not in text and cells(text) <= width:
        return [list(pieces)] if text else [[]]
    spans: list[tuple[int, int]] = []
    at = 0
    for line in text.split("\n"):
        spans += [(at + start, at + end) for start, end in _line_spans(line, width)]
        at += len(line) + 1
    return _slice_pieces(pieces, spans)


def wrap_items(pieces: Sequence[Piece], width: int) -> list[list[Piece]]:
    """Return text wrapped like `wrap`, with hanging indents for lines that are list items."""
    text = "".join([piece.text for piece in pieces])
    if (cells(text) <= width and "\n" not in text) or not _ITEM.search(text):
        return wrap(pieces, width)
    out: list[list[Piece]] = []
    at = 0
    for line in text.split("\n"):
        part = _slice_pieces(pieces, [(at, at + len(line))])[0]
        at += len(line) + 1
        item = _ITEM.match(line)
        is_icon = not out and line.startswith("*")  # In ASCII, the character of an icon can look like a bullet.
        hang = cells(item.group()) if item is not None and not is_icon else 0
        if not hang or hang > width // 2:
            out += wrap(part, width)
            continue
        first, *rest = wrap(crop(part, hang, cells(line)), width - hang)
        out.append([*crop(part, 0, hang), *first])
        out += [[Piece(" " * hang, PLAIN, None, True), *each] for each in rest]
    return out


def fit_title(title: Sequence[Piece], lines: list[Line], width: int) -> tuple[Sequence[Piece], list[Line]]:
    """Return the title and the lines of a box of `width` cells. A title that does not fit the border becomes the first
    lines."""
    title = [piece._replace(text=flatten_emoji(piece.text)) for piece in title]
    if width_of(title) <= width - 6:
        return title, lines
    return (), [*(Line(row) for row in wrap(title, width - 4)), *lines]


def _word_pattern(text: str) -> re.Pattern[str]:
    """Return the pattern that finds the words of a text: a simple one if words are separated by spaces, as in texts whose
    only wide characters are emoji."""
    return _LATIN_WORDS if text.isascii() or not _UNSPACED.search(text) else _multilingual_words()


@cache
def _multilingual_words() -> re.Pattern[str]:
    # Compiled on first use: compiling takes 3 ms, which would slow down the start.
    return re.compile(
        f"[{_OPENING}]*(?:[{_CJK}][{_MARKS}]*|{_SYLLABLES}|[^ {_CJK}{_OPENING}{_SYLLABIC}]+)[{_CLOSING}{_MARKS}]* *"
        f"|[{_OPENING}]+ *|[{_SYLLABIC}]| +"
    )


def _line_spans(text: str, width: int) -> list[tuple[int, int]]:
    if cells(text) <= width:
        return [(0, len(text))]
    spans: list[tuple[int, int]] = []
    start = end = used = 0
    for match in _word_pattern(text).finditer(text):
        word = match.group()
        bare = word.rstrip(" ")
        wide = cells(bare)
        if used + wide > width:
            head = _hyphenated_head(bare, width - used)
            if head or end > start:
                spans.append((start, match.start() + head if head else end))
            start = rest = match.start() + head
            used = 0
            for piece_end in _split_long_word(bare[head:], width) if cells(bare[head:]) > width else ():
                spans.append((start, rest + piece_end))
                start = rest + piece_end
            wide = cells(text[start : match.start() + len(bare)])
        if bare:
            end = match.start() + len(bare)
        used += wide + len(word) - len(bare)
    if end > start or not spans:
        spans.append((start, max(start, end)))
    return spans


def _hyphenated_head(word: str, available_width: int) -> int:
    """Return the length of the part of a compound word, up to a hyphen, that fits `available_width` cells."""
    if not _WORD_HYPHEN.search(word) or not _HYPHENATED.fullmatch(word):
        return 0
    return max(
        (match.end() for match in _WORD_HYPHEN.finditer(word) if cells(word[: match.end()]) <= available_width),
        default=0,
    )


def _split_long_word(word: str, width: int) -> list[int]:
    """Return the indexes at which to break a word that is longer than a line: after punctuation or before capital
    letters, else where a line is full."""
    if word.isascii():
        edges: Sequence[int] = range(len(word) + 1)
        ends = edges
    else:
        graphemes, _ = split_graphemes(word)
        ends = [0, *(end for _, end, _ in graphemes)]
        edges = [0, *accumulate(size for _, _, size in graphemes)]
    breaks = _NO_BREAK if _OPAQUE_ID.fullmatch(word) else _INNER_BREAK
    out: list[int] = []
    first = 0
    while edges[-1] - edges[first] > width:
        last = first + 1
        while last + 1 < len(edges) and edges[last + 1] - edges[first] <= width:
            last += 1
        start, full = ends[first], ends[last]
        signs = _SIGN_BREAK if breaks is _INNER_BREAK else breaks
        at = _last_break(signs, word, start, full)
        if at <= (full - start) // 3 or cells(signs.split(word[start + at :], maxsplit=1)[0]) >= width:
            at = _last_break(breaks, word, start, full)
        rest = breaks.split(word[start + at :], maxsplit=1)[0]
        if at > (full - start) // 3 or (at > 1 and cells(rest) < width):
            last = next((index for index in range(first + 1, last + 1) if ends[index] == start + at), last)
        out.append(ends[last])
        first = last
    return out


def _last_break(breaks: re.Pattern[str], word: str, start: int, end: int) -> int:
    """Return the distance from `start` to the last break of a word before `end`. 0 if there is none."""
    size = end - start
    found = breaks.finditer(word[start : end + _LOOKAHEAD])
    return max((min(each.end(), size) for each in found if each.start() < size or each.end() == size), default=0)


def _slice_pieces(pieces: Sequence[Piece], spans: Sequence[tuple[int, int]]) -> list[list[Piece]]:
    out: list[list[Piece]] = []
    index = begin = 0
    for start, end in spans:
        line: list[Piece] = []
        while index < len(pieces) and begin + len(pieces[index].text) <= start:
            begin += len(pieces[index].text)
            index += 1
        at, offset = index, begin
        while at < len(pieces) and offset < end:
            piece = pieces[at]
            text = piece.text[max(0, start - offset) : end - offset]
            if text:
                line.append(piece if text == piece.text else piece._replace(text=text))
            offset += len(piece.text)
            at += 1
        out.append(line)
    return out
