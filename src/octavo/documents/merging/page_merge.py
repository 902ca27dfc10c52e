"""Merges three versions of a page. Git merges three versions of a file by lines; this module merges by blocks.

1. Read each version as a tree of blocks (`source_reader`).
2. Follow the blocks that one side moved: an edit by the other side is applied at the new place (`moved_blocks`).
3. Compare main and the change request with the base (`block_alignment`). Changes of both sides that overlap or belong together are
   one region (`regions`).
4. If only one side changed a region, take that side. If both sides edited one block, merge the blocks in it by steps 3 and 4, down to
   rows, lines and words (`leaf_merge`). Every other region is one conflict, with the whole text of each side.
5. If moved text is in conflict at one place, its other places belong to the same conflict (`_decide_together`).
6. Prove two results (`merge_proof`): every conflict decided for main, and every conflict decided for the change request. No text may
   be lost or doubled in them. If the proof fails, the regions with such text, and all text between them, become one conflict. If it
   fails again, everything from the first to the last change is one conflict.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from itertools import groupby
from typing import TypeVar

from octavo.documents.merging.block_alignment import likeness
from octavo.documents.merging.leaf_merge import (
    NO_CONTEXT,
    Context,
    merge_head,
    merge_row,
    merge_table_head,
    merge_text,
    merge_words,
)
from octavo.documents.merging.merge_proof import Run, runs_of, unproved_runs
from octavo.documents.merging.merged_page import (
    SIDES,
    Conflict,
    MergedBlock,
    MergedPage,
    MovedPlace,
    Piece,
    conflicts_in,
    side_of,
)
from octavo.documents.merging.moved_blocks import follow_moves
from octavo.documents.merging.regions import NO_MOVES, MovedBlocks, Region, regions
from octavo.documents.merging.table_columns import align_columns
from octavo.documents.source_blocks import (
    RECORDS,
    Blocks,
    SourceBlock,
    Versions,
    cells,
    gap_after,
    gap_between,
    is_html,
    join,
    sections,
)
from octavo.documents.source_reader import read_page

T = TypeVar("T")
_CRLF = "\r\n"
_TWINS = 0.75
"""Share of their words that two new items have in common if they are versions of one item."""
_TWIN_ROWS = 0.5
"""The same for rows whose first cells are equal."""
_MOST_TWINS = 10_000
"""Pairs of new rows or items that are compared."""


def merge(base: str, main: str, request: str) -> MergedPage:
    """Merge a page: `main` with what `request` changed since `base`."""
    texts = Versions(base, main, request)
    if texts.is_settled:
        return MergedPage(MergedBlock("page", texts.merged, "", [], "", ""))
    line_end = "\n"
    if {_line_end(text) for text in texts if "\n" in text} in ({_CRLF}, {_CRLF, "\n"}):
        line_end = texts.map(lambda text: _line_end(text if "\n" in text else base)).merged
        texts = texts.map(lambda text: text.replace(_CRLF, "\n"))
    merged = _merge(texts.map(read_page), is_emptied=not main.strip() or not request.strip())
    merged.line_end = line_end
    return merged


def _merge(versions: Versions[SourceBlock], *, is_emptied: bool) -> MergedPage:
    """Merge a page. If a side emptied the page, everything is one conflict."""
    plain = _PageMerge(versions.main, versions.request, NO_MOVES)
    if is_emptied:
        return plain.merged(versions.base, ())
    following = _PageMerge(*follow_moves(*versions))
    merged = following.merged(versions.base)
    if unproved := unproved_runs(merged, versions):
        merged = following.merged(versions.base, unproved)
        if unproved_runs(merged, versions):
            merged = plain.merged(versions.base, ())
    return merged


def _line_end(text: str) -> str:
    """Return what the lines of a text end with. Empty if they end in several ways."""
    if _CRLF not in text:
        return "\n"
    return _CRLF if text.count(_CRLF) == text.count("\n") else ""


class _PageMerge:
    """The merge of main and the change request. It follows the moves that `moved` lists."""

    def __init__(self, main: SourceBlock, request: SourceBlock, moved: MovedBlocks) -> None:
        self._main, self._request, self._moved = main, request, moved

    def merged(self, base: SourceBlock, doubtful: Collection[Run] | None = None) -> MergedPage:
        """Return the merged page, with one conflict of the regions that have `doubtful` runs of words."""
        root = self._parent(Versions(base, self._main, self._request), NO_CONTEXT, doubtful)
        _decide_together(root)
        return MergedPage(root)

    # Siblings

    def _siblings(
        self, blocks: Versions[Blocks], context: Context, doubtful: Collection[Run] | None = None
    ) -> list[Piece]:
        """Merge siblings, region by region. Between regions nothing but whitespace was changed.

        Regions that have `doubtful` runs of words, with all between them, are one region that is not divided; if none has such runs,
        all regions are.
        """
        pieces: list[Piece] = []
        undivided: Region | None = None
        found = list(regions(blocks, self._moved))
        if doubtful is not None and found:
            some = [
                each for each in found if any(run in doubtful for part in _cut(blocks, each) for run in runs_of(part))
            ]
            first, last = (some or found)[0], (some or found)[-1]
            undivided = Versions(*(slice(start.start, end.stop) for start, end in zip(first, last, strict=True)))
            found[found.index(first) : found.index(last) + 1] = [undivided]
        ends = Versions(0, 0, 0)
        rest = blocks.map(lambda siblings: slice(len(siblings), None))
        for region in [*found, rest]:
            kept = _cut(blocks, Versions(*(slice(end, each.start) for end, each in zip(ends, region, strict=True))))
            for each in zip(*kept, strict=True):
                pieces.append(Piece(self._block(Versions(*each)), _gap(Versions(*each))))
            pieces += self._region(_cut(blocks, region), context, may_divide=region is not undivided)
            ends = region.map(lambda each: each.stop or 0)
        return pieces

    def _region(self, region: Versions[Blocks], context: Context, *, may_divide: bool) -> list[Piece]:
        """Merge a region. If one side changed it, or both in the same way, that text is taken. What both sides added is kept apart, and
        one block that both edited is merged inside. Every other region is one conflict."""
        keys = region.map(lambda blocks: [each.key for each in blocks])
        if keys.request == keys.base:
            side = 0
        elif keys.main == keys.base:
            side = 1
        elif keys.main == keys.request and not any(each.move for each in region.main):
            side = 0
        elif may_divide and not region.base:
            return self._both_added(region.main, region.request, context)
        elif may_divide and _is_one_block(region):
            block = Versions(region.base[0], region.main[0], region.request[0])
            return [Piece(self._block(block, context), _gap(block))]
        elif may_divide and _is_settled_block_by_block(region):
            blocks = [Versions(*each) for each in zip(*region, strict=True)]
            return [Piece(self._block(each, context), _gap(each)) for each in blocks]
        else:
            return [self._conflict(region, context)]
        if not region.base:
            return self._added((region.main, region.request)[side], side)
        found = self._taken((region.main, region.request)[side], side, region)
        is_conflict = any(isinstance(each.content, Conflict) for each in found)
        return [self._moved_place(found, region, context)] if self._moves(region) and not is_conflict else found

    def _both_added(self, main: Blocks, request: Blocks, context: Context) -> list[Piece]:
        """Merge the blocks that both sides added at one place. Equal blocks are kept once, and rows and items of both sides are kept.
        All other blocks are one conflict."""
        before: list[Piece] = []
        after: list[Piece] = []
        while main and request and main[0].key == request[0].key:
            before += self._taken(main[:1], 0)
            main, request = main[1:], request[1:]
        while main and request and main[-1].key == request[-1].key:
            after = [*self._taken(main[-1:], 0), *after]
            main, request = main[:-1], request[:-1]
        if main and request and main[0].kind == request[0].kind == "front":
            empty = replace(main[0], children=())
            before.append(Piece(self._front_matter(Versions(empty, main[0], request[0])), gap_after(main[0])))
            main, request = main[1:], request[1:]
        sides = [main, request]
        for at in (0, 1):
            while all(sides) and sides[at][0].move:  # moved text does not contradict what the other side added
                if sides[at][0].level:  # behind a moved section, a paragraph would be a part of that section
                    end = _before_section(sides[1 - at], sides[at][0].level)
                    before += self._added(sides[1 - at][:end], 1 - at)
                    sides[1 - at] = sides[1 - at][end:]
                end = next(sections(sides[at]))[1] if sides[at][0].level else 1
                before += self._added(sides[at][:end], at)
                sides[at] = sides[at][end:]
        main, request = sides
        are_records = all(each.kind in RECORDS for each in (*main, *request))
        if main and request and not (are_records and not _have_twins(main, request)):
            return [*before, self._conflict(Versions((), main, request), context), *after]
        known = {each.key for each in main}
        new = [each for each in request if each.key not in known]
        return [*before, *self._added(main, 0), *self._added(new, 1), *after]

    def _added(self, blocks: Blocks, side: int) -> list[Piece]:
        """Take blocks that one side added or moved here."""
        found = []
        for unit, piece in zip(_units(blocks), self._taken(blocks, side), strict=True):
            region: Versions[Blocks] = Versions((), *_in_order(unit, [], side))
            is_conflict = isinstance(piece.content, Conflict)
            found.append(
                piece if is_conflict or not self._moves(region) else self._moved_place([piece], region, NO_CONTEXT)
            )
        return found

    def _taken(self, blocks: Blocks, side: int, region: Versions[Blocks] | None = None) -> list[Piece]:
        """Take the blocks of one side."""
        found = []
        for group in _units(blocks):
            content = self._content(group[0], side) if len(group) == 1 else _moved_and_deleted(group, side)
            found.append(Piece(content, gap_after(group[-1])))
        if region is not None and all(len(each) == 1 for each in region):
            found[0].gap = _gap(region.map(lambda each: each[0]))
        return found

    def _conflict(self, region: Versions[Blocks], context: Context) -> Piece:
        """Make one conflict of a region, with the whole of each side."""
        texts = Versions(join(region.base), self._text(region.main, 0), self._text(region.request, 1))
        kinds = {each.kind for side in region for each in side}
        kind = kinds.pop() if len(kinds) == 1 else "blocks"
        conflict = Conflict(kind, *texts, context=context, moves=self._moves(region), both=self._both(region))
        if kind == "paragraph" and all(texts):  # one side split or joined paragraphs
            conflict.words = merge_words(*texts.map(lambda text: text or ""))
            conflict.both = conflict.words or conflict.both
        return Piece(conflict, _gap(region.map(lambda blocks: blocks[-1] if blocks else None)))

    def _both(self, region: Versions[Blocks]) -> str | None:
        """Return all that main has in a region, then all that the change request has. Equal sections are there once. If only one side
        changed the region, return the text of that side."""
        base, main, request = join(region.base) or None, self._text(region.main, 0), self._text(region.request, 1)
        if request == base:
            return main
        if main == base:
            return request
        known = {tuple(each.key for each in region.main[start:end]) for start, end in sections(region.main)}
        new = [
            each
            for start, end in sections(region.request)
            if tuple(block.key for block in region.request[start:end]) not in known
            for each in region.request[start:end]
        ]
        if any(each.kind == "front" for each in region.main):
            new = [each for each in new if each.kind != "front"]
        groups = [(main, region.main), (self._text(new, 1), new)]
        kept = [(text, blocks) for text, blocks in groups if text is not None]
        if not region.base and len(kept) == 2 and region.main[0].level and not new[0].level:
            kept.reverse()  # behind main's new section a paragraph would be a part of that section
        is_one_list = all(blocks[at].kind == "list" for at, (_, blocks) in zip((-1, 0), kept, strict=False))
        gap = "\n" if is_one_list else gap_between(kept[0][1][-1])  # a blank line would put space between all items
        return gap.join(text for text, _ in kept) if kept else None

    def _text(self, blocks: Blocks, side: int) -> str | None:
        """Return the text of a side's blocks, with that side of every conflict in it."""
        pieces = [Piece(self._content(each, side), gap_after(each)) for each in blocks]
        return side_of(MergedBlock("blocks", "", "", pieces, "", ""), SIDES[side]) or None

    # One block

    def _block(self, block: Versions[SourceBlock], context: Context = NO_CONTEXT) -> str | Conflict | MergedBlock:
        """Merge one block that all three versions have."""
        keys, kind = block.map(lambda each: each.key), block.base.kind
        is_moved = any(each.move or each.restored_from for side in block[1:] for each in side.walk())
        if keys.is_settled and not is_moved:
            sources = block.map(lambda each: each.source)
            if not keys.base == keys.main == keys.request:
                return sources.merged_by(keys)
            if sources.is_settled or not block.base.children:
                return sources.merged  # else both sides changed whitespace, or numbers of items
        if kind == "row":
            return merge_row(block.map(lambda each: each.head), context)
        if kind == "table":
            return self._table(block)
        if kind == "front":
            return self._front_matter(block)
        if any(each.children is None for each in block):
            return merge_text(kind, block.map(lambda each: each.source), context)
        return self._parent(block, context)

    def _parent(
        self, block: Versions[SourceBlock], context: Context, doubtful: Collection[Run] | None = None
    ) -> MergedBlock:
        """Merge a block that others are in."""
        base, kind = block.base, block.base.kind
        if base.head and kind == "code":
            context = base.head + "\n", "\n" + base.tail
        elif kind == "container":
            context = NO_CONTEXT
        head = merge_head(block, context)
        pieces = self._siblings(block.map(_children), context, doubtful)
        opening, end = _around(block, lambda each: each.opening), _around(block, lambda each: each.end)
        tail = block.map(lambda each: each.tail).merged
        is_numbered = kind == "list" and all(map(_is_numbered, block))
        return MergedBlock(kind, head, opening, pieces, end, tail, is_numbered)

    def _front_matter(self, front: Versions[SourceBlock]) -> Conflict | MergedBlock:
        """Merge front matter field by field. Fields are found by their names, since their order means nothing."""
        fields = front.map(lambda each: {field.name: field for field in _children(each)})
        if any(len(named) < len(_children(each)) for named, each in zip(fields, front, strict=True)):
            return Conflict("front", *front.map(lambda each: each.source), both=front.main.source)
        names, end = list(fields.main), 0
        for name in fields.request:
            while end < len(names) and name not in fields.main and names[end] not in (fields.base | fields.request):
                end += 1  # behind the fields that main added
            if name not in fields.main:
                names.insert(end, name)
            end = names.index(name) + 1
        context = front.main.head + "\n", "\n" + front.main.tail
        merged = (self._field(Versions(*(named.get(name) for named in fields)), context) for name in names)
        pieces = [Piece(each, "\n") for each in merged if each is not None]
        return MergedBlock("front", front.main.head, "\n", pieces, "\n", front.main.tail)

    def _field(self, field: Versions[SourceBlock | None], context: Context) -> str | Conflict | MergedBlock | None:
        """Merge a field of front matter that some versions may not have. None if it is deleted."""
        base, main, request = field
        if base is not None and main is not None and request is not None:
            return self._block(Versions(base, main, request), context)
        texts = field.map(lambda each: None if each is None else each.source)
        keys = field.map(lambda each: None if each is None else each.key)
        if keys.is_settled:
            return texts.merged_by(keys)
        return Conflict("field", texts.base or "", *texts[1:], both=texts.main or texts.request, context=context)

    def _table(self, table: Versions[SourceBlock]) -> Conflict | MergedBlock:
        """Merge a table: its columns first, so that all three versions have the same, then its rows."""
        aligned = align_columns(table)
        if aligned is None:
            texts = table.map(lambda each: each.source)
            return Conflict("columns", *texts, both=f"{texts.main}\n\n{texts.request}")
        head = merge_table_head(aligned.map(lambda each: each.head))
        shown = head if isinstance(head, str) else head.main or ""
        between = "" if is_html(shown) else "\n"
        tail = table.map(lambda each: each.tail).merged
        pieces = self._siblings(aligned.map(_children), (shown + between, tail))
        opening = table.map(lambda each: each.opening).merged or between
        return MergedBlock("table", head, opening if pieces or tail else "", pieces, "", tail)

    # Moved text

    def _content(self, block: SourceBlock, side: int) -> str | Conflict | MergedBlock:
        """Return a block of one side. If that side moved the block, what the other side did to it is merged into it."""
        if block.restored_from is not None:
            return join(block.restored_from)
        if block.move is not None:
            return self._moved_block(block, side)
        if block.children and any(each.move or each.restored_from for each in block.walk()):
            pieces = [Piece(self._content(child, side), gap_after(child)) for child in block.children]
            return MergedBlock(block.kind, block.head, block.opening, pieces, block.end, block.tail)
        return block.source

    def _moved_block(self, block: SourceBlock, side: int) -> str | Conflict | MergedBlock:
        assert block.move is not None
        base, others, here = block.move.base, block.move.other, replace(block, move=None)
        if block.move.is_moved_twice:
            return self._block_moved_twice(base, here, others[0], side)
        if not others:
            return _moved_and_deleted([block], side)
        has_other_columns = here.kind == "row" and any(
            len(cells(each.head)) != len(cells(here.head)) for each in others
        )
        if [each.key for each in others] in ([base.key], [here.key]) or has_other_columns:
            return here.source
        if here.key == base.key:
            return _indented(join(others), len(_indent(here)) - len(_indent(others[0])))
        if len(others) > 1 or others[0].name != here.name:
            texts = _in_order(here.source, join(others), side)
            return Conflict("blocks", base.source, *texts, both="\n\n".join(texts))
        return self._block(Versions(base, *_in_order(here, others[0], side)))

    def _block_moved_twice(self, base: SourceBlock, block: SourceBlock, other: SourceBlock, side: int) -> Conflict:
        """Ask about the place of a block that both sides moved, each elsewhere. Its words are merged at either place."""
        text = block.source
        if base.name == block.name == other.name:
            merged = self._block(Versions(base, *_in_order(block, other, side)))
            text = side_of(merged, SIDES[side]) or text
        texts = _in_order(text, None, side)
        return Conflict("moved", base.source, *texts, both=texts[0], moves=frozenset([base]))

    def _moved_place(self, settled: list[Piece], region: Versions[Blocks], context: Context) -> Piece:
        one = self._conflict(region, context)
        assert isinstance(one.content, Conflict)
        return Piece(MovedPlace(settled, one.content), one.gap)

    def _moves(self, region: Versions[Blocks]) -> frozenset[SourceBlock]:
        """Return the blocks of the base that were moved to or from a region and that the other side kept."""
        left = {
            each for block in region.base for each in block.walk() if each in self._moved[0] or each in self._moved[1]
        }
        moves = [each.move for side in region[1:] for block in side for each in block.walk() if each.move]
        arrived = {each for move in moves if move.other for each in move.base.walk()}
        return frozenset(left | arrived)


