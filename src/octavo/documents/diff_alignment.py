"""Pairs the blocks of two versions: equal blocks first, then the most similar blocks between them. Start reading at
`align`. Sections whose order changed are paired separately, by `moved_sections`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence, Set
from itertools import product
from typing import NamedTuple

from octavo.api.folding import fold
from octavo.documents.blocks import Block, kinds_with, plain_text
from octavo.documents.diff_nodes import Node
from octavo.documents.sequences import DiffRange, diff_ranges, most_similar, text_similarity

MIN_SIMILARITY = 0.45
"""Minimum similarity of two blocks, from 0 to 1, to be paired in a comparison."""

_CONTAINER_SIMILARITY = 0.5
"""Minimum that `similarity` returns for two containers with the same title, or without titles if one is empty."""

_MIN_HEADING_SIMILARITY = 0.6
"""Minimum similarity to pair two headings without a common word."""

_MIN_LINK_SIMILARITY = 0.6
"""Minimum similarity to pair two blocks with different links if one of these links is in both versions."""

_MIN_ROW_SIMILARITY = 0.5
"""Minimum similarity of two rows without an equal cell."""

_MIN_CODE_SIMILARITY = 0.85
"""Minimum similarity of a paragraph and a code block that replaces it. High, because code often repeats the text."""

TITLED_KINDS = kinds_with("titled")

_MIN_EDIT_SIMILARITY = 0.75
"""Minimum similarity to pair two blocks if one also occurs elsewhere, or if they begin items of unequal length."""

MIN_MOVED_LENGTH = 25
"""Minimum number of characters of a block that is recognized at another position."""

Pair = tuple[Node | None, Node | None]

_COMPATIBLE_KINDS = {
    frozenset(kinds)
    for kinds in (
        ("paragraph", "heading"),
        ("paragraph", "item"),
        ("item", "task"),
        ("row", "card"),
        ("table", "cards"),
        ("openapi", "api-method"),
        ("figure", "paragraph"),
        ("content-ref", "paragraph"),
        ("embed", "paragraph"),
        ("code", "paragraph"),
    )
}
_KINDS_OF_ANY_LENGTH = kinds_with("any length") | {"heading"}
_PART_KINDS = kinds_with("part")
_SERIES_KINDS = kinds_with("series")
_CONTAINER_KINDS = kinds_with("container") - {"item", "task"}
_OPERATION_KINDS = frozenset({"openapi", "api-method"})
_IMAGE_KINDS = frozenset({"figure", "image"})
_NUMBERED_KINDS = _IMAGE_KINDS | {"heading"}
_DIGITS = re.compile(r"\d+")
_MAX_COMPARED = 6000
"""Maximum number of block pairs in a changed range. Above it, only blocks at similar positions are compared."""
_MAX_PAIRS = 250_000


def align(old: Sequence[Node], new: Sequence[Node], moved_look_ids: Set[int] = frozenset()) -> list[Pair]:
    """Return the pairs of blocks of two versions, in order. A block without a counterpart is paired with None. A block
    whose `look_id` is in `moved_look_ids` is only paired with a block that looks the same."""
    pairs: list[Pair] = []
    ranges = _join_around_short_matches(diff_ranges(*_alignment_keys(old, new)), old, new)
    ranges = _join_headings_to_sections(ranges, old, new)
    gaps = [each for each in ranges if not each.equal]
    movable_ids = movable_look_ids(
        [node for gap in gaps for node in old[gap.i1 : gap.i2]], [node for gap in gaps for node in new[gap.j1 : gap.j2]]
    )
    movable_ids -= _look_ids_of_copies(gaps, old, new, movable_ids)
    movable_ids |= moved_look_ids
    for is_equal, i1, i2, j1, j2 in ranges:
        if is_equal:
            pairs += zip(old[i1:i2], new[j1:j2], strict=True)
        else:
            pairs += _align_gap(old[i1:i2], new[j1:j2], movable_ids)
    return pairs


def _alignment_keys(old: Sequence[Node], new: Sequence[Node]) -> list[list[Hashable]]:
    """Return the keys of the old and of the new blocks. Blocks with equal keys are paired. The key of a heading is its
    text, so its level may change. But if one version has this text more often than the other, the key is the `look_id`,
    if each version has this `look_id` once. The key of any other block is its `look_id`."""
    headings = [[node for node in side if node.block.kind == "heading"] for side in (old, new)]
    old_texts, new_texts = (Counter(node.text for node in side) for side in headings)
    old_look_ids, new_look_ids = (Counter(node.look_id for node in side) for side in headings)

    look_keys = {
        node.look_id
        for node in headings[0]
        if old_look_ids[node.look_id] == new_look_ids[node.look_id] == 1
        and old_texts[node.text] != new_texts[node.text]
    }
    return [
        [node.text if node.block.kind == "heading" and node.look_id not in look_keys else node.look_id for node in side]
        for side in (old, new)
    ]


def _join_around_short_matches(
    ranges: Sequence[DiffRange], old: Sequence[Node], new: Sequence[Node]
) -> Sequence[DiffRange]:
    """Join changes that are separated only by repeated short blocks, such as “Returns:”, or by renumbered blocks."""
    short_indexes = [
        index
        for index, each in enumerate(ranges)
        if each.equal and 0 < index < len(ranges) - 1 and _is_short(old[each.i1 : each.i2])
    ]
    if not short_indexes:
        return ranges
    old_counts, new_counts = Counter(node.look_id for node in old), Counter(node.look_id for node in new)
    isolated_indexes = {
        index
        for index in short_indexes
        if all(
            old_counts[each.look_id] > 1 and new_counts[each.look_id] > 1
            for each in old[ranges[index].i1 : ranges[index].i2]
        )
    }
    isolated_indexes |= _renumbered_ranges(
        [index for index in short_indexes if index not in isolated_indexes], ranges, old, new
    )
    joined_ranges: list[DiffRange] = []
    for index, diff_range in enumerate(ranges):
        if index in isolated_indexes:
            diff_range = diff_range._replace(equal=False)
        if joined_ranges and not joined_ranges[-1].equal and not diff_range.equal:
            last = joined_ranges.pop()
            diff_range = DiffRange(False, last.i1, diff_range.i2, last.j1, diff_range.j2)
        joined_ranges.append(diff_range)
    return joined_ranges


def _join_headings_to_sections(
    ranges: Sequence[DiffRange], old: Sequence[Node], new: Sequence[Node]
) -> Sequence[DiffRange]:
    """Return `ranges`, in which an equal heading before a gap may be paired with the last heading in the gap instead: if
    both have the same text, and only one version has headings in the gap. So the heading stays with its section."""
    result: list[DiffRange] = []
    for index, gap in enumerate(ranges):
        if not gap.equal and 0 < index < len(ranges) - 1 and old[gap.i1 - 1].kind == "heading":
            start_i, start_j = gap.i1 - 1, gap.j1 - 1
            i = max(each for each in range(start_i, gap.i2) if old[each].kind == "heading")
            j = max(each for each in range(start_j, gap.j2) if new[each].kind == "heading")
            is_in_one = (i == start_i) != (j == start_j) and old[i].text == new[j].text
            texts = (old[gap.i1 : gap.i2], new[gap.j1 : j]) if i == start_i else (old[gap.i1 : i], new[gap.j1 : gap.j2])
            is_small = len(texts[0]) * len(texts[1]) <= _MAX_COMPARED
            # A similar text would be shown as removed and added if its section moved away.
            if is_in_one and is_small and not any(similarity(*each) >= MIN_SIMILARITY for each in product(*texts)):
                result[-1] = result[-1]._replace(i2=start_i, j2=start_j)
                result += [DiffRange(False, start_i, i, start_j, j), DiffRange(True, i, i + 1, j, j + 1)]
                gap = DiffRange(False, i + 1, gap.i2, j + 1, gap.j2)
        result.append(gap)
    return result


def _renumbered_ranges(
    short_indexes: Sequence[int], ranges: Sequence[DiffRange], old: Sequence[Node], new: Sequence[Node]
) -> set[int]:
    """Return the `short_indexes` of ranges that are equal only because blocks were renumbered. Such a range has only
    numbered headings and pictures, such as “Step 2” and `image (2).png`, and a longer block moved past the range."""
    pattern_counts = [Counter(pattern for node in nodes if (pattern := _number_pattern(node))) for nodes in (old, new)]
    numbered_indexes = [
        index
        for index in short_indexes
        if all(
            min(counts[_number_pattern(node)] for counts in pattern_counts) > 1
            for node in old[ranges[index].i1 : ranges[index].i2]
        )
    ]
    if not numbered_indexes:
        return set()
    gaps = [each for each in ranges if not each.equal]
    sides = ((old, [range(gap.i1, gap.i2) for gap in gaps]), (new, [range(gap.j1, gap.j2) for gap in gaps]))
    old_indexes, new_indexes = (
        {nodes[index].look_id: index for part in parts for index in part if nodes[index].size >= MIN_MOVED_LENGTH}
        for nodes, parts in sides
    )
    index_pairs = [(old_indexes[look_id], new_indexes[look_id]) for look_id in old_indexes.keys() & new_indexes.keys()]
    return {
        index
        for index in numbered_indexes
        if any((i < ranges[index].i1) != (j < ranges[index].j1) for i, j in index_pairs)
    }


def _number_pattern(node: Node) -> str:
    """Return the text of a heading or picture with `#` for each number. Empty for other blocks, or without a number."""
    pattern = _DIGITS.sub("#", node.text) if node.kind in _NUMBERED_KINDS else ""
    return pattern if pattern != node.text else ""


def _is_short(nodes: Sequence[Node]) -> bool:
    return sum(node.size for node in nodes) < MIN_MOVED_LENGTH and not any(node.kind in _PART_KINDS for node in nodes)


def movable_look_ids(old: Sequence[Node], new: Sequence[Node]) -> frozenset[int]:
    """Return the `look_id`s of blocks that occur once in each version, and are long enough to count as moved."""
    old_look_ids, new_look_ids = [node.look_id for node in old], [node.look_id for node in new]
    common_ids = set(old_look_ids).intersection(new_look_ids)
    if not common_ids:
        return frozenset()
    counts, other_counts = Counter(old_look_ids), Counter(new_look_ids)
    return frozenset(
        node.look_id
        for node in old
        if node.look_id in common_ids
        and (node.size >= MIN_MOVED_LENGTH or (node.kind in _PART_KINDS and node.size > 2))
        and counts[node.look_id] == other_counts[node.look_id] == 1
    )


def _look_ids_of_copies(
    gaps: Sequence[DiffRange], old: Sequence[Node], new: Sequence[Node], movable_ids: Set[int]
) -> set[int]:
    """Return the IDs in `movable_ids` of blocks that were edited in place, and only by chance look like a distant
    block. In a gap, such a block replaced a similar block, or was replaced by it. The ID of the similar block is not in
    `movable_ids`."""
    edits = [(old[gap.i1], new[gap.j1]) for gap in gaps if gap.i2 - gap.i1 == gap.j2 - gap.j1 == 1]
    found: set[int] = set()
    # A copy that was found may leave only one movable block in the previous or next edit. So search in both directions.
    for before, after in (*edits, *reversed(edits)):
        look_ids = (movable_ids & {before.look_id, after.look_id}) - found
        if len(look_ids) == 1 and before.kind == after.kind and similarity(before, after) >= _MIN_EDIT_SIMILARITY:
            found |= look_ids
    return found


def align_without(old: Sequence[Node], new: Sequence[Node], moved_ids: Collection[int]) -> list[Pair]:
    """Return pairs of blocks as `align` does, but pair each block whose `id()` is in `moved_ids` with None."""
    if not moved_ids:
        return align(old, new)
    pairs: list[Pair] = []
    before, after = iter(old), iter(new)
    for old_node, new_node in align(
        [node for node in old if id(node) not in moved_ids], [node for node in new if id(node) not in moved_ids]
    ):
        pairs += [(node, None) for node in _take_until(before, old_node)]
        pairs += [(None, node) for node in _take_until(after, new_node)]
        pairs.append((old_node, new_node))
    return [*pairs, *((node, None) for node in before), *((None, node) for node in after)]


def _take_until(nodes: Iterator[Node], stop: Node | None) -> Iterator[Node]:
    while stop is not None and (node := next(nodes)) is not stop:
        yield node


def title_of(node: Node) -> str:
    """Return the title of a container of `TITLED_KINDS`. Empty if it has no title."""
    if node.kind == "step":
        return node.children[0].text if node.children and node.children[0].kind == "heading" else ""
    return plain_text(node.block.runs) or str(node.block.attrs.get("title") or node.block.attrs.get("date") or "")


def similarity(old: Node, new: Node) -> float:
    """Return the similarity of two blocks, from 0 to 1."""
    old_kind, new_kind, old_text, new_text = old.block.kind, new.block.kind, old.text, new.text
    penalty = 0.0
    if old_kind != new_kind:
        if frozenset((old_kind, new_kind)) not in _COMPATIBLE_KINDS:
            return 0.0
        if {old_kind, new_kind} == {"figure", "paragraph"} and not (_has_image(old) and _has_image(new)):
            return 0.0  # An image is never paired with a paragraph, even if the caption has the same words.
        if {old_kind, new_kind} == {"code", "paragraph"}:
            return text_similarity(old_text, new_text, _MIN_CODE_SIMILARITY)
        penalty = 0.15
    if old_kind in _OPERATION_KINDS and new_kind in _OPERATION_KINDS and _is_same_operation(old.block, new.block):
        return 0.85 + 0.15 * text_similarity(old_text, new_text) - penalty
    if old_kind in _IMAGE_KINDS and new_kind in _IMAGE_KINDS:
        # At least 0.5, so that an image and its replacement can be paired. At least 0.9 for the same file.
        minimum = 0.9 if _image_files(old) == _image_files(new) else 0.5
        return minimum + (1 - minimum) * text_similarity(old_text, new_text, at_least=0.5)
    are_empty_cards = old_kind == new_kind == "card" and not any(cell.text for cell in (*old.children, *new.children))
    if are_empty_cards or (not old_text and not new_text):
        return 0.7 - penalty
    is_same_container = old_kind == new_kind and old_kind in _CONTAINER_KINDS and _is_same_container(old, new)
    if (
        not is_same_container
        and old_kind == new_kind in TITLED_KINDS
        and (title_of(new) in _inner_titles(old) or title_of(old) in _inner_titles(new))
    ):
        return 0.0
    if (
        not is_same_container
        and old_kind not in _KINDS_OF_ANY_LENGTH
        and not 0.2 * len(new_text) <= len(old_text) <= 5 * len(new_text)
    ):
        return 0.0
    score = text_similarity(old_text, new_text)
    if old_kind == new_kind == "heading" and score < _MIN_HEADING_SIMILARITY:
        title, other = fold(old_text), fold(new_text)  # Ignore case, for changes such as “Api” to “API”.
        score = max(score, text_similarity(title, other, at_least=0.8))
        shorter, longer = sorted((re.findall(r"[^\s.,:?!()]+", each) for each in (title, other)), key=len)
        if shorter and longer[: len(shorter)] == shorter:
            score = max(score, _MIN_HEADING_SIMILARITY)
        elif score < _MIN_HEADING_SIMILARITY and set(shorter).isdisjoint(longer):
            return 0.0
    elif score < MIN_SIMILARITY and min(len(old_text), len(new_text)) >= MIN_MOVED_LENGTH:
        is_beginning = old_text.startswith(new_text) or new_text.startswith(old_text)
        score = MIN_SIMILARITY if is_beginning else score
    if old.children and new.children:
        before, after = ({child.look_id for child in node.children if child.text} for node in (old, new))
        if shared_count := len(before & after):
            score = max(score, 0.35 + 0.6 * shared_count / min(len(before), len(after)))
        elif old_kind in ("row", "card") and score < _MIN_ROW_SIMILARITY:
            return 0.0
        elif old_kind in _SERIES_KINDS and score < MIN_SIMILARITY and (share := _share_of_equal_blocks(old, new)):
            score = 0.35 + 0.6 * share
        elif old_kind == new_kind == "item" and score < MIN_SIMILARITY and len(old.children) != len(new.children):
            # Compare only the first blocks, because a long list may follow the text of one item and not of the other.
            first_similarity = similarity(old.children[0], new.children[0])
            score = first_similarity if first_similarity >= _MIN_EDIT_SIMILARITY else score
        if old_kind in ("row", "card") and old.children[0].look_id == new.children[0].look_id and old.children[0].text:
            score = max(score, min(1.0, score + 0.4))
    return max(score, _CONTAINER_SIMILARITY) if is_same_container else score - penalty


def _share_of_equal_blocks(old: Node, new: Node) -> float:
    """Return the share of the blocks of one list or stepper that the other has too: the larger share, from 0 to 1."""
    before, after = ({part.look_id for item in node.children for part in item.children} for node in (old, new))
    return len(before & after) / max(1, min(len(before), len(after)))


def _link_or_endpoint(node: Node) -> str | None:
    """Return the only link of a block if it has over half of the text, or an operation's method and URL, or None."""
    if node.kind in _OPERATION_KINDS and (url := _operation_url(node.block)):
        return f"{node.block.attrs.get('method') or 'get'} {url}"
    while len(node.children) == 1:
        node = node.children[0]
    runs = node.block.runs if not node.children else ()
    links = {run.link for run in runs if run.link}
    unlinked_length = sum(len(run.text) for run in runs if not run.link)
    return links.pop() if len(links) == 1 and 2 * unlinked_length < node.size else None


