"""Converts the texts of a form to an API operation, and a form to YAML and back. Start at `build_request`.

The text of a field is None for null. A list has one item per line, a boolean is `yes` or `no`, and an object is YAML.
In the YAML of a form, an unchanged empty field is a comment. If the user deletes the line of a field, the field gets
its original text.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from textwrap import wrap
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from octavo.api.operation import SPECS, Operation
from octavo.api.wire import value_rule
from octavo.documents import yaml_values
from octavo.documents.yaml_values import YamlError, YamlValue
from octavo.tui.resources.form_fields import FormField, constants_of

FieldTexts = Mapping[str, str | None]
"""Text of each field, by field name. None stands for null."""

FORM = ""
"""Name that stands for the whole form where errors are listed by field name."""
EMPTY_FORM = "Fill in at least one field."
_MISSING: Any = object()


@dataclass(frozen=True)
class FormResult:
    """The operation that a form describes, or the errors in its texts."""

    operation: Operation[Any] | None
    """The operation to send. None if there are errors, or if nothing has changed."""
    errors: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Error sentences by field name. `FORM` stands for the whole form."""
    changed_fields: frozenset[str] = frozenset()
    """Names of the operation's fields that the user has changed."""


def initial_texts(fields: Iterable[FormField], item: BaseModel | Mapping[str, Any] | None) -> dict[str, str | None]:
    """Return the text of each field before the user types, by field name. The text is None for the value null."""
    return {field.name: _initial_text(field, item) for field in fields}


def unreported_fields(fields: Iterable[FormField], item: BaseModel | Mapping[str, Any] | None) -> frozenset[str]:
    """Return the names of the fields that the server does not send in `item`. Empty if `item` is None."""
    return frozenset(field.name for field in fields if item is not None and _current_value(field, item) is _MISSING)


def _initial_text(field: FormField, item: BaseModel | Mapping[str, Any] | None) -> str | None:
    if item is None:
        return text_of_value(field, field.default) if field.default is not None else ""
    value = _current_value(field, item)
    return "" if value is _MISSING else text_of_value(field, value)


def _current_value(field: FormField, item: BaseModel | Mapping[str, Any]) -> Any:
    value: Any = item
    for name, json_name in zip(field.name.split("."), field.json_path, strict=True):
        value = _inner_value(value, name, json_name)
    return value


def _inner_value(value: Any, name: str, json_name: str) -> Any:
    if isinstance(value, BaseModel):
        # The attribute may be missing, because a response may have the ID of an object instead of the object.
        return getattr(value, name, _MISSING)
    if isinstance(value, Mapping):
        return value.get(json_name, value.get(name, _MISSING))
    return None if value is None else _MISSING


def text_of_value(field: FormField, value: Any) -> str | None:
    """Return the text that a field shows for `value`. None for null in a field in which null can be chosen."""
    if value is None:
        return None if field.is_nullable and field.kind in ("choice", "reference", "yes or no") else ""
    if field.kind == "structure":
        return yaml_values.to_yaml(_json_value(value)).rstrip("\n") if value not in ((), {}, []) else ""
    if field.kind == "yes or no":
        return {True: "yes", False: "no"}.get(value, "") if isinstance(value, bool) else ""
    if field.kind in ("list", "choices"):
        if isinstance(value, str):
            return value if value in field.choices else ""
        return "\n".join(filter(None, map(_line_of, value))) if isinstance(value, Sequence) else ""
    return _line_of(value)


def _line_of(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or value is None:
        return ""
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, date):
        return value.isoformat().replace("+00:00", "Z")
    object_id = value.get("id") if isinstance(value, Mapping) else getattr(value, "id", None)
    if isinstance(object_id, str):
        return object_id
    return "" if isinstance(value, BaseModel) else json.dumps(value, ensure_ascii=False)


def _json_value(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True, exclude_unset=True)
    if isinstance(value, Mapping):
        return {str(name): _json_value(each) for name, each in value.items()}
    return [_json_value(each) for each in value] if isinstance(value, list | tuple) else value


