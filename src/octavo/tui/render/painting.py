"""Paints lines as Textual strips (`paint_line`). Also searches the blocks of a page (`BlockTextFinder`), and finds
matches in rendered lines (`match_spans`)."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from rich.cells import set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from octavo.api.folding import FoldedText, fold
from octavo.documents.blocks import Block, Run, plain_text
from octavo.tui.render.block_slices import cells_by_column, has_start
from octavo.tui.render.embeds import is_caption_in_frame, shown_text
from octavo.tui.render.styled_lines import Line, StyledText, cells, crop, searched_texts, segments, width_of
from octavo.tui.render.styles import Styles
from octavo.tui.render.tables import select_labels


def paint_line(line: Line, margin: int, width: int, base: Style) -> Strip:
    """Return a line as a Textual strip of `width` cells. The strip begins with `margin` blank cells."""
    if not line.pieces:
        return Strip.blank(width, base)
    used_width = margin + line.width
    parts = [Segment(" " * margin, base), *segments(line.pieces, base)]
    padding = [Segment(" " * (width - used_width), base)] if used_width <= width else []
    return Strip([*parts, *padding], max(used_width, width)).crop(0, width)


def overlay_text(strip: Strip, position: int, text: str, style: Style) -> Strip:
    """Return a strip in which `text` covers the cells from `position` on. Text that does not fit is cut."""
    width = strip.cell_length
    position = max(0, position)
    available_width = width - position
    if available_width <= 0 or not text:
        return strip
    text_width = cells(text)
    if text_width > available_width:
        text, text_width = set_cell_size(text, available_width), available_width
    before, _, after = Segment.divide(strip, (position, position + text_width, width))
    return Strip([*before, Segment(text, style), *after], width)


def restyle(strip: Strip, spans: Iterable[tuple[int, int, Style]]) -> Strip:
    """Return a strip with more styles on ranges of cells. A range is `(start, end, style)`, without the cell `end`."""
    width = strip.cell_length
    clipped_spans = [
        (max(0, start), min(end, width), style) for start, end, style in spans if max(0, start) < min(end, width)
    ]
    if not clipped_spans:
        return strip
    cell_edges = sorted({0, width, *(start for start, _, _ in clipped_spans), *(end for _, end, _ in clipped_spans)})
    added_styles = [Style()] * len(cell_edges)
    for start, end, style in clipped_spans:
        for index in range(bisect_left(cell_edges, start), bisect_left(cell_edges, end)):
            added_styles[index] += style
    parts = zip(Segment.divide(strip, cell_edges[1:]), added_styles, strict=False)
    return Strip(
        [Segment(text, (piece_style or Style()) + style) for part, style in parts for text, piece_style, _ in part],
        width,
    )


def text_between(lines: Sequence[Line], margin: int, start: tuple[int, int] | None, end: tuple[int, int] | None) -> str:
    """Return the text of `lines` without borders and bullets, for copying. `start` is in the first line, `end` in the
    last. Each is (index of a line, `margin` + index of a letter). None stands for the start or end of `lines`. If the
    sign at the edge of a wide line is between them, the text that is scrolled out of view there is copied too."""
    texts: list[str] = []
    for number, line in enumerate(lines):
        first_column = start[1] - margin if start is not None and start[0] == number else 0
        end_column = end[1] - margin if end is not None and end[0] == number else 1 << 30
        line_start = 0
        kept_text = ""
        for text, _, _, is_decoration, hidden in line.pieces:
            selected_part = text[max(0, first_column - line_start) : max(0, end_column - line_start)]
            if hidden is not None and selected_part.strip():
                kept_text += "".join(
                    each.text for each in hidden.pieces if not each.is_decoration or each.text.isspace()
                )
            elif not is_decoration or (selected_part and not selected_part.strip() and kept_text):
                kept_text += selected_part
            line_start += len(text)
        texts.append(kept_text.rstrip())
    return "\n".join(texts)


def bottom_line(
    styles: Styles, base_style: Style, width: int, sign: str, text: str, *parts: str, is_typing: bool = False
) -> Strip:
    """Return a row for the bottom of a pane, with `sign` and `text` at the left and `parts` at the right. `is_typing`
    shows a cursor after `text`. If space is short, `parts` are left out, but the last part only at the end."""
    separator = f" {styles.glyphs.separator} "
    style = base_style + styles.panel
    sign = f" {sign} " if sign else " "
    available_width = max(0, width - cells(sign) - 1)
    text_width = min(cells(text) + (3 if is_typing else 2), available_width // 2) if text or is_typing else 0
    visible_parts = list(parts)
    while visible_parts and cells(separator.join(visible_parts)) + text_width > available_width:
        del visible_parts[-2 if len(visible_parts) > 1 else -1]
    right_text = separator.join(visible_parts)
    left_width = max(0, available_width - cells(right_text) - 3) if right_text else max(0, available_width - 1)
    pieces = [
        StyledText(sign, styles.accent),
        *crop([StyledText(text, styles.text)], cells(text) - left_width, cells(text)),
    ]
    if is_typing:
        pieces.append(StyledText(" ", Style(reverse=True)))
    gap_width = width - width_of(pieces) - cells(right_text) - 1 if text_width else 0
    pieces.append(StyledText(" " * max(0, gap_width) + right_text, styles.muted))
    return Strip(segments(pieces, style)).extend_cell_length(width, style)


_SEARCHED_ATTRIBUTES = (
    "title",
    "method",
    "path",
    "status",
    "description",
    "name",
    "type",
    "date",
    "summary",
    "url",
    "expression",
)
MAX_MATCHES = 10_000
"""Maximum number of matches that a search finds."""


class Match(NamedTuple):
    """A match of the searched text in a block."""

    chunk_index: int
    index_in_chunk: int
    """Index of the match among the matches in its chunk."""
    block: Block
    path: tuple[Block, ...]
    """The block and the blocks that contain it, from the top-level block to `block`."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Match) and self[:2] == other[:2]  # The blocks may be of different versions of a page.


