"""The lines of a conflict: the result and both sides."""

from __future__ import annotations

import pytest

from octavo.documents.merging.merged_page import MergeChoice, MergedPage
from octavo.documents.merging.page_merge import merge
from octavo.tui.render.conflict_lines import (
    ConflictDecision,
    ConflictView,
    PageConflict,
    prepare_conflicts,
    render_conflict,
    render_page_conflict,
)
from octavo.tui.render.layout import render_block
from octavo.tui.render.layout_context import LayoutContext, ViewState
from octavo.tui.render.styled_lines import Line
from octavo.tui.render.styles import Styles
from tests.call_counter import CallCounter
from tests.documents.huge_blocks import HUGE, edited


@pytest.mark.before_release("120", "60")
@pytest.mark.parametrize("width", [60, 120])
def test_huge_conflict_builds_a_limited_number_of_lines(width: int) -> None:
    text = HUGE["formula of words"](100)
    pieces = prepare_conflicts(merge(text, edited(text), edited(text, "y")), edited(text))
    conflict = next(each for each in pieces if isinstance(each, ConflictView))
    context = LayoutContext(Styles(), ViewState(), render_block, available_width=width)
    with CallCounter(Line.__init__) as calls:
        lines = render_conflict(context, conflict, ConflictDecision(None, ("main", "#1")), (1, 1), width)
    assert len(lines) > 160
    assert 0 < calls.counts.total() < 6000


@pytest.mark.parametrize("name", HUGE)
def test_edited_huge_block_differs_from_the_block(name: str) -> None:
    page = HUGE[name](4)
    assert edited(page) != page


def lines_of(page: MergedPage, choice: MergeChoice | None = None, width: int = 80, **titles: str) -> list[str]:
    """Return the lines of the only conflict of a page."""
    (conflict,) = (each for each in prepare_conflicts(page, titles=titles) if isinstance(each, ConflictView))
    context = LayoutContext(Styles(), ViewState(), render_block, available_width=width)
    decided = ConflictDecision(choice, ("main", "this change request"))
    return [line.text.strip() for line in render_conflict(context, conflict, decided, (1, 1), width)]


KEY = "# S\n\nAsk the owner for the key, and bring it back before noon.\n\nEnd.\n"


@pytest.mark.parametrize("choice", [None, MergeChoice("main"), MergeChoice("both")])
def test_each_side_is_labelled_once_and_the_result_is_first(choice: MergeChoice | None) -> None:
    lines = lines_of(merge(KEY, KEY.replace("noon", "dusk"), KEY.replace("noon", "night")), choice)
    labels = [line.removeprefix("✓ ").split("  ")[0] for line in lines]
    assert [each for each in labels if each in ("Result", "Main", "This change request", "Base")] == [
        "Result",
        "Main",
        "This change request",
        "Base",
    ]
    assert any("Not resolved yet." in line for line in lines) == (choice is None)


def test_suggestion_is_the_result_until_a_side_is_chosen() -> None:
    lines = lines_of(merge(KEY, KEY.replace("owner", "pilot"), KEY.replace("noon", "dusk")))
    assert "Suggested" in lines[0]
    assert "Suggested: merged word by word. Check the result." in lines[2]
    assert "+ Ask the pilot for the key, and bring it back before dusk." in lines[:8]


def test_conflicts_with_one_choice_show_their_own_texts() -> None:
    quay, end = "The keeper of the quay counts each ship in winter.", "\n\nThis middle stays as it is.\n\n"
    old, storm = "Lamps along the pier burn until the sun is up.", "Storms break the piers of our harbour each autumn."
    gulls, rain = "Gulls sleep on the roof beside the market hall.", "Rain fills the barrels behind the house by May."
    page = merge(f"{old}{end}{rain}\n", f"{quay}{end}{storm}\n", f"{gulls}{end}{quay}\n")
    views = [each for each in prepare_conflicts(page) if isinstance(each, ConflictView)]
    assert len({each.name for each in views}) == 1
    assert [(each.main.new.source, each.request.new.source) for each in views] == [(quay, gulls), (storm, quay)]
    context = LayoutContext(Styles(), ViewState(), render_block, available_width=80)
    decided = ConflictDecision(None, ("main", "this change request"))
    for view in views:
        lines = render_conflict(context, view, decided, (1, 2), 80)
        assert "one choice for 2 places" in lines[0].text
        assert not any(key in line.text for line in lines for key in ("b both", "e edit"))


def test_text_that_main_moved_names_the_page() -> None:
    text = "Bursts of twenty are fine on weekdays."
    base = f"# S\n\nRead them.\n\n{text}\n\n## End\n\nAll.\n"
    main, request = base.replace(f"{text}\n\n", ""), base.replace("twenty", "thirty")
    page = merge(base, main, request)
    page.named_conflicts[0][1].base_text_page_id = "p1"
    assert "Moved to “Limits”. Press f to open that page." in lines_of(page, p1="Limits")
    assert "Deleted." in lines_of(merge(base, main, request))


def test_page_conflict_without_choices_is_not_unresolved() -> None:
    context = LayoutContext(Styles(), ViewState(), render_block, available_width=60)
    decided = ConflictDecision(None, ("main", "this change request"))
    texts = [
        " ".join(
            line.text
            for line in render_page_conflict(context, PageConflict("n", "T", "Both.", answers), decided, (1, 1), 60)
        )
        for answers in (("", ""), ("Keep.", "Delete."))
    ]
    assert ["Not resolved" in each for each in texts] == [False, True]


def test_narrow_pane_keeps_each_key_beside_its_action() -> None:
    page = merge(KEY, KEY.replace("noon", "dusk"), KEY.replace("noon", "night"))
    for width in range(30, 70):
        text = " | ".join(lines_of(page, width=width)).replace("\N{NO-BREAK SPACE}", " ")
        assert all(keys in text for keys in ("m main", "t this change request", "b both", "e edit")), (width, text)
