"""Pairs the columns and rows of two tables. Also finds text that became a table, or a table that became text. Start
reading at `column_pairs`, `row_pairs` and `join_converted_tables`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from octavo.documents.blocks import Block, Run, TableColumn, kinds_with, plain_text
from octavo.documents.diff_alignment import Pair, align, align_without, best_pairs
from octavo.documents.diff_model import AttributeChange, CellChange, ColumnPair, RowChange
from octavo.documents.diff_nodes import (
    CompareNodes,
    DraftEntry,
    Node,
    changed_run_attributes,
    compared_attributes,
    container_node,
    insert_in_order,
    leaf_node,
    runs_key,
    shorten,
    value_changes,
)
from octavo.documents.diff_text import diff_runs
from octavo.documents.sequences import diff_ranges, text_similarity

_SETTING_NAMES = {"align": "aligned", "max": "maximum stars"}
_MIN_EQUAL_SHARE = 0.5
"""Minimum share of equal cells for two columns to count as the same column."""
_MAX_ROWS = 1000
_LETTER = re.compile(r"[^\W\d_]")


def column_pairs(old: Block, new: Block) -> tuple[ColumnPair, ...]:
    """Return pairs of corresponding columns of two tables. A column that only one table has is paired with None."""
    before: Sequence[TableColumn] = old.attrs.get("columns", ())
    after: Sequence[TableColumn] = new.attrs.get("columns", ())
    pairs: list[ColumnPair] = []
    if len(before) != len(after) and not any(plain_text(column.title).strip() for column in (*before, *after)):
        return tuple(_pair_by_cells(old, new, range(len(before)), range(len(after)), are_untitled=True))
    for is_equal, i1, i2, j1, j2 in diff_ranges(_column_names(before), _column_names(after)):
        if is_equal or i2 - i1 == j2 - j1:
            index_pairs = zip(range(i1, i2), range(j1, j2), strict=True)
            pairs += [ColumnPair(before[i], after[j], i, j) for i, j in index_pairs]
        else:
            pairs += _pair_by_cells(old, new, range(i1, i2), range(j1, j2))
    return tuple(pairs)


def _pair_by_cells(
    old: Block, new: Block, old_indexes: range, new_indexes: range, *, are_untitled: bool = False
) -> Iterator[ColumnPair]:
    """Yield pairs of similar columns. If `are_untitled`, pair others by position. Pair the rest with None."""
    before, after = (
        [_column_texts(table, index) for index in indices]
        for table, indices in ((old, old_indexes), (new, new_indexes))
    )
    pair_values = [
        {j: share for j, other in enumerate(after) if (share := _common_share(one, other)) >= _MIN_EQUAL_SHARE}
        for one in before
    ]
    i = j = 0
    old_columns, new_columns = (table.attrs.get("columns", ()) for table in (old, new))
    for next_i, next_j in [*best_pairs(pair_values, len(after)), (len(old_indexes), len(new_indexes))]:
        while are_untitled and i < next_i and j < next_j:
            yield ColumnPair(old_columns[i], new_columns[j], i, j)
            i, j = i + 1, j + 1
        yield from (
            ColumnPair(old_columns[old_indexes[index]], None, old_indexes[index], None) for index in range(i, next_i)
        )
        yield from (
            ColumnPair(None, new_columns[new_indexes[index]], None, new_indexes[index]) for index in range(j, next_j)
        )
        if next_i < len(old_indexes):
            yield ColumnPair(
                old_columns[old_indexes[next_i]],
                new_columns[new_indexes[next_j]],
                old_indexes[next_i],
                new_indexes[next_j],
            )
        i, j = next_i + 1, next_j + 1


def _column_texts(table: Block, column: int) -> Counter[str]:
    rows = (row.children for row in table.children[:_MAX_ROWS])
    return Counter(text for cells in rows if column < len(cells) and (text := plain_text(cells[column].runs).strip()))


def _common_share(one: Counter[str], other: Counter[str]) -> float:
    return (one & other).total() / max(one.total(), other.total(), 1)


def _column_names(columns: Sequence[TableColumn]) -> list[str]:
    titles = [plain_text(column.title).strip() for column in columns]
    return titles if any(titles) else [str(index) for index in range(len(titles))]


def column_changes(columns: Sequence[ColumnPair]) -> tuple[AttributeChange, ...]:
    """Return the changes of the columns that exist in both tables, except changes of words in their titles."""
    changes: list[AttributeChange] = []
    for number, pair in enumerate(columns, 1):
        if pair.old is None or pair.new is None:
            continue
        title = shorten(plain_text(pair.new.title))
        name = f"column “{title}”" if title else f"column {number}"
        before, after = pair.old._asdict(), pair.new._asdict()
        titles = (before.pop("title"), after.pop("title"))
        changes += [
            replace(changed_value, name=f"{name}, {_SETTING_NAMES.get(changed_value.name, changed_value.name)}")
            for changed_value in value_changes(before, after)
        ]
        changes += [
            replace(attribute, name=f"{name}, {attribute.name}")
            for attribute in changed_run_attributes(diff_runs(*titles).words)
        ]
    return tuple(changes)


def is_same_column(pair: ColumnPair) -> bool:
    """Return whether both tables have the column, with the same title."""
    if pair.old is None or pair.new is None:
        return False
    return runs_key(pair.old.title) == runs_key(pair.new.title)


def row_pairs(
    old: Sequence[Node], new: Sequence[Node], columns: Sequence[ColumnPair]
) -> tuple[list[Pair], dict[int, Node]]:
    """Return the row pairs of two tables, in order. A moved row is paired with None, like an added or removed row. The
    dict maps the `id()` of each moved row to the row in the other table. `columns` comes from `column_pairs`."""
    old_names, new_names = _row_names(old, new, columns)
    before = [old_names.get(id(row), row.look_id) for row in old]
    after = [new_names.get(id(row), row.look_id) for row in new]
    ranges = diff_ranges(before, after)
    gaps = [each for each in ranges if not each.equal]
    left_rows = dict(named for gap in gaps for named in _named_rows_in_range(old, before, gap.i1, gap.i2))
    arrived_rows = dict(named for gap in gaps for named in _named_rows_in_range(new, after, gap.j1, gap.j2))
    counterparts = {id(row): arrived_rows[name] for name, row in left_rows.items()} | {
        id(row): left_rows[name] for name, row in arrived_rows.items()
    }
    pairs: list[Pair] = []
    for equal, i1, i2, j1, j2 in ranges:
        pairs += (
            zip(old[i1:i2], new[j1:j2], strict=True) if equal else align_without(old[i1:i2], new[j1:j2], counterparts)
        )
    return pairs, counterparts


def _row_names(
    old: Sequence[Node], new: Sequence[Node], columns: Sequence[ColumnPair]
) -> tuple[dict[int, str], dict[int, str]]:
    """Return names of rows, by `id()` of the old and of the new row. A name is a text that is unique in both tables, in
    the first column in which at least half of each table's rows have a unique text. Empty without such a column."""
    for pair in columns:
        if pair.old_index is None or pair.new_index is None:
            continue
        old_rows, new_rows = _rows_by_unique_text(old, pair.old_index), _rows_by_unique_text(new, pair.new_index)
        if 2 * len(old_rows) >= len(old) and 2 * len(new_rows) >= len(new):
            texts = old_rows.keys() & new_rows.keys()
            return {id(old_rows[name]): name for name in texts}, {id(new_rows[name]): name for name in texts}
    return {}, {}


