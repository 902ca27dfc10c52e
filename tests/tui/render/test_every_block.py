"""Every block that the model allows can be laid out, painted and compared.

The tests cover each kind with each attribute, collapsed, expanded, with notes, empty and huge, at any width."""

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
from octavo.tui.render.diff_chunks import ContextSize
from octavo.tui.render.diff_lines import render_diff_chunk
from octavo.tui.render.diff_sequence import build_diff, build_side
from octavo.tui.render.diff_sides import SideWidths
from octavo.tui.render.layout import (
    _RENDERERS,
    BlockMarks,
    block_ranges,
    deferred_content,
    render_block,
    render_chunk,
    split_into_chunks,
)
from octavo.tui.render.layout_context import MIN_BLOCK_WIDTH, LayoutContext, ViewState
from octavo.tui.render.painting import BlockTextFinder, paint_line
from octavo.tui.render.styled_lines import Line, clickable_spans
from octavo.tui.render.threads import ThreadSummary
from tests.documents.block_model import CHILDREN, KINDS, LONG, edited, page_of, pages
from tests.tui.reader.test_every_page import STYLES_BY_NAME

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


def random_view_state(document: Document, random: Random) -> ViewState:
    """Return a random state: some blocks are expanded or collapsed, some tabs are chosen, and some tables are
    scrolled."""
    view_state = ViewState()
    for block in document.walk():
        if random.random() < 0.3:
            continue
        if block.kind in ("expandable", "code", "prompt", "openapi"):
            view_state.expanded[block.key] = random.random() < 0.7
        elif block.kind == "tabs" and block.children:
            view_state.choose_tab(random.choice(block.children))
        if block.kind in ("table", "code"):
            view_state.pan_offsets[block.key] = random.choice((1, 8, 10_000))
    return view_state


def first_middle_and_last(cut: list[T]) -> list[T]:
    """Return all items if there are few, else the first items, some from the middle, and the last items."""
    return cut if len(cut) < 10 else [*cut[:4], *cut[len(cut) // 2 :][:2], *cut[-2:]]


def check_widths(lines: list[Line], most: int) -> None:
    """Check that lines fit their width, and are painted at their declared width."""
    for line in lines:
        assert line.width <= most, (line.block.kind if line.block else "", line.text)
        assert not set("\n\t\r") & set(line.text), line.text
        strip = paint_line(line, 2, most + 5, GROUND)
        assert sum(segment.cell_length for segment in strip) == strip.cell_length == most + 5


def lay_out_and_paint(document: Document, data: st.DataObject) -> None:
    width, look = data.draw(st.sampled_from(WIDTHS)), STYLES_BY_NAME[data.draw(st.sampled_from(sorted(STYLES_BY_NAME)))]
    available = data.draw(st.sampled_from((0, width, width + 24)))
    random = data.draw(st.integers(0, 1 << 32).map(Random))
    view_state = random_view_state(document, random)
    context = LayoutContext(
        look,
        view_state,
        render_block,
        available_width=available,
        ignores_code_wrap=data.draw(st.booleans()),
        deferred=deferred_content() if available else None,
    )
    cut = list(split_into_chunks(document.blocks))
    blocks = list(document.walk())
    marks = BlockMarks(document.blocks, {block.key: 1 for block in random.sample(blocks, min(9, len(blocks)))})
    for chunk in first_middle_and_last(cut):
        lines = render_chunk(context, chunk, width)
        assert (context.depth, context.list_depth, context.has_background) == (0, 0, False)
        check_widths(lines, max(width, available, MIN_BLOCK_WIDTH))
        clickable_spans(lines)
        marks.paths_at({block.key for _, _, block in block_ranges(lines)}, chunk.block, chunk.slice)
    list(BlockTextFinder((number, chunk.content) for number, chunk in enumerate(cut)).find("line"))


def compare_and_paint(document: Document, data: st.DataObject) -> None:
    width, look = data.draw(st.sampled_from(WIDTHS)), STYLES_BY_NAME[data.draw(st.sampled_from(sorted(STYLES_BY_NAME)))]
    random = data.draw(st.integers(0, 1 << 32).map(Random))
    other = edited(document, random)
    found = PageComparison(diff(document, other), document, other)
    view_state, split = random_view_state(document, random), data.draw(st.booleans())
    available = SideWidths.for_width(max(24, width), split=split and width >= 76)
    context = LayoutContext(
        look, view_state, render_block, available_width=available.side, deferred=deferred_content(diagrams=False)
    )
    context_size = ContextSize()
    context_size.step = data.draw(st.integers(0, len(ContextSize.STEPS) - 1))
    blocks = list(other.walk())
    on = {block.key: [ThreadSummary("Ada", "now", LONG)] for block in random.sample(blocks, min(2, len(blocks)))}
    for built in (
        build_diff(found.diff, context_size, on, "A page", side_by_side=available.is_split),
        build_side(found, data.draw(st.sampled_from(("old", "new"))), on, "A page"),
    ):
        for chunk in first_middle_and_last(built.complete().chunks):
            check_widths(render_diff_chunk(context, chunk, available), available.width)


few_examples = settings(
    max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate]
)
many_examples = settings(max_examples=4000, deadline=None, suppress_health_check=list(HealthCheck))


@few_examples
@given(pages(), st.data())
def test_any_block_can_be_laid_out_and_painted(document: Document, data: st.DataObject) -> None:
    lay_out_and_paint(document, data)


@pytest.mark.long
@many_examples
@given(pages(), st.data())
def test_any_of_many_blocks_can_be_laid_out_and_painted(document: Document, data: st.DataObject) -> None:
    lay_out_and_paint(document, data)


@few_examples
@given(pages(), st.data())
def test_any_change_can_be_laid_out_and_painted(document: Document, data: st.DataObject) -> None:
    compare_and_paint(document, data)


@pytest.mark.long
@many_examples
@given(pages(), st.data())
def test_any_of_many_changes_can_be_laid_out_and_painted(document: Document, data: st.DataObject) -> None:
    compare_and_paint(document, data)


def changed_lines(old: Block, new: Block, width: int) -> list[list[Line]]:
    """Return the lines of the chunks of a change, and of the slices of the new block."""
    before, after = page_of([old]), page_of([new])
    available = SideWidths.for_width(width, split=False)
    context = LayoutContext(STYLES_BY_NAME["plain"], ViewState(), render_block, available_width=width)
    lines = [
        render_diff_chunk(context, each, available)
        for each in build_diff(diff(before, after), ContextSize(), {}).complete().chunks
    ]
    return [*lines, *(render_block(context, each, available.text_width) for each in split_block(after.blocks[0]))]


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
