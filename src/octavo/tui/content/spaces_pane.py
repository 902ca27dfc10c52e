"""The tree of spaces and its keys: create, edit, move, delete and restore spaces and collections."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from textual.containers import Vertical

from octavo.tui.content.space_target import SpaceTarget
from octavo.tui.widgets.commands import Command, Commands, HasCommands

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell


def _why_not_step(app: Shell, managed: SpaceTarget, step: int) -> str | None:
    from octavo.tui.content.space_positions import position_at_step, title_of

    if (why := managed.why_not("move")) is not None or (thing := managed.selected) is None:
        return why
    things: Any = managed.spaces if thing.object == "space" else managed.collections
    if position_at_step(thing, things, step) is None:
        return f"{title_of(thing)} is already the {'first' if step < 0 else 'last'} {thing.object} here. Press M to move it elsewhere."
    return None


def _create(app: Shell, managed: SpaceTarget) -> None:
    from octavo.tui.content import space_actions  # lazy: forms, not needed to read

    space_actions.create(app, managed)


def _edit_settings(app: Shell, managed: SpaceTarget) -> None:
    from octavo.tui.content import space_actions  # lazy: forms, not needed to read

    space_actions.edit_settings(app, managed)


def _move(app: Shell, managed: SpaceTarget) -> None:
    from octavo.tui.content import space_moves  # lazy: not needed to read

    space_moves.choose_parent(app, managed)


def _move_by(step: int) -> Callable[[Shell, SpaceTarget], None]:
    def move(app: Shell, managed: SpaceTarget) -> None:
        from octavo.tui.content import space_moves  # lazy: not needed to read

        space_moves.move_by(app, managed, step)

    return move


def _delete(app: Shell, managed: SpaceTarget) -> None:
    from octavo.tui.content import space_deletion  # lazy: forms, not needed to read

    space_deletion.delete(app, managed)


def _restore(app: Shell, managed: SpaceTarget) -> None:
    from octavo.tui.content import space_deletion  # lazy: forms, not needed to read

    space_deletion.show_trash(app, managed)


def _show_actions(app: Shell, managed: SpaceTarget) -> None:
    from octavo.tui.content import space_actions  # lazy: forms, not needed to read

    space_actions.show_actions(app, managed)


SPACE_TREE: Commands[SpaceTarget] = Commands(
    "spaces",
    (
        Command("create", "ctrl+n", "New space", "Create a space or collection", writes=True,
                run=_create, why_not=lambda _, managed: managed.why_not_create()),
        Command("change", "e", "Settings", "Edit the settings of the space or collection", writes=True,
                run=_edit_settings, why_not=lambda _, managed: managed.why_not("edit")),
        Command("move", "M", "Move", "Move the space or collection elsewhere", writes=True,
                run=_move, why_not=lambda _, managed: managed.why_not("move")),
        Command("move_up", "alt+up", "Move up", "Move the space or collection up", writes=True, shown=False,
                run=_move_by(-1), why_not=lambda app, managed: _why_not_step(app, managed, -1)),
        Command("move_down", "alt+down", "Move down", "Move the space or collection down", writes=True, shown=False,
                run=_move_by(1), why_not=lambda app, managed: _why_not_step(app, managed, 1)),
        Command("delete", "X", "Delete", "Delete the space or collection", writes=True,
                run=_delete, why_not=lambda _, managed: managed.why_not("delete")),
        Command("act", "a", "More…", "Show more actions, such as import, duplicate, and Git Sync",
                run=_show_actions),
        Command("restore", "", "Trash", "Show and restore deleted spaces",
                run=_restore),
    ),
    context="spaces and collections",
    nothing="Your organization is still loading.",
)  # fmt: skip
"""Commands for the selected space or collection."""


class SpacesPane(HasCommands, Vertical):
    """The pane that contains the tree of spaces."""

    CONTEXT: ClassVar[str] = "spaces and collections"
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (SPACE_TREE.about(lambda pane: pane.managed()),)

    managed: Callable[[], SpaceTarget | None] = staticmethod(lambda: None)
    """Returns the target of its keys. None while the organization is loading."""
