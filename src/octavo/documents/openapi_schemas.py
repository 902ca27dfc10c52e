"""Reads schemas of OpenAPI specifications as trees of fields, with limits. Start at `SchemaReader.read_field`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any
from urllib.parse import unquote

from octavo.api.safety import safe_line, safe_text
from octavo.documents.json_inline import as_object

MAX_SCHEMA_DEPTH = 7
MAX_FIELDS = 400
"""Approximate maximum number of fields of one operation. After it, nested fields are left out."""
MAX_ITEMS = 200
"""Maximum number of items of any list."""
_MAX_TEXT = 4000
_MAX_REFERENCES = 20
"""Maximum number of references followed one after another."""
_MAX_PARTS = 1000
"""Maximum number of schemas that are merged by `allOf` for one operation."""
_MAX_VALUES = 12
"""Maximum number of values that are listed, such as those of an enum."""
_MAX_VALUE_LENGTH = 100
"""Maximum number of characters of a listed value."""
_CHOICE_NAMES = "", "or "
"""Labels of the first and each further alternative in `oneOf` and `anyOf`."""
_COMPOSITE_KEYS = frozenset({"$ref", "properties", "oneOf", "anyOf", "allOf", "items", "enum"})


@dataclass(frozen=True, slots=True)
class SchemaField:
    """A parameter, a property or the body of a request or response, with its type."""

    name: str
    type: str
    required: bool = False
    description: str = ""
    note: str = ""
    """Constraints, such as `one of a, b` or `at least 1`."""
    deprecated: bool = False
    children: tuple[SchemaField, ...] = ()
    cut_off_reason: str = ""
    """Reason why nested fields are not shown. Empty if all are shown."""
    first_allowed_value: Any = None
    """The first allowed value that is a text, number or boolean. None if there is none."""


@dataclass(frozen=True, eq=False)
class ReferenceResolver:
    """Finds what a reference (`$ref`) in a specification refers to."""

    spec: Mapping[str, Any]

    def resolve(self, value: Any) -> tuple[Mapping[str, Any], tuple[str, ...]]:
        """Follow the references of `value`. Return the target, and the references that were followed. The target is
        empty if it is missing or not an object, or if the references are circular or too many."""
        references: list[str] = []
        while isinstance(value, dict) and isinstance(reference := value.get("$ref"), str):
            if reference in references or len(references) >= _MAX_REFERENCES:
                return {}, tuple(references)
            references.append(reference)
            value = self._resolve_pointer(reference)
        return as_object(value), tuple(references)

    def _resolve_pointer(self, name: str) -> Any:
        node: Any = self.spec
        if not name.startswith("#/") or len(name) > _MAX_TEXT:
            return None
        for step in name[2:].split("/"):
            step = unquote(step).replace("~1", "/").replace("~0", "~")
            node = node.get(step) if isinstance(node, dict) else None
        return node


@dataclass
class SchemaReader:
    """Reads the schemas of one operation. Stops after about `MAX_FIELDS` fields."""

    resolver: ReferenceResolver
    field_count: int = 0
    part_count: int = 0
    """Number of schemas merged by `allOf` so far. Limited, because nested references can grow exponentially."""
    description_characters_left: int = 40_000
    """Limited, because rendering long descriptions is slow."""

    def read_description(self, value: Any) -> str:
        """Return a description, or its start if it exceeds `description_characters_left`. Subtract the length there."""
        description = as_text(value)
        if len(description) > self.description_characters_left:
            description = as_line(description[:_MAX_VALUE_LENGTH])
        self.description_characters_left -= len(description)
        return description

    def read_field(
        self, name: str, schema: Any, required: bool, ancestor_references: tuple[str, ...] = (), depth: int = 0
    ) -> SchemaField:
        """Return the field for a schema, with nested fields. `cut_off_reason` says why nested fields are left out: the
        limits are reached, or the schema refers to one of `ancestor_references`, the schemas around this field."""
        self.field_count += 1
        if isinstance(schema, bool):
            return SchemaField(name, "any" if schema else "nothing", required)
        raw, references = self.resolver.resolve(schema)
        schema_name = as_line(references[-1].rpartition("/")[2] if references else raw.get("title"))
        description = self.read_description(as_object(schema).get("description") or raw.get("description"))
        is_deprecated = raw.get("deprecated") is True
        result = SchemaField(as_line(name), schema_name, required, description, deprecated=is_deprecated)
        if set(references) & set(ancestor_references):
            return replace(result, cut_off_reason="as above")
        ancestor_references = (*ancestor_references, *references)
        raw = self._merge_all_of(raw, ancestor_references)
        result = replace(
            result, type=self._kind(raw, schema_name), note=_note(raw), first_allowed_value=_first_value(raw)
        )
        items = raw.get("items")
        if isinstance(items, dict) and set(items) & _COMPOSITE_KEYS and depth < MAX_SCHEMA_DEPTH:
            item_field = self.read_field("", items, False, ancestor_references, depth + 1)
            note = "; ".join(filter(None, (result.note, item_field.note and f"each {item_field.note}")))
            return replace(result, note=note, children=item_field.children, cut_off_reason=item_field.cut_off_reason)
        child_schemas = _child_schemas(raw)
        if child_schemas and (depth >= MAX_SCHEMA_DEPTH or self.field_count > MAX_FIELDS):
            return replace(result, cut_off_reason="deeper levels are not shown")
        children: list[SchemaField] = []
        for label, nested_schema, is_required in child_schemas:
            if self.field_count > MAX_FIELDS:
                return replace(result, children=tuple(children), cut_off_reason="more fields are not shown")
            children.append(self.read_field(label, nested_schema, is_required, ancestor_references, depth + 1))
        return replace(result, children=tuple(children))

    def _merge_all_of(
        self, raw: Mapping[str, Any], ancestor_references: tuple[str, ...], depth: int = 0
    ) -> Mapping[str, Any]:
        parts = as_list(raw.get("allOf"))
        if not parts or depth > MAX_SCHEMA_DEPTH:
            return raw
        schema = {key: value for key, value in raw.items() if key != "allOf"}
        properties = first_items(schema.get("properties"))
        required = list(as_list(schema.get("required"))[:MAX_ITEMS])
        for part in parts[:MAX_ITEMS]:
            self.part_count += 1
            part_schema, references = self.resolver.resolve(part)
            if self.part_count > _MAX_PARTS or set(references) & set(ancestor_references):
                continue
            part_schema = self._merge_all_of(part_schema, (*ancestor_references, *references), depth + 1)
            properties |= first_items(part_schema.get("properties"))
            required += as_list(part_schema.get("required"))[:MAX_ITEMS]
            for key, value in first_items(part_schema).items():
                schema.setdefault(key, value)
        if properties:
            schema |= {"properties": properties, "required": required}
        return schema

    def _kind(self, raw: Mapping[str, Any], schema_name: str) -> str:
        types = raw.get("type")
        names = (
            [as_line(name) for name in types[:_MAX_VALUES]]
            if isinstance(types, list)
            else [as_line(types)]
            if types
            else []
        )
        kind = " or ".join(names)
        if "array" in names:
            item, item_references = self.resolver.resolve(raw.get("items"))
            item_kind = (
                item_references[-1].rpartition("/")[2]
                if item_references
                else self._kind(item, "")
                if item.get("type") == "array"
                else as_line(item.get("type"))
                if isinstance(item.get("type"), str)
                else ""
            )
            kind = kind.replace("array", f"list of {as_line(item_kind)}" if item_kind else "list")
        if not kind and ("const" in raw or as_list(raw.get("enum"))):
            kind = _KINDS.get(type(raw["const"] if "const" in raw else raw["enum"][0]), "")
        if not kind:
            kind = next((words for key, words in (("oneOf", "one of"), ("anyOf", "any of")) if raw.get(key)), "")
            kind = kind or ("object" if raw.get("properties") else "any")
        if schema_name and kind in ("one of", "any of"):
            kind = f"{schema_name} ({kind})"
        elif schema_name and kind == "object":
            kind = schema_name
        if raw.get("nullable") is True and "null" not in names:
            kind += " or null"
        format_name = as_line(raw.get("format"))
        return f"{kind} ({format_name})" if format_name else kind


def _child_schemas(raw: Mapping[str, Any]) -> list[tuple[str, Any, bool]]:
    required_names = {each for each in as_list(raw.get("required"))[:_MAX_PARTS] if isinstance(each, str)}
    child_schemas = [
        (as_line(name), each, name in required_names) for name, each in first_items(raw.get("properties")).items()
    ]
    if isinstance(raw.get("additionalProperties"), dict) and raw["additionalProperties"]:
        child_schemas.append(("any other name", raw["additionalProperties"], False))
    for key in ("oneOf", "anyOf"):
        choices = as_list(raw.get(key))[:MAX_ITEMS]
        child_schemas += [(_CHOICE_NAMES[number > 0], each, False) for number, each in enumerate(choices)]
    return child_schemas[:MAX_ITEMS]


def _joined_values(values: Sequence[Any]) -> str:
    more = f" and {len(values) - _MAX_VALUES} more" if len(values) > _MAX_VALUES else ""
    return ", ".join(map(_value_text, values[:_MAX_VALUES])) + more


def _note(raw: Mapping[str, Any]) -> str:
    parts = []
    if values := as_list(raw.get("enum")):
        parts.append(f"one of {_joined_values(values)}")
    if "const" in raw:
        parts.append(f"always {_value_text(raw['const'])}")
    if "default" in raw:
        default = raw["default"]
        words = _joined_values(default) if isinstance(default, list) else _value_text(default)
        parts.append(f"default {words}" if words else "empty by default")
    for key, words in _LIMITS:
        value = raw.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool):
            if raw.get(_EXCLUSIVE.get(key, "")) is True:  # In OpenAPI 2.0 and 3.0, a flag makes the limit exclusive.
                words = dict(_LIMITS)[_EXCLUSIVE[key]]
            parts.append((words.removesuffix("s") if value == 1 else words).format(_value_text(value)))
    if pattern := as_line(raw.get("pattern")):
        parts.append(f"pattern {pattern[:80]}")
    if raw.get("readOnly") is True:
        parts.append("only in responses")
    if raw.get("writeOnly") is True:
        parts.append("only in requests")
    return "; ".join(parts)


_KINDS = {str: "string", bool: "boolean", int: "integer", float: "number", dict: "object"}
_LIMITS = (
    ("minimum", "at least {}"),
    ("exclusiveMinimum", "more than {}"),
    ("maximum", "at most {}"),
    ("exclusiveMaximum", "less than {}"),
    ("minLength", "at least {} characters"),
    ("maxLength", "at most {} characters"),
    ("minItems", "at least {} items"),
    ("maxItems", "at most {} items"),
)
_EXCLUSIVE = {"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"}


def example(schema: SchemaField, depth: int = 0) -> Any:
    """Return an example of a value that fits a schema."""
    kind = schema.type.removeprefix("null or ")
    if kind.split(" ")[0] == "list":
        item = kind.removeprefix("list of ") if kind.startswith("list of ") else "object"
        return [example(replace(schema, type=item), depth + 1)] if schema.children and depth < 4 else []
    if schema.children and depth < 4:
        properties = [child for child in schema.children if child.name not in _CHOICE_NAMES]
        if not properties:
            return example(schema.children[0], depth + 1)
        return {child.name: example(child, depth + 1) for child in properties}
    if schema.first_allowed_value is not None:
        return schema.first_allowed_value
    for words, value in (("integer", 0), ("number", 0), ("boolean", True), ("string", "string")):
        if kind.startswith(words):
            return value
    return {}


def _value_text(value: Any) -> str:
    raw = value if isinstance(value, str) else json.dumps(_shorten(value), ensure_ascii=False, default=str)
    return as_line(raw)[:_MAX_VALUE_LENGTH]


def _first_value(raw: Mapping[str, Any]) -> str | float | None:
    values = [raw["const"]] if "const" in raw else as_list(raw.get("enum"))
    first = next((value for value in values if isinstance(value, str | int | float)), None)
    return _value_text(first) if isinstance(first, str) else first


def _shorten(value: Any, depth: int = 0) -> Any:
    if isinstance(value, str):
        return value[:_MAX_VALUE_LENGTH]
    if depth > MAX_SCHEMA_DEPTH:
        return "…"
    if isinstance(value, dict):
        return {key[:_MAX_VALUE_LENGTH]: _shorten(each, depth + 1) for key, each in islice(value.items(), _MAX_VALUES)}
    if isinstance(value, list):
        return [_shorten(each, depth + 1) for each in value[:_MAX_VALUES]]
    return value


def first_items(value: Any) -> dict[str, Any]:
    """Return the first `MAX_ITEMS` items of an object. Empty for other values."""
    return dict(islice(as_object(value).items(), MAX_ITEMS))


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def as_line(value: Any) -> str:
    if isinstance(value, dict | list):
        return ""
    return (
        safe_line(value)[:500] if isinstance(value, str) else safe_line(str(value))[:100] if value is not None else ""
    )


def as_text(value: Any) -> str:
    return safe_text(value[: 2 * _MAX_TEXT])[:_MAX_TEXT].strip() if isinstance(value, str) else ""
