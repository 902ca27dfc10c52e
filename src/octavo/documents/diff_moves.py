"""Finds blocks that moved, even across containers, and sections that were replaced. Also counts added and removed
words. Start reading at `find_moves`, which `diff` calls after the blocks are paired."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import groupby, pairwise
from operator import attrgetter, itemgetter

from octavo.documents.blocks import Block, Run, kinds_with, plain_text
from octavo.documents.diff_alignment import MIN_MOVED_LENGTH, similarity
from octavo.documents.diff_model import (
    AddedBlock,
    ChangedBlock,
    ChangeSize,
    CodeChange,
    ContainerChange,
    ContentChange,
    DiffEntry,
    MovedBlock,
    RemovedBlock,
    RestructuredBlocks,
    RowChange,
    TableChange,
    TextChange,
    TextPart,
    UnchangedBlocks,
)
from octavo.documents.diff_nodes import CompareNodes, DraftEntry, Node, changed_attributes, to_entries
from octavo.documents.diff_restructuring import CONTAINERS, collapse_container
from octavo.documents.diff_text import LETTER_WORDS, SLICE_LENGTH, slices
from octavo.documents.sequences import text_similarity

_PART_KINDS = kinds_with("part")
"""Kinds of blocks, such as rows and tabs, that count as moved even if they are short."""
_ROW_KINDS = frozenset({"row", "card"})
"""Kinds of blocks with cells. `find_moves` finds no moves of edited rows, because `row_pairs` finds them."""
_MIN_EDITED_LENGTH = 60
_MIN_TEXT_SIMILARITY = 0.85
_MIN_CONTAINER_SIMILARITY = 0.75
"""Minimum similarity of the two versions of a container that was moved and edited."""
_MIN_LENGTH_RATIO = 0.4
"""Minimum length of the shorter of two compared blocks, as a share of the longer."""
_MAX_PAIRS = 4000
_look_id: Callable[[Node], Hashable] = attrgetter("look_id")


def find_moves(drafts: list[DraftEntry], compare: CompareNodes) -> None:
    """In `drafts`, turn pairs of a removed and an added block with equal or similar content into moves, numbered from
    1. Skip blocks too short to be recognized, and blocks with no unmoved block between both positions."""
    visible_drafts = [each for draft in drafts for each in (draft, *draft.descendants())]
    containers = [draft for draft in visible_drafts if draft.children is None and _is_container_draft(draft)]
    for draft in containers:
        _add_child_drafts(draft)
    all_drafts = [each for draft in drafts for each in (draft, *draft.descendants())]
    finder = _MoveFinder(all_drafts, compare)
    sibling_lists = [
        drafts,
        *(siblings for draft in all_drafts for siblings in (draft.children, draft.rows) if siblings),
    ]
    for siblings in sibling_lists:
        finder.move_equal(_identifiable_drafts(siblings), _look_id)
    long_containers = [draft for draft in all_drafts if _is_container_draft(draft) and _size(draft) >= MIN_MOVED_LENGTH]
    containers_at_level = containers
    while containers_at_level:  # Outer containers come first, so that their children do not become separate moves.
        level_ids = set(map(id, containers_at_level))
        for status in ("added", "removed"):
            candidates = [draft for draft in long_containers if id(draft) in level_ids or draft.status != status]
            finder.move_equal(candidates, _look_id)
            finder.move_edited(
                [draft for draft in candidates if _size(draft) >= _MIN_EDITED_LENGTH],
                similarity,
                _MIN_CONTAINER_SIMILARITY,
            )
        containers_at_level = [
            inner for draft in containers_at_level for inner in draft.children or () if _is_container_draft(inner)
        ]
    long_drafts = [draft for draft in all_drafts if _size(draft) >= MIN_MOVED_LENGTH and _kind(draft) != "heading"]
    finder.move_equal(long_drafts, _look_id)
    headings = _unique_drafts(drafts, all_drafts, "heading", lambda node: node.text)
    finder.move_equal(headings, _look_id)
    finder.move_equal(headings, lambda node: node.text)
    texts = [draft for draft in long_drafts if _size(draft) >= _MIN_EDITED_LENGTH and not _is_container_draft(draft)]
    texts = [draft for draft in texts if _kind(draft) not in _ROW_KINDS]
    finder.move_edited(
        texts, lambda old, new: text_similarity(old.text, new.text, _MIN_TEXT_SIMILARITY), _MIN_TEXT_SIMILARITY
    )
    # Computed again, because the drafts inside moved containers have changed.
    all_drafts = [each for draft in drafts for each in (draft, *draft.descendants())]
    finder.move_equal(_unique_drafts(drafts, all_drafts, "figure", _look_id), _look_id)
    finder.move_neighbors(sibling_lists)
    for draft in containers:
        collapse_container(draft)
    for siblings in sibling_lists:
        _keep_in_place(siblings, compare)


def _keep_in_place(siblings: list[DraftEntry], compare: CompareNodes) -> None:
    """In `siblings`, turn a move back into an unmoved block if no unmoved block is between its old and new position."""
    result: list[DraftEntry] = []
    for is_one_sided, group in groupby(siblings, _is_one_sided):
        segments = [list(group)]
        while segments:
            segment = segments.pop()
            parts = _join_longest_move(segment, compare) if is_one_sided else None
            if parts is None:
                result += segment
            else:
                segments += reversed(parts)
    siblings[:] = result


def _is_one_sided(draft: DraftEntry) -> bool:
    return draft.status in ("left", "arrived") or (draft.status in ("added", "removed") and draft.children is None)


def _join_longest_move(drafts: list[DraftEntry], compare: CompareNodes) -> tuple[list[DraftEntry], ...] | None:
    """Replace the two drafts of the longest move by one draft of an unmoved block. Return three lists: the drafts
    before the new draft, the new draft, and the drafts after it. None if no move can be replaced."""
    ends: dict[int, list[int]] = {}
    for index, draft in enumerate(drafts):
        if draft.status in ("left", "arrived"):
            ends.setdefault(draft.move_number, []).append(index)
    index_pairs = sorted((pair for pair in ends.values() if len(pair) == 2), key=lambda pair: _size(drafts[pair[0]]))
    while index_pairs:
        first, last = index_pairs.pop()
        draft = drafts[last] if drafts[last].status == "arrived" else drafts[first]
        assert draft.old is not None
        assert draft.new is not None
        kept_status = "same" if draft.old.look_id == draft.new.look_id else compare(draft.old, draft.new).status
        if kept_status in ("same", "changed"):
            first_statuses = ("removed", "left") if drafts[first].status == "left" else ("added", "arrived")
            draft.status, draft.move_number = kept_status, 0
            drafts_between = drafts[first + 1 : last]
            return (
                [*drafts[:first], *(each for each in drafts_between if each.status not in first_statuses)],
                [draft],
                [*(each for each in drafts_between if each.status in first_statuses), *drafts[last + 1 :]],
            )
    return None


class _MoveFinder:
    """Turns the drafts of a removed and an added block into drafts of a move. A container moves with its content."""

    def __init__(self, all_drafts: Sequence[DraftEntry], compare: CompareNodes) -> None:
        self._compare = compare
        self._number = 0
        self._give_numbers(all_drafts)
        self._parents = {id(inner): draft for draft in all_drafts for inner in (*(draft.children or ()), *draft.rows)}
        self._split_ids: set[int] = set()
        """`id()` of each container (its `DraftEntry`) that cannot move as a whole, because a block inside stays or
        moves
        alone."""
        for draft in all_drafts:
            if draft.status not in ("added", "removed"):
                self._mark_split(draft)
        self._ids_in_moves: set[int] = set()
        self._moves: list[tuple[DraftEntry, DraftEntry]] = []

    def _give_numbers(self, drafts: Iterable[DraftEntry]) -> None:
        numbers_by_id: dict[int, int] = {}
        for draft in drafts:
            if draft.status in ("left", "arrived"):
                draft.move_number = numbers_by_id.setdefault(id(draft.new), self._number + len(numbers_by_id) + 1)
        self._number += len(numbers_by_id)

    def move_equal(self, drafts: Sequence[DraftEntry], key: Callable[[Node], Hashable]) -> None:
        removed_by_key: dict[Hashable, list[DraftEntry]] = {}
        for draft in reversed(drafts):
            if draft.old and self._is_free(draft, "removed"):
                removed_by_key.setdefault(key(draft.old), []).append(draft)
        for draft in drafts:
            if draft.new and self._is_free(draft, "added"):
                matching_drafts = removed_by_key.get(key(draft.new), [])
                while matching_drafts and not self._is_free(matching_drafts[-1], "removed"):
                    matching_drafts.pop()
                if matching_drafts:
                    self._move(matching_drafts.pop(), draft)

    def move_edited(
        self, drafts: Sequence[DraftEntry], similarity_of: Callable[[Node, Node], float], at_least: float
    ) -> None:
        """Turn a removed and an added block of the same kind into a move if their similarity is at least `at_least`. Do
        nothing if there are too many pairs of such blocks."""
        removed_by_kind: dict[str, list[DraftEntry]] = {}
        for draft in drafts:
            if self._is_free(draft, "removed"):
                removed_by_kind.setdefault(_kind(draft), []).append(draft)
        added_drafts = [draft for draft in drafts if _kind(draft) in removed_by_kind and self._is_free(draft, "added")]
        if len(added_drafts) * sum(map(len, removed_by_kind.values())) > _MAX_PAIRS:
            return
        candidates: list[tuple[float, DraftEntry, DraftEntry]] = []
        for draft in added_drafts:
            assert draft.new is not None
            size = draft.new.size
            for candidate in removed_by_kind[draft.new.kind]:
                assert candidate.old is not None
                if _MIN_LENGTH_RATIO * size <= candidate.old.size <= size / _MIN_LENGTH_RATIO:
                    value = similarity_of(candidate.old, draft.new)
                    if value >= at_least:
                        candidates.append((value, candidate, draft))
        # The most similar pairs come first, so that each block gets its own earlier version.
        for _, removed_draft, draft in sorted(candidates, key=itemgetter(0), reverse=True):
            if self._is_free(removed_draft, "removed") and self._is_free(draft, "added"):
                self._move(removed_draft, draft)

    def move_neighbors(self, sibling_lists: Sequence[Sequence[DraftEntry]]) -> None:
        """Extend each move to equal neighbors, even to short ones. A neighbor is next to the moved block among the
        removed and among the added blocks. `sibling_lists` has the siblings at each level."""
        previous_by_id: dict[int, DraftEntry] = {}
        following_by_id: dict[int, DraftEntry] = {}
        for siblings in sibling_lists:
            for statuses in (("removed", "left"), ("added", "arrived")):
                side = [draft for draft in siblings if draft.status in statuses]
                previous_by_id |= {id(draft): last for last, draft in pairwise(side)}
                following_by_id |= {id(draft): following for draft, following in pairwise(side)}
        for neighbors in (following_by_id, previous_by_id):
            pending_moves = list(self._moves)
            while pending_moves:
                left, arrived = (neighbors.get(id(draft)) for draft in pending_moves.pop())
                if left and arrived and self._is_free(left, "removed") and self._is_free(arrived, "added"):
                    assert left.old is not None
                    assert arrived.new is not None
                    if left.old.look_id == arrived.new.look_id:
                        self._move(left, arrived)
                        pending_moves.append((left, arrived))

    def _is_free(self, draft: DraftEntry, status: str) -> bool:
        return draft.status == status and id(draft) not in self._ids_in_moves and id(draft) not in self._split_ids

    def _mark_split(self, draft: DraftEntry) -> None:
        parent = self._parents.get(id(draft))
        while parent is not None and id(parent) not in self._split_ids:
            self._split_ids.add(id(parent))
            parent = self._parents.get(id(parent))

    def _move(self, left: DraftEntry, arrived: DraftEntry) -> None:
        assert left.old is not None
        assert arrived.new is not None
        self._number += 1
        self._ids_in_moves |= {id(each) for draft in (left, arrived) for each in draft.descendants()}
        left.children = arrived.children = None
        if left.old.look_id != arrived.new.look_id:
            edited_draft = self._compare(left.old, arrived.new)
            arrived.content_change, arrived.settings, arrived.title = (
                edited_draft.content_change,
                edited_draft.settings,
                edited_draft.title,
            )
            arrived.children, arrived.rows = edited_draft.children, edited_draft.rows
            self._give_numbers(edited_draft.descendants())
        left.new, arrived.old = arrived.new, left.old
        left.status, arrived.status = "left", "arrived"
        left.move_number = arrived.move_number = self._number
        self._moves.append((left, arrived))
        self._mark_split(left)
        self._mark_split(arrived)


def _identifiable_drafts(siblings: Sequence[DraftEntry]) -> list[DraftEntry]:
    """Return the drafts of blocks that can be recognized at another position: rows and tabs, long blocks, and unique
    blocks that are not tiny. Empty unless `siblings` has both removed and added blocks."""
    if not {"removed", "added"} <= {draft.status for draft in siblings}:
        return []
    old = Counter(draft.old.look_id for draft in siblings if draft.old and draft.status != "arrived")
    new = Counter(draft.new.look_id for draft in siblings if draft.new and draft.status != "left")
    return [
        draft
        for draft in siblings
        if (node := draft.new or draft.old) is not None
        and (
            node.kind in _PART_KINDS
            or node.size >= MIN_MOVED_LENGTH
            or (node.size > 2 and old[node.look_id] == new[node.look_id] == 1)
        )
    ]


def _unique_drafts(
    drafts: Sequence[DraftEntry], all_drafts: Sequence[DraftEntry], kind: str, key: Callable[[Node], Hashable]
) -> list[DraftEntry]:
    """Return the removed and added drafts of the kind `kind` in `all_drafts` whose `key` occurs exactly once in each
    version of `drafts`. Tiny texts are left out. Empty unless `all_drafts` has both removed and added ones."""
    one_sided_drafts = (draft for draft in all_drafts if draft.status in ("removed", "added"))
    found = [each for each in one_sided_drafts if _kind(each) == kind and (kind == "figure" or _size(each) > 2)]
    if len({draft.status for draft in found}) < 2:
        return []
    old, new = (
        Counter(key(node) for top in nodes for node in top.walk() if node.kind == kind)
        for nodes in (
            [each for draft in drafts if draft.status != "arrived" for each in (draft.old, *draft.old_nodes) if each],
            [each for draft in drafts if draft.status != "left" for each in (draft.new, *draft.new_nodes) if each],
        )
    )
    return [draft for draft in found if (node := draft.new or draft.old) and old[key(node)] == new[key(node)] == 1]


def _add_child_drafts(draft: DraftEntry) -> None:
    node = draft.new or draft.old
    assert node is not None, "a draft must have a block"
    draft.children = [
        DraftEntry("added", new=child) if draft.status == "added" else DraftEntry("removed", old=child)
        for child in node.children
    ]
    for inner in filter(_is_container_draft, draft.children):
        _add_child_drafts(inner)


def _is_container_draft(draft: DraftEntry) -> bool:
    return draft.status in ("added", "removed") and _kind(draft) in CONTAINERS


def _kind(draft: DraftEntry) -> str:
    node = draft.new or draft.old
    return node.kind if node else ""


def _size(draft: DraftEntry) -> int:
    node = draft.new or draft.old
    return node.size if node else 0


_WORD = re.compile(rf"[{LETTER_WORDS}]|[^\W_{LETTER_WORDS}]+(?:['’][^\W_{LETTER_WORDS}]+)*")
_COUNTED_RUNS = frozenset({"image", "icon", "math", "emoji"})
_COUNTED_BLOCKS = frozenset(
    {"image", "file", "embed", "content-ref", "openapi", "divider", "include", "integration", "unknown"}
)
"""Kinds of blocks that count as one word in addition to the words in them."""
_REPLACEMENT = Run(" ")
"""Run in place of changed words, so that the words around them are not joined into one word."""


def change_size(entries: Sequence[DiffEntry], old: Iterable[Block], new: Iterable[Block]) -> ChangeSize:
    """Return the word counts of a diff: added, removed, old and new. `old` and `new` are all blocks of the versions."""
    same_blocks = [each for each in entries if isinstance(each, UnchangedBlocks)]
    changes = [each for each in entries if not isinstance(each, UnchangedBlocks)]
    kept_words = _KeptWords()
    same_count = kept_words.count_in_entries(same_blocks)  # Counted once, because most blocks of a page are unchanged.
    same_ids = {id(block) for each in same_blocks for block in (*each.old, *each.new)}
    before, after = (
        same_count + sum(_count_words(block) for block in side if id(block) not in same_ids) for side in (old, new)
    )
    kept_word_count = same_count + kept_words.count_in_entries(changes) + kept_words.moved_count
    return ChangeSize(max(0, after - kept_word_count), max(0, before - kept_word_count), before, after)


class _KeptWords:
    """Counts the words that a diff neither adds nor removes."""

    def __init__(self) -> None:
        self.moved_count = 0
        """Number of kept words in moved blocks. `count_in_entries` adds them here, and does not return them."""

    def count_in_entries(self, entries: Iterable[DiffEntry]) -> int:
        """Return the number of kept words outside moved blocks. Add those in moved blocks to `moved_count`."""
        return sum(map(self._count_in_entry, entries))

    def _count_in_entry(self, entry: DiffEntry) -> int:
        match entry:
            case UnchangedBlocks(old_blocks):
                return sum(map(_count_words, old_blocks))
            case AddedBlock(entries=inner) | RemovedBlock(entries=inner):
                return self.count_in_entries(inner)
            case RestructuredBlocks(old_blocks, new_blocks, entries=inner):
                # Limited to the words of the blocks, because the entries may contain titles too, which are attributes.
                return min(
                    self.count_in_entries(inner), *(sum(map(_count_words, each)) for each in (old_blocks, new_blocks))
                )
            case ChangedBlock(old, new, content_change=content_change):
                return self._count_in_block(old, new, content_change)
            case MovedBlock(old, new, is_arrival=True, content_change=content_change):
                self.moved_count += self._count_in_block(old, new, content_change)
        return 0

    def _count_in_block(self, old: Block, new: Block, content_change: ContentChange) -> int:
        is_counted = old.kind == new.kind and old.kind in _COUNTED_BLOCKS
        match content_change:
            case None:
                has_same_text = old.plain().split() == new.plain().split()
                return _count_words(old) - (_count_media(old) - _count_media(new)).total() if has_same_text else 0
            case TextChange(words):
                return is_counted + _count_kept_in_text(words)
            case CodeChange(lines):
                kept_count = sum(_count_kept_in_text(line.words) for line in lines if line.op == "change")
                return kept_count + sum(_count_words_in_text(line.old) for line in lines if line.op == "equal")
            case RowChange(cells):
                return sum(
                    _count_kept_in_text(cell.words.words) if cell.words is not None else _count_own(cell.old)
                    for cell in cells
                    if cell.old is not None and cell.new is not None
                )
            case TableChange(rows=rows):
                return self.count_in_entries(rows)
            case ContainerChange(inner, title=TextChange(words)):
                return is_counted + _count_kept_in_text(words) + self.count_in_entries(inner)
            case ContainerChange(inner):
                has_same_text = (plain_text(old.runs), old.text) == (plain_text(new.runs), new.text)
                return (_count_own(old) if has_same_text else int(is_counted)) + self.count_in_entries(inner)


def _count_kept_in_text(words: Iterable[TextPart]) -> int:
    return _count_words_in_runs([_REPLACEMENT if word.op in ("insert", "delete") else word.run for word in words])


def _count_media(block: Block) -> Counter[tuple[object, ...]]:
    names = ("src", "dark", "alt")
    return Counter(
        tuple(each.attrs.get(name) for name in names) for each in block.walk() if each.kind in _COUNTED_BLOCKS
    )


def _count_words(block: Block) -> int:
    return _count_own(block) + sum(map(_count_words, block.children)) if block.children else _count_own(block)


def _count_own(block: Block) -> int:
    words = _count_words_in_text(block.text) if block.text else 0
    return words + (_count_words_in_runs(block.runs) if block.runs else 0) + (block.kind in _COUNTED_BLOCKS)


def _count_words_in_runs(runs: Sequence[Run]) -> int:
    text = "".join([" " if run.kind in _COUNTED_RUNS else run.text for run in runs])
    return _count_words_in_text(text) + sum([run.kind in _COUNTED_RUNS for run in runs])


def _count_words_in_text(text: str) -> int:
    if len(text) <= SLICE_LENGTH:
        return len(_WORD.findall(text))
    return sum(len(_WORD.findall(part)) for part in slices(text))


_MIN_EDITS = 4
"""Minimum number of changed, added and removed blocks in a section that is shown as replaced."""
_MIN_RENAMED_SHARE = 0.3
"""Minimum share of a heading's text that must have changed to show the heading as part of a replaced section."""

