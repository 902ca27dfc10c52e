"""Images of a page: downloaded with limits, and decoded and scaled by a child process."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from pydantic import BaseModel, NonNegativeInt

from octavo.api.content import File
from octavo.api.errors import ApiError
from octavo.api.places import ContentRef
from octavo.api.text import SafeLine
from octavo.documents import links
from octavo.tui.core.session import Session
from octavo.tui.reader.linked_files import file_of
from octavo.tui.render.caches import AsyncCache
from octavo.tui.render.embeds import file_name
from octavo.tui.render.images import ThumbnailQuery
from octavo.tui.terminal import child_programs
from octavo.tui.terminal.graphics import ScaledPicture

IMAGE_BYTES = 15 << 20
"""Maximum size of an image in bytes."""
DOWNLOAD_SECONDS = 10.0
"""Maximum duration of an image download in seconds."""
DECODE_SECONDS, MEMORY = 5.0, 768 << 20
MOST_CELLS = 8_000
"""Maximum number of cells of an image that is drawn with half blocks. More cells take too long to paint."""
_HEAD = 4096
_TOO_MUCH_MEMORY, _INCOMPLETE = "decoding the image needs too much memory", "the file could not be decoded completely"


class ImageUnavailable(Exception):
    """An image cannot be shown. The message says why."""


@dataclass(frozen=True)
class ImageLocation:
    """Location of an image."""

    url: str
    name: str
    file: File | None = None
    """File of the space. None for an external image."""

    @property
    def host(self) -> str:
        """Host of an external image. Empty for a file of the space."""
        return "" if self.file is not None else urlsplit(self.url).netloc

    @property
    def cache_key(self) -> str:
        """Cache key. The URLs of files contain signatures that change."""
        return self.url if self.file is None else f"{self.file.id} {self.file.size} {self.url.partition('?')[0]}"


async def locate_image(session: Session, at: ContentRef, target: links.Target) -> ImageLocation:
    """Return the location of an image on a page. Raise ImageUnavailable or ApiError if there is none."""
    match target:
        case links.FileLink(name=name):
            file = await file_of(session.live, at, target)
            if file is None:
                raise ImageUnavailable(f"The file {name} is no longer in this space.")
            if not file.download_url:
                raise ImageUnavailable(f"The server sent no download link for {file.name or name}.")
            return ImageLocation(file.download_url, file.name or name, file)
        case links.UrlLink(url=url):
            if not url.startswith("https://"):
                raise ImageUnavailable("Octavo does not load images over an unencrypted connection (http).")
            return ImageLocation(url, file_name(url))
        case links.BrokenLink(reason=reason):
            raise ImageUnavailable(reason)
        case _:
            raise ImageUnavailable("The link does not point to an image.")


async def cached_image(session: Session, location: ImageLocation) -> bytes | None:
    """Return the cached bytes of an image. None if it is not cached."""
    return await asyncio.to_thread(session.image_cache.get, location.cache_key)


async def download_image(session: Session, location: ImageLocation) -> bytes:
    """Download an image and cache it. Raise ImageUnavailable or ApiError if it cannot be downloaded."""
    data = bytearray()
    try:
        async with asyncio.timeout(DOWNLOAD_SECONDS), aclosing(session.download(location.url, IMAGE_BYTES)) as chunks:
            async for chunk in chunks:
                data += chunk
    except TimeoutError:
        raise ImageUnavailable(f"Could not load the image within {DOWNLOAD_SECONDS:g} s. Press r to retry.") from None
    content = bytes(data)
    await asyncio.to_thread(session.image_cache.put, location.cache_key, content)
    return content


async def scale_image(
    data: bytes, columns: int, rows: int, background: tuple[int, int, int], *, pixel_scale: int = 1
) -> ScaledPicture:
    """Decode and scale an image to fit into cells of a terminal, with two pixels per cell, or `pixel_scale` times as many in
    each direction."""
    width, height = max(1, columns) * pixel_scale, max(1, rows) * 2 * pixel_scale
    while width * height > 2 * MOST_CELLS * pixel_scale * pixel_scale:
        width, height = width * 19 // 20, height * 19 // 20
    request = json.dumps({"width": width, "height": height, "ground": background}).encode()
    try:
        result = await child_programs.run_bounded(
            "decode_picture",
            request + b"\n" + data,
            seconds=DECODE_SECONDS,
            memory=MEMORY,
            most=_HEAD + 3 * width * height,
        )
    except OSError as error:
        return ScaledPicture(trouble=f"Could not start the program that decodes images: {error.strerror}.")
    if result.exceeded:
        return ScaledPicture(trouble=f"Could not decode the image within {DECODE_SECONDS:g} s.")
    return read_answer(result.output)


class _Header(BaseModel):
    """Header that the child process writes before the pixels. It is untrusted: a malicious image may control the
    process."""

    trouble: SafeLine = ""
    format: SafeLine = ""
    width: NonNegativeInt = 0
    height: NonNegativeInt = 0
    frames: NonNegativeInt = 1
    size: tuple[NonNegativeInt, NonNegativeInt] = (0, 0)


def read_answer(output: bytes) -> ScaledPicture:
    """Return the image that the child process wrote. Its `trouble` says why there is none."""
    head, found, pixels = output.partition(b"\n")
    try:
        header = _Header.model_validate_json(head) if found else _Header(trouble=_TOO_MUCH_MEMORY)
    except ValueError:
        header = _Header(trouble=_INCOMPLETE)
    columns, rows = header.size
    trouble = header.trouble
    if not trouble and (not pixels or len(pixels) != columns * rows * 3):
        trouble = _INCOMPLETE
    picture = ScaledPicture(
        format=header.format,
        width=header.width,
        height=header.height,
        frames=header.frames,
        trouble=f"Could not show the image: {trouble}." if trouble else "",
    )
    return picture if trouble else replace(picture, columns=columns, rows=rows, pixels=pixels)


def thumbnails(session: Session, background: tuple[int, int, int]) -> AsyncCache[ThumbnailQuery, ScaledPicture]:
    """Return a cache of thumbnails for images in pages. External images are not downloaded."""

    async def find(thumb: ThumbnailQuery) -> ScaledPicture | None:
        try:
            location = await locate_image(session, thumb.page, thumb.target)
            data = await cached_image(session, location)
            if data is None and location.host:
                return None
            return await scale_image(
                data or await download_image(session, location), thumb.columns, thumb.rows, background
            )
        except (ImageUnavailable, ApiError):
            return None  # The frame of the image shows its name.

    return AsyncCache(find, capacity=50)
