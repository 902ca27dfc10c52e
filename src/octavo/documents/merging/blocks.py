"""The blocks of a text, as a merge sees them: what a blank line, or the start of a list item, divides.

A fenced code block, a block of math, an HTML table and a tag over several lines are one block each, with the blank
lines in them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_BLANK = re.compile(r"\s*")
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s")
_FENCE = re.compile(r"\s*(?:[-*+]\s+|\d{1,9}[.)]\s+)?(`{3,}|~{3,})(.*)")
_ENCLOSED = (
    (re.compile(r"\s*\$\$\s*"), re.compile(r".*\$\$\s*")),
    (
        re.compile(r"\s*<(?:table|pre|figure)\b(?!.*</(?:table|pre|figure)>).*", re.I),
        re.compile(r".*</(?:table|pre|figure)>.*", re.I),
    ),
    (re.compile(r"\s*\{%(?!.*%\}).*"), re.compile(r".*%\}.*")),
)


@dataclass(frozen=True)
class Block:
    """Lines that belong together, and the blank ones after them. Only the first of a text may have no lines."""

    lines: list[str]
    blanks: list[str]

    @property
    def all(self) -> list[str]:
        return self.lines + self.blanks


def split(lines: list[str]) -> list[Block]:
    """The blocks of a text. The first holds the blank lines before all others, if there are any, and nothing else."""
    starts, _ = bounds(lines)
    blocks = [Block([], [])]
    for number, line in enumerate(lines):
        if is_blank(line) and starts[number] == number:
            blocks[-1].blanks.append(line)
        elif starts[number] == number:
            blocks.append(Block([line], []))
        else:
            blocks[-1].lines.append(line)
    return blocks


def bounds(lines: list[str]) -> tuple[list[int], list[int]]:
    """For each line, where its block starts and the line after its end. A blank line between blocks is its own."""
    starts: list[int] = []
    start = 0
    close: re.Pattern[str] | None = None
    for number, line in enumerate(lines):
        if close is not None:
            starts.append(start)
            if close.fullmatch(line):
                close = None
            continue
        close = _closing(line)
        if number == 0 or is_blank(line) or is_blank(lines[number - 1]) or _ITEM.match(line):
            start = number
        starts.append(start)
    ends = [0] * len(lines)
    end = len(lines)
    for number in range(len(lines) - 1, -1, -1):
        ends[number] = end
        if starts[number] == number:
            end = number
    return starts, ends


def _closing(line: str) -> re.Pattern[str] | None:
    """What ends the enclosure that `line` opens, if it opens one."""
    if fence := _FENCE.fullmatch(line):
        mark, info = fence[1], fence[2]
        if mark[0] == "~" or "`" not in info:
            return re.compile(rf"\s*{re.escape(mark[0])}{{{len(mark)},}}\s*")
    for opening, closing in _ENCLOSED:
        if opening.fullmatch(line):
            return closing
    return None


def worded(lines: list[str]) -> list[str]:
    """The lines that are not blank."""
    return [line for line in lines if not is_blank(line)]


def continues(line: str, following: str) -> bool:
    """Whether a line that comes right after another belongs to the same block."""
    return not (is_blank(line) or is_blank(following) or _ITEM.match(following))


def is_item(line: str) -> bool:
    """Whether an item of a list begins here."""
    return _ITEM.match(line) is not None


def is_blank(line: str) -> bool:
    return _BLANK.fullmatch(line) is not None
