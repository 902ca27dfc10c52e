"""The text of a page as readers see it, with the position of each character in the source. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import NamedTuple

from octavo.documents.linters.placement import mask

BARRIER = "\0"
"""Character in place of code, front matter, a URL, a tag or the end of a block. No term contains the character, so no
match spans one of these."""

_FORMATS = "b|strong|i|em|u|mark|s|del|ins|sub|sup|span|font|small|big"
_TOKEN = re.compile(
    r"(?P<escape>\\[!-/:-@\[-`{-~])"
    r"|(?P<entity>&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});)"
    r"|(?P<tag>\{%[^{}]{0,2000}?%\})"
    r"|(?P<autolink><[A-Za-z][A-Za-z0-9+.-]{1,31}:[^<>\s]{0,2000}>|<[^<>\s@]{1,100}@[^<>\s@]{1,200}>)"
    rf"|(?P<format></?(?:{_FORMATS})(?:\s[^<>]{{0,1000}})?>)"
    r"|(?P<code><(?P<name>code|pre|kbd|style|script)\b[^<>]{0,1000}>[^<]{0,1000}(?:<(?!/?(?P=name)\b)[^<]{0,1000}){0,100}</(?P=name)>)"
    r"|(?P<element></?[A-Za-z][^<>]{0,2000}>)"
    r"|(?P<target>\]\((?:<[^<>\n]{0,1000}>|[^\s()]{0,1000}(?:\([^\s()]{0,99}\)[^\s()]{0,99}){0,9})"
    r"(?:\s{1,9}(?:\"[^\"\n]{0,300}\"|'[^'\n]{0,300}'))?\s{0,9}\)|\]\[[^\[\]\n]{0,200}\]|\[\^[^\[\]\s]{1,100}\])"
    r"|(?P<definition>(?<![^\n])[ \t>]{0,20}\[[^\[\]\n]{1,200}\]:[ \t][^\n]*)"
    r"|(?P<url>(?<![A-Za-z0-9])(?:[A-Za-z][A-Za-z0-9+.-]{1,20}://|mailto:|www\.)[^\s<>\"'`)\]|*]+)"
    r"|(?P<mail>(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,100}(?:\.[\w-]{1,100}){1,9})"
    r"|(?P<path>(?<![\w/.~-])(?:~|\.{1,2})?/[\w.@%-]{1,200}(?:/[\w.@%-]{1,200}){0,50}/?"
    r"|(?<![\w/.@%-])[\w.@%-]{1,200}(?:/[\w.@%-]{1,200}){2,50}/?)"
    r"|(?P<line>\r?\n(?:[ \t]*>)*[ \t]*(?P<next>\r?\n|#{1,6}[ \t]|(?:[-*+]|\d{1,9}[.)])[ \t]|\||={2,}[ \t]*\n|-{2,}[ \t]*\n)?)"
    r"|(?P<emphasis>\*{1,3}(?=\S)|(?<=\S)\*{1,3}|~~|(?<![^\W_])_{1,3}(?=\S)|(?<=\S)_{1,3}(?![^\W_]))",
    re.DOTALL,
)
_TEXT_ATTRIBUTE = re.compile(r"""\b(?:title|alt|summary|caption|description)=(["'“])(.{1,300}?)["'”]""")
_HEADING = re.compile(r"[ \t>]{0,20}#{1,6}[ \t]")


class VisibleText(NamedTuple):
    """Text that readers see. `starts` and `ends` are the range in the source of each character."""

    text: str
    starts: list[int]
    ends: list[int]


def visible_text(source: str) -> VisibleText:
    """Return the visible text of the Markdown of a page: without link targets and formatting marks, and with
    `BARRIER` in place of code, front matter, URLs and tags. A line break inside a paragraph becomes a space."""
    masked = _without_comments(mask(source, ("code", "front-matter")))
    text: list[str] = []
    starts: list[int] = []
    ends: list[int] = []

    def put(character: str, start: int, end: int) -> None:
        text.append(character)
        starts.append(start)
        ends.append(end)

    def copy(start: int, end: int) -> None:
        for index in range(start, end):
            is_masked = masked[index] != source[index]
            if not is_masked:
                put(source[index], index, index + 1)
            elif not text or text[-1] != BARRIER:
                put(BARRIER, index, index + 1)

    position = 0
    for found in _TOKEN.finditer(masked):
        copy(position, found.start())
        position = found.end()
        match found.lastgroup:
            case "escape":
                put(found[0][1], found.start(), found.end())
            case "entity":
                for character in unescape(found[0]):
                    put(character, found.start(), found.end())
            case "emphasis" | "format" | "target":
                pass
            case "line" if found["next"] is None and not _ends_block(masked, found.start()):
                put(" ", found.start(), found.end())
            case "tag" | "element":
                put(BARRIER, found.start(), found.start())
                for start, end in _attributes(found[0]):
                    copy(found.start() + start, found.start() + end)
                    put(BARRIER, found.start() + end, found.start() + end)
            case _:
                put(BARRIER, found.start(), found.end())
    copy(position, len(source))
    return VisibleText("".join(text), starts, ends)


def _without_comments(text: str) -> str:
    """Return a text with a tab in place of each character of a comment, except line breaks."""
    pieces, position = [], 0
    while (start := text.find("<!--", position)) >= 0 and (end := text.find("-->", start)) >= 0:
        pieces += [text[position:start], re.sub(r"[^\n]", "\t", text[start : end + 3])]
        position = end + 3
    return "".join([*pieces, text[position:]])


def url_ranges(source: str) -> Iterator[tuple[int, int]]:
    """Yield the ranges of the URLs in Markdown, including the targets of links."""
    for found in _TOKEN.finditer(source):
        if found.lastgroup in ("autolink", "target", "definition", "url", "mail"):
            yield found.span()


def _ends_block(masked: str, line_end: int) -> bool:
    """Return True if the line before a line break is a heading or a row of a table."""
    line = masked[masked.rfind("\n", 0, line_end) + 1 : line_end]
    return _HEADING.match(line) is not None or line.rstrip().endswith("|") or line.lstrip().startswith("|")


def _attributes(tag: str) -> Iterator[tuple[int, int]]:
    """Yield the ranges of the attributes of a tag that readers see."""
    return (found.span(2) for found in _TEXT_ATTRIBUTE.finditer(tag))
