"""Files are sent: fonts are uploaded with progress and can be canceled, pages are imported, and no file is uploaded
twice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable
from dataclasses import replace
from pathlib import Path

import pytest

from octavo.api import content, fonts, imports, openapi, storage
from octavo.api.operation import SpaceRef
from octavo.tui.core.routes import ToPage
from octavo.tui.resources.form import FormDialog
from octavo.tui.resources.form_fields import fields_of
from octavo.tui.resources.form_state import font_weight, text_after_choosing_file
from octavo.tui.widgets.text_inputs import complete_path
from tests.journeys.stage import Stage
from tests.journeys.test_access import HERE
from tests.journeys.test_resources import open_table, titles
from tests.journeys.test_space_management import NOOR, create_space, focus_space_tree, space_on_server

FONT = b"wOF2" + bytes(300_000)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "fonts").mkdir()
    (tmp_path / "fonts" / "Inter-Regular.woff2").write_bytes(FONT)
    (tmp_path / "fonts" / "Inter-SemiBold.woff2").write_bytes(FONT)
    (tmp_path / "fonts" / "notes.txt").write_text("No font.\n")
    (tmp_path / "tides.md").write_text("# Tides\n\nTwice a day.\n")
    return tmp_path


async def test_font_files_are_uploaded_once_and_can_be_canceled(stage: Stage, home: Path) -> None:
    async with stage.play(NOOR, start="admin") as run:
        session, started, go_on = run.app.session, asyncio.Event(), asyncio.Event()
        uploads: list[str] = []

        async def upload_slowly(url: str, parts: AsyncIterable[bytes], size: int, kind: str) -> None:
            uploads.append(url)

            async def wait_after_each_part() -> AsyncIterable[bytes]:
                async for part in parts:
                    yield part
                    started.set()
                    await go_on.wait()

            await session.upload(url, wait_after_each_part(), size, kind)

        run.app._session = replace(session, upload=upload_slowly)
        await open_table(run, "fonts")
        await run.press("ctrl+n")
        await run.see("New font", "Font files")
        await run.press(*"Inter", "tab", "ctrl+f")
        await run.see("Font files: choose a file")
        await run.press(*"fonts/n")
        await run.see("~/fonts/notes.txt")
        await run.press("tab", "enter")
        await run.see("notes.txt is not a WOFF or WOFF2 font", "~/fonts/notes.txt")
        assert not run.gate.sent(storage.Upload)
        await run.press("ctrl+u", *"~/fonts/Inter-R", "tab", "enter")
        await run.see("weight: 400", "storageKey: ~/fonts/Inter-Regular.woff2")
        await run.press("ctrl+f", *"Inter-S")
        await run.see("~/fonts/Inter-SemiBold.woff2")
        await run.press("tab", "enter")
        await run.see("weight: 600")
        await run.pilot.press("ctrl+s")
        await asyncio.wait_for(started.wait(), 20)
        while "of 300" not in run.text:
            await run.pilot.pause(0.01)
        assert "Sending Inter-Regular.woff2: " in run.text
        assert "Press esc to cancel." in run.text
        await run.press("escape")
        await run.see("Upload canceled. Nothing was sent.", "~/fonts/Inter-Regular.woff2")
        go_on.set()
        run.platform.refuse_next(fonts.Create, 400, "fontFamily is taken.")
        await run.press("ctrl+s")
        await run.see("FontFamily is taken.")
        assert len(uploads) == 3
        await run.press("ctrl+s")
        await run.until(lambda: titles(run) == ["Inter"], "list the font")
        assert len(uploads) == 3  # Files that were uploaded before are not uploaded again.
        (font,) = (await run.ask(fonts.List(at=HERE), NOOR)).items
        assert [(face.weight, len(face.sources)) for face in font.font_faces] == [(400, 1), (600, 1)]
        await run.press("e", "tab", "ctrl+f", *"Inter-S", "tab", "enter", "ctrl+s")
        await run.hear("Changed Inter.")


@pytest.mark.before_release
async def test_pages_are_imported_from_a_path_in_the_url_field(stage: Stage, home: Path) -> None:
    async with stage.play(NOOR) as run:
        await create_space(run, "Almanac")
        await focus_space_tree(run, "Almanac")
        await run.press("a", "enter")
        await run.see("Import pages into Almanac", "a link, or a file such as ~/notes.zip")
        await run.press(*"~/ti", "tab", "tab", "enter")
        await run.type("markdown")
        await run.press("enter")
        run.platform.refuse_next(imports.Create, 503, "The sea is rough.")
        await run.press("ctrl+s")
        await run.see("The sea is rough.", "~/tides.md")
        dialog = run.app.screen
        assert isinstance(dialog, FormDialog)
        await run.press("ctrl+s")
        await run.hear("Imported 1 page into Almanac.")
        (announced,) = run.gate.sent(storage.Upload)
        assert (announced.kind, announced.file.name) == ("import_file", "tides.md")
        space = await space_on_server(run, "Almanac")
        pages = (await run.ask(content.ListPages(at=SpaceRef(space_id=space.id)), NOOR)).pages
        assert "Tides" in [each.title for each in pages]


@pytest.mark.parametrize(
    ("name", "weight"),
    [
        ("Inter-Regular.woff2", 400),
        ("Inter-SemiBold.woff2", 600),
        ("Inter ExtraBold Italic.woff", 800),
        ("IBMPlexSans-Bold.woff2", 700),
        ("source-300.woff2", 300),
        ("x1500.woff", 400),
    ],
)
def test_font_weight_is_read_from_the_file_name(name: str, weight: int) -> None:
    assert font_weight(f"~/fonts/{name}") == weight


@pytest.mark.parametrize("text", ["weight: 400", "[400", "Inter"])
def test_font_file_does_not_replace_text_that_is_no_list(text: str) -> None:
    (field,) = (each for each in fields_of(fonts.Create) if each.upload_kind == "customization_font")
    assert text_after_choosing_file(field, text, "~/Inter-Bold.woff2") == text
    added = text_after_choosing_file(field, "- {weight: 400, storageKey: a}", "~/Inter-Bold.woff2")
    assert "storageKey: a" in added
    assert "~/Inter-Bold.woff2" in added


def test_path_of_a_file_is_completed(home: Path) -> None:
    (home / ".hidden").write_text("")
    (home / "a\x1bb").write_text("")
    assert complete_path("~/") == "~/fonts/"
    assert complete_path("~/.h") == "~/.hidden"
    assert complete_path("~/a") is None
    assert complete_path(f"{home}/t") == f"{home}/tides.md"
    assert complete_path("~/none/x") is None


SPEC = """\
openapi: 3.1.0
info: {title: Harbour, version: "3"}
paths:
  /stations/{station}/levels:
    get: {summary: How high it stood}
