"""Reads the output of linters in each format that Octavo knows. Start reading at `read_reports`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, NoReturn
from urllib.parse import unquote
from xml.parsers import expat

from octavo.api.safety import safe_line, safe_text
from octavo.documents.checks.findings import Severity
from octavo.untrusted_input import parse_json

ColumnUnit = Literal["code-points", "utf-16", "utf-16-0", "bytes"]
"""The unit in which a linter counts columns. `utf-16-0` counts from 0, the other units count from 1."""
MAX_FINDINGS = 500
"""Maximum number of findings that are read from the output of a linter."""
MAX_OUTPUT = 4 << 20
"""Maximum number of bytes of the output of a linter."""
_SEVERITIES: dict[str, Severity] = {
    **dict.fromkeys(("error", "fatal", "critical", "2"), "error"),
    **dict.fromkeys(("warning", "warn", "1"), "warning"),
    **dict.fromkeys(("info", "information", "note", "hint", "suggestion", "none", "0"), "info"),
}


class UnreadableReport(ValueError):
    """Raised if the output of a linter is not in the expected format. The message has no full stop."""


@dataclass(frozen=True, slots=True)
class ReportedFinding:
    """A finding as a linter reported it. Lines are counted from 1. `end_column` is exclusive."""

    message: str
    path: str = ""
    """The file name that the linter printed. Empty for text on standard input."""
    line: int = 1
    column: int | None = None
    """Column of the first character. None if the finding is about whole lines."""
    end_line: int | None = None
    end_column: int | None = None
    """Column after the last character. None if the end is unknown."""
    rule: str = ""
    severity: Severity = "warning"
    words: str = ""
    """The text that the finding is about. Empty if the linter does not report it."""
    replacement: str | None = None
    """The text that the linter suggests instead. None if it suggests none."""
    column_unit: ColumnUnit | None = None
    """The unit of the columns. None if the format does not define a unit."""


def severity_of(name: object) -> Severity:
    """Return the severity for a name that a linter uses, such as `note`. `warning` for an unknown name."""
    return _SEVERITIES.get(str(name).lower(), "warning")


def one_line(value: object) -> str:
    """Return a text from a linter as one sanitized line without full stop. Empty if `value` is not a text."""
    return safe_line(" ".join(value.split())).removesuffix(".") if isinstance(value, str) else ""


def parse_number(value: object) -> int | None:
    """Return a line or column number. None if the value is not a usable number."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 10:
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**9 else None


_MAX_REPLACEMENT = 10_000
_ARGUMENT = re.compile(r"\{(\d{1,2})\}")


def read_vale(text: str) -> Iterator[ReportedFinding]:
    """Yield the findings of `vale --output=JSON`. Raises UnreadableReport."""
    for path, alerts in _object(_parse_report(text)).items():
        for alert in map(_object, _list(alerts)):
            span = _list(alert.get("Span"))
            column, last = (parse_number(span[0]), parse_number(span[1])) if len(span) == 2 else (None, None)
            yield ReportedFinding(
                one_line(alert.get("Message")),
                path,
                parse_number(alert.get("Line")) or 1,
                column or None,
                end_column=last + 1 if last is not None else None,  # Vale names the last character of the range.
                rule=one_line(alert.get("Check")),
                severity=severity_of(alert.get("Severity")),
                words=_text(alert.get("Match")) or "",
                replacement=_vale_replacement(_object(alert.get("Action") or {})),
            )


def _vale_replacement(action: Mapping[str, Any]) -> str | None:
    if action.get("Name") == "remove":
        return ""
    params = action.get("Params")
    if action.get("Name") == "replace" and isinstance(params, list) and len(params) == 1:
        return _text(params[0])
    return None


def read_sarif(text: str) -> Iterator[ReportedFinding]:
    """Yield the findings of a SARIF log, without passed checks and suppressed findings. Raises UnreadableReport."""
    log = _object(_parse_report(text))
    if "runs" not in log:
        raise UnreadableReport("it has no runs")
    for run in map(_object, _list(log["runs"])):
        column_unit: ColumnUnit | None = {"utf16CodeUnits": "utf-16", "unicodeCodePoints": "code-points"}.get(  # type: ignore[assignment]  # a table of texts
            str(run.get("columnKind"))
        )
        driver = _object(_object(run.get("tool") or {}).get("driver") or {})
        rules = [_object(each) for each in _list(driver.get("rules"))]
        for result in map(_object, _list(run.get("results"))):
            if result.get("kind", "fail") in ("fail", "open", "review") and not result.get("suppressions"):
                yield _sarif_report(result, rules, column_unit)


