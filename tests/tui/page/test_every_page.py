"""What holds for each construct in every width: lines stay in their room, words are all there, keys reach what opens."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from octavo.documents.blocks import Block, Document, Run
from octavo.documents.parse import parse
from octavo.tui.page.hinting import Hints
from octavo.tui.page.layout import Layout, lay_out
from octavo.tui.page.lines import hots_of, steady
from octavo.tui.page.look import Look
from octavo.tui.page.page_parts import source_blocks
from octavo.tui.page.setting import Folds, trail
from octavo.tui.page.view import PageView
from octavo.tui.themes import themes
from tests.tui.page.panes import PaneApp
from tests.tui.page.picture import PAGES

FIXTURES = sorted(PAGES.glob("*.md"))
CORPUS = sorted((Path(folder) / "pages").glob("*.md")) if (folder := os.environ.get("OCTAVO_CORPUS")) else []
_WORD, _SPACE = re.compile(r"[^\s\u00a0]+"), re.compile(r"[\s\u00a0]+")


def coloured() -> Look:
    theme = themes()[0]
    named = {"accent": theme.accent, "foreground": theme.foreground, "surface": theme.surface, "panel": theme.panel}
    return Look.of({**theme.variables, **{name: value or "" for name, value in named.items()}})


LOOKS = {"plain": Look.plain(), "ascii": Look.plain(ascii=True), "coloured": coloured()}


def read(path: Path) -> Document:
    return parse(path.read_text(encoding="utf-8", errors="replace"))


def opened(document: Document, tab: Block | None = None) -> Folds:
    """Folds in which all is open, and `tab` is shown."""
    folds = Folds()
    for block in document.walk():
        if block.kind in ("expandable", "code", "prompt"):
            folds.opened[block.key] = True
    if tab is not None:
        folds.reveal(next(path for block in document.blocks if (path := trail(block, tab.key))))
    return folds


def too_wide(document: Document, width: int, look: Look) -> list[str]:
    folds = opened(document)
    narrow, wide = (
        lay_out(document.blocks, width, look, folds),
        lay_out(document.blocks, width, look, folds, room=width + 24),
    )
    return [line.text for line in narrow.lines if line.width > width] + [
        line.text for line in wide.lines if line.width > width + 24
    ]


def said(document: Document) -> Iterator[str]:
    """The words that are to be seen on a page as they stand in it: those that are drawn otherwise are left out."""
    for block in document.walk():
        if block.kind not in ("content-ref", "openapi"):
            yield from _WORD.findall(steady(" ".join(_plain(block.runs))))
        if block.kind in ("code", "source"):
            yield from _WORD.findall(steady(block.text))


def _plain(runs: tuple[Run, ...]) -> Iterator[str]:
    text = ""
    for run in runs:
        if run.kind in ("text", "code", "emoji") and not run.marks & {"sub", "sup", "kbd"}:
            text += run.text
            continue
        yield text.rpartition(" ")[0] if run.kind not in ("break", "icon") else text
        text = "\0"  # what touches a run that is drawn otherwise is not a word by itself
    yield text


def shown(document: Document) -> str:
    """All words of a page, each of its tabs shown once. What is broken over lines is joined."""
    tabs = [tab for block in document.walk() if block.kind == "tabs" for tab in block.children]
    folds = [opened(document), *(opened(document, tab) for tab in tabs)]
    lines = [line for each in folds for line in lay_out(document.blocks, 2000, Look.plain(), each).lines]
    return _SPACE.sub("", "".join(each.text for line in lines for each in line.pieces if not each.furniture))


def lost(document: Document) -> list[str]:
    text = shown(document)
    hidden = {id(cell) for block in document.walk() if block.kind in ("table", "cards") for cell in _unseen(block)}
    unseen = set(said(Document("", tuple(each for each in document.walk() if id(each) in hidden), "")))
    return [word for word in said(document) if "\0" not in word and word not in text and word not in unseen]


def _unseen(block: Block) -> Iterator[Block]:
    columns = block.attrs.get("columns") or ()
    for row in block.children:
        for at, cell in enumerate(row.children):
            if at < len(columns) and (columns[at].hidden or columns[at].type in ("select", "checkbox", "rating")):
                yield cell


def layout_of(document: Document) -> Layout:
    return lay_out(document.blocks, 76, Look.plain(), opened(document))


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("width", [16, 20, 34, 47, 60, 76, 100, 160])
def test_no_line_of_any_construct_is_wider_than_its_room(width: int, look: str) -> None:
    assert {path.stem: lines for path in FIXTURES if (lines := too_wide(read(path), width, LOOKS[look]))} == {}


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_no_word_is_lost_when_all_is_open(path: Path) -> None:
    assert lost(read(path)) == []


def test_tabs_are_as_wide_as_they_look() -> None:
    # A terminal goes to its own next stop at one, over the border of the box.
    code = "```\na\tb\n\tc\n```\n"
    document = parse(f'{code}\n{{% prompt description="It" %}}\n{code}{{% endprompt %}}\n\n`a\tb` and\ta tab\n')
    for blocks in (document.blocks, source_blocks(document.source)):
        assert "\t" not in "".join(line.text for line in lay_out(blocks, 40, Look.plain(), opened(document)).lines)


async def test_keys_reach_all_that_can_be_opened() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(82, 30)) as pilot:
        for path in FIXTURES:
            document = read(path)
            app.pane.show(document, key=path.stem)
            app.pane.folds.opened.update(opened(document).opened)
            app.pane.reset()
            await pilot.pause()
            every = {(hot.kind, hot.target, hot.spot.index) for hot in layout_of(document).hots}
            stops = [stop for unit in range(len(app.pane.galley)) for stop in app.pane.stops_of(unit)]
            lines = [line for unit in range(len(app.pane.galley)) for line in app.pane.galley.lines(unit)]
            hot = {id(app.pane.block_at(line, hot.start)) for line in lines for hot in hots_of([line])}
            assert {id(stop[3]) for stop in stops} >= hot
            by_letter: set[tuple[str, str, int]] = set()
            for _ in range(200):
                hints = Hints(app.pane.hots_on_show())
                by_letter |= {(hot.kind, hot.target, hot.spot.index) for hot in hints.by_label.values()}
                if app.pane.scroll_offset.y >= app.pane.galley.total - app.pane.rows:
                    break
                app.pane.action_scroll_page(1)
            assert by_letter == every, path.stem
            app.pane.action_scroll_edge(0)
            for _ in stops:
                app.pane.action_move_cursor(1)
            assert app.pane.cursor_stop() == stops[-1], path.stem


@pytest.mark.skipif(not CORPUS, reason="OCTAVO_CORPUS names a folder of real pages")
@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_real_pages_stay_in_their_room_and_lose_no_word(path: Path) -> None:
    document = read(path)
    assert {
        (width, look): lines
        for width in (20, 60, 100)
        for look in LOOKS
        if (lines := too_wide(document, width, LOOKS[look]))
    } == {}
    assert lost(document) == []
