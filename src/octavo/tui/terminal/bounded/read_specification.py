"""Reads a specification, JSON or YAML, from its input and makes lines of JSON: each a place, as the names that lead to it,
and what stands there. When it cannot be read, one line: a sentence that says why."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

from octavo.documents.openapi import SpecificationError, read_value

DEEPEST = 3
"""How long places are: `paths`, a path and a method name an operation. Whoever reads the lines rests between them."""


def main() -> None:
    try:
        value = read_value(sys.stdin.buffer.read().decode("utf-8-sig", "replace"))
    except SpecificationError as failure:
        print(json.dumps(str(failure)))  # noqa: T201  # it is what this program says
        return
    for place, part in parts(value):
        sys.stdout.write(json.dumps([place, part]) + "\n")


def parts(value: Any, place: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The parts of a value, with their places."""
    if not isinstance(value, dict) or not value or len(place) == DEEPEST:
        yield place, value
        return
    for name, each in value.items():
        yield from parts(each, (*place, name))


if __name__ == "__main__":
    main()
