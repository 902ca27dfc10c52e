"""Converts Markdown to a JSON document with the same blocks and the same keys.

No content is lost: json_document.py reads the same blocks back, and json_to_markdown.py writes them as Markdown. If the
platform has no field for an attribute, Octavo adds its own field, which other programs ignore. Table cells are stored
as fragments.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from octavo.api.bodies import Format
from octavo.documents.anchors import anchor_of_title
from octavo.documents.blocks import NO_ATTRS, Block, DraftBlock, Run, TableColumn, plain_text
from octavo.documents.json_inline import MARKS
from octavo.documents.source_reader import parse

Json = dict[str, Any]

SCHEMA_VERSION = 9

_JSON_MARKS = {mark: json_name for json_name, mark in MARKS.items()}
_LIST_TYPES = {True: "list-ordered", False: "list-unordered"}
_ALIGNMENTS = {"left": "start", "center": "center", "right": "end"}
_CARD_DEFINITIONS = {"target": "targetDefinition", "cover": "coverDefinition", "cover-dark": "coverDefinitionDark"}
JSON_NAMES = {
    "full_width": "fullWidth",
    "numbers": "lineNumbers",
    "frame": "withFrame",
    "providers": "openInAIProviders",
    "valign": "verticalAlignment",
}
"""JSON names of block attributes, where they differ from the names in `blocks.py`."""
_EQUAL_TYPES = (
    "divider hint tabs stepper columns if else updates update api-method api-section api-parameter api-response conflict"
    " side footnotes footnote unknown"
)
_NODE_TYPES = {kind: kind for kind in _EQUAL_TYPES.split()} | {"quote": "blockquote", "step": "stepper-step"}
"""JSON types of blocks that have only attributes and children."""


def content_body(markdown: str, format: Format | None) -> Json:
    """Return the content of a page in the form of the API: as JSON if `format` is `document`, else as Markdown."""
    return {"document": to_json_document(markdown)} if format == "document" else {"markdown": markdown}


def to_json_document(markdown: str) -> Json:
    """Return the JSON document for `markdown`."""
    nodes = _Writer().page(parse(markdown).blocks)
    return {"object": "document", "data": {"schemaVersion": SCHEMA_VERSION}, "nodes": nodes or [_paragraph("", [])]}


class _Writer:
    """Writes one page as JSON. A footnote is written at its first reference."""

    def __init__(self) -> None:
        self._notes: dict[str, Block] = {}

    def page(self, blocks: Sequence[Block]) -> list[Json]:
        notes = [
            note for block in blocks for each in block.walk() if each.kind == "footnotes" for note in each.children
        ]
        self._notes = {str(note.attrs.get("label")): note for note in notes}
        nodes = self._blocks(blocks)
        if unreferenced := tuple(self._notes.values()):  # Footnotes without a reference come last.
            self._notes = {}
            nodes.append(self._block(Block("footnotes", children=unreferenced)))
        return nodes

    def _blocks(self, blocks: Iterable[Block]) -> list[Json]:
        return [self._block(block) for block in blocks if block.kind != "footnotes"]

    def _block(self, block: Block) -> Json:
        attrs, key = block.attrs, block.key
        match block.kind:
            case "paragraph":
                return _node("paragraph", key, _alignment(attrs), self._nodes_of_runs(block.runs) or [_leaf("")])
            case "heading":
                level = attrs.get("level", 1)
                data = {"id": attrs.get("id"), **_alignment(attrs), "level": level if level > 3 else None}
                return _node(f"heading-{min(level, 3)}", key, _without_none(data), self._nodes_of_runs(block.runs))
            case "list":
                return self._list(block)
            case "item" | "task":
                data = {"checked": bool(attrs.get("checked"))} if block.kind == "task" else {}
                return _node("list-item", key, data, self._blocks(block.children))
            case "code":
                return self._code(block)
            case "math":
                return _void("math", key, {"formula": block.text})
            case "figure":
                return self._figure(block)
            case "image":
                return self._image(block)
            case "expandable":
                fragments = [
                    _fragment("expandable-title", [_paragraph("", self._nodes_of_runs(block.runs))]),
                    _fragment("expandable-body", self._blocks(block.children)),
                ]
                return {**_void("expandable", key, _without_none({"open": attrs.get("open")})), "fragments": fragments}
            case "table" | "cards":
                return self._table(block)
            case "tab":
                own_slug = attrs.get("slug") if attrs.get("slug") != anchor_of_title(attrs.get("title", "")) else None
                return self._node(
                    "tabs-item", block, {"title": attrs.get("title"), "icon": attrs.get("icon"), "slug": own_slug}
                )
            case "column":
                width = attrs.get("width")
                data = {**_json_attrs(attrs), "width": width if width is None or width > 1 else f"{width}%"}
                return self._node("column", block, data)
            case "prompt":
                return self._node(
                    "prompt", block, {**_json_attrs(attrs, "expanded"), "defaultExpanded": attrs.get("expanded")}
                )
            case "embed":
                return self._node_with_caption("embed", block, _json_attrs(attrs))
            case "file":
                return self._node_with_caption("file", block, {"ref": link_reference(attrs.get("src") or "")})
            case "content-ref":
                return self._node_with_caption("content-ref", block, {"ref": link_reference(attrs.get("url") or "")})
            case "include":
                return self._node(
                    "reusable-content", block, {"ref": link_reference(attrs.get("target") or "")}, is_void=True
                )
            case "openapi":
                return self._openapi(block)
            case "integration":
                integration, _, name = str(attrs.get("name", "")).rpartition("/")
                props = attrs.get("arguments", {})
                data = {"integration": integration, "block": name, "props": dict(props), "url": props.get("url")}
                return self._node("integration", block, data, is_void=True)
            case kind:
                return self._node(_NODE_TYPES[kind], block, _json_attrs(attrs), is_void=kind == "divider")

    def _node(self, name: str, block: Block, data: Json, *, is_void: bool = False) -> Json:
        """Return the JSON node for a block with its children. If `is_void`, a node without children gets `isVoid`."""
        if is_void and not block.children:
            return _void(name, block.key, _without_none(data))
        return _node(name, block.key, _without_none(data), self._blocks(block.children))

    def _node_with_caption(self, name: str, block: Block, data: Json) -> Json:
        caption = [_fragment("caption", [_paragraph("", self._nodes_of_runs(block.runs))])] if block.runs else []
        node = self._node(name, block, data, is_void=True)
        return {**node, "fragments": caption} if caption else node

    def _list(self, block: Block) -> Json:
        attrs = block.attrs
        is_ordered = bool(attrs.get("ordered"))
        has_only_tasks = bool(block.children) and all(item.kind == "task" for item in block.children) and not is_ordered
        start = attrs.get("start", 1)
        tight = attrs.get("tight")
        data = {
            "start": start if is_ordered and start != 1 else None,
            "tight": tight if tight is not None and tight != is_tight(block.children) else None,
        }
        return _node(
            "list-tasks" if has_only_tasks else _LIST_TYPES[is_ordered],
            block.key,
            _without_none(data),
            self._blocks(block.children),
        )

    def _code(self, block: Block) -> Json:
        attrs = block.attrs
        data = _json_attrs(attrs, "language", "wrap", "highlighted", "notes") | {
            "syntax": attrs.get("language") or None
        }
        if "wrap" in attrs:
            data["overflow"] = "wrap" if attrs["wrap"] else "scroll"
        highlighted, notes = set(attrs.get("highlighted", ())), attrs.get("notes", ())
        nodes = []
        for number, line in enumerate(block.text.split("\n")):
            words = [_leaf(line)]
            for label in [label for line_number, label in notes if line_number == number]:
                words = (
                    [self._footnote_reference(label, words)]
                    if words[0]["object"] == "text"
                    else [*words, self._footnote_reference(label, [])]
                )
            nodes.append(_node("code-line", "", {"highlighted": True} if number in highlighted else {}, words))
        return _node("code", block.key, _without_none(data), nodes)

    def _figure(self, block: Block) -> Json:
        attrs = block.attrs
        (first, *other_images) = block.children or (Block("image"),)
        if (
            first.attrs.get("drawing")
            and not other_images
            and not attrs
            and set(first.attrs) <= {"src", "drawing", "alt"}
            and not first.runs
        ):
            data = {"ref": link_reference(first.attrs.get("src") or ""), "alt": first.attrs.get("alt") or None}
            return _void("drawing", block.key, _without_none(data))
        data = {**_json_attrs(attrs), "align": _ALIGNMENTS.get(attrs.get("align", ""), attrs.get("align"))}
        return _node("images", block.key, _without_none(data), self._blocks(block.children))

    def _image(self, image: Block) -> Json:
        attrs = image.attrs
        data = _json_attrs(attrs, "src", "dark", "link") | {
            "ref": link_reference(attrs.get("src") or ""),
            "alt": attrs.get("alt") or "",
        }
        data |= {"refDark": _optional_reference(attrs.get("dark")), "link": _optional_reference(attrs.get("link"))}
        data |= {
            name: int(text)
            for name in ("width", "height")
            if (text := str(attrs.get(name, ""))).isdecimal() and str(int(text)) == text
        }
        return self._node_with_caption("image", image, data)

    def _openapi(self, block: Block) -> Json:
        attrs = block.attrs
        variant, spec, src = attrs.get("variant"), attrs.get("spec"), attrs.get("src")
        data = _json_attrs(attrs, "variant", "spec", "src", "schemas")
        data["ref"] = {"kind": "openapi", "spec": spec} if spec else _optional_reference(src)
        data["src"] = src if spec else None
        data["schemas"] = list(attrs["schemas"]) if "schemas" in attrs else None
        is_swagger = variant == "file" or (variant == "operation" and src and not spec and attrs.get("path"))
        return self._node_with_caption("swagger" if is_swagger else f"openapi-{variant}", block, data)

    def _table(self, block: Block) -> Json:
        """Return the JSON node for a table. A cell is a value, or the name of a fragment with its text."""
        attrs, is_cards = block.attrs, block.kind == "cards"
        columns: Sequence[TableColumn] = attrs.get("columns", ())
        fragments: list[Json] = []
        definition: Json = {}
        view: Json = {"type": "cards" if is_cards else "grid", "columns": []}
        names = [f"c{number}" for number in range(len(columns))]
        for name, column in zip(names, columns, strict=True):
            column_definition: Json = {"id": name, "title": plain_text(column.title), "type": column.type}
            column_definition["textAlignment"] = column.align or ("left" if column.type == "text" else None)
            column_definition["max"] = column.max if column.type == "rating" or column.max != 5 else None
            if column.options:
                column_definition["options"] = [
                    {"value": value, "label": label} for value, label in column.options.items()
                ]
            if column.title and column.title != (Run(plain_text(column.title)),):
                column_definition["titleFragment"] = f"title-{name}"
                fragments.append(_fragment(f"title-{name}", [_paragraph("", self._nodes_of_runs(column.title))]))
            definition[name] = _without_none(column_definition)
            if not column.hidden:
                view["columns"].append(name)
            if column.width is not None:
                view.setdefault("columnWidths", {})[name] = column.width
            if column.role:
                view[_CARD_DEFINITIONS[column.role]] = name
        if is_cards:
            view |= {"cardSize": attrs.get("size", "medium"), "hideColumnTitle": attrs.get("titles_hidden")}
        else:
            view |= {
                "hideHeader": bool(attrs.get("header_hidden")),
                "stickyHeader": attrs.get("header_sticky"),
                "search": attrs.get("search"),
            }
        records: Json = {}
        for number, row in enumerate(block.children):
            values, spans = {}, {}
            for name, column, cell in zip(names, columns, row.children, strict=False):
                value = _typed_value(cell, column)
                if value is None and cell.runs:
                    value = f"r{number}{name}"
                    fragments.append(_fragment(value, [_paragraph(cell.key, self._nodes_of_runs(cell.runs))]))
                values[name] = value
                if span := {kind: cell.attrs[kind] for kind in ("colspan", "rowspan") if kind in cell.attrs}:
                    spans[name] = span
            records[f"r{number}"] = _without_none(
                {"orderIndex": number, "values": values, "head": row.attrs.get("head"), "spans": spans or None}
            )
        data = {
            "view": _without_none(view),
            "definition": definition,
            "records": records,
            "fullWidth": attrs.get("full_width"),
        }
        return {**_void("table", block.key, _without_none(data)), "fragments": fragments}

    def _nodes_of_runs(self, runs: Iterable[Run]) -> list[Json]:
        """Return JSON nodes for runs. Adjacent runs with the same link become one link node."""
        nodes: list[Json] = []
        for link, linked_runs in groupby(
            runs, key=lambda run: run.link if run.kind not in ("button", "mention") else None
        ):
            inside = [self._node_of_run(run) for run in linked_runs]
            nodes += [_inline("link", {"ref": link_reference(link)}, inside)] if link is not None else inside
        return nodes

    def _node_of_run(self, run: Run) -> Json:
        attrs = run.attrs
        marks = sorted(_JSON_MARKS[mark] for mark in run.marks if mark in _JSON_MARKS)
        data: Json
        match run.kind:
            case "math":
                data = {"formula": run.text}
                name = "inline-math"
            case "emoji" if code := attrs.get("code"):
                name, data = "emoji", {"code": code}
            case "icon":
                name, data = "icon", {"icon": attrs.get("name", "")}
            case "expression":
                name, data = "expression", {"expression": run.text}
            case "image":
                image_attrs = {each: attrs.get(each) for each in ("size", "width", "height")}
                image_attrs |= {
                    "caption": attrs.get("title"),
                    "refDark": _optional_reference(attrs.get("dark")),
                    "drawing": attrs.get("drawing"),
                }
                name, data = (
                    "inline-image",
                    {"ref": link_reference(attrs.get("src") or ""), "alt": run.text, **image_attrs},
                )
            case "mention":
                name = "mention"
                data = {"ref": link_reference(run.link or ""), "title": run.text if run.text != run.link else None}
            case "button":
                action = {each: attrs[each] for each in ("action", "query") if each in attrs}
                data = {"label": run.text, "kind": attrs.get("style", "primary"), "icon": attrs.get("icon")}
                data |= {
                    "ref": _optional_reference(run.link),
                    "action": action or None,
                    "disabled": attrs.get("disabled"),
                }
                name = "button"
            case "footnote":
                label, is_inline = str(attrs.get("label", "")), attrs.get("inline")
                colors = {name: attrs[name] for name in ("color", "background") if name in attrs}
                return self._footnote_reference(label, [_leaf(run.text, marks, colors)] if is_inline else [], marks)
            case _:
                if run.kind == "code":
                    marks = sorted({*marks, "code"})
                return _leaf(run.text, marks, attrs)
        return _inline(name, _without_none({**data, "marks": marks or None}))

    def _footnote_reference(self, label: str, nodes: list[Json], marks: Sequence[str] = ()) -> Json:
        """Return the JSON node of a footnote reference around `nodes`. Only the first reference contains the text."""
        node = _inline("annotation", {"label": label, **({"marks": marks} if marks and not nodes else {})}, nodes)
        if (note := self._notes.pop(label, None)) is not None:
            node["fragments"] = [_fragment("annotation-body", self._blocks(note.children))]
        return node


def is_tight(items: Iterable[Block | DraftBlock]) -> bool:
    """Return whether a list without an attribute `tight` counts as tight: no item has more than one paragraph."""
    return all(sum(child.kind == "paragraph" for child in item.children) < 2 for item in items)


def _alignment(attrs: Mapping[str, Any]) -> Json:
    align = attrs.get("align")
    return _without_none({"align": _ALIGNMENTS.get(align, align) if align else None, "dir": attrs.get("dir")})


def _json_attrs(attrs: Mapping[str, Any], *excluded: str) -> Json:
    items = (
        (name, list(value) if isinstance(value, tuple) else value)
        for name, value in attrs.items()
        if name not in excluded
    )
    return {JSON_NAMES.get(name, name): dict(value) if isinstance(value, Mapping) else value for name, value in items}


def _typed_value(cell: Block, column: TableColumn) -> Any:
    """Return the value of a cell in the type of its column. None if the cell must name a fragment with its text."""
    text = plain_text(cell.runs)
    if isinstance(value := cell.attrs.get("value"), bool):
        return value if text.strip().lower() == str(value).lower() else None
    if isinstance(value, int):
        return value if text.strip() == str(value) else None
    if cell.runs != (Run(text),):
        (run, *other_runs) = cell.runs or (Run(""),)
        is_url = bool(run.link) and not other_runs and run == Run(text, link=text)
        return link_reference(text) if is_url and column.type in ("content-ref", "image") else None
    if column.type == "number" and re.fullmatch(r"-?(?:0|[1-9]\d{0,14})", text):
        return int(text)
    if column.type == "select":
        return next(([value] for value, label in column.options.items() if label == text), None)
    return None


def _without_none(data: Json) -> Json:
    return {name: value for name, value in data.items() if value is not None}


def _optional_reference(url: str | None) -> Json | None:
    return link_reference(url) if url else None


def link_reference(url: str) -> Json:
    """Return the JSON reference to the page, file, reusable content or anchor that `url` names, else to the URL."""
    target, _, anchor = url.partition("#")
    for prefix, kind in (("/pages/", "page"), ("/files/", "file")):
        if url.endswith("#"):
            break
        if target.startswith(prefix) and (name := target.removeprefix(prefix)) and "/" not in name and "." not in name:
            if anchor and kind == "page":
                return {"kind": "anchor", "anchor": anchor, "page": name}
            return {"kind": kind, kind: name} if not anchor else {"kind": "url", "url": url}
    if url.startswith("/reusable-content/") and "/" not in (name := url.removeprefix("/reusable-content/")) and name:
        return {"kind": "reusable-content", "reusableContent": name}
    if anchor and not target:
        return {"kind": "anchor", "anchor": anchor}
    return {"kind": "url", "url": url}


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


def _leaf(text: str, marks: Iterable[str] = (), attrs: Mapping[str, Any] = NO_ATTRS) -> Json:
    mark_nodes: list[Json] = [{"object": "mark", "type": mark} for mark in marks if mark != "mark" or not attrs]
    if attrs:
        colors = {"text": attrs.get("color", "default"), "background": attrs.get("background", "default")}
        mark_nodes.append({"object": "mark", "type": "color", "data": colors})
    return {"object": "text", "leaves": [{"object": "leaf", "text": text, "marks": mark_nodes}]}
