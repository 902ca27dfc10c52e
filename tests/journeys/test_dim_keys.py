"""Every kind that is managed, by being declared, and the tree of spaces: which keys are dim for whom."""

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
from octavo.cli.cast import CAST
from octavo.data.queries import collections_of, spaces_of
from octavo.tui.app.octavo import Octavo
from octavo.tui.content import managing_spaces, moving_spaces
from octavo.tui.content.managed_spaces import ManagedSpaces
from octavo.tui.content.spaces_pane import SPACE_TREE
from octavo.tui.resources import acting, arranging, organization_resources, site_resources
from octavo.tui.resources.browser import Level
from octavo.tui.resources.organization_resources import COLLECTIONS
from octavo.tui.resources.resource import Action, Known, Resource, listed, made
from octavo.tui.resources.space_resources import SPACES
from octavo.tui.widgets.chooser import Choice
from octavo.tui.widgets.commands import Commands
from octavo.tui.widgets.picker import Picker
from tests.journeys.managed import HERE, KEEPERS, NOOR, TELLING, Forms, verdict
from tests.journeys.stage import Run, Stage
from tests.tui.resources.test_declarations import DECLARED

ALIKE = 2
"""Things that are looked at of those that say the same of what one may do."""


@dataclass
class Compared:
    """What the app lets somebody do held against what the platform refuses them."""

    run: Run
    person: str
    forms: Forms
    told: list[str] = field(default_factory=list)
    """Where they differ."""
    asked: set[str] = field(default_factory=set)
    """What an administrator may do, and was asked as one."""

    async def all(self, view: str, kinds: tuple[Resource[Any], ...]) -> None:
        organization = self.run.app.workspace.organization
        assert organization is not None
        known = {"at": HERE, **(organization_resources._known(organization) if view == "admin" else {})}
        await self.level(Level(view, tuple(each for each in kinds if each.is_there(known)), known, organization), "")

    async def level(self, level: Level, above: str) -> None:
        for kind in level.kinds:
            level.kind = kind
            name = f"{above}{kind.many}"
            # What the view of it asks for.
            for op in (kind.list_op(level.known), *(listed(each, level.known) for each in kind.lookups)):
                with suppress(ApiError):
                    await self.run.app.session.live.fetch(op)
            answered = self.run.app.session.live.peek(kind.list_op(level.known)).value
            for part, called in parts(kind, name):
                if part.create is not None:
                    await self.making(level, part, called)
            for thing in some(kind, () if answered is None else kind.items(answered), self.person):
                if (hand := level.at_hand(thing)) is not None:
                    await self.thing(
                        hand, next((called for part, called in parts(kind, name) if part is hand.resource), name)
                    )
                    if kind.children:
                        await self.level(level.into(thing), f"{name} of ")

    async def tree(self) -> None:
        """The keys of the tree of spaces."""
        workspace = self.run.app.workspace
        assert workspace.organization is not None
        live, here = self.run.app.session.live, workspace.organization
        held = (await live.fetch(spaces_of(here.id))).items
        folders = (await live.fetch(collections_of(here.id))).items
        for thing in (*some(SPACES, held, self.person, 1), *some(COLLECTIONS, folders, self.person, 1)):
            await self.in_tree(ManagedSpaces(here, held, folders, thing, lambda name: None, lambda name: None), thing)

    async def in_tree(self, managed: ManagedSpaces, thing: Space | Collection) -> None:
        kind: Resource[Any] = SPACES if isinstance(thing, Space) else COLLECTIONS
        known, called = {"at": HERE}, f"{kind.title(thing)} in the tree"
        at = kind.known_of(known, thing)["at"]
        inside = {"at": HERE, **({"parent": managed.collection.id} if managed.collection is not None else {})}
        made_there = [each.Create(**where) for each in (spaces, collections) for where in (inside, known)]
        Move = spaces.Move if kind is SPACES else collections.Move  # it is a class
        ways: dict[str, list[Operation[Any]]] = {
            "create": made_there,
            "change": [op async for _, _, op in self.forms.to_change(kind, known, thing) if self.is_taken(op)][:1],
            "move": [Move(at=at, parent=thing.parent)],
            "delete": [kind.delete(at=at)] if kind.delete is not None else [],
        }
        for name, ops in ways.items():
            may = (op for op in ops if verdict(self.run.platform.world, op, self.person) < 400)
            self.compare(f"{name} {called}", "", "", why_not(SPACE_TREE, name, self.run, managed), next(may, ops[0]))
        if isinstance(thing, Space):
            duplicate = next(
                each for each in await self.offered(managing_spaces.choose, managed) if each.title == "Duplicate"
            )
            self.compare(f"duplicate {called}", "", "", duplicate.disabled_reason or None, spaces.Duplicate(at=at))
        if managed.why_may_not("move") is None:
            for place in await self.offered(moving_spaces.choose_place, managed):
                to = Move(at=at, parent=place.value or None)
                self.compare(f"move {called} to {place.title}", "", "", place.disabled_reason or None, to)

    async def offered(
        self, ask: Callable[[Octavo, ManagedSpaces], None], managed: ManagedSpaces
    ) -> Sequence[Choice[Any]]:
        """What can be chosen once that is asked."""
        ask(self.run.app, managed)
        screen = self.run.app.screen
        assert isinstance(screen, Picker)
        await self.run.press("escape")
        return screen.choices()

    async def making(self, level: Level, kind: Resource[Any], name: str) -> None:
        """What can be made in one way at least may be made: elsewhere the server says so."""
        why = why_not(acting.PLACE, "create", self.run, level.place())
        tried: Operation[Any] | None = None
        async for _, op in self.forms.to_make(kind, level.known):
            if self.is_taken(op):
                tried = tried or op
                if verdict(self.run.platform.world, op, self.person) < 400:
                    tried = op
                    break
        if tried is not None:
            self.compare(f"make {name} in {level.title}", name, "create", why, tried)

    async def thing(self, hand: acting.AtHand, name: str) -> None:
        kind, known, thing = hand.resource, hand.known, hand.thing
        called = f"{name} {kind.title(thing)} in {getattr(hand.inside, 'title', '')}"
        if kind.update is not None:
            why = why_not(acting.THING, "change", self.run, hand)
            async for _, _, op in self.forms.to_change(kind, known, thing):
                if self.is_taken(op):
                    self.compare(f"change {called}", name, "update", why, op)
                    break
        if kind.delete is not None:
            op = made(kind.delete, kind.known_of(known, thing))
            if self.is_taken(op):
                self.compare(f"delete {called}", name, "delete", why_not(acting.THING, "delete", self.run, hand), op)
        for action in kind.actions:
            done = await self.acting(kind, {**kind.known_of(known, thing), **action.values}, action, thing)
            if done is not None and action.why_not(thing) is None and self.is_taken(done):
                why = why_not(acting.THING, "act", self.run, hand) or acting.why_not_acted(self.run.app, hand, action)
                self.compare(f"{action.name} {called}", name, action.name, why, done)

    async def acting(self, kind: Resource[Any], known: Known, action: Action[Any], thing: Any) -> Operation[Any] | None:
        """What an action sends, with what can be written where it asks."""
        if action.ask is arranging.make_default:
            return arranging.beginning(known["at"], thing)
        async for _, op in self.forms.to_make(replace(kind, create=action.operation), known):
            if self.is_taken(op):
                return op
        return None

    def is_taken(self, op: Operation[Any]) -> bool:
        """Whether an administrator may do that: what else is wrong with it says nothing of roles."""
        return verdict(self.run.platform.world, op, NOOR) < 400

    def compare(self, what: str, name: str, verb: str, why: str | None, op: Operation[Any]) -> None:
        self.asked.add(f"{verb} {name}")
        status = verdict(self.run.platform.world, op, self.person)
        if (why is not None) != (status == 403):
            self.told.append(f"{what}: the platform answers {status}, the app says: {why}")


