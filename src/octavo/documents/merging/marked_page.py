"""Reads the conflict markers in a page, which an earlier merge wrote, back into conflicts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from octavo.documents.conflict_markers import find_markers
from octavo.documents.merging.merged_page import (
    Conflict,
    MergedBlock,
    MergedChild,
    MergedPage,
    conflicts_in,
    side_of,
    without_moved_places,
)


class _MarkedPart(NamedTuple):
    """A part of a merged page that is written between conflict markers. `before` and `after` are the white space around
    it if it is written without markers."""

    content: Conflict | MergedBlock
    before: str
    after: str


def read_marked_page(text: str, known: MergedPage | None = None) -> MergedPage:
    """Return the page with a conflict for each set of markers in `text`.

    `known` is the merge that wrote the markers, if available. Its conflicts are used because they include the base.
    Other markers become conflicts without a base, with the text of both sides.
    """
    lines = text.split("\n")
    by_sides: dict[tuple[str, str], list[_MarkedPart]] = {}
    for each in _marked_in(known.root) if known is not None else ():
        by_sides.setdefault(_sides(each.content), []).append(each)
    pieces: list[MergedChild] = []
    end = 0
    for mark in find_markers(text):
        main = "\n".join(lines[mark.first + 1 : mark.middle])
        request = "\n".join(lines[mark.middle + 1 : mark.last])
        same_sides = by_sides.get((_strip_blank_lines(main), _strip_blank_lines(request)))
        found = same_sides.pop(0) if same_sides else None
        _add_text(pieces, "\n".join(lines[end : mark.first]), found.before if found is not None else None)
        end = mark.last + 1
        after = end
        while after < len(lines) - 1 and not lines[after].strip():
            after += 1
        gap = "\n" + "".join(line + "\n" for line in lines[end:after])
        end = after
        if found is not None:
            pieces.append(MergedChild(found.content, found.after if gap == "\n\n" else gap))
        else:
            sides = [each or None for each in (_strip_blank_lines(main), _strip_blank_lines(request))]
            both = "\n\n".join(each for each in sides if each is not None)
            pieces.append(MergedChild(Conflict("blocks", None, sides[0], sides[1], both=both), gap))
    _add_text(pieces, "\n".join(lines[end:]), None)
    ends_with_gap = pieces and pieces[-1].gap.startswith("\n") and text.endswith("\n")
    return MergedPage(MergedBlock("page", "", "", pieces, "\n" if ends_with_gap else "", ""))


def _add_text(pieces: list[MergedChild], text: str, gap: str | None) -> None:
    """Add the text between two conflicts. `gap` is the white space after the text without markers, if known."""
    if not text:
        return
    stripped = text.rstrip("\n")
    actual_gap = text[len(stripped) :] + "\n"
    pieces.append(MergedChild(stripped, gap if gap is not None and actual_gap == "\n\n" else actual_gap))


def _marked_in(block: MergedBlock) -> Iterator[_MarkedPart]:
    """Yield the parts of a merged block that are written between conflict markers while they are unresolved."""
    gap = block.space_before_children
    for number, (content, after) in enumerate(found := list(without_moved_places(block.pieces)), 1):
        gap_after = after if number < len(found) else block.space_after_children
        if isinstance(content, Conflict):
            yield _MarkedPart(content, gap, gap_after)
        elif isinstance(content, MergedBlock) and any(conflicts_in(content)):
            if content.may_hold_markers:
                yield from _marked_in(content)
            else:
                yield _MarkedPart(content, gap, gap_after)
        gap = after


def _sides(content: Conflict | MergedBlock) -> tuple[str, str]:
    return _strip_blank_lines(side_of(content, "main") or ""), _strip_blank_lines(side_of(content, "request") or "")


def _strip_blank_lines(text: str) -> str:
    lines = text.split("\n")
    filled = [number for number, line in enumerate(lines) if line.strip()]
    return "\n".join(lines[filled[0] : filled[-1] + 1]) if filled else ""
