"""Interfaces that are described elsewhere: an operation in one line, opened in full from its specification."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rich.style import Style

from octavo.documents.blocks import Block
from octavo.documents.openapi import Body, Operation, Response, Specification
from octavo.documents.openapi_schemas import Field
from octavo.tui.render.block_slices import begins
from octavo.tui.render.embeds import file_name
from octavo.tui.render.layout_context import LayoutContext
from octavo.tui.render.source_values import OperationLayout, OperationQuery
from octavo.tui.render.sources import Sources
from octavo.tui.render.styled_lines import Line, Piece, Spot, indented, on, padded, width_of
from octavo.tui.render.styles import PLAIN, Styles
from octavo.tui.render.wrap import wrap

_PLACES = {"path": "in the path", "query": "in the query", "header": "in headers", "cookie": "in cookies"}
_MOST_LISTED = 400
_MOST_LINES = 1200
"""Operations of a whole specification, and lines of one operation, that are shown."""


def method_style(method: str, look: Styles) -> Style:
    """What a method does, as a colour: reading, making, changing, taking away."""
    style = {
        "POST": look.success,
        "PUT": look.warning,
        "PATCH": look.warning,
        "DELETE": look.error,
    }.get(method.upper(), look.accent)
    return style + Style(bold=True)


def openapi(setting: LayoutContext, block: Block, width: int) -> list[Line]:
    """Return an OpenAPI block: its summary in one line, and its details when expanded."""
    if not begins(block):
        return setting.flow_in(block, width)
    look, attrs = setting.look, block.attrs
    variant = str(attrs.get("variant") or "operation")
    named = str(attrs.get("spec") or attrs.get("src") or "")
    above = setting.above
    specification, trouble = _read(setting.sources, block)
    if trouble and above is not None and above.kind == block.kind and _read(setting.sources, above)[1] == trouble:
        trouble = ""  # it is said of the first of several
    wanted = wanted_by(specification, block) if specification is not None else None
    operation, is_known = _known_operation(setting.sources, wanted)
    is_whole = variant in ("schemas", "file")
    is_open = setting.folds.is_open(block)
    if specification is not None and is_known and operation is None and not is_whole:
        called = "webhook" if variant == "webhook" else "operation"
        trouble = (
            f"This {called} is not in {specification.title or named}: the {called} may have been renamed or deleted."
        )
    opens = wanted is not None and (is_whole or operation is not None or not is_known)
    details = _details(setting, wanted, operation, width - 2) if wanted is not None and opens and is_open else []
    spot = Spot("fold", block.key) if opens else None
    sign = (look.glyphs.opened if is_open else look.glyphs.closed) if opens else " "
    method, address, summary = _head(block, operation, look, spot)
    right = f"from {named if attrs.get('spec') else file_name(named)}" if named and variant != "file" else ""
    out = _bar(setting, [Piece(f"{sign} ", look.accent, spot, True), *method], address, summary, right, width)
    if details and not attrs.get("spec"):
        details = [*_words(f"from {named}", look.muted, width - 2), *details]
    if trouble:
        blank = [Piece("  ", PLAIN, None, True)]
        out += indented(
            [Line(line) for line in wrap([Piece(trouble, look.muted, None, True)], width - 2)], blank, blank
        )
    rail = [Piece(f"{look.glyphs.down} ", look.line, None, True)]
    return [*out, *indented(details, rail, rail), *setting.flow(block.children, width)]


def wanted_by(specification: Specification, block: Block) -> OperationQuery:
    """What a block shows of a specification."""
    attrs = block.attrs
    variant, path = str(attrs.get("variant") or "operation"), str(attrs.get("path") or "")
    name = str(attrs.get("name") or path) if variant == "webhook" else path
    schemas = tuple(str(each) for each in attrs.get("schemas") or ())
    return OperationQuery(specification, variant, str(attrs.get("method") or ""), name, schemas)


def operation_of(wanted: OperationQuery) -> Operation | None:
    """The operation or webhook that is wanted."""
    if wanted.variant == "webhook":
        return wanted.specification.webhook(wanted.path, wanted.method or "post")
    return wanted.specification.operation(wanted.method or "get", wanted.path) if wanted.path else None


def details_of(setting: LayoutContext, wanted: OperationQuery, operation: Operation | None, width: int) -> list[Line]:
    """All that an opened block shows, as far as it is not too much."""
    if wanted.variant == "schemas":
        lines = _schemas(setting, wanted.specification, wanted.schemas, width)
    elif wanted.variant == "file":
        lines = _every(setting, wanted.specification, width)
    else:
        lines = _operation(setting, operation, width) if operation is not None else []
    if len(lines) > _MOST_LINES:
        more = Line([Piece("The rest of this block is too long to show.", setting.look.muted, None, True)])
        lines = [*lines[:_MOST_LINES], more]
    for line in lines:
        line.block = None  # a comment on any of it is one on the whole
    return lines


def _known_operation(sources: Sources | None, wanted: OperationQuery | None) -> tuple[Operation | None, bool]:
    """The operation that is wanted, and whether that is known by now."""
    if wanted is None or wanted.variant in ("schemas", "file"):
        return None, True
    late = sources.operations if sources is not None else None
    if late is None:
        return operation_of(wanted), True
    found = late.get(wanted)
    return found.operation if found is not None else None, found is not None


def _details(setting: LayoutContext, wanted: OperationQuery, operation: Operation | None, width: int) -> list[Line]:
    """What an opened block shows, as far as it is known by now."""
    late = setting.sources.details if setting.sources is not None else None
    if late is None:
        return details_of(setting, wanted, operation, width)
    found = late.get(OperationLayout(wanted, width, setting.look))
    return found or [Line([Piece(setting.look.glyphs.more, setting.look.muted, None, True)])]


def curl_of(sources: Sources, block: Block) -> str:
    """The command that sends what a block shows, if that is known."""
    if block.kind != "openapi":
        return ""
    specification, _ = _read(sources, block)
    operation, _ = _known_operation(sources, wanted_by(specification, block) if specification is not None else None)
    return operation.curl if operation is not None else ""


def _read(sources: Sources | None, block: Block) -> tuple[Specification | None, str]:
    """Return the specification that a block names, or why there is none."""
    spec, source = str(block.attrs.get("spec") or ""), str(block.attrs.get("src") or "")
    named = spec or source
    if not named:
        return None, "This block does not name an OpenAPI specification."
    if sources is None or sources.specifications is None:
        return None, ""
    is_address = not spec or "/" in spec
    asked = sources.targets.target(named) if is_address and sources.targets is not None else named
    specification = sources.specifications.get(asked)
    if specification is None:
        return None, f"Loading the specification {named}…"
    return (None, specification.trouble) if specification.trouble else (specification, "")


def _head(block: Block, operation: Operation | None, look: Styles, spot: Spot | None) -> tuple[list[Piece], Piece, str]:
    """What is shown: its sort or method, what it is called or its path, and its summary."""
    attrs = block.attrs
    variant = str(attrs.get("variant") or "operation")
    if variant in ("schemas", "file"):
        named = ", ".join(str(name) for name in attrs.get("schemas") or ())
        named = named if variant == "schemas" else str(attrs.get("spec") or attrs.get("src") or "")
        sort = "SCHEMAS" if variant == "schemas" else "API"
        return [Piece(f"{sort} ", look.accent + Style(bold=True), spot, True)], Piece(named, look.strong, spot), ""
    method = str(attrs.get("method") or ("webhook" if variant == "webhook" else "get")).upper()
    path = str(attrs.get("path") or attrs.get("name") or "")
    struck = Style(strike=True) if operation is not None and operation.deprecated else PLAIN
    summary = operation.summary if operation is not None else ""
    return (
        [Piece(method, method_style(method, look), spot), Piece("  ")],
        Piece(path, look.strong + struck, spot),
        summary,
    )


def _bar(setting: LayoutContext, left: list[Piece], address: Piece, summary: str, right: str, width: int) -> list[Line]:
    """A line on a ground of its own, with what it is `from` at the right where that has room. No address is ever cut: one
    that is too long goes on below, and so does the summary."""
    look, room = setting.look, width - 1
    tail = [Piece(right, look.muted, None, True)] if right else []
    summed = [Piece("  ", PLAIN, None, True), Piece(summary, look.text, None, True)] if summary else []
    rows = hanging(left, address, room)
    if width_of(rows[-1]) + width_of(summed) <= room:
        rows[-1] = [*rows[-1], *summed]
    else:
        blank = [Piece(" " * 2, PLAIN, None, True)]
        rows += [[*blank, *row] for row in wrap(summed[1:], room - 2)]
    if tail and width_of(rows[0]) + width_of(tail) + 2 <= room:
        rows[0] = [*padded(rows[0], room - width_of(tail)), *tail]
    return [Line(padded(on(look.surface, row), width, look.surface)) for row in rows]


def hanging(left: list[Piece], address: Piece, width: int) -> list[list[Piece]]:
    """A method and the whole of an address, in lines below each other where they are too long for one: a line ends with a
    step of the address."""
    hang = width_of(left)
    rows = [left]
    if hang > width // 2:
        hang = 2
        rows.append([Piece("  ", PLAIN, None, True)])
    for step in re.split("(?<=/)", address.text):
        for part in wrap([address._replace(text=step)], width - hang):
            if width_of(rows[-1]) + width_of(part) > width:
                rows.append([Piece(" " * hang, PLAIN, None, True)])
            rows[-1] = [*rows[-1], *part]
    return rows


def _operation(setting: LayoutContext, operation: Operation, width: int) -> list[Line]:
    look = setting.look
    out: list[Line] = []
    if operation.deprecated:
        out += _words("Deprecated: may be removed in the future.", look.warning, width)
    if operation.server:
        out += _words(operation.server + operation.path, look.muted, width)
    out += _description(setting, operation.description, width, gap=bool(out))
    if operation.security:
        out += _group("authentication", look, out)
        out += _words("; or ".join(operation.security), look.text, width)
    for place, words in _PLACES.items():
        given = [each.field for each in operation.parameters if each.place == place]
        if given:
            out += _group(words, look, out)
            for each in given:
                out += _field(setting, each, width)
    for body in operation.bodies:
        out += _group(f"body{', required' if body.required else ''}", look, out)
        out += _body(setting, body, width)
    if operation.responses:
        out += _group("responses", look, out)
        shown: set[Field] = set()
        for response in operation.responses:
            out += _response(setting, response, width, shown)
    if operation.curl:
        out += [*_group("curl command", look, out, "press y to copy")]
        for row in operation.curl.split("\n"):
            out += indented(
                [Line(part) for part in wrap([Piece(row, look.code)], width - 4)], [Piece("  ")], [Piece("    ")]
            )
    return out


def _schemas(setting: LayoutContext, specification: Specification, names: Iterable[str], width: int) -> list[Line]:
    out: list[Line] = []
    for name in names:
        schema = specification.schema(name)
        out += [Line([])] if out else []
        if schema is None:
            out += _words(f"{specification.title} has no schema {name}.", setting.look.muted, width)
            continue
        out += _words(name, setting.look.strong, width)
        out += _described(setting, schema, width)
    return out


def _every(setting: LayoutContext, specification: Specification, width: int) -> list[Line]:
    look, out = setting.look, []
    every = list(specification.every())
    for method, path in every[:_MOST_LISTED]:
        left = [Piece(method.upper().ljust(8), method_style(method, look))]
        out += [Line(row) for row in hanging(left, Piece(path, look.text), width)]
    if len(every) > _MOST_LISTED:
        out.append(Line([Piece(f"and {len(every) - _MOST_LISTED} more", look.muted, None, True)]))
    return out


def _group(words: str, look: Styles, above: list[Line], beside: str = "") -> list[Line]:
    head = [Piece(words.upper(), look.muted + Style(bold=True), None, True)]
    if beside:
        head += [Piece("  ", PLAIN, None, True), Piece(beside, look.muted, None, True)]
    return [*([Line([])] if above else []), Line(head)]


def _response(setting: LayoutContext, response: Response, width: int, shown: set[Field]) -> list[Line]:
    """An answer. What several are made of is said once."""
    look = setting.look
    good = response.status.startswith(("1", "2", "3"))
    head = [Piece(response.status, (look.success if good else look.error) + Style(bold=True))]
    head += [Piece("  ", PLAIN, None, True), Piece(" ".join(response.description.split()), look.text)]
    out = indented([Line(part) for part in wrap(head, width - 2)], [Piece("  ")], [Piece("       ")])
    for body in response.bodies:
        if body.schema is not None and body.schema in shown:
            lines = _words(f"{body.media}  {body.schema.type}, as above", look.muted, width - 4)
        else:
            lines = _body(setting, body, width - 4)
        out += indented(lines, [Piece("    ")], [Piece("    ")])
        if body.schema is not None and body.schema.children:
            shown.add(body.schema)
    return out


def _body(setting: LayoutContext, body: Body, width: int) -> list[Line]:
    look = setting.look
    schema = body.schema
    head = [Piece(body.media, look.muted)]
    if schema is not None and schema.type not in ("object", "any"):
        head += [Piece("  ", PLAIN, None, True), Piece(schema.type, look.muted)]
    out = [Line(part) for part in wrap(head, width)]
    out += _description(setting, body.description, width)
    return out + (_described(setting, schema, width) if schema is not None else [])


def _described(setting: LayoutContext, schema: Field, width: int) -> list[Line]:
    """What is in a schema, without its name."""
    look = setting.look
    out = _description(setting, schema.description, width)
    if schema.note:
        out += _words(schema.note, look.muted, width)
    for child in schema.children:
        out += _field(setting, child, width)
    return out + (_words(f"{look.glyphs.more} {schema.more}", look.muted, width) if schema.more else [])


def _field(setting: LayoutContext, each: Field, width: int) -> list[Line]:
    look, width = setting.look, max(width, 12)
    head = (
        [Piece(each.name, look.strong + (Style(strike=True) if each.deprecated else PLAIN)), Piece(" ")]
        if each.name
        else []
    )
    head.append(Piece(each.type, look.muted))
    if each.required:
        head.append(Piece(" required", look.warning, None, True))
    if each.deprecated:
        head.append(Piece(" deprecated", look.warning, None, True))
    if each.note:
        head += [Piece(f" {look.glyphs.between} ", look.muted, None, True), Piece(each.note, look.muted)]
    inner: list[Line] = []
    if each.description:
        inner += _description(setting, each.description, width - 4)
    if each.more:
        inner += _words(f"{look.glyphs.more} {each.more}", look.muted, width - 4)
    within = [line for child in each.children for line in _field(setting, child, width - 2)]
    out = indented([Line(part) for part in wrap(head, width - 2)], [Piece("  ")], [Piece("    ")])
    return [*out, *indented(inner, [Piece("    ")], [Piece("    ")]), *indented(within, [Piece("  ")], [Piece("  ")])]


def _description(setting: LayoutContext, markdown: str, width: int, *, gap: bool = False) -> list[Line]:
    if not markdown:
        return []
    from octavo.documents.parse import parse  # the parser takes long to load, and only what is opened needs it

    lines = setting.flow(parse(markdown).blocks, width)
    for line in lines:
        line.block = None
    return [*([Line([])] if gap else []), *lines]


def _words(words: str, style: Style, width: int) -> list[Line]:
    return [Line(part) for part in wrap([Piece(words, style)], width)]