def _sarif_report(
    result: Mapping[str, Any], rules: list[Mapping[str, Any]], column_unit: ColumnUnit | None
) -> ReportedFinding:
    index = result.get("ruleIndex")
    rule = rules[index] if isinstance(index, int) and 0 <= index < len(rules) else {}
    name = one_line(result.get("ruleId") or rule.get("id"))
    rule = rule or next((each for each in rules if each.get("id") == name), {})
    level = result.get("level") or _object(rule.get("defaultConfiguration") or {}).get("level") or "warning"
    locations = _list(result.get("locations"))
    location = _object(_object(locations[0] if locations else {}).get("physicalLocation") or {})
    region = _object(location.get("region") or {})
    uri = _text(_object(location.get("artifactLocation") or {}).get("uri")) or ""
    return ReportedFinding(
        one_line(_sarif_message(_object(result.get("message") or {}), rule)),
        unquote(uri.removeprefix("file://")),
        parse_number(region.get("startLine")) or 1,
        parse_number(region.get("startColumn")),
        parse_number(region.get("endLine")),
        parse_number(region.get("endColumn")),
        name,
        severity_of(level),
        _text(_object(region.get("snippet") or {}).get("text")) or "",
        _sarif_replacement(result, region),
        column_unit,
    )


def _sarif_message(message: Mapping[str, Any], rule: Mapping[str, Any]) -> str:
    text = message.get("text")
    if text is None and "id" in message:
        strings = _object(rule.get("messageStrings") or {})
        text = _object(strings.get(str(message["id"])) or {}).get("text")
    arguments = [str(each) for each in _list(message.get("arguments"))]
    return _ARGUMENT.sub(
        lambda match: arguments[int(match[1])] if int(match[1]) < len(arguments) else match[0], str(text or "")
    )


def _sarif_replacement(result: Mapping[str, Any], region: Mapping[str, Any]) -> str | None:
    """Return the text of the first fix if it replaces exactly the region of the finding. None otherwise."""
    changes = [
        change
        for fix in _list(result.get("fixes"))[:1]
        for file in _list(_object(fix).get("artifactChanges"))
        for change in _list(_object(file).get("replacements"))
    ]
    if len(changes) != 1:
        return None
    change = _object(changes[0])
    deletion = _object(change.get("deletedRegion") or {})
    names = ("startLine", "startColumn", "endLine", "endColumn")
    lines = {"endLine": deletion.get("startLine")}, {"endLine": region.get("startLine")}
    if [{**lines[0], **deletion}.get(name) for name in names] != [{**lines[1], **region}.get(name) for name in names]:
        return None
    return _text(_object(change.get("insertedContent") or {}).get("text")) or ""


def read_rdjson(text: str) -> Iterator[ReportedFinding]:
    """Yield the findings in the Reviewdog Diagnostic Format. Raises UnreadableReport."""
    result = _object(_parse_report(text))
    if "diagnostics" not in result:
        raise UnreadableReport("it has no diagnostics")
    for each in _list(result["diagnostics"]):
        yield _rdjson_report({"severity": result.get("severity"), **_object(each)})


def read_rdjsonl(text: str) -> Iterator[ReportedFinding]:
    """Yield the findings in the Reviewdog Diagnostic Format with one JSON object per line. Raises UnreadableReport."""
    for line in text.split("\n"):
        if line.strip():
            yield _rdjson_report(_object(_parse_report(line)))


def _rdjson_report(diagnostic: Mapping[str, Any]) -> ReportedFinding:
    location = _object(diagnostic.get("location") or {})
    text_range = _object(location.get("range") or {})
    start, end = _object(text_range.get("start") or {}), _object(text_range.get("end") or {})
    column = parse_number(start.get("column")) or None
    return ReportedFinding(
        one_line(diagnostic.get("message")),
        _text(location.get("path")) or "",
        parse_number(start.get("line")) or 1,
        column,
        parse_number(end.get("line")),
        parse_number(end.get("column")) or None,
        one_line(_object(diagnostic.get("code") or {}).get("value")),
        severity_of(diagnostic.get("severity") or "warning"),
        replacement=_rdjson_replacement(diagnostic, text_range) if column is not None else None,
    )


def _rdjson_replacement(diagnostic: Mapping[str, Any], text_range: Mapping[str, Any]) -> str | None:
    suggestions = [_object(each) for each in _list(diagnostic.get("suggestions"))]
    if len(suggestions) != 1 or suggestions[0].get("range") != text_range or "end" not in text_range:
        return None
    return _text(suggestions[0].get("text")) or ""


def _parse_report(text: str) -> Any:
    try:
        return parse_json(text)
    except ValueError as error:
        raise UnreadableReport(f"it is not JSON: {one_line(str(error))}") from None


