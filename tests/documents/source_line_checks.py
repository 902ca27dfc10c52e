"""Checks that each block of a parsed page has its own source lines. Also returns all text that a page shows."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from octavo.api.safety import safe_text
from octavo.documents.blocks import Block, Document, Run, TableColumn, plain_text
from tests.documents.independent_reader import words_in

_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_ELEMENT = re.compile(r"<[^<>]*>")
_BETWEEN_LINKS = re.compile(r"\]\([^()\n]*\)\[")
"""The address between two links. If they have the same address, they are one text."""
_NOTHING = re.compile(r"&#x?NAN;", re.IGNORECASE)
_SHOWN = (
    *("title", "alt", "description", "summary", "label", "name", "date", "tags", "path", "method", "host", "status"),
    *("expression", "url", "src", "target", "schemas", "spec", "arguments", "type", "in", "code", "notes"),
)
"""Attributes whose values are shown as text."""


def tree_text(blocks: Iterable[Block]) -> str:
    """Return all text that the blocks show."""
    return "\n".join(said for block in blocks for each in block.walk() for said in _texts_of(each))


def _texts_of(block: Block) -> Iterator[str]:
    yield block.text
    yield from _texts_of_runs(block.runs)
    for name, value in block.attrs.items():
        if name in _SHOWN:
            yield from _strings_in(value)
        elif name == "columns":
            for column in value:
                yield from _texts_of_column(column)


def _texts_of_column(column: TableColumn) -> Iterator[str]:
    yield from _texts_of_runs(column.title)
    yield from column.options.values()


def _texts_of_runs(runs: tuple[Run, ...]) -> Iterator[str]:
    yield plain_text(tuple(run for run in runs if run.kind not in ("emoji", "footnote") or run.attrs.get("inline")))
    for run in runs:
        yield from _strings_in([value for name, value in run.attrs.items() if name in _SHOWN and name != "src"])
        if run.kind == "footnote":
            yield run.attrs["label"]


def _strings_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from _strings_in(list(value.values()))
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _strings_in(each)


def misplaced_blocks(document: Document) -> list[str]:
    """Return the blocks whose text is not in their source lines, or whose lines are out of order."""
    lines = document.source.split("\n")
    wrong = list(_out_of_order(document.blocks, 0, len(lines)))
    for block in document.walk():
        first, last = block.lines
        raw = "\n".join(lines[first:last])
        # In code, entities and escapes are plain text.
        readings = (raw, _as_shown(raw), _ELEMENT.sub("", raw), _BETWEEN_LINKS.sub("", raw))
        there = Counter[str]()
        for reading in readings:
            there |= Counter(words_in(reading))
        own = [block.text, *(run.text for run in block.runs if run.kind in ("text", "code"))]
        letters = "".join(there)
        if missing := [
            word
            for word in Counter(word for text in own for word in words_in(text)) - there
            if not word.isdecimal() and word not in letters
        ]:
            wrong.append(f"{block.kind} of lines {first + 1}-{last} does not contain {missing[:5]}")
    return wrong


def _as_shown(source: str) -> str:
    return safe_text(html.unescape(_NOTHING.sub("", _ESCAPE.sub(r"\1", source))))


def _out_of_order(blocks: tuple[Block, ...], first: int, last: int) -> Iterator[str]:
    after = first
    for block in blocks:
        begins, ends = block.lines
        if not first <= begins < ends <= last:
            yield f"{block.kind} of lines {begins + 1}-{ends} is outside {first + 1}-{last}"
        if begins < after and block.kind not in ("footnotes", "footnote"):
            yield f"{block.kind} of lines {begins + 1}-{ends} is before {after + 1}"
        after = begins
        yield from _out_of_order(block.children, begins, ends)