def _has_image(node: Node) -> bool:
    return node.kind == "figure" or any(run.kind == "image" for run in node.block.runs)


def _image_files(node: Node) -> list[str]:
    return [str(block.attrs.get("src")) for block in node.block.walk() if block.kind == "image"]


def _is_same_container(old: Node, new: Node) -> bool:
    title, other = (title_of(node) if node.kind in TITLED_KINDS else "" for node in (old, new))
    return fold(title) == fold(other) if title or other else not (old.children and new.children)


def _inner_titles(node: Node) -> set[str]:
    """Return the titles of the containers inside `node` that have the kind of `node`."""
    return {title_of(each) for child in node.children for each in child.walk() if each.kind == node.kind} - {""}


def _is_same_operation(old: Block, new: Block) -> bool:
    """Return whether two API operations have the same method and URL. One URL may lack its start, such as the host."""
    if str(old.attrs.get("method") or "get") != str(new.attrs.get("method") or "get"):
        return False
    before, after = (_operation_url(block) for block in (old, new))
    shorter, longer = sorted((before, after), key=len)
    return len(shorter) > 1 and longer.endswith(shorter)


def _operation_url(operation: Block) -> str:
    attrs = operation.attrs
    return f"{str(attrs.get('host') or '').strip()}{str(attrs.get('path') or '').strip()}".rstrip("/")


