"""Rendering of cards in a grid."""

from __future__ import annotations

from rich.style import Style

from octavo.documents.blocks import Block, TableColumn, plain_text
from octavo.tui.render.block_slices import whole_block
from octavo.tui.render.embeds import file_name
from octavo.tui.render.inline import render_runs
from octavo.tui.render.layout_context import LayoutContext
from octavo.tui.render.styled_lines import BlockCells, Clickable, Line, Piece, SplitLine, box, cells
from octavo.tui.render.styles import PLAIN, Styles
from octavo.tui.render.tables import cell_pieces, visible_columns
from octavo.tui.render.wrap import wrap, wrap_items

_NARROWEST, _WIDEST = 24, 100
"""Width in cells of the narrowest card and of the widest row of cards."""


def render_cards(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """Render cards, as many side by side as fit."""
    styles = context.styles
    room = max(width, min(context.widest(width), _WIDEST))
    most = min(2 if block.attrs.get("size") == "large" else 3, len(whole_block(block).children) or 1)
    count = max(1, min(most, (room + 1) // (_NARROWEST + 1)))
    if room > width and (width + 1) // (_NARROWEST + 1) >= count:
        room = width
    card_width = (room - (count - 1)) // count
    columns = visible_columns(block)
    has_titles = not block.attrs.get("titles_hidden") and any(plain_text(column.title).strip() for _, column in columns)
    out: list[Line] = []
    for start in range(0, len(block.children), count):
        group = block.children[start : start + count]
        bodies = [_card_text(card, columns, has_titles, card_width - 4, context) for card in group]
        height = max(len(lines) for lines, _ in bodies)
        framed = [_frame(*body, card, card_width, height, styles) for body, card in zip(bodies, group, strict=True)]
        for row in zip(*framed, strict=True):
            pieces: list[Piece] = []
            for line in row:
                pieces += [*([Piece(" ", PLAIN, None, True)] if pieces else []), *line.pieces]
            parts = (
                BlockCells(at * (card_width + 1), at * (card_width + 1) + card_width, whole_block(card))
                for at, card in enumerate(group)
            )
            out.append(SplitLine(pieces, None, None, tuple(parts)))
    return out


def _card_text(
    card: Block, columns: list[tuple[int, TableColumn]], has_titles: bool, width: int, context: LayoutContext
) -> tuple[list[list[Piece]], range]:
    """Return the lines of a card, and the range of the lines that are its title.

    The title is the first cell with text. With `has_titles`, each cell follows the title of its column. A lone icon is
    placed before the text that follows.
    """
    styles = context.styles
    lines: list[list[Piece]] = []
    icons: list[Piece] = []
    title = range(0)
    for index, column in columns:
        if index >= len(card.children):
            continue
        pieces = cell_pieces(
            card.children[index], column, styles, None if title else styles.strong, context.link_targets
        )
        if not any(piece.text.strip() for piece in pieces):
            continue
        runs = [run for run in card.children[index].runs if run.text.strip() or run.kind == "icon"]
        column_title = plain_text(column.title).strip() if has_titles else ""
        if all(run.kind in ("icon", "emoji") for run in runs) and not column_title:
            icons += [*pieces, Piece(" ", PLAIN, None, True)]
            continue
        lines += [[]] if lines and has_titles else []
        lines += (
            wrap(render_runs(column.title, styles, styles.muted, context.link_targets), width) if column_title else []
        )
        first = len(lines)
        lines += wrap_items([*icons, *pieces], width)
        title, icons = title or range(first, len(lines)), []
    if icons:
        lines += wrap(icons, width)
    if not lines and card.attrs.get("target"):
        target = str(card.attrs["target"])
        named = context.link_targets.title_of(target) if context.link_targets is not None else None
        text = (named.text if named is not None else "") or file_name(target).removesuffix(".md")
        lines = wrap([Piece(text, styles.strong)], width)
        title = range(len(lines))
    return lines, title


def _frame(
    lines: list[list[Piece]], heading: range, card: Block, card_width: int, height: int, styles: Styles
) -> list[Line]:
    target, cover = card.attrs.get("target"), card.attrs.get("cover")
    spot = Clickable("link", str(target)) if target else None
    title = [] if lines or spot else [Piece("empty", styles.muted, None, True)]
    if cover:
        name = file_name(str(cover))
        named = f"{styles.glyphs.picture} {name if cells(name) <= card_width - 8 else 'cover'}"
        title = [Piece(named, styles.muted + Style(italic=True), Clickable("image", str(cover)), True)]
    foot = [Piece(styles.glyphs.into, styles.accent, spot, True)] if spot else []
    rows = []
    for at, line in enumerate([*lines, *[[] for _ in range(height - len(lines))]]):
        rows.append(
            Line(
                [
                    piece
                    if piece.clickable or spot is None or not piece.text.strip()
                    else piece._replace(
                        clickable=spot, style=piece.style + styles.link if at in heading else piece.style
                    )
                    for piece in line
                ]
            )
        )
    return box(rows, card_width, styles, title=title, foot=foot)
