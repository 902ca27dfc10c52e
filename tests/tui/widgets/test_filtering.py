"""A filter computes the text of each item once."""

from __future__ import annotations

import pytest
from textual.content import Content

from octavo.api.folding import fold
from octavo.tui.widgets.row_list import SearchTexts
from octavo.tui.widgets.short_texts import highlight
from octavo.tui.widgets.tree import TreeNode, contains_words
from tests.api.test_folding import ALIKE


class CountingFilter:
    """A filter that records the requested texts."""

    def __init__(self, *values: str) -> None:
        self.requested: list[str] = []
        self.words = SearchTexts(self._words)
        self.words.set_items(values)
        self.values = values

    def _words(self, value: str) -> str:
        self.requested.append(value)
        return value

    def found(self, query: str) -> list[str]:
        """Return the matches of a query."""
        return [self.values[place] for place in self.words.matching(tuple(query.split()))]


def numbers(count: int) -> tuple[str, ...]:
    return tuple(f"Member {number}" for number in range(count))


def test_filter_finds_items_that_contain_all_words() -> None:
    counting = CountingFilter(*numbers(1000))
    assert counting.found("998 mem") == ["Member 998"]
    assert counting.found("mem") == list(counting.values)
    assert len(counting.requested) == 1000


def test_updated_list_finds_new_items_only() -> None:
    counting = CountingFilter("Ada", "Ben", "Cleo")
    assert counting.found("e") == ["Ben", "Cleo"]
    counting.values = ("Edda", "Cleo", "Ben")
    counting.words.set_items(counting.values)
    assert counting.found("e") == ["Edda", "Cleo", "Ben"]
    assert counting.found("d") == ["Edda"]


def test_discarded_texts_are_requested_again() -> None:
    counting = CountingFilter("Ada", "Ben")
    counting.found("a")
    counting.words.discard()
    assert counting.found("ad") == ["Ada"]
    assert counting.requested == ["Ada", "Ben"] * 2


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
