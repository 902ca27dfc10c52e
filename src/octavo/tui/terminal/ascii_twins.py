"""Signs for terminals that have only ASCII: each sign of the app has a twin of one cell."""

from __future__ import annotations

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

TWINS = str.maketrans(
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
        "†": "+",
        "⚠": "!",
    }
)


class AsciiTwins(LineFilter):
    """Draws every sign of the app as its twin. Text of people that is not ASCII stays as it is."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [
            segment if segment.text.isascii() else segment._replace(text=segment.text.translate(TWINS))
            for segment in segments
        ]
