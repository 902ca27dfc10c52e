"""Reads content inside blocks of a JSON document: text as runs, references as URLs, and tables as rows and columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from octavo.api.safety import safe_text
from octavo.documents import emoji
from octavo.documents.blocks import NO_ATTRS, DraftBlock, Run, TableColumn, plain_text
from octavo.documents.html import clean_url
from octavo.documents.inline import trim_runs
from octavo.documents.tables import first_url

MAX_JSON_DEPTH = 40
"""Maximum nesting of JSON nodes. Deeper content is read as plain text."""

MARKS = {
    "bold": "bold",
    "italic": "italic",
    "code": "code",
    "keyboard": "kbd",
    "strikethrough": "strike",
    "superscript": "sup",
    "subscript": "sub",
    "underline": "underline",
    "mark": "mark",
}
"""Marks of runs by their names in JSON documents."""


def nodes_in(value: Any) -> list[dict[str, Any]]:
    """Return the nodes in a JSON list, else an empty list. A string becomes a text node. Other items are skipped."""
    nodes = []
    for each in value if isinstance(value, list) else ():
        if isinstance(each, dict):
            nodes.append(each)
        elif isinstance(each, str):
            nodes.append({"object": "text", "leaves": [{"object": "leaf", "text": each}]})
    return nodes


def as_object(value: Any) -> dict[str, Any]:
    """Return `value` if it is a dict, else an empty dict."""
    return value if isinstance(value, dict) else {}


def as_text(value: Any) -> str:
    """Return a string, number or boolean as text. Empty for values of other types."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return safe_text(value) if isinstance(value, str) else str(value) if isinstance(value, (int, float)) else ""


def all_text(value: Any) -> str:
    """Return all strings, numbers and booleans in a JSON value, at any depth, as one text."""
    texts: list[str] = []
    pending_values = [value]
    while pending_values:
        each = pending_values.pop()
        if isinstance(each, dict):
            pending_values.extend(reversed(list(each.values())))
        elif isinstance(each, list):
            pending_values.extend(reversed(each))
        elif value := as_text(each):
            texts.append(value)
    return " ".join(texts)


def texts_in(node: Any) -> Iterator[str]:
    """Yield all texts in `node`, at any depth. `node` is a node, a list of nodes, or a text."""
    pending_nodes = [node]
    while pending_nodes:
        each = pending_nodes.pop()
        if isinstance(each, list):
            pending_nodes.extend(reversed(each))
        elif isinstance(each, dict):
            if isinstance(each.get("text"), str):
                yield safe_text(each["text"])
            pending_nodes.extend(each[name] for name in ("fragments", "nodes", "leaves") if name in each)
        elif isinstance(each, str):
            yield safe_text(each)


def reference_url(ref: Any) -> str:
    """Return the URL for a JSON reference, in the form of Markdown. Empty if the reference leads nowhere."""
    if isinstance(ref, str):
        return clean_url(ref) or ""
    if not isinstance(ref, dict):
        return ""
    fields = {name: clean_url(value) or "" for name, value in ref.items() if isinstance(value, str)}
    kind, space = fields.get("kind", ""), fields.get("space", "")
    space_url = f"/spaces/{space}" if space else ""
    match kind:
        case "page":
            return f"{space_url}/pages/{fields.get('page', '')}"
        case "anchor":
            page = f"{space_url}/pages/{fields['page']}" if fields.get("page") else space_url
            return f"{page}#{fields.get('anchor', '')}"
        case "file":
            return f"{space_url}/files/{fields.get('file', '')}"
        case "space" | "user" | "collection":
            return f"/{kind}s/{fields.get(kind, '')}"
        case "reusable-content":
            return f"{space_url}/reusable-content/{fields.get('reusableContent', '')}"
        case "openapi":
            return fields.get("spec", "")
    return fields.get("url") or next((value for name, value in fields.items() if name != "kind"), "")


def join_equal_runs(runs: Iterable[Run]) -> list[Run]:
    """Return `runs` with adjacent text runs of the same format joined."""
    joined_runs: list[Run] = []
    for run in runs:
        if joined_runs and run.kind == "text" and joined_runs[-1]._replace(text="") == run._replace(text=""):
            joined_runs[-1] = run._replace(text=joined_runs[-1].text + run.text)
        else:
            joined_runs.append(run)
    return joined_runs


