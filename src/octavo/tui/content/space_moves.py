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
from octavo.tui.shell.write_queue import DirectUndo
from octavo.tui.widgets.chooser import Choice
from octavo.tui.widgets.picker import Picker

if TYPE_CHECKING:
    from octavo.tui.content.space_target import SpaceTarget
    from octavo.tui.shell.shell import Shell


def move_by(app: Shell, managed: SpaceTarget, by: int) -> None:
    """Move the selected space or collection one place up (-1) or down (1)."""
    thing = managed.selected
    if (
        thing is not None
        and (place := space_positions.position_at_step(thing, _same_kind(managed, thing), by)) is not None
    ):
        _move(app, managed, thing, place, f"Moved {title_of(thing)} {'up' if by < 0 else 'down'}.")


def choose_parent(app: Shell, managed: SpaceTarget) -> None:
    """Ask for the collection and the position to move the selected space or collection to."""
    if (thing := managed.selected) is None:
        return
    places = [("", "Top level, not in a collection", managed.why_not_add_to(None))]
    for each, depth in space_positions.possible_parents(thing, managed.collections):
        places.append((each.id, f"{'  ' * depth}{title_of(each)}", managed.why_not_add_to(each)))
    now = thing.parent or ""
    choices = [
        Choice(name, title, right="current" if name == now else "", off=(may_not or "") if name != now else "")
        for name, title, may_not in places
    ]

    def chosen(parent: str | None) -> None:
        if parent is not None:
            _choose_position(app, managed, thing, parent or None)

    app.push_screen(Picker(f"Move {title_of(thing)} to…", choices, now=now), chosen)


def _choose_position(app: Shell, managed: SpaceTarget, thing: SpaceOrCollection, parent: str | None) -> None:
    others = [each for each in _same_kind(managed, thing) if each.parent == parent and each.id != thing.id]
    where = next((title_of(each) for each in managed.collections if each.id == parent), "the top level")

    def chosen(place: SpacePosition | None) -> None:
        if place is not None:
            to = f"to {where}" if parent else "to the top level"
            _move(app, managed, thing, place, f"Moved {title_of(thing)} {to}.")

    if not others:
        chosen(SpacePosition(parent))
        return
    choices = [
        Choice(SpacePosition(parent, after=others[-1].id), "Last"),
        Choice(SpacePosition(parent, before=others[0].id), "First"),
        *(Choice(SpacePosition(parent, after=each.id), f"After {title_of(each)}") for each in others[:-1]),
    ]
    app.push_screen(Picker(f"Position of {title_of(thing)} {'in' if parent else 'at'} {where}", choices), chosen)


def _same_kind(managed: SpaceTarget, thing: SpaceOrCollection) -> Any:
    """Return all things of the same kind."""
    return managed.spaces if isinstance(thing, Space) else managed.collections


def _move(app: Shell, managed: SpaceTarget, thing: SpaceOrCollection, place: SpacePosition, said: str) -> None:
    before = space_positions.position_of(thing, _same_kind(managed, thing))
    if place == before:
        app.say(f"{title_of(thing)} is already in this position.")
        return
    back = DirectUndo(
        f"move {title_of(thing)} back",
        partial(
            send_plain,
            app.session.live,
            space_positions.move_operation(thing, before),
            f"Could not move {title_of(thing)} back",
        ),
        f"Moved {title_of(thing)} back.",
    )
    doing, op = f"move {title_of(thing)}", space_positions.move_operation(thing, place)
    edit = _list_operation(managed, thing), lambda page: space_positions.list_after_move(page, thing, place)
    sending = send_plain(app.session.live, op, f"Could not {doing}", edit)
    app.writes.send(doing, sending, said=said, back=lambda _: back, is_shown=True)


def _list_operation(managed: SpaceTarget, thing: Space | Collection) -> Operation[Any]:
    name = managed.organization.id
    return spaces_of(name) if isinstance(thing, Space) else collections_of(name)
