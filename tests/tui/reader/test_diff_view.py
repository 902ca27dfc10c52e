"""The diff view: its keys, and the layout of changes."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from rich.style import Style
from textual.pilot import Pilot

from octavo.documents.diff import diff
from octavo.documents.source_reader import parse
from octavo.documents.suggestions import TwoVersionAnchors
from octavo.tui.reader.diff_contents import PageSection
from octavo.tui.reader.diff_view import DiffView
from octavo.tui.reader.multi_page_diff import MultiPageNavigation
from octavo.tui.reader.reading_pane import Reader
from octavo.tui.reader.reading_position import ReadingPosition
from octavo.tui.render.comparison import PageComparison, compare
from octavo.tui.render.diff_chunks import ContextSize
from octavo.tui.render.diff_lines import render_diff_chunk
from octavo.tui.render.diff_sequence import build_diff, build_source_diff
from octavo.tui.render.diff_sides import SideWidths
from octavo.tui.render.layout import render_block
from octavo.tui.render.layout_context import LayoutContext, ViewState
from octavo.tui.render.styles import Styles
from octavo.tui.render.threads import ThreadReply, ThreadSummary
from octavo.tui.widgets.commands import active_commands
from tests.tui.reader.panes import PaneApp, bar_column, screen, wait_for_diff
from tests.tui.reader.picture import check, text_of

BEFORE = """\
# Signing secrets

Each endpoint has one signing secret.

## How it works

One.

Two.

Three.

Four.

## Rotate

The secret never changes. It is kept by us.

{% hint style="info" %}
Keep it safe.
{% endhint %}

| Name | Value |
| --- | --- |
| header | `X-Signature` |
| hash | SHA-256 |

1. first step
2. second step

```python
secret = get()
verify(secret)
```

Gone tomorrow.

