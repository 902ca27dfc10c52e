"""Parts of a page: its source in blocks, the way down to a block, and the threads at its blocks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from textual.message import Message

from octavo.documents.blocks import Block, Document

_SOURCE_LINES = 60


class LinkFollowed(Message):
    """A link, image, file or note was opened, or a button pressed. `outside`: in the browser."""

    def __init__(self, href: str, outside: bool, kind: str, words: str = "") -> None:
        super().__init__()
        self.href = href
        """An address; of a note its label, of a button what it asks or searches; of the page itself nothing."""
        self.outside = outside
        self.kind = kind
        """link, image, file, note, ask, search or page."""
        self.words = words
        """What the link says."""


class AddressWanted(Message):
    """The address of a link is to be copied, or of the page itself (kind page)."""

    def __init__(self, href: str, kind: str) -> None:
        super().__init__()
        self.href = href
        self.kind = kind


def source_blocks(source: str) -> list[Block]:
    """The source of a page, cut into blocks of lines."""
    rows = source.split("\n")
    return [
        Block(
            "source",
            text="\n".join(rows[start : start + _SOURCE_LINES]),
            lines=(start, min(len(rows), start + _SOURCE_LINES)),
            key=f"source-{start}",
        )
        for start in range(0, len(rows), _SOURCE_LINES)
    ]


def same_title(heading: str, title: str) -> bool:
    """Whether a heading says no more than the title above it, which may begin with an emoji."""
    heading, title = " ".join(heading.split()).casefold(), " ".join(title.split()).casefold()
    return heading == title or title.endswith(f" {heading}")


def anchors_above(document: Document) -> dict[str, str]:
    """For the key of each block the anchor of the last heading at or above it; empty before the first."""
    anchors = {heading.block.key: heading.anchor for heading in document.headings}
    out: dict[str, str] = {}
    here = ""
    for block in document.walk():
        here = anchors.get(block.key, here)
        out[block.key] = here
    return out


class ThreadMarks:
    """Open threads by the blocks they hang on. A thread in a block that is not on show is marked at the innermost one
    around it that is."""

    def __init__(self, blocks: Iterable[Block] = (), counts: Mapping[str, int] | None = None) -> None:
        self.counts = {key: count for key, count in (counts or {}).items() if key and count}
        self._paths: list[tuple[Block, ...]] = []
        self.top_keys: set[str] = set()
        """The keys of the top blocks that have a thread in them."""
        if self.counts:
            for block in blocks:
                self._visit(block, ())

    def _visit(self, block: Block, above: tuple[Block, ...]) -> None:
        path = (*above, block)
        if block.key in self.counts:
            self._paths.append(path)
            self.top_keys.add(path[0].key)
        for child in block.children:
            self._visit(child, path)

    def __bool__(self) -> bool:
        return bool(self._paths)

    def among(self, keys: set[str], part: Block | None = None) -> dict[str, list[tuple[Block, ...]]]:
        """What to mark at the blocks called `keys`: the ways down to the blocks that threads hang on, in reading order;
        only those within `part`, a slice of a long block."""
        out: dict[str, list[tuple[Block, ...]]] = {}
        within = {child.key for child in part.children} if part is not None else None
        for path in self._paths:
            if within is not None and within.isdisjoint(block.key for block in path):
                continue
            owner = next((block.key for block in reversed(path) if block.key in keys), None)
            if owner is not None:
                out.setdefault(owner, []).append(path)
        return out
