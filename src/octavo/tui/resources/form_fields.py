"""Derives the fields of a form from the model of an API operation: names, kinds, limits and hints. Start at
`fields_of`.

A nested model gets a form field for each of its fields, such as `source.url`. A union of models gets a form field to
choose the model, followed by the fields of the chosen model. Other values, such as a list of objects, are written as
YAML.
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
from octavo.api.storage import FromFile
from octavo.api.text import PATTERN_DESCRIPTIONS, Id, KnownValues, Secret
from octavo.documents import yaml_values
from octavo.tui.core.item_info import annotation_parts
from octavo.tui.widgets.short_texts import plural

FieldKind = Literal[
    "line", "text", "number", "yes or no", "choice", "choices", "date", "secret", "reference", "list", "structure"
]
"""Kinds of form fields. A `structure` is any other value, such as a list of objects. The user types it as YAML."""

_MULTILINE_LENGTH = 1024
"""A text field without a pattern gets an input with several lines if it accepts more characters than this."""
_ID_PATTERN = next(argument.pattern for argument in get_args(Id) if isinstance(argument, StringConstraints))


@dataclass(frozen=True)
class VisibleWhen:
    """Condition for showing a form field: another field, `name`, has one of `values`."""

    name: str
    values: frozenset[str]


@dataclass(frozen=True)
class FormField:
    """An input of a form, for one value of the request."""

    name: str
    """Dotted path in the model, for example `source.url`."""
    json_path: tuple[str, ...]
    """Path of the value in the JSON request body, for example `("source", "url")`."""
    kind: FieldKind
    label: str = ""
    group: str = ""
    """Heading above the fields of a nested model. Empty if there is no heading."""
    hint: str = ""
    """Explanation, shown while the field has the focus: the docstring of the field in the API model."""
    is_required: bool = False
    is_nullable: bool = False
    """True if the request may send null for the field."""
    choices: tuple[str, ...] = ()
    """Values to choose from (kinds `choice` and `choices`), or words such as `all` instead of items (kind `list`)."""
    min_length: int | None = None
    """Minimum number of characters, or of items in a list. None if there is no minimum."""
    max_length: int | None = None
    format: str = ""
    """Required format, such as `an email address`. Empty if any text is allowed."""
    minimum: float | None = None
    maximum: float | None = None
    item_kind: FieldKind | None = None
    """Kind of the items. None if the kind of the field is not `list`."""
    is_masked: bool = False
    """True if the text is shown as bullets until the user reveals it."""
    upload_kind: str = ""
    """Kind of file to upload: `import_file`, `customization_font` or `text`. Empty if the field accepts no file."""
    example: str = ""
    """Example of a valid text, shown to the user. Empty if there is none."""
    conditions: tuple[VisibleWhen, ...] = ()
    default: Any = None
    """Value that the server uses if the request does not contain the field."""

    @property
    def operation_field(self) -> str:
        """Name of the field in the operation that has this value, such as `source` for `source.url`."""
        return self.name.partition(".")[0]

    @property
    def limits(self) -> str:
        """Limits of the text, for example `2 to 128 characters`. Empty if there are none."""
        return " · ".join(_limit_labels(self))

    @property
    def example_or_limits(self) -> str:
        """The example of a short text, else the limits. Empty if there are neither."""
        return f"for example {self.example}" if self.example and self.kind == "line" else self.limits

    def label_of(self, choice: str) -> str:
        """Return the label of one of the `choices`. Return any other text unchanged."""
        return label(choice) if choice in self.choices else choice

    def is_shown(self, texts: Mapping[str, str | None]) -> bool:
        """Return True if the form shows this field. `texts` has the text of each field by name."""
        return all(texts.get(condition.name) in condition.values for condition in self.conditions)


@dataclass(frozen=True)
class _Annotation:
    """A type annotation of a model field, split into types and limits such as `MaxLen(100)`."""

    type: Any
    limits: tuple[Any, ...] = ()
    other_types: tuple[Any, ...] = ()
    """The types of a union except the first, which is `type`."""
    tag: str = ""
    """Field that says which model of a union is used, such as `type`. Empty if the annotation names no such field."""

    @property
    def models(self) -> list[type[BaseModel]]:
        types = (self.type, *self.other_types)
        return [each for each in types if isinstance(each, type) and issubclass(each, BaseModel)]


def fields_of(
    operation: type[BaseModel],
    *,
    leave_out: frozenset[str] = frozenset(),
    required_fields: frozenset[str] = frozenset(),
) -> tuple[FormField, ...]:
    """Return the form fields for the body of an operation, except `leave_out`. `required_fields` must be filled in."""
    spec = SPECS.get(operation) if issubclass(operation, Operation) else None
    query_names = set(spec.query) if spec is not None else set()
    nullable_names = set(spec.nullable) if spec is not None else set()
    hints = hints_of(operation)
    fields: list[FormField] = []
    for name, info in operation.model_fields.items():
        if name != "at" and name not in leave_out | query_names:
            fields += _fields_of(name, (info.alias or camel(name),), info, hints.get(name, ""), name in nullable_names)
    return tuple(replace(each, is_required=each.is_required or each.name in required_fields) for each in fields)


def constants_of(operation: type[BaseModel], name: str, texts: Mapping[str, str | None]) -> dict[tuple[str, ...], Any]:
    """Return the constants that the models inside the field `name` require, by JSON path, such as
    `{("source", "type"): "url"}`. `texts` says which models of unions the user has chosen."""
    info = operation.model_fields[name]
    return dict(_constants((info.alias or camel(name),), name, _unwrap(info.annotation, info.metadata), texts))


def _fields_of(
    name: str, json_path: tuple[str, ...], info: FieldInfo, hint: str, is_nullable: bool, outer: tuple[type, ...] = ()
) -> list[FormField]:
    annotation = _unwrap(info.annotation, info.metadata)
    default = None if info.is_required() or info.default_factory else info.default
    field = FormField(
        name=name,
        json_path=json_path,
        kind="structure",
        label=info.title or label_of(name.rpartition(".")[2], is_reference=_is_id(annotation)),
        hint=hint,
        example=_example_text(next(iter(info.examples or ()), "")),
        is_required=info.is_required(),
        is_nullable=is_nullable,
        default=default,
    )
    if (nested := _nested_fields(field, annotation, outer)) is not None:
        return nested
    return [
        replace(
            _field_of_type(field, annotation),
            upload_kind=upload_kind_of((annotation.type, *annotation.other_types, *annotation.limits)),
        )
    ]


def _example_text(example: Any) -> str:
    if isinstance(example, list) and all(isinstance(each, str) for each in example):
        return "\n".join(example)
    return example if isinstance(example, str) else yaml_values.to_yaml(example).rstrip("\n")


def _field_of_type(field: FormField, annotation: _Annotation) -> FormField:
    types = (annotation.type, *annotation.other_types)
    if all(get_origin(kind) is Literal for kind in types):
        options = tuple(option for kind in types for option in get_args(kind))
        if all(isinstance(each, str) for each in options):
            return replace(field, kind="choice", choices=options)
    if get_origin(annotation.type) is tuple and get_args(annotation.type)[1:] == (...,):
        return _list_field(field, annotation)
    if annotation.other_types and not all(isinstance(kind, type) and issubclass(kind, str) for kind in types):
        return replace(field, is_masked=_contains_secret(types))
    return _scalar_field(field, annotation)


def _scalar_field(field: FormField, annotation: _Annotation) -> FormField:
    limited_field = _with_limits(field, annotation.limits)
    if annotation.type is bool:
        return replace(limited_field, kind="yes or no")
    if isinstance(annotation.type, type) and issubclass(annotation.type, int | float):
        return replace(limited_field, kind="number")
    if isinstance(annotation.type, type) and issubclass(annotation.type, date | datetime):
        return replace(limited_field, kind="date")
    if annotation.type is not str:
        return replace(limited_field, is_masked=_contains_secret((annotation.type,)))
    if any(isinstance(limit, Secret) for limit in annotation.limits):
        return replace(limited_field, kind="secret", is_masked=True)
    if known_values := next((limit for limit in annotation.limits if isinstance(limit, KnownValues)), None):
        return replace(limited_field, kind="choice", choices=known_values.values)
    pattern = _pattern(annotation.limits)
    if _is_id(annotation):
        return replace(limited_field, kind="reference")
    is_long = pattern is None and (limited_field.max_length is None or limited_field.max_length > _MULTILINE_LENGTH)
    return replace(limited_field, kind="text" if is_long else "line")


def _list_field(field: FormField, annotation: _Annotation) -> FormField:
    options = tuple(
        option for kind in annotation.other_types if get_origin(kind) is Literal for option in get_args(kind)
    )
    item_type = _unwrap(get_args(annotation.type)[0], ())
    if get_origin(item_type.type) is Literal and not item_type.other_types:
        return replace(_with_limits(field, annotation.limits), kind="choices", choices=get_args(item_type.type))
    if item_type.type is not str:
        return _with_limits(field, annotation.limits)
    item = _scalar_field(field, item_type)
    item_kind: FieldKind = "line" if item.kind == "text" else item.kind
    if any(not (isinstance(kind, type) and issubclass(kind, str)) for kind in item_type.other_types):
        item_kind = "line"  # An item may be an object, which is typed as YAML on one line.
    elif item_type.other_types:
        item_kind = "reference" if item.kind == "reference" else "line"
    return replace(
        _with_limits(field, annotation.limits),
        kind="list",
        item_kind=item_kind,
        choices=options,
        format="",
        is_masked=item.is_masked,
    )


def _nested_fields(field: FormField, annotation: _Annotation, outer: tuple[type, ...]) -> list[FormField] | None:
    """Return form fields for the fields of nested models. None if there are no nested models, or if the user must type
    the value as YAML. `outer` are the models that contain this field."""
    models = annotation.models
    if len(models) != 1 + len(annotation.other_types) or any(each in outer for each in models):
        return None
    if len(models) == 1:
        return _relabel_single_field(field, _model_fields(field, models[0], outer))
    tag = annotation.tag or _discriminator_of(models)
    if not tag:
        return None
    by_tag = {option: model for model in models for option in get_args(model.model_fields[tag].annotation)}
    name = f"{field.name}.{tag}"
    choice_field = replace(
        field, name=name, json_path=(*field.json_path, _json_name(models[0], tag)), kind="choice", choices=tuple(by_tag)
    )
    fields_by_name: dict[str, FormField] = {}
    for option, model in by_tag.items():
        model_fields = _model_fields(field, model, outer)
        if model_fields is None:
            return None
        for each in model_fields:
            condition = VisibleWhen(name, frozenset({option}))
            existing = fields_by_name.get(each.name)
            if existing is not None and replace(existing, conditions=()) == replace(each, conditions=()):
                fields_by_name[each.name] = replace(
                    existing,
                    conditions=(VisibleWhen(name, existing.conditions[0].values | {option}), *existing.conditions[1:]),
                )
            elif existing is not None:
                return None
            else:
                fields_by_name[each.name] = replace(each, conditions=(condition, *each.conditions))
    choice_field = replace(choice_field, label=label_of(tag), group=field.label)
    return [choice_field, *fields_by_name.values()]


def _model_fields(field: FormField, model: type[BaseModel], outer: tuple[type, ...]) -> list[FormField] | None:
    hints = hints_of(model)
    fields: list[FormField] = []
    for name, info in model.model_fields.items():
        if _constant_of(info) is not None:
            continue
        json_path = (*field.json_path, _json_name(model, name))
        fields += _fields_of(f"{field.name}.{name}", json_path, info, hints.get(name, ""), False, (*outer, model))
    if any(each.kind == "structure" for each in fields):
        return None
    return [
        replace(
            each,
            group=f"{field.label} · {each.group}" if each.group else field.label,
            is_required=each.is_required and field.is_required,
        )
        for each in fields
    ]


def _relabel_single_field(field: FormField, nested: list[FormField] | None) -> list[FormField] | None:
    if not nested:
        return None
    if len(nested) > 1 or nested[0].group != field.label:
        return nested
    child = nested[0]
    return [replace(child, label=field.label, group="", hint=child.hint or field.hint, is_nullable=field.is_nullable)]


def _constants(
    json_path: tuple[str, ...], name: str, annotation: _Annotation, texts: Mapping[str, str | None]
) -> Iterator[tuple[tuple[str, ...], Any]]:
    models = annotation.models
    if len(models) > 1:
        tag = annotation.tag or _discriminator_of(models)
        chosen_tag = texts.get(f"{name}.{tag}")
        models = [each for each in models if tag and chosen_tag in get_args(each.model_fields[tag].annotation)]
    for model in models:
        for field_name, info in model.model_fields.items():
            inner_path, inner_name = (*json_path, _json_name(model, field_name)), f"{name}.{field_name}"
            if (constant := _constant_of(info)) is not None:
                yield inner_path, constant
            else:
                yield from _constants(inner_path, inner_name, _unwrap(info.annotation, info.metadata), texts)


def _constant_of(info: FieldInfo) -> Any:
    values = get_args(info.annotation) if get_origin(info.annotation) is Literal else ()
    return values[0] if len(values) == 1 else None


def _discriminator_of(models: Sequence[type[BaseModel]]) -> str:
    """Return the name of a field with a different constant in each model, such as `type`. Empty if there is none."""
    for name in models[0].model_fields:
        constants = [_constant_of(model.model_fields[name]) if name in model.model_fields else None for model in models]
        if None not in constants and len(set(constants)) == len(constants):
            return name
    return ""


def _unwrap(annotation: Any, limits: Sequence[Any]) -> _Annotation:
    """Return the types of an annotation without `Annotated` or None, and `limits` with the limits of the first type."""
    all_limits = list(limits)
    while get_origin(annotation) is Annotated:
        annotation, *metadata = get_args(annotation)
        all_limits += metadata
    if get_origin(annotation) in (Union, UnionType):
        unwrapped = [_unwrap(argument, ()) for argument in get_args(annotation) if argument is not NoneType]
        first_member = unwrapped[0]
        types = [each for kind in unwrapped for each in (kind.type, *kind.other_types)]
        all_limits += first_member.limits
        return _Annotation(
            types[0], tuple(_flatten(all_limits)), tuple(types[1:]), first_member.tag or _discriminator(all_limits)
        )
    return _Annotation(annotation, tuple(_flatten(all_limits)), (), _discriminator(all_limits))


def _flatten(limits: Sequence[Any]) -> Iterator[Any]:
    for limit in limits:
        if isinstance(limit, FieldInfo):
            yield from _flatten(limit.metadata)
        else:
            yield limit


def _discriminator(limits: Sequence[Any]) -> str:
    names = (limit.discriminator for limit in limits if isinstance(limit, FieldInfo))
    return next((name for name in names if isinstance(name, str)), "")


def _with_limits(field: FormField, limits: Sequence[Any]) -> FormField:
    changes: dict[str, Any] = {}
    for limit in limits:
        match limit:
            case StringConstraints():
                changes |= {
                    "min_length": limit.min_length,
                    "max_length": limit.max_length,
                    "format": PATTERN_DESCRIPTIONS.get(str(limit.pattern), ""),
                }
            case MinLen():
                changes["min_length"] = limit.min_length
            case MaxLen():
                changes["max_length"] = limit.max_length
            case Ge():
                changes["minimum"] = limit.ge
            case Gt():
                changes["minimum"] = limit.gt
            case Le():
                changes["maximum"] = limit.le
            case Lt():
                changes["maximum"] = limit.lt
    return replace(field, **changes)


def _limit_labels(field: FormField) -> Iterator[str]:
    if field.kind == "reference":
        return
    if field.format:
        yield field.format
    noun = "item" if field.kind in ("list", "choices", "structure") else "character"
    if field.min_length and field.max_length:
        yield f"{field.min_length} to {field.max_length} {noun}s"
    elif field.max_length:
        yield f"at most {plural(field.max_length, noun)}"
    elif field.min_length:
        yield f"at least {plural(field.min_length, noun)}"
    if field.minimum is not None and field.maximum is not None:
        yield f"{field.minimum:g} to {field.maximum:g}"
    elif field.minimum is not None:
        yield f"at least {field.minimum:g}"
    elif field.maximum is not None:
        yield f"at most {field.maximum:g}"
    if field.kind == "date":
        yield "for example 2026-11-23 or 2026-11-23T18:30Z"
    if field.kind == "structure":
        yield "YAML or JSON"
    if field.kind == "list":
        yield "one per line" + (f", or one of {', '.join(field.choices)}" if field.choices else "")


def _pattern(limits: Sequence[Any]) -> str | None:
    patterns = (limit.pattern for limit in limits if isinstance(limit, StringConstraints))
    return next((str(pattern) for pattern in patterns if pattern is not None), None)


def _is_id(annotation: _Annotation) -> bool:
    return annotation.type is str and _pattern(annotation.limits) == _ID_PATTERN


def _contains_secret(types: Sequence[Any]) -> bool:
    return any(isinstance(each, Secret) for each in annotation_parts(types))


def upload_kind_of(types: Sequence[Any], *, include_nested: bool = True) -> str:
    """Return which kind of file a field with these types accepts, such as `import_file`. Empty if it accepts no file.
    With `include_nested`, the fields of nested models count, too."""
    for each in annotation_parts(types):
        if isinstance(each, FromFile):
            return each.kind
        if include_nested and isinstance(each, type) and issubclass(each, BaseModel):
            parts = [part for info in each.model_fields.values() for part in (info.annotation, *info.metadata)]
            if kind := upload_kind_of(parts):
                return kind
    return ""


def _json_name(model: type[BaseModel], name: str) -> str:
    return model.model_fields[name].alias or camel(name)


def label_of(name: str, *, is_reference: bool = False) -> str:
    """Return the label of a field, such as “SSO URL” for `sso_url`. With `is_reference`, “Space” for `space_id`."""
    if is_reference:
        name = name.removesuffix("_id")
    words = field_label(name)
    return words[:1].upper() + words[1:]


@cache
def hints_of(model: type[BaseModel]) -> Mapping[str, str]:
    """Return the docstring of each field of a model by field name. The docstrings are read from the source file."""
    hints: dict[str, str] = {}
    for each in reversed(model.__mro__):
        if not each.__module__.startswith(("pydantic", "builtins", "typing", "abc")):
            hints |= _module_hints(each.__module__).get(each.__qualname__, {})
    return hints


@cache
def _module_hints(module: str) -> Mapping[str, Mapping[str, str]]:
    """Return the docstrings of fields in a module, by class name and field name. Empty if the module has no source."""
    try:
        source = inspect.getsource(sys.modules[module])
    except (OSError, TypeError):
        return {}  # A module may have no source, such as `__main__` in an interactive session.
    hints_by_class: dict[str, Mapping[str, str]] = {}

    def collect(qualified_prefix: str, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            if isinstance(statement, ast.ClassDef):
                hints_by_class[qualified_prefix + statement.name] = _attribute_docs(statement.body)
                collect(f"{qualified_prefix}{statement.name}.", statement.body)
            elif isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
                collect(f"{qualified_prefix}{statement.name}.<locals>.", statement.body)

    collect("", ast.parse(source).body)
    return hints_by_class


def _attribute_docs(statements: Sequence[ast.stmt]) -> dict[str, str]:
    docs: dict[str, str] = {}
    for statement, next_statement in itertools.pairwise(statements):
        match statement, next_statement:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(options))):
                docs[name] = " ".join(inspect.cleandoc(options).split())
    return docs
