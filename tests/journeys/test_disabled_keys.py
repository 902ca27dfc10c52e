"""The keys that are disabled for each role, in the tables of every declared resource and in the space tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from octavo.api import collections, spaces
from octavo.api.collections import Collection
from octavo.api.errors import ApiError
from octavo.api.operation import Operation
from octavo.api.spaces import Space
from octavo.cli.arguments import PEOPLE_BY_ROLE
from octavo.data.queries import collections_op, spaces_op
from octavo.tui.app.octavo import Octavo
from octavo.tui.content import space_actions, space_changes
from octavo.tui.content.space_panes import SPACE_TREE
from octavo.tui.content.space_target import SpaceTarget
from octavo.tui.resources import organization_resources, resource_commands, site_resources, site_tree
from octavo.tui.resources.organization_resources import COLLECTIONS
from octavo.tui.resources.resource import Action, Arguments, Resource, build_largest_list_operation, build_operation
from octavo.tui.resources.resource_browser import BrowserLevel
from octavo.tui.resources.space_resources import MANAGED_SPACES
from octavo.tui.widgets.chooser import Choice, Picker
from octavo.tui.widgets.commands import Commands
from tests.journeys.resource_samples import (
    ALWAYS_CHECKED_KEYS,
    NOOR,
    ORGANIZATION_REF,
    PARTIAL_ADMINISTRATORS,
    Forms,
    status_for,
)
from tests.journeys.stage import Run, Stage
from tests.tui.resources.test_declarations import DECLARED

MAX_ALIKE_ITEMS = 2
"""Number of items to check among items with the same permissions."""


@dataclass
class PermissionComparison:
    """A comparison of the disabled commands of a user with the responses of the server."""

    run: Run
    person: str
    forms: Forms
    differences: list[str] = field(default_factory=list)
    """Differences between Octavo and the server."""
    checked: set[str] = field(default_factory=set)
    """Writes that an administrator may send and that were checked."""

    async def compare_tables(self, view: str, kinds: tuple[Resource[Any], ...]) -> None:
        organization = self.run.app.workspace.organization
        assert organization is not None
        known = {
            "at": ORGANIZATION_REF,
            **(organization_resources._root_arguments(organization) if view == "admin" else {}),
        }
        await self.compare_level(
            BrowserLevel(view, tuple(each for each in kinds if each.is_available(known)), known, organization), ""
        )

    async def compare_level(self, level: BrowserLevel, above: str) -> None:
        for kind in level.resources:
            level.resource = kind
            name = f"{above}{kind.plural}"
            # Send the same requests as the view of the table.
            for op in (
                kind.list_operation(level.arguments),
                *(build_largest_list_operation(each, level.arguments) for each in kind.lookups),
            ):
                with suppress(ApiError):
                    await self.run.app.session.live.fetch(op)
            answered = self.run.app.session.live.peek(kind.list_operation(level.arguments)).value
            for part, called in resources_of_rows(kind, name):
                if part.create is not None:
                    await self.compare_create(level, part, called)
            for thing in representative_items(kind, () if answered is None else kind.items(answered), self.person):
                if (hand := level.selection(thing)) is not None:
                    await self.compare_item(
                        hand,
                        next((called for part, called in resources_of_rows(kind, name) if part is hand.resource), name),
                    )
                    if kind.children:
                        await self.compare_level(level.child_level(thing), f"{name} of ")

    async def compare_space_tree(self) -> None:
        """Compare the commands of the space tree."""
        workspace = self.run.app.workspace
        assert workspace.organization is not None
        live, here = self.run.app.session.live, workspace.organization
        held = (await live.fetch(spaces_op(here.id))).items
        folders = (await live.fetch(collections_op(here.id))).items
        for thing in (
            *representative_items(MANAGED_SPACES, held, self.person, 1),
            *representative_items(COLLECTIONS, folders, self.person, 1),
        ):
            await self.compare_space(
                SpaceTarget(here, held, folders, thing, lambda name: None, lambda name: None), thing
            )

    async def compare_space(self, managed: SpaceTarget, thing: Space | Collection) -> None:
        kind: Resource[Any] = MANAGED_SPACES if isinstance(thing, Space) else COLLECTIONS
        known, called = {"at": ORGANIZATION_REF}, f"{kind.title(thing)} in the tree"
        at = kind.arguments_for(known, thing)["at"]
        inside = {
            "at": ORGANIZATION_REF,
            **({"parent": managed.collection.id} if managed.collection is not None else {}),
        }
        made_there = [each.Create(**where) for each in (spaces, collections) for where in (inside, known)]
        Move = spaces.Move if kind is MANAGED_SPACES else collections.Move
        ways: dict[str, list[Operation[Any]]] = {
            "create": made_there,
            "change": [
                op async for _, _, op in self.forms.to_change(kind, known, thing) if self.is_accepted_from_admin(op)
            ][:1],
            "move": [Move(at=at, parent=thing.parent)],
            "delete": [kind.delete(at=at)] if kind.delete is not None else [],
        }
        for name, ops in ways.items():
            may = (op for op in ops if status_for(self.run.platform.context, op, self.person) < 400)
            self.compare(f"{name} {called}", "", "", why_not(SPACE_TREE, name, self.run, managed), next(may, ops[0]))
        if isinstance(thing, Space):
            duplicate = next(
                each for each in await self.choices_of(space_actions.show_actions, managed) if each.title == "Duplicate"
            )
            self.compare(f"duplicate {called}", "", "", duplicate.disabled_reason or None, spaces.Duplicate(at=at))
        if managed.why_not("move") is None:
            for place in await self.choices_of(space_changes.choose_parent, managed):
                to = Move(at=at, parent=place.value or None)
                self.compare(f"move {called} to {place.title}", "", "", place.disabled_reason or None, to)

    async def choices_of(
        self, ask: Callable[[Octavo, SpaceTarget], None], managed: SpaceTarget
    ) -> Sequence[Choice[Any]]:
        """Return the choices of the list that `ask` opens."""
        ask(self.run.app, managed)
        screen = self.run.app.screen
        assert isinstance(screen, Picker)
        await self.run.press("escape")
        return screen.choices()

    async def compare_create(self, level: BrowserLevel, kind: Resource[Any], name: str) -> None:
        """Compare the command that creates an item. The command must be enabled if at least one request is allowed."""
        why = why_not(resource_commands.CREATE_COMMANDS, "create", self.run, level.current_table())
        tried: Operation[Any] | None = None
        async for _, op in self.forms.to_make(kind, level.arguments):
            if self.is_accepted_from_admin(op):
                tried = tried or op
                if status_for(self.run.platform.context, op, self.person) < 400:
                    tried = op
                    break
        if tried is not None:
            self.compare(f"make {name} in {level.title}", name, "create", why, tried)

    async def compare_item(self, hand: resource_commands.Selection, name: str) -> None:
        kind, known, thing = hand.resource, hand.arguments, hand.first_item
        called = f"{name} {kind.title(thing)} in {getattr(hand.parent, 'title', '')}"
        if kind.update is not None:
            why = why_not(resource_commands.SELECTION_COMMANDS, "change", self.run, hand)
            async for _, _, op in self.forms.to_change(kind, known, thing):
                if self.is_accepted_from_admin(op):
                    self.compare(f"change {called}", name, "update", why, op)
                    break
        if kind.delete is not None:
            op = build_operation(kind.delete, kind.arguments_for(known, thing))
            if self.is_accepted_from_admin(op):
                self.compare(
                    f"delete {called}",
                    name,
                    "delete",
                    why_not(resource_commands.SELECTION_COMMANDS, "delete", self.run, hand),
                    op,
                )
        for action in kind.actions:
            done = await self.action_operation(
                kind, {**kind.arguments_for(known, thing), **action.values}, action, thing
            )
            if done is not None and action.disabled_reason(thing) is None and self.is_accepted_from_admin(done):
                why = why_not(
                    resource_commands.SELECTION_COMMANDS, "act", self.run, hand
                ) or resource_commands.why_no_action(self.run.app, hand, action)
                self.compare(f"{action.name} {called}", name, action.name, why, done)

    async def action_operation(
        self, kind: Resource[Any], known: Arguments, action: Action[Any], thing: Any
    ) -> Operation[Any] | None:
        """Return the operation that an action sends. None if no text in its form is accepted."""
        if action.run is site_tree.make_default:
            return site_tree.set_default_operation(known["at"], thing)
        async for _, op in self.forms.to_make(replace(kind, create=action.operation), known):
            if self.is_accepted_from_admin(op):
                return op
        return None

    def is_accepted_from_admin(self, op: Operation[Any]) -> bool:
        """Return whether the server accepts the operation from an administrator. If not, the refusal does not depend
        on roles."""
        return status_for(self.run.platform.context, op, NOOR) < 400

    def compare(self, what: str, name: str, verb: str, why: str | None, op: Operation[Any]) -> None:
        self.checked.add(f"{verb} {name}")
        status = status_for(self.run.platform.context, op, self.person)
        if (why is not None) != (status == 403):
            self.differences.append(f"{what}: the platform answers {status}, the app says: {why}")


def why_not(commands: Commands[Any], name: str, run: Run, about: Any) -> str | None:
    command = next(each for each in commands.commands if each.name == name)
    return command.why_not(run.app, about)


def resources_of_rows(kind: Resource[Any], name: str) -> Sequence[tuple[Resource[Any], str]]:
    """Return a resource, or the resources of its rows, with their names."""
    return [(each, f"{name} of {each.plural}") for each in kind.row_resources.values()] or [(kind, name)]


def representative_items(kind: Resource[Any], things: Any, person: str, alike: int = MAX_ALIKE_ITEMS) -> Iterator[Any]:
    """Return a few items for each set of permissions, and the item of the user."""
    seen: dict[str, int] = {}
    for each in things:
        says = f"{kind.item_of(each)[0].singular} {getattr(kind.permission_source(each), 'permissions', None)}"
        seen[says] = seen.get(says, 0) + 1
        if seen[says] <= alike or kind.key(each) in {person, *ALWAYS_CHECKED_KEYS}:
            yield each


WRITES = {
    f"{verb} {name}"
    for name, kind in DECLARED.items()
    for verb in (
        *(verb for verb in ("create", "update", "delete") if getattr(kind, verb) is not None),
        *(action.name for action in kind.actions),
    )
}
"""All writes of the declared resources."""
PEOPLE = {**PEOPLE_BY_ROLE, **PARTIAL_ADMINISTRATORS}
ROLES_IN_EVERY_RUN = ("administrator", "owner of a space", "guest")
"""Roles with all, some and almost no permissions. The permissions of the other roles lie between these."""


@pytest.mark.before_release("administrator", "guest", "owner of a space")
@pytest.mark.parametrize(
    "role", [pytest.param(each, marks=() if each in ROLES_IN_EVERY_RUN else pytest.mark.long) for each in PEOPLE]
)
async def test_disabled_keys_match_the_refusals_of_the_server(full_stage: Stage, role: str) -> None:
    async with full_stage.play(PEOPLE[role], start="admin") as run:
        compared = PermissionComparison(
            run, PEOPLE[role], Forms(run.app, lambda op: run.ask(op, NOOR), run.platform.context)
        )
        await compared.compare_tables("sites", site_resources.TABLES)
        await compared.compare_tables("admin", organization_resources.TABLES)
        await compared.compare_space_tree()
        assert not compared.differences
        if role == "administrator":
            assert WRITES - compared.checked == set(), "every write must be compared once"
