"""Reads front matter of pages: strings, booleans, lists of strings, and mappings. Start reading at `parse_page`."""

from __future__ import annotations

import re
from textwrap import dedent
from typing import Any

_OPENING_LINE = re.compile(r"---[^\S\n]*\n")
_CLOSING_LINE = re.compile(r"^(?:---|\.\.\.)[^\S\n]*(?:\n|\Z)", re.MULTILINE)
_ENTRY = re.compile(r"(\s*)([\w$.-]+|\"[^\"]*\"|'[^']*')\s*:(?:\s+(.*)|)$")
_ITEM_OR_PLAIN_KEY = re.compile(r"\s*(?:- |[^\s'\"#].*?:(?:\s|$))")
_COMMENT = re.compile(r"(?<!\S)#.*")
_QUOTED_OR_LIST = re.compile(r"(\"(?:[^\"\\]|\\.)*+\"|'[^']*+(?:''[^']*+)*+'|\[[^\]]*\])(?:\s+#.*)?")
"""A quoted text or a list, and the comment after it."""
_LIST_ITEM = re.compile(r"""\s*+(?:"(?:[^"\\]|\\.)*+"|'(?:[^']|'')*+')\s*+(?=,|\Z)|[^,]+""")
_CONTINUED_LINE = re.compile(r"(?<!\\)((?:\\\\)*+)\\\n[ \t]*")
r"""A `\` at the end of a line in double quotes, and the next indentation. Group 1 has the backslashes to keep."""
_MAX_LENGTH = 65_536
"""Maximum number of characters of front matter, with both lines of dashes."""
MAX_DEPTH = 60
"""Maximum number of nested levels. Octavo itself uses at most three."""
_BOOLEANS = {"true": True, "false": False}
_NULLS = ("null", "~")
"""YAML values that mean that a key has no value."""

ESCAPES = {
    "\0": "0",
    "\a": "a",
    "\b": "b",
    "\t": "t",
    "\n": "n",
    "\v": "v",
    "\f": "f",
    "\r": "r",
    "\x1b": "e",
    '"': '"',
    "\\": "\\",
    "\x85": "N",
    "\xa0": "_",
    "\u2028": "L",
    "\u2029": "P",
}
"""Characters that YAML escapes in double quotes, each with the letter that follows the backslash."""
_UNESCAPES = {letter: char for char, letter in ESCAPES.items()} | {" ": " ", "/": "/", "\t": "\t"}
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)


class FrontMatterError(ValueError):
    """Raised if front matter cannot be read. The message is a cause without full stop, to be put after a colon."""


def split_page(source: str) -> tuple[str, int]:
    """Return the YAML of the front matter, and the position after the front matter. ("", 0) if the page has none, or if
    the lines between its markers do not look like YAML."""
    start_match = _OPENING_LINE.match(source)
    end_match = _CLOSING_LINE.search(source, start_match.end(), _MAX_LENGTH) if start_match is not None else None
    if start_match is None or end_match is None:
        return "", 0
    if not end_match[0].endswith("\n") and end_match.end() < len(source):
        return "", 0  # The search reached its limit in the middle of a line, so this is no closing line.
    inner = source[start_match.end() : end_match.start()]
    looks_like_yaml = all(not line.strip() or line[0] in " #-" or ":" in line for line in inner.split("\n"))
    return (inner, end_match.end()) if looks_like_yaml else ("", 0)


def parse_page(source: str) -> tuple[dict[str, Any], str]:
    """Return the front matter of a page as a mapping, and the text after it. Raises FrontMatterError."""
    yaml, start = split_page(source)
    return parse(yaml), source[start:].lstrip("\n") if start else source


