"""The blocks of two versions of a page as one flat list of pairs, for programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from octavo.documents.blocks import Block
from octavo.documents.diff_model import (
    AddedBlock,
    ChangedBlock,
    CodeChange,
    ContainerChange,
    Diff,
    Entry,
    MovedBlock,
    Parts,
    RemovedBlock,
    RestructuredBlocks,
    RowChange,
    TableChange,
    TextChange,
    TextPart,
    UnchangedBlocks,
)

Word = tuple[Literal["same", "ins", "del"], str]
"""A stretch of text: in both versions, in the new one only, or in the old one only."""
Change = Literal["same", "added", "edited", "deleted", "moved"]

_SIGNS: dict[str, Literal["same", "ins", "del"]] = {"insert": "ins", "delete": "del"}


@dataclass(frozen=True, slots=True)
class BlockChange:
    """A block in the old version, in the new version, or in both."""

    change: Change
    before: Block | None
    after: Block | None
    words: tuple[Word, ...] = ()
    """The text with its changes. Empty for blocks that were not edited, and for edits without text."""

    @property
    def block(self) -> Block:
        """The block in the new version, else in the old one."""
        block = self.after or self.before
        assert block is not None, "a change has a block"
        return block


def block_changes(diff: Diff) -> Iterator[BlockChange]:
    """Yield the blocks of both versions in reading order. Containers are replaced by their blocks, except containers that
    were added, deleted or moved as a whole, and those whose own settings changed."""
    yield from _changes(diff.entries)


def _changes(entries: Iterable[Entry]) -> Iterator[BlockChange]:
    for entry in entries:
        match entry:
            case UnchangedBlocks(old, new):
                yield from (BlockChange("same", *pair) for pair in zip(old, new, strict=False))
            case AddedBlock(block, inner):
                yield from _changes(inner) if inner else (BlockChange("added", None, block),)
            case RemovedBlock(block, inner):
                yield from _changes(inner) if inner else (BlockChange("deleted", block, None),)
            case ChangedBlock(old_block, new_block, settings, parts):
                yield from _edited_block("edited", old_block, new_block, parts, has_settings=bool(settings))
            case MovedBlock(old_block, new_block, is_arrival=True, parts=parts):
                yield BlockChange("moved", old_block, new_block, _joined_words(parts))
            case RestructuredBlocks(old, new, entries=inner):
                if inner:
                    yield from _changes(inner)
                else:
                    yield from (BlockChange("deleted", block, None) for block in old)
                    yield from (BlockChange("added", None, block) for block in new)


def _edited_block(change: Change, old: Block, new: Block, parts: Parts, *, has_settings: bool) -> Iterator[BlockChange]:
    inner = parts.entries if isinstance(parts, ContainerChange) else ()
    if isinstance(parts, TableChange):
        inner = parts.rows
    title = parts.title if isinstance(parts, ContainerChange) else None
    if not inner or has_settings or (title is not None and title.kinds):
        yield BlockChange(change, old, new, _joined_words(parts))
    yield from _changes(inner)


def _joined_words(parts: Parts) -> tuple[Word, ...]:
    """Return the text of a changed block, with one entry for each stretch."""
    stretches = groupby(_words(parts), key=lambda word: word[0])
    return tuple((sign, "".join(text for _, text in words)) for sign, words in stretches)


def _words(parts: Parts) -> Iterator[Word]:
    """Yield the text of a changed block. Only the title of a container, whose blocks have changes of their own."""
    match parts:
        case TextChange(words):
            yield from map(_word, words)
        case CodeChange(lines):
            for line in lines:
                if line.omitted:
                    continue
                if line.op == "change":
                    yield from map(_word, line.words)
                    yield "same", "\n"
                else:
                    yield _SIGNS.get(line.op, "same"), f"{line.old if line.op == 'delete' else line.new}\n"
        case RowChange(cells):
            for number, cell in enumerate(cells):
                if number:
                    yield "same", " | "
                if cell.words is not None:
                    yield from map(_word, cell.words.words)
                elif (block := cell.new or cell.old) is not None:
                    yield "same", block.plain()
        case ContainerChange(title=TextChange(words)):
            yield from map(_word, words)


def _word(part: TextPart) -> Word:
    return _SIGNS.get(part.op, "same"), part.run.text


def new_keys(diff: Diff) -> dict[str, str]:
    """Return the key in the new version of each block of the old version that still exists, edited or moved."""
    return dict(_pairs(diff.entries))


def _pairs(entries: Iterable[Entry]) -> Iterator[tuple[str, str]]:
    for entry in entries:
        match entry:
            case UnchangedBlocks(old, new):
                for pair in zip(old, new, strict=False):
                    yield from _equal_pairs(*pair)
            case AddedBlock(entries=inner) | RemovedBlock(entries=inner) | RestructuredBlocks(entries=inner):
                yield from _pairs(inner)
            case ChangedBlock(old_block, new_block, parts=parts) | MovedBlock(old_block, new_block, parts=parts):
                yield from _block_pairs(old_block, new_block, parts)


def _block_pairs(old: Block, new: Block, parts: Parts) -> Iterator[tuple[str, str]]:
    yield old.key, new.key
    match parts:
        case None:
            yield from _equal_pairs(old, new)
        case ContainerChange(entries):
            yield from _pairs(entries)
        case TableChange(rows=rows):
            yield from _pairs(rows)
        case RowChange(cells):
            yield from ((cell.old.key, cell.new.key) for cell in cells if cell.old is not None and cell.new is not None)


def _equal_pairs(old: Block, new: Block) -> Iterator[tuple[str, str]]:
    """Yield the keys of a block and its descendants, if both versions have the same structure."""
    pairs = list(zip(old.walk(), new.walk(), strict=False))
    if all(before.kind == after.kind for before, after in pairs):
        yield from ((before.key, after.key) for before, after in pairs)
