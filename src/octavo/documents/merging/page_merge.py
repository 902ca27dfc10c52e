"""Merges three versions of a page: the base, main and the change request.

Git merges files by lines; this module merges pages by blocks. Start with `merge`.

1. Read each version as a tree of blocks (source_blocks.py).
2. Follow the blocks that one side moved (block_alignment.py). An edit by the other side is merged at the new position.
3. From the page down to its innermost blocks, compare the children in main and in the change request with those in the
   base. Changes that overlap or belong together form one region (`find_regions` in block_alignment.py). Children outside
   the regions differ in white space only.
4. Merge each region by the first of these rules that applies:
   - One side changed the region: take that side, unless the other side changed white space or the markers of items in
     it. Both sides made the same change, without moves: take main.
   - Both sides only added blocks: keep equal blocks at the start and at the end once. Keep moved blocks, and the rows
     and items of both sides. Merge front matter by fields. All other blocks are one conflict, and so are different
     versions of one row or item.
   - The region is one block in all versions: merge inside the block. A table is merged by columns and rows, a row by
     cells, front matter by fields, and any other block by its children, as in step 3. A text without children is merged
     by words if the sides changed different words, and the user can still choose a side. Else, it is a conflict
     (leaf_merge.py).
   - All versions have the same kinds of blocks, and no block was changed differently by both sides: merge block by
     block.
   - Any other region is one conflict, with the whole text of each side.
5. One choice resolves all conflicts of the same moved text (`_join_conflicts_of_moved_text`). Text that both sides added
   at different positions counts as moved text, and so does a block that is in different conflicts. Lines of code and
   short paragraphs that both sides added stay at both positions. Two new sections with equal headings and similar
   texts count as one moved section.
6. Resolve all conflicts for main, then all for the change request, and check both results (leaf_merge.py). If a block
   is lost although one side kept it and the other side edited it, merge again, and count the block as moved. If words
   are lost or repeated, merge again: make one conflict from the first to the last region with these words, or of all
   regions if none has them. If the check fails again, follow no moves, and make one conflict of all regions.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain, groupby
from typing import TypeAlias, TypeVar

from octavo.documents.merging import leaf_merge
from octavo.documents.merging.block_alignment import (
    MIN_ADDED_WORDS,
    NO_MOVES,
    MovedBlocks,
    Region,
    find_regions,
    follow_moves,
    word_similarity,
)
from octavo.documents.merging.leaf_merge import align_columns, find_lost_edits, miscounted_sequences, word_sequences
from octavo.documents.merging.merged_page import (
    NO_CONTEXT,
    SIDES,
    Conflict,
    Context,
    MergedBlock,
    MergedChild,
    MergedPage,
    MoveEnd,
    conflicts_in,
    text_of_side,
)
from octavo.documents.source_blocks import (
    ROWS_AND_ITEMS,
    WORD,
    Blocks,
    Move,
    SourceBlock,
    Versions,
    gap_after,
    is_html,
    join_blocks,
    read_page,
    section_ranges,
    split_cells,
    usual_gap,
)

T = TypeVar("T")
_MustJoin: TypeAlias = Callable[[Versions[Blocks]], bool]
"""A function that returns whether a region must become part of one large conflict."""
_CRLF = "\r\n"
_TAG_KINDS = frozenset({"container", "tag"})
"""Kinds of blocks with a tag. If a conflict is about a tag only, its text is a block of the kind `tag`."""
_ITEM_LIKENESS = 0.75
"""Minimum share of equal words in two versions of a new item."""
_ROW_LIKENESS = 0.5
"""Minimum share of equal words in two versions of a new row. The first cells of both versions must be equal."""
_PAIR_LIMIT = 10_000
"""Maximum number of pairs of new rows or items that are compared. If there are more pairs, no pair is compared."""


def merge(base: str, main: str, request: str) -> MergedPage:
    """Merge three versions of a page: `main` with the changes from `base` to `request`."""
    texts = Versions(base, main, request)
    if texts.is_conflict_free:
        # Nothing has to be parsed: the whole text becomes the head of one block.
        return MergedPage(MergedBlock("page", texts.preferred, "", [], "", ""))
    line_end = "\n"
    # Unify the line breaks if some versions use CRLF.
    if {_line_end(text) for text in texts if "\n" in text} in ({_CRLF}, {_CRLF, "\n"}):
        line_end = texts.map(lambda text: _line_end(text if "\n" in text else base)).preferred
        texts = texts.map(lambda text: text.replace(_CRLF, "\n"))
    merged_page = _merge(texts.map(read_page), is_emptied=not main.strip() or not request.strip())
    merged_page.line_end = line_end
    return merged_page


def _merge(versions: Versions[SourceBlock], *, is_emptied: bool) -> MergedPage:
    """Return the merged page. If `is_emptied`, one side deleted the whole text, so all changes form one conflict."""
    without_moves = _PageMerge(versions.main, versions.request, NO_MOVES)
    if is_emptied:
        return without_moves.merge_page(versions.base, lambda _: True)
    with_moves = _PageMerge(*follow_moves(versions))
    merged_page = with_moves.merge_page(versions.base)
    edited_blocks: frozenset[SourceBlock] = frozenset()
    while lost_edits := find_lost_edits(merged_page, versions) - edited_blocks:
        edited_blocks |= lost_edits
        with_moves = _PageMerge(*follow_moves(versions, edited_blocks))
        merged_page = with_moves.merge_page(versions.base)
    if miscounted := miscounted_sequences(merged_page, versions):
        merged_page = with_moves.merge_page(
            versions.base, lambda region: any(miscounted & {*word_sequences(each)} for each in region)
        )
        if miscounted_sequences(merged_page, versions):
            merged_page = without_moves.merge_page(versions.base, lambda _: True)
    return merged_page


def _line_end(text: str) -> str:
    if _CRLF not in text:
        return "\n"
    return _CRLF if text.count(_CRLF) == text.count("\n") else ""


class _PageMerge:
    """Merges main and the change request. The parameter `side` is 0 for main and 1 for the change request."""

    def __init__(self, main: SourceBlock, request: SourceBlock, moved: MovedBlocks) -> None:
        self._main, self._request, self._moved = main, request, moved

    def merge_page(self, base: SourceBlock, must_join: _MustJoin | None = None) -> MergedPage:
        root = self._merge_children(Versions(base, self._main, self._request), NO_CONTEXT, must_join)
        _join_conflicts_of_moved_text(root)
        _mark_blocks_of_two_conflicts(root, base)
        _join_conflicts_of_moved_text(root)
        return MergedPage(root)

    def _merge_siblings(
        self, blocks: Versions[Blocks], context: Context, must_join: _MustJoin | None = None
    ) -> list[MergedChild]:
        """Merge siblings region by region. The regions from the first to the last for which `must_join` is True become
        one conflict, or all if there is none. Without `must_join`, several regions with front matter join."""
        children: list[MergedChild] = []
        joined_region: Region | None = None
        regions = list(find_regions(blocks, self._moved))
        if must_join is None and sum(_has_front(_blocks_in_region(blocks, each)) for each in regions) > 1:
            must_join = _has_front
        if must_join is not None and regions:
            regions_to_join = [each for each in regions if must_join(_blocks_in_region(blocks, each))] or regions
            first, last = regions_to_join[0], regions_to_join[-1]
            joined_region = Versions(*(slice(start.start, end.stop) for start, end in zip(first, last, strict=True)))
            regions[regions.index(first) : regions.index(last) + 1] = [joined_region]
        ends = Versions(0, 0, 0)
        end_of_all = blocks.map(lambda siblings: slice(len(siblings), None))
        # The loop also adds the blocks after the last change.
        for region in [*regions, end_of_all]:
            unchanged_blocks = _blocks_in_region(
                blocks, Versions(*(slice(end, each.start) for end, each in zip(ends, region, strict=True)))
            )
            for each in zip(*unchanged_blocks, strict=True):
                children.append(MergedChild(self._merge_block(Versions(*each)), _merged_gap(Versions(*each))))
            children += self._merge_region(
                _blocks_in_region(blocks, region), context, merges_inside=region is not joined_region
            )
            ends = region.map(lambda each: each.stop or 0)  # Only the last region has no stop.
        return children

    def _merge_region(self, region: Versions[Blocks], context: Context, *, merges_inside: bool) -> list[MergedChild]:
        """Merge a region by step 4 of the module docstring. Without `merges_inside`, different changes conflict."""
        keys = region.map(lambda blocks: [each.key for each in blocks])
        is_divided = merges_inside and _is_one_block(region) and _has_invisible_change(region.map(lambda each: each[0]))
        if keys.request == keys.base and not is_divided:
            side = 0
        elif keys.main == keys.base and not is_divided:
            side = 1
        # The key of a moved block is that of the base, so equal keys do not mean equal blocks.
        elif keys.main == keys.request and not any(each.move for each in region.main):
            side = 0
        elif merges_inside and not region.base:
            return self._merge_additions(region.main, region.request, context)
        elif merges_inside and _is_one_block(region):
            block = Versions(region.base[0], region.main[0], region.request[0])
            return [MergedChild(self._merge_block(block, context), _merged_gap(block))]
        elif merges_inside and _can_merge_block_by_block(region):
            blocks = [Versions(*each) for each in zip(*region, strict=True)]
            return [MergedChild(self._merge_block(each, context), _merged_gap(each)) for each in blocks]
        else:
            return [self._make_conflict(region, context)]
        if not region.base:
            return self._children_of_additions((region.main, region.request)[side], side)
        children = self._children_of_side((region.main, region.request)[side], side)
        if all(len(each) == 1 for each in region):
            children[0].gap = _merged_gap(region.map(lambda each: each[0]))
        return self._as_move_end(children, region, context)

    def _merge_additions(self, main: Blocks, request: Blocks, context: Context) -> list[MergedChild]:
        before: list[MergedChild] = []
        after: list[MergedChild] = []
        while main and request and main[0].key == request[0].key:
            before += self._children_of_side(main[:1], 0)
            main, request = main[1:], request[1:]
        while main and request and main[-1].key == request[-1].key:
            after = [*self._children_of_side(main[-1:], 0), *after]
            main, request = main[:-1], request[:-1]
        if main and request and main[0].kind == request[0].kind == "front":
            empty = replace(main[0], children=())
            before.append(
                MergedChild(self._merge_front_matter(Versions(empty, main[0], request[0])), gap_after(main[0]))
            )
            main, request = main[1:], request[1:]
        sides = [main, request]
        for side, other in ((0, 1), (1, 0)):
            # Moved blocks at the start of a side stay outside of the conflict, because they cannot be in conflict.
            while all(sides) and sides[side][0].move:
                end = 1
                if level := sides[side][0].level:
                    # The section of this heading was moved. Blocks of the other side, up to a heading of the same or a
                    # higher level, would become part of the section, so they go before it.
                    is_next = [0 < each.level <= level for each in sides[other]]
                    count = is_next.index(True) if True in is_next else len(is_next)
                    before += self._children_of_additions(sides[other][:count], other)
                    sides[other] = sides[other][count:]
                    end = next(section_ranges(sides[side]))[1]
                before += self._children_of_additions(sides[side][:end], side)
                sides[side] = sides[side][end:]
        main, request = sides
        can_keep_both = all(each.kind in ROWS_AND_ITEMS for each in (*main, *request))
        if main and request and (not can_keep_both or _have_two_versions_of_a_block(main, request)):
            return [*before, self._make_conflict(Versions((), main, request), context), *after]
        main_keys = {each.key for each in main}
        new_blocks = [each for each in request if each.key not in main_keys]
        return [*before, *self._children_of_additions(main, 0), *self._children_of_additions(new_blocks, 1), *after]

    def _children_of_additions(self, blocks: Blocks, side: int) -> list[MergedChild]:
        children: list[MergedChild] = []
        for group in _group_moved_and_deleted(blocks):
            region: Versions[Blocks] = Versions((), *_main_and_request(group, [], side))
            children += self._as_move_end(self._children_of_side(group, side), region, NO_CONTEXT)
        return children

    def _children_of_side(self, blocks: Blocks, side: int) -> list[MergedChild]:
        """Return the blocks of one side as merged children. Moved blocks are merged with changes of the other side."""
        children = []
        for group in _group_moved_and_deleted(blocks):
            content = self._merge_moves_in(group[0], side) if len(group) == 1 else _conflict_of_deletion(group, side)
            children.append(MergedChild(content, gap_after(group[-1])))
        return children

    def _make_conflict(self, region: Versions[Blocks], context: Context) -> MergedChild:
        texts = Versions(
            join_blocks(region.base), self._text_of_side(region.main, 0), self._text_of_side(region.request, 1)
        )
        kind = _kind_of([block for blocks in region for block in blocks])
        moved_base, text_of_both = self._moved_base_blocks(region), self._text_of_both_sides(region)
        conflict = Conflict(kind, *texts, both=text_of_both, context=context, moved_blocks=moved_base)
        if kind == "paragraph" and all(texts):
            conflict.merged_text = leaf_merge.merge_words(*texts.map(lambda text: text or ""))
            conflict.both = conflict.merged_text or conflict.both
        return MergedChild(conflict, _merged_gap(region.map(lambda blocks: blocks[-1] if blocks else None)))

    def _text_of_both_sides(self, region: Versions[Blocks]) -> str | None:
        """Return the text of a region with the changes of both sides, equal sections once. None if no text is left."""
        base = join_blocks(region.base) or None
        main, request = self._text_of_side(region.main, 0), self._text_of_side(region.request, 1)
        if request == base:
            return main
        if main == base:
            return request
        main_sections = {
            tuple(each.key for each in region.main[start:end]) for start, end in section_ranges(region.main)
        }
        parts = [region.request[start:end] for start, end in section_ranges(region.request)]
        new_blocks = [
            each for part in parts if tuple(block.key for block in part) not in main_sections for each in part
        ]
        if any(each.kind == "front" for each in region.main):  # A page can have front matter only once.
            new_blocks = [each for each in new_blocks if each.kind != "front"]
        groups = [(main, region.main), (self._text_of_side(new_blocks, 1), new_blocks)]
        side_texts = [(text, blocks) for text, blocks in groups if text is not None]
        if not region.base and len(side_texts) == 2 and region.main[0].level and not new_blocks[0].level:
            side_texts.reverse()  # Paragraphs below main's new section would become part of it.
        is_one_list = all(blocks[index].kind == "list" for index, (_, blocks) in zip((-1, 0), side_texts, strict=False))
        # A list gets no blank line, because that would add space between all items.
        gap = "\n" if is_one_list else usual_gap(side_texts[0][1][-1])
        return gap.join(text for text, _ in side_texts) if side_texts else None

    def _text_of_side(self, blocks: Blocks, side: int) -> str | None:
        children = [MergedChild(self._merge_moves_in(block, side), gap_after(block)) for block in blocks]
        return text_of_side(MergedBlock("blocks", "", "", children, "", ""), SIDES[side]) or None

    def _merge_block(self, block: Versions[SourceBlock], context: Context = NO_CONTEXT) -> str | Conflict | MergedBlock:
        if block.base.kind in ("code", "container", "list"):  # One side may have moved the block into a list item.
            indents = block.map(lambda each: len(_indentation(each)))
            block = Versions(*(_indented(each, indents.preferred - len(_indentation(each))) for each in block))
        keys, kind = block.map(lambda each: each.key), block.base.kind
        is_moved = any(each.move or each.replaced_blocks for version in block[1:] for each in version.walk())
        if keys.is_conflict_free and not is_moved:
            sources = block.map(lambda each: each.source)
            if not keys.base == keys.main == keys.request and not _has_invisible_change(block):
                return sources.preferred_by(keys)
            if sources.is_conflict_free or not block.base.children:
                return sources.preferred
            # A side changed only white space or the markers of items. Merge these changes in the children.
        if kind == "row":
            return leaf_merge.merge_row(block.map(lambda each: each.head), context)
        if kind == "table":
            return self._merge_table(block)
        if kind == "front":
            return self._merge_front_matter(block)
        if any(each.children is None for each in block):
            return leaf_merge.merge_text(kind, block.map(lambda each: each.source), context)
        return self._merge_children(block, context)

    def _merge_children(
        self, block: Versions[SourceBlock], context: Context, must_join: _MustJoin | None = None
    ) -> MergedBlock:
        base, kind = block.base, block.base.kind
        if base.head and kind == "code":
            context = base.head + "\n", "\n" + base.tail
        elif kind == "container":
            context = NO_CONTEXT
        head = leaf_merge.merge_head(block, context)
        children = self._merge_siblings(block.map(_children), context, must_join)
        space_before = _merged_inner_space(block, lambda each: each.space_before_children)
        space_after = _merged_inner_space(block, lambda each: each.space_after_children)
        tail = block.map(lambda each: each.tail).preferred
        marker = _merged_marker(block) if kind == "list" else ""
        return MergedBlock(kind, head, space_before, children, space_after, tail, marker)

    def _merge_front_matter(self, front: Versions[SourceBlock]) -> Conflict | MergedBlock:
        """Return front matter, merged field by field, or one conflict if a version has a field twice."""
        by_name = front.map(lambda each: {field.name: field for field in _children(each)})
        if any(len(fields) < len(_children(each)) for fields, each in zip(by_name, front, strict=True)):
            return Conflict("front", *front.map(lambda each: each.source), both=front.main.source)
        names, end = list(by_name.main), 0
        for name in by_name.request:
            while end < len(names) and name not in by_name.main and names[end] not in (by_name.base | by_name.request):
                end += 1
            if name not in by_name.main:
                names.insert(end, name)
            end = names.index(name) + 1
        context = front.main.head + "\n", "\n" + front.main.tail
        results = (self._merge_field(Versions(*(fields.get(name) for fields in by_name)), context) for name in names)
        children = [MergedChild(each, "\n") for each in results if each is not None]
        return MergedBlock("front", front.main.head, "\n", children, "\n", front.main.tail)

    def _merge_field(
        self, field: Versions[SourceBlock | None], context: Context
    ) -> str | Conflict | MergedBlock | None:
        base, main, request = field
        if base is not None and main is not None and request is not None:
            return self._merge_block(Versions(base, main, request), context)
        texts = field.map(lambda each: None if each is None else each.source)
        keys = field.map(lambda each: None if each is None else each.key)
        if keys.is_conflict_free:
            return texts.preferred_by(keys)
        return Conflict("field", texts.base or "", *texts[1:], both=texts.main or texts.request, context=context)

    def _merge_table(self, table: Versions[SourceBlock]) -> Conflict | MergedBlock:
        aligned_tables = align_columns(table)
        if aligned_tables is None:
            texts = table.map(lambda each: each.source)
            return Conflict("columns", *texts, both=f"{texts.main}\n\n{texts.request}")
        head = leaf_merge.merge_table_head(aligned_tables.map(lambda each: each.head))
        head_text = head if isinstance(head, str) else head.main or ""
        separator = "" if is_html(head_text) else "\n"
        tail = table.map(lambda each: each.tail).preferred
        children = self._merge_siblings(aligned_tables.map(_children), (head_text + separator, tail))
        space_before = table.map(lambda each: each.space_before_children).preferred or separator
        return MergedBlock("table", head, space_before if children or tail else "", children, "", tail)

    def _merge_moves_in(self, block: SourceBlock, side: int) -> str | Conflict | MergedBlock:
        """Return the content of a block of `side`. Merge the other side's edits into blocks that `side` has moved."""
        if block.replaced_blocks is not None:
            return join_blocks(block.replaced_blocks)
        if block.move is not None:
            return self._merge_moved_block(block, side)
        if block.children and any(each.move or each.replaced_blocks for each in block.walk()):
            children = [MergedChild(self._merge_moves_in(child, side), gap_after(child)) for child in block.children]
            spaces = block.space_before_children, block.space_after_children
            return MergedBlock(block.kind, block.head, spaces[0], children, spaces[1], block.tail)
        return block.source

    def _merge_moved_block(self, block: SourceBlock, side: int) -> str | Conflict | MergedBlock:
        assert block.move is not None
        base, other_blocks, moved_block = block.move.base, block.move.other, replace(block, move=None)
        if block.move.is_moved_by_both:
            return self._conflict_of_two_moves(block.move, moved_block, side)
        if not other_blocks:
            return _conflict_of_deletion([block], side)
        other_keys = [other.key for other in other_blocks]
        if other_keys in ([base.key], [moved_block.key]):  # The other side changed nothing, or made the same change.
            return moved_block.source
        if moved_block.kind == "row" and any(
            len(split_cells(other.head)) != len(split_cells(moved_block.head)) for other in other_blocks
        ):
            # The tables have different columns, so the whole tables are in conflict. Keep the row as it is.
            return moved_block.source
        if moved_block.key == base.key:  # Only the other side changed the block: take its version.
            return _indent_lines(
                join_blocks(other_blocks), len(_indentation(moved_block)) - len(_indentation(other_blocks[0]))
            )
        # If the other side split the block, or turned it into another kind, its versions conflict.
        if len(other_blocks) > 1 or other_blocks[0].name != moved_block.name:
            texts = _main_and_request(moved_block.source, join_blocks(other_blocks), side)
            return Conflict("blocks", base.source, *texts, both="\n\n".join(texts))
        # Both sides edited the block, so merge its versions. Blocks inside it may have moved too.
        main, request, moves = follow_moves(Versions(base, *_main_and_request(moved_block, other_blocks[0], side)))
        return _PageMerge(main, request, moves)._merge_block(Versions(base, main, request))

    def _conflict_of_two_moves(self, move: Move, block: SourceBlock, side: int) -> Conflict:
        """Return the conflict at the position to which `side` moved `block`. Only `side` has text in this conflict."""
        base, other, text = move.base, move.other[0], block.source
        if move.first_added is None and base.name == block.name == other.name:
            merged_content = self._merge_block(Versions(base, *_main_and_request(block, other, side)))
            text = text_of_side(merged_content, SIDES[side]) or text
        texts = _main_and_request(text, None, side)
        base_text = base.source if move.first_added is None else ""
        moved_blocks = frozenset([base, move.first_added or base])
        return Conflict("moved", base_text, *texts, both=texts[0], moved_blocks=moved_blocks)

    def _as_move_end(
        self, children: list[MergedChild], region: Versions[Blocks], context: Context
    ) -> list[MergedChild]:
        """Return `children` in a `MoveEnd` if text moved into or out of `region` without a conflict, else unchanged."""
        if not self._moved_base_blocks(region) or any(isinstance(each.content, Conflict) for each in children):
            return children
        child = self._make_conflict(region, context)
        assert isinstance(child.content, Conflict)
        return [MergedChild(MoveEnd(children, child.content), child.gap)]

    def _moved_base_blocks(self, region: Versions[Blocks]) -> frozenset[SourceBlock]:
        """Return the blocks of the base that a side moved out of `region` or into `region`. A block that was moved into
        `region` is left out if the other side deleted the block."""
        left = {each for blocks in self._moved for block in region.base for each in block.walk() if each in blocks}
        moves = [each.move for blocks in region[1:] for block in blocks for each in block.walk() if each.move]
        arrived = {each for move in moves if move.other for each in move.base.walk()}
        return frozenset(left | arrived)


