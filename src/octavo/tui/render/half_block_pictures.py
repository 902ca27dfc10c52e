"""Images of a page: the list of them, and thumbnails drawn with half blocks, two pixels per cell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from rich.color import Color, ColorType
from rich.color_triplet import ColorTriplet
from rich.style import Style

from octavo.documents.blocks import Block, Run, plain_text
from octavo.tui.render.styled_lines import Piece
from octavo.tui.terminal.graphics import ScaledPicture

if TYPE_CHECKING:
    from octavo.api.places import ContentRef
    from octavo.documents import links

HALF = "▀"


@dataclass(frozen=True)
class ImageReference:
    """An image as a page refers to it."""

    src: str
    alt: str = ""
    caption: str = ""
    dark: str = ""
    """Address of the image for dark backgrounds. Empty if there is none."""

    def source_for(self, *, dark: bool) -> str:
        """Return the address for dark or light backgrounds."""
        return self.dark if dark and self.dark else self.src


class ThumbnailQuery(NamedTuple):
    """Thumbnail to load: its target as seen from a page, and the cells that it has to fit."""

    page: ContentRef
    target: links.Target
    columns: int
    rows: int


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


@lru_cache(maxsize=4096)  # 400 bytes each: all colors of photographs would take 25 MB.
def _pixel_color(pixel: bytes) -> Color:
    # The same as `Color.from_rgb`, in a tenth of the time.
    return Color(f"#{pixel.hex()}", ColorType.TRUECOLOR, None, ColorTriplet(*pixel))
