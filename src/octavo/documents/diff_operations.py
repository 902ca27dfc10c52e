"""Compares two notations of the same API operation: an `api-method` block, headings with tables and tabs, or older
tags. The versions become one `RestructuredBlocks` with their differences. Start at `join_rewritten_operations`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

from octavo.api.folding import fold
from octavo.documents.blocks import Block, Run, TableColumn, plain_text
from octavo.documents.diff_alignment import Pair, align
from octavo.documents.diff_nodes import CompareNodes, DraftEntry, Node, container_node, insert_in_order, leaf_node
from octavo.documents.sequences import text_similarity

_PARAMETER_LOCATIONS = {"path-parameters": "path", "query-parameters": "query", "headers": "header"}
_PARAMETER_LOCATIONS |= {"body-parameters": "body", "form-data-parameters": "form data"}
_HEADINGS = {"path": "Path Parameters", "query": "Query Parameters", "header": "Headers", "body": "Request Body"}
_COLUMNS = ("Name", "Type", "Description")
_WORD = re.compile(r"\w+")
_MIN_LENGTH = 15
_MIN_SHARE_KEPT = 0.5
_MAX_PAIRS = 20_000


class _Operation(NamedTuple):
    """The content of an API operation on a page, in any notation."""

    block: Block
    summary: tuple[Run, ...]
    description: list[Node]
    parameters: list[tuple[str, Node]]
    """Pairs of the location, such as `path` or `body`, and the parameter. The location may be empty."""
    responses: list[tuple[Block, list[Node]]]
    """Pairs of a response and its content."""


def uses_old_tags(operation: Node) -> bool:
    """Return whether an operation has the older notation, with parameters in `api-section` blocks."""
    return any(
        child.kind == "api-section" and child.block.attrs.get("name") != "description" for child in operation.children
    )


def with_new_notation(operation: Node) -> Node:
    """Return an API operation in the newer notation, with its summary and the locations of parameters as attributes."""
    details = _read(operation)
    attrs = {**operation.block.attrs}
    if summary := plain_text(details.summary):
        attrs["summary"] = summary
    children = (
        [
            container_node(
                Block("api-section", {"name": "description"}, lines=operation.block.lines), details.description
            )
        ]
        if details.description
        else []
    )
    for location, parameter in details.parameters:
        parameter_attrs = {**parameter.block.attrs, **({"in": location} if location else {})}
        children.append(container_node(parameter.block._replace(attrs=parameter_attrs), parameter.children))
    children += [container_node(block, content) for block, content in details.responses]
    return container_node(operation.block._replace(attrs=attrs), children)


def join_rewritten_operations(drafts: Sequence[DraftEntry], compare: CompareNodes) -> list[DraftEntry]:
    """Return `drafts`, which has only removed and added blocks. Join each removed API operation with the blocks that
    replaced it. If no removed operation was replaced, join each added operation with the blocks that it replaced."""
    for status in ("removed", "added"):
        is_removed = status == "removed"
        operations = [
            node for draft in drafts if draft.status == status and (node := draft.old if is_removed else draft.new)
        ]
        operations = [node for node in operations if node.kind == "api-method"]
        other_nodes = [
            node for draft in drafts if draft.status != status and (node := draft.new if is_removed else draft.old)
        ]
        if (
            operations
            and other_nodes
            and (replacements := _rewritten_drafts(operations, other_nodes, compare, are_old=is_removed))
        ):
            return insert_in_order(drafts, replacements)
    return list(drafts)


def _rewritten_drafts(
    operations: Sequence[Node], other_nodes: Sequence[Node], compare: CompareNodes, *, are_old: bool
) -> list[DraftEntry]:
    tab_titles = {_comparable_title(title): title for node in other_nodes for title in _tab_titles(node)}
    row_look_ids = {each.text: each.look_id for node in other_nodes for each in node.walk() if each.kind == "row"}
    expanded_operations = [_expand_operation(_read(operation), tab_titles, row_look_ids) for operation in operations]
    expanded_blocks = [part for parts in expanded_operations for part in parts]
    if len(expanded_blocks) * len(other_nodes) > _MAX_PAIRS:
        return []
    pairs = align(expanded_blocks, other_nodes)
    drafts = []
    for operation, parts in zip(operations, expanded_operations, strict=True):
        part_ids = set(map(id, parts))
        matched_indexes = [
            index
            for index, (part, other) in enumerate(pairs)
            if part is not None and id(part) in part_ids and other is not None
        ]
        if not matched_indexes:
            continue
        first, last = matched_indexes[0], matched_indexes[-1]
        while first > 0 and (part := pairs[first - 1][0]) is not None and id(part) in part_ids:
            first -= 1
        while last + 1 < len(pairs) and (part := pairs[last + 1][0]) is not None and id(part) in part_ids:
            last += 1
        covered_pairs = pairs[first : last + 1]
        covered_nodes = [other for _, other in covered_pairs if other is not None]
        length = sum(
            min(part.size, other.size) * text_similarity(part.text, other.text)
            for part, other in covered_pairs
            if part and other
        )
        if length >= max(_MIN_LENGTH, _MIN_SHARE_KEPT * sum(part.size for part in parts)):
            drafts.append(_rewritten_draft(operation, covered_nodes, covered_pairs, compare, is_old=are_old))
    return drafts


def _rewritten_draft(
    operation: Node, other_nodes: Sequence[Node], pairs: Iterable[Pair], compare: CompareNodes, *, is_old: bool
) -> DraftEntry:
    old, new = ((operation,), tuple(other_nodes)) if is_old else (tuple(other_nodes), (operation,))
    children = []
    for part, other in pairs:
        before, after = (part, other) if is_old else (other, part)
        if before is None:
            children.append(DraftEntry("added", new=after))
        elif after is None:
            children.append(DraftEntry("removed", old=before))
        else:
            children.append(compare(before, after))
    other_kinds = ", ".join(dict.fromkeys(node.kind for node in other_nodes))
    note = f"same operation, now {other_kinds if is_old else 'in one block'}"
    return DraftEntry("restructured", old_nodes=old, new_nodes=new, note=note, children=children)


def _read(operation: Node) -> _Operation:
    summary = str(operation.block.attrs.get("summary") or "")
    details = _Operation(operation.block, (Run(summary),) if summary else (), [], [], [])
    for child in operation.children:
        name = str(child.block.attrs.get("name") or "")
        if child.kind == "api-response":
            details.responses.append(_split_off_description(child))
        elif child.kind == "api-parameter":
            details.parameters.append((str(child.block.attrs.get("in") or ""), child))
        elif child.kind != "api-section":
            details.description.append(child)
        elif name == "summary" and not details.summary:
            details = details._replace(summary=(Run(summary),) if (summary := _section_text(child)) else ())
        else:
            for each in child.children:
                if each.kind == "api-parameter":
                    details.parameters.append((_PARAMETER_LOCATIONS.get(name, name.replace("-", " ")), each))
                else:
                    details.description.append(each)
    pairs = [(location, each) for location, each in details.parameters if each.text or each.block.attrs.get("name")]
    return details._replace(parameters=pairs)


def _split_off_description(node: Node) -> tuple[Block, list[Node]]:
    """Return a response's block with its description as an attribute, and the children without the description."""
    descriptions = [
        child
        for child in node.children
        if child.kind == "api-section" and child.block.attrs.get("name") == "description"
    ]
    content_nodes = [child for child in node.children if child not in descriptions]
    description = " ".join(filter(None, map(_section_text, descriptions)))
    attrs = {**node.block.attrs, "description": description} if description else node.block.attrs
    return node.block._replace(attrs=attrs), content_nodes


