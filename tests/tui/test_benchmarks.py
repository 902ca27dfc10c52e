"""The programs that are measured by hand run, and show what is waited for."""

from __future__ import annotations

from pathlib import Path

from tests.benchmarks.page_app import PageApp
from tests.benchmarks.texts import TITLE, made_page
from tests.benchmarks.tree_app import TreeApp
from tests.tui.page.panes import screen


async def test_the_measured_page_is_shown(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(made_page(20_000), "utf-8")
    app = PageApp(page)
    async with app.run_test(size=(80, 20)) as pilot:
        while TITLE not in screen(app.view):
            await pilot.pause()
        assert 20_000 <= len(page.read_text("utf-8")) < 22_000


async def test_the_measured_tree_is_shown_unfolded() -> None:
    app = TreeApp(1000)
    async with app.run_test(size=(80, 20)) as pilot:
        await pilot.pause()
        assert app.pages.loaded == "1000 of 1000"
        assert len(app.pages.keys) == 1000
