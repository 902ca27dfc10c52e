"""Linked images and OpenAPI files: downloads them with limits, and decodes them in a child process."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic import BaseModel, NonNegativeInt

from octavo.api import openapi
from octavo.api.content import File
from octavo.api.errors import ApiError, NotFound
from octavo.api.operation import ContentRef, OrganizationRef
from octavo.api.text import SafeLine
from octavo.data.loaders import all_items, find_file
from octavo.documents import links
from octavo.documents.openapi import Specification
from octavo.tui.core.session import Session
from octavo.tui.render.deferred import AsyncCache, ThumbnailQuery
from octavo.tui.render.layout_context import file_label
from octavo.tui.terminal.display import ScaledPicture
from octavo.tui.terminal.limited_programs import run_bounded
from octavo.untrusted_input import parse_json

if TYPE_CHECKING:
    from octavo.data.live import Live


MAX_IMAGE_BYTES = 15 << 20
"""Maximum size of an image in bytes."""
DOWNLOAD_TIMEOUT = 10.0
"""Seconds after which the download of an image is given up."""
DECODE_TIMEOUT = 5.0
"""Seconds after which the child process that decodes an image is killed."""
MAX_DECODE_MEMORY = 768 << 20
"""Bytes of memory that the child process may use to decode an image."""
MAX_IMAGE_CELLS = 8_000
"""Maximum number of cells that an image fills. A larger image would be slow to paint."""
_HEADER_BYTES = 4096
"""Maximum length in bytes of the JSON header in the output, which is before the pixels."""
_TOO_MUCH_MEMORY, _INCOMPLETE = "decoding the image needs too much memory", "the file could not be decoded completely"


class ImageUnavailable(Exception):
    """Raised if an image cannot be shown. The message is a sentence that says why."""


@dataclass(frozen=True)
class ImageLocation:
    """Place from which an image can be loaded: a file of the space, or another website."""

    url: str
    name: str
    file: File | None = None
    """The file of the space. None for an image on another website."""

    @property
    def host(self) -> str:
        """Host of an image on another website. Empty for a file of the space."""
        return "" if self.file is not None else urlsplit(self.url).netloc

    @property
    def cache_key(self) -> str:
        """Key of the image in the cache, without the query of a file's URL, because each response has another query."""
        return self.url if self.file is None else f"{self.file.id} {self.file.size} {self.url.partition('?')[0]}"


async def locate_image(session: Session, at: ContentRef, target: links.Target) -> ImageLocation:
    """Return where the image behind a link of a page can be loaded from. Raises ImageUnavailable if the link is broken,
    unencrypted (http), or leads to no image. Raises ApiError."""
    match target:
        case links.FileLink(name=name):
            file = await find_file(session.live, at, target)
            if file is None:
                raise ImageUnavailable(f"The file {name} is no longer in this space.")
            if not file.download_url:
                raise ImageUnavailable(f"The server sent no download link for {file.name or name}.")
            return ImageLocation(file.download_url, file.name or name, file)
        case links.UrlLink(url=url):
            if not url.startswith("https://"):
                raise ImageUnavailable("Octavo does not load images over an unencrypted connection (http).")
            return ImageLocation(url, file_label(url))
        case links.BrokenLink(reason=reason):
            raise ImageUnavailable(reason)
        case _:
            raise ImageUnavailable("The link does not point to an image.")


async def cached_image(session: Session, location: ImageLocation) -> bytes | None:
    """Return the bytes of an image from the cache. None if it is not cached."""
    return await asyncio.to_thread(session.live.cache.read_derived, f"image {location.cache_key}")


async def download_image(session: Session, location: ImageLocation) -> bytes:
    """Download an image and store it in the cache. Raises ImageUnavailable or ApiError."""
    try:
        async with asyncio.timeout(DOWNLOAD_TIMEOUT):
            content = await _download(session, location.url, MAX_IMAGE_BYTES)
    except TimeoutError:
        raise ImageUnavailable(f"Could not load the image within {DOWNLOAD_TIMEOUT:g} s. Press r to retry.") from None
    session.live.cache.put_derived(f"image {location.cache_key}", lambda: content)
    return content


