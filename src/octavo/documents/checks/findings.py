"""The rules of `octavo check`, and the problems that they find on a single page. `references.py` checks links."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any, Literal, NamedTuple

from octavo.api.safety import safe_address
from octavo.documents import front_matter
from octavo.documents.anchors import PageAnchors, page_anchors
from octavo.documents.blocks import Block, Document, sanitize
from octavo.documents.links import PageReference, images_without_text, references_in
from octavo.documents.source_reader import parse
from octavo.documents.tag_blocks import TAG_NAMES
from octavo.documents.yaml_values import YamlError, YamlValue, parse_yaml

Severity = Literal["error", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
"""Severities, the highest first."""


OWN_TOOL = "octavo"
"""The `tool` of the findings of `octavo check`."""


class FileRange(NamedTuple):
    """A range of characters in a file. Lines and columns are counted from 1, in code points. The end is exclusive."""

    line: int = 1
    column: int = 1
    end_line: int = 1
    end_column: int = 1


WHOLE_FILE = FileRange()
"""The location of a problem that concerns a whole file."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem in a file, reported by a check or by a linter."""

    rule: str
    severity: Severity
    message: str
    """The problem in one line, without full stop."""
    path: str
    """The path of the file from the root of the folder, or the path of the page."""
    location: FileRange = WHOLE_FILE
    page: str = ""
    """The path of the page in its space. Empty for files that are not pages."""
    block_key: str = ""
    """Key of the block with the problem. Empty if the problem is not in a block."""
    words: str = ""
    """The words that the finding is about, usually the text at `location`. Empty for whole lines or files."""
    suggestion: str | None = None
    """The text to put in place of `words` to solve the problem. None if unknown."""
    tool: str = OWN_TOOL
    """The name of the linter that reported the problem, or `octavo`."""

    def as_json(self) -> dict[str, Any]:
        """Return the finding as the JSON object that `octavo check --format json` prints."""
        return {
            "rule": self.rule,
            "severity": self.severity,
            "message": self.message,
            "path": self.path,
            "line": self.location.line,
            "column": self.location.column,
            "endLine": self.location.end_line,
            "endColumn": self.location.end_column,
            "page": self.page,
            "block": self.block_key,
            "words": self.words,
            "suggestion": self.suggestion,
            "source": self.tool,
        }


class Rule(NamedTuple):
    """A kind of problem that checks can find."""

    severity: Severity
    problem: str
    """The problem that the rule finds, as a phrase without full stop."""
    is_default: bool = True
    """True if the rule is checked by default. False if an option must select it."""


RULES = {
    "link": Rule("error", "A link to a missing page, or a link without a valid target"),
    "anchor": Rule("error", "A link to a missing heading"),
    "file": Rule("error", "A link to a missing file"),
    "image": Rule("error", "A missing image, also as the cover of a page"),
    "include": Rule("error", "Missing reusable content"),
    "redirect-loop": Rule("error", "Redirects in .gitbook.yaml that lead back to their start"),
    "duplicate-path": Rule("error", "Two pages with the same path"),
    "unclosed-tag": Rule("error", "A tag without its partner, such as {% hint %} without {% endhint %}"),
    "unknown-block": Rule("warning", "A tag that the platform does not have"),
    "front-matter": Rule("warning", "Front matter that is not valid YAML, or a field with the wrong type"),
    "not-in-summary": Rule("warning", "A page that is not in SUMMARY.md"),
    "unused-file": Rule("warning", "A file in .gitbook/assets that no page uses"),
    "heading-order": Rule("warning", "A heading more than one level below the heading before it", is_default=False),
    "alt-text": Rule("warning", "An image without alternative text", is_default=False),
    "external-link": Rule("warning", "A link to a website that does not work. Sends requests", is_default=False),
}
DEFAULT_RULES = frozenset(name for name, rule in RULES.items() if rule.is_default)


def new_finding(rule: str, message: str, path: str, location: FileRange = WHOLE_FILE, **fields: Any) -> Finding:
    """Return a finding with the severity of `rule`. `message` is sanitized. `fields` sets the other fields."""
    return Finding(rule, RULES[rule].severity, safe_address(message), path, location, **fields)


@dataclass(frozen=True)
class RuleChoice:
    """The rules to check, and the rules to ignore in some files."""

    rules: frozenset[str] = DEFAULT_RULES
    ignored_in: tuple[tuple[str, frozenset[str]], ...] = ()
    """Path patterns, each with the rules that are ignored in matching files."""

    def applies(self, finding: Finding) -> bool:
        """Return whether to report a finding. Always True for findings of linters, which have their own settings."""
        if finding.tool != OWN_TOOL:
            return True
        return finding.rule in self.rules and not any(
            finding.rule in rules and matches_path(finding.path, pattern) for pattern, rules in self.ignored_in
        )


