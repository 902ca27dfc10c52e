"""Parts of page views: the source of a page as blocks, comparison of titles, thread marks, and the messages about
links."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from textual.message import Message

from octavo.api.folding import fold
from octavo.documents.blocks import NO_ATTRS, Block, Document, Run

_SOURCE_BLOCK, _LONGEST_LINE = 2_000, 8_000
"""Maximum number of characters of a source block with several lines, and of a block with a single line. Longer lines
are split."""
_MOST_EDGES = 4_000
"""Maximum number of starts and ends of blocks at which source blocks begin. If a page has more, source blocks begin at
the starts of some blocks only."""
_FEW_LINES, _STEPS = 8, (2_000, 250, 60)
"""Constants of `_end_of_line`. At most `_FEW_LINES` lines are counted one by one. More lines are first counted in
steps of `_STEPS` characters: large steps are faster."""


class LinkFollowed(Message):
    """Message: the user opened a link, image, file or note, or pressed a button. `outside`: open it in the browser."""

    def __init__(self, href: str, outside: bool, kind: str, text: str = "") -> None:
        super().__init__()
        self.href = href
        """URL or path of a link, label of a note, or query of a button. Empty for the page itself."""
        self.outside = outside
        self.kind = kind
        """One of link, image, file, note, ask, search and page."""
        self.text = text
        """Text of the link."""


class CopyUrlRequested(Message):
    """Message: the user wants to copy the URL of a link, or of the page itself if `kind` is `page`."""

    def __init__(self, href: str, kind: str) -> None:
        super().__init__()
        self.href = href
        self.kind = kind


def source_blocks(source: str, blocks: Iterable[Block] = (), selected: Block | None = None) -> list[Block]:
    """Return the source of a page as blocks of lines. Long lines are split.

    A source block begins at each block in `blocks` and at `selected`, and has its key, so that the cursor can move
    there."""
    out: list[Block] = []
    every = [*blocks]
    thin = 2 * len(every) // _MOST_EDGES + 1  # Only every n-th of very many blocks begins a source block.
    tops = {block.lines[0]: block for block in every[::thin] if block.lines[0] < block.lines[1]}
    owners = [*tops.values(), *([selected] if selected is not None else [])]
    begin = {block.lines[0]: block for block in owners}
    top: Block | None = None
    known: set[str] = set()
    edges = sorted({*tops, *(selected.lines if selected is not None else ())})
    if thin == 1:
        edges = sorted({*edges, *(block.lines[1] for block in owners)})
    for text, first, last in _split_source(source, edges):
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


def _split_source(source: str, edges: Iterable[int]) -> Iterator[tuple[str, int, int]]:
    """Yield parts of a source with their first line and the line after their last. No part crosses a line in
    `edges`."""
    start = line = 0
    for edge in (*edges, None):
        end = len(source)
        if edge is not None:
            end = _end_of_line(source, start, edge - line)
        if end < start:
            continue
        while end - start > _SOURCE_BLOCK:
            stop = source.rfind("\n", start, start + _SOURCE_BLOCK)
            if stop < 0:
                stop = source.find("\n", start, min(end, start + _LONGEST_LINE))
            ends = stop >= 0
            if not ends and end - start <= _LONGEST_LINE:
                break
            text = source[start : stop if ends else start + _LONGEST_LINE]
            last = line + text.count("\n") + ends
            yield text, line, last
            start, line = start + len(text) + ends, last
        text = source[start:end]
        last = line + text.count("\n") + 1
        yield text, line, last
        start, line = end + 1, last


def _end_of_line(source: str, start: int, lines: int) -> int:
    """Return the index of the end of line number `lines`, where line 1 begins at `start`. -1 if the source has fewer
    lines."""
    for stretch in _STEPS:
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


def split_oversized(block: Block) -> list[Block] | None:
    """Return a block with a very long source as smaller blocks, below a hint with the reason. None for other blocks."""
    if not block.attrs.get("source") or len(block.text) <= 4 * _LONGEST_LINE:
        return None
    text = Block("paragraph", runs=(Run("This page is too large to format, so it is shown as source."),))
    return [Block("hint", {"style": "info"}, (text,)), *source_blocks(block.text)]


def repeats_title(heading: str, title: str) -> bool:
    """Return True if a heading only repeats the title of the page, without its emoji."""
    heading, title = " ".join(fold(heading).split()), " ".join(fold(title).split())
    return heading == title or title.endswith(f" {heading}")


def anchors_above(document: Document) -> dict[str, str]:
    """Return the anchor of the last heading at or above each block, by block key. Empty before the first heading."""
    anchors = {heading.block.key: heading.anchor for heading in document.headings}
    out: dict[str, str] = {}
    here = ""
    for block in document.walk():
        here = anchors.get(block.key, here)
        out[block.key] = here
    return out


class ThreadMarks:
    """Number of open threads on blocks, by block key. A thread on a hidden block is marked at the innermost visible
    block around it."""

    def __init__(self, blocks: Iterable[Block] = (), counts: Mapping[str, int] | None = None) -> None:
        self.counts = {key: count for key, count in (counts or {}).items() if key and count}
        self._paths: list[tuple[Block, ...]] = []
        self.top_keys: set[str] = set()
        """Keys of the top-level blocks that contain a block with threads."""
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

    def has_threads(self, top: Block, part: Block | None) -> bool:
        """Return whether a top-level block, or a slice of it, contains a block with threads."""
        return top.key in self.top_keys and (part is None or any(each.key in self.counts for each in part.walk()))

    def paths_at(self, keys: set[str], part: Block | None = None) -> dict[str, list[tuple[Block, ...]]]:
        """Return the paths to the blocks with threads, by the key of the innermost visible block on each path, which
        gets the mark. `keys` are the keys of the visible blocks. `part` limits the paths to a slice."""
        out: dict[str, list[tuple[Block, ...]]] = {}
        within = {child.key for child in part.children} if part is not None else None
        for path in self._paths:
            if within is not None and within.isdisjoint(block.key for block in path):
                continue
            owner = next((block.key for block in reversed(path) if block.key in keys), None)
            if owner is not None:
                out.setdefault(owner, []).append(path)
        return out
