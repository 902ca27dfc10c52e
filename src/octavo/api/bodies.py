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
