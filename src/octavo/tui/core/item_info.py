"""The Info dialog, which the key `i` opens. It lists the details of the selected item, and says why keys are disabled.
Start at `show_info`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, get_args

from textual.screen import Screen

from octavo.api.change_requests import ChangeRequest
from octavo.api.comments import Comment
from octavo.api.content import Page
from octavo.api.labels import field_label, label
from octavo.api.operation import Model, Urls
from octavo.api.spaces import Space
from octavo.api.text import KnownValues, Secret
from octavo.api.users import User
from octavo.data.offline_spaces import OfflineSpace
from octavo.local_time import localize
from octavo.tui.core.external_links import copy_text
from octavo.tui.core.item_labels import offline_summary
from octavo.tui.core.view import View
from octavo.tui.widgets.chooser import Choice, Chooser
from octavo.tui.widgets.commands import active_commands
from octavo.tui.widgets.short_texts import long_age

LINK_NAMES = ("link", "published link")
"""Names of the details that are web links."""
HIDDEN_VALUE = "hidden"
_PERMISSION_NAMES = {("site", "edit"): "edit structure"}
"""Shown names of permissions that allow less than their field names suggest, by kind of item and field name."""


def item_details(item: Model) -> tuple[str, list[tuple[str, str]]]:
    """Return the kind of an item, such as `change request`, and its details as pairs of name and value."""
    match item:
        case Comment():
            return "comment", _as_text(_comment_details(item))
        case Page():
            return "page", _as_text(_page_details(item))
        case ChangeRequest():
            return "change request", _as_text(_change_request_details(item))
    kind = str(getattr(item, "object", "")).removeprefix("site-") or type(item).__name__
    return kind.replace("-", " ").lower(), field_details(item)


class _Field(NamedTuple):
    path: str
    """Dotted path of the field, such as `organization.last_seen_at`."""
    short_label: str
    long_label: str
    value: object


def field_details(
    model: Model, excluded: Collection[str] = (), labels: Mapping[str, str] = MappingProxyType({})
) -> list[tuple[str, str]]:
    """Return the name and the value of each field that has a value. Fields named in `excluded` are left out. `labels`
    gives names to fields by dotted path, such as `user.name`."""
    fields = list(_iter_fields(model, excluded))
    counts = Counter(labels.get(each.path, each.short_label) for each in fields)
    return _as_text(
        (labels.get(each.path) or (each.short_label if counts[each.short_label] == 1 else each.long_label), each.value)
        for each in fields
    )


def _iter_fields(
    model: Model, excluded: Collection[str], path: str = "", short_prefix: str = "", long_prefix: str = ""
) -> Iterator[_Field]:
    """Yield the fields of `model`, including the fields of nested models. `path` is the dotted path of `model`. The
    short and the long label of each field begin with `short_prefix` and `long_prefix`."""
    for name, value in model:
        if name in excluded or name == "object" or value is None:
            continue
        field_path = f"{path}.{name}".removeprefix(".")
        short_label, long_label = (f"{prefix} {field_label(name)}".strip() for prefix in (short_prefix, long_prefix))
        match value:
            case Urls():
                yield _Field(field_path, "link", "link", value.app)
                yield _Field(field_path, "published link", "published link", value.published or value.public)
            case User():
                is_own_name = name == "user"
                yield _Field(f"{field_path}.name", "name" if is_own_name else short_label, long_label, value.name)
                email_label = "email" if is_own_name else f"{short_label} email"
                yield _Field(f"{field_path}.email", email_label, f"{long_label} email", value.email)
            case Model() if name == "permissions":
                names = _permission_names(value, str(getattr(model, "object", "")))
                yield _Field(field_path, "your permissions", "your permissions", names)
            case Model() if title := getattr(value, "title", ""):
                yield _Field(f"{field_path}.title", short_label, long_label, title)
            case Model():
                # Fields of a nested item with an ID are clear without its name, so their short labels have no prefix.
                has_id = "id" in type(value).model_fields
                yield from _iter_fields(value, excluded, field_path, "" if has_id else short_label, long_label)
            case _:
                yield _Field(field_path, short_label, long_label, _display_value(model, name, value))


def _display_value(model: Model, name: str, value: object) -> object:
    match value:
        case bool():
            return "yes" if value else "no"
        case dict() if value and _has_mark(Secret, type(model), name):
            return HIDDEN_VALUE
        case tuple() if holds_codes(type(model), name):
            return ", ".join(label(str(each)) for each in value)
        case tuple():
            return ", ".join(_name_of(each) for each in value)
        case dict():
            codes = {key for key, each in value.items() if isinstance(each, str) and key in ("kind", "status", "type")}
            return ", ".join(f"{key}: {label(each) if key in codes else each}" for key, each in value.items())
        case str() if holds_codes(type(model), name):
            return label(value)
    return value


@cache
def holds_codes(model: type[Model], name: str) -> bool:
    """Return True if the field `name` of a model has API codes, for which users see labels (`api/labels.py`)."""
    if name in ("language", "languages"):
        return True
    return _has_mark(KnownValues, model, name)


def _has_mark(mark: type[KnownValues | Secret], model: type[Model], name: str) -> bool:
    field = model.model_fields[name]
    return any(isinstance(each, mark) for each in annotation_parts((*field.metadata, field.annotation)))


def annotation_parts(annotations: Iterable[Any]) -> Iterator[Any]:
    """Yield annotations and all their type arguments, however deeply nested."""
    for annotation in annotations:
        yield annotation
        yield from annotation_parts(get_args(annotation))


def _name_of(value: object) -> str:
    if not isinstance(value, Model):
        return str(value)
    names = (getattr(value, name, "") for name in ("title", "name", "label", "id"))
    return str(next(filter(None, names), "") or " ".join(f"{label} {each}" for label, each in field_details(value)))


def _as_text(details: Iterator[tuple[str, object]]) -> list[tuple[str, str]]:
    texts = ((name, _value_text(value)) for name, value in details)
    return [(name, value) for name, value in texts if value]


def _value_text(value: object) -> str:
    if isinstance(value, datetime):
        return f"{localize(value):%Y-%m-%d %H:%M %Z}".rstrip() + f" · {long_age(value)}"
    return str(value or "")


def _permission_names(permissions: Model, kind: str = "") -> str:
    names = (name for name, is_granted in permissions if is_granted is True)
    return ", ".join(_PERMISSION_NAMES.get((kind, name)) or field_label(name) for name in names)


def _comment_details(comment: Comment) -> Iterator[tuple[str, object]]:
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
    yield "your permissions", _permission_names(comment.permissions)
    yield "link", comment.urls.app


def _page_details(page: Page) -> Iterator[tuple[str, object]]:
    yield "ID", page.id
    yield "title", page.title
    yield "path", page.path
    yield "description", page.description
    yield "created", page.created_at
    yield "last changed", page.updated_at
    yield "hidden", "yes" if page.hidden else ""
    yield "link", page.urls.app
    yield "published link", page.urls.published


def _change_request_details(change_request: ChangeRequest) -> Iterator[tuple[str, object]]:
    yield "ID", change_request.id
    yield "number", change_request.number
    yield "subject", change_request.subject
    yield "status", change_request.status
    yield "author", change_request.author_name
    yield "created", change_request.created_at
    yield "last changed", change_request.updated_at
    yield "outdated", "yes, main has newer changes" if change_request.outdated else ""
    yield "revision", change_request.revision
    yield "first revision", change_request.revision_initial
    yield "last update from main", change_request.revision_merged_ancestor
    yield "merged revision", change_request.revision_merged
    yield "link", change_request.urls.app


def show_info(view: View) -> None:
    """Open the Info dialog for the selected items of a view. If the user presses enter on a detail, copy it."""
    shell = view.shell
    dialog = InfoScreen(view.selected_items, view, shell.session.offline.get, has_links=not shell.session.is_embedded)
    shell.ask(dialog, lambda value: copy_text(shell, value, "Copied."))


class InfoScreen(Chooser[str | None, str]):
    """A dialog with the details of items and the disabled keys of the screen below. Its result is the value to copy."""

    PLACEHOLDER: ClassVar[str] = "Find a detail or a keyboard shortcut"
    FOOTER: ClassVar[str] = "enter copy · esc close"
    GROUPS_MATCHES: ClassVar[bool] = True

    def __init__(
        self,
        items: Sequence[Model],
        screen_below: Screen[Any],
        offline_space: Callable[[str], OfflineSpace | None],
        *,
        has_links: bool = True,
    ) -> None:
        """`offline_space` takes a space ID and returns the offline copy of the space, or None if there is none. Without
        `has_links`, the dialog shows no links."""
        super().__init__("Info", empty="No details to show. Select an item first.")
        self._offline_space = offline_space
        self._items, self._screen_below, self._omitted_names = items, screen_below, () if has_links else LINK_NAMES

    def choices(self) -> Sequence[Choice[str]]:
        choices: list[Choice[str]] = []
        for item in self._items:
            kind, details = item_details(item)
            if isinstance(item, Space) and (offline_space := self._offline_space(item.id)) is not None:
                details.append(("offline", offline_summary(offline_space)))
            shown_details = [(name, value) for name, value in details if name not in self._omitted_names]
            choices += [Choice(value, name, detail=value, group=kind.upper()) for name, value in shown_details]
        for command in active_commands(self._screen_below):
            if command.reason:
                name = f"{command.key}  {command.title}"
                choices.append(Choice("", name, group="UNAVAILABLE SHORTCUTS", disabled_reason=command.reason))
        return choices
