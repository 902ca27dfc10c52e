"""Two sides of a page, and what differs between them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from octavo.documents.blocks import Block, Document
from octavo.documents.diff import diff
from octavo.documents.diff_model import Changed, Diff, Moved
from octavo.documents.diff_text import SourceHunk, source_diff
from octavo.tui.render.block_slices import is_long, kept_slices
from octavo.tui.render.code import shape
from octavo.tui.render.diff_units import kept_entries
from octavo.tui.render.tables import telling


@dataclass(frozen=True)
class Compared:
    """A page as it was and as it is, and what differs. To make one (`compare`) and to ask it for its hunks first takes
    long enough to be done off the event loop."""

    diff: Diff
    old: Document
    new: Document
    olds: frozenset[int] = field(default=frozenset(), compare=False, repr=False)
    """The blocks of the old page, by their identity: known once one is made of two pages."""

    _named: Mapping[str, Block] = field(default_factory=dict, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not self.olds:
            object.__setattr__(self, "olds", frozenset(map(id, self.old.walk())))
        named = {block.key: block for page in (self.old, self.new) for block in page.walk() if block.key}
        object.__setattr__(self, "_named", named)

    def find(self, key: str) -> Block | None:
        """The block called `key`: of the new page, or else of the old one."""
        return self._named.get(key)

    def says_the_same(self, other: Compared) -> bool:
        """Whether the same texts were compared, of pages with the same settings."""
        texts = self.old.source == other.old.source and self.new.source == other.new.source
        return texts and self.diff.metadata == other.diff.metadata

    def is_old(self, block: Block) -> bool:
        """Whether a block is one of the page as it was."""
        return id(block) in self.olds

    @cached_property
    def hunks(self) -> tuple[SourceHunk, ...]:
        """What differs between the sources."""
        return source_diff(self.old.source, self.new.source)


def compare(before: str, after: str) -> Compared:
    """What differs between two texts of a page."""
    from octavo.documents.parse import parse  # the parser takes 30 ms to load, and no frame needs it

    old, new = parse(before), parse(after)
    for block in filter(is_long, (*old.blocks, *new.blocks)):
        _go_through(kept_slices(block))  # the diff is made of them, and they are cut here off the event loop
        if block.kind == "table":
            telling(block)
        elif block.kind == "code":
            shape(block)
    changed = diff(old, new)
    for entry in changed.entries:
        if isinstance(entry, (Changed, Moved)):
            _go_through(kept_entries(entry))
    return Compared(changed, old, new)


def _go_through(pieces: Iterator[object]) -> None:
    """Let all pieces be made: they are kept where they are made."""
    deque(pieces, maxlen=0)
