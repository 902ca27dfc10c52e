"""Resolving a merge by hand: the text with a choice made for each conflict.

The parts come from the three texts (`text.parts`), or from a text that has the marks in it (`parts_of_marked`). Without
any choice the text of the parts is what `text.merge` makes: both sides of each undecided block between marks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from octavo.documents.conflicts import Markers, markers
from octavo.documents.merging.conflict import Conflict, Leaf, Part, Undecided
from octavo.documents.merging.lines import regions
from octavo.documents.merging.segments import is_blank, segments
from octavo.documents.merging.text import with_marks
from octavo.documents.merging.three_way import parts
from octavo.documents.sequences import stretches

Side: TypeAlias = Literal["main", "this", "both", "own"]


@dataclass(frozen=True)
class Choice:
    """What becomes of a conflict: one of its sides, both, or words of one's own, which `text` says."""

    side: Side
    text: str = ""


def parts_of_marked(text: str, known: Iterable[Part] = ()) -> tuple[Part, ...]:
    """The parts of a text with marks in it. What is in conflict between them, and what the base said of it, is learned
    from `known` parts of the same sides; otherwise it is all that the two do not share."""
    lines = text.split("\n")
    exact: dict[tuple[str, str], Undecided] = {}
    runs_on: set[tuple[str, str]] = set()
    before: Part = ""
    for part in known:
        if isinstance(part, Undecided):
            sides = _sides(part.side("main"), part.side("proposed"))
            exact[sides] = part
            if isinstance(before, str) and not is_blank(before.rpartition("\n")[0].rpartition("\n")[2]):
                runs_on.add(sides)  # the blank line before the marks came with them
        before = part
    found: list[Part] = []
    position = 0
    for each in markers(text):
        sides = _between(lines, each)
        end = each.first
        if sides in runs_on and end > position and not lines[end - 1].strip():
            end -= 1
        if end > position:
            found.append("\n".join(lines[position:end]) + "\n")
        position = each.last + 1
        blanks = position
        while blanks < len(lines) - 1 and not lines[blanks].strip():
            blanks += 1
        after = "\n" * max(1, blanks - position + 1)
        position = blanks
        found += [exact[sides]] if sides in exact else _narrowed(*sides, after)
    if position < len(lines):
        found.append("\n".join(lines[position:]))
    return tuple(part for part in found if part != "")


def _narrowed(main: str, proposed: str, after: str) -> list[Part]:
    """What two sides between marks do not share, as one block."""
    pieces: list[Leaf] = []
    for part in parts(None, main + after if main else "", proposed + after if proposed else ""):
        pieces += part.pieces if isinstance(part, Undecided) else [part]
    return [Undecided(tuple(pieces))] if pieces else []


def places(parts: Iterable[Part]) -> list[tuple[str, Conflict]]:
    """Every conflict in order, each with its name: what both sides moved is at two places under one."""
    seen: dict[str, int] = {}
    moved: dict[int, str] = {}
    found = []
    every = [each for part in parts if isinstance(part, Undecided) for each in part.conflicts]
    for conflict in every:
        name = moved.get(conflict.moved_to) if conflict.moved_to is not None else None
        if name is None:
            sides = [each for each in every if conflict.moved_to is not None and each.moved_to == conflict.moved_to]
            main = "".join(each.main for each in sides or [conflict])
            digest = _digest(main, "".join(each.proposed for each in sides or [conflict]))
            seen[digest] = seen.get(digest, 0) + 1
            name = f"{digest}-{seen[digest]}"
            if conflict.moved_to is not None:
                moved[conflict.moved_to] = name
        found.append((name, conflict))
    return found


def names(parts: Iterable[Part]) -> list[tuple[str, Conflict]]:
    """The conflicts in order, each with a name that stays the same while both its sides do. What both sides moved is one
    of them, with what both say."""
    found: dict[str, Conflict] = {}
    for name, conflict in places(parts):
        other = found.get(name)
        if other is None:
            found[name] = conflict
        else:
            found[name] = replace(other, main=other.main or conflict.main, proposed=other.proposed or conflict.proposed)
    return list(found.items())


