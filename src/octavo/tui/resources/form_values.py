"""Converts the text of a form to an operation, or to errors.

Every field is filled in with text. Empty text is not sent, None is null, a list has one item per line, a boolean is
`yes` or `no`, and an object is YAML.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from octavo.api.operation import SPECS, Operation
from octavo.api.wrong_values import rule
from octavo.documents import yaml_values
from octavo.documents.yaml_values import YamlError
from octavo.tui.resources.form_fields import FormField, constants_of

FieldTexts = Mapping[str, str | None]
"""Text of each field, by field name."""

FORM = ""
"""Field name of errors that belong to no single field."""
EMPTY_FORM = "Fill in at least one field."
_MISSING: Any = object()


@dataclass(frozen=True)
class FormResult:
    """The operation of a form, or the errors in it."""

    operation: Operation[Any] | None
    """None if the form has errors or no changes."""
    errors: Mapping[str, str] = field(default_factory=dict)
    """Error sentences by field name, or under `FORM` for the whole form."""
    changed_fields: frozenset[str] = frozenset()
    """Names of the operation's fields that have changed."""


# Initial text


def initial_texts(fields: Iterable[FormField], now: BaseModel | Mapping[str, Any] | None) -> dict[str, str | None]:
    """Return the initial text of each field: the values of the item, or the defaults of a new item."""
    return {each.name: _initial_text(each, now) for each in fields}


def unreported_fields(fields: Iterable[FormField], now: BaseModel | Mapping[str, Any] | None) -> frozenset[str]:
    """Return the names of the fields whose present value the server does not send."""
    return frozenset(each.name for each in fields if now is not None and _present_value(each, now) is _MISSING)


def _initial_text(made: FormField, now: BaseModel | Mapping[str, Any] | None) -> str | None:
    if now is None:
        return text_of_value(made, made.default) if made.default is not None else ""
    value = _present_value(made, now)
    return "" if value is _MISSING else text_of_value(made, value)


def _present_value(made: FormField, now: BaseModel | Mapping[str, Any]) -> Any:
    value: Any = now
    for name, wire in zip(made.name.split("."), made.json_path, strict=True):
        value = _inner_value(value, name, wire)
    return value


def _inner_value(value: Any, name: str, wire: str) -> Any:
    if isinstance(value, BaseModel):
        # In responses, an ID can replace a model with a single field: the ID of a team.
        return getattr(value, name, _MISSING)
    if isinstance(value, Mapping):
        return value.get(wire, value.get(name, _MISSING))
    return None if value is None else _MISSING


def text_of_value(made: FormField, value: Any) -> str | None:
    """Return a value as the text of its field. Empty if the field cannot contain the value."""
    if value is None:
        return None if made.is_nullable and made.kind in ("choice", "reference", "yes or no") else ""
    if made.kind == "structure":
        return yaml_values.to_yaml(_json_value(value)).rstrip("\n") if value not in ((), {}, []) else ""
    if made.kind == "yes or no":
        return {True: "yes", False: "no"}.get(value, "") if isinstance(value, bool) else ""
    if made.kind in ("list", "choices"):
        if isinstance(value, str):
            return value if value in made.choices else ""
        return "\n".join(filter(None, map(_line_of, value))) if isinstance(value, Sequence) else ""
    return _line_of(value)


def _line_of(value: Any) -> str:
    """Return a value as one line of text. An object is represented by its ID."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or value is None:
        return ""
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, date):
        return value.isoformat().replace("+00:00", "Z")
    named = value.get("id") if isinstance(value, Mapping) else getattr(value, "id", None)
    if isinstance(named, str):
        return named
    return "" if isinstance(value, BaseModel) else json.dumps(value, ensure_ascii=False)


def _json_value(value: Any) -> Any:
    """Return a value with its models converted to JSON."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True, exclude_unset=True)
    if isinstance(value, Mapping):
        return {str(name): _json_value(each) for name, each in value.items()}
    return [_json_value(each) for each in value] if isinstance(value, list | tuple) else value


# From text to operation