See [the guide](old.md).
"""
AFTER = (
    BEFORE.replace("The secret never changes. It is kept", "You can rotate the secret at any time. The old one is kept")
    .replace('style="info"', 'style="warning"')
    .replace("X-Signature", "X-Acme-Signature")
    .replace("verify(secret)", "check(secret)")
    .replace("second step", "second, better step")
    .replace("Gone tomorrow.\n", "### New\n\n* Deploy code that accepts both.\n")
    .replace("old.md", "new.md")
)
THREAD = ThreadSummary(
    "Tom W.",
    "21 min",
    "Is it 24 h, or until it is revoked? [/x] says nothing.",
    reply_count=2,
    shown_replies=(ThreadReply("Ada L.", "15 min", "24 h is the default."),),
    key="t1",
)


def key_of(text: str) -> str:
    """Return the key of the block that begins with `text`."""
    return next(block.key for block in parse(AFTER).walk() if block.plain().startswith(text) and not block.children)


def view_app() -> PaneApp[DiffView]:
    return PaneApp(DiffView())


def show(app: PaneApp[DiffView], before: str = BEFORE, after: str = AFTER, **threads: list[ThreadSummary]) -> None:
    found = {key_of(text.replace("_", " ")): lines for text, lines in threads.items()}
    app.pane.show(compare(before, after), title="Signing secrets", key="p")
    app.pane.set_threads(found)


@pytest.mark.parametrize("width", [60, 100, 140])
@pytest.mark.parametrize("ascii", [False, True])
def test_diff_matches_snapshot(width: int, ascii: bool) -> None:
    context = LayoutContext(Styles.plain(ascii=ascii), ViewState(), render_block)
    threads = {key_of("You can"): [THREAD], "": [ThreadSummary("Zoe M.", "3 d", "On the page.", is_open=False)]}
    found = build_diff(diff(parse(BEFORE), parse(AFTER)), ContextSize(), threads, "Signing secrets").complete()
    lines = [
        line
        for chunk in found.chunks
        for line in render_diff_chunk(context, chunk, SideWidths.for_width(min(108, width - 4), split=False))
    ]
    assert [line.text for line in lines if line.width > width - 4] == []
    check(f"diff-{width}{'-ascii' if ascii else ''}", text_of(lines))


def test_changed_words_are_marked_without_colors() -> None:
    context = LayoutContext(Styles.plain(), ViewState(), render_block)
    found = build_diff(
        diff(parse("The secret never changes."), parse("The secret often changes.")), ContextSize(), {}
    ).complete()
    pieces = [
        piece
        for chunk in found.chunks
        for line in render_diff_chunk(context, chunk, SideWidths.for_width(60, split=False))
        for piece in line.pieces
    ]
    assert [piece.text for piece in pieces if piece.style.strike] == ["never"]
    assert [piece.text for piece in pieces if piece.style.underline] == ["often"]


@pytest.mark.parametrize("commented", range(9))
def test_blocks_around_an_unchanged_thread_are_shown_or_counted(commented: int) -> None:
    paragraphs = [f"Paragraph {number} stays as it is." for number in range(9)]
    after = parse("\n\n".join([*paragraphs, "It is new."]))
    threads = {after.blocks[commented].key: [THREAD]}
    found = build_diff(diff(parse("\n\n".join(paragraphs)), after), ContextSize(), threads).complete()
    shown = [block.plain() for chunk in found.chunks for block in (*chunk.blocks, *chunk.hidden_blocks)]
    assert [text for text in dict.fromkeys(shown) if text] == [block.plain() for block in after.blocks]


@pytest.mark.parametrize("block", ["```sh\nmake install all\n```", "![A boat](boat.png)"])
def test_unchanged_block_that_was_wrapped_is_shown_below_the_note(block: str) -> None:
    wrapped = f'{{% tabs %}}\n{{% tab title="" %}}\n{block}\n{{% endtab %}}\n{{% endtabs %}}'
    below = "\n\n".join(f"Paragraph {number} stays as it is." for number in range(9))
    old, new = (parse(f"# Install\n\n{part}\n\n{below}") for part in (wrapped, block))
    chunks = build_diff(diff(old, new), ContextSize(), {}).complete().chunks
    index = next(index for index, chunk in enumerate(chunks) if chunk.kind == "note")
    assert chunks[index].text == "unwrapped from tabs"
    assert chunks[index + 1].block is new.blocks[1]


async def test_next_and_previous_change_are_selected_and_counted() -> None:
    app = view_app()
    async with app.run_test(size=(80, 20)) as pilot:
        show(app)
        assert app.pane.contents.shown_diff.change_count == 9
        await pilot.pause()
        seen = [app.pane.navigation.position_text]
        for _ in range(8):
            await pilot.press("n")
            seen.append(app.pane.navigation.position_text)
        assert seen == [f"change {number} of 9" for number in range(1, 10)]
        assert app.pane.status_text == "change 9 of 9"
        await pilot.press("N")
        assert app.pane.navigation.position_text == "change 8 of 9"


async def test_page_opens_at_first_change_with_section_name() -> None:
    app = view_app()
    code = "\n".join(f"line {number}" for number in range(20))
    step = "{{% step %}}\n### Step {0}\n\nRead {0}.\n\n```sh\n{1}\n```\n\nThen {0}.\n{{% endstep %}}\n\n"
    steps = "".join(step.format(number, code) for number in range(4))
    before = f"# Start\n\nWords.\n\n## Ask\n\n{{% stepper %}}\n{steps}{{% endstepper %}}\n\nThe end.\n"
    async with app.run_test(size=(64, 16)) as pilot:
        app.pane.show(compare(before, before.replace("Then 2.", "Then two.")), title="Start", key="p")
        await pilot.pause()
        shown = screen(app.pane)
        assert "── Ask › step “Step 2” · 8 blocks ─" in shown
        assert ["Then two." in row for row in bar_column(app.pane)] == [True]
        assert "line 1" not in shown
        app.pane.set_threads({"": [ThreadSummary("Zoe M.", "3 d", "On the page. " * 30)]})
        await pilot.pause()
        assert ["Then two." in row for row in bar_column(app.pane)] == [True], (
            "the position must stay at the change until the user scrolls"
        )
        await pilot.press("k")
        app.pane.set_threads({})
        await pilot.pause()
        await pilot.resize_terminal(50, 17)
        await pilot.pause()
        assert app.pane.navigation.position_text == "change 1 of 1"


async def test_page_without_change_opens_at_first_open_thread() -> None:
    app = view_app()
    async with app.run_test(size=(80, 16)) as pilot:
        settled = ThreadSummary("Zoe M.", "3 d", "Settled.", is_open=False, key="t0")
        show(app, BEFORE, BEFORE, One=[settled], first_step=[THREAD])
        await pilot.pause()
        assert "Tom W." in bar_column(app.pane)[0]


async def test_collapsed_lines_expand_in_place() -> None:
    app = view_app()
    async with app.run_test(size=(80, 30)) as pilot:
        show(app)
        await pilot.pause()
        assert "7 blocks unchanged" in screen(app.pane)
        assert "Two." not in screen(app.pane)
        await pilot.press("left_parenthesis", "left_parenthesis", "left_parenthesis")
        assert "expand" in bar_column(app.pane)[0]
        await pilot.press("equals_sign")
        assert "Two." in screen(app.pane)
        await pilot.press("minus")
        assert "Two." not in screen(app.pane)


async def test_enter_expands_collapsed_lines() -> None:
    app = view_app()
    async with app.run_test(size=(80, 30)) as pilot:
        show(app)
        await pilot.press("g", "enter")
        assert "Two." in screen(app.pane)


async def test_context_grows_and_shrinks_around_cursor() -> None:
    app = view_app()
    async with app.run_test(size=(80, 30)) as pilot:
        show(app)
        await pilot.press("equals_sign")
        assert "Four." in screen(app.pane)
        assert "One." not in screen(app.pane)
        assert ["You can rotate" in row for row in bar_column(app.pane)] == [True]
        await pilot.press("minus", "minus")
        assert "Rotate\n" not in screen(app.pane)
        assert not app.explained
        await pilot.press("minus")
        assert app.explained == ["The diff already shows as little unchanged text as possible."]
        for _ in range(5):
            before = screen(app.pane)
            await pilot.press("equals_sign")
            if screen(app.pane) == before:
                break
        assert app.explained[1:] == ["The diff already shows all unchanged text."]
        await pilot.press("minus")
        assert screen(app.pane) != before
        await pilot.press("backslash", "equals_sign")
        assert app.explained[2].startswith("The source diff shows a fixed number of unchanged lines.")


async def test_thread_is_below_its_block_and_selectable() -> None:
    app = view_app()
    async with app.run_test(size=(80, 30)) as pilot:
        show(app, You_can=[THREAD], Three=[ThreadSummary("Zoe M.", "3 d", "Not folded.")])
        await pilot.press("t")
        shown = screen(app.pane)
        assert "Three." in shown
        assert "Not folded." in shown
        await pilot.press("t", "enter")
        assert "[/x] says nothing." in screen(app.pane)
        await pilot.press("left_parenthesis", "enter")
        requested = [(each.block.kind, each.block.key) for each in app.said if isinstance(each, Reader.ThreadRequested)]
        assert requested == [("thread", "t1"), ("paragraph", key_of("You can"))]


async def test_comment_is_on_new_block_and_never_on_collapsed_lines() -> None:
    app = view_app()
    async with app.run_test(size=(80, 30)) as pilot:
        show(app)
        await pilot.pause()
        await pilot.press("g")
        comment = next(each for each in active_commands(app.screen) if each.id == "diff.comment")
        assert not comment.is_enabled
        assert "to select a block" in (comment.reason or "")
        await pilot.press("n", "c")
        chosen = [each.block.key for each in app.said if isinstance(each, Reader.CommentRequested)]
        assert chosen == [key_of("You can")]


async def test_source_of_both_sides_is_shown() -> None:
    app = view_app()
    async with app.run_test(size=(80, 60)) as pilot:
        show(app)
        await pilot.press("backslash")
        await app.workers.wait_for_complete()
        assert '− {% hint style="info" %}' in screen(app.pane)
        assert '+ {% hint style="warning" %}' in screen(app.pane)
        await pilot.press("backslash")
        await app.workers.wait_for_complete()
        assert "~ hint style: info → warning" in screen(app.pane)


async def test_find_searches_visible_diff() -> None:
    app = view_app()
    async with app.run_test(size=(80, 20)) as pilot:
        show(app)
        await pilot.press("slash", *"acme", "enter")
        assert app.pane.find_bar.search_status == "1 of 1"
        assert "X-Acme-Signature" in screen(app.pane)


async def test_diff_without_changes_says_so() -> None:
    app = view_app()
    async with app.run_test(size=(80, 20)) as pilot:
        show(app, BEFORE, BEFORE)
        await pilot.press("n", "t", "equals_sign", "j")
        assert "No changes on this page." in screen(app.pane)
        show(app, BEFORE, BEFORE.replace("One.\n", "One.\n\n"))
        await pilot.pause()


async def test_same_diff_again_keeps_position() -> None:
    app = view_app()
    async with app.run_test(size=(80, 12)) as pilot:
        show(app)
        await pilot.press("n", "n", "n")
        cursor, offset = bar_column(app.pane), app.pane.scroll_offset.y
        show(app, You_can=[THREAD])
        await pilot.pause()
        assert bar_column(app.pane) == cursor
        assert app.pane.scroll_offset.y > offset > 0


async def test_page_reopens_at_last_position_also_after_restart() -> None:
    app = view_app()
    async with app.run_test(size=(80, 12)) as pilot:
        show(app)
        await pilot.press("n", "n", "n", "k", "k")
        cursor, offset = bar_column(app.pane), screen(app.pane)
        app.pane.show(compare("one\n", "two\n"), key="q")
        await pilot.pause()
        assert "two" in screen(app.pane)
        show(app)
        await pilot.pause()
        assert screen(app.pane) == offset
        assert list(app.pane.navigation.positions) == ["p"], "only pages in which the user moved have a stored position"
        places = json.loads(json.dumps(app.pane.navigation.positions))
    again = view_app()
    again.pane.navigation.positions = {key: ReadingPosition(*offset) for key, offset in places.items()}
    async with again.run_test(size=(100, 12)) as pilot:
        show(again, You_can=[THREAD])
        await pilot.pause()
        assert bar_column(again.pane) == cursor
        await pilot.press("j")
        again.pane.navigation.positions["p"] = ReadingPosition("gone meanwhile", 3)
        again.pane.clear()
        again.pane.navigation.positions["p"] = ReadingPosition("gone meanwhile", 3)
        show(again)
        await pilot.pause()
        assert again.pane.navigation.position_text == "change 1 of 9"


@pytest.mark.parametrize("keys", [(), ("vertical_line",)])
async def test_changed_code_has_syntax_colors_below_word_marks(keys: list[str]) -> None:
    app = view_app()
    before = "```python\ndef it():\n\treturn old\n```\n\n```python\nadded = 1\n```\n"
    async with app.run_test(size=(160, 20)) as pilot:
        app.pane.show(compare(before, before.replace("return old", "return new").replace("1", "2")), key="p")
        await pilot.press(*keys)
        look = app.pane.viewport.text_styles

        def pieces() -> list[tuple[str, Style]]:
            chunks = range(len(app.pane.viewport.virtual_lines))
            return [
                piece[:2]
                for chunk in chunks
                for line in app.pane.viewport.virtual_lines.lines(chunk)
                for piece in line.pieces
            ]

        for _ in range(200):
            both = ("return", look.accent + look.add_line), ("2", look.warning + look.add_line + look.add_word)
            if all(each in pieces() for each in both):  # The colors of the two code blocks arrive one after the other.
                break
            await pilot.pause(0.02)
        found = {text: style for text, style in pieces() if text.strip()}
        assert found["new"] == look.text + look.add_line + look.add_word
        assert found["old"] == look.text + look.remove_line + look.remove_word
        assert ("return", look.accent + look.add_line) in pieces(), "an unchanged word must not be marked as changed"
        assert found["2"] == look.warning + look.add_line + look.add_word
        rows = screen(app.pane)
        assert "    return new" in rows


@pytest.mark.parametrize("size", [(14, 5), (40, 12), (200, 60)])
async def test_diff_fits_any_size(size: tuple[int, int]) -> None:
    app = view_app()
    async with app.run_test(size=size) as pilot:
        show(app, You_can=[THREAD])
        await pilot.press("n", "t", "G", "k", "equals_sign", "backslash", "j")
        assert screen(app.pane).strip() != ""


def test_hunks_of_source_are_changes() -> None:
    from octavo.documents.diff_text import source_diff

    lines = [str(number) for number in range(40)]
    hunks = source_diff("\n".join(lines), "\n".join([*lines[:5], "x", *lines[5:30], *lines[31:]]))
    found = build_source_diff(hunks).complete()
    assert found.change_count == 2
    assert [chunk.kind for chunk in found.chunks] == ["label", "lines", "label", "lines"]


async def wait_for_lines(pane: DiffView) -> None:
    """Wait until a pane that is shown again has its lines. The width of the pane is known earlier."""
    for _ in range(200):
        await asyncio.sleep(0.01)
        if not pane.viewport.is_outdated and len(pane.viewport.virtual_lines) == len(pane.contents.built_diff.chunks):
            return
    raise AssertionError("There are no lines.")


async def test_requested_thread_is_selected_once_pane_has_width() -> None:
    """A thread may be requested while the pane is hidden and has no lines yet."""
    async with PaneApp(DiffView()).run_test(size=(90, 20)) as pilot:
        pane = pilot.app.query_one(DiffView)
        pane.display = False
        await pilot.pause()
        pane.show(compare(BEFORE, AFTER), key="p")
        pane.set_threads({key_of("Keep it safe"): [THREAD]})
        await pilot.pause()

        assert pane.navigation.select_thread("t1")
        assert not pane.navigation.select_thread("of another page")
        pane.display = True
        await wait_for_lines(pane)

        selected = pane.cursor.current()
        assert selected is not None
        assert (selected.block.kind, selected.block.key) == ("thread", "t1")
        assert "Is it 24 h" in screen(pane)


async def test_diff_stays_visible_while_pane_has_no_width() -> None:
    """A hidden pane keeps its lines, even if other chunks are built meanwhile."""
    async with PaneApp(DiffView()).run_test(size=(90, 20)) as pilot:
        pane = pilot.app.query_one(DiffView)
        pane.show(compare(BEFORE, AFTER), key="p")
        await pilot.pause()
        pane.display = False
        await pilot.pause()
        pane.set_threads({block.key: [THREAD] for block in parse(AFTER).walk() if not block.children})
        await pilot.pause()

        assert len(pane.contents.shown_diff.chunks) == len(pane.viewport.virtual_lines)
        assert not pane.navigation.select_thread("t1")
        pane.display = True
        await wait_for_lines(pane)
        assert pane.navigation.select_thread("t1")
        for _ in range(8):  # Between showing and the resize event, the position may be read too.
            pane.display = False
            await pilot.pause()
            pane.navigation.builder.build()
            await pilot.pause()
            pane.display = True
            await wait_for_lines(pane)


def changed_section(paragraphs: int) -> tuple[PageSection, PageComparison]:
    """Return the section of a page with this number of paragraphs below a changed one, and its comparison."""
    page = "\n\n".join(f"Paragraph {number} of a page with many words." for number in range(paragraphs))
    compared = compare(f"start\n\n{page}", f"begin\n\n{page}")
    section = PageSection("p")
    section.compared, section.anchors = compared, TwoVersionAnchors((compared.old, compared.new))
    return section, compared


def build_sections(app: PaneApp[DiffView], *sections: PageSection) -> MultiPageNavigation:
    """Show the sections of several pages, and begin to build their lines."""
    navigation = app.pane.navigation
    assert isinstance(navigation, MultiPageNavigation)
    navigation.contents.sections = sections
    navigation.build_all()
    return navigation


async def test_position_in_collapsed_lines_of_a_long_section_is_restored() -> None:
    section, compared = changed_section(300)
    app = PaneApp(DiffView(has_several_pages=True))
    async with app.run_test(size=(80, 20)) as pilot:
        navigation = build_sections(app, section)
        await app.workers.wait_for_complete()
        key = compared.new.blocks[100].key
        navigation.positions["p"] = ReadingPosition(key, 3)
        navigation.restore(section)
        await app.workers.wait_for_complete()
        await pilot.pause()
        selected = app.pane.cursor.current()
        assert selected is not None
        assert selected.block.key == key
        assert app.pane.viewport.row_of(selected.start) == 3


async def test_position_in_collapsed_lines_of_a_hidden_pane_is_not_restored() -> None:
    section, compared = changed_section(100)  # Short: its lines are built at once.
    app = PaneApp(DiffView(has_several_pages=True))
    async with app.run_test(size=(80, 20)) as pilot:
        navigation = build_sections(app, section)
        await pilot.pause()
        app.pane.display = False
        await pilot.pause()
        navigation.positions["p"] = ReadingPosition(compared.new.blocks[50].key, 3)
        navigation.restore(section)
        app.pane.display = True
        await wait_for_lines(app.pane)
        assert "begin" in screen(app.pane)


async def test_source_is_shown_if_the_page_changes_while_its_source_is_compared() -> None:
    app = PaneApp(DiffView())
    async with app.run_test(size=(80, 20)) as pilot:
        app.pane.show(compare("one\n", "two\n"), key="p")
        app.pane.navigation.toggle_source()
        app.pane.show(compare("one\n", "**three**\n"), key="p")
        while not all(worker.is_finished for worker in app.workers):
            await pilot.pause()
        await pilot.pause()
        assert "**three**" in screen(app.pane)
        app.pane.navigation.toggle_source()
        app.pane.show(compare("one\n", "**four**\n"), key="p")
        while not all(worker.is_finished for worker in app.workers):
            await pilot.pause()
        await pilot.pause()
        assert "four" in screen(app.pane)
        assert "**four**" not in screen(app.pane)


TAB_GROUP = """\
{% tabs %}
{% tab title="npm" %}
run npm
{% endtab %}

