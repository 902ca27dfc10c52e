"""Properties of every merge of a page: no text is lost or duplicated, and each choice has its effect."""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Callable

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from octavo.documents.merging.merged_page import NEVER_BOTH, ChoiceKind, MergeChoice
from octavo.documents.merging.page_merge import merge
from octavo.documents.source_blocks import read_page
from tests.documents.page_edits import ThreeTexts, Writer, edited_apart, edited_by_both, text, words_in

SEEDS = st.integers(0, 10**9)
SIZES = st.integers(1, 8)
EDITS = st.integers(1, 2)
SIDES: tuple[ChoiceKind, ...] = ("main", "request", "both")
PAIRS = [("{% hint", "{% endhint"), ("{% tabs ", "{% endtabs"), ("{% tab ", "{% endtab "), ("{% step ", "{% endstep ")]
PAIRS += [("{% stepper", "{% endstepper"), ("<details>", "</details>"), ("<summary>", "</details>")]


def merge_with(texts: ThreeTexts, side: ChoiceKind) -> str:
    return merge(texts.base, texts.main, texts.request).text_with_choice(side)


def check_markup(result: str) -> None:
    """Check that containers and code are closed, tables are rectangular, and no conflict marker is left."""
    for opening, closing in PAIRS:
        assert result.count(opening) == result.count(closing), f"{opening} is not closed"
    for table in re.findall(r"(?:^\|.*\n)+", result, re.M):
        assert len({row.count("|") for row in table.splitlines()}) == 1, "a row is not as wide as its table"
    assert result.count("```") % 2 == 0
    assert not any(block.kind == "tag" for block in read_page(result).walk()), "a container was cut in two"
    assert "<<<<<<<" not in result


def check_no_text_lost(texts: ThreeTexts) -> None:
    base, main, request = (words_in(each) for each in (texts.base, texts.main, texts.request))
    note(str(texts))
    for side, own in (("main", main), ("request", request), ("both", main)):
        result = merge_with(texts, "main" if side == "main" else "request" if side == "request" else "both")
        check_markup(result)
        if side == "both":
            continue
        found = words_in(result)
        assert all(count <= max(1, base[word], main[word], request[word]) for word, count in found.items()), "doubled"
        assert not [word for word in base.keys() & main.keys() & request.keys() if not found[word]], (
            "untouched text lost"
        )
        assert not [word for word in own.keys() - base.keys() if not found[word]], "an addition of this side is lost"
        assert not [word for word in base.keys() - own.keys() if found[word]], "a deletion of this side is undone"


def check_swapped_sides(texts: ThreeTexts) -> None:
    note(str(texts))
    swapped = ThreeTexts(texts.base, texts.request, texts.main)
    assert words_in(merge_with(texts, "main")) == words_in(merge_with(swapped, "request"))
    assert words_in(merge_with(texts, "request")) == words_in(merge_with(swapped, "main"))


def check_mixed_choices(texts: ThreeTexts) -> None:
    note(str(texts))
    merged = merge(texts.base, texts.main, texts.request)
    chance = random.Random(texts.main)
    sides: list[ChoiceKind] = ["main", "request", "both", "words"]
    for _ in range(3):
        choices = {name: MergeChoice(chance.choice(sides)) for name, _ in merged.named_conflicts}
        check_markup(merged.text(choices))
    own = {
        name: MergeChoice("own", "Own words.")
        for name, each in merged.named_conflicts
        if each.kind not in ("row", "head", "line")
    }
    assert "<<<<<<<" not in merged.text({**{name: MergeChoice("main") for name, _ in merged.named_conflicts}, **own})


def check_both_sides_kept(texts: ThreeTexts) -> None:
    note(str(texts))
    merged = merge(texts.base, texts.main, texts.request)
    if any(each.kind in NEVER_BOTH for _, each in merged.named_conflicts):
        return  # “Both” is not possible: the text of main is used.
    base, found = words_in(texts.base), words_in(merged.text_with_choice("both"))
    for side in (texts.main, texts.request):
        assert not [word for word in words_in(side).keys() - base.keys() if not found[word]]


def check_merged_again(texts: ThreeTexts) -> None:
    note(str(texts))
    once = merge_with(texts, "main")
    assert merge(texts.main, texts.main, once).text() == once
    assert merge(texts.base, once, once).text() == once


def check_one_side_alone(texts: ThreeTexts) -> None:
    assert merge(texts.base, texts.base, texts.request).text() == texts.request
    assert merge(texts.base, texts.main, texts.base).text() == texts.main
    assert merge(texts.base, texts.main, texts.main).text() == texts.main


CHECKS = [
    check_no_text_lost,
    check_swapped_sides,
    check_mixed_choices,
    check_both_sides_kept,
    check_merged_again,
    check_one_side_alone,
]


@pytest.mark.parametrize("check", CHECKS)
@settings(max_examples=60, deadline=None, derandomize=True)
@given(seed=SEEDS, size=SIZES, ours=EDITS, theirs=EDITS)
def test_merge_of_random_edits_on_both_sides_is_correct(
    check: Callable[[ThreeTexts], None], seed: int, size: int, ours: int, theirs: int
) -> None:
    check(edited_by_both(seed, size, (ours, theirs)))


@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("check", CHECKS)
@settings(max_examples=20_000, deadline=None)
@given(seed=SEEDS, size=SIZES, ours=EDITS, theirs=EDITS)
def test_merge_of_random_edits_is_correct_in_long_runs(
    check: Callable[[ThreeTexts], None], seed: int, size: int, ours: int, theirs: int
) -> None:
    check(edited_by_both(seed, size, (ours, theirs)))


