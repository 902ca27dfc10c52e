"""Decodes a picture and scales it down.

Input: a line of JSON with the largest `width` and `height` and the background color `ground`, then the bytes of the file.
Output: a line of JSON with `format`, `width`, `height` and `frames` of the file and the scaled `size`, then three bytes for
each pixel. If the picture cannot be read, the line has the reason as `trouble`.
"""

from __future__ import annotations

import io
import json
import re
import sys
import warnings
from typing import Any

MOST_PIXELS = 24_000_000
LARGEST_SCALE = 4
"""Most times by which a small picture is enlarged."""
_EXTERNAL_LINK = re.compile(rb"""href\s*=\s*(?:"(?!#|data:)[^"]*"|'(?!#|data:)[^']*')""", re.IGNORECASE)
"""A link from an SVG file to another file, which it must not read. It is replaced by another attribute: if it were removed,
the text around it could form a new link."""
FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "AVIF", "ICO", "TIFF")


def main() -> None:
    asked = json.loads(sys.stdin.buffer.readline())
    data = sys.stdin.buffer.read()
    try:
        if b"<svg" in data[:4096].lower():
            about, pixels = _drawn(data, asked)
        else:
            about, pixels = _decoded(data, asked)
    except MemoryError:
        about, pixels = {"trouble": "the image needs too much memory"}, b""
    sys.stdout.buffer.write(json.dumps(about).encode() + b"\n" + pixels)


def _decoded(data: bytes, asked: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    from PIL import Image, ImageOps, UnidentifiedImageError

    Image.MAX_IMAGE_PIXELS = None  # Checked below.
    warnings.simplefilter("ignore")
    try:
        image = Image.open(io.BytesIO(data), formats=FORMATS)
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError):
        return {"trouble": "the image format is not supported"}, b""
    width, height = image.size
    if width * height > MOST_PIXELS:
        trouble = f"the image has {width:,} × {height:,} pixels; the limit is {MOST_PIXELS // 1_000_000} million pixels"
        return {"trouble": trouble, "width": width, "height": height}, b""
    about = {
        "format": image.format,
        "width": width,
        "height": height,
        "frames": int(getattr(image, "n_frames", 1)) if image.format in ("GIF", "WEBP") else 1,
    }
    try:
        image.draft("RGB", (asked["width"] * 2, asked["height"] * 2))
        return _small(ImageOps.exif_transpose(image), asked, about)
    except (OSError, ValueError, SyntaxError, TypeError, IndexError):
        return {**about, "trouble": "the file is damaged"}, b""


def _drawn(data: bytes, asked: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    try:
        import resvg_py
    except ImportError:
        return {"format": "SVG", "trouble": "SVG images need an optional package: pip install 'octavo[images]'"}, b""
    from PIL import Image

    try:
        if b"<!entity" in data.lower():
            raise ValueError  # Entities could hide links from the pattern above.
        text = _EXTERNAL_LINK.sub(b"none=''", data).decode("utf-8", "replace")
        drawn = resvg_py.svg_to_bytes(svg_string=text, width=min(4_000, asked["width"] * 2))
        image = Image.open(io.BytesIO(drawn), formats=("PNG",))
        if image.width * image.height > MOST_PIXELS:
            raise ValueError
        return _small(image, asked, {"format": "SVG", "frames": 1})
    except (ValueError, OSError, RuntimeError):
        return {"format": "SVG", "trouble": "the SVG file could not be read"}, b""


def _small(image: Any, asked: dict[str, Any], about: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    from PIL import Image

    scale = min(asked["width"] / image.width, asked["height"] / image.height)
    if scale > 1:
        scale = min(int(scale), LARGEST_SCALE)
    size = max(1, round(image.width * scale)), max(1, round(image.height * scale))
    clear = image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info
    image = image.convert("RGBA" if clear else "RGB")
    if size != image.size:
        sharp = Image.Resampling.NEAREST if scale > 1 else Image.Resampling.HAMMING
        image = image.resize(size, sharp, reducing_gap=3.0 if scale < 1 else None)
    if clear:
        ground = Image.new("RGBA", size, (*asked["ground"], 255))
        image = Image.alpha_composite(ground, image).convert("RGB")
    return {**about, "size": size}, image.tobytes()


if __name__ == "__main__":
    main()
