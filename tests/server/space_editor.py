"""A space with pages, and functions that edit it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from octavo.api import change_requests, content, spaces
from octavo.api.change_requests import ChangeRequest, MergeResult
from octavo.api.content import ContentEdit, DocumentBody, Page, PageTree
from octavo.api.operation import ChangeRequestRef, ContentRef, OrganizationRef, SpaceRef
from tests.server.small_platform import Ask

ACME = OrganizationRef(organization_id="acme")


def insert(markdown: str, **fields: Any) -> content.InsertPage:
    return content.InsertPage(document=DocumentBody(markdown=markdown), **fields)


def update(page: str, markdown: str | None = None, **fields: Any) -> content.UpdatePage:
    if markdown is not None:
        fields["document"] = DocumentBody(markdown=markdown)
    return content.UpdatePage(page=page, **fields)


@dataclass
class SpaceEditor:
    """A space, with functions that create, edit and merge its change requests."""

    ask: Ask
    space: SpaceRef

    @classmethod
    async def open(cls, ask: Ask, *markdown: str) -> SpaceEditor:
        """Create a space of acme with these pages. Each text begins with the title as its heading."""
        space = await ask(spaces.Create(at=ACME, title="Docs"))
        editor = cls(ask, space.ref)
        if markdown:
            tree = await editor.tree()
            empty = content.DeletePage(page=tree.pages[0].id)
            await editor.publish(empty, *(insert(text) for text in markdown))
        return editor

    async def propose(
        self, *changes: ContentEdit, user: str = "jun", subject: str = "Better words"
    ) -> ChangeRequestRef:
        """Create a change request with these changes in one edit."""
        created = await self.ask(change_requests.Create(at=self.space, subject=subject), user)
        if changes:
            await self.edit(created.ref(self.space), *changes, user=user)
        return created.ref(self.space)

    async def edit(self, at: ChangeRequestRef, *changes: ContentEdit, user: str = "jun") -> dict[str, Any]:
        answer: dict[str, Any] = await self.ask(content.Edit(at=at, changes=changes, compat=False), user)
        return answer

    async def publish(self, *changes: ContentEdit) -> MergeResult:
        """Merge these changes into main."""
        return await self.merge(await self.propose(*changes, user="ada"))

    async def merge(self, at: ChangeRequestRef, user: str = "ada") -> MergeResult:
        return await self.ask(change_requests.Merge(at=at), user)

    async def get(self, at: ChangeRequestRef) -> ChangeRequest:
        return await self.ask(change_requests.Get(at=at))

    async def tree(self, at: ContentRef | None = None) -> PageTree:
        return await self.ask(content.ListPages(at=at or self.space))

    async def page(self, title: str, at: ContentRef | None = None) -> Page:
        """Return the page with this title, as Markdown."""
        found = next(page for page in (await self.tree(at)).walk() if page.title == title)
        return await self.ask(content.GetPage(at=at or self.space, page_id=found.id, format="markdown"))

    async def id(self, title: str) -> str:
        return (await self.page(title)).id

    async def outline(self, at: ContentRef | None = None) -> str:
        """Return the titles of the page tree, with subpages in brackets."""

        def line(pages: tuple[Page, ...]) -> str:
            return " ".join(page.title + (f"({line(page.pages)})" if page.pages else "") for page in pages)

        return line((await self.tree(at)).pages)
