from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from octavo.tui.content.content_screen import ContentScreen
from octavo.tui.reader.page_dialogs import ImageCanvas, ImageScreen
from tests.journeys.stage import Run, Stage


async def open_first_image(run: Run, page: str) -> None:
    """Open a page of the current space, and open the first image on the page."""
    screen = run.app.screen
    assert isinstance(screen, ContentScreen)
    assert screen.open_space.pages is not None
    found = next(each for each in screen.open_space.pages.walk() if each.path == page)
    screen.open_space.open_page(found.id)
    await run.settle()
    await run.until(lambda: screen.page_view.contents.is_fully_parsed)
    assert screen.page_view.document is not None
    figure = next(block for block in screen.page_view.document.walk() if block.kind == "figure")
    screen.page_view.focus()
    screen.page_view.navigation.go_to_block(figure.key)
    await run.press("enter")


async def texts_until_image(run: Run) -> list[str]:
    """Press enter, and return the texts that the dialog shows until the image appears."""
    texts: list[str] = []
    run.app.simulate_key("enter")
    for _ in range(5000):
        await asyncio.sleep(0.001)
        if isinstance(run.app.screen, ImageScreen) and "under-keel.png ─" in run.text.split("\n")[0]:
            shown = " ".join(line.strip(" │") for line in run.lines[1:-6]).strip()
            if "▀" in shown:
                break
            texts.append(shown)
    await run.settle()
    return texts


@pytest.mark.before_release
async def test_image_opens_in_a_dialog_and_closes(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLORTERM", "truecolor")
    async with stage.play() as run:
        await open_first_image(run, "concepts/water-levels")
        await run.see("PNG · 480 × 240 pixels · 1.3 kB", "A hull above the sea bed", "Charted depth plus tide", "▀▀▀")
        assert run.app.screen.query_one(ImageCanvas).size.width > 110
        await run.press("l")
        await run.hear("This is the only image on the page.")
        await run.press("o")
        await run.hear("A browser cannot open this image: it is stored in Octavo.")
        await run.press("w")
        await run.see("Save under-keel.png?")
        await run.press("escape", "escape")
        await run.see("▣ under-keel.png", "PNG, 480 × 240, 1.3 kB")


@pytest.mark.before_release
async def test_image_dialog_shows_loading_immediately_and_can_be_closed(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("COLORTERM", "truecolor")
    async with stage.play() as run:
        await open_first_image(run, "concepts/water-levels")
        for is_kept in (True, False):
            if not is_kept:
                run.app.session.live.cache.clear()
            await run.press("escape")
            texts = await texts_until_image(run)
            assert "Loading under-keel.png…" in texts
            assert set(texts) <= {"Loading the image…", "Loading under-keel.png…"}
        await run.press("escape")
        run.app.simulate_key("enter")
        while not isinstance(run.app.screen, ImageScreen):
            await run.pilot.pause(0.001)
        run.app.simulate_key("escape")
        await run.until(lambda: not isinstance(run.app.screen, ImageScreen))


@pytest.mark.before_release
async def test_image_without_colors_is_described(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLORTERM", raising=False)
    async with stage.play(size=(80, 24)) as run:
        await open_first_image(run, "concepts/water-levels")
        await run.see(
            "Images need more colors than this terminal or theme has.", "480 × 240 pixels", "A hull above the sea bed"
        )
        assert "▀" not in run.text


@pytest.mark.before_release
async def test_info_shows_ids_and_disabled_reasons_and_copies_a_value(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        await run.see("Open 72")
        await run.press("i")
        await run.see("COMMENT", "author ID", "your permissions", "SPACE")
        assert "octavo.local" not in run.text
        await run.press(*"author id", "enter")
        await run.hear("Copied.")
        assert run.app.clipboard == "yuki-tanabe"
        await run.press("i", *"id")
        await run.gone("your permissions")
        await run.see("│  COMMENT ", "│  SPACE ", "author ID")
        await run.press("escape")
        await run.press("i", *"delete")
        await run.see("X  Delete", "Only Yuki Tanabe or an admin can delete this comment.")
