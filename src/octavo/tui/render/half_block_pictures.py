"""Pictures of a page: which there are, and a small one as half blocks, two pixels to a cell."""

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
from octavo.tui.terminal.scaled_picture import ScaledPicture

if TYPE_CHECKING:
    from octavo.api.places import ContentRef
    from octavo.documents import links

HALF = "▀"


@dataclass(frozen=True)
class PictureReference:
    """A picture as a page speaks of it."""

    src: str
    alt: str = ""
    caption: str = ""
    dark: str = ""
    """What stands in its place on a dark ground."""

    def on(self, *, dark: bool) -> str:
        """The address that counts on such a ground."""
        return self.dark if dark and self.dark else self.src


class Thumbnail(NamedTuple):
    """A picture to be shown within its page: where the page at `at` says it is, and the cells it has to fit."""

    at: ContentRef
    target: links.Target
    columns: int
    rows: int


def pictured(blocks: Iterable[Block]) -> tuple[PictureReference, ...]:
    """The pictures of a page in reading order, each once."""
    found: dict[str, PictureReference] = {}
    for block in blocks:
        for each in block.walk():
            for picture in _in(each):
                if picture.src:
                    found.setdefault(picture.src, picture)
    return tuple(found.values())


def _in(block: Block) -> Iterator[PictureReference]:
    attrs = block.attrs
    if block.kind == "image":
        yield PictureReference(
            _line(attrs.get("src")), _line(attrs.get("alt")), _line(plain_text(block.runs)), _line(attrs.get("dark"))
        )
    elif block.kind == "card" and attrs.get("cover"):
        yield PictureReference(_line(attrs.get("cover")), dark=_line(attrs.get("cover_dark")))
    yield from (_run(run) for run in block.runs if run.kind == "image")


def _run(run: Run) -> PictureReference:
    return PictureReference(_line(run.attrs.get("src")), _line(run.text), dark=_line(run.attrs.get("dark")))


def _line(value: object) -> str:
    return " ".join(str(value or "").split())


def half_blocks(small: ScaledPicture) -> list[list[Piece]]:
    """The rows of a picture: the upper pixel of each cell is its sign, the lower one its ground."""
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
            style = Style(color=_colour(upper[at:after]), bgcolor=_colour(lower[at:after]) if lower else None)
            row.append(Piece(HALF * ((after - start) // 3), style, None, True))
            start = after
        out.append(row)
    return out


@lru_cache(maxsize=4096)  # each is 400 bytes: of all that photographs have, they would be 25 MB
def _colour(pixel: bytes) -> Color:
    # What `Color.from_rgb` makes, in a tenth of the time.
    return Color(f"#{pixel.hex()}", ColorType.TRUECOLOR, None, ColorTriplet(*pixel))
