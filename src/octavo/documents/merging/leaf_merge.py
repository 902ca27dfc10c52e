"""Merges content without child blocks, such as a text, a row or the columns of a table. Also checks that a merge
neither loses nor repeats text. In lists of versions, 0 is the base, 1 is main and 2 is the change request."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, product
from typing import TypeAlias

from octavo.api.folding import fold
from octavo.documents.merging.block_alignment import MIN_MOVED_LIKENESS, equal_word_ranges, word_similarity
from octavo.documents.merging.merged_page import NO_CONTEXT, SIDES, Conflict, Context, MergedPage, text_of_side
from octavo.documents.source_blocks import (
    LIST_MARKER,
    PROSE,
    WORD,
    SourceBlock,
    Versions,
    is_html,
    read_page,
    row_opening,
    split_cells,
    with_cells,
)

_TOKEN = re.compile(rf"\s+|#+|\]\[[^\[\]\n]*\]|{WORD.pattern}|.", re.S)
"""A piece of text that a merge never divides, such as a word."""
_DASHES = re.compile(r"(?<![^\s:|])-+(?![^\s:|])")
"""The dashes below a header cell of a table. Their number does not matter."""
_MIN_KEPT = 0.5
"""Minimum share of the words of the base that each side must keep. Otherwise, texts are not merged by words."""


def merge_text(kind: str, texts: Versions[str], context: Context) -> str | Conflict:
    """Merge a text. If both sides changed it differently, return a conflict, unless a heading can be merged."""
    if texts.is_conflict_free:
        return texts.preferred
    if kind == "heading" and (merged_heading := _merge_heading(texts)):
        return merged_heading
    by_words = merge_words(*texts) if kind in PROSE or kind == "heading" else None
    separator = "\n" if kind in ("line", "item") else "\n\n"
    both_texts = texts.main + separator + texts.request if by_words is None else by_words
    if kind == "field":
        both_texts = texts.main  # Front matter can have a field only once.
    is_merged_by_default = by_words is not None and kind in PROSE
    return Conflict(
        kind, *texts, both=both_texts, merged_text=by_words, is_merged_by_default=is_merged_by_default, context=context
    )


def _merge_heading(texts: Versions[str]) -> str | None:
    """Return a heading, with level and words merged separately. None if they conflict or share too few words."""
    levels = texts.map(lambda text: text[: len(text) - len(text.lstrip(" #"))])
    titles = texts.map(lambda text: text.lstrip(" #"))
    words = [WORD.findall(fold(title)) for title in titles]
    is_same = all(2 * len(set(words[0]) & set(word)) >= len(set(words[0])) for word in words[1:])
    if is_same and levels.is_conflict_free and titles.is_conflict_free and all("#" in level for level in levels):
        return levels.preferred + titles.preferred
    return None


def merge_head(blocks: Versions[SourceBlock], context: Context) -> str | Conflict:
    """Merge the heads of a block: the text above its children. Return a conflict if both sides changed it
    differently."""
    heads, keys = blocks.map(lambda each: each.head), blocks.map(lambda each: each.head_key)
    if keys.main == keys.base == keys.request:  # Only white space or the number of an item differs.
        return heads.preferred
    if keys.is_conflict_free:
        return heads.preferred_by(keys)
    if blocks.base.kind == "item":
        return merge_text("item", heads, context)
    return Conflict("head", *heads, both=heads.main)


def merge_row(rows: Versions[str], context: Context = NO_CONTEXT) -> str | Conflict:
    """Merge a row cell by cell. A conflict if a cell or the row tag changed differently, or if cell counts differ."""
    widths, frames = rows.map(lambda row: len(split_cells(row))), rows.map(row_opening)
    texts = rows
    if widths.base == widths.main == widths.request and frames.is_conflict_free:
        main_cells, request_cells = [], []
        for cell in zip(*rows.map(split_cells), strict=True):
            versions = Versions(*cell)
            cell_texts = versions.map(lambda text: _DASHES.sub("-", " ".join(text.split())))
            merged_cell = versions.preferred_by(cell_texts) if cell_texts.is_conflict_free else None
            main_cells.append(versions.main if merged_cell is None else merged_cell)
            request_cells.append(versions.request if merged_cell is None else merged_cell)
        frame = rows.preferred_by(frames)
        texts = Versions(rows.base, with_cells(frame, main_cells), with_cells(frame, request_cells))
        if main_cells == request_cells:
            return texts.main
    separator = "" if is_html(rows.main) else "\n"
    return Conflict("row", *texts, both=texts.main + separator + texts.request, context=context)


def merge_table_head(heads: Versions[str]) -> str | Conflict:
    """Merge the header row of a table and, in Markdown, the row of dashes. Return a conflict if the rows conflict."""
    if heads.is_conflict_free:
        return heads.preferred
    lines = heads.map(lambda head: [head] if is_html(head) else head.split("\n"))
    merged_lines = [merge_row(Versions(*each)) for each in zip(*lines, strict=True)]
    main, request = ("\n".join(text_of_side(each, side) or "" for each in merged_lines) for side in SIDES)
    return main if main == request else Conflict("head", heads.base, main, request, both=main)


def merge_words(base: str, main: str, request: str) -> str | None:
    """Return a text merged word by word. None if the result is uncertain, such as after changes of adjacent words."""
    base_tokens, side_tokens = _TOKEN.findall(base), [_TOKEN.findall(text) for text in (main, request)]
    edits: dict[tuple[int, int, str], set[int]] = {}
    for side, new in enumerate(side_tokens):
        equal_ranges = equal_word_ranges(base_tokens, new)
        kept_count = sum(
            bool(WORD.search(token)) for start, _, size in equal_ranges for token in base_tokens[start : start + size]
        )
        if kept_count < _MIN_KEPT * sum(bool(WORD.search(token)) for token in base_tokens):
            return None
        i = j = 0
        for start, index, size in [*equal_ranges, (len(base_tokens), len(new), 0)]:
            if start > i or index > j:
                edits.setdefault((i, start, "".join(new[j:index])), set()).add(side)
            i, j = start + size, index + size
    texts = [
        {text.strip() for (_, _, text), sides_of_edit in edits.items() if sides_of_edit == {side} and WORD.search(text)}
        for side in (0, 1)
    ]
    if any(len(WORD.findall(text)) > 1 for text in texts[0] & texts[1]):
        return None  # Both sides added the same words at different positions, which would repeat them.
    merged_text, end = "", 0
    sides_before: set[int] = set()
    for (start, stop, text), sides_of_edit in sorted(edits.items(), key=lambda each: each[0]):
        is_other_side = bool(sides_before) and not sides_before & sides_of_edit
        if start < end or (is_other_side and not WORD.search("".join(base_tokens[end:start]))):
            return None
        merged_text += "".join(base_tokens[end:start]) + text
        sides_before, end = sides_of_edit, stop
    return merged_text + "".join(base_tokens[end:])


WordSequence: TypeAlias = tuple[str, ...]
"""A sentence, or five adjacent words of a sentence. If the sentence is shorter, two adjacent words, or all words."""
_SEQUENCE_LENGTH = 5
_SENTENCE_END = re.compile(r"(?<![.!?…])[.!?…]+[\"')\]]*\s+|[。！？]")
_HTML_TAG = re.compile(r"<[^<>]*>")


def miscounted_sequences(page: MergedPage, versions: Versions[SourceBlock]) -> set[WordSequence]:
    """Return the word sequences that a merge would lose or repeat, if the same side were taken for all conflicts."""
    sentences = versions.map(lambda block: Counter(_sentences([block])))
    results = [text_of_side(page.root, side) or "" for side in SIDES]
    # Without conflicts, both results are equal and parsed only once.
    counts_by_result = {text: Counter(_sentences([read_page(text)])) for text in set(results)}
    miscounted: set[WordSequence] = set()
    for result, own_counts, other_counts in zip(results, sentences[1:], sentences[:0:-1], strict=True):
        all_counts = (sentences.base, own_counts, other_counts, counts_by_result[result])
        differing = {each for each in set().union(*all_counts) if len({count[each] for count in all_counts}) > 1}
        in_base, in_own, in_other, in_merged = (
            _count_sequences({each: count[each] for each in differing}) for count in all_counts
        )
        # `expected_count` subtracts a sentence twice if both sides deleted it, so `maximum` adds it once.
        deleted_counts = {each: sentences.base[each] - max(own_counts[each], other_counts[each]) for each in differing}
        deleted_by_both = _count_sequences(deleted_counts)
        sides = in_base, in_own, in_other
        added = {each for each in in_own.keys() & in_other.keys() if [counts[each] for counts in sides] == [0, 1, 1]}
        added_by_both = set[WordSequence]()
        for sentence in (own_counts | other_counts) - sentences.base:
            parts = added.intersection(_overlapping_sequences(sentence))
            # A short part of a sentence, such as the name of a function, can be in unrelated texts of both sides.
            if len(sentence) >= _SEQUENCE_LENGTH and 3 * len(parts) > len(sentence) - _SEQUENCE_LENGTH:
                added_by_both |= parts
        for sequence in in_merged.keys() | in_own.keys() | in_other.keys():
            expected_count = in_own[sequence] + in_other[sequence] - in_base[sequence]
            minimum, maximum = max(0, expected_count), max(0, expected_count + deleted_by_both[sequence])
            if sequence in added_by_both:
                minimum = maximum = 1
            if not min(in_own[sequence], minimum) <= in_merged[sequence] <= max(in_own[sequence], maximum):
                miscounted.add(sequence)
    return miscounted


def find_lost_edits(page: MergedPage, versions: Versions[SourceBlock]) -> frozenset[SourceBlock]:
    """Return the blocks that one side kept and the other side edited, if taking the first side for all conflicts would
    publish neither version. Also return the edited versions."""
    found_blocks: set[SourceBlock] = set()
    in_base = {each.key for each in versions.base.walk()}
    for side, kept, edited in ((SIDES[0], *versions[1:]), (SIDES[1], *versions[:0:-1])):
        in_kept, in_edited = ({each.key for each in tree.walk()} for tree in (kept, edited))
        merged_text = text_of_side(page.root, side) or ""
        old_blocks, new_blocks = (
            [each for each in tree.walk() if each.key in keys and _text_of(each) not in merged_text]
            for tree, keys in ((versions.base, in_kept - in_edited), (edited, in_edited - in_base))
        )
        for old, new in product(old_blocks, new_blocks):
            if old.name == new.name and word_similarity(old, new) >= MIN_MOVED_LIKENESS:
                found_blocks |= {old, new}
    return frozenset(found_blocks)


def _count_sequences(sentences: Mapping[WordSequence, int]) -> Counter[WordSequence]:
    return Counter(
        each for sentence, count in sentences.items() for each in _overlapping_sequences(sentence) for _ in range(count)
    )


def word_sequences(blocks: Iterable[SourceBlock]) -> Iterator[WordSequence]:
    """Yield every five adjacent words of each sentence in the blocks. For shorter sentences, see `WordSequence`."""
    return (each for sentence in _sentences(blocks) for each in _overlapping_sequences(sentence))


def _overlapping_sequences(words: WordSequence) -> Iterator[WordSequence]:
    if len(words) < _SEQUENCE_LENGTH:
        yield from pairwise(words)
    yield from (words[start : start + _SEQUENCE_LENGTH] for start in range(max(1, len(words) - _SEQUENCE_LENGTH + 1)))


def _sentences(blocks: Iterable[SourceBlock]) -> Iterator[WordSequence]:
    for block in (each for top in blocks for each in top.walk()):
        text = _text_of(block)
        if block.kind in ("row", "table"):
            rows = [text] if is_html(text) else text.split("\n")
            parts = [_HTML_TAG.sub(" ", cell) for row in rows for cell in split_cells(row)]
        else:
            texts = [text] if block.kind in PROSE else text.split("\n")
            parts = [part for each in texts for part in _SENTENCE_END.split(each)]
        yield from (words for words in (tuple(WORD.findall(part)) for part in parts) if words)


def _text_of(block: SourceBlock) -> str:
    """Return the text of a block before its children, without the bullet or number of an item."""
    return LIST_MARKER.sub("", block.head, count=1) if block.kind == "item" else block.head


Column: TypeAlias = "int | str"
"""A column after the merge: its index in the base, or its name if it is new."""


def align_columns(tables: Versions[SourceBlock]) -> Versions[SourceBlock] | None:
    """Return the versions of a table, each with the columns of the merged table. None if changes cannot be merged."""
    if len({is_html(each.head) for each in tables}) > 1:
        return None
    columns_of = [each for table in tables if (each := _columns(tables.base, table)) is not None]
    if len(columns_of) < len(tables):
        return None
    if columns_of[0] == columns_of[1] == columns_of[2]:
        return tables
    if any(len(set(each)) < len(each) for each in columns_of) or _has_uneven_versions(tables, columns_of):
        return None
    for version, other in ((1, 2), (2, 1)):
        deleted_columns = [
            each for each in columns_of[0] if each not in columns_of[version] and each in columns_of[other]
        ]
        if any(_is_edited(each, tables, columns_of, other) for each in deleted_columns):
            return None
    if not Versions(*_shared_columns(columns_of)).is_conflict_free:
        return None  # The sides reordered the columns in different ways, so the columns cannot be merged.
    return Versions(*(_with_columns(tables, version, columns_of) for version in range(3)))


def _names(table: SourceBlock) -> list[str]:
    return [cell.strip() for cell in split_cells(_head_lines(table)[0])]


def _new_indexes(old: Sequence[str], new: Sequence[str]) -> dict[int, int] | None:
    """Return the new index of each remaining or renamed old column, by old index. None if names are ambiguous."""
    index_of = {i: new.index(name) for i, name in enumerate(old) if name and old.count(name) == new.count(name) == 1}
    unmatched_old = [i for i in range(len(old)) if i not in index_of]
    unmatched_new = [j for j in range(len(new)) if j not in index_of.values()]
    if len(unmatched_old) == len(unmatched_new):
        return index_of | dict(zip(unmatched_old, unmatched_new, strict=True))
    unmatched = [
        (names, names[index]) for names, indexes in ((old, unmatched_old), (new, unmatched_new)) for index in indexes
    ]
    return None if any(not name or names.count(name) > 1 for names, name in unmatched) else index_of


def _is_replaced(base: SourceBlock, old: int, table: SourceBlock, new: int) -> bool:
    """Return whether column `new` replaced `old`: other name, no equal cell. False for empty columns or uneven rows."""
    if _names(base)[old] == _names(table)[new] or _has_uneven_rows(base) or _has_uneven_rows(table):
        return False
    counts_before, counts_after = _count_column_texts(base, old), _count_column_texts(table, new)
    del counts_before[_names(base)[old]], counts_after[_names(table)[new]]
    return bool(counts_before and counts_after) and not counts_before & counts_after


def _has_uneven_rows(table: SourceBlock) -> bool:
    rows = [each for row in table.children or () for each in (row, *(row.replaced_blocks or ()))]
    return any(len(split_cells(row.head)) != len(_names(table)) for row in rows)


def _columns(base: SourceBlock, table: SourceBlock) -> list[Column] | None:
    """Return the columns of one version of a table. None if columns cannot be told apart."""
    names = _names(table)
    indexes = _new_indexes(_names(base), names)
    if indexes is None:
        return None
    old_index_by_new = {new: old for old, new in indexes.items() if not _is_replaced(base, old, table, new)}
    return [old_index_by_new.get(index, name) for index, name in enumerate(names)]


def _shared_columns(columns_of: list[list[Column]]) -> list[list[Column]]:
    return [
        [version_column for version_column in version_columns if all(version_column in other for other in columns_of)]
        for version_columns in columns_of
    ]


def _has_uneven_versions(tables: Versions[SourceBlock], columns_of: list[list[Column]]) -> bool:
    """Return whether a row has another number of cells than its table has columns."""
    rows: list[tuple[str, int]] = []
    for version, table in enumerate(tables):
        rows += [(line, version) for line in _head_lines(table)]
        for row in table.children or ():
            rows.append((row.head, 0 if row.replaced_blocks else version))
            rows += [(replaced_block.head, version) for replaced_block in row.replaced_blocks or ()]
            if row.move is not None:
                rows += [(row.move.base.head, 0), *((each.head, 3 - version) for each in row.move.other)]
    return any(len(split_cells(row)) != len(columns_of[version_number]) for row, version_number in rows)


def _is_edited(column: Column, tables: Versions[SourceBlock], columns_of: list[list[Column]], version: int) -> bool:
    counts_before, counts_after = (
        _count_column_texts(tables[each], columns_of[each].index(column)) for each in (0, version)
    )
    return bool(counts_after - counts_before)


def _count_column_texts(table: SourceBlock, index: int) -> Counter[str]:
    """Return how often each text occurs in the column `index`, including the column's name. Leave out empty cells."""
    rows = [replaced_block for row in table.children or () for replaced_block in row.replaced_blocks or (row,)]
    text_counts = Counter([_names(table)[index], *(" ".join(split_cells(row.head)[index].split()) for row in rows)])
    del text_counts[""]
    return text_counts


