"""Pictures of screens have every cell where a terminal has it."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from screenshots.svg import WIDTH, picture
from screenshots.take import SCENES, take

SVG = "{http://www.w3.org/2000/svg}"


def draw_svg(*segments: Segment) -> ElementTree.Element:
    return ElementTree.fromstring(picture([Strip(segments)], "A screen", color="#ffffff", ground="#000000"))


def texts(root: ElementTree.Element) -> dict[str, float]:
    """Return the column and row of each text."""
    return {text.text or "": float(text.attrib["x"]) / WIDTH for text in root.iter(f"{SVG}text")}


def test_wide_characters_take_two_cells() -> None:
    found = texts(draw_svg(Segment("ab  水c"), Segment("\N{THUMBS UP SIGN} d")))
    assert {text: round(at, 2) for text, at in found.items()} == {
        "ab": 0,
        "水": 5,
        "c": 6,
        "\N{THUMBS UP SIGN}": 8,
        "d": 10,
    }


def test_marks_stay_on_their_characters() -> None:
    assert set(texts(draw_svg(Segment("cafe\u0301 ol")))) == {"caf", "e\u0301", "ol"}


def test_text_is_escaped_in_svg() -> None:
    root = draw_svg(Segment('<script>&amp;"'))
    assert set(texts(root)) == {'<script>&amp;"'}
    assert not list(root.iter("script"))


def test_adjacent_cells_with_one_background_are_one_rectangle() -> None:
    lit = Style(bgcolor="#112233")
    root = draw_svg(Segment("a"), Segment("b", lit), Segment("水", Style(bgcolor="#112233", bold=True)), Segment("c"))
    (ground,) = [each for each in root.iter(f"{SVG}rect") if each.attrib["fill"] == "#112233"]
    assert (float(ground.attrib["x"]), float(ground.attrib["width"])) == (WIDTH, round(3 * WIDTH, 2))


def test_lines_reach_the_edges_of_their_cells() -> None:
    (path,) = draw_svg(Segment("─")).iter(f"{SVG}path")
    across = [float(x) for x in re.findall(r"L(-?[\d.]+)", path.attrib["d"])]
    assert min(across) <= 0
    assert max(across) >= WIDTH


@pytest.mark.long
@pytest.mark.parametrize("scene", list(SCENES))
def test_each_picture_of_the_readme_can_be_recreated(scene: str, tmp_path: Path) -> None:
    asyncio.run(take([scene], tmp_path))
    assert {each.name for each in tmp_path.iterdir()} == {f"{scene}-dark.svg", f"{scene}-light.svg"}
