"""Reads the output of linters in each format that Octavo knows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Literal, NoReturn
from xml.parsers import expat

from octavo.documents.linters.json_readers import read_rdjson, read_rdjsonl, read_sarif, read_vale
from octavo.documents.linters.reports import (
    MAX_OUTPUT,
    MAX_REPORTS,
    Columns,
    Report,
    UnreadableReport,
    number,
    one_line,
    severity_of,
)

Format = Literal["vale", "sarif", "rdjson", "rdjsonl", "checkstyle", "lines"]
_MAX_DEPTH = 50
_LINE = re.compile(r"(?P<path>[^\n]*?):(?P<line>\d{1,9})(?::(?P<column>\d{1,9}))?(?::\s*|\s+)(?P<message>\S[^\n]*)")
_SEVERITY = re.compile(r"(error|warning|warn|info|note|suggestion|hint):\s*", re.IGNORECASE)
_NAMED_RULE = re.compile(r"([a-z]\w*(?:[._-]\w+)*):\s+")
"""The name of a rule at the beginning of a message, as proselint writes it."""
_RULE = re.compile(
    r"\s*(?:\[(?:(?P<severity>error|warning|info)/)?([\w./@-]{1,100})\]|\(([\w./@-]{1,100})\))\s*$", re.IGNORECASE
)


def read_reports(output: bytes, format_name: Format) -> tuple[tuple[Report, ...], bool]:
    """Return the findings in the output of a linter, and whether there are more of them than the limit. Raises
    UnreadableReport."""
    if len(output) > MAX_OUTPUT:
        raise UnreadableReport(f"it is larger than {MAX_OUTPUT >> 20} MiB")
    if b"\0" in output:
        raise UnreadableReport("it is not text")
    text = output.decode("utf-8-sig", "replace").strip()
    if not text:
        return (), False
    found = tuple(islice((each for each in _READERS[format_name](text) if each.message), MAX_REPORTS + 1))
    return found[:MAX_REPORTS], len(found) > MAX_REPORTS


def _read_lines(text: str) -> Iterator[Report]:
    """Yield the findings in lines of the form `file:line[:column]: message`. Other lines are skipped."""
    is_read = False
    for line in text.splitlines():
        if (match := _LINE.fullmatch(line.strip())) is None:
            continue
        is_read = True
        message, severity, rule = match["message"], "warning", ""
        if ending := _RULE.search(message):
            severity, rule = ending["severity"] or severity, ending[2] or ending[3]
            message = message[: ending.start()]
        if beginning := _SEVERITY.match(message):
            severity, message = beginning[1], message[beginning.end() :]
        if not rule and (named := _NAMED_RULE.match(message)):
            rule, message = named[1], message[named.end() :]
        yield Report(
            one_line(message),
            one_line(match["path"]),
            number(match["line"]) or 1,
            number(match["column"]),
            rule=one_line(rule),
            severity=severity_of(severity),
        )
    if not is_read:
        raise UnreadableReport("no line has the form file:line: message")


def _read_checkstyle(text: str) -> Iterator[Report]:
    """Yield the findings in Checkstyle XML. Raises UnreadableReport, also for a document type."""
    reader = _CheckstyleReader()
    try:
        reader.parse(text)
    except expat.ExpatError as error:
        raise UnreadableReport(f"it is not XML: {expat.ErrorString(error.code)}") from None
    yield from reader.reports


class _CheckstyleReader:
    """Reads Checkstyle XML. A document type is refused, because its entities can be very large."""

    def __init__(self) -> None:
        self.reports: list[Report] = []
        self._path = ""
        self._depth = 0
        self._parser = expat.ParserCreate()
        self._parser.StartElementHandler = self._on_start
        self._parser.EndElementHandler = self._on_end
        self._parser.StartDoctypeDeclHandler = self._on_document_type

    def parse(self, text: str) -> None:
        """Read a document into `reports`. Raises expat.ExpatError or UnreadableReport."""
        self._parser.Parse(text, True)

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
        elif name == "error" and attributes.get("severity") != "ignore" and len(self.reports) <= MAX_REPORTS:
            self.reports.append(
                Report(
                    one_line(attributes.get("message")),
                    self._path,
                    number(attributes.get("line")) or 1,
                    number(attributes.get("column")) or None,
                    rule=one_line(attributes.get("source")),
                    severity=severity_of(attributes.get("severity", "warning")),
                )
            )


_READERS: dict[Format, Callable[[str], Iterator[Report]]] = {
    "vale": read_vale,
    "sarif": read_sarif,
    "rdjson": read_rdjson,
    "rdjsonl": read_rdjsonl,
    "checkstyle": _read_checkstyle,
    "lines": _read_lines,
}
DEFAULT_COLUMNS: dict[Format, Columns] = {
    "vale": "code-points",
    "lines": "code-points",
    "sarif": "code-points",
    "checkstyle": "utf-16",
    "rdjson": "bytes",
    "rdjsonl": "bytes",
}
"""The unit of columns in each format, if neither the settings nor the output say it."""
