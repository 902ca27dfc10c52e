"""Rendering of operations that are written out on the page, with their parameters and responses."""

from __future__ import annotations

from rich.style import Style

from octavo.documents.blocks import Block
from octavo.tui.render.block_slices import has_end, has_start, slice_bounds
from octavo.tui.render.layout_context import LayoutContext
from octavo.tui.render.openapi import method_style
from octavo.tui.render.styled_lines import Line, Piece, box, flatten_emoji, indent
from octavo.tui.render.styles import PLAIN
from octavo.tui.render.wrap import fit_title, wrap


def render_operation_block(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """Render an operation: its address, parameters and responses."""
    styles, attrs = context.styles, block.attrs
    method = str(attrs.get("method") or "get").upper()
    address = f"{attrs.get('host') or ''}{attrs.get('path') or ''}"
    title = [Piece(method, method_style(method, styles)), Piece("  "), Piece(address, styles.strong)]
    inner = width - 4
    rows: list[Line] = []
    if (summary := str(attrs.get("summary") or "")) and has_start(block):
        rows += [Line(line) for line in wrap([Piece(flatten_emoji(summary), styles.strong)], inner)]
    body = render_operation_parts(context, block, inner)
    rows += [*([Line([])] if rows and body else []), *body]
    head, rows = fit_title(title if has_start(block) else (), rows, width)
    return box(rows, width, styles, title=head, edges=(has_start(block), has_end(block)))


def render_operation_parts(context: LayoutContext, block: Block, width: int, named: str = "") -> list[Line]:
    """Render sections, parameters and responses. Each group follows its name, except the group that is `named`
    above."""
    styles, cut = context.styles, slice_bounds(block)
    out: list[Line] = []
    goes_on = cut is not None and not cut.is_first
    above = (cut.previous or block.children[0]) if goes_on and cut is not None else None
    group = _group_name(above) if above is not None else named
    for child in block.children:
        label = _group_name(child)
        match child.kind:
            case "api-section":
                body = render_operation_parts(context, child, width, "parameters" if label else "")
                label = label if body else ""
            case "api-parameter":
                body = _render_parameter(context, child, width)
            case "api-response":
                body = _render_response(context, child, width)
            case _:
                body = context.flow([child], width)
        if not body:
            continue
        if has_start(child) and (label != group or not label):
            out += [Line([])] if out or goes_on else []
            name = [Piece(label.upper(), styles.muted + Style(bold=True), None, True)]
            out += [Line(line) for line in wrap(name, width)] if label else []
        group = label
        out += body
    return out


def _group_name(child: Block) -> str:
    """Return the name of the group that a part of an operation belongs to."""
    match child.kind:
        case "api-section":
            name = str(child.attrs.get("name") or "")
            return "" if name in ("", "summary", "description") else name.replace("-", " ")
        case "api-parameter":
            return f"{child.attrs.get('in') or ''} parameters".strip()
        case "api-response":
            return "answers"
    return ""


def _render_parameter(context: LayoutContext, block: Block, width: int) -> list[Line]:
    styles, attrs = context.styles, block.attrs
    head = [Piece(str(attrs.get("name") or ""), styles.strong)]
    if attrs.get("required"):
        head.append(Piece(" required", styles.warning, None, True))
    if attrs.get("type"):
        head += [Piece("  ", PLAIN, None, True), Piece(str(attrs["type"]), styles.muted)]
    return _render_entry(context, head, block, width)


def _render_response(context: LayoutContext, block: Block, width: int) -> list[Line]:
    styles, attrs = context.styles, block.attrs
    status = str(attrs.get("status") or "")
    good = status.startswith(("1", "2", "3"))
    head = [Piece(status or "answer", (styles.success if good else styles.error) + Style(bold=True))]
    if attrs.get("description"):
        head += [
            Piece("  ", PLAIN, None, True),
            Piece(str(attrs["description"]).replace("·", styles.glyphs.between), styles.text),
        ]
    return _render_entry(context, head, block, width)


def _render_entry(context: LayoutContext, head: list[Piece], block: Block, width: int) -> list[Line]:
    body = context.flow_in(block, width - 4)
    lines = [Line(line) for line in wrap(head, width - 4)] if has_start(block) else []
    blank = [Piece("  ", PLAIN, None, True)]
    return [*indent(lines, blank, [*blank, *blank]), *indent(body, [*blank, *blank], [*blank, *blank])]
