"""Finds platform tags such as `{% hint %}` (`TagScanner`), and converts them to blocks (`block_of_tag`)."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from octavo.api.safety import safe_text
from octavo.documents.anchors import anchor_of_title
from octavo.documents.blocks import NO_ATTRS, BlockTree, DraftBlock, Run

MAX_TAG_LENGTH = 20_000
"""Maximum length of a platform tag in characters."""

_NAME = re.compile(r"\{%-?[ \t\n]*(@?[A-Za-z][\w@./:-]*)")
_NEW_NAMES = {"code-tabs": "tabs", "code-tabs-item": "tab", "endcode-tabs": "endtabs", "endcode-tabs-item": "endtab"}
"""Current names of tags that the platform wrote in 2018."""
_KEY = re.compile(r"[A-Za-z_@:][\w:.-]*")
_END = re.compile(r"-?%\}")
_BLANK = re.compile(r"[ \t\n]*+")
_SHORT_END = re.compile(
    r"(\{%-?[ \t]*[A-Za-z][\w-]*+(?:[ \t]++[A-Za-z][\w:.-]*+=(?:\"[^\"\n%{}]*+\"|'[^'\n%{}]*+'))++)[ \t]*+\}(?=[ \t]*+(?:\n|$))"
)
"""A tag that wrongly ends with `}` instead of `%}`."""
_UNQUOTED = re.compile(r"(?:(?!-?%\})[^ \t\n])+")
_CLOSING_QUOTES = {'"': '"\u201d', "'": "'", "\u201c": '\u201d\u201c"', "\u201d": '\u201d\u201c"'}
_QUOTE = {opener: re.compile(f"[{closers}]") for opener, closers in _CLOSING_QUOTES.items()} | {
    "&quot;": re.compile("&quot;")
}
_OPENING_QUOTE = re.compile("|".join(_QUOTE))
_AFTER_VALUE = re.compile(
    r"(?:[ \t\n]++[A-Za-z][\w:.-]*+(?=[ \t\n]|-?%\})){0,4}+[ \t\n]*+(?:-?%\}|[A-Za-z_@:][\w:.-]*=)"
)
_ESCAPED = re.compile(r"\\([\\_*\[\](){}`#+.!|\"'<>~$-])")
_MAX_ENDS_IN_EXPRESSION = 4
_CONDITIONS = ("if", "elseif", "elif", "unless")


class Tag(NamedTuple):
    """A platform tag such as `{% hint style="info" %}`. `words` are values without key. `end` is the index after it."""

    name: str
    arguments: Mapping[str, str] = NO_ATTRS
    words: tuple[str, ...] = ()
    raw: str = ""
    """The source between the name and the end of the tag."""
    end: int = 0

    @property
    def closed_name(self) -> str | None:
        """The name of the tag that this end tag closes. None for other tags."""
        return self.name[3:] if self.name.startswith("end") and len(self.name) > 3 else None


class TagScanner:
    """Finds the platform tags in a source, in linear time."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._tags: dict[int, Tag | None] = {}
        self._scan_budget = 8 * len(source) + 20 * MAX_TAG_LENGTH

    def tag_at(self, position: int) -> Tag | None:
        """Return the tag that begins at `position`. None if there is none."""
        if position not in self._tags:
            self._tags[position] = self._scan(position)
        return self._tags[position]

    def _scan(self, start: int) -> Tag | None:
        source = self._source
        if source[start - 1 : start] == "{" or not (name_match := _NAME.match(source, start)):
            return None  # A shortcode such as `{{% tabs %}}` of another site generator is text.
        limit = min(len(source), start + MAX_TAG_LENGTH)
        if self._scan_budget <= 0:
            line_end = source.find("\n", start)
            limit = min(limit, line_end if line_end >= 0 else limit)
        if source.find("%}", start, limit) < 0:
            self._scan_budget -= limit - start
            return None
        if end_match := _SHORT_END.match(source, start):
            tag = _read_tag(f"{end_match[1]} %}}", name_match[1], name_match.end() - start, len(end_match[1]) + 3)
            return tag._replace(end=end_match.end()) if tag is not None else None
        tag = _read_tag(source, name_match[1], name_match.end(), limit)
        if tag is None:
            self._scan_budget -= limit - start
        return tag


def _read_tag(source: str, name: str, position: int, limit: int) -> Tag | None:
    start, name = position, _NEW_NAMES.get(name, name)
    if name in _CONDITIONS:
        end = _end_of_expression(source, position, limit)
        expression = safe_text(source[position:end].strip(" -\n\t"))
        return Tag(name, {"expression": expression}, (), source[position:end], end + 2)
    arguments: dict[str, str] = {}
    words: list[str] = []
    while True:
        position = _skip_blanks(source, position, limit)
        if end_match := _END.match(source, position, limit):
            return Tag(name, arguments, tuple(words), source[start:position].strip(), end_match.end())
        if position >= limit:
            return None
        key, position = _read_key(source, position, limit)
        value, after = _read_value(source, position, limit)
        position = max(after, position + 1)
        if key is not None:
            arguments.setdefault(key, value)
        elif value:
            words.append(value)