"""


@pytest.mark.before_release
async def test_new_version_of_a_specification_updates_its_block(stage: Stage, home: Path) -> None:
    (home / "harbour.yaml").write_text(SPEC)
    (home / "broken.yaml").write_text("paths: [\n")
    async with stage.play(NOOR, start="content") as run:
        page = next(each for each in run.app.screen.open_space.pages.walk() if each.title == "Levels")  # type: ignore[attr-defined]  # The screen is the content view.
        run.app.go(ToPage("harbour-api", page.id))
        await run.see("/stations/{station}/levels")
        await run.gone("How high it stood")
        before = (await run.ask(openapi.Get(at=HERE, spec_slug="harbour"), NOOR)).last_version
        await run.press("6")
        await open_table(run, "OpenAPI specifications")
        await run.press("a", "enter")
        await run.see("Upload a new version: harbour")
        await run.press("tab", "ctrl+f", "ctrl+u", *"~/b", "tab", "enter", "ctrl+s")
        await run.hear("Could not process harbour:")
        assert (await run.ask(openapi.Get(at=HERE, spec_slug="harbour"), NOOR)).last_version == before
        await run.press("a", "enter", "tab", "ctrl+f", "ctrl+u", *"~/h", "tab", "enter", "ctrl+s")
        await run.hear("Processed harbour: 1 operation.")
        now = await run.ask(openapi.Get(at=HERE, spec_slug="harbour"), NOOR)
        assert now.last_version not in (None, before)
        await run.press("2")
        await run.see("How high it stood")
        await run.press("6", "enter")
        await open_table(run, "versions")
        await run.press("G", "enter")
        await run.see('"summary": "How high it stood"')