def _object(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise UnreadableReport("it has another structure than its format")
    return value


def _list(value: Any) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise UnreadableReport("it has another structure than its format")
    return value


def _text(value: Any) -> str | None:
    """Return a text from the output, sanitized. None for other values and for very long texts."""
    return safe_text(value) if isinstance(value, str) and len(value) <= _MAX_REPLACEMENT else None


Format = Literal["vale", "sarif", "rdjson", "rdjsonl", "checkstyle", "lines"]
_MAX_DEPTH = 50
_LINE = re.compile(r"(?P<path>[^\n]*?):(?P<line>\d{1,9})(?::(?P<column>\d{1,9}))?(?::\s*|\s+)(?P<message>\S[^\n]*)")
_SEVERITY = re.compile(r"(error|warning|warn|info|note|suggestion|hint):\s*", re.IGNORECASE)
_NAMED_RULE = re.compile(r"([a-z]\w*(?:[._-]\w+)*):\s+")
"""The name of a rule at the beginning of a message, as proselint writes it."""
_RULE = re.compile(
    r"\s*(?:\[(?:(?P<severity>error|warning|info)/)?([\w./@-]{1,100})\]|\(([\w./@-]{1,100})\))\s*$", re.IGNORECASE
)


def read_reports(output: bytes, format_name: Format) -> tuple[tuple[ReportedFinding, ...], bool]:
    """Return at most `MAX_FINDINGS` findings of a linter, and whether there are more. Raises UnreadableReport."""
    if len(output) > MAX_OUTPUT:
        raise UnreadableReport(f"it is larger than {MAX_OUTPUT >> 20} MiB")
    if b"\0" in output:
        raise UnreadableReport("it is not text")
    text = output.decode("utf-8-sig", "replace").strip()
    if not text:
        return (), False
    findings = tuple(islice((each for each in _READERS[format_name](text) if each.message), MAX_FINDINGS + 1))
    return findings[:MAX_FINDINGS], len(findings) > MAX_FINDINGS


def _read_lines(text: str) -> Iterator[ReportedFinding]:
    """Yield the findings in lines like `file:line[:column]: message`. Raises UnreadableReport if there are none."""
    is_read = False
    for line in text.split("\n"):
        if (match := _LINE.fullmatch(line.strip())) is None:
            continue
        is_read = True
        message, severity, rule = match["message"], "warning", ""
        if rule_match := _RULE.search(message):
            severity, rule = rule_match["severity"] or severity, rule_match[2] or rule_match[3]
            message = message[: rule_match.start()]
        if severity_match := _SEVERITY.match(message):
            severity, message = severity_match[1], message[severity_match.end() :]
        if not rule and (named_rule_match := _NAMED_RULE.match(message)):
            rule, message = named_rule_match[1], message[named_rule_match.end() :]
        yield ReportedFinding(
            one_line(message),
            one_line(match["path"]),
            parse_number(match["line"]) or 1,
            parse_number(match["column"]),
            rule=one_line(rule),
            severity=severity_of(severity),
        )
    if not is_read:
        raise UnreadableReport("no line has the form file:line: message")


def _read_checkstyle(text: str) -> Iterator[ReportedFinding]:
    try:
        yield from _CheckstyleReader(text).reports
    except expat.ExpatError as error:
        raise UnreadableReport(f"it is not XML: {expat.ErrorString(error.code)}") from None


class _CheckstyleReader:
    """Reads Checkstyle XML. Raises UnreadableReport for XML with a document type, whose entities can be very large."""

    def __init__(self, text: str) -> None:
        self.reports: list[ReportedFinding] = []
        self._path = ""
        self._depth = 0
        parser = expat.ParserCreate()
        parser.StartElementHandler = self._on_start
        parser.EndElementHandler = self._on_end
        parser.StartDoctypeDeclHandler = self._on_document_type
        parser.Parse(text, True)

    def _on_document_type(self, *_: object) -> NoReturn:
        raise UnreadableReport("it has a document type")

    def _on_end(self, name: str) -> None:
        self._depth -= 1

    def _on_start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > _MAX_DEPTH or (self._depth == 1 and name != "checkstyle"):
            raise UnreadableReport("it is not Checkstyle XML")
        if name == "file":
            self._path = one_line(attributes.get("name"))
        elif name == "error" and attributes.get("severity") != "ignore" and len(self.reports) <= MAX_FINDINGS:
            self.reports.append(
                ReportedFinding(
                    one_line(attributes.get("message")),
                    self._path,
                    parse_number(attributes.get("line")) or 1,
                    parse_number(attributes.get("column")) or None,
                    rule=one_line(attributes.get("source")),
                    severity=severity_of(attributes.get("severity", "warning")),
                )
            )


_READERS: dict[Format, Callable[[str], Iterator[ReportedFinding]]] = {
    "vale": read_vale,
    "sarif": read_sarif,
    "rdjson": read_rdjson,
    "rdjsonl": read_rdjsonl,
    "checkstyle": _read_checkstyle,
    "lines": _read_lines,
}
DEFAULT_COLUMN_UNITS: dict[Format, ColumnUnit] = {
    "vale": "code-points",
    "lines": "code-points",
    "sarif": "code-points",
    "checkstyle": "utf-16",
    "rdjson": "bytes",
    "rdjsonl": "bytes",
}
"""The unit of columns in each format, used if neither the settings nor the output set one."""