def _before_section(blocks: Blocks, level: int) -> int:
    """Return how many blocks are before the first heading of this level or a higher one."""
    return next((number for number, each in enumerate(blocks) if 0 < each.level <= level), len(blocks))


def _indent(block: SourceBlock) -> str:
    return block.source[: len(block.source) - len(block.source.lstrip(" \t"))]


def _indented(text: str, by: int) -> str:
    """Return the text with each line indented by so many blanks more, or less."""
    lines = text.split("\n")
    kept = [line[min(max(0, -by), len(line) - len(line.lstrip(" \t"))) :] for line in lines]
    return "\n".join(" " * by + line if line.strip() else line for line in kept)


def _units(blocks: Blocks) -> Iterator[list[SourceBlock]]:
    """Divide the blocks of one side. Neighbours that this side moved and the other side deleted stay together."""
    for is_deleted, group in groupby(blocks, lambda each: each.move is not None and not each.move.other):
        together = list(group)
        yield from [together] if is_deleted else [[each] for each in together]


def _moved_and_deleted(blocks: Blocks, side: int) -> Conflict:
    """Ask about blocks that one side moved here and the other side deleted."""
    base, here = join([each.move.base for each in blocks if each.move]), join(blocks)
    kinds = {each.kind for each in blocks}
    kind = kinds.pop() if len(kinds) == 1 else "blocks"
    return Conflict(kind, base, *_in_order(here, None, side), both=here)


