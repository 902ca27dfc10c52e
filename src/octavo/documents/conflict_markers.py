"""Finds the conflict markers that the platform writes around the two sides of a conflict:

<<<<<<< main
text on main
=======
text in the change request
>>>>>>> #12"""

from __future__ import annotations

import re
from typing import NamedTuple

_FIRST = re.compile(r"<<<<<<< (.{1,200}?)[ \t]*$")
_MIDDLE = re.compile(r"=======[ \t]*$")
_LAST = re.compile(r">>>>>>> (.{1,200}?)[ \t]*$")


class ConflictMarkers(NamedTuple):
    """A conflict in a text: the line numbers of its three markers, counted from 0, and the names of both sides."""

    first: int
    middle: int
    last: int
    ours: str
    theirs: str


def find_markers(text: str) -> list[ConflictMarkers]:
    """Return the conflicts in a text, in order. Incomplete sets of markers are ignored."""
    if "<<<<<<< " not in text:
        return []
    found: list[ConflictMarkers] = []
    start: tuple[int, str] | None = None
    middle: int | None = None
    for number, line in enumerate(text.split("\n")):
        if first := _FIRST.match(line):
            start, middle = (number, first[1]), None
        elif start and middle is None and _MIDDLE.match(line):
            middle = number
        elif start and middle is not None and (last := _LAST.match(line)):
            found.append(ConflictMarkers(start[0], middle, number, start[1], last[1]))
            start = middle = None
    return found