def matches_path(path: str, pattern: str) -> bool:
    """Return whether a path matches a pattern such as `drafts/**`. `*.md` matches files in every folder."""
    if "/" not in pattern:
        return fnmatchcase(path.rpartition("/")[2], pattern)
    return fnmatchcase(path, pattern.removeprefix("/")) or fnmatchcase(f"/{path}", pattern)


def sorted_findings(findings: Collection[Finding]) -> list[Finding]:
    """Return findings sorted by path and location, each only once."""
    unique_findings = dict.fromkeys(findings)
    return sorted(unique_findings, key=lambda each: (each.path, each.location, each.tool, each.rule, each.message))


def has_severity(findings: Collection[Finding], severity: Severity) -> bool:
    """Return whether any finding has at least `severity`."""
    severities = SEVERITIES[: SEVERITIES.index(severity) + 1]
    return any(each.severity in severities for each in findings)


_MAX_URL_LENGTH = 2_000
_MAX_TAG_LOOKBACK = 2_000
"""Number of characters before a line that `find_tag` searches for an end tag."""
_MAX_BEFORE = 200
"""Number of characters before a URL that are compared with `_BEFORE_URL`."""
_BEFORE_URL = (r"""(?:=\s*["'“”]?|\{%-?\s*[\w-]+\s+["'“”]?)\Z""", r"""(?:\]\(\s*<?|<)\Z""", r"""(?:^|[\s("'<=“”:])\Z""")
"""Patterns for the text before a URL in Markdown, the most reliable first."""
_AFTER_URL = r"""(?![^\s)"'>“”])"""
_DEFINITION = r"[ \t>]*\[[^\]\n]+\]:[ \t]*<?"
_ENTITIES = {"&": "(?:amp|#38|#x26)", '"': "(?:quot|#34|#x22)", "'": "(?:#39|#x27|apos)", "<": "lt", ">": "gt"}


class LocationFinder:
    """Finds URLs and tags in the sanitized source of a page. Converts ranges of the source to locations in the file."""

    def __init__(self, source: str, file_text: str) -> None:
        """`source` is `Document.source` of a page, `file_text` the text that the page was parsed from."""
        self._source = source
        self._starts = [0, *(match.end() for match in re.finditer("\n", source))]
        self._file_lines = file_text.split("\n") if source != file_text else []
        if len(self._file_lines) != len(self._starts):
            # The lines do not correspond, so columns are counted in the source.
            self._file_lines = []

    def location(self, start: int, end: int) -> FileRange:
        """Return the location in the file for the range from `start` to `end` of the source."""
        return FileRange(*self._line_and_column(start, is_end=False), *self._line_and_column(end, is_end=True))

    def offset(self, line: int, column: int) -> int:
        """Return the index in the source for a line (from 0) and a column (from 1), at most the end of the line."""
        return min(self._start_of(line) + column - 1, max(self._start_of(line), self._start_of(line + 1) - 1))

    def find_url(self, url: str, lines: tuple[int, int]) -> list[tuple[int, int]]:
        """Return the source ranges of a URL on `lines` (from 0, end excluded), or else in link definitions."""
        if not url.strip() or len(url) > _MAX_URL_LENGTH:
            return []
        first, last = self._start_of(lines[0]), self._start_of(lines[1])
        url_ranges = list(_occurrences(url, self._source[first:last]))
        for pattern_before in _BEFORE_URL:
            ranges = [
                (first + start, first + end)
                for start, end in url_ranges
                if re.search(pattern_before, self._source[max(first, first + start - _MAX_BEFORE) : first + start])
            ]
            if ranges:
                return ranges
        definition_pattern, source = re.compile(_DEFINITION), self._source
        return [
            (start, end)
            for start, end in _occurrences(url, source)
            if definition_pattern.fullmatch(source, source.rfind("\n", 0, start) + 1, start)
        ]

    def find_tag(self, tag: str, line: int) -> tuple[int, int]:
        """Return the range of `tag`. For an end tag, return the last match up to `line`. For other tags, or without
        such a match, return the next match from `line` on. Without any match, return the range of `line`."""
        start = self._start_of(line)
        pattern = _tag_pattern(tag)
        if "{% end" in tag or tag.startswith("</"):
            earlier_matches = list(
                pattern.finditer(self._source, max(0, start - _MAX_TAG_LOOKBACK), self._start_of(line + 1))
            )
            if earlier_matches:
                return earlier_matches[-1].span()
        match = pattern.search(self._source, start)
        return match.span() if match else self.line_range(line)

    def line_range(self, line: int) -> tuple[int, int]:
        """Return the range in the source of the text on a line, without white space at both ends."""
        start, end = self._start_of(line), self._start_of(line + 1)
        text = self._source[start:end]
        return start + len(text) - len(text.lstrip()) if text.strip() else start, start + len(text.rstrip())

    def _start_of(self, line: int) -> int:
        return self._starts[line] if line < len(self._starts) else len(self._source)

    def _line_and_column(self, position: int, *, is_end: bool) -> tuple[int, int]:
        line = bisect_right(self._starts, position) - 1
        column = position - self._starts[line]
        if self._file_lines:
            column = _column_in_file(self._file_lines[line], column, is_end=is_end)
        return line + 1, column + 1