def _rows_by_unique_text(rows: Sequence[Node], column: int) -> dict[str, Node]:
    """Return the rows whose text in `column` is unique, by this text. Skip texts without letters."""
    cells = [(plain_text(row.children[column].block.runs) if column < len(row.children) else "", row) for row in rows]
    counts = Counter(text for text, _ in cells)
    return {text: row for text, row in cells if counts[text] == 1 and _LETTER.search(text)}


def _named_rows_in_range(
    rows: Sequence[Node], names: Sequence[str | int], first: int, last: int
) -> Iterator[tuple[str, Node]]:
    for row, name in zip(rows[first:last], names[first:last], strict=True):
        if isinstance(name, str):
            yield name, row


_MIN_SHARE_FOUND = 0.5
"""Minimum share of a removed row's text that another row has gained, if the rows were joined. Also for split rows."""
_MIN_JOINED_LENGTH = 10
_MIN_CELL_SIMILARITY = 0.7


def join_rows(drafts: list[DraftEntry], columns: Sequence[ColumnPair]) -> list[DraftEntry]:
    """Return `drafts`. Each changed row is joined with the next rows that were merged into it or split from it."""
    joined_drafts: list[DraftEntry] = []
    index = 0
    while index < len(drafts):
        draft, index = drafts[index], index + 1
        if draft.status == "changed":
            for status in ("removed", "added"):
                end = index
                while (
                    end < len(drafts)
                    and drafts[end].status == status
                    and _is_part_of_row(drafts[end], draft, columns, is_join=status == "removed")
                ):
                    end += 1
                if end > index:
                    draft, index = _join_draft(draft, drafts[index:end], columns), end
                    break
        joined_drafts.append(draft)
    return joined_drafts


