"""Pictures brought here: where their bytes are, fetched under limits, and made small by a program of its own."""

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
from octavo.tui.reader.linked_files import file_of
from octavo.tui.render.caches import AsyncCache
from octavo.tui.render.embeds import file_name
from octavo.tui.render.half_block_pictures import ThumbnailQuery
from octavo.tui.shell.session import Session
from octavo.tui.terminal import child_programs
from octavo.tui.terminal.graphics import ScaledPicture

PICTURE_BYTES = 15 << 20
"""Bytes of a picture that is shown."""
SECONDS = 10.0
"""In which all of it has to be here."""
DECODING, MEMORY = 5.0, 768 << 20
MOST_CELLS = 8_000
"""Of a picture in half blocks: more take longer to paint than one wants to wait for a key."""
_HEAD = 4096
_TOO_MUCH, _NOT_ALL = "decoding the image needs too much memory", "the file could not be decoded completely"


class NotShown(Exception):
    """An image cannot be shown. The message is a sentence that says why."""


@dataclass(frozen=True)
class Place:
    """Where the bytes of a picture are."""

    url: str
    name: str
    file: File | None = None
    """What the space knows of it; None for a picture from elsewhere."""

    @property
    def host(self) -> str:
        """Who is asked for a picture from elsewhere; nothing for a file of the space."""
        return "" if self.file is not None else urlsplit(self.url).netloc

    @property
    def kept_as(self) -> str:
        """What tells it from others: addresses of files come with signatures that change."""
        return self.url if self.file is None else f"{self.file.id} {self.file.size} {self.url.partition('?')[0]}"


async def place_of(session: Session, at: ContentRef, target: links.Target) -> Place:
    """Where a picture is that a page at `at` shows. Raises NotShown and ApiError."""
    match target:
        case links.ToFile(name=name):
            file = await file_of(session.live, at, target)
            if file is None:
                raise NotShown(f"The file {name} is no longer in this space.")
            if not file.download_url:
                raise NotShown(f"The server sent no download link for {file.name or name}.")
            return Place(file.download_url, file.name or name, file)
        case links.ToUrl(url=url):
            if not url.startswith("https://"):
                raise NotShown("Octavo does not load images over an unencrypted connection (http).")
            return Place(url, file_name(url))
        case links.BrokenLink(reason=reason):
            raise NotShown(reason)
        case _:
            raise NotShown("The link does not point to an image.")


async def kept(session: Session, place: Place) -> bytes | None:
    """The bytes of a picture that was looked at before."""
    return await asyncio.to_thread(session.image_cache.get, place.kept_as)


async def bring(session: Session, place: Place) -> bytes:
    """The bytes of a picture. Raises NotShown and ApiError."""
    data = bytearray()
    try:
        async with asyncio.timeout(SECONDS), aclosing(session.download(place.url, PICTURE_BYTES)) as chunks:
            async for chunk in chunks:
                data += chunk
    except TimeoutError:
        raise NotShown(f"Could not load the image within {SECONDS:g} s. Press r to retry.") from None
    whole = bytes(data)
    await asyncio.to_thread(session.image_cache.put, place.kept_as, whole)
    return whole


async def small(data: bytes, columns: int, rows: int, ground: tuple[int, int, int], *, finer: int = 1) -> ScaledPicture:
    """A picture as it fits into cells of a terminal, two pixels to each, or `finer` times as many in each direction."""
    width, height = max(1, columns) * finer, max(1, rows) * 2 * finer
    while width * height > 2 * MOST_CELLS * finer * finer:
        width, height = width * 19 // 20, height * 19 // 20
    asked = json.dumps({"width": width, "height": height, "ground": ground}).encode()
    try:
        told = await child_programs.run_bounded(
            "decode_picture", asked + b"\n" + data, seconds=DECODING, memory=MEMORY, most=_HEAD + 3 * width * height
        )
    except OSError as error:
        return ScaledPicture(trouble=f"Could not start the program that decodes images: {error.strerror}.")
    if told.exceeded:
        return ScaledPicture(trouble=f"Could not decode the image within {DECODING:g} s.")
    return read_answer(told.output)


class _About(BaseModel):
    """What the program that decodes says of a picture. It worked on what strangers wrote, and may say anything."""

    trouble: SafeLine = ""
    format: SafeLine = ""
    width: NonNegativeInt = 0
    height: NonNegativeInt = 0
    frames: NonNegativeInt = 1
    size: tuple[NonNegativeInt, NonNegativeInt] = (0, 0)


def read_answer(output: bytes) -> ScaledPicture:
    """What the program that decodes says, as a picture; or why there is none."""
    head, found, pixels = output.partition(b"\n")
    try:
        about = _About.model_validate_json(head) if found else _About(trouble=_TOO_MUCH)
    except ValueError:
        about = _About(trouble=_NOT_ALL)
    columns, rows = about.size
    trouble = about.trouble
    if not trouble and (not pixels or len(pixels) != columns * rows * 3):
        trouble = _NOT_ALL
    read = ScaledPicture(
        format=about.format,
        width=about.width,
        height=about.height,
        frames=about.frames,
        trouble=f"Could not show the image: {trouble}." if trouble else "",
    )
    return read if trouble else replace(read, columns=columns, rows=rows, pixels=pixels)


def thumbnails(session: Session, ground: tuple[int, int, int]) -> AsyncCache[ThumbnailQuery, ScaledPicture]:
    """Pictures small enough to stand within their page. Other sites are not asked for theirs."""

    async def find(thumb: ThumbnailQuery) -> ScaledPicture | None:
        try:
            place = await place_of(session, thumb.page, thumb.target)
            data = await kept(session, place)
            if data is None and place.host:
                return None
            return await small(data or await bring(session, place), thumb.columns, thumb.rows, ground)
        except (NotShown, ApiError):
            return None  # its frame says what there is to say

    return AsyncCache(find, capacity=50)
