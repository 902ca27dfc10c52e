"""Diffs are current after moves, renames, deletions and edits by any user, in any order of the responses."""

from __future__ import annotations

import pytest

from octavo.api import change_requests, content
from octavo.api.content import ContentEdit, DeletePage, DocumentBody, InsertPage, RevertPage, UpdatePage
from octavo.api.operation import ChangeRequestRef, Operation, SpaceRef
from octavo.tui.core.routes import ToChangeRequest
from tests.journeys.stage import Run, Stage

HARBOUR = SpaceRef(space_id="harbour-api")
YUKI = "yuki-tanabe"

LATE_OPERATIONS = [change_requests.Get, content.ListChanges, content.ListPages]
"""Operations whose response may come last after a write."""


def parametrize_late(in_every_run: type[object]) -> pytest.MarkDecorator:
    """Parametrize a test with the operation whose response comes last. Ordinary runs use only `in_every_run`. Each
    operation is last in at least one test."""
    marked = [pytest.param(each, marks=[] if each is in_every_run else [pytest.mark.long]) for each in LATE_OPERATIONS]
    return pytest.mark.parametrize("late", marked)


class OpenChangeRequest:
    """A change request of another user that is open in the app."""

    def __init__(self, run: Run, at: ChangeRequestRef, ids: dict[str, str]) -> None:
        self.run, self.at, self.ids = run, at, ids

    @classmethod
    async def open(cls, run: Run) -> OpenChangeRequest:
        made = await run.ask(change_requests.Create(at=HARBOUR, subject="Theirs"), YUKI)
        tree = await run.ask(content.ListPages(at=HARBOUR), YUKI)
        return cls(run, made.ref(HARBOUR), {page.title: page.id for page in tree.walk()})

    @classmethod
    async def with_moved_page(cls, run: Run) -> OpenChangeRequest:
        """Return a change request on the screen that moves the page Time and time zones from Concepts to Help."""
        change_request = await cls.open(run)
        await change_request.edit(change_request.move("Time and time zones", "Help"))
        await change_request.show()
        await run.see("Concepts → Help")
        return change_request

    async def edit(self, *changes: ContentEdit) -> None:
        await self.run.ask(content.Edit(at=self.at, changes=changes), YUKI)

    async def show(self) -> None:
        change_request = await self.run.ask(change_requests.Get(at=self.at), YUKI)
        self.run.app.go(ToChangeRequest(change_request.ref(HARBOUR), change_request))

    async def refresh(self, late: type[Operation[object]]) -> None:
        """Refresh the screen, and let the response to `late` come after all other responses."""
        self.run.gate.shut(late)
        await self.run.press("r")
        await self.run.until(lambda: self.run.gate.waiting > 0, "send the request")
        self.run.gate.open()
        await self.run.settle()

    def move(self, page: str, into: str | None) -> UpdatePage:
        return UpdatePage(page=self.ids[page], into=self.ids[into] if into else None, at=0)


@pytest.mark.before_release("Get")
@parametrize_late(in_every_run=change_requests.Get)
async def test_page_moved_twice_shows_the_last_place(stage: Stage, late: type[Operation[object]]) -> None:
    async with stage.play(start="changes") as run:
        change_request = await OpenChangeRequest.with_moved_page(run)
        await change_request.edit(change_request.move("Time and time zones", "Get started"))
        await change_request.refresh(late)
        await run.see("Concepts → Get started")
        await run.gone("Concepts → Help")


@pytest.mark.before_release("ListChanges")
@parametrize_late(in_every_run=content.ListChanges)
async def test_page_restored_with_other_text_shows_the_new_text(stage: Stage, late: type[Operation[object]]) -> None:
    async with stage.play(start="changes") as run:
        change_request = await OpenChangeRequest.open(run)
        page = change_request.ids["Time and time zones"]
        await change_request.edit(DeletePage(page=page))
        await change_request.show()
        await run.see("− Time and time", "− All times in requests")
        await change_request.edit(RevertPage(page=page))
        text = (
            await run.ask(content.GetPage(at=change_request.at, page_id=page, format="markdown"), YUKI)
        ).markdown or ""
        await change_request.edit(
            UpdatePage(page=page, document=DocumentBody(markdown=text.replace("All times", "Each time")))
        )
        await change_request.refresh(late)
        await run.see("~ Time and time", "Each time", "change 1 of 1")
        await change_request.edit(DeletePage(page=page))
        await change_request.refresh(late)
        await run.see("− Time and time", "− All times in requests")


