"""Three-way merge of the text of a page.

What is decided about is the smallest part that conflicts (see `segments`): a row, an item, a line of code, a
paragraph, never the table, list or block around it. What only one side changed is taken from that side, where the other
side has it now: what one moved and the other edited is the edited text in its new place. What is left is a `Conflict`:

* both changed a part, each in its way, or put something at the same place,
* one side edited what the other deleted,
* both moved it, to different places.

A text that still has conflicts in it is written with marks around the whole block of each:

    <<<<<<< main

    what the primary content says

    =======

    what the change request says

    >>>>>>> #42

The three marker lines stand alone between blank lines, the primary content always first, whichever way is merged.
A side that deleted the block has nothing between its markers. What is not in conflict is the same on both sides.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from octavo.documents.merging.conflict import Conflict, Part, Undecided
from octavo.documents.merging.segments import is_blank
from octavo.documents.merging.three_way import parts

MAIN, DIVIDER = "<<<<<<< main", "======="


def proposal_marker(name: str) -> str:
    """The line that ends a conflict with the change request called `name`, such as `#42`."""
    return f">>>>>>> {name}"


@dataclass(frozen=True)
class Merged:
    """The merged text, and what could not be decided in it."""

    text: str
    conflicts: tuple[Conflict, ...] = ()


def merge(base: str, main: str, proposed: str, name: str) -> Merged:
    """`main` with what `proposed` changed since `base`. `name` is that of the change request in the markers."""
    found = parts(base, main, proposed)
    return Merged(with_marks(found, name), tuple(conflicts_in(found)))


def conflicts(base: str, main: str, proposed: str) -> list[Conflict]:
    """What a merge of these could not decide. Empty when it would be clean."""
    return conflicts_in(parts(base, main, proposed))


def conflicts_in(parts: Iterable[Part]) -> list[Conflict]:
    """What is not decided in these parts: what both sides moved is there once."""
    found = [each for part in parts if isinstance(part, Undecided) for each in part.conflicts]
    return [each for each in found if not each.is_second]


def with_marks(parts: Iterable[Part], name: str, *, main: str = MAIN) -> str:
    """The text with what is undecided between marks, each marker between blank lines."""
    result = ""
    was_marked = False
    for part in parts:
        more = part if isinstance(part, str) else marked(part.side("main"), part.side("proposed"), name, first=main)
        if not more:
            continue
        is_marked = isinstance(part, Undecided)
        if result and (is_marked or was_marked):
            result = _apart(result, more)
        result += more
        was_marked = is_marked
    return result


def marked(main: str, proposed: str, name: str, *, first: str = MAIN) -> str:
    """Both sides between markers, each marker between blank lines."""
    result = ""
    for part in (first, main.strip("\n"), DIVIDER, proposed.strip("\n"), proposal_marker(name)):
        if part:
            result += ("\n" if result else "") + part + "\n"
    return result


def _apart(text: str, more: str) -> str:
    """`text` so that a blank line is between it and `more`."""
    if not text.endswith("\n"):
        text += "\n"
    first, last = more.partition("\n")[0], text.rpartition("\n")[0].rpartition("\n")[2]
    return text if is_blank(first) or is_blank(last) else text + "\n"
