"""Rendering of images: each in a frame with its facts, those of a gallery side by side, and thumbnails drawn with half blocks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from rich.color import Color, ColorType
from rich.color_triplet import ColorTriplet
from rich.style import Style

from octavo.api.folding import fold
from octavo.documents.blocks import Block, Run, plain_text
from octavo.tui.render.block_slices import has_start, whole_block
from octavo.tui.render.deferred import ThumbnailQuery
from octavo.tui.render.embeds import file_name, host_of
from octavo.tui.render.layout_context import LayoutContext
from octavo.tui.render.link_targets import LinkDestination, link_destination
from octavo.tui.render.styled_lines import Clickable, Line, Piece, box, cells, flatten_emoji, pad, width_of
from octavo.tui.render.styles import PLAIN
from octavo.tui.render.wrap import wrap
from octavo.tui.terminal.graphics import ScaledPicture
from octavo.tui.widgets.short_texts import as_clause

if TYPE_CHECKING:
    pass


WIDEST, NARROWEST, LEAST_SIDE_BY_SIDE = 64, 24, 28
"""Widths of a frame in cells: the maximum, the minimum if the page sets a width, and the minimum side by side."""
GAP = 2
PIXELS_PER_CELL = 9
"""Width of a cell in pixels, to convert the width of an image."""
TALLEST = 14
"""Maximum number of lines of a thumbnail."""

_COPIES = re.compile(r"(?: +\(1?\)?)+(?=[ .])")
_ONLY_WORDS = re.compile(r"[\W_]+")
_LENGTH = re.compile(r"\s*(\d{1,5})(?:\.\d*)?\s*(px|%)?\s*")


def render_figure(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """Render the images of a figure."""
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
    """Render an image in a frame: alternative text, name, facts and caption."""
    hint = _LENGTH.fullmatch(str(block.attrs.get("width") or ""))
    wide = min(width, WIDEST)
    if hint is not None:
        given = int(hint[1]) * width // 100 if hint[2] == "%" else int(hint[1]) // PIXELS_PER_CELL
        wide = min(width, max(NARROWEST, min(given, WIDEST)))
    return _frame(context, block, wide)


def _frame(context: LayoutContext, block: Block, wide: int, least: int = 0) -> list[Line]:
    """Return a frame of `wide` cells with at least `least` lines in it, and the caption below."""
    styles, glyphs = context.styles, context.styles.glyphs
    src = str(block.attrs.get("src") or "")
    spot = Clickable("image", src)
    problem, facts = _image_facts(context, src)
    rows = _frame_lines(context, block, wide, spot)
    rows += [Line([]) for _ in range(least - len(rows))]
    sign = Piece(f"{glyphs.no if problem else glyphs.picture} ", styles.error if problem else styles.muted, spot, True)
    title = [sign, Piece(_shown_name(src, wide) or "image", styles.muted, spot, True)]
    right = [Piece(facts, styles.muted, None, True)] if facts else []
    out = box(rows, wide, styles, title=title, right=right)
    caption = [] if _frames_caption(block) else wrap(_caption(context, block), wide - 4)
    return out + [Line([Piece("  ", PLAIN, None, True), *line]) for line in caption if line]


def _caption(context: LayoutContext, block: Block) -> list[Piece]:
    return context.inline(block.runs, context.styles.muted + Style(italic=True))


def _frames_caption(block: Block) -> bool:
    """Return True if the caption is inside the frame: if there is no alternative text, or if both texts are the
    same."""
    alt, caption = (_ONLY_WORDS.sub("", fold(text)) for text in (_alternative_text(block), plain_text(block.runs)))
    return bool(caption) and (not alt or alt == caption)


def _alternative_text(block: Block) -> str:
    return flatten_emoji(" ".join(str(block.attrs.get("alt") or "").split()))


def _shown_name(src: str, wide: int) -> str:
    """Return the name of the file if the border has room for it. Repeated copy numbers such as `(1) (1)` are left out
    if that helps."""
    name = file_name(src)
    if cells(name) > wide - 8:
        name = _COPIES.sub("", name)
    return name if cells(name) <= wide - 8 else ""


def _frame_lines(context: LayoutContext, block: Block, wide: int, spot: Clickable | None) -> list[Line]:
    """Return the lines inside a frame: the thumbnail, the alternative text or caption, the link, and the reason if the
    image is missing.

    Without any text, a muted line shows the name of the file or that there is no alternative text.
    """
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
    if problem := _image_facts(context, src)[0]:
        rows += wrap([Piece(problem, styles.error, None, True)], wide - 4)
    return _render_thumbnail(context, src, wide - 4) + [Line(pieces) for pieces in rows]


def _image_facts(context: LayoutContext, src: str) -> tuple[str, str]:
    """Return the reason why an image is missing (empty if it is not), and its host, type and size if they are known."""
    where = link_destination(src)
    if where is LinkDestination.OUTSIDE:
        return "", host_of(src)
    named = context.link_targets.title_of(src) if context.link_targets is not None and src else None
    if named is not None:
        return (as_clause(named.problem) if named.problem else ""), named.where
    return ("this image was deleted" if where is LinkDestination.BROKEN and src else ""), ""


def _render_thumbnail(context: LayoutContext, src: str, columns: int) -> list[Line]:
    """Render the thumbnail of an image. Empty if thumbnails are off or it is not loaded."""
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


HALF = "▀"


@dataclass(frozen=True)
class ImageReference:
    """An image as a page refers to it."""

    src: str
    alt: str = ""
    caption: str = ""
    dark: str = ""
    """URL of the image for dark backgrounds. Empty if there is none."""

    def source_for(self, *, dark: bool) -> str:
        """Return the URL for dark or for light backgrounds."""
        return self.dark if dark and self.dark else self.src


def page_images(blocks: Iterable[Block]) -> tuple[ImageReference, ...]:
    """Return the images of a page in reading order, each once."""
    found: dict[str, ImageReference] = {}
    for block in blocks:
        for each in block.walk():
            for picture in _block_images(each):
                if picture.src:
                    found.setdefault(picture.src, picture)
    return tuple(found.values())


def _block_images(block: Block) -> Iterator[ImageReference]:
    attrs = block.attrs
    if block.kind == "image":
        yield ImageReference(
            _line(attrs.get("src")), _line(attrs.get("alt")), _line(plain_text(block.runs)), _line(attrs.get("dark"))
        )
    elif block.kind == "card" and attrs.get("cover"):
        yield ImageReference(_line(attrs.get("cover")), dark=_line(attrs.get("cover_dark")))
    yield from (_run_image(run) for run in block.runs if run.kind == "image")


def _run_image(run: Run) -> ImageReference:
    return ImageReference(_line(run.attrs.get("src")), _line(run.text), dark=_line(run.attrs.get("dark")))


def _line(value: object) -> str:
    return " ".join(str(value or "").split())


def render_half_blocks(small: ScaledPicture) -> list[list[Piece]]:
    """Render an image. In each cell the upper pixel is the foreground and the lower pixel the background."""
    out: list[list[Piece]] = []
    wide, data = small.columns * 3, small.pixels
    for top in range(0, small.rows, 2):
        upper = data[top * wide : (top + 1) * wide]
        lower = data[(top + 1) * wide : (top + 2) * wide]
        row: list[Piece] = []
        start = 0
        for at in range(0, wide, 3):
            after = at + 3
            if (
                after < wide
                and upper[at:after] == upper[after : after + 3]
                and lower[at:after] == lower[after : after + 3]
            ):
                continue
            style = Style(color=_pixel_color(upper[at:after]), bgcolor=_pixel_color(lower[at:after]) if lower else None)
            row.append(Piece(HALF * ((after - start) // 3), style, None, True))
            start = after
        out.append(row)
    return out


@lru_cache(maxsize=4096)  # A color takes 400 bytes. Without a limit, the colors of photographs would take 25 MB.
def _pixel_color(pixel: bytes) -> Color:
    # The same as `Color.from_rgb`, in a tenth of the time.
    return Color(f"#{pixel.hex()}", ColorType.TRUECOLOR, None, ColorTriplet(*pixel))