def _is_part_of_row(draft: DraftEntry, row: DraftEntry, columns: Sequence[ColumnPair], *, is_join: bool) -> bool:
    """Return whether `row` contains enough of the text of `draft`. If `is_join`, `draft` is a removed row that may have
    been merged into `row`. Otherwise, `draft` is an added row that may have been split from `row`."""
    part = draft.old if is_join else draft.new
    assert part is not None
    texts = [text for cell in part.children if _LETTER.search(text := _cell_text(cell))]
    joined_cells = _joined_cells(row, columns, is_join=is_join)
    found_length = sum(len(text) for text in texts if _find_cell(text, joined_cells) is not None)
    return found_length >= max(_MIN_JOINED_LENGTH, _MIN_SHARE_FOUND * sum(map(len, texts)))


def _joined_cells(row: DraftEntry, columns: Sequence[ColumnPair], *, is_join: bool) -> list[tuple[str, str]]:
    """Return (text in the longer version of `row`, text in the shorter version) for each column. With `is_join`, the
    new version is the longer one. Both texts are empty if any cell of the shorter version has the longer text."""
    shorter_row, longer_row = (row.old, row.new) if is_join else (row.new, row.old)
    assert shorter_row is not None
    assert longer_row is not None
    unchanged_texts = set(map(_cell_text, shorter_row.children))
    joined_cells = []
    for pair in columns:
        indexes = (pair.old_index, pair.new_index) if is_join else (pair.new_index, pair.old_index)
        rest, text = (
            _cell_text(cell) if (cell := cell_at(*each)) else ""
            for each in zip((shorter_row, longer_row), indexes, strict=True)
        )
        joined_cells.append(("", "") if text in unchanged_texts else (text, rest))
    return joined_cells


def _join_draft(row: DraftEntry, part_drafts: Sequence[DraftEntry], columns: Sequence[ColumnPair]) -> DraftEntry:
    assert row.old is not None
    assert row.new is not None
    is_join = part_drafts[0].status == "removed"
    parts = [node for draft in part_drafts if (node := draft.old if is_join else draft.new) is not None]
    joined_node, other_node = (row.old, row.new) if is_join else (row.new, row.old)
    indices = [(pair.old_index, pair.new_index) if is_join else (pair.new_index, pair.old_index) for pair in columns]
    column_of = {mine: position for position, (mine, _) in enumerate(indices) if mine is not None}
    joined_cells = _joined_cells(row, columns, is_join=is_join)
    runs = [cell.block.runs if (cell := cell_at(joined_node, index)) else () for index, _ in indices]
    for part in parts:
        for column_index, part_cell in enumerate(part.children):
            if text := _cell_text(part_cell):
                found_index = _find_cell(text, joined_cells)
                target_column = found_index if found_index is not None else column_of.get(column_index, 0)
                runs[target_column] = (
                    *runs[target_column],
                    *((Run("\n", kind="break"),) if runs[target_column] else ()),
                    *part_cell.block.runs,
                )
    cell_blocks = [Block("cell", runs=run, lines=joined_node.block.lines) for run in runs]
    cells = []
    for block, (_, index) in zip(cell_blocks, indices, strict=True):
        cell = cell_at(other_node, index)
        other_block = cell.block if cell is not None else None
        old_cell, new_cell = (block, other_block) if is_join else (other_block, block)
        text_change = diff_runs(old_cell.runs if old_cell else (), new_cell.runs if new_cell else ())
        cells.append(CellChange(old_cell, new_cell, text_change if text_change.kinds else None))
    joined_block = joined_node.block._replace(children=tuple(cell_blocks))
    joined_row = Node(joined_block, [], -id(joined_block), " ".join(plain_text(run) for run in runs))
    joined_draft = DraftEntry(
        "changed", joined_row if is_join else row.old, row.new if is_join else joined_row, RowChange(tuple(cells))
    )
    joined_draft.settings = row.settings
    count = 1 + len(parts)
    nodes = ((row.old, *parts), (row.new,)) if is_join else ((row.old,), (row.new, *parts))
    note = f"{count} rows joined into 1" if is_join else f"1 row split into {count}"
    return DraftEntry("restructured", old_nodes=nodes[0], new_nodes=nodes[1], note=note, children=[joined_draft])


