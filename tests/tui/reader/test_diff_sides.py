"""Layouts of a diff, the selected side, and threads on both sides."""

from __future__ import annotations

import pytest

from octavo.tui.reader.diff_view import DiffView
from octavo.tui.reader.reading_pane import Reader
from octavo.tui.render.comparison import compare
from octavo.tui.render.diff_chunks import ContextSize
from octavo.tui.render.diff_lines import render_diff_chunk
from octavo.tui.render.diff_sequence import build_diff
from octavo.tui.render.diff_sides import SideWidths
from octavo.tui.render.layout import render_block
from octavo.tui.render.layout_context import LayoutContext, ViewState
from octavo.tui.render.styles import Styles
from octavo.tui.render.threads import ThreadReply, ThreadSummary
from tests.tui.reader.panes import PaneApp, bar_column, links, screen
from tests.tui.reader.picture import check, text_of

BEFORE = """\
# Retries

We try again for *three* days. See [the table](#schedule).

Gone: the list of all addresses, which nobody kept.

Gone as well.

## Schedule

| Try | Pause |
| --- | --- |
| 1 | 5 s |
| 2 | 2 min |
| 3 | 30 min |

```python
def pause(number):
    print(number)
    return PAUSES[number]
```

A paragraph that is long enough to be known again when it stands at another place.

{% hint style="info" %}
Keep it safe.
{% endhint %}

See [the guide](https://example.com/a/very/long/address/of/a/page/that/was/somewhere/guide.html).
"""
AFTER = """\
A paragraph that is long enough to be known again when it stands at another place.

# Retries

We try again for *four* days. See [the table](#schedule).

<details>

<summary>Addresses</summary>

All of them, in a list.

</details>

{% tabs %}
{% tab title="One" %}
In the first tab.
{% endtab %}

{% tab title="Two" %}
In the second tab.
{% endtab %}
{% endtabs %}

## Schedule

| Try | Pause |
| --- | --- |
| 1 | 5 s |
| 3 | 30 min |
| 4 | 2 h |

```python
def pause(number):
    return LONGER[number]
```

{% hint style="warning" %}
Keep it safe.
{% endhint %}

See [the guide](https://example.com/a/very/long/address/of/a/page/that/is/elsewhere/now/guide.html).
"""
OLD_PAGE = "\n\n".join(f"The old way number {number} was to copy every archive by hand." for number in range(12))
NEW_PAGE = "## Pipeline\n\n" + "\n\n".join(f"Push tag {each}; probes watch while rings fill." for each in range(12))


def view_app() -> PaneApp[DiffView]:
    return PaneApp(DiffView())


def side(app: PaneApp[DiffView]) -> str:
    """Return the side of the selected block."""
    return app.pane.block_commands.side


@pytest.mark.parametrize("width", [100, 160])
@pytest.mark.parametrize("split", [False, True])
def test_every_kind_of_change_matches_snapshot(width: int, split: bool) -> None:
    compared = compare(BEFORE, AFTER)
    context = LayoutContext(Styles.plain(), ViewState(), render_block)
    widths = SideWidths.for_width(min(width, 108) if not split else width, split=split)
    found = build_diff(compared.diff, ContextSize(), {}, "Retries", side_by_side=split).complete()
    lines = [line for chunk in found.chunks for line in render_diff_chunk(context, chunk, widths)]
    assert [line.text for line in lines if line.width > widths.width] == []
    check(f"diff-{'sides' if split else 'kinds'}-{width}", text_of(lines))


async def test_split_layout_stays_where_terminal_is_wide() -> None:
    app = view_app()
    async with app.run_test(size=(160, 40)) as pilot:
        app.pane.show(compare(BEFORE, AFTER), key="p")
        await pilot.press("n", "n", "vertical_line")
        assert any("three" in row and "four" in row for row in screen(app.pane).split("\n"))
        assert "split" in app.pane.status_text
        app.pane.show(compare("one word\n", "one more word\n"), key="q")
        await pilot.pause()
        assert any("one word" in row and "one more word" in row for row in screen(app.pane).split("\n"))
        await pilot.press("vertical_line")
        assert not any("one word" in row and "one more word" in row for row in screen(app.pane).split("\n"))


async def test_narrow_terminal_explains_width_of_split_layout() -> None:
    app = view_app()
    async with app.run_test(size=(120, 30)) as pilot:
        app.pane.show(compare(BEFORE, AFTER), key="p")
        await pilot.press("vertical_line")
        assert app.explained == ["The split view needs 140 columns. This terminal has only 120."]
        await pilot.resize_terminal(160, 30)
        await pilot.press("vertical_line")
        assert "split" in app.pane.status_text
        await pilot.resize_terminal(100, 30)
        await pilot.pause()
        assert "split" not in app.pane.status_text