def parse(yaml: str) -> dict[str, Any]:
    """Return front matter as a mapping with unsanitized texts. Skip unsupported lines. Raises FrontMatterError."""
    root: dict[str, Any] = {}
    levels: list[tuple[int, dict[str, Any]]] = [(-1, root)]
    pending_key: tuple[int, dict[str, Any], str] | None = None
    lines = yaml.split("\n")
    index = 0
    while index < len(lines):
        line = lines[index]
        index += 1
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        indent = len(line) - len(line.lstrip())
        if stripped.startswith("- ") and pending_key and indent >= pending_key[0]:
            _, parent, key = pending_key
            if not isinstance(parent.get(key), list):
                parent[key] = []
            item, index = _read_scalar(stripped[2:].strip(), lines, index, indent, len(levels))
            parent[key].append("" if item is None else item)
            continue
        entry_match = _ENTRY.match(line)
        if not entry_match:
            continue
        while levels[-1][0] >= indent:
            levels.pop()
        parent, key, value = levels[-1][1], entry_match[2].strip("\"'"), (entry_match[3] or "").strip()
        pending_key = (indent, parent, key)
        scalar, index = _read_scalar(value, lines, index, indent, len(levels))
        if scalar is not None:
            parent[key] = scalar
        else:
            parent[key] = {}
            _check_depth(len(levels))
            levels.append((indent, parent[key]))
    return root


def _read_scalar(first: str, lines: list[str], index: int, indent: int, depth: int) -> tuple[Any, int]:
    """Return the value that begins with `first`, the text after a key or `-`, and the index of the line after it. The
    value may continue on lines from `index` on with more than `indent` spaces. The value is None if it has no text."""
    lines_below, index_after = _lines_below(lines, index, indent)
    if first.startswith((">", "|")):
        return _fold(lines_below) if first[0] == ">" else dedent("\n".join(lines_below)), index_after
    is_quoted = first.startswith(("'", '"'))
    if not first.startswith("#") and (
        is_quoted or not any(_ENTRY.match(each) or _ITEM_OR_PLAIN_KEY.match(each) for each in lines_below)
    ):
        text = "\n".join([first, *lines_below] if first else lines_below).lstrip()
        text = _CONTINUED_LINE.sub(r"\1", text) if text.startswith('"') else text
        first, index = _fold(text.split("\n")), index_after
    quoted_match = _QUOTED_OR_LIST.fullmatch(first)
    first = quoted_match[1] if quoted_match else _COMMENT.sub("", first).rstrip()
    return (_parse_scalar(first, depth) if first and first.lower() not in _NULLS else None), index


def _lines_below(lines: list[str], index: int, indent: int) -> tuple[list[str], int]:
    found_lines = []
    while index < len(lines) and (not lines[index].strip() or len(lines[index]) - len(lines[index].lstrip()) > indent):
        found_lines.append(lines[index])
        index += 1
    while found_lines and not found_lines[-1].strip():
        found_lines.pop()
    return found_lines, index


def _fold(lines: list[str]) -> str:
    """Return the lines of a folded text, joined by spaces. An empty line becomes a line break."""
    text = ""
    for line in map(str.strip, lines):
        text += "\n" if not line else line if not text or text.endswith("\n") else f" {line}"
    return text


def _check_depth(depth: int) -> None:
    if depth > MAX_DEPTH:
        raise FrontMatterError(f"it has more than {MAX_DEPTH} nested levels")


def _parse_scalar(value: str, depth: int) -> Any:
    _check_depth(depth)
    value = value.strip()
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1].replace("''", "'") if value[0] == "'" else _unquote_double(value[1:-1])
    if value.startswith("[") and value.endswith("]"):
        return [_parse_scalar(part, depth + 1) for part in _LIST_ITEM.findall(value[1:-1]) if part.strip()]
    return _BOOLEANS.get(value.lower(), value)


def _unquote_double(inner: str) -> str:
    def replace(match: re.Match[str]) -> str:
        if digits := match[1] or match[2] or match[3]:
            code = int(digits, 16)
            return chr(code) if code <= 0x10FFFF else match[0]
        return _UNESCAPES.get(match[4], match[0])

    text = _ESCAPE.sub(replace, inner)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
