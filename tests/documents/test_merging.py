"""Three-way merge of text: what both sides wrote is there, and nobody is asked without need."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.documents.merging.lines import compare
from octavo.documents.merging.text import DIVIDER, MAIN, conflicts, merge, proposal_marker

NAME = "#42"
MARKERS = {MAIN, DIVIDER, proposal_marker(NAME)}

lines = st.sampled_from(
    [
        "",
        "",
        "one",
        "two",
        "three",
        "* item",
        "  * below",
        "```",
        "~~~",
        "$$",
        "<table>",
        "</table>",
        "{% hint %}",
        "{% x",
        "# t",
    ]
) | st.text(alphabet="ab \t", max_size=3)
texts = st.lists(lines, max_size=24).map("\n".join)


@st.composite
def edited(draw: st.DrawFn, text: str) -> str:
    """`text` with a few lines changed, added or taken away."""
    result = text.split("\n")
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(result)))
        end = draw(st.integers(start, min(len(result), start + 3)))
        result[start:end] = draw(st.lists(lines, max_size=3))
    return "\n".join(result)


@st.composite
def three(draw: st.DrawFn) -> tuple[str, str, str]:
    base = draw(texts)
    return base, draw(edited(base)), draw(edited(base))


@given(texts, texts)
def test_hunks_make_the_other_text(base: str, other: str) -> None:
    before, position, result = base.split("\n"), 0, []
    for hunk in compare(before, other.split("\n")):
        assert hunk.start > position or position == 0
        result += before[position : hunk.start] + hunk.lines
        position = hunk.end
    assert result + before[position:] == other.split("\n")


@given(three())
def test_one_side_alone_is_taken_as_it_is(texts: tuple[str, str, str]) -> None:
    base, main, proposed = texts
    assert merge(base, base, proposed, NAME).text == proposed
    assert merge(base, main, base, NAME).text == main
    assert merge(base, main, main, NAME).text == main


@given(three())
def test_every_line_a_side_added_is_there(texts: tuple[str, str, str]) -> None:
    base, main, proposed = texts
    merged = merge(base, main, proposed, NAME)
    there = Counter(merged.text.split("\n"))
    for side in (main, proposed):
        added = Counter(side.split("\n")) - Counter(base.split("\n"))
        assert not {line.strip() for line in added} - {line.strip() for line in there} - {""}


@given(st.permutations(range(12)), st.permutations(range(12)), st.integers(0, 12), st.integers(0, 12))
def test_a_line_that_neither_took_away_stays(some: list[int], others: list[int], fewer: int, less: int) -> None:
    base, main, proposed = range(12), sorted(some[fewer:]), sorted(others[less:])
    sides = ["\n".join(f"line {number}" for number in side) for side in (base, main, proposed)]
    merged = merge(sides[0], sides[1], sides[2], NAME)
    assert {f"line {number}" for number in set(main) & set(proposed)} <= set(merged.text.split("\n"))


@given(three())
def test_a_conflict_shows_both_sides_whole(texts: tuple[str, str, str]) -> None:
    merged = merge(*texts, NAME)
    result = merged.text.split("\n")
    assert result.count(MAIN) == result.count(proposal_marker(NAME)) <= len(merged.conflicts) * 2
    for conflict in merged.conflicts:
        assert conflict.main.strip("\n") in merged.text
        assert conflict.proposed.strip("\n") in merged.text
        assert conflict.main != conflict.proposed
        assert conflict.base is not None


@given(three())
def test_nothing_comes_that_nobody_wrote(texts: tuple[str, str, str]) -> None:
    there = {line.strip() for text in texts for line in text.split("\n")}
    assert {line.strip() for line in merge(*texts, NAME).text.split("\n")} <= there | MARKERS | {""}


@given(three())
def test_without_a_conflict_there_is_no_marker(texts: tuple[str, str, str]) -> None:
    base, main, proposed = texts
    merged = merge(base, main, proposed, NAME)
    assert bool(merged.conflicts) == bool(MARKERS & set(merged.text.split("\n")))


@given(three())
def test_whether_there_are_conflicts_does_not_depend_on_who_is_main(texts: tuple[str, str, str]) -> None:
    base, main, proposed = texts
    assert bool(conflicts(base, main, proposed)) == bool(conflicts(base, proposed, main))


@given(st.lists(st.text("abc", min_size=1, max_size=3), min_size=3, max_size=12), st.data())
def test_edits_of_different_paragraphs_keep_both(paragraphs: list[str], data: st.DataObject) -> None:
    owners = data.draw(st.lists(st.sampled_from("-mp"), min_size=len(paragraphs), max_size=len(paragraphs)))
    named = [f"{paragraph} {number}" for number, paragraph in enumerate(paragraphs)]

    def of(*sides: str) -> str:
        changed = [f"{text} by {who}" if who in sides else text for text, who in zip(named, owners, strict=True)]
        return "\n\n".join(changed) + "\n"

    merged = merge(of(), of("m"), of("p"), NAME)
    assert merged.text == of("m", "p")
    assert merged.conflicts == ()


def test_the_markers_stand_alone_between_blank_lines() -> None:
    merged = merge("a\n\nb\nbb\n\nc\n", "a\n\nB\nbb\n\nc\n", "a\n\nb2\nbb\n\nC\n", NAME)
    assert merged.text == ("a\n\n<<<<<<< main\n\nB\nbb\n\n=======\n\nb2\nbb\n\n>>>>>>> #42\n\nC\n")


def test_a_block_deleted_here_and_edited_there_is_kept() -> None:
    merged = merge("a\n\nb\n\nc\n", "a\n\nc\n", "a\n\nb!\n\nc\n", NAME)
    assert merged.text == "a\n\n<<<<<<< main\n\n=======\n\nb!\n\n>>>>>>> #42\n\nc\n"


def test_a_code_block_in_conflict_is_kept_whole() -> None:
    base = "```\nx = 1\n\ny = 2\n```\n"
    merged = merge(base, base.replace("1", "3"), base.replace("1", "4"), NAME)
    assert merged.text == (
        "<<<<<<< main\n\n```\nx = 3\n\ny = 2\n```\n\n=======\n\n```\nx = 4\n\ny = 2\n```\n\n>>>>>>> #42\n"
    )


def test_different_lines_of_a_code_block_merge() -> None:
    base = "```\nx = 1\nz = 0\ny = 2\n```\n"
    merged = merge(base, base.replace("1", "3"), base.replace("2", "4"), NAME)
    assert merged.text == "```\nx = 3\nz = 0\ny = 4\n```\n"


@pytest.mark.parametrize("added", ["second line", "* item"])
def test_a_line_added_to_a_paragraph_collides_with_its_edit_but_an_item_does_not(added: str) -> None:
    merged = merge("first line\n\nend\n", "FIRST line\n\nend\n", f"first line\n{added}\n\nend\n", NAME)
    assert len(merged.conflicts) == (0 if added.startswith("*") else 1)


def test_items_of_a_list_are_edited_side_by_side() -> None:
    merged = merge("* a\n* b\n* c\n", "* A\n* b\n* c\n", "* a\n* B\n* c\n", NAME)
    assert merged.text == "* A\n* B\n* c\n"


def test_both_appended() -> None:
    merged = merge("a\n", "a\n\nmine\n", "a\n\nyours\n", NAME)
    assert [(each.main.strip(), each.proposed.strip()) for each in merged.conflicts] == [("mine", "yours")]


def test_a_long_page_of_equal_lines_is_merged() -> None:
    base = "row\n\n" * 4000
    merged = merge(base, "top\n\n" + base, base + "end\n", NAME)
    assert merged.text == "top\n\n" + base + "end\n"


@pytest.mark.parametrize(
    ("base", "one", "other", "merged"),
    [
        pytest.param("* a\n", "* a\n* b\n", "* a\n\nWords.\n", "* a\n* b\n\nWords.\n", id="words below a list"),
        pytest.param("", "* a\n", "* b\n\n```\nc\n```\n", None, id="items, and what one side put below them"),
    ],
)
def test_what_goes_on_with_a_list_excludes_nothing_below_it_whichever_side_wrote_it(
    base: str, one: str, other: str, merged: str | None
) -> None:
    for texts in ((base, one, other), (base, other, one)):
        found = merge(*texts, NAME)
        assert not found.conflicts
        assert merged is None or found.text == merged
