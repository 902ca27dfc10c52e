"""Terminals that show pictures as they are, by kitty's protocol or as sixels, where the optional library for that is
there. It asks the terminal, whose answers nobody else reads before the app runs."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from textual.widget import Widget

    from octavo.tui.terminal.scaled_picture import ScaledPicture

CELL = 10, 20
"""Pixels of a cell: what a picture is made small for."""
_TERMS = ("xterm-kitty", "xterm-ghostty", "foot", "mlterm", "contour", "rio", "yaft")
_PROGRAMS = frozenset({"WezTerm", "iTerm.app", "ghostty", "mintty", "contour", "rio", "Black Box"})
_MARKS = ("KITTY_WINDOW_ID", "KONSOLE_VERSION", "WEZTERM_PANE")


def may_show(environment: Mapping[str, str]) -> bool:
    """Whether the terminal may be one that shows pictures. What runs in another, such as tmux, does not get through."""
    if environment.get("TMUX") or environment.get("STY") or environment.get("NO_COLOR") is not None:
        return False
    return (
        environment.get("TERM", "").startswith(_TERMS)
        or environment.get("TERM_PROGRAM") in _PROGRAMS
        or any(environment.get(mark) for mark in _MARKS)
    )


def ask(environment: Mapping[str, str]) -> None:
    """Ask the terminal what it can, if that is worth the time. To be called before the app runs, or not at all."""
    if may_show(environment):
        with suppress(ImportError):  # it comes with the extra `images`
            import textual_image.widget  # noqa: F401  # it asks while it is imported


def can_paint() -> bool:
    """Whether the terminal was asked, and shows pictures itself."""
    library: Any = sys.modules.get("textual_image.widget")
    return library is not None and library.AutoRenderable in (library.SixelRenderable, library.TGPRenderable)


def painted(small: ScaledPicture) -> Widget:
    """A picture as the terminal shows it itself, if it `can_paint`."""
    from PIL import Image

    library: Any = sys.modules["textual_image.widget"]
    kind = library.SixelImage if library.AutoRenderable is library.SixelRenderable else library.TGPImage
    widget: Widget = kind(Image.frombytes("RGB", (small.columns, small.rows), small.pixels), id="painted")
    widget.styles.width = max(1, round(small.columns / CELL[0]))
    widget.styles.height = max(1, round(small.rows / CELL[1]))
    return widget
