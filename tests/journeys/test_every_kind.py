"""Every kind that is managed, by being declared: what roles may do with it, and it made, changed and deleted."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from octavo.api import collections, spaces
from octavo.api.collections import Collection
from octavo.api.errors import ApiError
from octavo.api.operation import Operation
from octavo.api.spaces import Space
from octavo.cli.cast import CAST
from octavo.data.organization_lists import collections_of, spaces_of
from octavo.server.demo.docs_site import SITE
from octavo.server.store import Store
from octavo.server.world import World
from octavo.tui.app.octavo import Octavo
from octavo.tui.content import managing_spaces, moving_spaces
from octavo.tui.content.managed_spaces import ManagedSpaces
from octavo.tui.content.spaces_pane import SPACE_TREE
from octavo.tui.resources import acting, arranging, organization_resources, site_resources
from octavo.tui.resources.browser import Level
from octavo.tui.resources.form import FormDialog
from octavo.tui.resources.form_fields import fields_of
from octavo.tui.resources.form_inputs import FieldRow
from octavo.tui.resources.form_values import beginnings, same
from octavo.tui.resources.organization_resources import COLLECTIONS
from octavo.tui.resources.resource import Action, Known, Resource, listed, made
from octavo.tui.resources.space_resources import SPACES
from octavo.tui.widgets.chooser import Choice
from octavo.tui.widgets.commands import Commands
from octavo.tui.widgets.confirm import Confirm
from octavo.tui.widgets.picker import Picker
from tests.journeys.managed import HERE, INSTRUMENTS, KEEPERS, LIMPET, NOOR, Forms, Written, furnish, verdict
from tests.journeys.stage import Clock, Run, Stage
from tests.journeys.test_resources import browser, open_kind
from tests.server.asking import counting
from tests.tui.resources.test_declarations import DECLARED

TELLING = {CAST["commenter"], SITE.site_id, LIMPET.space_id, INSTRUMENTS.collection_id}
"""What is looked at in any case: who owns a team and may do little else, and where there is something of everything."""
ALIKE = 2
"""Things that are looked at of those that say the same of what one may do."""


@pytest.fixture(scope="session")
def furnished(library: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library with something of every kind."""
    path = tmp_path_factory.mktemp("furnished") / "library.db"
    path.write_bytes(library.read_bytes())
    store = Store(path)
    furnish(World(store, now=Clock(), new_id=counting()))
    store.close()
    return path


@pytest.fixture
def stage(tmp_path: Path, furnished: Path) -> Stage:
    return Stage(tmp_path, furnished)


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
        for thing in (*some(SPACES, held, self.person), *some(COLLECTIONS, folders, self.person)):
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
            copy = next(each for each in await self.offered(managing_spaces.choose, managed) if each.title == "Copy")
            self.compare(f"copy {called}", "", "", copy.off or None, spaces.Duplicate(at=at))
        if managed.why_may_not("move") is None:
            for place in await self.offered(moving_spaces.choose_place, managed):
                to = Move(at=at, parent=place.value or None)
                self.compare(f"move {called} to {place.title}", "", "", place.off or None, to)

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


def some(kind: Resource[Any], things: Any, person: str) -> Iterator[Any]:
    """A few of those that say the same of what one may do, and the person who may."""
    seen: dict[str, int] = {}
    for each in things:
        says = f"{kind.itself(each)[0].one} {getattr(kind.holder(each), 'permissions', None)}"
        seen[says] = seen.get(says, 0) + 1
        if seen[says] <= ALIKE or kind.key(each) in {person, *TELLING}:
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
SHORT = (*KEEPERS, "administrator", "creator", "commenter", "guest")
"""What the others may do lies between."""


@pytest.mark.parametrize(
    "role", [pytest.param(each, marks=() if each in SHORT else pytest.mark.long) for each in PEOPLE]
)
async def test_what_is_dim_is_what_the_platform_refuses(stage: Stage, role: str) -> None:
    async with stage.play(PEOPLE[role]) as run:
        compared = Compared(run, PEOPLE[role], Forms(run.app, lambda op: run.ask(op, NOOR), run.platform.world))
        await compared.all("sites", site_resources.KINDS)
        await compared.all("admin", organization_resources.KINDS)
        await compared.tree()
        assert not compared.told
        if role == "administrator":
            assert WRITES - compared.asked == set(), "each was asked"


# Made, changed and deleted by keys