_MAX_SHARE_OF_SAME_WORDS = 0.75
"""Maximum share of equal words in both versions of a replaced section, from 0 to 1."""


def join_replaced_sections(drafts: Sequence[DraftEntry]) -> list[DraftEntry]:
    """Return `drafts`, with one draft for each section that was almost completely rewritten."""
    result: list[DraftEntry] = []
    adjacent_drafts: list[DraftEntry] = []
    for draft in drafts:
        is_edit = _is_whole_edit(draft)
        if not is_edit or _is_heading(draft):
            result += _join_replaced(adjacent_drafts)
            adjacent_drafts = []
        is_renamed = (
            isinstance(draft.content_change, TextChange) and draft.content_change.changed_share > _MIN_RENAMED_SHARE
        )
        if is_edit and (not _is_heading(draft) or is_renamed):
            adjacent_drafts.append(draft)
        else:
            result.append(draft)
    return result + _join_replaced(adjacent_drafts)


def _is_whole_edit(draft: DraftEntry) -> bool:
    """Return whether `draft` adds or removes a block and has no child drafts, or edits a block without a move inside.
    An edit of a text counts only if words have changed, not only format or links."""
    if draft.status == "changed":
        if any(inner.status in ("left", "arrived") for inner in draft.descendants()):
            return False
        return not isinstance(draft.content_change, TextChange) or "words" in draft.content_change.kinds
    return draft.status in ("added", "removed") and draft.children is None


