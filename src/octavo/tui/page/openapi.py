"""Interfaces that are described elsewhere: an operation in one line, opened in full from its specification."""

from __future__ import annotations

from collections.abc import Iterable

from rich.style import Style

from octavo.documents.blocks import Block
from octavo.documents.openapi import Body, Operation, Response, Specification
from octavo.documents.schemas import Field
from octavo.tui.page.lines import Line, Piece, Spot, fit, indented, on, padded, width_of
from octavo.tui.page.look import PLAIN, Look
from octavo.tui.page.setting import Setting
from octavo.tui.page.sources import Sources
from octavo.tui.page.wrap import wrap

_PLACES = {"path": "in the path", "query": "in the query", "header": "in headers", "cookie": "in cookies"}
_MOST_LISTED = 60
_MOST_LINES = 1200
"""Operations of a whole specification, and lines of one operation, that are shown."""


def method_style(method: str, look: Look) -> Style:
    """What a method does, as a colour: reading, making, changing, taking away."""
    style = {
        "POST": look.success,
        "PUT": look.warning,
        "PATCH": look.warning,
        "DELETE": look.error,
    }.get(method.upper(), look.accent)
    return style + Style(bold=True)


def openapi(setting: Setting, block: Block, width: int) -> list[Line]:
    """A part of a specification: its summary in a line, all of it when that is opened; else why there is no more."""
    look, attrs = setting.look, block.attrs
    spec = str(attrs.get("spec") or "")
    source = str(attrs.get("src") or "")
    variant = str(attrs.get("variant") or "operation")
    specification, trouble = _read(setting.sources, spec, source)
    operation = described(specification, block) if specification is not None else None
    is_open = setting.folds.is_open(block)
    details: list[Line] = []
    if specification is None:
        pass
    elif variant == "schemas":
        details = (
            _schemas(setting, specification, [str(name) for name in attrs.get("schemas") or ()], width - 2)
            if is_open
            else []
        )
    elif variant == "file":
        details = _every(setting, specification, width - 2) if is_open else []
    elif operation is None:
        trouble = f"{specification.title or spec} has no such {'webhook' if variant == 'webhook' else 'operation'}: it may have got another path."
    elif is_open:
        details = _operation(setting, operation, width - 2)
    opens = specification is not None and (operation is not None or variant in ("schemas", "file"))
    spot = Spot("fold", block.key) if opens else None
    sign = (look.glyphs.opened if is_open else look.glyphs.closed) if opens else " "
    left = [Piece(f"{sign} ", look.accent, spot, True), *_head(block, operation, look, spot)]
    named = spec or source
    right = [Piece(f"from {named}", look.muted, None, True)] if named and variant != "file" else []
    out = [_bar(setting, left, right, width)]
    if trouble:
        out += [Line(line) for line in wrap([Piece(f"  {trouble}", look.muted, None, True)], width)]
    if len(details) > _MOST_LINES:
        details = [
            *details[:_MOST_LINES],
            Line([Piece("There is more of it than is shown here.", look.muted, None, True)]),
        ]
    rail = [Piece(f"{look.glyphs.down} ", look.line, None, True)]
    for line in details:
        line.block = None  # a comment on any of it is one on the whole
    return [*out, *indented(details, rail, rail), *setting.flow(block.children, width)]


def described(specification: Specification, block: Block) -> Operation | None:
    """The operation or webhook a block shows."""
    attrs = block.attrs
    method, path = str(attrs.get("method") or ""), str(attrs.get("path") or "")
    if attrs.get("variant") == "webhook":
        return specification.webhook(str(attrs.get("name") or path), method or "post")
    return specification.operation(method or "get", path) if path else None


def curl_of(sources: Sources, block: Block) -> str:
    """The command that sends what a block shows, if that is known."""
    if block.kind != "openapi":
        return ""
    specification, _ = _read(sources, str(block.attrs.get("spec") or ""), "")
    operation = described(specification, block) if specification is not None else None
    return operation.curl if operation is not None else ""


def _read(sources: Sources | None, spec: str, source: str) -> tuple[Specification | None, str]:
    """What is described under a name; or nothing, and why."""
    if not spec:
        said = (
            f"It is described in {source}, which is not read here." if source else "Nothing says where it is described."
        )
        return None, said
    if sources is None or sources.specifications is None:
        return None, ""
    specification = sources.specifications.get(spec)
    if specification is None:
        return None, f"The specification {spec} is being read."
    return (None, specification.trouble) if specification.trouble else (specification, "")


