"""The findings on the words that a change request added, and the comments that can be made of them."""

from __future__ import annotations

from octavo.documents.checks.findings import read_page
from octavo.documents.checks.references import AddedFinding, ReferenceCheck, added_findings, added_links
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


def test_finding_on_words_of_a_paragraph_with_other_line_breaks_is_left_out() -> None:
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


def test_finding_on_added_words_has_its_block_and_fix() -> None:
    after = BEFORE.replace("Text.", "Text [here](#strat).")
    (found,) = findings(after)
    assert (found.finding.rule, found.finding.words) == ("anchor", "#strat")
    block = parse(after).find(found.finding.block)
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
    assert added_links(page, ReferenceCheck(index, {}), added_ranges(before, after)) == {"p3"}