def _children(block: SourceBlock) -> Blocks:
    return block.children or ()


def _cut(blocks: Versions[Blocks], region: Region) -> Versions[Blocks]:
    return Versions(blocks.base[region.base], blocks.main[region.main], blocks.request[region.request])


def _in_order(own: T, other: T, side: int) -> tuple[T, T]:
    """Return the value of main, then the value of the change request. `side` says whose value `own` is."""
    return (own, other) if side == 0 else (other, own)


def _is_numbered(items: SourceBlock) -> bool:
    """Return whether the items of a list count on from the first."""
    numbers = [each.number for each in items.children or ()]
    return numbers == list(range(numbers[0], numbers[0] + len(numbers))) if numbers and numbers[0] >= 0 else False


def _is_one_block(region: Versions[Blocks]) -> bool:
    """Return whether all three versions have one block of the same kind there, which nobody moved."""
    blocks = [each[0] for each in region if len(each) == 1]
    return len(blocks) == 3 and not any(each.move for each in blocks) and len({each.name for each in blocks}) == 1


def _is_settled_block_by_block(region: Versions[Blocks]) -> bool:
    """Return whether the versions have as many blocks of the same kinds, and no block was changed by both sides in different ways."""
    if not len(region.base) == len(region.main) == len(region.request):
        return False
    return all(
        len({each.name for each in blocks}) == 1
        and not any(each.move for top in blocks for each in top.walk())
        and Versions(*(each.key for each in blocks)).is_settled
        for blocks in zip(*region, strict=True)
    )


