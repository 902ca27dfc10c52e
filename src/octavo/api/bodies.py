"""Text of comments, reviews and pages, which is sent as Markdown or as a JSON document."""

from typing import Any, Literal

from octavo.api.operation import Model
from octavo.api.text import RawJson, SafeJson, SafeText

Format = Literal["markdown", "document"]
"""The requested format of a body. Octavo sends the format with each read, because the API documents no default."""


class Body(Model):
    """The body of a comment, review or page in a response. Both formats can be missing."""

    markdown: SafeText | None = None
    document: SafeJson | None = None

    @property
    def text(self) -> str:
        """The Markdown. Without Markdown, the plain text of the JSON document."""
        return self.markdown if self.markdown is not None else document_text(self.document)


class Markdown(Model):
    """Markdown in a request, exactly as the user typed it. Other clients may send a JSON `document`."""

    markdown: str = ""
    document: RawJson | None = None


def document_text(document: Any) -> str:
    """Return the plain text of a JSON document, with one line for each block that has text."""
    lines: list[str] = []
    _collect(document, lines, depth=0)
    return "\n".join(line for line in lines if line)


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
