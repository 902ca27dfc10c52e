"""Details of a thing that its view has no room for: ids, people, dates, permissions, links."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from functools import cache
from types import MappingProxyType
from typing import NamedTuple, get_args

from octavo.api.change_requests import ChangeRequest
from octavo.api.comments import Comment
from octavo.api.content import Page
from octavo.api.labels import field_label, label
from octavo.api.operation import Model, Urls
from octavo.api.organizations import Organization
from octavo.api.spaces import Space
from octavo.api.text import KnownValues
from octavo.api.users import User
from octavo.tui.widgets.wording import long_age

LINKS = ("link", "published link")
"""Names of the details that are links."""


def facts_of(thing: Model) -> tuple[str, list[tuple[str, str]]]:
    """What kind of thing it is, and each fact with its name. What the server does not say is left out."""
    match thing:
        case Comment():
            return "comment", _said(_of_comment(thing))
        case Page():
            return "page", _said(_of_page(thing))
        case Space():
            return "space", _said(_of_space(thing))
        case ChangeRequest():
            return "change request", _said(_of_change_request(thing))
        case Organization():
            return "organization", _said(_of_organization(thing))
    kind = str(getattr(thing, "object", "")).removeprefix("site-") or type(thing).__name__
    return kind.replace("-", " ").lower(), of_fields(thing)


class _Field(NamedTuple):
    """A field of a thing that says something."""

    path: str
    """The fields that lead to this field: `organization.last_seen_at`."""
    short: str
    """The label of this field alone."""
    long: str
    """The label with the names of the fields that lead to this field."""
    value: object


def of_fields(
    thing: Model, without: Collection[str] = (), called: Mapping[str, str] = MappingProxyType({})
) -> list[tuple[str, str]]:
    """Return every field of a thing that says anything, each with its label: the label that `called` has for its path, else
    the label of the field alone. Fields that would have the same label are told apart by where they are."""
    fields = list(_of_fields(thing, without))
    count = Counter(called.get(each.path, each.short) for each in fields)
    return _said(
        (called.get(each.path) or (each.short if count[each.short] == 1 else each.long), each.value) for each in fields
    )


def _of_fields(
    thing: Model, without: Collection[str], path: str = "", short: str = "", long: str = ""
) -> Iterator[_Field]:
    """Yield the fields of a thing at `path`. `short` and `long` are the beginnings of their labels."""
    for name, value in thing:
        if name in without or name == "object" or value is None:
            continue
        here = f"{path}.{name}".removeprefix(".")
        said, in_full = (f"{begin} {field_label(name)}".strip() for begin in (short, long))
        match value:
            case Urls():
                yield _Field(here, "link", "link", value.app)
                yield _Field(here, "published link", "published link", value.published or value.public)
            case User():
                is_about_them = name == "user"
                yield _Field(f"{here}.name", "name" if is_about_them else said, in_full, value.name)
                mail = "email" if is_about_them else f"{said} email"
                yield _Field(f"{here}.email", mail, f"{in_full} email", value.email)
            case Model() if name == "permissions":
                yield _Field(here, "your permissions", "your permissions", _rights(value))
            case Model() if title := getattr(value, "title", ""):
                yield _Field(f"{here}.title", said, in_full, title)
            case Model():
                # What has an ID is a thing itself, and the names of its fields say enough.
                is_thing = "id" in type(value).model_fields
                yield from _of_fields(value, without, here, "" if is_thing else said, in_full)
            case _:
                yield _Field(here, said, in_full, _in_words(thing, name, value))


def _in_words(thing: Model, name: str, value: object) -> object:
    """Return the value of a field that is no model as it is shown."""
    match value:
        case bool():
            return "yes" if value else "no"
        case tuple() if is_coded(type(thing), name):
            return ", ".join(label(str(each)) for each in value)
        case tuple():
            return ", ".join(_called(each) for each in value)
        case dict():
            return ", ".join(f"{key}: {_of_json(key, each)}" for key, each in value.items())
        case str() if is_coded(type(thing), name):
            return label(value)
    return value


@cache
def is_coded(model: type[Model], name: str) -> bool:
    """Return whether a field of a model holds codes of the API, which are shown as their labels (`api/labels.py`)."""
    if name in ("language", "languages"):
        return True
    info = model.model_fields[name]
    waiting: list[object] = [*info.metadata, info.annotation]
    while waiting:
        each = waiting.pop()
        if isinstance(each, KnownValues):
            return True
        waiting += get_args(each)
    return False


def _of_json(key: str, value: object) -> object:
    """Return a value of JSON that has no model: the fields that name a kind or a state hold codes."""
    return label(value) if isinstance(value, str) and key in ("kind", "status", "type") else value


def _called(value: object) -> str:
    if not isinstance(value, Model):
        return str(value)
    named = (getattr(value, name, "") for name in ("title", "name", "label", "id"))
    return str(next(filter(None, named), "") or " ".join(f"{label} {each}" for label, each in of_fields(value)))


def _said(facts: Iterator[tuple[str, object]]) -> list[tuple[str, str]]:
    shown = ((name, _when(value) if isinstance(value, datetime) else str(value or "")) for name, value in facts)
    return [(name, value) for name, value in shown if value]


def _when(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M %Z}".rstrip() + f" · {long_age(moment)}"


def _rights(permissions: Model) -> str:
    return ", ".join(field_label(name) for name, given in permissions if given is True)


def _of_comment(comment: Comment) -> Iterator[tuple[str, object]]:
    target = comment.target
    yield "ID", comment.id
    yield "author", comment.posted_by.name
    yield "author ID", comment.posted_by.id
    yield "posted", comment.posted_at
    yield "edited", comment.edited_at
    yield "status", comment.status
    yield "resolved by", comment.resolved_by.name if comment.resolved_by else ""
    yield "resolved", comment.resolved_at
    yield "page", (target.page.title or target.page.path) if target.page else "none (the comment is not on a page)"
    yield "page ID", target.page.id if target.page else ""
    yield "block", target.node.id if target.node else ""
    yield "revision", target.revision
    yield "your permissions", _rights(comment.permissions)
    yield "link", comment.urls.app


def _of_page(page: Page) -> Iterator[tuple[str, object]]:
    yield "ID", page.id
    yield "title", page.title
    yield "path", page.path
    yield "description", page.description
    yield "created", page.created_at
    yield "last changed", page.updated_at
    yield "hidden", "yes" if page.hidden else ""
    yield "link", page.urls.app
    yield "published link", page.urls.published


def _of_space(space: Space) -> Iterator[tuple[str, object]]:
    yield "ID", space.id
    yield "title", space.title
    yield "visibility", label(space.visibility)
    yield "edit mode", label(space.edit_mode or "")
    yield "language", label(space.language or "")
    yield "revision", space.revision
    yield "created", space.created_at
    yield "last changed", space.updated_at
    yield "your permissions", _rights(space.permissions)
    yield "link", space.urls.app
    yield "published link", space.urls.published


def _of_change_request(each: ChangeRequest) -> Iterator[tuple[str, object]]:
    yield "ID", each.id
    yield "number", each.number
    yield "subject", each.subject
    yield "status", each.status
    yield "author", each.created_by.name if each.created_by else ""
    yield "created", each.created_at
    yield "last changed", each.updated_at
    yield "outdated", "yes, main has newer changes" if each.outdated else ""
    yield "revision", each.revision
    yield "first revision", each.revision_initial
    yield "last update from main", each.revision_merged_ancestor
    yield "merged revision", each.revision_merged
    yield "link", each.urls.app


def _of_organization(organization: Organization) -> Iterator[tuple[str, object]]:
    yield "ID", organization.id
    yield "title", organization.title
    yield "plan", organization.plan
    yield "created", organization.created_at
    yield "your permissions", _rights(organization.permissions)
    yield "link", organization.urls.app
