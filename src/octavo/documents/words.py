"""The words of a page by section, for a search index: read line by line, without a tree."""

from __future__ import annotations

import re

from octavo.documents.anchors import Anchors
from octavo.documents.front_matter import split
from octavo.documents.html import decode

_HEADING = re.compile(r"(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$")
_FENCE = re.compile(r"[ \t>*+-]*(`{3,}|~{3,})")
_TAG = re.compile(r"\{%-?[ \t]*+[\w@/.:-]++((?:[^%{]++|%(?!\})|\{(?!%))*+)%\}")
_TAG_WORDS = re.compile(r"(?:title|description|caption|summary|content)=\"([^\"]*)\"")
_ELEMENT = re.compile(r"<!--(?:(?!<!--|-->).)*+-->|</?[a-zA-Z][^<>]*+>")
_OWN_ID = re.compile(r"<a\b[^<>]*?\bid=\"([^\"]+)\"")
_BRACED_ID = re.compile(r"\s*\{#([\w.:-]+)\}\s*$")
_LINK = re.compile(r"!?\[([^\[\]]*+)\]\((?:<[^<>]*+>|[^()\s]*+(?:\([^()\s]*+\))?[^()\s]*+)(?:\s+\"[^\"]*+\")?\)")
_ESCAPE = re.compile(r"\\([\\`*_{}\[\]()#+.!|<>~$-])")
_MARKS = re.compile(r"(?<!\w)[*_~`]+|[*~`]+|(?<=\w)_+(?!\w)")
_START = re.compile(r"^[ \t]*(?:[>*+-][ \t]+|\d+[.)][ \t]+)*(?:\[[ xX]\][ \t]+)?")


def plain_sections(markdown: str) -> list[tuple[str, str, str]]:
    """The sections of a page as (anchor, title, body), each from one heading to the next. What comes before the
    first heading has neither anchor nor title; a section without words has an empty body."""
    _, start = split(markdown)
    anchors = Anchors()
    sections: list[tuple[str, str, list[str]]] = [("", "", [])]
    fence = ""
    for line in markdown[start:].split("\n"):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line.strip(" \t>`~"):
                fence = ""
            else:
                sections[-1][2].append(line.strip())
        elif mark:
            fence = mark[1]
        elif heading := _HEADING.match(line):
            own = _OWN_ID.search(heading[2]) or _BRACED_ID.search(heading[2])
            title = plain(_BRACED_ID.sub("", heading[2]))
            sections.append((anchors.take(title, own[1] if own else None), title, []))
        elif (words := plain(_START.sub("", line))) and not _is_rule(line):
            sections[-1][2].append(words)
    found = [(anchor, title, "\n".join(body)) for anchor, title, body in sections]
    return found if found[0][2] else found[1:]


def plain(line: str) -> str:
    """The words of one line of markdown."""
    if "{%" in line:
        line = _TAG.sub(lambda tag: " ".join(_TAG_WORDS.findall(tag[1])), line)
    if "<" in line:
        line = _ELEMENT.sub(" ", line)
    if "](" in line:
        line = _LINK.sub(r"\1", line)
    line = _MARKS.sub("", line.replace("|", " "))
    return " ".join(decode(_ESCAPE.sub(r"\1", line)).split())


def _is_rule(line: str) -> bool:
    """Whether a line only divides: a rule, or what stands below the head of a table."""
    return "--" in line and not line.strip(" \t|:-")
