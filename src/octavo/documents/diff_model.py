"""What changed between two pages, in the order a reader meets it.

Entries that stand for both sides hold the blocks of both, so that either page can be rebuilt from them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from octavo.documents.blocks import Block, Column, Run

_REWRITTEN_SHARE = 0.75
_MIN_WORDS = 40
"""Words. Shorter pages are read at a glance however they are shown."""

Op = Literal["equal", "insert", "delete", "format", "link"]


@dataclass(frozen=True, slots=True)
class TextPart:
    """Words with the same fate. Of `format` (it looks otherwise, or has other attributes or white space) and `link` (it
    leads elsewhere) the words stayed: `run` is how it is now, `old` how it was."""

    op: Op
    run: Run
    old: Run | None = None


@dataclass(frozen=True, slots=True)
class TextChange:
    """A text of runs, changed. `changed` is the share of its characters that came or went, 0 to 1."""

    words: tuple[TextPart, ...]
    changed: float

    @property
    def is_rewritten(self) -> bool:
        """Whether so little stayed that old and new are better shown one after the other."""
        return self.changed > _REWRITTEN_SHARE

    @property
    def sorts(self) -> frozenset[str]:
        """What happened: words, format, link."""
        names = {"insert": "words", "delete": "words", "format": "format", "link": "link"}
        return frozenset(names[word.op] for word in self.words if word.op != "equal")


@dataclass(frozen=True, slots=True)
class LineChange:
    """A line of code or source. One that changed has `op` "change", and its `words`."""

    op: Literal["equal", "insert", "delete", "change"]
    old: str = ""
    new: str = ""
    words: tuple[TextPart, ...] = ()
    old_number: int = 0
    new_number: int = 0
    """Places, counted from 0. Of a line that is only on one side, the other number is where it would stand."""
    untold: int = 0
    """How many lines that stayed as they were it stands for, where they are only counted."""


@dataclass(frozen=True, slots=True)
class CodeChange:
    """Code or a formula, changed."""

    lines: tuple[LineChange, ...]


@dataclass(frozen=True, slots=True)
class ColumnPair:
    """A column of a table on both sides, or on one."""

    old: Column | None
    new: Column | None
    old_index: int | None
    new_index: int | None


@dataclass(frozen=True, slots=True)
class TableChange:
    """A table or cards, changed: its columns, and its rows as entries. A changed row has `Cells`."""

    columns: tuple[ColumnPair, ...]
    rows: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class CellChange:
    """A cell under one of the columns. `words` is None where they did not change."""

    old: Block | None
    new: Block | None
    words: TextChange | None = None
    settings: tuple[AttributeChange, ...] = ()


@dataclass(frozen=True, slots=True)
class RowChange:
    """A row, changed: a cell for each of the table's columns."""

    cells: tuple[CellChange, ...]


@dataclass(frozen=True, slots=True)
class ContainerChange:
    """A container, changed: what happened within, and to its title."""

    entries: tuple[Entry, ...]
    title: TextChange | None = None


Parts = TextChange | CodeChange | TableChange | RowChange | ContainerChange | None


@dataclass(frozen=True, slots=True)
class AttributeChange:
    """An attribute that changed. None stands for one that is not set."""

    name: str
    old: str | None
    new: str | None

    def __str__(self) -> str:
        return f"{self.name}: {_shorten(self.old)} → {_shorten(self.new)}"


@dataclass(frozen=True, slots=True)
class Unchanged:
    """Blocks that stayed as they were."""

    old: tuple[Block, ...]
    new: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Added:
    """A block that came. With entries it is a container of which a part was there before: they tell all that is in it."""

    block: Block
    entries: tuple[Entry, ...] = ()


@dataclass(frozen=True, slots=True)
class Removed:
    """A block that went. With entries it is a container of which a part stayed: they tell what was in it."""

    block: Block
    entries: tuple[Entry, ...] = ()


@dataclass(frozen=True, slots=True)
class Changed:
    """A block that is another now. Without parts, nothing but settings or the kind changed, or it is replaced."""

    old: Block
    new: Block
    settings: tuple[AttributeChange, ...] = ()
    parts: Parts = None

    @property
    def notes(self) -> tuple[str, ...]:
        """What changed besides the words, in words."""
        return _notes(self.old, self.new, self.settings)


@dataclass(frozen=True, slots=True)
class Moved:
    """A block that is elsewhere now. It has two entries of the same number: where it was, and where it is."""

    old: Block
    new: Block
    number: int
    arrives: bool
    parts: Parts = None
    settings: tuple[AttributeChange, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """What changed besides the words, in words."""
        return _notes(self.old, self.new, self.settings)

    @property
    def is_edited(self) -> bool:
        """Whether it changed on the way."""
        return self.parts is not None


@dataclass(frozen=True, slots=True)
class Restructured:
    """Blocks told together; `note` says why: the same words in another arrangement, or a section with others in its
    place. The entries compare what is in their containers, or are the blocks that went and those that came. Without blocks,
    the note is about the entry that follows; without a note, the entries have notes."""

    old: tuple[Block, ...]
    new: tuple[Block, ...]
    note: str
    entries: tuple[Entry, ...] = ()

    @property
    def is_replaced(self) -> bool:
        """Whether the new blocks took the place of the old ones, and have next to no words in common with them."""
        return bool(self.entries) and all(
            isinstance(entry, (Added, Removed)) and not entry.entries for entry in self.entries
        )


Entry = Unchanged | Added | Removed | Changed | Moved | Restructured


@dataclass(frozen=True, slots=True)
class ChangeSize:
    """How many words came and went, and how many there were before and are after."""

    added: int = 0
    removed: int = 0
    before: int = 0
    after: int = 0

    @property
    def is_rewritten(self) -> bool:
        """Whether next to nothing of a page that says something was left, and another was put in its place."""
        gone, come = self.removed > _REWRITTEN_SHARE * self.before, self.added > _REWRITTEN_SHARE * self.after
        return gone and come and min(self.before, self.after) >= _MIN_WORDS


@dataclass(frozen=True, slots=True)
class Diff:
    """What changed between two pages."""

    entries: tuple[Entry, ...]
    metadata: tuple[AttributeChange, ...] = ()
    """What changed in the front matter."""
    unseen_lines: int = 0
    """How many lines of source differ although nothing that shows does."""
    size: ChangeSize = ChangeSize()

    @property
    def is_rewritten(self) -> bool:
        """Whether so little stayed that the page as it was and as it is are better shown one after the other."""
        return self.size.is_rewritten

    @property
    def is_empty(self) -> bool:
        """Whether nothing that shows changed."""
        return not self.metadata and all(isinstance(entry, Unchanged) for entry in self.entries)


def _notes(old: Block, new: Block, settings: tuple[AttributeChange, ...]) -> tuple[str, ...]:
    kind = () if old.kind == new.kind else (f"{old.kind} → {new.kind}",)
    return (*kind, *map(str, settings))


def _shorten(value: str | None) -> str:
    if value is None:
        return "none"
    return value if len(value) <= 60 else value[:59] + "…"