def _indentation(block: SourceBlock) -> str:
    return block.source[: len(block.source) - len(block.source.lstrip(" \t"))]


def _indent_lines(text: str, by: int) -> str:
    """Return the text with `by` more spaces before each line, or fewer if `by` is negative."""
    lines = text.split("\n")
    shortened_lines = [line[min(max(0, -by), len(line) - len(line.lstrip(" \t"))) :] for line in lines]
    return "\n".join(" " * by + line if line.strip() else line for line in shortened_lines)


def _indented(block: SourceBlock, by: int) -> SourceBlock:
    """Return a block with `by` more spaces before each line, or fewer if `by` is negative."""
    if by == 0:
        return block
    head, tail = _indent_lines(block.head, by), _indent_lines(block.tail, by)
    children = block.children and tuple(_indented(each, by) for each in block.children)
    return replace(block, head=head, children=children, tail=tail)


def _group_moved_and_deleted(blocks: Blocks) -> Iterator[list[SourceBlock]]:
    """Yield groups of blocks that are merged together: adjacent blocks that one side moved and the other side deleted.
    Each other block is a group of its own."""
    for is_deleted, blocks_of_kind in groupby(blocks, lambda each: each.move is not None and not each.move.other):
        group = list(blocks_of_kind)
        yield from [group] if is_deleted else [[each] for each in group]


