"""Layout of pages: the renderer of each kind of block, and the units of a page that are rendered one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from octavo.documents.blocks import Block
from octavo.lazy_import import lazy
from octavo.tui.render import code, containers, embeds, images, prose, tables
from octavo.tui.render.block_slices import has_end, has_start, is_diagram, slice_bounds, split_block
from octavo.tui.render.failed_block import block_source, render_failed_block, run_guarded
from octavo.tui.render.layout_context import NARROWEST, Folds, LayoutContext, blank_lines_between
from octavo.tui.render.page_parts import split_oversized
from octavo.tui.render.styled_lines import ClickableSpan, Line, clickable_spans, segments, squeeze
from octavo.tui.render.styles import PLAIN, Styles

_render_diagram = lazy("octavo.tui.render.diagrams:render_diagram")


_RENDERERS: dict[str, Callable[[LayoutContext, Block, int], list[Line]]] = {
    "page-title": prose.render_page_title,
    "source": prose.render_source,
    "heading": prose.render_heading,
    "paragraph": prose.render_paragraph,
    "list": prose.render_list,
    "quote": prose.render_quote,
    "divider": prose.render_divider,
    "math": prose.render_math,
    "footnotes": prose.render_footnotes,
    "conflict": prose.render_conflict_block,
    "if": prose.render_condition,
    "else": prose.render_condition,
    "code": code.render_code,
    "prompt": code.render_prompt,
    "table": tables.render_table,
    "cards": embeds.render_cards,
    "record": tables.render_record,
    "hint": containers.render_hint,
    "tabs": containers.render_tabs,
    "stepper": containers.render_stepper,
    "columns": containers.render_columns,
    "expandable": containers.render_expandable,
    "updates": containers.render_updates,
    "figure": images.render_figure,
    "image": images.render_image,
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
_SQUEEZED_WIDTH = 2 * NARROWEST
"""Width in cells below which deeply nested blocks lose some of their indent, because their lines could overflow."""


class PageUnit(NamedTuple):
    """A part of a page that is rendered in one step: a top-level block or a slice of it."""

    block: Block
    gap: int = 0
    """Number of blank lines above the unit."""
    slice: Block | None = None
    """Slice of the block. None for the whole block."""
    rows: int = 1
    """Estimated number of lines, including blank lines, but not the lines of wrapped text. `letters` is the number of
    letters of the wrapped text."""
    letters: int = 0
    block_above: Block | None = None
    """Block above the unit."""


class Layout(NamedTuple):
    """Blocks laid out in a width."""

    lines: list[Line]
    clickables: list[ClickableSpan]
    anchors: dict[str, int]
    """Line of each heading by its anchor."""
    block_ranges: list[tuple[int, int, Block]]
    """First line, last line and block, for each block that can be commented on."""


def render_block(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """Render a block. A block of an unknown kind is rendered in a box with its name."""
    within = context.position

    def fallback() -> list[Line]:
        context.position = within
        return render_failed_block(block, context.source_of, context.styles, max(width, NARROWEST))

    return run_guarded(lambda: _render(context, block, width), fallback)


def _render(context: LayoutContext, block: Block, width: int) -> list[Line]:
    renderer = _render_diagram if has_start(block) and is_diagram(block) else _RENDERERS.get(block.kind)
    if renderer is None:
        is_box = block.kind == "unknown" or not (block.children or block.kind == "api-section")
        renderer = embeds.render_unknown if is_box else _render_children
    width = max(width, NARROWEST)
    if context.depth == 0:
        context.spare = max(0, context.available_width - width)
    lines = renderer(context, block, width)
    if width < _SQUEEZED_WIDTH:
        lines = [squeeze(line, context.max_width(width)) for line in lines]
    own: Block | None = block
    if (cut := slice_bounds(block)) is not None:
        # The cursor can be on the start of a long block and on its children.
        own = cut.whole_block if cut.is_first or not block.children else None
    for line in lines:
        if line.block is None or line.block is block:
            line.block = own
    return lines


def _render_children(context: LayoutContext, block: Block, width: int) -> list[Line]:
    return context.flow(block.children, width)


def split_into_units(blocks: Iterable[Block], before: Block | None = None) -> Iterator[PageUnit]:
    """Yield the top-level blocks of a page as units. `before` is the block above them. If splitting fails, the whole
    block is one unit."""
    for block in blocks:
        cut, whole = _block_units(block, before), PageUnit(block)
        while (unit := run_guarded(partial(next, cut, None), partial(_same_unit, whole))) is not None:
            yield unit
        before = block


def _same_unit(unit: PageUnit) -> PageUnit | None:
    return unit


def _block_units(block: Block, before: Block | None) -> Iterator[PageUnit]:
    if (parts := split_oversized(block)) is not None:
        yield from split_into_units(parts, before)
        return
    gap_lines = 0 if before is None or block.kind == "source" else blank_lines_between(before, block)
    for part in split_block(block):
        rows, letters = _estimate_size(part, is_whole=part is block)
        yield PageUnit(block, gap_lines, part if part is not block else None, gap_lines + rows, letters, before)
        gap_lines = 0


def render_unit(context: LayoutContext, unit: PageUnit, width: int) -> list[Line]:
    """Render a unit with the blank lines above it."""
    context.block_above = unit.block_above
    lines = render_block(context, unit.slice or unit.block, width)
    return [Line([]) for _ in range(unit.gap)] + lines if lines else []


def estimate_height(unit: PageUnit, width: int) -> int:
    """Return the approximate number of lines of a unit, without rendering it."""
    return unit.rows + unit.letters // max(width, 1)


def _estimate_size(block: Block, *, is_whole: bool) -> tuple[int, int]:
    """Return the approximate number of fixed lines of a block, and the number of letters of its wrapped text."""
    if block.runs and not block.children:
        return 1 + (block.kind == "heading" and block.attrs.get("level", 2) <= 2), sum(
            len(run.text) for run in block.runs
        )
    if block.kind in ("code", "prompt", "math") and block.text:
        is_broken = block.attrs.get("wrap") or "\n" not in block.text
        return 1 + block.text.count("\n") + has_start(block) + has_end(block), len(block.text) if is_broken else 0
    if block.kind == "expandable" and not block.attrs.get("open"):
        return int(is_whole or bool(block.runs)), 0
    if block.kind == "tabs" and block.children:
        return 3 + max(child.lines[1] - child.lines[0] for child in block.children), 0
    last = block.children[-1] if block.children and is_whole else block
    return max(1, last.lines[1] - block.lines[0]), 0


def _render_and_check(context: LayoutContext, unit: PageUnit, width: int) -> list[Line]:
    lines = render_unit(context, unit, width)
    for line in lines:
        segments(line.pieces, PLAIN)
    return lines


def block_ranges(lines: Sequence[Line], first: int = 0) -> list[tuple[int, int, Block]]:
    """Return the first line, the last line and the block of each range of lines that belong to one block."""
    out: list[tuple[int, int, Block]] = []
    for number, line in enumerate(lines, first):
        block = line.block
        if block is None or block.kind == "page-title" or (block.kind == "source" and not block.attrs):
            continue
        if out and out[-1][2] is block:
            out[-1] = (out[-1][0], number, block)
        else:
            out.append((number, number, block))
    seen: set[int] = set()
    once = []
    for start, end, block in out:
        if id(block) not in seen:
            seen.add(id(block))
            once.append((start, end, block))
    return once


def lay_out(
    blocks: Iterable[Block],
    width: int,
    styles: Styles,
    folds: Folds | None = None,
    *,
    available_width: int = 0,
    source: str = "",
) -> Layout:
    """Lay out all blocks in `width` cells. Wide tables and code at the top level may take `available_width` cells.
    `source` is the text of the page.

    Each unit is also painted once, so that a unit that cannot be painted is shown as source instead.
    """
    source_of = partial(block_source, source)
    context = LayoutContext(
        styles, folds or Folds(), render_block, available_width=available_width, source_of=source_of
    )
    lines: list[Line] = []
    for unit in split_into_units(blocks):
        fallback = partial(render_failed_block, unit.block, source_of, styles, max(width, NARROWEST))
        rendered = run_guarded(partial(_render_and_check, context, unit, width), fallback)
        lines += rendered if lines else rendered[unit.gap :]
    block_lines = block_ranges(lines)
    anchors = {
        str(block.attrs["id"]): first
        for first, _, block in block_lines
        if block.kind == "heading" and block.attrs.get("id")
    }
    return Layout(lines, clickable_spans(lines), anchors, block_lines)