def _is_heading(draft: DraftEntry) -> bool:
    return all(node is not None and node.kind == "heading" for node in (draft.old, draft.new))


def _join_replaced(drafts: list[DraftEntry]) -> list[DraftEntry]:
    old = [draft.old for draft in drafts if draft.old is not None]
    new = [draft.new for draft in drafts if draft.new is not None]
    # Blocks of equal kinds in the same order are not joined, because they may be a translation.
    if (
        len(drafts) < _MIN_EDITS
        or min(len(old), len(new)) < 2
        or [each.kind for each in old] == [each.kind for each in new]
    ):
        return drafts
    size = change_size(to_entries(drafts), *([node.block for node in side] for side in (old, new)))
    if not size.is_rewritten or _has_mostly_same_words(old, new):
        return drafts
    draft = DraftEntry("restructured", old_nodes=tuple(old), new_nodes=tuple(new))
    draft.note = f"section replaced: {size.removed} of {size.words_before} words removed, {size.added} added"
    draft.children = [
        *(DraftEntry("removed", old=node) for node in old),
        *(DraftEntry("added", new=node) for node in new),
    ]
    return [draft]


def _has_mostly_same_words(old: Sequence[Node], new: Sequence[Node]) -> bool:
    before, after = (
        Counter(word for node in side for part in slices(node.text) for word in _WORD.findall(part))
        for side in (old, new)
    )
    return (before & after).total() > _MAX_SHARE_OF_SAME_WORDS * max(before.total(), after.total())


