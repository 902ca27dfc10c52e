"""Text from outside cannot control the terminal."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.api.safety import LINE_LIMIT, safe_address, safe_json, safe_line, safe_text

HOSTILE = st.text(
    alphabet=st.one_of(
        st.characters(),
        st.sampled_from("\x1b\x07\x00\r\n\t\x7f\x85\x9b\x9d\u202e\u2066\u200b\ufeff\u2028\U000e0041\u0301\ud800"),
    ),
    max_size=200,
)


@given(HOSTILE)
def test_sanitized_text_is_safe_and_stays_the_same(value: str) -> None:
    safe = safe_text(value)
    assert safe_text(safe) == safe
    for char in safe:
        assert char in "\n\t" or unicodedata.category(char) not in ("Cc", "Cs")
        assert unicodedata.bidirectional(char) not in ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")


@given(HOSTILE)
def test_sanitized_line_has_no_line_break(value: str) -> None:
    safe = safe_line(value)
    assert safe_line(safe) == safe
    assert "\n" not in safe
    assert len(safe) <= LINE_LIMIT


@given(HOSTILE)
def test_sanitized_url_is_complete_and_has_no_line_break(value: str) -> None:
    safe = safe_address(value)
    assert safe_address(safe) == safe
    assert not set("\n\r\t\x1b") & set(safe)
    long = "https://idp.example/" + "x" * 2000
    assert safe_address(long) == long


@pytest.mark.parametrize(
    "kept",
    ["plain", "naïve café", "👩‍👩‍👧 family", "می‌خواهم", "กำลัง", "Việt Nam", "日本語の文書", "שלום עולם", "a\tb\nc"],
)
def test_harmless_text_is_unchanged(kept: str) -> None:
    assert safe_text(kept) == kept


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("\x1b]52;c;aGk=\x07", "␛]52;c;aGk=␇"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("a\u2028b\x85c", "a\nb\nc"),
        ("\u202egnp.exe", "\ufffdgnp.exe"),
        ("\u202b\u2067שלום\u2069 a\u200f\u202c", "שלום a"),
        ("pay\u200bpal", "paypal"),
        ("z" + "\u0301" * 50, "z" + "\u0301" * 4),
        ("\x9b31m", "\ufffd31m"),
    ],
)
def test_hostile_text_is_sanitized(hostile: str, shown: str) -> None:
    assert safe_text(hostile) == shown


def test_all_strings_in_json_are_sanitized() -> None:
    assert safe_json({"a\x1b": ["\x07", {"b": "\x00"}], "n": 1}) == {"a␛": ["␇", {"b": "␀"}], "n": 1}
