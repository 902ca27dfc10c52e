"""The form fields of an operation, derived from its request model: names, kinds, limits and hints.

A nested model becomes one field for each of its own fields (`source.url`). A union of models becomes a choice of its tag
and the fields of the chosen model. Other structures, such as a list of objects, are written as YAML.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt, MaxLen, MinLen
from pydantic import BaseModel, StringConstraints
from pydantic.fields import FieldInfo

from octavo.api.labels import field_label, label
from octavo.api.operation import SPECS, Operation, camel
from octavo.api.storage import OfFile
from octavo.api.text import COLOUR, FORMS, Hidden, Id, Known
from octavo.documents import yaml_values
from octavo.tui.widgets.wording import plural

FieldKind = Literal[
    "line",
    "text",
    "number",
    "yes or no",
    "choice",
    "choices",
    "date",
    "colour",
    "secret",
    "reference",
    "list",
    "structure",
]
"""How a field is filled in. `structure` is YAML, for objects and other values without an input of their own."""

_MULTILINE_LENGTH = 1024
"""Maximum length from which a text without a pattern gets several lines."""
_ID_PATTERN = next(each.pattern for each in get_args(Id) if isinstance(each, StringConstraints))


@dataclass(frozen=True)
class VisibleWhen:
    """The condition that another field, `name`, has one of some values."""

    name: str
    values: frozenset[str]


@dataclass(frozen=True)
class FormField:
    """A field of a form."""

    name: str
    """Path in the model, for example `source.url`."""
    json_path: tuple[str, ...]
    """Path in the JSON of the request."""
    kind: FieldKind
    label: str = ""
    group: str = ""
    """Label of the nested model, if that model has several fields."""
    hint: str = ""
    """Docstring of the field in the model."""
    is_required: bool = False
    is_nullable: bool = False
    """Whether null is a value of its own."""
    choices: tuple[str, ...] = ()
    """Options of a choice. For a list: words that replace the whole list."""
    min_length: int | None = None
    """Fewest characters, or fewest items of a list."""
    max_length: int | None = None
    format: str = ""
    """Required format, as the end of a sentence with “must be”."""
    minimum: float | None = None
    maximum: float | None = None
    item_kind: FieldKind | None = None
    """Kind of the items of a list."""
    is_masked: bool = False
    """Whether the text is hidden until the user reveals it."""
    upload_kind: str = ""
    """Kind of upload that fills the field from a file. Empty if the field accepts no file."""
    example: str = ""
    """Example of the text."""
    conditions: tuple[VisibleWhen, ...] = ()
    default: Any = None
    """Value that the API uses if the field is missing."""

    @property
    def operation_field(self) -> str:
        """Name of the operation's field that contains this field."""
        return self.name.partition(".")[0]

    @property
    def limits(self) -> str:
        """Allowed values in a few words, for example `2 to 128 characters`."""
        return " · ".join(_limit_labels(self))

    def label_of(self, choice: str) -> str:
        """Return the label of a choice. Other text is returned unchanged."""
        return label(choice) if choice in self.choices else choice

    def is_active(self, written: Mapping[str, str | None]) -> bool:
        """Return whether the field belongs to the choices made in other fields."""
        return all(written.get(each.name) in each.values for each in self.conditions)


@dataclass(frozen=True)
class _Annotation:
    """A type annotation taken apart."""

    type: Any
    limits: tuple[Any, ...] = ()
    others: tuple[Any, ...] = ()
    """Other members of a union."""
    tag: str = ""
    """Field that discriminates a union."""


def fields_of(
    operation: type[BaseModel], *, leave_out: frozenset[str] = frozenset(), required: frozenset[str] = frozenset()
) -> tuple[FormField, ...]:
    """Return the fields of the form of an operation, without its place and the fields that are known (`leave_out`).

    `required`: fields that must be filled in, although the API does not require them.
    """
    spec = SPECS.get(operation) if issubclass(operation, Operation) else None
    asked_beside = set(spec.query) if spec is not None else set()
    nullable = set(spec.nullable) if spec is not None else set()
    hints = hints_of(operation)
    found: list[FormField] = []
    for name, info in operation.model_fields.items():
        if name != "at" and name not in leave_out | asked_beside:
            found += _fields_of(name, (info.alias or camel(name),), info, hints.get(name, ""), name in nullable)
    return tuple(replace(each, is_required=each.is_required or each.name in required) for each in found)


def constants_of(operation: type[BaseModel], top: str, tags: Mapping[str, str | None]) -> dict[tuple[str, ...], Any]:
    """Return the values that nested models of the field `top` always have, by their path: tags with a single value."""
    info = operation.model_fields[top]
    return dict(_constants((info.alias or camel(top),), top, _unwrap(info.annotation, info.metadata), tags))


