"""Styles and glyphs for rendering pages, derived from the theme of the app."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple

from rich.style import Style
from textual.color import Color, ColorParseError

PLAIN = Style()
_ADDED, _REMOVED, _NOW, _BUTTON, _FADED = (
    Style(underline=True),
    Style(strike=True),
    Style(reverse=True),
    Style(reverse=True, bold=True),
    Style(dim=True),
)

_FALLBACKS = {
    "octavo-muted": ("text-muted", "foreground-muted", "foreground"),
    "octavo-line": ("foreground-disabled", "panel", "foreground"),
    "octavo-note": ("secondary", "accent"),
    "octavo-cursor": ("block-cursor-background", "boost", "panel"),
    "octavo-add-line": ("success-muted", "panel"),
    "octavo-add-word": ("success-darken-2", "success-muted", "panel"),
    "octavo-remove-line": ("error-muted", "panel"),
    "octavo-remove-word": ("error-darken-2", "error-muted", "panel"),
}


class Glyphs(NamedTuple):
    """Characters for borders, bullets and signs, each one cell wide."""

    top_left: str = "╭"
    top_right: str = "╮"
    bottom_left: str = "╰"
    bottom_right: str = "╯"
    across: str = "─"
    down: str = "│"
    double: str = "═"
    heavy: str = "━"
    bar: str = "▌"
    rail: str = "┊"
    closed: str = "▸"
    opened: str = "▾"
    bullets: tuple[str, ...] = ("•", "◦", "▪", "‣")
    done: str = "☑"
    todo: str = "☐"
    yes: str = "✓"
    no: str = "✗"
    info: str = "i"
    care: str = "!"
    outside: str = "↗"
    into: str = "→"
    down_load: str = "↓"
    picture: str = "▣"
    diamond: str = "◆"
    dot: str = "●"
    pen: str = "✎"
    reply: str = "↳"
    star: str = "★"
    no_star: str = "☆"
    more: str = "…"
    between: str = "·"
    minus: str = "−"
    note: str = "†"
    left: str = "‹"
    right: str = "›"


UNICODE = Glyphs()
ASCII = Glyphs(
    top_left="+",
    top_right="+",
    bottom_left="+",
    bottom_right="+",
    across="-",
    down="|",
    double="=",
    heavy="=",
    bar="|",
    rail=":",
    closed="+",
    opened="-",
    bullets=("*", "-", "*", "-"),
    done="x",
    todo="_",
    yes="v",
    no="x",
    outside="^",
    into=">",
    down_load="v",
    picture="#",
    diamond="*",
    dot="*",
    pen="%",
    reply=">",
    star="*",
    no_star=".",
    more="~",
    between="-",
    minus="-",
    note="*",
    left="<",
    right=">",
)


class _StyleFields(NamedTuple):
    text: Style = PLAIN
    muted: Style = PLAIN
    line: Style = PLAIN
    accent: Style = PLAIN
    success: Style = PLAIN
    warning: Style = PLAIN
    error: Style = PLAIN
    note: Style = PLAIN
    surface: Style = PLAIN
    panel: Style = PLAIN
    cursor: Style = PLAIN
    add_line: Style = PLAIN
    add_word: Style = _ADDED
    remove_line: Style = PLAIN
    remove_word: Style = _REMOVED
    button: Style = _BUTTON
    faded: Style = _FADED
    """Style of the text of a page while link hints are shown."""
    hit: Style = _ADDED
    hit_now: Style = _NOW
    mono: bool = False
    glyphs: Glyphs = UNICODE


class Styles(_StyleFields):
    """Styles by meaning. Styles named after a background set only the background, and others only the foreground, so
    that any two can be combined."""

    @property
    def ascii(self) -> bool:
        """True if only ASCII characters may be drawn."""
        return self.glyphs is ASCII

    @classmethod
    def plain(cls, *, ascii: bool = False) -> Styles:
        """Return styles with only bold, underlined and reversed text."""
        return cls(accent=Style(bold=True), mono=True, error=Style(bold=True), glyphs=ASCII if ascii else UNICODE)

    @classmethod
    def from_theme(cls, variables: Mapping[str, str], *, ascii: bool = False, mono: bool = False) -> Styles:
        """Return the styles for the variables of a theme."""
        if mono:
            return cls.plain(ascii=ascii)

        def colour(name: str) -> Color | None:
            for each in (name, *_FALLBACKS.get(name, ())):
                try:
                    return Color.parse(variables[each])
                except (KeyError, ColorParseError):
                    continue
            return None

        def ink(name: str) -> Style:
            found = colour(name)
            return Style(color=found.rich_color if found else None)

        def background(name: str, *, underline: bool | None = None, strike: bool | None = None) -> Style:
            found = colour(name)
            return Style(bgcolor=found.rich_color if found else None, underline=underline, strike=strike)

        accent, page, warning, muted = (colour(name) for name in ("accent", "background", "warning", "octavo-muted"))
        return cls(
            text=ink("foreground"),
            muted=ink("octavo-muted"),
            line=ink("octavo-line"),
            accent=ink("accent"),
            success=ink("success"),
            warning=ink("warning"),
            error=ink("error"),
            note=ink("octavo-note"),
            surface=background("surface"),
            panel=background("panel"),
            cursor=background("octavo-cursor"),
            add_line=background("octavo-add-line"),
            add_word=background("octavo-add-word", underline=True),
            remove_line=background("octavo-remove-line"),
            remove_word=background("octavo-remove-word", strike=True),
            button=Style(
                color=page.rich_color if page else None, bgcolor=accent.rich_color if accent else None, bold=True
            ),
            faded=Style(color=muted.blend(page, 0.4).rich_color if muted and page else None, dim=not (muted and page)),
            hit=background("octavo-cursor", underline=True),
            hit_now=Style(
                color=page.rich_color if page else None, bgcolor=warning.rich_color if warning else None, bold=True
            ),
            glyphs=ASCII if ascii else UNICODE,
        )

    @cached_property
    def strong(self) -> Style:
        return self.text + Style(bold=True)

    @cached_property
    def link(self) -> Style:
        return (PLAIN if self.mono else self.accent) + Style(underline=True)

    @cached_property
    def code(self) -> Style:
        """Style of inline code."""
        return Style(bold=True) if self.mono else self.panel + self.text

    @cached_property
    def chip(self) -> Style:
        """Style of a tag, a key cap or a secondary button."""
        return Style(reverse=True) if self.mono else self.panel + self.strong

    @cached_property
    def disabled(self) -> Style:
        """Style of a disabled button."""
        return Style(dim=True) if self.mono else self.panel + self.faded

    @cached_property
    def _headings(self) -> tuple[Style, ...]:
        low = Style(dim=True) if self.mono else self.muted
        slanted = Style(italic=True)
        return (self.strong, self.strong, self.strong, self.strong + slanted, low + Style(bold=True), low + slanted)

    def heading(self, level: int) -> Style:
        """Return the style of a heading. The first two levels also have a rule below them."""
        return self._headings[min(max(level, 1), 6) - 1]

    def hint(self, style: str) -> tuple[Style, str, str]:
        """Return the color, the sign and the name of a kind of hint."""
        glyphs = self.glyphs
        return {
            "success": (self.success, glyphs.yes, "Success"),
            "warning": (self.warning, glyphs.care, "Warning"),
            "danger": (self.error, glyphs.no, "Danger"),
        }.get(style, (self.accent, glyphs.info, "Info"))

    def style_for_color(self, colour: str) -> Style:
        """Return the style of the theme color nearest to a color that an author named."""
        name = colour.strip().lower().removeprefix("$")
        return {
            "green": self.success,
            "success": self.success,
            "red": self.error,
            "danger": self.error,
            "orange": self.warning,
            "yellow": self.warning,
            "warning": self.warning,
            "purple": self.note,
            "violet": self.note,
            "pink": self.note,
            "tint": self.muted,
            "gray": self.muted,
            "grey": self.muted,
        }.get(name, self.accent)
