"""Every block of the example pages as text, at three widths."""

from __future__ import annotations

import pytest

from octavo.documents.source_reader import parse
from octavo.tui.render.layout import lay_out
from octavo.tui.render.styled_lines import Line
from octavo.tui.render.styles import Styles
from tests.tui.reader.picture import PAGES, WIDTHS, check, text_of

NAMES = sorted(path.stem for path in PAGES.glob("*.md"))


def lay_out_page(name: str, width: int, look: Styles) -> list[Line]:
    """Return a page as the page view lays it out in a pane of `width` cells."""
    markdown = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    return lay_out(parse(markdown).blocks, min(76, width - 6), look, available_width=width - 6)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", NAMES)
def test_text_picture_matches_snapshot(name: str, width: int) -> None:
    check(f"{name}-{width}", text_of(lay_out_page(name, width, Styles.plain())))


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("wide", "math")])
def test_text_picture_works_in_ascii(name: str) -> None:
    text = text_of(lay_out_page(name, 60, Styles.plain(ascii=True)))
    source = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    assert {char for char in text if not char.isascii()} <= {char for char in source if not char.isascii()} | {
        "␇",
        "␛",
        "�",
    }
    check(f"{name}-ascii", text)


@pytest.mark.parametrize("width", [30, 40, 60, 76, 100])
@pytest.mark.parametrize("name", NAMES)
def test_text_picture_fits_width(name: str, width: int) -> None:
    markdown = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    lines = lay_out(parse(markdown).blocks, width, Styles.plain())
    assert [line.text for line in lines if line.width > width] == []
