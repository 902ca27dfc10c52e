"""Pictures in the terminal, by kitty's protocol or as sixels. Needs the optional extra `images`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from textual.widget import Widget

CELL = 10, 20
"""Assumed width and height of a cell in pixels."""
_TERMS = ("xterm-kitty", "xterm-ghostty", "foot", "mlterm", "contour", "rio", "yaft")
_PROGRAMS = frozenset({"WezTerm", "iTerm.app", "ghostty", "mintty", "contour", "rio", "Black Box"})
_MARKS = ("KITTY_WINDOW_ID", "KONSOLE_VERSION", "WEZTERM_PANE")
"""Environment variables that are set by terminals with support for pictures."""


@dataclass(frozen=True)
class ScaledPicture:
    """A picture scaled down to fit the cells of a terminal, and the size and format of its file."""

    columns: int = 0
    rows: int = 0
    pixels: bytes = b""
    """Three bytes for each of `columns` times `rows` pixels. Empty if the picture could not be read."""
    format: str = ""
    width: int = 0
    height: int = 0
    frames: int = 1
    problem: str = ""
    """Reason why the picture could not be read. Empty if it could be read."""


def may_show(environment: Mapping[str, str]) -> bool:
    """Return True if the terminal may support pictures. tmux and screen do not pass pictures on."""
    if environment.get("TMUX") or environment.get("STY") or environment.get("NO_COLOR") is not None:
        return False
    return (
        environment.get("TERM", "").startswith(_TERMS)
        or environment.get("TERM_PROGRAM") in _PROGRAMS
        or any(environment.get(mark) for mark in _MARKS)
    )


def query_terminal(environment: Mapping[str, str]) -> None:
    """Ask the terminal which kinds of pictures it supports, if `may_show`. Call this only before the app reads keys."""
    if may_show(environment):
        with suppress(ImportError):
            import textual_image.widget  # noqa: F401  # lazy: its import queries the terminal


def can_paint() -> bool:
    """Return True if `query_terminal` found out that the terminal supports pictures."""
    library: Any = sys.modules.get("textual_image.widget")
    return library is not None and library.AutoRenderable in (library.SixelRenderable, library.TGPRenderable)


def picture_widget(picture: ScaledPicture) -> Widget:
    """Return a widget with the picture. Call it only if the terminal `can_paint`."""
    from PIL import Image  # lazy: slow to load

    library: Any = sys.modules["textual_image.widget"]
    kind = library.SixelImage if library.AutoRenderable is library.SixelRenderable else library.TGPImage
    widget: Widget = kind(Image.frombytes("RGB", (picture.columns, picture.rows), picture.pixels), id="painted")
    widget.styles.width = max(1, round(picture.columns / CELL[0]))
    widget.styles.height = max(1, round(picture.rows / CELL[1]))
    return widget