def build_request(
    operation: type[Operation[Any]],
    fields: Sequence[FormField],
    arguments: Mapping[str, Any],
    initial: FieldTexts,
    texts: FieldTexts,
    *,
    is_new: bool,
) -> FormResult:
    """Return the operation with its required and changed fields, or the errors in the texts. Without changes, the
    result has neither operation nor errors. But if `is_new`, an empty form is an error."""
    shown_fields = [field for field in fields if field.is_shown(texts)]
    old_shown_names = {field.name for field in fields if field.is_shown(initial)}
    changed_names = {
        field.operation_field
        for field in shown_fields
        if not is_same_text(texts[field.name], initial[field.name]) or field.name not in old_shown_names
    }
    if not changed_names and not is_new:
        return FormResult(None)
    required_names = {name for name, info in operation.model_fields.items() if info.is_required()}
    values: dict[str, Any] = {}
    errors = {
        field.name: f"{field.label} is required."
        for field in shown_fields
        if field.is_required
        and field.operation_field not in required_names
        and texts[field.name] is not None
        and not (texts[field.name] or "").strip()
    }
    if (
        shown_fields
        and not changed_names
        and required_names.isdisjoint(field.operation_field for field in shown_fields)
        and not errors
    ):
        # The API may accept an empty form, but a key press by accident must create nothing.
        errors = {FORM: EMPTY_FORM}
    for operation_field in dict.fromkeys(field.operation_field for field in shown_fields):
        if operation_field in changed_names | required_names:
            errors |= _add_values(
                values,
                operation,
                operation_field,
                [field for field in shown_fields if field.operation_field == operation_field],
                initial,
                texts,
            )
    if not errors:
        try:
            request = operation.model_validate({**arguments, **values})
        except ValidationError as validation_error:
            errors = _field_errors(validation_error, shown_fields, texts)
        else:
            return FormResult(request, {}, frozenset(changed_names))
    return FormResult(None, errors, frozenset(changed_names))


def is_same_text(first: str | None, second: str | None) -> bool:
    """Return whether two texts of a field are equal apart from surrounding white space. None equals only None."""
    return first == second if first is None or second is None else first.strip() == second.strip()


def _add_values(
    values: dict[str, Any],
    operation: type[Operation[Any]],
    operation_field: str,
    fields: Sequence[FormField],
    initial: FieldTexts,
    texts: FieldTexts,
) -> dict[str, str]:
    """Add the value of `operation_field` to `values`. `fields` are the form fields for its parts. Return error
    sentences by field name. Empty without errors."""
    values_by_path: dict[tuple[str, ...], Any] = {}
    errors: dict[str, str] = {}
    for field in fields:
        try:
            value = _request_value(field, texts[field.name], had_text=bool((initial[field.name] or "").strip()))
        except YamlError as fault:
            errors[field.name] = f"{fault.position}: {fault.sentence}"
        else:
            if value is not _MISSING:
                values_by_path[field.json_path] = value
    if errors:
        return errors
    present_values = {path: value for path, value in values_by_path.items() if value is not None}
    if not present_values:
        if values_by_path and not _is_nullable(operation, operation_field):
            return {fields[0].name: f"You can change {fields[0].label}, but you cannot remove it."}
        values |= {path[0]: None for path in values_by_path}
        return {}
    parent_paths = {path[:length] for path in present_values for length in range(1, len(path))}
    constants = constants_of(operation, operation_field, texts) if parent_paths else {}
    for path, value in {
        **{path: value for path, value in constants.items() if path[:-1] in parent_paths},
        **present_values,
    }.items():
        _set_path(values, path, value)
    return {}


def _is_nullable(operation: type[Operation[Any]], operation_field: str) -> bool:
    spec = SPECS.get(operation)
    return spec is None or operation_field in spec.nullable


def _set_path(values: dict[str, Any], path: Sequence[str], value: Any) -> None:
    for name in path[:-1]:
        values = values.setdefault(name, {})
    values[path[-1]] = value


def _request_value(field: FormField, text: str | None, *, had_text: bool) -> Any:
    """Return the value of a field for the request, None for null. `_MISSING` if the request must not contain the field.
    `had_text` is True if the field had a text before. Raises YamlError."""
    if text is None:
        return None
    if not text.strip():
        return _cleared_value(field) if had_text else _MISSING
    return _parsed_value(field, text)


def _cleared_value(field: FormField) -> Any:
    if field.is_nullable:
        return None
    if field.kind in ("list", "choices"):
        return []
    if field.kind == "structure":
        return {}
    return _MISSING if field.is_required else ""


