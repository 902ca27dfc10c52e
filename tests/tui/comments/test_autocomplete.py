"""Suggestions of members and emoji, and the picker of reactions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.documents.emoji import api_code, search, to_emoji
from octavo.tui.comments.autocomplete import _reaction_label, emoji_prefix, ends_in_code


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        (":tad", ":tad"),
        ("Done :ta", ":ta"),
        ("(:+1", ":+1"),
        ("one\n\n:he", ":he"),
        ("`code` and :he", ":he"),
        ("``a ` b`` :he", ":he"),
        ("```\ncode\n```\n:he", ":he"),
        ("~~~\n```\n~~~\n:he", ":he"),
        ("a\n    :he", ":he"),
        (":t", ""),
        (":", ""),
        ("10:30", ""),
        ("note:yes", ""),
        ("see http://a.example:80", ""),
        (":tada: ", ""),
        (":tada:", ""),
        ("`:he", ""),
        ("`a :he", ""),
        ("``a ` :he", ""),
        ("a `b\nc :he", ""),
        ("```\n:he", ""),
        ("```py\na = b[\n:he", ""),
        ("````\n```\n:he", ""),
        ("a\n\n    :he", ""),
        ("a\n\n\t:he", ""),
    ],
)
def test_colon_at_start_of_word_outside_code_starts_an_emoji_name(before: str, expected: str) -> None:
    assert emoji_prefix(before) == expected


@given(st.text(alphabet="a `~\n\t:", max_size=40))
def test_text_in_an_open_fence_ends_in_code(before: str) -> None:
    in_fence = f"{before}\n\n`````\nx"
    assert ends_in_code(in_fence) or "~~~" in before or "```" in before
    assert isinstance(ends_in_code(before), bool)


def test_emoji_search_lists_exact_names_first() -> None:
    assert search("tad")[0].character == "🎉"
    assert [each.name for each in search("heart")][:2] == ["heart", "hearts"]
    signs = [each.character for each in search("thumbs")]
    assert len(signs) == len(set(signs)), "each emoji must be found once"
    assert search("+1")[0].character == "👍"
    assert len(search("a")) == 40


@pytest.mark.parametrize("sign", ["🎉", "❤", "❤️", "👍🏽", "🏳️\u200d🌈", "1️⃣"])
def test_pasted_emoji_is_found_and_has_the_code_of_the_api(sign: str) -> None:
    (one,) = search(sign)
    assert to_emoji(one.code).replace("\ufe0f", "") == sign.replace("\ufe0f", "")
    assert api_code(sign) == one.code or sign in "❤️"


@pytest.mark.parametrize(
    "words", ["", " ", "x🎉", "<b>", "[@click=app.quit]x[/]", "\x1b[31m", "ta da da", "é", "🎉🎉", "a" * 200]
)
def test_emoji_search_without_a_name_finds_nothing(words: str) -> None:
    assert search(words) == []


@pytest.mark.parametrize(
    ("code", "part"), [("1f44d", "thumbs up sign"), ("", ""), ("no emoji", "latin small letter n")]
)
def test_unknown_reaction_code_has_a_label(code: str, part: str) -> None:
    assert part in _reaction_label(code, {})
