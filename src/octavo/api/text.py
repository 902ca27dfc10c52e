"""The one door between outside text and the terminal: types whose values are safe to show (T1).

A model field typed `SafeText` (many lines) or `SafeLine` (one line, at most 300 characters) is made
safe when the model is built. Control characters become visible pictures or U+FFFD, direction
overrides and invisible characters go, piles of combining marks are cut. Both functions are idempotent.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, GetJsonSchemaHandler, StringConstraints

if TYPE_CHECKING:
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import CoreSchema

LINE_LIMIT = 300

_DIRECTION = {*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C}
_INVISIBLE = {
    *(0x200B, 0x2060, 0x2061, 0x2062, 0x2063, 0x2064, 0xFEFF, 0x00AD, 0x180E, 0x034F),
    *(0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0),
    *range(0x206A, 0x2070),
    *range(0xFFF9, 0xFFFC),
    *range(0xE0000, 0xE0080),
    *range(0xE0100, 0xE01F0),
}
_NEW_LINES = {0x85, 0x2028, 0x2029}


def _table(*, multi_line: bool) -> dict[int, str | None]:
    table: dict[int, str | None] = {code: chr(0x2400 + code) for code in range(0x20)}
    table[0x7F] = "\u2421"
    table.update(dict.fromkeys({*range(0x80, 0xA0), *_DIRECTION, *range(0xD800, 0xE000)}, "\ufffd"))
    table.update(dict.fromkeys(_INVISIBLE))
    table.update(dict.fromkeys((plane << 16 | end for plane in range(17) for end in (0xFFFE, 0xFFFF)), "\ufffd"))
    table.update(dict.fromkeys(_NEW_LINES, "\n" if multi_line else " "))
    if multi_line:
        del table[0x0A], table[0x09]
    else:
        table.update({0x0A: " ", 0x09: " ", 0x0D: " "})
    return table


_TEXT_TABLE, _LINE_TABLE = _table(multi_line=True), _table(multi_line=False)
_MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0e31\u0e34-\u0e3a\u0e47-\u0e4e"
    "\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
)
_MANY_MARKS = re.compile(f"([{_MARKS}]{{4}})[{_MARKS}]+")
_ASCII_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def text(value: str) -> str:
    """`value` made safe to show, with its lines and tabs kept."""
    if "\r" in value:
        value = value.replace("\r\n", "\n").replace("\r", "\n")
    if value.isascii():
        return value.translate(_TEXT_TABLE) if _ASCII_CONTROL.search(value) else value
    return _MANY_MARKS.sub(r"\1", value.translate(_TEXT_TABLE))


def line(value: str) -> str:
    """`value` made safe to show on one line, cut at 300 characters."""
    value = address(value[: LINE_LIMIT * 4])
    return value if len(value) <= LINE_LIMIT else value[: LINE_LIMIT - 1] + "…"


def address(value: str) -> str:
    """`value` made safe to show on one line, whole."""
    if value.isascii() and value.isprintable():
        return value
    return _MANY_MARKS.sub(r"\1", value.translate(_LINE_TABLE))


def json(value: Any) -> Any:
    """A JSON value with every string in it, keys too, made safe to show."""
    if isinstance(value, str):
        return text(value)
    if isinstance(value, dict):
        return {text(key): json(each) for key, each in value.items()}
    if isinstance(value, list):
        return [json(each) for each in value]
    return value


SafeText = Annotated[str, AfterValidator(text)]
"""Text of many lines: bodies, descriptions."""

SafeLine = Annotated[str, AfterValidator(line)]
"""Text of one line: titles, names, statuses, addresses."""

SafeAddress = Annotated[str, AfterValidator(address)]
"""An address, or another line that is of no use when it is cut."""

SafeJson = Annotated[Any, AfterValidator(json)]
"""A JSON value of a shape we do not model."""

RawJson = Any
"""The same in a request: it travels as it was written."""

Id = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,128}$")]
"""An identifier that may stand in a path (C11)."""

UserId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-][A-Za-z0-9_:@.+-]{0,127}$")]
"""The identifier of a person or an agent, which may hold a colon."""

Email = Annotated[str, StringConstraints(max_length=320, pattern=r"^[^@/\s]+@[^@/\s]+\.[^@/\s]+$")]
"""An e-mail address, as written."""


@dataclass(frozen=True)
class Known:
    """The values of a string that are documented. Others may come, and are shown as they came (3.3)."""

    values: tuple[str, ...]

    def __init__(self, *values: str) -> None:
        object.__setattr__(self, "values", values)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Those who are told the shape of answers are told what is documented."""
        return {**handler(schema), "enum": list(self.values)}