async def _download(session: Session, url: str, limit: int) -> bytes:
    async with aclosing(session.download(url, limit)) as chunks:
        return b"".join([chunk async for chunk in chunks])


async def scale_image(
    data: bytes, columns: int, rows: int, background: tuple[int, int, int], *, pixel_scale: int = 1
) -> ScaledPicture:
    """Decode an image in a child process, and scale it to fit into `columns` and `rows`. A cell is `pixel_scale` pixels
    wide and twice as high. If decoding fails, `problem` of the result says why."""
    width, height = max(1, columns) * pixel_scale, max(1, rows) * 2 * pixel_scale
    while width * height > 2 * MAX_IMAGE_CELLS * pixel_scale * pixel_scale:
        width, height = width * 19 // 20, height * 19 // 20
    request = json.dumps({"width": width, "height": height, "background": background}).encode()
    try:
        program_output = await run_bounded(
            "decode_picture",
            request + b"\n" + data,
            seconds=DECODE_TIMEOUT,
            memory=MAX_DECODE_MEMORY,
            max_bytes=_HEADER_BYTES + 3 * width * height,
        )
    except OSError as error:
        return ScaledPicture(problem=f"Could not start the program that decodes images: {error.strerror}.")
    if program_output.exceeded_limit:
        return ScaledPicture(problem=f"Could not decode the image within {DECODE_TIMEOUT:g} s.")
    return parse_picture(program_output.output)


class _Header(BaseModel):
    """JSON that a child process prints before the pixels. Untrusted: a malicious image may control the process."""

    problem: SafeLine = ""
    format: SafeLine = ""
    width: NonNegativeInt = 0
    height: NonNegativeInt = 0
    frames: NonNegativeInt = 1
    size: tuple[NonNegativeInt, NonNegativeInt] = (0, 0)
    """Width and height of the scaled image, in pixels."""


def parse_picture(output: bytes) -> ScaledPicture:
    """Return the image in the output of the child process. If there is no image, `problem` of the result says why."""
    header_json, separator, pixels = output.partition(b"\n")
    try:
        header = _Header.model_validate_json(header_json) if separator else _Header(problem=_TOO_MUCH_MEMORY)
    except ValueError:
        header = _Header(problem=_INCOMPLETE)
    columns, rows = header.size
    problem = header.problem
    if not problem and (not pixels or len(pixels) != columns * rows * 3):
        problem = _INCOMPLETE
    picture = ScaledPicture(
        format=header.format,
        width=header.width,
        height=header.height,
        frames=header.frames,
        problem=f"Could not show the image: {problem}." if problem else "",
    )
    return picture if problem else replace(picture, columns=columns, rows=rows, pixels=pixels)


def thumbnails(session: Session, background: tuple[int, int, int]) -> AsyncCache[ThumbnailQuery, ScaledPicture]:
    """Return a cache of thumbnails on the color `background`. It never downloads images of other websites, but shows
    the copies that the image cache has."""

    async def load(query: ThumbnailQuery) -> ScaledPicture | None:
        try:
            location = await locate_image(session, query.content_ref, query.target)
            cached_data = await cached_image(session, location)
            if cached_data is None:
                if location.host:
                    return None
                cached_data = await download_image(session, location)
            return await scale_image(cached_data, query.columns, query.rows, background)
        except (ImageUnavailable, ApiError):
            return None  # The frame then shows the name of the image.

    return AsyncCache(load, capacity=50)


MAX_SPECIFICATION_BYTES = 4 << 20
"""Maximum size of an OpenAPI file in bytes."""
PARSE_TIMEOUT = 20.0
"""Seconds after which the child process that parses an OpenAPI file is killed."""
MAX_PARSE_MEMORY = 512 << 20
"""Bytes of memory that the child process may use to parse an OpenAPI file."""
_MAX_PARSED_SIZE = 32 << 20
"""Maximum size in bytes of a parsed OpenAPI file. It is larger than the file: references are replaced by contents."""