def build_request(
    operation: type[Operation[Any]],
    fields: Sequence[FormField],
    known: Mapping[str, Any],
    begin: FieldTexts,
    written: FieldTexts,
    *,
    anew: bool,
) -> FormResult:
    """Return the operation that the text of a form makes: its required fields, and what differs from `begin`.

    Without a change there is no operation. Where something is created (`anew`), an empty form is an error, even if the API
    would accept it: enter on an empty form must not create anything.
    """
    there = [each for each in fields if each.is_active(written)]
    was_there = {each.name for each in fields if each.is_active(begin)}
    changed = {
        each.operation_field
        for each in there
        if not is_same_text(written[each.name], begin[each.name]) or each.name not in was_there
    }
    if not changed and not anew:
        return FormResult(None)
    required = {name for name, info in operation.model_fields.items() if info.is_required()}
    values: dict[str, Any] = {}
    wrong = {
        each.name: f"{each.label} is required."
        for each in there
        if each.is_required
        and each.operation_field not in required
        and written[each.name] is not None
        and not _has_text(written, each)
    }
    if there and not changed and required.isdisjoint(each.operation_field for each in there) and not wrong:
        wrong = {FORM: EMPTY_FORM}
    for top in dict.fromkeys(each.operation_field for each in there):
        if top in changed | required:
            wrong |= _add_values(
                values, operation, top, [each for each in there if each.operation_field == top], begin, written
            )
    if not wrong:
        try:
            made = operation.model_validate({**known, **values})
        except ValidationError as invalid:
            wrong = _field_errors(invalid, there, written)
        else:
            return FormResult(made, {}, frozenset(changed))
    return FormResult(None, wrong, frozenset(changed))


def _has_text(written: FieldTexts, made: FormField) -> bool:
    return bool((written[made.name] or "").strip())


def is_same_text(one: str | None, other: str | None) -> bool:
    """Return whether two texts of a field are equal apart from surrounding spaces."""
    return one == other if one is None or other is None else one.strip() == other.strip()


def _add_values(
    values: dict[str, Any],
    operation: type[Operation[Any]],
    top: str,
    fields: Sequence[FormField],
    begin: FieldTexts,
    written: FieldTexts,
) -> dict[str, str]:
    """Add the values of one of the operation's fields to `values`. Return the errors by field name."""
    found: dict[tuple[str, ...], Any] = {}
    wrong: dict[str, str] = {}
    for each in fields:
        try:
            value = _request_value(each, written[each.name], begin[each.name] or "")
        except YamlError as fault:
            wrong[each.name] = f"{fault.place}: {fault.sentence}"
        else:
            if value is not _MISSING:
                found[each.json_path] = value
    if wrong:
        return wrong
    said = {way: value for way, value in found.items() if value is not None}
    if not said:
        if found and not _is_nullable(operation, top):
            return {fields[0].name: f"You can change {fields[0].label}, but you cannot remove it."}
        values |= {way[0]: None for way in found}
        return {}
    tops = {way[:end] for way in said for end in range(1, len(way))}
    constants = constants_of(operation, top, written) if tops else {}
    for way, value in {**{way: value for way, value in constants.items() if way[:-1] in tops}, **said}.items():
        _set_path(values, way, value)
    return {}


def _is_nullable(operation: type[Operation[Any]], top: str) -> bool:
    spec = SPECS.get(operation)
    return spec is None or top in spec.nullable


def _set_path(values: dict[str, Any], way: Sequence[str], value: Any) -> None:
    for name in way[:-1]:
        values = values.setdefault(name, {})
    values[way[-1]] = value


