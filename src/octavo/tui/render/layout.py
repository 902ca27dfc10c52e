"""Turns the blocks of a page into lines. Has the renderer of each kind of block (`_RENDERERS`), splits a page into
chunks, and shows Markdown source as blocks. Start with `lay_out`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import NamedTuple

from textual.message import Message

from octavo.api.folding import fold
from octavo.documents.blocks import NO_ATTRS, Block, Document, Run
from octavo.lazy_import import lazy
from octavo.tui.render import code, embeds, tables, text_blocks
from octavo.tui.render.block_slices import (
    block_source,
    has_end,
    has_start,
    is_diagram,
    render_failed_block,
    run_guarded,
    slice_bounds,
    split_block,
    whole_block,
)
from octavo.tui.render.deferred import (
    AsyncCache,
    CodeQuery,
    DeferredContent,
    FoundOperation,
    OperationDetailsQuery,
    OperationQuery,
    Tokens,
    highlight_code,
)
from octavo.tui.render.layout_context import MIN_BLOCK_WIDTH, LayoutContext, ViewState, blank_lines_between
from octavo.tui.render.styled_lines import Line, squeeze
from octavo.tui.render.styles import Styles

_render_diagram = lazy("octavo.tui.render.diagrams:render_diagram")
_draw_diagram = lazy("octavo.tui.render.diagrams:draw_diagram")
_find_operation = lazy("octavo.tui.render.openapi:find_operation")
_render_operation_details = lazy("octavo.tui.render.openapi:render_operation_details")


_MAX_SOURCE_BLOCK_LENGTH = 2_000
"""Maximum number of characters of a source block that has several lines."""
_MAX_LINE_LENGTH = 8_000
"""Maximum number of characters of a source block that is a single line. A longer line is split."""
_MAX_BLOCK_EDGES = 4_000
"""Approximate maximum number of lines at which new source blocks begin because a block of the page begins or ends."""


@dataclass
class LinkFollowed(Message):
    """Posted when the user opens a link, image, file or note, or presses a button."""

    href: str
    """URL or path of a link, label of a footnote, or query of a button. Empty if `kind` is `page`."""
    in_browser: bool
    """True to open the target in the browser instead of in Octavo."""
    kind: str
    """One of `link`, `image`, `file`, `note` (footnote), `ask` and `search` (buttons), and `page` (the page itself)."""
    text: str = ""


@dataclass
class CopyUrlRequested(Message):
    """Request to copy the URL of a link, or of the whole page if `kind` is `page`."""

    href: str
    kind: str


def source_blocks(source: str, blocks: Iterable[Block] = (), selected: Block | None = None) -> list[Block]:
    """Return the Markdown source of a page as source blocks of some lines. At each of `blocks`, a source block with
    the same key begins. If `blocks` are very many, only every n-th counts. `selected` gets a separate source block."""
    result: list[Block] = []
    all_blocks = [*blocks]
    # If there are very many blocks, source blocks begin only at every n-th block.
    step = 2 * len(all_blocks) // _MAX_BLOCK_EDGES + 1
    block_at_line = {block.lines[0]: block for block in all_blocks[::step] if block.lines[0] < block.lines[1]}
    owners = [*block_at_line.values(), *([selected] if selected is not None else [])]
    owner_at_line = {block.lines[0]: block for block in owners}
    current_block: Block | None = None
    used_keys: set[str] = set()
    line_edges = sorted({*block_at_line, *(selected.lines if selected is not None else ())})
    if step == 1:
        line_edges = sorted({*line_edges, *(block.lines[1] for block in owners)})
    for text, first, last in _split_source(source, line_edges):
        current_block, owner = block_at_line.get(first, current_block), owner_at_line.get(first)
        if owner is None and current_block is not None and first < current_block.lines[1]:
            owner = current_block
        key = owner.key if owner is not None and owner.lines[0] == first else ""
        if not key or key in used_keys:
            key = f"source-{len(result)}"
        used_keys.add(key)
        attrs = {"of": owner.kind} if owner is not None else NO_ATTRS
        result.append(Block("source", attrs, text=text, lines=(first, last), key=key))
    return result


def _split_source(source: str, edges: Iterable[int]) -> Iterator[tuple[str, int, int]]:
    """Split Markdown before the lines in `edges`, and split parts that are too long. Yield for each part the text, the
    index of the first line, and the index of the line after the part. The first line of `source` has index 0."""
    start = start_line = 0
    for edge in (*edges, None):
        end = len(source)
        if edge is not None:
            end = _end_of_line(source, start, edge - start_line)
        if end < start:
            continue
        while end - start > _MAX_SOURCE_BLOCK_LENGTH:
            stop = source.rfind("\n", start, start + _MAX_SOURCE_BLOCK_LENGTH)
            if stop < 0:
                stop = source.find("\n", start, min(end, start + _MAX_LINE_LENGTH))
            has_line_end = stop >= 0
            if not has_line_end and end - start <= _MAX_LINE_LENGTH:
                break
            text = source[start : stop if has_line_end else start + _MAX_LINE_LENGTH]
            end_line = start_line + text.count("\n") + has_line_end
            yield text, start_line, end_line
            start, start_line = start + len(text) + has_line_end, end_line
        text = source[start:end]
        end_line = start_line + text.count("\n") + 1
        yield text, start_line, end_line
        start, start_line = end + 1, end_line


def _end_of_line(source: str, start: int, number: int) -> int:
    """Return the index of the line break after the line `number`, counted from 1 at `start`. -1 if there is none."""
    end = start - 1
    for _ in range(number):
        if (end := source.find("\n", end + 1)) < 0:
            break
    return end


def split_oversized(block: Block) -> list[Block] | None:
    """Return a hint and small source blocks for a long block that the parser shows as source. None for other blocks."""
    if not block.attrs.get("source") or len(block.text) <= 4 * _MAX_LINE_LENGTH:
        return None
    first, subject = block.lines[0], "This part of the page" if block.lines[0] else "This page"
    text = Block("paragraph", runs=(Run(f"{subject} is too large to format, so it is shown as source."),))
    parts = [part._replace(key=f"{block.key} {part.key}") for part in source_blocks(block.text)]
    all_parts = [Block("hint", {"style": "info"}, (text,)), *parts]
    return [part._replace(lines=(first + part.lines[0], first + part.lines[1])) for part in all_parts]


def repeats_title(heading: str, title: str) -> bool:
    """Return True if a heading repeats the page title or its last words, such as the words after an emoji."""
    heading, title = " ".join(fold(heading).split()), " ".join(fold(title).split())
    return heading == title or title.endswith(f" {heading}")


def anchors_above(document: Document) -> dict[str, str]:
    """Return the anchor of the last heading at or above each block, by block key. Empty above the first heading."""
    anchors = {heading.block.key: heading.anchor for heading in document.headings}
    anchor_by_key: dict[str, str] = {}
    anchor = ""
    for block in document.walk():
        anchor = anchors.get(block.key, anchor)
        anchor_by_key[block.key] = anchor
    return anchor_by_key


class BlockMarks:
    """The blocks of a page that have open threads, or unsent drafts. `counts` has the number by block key."""

    def __init__(self, blocks: Iterable[Block] = (), counts: Mapping[str, int] | None = None) -> None:
        self.counts = {key: count for key, count in (counts or {}).items() if key and count}
        self._paths: list[tuple[Block, ...]] = []
        if self.counts:
            for block in blocks:
                self._visit(block, ())

    def _visit(self, block: Block, above: tuple[Block, ...]) -> None:
        path = (*above, block)
        if block.key in self.counts:
            self._paths.append(path)
        for child in block.children:
            self._visit(child, path)

    def __bool__(self) -> bool:
        return bool(self._paths)

    def has_threads(self, top_block: Block, top_slice: Block | None) -> bool:
        """Return True if a block with threads begins in `top_slice`. Without a slice, look in all of `top_block`."""
        paths = (path for path in self._paths if path[0].key == top_block.key)
        return any(top_slice is None or _begins_in(top_slice, path) for path in paths)

    def paths_at(
        self, visible_keys: set[str], top_block: Block, top_slice: Block | None
    ) -> dict[str, list[tuple[Block, ...]]]:
        """Return the paths from `top_block` to its blocks with threads, by the key of the visible block that shows the
        mark. If `top_slice` is given, only blocks that begin in that slice count."""
        result: dict[str, list[tuple[Block, ...]]] = {}
        for path in self._paths:
            if path[0].key != top_block.key or (top_slice is not None and not _begins_in(top_slice, path)):
                continue
            around_and_inside = chain(reversed(path), path[-1].walk())
            owner = next((block.key for block in around_and_inside if block.key in visible_keys), None)
            if owner is not None:
                result.setdefault(owner, []).append(path)
        return result


def _begins_in(slice_block: Block, path: Sequence[Block]) -> bool:
    """Return True if the innermost block of `path`, a path from a top-level block down, begins in `slice_block`, a
    slice of the top-level block."""
    if whole_block(slice_block).key != path[0].key:
        return False  # The slice is the rest of a long table row, so no block begins in it.
    for block in path[1:]:
        child = next((child for child in slice_block.children if child.key == block.key), None)
        if child is None:
            return False
        slice_block = child
    return has_start(slice_block)


_RENDERERS: dict[str, Callable[[LayoutContext, Block, int], list[Line]]] = {
    "page-title": text_blocks.render_page_title,
    "source": text_blocks.render_source,
    "heading": text_blocks.render_heading,
    "paragraph": text_blocks.render_paragraph,
    "list": text_blocks.render_list,
    "quote": text_blocks.render_quote,
    "divider": text_blocks.render_divider,
    "math": text_blocks.render_math,
    "footnotes": text_blocks.render_footnotes,
    "conflict": text_blocks.render_conflict_block,
    "if": text_blocks.render_condition,
    "else": text_blocks.render_condition,
    "code": code.render_code,
    "prompt": code.render_prompt,
    "table": tables.render_table,
    "cards": embeds.render_cards,
    "record": tables.render_record,
    "hint": text_blocks.render_hint,
    "tabs": text_blocks.render_tabs,
    "stepper": text_blocks.render_stepper,
    "columns": text_blocks.render_columns,
    "expandable": text_blocks.render_expandable,
    "updates": text_blocks.render_updates,
    "figure": embeds.render_figure,
    "image": embeds.render_image,
    "file": embeds.render_file,
    "embed": embeds.render_embed,
    "content-ref": embeds.render_content_ref,
    "include": embeds.render_include,
    "integration": embeds.render_integration,
    "openapi": lazy("octavo.tui.render.openapi:render_openapi"),
    "api-method": lazy("octavo.tui.render.openapi:render_operation_block"),
    **dict.fromkeys(
        ("api-section", "api-parameter", "api-response"), lazy("octavo.tui.render.openapi:render_operation_part")
    ),
}
_SQUEEZED_WIDTH = 2 * MIN_BLOCK_WIDTH
"""Blocks narrower than this number of cells lose some of their indent if their lines are too wide."""


class PageChunk(NamedTuple):
    """A part of a page that is rendered in one step: a top-level block, or a slice of a long one."""

    block: Block
    blank_lines_above: int = 0
    """Number of blank lines above the chunk."""
    slice: Block | None = None
    """The slice of `block` to render. None to render the whole block."""
    row_count: int = 1
    """Estimated number of lines with the blank lines above, but without the text that `letter_count` counts."""
    letter_count: int = 0
    """Number of letters in text that wraps, to estimate its number of lines for any width."""
    block_above: Block | None = None
    """Top-level block above `block`. None at the top of the page."""

    @property
    def content(self) -> Block:
        """The slice to render, or the whole block if it is not split."""
        return self.slice or self.block


def render_block(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """Render a block. If its renderer fails, render a box with its Markdown."""
    saved_values = vars(context).copy()

    def fallback() -> list[Line]:
        vars(context).update(saved_values)  # Restore the values that containers change while their content is rendered.
        return render_failed_block(block, context.source_of, context.styles, max(width, MIN_BLOCK_WIDTH))

    return run_guarded(lambda: _render(context, block, width), fallback)


def _render(context: LayoutContext, block: Block, width: int) -> list[Line]:
    renderer = _render_diagram if has_start(block) and is_diagram(block) else _RENDERERS.get(block.kind)
    if renderer is None:
        is_box = block.kind == "unknown" or not (block.children or block.kind == "api-section")
        renderer = embeds.render_unknown if is_box else LayoutContext.render_children
    width = max(width, MIN_BLOCK_WIDTH)
    if context.depth == 0:
        context.spare_width = max(0, context.available_width - width)
    lines = renderer(context, block, width)
    if width < _SQUEEZED_WIDTH:
        lines = [squeeze(line, context.max_width(width)) for line in lines]
    owner: Block | None = block
    if (bounds := slice_bounds(block)) is not None:
        # The cursor stops at the first slice of a long block and at its children. It skips lines without an owner.
        owner = bounds.whole_block if bounds.is_first or not block.children else None
    for line in lines:
        if line.block is None or line.block is block:
            line.block = owner
    return lines


def split_into_chunks(blocks: Iterable[Block], block_above: Block | None = None) -> Iterator[PageChunk]:
    """Yield the chunks of top-level blocks. Blank lines depend on `block_above`, the block above the first block."""
    for block in blocks:
        chunks = _block_chunks(block, block_above)
        while (chunk := run_guarded(partial(next, chunks, None), partial(PageChunk, block))) is not None:
            yield chunk
        block_above = block


def _block_chunks(block: Block, block_above: Block | None) -> Iterator[PageChunk]:
    if (source_parts := split_oversized(block)) is not None:
        yield from split_into_chunks(source_parts, block_above)
        return
    gap_lines = 0 if block_above is None or block.kind == "source" else blank_lines_between(block_above, block)
    for part in split_block(block):
        rows, letters = _estimate_lines_and_letters(part, is_whole=part is block)
        yield PageChunk(block, gap_lines, part if part is not block else None, gap_lines + rows, letters, block_above)
        gap_lines = 0


def render_chunk(context: LayoutContext, chunk: PageChunk, width: int) -> list[Line]:
    """Render a chunk, with the blank lines above it. Empty if the block shows nothing."""
    context.block_above = chunk.block_above
    lines = render_block(context, chunk.content, width)
    return [Line([]) for _ in range(chunk.blank_lines_above)] + lines if lines else []


def estimate_height(chunk: PageChunk, width: int) -> int:
    """Return the approximate number of lines of a chunk at a width in cells. The chunk is not rendered."""
    return chunk.row_count + chunk.letter_count // max(width, 1)


def _estimate_lines_and_letters(block: Block, *, is_whole: bool) -> tuple[int, int]:
    """Return the estimated number of lines before wrapping, and of letters to wrap. `is_whole` is False for a slice."""
    if block.runs and not block.children:
        return 1 + (block.kind == "heading" and block.attrs.get("level", 2) <= 2), sum(
            len(run.text) for run in block.runs
        )
    if block.kind in ("code", "prompt", "math") and block.text:
        is_wrapped = block.attrs.get("wrap") or "\n" not in block.text
        return 1 + block.text.count("\n") + has_start(block) + has_end(block), len(block.text) if is_wrapped else 0
    if block.kind == "expandable" and not block.attrs.get("open"):
        return int(is_whole or bool(block.runs)), 0
    if block.kind == "tabs" and block.children:
        return 3 + max(child.lines[1] - child.lines[0] for child in block.children), 0
    last = block.children[-1] if block.children and is_whole else block
    return max(1, last.lines[1] - block.lines[0]), 0


def block_ranges(lines: Sequence[Line]) -> list[tuple[int, int, Block]]:
    """Return first line, last line and block of the first range of adjacent lines of each block. Page titles, and lines
    of Markdown source that belong to no block, are left out."""
    ranges: list[tuple[int, int, Block]] = []
    for number, line in enumerate(lines):
        block = line.block
        if block is None or block.kind == "page-title" or (block.kind == "source" and not block.attrs):
            continue
        if ranges and ranges[-1][2] is block:
            ranges[-1] = (ranges[-1][0], number, block)
        else:
            ranges.append((number, number, block))
    first_ranges: dict[int, tuple[int, int, Block]] = {}
    for each in ranges:
        first_ranges.setdefault(id(each[2]), each)
    return list(first_ranges.values())


def lay_out(
    blocks: Iterable[Block],
    width: int,
    styles: Styles,
    view_state: ViewState | None = None,
    *,
    available_width: int = 0,
    source: str = "",
) -> list[Line]:
    """Return the lines of blocks as text of `width` cells. Tables and code at the top level may be up to
    `available_width` wide. If a block cannot be rendered, its Markdown is taken from `source`."""
    context = LayoutContext(
        styles,
        view_state or ViewState(),
        render_block,
        available_width=available_width,
        source_of=partial(block_source, source),
    )
    lines: list[Line] = []
    for chunk in split_into_chunks(blocks):
        chunk_lines = render_chunk(context, chunk, width)
        lines += chunk_lines if lines else chunk_lines[chunk.blank_lines_above :]
    return lines


_MAX_HIGHLIGHTED_BLOCKS = 40
"""Maximum number of code blocks that are highlighted in the details of one operation."""


def deferred_content(*, diagrams: bool = True) -> DeferredContent:
    """Return empty caches for content that a pane loads after the first paint. Without `diagrams`, none are drawn."""
    return DeferredContent(
        diagrams=AsyncCache(_draw_diagram) if diagrams else None,
        operations=AsyncCache(load_operation),
        details=AsyncCache(load_operation_lines, capacity=20),
    )


async def load_operation(query: OperationQuery) -> FoundOperation:
    """Find an operation or webhook in its specification. The search runs in a worker thread."""
    return FoundOperation(await asyncio.to_thread(_find_operation, query))


async def load_operation_lines(query: OperationDetailsQuery) -> list[Line]:
    """Render the details of an operation in a worker thread, with syntax highlighting of its code."""
    tokens: AsyncCache[CodeQuery, Tokens] = AsyncCache(highlight_code)
    context = LayoutContext(query.styles, ViewState(), render_block, deferred=DeferredContent(tokens=tokens))

    def render() -> tuple[list[Line], list[CodeQuery]]:
        lines: list[Line] = _render_operation_details(
            context, query.operation_query, _find_operation(query.operation_query), query.width
        )
        return lines, tokens.missing[:_MAX_HIGHLIGHTED_BLOCKS]

    lines, missing = await asyncio.to_thread(render)
    if missing:
        for code in missing:
            tokens.request(code)
        while await tokens.load_requested():
            pass
        lines, _ = await asyncio.to_thread(render)
    return lines
