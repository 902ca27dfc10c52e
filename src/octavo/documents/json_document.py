"""Pages in the platform's JSON form, read into the same tree of blocks as markdown.

A document has no source: its blocks stand on no lines. Blocks have the keys the platform gives them. What is unknown
here is a labelled box with all its words, and what a block holds besides what it should stands after it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from octavo.documents.anchors import slug
from octavo.documents.block_finalizer import finalize_blocks
from octavo.documents.blocks import Diagnostic, Document
from octavo.documents.json_inline import (
    MAX_JSON_DEPTH,
    InlineReader,
    all_text,
    mapping,
    objects,
    reference_url,
    text_of,
    texts_in,
)
from octavo.documents.json_table import JsonTable
from octavo.documents.markdown_to_json import is_tight
from octavo.documents.open_blocks import DraftBlock

_ALIGNMENTS = {"start": "left", "left": "left", "center": "center", "end": "right", "right": "right"}
_EXPANDED = ("hidden", "partial", "full")


def read_document(document: Any) -> Document:
    """The page that a JSON document is, whatever it holds."""
    reader = _Reader()
    root = DraftBlock("document", children=reader.blocks(mapping(document).get("nodes"), 0))
    root.children += reader.footnotes()
    blocks, headings = finalize_blocks(root)
    title = next((heading.title for heading in headings if heading.level == 1), "")
    return Document(title, blocks, "", tuple(reader.diagnostics), headings)


class _Node:
    """A block as it is being read: knows what of it was taken."""

    def __init__(self, raw: dict[str, Any], depth: int, reader: _Reader) -> None:
        self.raw, self.depth = raw, depth
        self.kind = text_of(raw.get("type"))
        self.data = mapping(raw.get("data"))
        self.reader = reader
        self.spare: list[dict[str, Any]] = []
        self._nodes: Any = raw.get("nodes")
        self._fragments = {text_of(each.get("fragment")): each.get("nodes") for each in objects(raw.get("fragments"))}

    def nodes(self) -> list[dict[str, Any]]:
        """Its children, which are taken once."""
        nodes, self._nodes = self._nodes, None
        return objects(nodes)

    def fragment(self, name: str) -> list[dict[str, Any]]:
        """A named tree in it, which is taken once."""
        return objects(self._fragments.pop(name, None))

    def fragments(self) -> dict[str, Any]:
        """All the named trees in it, which are taken once."""
        fragments, self._fragments = self._fragments, {}
        return fragments

    def words(self, nodes: list[dict[str, Any]]) -> DraftBlock:
        """The words of a title or caption, which may stand in a paragraph: a paragraph with all of them as runs."""
        if any(each.get("object") == "block" for each in nodes):
            nodes = [inner for each in nodes for inner in objects(each.get("nodes")) or [each]]
        return DraftBlock("paragraph", runs=self.reader.words.runs(nodes))

    def rest(self) -> list[DraftBlock]:
        """What nobody took, which is taken now."""
        found = self.reader.blocks(self.spare, self.depth + 1) + self.blocks()
        for name in list(self._fragments):
            found += self.reader.blocks(self.fragment(name), self.depth + 1)
        return found

    def within(self) -> list[_Node]:
        """Its children as nodes."""
        return [_Node(raw, self.depth + 1, self.reader) for raw in self.nodes()]

    def named(self, draft: DraftBlock) -> DraftBlock:
        """What it was read as, with its key."""
        draft.key, draft.exact = text_of(self.raw.get("key")), True
        return draft

    def blocks(self) -> list[DraftBlock]:
        """Its children as blocks."""
        return self.reader.blocks(self.nodes(), self.depth + 1)

    def text(self, name: str) -> str:
        return text_of(self.data.get(name))

    def address(self, name: str = "ref") -> str:
        return reference_url(self.data.get(name))

    def given(self, **names: str) -> dict[str, str]:
        """The texts it has, under the names of blocks."""
        return {ours: said for ours, theirs in names.items() if (said := self.text(theirs))}

    def flags(self, **names: str) -> dict[str, bool]:
        """What it says yes or no to."""
        return {ours: self.data[theirs] for ours, theirs in names.items() if isinstance(self.data.get(theirs), bool)}


class _Reader:
    """Reads one document."""

    def __init__(self) -> None:
        self.words = InlineReader()
        self.unused_notes: list[DraftBlock] = []
        """Footnotes that nothing on the page leads to."""
        self.diagnostics: list[Diagnostic] = []

    def blocks(self, nodes: Any, depth: int) -> list[DraftBlock]:
        """The blocks of a list of nodes. Words among them are paragraphs."""
        found: list[DraftBlock] = []
        loose: list[dict[str, Any]] = []
        for node in objects(nodes):
            if node.get("object") in ("inline", "text") or "leaves" in node:
                loose.append(node)
                continue
            found += self._paragraph(loose)
            loose = []
            found += self._block(node, depth)
        return found + self._paragraph(loose)

    def footnotes(self) -> list[DraftBlock]:
        """The bodies of annotations."""
        notes = DraftBlock("footnotes")
        index = 0
        while index < len(self.words.notes):
            label, body = self.words.notes[index]
            inner = self.blocks(body, MAX_JSON_DEPTH // 2)
            index += 1
            notes.children.append(DraftBlock("footnote", {"label": label}, inner))
        notes.children += self.unused_notes
        return [notes] if notes.children else []

    def _paragraph(self, nodes: list[dict[str, Any]]) -> list[DraftBlock]:
        runs = self.words.runs(nodes)
        return [DraftBlock("paragraph", runs=runs)] if runs else []

    def _block(self, raw: dict[str, Any], depth: int) -> list[DraftBlock]:
        if depth > MAX_JSON_DEPTH:
            self.diagnostics.append(
                Diagnostic(0, "This block has too many nested levels, so it is shown as plain text.")
            )
            return self._paragraph([{"leaves": [{"text": " ".join(texts_in(raw))}]}])
        node = _Node(raw, depth, self)
        if node.kind == "footnotes":
            self.unused_notes += [
                inner.named(DraftBlock("footnote", {"label": inner.text("label")}, inner.rest()))
                for inner in node.within()
            ]
            return node.rest()
        draft = node.named((_READERS.get(node.kind) or _unknown)(node))
        return [draft, *node.rest()]


def _text_block(kind: str) -> Callable[[_Node], DraftBlock]:
    def read(node: _Node) -> DraftBlock:
        draft = node.words(node.nodes())
        align = _ALIGNMENTS.get(node.text("align"), "left")
        draft.kind, draft.attrs = kind, {"align": align} if align != "left" else {}
        if kind == "paragraph":
            draft.attrs |= node.given(dir="dir")
        return draft

    return read


def _heading(node: _Node) -> DraftBlock:
    draft = _text_block("heading")(node)
    own = node.text("id") or text_of(mapping(node.raw.get("meta")).get("id"))
    level = node.kind.removeprefix("heading-")
    deeper = node.data.get("level")
    draft.attrs = {
        "level": deeper if isinstance(deeper, int) and 3 < deeper <= 6 else int(level),
        **({"id": own} if own else {}),
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
    for item in node.within():
        if item.kind != "list-item":
            draft.children += node.reader.blocks([item.raw], item.depth)
            continue
        tasked = isinstance(item.data.get("checked"), bool) or node.kind == "list-tasks"
        kind, of_item = ("task", {"checked": item.data.get("checked") is True}) if tasked else ("item", {})
        draft.children.append(item.named(DraftBlock(kind, of_item, item.rest())))
    tight = node.data.get("tight")
    attrs["tight"] = tight if isinstance(tight, bool) else is_tight(draft.children)
    return draft


def _code(node: _Node) -> DraftBlock:
    attrs: dict[str, Any] = {"language": node.text("syntax"), **node.given(title="title")}
    attrs |= node.flags(numbers="lineNumbers", expandable="expandable", full_width="fullWidth", source="source")
    if overflow := node.text("overflow"):
        attrs["wrap"] = overflow == "wrap"
    lines: list[str] = []
    highlighted: list[int] = []
    notes: list[tuple[int, str]] = []
    for line in node.within():
        runs = node.reader.words.untrimmed(line.nodes() if line.kind == "code-line" else [line.raw])
        if line.data.get("highlighted") is True:
            highlighted.append(len(lines))
        notes += [(len(lines), run.attrs["label"]) for run in runs if run.kind == "footnote"]
        said = [run.text for run in runs if run.kind != "footnote" or run.attrs.get("inline")]
        lines += "".join(said).split("\n")
    if highlighted:
        attrs["highlighted"] = tuple(highlighted)
    if notes:
        attrs["notes"] = tuple(notes)
    return DraftBlock("code", attrs, text="\n".join(lines))


def _images(node: _Node) -> DraftBlock:
    draft = DraftBlock("figure", node.flags(frame="withFrame", full_width="fullWidth"))
    draft.attrs = {name: value for name, value in draft.attrs.items() if value}
    if align := _ALIGNMENTS.get(node.text("align")):
        draft.attrs["align"] = align
    for image in node.within():
        if image.kind == "image":
            draft.children.append(image.named(_image(image)))
        else:
            node.spare.append(image.raw)
    return draft


def _figure(node: _Node) -> DraftBlock:
    return DraftBlock("figure", children=[_image(node)])


def _image(node: _Node) -> DraftBlock:
    attrs: dict[str, Any] = {"src": node.address(), "dark": node.address("refDark"), "link": node.address("link")}
    attrs |= node.given(alt="alt", width="width", height="height", title="title", size="size")
    attrs |= node.flags(drawing="drawing")
    caption = node.words(node.fragment("caption"))
    return DraftBlock(
        "image", {name: value for name, value in attrs.items() if value or name == "src"}, runs=caption.runs
    )


def _drawing(node: _Node) -> DraftBlock:
    figure = _figure(node)
    figure.children[0].attrs["drawing"] = True
    return figure


def _captioned(draft: DraftBlock, node: _Node) -> DraftBlock:
    draft.runs = node.words(node.fragment("caption")).runs
    return draft


def _embed(node: _Node) -> DraftBlock:
    url = node.address("url") or node.address()
    return _captioned(
        DraftBlock("embed", {"url": url, **node.given(html="html"), **node.flags(full_width="fullWidth")}), node
    )


def _expandable(node: _Node) -> DraftBlock:
    title = node.words(node.fragment("expandable-title"))
    body = node.reader.blocks(node.fragment("expandable-body"), node.depth + 1)
    return DraftBlock("expandable", {"open": node.data.get("open") is True}, body, title.runs)


def _container(kind: str, **names: str) -> Callable[[_Node], DraftBlock]:
    return lambda node: DraftBlock(kind, dict(node.given(**names)), node.blocks())


def _series(kind: str, child: str, read: Callable[[_Node], DraftBlock]) -> Callable[[_Node], DraftBlock]:
    """A block that holds blocks of one kind, such as tabs."""

    def read_series(node: _Node) -> DraftBlock:
        draft = DraftBlock(kind, node.flags(full_width="fullWidth"))
        for inner in node.within():
            if inner.kind == child:
                member = inner.named(read(inner))
                member.children += inner.rest()
                draft.children.append(member)
            else:
                draft.children += node.reader.blocks([inner.raw], inner.depth)
        return draft

    return read_series


def _tab(node: _Node) -> DraftBlock:
    title = node.text("title")
    attrs = {"title": title, "slug": node.text("slug") or slug(title), **node.given(icon="icon")}
    return DraftBlock("tab", attrs, node.blocks())


def _column(node: _Node) -> DraftBlock:
    attrs: dict[str, Any] = node.given(valign="verticalAlignment")
    try:
        width = float(node.text("width").rstrip("% "))
    except ValueError:
        width = 0.0
    width = width * 100 if 0 < width <= 1 and "%" not in node.text("width") else width
    return DraftBlock("column", {"width": width, **attrs} if 0 < width <= 100 else attrs, node.blocks())


def _updates(node: _Node) -> DraftBlock:
    draft = _series("updates", "update", _update)(node)
    draft.attrs["format"] = node.text("format") or "full"
    return draft


def _update(node: _Node) -> DraftBlock:
    tags = node.data.get("tags")
    listed = tags if isinstance(tags, list) else ()
    names = tags.split(",") if isinstance(tags, str) else [all_text(each) for each in listed if all_text(each)]
    return DraftBlock(
        "update", {"date": node.text("date"), "tags": tuple(name.strip() for name in names)}, node.blocks()
    )


def _prompt(node: _Node) -> DraftBlock:
    attrs: dict[str, Any] = node.given(description="description", icon="icon")
    attrs["expanded"] = expanded if (expanded := node.text("defaultExpanded")) in _EXPANDED else "partial"
    return DraftBlock("prompt", {**attrs, **node.flags(providers="openInAIProviders")}, node.blocks())


def _hint(node: _Node) -> DraftBlock:
    return DraftBlock("hint", {"style": node.text("style") or "info", **node.given(icon="icon")}, node.blocks())


def _openapi(node: _Node) -> DraftBlock:
    variant = ("operation" if node.text("path") else "file") if node.kind == "swagger" else node.kind
    blocks = node.blocks()
    attrs: dict[str, Any] = {"variant": variant.removeprefix("openapi-")}
    if ref := node.address():
        attrs["spec" if mapping(node.data.get("ref")).get("kind") == "openapi" else "src"] = ref
    attrs |= node.given(src="src", path="path", method="method", name="name")
    schemas = node.data.get("schemas")
    if names := tuple(all_text(each) for each in schemas if all_text(each)) if isinstance(schemas, list) else ():
        attrs["schemas"] = names
    attrs |= node.flags(grouped="grouped", expanded="expanded", full_width="fullWidth")
    if "method" in attrs:
        attrs["method"] = attrs["method"].lower()
    return _captioned(DraftBlock("openapi", attrs, blocks), node)


def _integration(node: _Node) -> DraftBlock:
    arguments = {text_of(name): all_text(value) for name, value in mapping(node.data.get("props")).items()}
    if url := node.address("url"):
        arguments.setdefault("url", url)
    name = "/".join(filter(None, (node.text("integration"), node.text("block"))))
    attrs = {"name": name, "arguments": arguments}
    return DraftBlock("integration", attrs, node.blocks(), text=arguments.get("content", ""))


def _unknown(node: _Node) -> DraftBlock:
    arguments = {text_of(name): said for name, value in node.data.items() if (said := all_text(value))}
    name = node.kind
    if name == "unknown":  # one that no markdown of ours has, either
        name = arguments.pop("name", name)
        given = mapping(node.data.get("arguments"))
        arguments = {text_of(argument): all_text(value) for argument, value in given.items()}
    return DraftBlock("unknown", {"name": name, "arguments": arguments}, node.rest())


def _own_type(kind: str, *texts: str, flags: tuple[str, ...] = ()) -> Callable[[_Node], DraftBlock]:
    """Blocks whose attributes have the same names here: what the platform has no type for."""

    def read(node: _Node) -> DraftBlock:
        attrs = {name: node.text(name) for name in texts if name in node.data}
        return DraftBlock(kind, {**attrs, **node.flags(**{name: name for name in flags})}, node.blocks())

    return read


def _condition(node: _Node) -> DraftBlock:
    return DraftBlock("if", {"expression": node.text("expression")}, node.blocks())


def _table(node: _Node) -> DraftBlock:
    return JsonTable(node.data, node.fragments(), node.reader.words).draft()


_READERS: dict[str, Callable[[_Node], DraftBlock]] = {
    "paragraph": _text_block("paragraph"),
    **{f"heading-{level}": _heading for level in range(1, 7)},
    **dict.fromkeys(("list-ordered", "list-unordered", "list-tasks"), _list),
    "divider": lambda node: DraftBlock("divider"),
    "blockquote": _container("quote"),
    "hint": _hint,
    "code": _code,
    "images": _images,
    "image": _figure,
    "drawing": _drawing,
    "file": lambda node: _captioned(DraftBlock("file", {"src": node.address()}), node),
    "embed": _embed,
    "table": _table,
    "math": lambda node: DraftBlock("math", text=node.text("formula").strip()),
    "expandable": _expandable,
    "tabs": _series("tabs", "tabs-item", _tab),
    "stepper": _series("stepper", "stepper-step", _container("step", icon="icon")),
    "columns": _series("columns", "column", _column),
    "updates": _updates,
    "prompt": _prompt,
    "if": _condition,
    "else": _container("else", expression="expression"),
    "api-method": _own_type("api-method", "method", "path", "host", "summary"),
    "api-section": _own_type("api-section", "name"),
    "api-parameter": _own_type("api-parameter", "name", "type", "in", flags=("required",)),
    "api-response": _own_type("api-response", "status", "description"),
    "conflict": _own_type("conflict"),
    "side": _own_type("side", "name"),
    **dict.fromkeys(("swagger", "openapi-operation", "openapi-schemas", "openapi-webhook"), _openapi),
    "content-ref": lambda node: _captioned(DraftBlock("content-ref", {"url": node.address()}), node),
    "reusable-content": lambda node: DraftBlock("include", {"target": node.address()}, node.blocks()),
    "integration": _integration,
}
