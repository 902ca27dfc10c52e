"""Images are decoded and scaled within limits, whatever their files contain."""

from __future__ import annotations

import gc
import io
import struct
import tracemalloc
import zlib
from importlib.util import find_spec

import pytest
from PIL import Image

from octavo.documents.source_reader import parse
from octavo.tui.reader.linked_files import parse_picture, scale_image
from octavo.tui.render.embeds import page_images, render_half_blocks
from octavo.tui.terminal.display import ScaledPicture

BACKGROUND = (20, 22, 27)
needs_resvg = pytest.mark.skipif(find_spec("resvg_py") is None, reason="drawings need the extra `images`")


def file_of(image: Image.Image, kind: str = "PNG", **options: object) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def png_with_false_size(width: int, height: int) -> bytes:
    """Return a PNG file whose header claims another size."""
    data = bytearray(file_of(Image.new("RGB", (10, 10))))
    data[16:24] = struct.pack(">II", width, height)
    data[29:33] = struct.pack(">I", zlib.crc32(bytes(data[12:29])))
    return bytes(data)


async def test_image_fits_pane_and_keeps_ratio() -> None:
    found = await scale_image(file_of(Image.new("RGB", (400, 200), (250, 0, 0))), 60, 40, BACKGROUND)
    assert (found.columns, found.rows, found.width, found.height, found.format) == (60, 30, 400, 200, "PNG")
    assert set(found.pixels[::3]) == {250}
    assert found.problem == ""


async def test_transparent_pixels_show_background() -> None:
    found = await scale_image(file_of(Image.new("RGBA", (4, 4), (255, 255, 255, 0))), 4, 2, BACKGROUND)
    assert found.pixels == bytes(BACKGROUND) * 16


async def test_animation_shows_first_frame() -> None:
    frames = [Image.new("RGB", (8, 8), colour) for colour in ((255, 0, 0), (0, 255, 0), (0, 0, 255))]
    data = file_of(frames[0], "GIF", save_all=True, append_images=frames[1:])
    found = await scale_image(data, 8, 4, BACKGROUND)
    assert found.frames == 3
    assert found.pixels[:3] == b"\xff\x00\x00"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "format is not supported"),
        (b"%PDF-1.4", "format is not supported"),
        (png_with_false_size(60_000, 60_000), "60,000 × 60,000 pixels; the limit is 24 million"),
        (png_with_false_size(4_800, 4_800), "damaged"),
        (file_of(Image.new("L", (5_000, 5_000))), "the limit is 24 million"),
    ],
    ids=["empty", "document", "lying", "cut", "large"],
)
async def test_invalid_image_explains(data: bytes, message: str) -> None:
    found = await scale_image(data, 60, 20, BACKGROUND)
    assert message in found.problem
    assert not found.pixels


@needs_resvg
async def test_svg_is_drawn_without_local_files(tmp_path: object) -> None:
    red = file_of(Image.new("RGB", (8, 8), (255, 0, 0)))
    path = f"{tmp_path}/red.png"
    with open(path, "wb") as file:  # noqa: ASYNC230  # The file has eight pixels.
        file.write(red)
    drawing = '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8">{}</svg>'
    seen = await scale_image(drawing.format('<rect width="8" height="8" fill="#ff0000"/>').encode(), 8, 4, BACKGROUND)
    assert set(seen.pixels[::3]) == {255}
    for attribute in (f'href="{path}"', f'hrehref="x"f="{path}"'):
        hidden = await scale_image(
            drawing.format(f'<image {attribute} width="8" height="8"/>').encode(), 8, 4, BACKGROUND
        )
        assert hidden.pixels == bytes(BACKGROUND) * (hidden.columns * hidden.rows)


@needs_resvg
@pytest.mark.parametrize(
    "drawing",
    [
        b'<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1000000"><rect width="1" height="1000000"/></svg>',
        b'<!DOCTYPE a [<!ENTITY a "b">]><svg xmlns="http://www.w3.org/2000/svg" width="1" height="1">&a;</svg>',
        b"<svg",
    ],
    ids=["tall", "entities", "broken"],
)
async def test_hostile_svg_is_stopped(drawing: bytes) -> None:
    assert (await scale_image(drawing, 60, 20, BACKGROUND)).problem


@pytest.mark.parametrize(
    "answer",
    [b"", b"no\n", b"[" * 99_999 + b"\n", b"[1]\n", b'{"size": [1, 1], "width": 1e999}\nabc', b'{"size": [0, 0]}\n'],
)
def test_any_decoder_output_is_image_or_error(answer: bytes) -> None:
    found = parse_picture(answer)
    assert found.problem
    assert not found.pixels


def test_two_pixels_fill_cell_and_equal_cells_join() -> None:
    red, blue = b"\xff\x00\x00", b"\x00\x00\xff"
    (row,) = render_half_blocks(ScaledPicture(3, 2, red * 2 + blue + blue * 3))
    assert [piece.text for piece in row] == ["▀▀", "▀"]
    assert [(str(piece.style.color.name), str(piece.style.bgcolor.name)) for piece in row if piece.style.color and piece.style.bgcolor] == [
        ("#ff0000", "#0000ff"),
        ("#0000ff", "#0000ff"),
    ]  # fmt: skip


def test_page_images_are_found_at_any_depth() -> None:
    page = """
<figure><img src="a.png" alt="First"><figcaption><p>Its caption</p></figcaption></figure>

Words with <img src="b.png" alt="second" data-size="line"> in them, and ![again](a.png).

{% tabs %}
{% tab title="x" %}
<picture><source srcset="c-dark.png" media="(prefers-color-scheme: dark)"><img src="c.png" alt="third"></picture>
{% endtab %}
{% endtabs %}
"""
    found = page_images(parse(page).blocks)
    assert [(each.src, each.alt, each.caption) for each in found] == [
        ("a.png", "First", "Its caption"),
        ("b.png", "second", ""),
        ("c.png", "third", ""),
    ]
    assert found[2].source_for(dark=True) == "c-dark.png"
    assert found[0].source_for(dark=True) == "a.png"


def test_image_of_many_colors_keeps_little_memory() -> None:
    many = b"".join(number.to_bytes(3, "big") for number in range(20_000))
    tracemalloc.start()
    try:
        render_half_blocks(ScaledPicture(100, 200, many))
        gc.collect()
        memory, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert memory < 3_000_000
