"""Reads the inline nodes of a JSON document as runs, and its references as URLs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from octavo.api.safety import text as safe
from octavo.documents import emoji
from octavo.documents.blocks import NO_ATTRS, Run
from octavo.documents.html import clean_url
from octavo.documents.inline import trim_runs

MAX_JSON_DEPTH = 40
"""Maximum nesting of JSON nodes. Deeper content is read as plain text."""

_MARKS = {
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


def nodes_in(value: Any) -> list[dict[str, Any]]:
    """Return the nodes in a list. A string becomes a text node. Other values are skipped."""
    found = []
    for each in value if isinstance(value, list) else ():
        if isinstance(each, dict):
            found.append(each)
        elif isinstance(each, str):
            found.append({"object": "text", "leaves": [{"object": "leaf", "text": each}]})
    return found


def as_object(value: Any) -> dict[str, Any]:
    """Return `value` if it is a dict, else an empty dict."""
    return value if isinstance(value, dict) else {}


def as_text(value: Any) -> str:
    """Return a string, number or boolean as text. Empty for other values."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return safe(value) if isinstance(value, str) else str(value) if isinstance(value, (int, float)) else ""


def all_text(value: Any) -> str:
    """Return all strings and numbers in a value, at any depth, as one text."""
    found: list[str] = []
    pending = [value]
    while pending:
        each = pending.pop()
        if isinstance(each, dict):
            pending.extend(reversed(list(each.values())))
        elif isinstance(each, list):
            pending.extend(reversed(each))
        elif value := as_text(each):
            found.append(value)
    return " ".join(found)


def texts_in(node: Any) -> Iterator[str]:
    """Yield the text of every text node in a node, at any depth."""
    pending = [node]
    while pending:
        each = pending.pop()
        if isinstance(each, list):
            pending.extend(reversed(each))
        elif isinstance(each, dict):
            if isinstance(each.get("text"), str):
                yield safe(each["text"])
            pending.extend(each[name] for name in ("fragments", "nodes", "leaves") if name in each)
        elif isinstance(each, str):
            yield safe(each)


def reference_url(ref: Any) -> str:
    """Return the URL for a reference, as a link in Markdown would write it."""
    if isinstance(ref, str):
        return clean_url(ref) or ""
    if not isinstance(ref, dict):
        return ""
    given = {name: clean_url(value) or "" for name, value in ref.items() if isinstance(value, str)}
    kind, space = given.get("kind", ""), given.get("space", "")
    space_url = f"/spaces/{space}" if space else ""
    match kind:
        case "page":
            return f"{space_url}/pages/{given.get('page', '')}"
        case "anchor":
            page = f"{space_url}/pages/{given['page']}" if given.get("page") else space_url
            return f"{page}#{given.get('anchor', '')}"
        case "file":
            return f"{space_url}/files/{given.get('file', '')}"
        case "space" | "user" | "collection":
            return f"/{kind}s/{given.get(kind, '')}"
        case "reusable-content":
            return f"{space_url}/reusable-content/{given.get('reusableContent', '')}"
        case "openapi":
            return given.get("spec", "")
    return given.get("url") or next((value for name, value in given.items() if name != "kind"), "")


def join_equal_runs(runs: Iterable[Run]) -> list[Run]:
    """Join adjacent runs of the same format."""
    found: list[Run] = []
    for run in runs:
        if found and run.kind == "text" and found[-1]._replace(text="") == run._replace(text=""):
            found[-1] = run._replace(text=found[-1].text + run.text)
        else:
            found.append(run)
    return found


@dataclass(slots=True)
class InlineReader:
    """Reads the inline nodes of one document. `notes` collects the labels and bodies of its annotations."""

    notes: list[tuple[str, Any]] = field(default_factory=list)

    def runs(self, nodes: Any) -> tuple[Run, ...]:
        """Return the runs for the inline nodes of a block."""
        return trim_runs(self.untrimmed(nodes))

    def untrimmed(self, nodes: Any) -> list[Run]:
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
        inner = list(self._inlines(nodes_in(node.get("nodes")), depth + 1))
        if reader := _VOID_READERS.get(kind):
            yield from (run._replace(marks=_marks_of(data)) for run in reader(data))
            yield from inner
        elif kind == "link":
            link = reference_url(data.get("ref"))
            yield from (run._replace(link=run.link or link) if run.kind != "break" else run for run in inner)
        elif kind == "annotation":
            label = as_text(data.get("label"))
            body = _fragment(node, "annotation-body")
            if body is not None or not label:
                label = label or str(len(self.notes) + 1)
                self.notes.append((label, body))
            words = "".join(run.text for run in inner)
            marks = inner[0].marks if inner else _marks_of(data)
            yield Run(words or label, marks, None, "footnote", {"label": label, **({"inline": True} if words else {})})
        else:
            yield from inner or _unknown(kind, node, data)