class MatchSpan(NamedTuple):
    """Cells of one line that show a match. A wrapped match has a span on each line."""

    line: int
    start: int
    end: int
    match_number: int
    pan: int = 0
    """Number of cells to scroll to the right so that the match is visible. Negative to scroll left, 0 if visible."""


def needle_pattern(needle: str) -> re.Pattern[str]:
    """Return a pattern that finds `needle` in text folded by `fold`, also across line breaks."""
    patterns = (r"\s+" if char.isspace() else re.escape(char) for char in " ".join(fold(needle).split()))
    return re.compile(r"\n?".join(patterns).replace(r"\n?\s+\n?", r"\s+"))


class _ChunkText(NamedTuple):
    """Text of a chunk for searches that ignore case, folded by `fold`."""

    chunk_index: int
    text: str
    starts: list[int]
    """For each path in `paths`, the index in `text` at which the text of the last block of the path starts."""
    paths: list[tuple[Block, ...]]


class BlockTextFinder:
    """Searches the text of a page chunk by chunk. The text is kept for the next search."""

    def __init__(self, blocks: Iterable[tuple[int, Block]], text_of: Callable[[Block], str] = shown_text) -> None:
        """`blocks` yields each block or slice with the index of its chunk. `text_of` returns the text of a block as the
        user sees it."""
        self._blocks, self._text_of = iter(blocks), text_of
        self._chunk_texts: list[_ChunkText] = []

    def find(self, needle: str) -> Iterator[Match | None]:
        """Yield the matches of `needle` in reading order, at most `MAX_MATCHES`. After each chunk, yield None, so that
        the caller can pause."""
        pattern = needle_pattern(needle)
        match_count = 0
        for chunk_index, text, starts, paths in self._iterate_texts() if fold(needle).strip() else ():
            for nth, match in enumerate(pattern.finditer(text)):
                path = paths[bisect_right(starts, match.start()) - 1]
                yield Match(chunk_index, nth, path[-1], path)
                match_count += 1
                if match_count >= MAX_MATCHES:
                    return
            yield None

    def _iterate_texts(self) -> Iterator[_ChunkText]:
        yield from tuple(self._chunk_texts)
        for chunk_index, block in self._blocks:
            texts, starts, paths = [], list[int](), []
            length = 0
            for path, text in self._block_texts(block, ()):
                texts.append(fold(text))
                starts.append(length)
                paths.append(path)
                length += len(texts[-1]) + 1
            chunk_text = _ChunkText(chunk_index, "\0".join(texts), starts, paths)
            self._chunk_texts.append(chunk_text)
            yield chunk_text

    def _block_texts(self, block: Block, ancestors: tuple[Block, ...]) -> Iterator[tuple[tuple[Block, ...], str]]:
        """Yield each text in a block, with the path of the block that shows the text: its ancestors, then the block."""
        path = (*ancestors, block)
        texts = [self._text_of(block), block.text]
        # The tabs block shows the title of a tab. An OpenAPI section and a page link do not show their attributes.
        if has_start(block) and block.kind not in ("tab", "api-section", "content-ref"):
            attrs = {**block.attrs, "path": f"{block.attrs.get('host', '')}{block.attrs.get('path', '')}"}
            texts += [value for name in _SEARCHED_ATTRIBUTES if isinstance(value := attrs.get(name), str)]
            texts += [str(alt)] if (alt := attrs.get("alt")) and not is_caption_in_frame(block) else []
            texts += attrs.get("tags", ())
            texts += [f"{name} {value}" for name, value in (attrs.get("arguments") or {}).items() if name != "content"]
            if block.kind == "tabs":
                texts += [str(tab.attrs.get("title", "")) for tab in block.children]
            if block.kind in ("table", "cards"):
                texts += [plain_text(column.title) for column in attrs.get("columns") or () if not column.hidden]
        for text in texts:
            if text:
                yield path, text
        for child in _shown_children(block, ancestors):
            yield from self._block_texts(child, path)


