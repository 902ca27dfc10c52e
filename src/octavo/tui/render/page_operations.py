"""Operations that are written out on the page, with their parameters and answers."""

from __future__ import annotations

from rich.style import Style

from octavo.documents.blocks import Block
from octavo.tui.render.block_slices import begins, cut_of, ends
from octavo.tui.render.layout_context import LayoutContext
from octavo.tui.render.openapi import method_style
from octavo.tui.render.styled_lines import Line, Piece, box, indented, steady
from octavo.tui.render.styles import PLAIN
from octavo.tui.render.wrap import headed, wrap


def api_method(setting: LayoutContext, block: Block, width: int) -> list[Line]:
    """An operation written out: its address, what it takes, what it answers."""
    look, attrs = setting.look, block.attrs
    method = str(attrs.get("method") or "get").upper()
    address = f"{attrs.get('host') or ''}{attrs.get('path') or ''}"
    title = [Piece(method, method_style(method, look)), Piece("  "), Piece(address, look.strong)]
    inner = width - 4
    rows: list[Line] = []
    if (summary := str(attrs.get("summary") or "")) and begins(block):
        rows += [Line(line) for line in wrap([Piece(steady(summary), look.strong)], inner)]
    body = parts(setting, block, inner)
    rows += [*([Line([])] if rows and body else []), *body]
    head, rows = headed(title if begins(block) else (), rows, width)
    return box(rows, width, look, title=head, edges=(begins(block), ends(block)))


def parts(setting: LayoutContext, block: Block, width: int, named: str = "") -> list[Line]:
    """Sections, parameters and answers, each group below its name, but for the one that is `named` above."""
    look, cut = setting.look, cut_of(block)
    out: list[Line] = []
    goes_on = cut is not None and not cut.is_first
    above = (cut.above or block.children[0]) if goes_on and cut is not None else None
    group = _label(above) if above is not None else named
    for child in block.children:
        label = _label(child)
        match child.kind:
            case "api-section":
                body = parts(setting, child, width, "parameters" if label else "")
                label = label if body else ""
            case "api-parameter":
                body = _parameter(setting, child, width)
            case "api-response":
                body = _response(setting, child, width)
            case _:
                body = setting.flow([child], width)
        if not body:
            continue
        if begins(child) and (label != group or not label):
            out += [Line([])] if out or goes_on else []
            name = [Piece(label.upper(), look.muted + Style(bold=True), None, True)]
            out += [Line(line) for line in wrap(name, width)] if label else []
        group = label
        out += body
    return out


def _label(child: Block) -> str:
    """The name of the group that a part of an operation belongs to."""
    match child.kind:
        case "api-section":
            name = str(child.attrs.get("name") or "")
            return "" if name in ("", "summary", "description") else name.replace("-", " ")
        case "api-parameter":
            return f"{child.attrs.get('in') or ''} parameters".strip()
        case "api-response":
            return "answers"
    return ""


def _parameter(setting: LayoutContext, block: Block, width: int) -> list[Line]:
    look, attrs = setting.look, block.attrs
    head = [Piece(str(attrs.get("name") or ""), look.strong)]
    if attrs.get("required"):
        head.append(Piece(" required", look.warning, None, True))
    if attrs.get("type"):
        head += [Piece("  ", PLAIN, None, True), Piece(str(attrs["type"]), look.muted)]
    return _entry(setting, head, block, width)


def _response(setting: LayoutContext, block: Block, width: int) -> list[Line]:
    look, attrs = setting.look, block.attrs
    status = str(attrs.get("status") or "")
    good = status.startswith(("1", "2", "3"))
    head = [Piece(status or "answer", (look.success if good else look.error) + Style(bold=True))]
    if attrs.get("description"):
        head += [
            Piece("  ", PLAIN, None, True),
            Piece(str(attrs["description"]).replace("·", look.glyphs.between), look.text),
        ]
    return _entry(setting, head, block, width)


def _entry(setting: LayoutContext, head: list[Piece], block: Block, width: int) -> list[Line]:
    body = setting.flow_in(block, width - 4)
    lines = [Line(line) for line in wrap(head, width - 4)] if begins(block) else []
    blank = [Piece("  ", PLAIN, None, True)]
    return [*indented(lines, blank, [*blank, *blank]), *indented(body, [*blank, *blank], [*blank, *blank])]
