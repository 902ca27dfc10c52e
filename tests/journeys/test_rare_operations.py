"""Operations that no other journey sends."""

from __future__ import annotations

from typing import Any

import pytest

from octavo.api import change_requests, collections, comments, content, pdf, spaces, users
from octavo.api.content import DocumentBody, InsertPage
from octavo.api.operation import ChangeRequestRef, OrganizationRef, RevisionRef, SpaceRef
from octavo.tui.reader.page_dialogs import ImageScreen
from tests.journeys.faulty_server import altered
from tests.journeys.stage import MARA, Run, Stage
from tests.journeys.test_comments import select_first_paragraph
from tests.journeys.test_resources import open_table
from tests.journeys.test_reviewing import open_change_request, open_changes_of_seven
from tests.journeys.test_space_management import (
    NOOR,
    allow_private_imports,
    create_space,
    focus_space_tree,
    import_html,
    see_form,
    web,
)
from tests.server.refusing_platform import Platform
from tests.server.web_server import WebServer

__all__ = ["web"]
HARBOUR_API = SpaceRef(space_id="harbour-api")
EASTBANK = OrganizationRef(organization_id="eastbank")


async def select_block(run: Run, start: str) -> None:
    """Select a block without threads, on a page or in a diff."""
    if start == "content":
        await select_first_paragraph(run)
    else:
        await open_changes_of_seven(run)


@pytest.mark.before_release
@pytest.mark.parametrize("start", ["content", "changes"])
async def test_own_comments_and_replies_can_be_edited_and_deleted(stage: Stage, start: str) -> None:
    async with stage.play(start=start) as run:
        await select_block(run, start)
        await run.press("c", "@")
        await run.see("Yuki Tanabe")
        assert run.gate.sent(comments.ListCommenters)
        await run.press("escape")
        await run.type(" is this true?")
        await run.press("ctrl+s")
        await run.sent()
        await run.press("enter")
        await run.see("is this true?", "open")
        await run.press("c")
        await run.type("It is.")
        await run.press("ctrl+s")
        await run.sent()
        await run.press("j", "e")
        await run.type(" Now.")
        await run.press("ctrl+s")
        await run.see("It is. Now.")
        await run.sent()
        await run.press("X", "y")
        await run.hear("Deleting reply…")
        await run.sent()
        await run.press("X", "y")
        await run.sent()
        assert [len(run.gate.sent(each)) for each in (comments.UpdateReply, comments.DeleteReply, comments.Delete)] == [
            1,
            1,
            1,
        ]


def with_another_organization(platform: Platform) -> None:
    store = platform.context.store
    store.put("/orgs/eastbank", {"id": "eastbank", "title": "East Bank", "createdAt": platform.context.timestamp()})
    store.put(f"/orgs/eastbank/members/{NOOR}", {"id": NOOR, "role": "admin"})


@pytest.mark.before_release
async def test_space_and_collection_move_to_another_organization(stage: Stage) -> None:
    async with stage.play(NOOR, change=with_another_organization) as run:
        await create_space(run, "Almanac")
        await focus_space_tree(run, "Almanac")
        await run.press("a", *"repos", "enter")
        await run.hear("Almanac is not connected to a Git repository.")
        await run.press("ctrl+n")
        await run.type("collection at the top")
        await run.press("enter")
        await see_form(run)
        await run.press(*"Shelf", "ctrl+s")
        await run.hear("Created Shelf.")
        await focus_space_tree(run, "Shelf")
        await run.press("M", *"company", "enter", "enter")
        await run.hear("Moved Shelf to Company.")
        for title in ("Almanac", "Shelf"):
            await focus_space_tree(run, title)
            await run.press("a", *"another", "enter", *"east", "enter")
            await run.see(f"Move {title} to East Bank?")
            await run.press("y")
            await run.hear(f"Moved {title} to East Bank.")
        assert [each.title for each in (await run.ask(spaces.List(at=EASTBANK), NOOR)).items] == ["Almanac"]
        assert [each.title for each in (await run.ask(collections.List(at=EASTBANK), NOOR)).items] == ["Shelf"]


