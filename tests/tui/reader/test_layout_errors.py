"""A block that cannot be rendered is shown as its source, while the rest of the page and all keys work.

The tests use blocks that violate the model, as a bug in the parser would create them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from octavo.documents.blocks import Block, Document, Run
from octavo.documents.diff import diff
from octavo.documents.source_reader import parse
from octavo.tui.reader.diff_view import DiffView
from octavo.tui.reader.page_view import PageView
from octavo.tui.render.block_slices import run_guarded
from octavo.tui.render.comparison import PageComparison
from octavo.tui.render.deferred import AsyncCache
from octavo.tui.render.layout import lay_out
from octavo.tui.render.styled_lines import Line, StyledText
from octavo.tui.render.styles import Styles
from octavo.tui.render.threads import ThreadSummary
from octavo.tui.terminal.crash_report import FaultReportHandler
from tests.tui.reader.panes import PaneApp, bar_column, screen

SOURCE = """# Tides

First words, about gb_api_abcdefgh.

{% hint style="info" %}
Before it.

The words that fail.

Behind it.
{% endhint %}

| a | b |
| - | - |
| 1 | 2 |

Last words.
"""
FAILING_TEXT = "The words that fail."
INVALID_LINK: Any = 7
"""A number in place of a URL. Such a link cannot be rendered."""


def page_with_fault(source: str = SOURCE) -> Document:
    """Return a page with a hint whose text cannot be rendered."""
    document = parse(source)

    def with_fault(block: Block) -> Block:
        if block.plain() == FAILING_TEXT and not block.children:
            return block._replace(runs=(Run(FAILING_TEXT, link=INVALID_LINK),))
        return block._replace(children=tuple(map(with_fault, block.children)))

    return document._replace(blocks=tuple(map(with_fault, document.blocks)))


async def test_block_that_fails_to_render_shows_its_source(faults: FaultReportHandler) -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(60, 40)) as pilot:
        app.pane.show(page_with_fault(), key="p")
        await pilot.pause()
        shown = screen(app.pane)
        for words in ("Tides", "First words", "Before it.", "Behind it.", "1   2", "Last words."):
            assert words in shown
        assert "paragraph, shown as source" in shown
        assert FAILING_TEXT in shown
        await pilot.press(*["right_parenthesis"] * 4)
        assert any("paragraph, shown as source" in row for row in bar_column(app.pane))
        await pilot.press("slash", *"last", "enter", "escape", "z", "G", "backslash")
        assert "{% hint" in screen(app.pane)
        await pilot.resize_terminal(100, 20)
        await pilot.press("backslash", "g")
        assert "Tides" in screen(app.pane)
    (report,) = faults.reports
    report_text = report.read_text()
    assert "in render_each_run" in report_text
    assert "First words" not in report_text
    assert report.stat().st_mode & 0o777 == 0o600


async def test_block_that_fails_to_paint_shows_its_source(faults: FaultReportHandler) -> None:
    app = PaneApp(PageView())
    no_style: Any = "none"
    async with app.run_test(size=(60, 20)) as pilot:
        app.pane.show(parse(SOURCE), key="p")
        await pilot.pause()
        app.pane.viewport.virtual_lines.put(
            1, [Line([StyledText("unseen", no_style)]), *app.pane.viewport.virtual_lines.lines(1)]
        )
        app.pane.viewport.repaint()
        await pilot.pause()
        shown = screen(app.pane)
        assert "paragraph, shown as source" in shown
        assert "First words, about" in shown
        assert "unseen" not in shown
        await pilot.press("G", "slash", *"last", "enter")
        assert "Last words." in screen(app.pane)
    assert len(faults.reports) == 1


async def test_change_that_fails_to_render_shows_its_source(faults: FaultReportHandler) -> None:
    old, new = parse(SOURCE.replace("Last words.", "Words.")), page_with_fault(SOURCE.replace("Before", "After"))
    app = PaneApp(DiffView())
    async with app.run_test(size=(120, 40)) as pilot:
        app.pane.show(PageComparison(diff(old, new), old, new), key="p")
        app.pane.set_threads({"": [ThreadSummary("Ada", "now", "Hm.")]})
        await pilot.pause()
        assert FAILING_TEXT in screen(app.pane)
        assert "shown as source" in screen(app.pane)
        for keys in (("n", "n", "n"), ("vertical_line",), ("equals_sign", "equals_sign"), ("backslash", "backslash")):
            await pilot.press(*keys)
            assert "Last words." in screen(app.pane) or "Words." in screen(app.pane)
    assert faults.reports


def test_comment_block_that_fails_to_render_shows_its_source(faults: FaultReportHandler) -> None:
    lines = lay_out(page_with_fault().blocks, 50, Styles.plain(), source=SOURCE)
    shown = "\n".join(line.text for line in lines)
    assert "paragraph, shown as source" in shown
    assert FAILING_TEXT in shown
    assert "Last words." in shown
    assert faults.reports


def test_unreadable_block_shows_its_source(faults: FaultReportHandler) -> None:
    no_run: Any = 7
    document = parse(SOURCE)
    wrong = document.blocks[1]._replace(runs=(no_run,))
    lines = lay_out((document.blocks[0], wrong, *document.blocks[2:]), 50, Styles.plain(), source=SOURCE)
    shown = "\n".join(line.text for line in lines)
    assert "First words, about" in shown
    assert "Last words." in shown
    alone = "\n".join(line.text for line in lay_out((wrong,), 50, Styles.plain()))
    assert "paragraph, shown as source" in alone
    assert faults.reports


def test_slice_that_fails_to_render_shows_its_own_source(faults: FaultReportHandler) -> None:
    items = [f"* item {at} {'and its words ' * 20}\n" for at in range(200)]
    items[100] = f"* {FAILING_TEXT}\n"
    source = "".join(items)
    lines = lay_out(page_with_fault(source).blocks, 60, Styles.plain(), source=source)
    shown = "\n".join(line.text for line in lines)
    assert all(f"item {at} " in shown for at in range(200) if at != 100)
    assert shown.count("shown as source") == 1


async def test_failing_deferred_content_does_not_stop_others(faults: FaultReportHandler) -> None:
    async def find(key: int) -> int | None:
        return 10 // key

    cache = AsyncCache(find)
    for key in (0, 5):
        cache.request(key)
    while await cache.load_requested():
        pass
    assert cache.has_loaded(0)
    assert cache.get(0) is None
    assert cache.get(5) == 2
    (report,) = faults.reports
    assert "ZeroDivisionError" in report.read_text()


def test_error_is_reported_once_per_place_without_secrets(faults: FaultReportHandler) -> None:
    def fail() -> int:
        raise ValueError("gb_api_abcdefgh is wrong")

    assert [run_guarded(fail, int) for _ in range(3)] == [0, 0, 0]
    (report,) = faults.reports
    assert "ValueError: [redacted] is wrong" in report.read_text()


@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt, asyncio.CancelledError, SystemExit])
def test_error_outside_blocks_is_raised(faults: FaultReportHandler, error: type[BaseException]) -> None:
    def fail() -> int:
        raise error

    with pytest.raises(error):
        run_guarded(fail, int)
    assert not faults.reports
