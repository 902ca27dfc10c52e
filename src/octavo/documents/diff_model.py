"""The result of a comparison of two pages: a tree of entries in reading order.

Each entry holds the blocks of both sides, so that either page can be rebuilt from the entries.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from octavo.documents.blocks import Block, Run, TableColumn

_REWRITTEN_SHARE = 0.75
_MIN_WORDS = 40
"""Number of words. In shorter pages, a complete rewrite is readable in any layout."""

Op = Literal["equal", "insert", "delete", "format", "link"]


@dataclass(frozen=True, slots=True)
class TextPart:
    """Words with the same change. For `format` (other format, attributes or white space) and `link` (other target) the
    words are equal: `run` is the new run, `old` the old one."""

    op: Op
    run: Run
    old: Run | None = None


@dataclass(frozen=True, slots=True)
class TextChange:
    """A changed text. `changed` is the share of its characters that were removed or added, 0 to 1."""

    words: tuple[TextPart, ...]
    changed: float

    @property
    def is_rewritten(self) -> bool:
        """Whether the text changed so much that showing the old and new text separately is clearer."""
        return self.changed > _REWRITTEN_SHARE

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of changes: any of words, format and link."""
        names = {"insert": "words", "delete": "words", "format": "format", "link": "link"}
        return frozenset(names[word.op] for word in self.words if word.op != "equal")


@dataclass(frozen=True, slots=True)
class LineChange:
    """A line of code or source. For a changed line, `op` is "change" and `words` has the changes within the line."""

    op: Literal["equal", "insert", "delete", "change"]
    old: str = ""
    new: str = ""
    words: tuple[TextPart, ...] = ()
    old_number: int = 0
    new_number: int = 0
    """Line numbers, counted from 0. For a line that exists on one side only, the other number is its position there."""
    omitted: int = 0
    """Number of unchanged lines that this entry summarizes. 0 for a real line."""


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
    """Changes of a table or of cards: its columns, and its rows as entries. Changed rows have a `RowChange`."""

    columns: tuple[ColumnPair, ...]
    rows: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class CellChange:
    """A cell in one column of a changed row. `words` is None if the text did not change."""

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

    entries: tuple[Entry, ...]
    title: TextChange | None = None


Parts = TextChange | CodeChange | TableChange | RowChange | ContainerChange | None


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
    """A stretch of unchanged blocks."""

    old: tuple[Block, ...]
    new: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class AddedBlock:
    """An added block. With entries: an added container around blocks that partly existed before."""

    block: Block
    entries: tuple[Entry, ...] = ()


@dataclass(frozen=True, slots=True)
class RemovedBlock:
    """A removed block. With entries: a removed container whose blocks partly remain. The entries cover all of them."""

    block: Block
    entries: tuple[Entry, ...] = ()


@dataclass(frozen=True, slots=True)
class ChangedBlock:
    """A changed block. Without parts, only the settings or the kind changed, or the block was replaced."""

    old: Block
    new: Block
    settings: tuple[AttributeChange, ...] = ()
    parts: Parts = None

    @property
    def notes(self) -> tuple[str, ...]:
        """The changes of the kind and the settings, as short texts."""
        return _notes(self.old, self.new, self.settings)


@dataclass(frozen=True, slots=True)
class MovedBlock:
    """A moved block. Each move has two entries with the same number: one at the old position, one at the new."""

    old: Block
    new: Block
    number: int
    is_arrival: bool
    parts: Parts = None
    settings: tuple[AttributeChange, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """The changes of the kind and the settings, as short texts."""
        return _notes(self.old, self.new, self.settings)

    @property
    def is_edited(self) -> bool:
        """Whether the content changed during the move."""
        return self.parts is not None


@dataclass(frozen=True, slots=True)
class RestructuredBlocks:
    """Blocks that are shown together. `note` gives the reason: the same words in another arrangement, or a replaced
    section. The entries compare the contents of the containers, or list the removed and added blocks. Without blocks,
    the note is about the next entry. Without a note, the entries have notes."""

    old: tuple[Block, ...]
    new: tuple[Block, ...]
    note: str
    entries: tuple[Entry, ...] = ()

    @property
    def is_replaced(self) -> bool:
        """Whether the new blocks replaced the old ones and have almost no words in common with them."""
        return bool(self.entries) and all(
            isinstance(entry, (AddedBlock, RemovedBlock)) and not entry.entries for entry in self.entries
        )


Entry = UnchangedBlocks | AddedBlock | RemovedBlock | ChangedBlock | MovedBlock | RestructuredBlocks


@dataclass(frozen=True, slots=True)
class ChangeSize:
    """Number of words added and removed, and the number of words before and after."""

    added: int = 0
    removed: int = 0
    before: int = 0
    after: int = 0

    @property
    def is_rewritten(self) -> bool:
        """Whether almost nothing of a page with enough words remained."""
        is_removed, is_added = self.removed > _REWRITTEN_SHARE * self.before, self.added > _REWRITTEN_SHARE * self.after
        return is_removed and is_added and min(self.before, self.after) >= _MIN_WORDS


@dataclass(frozen=True, slots=True)
class Diff:
    """The changes between two pages."""

    entries: tuple[Entry, ...]
    metadata: tuple[AttributeChange, ...] = ()
    """The changes in the front matter."""
    unseen_lines: int = 0
    """Number of source lines that differ although the pages look the same."""
    size: ChangeSize = ChangeSize()

    @property
    def is_rewritten(self) -> bool:
        """Whether the page changed so much that showing the old and new page separately is clearer."""
        return self.size.is_rewritten

    @property
    def is_empty(self) -> bool:
        """Whether the two pages look the same."""
        return not self.metadata and all(isinstance(entry, UnchangedBlocks) for entry in self.entries)


def _notes(old: Block, new: Block, settings: tuple[AttributeChange, ...]) -> tuple[str, ...]:
    kind = () if old.kind == new.kind else (f"{old.kind} → {new.kind}",)
    return (*kind, *map(str, settings))


def _shorten(value: str | None) -> str:
    if value is None:
        return "none"
    return value if len(value) <= 60 else value[:59] + "…"