@dataclass(slots=True)
class InlineReader:
    """Reads the text in the blocks of one document. `notes` collects (label, body) of annotations."""

    notes: list[tuple[str, Any]] = field(default_factory=list)

    def runs(self, nodes: Any) -> tuple[Run, ...]:
        """Return the runs for the inline nodes of a block."""
        return trim_runs(self.untrimmed_runs(nodes))

    def untrimmed_runs(self, nodes: Any) -> list[Run]:
        """Return the runs for the inline nodes of a block, including white space at both ends."""
        return join_equal_runs(self._inlines(nodes_in(nodes), 0))

    def _inlines(self, nodes: list[dict[str, Any]], depth: int) -> Iterator[Run]:
        for node in nodes:
            if depth > MAX_JSON_DEPTH:
                yield Run("".join(texts_in(node)))
            elif node.get("object") == "inline" or "leaves" not in node:
                yield from self._inline(node, depth)
            else:
                for leaf in nodes_in(node.get("leaves")):
                    yield from _leaf(leaf)

    def _inline(self, node: dict[str, Any], depth: int) -> Iterator[Run]:
        data = as_object(node.get("data"))
        kind = as_text(node.get("type"))
        inner_runs = list(self._inlines(nodes_in(node.get("nodes")), depth + 1))
        if reader := _VOID_READERS.get(kind):
            yield from (run._replace(marks=_marks_of(data)) for run in reader(data))
            yield from inner_runs
        elif kind == "link":
            link = reference_url(data.get("ref"))
            yield from (run._replace(link=run.link or link) if run.kind != "break" else run for run in inner_runs)
        elif kind == "annotation":
            label = as_text(data.get("label"))
            fragments = nodes_in(node.get("fragments"))
            body = next((each.get("nodes") for each in fragments if each.get("fragment") == "annotation-body"), None)
            if body is not None or not label:
                label = label or str(len(self.notes) + 1)
                self.notes.append((label, body))
            words = "".join(run.text for run in inner_runs)
            marks = inner_runs[0].marks if inner_runs else _marks_of(data)
            attrs = {name: value for run in inner_runs[:1] for name, value in run.attrs.items() if "mark" in run.marks}
            attrs |= {"label": label, "inline": True} if words else {"label": label}
            yield Run(words or label, marks, None, "footnote", attrs)
        else:
            yield from inner_runs or _unknown_runs(kind, node, data)


def _marks_of(data: dict[str, Any]) -> frozenset[str]:
    names = data.get("marks")
    return frozenset(MARKS[name] for name in map(as_text, names if isinstance(names, list) else ()) if name in MARKS)


def _leaf(leaf: dict[str, Any]) -> Iterator[Run]:
    marks: set[str] = set()
    attrs: dict[str, str] = {}
    for mark in nodes_in(leaf.get("marks")):
        name = as_text(mark.get("type"))
        if mark_name := MARKS.get(name):
            marks.add(mark_name)
        elif name == "color":
            data = as_object(mark.get("data"))
            colors = {"color": as_text(data.get("text")), "background": as_text(data.get("background"))}
            attrs |= {key: value for key, value in colors.items() if value not in ("", "default")}
    if attrs:
        marks.add("mark")
    kind = "code" if "code" in marks else "text"
    for number, line in enumerate(as_text(leaf.get("text")).split("\n")):
        if number:
            yield Run("\n", kind="break")
        if line:
            yield Run(line, frozenset(marks), None, kind, attrs or NO_ATTRS)


def _unknown_runs(kind: str, node: dict[str, Any], data: dict[str, Any]) -> Iterator[Run]:
    words = "".join(texts_in(node.get("fragments"))) or as_text(node.get("text"))
    if words:
        yield Run(words)
    elif value := " ".join(filter(None, (kind, all_text(data)))):
        yield Run(value, kind="expression")


def _emoji(data: dict[str, Any]) -> Iterator[Run]:
    code = as_text(data.get("code"))
    yield Run(emoji.from_name(code) or emoji.from_code(code) or code, kind="emoji", attrs={"code": code})


def _image(data: dict[str, Any]) -> Iterator[Run]:
    values: dict[str, Any] = {"src": reference_url(data.get("ref")), "title": as_text(data.get("caption"))}
    values["drawing"] = data.get("drawing") is True
    values |= {name: as_text(data.get(name)) for name in ("size", "width", "height")}
    values["dark"] = reference_url(data.get("refDark"))
    attrs = {name: value for name, value in values.items() if value}
    yield Run(as_text(data.get("alt")), kind="image", attrs=attrs or NO_ATTRS)


def _mention(data: dict[str, Any]) -> Iterator[Run]:
    link = reference_url(data.get("ref"))
    yield Run(as_text(data.get("title")) or link, kind="mention", link=link)


