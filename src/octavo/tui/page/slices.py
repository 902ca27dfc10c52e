"""Long blocks cut into slices that are set one by one, so that cost follows what is looked at."""

from __future__ import annotations

from typing import NamedTuple
from unicodedata import combining

from octavo.documents.blocks import Block, Run

_CHILDREN = {
    "list": 40,
    "updates": 1,
    "footnotes": 60,
    "table": 60,
    "quote": 12,
    "hint": 12,
    "expandable": 12,
    "stepper": 6,
    "item": 12,
    "task": 12,
    "step": 12,
    "tab": 12,
    "update": 12,
}
"""How many children of a kind are set at a time."""
_LETTERS, _WORD = 6000, 3000
"""Of a longer paragraph so many are set at a time, up to a space, or within a longer word: there a line ends. A table whose
cells hold more than twice as many is cut after the row with which they are reached."""
_JOINING = "\u200d\ufe0e\ufe0f"


class Cut(NamedTuple):
    """Where in a block a slice of it lies."""

    whole: Block
    start: int
    """The place of its first child."""
    above: Block | None = None
    """The child before that. None when the slice begins within a child that is cut as well."""
    is_first: bool = False
    is_last: bool = False


def cut_of(block: Block) -> Cut | None:
    """Where a slice lies. None for a whole block."""
    cut = block.attrs.get("cut")
    return cut if isinstance(cut, Cut) else None


def whole_of(block: Block) -> Block:
    """The block that a slice is of, or the block itself."""
    cut = cut_of(block)
    return block if cut is None else cut.whole


def slices(block: Block) -> list[Block]:
    """A block in slices, each a block with some of its children; only the block when it is not long."""
    if block.kind == "paragraph":
        return _paragraphs(block)
    if block.kind == "tabs":
        return _tabs(block)
    if block.kind == "table":
        return _rows(block)
    size = _CHILDREN.get(block.kind)
    if size is None:
        return [block]
    groups: list[tuple[int, bool, list[Block]]] = []
    for place, child in enumerate(block.children):
        pieces = slices(child)
        if len(pieces) > 1:
            groups += [(place, at > 0, [piece]) for at, piece in enumerate(pieces)]
        elif groups and len(groups[-1][2]) < size and cut_of(groups[-1][2][-1]) is None:
            groups[-1][2].append(child)
        else:
            groups.append((place, False, [child]))
    is_deep = any(goes_on for _, goes_on, _ in groups)
    if len(groups) < 2 or (len(block.children) < 2 * size and not is_deep):
        return [block]
    out = []
    for at, (place, goes_on, children) in enumerate(groups):
        above = block.children[place - 1] if place and not goes_on else None
        out.append(_slice(block, children, Cut(block, place, above), at, len(groups)))
    return out


def _slice(block: Block, children: list[Block], cut: Cut, at: int, count: int) -> Block:
    cut = cut._replace(is_first=at == 0, is_last=at == count - 1)
    first = block.lines[0] if cut.is_first else children[0].lines[0] if children else block.lines[1]
    last = block.lines[1] if cut.is_last else children[-1].lines[1] if children else first
    runs = block.runs if cut.is_first else ()
    attrs, lines = {**block.attrs, "cut": cut}, (first, max(first, last))
    return block._replace(children=tuple(children), runs=runs, attrs=attrs, lines=lines)


def _rows(table: Block) -> list[Block]:
    """A table in slices of so many rows, or of fewer with much in them."""
    rows, most = table.children, _CHILDREN["table"]
    long = [letters(row) for row in rows]
    if len(rows) < 2 * most and sum(long) < 2 * _LETTERS:
        return [table]
    if any("rowspan" in cell.attrs for row in rows for cell in row.children):
        return [table]
    starts, held = [0], 0
    for place, size in enumerate(long):
        if place - starts[-1] >= most or (held >= _LETTERS and place > starts[-1]):
            starts.append(place)
            held = 0
        held += size
    if len(starts) < 2:
        return [table]
    ends = [*starts[1:], len(rows)]
    return [
        _slice(table, list(rows[start:end]), Cut(table, start, rows[start - 1] if start else None), at, len(starts))
        for at, (start, end) in enumerate(zip(starts, ends, strict=True))
    ]


def letters(row: Block) -> int:
    """How long the words of a row of a table are."""
    return sum([len(run.text) for cell in row.children for run in cell.runs])


def _tabs(block: Block) -> list[Block]:
    """Each slice has a slice of every tab, as only one of them is shown."""
    by_tab = [slices(tab) for tab in block.children]
    count = max(map(len, by_tab), default=0)
    if count < 2:
        return [block]
    out = []
    for at in range(count):
        tabs = [
            pieces[at] if at < len(pieces) else tab._replace(children=())
            for tab, pieces in zip(block.children, by_tab, strict=True)
        ]
        out.append(_slice(block, tabs, Cut(block, 0), at, count))
    return out


def _edge(text: str, room: int) -> tuple[int, int] | None:
    """Where the first line ends that begins before `room` or soon after it, and where the next begins; None when the text
    ends before that."""
    end = text.find(" ", room, room + _WORD)
    if end >= 0:
        return end, end + 1
    if len(text) <= room + _WORD:
        return None
    end = room
    while combining(text[end]) or text[end] in _JOINING:
        end += 1
    return end, end


def _paragraphs(block: Block) -> list[Block]:
    if sum([len(run.text) for run in block.runs]) < 2 * _LETTERS:
        return [block]
    rows: list[list[Run]] = [[]]
    room = _LETTERS
    for run in block.runs:
        text = run.text
        while len(text) > room and (edge := _edge(text, room)) is not None:
            rows[-1].append(run._replace(text=text[: edge[0]]))
            text, room = text[edge[1] :], _LETTERS
            rows.append([])
        if text:
            rows[-1].append(run._replace(text=text))
            room = max(0, room - len(text))
    rows = [row for row in rows if row]
    out = []
    for at, row in enumerate(rows):
        cut = Cut(block, 0, is_first=at == 0, is_last=at == len(rows) - 1)
        out.append(block._replace(runs=tuple(row), attrs={**block.attrs, "cut": cut}))
    return out if len(out) > 1 else [block]