def resolved(parts: Iterable[Part], choices: Mapping[str, Choice], name: str) -> str:
    """The text with the choices made, each under the name of its conflict. Blocks with others stay between marks, where
    `name` is that of the change request."""
    every = tuple(parts)
    keys = iter([key for key, _ in places(every)])
    found: list[Part] = []
    for part in every:
        if isinstance(part, str):
            found.append(part)
            continue
        pieces: list[Leaf] = []
        for piece in part.pieces:
            choice = choices.get(next(keys)) if isinstance(piece, Conflict) else None
            pieces.append(piece if choice is None or isinstance(piece, str) else chosen(piece, choice))
        if any(isinstance(piece, Conflict) for piece in pieces):
            found.append(Undecided(tuple(pieces)))
        else:
            found.append("".join(piece for piece in pieces if isinstance(piece, str)))
    text = with_marks(found, name)
    # What was last may be gone, and with it the reason for the blank lines before it.
    return text.rstrip("\n") + "\n" if every and found[-1] == "" and text.endswith("\n\n") else text


def chosen(conflict: Conflict, choice: Choice) -> str:
    """What a conflict becomes by a choice."""
    if conflict.moved_to is not None:
        return _moved(conflict, choice)
    match choice.side:
        case "main":
            return conflict.main
        case "this":
            return conflict.proposed
        case "both":
            return _both(conflict)
        case "own":
            return _ended(choice.text, conflict)


def _moved(conflict: Conflict, choice: Choice) -> str:
    """What both sides moved is where the primary content has it, unless the change request's place is chosen."""
    if choice.side == "this":
        return conflict.proposed if conflict.is_second else ""
    if conflict.is_second:
        return ""
    return _ended(choice.text, conflict) if choice.side == "own" else conflict.main


def _ended(text: str, conflict: Conflict) -> str:
    """Words of one's own, with the blank lines around them that the sides have."""
    bare = text.strip("\n")
    if not bare:
        return ""
    said = [each for each in (conflict.main, conflict.proposed) if each.strip("\n")]
    before = max((each[: len(each) - len(each.lstrip("\n"))] for each in said), key=len, default="")
    after = max((each[len(each.rstrip("\n")) :] for each in said), key=len, default="\n")
    return before + bare + after


def _both(conflict: Conflict) -> str:
    """All that both say: what they share once, and where they differ what the primary content says first."""
    main, proposed = conflict.main, conflict.proposed
    if not main.strip("\n") or not proposed.strip("\n"):
        return proposed if proposed.strip("\n") else main
    if conflict.kind == "paragraph" and conflict.base and (words := _words(conflict.base, main, proposed)):
        return words
    ours, theirs = (segments(text).children or () for text in (main, proposed))
    if conflict.kind in ("row", "line"):
        between = "" if conflict.kind == "row" and main.lstrip().startswith("<") else "\n"
        return main.rstrip("\n") + between + proposed
    found: list[str] = []
    for stretch in stretches([each.key for each in ours], [each.key for each in theirs]):
        found += [each.source for each in ours[stretch.i1 : stretch.i2]]
        if not stretch.equal:
            found += [each.source for each in theirs[stretch.j1 : stretch.j2]]
    is_list = all(each.kind == "item" for each in (*ours, *theirs))
    return _stacked(found, "\n" if is_list else "\n\n", proposed)


def _stacked(texts: Sequence[str], between: str, last: str) -> str:
    result = ""
    for text in texts:
        if result and not result.endswith(between):
            result = result.rstrip("\n") + between
        result += text
    return result.rstrip("\n") + last[len(last.rstrip("\n")) :]


def _words(base: str, main: str, proposed: str) -> str | None:
    """A paragraph with the words that both changed in it. None where they changed the same ones."""
    found = regions(
        *([each for word in text.split(" ") for each in (word, " ")][:-1] for text in (base, main, proposed))
    )
    settled = [each.settled for each in found]
    if None in settled:
        return None
    return "".join(word for words in settled for word in words or ())


def _digest(main: str, proposed: str) -> str:
    sides = "\0".join(text.strip("\n") for text in (main, proposed))
    return hashlib.sha256(sides.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _sides(main: str, proposed: str) -> tuple[str, str]:
    """What both sides say, but for blank lines around it: marks have some of their own."""
    return _bare(main), _bare(proposed)


def _between(lines: list[str], marks: Markers) -> tuple[str, str]:
    return _sides("\n".join(lines[marks.first + 1 : marks.middle]), "\n".join(lines[marks.middle + 1 : marks.last]))


def _bare(text: str) -> str:
    """The text without the blank lines around it."""
    lines = text.split("\n")
    start, end = 0, len(lines)
    while start < end and not lines[start].strip():
        start += 1
    while start < end and not lines[end - 1].strip():
        end -= 1
    return "\n".join(lines[start:end])
