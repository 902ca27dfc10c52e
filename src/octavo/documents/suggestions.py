"""Reads comments: their suggested changes, which are code fences with the language `suggestion`, their text as one line, and
the users they mention. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote

from octavo.documents.sequences import diff_ranges
from octavo.documents.source_reader import parse

if TYPE_CHECKING:
    from octavo.documents.blocks import Block

_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})[ \t]*(\S*)")
_END = "\n"
_TICKS = re.compile(r"`+")


@dataclass(frozen=True)
class Suggestion:
    """A suggested text. `lines` are the first line of its fence in the comment, and the line after the fence."""

    text: str
    lines: tuple[int, int]


def find_suggestions(comment: str) -> tuple[Suggestion, ...]:
    """Return the suggestions in a comment. A suggestion inside another fence does not count."""
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
    """Return `text` in a code fence that is longer than any fence in the text."""
    longest = max((len(each) for each in _TICKS.findall(text)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}{language}\n{text}\n{ticks}"


def suggestion_fence(source: str) -> str:
    """Return `source` as a suggestion for a comment."""
    return f"{fence(source, 'suggestion')}\n"


def find_block_source(page: str, key: str) -> str | None:
    """Return the source lines of the block with `key`. None if the block does not exist or its lines are unknown."""
    blocks = _sources_by_key(page)
    return blocks[key][1] if key in blocks else None


@dataclass(frozen=True)
class AppliedSuggestion:
    """The page after applying a suggestion, or the reason why it was not applied."""

    kind: Literal["applied", "same", "changed"]
    """`same` means that the page already has the suggested text. `changed` means that the block was edited or
    deleted."""
    text: str


def apply_suggestion(page: str, key: str, original: str | None, suggested: str) -> AppliedSuggestion:
    """Replace the block `key` of `page` by `suggested`. `original` is the source of the block when the suggestion was
    made. The block is replaced only if its source still equals `original`. If the block was moved, it is found by its
    source, unless several blocks have that source."""
    blocks = _sources_by_key(page)
    target = blocks.get(key)
    if original is not None and (target is None or target[1] != original):
        equal_blocks = {lines: source for lines, source in blocks.values() if source == original}
        target = next(iter(equal_blocks.items())) if len(equal_blocks) == 1 else None
    if target is None or original is None:
        # Compare lines and not blocks, because the suggested text may open a tag around the blocks after it.
        has_text = suggested.strip() != "" and f"\n{suggested.strip(_END)}\n" in f"\n{page}\n".replace("\r\n", _END)
        return AppliedSuggestion("same" if has_text else "changed", page)
    if target[1] == suggested.strip("\n"):
        return AppliedSuggestion("same", page)
    (first, last), lines = target[0], page.split("\n")
    end = "\r" if lines[first].endswith("\r") else ""
    new = [line.removesuffix("\r") + end for line in suggested.split("\n")] if suggested.strip() else []
    if not new:  # also delete the blank lines after a deleted block
        while last < len(lines) and not lines[last].strip():
            last += 1
    return AppliedSuggestion("applied", "\n".join([*lines[:first], *new, *lines[last:]]))


def with_conflict_markers(page: str, key: str, suggested: str) -> str:
    """Return `page` with the block `key` and `suggested` between conflict markers in place of the block. If the block
    no longer exists, the markers are at the end of the page."""
    lines = page.split("\n")
    (first, last), _ = _sources_by_key(page).get(key, ((len(lines), len(lines)), ""))
    marked = ["<<<<<<< current text", *lines[first:last], "=======", *suggested.split("\n"), ">>>>>>> suggested change"]
    return "\n".join([*lines[:first], *marked, *lines[last:]])


def block_source(source: str, block: Block) -> str:
    """Return the source lines of a block in the source of its page."""
    lines = source.split("\n")[block.lines[0] : block.lines[1]]
    while lines and not lines[-1].strip():
        lines.pop()
    return "\n".join(lines)


def _sources_by_key(page: str) -> dict[str, tuple[tuple[int, int], str]]:
    document, lines = parse(page), page.split("\n")
    if document.source.count("\n") + 1 != len(lines):
        return {}  # other line separators would make the line numbers wrong
    found = {}
    for block in document.walk():
        first, last = block.lines
        while last > first and not lines[last - 1].strip():
            last -= 1
        if last > first:
            found[block.key] = (first, last), "\n".join(line.removesuffix("\r") for line in lines[first:last])
    return found


class UnknownBlock(LookupError):
    """Raised if neither text has a block with the key."""


def revert_blocks(then: str, now: str, keys: set[str]) -> str:
    """Return `now` with some blocks reverted to their source in `then`.

    `keys` are the keys of blocks in either text. Adjacent changed lines are reverted together. Raises UnknownBlock if
    neither text has one of the blocks.
    """
    ranges_by_key = _ranges(then), _ranges(now)
    for key in sorted(keys):
        if not any(key in ranges for ranges in ranges_by_key):
            raise UnknownBlock(key)
    wanted_then, wanted_now = ([ranges[key] for key in keys if key in ranges] for ranges in ranges_by_key)
    old, lines = then.split("\n"), now.split("\n")
    result: list[str] = []
    for changed_range in diff_ranges(lines, old, landmarks=True):
        is_wanted = _touches(changed_range.i1, changed_range.i2, wanted_now) or _touches(
            changed_range.j1, changed_range.j2, wanted_then
        )
        result += (
            old[changed_range.j1 : changed_range.j2]
            if is_wanted and not changed_range.equal
            else lines[changed_range.i1 : changed_range.i2]
        )
    return "\n".join(result)


def _ranges(markdown: str) -> dict[str, tuple[int, int]]:
    return {block.key: block.lines for block in parse(markdown).walk()}


def _touches(start: int, end: int, ranges: list[tuple[int, int]]) -> bool:
    return any((start < last and end > first) or first < start == end < last for first, last in ranges)


_MARKED = re.compile(r"(\*{1,2}|`)(?=\S)([^*`\n]{1,300})(?<=\S)\1")
_QUOTE = re.compile(r"^\s*(?:> ?)+")
_LINK = re.compile(r"\[([^\[\]\n]{1,200})\]\([^()\s]{1,500}\)")


def mention_suffix(person: str) -> str:
    """Return the second half of the Markdown link that mentions a person: `](/users/ID)`."""
    return f"](/users/{quote(person, safe=':@.+')})"


def mentions(markdown: str, me: str) -> bool:
    """Return True if a text mentions the user `me`, as the composer writes a mention."""
    return bool(me) and mention_suffix(me) in markdown


def plain_text(markdown: str) -> str:
    """Return a comment as one line of text, without URLs and Markdown syntax. A middle dot separates lines of code."""
    parts: list[str] = []
    in_code = follows_code = False
    for line in markdown.split("\n"):
        text = _QUOTE.sub("", line).strip()
        if text.startswith(("```", "~~~")):
            in_code, follows_code = not in_code, False
        elif text:
            parts += ["·", text] if follows_code else [text]
            follows_code = in_code
    return " ".join(_MARKED.sub(r"\2", _LINK.sub(r"\1", " ".join(parts))).split())
