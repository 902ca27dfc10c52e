"""Reads a page with marks in it: both sides of its conflicts, as an earlier merge wrote them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from octavo.documents.conflicts import markers
from octavo.documents.merging.block_alignment import Hunk, hunks
from octavo.documents.merging.leaf_merge import NO_CONTEXT, Context
from octavo.documents.merging.merged_page import (
    Conflict,
    MergedBlock,
    MergedPage,
    Piece,
    conflicts_in,
    side_of,
    spread,
)
from octavo.documents.merging.source_blocks import Blocks, gap_after, gap_between, join
from octavo.documents.merging.source_reader import read_page


class _Known(NamedTuple):
    """What is written between marks, and the whitespace that is around it without the marks."""

    content: Conflict | MergedBlock
    before: str
    after: str


def read_marked(text: str, known: MergedPage | None = None) -> MergedPage:
    """Return the page whose conflicts are between marks in `text`.

    The base of a conflict, and what of both sides is in conflict, is taken from `known`: a merge of the same versions. For marks
    that it does not have, the base is not known, and all that differs is in conflict.
    """
    lines = text.split("\n")
    by_sides = {_sides(each.content): each for each in _marked_in(known.root)} if known is not None else {}
    pieces: list[Piece] = []
    end = 0
    for mark in markers(text):
        main = "\n".join(lines[mark.first + 1 : mark.middle])
        request = "\n".join(lines[mark.middle + 1 : mark.last])
        found = by_sides.get((_bare(main), _bare(request)))
        _add_text(pieces, "\n".join(lines[end : mark.first]), found.before if found is not None else None)
        end = mark.last + 1
        after = end
        while after < len(lines) - 1 and not lines[after].strip():
            after += 1
        gap = "\n" + "".join(line + "\n" for line in lines[end:after])
        end = after
        if found is not None:
            pieces.append(Piece(found.content, found.after if gap == "\n\n" else gap))
        else:
            pieces += _differences_of_texts(_bare(main), _bare(request), gap)
    _add_text(pieces, "\n".join(lines[end:]), None)
    is_ended = pieces and pieces[-1].gap.startswith("\n") and text.endswith("\n")
    return MergedPage(MergedBlock("page", "", "", pieces, "\n" if is_ended else "", ""))


def _add_text(pieces: list[Piece], text: str, gap: str | None) -> None:
    """Add the text between two conflicts. `gap` is the whitespace behind it without marks, if that is known."""
    if not text:
        return
    bare = text.rstrip("\n")
    here = text[len(bare) :] + "\n"
    pieces.append(Piece(bare, gap if gap is not None and here == "\n\n" else here))


def _marked_in(block: MergedBlock, before: str = "") -> Iterator[_Known]:
    """Yield what of a merged block is written between marks while nothing is chosen."""
    gap = before + block.opening
    for number, (content, after) in enumerate(found := list(spread(block.pieces)), 1):
        behind = after if number < len(found) else block.end
        if isinstance(content, Conflict):
            yield _Known(content, gap, behind)
        elif isinstance(content, MergedBlock) and any(conflicts_in(content)):
            if content.is_divided:
                yield from _marked_in(content)
            else:
                yield _Known(content, gap, behind)
        gap = after


def _sides(content: Conflict | MergedBlock) -> tuple[str, str]:
    return _bare(side_of(content, "main") or ""), _bare(side_of(content, "this") or "")


def _bare(text: str) -> str:
    """Return the text without the blank lines around it."""
    lines = text.split("\n")
    start, end = 0, len(lines)
    while start < end and not lines[start].strip():
        start += 1
    while start < end and not lines[end - 1].strip():
        end -= 1
    return "\n".join(lines[start:end])


def _differences_of_texts(main: str, request: str, gap: str) -> list[Piece]:
    """Make a conflict of everything that differs between two texts."""
    pages = read_page(main), read_page(request)
    found = _differences(pages[0].children or (), pages[1].children or (), NO_CONTEXT)
    if found:
        found[-1].gap = gap
    return found


def _differences(main: Blocks, request: Blocks, context: Context) -> list[Piece]:
    found: list[Piece] = []
    j = k = 0
    for hunk in [*hunks(main, request), Hunk(len(main), len(main), len(request), len(request))]:
        for one, other in zip(main[j : hunk.i1], request[k : hunk.j1], strict=True):
            found.append(Piece(one.source, gap_after(other if one.gap is None else one)))
        j, k = hunk.i2, hunk.j2
        ours, theirs = main[hunk.i1 : j], request[hunk.j1 : k]
        if ours or theirs:
            found.append(Piece(_difference(ours, theirs, context), gap_after((ours or theirs)[-1])))
    return found


def _difference(main: Blocks, request: Blocks, context: Context) -> Conflict | MergedBlock:
    one, other = (main or request)[0], (request or main)[0]
    is_one = len(main) == len(request) == 1 and (one.name, one.head) == (other.name, other.head)
    if is_one and one.children and other.children:
        if one.kind in ("code", "front", "table"):
            context = one.head + one.opening, f"\n{one.tail}" if one.tail else ""
        pieces = _differences(one.children, other.children, context)
        return MergedBlock(one.kind, one.head, one.opening, pieces, one.end, one.tail)
    texts = [join(each) if each else None for each in (main, request)]
    both = gap_between(replace(one, gap=None)).join(text for text in texts if text is not None)
    kind = one.kind if {each.kind for each in (*main, *request)} == {one.kind} else "blocks"
    return Conflict(kind, None, texts[0], texts[1], both=both, context=context)
