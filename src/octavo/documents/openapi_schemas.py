"""Schemas of described interfaces, as a page shows them: what a value is made of, as deep and as much as one can read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any
from urllib.parse import unquote

from octavo.api.safety import line as safe_line
from octavo.api.safety import text as safe_text

MAX_SCHEMA_DEPTH, MAX_FIELDS, MAX_ITEMS = 7, 400, 200
"""How deep schemas are followed, how many fields one operation shows, and how many items any list has."""
_MAX_TEXT = 4000
_MAX_REFERENCES, _MAX_PARTS = 20, 1000
"""References that are followed one after the other, and parts of schemas that one operation puts together."""
_MAX_VALUES, _MAX_VALUE_LENGTH = 12, 100
"""Items of a value that is quoted, and letters of each and of all."""
_COMPOSITE_KEYS = frozenset({"$ref", "properties", "oneOf", "anyOf", "allOf", "items", "enum"})


@dataclass(frozen=True, slots=True)
class Field:
    """A value: of a body, a parameter, or within another. `note` says what it may be: `one of a, b`, `at least 1`."""

    name: str
    type: str
    required: bool = False
    description: str = ""
    note: str = ""
    deprecated: bool = False
    children: tuple[Field, ...] = ()
    more: str = ""
    """Why what is in it is not shown."""


@dataclass(frozen=True, eq=False)
class Definitions:
    """A description whose parts refer to each other."""

    spec: Mapping[str, Any]

    def follow(self, value: Any) -> tuple[Mapping[str, Any], tuple[str, ...]]:
        """What a value is once its references are followed, and their names. One that leads nowhere is empty."""
        names: list[str] = []
        while isinstance(value, dict) and isinstance(name := value.get("$ref"), str):
            if name in names or len(names) > _MAX_REFERENCES:
                return {}, tuple(names)
            names.append(name)
            value = self._at(name)
        return object_of(value), tuple(names)

    def _at(self, name: str) -> Any:
        place: Any = self.spec
        if not name.startswith("#/") or len(name) > _MAX_TEXT:
            return None
        for step in name[2:].split("/"):
            step = unquote(step).replace("~1", "/").replace("~0", "~")
            place = place.get(step) if isinstance(place, dict) else None
        return place


@dataclass
class SchemaReader:
    """Reads the schemas of one operation, and counts what it read."""

    of: Definitions
    count: int = 0
    parts: int = 0
    """Parts that were put together: what refers to many that refer to many is never at its end."""
    room: int = 40_000
    """Letters of descriptions that may still be read: each is a page of its own to set."""

    def words(self, value: Any) -> str:
        """A description; its beginning when many long ones were read before."""
        found = text_of(value)
        if len(found) > self.room:
            found = line_of(found[:_MAX_VALUE_LENGTH])
        self.room -= len(found)
        return found

    def field(self, name: str, schema: Any, required: bool, above: tuple[str, ...] = (), depth: int = 0) -> Field:
        """A schema under a name, with what is in it."""
        self.count += 1
        if isinstance(schema, bool):
            return Field(name, "any" if schema else "nothing", required)
        said, names = self.of.follow(schema)
        called = names[-1].rpartition("/")[2] if names else line_of(said.get("title"))
        description = self.words(object_of(schema).get("description") or said.get("description"))
        deprecated = said.get("deprecated") is True
        if set(names) & set(above):
            return Field(line_of(name), line_of(called), required, description, "", deprecated, more="as above")
        above = (*above, *names)
        said = self._merged(said, above)
        kind = self._kind(said, line_of(called))
        note = _note(said)
        items = said.get("items")
        if isinstance(items, dict) and set(items) & _COMPOSITE_KEYS and depth < MAX_SCHEMA_DEPTH:
            each = self.field("", items, False, above, depth + 1)
            note = "; ".join(filter(None, (note, each.note and f"each {each.note}")))
            return Field(line_of(name), kind, required, description, note, deprecated, each.children, each.more)
        inner = _child_schemas(said)
        if not inner:
            return Field(line_of(name), kind, required, description, note, deprecated)
        if depth >= MAX_SCHEMA_DEPTH or self.count > MAX_FIELDS:
            return Field(
                line_of(name), kind, required, description, note, deprecated, more="deeper levels are not shown"
            )
        children: list[Field] = []
        for label, below, wanted in inner:
            if self.count > MAX_FIELDS:
                return Field(
                    line_of(name),
                    kind,
                    required,
                    description,
                    note,
                    deprecated,
                    tuple(children),
                    "more fields are not shown",
                )
            children.append(self.field(label, below, wanted, above, depth + 1))
        return Field(line_of(name), kind, required, description, note, deprecated, tuple(children))

    def _merged(self, said: Mapping[str, Any], above: tuple[str, ...], depth: int = 0) -> Mapping[str, Any]:
        """A schema with all that `allOf` adds to it."""
        parts = list_of(said.get("allOf"))
        if not parts or depth > MAX_SCHEMA_DEPTH:
            return said
        out = {key: value for key, value in said.items() if key != "allOf"}
        properties, required = first_items(out.get("properties")), list(list_of(out.get("required"))[:MAX_ITEMS])
        for part in parts[:MAX_ITEMS]:
            self.parts += 1
            found, names = self.of.follow(part)
            if self.parts > _MAX_PARTS or set(names) & set(above):
                continue
            found = self._merged(found, (*above, *names), depth + 1)
            properties |= first_items(found.get("properties"))
            required += list_of(found.get("required"))[:MAX_ITEMS]
            for key, value in first_items(found).items():
                out.setdefault(key, value)
        if properties:
            out |= {"properties": properties, "required": required}
        return out

    def _kind(self, said: Mapping[str, Any], called: str) -> str:
        kinds = said.get("type")
        names = (
            [line_of(each) for each in kinds[:_MAX_VALUES]]
            if isinstance(kinds, list)
            else [line_of(kinds)]
            if kinds
            else []
        )
        if said.get("nullable") is True and "null" not in names:
            names.append("null")
        kind = " or ".join(names)
        if "array" in names:
            item, below = self.of.follow(said.get("items"))
            inside = (
                below[-1].rpartition("/")[2]
                if below
                else line_of(item.get("type"))
                if isinstance(item.get("type"), str)
                else ""
            )
            kind = kind.replace("array", f"list of {line_of(inside)}" if inside else "list")
        if not kind and ("const" in said or list_of(said.get("enum"))):
            kind = _KINDS.get(type(said["const"] if "const" in said else said["enum"][0]), "")
        if not kind:
            kind = next((words for key, words in (("oneOf", "one of"), ("anyOf", "any of")) if said.get(key)), "")
            kind = kind or ("object" if said.get("properties") else "any")
        if form := line_of(said.get("format")):
            kind += f" ({form})"
        return (
            f"{called} ({kind})"
            if called and kind in ("one of", "any of")
            else called
            if called and kind == "object"
            else kind
        )


def _child_schemas(said: Mapping[str, Any]) -> list[tuple[str, Any, bool]]:
    """What a schema is made of: name, schema, whether it must be there."""
    wanted = {each for each in list_of(said.get("required"))[:_MAX_PARTS] if isinstance(each, str)}
    inner = [(line_of(name), each, name in wanted) for name, each in first_items(said.get("properties")).items()]
    if isinstance(said.get("additionalProperties"), dict) and said["additionalProperties"]:
        inner.append(("any other name", said["additionalProperties"], False))
    for key in ("oneOf", "anyOf"):
        choices = list_of(said.get(key))[:MAX_ITEMS]
        inner += [("or " if number else "", each, False) for number, each in enumerate(choices)]
    return inner[:MAX_ITEMS]


def _value_list(values: Sequence[Any]) -> str:
    """Return the first values, and how many more there are."""
    more = f" and {len(values) - _MAX_VALUES} more" if len(values) > _MAX_VALUES else ""
    return ", ".join(map(_value_text, values[:_MAX_VALUES])) + more


def _note(said: Mapping[str, Any]) -> str:
    parts = []
    if values := list_of(said.get("enum")):
        parts.append(f"one of {_value_list(values)}")
    if "const" in said:
        parts.append(f"always {_value_text(said['const'])}")
    if "default" in said:
        default = said["default"]
        words = _value_list(default) if isinstance(default, list) else _value_text(default)
        parts.append(f"default {words}" if words else "empty by default")
    for key, words in _LIMITS:
        value = said.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool):
            parts.append((words.removesuffix("s") if value == 1 else words).format(_value_text(value)))
    if pattern := line_of(said.get("pattern")):
        parts.append(f"pattern {pattern[:80]}")
    if said.get("readOnly") is True:
        parts.append("only in responses")
    if said.get("writeOnly") is True:
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


def example(schema: Field, depth: int = 0) -> Any:
    """A value such as a schema describes, made of its names and kinds."""
    kind = schema.type
    if kind.startswith("list"):
        return [example(replace(schema, type="object"), depth + 1)] if schema.children and depth < 4 else []
    if schema.children and depth < 4:
        if all(child.name in ("", "or ") for child in schema.children):
            return example(schema.children[0], depth + 1)
        return {child.name: example(child, depth + 1) for child in schema.children}
    if schema.note.startswith("one of "):
        return schema.note.removeprefix("one of ").split(";")[0].split(",")[0].split(" and ")[0]
    for words, value in (("integer", 0), ("number", 0), ("boolean", True), ("string", "string")):
        if kind.startswith(words):
            return value
    return {}


def _value_text(value: Any) -> str:
    said = value if isinstance(value, str) else json.dumps(_shortened(value), ensure_ascii=False, default=str)
    return line_of(said)[:_MAX_VALUE_LENGTH]


def _shortened(value: Any, depth: int = 0) -> Any:
    """A value with no more in it than is quoted of it."""
    if isinstance(value, str):
        return value[:_MAX_VALUE_LENGTH]
    if depth > MAX_SCHEMA_DEPTH:
        return "…"
    if isinstance(value, dict):
        return {
            key[:_MAX_VALUE_LENGTH]: _shortened(each, depth + 1) for key, each in islice(value.items(), _MAX_VALUES)
        }
    if isinstance(value, list):
        return [_shortened(each, depth + 1) for each in value[:_MAX_VALUES]]
    return value


def first_items(value: Any) -> dict[str, Any]:
    """As much of an object as is shown of any."""
    return dict(islice(object_of(value).items(), MAX_ITEMS))


def object_of(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def list_of(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def line_of(value: Any) -> str:
    if isinstance(value, dict | list):
        return ""
    return (
        safe_line(value)[:500] if isinstance(value, str) else safe_line(str(value))[:100] if value is not None else ""
    )


def text_of(value: Any) -> str:
    return safe_text(value[: 2 * _MAX_TEXT])[:_MAX_TEXT].strip() if isinstance(value, str) else ""
