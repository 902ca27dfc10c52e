"""Prepares and renders the merge conflicts of a page. A conflict shows its result, compared with main. Below are the
versions of main, of the change request, and of their common base."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from rich.style import Style

from octavo.api.safety import safe_text
from octavo.documents.blocks import Document, plain_text
from octavo.documents.diff_model import AddedBlock, ChangedBlock, MovedBlock
from octavo.documents.merging.merged_page import NEVER_BOTH, SIDES, ChoiceKind, Conflict, MergeChoice, MergedPage
from octavo.documents.source_reader import parse
from octavo.tui.render.comparison import PageComparison, compare, split_chunk
from octavo.tui.render.diff_chunks import ContextSize, DiffChunk
from octavo.tui.render.diff_lines import render_diff_chunk
from octavo.tui.render.diff_sequence import build_diff
from octavo.tui.render.diff_sides import SideWidths
from octavo.tui.render.layout_context import LayoutContext, non_breaking
from octavo.tui.render.styled_lines import (
    Line,
    StyledText,
    cells,
    crop,
    decoration,
    side_by_side,
    truncate,
    width_of,
    wrap,
    wrap_text,
)
from octavo.tui.render.styles import PLAIN, Styles

FIELDS_KIND = "fields"
"""Kind of a conflict about the title and the page options."""
_OFFERED_CHOICES: tuple[ChoiceKind, ...] = ("main", "request", "both")


@dataclass(frozen=True)
class ConflictView:
    """A merge conflict at one location of a page. A conflict about moved text is shown at several locations."""

    name: str
    """Name of the conflict, the same at all its locations."""
    key: str
    """Key of the conflict at this location. A conflict about moved text has several locations with different keys."""
    kind: str
    base: Document | None
    """Version of the text from which main and the change request were edited. None if it is unknown."""
    main: PageComparison
    request: PageComparison
    outcomes: Mapping[ChoiceKind, PageComparison]
    """For each choice of the user, the resulting text, compared with main."""
    heading: str = ""
    """Text of the heading above the conflict. Empty if there is none."""
    side_with_text_here: int | None = None
    """Version that has the moved text at this location: base (0), main (1) or change request (2). None if main and the
    change request both have text here, or if the conflict has only one location."""
    is_merged_by_default: bool = False
    """True if Octavo suggests a merge word by word, which is used unless the user chooses otherwise."""
    moved_to_title: str = ""
    """Title of the page to which main moved the text. Empty if main did not move it to another page."""
    location_count: int = 1
    """Number of locations on the page at which this conflict is shown. One choice resolves all."""
    is_limited_to_sides: bool = False
    """True if the user can only choose main or the change request, not both, and cannot edit the result."""


@dataclass(frozen=True)
class PageConflict:
    """A conflict about a whole page, such as a page that one side edited and the other deleted."""

    name: str
    title: str
    description: str
    """Sentences that say what each side changed."""
    effects: tuple[str, str] = ("", "")
    """Consequences of choosing main, and of choosing the change request. Both are empty if the user cannot choose."""
    is_merged_by_default = False
    kind = "page"

    @property
    def key(self) -> str:
        return self.name


@dataclass(frozen=True)
class UnconflictedText:
    """Text of a page outside its conflicts, as chunks of its diff against main."""

    chunks: tuple[DiffChunk, ...]
    label: str = ""
    """Title above the text. If empty, the text is collapsed until the user expands it."""


def prepare_conflicts(
    page: MergedPage,
    main: str | None = None,
    choices: Mapping[str, MergeChoice] | None = None,
    *,
    stored_name: Callable[[str], str] = str,
    titles: Mapping[str, str] = MappingProxyType({}),
) -> tuple[ConflictView | UnconflictedText, ...]:
    """Return the conflicts of a merged page and the text outside them, in the order of the page. Slow: call
    it in a thread. `main` is the text of the page on main, if known. `stored_name` returns the key in
    `choices` for the name of a conflict. `titles` has page titles by page ID."""
    text_with_main, lines = _text_with_main(page)
    comparison = compare(safe_text(text_with_main if main is None else main), safe_text(text_with_main))
    headings = [(block.lines[0], plain_text(block.runs)) for block in comparison.new.blocks if block.kind == "heading"]
    located_views: list[tuple[int, ConflictView]] = []
    counts = Counter[str]()
    for (name, conflict), line in zip(page.all_named_conflicts, lines, strict=True):
        counts[name] += 1
        same_named = [each for other_name, each in page.all_named_conflicts if other_name == name]
        has_both_texts = conflict.main is not None and conflict.request is not None
        sources = [conflict] if has_both_texts else same_named  # Each position of moved text has a conflict.
        base_text = next((_standalone_text(conflict, each.base) for each in sources if each.base is not None), None)
        main_text = next((_standalone_text(conflict, each.main) for each in sources if each.main is not None), "")
        request_text = next(
            (_standalone_text(conflict, each.request) for each in sources if each.request is not None), ""
        )
        main_text_here = _standalone_text(conflict, conflict.main)
        offered_choices = [
            *map(MergeChoice, _OFFERED_CHOICES),
            *([MergeChoice("words")] if conflict.merged_text is not None else []),
        ]
        own_choice = (choices or {}).get(stored_name(name))
        if own_choice is not None and own_choice.kind == "own":
            offered_choices.append(own_choice)
        kind = (conflict.deciding_conflict or conflict).kind
        # Keeping both texts at several locations could put a block on the page twice, and an edit would replace only one.
        is_limited = kind == FIELDS_KIND or sum(None not in (each.main, each.request) for each in same_named) > 1
        view = ConflictView(
            stored_name(name),
            f"{stored_name(name)} {counts[name]}",
            kind,
            parse_safely(base_text) if base_text is not None else None,
            compare(main_text if base_text is None else base_text, main_text),
            compare(request_text if base_text is None else base_text, request_text),
            {
                choice.kind: compare(main_text_here, _standalone_text(conflict, conflict.text(choice)))
                for choice in offered_choices
            },
            next((heading for heading_line, heading in reversed(headings) if heading_line <= line), ""),
            _side_with_text(conflict) if len(same_named) > 1 and not has_both_texts else None,
            conflict.is_merged_by_default,
            titles.get(conflict.base_text_page_id or "", ""),
            len(same_named),
            is_limited,
        )
        located_views.append((line, view))
    return tuple(_conflicts_and_text(comparison, located_views))


def prepare_page_conflict(conflict: PageConflict, text: str) -> tuple[PageConflict | UnconflictedText, ...]:
    """Return a conflict about a whole page, followed by the sanitized text of the page unless the text is empty."""
    chunks = tuple(block_chunks(parse_safely(text)))
    return (conflict, *([UnconflictedText(chunks, "Text of the page")] if chunks else []))


def parse_safely(text: str) -> Document:
    """Sanitize a text for display, and return it parsed."""
    return parse(safe_text(text))


def _text_with_main(page: MergedPage) -> tuple[str, list[int]]:
    """Return the page text with main chosen in all conflicts, and for each conflict the line (from 0) that shows it."""
    text, line = "", 0
    line_of: dict[Conflict, int] = {}
    for text_part, conflict in page.fragments_of_main():
        if conflict is not None and conflict.kind == FIELDS_KIND:
            text_part = ""  # The title and other fields are not part of the text.
        if conflict is not None:
            # Lines are counted from 0. Without text in main, the conflict is shown after the line above.
            line_of[conflict] = line if text_part else line - 1
        text += text_part
        line += text_part.count("\n")
    return text, [line_of[conflict] for _, conflict in page.all_named_conflicts]


def _side_with_text(conflict: Conflict) -> int:
    return 1 if conflict.main is not None else 2 if conflict.request is not None else 0


def _standalone_text(conflict: Conflict, text: str | None) -> str:
    """Return `text`, one side of a conflict, as sanitized text that can be parsed without the rest of the page. For
    example, a table row gets the header of its table. Empty if `text` is None or blank."""
    return safe_text(conflict.in_context(text)) if text and text.strip() else ""


def _conflicts_and_text(
    comparison: PageComparison, located_views: Sequence[tuple[int, ConflictView]]
) -> Iterator[ConflictView | UnconflictedText]:
    remaining_views = list(located_views)
    chunks_before: list[DiffChunk] = []
    for chunk in _all_chunks(comparison):
        first_line = _first_line(chunk)
        while remaining_views and first_line is not None and remaining_views[0][0] < first_line:
            yield from _unconflicted_text(chunks_before)
            yield remaining_views.pop(0)[1]
            chunks_before = []
        chunks_before.append(chunk)
    for _, view in remaining_views:
        yield from _unconflicted_text(chunks_before)
        yield view
        chunks_before = []
    yield from _unconflicted_text(chunks_before)


def _unconflicted_text(chunks: Sequence[DiffChunk]) -> Iterator[UnconflictedText]:
    if chunks:
        yield UnconflictedText(tuple(chunks))


def _first_line(chunk: DiffChunk) -> int | None:
    """Return the line of the new version at which a chunk begins. None for any slice of a block except the first, and
    for a chunk that is not in the new version."""
    if chunk.slice_number > 1:
        return None
    match chunk.entry:
        case AddedBlock(block=block):
            return block.lines[0]
        case ChangedBlock(new=block):
            return block.lines[0]
        case MovedBlock(new=block, is_arrival=True):
            return block.lines[0]
        case None if chunk.kind == "block" and chunk.block is not None:
            return chunk.block.lines[0]
    return None


def block_chunks(document: Document | None) -> Iterator[DiffChunk]:
    """Yield the top-level blocks of a document as unchanged chunks, and long blocks in slices."""
    for block in document.blocks if document is not None else ():
        yield from split_chunk(DiffChunk("block", block))


MIN_SIDE_BY_SIDE_WIDTH = 100
"""Minimum width in cells at which main, change request and base are shown side by side."""
_NUMBER_WIDTH = 5
"""Width in cells of the line numbers of a rendered diff, which are removed from conflicts."""


_MAX_SIDE_LINES = 160
"""Maximum number of lines that are shown of each side and of the result."""
_NAMES_OF_KINDS = {
    "row": "table row",
    "cell": "table cell",
    "item": "list item",
    "line": "line of code",
    "heading": "heading",
    "columns": "table columns",
    "field": "page option",
    "front": "page options",
    "moved": "moved text",
    FIELDS_KIND: "title and page options",
}
"""Display names of kinds of conflicts. Other kinds have none, because the user recognizes them from the text."""
_UNCHANGED_COUNT = re.compile(r"(\d+) unchanged (\w+)")


@dataclass(frozen=True)
class ConflictDecision:
    """Choice in a conflict (None if there is none yet), and the display names of main and of the change request."""

    choice: MergeChoice | None
    side_names: tuple[str, str]

    def side_name(self, number: int) -> str:
        """Return the display name of main (0) or of the change request (1), with a capital letter."""
        return self.side_names[number][:1].upper() + self.side_names[number][1:]

    def side_keys(self) -> list[tuple[str, str]]:
        """Return the key that chooses each side, with the name of the side, such as `("m", "main")`."""
        return [("m", self.side_names[0]), ("t", self.side_names[1])]


def render_unconflicted(context: LayoutContext, chunk: DiffChunk, width: int) -> list[Line]:
    """Render a chunk outside the conflicts, without line numbers."""
    return _without_numbers(render_diff_chunk(context, chunk, SideWidths.for_width(width + _NUMBER_WIDTH, split=False)))


def labeled_rule(
    styles: Styles, left: list[StyledText], right: list[StyledText], width: int, style: Style | None = None
) -> Line:
    """Return a horizontal line that contains the text `left` near its left end, and `right` near its right end."""
    glyphs, line_style = styles.glyphs, styles.line if style is None else style
    right_width = width_of(right) + 4 if right else 0
    left_text = truncate(left, max(8, width - right_width - 5), glyphs.ellipsis)
    pieces = [decoration(glyphs.horizontal * 2 + " ", line_style), *left_text, decoration(" ", line_style)]
    pieces.append(decoration(glyphs.horizontal * max(1, width - width_of(pieces) - right_width), line_style))
    if right:
        pieces += [StyledText(" ", line_style), *right, decoration(" " + glyphs.horizontal * 2, line_style)]
    return Line(pieces)


def render_conflict(
    context: LayoutContext, conflict: ConflictView, decision: ConflictDecision, numbering: tuple[int, int], width: int
) -> list[Line]:
    """Render a conflict: the result of the choice, then the text of each side. `numbering` is the number of
    this conflict and the number of all conflicts, such as `(2, 5)`."""
    subject = [_NAMES_OF_KINDS[conflict.kind]] if conflict.kind in _NAMES_OF_KINDS else []
    if conflict.side_with_text_here is not None:
        subject.append(f"position in {('base', *decision.side_names)[conflict.side_with_text_here]}")
    elif conflict.location_count > 1:
        subject.append(f"one choice for {conflict.location_count} places")
    title = f" {context.styles.glyphs.separator} ".join([_conflict_number(numbering), *subject])
    has_result = decision.choice is not None or conflict.is_merged_by_default
    label = _label_line(context.styles, "Result", f"compared with {decision.side_names[0]}" if has_result else "")
    result = [label, *_result_lines(context, conflict, decision, width), Line([])]
    lines = [*result, *_render_sides(context, conflict, decision, width)]
    return _framed_lines(context.styles, conflict, decision, title, conflict.heading, lines, width)


def render_page_conflict(
    context: LayoutContext, conflict: PageConflict, decision: ConflictDecision, numbering: tuple[int, int], width: int
) -> list[Line]:
    """Render a conflict about a whole page, and what each choice does. `numbering` is (number, number of conflicts)."""
    styles, choice = context.styles, decision.choice
    lines = [*wrap_text(conflict.description, styles.text, width), Line([])]
    if all(conflict.effects):
        result = _not_resolved(styles, decision, [], width)
        if choice is not None:
            result = wrap_text(conflict.effects[choice.kind == "request"], styles.text, width)
        lines += [_label_line(styles, "Result"), *result]
        for number, effect in enumerate(conflict.effects):
            is_taken = choice is not None and choice.kind == SIDES[number]
            lines += [
                Line([]),
                _side_label_line(styles, decision.side_name(number), "mt"[number], is_taken),
                *wrap_text(effect, styles.text, width),
            ]
    return _framed_lines(styles, conflict, decision, _conflict_number(numbering), conflict.title, lines, width)


def _conflict_number(numbering: tuple[int, int]) -> str:
    return f"Conflict {numbering[0]} of {numbering[1]}"


def _framed_lines(
    styles: Styles,
    conflict: ConflictView | PageConflict,
    decision: ConflictDecision,
    title: str,
    heading: str,
    lines: list[Line],
    width: int,
) -> list[Line]:
    title_pieces = [StyledText(title, styles.strong)]
    if heading:
        title_pieces.append(StyledText(f"  {heading}", styles.muted))
    if decision.choice is not None:
        status_by_choice = {
            "main": f"{decision.side_name(0)} chosen",
            "request": f"{decision.side_name(1)} chosen",
            "both": "Both chosen",
            "words": "Suggestion accepted",
            "own": "Edited",
        }
        status, style, line_style = (
            f"{styles.glyphs.yes} {status_by_choice[decision.choice.kind]}",
            styles.success,
            styles.success,
        )
    elif conflict.is_merged_by_default:
        status, style, line_style = "Suggested", styles.accent, styles.line
    elif isinstance(conflict, PageConflict) and not all(conflict.effects):
        status, style, line_style = "", styles.muted, styles.line
    else:
        status, style, line_style = "Not resolved", styles.warning, styles.warning
    right = [StyledText(status, style + Style(bold=True))] if status else []
    end_style = styles.warning if status == "Not resolved" else styles.line
    return [
        labeled_rule(styles, title_pieces, right, width, line_style),
        *lines,
        Line([decoration(styles.glyphs.horizontal * width, end_style)]),
    ]


def _label_line(styles: Styles, name: str, subject: str = "") -> Line:
    return Line([StyledText(name, styles.strong), *([StyledText(f"  {subject}", styles.muted)] if subject else [])])


def _not_resolved(
    styles: Styles, decision: ConflictDecision, more: Sequence[tuple[str, str]], width: int
) -> list[Line]:
    return _with_keys(styles, "Not resolved yet.", styles.warning, [*decision.side_keys(), *more], width)


def _with_keys(styles: Styles, text: str, style: Style, keys: Iterable[tuple[str, str]], width: int) -> list[Line]:
    pieces = [StyledText(f"{text} ", style)]
    for key, action in keys:
        label = non_breaking(f" {action}", styles)
        pieces += [StyledText(key, styles.accent + Style(bold=True)), StyledText(f"{label}  ", styles.muted)]
    return [Line(part) for part in wrap(pieces, width)]


def _render_sides(context: LayoutContext, conflict: ConflictView, decision: ConflictDecision, width: int) -> list[Line]:
    styles, chosen_kind = context.styles, decision.choice.kind if decision.choice is not None else ""
    missing_note = "Empty." if conflict.base is None or not conflict.base.source.strip() else "Deleted."
    moved_note = (
        f"Moved to \u201c{conflict.moved_to_title}\u201d. Press f to open that page." if conflict.moved_to_title else ""
    )
    base, unknown_note = conflict.base, "Unknown." if conflict.base is None else "Empty."
    sides = [
        (decision.side_name(0), "m", _new_side(conflict.main), conflict.main.new.source, moved_note or missing_note),
        (decision.side_name(1), "t", _new_side(conflict.request), conflict.request.new.source, missing_note),
        ("Base", "", block_chunks(base), base.source if base is not None else "", unknown_note),
    ]
    is_wide = width >= MIN_SIDE_BY_SIDE_WIDTH
    column_width = (width - 6) // 3 if is_wide else width
    columns = []
    for (name, key, chunks, source, empty_note), side in zip(sides, (*SIDES, "base"), strict=True):
        is_taken = side == chosen_kind or (chosen_kind == "both" and side != "base")
        text = _render_side(context, chunks, column_width, source) or wrap_text(
            empty_note, styles.muted + Style(italic=True), column_width
        )
        label = _side_label_line(styles, name, key, is_taken)
        columns.append([label, *(_mute(line, styles) if chosen_kind and not is_taken else line for line in text)])
    if not is_wide:
        return [line for column in columns for line in ([Line([])] if column is not columns[0] else []) + column]
    return [
        *side_by_side(columns, [column_width] * len(columns), decoration(f" {styles.glyphs.vertical} ", styles.line))
    ]


def _side_label_line(styles: Styles, name: str, key: str, is_taken: bool) -> Line:
    pieces = [
        StyledText(f"{styles.glyphs.yes} {name}", styles.success + Style(bold=True))
        if is_taken
        else StyledText(name, styles.strong)
    ]
    return Line(
        [*pieces, *([StyledText("  ", PLAIN), StyledText(key, styles.accent + Style(bold=True))] if key else [])]
    )


def _render_side(context: LayoutContext, chunks: Iterable[DiffChunk], width: int, source: str) -> list[Line]:
    side_widths = SideWidths(width + _NUMBER_WIDTH, width + _NUMBER_WIDTH, only_new=True)
    all_lines: list[Line] = []
    for chunk in chunks:
        lines = [
            Line([_against_base(each) for each in line.pieces])
            for line in _without_numbers(render_diff_chunk(context, chunk, side_widths))
            if line.text.strip()
        ]
        needs_blank_line = bool(all_lines and lines) and chunk.slice_number < 2
        all_lines += [*([Line([])] if needs_blank_line else []), *lines]
        if len(all_lines) > _MAX_SIDE_LINES:
            return _shorten(all_lines, source, context.styles, width)
    return all_lines


def _shorten(lines: list[Line], source: str, styles: Styles, width: int) -> list[Line]:
    shown_letters = sum(len(line.text.strip()) for line in lines[:_MAX_SIDE_LINES])
    hidden_lines = round((len(source) - shown_letters) / max(1, shown_letters) * _MAX_SIDE_LINES)
    if hidden_lines <= 0:
        return lines
    text = f"{styles.glyphs.ellipsis} About {hidden_lines} more lines are not shown. Press e to see all lines in your editor."
    return [*lines[:_MAX_SIDE_LINES], *wrap_text(text, styles.muted, width)]


def _against_base(piece: StyledText) -> StyledText:
    """Return `3 lines unchanged from the base` for the decoration `3 unchanged lines`. Return other text unchanged."""
    return (
        piece._replace(text=_UNCHANGED_COUNT.sub(r"\1 \2 unchanged from the base", piece.text))
        if piece.is_decoration
        else piece
    )


def _result_lines(context: LayoutContext, conflict: ConflictView, decision: ConflictDecision, width: int) -> list[Line]:
    """Return the chosen or suggested text, compared with main. If there is neither, return the keys to choose with."""
    styles, choice = context.styles, decision.choice
    lines: list[Line] = []
    edit_key = [("e", "edit")] if not conflict.is_limited_to_sides else []
    if choice is None and conflict.is_merged_by_default:
        keys = [*decision.side_keys(), *edit_key, ("w", "accept")]
        lines, choice = (
            _with_keys(styles, "Suggested: merged word by word. Check the result.", styles.accent, keys, width),
            MergeChoice("words"),
        )
    if choice is None:
        both_key = [("b", "both")] if edit_key and conflict.kind not in NEVER_BOTH else []
        words_key = [("w", "merged word by word")] if "words" in conflict.outcomes else []
        return _not_resolved(styles, decision, [*both_key, *words_key, *edit_key], width)
    comparison = conflict.outcomes.get(choice.kind)
    if comparison is None:  # The text that the user edited is still being compared.
        return [Line([StyledText(styles.glyphs.ellipsis, styles.muted)])]
    text: list[Line] = []
    for chunk in (each for each in _all_chunks(comparison) if each.kind not in ("title", "label")):
        text += render_unconflicted(context, chunk, width)
        if len(text) > _MAX_SIDE_LINES:
            text = _shorten(text, comparison.new.source, styles, width)
            break
    while text and not text[0].text.strip():
        del text[0]
    note = (
        ""
        if comparison.new.blocks
        else "Empty: the text is deleted."
        if conflict.side_with_text_here is None
        else "Empty: the text was moved to another place."
    )
    if not note and choice.kind != "main" and comparison.has_same_texts(conflict.outcomes["main"]):
        note = f"Same as {decision.side_names[0]}."
    return [*lines, *text, *(wrap_text(note, styles.muted + Style(italic=True), width) if note else [])]


def _all_chunks(comparison: PageComparison) -> Iterable[DiffChunk]:
    if comparison.diff.is_empty:
        return block_chunks(comparison.new)
    return build_diff(comparison.diff, ContextSize(ContextSize.STEPS[-1]), {}).complete().chunks


def _new_side(comparison: PageComparison) -> Iterator[DiffChunk]:
    return (chunk for chunk in _all_chunks(comparison) if chunk.kind in ("block", "change"))


def _without_numbers(lines: Iterable[Line]) -> list[Line]:
    return [Line(_without_number(line.pieces)) for line in lines]


def _without_number(pieces: list[StyledText]) -> list[StyledText]:
    # A line begins with its line number, unless its block could not be rendered.
    if not pieces or cells(pieces[0].text) == _NUMBER_WIDTH:
        return pieces[1:]
    return crop(pieces, _NUMBER_WIDTH, width_of(pieces))


def _mute(line: Line, styles: Styles) -> Line:
    return Line(
        [
            piece._replace(style=styles.muted + Style(underline=piece.style.underline, strike=piece.style.strike))
            for piece in line.pieces
        ]
    )
