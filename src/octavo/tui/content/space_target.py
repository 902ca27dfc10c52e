"""The selected space or collection as a target of commands: where it can move, and what your role allows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from octavo.api import collections, spaces
from octavo.api.collections import Collection
from octavo.api.operation import CollectionRef, ListPage
from octavo.api.spaces import CollectionPointer, Position, Space, SpacePointer
from octavo.tui.core.permissions import why_no_permission

if TYPE_CHECKING:
    from octavo.api.organizations import Organization


SpaceOrCollection = Space | Collection
T = TypeVar("T", Space, Collection)


class SpacePosition(NamedTuple):
    """Position in a collection: `before` or `after` another item of the same kind, or at the end if both are empty."""

    parent: str | None
    """ID of the collection. None for the top level."""
    before: str = ""
    """ID of the item that follows the position. Empty if `after` is set instead, or if the position is the end."""
    after: str = ""
    """ID of the item that precedes the position. Empty if `before` gives the position, or for the end."""


def title_of(item: SpaceOrCollection) -> str:
    """Return the title of a space or collection, or `Untitled` if it has none."""
    return item.title or "Untitled"


def siblings(item: T, items: Sequence[T]) -> list[T]:
    """Return the items in the same collection as `item`, including `item`, in the order of `items`."""
    return [each for each in items if each.parent == item.parent]


def position_of(item: T, items: Sequence[T]) -> SpacePosition:
    sibling_ids = [each.id for each in siblings(item, items)]
    index = sibling_ids.index(item.id) if item.id in sibling_ids else 0
    if index > 0:
        return SpacePosition(item.parent, after=sibling_ids[index - 1])
    return SpacePosition(item.parent, before=sibling_ids[1]) if len(sibling_ids) > 1 else SpacePosition(item.parent)


def position_at_step(item: T, items: Sequence[T], step: int) -> SpacePosition | None:
    """Return the position of `item` one step up (`step` is -1) or down (1). None if there is no such position."""
    sibling_ids = [each.id for each in siblings(item, items)]
    new_index = sibling_ids.index(item.id) + step if item.id in sibling_ids else -1
    if not 0 <= new_index < len(sibling_ids):
        return None
    if step < 0:
        return SpacePosition(item.parent, before=sibling_ids[new_index])
    return SpacePosition(item.parent, after=sibling_ids[new_index])


def move_operation(item: SpaceOrCollection, position: SpacePosition) -> spaces.Move | collections.Move:
    is_space = isinstance(item, Space)

    def pointer(name: str) -> SpacePointer | CollectionPointer:
        return SpacePointer(space=name) if is_space else CollectionPointer(collection=name)

    values: dict[str, object] = {"parent": position.parent}
    if position.before:
        values["position"] = Position(before=pointer(position.before))
    elif position.after:
        values["position"] = Position(after=pointer(position.after))
    if isinstance(item, Space):
        return spaces.Move.model_validate({"at": item.ref, **values})
    return collections.Move.model_validate({"at": CollectionRef(collection_id=item.id), **values})


def list_after_move(page: ListPage[T], item: T, position: SpacePosition) -> ListPage[T]:
    """Return `page` with `item` at `position`, or last if no neighbor is listed. Unchanged if `page` lacks `item`."""
    listed_item = next((each for each in page.items if each.id == item.id), None)
    if listed_item is None:
        return page
    items = [each for each in page.items if each.id != item.id]
    ids = [each.id for each in items]
    if position.before in ids:
        index = ids.index(position.before)
    elif position.after in ids:
        index = ids.index(position.after) + 1
    else:
        index = len(items)
    items.insert(index, listed_item.model_copy(update={"parent": position.parent}))
    return page.model_copy(update={"items": tuple(items)})


def possible_parents(item: SpaceOrCollection, collections: Sequence[Collection]) -> list[tuple[Collection, int]]:
    """Return the collections into which `item` can move, in tree order, each with its depth. `item` and the collections
    inside it are left out. Permissions are not checked."""
    parents: list[tuple[Collection, int]] = []
    ids = {each.id for each in collections}

    def add_children(collection_id: str | None, depth: int) -> None:
        for each in collections:
            parent_id = each.parent if each.parent in ids else None
            if parent_id == collection_id and each.id != item.id:
                parents.append((each, depth))
                add_children(each.id, depth + 1)

    add_children(None, 0)
    return parents


class SpaceTarget(NamedTuple):
    """Target of commands: the selected space or collection, with all spaces and collections of its organization."""

    organization: Organization
    spaces: Sequence[Space]
    collections: Sequence[Collection]
    selected: Space | Collection | None
    on_created: Callable[[str], None]
    """Called with the ID of a space or collection that was created or restored."""
    on_removed: Callable[[str], None]
    """Called with the ID of a space or collection that was deleted or moved to another organization."""

    @property
    def collection(self) -> Collection | None:
        """The selected collection, or the collection of the selected space. None if there is no such collection."""
        selected = self.selected
        if selected is None or selected.object == "collection":
            return selected
        return next((each for each in self.collections if each.id == selected.parent), None)

    def why_not(self, action: str) -> str | None:
        """Return why `action`, such as `rename`, is impossible (no selection, or a too low role). None if possible."""
        if self.selected is None:
            return "No space is selected. Press ctrl+n to create a space."
        return why_no_permission(
            (self.selected,), "admin", f"{action} this {self.selected.object}", self.selected.object
        )

    def why_not_create(self) -> str | None:
        """Return why you cannot create items. None if you can, at the top level or in the current collection."""
        why_not_at_top = self.why_not_add_to(None)
        return why_not_at_top and self.why_not_add_to(self.collection)

    def why_not_duplicate(self) -> str | None:
        """Return why the selected space cannot be duplicated. None if it can be, or if its collection is not loaded."""
        if self.selected is not None and self.selected.parent and self.collection is None:
            return None  # The collection is not loaded, so the server decides.
        return self.why_not_add_to(self.collection)

    def why_not_add_to(self, collection: Collection | None) -> str | None:
        """Return the reason why you cannot add items to `collection` (None for the top level). None if you can."""
        if collection is None:
            return why_no_permission(
                (self.organization,), "create_content", "create spaces or collections at the top level", "organization"
            )
        return why_no_permission((collection,), "create", "add spaces or collections to this collection", "collection")
