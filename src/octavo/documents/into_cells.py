"""Blocks of which cards or a table were made, with nearly the same words: told as one, the words of each cell compared with
those it had been."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from octavo.documents.alignment import align, text_similarity
from octavo.documents.blocks import Block, words
from octavo.documents.nodes import Node
from octavo.documents.steps import Step

Change = Callable[[Node, Node], Step]

_GRIDS = frozenset({"table", "cards"})
_TEXTS = frozenset({"paragraph", "heading"})
_LONG_ENOUGH = 15
_SHARE_KEPT = 0.5
_MOST_PAIRS = 20_000


def made_into_cells(run: list[Step], change: Change) -> list[Step]:
    """The steps, all of them of blocks that came or went. `change` compares two nodes."""
    grids = [step for step in run if step.new is not None and step.new.kind in _GRIDS]
    old = [step.old for step in run if step.old is not None]
    if len(grids) != 1 or any(node.kind in _GRIDS for node in old):
        return run
    grid = grids[0].new
    assert grid is not None, "It is one that came"
    if any(words(column.title).strip() for column in grid.block.attrs.get("columns", ())):
        return run  # its head came too
    texts = {id(text): node for node in old for text in _texts_of(node)}
    ours = [text for node in old for text in _texts_of(node)]
    cells = [cell for row in grid.children for cell in row.children if cell.block.runs]
    if len(ours) * len(cells) > _MOST_PAIRS:
        return run
    # A cell is compared as the paragraph that it could have been.
    stood = [_as("paragraph", cell) for cell in cells]
    theirs = {id(each): cell for each, cell in zip(stood, cells, strict=True)}
    pairs = [(one, theirs[id(other)]) for one, other in align(ours, stood) if one is not None and other is not None]
    kept = sum(min(one.size, cell.size) * text_similarity(one.text, cell.text) for one, cell in pairs)
    if kept < max(_LONG_ENOUGH, _SHARE_KEPT * min(sum(cell.size for cell in cells), sum(text.size for text in ours))):
        return run
    taken = {id(texts[id(one)]) for one, _ in pairs}
    was = {id(cell): one for one, cell in pairs}
    paired = {id(one) for one, _ in pairs}
    gone = [node for node in old if id(node) in taken]
    told = Step("restructured", old_nodes=tuple(gone), new_nodes=(grid,))
    told.note = f"{_kinds(gone)} → {grid.kind}"
    left = [Step("removed", old=text) for node in gone for text in _texts_of(node) if id(text) not in paired]
    told.inside = [*left, change(_before(grid, was), grid)]
    return [told if step is grids[0] else step for step in run if step.old is None or id(step.old) not in taken]


def _texts_of(node: Node) -> list[Node]:
    """The texts that a block is made of; none when there is anything else in it."""
    if node.kind in _TEXTS and not node.children:
        return [node] if node.block.runs else []
    if node.kind not in ("list", "item") or (node.kind == "item" and node.block.runs):
        return []
    found = [_texts_of(child) for child in node.children]
    return [text for texts in found for text in texts] if all(found) else []


def _as(kind: str, node: Node) -> Node:
    block = Block(kind, runs=node.block.runs, lines=node.block.lines)
    return Node(block, [], -id(block), node.text)


def _before(grid: Node, was: dict[int, Node]) -> Node:
    """The table as it would have been: its cells with the words they had, and nothing else."""
    rows = []
    for row in grid.children:
        cells = [_as("cell", was[id(cell)]) if id(cell) in was else _empty("cell") for cell in row.children]
        rows.append(_of(Block(row.kind, lines=row.block.lines, key=row.block.key), cells))
    return _of(Block(grid.kind, grid.block.attrs, lines=grid.block.lines, key=grid.block.key), rows)


def _empty(kind: str) -> Node:
    block = Block(kind)
    return Node(block, [], -id(block), "")


def _of(block: Block, children: Sequence[Node]) -> Node:
    block = block._replace(children=tuple(child.block for child in children))
    return Node(block, list(children), -id(block), " ".join(child.text for child in children if child.text))


def _kinds(nodes: Iterable[Node]) -> str:
    kinds: dict[str, int] = {}
    for node in nodes:
        kinds[node.kind] = kinds.get(node.kind, 0) + 1
    return ", ".join(f"{kind} ×{count}" if count > 1 else kind for kind, count in kinds.items())
