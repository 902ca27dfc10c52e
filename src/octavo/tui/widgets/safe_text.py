"""Text for widgets that draw lines: made safe, cut and spread by cells, never read as markup."""

from __future__ import annotations

from collections.abc import Iterable

from textual.content import Content
from textual.style import Style

from octavo.api.folding import FoldedText
from octavo.api.safety import text as safe_text

Words = str | Content
"""A `str` is shown as it is. A `Content` brings styles: names of theme variables such as `$octavo-note`."""

_BREAKS = str.maketrans({"\n": " ", "\t": " "})


def safe(words: Words) -> Content:
    """`words` as one line that sends nothing to the terminal but itself. Unsafe content loses its styles."""
    plain = words if isinstance(words, str) else words.plain
    if plain.isascii() and plain.isprintable():
        return Content(words) if isinstance(words, str) else words
    clean = safe_text(plain).translate(_BREAKS)
    if isinstance(words, Content) and clean == plain:
        return words
    return Content(clean)


def safe_lines(words: Words) -> Content:
    """`words` made safe as `safe` does, with its line ends kept."""
    plain = words if isinstance(words, str) else words.plain
    clean = safe_text(plain)
    return words if isinstance(words, Content) and clean == plain else Content(clean)


def fit(content: Content, width: int, *, right: bool = False) -> Content:
    """`content` in exactly `width` cells: cut with an ellipsis, or filled up at its free end."""
    if width <= 0:
        return Content("")
    missing = width - content.cell_length
    if missing < 0:
        return content.truncate(width, ellipsis=True)
    return content.pad_left(missing) if right else content.pad_right(missing)


def spread(left: Content, right: Content, width: int) -> Content:
    """`left` and `right` at the two ends of `width` cells. The left gives way, but keeps a third of the width."""
    if not right:
        return fit(left, width)
    room = max(width - right.cell_length - 1, min(left.cell_length, width // 3))
    return fit(fit(left, room) + Content(" ") + right, width)


def marked(content: Content, words: Iterable[str], style: str | Style) -> Content:
    """`content` with every place one of `words` (folded) stands in it in `style`."""
    folded = FoldedText(content.plain)
    for word in words:
        for start, end in folded.find(word) if word else ():
            content = content.stylize(style, start, end)
    return content


def joined(pieces: Iterable[Words], between: str = " · ") -> Content:
    """The pieces that say anything, with `between` between them."""
    return Content(between).join([safe(piece) for piece in pieces if piece])
