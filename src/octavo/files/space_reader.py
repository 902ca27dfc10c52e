"""Reads the content of a space for a folder: its layout, the texts of its pages and the bytes of its files."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing
from dataclasses import dataclass

from octavo.api import content
from octavo.api.content import File, Page, Revision
from octavo.api.places import ContentRef
from octavo.concurrency import gather_bounded
from octavo.data.availability import Send

PARALLEL = 6
"""Maximum number of requests at the same time."""
MAX_FILE = 256 << 20
"""Largest file that is downloaded, in bytes."""
Download = Callable[[str, int], AsyncGenerator[bytes, None]]


@dataclass(frozen=True)
class SpaceReader:
    """Reads one space, change request or revision. `send` and `download` are the functions of a session."""

    send: Send
    download: Download
    at: ContentRef

    async def revision(self) -> Revision:
        """Return the page tree and the list of files. Raises ApiError."""
        return await self.send(content.Get(at=self.at, computed=False))

    async def text(self, page: Page) -> str | None:
        """Return the Markdown of a page as the server has it. None if the server returns none. Raises ApiError."""
        if page.type != "document":
            return ""
        raw = await self.send(content.GetRawPage(at=self.at, page_id=page.id))
        return raw.markdown.text if raw.markdown is not None else None

    async def texts(self, pages: Iterable[Page], report: Callable[[int], object] = lambda done: None) -> dict[str, str]:
        """Return the Markdown of pages by their IDs, without pages whose Markdown the server does not return. `report` gets
        the number of pages read so far. Raises ApiError."""
        found: dict[str, str] = {}

        async def read(page: Page) -> None:
            if (text := await self.text(page)) is not None:
                found[page.id] = text
            report(len(found))

        await gather_bounded(read, list(pages), PARALLEL)
        return found

    async def file(self, file: File) -> bytes | None:
        """Return the bytes of a file. None if the server gives no link to it. Raises ApiError."""
        if not file.download_url:
            return None
        async with aclosing(self.download(file.download_url, MAX_FILE)) as chunks:
            return b"".join([chunk async for chunk in chunks])