def _section_text(section: Node) -> str:
    return " ".join(child.text for child in section.children if child.text)


def _expand_operation(
    details: _Operation, tab_titles: Mapping[str, str], row_look_ids: Mapping[str, int]
) -> list[Node]:
    """Return the nodes that show an operation without its tag, such as tables. Tabs and rows of both versions get the
    titles and look IDs of the other version: `tab_titles` by comparable title, and `row_look_ids` by row text."""
    block = details.block
    method = str(block.attrs.get("method") or "get")
    url = f"{block.attrs.get('host') or ''}{block.attrs.get('path') or ''}".strip()
    code = frozenset({"code"})
    runs = (Run(method.upper(), code | {"mark"}, kind="code"), Run(" "), Run(url, code, kind="code"))
    blocks = (
        [leaf_node(Block("heading", {"level": 2}, runs=details.summary, lines=block.lines))] if details.summary else []
    )
    blocks += [leaf_node(Block("paragraph", runs=runs, lines=block.lines)), *details.description]
    sorted_parameters = sorted(
        details.parameters, key=lambda each: [location for location, _ in details.parameters].index(each[0])
    )
    for location, group in groupby(sorted_parameters, lambda each: each[0]):
        parameters = [parameter for _, parameter in group]
        heading = _HEADINGS.get(location, f"{location} parameters".strip().title())
        blocks.append(leaf_node(Block("heading", {"level": 4}, runs=(Run(heading),), lines=parameters[0].block.lines)))
        rows = [
            row if row.text not in row_look_ids else replace(row, look_id=row_look_ids[row.text])
            for row in map(_row, parameters)
        ]
        parameter_table = Block(
            "table",
            {"columns": tuple(TableColumn((Run(title),)) for title in _COLUMNS)},
            lines=parameters[0].block.lines,
        )
        blocks.append(container_node(parameter_table, rows))
    if details.responses:
        tabs = [_tab(response, content, tab_titles) for response, content in details.responses]
        blocks.append(container_node(Block("tabs", lines=details.responses[0][0].lines), tabs))
    return blocks


def _row(parameter: Node) -> Node:
    attrs, lines = parameter.block.attrs, parameter.block.lines
    name: tuple[Run, ...] = (Run(str(attrs.get("name") or "")),)
    if attrs.get("required"):
        name += (Run("*", frozenset({"mark"}), attrs={"color": "red"}),)
    description_runs: list[Run] = []
    for leaf in parameter.leaves():
        description_runs += [Run("\n", kind="break")] if description_runs else []
        description_runs += leaf.block.runs or (Run(leaf.text),)
    cells = [name, (Run(str(attrs.get("type") or "")),), tuple(description_runs)]
    return container_node(
        Block("row", lines=lines), [leaf_node(Block("cell", runs=runs, lines=lines)) for runs in cells]
    )


def _tab(response: Block, content: Sequence[Node], tab_titles: Mapping[str, str]) -> Node:
    status, description = (str(response.attrs.get(name) or "").strip() for name in ("status", "description"))
    title = f"{status}: {description.replace(' · ', ' ')}" if description else status
    return container_node(
        Block("tab", {"title": tab_titles.get(_comparable_title(title), title)}, lines=response.lines), content
    )


def _tab_titles(node: Node) -> Iterator[str]:
    for each in node.walk():
        if each.kind == "tab":
            yield str(each.block.attrs.get("title") or "")


def _comparable_title(title: str) -> str:
    return " ".join(_WORD.findall(fold(title)))
