"""Lets the user edit a JSON document as Markdown. Blocks that were not edited keep all their JSON fields."""

from __future__ import annotations

import json
import re
from difflib import SequenceMatcher
from typing import Any

from octavo.documents.json_inline import MAX_JSON_DEPTH, as_object, nodes_in
from octavo.documents.json_to_markdown import to_markdown
from octavo.documents.markdown_to_json import to_json_document
from octavo.untrusted_input import is_too_deep

_ESCAPE = re.compile(r"\\([^A-Za-z0-9\s])")
_AUTOLINK = re.compile(r"\[([^\s\[\]]++)\]\(<(?:mailto:|https?://)?\1>\)")
_IGNORED_FIELDS = ("key", "isVoid", "selections")
"""JSON fields of nodes that do not affect what readers see."""


def document_to_markdown(document: Any) -> str | None:
    """Return the Markdown for a JSON document. None if Markdown cannot represent everything in the document."""
    if is_too_deep(document):
        return None
    blocks = _normalized_blocks(document)
    block_texts = [text for node in _blocks(document) if (text := to_markdown({"nodes": [node]}))]
    unescaped_texts = [_without_escapes(text) for text in block_texts]
    for texts in (unescaped_texts, block_texts):
        if _normalized_blocks(to_json_document("\n\n".join(texts))) == blocks:
            return "\n\n".join(texts)
    return None


def _without_escapes(text: str) -> str:
    """Return Markdown without escapes and without brackets around URLs. Return `text` if this changes the meaning."""
    unescaped_text = _AUTOLINK.sub(r"\1", _ESCAPE.sub(r"\1", text))
    return (
        unescaped_text
        if unescaped_text == text
        or _normalized_blocks(to_json_document(unescaped_text)) == _normalized_blocks(to_json_document(text))
        else text
    )


def apply_markdown_edit(document: Any, text: str) -> dict[str, Any] | None:
    """Return the JSON document for `text`, the edited Markdown of `document`. None if `text` is blank. Blocks that were
    not edited keep all fields."""
    if not text.strip():
        return None
    edited_document, old_nodes = to_json_document(text), _blocks(document)
    sides = (
        [json.dumps(_normalized_node(node), sort_keys=True) for node in old_nodes],
        _normalized_blocks(edited_document),
    )
    for start, edited_start, size in SequenceMatcher(None, *sides, autojunk=False).get_matching_blocks():
        edited_document["nodes"][edited_start : edited_start + size] = old_nodes[start : start + size]
    return {**edited_document, **{name: value for name, value in as_object(document).items() if name != "nodes"}}


def _blocks(document: Any) -> list[dict[str, Any]]:
    return nodes_in(as_object(document).get("nodes"))


def _normalized_blocks(document: Any) -> list[str]:
    """Return a JSON text for each block that is no empty paragraph. Blocks that look the same have equal texts."""
    nodes = [_normalized_node(node) for node in _blocks(document)]
    return [json.dumps(node, sort_keys=True) for node in nodes if node != {"object": "block", "type": "paragraph"}]


def _normalized_node(node: dict[str, Any], depth: int = 0, *, is_code: bool = False) -> dict[str, Any]:
    if depth > MAX_JSON_DEPTH:
        return {"deeper": True}
    is_code = is_code or node.get("type") == "code"
    fields = {name: value for name, value in node.items() if name not in (*_IGNORED_FIELDS, "nodes", "fragments")}
    fields["data"] = {
        name: value for name, value in as_object(node.get("data")).items() if not _is_default(name, value)
    }
    if str(node.get("type")).startswith("heading-"):
        fields["data"].pop("id", None)  # The ID usually follows from the text of the heading.
    fields["nodes"] = _children(nodes_in(node.get("nodes")), depth + 1, is_code=is_code)
    fields["fragments"] = [_normalized_node(each, depth + 1) for each in nodes_in(node.get("fragments"))]
    return {name: value for name, value in fields.items() if not _is_default(name, value)}


def _is_default(name: str, value: Any) -> bool:
    return value is None or value is False or value in ("", {}, []) or (name == "start" and value == 1)


def _children(nodes: list[dict[str, Any]], depth: int, *, is_code: bool) -> list[Any]:
    """Return the children of a node in a form for comparisons. Each text with the same marks becomes a pair of the text
    and the marks. Unless `is_code`, white space at the start and the end of the node is removed."""
    result: list[Any] = []
    for node in nodes:
        if node.get("object") == "text":
            pieces = _marked_words(node, is_code=is_code)
        else:
            normalized_node = _normalized_node(node, depth, is_code=is_code)
            pieces = [_autolink_text(normalized_node) or normalized_node]
        for piece in pieces:
            if result and isinstance(piece, tuple) and isinstance(result[-1], tuple) and result[-1][1] == piece[1]:
                piece = (result.pop()[0] + piece[0], piece[1])
            result.append(piece)
    if not is_code:
        if result and isinstance(result[0], tuple):
            result[0] = (result[0][0].lstrip(), result[0][1])
        if result and isinstance(result[-1], tuple):
            result[-1] = (result[-1][0].rstrip(), result[-1][1])
    return [each for each in result if not isinstance(each, tuple) or each[0]]


def _marked_words(node: dict[str, Any], *, is_code: bool) -> list[Any]:
    """Return the text of a node as pairs of words and marks. Unless `is_code`, spaces around words have no marks."""
    pairs: list[Any] = []
    for leaf in nodes_in(node.get("leaves")):
        text = str(leaf.get("text", ""))
        marks = sorted(json.dumps(_normalized_node(mark), sort_keys=True) for mark in nodes_in(leaf.get("marks")))
        words = text.strip()
        if is_code or not marks or not words:
            pairs.append((text, marks if words else []))
        else:
            space_before, space_after = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
            pairs += [(space_before, []), (words, marks), (space_after, [])]
    return [each for each in pairs if each[0]]


def _autolink_text(normalized_node: dict[str, Any]) -> tuple[str, list[str]] | None:
    """Return the text and marks of a link whose text is its URL, with or without a scheme. None for any other node."""
    ref, nodes = as_object(as_object(normalized_node.get("data")).get("ref")), normalized_node.get("nodes")
    if normalized_node.get("type") != "link" or set(ref) != {"kind", "url"} or not nodes or len(nodes) != 1:
        return None
    (text,) = nodes
    if not isinstance(text, tuple) or text[1]:
        return None
    return text if ref["url"] in [f"{scheme}{text[0]}" for scheme in ("", "mailto:", "http://", "https://")] else None
