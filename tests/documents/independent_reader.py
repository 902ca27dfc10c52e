"""Reads the visible text of a page without Octavo's parser, with cmark-gfm for CommonMark and html5lib for HTML.

Of the platform's markup, this module knows only the parts without text: tags, hidden columns, icons and formulas.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple
from xml.etree.ElementTree import Comment, Element

import cmarkgfm
import html5lib
from cmarkgfm.cmark import Options

from octavo.api.safety import safe_text

_WORD = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]|[^\W_\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]+")
_FRONT_MATTER = re.compile(r"\ufeff?---[ \t]*\n(?:.*?\n)??(?:---|\.\.\.)[ \t]*(?:\n|$)", re.DOTALL)
_ELEMENTS = (
    "a|abbr|acronym|address|article|aside|audio|b|base|bdi|bdo|big|blockquote|body|br|button|caption|center|cite|code|"
    "col|colgroup|data|dd|del|details|dfn|dialog|div|dl|dt|em|fieldset|figcaption|figure|font|footer|form|frame|h[1-6]|"
    "head|header|hr|html|i|iframe|img|input|ins|kbd|label|legend|li|link|main|map|mark|menu|nav|noframes|object|ol|"
    "optgroup|option|p|param|picture|pre|q|s|samp|script|search|section|small|source|span|strike|strong|style|sub|"
    "summary|sup|svg|table|tbody|td|tfoot|th|thead|time|title|tr|track|tt|u|ul|var|video|wbr"
)
_TAKEN_OUT = re.compile(
    r"^[ \t]*<!--(?:(?!-->).)*-->"  # A comment, including tags in it.
    r"|(?<!\\)\{%[^\n%{}]*[\"'][ \t]*\}(?=[ \t]*$)"  # A tag whose end lacks its percent sign.
    r"|(?<!\\)\{%(?:(?!\{%).)*?%\}"  # A tag.
    rf"|^[ \t]*</?(?:[A-Z]\w*|(?!(?:{_ELEMENTS})[\s/>])[a-z][\w-]*)(?:\s[^<>]*)?>[ \t]*$"  # A component of another system.
    r"|(?<=\s)[\w-]+=\{\{[^{}]*\}\}(?=[^<>]*>)"  # An attribute of a component.
    r"|^\$\$[ \t]*\n(?:(?!\$\$).)*?\n\$\$[ \t]*$"  # A formula with its signs on separate lines, which may contain blank lines.
    r"|\$\$(?:[^$`\n]|\$(?!\$)|\n(?![ \t]*\n))+\$\$",  # Any other formula.
    re.DOTALL | re.MULTILINE,
)
_HELD = re.compile(r"<!--held (\d+)-->|(?:\ue000|data-held=)(\d+)\ue001?")
"""Placeholders of a tag that ends a block, of a formula that does not, and of an attribute."""
_SHOWN_OF_TAGS = re.compile(
    r"\b(title|caption|description|summary|label|tags|path|method|name|alt|content)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')",
    re.IGNORECASE,
)
_NO_FENCE = re.compile(r"^([ \t>]*)\u200b+(?=```|~~~)", re.MULTILINE)
"""Invisible characters that prevent the start or end of code."""
_CODE_IN_TAG = re.compile(
    r"^[ \t]*(`{3,}|~{3,})[^\n]*\n(?:.*\n)*?[ \t]*\1"
    r"|^\{%[ \t]*(?!code\b)(\w+)[^\n%]*\blang=[^\n%]*%\}[ \t]*\n"
    r"(?P<code>(?:(?!\{%[ \t]*\2\b).*\n)*?)\{%[ \t]*end\2[ \t]*%\}",
    re.MULTILINE,
)
"""Code between fences, or in a tag of a plugin that says in which language it is."""
_FENCE = "~" * 30
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_OWN_ID = re.compile(r"\{#[\w.:-]+\}\s*$")
_EMOJI = re.compile(r":(?=[\w+-]*[a-z+])[\w+-]+:")
_LOOSE = re.compile(r"""<(?:a|div|font|h[1-6]|img|p|span|table|td|th)\s[\w:@-]+=(?:"[^"<>]*|'[^'<>]*)>""")
"""The tag of an element whose quotes are not closed: for cmark-gfm it is text."""
_AROUND_MENTION = re.compile(r'\[([^\[\]\n]*\[[^\[\]\n]+\]\([^()\n]+"mention"\)[^\[\]\n]*)\]\([^()\n]*\)')
"""A link around a mention: for cmark-gfm it is brackets and an address."""
_SPACED_IMAGE = re.compile(
    r"""(!\[[^\[\]\n]*\]\()([^()<>"'\n]*(?:\([^()<>"'\n]*\)[^()<>"'\n]*)*\.(?:png|jpe?g|gif|svg|webp)) *\)""",
    re.IGNORECASE,
)
"""An image whose path may contain spaces: for cmark-gfm it is brackets and an address."""
_FENCE_BEFORE_TAG = re.compile(r"([ \t]*(?:`{3,}|~{3,}))[ \t]*(<!--held \d+-->.*)")
_AFTER_HTML = re.compile(
    r"(.*</(?:details|div|figure|p|picture|pre|summary|table)>)[ \t]*((?!<)(?!.*</?(?:div|figure|p|table)\b).*[^>\s])\s*",
    re.IGNORECASE,
)
"""HTML with Markdown after it on the same line: for cmark-gfm all of it is HTML."""
_BREAK = re.compile(r"<br\s*/?>\s*")
"""A break on a line of its own: behind a list, where it goes on with the last item, it begins HTML for cmark-gfm."""
_PICTURE = re.compile(r"\s*(?:<svg\b|<\?xml\b|data:image/)", re.IGNORECASE)
"""Alternative texts that some editors write for every image."""
_NOTHING = re.compile(r"&(?:amp;)?#x?NAN;", re.IGNORECASE)
_ONLY_WORDS = re.compile(r"[\W_]+")

_UNSEEN = {"script", "style", "template", "select", "option", "svg", "iframe", "title", "head", "noscript"}
_WITHIN_LINES = frozenset(
    [
        "a",
        "abbr",
        "b",
        "bdi",
        "bdo",
        "button",
        "cite",
        "code",
        "data",
        "del",
        "dfn",
        "em",
        "font",
        "i",
        "ins",
        "kbd",
        "label",
        "mark",
        "q",
        "s",
        "samp",
        "small",
        "span",
        "strike",
        "strong",
        "sub",
        "sup",
        "time",
        "tt",
        "u",
        "var",
        "wbr",
    ]
)
_DRAWN = {"rating", "checkbox", "select"}
"""Types of columns whose cells are signs, or the labels of what is written in them."""
_FALLBACKS = re.compile(r"\{%-?\s*(end)?(openapi[\w-]*|swagger)(?=\s)(.*?\bsrc=)?", re.DOTALL)
_REFS = re.compile(r"\{%-?\s*(end)?(content-ref|page-ref)\b")


class VisibleText(NamedTuple):
    """Text that belongs together, and its first line, counted from 1."""

    text: str
    line: int


def words_in(text: str) -> list[str]:
    """Return the normalized words of a text. Each Chinese or Japanese character is a word."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def letters_in(text: str) -> str:
    """Return the letters and digits of a text."""
    return _ONLY_WORDS.sub("", unicodedata.normalize("NFKC", text).casefold())