def check_distant_edits(seed: int, size: int) -> None:
    texts, expected = edited_apart(seed, size)
    note(str(texts))
    merged = merge(texts.base, texts.main, texts.request)
    assert not merged.named_conflicts
    assert merged.text() == expected


@settings(max_examples=100, deadline=None, derandomize=True)
@given(seed=SEEDS, size=st.integers(6, 11))
def test_edits_in_different_places_merge_without_a_conflict(seed: int, size: int) -> None:
    check_distant_edits(seed, size)


@pytest.mark.long
@pytest.mark.timeout(7200)
@settings(max_examples=20_000, deadline=None)
@given(seed=SEEDS, size=st.integers(6, 11))
def test_edits_in_different_places_merge_in_long_runs(seed: int, size: int) -> None:
    check_distant_edits(seed, size)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(seed=SEEDS, size=SIZES)
def test_sections_added_by_both_sides_are_not_interleaved(seed: int, size: int) -> None:
    chance = random.Random(seed)
    base = Writer(chance, "w").page(size)
    added = []
    for letter in "mr":
        writer = Writer(chance, letter)
        made = [writer.node(kind) for kind in ("heading", "paragraph", "hint", "paragraph")]
        made[0].level = 2
        added.append(made)
    sides = []
    for made in added:
        side = copy.deepcopy(base)
        side.children += made
        sides.append(text(side))
    whole = ["\n".join(text(each) for each in made) for made in added]
    assert merge(text(base), sides[0], sides[1]).text_with_choice("both") == f"{text(base)}\n{whole[0]}\n{whole[1]}"


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.text(alphabet="ab |-#>`*{}%\n:.1)<>/= ", max_size=80))
def test_every_character_belongs_to_one_block(source: str) -> None:
    assert read_page(source).source == source


@settings(max_examples=100, deadline=None, derandomize=True)
@given(seed=SEEDS, size=SIZES)
def test_blocks_add_up_to_the_page(seed: int, size: int) -> None:
    for source in vars(edited_by_both(seed, size, (2, 2))).values():
        assert read_page(source).source == source
        check_markup(source)


def twin_page(files: dict[str, str]) -> str:
    """Return a page of operations that differ only in their names and files."""
    return "\n\n".join(
        f'{{% openapi src="{file}" path="/boats/{name}" method="get" %}}\n[{file}]({file})\n{{% endopenapi %}}'
        for name, file in files.items()
    )


def edited_twins(files: dict[str, str], chance: random.Random) -> dict[str, str]:
    """Return the names and files of operations after up to three edits. The same operation may be added by both sides."""
    edited = list(files.items())
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(edited))
        match chance.choice(["file", "file", "delete", "swap", "add", "add"]):
            case "file":
                edited[at] = (edited[at][0], chance.choice(["gates.yaml", "tides.yaml"]))
            case "delete" if len(edited) > 1:
                del edited[at]
            case "swap":
                edited[at], edited[at - 1] = edited[at - 1], edited[at]
            case "add":
                edited.insert(at, (chance.choice(["anchor", "bell", "chart"]), "boats.yaml"))
                edited = list(dict(reversed(edited)).items())[::-1]
    return dict(edited)


def three_twins(chance: random.Random) -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """Return the names and files of operations in the base, in main and in the change request."""
    names = ("list", "list-all", "read", "write", "lock", "lock-all")[chance.randrange(5) :]
    base = dict.fromkeys(names, "boats.yaml")
    return base, edited_twins(base, chance), edited_twins(base, chance)


def check_twins(seed: int) -> None:
    base, main, request = three_twins(random.Random(seed))
    texts = ThreeTexts(*map(twin_page, (base, main, request)))
    note(str(texts))
    merged = merge(texts.base, texts.main, texts.request)
    if merged.named_conflicts:
        return
    found = re.findall(r'path="/boats/([^"]*)"', merged.text())
    assert len(found) == len(set(found)), "doubled"
    for side, other in ((main, request), (request, main)):
        deleted = {name for name in base.keys() - side.keys() if other.get(name) == base[name]}
        assert deleted.isdisjoint(found), "a deletion is undone"
        assert (side.keys() - base.keys()) | (base.keys() & main.keys() & request.keys()) <= {*found}, "lost"
    check_markup(merged.text())


def check_twins_with_choices(seed: int) -> None:
    """Check that no operation is in the merged page twice, whichever sides are chosen."""
    chance = random.Random(seed)
    texts = ThreeTexts(*map(twin_page, three_twins(chance)))
    note(str(texts))
    merged = merge(texts.base, texts.main, texts.request)
    for _ in range(4):
        choices = {name: MergeChoice(chance.choice(SIDES[:2])) for name, _ in merged.named_conflicts}
        note(str(choices))
        operations = merged.text(choices).split("\n\n")
        assert len(operations) == len(set(operations)), "doubled"


@settings(max_examples=200, deadline=None, derandomize=True)
@given(SEEDS)
def test_no_choice_of_sides_repeats_a_block(seed: int) -> None:
    check_twins_with_choices(seed)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(SEEDS)
def test_merge_of_nearly_equal_blocks_loses_and_repeats_none(seed: int) -> None:
    check_twins(seed)


@pytest.mark.long
@pytest.mark.timeout(7200)
@settings(max_examples=20_000, deadline=None)
@given(SEEDS)
def test_merge_of_nearly_equal_blocks_is_correct_in_long_runs(seed: int) -> None:
    check_twins(seed)
