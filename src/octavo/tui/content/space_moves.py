"""Moves spaces and collections in their tree, and undoes a move."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from octavo.api.collections import Collection
from octavo.api.operation import Operation
from octavo.api.spaces import Space
from octavo.data.queries import collections_of, spaces_of
from octavo.data.writes.direct import send_plain
from octavo.tui.content import space_positions
from octavo.tui.content.space_positions import SpaceOrCollection, SpacePosition, title_of
from octavo.tui.core.write_queue import DirectUndo
from octavo.tui.widgets.chooser import Choice
from octavo.tui.widgets.picker import Picker

if TYPE_CHECKING:
    from octavo.tui.content.space_target import SpaceTarget
    from octavo.tui.core.shell import Shell


def move_by(app: Shell, target: SpaceTarget, step: int) -> None:
    """Move the selected space or collection one place up (-1) or down (1)."""
    item = target.selected
    if (
        item is not None
        and (position := space_positions.position_at_step(item, _same_kind(target, item), step)) is not None
    ):
        _move(app, target, item, position, f"Moved {title_of(item)} {'up' if step < 0 else 'down'}.")


def choose_parent(app: Shell, target: SpaceTarget) -> None:
    """Ask for the collection and the position to move the selected space or collection to."""
    if (item := target.selected) is None:
        return
    places = [("", "Top level, not in a collection", target.why_not_add_to(None))]
    for each, depth in space_positions.possible_parents(item, target.collections):
        places.append((each.id, f"{'  ' * depth}{title_of(each)}", target.why_not_add_to(each)))
    current = item.parent or ""
    choices = [
        Choice(
            name,
            title,
            right="current" if name == current else "",
            disabled_reason=(reason or "") if name != current else "",
        )
        for name, title, reason in places
    ]

    def on_chosen(parent: str | None) -> None:
        if parent is not None:
            _choose_position(app, target, item, parent or None)

    app.push_screen(Picker(f"Move {title_of(item)} to…", choices, initial=current), on_chosen)


def _choose_position(app: Shell, target: SpaceTarget, item: SpaceOrCollection, parent: str | None) -> None:
    others = [each for each in _same_kind(target, item) if each.parent == parent and each.id != item.id]
    parent_title = next((title_of(each) for each in target.collections if each.id == parent), "the top level")

    def on_chosen(position: SpacePosition | None) -> None:
        if position is not None:
            destination = f"to {parent_title}" if parent else "to the top level"
            _move(app, target, item, position, f"Moved {title_of(item)} {destination}.")

    if not others:
        on_chosen(SpacePosition(parent))
        return
    choices = [
        Choice(SpacePosition(parent, after=others[-1].id), "Last"),
        Choice(SpacePosition(parent, before=others[0].id), "First"),
        *(Choice(SpacePosition(parent, after=each.id), f"After {title_of(each)}") for each in others[:-1]),
    ]
    app.push_screen(
        Picker(f"Position of {title_of(item)} {'in' if parent else 'at'} {parent_title}", choices), on_chosen
    )


def _same_kind(target: SpaceTarget, item: SpaceOrCollection) -> Any:
    """Return all spaces if the item is a space, else all collections."""
    return target.spaces if isinstance(item, Space) else target.collections


def _move(app: Shell, target: SpaceTarget, item: SpaceOrCollection, position: SpacePosition, message: str) -> None:
    before = space_positions.position_of(item, _same_kind(target, item))
    if position == before:
        app.say(f"{title_of(item)} is already in this position.")
        return
    undo = DirectUndo(
        f"move {title_of(item)} back",
        partial(
            send_plain,
            app.session.live,
            space_positions.move_operation(item, before),
            f"Could not move {title_of(item)} back",
        ),
        f"Moved {title_of(item)} back.",
    )
    doing, op = f"move {title_of(item)}", space_positions.move_operation(item, position)
    cache_edit = _list_operation(target, item), lambda page: space_positions.list_after_move(page, item, position)
    sending = send_plain(app.session.live, op, f"Could not {doing}", cache_edit)
    app.writes.send(doing, sending, message=message, make_undo=lambda _: undo, is_visible=True)


def _list_operation(target: SpaceTarget, item: Space | Collection) -> Operation[Any]:
    name = target.organization.id
    return spaces_of(name) if isinstance(item, Space) else collections_of(name)
