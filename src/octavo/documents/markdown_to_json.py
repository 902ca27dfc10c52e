"""Markdown as a JSON document (5): the same blocks, with the same keys, in the form that has no syntax.

Pages are laid out by their blocks, so whatever a block is, its words are in the document: what has no type of its
own there is shown by the blocks within it. Tables hold their cells as fragments, named by row and column.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any

from octavo.api.bodies import Format
from octavo.documents.blocks import Block, Run, words

Json = dict[str, Any]

SCHEMA_VERSION = 9

_MARKS = {
    "bold": "bold",
    "italic": "italic",
    "strike": "strikethrough",
    "code": "code",
    "kbd": "keyboard",
    "sub": "subscript",
    "sup": "superscript",
}
_LISTS = {True: "list-ordered", False: "list-unordered"}
_CONTAINERS = {
    "quote": ("blockquote", ()),
    "hint": ("hint", ("style", "icon")),
    "tabs": ("tabs", ()),
    "tab": ("tabs-item", ("title", "icon")),
    "stepper": ("stepper", ()),
    "step": ("stepper-step", ("icon",)),
    "columns": ("columns", ()),
    "column": ("column", ("width",)),
    "if": ("if", ("expression",)),
}
_VOID = {
    "divider": ("divider", ()),
    "embed": ("embed", ("url",)),
    "file": ("file", ("src",)),
    "content-ref": ("content-ref", ("url",)),
    "include": ("reusable-content", ("target",)),
}


def body(markdown: str, format: Format | None) -> Json:
    """A body as it was asked for: as markdown, unless as a JSON document."""
    return {"document": json_document(markdown)} if format == "document" else {"markdown": markdown}


def json_document(markdown: str) -> Json:
    """The JSON document that says what `markdown` says."""
    # Parsing brings markdown-it with it, which most who read content as markdown never need.
    from octavo.documents.parse import parse

    nodes = _blocks(parse(markdown).blocks)
    return {"object": "document", "data": {"schemaVersion": SCHEMA_VERSION}, "nodes": nodes or [_paragraph("", [])]}


def _blocks(blocks: Iterable[Block]) -> list[Json]:
    return [node for block in blocks for node in _block(block)]


def _block(block: Block) -> list[Json]:
    attrs = block.attrs
    match block.kind:
        case "heading":
            data = {"id": attrs["id"]} if attrs.get("id") else {}
            return [_node(f"heading-{min(attrs.get('level', 1), 3)}", block.key, data, _runs(block.runs))]
        case "list":
            return [_list(block)]
        case "code":
            data = {"syntax": attrs.get("language"), "title": attrs.get("title"), "lineNumbers": attrs.get("numbers")}
            data["overflow"] = "wrap" if attrs.get("wrap") else None
            lines = block.text.removesuffix("\n").split("\n")
            nodes = [_node("code-line", "", {}, [_leaf(line)]) for line in lines]
            return [_node("code", block.key, {name: value for name, value in data.items() if value}, nodes)]
        case "math":
            return [_void("math", block.key, {"formula": block.text})]
        case "figure":
            images = [_image(image) for image in block.children if image.kind == "image"]
            return [_node("images", block.key, {}, images)]
        case "expandable":
            fragments = [
                _fragment("expandable-title", [_paragraph("", _runs(block.runs))]),
                _fragment("expandable-body", _blocks(block.children)),
            ]
            return [{**_void("expandable", block.key, {}), "fragments": fragments}]
        case "table":
            return [_table(block)]
        case "include" if block.children:
            return _blocks(block.children)
        case kind if kind in _CONTAINERS:
            name, fields = _CONTAINERS[kind]
            data = {field: attrs[field] for field in fields if attrs.get(field) is not None}
            return [_node(name, block.key, data, _blocks(block.children))]
        case kind if kind in _VOID:
            name, fields = _VOID[kind]
            data = {field: attrs[field] for field in fields if attrs.get(field) is not None}
            if kind in ("file", "content-ref", "include"):
                data = {"ref": reference(str(next(iter(data.values()), "")))}
            caption = [_fragment("caption", [_paragraph("", _runs(block.runs))])] if block.runs else []
            return [{**_void(name, block.key, data), **({"fragments": caption} if caption else {})}]
        case _:
            own = _runs(block.runs) or ([_leaf(block.text)] if block.text else [])
            return [*([_paragraph(block.key, own)] if own else []), *_blocks(block.children)]


def _list(block: Block) -> Json:
    tasks = bool(block.children) and all(item.kind == "task" for item in block.children)
    name = "list-tasks" if tasks else _LISTS[bool(block.attrs.get("ordered"))]
    start = block.attrs.get("start", 1)
    data = {"start": start} if name == "list-ordered" and start != 1 else {}
    return _node(name, block.key, data, [_item(item) for item in block.children])


def _item(item: Block) -> Json:
    data = {"checked": bool(item.attrs.get("checked"))} if item.kind == "task" else {}
    return _node("list-item", item.key, data, _blocks(item.children))


def _image(image: Block) -> Json:
    data = {"ref": reference(image.attrs.get("src") or ""), "alt": image.attrs.get("alt") or ""}
    caption = {"fragments": [_fragment("caption", [_paragraph("", _runs(image.runs))])]} if image.runs else {}
    return {**_void("image", image.key, data), **caption}


def _table(block: Block) -> Json:
    columns = [f"c{number}" for number in range(len(block.attrs.get("columns", ())))]
    definition: Json = {
        name: {"id": name, "title": words(column.title), "type": "text", "textAlignment": column.align or "left"}
        for name, column in zip(columns, block.attrs.get("columns", ()), strict=True)
    }
    records: Json = {}
    fragments = []
    for number, row in enumerate(block.children):
        values = {}
        for name, cell in zip(columns, row.children, strict=False):
            key = f"r{number}{name}"
            values[name] = key
            fragments.append(_fragment(key, [_paragraph(cell.key, _runs(cell.runs))]))
        records[f"r{number}"] = {"orderIndex": number, "values": values}
    view = {"type": "grid", "columns": columns, "hideHeader": bool(block.attrs.get("header_hidden"))}
    data = {"view": view, "definition": definition, "records": records}
    return {**_void("table", block.key, data), "fragments": fragments}


def _runs(runs: Iterable[Run]) -> list[Json]:
    """Texts and inlines; runs that lead to the same address are one link."""
    nodes: list[Json] = []
    for link, linked in groupby(runs, key=lambda run: run.link if run.kind not in ("button", "image") else None):
        inside = [_run(run) for run in linked]
        nodes += [_inline("link", {"ref": reference(link)}, inside)] if link else inside
    return nodes


def _run(run: Run) -> Json:
    match run.kind:
        case "math":
            return _inline("inline-math", {"formula": run.text})
        case "emoji" if code := run.attrs.get("code"):
            return _inline("emoji", {"code": code})
        case "icon":
            return _inline("icon", {"icon": run.attrs.get("name", "")})
        case "expression":
            return _inline("expression", {"expression": run.text})
        case "image":
            return _inline("inline-image", {"ref": reference(run.attrs.get("src") or ""), "alt": run.text})
        case "button":
            data = {"label": run.text, "kind": run.attrs.get("style", "primary"), "icon": run.attrs.get("icon")}
            action = {name: run.attrs[name] for name in ("action", "query") if name in run.attrs}
            data |= {"ref": reference(run.link)} if run.link else {"action": action or None}
            return _inline("button", {name: value for name, value in data.items() if value is not None})
        case _:
            marks = run.marks | {"code"} if run.kind == "code" else run.marks
            return _leaf(run.text, sorted(_MARKS[mark] for mark in marks if mark in _MARKS))


def reference(address: str) -> Json:
    """What a link leads to: a page or file by id, or an address as it is written."""
    target, _, anchor = address.partition("#")
    for prefix, kind in (("/pages/", "page"), ("/files/", "file")):
        if target.startswith(prefix) and (name := target.removeprefix(prefix)) and "/" not in name and "." not in name:
            if anchor and kind == "page":
                return {"kind": "anchor", "anchor": anchor, "page": name}
            return {"kind": kind, kind: name}
    if anchor and not target:
        return {"kind": "anchor", "anchor": anchor}
    return {"kind": "url", "url": address}


def _paragraph(key: str, nodes: list[Json]) -> Json:
    return _node("paragraph", key, {}, nodes or [_leaf("")])


def _node(name: str, key: str, data: Json, nodes: list[Json]) -> Json:
    return {"object": "block", "type": name, **({"key": key} if key else {}), "data": data, "nodes": nodes}


def _void(name: str, key: str, data: Json) -> Json:
    return {"object": "block", "type": name, **({"key": key} if key else {}), "isVoid": True, "data": data}


def _inline(name: str, data: Json, nodes: list[Json] | None = None) -> Json:
    void: Json = {"isVoid": True} if nodes is None else {"nodes": nodes}
    return {"object": "inline", "type": name, "data": data, **void}


def _fragment(name: str, nodes: list[Json]) -> Json:
    return {"object": "fragment", "fragment": name, "nodes": nodes}


def _leaf(text: str, marks: Iterable[str] = ()) -> Json:
    leaf: dict[str, Any] = {
        "object": "leaf",
        "text": text,
        "marks": [{"object": "mark", "type": mark} for mark in marks],
    }
    return {"object": "text", "leaves": [leaf]}
