"""Resolving by hand: no word is lost, and what is not decided stays as the merge left it."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.documents.merging.conflict import Conflict, Undecided
from octavo.documents.merging.resolution import Choice, Side, names, parts_of_marked, resolved
from octavo.documents.merging.text import DIVIDER, MAIN, merge, proposal_marker
from octavo.documents.merging.three_way import parts
from tests.documents.test_merging import NAME, three

Three = tuple[str, str, str]
MARKS = {MAIN, DIVIDER, proposal_marker(NAME)}


def decided(texts: Three, side: Side) -> str:
    """The text with the same choice for every conflict."""
    found = parts(*texts)
    return resolved(found, {name: Choice(side) for name, _ in names(found)}, NAME)


def worded(lines: list[str]) -> list[str]:
    """The lines that say something."""
    return [line for line in lines if line.strip()]


def lines_of(text: str) -> Counter[str]:
    return Counter(line.strip() for line in worded(text.split("\n")))


@given(three())
def test_without_a_choice_the_text_is_what_the_merge_made(texts: Three) -> None:
    assert resolved(parts(*texts), {}, NAME) == merge(*texts, NAME).text


@given(three())
def test_both_keeps_every_line_that_either_side_has_in_a_conflict_or_added(texts: Three) -> None:
    base, main, proposed = texts
    there = lines_of(decided(texts, "both"))
    for side in (main, proposed):
        assert not lines_of(side) - lines_of(base) - there
    for part in parts(*texts):
        if isinstance(part, Conflict):
            assert not lines_of(part.main) - there
            assert not lines_of(part.proposed) - there


@settings(
    derandomize=True
)  # of lines that are there several times each, another one may be taken for the one that was meant
@given(three())
def test_the_primary_contents_side_is_the_other_ones_when_they_change_places(texts: Three) -> None:
    base, main, proposed = texts
    assert lines_of(decided(texts, "main")) == lines_of(decided((base, proposed, main), "this"))


@given(three(), st.sampled_from(["main", "this", "both"]))
def test_when_all_is_decided_no_mark_is_left(texts: Three, side: Side) -> None:
    assert not MARKS & set(decided(texts, side).split("\n"))


@given(st.lists(st.text("abc", min_size=1, max_size=3), min_size=2, max_size=9), st.data())
def test_only_what_both_changed_is_chosen(paragraphs: list[str], data: st.DataObject) -> None:
    """Paragraphs that nobody changed (-), main (m), the change request (p), or both (c)."""
    owners = data.draw(st.lists(st.sampled_from("-mpc"), min_size=len(paragraphs), max_size=len(paragraphs)))
    named = [f"{paragraph} {number}" for number, paragraph in enumerate(paragraphs)]

    def of(mine: str, contested: str) -> str:
        return "".join(
            f"{text}{contested if who == 'c' else who if who in mine else ''}\n\n"
            for text, who in zip(named, owners, strict=True)
        )

    texts = of("", ""), of("m", "M"), of("p", "P")
    assert decided(texts, "main") == of("mp", "M")
    assert decided(texts, "this") == of("mp", "P")


@given(three())
def test_a_text_with_marks_says_the_same_conflicts_and_keeps_all_else(texts: Three) -> None:
    base, main, proposed = texts
    known = parts(base, main, proposed)
    text = resolved(known, {}, NAME)
    read = parts_of_marked(text, known)
    assert [name for name, _ in names(read)] == [name for name, _ in names(known)]
    assert [each.base for _, each in names(read)] == [each.base for _, each in names(known)]
    assert worded(resolved(read, {}, NAME).split("\n")) == worded(text.split("\n"))
    for side in ("main", "this", "both"):
        choices = {name: Choice(side) for name, _ in names(known)}
        assert resolved(read, choices, NAME).strip("\n") == resolved(known, choices, NAME).strip("\n")


@pytest.mark.parametrize(
    "base",
    [
        "1. Alpha\n2. Beta\n3. Gamma\n",
        '{% hint style="info" %}\nBeta\n\nGamma\n{% endhint %}\n',
        '{% tabs %}\n{% tab title="One" %}\n* Beta\n* Gamma\n{% endtab %}\n{% endtabs %}\n',
        '{% code title="a.sh" %}\n```sh\nBeta\nGamma\n```\n{% endcode %}\n',
    ],
)
def test_marks_take_the_blank_lines_with_them_that_they_brought(base: str) -> None:
    main, proposed = base.replace("Beta", "Beta 1").replace("Gamma", "Delta"), base.replace("Beta", "Beta 2")
    known = parts(base, main, proposed)
    read = parts_of_marked(resolved(known, {}, NAME), known)
    ((name, _),) = names(read)
    assert resolved(read, {name: Choice("main")}, NAME) == main
    assert resolved(read, {name: Choice("this")}, NAME) == main.replace("Beta 1", "Beta 2")


def test_one_choice_leaves_the_other_conflict_between_its_marks() -> None:
    found = parts("a\n\nb\n\nc\n", "a1\n\nb\n\nc1\n", "a2\n\nb\n\nc2\n")
    (first, _), (second, _) = names(found)
    assert resolved(found, {first: Choice("this")}, NAME) == (
        "a2\n\nb\n\n<<<<<<< main\n\nc1\n\n=======\n\nc2\n\n>>>>>>> #42\n"
    )
    assert resolved(found, {first: Choice("own", "mine"), second: Choice("main")}, NAME) == "mine\n\nb\n\nc1\n"


def test_the_same_conflict_twice_is_decided_twice() -> None:
    found = parts("a\n\nb\n\na\n", "x\n\nb\n\nx\n", "y\n\nb\n\ny\n")
    (first, _), (second, _) = names(found)
    assert resolved(found, {first: Choice("main"), second: Choice("this")}, NAME) == "x\n\nb\n\ny\n"


@pytest.mark.parametrize(
    ("main", "proposed", "both"),
    [
        pytest.param("one more\n", "another\n", "one more\n\nanother\n", id="paragraphs stay apart"),
        pytest.param("* a\n* b\n* c\n", "* a\n* B\n* c\n", "* a\n* b\n* B\n* c\n", id="items of a list stay together"),
        pytest.param("", "kept\n", "kept\n", id="a side that deleted it takes nothing away"),
        pytest.param("same\n\nx\n", "same\n\ny\n", "same\n\nx\n\ny\n", id="what both say is said once"),
    ],
)
def test_both(main: str, proposed: str, both: str) -> None:
    found = [Undecided((Conflict("", main, proposed),))]
    assert resolved(found, {name: Choice("both") for name, _ in names(found)}, NAME) == both


def test_a_side_that_says_nothing_leaves_no_hole() -> None:
    text = "a\n\n<<<<<<< main\n\n=======\n\nb!\n\n>>>>>>> #42\n\nc\n"
    found = parts_of_marked(text)
    (name, conflict), *_ = names(found)
    assert (conflict.main, conflict.proposed, conflict.base) == ("", "b!\n\n", None)
    assert resolved(found, {name: Choice("main")}, NAME) == "a\n\nc\n"
    assert resolved(found, {}, NAME) == text
