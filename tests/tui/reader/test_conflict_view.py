"""The conflict view: the layout of both sides, and keys."""

from __future__ import annotations

import pytest

from octavo.documents.merging.merged_page import MergeChoice, MergedPage, read_marked_page
from octavo.documents.merging.page_merge import merge
from octavo.tui.reader.reading_pane import Reader
from octavo.tui.reader.three_way_view import ThreeWayView
from octavo.tui.render.conflict_lines import prepare_conflicts
from tests.tui.reader.panes import PaneApp, screen
from tests.tui.reader.picture import check

BASE = """\
# Retries

We try again.

For three days, with growing pauses.

Then we stop.

## Schedule

The schedule cannot be changed. See [Webhooks](w.md).

* first
* second

| Try | Pause |
| --- | --- |
| 1 | 1 min |
| 2 | 10 min |

```python
wait(10)
retry()
```

Ask us.
"""
MAIN = (
    BASE.replace("be changed.", "be changed, but you can turn it off.")
    .replace("* second", "* second, of main")
    .replace("| 10 min", "| 12 min")
    .replace("wait(10)", "wait(12)")
    .replace("Ask us.\n", "")
)
MINE = (
    BASE.replace("cannot be changed.", "is the same for everyone.")
    .replace("* second", "* second, of ours\n* third")
    .replace("| 10 min", "| 15 min")
    .replace("wait(10)", "wait(15)")
    .replace("Ask us.", "Ask [us/](x)\x1b[31m.")
)
EXACT_CONFLICT = merge(BASE, MAIN, MINE)
CONFLICT_FROM_MARKERS = read_marked_page("<<<<<<< main\n\nours\n\n=======\n\ntheirs\n\n>>>>>>> #7\n\nEnd.\n")


class ConflictApp:
    """An app with a page that has conflicts."""

    def __init__(self, given: MergedPage, main: str | None = None, *, ascii: bool = False) -> None:
        self.given, self.main = given, main
        self.names = [name for name, _ in given.named_conflicts]
        self.pane = ThreeWayView(ascii=ascii)
        self.app = PaneApp(self.pane)

    def show(self, choices: dict[str, MergeChoice] | None = None) -> None:
        pieces = prepare_conflicts(self.given, self.main, choices)
        self.pane.show(pieces, choices or {}, key="page", side_names=("main", "this change request"))


@pytest.mark.parametrize(("width", "ascii"), [(76, False), (120, False), (120, True)])
async def test_base_is_beside_or_below_sides_by_width(width: int, ascii: bool) -> None:
    app = ConflictApp(EXACT_CONFLICT, MAIN, ascii=ascii)
    async with app.app.run_test(size=(width, 110)) as pilot:
        first, second, third, *_ = app.names
        choices = {
            first: MergeChoice("both"),
            second: MergeChoice("main"),
            third: MergeChoice("own", "| 2 | **11** min |"),
        }
        app.show(choices)
        await pilot.pause()
        picture = screen(app.pane)
        assert "\x1b" not in picture
        check(f"three-way-{width}{'-ascii' if ascii else ''}", picture.rstrip() + "\n")


async def test_unknown_base_is_allowed() -> None:
    app = ConflictApp(CONFLICT_FROM_MARKERS)
    async with app.app.run_test(size=(120, 20)) as pilot:
        app.show()
        await pilot.pause()
        assert "Unknown." in screen(app.pane)
        assert "ours" in screen(app.pane)


async def test_n_goes_through_conflicts_to_next_page() -> None:
    app = ConflictApp(EXACT_CONFLICT, MAIN)
    async with app.app.run_test(size=(120, 24)) as pilot:
        app.show()
        await pilot.pause()
        seen = []
        for _ in app.names:
            assert app.pane.selected_conflict is not None
            seen.append(app.pane.selected_conflict.name)
            assert not any(isinstance(each, Reader.NextPageRequested) for each in app.app.said)
            await pilot.press("n")
        assert seen == app.names
        assert any(isinstance(each, Reader.NextPageRequested) for each in app.app.said)
        await pilot.press("N")
        assert app.pane.selected_conflict is not None
        assert app.pane.selected_conflict.name == app.names[-2]
        assert app.pane.status_text == f"conflict {len(seen) - 1} of {len(seen)}"


async def test_previous_of_first_conflict_says_that_there_is_none() -> None:
    app = ConflictApp(EXACT_CONFLICT, MAIN)
    async with app.app.run_test(size=(120, 24)) as pilot:
        app.show()
        await pilot.pause()
        await pilot.press("N")
        assert app.pane.status_text == f"conflict 1 of {len(app.names)}"
        assert app.app.explained == ["This is the first conflict on this page."]


async def test_page_opens_at_unresolved_conflict() -> None:
    app = ConflictApp(EXACT_CONFLICT, MAIN)
    async with app.app.run_test(size=(120, 24)) as pilot:
        app.show({app.names[0]: MergeChoice("main")})
        await pilot.pause()
        assert app.pane.selected_conflict is not None
        assert app.pane.selected_conflict.name == app.names[1]
        top = app.pane.viewport.top
        app.pane.set_choices({name: MergeChoice("request") for name in app.names[:2]})
        await pilot.pause()
        assert app.pane.viewport.top == top
        assert "✓ This change request chosen" in screen(app.pane)


async def test_context_of_conflicts_expands_and_collapses() -> None:
    app = ConflictApp(EXACT_CONFLICT, MAIN)
    async with app.app.run_test(size=(120, 60)) as pilot:
        app.show()
        await pilot.pause()
        assert "For three days" not in screen(app.pane)
        await pilot.press("=")
        await pilot.press("g")
        assert "For three days" in screen(app.pane)
        await pilot.press("=")
        assert "For three days" not in screen(app.pane)


def test_long_block_between_conflicts_counts_once() -> None:
    rows = "".join(f"| row {number} | {'some words of a cell ' * 5} |\n" for number in range(300))
    page = f"First.\n\n| a | b |\n| - | - |\n{rows}\nMiddle.\n\nLast.\n"
    merged = merge(page, page.replace("First.", "First of main."), page.replace("First.", "First of ours."))
    contents = ThreeWayView().contents
    contents.set_conflicts(prepare_conflicts(merged), ("main", "this change request"))
    collapsed = [chunk.text for chunk in contents.chunks() if chunk.kind == "collapsed"]
    assert collapsed == ["1 block without conflicts", "3 blocks without conflicts"]


async def test_first_page_that_is_loading_is_not_called_a_page_without_conflicts() -> None:
    app = PaneApp(ThreeWayView())
    async with app.run_test(size=(80, 20)) as pilot:
        app.pane.show_loading("Retries", key="p")
        await pilot.press("slash")
        assert app.explained == ["Still loading Retries."]
        app.pane.show((), {}, key="p", side_names=("main", "this change request"))
        await pilot.press("slash")
        assert app.explained[1:] == ["There are no conflicts on this page."]


async def test_matches_are_counted_again_after_a_choice() -> None:
    app = ConflictApp(EXACT_CONFLICT)
    async with app.app.run_test(size=(120, 40)) as pilot:
        app.show()
        await pilot.press("slash", *"turn it off", "enter")
        before = app.pane.find_bar.search_status
        app.pane.set_choices({name: MergeChoice("main") for name in app.names})
        assert before.endswith("of 1")
        assert app.pane.find_bar.search_status == "1 of 2"
