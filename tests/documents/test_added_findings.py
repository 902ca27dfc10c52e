"""The findings on the words that a change request added, and the comments that can be made of them."""

from __future__ import annotations

import re
from random import Random
from textwrap import fill

from octavo.documents.checks.findings import FileRange, read_page
from octavo.documents.checks.references import (
    AddedFinding,
    ReferenceCheck,
    added_findings,
    pages_linked_from_added_lines,
)
from octavo.documents.links import SpaceIndex, ids_by_path
from octavo.documents.linters.placement import added_ranges
from octavo.documents.source_reader import parse

BEFORE = "# Ships\n\nSee [the tides](tides.md) and [old](gone.md).\n\n## Start\n\nText.\n"


def findings(after: str, before: str = BEFORE) -> tuple[AddedFinding, ...]:
    index = SpaceIndex(ids_by_path([("p1", "ships", None), ("p2", "tides", None)]))
    page = read_page("ships.md", after)
    check = ReferenceCheck(index, {"p1": page, "p2": read_page("tides.md", "# Tides\n\n## Spring\n")})
    return added_findings(page, check, added_ranges(before, after), parse(after))


def test_finding_on_unchanged_words_is_left_out() -> None:
    assert findings(BEFORE.replace("Text.", "More text.")) == ()


MOORING = "Please moor every ship with two ropes, as [the plan](no-plan.md) of the harbour says, and count the ropes."


def test_finding_on_moved_words_is_left_out() -> None:
    before = f"# Ships\n\n{MOORING}\n\n* A ship.\n* [B](b.md)\n\nThe end.\n"
    assert findings(f"# Ships\n\n* [B](b.md)\n* A ship.\n\nThe end.\n\n{MOORING}\n", before) == ()


def test_finding_on_a_paragraph_with_other_line_breaks_is_left_out() -> None:
    before = f"# Ships\n\n{MOORING}\n\nThe end.\n"
    words = MOORING.split(" ")
    for width in range(2, len(words)):
        lines = "\n".join(" ".join(words[at : at + width]) for at in range(0, len(words), width))
        assert findings(f"# Ships\n\nThe end.\n\n{lines}\n", before) == (), width


def test_finding_on_copied_words_is_reported() -> None:
    before = f"# Ships\n\n{MOORING}\n\nThe end.\n"
    assert len(findings(f"{before}\n{MOORING}\n", before)) == 1


def test_finding_on_changed_words_of_a_moved_paragraph_is_reported() -> None:
    before = f"# Ships\n\n{MOORING}\n\nThe end.\n"
    moved = MOORING.replace("no-plan", "no-such-plan")
    assert [each.finding.words for each in findings(f"# Ships\n\nThe end.\n\n{moved}\n", before)] == ["no-such-plan.md"]


def test_finding_on_a_definition_above_its_block_has_no_suggestion() -> None:
    before = "# Ships\n\nText.\n"
    (found,) = findings("# Ships\n\n[plan]: tides.md#sprin\n\nFirst.\n\nSee [it][plan].\n", before)
    assert (found.finding.suggestion, found.suggestion) == ("tides.md#spring", None)


def test_finding_on_added_words_has_its_block_and_fix() -> None:
    after = BEFORE.replace("Text.", "Text [here](#strat).")
    (found,) = findings(after)
    assert (found.finding.rule, found.finding.words) == ("anchor", "#strat")
    block = parse(after).find(found.finding.block_key)
    assert block is not None
    assert block.plain() == "Text here."
    assert found.suggestion == "Text [here](#start)."
    assert found.comment == "No heading “\\#strat” on this page. Did you mean \\#start? (`anchor`)"
    assert found.comment_with_suggestion.endswith("```suggestion\nText [here](#start).\n```\n")


def test_finding_without_fix_has_no_suggestion() -> None:
    (found,) = findings(BEFORE.replace("Text.", "Text [here](nowhere-at-all.md)."))
    assert found.suggestion is None
    assert found.comment_with_suggestion == found.comment


def test_rules_that_are_off_by_default_are_not_reported() -> None:
    assert findings(BEFORE.replace("Text.", "![](https://a.example/map.png)")) == ()


def test_key_changes_only_with_the_words_of_its_block() -> None:
    after = BEFORE.replace("Text.", "Text [here](nowhere-at-all.md).")
    (found,), (below,) = findings(after), findings(after.replace("# Ships", "# All ships"))
    assert found.key == below.key
    (edited,) = findings(after.replace("Text", "Other text"))
    assert found.key != edited.key


def test_only_added_lines_need_the_headings_of_other_pages() -> None:
    index = SpaceIndex(ids_by_path([("p1", "ships", None), ("p2", "tides", None), ("p3", "moon", None)]))
    before = "See [a](tides.md#spring).\n\nText.\n"
    after = before.replace("Text.", "See [b](moon.md#full).")
    page = read_page("ships.md", after)
    assert pages_linked_from_added_lines(page, ReferenceCheck(index, {}), added_ranges(before, after)) == {"p3"}


WORDS = [
    "harbour",
    "light",
    "keeper",
    "ship",
    "tide",
    "rope",
    "storm",
    "lantern",
    "pier",
    "stone",
    "water",
    "crew",
    "boat",
    "winter",
    "summer",
    "chain",
    "anchor",
]


def test_random_edits_report_added_words_and_hardly_any_old_words() -> None:
    old = [0, 0]
    for seed in range(200):
        random = Random(seed)
        paragraphs = [random.choices(WORDS, k=random.randint(3, 25)) for _ in range(8)]
        for number, words in enumerate(paragraphs):
            words.insert(random.randrange(len(words)), f"old{number}")
        before = rendered(paragraphs, random)
        paragraphs.insert(random.randrange(8), paragraphs.pop(random.randrange(8)))
        random.choice(paragraphs).insert(1, "new1")
        after = rendered(paragraphs, random)
        added = added_ranges(before, after)
        for number, line in enumerate(after.split("\n"), 1):
            for found in re.finditer(r"(old|new)\d", line):
                is_added = added.touches(FileRange(number, found.start() + 1, number, found.end() + 1))
                if found[1] == "new":
                    assert is_added, seed
                else:
                    old[is_added] += 1
    assert old[True] < 0.01 * sum(old), old


def rendered(paragraphs: list[list[str]], random: Random) -> str:
    """Return paragraphs with random line breaks."""
    return "\n\n".join(fill(" ".join(words), random.choice((30, 50, 200))) for words in paragraphs) + "\n"
