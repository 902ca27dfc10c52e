"""Unchanged blocks in a diff: a few lines around each change are shown, and the rest is collapsed."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from octavo.documents.blocks import Block, kinds_with, plain_text
from octavo.tui.render.comparison import split_unit
from octavo.tui.render.diff_units import ContextSize, DiffUnit

_CLIPPED_LINES = 3
"""Number of visible lines of an unchanged block next to a change. A block with one more line is shown whole."""
_PROSE_KINDS = frozenset({"paragraph", "heading", "item", "task", "list", "quote"})
"""Kinds of text blocks. A few of their lines are enough as context of a change."""
UNMARKED_CONTAINERS = kinds_with("series") | {"item", "task"}
"""Containers that have no line of their own when they are added or removed around content."""
_UNNAMED_KINDS = UNMARKED_CONTAINERS | {"document", "column", "figure", "footnotes"}
_KIND_NAMES = {"expandable": "expandable section", "openapi": "interface", "quote": "quotation"}
_KIND_NAMES |= {"api-method": "operation", "api-parameter": "parameter", "api-response": "answer"}
_NAME_ATTRIBUTES = {"api-method": ("summary", "path"), "api-parameter": ("name",), "api-response": ("status",)}
_NAME_ATTRIBUTES |= {"api-section": ("name",)}
_CHILD_NAMES = {"list": "item", "table": "row", "stepper": "step", "tabs": "tab", "updates": "update"}


class PlacedUnit(NamedTuple):
    """A unit with the names of the sections and containers around it, outermost first."""

    unit: DiffUnit
    section_path: tuple[str, ...] = ()
    container: Block | None = None
    """Innermost container with a name."""
    is_same: bool = False
    has_thread: bool = False
    """True if the unit has a thread. Such a unit is never collapsed."""


class UnchangedRange(NamedTuple):
    """Unchanged blocks in sequence. Units are made only of the visible ones, because a page can have tens of thousands
    of blocks."""

    olds: Sequence[Block]
    news: Sequence[Block]
    ancestors: tuple[Block, ...]
    old_ancestors: tuple[Block, ...]
    container: Block | None
    starts: Sequence[int]
    """Indexes of the blocks at which `section_paths` changes."""
    section_paths: Sequence[tuple[str, ...]]

    def unit_at(self, position: int) -> PlacedUnit:
        """Return the block at `position` as a unit of the diff."""
        unit = DiffUnit("block", self.news[position], self.olds[position], None, self.ancestors, self.old_ancestors)
        return PlacedUnit(unit, self.section_paths[bisect_right(self.starts, position) - 1], self.container, True)

    def visible_units(self, context_size: ContextSize) -> Iterator[PlacedUnit | CollapsedBlocks]:
        """Yield the blocks near both ends of the range and the expanded blocks as units, and the blocks between them as
        `CollapsedBlocks`."""
        count, edge = (
            len(self.news),
            context_size.blocks + 2,
        )  # Two more blocks are needed to decide whether a single block is worth collapsing.
        wanted: Iterable[int] = range(count)
        if 2 * edge < count:
            opened = context_size.expanded and (
                at for at, new in enumerate(self.news) if new.key in context_size.expanded
            )
            wanted = sorted({*range(edge), *(opened or ()), *range(count - edge, count)})
        at = 0
        for each in wanted:
            if each - at > 2:
                yield CollapsedBlocks(self.news[at:each], self.ancestors)
                at = each
            while at <= each:
                yield self.unit_at(at)
                at += 1


class CollapsedBlocks(NamedTuple):
    """Consecutive blocks that are collapsed."""

    blocks: Sequence[Block]
    ancestors: tuple[Block, ...]


def container_name(block: Block) -> str:
    """Return the display name of a container. Empty for kinds without a useful name, such as list items, columns and
    figures."""
    if block.kind in _UNNAMED_KINDS:
        return ""
    by = _NAME_ATTRIBUTES.get(block.kind, ("title", "date"))
    title = next((str(items) for name in by if (items := block.attrs.get(name))), "") or _operation_name(block)
    title = title or plain_text(block.runs)
    if not title and (named := title_heading(block)) is not None:
        title = plain_text(named.runs)
    name = _KIND_NAMES.get(block.kind, block.kind.replace("-", " "))
    title = " ".join(title.split())
    return f"{name} “{title}”" if title else name


def block_summary(block: Block) -> str:
    """Return one line of text that identifies a block: method and path of an operation, else the text or the kind of
    the block."""
    return _operation_name(block) or " ".join(block.plain().split()) or container_name(block) or block.kind


def _operation_name(block: Block) -> str:
    """Return the method and path of an operation, the name of a webhook, or the names of schemas. Empty for other
    blocks."""
    attrs = block.attrs
    if block.kind not in ("openapi", "api-method"):
        return ""
    if path := attrs.get("path"):
        return f"{str(attrs.get('method') or 'get').upper()} {path}"
    return str(attrs.get("name") or ", ".join(attrs.get("schemas", ())))


def title_heading(block: Block) -> Block | None:
    """Return the heading that serves as the title of a container, such as a step. None if there is no heading."""
    return block.children[0] if block.children and block.children[0].kind == "heading" else None


def collapse_unchanged(
    items: Iterable[PlacedUnit | UnchangedRange], context_size: ContextSize, title: str = ""
) -> Iterator[DiffUnit]:
    """Yield the visible units of a page.

    One line replaces collapsed blocks, and names the section and containers of the next block. A line also names them
    where a container begins or ends without collapsed blocks. `title` is the name of the top level.
    """
    placed: list[PlacedUnit | CollapsedBlocks] = []
    for some in items:
        if isinstance(some, PlacedUnit):
            placed.append(some)
        else:
            placed += some.visible_units(context_size)
    kept = _line_limits(placed, context_size)
    hidden: list[PlacedUnit | CollapsedBlocks] = []
    container: Block | None = None
    for each, clip in zip(placed, kept, strict=True):
        if clip is None or isinstance(each, CollapsedBlocks):
            hidden.append(each)
            continue
        is_named = not hidden and each.unit.is_container_change  # A container change names its container.
        if is_named:
            container = each.container
        if each.unit.kind != "threads" and (hidden or each.container is not container):
            yield (
                _collapsed_unit(hidden, each.section_path)
                if hidden
                else DiffUnit("label", section_path=each.section_path or (title,))
            )
            hidden, container = [], each.container
        if not clip:
            yield from split_unit(each.unit)
            continue
        edge = next(split_unit(each.unit))
        for piece in split_unit(each.unit) if clip < 0 else ():
            edge = piece
        yield each.unit._replace(block=edge.block, line_limit=clip)
    if hidden:
        yield _collapsed_unit(hidden, ())


def _line_limits(placed: Sequence[PlacedUnit | CollapsedBlocks], context_size: ContextSize) -> list[int | None]:
    """Return the line limit of each unit, with 0 for no limit and None for a collapsed unit."""
    around, is_brief = context_size.blocks, context_size.is_brief
    after = _distances(placed)
    before = _distances(placed[::-1])
    out: list[int | None] = []
    for each, since, until in zip(placed, after, before[::-1], strict=True):
        if isinstance(each, CollapsedBlocks):
            out.append(None)
            continue
        block = each.unit.block
        if not each.is_same or each.has_thread or (block is not None and block.key in context_size.expanded):
            out.append(0)
        elif min(since, until) > around or not (_is_prose(block) or not is_brief):
            out.append(None)
        elif not is_brief or max(since, until) <= around:
            out.append(0)
        else:
            out.append(_CLIPPED_LINES if since <= around else -_CLIPPED_LINES)
    return _show_single_blocks(placed, out) if around else out


def _distances(placed: Iterable[PlacedUnit | CollapsedBlocks]) -> list[int]:
    """Return for each unit the distance in blocks from the last change before the unit: 0 for a change, and a very
    large number before the first change."""
    out: list[int] = []
    since = 1 << 30
    for each in placed:
        if isinstance(each, CollapsedBlocks):
            since += len(each.blocks)
        elif each.is_same:
            since += 1
        elif each.unit.change_number >= 0 and each.unit.kind != "setting":
            since = 0
        out.append(since)
    return out


def _show_single_blocks(placed: Sequence[PlacedUnit | CollapsedBlocks], kept: list[int | None]) -> list[int | None]:
    """Return the limits, but make a collapsed block of prose visible if both neighbors are visible: a line for one
    collapsed block takes as much space."""
    out = list(kept)
    for at, each in enumerate(placed):
        alone = kept[at] is None and None not in (kept[at - 1] if at else 0, kept[at + 1] if at + 1 < len(kept) else 0)
        if alone and isinstance(each, PlacedUnit) and _is_prose(each.unit.block):
            out[at] = _CLIPPED_LINES
    return out


def _is_prose(block: Block | None) -> bool:
    return block is not None and block.kind in _PROSE_KINDS


def _collapsed_unit(hidden: Sequence[PlacedUnit | CollapsedBlocks], section_path: tuple[str, ...]) -> DiffUnit:
    """Return the unit that stands for collapsed blocks. `section_path` names the section of the next block."""
    blocks: list[Block] = []
    parts: set[str] = set()
    for each in hidden:
        within = each.ancestors if isinstance(each, CollapsedBlocks) else each.unit.ancestors
        parts.add(_CHILD_NAMES.get(within[-1].kind, "block") if within else "block")
        if isinstance(each, CollapsedBlocks):
            blocks += each.blocks
        elif each.unit.block is not None:
            blocks.append(each.unit.block)
    part = parts.pop() if len(parts) == 1 else "block"
    text = f"{len(blocks)} {part if len(blocks) == 1 else part + 's'} unchanged"
    return DiffUnit(
        "fold",
        Block("fold", key=f"fold {blocks[0].key}"),
        text=text,
        section_path=section_path,
        hidden_blocks=tuple(blocks),
    )
