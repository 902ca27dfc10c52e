"""A page with conflicts, made ready to be shown: each conflict with its result by every choice, and the text between the
conflicts compared with main."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from octavo.api.safety import text as safe_text
from octavo.documents.blocks import Document, plain_text
from octavo.documents.diff_model import Added, Changed, Moved
from octavo.documents.merging.merged_page import Choice, ChoiceKind, Conflict, MergedPage
from octavo.tui.render.comparison import Compared, compare
from octavo.tui.render.diff_sequence import changes
from octavo.tui.render.diff_units import DiffUnit, Unfolding, cut

FIELDS = "fields"
"""The kind of a conflict about what a page is called and the like."""
_OFFERED: tuple[ChoiceKind, ...] = ("main", "request", "both")


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
    outcomes: Mapping[ChoiceKind, Compared]
    """What becomes of it by a choice, against what main says here."""
    heading: str = ""
    """Which section it is in."""
    place: int | None = None
    """Whose place of the text it is, of one that was moved: that in the base (0), in main (1) or in the change request (2)."""
    is_suggested: bool = False
    """Whether the merge by words is the result as long as nothing else is chosen."""
    moved_to_title: str = ""
    """The title of the page that main moved the text to. Empty if main did not move the text to another page."""


@dataclass(frozen=True)
class Question:
    """A conflict about a page itself, such as whether the page is deleted, as it is shown."""

    name: str
    title: str
    said: str
    """What both sides did."""
    answers: tuple[str, str] = ("", "")
    """What taking main means, and what taking this change request means. Empty if there is nothing to choose."""
    is_suggested = False
    kind = "page"

    @property
    def key(self) -> str:
        return self.name


@dataclass(frozen=True)
class Passage:
    """Blocks of a page between two conflicts, as units of the diff against main."""

    units: tuple[DiffUnit, ...]
    label: str = ""
    """What the blocks are. A passage with a label is always shown."""


def prepare(
    page: MergedPage,
    main: str | None = None,
    choices: Mapping[str, Choice] | None = None,
    *,
    named: Callable[[str], str] = str,
    titles: Mapping[str, str] = MappingProxyType({}),
) -> tuple[Shown | Passage, ...]:
    """Return the conflicts of a page with the text between them, made safe to be shown.

    `main` is the text of the page in main, if it is known; `named` returns the name that a choice for a conflict is kept under.
    `titles` are the titles of the pages that main moved text to, by id. The text around the conflicts is read as a whole: a part
    of a table or of code cannot be read alone.
    """
    around, lines = _around(page)
    compared = compare(safe_text(around if main is None else main), safe_text(around))
    headings = [(block.lines[0], plain_text(block.runs)) for block in compared.new.blocks if block.kind == "heading"]
    found: list[tuple[int, Shown]] = []
    seen = Counter[str]()
    for (name, conflict), line in zip(page.places, lines, strict=True):
        seen[name] += 1
        together = [each for other, each in page.places if other == name]
        before = next((_alone(conflict, each.base) for each in together if each.base is not None), None)
        ours = next((_alone(conflict, each.main) for each in together if each.main is not None), "")
        theirs = next((_alone(conflict, each.request) for each in together if each.request is not None), "")
        offered = [*map(Choice, _OFFERED), *([Choice("words")] if conflict.merged_text is not None else [])]
        own = (choices or {}).get(named(name))
        if own is not None and own.kind == "own":
            offered.append(own)
        shown = Shown(
            named(name),
            f"{named(name)} {seen[name]}",
            (conflict.decided_with or conflict).kind,
            document_of(before) if before is not None else None,
            compare(ours if before is None else before, ours),
            compare(theirs if before is None else before, theirs),
            {choice.kind: _outcome(conflict, choice) for choice in offered},
            next((heading for at, heading in reversed(headings) if at <= line), ""),
            _place_of(conflict) if len(together) > 1 else None,
            conflict.is_suggested,
            titles.get(conflict.page_of_base_text or "", ""),
        )
        found.append((line, shown))
    return tuple(_in_order(compared, found))


def prepare_question(question: Question, text: str) -> tuple[Question | Passage, ...]:
    """Return a conflict about a page itself with the text of that page, made safe to be shown."""
    units = tuple(piece for unit in whole(document_of(text)) for piece in cut(unit))
    return (question, *([Passage(units, "Text of the page")] if units else []))


def document_of(text: str) -> Document:
    """The blocks of a text as it was written, made safe to be shown."""
    from octavo.documents.parse import parse  # the parser takes 30 ms to load, and no frame needs it

    return parse(safe_text(text))


def _around(page: MergedPage) -> tuple[str, list[int]]:
    """Return the page with main's side of all conflicts, and the line that each of them begins at."""
    text, line = "", 0
    at: dict[Conflict, int] = {}
    for said, conflict in page.fragments_of_main():
        if conflict is not None and conflict.kind == FIELDS:
            said = ""  # the title and the like are no part of the text
        if conflict is not None:
            at[conflict] = line if said else line - 1  # without a text it is before what follows
        text += said
        line += said.count("\n")
    return text, [at[conflict] for _, conflict in page.places]


def _outcome(conflict: Conflict, choice: Choice) -> Compared:
    return compare(_alone(conflict, conflict.main), _alone(conflict, conflict.text(choice)))


def _place_of(conflict: Conflict) -> int:
    return 1 if conflict.main is not None else 2 if conflict.request is not None else 0


def _alone(conflict: Conflict, text: str | None) -> str:
    """Return a text of a conflict as it is read alone, made safe to be shown."""
    return safe_text(conflict.in_context(text)) if text and text.strip() else ""


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
