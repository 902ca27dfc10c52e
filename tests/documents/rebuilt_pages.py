"""Rebuilds both pages of a diff from its entries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from octavo.documents.blocks import Block, Document, plain_text
from octavo.documents.diff_model import (
    AddedBlock,
    ChangedBlock,
    CodeChange,
    ContainerChange,
    ContentChange,
    Diff,
    DiffEntry,
    MovedBlock,
    RemovedBlock,
    RestructuredBlocks,
    RowChange,
    TableChange,
    TextChange,
    UnchangedBlocks,
)


def check_rebuilt_pages(diff: Diff, old: Document, new: Document) -> None:
    """Check that both pages can be rebuilt from a diff with their containers and tables, and that each change is
    reported."""
    _check(diff.entries, old.blocks, new.blocks)


def _check(entries: tuple[DiffEntry, ...], old: tuple[Block, ...], new: tuple[Block, ...]) -> None:
    assert blocks_before(entries) == list(old)
    assert blocks_after(entries) == list(new)
    for entry in entries:
        match entry:
            case ChangedBlock(content_change=parts):
                assert shows_a_difference(entry)
                if isinstance(parts, (ContainerChange, TableChange)):
                    within = parts.entries if isinstance(parts, ContainerChange) else parts.rows
                    _check(within, entry.old.children, entry.new.children)


def shows_a_difference(entry: ChangedBlock) -> bool:
    """Return whether a change shows a difference."""
    if entry.settings or entry.old.kind != entry.new.kind:
        return True
    match entry.content_change:
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


def blocks_before(entries: Iterable[DiffEntry]) -> list[Block]:
    """Return the blocks of the old page."""
    found: list[Block] = []
    for entry in entries:
        match entry:
            case UnchangedBlocks(old=blocks) | RestructuredBlocks(old=blocks):
                found += blocks
            case RemovedBlock(block=block) | ChangedBlock(old=block) | MovedBlock(old=block, is_arrival=False):
                found.append(block)
    return found


def blocks_after(entries: Iterable[DiffEntry]) -> list[Block]:
    """Return the blocks of the new page."""
    found: list[Block] = []
    for entry in entries:
        match entry:
            case UnchangedBlocks(new=blocks) | RestructuredBlocks(new=blocks):
                found += blocks
            case AddedBlock(block=block) | ChangedBlock(new=block) | MovedBlock(new=block, is_arrival=True):
                found.append(block)
    return found


def shown_letters(entries: Iterable[DiffEntry]) -> tuple[Counter[str], Counter[str]]:
    """Return the letters of the words that a diff shows as removed, and of those that it shows as added. Titles in
    notes count as removed."""
    removed, added = Counter[str](), Counter[str]()

    def show_parts(parts: ContentChange) -> None:
        match parts:
            case TextChange(words=words):
                for word in words:
                    removed.update(word.run.text if word.op == "delete" else "")
                    added.update(word.run.text if word.op == "insert" else "")
            case CodeChange(lines=lines):
                for line in lines:
                    removed.update(line.old if line.op != "equal" else "")
                    added.update(line.new if line.op != "equal" else "")
            case RowChange(cells=cells):
                for cell in cells:
                    show_parts(cell.words)
            case TableChange(columns=columns, rows=rows):
                for pair in columns:
                    removed.update(plain_text(pair.old.title) if pair.old else "")
                    added.update(plain_text(pair.new.title) if pair.new else "")
                show(rows)
            case ContainerChange(entries=inner, title=title):
                show_parts(title)
                show(inner)

    def show(entries: Iterable[DiffEntry]) -> None:
        for entry in entries:
            match entry:
                case AddedBlock(block, inner):
                    added.update(own_text(block) if inner else all_text(block))
                    show(inner)
                case RemovedBlock(block, inner):
                    removed.update(own_text(block) if inner else all_text(block))
                    show(inner)
                case MovedBlock(is_arrival=False) | UnchangedBlocks():
                    pass
                case RestructuredBlocks(note=note, entries=inner):
                    removed.update(note)
                    show(inner)
                case ChangedBlock(old, new, settings, parts) | MovedBlock(
                    old, new, settings=settings, content_change=parts
                ):
                    removed.update("".join(setting.old or "" for setting in settings))
                    added.update("".join(setting.new or "" for setting in settings))
                    if parts is None:
                        removed.update(all_text(old))
                        added.update(all_text(new))
                    show_parts(parts)

    show(entries)
    return removed, added


def all_text(block: Block) -> str:
    """Return the text of a block and of the blocks inside it."""
    return "".join(map(own_text, block.walk()))


def own_text(block: Block) -> str:
    """Return the text of a block without that of the blocks inside it."""
    columns = "".join(plain_text(column.title) for column in block.attrs.get("columns", ()))
    return f"{block.attrs.get('title') or ''}{columns}{plain_text(block.runs)}{block.text}"


def moves_without_effect(diff: Diff) -> list[str]:
    """Return the texts of moved blocks that have not passed any unchanged block."""
    places: dict[int, dict[bool, int]] = {}
    texts: dict[int, str] = {}

    def count_stayed(entries: Iterable[DiffEntry], stayed: int) -> int:
        for entry in entries:
            match entry:
                case UnchangedBlocks(new=blocks):
                    stayed += len(blocks)
                case MovedBlock(number=number, is_arrival=arrives, new=block):
                    places.setdefault(number, {})[arrives] = stayed
                    texts[number] = block.plain()
                case ChangedBlock(content_change=ContainerChange(entries=within)):
                    stayed = count_stayed(within, stayed)
                case ChangedBlock(content_change=TableChange(rows=rows)):
                    stayed = count_stayed(rows, stayed) + 1
                case ChangedBlock():
                    stayed += 1
                case AddedBlock(entries=within) | RemovedBlock(entries=within) | RestructuredBlocks(entries=within):
                    stayed = count_stayed(within, stayed)
        return stayed

    count_stayed(diff.entries, 0)
    return [texts[number] for number, place in places.items() if place[True] == place[False]]
