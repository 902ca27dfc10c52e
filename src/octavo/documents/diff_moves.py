"""Finds blocks that moved, even across containers, and sections that were replaced. Counts added and removed words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import groupby, pairwise
from operator import itemgetter

from octavo.documents.blocks import Block, Run, kinds_with, plain_text
from octavo.documents.diff_alignment import MIN_MOVED_LENGTH, similarity
from octavo.documents.diff_model import (
    AddedBlock,
    ChangedBlock,
    ChangeSize,
    CodeChange,
    ContainerChange,
    Entry,
    MovedBlock,
    Parts,
    RemovedBlock,
    RestructuredBlocks,
    RowChange,
    TableChange,
    TextChange,
    TextPart,
    UnchangedBlocks,
)
from octavo.documents.diff_nodes import CompareNodes, DiffStep, Node, changed_attributes, to_entries
from octavo.documents.diff_restructuring import CONTAINERS, collapse_container
from octavo.documents.diff_text import SLICE_LENGTH, WIDE_LETTERS, slices
from octavo.documents.sequences import text_similarity

_PART_KINDS = kinds_with("part")
"""Kinds that count as moved among siblings even if they are short."""
_ROW_KINDS = frozenset({"row", "card"})
"""Kinds compared by column. They do not count as moved and edited."""
_MIN_EDITED_LENGTH = 60
_MIN_TEXT_SIMILARITY = 0.85
_MIN_CONTAINER_SIMILARITY = 0.75
"""Minimum similarity of a container to its moved and edited version."""
_MIN_LENGTH_RATIO = 0.4
"""Minimum ratio of the lengths of two compared blocks."""
_MAX_PAIRS = 4000


def find_moves(steps: list[DiffStep], compare: CompareNodes) -> None:
    """Turn steps of equal or similar blocks into moves, numbered from 1. A block that passed only moved, removed or
    added blocks is not moved."""
    visible = [each for step in steps for each in (step, *step.descendants())]
    containers = [step for step in visible if step.inside is None and _is_container_step(step)]
    for step in containers:
        _add_child_steps(step)
    all_steps = [each for step in steps for each in (step, *step.descendants())]
    finder = _MoveFinder(all_steps, compare)
    lists = [steps, *(siblings for step in all_steps for siblings in (step.inside, step.rows) if siblings)]
    for siblings in lists:
        finder.move_equal(_identifiable_steps(siblings), lambda node: node.number)
    long_containers = [step for step in all_steps if _is_container_step(step) and _size(step) >= MIN_MOVED_LENGTH]
    containers_at_level = containers
    while containers_at_level:  # Outermost containers first, so that their children do not become separate moves.
        level_ids = set(map(id, containers_at_level))
        for status in ("added", "removed"):
            candidates = [step for step in long_containers if id(step) in level_ids or step.status != status]
            finder.move_equal(candidates, lambda node: node.number)
            finder.move_edited(
                [step for step in candidates if _size(step) >= _MIN_EDITED_LENGTH],
                similarity,
                _MIN_CONTAINER_SIMILARITY,
            )
        containers_at_level = [
            inner for step in containers_at_level for inner in step.inside or () if _is_container_step(inner)
        ]
    long = [step for step in all_steps if _size(step) >= MIN_MOVED_LENGTH and _kind(step) != "heading"]
    finder.move_equal(long, lambda node: node.number)
    headings = _unique_headings(steps, all_steps)
    finder.move_equal(headings, lambda node: node.number)
    finder.move_equal(headings, lambda node: node.text)
    texts = [step for step in long if _size(step) >= _MIN_EDITED_LENGTH and not _is_container_step(step)]
    texts = [step for step in texts if _kind(step) not in _ROW_KINDS]
    finder.move_edited(
        texts, lambda old, new: text_similarity(old.text, new.text, _MIN_TEXT_SIMILARITY), _MIN_TEXT_SIMILARITY
    )
    finder.move_neighbors(lists)
    for step in containers:
        collapse_container(step)
    for siblings in lists:
        _keep_in_place(siblings, compare)


def _keep_in_place(siblings: list[DiffStep], compare: CompareNodes) -> None:
    """Join the steps of a move if no kept block is between them."""
    found: list[DiffStep] = []
    for is_one_sided, group in groupby(siblings, _is_one_sided):
        segments = [list(group)]
        while segments:
            segment = segments.pop()
            parts = _join_longest_move(segment, compare) if is_one_sided else None
            if parts is None:
                found += segment
            else:
                segments += reversed(parts)
    siblings[:] = found


def _is_one_sided(step: DiffStep) -> bool:
    return step.status in ("left", "arrived") or (step.status in ("added", "removed") and step.inside is None)


def _join_longest_move(steps: list[DiffStep], compare: CompareNodes) -> tuple[list[DiffStep], ...] | None:
    """Join the longest joinable move. Return steps before, at and after it."""
    ends: dict[int, list[int]] = {}
    for index, step in enumerate(steps):
        if step.status in ("left", "arrived"):
            ends.setdefault(step.number, []).append(index)
    both = sorted((pair for pair in ends.values() if len(pair) == 2), key=lambda pair: _size(steps[pair[0]]))
    while both:
        first, last = both.pop()
        step = steps[last] if steps[last].status == "arrived" else steps[first]
        assert step.old is not None
        assert step.new is not None
        kept_status = "same" if step.old.number == step.new.number else compare(step.old, step.new).status
        if kept_status in ("same", "changed"):
            first_side = ("removed", "left") if steps[first].status == "left" else ("added", "arrived")
            step.status, step.number = kept_status, 0
            between = steps[first + 1 : last]
            return (
                [*steps[:first], *(each for each in between if each.status not in first_side)],
                [step],
                [*(each for each in between if each.status in first_side), *steps[last + 1 :]],
            )
    return None


class _MoveFinder:
    """Joins removed and added steps into moves that include their children."""

    def __init__(self, all_steps: Sequence[DiffStep], compare: CompareNodes) -> None:
        self._compare = compare
        self._number = 0
        self._give_numbers(all_steps)
        self._parents = {id(inner): step for step in all_steps for inner in (*(step.inside or ()), *step.rows)}
        self._split: set[int] = set()
        """`id()` of container steps that cannot move as a whole. A block inside moved alone or stayed."""
        for step in all_steps:
            if step.status not in ("added", "removed"):
                self._mark_split(step)
        self._taken: set[int] = set()
        self._moves: list[tuple[DiffStep, DiffStep]] = []

    def _give_numbers(self, steps: Iterable[DiffStep]) -> None:
        numbers_by_id: dict[int, int] = {}
        for step in steps:
            if step.status in ("left", "arrived"):
                step.number = numbers_by_id.setdefault(id(step.new), self._number + len(numbers_by_id) + 1)
        self._number += len(numbers_by_id)

    def move_equal(self, steps: Sequence[DiffStep], key: Callable[[Node], Hashable]) -> None:
        by_key: dict[Hashable, list[DiffStep]] = {}
        for step in reversed(steps):
            if step.old and self._is_free(step, "removed"):
                by_key.setdefault(key(step.old), []).append(step)
        for step in steps:
            if step.new and self._is_free(step, "added"):
                found = by_key.get(key(step.new), [])
                while found and not self._is_free(found[-1], "removed"):
                    found.pop()
                if found:
                    self._move(found.pop(), step)

    def move_edited(
        self, steps: Sequence[DiffStep], similarity_of: Callable[[Node, Node], float], at_least: float
    ) -> None:
        """Turn steps of similar blocks of one kind into moves. `similarity_of` must return at least `at_least`."""
        removed: dict[str, list[DiffStep]] = {}
        for step in steps:
            if self._is_free(step, "removed"):
                removed.setdefault(_kind(step), []).append(step)
        added = [step for step in steps if _kind(step) in removed and self._is_free(step, "added")]
        if len(added) * sum(map(len, removed.values())) > _MAX_PAIRS:
            return
        found: list[tuple[float, DiffStep, DiffStep]] = []
        for step in added:
            assert step.new is not None
            size = step.new.size
            for candidate in removed[step.new.kind]:
                assert candidate.old is not None
                if _MIN_LENGTH_RATIO * size <= candidate.old.size <= size / _MIN_LENGTH_RATIO:
                    value = similarity_of(candidate.old, step.new)
                    if value >= at_least:
                        found.append((value, candidate, step))
        # Most similar pairs first, so that each block gets its own earlier version.
        for _, source, step in sorted(found, key=itemgetter(0), reverse=True):
            if self._is_free(source, "removed") and self._is_free(step, "added"):
                self._move(source, step)

    def move_neighbors(self, lists: Sequence[Sequence[DiffStep]]) -> None:
        """Turn the neighbors of both ends of a move into moves if their blocks are equal, even if the blocks are
        short."""
        previous_by_id: dict[int, DiffStep] = {}
        following_by_id: dict[int, DiffStep] = {}
        for siblings in lists:
            for statuses in (("removed", "left"), ("added", "arrived")):
                side = [step for step in siblings if step.status in statuses]
                previous_by_id |= {id(step): last for last, step in pairwise(side)}
                following_by_id |= {id(step): following for step, following in pairwise(side)}
        for neighbors in (following_by_id, previous_by_id):
            moved = list(self._moves)
            while moved:
                left, arrived = (neighbors.get(id(step)) for step in moved.pop())
                if left and arrived and self._is_free(left, "removed") and self._is_free(arrived, "added"):
                    assert left.old is not None
                    assert arrived.new is not None
                    if left.old.number == arrived.new.number:
                        self._move(left, arrived)
                        moved.append((left, arrived))

    def _is_free(self, step: DiffStep, status: str) -> bool:
        return step.status == status and id(step) not in self._taken and id(step) not in self._split

    def _mark_split(self, step: DiffStep) -> None:
        above = self._parents.get(id(step))
        while above is not None and id(above) not in self._split:
            self._split.add(id(above))
            above = self._parents.get(id(above))

    def _move(self, left: DiffStep, arrived: DiffStep) -> None:
        assert left.old is not None
        assert arrived.new is not None
        self._number += 1
        self._taken |= {id(each) for step in (left, arrived) for each in step.descendants()}
        left.inside = arrived.inside = None
        if left.old.number != arrived.new.number:
            edited = self._compare(left.old, arrived.new)
            arrived.parts, arrived.settings, arrived.title = edited.parts, edited.settings, edited.title
            arrived.inside, arrived.rows = edited.inside, edited.rows
            self._give_numbers(edited.descendants())
        left.new, arrived.old = arrived.new, left.old
        left.status, arrived.status = "left", "arrived"
        left.number = arrived.number = self._number
        self._moves.append((left, arrived))
        self._mark_split(left)
        self._mark_split(arrived)


def _identifiable_steps(siblings: Sequence[DiffStep]) -> list[DiffStep]:
    """Return the steps of parts, long blocks and unique blocks."""
    if not {"removed", "added"} <= {step.status for step in siblings}:
        return []
    old = Counter(step.old.number for step in siblings if step.old and step.status != "arrived")
    new = Counter(step.new.number for step in siblings if step.new and step.status != "left")
    return [
        step
        for step in siblings
        if (node := step.new or step.old) is not None
        and (
            node.kind in _PART_KINDS
            or node.size >= MIN_MOVED_LENGTH
            or (node.size > 2 and old[node.number] == new[node.number] == 1)
        )
    ]


def _unique_headings(steps: Sequence[DiffStep], all_steps: Sequence[DiffStep]) -> list[DiffStep]:
    """Return the steps of headings whose text occurs once in each version."""
    free = (step for step in all_steps if step.status in ("removed", "added"))
    found = [step for step in free if _kind(step) == "heading" and _size(step) > 2]
    if len({step.status for step in found}) < 2:
        return []
    old, new = (
        Counter(each.text for node in side for each in node.walk() if each.kind == "heading")
        for side in (
            [node for step in steps for node in ((step.old,) if step.old else step.old_nodes)],
            [node for step in steps for node in ((step.new,) if step.new else step.new_nodes)],
        )
    )
    return [step for step in found if (node := step.new or step.old) and old[node.text] == new[node.text] == 1]


def _add_child_steps(step: DiffStep) -> None:
    node = step.new or step.old
    assert node is not None, "a step must have a block"
    step.inside = [
        DiffStep("added", new=child) if step.status == "added" else DiffStep("removed", old=child)
        for child in node.children
    ]
    for inner in filter(_is_container_step, step.inside):
        _add_child_steps(inner)


def _is_container_step(step: DiffStep) -> bool:
    return step.status in ("added", "removed") and _kind(step) in CONTAINERS


def _kind(step: DiffStep) -> str:
    node = step.new or step.old
    return node.kind if node else ""


def _size(step: DiffStep) -> int:
    node = step.new or step.old
    return node.size if node else 0


_WORD = re.compile(rf"[{WIDE_LETTERS}]|[^\W_{WIDE_LETTERS}]+(?:['’][^\W_{WIDE_LETTERS}]+)*")
_COUNTED_RUNS = frozenset({"image", "icon", "math", "emoji"})
_COUNTED_BLOCKS = frozenset(
    {"image", "file", "embed", "content-ref", "openapi", "divider", "include", "integration", "unknown"}
)
"""Kinds of blocks that count as one word in addition to their text."""
_REPLACED = Run(" ")
"""Stands for changed words, to keep the words around them apart."""


def change_size(entries: Sequence[Entry], old: Iterable[Block], new: Iterable[Block]) -> ChangeSize:
    """Return how many words the entries add and remove. `old` and `new` are the blocks of both versions."""
    same_blocks = [each for each in entries if isinstance(each, UnchangedBlocks)]
    changes = [each for each in entries if not isinstance(each, UnchangedBlocks)]
    words = _KeptWords()
    same = words.count_in_entries(same_blocks)  # Counted once, because most blocks of a page are unchanged.
    unchanged = {id(block) for each in same_blocks for block in (*each.old, *each.new)}
    before, after = (
        same + sum(_count_words(block) for block in side if id(block) not in unchanged) for side in (old, new)
    )
    kept = same + words.count_in_entries(changes) + words.moved
    return ChangeSize(max(0, after - kept), max(0, before - kept), before, after)


class _KeptWords:
    """Counts the words of the old version that the new version keeps."""

    def __init__(self) -> None:
        self.moved = 0
        """Number of words in moved blocks. Not part of `count_in_entries`."""

    def count_in_entries(self, entries: Iterable[Entry]) -> int:
        """Return the number of words kept in place. Add words in moved blocks to `moved`."""
        return sum(map(self._count_in_entry, entries))

    def _count_in_entry(self, entry: Entry) -> int:
        match entry:
            case UnchangedBlocks(old_blocks):
                return sum(map(_count_words, old_blocks))
            case AddedBlock(entries=inner) | RemovedBlock(entries=inner):
                return self.count_in_entries(inner)
            case RestructuredBlocks(old_blocks, new_blocks, entries=inner):
                # The entries may contain words that are attributes of the blocks.
                return min(
                    self.count_in_entries(inner), *(sum(map(_count_words, each)) for each in (old_blocks, new_blocks))
                )
            case ChangedBlock(old, new, parts=parts):
                return self._count_in_block(old, new, parts)
            case MovedBlock(old, new, is_arrival=True, parts=parts):
                self.moved += self._count_in_block(old, new, parts)
        return 0

    def _count_in_block(self, old: Block, new: Block, parts: Parts) -> int:
        is_counted = old.kind == new.kind and old.kind in _COUNTED_BLOCKS
        match parts:
            case None:
                has_same_text = old.plain().split() == new.plain().split()
                return _count_words(old) - (_count_media(old) - _count_media(new)).total() if has_same_text else 0
            case TextChange(words):
                return is_counted + _count_kept_in_text(words)
            case CodeChange(lines):
                changed = sum(_count_kept_in_text(line.words) for line in lines if line.op == "change")
                return changed + sum(_count_words_in_text(line.old) for line in lines if line.op == "equal")
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
    return _count_words_in_runs([_REPLACED if word.op in ("insert", "delete") else word.run for word in words])


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
"""Minimum number of edits of a section shown as replaced."""
_MIN_RENAMED_SHARE = 0.3
"""Minimum changed share of a heading that begins another topic."""

_MAX_SHARE_OF_SAME_WORDS = 0.75
"""Maximum share, 0 to 1, of words that a replaced section keeps."""


def join_replaced_sections(steps: Sequence[DiffStep]) -> list[DiffStep]:
    """Join all steps of a replaced section into one step."""
    found: list[DiffStep] = []
    run: list[DiffStep] = []
    for step in steps:
        is_edit = _is_whole_edit(step)
        if not is_edit or _is_heading(step):
            found += _join_replaced(run)
            run = []
        is_renamed = isinstance(step.parts, TextChange) and step.parts.changed_share > _MIN_RENAMED_SHARE
        if is_edit and (not _is_heading(step) or is_renamed):
            run.append(step)
        else:
            found.append(step)
    return found + _join_replaced(run)


def _is_whole_edit(step: DiffStep) -> bool:
    """Return whether a step edits a whole block, with no move inside."""
    if step.status == "changed":
        if any(inner.status in ("left", "arrived") for inner in step.descendants()):
            return False
        return not isinstance(step.parts, TextChange) or "words" in step.parts.kinds
    return step.status in ("added", "removed") and step.inside is None


def _is_heading(step: DiffStep) -> bool:
    return all(node is not None and node.kind == "heading" for node in (step.old, step.new))


def _join_replaced(run: list[DiffStep]) -> list[DiffStep]:
    old = [step.old for step in run if step.old is not None]
    new = [step.new for step in run if step.new is not None]
    # Equal kinds in the same order may be a translation.
    if (
        len(run) < _MIN_EDITS
        or min(len(old), len(new)) < 2
        or [each.kind for each in old] == [each.kind for each in new]
    ):
        return run
    size = change_size(to_entries(run), *([node.block for node in side] for side in (old, new)))
    if not size.is_rewritten or _has_mostly_same_words(old, new):
        return run
    step = DiffStep("restructured", old_nodes=tuple(old), new_nodes=tuple(new))
    step.note = f"section replaced: {size.removed} of {size.words_before} words removed, {size.added} added"
    step.inside = [*(DiffStep("removed", old=node) for node in old), *(DiffStep("added", new=node) for node in new)]
    return [step]


def _has_mostly_same_words(old: Sequence[Node], new: Sequence[Node]) -> bool:
    before, after = (
        Counter(word for node in side for part in slices(node.text) for word in _WORD.findall(part))
        for side in (old, new)
    )
    return (before & after).total() > _MAX_SHARE_OF_SAME_WORDS * max(before.total(), after.total())


_TEXT_KINDS = frozenset({"paragraph", "heading", "code"})


def pair_replaced_blocks(steps: Sequence[DiffStep]) -> list[DiffStep]:
    """Turn removed blocks followed by added blocks of the same kinds into changed blocks."""
    found: list[DiffStep] = []
    run: list[DiffStep] = []
    for step in steps:
        if step.status in ("removed", "added") and step.inside is None:
            run.append(step)
            continue
        found += _pair_in_order(run)
        run = []
        if step.inside is not None:
            step.inside = pair_replaced_blocks(step.inside)
        found.append(step)
    return found + _pair_in_order(run)


def _pair_in_order(run: list[DiffStep]) -> list[DiffStep]:
    old = [step.old for step in run if step.old]
    new = [step.new for step in run if step.new]
    kinds = [node.kind for node in old]
    if kinds != [node.kind for node in new] or not _TEXT_KINDS.issuperset(kinds):
        return run
    return [
        DiffStep("changed", old_node, new_node, settings=changed_attributes(old_node.block, new_node.block))
        for old_node, new_node in zip(old, new, strict=True)
    ]