def _head(block: Block, operation: Operation | None, look: Look, spot: Spot | None) -> list[Piece]:
    attrs = block.attrs
    variant = str(attrs.get("variant") or "operation")
    if variant == "schemas":
        names = ", ".join(str(name) for name in attrs.get("schemas") or ())
        return [Piece("SCHEMAS ", look.accent + Style(bold=True), spot, True), Piece(names, look.strong, spot)]
    if variant == "file":
        named = str(attrs.get("spec") or attrs.get("src") or "")
        return [Piece("INTERFACE ", look.accent + Style(bold=True), spot, True), Piece(named, look.strong, spot)]
    method = str(attrs.get("method") or ("webhook" if variant == "webhook" else "get")).upper()
    path = str(attrs.get("path") or attrs.get("name") or "")
    struck = Style(strike=True) if operation is not None and operation.deprecated else PLAIN
    out = [Piece(method, method_style(method, look), spot), Piece("  "), Piece(path, look.strong + struck, spot)]
    if operation is not None and operation.summary:
        out += [Piece("  ", PLAIN, None, True), Piece(operation.summary, look.text, None, True)]
    return out


def _bar(setting: Setting, left: list[Piece], right: list[Piece], width: int) -> Line:
    look = setting.look
    room = width - 1
    tail = right if width_of(left) + width_of(right) + 2 <= room else []
    pieces = [*padded(fit(left, room - width_of(tail), look.glyphs.more), room - width_of(tail)), *tail]
    return Line(padded(on(look.surface, pieces), width, look.surface))


def _operation(setting: Setting, operation: Operation, width: int) -> list[Line]:
    look = setting.look
    out: list[Line] = []
    if operation.deprecated:
        out += _words("Deprecated: it may be gone one day.", look.warning, width)
    if operation.server:
        out += _words(operation.server + operation.path, look.muted, width)
    out += _description(setting, operation.description, width, gap=bool(out))
    if operation.security:
        out += _group("who asks", look, out)
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
        out += _group("answers", look, out)
        shown: set[Field] = set()
        for response in operation.responses:
            out += _response(setting, response, width, shown)
    if operation.curl:
        out += [*_group("as a command", look, out, "y copies it")]
        for row in operation.curl.split("\n"):
            out += indented(
                [Line(part) for part in wrap([Piece(row, look.code)], width - 4)], [Piece("  ")], [Piece("    ")]
            )
    return out


def _schemas(setting: Setting, specification: Specification, names: Iterable[str], width: int) -> list[Line]:
    out: list[Line] = []
    for name in names:
        schema = specification.schema(name)
        out += [Line([])] if out else []
        if schema is None:
            out += _words(f"{name} is not among the schemas of {specification.title}.", setting.look.muted, width)
            continue
        out += _words(name, setting.look.strong, width)
        out += _described(setting, schema, width)
    return out


def _every(setting: Setting, specification: Specification, width: int) -> list[Line]:
    look, out = setting.look, []
    every = list(specification.every())
    for method, path in every[:_MOST_LISTED]:
        pieces = [Piece(method.upper().ljust(7), method_style(method, look)), Piece(path, look.text)]
        out.append(Line(fit(pieces, width, look.glyphs.more)))
    if len(every) > _MOST_LISTED:
        out.append(Line([Piece(f"and {len(every) - _MOST_LISTED} more", look.muted, None, True)]))
    return out


def _group(words: str, look: Look, above: list[Line], beside: str = "") -> list[Line]:
    head = [Piece(words.upper(), look.muted + Style(bold=True), None, True)]
    if beside:
        head += [Piece("  ", PLAIN, None, True), Piece(beside, look.muted, None, True)]
    return [*([Line([])] if above else []), Line(head)]


def _response(setting: Setting, response: Response, width: int, shown: set[Field]) -> list[Line]:
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


def _body(setting: Setting, body: Body, width: int) -> list[Line]:
    look = setting.look
    schema = body.schema
    head = [Piece(body.media, look.muted)]
    if schema is not None and schema.type not in ("object", "any"):
        head += [Piece("  ", PLAIN, None, True), Piece(schema.type, look.muted)]
    out = [Line(part) for part in wrap(head, width)]
    out += _description(setting, body.description, width)
    return out + (_described(setting, schema, width) if schema is not None else [])


def _described(setting: Setting, schema: Field, width: int) -> list[Line]:
    """What is in a schema, without its name."""
    look = setting.look
    out = _description(setting, schema.description, width)
    if schema.note:
        out += _words(schema.note, look.muted, width)
    for child in schema.children:
        out += _field(setting, child, width)
    return out + (_words(f"{look.glyphs.more} {schema.more}", look.muted, width) if schema.more else [])


def _field(setting: Setting, each: Field, width: int) -> list[Line]:
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


def _description(setting: Setting, markdown: str, width: int, *, gap: bool = False) -> list[Line]:
    if not markdown:
        return []
    from octavo.documents.parse import parse  # the parser takes long to load, and only what is opened needs it

    lines = setting.flow(parse(markdown).blocks, width)
    for line in lines:
        line.block = None
    return [*([Line([])] if gap else []), *lines]


def _words(words: str, style: Style, width: int) -> list[Line]:
    return [Line(part) for part in wrap([Piece(words, style)], width)]