def _end_of_expression(source: str, position: int, limit: int) -> int:
    """Return where a condition ends before `limit`: at the first unquoted `%}` on its line, else the first, else -1."""
    first = end = source.find("%}", position, limit)
    for _ in range(_MAX_ENDS_IN_EXPRESSION):
        if all(source.count(quote, position, end) % 2 == 0 for quote in "\"'"):
            return end
        if (end := source.find("%}", end + 2, min(limit, _line_end(source, first)))) < 0:
            break
    return first


def _line_end(source: str, position: int) -> int:
    end = source.find("\n", position)
    return end if end >= 0 else len(source)


def _skip_blanks(source: str, position: int, limit: int) -> int:
    blank_match = _BLANK.match(source, position, limit)
    return blank_match.end() if blank_match else position


def _read_key(source: str, position: int, limit: int) -> tuple[str | None, int]:
    if not (key_match := _KEY.match(source, position, limit)):
        return None, position
    equals_position = _skip_blanks(source, key_match.end(), limit)
    if not source.startswith("=", equals_position):
        return None, position
    return key_match[0], _skip_blanks(source, equals_position + 1, limit)


def _read_value(source: str, position: int, limit: int) -> tuple[str, int]:
    opening_match = _OPENING_QUOTE.match(source, position, limit)
    if opening_match is None:
        bare_match = _UNQUOTED.match(source, position, limit)
        return (_unescaped_value(bare_match[0]), bare_match.end()) if bare_match else ("", position)
    start = opening_match.end()
    unclosed_end, quote_limit = _unclosed_value_end(source, start, limit)
    for end_match in _QUOTE[opening_match[0]].finditer(source, start, limit):
        if 0 <= quote_limit < end_match.start():
            break
        if not _is_escaped(source, end_match.start(), position) and _AFTER_VALUE.match(source, end_match.end(), limit):
            return _unescaped_value(source[start : end_match.start()]), end_match.end()
    end = unclosed_end if unclosed_end >= 0 else source.find("%}", position, limit)
    if end < 0:
        return "", limit
    return _unescaped_value(source[start:end].strip(" -\"'\u201c\u201d")), end


def _unclosed_value_end(source: str, start: int, limit: int) -> tuple[int, int]:
    """Return where a value without a closing quote would end, and the limit of the search for a closing quote. Both are
    -1 if the tag does not end on its line."""
    line_end = min(limit, _line_end(source, start))
    end = source.find("%}", start, line_end)
    if end < 0 or source.find("{%", start, end) >= 0:
        return -1, -1
    next_tag = source.find("{%", end, line_end)
    return end, next_tag if next_tag >= 0 else line_end


def _is_escaped(source: str, position: int, first: int) -> bool:
    first_backslash = position
    while first_backslash > first and source[first_backslash - 1] == "\\":
        first_backslash -= 1
    return (position - first_backslash) % 2 == 1


def _unescaped_value(value: str) -> str:
    return safe_text(_ESCAPED.sub(r"\1", html.unescape(value)))


PARENTS = {"tab": "tabs", "step": "stepper", "column": "columns", "update": "updates"}
"""Tags that must be inside another tag, with the name of that tag."""

ALWAYS_OPEN = frozenset(
    {"hint", "tabs", "tab", "stepper", "step", "columns", "column", "updates", "update", "if", "code"}
)
"""Tags that contain the following blocks even if they are never closed."""

BRANCHES = frozenset({"else", "elseif", "elif"})

_HINT_STYLES = {"tip": "success", "note": "info", "caution": "warning", "error": "danger", "working": "warning"}
_METHOD_SECTIONS = "api-method-"


def is_known_tag(name: str) -> bool:
    """Return whether Octavo turns a tag with that name into a block of its own kind."""
    return (
        name in _READERS
        or name in BRANCHES
        or name == "raw"
        or name.startswith(("@", "swagger", "api-method", "openapi"))
    )


def block_of_tag(tag: Tag) -> DraftBlock:
    """Return the empty block that an opening tag begins."""
    if tag.name.startswith("@"):
        return _integration(tag)
    if tag.name.startswith(_METHOD_SECTIONS):
        return _api_method_part(tag)
    reader = _READERS.get(tag.name)
    return reader(tag) if reader else _unknown_block(tag)


def open_parent(tree: BlockTree, tag: Tag, line: int) -> None:
    """Close an open sibling of the tag, such as another `tab`, and open a missing parent. Report each as a problem."""
    parent = PARENTS[tag.name]
    start = f"{{% {tag.name}"
    if (sibling := tree.find_open_sibling(f"tag:{tag.name}", f"tag:{parent}")) is not None:
        tree.report(sibling.first_line, f"{start} %}} is not closed before the next {start} %}} begins.", start)
        tree.close(f"tag:{tag.name}", line)
    if tree.innermost.kind != parent:
        tree.report(line, f"{start} %}} is outside {{% {parent} %}}.", start)
        tree.open(f"tag:{parent}", DraftBlock(parent, first_line=line))


