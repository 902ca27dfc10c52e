"""Conflict markers on a page: found, written, read back and resolved."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.documents.merging.merged_page import ChoiceKind, MergeChoice, read_marked_page
from octavo.documents.merging.page_merge import merge
from octavo.documents.source_reader import ConflictMarkers, find_markers, parse
from tests.documents.random_lines import three_texts

NAME = "#42"
SIDES: tuple[ChoiceKind, ...] = ("main", "request", "both")
STABLE = settings(max_examples=100, deadline=None, derandomize=True)


def lines_of(text: str) -> list[str]:
    """Return the lines that are not blank."""
    return [line for line in text.split("\n") if line.strip()]


@STABLE
@given(three_texts())
def test_markers_enclose_only_conflicts_with_blank_lines(texts: tuple[str, str, str]) -> None:
    merged = merge(*texts)
    text = merged.text(request=NAME)
    lines = text.split("\n")
    assert bool(merged.conflicts) == bool(find_markers(text))
    for mark in find_markers(text):
        for at in (mark.first, mark.middle, mark.last):
            assert at == 0 or not lines[at - 1].strip()
            assert at == len(lines) - 1 or not lines[at + 1].strip()


@STABLE
@given(three_texts(), st.sampled_from(SIDES))
def test_resolved_page_has_no_markers(texts: tuple[str, str, str], side: ChoiceKind) -> None:
    assert not find_markers(merge(*texts).text_with_choice(side))


@STABLE
@given(three_texts())
def test_marked_text_is_read_back_unchanged(texts: tuple[str, str, str]) -> None:
    merged = merge(*texts)
    text = merged.text(request=NAME)
    read = read_marked_page(text, merged)
    expected = [(name, each.base) for name, each in merged.named_conflicts if not each.is_merged_by_default]
    assert [(name, each.base) for name, each in read.named_conflicts if not each.is_merged_by_default] == expected
    assert lines_of(read.text(request=NAME)) == lines_of(text)
    for side in SIDES:
        choices = {name: MergeChoice(side) for name, _ in expected}
        assert lines_of(read.text(choices, request=NAME)) == lines_of(merged.text(choices, request=NAME))


@pytest.mark.parametrize(
    "base",
    [
        "1. Alpha\n2. Beta\n3. Gamma\n",
        '{% hint style="info" %}\nBeta\n\nGamma\n{% endhint %}\n',
        '{% tabs %}\n{% tab title="One" %}\n* Beta\n* Gamma\n{% endtab %}\n{% endtabs %}\n',
        '{% code title="a.sh" %}\n```sh\nBeta\nGamma\n```\n{% endcode %}\n',
    ],
)
def test_resolving_removes_blank_lines_around_markers(base: str) -> None:
    main, request = base.replace("Beta", "Beta 1").replace("Gamma", "Delta"), base.replace("Beta", "Beta 2")
    known = merge(base, main, request)
    read = read_marked_page(known.text(request=NAME), known)
    assert read.text_with_choice("main") == main
    assert read.text_with_choice("request") == main.replace("Beta 1", "Beta 2")


def test_choice_leaves_the_other_conflict_in_its_markers() -> None:
    merged = merge("a\n\nb\n\nc\n", "a1\n\nb\n\nc1\n", "a2\n\nb\n\nc2\n")
    (first, _), (second, _) = merged.named_conflicts
    assert merged.text({first: MergeChoice("request")}, request=NAME) == (
        "a2\n\nb\n\n<<<<<<< main\n\nc1\n\n=======\n\nc2\n\n>>>>>>> #42\n"
    )
    assert (
        merged.text({first: MergeChoice("own", "mine"), second: MergeChoice("main")}, request=NAME)
        == "mine\n\nb\n\nc1\n"
    )


def test_equal_conflicts_are_resolved_separately() -> None:
    merged = merge("a\n\nb\n\na\n", "x\n\nb\n\nx\n", "y\n\nb\n\ny\n")
    (first, _), (second, _) = merged.named_conflicts
    assert merged.text({first: MergeChoice("main"), second: MergeChoice("request")}) == "x\n\nb\n\ny\n"


def test_equal_conflicts_are_read_from_markers_separately() -> None:
    merged = merge("a\n\nb\n\na\n", "x\n\nb\n\nx\n", "y\n\nb\n\ny\n")
    read = read_marked_page(merged.text(request=NAME), merged)
    (first, _), (second, _) = read.named_conflicts
    assert read.text({first: MergeChoice("main"), second: MergeChoice("request")}) == "x\n\nb\n\ny\n"


def test_equal_conflicts_keep_their_names_when_markers_are_read() -> None:
    merged = merge("a\n\nb\n\na\n", "x\n\nb\n\nx\n", "y\n\nb\n\ny\n")
    text = merged.text(request=NAME)
    expected = [(name, each.base) for name, each in merged.named_conflicts]
    assert len(dict(expected)) == 2
    read = read_marked_page(text, merged)
    assert [(name, each.base) for name, each in read.named_conflicts] == expected
    choices = {expected[0][0]: MergeChoice("main"), expected[1][0]: MergeChoice("request")}
    assert lines_of(read.text(choices)) == ["x", "b", "y"]


def test_blank_lines_of_an_empty_page_are_not_added_before_markers() -> None:
    assert merge("one", "one\none", "\n ").text(request=NAME) == ("<<<<<<< main\n\none\none\n\n=======\n\n>>>>>>> #42")


def test_blank_lines_of_an_empty_page_are_not_added_after_markers() -> None:
    marked = merge("\n\none\n ", " ", "one\n\n\none\n ").text(request=NAME)
    assert marked.split("\n")[-2] == ">>>>>>> #42"


def test_markers_enclose_whole_blocks() -> None:
    base = "```\nx = 1\n\ny = 2\n```\n"
    assert merge(base, base.replace("1", "3"), base.replace("1", "4")).text(request=NAME) == (
        "<<<<<<< main\n\n```\nx = 3\n\ny = 2\n```\n\n=======\n\n```\nx = 4\n\ny = 2\n```\n\n>>>>>>> #42\n"
    )


def test_foreign_markers_are_a_conflict_without_base() -> None:
    text = "a\n\n<<<<<<< main\n\n=======\n\nb!\n\n>>>>>>> #42\n\nc\n"
    read = read_marked_page(text)
    ((name, conflict),) = read.named_conflicts
    assert (conflict.main, conflict.request, conflict.base) == (None, "b!", None)
    assert read.text({name: MergeChoice("main")}) == "a\n\nc\n"
    assert read.text({name: MergeChoice("request")}) == "a\n\nb!\n\nc\n"
    assert read.text(request=NAME) == text


def test_edit_outside_of_markers_is_kept() -> None:
    merged = merge("a\n\nb\n\nc\n", "a\n\nb1\n\nc\n", "a\n\nb2\n\nc\n")
    text = merged.text(request=NAME).replace("c\n", "c, edited\n")
    assert read_marked_page(text, merged).text_with_choice("request") == "a\n\nb2\n\nc, edited\n"


def test_complete_conflict_markers_are_found() -> None:
    text = "a\n<<<<<<< main\nx\n=======\ny\n>>>>>>> #12\nb\n<<<<<<< main\nhalf"
    assert find_markers(text) == [ConflictMarkers(1, 3, 5, "main", "#12")]
    assert find_markers(text.replace("\n", "\r\n")) == find_markers(text)
    assert find_markers("=======\n>>>>>>> x") == []


def test_conflict_markers_in_code_are_shown_as_code() -> None:
    code = "<<<<<<< main\nx\n=======\ny\n>>>>>>> #12"
    (block,) = parse(f"```\n{code}\n```\n").blocks
    assert (block.kind, block.text) == ("code", code)
