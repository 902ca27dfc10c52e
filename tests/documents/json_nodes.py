"""Nodes of JSON documents for tests."""

from __future__ import annotations

from typing import Any

Node = dict[str, Any]


def text(words: str, *marks: str) -> Node:
    """Return a text node with one leaf."""
    given = [{"object": "mark", "type": mark} for mark in marks]
    return {"object": "text", "leaves": [{"object": "leaf", "text": words, "marks": given}]}


def colored(words: str, color: str, background: str) -> Node:
    """Return a text node with a text color."""
    mark = {"object": "mark", "type": "color", "data": {"text": color, "background": background}}
    return {"object": "text", "leaves": [{"object": "leaf", "text": words, "marks": [mark]}]}


def nodes_of(children: tuple[Node | str, ...]) -> list[Node]:
    return [text(each) if isinstance(each, str) else each for each in children]


def block(type: str, /, *children: Node | str, **data: Any) -> Node:
    """Return a block with children."""
    return {"object": "block", "type": type, "data": data, "nodes": nodes_of(children)}


def void(type: str, fragments: dict[str, list[Node]] | None = None, /, **data: Any) -> Node:
    """Return a block without children."""
    named = [{"object": "fragment", "fragment": name, "nodes": nodes} for name, nodes in (fragments or {}).items()]
    return {"object": "block", "type": type, "isVoid": True, "data": data, "fragments": named}


def inline(type: str, /, *children: Node | str, **data: Any) -> Node:
    """Return an inline node."""
    return {"object": "inline", "type": type, "data": data, "nodes": nodes_of(children)}


def paragraph(*children: Node | str) -> Node:
    return block("paragraph", *children)


def item(*children: Node | str, **data: Any) -> Node:
    """Return a list item with a paragraph, followed by other blocks."""
    return block(
        "list-item", paragraph(children[0]), *(each for each in children[1:] if isinstance(each, dict)), **data
    )


def url(where: str) -> Node:
    return {"kind": "url", "url": where}


def page(name: str) -> Node:
    return {"kind": "page", "page": name}


def file(name: str) -> Node:
    return {"kind": "file", "file": name}
