"""Images: each in its frame with what is known of it, those of a gallery side by side where there is room."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.style import Style

from octavo.api.folding import fold
from octavo.documents.blocks import Block, Run, words
from octavo.tui.render.block_slices import has_start, whole_block
from octavo.tui.render.embeds import file_name, host_of
from octavo.tui.render.layout_context import LayoutContext
from octavo.tui.render.link_targets import LinkDestination, link_destination
from octavo.tui.render.styled_lines import Clickable, Line, Piece, box, cells, flatten_emoji, pad, width_of
from octavo.tui.render.styles import PLAIN
from octavo.tui.render.wrap import wrap
from octavo.tui.widgets.wording import in_a_line

WIDEST, NARROWEST, LEAST_SIDE_BY_SIDE = 64, 24, 28
"""Cells of a frame: at most, at least where its page says how wide it is, and at least where it has others beside it."""
GAP = 2
PIXELS_PER_CELL = 9
"""Of a cell, as browsers draw text: what makes a width in pixels one in cells."""
TALLEST = 14
"""Lines of a small picture in its frame."""

_COPIES = re.compile(r"(?: +\(1?\)?)+(?=[ .])")
_ONLY_WORDS = re.compile(r"[\W_]+")
_LENGTH = re.compile(r"\s*(\d{1,5})(?:\.\d*)?\s*(px|%)?\s*")


def render_figure(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """Images in their frames."""
    images = [child for child in block.children if child.kind == "image"]
    beside = min(len(whole_block(block).children), 3, (width + GAP) // (LEAST_SIDE_BY_SIDE + GAP))
    align = str(block.attrs.get("align") or "")
    out: list[Line] = []
    if beside < 2:
        for image in images:
            out += [
                *([Line([])] if out or not has_start(block) else []),
                *_align(render_image(context, image, width), align, width),
            ]
        return out
    wide = (width - GAP * (beside - 1)) // beside
    for start in range(0, len(images), beside):
        row = images[start : start + beside]
        tallest = max(len(_frame_lines(context, image, wide, None)) for image in row)
        out += [Line([])] if out or not has_start(block) else []
        out += _side_by_side([_frame(context, image, wide, tallest) for image in row], wide)
    return out


def render_image(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """The frame of an image: its alternative text, its name and what is known of its file, its caption."""
    hint = _LENGTH.fullmatch(str(block.attrs.get("width") or ""))
    wide = min(width, WIDEST)
    if hint is not None:
        given = int(hint[1]) * width // 100 if hint[2] == "%" else int(hint[1]) // PIXELS_PER_CELL
        wide = min(width, max(NARROWEST, min(given, WIDEST)))
    return _frame(context, block, wide)


def _frame(context: LayoutContext, block: Block, wide: int, least: int = 0) -> list[Line]:
    """A frame of `wide` cells with at least so many lines in it, and the caption below."""
    styles, glyphs = context.styles, context.styles.glyphs
    src = str(block.attrs.get("src") or "")
    spot = Clickable("image", src)
    trouble, facts = _image_facts(context, src)
    rows = _frame_lines(context, block, wide, spot)
    rows += [Line([]) for _ in range(least - len(rows))]
    sign = Piece(f"{glyphs.no if trouble else glyphs.picture} ", styles.error if trouble else styles.muted, spot, True)
    title = [sign, Piece(_shown_name(src, wide) or "image", styles.muted, spot, True)]
    right = [Piece(facts, styles.muted, None, True)] if facts else []
    out = box(rows, wide, styles, title=title, right=right)
    caption = [] if _frames_caption(block) else wrap(_caption(context, block), wide - 4)
    return out + [Line([Piece("  ", PLAIN, None, True), *line]) for line in caption if line]


def _caption(context: LayoutContext, block: Block) -> list[Piece]:
    return context.inline(block.runs, context.styles.muted + Style(italic=True))


def _frames_caption(block: Block) -> bool:
    """Whether the caption stands in the frame: where there is no alternative text, or it says the same."""
    alt, caption = (_ONLY_WORDS.sub("", fold(text)) for text in (_alternative_text(block), words(block.runs)))
    return bool(caption) and (not alt or alt == caption)


def _alternative_text(block: Block) -> str:
    return flatten_emoji(" ".join(str(block.attrs.get("alt") or "").split()))


def _shown_name(src: str, wide: int) -> str:
    """What the file of an image is called, where the border of its frame has room for that. Of a copy of a copy it is
    said once that it is one."""
    name = file_name(src)
    if cells(name) > wide - 8:
        name = _COPIES.sub("", name)
    return name if cells(name) <= wide - 8 else ""


def _frame_lines(context: LayoutContext, block: Block, wide: int, spot: Clickable | None) -> list[Line]:
    """What stands in a frame: the image where it is wanted small, its alternative text or caption, why it is not there. That
    both are missing is said quietly, or the name that has no room in the border: on many pages all are. And an image that is
    a link says where to in words."""
    styles, src = context.styles, str(block.attrs.get("src") or "")
    alt = _alternative_text(block)
    if _frames_caption(block):
        pieces = [piece if piece.clickable else piece._replace(clickable=spot) for piece in _caption(context, block)]
    elif alt:
        pieces = [Piece(alt, styles.text, spot)]
    else:
        named = "" if _shown_name(src, wide) else file_name(src)
        pieces = [Piece(named or "no alternative text", styles.muted, spot, True)]
    rows = wrap(pieces, wide - 4)
    if link := str(block.attrs.get("link") or ""):
        linked = context.inline((Run(alt or link.partition("://")[2] or link, link=link),))
        rows = [*([] if alt else rows), *wrap(linked, wide - 4)]
    if trouble := _image_facts(context, src)[0]:
        rows += wrap([Piece(trouble, styles.error, None, True)], wide - 4)
    return _render_thumbnail(context, src, wide - 4) + [Line(pieces) for pieces in rows]


def _image_facts(context: LayoutContext, src: str) -> tuple[str, str]:
    """Return why an image is missing (or an empty text), and its host, type and size if known."""
    where = link_destination(src)
    if where is LinkDestination.OUTSIDE:
        return "", host_of(src)
    named = context.link_targets.title_of(src) if context.link_targets is not None and src else None
    if named is not None:
        return (in_a_line(named.problem) if named.problem else ""), named.where
    return ("this image was deleted" if where is LinkDestination.BROKEN and src else ""), ""


def _render_thumbnail(context: LayoutContext, src: str, columns: int) -> list[Line]:
    """The image itself, small, where that is wanted and it is here."""
    cache = context.deferred.thumbnails if context.deferred is not None else None
    targets = context.link_targets
    if (
        cache is None
        or targets is None
        or context.styles.mono
        or context.styles.ascii
        or link_destination(src) is LinkDestination.BROKEN
    ):
        return []
    from octavo.tui.render.half_block_pictures import (
        ThumbnailQuery,
        render_half_blocks,
    )  # only where somebody wants them

    small = cache.get(ThumbnailQuery(targets.context.page_ref, targets.resolve(src), columns, TALLEST))
    if small is None or not small.pixels:
        return []
    left = (columns - small.columns) // 2
    before = [Piece(" " * left, PLAIN, None, True)] if left > 0 else []
    return [Line([*before, *row]) for row in render_half_blocks(small)]


def _align(lines: list[Line], align: str, width: int) -> list[Line]:
    room = width - max((width_of(line.pieces) for line in lines), default=width)
    left = room if align == "right" else room // 2 if align == "center" else 0
    return [Line([Piece(" " * left, PLAIN, None, True), *line.pieces]) for line in lines] if left > 0 else lines


def _side_by_side(sides: Sequence[list[Line]], wide: int) -> list[Line]:
    out = []
    for number in range(max(map(len, sides))):
        pieces: list[Piece] = []
        for at, side in enumerate(sides):
            pieces = pad(pieces, at * (wide + GAP))
            pieces = pieces + (side[number].pieces if number < len(side) else [])
        out.append(Line(pieces))
    return out