@pytest.mark.before_release("ListPages")
@parametrize_late(in_every_run=content.ListPages)
async def test_page_created_renamed_and_deleted_disappears(stage: Stage, late: type[Operation[object]]) -> None:
    async with stage.play(start="changes") as run:
        change_request = await OpenChangeRequest.open(run)
        await change_request.edit(InsertPage(title="Leap seconds", document=DocumentBody(markdown="One more.\n")))
        await change_request.show()
        await run.see("+ Leap seconds", "│  Leap seconds", "1 + One more.")
        tree = await run.ask(content.ListPages(at=change_request.at), YUKI)
        page = next(page.id for page in tree.walk() if page.title == "Leap seconds")
        await change_request.edit(UpdatePage(page=page, title="Seconds"))
        await change_request.refresh(late)
        await run.see("+ Seconds", "│  Seconds")
        await run.gone("Leap")
        await change_request.edit(DeletePage(page=page))
        await change_request.refresh(late)
        await run.see("No changes yet.")
        await run.gone("Seconds", "One more")


@pytest.mark.before_release("Get")
@parametrize_late(in_every_run=change_requests.Get)
async def test_group_renamed_back_is_not_shown_as_renamed(stage: Stage, late: type[Operation[object]]) -> None:
    async with stage.play(start="changes") as run:
        change_request = await OpenChangeRequest.open(run)
        await change_request.edit(UpdatePage(page=change_request.ids["Concepts"], title="Ideas"))
        await change_request.show()
        await run.see("Concepts → Ideas")
        await change_request.edit(UpdatePage(page=change_request.ids["Concepts"], title="Notions"))
        await change_request.refresh(late)
        await run.see("Concepts → Notions")
        await change_request.edit(UpdatePage(page=change_request.ids["Concepts"], title="Concepts"))
        await change_request.refresh(late)
        await run.see("No changes yet.")
        await run.gone("Renamed", "Notions")


@pytest.mark.before_release
async def test_your_moves_and_the_renames_of_others_are_shown_in_order(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        change_request = await OpenChangeRequest.with_moved_page(run)
        for words, title in (("get started", "Get started"), ("guides", "Guides")):
            await run.press("M", "down", "enter")
            await run.see("Move Time and time zones under…")
            await run.type(words)
            await run.press("enter")
            await run.see("Position of")
            await run.press("enter")
            await run.hear("Moved Time and time zones in #9 Theirs.")
            await run.see(f"Concepts → {title}")
            await run.later(seconds=60)
        await change_request.edit(UpdatePage(page=change_request.ids["Time and time zones"], title="Time"))
        await run.press("r")
        await run.see("Concepts → Guides", "page title: Time and time zones → Time")


@pytest.mark.before_release
async def test_changes_found_while_a_dialog_opens_appear_after_it_closes(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        change_request = await OpenChangeRequest.with_moved_page(run)
        await change_request.edit(change_request.move("Time and time zones", "Get started"))
        await run.press("M", "down", "enter")
        await run.see("Move Time and time zones under…")
        await run.press("escape")
        await run.see("Concepts → Get started")


@pytest.mark.before_release
async def test_failed_refresh_keeps_the_changes_and_shows_the_error(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await OpenChangeRequest.with_moved_page(run)
        for _ in range(8):
            run.platform.refuse_next(content.ListChanges, 403, "Not now.")
        await run.press("r")
        await run.see("Could not load the changes · Not", "now.", "Showing 2 items loaded earlier")
        run.accept()
        await run.press("r")
        await run.gone("Could not load the changes")
