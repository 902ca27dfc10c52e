"""Another wording of a block that a comment suggests: a fence in it with the word `suggestion`. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from octavo.documents.sequences import diff_ranges

if TYPE_CHECKING:
    from octavo.documents.blocks import Block

_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})[ \t]*(\S*)")
_END = "\n"
_TICKS = re.compile(r"`+")


@dataclass(frozen=True)
class Suggestion:
    """A suggested wording, and where its fence stands in the comment: first line, and the line after its last."""

    text: str
    lines: tuple[int, int]


def suggestions(comment: str) -> tuple[Suggestion, ...]:
    """What a comment suggests. What stands in another fence is no suggestion."""
    return tuple(_fences(comment.split("\n"))) if "suggestion" in comment else ()


def _fences(lines: list[str]) -> Iterator[Suggestion]:
    number = 0
    while number < len(lines):
        opening = _FENCE.match(lines[number])
        if opening is None:
            number += 1
            continue
        mark, first = opening[1], number
        closing = re.compile(rf" {{0,3}}{re.escape(mark[0])}{{{len(mark)},}}[ \t\r]*$")
        number += 1
        while number < len(lines) and not closing.match(lines[number]):
            number += 1
        if opening[2].lower() == "suggestion":
            yield Suggestion("\n".join(lines[first + 1 : number]), (first, min(number + 1, len(lines))))
        number += 1


def fence(text: str, language: str = "") -> str:
    """`text` in a fence that nothing in it ends."""
    longest = max((len(each) for each in _TICKS.findall(text)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}{language}\n{text}\n{ticks}"


def suggestion_fence(source: str) -> str:
    """`source` as a suggestion."""
    return f"{fence(source, 'suggestion')}\n"


def find_block_source(page: str, key: str) -> str | None:
    """The lines of the block called `key`, as they are written. None where it is not there, or its lines are not known."""
    blocks = _sources_by_key(page)
    return blocks[key][1] if key in blocks else None


@dataclass(frozen=True)
class AppliedSuggestion:
    """A page with a suggestion in it, or why it was not put in."""

    kind: Literal["applied", "same", "changed"]
    """`same`: the page says so already. `changed`: the block is not as it was when it was suggested, or gone."""
    text: str


def apply_suggestion(page: str, key: str, was: str | None, wanted: str) -> AppliedSuggestion:
    """`page` with `wanted` in the place of the block called `key`, which said `was` when that was suggested.

    Nothing is written over that says anything else than `was`. Where it stands elsewhere by now, and only there, it is
    found by its lines.
    """
    blocks = _sources_by_key(page)
    here = blocks.get(key)
    if was is not None and (here is None or here[1] != was):
        alike = {lines: said for lines, said in blocks.values() if said == was}
        here = next(iter(alike.items())) if len(alike) == 1 else None
    if here is None or was is None:
        # By its lines: what is suggested may hold a tag that takes in all that follows, and is no block of its own then.
        says_so = wanted.strip() != "" and f"\n{wanted.strip(_END)}\n" in f"\n{page}\n".replace("\r\n", _END)
        return AppliedSuggestion("same" if says_so else "changed", page)
    if here[1] == wanted.strip("\n"):
        return AppliedSuggestion("same", page)
    (first, last), lines = here[0], page.split("\n")
    end = "\r" if lines[first].endswith("\r") else ""
    new = [line.removesuffix("\r") + end for line in wanted.split("\n")] if wanted.strip() else []
    if not new:  # with it goes the blank line before the next
        while last < len(lines) and not lines[last].strip():
            last += 1
    return AppliedSuggestion("applied", "\n".join([*lines[:first], *new, *lines[last:]]))


def with_conflict_markers(page: str, key: str, wanted: str) -> str:
    """Return `page` with the block `key` and `wanted` between conflict markers. If the block no longer exists, they are at
    the end of the page."""
    lines = page.split("\n")
    (first, last), _ = _sources_by_key(page).get(key, ((len(lines), len(lines)), ""))
    marked = [
        "<<<<<<< current text",
        *lines[first:last],
        "=======",
        *wanted.split("\n"),
        ">>>>>>> suggested change",
    ]
    return "\n".join([*lines[:first], *marked, *lines[last:]])


def block_source(source: str, block: Block) -> str:
    """The lines of a block of a page whose source is this."""
    lines = source.split("\n")[block.lines[0] : block.lines[1]]
    while lines and not lines[-1].strip():
        lines.pop()
    return "\n".join(lines)


def _sources_by_key(page: str) -> dict[str, tuple[tuple[int, int], str]]:
    """The lines of each block, by its key, and what stands in them."""
    from octavo.documents.parse import parse  # the parser takes 30 ms to load, and only who applies one needs it

    document, lines = parse(page), page.split("\n")
    if document.source.count("\n") + 1 != len(lines):
        return {}  # it has ends of lines of its own kind: which line is which is not known
    found = {}
    for block in document.walk():
        first, last = block.lines
        while last > first and not lines[last - 1].strip():
            last -= 1
        if last > first:
            found[block.key] = (first, last), "\n".join(line.removesuffix("\r") for line in lines[first:last])
    return found


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
