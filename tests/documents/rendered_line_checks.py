"""Checks of a rendered page at any width: lines fit, no text is cut, and no raw markup, icon name or emoji name remains.

Boxes have labels, and all text is shown.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from octavo.documents.blocks import Block, Document
from octavo.tui.render.block_slices import is_diagram
from octavo.tui.render.deferred import DiagramQuery
from octavo.tui.render.diagrams import draw_diagram, drawing_problem
from octavo.tui.render.diagrams import normalize_diagram as read_diagram
from octavo.tui.render.formulas import format_inline
from octavo.tui.render.layout import lay_out
from octavo.tui.render.layout_context import ViewState, path_to_block, render_runs
from octavo.tui.render.styled_lines import Line, SplitLine, StyledText, cells, flatten_emoji
from octavo.tui.render.styles import Styles
from octavo.tui.render.tables import COLUMN_GAP, visible_columns
from octavo.tui.render.tables import grid_by_width as read_table
from octavo.tui.widgets.themes import themes
from tests.documents.independent_reader import components, missing_words, read

WIDEST, NARROW = 2000, 40
"""Widths at which all text is searched: a width without broken words, and a width without columns."""

_ELEMENTS = (
    "a|abbr|b|blockquote|br|code|dd|del|details|div|dl|dt|em|figcaption|figure|font|h[1-6]|hr|i|iframe|img|ins|kbd|li|"
    "mark|ol|p|picture|pre|s|small|source|span|strike|strong|sub|summary|sup|table|tbody|td|th|thead|tr|u|ul|video"
)
_RAW = re.compile(
    r"\{%|%\}"
    rf"|</?(?:{_ELEMENTS})(?:\s[^<>]*)?/?>|<!--"
    r"|&(?:[a-z]{2,8}|#x?[0-9a-f]{1,6});"
    r"|\]\([^\s)]|\*\*|~~(?=\w)|```"
    r"|(?:^|\s)\\(?=\s|$)|\\[a-zA-Z]{2,}|[\^_]\{\w"
    r"|\{#[\w-]+\}",
    re.IGNORECASE,
)
PLATFORM_TAGS = frozenset(
    {
        "hint",
        "tabs",
        "tab",
        "stepper",
        "step",
        "columns",
        "column",
        "updates",
        "update",
        "prompt",
        "code",
        "content-ref",
    }
    | {"page-ref", "embed", "file", "include", "if", "openapi", "openapi-operation", "openapi-schemas"}
    | {"openapi-webhook", "swagger", "swagger-description", "swagger-parameter", "swagger-response", "api-method"}
)
"""Tags of the platform. Other tags are shown in a box with their name."""
_BOLD = re.compile(r"(?<!\*)\*\*(?=[^\s*])([^*\n]*?(?<=[^\s*]))\*\*(?!\*)")
_SHORT_NAME = re.compile(r"(?<![\w:/\[]):[a-z][a-z0-9_+-]*[a-z0-9]:(?![\w:/])")
_NOTE = re.compile(r"[⁰¹²³⁴-⁹]+|\[[^\]]*\]")
_INK = re.compile(r"[^\s─│╭╮╰╯]")


_OPEN_AT_THEIR_RIGHT = frozenset(
    {"list", "item", "task", "quote", "tabs", "tab", "stepper", "step", "expandable", "if"}
)
_LABEL, _FEW_CELLS, _SOME_CELLS = 32, 16, 24
"""Words of at most this width stay whole beside prose of at most that width."""
_WITHOUT_WIDE = re.compile(r"[^\s\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60]+")
"""A word; between letters of two cells lines end anywhere."""
_LONGEST_PART, _SHORT_WORD = 16, 12
"""Widths in cells. Longer parts of words may be broken. Words up to the second width have no parts."""
_PLACES_IN_WORDS = re.compile(r"(?<=[/\\_.?&=,:;#-])|(?<=[a-z0-9])(?=[A-Z(])")
_SYLLABLES = re.compile("[\u0e01-\u17dd]")
_BARE = re.compile(r"<(iframe|source|t(?:able|body|d|h|head|r)|video)>", re.IGNORECASE)
"""The name of an element in angle brackets. Where nothing closes the element, the name is a word."""
_MOST_ROWS = 200


class Fault(NamedTuple):
    """A fault of a page. `line` is the line of the source, counted from 1."""

    line: int
    what: str


def default_styles() -> Styles:
    """Return the styles of the first theme."""
    theme = themes()[0]
    named = {"accent": theme.accent, "foreground": theme.foreground, "surface": theme.surface, "panel": theme.panel}
    return Styles.from_theme({**theme.variables, **{name: value or "" for name, value in named.items()}})


def open_view_state(document: Document, tab: Block | None = None) -> ViewState:
    """Return a state in which all blocks are expanded and `tab` is selected."""
    view_state = ViewState()
    for block in document.walk():
        if block.kind in ("expandable", "code", "prompt", "openapi"):
            view_state.expanded[block.key] = True
    if tab is not None:
        view_state.expand_path(next(path for block in document.blocks if (path := path_to_block(block, tab.key))))
    return view_state


def lay_out_all(
    document: Document, width: int, look: Styles, *, room: int = 0, view_state: ViewState | None = None
) -> list[Line]:
    """Return all lines of an expanded page, followed by the lines of the tabs that are not shown."""
    view_state = view_state or open_view_state(document)
    lines = lay_out(document.blocks, width, look, view_state, available_width=room)
    for block in document.walk():
        if block.kind == "tabs":
            chosen = view_state.selected_tab_index(block)
            for at, tab in enumerate(block.children):
                lines += lay_out(tab.children, width, look, view_state, available_width=room) if at != chosen else []
    return lines


def text_of(lines: Iterable[Line]) -> str:
    """Return the text of lines without borders."""
    return "\n".join("".join(map(_text_of_piece, line.pieces)) for line in lines)


def _text_of_piece(piece: StyledText) -> str:
    is_mark = piece.clickable is not None and piece.clickable.kind == "note" and _NOTE.fullmatch(piece.text)
    return " " if piece.is_decoration or is_mark else piece.text


def faults(document: Document, widths: Sequence[int], source: str = "") -> Iterator[Fault]:
    """Yield the faults of a page at these widths. `source` includes the invisible characters that the parser removes."""
    source = source or document.source
    looks = (default_styles(), Styles.plain(ascii=True))
    for width in widths:
        for look in looks:
            for room in (width, width + 24):
                view_state = open_view_state(document)
                lines = lay_out_all(document, width, look, room=room, view_state=view_state)
                yield from _too_wide(lines, room)
                if not look.ascii:
                    movable = [block for block in document.walk() if view_state.overflow.get(block.key)]
                    yield from _cut(lines, look, movable, f"at {width}")
                    yield from _unlabelled(lines, look)
                    yield from _unused_width_of_code(document, lines, look, room, width + (room - width) // 2)
        yield from _broken_words(document, width)
    wide = max(WIDEST, max(map(len, document.source.split("\n"))) + 100)
    widest, narrow = (lay_out_all(document, width, Styles.plain()) for width in (wide, NARROW))
    for said in missing_words(source, text_of(widest), text_of(narrow)):
        yield Fault(said.line, f"not shown: {said.text}")
    formulas = [format_inline(run.text) for block in document.walk() for run in block.runs if run.kind == "math"]
    yield from _raw(widest, source, formulas)
    yield from _unknown_blocks(widest)
    yield from _ambiguous_width(narrow)
    yield from _unknown_icons(document)
    yield from _marks_left(document)
    yield from _diagrams_not_drawn(document)


def _line_number(line: Line) -> int:
    return line.block.lines[0] + 1 if line.block is not None else 0


def _too_wide(lines: Iterable[Line], room: int) -> Iterator[Fault]:
    for line in lines:
        if line.width > room:
            yield Fault(_line_number(line), f"{line.width} cells where {room} have room: {line.text.strip()}")


def _ambiguous_width(lines: Iterable[Line]) -> Iterator[Fault]:
    """Yield text that takes a different number of cells in some terminals."""
    for line in lines:
        if flatten_emoji(line.text) != line.text:
            yield Fault(_line_number(line), f"width depends on the terminal: {line.text.strip()}")


def _unknown_blocks(lines: Iterable[Line]) -> Iterator[Fault]:
    """Yield boxes of unknown blocks without a name, or with a name that the platform knows."""
    for line in lines:
        if any(piece.is_decoration and piece.text == "unknown block" for piece in line.pieces):
            name = line.text.partition("unknown block")[0].strip(" ╭╮─")
            if not name or name in PLATFORM_TAGS:
                yield Fault(_line_number(line), f"unknown block: {name or 'without a name'}")


def _cut(lines: Iterable[Line], look: Styles, movable: Iterable[Block], when: str) -> Iterator[Fault]:
    """Yield lines that are cut off, unless their block can be scrolled sideways, or is an image with a long file name."""
    moves = {id(within) for block in movable for within in block.walk()}
    for line in lines:
        if any(block.kind in ("image", "figure") for block in _blocks_of(line)):
            continue
        is_cut = any(piece.is_decoration and piece.text == look.glyphs.ellipsis for piece in line.pieces)
        if is_cut and not any(id(within) in moves for block in _blocks_of(line) for within in block.walk()):
            yield Fault(_line_number(line), f"cut {when}: {line.text.strip()}")


def _blocks_of(line: Line) -> list[Block]:
    parts = line.block_cells if isinstance(line, SplitLine) else ()
    return [block for block in (line.block, *(part.block for part in parts)) if block is not None]


def _raw(lines: Iterable[Line], source: str, formulas: Iterable[str]) -> Iterator[Fault]:
    """Yield lines with markup that is not part of the text of the page, nor of its `formulas`."""
    bare = (each[0] for each in _BARE.finditer(source) if f"</{each[1]}".lower() not in source.lower())
    said = [*(each.text for each in read(source)), *components(source), *bare, *formulas]
    # The independent reader writes angle brackets around the addresses of images, in code too.
    whole = re.sub(r"\s", "", "".join(said)).replace("](<", "](")
    for line in lines:
        if line.block is not None and line.block.kind == "math":
            continue
        text = "".join(piece.text for piece in line.pieces)
        for match in _RAW.finditer(text):
            if re.sub(r"\s", "", text[match.start() : match.end() + 8]) not in whole and match[0].strip() not in whole:
                yield Fault(_line_number(line), f"raw {match[0].strip()}: {text.strip()}")


def _unlabelled(lines: Sequence[Line], look: Styles) -> Iterator[Fault]:
    """Yield boxes without any text in them or in their borders."""
    glyphs = look.glyphs
    open_boxes: dict[int, tuple[Line, int, bool]] = {}
    for line in lines:
        text = line.text
        starts = [cells(text[:at]) for at, sign in enumerate(text) if sign == glyphs.top_left]
        ends = [cells(text[: at + 1]) for at, sign in enumerate(text) if sign == glyphs.top_right]
        for start in starts:
            end = next((end for end in ends if end > start), 0)
            open_boxes[start] = (line, end, False)
        for start, (first, end, has_ink) in list(open_boxes.items()):
            if not has_ink and _INK.search(_between(text, start, end)):
                open_boxes[start] = (first, end, True)
        for at, sign in enumerate(text):
            if sign == glyphs.bottom_left and (box := open_boxes.pop(cells(text[:at]), None)) and not box[2]:
                yield Fault(_line_number(box[0]), "a box without text")


def _between(text: str, start: int, end: int) -> str:
    at, out = 0, ""
    for sign in text:
        if start <= at < end:
            out += sign
        at += cells(sign)
    return out


def _unused_width_of_code(
    document: Document, lines: Iterable[Line], look: Styles, room: int, room_within: int
) -> Iterator[Fault]:
    """Yield code that must be scrolled although its box or the page has free width.

    `room_within` is the width for code inside another block, whose left edge stays in its place.
    """
    glyphs = look.glyphs
    gap = re.compile(rf"{re.escape(glyphs.ellipsis)} {{2,}}{re.escape(glyphs.vertical)}")
    free = dict.fromkeys(_blocks_at_right_edge(document.blocks), room_within) | {
        id(each): room for each in document.blocks
    }
    for line in lines:
        if line.block is None or line.block.kind != "code" or glyphs.ellipsis not in line.text:
            continue
        if not any(piece.is_decoration and piece.text.strip() == glyphs.ellipsis for piece in line.pieces):
            continue
        if gap.search(line.text) or line.width < free.get(id(line.block), 0) - 1:
            yield Fault(_line_number(line), f"room left in code: {line.text.strip()}")


def _blocks_at_right_edge(blocks: Iterable[Block]) -> Iterator[int]:
    """Yield the ids of blocks with nothing to the right of them."""
    for block in blocks:
        yield id(block)
        if block.kind in _OPEN_AT_THEIR_RIGHT:
            yield from _blocks_at_right_edge(block.children)


def _broken_words(document: Document, width: int) -> Iterator[Fault]:
    """Yield words that are broken in a column of a table although the other columns have unused width.

    A column needs the width of its longest word, and some width for its text.
    """
    look = Styles.plain()
    for block in document.walk():
        columns = visible_columns(block) if block.kind == "table" and len(block.children) <= _MOST_ROWS else []
        grid = read_table(block, columns, look)(width) if columns else None
        if grid is None or grid.width > width:
            continue
        texts = [
            ["".join(piece.text for piece in row[at]) for row in grid.head + grid.body] for at in range(len(columns))
        ]
        # Only ASCII words count: text in languages without spaces may be broken anywhere.
        words = [
            max((len(word) for text in column for word in _WITHOUT_WIDE.findall(text) if word.isascii()), default=0)
            for column in texts
        ]
        yield from _broken_parts(block, texts, words, grid.widths, width)
        few = _FEW_CELLS if max(words) <= _LABEL else _SOME_CELLS
        needed = [
            max(word, min(few, max((cells(part) for text in column for part in text.split("\n")), default=1)))
            for word, column in zip(words, texts, strict=True)
        ]
        if sum(needed) + COLUMN_GAP * (len(needed) - 1) > width:
            continue
        for at, (word, own) in enumerate(zip(words, grid.widths, strict=True)):
            if word > own:
                yield Fault(block.lines[0] + 1, f"a word of {word} cells broken in column {at + 1} of {own} at {width}")


def _broken_parts(
    block: Block, texts: Sequence[Sequence[str]], words: Sequence[int], widths: Sequence[int], width: int
) -> Iterator[Fault]:
    """Yield parts of words that are broken in a column of a table although all parts of all columns have room. Short
    words have no parts."""
    longest = [
        max(
            (
                cells(part)
                for text in column
                for word in _WITHOUT_WIDE.findall(text)
                for part in _PLACES_IN_WORDS.split(word)
                if cells(part) <= _LONGEST_PART and not _SYLLABLES.search(part)
            ),
            default=0,
        )
        for column in texts
    ]
    needed = [
        word if part < word <= _SHORT_WORD else max(_SHORT_WORD, part)
        for word, part in zip(words, longest, strict=True)
    ]
    if sum(needed) + COLUMN_GAP * (len(needed) - 1) > width:
        return
    for at, (part, own) in enumerate(zip(longest, widths, strict=True)):
        if part > own:
            yield Fault(
                block.lines[0] + 1, f"a part of a word of {part} cells broken in column {at + 1} of {own} at {width}"
            )


def _marks_left(document: Document) -> Iterator[Fault]:
    """Yield bold marks that are shown as text. CommonMark reads them as text next to punctuation, the platform does not."""
    lines = document.source.split("\n")
    for block in document.walk():
        text = "".join(run.text if run.kind == "text" and "code" not in run.marks else "\ufffc" for run in block.runs)
        is_escaped = "\\*" in "\n".join(lines[slice(*block.lines)])
        for match in () if is_escaped else _BOLD.finditer(text):
            sides = (
                text[match.start() - 1 : match.start()] + match[1][0],
                text[match.end() : match.end() + 1] + match[1][-1],
            )
            if any(side[:1].isalnum() and not side[-1].isalnum() for side in sides):
                yield Fault(block.lines[0] + 1, f"bold at a sign: {match[0]}")


def _diagrams_not_drawn(document: Document) -> Iterator[Fault]:
    """Yield diagrams that are shown as source, unless drawing took too long, which the page reports."""
    for block in document.walk():
        if is_diagram(block):
            text = block.text or str(dict(block.attrs.get("arguments") or {}).get("content") or "")
            _, source = read_diagram(text)
            problem = drawing_problem(source) or asyncio.run(draw_diagram(DiagramQuery(source, False))).problem
            if problem and "took longer" not in problem:
                yield Fault(block.lines[0] + 1, f"a diagram not drawn: {problem}")


def _unknown_icons(document: Document) -> Iterator[Fault]:
    look = Styles.plain()
    for block in document.walk():
        for run in block.runs:
            shown = (
                "".join(piece.text for piece in render_runs((run,), look)).strip() if run.kind == "icon" else "words"
            )
            if shown in ("", look.glyphs.diamond):
                yield Fault(block.lines[0] + 1, f"unknown icon {run.attrs.get('name')}")
            if run.kind == "text" and "code" not in run.marks:
                for match in _SHORT_NAME.finditer(run.text):
                    yield Fault(block.lines[0] + 1, f"unknown emoji {match[0]}")
