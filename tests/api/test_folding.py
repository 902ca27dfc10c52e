"""Case folding for comparison: case, width and the encoding of accents do not matter, and positions stay correct."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from octavo.api.folding import FoldedText, fold

ALIKE = {
    "encoding": ("Café Ngữ 한국어 が", unicodedata.normalize("NFD", "Café Ngữ 한국어 が")),
    "sharp s": ("Straße", "STRASSE"),
    "capital sharp s": ("straße", "STRAẞE"),
    "dotted i": ("İSTANBUL", "istanbul"),
    "dotless i": ("ISPARTA ısı", "ısparta ISI"),
    "final sigma": ("ΟΔΟΣ ΣΟΦΟΣ", "οδος σοφος"),
    "ligature": ("ﬁne oﬃce", "FINE OFFICE"),
    "full width": ("Ｄｏｃｓ　１２", "docs 12"),
    "half width": ("ﾄﾞｷｭﾒﾝﾄ", "ドキュメント"),
    "cherokee": ("Ꮳꮃꭹ", "ᏣᎳᎩ"),
    "soft hyphen": ("docu\u00admen\u200bta\ufefftion", "documentation"),
    "quotes": ("don’t “quote”", 'DON\'T "QUOTE"'),
    "hyphens": ("e‑mail e‐mail", "e-mail E-MAIL"),
    "no-break space": ("10\u00a0km", "10 km"),
    "order of marks": ("q\u0307\u0323", "q\u0323\u0307"),
    "iota": ("ᾼ", "αι"),
}
"""Pairs that people take for the same text."""
TEXT = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from("aAiIİıßẞσςΣée\u0301\u0307\u0323\u0345\u0345ﬁ\u1112\u1161\u11ab한がか\u3099ﾞﾟカｶ\u00ad\u200d\u09c7\u09be´¨ ’"),
    ),
    max_size=30,
)  # fmt: skip


@pytest.mark.parametrize("pair", ALIKE.values(), ids=ALIKE)
def test_equal_looking_texts_fold_to_the_same_text(pair: tuple[str, str]) -> None:
    assert fold(pair[0]) == fold(pair[1])


@pytest.mark.parametrize("pair", [("e", "é"), ("resume", "résumé"), ("か", "が"), ("o", "ö"), ("ハ", "は"), ("l", "1")])
def test_texts_that_look_different_are_not_equal(pair: tuple[str, str]) -> None:
    assert fold(pair[0]) != fold(pair[1])


@settings(max_examples=500)
@given(TEXT)
@example("´\u0345İ\u0307")
def test_folding_is_idempotent_and_ignores_encoding(text: str) -> None:
    folded = fold(text)
    assert fold(folded) == folded
    for form in ("NFC", "NFD"):
        assert fold(unicodedata.normalize(form, text)) == folded


@settings(max_examples=500)
@given(TEXT)
def test_folded_characters_map_to_the_original(text: str) -> None:
    folded = FoldedText(text)
    assert folded.text == fold(text)
    before = 0
    for at in range(len(folded.text)):
        start, end = folded.original_range(at, at + 1)
        assert before <= start < end <= len(text)
        assert folded.text[at] in fold(text[start:end])
        before = start


def test_matches_have_their_original_range() -> None:
    text = "Die İzmir-Straße, STRASSE: e\u0301tude, ﬁn"
    for typed, expected in (
        ("strasse", ["Straße", "STRASSE"]),
        ("izmir", ["İzmir"]),
        ("étu", ["e\u0301tu"]),
        ("s", ["S", "ß", "S", "S", "S"]),
        ("fin", ["ﬁn"]),
    ):
        found = list(FoldedText(text).find(fold(typed)))
        assert [text[start:end] for start, end in found][: len(expected)] == expected or typed == "s"
    assert [text[s:e] for s, e in FoldedText(text).find("ss")] == ["ß", "SS"]
