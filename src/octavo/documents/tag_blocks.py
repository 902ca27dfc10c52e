"""Converts platform tags to blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from octavo.documents.anchors import slug
from octavo.documents.blocks import Run
from octavo.documents.open_blocks import BlockTree, DraftBlock
from octavo.documents.tags import Tag

PARENTS = {"tab": "tabs", "step": "stepper", "column": "columns", "update": "updates"}
"""Tags that must be inside a parent tag, with the name of the parent."""

ALWAYS_OPEN = frozenset(
    {"hint", "tabs", "tab", "stepper", "step", "columns", "column", "updates", "update", "if", "code"}
)
"""Tags that contain the following blocks even if they are never closed."""

BRANCHES = frozenset({"else", "elseif", "elif"})

_STYLES = {"tip": "success", "note": "info", "caution": "warning", "error": "danger", "working": "warning"}
_METHOD_SECTIONS = "api-method-"


def is_known_tag(name: str) -> bool:
    """Return whether the platform has a tag with that name."""
    return (
        name in _READERS
        or name in BRANCHES
        or name == "raw"
        or name.startswith(("@", "swagger", "api-method", "openapi"))
    )


def block_of_tag(tag: Tag) -> DraftBlock:
    """Return the block that begins with `tag`."""
    if tag.name.startswith("@"):
        return _integration(tag)
    if tag.name.startswith(_METHOD_SECTIONS):
        return _api_method_part(tag)
    maker = _READERS.get(tag.name)
    return maker(tag) if maker else _unknown_block(tag)


def open_parent(tree: BlockTree, tag: Tag, line: int) -> None:
    """Prepare the tree for a tag that needs a parent: close an open sibling, and open the parent if it is missing."""
    parent = PARENTS[tag.name]
    start = f"{{% {tag.name}"
    if (sibling := tree.open_sibling(tag.name, parent)) is not None:
        tree.report(sibling.first, f"{start} %}} is not closed before the next {start} %}} begins.", start)
        tree.close(f"tag:{tag.name}", line)
    if tree.top.kind != parent:
        tree.report(line, f"{start} %}} is outside {{% {parent} %}}.", start)
        tree.open(f"tag:{parent}", DraftBlock(parent, first=line))


def _texts(tag: Tag, **names: str) -> dict[str, Any]:
    """Return the text arguments of a tag. `names` maps attributes of blocks to arguments."""
    return {ours: tag.arguments[theirs] for ours, theirs in names.items() if tag.arguments.get(theirs)}


def _flags(tag: Tag, **names: str) -> dict[str, Any]:
    """Return the boolean arguments of a tag. `names` maps attributes of blocks to arguments."""
    return {
        ours: tag.arguments.get(theirs, "true").lower() not in ("false", "0", "no")
        for ours, theirs in names.items()
        if theirs in tag.arguments or theirs in tag.words
    }


def _first_word(tag: Tag, *names: str) -> str:
    """Return an argument by name. Older Markdown writes it as the first word without a name. Empty if it is missing."""
    return next((tag.arguments[name] for name in names if name in tag.arguments), tag.words[0] if tag.words else "")


def _hint(tag: Tag) -> DraftBlock:
    style = tag.arguments.get("style", "info").lower()
    style = _STYLES.get(style, style)
    return DraftBlock("hint", {"style": style or "info", **_texts(tag, icon="icon")})


def _tab(tag: Tag) -> DraftBlock:
    title = tag.arguments.get("title", "")
    given_slug = tag.arguments.get("slug") or slug(title)
    return DraftBlock("tab", {"title": title, "slug": given_slug, **_texts(tag, icon="icon")})


def _column(tag: Tag) -> DraftBlock:
    attrs = _texts(tag, valign="valign")
    try:
        width = float(tag.arguments.get("width", "").rstrip("% "))
    except ValueError:
        return DraftBlock("column", attrs)
    return DraftBlock("column", {"width": width, **attrs} if 0 < width <= 100 else attrs)


def _updates(tag: Tag) -> DraftBlock:
    return DraftBlock("updates", {"format": tag.arguments.get("format", "full")})


def _expandable(tag: Tag) -> DraftBlock:
    """Return an expandable for the tag `expandable`. The platform has no such tag, but some authors write it."""
    title = tag.arguments.get("title", "")
    attrs = {"open": is_open} if (is_open := any(_flags(tag, open="open", expanded="expanded").values())) else {}
    return DraftBlock("expandable", attrs, runs=(Run(title),) if title else ())


def _update(tag: Tag) -> DraftBlock:
    tags = tuple(name for part in tag.arguments.get("tags", "").split(",") if (name := part.strip()))
    return DraftBlock("update", {"date": _first_word(tag, "date"), "tags": tags})


def _prompt(tag: Tag) -> DraftBlock:
    attrs = _texts(tag, description="description", icon="icon")
    expanded = tag.arguments.get("defaultExpanded", "").strip("\u201c\u201d ")
    attrs["expanded"] = expanded if expanded in ("hidden", "partial", "full") else "partial"
    return DraftBlock("prompt", {**attrs, **_flags(tag, providers="openInAIProviders")})


def _code(tag: Tag) -> DraftBlock:
    attrs = _texts(tag, title="title") | _flags(
        tag, numbers="lineNumbers", expandable="expandable", full_width="fullWidth"
    )
    if "overflow" in tag.arguments:
        attrs["wrap"] = tag.arguments["overflow"] == "wrap"
    return DraftBlock("code-wrapper", attrs)


def _content_ref(tag: Tag) -> DraftBlock:
    return DraftBlock("content-ref", {"url": _first_word(tag, "url", "page")})


def _embed(tag: Tag) -> DraftBlock:
    attrs = {"url": _first_word(tag, "url", "src"), **_flags(tag, full_width="fullWidth")}
    return DraftBlock("embed", attrs | _texts(tag, caption="caption"))


def _file(tag: Tag) -> DraftBlock:
    return DraftBlock("file", {"src": _first_word(tag, "src", "url")} | _texts(tag, caption="caption"))


def _include(tag: Tag) -> DraftBlock:
    return DraftBlock("include", {"target": _first_word(tag, "src", "file", "url")})


def _condition(tag: Tag) -> DraftBlock:
    expression = tag.arguments.get("expression", "")
    return DraftBlock("if", {"expression": f"not {expression}" if tag.name == "unless" else expression})


def _openapi(tag: Tag) -> DraftBlock:
    variant = tag.name.removeprefix("openapi").strip("-") or ("operation" if tag.arguments.get("path") else "file")
    attrs: dict[str, Any] = {"variant": variant}
    attrs |= _texts(tag, spec="spec", src="src", path="path", method="method", name="name")
    if schemas := tag.arguments.get("schemas"):
        attrs["schemas"] = tuple(name.strip() for name in schemas.split(",") if name.strip())
    attrs |= _flags(tag, grouped="grouped", expanded="expanded", full_width="fullWidth")
    if "method" in attrs:
        attrs["method"] = attrs["method"].lower()
    return DraftBlock("openapi", attrs)


def _swagger(tag: Tag) -> DraftBlock:
    return _openapi(Tag("openapi", tag.arguments)) if tag.arguments.get("src") else _api_method(tag)


def _api_method(tag: Tag) -> DraftBlock:
    attrs = _texts(tag, method="method", path="path", summary="summary")
    host = tag.arguments.get("baseUrl") or tag.arguments.get("host")
    if host:
        attrs["host"] = host
    if "method" in attrs:
        attrs["method"] = attrs["method"].lower()
    return DraftBlock("api-method", attrs)


def _api_parameter(tag: Tag) -> DraftBlock:
    attrs = {"name": tag.arguments.get("name", ""), **_texts(tag, type="type"), **_flags(tag, required="required")}
    if place := tag.arguments.get("in"):
        attrs["in"] = place
    return DraftBlock("api-parameter", attrs)


def _api_response(tag: Tag) -> DraftBlock:
    status, _, reason = (tag.arguments.get("status") or tag.arguments.get("httpCode", "")).partition(":")
    description = " · ".join(filter(None, (reason.strip(), tag.arguments.get("description", "").strip())))
    return DraftBlock(
        "api-response", {"status": status.strip(), **({"description": description} if description else {})}
    )


def _api_method_part(tag: Tag) -> DraftBlock:
    part = tag.name.removeprefix(_METHOD_SECTIONS)
    if part == "parameter":
        return _api_parameter(tag)
    if part == "response-example":
        return _api_response(tag)
    if part in ("spec", "request", "response"):
        return DraftBlock("group")
    return DraftBlock("api-section", {"name": part.removeprefix("response-example-")})


def _conflict_side(tag: Tag) -> DraftBlock:
    return DraftBlock("side", {"name": tag.arguments.get("name", "")})


def _integration(tag: Tag) -> DraftBlock:
    arguments = dict(tag.arguments)
    return DraftBlock("integration", {"name": tag.name[1:], "arguments": arguments}, text=arguments.get("content", ""))


def _unknown_block(tag: Tag) -> DraftBlock:
    arguments = dict(tag.arguments)
    if tag.words:
        arguments[""] = " ".join(tag.words)
    return DraftBlock("unknown", {"name": tag.name, "arguments": arguments})


_READERS: dict[str, Callable[[Tag], DraftBlock]] = {
    "hint": _hint,
    "tabs": lambda tag: DraftBlock("tabs"),
    "tab": _tab,
    "stepper": lambda tag: DraftBlock("stepper"),
    "step": lambda tag: DraftBlock("step", _texts(tag, icon="icon")),
    "columns": lambda tag: DraftBlock("columns", _flags(tag, full_width="fullWidth")),
    "column": _column,
    "updates": _updates,
    "update": _update,
    "expandable": _expandable,
    "prompt": _prompt,
    "code": _code,
    "content-ref": _content_ref,
    "page-ref": _content_ref,
    "embed": _embed,
    "file": _file,
    "include": _include,
    "if": _condition,
    "unless": _condition,
    "openapi": _openapi,
    "openapi-operation": _openapi,
    "openapi-schemas": _openapi,
    "openapi-webhook": _openapi,
    "swagger": _swagger,
    "swagger-description": lambda tag: DraftBlock("api-section", {"name": "description"}),
    "swagger-parameter": _api_parameter,
    "swagger-response": _api_response,
    "api-method": _api_method,
    "conflict": lambda tag: DraftBlock("conflict"),
    "conflict-side": _conflict_side,
}

TAG_NAMES = tuple(name for name in _READERS if not name.startswith("conflict"))
"""Names of the tags that authors write, to suggest one for an unknown name."""
