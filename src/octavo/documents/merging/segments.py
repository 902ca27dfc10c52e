"""A text as the parts that a merge decides about: its blocks, and their rows, items, lines and cells.

A text is read as a tree whose leaves, put together in order, are that text again, letter for letter. What encloses
others (a list item, a table, a code block, a pair of tags) begins with a leaf of its own and may end with one.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cached_property

BLOCKS = frozenset(
    {"paragraph", "heading", "literal", "tag", "item", "code", "table", "html_table", "container", "row", "line"}
)
"""What stands on lines of its own."""

_BLANK = re.compile(r"\s*")
_ITEM = re.compile(r"(\s*(?:[-*+]|\d{1,9}[.)])[ \t]+)(?=\S)|(\s*(?:[-*+]|\d{1,9}[.)]))(?=[ \t]*$)")
_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]|$)")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})([^\n]*)")
_TAG = re.compile(r"\s*\{%-?\s*(@?[A-Za-z][\w@./:-]*)")
_TAG_END = re.compile(r"-?%\}")
_DELIMITER = re.compile(r"[ \t]*(?=[^\n]*\|)\|?(?:[ \t]*:?-+:?[ \t]*(?:\||$))+[ \t]*")
_DASHES = re.compile(r"-+")
_CELL_END = re.compile(r"(?<!\\)(?:\\\\)*\|")
_HTML = re.compile(r"\s*<(table|pre|figure|details)\b", re.I)
_HTML_ROW = re.compile(r"<tr\b.*?</tr\s*>", re.I | re.S)
_HTML_CELL = re.compile(r"<(t[hd])\b.*?</\1\s*>", re.I | re.S)
_HTML_TAG = re.compile(r"<(/?)(table|pre|figure|details)\b", re.I)

_DEEPEST = 40
"""Containers in one another. What stands deeper is read as paragraphs."""
_LONGEST_TAG = 40
"""Lines."""


class Segment:
    """A part of a text: a leaf with a text of its own, or what encloses others. `after` are the line ends and blank
    lines behind it; `lead` is what stands before its text and says nothing by itself: indentation and list marks."""

    __slots__ = ("__dict__", "after", "children", "kind", "lead", "role", "text")

    def __init__(
        self,
        kind: str,
        text: str = "",
        after: str = "",
        *,
        lead: str = "",
        children: Sequence[Segment] | None = None,
        role: str = "",
    ) -> None:
        self.kind, self.text, self.after, self.lead = kind, text, after, lead
        self.children = children
        self.role = role
        """"head" and "tail" of what encloses others, the "columns" and "delimiter" of a table, or none."""

    @cached_property
    def key(self) -> str:
        """What it says: two parts with the same key say the same."""
        if self.children is not None:
            return "\0".join([self.kind, *(child.key for child in self.children), ""])
        if self.kind == "cell":
            text = self.text.strip()
            return _DASHES.sub("-", text) if self.role == "delimiter" else text
        return self.text

    @cached_property
    def source(self) -> str:
        """The text of it, with what is behind it."""
        if self.children is not None:
            return "".join(child.source for child in self.children) + self.after
        return self.lead + self.text + self.after

    @cached_property
    def words(self) -> str:
        """What it says, in one text, for comparing."""
        return "\n".join(leaf.text.strip() for leaf in self.leaves())

    @cached_property
    def size(self) -> int:
        """How many letters and digits it has."""
        return sum(map(str.isalnum, self.words))

    def walk(self) -> Iterator[Segment]:
        """It and all within it."""
        yield self
        for child in self.children or ():
            yield from child.walk()

    def leaves(self) -> Iterator[Segment]:
        """What of it has a text of its own, in order."""
        if self.children is None:
            yield self
        for child in self.children or ():
            yield from child.leaves()


def segments(text: str) -> Segment:
    """The tree of a text."""
    *whole, last = text.split("\n")
    lines = [line + "\n" for line in whole] + ([last] if last else [])
    return Segment("root", children=_Reading(lines).blocks(0, len(lines), 0))


def is_blank(line: str) -> bool:
    """Whether a line shows nothing."""
    return _BLANK.fullmatch(line) is not None


def is_item(line: str) -> bool:
    """Whether an item of a list begins here."""
    return _ITEM.match(line) is not None


def continues(line: str, following: str) -> bool:
    """Whether a line that comes right after another belongs to the same block."""
    return not (is_blank(line) or is_blank(following) or is_item(following))


class _Reading:
    """Reads lines, each with its line end."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._fences = _fences(lines)
        self._ends = _ends(lines, self._fences)

    def blocks(self, start: int, end: int, depth: int) -> list[Segment]:
        """The parts on these lines."""
        found: list[Segment] = []
        at = start
        while at < end:
            if is_blank(self._lines[at]):
                if not found:
                    found.append(Segment("literal"))
                found[-1].after += self._lines[at]
                at += 1
                continue
            segment, at = self._block(at, end, depth)
            found.append(segment)
        return found

    def _block(self, at: int, end: int, depth: int) -> tuple[Segment, int]:
        line = self._lines[at]
        if depth > _DEEPEST:
            return self._paragraph(at, end)
        if _fence(line):
            return self._code(at, end)
        if line.strip() == "$$":
            return self._formula(at, end)
        if _TAG.match(line):
            return self._tag(at, end, depth)
        if html := _HTML.match(line):
            return self._html(at, end, depth, html[1].lower())
        if _HEADING.match(line):
            return self._leaf("heading", at, at + 1), at + 1
        if _ITEM.match(line):
            return self._item(at, end, depth)
        if at + 1 < end and "|" in line and _DELIMITER.fullmatch(self._lines[at + 1].rstrip("\n")):
            return self._table(at, end)
        return self._paragraph(at, end)

    def _leaf(self, kind: str, at: int, end: int, *, lead: str | None = None, role: str = "") -> Segment:
        text = "".join(self._lines[at:end])
        body = text.removesuffix("\n")
        if lead is None:
            lead = body[: len(body) - len(body.lstrip(" \t"))]
        return Segment(kind, body[len(lead) :], text[len(body) :], lead=lead, role=role)

    def _begins_block(self, line: str) -> bool:
        """Whether something else than a paragraph begins here, also right behind one."""
        return bool(_ITEM.match(line) or _HEADING.match(line) or _TAG.match(line) or _HTML.match(line) or _fence(line))

    def _paragraph(self, at: int, end: int) -> tuple[Segment, int]:
        stop = at + 1
        while stop < end and not is_blank(self._lines[stop]) and not self._begins_block(self._lines[stop]):
            stop += 1
        return self._leaf("paragraph", at, stop), stop

    def _formula(self, at: int, end: int) -> tuple[Segment, int]:
        stop = at + 1
        while stop < end and not self._lines[stop].rstrip().endswith("$$"):
            stop += 1
        stop = min(stop + 1, end)
        return self._leaf("literal", at, stop), stop

    def _code(self, at: int, end: int) -> tuple[Segment, int]:
        stop = min(self._fences.get(at, end), end)
        head = self._leaf("tag", at, at + 1, role="head")
        children = [head]
        for number in range(at + 1, stop):
            lead = head.lead if self._lines[number].startswith(head.lead) else ""
            children.append(self._leaf("line", number, number + 1, lead=lead))
        if stop < end:
            children.append(self._leaf("tag", stop, stop + 1, role="tail"))
            stop += 1
        return Segment("code", children=children), stop

    def _tag(self, at: int, end: int, depth: int) -> tuple[Segment, int]:
        first = at
        while first < min(end, at + _LONGEST_TAG) and not _TAG_END.search(self._lines[first]):
            first += 1
        if first >= min(end, at + _LONGEST_TAG) or not self._lines[first].rstrip().endswith("%}"):
            return self._paragraph(at, end)
        if first == at and self._lines[at].count("{%") > 1:
            return self._paragraph(at, end)
        first += 1
        last = self._ends.get(at)
        if last is None or not first <= last < end:
            return self._leaf("tag", at, first), first
        children = [self._leaf("tag", at, first, role="head")]
        children += self.blocks(first, last, depth + 1)
        children.append(self._leaf("tag", last, last + 1, role="tail"))
        return Segment("container", children=children), last + 1

    def _html(self, at: int, end: int, depth: int, name: str) -> tuple[Segment, int]:
        last = self._ends.get(at)
        if last is None or last >= end:
            return self._paragraph(at, end)
        if name == "table":
            return self._html_table(at, last + 1), last + 1
        if name == "details" and last - at > 1 and self._lines[last].strip().lower() == "</details>":
            children = [self._leaf("tag", at, at + 1, role="head")]
            children += self.blocks(at + 1, last, depth + 1)
            children.append(self._leaf("tag", last, last + 1, role="tail"))
            return Segment("container", children=children), last + 1
        return self._leaf("literal", at, last + 1), last + 1

    def _html_table(self, at: int, stop: int) -> Segment:
        whole = self._leaf("literal", at, stop)
        if whole.text.lower().count("<table") > 1:
            return whole
        rows: list[Segment] = []
        position = 0
        for number, match in enumerate(_HTML_ROW.finditer(whole.text)):
            if number == 0:
                rows.append(Segment("tag", whole.text[: match.start()], lead=whole.lead, role="head"))
            else:
                rows[-1].after += whole.text[position : match.start()]
            rows.append(_html_row(match[0], role="columns" if not number else ""))
            position = match.end()
        if not rows:
            return whole
        rows.append(Segment("tag", whole.text[position:], whole.after, role="tail"))
        return Segment("html_table", children=rows)

    def _table(self, at: int, end: int) -> tuple[Segment, int]:
        rows = [self._row(at, "columns"), self._row(at + 1, "delimiter")]
        stop = at + 2
        while stop < end and not is_blank(self._lines[stop]) and not self._begins_block(self._lines[stop]):
            rows.append(self._row(stop, ""))
            stop += 1
        return Segment("table", children=rows), stop

    def _row(self, at: int, role: str) -> Segment:
        line = self._lines[at]
        body = line.removesuffix("\n")
        start = len(body) - len(body.lstrip(" \t"))
        if body.startswith("|", start):
            start += 1
        cells = [Segment("edge", lead=body[:start], role="head")]
        while start < len(body):
            bar = _CELL_END.search(body, start)
            stop = bar.end() - 1 if bar else len(body)
            if not bar and is_blank(body[start:]):
                break
            cells.append(Segment("cell", body[start:stop], "|" if bar else "", role=role))
            start = stop + 1
        cells[-1].after += body[start:]
        return Segment("row", after=line[len(body) :], children=cells, role=role)

    def _item(self, at: int, end: int, depth: int) -> tuple[Segment, int]:
        """An item with all that stands in it: what is indented more than its mark."""
        line = self._lines[at]
        found = _ITEM.match(line)
        assert found is not None
        lead = found[1] or found[2]
        indent = _indent(line)
        stop = at + 1
        while stop < end and not is_blank(self._lines[stop]) and not self._begins_block(self._lines[stop]):
            stop += 1
        head = self._leaf("text", at, stop, lead=lead, role="head")
        last = stop
        while last < end:
            here = self._lines[last]
            if is_blank(here):
                last += 1
            elif _indent(here) > indent:
                last = min(self._skip(last), end)
            else:
                break
        while last > stop and is_blank(self._lines[last - 1]):
            last -= 1
        blanks = stop
        while blanks < last and is_blank(self._lines[blanks]):
            head.after += self._lines[blanks]
            blanks += 1
        return Segment("item", children=[head, *self.blocks(blanks, last, depth + 1)]), last

    def _skip(self, at: int) -> int:
        """The line behind a fenced block that begins here, or the next line."""
        return self._fences[at] + 1 if at in self._fences else at + 1


