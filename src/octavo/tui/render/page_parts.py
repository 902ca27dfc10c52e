"""Parts of a page: its source in blocks, the way down to a block, and the threads at its blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from textual.message import Message

from octavo.api.folding import fold
from octavo.documents.blocks import NO_ATTRS, Block, Document, Run

_PIECE, _LONGEST = 2_000, 8_000
"""Characters of a source that are set at a time, and of one line of it."""
_MOST_EDGES = 4_000
"""Blocks of so many begin or end a unit of the source."""
_FEW_LINES, _STRETCHES = 8, (2_000, 250, 60)
"""More lines than so many are counted in stretches of so many characters: to find each takes a tenth of a second in all."""


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


def source_blocks(source: str, blocks: Iterable[Block] = (), of: Block | None = None) -> list[Block]:
    """The source of a page, cut into blocks of lines; the longest lines are cut too. A cursor can be on those of `blocks`
    and of `of`, one of them or within one: they have their keys, as far as they are in one piece."""
    out: list[Block] = []
    every = [*blocks]
    thin = 2 * len(every) // _MOST_EDGES + 1  # one block after the other may be too little to be a unit of its own
    tops = {block.lines[0]: block for block in every[::thin] if block.lines[0] < block.lines[1]}
    owners = [*tops.values(), *([of] if of is not None else [])]
    begin = {block.lines[0]: block for block in owners}
    top: Block | None = None
    known: set[str] = set()
    edges = sorted({*tops, *(of.lines if of is not None else ())})
    if thin == 1:
        edges = sorted({*edges, *(block.lines[1] for block in owners)})
    for text, first, last in _pieces(source, edges):
        top, owner = tops.get(first, top), begin.get(first)
        if owner is None and top is not None and first < top.lines[1]:
            owner = top
        key = owner.key if owner is not None and owner.lines[0] == first else ""
        if not key or key in known:
            key = f"source-{len(out)}"
        known.add(key)
        attrs = {"of": owner.kind} if owner is not None else NO_ATTRS
        out.append(Block("source", attrs, text=text, lines=(first, last), key=key))
    return out


def _pieces(source: str, edges: Iterable[int]) -> Iterator[tuple[str, int, int]]:
    """Stretches of a source, the line each begins in, and the one before which it ends. None goes over one of `edges`,
    which are lines. They are told by their length: to look at each line takes a tenth of a second for a huge page."""
    start = line = 0
    for edge in (*edges, None):
        end = len(source)
        if edge is not None:
            end = _end_of_line(source, start, edge - line)
        if end < start:
            continue
        while end - start > _PIECE:
            stop = source.rfind("\n", start, start + _PIECE)
            if stop < 0:
                stop = source.find("\n", start, min(end, start + _LONGEST))
            ends = stop >= 0
            if not ends and end - start <= _LONGEST:
                break
            text = source[start : stop if ends else start + _LONGEST]
            last = line + text.count("\n") + ends
            yield text, line, last
            start, line = start + len(text) + ends, last
        text = source[start:end]
        last = line + text.count("\n") + 1
        yield text, line, last
        start, line = end + 1, last


def _end_of_line(source: str, start: int, lines: int) -> int:
    """Where the last of so many lines ends, the first of which begins at `start`. Before it when it is no line of this
    source."""
    for stretch in _STRETCHES:
        while lines > _FEW_LINES and start < len(source):
            here = source.count("\n", start, start + stretch)
            if here >= lines:
                break
            lines, start = lines - here, start + stretch
    end = start - 1
    for _ in range(lines):
        if (end := source.find("\n", end + 1)) < 0:
            break
    return end


def too_big(block: Block) -> list[Block] | None:
    """Return a block with a very long source as smaller blocks, below a hint that says why."""
    if not block.attrs.get("source") or len(block.text) <= 4 * _LONGEST:
        return None
    said = Block("paragraph", runs=(Run("This page is too large to format, so it is shown as source."),))
    return [Block("hint", {"style": "info"}, (said,)), *source_blocks(block.text)]


def same_title(heading: str, title: str) -> bool:
    """Whether a heading says no more than the title above it, which may begin with an emoji."""
    heading, title = " ".join(fold(heading).split()), " ".join(fold(title).split())
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
    """How much hangs on blocks, such as open threads, by their keys. What hangs on a block that is not on show is marked at
    the innermost one around it that is."""

    def __init__(self, blocks: Iterable[Block] = (), counts: Mapping[str, int] | None = None) -> None:
        self.counts = {key: count for key, count in (counts or {}).items() if key and count}
        self._paths: list[tuple[Block, ...]] = []
        self.top_keys: set[str] = set()
        """The keys of the top blocks that have one in them."""
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

    def is_in(self, top: Block, part: Block | None) -> bool:
        """Whether one hangs in a block of the top level, or in a slice of it."""
        return top.key in self.top_keys and (part is None or any(each.key in self.counts for each in part.walk()))

    def among(self, keys: set[str], part: Block | None = None) -> dict[str, list[tuple[Block, ...]]]:
        """What to mark at the blocks called `keys`: the ways down to the blocks that they hang on, in reading order;
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
