"""Every block that the model allows is set, painted and compared: each kind with each attribute, folded, opened,
annotated, empty and huge, in any width."""

from __future__ import annotations

from random import Random
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from rich.style import Style

from octavo.documents.blocks import Block, Document, Run, TableColumn
from octavo.documents.diff import diff
from octavo.tui.render.block_slices import split_block
from octavo.tui.render.comparison import PageComparison
from octavo.tui.render.deferred_loaders import deferred_content
from octavo.tui.render.diff_sequence import build_diff, build_side
from octavo.tui.render.diff_sides import SideWidths
from octavo.tui.render.diff_units import ContextSize
from octavo.tui.render.layout import _RENDERERS, block_ranges, render_block, render_unit, split_into_units
from octavo.tui.render.layout_context import NARROWEST, Folds, LayoutContext
from octavo.tui.render.page_parts import ThreadMarks
from octavo.tui.render.painting import paint_line
from octavo.tui.render.styled_lines import Line, clickable_spans
from octavo.tui.render.text_search import BlockTextFinder
from octavo.tui.render.thread_layout import render_diff_unit_or_threads
from octavo.tui.render.threads import ThreadSummary
from tests.documents.block_model import CHILDREN, KINDS, LONG, edited, page_of, pages
from tests.tui.reader.test_every_page import LOOKS

T = TypeVar("T")
WIDTHS = (1, 16, 20, 34, 60, 76, 100, 200)
GROUND = Style.parse("white on black")


def test_each_kind_of_block_has_a_renderer() -> None:
    parts = {
        kind
        for holder, kinds in CHILDREN.items()
        if holder in _RENDERERS or holder in ("row", "card")
        for kind in kinds
    }
    assert set(KINDS) - set(_RENDERERS) <= parts | {"unknown"}


def folds_of(document: Document, random: Random) -> Folds:
    """Some of what can be opened, chosen and moved on a page."""
    folds = Folds()
    for block in document.walk():
        if random.random() < 0.3:
            continue
        if block.kind in ("expandable", "code", "prompt", "openapi"):
            folds.opened[block.key] = random.random() < 0.7
        elif block.kind == "tabs" and block.children:
            folds.choose_tab(random.choice(block.children))
        if block.kind in ("table", "code"):
            folds.panned[block.key] = random.choice((1, 8, 10_000))
    return folds


def some(cut: list[T]) -> list[T]:
    """The first of many, some from their midst, and the last."""
    return cut if len(cut) < 10 else [*cut[:4], *cut[len(cut) // 2 :][:2], *cut[-2:]]


def hold(lines: list[Line], most: int) -> None:
    """Check that lines fit their width, and are painted at their declared width."""
    for line in lines:
        assert line.width <= most, (line.block.kind if line.block else "", line.text)
        assert not set("\n\t\r") & set(line.text), line.text
        strip = paint_line(line, 2, most + 5, GROUND)
        assert sum(segment.cell_length for segment in strip) == strip.cell_length == most + 5


def set_a_page(document: Document, data: st.DataObject) -> None:
    width, look = data.draw(st.sampled_from(WIDTHS)), LOOKS[data.draw(st.sampled_from(sorted(LOOKS)))]
    room = data.draw(st.sampled_from((0, width, width + 24)))
    random = data.draw(st.integers(0, 1 << 32).map(Random))
    folds = folds_of(document, random)
    setting = LayoutContext(
        look,
        folds,
        render_block,
        available_width=room,
        never_wraps_code=data.draw(st.booleans()),
        deferred=deferred_content() if room else None,
    )
    cut = list(split_into_units(document.blocks))
    every = list(document.walk())
    marks = ThreadMarks(document.blocks, {block.key: 1 for block in random.sample(every, min(9, len(every)))})
    for unit in some(cut):
        lines = render_unit(setting, unit, width)
        assert (setting.depth, setting.list_depth, setting.has_background) == (0, 0, False)
        hold(lines, max(width, room, NARROWEST))
        clickable_spans(lines)
        marks.paths_at({block.key for _, _, block in block_ranges(lines)}, unit.slice)
    list(BlockTextFinder((number, unit.slice or unit.block) for number, unit in enumerate(cut)).find("line"))


def compare_pages(document: Document, data: st.DataObject) -> None:
    width, look = data.draw(st.sampled_from(WIDTHS)), LOOKS[data.draw(st.sampled_from(sorted(LOOKS)))]
    random = data.draw(st.integers(0, 1 << 32).map(Random))
    other = edited(document, random)
    found = PageComparison(diff(document, other), document, other)
    folds, split = folds_of(document, random), data.draw(st.booleans())
    room = SideWidths.for_width(max(24, width), split=split and width >= 76)
    setting = LayoutContext(
        look, folds, render_block, available_width=room.side, deferred=deferred_content(diagrams=False)
    )
    unfolding = ContextSize()
    unfolding.step = data.draw(st.integers(0, len(ContextSize.STEPS) - 1))
    every = list(other.walk())
    on = {block.key: [ThreadSummary("Ada", "now", LONG)] for block in random.sample(every, min(2, len(every)))}
    for made in (
        build_diff(found.diff, unfolding, on, "A page", side_by_side=room.is_split),
        build_side(found, data.draw(st.sampled_from(("old", "new"))), on, "A page"),
    ):
        for unit in some(made.complete().units):
            hold(render_diff_unit_or_threads(setting, unit, room), room.width)


quickly = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
at_length = settings(max_examples=4000, deadline=None, suppress_health_check=list(HealthCheck))


@quickly
@given(pages(), st.data())
def test_any_block_is_set_and_painted(document: Document, data: st.DataObject) -> None:
    set_a_page(document, data)


@pytest.mark.long
@at_length
@given(pages(), st.data())
def test_any_block_of_many_is_set_and_painted(document: Document, data: st.DataObject) -> None:
    set_a_page(document, data)


@quickly
@given(pages(), st.data())
def test_any_change_is_set_and_painted(document: Document, data: st.DataObject) -> None:
    compare_pages(document, data)


@pytest.mark.long
@at_length
@given(pages(), st.data())
def test_any_change_of_many_is_set_and_painted(document: Document, data: st.DataObject) -> None:
    compare_pages(document, data)


def changed_lines(old: Block, new: Block, width: int) -> list[list[Line]]:
    """Return the lines of the units of a change, and of the slices of the new block."""
    before, after = page_of([old]), page_of([new])
    room = SideWidths.for_width(width, split=False)
    setting = LayoutContext(LOOKS["plain"], Folds(), render_block, available_width=width)
    lines = [
        render_diff_unit_or_threads(setting, each, room)
        for each in build_diff(diff(before, after), ContextSize(), {}).complete().units
    ]
    return [*lines, *(render_block(setting, each, room.text_width) for each in split_block(after.blocks[0]))]


def test_changed_long_table_is_rendered_as_its_slices() -> None:
    def table(words: str) -> Block:
        rows = [Block("row", children=(Block("cell", runs=(Run(f"{at} {words}"),)),) * 2) for at in range(200)]
        return Block("table", {"columns": (TableColumn((Run("a"),)), TableColumn((Run("b"),)))}, tuple(rows))

    assert len(changed_lines(table(LONG), table(LONG.replace("sentence", "line")), 80)) > 4


def test_changed_rows_without_cells_show_nothing() -> None:
    table = Block("table", {}, (Block("row"), Block("row")))
    assert changed_lines(table, table._replace(children=table.children[1:]), 80)[-1] == []


def test_added_tabs_without_a_tab_show_nothing() -> None:
    assert changed_lines(Block("divider"), Block("tabs"), 80)[-1] == []
