"""Renders Mermaid diagrams. A limited child process draws them. Before it ends, or if it fails, the source is shown."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from octavo.api.safety import safe_text
from octavo.documents.blocks import Block
from octavo.tui.render import code
from octavo.tui.render.block_slices import MAX_DIAGRAM_LENGTH, slice_bounds, whole_block
from octavo.tui.render.deferred import DiagramQuery, DrawnDiagram
from octavo.tui.render.layout_context import LayoutContext
from octavo.tui.render.styled_lines import (
    Line,
    StyledText,
    box,
    cells,
    decoration,
    fit_title,
    hidden_columns_text,
    pan_pieces,
    wrap,
)
from octavo.tui.render.styles import Styles
from octavo.tui.terminal.limited_programs import run_bounded
from octavo.untrusted_input import parse_json

MAX_DRAWING_SECONDS, MAX_DRAWING_MEMORY, MAX_DRAWING_BYTES = 3.0, 512 << 20, 1 << 20
MAX_DRAWING_ROWS, MAX_DRAWING_WIDTH = 400, 2_000
_HEAD_ROWS = 3
"""Number of rows at the top of a drawing that are searched for the first box. Blank rows do not count."""

_SIDEWAYS = re.compile(r"(?:graph|flowchart)\s+(?:LR|RL)\b")
_STROKES = re.compile(r"([\u2190-\u21ff\u2500-\u25ff]+(?: *[\u2190-\u21ff\u2500-\u25ff]+)*)")


def render_diagram(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """Render a diagram in a box. If it is not drawn yet or cannot be drawn, render its Mermaid source."""
    text = whole_block(block).text or str(dict(block.attrs.get("arguments") or {}).get("content") or "")
    title, source = normalize_diagram(text)
    problem = drawing_problem(source)
    drawn = DrawnDiagram(problem=problem) if problem else None
    if not problem and context.deferred is not None and (cache := context.deferred.diagrams) is not None:
        drawn = cache.get(DiagramQuery(source, context.styles.ascii))
    title = str(block.attrs.get("title") or "").strip() or title
    if drawn is not None and drawn.drawings:
        return _render_drawing(context, block, drawn.drawings, title, width, _SIDEWAYS.match(source) is not None)
    attrs = {"language": "mermaid", "title": title, "slice": slice_bounds(block)}
    source_lines = code.render_code(
        context, Block("code", attrs, text=block.text or text, lines=block.lines, key=block.key), width
    )
    if drawn is None:
        return source_lines
    reason = wrap([decoration(f"Could not draw the diagram: {drawn.problem}", context.styles.muted)], width - 2)
    return [*(Line([decoration("  "), *part]) for part in reason), *source_lines]


async def draw_diagram(diagram: DiagramQuery) -> DrawnDiagram:
    """Return the drawings of a diagram in several widths. If there are none, `problem` says why."""
    request = json.dumps({"source": diagram.source, "ascii": diagram.ascii}).encode()
    try:
        result = await run_bounded(
            "draw_diagram", request, seconds=MAX_DRAWING_SECONDS, memory=MAX_DRAWING_MEMORY, max_bytes=MAX_DRAWING_BYTES
        )
    except OSError as error:
        return DrawnDiagram(problem=f"the program that draws diagrams could not be started ({error.strerror}).")
    drawings = tuple(parse_drawings(result.output))
    if drawings:
        return DrawnDiagram(drawings)
    return DrawnDiagram(
        problem=f"it took longer than {MAX_DRAWING_SECONDS:g} s."
        if result.exceeded_limit
        else "the source contains something that is not supported."
    )


def parse_drawings(output: bytes) -> Iterable[tuple[str, ...]]:
    """Yield each drawing in the output of the drawing program, as a tuple of its lines. Skips drawings that are
    empty or too large. Stops at the first malformed line."""
    for row in output.split(b"\n")[:-1]:
        try:
            drawing = parse_json(row)
        except ValueError:  # The output may be malformed, because it depends on untrusted input.
            return
        if not isinstance(drawing, str):
            return
        lines = [line.rstrip() for line in safe_text(drawing).expandtabs(4).split("\n")]
        while lines and not lines[-1]:
            lines.pop()
        if lines and len(lines) <= MAX_DRAWING_ROWS and max(map(cells, lines)) <= MAX_DRAWING_WIDTH:
            yield tuple(lines)


def _render_drawing(
    context: LayoutContext,
    block: Block,
    drawings: tuple[tuple[str, ...], ...],
    title: str,
    width: int,
    is_horizontal: bool,
) -> list[Line]:
    styles = context.styles
    sizes = [max(map(cells, lines)) for lines in drawings]
    available_width = context.max_width(width) - 4
    # Drawings are sorted from wide to narrow. If none fits, use the third: it is narrow, but breaks no words.
    drawing_index = next((index for index, size in enumerate(sizes) if size <= available_width), min(2, len(sizes) - 1))
    lines, drawing_width = drawings[drawing_index], sizes[drawing_index]
    box_width = max(width, min(available_width, drawing_width) + 4)
    inner_width = box_width - 4
    overflow = max(0, drawing_width - inner_width)
    pan = context.view_state.pan_offset(
        block.key, overflow, 0 if is_horizontal else min(overflow, _start_offset(lines, inner_width))
    )
    left_margin = max(0, inner_width - drawing_width) // 2
    rows = []
    for row in lines:
        pieces = [decoration(" " * left_margin)] if left_margin else []
        pieces += (
            pan_pieces(_drawing_pieces(row, styles), pan, inner_width, "") if overflow else _drawing_pieces(row, styles)
        )
        rows.append(Line(pieces))
    title_pieces = (
        [StyledText(" ".join(title.split()), styles.strong)] if title else [decoration("diagram", styles.muted)]
    )
    foot = [decoration(hidden_columns_text(pan, overflow - pan, styles.glyphs), styles.muted)] if overflow else []
    border_title, rows = fit_title(title_pieces, rows, box_width)
    return box(rows, box_width, styles, title=border_title, foot=foot)


def _start_offset(lines: tuple[str, ...], inner_width: int) -> int:
    """Return the number of cells by which a wide drawing is first scrolled to the right, to show its first box."""
    head = [line for line in lines if line.strip()][:_HEAD_ROWS]
    first_cell = min((cells(line[: len(line) - len(line.lstrip())]) for line in head), default=0)
    end_cell = max(map(cells, head), default=0)
    return 0 if end_cell <= inner_width else max(0, min(first_cell, (first_cell + end_cell - inner_width) // 2))


def _drawing_pieces(row: str, styles: Styles) -> list[StyledText]:
    if styles.ascii:
        return [StyledText(row, styles.text)] if row else []
    parts = _STROKES.split(row)
    return [
        decoration(part, styles.muted) if index % 2 else StyledText(part, styles.text)
        for index, part in enumerate(parts)
        if part
    ]


KINDS = (
    *("graph", "flowchart", "sequenceDiagram", "classDiagram", "stateDiagram", "erDiagram", "journey", "gantt", "pie"),
    *("quadrantChart", "gitGraph", "mindmap", "timeline", "xychart", "block", "packet", "kanban", "architecture"),
    "treemap",
)
_FRONT_MATTER = re.compile(r"\A\s*---[ \t]*\n(.*?\n)??[ \t]*---[ \t]*\n", re.DOTALL)
_TITLE = re.compile(r"^[ \t]*title:[ \t]*(.+)$", re.MULTILINE)
_DIRECTIVE = re.compile(r"%%\{[^}]*(?:\}(?!%%)[^}]*)*\}%%")
_REMARK = re.compile(r"^[ \t]*%%.*$\n?", re.MULTILINE)
_ACCESSIBLE_TITLE = re.compile(r"^[ \t]*accTitle[ \t]*:[ \t]*(.*)$\n?", re.MULTILINE)
_ACCESSIBLE_DESCRIPTION = re.compile(r"^[ \t]*accDescr[ \t]*(?::.*$|\{[^}]*\}[ \t]*)\n?", re.MULTILINE)
_BREAK = re.compile(r"[ \t]*<br\s*/?>[ \t]*", re.IGNORECASE)
_LONG_ARROW = re.compile(
    r'"[^"\n]*"|\[[^\]\n]*\]|\{[^}\n]*\}|\([^)\n]*\)|\|[^|\n]*\|'
    r"|(?P<arrow><?(?:-{3,}|={3,}|-\.{2,}-)>|-{3,}[ox](?=\s)|-{4,}|={4,}|-\.{2,}-)"
)
"""Matches an arrow that is longer than necessary (group `arrow`). Also matches labels, to skip arrows inside them."""
_GROUP = re.compile(r'^([ \t]*subgraph[ \t]+(?:[^\s\["]+(?=\[))?)(.*)$', re.MULTILINE)
"""Matches the first line of a group of nodes, such as `subgraph id[title]`."""
_QUOTED_LABEL = re.compile(r'(--|==|-(?=\.))\.?[ \t]*("[^"|\n]*")[ \t]*(-{2,}[>xo-]|={2,}[>=]|\.+->?)')
"""Matches an arrow with a quoted label, such as `-- "label" -->`."""
_NAMED_SERIES = re.compile(r"""^([ \t]*(?:line|bar))[ \t]+("[^"\n]*"|[^\s"\[]+)[ \t]*(?=\[)""", re.MULTILINE)
_KIND = re.compile(r"[A-Za-z0-9]+")

_SEQUENCE_TITLE = re.compile(r"title(?:[ \t]*:|[ \t])[ \t]*(.+)")
_PARTICIPANT = re.compile(r"((?:create\s+)?(?:participant|actor))\s+(.+?)(?:\s+as\s+(.+))?", re.IGNORECASE)
_MESSAGES = [
    re.compile(rf"([^:]+?)\s*({arrow})\s*([+-]?)\s*([^:]+?)\s*(?::\s*(.*))?")
    for arrow in (r"<<-+>>|-+>>?", r"-+[x)](?![\w-]*-)")
]
"""Patterns for messages in sequence diagrams. Arrows with `x` or `)` are last, because names may contain these."""
_NOTE = re.compile(r"(note\s+(?:right\s+of|left\s+of|over))\s+([^:]+?)\s*:\s*(.*)", re.IGNORECASE)
_LIFELINE = re.compile(r"(activate|deactivate|destroy)\s+(.+)", re.IGNORECASE)
_BACKGROUND = re.compile(r"(?:box|rect)(?:\s.*)?", re.IGNORECASE)
_FRAME = re.compile(r"(?:loop|alt|opt|par|critical|break)(?:\s.*)?", re.IGNORECASE)
_UNDRAWN_LINE = re.compile(r"(?:links?|properties|details)\s+[^:]+:.*|autonumber\s+off", re.IGNORECASE)
_AUTO_NUMBERING = re.compile(r"autonumber(?:\s.*)?", re.IGNORECASE)
_LABEL_OF_FRAME = re.compile(r"(?:else|and|option)(?:\s.*)?", re.IGNORECASE)
_QUOTES = "\"' \t"
"""Characters that are stripped from the start and the end of names in a diagram."""
_PARTICIPANT_SETTINGS = re.compile(r"@\{.*\}\s*$")


def normalize_diagram(text: str) -> tuple[str, str]:
    """Return the title of a Mermaid diagram (or empty text), and the source without syntax that cannot be drawn."""
    title = ""
    if len(text) > 4 * MAX_DIAGRAM_LENGTH:
        return title, text
    if front_match := _FRONT_MATTER.match(text):
        title_match = _TITLE.search(front_match[1] or "")
        title, text = (title_match[1].strip(" \"'") if title_match else ""), text[front_match.end() :]
    text = _REMARK.sub("", _DIRECTIVE.sub("", text))
    if accessible_title := _ACCESSIBLE_TITLE.search(text):
        title = title or accessible_title[1].strip()
    text = _ACCESSIBLE_DESCRIPTION.sub("", _ACCESSIBLE_TITLE.sub("", text)).strip()
    if text.startswith("sequenceDiagram"):
        sequence = _SequenceDiagram()
        text = "\n".join(sequence.normalize(text))
        title = title or sequence.title
    if text.startswith("xychart"):
        # The drawing program cannot show the names of lines and bars, so they become the title if there is none.
        title = title or ", ".join(name.strip('"') for _, name in _NAMED_SERIES.findall(text))
        text = _NAMED_SERIES.sub(r"\1 ", text)
    if text.startswith(("graph", "flowchart")):
        # The drawing program needs a space before the title of a group, without line breaks.
        text = _GROUP.sub(lambda group: f"{group[1]} {_BREAK.sub(' ', group[2])}", text)
        # The drawing program supports quoted labels only between bars, as in `-->|"label"|`.
        text = _QUOTED_LABEL.sub(lambda arrow: f"{'-' if arrow[1] == '-' else ''}{arrow[3]}|{arrow[2]}|", text)
        # In flowcharts with groups, only `\n` breaks a label, not `<br>`.
        text = _LONG_ARROW.sub(_replace_arrow_or_label, _BREAK.sub(r"\\n", text))
    return title, text


def _replace_arrow_or_label(regex_match: re.Match[str]) -> str:
    """Return the replacement of a match of `_LONG_ARROW`. An arrow becomes the shortest of its kind, because the
    drawing program may fail at longer ones. A label stays; between bars, it loses its line breaks."""
    arrow = regex_match["arrow"]
    if arrow is None:
        return regex_match[0].replace(r"\n", " ") if regex_match[0][0] == "|" else regex_match[0]
    stroke, head = arrow.strip("<>ox")[1], arrow.lstrip("<")[-1:].strip("-=")
    line = {"-": "--" if head else "---", "=": "==" if head else "===", ".": "-.-"}[stroke]
    return f"{'<' if arrow[0] == '<' else ''}{line}{head}"


def drawing_problem(source: str) -> str:
    """Return why a diagram cannot be drawn, such as an unsupported type. Empty if no reason is known before drawing."""
    if not source:
        return "the source is empty."
    if len(source) > MAX_DIAGRAM_LENGTH:
        return f"the source is longer than {MAX_DIAGRAM_LENGTH:,} characters."
    kind_match = _KIND.match(source)
    if kind_match is None or not kind_match[0].startswith(KINDS):
        return f"“{source.split(maxsplit=1)[0][:30]}” is not a supported diagram type."
    return ""


class _SequenceDiagram:
    """Rewrites a Mermaid sequence diagram, so that the drawing program can draw it."""

    def __init__(self) -> None:
        self.title = ""
        self._declared_names: set[str] = set()
        """IDs of the participants that are declared so far, as returned by `_id`."""
        self._are_frames_kept: list[bool] = []
        """For each block such as `loop` or `rect` that has not ended: True if `normalize` yields its `end`."""

    def normalize(self, text: str) -> Iterator[str]:
        yield "sequenceDiagram"
        for line in text.split("\n")[1:]:
            yield from self._normalize_line(line.strip().rstrip("; \t"))

    def _normalize_line(self, line: str) -> Iterator[str]:
        if not line or _UNDRAWN_LINE.fullmatch(line):
            return
        if title_match := _SEQUENCE_TITLE.fullmatch(line):
            self.title = self.title or title_match[1]
        elif _AUTO_NUMBERING.fullmatch(line):
            yield "autonumber"
        elif _BACKGROUND.fullmatch(line) or _FRAME.fullmatch(line):
            self._are_frames_kept.append(_FRAME.fullmatch(line) is not None)
            if self._are_frames_kept[-1]:
                yield _BREAK.sub(" ", line)
        elif line.lower() == "end":
            if not self._are_frames_kept or self._are_frames_kept.pop():
                yield line
        elif _LABEL_OF_FRAME.fullmatch(line):
            yield _BREAK.sub(" ", line)
        elif match := _PARTICIPANT.fullmatch(line):
            name = _PARTICIPANT_SETTINGS.sub("", match[2])
            self._declared_names.add(self._id(name))
            yield f"{match[1]} {self._id(name)} as {_BREAK.sub(' ', match[3] or name).strip(_QUOTES)}"
        elif match := _NOTE.fullmatch(line):
            names = match[2].split(",")
            yield from self._declare(*names)
            yield f"{match[1]} {','.join(map(self._id, names))}: {match[3]}"
        elif match := _LIFELINE.fullmatch(line):
            yield from self._declare(match[2])
            yield f"{match[1]} {self._id(match[2])}"
        elif match := next((match for form in _MESSAGES if (match := form.fullmatch(line))), None):
            first, arrow, mark, second, label = match.groups()
            yield from self._declare(first, second)
            arrow = re.sub("--+", "--", arrow)
            yield f"{self._id(first)}{arrow}{mark}{self._id(second)}: {_BREAK.sub(' ', label or '')}"
        else:
            yield line

    def _declare(self, *names: str) -> Iterator[str]:
        """Yield a `participant` line for each name that has spaces and is not declared yet."""
        for name in names:
            shown_name = name.strip(_QUOTES)
            if self._id(name) not in self._declared_names and self._id(name) != shown_name:
                self._declared_names.add(self._id(name))
                yield f"participant {self._id(name)} as {shown_name}"

    def _id(self, name: str) -> str:
        return "_".join(name.strip(_QUOTES).split())
