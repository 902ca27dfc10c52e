"""Finds texts that were split or joined, or between which words moved. Start reading at `join_split_texts`."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain, groupby, pairwise, takewhile
from operator import attrgetter, itemgetter
from typing import NamedTuple

from octavo.documents.blocks import Block, Run
from octavo.documents.diff_nodes import CompareNodes, DraftEntry, Node, compared_attributes, leaf_node
from octavo.documents.diff_tables import compare_texts, rearrangement_note, text_blocks
from octavo.documents.diff_text import Token, join_words, split_tokens
from octavo.documents.sequences import DiffRange, diff_ranges

_MIN_SHARE_OF_PART = 0.5
"""Minimum share of words of the shorter text that two related texts have in common."""
_MIN_SHARE_KEPT = 0.9
"""Minimum share of the words of the longer version that a split or join must keep."""
_MIN_EQUAL_LENGTH = 25
"""Minimum number of equal letters at the beginning and at the end of a text that was cut in two."""
_MIN_WORDS = 4
"""If a text of a split or join has fewer words, all words must be equal, unless a text was cut in two."""
_FIRST_WIDE_LETTER = "\u0e00"
"""First letter of the scripts without spaces between words, from Thai to Korean."""
_WORD = re.compile(r"\w+|[^\w\s]+")
_MAX_PAIRS = 4_000_000


class _Word(NamedTuple):
    token: Token
    text_index: int
    """Index of the text block that contains the word."""
    gap: tuple[Token, ...]
    """The white space between the previous word of the text and this word."""


class _TextVersion:
    """The blocks of one version, with their texts and words. A list has one text for each of its paragraphs."""

    def __init__(self, nodes: Iterable[Node | None]) -> None:
        self.nodes = [node for node in nodes if node is not None]
        self.texts = [(index, text) for index, node in enumerate(self.nodes) for text in text_blocks(node)]
        self.words = [word for index, (_, text) in enumerate(self.texts) for word in _words(index, text)]
        self.counts = Counter(word.text_index for word in self.words)

    def nodes_of(self, texts: range) -> range:
        """Return the indexes in `nodes` of the blocks that contain `texts`, a range of indexes in `self.texts`."""
        return range(self.texts[texts.start][0], self.texts[texts.stop - 1][0] + 1)

    def texts_of(self, nodes: range) -> range:
        """Return the indexes of the texts in a range of blocks."""
        start, stop = (bisect_left(self.texts, node, key=itemgetter(0)) for node in (nodes.start, nodes.stop))
        return range(start, stop)

    def words_by_text(self, texts: range) -> list[list[str]]:
        words = (word for word in self.words if word.text_index in texts)
        return [[word.token.text for word in group] for _, group in groupby(words, key=attrgetter("text_index"))]


def _words(text_index: int, text: Node) -> Iterator[_Word]:
    gap: list[Token] = []
    for token in split_tokens(text.block.runs):
        if token.run.kind == "break" or token.text.isspace():
            gap.append(token)
        else:
            yield _Word(token, text_index, tuple(gap))
            gap = []


def join_split_texts(drafts: Sequence[DraftEntry], compare: CompareNodes) -> list[DraftEntry]:
    """Return `drafts`, in which one draft replaces those of texts that were split or joined, or between which words
    moved. All `drafts` must be of added, removed or changed blocks."""
    joined_drafts: list[DraftEntry] = []
    for has_only_text, group in groupby(drafts, _has_only_text):
        group_drafts = list(group)
        joined_drafts += _join_splits(group_drafts, compare) if has_only_text else group_drafts
    return joined_drafts


def _has_only_text(draft: DraftEntry) -> bool:
    nodes = [node for node in (draft.old, draft.new) if node is not None]
    return bool(nodes) and all(map(_is_text, nodes))


def _is_text(node: Node) -> bool:
    texts = text_blocks(node)
    return bool(texts) and all(text.kind == "heading" or not compared_attributes(text.block) for text in texts)


def _join_splits(drafts: list[DraftEntry], compare: CompareNodes) -> list[DraftEntry]:
    if not _may_have_splits(drafts):
        return drafts
    old, new = _TextVersion(draft.old for draft in drafts), _TextVersion(draft.new for draft in drafts)
    if not old.words or not new.words or len(old.words) * len(new.words) > _MAX_PAIRS:
        return drafts
    old_words, new_words = ([word.token.text for word in side.words] for side in (old, new))
    ranges = _with_whole_texts(diff_ranges(old_words, new_words), new, new_words)
    for old_texts, new_texts in _split_or_joined_ranges(old, new, ranges):
        nodes = old.nodes_of(old_texts), new.nodes_of(new_texts)
        kinds = [[side.nodes[at].kind for at in indexes] for side, indexes in ((old, nodes[0]), (new, nodes[1]))]
        if kinds[0] == kinds[1] == ["list"]:
            continue  # Lists are compared item by item, not joined.
        if kinds[0] == kinds[1] == ["item"]:
            continue  # Items are compared paragraph by paragraph, not joined.
        before, after = _drafts_around(drafts, old.nodes, nodes[0], new.nodes, nodes[1])
        if before is None:
            continue
        parts = _old_parts(old, new, old_texts, new_texts, ranges)
        draft = DraftEntry("restructured", old_nodes=tuple(old.nodes[at] for at in nodes[0]))
        draft.new_nodes = tuple(new.nodes[at] for at in nodes[1])
        draft.children = [compare_texts(node, parts, compare) for node in draft.new_nodes]
        if kinds == [["list"], ["list", "paragraph"]]:
            # Put the note above the paragraph, because the list may be long.
            draft.children.insert(1, DraftEntry("restructured", note="paragraph unwrapped from an item", children=[]))
        else:
            draft.note = _split_or_join_note(draft.old_nodes, draft.new_nodes)
        return [*_join_splits(before, compare), draft, *_join_splits(after, compare)]
    return drafts


def _with_whole_texts(ranges: list[DiffRange], new: _TextVersion, words: Sequence[str]) -> list[DiffRange]:
    """Shift `ranges` so that added words begin a text if possible: “[+A title] A text”, not “A[+ title A] text”."""
    starts = {word.text_index: index for index, word in reversed([*enumerate(new.words)])}
    for index, (before, added, after) in enumerate(zip(ranges, ranges[1:], ranges[2:], strict=False)):
        start, end = added.j1, added.j2
        shift = start - starts[new.words[start].text_index] if added.i1 == added.i2 else 0
        if 0 < shift < before.i2 - before.i1 and words[start - shift : start] == words[end - shift : end]:
            ranges[index : index + 3] = [
                before._replace(i2=before.i2 - shift, j2=before.j2 - shift),
                DiffRange(False, added.i1 - shift, added.i2 - shift, start - shift, end - shift),
                after._replace(i1=after.i1 - shift, j1=after.j1 - shift),
            ]
    return ranges


def _may_have_splits(drafts: Sequence[DraftEntry]) -> bool:
    removed_words: set[str] = set()
    added_words: set[str] = set()
    for draft in drafts:
        before, after = (_word_set(node.text) if node is not None else set() for node in (draft.old, draft.new))
        removed_words |= before - after
        added_words |= after - before
    return not removed_words.isdisjoint(added_words)


def _word_set(text: str) -> set[str]:
    """Return the words and punctuation of a text. Each letter of a script without spaces is a word, too."""
    words = set(_WORD.findall(text))
    return words if text.isascii() else words | {letter for letter in set(text) if letter >= _FIRST_WIDE_LETTER}


def _split_or_joined_ranges(
    old: _TextVersion, new: _TextVersion, ranges: Sequence[DiffRange]
) -> list[tuple[range, range]]:
    """Return pairs of a range of old texts and a range of new texts that have nearly the same words, the most similar
    first. At least one range of each pair has several texts. `ranges` are ranges of words."""
    counts: Counter[tuple[int, int]] = Counter()
    for each in ranges:
        for i, j in zip(range(each.i1, each.i2), range(each.j1, each.j2), strict=True) if each.equal else ():
            counts[old.words[i].text_index, new.words[j].text_index] += 1
    likely_pairs = {
        (i, j) for (i, j), count in counts.items() if count >= _MIN_SHARE_OF_PART * min(old.counts[i], new.counts[j])
    }
    candidates: list[tuple[float, range, range]] = []
    for old_texts, new_texts in (*_groups(likely_pairs), *_groups(counts)):
        if len(old_texts) + len(new_texts) == 2:
            continue
        old_texts, new_texts = _with_whole_nodes(old, new, likely_pairs, old_texts, new_texts)
        kept_word_count = sum(count for (i, j), count in counts.items() if i in old_texts and j in new_texts)
        totals = [sum(side.counts[at] for at in texts) for side, texts in ((old, old_texts), (new, new_texts))]
        is_short = min(*(old.counts[i] for i in old_texts), *(new.counts[j] for j in new_texts)) < _MIN_WORDS
        if kept_word_count >= (1 if is_short else _MIN_SHARE_KEPT) * max(totals) or (
            len(old_texts) + len(new_texts) == 3 and _is_cut(old.words_by_text(old_texts), new.words_by_text(new_texts))
        ):
            candidates.append((kept_word_count / max(totals), old_texts, new_texts))
    candidates.sort(key=lambda each: (-each[0], abs(2 * each[1].start - len(old.texts))))
    return [(old_texts, new_texts) for _, old_texts, new_texts in candidates]


def _is_cut(old: Sequence[list[str]], new: Sequence[list[str]]) -> bool:
    """Return whether one text was cut in two, or two texts were joined. Both parts together must begin and end with the
    same words as the whole text, but may differ in between. False if one part alone begins and ends like this."""
    parts, whole = (old, new[0]) if len(old) > len(new) else (new, old[0])
    return _have_equal_ends(whole, [*chain(*parts)]) and not any(_have_equal_ends(whole, part) for part in parts)


def _have_equal_ends(old: Sequence[str], new: Sequence[str]) -> bool:
    return all(
        sum(len(word) for word, _ in takewhile(lambda pair: pair[0] == pair[1], zip(*sides, strict=False)))
        >= _MIN_EQUAL_LENGTH
        for sides in ((old, new), (old[::-1], new[::-1]))
    )


def _with_whole_nodes(
    old: _TextVersion, new: _TextVersion, related_pairs: Collection[tuple[int, int]], old_texts: range, new_texts: range
) -> tuple[range, range]:
    """Return `old_texts` and `new_texts`, extended until they have whole blocks and both texts of each related pair.
    `related_pairs` has old and new text indexes."""
    while True:
        whole_old, whole_new = old.texts_of(old.nodes_of(old_texts)), new.texts_of(new.nodes_of(new_texts))
        pairs = [(i, j) for i, j in related_pairs if i in whole_old or j in whole_new]
        found_old = range(
            min([whole_old.start, *(i for i, _ in pairs)]), max([whole_old.stop, *(i + 1 for i, _ in pairs)])
        )
        found_new = range(
            min([whole_new.start, *(j for _, j in pairs)]), max([whole_new.stop, *(j + 1 for _, j in pairs)])
        )
        if (found_old, found_new) == (old_texts, new_texts):
            return old_texts, new_texts
        old_texts, new_texts = found_old, found_new


def _groups(pairs: Collection[tuple[int, int]]) -> list[tuple[range, range]]:
    """Group `pairs` (old index, new index) that have the same old or new index. Return both ranges of each group."""
    groups: list[tuple[range, range]] = []
    for i, j in sorted(pairs):
        if groups and (i in groups[-1][0] or j in groups[-1][1]):
            old_texts, new_texts = groups.pop()
            groups.append((range(old_texts.start, i + 1), range(new_texts.start, j + 1)))
        else:
            groups.append((range(i, i + 1), range(j, j + 1)))
    return groups


def _drafts_around(
    drafts: Sequence[DraftEntry], old: Sequence[Node], old_range: range, new: Sequence[Node], new_range: range
) -> tuple[list[DraftEntry] | None, list[DraftEntry]]:
    """Return the drafts before and after two ranges of blocks. The first value is None, and the second empty, if a
    draft has one block before and one block after the ranges."""
    old_indexes = {id(node): position for position, node in enumerate(old)}
    new_indexes = {id(node): position for position, node in enumerate(new)}
    before: list[DraftEntry] = []
    after: list[DraftEntry] = []
    for draft in drafts:
        are_before = [
            position < covered.start
            for node, index, covered in ((draft.old, old_indexes, old_range), (draft.new, new_indexes, new_range))
            if node is not None and (position := index[id(node)]) not in covered
        ]
        if len(set(are_before)) > 1:
            return None, []
        if not are_before:
            continue
        if draft.old is not None and draft.new is not None and len(are_before) == 1:
            # The draft has one block in a range and one outside. Only the block outside gets a draft of its own.
            is_old_outside = old_indexes[id(draft.old)] not in old_range
            draft = DraftEntry("removed", old=draft.old) if is_old_outside else DraftEntry("added", new=draft.new)
        (before if are_before[0] else after).append(draft)
    return before, after


def _old_parts(
    old: _TextVersion, new: _TextVersion, old_texts: range, new_texts: range, ranges: Sequence[DiffRange]
) -> dict[int, Node]:
    """Return a node with the old words that correspond to each new text. The keys are the `id()` of the new nodes."""
    partners = {
        i: j
        for each in ranges
        if each.equal
        for i, j in zip(range(each.i1, each.i2), range(each.j1, each.j2), strict=True)
    }
    first_words = [next(index for index, word in enumerate(new.words) if word.text_index == text) for text in new_texts]
    old_indexes = [index for index, word in enumerate(old.words) if word.text_index in old_texts]
    starts = [old_indexes[0], *(_old_word_index(ranges, index) for index in first_words[1:]), old_indexes[-1] + 1]
    parts: dict[int, Node] = {}
    for text, (start, stop) in zip(new_texts, pairwise(starts), strict=True):
        tokens: list[Token] = []
        for index in range(start, stop):
            word = old.words[index]
            if index > start and word.text_index != old.words[index - 1].text_index:
                # Old texts have no white space between them, so take the white space of the new version.
                tokens += new.words[partners[index]].gap if index in partners else split_tokens((Run(" "),))
            elif index > start:
                tokens += word.gap
            tokens.append(word.token)
        lines = old.texts[old.words[min(start, len(old.words) - 1)].text_index][1].block.lines
        parts[id(new.texts[text][1])] = leaf_node(Block("paragraph", runs=join_words(tokens), lines=lines))
    return parts


def _old_word_index(ranges: Sequence[DiffRange], new_index: int) -> int:
    """Return the index of the old word that corresponds to the new word at `new_index`, by the `ranges` of a diff."""
    diff_range = ranges[max(0, bisect_right(ranges, new_index, key=lambda diff_range: diff_range.j1) - 1)]
    return min(diff_range.i2, diff_range.i1 + new_index - diff_range.j1) if new_index < diff_range.j2 else diff_range.i2


def _split_or_join_note(old: Sequence[Node], new: Sequence[Node]) -> str:
    kinds = {node.kind for node in (*old, *new)}
    if len(kinds) == 1 and 1 in (len(old), len(new)):
        kind = kinds.pop()
        return f"1 {kind} split into {len(new)}" if len(old) == 1 else f"{len(old)} {kind}s joined into 1"
    return rearrangement_note(old, new)