def _cell_text(cell: Node) -> str:
    return " ".join(plain_text(cell.block.runs).split())


def _find_cell(text: str, joined_cells: Sequence[tuple[str, str]]) -> int | None:
    """Return the column in which the longer version of a row has the text of the shorter version and also `text`,
    perhaps edited. None if there is no such column. `joined_cells` comes from `_joined_cells`."""
    best_similarity, best_index = 0.0, None
    for index, (cell, rest) in enumerate(joined_cells):
        if not cell:
            continue
        similarity = 1.0 if text in cell else text_similarity(f"{rest} {text}".strip(), cell, _MIN_CELL_SIMILARITY)
        if similarity > max(best_similarity, text_similarity(rest, cell)):
            best_similarity, best_index = similarity, index
    return best_index


def cell_at(row: Node, index: int | None) -> Node | None:
    """Return the cell of a row at an index. None if the row has no such cell."""
    return row.children[index] if index is not None and index < len(row.children) else None


_TABLE_KINDS = kinds_with("grid")
_TEXT_KINDS = frozenset({"paragraph", "heading", "content-ref"})
_MIN_TABLE_LENGTH = 15
_MIN_SHARE_KEPT = 0.5
_MAX_TEXT_PAIRS = 20_000


def join_converted_tables(drafts: list[DraftEntry], compare: CompareNodes) -> list[DraftEntry]:
    """Return `drafts`, which are of added and removed blocks. If texts became a table without header, or such a table
    became texts, one draft replaces their drafts."""
    grids = [
        draft for draft in drafts for node in (draft.old, draft.new) if node is not None and node.kind in _TABLE_KINDS
    ]
    if len(grids) != 1 or (grid := grids[0].new or grids[0].old) is None:
        return drafts
    if any(plain_text(column.title).strip() for column in grid.block.attrs.get("columns", ())):
        return drafts  # Not a simple conversion, because the header was added or removed too.
    is_new_table = grids[0].new is grid
    other_nodes = [node for draft in drafts if (node := draft.old if is_new_table else draft.new) is not None]
    pairs = _pair_with_cells(other_nodes, grid)
    if not pairs:
        return drafts
    converted = [node for node in other_nodes if any(id(text) in pairs for text in text_blocks(node))]
    nodes_between = other_nodes[other_nodes.index(converted[0]) : other_nodes.index(converted[-1]) + 1]
    if is_new_table:
        joined_draft = DraftEntry("restructured", old_nodes=tuple(nodes_between), new_nodes=(grid,))
        joined_draft.note = f"{count_kinds(converted)} → {grid.kind}"
        remaining_texts = [
            text
            for node in nodes_between
            for text in (text_blocks(node) if node in converted else (node,))
            if id(text) not in pairs
        ]
        old_texts = {id(pairs[id(text)]): text for node in converted for text in text_blocks(node) if id(text) in pairs}
        joined_draft.children = [
            *(DraftEntry("removed", old=text) for text in remaining_texts),
            compare(_table_before(grid, old_texts), grid),
        ]
    else:
        joined_draft = DraftEntry("restructured", old_nodes=(grid,), new_nodes=tuple(nodes_between))
        joined_draft.note = f"{grid.kind} → {count_kinds(converted)}"
        kept_ids = set(map(id, pairs.values()))
        removed_nodes = [_as_kind("paragraph", cell) for cell in _filled_cells(grid) if id(cell) not in kept_ids]
        joined_draft.children = [
            *(DraftEntry("removed", old=text) for text in removed_nodes),
            *(
                compare_texts(node, pairs, compare) if node in converted else DraftEntry("added", new=node)
                for node in nodes_between
            ),
        ]
    return insert_in_order(drafts, [joined_draft])