def _fields_of(
    name: str, wire: tuple[str, ...], info: FieldInfo, hint: str, nullable: bool, within: tuple[type, ...] = ()
) -> list[FormField]:
    shape = _unwrap(info.annotation, info.metadata)
    default = None if info.is_required() or info.default_factory else info.default
    made = FormField(
        name=name,
        json_path=wire,
        kind="structure",
        label=info.title or label_of(name.rpartition(".")[2], is_reference=_is_id(shape)),
        hint=hint,
        example=_example_text(next(iter(info.examples or ()), "")),
        is_required=info.is_required(),
        is_nullable=nullable,
        default=default,
    )
    if (laid_out := _nested_fields(made, shape, within)) is not None:
        return laid_out
    return [replace(_single_field(made, shape), upload_kind=upload_kind_of((shape.type, *shape.others, *shape.limits)))]


def _example_text(example: Any) -> str:
    """Return an example as it is typed into its field: a list of text has one item per line, an object is YAML."""
    if isinstance(example, list) and all(isinstance(each, str) for each in example):
        return "\n".join(example)
    return example if isinstance(example, str) else yaml_values.to_yaml(example).rstrip("\n")


def _single_field(made: FormField, shape: _Annotation) -> FormField:
    """Return a field for a single value or a list."""
    kinds = (shape.type, *shape.others)
    if all(get_origin(each) is Literal for each in kinds):
        words = tuple(word for each in kinds for word in get_args(each))
        if all(isinstance(each, str) for each in words):
            return replace(made, kind="choice", choices=words)
    if get_origin(shape.type) is tuple and get_args(shape.type)[1:] == (...,):
        return _list_field(made, shape)
    if shape.others and not all(isinstance(each, type) and issubclass(each, str) for each in kinds):
        return replace(made, is_masked=_is_hidden(kinds))
    return _scalar_field(made, shape)


def _scalar_field(made: FormField, shape: _Annotation) -> FormField:
    limited = _with_limits(made, shape.limits)
    if shape.type is bool:
        return replace(limited, kind="yes or no")
    if isinstance(shape.type, type) and issubclass(shape.type, int | float):
        return replace(limited, kind="number")
    if isinstance(shape.type, type) and issubclass(shape.type, date | datetime):
        return replace(limited, kind="date")
    if shape.type is not str:
        return replace(limited, is_masked=_is_hidden((shape.type,)))
    if any(isinstance(each, Hidden) for each in shape.limits):
        return replace(limited, kind="secret", is_masked=True)
    if known := next((each for each in shape.limits if isinstance(each, Known)), None):
        return replace(limited, kind="choice", choices=known.values)
    pattern = _pattern(shape.limits)
    if _is_id(shape):
        return replace(limited, kind="reference")
    if pattern == COLOUR:
        return replace(limited, kind="colour")
    long = pattern is None and (limited.max_length is None or limited.max_length > _MULTILINE_LENGTH)
    return replace(limited, kind="text" if long else "line")


def _list_field(made: FormField, shape: _Annotation) -> FormField:
    words = tuple(word for each in shape.others if get_origin(each) is Literal for word in get_args(each))
    inner = _unwrap(get_args(shape.type)[0], ())
    if get_origin(inner.type) is Literal and not inner.others:
        return replace(_with_limits(made, shape.limits), kind="choices", choices=get_args(inner.type))
    if inner.type is not str:
        return _with_limits(made, shape.limits)
    item = _scalar_field(made, inner)
    items: FieldKind = "line" if item.kind == "text" else item.kind
    kind: FieldKind = "list"
    if any(not (isinstance(each, type) and issubclass(each, str)) for each in inner.others):
        items = "line"  # Some items may be objects.
    elif inner.others:
        items = "reference" if item.kind == "reference" else "line"
    return replace(
        _with_limits(made, shape.limits), kind=kind, item_kind=items, choices=words, format="", is_masked=item.is_masked
    )


