"""`VirtualLines` holds the lines of a long page. A chunk is rendered when its lines are first needed. Until then, its
height is estimated.

`VirtualLines.lines` renders a chunk if its lines are not kept. The background thread renders chunks with
`lay_out_chunks`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from octavo.tui.render.styled_lines import Line

if TYPE_CHECKING:
    from octavo.tui.render.deferred import DeferredContent, MissingContents

U = TypeVar("U")
MAX_KEPT_LINES = 2500
"""Maximum number of lines that are kept in memory. The lines of the last rendered chunk are always kept."""


class VirtualLines(Generic[U]):
    """The lines of all chunks of a page. The heights of chunks that are not rendered yet are estimated. Rendering a
    chunk never moves the chunks above it."""

    def __init__(
        self, chunks: Sequence[U], estimate_height: Callable[[U], int], render: Callable[[U], list[Line]]
    ) -> None:
        self.chunks: list[U] = []
        self._estimate_height, self._render = estimate_height, render
        self._heights: list[int] = []
        self.total = 0
        """Number of lines of all chunks. Estimated for chunks that are not rendered yet."""
        self._is_exact = bytearray()
        self._lines: OrderedDict[int, list[Line]] = OrderedDict()
        self._kept_line_count = 0
        self.outdated_indexes: set[int] = set()
        """Indexes of chunks that changed since the background thread began. Its lines of these chunks are not used."""
        self.extend(chunks)

    def __len__(self) -> int:
        return len(self.chunks)

    def extend(self, chunks: Sequence[U]) -> None:
        """Append chunks at the end."""
        heights = [self._estimate_height(chunk) for chunk in chunks]
        self.chunks += chunks
        self._heights += heights
        self.total += sum(heights)
        self._is_exact += bytes(len(chunks))

    def reuse_lines(self, earlier_lines: VirtualLines[U]) -> None:
        """Use the lines of chunks that `earlier_lines` has rendered, so that these chunks are not rendered again."""
        earlier_indexes = {id(chunk): index for index, chunk in enumerate(earlier_lines.chunks)}
        for index, chunk in enumerate(self.chunks):
            earlier_index = earlier_indexes.get(id(chunk))
            if earlier_index is not None and earlier_lines._is_exact[earlier_index]:
                self._store(index, earlier_lines._heights[earlier_index], earlier_lines._lines.get(earlier_index))

    def use_rendered_chunks(self, rendered_chunks: RenderedChunks) -> None:
        """Store heights and lines from the background thread. Skip chunks that were changed or rendered meanwhile."""
        for index, height in rendered_chunks.heights.items():
            if not self._is_exact[index] and index not in self.outdated_indexes:
                self._store(index, height, rendered_chunks.lines.get(index))

    def lay_out_some(self, line_count: int) -> None:
        """Render chunks that are not rendered yet, from the top down, until `line_count` more lines are rendered."""
        for index in self.estimated_chunks():
            if line_count <= 0:
                break
            line_count -= len(self.lines(index))

    @property
    def estimated_count(self) -> int:
        """Number of chunks that are not rendered yet, so that their height is estimated."""
        return self._is_exact.count(0)

    def estimated_chunks(self) -> list[int]:
        """Return the indexes of the chunks whose height is estimated, because the chunks are not rendered yet."""
        return [index for index, is_exact in enumerate(self._is_exact) if not is_exact]

    def lines_above(self, index: int) -> int:
        """Return how many lines are above a chunk. Estimated if some chunks above are not rendered yet."""
        return sum(self._heights[:index])

    def chunk_at(self, line: int) -> tuple[int, int]:
        """Return the index of the chunk that shows the line `line` of the page, and the index of the line in it."""
        ends = list(accumulate(self._heights))
        index = min(bisect_right(ends, line), max(0, len(ends) - 1))
        return index, max(0, line - self.lines_above(index))

    def lines(self, index: int) -> list[Line]:
        """Return the lines of a chunk. The chunk is rendered now if its lines are not in memory."""
        kept_lines = self._lines.get(index)
        if kept_lines is not None:
            self._lines.move_to_end(index)
            return kept_lines
        return self.put(index, self._render(self.chunks[index]))

    def put(self, index: int, lines: list[Line]) -> list[Line]:
        """Store and return the lines of a chunk."""
        self._kept_line_count -= len(self._lines.pop(index, ()))
        self._store(index, len(lines), lines)
        return lines

    def _store(self, index: int, height: int, lines: list[Line] | None) -> None:
        """Store the height of a chunk, and its lines unless None. Drop the least recently used lines above a limit."""
        self.total += height - self._heights[index]
        self._heights[index] = height
        self._is_exact[index] = 1
        if lines is not None:
            self._lines[index] = lines
            self._kept_line_count += height
        while self._kept_line_count > MAX_KEPT_LINES and len(self._lines) > 1:
            self._kept_line_count -= len(self._lines.popitem(last=False)[1])

    def drop_lines(self, index: int) -> None:
        """Drop the outdated lines of a chunk, so that it is rendered again when it is next visible."""
        self._kept_line_count -= len(self._lines.pop(index, ()))
        self._is_exact[index] = 0
        self.outdated_indexes.add(index)


class ChunkLayout(NamedTuple):
    """Layout of chunks at the current width and theme: how they are rendered and estimated."""

    estimate_height: Callable[[Any], int]
    """Returns the approximate number of lines of a chunk without rendering it."""
    make_renderer: Callable[[], Callable[[Any], list[Line]]]
    """Returns a function that renders a chunk. Each thread needs its own function."""
    margin: int
    line_width: int
    deferred: DeferredContent | None = None
    key: tuple[Any, ...] = ()
    """Key of the layout of a diff. Layouts with equal keys render the same lines. Empty if the content is no diff."""

    def recording_renderer(self, missing: dict[int, MissingContents]) -> Callable[[Any], list[Line]]:
        """Return a function that renders a chunk, and stores its missing content in `missing`, by `id(chunk)`."""
        render, deferred = self.make_renderer(), self.deferred

        def render_and_record(chunk: Any) -> list[Line]:
            if deferred is None:
                return render(chunk)
            deferred.take_missing()
            lines = render(chunk)
            if missing_contents := deferred.take_missing():
                missing[id(chunk)] = missing_contents
            return lines

        return render_and_record


class RenderedChunks(NamedTuple):
    """Heights and lines of chunks that the background thread has rendered."""

    heights: dict[int, int]
    """Number of lines of each rendered chunk, by index of the chunk."""
    lines: dict[int, list[Line]]
    """Lines of the chunks that were rendered first, up to about `MAX_KEPT_LINES` lines, by index of the chunk."""
    missing: dict[int, MissingContents]
    """Deferred content that a chunk needs and that was not loaded, by `id()` of the chunk."""


def lay_out_chunks(
    layout: ChunkLayout, chunks: Sequence[Any], indexes: Iterable[int]
) -> Generator[None, None, RenderedChunks]:
    """Render the chunks at `indexes`, and return their heights and lines. Yields None after each chunk, so
    that the background thread can pause or stop."""
    result = RenderedChunks({}, {}, {})
    render = layout.recording_renderer(result.missing)
    line_count = 0
    for index in indexes:
        lines = render(chunks[index])
        result.heights[index] = len(lines)
        line_count += len(lines)
        if line_count <= MAX_KEPT_LINES:
            result.lines[index] = lines
        yield
    return result
