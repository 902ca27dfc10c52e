"""What a terminal shows, as an SVG picture in which every cell stands where a terminal puts it.

Text is drawn with whatever monospaced font the reader has, stretched to its cells; lines, corners and blocks are drawn
as shapes, so that they meet in any font. Wide characters get two cells each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from rich.cells import cell_len
from rich.color import ColorType
from rich.style import Style
from textual.strip import Strip

WIDTH, HEIGHT = 8.4, 18.0
"""Of a cell."""
MARGIN = 10.0
FONT = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"

_ARMS = {
    # which ways the lines of a character go: left, right, up, down; 2 is a heavy line
    "─": "1100",
    "━": "2200",
    "│": "0011",
    "┃": "0022",
    "╌": "1100",
    "┄": "1100",
    "┊": "0011",
    "┆": "0011",
    "┌": "0101",
    "┐": "1001",
    "└": "0110",
    "┘": "1010",
    "╭": "0101",
    "╮": "1001",
    "╰": "0110",
    "╯": "1010",
    "├": "0111",
    "┤": "1011",
    "┬": "1101",
    "┴": "1110",
    "┼": "1111",
    "╴": "1000",
    "╶": "0100",
    "╵": "0010",
    "╷": "0001",
    "┏": "0202",
    "┓": "2002",
    "┗": "0220",
    "┛": "2020",
    "╞": "0111",
    "╡": "1011",
}
_WORDS = re.compile(r"\S+(?: \S+)*")
_DASHED = {"╌", "┄", "┊", "┆"}
_ROUND = {"╭", "╮", "╰", "╯"}
_BLOCKS = {
    # the part of the cell that is full: x, y, width, height
    **{chr(0x2580 + n): (0.0, 1 - n / 8, 1.0, n / 8) for n in range(1, 9)},
    **{chr(0x2590 - n): (0.0, 0.0, n / 8, 1.0) for n in range(1, 8)},
    "▀": (0.0, 0.0, 1.0, 0.5),
    "▐": (0.5, 0.0, 0.5, 1.0),
    "▔": (0.0, 0.0, 1.0, 0.125),
    "▕": (0.875, 0.0, 0.125, 1.0),
}


@dataclass(frozen=True)
class Ink:
    """How text is drawn."""

    color: str
    ground: str
    bold: bool
    italic: bool
    underline: bool
    strike: bool

    def attributes(self) -> str:
        """As those of an SVG text."""
        lines = " ".join(name for name, on in (("underline", self.underline), ("line-through", self.strike)) if on)
        said = [
            f'fill="{self.color}"',
            'font-weight="700"' if self.bold else "",
            'font-style="italic"' if self.italic else "",
        ]
        return " ".join([*(each for each in said if each), *([f'text-decoration="{lines}"'] if lines else [])])


def picture(strips: Sequence[Strip], title: str, *, color: str, ground: str) -> str:
    """The SVG of a screen. `color` and `ground` are what the terminal has for text that has none of its own."""
    columns = max(strip.cell_length for strip in strips)
    width, height = columns * WIDTH + 2 * MARGIN, len(strips) * HEIGHT + 2 * MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{width:g}" height="{height:g}" rx="8" fill="{ground}"/>',
        f'<g transform="translate({MARGIN:g} {MARGIN:g})" font-family="{FONT}" font-size="14">',
    ]
    for row, strip in enumerate(strips):
        parts += _row(strip, row * HEIGHT, color, ground)
    return "\n".join([*parts, "</g>", "</svg>", ""])


def _row(strip: Strip, y: float, color: str, ground: str) -> Iterator[str]:
    pieces = [(text, _ink(style or Style.null(), color, ground)) for text, style, control in strip if not control]
    yield from _grounds(pieces, y, ground)
    column = 0
    for text, ink in pieces:
        for piece, start, cells in _split(text):
            yield from _drawn(piece, cells, (column + start) * WIDTH, y, ink)
        column += cell_len(text)


def _grounds(pieces: list[tuple[str, Ink]], y: float, ground: str) -> Iterator[str]:
    """What lies behind the text, neighbours of one colour in one piece."""
    column, start, last = 0, 0, ground
    for text, each in [*((text, ink.ground) for text, ink in pieces), ("", "")]:
        if each != last:
            if last != ground and column > start:
                yield _rectangle(start * WIDTH, y, (column - start) * WIDTH, HEIGHT, last)
            start, last = column, each
        column += cell_len(text)


def _split(text: str) -> Iterator[tuple[str, int, int]]:
    """Pieces to be drawn each for itself, with where they begin and how many cells they take.

    Words of narrow characters stay together; wide characters and shapes stand alone. Blanks at the ends of a piece
    would be lost, so there are none.
    """
    column, run = 0, ""
    for cluster in [*_clusters(text), ""]:
        cells = cell_len(cluster)
        if cluster and cluster.isascii() and cells == 1:
            run += cluster
        else:
            for words in _WORDS.finditer(run):
                yield words[0], column - len(run) + words.start(), len(words[0])
            run = ""
            if cluster.strip():
                yield cluster, column, cells
        column += cells


def _clusters(text: str) -> Iterator[str]:
    """Characters with what is put on top of them or joined to them."""
    cluster = ""
    for character in text:
        if cluster and (cell_len(character) == 0 or cluster.endswith("\u200d")):
            cluster += character
            continue
        if cluster:
            yield cluster
        cluster = character
    if cluster:
        yield cluster


def _drawn(piece: str, cells: int, x: float, y: float, ink: Ink) -> Iterator[str]:
    if piece in _BLOCKS:
        left, top, width, height = _BLOCKS[piece]
        yield _rectangle(x + left * WIDTH, y + top * HEIGHT, width * WIDTH, height * HEIGHT, ink.color)
    elif piece in _ARMS:
        yield _lines(piece, x, y, ink.color)
    else:
        stretched = (
            f' textLength="{cells * WIDTH:g}" lengthAdjust="spacingAndGlyphs"' if cells > 1 and piece.isascii() else ""
        )
        # Another font may draw it wider or narrower than its cells: it stands in their middle.
        at, anchor = (x, "") if piece.isascii() else (x + cells * WIDTH / 2, ' text-anchor="middle"')
        size = ' font-size="13"' if not piece.isascii() and cells > 1 else ""
        yield f'<text x="{at:g}" y="{y + HEIGHT * 0.74:g}"{anchor}{size}{stretched} {ink.attributes()}>{escape(piece)}</text>'


def _lines(character: str, x: float, y: float, color: str) -> str:
    left, right, up, down = (int(arm) for arm in _ARMS[character])
    middle, centre = x + WIDTH / 2, y + HEIGHT / 2
    width = 2.2 if 2 in (left, right, up, down) else 1.0
    if character in _ROUND:
        side, end = (x if left else x + WIDTH), (y if up else y + HEIGHT)
        path = f"M{side:g} {centre:g}Q{middle:g} {centre:g} {middle:g} {end:g}"
    else:
        # A little further than the cell: lines that only just meet are drawn with a gap.
        ends = [(x - 0.3, centre, left), (x + WIDTH + 0.3, centre, right)]
        ends += [(middle, y - 0.3, up), (middle, y + HEIGHT + 0.3, down)]
        path = "".join(f"M{middle:g} {centre:g}L{to:g} {at:g}" for to, at, arm in ends if arm)
    dashes = ' stroke-dasharray="3 2"' if character in _DASHED else ""
    return f'<path d="{path}" stroke="{color}" stroke-width="{width:g}" fill="none"{dashes}/>'


def _rectangle(x: float, y: float, width: float, height: float, color: str) -> str:
    return f'<rect x="{x:g}" y="{y:g}" width="{width:.2f}" height="{height:g}" fill="{color}" shape-rendering="crispEdges"/>'


def _ink(style: Style, color: str, ground: str) -> Ink:
    own, behind = _hex(style, "color") or color, _hex(style, "bgcolor") or ground
    if style.reverse:
        own, behind = behind, own
    return Ink(own, behind, bool(style.bold), bool(style.italic), bool(style.underline), bool(style.strike))


def _hex(style: Style, which: str) -> str:
    color = style.color if which == "color" else style.bgcolor
    return "" if color is None or color.type is ColorType.DEFAULT else color.get_truecolor().hex
