"""The two pages of a diff, rebuilt from its entries."""

from __future__ import annotations

from collections.abc import Iterable

from octavo.documents.blocks import Block, Document
from octavo.documents.diff_model import (
    AddedBlock,
    ChangedBlock,
    CodeChange,
    ContainerChange,
    Diff,
    Entry,
    MovedBlock,
    RemovedBlock,
    RestructuredBlocks,
    RowChange,
    TableChange,
    TextChange,
    UnchangedBlocks,
)


def check_sides(diff: Diff, old: Document, new: Document) -> None:
    """Check that both pages can be rebuilt from a diff with their containers and tables, and that each change is
    reported."""
    _check(diff.entries, old.blocks, new.blocks)


def _check(entries: tuple[Entry, ...], old: tuple[Block, ...], new: tuple[Block, ...]) -> None:
    assert old_side(entries) == list(old)
    assert new_side(entries) == list(new)
    for entry in entries:
        match entry:
            case ChangedBlock(parts=parts):
                assert says_something(entry)
                if isinstance(parts, (ContainerChange, TableChange)):
                    within = parts.entries if isinstance(parts, ContainerChange) else parts.rows
                    _check(within, entry.old.children, entry.new.children)


def says_something(entry: ChangedBlock) -> bool:
    """Return whether a change shows a difference."""
    if entry.settings or entry.old.kind != entry.new.kind:
        return True
    match entry.parts:
        case TextChange(kinds=sorts):
            return bool(sorts)
        case CodeChange(lines=lines):
            return any(line.op != "equal" for line in lines)
        case RowChange(cells=cells):
            return any(cell.settings or (cell.words is not None and cell.words.kinds) for cell in cells)
        case TableChange(columns=columns, rows=rows):
            titles = [(pair.old and pair.old.title, pair.new and pair.new.title) for pair in columns]
            return any(old != new for old, new in titles) or any(not isinstance(row, UnchangedBlocks) for row in rows)
        case ContainerChange(entries=entries, title=title):
            return bool(title and title.kinds) or any(not isinstance(each, UnchangedBlocks) for each in entries)
    return entry.old.plain() != entry.new.plain()


def old_side(entries: Iterable[Entry]) -> list[Block]:
    """The blocks of the page as it was."""
    found: list[Block] = []
    for entry in entries:
        match entry:
            case UnchangedBlocks(old=blocks) | RestructuredBlocks(old=blocks):
                found += blocks
            case RemovedBlock(block=block) | ChangedBlock(old=block) | MovedBlock(old=block, is_arrival=False):
                found.append(block)
    return found


def new_side(entries: Iterable[Entry]) -> list[Block]:
    """The blocks of the page as it is."""
    found: list[Block] = []
    for entry in entries:
        match entry:
            case UnchangedBlocks(new=blocks) | RestructuredBlocks(new=blocks):
                found += blocks
            case AddedBlock(block=block) | ChangedBlock(new=block) | MovedBlock(new=block, is_arrival=True):
                found.append(block)
    return found


def moves_to_the_same_place(diff: Diff) -> list[str]:
    """Return the texts of blocks that are said to have moved although they passed no block that stayed."""
    places: dict[int, dict[bool, int]] = {}
    texts: dict[int, str] = {}

    def count(entries: Iterable[Entry], stayed: int) -> int:
        for entry in entries:
            match entry:
                case UnchangedBlocks(new=blocks):
                    stayed += len(blocks)
                case MovedBlock(number=number, is_arrival=arrives, new=block):
                    places.setdefault(number, {})[arrives] = stayed
                    texts[number] = block.plain()
                case ChangedBlock(parts=ContainerChange(entries=within)):
                    stayed = count(within, stayed)
                case ChangedBlock(parts=TableChange(rows=rows)):
                    stayed = count(rows, stayed) + 1
                case ChangedBlock():
                    stayed += 1
                case AddedBlock(entries=within) | RemovedBlock(entries=within) | RestructuredBlocks(entries=within):
                    stayed = count(within, stayed)
        return stayed

    count(diff.entries, 0)
    return [texts[number] for number, place in places.items() if place[True] == place[False]]
