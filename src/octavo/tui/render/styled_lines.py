"""Lines of styled text, and functions that cut, pad, indent, frame and wrap them before painting.

Lines break at spaces, between CJK characters, between the syllables of scripts without spaces, and after hyphens in
compound words, but never before closing or after opening marks. Other words break only if they are longer than a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import accumulate, zip_longest
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size, split_graphemes
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from octavo.documents.blocks import Block
from octavo.tui.render.styles import PLAIN, Glyphs, Styles
from octavo.tui.terminal.display import FLAG_LETTERS
from octavo.tui.widgets.short_texts import plural

_EMOJI_MODIFIERS = re.compile("[\ufe0e\ufe0f\u20e3\u200d\U0001f3fb-\U0001f3ff]")
_JOINER, _LAST_LETTER = "\u200d", "\u218f"


def flatten_emoji(text: str) -> str:
    """Return a text in which each emoji has a known width: joined emoji become separate, modifiers are removed, and
    flags become letters."""
    return text if text.isascii() else _EMOJI_MODIFIERS.sub(_replace_modifier, text).translate(FLAG_LETTERS)


def _replace_modifier(regex_match: re.Match[str]) -> str:
    """Return "" for an emoji modifier. Keep a joiner that is not between emoji, because many scripts need joiners."""
    text, index = regex_match.string, regex_match.start()
    joins_emoji = text[index - 1 : index] > _LAST_LETTER and text[index + 1 : index + 2] > _LAST_LETTER
    return regex_match[0] if regex_match[0] == _JOINER and not joins_emoji else ""


@dataclass(frozen=True, slots=True, eq=False)
class Clickable:
    """Target of a click on a text. All texts of the same link share this object, even on several lines."""

    kind: str
    """Kind of the clicked text: `link`, `image`, `file`, `fold` (collapsible block), `tab`, `note` (footnote), or for
    a button `ask`, `search` or `select`."""
    target: str
    """URL of a link, key of a block, label of a footnote, or query of a button. `page KEY` is a page in a diff."""
    index: int = 0
    """Index of a tab. For a prompt block, 1 if its whole text is visible, else 0. Always 0 for other kinds."""


class StyledText(NamedTuple):
    """A piece of text in one style. A line consists of several such pieces."""

    text: str
    style: Style = PLAIN
    clickable: Clickable | None = None
    is_decoration: bool = False
    """True for text that is not in the page, such as borders and bullets. Such text is not searched or copied."""
    hidden: HiddenText | None = None
    """Text that is scrolled out of view at this sign, which is at the edge of a wide line. None for other pieces."""


def decoration(text: str, style: Style = PLAIN, clickable: Clickable | None = None) -> StyledText:
    """Return text that is not in the page, such as a border or a bullet. Such text is not searched or copied."""
    return StyledText(text, style, clickable, True)


class HiddenText(NamedTuple):
    """The part of a wide line that is scrolled out of view to the left or to the right."""

    pieces: Sequence[StyledText]
    start: int
    """Cells from the edge of the visible part to the start of `pieces`. 0 if hidden at the right, else negative."""


_MAX_CACHED_LENGTH = 60
"""Maximum number of letters of texts whose width is cached."""


@dataclass(slots=True)
class Line:
    """A line of styled text. A click on the line selects `block`."""

    pieces: list[StyledText]
    block: Block | None = None
    strip: Strip | None = None
    """The Textual strip from the last painting. None if the line was not painted yet."""

    @property
    def text(self) -> str:
        return "".join([piece.text for piece in self.pieces])

    @property
    def width(self) -> int:
        return width_of(self.pieces)

    def with_pieces(self, pieces: list[StyledText], offset: int = 0) -> Line:
        """Return a copy with other `pieces`. `offset` is the number of cells by which the old text moves to the right.
        Only a `SplitLine` needs it."""
        return Line(pieces, self.block)

    def prepend(self, prefix: list[StyledText]) -> Line:
        return self.with_pieces(prefix + self.pieces, width_of(prefix))


class ClickableSpan(NamedTuple):
    """Cells of a line that can be clicked, from `start` to before `end`."""

    line: int
    start: int
    end: int
    kind: str
    target: str
    clickable: Clickable


def cells(text: str) -> int:
    """Return the width of a text in terminal cells."""
    return len(text) if text.isascii() else cell_len(text) if len(text) > _MAX_CACHED_LENGTH else _cached_cells(text)


_cached_cells = lru_cache(4096)(cell_len)
"""Width of a short text in cells. Cached, because the same borders and signs are measured often."""


def width_of(pieces: Iterable[StyledText]) -> int:
    """Return the width of styled text in cells."""
    return sum([len(text) if (text := piece[0]).isascii() else cells(text) for piece in pieces])


def crop(pieces: Iterable[StyledText], start: int, end: int) -> list[StyledText]:
    """Return styled text from the cell `start` to before `end`. Half of a wide character becomes a space."""
    line_pieces: list[StyledText] = []
    column = 0
    for piece in pieces:
        if column >= end:
            break
        text = piece.text
        width = cells(text)
        if column + width > start and width:
            low, high = max(0, start - column), min(width, end - column)
            if text.isascii():
                text = text[low:high]
            elif (low, high) != (0, width):
                text = set_cell_size(text, high)
                if low:
                    head = set_cell_size(text, low)
                    is_head_whole = text.startswith(head)
                    text = text[len(head) :] if is_head_whole else " " + text[len(head) :]
            line_pieces.append(piece._replace(text=text))
        column += width
    return line_pieces


def truncate(pieces: Sequence[StyledText], width: int, more: str = "…") -> list[StyledText]:
    """Return styled text, cut to at most `width` cells. Text that was cut ends with `more`, which has one cell."""
    if width_of(pieces) <= width:
        return list(pieces)
    if width < 1:
        return []
    line_pieces = crop(pieces, 0, width - 1)
    last = line_pieces[-1] if line_pieces else StyledText("")
    return [*line_pieces, decoration(more, last.style, last.clickable)]


def pan_pieces(
    pieces: Sequence[StyledText], start: int, width: int, more: str, *, at_words: bool = False
) -> list[StyledText]:
    """Return the `width` visible cells of a line that is scrolled `start` cells to the right. `more` marks each edge
    where text is hidden. `at_words` avoids cutting words."""
    end, total_width = start + width, width_of(pieces)
    has_left, has_right = (_has_text(crop(pieces, *edge)) for edge in ((0, start), (end, total_width)))
    low = _uncut_column(pieces, start + cells(more), 1) if has_left else start
    high = _uncut_column(pieces, end - cells(more), -1) if has_right else end
    middle = crop(pieces, low, high)
    if at_words:
        text = "".join([piece.text for piece in middle])
        first, last = 0, len(text)
        if has_left and _has_text(crop(pieces, low - 1, low)) and 0 <= text.find(" ") < len(text) // 2:
            first = text.find(" ")
        if has_right:
            if _has_text(crop(pieces, high, high + 1)) and text.rfind(" ") > len(text) // 2:
                last = text.rfind(" ")
            last = len(text[:last].rstrip())
        low, high = low + cells(text[:first]), low + cells(text[:last])
        middle = crop(pieces, low, high)
    left = [_hidden_text_sign(more.ljust(low - start), crop(pieces, 0, low), -low)] if has_left else []
    # Put spaces before `more`, so that `more` is always at the right edge.
    blank = " " * (width - width_of([*left, *middle]) - cells(more))
    right = [_hidden_text_sign(blank + more, crop(pieces, high, total_width), 0)] if has_right else []
    return [*left, *middle, *right]


def _hidden_text_sign(text: str, hidden: Sequence[StyledText], start: int) -> StyledText:
    return StyledText(text, PLAIN, None, True, HiddenText(hidden, start))


def _uncut_column(pieces: Iterable[StyledText], column: int, step: int) -> int:
    text = "".join([piece.text for piece in pieces])
    is_cut = column < cells(text) and not text.startswith(set_cell_size(text, column))
    return column + step if is_cut else column


def _has_text(pieces: Iterable[StyledText]) -> bool:
    return any(piece.text.strip() for piece in pieces)


def pad(pieces: list[StyledText], width: int, style: Style = PLAIN, align: str | None = None) -> list[StyledText]:
    """Return styled text, padded with spaces to `width` cells. `align` is `left` (or None), `center` or `right`."""
    missing_width = width - width_of(pieces)
    if missing_width <= 0:
        return pieces
    left_width = missing_width if align == "right" else missing_width // 2 if align == "center" else 0
    left_padding = [decoration(" " * left_width, style)] if left_width else []
    right_padding = [decoration(" " * (missing_width - left_width), style)] if missing_width > left_width else []
    return left_padding + pieces + right_padding


def searched_texts(line: Line) -> Iterator[tuple[int, str, int | None]]:
    """Yield (first cell, text, distance) for each text that a search can find in a line. The distance is None for
    visible text. For hidden text, it is counted from the visible part, as in `HiddenText.start`."""
    cell = 0
    for piece in line.pieces:
        if piece.hidden is not None:
            distance = piece.hidden.start
            for each in piece.hidden.pieces:
                if not each.is_decoration:
                    yield cell, each.text, distance
                distance += cells(each.text)
        elif not piece.is_decoration:
            yield cell, piece.text, None
        cell += cells(piece.text)


def with_background(background: Style, pieces: Iterable[StyledText]) -> list[StyledText]:
    """Return styled text with a background. Text that has its own background keeps it."""
    return [
        StyledText(text, background + style, clickable, is_decoration, hidden)
        for text, style, clickable, is_decoration, hidden in pieces
    ]


def indent(lines: Iterable[Line], first: list[StyledText], rest: list[StyledText]) -> list[Line]:
    """Return `lines` with `first` before the first line, and `rest` before the other lines."""
    all_lines = []
    prefix = first
    for line in lines:
        all_lines.append(line.prepend(prefix))
        prefix = rest
    return all_lines


def wrap_text(text: str, style: Style, width: int) -> list[Line]:
    """Return a text in one style, wrapped into lines of at most `width` cells."""
    return [Line(part) for part in wrap([StyledText(text, style)], width)]


def squeeze(line: Line, width: int) -> Line:
    """Return a line, cut to at most `width` cells: first spaces and borders at the ends, then text at the right."""
    overflow = width_of(line.pieces) - width
    if overflow <= 0:
        return line
    pieces, cut_left = list(line.pieces), 0
    for end in (0, -1):
        while overflow > 0 and pieces and pieces[end].is_decoration:
            piece_width = cells(pieces[end].text)
            kept_pieces = (
                crop([pieces[end]], min(overflow, piece_width), piece_width)
                if end == 0
                else crop([pieces[end]], 0, max(0, piece_width - overflow))
            )
            cut_left += min(overflow, piece_width) if end == 0 else 0
            overflow -= min(overflow, piece_width)
            pieces[end : end + 1 or None] = kept_pieces
    return line.with_pieces(pieces if overflow <= 0 else truncate(pieces, width), -cut_left)


def box(
    lines: Iterable[Line],
    width: int,
    styles: Styles,
    *,
    title: Sequence[StyledText] = (),
    right: Sequence[StyledText] = (),
    foot: Sequence[StyledText] = (),
    background: Style = PLAIN,
    edges: tuple[bool, bool] = (True, True),
) -> list[Line]:
    """Return lines inside a rounded box of `width` cells. The lines must not be wider than `width` - 4. `title` and
    `right` are in the upper border, `foot` is in the lower one. `edges` says which of these two borders the box has."""
    glyphs = styles.glyphs
    edge_style = background + styles.line
    inner_width = width - 4

    def border_line(left: str, right_end: str, text: Sequence[StyledText], at_right: Sequence[StyledText]) -> Line:
        available_width = width - 4
        visible_text = truncate(with_background(background, text), available_width - 2, glyphs.ellipsis) if text else []
        used_width = width_of(visible_text) + 2 if visible_text else 0
        right_text = (
            with_background(background, at_right)
            if at_right and width_of(at_right) + 3 <= available_width - used_width
            else []
        )
        pieces = [decoration(left + glyphs.horizontal, edge_style)]
        if visible_text:
            pieces += [decoration(" ", edge_style), *visible_text, decoration(" ", edge_style)]
        fill = width - 3 - used_width - (width_of(right_text) + 3 if right_text else 0)
        pieces.append(decoration(glyphs.horizontal * max(0, fill), edge_style))
        if right_text:
            pieces += [decoration(" ", edge_style), *right_text, decoration(" " + glyphs.horizontal, edge_style)]
        pieces.append(decoration(right_end, edge_style))
        return Line(pieces)

    side = decoration(glyphs.vertical, edge_style)
    gap = decoration(" ", background)
    result = [border_line(glyphs.top_left, glyphs.top_right, title, right)] if edges[0] else []
    for line in lines:
        body = pad(with_background(background, line.pieces) if background else line.pieces, inner_width, background)
        result.append(line.with_pieces([side, gap, *body, gap, side], 2))
    return [*result, border_line(glyphs.bottom_left, glyphs.bottom_right, (), foot)] if edges[1] else result


def hidden_columns_text(left: int, right: int, glyphs: Glyphs) -> str:
    """Return a text such as `3 more columns ›`. `left` and `right` are the numbers of hidden columns at each side."""
    if not left:
        return f"{plural(right, 'more column')} {glyphs.right}"
    if not right:
        return f"{glyphs.left} {plural(left, 'more column')}"
    return f"{glyphs.left} {left} more {glyphs.separator} {right} more {glyphs.right}"


def rule(width: int, styles: Styles, sign: str | None = None, style: Style | None = None) -> Line:
    """Return a horizontal line of `width` cells. The default sign and style are from `styles`."""
    return Line([decoration((sign or styles.glyphs.horizontal) * width, styles.line if style is None else style)])


def clickable_spans(lines: Iterable[Line]) -> list[ClickableSpan]:
    """Return all cells of the lines that can be clicked, in reading order. Adjacent cells of a link are one span."""
    spans: list[ClickableSpan] = []
    for number, line in enumerate(lines):
        column = 0
        for text, _, clickable, _, _ in line.pieces:
            text_width = cells(text)
            if clickable is not None and text_width:
                last = spans[-1] if spans else None
                if last is not None and last.clickable is clickable and last.line == number and last.end == column:
                    spans[-1] = last._replace(end=column + text_width)
                else:
                    spans.append(
                        ClickableSpan(number, column, column + text_width, clickable.kind, clickable.target, clickable)
                    )
            column += text_width
    return spans


def segments(pieces: Iterable[StyledText], base: Style) -> list[Segment]:
    """Return styled text as Rich segments, on top of the style `base`."""
    return [Segment(piece.text, base + piece.style) for piece in pieces]


class BlockCells(NamedTuple):
    """Cells of a line that show the same block, from `start` to before `end`."""

    start: int
    end: int
    block: Block


@dataclass(slots=True)
class SplitLine(Line):
    """A line that shows several blocks next to each other, such as columns. `block` is their container."""

    block_cells: tuple[BlockCells, ...] = ()

    def with_pieces(self, pieces: list[StyledText], offset: int = 0) -> Line:
        return SplitLine(pieces, self.block, None, tuple(shift_cells(self.block_cells, offset)))


def shift_cells(block_cells: Iterable[BlockCells], offset: int) -> list[BlockCells]:
    """Return the cells of blocks, moved to the right by `offset` cells."""
    return [BlockCells(start + offset, end + offset, block) for start, end, block in block_cells]


def cells_of_blocks(line: Line, width: int) -> list[BlockCells]:
    """Return each block of a line with the cells that show it. A normal line shows its block, if any, in all cells."""
    if isinstance(line, SplitLine) and line.block_cells:
        return list(line.block_cells)
    return [BlockCells(0, width, line.block)] if line.block is not None else []


def side_by_side(columns: Sequence[Sequence[Line]], widths: Sequence[int], gap: StyledText) -> list[SplitLine]:
    """Return lines that show columns of lines side by side, with `gap` between. The last column is not padded."""
    rows: list[SplitLine] = []
    for lines in zip_longest(*columns):
        pieces: list[StyledText] = []
        block_cells: list[BlockCells] = []
        start = 0
        for index, (line, width) in enumerate(zip(lines, widths, strict=True)):
            pieces += [gap] if index else []
            line_pieces = line.pieces if line is not None else []
            block_cells += shift_cells(cells_of_blocks(line, width), start) if line is not None else []
            pieces += pad(line_pieces, width) if index + 1 < len(widths) else line_pieces
            start += width + cells(gap.text)
        rows.append(SplitLine(pieces, None, None, tuple(block_cells)))
    return rows


def line_blocks(line: Line) -> list[Block]:
    return [part.block for part in cells_of_blocks(line, 0)]


_CJK = (
    "\u1100-\u115f\u2e80-\u3029\u3030-\u30ff\u3105-\u4dbf\u4e00-\ua4cf\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6"
    "\U0001b000-\U0001b2ff\U00020000-\U0003fffd"
)
_OPENING_SIGNS = "（［｛「『【〔《〈｟“‘(\\[{"
_CLOSING_SIGNS = "、。，．！？：；）］｝」』】〕》〉｠”’ーｰ…‥・々〻ゝゞヽヾぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮヵヶ゛゜%,.!?:;)\\]}"
_STRANDED_MARK = re.compile(
    r"[«‹„¿¡(\[{（［｛「『【〔《〈]+ |\S+ +(?:[:;!?.,%…»›)\]}]+ *$|[،؛؟、。，．！？：；）］｝」』】〕》〉])"
)
"""Matches an opening mark or a word, a space, and a closing mark, which stay on one line: `« word` and `word :`."""
_MARKS = "\u0300-\u036f\u302a-\u302f\u3099\u309a\ufe00-\ufe0f\u200d"
_THAI_LETTER, _THAI_LEADING_VOWEL = "[\u0e01-\u0e2e\u0e81-\u0eae\u0edc-\u0edf]", "[\u0e40-\u0e44\u0ec0-\u0ec4]"
_THAI_MARK = "[\u0e2f-\u0e3a\u0e45-\u0e4e\u0eaf-\u0ebd\u0ec6-\u0ece]"
_THAI_CLUSTER = f"[\u0e01\u0e02\u0e04\u0e15\u0e17\u0e1b\u0e1c\u0e1e][\u0e23\u0e25\u0e27]{_THAI_MARK}"
_THAI_SYLLABLE_START = (
    # Matches before a leading vowel, after a mark, or after a letter that often ends a syllable.
    f"{_THAI_LEADING_VOWEL}|(?<={_THAI_MARK})(?:{_THAI_LETTER}(?!\u0e4c){_THAI_MARK}|(?!\u0e01){_THAI_CLUSTER})"
    "|(?<=[\u0e31-\u0e3a\u0e47-\u0e4e][\u0e01\u0e07\u0e14\u0e19\u0e1a\u0e21\u0e22\u0e23\u0e27])"
    f"(?:(?![\u0e23-\u0e27\u0e2d]){_THAI_LETTER}(?!\u0e4c){_THAI_MARK}|{_THAI_CLUSTER})"
)
"""Matches where a syllable of Thai or Lao starts, as far as the letters show without a dictionary."""
_SYLLABLES = (
    f"{_THAI_LEADING_VOWEL}{{0,2}}{_THAI_LETTER}(?:(?!{_THAI_SYLLABLE_START})(?:{_THAI_LETTER}|{_THAI_MARK}))*+"
    # Khmer: a consonant or vowel, its subscripts, its marks.
    "|[\u1780-\u17b3](?:\u17d2[\u1780-\u17b3])*[\u17b6-\u17d1\u17d3-\u17dd]*"
    # Burmese: a consonant, its stacked consonants, its marks, and final consonants.
    "|[\u1000-\u102a\u103f](?:\u1039[\u1000-\u102a]|[\u102b-\u1038\u103a-\u103e]|[\u1000-\u102a](?=[\u1039\u103a]))*"
)
_SYLLABIC_LETTERS = "\u0e01-\u0e2e\u0e40-\u0e44\u0e81-\u0eae\u0ec0-\u0ec4\u0edc-\u0edf\u1780-\u17b3\u1000-\u102a\u103f"
_LATIN_WORDS = re.compile(r"[^ ]+ *| +")
_ITEM_MARKER = re.compile(r"^ *(?:[•*]|\d{1,3}\.) ", re.MULTILINE)
_WORD_HYPHEN = re.compile(r"(?<=[^\W\d_]{2})[-\u2010\u2013\u2014](?=[^\W\d_]{2})")
_HYPHENATED = re.compile(r"[\"'“‘(]*[^\W\d_]+(?:['’\u2010\u2013\u2014-][^\W\d_]+)+[^\w/@=:\\]*")
"""Matches a compound word with hyphens or dashes, but no option, file name or URL."""
_BREAK_SIGNS = r"[/\\\-_.?&=,:;#]+|(?<=\w)@(?=\w)|(?<=[\w)])(?=%[0-9A-Fa-f]{2})"
_SIGN_BREAK = re.compile(_BREAK_SIGNS)
_INNER_BREAK = re.compile(rf"{_BREAK_SIGNS}|(?<=[a-z0-9])(?<!%[0-9a-f])(?=[A-Z(\[{{])")
_LETTER = re.compile(r"[^\W_]")
_MAX_SIGNS = 3
"""If a URL ends with at most so many signs, its last line is never only these signs: a letter moves down with them."""
_LOOKAHEAD = 3
"""Number of characters after a possible break that are examined to decide whether the word is broken there."""
_NO_BREAK = re.compile(r"(?!)")
_OPAQUE_ID = re.compile(r"(?=(?:[A-Za-z]*[0-9]+[A-Za-z]+){3})[0-9A-Za-z]{16,}")
"""Matches an identifier of letters and digits, such as a hash. The identifier may be broken anywhere."""


def wrap(pieces: Sequence[StyledText], width: int) -> list[list[StyledText]]:
    """Return styled text as lines of at most `width` cells. Line feeds end lines. See the docstring of the module."""
    width = max(1, width)
    text = "".join([piece.text for piece in pieces])
    if "\n" not in text and cells(text) <= width:
        return [list(pieces)] if text else [[]]
    spans: list[tuple[int, int]] = []
    line_start = 0
    for line in text.split("\n"):
        spans += [(line_start + start, line_start + end) for start, end in _line_spans(line, width)]
        line_start += len(line) + 1
    return _slice_pieces(pieces, spans)


def wrap_items(pieces: Sequence[StyledText], width: int) -> list[list[StyledText]]:
    """Return styled text as lines of at most `width` cells. The continuation lines of list items are indented."""
    text = "".join([piece.text for piece in pieces])
    if (cells(text) <= width and "\n" not in text) or not _ITEM_MARKER.search(text):
        return wrap(pieces, width)
    rows: list[list[StyledText]] = []
    line_start = 0
    for line, indent_width in item_lines(text):
        line_pieces = _slice_pieces(pieces, [(line_start, line_start + len(line))])[0]
        line_start += len(line) + 1
        is_icon = not rows and line.startswith("*")  # In ASCII, an icon can be an asterisk, which is not a bullet.
        if not indent_width or is_icon or indent_width > width // 2:
            rows += wrap(line_pieces, width)
            continue
        first, *rest = wrap(crop(line_pieces, indent_width, cells(line)), width - indent_width)
        rows.append([*crop(line_pieces, 0, indent_width), *first])
        rows += [[decoration(" " * indent_width), *continuation] for continuation in rest]
    return rows


def item_lines(text: str) -> Iterator[tuple[str, int]]:
    """Yield each line of a text, and how many cells its continuation lines are indented: 0 except for list items."""
    for line in text.split("\n"):
        item_match = _ITEM_MARKER.match(line)
        yield line, cells(item_match.group()) if item_match is not None else 0


def breakable_parts(word: str) -> Iterator[str]:
    """Yield the parts of a word between which it may be broken if it is too long for a line."""
    start = 0
    for break_match in () if _OPAQUE_ID.fullmatch(word) else _INNER_BREAK.finditer(word):
        yield word[start : break_match.end()]
        start = break_match.end()
    yield word[start:]


def fit_title(title: Sequence[StyledText], lines: list[Line], width: int) -> tuple[Sequence[StyledText], list[Line]]:
    """Return the title and the lines of a box of `width` cells. A title that does not fit into the border becomes the
    first lines, and the title is then empty."""
    title = [piece._replace(text=flatten_emoji(piece.text)) for piece in title]
    if width_of(title) <= width - 6:
        return title, lines
    return (), [*(Line(row) for row in wrap(title, width - 4)), *lines]


def _word_pattern(text: str) -> re.Pattern[str]:
    """Return a pattern that matches each word of `text`: a slower pattern if a script without spaces occurs."""
    characters = () if text.isascii() else set(text)
    has_unspaced = any(
        "\u0e01" <= char <= "\u17dd" or "\u2e80" <= char <= "\uffef" or char >= "\U00020000" for char in characters
    )
    return _multilingual_words() if has_unspaced else _LATIN_WORDS


@cache
def _multilingual_words() -> re.Pattern[str]:
    # Compiled on first use, because the 3 ms would slow down the start.
    spaced = f"[^ {_CJK}{_OPENING_SIGNS}{_SYLLABIC_LETTERS}]++"
    # After a Latin letter or a digit, a bracket belongs to the word: `items[0]`.
    before_bracket = f"(?:{spaced}(?<=[A-Za-z0-9_$])[(\\[{{]++)"
    # After a CJK character, a hyphen or slash does not begin a line: `证书-iOS`.
    letters = f"[{_CJK}][{_MARKS}]*(?:[-/](?=[{_CJK}])|-(?=[A-Za-z0-9]){spaced})?|{_SYLLABLES}|{spaced}"
    return re.compile(
        f"[{_OPENING_SIGNS}]*(?:{before_bracket}+(?:{letters})?|{letters})[{_CLOSING_SIGNS}{_MARKS}]* *"
        f"|[{_OPENING_SIGNS}]+ *|[{_SYLLABIC_LETTERS}]| +"
    )


def _line_spans(text: str, width: int) -> list[tuple[int, int]]:
    if cells(text) <= width:
        return [(0, len(text))]
    spans: list[tuple[int, int]] = []
    start = end = used_width = last_start = last_end = 0
    for match in _word_pattern(text).finditer(text):
        word = match.group()
        trimmed_word = word.rstrip(" ")
        word_width = cells(trimmed_word)
        if used_width + word_width > width and last_start > start:
            last_width = cells(text[last_start : match.start()])
            if last_width + word_width <= width and _STRANDED_MARK.match(text[last_start : match.end()]):
                spans.append((start, last_end))
                start, used_width = last_start, last_width
        if used_width + word_width > width:
            head = _hyphenated_head_length(trimmed_word, width - used_width)
            if head or end > start:
                spans.append((start, match.start() + head if head else end))
            start = rest = match.start() + head
            used_width = 0
            for piece_end in _split_long_word(trimmed_word[head:], width) if cells(trimmed_word[head:]) > width else ():
                spans.append((start, rest + piece_end))
                start = rest + piece_end
            word_width = cells(text[start : match.start() + len(trimmed_word)])
        if trimmed_word:
            last_start, last_end, end = match.start(), end, match.start() + len(trimmed_word)
        used_width += word_width + len(word) - len(trimmed_word)
    if end > start or not spans:
        spans.append((start, max(start, end)))
    return spans


def _hyphenated_head_length(word: str, available_width: int) -> int:
    """Return the length of the longest beginning of a word that fits and ends with a hyphen or dash, or 0."""
    if not _WORD_HYPHEN.search(word) or not _HYPHENATED.fullmatch(word):
        return 0
    return max(
        (match.end() for match in _WORD_HYPHEN.finditer(word) if cells(word[: match.end()]) <= available_width),
        default=0,
    )


def _split_long_word(word: str, width: int) -> list[int]:
    """Return the indexes at which a long word is broken, preferably after punctuation and before capitals."""
    if word.isascii():
        cell_ends: Sequence[int] = range(len(word) + 1)
        letter_ends = cell_ends
    else:
        # If a word begins with two joiners, Rich gives no width to the next letter. So skip pairs of joiners.
        joiner_count = (len(word) - len(word.lstrip(_JOINER))) // 2 * 2
        graphemes, _ = split_graphemes(word[joiner_count:])
        letter_ends = [0, *(joiner_count + end for _, end, _ in graphemes)]
        cell_ends = [0, *accumulate(size for _, _, size in graphemes)]
    breaks = _NO_BREAK if _OPAQUE_ID.fullmatch(word) else _INNER_BREAK
    indexes: list[int] = []
    first = 0
    while cell_ends[-1] - cell_ends[first] > width:
        stop = first + 1
        while stop + 1 < len(cell_ends) and cell_ends[stop + 1] - cell_ends[first] <= width:
            stop += 1
        end = letter_ends[stop]
        text_after = word[end : end + _MAX_SIGNS + 1]
        if (
            word[end - 1] == "/"
            and len(text_after) <= _MAX_SIGNS
            and stop > first + 1
            and not _LETTER.search(text_after)
        ):
            stop -= 1
        start, end_of_line = letter_ends[first], letter_ends[stop]
        sign_breaks = _SIGN_BREAK if breaks is _INNER_BREAK else breaks
        length = _last_break(sign_breaks, word, start, end_of_line)
        if (
            length <= (end_of_line - start) // 3
            or cells(_parts_after(sign_breaks, word, start + length, width)[0]) >= width
        ):
            length = _last_break(breaks, word, start, end_of_line)
        next_part, *more = _parts_after(breaks, word, start + length, width)
        if length > (end_of_line - start) // 3 or (length > 1 and cells(next_part) + len(more) <= width):
            stop = next((index for index in range(first + 1, stop + 1) if letter_ends[index] == start + length), stop)
        indexes.append(letter_ends[stop])
        first = stop
    return indexes


def _parts_after(breaks: re.Pattern[str], word: str, index: int, width: int) -> list[str]:
    """Return the part of a word from `index` to the next possible break. If there is a break, also return the
    text after it. Only `8 * width` characters are used, so that a word of a megabyte is split quickly."""
    return breaks.split(word[index : index + 8 * width], maxsplit=1)


def _last_break(breaks: re.Pattern[str], word: str, start: int, end: int) -> int:
    """Return the index of the last possible break in `word[start:end]`, counted from `start`. 0 if there is none."""
    length = end - start
    breaks_found = breaks.finditer(word[start : end + _LOOKAHEAD])
    return max(
        (min(each.end(), length) for each in breaks_found if each.start() < length or each.end() == length), default=0
    )


def _slice_pieces(pieces: Sequence[StyledText], spans: Sequence[tuple[int, int]]) -> list[list[StyledText]]:
    rows: list[list[StyledText]] = []
    index = piece_start = 0
    for start, end in spans:
        line: list[StyledText] = []
        while index < len(pieces) and piece_start + len(pieces[index].text) <= start:
            piece_start += len(pieces[index].text)
            index += 1
        piece_index, offset = index, piece_start
        while piece_index < len(pieces) and offset < end:
            piece = pieces[piece_index]
            text = piece.text[max(0, start - offset) : end - offset]
            if text:
                line.append(piece if text == piece.text else piece._replace(text=text))
            offset += len(piece.text)
            piece_index += 1
        rows.append(line)
    return rows