@pytest.mark.parametrize("split", [False, True])
async def test_either_side_can_be_selected_and_commented(split: bool) -> None:
    app = view_app()
    compared = compare("Same.\n\nIt takes three days.\n", "Same.\n\nIt takes four days.\n")
    async with app.run_test(size=(160, 20)) as pilot:
        app.pane.show(compared, key="p")
        await pilot.press(*(["vertical_line"] if split else []), "n")
        assert side(app) == "new"
        await pilot.press("c", "left_parenthesis")
        assert side(app) == "old"
        await pilot.press("c", "left_parenthesis")
        assert side(app) == "new", "an unchanged block must be selected once, on the new side"
        chosen = [each.block for each in app.said if isinstance(each, Reader.CommentRequested)]
        assert [block.plain() for block in chosen] == ["It takes four days.", "It takes three days."]
        assert chosen[1].key == compared.old.blocks[1].key


async def test_cursor_bar_marks_side_and_click_selects_it() -> None:
    app = view_app()
    async with app.run_test(size=(160, 20)) as pilot:
        app.pane.show(compare("It takes three days.\n", "It takes four days.\n"), key="p")
        await pilot.press("vertical_line", "n")
        row = next(row for row in screen(app.pane).split("\n") if "three" in row)
        assert row.index("three") < row.index("▌") < row.index("four")
        y = screen(app.pane).split("\n").index(row)
        await pilot.click(app.pane, offset=(row.index("three"), y))
        assert side(app) == "old"
        row = next(row for row in screen(app.pane).split("\n") if "three" in row)
        assert row.index("▌") < row.index("three")
        await pilot.click(app.pane, offset=(row.index("four"), y))
        assert side(app) == "new"


async def test_rewritten_page_shows_new_then_old_then_changes() -> None:
    app = view_app()
    compared = compare(OLD_PAGE, NEW_PAGE)
    old, new = compared.old.blocks[3], compared.new.blocks[3]
    threads = {key: [ThreadSummary("Tom", "1 d", f"About {key}.", key=f"t-{key}")] for key in (old.key, new.key)}
    async with app.run_test(size=(120, 80)) as pilot:
        app.pane.show(compared, key="p")
        app.pane.set_threads(threads)
        await pilot.pause()
        shown = screen(app.pane)
        assert "This page was rewritten" in shown
        assert "Push tag 11" in shown
        assert "− The old way" not in shown
        assert f"on “{old.plain()}”" in shown, "a thread on the other side must quote its text"
        await pilot.press("vertical_line")
        shown = screen(app.pane)
        assert "The old way number 11" in shown
        assert "+ Push" not in shown
        await pilot.press("vertical_line")
        assert "− The old way number 3" in screen(app.pane)
        await pilot.press("vertical_line")
        assert "new version" in app.pane.status_text


async def test_failed_load_clears_diff_of_other_page() -> None:
    app = view_app()
    async with app.run_test(size=(80, 20)) as pilot:
        app.pane.show(compare("one\n", "two\n"), key="p")
        await pilot.pause()
        app.pane.state.show_loading("Webhooks")
        assert "two" in screen(app.pane), "the previous page must stay visible for a moment"
        app.pane.state.fail("Webhooks did not load", "The server is away.")
        await pilot.pause()
        assert "two" not in screen(app.pane)
        assert "Webhooks did not load" in screen(app.pane)


async def test_slow_load_clears_diff_of_other_page() -> None:
    app = view_app()
    async with app.run_test(size=(80, 20)) as pilot:
        app.pane.show(compare("one\n", "two\n"), key="p")
        app.pane.state.show_loading("Retries")
        app.pane.state.show_loading("Webhooks")
        await pilot.pause(0.6)
        assert "two" not in screen(app.pane)
        assert app.pane.state.loading_name == "Webhooks", "the last of two requested pages must be named"
        app.pane.show(compare("three\n", "four\n"), key="q")
        await pilot.pause()
        assert "four" in screen(app.pane)


