"""A change request on pages that main changes too, and the steps of its reviewer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from octavo.api import change_requests, content
from octavo.api.content import ContentEdit, DocumentBody, GetRawPage, InsertPage, Page, UpdatePage
from octavo.api.operation import ChangeRequestRef, ContentRef, SpaceRef
from octavo.tui.core.routes import ToChangeRequest
from octavo.tui.review.conflict_choices import MergedPreviewScreen
from tests.journeys.stage import MARA, Run

HARBOUR = SpaceRef(space_id="harbour-api")
THEIRS, OURS = "Count the stores", "Recount the stores"


def edit_page(page: str, markdown: str) -> UpdatePage:
    return UpdatePage(page=page, document=DocumentBody(markdown=markdown))


def add_page(markdown: str, into: str | None = None) -> InsertPage:
    return InsertPage(document=DocumentBody(markdown=markdown), into=into)


@dataclass
class RequestScenario:
    """A change request of Mara, and a main that may change after its creation."""

    run: Run
    number: int = 0

    async def publish(self, *changes: ContentEdit, subject: str = THEIRS) -> None:
        """Merge these changes into main."""
        at = await self.propose(*changes, subject=subject)
        await self.run.ask(change_requests.Merge(at=at), MARA)

    async def propose(self, *changes: ContentEdit, subject: str = OURS) -> ChangeRequestRef:
        """Open a change request with these changes."""
        made = await self.run.ask(change_requests.Create(at=HARBOUR, subject=subject), MARA)
        at, self.number = made.ref(HARBOUR), made.number
        await self.run.ask(content.Edit(at=at, changes=changes, compat=False), MARA)
        await self.run.ask(change_requests.Update(at=at, status="open"), MARA)
        return at

    async def page(self, title: str, at: ContentRef = HARBOUR) -> Page:
        tree = await self.run.ask(content.ListPages(at=at), MARA)
        return next(page for page in tree.walk() if page.title == title)

    async def text(self, title: str, at: ContentRef = HARBOUR) -> str:
        """Return the source of a page."""
        page = await self.page(title, at)
        raw = (await self.run.ask(GetRawPage(at=at, page_id=page.id, format="markdown"), MARA)).markdown
        return raw.text if raw is not None else ""

    async def change_page(self, base: str, main: str, mine: str, *, title: str = "Stores") -> None:
        """Change one page in main and in a change request."""
        await self.publish(add_page(base), subject="Write down the stores")
        page = (await self.page(title)).id
        at = await self.propose(edit_page(page, mine))
        number = self.number
        await self.publish(edit_page(page, main))
        self.number = number
        assert (await self.run.ask(change_requests.Get(at=at), MARA)).outdated

    async def open(self) -> None:
        """Open the change request of Mara without its list, which takes four times as long."""
        requests = await self.run.ask(change_requests.List(at=HARBOUR), MARA)
        found = next(each for each in requests.items if each.number == self.number)
        self.run.app.go(ToChangeRequest(found.ref(HARBOUR)))
        await self.run.see(f"#{self.number} {OURS[:7]}")

    async def update(self) -> None:
        await self.run.press("U")
        await self.run.see(f"Update #{self.number} from main?", "incoming")
        await self.run.press("y")

    async def preview(self) -> str:
        """Return the source of the merged page. Opens and closes the preview."""
        before = self.run.app.screen
        await self.run.press("p")
        await self.run.see("PREVIEW")
        compared = cast("MergedPreviewScreen", self.run.app.screen).view.contents.page.compared
        assert compared is not None
        await self.run.press("p")
        assert self.run.app.screen is before
        return compared.new.source

    async def send(self) -> None:
        await self.run.press("ctrl+s")
        await self.run.hear("Resolved ", f" in #{self.number}.")

    async def merge(self) -> str:
        """Merge the change request, and return the text of the confirmation dialog."""
        await self.run.press("m")
        await self.run.see(f"Merge #{self.number}", "checked just now")
        dialog_text = self.run.text
        await self.run.later(seconds=1)
        await self.run.press("y")
        await self.run.hear(f"Merged #{self.number}.")
        return dialog_text