def _request_value(made: FormField, written: str | None, begin: str) -> Any:
    """Return the value of a field for the request. Raises YamlError."""
    if written is None:
        return None
    text = written if made.kind == "text" else written.strip()
    if not text.strip():
        return _cleared_value(made) if begin.strip() else _MISSING
    if made.kind == "yes or no":
        return {"yes": True, "no": False}.get(text, text)
    if made.kind == "structure":
        read = yaml_values.parse_yaml(text)
        return read.value if read is not None else None
    if made.kind == "choices" or (made.kind == "list" and text not in made.choices):
        return [_list_item(made, number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    return text


def _cleared_value(made: FormField) -> Any:
    """Return the value for a field whose text was deleted."""
    if made.is_nullable:
        return None
    if made.kind in ("list", "choices"):
        return []
    if made.kind == "structure":
        return {}
    return _MISSING if made.is_required else ""


def _list_item(made: FormField, number: int, line: str) -> Any:
    line = line.strip()
    if made.item_kind != "line" or not line.startswith("{"):
        return line
    try:
        read = yaml_values.parse_yaml(line)
    except YamlError as fault:
        raise YamlError(number, fault.sentence) from None
    return read.value if read is not None else line


# Errors


def _field_errors(invalid: ValidationError, fields: Sequence[FormField], written: FieldTexts) -> dict[str, str]:
    """Return the first error of each field."""
    found: dict[str, list[tuple[ErrorDetails, Sequence[int | str]]]] = {}
    for error in invalid.errors(include_url=False, include_input=False):
        name, inside = _field_of(error, fields)
        found.setdefault(name, []).append((error, inside))
    by_name = {each.name: each for each in fields}
    return {name: _error_sentence(by_name.get(name), errors, written.get(name) or "") for name, errors in found.items()}


def _error_sentence(
    made: FormField | None, errors: Sequence[tuple[ErrorDetails, Sequence[int | str]]], text: str
) -> str:
    first, inside = errors[0]
    alike = [error for error, _ in errors if error["type"] == first["type"]]
    if first["type"] == "value_error" and not first["loc"]:
        return _sentence(str(first["ctx"]["error"]))
    if made is None:
        return _sentence(f"{'.'.join(map(str, first['loc'])) or 'The value'} {rule(first, alike)}")
    if made.kind in ("list", "choices") and inside and isinstance(inside[0], int):
        return _sentence(f"line {inside[0] + 1} {rule(first, alike)}")
    if first["type"].startswith("union_tag") and made.choices:
        return f"{made.label} must be one of {', '.join(made.choices)}."
    if made.kind != "structure":
        return _sentence(f"{made.label} {rule(first, alike)}")
    place, inside = _locate(text, inside)
    return f"{place}{_sentence(f'{_dotted_path(inside) or made.label} {rule(first, alike)}')}"


def _locate(text: str, inside: Sequence[int | str]) -> tuple[str, Sequence[int | str]]:
    """Return the position of an error in YAML, and its path without the names of union members."""
    bare = text.strip()  # `_value` strips the text too, and `strip` removes some control characters.
    above = text[: text.find(bare)].count("\n")
    read = yaml_values.parse_yaml(bare)
    way: list[int | str] = []
    for number, part in enumerate(inside):
        below = None
        if read is not None and isinstance(part, int) and part < len(read.items):
            below = read.items[part]
        elif read is not None and isinstance(part, str):
            below = read.parts.get(part)
        if below is not None:
            read = below
            way.append(part)
        elif number == len(inside) - 1:
            way.append(part)
    return ("" if read is None else f"Line {read.line + above}, column {read.column}: "), way


def _dotted_path(inside: Sequence[int | str]) -> str:
    """Return the path to a value in an object, for example `items[0].name`."""
    way = ""
    for part in inside:
        way += f"[{part}]" if isinstance(part, int) else f".{part}" if way else part
    return way


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}{'' if words.endswith('.') else '.'}"


def _field_of(error: ErrorDetails, fields: Sequence[FormField]) -> tuple[str, Sequence[int | str]]:
    """Return the field with an error, and the path inside its value. Pydantic adds the names of union members to the
    path."""
    near = list(fields)
    depth, inside = 0, list(error["loc"])
    while inside and near:
        part = inside[0]
        on = [each for each in near if len(each.json_path) > depth and each.json_path[depth] == part]
        if on:
            near, depth = on, depth + 1
            inside.pop(0)
            if len(near) == 1 and len(near[0].json_path) == depth:
                break
        elif depth == 0:
            return FORM, inside
        elif any(len(each.json_path) > depth for each in near):
            inside.pop(0)  # The name of a union member.
        else:
            break
    if not near or depth == 0:
        return FORM, inside
    return near[0].name, [part for part in inside if not _is_union_member(part)]


def _is_union_member(part: int | str) -> bool:
    """Return whether a part of a path is Pydantic's name for a type: `literal['a']`, `constrained-str`,
    `Invitation`."""
    return (
        isinstance(part, str) and re.fullmatch(r"[a-z-]+\[.*\]|constrained-\w+|[A-Z]\w*|str|int|bool", part) is not None
    )


def field_in_error(sentence: str, fields: Sequence[FormField]) -> str:
    """Return the field that an error of the server mentions. `FORM` if it mentions none."""
    best: tuple[int, int, str] | None = None
    for each in fields:
        ways = {".".join(each.json_path), each.json_path[-1], each.json_path[0], each.label, each.name}
        for way in ways:
            if found := re.search(rf"(?<![\w-]){re.escape(way)}(?![\w-])", sentence, re.IGNORECASE):
                rank = (found.start(), -len(way), each.name)
                best = min(best, rank) if best is not None else rank
    return best[2] if best is not None else FORM
