"""`VirtualLines`: the lines of a long page, which are rendered when they are needed. Until then, heights are estimated.

`VirtualLines.lines` renders a chunk if its lines are not kept. The background thread renders chunks with `lay_out_chunks`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from octavo.tui.render.styled_lines import Line

if TYPE_CHECKING:
    from octavo.tui.render.deferred import AsyncCache, DeferredContent

U = TypeVar("U")
KEPT_UNITS = 600
"""Maximum number of chunks whose lines are kept."""
KEPT_LINES = 2500
"""Maximum number of kept lines. The last rendered chunk is always kept."""


class VirtualLines(Generic[U]):
    """Lines of chunks, with estimated heights of chunks that are not rendered. Rendering a chunk never moves the chunks
    above it."""

    def __init__(
        self,
        chunks: Sequence[U],
        estimate_height: Callable[[U], int],
        render: Callable[[U], list[Line]],
        rendered_chunks: RenderedChunks | None = None,
        *,
        keeps_all: bool = False,
    ) -> None:
        """`rendered_chunks` has the chunks that the background thread laid out. `keeps_all` keeps the lines of all chunks."""
        self.chunks: list[U] = []
        self._estimate_height, self._render, self._keeps_all = estimate_height, render, keeps_all
        self._heights: list[int] = []
        self.total = 0
        """Height of all chunks, partly estimated."""
        self._exact = bytearray()
        self._lines: OrderedDict[int, list[Line]] = OrderedDict()
        self._count = 0
        self.forgotten: set[int] = set()
        """Indexes of chunks that changed since the background thread began."""
        self.extend(chunks, rendered_chunks)

    def __len__(self) -> int:
        return len(self.chunks)

    def extend(self, chunks: Sequence[U], rendered_chunks: RenderedChunks | None = None) -> None:
        """Append chunks, and use the heights and lines that the background thread laid out."""
        laid_heights = rendered_chunks.heights if rendered_chunks is not None else {}
        for index, chunk in enumerate(chunks, len(self.chunks)):
            height = laid_heights[index] if index in laid_heights else self._estimate_height(chunk)
            self.total += height
            self._heights.append(height)
        self.chunks += chunks
        self._exact += bytes(len(chunks))
        if rendered_chunks is not None:
            self.use_rendered_chunks(rendered_chunks)

    def use_rendered_chunks(self, rendered_chunks: RenderedChunks) -> None:
        """Use the lines that the background thread laid out. Skip chunks that were rendered or changed meanwhile."""
        for index, height in rendered_chunks.heights.items():
            if self._exact[index] or index in self.forgotten:
                continue
            self._exact[index] = 1
            self.total += height - self._heights[index]
            self._heights[index] = height
            if (lines := rendered_chunks.lines.get(index)) is not None:
                self._lines[index] = lines
                self._count += height

    def lay_out_some(self, line_count: int) -> None:
        """Render chunks whose height is only estimated, from the top down, until they have at least `line_count`
        lines."""
        for index in self.estimated_chunks():
            if line_count <= 0:
                break
            line_count -= len(self.lines(index))

    @property
    def estimated_count(self) -> int:
        """Number of chunks with an estimated height."""
        return self._exact.count(0)

    def estimated_chunks(self) -> list[int]:
        """Return the indexes of the chunks with an estimated height."""
        return [index for index, is_exact in enumerate(self._exact) if not is_exact]

    def top(self, index: int) -> int:
        """Return the number of the first line of a chunk."""
        return sum(self._heights[:index])

    def chunk_at(self, line: int) -> tuple[int, int]:
        """Return the index of a line's chunk, and the line inside this chunk."""
        ends = list(accumulate(self._heights))
        index = min(bisect_right(ends, line), max(0, len(ends) - 1))
        return index, max(0, line - self.top(index))

    def lines(self, index: int) -> list[Line]:
        """Return the lines of a chunk. If they are not kept, render it now."""
        kept_lines = self._lines.get(index)
        if kept_lines is not None:
            self._lines.move_to_end(index)
            return kept_lines
        return self.put(index, self._render(self.chunks[index]))

    def put(self, index: int, lines: list[Line]) -> list[Line]:
        """Set and return the lines of a chunk. May drop the lines of chunks that were not used recently."""
        self._count += len(lines) - len(self._lines.pop(index, ()))
        self._lines[index] = lines
        while not self._keeps_all and (
            len(self._lines) > KEPT_UNITS or (self._count > KEPT_LINES and len(self._lines) > 1)
        ):
            self._count -= len(self._lines.popitem(last=False)[1])
        self.total += len(lines) - self._heights[index]
        self._heights[index] = len(lines)
        self._exact[index] = 1
        return lines

    def forget(self, index: int) -> None:
        """Drop the lines of a chunk. It is rendered again when it is visible."""
        self._count -= len(self._lines.pop(index, ()))
        self._exact[index] = 0
        self.forgotten.add(index)

    def laid_out(self) -> Iterator[tuple[U, int, list[Line] | None]]:
        """Yield each rendered chunk with its height, and with its lines if they are kept."""
        for index, chunk in enumerate(self.chunks):
            if self._exact[index]:
                yield chunk, self._heights[index], self._lines.get(index)

    @property
    def kept_lines(self) -> list[list[Line]]:
        """Lines of each chunk whose lines are kept."""
        return list(self._lines.values())


KEPT_WHOLE = 256 * 1024
"""Maximum number of characters of a page whose lines are all kept."""


class ChunkLayout(NamedTuple):
    """Functions and values that determine the lines of chunks."""

    key: tuple[Any, ...]
    """Equal for layouts with the same lines."""
    estimate_height: Callable[[Any], int]
    """Function that returns the approximate number of lines of a chunk."""
    make_renderer: Callable[[DeferredContent | None], Callable[[Any], list[Line]]]
    """Takes deferred content, and returns a function that renders a chunk. Each thread needs its own."""
    margin: int
    line_width: int
    deferred: DeferredContent | None = None
    keeps_lines: bool = True
    """True to keep the lines of all chunks. False for long pages."""


class RenderedChunks(NamedTuple):
    """Chunks that the background thread laid out."""

    layout: ChunkLayout
    heights: dict[int, int]
    """Number of lines of each chunk, by index."""
    lines: dict[int, list[Line]]
    """Lines of each chunk, by index. Empty if not all lines are kept."""
    missing: dict[int, list[tuple[AsyncCache[Any, Any], Any]]]
    """Deferred content that each chunk lacks, by `id()` of the chunk."""


def lay_out_chunks(
    layout: ChunkLayout, chunks: Sequence[Any], indexes: Iterable[int]
) -> Generator[None, None, RenderedChunks]:
    """Lay out chunks, and return the result. Yields after each chunk, so that the background thread can stop."""
    laid = RenderedChunks(layout, {}, {}, {})
    deferred = layout.deferred.for_background_thread() if layout.deferred is not None else None
    render = layout.make_renderer(deferred)
    for index in indexes:
        lines = render(chunks[index])
        if deferred is not None and (missed := deferred.take_missing()):
            laid.missing[id(chunks[index])] = missed
        laid.heights[index] = len(lines)
        if layout.keeps_lines:
            laid.lines[index] = lines
        yield
    return laid
