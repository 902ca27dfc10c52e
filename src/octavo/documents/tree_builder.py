"""Builds the block tree of a page from parser tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from markdown_it.token import Token

from octavo.documents.blocks import Diagnostic, Run
from octavo.documents.html_blocks import HtmlReader
from octavo.documents.inline import runs_and_tags
from octavo.documents.limits import MAX_MARKS
from octavo.documents.open_blocks import BlockTree, DraftBlock
from octavo.documents.tables import pipe_table
from octavo.documents.tag_blocks import ALWAYS_OPEN, BRANCHES, PARENTS, Tag, block_of_tag, open_parent
from octavo.documents.token_stream import ClosedTags

_CONTAINERS = {
    "blockquote": "quote",
    "bullet_list": "list",
    "ordered_list": "list",
    "list_item": "item",
    "footnote_block": "footnotes",
    "footnote": "footnote",
}


class Builder:
    """Builds the block tree of a page. Call `add` with the tokens of each top-level block."""

    def __init__(self, diagnostics: list[Diagnostic], closed_tags: ClosedTags) -> None:
        self.tree = BlockTree(diagnostics)
        self._closed_tags = closed_tags
        self._tokens: Sequence[Token] = ()
        self._index = 0
        self._lines = (0, 1)

    def add(self, tokens: Sequence[Token]) -> None:
        """Add the tokens of a top-level block. Its tags must already be recorded in `closed_tags`."""
        self._tokens, self._index = tokens, 0
        while self._index < len(self._tokens):
            token = self._tokens[self._index]
            if token.map:
                self._lines = (token.map[0], token.map[1])
            self._index += 1
            self._read_token(token)

    def _read_token(self, token: Token) -> None:
        if reader := _READERS.get(token.type):
            reader(self, token)
        elif token.type.endswith("_open"):
            if kind := _CONTAINERS.get(token.type[:-5]):
                self._open(token, kind)
        elif token.type.endswith("_close") and token.type[:-6] in _CONTAINERS:
            self.tree.close_markdown(self._lines[1])

    def _draft(self, kind: str, attrs: dict[str, Any] | None = None, text: str = "") -> DraftBlock:
        return DraftBlock(kind, attrs or {}, text=text, first=self._lines[0], last=self._lines[1])

    def _open(self, token: Token, kind: str) -> None:
        attrs: dict[str, Any] = {}
        if kind == "list":
            ordered = token.type == "ordered_list_open"
            attrs = {"ordered": ordered, "start": int(token.attrs.get("start", 1) or 0) if ordered else 1}
            attrs["tight"] = _is_tight(self._tokens, self._index)
        elif kind == "footnote":
            self._lines = self._lines_of_first_block()
            attrs = {"label": str(token.meta.get("label") or token.meta.get("id", 0) + 1)}
        self.tree.open(f"markdown:{kind}", self._draft(kind, attrs))

    def _lines_of_first_block(self) -> tuple[int, int]:
        """Return the line range of the first block inside the current token. It is used for footnotes, whose tokens
        have no lines."""
        lines = next(
            (token.map for token in self._tokens[self._index : self._index + _MAX_LOOKAHEAD] if token.map), None
        )
        return (lines[0], lines[1]) if lines else self._lines

    def _close_footnotes(self, token: Token) -> None:
        notes = self.tree.top
        self.tree.close_markdown(self._lines[1])
        if notes.kind == "footnotes" and notes.children:
            notes.first = min(note.first for note in notes.children)
            notes.last = max(note.last for note in notes.children)

    def _paragraph(self, token: Token) -> None:
        level = int(token.tag[1]) if token.type == "heading_open" else 0
        inline = self._tokens[self._index]
        self._index += 2
        parts, anchors = runs_and_tags(inline.children)
        for part in parts:
            if isinstance(part, Tag):
                self._tag(part)
            elif level:
                attrs: dict[str, Any] = {"level": level, "id": anchors[0]} if anchors else {"level": level}
                self._add_words("heading", attrs, part)
                level = 0
            else:
                self._add_words("paragraph", {}, part)

    def _add_words(self, kind: str, attrs: dict[str, Any], runs: tuple[Run, ...]) -> None:
        draft = self._draft(kind, attrs)
        draft.runs = runs
        self.tree.add(draft)

    def _table(self, token: Token) -> None:
        start = self._index
        while self._tokens[self._index].type != "table_close":
            self._index += 1
        table = pipe_table(self._tokens[start : self._index])
        table.first, table.last = self._lines
        self.tree.add(table)

    def _code(self, token: Token) -> None:
        info = token.info.strip()
        language, _, options = info.partition(" ")
        attrs: dict[str, Any] = {"language": language}
        if 'title="' in options:
            attrs["title"] = options.split('title="', 1)[1].partition('"')[0]
        if token.meta.get("source"):
            attrs = {"language": "markdown", "source": True}
        if language == "math":
            draft = self._draft("math", text=token.content.strip())
            draft.text_line = draft.first + 1
            self.tree.add(draft)
        else:
            draft = self._draft("code", attrs, token.content.removesuffix("\n"))
            draft.text_line = draft.first + (token.type == "fence")
            self.tree.add(draft)

    def _math(self, token: Token) -> None:
        draft = self._draft("math", text=token.content)
        draft.text_line = draft.first + token.meta["opening"]
        self.tree.add(draft)

    def _divider(self, token: Token) -> None:
        self.tree.add(self._draft("divider"))

    def _html(self, token: Token) -> None:
        if token.content.count("<") <= MAX_MARKS:
            HtmlReader(self.tree, token.content, self._lines[0]).read()
            return
        self.tree.report(self._lines[0], "This block has too much HTML, so it is shown as source.")
        self.tree.add(self._draft("code", {"language": "html", "source": True}, token.content.rstrip("\n")))

    def _tag_token(self, token: Token) -> None:
        self._tag(token.meta["tag"])

    def _tag(self, tag: Tag) -> None:
        first, last = self._lines
        if tag.closes:
            self._close(tag.closes, last)
        elif tag.name in BRANCHES:
            self._open_branch(tag)
        elif tag.name != "raw":
            if tag.name in PARENTS:
                open_parent(self.tree, tag, first)
            draft = block_of_tag(tag)
            draft.first, draft.last = first, last
            if tag.name in ALWAYS_OPEN or self._closed_tags.is_closed(tag):
                self.tree.open(f"tag:{tag.name}", draft)
            else:
                self.tree.add(draft)

    def _close(self, name: str, line: int) -> None:
        if name == "if":
            self.tree.close("tag:else", line)
        if not self.tree.close(f"tag:{name}", line) and name != "raw":
            self.tree.report(line - 1, f"{{% end{name} %}} has no opening tag.", f"{{% end{name}")

    def _open_branch(self, tag: Tag) -> None:
        first, _ = self._lines
        self.tree.close("tag:else", first)
        if self.tree.top.kind != "if":
            self.tree.report(first, f"{{% {tag.name} %}} is outside {{% if %}}.", f"{{% {tag.name}")
        draft = self._draft("else")
        expression = tag.arguments.get("expression") or " ".join(tag.words)
        if expression:
            draft.attrs["expression"] = expression
        self.tree.open("tag:else", draft)


_MAX_LOOKAHEAD = 4
"""Number of tokens that are searched for the first line of a footnote."""
_READERS: dict[str, Callable[[Builder, Token], None]] = {
    "paragraph_open": Builder._paragraph,
    "heading_open": Builder._paragraph,
    "table_open": Builder._table,
    "fence": Builder._code,
    "code_block": Builder._code,
    "hr": Builder._divider,
    "platform_math": Builder._math,
    "platform_html": Builder._html,
    "platform_tag": Builder._tag_token,
    "footnote_block_close": Builder._close_footnotes,
}


def _is_tight(tokens: Sequence[Token], index: int) -> bool:
    """Return whether a list is tight. The parser then hides the paragraphs of its items."""
    return next((token.hidden for token in tokens[index : index + 3] if token.type == "paragraph_open"), True)