def _have_twins(main: Blocks, request: Blocks) -> bool:
    """Return whether both sides added versions of one row or item."""
    if len(main) * len(request) > _MOST_TWINS:
        return False
    return any(_are_twins(one, other) for one in main for other in request if one.key != other.key)


def _are_twins(one: SourceBlock, other: SourceBlock) -> bool:
    if one.kind == other.kind == "row":
        return _first_cell(one) == _first_cell(other) and likeness(one, other) >= _TWIN_ROWS
    return likeness(one, other) >= _TWINS


def _first_cell(row: SourceBlock) -> str:
    return " ".join("".join(cells(row.head)[:1]).split())


def _gap(last: Versions[SourceBlock | None]) -> str:
    """Return the whitespace behind a region. `last` is the last block of the region in each version. A block that is the last of its
    parent has no such whitespace: then another version decides."""
    gaps = last.map(lambda block: block.gap if block is not None else None)
    if gaps.main is None or gaps.request is None:
        known = next((gap for gap in (gaps.main, gaps.request, gaps.base) if gap is not None), None)
        return (
            known if known is not None else gap_after(next(each for each in (*last[1:], last[0]) if each is not None))
        )
    return gaps.merged or ""


def _around(block: Versions[SourceBlock], read: Callable[[SourceBlock], str]) -> str:
    """Return the whitespace before or behind the blocks in a block. A version without blocks decides only if no version has any."""
    known = block.map(lambda each: read(each) if each.children else None)
    found = next((each for each in (known.merged, *known[1:], known.base) if each is not None), None)
    return block.map(read).merged if found is None else found