def _nested_fields(made: FormField, shape: _Annotation, within: tuple[type, ...]) -> list[FormField] | None:
    """Return the fields of a nested model or a union of models. None if the value has no such fields, or too many."""
    models = [each for each in (shape.type, *shape.others) if isinstance(each, type) and issubclass(each, BaseModel)]
    if len(models) != 1 + len(shape.others) or any(each in within for each in models):
        return None
    if len(models) == 1:
        return _simplified(made, _model_fields(made, models[0], within))
    tag = shape.tag or _tag_of(models)
    if not tag:
        return None
    by_tag = {word: model for model in models for word in get_args(model.model_fields[tag].annotation)}
    name = f"{made.name}.{tag}"
    choice = replace(
        made, name=name, json_path=(*made.json_path, _json_name(models[0], tag)), kind="choice", choices=tuple(by_tag)
    )
    merged: dict[str, FormField] = {}
    for word, model in by_tag.items():
        inner = _model_fields(made, model, within)
        if inner is None:
            return None
        for each in inner:
            here = VisibleWhen(name, frozenset({word}))
            before = merged.get(each.name)
            if before is not None and replace(before, conditions=()) == replace(each, conditions=()):
                merged[each.name] = replace(
                    before, conditions=(VisibleWhen(name, before.conditions[0].values | {word}), *before.conditions[1:])
                )
            elif before is not None:
                return None
            else:
                merged[each.name] = replace(each, conditions=(here, *each.conditions))
    choice = replace(choice, label=label_of(tag), group=made.label)
    return [choice, *merged.values()]


def _model_fields(made: FormField, model: type[BaseModel], within: tuple[type, ...]) -> list[FormField] | None:
    hints = hints_of(model)
    found: list[FormField] = []
    for name, info in model.model_fields.items():
        if _constant_of(info) is not None:
            continue
        wire = (*made.json_path, _json_name(model, name))
        found += _fields_of(f"{made.name}.{name}", wire, info, hints.get(name, ""), False, (*within, model))
    if any(each.kind == "structure" for each in found):
        return None
    return [
        replace(
            each,
            group=f"{made.label} · {each.group}" if each.group else made.label,
            is_required=each.is_required and made.is_required,
        )
        for each in found
    ]


def _simplified(made: FormField, found: list[FormField] | None) -> list[FormField] | None:
    """Return the fields of a nested model. A single field gets the label of the model's own field."""
    if not found:
        return None
    if len(found) > 1 or found[0].group != made.label:
        return found
    only = found[0]
    return [replace(only, label=made.label, group="", hint=only.hint or made.hint, is_nullable=made.is_nullable)]


def _constants(
    wire: tuple[str, ...], name: str, shape: _Annotation, tags: Mapping[str, str | None]
) -> Iterator[tuple[tuple[str, ...], Any]]:
    models = [each for each in (shape.type, *shape.others) if isinstance(each, type) and issubclass(each, BaseModel)]
    if len(models) > 1:
        tag = shape.tag or _tag_of(models)
        chosen = tags.get(f"{name}.{tag}")
        models = [each for each in models if tag and chosen in get_args(each.model_fields[tag].annotation)]
    for model in models:
        for inner, info in model.model_fields.items():
            here, there = (*wire, _json_name(model, inner)), f"{name}.{inner}"
            if (word := _constant_of(info)) is not None:
                yield here, word
            else:
                yield from _constants(here, there, _unwrap(info.annotation, info.metadata), tags)


def _constant_of(info: FieldInfo) -> Any:
    """Return the only possible value of a field, such as a tag. None if the field has several."""
    words = get_args(info.annotation) if get_origin(info.annotation) is Literal else ()
    return words[0] if len(words) == 1 else None


def _tag_of(models: Sequence[type[BaseModel]]) -> str:
    """Return the field in which each model has a different constant. Empty if there is no such field."""
    for name in models[0].model_fields:
        words = [_constant_of(each.model_fields[name]) if name in each.model_fields else None for each in models]
        if None not in words and len(set(words)) == len(words):
            return name
    return ""


def _unwrap(annotation: Any, limits: Sequence[Any]) -> _Annotation:
    """Return an annotation without `Annotated` and None."""
    found = list(limits)
    while get_origin(annotation) is Annotated:
        annotation, *more = get_args(annotation)
        found += more
    if get_origin(annotation) in (Union, UnionType):
        kinds = [_unwrap(each, ()) for each in get_args(annotation) if each is not NoneType]
        first = kinds[0]
        every = [each for kind in kinds for each in (kind.type, *kind.others)]
        found += first.limits
        return _Annotation(every[0], tuple(_flatten(found)), tuple(every[1:]), first.tag or _discriminator(found))
    return _Annotation(annotation, tuple(_flatten(found)), (), _discriminator(found))


def _flatten(limits: Sequence[Any]) -> Iterator[Any]:
    for each in limits:
        if isinstance(each, FieldInfo):
            yield from _flatten(each.metadata)
        else:
            yield each


def _discriminator(limits: Sequence[Any]) -> str:
    found = (each.discriminator for each in limits if isinstance(each, FieldInfo))
    return next((each for each in found if isinstance(each, str)), "")


