"""Write the README's table of operations, between its markers: what is declared of what the interface has.

.venv/bin/python -m screenshots.coverage
"""

from __future__ import annotations

import csv
from collections.abc import Iterable

from octavo.api.operation import load
from octavo.api.wire import routes
from screenshots import readme

WANTED = readme.PATH.parent / "tests" / "operations.tsv"
BEGIN, END = "<!-- operations: written by screenshots/coverage.py -->", "<!-- end of operations -->"


def table() -> str:
    """How many operations of each area of the interface are declared, of how many there are."""
    declared = {(route.spec.method, route.path) for spec in load().values() for route in routes(spec)}
    areas: dict[str, list[bool]] = {}
    for row in csv.DictReader(WANTED.read_text(encoding="utf-8").splitlines(), delimiter="\t"):
        areas.setdefault(row["area"], []).append((row["method"], row["path"]) in declared)
    lines = [_line(_title(area), found) for area, found in sorted(areas.items(), key=lambda each: _title(each[0]))]
    everything = _line("**All**", [each for found in areas.values() for each in found])
    return "\n".join(["| Area | Operations | Of |", "| --- | ---: | ---: |", *lines, everything])


def _line(title: str, found: Iterable[bool]) -> str:
    known = list(found)
    return f"| {title} | {sum(known)} | {len(known)} |"


def _title(area: str) -> str:
    """`change-requests` as people write it, and names of things as they are written."""
    words = area.replace("-", " ")
    for name in ("openapi", "sso", "mcp", "urls"):
        words = words.replace(name, {"openapi": "OpenAPI", "urls": "URLs"}.get(name, name.upper()))
    return words[:1].upper() + words[1:]


def with_operations(text: str) -> str:
    """`text` with the table as it is now. Raises ValueError when it has no markers for it."""
    return readme.between(text, BEGIN, END, table())


if __name__ == "__main__":
    readme.write(with_operations(readme.read()))
