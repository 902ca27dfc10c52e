"""Reads an OpenAPI specification.

Input: JSON or YAML. Output: a line of JSON for each value: its path, which is a list of names, and the value. If the
specification cannot be read, there is one line, with the reason as a sentence.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

from octavo.documents.openapi import SpecificationError, read_value

MAX_DEPTH = 3
"""Maximum number of names in a path, such as `paths`, `/pets` and `get`."""


def main() -> None:
    try:
        value = read_value(sys.stdin.buffer.read().decode("utf-8-sig", "replace"))
    except SpecificationError as failure:
        print(json.dumps(str(failure)))  # noqa: T201  # The output of this program.
        return
    for path, part in paths_and_values(value):
        sys.stdout.write(json.dumps([path, part]) + "\n")


def paths_and_values(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield (path, value) for each value in nested dicts. A dict that is empty or at `MAX_DEPTH` counts as a value."""
    if not isinstance(value, dict) or not value or len(path) == MAX_DEPTH:
        yield path, value
        return
    for name, each in value.items():
        yield from paths_and_values(each, (*path, name))


if __name__ == "__main__":
    main()
