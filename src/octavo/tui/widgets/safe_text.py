"""Text for widgets that draw lines: without control characters, cut and padded to a width in cells."""

from __future__ import annotations

from collections.abc import Iterable

from textual.content import Content
from textual.style import Style

from octavo.api.folding import FoldedText
from octavo.api.safety import text as safe_text

AnyText = str | Content
"""A `str` is shown as it is. A `Content` has styles, which use theme variables such as `$octavo-note`."""

_LINE_BREAKS = str.maketrans({"\n": " ", "\t": " "})


def safe(words: AnyText) -> Content:
    """Return `words` as one line without control characters. A `Content` that had any loses its styles."""
    plain = words if isinstance(words, str) else words.plain
    if plain.isascii() and plain.isprintable():
        return Content(words) if isinstance(words, str) else words
    clean = safe_text(plain).translate(_LINE_BREAKS)
    if isinstance(words, Content) and clean == plain:
        return words
    return Content(clean)


def safe_lines(words: AnyText) -> Content:
    """Return `words` without control characters. Line breaks stay."""
    plain = words if isinstance(words, str) else words.plain
    clean = safe_text(plain)
    return words if isinstance(words, Content) and clean == plain else Content(clean)


def fit(content: Content, width: int, *, right: bool = False) -> Content:
    """Return `content` in exactly `width` cells: cut with an ellipsis, or padded with spaces."""
    if width <= 0:
        return Content("")
    missing = width - content.cell_length
    if missing < 0:
        return content.truncate(width, ellipsis=True)
    return content.pad_left(missing) if right else content.pad_right(missing)


def spread(left: Content, right: Content, width: int) -> Content:
    """Return a line with `left` and `right` at its ends. A long `left` is cut, but not below a third of `width`."""
    if not right:
        return fit(left, width)
    room = max(width - right.cell_length - 1, min(left.cell_length, width // 3))
    return fit(fit(left, room) + Content(" ") + right, width)


def highlight(content: Content, words: Iterable[str], style: str | Style) -> Content:
    """Return `content` with every occurrence of the folded `words` in `style`."""
    folded = FoldedText(content.plain)
    for word in words:
        for start, end in folded.find(word) if word else ():
            content = content.stylize(style, start, end)
    return content


def join_texts(pieces: Iterable[AnyText], between: str = " · ") -> Content:
    """Join the pieces that are not empty."""
    return Content(between).join([safe(piece) for piece in pieces if piece])
