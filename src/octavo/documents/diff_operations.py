"""Operations of an interface that a page tells in one block, and as headings, tables and tabs, or in older tags, before or
after: told as the same, what differs compared within."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

from octavo.api.folding import fold
from octavo.documents.blocks import Block, Column, Run, plain_text
from octavo.documents.diff_alignment import Pair, align, text_similarity
from octavo.documents.diff_nodes import DiffStep, Node

CompareNodes = Callable[[Node, Node], DiffStep]

_PARAMETER_PLACES = {
    "path-parameters": "path",
    "query-parameters": "query",
    "headers": "header",
    "body-parameters": "body",
}
_PARAMETER_PLACES |= {"form-data-parameters": "form data"}
_HEADINGS = {"path": "Path Parameters", "query": "Query Parameters", "header": "Headers", "body": "Request Body"}
_COLUMNS = ("Name", "Type", "Description")
_WORD = re.compile(r"\w+")
_MIN_LENGTH = 15
_MIN_SHARE_KEPT = 0.5
_MAX_PAIRS = 20_000


class _Operation(NamedTuple):
    """What a block of kind api-method says, in whichever tags."""

    block: Block
    summary: tuple[Run, ...]
    about: list[Node]
    parameters: list[tuple[str, Node]]
    """Each with the place it is in."""
    answers: list[tuple[Block, list[Node]]]
    """Each with what is in it."""


def uses_old_tags(operation: Node) -> bool:
    """Whether an operation is written in tags that the platform once had, which group what others name."""
    return any(
        child.kind == "api-section" and child.block.attrs.get("name") != "description" for child in operation.children
    )


def with_new_tags(operation: Node) -> Node:
    """An operation as the newer tags have it: its summary, and the places of its parameters, as attributes."""
    told = _read(operation)
    attrs = {**operation.block.attrs}
    if summary := plain_text(told.summary):
        attrs["summary"] = summary
    children = (
        [_container_node(Block("api-section", {"name": "description"}, lines=operation.block.lines), told.about)]
        if told.about
        else []
    )
    for place, parameter in told.parameters:
        placed = {**parameter.block.attrs, **({"in": place} if place else {})}
        children.append(_container_node(parameter.block._replace(attrs=placed), parameter.children))
    children += [_container_node(block, within) for block, within in told.answers]
    return _container_node(operation.block._replace(attrs=attrs), children)


def join_rewritten_operations(run: Sequence[DiffStep], change: CompareNodes) -> list[DiffStep]:
    """The steps, all of them of blocks that came or went. An operation and the blocks it was written out in, or was made of,
    are one. `change` compares two nodes."""
    for fate in ("removed", "added"):
        is_gone = fate == "removed"
        operations = [node for step in run if step.fate == fate and (node := step.old if is_gone else step.new)]
        operations = [node for node in operations if node.kind == "api-method"]
        others = [node for step in run if step.fate != fate and (node := step.new if is_gone else step.old)]
        if operations and others and (found := _rewrites(operations, others, change, is_gone=is_gone)):
            return _insert_in_order(run, found)
    return list(run)


def _rewrites(
    operations: Sequence[Node], others: Sequence[Node], change: CompareNodes, *, is_gone: bool
) -> list[DiffStep]:
    titles = {_comparable_title(title): title for node in others for title in _tab_titles(node)}
    rows = {each.text: each.number for node in others for each in node.walk() if each.kind == "row"}
    written = [_expanded(_read(operation), titles, rows) for operation in operations]
    parts = [part for some in written for part in some]
    if len(parts) * len(others) > _MAX_PAIRS:
        return []
    pairs = align(parts, others)
    found = []
    for operation, some in zip(operations, written, strict=True):
        own = set(map(id, some))
        places = [
            at for at, (part, other) in enumerate(pairs) if part is not None and id(part) in own and other is not None
        ]
        if not places:
            continue
        first, last = places[0], places[-1]
        while first > 0 and (part := pairs[first - 1][0]) is not None and id(part) in own:
            first -= 1
        while last + 1 < len(pairs) and (part := pairs[last + 1][0]) is not None and id(part) in own:
            last += 1
        stretch = pairs[first : last + 1]
        taken = [other for _, other in stretch if other is not None]
        kept = sum(min(one.size, other.size) * _text_similarity(one, other) for one, other in stretch if one and other)
        if kept >= max(_MIN_LENGTH, _MIN_SHARE_KEPT * sum(part.size for part in some)):
            found.append(_rewrite_step(operation, taken, stretch, change, is_gone=is_gone))
    return found


def _text_similarity(one: Node, other: Node) -> float:
    return text_similarity(one.text, other.text)


def _rewrite_step(
    operation: Node, others: Sequence[Node], pairs: Iterable[Pair], change: CompareNodes, *, is_gone: bool
) -> DiffStep:
    old, new = ((operation,), tuple(others)) if is_gone else (tuple(others), (operation,))
    inside = []
    for part, other in pairs:
        before, after = (part, other) if is_gone else (other, part)
        if before is None:
            inside.append(DiffStep("added", new=after))
        elif after is None:
            inside.append(DiffStep("removed", old=before))
        else:
            inside.append(change(before, after))
    note = f"same operation, now {_kinds(others) if is_gone else 'in one block'}"
    return DiffStep("restructured", old_nodes=old, new_nodes=new, note=note, inside=inside)


def _insert_in_order(run: Sequence[DiffStep], found: Sequence[DiffStep]) -> list[DiffStep]:
    """The steps of a run, those of what is told as one replaced by it, in an order that is that of both sides."""
    gone = [step for step in run if step.old is not None]
    come = [step for step in run if step.old is None]
    out: list[DiffStep] = []
    for told in found:
        for side, nodes in ((gone, told.old_nodes), (come, told.new_nodes)):
            names = set(map(id, nodes))
            while side and id(side[0].old or side[0].new) not in names:
                out.append(side.pop(0))
            del side[: len(nodes)]
        out.append(told)
    return [*out, *gone, *come]


def _read(operation: Node) -> _Operation:
    summary = str(operation.block.attrs.get("summary") or "")
    told = _Operation(operation.block, (Run(summary),) if summary else (), [], [], [])
    for child in operation.children:
        name = str(child.block.attrs.get("name") or "")
        if child.kind == "api-response":
            told.answers.append(_answer(child))
        elif child.kind == "api-parameter":
            told.parameters.append((str(child.block.attrs.get("in") or ""), child))
        elif child.kind != "api-section":
            told.about.append(child)
        elif name == "summary" and not told.summary:
            told = told._replace(summary=(Run(summary),) if (summary := _section_text(child)) else ())
        else:
            for each in child.children:
                if each.kind == "api-parameter":
                    told.parameters.append((_PARAMETER_PLACES.get(name, name.replace("-", " ")), each))
                else:
                    told.about.append(each)
    named = [(place, each) for place, each in told.parameters if each.text or each.block.attrs.get("name")]
    return told._replace(parameters=named)


def _answer(node: Node) -> tuple[Block, list[Node]]:
    """An answer with what is said of it as an attribute, and what is in it."""
    said = [
        child
        for child in node.children
        if child.kind == "api-section" and child.block.attrs.get("name") == "description"
    ]
    within = [child for child in node.children if child not in said]
    about = " ".join(filter(None, map(_section_text, said)))
    attrs = {**node.block.attrs, "description": about} if about else node.block.attrs
    return node.block._replace(attrs=attrs), within


def _section_text(section: Node) -> str:
    return " ".join(child.text for child in section.children if child.text)


def _expanded(told: _Operation, titles: Mapping[str, str], known: Mapping[str, int]) -> list[Node]:
    """An operation as the platform writes it in blocks of other kinds. `titles`: those that tabs of its answers may have;
    `known`: the numbers of rows with the same words."""
    block = told.block
    method = str(block.attrs.get("method") or "get")
    address = f"{block.attrs.get('host') or ''}{block.attrs.get('path') or ''}".strip()
    code = frozenset({"code"})
    runs = (Run(method.upper(), code | {"mark"}, kind="code"), Run(" "), Run(address, code, kind="code"))
    out = [_leaf_node(Block("heading", {"level": 2}, runs=told.summary, lines=block.lines))] if told.summary else []
    out += [_leaf_node(Block("paragraph", runs=runs, lines=block.lines)), *told.about]
    by_place = sorted(told.parameters, key=lambda each: [place for place, _ in told.parameters].index(each[0]))
    for place, group in groupby(by_place, lambda each: each[0]):
        some = [parameter for _, parameter in group]
        heading = _HEADINGS.get(place, f"{place} parameters".strip().title())
        out.append(_leaf_node(Block("heading", {"level": 4}, runs=(Run(heading),), lines=some[0].block.lines)))
        rows = [row if row.text not in known else replace(row, number=known[row.text]) for row in map(_row, some)]
        table = Block(
            "table", {"columns": tuple(Column((Run(title),)) for title in _COLUMNS)}, lines=some[0].block.lines
        )
        out.append(_container_node(table, rows))
    if told.answers:
        tabs = [_tab(answer, within, titles) for answer, within in told.answers]
        out.append(_container_node(Block("tabs", lines=told.answers[0][0].lines), tabs))
    return out


def _row(parameter: Node) -> Node:
    attrs, lines = parameter.block.attrs, parameter.block.lines
    name: tuple[Run, ...] = (Run(str(attrs.get("name") or "")),)
    if attrs.get("required"):
        name += (Run("*", frozenset({"mark"}), attrs={"color": "red"}),)
    about: list[Run] = []
    for each in parameter.leaves():
        about += [Run("\n", kind="break")] if about else []
        about += each.block.runs or (Run(each.text),)
    cells = [name, (Run(str(attrs.get("type") or "")),), tuple(about)]
    return _container_node(
        Block("row", lines=lines), [_leaf_node(Block("cell", runs=runs, lines=lines)) for runs in cells]
    )


def _tab(answer: Block, within: Sequence[Node], titles: Mapping[str, str]) -> Node:
    status, about = (str(answer.attrs.get(name) or "").strip() for name in ("status", "description"))
    title = f"{status}: {about.replace(' · ', ' ')}" if about else status
    return _container_node(
        Block("tab", {"title": titles.get(_comparable_title(title), title)}, lines=answer.lines), within
    )


def _tab_titles(node: Node) -> Iterator[str]:
    for each in node.walk():
        if each.kind == "tab":
            yield str(each.block.attrs.get("title") or "")


def _comparable_title(title: str) -> str:
    return " ".join(_WORD.findall(fold(title)))


def _leaf_node(block: Block) -> Node:
    return Node(block, [], -id(block), plain_text(block.runs))


def _container_node(block: Block, children: Sequence[Node]) -> Node:
    block = block._replace(children=tuple(child.block for child in children))
    titles = [plain_text(column.title) for column in block.attrs.get("columns", ())]
    own = [str(block.attrs[name]) for name in ("title", "name", "summary", "path") if block.attrs.get(name)]
    return Node(
        block, list(children), -id(block), " ".join([*own, *titles, *(child.text for child in children if child.text)])
    )


def _kinds(nodes: Iterable[Node]) -> str:
    return ", ".join(dict.fromkeys(node.kind for node in nodes))