async def through(run: Run, forms: Forms, done: list[str]) -> None:
    """Make, change and delete one of the kind that is open, by keys, and hold what the server has then against it."""
    view = browser(run)
    level, kind = view.level, view.level.kind
    op = kind.list_op(level.known)

    async def there() -> dict[str, Any]:
        return {kind.key(each): each for each in kind.items(await run.ask(op, NOOR))}

    view.rows.focus()
    before = await there()
    made_now: set[str] = set()
    if kind.create is not None:
        written = await first(run, forms.to_make(kind, level.known))
        await run.press("ctrl+n")
        await fill(run, forms, kind, level.known, written)
        after = await there()
        made_now = after.keys() - before.keys()
        assert made_now or after != before, f"{kind.many} were not made"
        done.append(f"create {kind.many}")
        before = after
    await run.until(lambda: set(view.rows.keys) == before.keys(), f"list {kind.many} as they are")
    if not before:
        return
    key = next(iter(made_now), next(iter(before)))
    assert view.rows.go_to(key)
    await run.settle()
    thing = before[key]
    if kind.update is not None:
        fields = fields_of(kind.update, leave_out=frozenset(kind.known_of(level.known, thing)))
        begin = beginnings(fields, kind.written(thing))
        tried = ((({**begin, name: value}, op)) async for name, value, op in forms.to_change(kind, level.known, thing))
        written = await first(run, tried)
        await run.press("e")
        await fill(run, forms, kind, kind.known_of(level.known, thing), written)
        now = await there()
        assert now[key] != thing, f"{kind.one} was not changed"
        done.append(f"update {kind.many}")
        thing = now[key]
        await run.until(lambda: view.rows.item == thing, f"see the {kind.one} as it is")
    if kind.delete is not None:
        await run.press("X")
        dialog = run.app.screen
        assert isinstance(dialog, Confirm), run.text
        if kind.as_it_was(level.known, thing) is None:
            await run.type(acting.to_type(kind.verbs[0], kind, (thing,)))
            await run.press("enter")
        else:
            await run.press("y")
        await run.until(lambda: key not in view.rows.keys, f"see the {kind.one} go")
        assert key not in await there()
        done.append(f"delete {kind.many}")


async def first(run: Run, tried: AsyncIterator[tuple[Written, Operation[Any]]]) -> Written:
    """What can be written that the platform takes."""
    async for written, op in tried:
        if verdict(run.platform.world, op, NOOR) < 400:
            return written
    raise AssertionError("nothing that can be written is taken")


async def fill(run: Run, forms: Forms, kind: Resource[Any], known: Known, written: Written) -> None:
    """Write in the form on show, as people do, and send it."""
    dialog = run.app.screen
    assert isinstance(dialog, FormDialog), run.text
    state = dialog.state
    for row in dialog.query(FieldRow):
        field, text = row.field, written[row.field.name]
        if not row.display or same(state.written[field.name], text):
            continue
        row.input.focus()
        if field.kind == "yes or no":
            await run.press("enter")
        elif row.is_picked:
            await run.press("enter")
            await run.until(lambda: run.app.screen is not dialog, f"see what {field.name} can be")
            await run.type(await forms.called(kind, known, field, text or ""))
            await run.press("enter")
            if run.app.screen is not dialog:
                await run.press("escape")
        else:
            await run.press("end", "ctrl+u")
            await run.type(text or "")
        assert same(state.written[field.name], text), f"{field.name}: {state.written[field.name]!r}"
    await run.press("ctrl+s")
    await run.until(lambda: run.app.screen is not dialog, f"send the form of {kind.many}")


async def into(run: Run, title: str, kind: str) -> None:
    """Go into a thing of the kind that is open, and open a kind in it."""
    view = browser(run)
    await run.until(lambda: any(view.level.kind.title(each) == title for each in view.rows.items), f"list {title}")
    view.rows.go_to(next(view.level.kind.key(each) for each in view.rows.items if view.level.kind.title(each) == title))
    view.rows.focus()
    await run.press("enter")
    await open_kind(run, kind)


@pytest.mark.parametrize(
    "kind", [each.many for each in site_resources.SITES.children if each.create is not None and not each.single]
)
async def test_what_a_site_has_is_made_changed_and_deleted_by_keys(stage: Stage, kind: str) -> None:
    async with stage.play(NOOR, start="sites") as run:
        await into(run, "Saltmarsh Docs", kind)
        done: list[str] = []
        await through(run, Forms(run.app, lambda op: run.ask(op, NOOR), run.platform.world), done)
        assert len(done) == 3


@pytest.mark.long
async def test_what_an_organization_has_is_made_changed_and_deleted_by_keys(stage: Stage) -> None:
    done: list[str] = []
    async with stage.play(NOOR, start="sites") as run:
        await open_kind(run, "sites")
        await through(run, Forms(run.app, lambda op: run.ask(op, NOOR), run.platform.world), done)
    async with stage.play(NOOR, start="admin") as run:
        forms = Forms(run.app, lambda op: run.ask(op, NOOR), run.platform.world)
        for kind in browser(run).levels[0].kinds:
            if kind is organization_resources.FONTS:
                continue  # made of files, which have a journey of their own
            await open_kind(run, kind.many)
            await through(run, forms, done)
        await open_kind(run, "teams")
        await into(run, "Field crew", "members")
        await through(run, forms, done)
    kinds = (*site_resources.KINDS, *organization_resources.KINDS, organization_resources.TEAM_MEMBERS)
    assert set(done) == {
        f"{verb} {kind.many}"
        for kind in kinds
        if kind is not organization_resources.FONTS
        for verb in ("create", "update", "delete")
        if getattr(kind, verb) is not None
    }
