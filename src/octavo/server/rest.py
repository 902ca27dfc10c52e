"""`RequestContext`, with which all handlers work, and the default handler of operations.

`handle` calls the handler that is registered for the class of an operation. The default handler is plain REST: it
reads, creates, changes or deletes the document at the path of the operation, or lists the collection at this path. It
calls functions that other modules register with `presents`, `before_save` and `guards`. Every write needs a guard.
"""

from __future__ import annotations

import json
import secrets
import string
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import singledispatch
from typing import Any, Generic, Self, TypeVar
from urllib.parse import unquote

from pydantic_core import from_json

from octavo.api.operation import SPECS, Listing, ListPage, Model, Operation
from octavo.api.wire import VERSION, null_error, path_fields, url_path
from octavo.server.store import Json, Store

_ID_CHARACTERS = string.ascii_letters + string.digits


class Refusal(Exception):
    """Error response to a request, with a status and a message."""

    def __init__(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers or {}


def random_id() -> str:
    """Return twenty random letters and digits."""
    return "".join(secrets.choice(_ID_CHARACTERS) for _ in range(20))


@dataclass(frozen=True)
class RequestContext:
    """The store and the clock that a handler uses, and the ID of the user who sent the request, as `caller`."""

    store: Store = field(default_factory=Store)
    caller: str = ""
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))
    new_id: Callable[[], str] = random_id
    origin: str = "http://octavo.local"
    """URL of this platform without a path, such as `https://example.com`. All absolute URLs start with it."""
    allows_private_imports: bool = False
    """True if imports may download from this computer and from private networks."""

    def for_user(self, user_id: str) -> Self:
        """Return a copy in which `user_id` is the caller."""
        return replace(self, caller=user_id)

    def url(self, path: str) -> str:
        """Return the absolute URL of a path on this platform."""
        return self.origin + path

    def timestamp(self) -> str:
        """Return the current time in the format of the API."""
        return iso(self.now())