def _conflict_of_deletion(blocks: Blocks, side: int) -> Conflict:
    """Return the conflict about blocks that `side` moved here from a place where the other side deleted them."""
    base, text = join_blocks([block.move.base for block in blocks if block.move]), join_blocks(blocks)
    return Conflict(_kind_of(blocks), base, *_main_and_request(text, None, side), both=text)


def _kind_of(blocks: Blocks) -> str:
    kinds = {block.kind for block in blocks}
    return kinds.pop() if len(kinds) == 1 else "blocks"


def _children(block: SourceBlock) -> Blocks:
    return block.children or ()


def _blocks_in_region(blocks: Versions[Blocks], region: Region) -> Versions[Blocks]:
    return Versions(blocks.base[region.base], blocks.main[region.main], blocks.request[region.request])


def _has_front(region: Versions[Blocks]) -> bool:
    """Return whether a version of the region has front matter, which a page can have only once."""
    return any(block.kind == "front" for blocks in region for block in blocks)


def _main_and_request(own: T, other: T, side: int) -> tuple[T, T]:
    return (own, other) if side == 0 else (other, own)


def _merged_marker(lists: Versions[SourceBlock]) -> str:
    """Return the `MergedBlock.marker` of a merged list: `1` for numbered items, a bullet, or empty."""
    numbers = lists.map(lambda items: [child.number for child in items.children or ()])
    if all(each and each[0] >= 0 and each == list(range(each[0], each[0] + len(each))) for each in numbers):
        return "1"
    bullets = lists.map(lambda items: items.source.lstrip()[:1])
    return bullets.preferred if all(bullet in "*+-" for bullet in bullets) else ""


