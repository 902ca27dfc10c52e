"""Builds the block tree of a page from parser tokens and from HTML. Elements such as `<details>` and `<div>` stay open
for the Markdown after them. Tables, code and figures in HTML are read as a whole."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from markdown_it.token import Token

from octavo.documents.blocks import MAX_MARKS, BlockTree, Diagnostic, DraftBlock, Run
from octavo.documents.html import (
    HEADINGS,
    MEDIA,
    HtmlTag,
    HtmlToken,
    TextFinder,
    decode_entities,
    html_tokens,
    parse_html_tag,
)
from octavo.documents.inline import RunBuilder, runs_and_tags
from octavo.documents.tables import HtmlTable, read_pipe_table
from octavo.documents.tag_blocks import ALWAYS_OPEN, BRANCHES, PARENTS, Tag, block_of_tag, open_parent
from octavo.documents.token_stream import ClosedTags

_GROUP_NAMES = "div center section article aside header footer main nav body fieldset dl dt dd"
_GROUP_ELEMENTS = frozenset(_GROUP_NAMES.split())
_LISTS = {"ul": "list", "ol": "list", "li": "item", "blockquote": "quote"}
_HIDDEN_ELEMENTS = frozenset({"script", "style", "svg", "head"})
_LANGUAGE = re.compile(r"lang(?:uage)?-([\w+#.-]+)")
_CODE = re.compile(r"\s*<code([^<>]*)>")
_MEDIA_START = re.compile(rf"<(?:{'|'.join(sorted(MEDIA))})\b", re.IGNORECASE)
_CODE_PIECE = re.compile(r"<[^<>]*>|[^<]+|<")


class HtmlReader:
    """Reads the HTML `raw` and adds its blocks to `tree`. `line` is the source line of its start, counted from 0."""

    def __init__(self, tree: BlockTree, raw: str, line: int) -> None:
        self._tree, self._raw, self._finder = tree, raw, TextFinder(raw)
        self._line, self._counted_to = line, 0
        self._builder: RunBuilder | None = None
        self._builder_line = self._builder_end = line
        self._has_words = False

    def read(self) -> None:
        position = 0
        while position < len(self._raw):
            for token in html_tokens(self._raw, position):
                position = token.end
                self._line += self._raw.count("\n", self._counted_to, token.start)
                self._counted_to = token.start
                if token.tag is None:
                    self._read_text(token)
                elif (after := self._read_tag(token, token.tag)) is not None:
                    position = after
                    break
            else:
                break
        self._flush()

    def _read_text(self, token: HtmlToken) -> None:
        if words := token.text.strip():
            raw = self._raw[token.start : token.end]
            if not self._has_words:
                self._builder_line = self._line + raw.count("\n", 0, len(raw) - len(raw.lstrip()))
            self._builder_end = self._line + raw.rstrip().count("\n")
            self._has_words = True
        if words or self._builder:
            self._open_builder().add_html_text(token.text)

    def _open_builder(self) -> RunBuilder:
        if self._builder is None:
            self._builder = RunBuilder()
            if not self._has_words:
                self._builder_line = self._builder_end = self._line
        return self._builder

    def _flush(self) -> None:
        if self._builder:
            runs = self._builder.take()
            if runs:
                self._add(DraftBlock("paragraph", runs=runs, end_line=self._builder_end + 1), self._builder_line)
        self._builder, self._has_words = None, False

    def _add(self, draft: DraftBlock, line: int | None = None) -> DraftBlock:
        draft.first_line = self._line if line is None else line
        draft.end_line = draft.end_line or self._line + 1
        return self._tree.add(draft)

    def _read_tag(self, token: HtmlToken, tag: HtmlTag) -> int | None:
        """Read a tag. If its whole element was read, return the position after the element, else None."""
        name = tag.name
        if name in ("table", "pre", "figure") and not tag.is_closing:
            self._flush()
            end, after = self._finder.element_end(name, token.end)
            read_whole = {"table": self._read_table, "pre": self._read_code, "figure": self._read_figure}[name]
            read_whole(token, tag, end)
            return after
        if name in _HIDDEN_ELEMENTS and not tag.is_closing and not tag.is_self_closing:
            end, after = self._finder.element_end(name, token.end)
            return after if end < len(self._raw) else None
        if name in ("p", "summary", *HEADINGS):
            return self._read_text_element(token, tag)
        if name == "details" or name in _GROUP_ELEMENTS or name in _LISTS:
            self._flush()
            self._read_container(tag)
        elif name == "hr":
            self._flush()
            self._add(DraftBlock("divider"))
        elif name in MEDIA:
            return self._media(token, tag)
        elif name in ("table", "thead", "tbody", "tr", "td", "th", "figure", "figcaption", "html"):
            self._flush()
        else:
            self._open_builder().read_html_tag(tag)
            if not tag.is_closing:
                self._builder_end = self._line
        return None

    def _read_text_element(self, token: HtmlToken, tag: HtmlTag) -> int | None:
        """Read the tag of a paragraph, heading or summary. Return the position after the end tag if text was read."""
        self._flush()
        name = tag.name
        key = f"html:{name}"
        if tag.is_closing:
            self._tree.close(key, self._line + 1)
            return None
        kind, attrs = _text_block_kind(tag)
        end, after = self._finder.element_end(name, token.end)
        if name == "p" and _MEDIA_START.search(self._raw, token.end, end):
            return None
        if end == len(self._raw):
            if name == "p" and self._raw[token.end :].strip():
                return None
            self._tree.open(key, DraftBlock("group" if kind == "paragraph" else kind, attrs, first_line=self._line))
            return None
        builder = self._read_inline(token.end, end)
        if kind == "heading" and builder.anchors and "id" not in attrs:
            attrs["id"] = builder.anchors[0]
        runs = builder.take()
        if runs or kind == "summary":
            end_line = self._line + 1 + self._raw.count("\n", token.start, end)
            self._add(DraftBlock(kind, attrs, runs=runs, end_line=end_line))
        return after

    def _read_inline(self, start: int, end: int) -> RunBuilder:
        builder = RunBuilder()
        for token in html_tokens(self._raw, start, end):
            if token.tag:
                builder.read_html_tag(token.tag)
            else:
                builder.add_html_text(token.text)
        return builder

    def _read_container(self, tag: HtmlTag) -> None:
        key = f"html:{tag.name}"
        if tag.is_closing:
            if not self._tree.close(key, self._line + 1) and tag.name == "details":
                self._tree.report(self._line, "</details> has no opening tag.", "</details")
            return
        if tag.is_self_closing:
            return
        if tag.name == "li" and self._tree.find_open_sibling(key, "html:ul", "html:ol") is not None:
            self._tree.close(key, self._line)  # The end tag of an item is optional.
        self._tree.open(key, DraftBlock(*_container_kind(tag), first_line=self._line))

    def _read_table(self, token: HtmlToken, tag: HtmlTag, end: int) -> None:
        table = HtmlTable(self._raw[token.start : end], self._line)
        if outside_text := table.take_outside_text():
            self._add(DraftBlock("paragraph", runs=outside_text, end_line=table.end_line))
        self._add(table.to_draft_block())

    def _read_code(self, token: HtmlToken, tag: HtmlTag, end: int) -> None:
        code = self._raw[token.end : end]
        draft = _html_code(code, tag)
        draft.text_line = self._line + code.count("\n", 0, match.end() if (match := _CODE.match(code)) else 0)
        draft.end_line = self._line + 1 + self._raw.count("\n", token.start, end)
        self._add(draft)

    def _read_figure(self, token: HtmlToken, tag: HtmlTag, end: int) -> None:
        caption_start, content_start = end, end
        if match := re.compile(r"<figcaption[^<>]*>", re.IGNORECASE).search(self._raw, token.end, end):
            caption_start, content_start = match.start(), match.end()
        images = [run for run in self._read_inline(token.end, caption_start).runs if run.kind != "break"]
        caption = self._read_inline(content_start, end).take()
        end_line = self._line + 1 + self._raw.count("\n", token.start, end)
        figure = DraftBlock("figure-of-runs", runs=tuple(images), end_line=end_line)
        figure.children = [DraftBlock("caption", runs=caption)] if caption else []
        self._add(figure)

    def _media(self, token: HtmlToken, tag: HtmlTag) -> int | None:
        self._flush()
        if tag.is_closing:
            return None
        end, after = self._finder.element_end(tag.name, token.end)
        if tag.is_self_closing or end == len(self._raw):
            end = after = token.end
        url = tag.attrs.get("src") or tag.attrs.get("data")
        for inner_token in html_tokens(self._raw, token.end, end):
            if not url and inner_token.tag and inner_token.tag.name == "source":
                url = inner_token.tag.attrs.get("src")
        if not url:
            return None  # Without a URL, browsers show the content of the element.
        self._add(DraftBlock("embed", {"url": url, "html": tag.name}))
        return after


def _text_block_kind(tag: HtmlTag) -> tuple[str, dict[str, Any]]:
    attrs = {name: tag.attrs[name] for name in ("align", "dir") if tag.attrs.get(name)}
    if tag.name == "p":
        return "paragraph", attrs
    if tag.name == "summary":
        return "summary", {}
    attrs.pop("dir", None)
    if own_id := tag.attrs.get("id"):
        attrs["id"] = own_id
    return "heading", {"level": int(tag.name[1]), **attrs}


def _container_kind(tag: HtmlTag) -> tuple[str, dict[str, Any]]:
    name, html_attrs = tag.name, tag.attrs
    if name == "details":
        return "expandable", {"open": "open" in html_attrs}
    if html_attrs.get("data-tag") == "hint" or tag.has_class("hint"):
        return "hint", {"style": html_attrs.get("data-style") or "info"}
    if name in ("ul", "ol"):
        return "list", {"ordered": name == "ol", "start": tag.first_number, "tight": True}
    if name in _LISTS:
        return _LISTS[name], {}
    attrs: dict[str, Any] = {key: html_attrs[key] for key in ("align", "dir") if html_attrs.get(key)}
    if name == "center":
        attrs["align"] = "center"
    if "data-with-frame" in html_attrs and html_attrs["data-with-frame"] != "false":
        attrs["frame"] = True
    if html_attrs.get("data-full-width") == "true":
        attrs["full_width"] = True
    return "group", attrs


def _html_code(inner_html: str, pre: HtmlTag) -> DraftBlock:
    code_match = _CODE.match(inner_html)
    language_match = _LANGUAGE.search((code_match[1] if code_match else "") + " " + pre.attrs.get("class", ""))
    if code_match:
        inner_html = inner_html[code_match.end() :]
    texts: list[str] = []
    highlighted_lines: set[int] = set()
    notes: list[tuple[int, str]] = []
    line = depth = 0
    for match in _CODE_PIECE.finditer(inner_html):
        if match[0].startswith("<") and (tag := parse_html_tag(match[0])):
            if tag.name == "strong":
                depth += -1 if tag.is_closing else 1
            elif tag.name == "br":
                texts.append("\n")
                line += 1
            elif "data-footnote-ref" in tag.attrs:
                notes.append((line, tag.attrs.get("href", "").rsplit("fn-", 1)[-1]))
            continue
        for number, part in enumerate(match[0].split("\n")):
            line += number > 0
            if depth > 0 and part:
                highlighted_lines.add(line)
        texts.append(match[0])
    attrs: dict[str, Any] = {"language": language_match[1] if language_match else ""}
    if pre.attrs.get("data-title"):
        attrs["title"] = pre.attrs["data-title"]
    if "data-overflow" in pre.attrs:
        attrs["wrap"] = pre.attrs["data-overflow"] == "wrap"
    for name, attribute in (("numbers", "data-line-numbers"), ("expandable", "data-expandable")):
        if attribute in pre.attrs:
            attrs[name] = pre.attrs[attribute] != "false"
    if pre.attrs.get("data-full-width") == "true":
        attrs["full_width"] = True
    if highlighted_lines:
        attrs["highlighted"] = tuple(sorted(highlighted_lines))
    if notes:
        attrs["notes"] = tuple(notes)
    return DraftBlock("code", attrs, text=decode_entities("".join(texts)).rstrip("\n"))


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
        """Add the tokens of a top-level block to the tree. Tags in them must already be in `closed_tags`."""
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
        return DraftBlock(kind, attrs or {}, text=text, first_line=self._lines[0], end_line=self._lines[1])

    def _open(self, token: Token, kind: str) -> None:
        attrs: dict[str, Any] = {}
        if kind == "list":
            is_ordered = token.type == "ordered_list_open"
            attrs = {"ordered": is_ordered, "start": int(token.attrs.get("start", 1) or 0) if is_ordered else 1}
            attrs["tight"] = _is_tight(self._tokens, self._index)
        elif kind == "footnote":
            self._lines = self._lines_of_next_token()
            attrs = {"label": str(token.meta.get("label") or token.meta.get("id", 0) + 1)}
        self.tree.open(f"markdown:{kind}", self._draft(kind, attrs))

    def _lines_of_next_token(self) -> tuple[int, int]:
        """Return the line range of the next token that has a line range (a footnote has none). If the next
        `_MAX_LOOKAHEAD` tokens have none, return `_lines`, the range of the token before."""
        lines = next(
            (token.map for token in self._tokens[self._index : self._index + _MAX_LOOKAHEAD] if token.map), None
        )
        return (lines[0], lines[1]) if lines else self._lines

    def _close_footnotes(self, token: Token) -> None:
        notes = self.tree.innermost
        self.tree.close_markdown(self._lines[1])
        if notes.kind == "footnotes" and notes.children:
            notes.first_line = min(note.first_line for note in notes.children)
            notes.end_line = max(note.end_line for note in notes.children)

    def _add_paragraph(self, token: Token) -> None:
        level = int(token.tag[1]) if token.type == "heading_open" else 0
        inline_token = self._tokens[self._index]
        self._index += 2
        content, anchors = runs_and_tags(inline_token.children)
        for piece in content:
            if isinstance(piece, Tag):
                self._add_tag(piece)
            elif level:
                attrs: dict[str, Any] = {"level": level, "id": anchors[0]} if anchors else {"level": level}
                self._add_words("heading", attrs, piece)
                level = 0
            else:
                self._add_words("paragraph", {}, piece)

    def _add_words(self, kind: str, attrs: dict[str, Any], runs: tuple[Run, ...]) -> None:
        draft = self._draft(kind, attrs)
        draft.runs = runs
        self.tree.add(draft)

    def _add_table(self, token: Token) -> None:
        start = self._index
        while self._tokens[self._index].type != "table_close":
            self._index += 1
        table_draft = read_pipe_table(self._tokens[start : self._index])
        table_draft.first_line, table_draft.end_line = self._lines
        self.tree.add(table_draft)

    def _add_code(self, token: Token) -> None:
        info = token.info.strip()
        language, _, options = info.partition(" ")
        attrs: dict[str, Any] = {"language": language}
        if 'title="' in options:
            attrs["title"] = options.split('title="', 1)[1].partition('"')[0]
        if token.meta.get("source"):
            attrs = {"language": "markdown", "source": True}
        if language == "math":
            draft = self._draft("math", text=token.content.strip())
            draft.text_line = draft.first_line + 1
            self.tree.add(draft)
        else:
            draft = self._draft("code", attrs, token.content.removesuffix("\n"))
            draft.text_line = draft.first_line + (token.type == "fence")
            self.tree.add(draft)

    def _add_math(self, token: Token) -> None:
        draft = self._draft("math", text=token.content)
        draft.text_line = draft.first_line + token.meta["opening"]
        self.tree.add(draft)

    def _add_html(self, token: Token) -> None:
        if token.content.count("<") <= MAX_MARKS:
            HtmlReader(self.tree, token.content, self._lines[0]).read()
            return
        self.tree.report(self._lines[0], "This block has too much HTML, so it is shown as source.")
        self.tree.add(self._draft("code", {"language": "html", "source": True}, token.content.rstrip("\n")))

    def _add_tag(self, tag: Tag) -> None:
        first, last = self._lines
        if tag.closed_name:
            self._close(tag.closed_name, last)
        elif tag.name in BRANCHES:
            self._open_branch(tag)
        elif tag.name != "raw":
            if tag.name in PARENTS:
                open_parent(self.tree, tag, first)
            draft = block_of_tag(tag)
            draft.first_line, draft.end_line = first, last
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
        if self.tree.innermost.kind != "if":
            self.tree.report(first, f"{{% {tag.name} %}} is outside {{% if %}}.", f"{{% {tag.name}")
        draft = self._draft("else")
        expression = tag.arguments.get("expression") or " ".join(tag.words)
        if expression:
            draft.attrs["expression"] = expression
        self.tree.open("tag:else", draft)


_MAX_LOOKAHEAD = 4
"""Maximum number of tokens that are searched for the first line of a footnote."""
_READERS: dict[str, Callable[[Builder, Token], object]] = {
    "paragraph_open": Builder._add_paragraph,
    "heading_open": Builder._add_paragraph,
    "table_open": Builder._add_table,
    "fence": Builder._add_code,
    "code_block": Builder._add_code,
    "hr": lambda builder, token: builder.tree.add(builder._draft("divider")),
    "platform_math": Builder._add_math,
    "platform_html": Builder._add_html,
    "platform_tag": lambda builder, token: builder._add_tag(token.meta["tag"]),
    "footnote_block_close": Builder._close_footnotes,
}


def _is_tight(tokens: Sequence[Token], index: int) -> bool:
    """Return whether the list at `index` has no blank lines between items, so that the parser hides paragraphs."""
    return next((token.hidden for token in tokens[index : index + 3] if token.type == "paragraph_open"), True)