def _with_limits(made: FormField, limits: Sequence[Any]) -> FormField:
    changes: dict[str, Any] = {}
    for each in limits:
        match each:
            case StringConstraints():
                changes |= {"least": each.min_length, "most": each.max_length, "form": FORMS.get(str(each.pattern), "")}
            case MinLen():
                changes["least"] = each.min_length
            case MaxLen():
                changes["most"] = each.max_length
            case Ge():
                changes["low"] = each.ge
            case Gt():
                changes["low"] = each.gt
            case Le():
                changes["high"] = each.le
            case Lt():
                changes["high"] = each.lt
    return replace(made, **changes)


def _limit_labels(made: FormField) -> Iterator[str]:
    if made.format and made.kind != "reference":
        yield made.format
    if made.kind == "reference":
        return
    noun = "item" if made.kind in ("list", "choices", "structure") else "character"
    if made.min_length and made.max_length:
        yield f"{made.min_length} to {made.max_length} {noun}s"
    elif made.max_length:
        yield f"at most {plural(made.max_length, noun)}"
    elif made.min_length:
        yield f"at least {plural(made.min_length, noun)}"
    if made.minimum is not None and made.maximum is not None:
        yield f"{made.minimum:g} to {made.maximum:g}"
    elif made.minimum is not None:
        yield f"at least {made.minimum:g}"
    elif made.maximum is not None:
        yield f"at most {made.maximum:g}"
    if made.kind == "date":
        yield "for example 2026-11-23 or 2026-11-23T18:30Z"
    if made.kind == "structure":
        yield "YAML or JSON"
    if made.kind == "list":
        yield "one per line" + (f", or one of {', '.join(made.choices)}" if made.choices else "")


def _pattern(limits: Sequence[Any]) -> str | None:
    found = (each.pattern for each in limits if isinstance(each, StringConstraints))
    return next((str(each) for each in found if each is not None), None)


def _is_id(shape: _Annotation) -> bool:
    return shape.type is str and _pattern(shape.limits) == _ID_PATTERN


def _is_hidden(kinds: Sequence[Any]) -> bool:
    """Return whether an annotation contains `Hidden`."""
    waiting = list(kinds)
    while waiting:
        each = waiting.pop()
        if isinstance(each, Hidden):
            return True
        waiting += get_args(each)
    return False


def upload_kind_of(kinds: Sequence[Any], *, deep: bool = True) -> str:
    """Return the kind of upload in an annotation, with `deep` also inside models. Empty if there is none."""
    waiting = list(kinds)
    while waiting:
        each = waiting.pop()
        if isinstance(each, OfFile):
            return each.kind
        waiting += get_args(each)
        if deep and isinstance(each, type) and issubclass(each, BaseModel):
            waiting += [part for info in each.model_fields.values() for part in (info.annotation, *info.metadata)]
    return ""


def _json_name(model: type[BaseModel], name: str) -> str:
    return model.model_fields[name].alias or camel(name)


def label_of(name: str, *, is_reference: bool = False) -> str:
    """Return the label of a field: `sso_url` is “SSO URL”, and `space_id` is “Space” if a space is chosen."""
    if is_reference:
        name = name.removesuffix("_id")
    words = field_label(name)
    return words[:1].upper() + words[1:]


@cache
def hints_of(model: type[BaseModel]) -> Mapping[str, str]:
    """Return the docstrings of a model's fields, by field name, from the source of the model."""
    found: dict[str, str] = {}
    for each in reversed(model.__mro__):
        if not each.__module__.startswith(("pydantic", "builtins", "typing", "abc")):
            found |= _module_hints(each.__module__).get(each.__qualname__, {})
    return found


@cache
def _module_hints(module: str) -> Mapping[str, Mapping[str, str]]:
    """Return the docstrings of fields in a module, by class. Cached, because `inspect` reads the whole module per
    class."""
    try:
        source = inspect.getsource(sys.modules[module])
    except (OSError, TypeError):
        return {}  # A class created at run time has no source.
    found: dict[str, Mapping[str, str]] = {}

    def look(place: str, lines: Sequence[ast.stmt]) -> None:
        for each in lines:
            if isinstance(each, ast.ClassDef):
                found[place + each.name] = _attribute_docs(each.body)
                look(f"{place}{each.name}.", each.body)
            elif isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
                look(f"{place}{each.name}.<locals>.", each.body)

    look("", ast.parse(source).body)
    return found


def _attribute_docs(lines: Sequence[ast.stmt]) -> dict[str, str]:
    found: dict[str, str] = {}
    for line, after in itertools.pairwise(lines):
        match line, after:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(words))):
                found[name] = " ".join(inspect.cleandoc(words).split())
    return found