def _is_one_block(region: Versions[Blocks]) -> bool:
    blocks = [each[0] for each in region if len(each) == 1]
    return len(blocks) == 3 and not any(block.move for block in blocks) and len({block.name for block in blocks}) == 1


def _has_invisible_change(block: Versions[SourceBlock]) -> bool:
    """Return whether one side changed only white space or item markers in a block, and the other side changed more.
    True only for a list, an item or a container that has children in all versions."""
    base, *sides = block
    is_divisible = base.kind in ("list", "item", "container") and all(each.children for each in block)
    is_invisible = [each.key == base.key and each.source != base.source for each in sides]
    return is_divisible and any(is_invisible) and any(each.key != base.key for each in sides)


def _can_merge_block_by_block(region: Versions[Blocks]) -> bool:
    """Return whether all versions have the same kinds of blocks in order, without moves and without conflicts."""
    if not len(region.base) == len(region.main) == len(region.request):
        return False
    return all(
        len({block.name for block in blocks}) == 1
        and not any(each.move for top in blocks for each in top.walk())
        and Versions(*(block.key for block in blocks)).is_conflict_free
        for blocks in zip(*region, strict=True)
    )


def _have_two_versions_of_a_block(main: Blocks, request: Blocks) -> bool:
    if len(main) * len(request) > _PAIR_LIMIT:
        return False
    return any(_are_versions_of_same_block(one, other) for one in main for other in request if one.key != other.key)


