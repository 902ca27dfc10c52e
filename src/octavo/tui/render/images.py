"""Images: each in its frame with what is known of it, those of a gallery side by side where there is room."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.style import Style

from octavo.api.folding import fold
from octavo.documents.blocks import Block, Run, plain_text
from octavo.tui.render.block_slices import begins, whole_of
from octavo.tui.render.embeds import file_name, host_of
from octavo.tui.render.layout_context import LayoutContext
from octavo.tui.render.link_addresses import LinkDestination, leads
from octavo.tui.render.styled_lines import Line, Piece, Spot, box, cells, padded, steady, width_of
from octavo.tui.render.styles import PLAIN
from octavo.tui.render.wrap import wrap
from octavo.tui.widgets.wording import in_a_line

WIDEST, NARROWEST, BESIDE = 64, 24, 28
"""Cells of a frame: at most, at least where its page says how wide it is, and at least where it has others beside it."""
GAP = 2
PIXELS = 9
"""Of a cell, as browsers draw text: what makes a width in pixels one in cells."""
TALLEST = 14
"""Lines of a small picture in its frame."""

_COPIES = re.compile(r"(?: +\(1?\)?)+(?=[ .])")
_ONLY_WORDS = re.compile(r"[\W_]+")
_LENGTH = re.compile(r"\s*(\d{1,5})(?:\.\d*)?\s*(px|%)?\s*")


def figure(setting: LayoutContext, block: Block, width: int) -> list[Line]:
    """Images in their frames."""
    pictures = [child for child in block.children if child.kind == "image"]
    beside = min(len(whole_of(block).children), 3, (width + GAP) // (BESIDE + GAP))
    align = str(block.attrs.get("align") or "")
    out: list[Line] = []
    if beside < 2:
        for picture in pictures:
            out += [
                *([Line([])] if out or not begins(block) else []),
                *_aligned(image(setting, picture, width), align, width),
            ]
        return out
    wide = (width - GAP * (beside - 1)) // beside
    for start in range(0, len(pictures), beside):
        row = pictures[start : start + beside]
        tallest = max(len(_inside(setting, picture, wide, None)) for picture in row)
        out += [Line([])] if out or not begins(block) else []
        out += _side_by_side([_framed(setting, picture, wide, tallest) for picture in row], wide)
    return out


def image(setting: LayoutContext, block: Block, width: int) -> list[Line]:
    """The frame of an image: its alternative text, its name and what is known of its file, its caption."""
    hint = _LENGTH.fullmatch(str(block.attrs.get("width") or ""))
    wide = min(width, WIDEST)
    if hint is not None:
        given = int(hint[1]) * width // 100 if hint[2] == "%" else int(hint[1]) // PIXELS
        wide = min(width, max(NARROWEST, min(given, WIDEST)))
    return _framed(setting, block, wide)


def _framed(setting: LayoutContext, block: Block, wide: int, least: int = 0) -> list[Line]:
    """A frame of `wide` cells with at least so many lines in it, and the caption below."""
    look, glyphs = setting.look, setting.look.glyphs
    src = str(block.attrs.get("src") or "")
    spot = Spot("image", src)
    trouble, facts = _known(setting, src)
    rows = _inside(setting, block, wide, spot)
    rows += [Line([]) for _ in range(least - len(rows))]
    sign = Piece(f"{glyphs.no if trouble else glyphs.picture} ", look.error if trouble else look.muted, spot, True)
    title = [sign, Piece(_name(src, wide) or "image", look.muted, spot, True)]
    right = [Piece(facts, look.muted, None, True)] if facts else []
    out = box(rows, wide, look, title=title, right=right)
    caption = [] if _says_caption(block) else wrap(_caption(setting, block), wide - 4)
    return out + [Line([Piece("  ", PLAIN, None, True), *line]) for line in caption if line]


def _caption(setting: LayoutContext, block: Block) -> list[Piece]:
    return setting.inline(block.runs, setting.look.muted + Style(italic=True))


def _says_caption(block: Block) -> bool:
    """Whether the caption stands in the frame: where there is no alternative text, or it says the same."""
    alt, caption = (_ONLY_WORDS.sub("", fold(said)) for said in (_alt(block), plain_text(block.runs)))
    return bool(caption) and (not alt or alt == caption)


def _alt(block: Block) -> str:
    return steady(" ".join(str(block.attrs.get("alt") or "").split()))


def _name(src: str, wide: int) -> str:
    """What the file of an image is called, where the border of its frame has room for that. Of a copy of a copy it is
    said once that it is one."""
    name = file_name(src)
    if cells(name) > wide - 8:
        name = _COPIES.sub("", name)
    return name if cells(name) <= wide - 8 else ""


def _inside(setting: LayoutContext, block: Block, wide: int, spot: Spot | None) -> list[Line]:
    """What stands in a frame: the image where it is wanted small, its alternative text or caption, why it is not there. That
    both are missing is said quietly, or the name that has no room in the border: on many pages all are. And an image that is
    a link says where to in words."""
    look, src = setting.look, str(block.attrs.get("src") or "")
    alt = _alt(block)
    if _says_caption(block):
        pieces = [piece if piece.spot else piece._replace(spot=spot) for piece in _caption(setting, block)]
    elif alt:
        pieces = [Piece(alt, look.text, spot)]
    else:
        named = "" if _name(src, wide) else file_name(src)
        pieces = [Piece(named or "no alternative text", look.muted, spot, True)]
    rows = wrap(pieces, wide - 4)
    if link := str(block.attrs.get("link") or ""):
        linked = setting.inline((Run(alt or link.partition("://")[2] or link, link=link),))
        rows = [*([] if alt else rows), *wrap(linked, wide - 4)]
    if trouble := _known(setting, src)[0]:
        rows += wrap([Piece(trouble, look.error, None, True)], wide - 4)
    return _small(setting, src, wide - 4) + [Line(pieces) for pieces in rows]


def _known(setting: LayoutContext, src: str) -> tuple[str, str]:
    """Return why an image is missing (or an empty text), and its host, type and size if known."""
    where = leads(src)
    if where is LinkDestination.OUTSIDE:
        return "", host_of(src)
    named = setting.targets.named(src) if setting.targets is not None and src else None
    if named is not None:
        return (in_a_line(named.trouble) if named.trouble else ""), named.where
    return ("this image was deleted" if where is LinkDestination.BROKEN and src else ""), ""


def _small(setting: LayoutContext, src: str, columns: int) -> list[Line]:
    """The image itself, small, where that is wanted and it is here."""
    late = setting.sources.thumbnails if setting.sources is not None else None
    targets = setting.targets
    if (
        late is None
        or targets is None
        or setting.look.mono
        or setting.look.ascii
        or leads(src) is LinkDestination.BROKEN
    ):
        return []
    from octavo.tui.render.half_block_pictures import Thumbnail, half_blocks  # only where somebody wants them

    small = late.get(Thumbnail(targets.ground.at, targets.target(src), columns, TALLEST))
    if small is None or not small.pixels:
        return []
    left = (columns - small.columns) // 2
    before = [Piece(" " * left, PLAIN, None, True)] if left > 0 else []
    return [Line([*before, *row]) for row in half_blocks(small)]


def _aligned(lines: list[Line], align: str, width: int) -> list[Line]:
    room = width - max((width_of(line.pieces) for line in lines), default=width)
    left = room if align == "right" else room // 2 if align == "center" else 0
    return [Line([Piece(" " * left, PLAIN, None, True), *line.pieces]) for line in lines] if left > 0 else lines


def _side_by_side(sides: Sequence[list[Line]], wide: int) -> list[Line]:
    out = []
    for number in range(max(map(len, sides))):
        pieces: list[Piece] = []
        for at, side in enumerate(sides):
            pieces = padded(pieces, at * (wide + GAP))
            pieces = pieces + (side[number].pieces if number < len(side) else [])
        out.append(Line(pieces))
    return out
