"""Cards in a grid, as many side by side as have room."""

from __future__ import annotations

from rich.style import Style

from octavo.documents.blocks import Block, Column, plain_text
from octavo.tui.render.block_slices import whole_of
from octavo.tui.render.embeds import file_name
from octavo.tui.render.inline import inline
from octavo.tui.render.layout_context import LayoutContext
from octavo.tui.render.side_by_side_blocks import Part, SplitLine
from octavo.tui.render.styled_lines import Line, Piece, Spot, box, cells
from octavo.tui.render.styles import PLAIN, Styles
from octavo.tui.render.tables import cell_pieces, columns_of
from octavo.tui.render.wrap import wrap, wrap_items

_NARROWEST, _WIDEST = 24, 100
"""Cells of one card at least, and of a row of them at most."""


def cards(setting: LayoutContext, block: Block, width: int) -> list[Line]:
    """Cards side by side, as many as have room."""
    look = setting.look
    room = max(width, min(setting.wide(width), _WIDEST))
    most = min(2 if block.attrs.get("size") == "large" else 3, len(whole_of(block).children) or 1)
    count = max(1, min(most, (room + 1) // (_NARROWEST + 1)))
    if room > width and (width + 1) // (_NARROWEST + 1) >= count:
        room = width
    wide = (room - (count - 1)) // count
    columns = columns_of(block)
    titled = not block.attrs.get("titles_hidden") and any(plain_text(column.title).strip() for _, column in columns)
    out: list[Line] = []
    for start in range(0, len(block.children), count):
        group = block.children[start : start + count]
        bodies = [_body(card, columns, titled, wide - 4, setting) for card in group]
        height = max(len(lines) for lines, _ in bodies)
        framed = [_framed(*body, card, wide, height, look) for body, card in zip(bodies, group, strict=True)]
        for row in zip(*framed, strict=True):
            pieces: list[Piece] = []
            for line in row:
                pieces += [*([Piece(" ", PLAIN, None, True)] if pieces else []), *line.pieces]
            parts = (Part(at * (wide + 1), at * (wide + 1) + wide, whole_of(card)) for at, card in enumerate(group))
            out.append(SplitLine(pieces, None, None, tuple(parts)))
    return out


def _body(
    card: Block, columns: list[tuple[int, Column]], titled: bool, width: int, setting: LayoutContext
) -> tuple[list[list[Piece]], range]:
    """The cells of a card one below the other, and which of the lines are its title: its first words. With `titled`
    columns, each cell stands below the title of its column. An icon that stands alone goes before the words below it."""
    look = setting.look
    lines: list[list[Piece]] = []
    icons: list[Piece] = []
    title = range(0)
    for index, column in columns:
        if index >= len(card.children):
            continue
        pieces = cell_pieces(card.children[index], column, look, None if title else look.strong, setting.targets)
        if not any(piece.text.strip() for piece in pieces):
            continue
        runs = [run for run in card.children[index].runs if run.text.strip() or run.kind == "icon"]
        column_title = plain_text(column.title).strip() if titled else ""
        if all(run.kind in ("icon", "emoji") for run in runs) and not column_title:
            icons += [*pieces, Piece(" ", PLAIN, None, True)]
            continue
        lines += [[]] if lines and titled else []
        lines += wrap(inline(column.title, look, look.muted, setting.targets), width) if column_title else []
        first = len(lines)
        lines += wrap_items([*icons, *pieces], width)
        title, icons = title or range(first, len(lines)), []
    if icons:
        lines += wrap(icons, width)
    if not lines and card.attrs.get("target"):
        target = str(card.attrs["target"])
        named = setting.targets.named(target) if setting.targets is not None else None
        said = (named.words if named is not None else "") or file_name(target).removesuffix(".md")
        lines = wrap([Piece(said, look.strong)], width)
        title = range(len(lines))
    return lines, title


def _framed(lines: list[list[Piece]], heading: range, card: Block, wide: int, height: int, look: Styles) -> list[Line]:
    target, cover = card.attrs.get("target"), card.attrs.get("cover")
    spot = Spot("link", str(target)) if target else None
    title = [] if lines or spot else [Piece("empty", look.muted, None, True)]
    if cover:
        name = file_name(str(cover))
        named = f"{look.glyphs.picture} {name if cells(name) <= wide - 8 else 'cover'}"
        title = [Piece(named, look.muted + Style(italic=True), Spot("image", str(cover)), True)]
    foot = [Piece(look.glyphs.into, look.accent, spot, True)] if spot else []
    rows = []
    for at, line in enumerate([*lines, *[[] for _ in range(height - len(lines))]]):
        rows.append(
            Line(
                [
                    piece
                    if piece.spot or spot is None or not piece.text.strip()
                    else piece._replace(spot=spot, style=piece.style + look.link if at in heading else piece.style)
                    for piece in line
                ]
            )
        )
    return box(rows, wide, look, title=title, foot=foot)