def _are_versions_of_same_block(one: SourceBlock, other: SourceBlock) -> bool:
    if one.kind == other.kind == "row":
        first_cells = ["".join(split_cells(row.head)[:1]).split() for row in (one, other)]
        return first_cells[0] == first_cells[1] and word_similarity(one, other) >= _ROW_LIKENESS
    return word_similarity(one, other) >= _ITEM_LIKENESS


def _merged_gap(last: Versions[SourceBlock | None]) -> str:
    """Return the white space after a merged region. `last` has the last block of the region in each version, if any."""
    gaps = last.map(lambda block: block.gap if block is not None else None)
    if gaps.main is not None and gaps.request is not None:
        return gaps.preferred or ""
    existing_blocks = [each for each in (last.main, last.request, last.base) if each is not None]
    return gap_after(next((each for each in existing_blocks if each.gap is not None), existing_blocks[0]))


def _merged_inner_space(block: Versions[SourceBlock], read: Callable[[SourceBlock], str]) -> str:
    """Return the merged white space before, or after, the children of a block. `read` returns this white space for one
    version. Versions of the block without children are ignored, unless all versions have none."""
    spaces = block.map(lambda each: read(each) if each.children else None)
    merged_space = next((each for each in (spaces.preferred, *spaces[1:], spaces.base) if each is not None), None)
    return block.map(read).preferred if merged_space is None else merged_space