def read(source: str) -> list[VisibleText]:
    """Return all visible texts of a page in order."""
    source = source.replace("\r\n", "\n").replace("\r", "\n")
    source = _CODE_IN_TAG.sub(_as_fenced_code, _NO_FENCE.sub(r"\1·", source))
    return list(_Reader(safe_text(source)).read())


def _as_fenced_code(found: re.Match[str]) -> str:
    return found[0] if found["code"] is None else f"{_FENCE}\n{found['code']}{_FENCE}\n"


@dataclass
class _Reader:
    source: str
    held: list[str] = field(default_factory=list)
    held_at: list[int] = field(default_factory=list)
    first: int = 0
    """Offset of the page after its front matter."""
    lines: list[int] = field(default_factory=list)
    """The line of the source of each line that is read."""
    line: int = 1
    text: str = ""
    said: list[VisibleText] = field(default_factory=list)
    is_fallback: bool = False
    is_ref: bool = False

    def read(self) -> list[VisibleText]:
        options = Options.CMARK_OPT_UNSAFE | Options.CMARK_OPT_FOOTNOTES | Options.CMARK_OPT_SOURCEPOS
        extensions = ["table", "strikethrough", "tasklist"]
        page = cmarkgfm.markdown_to_html_with_extensions(self._without_tags(), options=options, extensions=extensions)
        # html5lib puts comments before the body into no element.
        body = "<body>" + _NOTHING.sub("", page)
        self._element(html5lib.parse(body, treebuilder="etree", namespaceHTMLElements=False))
        self._end()
        return self.said

    def _without_tags(self) -> str:
        """Return the markdown with placeholders for tags and formulas. In code, the tags are put back."""
        source = self.source
        first = _FRONT_MATTER.match(source)
        self.first = first.end() if first is not None else 0
        number = source.count("\n", 0, self.first) + 1
        out: list[str] = []
        is_code = False
        rest = _AROUND_MENTION.sub(r"\1", _TAKEN_OUT.sub(self._hold, source[self.first :]))
        for row in _SPACED_IMAGE.sub(r"\1<\2>)", rest).split("\n"):
            is_code ^= row.lstrip().startswith(("```", "~~~"))
            if not is_code and _BREAK.fullmatch(row) and out and out[-1].strip():
                row = "&nbsp;"
            if (
                is_code and (mark := _HELD.fullmatch(row)) and mark[1]
            ):  # The placeholder hides the indentation, which keeps code inside a list.
                held = self.held[int(mark[1])]
                row = held[: len(held) - len(held.lstrip())] + row
            indent = row[: len(row) - len(row.lstrip())]
            behind = row
            if closing := _FENCE_BEFORE_TAG.fullmatch(row):
                out.append(closing[1])
                self.lines.append(number)
                behind = closing[2]
            # Text after a tag is read as markdown only on its own line.
            while (mark := _HELD.match(behind.strip())) and mark[1] and behind.strip() != mark[0]:
                out.append(indent + mark[0])
                self.lines.append(number)
                behind = indent + behind.strip()[mark.end() :].strip()
            if not is_code and behind.lstrip().startswith("<") and (after := _AFTER_HTML.fullmatch(behind)):
                out += [after[1], ""]
                self.lines += [number, number]
                behind = indent + after[2]
            out.append(behind)
            self.lines.append(number)
            if row.rstrip() in (
                "</details>",
                "</div>",
            ):  # Text directly after a tag is markdown, not part of the HTML block.
                out.append("")
                self.lines.append(number)
            number += 1 + sum(self.held[int(tag or formula)].count("\n") for tag, formula in _HELD.findall(row))
        return "\n".join(out)

    def _hold(self, found: re.Match[str]) -> str:
        if found[0].lstrip().startswith("<!--"):
            return found[0]
        self.held.append(found[0])
        self.held_at.append(self.source.count("\n", 0, self.first + found.start()) + 1)
        number = len(self.held) - 1
        if found[0].startswith("$$"):
            return f"\ue000{number}\ue001"
        return f"<!--held {number}-->" if found[0].strip()[0] in "{<" else f"data-held={number}"

    def _put_back(self, text: str) -> str:
        return _HELD.sub(lambda mark: self.held[int(mark[1] or mark[2])], text)

    def _element(self, element: Element, *, code: bool = False) -> None:
        name = element.tag
        if callable(name):  # A comment
            if name is Comment:
                self._comment(element.text or "", code=code)
            return
        classes = element.get("class") or ""
        if name in _UNSEEN or (name == "i" and classes.startswith("fa")) or "math" in classes.split():
            return
        if "footnote-ref" in classes or "footnote-backref" in classes:
            self.text += " "
            return
        if position := element.get("data-sourcepos"):
            self._end()
            self.line = self._line_at(int(position.partition(":")[0]))
        within = name in _WITHIN_LINES
        if not within:
            self._end()
        if name == "figure":
            caption = letters_in(" ".join(text for each in element.iter("figcaption") for text in each.itertext()))
            for image in element.iter("img"):
                if letters_in(image.get("alt") or "") == caption:  # The same text twice is shown once.
                    image.set("alt", "")
        if name == "img":
            alt = element.get("alt") or ""
            self._say("" if _PICTURE.match(alt) else alt)
        elif name == "table":
            self._table(element)
        else:
            before = len(self.text)
            self._children_of(element, code=code or name in ("code", "pre"))
            if name in ("h1", "h2", "h3", "h4", "h5", "h6"):
                self.text = _OWN_ID.sub("", self.text)
            is_mention = element.get("title") == "mention" or element.get("data-mention") is not None
            if is_mention or (self.is_ref and name == "a"):
                self.text = self.text[:before] + self.text[before:].strip().removesuffix(".md") + " "
        if not within:
            self._end()

    def _children_of(self, element: Element, *, code: bool) -> None:
        self._say(element.text or "", code=code)
        for child in element:
            self._element(child, code=code)
            self._say(child.tail or "", code=code)

    def _comment(self, text: str, *, code: bool) -> None:
        mark = _HELD.match(f"<!--{text}-->")
        if mark is None:
            return
        tag = self.held[int(mark[1])]
        if code:
            self._say(tag, code=True)
            return
        self._end()
        self.line = self.held_at[int(mark[1])]
        if found := _FALLBACKS.match(tag):
            is_elsewhere = found[2] != "swagger" or bool(found[3])
            self.is_fallback = not found[1] and is_elsewhere and f"end{found[2]}" in self.source
        if found := _REFS.match(tag):
            self.is_ref = not found[1]
        for match in _SHOWN_OF_TAGS.finditer(tag) if tag.startswith("{%") else ():
            self.text += html.unescape(_ESCAPE.sub(r"\1", match[2] or match[3] or ""))
            self._end()

    def _table(self, table: Element) -> None:
        within = {id(row) for inner in table.iter("table") if inner is not table for row in inner.iter("tr")}
        rows = [row for row in table.iter("tr") if id(row) not in within]
        heads = _cells(rows[0]) if rows else []
        titled = table.get("data-column-title-hidden") is None and table.get("data-header-hidden") is None
        # A card shows the title of a column only if its cell is not empty.
        data_rows = rows[1:] if table.get("data-view") == "cards" else rows
        used = {
            at for row in data_rows for at, cell in enumerate(_cells(row)) if len(cell) or (cell.text or "").strip()
        }
        for row in rows:
            for at, cell in enumerate(_cells(row)):
                head = heads[at] if at < len(heads) else None
                if head is not None and head.get("data-hidden") is not None:
                    continue
                is_head = row is rows[0] and cell.tag == "th"
                if is_head and not (titled and at in used):
                    continue
                if not is_head and head is not None and head.get("data-type") in _DRAWN:
                    continue
                self._element(cell)

    def _say(self, text: str, *, code: bool = False) -> None:
        self.text += self._put_back(text) if code else _EMOJI.sub(" ", _LOOSE.sub(" ", _HELD.sub(" ", text)))

    def _end(self) -> None:
        if self.text.strip() and not self.is_fallback:
            self.said.append(VisibleText(self.text, self.line))
        self.text = ""

    def _line_at(self, number: int) -> int:
        return self.lines[min(number, len(self.lines)) - 1]


def _cells(row: Element) -> list[Element]:
    return [cell for cell in row if cell.tag in ("th", "td")]


def components(source: str) -> list[str]:
    """Return the source of components of other documentation systems. Some of it is shown as text."""
    reader = _Reader(safe_text(source))
    reader.read()
    return [held for held in reader.held if held.lstrip().startswith("<")]


def missing_words(source: str, *shown: str) -> Iterator[VisibleText]:
    """Yield the words of a page that no shown text contains often enough.

    Words that are joined or split differently count as shown if all their letters follow one another.
    """
    said = read(source)
    wanted = Counter(word for each in said for word in words_in(each.text))
    found = [Counter(words_in(text)) for text in shown]
    missing = {word: most for word, count in wanted.items() if (most := count - max(each[word] for each in found)) > 0}
    if not missing:
        return
    letters = "".join(letters_in(each.text) for each in said)
    shown_letters = [letters_in(text) for text in shown]
    for word, times in missing.items():
        if max(each.count(word) for each in shown_letters) >= letters.count(word):
            continue
        where = next(each.line for each in said if word in words_in(each.text))
        yield VisibleText(word if times == 1 else f"{word} ({times} times)", where)