def why_not(commands: Commands[Any], name: str, run: Run, about: Any) -> str | None:
    command = next(each for each in commands.commands if each.name == name)
    return command.why_not(run.app, about)


def parts(kind: Resource[Any], name: str) -> Sequence[tuple[Resource[Any], str]]:
    """A kind, or those of what stands in its rows, and what each is called."""
    return [(each, f"{name} of {each.many}") for each in kind.parts.values()] or [(kind, name)]


def some(kind: Resource[Any], things: Any, person: str, alike: int = ALIKE) -> Iterator[Any]:
    """A few of those that say the same of what one may do, and the person who may."""
    seen: dict[str, int] = {}
    for each in things:
        says = f"{kind.itself(each)[0].one} {getattr(kind.holder(each), 'permissions', None)}"
        seen[says] = seen.get(says, 0) + 1
        if seen[says] <= alike or kind.key(each) in {person, *TELLING}:
            yield each


WRITES = {
    f"{verb} {name}"
    for name, kind in DECLARED.items()
    for verb in (
        *(verb for verb in ("create", "update", "delete") if getattr(kind, verb) is not None),
        *(action.name for action in kind.actions),
    )
}
"""All that can be done with the kinds there are."""
PEOPLE = {**CAST, **KEEPERS}
SHORT = ("administrator", "keeper of a space", "guest")
"""Who may everything, something and next to nothing: what the others may do lies between."""


@pytest.mark.before_release("administrator", "guest", "keeper of a space")
@pytest.mark.parametrize(
    "role", [pytest.param(each, marks=() if each in SHORT else pytest.mark.long) for each in PEOPLE]
)
async def test_what_is_dim_is_what_the_platform_refuses(furnished_stage: Stage, role: str) -> None:
    async with furnished_stage.play(PEOPLE[role], start="admin") as run:
        compared = Compared(run, PEOPLE[role], Forms(run.app, lambda op: run.ask(op, NOOR), run.platform.world))
        await compared.all("sites", site_resources.KINDS)
        await compared.all("admin", organization_resources.KINDS)
        await compared.tree()
        assert not compared.told
        if role == "administrator":
            assert WRITES - compared.asked == set(), "each was asked"
