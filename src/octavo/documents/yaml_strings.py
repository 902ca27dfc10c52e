"""Writes strings and small JSON values as YAML, as js-yaml does, which Git Sync uses. Front matter needs only these."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

WIDTH = 80
"""Columns of a line. Longer strings are folded."""
_NOT_TEXT = re.compile(
    r"(?:~|null|true|false|yes|no|on|off|y|n|[-+]?[0-9][0-9_]*|0[xo][0-9a-f]+|[-+]?(?:[0-9][0-9_]*)?\.[0-9_]*"
    r"(?:e[-+]?[0-9]+)?|[-+]?[0-9][0-9_.]*e[-+]?[0-9]+|[-+]?\.inf|\.nan|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}.*|<<|=)?",
    re.IGNORECASE,
)
"""Plain strings that YAML reads as another type."""
_INDICATOR = re.compile(r"[-?:](?=[ \t]|$)|[,\[\]{}#&*!|>=%@`\"'\s]|---")
"""Start of a string that cannot be plain."""
_BREAKS_PLAIN = re.compile(r":(?=\s|$)|\s#|\s$")
"""Text inside a string that cannot be plain."""
_UNPRINTABLE = re.compile("[^\t\n\x20-\x7e\xa1-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_ESCAPES = {
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
_UNESCAPES = {letter: char for char, letter in _ESCAPES.items()} | {" ": " ", "/": "/", "\t": "\t"}
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)


def unquote_double(inner: str) -> str:
    """Return the text of a string in double quotes, without the quotes. Unknown escapes stay as they are."""

    def replace(found: re.Match[str]) -> str:
        if digits := found[1] or found[2] or found[3]:
            code = int(digits, 16)
            return chr(code) if code <= 0x10FFFF else found[0]
        return _UNESCAPES.get(found[4], found[0])

    return _ESCAPE.sub(replace, inner)


def write_entry(key: str, value: Any, indent: str = "") -> Iterator[str]:
    """Yield the lines of an entry of a mapping. The value is a string, number, boolean, list or mapping."""
    name = f"{indent}{write_scalar(key)}:"
    if isinstance(value, dict) and value:
        yield name
        for each, inner in value.items():
            yield from write_entry(each, inner, f"{indent}  ")
    elif isinstance(value, list) and value:
        yield name
        for item in value:
            yield from _write_item(item, f"{indent}  ")
    elif isinstance(value, str):
        lines = _block(value, len(indent) + 2)
        if lines is None:
            yield f"{name} {write_scalar(value)}"
        else:
            yield f"{name} {lines[0]}"
            yield from (f"{indent}  {line}" if line else "" for line in lines[1:])
    else:
        yield f"{name} {write_scalar(value)}"


def _write_item(item: Any, indent: str) -> Iterator[str]:
    if not isinstance(item, dict) or not item:
        yield f"{indent}- {write_scalar(item)}"
        return
    lines = [line for key, value in item.items() for line in write_entry(key, value, f"{indent}  ")]
    yield f"{indent}- {lines[0].lstrip()}"
    yield from lines[1:]


def write_scalar(value: Any) -> str:
    """Return a string, number, boolean or empty list or mapping on one line."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if not isinstance(value, str):
        return str(value)
    if _UNPRINTABLE.search(value) or "\n" in value:
        return f'"{"".join(map(_escape, value))}"'
    if _NOT_TEXT.fullmatch(value) or _INDICATOR.match(value) or _BREAKS_PLAIN.search(value):
        return "'" + value.replace("'", "''") + "'"
    return value


def _escape(char: str) -> str:
    if char in _ESCAPES:
        return f"\\{_ESCAPES[char]}"
    if not _UNPRINTABLE.match(char):
        return char
    code = ord(char)
    return f"\\x{code:02X}" if code < 0x100 else f"\\u{code:04X}" if code < 0x10000 else f"\\U{code:08X}"


def _block(value: str, indent: int) -> list[str] | None:
    """Return a long or multi-line string as the sign of a block and its lines. None if it is written on one line."""
    lines = value.split("\n")
    if _UNPRINTABLE.search(value) or not value or any(line != line.strip() for line in lines):
        return None
    if len(lines) > 1:
        return ["|-", *lines] if lines[0] and lines[-1] else None
    width = max(min(WIDTH, 40), WIDTH - indent)
    return [">-", *_fold(value, width)] if len(value) > width else None


def _fold(line: str, width: int) -> list[str]:
    """Break a line at single spaces into lines of at most `width` columns, unless a word is longer."""
    found = [""]
    for word in re.split(r"(?<! ) (?! )", line):
        if not found[-1] or len(found[-1]) + 1 + len(word) <= width:
            found[-1] = f"{found[-1]} {word}" if found[-1] else word
        else:
            found.append(word)
    return found
