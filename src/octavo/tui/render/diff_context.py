"""What is shown of what did not change: a little around each change, the rest folded under the name of where one is."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from octavo.documents.blocks import Block, kinds_with, words
from octavo.tui.render.comparison import split_unit
from octavo.tui.render.diff_units import ContextSize, DiffUnit

_CLIPPED_LINES = 3
"""Lines of a block that stands around a change: one that has not one line more is shown whole."""
_PROSE_KINDS = frozenset({"paragraph", "heading", "item", "task", "list", "quote"})
"""What tells where one is by a few of its lines."""
UNMARKED_CONTAINERS = kinds_with("series") | {"item", "task"}
"""Containers that are seen by what is in them, when they come or go around it."""
_UNNAMED_KINDS = UNMARKED_CONTAINERS | {"document", "column", "figure", "footnotes"}
_KIND_NAMES = {"expandable": "expandable section", "openapi": "interface", "quote": "quotation"}
_KIND_NAMES |= {"api-method": "operation", "api-parameter": "parameter", "api-response": "answer"}
_NAME_ATTRIBUTES = {"api-method": ("summary", "path"), "api-parameter": ("name",), "api-response": ("status",)}
_NAME_ATTRIBUTES |= {"api-section": ("name",)}
_CHILD_NAMES = {"list": "item", "table": "row", "stepper": "step", "tabs": "tab", "updates": "update"}


class PlacedUnit(NamedTuple):
    """A unit, and the names of where it lies, outermost first. What is the same on both sides may be folded."""

    unit: DiffUnit
    section_path: tuple[str, ...] = ()
    container: Block | None = None
    """The innermost of what it lies in that has a name."""
    is_same: bool = False
    has_thread: bool = False
    """It has a thread: it is shown in any case."""


class UnchangedRange(NamedTuple):
    """Blocks that stand one below the other and are the same on both sides. Units are made of those that are shown: a page
    has tens of thousands of the others."""

    olds: Sequence[Block]
    news: Sequence[Block]
    ancestors: tuple[Block, ...]
    old_ancestors: tuple[Block, ...]
    container: Block | None
    starts: Sequence[int]
    """The first blocks that have another place than those before, and below which names."""
    section_paths: Sequence[tuple[str, ...]]

    def unit_at(self, at: int) -> PlacedUnit:
        """One of them as a unit."""
        unit = DiffUnit("block", self.news[at], self.olds[at], None, self.ancestors, self.old_ancestors)
        return PlacedUnit(unit, self.section_paths[bisect_right(self.starts, at) - 1], self.container, True)

    def visible_units(self, context_size: ContextSize) -> Iterator[PlacedUnit | CollapsedBlocks]:
        """Those that may be shown, and those that are folded whatever stands around them."""
        count, edge = len(self.news), context_size.blocks + 2  # what stands at a fold says whether it is worth one
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
    """Blocks that are folded."""

    blocks: Sequence[Block]
    ancestors: tuple[Block, ...]


def container_name(block: Block) -> str:
    """What a container is called, when saying so helps."""
    if block.kind in _UNNAMED_KINDS:
        return ""
    by = _NAME_ATTRIBUTES.get(block.kind, ("title", "date"))
    title = next((str(items) for name in by if (items := block.attrs.get(name))), "") or _operation_name(block)
    title = title or words(block.runs)
    if not title and (named := title_heading(block)) is not None:
        title = words(named.runs)
    name = _KIND_NAMES.get(block.kind, block.kind.replace("-", " "))
    title = " ".join(title.split())
    return f"{name} “{title}”" if title else name


def block_summary(block: Block) -> str:
    """Return in a line what a block says: an operation by its method and path, others by their words or their kind."""
    return _operation_name(block) or " ".join(block.plain().split()) or container_name(block) or block.kind


def _operation_name(block: Block) -> str:
    """Return the method and the path of an operation, the name of a webhook or those of schemas. Empty for other blocks."""
    attrs = block.attrs
    if block.kind not in ("openapi", "api-method"):
        return ""
    if path := attrs.get("path"):
        return f"{str(attrs.get('method') or 'get').upper()} {path}"
    return str(attrs.get("name") or ", ".join(attrs.get("schemas", ())))


def title_heading(block: Block) -> Block | None:
    """The heading that a container such as a step is called by."""
    return block.children[0] if block.children and block.children[0].kind == "heading" else None


def collapse_unchanged(
    items: Iterable[PlacedUnit | UnchangedRange], context_size: ContextSize, title: str = ""
) -> Iterator[DiffUnit]:
    """The units that are shown of a page called `title`. What is folded is in one line, which says where one is below it;
    where nothing is, a line says when one gets into something or out of it."""
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
        is_named = not hidden and each.unit.is_container_change  # it says itself what follows
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
    """For each unit how it is clipped; None for what is folded."""
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
    return _keep_short_ranges(placed, out) if around else out


def _distances(placed: Iterable[PlacedUnit | CollapsedBlocks]) -> list[int]:
    """How many blocks after the last change each is; a very great number before the first."""
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


def _keep_short_ranges(placed: Sequence[PlacedUnit | CollapsedBlocks], kept: list[int | None]) -> list[int | None]:
    """No fold hides only one block that takes no more room than the fold."""
    out = list(kept)
    for at, each in enumerate(placed):
        alone = kept[at] is None and None not in (kept[at - 1] if at else 0, kept[at + 1] if at + 1 < len(kept) else 0)
        if alone and isinstance(each, PlacedUnit) and _is_prose(each.unit.block):
            out[at] = _CLIPPED_LINES
    return out


def _is_prose(block: Block | None) -> bool:
    return block is not None and block.kind in _PROSE_KINDS


def _collapsed_unit(hidden: Sequence[PlacedUnit | CollapsedBlocks], place: tuple[str, ...]) -> DiffUnit:
    """The line that hides something, and says where what is below it lies."""
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
        "fold", Block("fold", key=f"fold {blocks[0].key}"), text=text, section_path=place, hidden_blocks=tuple(blocks)
    )
