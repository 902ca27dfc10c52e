from __future__ import annotations

import pytest

from octavo.tui.screens.content import ContentScreen
from octavo.tui.screens.picture import Canvas
from tests.journeys.stage import Run, Stage


async def look(run: Run, page: str) -> None:
    """Open a page of the space on show, and the first picture on it."""
    screen = run.app.screen
    assert isinstance(screen, ContentScreen)
    assert screen.pages is not None
    found = next(each for each in screen.pages.walk() if each.path == page)
    screen.open_page(found.id)
    await run.settle()
    await run.until(lambda: screen.view.is_whole)
    assert screen.view.document is not None
    figure = next(block for block in screen.view.document.walk() if block.kind == "figure")
    screen.view.focus()
    screen.view.go_to_block(figure.key)
    await run.press("enter")


async def test_a_picture_is_looked_at_and_left(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLORTERM", "truecolor")
    async with stage.play() as run:
        await look(run, "concepts/water-levels")
        await run.see("PNG · 480 × 240 pixels · 1.3 kB", "A hull above the sea bed", "What is added", "▀▀▀")
        assert run.app.screen.query_one(Canvas).size.width > 110
        await run.press("l")
        await run.hear("It is the only picture of the page.")
        await run.press("o")
        await run.hear("This library is in Octavo itself, where no browser can ask for it.")
        await run.press("w")
        await run.see("Save under-keel.png?")
        await run.press("escape", "escape")
        await run.see("▣ under-keel.png", "PNG, 480 × 240, 1.3 kB")


async def test_without_colours_a_picture_is_told_in_words(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLORTERM", raising=False)
    async with stage.play(size=(80, 24)) as run:
        await look(run, "concepts/water-levels")
        await run.see("Pictures need more colours than are shown here.", "480 × 240 pixels", "A hull above the sea bed")
        assert "▀" not in run.text


async def test_info_tells_ids_and_why_keys_are_dim_and_copies_what_is_chosen(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        await run.see("Open 76")
        await run.press("i")
        await run.see("COMMENT", "author id", "you may", "SPACE")
        assert "octavo.local" not in run.text
        await run.press(*"author id", "enter")
        await run.hear("Copied.")
        assert run.app.clipboard == "yuki-tanabe"
        await run.press("i", *"delete")
        await run.see("X  Delete", "Only Yuki Tanabe or an administrator can delete")
