"""Finds the block of a note that a program wrote, also if the page was edited since.

A note names a block by its key, or quotes its text. The key belongs to a version of the page: the version that the program
read, which may be older than the compared versions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from octavo.documents.blocks import Block, Document, plain_text
from octavo.documents.diff import diff, new_keys
from octavo.documents.sequences import similar_parts
from octavo.documents.suggestions import block_source

Placed = Literal["exact", "words", "likely"]
"""Method by which a block was found: by its key, by the words of the quote, or as the most similar block."""
Side = Literal["after", "before"]

_MIN_QUOTE = 4
_MIN_SIMILAR, _MIN_SIMILARITY, _MIN_LEAD = 20, 80.0, 5.0
"""Minimum length of a quote for a search by similarity, minimum similarity of the block in percent, and minimum lead of
that block over all others."""
_MIN_LENGTH = 0.7
"""Minimum length of the text of a similar block, as a share of the length of the quote."""
_MAX_BLOCKS = 4_000
"""Maximum number of blocks with text. In larger pages, no similar block is searched."""


@dataclass(frozen=True, slots=True)
class NotePlace:
    """The block of a note."""

    block: Block
    placed: Placed
    side: Side
    """The version that has the block. `before` if only the old version has it."""


class NotePlaces:
    """The old and the new version of a page, for finding the blocks that notes are about."""

    def __init__(self, before: Document, after: Document, name: str) -> None:
        """`name` is the name of the page, for messages."""
        self._before, self._after, self._name = _Version(before), _Version(after), name
        self._keys_since: dict[str, dict[str, str]] = {}

    def find(self, key: str, quote: str, *, side: Side = "after", read: Document | None = None) -> NotePlace | str:
        """Return the block of a note, or the reason why there is none, as the end of a sentence.

        `side` is the version that the note is about. `read` is the version in which the program found the block, if that
        version is neither the old nor the new version of the page.
        """
        sides: tuple[tuple[Side, _Version], ...] = (("after", self._after), ("before", self._before))
        if side == "before":
            sides = sides[::-1]
        if (place := self._by_key(key, sides, read)) is not None:
            return place
        count = 0
        for name, version in sides:
            found = version.with_words(quote)
            if len(found) == 1:
                return NotePlace(found[0], "words", name)
            count = count or len(found)
        if count:
            return f"the quote is in {count} blocks of {self._name}"
        if (similar := self._after.most_similar(quote)) is not None:
            return NotePlace(similar, "likely", "after")
        missing = "the quote is not" if quote else "there is no such block"
        return f"{missing} in {self._name} any more"

    def _by_key(self, key: str, sides: Sequence[tuple[Side, _Version]], read: Document | None) -> NotePlace | None:
        first, second = sides
        if not key:
            return None
        if (block := first[1].by_key.get(key)) is not None:
            return NotePlace(block, "exact", first[0])
        if read is not None and (since := self._find_successor(read, key)) is not None:
            return NotePlace(since, "likely", "after")
        if (block := second[1].by_key.get(key)) is None:
            return None
        if second[0] == "before" and (counterpart := self._find_successor(self._before.document, key)) is not None:
            return NotePlace(counterpart, "likely", "after")
        return NotePlace(block, "exact", second[0])

    def _find_successor(self, document: Document, key: str) -> Block | None:
        """Return the block of the new version that corresponds to a block of an older version. None if the block was
        deleted."""
        if document.source not in self._keys_since:
            self._keys_since[document.source] = new_keys(diff(document, self._after.document))
        return self._after.by_key.get(self._keys_since[document.source].get(key, ""))


class _Version:
    """One version of a page with its blocks by key and by text."""

    def __init__(self, document: Document) -> None:
        self.document = document

    @cached_property
    def by_key(self) -> dict[str, Block]:
        return {block.key: block for block in self.document.walk()}

    def with_words(self, quote: str) -> list[Block]:
        """Return the blocks whose own text contains the quote, else the smallest blocks whose Markdown contains it."""
        words = _normalize(quote)
        if len(words) < _MIN_QUOTE:
            return []
        return [block for block, text in self._leaves if words in text] or list(
            self._smallest_blocks_with(self.document.blocks, words)
        )

    def _smallest_blocks_with(self, blocks: Sequence[Block], words: str) -> Iterator[Block]:
        for block in blocks:
            if words in _normalize(block_source(self.document.source, block)):
                inner = list(self._smallest_blocks_with(block.children, words))
                # The cells of a row are on the same line, so the quote is in the row.
                is_row = len(inner) > 1 and all(each.lines == block.lines for each in inner)
                yield from inner if inner and not is_row else (block,)

    def most_similar(self, quote: str) -> Block | None:
        """Return the block with the part that is most similar to the quote. None if no block is similar, or
        if two blocks are about equally similar."""
        words = _normalize(quote)
        if len(words) < _MIN_SIMILAR or len(self._leaves) > _MAX_BLOCKS:
            return None
        long_enough = [leave for leave in self._leaves if len(leave[1]) >= len(words) * _MIN_LENGTH]
        texts = [text for _, text in long_enough]
        matches = similar_parts(words, texts, _MIN_SIMILARITY, limit=2)
        if not matches or (len(matches) == 2 and matches[0][0] - matches[1][0] < _MIN_LEAD):
            return None
        return long_enough[matches[0][1]][0]

    @cached_property
    def _leaves(self) -> list[tuple[Block, str]]:
        """The blocks that have text of their own, with that text."""
        return [
            (block, _normalize(block.text or plain_text(block.runs)))
            for block in self.document.walk()
            if block.runs or block.text
        ]


def _normalize(text: str) -> str:
    return " ".join(text.split())