def _decide_together(root: MergedBlock) -> None:
    """Make one decision of all places of a text that was moved, if one of them is in conflict."""
    groups: list[tuple[set[SourceBlock], list[Conflict | MovedPlace]]] = []
    for place in _moved_places(root.pieces):
        conflict = place.conflict if isinstance(place, MovedPlace) else place
        joined = [each for each in groups if each[0] & conflict.moves]
        groups = [each for each in groups if not each[0] & conflict.moves]
        moves = set(conflict.moves).union(*(each[0] for each in joined))
        groups.append((moves, [*(one for each in joined for one in each[1]), place]))
    for moves, places in groups:
        if moves and any(isinstance(each, Conflict) for each in places):
            for each in places:
                if isinstance(each, MovedPlace):
                    each.is_in_conflict = True
    conflicts = list(conflicts_in(root))
    for moves, _ in groups:
        found = [each for each in conflicts if each.moves & moves]
        lead = next((each for each in found if each.main is not None), found[0] if found else None)
        for each in found:
            each.decided_with = lead if each is not lead else None


def _moved_places(pieces: list[Piece]) -> Iterator[Conflict | MovedPlace]:
    """Yield the conflicts and the places of moved text, in order."""
    for piece in pieces:
        content = piece.content
        if isinstance(content, MovedPlace):
            yield content
            yield from _moved_places(content.settled)
        elif isinstance(content, MergedBlock):
            if isinstance(content.head, Conflict):
                yield content.head
            yield from _moved_places(content.pieces)
        elif isinstance(content, Conflict):
            yield content
