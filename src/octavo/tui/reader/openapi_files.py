"""Descriptions of interfaces that blocks of a page name: filed in the organization, or a file of the space, in JSON or
YAML. No stranger is asked for one. What strangers wrote is read by a program of its own, within bounds."""

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
    from octavo.tui.shell.session import Session

FILE_BYTES, SECONDS, MEMORY = 4 << 20, 20.0, 512 << 20
"""Bytes of a file that is read as a description, and what reading it may take."""
_MOST_READ = 32 << 20
"""Bytes of what it says, each name written out where it is referred to."""


async def filed(live: Live, at: OrganizationRef, slug: str) -> Specification:
    """What an organization has filed under `slug`, read; or why it cannot be."""
    try:
        found = await live.cached_or_fetch(openapi.GetLatestContent(at=at, spec_slug=slug))
    except NotFound:
        return Specification(
            error=f"The OpenAPI specification {slug} does not exist in this organization, or none of its versions can be read."
        )
    except (ApiError, ValueError) as error:
        return Specification(error=f"Could not load the OpenAPI specification {slug}: {error}")
    return Specification(spec) if (spec := _whole(found.filesystem)) else Specification(error=_NOT_ONE.format(slug))


async def at_address(
    session: Session, at: OrganizationRef, place: ContentRef | None, target: links.Target
) -> Specification:
    """What is described where an address leads: filed in the organization with that source, or a file of the space at
    `place`. Else why it is not read."""
    match target:
        case links.ToUrl(url=url):
            address = url
        case links.ToFile(name=name, path=path):
            address = path or name
        case links.BrokenLink(reason=reason):
            return Specification(error=f"The link to the OpenAPI specification is broken. {reason}")
        case _:
            return Specification(error="The link does not point to an OpenAPI specification.")
    try:
        if isinstance(target, links.ToFile) and place is not None:
            return await _file(session, place, target)
        known = await session.live.cached_or_fetch(openapi.List(at=at, limit=100))
    except (ApiError, ValueError) as error:
        return Specification(error=f"Could not load the OpenAPI specification {address}: {error}")
    slug = next((each.slug or each.id for each in known.items if each.source_url == address), None)
    if slug is not None:
        return await filed(session.live, at, slug)
    return Specification(
        error=f"{address} is not an OpenAPI specification in this organization, so Octavo did not load it."
    )


async def _file(session: Session, place: ContentRef, target: links.ToFile) -> Specification:
    file = await file_of(session.live, place, target)
    if file is None or not file.download_url:
        return Specification(error=f"The OpenAPI file {target.name} was deleted.")
    content = bytearray()
    async with aclosing(session.download(file.download_url, FILE_BYTES)) as chunks:
        async for chunk in chunks:
            content += chunk
    return await read(bytes(content), file.name or target.name)


async def read(content: bytes, named: str, *, seconds: float = SECONDS) -> Specification:
    """What a file describes; or why it cannot be read."""
    try:
        told = await child_programs.run_bounded(
            "read_specification", content, seconds=seconds, memory=MEMORY, most=_MOST_READ
        )
    except OSError as failure:
        return Specification(
            error=f"Could not read {named}: {failure.strerror or 'the program that reads it could not be started'}."
        )
    if told.exceeded or not told.output:
        return Specification(error=f"Could not read {named}: the file takes too much time or memory to read.")
    found = await asyncio.to_thread(_put_together, told.output)
    if isinstance(found, str):
        return Specification(error=f"Could not show {named} as an OpenAPI specification. {found}")
    return (
        Specification(found)
        if "openapi" in found or "swagger" in found
        else Specification(error=_NOT_ONE.format(named))
    )


def _put_together(lines: bytes) -> dict[str, Any] | str:
    """What a program of `bounded/` read; or the sentence that says why it could not."""
    whole: dict[str, Any] = {}
    try:
        for line in lines.splitlines():
            said = parse_json(line)
            if isinstance(said, str):
                return said
            names, value = said
            if not names:
                return value if isinstance(value, dict) else "The file must contain a JSON or YAML object."
            place = whole
            for name in names[:-1]:
                place = place.setdefault(name, {})
            place[names[-1]] = value
    except (ValueError, TypeError, AttributeError):  # a file took over the program that reads it
        return "The file could not be parsed."
    return whole


_NOT_ONE = "{} is not an OpenAPI specification: it has neither an openapi nor a swagger field."


def _whole(filesystem: object) -> dict[str, Any] | None:
    """The file of a specification that describes the interface as a whole."""
    files = list(filesystem.values()) if isinstance(filesystem, dict) else filesystem
    for file in [filesystem, *files] if isinstance(files, list) else ():
        file = file.get("specification", file) if isinstance(file, dict) else file
        if isinstance(file, dict) and ("openapi" in file or "swagger" in file):
            return file
    return None
