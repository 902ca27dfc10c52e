"""Blocks of which cards or a table were made, or that were made of them, with nearly the same words: told as one, the words
of each cell compared with those it had been, or became."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from octavo.documents.alignment import align, text_similarity
from octavo.documents.blocks import Block, kinds_with, plain_text
from octavo.documents.nodes import Node
from octavo.documents.steps import DiffStep

CompareNodes = Callable[[Node, Node], DiffStep]

_TABLE_KINDS = kinds_with("grid")
_TEXT_KINDS = frozenset({"paragraph", "heading", "content-ref"})
_MIN_TABLE_LENGTH = 15
_MIN_SHARE_KEPT = 0.5
_MAX_TEXT_PAIRS = 20_000


def join_converted_tables(run: list[DiffStep], change: CompareNodes) -> list[DiffStep]:
    """The steps, all of them of blocks that came or went. `change` compares two nodes."""
    grids = [step for step in run for node in (step.old, step.new) if node is not None and node.kind in _TABLE_KINDS]
    if len(grids) != 1 or (grid := grids[0].new or grids[0].old) is None:
        return run
    if any(plain_text(column.title).strip() for column in grid.block.attrs.get("columns", ())):
        return run  # its head came too, or went
    is_made = grids[0].new is grid
    others = [node for step in run if (node := step.old if is_made else step.new) is not None]
    pairs = _pair_with_cells(others, grid)
    if not pairs:
        return run
    taken = [node for node in others if any(id(text) in pairs for text in _text_blocks(node))]
    if is_made:
        told = DiffStep("restructured", old_nodes=tuple(taken), new_nodes=(grid,))
        told.note = f"{_count_kinds(taken)} → {grid.kind}"
        left = [text for node in taken for text in _text_blocks(node) if id(text) not in pairs]
        was = {id(pairs[id(text)]): text for node in taken for text in _text_blocks(node) if id(text) in pairs}
        told.inside = [*(DiffStep("removed", old=text) for text in left), change(_table_before(grid, was), grid)]
    else:
        told = DiffStep("restructured", old_nodes=(grid,), new_nodes=tuple(taken))
        told.note = f"{grid.kind} → {_count_kinds(taken)}"
        kept = set(map(id, pairs.values()))
        gone = [_as_kind("paragraph", cell) for cell in _filled_cells(grid) if id(cell) not in kept]
        told.inside = [
            *(DiffStep("removed", old=text) for text in gone),
            *(_text_step(node, pairs, change) for node in taken),
        ]
    names = set(map(id, taken))
    return [told if step is grids[0] else step for step in run if id(step.old if is_made else step.new) not in names]


def _pair_with_cells(others: Sequence[Node], grid: Node) -> dict[int, Node]:
    """For each text among blocks, by its identity, the cell that has its words; none when they are not nearly the same."""
    texts, cells = [text for node in others for text in _text_blocks(node)], _filled_cells(grid)
    if len(texts) * len(cells) > _MAX_TEXT_PAIRS:
        return {}
    # A cell is compared as the paragraph that it could have been, and so is a link on a line of its own.
    said = [_as_kind("paragraph", text) if text.kind == "content-ref" else text for text in texts]
    stood = [_as_kind("paragraph", cell) for cell in cells]
    named = {id(each): node for each, node in zip((*said, *stood), (*texts, *cells), strict=True)}
    pairs = [(named[id(one)], named[id(other)]) for one, other in align(said, stood) if one and other]
    kept = sum(
        cell.size * text_similarity(plain_text(one.block.runs), plain_text(cell.block.runs)) for one, cell in pairs
    )
    whole = min(sum(cell.size for cell in stood), sum(text.size for text in said))
    return {} if kept < max(_MIN_TABLE_LENGTH, _MIN_SHARE_KEPT * whole) else {id(one): cell for one, cell in pairs}


def _filled_cells(grid: Node) -> list[Node]:
    return [cell for row in grid.children for cell in row.children if cell.block.runs]


def _text_step(node: Node, pairs: dict[int, Node], change: CompareNodes) -> DiffStep:
    """What became of the cells that a block was made of."""
    if node.kind in _TEXT_KINDS and pairs[id(node)].block.runs == node.block.runs:
        return DiffStep("same", _with_cell_text(node, pairs), node)
    return change(_with_cell_text(node, pairs), node)


def _with_cell_text(node: Node, pairs: dict[int, Node]) -> Node:
    """A block as it would have been with the words of the cells it was made of."""
    if id(node) not in pairs and node.kind not in _TEXT_KINDS:
        return _node_with_children(node.block, [_with_cell_text(child, pairs) for child in node.children])
    cell = pairs.get(id(node)) or _empty_node(node.kind)
    block = node.block._replace(runs=cell.block.runs, lines=cell.block.lines, key=cell.block.key)
    return Node(block, [], -id(block), cell.text)


def _text_blocks(node: Node) -> list[Node]:
    """The texts that a block is made of; none when there is anything else in it."""
    if node.kind in _TEXT_KINDS and not node.children:
        return [node] if node.block.runs else []
    if node.kind not in ("list", "item") or (node.kind == "item" and node.block.runs):
        return []
    found = [_text_blocks(child) for child in node.children]
    return [text for texts in found for text in texts] if all(found) else []


def _as_kind(kind: str, node: Node) -> Node:
    block = Block(kind, runs=node.block.runs, lines=node.block.lines)
    return Node(block, [], -id(block), plain_text(block.runs))


def _table_before(grid: Node, was: dict[int, Node]) -> Node:
    """The table as it would have been: its cells with the words they had, and nothing else."""
    rows = []
    for row in grid.children:
        cells = [_as_kind("cell", was[id(cell)]) if id(cell) in was else _empty_node("cell") for cell in row.children]
        target = row.block.attrs.get("target")
        led = any(id(cell) in was and was[id(cell)].block.attrs.get("url", "") == target for cell in row.children)
        rows.append(
            _node_with_children(
                Block(row.kind, {"target": target} if led else {}, lines=row.block.lines, key=row.block.key), cells
            )
        )
    return _node_with_children(Block(grid.kind, grid.block.attrs, lines=grid.block.lines, key=grid.block.key), rows)


def _empty_node(kind: str) -> Node:
    block = Block(kind)
    return Node(block, [], -id(block), "")


def _node_with_children(block: Block, children: Sequence[Node]) -> Node:
    block = block._replace(children=tuple(child.block for child in children))
    return Node(block, list(children), -id(block), " ".join(child.text for child in children if child.text))


def _count_kinds(nodes: Iterable[Node]) -> str:
    kinds: dict[str, int] = {}
    for node in nodes:
        kinds[node.kind] = kinds.get(node.kind, 0) + 1
    return ", ".join(f"{kind} ×{count}" if count > 1 else kind for kind, count in kinds.items())
