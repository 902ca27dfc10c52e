"""The tree of spaces and its keys: create, edit, move, delete and restore spaces and collections."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from textual.containers import Vertical

from octavo.tui.content.managed_spaces import ManagedSpaces
from octavo.tui.widgets.commands import Command, Commands, HasCommands

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell


def _why_not_moved(app: Shell, managed: ManagedSpaces, step: int) -> str | None:
    from octavo.tui.content.space_places import a_step, title_of

    if (why := managed.why_may_not("move")) is not None or (thing := managed.thing) is None:
        return why
    things: Any = managed.spaces if thing.object == "space" else managed.collections
    if a_step(thing, things, step) is None:
        return f"{title_of(thing)} is already the {'first' if step < 0 else 'last'} {thing.object} here. Press M to move it elsewhere."
    return None


def _create(app: Shell, managed: ManagedSpaces) -> None:
    from octavo.tui.content import managing_spaces  # spaces are read without it

    managing_spaces.create(app, managed)


def _change(app: Shell, managed: ManagedSpaces) -> None:
    from octavo.tui.content import managing_spaces  # as above

    managing_spaces.change(app, managed)


def _move(app: Shell, managed: ManagedSpaces) -> None:
    from octavo.tui.content import moving_spaces  # as above

    moving_spaces.choose_place(app, managed)


def _step(step: int) -> Callable[[Shell, ManagedSpaces], None]:
    def move(app: Shell, managed: ManagedSpaces) -> None:
        from octavo.tui.content import moving_spaces  # as above

        moving_spaces.step(app, managed, step)

    return move


def _delete(app: Shell, managed: ManagedSpaces) -> None:
    from octavo.tui.content import deleting_spaces  # as above

    deleting_spaces.delete(app, managed)


def _restore(app: Shell, managed: ManagedSpaces) -> None:
    from octavo.tui.content import deleting_spaces  # as above

    deleting_spaces.show_deleted(app, managed)


def _more(app: Shell, managed: ManagedSpaces) -> None:
    from octavo.tui.content import managing_spaces  # as above

    managing_spaces.choose(app, managed)


SPACE_TREE: Commands[ManagedSpaces] = Commands(
    "spaces",
    (
        Command("create", "ctrl+n", "New space", "Create a space or collection", writes=True,
                run=_create, why_not=lambda _, managed: managed.why_may_not_make()),
        Command("change", "e", "Settings", "Edit the settings of the space or collection", writes=True,
                run=_change, why_not=lambda _, managed: managed.why_may_not("edit")),
        Command("move", "M", "Move", "Move the space or collection elsewhere", writes=True,
                run=_move, why_not=lambda _, managed: managed.why_may_not("move")),
        Command("move_up", "alt+up", "Move up", "Move the space or collection up", writes=True, shown=False,
                run=_step(-1), why_not=lambda app, managed: _why_not_moved(app, managed, -1)),
        Command("move_down", "alt+down", "Move down", "Move the space or collection down", writes=True, shown=False,
                run=_step(1), why_not=lambda app, managed: _why_not_moved(app, managed, 1)),
        Command("delete", "X", "Delete", "Delete the space or collection", writes=True,
                run=_delete, why_not=lambda _, managed: managed.why_may_not("delete")),
        Command("act", "a", "More…", "Show more actions, such as import, duplicate, and Git Sync",
                run=_more),
        Command("restore", "", "Trash", "Show and restore deleted spaces",
                run=_restore),
    ),
    context="spaces and collections",
    no_target="Your organization is still loading.",
)  # fmt: skip
"""Commands for the selected space or collection."""


class SpacesPane(HasCommands, Vertical):
    """Holds the tree of spaces."""

    CONTEXT: ClassVar[str] = "spaces and collections"
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (SPACE_TREE.for_target(lambda pane: pane.managed()),)

    managed: Callable[[], ManagedSpaces | None] = staticmethod(lambda: None)
    """What its keys are about."""