def _column_in_file(text: str, column: int, *, is_end: bool) -> int:
    """Convert a column of a sanitized line to a column of `text`, the same line in the file. Columns count from 0. They
    differ after invisible characters. `is_end` is True for the column at the end of a range."""
    if sanitize(text) == text:
        return column
    bisect = bisect_left if is_end else bisect_right
    length = bisect(range(len(text) + 1), column, key=lambda length: len(sanitize(text[:length])))
    return min(length if is_end else max(0, length - 1), len(text))


def _occurrences(url: str, text: str) -> Iterator[tuple[int, int]]:
    """Yield the ranges of `url` in Markdown, also in escaped form. Skip longer URLs that begin with `url`."""
    after_pattern = re.compile(_AFTER_URL)
    is_plain = not ("\\" in text or "&" in text or " " in url)
    pattern = "" if is_plain else "".join(map(_url_character_pattern, url))
    spans = _find_all(url, text) if is_plain else (match.span() for match in re.finditer(pattern, text))
    return (span for span in spans if after_pattern.match(text, span[1]))


def _find_all(part: str, text: str) -> Iterator[tuple[int, int]]:
    start = text.find(part)
    while start >= 0:
        yield start, start + len(part)
        start = text.find(part, start + 1)


def _url_character_pattern(character: str) -> str:
    if character.isalnum():
        return character
    if character in _ENTITIES:
        return rf"(?:\\?{re.escape(character)}|&{_ENTITIES[character]};)"
    return r"\s+" if character == " " else rf"\\?{re.escape(character)}"


def _tag_pattern(tag: str) -> re.Pattern[str]:
    if tag.startswith("{%"):
        name = tag.removeprefix("{%").strip()
        return re.compile(rf"\{{%-?\s*{re.escape(name)}(?![\w-])(?:[^%\n]*?-?%\}})?" if name else r"\{%-?[^\n]*")
    return re.compile(rf"{re.escape(tag)}(?![\w-])[^>\n]*>?", re.IGNORECASE)


_TEXT, _SWITCH, _SECTION = "text", "true or false", "a section"
_FIELD_TYPES = {
    **dict.fromkeys(("title", "description", "icon", "emoji", "cover"), _TEXT),
    **dict.fromkeys(("hidden", "noIndex", "noRobotsIndex"), _SWITCH),
    "layout": _SECTION,
}
"""Types of the front matter fields of a page, by field name."""


@dataclass(frozen=True)
class CheckedPage:
    """A page, reusable content or a table of contents, with the data that the checks need."""

    path: str
    """The path of the file from the root of the space, such as `guides/start.md`."""
    text: str
    source: str
    """The sanitized Markdown."""
    references: tuple[PageReference, ...]
    anchors: PageAnchors
    findings: tuple[Finding, ...]
    """The findings that do not depend on other pages."""
    link_base: str
    """The path from which relative links on the page start. `links.resolve` gets it as `page_path`."""
    has_unread_includes: bool
    """True if the page includes reusable content whose headings are not in `anchors`."""

    def location_finder(self) -> LocationFinder:
        """Return an object that finds locations in the file of the page."""
        return LocationFinder(self.source, self.text)


def read_page(path: str, text: str, base: str | None = None) -> CheckedPage:
    """Parse a page, and run the checks that need no other page. Links are relative to `base`, or else to `path`."""
    return check_document(path, text, parse(text), base)