def _texts(tag: Tag, **names: str) -> dict[str, Any]:
    """Return the non-empty arguments of a tag as attributes. `names` has the name of the argument by attribute."""
    return {attribute: tag.arguments[argument] for attribute, argument in names.items() if tag.arguments.get(argument)}


def _flags(tag: Tag, **names: str) -> dict[str, Any]:
    """Return the on-off arguments that a tag has as attributes, such as `{"required": True}`. `names` maps attributes
    to arguments. An argument without value counts as on."""
    return {
        attribute: tag.arguments.get(argument, "true").lower() not in ("false", "0", "no")
        for attribute, argument in names.items()
        if argument in tag.arguments or argument in tag.words
    }


def _argument_or_first_word(tag: Tag, *names: str) -> str:
    return next((tag.arguments[name] for name in names if name in tag.arguments), tag.words[0] if tag.words else "")


def _hint(tag: Tag) -> DraftBlock:
    style = tag.arguments.get("style", "info").lower()
    style = _HINT_STYLES.get(style, style)
    return DraftBlock("hint", {"style": style or "info", **_texts(tag, icon="icon")})


def _tab(tag: Tag) -> DraftBlock:
    title = tag.arguments.get("title", "")
    given_slug = tag.arguments.get("slug") or anchor_of_title(title)
    return DraftBlock("tab", {"title": title, "slug": given_slug, **_texts(tag, icon="icon")})


def _column(tag: Tag) -> DraftBlock:
    attrs = _texts(tag, valign="valign")
    try:
        width = float(tag.arguments.get("width", "").rstrip("% "))
    except ValueError:
        return DraftBlock("column", attrs)
    return DraftBlock("column", {"width": width, **attrs} if 0 < width <= 100 else attrs)


def _expandable(tag: Tag) -> DraftBlock:
    """Return the block of a tag `{% expandable %}`. The platform has no such tag, but some authors write it."""
    title = tag.arguments.get("title", "")
    attrs = {"open": is_open} if (is_open := any(_flags(tag, open="open", expanded="expanded").values())) else {}
    return DraftBlock("expandable", attrs, runs=(Run(title),) if title else ())


def _update(tag: Tag) -> DraftBlock:
    tags = tuple(name for part in tag.arguments.get("tags", "").split(",") if (name := part.strip()))
    return DraftBlock("update", {"date": _argument_or_first_word(tag, "date"), "tags": tags})


def _prompt(tag: Tag) -> DraftBlock:
    attrs = _texts(tag, description="description", icon="icon")
    default_expanded = tag.arguments.get("defaultExpanded", "").strip("\u201c\u201d ")
    attrs["expanded"] = default_expanded if default_expanded in ("hidden", "partial", "full") else "partial"
    return DraftBlock("prompt", {**attrs, **_flags(tag, providers="openInAIProviders")})


def _code(tag: Tag) -> DraftBlock:
    attrs = _texts(tag, title="title") | _flags(
        tag, numbers="lineNumbers", expandable="expandable", full_width="fullWidth"
    )
    if "overflow" in tag.arguments:
        attrs["wrap"] = tag.arguments["overflow"] == "wrap"
    return DraftBlock("code-wrapper", attrs)


def _embed(tag: Tag) -> DraftBlock:
    attrs = {"url": _argument_or_first_word(tag, "url", "src"), **_flags(tag, full_width="fullWidth")}
    return DraftBlock("embed", attrs | _texts(tag, caption="caption"))


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
    if location := tag.arguments.get("in"):
        attrs["in"] = location
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
    "updates": lambda tag: DraftBlock("updates", {"format": tag.arguments.get("format", "full")}),
    "update": _update,
    "expandable": _expandable,
    "prompt": _prompt,
    "code": _code,
    **dict.fromkeys(
        ("content-ref", "page-ref"),
        lambda tag: DraftBlock("content-ref", {"url": _argument_or_first_word(tag, "url", "page")}),
    ),
    "embed": _embed,
    "file": lambda tag: DraftBlock(
        "file", {"src": _argument_or_first_word(tag, "src", "url")} | _texts(tag, caption="caption")
    ),
    "include": lambda tag: DraftBlock("include", {"target": _argument_or_first_word(tag, "src", "file", "url")}),
    "if": _condition,
    "unless": _condition,
    "openapi": _openapi,
    "openapi-operation": _openapi,
    "openapi-schemas": _openapi,
    "openapi-webhook": _openapi,
    "swagger": lambda tag: _openapi(Tag("openapi", tag.arguments)) if tag.arguments.get("src") else _api_method(tag),
    "swagger-description": lambda tag: DraftBlock("api-section", {"name": "description"}),
    "swagger-parameter": _api_parameter,
    "swagger-response": _api_response,
    "api-method": _api_method,
    "conflict": lambda tag: DraftBlock("conflict"),
    "conflict-side": lambda tag: DraftBlock("side", {"name": tag.arguments.get("name", "")}),
}

TAG_NAMES = tuple(name for name in _READERS if not name.startswith("conflict"))
"""Names of all tags that authors write. For an unknown tag, a similar name is suggested."""