def _marks_of(data: dict[str, Any]) -> frozenset[str]:
    names = data.get("marks")
    return frozenset(_MARKS[name] for name in map(as_text, names if isinstance(names, list) else ()) if name in _MARKS)


def _fragment(node: dict[str, Any], name: str) -> Any:
    return next((each.get("nodes") for each in nodes_in(node.get("fragments")) if each.get("fragment") == name), None)


def _leaf(leaf: dict[str, Any]) -> Iterator[Run]:
    marks: set[str] = set()
    attrs: dict[str, str] = {}
    for mark in nodes_in(leaf.get("marks")):
        name = as_text(mark.get("type"))
        if known := _MARKS.get(name):
            marks.add(known)
        elif name == "color":
            data = as_object(mark.get("data"))
            given = {"color": as_text(data.get("text")), "background": as_text(data.get("background"))}
            attrs |= {key: value for key, value in given.items() if value not in ("", "default")}
    if attrs:
        marks.add("mark")
    kind = "code" if "code" in marks else "text"
    for number, line in enumerate(as_text(leaf.get("text")).split("\n")):
        if number:
            yield Run("\n", kind="break")
        if line:
            yield Run(line, frozenset(marks), None, kind, attrs or NO_ATTRS)


def _unknown(kind: str, node: dict[str, Any], data: dict[str, Any]) -> Iterator[Run]:
    """Yield the text of an unknown inline node. If it has no text, yield its type and data."""
    words = "".join(texts_in(node.get("fragments"))) or as_text(node.get("text"))
    if words:
        yield Run(words)
    elif value := " ".join(filter(None, (kind, all_text(data)))):
        yield Run(value, kind="expression")


def _given_attrs(**given: Any) -> Mapping[str, Any]:
    return {name: value for name, value in given.items() if value} or NO_ATTRS


def _emoji(data: dict[str, Any]) -> Iterator[Run]:
    code = as_text(data.get("code"))
    yield Run(emoji.from_name(code) or emoji.from_code(code) or code, kind="emoji", attrs={"code": code})


def _image(data: dict[str, Any]) -> Iterator[Run]:
    given = {name: as_text(data.get(name)) for name in ("size", "width", "height")}
    drawing = data.get("drawing") is True
    attrs = _given_attrs(
        src=reference_url(data.get("ref")), title=as_text(data.get("caption")), drawing=drawing, **given
    )
    if dark := reference_url(data.get("refDark")):
        attrs = {**attrs, "dark": dark}
    yield Run(as_text(data.get("alt")), kind="image", attrs=attrs)


def _mention(data: dict[str, Any]) -> Iterator[Run]:
    link = reference_url(data.get("ref"))
    yield Run(as_text(data.get("title")) or link, kind="mention", link=link)


def _button(data: dict[str, Any]) -> Iterator[Run]:
    attrs: dict[str, Any] = {"style": as_text(data.get("kind")) or "primary"}
    given = {**data, **as_object(data.get("action"))}
    attrs |= {name: value for name in ("icon", "action", "query") if (value := as_text(given.get(name)))}
    if data.get("disabled") is True:
        attrs["disabled"] = True
    yield Run(as_text(data.get("label")), kind="button", link=reference_url(data.get("ref")) or None, attrs=attrs)


def _icon(data: dict[str, Any]) -> Iterator[Run]:
    yield Run("", kind="icon", attrs={"name": as_text(data.get("icon"))})


_VOID_READERS: dict[str, Callable[[dict[str, Any]], Iterator[Run]]] = {
    "emoji": _emoji,
    "icon": _icon,
    "expression": lambda data: iter([Run(as_text(data.get("expression")), kind="expression")]),
    "inline-math": lambda data: iter([Run(as_text(data.get("formula")), kind="math")]),
    "inline-image": _image,
    "mention": _mention,
    "button": _button,
}
