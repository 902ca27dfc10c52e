"""The result of the comparison of two pages: diff entries in reading order.

The entries contain the blocks of both versions, so both pages can be rebuilt from them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from octavo.documents.blocks import Block, Run, TableColumn

_REWRITTEN_SHARE = 0.75
_MIN_REWRITTEN_WORDS = 40
"""Minimum number of words of a page that can count as rewritten."""
_LETTERS_BEFORE_DIFFERENCE = 20

Op = Literal["equal", "insert", "delete", "format", "link"]


@dataclass(frozen=True, slots=True)
class TextPart:
    """Adjacent words of a compared text that all changed in the same way, or not at all. `op` is the kind of change."""

    op: Op
    run: Run
    old: Run | None = None
    """The old words, if only their format, link or white space changed. Else None."""


@dataclass(frozen=True, slots=True)
class TextChange:
    """The differences between two texts, word by word."""

    words: tuple[TextPart, ...]
    changed_share: float
    """Share of the characters of both texts that were removed or added, from 0 to 1."""

    @property
    def is_rewritten(self) -> bool:
        """True if the text changed so much that the old and the new text should be shown separately."""
        return self.changed_share > _REWRITTEN_SHARE

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of changes: a subset of `words`, `format` and `link`."""
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
    """Line number in the old text, counted from 0. For an added line, the number of the old line that follows."""
    new_number: int = 0
    """Line number in the new text, counted from 0. For a removed line, the number of the new line that follows."""
    omitted_count: int = 0
    """Number of unchanged lines that are left out in place of this line. 0 for an ordinary line."""


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
    """A cell in a changed row. `words` is None if the text is unchanged. `old` is None if added, `new` if removed."""

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
    """An attribute that differs. `old` or `new` is None if that version does not set it."""

    name: str
    old: str | None
    new: str | None

    def __str__(self) -> str:
        old, new = self.old, self.new
        if old and new and _shorten(old) == _shorten(new):  # Begin shortly before the difference.
            start = max(0, common_prefix_length(old, new) - _LETTERS_BEFORE_DIFFERENCE)
            old, new = f"…{old[start:]}", f"…{new[start:]}"
        return f"{self.name}: {_shorten(old)} → {_shorten(new)}"


@dataclass(frozen=True, slots=True)
class UnchangedBlocks:
    """Adjacent blocks that look the same in both versions."""

    old: tuple[Block, ...]
    new: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class AddedBlock:
    """A block that only the new version has. If it was added around old blocks, `entries` are the entries inside it."""

    block: Block
    entries: tuple[DiffEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class RemovedBlock:
    """A block that only the old version has. If the new version has parts of it, `entries` are all entries inside."""

    block: Block
    entries: tuple[DiffEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class ChangedBlock:
    """An edited block. `content_change` is None if only kind or attributes changed, or if all content was replaced."""

    old: Block
    new: Block
    settings: tuple[AttributeChange, ...] = ()
    content_change: ContentChange = None

    @property
    def notes(self) -> tuple[str, ...]:
        """Short texts on the changes of kind and attributes, such as `paragraph → heading`."""
        return _notes(self.old, self.new, self.settings)


@dataclass(frozen=True, slots=True)
class MovedBlock:
    """A moved block at its old or (if `is_arrival`) new position. Entries of both positions have the same `number`."""

    old: Block
    new: Block
    number: int
    is_arrival: bool
    content_change: ContentChange = None
    settings: tuple[AttributeChange, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """Short texts on the changes of kind and attributes, such as `paragraph → heading`."""
        return _notes(self.old, self.new, self.settings)

    @property
    def is_edited(self) -> bool:
        return self.content_change is not None


@dataclass(frozen=True, slots=True)
class RestructuredBlocks:
    """Blocks that were split, joined, or moved into or out of containers. Also a section that was replaced."""

    old: tuple[Block, ...]
    new: tuple[Block, ...]
    note: str
    """Text such as `list → hint`, about the next entry if `old` and `new` are empty. Empty if `entries` have notes."""
    entries: tuple[DiffEntry, ...] = ()
    """The changes of the new blocks and of their content. For a replaced section, its removed and added blocks."""

    @property
    def is_replaced(self) -> bool:
        """True if the new blocks replaced the old blocks, with almost no words in common."""
        return bool(self.entries) and all(
            isinstance(entry, (AddedBlock, RemovedBlock)) and not entry.entries for entry in self.entries
        )


DiffEntry = UnchangedBlocks | AddedBlock | RemovedBlock | ChangedBlock | MovedBlock | RestructuredBlocks


@dataclass(frozen=True, slots=True)
class ChangeSize:
    """Numbers of words that were added and removed, and of all words of both versions of a page."""

    added: int = 0
    removed: int = 0
    words_before: int = 0
    words_after: int = 0

    @property
    def is_rewritten(self) -> bool:
        """True if most old words were removed, and most words of the new page were added. False for a short page."""
        is_removed = self.removed > _REWRITTEN_SHARE * self.words_before
        is_added = self.added > _REWRITTEN_SHARE * self.words_after
        return is_removed and is_added and min(self.words_before, self.words_after) >= _MIN_REWRITTEN_WORDS


@dataclass(frozen=True, slots=True)
class Diff:
    """The changes between two pages."""

    entries: tuple[DiffEntry, ...]
    metadata: tuple[AttributeChange, ...] = ()
    """The changes in the front matter."""
    unseen_line_count: int = 0
    """Number of source lines that differ although the pages look the same. 0 if the pages look different."""
    size: ChangeSize = ChangeSize()

    @property
    def is_empty(self) -> bool:
        """True if the two pages look the same."""
        return not self.metadata and all(isinstance(entry, UnchangedBlocks) for entry in self.entries)


def _notes(old: Block, new: Block, settings: tuple[AttributeChange, ...]) -> tuple[str, ...]:
    kind = () if old.kind == new.kind else (f"{old.kind} → {new.kind}",)
    return (*kind, *map(str, settings))


def common_prefix_length(old: str, new: str) -> int:
    """Return the number of equal characters at the beginning of two texts."""
    pairs = enumerate(zip(old, new, strict=False))
    return next((index for index, (one, other) in pairs if one != other), min(len(old), len(new)))


def _shorten(value: str | None) -> str:
    if value is None:
        return "none"
    return value if len(value) <= 60 else value[:59] + "…"