def _shown_children(block: Block, ancestors: tuple[Block, ...]) -> Sequence[Block]:
    """Return the children of a block without cells of hidden columns. Selected options are replaced by their labels."""
    columns = ancestors[-1].attrs.get("columns") or () if ancestors and block.kind in ("row", "card") else ()
    if not any(column.hidden or column.type == "select" for column in columns):
        return block.children
    (cells_of_row,) = cells_by_column([block])
    return [
        cell._replace(runs=(Run(", ".join(select_labels(cell, column))),)) if column.type == "select" else cell
        for cell, column in zip(cells_of_row, columns, strict=False)
        if cell is not None and not column.hidden
    ]


class _SearchedText(NamedTuple):
    """Text in the line `line`, from the cell `cell` on. `offset` is the start of `text` in the whole searched text."""

    offset: int
    line: int
    cell: int
    text: str
    distance: int | None
    """For text out of view, its distance in cells from the visible part (`HiddenText.start`). Else None."""


def match_spans(lines: Sequence[Line], needle: str) -> list[MatchSpan]:
    """Return the cells that show matches of `needle`. If a match is scrolled out of view, its span is empty and `pan`
    says how far to scroll."""
    if not fold(needle).strip():
        return []
    texts: list[str] = []
    pieces: list[_SearchedText] = []
    length = 0
    for number, line in enumerate(lines):
        for cell, text, distance in searched_texts(line):
            pieces.append(_SearchedText(length, number, cell, text, distance))
            texts.append(text)
            length += len(text)
        texts.append("\n")
        length += 1
    offsets = [piece.offset for piece in pieces]
    spans: list[MatchSpan] = []
    folded_text = FoldedText("".join(texts))
    for nth, match in enumerate(needle_pattern(needle).finditer(folded_text.text)):
        first, last = folded_text.original_range(match.start(), match.end())
        index = max(0, bisect_right(offsets, first) - 1)
        while index < len(pieces) and pieces[index].offset < last:
            offset, number, cell, text, distance = pieces[index]
            low, high = max(0, first - offset), min(len(text), last - offset)
            if high > low and distance is not None:
                pan = distance + cells(text[:high] if distance >= 0 else text[:low])
                spans.append(MatchSpan(number, cell, cell, nth, pan))
            elif high > low:
                spans.append(MatchSpan(number, cell + cells(text[:low]), cell + cells(text[:high]), nth))
            index += 1
    return spans