_TEXT_KINDS = frozenset({"paragraph", "heading", "code"})


def pair_replaced_blocks(drafts: Sequence[DraftEntry]) -> list[DraftEntry]:
    """Return `drafts`. Adjacent removed and added texts or code become changed blocks if their kinds match in order."""
    result: list[DraftEntry] = []
    adjacent_drafts: list[DraftEntry] = []
    for draft in drafts:
        if draft.status in ("removed", "added") and draft.children is None:
            adjacent_drafts.append(draft)
            continue
        result += _pair_in_order(adjacent_drafts)
        adjacent_drafts = []
        if draft.children is not None:
            draft.children = pair_replaced_blocks(draft.children)
        result.append(draft)
    return result + _pair_in_order(adjacent_drafts)


def _pair_in_order(drafts: list[DraftEntry]) -> list[DraftEntry]:
    old = [draft.old for draft in drafts if draft.old]
    new = [draft.new for draft in drafts if draft.new]
    kinds = [node.kind for node in old]
    if kinds != [node.kind for node in new] or not _TEXT_KINDS.issuperset(kinds):
        return drafts
    return [
        DraftEntry("changed", old_node, new_node, settings=changed_attributes(old_node.block, new_node.block))
        for old_node, new_node in zip(old, new, strict=True)
    ]
