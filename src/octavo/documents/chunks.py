"""Cuts a long page into pieces that can be read one at a time."""

from __future__ import annotations

import re

_FENCE = re.compile(r"[ \t>]*(`{3,}|~{3,})")
_TAG = re.compile(r"\{%-?[ \t]*(end)?([@\w-]+)")
_ELEMENT = re.compile(r"<(/?)(details|table|pre|figure|div|ul|ol|picture|blockquote)\b", re.IGNORECASE)
_CONTINUES = re.compile(r"[ \t]|[*+>-][ \t]|\d+[.)][ \t]|[:|]")
_DEFINITION = re.compile(r"^ {0,3}\[[^\]]+\]:", re.MULTILINE)
_PAIRED = re.compile(
    "hint|tabs|tab|stepper|step|columns|column|updates|update|prompt|if|code|openapi-operation|swagger"
)


def chunks(markdown: str, size: int = 20_000) -> list[tuple[int, str]]:
    """Pieces of about `size` characters as (first line, text), which read one by one as they do together: cut at
    blank lines outside code, tags, HTML and lists. A page with link definitions or footnotes stays whole."""
    if len(markdown) <= size or markdown.startswith("---") or _DEFINITION.search(markdown):
        return [(0, markdown)]
    found: list[tuple[int, str]] = []
    lines = markdown.split("\n")
    first = length = depth = 0
    fence = ""
    for number, line in enumerate(lines):
        if mark := _FENCE.match(line):
            if not fence:
                fence = mark[1]
            elif mark[1].startswith(fence) and not line.strip(" \t>`~"):
                fence = ""
        elif not fence:
            depth = max(0, depth + _depth_change(line))
        length += len(line) + 1
        following = lines[number + 1] if number + 1 < len(lines) else ""
        safe = not fence and not depth and not line.strip() and following.strip() and not _CONTINUES.match(following)
        if safe and length >= size:
            found.append((first, "\n".join(lines[first : number + 1])))
            first, length = number + 1, 0
    found.append((first, "\n".join(lines[first:])))
    return found


def _depth_change(line: str) -> int:
    change = 0
    if "{%" in line:
        change += sum(-1 if end else 1 for end, name in _TAG.findall(line) if _PAIRED.fullmatch(name))
    if "<" in line:
        change += sum(-1 if end else 1 for end, _ in _ELEMENT.findall(line))
    return change
