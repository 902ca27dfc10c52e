"""A filter computes the text of each item once, and searches only the previous matches for a longer query."""

from __future__ import annotations

import pytest
from textual.content import Content

from octavo.api.folding import fold
from octavo.tui.widgets.row_list import SearchTexts, is_narrower
from octavo.tui.widgets.short_texts import highlight
from octavo.tui.widgets.tree import TreeNode, contains_words
from tests.api.test_folding import ALIKE


class CountingText(str):
    """A text that counts how often it is searched."""

    search_count = 0

    def lower(self) -> CountingText:
        return CountingText(super().lower())

    def __contains__(self, word: str) -> bool:  # type: ignore[override]  # The filter searches only for texts.
        CountingText.search_count += 1
        return super().__contains__(word)


class CountingFilter:
    """A filter that counts the requested texts and the searched items."""

    def __init__(self, *values: str) -> None:
        self.requested: list[str] = []
        self.words = SearchTexts(self._words)
        self.words.set_items(values)
        self.values = values

    def _words(self, value: str) -> str:
        self.requested.append(value)
        return CountingText(value)

    def found(self, query: str) -> tuple[list[str], int]:
        """Return the matches of a query, and the number of searched values."""
        CountingText.search_count = 0
        return [self.values[place] for place in self.words.matching(tuple(query.split()))], CountingText.search_count


def numbers(count: int) -> tuple[str, ...]:
    return tuple(f"Member {number}" for number in range(count))


def test_longer_filter_searches_previous_matches_only() -> None:
    counting = CountingFilter(*numbers(1000))
    assert counting.found("99") == ([each for each in counting.values if "99" in each], 1000)
    assert counting.found("998") == (["Member 998"], 19)
    assert counting.found("998 mem") == (["Member 998"], 1 + 1)
    assert len(counting.requested) == 1000


@pytest.mark.parametrize("query", ["9", "98", "mem"])
def test_different_filter_searches_all_items(query: str) -> None:
    counting = CountingFilter(*numbers(1000))
    counting.found("99")
    assert counting.found(query) == ([each for each in counting.values if query in each.lower()], 1000)


@pytest.mark.parametrize(
    ("words", "before", "expected"),
    [
        ("ab", "a", True),
        ("xa b", "a", True),
        ("b", "a", False),
        ("a", "a b", False),
        ("ab", "a b", True),
        ("a", "", True),
    ],
)
def test_longer_query_is_recognized_as_narrower(words: str, before: str, expected: bool) -> None:
    assert is_narrower(words.split(), before.split()) is expected


def test_updated_list_requests_texts_of_new_items_only() -> None:
    counting = CountingFilter("Ada", "Ben", "Cleo")
    assert counting.found("e")[0] == ["Ben", "Cleo"]
    counting.requested.clear()
    counting.values = ("Edda", *reversed(counting.values))
    counting.words.set_items(counting.values)
    assert counting.found("e")[0] == ["Edda", "Cleo", "Ben"]
    assert counting.requested == ["Edda"]
    counting.values = counting.values[1:]
    counting.words.set_items(counting.values)
    assert counting.found("d")[0] == ["Ada"]
    assert counting.requested == ["Edda"]


def test_discarded_texts_are_requested_again() -> None:
    counting = CountingFilter("Ada", "Ben")
    counting.found("a")
    counting.words.discard()
    assert counting.found("ad")[0] == ["Ada"]
    assert counting.requested == ["Ada", "Ben"] * 2


def test_texts_are_prepared_in_slices_and_once_each() -> None:
    counting = CountingFilter(*numbers(1000))
    before, slices = 0, 0
    while not counting.words.prepare(0.0):
        assert 0 < len(counting.requested) - before <= 200
        before, slices = len(counting.requested), slices + 1
    assert slices == 5
    assert len(counting.requested) == 1000
    counting.found("mem")
    assert len(counting.requested) == 1000


@pytest.mark.parametrize("stored", [0, 1])
@pytest.mark.parametrize("pair", ALIKE.values(), ids=ALIKE)
def test_letters_that_look_alike_match(pair: tuple[str, str], stored: int) -> None:
    written, typed = pair[stored], pair[1 - stored]
    words: SearchTexts[str] = SearchTexts(lambda value: value)
    words.set_items(["nothing", f"İ {written} ß"])
    requested = tuple(dict.fromkeys(fold(typed).split()))
    assert list(words.matching(requested)) == [1]
    text = Content(f"İ {written} ß")
    shown = "".join(text.plain[span.start : span.end] for span in highlight(text, requested, "bold").spans)
    assert shown == "".join(written.split())
    node = TreeNode("n", f"İ {written}", path=written)
    assert contains_words(node, requested)
