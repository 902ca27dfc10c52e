"""Prints pages and diffs as text for a terminal or a pipe, without the app."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.color import ColorSystem
from rich.style import Style

from octavo.documents.blocks import Block, Document
from octavo.tui.render.comparison import PageComparison
from octavo.tui.render.diff_chunks import ContextSize
from octavo.tui.render.diff_lines import render_diff_chunk
from octavo.tui.render.diff_sequence import build_diff
from octavo.tui.render.diff_sides import SideWidths
from octavo.tui.render.layout import lay_out, render_block
from octavo.tui.render.layout_context import LayoutContext, ViewState
from octavo.tui.render.styled_lines import Line
from octavo.tui.render.styles import ASCII, UNICODE, Styles

MARGIN = 2
"""Width in cells of the left margin, and of the right margin."""
MAX_TEXT_WIDTH = 110
"""Maximum width of the text in cells."""


def document_as_text(
    document: Document, columns: int, *, colors: bool, ascii: bool = False, has_escapes: bool = True
) -> str:
    """Return a page as text for a terminal of `columns` cells. Everything is expanded, all tabs are shown, and code is
    wrapped. Without `colors`, text has only styles such as bold. Without `has_escapes`, text has no styles at all."""
    styles = _terminal_styles(ascii=ascii) if colors else Styles.plain(ascii=ascii)
    width, keys = min(columns - 2 * MARGIN, MAX_TEXT_WIDTH), (each.key for each in document.walk())
    view_state = ViewState(expanded=dict.fromkeys(keys, True))
    lines = lay_out(tuple(_printable_blocks(document.blocks)), width, styles, view_state, source=document.source)
    return _text_of([Line([]), *lines, Line([])], has_escapes=has_escapes)


def _printable_blocks(blocks: Iterable[Block]) -> Iterator[Block]:
    """Yield the blocks for printing: each tab is in a separate `tabs` block, and code is wrapped."""
    for block in blocks:
        children = tuple(_printable_blocks(block.children))
        for group in [(tab,) for tab in children] if block.kind == "tabs" else [children]:
            yield _with_wrapped_code(block)._replace(children=group)


def diff_as_text(comparison: PageComparison, columns: int, context: int, *, colors: bool, ascii: bool = False) -> str:
    """Return the changes of a page as text for a terminal of `columns` cells, with `context` unchanged blocks around
    each change. Changed blocks are expanded, and code is wrapped. Without `colors`, text has only styles such as bold. Empty if nothing changed."""
    styles = _terminal_styles(ascii=ascii) if colors else Styles.plain(ascii=ascii)
    side_widths = SideWidths.for_width(min(columns - MARGIN, MAX_TEXT_WIDTH), split=False)
    keys = (block.key for page in (comparison.old, comparison.new) for block in page.walk())
    layout = LayoutContext(styles, ViewState(expanded=dict.fromkeys(keys, True)), _render_with_wrapped_code)
    chunks = build_diff(comparison.diff, ContextSize(min(context, ContextSize.STEPS[-1])), {})
    # The label of a collapsed chunk also names the key that expands it.
    printed_chunks = (each._replace(kind="label") if each.kind == "collapsed" else each for each in chunks.build())
    lines = [line for chunk in printed_chunks for line in render_diff_chunk(layout, chunk, side_widths)]
    return _text_of(lines, has_escapes=True)


def _render_with_wrapped_code(context: LayoutContext, block: Block, width: int) -> list[Line]:
    return render_block(context, _with_wrapped_code(block), width)


def _with_wrapped_code(block: Block) -> Block:
    return block._replace(attrs={**block.attrs, "wrap": True}) if block.kind == "code" else block


def _text_of(lines: Iterable[Line], *, has_escapes: bool) -> str:
    return "".join(f"{_terminal_line(line, has_escapes=has_escapes)}\n" for line in lines)


def _terminal_styles(*, ascii: bool) -> Styles:
    """Return styles with the 16 colors of the terminal and no backgrounds, to fit dark and light terminals."""
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
        add_word=Style(color="green", underline=True),
        remove_word=Style(color="red", strike=True),
        glyphs=ASCII if ascii else UNICODE,
    )


def _terminal_line(line: Line, *, has_escapes: bool) -> str:
    system = ColorSystem.STANDARD if has_escapes else None
    text = "".join(piece.style.render(piece.text, color_system=system) for piece in line.pieces)
    return f"{' ' * MARGIN}{text}".rstrip(" ")
