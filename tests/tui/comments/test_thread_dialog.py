from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from textual.geometry import Region, Size

from octavo.tui.comments.thread_dialog import placement_for

_SIDES = st.integers(20, 300)


def test_wide_screen_places_the_thread_beside_the_page() -> None:
    place = placement_for(Size(200, 60), Region(38, 2, 118, 55), 101)
    assert (place.region, place.covered_row_count) == (Region(139, 2, 61, 55), 0)


def test_narrow_screen_places_the_thread_below() -> None:
    place = placement_for(Size(120, 36), Region(31, 2, 63, 31), 63)
    assert (place.region, place.covered_row_count) == (Region(31, 18, 89, 15), 15)


def test_narrow_pane_gives_the_thread_the_whole_width_below() -> None:
    place = placement_for(Size(80, 24), Region(27, 2, 53, 19), 53)
    assert (place.region, place.covered_row_count) == (Region(0, 12, 80, 9), 9)


def test_hidden_pane_places_the_thread_in_the_lower_half() -> None:
    place = placement_for(Size(80, 24), Region(), 0)
    assert (place.region, place.covered_row_count) == (Region(0, 9, 80, 12), 0)


@given(_SIDES, st.integers(8, 100), st.integers(0, 120), st.integers(0, 300))
def test_thread_never_covers_the_text_beside_it(width: int, height: int, left: int, text: int) -> None:
    left = min(left, width - 10)
    pane = Region(left, 2, width - left, height)
    place = placement_for(Size(width, height + 5), pane, text)
    words = Region(pane.x, pane.y, min(text, pane.width), pane.height - place.covered_row_count)
    assert not words.intersection(place.region).area
    assert place.region.right <= width
    assert place.region.bottom <= pane.bottom
