"""Converts a form to commented YAML for an editor, and back.

A field with a value is a line, and an empty field is a comment that the user can uncomment. If the user deletes a line,
its field gets its original text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import Any

from octavo.documents import yaml_values
from octavo.documents.yaml_values import YamlError, YamlValue
from octavo.tui.resources.form_fields import FormField
from octavo.tui.resources.form_values import FieldTexts, is_same_text

_WIDTH = 96


def form_to_yaml(title: str, fields: Sequence[FormField], initial: FieldTexts, texts: FieldTexts) -> str:
    """Return a form as YAML."""
    has_values = any((each or "").strip() for each in initial.values())
    lines = [
        f"# {title}",
        "#",
        "# Save and close the file to return to the form. Nothing is sent yet. Lines that begin with # are ignored.",
        "# Only changed values are sent." if has_values else "# Only the values that you fill in are sent.",
    ]
    operation_fields = dict.fromkeys(each.operation_field for each in fields)
    for operation_field in operation_fields:
        lines.append("")
        lines += _yaml_lines([each for each in fields if each.operation_field == operation_field], 0, texts)
    return "\n".join(lines) + "\n"


def yaml_to_texts(text: str, fields: Sequence[FormField], initial: FieldTexts) -> dict[str, str | None]:
    """Return the text of each field from YAML. Raises YamlError with the line of the error."""
    parsed = yaml_values.parse_yaml(text)
    texts = dict(initial)
    if parsed is None or parsed.value is None:
        return texts
    if parsed.text is not None or parsed.items or not isinstance(parsed.value, dict):
        raise YamlError(parsed.line, "Each value needs a name, for example “title: Tides”.")
    _read_texts(parsed, fields, 0, initial, texts)
    return texts


# Writing


def _yaml_lines(fields: Sequence[FormField], depth: int, texts: FieldTexts) -> Iterator[str]:
    """Return the lines of fields that share the first `depth` parts of their path."""
    first = fields[0]
    if len(first.json_path) == depth + 1:
        yield from _field_lines(first, depth, texts)
        return
    has_text = any(each.is_active(texts) and (texts[each.name] or "").strip() for each in fields)
    margin, prefix = "  " * depth, "" if has_text else "# "
    if depth == 0 and first.group:
        yield f"# {first.group.partition(' · ')[0]}"
    yield f"{margin}{prefix}{first.json_path[depth]}:"
    for name in dict.fromkeys(each.json_path[depth + 1] for each in fields):
        for line in _yaml_lines([each for each in fields if each.json_path[depth + 1] == name], depth + 1, texts):
            yield line if has_text or line.lstrip().startswith("#") else f"# {line}"


def _field_lines(form_field: FormField, depth: int, texts: FieldTexts) -> Iterator[str]:
    margin = "  " * depth
    notes = [form_field.label + (" (required)" if form_field.is_required else "")]
    notes += [form_field.limits] if form_field.limits else []
    notes += [f"one of {', '.join(form_field.choices)}"] if form_field.choices and form_field.kind != "list" else []
    notes += ["true or false"] if form_field.kind == "yes or no" else []
    notes += ["or null"] if form_field.is_nullable else []
    notes += (
        [f"example: {form_field.example.splitlines()[0]}"]
        if form_field.example and form_field.kind != "structure"
        else []
    )
    comment = ". ".join(filter(None, [" · ".join(notes), form_field.hint]))
    for line in wrap(comment, _WIDTH - len(margin)):
        yield f"{margin}# {line}"
    if form_field.kind == "structure" and form_field.example:
        yield f"{margin}# Example:"
        yield from (f"{margin}#   {line}" for line in form_field.example.splitlines())
    value = texts[form_field.name]
    name = form_field.json_path[-1]
    if not form_field.is_active(texts) or (value is not None and not value.strip()):
        yield f"{margin}# {name}:"
        return
    for line in yaml_values.to_yaml({name: _editor_value(form_field, value)}).splitlines():
        yield f"{margin}{line}" if line else ""


def _editor_value(form_field: FormField, texts: str | None) -> Any:
    """Return the value of a field for the editor. Text that cannot be parsed stays text."""
    if texts is None:
        return None
    text = texts if form_field.kind == "text" else texts.strip()
    if form_field.kind == "yes or no":
        return {"yes": True, "no": False}.get(text, text)
    if form_field.kind == "number":
        try:
            return int(text)
        except ValueError:
            return text
    if form_field.kind == "choices" or (form_field.kind == "list" and text not in form_field.choices):
        return [_editor_item(line.strip()) for line in text.splitlines() if line.strip()]
    if form_field.kind == "structure":
        try:
            parsed = yaml_values.parse_yaml(text)
        except YamlError:
            return text
        return parsed.value if parsed is not None else None
    return text


def _editor_item(line: str) -> Any:
    if line.startswith("{"):
        try:
            parsed = yaml_values.parse_yaml(line)
        except YamlError:
            return line
        return parsed.value if parsed is not None else line
    return line


# Reading


def _read_texts(
    parsed: YamlValue, fields: Sequence[FormField], depth: int, initial: FieldTexts, texts: dict[str, str | None]
) -> None:
    for name, parsed_part in parsed.parts.items():
        matching = [each for each in fields if each.json_path[depth] == name]
        if not matching:
            names = ", ".join(dict.fromkeys(each.json_path[depth] for each in fields))
            raise YamlError(parsed_part.line, f"Unknown name “{name[:60]}”. Valid names: {names}.")
        if len(matching[0].json_path) == depth + 1:
            texts[matching[0].name] = _keep_spacing(matching[0], initial, _text_of(matching[0], parsed_part))
        elif parsed_part.value is None:
            texts |= {each.name: None if initial[each.name] is None else "" for each in matching}
        elif not parsed_part.parts:
            inner_names = ", ".join(dict.fromkeys(each.json_path[depth + 1] for each in matching))
            raise YamlError(parsed_part.line, f"{name} must contain values with these names: {inner_names}.")
        else:
            _read_texts(parsed_part, matching, depth + 1, initial, texts)


def _keep_spacing(form_field: FormField, initial: FieldTexts, text: str | None) -> str | None:
    """Return the original text if the text from the editor is equal to it apart from spaces."""
    previous = initial[form_field.name]
    return previous if is_same_text(text, previous) else text


def _text_of(form_field: FormField, parsed_part: YamlValue) -> str | None:
    if parsed_part.value is None:
        return None if form_field.is_nullable and form_field.kind in ("choice", "reference", "yes or no") else ""
    if form_field.kind == "structure":
        if isinstance(parsed_part.value, str):
            return parsed_part.value  # Text that could not be parsed when the file was written.
        return yaml_values.to_yaml(parsed_part.value).rstrip("\n") if parsed_part.value not in ([], {}) else ""
    if form_field.kind in ("list", "choices") and parsed_part.text is None:
        if parsed_part.parts:
            raise YamlError(
                parsed_part.line,
                f"{form_field.json_path[-1]} must be a list: start each item on its own line with “- ”.",
            )
        return "\n".join(_line_of(form_field, each) for each in parsed_part.items)
    if parsed_part.text is None:
        raise YamlError(parsed_part.line, f"{form_field.json_path[-1]} must be a single value.")
    if isinstance(parsed_part.value, bool):
        return "yes" if parsed_part.value else "no"
    return parsed_part.text


def _line_of(form_field: FormField, item: YamlValue) -> str:
    if item.text is not None and "\n" not in item.text:
        return item.text
    if form_field.item_kind == "line" and item.parts:
        return json.dumps(item.value, ensure_ascii=False)
    raise YamlError(item.line, f"Each item in {form_field.json_path[-1]} must be one line of text.")
