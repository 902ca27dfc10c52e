"""Turns the output of linters into findings on a page: converts columns, and finds the block of each finding. Also
masks content that a linter must not see, and finds the text that a change request added."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Literal

from octavo.documents import front_matter
from octavo.documents.blocks import Block, Document, line_starts
from octavo.documents.checks.findings import FileRange, Finding, sorted_findings
from octavo.documents.diff_text import diff_lines
from octavo.documents.linters.readers import ColumnUnit, ReportedFinding
from octavo.documents.source_reader import parse
from octavo.documents.tag_blocks import TagScanner

_WORD = re.compile(r"\w")
_MIN_MOVED_WORDS = 4
"""At least this many adjacent words must be equal to count as moved, and not as added."""
_NOT_SPACES = re.compile(r"\S+")
_INPUT_NAMES = ("", "-", "stdin", "<text>", "<stdin>", "stdin.txt", "stdin.md")
"""File names that linters print for text that they read from standard input."""


@dataclass(frozen=True)
class PageFindings:
    """The findings on a page of a change request."""

    page: str
    """The path of the page."""
    by_block: Mapping[str, tuple[Finding, ...]]
    """The findings by the key of their block. Findings outside of blocks have the key ""."""
    failures: tuple[str, ...] = ()
    """A sentence for each linter that did not run."""

    @property
    def count(self) -> int:
        return sum(map(len, self.by_block.values()))


@dataclass(frozen=True)
class AddedRanges:
    """Added text: ranges of columns, counted from 0, by line, counted from 1. Deleted text is an empty range."""

    lines: Mapping[int, tuple[tuple[int, int], ...]]

    def touches(self, location: FileRange, *, has_column: bool = True) -> bool:
        """Return whether a range overlaps an addition or deletion. Without `has_column`, whole lines are compared."""
        return any(
            not has_column or _overlaps(start, end, *_columns_on(location, line))
            for line in range(location.line, location.end_line + 1)
            for start, end in self.lines.get(line, ())
        )


@dataclass(frozen=True)
class LintedPage:
    """A page that linters check."""

    path: str
    """The path of the page in the space."""
    file_path: str
    """The path of the page's file, as the linters see it."""
    document: Document
    text: str
    """The Markdown of the page."""
    added: AddedRanges | None = None
    """The text that the change request added. Findings on other text are ignored. None if all text counts."""


def to_page_findings(
    reports: Iterable[ReportedFinding], page: LintedPage, linted_text: str, *, tool: str, column_unit: ColumnUnit
) -> Iterator[Finding]:
    """Yield the findings of the linter `tool` on a page. If `page.added` is set, skip reports that touch no added text.
    `linted_text` is the text that the linter checked. `column_unit` is the unit of reports that do not name a unit."""
    lines, linted_lines = page.text.split("\n"), linted_text.split("\n")
    for report in reports:
        if not _is_about(report.path, page.file_path) or report.line > len(lines):
            continue
        location = _location(report, lines, linted_lines, report.column_unit or column_unit)
        if page.added is not None and not page.added.touches(location, has_column=report.column is not None):
            continue
        block = innermost_block(page.document, location.line - 1)
        words = _text_in(lines, location) if report.column is not None else ""
        finding = Finding(
            report.rule, report.severity, report.message, page.file_path, location, page.path,
            block.key if block else "", words, None, tool,
        )  # fmt: skip
        yield replace(finding, suggestion=_replacement(report, lines, finding))


def group_by_block(findings: Iterable[Finding]) -> dict[str, tuple[Finding, ...]]:
    """Return findings by the key of their block, each group sorted by location."""
    findings_by_block: dict[str, list[Finding]] = {}
    for finding in sorted_findings(list(findings)):
        findings_by_block.setdefault(finding.block_key, []).append(finding)
    return {block: tuple(group) for block, group in findings_by_block.items()}


def innermost_block(document: Document, line: int) -> Block | None:
    """Return the innermost block that contains a line, counted from 0. None if no block contains it."""
    innermost = None
    blocks: Sequence[Block] = document.blocks
    while inner_block := next((block for block in blocks if block.lines[0] <= line < block.lines[1]), None):
        innermost, blocks = inner_block, inner_block.children
    return innermost


def suggested_block(finding: Finding, document: Document, text: str) -> str | None:
    """Return the Markdown of a finding's block with the suggestion applied. None if that is not possible."""
    block = document.find(finding.block_key) if finding.block_key and finding.suggestion is not None else None
    if block is None:
        return None
    first, last = block.lines
    if not first < finding.location.line <= finding.location.end_line <= last:
        return None  # The finding may be on a link definition (`[label]: URL`), outside of the block.
    lines = text.split("\n")[first:last]
    start, end = finding.location.line - 1 - first, finding.location.end_line - 1 - first
    changed_line = (
        lines[start][: finding.location.column - 1]
        + (finding.suggestion or "")
        + lines[end][finding.location.end_column - 1 :]
    )
    return "\n".join([*lines[:start], changed_line, *lines[end + 1 :]]).rstrip("\n")


