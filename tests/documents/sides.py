"""The two pages of a diff, rebuilt from its entries."""

from __future__ import annotations

from collections.abc import Iterable

from octavo.documents.blocks import Block
from octavo.documents.changes import Added, Changed, Entry, Moved, Removed, Restructured, Same


def old_side(entries: Iterable[Entry]) -> list[Block]:
    """The blocks of the page as it was."""
    found: list[Block] = []
    for entry in entries:
        match entry:
            case Same(old=blocks) | Restructured(old=blocks):
                found += blocks
            case Removed(block=block) | Changed(old=block) | Moved(old=block, arrives=False):
                found.append(block)
    return found


def new_side(entries: Iterable[Entry]) -> list[Block]:
    """The blocks of the page as it is."""
    found: list[Block] = []
    for entry in entries:
        match entry:
            case Same(new=blocks) | Restructured(new=blocks):
                found += blocks
            case Added(block=block) | Changed(new=block) | Moved(new=block, arrives=True):
                found.append(block)
    return found
