"""Letters over what can be opened: typing them opens it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from octavo.tui.page.lines import Hot

_LETTERS = "asdfghjklqwertyuiopzxcvbnm"


def labels(count: int) -> list[str]:
    """`count` labels, none of which another begins with, as short as can be."""
    if count <= len(_LETTERS):
        return list(_LETTERS[:count])
    return [first + second for first in _LETTERS for second in _LETTERS][:count]


@dataclass
class Hints:
    """The labels on show, and what has been typed of one."""

    hots: Sequence[Hot]
    typed: str = ""
    upper: bool = False
    by_label: dict[str, Hot] = field(init=False)

    def __post_init__(self) -> None:
        once = list({id(hot.spot): hot for hot in reversed(self.hots)}.values())[::-1]
        self.by_label = dict(zip(labels(len(once)), once, strict=False))

    def press(self, letter: str) -> Hot | bool:
        """One more letter: what it opens; else whether any label still begins with what was typed."""
        self.upper = self.upper or letter.isupper()
        self.typed += letter.lower()
        if (hot := self.by_label.get(self.typed)) is not None:
            return hot
        return any(label.startswith(self.typed) for label in self.by_label)

    def on_line(self, line: int) -> list[tuple[int, str]]:
        """Cell and remaining letters of each label on a line."""
        return [
            (hot.start, label[len(self.typed) :])
            for label, hot in self.by_label.items()
            if hot.line == line and label.startswith(self.typed)
        ]