def _is_about(path: str, file_path: str) -> bool:
    return path in _INPUT_NAMES or posixpath.basename(path.replace("\\", "/")) == posixpath.basename(file_path)


def _location(
    report: ReportedFinding, lines: Sequence[str], linted_lines: Sequence[str], column_unit: ColumnUnit
) -> FileRange:
    """Return where `report` is in `lines`, in code points. Reported columns count `column_unit` in `linted_lines`."""
    line, end_line = report.line, max(report.line, min(report.end_line or report.line, len(lines)))
    if report.column is None:
        return FileRange(line, 1, end_line, len(lines[end_line - 1]) + 1)
    start = _index_of_column(linted_lines[line - 1], report.column, column_unit)
    if report.end_column is not None:
        end = _index_of_column(linted_lines[end_line - 1], report.end_column, column_unit)
    elif report.end_line is not None and report.end_line > line:
        end = len(lines[end_line - 1])
    else:
        end = start + (len(report.words) if "\n" not in report.words else 0)
        end_line = line
    if (
        report.words
        and "\n" not in report.words
        and (nearest := _nearest(lines[line - 1], report.words, start)) is not None
    ):
        start, end, end_line = nearest, nearest + len(report.words), line
    if (end_line, end) < (line, start):
        end_line, end = line, start
    return FileRange(line, start + 1, end_line, end + 1)


def _index_of_column(line: str, column: int, column_unit: ColumnUnit) -> int:
    """Return the index in a line for a column that a linter counted in the unit `column_unit`."""
    if column_unit == "code-points":
        return min(max(column - 1, 0), len(line))
    unit_size = 1 if column_unit == "bytes" else 2
    encoded = line.encode("utf-8" if column_unit == "bytes" else "utf-16-le", "surrogatepass")
    units = column if column_unit == "utf-16-0" else max(column - 1, 0)
    bytes_before = encoded[: units * unit_size]
    return len(bytes_before.decode("utf-8" if column_unit == "bytes" else "utf-16-le", "ignore"))


def _nearest(line: str, words: str, start: int) -> int | None:
    starts = [match.start() for match in re.finditer(re.escape(words), line)]
    return min(starts, key=lambda index: abs(index - start)) if starts else None


def _text_in(lines: Sequence[str], location: FileRange) -> str:
    if location.line == location.end_line:
        return lines[location.line - 1][location.column - 1 : location.end_column - 1]
    first, *inner = lines[location.line - 1 : location.end_line - 1]
    return "\n".join([first[location.column - 1 :], *inner, lines[location.end_line - 1][: location.end_column - 1]])


def _replacement(report: ReportedFinding, lines: Sequence[str], finding: Finding) -> str | None:
    """Return the text that the linter suggests. None if it suggests none, or if the range to replace is uncertain."""
    if report.replacement is None or not finding.words or (report.words and report.words != finding.words):
        return None
    first, last, location = lines[finding.location.line - 1], lines[finding.location.end_line - 1], finding.location
    if _splits_word(first, location.column - 1) or _splits_word(last, location.end_column - 1):
        return None
    return report.replacement


def _splits_word(line: str, index: int) -> bool:
    return 0 < index < len(line) and bool(_WORD.match(line[index - 1]) and _WORD.match(line[index]))


def added_ranges(before: str, after: str) -> AddedRanges:
    """Return the changed ranges of `after`. A deletion is an empty range. Moved or rewrapped words do not count."""
    lines: dict[int, tuple[tuple[int, int], ...]] = {}
    for change in diff_lines(before, after):
        if change.op == "insert":
            lines[change.new_number + 1] = ((0, len(change.new)),)
        elif change.op == "change":
            ranges, position = [], 0
            for part in change.words:
                length = 0 if part.op == "delete" else len(part.run.text)
                if part.op in ("insert", "delete"):
                    ranges.append((position, position + length))
                position += length
            lines[change.new_number + 1] = tuple(ranges)
    unchanged_ranges = _unchanged_ranges(before, after, lines.keys())
    added_by_line = {
        line: tuple(_ranges_outside(ranges, unchanged_ranges.get(line, []))) for line, ranges in lines.items()
    }
    return AddedRanges({line: ranges for line, ranges in added_by_line.items() if ranges})