async def load_by_slug(live: Live, at: OrganizationRef, slug: str) -> Specification:
    """Load an organization's OpenAPI specification by its slug. If this fails, `error` of the result says why."""
    try:
        content = await live.cached_or_fetch(openapi.GetLatestContent(at=at, spec_slug=slug))
    except NotFound:
        return Specification(
            error=f"The OpenAPI specification {slug} does not exist in this organization, or none of its versions can be read."
        )
    except (ApiError, ValueError) as error:
        return Specification(error=f"Could not load the OpenAPI specification {slug}: {error}")
    spec = _main_file(content.filesystem)
    return Specification(spec) if spec else Specification(error=_NOT_OPENAPI.format(slug))


async def load_specification_from_link(
    session: Session, at: OrganizationRef, location: ContentRef | None, target: links.Target
) -> Specification:
    """Load the OpenAPI specification behind a link in the content `location`. The link leads to a file of the space
    (if `location` is not None), or to the URL from which the organization has loaded a specification. If loading
    fails, `error` of the result says why."""
    match target:
        case links.UrlLink(url=url):
            address = url
        case links.FileLink(name=name, path=path):
            address = path or name
        case links.BrokenLink(reason=reason):
            return Specification(error=f"The link to the OpenAPI specification is broken. {reason}")
        case _:
            return Specification(error="The link does not point to an OpenAPI specification.")
    try:
        if isinstance(target, links.FileLink) and location is not None:
            return await _specification_in_space(session, location, target)
        specifications = await all_items(session.live, openapi.List(at=at, limit=100), is_fresh=False)
    except (ApiError, ValueError) as error:
        return Specification(error=f"Could not load the OpenAPI specification {address}: {error}")
    slug = next((each.slug or each.id for each in specifications if each.source_url == address), None)
    if slug is not None:
        return await load_by_slug(session.live, at, slug)
    return Specification(
        error=f"{address} is not an OpenAPI specification in this organization, so Octavo did not load it."
    )


async def _specification_in_space(session: Session, location: ContentRef, target: links.FileLink) -> Specification:
    file = await find_file(session.live, location, target)
    if file is None or not file.download_url:
        return Specification(error=f"The OpenAPI file {target.name} was deleted.")
    content = await _download(session, file.download_url, MAX_SPECIFICATION_BYTES)
    return await parse_file(content, file.name or target.name)


async def parse_file(content: bytes, name: str, *, seconds: float = PARSE_TIMEOUT) -> Specification:
    """Parse the OpenAPI file `name` in a child process. If this fails, `error` of the result says why."""
    try:
        program_output = await run_bounded(
            "read_specification", content, seconds=seconds, memory=MAX_PARSE_MEMORY, max_bytes=_MAX_PARSED_SIZE
        )
    except OSError as failure:
        return Specification(
            error=f"Could not read {name}: {failure.strerror or 'the program that reads it could not be started'}."
        )
    if program_output.exceeded_limit or not program_output.output:
        return Specification(error=f"Could not read {name}: the file takes too much time or memory to read.")
    parsed_file = await asyncio.to_thread(_assemble, program_output.output)
    if isinstance(parsed_file, str):
        return Specification(error=f"Could not show {name} as an OpenAPI specification. {parsed_file}")
    is_openapi = "openapi" in parsed_file or "swagger" in parsed_file
    return Specification(parsed_file) if is_openapi else Specification(error=_NOT_OPENAPI.format(name))


def _assemble(output: bytes) -> dict[str, Any] | str:
    content: dict[str, Any] = {}
    try:
        for line in output.splitlines():
            record = parse_json(line)
            if isinstance(record, str):
                return record
            names, value = record
            if not names:
                return value if isinstance(value, dict) else "The file must contain a JSON or YAML object."
            parent = content
            for name in names[:-1]:
                parent = parent.setdefault(name, {})
            parent[names[-1]] = value
    except (ValueError, TypeError, AttributeError):
        # A malicious file may control the child process, so the output can have any shape.
        return "The file could not be parsed."
    return content


_NOT_OPENAPI = "{} is not an OpenAPI specification: it has neither an openapi nor a swagger field."


def _main_file(filesystem: object) -> dict[str, Any] | None:
    files = list(filesystem.values()) if isinstance(filesystem, dict) else filesystem
    for file in [filesystem, *files] if isinstance(files, list) else ():
        file = file.get("specification", file) if isinstance(file, dict) else file
        if isinstance(file, dict) and ("openapi" in file or "swagger" in file):
            return file
    return None
