"""Descriptions of interfaces that blocks of a page name: filed in the organization, or a file of the space. No stranger
is asked for one."""

from __future__ import annotations

import json
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from octavo.api import openapi
from octavo.api.errors import ApiError, NotFound
from octavo.api.places import ContentRef, OrganizationRef
from octavo.documents import links
from octavo.documents.openapi import Specification
from octavo.tui.linked_files import file_of

if TYPE_CHECKING:
    from octavo.data.live import Live
    from octavo.tui.session import Session

MOST = 2 << 20
"""Bytes of a file that is read as a description."""


def is_address(named: str) -> bool:
    """Whether a block says where its interface is described, instead of under which name."""
    return "/" in named or "." in named


async def filed(live: Live, at: OrganizationRef, slug: str) -> Specification:
    """What an organization has filed under `slug`, read; or why it cannot be."""
    try:
        found = await live.known(openapi.GetLatestContent(at=at, spec_slug=slug))
    except NotFound:
        return Specification(
            trouble=f"This organization has no specification {slug}, or none of its versions could be read."
        )
    except (ApiError, ValueError) as error:
        return Specification(trouble=f"The specification {slug} cannot be read: {error}")
    return Specification(spec) if (spec := _whole(found.filesystem)) else Specification(trouble=_NOT_ONE.format(slug))


async def at_address(
    session: Session, at: OrganizationRef, address: str, place: ContentRef | None, target: links.Target | None
) -> Specification:
    """What is described at an address: filed in the organization with that source, or a file of the space at `place`, which
    `target` says. Else why it is not read."""
    try:
        if isinstance(target, links.ToFile) and place is not None:
            return await _file(session, place, target)
        known = await session.live.known(openapi.List(at=at, limit=100))
    except (ApiError, ValueError) as error:
        return Specification(trouble=f"What is described in {address} cannot be read: {error}")
    slug = next((each.slug or each.id for each in known.items if each.source_url == address), None)
    if slug is not None:
        return await filed(session.live, at, slug)
    return Specification(
        trouble=f"It is described in {address}, which is not filed in this organization: it is not read."
    )


async def _file(session: Session, place: ContentRef, target: links.ToFile) -> Specification:
    file = await file_of(session.live, place, target)
    if file is None or not file.download_url:
        return Specification(trouble=f"The file {target.name} that describes it is gone.")
    content = bytearray()
    async with aclosing(session.download(file.download_url, MOST)) as chunks:
        async for chunk in chunks:
            content += chunk
    try:
        read: Any = json.loads(content)
    except (ValueError, RecursionError):
        return Specification(
            trouble=f"The file {file.name or target.name} that describes it is no JSON: it is not read."
        )
    return Specification(spec) if (spec := _whole(read)) else Specification(trouble=_NOT_ONE.format(target.name))


_NOT_ONE = "What is filed as {} is no description of an interface that can be shown."


def _whole(filesystem: object) -> dict[str, Any] | None:
    """The file of a specification that describes the interface as a whole."""
    files = list(filesystem.values()) if isinstance(filesystem, dict) else filesystem
    for file in [filesystem, *files] if isinstance(files, list) else ():
        file = file.get("specification", file) if isinstance(file, dict) else file
        if isinstance(file, dict) and ("openapi" in file or "swagger" in file):
            return file
    return None
