"""Shows images with real pixels, simplifies emoji, and changes lines before they are painted (`line_filters`).

Real pixels need the extra `images`, and a terminal that supports kitty's graphics protocol or sixels.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter

from octavo.settings import Settings

if TYPE_CHECKING:
    from textual.widget import Widget

CELL_SIZE = 10, 20
"""Assumed width and height of a cell in pixels."""
_TERMS = ("xterm-kitty", "xterm-ghostty", "foot", "mlterm", "contour", "rio", "yaft")
_PROGRAMS = frozenset({"WezTerm", "iTerm.app", "ghostty", "mintty", "contour", "rio", "Black Box"})
_PICTURE_TERMINAL_VARIABLES = ("KITTY_WINDOW_ID", "KONSOLE_VERSION", "WEZTERM_PANE")
"""Environment variables that are only set by terminals that can show images."""


@dataclass(frozen=True)
class ScaledPicture:
    """Image scaled to `columns` times `rows` pixels. `format`, `width` and `height` (in pixels) describe the file."""

    columns: int = 0
    rows: int = 0
    pixels: bytes = b""
    """Three bytes (red, green, blue) for each of `columns` times `rows` pixels. Empty if there is a `problem`."""
    format: str = ""
    width: int = 0
    height: int = 0
    frames: int = 1
    problem: str = ""
    """Sentence that says why the image cannot be shown. Empty if it can."""


def may_support_pictures(environment: Mapping[str, str]) -> bool:
    """Return True if the terminal may be able to show images, according to environment variables. False in tmux and
    screen, which cannot, and if `NO_COLOR` is set."""
    if environment.get("TMUX") or environment.get("STY") or environment.get("NO_COLOR") is not None:
        return False
    return (
        environment.get("TERM", "").startswith(_TERMS)
        or environment.get("TERM_PROGRAM") in _PROGRAMS
        or any(environment.get(name) for name in _PICTURE_TERMINAL_VARIABLES)
    )


def query_terminal(environment: Mapping[str, str]) -> None:
    """Ask the terminal how to show images. Call this before the app reads keys, because the response comes as input."""
    if may_support_pictures(environment):
        with suppress(ImportError):
            import textual_image.widget  # noqa: F401  # lazy: its import queries the terminal


def can_paint_pictures() -> bool:
    """Return True if the terminal has answered `query_terminal` that it can show images."""
    library: Any = sys.modules.get("textual_image.widget")
    return library is not None and library.AutoRenderable in (library.SixelRenderable, library.TGPRenderable)


def picture_widget(picture: ScaledPicture) -> Widget:
    """Return a widget that shows an image with its real pixels. Call this only if `can_paint_pictures` returns True."""
    from PIL import Image  # lazy: slow to load

    library: Any = sys.modules["textual_image.widget"]
    kind = library.SixelImage if library.AutoRenderable is library.SixelRenderable else library.TGPImage
    widget: Widget = kind(Image.frombytes("RGB", (picture.columns, picture.rows), picture.pixels), id="painted")
    widget.styles.width = max(1, round(picture.columns / CELL_SIZE[0]))
    widget.styles.height = max(1, round(picture.rows / CELL_SIZE[1]))
    return widget


ASCII_SYMBOLS = str.maketrans(
    {
        **dict.fromkeys("●•◦▪⬤", "*"),
        **dict.fromkeys("○◌", "o"),
        **dict.fromkeys("✓☑✔", "v"),
        **dict.fromkeys("✗✖×", "x"),
        **dict.fromkeys("↳→›❯↗", ">"),
        **dict.fromkeys("←‹", "<"),
        "↓": "v",
        **dict.fromkeys("↑▴", "^"),
        "┊": ":",
        "▸": "+",
        "▾": "-",
        "◐": "r",
        **dict.fromkeys("◆◇", "A"),
        **dict.fromkeys("│┃▌▐▎▏╎║", "|"),
        **dict.fromkeys("─━═▔▁╌", "-"),
        **dict.fromkeys("╭╮╰╯┌┐└┘├┤┬┴┼┏┓┗┛╔╗╚╝", "+"),
        **dict.fromkeys("−–—", "-"),
        **dict.fromkeys("█▓▇▆▅▄▃▂", "#"),
        **dict.fromkeys("░▒", "."),
        **dict.fromkeys("“”„", '"'),
        **dict.fromkeys("‘’", "'"),
        **dict.fromkeys("★", "*"),
        **dict.fromkeys("☆☐", "_"),
        "…": "~",
        "·": "-",
        "▣": "#",
        "✎": "%",
        "⚠": "!",
        "▲": "^",
    }
)
"""Table for `str.translate` that replaces each symbol of Octavo by an ASCII character of the same width."""

FLAG_LETTERS: Mapping[int, str] = MappingProxyType({0x1F1E6 + at: chr(ord("A") + at) for at in range(26)})
"""Letter for each half of a flag emoji, by code point. For example, the flag of France becomes `FR`."""
_EMOJI, _MODIFIER = "[#*0-9©®\u203c-\u3299\U0001f000-\U0001faff]", "[\ufe0e\ufe0f\u20e3\U0001f3fb-\U0001f3ff]"
_COMBINED_EMOJI = re.compile(f"[\U0001f1e6-\U0001f1ff]{{1,2}}|{_EMOJI}(?:{_MODIFIER}|\u200d{_EMOJI})+")
_MARKS_OF_EMOJI = re.compile("[\u200d\u20e3\ufe0e\ufe0f\U0001f1e6-\U0001f1ff\U0001f3fb-\U0001f3ff]")
RIGHT_TO_LEFT_LETTER = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
"""Matches a letter of a script that is written from right to left."""
_LETTER = re.compile(r"[^\W\d_]")
_LIST_MARKER = re.compile(r"[\s•◦▪‣☐☑▸▾↳▌●○]*|\s*\d{1,4}\.\s*")
"""Matches blanks, or the bullet, sign or number before a list item."""
_TABLE_BORDER = re.compile(r"[\u2500-\u259f]|\s{2,}")
"""Matches a border of a table, or the gap between two columns."""


def line_filters(settings: Settings) -> Iterator[LineFilter]:
    """Yield the Textual line filters that the settings ask for, in the order in which they are applied."""
    if settings.ascii:
        yield AsciiSymbols()
    if settings.reorders_right_to_left:
        yield RightToLeft()


def simplify_emoji(text: str) -> str:
    """Return a text of the same width. Joined or modified emoji become their first character, flags become letters."""
    return _COMBINED_EMOJI.sub(_simple_emoji, text) if _MARKS_OF_EMOJI.search(text) else text


def _simple_emoji(regex_match: re.Match[str]) -> str:
    text = regex_match[0]
    return set_cell_size(text.translate(FLAG_LETTERS) if ord(text[0]) in FLAG_LETTERS else text[0], cell_len(text))


def is_text_right_to_left(text: str) -> bool:
    """Return True if more than half of the letters of a text are written from right to left. If the first letter is
    such a letter, more than a third is enough."""
    if text.isascii() or not RIGHT_TO_LEFT_LETTER.search(text):
        return False
    are_right_to_left = [RIGHT_TO_LEFT_LETTER.match(letter) is not None for letter in _LETTER.findall(text)]
    return bool(are_right_to_left) and sum(are_right_to_left) > len(are_right_to_left) * (
        1 / 3 if are_right_to_left[0] else 1 / 2
    )


class AsciiSymbols(LineFilter):
    """Line filter that replaces the symbols of Octavo by ASCII characters."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [
            segment if segment.text.isascii() else segment._replace(text=segment.text.translate(ASCII_SYMBOLS))
            for segment in segments
        ]