def _mark_blocks_of_two_conflicts(root: MergedBlock, base: SourceBlock) -> None:
    """Mark a block as moved in two conflicts if main has it in one and the change request in the other, or if both are
    about this block of the base. Without the mark, two choices could repeat or lose the block."""
    # A conflict that is merged word by word may need no choice, so no choice of another conflict may depend on it.
    conflicts = [each for each in conflicts_in(root) if each.merged_text is None]
    if len(conflicts) < 2:
        return
    in_base, in_main, in_request = (
        _blocks_in_conflicts(zip(conflicts, texts, strict=True))
        for texts in zip(*((each.base, each.main, each.request) for each in conflicts), strict=True)
    )
    base_counts = Counter(map(_key_or_tag, base.walk()))
    of_base_block = (found for key, found in in_base.items() if base_counts[key] == 1)
    of_both_sides = (in_main[key] + in_request[key] for key in in_main.keys() & in_request.keys())
    for found in chain(of_base_block, of_both_sides):
        if len(found) == 2 and found[0][0] is not found[1][0]:
            for conflict, _ in found:
                conflict.moved_blocks |= {found[0][1]}


def _blocks_in_conflicts(texts: Iterable[tuple[Conflict, str | None]]) -> dict[str, list[tuple[Conflict, SourceBlock]]]:
    """Return the blocks in `texts` with at least `MIN_ADDED_WORDS` words, each with its conflict, by key. `texts` has
    the conflicts with their texts in one version."""
    found_by_key: defaultdict[str, list[tuple[Conflict, SourceBlock]]] = defaultdict(list)
    for conflict, text in texts:
        for block in read_page(text or "").walk():
            if len(WORD.findall(block.head) if block.kind in _TAG_KINDS else block.words) >= MIN_ADDED_WORDS:
                found_by_key[_key_or_tag(block)].append((conflict, block))
    return found_by_key


