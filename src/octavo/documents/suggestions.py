"""Reads comments: their plain text, and the changes that they suggest in code fences with the language `suggestion`.
Also finds the block on which a thread is, even after edits of the page."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Literal, NamedTuple
from urllib.parse import quote

from octavo.api.comments import Comment
from octavo.documents.blocks import EMPTY_PAGE, Block, Document, line_starts
from octavo.documents.sequences import diff_ranges, most_similar
from octavo.documents.source_reader import parse

_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})[ \t]*(\S*)")
_LINE_FEED = "\n"
_TICKS = re.compile(r"`+")


class Suggestion(NamedTuple):
    """A text that a comment suggests for the block that the comment is on."""

    text: str
    lines: tuple[int, int]
    """First line of the fence in the comment, counted from 0, and the line after the fence."""


def find_suggestions(comment_text: str) -> tuple[Suggestion, ...]:
    """Return the suggestions in a comment. A suggestion inside another fence does not count."""
    lines = comment_text.split("\n")
    return tuple(
        Suggestion("\n".join(lines[first + 1 : last]), (first, min(last + 1, len(lines))))
        for language, first, last in _find_fences(lines)
        if language == "suggestion"
    )


def has_incomplete_fence(comment_text: str) -> bool:
    """Return whether the first or last line of a code fence or suggestion is missing in a comment."""
    lines = comment_text.split("\n")
    return any(last == len(lines) for _, _, last in _find_fences(lines))


def _find_fences(lines: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """Yield the language, the first line and the last line of each code fence. The last line is the number of lines if
    the fence is not closed."""
    number = 0
    while number < len(lines):
        if opening_match := _FENCE.match(lines[number]):
            mark, first = opening_match[1], number
            closing_pattern = re.compile(rf" {{0,3}}{re.escape(mark[0])}{{{len(mark)},}}[ \t\r]*$")
            number += 1
            while number < len(lines) and not closing_pattern.match(lines[number]):
                number += 1
            yield opening_match[2].lower(), first, number
        number += 1


def fence(text: str, language: str = "") -> str:
    """Return `text` in a code fence that is longer than any fence in the text."""
    longest_ticks = max((len(each) for each in _TICKS.findall(text)), default=0)
    ticks = "`" * max(3, longest_ticks + 1)
    return f"{ticks}{language}\n{text}\n{ticks}"


def suggestion_fence(source: str) -> str:
    """Return the Markdown of a comment that suggests `source`, as a code fence of the language `suggestion`."""
    return f"{fence(source, 'suggestion')}\n"


def find_block_source(page_text: str, key: str) -> str | None:
    """Return the source lines of the block with `key`. None if the block does not exist or its lines are unknown."""
    blocks = _sources_by_key(page_text)
    return blocks[key][1] if key in blocks else None


class AppliedSuggestion(NamedTuple):
    """The result of applying a suggestion. `text` is the page, which is changed only if `kind` is `applied`."""

    kind: Literal["applied", "same", "changed"]
    """`same` if the page had the suggested text, `changed` if the block was edited or deleted, else `applied`."""
    text: str


def has_fewer_blocks(page_text: str, old_text: str, source: str) -> bool:
    """Return whether fewer blocks in `page_text` than in `old_text` have exactly the Markdown `source`."""
    new, old = (list(dict(_sources_by_key(each).values()).values()).count(source) for each in (page_text, old_text))
    return new < old


def apply_suggestion(
    page_text: str, key: str, original: str | None, suggested: str, *, is_equal_block_lost: bool = False
) -> AppliedSuggestion:
    """Replace the block with `key` by `suggested` if the source of the block is still `original`. Otherwise, replace
    the only block with the source `original`. If `original` is None, replace nothing.

    If `is_equal_block_lost`, the page has fewer blocks with the source `original` than when the suggestion was made.
    Then nothing is replaced if the page has the text `suggested`: the suggestion was already applied.
    """
    blocks, text = _sources_by_key(page_text), suggested.strip("\n")
    target = blocks.get(key)
    # Search lines, not blocks, because a suggestion may open a tag around later blocks.
    has_text = suggested.strip() != "" and f"\n{text}\n" in f"\n{page_text}\n".replace("\r\n", _LINE_FEED)
    if original is not None and (target is None or target[1] != original):
        equal_blocks = {lines: source for lines, source in blocks.values() if source == original}
        target = next(iter(equal_blocks.items())) if len(equal_blocks) == 1 else None
    if target is None or original is None:
        return AppliedSuggestion("same" if has_text else "changed", page_text)
    # After the first of two equal blocks was replaced, the second has the key of the first. Do not replace both.
    if (has_text and is_equal_block_lost) or target[1] == text:
        return AppliedSuggestion("same", page_text)
    (first, last), lines = target[0], page_text.split("\n")
    end = "\r" if lines[first].endswith("\r") else ""
    new_lines = [line.removesuffix("\r") + end for line in suggested.split("\n")] if suggested.strip() else []
    if not new_lines:  # Also delete the blank lines after a deleted block.
        while last < len(lines) and not lines[last].strip():
            last += 1
    return AppliedSuggestion("applied", "\n".join([*lines[:first], *new_lines, *lines[last:]]))


def with_conflict_markers(page_text: str, key: str, suggested: str) -> str:
    """Return `page_text` with the block `key` and `suggested` in conflict markers, at the end if the block is gone."""
    lines = page_text.split("\n")
    (first, last), _ = _sources_by_key(page_text).get(key, ((len(lines), len(lines)), ""))
    parts = ["<<<<<<< current text", *lines[first:last], "=======", *suggested.split("\n"), ">>>>>>> suggested change"]
    return "\n".join([*lines[:first], *parts, *lines[last:]])


def block_source(source: str, block: Block) -> str:
    """Return the lines of a block in the source of its page, without blank lines at the end."""
    lines = source.split("\n")[block.lines[0] : block.lines[1]]
    while lines and not lines[-1].strip():
        lines.pop()
    return "\n".join(lines)


def _sources_by_key(page_text: str) -> dict[str, tuple[tuple[int, int], str]]:
    document, lines = parse(page_text), page_text.split("\n")
    if document.source.count("\n") + 1 != len(lines):
        return {}  # Other line separators would make the line numbers wrong.
    sources = {}
    for block in document.walk():
        first, last = block.lines
        while last > first and not lines[last - 1].strip():
            last -= 1
        if last > first:
            sources[block.key] = (first, last), "\n".join(line.removesuffix("\r") for line in lines[first:last])
    return sources


class UnknownBlock(LookupError):
    """Raised if a block to revert is in neither version of the page."""


def revert_blocks(old_text: str, current_text: str, keys: set[str]) -> str:
    """Return `current_text` with the blocks `keys` and changes next to them as in `old_text`. Raises UnknownBlock."""
    ranges_by_key = _ranges(old_text), _ranges(current_text)
    for key in sorted(keys):
        if not any(key in ranges for ranges in ranges_by_key):
            raise UnknownBlock(key)
    old_ranges, current_ranges = ([ranges[key] for key in keys if key in ranges] for ranges in ranges_by_key)
    old_lines, lines = old_text.split("\n"), current_text.split("\n")
    result_lines: list[str] = []
    for changed_range in diff_ranges(lines, old_lines, unique_first=True):
        is_reverted = _touches(changed_range.i1, changed_range.i2, current_ranges) or _touches(
            changed_range.j1, changed_range.j2, old_ranges
        )
        result_lines += (
            old_lines[changed_range.j1 : changed_range.j2]
            if is_reverted and not changed_range.equal
            else lines[changed_range.i1 : changed_range.i2]
        )
    return "\n".join(result_lines)


def _ranges(markdown: str) -> dict[str, tuple[int, int]]:
    """Return the first line of each block and the line after the block, by key. Only line feeds end lines."""
    starts = line_starts(markdown)
    numbers = [0]
    for start, end in pairwise(starts):
        numbers.append(numbers[-1] + markdown[start:end].endswith("\n"))
    ranges = ((block.key, block.lines) for block in parse(markdown).walk())
    return {key: (numbers[first], numbers[min(end, len(numbers)) - 1] + 1) for key, (first, end) in ranges}


def _touches(start: int, end: int, ranges: list[tuple[int, int]]) -> bool:
    return any((start < last and end > first) or first < start == end < last for first, last in ranges)


_MARKED = re.compile(r"(\*{1,2}|`{1,9})(?=\S)([^*`\n]{1,300})(?<=\S)\1")
_QUOTE = re.compile(r"^\s*(?:> ?)+")
_LINK = re.compile(r"\[([^\[\]\n]{1,200})\]\([^()\s]{1,500}\)")


def mention_suffix(user_id: str) -> str:
    """Return the second half of a Markdown link that mentions a user: `](/users/ID)`."""
    return f"](/users/{quote(user_id, safe=':@.+')})"


def mentions_user(markdown: str, user_id: str) -> bool:
    """Return whether a text contains a link that mentions the user."""
    return bool(user_id) and mention_suffix(user_id) in markdown


def one_line_text(markdown: str) -> str:
    """Return a comment as one line of text without Markdown. A middle dot separates lines of code."""
    parts: list[str] = []
    is_in_code = follows_code = False
    for line in markdown.split("\n"):
        text = _QUOTE.sub("", line).strip()
        if _FENCE.match(text):
            is_in_code, follows_code = not is_in_code, False
        elif text:
            parts += ["·", text] if follows_code else [text]
            follows_code = is_in_code
    return " ".join(_MARKED.sub(r"\2", _LINK.sub(r"\1", " ".join(parts))).split())


_MIN_SIMILARITY = 0.6
"""Minimum similarity, from 0 to 1, of two versions of one block."""
_MIN_LENGTH = 20
"""Minimum number of characters of a text that is found even if it was edited."""
_QUOTE_LENGTH = 60
"""Number of characters at the beginning of a text that are compared."""
_MAX_BLOCKS = 4_000
"""Maximum number of text blocks of a page that is searched for similar blocks."""

WordChange = Literal["", "changed", "gone"]
"""What happened to the block of a thread, or to the words that the thread quotes. Empty if nothing, or if unknown."""


class ThreadAnchors:
    """Finds the blocks of a page on which threads are, by their keys or by their texts."""

    def __init__(self, document: Document = EMPTY_PAGE, *, is_complete: bool = True) -> None:
        """`is_complete` is False while a part of the page is not loaded. In that case, no block counts as deleted."""
        self.document = document
        self.is_complete = is_complete
        self._exact_keys: dict[tuple[str, str], str] = {}
        """Key of the block found for a thread, or empty, by the block ID and the quote in the thread."""
        self._similar_keys: dict[str, str] = {}

    def for_document(self, document: Document, *, is_complete: bool) -> ThreadAnchors:
        """Return this object if it was made with `document` and `is_complete`, else a new one."""
        is_same = document is self.document and is_complete == self.is_complete
        return self if is_same else ThreadAnchors(document, is_complete=is_complete)

    def by_exact_block(self, threads: Iterable[Comment]) -> dict[str, list[Comment]]:
        """Return threads by the key of their block: the block that the thread is on, or else the first block with the
        text that the thread quotes. The key is "" for threads without a block."""
        return _group(threads, self._exact_key)

    def by_block_key(self, threads: Iterable[Comment]) -> dict[str, list[Comment]]:
        """Return the threads by the key of their block. Threads without a block on the page are under the key ""."""
        return _group(
            threads, lambda thread: thread.target.node.id if self.has_block_of(thread) and thread.target.node else ""
        )

    def has_block_of(self, thread: Comment) -> bool:
        """Return whether the page still has the block that `thread` is on. Blocks are compared by key."""
        return thread.target.node is not None and thread.target.node.id in self._blocks_by_key

    def by_likely_block(self, threads: Sequence[Comment]) -> dict[str, list[Comment]]:
        """Return threads by the key of their block, even if the block was edited, or by "" if they are on no block."""
        return _group(threads, lambda thread: self._exact_key(thread) or self._likely_key(thread))

    def has_outdated_quote(self, thread: Comment) -> bool:
        """Return whether a thread's block no longer begins with the text that the thread quotes. Only letters and
        digits are compared. False without a block or quote."""
        node = thread.target.node
        if node is None or not node.preview or node.id not in self._blocks_by_key:
            return False
        words = _letters(self._blocks_by_key[node.id].plain())
        quote = _letters(node.preview)
        return bool(quote) and not words.startswith(quote)

    def block_change(self, thread: Comment) -> WordChange:
        """Return `changed` if a thread's block was edited, `gone` if it was deleted. Empty if unchanged or unknown."""
        if not self.is_complete or thread.target.node is None or self._exact_key(thread):
            return ""
        return "changed" if self._likely_key(thread) else "gone"

    def outdated_note(self, thread: Comment) -> str:
        """Return a sentence to introduce the original text of an edited or deleted block, else an empty text."""
        match self.block_change(thread):
            case "changed":
                return "Outdated: the block was edited. Its text was:"
            case "gone":
                return "Outdated: the block was deleted. Its text was:"
        return ""

    def _exact_key(self, thread: Comment) -> str:
        node = thread.target.node
        if node is None:
            return ""
        cache_key = (node.id, node.preview or "")
        if cache_key not in self._exact_keys:
            self._exact_keys[cache_key] = (
                node.id if node.id in self._blocks_by_key else self._key_of_first_block_with(cache_key[1])
            )
        return self._exact_keys[cache_key]

    def _likely_key(self, thread: Comment) -> str:
        text = (thread.target.node.preview or "") if thread.target.node is not None and self.is_complete else ""
        if text not in self._similar_keys:
            self._similar_keys[text] = self.most_similar_key(text)
        return self._similar_keys[text]

    def _key_of_first_block_with(self, preview: str) -> str:
        quote = _normalize(preview)[:_QUOTE_LENGTH]
        if len(quote) < 4:
            return ""
        is_short = len(quote) < _MIN_LENGTH
        return next((key for key, text in self.leaves if quote == text or (quote in text and not is_short)), "")

    def most_similar_key(self, text: str) -> str:
        """Return the key of the block whose text is most similar to `text`. Empty if no block is similar, if `text` is
        too short, or if the page has too many blocks."""
        normal_text = _normalize(text)
        if len(normal_text) < _MIN_LENGTH or len(self.leaves) > _MAX_BLOCKS:
            return ""
        index = most_similar(normal_text, [text[: len(normal_text)] for _, text in self.leaves], _MIN_SIMILARITY)
        return self.leaves[index][0] if index is not None else ""

    @cached_property
    def _blocks(self) -> list[Block]:
        return list(self.document.walk())

    @cached_property
    def _blocks_by_key(self) -> dict[str, Block]:
        return {block.key: block for block in reversed(self._blocks)}

    @cached_property
    def leaves(self) -> list[tuple[str, str]]:
        """Key and normalized text of each block that is not just a container. The text includes texts of children."""
        return [(block.key, _normalize(block.plain())) for block in self._blocks if block.runs or block.text]


