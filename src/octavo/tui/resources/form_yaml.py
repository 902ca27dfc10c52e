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


def form_to_yaml(title: str, fields: Sequence[FormField], begin: FieldTexts, written: FieldTexts) -> str:
    """Return a form as YAML."""
    begun = any((each or "").strip() for each in begin.values())
    lines = [
        f"# {title}",
        "#",
        "# Save and close the file to return to the form. Nothing is sent yet. Lines that begin with # are ignored.",
        "# Only changed values are sent." if begun else "# Only the values that you fill in are sent.",
    ]
    tops = dict.fromkeys(each.operation_field for each in fields)
    for top in tops:
        lines.append("")
        lines += _yaml_lines([each for each in fields if each.operation_field == top], 0, written)
    return "\n".join(lines) + "\n"


def yaml_to_texts(text: str, fields: Sequence[FormField], begin: FieldTexts) -> dict[str, str | None]:
    """Return the text of each field from YAML. Raises YamlError with the line of the error."""
    read = yaml_values.parse_yaml(text)
    found = dict(begin)
    if read is None or read.value is None:
        return found
    if read.text is not None or read.items or not isinstance(read.value, dict):
        raise YamlError(read.line, "Each value needs a name, for example “title: Tides”.")
    _read_texts(read, fields, 0, begin, found)
    return found


# Writing


def _yaml_lines(fields: Sequence[FormField], depth: int, written: FieldTexts) -> Iterator[str]:
    """Return the lines of fields that share the first `depth` parts of their path."""
    first = fields[0]
    if len(first.json_path) == depth + 1:
        yield from _field_lines(first, depth, written)
        return
    is_said = any(each.is_active(written) and (written[each.name] or "").strip() for each in fields)
    margin, off = "  " * depth, "" if is_said else "# "
    if depth == 0 and first.group:
        yield f"# {first.group.partition(' · ')[0]}"
    yield f"{margin}{off}{first.json_path[depth]}:"
    for name in dict.fromkeys(each.json_path[depth + 1] for each in fields):
        for line in _yaml_lines([each for each in fields if each.json_path[depth + 1] == name], depth + 1, written):
            yield line if is_said or line.lstrip().startswith("#") else f"# {line}"


def _field_lines(made: FormField, depth: int, written: FieldTexts) -> Iterator[str]:
    margin = "  " * depth
    about = [made.label + (" (required)" if made.is_required else "")]
    about += [made.limits] if made.limits else []
    about += [f"one of {', '.join(made.choices)}"] if made.choices and made.kind != "list" else []
    about += ["true or false"] if made.kind == "yes or no" else []
    about += ["or null"] if made.is_nullable else []
    about += [f"example: {made.example.splitlines()[0]}"] if made.example and made.kind != "structure" else []
    comment = ". ".join(filter(None, [" · ".join(about), made.hint]))
    for line in wrap(comment, _WIDTH - len(margin)):
        yield f"{margin}# {line}"
    if made.kind == "structure" and made.example:
        yield f"{margin}# Example:"
        yield from (f"{margin}#   {line}" for line in made.example.splitlines())
    value = written[made.name]
    name = made.json_path[-1]
    if not made.is_active(written) or (value is not None and not value.strip()):
        yield f"{margin}# {name}:"
        return
    for line in yaml_values.to_yaml({name: _editor_value(made, value)}).splitlines():
        yield f"{margin}{line}" if line else ""


def _editor_value(made: FormField, written: str | None) -> Any:
    """Return the value of a field for the editor. Text that cannot be parsed stays text."""
    if written is None:
        return None
    text = written if made.kind == "text" else written.strip()
    if made.kind == "yes or no":
        return {"yes": True, "no": False}.get(text, text)
    if made.kind == "number":
        try:
            return int(text)
        except ValueError:
            return text
    if made.kind == "choices" or (made.kind == "list" and text not in made.choices):
        return [_editor_item(line.strip()) for line in text.splitlines() if line.strip()]
    if made.kind == "structure":
        try:
            read = yaml_values.parse_yaml(text)
        except YamlError:
            return text
        return read.value if read is not None else None
    return text


def _editor_item(line: str) -> Any:
    if line.startswith("{"):
        try:
            read = yaml_values.parse_yaml(line)
        except YamlError:
            return line
        return read.value if read is not None else line
    return line


# Reading


def _read_texts(
    read: YamlValue, fields: Sequence[FormField], depth: int, begin: FieldTexts, found: dict[str, str | None]
) -> None:
    for name, part in read.parts.items():
        here = [each for each in fields if each.json_path[depth] == name]
        if not here:
            names = ", ".join(dict.fromkeys(each.json_path[depth] for each in fields))
            raise YamlError(part.line, f"Unknown name “{name[:60]}”. Valid names: {names}.")
        if len(here[0].json_path) == depth + 1:
            found[here[0].name] = _keep_spacing(here[0], begin, _text_of(here[0], part))
        elif part.value is None:
            found |= {each.name: None if begin[each.name] is None else "" for each in here}
        elif not part.parts:
            inner = ", ".join(dict.fromkeys(each.json_path[depth + 1] for each in here))
            raise YamlError(part.line, f"{name} must contain values with these names: {inner}.")
        else:
            _read_texts(part, here, depth + 1, begin, found)


def _keep_spacing(made: FormField, begin: FieldTexts, text: str | None) -> str | None:
    """Return the original text if the text from the editor is equal to it apart from spaces."""
    before = begin[made.name]
    return before if is_same_text(text, before) else text


def _text_of(made: FormField, part: YamlValue) -> str | None:
    if part.value is None:
        return None if made.is_nullable and made.kind in ("choice", "reference", "yes or no") else ""
    if made.kind == "structure":
        if isinstance(part.value, str):
            return part.value  # Text that could not be parsed when the file was written.
        return yaml_values.to_yaml(part.value).rstrip("\n") if part.value not in ([], {}) else ""
    if made.kind in ("list", "choices") and part.text is None:
        if part.parts:
            raise YamlError(
                part.line, f"{made.json_path[-1]} must be a list: start each item on its own line with “- ”."
            )
        return "\n".join(_line_of(made, each) for each in part.items)
    if part.text is None:
        raise YamlError(part.line, f"{made.json_path[-1]} must be a single value.")
    if isinstance(part.value, bool):
        return "yes" if part.value else "no"
    return part.text


def _line_of(made: FormField, item: YamlValue) -> str:
    if item.text is not None and "\n" not in item.text:
        return item.text
    if made.item_kind == "line" and item.parts:
        return json.dumps(item.value, ensure_ascii=False)
    raise YamlError(item.line, f"Each item in {made.json_path[-1]} must be one line of text.")
