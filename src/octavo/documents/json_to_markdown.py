"""A JSON document (5) as markdown: what people say of a page may come in that form, and is kept as all else is.

Blocks that comments have are written as they are: text, lists, quotes, code, hints, formulas. Of any other block its words are.
"""

from __future__ import annotations

import re
from typing import Any

Json = dict[str, Any]

_DEEPEST = 50
"""Blocks in blocks, or inlines in inlines, of which those further in are left out: it comes from outside."""
_SYNTAX = re.compile(r"([\\`*_\[\]<>~$|{}]|&(?=#?\w+;))")
_BEGINS = re.compile(r"^(\s*)(#{1,6}(?=\s|$)|[-+](?=\s|$)|\d{1,9}(?=[.)])|={3,}|-{3,}|:)")
_MARKS = {"bold": "**", "italic": "_", "strikethrough": "~~"}
_TAGS = {"keyboard": "kbd", "superscript": "sup", "subscript": "sub"}


def markdown(document: Any) -> str:
    """The markdown that says what a JSON document says."""
    return "\n\n".join(_blocks(document, 0)).strip()


def _blocks(holder: Any, depth: int) -> list[str]:
    return [text for node in _nodes(holder) if (text := _block(node, depth)).strip()]


def _nodes(holder: Any, name: str = "nodes") -> list[Json]:
    nodes = holder.get(name) if isinstance(holder, dict) else None
    return [each for each in nodes if isinstance(each, dict)] if isinstance(nodes, list) else []


def _block(node: Json, depth: int) -> str:
    if depth > _DEEPEST:
        return ""
    kind, data = str(node.get("type", "")), node.get("data") if isinstance(node.get("data"), dict) else {}
    data = data or {}
    if kind in ("list-ordered", "list-unordered", "list-tasks"):
        start = data.get("start")
        numbered = enumerate(_nodes(node), start if isinstance(start, int) and 0 <= start < 10**9 else 1)
        return "\n".join(_item(item, kind, number, depth) for number, item in numbered)
    match kind:
        case "heading-1" | "heading-2" | "heading-3":
            return f"{'#' * int(kind[-1])} {_inlines(node).strip()}"
        case "blockquote":
            return _indented(_blocks(node, depth + 1), "> ", "> ")
        case "code":
            return _fenced([_plain(line) for line in _nodes(node)], str(data.get("syntax") or ""))
        case "math":
            return f"$$\n{data.get('formula', '')}\n$$"
        case "divider":
            return "***"
        case "hint":
            within = "\n\n".join(_blocks(node, depth + 1))
            return f'{{% hint style="{data.get("style") or "info"}" %}}\n{within}\n{{% endhint %}}'
        case "paragraph":
            return _started(_inlines(node))
    if any(each.get("object") != "block" for each in _nodes(node)):
        return _started(_inlines(node))
    inside = [
        *_blocks(node, depth + 1),
        *(text for each in _nodes(node, "fragments") for text in _blocks(each, depth + 1)),
    ]
    return "\n\n".join(inside)


def _item(item: Json, kind: str, number: int, depth: int) -> str:
    data = item.get("data") if isinstance(item.get("data"), dict) else {}
    box = f"[{'x' if (data or {}).get('checked') else ' '}] " if kind == "list-tasks" else ""
    sign = f"{number}. " if kind == "list-ordered" else "- "
    return _indented(_blocks(item, depth + 1) or [""], f"{sign}{box}", " " * len(sign))


def _indented(blocks: list[str], first: str, others: str) -> str:
    lines = "\n\n".join(blocks).split("\n")
    return "\n".join(f"{others if number else first}{line}".rstrip() for number, line in enumerate(lines))


def _fenced(lines: list[str], syntax: str) -> str:
    text = "\n".join(lines)
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    language = re.sub(r"[^\w+#.-]", "", syntax)
    return f"{fence}{language}\n{text}\n{fence}"


def _started(text: str) -> str:
    """Words of a paragraph, none of whose lines begins another block."""
    return "\n".join(
        _BEGINS.sub(r"\1\\\2", line) if not line[:1].isdigit() else _numbered(line) for line in text.split("\n")
    )


def _numbered(line: str) -> str:
    return re.sub(r"^(\d{1,9})([.)])", r"\1\\\2", line)


def _inlines(node: Json, depth: int = 0) -> str:
    return "".join(_inline(each, depth) for each in _nodes(node)) if depth <= _DEEPEST else ""


def _inline(node: Json, depth: int) -> str:
    if node.get("object") == "text":
        return "".join(_leaf(each) for each in _nodes(node, "leaves"))
    data = node.get("data") if isinstance(node.get("data"), dict) else {}
    data = data or {}
    match node.get("type"):
        case "link":
            return f"[{_inlines(node, depth + 1)}](<{_address(data.get('ref'))}>)"
        case "inline-math":
            return f"$${data.get('formula', '')}$$"
        case "emoji":
            return _emoji(str(data.get("code", "")))
        case "mention":
            ref = data.get("ref")
            return f"@{ref.get('user') or _address(ref)}" if isinstance(ref, dict) else ""
        case _:
            return _inlines(node, depth + 1) or _SYNTAX.sub(r"\\\1", str(data.get("label") or data.get("alt") or ""))


def _leaf(leaf: Json) -> str:
    text = str(leaf.get("text", ""))
    marks = [str(each.get("type")) for each in _nodes(leaf, "marks")]
    words = text.strip()
    if not words or not marks:
        return _SYNTAX.sub(r"\\\1", text).replace("\n", "\\\n")
    before, after = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
    if "code" in marks:
        ticks = "`" * (1 + max((len(run) for run in re.findall("`+", words)), default=0))
        shown = f"{ticks} {words} {ticks}" if "`" in words else f"`{words}`"
    else:
        shown = _SYNTAX.sub(r"\\\1", words).replace("\n", "\\\n")
    for mark in marks:
        sign, tag = _MARKS.get(mark, ""), _TAGS.get(mark)
        shown = f"<{tag}>{shown}</{tag}>" if tag else f"{sign}{shown}{sign}"
    return f"{before}{shown}{after}"


def _plain(node: Json) -> str:
    return "".join(str(leaf.get("text", "")) for text in _nodes(node) for leaf in _nodes(text, "leaves"))


def _emoji(code: str) -> str:
    try:
        return "".join(chr(int(part, 16)) for part in code.split("-"))
    except (ValueError, OverflowError):
        return code


def _address(ref: Any) -> str:
    """What a reference leads to, as markdown has it."""
    if not isinstance(ref, dict):
        return ""
    match ref.get("kind"):
        case "page":
            found = f"/pages/{ref.get('page')}"
        case "file":
            found = f"/files/{ref.get('file')}"
        case "anchor":
            found = (f"/pages/{ref['page']}" if ref.get("page") else "") + f"#{ref.get('anchor')}"
        case _:
            found = str(ref.get("url") or "")
    return re.sub(r"[<>\s\x00-\x1f]", "", found)
