"""Write the table of operations in the help topic `commands`, between its markers: declared operations and all of the API.

.venv/bin/python -m screenshots.coverage
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path

from octavo.api.operation import load
from octavo.api.wire import routes
from octavo.help import file_of, text_of
from screenshots.generated import between

WANTED = Path(__file__).parent.parent / "tests" / "operations.tsv"
BEGIN, END = "<!-- operations: written by screenshots/coverage.py -->", "<!-- end of operations -->"


def table() -> str:
    """Return the number of declared operations in each area of the API, and of all operations there."""
    declared = {(route.spec.method, route.path) for spec in load().values() for route in routes(spec)}
    areas: dict[str, list[bool]] = {}
    for row in csv.DictReader(WANTED.read_text(encoding="utf-8").splitlines(), delimiter="\t"):
        areas.setdefault(row["area"], []).append((row["method"], row["path"]) in declared)
    lines = [_line(_title(area), found) for area, found in sorted(areas.items(), key=lambda each: _title(each[0]))]
    everything = _line("**All**", [each for found in areas.values() for each in found])
    return "\n".join(
        ["| Area | Operations in Octavo | Operations of the API |", "| --- | ---: | ---: |", *lines, everything]
    )


def _line(title: str, found: Iterable[bool]) -> str:
    known = list(found)
    return f"| {title} | {sum(known)} | {len(known)} |"


def _title(area: str) -> str:
    """Return the title of an area: `change-requests` becomes “Change requests”."""
    words = area.replace("-", " ")
    for name in ("openapi", "sso", "mcp", "urls"):
        words = words.replace(name, {"openapi": "OpenAPI", "urls": "URLs"}.get(name, name.upper()))
    return words[:1].upper() + words[1:]


def with_operations(text: str) -> str:
    """Return `text` with the current table. Raises ValueError if a marker is missing."""
    return between(text, BEGIN, END, table())


if __name__ == "__main__":
    file_of("commands").write_text(with_operations(text_of("commands")), encoding="utf-8")