async def test_link_to_collapsed_heading_expands_it() -> None:
    app = view_app()
    page = "start\n\n" + "\n\n".join(f"## Part {number}\n\nwords {number}" for number in range(30))
    async with app.run_test(size=(80, 20)) as pilot:
        app.pane.show(compare(page, page.replace("start", "begin")), key="p")
        await pilot.pause()
        assert not app.pane.navigation.go_to_anchor("#nowhere")
        assert app.pane.navigation.go_to_anchor("#part-17")
        await pilot.pause()
        assert ["Part 17" in row for row in bar_column(app.pane)] == [True]
        await pilot.press("backslash")
        await app.workers.wait_for_complete()
        assert app.pane.navigation.go_to_anchor("part-3")
        await pilot.pause()
        assert ["Part 3" in row for row in bar_column(app.pane)] == [True]


async def test_visible_threads_are_selectable_and_request_replies() -> None:
    app = PaneApp(ReplyRecorder())
    compared = compare("Same.\n\nold words\n", "Same.\n\nnew words\n")
    key = compared.new.blocks[1].key
    threads = [
        ThreadSummary("Tom", "1 d", "First.", reply_count=2, key="t1"),
        ThreadSummary("Ada", "2 d", "Second, [look](there.md).", key="t2", word_change="changed"),
        ThreadSummary(
            "Zoe", "3 d", "Third.", reply_count=1, key="t3", shown_replies=(ThreadReply("Kim", "1 h", "Yes."),)
        ),
    ]
    async with app.run_test(size=(80, 40)) as pilot:
        app.pane.show(compared, key="p")
        app.pane.set_threads({key: threads})
        await pilot.pause()
        assert "words changed since this comment" in screen(app.pane)
        await pilot.pause()
        assert app.pane.requested == [("t1",)]
        await pilot.press("t", "t", "c", "enter", "t", "enter")
        chosen = [(type(each).__name__, each.block.key) for each in app.said if hasattr(each, "block")]
        assert chosen == [("CommentRequested", "t2"), ("ThreadRequested", "t2"), ("ThreadRequested", "t3")]
        assert links(app) == []


async def test_thread_on_old_side_is_below_change() -> None:
    app = view_app()
    compared = compare("old words\n\nlast\n", "new words\n\nlast\n")
    threads = {compared.old.blocks[0].key: [ThreadSummary("Tom", "1 d", "Why?", key="t1")]}
    async with app.run_test(size=(80, 20)) as pilot:
        app.pane.show(compared, key="p")
        app.pane.set_threads(threads)
        await pilot.pause()
        rows = [row.split() for row in screen(app.pane).split("\n")]
        assert rows.index(["┊", "Why?"]) < rows.index(["3", "│", "last"])


class ReplyRecorder(DiffView):
    def __init__(self) -> None:
        super().__init__()
        self.requested: list[tuple[str, ...]] = []

    def on_diff_view_replies_requested(self, message: DiffView.RepliesRequested) -> None:
        self.requested.append(message.keys)


async def test_unchanged_section_expands_in_place() -> None:
    app = view_app()
    section = "<details>\n\n<summary>More</summary>\n\nwithin\n\n</details>\n\n"
    async with app.run_test(size=(80, 20)) as pilot:
        app.pane.show(compare(section + "old words", section + "new words"), key="p")
        await pilot.pause()
        assert "1 block unchanged" in screen(app.pane)
        await pilot.press("left_parenthesis", "left_parenthesis", "enter")
        assert "More" in screen(app.pane)
        assert "within" not in screen(app.pane)
        await pilot.press("enter")
        assert "within" in screen(app.pane)
        await pilot.press("enter")
        assert "within" not in screen(app.pane)


@pytest.mark.parametrize("split", [False, True])
def test_sliced_long_change_looks_like_one(split: bool) -> None:
    rows = "\n".join(f"| row {number} | value {number} |" for number in range(150))
    before = f"| Name | Value |\n| --- | --- |\n{rows}\n\n" + "\n".join(f"* item {number}" for number in range(3))
    after = before.replace("value", "longer value") + "\n" + "\n".join(f"* more {number}" for number in range(100))
    context = LayoutContext(Styles.plain(), ViewState(), render_block)
    chunks = build_diff(compare(before, after).diff, ContextSize(), {}, side_by_side=split).complete().chunks
    assert max(chunk.slice_number for chunk in chunks) == 3
    lines = [render_diff_chunk(context, chunk, SideWidths.for_width(150, split=split)) for chunk in chunks]
    assert max(map(len, lines)) < 250
    text = text_of(line for each in lines for line in each)
    assert text.count("Name") == 1 + split
    assert len({row.index("value") for row in text.split("\n") if "+ row" in row and not split}) == (not split)
    assert [text.count(f"row {number} ") for number in (0, 59, 60, 149)] == [2, 2, 2, 2]
