"""Parts of a page: its beginning, its source in blocks, the way down to a block, and the threads at its blocks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from textual.message import Message

from octavo.documents.blocks import Block

_SOURCE_LINES = 60


class LinkFollowed(Message):
    """A link, image or file was opened. `outside`: in the browser."""

    def __init__(self, href: str, outside: bool, kind: str) -> None:
        super().__init__()
        self.href = href
        self.outside = outside
        self.kind = kind
        """link, image or file."""


def beginning(markdown: str, length: int) -> str:
    """The first part of a page, about as long as asked: up to a blank line that no fence spans, else a line end."""
    cut = markdown.find("\n\n", length, 2 * length)
    while cut >= 0 and markdown.count("\n```", 0, cut) % 2:
        cut = markdown.find("\n\n", cut + 2, 2 * length)
    if cut < 0:
        cut = markdown.find("\n", length, 2 * length)
    return markdown[: cut if cut >= 0 else 2 * length]


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


class ThreadMarks:
    """Open threads by the blocks they hang on. A thread in a block that is not on show is marked at the innermost one
    around it that is."""

    def __init__(self, blocks: Iterable[Block] = (), counts: Mapping[str, int] | None = None) -> None:
        self.counts = {key: count for key, count in (counts or {}).items() if key and count}
        self._above: dict[str, list[str]] = {}
        self.top_keys: set[str] = set()
        """The keys of the top blocks that have a thread in them."""
        if self.counts:
            for block in blocks:
                self._visit(block, [])

    def _visit(self, block: Block, above: list[str]) -> None:
        here = [block.key, *above]
        if block.key in self.counts:
            self._above[block.key] = here
            self.top_keys.add(here[-1])
        for child in block.children:
            self._visit(child, here)

    def __bool__(self) -> bool:
        return bool(self._above)

    def among(self, keys: set[str], part: Block | None = None) -> dict[str, int]:
        """How many to show at each of the blocks called `keys`; only those within `part`, a slice of a long block."""
        out: dict[str, int] = {}
        within = {child.key for child in part.children} if part is not None else None
        for key, path in self._above.items():
            if within is not None and within.isdisjoint(path):
                continue
            owner = next((each for each in path if each in keys), None)
            if owner is not None:
                out[owner] = out.get(owner, 0) + self.counts[key]
        return out
