"""Merges with a chosen side: the other changes are kept, nothing else changes, and a choice covers one part."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import given, note, settings

from octavo.documents.merging.merged_page import ChoiceKind
from octavo.documents.merging.page_merge import merge
from octavo.documents.source_blocks import read_page
from tests.documents.merge_model import Page, Who, pages, text, words_of


def merge_with(page: Page, side: ChoiceKind) -> str:
    return merge(*page.texts).text_with_choice(side)


def lines(markdown: str) -> list[str]:
    return [line for line in markdown.split("\n") if line]


def check(page: Page) -> None:
    note("\n~~~~\n".join(page.texts))
    for side in ("main", "request"):
        result = merge_with(page, side)
        # Blocks are equal letter for letter and in the same order. Only the number of blank lines between them may differ.
        assert lines(result) == lines(text(page.decided[side]))
        assert read_page(result).key == read_page(text(page.decided[side])).key
        assert max(Counter(re.findall(r"\b[na]\d+x\b(?! *\")", result)).values(), default=0) <= 1


@settings(max_examples=100, deadline=None, derandomize=True)
@given(pages())
def test_conflict_covers_one_part_and_the_rest_is_merged(page: Page) -> None:
    check(page)


def is_wider(page: Page, side: Who) -> bool:
    """Return True if a choice covers more than its part. Such a page has the lines of the chosen side."""
    result, exact = lines(merge_with(page, side)), lines(text(page.decided[side]))
    own = lines(page.texts[1 if side == "main" else 2])
    if result == exact:
        return False
    assert set(result) <= {*exact, *own}, "a line is on neither side"
    assert set(own) & set(exact) <= set(result), "a line that the chosen side has is lost"
    assert max(Counter(re.findall(r"\b[na]\d+x\b(?! *\")", "\n".join(result))).values(), default=0) <= 1
    return True


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_few_conflicts_cover_more_than_one_part() -> None:
    """At most one in a thousand: blocks that one side moved, split or joined and the other side edited."""
    seen: Counter[bool] = Counter()

    @settings(max_examples=20_000, deadline=None, database=None)
    @given(pages())
    def count_wide_choices(page: Page) -> None:
        note("\n~~~~\n".join(page.texts))
        seen.update(is_wider(page, side) for side in ("main", "request"))

    count_wide_choices()
    assert seen[True] <= seen[False] / 1000, seen


def results_of_all_choices(base: str, main: str, this: str) -> list[str]:
    """Return the results with each side chosen, also with swapped sides."""
    results = []
    for texts in ((base, main, this), (base, this, main)):
        found = merge(*texts)
        results += [found.text_with_choice("main"), found.text_with_choice("request")]
    return results


def test_deleted_item_conflict_stays_in_its_list() -> None:
    first, items, last = (
        "What comes first is long.\n",
        "* apples from the south\n* pears from the north\n",
        "* plums, red",
    )
    edited = f"{items}{last} and blue\n"
    kept, gone = f"{edited}\n{first}", f"{items}\n{first}"
    assert results_of_all_choices(f"{first}\n{items}{last}\n", f"{first}\n{edited}", gone) == [kept, gone, gone, kept]


def test_rewritten_and_extended_code_is_one_conflict() -> None:
    before, more, other = (f"    {' '.join(words_of(name))}\n" for name in ("n3x", "n45x", "n5x"))
    base, extended, anew = (f"```text\n{lines}```\n" for lines in (before, before + more, other))
    for result in results_of_all_choices(base, extended, anew):
        assert result.count("```text") == 1
        assert (more in result) != (result == anew)


def test_merge_adds_no_blank_line_after_a_tag() -> None:
    first, edited, last = "What comes first.\n\n", "The second sentence.\n\n", "What comes last.\n"
    base, cut, changed = (
        f'{{% hint style="info" %}}\n{inner}{{% endhint %}}\n'
        for inner in (first + edited + last, last, first + edited.replace("second", "third") + last)
    )
    assert results_of_all_choices(base, cut, changed) == [cut, changed, changed, cut]


LISTED = "| A | B |\n|---|---|\n| x | 1 |\n| y | 2 |\n\n* a\n* b\n* c\n"


@pytest.mark.parametrize(
    "mine", [LISTED.replace("| 2 |", "| 7 |"), LISTED.replace("| 1 |", "| 7 |").replace("* c", "* cc")]
)
def test_windows_line_breaks_are_merged(mine: str) -> None:
    usual = (LISTED, LISTED.replace("| 1 |", "| 9 |").replace("* a", "* aa"), mine)
    base, main, this = (each.replace("\n", "\r\n") for each in usual)
    assert [each.replace("\n", "\r\n") for each in results_of_all_choices(*usual)] == results_of_all_choices(
        base, main, this
    )
    # The side that changed the line endings determines the line endings.
    assert results_of_all_choices(usual[0], usual[1], this) == results_of_all_choices(base, main, this)


def test_deletion_after_joined_lists_is_no_conflict() -> None:
    first, second = "* apples from the south of Spain\n", "* plums from the north of Spain\n"
    between, behind = "Here is how we sort them.\n", "Ask the harbour office for a list.\n"
    base = "\n".join((first, between, second, behind))
    deleted, edited = f"{first}\n{second}", "\n".join((first, between.replace("sort", "wash"), second, behind))
    kept = "\n".join((first, between.replace("sort", "wash"), second))
    assert results_of_all_choices(base, deleted, edited) == [deleted, kept, kept, deleted]


def test_item_moved_in_a_moved_list_keeps_other_edits() -> None:
    title, end = "Where the boats lie in winter and in spring.\n", "All of this is checked every year again.\n"
    items = [
        f"* {name} lies in the {place} basin behind the old lock\n" for name, place in zip("ABCD", "nswe", strict=True)
    ]
    first, second, third, last = items
    base = f"{title}\n{''.join(items)}\n{end}"
    edited = base.replace("Where the", "Where all").replace("* D lies", "* D rests")
    moved = f"{first}{last}{second}{third}\n{title}\n{end}"
    both = moved.replace("Where the", "Where all").replace("* D lies", "* D rests")
    assert results_of_all_choices(base, edited, moved) == [both] * 4


def test_words_are_no_choice_if_they_would_repeat_a_heading() -> None:
    old, new = "A plan of the first boat.", "A plan of the second boat."
    pilots = "The pilots of the harbour wait for all boats until six in the evening."
    request = f"{new}\n\n### Boats\n\n{old}\n\n{pilots.replace('pilots', 'keepers')}\n"
    merged_page = merge(f"{old}\n\n### Boats\n", f"{old}\n\n{pilots}\n\n### Boats\n", request)
    (_, conflict), other = merged_page.all_named_conflicts
    assert other[1].deciding_conflict is conflict
    assert conflict.merged_text is None