@pytest.mark.before_release
async def test_space_and_change_request_are_exported_as_pdf(stage: Stage) -> None:
    async with stage.play() as run:
        for name in ("space", "change request"):
            await run.press("ctrl+e", *f"whole {name} as pdf", "enter", "ctrl+u")
            await run.type(str(stage.folder / f"{name}.pdf"))
            await run.press("enter")
            await run.until((stage.folder / f"{name}.pdf").exists, f"save the {name}")
            await run.press("3")
            await open_change_request(run, "refused")
        assert len(run.gate.sent(pdf.Get)) == 2


@pytest.mark.before_release
async def test_import_into_a_locked_space_uses_a_change_request(stage: Stage, web: WebServer) -> None:
    address = web.put("/tides.html", "<main><h1>Tides</h1><p>Twice a day.</p></main>")
    async with stage.play(NOOR, change=allow_private_imports) as run:
        await run.ask(spaces.Update(at=HARBOUR_API, edit_mode="locked"), NOOR)
        await run.press("r")
        await focus_space_tree(run, "Harbour API")
        await run.press("a", "enter")
        await see_form(run)
        await run.see("Readers will see the pages after the merge.")
        await import_html(run, address)
        await run.hear("Imported 1 page into")


async def test_member_can_be_required_to_sign_in_with_sso(stage: Stage) -> None:
    async with stage.play(NOOR, start="admin") as run:
        await open_table(run, "members")
        await run.press("a", "enter")
        await run.see("Require SSO sign-in")
        await run.press("y")
        await run.hear("must now sign in with SSO")


async def propose_page(run: Run) -> ChangeRequestRef:
    """Create a change request that adds a page with two images and a mention, and open the change request."""
    file = (await run.ask(content.ListFiles(at=HARBOUR_API), MARA)).items[0]
    pictures = f"![One](/files/{file.id})\n\n![Two](../.gitbook/assets/{file.name})"
    page = InsertPage(document=DocumentBody(markdown=f"# Drawings\n\n{pictures}\n\nby [@Elin](/users/elin-brandt)\n"))
    made = await run.ask(change_requests.Create(at=HARBOUR_API, subject="Name the drawing"), MARA)
    at = ChangeRequestRef(space_id="harbour-api", change_request_id=made.id)
    await run.ask(content.Edit(at=at, changes=(page,)), MARA)
    await run.press("3", "]")
    await run.see("Name the drawing")
    await open_change_request(run, "drawing")
    await run.see("by @Elin")
    return at


async def open_images(run: Run) -> None:
    """Open both images from the diff."""
    await run.press("enter")
    for _ in range(2):
        await run.press("n", "enter")
        assert isinstance(run.app.screen, ImageScreen), run.text
        await run.press("escape")


def places_of_requests(run: Run, kind: type[Any]) -> set[type[Any]]:
    """Return the types of the places that the requests of this kind refer to."""
    return {type(each.at) for each in run.gate.passed if isinstance(each, kind)}


@pytest.mark.before_release
async def test_files_and_people_of_a_page_load_from_its_revision(stage: Stage) -> None:
    async with stage.play() as run:
        at = await propose_page(run)
        await open_images(run)
        assert places_of_requests(run, content.GetFile) == {RevisionRef}
        assert RevisionRef in places_of_requests(run, content.ListFiles)
        await run.ask(change_requests.Merge(at=at), NOOR)
        await run.press("2", "r", "/", *"drawings", "enter", "enter")
        await run.see("by @Elin")
        assert places_of_requests(run, content.GetFile) == {RevisionRef, SpaceRef}
        assert run.gate.sent(users.Get)


@pytest.mark.before_release
async def test_change_request_without_a_revision_id_loads_its_content(stage: Stage) -> None:
    without_revision = altered("/v1/spaces/[^/]+/change-requests/[^/]+", lambda answer: answer.pop("revision", None))
    async with stage.play(over=without_revision) as run:
        await propose_page(run)
        await open_images(run)
        assert places_of_requests(run, content.GetFile) == {ChangeRequestRef}
        assert ChangeRequestRef in places_of_requests(run, content.ListFiles)
        await run.press("B")
        await run.see("Compare with")
        await run.type("main")
        await run.press("enter")
        assert ChangeRequestRef in places_of_requests(run, content.Get)