def iso(moment: datetime) -> str:
    """Return a time in the format of the API, such as `2026-11-16T09:00:00.000Z`."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


T = TypeVar("T")


@dataclass(frozen=True)
class BackgroundWork(Generic[T]):
    """Result of a handler whose response needs slow work, such as a download."""

    run: Callable[[], T]
    """Function that does the work. It runs in another thread, so it must not use the store."""
    finish: Callable[[T], Any]
    """Function that gets the result of `run`, and returns the response. It runs in the thread of the handlers."""
    early_response: Any = None
    """Response that is sent before the work begins. None if the response is the result of `finish`."""
    needs_much_memory: bool = False
    """True if `run` needs much memory. Only one such `run` is executed at a time."""


LOCAL_USER = "me"
"""ID of the user to whom folders opened in Octavo belong."""
LOCAL_ORGANIZATION = "local"
"""ID of the organization that contains the spaces of opened folders."""


def add_local_user(context: RequestContext, name: str) -> RequestContext:
    """Create the user and organization of opened folders, if missing. Return a copy of `context` for this user."""
    store = context.store
    if store.find(f"/users/{LOCAL_USER}") is None:
        now = context.timestamp()
        with store.transaction():
            store.put(f"/users/{LOCAL_USER}", {"id": LOCAL_USER, "displayName": name})
            organization = {"title": "This machine", "createdAt": now, "defaultRole": "admin"}
            store.put(f"/orgs/{LOCAL_ORGANIZATION}", {"id": LOCAL_ORGANIZATION, **organization})
            member = {"id": LOCAL_USER, "role": "admin", "joinedAt": now}
            store.put(f"/orgs/{LOCAL_ORGANIZATION}/members/{LOCAL_USER}", member)
    return context.for_user(LOCAL_USER)


PAGE_SIZE = 50
"""Number of items on a page of a list, unless the request has a limit."""

Presenter = Callable[[RequestContext, Json], Json]
P = TypeVar("P", bound=Presenter)
PRESENTERS: dict[type[Model], Presenter] = {}
"""For each model of the API: the function that converts a stored document to this model."""

Guard = Callable[[Any, RequestContext], None]
G = TypeVar("G", bound=Guard)
GUARDS: dict[type[Operation[Any]], Guard] = {}
"""For each operation with the default handler: the function that checks whether the caller may use it."""

BeforeSave = Callable[[Any, RequestContext, Json], Json]
C = TypeVar("C", bound=BeforeSave)
BEFORE_SAVE: dict[type[Model], BeforeSave] = {}
"""For each model of the API: the function that checks and completes a document before it is saved."""


def _register(table: dict[Any, Any], *keys: type) -> Callable[[Any], Any]:
    def register(function: Any) -> Any:
        table.update(dict.fromkeys(keys, function))
        return function

    return register


def presents(kind: type[Model]) -> Callable[[P], P]:
    """Return a decorator that registers the function which converts stored documents to the model `kind`."""
    return _register(PRESENTERS, kind)


def guards(*operations: type[Operation[Any]]) -> Callable[[G], G]:
    """Return a decorator that registers a function, which raises Refusal if the caller may not use `operations`."""
    return _register(GUARDS, *operations)


def before_save(kind: type[Model]) -> Callable[[C], C]:
    """Return a decorator for the function that checks and completes documents of the type `kind` before each save."""
    return _register(BEFORE_SAVE, kind)


@singledispatch
def handle(op: Operation[Any], context: RequestContext) -> Any:
    """Return the response: JSON, `BackgroundWork`, or None if it has no body. Raises Refusal and MissingResource."""
    spec = SPECS[type(op)]
    path = path_of(op)
    _check_guard(op, context)
    if spec.method == "GET":
        return present(op, context, context.store.get(path))
    if spec.method == "DELETE":
        context.store.delete(path)
        return None
    return present(op, context, _save(op, context, path))


def present(op: Operation[Any], context: RequestContext, document: Json) -> Json:
    """Convert a stored document to the API resource that the response of `op` contains."""
    return PRESENTERS[SPECS[type(op)].response_type](context, document)


def omit(document: Json, *names: str) -> Json:
    """Return a copy of a document without the fields `names`."""
    return {name: value for name, value in document.items() if name not in names}


def _save(op: Operation[Any], context: RequestContext, path: str) -> Json:
    spec = SPECS[type(op)]
    if spec.path.endswith("}") or not spec.path:
        document = context.store.get(path)
    else:
        document = {"id": context.new_id()}
        path = f"{path}/{document['id']}"
    document |= request_fields(op)
    if function := BEFORE_SAVE.get(spec.response_type):
        document = function(op, context, document)
    return context.store.put(path, document)


def _check_guard(op: Operation[Any], context: RequestContext) -> None:
    guard = GUARDS.get(type(op))
    if guard:
        guard(op, context)
    elif SPECS[type(op)].method != "GET":
        raise TypeError(f"{SPECS[type(op)].name} has no guard")


@handle.register(Listing)
def list_documents(op: Listing[Any], context: RequestContext) -> Json:
    """Return a list page of the resources under the path of `op`, in order of creation. Raises Refusal."""
    _check_guard(op, context)
    kind = item_type_of(SPECS[type(op)].response_type)
    return paginate(op, context.store.items(path_of(op)), lambda document: PRESENTERS[kind](context, document))


def item_type_of(response_type: type[ListPage[Any]]) -> type[Model]:
    """Return the model `T` of the items, for a response of the type `ListPage[T]`."""
    kind: type[Model] = response_type.__pydantic_generic_metadata__["args"][0]
    return kind


def path_of(op: Operation[Any]) -> str:
    """Return the path in the store of the document or collection that `op` is about, such as `/spaces/docs`."""
    return unquote(url_path(op).removeprefix(VERSION))


def request_fields(op: Operation[Any]) -> Json:
    """Return the fields that the request sets, by API name. Raises Refusal for a null where a value is required."""
    spec = SPECS[type(op)]
    fields: Json = op.model_dump(mode="json", by_alias=True, exclude=path_fields(spec) | {"at"}, exclude_unset=True)
    if null_message := null_error(spec, fields):
        raise Refusal(400, null_message)
    return fields


def paginate(
    op: Listing[Any],
    items: Iterable[tuple[Any, Any]],
    show: Callable[[Any], Any] = lambda item: item,
    *,
    is_descending: bool = False,
) -> Json:
    """Return the page of a list that the request asks for. `items` are pairs (sort key, item), the lowest key first,
    or the highest if `is_descending`. `show` converts an item to JSON. Raises Refusal for an invalid `op.page`."""
    all_items = list(items)
    size = PAGE_SIZE if op.limit is None else op.limit
    remaining = all_items if op.page is None else _items_after(all_items, op.page, is_descending)
    response: Json = {"items": [show(item) for _, item in remaining[:size]], "count": len(all_items)}
    if size and len(remaining) > size:
        last_key = json.dumps(remaining[size - 1][0]).encode()
        response["next"] = {"page": urlsafe_b64encode(last_key).decode().rstrip("=")}
    return response


def _items_after(items: list[tuple[Any, Any]], cursor: str, is_descending: bool) -> list[tuple[Any, Any]]:
    try:
        last_key = from_json(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)), allow_inf_nan=False)
        last_key = tuple(last_key) if isinstance(last_key, list) else last_key
        return [pair for pair in items if (pair[0] < last_key if is_descending else pair[0] > last_key)]
    except (TypeError, ValueError):
        sentence = "page does not name a page in this list. Use next.page from the previous page, or leave page out."
        raise Refusal(400, sentence) from None


_LAST_POSITION = 1 << 40
StoredDocument = tuple[str, Json]
"""The path of a document in the store, and the document."""
SortKey = tuple[Any, ...]


def order_key(stored_position: int, document: Json) -> SortKey:
    """Return the sort key of a document. Set a missing `position` after all others, in order of creation."""
    position = document.get("position", [_LAST_POSITION, stored_position])
    document["position"] = position if isinstance(position, list) else [position]  # Older versions saved integers.
    return (document["position"], stored_position)


def insert_in_order(
    context: RequestContext, siblings: list[StoredDocument], index: int, documents: list[StoredDocument]
) -> None:
    """Save `documents` between the siblings `index - 1` and `index`, or at the end. All `siblings` must have a
    position. Their positions do not change, because the cursors of lists contain positions."""
    lower = siblings[index - 1][1]["position"] if index else None
    upper = siblings[index][1]["position"] if index < len(siblings) else None
    for path, document in documents:
        lower = _position_between(lower, upper)
        context.store.put(path, {**document, "position": lower})


def _position_between(lower: list[int] | None, upper: list[int] | None) -> list[int]:
    if lower is None:
        return [upper[0] - 1] if upper else [0]
    if upper and upper[: len(lower)] == lower != upper:
        return [*lower, upper[len(lower)] - 1]
    following = [*lower[:-1], lower[-1] + 1]
    # Never return two numbers, as `order_key` sets: a document with such a position could come between.
    return following if len(lower) > 2 and (upper is None or following < upper) else [*lower, 0]


def save_next_to(
    context: RequestContext,
    siblings: list[StoredDocument],
    moved: StoredDocument,
    neighbor: StoredDocument | None,
    *,
    is_before: bool,
) -> None:
    """Move `moved` before (`is_before`) or after `neighbor`. If `neighbor` is None, move to the end of `siblings`."""
    other_siblings = [sibling for sibling in siblings if sibling[0] != moved[0]]
    paths = [path for path, _ in other_siblings]
    index = paths.index(neighbor[0]) + (not is_before) if neighbor else len(other_siblings)
    insert_in_order(context, other_siblings, index, [moved])