def _button(data: dict[str, Any]) -> Iterator[Run]:
    attrs: dict[str, Any] = {"style": as_text(data.get("kind")) or "primary"}
    fields = {**data, **as_object(data.get("action"))}
    attrs |= {name: value for name in ("icon", "action", "query") if (value := as_text(fields.get(name)))}
    if data.get("disabled") is True:
        attrs["disabled"] = True
    yield Run(as_text(data.get("label")), kind="button", link=reference_url(data.get("ref")) or None, attrs=attrs)


_VOID_READERS: dict[str, Callable[[dict[str, Any]], Iterator[Run]]] = {
    "emoji": _emoji,
    "icon": lambda data: iter([Run("", kind="icon", attrs={"name": as_text(data.get("icon"))})]),
    "expression": lambda data: iter([Run(as_text(data.get("expression")), kind="expression")]),
    "inline-math": lambda data: iter([Run(as_text(data.get("formula")), kind="math")]),
    "inline-image": _image,
    "mention": _mention,
    "button": _button,
}


class JsonTable:
    """Reads one table, or one set of cards, of a JSON document."""

    def __init__(self, data: dict[str, Any], fragments: dict[str, Any], reader: InlineReader) -> None:
        self._reader, self._fragments = reader, fragments
        self._view = as_object(data.get("view"))
        self._full_width = data.get("fullWidth") is True
        self._definition = {
            as_text(name): definition
            for name, definition in as_object(data.get("definition")).items()
            if isinstance(definition, dict)
        }
        records = [each for each in as_object(data.get("records")).values() if isinstance(each, dict)]
        self._records = sorted(records, key=_sort_key)
        self._is_cards = self._view.get("type") == "cards"
        self._roles = {}
        for name, role in (
            ("targetDefinition", "target"),
            ("coverDefinition", "cover"),
            ("coverDefinitionDark", "cover-dark"),
        ):
            if column_name := as_text(self._view.get(name)):
                self._roles[column_name] = role
        columns = self._view.get("columns")
        ids = [as_text(name) for name in columns if isinstance(name, str)] if isinstance(columns, list) else []
        visible_names = [name for name in ids if name in self._definition]
        self._visible_names = set(visible_names)
        self._names = list(dict.fromkeys([*visible_names, *self._definition]))

    def to_draft_block(self) -> DraftBlock:
        columns = tuple(self._column(name) for name in self._names)
        draft = DraftBlock("cards" if self._is_cards else "table", {"columns": columns})
        if self._full_width:
            draft.attrs["full_width"] = True
        if self._is_cards:
            draft.attrs["size"] = "large" if self._view.get("cardSize") == "large" else "medium"
            if self._view.get("hideColumnTitle") is True:
                draft.attrs["titles_hidden"] = True
        else:
            names = {"header_sticky": "stickyHeader", "search": "search"}
            draft.attrs |= {attribute: True for attribute, field in names.items() if self._view.get(field) is True}
            if self._view.get("hideHeader") is True or not any(column.has_title for column in columns):
                draft.attrs["header_hidden"] = True
        for record in self._records:
            row = self._row(as_object(record.get("values")), columns)
            if record.get("head") is True:
                row.attrs["head"] = True
            for name, span in as_object(record.get("spans")).items():
                if name in self._names:
                    row.children[self._names.index(name)].attrs |= {
                        kind: cells
                        for kind, cells in as_object(span).items()
                        if kind in ("colspan", "rowspan") and isinstance(cells, int) and 1 < cells <= 1000
                    }
            draft.children.append(row)
        if unused_fragments := [nodes for nodes in self._fragments.values() if nodes]:
            draft.children.append(
                DraftBlock(
                    "row", children=[DraftBlock("cell", runs=self._flat_runs(nodes)) for nodes in unused_fragments]
                )
            )
        return draft

    def _column(self, name: str) -> TableColumn:
        definition = self._definition[name]
        widths = self._view.get("columnWidths")
        width = as_object(widths).get(name)
        limit = definition.get("max")
        align = as_text(definition.get("textAlignment"))
        options = {
            as_text(option.get("value")): as_text(option.get("label")) for option in nodes_in(definition.get("options"))
        }
        text = as_text(definition.get("title"))
        title: tuple[Run, ...] = (Run(text),) if text else ()
        if (nodes := self._fragments.pop(as_text(definition.get("titleFragment")), None)) is not None:
            title = self._flat_runs(nodes)
        return TableColumn(
            title=title,
            type=as_text(definition.get("type")) or "text",
            align=align if align in ("center", "right") else None,
            width=int(width) if isinstance(width, (int, float)) and 0 < width < 100_000 else None,
            hidden=name not in self._visible_names,
            role=self._roles.get(name),
            max=int(limit) if isinstance(limit, (int, float)) and 0 < limit <= 20 else 5,
            options=options or NO_ATTRS,
        )

    def _row(self, values: dict[str, Any], columns: tuple[TableColumn, ...]) -> DraftBlock:
        row = DraftBlock("card" if self._is_cards else "row")
        for name, column in zip(self._names, columns, strict=True):
            value = values.get(name)
            cell = DraftBlock("cell", runs=self._cell(value, column))
            if column.type == "checkbox" and isinstance(value, bool):
                cell.attrs["value"] = value
            elif (
                column.type == "rating"
                and not isinstance(value, bool)
                and isinstance(value, (int, float))
                and 0 <= value < 1_000_000
            ):
                cell.attrs["value"] = min(int(value), column.max)
            row.children.append(cell)
            is_text = isinstance(value, str) and value in self._fragments
            text = None if is_text else plain_text(cell.runs).strip()
            if self._is_cards and column.role and (target := first_url(cell.runs) or text):
                row.attrs[column.role.replace("-", "_")] = target
        return row

    def _cell(self, value: Any, column: TableColumn) -> tuple[Run, ...]:
        if isinstance(value, str) and value in self._fragments:
            # Each fragment is read only once. Unused fragments are added to the end of the table.
            nodes, self._fragments[value] = self._fragments[value], None
            return self._flat_runs(nodes)
        values = value if isinstance(value, list) else [value]
        cell_runs: list[Run] = []
        for each in values:
            reader = _CELL_READERS.get(column.type)
            runs = reader(each, column) if reader else None
            if runs is None:
                text = as_text(each) if not isinstance(each, (dict, list)) else _reference_runs(each)
                runs = [Run(text)] if isinstance(text, str) else text
            if cell_runs and any(run.text for run in runs):
                cell_runs.append(Run(", "))
            cell_runs += [run for run in runs if run.text or run.kind != "text"]
        return tuple(cell_runs)

    def _flat_runs(self, nodes: Any) -> tuple[Run, ...]:
        runs: list[Run] = []
        for line in self._lines(nodes_in(nodes), 0, 0):
            runs += [Run("\n", kind="break"), *line] if runs else line
        return trim_runs(join_equal_runs(runs))

    def _lines(self, nodes: list[dict[str, Any]], depth: int, level: int) -> Iterator[list[Run]]:
        if not any(node.get("object") == "block" for node in nodes):
            if runs := self._reader.runs(nodes):
                yield list(runs)
            return
        for node in nodes:
            inner = nodes_in(node.get("nodes"))
            mark = {"list-ordered": "", "list-unordered": "• ", "list-tasks": "• "}.get(as_text(node.get("type")))
            if depth > MAX_JSON_DEPTH:
                yield [Run(" ".join(texts_in(node)))]
            elif mark is not None:
                for number, item in enumerate(inner, 1):
                    lines = list(self._lines([item], depth + 1, level + 1))
                    if lines:
                        lines[0].insert(0, Run("  " * level + (mark or f"{number}. ")))
                    yield from lines
            elif inner:
                yield from self._lines(inner, depth + 1, level)
            elif text := " ".join(texts_in(node)) or all_text(node.get("data")):
                yield [Run(text)]


