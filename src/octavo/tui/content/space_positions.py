"""Positions of spaces and collections in their tree, and the operations that move them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from octavo.api import collections, spaces
from octavo.api.collections import Collection
from octavo.api.operation import ListPage
from octavo.api.places import CollectionRef
from octavo.api.spaces import CollectionPointer, Position, Space, SpacePointer

SpaceOrCollection = Space | Collection
T = TypeVar("T", Space, Collection)


@dataclass(frozen=True)
class SpacePosition:
    """A position: the collection (None is the top level), and the neighbor of the same kind. Last if no neighbor is
    given."""

    parent: str | None
    before: str = ""
    after: str = ""


def kind_of(thing: SpaceOrCollection) -> str:
    """Return the kind of a thing in words: `space` or `collection`."""
    return "space" if isinstance(thing, Space) else "collection"


def title_of(thing: SpaceOrCollection) -> str:
    """Return the title, or “Untitled”."""
    return thing.title or "Untitled"


def siblings(thing: T, things: Sequence[T]) -> list[T]:
    """Return the things of the same kind in the same collection, including `thing`, in order."""
    return [each for each in things if each.parent == thing.parent]


def position_of(thing: T, things: Sequence[T]) -> SpacePosition:
    """Return the current position, to undo a move."""
    row = [each.id for each in siblings(thing, things)]
    at = row.index(thing.id) if thing.id in row else 0
    if at > 0:
        return SpacePosition(thing.parent, after=row[at - 1])
    return SpacePosition(thing.parent, before=row[1]) if len(row) > 1 else SpacePosition(thing.parent)


def position_at_step(thing: T, things: Sequence[T], step: int) -> SpacePosition | None:
    """Return the position one step up (-1) or down (1). None if there is none."""
    row = [each.id for each in siblings(thing, things)]
    to = row.index(thing.id) + step if thing.id in row else -1
    if not 0 <= to < len(row):
        return None
    return SpacePosition(thing.parent, before=row[to]) if step < 0 else SpacePosition(thing.parent, after=row[to])


def move_operation(thing: SpaceOrCollection, place: SpacePosition) -> spaces.Move | collections.Move:
    """Return the operation that moves a space or collection to a position."""
    is_space = isinstance(thing, Space)

    def pointer(name: str) -> SpacePointer | CollectionPointer:
        return SpacePointer(space=name) if is_space else CollectionPointer(collection=name)

    values: dict[str, object] = {"parent": place.parent}
    if place.before:
        values["position"] = Position(before=pointer(place.before))
    elif place.after:
        values["position"] = Position(after=pointer(place.after))
    if isinstance(thing, Space):
        return spaces.Move.model_validate({"at": thing.ref, **values})
    return collections.Move.model_validate({"at": CollectionRef(collection_id=thing.id), **values})


def list_after_move(page: ListPage[T], thing: T, place: SpacePosition) -> ListPage[T]:
    """Return the cached list of all things of a kind, as it is after a move."""
    now = next((each for each in page.items if each.id == thing.id), None)
    if now is None:
        return page
    others = [each for each in page.items if each.id != thing.id]
    ids = [each.id for each in others]
    if place.before in ids:
        at = ids.index(place.before)
    elif place.after in ids:
        at = ids.index(place.after) + 1
    else:
        at = len(others)
    others.insert(at, now.model_copy(update={"parent": place.parent}))
    return page.model_copy(update={"items": tuple(others)})


def possible_parents(thing: SpaceOrCollection, folders: Sequence[Collection]) -> list[tuple[Collection, int]]:
    """Return the collections that can contain a thing, in tree order, each with its depth. A collection cannot contain
    itself or its ancestors."""
    found: list[tuple[Collection, int]] = []
    known = {each.id for each in folders}

    def within(parent: str | None, depth: int) -> None:
        for each in folders:
            above = each.parent if each.parent in known else None
            if above == parent and each.id != thing.id:
                found.append((each, depth))
                within(each.id, depth + 1)

    within(None, 0)
    return found
