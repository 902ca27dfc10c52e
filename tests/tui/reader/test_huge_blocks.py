"""A huge block of any kind is rendered in slices and loses no words.

The tests count steps and not time: chunks, lines of a chunk, and chunks that a key renders."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from rich.cells import cell_len

from octavo.documents.blocks import ROLES, Block
from octavo.documents.diff_model import ChangedBlock, CodeChange
from octavo.documents.merging.page_merge import merge
from octavo.documents.source_reader import parse
from octavo.tui.reader.diff_view import DiffView
from octavo.tui.reader.page_view import PageView
from octavo.tui.reader.three_way_view import ThreeWayView
from octavo.tui.render import block_slices
from octavo.tui.render.comparison import compare
from octavo.tui.render.conflict_lines import ConflictView, prepare_conflicts
from octavo.tui.render.diff_chunks import ContextSize
from octavo.tui.render.diff_lines import render_diff_chunk
from octavo.tui.render.diff_sequence import build_diff, build_source_diff
from octavo.tui.render.diff_sides import SideWidths
from octavo.tui.render.layout import render_block, render_chunk, split_into_chunks
from octavo.tui.render.layout_context import LayoutContext, ViewState, path_to_block
from octavo.tui.render.painting import BlockTextFinder
from octavo.tui.render.styled_lines import Line
from octavo.tui.render.styles import Styles
from octavo.tui.render.virtual_lines import VirtualLines
from octavo.tui.terminal import polite_thread
from tests.benchmarks.texts import sentence
from tests.call_counter import CallCounter
from tests.documents.huge_blocks import HUGE
from tests.tui.reader.panes import PaneApp, screen, wait_for_diff, wait_for_layout

MOST_LINES, MOST_PIECES = 400, 4000
"""Maximum numbers of lines and of pieces in a chunk. Some lines contain only one letter, or only the bars of blocks."""
WITHOUT_HUGE_BLOCK = {"tabs", "codes", "front matter", "embeds", "diagrams", "many columns", "unknown tag"}
"""Names of pages that consist of many blocks, or of one block with little text."""
PLAIN_STYLES = Styles.plain()
_WORD = re.compile(r"\w+")


SPLIT_BLOCKS = (
    "code",
    "code in one line",
    "heading",
    "cell",
    "card",
    "caption",
    "file",
    "prompt",
    "conflict",
    "formula of words",
)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in (*SPLIT_BLOCKS, "list", "table") else pytest.mark.before_release)
        for name in HUGE
        if name not in WITHOUT_HUGE_BLOCK
    ],
)
def test_no_chunk_exceeds_layout_limit(name: str) -> None:
    cut = list(split_into_chunks(parse(HUGE[name](30)).blocks))
    context = LayoutContext(PLAIN_STYLES, ViewState(), render_block, available_width=110)
    for chunk in (*cut[:6], *cut[len(cut) // 2 :][:2], *cut[-2:]):
        lines = render_chunk(context, chunk, 76)
        assert len(lines) <= MOST_LINES
        assert sum(len(line.pieces) for line in lines) <= MOST_PIECES


@pytest.mark.parametrize("name", SPLIT_BLOCKS)
def test_splitting_block_loses_no_words(name: str) -> None:
    blocks = parse(HUGE[name](40)).blocks
    view_state = ViewState(expanded={block.key: True for block in blocks})
    context = LayoutContext(PLAIN_STYLES, view_state, render_block, available_width=110, ignores_code_wrap=False)
    rendered = "".join(line.text for chunk in split_into_chunks(blocks) for line in render_chunk(context, chunk, 76))
    letters = re.sub(r"\W", "", rendered)
    words = [word for block in blocks for word in _WORD.findall(block.plain())]
    assert len(words) > 100
    at = 0
    for word in words if name not in ("code", "cell", "code in one line") else ():
        at = letters.find(word, at)
        assert at >= 0, word
        at += len(word)
    assert len(letters) >= sum(map(len, words)) * 0.95


def test_each_block_with_children_can_be_split() -> None:
    assert ROLES.keys() - {"row", "card"} <= block_slices._SPLITTERS.keys(), "rows and cards are split with their table"


def test_top_of_a_chunk_is_the_sum_of_the_heights_above() -> None:
    heights = [1 + number % 4 for number in range(3000)]
    virtual_lines = VirtualLines(
        range(3000), lambda chunk: heights[chunk], lambda chunk: [Line([])] * (heights[chunk] + chunk % 3)
    )
    for chunk in (2999, 0, 1500, 255, 256, 257):
        virtual_lines.lines(chunk)
        heights[chunk] += chunk % 3
    for chunk in (0, 1, 255, 256, 257, 1500, 1501, 2998, 2999):
        assert virtual_lines.lines_above(chunk) == sum(heights[:chunk])
        assert virtual_lines.chunk_at(virtual_lines.lines_above(chunk)) == (chunk, 0)
        assert virtual_lines.chunk_at(virtual_lines.lines_above(chunk) + heights[chunk] - 1) == (
            chunk,
            heights[chunk] - 1,
        )
    assert virtual_lines.total == sum(heights)


def test_search_runs_in_parts_and_finds_each_match_once() -> None:
    cut = list(split_into_chunks(parse(HUGE["hints in hints, much in each"](200)).blocks))
    finder = BlockTextFinder((number, chunk.content) for number, chunk in enumerate(cut))
    found = list(finder.find("harbour"))
    assert found.count(None) > 3
    text = "".join(chunk.content.plain() for chunk in cut)
    assert len([find for find in found if find is not None]) == text.count("harbour")
    assert list(finder.find("harbour")) == found


def test_nested_bars_and_signs_are_measured_once() -> None:
    cut = list(split_into_chunks(parse(HUGE["hints in hints, much in each"](60)).blocks))
    context = LayoutContext(PLAIN_STYLES, ViewState(), render_block, available_width=110)
    with CallCounter(cell_len) as calls:
        pieces = sum(len(line.pieces) for line in render_chunk(context, cut[len(cut) // 2], 76))
    assert pieces > 500
    assert calls.counts["cell_len"] < 20


def test_search_pauses_for_keys_in_blocks_without_text() -> None:
    read: list[int] = []

    def blocks() -> Iterator[tuple[int, Block]]:
        for chunk in range(300):
            read.append(chunk)
            yield chunk, Block("paragraph", text="" if chunk % 100 else "words")

    search = BlockTextFinder(blocks()).find("words")
    assert [find.chunk_index for find in search if find is not None] == [0, 100, 200]
    read.clear()
    for find in BlockTextFinder(blocks()).find("words"):
        if find is None:
            assert len(read) == 1
            read.clear()


async def test_jump_in_nested_page_lays_out_few_chunks() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(100, 30)) as pilot:
        app.pane.show(parse(HUGE["steps in steps"](300)), key="p")
        await pilot.pause()
        outermost: Block = app.pane.viewport.virtual_lines.chunks[0].block
        unset = app.pane.viewport.virtual_lines.estimated_count
        app.pane.navigation.go_to_block(outermost.key)
        assert app.pane.viewport.virtual_lines.estimated_count > unset - 60
        assert len(app.pane.viewport.virtual_lines) > 200


async def test_diff_of_one_huge_block_is_sliced() -> None:
    app = PaneApp(DiffView())
    async with app.run_test(size=(100, 30)) as pilot:
        app.pane.show(compare("Words.\n", HUGE["list"](30)), key="p")
        await wait_for_diff(app.pane, pilot)
        assert len(app.pane.viewport.virtual_lines) > 20
        await pilot.press("n")
        assert "item 0" in screen(app.pane)
        await pilot.press("G", "\\")
        while not app.pane.contents.shows_source or app.pane.contents.is_building:
            await pilot.pause()
        assert all(len(chunk.lines) < 200 for chunk in app.pane.contents.shown_diff.chunks)
        assert "item 0" in screen(app.pane)


def test_path_to_deeply_nested_block_is_found() -> None:
    deep = Block("paragraph", key="deep")
    for level in range(5000):
        deep = Block("quote", children=(Block("paragraph", key="beside"), deep), key=f"{level}")
    assert [each.key for each in path_to_block(deep, "deep")] == [*map(str, reversed(range(5000))), "deep"]
    assert path_to_block(deep, "nowhere") == []
    assert deep.has("deep")


async def test_huge_conflict_shows_first_part_and_names_rest() -> None:
    app = PaneApp(ThreeWayView())
    async with app.run_test(size=(150, 30)) as pilot:
        pieces = prepare_conflicts(merge(*(f"{sentence(number, 4000)}\n" for number in (1, 2, 3))))
        app.pane.show(pieces, {}, key="p", side_names=("main", "#1"))
        await pilot.pause()
        lines = [
            line
            for chunk in range(len(app.pane.viewport.virtual_lines))
            for line in app.pane.viewport.virtual_lines.lines(chunk)
        ]
        assert any("more lines are not shown" in line.text for line in lines)
        assert len(lines) < 450


async def test_diff_stays_visible_until_next_chunks_are_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polite_thread, "THREAD_WAIT", 0.0)
    app = PaneApp(DiffView())
    async with app.run_test(size=(100, 30)) as pilot:
        app.pane.show(compare(HUGE["codes"](60), HUGE["codes"](60).replace("a", "b", 30)), key="p")
        await wait_for_diff(app.pane, pilot)
        for _ in range(4):
            await pilot.press("minus")
            await wait_for_diff(app.pane, pilot)
        before = len(app.pane.viewport.virtual_lines)
        assert before < 100
        app.pane.contents.page.context_size.step = 4
        app.pane.navigation.builder.build()
        assert app.pane.contents.is_building
        assert len(app.pane.viewport.virtual_lines) == before
        while app.pane.contents.is_building:
            await pilot.pause(0.01)
        assert len(app.pane.viewport.virtual_lines) > 2000
        assert app.pane.contents.shown_diff.change_count == 30


@pytest.mark.before_release
async def test_huge_block_around_conflict_is_sliced() -> None:
    page = f"Top.\n\n{HUGE['list'](30)}\nEnd words.\n"
    made = merge(page, page.replace("End words", "Ending words"), page.replace("End words", "End of words"))
    pieces = prepare_conflicts(made, page.replace("End words", "Ending words"))
    app = PaneApp(ThreeWayView())
    async with app.run_test(size=(100, 30)) as pilot:
        app.pane.show(pieces, {}, key="p", side_names=("main", "#1"))
        await pilot.pause()
        await pilot.press("equals_sign")
        await wait_for_layout(app.pane, pilot)
        assert len(app.pane.viewport.virtual_lines) > 20
        assert all(
            len(app.pane.viewport.virtual_lines.lines(chunk)) <= MOST_LINES
            for chunk in range(len(app.pane.viewport.virtual_lines))
        )
        assert "End words" in screen(app.pane)


async def test_next_conflict_is_selected_without_layout_between() -> None:
    page = f"Top.\n\n{HUGE['paragraph'](300)}\nEnd words.\n"
    made = merge(page, page.replace("End words", "Ending words"), page.replace("End words", "End of words"))
    app = PaneApp(ThreeWayView())
    async with app.run_test(size=(100, 30)) as pilot:
        app.pane.show(prepare_conflicts(made), {}, key="p", side_names=("main", "#1"))
        await pilot.pause()
        app.pane.toggle_context()
        here, unset = app.pane.cursor.current(), app.pane.viewport.virtual_lines.estimated_count
        assert here is not None
        assert unset > 20
        assert next(app.pane.cursor.spans_from(here.chunk_index, here.block, -1, lambda chunk: True), None) is None
        assert app.pane.viewport.virtual_lines.estimated_count == unset


def test_slices_of_huge_changed_word_show_own_letters() -> None:
    made = build_diff(
        compare(f"{'w' * 60_000}\n", f"{'w' * 30_000}x{'w' * 30_000}\n").diff, ContextSize(), {}
    ).complete()
    context, room = LayoutContext(PLAIN_STYLES, ViewState(), render_block), SideWidths.for_width(90, split=False)
    heights = [len(render_diff_chunk(context, chunk, room)) for chunk in made.chunks]
    assert len(heights) > 5
    assert max(heights) <= MOST_LINES


@pytest.mark.parametrize("name", ["code in a hint", "code of tabs"])
def test_changed_code_far_from_change_is_only_counted(name: str) -> None:
    page = HUGE[name](40)
    lines = page.split("\n")
    lines[len(lines) // 2] += " x"
    compared = compare(page, "\n".join(lines))
    if name == "code of tabs":  # Diffs split this block in another way than pages do.
        (entry,) = compared.diff.entries
        assert isinstance(entry, ChangedBlock)
    made = build_diff(compared.diff, ContextSize(), {}).complete()
    changed = [chunk.entry.content_change for chunk in made.chunks if isinstance(chunk.entry, ChangedBlock)]
    code_lines = [line for parts in changed if isinstance(parts, CodeChange) for line in parts.lines]
    assert [line.omitted_count > 0 for line in code_lines] == [True, *[False] * 7, True]
    assert sum(line.omitted_count or 1 for line in code_lines) == len(compared.new.blocks[0].plain().split("\n"))


def test_long_unchanged_line_next_to_change_is_sliced() -> None:
    long = " ".join("word" for _ in range(20_000))
    compared = compare(f"```\n{long}\na\n```\n", f"```\n{long}\nb\n```\n")
    for made in (build_diff(compared.diff, ContextSize(), {}), build_source_diff(compared.hunks)):
        context, room = LayoutContext(PLAIN_STYLES, ViewState(), render_block), SideWidths.for_width(90, split=False)
        assert max(len(render_diff_chunk(context, chunk, room)) for chunk in made.complete().chunks) <= MOST_LINES


class _CountingName(str):
    """A name that counts how often it is hashed."""

    hash_count = 0

    def __hash__(self) -> int:
        _CountingName.hash_count += 1
        return super().__hash__()


@pytest.mark.before_release
async def test_many_conflicts_are_numbered_in_linear_time() -> None:
    app = PaneApp(ThreeWayView())
    async with app.run_test(size=(150, 30)) as pilot:
        (one,) = (each for each in prepare_conflicts(merge("a\n", "b\n", "c\n")) if isinstance(each, ConflictView))
        many = tuple(replace(one, name=_CountingName(number), key=f"{number} 1") for number in range(1000))
        app.pane.show(many, {}, key="p", side_names=("main", "#1"))
        await pilot.press("G", "n", "g")
        assert app.pane.status_text == "conflict 1 of 1000"
        assert _CountingName.hash_count < 10_000
