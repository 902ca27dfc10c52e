"""What is shown of what did not change: a little around each change, the rest folded under the name of where one is."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from octavo.documents.blocks import Block, kinds_with, plain_text
from octavo.tui.render.diff_units import DiffUnit, Unfolding, cut

_CLIP = 3
"""Lines of a block that stands around a change: one that has not one line more is shown whole."""
_READ = frozenset({"paragraph", "heading", "item", "task", "list", "quote"})
"""What tells where one is by a few of its lines."""
PLAIN_FRAMES = kinds_with("series") | {"item", "task"}
"""Containers that are seen by what is in them, when they come or go around it."""
_UNNAMED = PLAIN_FRAMES | {"document", "column", "figure", "footnotes"}
_NAMES = {"expandable": "expandable section", "openapi": "interface", "quote": "quotation"}
_NAMES |= {"api-method": "operation", "api-parameter": "parameter", "api-response": "answer"}
_NAMED_BY = {"api-method": ("summary", "path"), "api-parameter": ("name",), "api-response": ("status",)}
_NAMED_BY |= {"api-section": ("name",)}
_PARTS = {"list": "item", "table": "row", "stepper": "step", "tabs": "tab", "updates": "update"}


class PlacedUnit(NamedTuple):
    """A unit, and the names of where it lies, outermost first. What is the same on both sides may be folded."""

    unit: DiffUnit
    place: tuple[str, ...] = ()
    container: Block | None = None
    """The innermost of what it lies in that has a name."""
    is_same: bool = False
    is_held: bool = False
    """It has a thread: it is shown in any case."""


class Stretch(NamedTuple):
    """Blocks that stand one below the other and are the same on both sides. Units are made of those that are shown: a page
    has tens of thousands of the others."""

    olds: Sequence[Block]
    news: Sequence[Block]
    within: tuple[Block, ...]
    was_within: tuple[Block, ...]
    container: Block | None
    firsts: Sequence[int]
    """The first blocks that have another place than those before, and below which names."""
    places: Sequence[tuple[str, ...]]

    def placed(self, at: int) -> PlacedUnit:
        """One of them as a unit."""
        unit = DiffUnit("block", self.news[at], self.olds[at], None, self.within, self.was_within)
        return PlacedUnit(unit, self.places[bisect_right(self.firsts, at) - 1], self.container, True)

    def shown(self, unfolding: Unfolding) -> Iterator[PlacedUnit | FoldedBlocks]:
        """Those that may be shown, and those that are folded whatever stands around them."""
        count, edge = len(self.news), unfolding.around + 2  # what stands at a fold says whether it is worth one
        wanted: Iterable[int] = range(count)
        if 2 * edge < count:
            opened = unfolding.opened and (at for at, new in enumerate(self.news) if new.key in unfolding.opened)
            wanted = sorted({*range(edge), *(opened or ()), *range(count - edge, count)})
        at = 0
        for each in wanted:
            if each - at > 2:
                yield FoldedBlocks(self.news[at:each], self.within)
                at = each
            while at <= each:
                yield self.placed(at)
                at += 1


class FoldedBlocks(NamedTuple):
    """Blocks that are folded."""

    blocks: Sequence[Block]
    within: tuple[Block, ...]


def name_of(block: Block) -> str:
    """What a container is called, when saying so helps."""
    if block.kind in _UNNAMED:
        return ""
    by = _NAMED_BY.get(block.kind, ("title", "date"))
    title = next((str(given) for name in by if (given := block.attrs.get(name))), "") or _operation(block)
    title = title or plain_text(block.runs)
    if not title and (named := naming(block)) is not None:
        title = plain_text(named.runs)
    name = _NAMES.get(block.kind, block.kind.replace("-", " "))
    title = " ".join(title.split())
    return f"{name} “{title}”" if title else name


def said_of(block: Block) -> str:
    """Return in a line what a block says: an operation by its method and path, others by their words or their kind."""
    return _operation(block) or " ".join(block.plain().split()) or name_of(block) or block.kind


def _operation(block: Block) -> str:
    """Return the method and the path of an operation, the name of a webhook or those of schemas. Empty for other blocks."""
    attrs = block.attrs
    if block.kind not in ("openapi", "api-method"):
        return ""
    if path := attrs.get("path"):
        return f"{str(attrs.get('method') or 'get').upper()} {path}"
    return str(attrs.get("name") or ", ".join(attrs.get("schemas", ())))


def naming(block: Block) -> Block | None:
    """The heading that a container such as a step is called by."""
    return block.children[0] if block.children and block.children[0].kind == "heading" else None


def folded(given: Iterable[PlacedUnit | Stretch], unfolding: Unfolding, title: str = "") -> Iterator[DiffUnit]:
    """The units that are shown of a page called `title`. What is folded is in one line, which says where one is below it;
    where nothing is, a line says when one gets into something or out of it."""
    placed: list[PlacedUnit | FoldedBlocks] = []
    for some in given:
        if isinstance(some, PlacedUnit):
            placed.append(some)
        else:
            placed += some.shown(unfolding)
    kept = _kept(placed, unfolding)
    hidden: list[PlacedUnit | FoldedBlocks] = []
    container: Block | None = None
    for each, clip in zip(placed, kept, strict=True):
        if clip is None or isinstance(each, FoldedBlocks):
            hidden.append(each)
            continue
        is_named = not hidden and each.unit.is_frame  # it says itself what follows
        if is_named:
            container = each.container
        if each.unit.kind != "threads" and (hidden or each.container is not container):
            yield _fold(hidden, each.place) if hidden else DiffUnit("label", place=each.place or (title,))
            hidden, container = [], each.container
        if not clip:
            yield from cut(each.unit)
            continue
        edge = next(cut(each.unit))
        for piece in cut(each.unit) if clip < 0 else ():
            edge = piece
        yield each.unit._replace(block=edge.block, clip=clip)
    if hidden:
        yield _fold(hidden, ())


def _kept(placed: Sequence[PlacedUnit | FoldedBlocks], unfolding: Unfolding) -> list[int | None]:
    """For each unit how it is clipped; None for what is folded."""
    around, is_brief = unfolding.around, unfolding.is_brief
    after = _distances(placed)
    before = _distances(placed[::-1])
    out: list[int | None] = []
    for each, since, until in zip(placed, after, before[::-1], strict=True):
        if isinstance(each, FoldedBlocks):
            out.append(None)
            continue
        block = each.unit.block
        if not each.is_same or each.is_held or (block is not None and block.key in unfolding.opened):
            out.append(0)
        elif min(since, until) > around or not (_is_read(block) or not is_brief):
            out.append(None)
        elif not is_brief or max(since, until) <= around:
            out.append(0)
        else:
            out.append(_CLIP if since <= around else -_CLIP)
    return _without_short_folds(placed, out) if around else out


def _distances(placed: Iterable[PlacedUnit | FoldedBlocks]) -> list[int]:
    """How many blocks after the last change each is; a very great number before the first."""
    out: list[int] = []
    since = 1 << 30
    for each in placed:
        if isinstance(each, FoldedBlocks):
            since += len(each.blocks)
        elif each.is_same:
            since += 1
        elif each.unit.change >= 0 and each.unit.kind != "setting":
            since = 0
        out.append(since)
    return out


def _without_short_folds(placed: Sequence[PlacedUnit | FoldedBlocks], kept: list[int | None]) -> list[int | None]:
    """No fold hides only one block that takes no more room than the fold."""
    out = list(kept)
    for at, each in enumerate(placed):
        alone = kept[at] is None and None not in (kept[at - 1] if at else 0, kept[at + 1] if at + 1 < len(kept) else 0)
        if alone and isinstance(each, PlacedUnit) and _is_read(each.unit.block):
            out[at] = _CLIP
    return out


def _is_read(block: Block | None) -> bool:
    return block is not None and block.kind in _READ


def _fold(hidden: Sequence[PlacedUnit | FoldedBlocks], place: tuple[str, ...]) -> DiffUnit:
    """The line that hides something, and says where what is below it lies."""
    blocks: list[Block] = []
    parts: set[str] = set()
    for each in hidden:
        within = each.within if isinstance(each, FoldedBlocks) else each.unit.within
        parts.add(_PARTS.get(within[-1].kind, "block") if within else "block")
        if isinstance(each, FoldedBlocks):
            blocks += each.blocks
        elif each.unit.block is not None:
            blocks.append(each.unit.block)
    part = parts.pop() if len(parts) == 1 else "block"
    text = f"{len(blocks)} {part if len(blocks) == 1 else part + 's'} unchanged"
    return DiffUnit("fold", Block("fold", key=f"fold {blocks[0].key}"), text=text, place=place, hidden=tuple(blocks))
