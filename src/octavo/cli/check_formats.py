"""Formats of `octavo check`: text, JSON, NDJSON, SARIF, rdjsonl, and commands of GitHub Actions."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from octavo import __version__
from octavo.api.safety import safe_address
from octavo.documents.checks.findings import OWN_SOURCE, RULES, SEVERITIES, Finding, Place

_SARIF_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_SARIF_LEVELS = {"error": "error", "warning": "warning", "info": "note"}
_GITHUB_COMMANDS = {"error": "error", "warning": "warning", "info": "notice"}
_COLORS = {"error": "31", "warning": "33", "info": "36"}


def text_lines(found: Sequence[Finding], *, colors: bool) -> str:
    """Return a line for each finding."""
    lines = []
    for each in found:
        place, severity = f"{safe_address(each.path)}:{each.place.line}:{each.place.column}:", f"{each.severity}:"
        if colors:
            place, severity = f"\x1b[1m{place}\x1b[m", f"\x1b[{_COLORS[each.severity]}m{severity}\x1b[m"
        lines.append(f"{place} {severity} {each.message} ({_rule_name(each)})\n")
    return "".join(lines)


def summary_line(found: Sequence[Finding], files: int) -> str:
    """Return the number of findings by severity, such as `2 errors, 1 warning in 43 files`."""
    counts = Counter(each.severity for each in found)
    parts = [_plural(counts[each], each) for each in SEVERITIES if counts[each] and each != "info"]
    if counts["info"]:
        parts.append(f"{counts['info']} info")
    return f"{', '.join(parts) or 'No problems'} in {_plural(files, 'file')}\n"


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _rule_name(found: Finding) -> str:
    return found.rule if found.source == OWN_SOURCE else f"{found.source}: {found.rule}" if found.rule else found.source


def json_text(found: Sequence[Finding], lines: Mapping[str, str]) -> str:
    return json.dumps([each.as_json() for each in found], indent=2, ensure_ascii=False) + "\n"


def ndjson_lines(found: Sequence[Finding], lines: Mapping[str, str]) -> str:
    return "".join(f"{_compact(each.as_json())}\n" for each in found)


def github_commands(found: Sequence[Finding], lines: Mapping[str, str]) -> str:
    """Return the commands that show findings as annotations in GitHub Actions."""
    return "".join(f"{_github_command(each)}\n" for each in found)


def _github_command(found: Finding) -> str:
    place = found.place
    facts = {"file": found.path, "line": place.line, "col": place.column}
    if place.line == place.end_line and place.end_column > place.column:
        facts |= {"endLine": place.end_line, "endColumn": place.end_column}
    facts["title"] = _rule_name(found)
    values = ",".join(f"{name}={_escape(str(value), is_value=True)}" for name, value in facts.items())
    return f"::{_GITHUB_COMMANDS[found.severity]} {values}::{_escape(found.message)}"


def _escape(text: str, *, is_value: bool = False) -> str:
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return text.replace(":", "%3A").replace(",", "%2C") if is_value else text


def rdjson_lines(found: Sequence[Finding], texts: Mapping[str, str]) -> str:
    """Return the findings in the Reviewdog Diagnostic Format. `texts` has the text of each file, because columns count
    bytes there."""
    lines = {path: text.split("\n") for path, text in texts.items() if path in {each.path for each in found}}
    return "".join(f"{_compact(_rdjson(each, lines.get(each.path, [])))}\n" for each in found)


def _rdjson(found: Finding, lines: Sequence[str]) -> dict[str, Any]:
    place = found.place
    start = {"line": place.line, "column": _byte_column(lines, place.line, place.column)}
    end = {"line": place.end_line, "column": _byte_column(lines, place.end_line, place.end_column)}
    described: dict[str, Any] = {
        "message": found.message,
        "location": {"path": found.path, "range": {"start": start, "end": end}},
        "severity": found.severity.upper(),
        "source": {"name": found.source},
        "code": {"value": found.rule},
    }
    if found.suggestion is not None:
        described["suggestions"] = [{"range": {"start": start, "end": end}, "text": found.suggestion}]
    return described


def _byte_column(lines: Sequence[str], line: int, column: int) -> int:
    before = lines[line - 1][: column - 1] if line <= len(lines) else ""
    return len(before.encode("utf-8", "surrogatepass")) + 1 if before else column


def sarif_text(found: Sequence[Finding], texts: Mapping[str, str]) -> str:
    """Return the findings in SARIF 2.1, one run for each program that reported some."""
    sources = dict.fromkeys([OWN_SOURCE, *(each.source for each in found)])
    runs = [_sarif_run(source, [each for each in found if each.source == source]) for source in sources]
    return json.dumps({"$schema": _SARIF_SCHEMA, "version": "2.1.0", "runs": runs}, indent=2, ensure_ascii=False) + "\n"


def _sarif_run(source: str, found: Sequence[Finding]) -> dict[str, Any]:
    rules = list(dict.fromkeys(each.rule for each in found))
    driver: dict[str, Any] = {"name": source, "rules": [_sarif_rule(source, rule) for rule in rules]}
    if source == OWN_SOURCE:
        driver["version"] = __version__
    results = [_sarif_result(each, rules) for each in found]
    return {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}


def _sarif_rule(source: str, rule: str) -> dict[str, Any]:
    if source != OWN_SOURCE:
        return {"id": rule or source}
    known = RULES[rule]
    level = {"level": _SARIF_LEVELS[known.severity]}
    return {"id": rule, "shortDescription": {"text": known.about}, "defaultConfiguration": level}


def _sarif_result(found: Finding, rules: Sequence[str]) -> dict[str, Any]:
    file = {"uri": _sarif_uri(found.path)}
    region = _sarif_region(found.place)
    result: dict[str, Any] = {
        "ruleId": found.rule or found.source,
        "ruleIndex": rules.index(found.rule),
        "level": _SARIF_LEVELS[found.severity],
        "message": {"text": found.message},
        "locations": [{"physicalLocation": {"artifactLocation": file, "region": region}}],
    }
    if found.suggestion is not None:
        replacement = {"deletedRegion": region, "insertedContent": {"text": found.suggestion}}
        result["fixes"] = [{"artifactChanges": [{"artifactLocation": file, "replacements": [replacement]}]}]
    return result


def _sarif_region(place: Place) -> dict[str, int]:
    names = ("startLine", "startColumn", "endLine", "endColumn")
    return dict(zip(names, place, strict=True))


def _sarif_uri(path: str) -> str:
    return ("file://" if path.startswith("/") else "") + quote(path)


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


FORMATS: Mapping[str, Callable[[Sequence[Finding], Mapping[str, str]], str]] = {
    "json": json_text,
    "ndjson": ndjson_lines,
    "sarif": sarif_text,
    "rdjsonl": rdjson_lines,
    "github": github_commands,
}
"""Formats for programs. Each function gets the findings, and the text of each file by its path."""
