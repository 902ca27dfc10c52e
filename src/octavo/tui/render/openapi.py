"""Renders OpenAPI blocks: one line per operation, and its details when expanded. Also renders operations whose
parameters and responses are written on the page itself."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rich.style import Style

from octavo.documents.blocks import Block
from octavo.documents.openapi import Body, Operation, Response, Specification
from octavo.documents.openapi_schemas import SchemaField
from octavo.documents.source_reader import parse
from octavo.tui.render.block_slices import child_above_slice, has_end, has_start
from octavo.tui.render.deferred import DeferredContent, OperationDetailsQuery, OperationQuery
from octavo.tui.render.layout_context import LayoutContext, file_label
from octavo.tui.render.styled_lines import (
    Clickable,
    Line,
    StyledText,
    box,
    decoration,
    fit_title,
    flatten_emoji,
    indent,
    pad,
    width_of,
    with_background,
    wrap,
    wrap_text,
)
from octavo.tui.render.styles import PLAIN, Styles

_LOCATIONS = {"path": "in the path", "query": "in the query", "header": "in headers", "cookie": "in cookies"}
_MAX_LISTED = 400
"""Maximum number of operations that are listed for a block that shows a whole specification."""
_MAX_LINES = 1200
"""Maximum number of lines of details that one block shows."""


def method_style(method: str, styles: Styles) -> Style:
    """Return the style of an HTTP method, such as red and bold for `DELETE`."""
    style = {"POST": styles.success, "PUT": styles.warning, "PATCH": styles.warning, "DELETE": styles.error}.get(
        method.upper(), styles.accent
    )
    return style + Style(bold=True)


def render_openapi(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """Render an OpenAPI block: one line with method, path and summary, and the details if it is expanded."""
    if not has_start(block):
        return context.render_children(block, width)
    styles, attrs = context.styles, block.attrs
    variant = str(attrs.get("variant") or "operation")
    title = str(attrs.get("spec") or attrs.get("src") or "")
    block_above = context.block_above
    specification, problem = _loaded_specification(context.deferred, block)
    if (
        problem
        and block_above is not None
        and block_above.kind == block.kind
        and _loaded_specification(context.deferred, block_above)[1] == problem
    ):
        problem = ""  # The block above already shows this problem, so do not repeat it.
    query = operation_query(specification, block) if specification is not None else None
    operation, is_known = _known_operation(context.deferred, query)
    is_whole = variant in ("schemas", "file")
    is_open = context.view_state.is_expanded(block)
    if specification is not None and is_known and operation is None and not is_whole:
        kind_name = "webhook" if variant == "webhook" else "operation"
        name = specification.title_with_version or title
        problem = f"This {kind_name} is not in {name}: the {kind_name} may have been renamed or deleted."
    can_expand = query is not None and (is_whole or operation is not None or not is_known)
    details = (
        _loaded_details(context, query, operation, width - 2) if query is not None and can_expand and is_open else []
    )
    clickable = Clickable("fold", block.key) if can_expand else None
    sign = (styles.glyphs.opened if is_open else styles.glyphs.closed) if can_expand else " "
    method, address, summary = _summary_parts(block, operation, styles, clickable)
    right = f"from {title if attrs.get('spec') else file_label(title)}" if title and variant != "file" else ""
    result = _render_bar(
        context, [decoration(f"{sign} ", styles.accent, clickable), *method], address, summary, right, width
    )
    if details and not attrs.get("spec"):
        details = [*wrap_text(f"from {title}", styles.muted, width - 2), *details]
    if problem:
        blank = [decoration("  ")]
        result += indent([Line(line) for line in wrap([decoration(problem, styles.muted)], width - 2)], blank, blank)
    rail = [decoration(f"{styles.glyphs.vertical} ", styles.line)]
    return [*result, *indent(details, rail, rail), *context.render_blocks(block.children, width)]


def operation_query(specification: Specification, block: Block) -> OperationQuery:
    """Return the query for the operation, the webhook or the schemas of `specification` that a block shows."""
    attrs = block.attrs
    variant, path = str(attrs.get("variant") or "operation"), str(attrs.get("path") or "")
    name = str(attrs.get("name") or path) if variant == "webhook" else path
    schemas = tuple(str(each) for each in attrs.get("schemas") or ())
    return OperationQuery(specification, variant, str(attrs.get("method") or ""), name, schemas)


def find_operation(query: OperationQuery) -> Operation | None:
    """Return the operation or webhook that a query names. None if the specification does not contain it."""
    if query.variant == "webhook":
        return query.specification.webhook(query.path, query.method or "post")
    return query.specification.operation(query.method or "get", query.path) if query.path else None


def render_operation_details(
    context: LayoutContext, query: OperationQuery, operation: Operation | None, width: int
) -> list[Line]:
    """Render the details of an expanded OpenAPI block. After `_MAX_LINES` lines, a note replaces the rest."""
    if query.variant == "schemas":
        lines = _render_schemas(context, query.specification, query.schemas, width)
    elif query.variant == "file":
        lines = _render_all_operations(context, query.specification, width)
    else:
        lines = _render_operation(context, operation, width) if operation is not None else []
    if len(lines) > _MAX_LINES:
        more = Line([decoration("The rest of this block is too long to show.", context.styles.muted)])
        lines = [*lines[:_MAX_LINES], more]
    for line in lines:
        line.block = None  # The caller sets the whole OpenAPI block, because comments belong to it.
    return lines


def _known_operation(deferred: DeferredContent | None, query: OperationQuery | None) -> tuple[Operation | None, bool]:
    """Return the operation that `query` finds (None if not found so far), and whether the search has ended."""
    if query is None or query.variant in ("schemas", "file"):
        return None, True
    cache = deferred.operations if deferred is not None else None
    if cache is None:
        return find_operation(query), True
    result = cache.get(query)
    return result.operation if result is not None else None, result is not None


def _loaded_details(
    context: LayoutContext, query: OperationQuery, operation: Operation | None, width: int
) -> list[Line]:
    cache = context.deferred.details if context.deferred is not None else None
    if cache is None:
        return render_operation_details(context, query, operation, width)
    details = cache.get(OperationDetailsQuery(query, width, context.styles))
    if details is None:
        return [Line([decoration(context.styles.glyphs.ellipsis, context.styles.muted)])]
    return details


def curl_command(deferred: DeferredContent, block: Block) -> str:
    """Return the curl command of an OpenAPI block. Empty if it shows no operation, or one that is not loaded yet."""
    if block.kind != "openapi":
        return ""
    specification, _ = _loaded_specification(deferred, block)
    operation, _ = _known_operation(
        deferred, operation_query(specification, block) if specification is not None else None
    )
    return operation.curl if operation is not None else ""


def _loaded_specification(deferred: DeferredContent | None, block: Block) -> tuple[Specification | None, str]:
    """Return the specification that a block names, or None if it is loading, invalid or not named. Also return a
    sentence that says why there is none. The sentence is empty with a specification, or if none are loaded here."""
    spec, source = str(block.attrs.get("spec") or ""), str(block.attrs.get("src") or "")
    name = spec or source
    if not name:
        return None, "This block does not name an OpenAPI specification."
    if deferred is None or deferred.specifications is None:
        return None, ""
    is_address = not spec or "/" in spec
    query = deferred.targets.resolve(name) if is_address and deferred.targets is not None else name
    specification = deferred.specifications.get(query)
    if specification is None:
        return None, f"Loading the specification {name}…"
    return (None, specification.error) if specification.error else (specification, "")


def _summary_parts(
    block: Block, operation: Operation | None, styles: Styles, clickable: Clickable | None
) -> tuple[list[StyledText], StyledText, str]:
    """Return the parts of the line for an OpenAPI block: method or label (`GET`, `API`), path or name, and summary."""
    attrs = block.attrs
    variant = str(attrs.get("variant") or "operation")
    if variant in ("schemas", "file"):
        title = ", ".join(str(name) for name in attrs.get("schemas") or ())
        title = title if variant == "schemas" else str(attrs.get("spec") or attrs.get("src") or "")
        label = "SCHEMAS" if variant == "schemas" else "API"
        return (
            [decoration(f"{label} ", styles.accent + Style(bold=True), clickable)],
            StyledText(title, styles.strong, clickable),
            "",
        )
    method = str(attrs.get("method") or ("webhook" if variant == "webhook" else "get")).upper()
    path = str(attrs.get("path") or attrs.get("name") or "")
    strike = Style(strike=True) if operation is not None and operation.deprecated else PLAIN
    summary = operation.summary if operation is not None else ""
    return (
        [StyledText(method, method_style(method, styles), clickable), StyledText("  ")],
        StyledText(path, styles.strong + strike, clickable),
        summary,
    )


def _render_bar(
    context: LayoutContext, left: list[StyledText], path: StyledText, summary: str, right: str, width: int
) -> list[Line]:
    styles, available_width = context.styles, width - 1
    right_pieces = [decoration(right, styles.muted)] if right else []
    summary_pieces = [decoration("  "), decoration(summary, styles.text)] if summary else []
    rows = wrap_path(left, path, available_width)
    if width_of(rows[-1]) + width_of(summary_pieces) <= available_width:
        rows[-1] = [*rows[-1], *summary_pieces]
    else:
        blank = [decoration(" " * 2)]
        rows += [[*blank, *row] for row in wrap(summary_pieces[1:], available_width - 2)]
    if right_pieces and width_of(rows[0]) + width_of(right_pieces) + 2 <= available_width:
        rows[0] = [*pad(rows[0], available_width - width_of(right_pieces)), *right_pieces]
    return [Line(pad(with_background(styles.surface, row), width, styles.surface)) for row in rows]


def wrap_path(method: list[StyledText], path: StyledText, width: int) -> list[list[StyledText]]:
    """Return a method and its path as lines that break after slashes. Continuation lines are indented."""
    indent_width = width_of(method)
    rows = [method]
    if indent_width > width // 2:
        indent_width = 2
        rows.append([decoration("  ")])
    for segment in re.split("(?<=/)", path.text):
        for part in wrap([path._replace(text=segment)], width - indent_width):
            if width_of(rows[-1]) + width_of(part) > width:
                rows.append([decoration(" " * indent_width)])
            rows[-1] = [*rows[-1], *part]
    return rows


def _render_operation(context: LayoutContext, operation: Operation, width: int) -> list[Line]:
    styles = context.styles
    lines: list[Line] = []
    if operation.deprecated:
        lines += wrap_text("Deprecated: may be removed in the future.", styles.warning, width)
    if operation.server:
        lines += wrap_text(operation.server + operation.path, styles.muted, width)
    lines += _render_markdown(context, operation.description, width, gap=bool(lines))
    if operation.security:
        lines += _group_heading("authentication", styles, lines)
        lines += wrap_text("; or ".join(operation.security), styles.text, width)
    for location, heading in _LOCATIONS.items():
        fields = [each.field for each in operation.parameters if each.location == location]
        if fields:
            lines += _group_heading(heading, styles, lines)
            for each in fields:
                lines += _render_field(context, each, width)
    for body in operation.bodies:
        lines += _group_heading(f"body{', required' if body.required else ''}", styles, lines)
        lines += _render_body(context, body, width)
    if operation.responses:
        lines += _group_heading("responses", styles, lines)
        shown_schemas: set[SchemaField] = set()
        for response in operation.responses:
            lines += _render_response(context, response, width, shown_schemas)
    if operation.curl:
        lines += [*_group_heading("curl command", styles, lines, "press y to copy")]
        for row in operation.curl.split("\n"):
            lines += indent(
                [Line(part) for part in wrap([StyledText(row, styles.code)], width - 4)],
                [StyledText("  ")],
                [StyledText("    ")],
            )
    return lines


def _render_schemas(
    context: LayoutContext, specification: Specification, names: Iterable[str], width: int
) -> list[Line]:
    lines: list[Line] = []
    for name in names:
        schema = specification.schema(name)
        lines += [Line([])] if lines else []
        if schema is None:
            lines += wrap_text(f"{specification.title_with_version} has no schema {name}.", context.styles.muted, width)
            continue
        lines += wrap_text(name, context.styles.strong, width)
        lines += _render_schema(context, schema, width)
    return lines


def _render_all_operations(context: LayoutContext, specification: Specification, width: int) -> list[Line]:
    styles, lines = context.styles, []
    operations = list(specification.operations())
    for method, path in operations[:_MAX_LISTED]:
        left = [StyledText(method.upper().ljust(8), method_style(method, styles))]
        lines += [Line(row) for row in wrap_path(left, StyledText(path, styles.text), width)]
    if len(operations) > _MAX_LISTED:
        lines.append(Line([decoration(f"and {len(operations) - _MAX_LISTED} more", styles.muted)]))
    return lines


def _group_heading(text: str, styles: Styles, above: list[Line], beside: str = "") -> list[Line]:
    head = [decoration(text.upper(), styles.muted + Style(bold=True))]
    if beside:
        head += [decoration("  "), decoration(beside, styles.muted)]
    return [*([Line([])] if above else []), Line(head)]


def _status_piece(status: str, styles: Styles) -> StyledText:
    is_good = status.startswith(("1", "2", "3"))
    return StyledText(status, (styles.success if is_good else styles.error) + Style(bold=True))


def _render_response(context: LayoutContext, response: Response, width: int, shown: set[SchemaField]) -> list[Line]:
    """Render a response. Leave out the fields of schemas in `shown`. Add the other schemas with fields to `shown`."""
    styles = context.styles
    head = [_status_piece(response.status, styles)]
    head += [decoration("  "), StyledText(" ".join(response.description.split()), styles.text)]
    all_lines = indent([Line(part) for part in wrap(head, width - 2)], [StyledText("  ")], [StyledText("       ")])
    for body in response.bodies:
        if body.schema is not None and body.schema in shown:
            lines = wrap_text(f"{body.media_type}  {body.schema.type}, as above", styles.muted, width - 4)
        else:
            lines = _render_body(context, body, width - 4)
        all_lines += indent(lines, [StyledText("    ")], [StyledText("    ")])
        if body.schema is not None and body.schema.children:
            shown.add(body.schema)
    return all_lines


def _render_body(context: LayoutContext, body: Body, width: int) -> list[Line]:
    styles = context.styles
    schema = body.schema
    head = [StyledText(body.media_type, styles.muted)]
    if schema is not None and schema.type not in ("object", "any"):
        head += [decoration("  "), StyledText(schema.type, styles.muted)]
    result = [Line(part) for part in wrap(head, width)]
    result += _render_markdown(context, body.description, width)
    return result + (_render_schema(context, schema, width) if schema is not None else [])


def _render_schema(context: LayoutContext, schema: SchemaField, width: int) -> list[Line]:
    styles = context.styles
    result = _render_markdown(context, schema.description, width)
    if schema.note:
        result += wrap_text(schema.note, styles.muted, width)
    for child in schema.children:
        result += _render_field(context, child, width)
    return result + (
        wrap_text(f"{styles.glyphs.ellipsis} {schema.cut_off_reason}", styles.muted, width)
        if schema.cut_off_reason
        else []
    )


def _render_field(context: LayoutContext, schema_field: SchemaField, width: int) -> list[Line]:
    styles, width = context.styles, max(width, 12)
    head = (
        [
            StyledText(schema_field.name, styles.strong + (Style(strike=True) if schema_field.deprecated else PLAIN)),
            StyledText(" "),
        ]
        if schema_field.name
        else []
    )
    head.append(StyledText(schema_field.type, styles.muted))
    if schema_field.required:
        head.append(decoration(" required", styles.warning))
    if schema_field.deprecated:
        head.append(decoration(" deprecated", styles.warning))
    if schema_field.note:
        head += [decoration(f" {styles.glyphs.separator} ", styles.muted), StyledText(schema_field.note, styles.muted)]
    description_lines: list[Line] = []
    if schema_field.description:
        description_lines += _render_markdown(context, schema_field.description, width - 4)
    if schema_field.cut_off_reason:
        description_lines += wrap_text(
            f"{styles.glyphs.ellipsis} {schema_field.cut_off_reason}", styles.muted, width - 4
        )
    child_lines = [line for child in schema_field.children for line in _render_field(context, child, width - 2)]
    result = indent([Line(part) for part in wrap(head, width - 2)], [StyledText("  ")], [StyledText("    ")])
    return [
        *result,
        *indent(description_lines, [StyledText("    ")], [StyledText("    ")]),
        *indent(child_lines, [StyledText("  ")], [StyledText("  ")]),
    ]


def _render_markdown(context: LayoutContext, markdown: str, width: int, *, gap: bool = False) -> list[Line]:
    if not markdown:
        return []
    lines = context.render_blocks(parse(markdown).blocks, width)
    for line in lines:
        line.block = None
    return [*([Line([])] if gap else []), *lines]


def render_operation_block(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """Render an operation that the page itself describes, in a box with its parameters and responses."""
    styles, attrs = context.styles, block.attrs
    method = str(attrs.get("method") or "get").upper()
    address = f"{attrs.get('host') or ''}{attrs.get('path') or ''}"
    title = [StyledText(method, method_style(method, styles)), StyledText("  "), StyledText(address, styles.strong)]
    inner_width = width - 4
    rows: list[Line] = []
    if (summary := str(attrs.get("summary") or "")) and has_start(block):
        rows += wrap_text(flatten_emoji(summary), styles.strong, inner_width)
    body = render_operation_parts(context, block, inner_width)
    rows += [*([Line([])] if rows and body else []), *body]
    head, rows = fit_title(title if has_start(block) else (), rows, width)
    return box(rows, width, styles, title=head, edges=(has_start(block), has_end(block)))


def render_operation_part(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """Render a section, parameter or response that is outside of an operation block."""
    return render_operation_parts(context, Block("api-method", children=(block,)), width)


def render_operation_parts(context: LayoutContext, block: Block, width: int, shown_group: str = "") -> list[Line]:
    """Render the children of an operation: sections, parameters and responses. Each group has a heading. `shown_group`
    is the group whose heading is already shown above."""
    styles, is_continued = context.styles, not has_start(block)
    lines: list[Line] = []
    block_above = (child_above_slice(block) or block.children[0]) if is_continued else None
    group = _group_name(block_above) if block_above is not None else shown_group
    # A slice keeps its order, because a group may continue in the next slice.
    is_whole = has_start(block) and has_end(block)
    for child in _grouped_parameters(block.children) if is_whole else block.children:
        label = _group_name(child)
        match child.kind:
            case "api-section":
                body = render_operation_parts(context, child, width, "parameters" if label else "")
                label = label if body else ""
            case "api-parameter":
                body = _render_parameter(context, child, width)
            case "api-response":
                body = _render_page_response(context, child, width)
            case _:
                body = context.render_blocks([child], width)
        if not body:
            continue
        if has_start(child) and (label != group or not label):
            lines += [Line([])] if lines or is_continued else []
            name = [decoration(label.upper(), styles.muted + Style(bold=True))]
            lines += [Line(line) for line in wrap(name, width)] if label else []
        group = label
        lines += body
    return lines


def _grouped_parameters(children: Sequence[Block]) -> list[Block]:
    """Return the children of an operation. All parameters of a group follow the first parameter of this group."""
    groups = [_group_name(child) for child in children]

    def position(index: int) -> int:
        return groups.index(groups[index]) if groups[index].endswith("parameters") else index

    return [children[index] for index in sorted(range(len(children)), key=position)]


def _group_name(child: Block) -> str:
    match child.kind:
        case "api-section":
            name = str(child.attrs.get("name") or "")
            return "" if name in ("", "summary", "description") else name.replace("-", " ")
        case "api-parameter":
            return f"{child.attrs.get('in') or ''} parameters".strip()
        case "api-response":
            return "responses"
    return ""


def _render_parameter(context: LayoutContext, block: Block, width: int) -> list[Line]:
    styles, attrs = context.styles, block.attrs
    head = [StyledText(str(attrs.get("name") or ""), styles.strong)]
    if attrs.get("required"):
        head.append(decoration(" required", styles.warning))
    if attrs.get("type"):
        head += [decoration("  "), StyledText(str(attrs["type"]), styles.muted)]
    return _render_entry(context, head, block, width)


def _render_page_response(context: LayoutContext, block: Block, width: int) -> list[Line]:
    styles, attrs = context.styles, block.attrs
    head = [_status_piece(str(attrs.get("status") or "response"), styles)]
    if attrs.get("description"):
        head += [
            decoration("  "),
            StyledText(str(attrs["description"]).replace("·", styles.glyphs.separator), styles.text),
        ]
    return _render_entry(context, head, block, width)


def _render_entry(context: LayoutContext, head: list[StyledText], block: Block, width: int) -> list[Line]:
    body = context.render_children(block, width - 4)
    lines = [Line(line) for line in wrap(head, width - 4)] if has_start(block) else []
    blank = [decoration("  ")]
    return [*indent(lines, blank, [*blank, *blank]), *indent(body, [*blank, *blank], [*blank, *blank])]