def _key_or_tag(block: SourceBlock) -> str:
    """Return the key of a block. For a block with a tag, return the tag: a conflict may be about the tag only."""
    return block.head.strip() if block.kind in _TAG_KINDS else block.key


def _join_conflicts_of_moved_text(root: MergedBlock) -> None:
    """Let one choice resolve all conflicts that are about the same moved text."""
    # Maps each moved block to the conflicts and `MoveEnd`s that contain it. Blocks that moved together share a list.
    contents_by_block: dict[SourceBlock, list[Conflict | MoveEnd]] = {}
    for content in _conflicts_and_move_ends(root.children):
        blocks = _moved_blocks(content)
        known_lists = [contents_by_block[each] for each in blocks if each in contents_by_block]
        main_list = max(known_lists, key=len, default=[])
        for other_list in known_lists:
            if other_list is not main_list and other_list:
                contents_by_block.update(dict.fromkeys(chain.from_iterable(map(_moved_blocks, other_list)), main_list))
                main_list += other_list
                other_list.clear()
        main_list.append(content)
        contents_by_block.update(dict.fromkeys(blocks, main_list))
    groups = {id(each): each for each in contents_by_block.values()}
    for group in groups.values():
        is_in_conflict = any(isinstance(each, Conflict) for each in group)
        for each in group:
            if isinstance(each, MoveEnd):
                each.is_in_conflict = is_in_conflict
    joined_conflicts: defaultdict[int, list[Conflict]] = defaultdict(list)
    for conflict in conflicts_in(root):
        if known_block := next((each for each in conflict.moved_blocks if each in contents_by_block), None):
            joined_conflicts[id(contents_by_block[known_block])].append(conflict)
    for conflicts in joined_conflicts.values():
        # Use the choice at the position in main for all conflicts: text that the user writes is put there.
        deciding_conflict = next((each for each in conflicts if each.main is not None), conflicts[0])
        for conflict in conflicts:
            conflict.deciding_conflict = deciding_conflict if conflict is not deciding_conflict else None
        if any(each.merged_text is None and each.both is not None for each in conflicts):
            # Do not offer the choice “words”: the other conflicts would keep the texts of both sides.
            deciding_conflict.merged_text = None


def _moved_blocks(content: Conflict | MoveEnd) -> frozenset[SourceBlock]:
    return (content.conflict if isinstance(content, MoveEnd) else content).moved_blocks


def _conflicts_and_move_ends(children: list[MergedChild]) -> Iterator[Conflict | MoveEnd]:
    for child in children:
        content = child.content
        if isinstance(content, MoveEnd):
            yield content
            yield from _conflicts_and_move_ends(content.children)
        elif isinstance(content, MergedBlock):
            if isinstance(content.head, Conflict):
                yield content.head
            yield from _conflicts_and_move_ends(content.children)
        elif isinstance(content, Conflict):
            yield content
