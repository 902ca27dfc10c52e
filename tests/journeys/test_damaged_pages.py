"""Pages that Octavo cannot read completely: the page says why, and the user can still read, compare and merge."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from octavo.api import change_requests, content
from octavo.api.content import DocumentBody, UpdatePage
from octavo.api.operation import SpaceRef
from octavo.server.demo import history
from octavo.server.loader import load
from octavo.tui.content.content_screen import ContentScreen
from octavo.tui.core.routes import ToChangeRequest, ToPage
from tests.deep_pages import DEEP_PAGES
from tests.journeys.faulty_server import altered
from tests.journeys.stage import MARA, Stage
from tests.server.refusing_platform import Platform

FRONT_MATTER = "---\ndescription: " + "[" * 1500 + "]" * 1500 + "\n---\n"
ERROR_TEXT = "Could not read the front matter: it has more than 60"


# Columns are left out: their diff takes 40 s, close to the time limit of a journey.
@pytest.mark.long
@pytest.mark.parametrize("name", [each for each in DEEP_PAGES if each != "columns"])
async def test_page_with_ten_thousand_nested_levels_is_shown(stage: Stage, tmp_path: Path, name: str) -> None:
    (folder := tmp_path / "docs").mkdir()
    (folder / "README.md").write_text("# First\n\nThe first page.\n", encoding="utf-8")
    (folder / "deep.md").write_text(f"The words before.\n\n{DEEP_PAGES[name]}", encoding="utf-8")
    spaces: list[str] = []

    def load_folder(platform: Platform) -> None:
        context = platform.context.for_user(MARA)
        spaces.append(load(context, folder, organization_id=history.ORGANIZATION, author_id=MARA).space_id)

    async with stage.play(change=load_folder) as run:
        run.app.go(ToPage(spaces[0]))
        await run.see("The first page.")
        screen = run.app.screen
        assert isinstance(screen, ContentScreen)
        assert screen.open_space.pages is not None
        page = next(page for page in screen.open_space.pages.walk() if page.path == "deep")
        screen.open_space.open_page(page.id)
        await run.see("The words before.")
        await run.press("pagedown", "end", "home", "backslash", "backslash")
        at = (await run.ask(change_requests.Create(at=SpaceRef(space_id=spaces[0]), subject="Deeper"), MARA)).ref(
            SpaceRef(space_id=spaces[0])
        )
        body = DocumentBody(markdown=f"Other words.\n\n{DEEP_PAGES[name]}\n\nAnd an end.\n")
        await run.ask(content.Edit(at=at, changes=(UpdatePage(page=page.id, document=body),)), MARA)
        about = await run.ask(change_requests.Get(at=at), MARA)
        run.app.go(ToChangeRequest(at, about))
        await run.see("Deeper")
        await run.press("enter")
        await run.see("Other words.")
        await run.press("pagedown", "end", "home", "backslash", "backslash")
        assert (await run.ask(change_requests.Merge(at=at), MARA)).result == "merge"


async def test_deeply_nested_front_matter_is_reported_and_never_lost(stage: Stage, tmp_path: Path) -> None:
    (folder := tmp_path / "docs").mkdir()
    (folder / "README.md").write_text("# First\n\nThe first page.\n", encoding="utf-8")
    (folder / "deep.md").write_text(f"{FRONT_MATTER}# Deep\n\nThe words after.\n", encoding="utf-8")
    spaces: list[SpaceRef] = []

    def load_folder(platform: Platform) -> None:
        context = platform.context.for_user(MARA)
        loaded = load(context, folder, organization_id=history.ORGANIZATION, author_id=MARA)
        assert [(each.path, each.message) for each in loaded.problems] == [
            (
                "deep.md",
                "has front matter that could not be read: it has more than 60 nested levels. The front matter is shown in the text of the page.",
            )
        ]
        spaces.append(SpaceRef(space_id=loaded.space_id))

    async with stage.play(change=load_folder) as run:
        tree = await run.ask(content.ListPages(at=spaces[0]), MARA)
        page = next(page for page in tree.walk() if page.path == "deep")
        assert page.title == "Deep"
        run.app.go(ToPage(spaces[0].space_id, page=page.id))
        await run.see(ERROR_TEXT, "The words after.")
        at = (await run.ask(change_requests.Create(at=spaces[0], subject="More"), MARA)).ref(spaces[0])
        body = DocumentBody(markdown=f"{FRONT_MATTER}# Deep\n\nThe words after.\n\nAnd more.\n")
        await run.ask(content.Edit(at=at, changes=(UpdatePage(page=page.id, document=body),)), MARA)
        about = await run.ask(change_requests.Get(at=at), MARA)
        run.app.go(ToChangeRequest(at, about))
        await run.press("enter")
        await run.see("And more.")
        await run.press("m")
        await run.see("Merge  (y)")
        await run.press("y")
        await run.hear("Merged #1.")
        written = await run.ask(content.GetRawPage(at=spaces[0], page_id=page.id), MARA)
        assert written.markdown is not None
        assert written.markdown.text == body.markdown


def nested_document(words: str) -> Any:
    """Return a JSON document with `words` and with more nested levels than Octavo reads."""
    leaf = {"object": "block", "type": "paragraph", "nodes": [{"object": "text", "leaves": [{"text": words}]}]}
    node: Any = leaf
    for _ in range(150):
        node = {"object": "block", "type": "hint", "nodes": [node]}
    return {"object": "document", "nodes": [leaf, node]}


@pytest.mark.before_release
async def test_deeply_nested_json_page_shows_what_is_missing(stage: Stage) -> None:
    def nest(answer: Any) -> None:
        answer.pop("markdown", None)
        answer["document"] = nested_document("The words before.")

    async with stage.play(over=altered("/v1/spaces/[^/]+/content/page/[^/]+", nest)) as run:
        await run.see("The words before.")
        await run.press("enter", "end")
        await run.see("levels)")


@pytest.mark.before_release
async def test_deeply_nested_comment_hides_no_other_comment(stage: Stage) -> None:
    def nest(answer: Any) -> None:
        answer["items"][0]["body"] = {"document": nested_document("The words before.")}

    async with stage.play(over=altered("/v1/spaces/[^/]+/comments", nest), start="comments") as run:
        await run.see("The words before.", "Kwabena Boateng", "Leilani Akana")
