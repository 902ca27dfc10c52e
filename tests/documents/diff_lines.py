"""A diff as a few lines of text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from octavo.documents.blocks import Block, plain_text
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
    TextPart,
    UnchangedBlocks,
)

_SIGNS = {"equal": "{}", "insert": "[+{}]", "delete": "[-{}]", "format": "[f{}]", "link": "[l{}]"}


def marked(parts: Iterable[TextPart]) -> str:
    """Return the words with their changes: `[+added]`, `[-removed]`, `[f other format]`, `[l other link]`."""
    return "".join(
        _SIGNS[word.op].format(word.run.text or str(word.run.attrs.get("src", word.run.kind))) for word in parts
    )


def lines(diff: Diff) -> list[str]:
    """Return a line per entry: `=` number of unchanged blocks, `+` added, `-` removed, `~` changed, `<` and `>` moved, `%` restructured."""
    return [*(f"page {setting}" for setting in diff.metadata), *_entries(diff.entries)]


def _entries(entries: Iterable[DiffEntry]) -> Iterator[str]:
    for entry in entries:
        match entry:
            case UnchangedBlocks(new=blocks):
                yield f"= {len(blocks)}"
            case AddedBlock(block=block, entries=within) | RemovedBlock(block=block, entries=within):
                sign = "+" if isinstance(entry, AddedBlock) else "-"
                yield f"{sign} {'around ' + block.kind if within else _short(block)}"
                yield from (f"  {line}" for line in _entries(within))
            case ChangedBlock(old=old, new=block, content_change=None) if old.plain() != block.plain():
                yield f"~ {_short(old)} => {_short(block)}"
            case ChangedBlock(new=block, content_change=parts):
                yield ", ".join((f"~ {block.kind}", *entry.notes))
                yield from (f"  {line}" for line in _parts(parts))
            case MovedBlock(new=block, number=number, is_arrival=arrives, content_change=parts):
                yield ", ".join(
                    (f"{'>' if arrives else '<'} {number} {_short(block)}", *(entry.notes if arrives else ()))
                )
                yield from (f"  {line}" for line in _parts(parts) if arrives)
            case RestructuredBlocks(note="", entries=within):
                yield from _entries(within)
            case RestructuredBlocks(note=note, entries=within):
                yield f"% {note}"
                yield from (f"  {line}" for line in _entries(within))


def _parts(parts: ContentChange) -> Iterator[str]:
    match parts:
        case TextChange():
            yield ("rewritten " if parts.is_rewritten else "") + marked(parts.words)
        case CodeChange(lines=found):
            for line in found:
                sign = {"equal": "=", "insert": "+", "delete": "-", "change": "~"}[line.op]
                yield f"{sign} {marked(line.words) if line.op == 'change' else line.new or line.old}"
        case RowChange(cells=cells):
            yield " | ".join("=" if cell.words is None else marked(cell.words.words) for cell in cells)
        case TableChange(columns=columns, rows=rows):
            for pair in columns:
                if pair.old is None or pair.new is None:
                    yield f"column {'+' if pair.new else '-'} {plain_text((pair.new or pair.old).title)}"  # type: ignore[union-attr]  # one of the two is not None
            yield from _entries(rows)
        case ContainerChange(entries=entries, title=title):
            if title is not None and title.kinds:
                yield f"title {marked(title.words)}"
            yield from _entries(entries)


def _short(block: Block) -> str:
    return f"{block.kind} {' / '.join(block.plain().splitlines())}".strip()