{% tab title="yarn" %}
run yarn
{% endtab %}
{% endtabs %}
"""


async def show_all_lines(before: str, after: str, app: PaneApp[DiffView], pilot: Pilot[Any]) -> None:
    app.pane.show(compare(before, after), key="p")
    await pilot.press(*["equals_sign"] * 3)
    await wait_for_diff(app.pane, pilot)


async def test_tabs_of_one_name_are_selected_together() -> None:
    app = PaneApp(DiffView())
    async with app.run_test(size=(80, 40)) as pilot:
        page = f"{TAB_GROUP}\nbefore\n\n{TAB_GROUP}"
        await show_all_lines(page, page.replace("before", "after"), app, pilot)
        assert screen(app.pane).count("run npm") == 2
        yarn = [
            each for each in app.pane.clickables.visible_spans() if each.kind == "tab" and each.clickable.index == 1
        ]
        app.pane.open_clickable(yarn[0], in_browser=False)
        await pilot.pause()
        assert screen(app.pane).count("run yarn") == 2


async def test_expanded_text_is_found() -> None:
    app = PaneApp(DiffView())
    async with app.run_test(size=(80, 20)) as pilot:
        page = "before\n\n<details>\n\n<summary>More</summary>\n\nhidden words\n\n</details>\n"
        await show_all_lines(page, page.replace("before", "after"), app, pilot)
        await pilot.press("slash", *"hidden", "enter")
        assert app.pane.find_bar.search_status == "no matches"
        (more,) = [each for each in app.pane.clickables.visible_spans() if each.kind == "fold"][-1:]
        app.pane.open_clickable(more, in_browser=False)
        assert app.pane.find_bar.search_status == "1 found"


def test_only_a_page_that_is_loading_is_loading() -> None:
    section = PageSection("p")
    section.show_note("Loading bays: renamed.", "description")
    assert (section.is_loading, section.is_missing) == (False, False)
    section.show_note("Harbour is on its way.", "loading")
    assert (section.is_loading, section.is_missing) == (True, True)
    section.show_note("No connection.", "failed")
    assert (section.is_loading, section.is_missing) == (False, True)


async def test_changes_built_too_late_do_not_replace_a_note() -> None:
    section, _ = changed_section(300)
    app = PaneApp(DiffView(has_several_pages=True))
    async with app.run_test(size=(80, 20)) as pilot:
        build_sections(app, section)
        await asyncio.sleep(0)  # Let the worker begin.
        section.show_note("Could not load the page.", "failed")
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert "Could not load the page." in screen(app.pane)


async def test_next_change_is_found_while_a_long_page_is_built_again() -> None:
    same = "\n\n".join(f"same {number}" for number in range(12))
    short = PageSection("q")
    short.compared = compare(
        f"Some **words**.\n\n{same}\n\nIt costs 5 euros.\n\n{same}\n\nIt costs 7 euros.\n",
        f"Some *words*.\n\n{same}\n\nIt costs 6 euros.\n\n{same}\n\nIt costs 8 euros.\n",
    )
    long, _ = changed_section(300)
    app = PaneApp(DiffView(has_several_pages=True))
    async with app.run_test(size=(100, 40)):
        navigation = build_sections(app, short, long)
        await app.workers.wait_for_complete()
        navigation.go_to_heading(short)
        navigation.toggle_meaningless_changes()
        for price in ("6", "8"):
            navigation.go_to_change(1)
            selected = app.pane.cursor.current()
            assert selected is not None
            assert price in selected.block.plain()


async def test_split_layout_pairs_the_changes_of_all_pages() -> None:
    sections = []
    for key in ("p", "q"):
        section = PageSection(key)
        section.compared = compare("Some words that go.\n\nsame\n", "```\ncode = 1\n```\n\nsame\n")
        sections.append(section)
    app = PaneApp(DiffView(has_several_pages=True))
    async with app.run_test(size=(160, 30)) as pilot:
        build_sections(app, *sections)
        await pilot.press("vertical_line")
        rows = [row for row in screen(app.pane).split("\n") if "Some words that go." in row]
        assert ["╭" in row for row in rows] == [True, True]
