"""Findings of checks and linters, and the rules of the checks."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Literal, NamedTuple

Severity = Literal["error", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
"""Severities, the highest first."""


OWN_SOURCE = "octavo"
"""The source of the findings of `octavo check`."""


class Place(NamedTuple):
    """A range in a file. Lines and columns are counted from 1, columns in code points. The end is exclusive."""

    line: int = 1
    column: int = 1
    end_line: int = 1
    end_column: int = 1


TOP = Place()
"""The place of a problem with a whole file."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem in a file, reported by a check or by a linter."""

    rule: str
    severity: Severity
    message: str
    """One line without full stop."""
    path: str
    """The path of the file from the root of the folder, or the path of the page."""
    place: Place = TOP
    page: str = ""
    """The path of the page in its space. Empty for files that are not pages."""
    block: str = ""
    """The key of the block. Empty if the problem is in no block."""
    words: str = ""
    """The text in the range."""
    suggestion: str | None = None
    """A replacement for `words`. None if there is none."""
    source: str = OWN_SOURCE
    """The program that reported the problem."""

    def as_json(self) -> dict[str, Any]:
        """Return the finding as `octavo check --format json` prints it."""
        return {
            "rule": self.rule,
            "severity": self.severity,
            "message": self.message,
            "path": self.path,
            "line": self.place.line,
            "column": self.place.column,
            "endLine": self.place.end_line,
            "endColumn": self.place.end_column,
            "page": self.page,
            "block": self.block,
            "words": self.words,
            "suggestion": self.suggestion,
            "source": self.source,
        }


class Rule(NamedTuple):
    """A rule of the checks."""

    severity: Severity
    about: str
    """The problem that the rule finds, as a phrase without full stop."""
    is_default: bool = True
    """True if the rule is checked unless other rules are chosen."""


RULES = {
    "link": Rule("error", "A link to a missing page, or a link without a valid target"),
    "anchor": Rule("error", "A link to a missing heading"),
    "file": Rule("error", "A link to a missing file"),
    "image": Rule("error", "A missing image"),
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
"""All rules by name."""
DEFAULT_RULES = frozenset(name for name, rule in RULES.items() if rule.is_default)


def finding(rule: str, message: str, path: str, place: Place = TOP, **others: Any) -> Finding:
    """Return a finding with the severity of its rule."""
    return Finding(rule, RULES[rule].severity, message, path, place, **others)


@dataclass(frozen=True)
class RuleChoice:
    """The rules to check, and the rules to ignore in some files."""

    rules: frozenset[str] = DEFAULT_RULES
    ignored_in: tuple[tuple[str, frozenset[str]], ...] = ()
    """Patterns of paths, each with the rules that are ignored in matching files."""

    def applies(self, found: Finding) -> bool:
        """Return whether a finding is reported. Findings of linters always are, because their rules are chosen in the
        settings of the linter."""
        if found.source != OWN_SOURCE:
            return True
        return found.rule in self.rules and not any(
            found.rule in rules and matches_path(found.path, pattern) for pattern, rules in self.ignored_in
        )


def matches_path(path: str, pattern: str) -> bool:
    """Return whether a path matches a pattern such as `drafts/**`, `*.md`, or `api/index.md`. A pattern without a slash
    matches the name of the file in every folder."""
    if "/" not in pattern:
        return fnmatchcase(path.rpartition("/")[2], pattern)
    return fnmatchcase(path, pattern.removeprefix("/")) or fnmatchcase(f"/{path}", pattern)


def sorted_findings(found: Collection[Finding]) -> list[Finding]:
    """Return findings by path and place, without repeats."""
    unique = dict.fromkeys(found)
    return sorted(unique, key=lambda each: (each.path, each.place, each.source, each.rule, each.message))


def has_at_least(found: Collection[Finding], severity: Severity) -> bool:
    """Return whether a finding has a severity or a higher one."""
    relevant = SEVERITIES[: SEVERITIES.index(severity) + 1]
    return any(each.severity in relevant for each in found)
