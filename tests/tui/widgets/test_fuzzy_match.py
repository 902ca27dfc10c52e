from __future__ import annotations

import pytest
from textual.content import Content

from octavo.tui.widgets.row_list import fuzzy_match
from tests.api.test_folding import ALIKE


@pytest.mark.parametrize(
    ("query", "text", "places"),
    [
        ("mer", "Merge the change request", "Mer"),
        ("change", "Merge the change request", "change"),
        ("req mer", "Merge the change request", "Merreq"),
        ("mcr", "Merge change request", "Mcr"),
        ("ünd", "Ändern und Ünder", "Ünd"),
        ("日本", "これは日本語", "日本"),
    ],
)
def test_matching_letters_are_in_the_text(query: str, text: str, places: str) -> None:
    found = fuzzy_match(query, text)
    assert found is not None
    assert "".join(text[place] for place in found.indexes) == places


@pytest.mark.parametrize(
    ("query", "text"), [("xyz", "Merge"), ("egrem", "Merge"), ("mt", "Merge a very long sentence t")]
)
def test_text_without_the_letters_does_not_match(query: str, text: str) -> None:
    assert fuzzy_match(query, text) is None


def test_words_rank_before_parts_before_letters() -> None:
    texts = ["compare threads", "next thread", "three reads", "thread"]

    def score(text: str) -> float:
        found = fuzzy_match("thread", text)
        return found.score if found else -1

    assert sorted(texts, key=score, reverse=True) == ["thread", "next thread", "compare threads", "three reads"]


def test_empty_query_matches_everything() -> None:
    assert fuzzy_match("  ", "anything") is not None


def test_letters_that_fold_to_several_letters_are_matched_safely() -> None:
    found = fuzzy_match("ist", "İstanbul ŞEHRİ straße")
    assert found is None or all(0 <= place < 21 for place in found.indexes)


def test_matched_letters_are_highlighted() -> None:
    found = fuzzy_match("mcr", "Merge change request")
    assert found is not None
    marked = found.highlight(Content("Merge change request"), "bold")
    assert [(span.start, span.end) for span in marked.spans] == [(0, 1), (6, 7), (13, 14)]


@pytest.mark.parametrize("stored", [0, 1])
@pytest.mark.parametrize("pair", ALIKE.values(), ids=ALIKE)
def test_letters_that_look_alike_match(pair: tuple[str, str], stored: int) -> None:
    written, typed = pair[stored], pair[1 - stored]
    text = f"İß {written} ßİ"
    found = fuzzy_match(typed, text)
    assert found is not None
    start, end = text.index(written), text.index(written) + len(written)
    assert found.indexes
    assert all(start <= place < end for place in found.indexes)
    assert fuzzy_match(written, f"{typed} more") is not None
