"""Styles from the theme of the app, characters for borders and signs, and characters for the icons that pages name. All
characters are in common terminal fonts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, cached_property, lru_cache
from typing import NamedTuple

from rich.style import Style
from textual.color import Color, ColorParseError

from octavo.documents.emoji import from_editor_name
from octavo.tui.terminal.display import ASCII_SYMBOLS

PLAIN = Style()
_ADDED, _REMOVED, _CURRENT, _BUTTON, _FADED = (
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
    horizontal: str = "─"
    vertical: str = "│"
    double_horizontal: str = "═"
    thick_horizontal: str = "━"
    bar: str = "▌"
    dotted_vertical: str = "┊"
    closed: str = "▸"
    opened: str = "▾"
    bullets: tuple[str, ...] = ("•", "◦", "▪", "‣")
    done: str = "☑"
    todo: str = "☐"
    yes: str = "✓"
    no: str = "✗"
    info: str = "i"
    warning: str = "!"
    external: str = "↗"
    arrow: str = "→"
    download: str = "↓"
    image: str = "▣"
    diamond: str = "◆"
    dot: str = "●"
    pen: str = "✎"
    reply: str = "↳"
    star: str = "★"
    empty_star: str = "☆"
    ellipsis: str = "…"
    separator: str = "·"
    minus: str = "−"
    left: str = "‹"
    right: str = "›"


UNICODE = Glyphs()
ASCII = Glyphs(
    top_left="+",
    top_right="+",
    bottom_left="+",
    bottom_right="+",
    horizontal="-",
    vertical="|",
    double_horizontal="=",
    thick_horizontal="=",
    bar="|",
    dotted_vertical=":",
    closed="+",
    opened="-",
    bullets=("*", "-", "*", "-"),
    done="x",
    todo="_",
    yes="v",
    no="x",
    external="^",
    arrow=">",
    download="v",
    image="#",
    diamond="*",
    dot="*",
    pen="%",
    reply=">",
    star="*",
    empty_star=".",
    ellipsis="~",
    separator="-",
    minus="-",
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
    """Style of the whole text while link hints are shown, so that the hints stand out."""
    match: Style = _ADDED
    current_match: Style = _CURRENT
    is_monochrome: bool = False
    glyphs: Glyphs = UNICODE


class Styles(_StyleFields):
    """Styles by meaning, such as `error`. In a theme, `surface`, `panel`, `cursor`, `add_` and `remove_` styles set a
    background, and no text color. Most other styles set no background."""

    @property
    def ascii(self) -> bool:
        """True if only ASCII characters may be painted."""
        return self.glyphs is ASCII

    @classmethod
    def plain(cls, *, ascii: bool = False) -> Styles:
        """Return styles without colors, such as bold, underlined and reversed."""
        return cls(
            accent=Style(bold=True), is_monochrome=True, error=Style(bold=True), glyphs=ASCII if ascii else UNICODE
        )

    @classmethod
    def from_theme(cls, variables: Mapping[str, str], *, ascii: bool = False) -> Styles:
        """Return the styles for a theme of Textual. `variables` are its CSS variables, such as `primary`."""

        def find_color(name: str) -> Color | None:
            for each in (name, *_FALLBACKS.get(name, ())):
                try:
                    return Color.parse(variables[each])
                except (KeyError, ColorParseError):
                    continue
            return None

        def text_style(name: str) -> Style:
            color = find_color(name)
            return Style(color=color.rich_color if color else None)

        def background(name: str, *, underline: bool | None = None, strike: bool | None = None) -> Style:
            color = find_color(name)
            return Style(bgcolor=color.rich_color if color else None, underline=underline, strike=strike)

        accent, page, warning, muted = (
            find_color(name) for name in ("accent", "background", "warning", "octavo-muted")
        )
        return cls(
            text=text_style("foreground"),
            muted=text_style("octavo-muted"),
            line=text_style("octavo-line"),
            accent=text_style("accent"),
            success=text_style("success"),
            warning=text_style("warning"),
            error=text_style("error"),
            note=text_style("octavo-note"),
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
            match=background("octavo-cursor", underline=True),
            current_match=Style(
                color=page.rich_color if page else None, bgcolor=warning.rich_color if warning else None, bold=True
            ),
            glyphs=ASCII if ascii else UNICODE,
        )

    @cached_property
    def strong(self) -> Style:
        return self.text + Style(bold=True)

    @cached_property
    def link(self) -> Style:
        return (PLAIN if self.is_monochrome else self.accent) + Style(underline=True)

    @cached_property
    def code(self) -> Style:
        """Style of inline code."""
        return Style(bold=True) if self.is_monochrome else self.panel + self.text

    @cached_property
    def chip(self) -> Style:
        """Style of a tag, a key cap or a secondary button."""
        return Style(reverse=True) if self.is_monochrome else self.panel + self.strong

    @cached_property
    def disabled(self) -> Style:
        """Style of a disabled button."""
        return Style(dim=True) if self.is_monochrome else self.panel + self.faded

    @cached_property
    def _headings(self) -> tuple[Style, ...]:
        faint = Style(dim=True) if self.is_monochrome else self.muted
        slanted = Style(italic=True)
        return (self.strong, self.strong, self.strong, self.strong + slanted, faint + Style(bold=True), faint + slanted)

    def heading(self, level: int) -> Style:
        """Return the style of a heading. Levels below 1 count as 1, levels above 6 as 6."""
        return self._headings[min(max(level, 1), 6) - 1]

    def hint(self, style: str) -> tuple[Style, str, str]:
        """Return text style, sign and title of a hint in a style such as `warning`. Unknown styles look like `info`."""
        glyphs = self.glyphs
        return {
            "success": (self.success, glyphs.yes, "Success"),
            "warning": (self.warning, glyphs.warning, "Warning"),
            "danger": (self.error, glyphs.no, "Danger"),
        }.get(style, (self.accent, glyphs.info, "Info"))

    def style_for_color(self, color: str) -> Style:
        """Return the style of the theme for a color in the page, such as `red`. Other colors get the style `accent`."""
        name = color.strip().lower().removeprefix("$")
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


_ICONS_BY_SIGN = {
    "✓": "check square-check list-check clipboard-check clipboard-list-check ballot-check badge-check thumbs-up check-double tasks vote-yea",
    "✗": "xmark times close cancel ban thumbs-down trash delete delete-left backspace remove eraser",
    "!": "exclamation warning bell siren",
    "i": "info",
    "?": "question life-ring messages-question comments-question message-question clipboard-question",
    "+": "plus add file-plus folder-plus user-plus layer-plus cart-plus",
    "−": "minus subtract",
    "×": "multiply",
    "÷": "divide",
    "=": "equals",
    "★": "star sparkle sparkles award trophy crown medal ranking-star certificate gitbook-assistant wand-magic magic",
    "☆": "star-half star-empty",
    "♥": "heart",
    "→": "arrow-right right long-arrow-right arrow-progress arrow-turn-right turn-right forward share reply-all right-from-bracket "
    "right-to-bracket sign-in sign-out location-arrow",
    "←": "arrow-left left long-arrow-left backward reply rotate-left arrow-rotate-left undo history",
    "↑": "arrow-up up long-arrow-up arrow-turn-up turn-up level-up upload cloud-arrow-up cloud-upload file-arrow-up file-upload inbox-out "
    "file-export",
    "↓": "arrow-down down long-arrow-down arrow-turn-down turn-down level-down download cloud-arrow-down cloud-download file-arrow-down "
    "file-download inbox file-import save",
    "↗": "arrow-up-right arrow-up-right-from-square up-right-from-square external-link arrow-trend-up chart-line",
    "↘": "arrow-trend-down",
    "↔": "arrows arrows-left-right left-right arrows-h right-left arrow-right-arrow-left exchange shuffle random money-bill-transfer "
    "merge code-merge",
    "↕": "arrows-up-down up-down arrows-v sort unsorted",
    "⤢": "expand maximize up-right-and-down-left-from-center arrows-maximize",
    "⤡": "compress minimize down-left-and-up-right-to-center arrows-minimize",
    "↻": "rotate arrow-rotate arrows-rotate arrows-spin arrows-repeat refresh sync repeat redo retweet recycle spinner clock-rotate-left",
    "⇄": "code-compare code-branch code-fork code-pull-request link chain network-wired diagram sitemap project-diagram route timeline "
    "share-nodes circle-nodes arrows-to git git-alt webhook mcp ethernet",
    "›": "angle-right angles-right angle-double-right chevron-right chevrons-right caret-right",
    "‹": "angle-left angles-left angle-double-left chevron-left chevrons-left caret-left",
    "▾": "angle-down angles-down angle-double-down chevron-down chevrons-down caret-down filter",
    "▴": "angle-up angles-up angle-double-up chevron-up chevrons-up caret-up",
    "▸": "play video film clapperboard youtube tv tv-retro",
    "‖": "pause",
    "■": "stop square cube box package archive",
    "▪": "cubes boxes block blocks shapes object-group icons",
    "●": "circle circle-dot record-vinyl toggle-on toggle-large-on",
    "○": "circle-o circle-notch toggle-off toggle-large-off",
    "▲": "triangle",
    "◇": "diamond ethereum",
    "#": "hashtag slack",
    "@": "at envelope mail",
    "$": "dollar dollar-sign money-bill money-check credit-card coins wallet usd",
    "€": "euro euro-sign eur",
    "£": "sterling-sign gbp",
    "₿": "bitcoin bitcoin-sign btc",
    "%": "percent percentage",
    "‹›": "code brackets-curly laptop-code file-code binary",
    "ƒ": "function",
    "≡": "bars bars-progress bars-staggered server database hard-drive layer-group layers list table-list align navicon reorder stream",
    "⋮": "ellipsis-vertical ellipsis-v grip grip-vertical",
    "…": "ellipsis comment comments message messages",
    "❯": "terminal window-restore browser window-maximize",
    "▤": "file files page book books newspaper memo note note-sticky sticky-note scroll folder clipboard address-book copy clone paste blog "
    "cabinet-filing id-card passport rss",
    "▦": "table grid calendar th columns",
    "▣": "image images camera picture photo-film panorama",
    "▥": "chart gauge tachometer dashboard analytics poll signal-bars",
    "◎": "bullseye crosshairs location map-pin map-marker target compass eye",
    "◐": "moon circle-half-stroke adjust square-half-stroke",
    "☀": "sun lightbulb brightness",
    "⌂": "house home building landmark university institution industry warehouse store shop museum city",
    "⌕": "magnifying-glass search landmark-magnifying-glass building-magnifying-glass binoculars",
    "⌘": "command",
    "⊞": "windows microsoft",
    "⚙": "gear gears cog cogs sliders wrench screwdriver-wrench toolbox hammer microchip memory",
    "☁": "cloud",
    "☺": "face-smile user users people people-group robot children screen-users person female male id-badge",
    "⚑": "flag",
    "✎": "pen pencil edit paintbrush paint-brush brush palette signature highlighter marker file-pen file-signature user-pen user-edit draw-polygon",
    "✂": "scissors cut",
    "✈": "plane paper-plane telegram",
    "♪": "music headphones microphone waveform midi",
    "☎": "phone headset mobile tablet",
    "◷": "clock stopwatch timer hourglass",
    "↯": "bolt zap flash plug power-off",
    "∿": "wave-square signal wifi signal-stream tower-broadcast broadcast-tower",
    "⊕": "globe earth language",
    "∞": "infinity",
    "§": "section gavel scale-balanced legal balance-scale",
    "¶": "paragraph text heading font",
    "“": "quote-left quotes quote",
    "”": "quote-right",
    "𝕏": "x-twitter",
    "👋": "hand-wave",
    "🎉": "party-horn",
    "📣": "megaphone bullhorn",
    "💻": "laptop display monitor",
    "🎓": "graduation-cap",
    "🛒": "cart-shopping",
    "🎫": "tag tags",
    "🧪": "flask vial vials",
    "📏": "ruler",
    "🐧": "linux",
    "🐍": "python",
    "🐳": "docker",
    "🌿": "leaf",
    "🌳": "tree",
    "🎮": "gamepad",
    "🖨": "print",
    "🔊": "volume",
    "👣": "shoe-prints",
    "🎭": "masks-theater",
    "🧩": "puzzle",
    "📌": "thumbtack thumb-tack",
    "🧮": "calculator",
    "👐": "hands",
    "💿": "compact-disc",
    "🎲": "dice",
    "💊": "pills capsules",
    "🩹": "bandage band-aid first-aid kit-medical medkit",
    "🍽": "utensils kitchen-set",
    "🧳": "suitcase",
    "🎙": "podcast",
    "🏦": "vault",
    "🤝": "hands-helping",
    "✊": "fist-raised",
    "🛍": "shopping",
    "👕": "tshirt",
    "🏃": "running",
    "©": "copyright",
    "⛵": "boat",
    "✋": "hand",
    "🚗": "car",
    "🖱": "computer-mouse",
    "🧂": "salt-shaker",
    "👞": "shoe",
}
_SHAPE_WORDS = frozenset(
    (
        "face",
        "head",
        "side",
        "circle",
        "square",
        "octagon",
        "hexagon",
        "triangle",
        "rectangle",
        "diamond",
        "alt",
        "simple",
        "fas",
        "far",
        "fab",
    )
)
"""Words such as `circle`, which are removed from an icon name that has other words."""
_ICON_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_MAX_NAME_LENGTH = 50


def icon_sign(name: str, *, ascii: bool = False) -> str | None:
    """Return the character for an icon, one or two cells wide, or an ASCII character with `ascii`. None if missing."""
    sign = _find_sign(name.removeprefix("fa-"))
    sign = sign.translate(ASCII_SYMBOLS) if sign is not None and ascii else sign
    return sign if sign is None or not ascii or sign.isascii() else None


def icon_words(name: str) -> str | None:
    """Return the name of an icon as words without shapes: `code branch` for `circle-code-branch`. None if it is too
    long or has invalid characters."""
    name = name.removeprefix("fa-")
    return " ".join(_name_parts(name)) if len(name) <= _MAX_NAME_LENGTH and _ICON_NAME.fullmatch(name) else None


@lru_cache(512)
def _find_sign(name: str) -> str | None:
    """Return the character for the icon `name`. If there is none, leave out shapes (`circle`), then the last parts, so
    that `file-pdf` looks like `file`. A single letter becomes upper case. None if no character is found."""
    if sign := _signs().get(name):
        return sign
    parts = _name_parts(name[:_MAX_NAME_LENGTH])
    if len(parts) == len(parts[0]) == 1:
        return parts[0].upper()
    for count in range(len(parts), 0, -1):
        start = "-".join(parts[:count])
        if start_sign := _signs().get(start) or _emoji(start):
            return start_sign
    return None


@cache
def _signs() -> dict[str, str]:
    return {name: sign for sign, names in _ICONS_BY_SIGN.items() for name in names.split()}


def _name_parts(name: str) -> list[str]:
    parts = name.split("-")
    return [part for part in parts if part not in _SHAPE_WORDS] or parts


def _emoji(name: str) -> str | None:
    emoji = (from_editor_name(name) or "").replace("\ufe0f", "") if len(name) > 2 else ""
    return emoji if len(emoji) == 1 else None


_SUPERSCRIPT_SIGNS = dict(
    zip(
        "0123456789+-=()abcdefghijklmnoprstuvwxyzABDEGHIJKLMNOPRTUVWβγδθφχ*′†∘⊤",
        "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻᴬᴮᴰᴱᴳᴴᴵᴶᴷᴸᴹᴺᴼᴾᴿᵀᵁⱽᵂᵝᵞᵟᶿᵠᵡ*′†°ᵀ",
        strict=True,
    )
)
_SUBSCRIPT_SIGNS = dict(
    zip("0123456789+-=()aehijklmnoprstuvxβγρφχ", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓᵦᵧᵨᵩᵪ", strict=True)
)
SUPERSCRIPTS = str.maketrans(_SUPERSCRIPT_SIGNS)
SUBSCRIPTS = str.maketrans(_SUBSCRIPT_SIGNS)


def to_script(text: str, table: dict[int, str]) -> str | None:
    """Return a text in superscript or subscript characters from `table`. None if it is empty, has four letters in a
    row, or a character that `table` lacks."""
    text = text.strip().replace(" = ", "=")
    if not text or re.search("[A-Za-z]{4}", text) or not all(ord(char) in table for char in text):
        return None
    return text.translate(table)
