"""Returns error messages for invalid values. They name the field and the allowed values.

The command line shows them before it sends a request, and the embedded server when it rejects one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from octavo.api.operation import Spec, camel
from octavo.api.text import FORMS
from octavo.api.wire import body_fields

_KINDS = {
    "string_type": "text",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "date_from_datetime_parsing": "a date, for example 2026-11-23",
    "date_parsing": "a date, for example 2026-11-23",
    "datetime_from_date_parsing": "a date and time, for example 2026-11-23 or 2026-11-23T18:30Z",
    "datetime_parsing": "a date and time, for example 2026-11-23 or 2026-11-23T18:30Z",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "tuple_type": "a list",
}
"""Descriptions of allowed values, by the type of the pydantic error."""


def error_sentence(invalid: ValidationError, given: Any) -> str:
    """Return the message about the first invalid value. It contains the allowed values, but never the value itself.

    `given` is the JSON object with the values.
    """
    details = invalid.errors(include_url=False, include_input=False)
    first = details[0]
    if first["type"] == "value_error" and not first["loc"]:
        return f"{first['ctx']['error']}."  # An error about several fields, which its message names.
    field = _field(first, given)
    same = [each for each in details if each["type"] == first["type"] and _field(each, given) == field]
    return f"{field or 'The body'} {rule(first, same)}."


def null_error(spec: Spec, given: Mapping[str, Any]) -> str | None:
    """Return the message about the first value that must not be null, with its wire name. None if all values are
    allowed."""
    in_body = body_fields(spec) - {camel(name) for name in spec.nullable}
    wrong = next((name for name, value in given.items() if value is None and name in in_body), None)
    return f"{wrong} cannot be null. Leave {wrong} out to keep its value." if wrong else None


def rule(error: ErrorDetails, alike: list[ErrorDetails]) -> str:
    """Return the message about a value, such as `must be a whole number`. `alike` are all errors of the same type and
    field."""
    limits: dict[str, Any] = error.get("ctx", {})
    match error["type"]:
        case "missing":
            return "is required"
        case "string_too_long":
            return f"may have at most {_plural(limits['max_length'], 'character')}"
        case "string_too_short":
            return f"must have at least {_plural(limits['min_length'], 'character')}"
        case "too_long":
            return f"may have at most {_plural(limits['max_length'], 'item')}"
        case "too_short":
            return f"must have at least {_plural(limits['min_length'], 'item')}"
        case "less_than_equal":
            return f"may be at most {limits['le']}"
        case "greater_than_equal":
            return f"must be at least {limits['ge']}"
        case "literal_error":
            choices = ", ".join(str(each["ctx"]["expected"]) for each in alike)
            return f"must be one of {choices}" if "," in choices or " or " in choices else f"must be {choices}"
        case "string_pattern_mismatch":
            return f"must be {FORMS[limits['pattern']]}"
        case "union_tag_not_found":
            return f"must contain {limits['discriminator']}"
        case "union_tag_invalid":
            return f"must have {limits['discriminator']} set to one of {limits['expected_tags']}"
        case "value_error":
            return f"is not valid: {limits['error']}"
        case kind if kind in _KINDS:
            return f"must be {_KINDS[kind]}"
        case _:
            return "is not valid: " + error["msg"][:1].lower() + error["msg"][1:]


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _field(error: ErrorDetails, given: Any) -> str:
    """Return the wire path of a field, such as `position.before.space` or `changes[0].title`.

    The path of pydantic also has the names of the types that it tried. So a name that is not in the body is left out,
    unless it is the first name (a parameter of the path or query) or the name of a missing field.
    """
    parts, path, value = error["loc"], "", given
    for depth, part in enumerate(parts):
        is_in_body = isinstance(value, list) if isinstance(part, int) else isinstance(value, dict) and part in value
        if isinstance(part, int):
            path += f"[{part}]"
        elif is_in_body or depth == 0 or (depth == len(parts) - 1 and error["type"] == "missing"):
            path += f".{part}" if path else part
        if is_in_body:
            value = value[part]
    return path
