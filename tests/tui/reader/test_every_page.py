"""Blocks of every kind at every width: lines fit the width, and keys reach everything that opens.

`tests/documents/test_corpus.py` checks that no word is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from octavo.documents.blocks import Document
from octavo.documents.source_reader import parse
from octavo.tui.reader.block_cursor import Hints
from octavo.tui.reader.page_view import PageView
from octavo.tui.render.layout import lay_out, source_blocks
from octavo.tui.render.styled_lines import ClickableSpan, clickable_spans
from octavo.tui.render.styles import Styles
from tests.documents.rendered_line_checks import default_styles, lay_out_all, open_view_state
from tests.tui.reader.panes import PaneApp
from tests.tui.reader.picture import PAGES

FIXTURES = sorted(PAGES.glob("*.md"))


STYLES_BY_NAME = {"plain": Styles.plain(), "ascii": Styles.plain(ascii=True), "coloured": default_styles()}


def read(path: Path) -> Document:
    return parse(path.read_text(encoding="utf-8", errors="replace"))


def too_wide(document: Document, width: int, look: Styles) -> list[str]:
    return [
        line.text
        for room in (width, width + 24)
        for line in lay_out_all(document, width, look, room=room)
        if line.width > room
    ]


def clickables_of(document: Document) -> list[ClickableSpan]:
    return clickable_spans(lay_out(document.blocks, 76, Styles.plain(), open_view_state(document)))


@pytest.mark.parametrize("look", STYLES_BY_NAME)
@pytest.mark.parametrize("width", [16, 20, 34, 47, 60, 76, 100, 160])
def test_every_construct_fits_its_width(width: int, look: str) -> None:
    assert {path.stem: lines for path in FIXTURES if (lines := too_wide(read(path), width, STYLES_BY_NAME[look]))} == {}


def test_tabs_take_their_displayed_width() -> None:
    # A tab character would move the cursor of the terminal beyond the border of the box.
    code = "```\na\tb\n\tc\n```\n"
    document = parse(f'{code}\n{{% prompt description="It" %}}\n{code}{{% endprompt %}}\n\n`a\tb` and\ta tab\n')
    for blocks in (document.blocks, source_blocks(document.source)):
        assert "\t" not in "".join(line.text for line in lay_out(blocks, 40, Styles.plain(), open_view_state(document)))


async def test_keys_reach_everything_that_opens() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(82, 30)) as pilot:
        for path in FIXTURES:
            document = read(path)
            app.pane.show(document, key=path.stem)
            app.pane.viewport.view_state.expanded.update(open_view_state(document).expanded)
            app.pane.reset_lines()
            await pilot.pause()
            expected = {
                (clickable.kind, clickable.target, clickable.clickable.index) for clickable in clickables_of(document)
            }
            spans = [
                span
                for chunk in range(len(app.pane.viewport.virtual_lines))
                for span in app.pane.cursor.spans_of(chunk)
            ]
            lines = [
                line
                for chunk in range(len(app.pane.viewport.virtual_lines))
                for line in app.pane.viewport.virtual_lines.lines(chunk)
            ]
            clickable = {
                id(app.pane.contents.block_at(line, clickable.start))
                for line in lines
                for clickable in clickable_spans([line])
            }
            assert {id(span.block) for span in spans} >= clickable
            by_letter: set[tuple[str, str, int]] = set()
            for _ in range(200):
                hints = Hints(app.pane.clickables.visible_spans())
                by_letter |= {
                    (clickable.kind, clickable.target, clickable.clickable.index)
                    for clickable in hints.by_label.values()
                }
                if app.pane.scroll_offset.y >= app.pane.viewport.virtual_lines.total - app.pane.viewport.row_count:
                    break
                app.pane.viewport.scroll_by(app.pane.viewport.row_count - 2)
            assert by_letter == expected, path.stem
            app.pane.cursor.go_to_edge(at_end=False)
            for _ in spans:
                app.pane.cursor.move(1)
            assert app.pane.cursor.current() == spans[-1], path.stem
