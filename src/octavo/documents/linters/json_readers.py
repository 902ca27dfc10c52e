"""Reads the JSON formats of linters: Vale, SARIF 2.1, rdjson and rdjsonl."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from octavo.api.safety import safe_text
from octavo.documents.linters.reports import Columns, Report, UnreadableReport, number, one_line, severity_of
from octavo.untrusted_input import parse_json

_MAX_REPLACEMENT = 10_000
_ARGUMENT = re.compile(r"\{(\d{1,2})\}")


def read_vale(text: str) -> Iterator[Report]:
    """Yield the findings of `vale --output=JSON`. Raises UnreadableReport."""
    for path, alerts in _object(_parse_report(text)).items():
        for alert in map(_object, _list(alerts)):
            span = _list(alert.get("Span"))
            column, last = (number(span[0]), number(span[1])) if len(span) == 2 else (None, None)
            yield Report(
                one_line(alert.get("Message")),
                path,
                number(alert.get("Line")) or 1,
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


def read_sarif(text: str) -> Iterator[Report]:
    """Yield the findings of a SARIF log. Raises UnreadableReport."""
    log = _object(_parse_report(text))
    if "runs" not in log:
        raise UnreadableReport("it has no runs")
    for run in map(_object, _list(log["runs"])):
        columns: Columns | None = {"utf16CodeUnits": "utf-16", "unicodeCodePoints": "code-points"}.get(  # type: ignore[assignment]  # a table of texts
            str(run.get("columnKind"))
        )
        driver = _object(_object(run.get("tool") or {}).get("driver") or {})
        rules = [_object(each) for each in _list(driver.get("rules"))]
        for result in map(_object, _list(run.get("results"))):
            if result.get("kind", "fail") in ("fail", "open", "review") and not result.get("suppressions"):
                yield _sarif_report(result, rules, columns)


def _sarif_report(result: Mapping[str, Any], rules: list[Mapping[str, Any]], columns: Columns | None) -> Report:
    index = result.get("ruleIndex")
    rule = rules[index] if isinstance(index, int) and 0 <= index < len(rules) else {}
    name = one_line(result.get("ruleId") or rule.get("id"))
    rule = rule or next((each for each in rules if each.get("id") == name), {})
    level = result.get("level") or _object(rule.get("defaultConfiguration") or {}).get("level") or "warning"
    locations = _list(result.get("locations"))
    place = _object(_object(locations[0] if locations else {}).get("physicalLocation") or {})
    region = _object(place.get("region") or {})
    uri = _text(_object(place.get("artifactLocation") or {}).get("uri")) or ""
    return Report(
        one_line(_sarif_message(_object(result.get("message") or {}), rule)),
        unquote(uri.removeprefix("file://")),
        number(region.get("startLine")) or 1,
        number(region.get("startColumn")),
        number(region.get("endLine")),
        number(region.get("endColumn")),
        name,
        severity_of(level),
        _text(_object(region.get("snippet") or {}).get("text")) or "",
        _sarif_replacement(result, region),
        columns,
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
    """Return the text of the only fix, if it replaces exactly the region of the finding."""
    changes = [
        change
        for fix in _list(result.get("fixes"))[:1]
        for file in _list(_object(fix).get("artifactChanges"))
        for change in _list(_object(file).get("replacements"))
    ]
    if len(changes) != 1:
        return None
    change = _object(changes[0])
    deleted = _object(change.get("deletedRegion") or {})
    names = ("startLine", "startColumn", "endLine", "endColumn")
    lines = {"endLine": deleted.get("startLine")}, {"endLine": region.get("startLine")}
    if [{**lines[0], **deleted}.get(name) for name in names] != [{**lines[1], **region}.get(name) for name in names]:
        return None
    return _text(_object(change.get("insertedContent") or {}).get("text")) or ""


def read_rdjson(text: str) -> Iterator[Report]:
    """Yield the findings in the Reviewdog Diagnostic Format. Raises UnreadableReport."""
    result = _object(_parse_report(text))
    if "diagnostics" not in result:
        raise UnreadableReport("it has no diagnostics")
    for each in _list(result["diagnostics"]):
        yield _rdjson_report({"severity": result.get("severity"), **_object(each)})


def read_rdjsonl(text: str) -> Iterator[Report]:
    """Yield the findings in the Reviewdog Diagnostic Format, one a line. Raises UnreadableReport."""
    for line in text.splitlines():
        if line.strip():
            yield _rdjson_report(_object(_parse_report(line)))


def _rdjson_report(diagnostic: Mapping[str, Any]) -> Report:
    location = _object(diagnostic.get("location") or {})
    found = _object(location.get("range") or {})
    start, end = _object(found.get("start") or {}), _object(found.get("end") or {})
    column = number(start.get("column")) or None
    return Report(
        one_line(diagnostic.get("message")),
        _text(location.get("path")) or "",
        number(start.get("line")) or 1,
        column,
        number(end.get("line")),
        number(end.get("column")) or None,
        one_line(_object(diagnostic.get("code") or {}).get("value")),
        severity_of(diagnostic.get("severity") or "warning"),
        replacement=_rdjson_replacement(diagnostic, found) if column is not None else None,
    )


def _rdjson_replacement(diagnostic: Mapping[str, Any], found: Mapping[str, Any]) -> str | None:
    suggestions = [_object(each) for each in _list(diagnostic.get("suggestions"))]
    if len(suggestions) != 1 or suggestions[0].get("range") != found or "end" not in found:
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
    """Return a text of the output, safe to show. None for other values and for very long texts."""
    return safe_text(value) if isinstance(value, str) and len(value) <= _MAX_REPLACEMENT else None