def _align_gap(old: Sequence[Node], new: Sequence[Node], movable_ids: frozenset[int]) -> list[Pair]:
    if not old:
        return [(None, node) for node in new]
    if not new:
        return [(node, None) for node in old]
    if len(old) * len(new) > _MAX_PAIRS:
        return _align_beginnings(old, new, movable_ids)
    pairs: list[Pair] = []
    i = j = 0
    for next_i, next_j in [*best_pairs(_pair_values(old, new, movable_ids), len(new)), (len(old), len(new))]:
        pairs += [(node, None) for node in old[i:next_i]]
        pairs += [(None, node) for node in new[j:next_j]]
        if next_i < len(old):
            pairs.append((old[next_i], new[next_j]))
        i, j = next_i + 1, next_j + 1
    return pairs


def best_pairs(pair_values: Sequence[dict[int, float]], width: int) -> list[tuple[int, int]]:
    """Return pairs (i, j) with the highest sum of `pair_values[i][j]`, with increasing i and j, and j below `width`."""
    best_totals = _best_totals(pair_values, width)
    pairs = []
    i = j = 0
    while i < len(pair_values) and j < width:
        value = pair_values[i].get(j, 0.0)
        if value and best_totals[i][j] == best_totals[i + 1][j + 1] + value:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best_totals[i + 1][j] >= best_totals[i][j + 1]:
            i += 1
        else:
            j += 1
    return pairs


