"""What each operation does. `handle` dispatches on its class: handler modules register what has a mind of its own.

What is not registered is plain REST: read, file, change or remove the document at the path of the operation, or list
those below it. How a document is shown is said once, by the `presents` of the module of its subject; what is checked or
added when it is written, by its `completes`. Who may do what is plain is said by a `guards`: no write does without.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterable
from functools import singledispatch
from typing import Any, TypeVar
from urllib.parse import unquote

from pydantic_core import from_json

from octavo.api.operation import SPECS, Listing, ListPage, Model, Operation
from octavo.api.wire import VERSION, arguments, location
from octavo.api.wrong_values import about_null
from octavo.server.store import Json
from octavo.server.world import Refusal, World

PAGE_SIZE = 50
"""Items of a page when the caller does not say."""

Presenter = Callable[[World, Json], Json]
P = TypeVar("P", bound=Presenter)
PRESENTERS: dict[type[Model], Presenter] = {}
"""How documents are shown, by the model they answer."""

Guard = Callable[[Any, World], None]
G = TypeVar("G", bound=Guard)
GUARDS: dict[type[Operation[Any]], Guard] = {}
"""Who may do what is plain, by operation."""

Completer = Callable[[Any, World, Json], Json]
C = TypeVar("C", bound=Completer)
COMPLETERS: dict[type[Model], Completer] = {}
"""What plain documents become when they are written, by the model they answer."""


def presents(kind: type[Model]) -> Callable[[P], P]:
    """Let a function say how documents that answer a `kind` are shown to the caller."""

    def register(present: P) -> P:
        PRESENTERS[kind] = present
        return present

    return register


def guards(*operations: type[Operation[Any]]) -> Callable[[G], G]:
    """Let a function say who may do these operations, which are plain but for that. It raises Refused."""

    def register(guard: G) -> G:
        GUARDS.update(dict.fromkeys(operations, guard))
        return guard

    return register


def completes(kind: type[Model]) -> Callable[[C], C]:
    """Let a function check and complete plain documents that answer a `kind`, before they are filed.

    It is given the operation, the world and the document with what the caller set in it; it returns what is filed.
    """

    def register(complete: C) -> C:
        COMPLETERS[kind] = complete
        return complete

    return register


@singledispatch
def handle(op: Operation[Any], world: World) -> Any:
    """The JSON value that answers `op`, or None. Raises Refused and Missing."""
    spec = SPECS[type(op)]
    path = path_of(op)
    _check_guard(op, world)
    if spec.method == "GET":
        return present(op, world, world.store.get(path))
    if spec.method == "DELETE":
        world.store.delete(path)
        return None
    return present(op, world, _save(op, world, path))


def present(op: Operation[Any], world: World, document: Json) -> Json:
    """A document as `op` answers it."""
    return PRESENTERS[SPECS[type(op)].answer](world, document)


def omit(document: Json, *names: str) -> Json:
    """A document but for these fields."""
    return {name: value for name, value in document.items() if name not in names}


def _save(op: Operation[Any], world: World, path: str) -> Json:
    """File a new document below a collection, or change the one that the path of `op` ends in."""
    spec = SPECS[type(op)]
    if spec.path.endswith("}") or not spec.path:
        document = world.store.get(path)
    else:
        document = {"id": world.new_id()}
        path = f"{path}/{document['id']}"
    document |= request_fields(op)
    if complete := COMPLETERS.get(spec.answer):
        document = complete(op, world, document)
    return world.store.put(path, document)


def _check_guard(op: Operation[Any], world: World) -> None:
    """Refuse who may not do what is plain. Whoever sees its place may read, unless a guard says otherwise."""
    guard = GUARDS.get(type(op))
    if guard:
        guard(op, world)
    elif SPECS[type(op)].method != "GET":
        raise TypeError(f"Nobody said who may do {SPECS[type(op)].name}")


@handle.register(Listing)
def plain_list(op: Listing[Any], world: World) -> Json:
    """The documents filed below the path of `op`, in the order they came."""
    _check_guard(op, world)
    kind = item_of(SPECS[type(op)].answer)
    return paginate(op, world.store.items(path_of(op)), lambda document: PRESENTERS[kind](world, document))


def item_of(answer: type[ListPage[Any]]) -> type[Model]:
    """What a list is made of."""
    kind: type[Model] = answer.__pydantic_generic_metadata__["args"][0]
    return kind


def path_of(op: Operation[Any]) -> str:
    """The path the document that `op` is about is filed under."""
    return unquote(location(op).removeprefix(VERSION))


def request_fields(op: Operation[Any]) -> Json:
    """What the caller set, under wire names. Refuses null where it means nothing."""
    fields: Json = op.model_dump(mode="json", by_alias=True, include=set(arguments(op)), exclude_unset=True)
    if wrong := about_null(SPECS[type(op)], fields):
        raise Refusal(400, wrong)
    return fields


def paginate(
    op: Listing[Any],
    items: Iterable[tuple[Any, Any]],
    show: Callable[[Any], Any] = lambda item: item,
    *,
    descending: bool = False,
) -> Json:
    """The page of a list that `op` asks for.

    `items` come in order with what orders them: a number or text, or a tuple of these, by which the cursor finds
    its place again while others come and go. Only the items of the page are shown.
    """
    found = list(items)
    size = PAGE_SIZE if op.limit is None else op.limit
    rest = found if op.page is None else _items_after(found, _parse_cursor(op.page), descending)
    answer: Json = {"items": [show(item) for _, item in rest[:size]], "count": len(found)}
    if size and len(rest) > size:
        answer["next"] = {"page": _cursor(rest[size - 1][0])}
    return answer


def _items_after(items: list[tuple[Any, Any]], place: Any, descending: bool) -> list[tuple[Any, Any]]:
    try:
        return [pair for pair in items if (pair[0] < place if descending else pair[0] > place)]
    except TypeError:
        raise _unknown_page() from None


def _cursor(place: Any) -> str:
    return urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")


def _parse_cursor(cursor: str) -> Any:
    try:
        place = from_json(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)), allow_inf_nan=False)
    except ValueError:
        raise _unknown_page() from None
    return tuple(place) if isinstance(place, list) else place


def _unknown_page() -> Refusal:
    return Refusal(
        400, "page does not name a page in this list. Use next.page from the previous page, or leave page out."
    )


_LAST_POSITION = 1 << 40
StoredDocument = tuple[str, Json]
"""A document with its path."""


def order_key(place: int, document: Json) -> tuple[int, int]:
    """What orders a document that the store holds at `place` among its neighbours."""
    return (document.get("position", _LAST_POSITION), place)


def save_order(world: World, row: list[StoredDocument]) -> None:
    """Keep neighbours in the order of `row`."""
    for position, (path, document) in enumerate(row):
        world.store.put(path, {**document, "position": position})
