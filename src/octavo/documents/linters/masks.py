"""Replaces the parts of a page that are not prose by spaces, so that linters do not check them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Literal

from octavo.documents import front_matter
from octavo.documents.parse import parse
from octavo.documents.tags import TagScanner

Mask = Literal["tags", "code", "front-matter"]
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)(?:[^`\n]|(?!\1(?!`))`)*?[^`]\1(?!`)")
_NOT_SPACE = re.compile(r"\S")


def mask(text: str, parts: Collection[Mask]) -> str:
    """Return a page with some parts replaced by as many spaces. Line breaks stay."""
    ranges: list[tuple[int, int]] = []
    if "front-matter" in parts:
        ranges.append((0, front_matter.split_page(text)[1]))
    if "tags" in parts:
        ranges += _tags(text)
    if "code" in parts:
        ranges += _code(text)
    pieces, position = [], 0
    for start, end in sorted(ranges):
        if end > position:
            start = max(start, position)
            pieces += [text[position:start], _NOT_SPACE.sub(" ", text[start:end])]
            position = end
    return "".join([*pieces, text[position:]])


def _tags(text: str) -> Iterator[tuple[int, int]]:
    scanner, position = TagScanner(text), 0
    while (start := text.find("{%", position)) >= 0:
        tag = scanner.tag_at(start)
        position = start + 2 if tag is None else tag.end
        if tag is not None:
            yield start, tag.end


def _code(text: str) -> Iterator[tuple[int, int]]:
    starts = [0, *(match.end() for match in re.finditer("\n", text)), len(text)]
    for block in parse(text).walk():
        if block.kind in ("code", "math") and block.lines[1] < len(starts):
            yield starts[block.lines[0]], starts[block.lines[1]]
    for match in _CODE_SPAN.finditer(text):
        yield match.span()
