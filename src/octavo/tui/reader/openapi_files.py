"""OpenAPI specifications of a page: from the organization, or a JSON or YAML file of the space. Other URLs are never
loaded. Files are untrusted: a child process with limits parses them."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from octavo.api import openapi
from octavo.api.errors import ApiError, NotFound
from octavo.api.places import ContentRef, OrganizationRef
from octavo.documents import links
from octavo.documents.openapi import Specification
from octavo.tui.reader.linked_files import file_of
from octavo.tui.terminal import child_programs
from octavo.untrusted_input import parse_json

if TYPE_CHECKING:
    from octavo.data.live import Live
    from octavo.tui.core.session import Session

FILE_BYTES, SECONDS, MEMORY = 4 << 20, 20.0, 512 << 20
"""Maximum size of an OpenAPI file in bytes, and the seconds and bytes of memory that its parser may use."""
_MOST_READ = 32 << 20
"""Maximum number of bytes that the child process may write. References are resolved, so a specification can be larger
than its file."""


async def load_by_slug(live: Live, at: OrganizationRef, slug: str) -> Specification:
    """Load the specification that the organization has under a slug. Its `error` says why it cannot be loaded."""
    try:
        found = await live.cached_or_fetch(openapi.GetLatestContent(at=at, spec_slug=slug))
    except NotFound:
        return Specification(
            error=f"The OpenAPI specification {slug} does not exist in this organization, or none of its versions can be read."
        )
    except (ApiError, ValueError) as error:
        return Specification(error=f"Could not load the OpenAPI specification {slug}: {error}")
    return (
        Specification(spec)
        if (spec := _main_file(found.filesystem))
        else Specification(error=_NOT_OPENAPI.format(slug))
    )


async def load_from_link(
    session: Session, at: OrganizationRef, location: ContentRef | None, target: links.Target
) -> Specification:
    """Load the specification that a link leads to: from the organization if it has that URL, or a file of the space
    `location`. Its `error` says why it cannot be loaded."""
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
            return await _file(session, location, target)
        known = await session.live.cached_or_fetch(openapi.List(at=at, limit=100))
    except (ApiError, ValueError) as error:
        return Specification(error=f"Could not load the OpenAPI specification {address}: {error}")
    slug = next((each.slug or each.id for each in known.items if each.source_url == address), None)
    if slug is not None:
        return await load_by_slug(session.live, at, slug)
    return Specification(
        error=f"{address} is not an OpenAPI specification in this organization, so Octavo did not load it."
    )


async def _file(session: Session, location: ContentRef, target: links.FileLink) -> Specification:
    file = await file_of(session.live, location, target)
    if file is None or not file.download_url:
        return Specification(error=f"The OpenAPI file {target.name} was deleted.")
    content = bytearray()
    async with aclosing(session.download(file.download_url, FILE_BYTES)) as chunks:
        async for chunk in chunks:
            content += chunk
    return await parse_file(bytes(content), file.name or target.name)


async def parse_file(content: bytes, named: str, *, seconds: float = SECONDS) -> Specification:
    """Parse an OpenAPI file. The `error` of the result says why it cannot be parsed."""
    try:
        result = await child_programs.run_bounded(
            "read_specification", content, seconds=seconds, memory=MEMORY, most=_MOST_READ
        )
    except OSError as failure:
        return Specification(
            error=f"Could not read {named}: {failure.strerror or 'the program that reads it could not be started'}."
        )
    if result.exceeded or not result.output:
        return Specification(error=f"Could not read {named}: the file takes too much time or memory to read.")
    found = await asyncio.to_thread(_assemble, result.output)
    if isinstance(found, str):
        return Specification(error=f"Could not show {named} as an OpenAPI specification. {found}")
    return (
        Specification(found)
        if "openapi" in found or "swagger" in found
        else Specification(error=_NOT_OPENAPI.format(named))
    )


def _assemble(lines: bytes) -> dict[str, Any] | str:
    """Return the content of the file that the child process parsed, or an error message."""
    whole: dict[str, Any] = {}
    try:
        for line in lines.splitlines():
            record = parse_json(line)
            if isinstance(record, str):
                return record
            names, value = record
            if not names:
                return value if isinstance(value, dict) else "The file must contain a JSON or YAML object."
            parent = whole
            for name in names[:-1]:
                parent = parent.setdefault(name, {})
            parent[names[-1]] = value
    except (ValueError, TypeError, AttributeError):  # A malicious file may control the child process.
        return "The file could not be parsed."
    return whole


_NOT_OPENAPI = "{} is not an OpenAPI specification: it has neither an openapi nor a swagger field."


def _main_file(filesystem: object) -> dict[str, Any] | None:
    """Return the main file of a specification. None if there is none."""
    files = list(filesystem.values()) if isinstance(filesystem, dict) else filesystem
    for file in [filesystem, *files] if isinstance(files, list) else ():
        file = file.get("specification", file) if isinstance(file, dict) else file
        if isinstance(file, dict) and ("openapi" in file or "swagger" in file):
            return file
    return None
