"""A page with conflicts, prepared for display: each conflict with its result for every choice, and the text between the
conflicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from octavo.api.safety import safe_text
from octavo.documents.blocks import Document, plain_text
from octavo.documents.diff_model import AddedBlock, ChangedBlock, MovedBlock
from octavo.documents.merging.merged_page import ChoiceKind, Conflict, MergeChoice, MergedPage
from octavo.documents.source_reader import parse
from octavo.tui.render.comparison import PageComparison, compare, split_unit
from octavo.tui.render.diff_sequence import build_diff
from octavo.tui.render.diff_units import ContextSize, DiffUnit

FIELDS = "fields"
"""Kind of a conflict about the title and other fields of a page."""
_OFFERED: tuple[ChoiceKind, ...] = ("main", "request", "both")


@dataclass(frozen=True)
class ConflictView:
    """A conflict at one of the places where the page shows it. Preparing it is slow: do it in a thread."""

    name: str
    key: str
    """Key of the conflict at this place. A conflict over moved text has two places, but one choice."""
    kind: str
    base: Document | None
    """Common base of both sides. None if it is unknown."""
    main: PageComparison
    request: PageComparison
    outcomes: Mapping[ChoiceKind, PageComparison]
    """Result of each choice, compared with the text of main."""
    heading: str = ""
    """Title of the section that the conflict is in."""
    moved_place: int | None = None
    """For moved text, the side that has the text in this place: base (0), main (1) or change request (2). None
    otherwise."""
    is_suggested: bool = False
    """True if the merge by words is used until the user chooses a side."""
    moved_to_title: str = ""
    """Title of the page that main moved the text to. Empty if main did not move the text to another page."""


@dataclass(frozen=True)
class PageConflict:
    """A conflict about a whole page, such as whether the page is deleted, ready to render."""

    name: str
    title: str
    description: str
    """Sentences that say what each side changed."""
    effects: tuple[str, str] = ("", "")
    """Effects of choosing main and of choosing this change request. Empty texts if there is nothing to choose."""
    is_suggested = False
    kind = "page"

    @property
    def key(self) -> str:
        return self.name


@dataclass(frozen=True)
class UnconflictedText:
    """Blocks between two conflicts, as units of the diff against main."""

    units: tuple[DiffUnit, ...]
    label: str = ""
    """Name of the blocks. Text with a label is always visible."""


def prepare_conflicts(
    page: MergedPage,
    main: str | None = None,
    choices: Mapping[str, MergeChoice] | None = None,
    *,
    named: Callable[[str], str] = str,
    titles: Mapping[str, str] = MappingProxyType({}),
) -> tuple[ConflictView | UnconflictedText, ...]:
    """Return the conflicts of a page and the text between them, sanitized for display.

    `main` is the text of the page in main, if it is known. `named` returns the name under which the choice for a
    conflict is stored. `titles` has the titles of the pages that main moved text to, by id. The text around the
    conflicts is parsed as a whole, because a part of a table or of code cannot be parsed alone.
    """
    around, lines = _main_text(page)
    compared = compare(safe_text(around if main is None else main), safe_text(around))
    headings = [(block.lines[0], plain_text(block.runs)) for block in compared.new.blocks if block.kind == "heading"]
    found: list[tuple[int, ConflictView]] = []
    seen = Counter[str]()
    for (name, conflict), line in zip(page.conflict_places, lines, strict=True):
        seen[name] += 1
        parts = [each for other, each in page.conflict_places if other == name]
        base_text = next((_text_alone(conflict, each.base) for each in parts if each.base is not None), None)
        main_text = next((_text_alone(conflict, each.main) for each in parts if each.main is not None), "")
        request_text = next((_text_alone(conflict, each.request) for each in parts if each.request is not None), "")
        offered = [*map(MergeChoice, _OFFERED), *([MergeChoice("words")] if conflict.merged_text is not None else [])]
        own_choice = (choices or {}).get(named(name))
        if own_choice is not None and own_choice.kind == "own":
            offered.append(own_choice)
        shown = ConflictView(
            named(name),
            f"{named(name)} {seen[name]}",
            (conflict.deciding_conflict or conflict).kind,
            parse_safely(base_text) if base_text is not None else None,
            compare(main_text if base_text is None else base_text, main_text),
            compare(request_text if base_text is None else base_text, request_text),
            {choice.kind: _compare_result(conflict, choice) for choice in offered},
            next((heading for line_of, heading in reversed(headings) if line_of <= line), ""),
            _moved_place(conflict) if len(parts) > 1 else None,
            conflict.is_suggested,
            titles.get(conflict.base_text_page or "", ""),
        )
        found.append((line, shown))
    return tuple(_in_order(compared, found))


def prepare_page_conflict(question: PageConflict, text: str) -> tuple[PageConflict | UnconflictedText, ...]:
    """Return a conflict about a whole page and the text of that page, sanitized for display."""
    units = tuple(piece for unit in block_units(parse_safely(text)) for piece in split_unit(unit))
    return (question, *([UnconflictedText(units, "Text of the page")] if units else []))


def parse_safely(text: str) -> Document:
    """Parse a text, sanitized for display."""
    return parse(safe_text(text))


def _main_text(page: MergedPage) -> tuple[str, list[int]]:
    """Return the page with the text of main in all conflicts, and the line at which each conflict begins."""
    text, line = "", 0
    line_of: dict[Conflict, int] = {}
    for said, conflict in page.fragments_of_main():
        if conflict is not None and conflict.kind == FIELDS:
            said = ""  # The title and other fields are not part of the text.
        if conflict is not None:
            line_of[conflict] = line if said else line - 1  # A conflict without text precedes the next line.
        text += said
        line += said.count("\n")
    return text, [line_of[conflict] for _, conflict in page.conflict_places]


def _compare_result(conflict: Conflict, choice: MergeChoice) -> PageComparison:
    return compare(_text_alone(conflict, conflict.main), _text_alone(conflict, conflict.text(choice)))


def _moved_place(conflict: Conflict) -> int:
    return 1 if conflict.main is not None else 2 if conflict.request is not None else 0


def _text_alone(conflict: Conflict, text: str | None) -> str:
    """Return the text of a conflict, sanitized for display and completed so that it can be parsed alone."""
    return safe_text(conflict.in_context(text)) if text and text.strip() else ""


def _in_order(
    compared: PageComparison, found: Sequence[tuple[int, ConflictView]]
) -> Iterator[ConflictView | UnconflictedText]:
    """Yield the conflicts and the text between them. Each conflict follows the block that it is in."""
    every = ContextSize()
    every.step = len(ContextSize.STEPS) - 1
    same = (piece for unit in block_units(compared.new) for piece in split_unit(unit))
    units = same if compared.diff.is_empty else build_diff(compared.diff, every, {}).complete().units
    waiting = list(found)
    here: list[DiffUnit] = []
    for unit in units:
        line_of = _first_line(unit)
        while waiting and line_of is not None and waiting[0][0] < line_of:
            yield from _unconflicted_text(here)
            yield waiting.pop(0)[1]
            here = []
        here.append(unit)
    for _, shown in waiting:
        yield from _unconflicted_text(here)
        yield shown
        here = []
    yield from _unconflicted_text(here)


def _unconflicted_text(units: Sequence[DiffUnit]) -> Iterator[UnconflictedText]:
    if units:
        yield UnconflictedText(tuple(units))


def _first_line(unit: DiffUnit) -> int | None:
    """Return the line of the new text at which a unit begins. None for removed text and for the continuation of a long
    block."""
    if unit.slice_number > 1:
        return None
    match unit.entry:
        case AddedBlock(block=block):
            return block.lines[0]
        case ChangedBlock(new=block):
            return block.lines[0]
        case MovedBlock(new=block, is_arrival=True):
            return block.lines[0]
        case None if unit.kind == "block" and unit.block is not None:
            return unit.block.lines[0]
    return None


def block_units(document: Document | None) -> list[DiffUnit]:
    """Return the top-level blocks of a document as unchanged units."""
    return [DiffUnit("block", block) for block in document.blocks] if document is not None else []
