"""REFs name a space, page, change request or thread; the short form means the same as the long form."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.api.spaces import Space
from octavo.cli.refs import Ref, parse_ref, short_name
from octavo.cli.standard_streams import Failure

WORDS = st.text("abcdefgh-äßЖ水 _.!", min_size=1, max_size=12).map(str.strip).filter(lambda word: word.strip(" "))
PATHS = st.lists(st.text("abcdefg-123水", min_size=1, max_size=8), min_size=1, max_size=4).map("/".join)
REFS = st.builds(
    Ref,
    space=WORDS,
    number=st.none() | st.integers(0, 999_999),
    page=st.just("") | PATHS,
    block=st.just("") | st.text("0123456789abcdef", min_size=1, max_size=12),
) | st.builds(Ref, number=st.integers(0, 999_999), page=st.just("") | PATHS)


@settings(max_examples=200)
@given(REFS)
def test_every_ref_can_be_read_again(ref: Ref) -> None:
    assert parse_ref(str(ref)) == ref


@pytest.mark.parametrize(
    ("text", "ref"),
    [
        ("7", Ref(number=7)),
        ("#7", Ref(number=7)),
        ("handbook#7", Ref("handbook", 7)),
        ("handbook/7", Ref("handbook", 7)),
        ("Harbour API/7", Ref("Harbour API", 7)),
        ("handbook:guides/setup", Ref("handbook", page="guides/setup")),
        ("handbook/7:guides/setup@038bbb9b2b44", Ref("handbook", 7, "guides/setup", "038bbb9b2b44")),
        ("7:concepts/time", Ref(number=7, page="concepts/time")),
        ("handbook:", Ref("handbook")),
        ("t6", Ref("t6")),
    ],
)
def test_each_form_of_a_ref_is_read(text: str, ref: Ref) -> None:
    assert parse_ref(text) == ref


@pytest.mark.parametrize("text", ["", ":", "/", "/7", "@", "a@b@c", "#", "x" * 3000])
def test_invalid_ref_is_refused(text: str) -> None:
    with pytest.raises(Failure, match="Could not read the REF") as refused:
        parse_ref(text)
    assert refused.value.code == 2


def test_short_name_is_the_id_or_the_unique_title() -> None:
    readable = Space(id="harbour-api", title="Harbour API")
    random = Space(id="Xq81kPz", title="Handbook: Büro")
    twins = Space(id="aB1", title="Notes"), Space(id="aB2", title="notes!")
    spaces = (readable, random, *twins)
    assert [short_name(each, spaces) for each in spaces] == ["harbour-api", "handbook-büro", "aB1", "aB2"]