def quoted_text(thread: Comment) -> str:
    """Return the beginning of the text that a thread quotes, with at most 60 characters. Empty if it quotes none."""
    return _normalize((thread.target.node.preview or "") if thread.target.node is not None else "")[:_QUOTE_LENGTH]


class TwoVersionAnchors:
    """Finds the blocks on which threads are, in the old or the new version of a page."""

    def __init__(self, documents: tuple[Document, Document]) -> None:
        self.documents = documents
        self._old, self._new = map(ThreadAnchors, documents)

    def by_block(self, threads: Sequence[Comment]) -> dict[str, list[Comment]]:
        """Return threads by the key of their block. The key is "" if neither version has the block."""
        threads_by_key: dict[str, list[Comment]] = {}
        remaining_threads = list(threads)
        groupings = (self._new.by_block_key, self._old.by_block_key, self._new.by_exact_block, self._old.by_exact_block)
        for group_threads in (*groupings, self._new.by_likely_block):
            grouped_threads = group_threads(remaining_threads)
            remaining_threads = grouped_threads.pop("", [])
            for key, block_threads in grouped_threads.items():
                threads_by_key.setdefault(key, []).extend(block_threads)
        return {**threads_by_key, "": remaining_threads} if remaining_threads else threads_by_key

    def word_change(self, thread: Comment) -> WordChange:
        """Return `changed` or `gone` if the new version changed or deleted the words quoted by a thread. Else empty."""
        if self._new.has_outdated_quote(thread):
            return "changed"
        if not self.is_outdated(thread):
            return ""
        return "changed" if self.new_key(thread) else "gone"

    def new_key(self, thread: Comment) -> str:
        """Return the key of the thread's block, edited or not, in the new version. Empty if the block was deleted."""
        return next(iter(self._new.by_likely_block([thread])))

    def added_texts(self) -> frozenset[str]:
        """Return the beginnings of long texts that only the new version has. The beginnings can be compared with the
        results of `quoted_text`."""
        old, new = (
            {text[:_QUOTE_LENGTH] for _, text in side.leaves if len(text) >= _MIN_LENGTH}
            for side in (self._old, self._new)
        )
        return frozenset(new - old)

    def is_outdated(self, thread: Comment) -> bool:
        """Return whether a thread is outdated. False if the thread has no block, or if the new version has the block.
        Otherwise, True if the thread is a pending comment with a quote or is outdated on the server, or if both
        versions have neither its block nor its quote."""
        if thread.target.node is None or self._new.has_block_of(thread):
            return False
        if thread.id.startswith("pending-") and thread.target.node.preview:
            return True
        has_text = "" not in self._new.by_exact_block([thread]) or "" not in self._old.by_exact_block([thread])
        is_outdated_on_server = thread.target.page is not None and thread.target.page.outdated
        return bool(is_outdated_on_server) or not (self._old.has_block_of(thread) or has_text)


def _group(threads: Iterable[Comment], key_of: Callable[[Comment], str]) -> dict[str, list[Comment]]:
    threads_by_key: dict[str, list[Comment]] = {}
    for thread in threads:
        threads_by_key.setdefault(key_of(thread), []).append(thread)
    return threads_by_key


def _normalize(text: str) -> str:
    return " ".join(text.split())


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))
