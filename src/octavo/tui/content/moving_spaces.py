"""Moving spaces and collections in their tree, and undoing a move."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from octavo.api.collections import Collection
from octavo.api.operation import Operation
from octavo.api.spaces import Space
from octavo.data.queries import collections_of, spaces_of
from octavo.data.writes.direct import send_plain
from octavo.tui.content import space_places
from octavo.tui.content.space_places import Held, SpacePlace, title_of
from octavo.tui.shell.write_queue import DirectUndo
from octavo.tui.widgets.chooser import Choice
from octavo.tui.widgets.picker import Picker

if TYPE_CHECKING:
    from octavo.tui.content.managed_spaces import ManagedSpaces
    from octavo.tui.shell.shell import Shell


def step(app: Shell, managed: ManagedSpaces, by: int) -> None:
    """Move the selected space or collection one place up (-1) or down (1)."""
    thing = managed.thing
    if thing is not None and (place := space_places.a_step(thing, _kind(managed, thing), by)) is not None:
        _move(app, managed, thing, place, f"Moved {title_of(thing)} {'up' if by < 0 else 'down'}.")


def choose_place(app: Shell, managed: ManagedSpaces) -> None:
    """Ask for the collection and the position to move the selected space or collection to."""
    if (thing := managed.thing) is None:
        return
    places = [("", "Top level, not in a collection", managed.why_may_not_add_to(None))]
    for each, depth in space_places.folders_for(thing, managed.collections):
        places.append((each.id, f"{'  ' * depth}{title_of(each)}", managed.why_may_not_add_to(each)))
    now = thing.parent or ""
    choices = [
        Choice(
            name, title, right="current" if name == now else "", disabled_reason=(may_not or "") if name != now else ""
        )
        for name, title, may_not in places
    ]

    def chosen(parent: str | None) -> None:
        if parent is not None:
            _choose_neighbour(app, managed, thing, parent or None)

    app.push_screen(Picker(f"Move {title_of(thing)} to…", choices, initial=now), chosen)


def _choose_neighbour(app: Shell, managed: ManagedSpaces, thing: Held, parent: str | None) -> None:
    others = [each for each in _kind(managed, thing) if each.parent == parent and each.id != thing.id]
    where = next((title_of(each) for each in managed.collections if each.id == parent), "the top level")

    def chosen(place: SpacePlace | None) -> None:
        if place is not None:
            to = f"to {where}" if parent else "to the top level"
            _move(app, managed, thing, place, f"Moved {title_of(thing)} {to}.")

    if not others:
        chosen(SpacePlace(parent))
        return
    choices = [
        Choice(SpacePlace(parent, after=others[-1].id), "Last"),
        Choice(SpacePlace(parent, before=others[0].id), "First"),
        *(Choice(SpacePlace(parent, after=each.id), f"After {title_of(each)}") for each in others[:-1]),
    ]
    app.push_screen(Picker(f"Position of {title_of(thing)} {'in' if parent else 'at'} {where}", choices), chosen)


def _kind(managed: ManagedSpaces, thing: Held) -> Any:
    """All of its kind."""
    return managed.spaces if isinstance(thing, Space) else managed.collections


def _move(app: Shell, managed: ManagedSpaces, thing: Held, place: SpacePlace, said: str) -> None:
    before = space_places.place_of(thing, _kind(managed, thing))
    if place == before:
        app.say(f"{title_of(thing)} is already in this position.")
        return
    back = DirectUndo(
        f"move {title_of(thing)} back",
        partial(
            send_plain, app.session.live, space_places.move(thing, before), f"Could not move {title_of(thing)} back"
        ),
        f"Moved {title_of(thing)} back.",
    )
    doing, op = f"move {title_of(thing)}", space_places.move(thing, place)
    edit = _list_of(managed, thing), lambda page: space_places.moved(page, thing, place)
    sending = send_plain(app.session.live, op, f"Could not {doing}", edit)
    app.writes.send(doing, sending, message=said, make_undo=lambda _: back, is_visible=True)


def _list_of(managed: ManagedSpaces, thing: Space | Collection) -> Operation[Any]:
    name = managed.organization.id
    return spaces_of(name) if isinstance(thing, Space) else collections_of(name)
