"""Decodes a picture, and scales the picture to fit an area.

Input: a line of JSON with `width` and `height` of the area in pixels, and the color `background`, then the bytes of the
file.
Output: a line of JSON with `format`, `width`, `height` and `frames` of the file, and the scaled `size`, then three
bytes for each pixel. If the picture cannot be read, `problem` in the line says why.
"""

from __future__ import annotations

import io
import json
import re
import sys
import warnings
from typing import Any

MAX_PIXELS = 24_000_000
MAX_ENLARGEMENT = 4
_EXTERNAL_LINK = re.compile(rb"""href\s*=\s*(?:"(?!#|data:)[^"]*"|'(?!#|data:)[^']*')""", re.IGNORECASE)
"""Matches a link in an SVG file to another file, which Octavo must not read. Such a link is replaced by another
attribute. If it was only deleted, the text around it could form a new link."""
FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "AVIF", "ICO", "TIFF")


def main() -> None:
    request = json.loads(sys.stdin.buffer.readline())
    data = sys.stdin.buffer.read()
    try:
        if b"<svg" in data[:4096].lower():
            info, pixels = _decode_svg(data, request)
        else:
            info, pixels = _decode_image(data, request)
    except MemoryError:
        info, pixels = {"problem": "the image needs too much memory"}, b""
    sys.stdout.buffer.write(json.dumps(info).encode() + b"\n" + pixels)


def _decode_image(data: bytes, request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    from PIL import Image, ImageOps, UnidentifiedImageError

    Image.MAX_IMAGE_PIXELS = None  # `MAX_PIXELS` replaces this limit, so that the user gets a message.
    warnings.simplefilter("ignore")
    try:
        image = Image.open(io.BytesIO(data), formats=FORMATS)
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError):
        return {"problem": "the image format is not supported"}, b""
    width, height = image.size
    if width * height > MAX_PIXELS:
        problem = f"the image has {width:,} × {height:,} pixels; the limit is {MAX_PIXELS // 1_000_000} million pixels"
        return {"problem": problem, "width": width, "height": height}, b""
    info = {
        "format": image.format,
        "width": width,
        "height": height,
        "frames": int(getattr(image, "n_frames", 1)) if image.format in ("GIF", "WEBP") else 1,
    }
    try:
        image.draft("RGB", (request["width"] * 2, request["height"] * 2))
        return _scale_image(ImageOps.exif_transpose(image), request, info)
    except (OSError, ValueError, SyntaxError, TypeError, IndexError):
        return {**info, "problem": "the file is damaged"}, b""


def _decode_svg(data: bytes, request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    try:
        import resvg_py
    except ImportError:
        return {"format": "SVG", "problem": "SVG images need an optional package: pip install 'octavo[images]'"}, b""
    from PIL import Image

    try:
        if b"<!entity" in data.lower():
            raise ValueError  # Entities could hide links from `_EXTERNAL_LINK`.
        text = _EXTERNAL_LINK.sub(b"none=''", data).decode("utf-8", "replace")
        png = resvg_py.svg_to_bytes(svg_string=text, width=min(4_000, request["width"] * 2))
        image = Image.open(io.BytesIO(png), formats=("PNG",))
        if image.width * image.height > MAX_PIXELS:
            raise ValueError
        return _scale_image(image, request, {"format": "SVG", "frames": 1})
    except (ValueError, OSError, RuntimeError):
        return {"format": "SVG", "problem": "the SVG file could not be read"}, b""


def _scale_image(image: Any, request: dict[str, Any], info: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    from PIL import Image

    scale = min(request["width"] / image.width, request["height"] / image.height)
    if scale > 1:
        scale = min(int(scale), MAX_ENLARGEMENT)
    size = max(1, round(image.width * scale)), max(1, round(image.height * scale))
    has_alpha = image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info
    image = image.convert("RGBA" if has_alpha else "RGB")
    if size != image.size:
        resampling = Image.Resampling.NEAREST if scale > 1 else Image.Resampling.HAMMING
        image = image.resize(size, resampling, reducing_gap=3.0 if scale < 1 else None)
    if has_alpha:
        backdrop = Image.new("RGBA", size, (*request["background"], 255))
        image = Image.alpha_composite(backdrop, image).convert("RGB")
    return {**info, "size": size}, image.tobytes()


if __name__ == "__main__":
    main()