def check_document(path: str, text: str, document: Document, base: str | None) -> CheckedPage:
    """Return a parsed page after the checks that need no other page. `text` is its Markdown. Relative links start from
    `base`, or else from `path`."""
    return CheckedPage(
        path,
        text,
        document.source,
        (*references_in(document), *_cover_reference(document.source)),
        page_anchors(document),
        tuple(_PageCheck(path, text, document).findings()),
        path if base is None else base,
        any(block.kind == "include" and not block.children for block in document.walk()),
    )


def _cover_reference(source: str) -> Iterator[PageReference]:
    """Yield a reference to the cover image in the front matter of a page, if it has one."""
    yaml, _ = front_matter.split_page(source)
    try:
        value = parse_yaml(yaml)
    except YamlError:
        return
    cover = value.fields.get("cover") if value is not None else None
    if cover is not None and isinstance(cover.value, str) and (url := cover.value.strip()):
        yield PageReference(url, "", use="image", lines=(cover.line, cover.line + 1))


class _PageCheck:
    """Applies the rules that do not depend on other pages."""

    def __init__(self, path: str, text: str, document: Document) -> None:
        self._path, self._document = path, document
        self._location_finder = LocationFinder(document.source, text)

    def findings(self) -> Iterator[Finding]:
        yield from self._tags()
        yield from self._front_matter()
        yield from self._headings()
        for block in self._document.walk():
            if block.kind == "unknown":
                yield self._unknown_block(block)
            yield from self._images(block)

    def _finding(self, rule: str, message: str, span: tuple[int, int], block_key: str = "", words: str = "") -> Finding:
        location = self._location_finder.location(*span)
        return new_finding(rule, message, self._path, location, block_key=block_key, words=words)

    def _tags(self) -> Iterator[Finding]:
        for diagnostic in self._document.diagnostics:
            if diagnostic.tag:
                span = self._location_finder.find_tag(diagnostic.tag, diagnostic.line)
                yield self._finding("unclosed-tag", diagnostic.message.removesuffix("."), span, words=diagnostic.tag)

    def _unknown_block(self, block: Block) -> Finding:
        name = str(block.attrs.get("name", ""))
        similar_names = get_close_matches(name, TAG_NAMES, n=1, cutoff=0.7)
        hint = f". Did you mean {{% {similar_names[0]} %}}?" if similar_names else ""
        span = self._location_finder.find_tag(f"{{% {name}", block.lines[0])
        return self._finding("unknown-block", f"unknown block {{% {name} %}}{hint}", span, block.key, name)

    def _front_matter(self) -> Iterator[Finding]:
        yaml, end = front_matter.split_page(self._document.source)
        if not end:
            return
        try:
            value = parse_yaml(yaml)
        except YamlError as error:
            reason = error.sentence.removeprefix("This is not valid YAML: ").removesuffix(".")
            # The YAML begins on the second line. So its line numbers, from 1, are the numbers on the page, from 0.
            start, line_end = self._location_finder.line_range(error.line)
            start_of_problem = min(
                start if not error.column else self._location_finder.offset(error.line, error.column), line_end
            )
            message = f"the front matter is not valid YAML: {reason}"
            yield self._finding("front-matter", message, (start_of_problem, max(start_of_problem, line_end)))
            return
        if value is not None and not isinstance(value.value, dict):
            yield self._finding("front-matter", "the front matter has no fields", self._location_finder.line_range(1))
        for name, field in value.fields.items() if value is not None else ():
            if (wanted_type := _FIELD_TYPES.get(name)) and not _has_type(field, wanted_type):
                message = f"{name} must be {wanted_type}"
                yield self._finding("front-matter", message, self._location_finder.line_range(field.line), words=name)

    def _headings(self) -> Iterator[Finding]:
        level = 0
        for heading in self._document.headings:
            if level and heading.level > level + 1:
                message = f"heading level {heading.level} follows level {level}"
                span = self._location_finder.line_range(heading.block.lines[0])
                yield self._finding("heading-order", message, span, heading.block.key, heading.title)
            level = heading.level

    def _images(self, block: Block) -> Iterator[Finding]:
        for url in dict.fromkeys(images_without_text([block])):
            for span in self._location_finder.find_url(url, block.lines) or [
                self._location_finder.line_range(block.lines[0])
            ]:
                yield self._finding("alt-text", "the image has no alternative text", span, block.key, url)


def _has_type(field: YamlValue, wanted_type: str) -> bool:
    if wanted_type == _SWITCH:
        return isinstance(field.value, bool) or field.value is None
    if wanted_type == _SECTION:
        return isinstance(field.value, dict) or field.value is None
    return not isinstance(field.value, list | dict)
