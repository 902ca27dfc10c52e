"""The status bar shortens the names in a path, and leaves out no name."""

import pytest
from rich.cells import cell_len

from octavo.tui.core.view import shorten_path

PATH = "Harbour API › How a tide is predicted from ten years of readings › Guides › Query the archive of a station"


def test_path_that_fits_is_unchanged() -> None:
    assert shorten_path(PATH, cell_len(PATH)) == PATH


@pytest.mark.parametrize("width", range(30, cell_len(PATH)))
def test_long_path_keeps_the_beginning_of_each_name(width: int) -> None:
    cut = shorten_path(PATH, width)
    assert cell_len(cut) <= width
    for name, whole in zip(cut.split(" › "), PATH.split(" › "), strict=True):
        assert name == whole or (name.endswith("…") and whole.startswith(name[:-1]) and len(name) > 3)


def test_long_names_are_shortened_before_short_names() -> None:
    assert shorten_path(PATH, 60).split(" › ")[0::2] == ["Harbour API", "Guides"]


@pytest.mark.parametrize("name", ["", "潮汐表" * 40, "a" * 5000, " › "])
def test_path_never_exceeds_the_width(name: str) -> None:
    for width in (0, 1, 5, 79):
        assert cell_len(shorten_path(f"Handbook › {name} › Tides", width)) <= width
