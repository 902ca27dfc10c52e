"""What can be filled in of an operation, read off its request model: names, kinds, limits and hints. Pure.

A model within it is laid out as the fields it has (`source.url`), shapes told apart by a tag as a choice of the tag and
the fields that go with it. What has no such form, such as a list of objects, is written as YAML.
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
from octavo.api.text import COLOUR, FORMS, Id, KnownValues, Secret
from octavo.documents import yaml_values
from octavo.tui.widgets.wording import plural

Kind = Literal[
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
"""How it is filled in. `structure`: an object, or what is in no other way, as YAML."""

_LONG = 1024
"""Characters from which on a text of no form has more than a line."""
_ID_PATTERN = next(each.pattern for each in get_args(Id) if isinstance(each, StringConstraints))


@dataclass(frozen=True)
class When:
    """A field is there where the choice of this name is one of these."""

    name: str
    tags: frozenset[str]


@dataclass(frozen=True)
class FormField:
    """One thing to fill in."""

    name: str
    """The way to it in the model: `source.url`."""
    wire: tuple[str, ...]
    """The same as it travels."""
    kind: Kind
    label: str = ""
    group: str = ""
    """What the model it is in is called, where more than one field is of that."""
    hint: str = ""
    """What its docstring says."""
    required: bool = False
    nullable: bool = False
    """Whether null means something."""
    choices: tuple[str, ...] = ()
    """Of a choice and of choices. Of a list: words that stand for it."""
    least: int | None = None
    """Characters, or items of a list."""
    most: int | None = None
    form: str = ""
    """What it must be, in words that go on with “must be”."""
    low: float | None = None
    high: float | None = None
    items: Kind | None = None
    """What is in a list."""
    masked: bool = False
    """Whether it is hidden until one asks to see it."""
    file: str = ""
    """As what a file is sent that it, or what is in it, is filled from. Empty: it is filled from none."""
    example: str = ""
    """An example of what is written in it."""
    whens: tuple[When, ...] = ()
    default: Any = None
    """What holds where it is left out."""

    @property
    def top(self) -> str:
        """The field of the operation that it is, or is in."""
        return self.name.partition(".")[0]

    @property
    def limits(self) -> str:
        """What it may be, in few words: `2 to 128 characters`."""
        return " · ".join(_limits(self))

    def label_of(self, choice: str) -> str:
        """Return how one of the choices is shown. Other text is returned as it is."""
        return label(choice) if choice in self.choices else choice

    def is_there(self, written: Mapping[str, str | None]) -> bool:
        """Return whether the field belongs to the choices made in other fields."""
        return all(written.get(each.name) in each.tags for each in self.whens)


@dataclass(frozen=True)
class _Shape:
    """What an annotation says, without what is in it and around it."""

    kind: Any
    limits: tuple[Any, ...] = ()
    others: tuple[Any, ...] = ()
    """The other kinds it may be of."""
    tag: str = ""
    """The field that tells its kinds apart."""


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
            found += _fields(name, (info.alias or camel(name),), info, hints.get(name, ""), name in nullable)
    return tuple(replace(each, required=each.required or each.name in required) for each in found)


def constants_of(operation: type[BaseModel], top: str, tags: Mapping[str, str | None]) -> dict[tuple[str, ...], Any]:
    """What the models within the field `top` say whatever is filled in, by the way to it: their only tag."""
    info = operation.model_fields[top]
    return dict(_constants((info.alias or camel(top),), top, _shape(info.annotation, info.metadata), tags))


def _fields(
    name: str, wire: tuple[str, ...], info: FieldInfo, hint: str, nullable: bool, within: tuple[type, ...] = ()
) -> list[FormField]:
    shape = _shape(info.annotation, info.metadata)
    default = None if info.is_required() or info.default_factory else info.default
    made = FormField(
        name=name,
        wire=wire,
        kind="structure",
        label=info.title or words_of(name.rpartition(".")[2], is_reference=_is_id(shape)),
        hint=hint,
        example=_as_text(next(iter(info.examples or ()), "")),
        required=info.is_required(),
        nullable=nullable,
        default=default,
    )
    if (laid_out := _laid_out(made, shape, within)) is not None:
        return laid_out
    return [replace(_plain(made, shape), file=file_of((shape.kind, *shape.others, *shape.limits)))]


def _as_text(example: Any) -> str:
    """Return an example as it is typed into its field: a list of text has one item per line, an object is YAML."""
    if isinstance(example, list) and all(isinstance(each, str) for each in example):
        return "\n".join(example)
    return example if isinstance(example, str) else yaml_values.to_yaml(example).rstrip("\n")


def _plain(made: FormField, shape: _Shape) -> FormField:
    """A field that holds one value, or a list."""
    kinds = (shape.kind, *shape.others)
    if all(get_origin(each) is Literal for each in kinds):
        words = tuple(word for each in kinds for word in get_args(each))
        if all(isinstance(each, str) for each in words):
            return replace(made, kind="choice", choices=words)
    if get_origin(shape.kind) is tuple and get_args(shape.kind)[1:] == (...,):
        return _list(made, shape)
    if shape.others and not all(isinstance(each, type) and issubclass(each, str) for each in kinds):
        return replace(made, masked=_is_hidden(kinds))
    return _scalar(made, shape)


def _scalar(made: FormField, shape: _Shape) -> FormField:
    limited = _limited(made, shape.limits)
    if shape.kind is bool:
        return replace(limited, kind="yes or no")
    if isinstance(shape.kind, type) and issubclass(shape.kind, int | float):
        return replace(limited, kind="number")
    if isinstance(shape.kind, type) and issubclass(shape.kind, date | datetime):
        return replace(limited, kind="date")
    if shape.kind is not str:
        return replace(limited, masked=_is_hidden((shape.kind,)))
    if any(isinstance(each, Secret) for each in shape.limits):
        return replace(limited, kind="secret", masked=True)
    if known := next((each for each in shape.limits if isinstance(each, KnownValues)), None):
        return replace(limited, kind="choice", choices=known.values)
    pattern = _pattern(shape.limits)
    if _is_id(shape):
        return replace(limited, kind="reference")
    if pattern == COLOUR:
        return replace(limited, kind="colour")
    long = pattern is None and (limited.most is None or limited.most > _LONG)
    return replace(limited, kind="text" if long else "line")


def _list(made: FormField, shape: _Shape) -> FormField:
    words = tuple(word for each in shape.others if get_origin(each) is Literal for word in get_args(each))
    inner = _shape(get_args(shape.kind)[0], ())
    if get_origin(inner.kind) is Literal and not inner.others:
        return replace(_limited(made, shape.limits), kind="choices", choices=get_args(inner.kind))
    if inner.kind is not str:
        return _limited(made, shape.limits)
    item = _scalar(made, inner)
    items: Kind = "line" if item.kind == "text" else item.kind
    kind: Kind = "list"
    if any(not (isinstance(each, type) and issubclass(each, str)) for each in inner.others):
        items = "line"  # of which some may be objects
    elif inner.others:
        items = "reference" if item.kind == "reference" else "line"
    return replace(_limited(made, shape.limits), kind=kind, items=items, choices=words, form="", masked=item.masked)


def _laid_out(made: FormField, shape: _Shape, within: tuple[type, ...]) -> list[FormField] | None:
    """The fields of the model it is, or of the models it may be. None where that is none, or too much for a form."""
    models = [each for each in (shape.kind, *shape.others) if isinstance(each, type) and issubclass(each, BaseModel)]
    if len(models) != 1 + len(shape.others) or any(each in within for each in models):
        return None
    if len(models) == 1:
        return _as_one(made, _of_model(made, models[0], within))
    tag = shape.tag or _told_apart_by(models)
    if not tag:
        return None
    by_tag = {word: model for model in models for word in get_args(model.model_fields[tag].annotation)}
    name = f"{made.name}.{tag}"
    choice = replace(made, name=name, wire=(*made.wire, _wire(models[0], tag)), kind="choice", choices=tuple(by_tag))
    merged: dict[str, FormField] = {}
    for word, model in by_tag.items():
        inner = _of_model(made, model, within)
        if inner is None:
            return None
        for each in inner:
            here = When(name, frozenset({word}))
            before = merged.get(each.name)
            if before is not None and replace(before, whens=()) == replace(each, whens=()):
                merged[each.name] = replace(
                    before, whens=(When(name, before.whens[0].tags | {word}), *before.whens[1:])
                )
            elif before is not None:
                return None
            else:
                merged[each.name] = replace(each, whens=(here, *each.whens))
    choice = replace(choice, label=words_of(tag), group=made.label)
    return [choice, *merged.values()]


def _of_model(made: FormField, model: type[BaseModel], within: tuple[type, ...]) -> list[FormField] | None:
    hints = hints_of(model)
    found: list[FormField] = []
    for name, info in model.model_fields.items():
        if _only_word(info) is not None:
            continue
        wire = (*made.wire, _wire(model, name))
        found += _fields(f"{made.name}.{name}", wire, info, hints.get(name, ""), False, (*within, model))
    if any(each.kind == "structure" for each in found):
        return None
    return [
        replace(
            each,
            group=f"{made.label} · {each.group}" if each.group else made.label,
            required=each.required and made.required,
        )
        for each in found
    ]


def _as_one(made: FormField, found: list[FormField] | None) -> list[FormField] | None:
    """A model of one field is called as what it is of."""
    if not found:
        return None
    if len(found) > 1 or found[0].group != made.label:
        return found
    only = found[0]
    return [replace(only, label=made.label, group="", hint=only.hint or made.hint, nullable=made.nullable)]


def _constants(
    wire: tuple[str, ...], name: str, shape: _Shape, tags: Mapping[str, str | None]
) -> Iterator[tuple[tuple[str, ...], Any]]:
    models = [each for each in (shape.kind, *shape.others) if isinstance(each, type) and issubclass(each, BaseModel)]
    if len(models) > 1:
        tag = shape.tag or _told_apart_by(models)
        chosen = tags.get(f"{name}.{tag}")
        models = [each for each in models if tag and chosen in get_args(each.model_fields[tag].annotation)]
    for model in models:
        for inner, info in model.model_fields.items():
            here, there = (*wire, _wire(model, inner)), f"{name}.{inner}"
            if (word := _only_word(info)) is not None:
                yield here, word
            else:
                yield from _constants(here, there, _shape(info.annotation, info.metadata), tags)


def _only_word(info: FieldInfo) -> Any:
    """What a field can only be, such as the tag of a shape."""
    words = get_args(info.annotation) if get_origin(info.annotation) is Literal else ()
    return words[0] if len(words) == 1 else None


def _told_apart_by(models: Sequence[type[BaseModel]]) -> str:
    """The field all of them have, in which each says another word."""
    for name in models[0].model_fields:
        words = [_only_word(each.model_fields[name]) if name in each.model_fields else None for each in models]
        if None not in words and len(set(words)) == len(words):
            return name
    return ""


def _shape(annotation: Any, limits: Sequence[Any]) -> _Shape:
    """What an annotation comes to, without `Annotated`, and without None."""
    found = list(limits)
    while get_origin(annotation) is Annotated:
        annotation, *more = get_args(annotation)
        found += more
    if get_origin(annotation) in (Union, UnionType):
        kinds = [_shape(each, ()) for each in get_args(annotation) if each is not NoneType]
        first = kinds[0]
        every = [each for kind in kinds for each in (kind.kind, *kind.others)]
        found += first.limits
        return _Shape(every[0], tuple(_flat(found)), tuple(every[1:]), first.tag or _discriminator(found))
    return _Shape(annotation, tuple(_flat(found)), (), _discriminator(found))


def _flat(limits: Sequence[Any]) -> Iterator[Any]:
    for each in limits:
        if isinstance(each, FieldInfo):
            yield from _flat(each.metadata)
        else:
            yield each


def _discriminator(limits: Sequence[Any]) -> str:
    found = (each.discriminator for each in limits if isinstance(each, FieldInfo))
    return next((each for each in found if isinstance(each, str)), "")


def _limited(made: FormField, limits: Sequence[Any]) -> FormField:
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


def _limits(made: FormField) -> Iterator[str]:
    if made.form and made.kind != "reference":
        yield made.form
    if made.kind == "reference":
        return
    noun = "item" if made.kind in ("list", "choices", "structure") else "character"
    if made.least and made.most:
        yield f"{made.least} to {made.most} {noun}s"
    elif made.most:
        yield f"at most {plural(made.most, noun)}"
    elif made.least:
        yield f"at least {plural(made.least, noun)}"
    if made.low is not None and made.high is not None:
        yield f"{made.low:g} to {made.high:g}"
    elif made.low is not None:
        yield f"at least {made.low:g}"
    elif made.high is not None:
        yield f"at most {made.high:g}"
    if made.kind == "date":
        yield "for example 2026-11-23 or 2026-11-23T18:30Z"
    if made.kind == "structure":
        yield "YAML or JSON"
    if made.kind == "list":
        yield "one per line" + (f", or one of {', '.join(made.choices)}" if made.choices else "")


def _pattern(limits: Sequence[Any]) -> str | None:
    found = (each.pattern for each in limits if isinstance(each, StringConstraints))
    return next((str(each) for each in found if each is not None), None)


def _is_id(shape: _Shape) -> bool:
    return shape.kind is str and _pattern(shape.limits) == _ID_PATTERN


def _is_hidden(kinds: Sequence[Any]) -> bool:
    """Whether what is hidden stands anywhere in an annotation."""
    waiting = list(kinds)
    while waiting:
        each = waiting.pop()
        if isinstance(each, Secret):
            return True
        waiting += get_args(each)
    return False


def file_of(kinds: Sequence[Any], *, deep: bool = True) -> str:
    """As what a file is sent that something in an annotation is filled from: with `deep` also in models. Empty: none."""
    waiting = list(kinds)
    while waiting:
        each = waiting.pop()
        if isinstance(each, OfFile):
            return each.kind
        waiting += get_args(each)
        if deep and isinstance(each, type) and issubclass(each, BaseModel):
            waiting += [part for info in each.model_fields.values() for part in (info.annotation, *info.metadata)]
    return ""


def _wire(model: type[BaseModel], name: str) -> str:
    return model.model_fields[name].alias or camel(name)


def words_of(name: str, *, is_reference: bool = False) -> str:
    """Return the label of a field: `sso_url` is “SSO URL”, and `space_id` is “Space” if a space is chosen."""
    if is_reference:
        name = name.removesuffix("_id")
    words = field_label(name)
    return words[:1].upper() + words[1:]


@cache
def hints_of(model: type[BaseModel]) -> Mapping[str, str]:
    """What stands below the fields of a model, by name. Read from its source: it is no part of a running program."""
    found: dict[str, str] = {}
    for each in reversed(model.__mro__):
        if not each.__module__.startswith(("pydantic", "builtins", "typing", "abc")):
            found |= _hints_in(each.__module__).get(each.__qualname__, {})
    return found


@cache
def _hints_in(module: str) -> Mapping[str, Mapping[str, str]]:
    """What stands below the fields of the classes of a module, by the name of the class. It is read once for all of
    them: Python's own way to the source of a class reads all of its module for each."""
    try:
        source = inspect.getsource(sys.modules[module])
    except (OSError, TypeError):
        return {}  # it was made without one
    found: dict[str, Mapping[str, str]] = {}

    def look(place: str, lines: Sequence[ast.stmt]) -> None:
        for each in lines:
            if isinstance(each, ast.ClassDef):
                found[place + each.name] = _below(each.body)
                look(f"{place}{each.name}.", each.body)
            elif isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
                look(f"{place}{each.name}.<locals>.", each.body)

    look("", ast.parse(source).body)
    return found


def _below(lines: Sequence[ast.stmt]) -> dict[str, str]:
    found: dict[str, str] = {}
    for line, after in itertools.pairwise(lines):
        match line, after:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(words))):
                found[name] = " ".join(inspect.cleandoc(words).split())
    return found
