"""Finds blocks that were moved into containers, out of containers, or to other containers, with nearly the same words.
The contents are compared as if there were no containers. The result is shown in the new containers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from itertools import count, dropwhile, groupby, takewhile
from typing import NamedTuple

from octavo.documents.blocks import UNMARKED_CONTAINERS, Block, Run, kinds_with, plain_text
from octavo.documents.diff_alignment import MIN_MOVED_LENGTH, align, movable_look_ids, similarity
from octavo.documents.diff_model import AttributeChange
from octavo.documents.diff_nodes import CompareNodes, DraftEntry, Node, changed_attributes, leaf_node, runs_key
from octavo.documents.diff_operations import join_rewritten_operations
from octavo.documents.diff_splits import join_split_texts
from octavo.documents.diff_tables import count_kinds, join_converted_tables, rearrangement_note
from octavo.documents.diff_text import diff_runs
from octavo.documents.sequences import most_similar, text_similarity

CONTAINERS, _SERIES = kinds_with("container"), kinds_with("series")
_FRAMES = CONTAINERS - UNMARKED_CONTAINERS - kinds_with("part")
"""Kinds of containers that are removed or added as a whole if none of their texts is in both versions."""
_MIN_KEPT_LENGTH = 15
_MIN_TEXT_SIMILARITY = 0.85
_MIN_SHARE_KEPT = 0.5
_MIN_CONTAINER_SIMILARITY = 0.7
"""Minimum similarity of the two versions of an edited container."""
_MIN_LENGTH_RATIO = 0.4
"""Minimum length of the shorter of two compared containers, as a share of the longer."""
_MAX_NAMES = 3
_MAX_PAIRS = 20_000
_MAX_COMPARED = 4_000


class _NodeInContainers(NamedTuple):
    """A block and the containers around it, outermost first."""

    node: Node
    path: tuple[Node, ...] = ()
    is_title: bool = False
    """True if the node is the title of the innermost container, and not a block of the page."""


_Pair = tuple[_NodeInContainers | None, _NodeInContainers | None]


def join_restructured(drafts: list[DraftEntry], compare: CompareNodes) -> list[DraftEntry]:
    """Return `drafts`, but join the drafts of blocks that were split, or moved into or out of a container."""
    joined_drafts: list[DraftEntry] = []
    for is_stable, group in groupby(drafts, lambda draft: draft.status in ("same", "left", "arrived")):
        siblings = list(group)
        joined_drafts += siblings if is_stable else join_split_texts(siblings, compare)
    drafts, joined_drafts = joined_drafts, []
    moved_ids = _moved_look_ids(drafts)
    for is_stable, group in groupby(drafts, lambda draft: draft.status in ("same", "left", "arrived", "restructured")):
        siblings = list(group)
        joined_drafts += (
            siblings
            if is_stable
            else _join_across_edges(siblings, compare, moved_ids) or _join_between_edits(siblings, compare, moved_ids)
        )
    return joined_drafts


def _moved_look_ids(drafts: Sequence[DraftEntry]) -> frozenset[int]:
    """Return look IDs of long blocks that were removed in one place and added in another, also inside containers."""
    drafts = [each for draft in drafts for each in (draft, *draft.descendants())]
    removed = [each for draft in drafts if draft.status == "removed" and draft.old for each in draft.old.walk()]
    added = [each for draft in drafts if draft.status == "added" and draft.new for each in draft.new.walk()]
    return movable_look_ids(removed, added)


def _join_splits_inside(drafts: Sequence[DraftEntry], compare: CompareNodes) -> list[DraftEntry]:
    """Return `drafts`, the content of a changed container. The drafts of a text that was split or joined become one
    draft. Drafts of lists and other containers in the content stay as they are."""
    joined_drafts: list[DraftEntry] = []
    for is_text, group in groupby(drafts, lambda draft: draft.status != "same" and _is_leaf(draft)):
        adjacent_drafts = list(group)
        statuses = {draft.status for draft in adjacent_drafts}
        may_have_splits = is_text and len(statuses) > 1 and "changed" in statuses
        joined_drafts += join_split_texts(adjacent_drafts, compare) if may_have_splits else adjacent_drafts
    return joined_drafts


def _is_leaf(draft: DraftEntry) -> bool:
    nodes = [node for node in (draft.old, draft.new) if node is not None]
    return bool(nodes) and not any(node.children for node in nodes)


def _join_across_edges(drafts: list[DraftEntry], compare: CompareNodes, moved_ids: Set[int]) -> list[DraftEntry] | None:
    """Return `drafts`, with a joined draft for blocks that moved into or out of a container. None if there are none."""
    if len(drafts) < 2 or not (
        _container_kinds(draft.old for draft in drafts) & _container_kinds(draft.new for draft in drafts)
    ):
        return None
    text_counts, original_texts = _text_counts(drafts)
    old_totals, new_totals = Counter[str](), Counter[str]()
    for old_texts, new_texts in text_counts:
        old_totals.update(old_texts)
        new_totals.update(new_texts)
    crossing_texts: Counter[str] = Counter()
    left_and_arrived = [
        _without_edits(old_texts - new_texts, new_texts - old_texts) for old_texts, new_texts in text_counts
    ]
    for draft, (old_texts, new_texts), (left, arrived) in zip(drafts, text_counts, left_and_arrived, strict=True):
        if any(node is not None and node.kind in CONTAINERS for node in (draft.old, draft.new)):
            crossing_texts |= _found_elsewhere(left, new_totals, new_texts) | _found_elsewhere(
                arrived, old_totals, old_texts
            )
    if sum(map(len, crossing_texts.elements())) < _MIN_KEPT_LENGTH:
        return None
    positions = [index for index, (left, arrived) in enumerate(left_and_arrived) if (left | arrived) & crossing_texts]
    first, last = positions[0], positions[-1] + 1
    old_nodes = [draft.old for draft in drafts[first:last] if draft.old]
    new_nodes = [draft.new for draft in drafts[first:last] if draft.new]
    old_counts, new_counts = (
        Counter(each.look_id for node in side for each in node.walk()) for side in (old_nodes, new_nodes)
    )
    kept_texts = {*original_texts, *old_totals.keys() & new_totals.keys()}

    def is_whole(node: Node) -> bool:
        if node.kind in _FRAMES and kept_texts.isdisjoint(leaf.text for leaf in node.leaves()):
            return True
        # Keep a container whole only if both versions have the same number of copies. Otherwise, content of any copy
        # may have moved out.
        return old_counts[node.look_id] == new_counts[node.look_id]

    old_parts, new_parts = (list(_flatten_containers(side, is_whole)) for side in (old_nodes, new_nodes))
    if len(old_parts) * len(new_parts) > _MAX_PAIRS:
        return None
    pairs = [part for pair in _pair_parts(old_parts, new_parts, moved_ids) for part in _split_container_pair(pair)]
    paired_nodes = [old_part.node for old_part, other in pairs if old_part is not None and other is not None]
    if (
        sum(len(leaf.text) for node in paired_nodes for leaf in node.leaves() if leaf.text in crossing_texts)
        < _MIN_KEPT_LENGTH
    ):
        return None  # The pairs do not contain the moved text, so nothing is joined.
    before_pairs, pairs, after_pairs = _split_edges(pairs)
    return [
        *_join_between_edits(drafts[:first], compare, moved_ids),
        *_drafts_of(before_pairs),
        _compare_single_block(_restructured_draft(pairs, compare, _old_containers_by_new_id(pairs)), compare),
        *_drafts_of(after_pairs),
        *_join_between_edits(drafts[last:], compare, moved_ids),
    ]


def _found_elsewhere(texts: Counter[str], all_texts: Counter[str], own_texts: Counter[str]) -> Counter[str]:
    """Return how often each of `texts` occurs in other drafts, at most its count in `texts`. `texts` are from one
    version of a draft. `own_texts` and `all_texts` are from the other version: of this draft, and of all drafts."""
    counts = {text: min(count, all_texts[text] - own_texts[text]) for text, count in texts.items()}
    return Counter({text: count for text, count in counts.items() if count > 0})


def _compare_single_block(draft: DraftEntry, compare: CompareNodes) -> DraftEntry:
    """Return a comparison without a note if `draft` has a note, but only one old and one new block, of the same kind.
    Otherwise, return `draft`."""
    kinds = [[node.kind for node in nodes] for nodes in (draft.old_nodes, draft.new_nodes)]
    if draft.note and len(kinds[0]) == 1 and kinds[0] == kinds[1]:
        return compare(draft.old_nodes[0], draft.new_nodes[0])
    return draft


def _split_container_pair(pair: _Pair) -> list[_Pair]:
    one, other = pair
    if one and other and (one.node.kind in CONTAINERS) is not (other.node.kind in CONTAINERS):
        return [(one, None), (None, other)]
    return [pair]


def _container_kinds(nodes: Iterable[Node | None]) -> set[str]:
    return {node.kind for node in nodes if node is not None and node.kind in CONTAINERS}


def _text_counts(drafts: Sequence[DraftEntry]) -> tuple[list[tuple[Counter[str], Counter[str]]], Mapping[str, str]]:
    """Return how often each text occurs in the old and in the new version of each draft. In the new version, an edited
    text counts as its old text. Also return a map from edited texts to old texts."""
    old, new = (
        [[leaf.text for leaf in node.leaves()] if node else [] for node in nodes]
        for nodes in ([draft.old for draft in drafts], [draft.new for draft in drafts])
    )
    before, after = (dict.fromkeys(text for texts in side for text in texts) for side in (old, new))
    removed_texts = [text for text in before if text not in after and len(text) >= MIN_MOVED_LENGTH]
    added_texts = [text for text in after if text not in before and len(text) >= MIN_MOVED_LENGTH]
    original_texts: dict[str, str] = {}
    for text in added_texts if len(removed_texts) * len(added_texts) <= _MAX_COMPARED else ():
        if (index := most_similar(text, removed_texts, _MIN_TEXT_SIMILARITY)) is not None:
            original_texts[text] = removed_texts[index]
    return [
        (Counter(ours), Counter(original_texts.get(text, text) for text in theirs))
        for ours, theirs in zip(old, new, strict=True)
    ], original_texts


def _without_edits(left: Counter[str], arrived: Counter[str]) -> tuple[Counter[str], Counter[str]]:
    """Return `left` and `arrived`, the counts of removed and added texts of a draft, without pairs of similar texts.
    Such a pair is an edited text, which would count as moved if it equals a distant text by chance."""
    if not left or not arrived or len(left) * len(arrived) > _MAX_COMPARED:
        return left, arrived
    arrived_texts = list(arrived)
    edits = {
        text: arrived_texts[i]
        for text in left
        if (i := most_similar(text, arrived_texts, _MIN_TEXT_SIMILARITY)) is not None
    }
    return left - Counter(edits.keys()), arrived - Counter(edits.values())


def _join_between_edits(drafts: Sequence[DraftEntry], compare: CompareNodes, moved_ids: Set[int]) -> list[DraftEntry]:
    joined_drafts: list[DraftEntry] = []
    for is_whole, group in groupby(drafts, lambda draft: draft.status in ("added", "removed")):
        group_drafts = list(group)
        joined_drafts += _join_rearranged(group_drafts, compare, moved_ids) if is_whole else group_drafts
    return joined_drafts


def _join_rearranged(drafts: list[DraftEntry], compare: CompareNodes, moved_ids: Set[int]) -> list[DraftEntry]:
    drafts = join_converted_tables(join_rewritten_operations(drafts, compare), compare)
    index = next((index for index, draft in enumerate(drafts) if draft.status == "restructured"), None)
    if index is not None:
        return [
            *_join_rearranged(drafts[:index], compare, moved_ids),
            drafts[index],
            *_join_rearranged(drafts[index + 1 :], compare, moved_ids),
        ]
    old = [draft.old for draft in drafts if draft.old]
    new = [draft.new for draft in drafts if draft.new]
    if not old or not new or len(old) * len(new) > _MAX_PAIRS:
        return drafts
    old_ids, new_ids = _containers(old), _containers(new)
    old_parts = list(_flatten_containers(old, lambda node: _has_counterpart(node, new_ids.get(node.kind, []))))
    new_parts = list(_flatten_containers(new, lambda node: _has_counterpart(node, old_ids.get(node.kind, []))))
    if len(old_parts) * len(new_parts) > _MAX_PAIRS or not any(part.path for part in (*old_parts, *new_parts)):
        return drafts
    pairs = _pair_parts(old_parts, new_parts, moved_ids)
    length = sum(_kept_length(*pair) for pair in pairs)
    shorter_length = min(sum(node.size for node in side) for side in (old, new))
    if length < max(min(_MIN_KEPT_LENGTH, shorter_length), _MIN_SHARE_KEPT * shorter_length):
        return drafts
    before_pairs, pairs, after_pairs = _split_edges(pairs)
    if not any(part.path for pair in pairs for part in pair if part is not None):
        return drafts
    draft = _compare_single_block(_restructured_draft(pairs, compare), compare)
    return [*_drafts_of(before_pairs), draft, *_drafts_of(after_pairs)]


def _containers(nodes: Sequence[Node]) -> Mapping[str, list[Node]]:
    nodes_by_kind: dict[str, list[Node]] = {}
    for node in nodes:
        for each in node.walk():
            if each.kind in CONTAINERS:
                nodes_by_kind.setdefault(each.kind, []).append(each)
    return nodes_by_kind


def _flatten_containers(
    nodes: Sequence[Node], is_closed: Callable[[Node], bool], path: tuple[Node, ...] = ()
) -> Iterator[_NodeInContainers]:
    """Yield `nodes`, with each container replaced by its title and its blocks, at any depth. A container for which
    `is_closed` returns True is not replaced. `path` has the containers around `nodes`, outermost first."""
    for node in nodes:
        if node.kind not in CONTAINERS or not node.children or is_closed(node):
            yield _NodeInContainers(node, path)
            continue
        if title := _title(node.block):
            heading = Block("heading", runs=title, lines=node.block.lines)
            yield _NodeInContainers(leaf_node(heading), (*path, node), is_title=True)
        yield from _flatten_containers(node.children, is_closed, (*path, node))


def _has_counterpart(node: Node, others: Sequence[Node]) -> bool:
    if any(node.look_id == other.look_id for other in others):
        return True
    similar_nodes = [
        other for other in others if _MIN_LENGTH_RATIO * node.size <= other.size <= node.size / _MIN_LENGTH_RATIO
    ]
    return len(similar_nodes) < _MAX_COMPARED and any(
        similarity(node, other) >= _MIN_CONTAINER_SIMILARITY for other in similar_nodes
    )


def _title(block: Block) -> tuple[Run, ...]:
    if block.kind == "expandable":
        return block.runs
    title = str(block.attrs.get("title") or "")
    return (Run(title),) if title else ()


def _pair_parts(
    old_parts: Sequence[_NodeInContainers], new_parts: Sequence[_NodeInContainers], moved_ids: Set[int]
) -> list[_Pair]:
    parts_by_id = {id(part.node): part for part in (*old_parts, *new_parts)}
    pairs = align([part.node for part in old_parts], [part.node for part in new_parts], moved_ids)
    return [(parts_by_id[id(one)] if one else None, parts_by_id[id(other)] if other else None) for one, other in pairs]


def _kept_length(old: _NodeInContainers | None, new: _NodeInContainers | None) -> float:
    if old is None or new is None:
        return 0.0
    old_node, new_node = old.node, new.node
    return min(old_node.size, new_node.size) * text_similarity(old_node.text, new_node.text)


def _split_edges(pairs: list[_Pair]) -> tuple[list[_Pair], list[_Pair], list[_Pair]]:
    """Divide pairs into the additions and removals before a restructuring, the restructuring, and the additions and
    removals after it. The pairs of one container are never divided."""

    def containers(pairs: Iterable[_Pair]) -> set[int]:
        return {id(part.path[0]) for pair in pairs for part in pair if part is not None and part.path}

    kept_ids = containers(pair for pair in pairs if None not in pair)
    while True:
        kept_indexes = [index for index, pair in enumerate(pairs) if None not in pair or containers([pair]) & kept_ids]
        first, last = (kept_indexes[0], kept_indexes[-1] + 1) if kept_indexes else (len(pairs), len(pairs))
        if (container_ids := containers(pairs[first:last])) <= kept_ids:
            return pairs[:first], pairs[first:last], pairs[last:]
        kept_ids |= container_ids


def _drafts_of(pairs: Sequence[_Pair]) -> list[DraftEntry]:
    """Return drafts for the outermost nodes in `pairs`: removed drafts for old nodes, added drafts for new nodes."""
    removed, added = (list(_outermost_nodes(pair[side] for pair in pairs)) for side in (0, 1))
    return [*(DraftEntry("removed", old=node) for node in removed), *(DraftEntry("added", new=node) for node in added)]


def _draft(old: _NodeInContainers | None, new: _NodeInContainers | None, compare: CompareNodes) -> DraftEntry:
    if new is None:
        assert old is not None, "a pair must have at least one side"
        return DraftEntry("removed", old=old.node)
    if old is None:
        return DraftEntry("added", new=new.node)
    is_same = old.node.look_id == new.node.look_id
    return DraftEntry("same", old.node, new.node) if is_same else compare(old.node, new.node)


def _restructured_draft(
    pairs: Sequence[_Pair], compare: CompareNodes, old_containers: Mapping[int, Node] | None = None
) -> DraftEntry:
    """Return one draft for `pairs` of old and new blocks. It contains drafts for the containers of the new version.
    `old_containers` maps the `id()` of a new container to its old version. If None, only lists and items get one."""
    old = tuple(_outermost_nodes(one for one, _ in pairs))
    new = tuple(_outermost_nodes(other for _, other in pairs))
    draft = DraftEntry("restructured", old_nodes=old, new_nodes=new, children=[])
    open_containers: list[tuple[Node, DraftEntry]] = []
    containers = [draft]
    crossings: list[tuple[DraftEntry, str, list[Node]]] = []
    removed_titles: list[tuple[list[DraftEntry], DraftEntry, Node]] = []
    last_note = ""
    old_versions = {**old_containers} if old_containers is not None else {}
    if old_containers is None:
        _add_old_lists(old_versions, pairs)
    kept_ids = set(map(id, old_versions.values()))

    def enter(path: Sequence[Node]) -> list[DraftEntry]:
        while open_containers and (
            len(open_containers) > len(path) or path[len(open_containers) - 1] is not open_containers[-1][0]
        ):
            open_containers.pop()
        for node in path[len(open_containers) :]:
            container = DraftEntry("added", new=node, children=[])
            if id(node) in old_versions:
                container.status, container.old = "changed", old_versions[id(node)]
            _drafts_inside(open_containers, draft).append(container)
            containers.append(container)
            open_containers.append((node, container))
        return _drafts_inside(open_containers, draft)

    notes = [""] * len(pairs) if old_containers is None else _crossing_notes(pairs, old_containers)
    for index, (one, other) in enumerate(pairs):
        if other is None:
            following = next((each.path for _, each in pairs[index:] if each is not None), ())
            path = [node for node, _ in open_containers]
            siblings = enter(_containers_around_removed(one, path, following, old_versions) if one else ())
            siblings.append(_draft(one, None, compare))
            if one is not None and one.is_title:
                removed_titles.append((siblings, siblings[-1], one.path[-1]))
        elif other.is_title:
            enter(other.path)
            is_of_kept_container = one is not None and one.is_title and id(one.path[-1]) in kept_ids
            if one is not None and open_containers[-1][1].old is None and not is_of_kept_container:
                _turn_into_edit(open_containers[-1][1], one)
        else:
            siblings = enter(other.path)
            note = notes[index]
            if note and note != last_note:
                crossings.append((DraftEntry("restructured", children=[]), note, []))
                siblings.append(crossings[-1][0])
            if note:
                crossings[-1][2].append(other.node)
            last_note = note
            siblings.append(_draft(one, other, compare))
    for crossing, note, nodes in crossings:
        crossing.note = f"{count_kinds(nodes)} {note}"
    for container in draft.children or ():
        collapse_container(container)
    if old_containers is None:
        draft.note = _restructuring_note(old, new, pairs, draft.children or ())
    elif not crossings:
        draft.note = rearrangement_note(old, new)
    shown_notes = " ".join([draft.note, *(note for _, note, _ in crossings)])
    for siblings, title, old_container in removed_titles:
        if id(old_container) in kept_ids or (title.old is not None and f"“{title.old.text}”" in shown_notes):
            siblings.remove(title)  # The title is in the new container, or quoted in a note.
    for container in reversed(containers):  # Inner containers come first, because `_finish_container` reads them.
        if container.children:
            container.children = _join_splits_inside(container.children, compare)
        if id(container.new) in old_versions:
            _finish_container(container)
    return draft


def _containers_around_removed(
    removed: _NodeInContainers, path: Sequence[Node], following: Sequence[Node], old_versions: Mapping[int, Node]
) -> Sequence[Node]:
    """Return in which of the open containers `path` to show a removed block: in its old containers, or in those of the
    next block (`following`) if these are more. A heading is always shown in those of the next block."""
    around_following = [node for node, other in zip(path, following, strict=False) if node is other]
    if removed.node.kind == "heading":
        return around_following
    old_ids = set(map(id, removed.path))
    around_removed = takewhile(lambda node: id(node) not in old_versions or id(old_versions[id(node)]) in old_ids, path)
    return max(around_following, list(around_removed), key=len)


def _old_containers_by_new_id(pairs: Sequence[_Pair]) -> Mapping[int, Node]:
    """Return the old version of each container that both sides of `pairs` have, by `id()` of the new version."""
    old_versions: dict[int, Node] = {}
    taken_ids: set[int] = set()
    paths = [(*_paths_to_compare(one, other), 1 + _kept_length(one, other)) for one, other in pairs if one and other]
    for depth in count():
        paths = [one for one in paths if min(map(len, one[:2])) > depth and one[0][depth].kind == one[1][depth].kind]
        if not paths:
            break
        kept_lengths: dict[tuple[Node, Node], float] = {}
        for old_path, new_path, length in paths:
            pair = old_path[depth], new_path[depth]
            kept_lengths[pair] = kept_lengths.get(pair, 0.0) + length
        # Likely pairs come first: a tab keeps its title or most of its text. Lists and items are paired in order.
        for old, new in sorted(kept_lengths, key=lambda pair: -_version_score(pair[0], pair[1], kept_lengths[pair])):
            if id(new) not in old_versions and id(old) not in taken_ids:
                old_versions[id(new)] = old
                taken_ids.add(id(old))
        paths = [
            (old_path, new_path, length)
            for old_path, new_path, length in paths
            if old_path[depth].kind in _SERIES or old_versions.get(id(new_path[depth])) is old_path[depth]
        ]
    _add_old_lists(old_versions, pairs)
    return old_versions


def _add_old_lists(old_versions: dict[int, Node], pairs: Sequence[_Pair]) -> None:
    """Add to `old_versions` lists and items in different containers, such as a list in a quote that became a hint."""
    taken_ids = set(map(id, old_versions.values()))
    for one, other in pairs:
        if one and other:
            paths = [dropwhile(lambda node: node.kind != "list", path) for path in _paths_to_compare(one, other)]
            for old, new in zip(*paths, strict=False):
                if old.kind != new.kind or id(new) in old_versions or id(old) in taken_ids:
                    break
                old_versions[id(new)] = old
                taken_ids.add(id(old))


def _paths_to_compare(old: _NodeInContainers, new: _NodeInContainers) -> tuple[Sequence[Node], Sequence[Node]]:
    """Return the containers around each block, outermost first. If one path is longer, leave out some of its outer
    containers. If the innermost containers have the same title, the paths get the same length. Otherwise, leave out
    a list and its item while only one of the two outermost lists is numbered."""
    old_path, new_path = old.path, new.path
    depth = min(len(old_path), len(new_path))
    old_end, new_end = old_path[-depth:], new_path[-depth:]
    if depth and len(old_path) != len(new_path) and _title(old_end[-1].block) == _title(new_end[-1].block) != ():
        return old_end, new_end
    while len(old_path) > len(new_path) and _is_only_one_numbered(old_path, new_path):
        old_path = old_path[2:]  # Skip a list and its item.
    while len(new_path) > len(old_path) and _is_only_one_numbered(old_path, new_path):
        new_path = new_path[2:]
    return old_path, new_path


def _is_only_one_numbered(old_path: Sequence[Node], new_path: Sequence[Node]) -> bool:
    """Return whether both outermost containers are lists, and only one of them is numbered."""
    lists = [path[0].block for path in (old_path, new_path) if path and path[0].kind == "list"]
    return len(lists) == 2 and lists[0].attrs.get("ordered") != lists[1].attrs.get("ordered")


def _version_score(old: Node, new: Node, kept_length: float) -> float:
    """Return a score for `new` as a version of the container `old`. The score is `kept_length`, the length of their
    common text. It is infinite if both have the same title, or if the kind of `old` is in `UNMARKED_CONTAINERS`."""
    has_same_title = _title(old.block) == _title(new.block) != ()
    return math.inf if has_same_title or old.kind in UNMARKED_CONTAINERS else kept_length


def _crossing_notes(pairs: Sequence[_Pair], old_containers: Mapping[int, Node]) -> list[str]:
    """Return a note for each pair, such as `from another list`. A block that moved between containers gets a note that
    says how. If there is such a block, an item with another number also gets a note, if its list is another one. All
    other notes are empty."""
    notes = [_crossing_note(old, new, old_containers) if old and new else "" for old, new in pairs]
    if not any(notes):
        return notes
    for index, (old, new) in enumerate(pairs):
        if old and new and not notes[index] and _item_number(new) not in (None, _item_number(old)):
            new_list = next(node for node in reversed(new.path) if node.kind == "list")
            if id(new_list) not in old_containers:
                notes[index] = f"in a new list that starts at {new_list.block.attrs.get('start', 1)}"
            elif not any(node is old_containers[id(new_list)] for node in old.path):
                notes[index] = "from another list"
    return notes


def _item_number(part: _NodeInContainers) -> int | None:
    """Return the number of an item in a numbered list, also for the first block in it. None for other blocks."""
    *path, node = (*part.path, part.node)
    if path and path[-1].kind == "item" and node is path[-1].children[0]:
        node = path.pop()
    if not path or node.kind != "item" or not path[-1].block.attrs.get("ordered"):
        return None
    return int(path[-1].block.attrs.get("start", 1)) + path[-1].children.index(node)


def _crossing_note(old: _NodeInContainers, new: _NodeInContainers, old_containers: Mapping[int, Node]) -> str:
    """Return how a block moved between containers, such as “unwrapped from a quote”. Empty if no note is needed."""
    kept_ids = {id(old_containers[id(node)]) for node in new.path if id(node) in old_containers} & set(
        map(id, old.path)
    )
    left_containers = [node for node in old.path if id(node) not in kept_ids]
    entered_containers = [
        node for node in new.path if id(node) not in old_containers or id(old_containers[id(node)]) not in kept_ids
    ]
    if left_containers and entered_containers and left_containers[-1].kind == entered_containers[-1].kind:
        kept_containers = map(id, old_containers.values())
        is_kept = id(entered_containers[-1]) in old_containers and id(left_containers[-1]) in kept_containers
        return f"moved to another {left_containers[-1].kind}" if is_kept else ""
    ways = [f"unwrapped from {_name(left_containers[-1])}"] if left_containers else []
    ways += [f"wrapped in {_name(entered_containers[-1])}"] if entered_containers else []
    return " and ".join(ways)


def collapse_container(draft: DraftEntry) -> None:
    """Remove the drafts of the children if a container was added or removed with all its content."""
    if draft.status in ("added", "removed") and draft.children is not None:
        for inner in draft.children:
            collapse_container(inner)
        if all(inner.status == draft.status and inner.children is None for inner in draft.children):
            draft.children = None


def _finish_container(container: DraftEntry) -> None:
    """Complete the draft of a container in both versions: its attributes and title, or the status `same`."""
    assert container.children is not None, "a container must have drafts of its children"
    assert container.old is not None
    assert container.new is not None
    for inner in container.children:
        collapse_container(inner)
    old_children = tuple(_old_blocks(container.children))
    old, new = container.old.block._replace(children=old_children), container.new.block
    container.old = Node(old, [], -1, "")
    # `spaced` is left out, because it follows from the content of the items.
    container.settings = tuple(attribute for attribute in changed_attributes(old, new) if attribute.name != "spaced")
    if runs_key(old.runs) != runs_key(new.runs):
        container.title = diff_runs(old.runs, new.runs)
    if (
        not container.settings
        and container.title is None
        and all(inner.status == "same" for inner in container.children)
    ):
        container.status, container.children = "same", None


def _old_blocks(drafts: Iterable[DraftEntry]) -> Iterator[Block]:
    for draft in drafts:
        blocks = tuple(_old_blocks(draft.children or ()))
        if draft.old is None:
            yield from blocks
        else:
            # If a heading became the title of a container, `draft.old` has no children. The drafts inside have them.
            yield draft.old.block if draft.old.block.children else draft.old.block._replace(children=blocks)


def _drafts_inside(open_containers: Sequence[tuple[Node, DraftEntry]], whole: DraftEntry) -> list[DraftEntry]:
    children = (open_containers[-1][1] if open_containers else whole).children
    assert children is not None, "a container must have drafts of its children"
    return children


def _turn_into_edit(container: DraftEntry, old_title: _NodeInContainers) -> None:
    """Turn an added container's draft into an edit of the old container with the title `old`, or of a heading `old`."""
    assert container.new is not None, "the container must be in the new version"
    new_block, old_block = (
        container.new.block,
        old_title.path[-1].block._replace(children=()) if old_title.is_title else old_title.node.block,
    )
    container.status, container.old = "changed", Node(old_block, [], -1, old_title.node.text)
    container.settings = changed_attributes(old_block, new_block)
    if new_block.runs:
        container.title = diff_runs(old_block.runs, new_block.runs)
    else:
        before, after = plain_text(old_title.node.block.runs), str(new_block.attrs["title"])
        container.settings = tuple(setting for setting in container.settings if setting.name != "title")
        container.settings += (AttributeChange("title", before, after),) if before != after else ()