def _sort_key(record: dict[str, Any]) -> tuple[float, str]:
    order = record.get("orderIndex")
    return (order, "") if isinstance(order, (int, float)) and abs(order) < 1e300 else (0.0, as_text(order))


def _reference_runs(value: Any) -> list[Run]:
    """Return the value of a cell as runs. A reference becomes a link. Empty for a value without text."""
    reference = as_object(value)
    ref = reference.get("ref") if isinstance(reference.get("ref"), dict) else reference
    if isinstance(ref, dict) and "kind" in ref and (link := reference_url(ref)):
        return [Run(link, link=link)]
    text = all_text(value)
    return [Run(text)] if text else []


def _user(value: Any, column: TableColumn) -> list[Run] | None:
    if isinstance(value, dict):
        value = value.get("user") or value.get("id")
    if not isinstance(value, str) or not value:
        return None
    return [Run(as_text(value), link=f"/users/{reference_url(value)}", kind="mention")]


def _file(value: Any, column: TableColumn) -> list[Run] | None:
    if not isinstance(value, str) or not value:
        return None
    link = reference_url({"kind": "file", "file": value})
    return [Run(link, link=link)]


def _option(value: Any, column: TableColumn) -> list[Run] | None:
    return [Run(column.options.get(value) or as_text(value))] if isinstance(value, str) and value else None


_CELL_READERS: dict[str, Callable[[Any, TableColumn], list[Run] | None]] = {
    "users": _user,
    "files": _file,
    "select": _option,
}
