"""What changed between two pages, in the order a reader meets it.

Entries that stand for both sides hold the blocks of both, so that either page can be rebuilt from them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from octavo.documents.blocks import Block, Column, Run

Op = Literal["equal", "insert", "delete", "format", "link"]


@dataclass(frozen=True, slots=True)
class Word:
    """Words with the same fate. Of `format` (it looks otherwise) and `link` (it leads elsewhere) the words stayed:
    `run` is how it is now, `old` how it was."""

    op: Op
    run: Run
    old: Run | None = None


@dataclass(frozen=True, slots=True)
class Words:
    """A text of runs, changed. `changed` is the share of its characters that came or went, 0 to 1."""

    words: tuple[Word, ...]
    changed: float

    @property
    def is_rewritten(self) -> bool:
        """Whether so little stayed that old and new are better shown one after the other."""
        return self.changed > 0.75

    @property
    def sorts(self) -> frozenset[str]:
        """What happened: words, format, link."""
        names = {"insert": "words", "delete": "words", "format": "format", "link": "link"}
        return frozenset(names[word.op] for word in self.words if word.op != "equal")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of code or source. One that changed has `op` "change", and its `words`."""

    op: Literal["equal", "insert", "delete", "change"]
    old: str = ""
    new: str = ""
    words: tuple[Word, ...] = ()
    old_number: int = 0
    new_number: int = 0
    """Places, counted from 0. Of a line that is only on one side, the other number is where it would stand."""


@dataclass(frozen=True, slots=True)
class Lines:
    """Code or a formula, changed."""

    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class ColumnPair:
    """A column of a table on both sides, or on one."""

    old: Column | None
    new: Column | None
    old_index: int | None
    new_index: int | None


@dataclass(frozen=True, slots=True)
class Table:
    """A table or cards, changed: its columns, and its rows as entries. A changed row has `Cells`."""

    columns: tuple[ColumnPair, ...]
    rows: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell under one of the columns. `words` is None where nothing changed."""

    old: Block | None
    new: Block | None
    words: Words | None = None


@dataclass(frozen=True, slots=True)
class Cells:
    """A row, changed: a cell for each of the table's columns."""

    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Inside:
    """A container, changed: what happened within, and to its title."""

    entries: tuple[Entry, ...]
    title: Words | None = None


Parts = Words | Lines | Table | Cells | Inside | None


@dataclass(frozen=True, slots=True)
class Setting:
    """An attribute that changed. None stands for one that is not set."""

    name: str
    old: str | None
    new: str | None

    def __str__(self) -> str:
        return f"{self.name}: {_short(self.old)} → {_short(self.new)}"


@dataclass(frozen=True, slots=True)
class Same:
    """Blocks that stayed as they were. `heading` is the section they are in or end with."""

    old: tuple[Block, ...]
    new: tuple[Block, ...]
    heading: str = ""


@dataclass(frozen=True, slots=True)
class Added:
    """A block that came."""

    block: Block


@dataclass(frozen=True, slots=True)
class Removed:
    """A block that went."""

    block: Block


@dataclass(frozen=True, slots=True)
class Changed:
    """A block that is another now. Without parts, nothing but settings or the kind changed, or it is replaced."""

    old: Block
    new: Block
    settings: tuple[Setting, ...] = ()
    parts: Parts = None

    @property
    def notes(self) -> tuple[str, ...]:
        """What changed besides the words, in words."""
        kind = () if self.old.kind == self.new.kind else (f"{self.old.kind} → {self.new.kind}",)
        return (*kind, *map(str, self.settings))


@dataclass(frozen=True, slots=True)
class Moved:
    """A block that is elsewhere now. It has two entries of the same number: where it was, and where it is."""

    old: Block
    new: Block
    number: int
    arrives: bool
    parts: Parts = None

    @property
    def is_edited(self) -> bool:
        """Whether it changed on the way."""
        return self.parts is not None


@dataclass(frozen=True, slots=True)
class Restructured:
    """Blocks with the same words in another arrangement; `note` says which. The entries compare their leaves."""

    old: tuple[Block, ...]
    new: tuple[Block, ...]
    note: str
    entries: tuple[Entry, ...] = ()


Entry = Same | Added | Removed | Changed | Moved | Restructured


@dataclass(frozen=True, slots=True)
class Diff:
    """What changed between two pages."""

    entries: tuple[Entry, ...]
    metadata: tuple[Setting, ...] = ()
    """What changed in the front matter."""
    unseen_lines: int = 0
    """How many lines of source differ although nothing that shows does."""
    share: float = 0.0
    """How much of the text came or went, 0 to 1."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing that shows changed."""
        return not self.metadata and all(isinstance(entry, Same) for entry in self.entries)

    def counts(self) -> dict[str, int]:
        """How many blocks were added, removed, changed, moved."""
        found = {"added": 0, "removed": 0, "changed": 0, "moved": 0}
        for entry in leaves(self.entries):
            match entry:
                case Added():
                    found["added"] += 1
                case Removed():
                    found["removed"] += 1
                case Changed() | Restructured():
                    found["changed"] += 1
                case Moved(arrives=True):
                    found["moved"] += 1
        return found


def leaves(entries: Iterable[Entry]) -> Iterator[Entry]:
    """The entries, and instead of a container's those within it."""
    for entry in entries:
        if isinstance(entry, Changed) and isinstance(entry.parts, Inside) and not entry.settings:
            if entry.parts.title and entry.parts.title.sorts:
                yield entry
            yield from leaves(entry.parts.entries)
        else:
            yield entry


def _short(value: str | None) -> str:
    if value is None:
        return "none"
    return value if len(value) <= 60 else value[:59] + "…"