def _merge_columns(columns_of: list[list[Column]]) -> list[Column]:
    shared, (_, main, request) = _shared_columns(columns_of), columns_of
    first, second = (main, request) if shared[0] != shared[1] else (request, main)
    merged_columns = [each for each in first if isinstance(each, str) or each in second]
    for index, each in enumerate(second):
        if isinstance(each, str) and each not in merged_columns:
            before = next((neighbor for neighbor in reversed(second[:index]) if neighbor in merged_columns), None)
            merged_columns.insert(merged_columns.index(before) + 1 if before is not None else 0, each)
    return merged_columns


def _head_cells_of_new_columns(
    tables: Versions[SourceBlock], columns_of: list[list[Column]]
) -> dict[Column, list[str]]:
    """For each new column, return its cells in the head of the table: one for each line of the head."""
    cells_of_columns: dict[Column, list[str]] = {}
    for table, table_columns in zip(tables, columns_of, strict=True):
        for index, column in enumerate(table_columns):
            if isinstance(column, str):
                cells_of_columns.setdefault(column, [split_cells(line)[index] for line in _head_lines(table)])
    return cells_of_columns


def _head_lines(table: SourceBlock) -> list[str]:
    return [table.head] if is_html(table.head) else table.head.split("\n")


def _with_columns(tables: Versions[SourceBlock], version: int, columns_of: list[list[Column]]) -> SourceBlock:
    table, result = tables[version], _merge_columns(columns_of)
    header_cells = _head_cells_of_new_columns(tables, columns_of)

    def with_merged_columns(line: str, version_number: int, missing_cells: Sequence[str]) -> str:
        cell_of = dict(zip(columns_of[version_number], split_cells(line), strict=True))
        return with_cells(line, [cell_of.get(each, cell) for each, cell in zip(result, missing_cells, strict=True)])

    def merged_row(block: SourceBlock, version_number: int) -> SourceBlock:
        if block.replaced_blocks is not None:
            replaced_rows = tuple(merged_row(each, version_number) for each in block.replaced_blocks)
            return replace(merged_row(replace(block, replaced_blocks=None), 0), replaced_blocks=replaced_rows)
        blank = "<td></td>" if is_html(block.head) else " "
        move = block.move
        if move is not None:
            move = replace(
                move,
                base=merged_row(move.base, 0),
                other=tuple(merged_row(each, 3 - version_number) for each in move.other),
            )
        return replace(block, head=with_merged_columns(block.head, version_number, [blank] * len(result)), move=move)

    lines = [
        with_merged_columns(
            text, version, [header_cells[each][number] if each in header_cells else "" for each in result]
        )
        for number, text in enumerate(_head_lines(table))
    ]
    return replace(
        table, head="\n".join(lines), children=tuple(merged_row(each, version) for each in table.children or ())
    )