class _Letter(NamedTuple):
    text: str
    style: Style | None


class RightToLeft(LineFilter):
    """Line filter that reorders right-to-left letters for display, for terminals that do not do this themselves."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        if not any(RIGHT_TO_LEFT_LETTER.search(segment.text) for segment in segments):
            return segments
        ordered: list[Segment] = []
        for run in _split_into_runs(segments):
            for letter in _in_visual_order(run):
                if ordered and ordered[-1].style is letter.style:
                    ordered[-1] = Segment(ordered[-1].text + letter.text, letter.style)
                else:
                    ordered.append(Segment(letter.text, letter.style))
        return ordered


def _split_into_runs(segments: Sequence[Segment]) -> Iterator[list[_Letter]]:
    """Yield the parts of a line that are reordered separately: table cells, borders and list markers."""
    run: list[_Letter] = []
    for segment in segments:
        start, text = 0, segment.text
        if segment.control or not text:
            continue
        if _LIST_MARKER.fullmatch(text) and text != " ":
            yield from (run, [_Letter(text, segment.style)])
            run = []
            continue
        for border in _TABLE_BORDER.finditer(text):
            run += _letters(text[start : border.start()], segment.style)
            yield from (run, [_Letter(border.group(), segment.style)])
            run, start = [], border.end()
        run += _letters(text[start:], segment.style)
    yield run


def _letters(text: str, style: Style | None) -> list[_Letter]:
    letters: list[_Letter] = []
    for char in text:
        if letters and not cell_len(char):
            letters[-1] = _Letter(letters[-1].text + char, style)
        else:
            letters.append(_Letter(char, style))
    return letters


def _in_visual_order(run: list[_Letter]) -> list[_Letter]:
    text = "".join(letter.text[0] for letter in run)
    if not RIGHT_TO_LEFT_LETTER.search(text):
        return run
    first, last = len(text) - len(text.lstrip()), len(text.rstrip())
    if (first, last) != (0, len(text)):
        return [*run[:first], *_in_visual_order(run[first:last]), *run[last:]]
    is_right_to_left = is_text_right_to_left(text)
    from bidi import algorithm  # lazy: installed only with the extra `bidi`

    storage = algorithm.get_empty_storage()
    storage["base_level"], storage["base_dir"] = int(is_right_to_left), "R" if is_right_to_left else "L"
    algorithm.get_embedding_levels(text, storage)
    for index, char in enumerate(storage["chars"]):
        char["index"] = index
    algorithm.explicit_embed_and_overrides(storage, False)
    algorithm.resolve_weak_types(storage, False)
    algorithm.resolve_neutral_types(storage, False)
    algorithm.resolve_implicit_levels(storage, False)
    algorithm.reorder_resolved_levels(storage, False)
    algorithm.apply_mirroring(storage, False)
    order = [(int(char["index"]), str(char["ch"])) for char in storage["chars"]]
    missing_indexes = sorted(set(range(len(run))) - {index for index, _ in order})
    letters = [_Letter(char + run[index].text[1:], run[index].style) for index, char in order]
    return letters + [run[index] for index in missing_indexes]