def _parsed_value(field: FormField, text: str) -> Any:
    """Return the value for which a text stands. Raises YamlError if the text contains invalid YAML."""
    text = text if field.kind == "text" else text.strip()
    if field.kind == "yes or no":
        return {"yes": True, "no": False}.get(text, text)
    if field.kind == "number":
        try:
            return int(text)
        except ValueError:
            return text
    if field.kind == "structure":
        parsed = yaml_values.parse_yaml(text)
        return parsed.value if parsed is not None else None
    if field.kind == "choices" or (field.kind == "list" and text not in field.choices):
        return [_parsed_item(field, number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    return text


def _parsed_item(field: FormField, number: int, line: str) -> Any:
    line = line.strip()
    if field.item_kind != "line" or not line.startswith("{"):
        return line
    try:
        parsed = yaml_values.parse_yaml(line)
    except YamlError as fault:
        raise YamlError(number, fault.sentence) from None
    return parsed.value if parsed is not None and parsed.fields else line


def _field_errors(validation_error: ValidationError, fields: Sequence[FormField], texts: FieldTexts) -> dict[str, str]:
    errors_by_field: dict[str, list[tuple[ErrorDetails, Sequence[int | str]]]] = {}
    for error in validation_error.errors(include_url=False, include_input=False):
        name, inner_path = _locate_error(error, fields)
        errors_by_field.setdefault(name, []).append((error, inner_path))
    fields_by_name = {field.name: field for field in fields}
    return {
        name: _error_sentence(fields_by_name.get(name), errors, texts.get(name) or "")
        for name, errors in errors_by_field.items()
    }


def _error_sentence(
    field: FormField | None, errors: Sequence[tuple[ErrorDetails, Sequence[int | str]]], text: str
) -> str:
    error, inner_path = errors[0]
    same_errors = [each for each, _ in errors if each["type"] == error["type"]]
    if error["type"] == "value_error" and not error["loc"]:
        return _sentence(str(error["ctx"]["error"]))
    if field is None:
        return _sentence(f"{'.'.join(map(str, error['loc'])) or 'The value'} {value_rule(error, same_errors)}")
    if field.kind in ("list", "choices") and inner_path and isinstance(inner_path[0], int):
        return _sentence(f"line {inner_path[0] + 1} {value_rule(error, same_errors)}")
    if error["type"].startswith("union_tag") and field.choices:
        return f"{field.label} must be one of {', '.join(field.choices)}."
    if field.kind != "structure":
        return _sentence(f"{field.label} {value_rule(error, same_errors)}")
    position, inner_path = _locate_in_yaml(text, inner_path)
    return f"{position}{_sentence(f'{_dotted_path(inner_path) or field.label} {value_rule(error, same_errors)}')}"


def _locate_in_yaml(text: str, inner_path: Sequence[int | str]) -> tuple[str, Sequence[int | str]]:
    """Return the position of the error at `inner_path`, such as `Line 2, column 3: `, and the parts of the path that
    the YAML has. The last part always stays, because an error may say that this value is missing."""
    # `strip` also removes separators such as U+001C, which YAML does not allow.
    stripped_text = text.strip()
    lines_above = text[: text.find(stripped_text)].count("\n")
    parsed = yaml_values.parse_yaml(stripped_text)
    path_parts: list[int | str] = []
    for number, path_part in enumerate(inner_path):
        child = None
        if parsed is not None and isinstance(path_part, int) and path_part < len(parsed.items):
            child = parsed.items[path_part]
        elif parsed is not None and isinstance(path_part, str):
            child = parsed.fields.get(path_part)
        if child is not None:
            parsed = child
            path_parts.append(path_part)
        elif number == len(inner_path) - 1:
            path_parts.append(path_part)
    return ("" if parsed is None else f"Line {parsed.line + lines_above}, column {parsed.column}: "), path_parts


def _dotted_path(parts: Sequence[int | str]) -> str:
    """Return `parts` as one path, for example `items[0].name`."""
    path = ""
    for part in parts:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else part
    return path


def _sentence(sentence: str) -> str:
    return f"{sentence[:1].upper()}{sentence[1:]}{'' if sentence.endswith('.') else '.'}"


def _locate_error(error: ErrorDetails, fields: Sequence[FormField]) -> tuple[str, Sequence[int | str]]:
    """Return the name of the field with `error`, else `FORM`, and the path of the error in the value of the field."""
    candidates = list(fields)
    depth, inner_path = 0, list(error["loc"])
    while inner_path and candidates:
        path_part = inner_path[0]
        matches = [
            candidate
            for candidate in candidates
            if len(candidate.json_path) > depth and candidate.json_path[depth] == path_part
        ]
        if matches:
            candidates, depth = matches, depth + 1
            inner_path.pop(0)
            if len(candidates) == 1 and len(candidates[0].json_path) == depth:
                break
        elif depth == 0:
            return FORM, inner_path
        elif any(len(candidate.json_path) > depth for candidate in candidates):
            inner_path.pop(0)  # no field, but the name of a union member that Pydantic inserted
        else:
            break
    if not candidates or depth == 0:
        return FORM, inner_path
    return candidates[0].name, [path_part for path_part in inner_path if not _is_type_name(path_part)]


def _is_type_name(path_part: int | str) -> bool:
    """Return True for the name of a type that Pydantic adds to the path of an error, such as `constrained-str`."""
    return (
        isinstance(path_part, str)
        and re.fullmatch(r"[a-z-]+\[.*\]|constrained-\w+|[A-Z]\w*|str|int|bool", path_part) is not None
    )


def field_in_error(sentence: str, fields: Sequence[FormField]) -> str:
    """Return the name of the field that an error message of the server mentions first, or `FORM` if it names none."""
    best_rank: tuple[int, int, str] | None = None
    for field in fields:
        names_of_field = {".".join(field.json_path), field.json_path[-1], field.json_path[0], field.label, field.name}
        for name in names_of_field:
            if match := re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", sentence, re.IGNORECASE):
                rank = (match.start(), -len(name), field.name)
                best_rank = min(best_rank, rank) if best_rank is not None else rank
    return best_rank[2] if best_rank is not None else FORM


_YAML_WIDTH = 96


def form_to_yaml(title: str, fields: Sequence[FormField], initial: FieldTexts, texts: FieldTexts) -> str:
    """Return a form with the values `texts` as YAML for the user's editor. `initial` has the values before edits."""
    has_values = any((each or "").strip() for each in initial.values())
    lines = [
        f"# {title}",
        "#",
        "# Save and close the file to return to the form. Nothing is sent yet. Lines that begin with # are ignored.",
        "# Only changed values are sent." if has_values else "# Only the values that you fill in are sent.",
    ]
    operation_fields = dict.fromkeys(field.operation_field for field in fields)
    for operation_field in operation_fields:
        lines.append("")
        lines += _yaml_lines([field for field in fields if field.operation_field == operation_field], 0, initial, texts)
    return "\n".join(lines) + "\n"


def yaml_to_texts(text: str, fields: Sequence[FormField], initial: FieldTexts) -> dict[str, str | None]:
    """Return the text of each field from YAML, None for null. Fields without YAML keep `initial`. Raises YamlError."""
    parsed = yaml_values.parse_yaml(text)
    texts = dict(initial)
    if parsed is None or parsed.value is None:
        return texts
    if parsed.text is not None or parsed.items or not isinstance(parsed.value, dict):
        raise YamlError(parsed.line, "Each value needs a name, for example “title: Tides”.")
    _read_texts(parsed, fields, 0, initial, texts)
    return texts


def _is_written(field: FormField, initial: FieldTexts, texts: FieldTexts) -> bool:
    text = texts[field.name]
    return field.is_shown(texts) and (bool((text or "").strip()) or text != initial[field.name])


def _yaml_lines(fields: Sequence[FormField], depth: int, initial: FieldTexts, texts: FieldTexts) -> Iterator[str]:
    """Yield the YAML lines of fields whose JSON paths begin with the same `depth` + 1 names."""
    first_field = fields[0]
    if len(first_field.json_path) == depth + 1:
        yield from _field_lines(first_field, depth, initial, texts)
        return
    is_written = any(_is_written(field, initial, texts) for field in fields)
    margin, prefix = "  " * depth, "" if is_written else "# "
    if depth == 0 and first_field.group:
        yield f"# {first_field.group.partition(' · ')[0]}"
    yield f"{margin}{prefix}{first_field.json_path[depth]}:"
    for name in dict.fromkeys(field.json_path[depth + 1] for field in fields):
        inner_fields = [field for field in fields if field.json_path[depth + 1] == name]
        for line in _yaml_lines(inner_fields, depth + 1, initial, texts):
            yield line if is_written or line.lstrip().startswith("#") else f"# {line}"


def _field_lines(field: FormField, depth: int, initial: FieldTexts, texts: FieldTexts) -> Iterator[str]:
    margin = "  " * depth
    notes = [field.label + (" (required)" if field.is_required else "")]
    notes += [field.limits] if field.limits else []
    notes += [f"one of {', '.join(field.choices)}"] if field.choices and field.kind != "list" else []
    notes += ["true or false"] if field.kind == "yes or no" else []
    notes += ["or null"] if field.is_nullable else []
    notes += [f"example: {field.example.splitlines()[0]}"] if field.example and field.kind != "structure" else []
    comment = ". ".join(filter(None, [" · ".join(notes), field.hint]))
    for line in wrap(comment, _YAML_WIDTH - len(margin)):
        yield f"{margin}# {line}"
    if field.kind == "structure" and field.example:
        yield f"{margin}# Example:"
        yield from (f"{margin}#   {line}" for line in field.example.splitlines())
    value = texts[field.name]
    name = field.json_path[-1]
    if not field.is_shown(texts) or (value is not None and not value.strip()):
        yield f'{margin}{name}: ""' if _is_written(field, initial, texts) else f"{margin}# {name}:"
        return
    for line in yaml_values.to_yaml({name: _yaml_value(field, value)}).splitlines():
        yield f"{margin}{line}" if line else ""


def _yaml_value(field: FormField, text: str | None) -> Any:
    """Return the YAML value of the field's `text`. None (null) if `text` is None. Invalid text stays a string."""
    if text is None:
        return None
    try:
        return _parsed_value(field, text)
    except YamlError:
        return text.strip()


def _read_texts(
    parsed: YamlValue, fields: Sequence[FormField], depth: int, initial: FieldTexts, texts: dict[str, str | None]
) -> None:
    for name, parsed_part in parsed.fields.items():
        matching_fields = [field for field in fields if field.json_path[depth] == name]
        if not matching_fields:
            names_text = ", ".join(dict.fromkeys(field.json_path[depth] for field in fields))
            raise YamlError(parsed_part.line, f"Unknown name “{name[:60]}”. Valid names: {names_text}.")
        if len(matching_fields[0].json_path) == depth + 1:
            name, text = matching_fields[0].name, _text_of(matching_fields[0], parsed_part)
            # If only surrounding spaces differ, keep the initial text, so that the field is not changed.
            texts[name] = initial[name] if is_same_text(text, initial[name]) else text
        elif parsed_part.value is None:
            texts |= {each.name: None if initial[each.name] is None else "" for each in matching_fields}
        elif not parsed_part.fields:
            inner_names_text = ", ".join(dict.fromkeys(each.json_path[depth + 1] for each in matching_fields))
            raise YamlError(parsed_part.line, f"{name} must contain values with these names: {inner_names_text}.")
        else:
            _read_texts(parsed_part, matching_fields, depth + 1, initial, texts)


def _text_of(field: FormField, parsed_part: YamlValue) -> str | None:
    value = parsed_part.value
    if field.kind == "structure" and isinstance(value, str):
        return value  # A string stands for a text that could not be parsed, so return this text.
    if value is None or field.kind == "structure" or (field.kind == "yes or no" and isinstance(value, bool)):
        return text_of_value(field, value)
    if field.kind in ("list", "choices") and parsed_part.text is None:
        if parsed_part.fields:
            raise YamlError(
                parsed_part.line, f"{field.json_path[-1]} must be a list: start each item on its own line with “- ”."
            )
        return "\n".join(_item_line(field, item) for item in parsed_part.items)
    if parsed_part.text is None:
        raise YamlError(parsed_part.line, f"{field.json_path[-1]} must be a single value.")
    return parsed_part.text


def _item_line(field: FormField, item: YamlValue) -> str:
    if item.text is not None and "\n" not in item.text:
        return item.text
    if field.item_kind == "line" and item.fields:
        return json.dumps(item.value, ensure_ascii=False)
    raise YamlError(item.line, f"Each item in {field.json_path[-1]} must be one line of text.")