def _unchanged_ranges(before: str, after: str, line_numbers: Collection[int]) -> dict[int, list[tuple[int, int]]]:
    """Return by line number the unchanged columns of `after`: a line, or run of words, that `before` has as often."""
    old_lines, new_lines = before.split("\n"), after.split("\n")
    old_counts, new_counts = (Counter(map(str.strip, each)) for each in (old_lines, new_lines))
    unchanged_ranges: dict[int, list[tuple[int, int]]] = {
        number: [(-1, len(new_lines[number - 1]) + 1)]
        for number in line_numbers
        if (line := new_lines[number - 1].strip()) and new_counts[line] <= old_counts[line]
    }
    new_sequences, old_sequence_counts = _word_sequences(after.split()), Counter(_word_sequences(before.split()))
    new_sequence_counts = Counter(new_sequences)
    word_counts_above = [0, *accumulate(len(line.split()) for line in new_lines)]
    for number in line_numbers:
        line, words_above = new_lines[number - 1], word_counts_above[number - 1]
        words = list(_NOT_SPACES.finditer(line))
        for index in range(
            max(0, words_above - _MIN_MOVED_WORDS + 1), min(words_above + len(words), len(new_sequences))
        ):
            if new_sequence_counts[new_sequences[index]] <= old_sequence_counts[new_sequences[index]]:
                last_word = index + _MIN_MOVED_WORDS - 1 - words_above
                start = words[index - words_above].start() if index >= words_above else -1
                end = words[last_word].end() if last_word < len(words) else len(line) + 1
                unchanged_ranges.setdefault(number, []).append((start, end))
    return unchanged_ranges


def _word_sequences(words: Sequence[str]) -> list[tuple[str, ...]]:
    return list(zip(*(words[index:] for index in range(_MIN_MOVED_WORDS)), strict=False))


def _ranges_outside(
    ranges: Iterable[tuple[int, int]], unchanged: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    """Yield the parts of `ranges` outside `unchanged`, and the empty ranges (deletions) not inside `unchanged`."""
    for start, end in ranges:
        if start == end:
            if not any(first < start < last for first, last in unchanged):
                yield start, end
            continue
        for first, last in sorted(unchanged):
            if first < end and last > start:
                if first > start:
                    yield start, first
                start = max(start, last)
        if start < end:
            yield start, end


def _columns_on(location: FileRange, line: int) -> tuple[int, int]:
    """Return the start and end column of a location on `line`, from 0. The end is 10**9 if it ends on another line."""
    start = location.column - 1 if line == location.line else 0
    end = location.end_column - 1 if line == location.end_line else 10**9
    return start, max(end, start + 1)


def _overlaps(start: int, end: int, other_start: int, other_end: int) -> bool:
    if start == end:  # An empty range is between two characters, and touches both.
        return other_start <= start <= other_end
    return start < other_end and other_start < end


MaskedPart = Literal["tags", "code", "front-matter"]
_LINE_BREAK = r"\n(?![ \t]*(?:\n|[>#|+*-]|\d{1,9}[.)]))"
_CODE_SPAN = re.compile(rf"(?<!`)(`+)(?!`)(?:[^`\n]|{_LINE_BREAK}|(?!\1(?!`))`)*?[^`]\1(?!`)")
_FORMULA = re.compile(rf"\$\$(?:[^$\n]|{_LINE_BREAK}){{1,2000}}?\$\$")
_NOT_SPACE = re.compile(r"\S")


def mask_parts(text: str, parts: Collection[MaskedPart]) -> str:
    """Return a page in which spaces replace the characters of `parts`: tags, code or front matter. Line breaks stay."""
    ranges: list[tuple[int, int]] = []
    if "front-matter" in parts:
        ranges.append((0, front_matter.split_page(text)[1]))
    if "tags" in parts:
        ranges += _tag_ranges(text)
    if "code" in parts:
        ranges += _code_ranges(text)
    pieces, position = [], 0
    for start, end in sorted(ranges):
        if end > position:
            start = max(start, position)
            pieces += [text[position:start], _NOT_SPACE.sub(" ", text[start:end])]
            position = end
    return "".join([*pieces, text[position:]])


def _tag_ranges(text: str) -> Iterator[tuple[int, int]]:
    scanner, position = TagScanner(text), 0
    while (start := text.find("{%", position)) >= 0:
        tag = scanner.tag_at(start)
        position = start + 2 if tag is None else tag.end
        if tag is not None:
            yield start, tag.end


def _code_ranges(text: str) -> Iterator[tuple[int, int]]:
    starts = [*line_starts(text), len(text)]
    for block in parse(text).walk():
        if block.kind in ("code", "math") and block.lines[1] < len(starts):
            yield starts[block.lines[0]], starts[block.lines[1]]
    for pattern in (_CODE_SPAN, _FORMULA):
        for match in pattern.finditer(text):
            yield match.span()
