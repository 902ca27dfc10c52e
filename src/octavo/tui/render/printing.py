"""A page as text for a terminal, without the app."""

from __future__ import annotations

from rich.color import ColorSystem
from rich.style import Style

from octavo.documents.blocks import Document
from octavo.tui.render.layout import lay_out
from octavo.tui.render.styled_lines import Line
from octavo.tui.render.styles import ASCII, UNICODE, Styles

MARGIN, WIDEST = 2, 110
"""Columns at the left and the right, and columns of the widest text."""


def print_document(document: Document, columns: int, *, colors: bool, ascii: bool = False) -> str:
    """Return a page for a terminal with so many columns. Without `colors` it has only bold and underline."""
    styles = _terminal_styles(ascii=ascii) if colors else Styles.plain(ascii=ascii)
    lines = lay_out(document.blocks, min(columns - 2 * MARGIN, WIDEST), styles, source=document.source).lines
    return "".join(f"{_terminal_line(line)}\n" for line in [Line([]), *lines, Line([])])


def _terminal_styles(*, ascii: bool) -> Styles:
    """Return styles without backgrounds: the background of the terminal may be dark or light."""
    cyan, dim = Style(color="cyan"), Style(dim=True)
    return Styles(
        muted=dim,
        line=dim,
        accent=cyan,
        success=Style(color="green"),
        warning=Style(color="yellow"),
        error=Style(color="red"),
        note=Style(color="magenta"),
        panel=cyan,
        glyphs=ASCII if ascii else UNICODE,
    )


def _terminal_line(line: Line) -> str:
    text = "".join(piece.style.render(piece.text, color_system=ColorSystem.STANDARD) for piece in line.pieces)
    return f"{' ' * MARGIN}{text}".rstrip(" ")
