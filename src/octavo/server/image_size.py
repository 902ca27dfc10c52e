"""The size of an image, read from the header of its file."""

from __future__ import annotations

import struct

from octavo.server.store import Json

_JPEG_FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}


def image_size(data: bytes) -> Json | None:
    """Return width and height in pixels of a PNG, GIF, JPEG or WebP. None for other formats and for damaged files."""
    try:
        size = _read_size(data)
    except struct.error:
        return None
    return {"width": size[0], "height": size[1]} if size and all(size) else None


def _read_size(data: bytes) -> tuple[int, int] | None:
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return _unpack_pair(">II", data, 16)
    if data.startswith((b"GIF87a", b"GIF89a")):
        return _unpack_pair("<HH", data, 6)
    if data.startswith(b"RIFF") and data[8:16] == b"WEBPVP8X":
        return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
    if data.startswith(b"RIFF") and data[8:16] == b"WEBPVP8 ":
        width, height = _unpack_pair("<HH", data, 26)
        return width & 0x3FFF, height & 0x3FFF
    if data.startswith(b"\xff\xd8"):
        return _jpeg_size(data)
    return None


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    position = 2
    while data[position : position + 1] == b"\xff":
        marker, length = struct.unpack_from(">xBH", data, position)
        if marker in _JPEG_FRAMES:
            height, width = _unpack_pair(">HH", data, position + 5)
            return width, height
        position += 2 + length
    return None


def _unpack_pair(form: str, data: bytes, position: int) -> tuple[int, int]:
    first, second = struct.unpack_from(form, data, position)
    return int(first), int(second)
