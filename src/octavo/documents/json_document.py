"""Reads pages in the platform's JSON format into the same block tree as Markdown.

The blocks have no source lines. Their keys come from the platform. An unknown block becomes a block of the kind
`unknown` with all its text. Content that a block should not have is added after the block.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from octavo.documents.anchors import anchor_of_title
from octavo.documents.block_finalizer import BlockFinalizer
from octavo.documents.blocks import Diagnostic, Document, DraftBlock
from octavo.documents.json_inline import (
    MAX_JSON_DEPTH,
    InlineReader,
    JsonTable,
    all_text,
    as_object,
    as_text,
    nodes_in,
    reference_url,
    texts_in,
)
from octavo.documents.markdown_to_json import is_tight

_ALIGNMENTS = {"start": "left", "left": "left", "center": "center", "end": "right", "right": "right"}
_EXPANDED_VALUES = ("hidden", "partial", "full")


def read_document(document: Any) -> Document:
    """Return the page for a JSON document. An invalid document is read as far as possible."""
    reader, finalizer = _JsonReader(), BlockFinalizer()
    drafts = reader.blocks(as_object(document).get("nodes"), 0)
    blocks = finalizer.finalize([*drafts, *reader.footnotes()])
    title = next((heading.title for heading in finalizer.headings if heading.level == 1), "")
    return Document(title, tuple(blocks), "", tuple(reader.diagnostics), tuple(finalizer.headings))


class _Node:
    """A block of the JSON document. The `take_` methods remove what they return. `remaining_blocks` reads the rest."""

    def __init__(self, raw: dict[str, Any], depth: int, reader: _JsonReader) -> None:
        self.raw, self.depth = raw, depth
        self.kind = as_text(raw.get("type"))
        self.data = as_object(raw.get("data"))
        self.reader = reader
        self.unexpected_nodes: list[dict[str, Any]] = []
        self._nodes: Any = raw.get("nodes")
        self._fragments = {as_text(node.get("fragment")): node.get("nodes") for node in nodes_in(raw.get("fragments"))}

    def take_nodes(self) -> list[dict[str, Any]]:
        nodes, self._nodes = self._nodes, None
        return nodes_in(nodes)

    def take_fragment(self, name: str) -> list[dict[str, Any]]:
        return nodes_in(self._fragments.pop(name, None))

    def take_fragments(self) -> dict[str, Any]:
        fragments, self._fragments = self._fragments, {}
        return fragments

    def paragraph(self, nodes: list[dict[str, Any]]) -> DraftBlock:
        """Return a paragraph with the text of `nodes`, which are inline nodes, or blocks around them."""
        if any(node.get("object") == "block" for node in nodes):
            nodes = [inner for node in nodes for inner in nodes_in(node.get("nodes")) or [node]]
        return DraftBlock("paragraph", runs=self.reader.inline.runs(nodes))

    def remaining_blocks(self) -> list[DraftBlock]:
        blocks = self.reader.blocks(self.unexpected_nodes, self.depth + 1) + self.blocks()
        for name in list(self._fragments):
            blocks += self.reader.blocks(self.take_fragment(name), self.depth + 1)
        return blocks

    def child_nodes(self) -> list[_Node]:
        return [_Node(raw, self.depth + 1, self.reader) for raw in self.take_nodes()]

    def with_key(self, draft: DraftBlock) -> DraftBlock:
        """Give `draft` the key of this node, mark `draft` as plain text, and return `draft`."""
        draft.key, draft.is_plain_text = as_text(self.raw.get("key")), True
        return draft

    def blocks(self) -> list[DraftBlock]:
        return self.reader.blocks(self.take_nodes(), self.depth + 1)

    def text(self, name: str) -> str:
        return as_text(self.data.get(name))

    def url(self, name: str = "ref") -> str:
        return reference_url(self.data.get(name))

    def text_attributes(self, **names: str) -> dict[str, str]:
        """Return the non-empty texts in JSON fields as attributes. `names` maps attribute names to field names."""
        return {attribute: value for attribute, field in names.items() if (value := self.text(field))}

    def flags(self, **names: str) -> dict[str, bool]:
        """Return the booleans in JSON fields as attributes. `names` maps attributes to fields."""
        return {
            attribute: self.data[field] for attribute, field in names.items() if isinstance(self.data.get(field), bool)
        }


class _JsonReader:
    """Reads the blocks of one JSON document."""

    def __init__(self) -> None:
        self.inline = InlineReader()
        self.unreferenced_notes: list[DraftBlock] = []
        """Footnotes to which nothing on the page refers."""
        self.diagnostics: list[Diagnostic] = []

    def blocks(self, nodes: Any, depth: int) -> list[DraftBlock]:
        """Return the blocks for JSON nodes. Text between blocks becomes a paragraph."""
        drafts: list[DraftBlock] = []
        texts_between: list[dict[str, Any]] = []
        for node in nodes_in(nodes):
            if node.get("object") in ("inline", "text") or "leaves" in node:
                texts_between.append(node)
                continue
            drafts += self._paragraph(texts_between)
            texts_between = []
            drafts += self._draft_blocks(node, depth)
        return drafts + self._paragraph(texts_between)

    def footnotes(self) -> list[DraftBlock]:
        """Return a list with one block, which contains all footnotes of the page. Empty if there are no footnotes."""
        notes = DraftBlock("footnotes")
        index = 0
        while index < len(self.inline.notes):
            label, body = self.inline.notes[index]
            inner = self.blocks(body, MAX_JSON_DEPTH // 2)
            index += 1
            notes.children.append(DraftBlock("footnote", {"label": label}, inner))
        notes.children += self.unreferenced_notes
        return [notes] if notes.children else []

    def _paragraph(self, nodes: list[dict[str, Any]]) -> list[DraftBlock]:
        runs = self.inline.runs(nodes)
        return [DraftBlock("paragraph", runs=runs)] if runs else []

    def _draft_blocks(self, raw: dict[str, Any], depth: int) -> list[DraftBlock]:
        if depth > MAX_JSON_DEPTH:
            self.diagnostics.append(
                Diagnostic(0, "This block has too many nested levels, so it is shown as plain text.")
            )
            return self._paragraph([{"leaves": [{"text": " ".join(texts_in(raw))}]}])
        node = _Node(raw, depth, self)
        if node.kind == "footnotes":
            self.unreferenced_notes += [
                child.with_key(DraftBlock("footnote", {"label": child.text("label")}, child.remaining_blocks()))
                for child in node.child_nodes()
            ]
            return node.remaining_blocks()
        draft = node.with_key((_READERS.get(node.kind) or _unknown_block)(node))
        return [draft, *node.remaining_blocks()]


def _text_block_reader(kind: str) -> Callable[[_Node], DraftBlock]:
    def read(node: _Node) -> DraftBlock:
        draft = node.paragraph(node.take_nodes())
        align = _ALIGNMENTS.get(node.text("align"), "left")
        draft.kind, draft.attrs = kind, {"align": align} if align != "left" else {}
        if kind == "paragraph":
            draft.attrs |= node.text_attributes(dir="dir")
        return draft

    return read


def _heading(node: _Node) -> DraftBlock:
    draft = _text_block_reader("heading")(node)
    explicit_id = node.text("id") or as_text(as_object(node.raw.get("meta")).get("id"))
    level = node.kind.removeprefix("heading-")
    exact_level = node.data.get("level")
    draft.attrs = {
        "level": exact_level if isinstance(exact_level, int) and 3 < exact_level <= 6 else int(level),
        **({"id": explicit_id} if explicit_id else {}),
        **draft.attrs,
    }
    return draft


def _list(node: _Node) -> DraftBlock:
    start = node.data.get("start", 1)
    attrs: dict[str, Any] = {
        "ordered": node.kind == "list-ordered",
        "start": start if isinstance(start, int) and 0 <= start < 10**9 else 1,
    }
    draft = DraftBlock("list", attrs)
    for item in node.child_nodes():
        if item.kind != "list-item":
            draft.children += node.reader.blocks([item.raw], item.depth)
            continue
        is_task = isinstance(item.data.get("checked"), bool) or node.kind == "list-tasks"
        kind, item_attrs = ("task", {"checked": item.data.get("checked") is True}) if is_task else ("item", {})
        draft.children.append(item.with_key(DraftBlock(kind, item_attrs, item.remaining_blocks())))
    tight = node.data.get("tight")
    attrs["tight"] = tight if isinstance(tight, bool) else is_tight(draft.children)
    return draft


def _code(node: _Node) -> DraftBlock:
    attrs: dict[str, Any] = {"language": node.text("syntax"), **node.text_attributes(title="title")}
    attrs |= node.flags(numbers="lineNumbers", expandable="expandable", full_width="fullWidth", source="source")
    if overflow := node.text("overflow"):
        attrs["wrap"] = overflow == "wrap"
    lines: list[str] = []
    highlighted_lines: list[int] = []
    notes: list[tuple[int, str]] = []
    for line in node.child_nodes():
        runs = node.reader.inline.untrimmed_runs(line.take_nodes() if line.kind == "code-line" else [line.raw])
        if line.data.get("highlighted") is True:
            highlighted_lines.append(len(lines))
        notes += [(len(lines), run.attrs["label"]) for run in runs if run.kind == "footnote"]
        texts = [run.text for run in runs if run.kind != "footnote" or run.attrs.get("inline")]
        lines += "".join(texts).split("\n")
    if highlighted_lines:
        attrs["highlighted"] = tuple(highlighted_lines)
    if notes:
        attrs["notes"] = tuple(notes)
    return DraftBlock("code", attrs, text="\n".join(lines))


def _images(node: _Node) -> DraftBlock:
    draft = DraftBlock("figure", node.flags(frame="withFrame", full_width="fullWidth"))
    draft.attrs = {name: value for name, value in draft.attrs.items() if value}
    if align := _ALIGNMENTS.get(node.text("align")):
        draft.attrs["align"] = align
    for image in node.child_nodes():
        if image.kind == "image":
            draft.children.append(image.with_key(_image(image)))
        else:
            node.unexpected_nodes.append(image.raw)
    return draft


def _figure(node: _Node) -> DraftBlock:
    return DraftBlock("figure", children=[_image(node)])


def _image(node: _Node) -> DraftBlock:
    attrs: dict[str, Any] = {"src": node.url(), "dark": node.url("refDark"), "link": node.url("link")}
    attrs |= node.text_attributes(alt="alt", width="width", height="height", title="title", size="size")
    attrs |= node.flags(drawing="drawing")
    caption = node.paragraph(node.take_fragment("caption"))
    return DraftBlock(
        "image", {name: value for name, value in attrs.items() if value or name == "src"}, runs=caption.runs
    )


def _drawing(node: _Node) -> DraftBlock:
    figure = _figure(node)
    figure.children[0].attrs["drawing"] = True
    return figure


def _add_caption(draft: DraftBlock, node: _Node) -> DraftBlock:
    draft.runs = node.paragraph(node.take_fragment("caption")).runs
    return draft


def _embed(node: _Node) -> DraftBlock:
    url = node.url("url") or node.url()
    return _add_caption(
        DraftBlock("embed", {"url": url, **node.text_attributes(html="html"), **node.flags(full_width="fullWidth")}),
        node,
    )


def _expandable(node: _Node) -> DraftBlock:
    title = node.paragraph(node.take_fragment("expandable-title"))
    body = node.reader.blocks(node.take_fragment("expandable-body"), node.depth + 1)
    return DraftBlock("expandable", {"open": node.data.get("open") is True}, body, title.runs)


def _container_reader(kind: str, *texts: str, flags: tuple[str, ...] = ()) -> Callable[[_Node], DraftBlock]:
    """Return a function that reads a JSON node as a block of `kind` with children. `texts` and `flags` are the names of
    the JSON fields that become attributes with the same names."""
    names, flag_names = ({name: name for name in each} for each in (texts, flags))
    return lambda node: DraftBlock(kind, {**node.text_attributes(**names), **node.flags(**flag_names)}, node.blocks())


def _series_reader(kind: str, child: str, read: Callable[[_Node], DraftBlock]) -> Callable[[_Node], DraftBlock]:
    """Return a function that reads a block of the kind `kind`. `read` reads each element with the JSON type `child`."""

    def read_series(node: _Node) -> DraftBlock:
        draft = DraftBlock(kind, node.flags(full_width="fullWidth"))
        for child_node in node.child_nodes():
            if child_node.kind == child:
                member = child_node.with_key(read(child_node))
                member.children += child_node.remaining_blocks()
                draft.children.append(member)
            else:
                draft.children += node.reader.blocks([child_node.raw], child_node.depth)
        return draft

    return read_series


def _tab(node: _Node) -> DraftBlock:
    title = node.text("title")
    attrs = {"title": title, "slug": node.text("slug") or anchor_of_title(title), **node.text_attributes(icon="icon")}
    return DraftBlock("tab", attrs, node.blocks())


def _column(node: _Node) -> DraftBlock:
    attrs: dict[str, Any] = node.text_attributes(valign="verticalAlignment")
    try:
        width = float(node.text("width").rstrip("% "))
    except ValueError:
        width = 0.0
    width = width * 100 if 0 < width <= 1 and "%" not in node.text("width") else width
    return DraftBlock("column", {"width": width, **attrs} if 0 < width <= 100 else attrs, node.blocks())


def _updates(node: _Node) -> DraftBlock:
    draft = _series_reader("updates", "update", _update)(node)
    draft.attrs["format"] = node.text("format") or "full"
    return draft


def _update(node: _Node) -> DraftBlock:
    tags = node.data.get("tags")
    tag_items = tags if isinstance(tags, list) else ()
    names = tags.split(",") if isinstance(tags, str) else [all_text(item) for item in tag_items if all_text(item)]
    return DraftBlock(
        "update", {"date": node.text("date"), "tags": tuple(filter(None, map(str.strip, names)))}, node.blocks()
    )


def _prompt(node: _Node) -> DraftBlock:
    attrs: dict[str, Any] = node.text_attributes(description="description", icon="icon")
    attrs["expanded"] = expanded if (expanded := node.text("defaultExpanded")) in _EXPANDED_VALUES else "partial"
    return DraftBlock("prompt", {**attrs, **node.flags(providers="openInAIProviders")}, node.blocks())


def _hint(node: _Node) -> DraftBlock:
    attrs = {"style": node.text("style") or "info", **node.text_attributes(icon="icon")}
    return DraftBlock("hint", attrs, node.blocks())


def _openapi(node: _Node) -> DraftBlock:
    variant = ("operation" if node.text("path") else "file") if node.kind == "swagger" else node.kind
    blocks = node.blocks()
    attrs: dict[str, Any] = {"variant": variant.removeprefix("openapi-")}
    if ref := node.url():
        attrs["spec" if as_object(node.data.get("ref")).get("kind") == "openapi" else "src"] = ref
    attrs |= node.text_attributes(src="src", path="path", method="method", name="name")
    schemas = node.data.get("schemas")
    if names := tuple(all_text(schema) for schema in schemas if all_text(schema)) if isinstance(schemas, list) else ():
        attrs["schemas"] = names
    attrs |= node.flags(grouped="grouped", expanded="expanded", full_width="fullWidth")
    if "method" in attrs:
        attrs["method"] = attrs["method"].lower()
    return _add_caption(DraftBlock("openapi", attrs, blocks), node)


def _integration(node: _Node) -> DraftBlock:
    arguments = {as_text(name): all_text(value) for name, value in as_object(node.data.get("props")).items()}
    if url := node.url("url"):
        arguments.setdefault("url", url)
    name = "/".join(filter(None, (node.text("integration"), node.text("block"))))
    attrs = {"name": name, "arguments": arguments}
    return DraftBlock("integration", attrs, node.blocks(), text=arguments.get("content", ""))


def _unknown_block(node: _Node) -> DraftBlock:
    arguments = {as_text(name): text for name, value in node.data.items() if (text := all_text(value))}
    name = node.kind
    if name == "unknown":  # The tag comes from Markdown: its name is the argument `name`.
        name = arguments.pop("name", name)
        raw_arguments = as_object(node.data.get("arguments"))
        arguments = {as_text(argument): all_text(value) for argument, value in raw_arguments.items()}
    return DraftBlock("unknown", {"name": name, "arguments": arguments}, node.remaining_blocks())


_READERS: dict[str, Callable[[_Node], DraftBlock]] = {
    "paragraph": _text_block_reader("paragraph"),
    **{f"heading-{level}": _heading for level in range(1, 7)},
    **dict.fromkeys(("list-ordered", "list-unordered", "list-tasks"), _list),
    "divider": lambda node: DraftBlock("divider"),
    "blockquote": _container_reader("quote"),
    "hint": _hint,
    "code": _code,
    "images": _images,
    "image": _figure,
    "drawing": _drawing,
    "file": lambda node: _add_caption(DraftBlock("file", {"src": node.url()}), node),
    "embed": _embed,
    "table": lambda node: JsonTable(node.data, node.take_fragments(), node.reader.inline).to_draft_block(),
    "math": lambda node: DraftBlock("math", text=node.text("formula").strip()),
    "expandable": _expandable,
    "tabs": _series_reader("tabs", "tabs-item", _tab),
    "stepper": _series_reader("stepper", "stepper-step", _container_reader("step", "icon")),
    "columns": _series_reader("columns", "column", _column),
    "updates": _updates,
    "prompt": _prompt,
    "if": _container_reader("if", "expression"),
    "else": _container_reader("else", "expression"),
    "api-method": _container_reader("api-method", "method", "path", "host", "summary"),
    "api-section": _container_reader("api-section", "name"),
    "api-parameter": _container_reader("api-parameter", "name", "type", "in", flags=("required",)),
    "api-response": _container_reader("api-response", "status", "description"),
    "conflict": _container_reader("conflict"),
    "side": _container_reader("side", "name"),
    **dict.fromkeys(("swagger", "openapi-operation", "openapi-schemas", "openapi-webhook"), _openapi),
    "content-ref": lambda node: _add_caption(DraftBlock("content-ref", {"url": node.url()}), node),
    "reusable-content": lambda node: DraftBlock("include", {"target": node.url()}, node.blocks()),
    "integration": _integration,
}
