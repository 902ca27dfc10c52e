"""Diffs are current after moves, renames, deletions and edits of all users, in any order of responses."""

from __future__ import annotations

import pytest

from octavo.api import change_requests, content
from octavo.api.content import ContentEdit, DeletePage, DocumentBody, InsertPage, RevertPage, UpdatePage
from octavo.api.operation import Operation
from octavo.api.places import ChangeRequestRef, SpaceRef
from octavo.tui.core.routes import ToChangeRequest
from tests.journeys.stage import Run, Stage

HARBOUR = SpaceRef(space_id="harbour-api")
YUKI = "yuki-tanabe"

LATE = [change_requests.Get, content.ListChanges, content.ListPages]
"""The operation whose response is last after a write."""


def late(often: type[object]) -> pytest.MarkDecorator:
    """Return the operations that are late: `often` ones in every run. Each is late in at least one test."""
    marked = [pytest.param(each, marks=[] if each is often else [pytest.mark.long]) for each in LATE]
    return pytest.mark.parametrize("late", marked)


class Proposal:
    """A change request of somebody else, on show."""

    def __init__(self, run: Run, at: ChangeRequestRef, ids: dict[str, str]) -> None:
        self.run, self.at, self.ids = run, at, ids

    @classmethod
    async def open(cls, run: Run, *titles: str) -> Proposal:
        made = await run.ask(change_requests.Create(at=HARBOUR, subject="Theirs"), YUKI)
        tree = await run.ask(content.ListPages(at=HARBOUR), YUKI)
        return cls(run, made.ref(HARBOUR), {page.title: page.id for page in tree.walk()})

    async def edit(self, *changes: ContentEdit) -> None:
        await self.run.ask(content.Edit(at=self.at, changes=changes), YUKI)

    async def show(self) -> None:
        change_request = await self.run.ask(change_requests.Get(at=self.at), YUKI)
        self.run.app.go(ToChangeRequest(change_request.ref(HARBOUR), change_request))

    async def look_again(self, late: type[Operation[object]]) -> None:
        """Refresh; one of the answers comes after all others."""
        self.run.gate.shut(late)
        await self.run.press("r")
        await self.run.until(lambda: self.run.gate.waiting > 0, "ask for it")
        self.run.gate.open()
        await self.run.settle()

    def move(self, page: str, into: str | None) -> UpdatePage:
        return UpdatePage(page=self.ids[page], into=self.ids[into] if into else None, at=0)


@pytest.mark.before_release("Get")
@late(often=change_requests.Get)
async def test_page_moved_twice_shows_its_last_place(stage: Stage, late: type[Operation[object]]) -> None:
    async with stage.play(start="changes") as run:
        proposal = await Proposal.open(run)
        await proposal.edit(proposal.move("Time and time zones", "Help"))
        await proposal.show()
        await run.see("Concepts → Help")
        await proposal.edit(proposal.move("Time and time zones", "Get started"))
        await proposal.look_again(late)
        await run.see("Concepts → Get started")
        await run.gone("Concepts → Help")


@pytest.mark.before_release("ListChanges")
@late(often=content.ListChanges)
async def test_page_deleted_and_restored_with_other_text_shows_that_text(
    stage: Stage, late: type[Operation[object]]
) -> None:
    async with stage.play(start="changes") as run:
        proposal = await Proposal.open(run)
        page = proposal.ids["Time and time zones"]
        await proposal.edit(DeletePage(page=page))
        await proposal.show()
        await run.see("− Time and time", "− All times in requests")
        await proposal.edit(RevertPage(page=page))
        text = (await run.ask(content.GetPage(at=proposal.at, page_id=page, format="markdown"), YUKI)).markdown or ""
        await proposal.edit(
            UpdatePage(page=page, document=DocumentBody(markdown=text.replace("All times", "Each time")))
        )
        await proposal.look_again(late)
        await run.see("~ Time and time", "Each time", "change 1 of 1")
        await proposal.edit(DeletePage(page=page))
        await proposal.look_again(late)
        await run.see("− Time and time", "− All times in requests")


@pytest.mark.before_release("ListPages")
@late(often=content.ListPages)
async def test_page_created_renamed_and_deleted_disappears(stage: Stage, late: type[Operation[object]]) -> None:
    async with stage.play(start="changes") as run:
        proposal = await Proposal.open(run)
        await proposal.edit(InsertPage(title="Leap seconds", document=DocumentBody(markdown="One more.\n")))
        await proposal.show()
        await run.see("+ Leap seconds", "│  Leap seconds", "1 + One more.")
        tree = await run.ask(content.ListPages(at=proposal.at), YUKI)
        page = next(page.id for page in tree.walk() if page.title == "Leap seconds")
        await proposal.edit(UpdatePage(page=page, title="Seconds"))
        await proposal.look_again(late)
        await run.see("+ Seconds", "│  Seconds")
        await run.gone("Leap")
        await proposal.edit(DeletePage(page=page))
        await proposal.look_again(late)
        await run.see("No changes yet.")
        await run.gone("Seconds", "One more")


@pytest.mark.before_release("Get")
@late(often=change_requests.Get)
async def test_group_renamed_back_is_not_shown_as_renamed(stage: Stage, late: type[Operation[object]]) -> None:
    async with stage.play(start="changes") as run:
        proposal = await Proposal.open(run)
        await proposal.edit(UpdatePage(page=proposal.ids["Concepts"], title="Ideas"))
        await proposal.show()
        await run.see("Concepts → Ideas")
        await proposal.edit(UpdatePage(page=proposal.ids["Concepts"], title="Notions"))
        await proposal.look_again(late)
        await run.see("Concepts → Notions")
        await proposal.edit(UpdatePage(page=proposal.ids["Concepts"], title="Concepts"))
        await proposal.look_again(late)
        await run.see("No changes yet.")
        await run.gone("Renamed", "Notions")


@pytest.mark.before_release
async def test_your_moves_and_renames_are_shown_in_order(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        proposal = await Proposal.open(run)
        await proposal.edit(proposal.move("Time and time zones", "Help"))
        await proposal.show()
        await run.see("Concepts → Help")
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
        await proposal.edit(UpdatePage(page=proposal.ids["Time and time zones"], title="Time"))
        await run.press("r")
        await run.see("Concepts → Guides", "page title: Time and time zones → Time")


@pytest.mark.before_release
async def test_changes_found_while_a_dialog_opens_are_shown_behind_it(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        proposal = await Proposal.open(run)
        await proposal.edit(proposal.move("Time and time zones", "Help"))
        await proposal.show()
        await run.see("Concepts → Help")
        await proposal.edit(proposal.move("Time and time zones", "Get started"))
        await run.press("M", "down", "enter")
        await run.see("Move Time and time zones under…")
        await run.press("escape")
        await run.see("Concepts → Get started")


@pytest.mark.before_release
async def test_list_of_changes_that_cannot_be_refreshed_is_outdated(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        proposal = await Proposal.open(run)
        await proposal.edit(proposal.move("Time and time zones", "Help"))
        await proposal.show()
        await run.see("Concepts → Help")
        for _ in range(8):
            run.platform.refuse_next(content.ListChanges, 403, "Not now.")
        await run.press("r")
        await run.see("Could not load the changes · Not", "now.", "Showing 2 items loaded earlier")
        run.accept()
        await run.press("r")
        await run.gone("Could not load the changes")