def _outermost_nodes(parts: Iterable[_NodeInContainers | None]) -> Iterator[Node]:
    before: Node | None = None
    for part in parts:
        top = before if part is None else part.path[0] if part.path else part.node
        if top is not before and top is not None:
            yield top
        before = top


def _restructuring_note(
    old: Sequence[Node], new: Sequence[Node], pairs: Sequence[_Pair], drafts: Sequence[DraftEntry]
) -> str:
    removed_ids = {id(one.path[0]) for one, _ in pairs if one is not None and one.path}
    added_nodes = [
        draft.new for draft in drafts if draft.children is not None and draft.new and id(draft.new) in set(map(id, new))
    ]
    if not removed_ids:
        return f"wrapped in {_names(added_nodes)}"
    if not added_nodes:
        return f"unwrapped from {_names([node for node in old if id(node) in removed_ids])}"
    return rearrangement_note(old, new)


def _names(nodes: Sequence[Node]) -> str:
    names = list(dict.fromkeys(map(_name, nodes)))
    is_listed = len(names) == len(nodes) <= _MAX_NAMES or nodes[0].kind == "unknown"
    return " and ".join(names) if is_listed else count_kinds(nodes)


def _name(container: Node) -> str:
    if container.kind == "expandable" and (title := plain_text(container.block.runs)):
        return f"an expandable “{title}”"
    if container.kind == "unknown":
        return str(container.block.attrs.get("name") or "an unknown block")
    article = "an" if container.kind[0] in "aeiou" else "a"
    return container.kind if container.kind in _SERIES - {"list"} | {"cards"} else f"{article} {container.kind}"
