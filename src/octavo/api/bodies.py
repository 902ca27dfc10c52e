"""Bodies: the text of comments, reviews and pages, which travels as markdown or as a JSON document (4.2, 5)."""

from typing import Any, Literal

from octavo.api.operation import Model
from octavo.api.text import RawJson, SafeJson, SafeText

Format = Literal["markdown", "document"]
"""How a body is wanted. No default is documented, so it is always sent (6)."""


class Body(Model):
    """A body as it was read. It may hold neither form."""

    markdown: SafeText | None = None
    document: SafeJson | None = None

    @property
    def text(self) -> str:
        """Its markdown, or the plain words of its document."""
        return self.markdown if self.markdown is not None else plain(self.document)


class Markdown(Model):
    """A body as it is written: just as it was typed. Other clients may send it as a JSON document."""

    markdown: str = ""
    document: RawJson | None = None


def plain(document: Any) -> str:
    """The words of a JSON document, one line for each block that holds text."""
    lines: list[str] = []
    _collect(document, lines, depth=0)
    return "\n".join(line for line in lines if line)


def paragraphs(text: str) -> dict[str, Any]:
    """A JSON document of plain paragraphs, one for each line that is not blank."""
    return {
        "object": "document",
        "data": {"schemaVersion": 9},
        "nodes": [_paragraph(each) for each in text.split("\n") if each.strip()],
    }


def _paragraph(text: str) -> dict[str, Any]:
    leaves = [{"object": "leaf", "text": text.strip(), "marks": []}]
    return {"object": "block", "type": "paragraph", "data": {}, "nodes": [{"object": "text", "leaves": leaves}]}


def is_plain(document: Any) -> bool:
    """Whether a JSON document says nothing but plain paragraphs: then `paragraphs` of its words loses nothing."""
    nodes = document.get("nodes") if isinstance(document, dict) else None
    return document is None or (isinstance(nodes, list) and all(_is_plain_paragraph(each) for each in nodes))


def _is_plain_paragraph(node: Any) -> bool:
    if not isinstance(node, dict) or node.get("type") != "paragraph" or not isinstance(node.get("nodes"), list):
        return False
    leaves = [leaf for text in node["nodes"] for leaf in _leaves(text) or (None,)]
    return all(isinstance(leaf, dict) and not leaf.get("marks") and "\n" not in _words(leaf) for leaf in leaves)


def _leaves(text: Any) -> list[Any]:
    leaves = text.get("leaves") if isinstance(text, dict) else None
    return leaves if isinstance(leaves, list) else []


def _words(leaf: Any) -> str:
    words = leaf.get("text") if isinstance(leaf, dict) else None
    return words if isinstance(words, str) else ""


def _collect(node: Any, lines: list[str], depth: int) -> None:
    if not isinstance(node, dict) or depth > 100:
        return
    if node.get("object") == "text":
        lines[-1:] = [(lines[-1] if lines else "") + "".join(map(_words, _leaves(node)))]
        return
    if node.get("object") == "block":
        lines.append("")
    for key in ("nodes", "fragments"):
        children = node.get(key)
        for child in children if isinstance(children, list) else ():
            _collect(child, lines, depth + 1)
