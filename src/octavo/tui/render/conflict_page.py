"""A page with conflicts, made ready to be shown: each conflict with what becomes of it by every choice, and the text between
them against main."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from octavo.api.safety import text as safe_text
from octavo.documents.blocks import Document, words
from octavo.documents.changes import Added, Changed, Moved
from octavo.documents.merging.conflict import Conflict, Part
from octavo.documents.merging.resolution import Choice, Side, chosen, names, places
from octavo.tui.render.comparison import Compared, compare
from octavo.tui.render.diff_sequence import changes
from octavo.tui.render.diff_units import DiffUnit, Unfolding, cut

FIELDS = "fields"
"""The kind of a conflict about what a page is called and the like."""
_SIDES: tuple[Side, ...] = ("main", "this", "both")


@dataclass(frozen=True)
class Shown:
    """A conflict at one of its places, as it is shown. Making one takes long enough to be done off the event loop."""

    name: str
    key: str
    """What this place of it is called: what both sides moved has two, which are decided as one."""
    kind: str
    base: Document | None
    """What both come from. None where that is not known."""
    main: Compared
    mine: Compared
    outcomes: Mapping[Side, Compared]
    """What becomes of it by a choice, against what main says here."""
    heading: str = ""
    """Which section it is in."""
    is_second: bool = False
    """Whether it is where the change request has what both sides moved."""


@dataclass(frozen=True)
class Passage:
    """What is between two conflicts: blocks of the page, as units of its diff against main."""

    units: tuple[DiffUnit, ...]


def prepare(
    parts: Iterable[Part],
    main: str | None = None,
    choices: Mapping[str, Choice] | None = None,
    *,
    named: Callable[[str], str] = str,
) -> tuple[Shown | Passage, ...]:
    """The parts of a page as they are shown. The texts are made safe here.

    `main` is what the page says in main, where that is known; `named` says what a choice for a conflict is kept as. The
    page around the conflicts is read as a whole: what a part of a table or of code is nobody could tell.
    """
    every = tuple(parts)
    around, lines = _around(every)
    compared = compare(safe_text(around if main is None else main), safe_text(around))
    headings = [(block.lines[0], words(block.runs)) for block in compared.new.blocks if block.kind == "heading"]
    merged, seen = dict(names(every)), Counter[str]()
    found: list[tuple[int, Shown]] = []
    for (name, conflict), line in zip(places(every), lines, strict=True):
        seen[name] += 1
        key = named(name)
        own = (choices or {}).get(key)
        heading = next((said for at, said in reversed(headings) if at <= line), "")
        both = merged[name]
        before = _alone(conflict, both.base) if both.base is not None else None
        ours, theirs = _alone(conflict, both.main), _alone(conflict, both.proposed)
        found.append(
            (
                line,
                Shown(
                    key,
                    f"{key} {seen[name]}",
                    conflict.kind,
                    document_of(before) if before is not None else None,
                    compare(ours if before is None else before, ours),
                    compare(theirs if before is None else before, theirs),
                    {
                        choice.side: _outcome(conflict, choice)
                        for choice in (*map(Choice, _SIDES), *([own] if own is not None and own.side == "own" else ()))
                    },
                    heading,
                    seen[name] > 1,
                ),
            )
        )
    return tuple(_in_order(compared, found))


def document_of(text: str) -> Document:
    """The blocks of a text as it was written, made safe to be shown."""
    from octavo.documents.parse import parse  # the parser takes 30 ms to load, and no frame needs it

    return parse(safe_text(text))


def _leaves(parts: Iterable[Part]) -> Iterator[str | Conflict]:
    """What is decided and what is not, in order."""
    for part in parts:
        if isinstance(part, str):
            yield part
        else:
            yield from part.pieces


def _around(parts: Iterable[Part]) -> tuple[str, list[int]]:
    """The page where all conflicts are as in main, and the line each of them begins at."""
    said: list[str] = []
    at: list[int] = []
    line = 0
    for piece in _leaves(parts):
        text = _in_main(piece) if isinstance(piece, Conflict) else piece
        if isinstance(piece, Conflict):
            at.append(line if text else line - 1)  # where main has nothing, it stands before what follows
        said.append(text)
        line += text.count("\n")
    return "".join(said), at


def _in_main(conflict: Conflict) -> str:
    """What main says in a conflict's place: what the page is called stands there while it is undecided, and in no text."""
    return "" if conflict.kind == FIELDS else chosen(conflict, Choice("main"))


def _outcome(conflict: Conflict, choice: Choice) -> Compared:
    return compare(
        _alone(conflict, chosen(conflict, Choice("main"))),
        _alone(conflict, chosen(conflict, choice)),
    )


def _alone(conflict: Conflict, text: str) -> str:
    """A text of a conflict, made safe, as it can be read by itself."""
    return safe_text(conflict.framed(text)) if text.strip() else ""


def _in_order(compared: Compared, found: Sequence[tuple[int, Shown]]) -> Iterator[Shown | Passage]:
    """The conflicts with what is between them: each stands behind the block it lies in."""
    every = Unfolding()
    every.step = len(Unfolding.STEPS) - 1
    same = (piece for unit in whole(compared.new) for piece in cut(unit))
    units = same if compared.diff.is_empty else changes(compared.diff, every, {}).whole().units
    waiting = list(found)
    here: list[DiffUnit] = []
    for unit in units:
        at = _place(unit)
        while waiting and at is not None and waiting[0][0] < at:
            yield from _passage(here)
            yield waiting.pop(0)[1]
            here = []
        here.append(unit)
    for _, shown in waiting:
        yield from _passage(here)
        yield shown
        here = []
    yield from _passage(here)


def _passage(units: Sequence[DiffUnit]) -> Iterator[Passage]:
    if units:
        yield Passage(tuple(units))


def _place(unit: DiffUnit) -> int | None:
    """The line of the new text a unit begins at. None of what is only in the old one, or goes on with a long block."""
    if unit.part > 1:
        return None
    match unit.entry:
        case Added(block=block):
            return block.lines[0]
        case Changed(new=block):
            return block.lines[0]
        case Moved(new=block, arrives=True):
            return block.lines[0]
        case None if unit.kind == "block" and unit.block is not None:
            return unit.block.lines[0]
    return None


def whole(document: Document | None) -> list[DiffUnit]:
    """A text as it is."""
    return [DiffUnit("block", block) for block in document.blocks] if document is not None else []
