"""Diagrams: Mermaid drawn as text by a program of its own, which can hang and be ended. Until it has drawn, and when it
cannot, the source is shown."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from octavo.api.safety import text as safe_text
from octavo.documents.blocks import Block
from octavo.tui.render import code
from octavo.tui.render.block_slices import slice_bounds, whole_block
from octavo.tui.render.deferred import DiagramQuery, DrawnDiagram
from octavo.tui.render.layout_context import LayoutContext
from octavo.tui.render.mermaid import drawing_problem, normalize_diagram
from octavo.tui.render.styled_lines import Line, Piece, box, cells, crop, hidden_columns_text
from octavo.tui.render.styles import PLAIN, Styles
from octavo.tui.render.wrap import fit_title, wrap
from octavo.tui.terminal import child_programs
from octavo.untrusted_input import parse_json

SECONDS, MEMORY, ANSWER_BYTES = 3.0, 512 << 20, 1 << 20
"""What drawing may take: time, bytes of memory, bytes of drawings."""
TALLEST, WIDEST = 400, 2_000
_HEAD = 3
"""Rows of a drawing: those of the box it begins with."""

_SIDEWAYS = re.compile(r"(?:graph|flowchart)\s+(?:LR|RL)\b")
_STROKES = re.compile(r"([\u2190-\u21ff\u2500-\u25ff]+(?: *[\u2190-\u21ff\u2500-\u25ff]+)*)")


def render_diagram(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """A diagram in its box; its source while there is no drawing."""
    text = whole_block(block).text or str(dict(block.attrs.get("arguments") or {}).get("content") or "")
    title, source = normalize_diagram(text)
    problem = drawing_problem(source)
    drawn = DrawnDiagram(problem=problem) if problem else _drawn_diagram(context, source)
    title = str(block.attrs.get("title") or "").strip() or title
    if drawn is not None and drawn.drawings:
        return _render_drawing(context, block, drawn.drawings, title, width, _SIDEWAYS.match(source) is not None)
    attrs = {"language": "mermaid", "title": title, "cut": slice_bounds(block)}
    shown = code.render_code(
        context, Block("code", attrs, text=block.text or text, lines=block.lines, key=block.key), width
    )
    if drawn is None:
        return shown
    why = wrap([Piece(f"Could not draw the diagram: {drawn.problem}", context.styles.muted, None, True)], width - 2)
    return [*(Line([Piece("  ", PLAIN, None, True), *part]) for part in why), *shown]


async def draw_diagram(diagram: DiagramQuery) -> DrawnDiagram:
    """Return the drawings of a diagram, or why there are none."""
    given = json.dumps({"source": diagram.source, "ascii": diagram.ascii}).encode()
    try:
        told = await child_programs.ask("draw_diagram", given, seconds=SECONDS, memory=MEMORY, most=ANSWER_BYTES)
    except OSError as error:
        return DrawnDiagram(problem=f"the program that draws diagrams could not be started ({error.strerror}).")
    drawings = tuple(parse_drawings(told.output))
    if drawings:
        return DrawnDiagram(drawings)
    return DrawnDiagram(
        problem=f"it took longer than {SECONDS:g} s."
        if told.late
        else "the source contains something that is not supported."
    )


def parse_drawings(output: bytes) -> Iterable[tuple[str, ...]]:
    """The drawings that the program told of, each as its lines, as far as it is to be believed."""
    for row in output.split(b"\n")[:-1]:
        try:
            drawing = parse_json(row)
        except ValueError:  # what worked on what strangers wrote may say anything
            return
        if not isinstance(drawing, str):
            return
        lines = [line.rstrip() for line in safe_text(drawing).expandtabs(4).split("\n")]
        while lines and not lines[-1]:
            lines.pop()
        if lines and len(lines) <= TALLEST and max(map(cells, lines)) <= WIDEST:
            yield tuple(lines)


def _drawn_diagram(context: LayoutContext, source: str) -> DrawnDiagram | None:
    late = context.deferred.diagrams if context.deferred is not None else None
    return late.get(DiagramQuery(source, context.styles.ascii)) if late is not None else None


def _render_drawing(
    context: LayoutContext, block: Block, drawings: tuple[tuple[str, ...], ...], title: str, width: int, sideways: bool
) -> list[Line]:
    styles = context.styles
    sizes = [max(map(cells, lines)) for lines in drawings]
    room = context.widest(width) - 4
    # The roomiest that fits; of those too wide the one that is close, but breaks no words.
    best = next((index for index, size in enumerate(sizes) if size <= room), min(2, len(sizes) - 1))
    lines, wide = drawings[best], sizes[best]
    full = max(width, min(room, wide) + 4)
    inner = full - 4
    over = max(0, wide - inner)
    pan = context.folds.pan_offset(block.key, over, 0 if sideways else min(over, _start_offset(lines, inner)))
    left = max(0, inner - wide) // 2
    rows = []
    for row in lines:
        pieces = [Piece(" " * left, PLAIN, None, True)] if left else []
        pieces += crop(_pieces(row, styles), pan, pan + inner) if over else _pieces(row, styles)
        rows.append(Line(pieces))
    name = [Piece(" ".join(title.split()), styles.strong)] if title else [Piece("diagram", styles.muted, None, True)]
    foot = [Piece(hidden_columns_text(pan, over - pan, styles.glyphs), styles.muted, None, True)] if over else []
    head, rows = fit_title(name, rows, full)
    return box(rows, full, styles, title=head, foot=foot)


def _start_offset(lines: tuple[str, ...], inner: int) -> int:
    """How far a wide drawing is moved for its head to be on show: where one begins to read it."""
    head = [line for line in lines if line.strip()][:_HEAD]
    left = min((cells(line[: len(line) - len(line.lstrip())]) for line in head), default=0)
    right = max(map(cells, head), default=0)
    return 0 if right <= inner else max(0, min(left, (left + right - inner) // 2))


def _pieces(row: str, styles: Styles) -> list[Piece]:
    """A line of a drawing: its strokes stand back behind its words."""
    if styles.ascii:
        return [Piece(row, styles.text)] if row else []
    parts = _STROKES.split(row)
    return [
        Piece(part, styles.muted, None, True) if index % 2 else Piece(part, styles.text)
        for index, part in enumerate(parts)
        if part
    ]