def _pair_with_cells(text_nodes: Sequence[Node], grid: Node) -> dict[int, Node]:
    """Return the similar cells of `grid` by `id()` of the texts in `text_nodes`. Empty if too few texts match."""
    texts, cells = [text for node in text_nodes for text in text_blocks(node)], _filled_cells(grid)
    if len(texts) * len(cells) > _MAX_TEXT_PAIRS:
        return {}
    # Compare cells and content-refs as paragraphs, because `align` pairs only compatible kinds.
    paragraphs = [_as_kind("paragraph", text) if text.kind == "content-ref" else text for text in texts]
    cell_blocks = [_as_kind("paragraph", cell) for cell in cells]
    originals = {id(each): node for each, node in zip((*paragraphs, *cell_blocks), (*texts, *cells), strict=True)}
    pairs = [
        (originals[id(one)], originals[id(other)]) for one, other in align(paragraphs, cell_blocks) if one and other
    ]
    length = sum(
        cell.size * text_similarity(plain_text(one.block.runs), plain_text(cell.block.runs)) for one, cell in pairs
    )
    total = min(sum(cell.size for cell in cell_blocks), sum(text.size for text in paragraphs))
    return {} if length < max(_MIN_TABLE_LENGTH, _MIN_SHARE_KEPT * total) else {id(one): cell for one, cell in pairs}


def _filled_cells(grid: Node) -> list[Node]:
    return [cell for row in grid.children for cell in row.children if cell.block.runs]


def compare_texts(node: Node, old_texts: dict[int, Node], compare: CompareNodes) -> DraftEntry:
    """Return the draft of a new block, compared with old texts. `old_texts` has these by the `id()` of the new text."""
    if node.kind in _TEXT_KINDS and old_texts[id(node)].block.runs == node.block.runs:
        return DraftEntry("same", _with_cell_text(node, old_texts), node)
    return compare(_with_cell_text(node, old_texts), node)


def _with_cell_text(node: Node, old_texts: dict[int, Node]) -> Node:
    if id(node) not in old_texts and node.kind not in _TEXT_KINDS:
        return container_node(node.block, [_with_cell_text(child, old_texts) for child in node.children])
    cell = old_texts.get(id(node)) or leaf_node(Block(node.kind))
    block = node.block._replace(runs=cell.block.runs, lines=cell.block.lines, key=cell.block.key)
    if "id" not in compared_attributes(node.block):  # An anchor that is made from the title does not fit the old text.
        block = block._replace(attrs={name: value for name, value in block.attrs.items() if name != "id"})
    return Node(block, [], -id(block), cell.text)


def text_blocks(node: Node) -> list[Node]:
    """Return the blocks with text in `node`, which is a text block, a list or a list item. Empty if a text block in
    `node` has no text, or if `node` contains any other kind of block."""
    if node.kind in _TEXT_KINDS and not node.children:
        return [node] if node.block.runs else []
    if node.kind not in ("list", "item") or (node.kind == "item" and node.block.runs):
        return []
    blocks_of_children = [text_blocks(child) for child in node.children]
    return [text for texts in blocks_of_children for text in texts] if all(blocks_of_children) else []


def _as_kind(kind: str, node: Node) -> Node:
    return leaf_node(Block(kind, runs=node.block.runs, lines=node.block.lines))


def _table_before(grid: Node, old_texts: dict[int, Node]) -> Node:
    """Return the old version of the table `grid`, with only `old_texts`: blocks by the `id()` of the new cell."""
    rows = []
    for row in grid.children:
        cells = [
            _as_kind("cell", old_texts[id(cell)]) if id(cell) in old_texts else leaf_node(Block("cell"))
            for cell in row.children
        ]
        target = row.block.attrs.get("target")
        has_target = any(
            id(cell) in old_texts and old_texts[id(cell)].block.attrs.get("url", "") == target for cell in row.children
        )
        rows.append(
            container_node(
                Block(row.kind, {"target": target} if has_target else {}, lines=row.block.lines, key=row.block.key),
                cells,
            )
        )
    return container_node(Block(grid.kind, grid.block.attrs, lines=grid.block.lines, key=grid.block.key), rows)


def count_kinds(nodes: Iterable[Node]) -> str:
    """Return the kinds of blocks with their counts, such as `paragraph ×2, list`."""
    kinds = Counter(node.kind for node in nodes)
    return ", ".join(f"{kind} ×{count}" if count > 1 else kind for kind, count in kinds.items())


def rearrangement_note(old: Iterable[Node], new: Iterable[Node]) -> str:
    """Return a note on the kinds of blocks before and after a change, such as `list → hint` or `list rearranged`."""
    before, after = count_kinds(old), count_kinds(new)
    return f"{before} → {after}" if before != after else f"{before} rearranged"
