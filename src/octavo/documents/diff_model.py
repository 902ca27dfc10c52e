"""The result of comparing two pages: a tree of entries in reading order.

Each entry contains the blocks of both sides, so both pages can be rebuilt from the entries.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from octavo.documents.blocks import Block, Run, TableColumn

_REWRITTEN_SHARE = 0.75
_MIN_REWRITTEN_WORDS = 40
"""A page with fewer words never counts as rewritten."""

Op = Literal["equal", "insert", "delete", "format", "link"]


@dataclass(frozen=True, slots=True)
class TextPart:
    """Adjacent words with the same change."""

    op: Op
    run: Run
    old: Run | None = None
    """The earlier run, if only its format or link changed."""


@dataclass(frozen=True, slots=True)
class TextChange:
    """A changed text."""

    words: tuple[TextPart, ...]
    changed_share: float
    """Share of its characters that were removed or added, from 0 to 1."""

    @property
    def is_rewritten(self) -> bool:
        """Return whether the text changed so much that the old and new text should be shown separately."""
        return self.changed_share > _REWRITTEN_SHARE

    @property
    def kinds(self) -> frozenset[str]:
        """Return the kinds of changes: a subset of `words`, `format` and `link`."""
        names = {"insert": "words", "delete": "words", "format": "format", "link": "link"}
        return frozenset(names[word.op] for word in self.words if word.op != "equal")


@dataclass(frozen=True, slots=True)
class LineChange:
    """A line of code or source. If `op` is `change`, `words` has the changes inside the line."""

    op: Literal["equal", "insert", "delete", "change"]
    old: str = ""
    new: str = ""
    words: tuple[TextPart, ...] = ()
    old_number: int = 0
    """Line in the old text, counted from 0. For an added line, where it would be."""
    new_number: int = 0
    """Line in the new text, counted from 0. For a removed line, where it would be."""
    omitted: int = 0
    """Number of unchanged lines that this entry stands for. 0 if it is a single line."""


@dataclass(frozen=True, slots=True)
class CodeChange:
    """Changes of a code block or formula, line by line."""

    lines: tuple[LineChange, ...]


@dataclass(frozen=True, slots=True)
class ColumnPair:
    """A column that exists in both versions of a table, or in one of them."""

    old: TableColumn | None
    new: TableColumn | None
    old_index: int | None
    new_index: int | None


@dataclass(frozen=True, slots=True)
class TableChange:
    """Changes of a table or of cards. A changed row has a `RowChange`."""

    columns: tuple[ColumnPair, ...]
    rows: tuple[DiffEntry, ...]


@dataclass(frozen=True, slots=True)
class CellChange:
    """The cell of one column in a changed row. `words` is None if its text is unchanged."""

    old: Block | None
    new: Block | None
    words: TextChange | None = None
    settings: tuple[AttributeChange, ...] = ()


@dataclass(frozen=True, slots=True)
class RowChange:
    """Changes of a row: one cell for each column of the table."""

    cells: tuple[CellChange, ...]


@dataclass(frozen=True, slots=True)
class ContainerChange:
    """Changes of a container: its content and its title."""

    entries: tuple[DiffEntry, ...]
    title: TextChange | None = None


ContentChange = TextChange | CodeChange | TableChange | RowChange | ContainerChange | None


@dataclass(frozen=True, slots=True)
class AttributeChange:
    """A changed attribute. None stands for an attribute that is not set."""

    name: str
    old: str | None
    new: str | None

    def __str__(self) -> str:
        return f"{self.name}: {_shorten(self.old)} → {_shorten(self.new)}"


@dataclass(frozen=True, slots=True)
class UnchangedBlocks:
    """A range of unchanged blocks."""

    old: tuple[Block, ...]
    new: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class AddedBlock:
    """An added block. With entries, it is a container that was added around existing blocks."""

    block: Block
    entries: tuple[DiffEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class RemovedBlock:
    """A removed block. With entries (all its blocks), it is a container of which some blocks remain."""

    block: Block
    entries: tuple[DiffEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class ChangedBlock:
    """A changed block. `parts` is None if no content changed, or if the block was replaced."""

    old: Block
    new: Block
    settings: tuple[AttributeChange, ...] = ()
    content_change: ContentChange = None

    @property
    def notes(self) -> tuple[str, ...]:
        """The changes of the kind and the settings, as short texts."""
        return _notes(self.old, self.new, self.settings)


@dataclass(frozen=True, slots=True)
class MovedBlock:
    """One end of a move: the old position, or the new one if `is_arrival`. Both ends share `number`."""

    old: Block
    new: Block
    number: int
    is_arrival: bool
    content_change: ContentChange = None
    settings: tuple[AttributeChange, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """The changes of the kind and the settings, as short texts."""
        return _notes(self.old, self.new, self.settings)

    @property
    def is_edited(self) -> bool:
        """Return whether the content of the block changed too."""
        return self.content_change is not None


@dataclass(frozen=True, slots=True)
class RestructuredBlocks:
    """Blocks that were rearranged, or a section that was replaced."""

    old: tuple[Block, ...]
    new: tuple[Block, ...]
    note: str
    """Description, or empty if the entries have notes. Without `old` and `new`, it is about the next entry."""
    entries: tuple[DiffEntry, ...] = ()
    """Changes inside the containers, or the removed and added blocks."""

    @property
    def is_replaced(self) -> bool:
        """Return whether the new blocks replaced the old blocks, with almost no words in common."""
        return bool(self.entries) and all(
            isinstance(entry, (AddedBlock, RemovedBlock)) and not entry.entries for entry in self.entries
        )


DiffEntry = UnchangedBlocks | AddedBlock | RemovedBlock | ChangedBlock | MovedBlock | RestructuredBlocks


@dataclass(frozen=True, slots=True)
class ChangeSize:
    """Numbers of words added, removed, and in each version of a page."""

    added: int = 0
    removed: int = 0
    words_before: int = 0
    words_after: int = 0

    @property
    def is_rewritten(self) -> bool:
        """Return whether most words were removed and most words are new. False for a short page."""
        is_removed = self.removed > _REWRITTEN_SHARE * self.words_before
        is_added = self.added > _REWRITTEN_SHARE * self.words_after
        return is_removed and is_added and min(self.words_before, self.words_after) >= _MIN_REWRITTEN_WORDS


@dataclass(frozen=True, slots=True)
class Diff:
    """The changes between two pages."""

    entries: tuple[DiffEntry, ...]
    metadata: tuple[AttributeChange, ...] = ()
    """The changes in the front matter."""
    unseen_lines: int = 0
    """Number of differing source lines if the pages look the same. Otherwise 0."""
    size: ChangeSize = ChangeSize()

    @property
    def is_empty(self) -> bool:
        """Return whether the two pages look the same."""
        return not self.metadata and all(isinstance(entry, UnchangedBlocks) for entry in self.entries)


def _notes(old: Block, new: Block, settings: tuple[AttributeChange, ...]) -> tuple[str, ...]:
    kind = () if old.kind == new.kind else (f"{old.kind} → {new.kind}",)
    return (*kind, *map(str, settings))


def _shorten(value: str | None) -> str:
    if value is None:
        return "none"
    return value if len(value) <= 60 else value[:59] + "…"
