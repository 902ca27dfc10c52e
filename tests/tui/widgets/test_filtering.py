"""A filter makes the words of each value once, and looks for a letter more only in what it found."""

from __future__ import annotations

import pytest
from textual.content import Content

from octavo.api.folding import fold
from octavo.tui.widgets.filtering import SearchTexts, is_narrower
from octavo.tui.widgets.short_texts import highlight
from octavo.tui.widgets.tree import TreeNode, contains_words
from tests.api.test_folding import ALIKE


class Words(str):
    """Words that know how often one looked in them."""

    looked = 0

    def lower(self) -> Words:
        return Words(super().lower())

    def __contains__(self, word: str) -> bool:  # type: ignore[override]  # only words are looked for here
        Words.looked += 1
        return super().__contains__(word)


class Of:
    """A filter of many values that counts requested texts and searched values."""

    def __init__(self, *values: str) -> None:
        self.asked: list[str] = []
        self.words = SearchTexts(self._words)
        self.words.set_items(values)
        self.values = values

    def _words(self, value: str) -> str:
        self.asked.append(value)
        return Words(value)

    def found(self, query: str) -> tuple[list[str], int]:
        """Return the matches of a query, and the number of searched values."""
        Words.looked = 0
        return [self.values[place] for place in self.words.matching(tuple(query.split()))], Words.looked


def numbers(count: int) -> tuple[str, ...]:
    return tuple(f"Member {number}" for number in range(count))


def test_longer_filter_searches_previous_matches_only() -> None:
    of = Of(*numbers(1000))
    assert of.found("99") == ([each for each in of.values if "99" in each], 1000)
    assert of.found("998") == (["Member 998"], 19)
    assert of.found("998 mem") == (["Member 998"], 1 + 1)
    assert len(of.asked) == 1000


@pytest.mark.parametrize("then", ["9", "98", "mem"])
def test_different_filter_searches_all_items(then: str) -> None:
    of = Of(*numbers(1000))
    of.found("99")
    assert of.found(then) == ([each for each in of.values if then in each.lower()], 1000)


@pytest.mark.parametrize(
    ("words", "before", "holds"),
    [
        ("ab", "a", True),
        ("xa b", "a", True),
        ("b", "a", False),
        ("a", "a b", False),
        ("ab", "a b", True),
        ("a", "", True),
    ],
)
def test_longer_query_is_recognized_as_narrower(words: str, before: str, holds: bool) -> None:
    assert is_narrower(words.split(), before.split()) is holds


def test_updated_list_requests_texts_of_new_items_only() -> None:
    of = Of("Ada", "Ben", "Cleo")
    assert of.found("e")[0] == ["Ben", "Cleo"]
    of.asked.clear()
    of.values = ("Edda", *reversed(of.values))
    of.words.set_items(of.values)
    assert of.found("e")[0] == ["Edda", "Cleo", "Ben"]
    assert of.asked == ["Edda"]
    of.values = of.values[1:]
    of.words.set_items(of.values)
    assert of.found("d")[0] == ["Ada"]
    assert of.asked == ["Edda"]


def test_discarded_texts_are_requested_again() -> None:
    of = Of("Ada", "Ben")
    of.found("a")
    of.words.discard()
    assert of.found("ad")[0] == ["Ada"]
    assert of.asked == ["Ada", "Ben"] * 2


def test_texts_are_prepared_in_slices_and_once_each() -> None:
    of = Of(*numbers(1000))
    before, turns = 0, 0
    while not of.words.prepare(0.0):
        assert 0 < len(of.asked) - before <= 200
        before, turns = len(of.asked), turns + 1
    assert turns == 5
    assert len(of.asked) == 1000
    of.found("mem")
    assert len(of.asked) == 1000


@pytest.mark.parametrize("stored", [0, 1])
@pytest.mark.parametrize("pair", ALIKE.values(), ids=ALIKE)
def test_letters_that_look_alike_match(pair: tuple[str, str], stored: int) -> None:
    there, typed = pair[stored], pair[1 - stored]
    words: SearchTexts[str] = SearchTexts(lambda value: value)
    words.set_items(["nothing", f"İ {there} ß"])
    asked = tuple(dict.fromkeys(fold(typed).split()))
    assert list(words.matching(asked)) == [1]
    text = Content(f"İ {there} ß")
    shown = "".join(text.plain[span.start : span.end] for span in highlight(text, asked, "bold").spans)
    assert shown == "".join(there.split())
    node = TreeNode("n", f"İ {there}", path=there)
    assert contains_words(node, asked)
