"""Putting single blocks of a page back as they were."""

from __future__ import annotations

from octavo.documents.merging.lines import compare


class UnknownBlock(LookupError):
    """No block of either text has that key."""


def reverted(then: str, now: str, keys: set[str]) -> str:
    """`now` with the blocks called `keys`, in either text, as they were `then`.

    Keys are those of `parse`. Lines that changed together are put back together. Raises UnknownBlock.
    """
    known = _ranges(then), _ranges(now)
    for key in sorted(keys):
        if not any(key in ranges for ranges in known):
            raise UnknownBlock(key)
    wanted_then, wanted_now = ([ranges[key] for key in keys if key in ranges] for ranges in known)
    lines = now.split("\n")
    result: list[str] = []
    position, offset = 0, 0
    for hunk in compare(lines, then.split("\n")):
        start, end = hunk.start + offset, hunk.start + offset + len(hunk.lines)
        offset += len(hunk.lines) - (hunk.end - hunk.start)
        result += lines[position : hunk.start]
        if _touches(hunk.start, hunk.end, wanted_now) or _touches(start, end, wanted_then):
            result += hunk.lines
        else:
            result += lines[hunk.start : hunk.end]
        position = hunk.end
    return "\n".join(result + lines[position:])


def _ranges(markdown: str) -> dict[str, tuple[int, int]]:
    # Parsing brings markdown-it with it: only this use of an edit needs that.
    from octavo.documents.parse import parse

    return {block.key: block.lines for block in parse(markdown).walk()}


def _touches(start: int, end: int, ranges: list[tuple[int, int]]) -> bool:
    return any((start < last and end > first) or first < start == end < last for first, last in ranges)
