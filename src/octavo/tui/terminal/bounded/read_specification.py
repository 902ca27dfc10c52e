"""Reads an OpenAPI specification.

Input: JSON or YAML. Output: lines of JSON, each with the path of a value as a list of names, and the value. If the
specification cannot be read, one line with the reason as a sentence.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

from octavo.documents.openapi import SpecificationError, read_value

DEEPEST = 3
"""Maximum number of names in the path of a value. Three names identify an operation: `paths`, a URL and a method. Each
operation is a line of its own, which Octavo parses quickly."""


def main() -> None:
    try:
        value = read_value(sys.stdin.buffer.read().decode("utf-8-sig", "replace"))
    except SpecificationError as failure:
        print(json.dumps(str(failure)))  # noqa: T201  # The output of this program.
        return
    for place, part in parts(value):
        sys.stdout.write(json.dumps([place, part]) + "\n")


def parts(value: Any, place: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the values inside a value, with their paths."""
    if not isinstance(value, dict) or not value or len(place) == DEEPEST:
        yield place, value
        return
    for name, each in value.items():
        yield from parts(each, (*place, name))


if __name__ == "__main__":
    main()