def _fence(line: str) -> re.Match[str] | None:
    """The mark that opens a fenced block on this line, and what is said behind it."""
    found = _FENCE.match(line)
    return found if found and (found[1][0] == "~" or "`" not in found[2]) else None


def _fences(lines: list[str]) -> dict[int, int]:
    """The lines that open fenced blocks, and those that close them. One that is never closed is not there."""
    closers: dict[str, list[tuple[int, int]]] = {"`": [], "~": []}
    for number, line in enumerate(lines):
        if (bare := line.strip()) and bare[0] in closers and bare == bare[0] * len(bare):
            closers[bare[0]].append((number, len(bare)))
    found: dict[int, int] = {}
    at = 0
    while at < len(lines):
        if fence := _fence(lines[at]):
            each = closers[fence[1][0]]
            after = (each[place] for place in range(bisect_left(each, (at + 1, 0)), len(each)))
            if (last := next((number for number, length in after if length >= len(fence[1])), None)) is not None:
                found[at] = at = last
        at += 1
    return found


def _ends(lines: list[str], fences: dict[int, int]) -> dict[int, int]:
    """The lines that open a pair of tags, of the platform or of HTML, and those that close it."""
    found: dict[int, int] = {}
    opened: dict[str, list[int]] = {}
    at = 0
    while at < len(lines):
        if at in fences:
            at = fences[at] + 1
            continue
        line = lines[at]
        if tag := _TAG.match(line):
            name = tag[1]
            if not name.startswith("end"):
                opened.setdefault("%" + name, []).append(at)
            elif opened.get("%" + name[3:]):
                found[opened["%" + name[3:]].pop()] = at
        elif "<" in line:
            for each in _HTML_TAG.finditer(line):
                name = each[2].lower()
                if not each[1]:
                    opened.setdefault(name, []).append(at)
                elif opened.get(name):
                    found[opened[name].pop()] = at
        at += 1
    return found


def _indent(line: str) -> int:
    return len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip(" "))


def _html_row(text: str, role: str) -> Segment:
    cells: list[Segment] = []
    position = 0
    for match in _HTML_CELL.finditer(text):
        if not cells:
            cells.append(Segment("edge", lead=text[: match.start()], role="head"))
        else:
            cells[-1].after += text[position : match.start()]
        cells.append(Segment("cell", match[0], role=role))
        position = match.end()
    if not cells:
        return Segment("literal", text)
    cells[-1].after += text[position:]
    return Segment("row", children=cells, role=role)
