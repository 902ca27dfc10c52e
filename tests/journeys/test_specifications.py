"""OpenAPI blocks show specifications from the organization and from files in JSON or YAML, and say why a
specification is unreadable."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from octavo.api import change_requests, content, openapi
from octavo.api.content import DocumentBody, UpdatePage
from octavo.api.operation import OrganizationRef, SpaceRef
from octavo.documents import links
from octavo.server.app import run_operation
from octavo.server.demo import history
from octavo.server.loader import load
from octavo.tui.content.content_screen import ContentScreen
from octavo.tui.core.routes import ToChangeRequest, ToPage
from octavo.tui.reader import linked_files
from tests.journeys.stage import MARA, Stage
from tests.server.refusing_platform import Platform

YAML = """\
openapi: 3.0.3
info: {title: Pets}
paths:
  /pets/{name}:
    post:
      summary: Add a pet
      parameters:
        - {name: dry, in: query, schema: {type: string, enum: [yes, no]}}
      responses:
        201: {description: It is kept.}
"""
OTHER = {"swagger": "2.0", "info": {}, "paths": {"/pets/{name}": {"post": {"summary": "Another", "responses": {}}}}}
SPECIFICATION_URL = "https://pets.example/openapi.json"
PAGE = """\
# Pets

{{% include "{up}.gitbook/includes/note.md" %}}

{{% swagger src="{up}.gitbook/assets/pets.yaml" path="/pets/{{name}}" method="post" %}}
[pets.yaml]({up}.gitbook/assets/pets.yaml)
{{% endswagger %}}

{{% openapi src="https://strange.example/a.yaml" path="/strange" method="get" %}}
[a.yaml](https://strange.example/a.yaml)
{{% endopenapi %}}

{{% swagger src="https://pets.example/openapi.json" path="/filed" method="put" %}}
{{% endswagger %}}
"""


def write_file(folder: Path, name: str, text: str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")


@pytest.mark.before_release
async def test_opened_folder_shows_openapi_blocks_and_reusable_content(stage: Stage, tmp_path: Path) -> None:
    folder = tmp_path / "pets"
    write_file(folder, "README.md", PAGE.format(up=""))
    write_file(folder, "more/pets.md", PAGE.format(up="").replace("# Pets", "# More pets"))
    write_file(folder, ".gitbook/assets/pets.yaml", YAML)
    write_file(folder, "more/.gitbook/assets/pets.yaml", json.dumps(OTHER))
    write_file(folder, ".gitbook/includes/note.md", "Pets bite.\n")
    space = ""

    def load_folder(platform: Platform) -> None:
        nonlocal space
        context = platform.context.for_user(MARA)
        space = load(context, folder, organization_id=history.ORGANIZATION, author_id=MARA).space_id
        filed = {"openapi": "3.1.0", "info": {"title": "P"}, "paths": {"/filed": {"put": {"summary": "As filed"}}}}
        at = OrganizationRef(organization_id=history.ORGANIZATION)
        made = openapi.Create(at=at, slug="pets", source=openapi.Source(text=json.dumps(filed)))
        work = run_operation(made, context)
        work.finish(work.run())
        context.store.update(f"/orgs/{history.ORGANIZATION}/openapi/pets", sourceURL=SPECIFICATION_URL)

    async with stage.play(change=load_folder) as run:
        run.app.go(ToPage(space))
        await run.until(lambda: "Add a pet" in run.text, "show the operation of the YAML file")
        await run.until(lambda: "As filed" in run.text, "show the uploaded specification")
        await run.until(lambda: "is not an OpenAPI" in run.text, "show why the file cannot be read")
        for shown in ("Pets bite.", "reusable content: note.md", "POST  /pets/{name}", "GET  /strange", "PUT  /filed"):
            assert shown in run.text, shown
        await run.press("f", "a")
        assert "Reusable content .gitbook/includes/note.md" in run.text
        await run.press("escape", "f", "A")
        assert "Reusable content .gitbook/includes/note.md" in run.text
        await run.press("escape")
        screen = run.app.screen
        assert isinstance(screen, ContentScreen)
        assert screen.open_space.pages is not None
        more = next(page for page in screen.open_space.pages.walk() if page.title == "More pets")
        screen.open_space.open_page(more.id)
        await run.until(lambda: "Another" in run.text, "show the right one of two files with the same name")
        assert "Add a pet" not in run.text
        session, at, place = (
            run.app.session,
            OrganizationRef(organization_id=history.ORGANIZATION),
            SpaceRef(space_id=space),
        )
        for target, said in (
            (links.FileLink("", "none.json"), "The OpenAPI file none.json was deleted."),
            (links.PageLink(more.id), "The link does not point to an OpenAPI specification."),
        ):
            assert (await linked_files.load_specification_from_link(session, at, place, target)).error == said


@pytest.mark.before_release
async def test_specification_is_found_in_a_list_of_several_pages(stage: Stage) -> None:
    def add_specifications(platform: Platform) -> None:
        store, folder = platform.context.store, f"/orgs/{history.ORGANIZATION}/openapi"
        for number in range(120):
            url = SPECIFICATION_URL if number == 119 else ""
            slug = f"pets-{number}"
            store.put(
                f"{folder}/{slug}", {"id": slug, "slug": slug, "organization": history.ORGANIZATION, "sourceURL": url}
            )

    async with stage.play(change=add_specifications) as run:
        target = links.UrlLink(SPECIFICATION_URL, "pets.example")
        at = OrganizationRef(organization_id=history.ORGANIZATION)
        found = await linked_files.load_specification_from_link(run.app.session, at, None, target)
        assert "pets-119" in found.error, "the specification has no version that can be read"


@pytest.mark.before_release
async def test_diff_shows_included_content(stage: Stage, tmp_path: Path) -> None:
    folder = tmp_path / "pets"
    write_file(folder, "README.md", "# Pets\n\nKeep them.\n")
    write_file(folder, ".gitbook/includes/note.md", "Pets bite.\n")
    place: SpaceRef | None = None

    def load_folder(platform: Platform) -> None:
        nonlocal place
        context = platform.context.for_user(MARA)
        place = SpaceRef(space_id=load(context, folder, organization_id=history.ORGANIZATION, author_id=MARA).space_id)

    async with stage.play(change=load_folder) as run:
        assert place is not None
        at = (await run.ask(change_requests.Create(at=place, subject="Warn"), MARA)).ref(place)
        page = next((await run.ask(content.ListPages(at=place), MARA)).walk())
        body = DocumentBody(markdown='# Pets\n\nKeep them.\n\n{% include "../.gitbook/includes/note.md" %}\n')
        await run.ask(content.Edit(at=at, changes=(UpdatePage(page=page.id, document=body),)), MARA)
        about = await run.ask(change_requests.Get(at=at), MARA)
        run.app.go(ToChangeRequest(at, about))
        await run.see("Reusable content from note.md")
        await run.press("enter", "f", "a")
        await run.until(lambda: "Reusable content .gitbook/includes/note.md" in run.text, "open the included file")
        assert "Pets bite." in run.text
