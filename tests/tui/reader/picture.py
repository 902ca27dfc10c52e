"""Compare lines of a page with text pictures."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from octavo.tui.render.styled_lines import Line

HERE = Path(__file__).parent
PAGES, PICTURES = HERE / "pages", HERE / "pictures"
WIDTHS = (60, 100, 140)


def text_of(lines: Iterable[Line]) -> str:
    """Return the text of the lines without trailing spaces."""
    return "\n".join(line.text.rstrip() for line in lines) + "\n"


def check(name: str, text: str) -> None:
    """Compare a text with the picture `name`. With UPDATE_PICTURES=1 in the environment, write the picture instead."""
    path = PICTURES / f"{name}.txt"
    if os.environ.get("UPDATE_PICTURES") == "1":
        path.write_text(text, encoding="utf-8")
    assert path.exists(), f"No picture {path.name}. Run the test with UPDATE_PICTURES=1, and check the new picture."
    assert text == path.read_text(encoding="utf-8")
