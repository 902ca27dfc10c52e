"""Putting single blocks of a page back as they were."""

from __future__ import annotations

from octavo.documents.sequences import diff_ranges


class UnknownBlock(LookupError):
    """No block of either text has that key."""


def revert_blocks(then: str, now: str, keys: set[str]) -> str:
    """`now` with the blocks called `keys`, in either text, as they were `then`.

    Keys are those of `parse`. Lines that changed together are put back together. Raises UnknownBlock.
    """
    known = _ranges(then), _ranges(now)
    for key in sorted(keys):
        if not any(key in ranges for ranges in known):
            raise UnknownBlock(key)
    wanted_then, wanted_now = ([ranges[key] for key in keys if key in ranges] for ranges in known)
    old, lines = then.split("\n"), now.split("\n")
    result: list[str] = []
    for each in diff_ranges(lines, old, landmarks=True):
        is_wanted = _touches(each.i1, each.i2, wanted_now) or _touches(each.j1, each.j2, wanted_then)
        result += old[each.j1 : each.j2] if is_wanted and not each.equal else lines[each.i1 : each.i2]
    return "\n".join(result)


def _ranges(markdown: str) -> dict[str, tuple[int, int]]:
    # Parsing brings markdown-it with it: only this use of an edit needs that.
    from octavo.documents.parse import parse

    return {block.key: block.lines for block in parse(markdown).walk()}


def _touches(start: int, end: int, ranges: list[tuple[int, int]]) -> bool:
    return any((start < last and end > first) or first < start == end < last for first, last in ranges)