def _pair_values(old: Sequence[Node], new: Sequence[Node], movable_ids: frozenset[int]) -> list[dict[int, float]]:
    """Return for each old block a value for each similar new block, by index of the new block. A block whose `look_id`
    is in `movable_ids` is only paired with blocks that look the same."""
    old_links, new_links = ([_link_or_endpoint(node) for node in side] for side in (old, new))
    kept_links = {*old_links}.intersection(new_links) - {None}
    old_keys, new_keys = ([(node.kind, node.text) for node in side] for side in (old, new))
    restyled_keys = _keys_with_new_look(old, new)
    reach = len(new)
    if len(old) * len(new) > _MAX_COMPARED:
        reach = max(4, _MAX_COMPARED // (2 * len(old)))
    values: list[dict[int, float]] = []
    for i, old_node in enumerate(old):
        middle = i * len(new) // len(old)
        row: dict[int, float] = {}
        for j in range(max(0, middle - reach), min(len(new), middle + reach + 1)):
            if old_node.look_id == new[j].look_id:
                value = 1.0
            elif (
                old_node.look_id in movable_ids
                or new[j].look_id in movable_ids
                or (old_keys[i] != new_keys[j] and not restyled_keys.isdisjoint((old_keys[i], new_keys[j])))
            ):
                continue
            else:
                value = similarity(old_node, new[j])
                links = old_links[i], new_links[j]
                is_unlike = value < _MIN_LINK_SIMILARITY or old_node.kind in _OPERATION_KINDS
                if is_unlike and links[0] != links[1] and not kept_links.isdisjoint(links):
                    continue
            if value >= MIN_SIMILARITY:
                row[j] = value**2 * (1 + min(old_node.size, 200) / 400)
        values.append(row)
    return values


def _keys_with_new_look(old: Sequence[Node], new: Sequence[Node]) -> set[tuple[str, str]]:
    """Return (kind, text) of blocks, except operations, that occur once per version, with another link or format."""
    sides = []
    for nodes in (old, new):
        counts = Counter((node.kind, node.text) for node in nodes)
        sides.append({key: node.look_id for node in nodes if node.text and counts[key := (node.kind, node.text)] == 1})
    return {key for key, look in sides[0].items() if key[0] not in _OPERATION_KINDS and sides[1].get(key, look) != look}


def _best_totals(pair_values: Sequence[dict[int, float]], width: int) -> list[list[float]]:
    """Return a table for `best_pairs`: `[i][j]` is the highest total of pairs with old index >= i, new index >= j."""
    best_totals = [[0.0] * (width + 1)]
    for values in reversed(pair_values):
        totals_below = best_totals[-1]
        if not values:
            best_totals.append(totals_below)
            continue
        row = totals_below.copy()
        for j in range(max(values), -1, -1):
            total = max(row[j], row[j + 1])
            if j in values:
                total = max(total, totals_below[j + 1] + values[j])
            row[j] = total
        best_totals.append(row)
    best_totals.reverse()
    return best_totals


def _align_beginnings(old: Sequence[Node], new: Sequence[Node], movable_ids: frozenset[int]) -> list[Pair]:
    pairs: list[Pair] = []
    for is_equal, i1, i2, j1, j2 in diff_ranges(
        [(node.kind, node.text[:60]) for node in old], [(node.kind, node.text[:60]) for node in new]
    ):
        if is_equal:
            pairs += zip(old[i1:i2], new[j1:j2], strict=True)
        else:
            pairs += _align_halves(old[i1:i2], new[j1:j2], movable_ids)
    return pairs


def _align_halves(old: Sequence[Node], new: Sequence[Node], movable_ids: frozenset[int]) -> list[Pair]:
    if len(old) * len(new) <= _MAX_PAIRS:
        return _align_gap(old, new, movable_ids)
    i, j = len(old) // 2, len(new) // 2
    return [*_align_halves(old[:i], new[:j], movable_ids), *_align_halves(old[i:], new[j:], movable_ids)]


_MAX_SECTION_PAIRS = 40_000
_MAX_COMPARED_SECTIONS = 4000
_MIN_SECTION_LENGTH = 60
_MAX_SECTION_TEXT = 400
_MIN_SECTION_SIMILARITY = 0.75
"""Minimum similarity of the texts of two sections with different titles, so that they count as the same section."""


class _Section(NamedTuple):
    """A heading with the blocks up to the next section, or a container with a title."""

    kind_and_title: tuple[str, str]
    nodes: Sequence[Node]

    @property
    def body(self) -> list[Node]:
        first = self.nodes[0]
        return first.children if first.kind in TITLED_KINDS else list(self.nodes[1:])

    @property
    def has_subsections(self) -> bool:
        return any(node.kind == "heading" for node in self.body)

    def text(self) -> str:
        return " ".join(node.text for node in self.body if node.text)[:_MAX_SECTION_TEXT]

    def pair_value(self, other: _Section) -> float:
        """Return the number of equal blocks in both sections, plus a fraction that is higher for a long section."""
        equal_counts = Counter(node.look_id for node in self.nodes) & Counter(node.look_id for node in other.nodes)
        return equal_counts.total() + 1 - 1 / (2 + sum(node.size for node in self.nodes))


def moved_sections(old: Sequence[Node], new: Sequence[Node]) -> list[Pair]:
    """Return pairs of blocks of the sections whose order changed. A block without a counterpart is paired with None."""
    pairs = _pairs_in_moved_trees(old, new)
    kinds = {node.block.kind for node in old} & {node.block.kind for node in new}
    for sections_of, section_kinds in ((_heading_sections, {"heading"}), (_titled_containers, TITLED_KINDS)):
        if kinds.isdisjoint(section_kinds):
            continue
        paired_ids = {id(node) for pair in pairs for node in pair}
        old_sections, new_sections = (
            [each for each in sections_of(nodes) if id(each.nodes[0]) not in paired_ids] for nodes in (old, new)
        )
        if _may_differ_in_order(old_sections, new_sections):
            pairs += _pairs_in_moved_sections(old_sections, new_sections)
    return pairs


def _pairs_in_moved_trees(old: Sequence[Node], new: Sequence[Node]) -> list[Pair]:
    """Return pairs of old and new blocks in sections that moved with their subsections, at all heading levels."""
    before, after = _top_sections(old), _top_sections(new)
    if len(before) == len(after) == 1:
        return _pairs_in_moved_trees(before[0].body, after[0].body)
    if len(before) * len(after) > _MAX_SECTION_PAIRS:
        return []
    old_names, new_names = ([each.kind_and_title for each in side] for side in (before, after))
    old_counts, new_counts = Counter(old_names), Counter(new_names)
    new_indexes = {name: j for j, name in enumerate(new_names) if old_counts[name] == new_counts[name] == 1}
    section_pairs = {
        i: j
        for i, name in enumerate(old_names)
        if (j := new_indexes.get(name)) is not None
        and (before[i].has_subsections or after[j].has_subsections)
        and text_similarity(before[i].text(), after[j].text()) >= MIN_SIMILARITY
    }
    pairs_in_order = _pairs_in_order(section_pairs, before, after)
    block_pairs: list[Pair] = []
    for i, j in section_pairs.items():
        if (i, j) in pairs_in_order:
            block_pairs += _pairs_in_moved_trees(before[i].body, after[j].body)
        else:
            block_pairs += align(before[i].nodes, after[j].nodes)
    return block_pairs


def _top_sections(nodes: Sequence[Node]) -> list[_Section]:
    return list(
        _heading_sections(nodes, min((_level(node) for node in nodes if node.block.kind == "heading"), default=0))
    )


def _level(heading: Node) -> int:
    return int(heading.block.attrs.get("level", 2))


def _heading_sections(nodes: Sequence[Node], lowest_level: int = 6) -> Iterator[_Section]:
    starts = [
        index for index, node in enumerate(nodes) if node.block.kind == "heading" and _level(node) <= lowest_level
    ]
    for start, end in zip(starts, [*starts[1:], len(nodes)], strict=False):
        yield _Section(("heading", fold(nodes[start].text)), nodes[start:end])


def _titled_containers(nodes: Sequence[Node]) -> Iterator[_Section]:
    for node in nodes:
        if node.kind in TITLED_KINDS and (title := title_of(node)):
            yield _Section((node.kind, fold(title)), (node,))


def _may_differ_in_order(old: Sequence[_Section], new: Sequence[_Section]) -> bool:
    if min(len(old), len(new)) < 2 or len(old) * len(new) > _MAX_SECTION_PAIRS:
        return False
    old_names, new_names = [each.kind_and_title for each in old], [each.kind_and_title for each in new]
    old_set, new_set = set(old_names), set(new_names)
    return [name for name in old_names if name in new_set] != [name for name in new_names if name in old_set]


def _pairs_in_moved_sections(old: Sequence[_Section], new: Sequence[_Section]) -> list[Pair]:
    pairs = _counterparts(old, new)
    moved_pairs = pairs.items() - _pairs_in_order(pairs, old, new)
    return [pair for i, j in pairs.items() if (i, j) in moved_pairs for pair in align(old[i].nodes, new[j].nodes)]


def _pairs_in_order(pairs: Mapping[int, int], old: Sequence[_Section], new: Sequence[_Section]) -> set[tuple[int, int]]:
    pair_values = [{pairs[i]: each.pair_value(new[pairs[i]])} if i in pairs else {} for i, each in enumerate(old)]
    return set(best_pairs(pair_values, len(new)))


def _counterparts(old: Sequence[_Section], new: Sequence[_Section]) -> dict[int, int]:
    """Return the index of the corresponding new section by the index of each old section that has one."""
    counterparts: dict[int, int] = {}
    paired_indexes: set[int] = set()
    before, after = [each.text() for each in old], [each.text() for each in new]

    def pair(i: int, j: int, at_least: float = MIN_SIMILARITY) -> bool:
        is_free = i not in counterparts and j not in paired_indexes
        if is_free and (text_similarity(before[i], after[j]) if before[i] or after[j] else 1.0) >= at_least:
            counterparts[i] = j
            paired_indexes.add(j)
            return True
        return False

    for is_exact in (True, False):
        old_names, new_names = (
            [(each.kind_and_title, *(node.look_id for node in each.body if is_exact)) for each in side]
            for side in (old, new)
        )
        old_counts, new_counts = Counter(old_names), Counter(new_names)
        new_indexes = {name: j for j, name in enumerate(new_names) if new_counts[name] == old_counts[name] == 1}
        for i, name in enumerate(old_names):
            if name in new_indexes:
                pair(i, new_indexes[name])
    for step in (1, -1):
        for i, j in list(counterparts.items()):
            while 0 <= i + step < len(old) and 0 <= j + step < len(new):
                i, j = i + step, j + step
                if old[i].kind_and_title != new[j].kind_and_title or not pair(i, j):
                    break
    unmatched_indexes = [j for j in range(len(new)) if j not in paired_indexes and len(after[j]) >= _MIN_SECTION_LENGTH]
    for i in range(len(old)) if 0 < len(old) * len(unmatched_indexes) <= _MAX_COMPARED_SECTIONS else ():
        if i not in counterparts and len(before[i]) >= _MIN_SECTION_LENGTH:
            previous = max((j for other, j in counterparts.items() if other < i), default=-1)
            unmatched_indexes.sort(key=lambda j: (j < previous, j))  # Prefer the next of equal sections.
            index = most_similar(before[i], [after[j] for j in unmatched_indexes], _MIN_SECTION_SIMILARITY)
            if index is not None:
                pair(i, unmatched_indexes[index], _MIN_SECTION_SIMILARITY)
    return counterparts
