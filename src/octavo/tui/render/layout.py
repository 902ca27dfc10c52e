"""Blocks as lines: which module sets which kind, and a page cut into units that are set when they are looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from octavo.documents.blocks import Block
from octavo.tui.render import cards, code, containers, embeds, images, prose, tables
from octavo.tui.render.block_slices import begins, cut_of, ends, is_diagram, slices
from octavo.tui.render.failed_block import guarded, unset, written_in
from octavo.tui.render.layout_context import NARROWEST, Folds, LayoutContext, gap
from octavo.tui.render.page_parts import too_big
from octavo.tui.render.styled_lines import HotSpot, Line, hot_spots_of, segments, squeezed
from octavo.tui.render.styles import PLAIN, Styles


def _interface(setting: LayoutContext, block: Block, width: int) -> list[Line]:
    from octavo.tui.render import (
        openapi,  # what they need takes 10 ms to load, and few pages have any
        page_operations,
    )

    return (openapi.openapi if block.kind == "openapi" else page_operations.api_method)(setting, block, width)


def _interface_part(setting: LayoutContext, block: Block, width: int) -> list[Line]:
    from octavo.tui.render import page_operations

    return page_operations.parts(setting, Block("api-method", children=(block,)), width)


def _diagram(setting: LayoutContext, block: Block, width: int) -> list[Line]:
    from octavo.tui.render import diagrams  # few pages have any

    return diagrams.diagram(setting, block, width)


def _record(setting: LayoutContext, block: Block, width: int) -> list[Line]:
    from octavo.tui.render import table_records

    return table_records.record(setting, block, width)


_SETTERS: dict[str, Callable[[LayoutContext, Block, int], list[Line]]] = {
    "page-title": prose.page_title,
    "source": prose.source,
    "heading": prose.heading,
    "paragraph": prose.paragraph,
    "list": prose.list_of,
    "quote": prose.quote,
    "divider": prose.divider,
    "math": prose.math,
    "footnotes": prose.footnotes,
    "conflict": prose.conflict,
    "if": prose.condition,
    "else": prose.condition,
    "code": code.code,
    "prompt": code.prompt,
    "table": tables.table,
    "cards": cards.cards,
    "record": _record,
    "hint": containers.hint,
    "tabs": containers.tabs,
    "stepper": containers.stepper,
    "columns": containers.columns,
    "expandable": containers.expandable,
    "updates": containers.updates,
    "figure": images.figure,
    "image": images.image,
    "file": embeds.file,
    "embed": embeds.embed,
    "content-ref": embeds.content_ref,
    "include": embeds.include,
    "integration": embeds.integration,
    "openapi": _interface,
    "api-method": _interface,
    **dict.fromkeys(("api-section", "api-parameter", "api-response"), _interface_part),
}
_TIGHT = 2 * NARROWEST
"""In less room than this, what stands deep may have pushed the lines beyond it: they lose some of their indent."""


class Unit(NamedTuple):
    """A part of a page that is set at once: a block of its top level, or a slice of a long one."""

    block: Block
    gap: int = 0
    """Blank lines above it."""
    part: Block | None = None
    """The slice of the block, when it is not the whole."""
    rows: int = 1
    """About how many lines it takes, with the blank ones, beside those of `letters`."""
    letters: int = 0
    above: Block | None = None
    """The block above it."""


class Layout(NamedTuple):
    """Blocks set in a width."""

    lines: list[Line]
    hots: list[HotSpot]
    anchors: dict[str, int]
    """The line each anchor of a heading stands on."""
    block_lines: list[tuple[int, int, Block]]
    """First line, last line and block, for each block that can be commented on."""


def set_block(setting: LayoutContext, block: Block, width: int) -> list[Line]:
    """The lines of one block; of a kind nobody knows, all that it holds in a box with its name."""
    within = setting.within

    def instead() -> list[Line]:
        setting.within = within
        return unset(block, setting.written, setting.look, max(width, NARROWEST))

    return guarded(lambda: _set(setting, block, width), instead)


def _set(setting: LayoutContext, block: Block, width: int) -> list[Line]:
    setter = _diagram if begins(block) and is_diagram(block) else _SETTERS.get(block.kind)
    if setter is None:
        is_box = block.kind == "unknown" or not (block.children or block.kind == "api-section")
        setter = embeds.unknown if is_box else _children
    width = max(width, NARROWEST)
    if setting.depth == 0:
        setting.spare = max(0, setting.room - width)
    lines = setter(setting, block, width)
    if width < _TIGHT:
        lines = [squeezed(line, setting.wide(width)) for line in lines]
    own: Block | None = block
    if (cut := cut_of(block)) is not None:
        # One stands on a long block where it begins, and on what is in it.
        own = cut.whole if cut.is_first or not block.children else None
    for line in lines:
        if line.block is None or line.block is block:
            line.block = own
    return lines


def _children(setting: LayoutContext, block: Block, width: int) -> list[Line]:
    return setting.flow(block.children, width)


def units(blocks: Iterable[Block], before: Block | None = None) -> Iterator[Unit]:
    """Blocks of the top level of a page as units, with the blank lines between them; `before`: the block above them. They
    are cut as they are asked for. What is left of one that cannot be cut is set as it is."""
    for block in blocks:
        cut, whole = _cut(block, before), Unit(block)
        while (unit := guarded(partial(next, cut, None), partial(_itself, whole))) is not None:
            yield unit
        before = block


def _itself(unit: Unit) -> Unit | None:
    return unit


def _cut(block: Block, before: Block | None) -> Iterator[Unit]:
    if (parts := too_big(block)) is not None:
        yield from units(parts, before)
        return
    space = 0 if before is None or block.kind == "source" else gap(before, block)
    for part in slices(block):
        rows, letters = _size(part, is_whole=part is block)
        yield Unit(block, space, part if part is not block else None, space + rows, letters, before)
        space = 0


def set_unit(setting: LayoutContext, unit: Unit, width: int) -> list[Line]:
    """The lines of a unit with the blank ones above it."""
    setting.above = unit.above
    lines = set_block(setting, unit.part or unit.block, width)
    return [Line([]) for _ in range(unit.gap)] + lines if lines else []


def guess(unit: Unit, width: int) -> int:
    """About how many lines a unit takes, without setting it."""
    return unit.rows + unit.letters // max(width, 1)


def _size(block: Block, *, is_whole: bool) -> tuple[int, int]:
    """About how many lines a block takes, and how many letters that take as many lines as they need."""
    if block.runs and not block.children:
        return 1 + (block.kind == "heading" and block.attrs.get("level", 2) <= 2), sum(
            len(run.text) for run in block.runs
        )
    if block.kind in ("code", "prompt", "math") and block.text:
        is_broken = block.attrs.get("wrap") or "\n" not in block.text
        return 1 + block.text.count("\n") + begins(block) + ends(block), len(block.text) if is_broken else 0
    if block.kind == "expandable" and not block.attrs.get("open"):
        return int(is_whole or bool(block.runs)), 0
    if block.kind == "tabs" and block.children:
        return 3 + max(child.lines[1] - child.lines[0] for child in block.children), 0
    last = block.children[-1] if block.children and is_whole else block
    return max(1, last.lines[1] - block.lines[0]), 0


def _set_and_tried(setting: LayoutContext, unit: Unit, width: int) -> list[Line]:
    lines = set_unit(setting, unit, width)
    for line in lines:
        segments(line.pieces, PLAIN)
    return lines


def stops(lines: Sequence[Line], first: int = 0) -> list[tuple[int, int, Block]]:
    """First line, last line and block of each run of lines that are about one block."""
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
    blocks: Iterable[Block], width: int, look: Styles, folds: Folds | None = None, *, room: int = 0, source: str = ""
) -> Layout:
    """All of `blocks` in `width` cells; wide tables and code at the top level may take `room`. `source`: where they stand.
    Others paint the lines, so it is seen here whether that can be done."""
    written = partial(written_in, source)
    setting = LayoutContext(look, folds or Folds(), set_block, room=room, written=written)
    lines: list[Line] = []
    for unit in units(blocks):
        instead = partial(unset, unit.block, written, look, max(width, NARROWEST))
        set_lines = guarded(partial(_set_and_tried, setting, unit, width), instead)
        lines += set_lines if lines else set_lines[unit.gap :]
    block_lines = stops(lines)
    anchors = {
        str(block.attrs["id"]): first
        for first, _, block in block_lines
        if block.kind == "heading" and block.attrs.get("id")
    }
    return Layout(lines, hot_spots_of(lines), anchors, block_lines)
