"""The tree of spaces and its keys: create, edit, move, delete and restore spaces and collections."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from textual.containers import Vertical

from octavo.tui.content.space_positions import position_at_step, title_of
from octavo.tui.content.space_target import SpaceTarget
from octavo.tui.widgets.commands import Command, Commands, HasCommands

if TYPE_CHECKING:
    from octavo.tui.core.shell import Shell


def _load(function: str, *arguments: int) -> Callable[[Shell, SpaceTarget], None]:
    """Return an action that loads its module when it runs: forms are not needed to read. `function` is a module of this
    package and a function, such as `space_moves:choose_parent`."""
    module, _, name = function.partition(":")

    def run(app: Shell, target: SpaceTarget) -> None:
        getattr(import_module(f"octavo.tui.content.{module}"), name)(app, target, *arguments)

    return run


def _why_not_step(target: SpaceTarget, step: int) -> str | None:
    if (why := target.why_not("move")) is not None or (item := target.selected) is None:
        return why
    items: Any = target.spaces if item.object == "space" else target.collections
    if position_at_step(item, items, step) is None:
        return f"{title_of(item)} is already the {'first' if step < 0 else 'last'} {item.object} here. Press M to move it elsewhere."
    return None


SPACE_TREE: Commands[SpaceTarget] = Commands(
    "spaces",
    (
        Command("create", "ctrl+n", "New space", "Create a space or collection", writes=True,
                run=_load("space_actions:create"), why_not=lambda _, target: target.why_not_create()),
        Command("change", "e", "Settings", "Edit the settings of the space or collection", writes=True,
                run=_load("space_actions:edit_settings"), why_not=lambda _, target: target.why_not("edit")),
        Command("move", "M", "Move", "Move the space or collection elsewhere", writes=True,
                run=_load("space_moves:choose_parent"), why_not=lambda _, target: target.why_not("move")),
        Command("move_up", "alt+up", "Move up", "Move the space or collection up", writes=True, shown=False,
                run=_load("space_moves:move_by", -1), why_not=lambda _, target: _why_not_step(target, -1)),
        Command("move_down", "alt+down", "Move down", "Move the space or collection down", writes=True, shown=False,
                run=_load("space_moves:move_by", 1), why_not=lambda _, target: _why_not_step(target, 1)),
        Command("delete", "X", "Delete", "Delete the space or collection", writes=True,
                run=_load("space_deletion:delete"), why_not=lambda _, target: target.why_not("delete")),
        Command("act", "a", "More…", "Show more actions, such as import, duplicate, and Git Sync",
                run=_load("space_actions:show_actions")),
        Command("restore", "", "Trash", "Show and restore deleted spaces",
                run=_load("space_deletion:show_trash")),
    ),
    context="spaces and collections",
    no_target="Your organization is still loading.",
)  # fmt: skip
"""Commands for the selected space or collection."""


class SpacesPane(HasCommands, Vertical):
    """The pane that contains the tree of spaces."""

    CONTEXT: ClassVar[str] = "spaces and collections"
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (SPACE_TREE.for_target(lambda pane: pane.find_target()),)

    find_target: Callable[[], SpaceTarget | None] = staticmethod(lambda: None)
    """Returns the target of its keys. None while the organization is loading."""
