"""A library that has something of every kind that is managed, and requests for each kind that the platform takes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from typing import Any

from octavo.api import (
    adaptive_schema,
    collections,
    fonts,
    invites,
    mcp_servers,
    openapi,
    permissions,
    redirects,
    share_links,
    site_structure,
    sites,
    spaces,
    sso,
    storage,
    translations,
)
from octavo.api.operation import SPECS, Operation
from octavo.api.places import CollectionRef, OrganizationRef, SpaceRef
from octavo.cli.demo_roles import PEOPLE_BY_ROLE
from octavo.server import handlers
from octavo.server.demo.library import SITE
from octavo.server.demo.people import ORGANIZATION
from octavo.server.dispatch import answer
from octavo.server.handlers.uploads import receive_file
from octavo.server.store import MissingResource
from octavo.server.world import BackgroundWork, Refusal, World
from octavo.tui.resources.form_fields import FormField, fields_of
from octavo.tui.resources.form_values import beginnings, make
from octavo.tui.resources.references import references
from octavo.tui.resources.resource import Known, Resource
from octavo.tui.shell.shell import Shell
from octavo.tui.widgets.chooser import Choice
from tests.tui.resources.test_form_values import fitting

NOOR = "noor-haddad"
"""Administers the organization."""
KEEPERS = {"keeper of a space": "hedda-rehman", "keeper of a collection": "selin-dahlgren"}
"""Who administers one space or collection and no more: a guest the Limpet manual, a reader the collection it lies in."""
BARE = "Handbook of the harbour"
"""A site that has none of what a site has one of at most."""
HERE = OrganizationRef(organization_id=ORGANIZATION)
LIMPET, INSTRUMENTS = SpaceRef(space_id="limpet"), CollectionRef(collection_id="instruments")
TELLING = {PEOPLE_BY_ROLE["commenter"], SITE.site_id, BARE, LIMPET.space_id, INSTRUMENTS.collection_id}
"""What is looked at in any case: who owns a team and may do little else, and where there is something of everything."""
SPEC = openapi.Source(text='{"openapi": "3.1.0", "info": {"title": "Tides", "version": "1"}, "paths": {}}')
SOME: tuple[Operation[Any], ...] = (
    *(
        redirects.Create(at=SITE, source=source, destination=redirects.ToSection(site_section_id=section))
        for source, section in (
            ("/old/tides", "docs-instruments"),
            ("/api", "docs-software"),
            ("/help", "docs-software"),
        )
    ),
    share_links.Create(at=SITE, name="Press"),
    share_links.Create(at=SITE, name="Partners"),
    mcp_servers.Create(
        at=SITE, name="Tides", url="https://tides.example/mcp", headers={"Authorization": "Bearer s3cret"}
    ),
    site_structure.CreateGroup(at=SITE, title="Products", sections=("docs-software",)),
    invites.CreateLink(at=HERE, role="read"),
    sso.CreateProvider(at=HERE, label="Harbour ID", entity_id="urn:harbour", certificate="MIIC"),
    openapi.Create(at=HERE, slug="tides", source=SPEC),
    translations.Create(at=HERE, title="Into French"),
)
"""One at least of what the demo has none of."""
MORE: tuple[Operation[Any], ...] = (
    sites.Create(at=HERE, title=BARE, spaces="sample"),
    site_structure.CreateSiteSpace(at=SITE, space_id="handbook", section_id="docs-instruments"),
    adaptive_schema.Update.model_validate(
        {"at": SITE, "jsonSchema": {"type": "object", "properties": {}, "additionalProperties": False}}
    ),
    *(
        permissions.Grant(at=at, role="comment", users=("elin-brandt",), teams=("field-crew",))
        for at in (LIMPET, INSTRUMENTS)
    ),
    *(
        permissions.Grant(at=at, role="admin", users=(person,))
        for at, person in zip((LIMPET, INSTRUMENTS), KEEPERS.values(), strict=True)
    ),
    collections.Update(at=CollectionRef(collection_id="field-work"), default_level="read"),
    invites.CreateLink(at=HERE, level="read", space=LIMPET.space_id),
    invites.CreateLink(at=HERE, level="read", collection=INSTRUMENTS.collection_id),
)
"""What else shows how people differ."""


def furnish(world: World) -> None:
    """Let there be something of every kind, and files to make more fonts of."""
    handlers.load()  # no platform may have been made here yet
    for op in (*SOME, *MORE):
        made = answer(op, world.for_user(NOOR))
        if isinstance(made, BackgroundWork):
            made.finish(made.run())
    link = next(
        each for each in answer(share_links.List(at=SITE), world.for_user(NOOR))["items"] if each["name"] == "Partners"
    )
    answer(share_links.Update(at=SITE, share_link_id=link["id"], active=False), world.for_user(NOOR))
    keys = [_sent_font(world) for _ in range(3)]
    faces = (fonts.NewFace(weight=400, storage_key=keys[0]),)
    answer(fonts.Create(at=HERE, font_family="Tide", font_faces=faces), world.for_user(NOOR))


def _sent_font(world: World) -> str:
    data = b"wOF2" + bytes(60)
    file = storage.FileToSend(name="tide.woff2", type="font/woff2", size=len(data))
    signed = answer(storage.Upload(at=HERE, file=file, kind="customization_font"), world.for_user(NOOR))
    organization, key, secret = signed["url"].rsplit("/", 3)[1:]
    receive_file(world, organization, key, secret, data)
    return str(signed["key"])


def keys_of_files(world: World) -> list[str]:
    """What names the files that were sent and wait for something to be made of them."""
    return [each["id"] for each in world.store.all(f"/orgs/{ORGANIZATION}/uploads")]


class _Undone(Exception):
    """What was asked for was taken back."""


def verdict(world: World, op: Operation[Any], person: str) -> int:
    """The status the platform would answer a person with. Nothing of it stays."""
    try:
        with world.store.transaction():
            answer(op, world.for_user(person))
            raise _Undone
    except _Undone:
        return SPECS[type(op)].success
    except Refusal as refused:
        return refused.status
    except MissingResource:
        return 404


def changes(world: World, op: Operation[Any], listed: Operation[Any]) -> bool:
    """Whether the platform does that for an administrator, and what is listed is other then. Nothing of it stays."""

    def now() -> Any:
        try:
            return answer(listed, world.for_user(NOOR))
        except (MissingResource, Refusal):
            return None

    before = now()
    try:
        with world.store.transaction():
            is_later = isinstance(answer(op, world.for_user(NOOR)), BackgroundWork)
            raise _Undone(is_later or now() != before)
    except _Undone as undone:
        return bool(undone.args[0])
    except (MissingResource, Refusal):
        return False


Written = dict[str, str | None]
MOST = 12
"""Things that are tried for a reference: some are taken already."""


class Forms:
    """What can be written in the forms of kinds where one is."""

    def __init__(self, shell: Shell, ask: Callable[[Operation[Any]], Awaitable[Any]], world: World) -> None:
        """`ask` answers as an administrator, who sees all that can be picked."""
        self._shell, self._ask, self._world = shell, ask, world
        self._listed: dict[Operation[Any], Any] = {}

    async def to_make(self, kind: Resource[Any], known: Known) -> AsyncIterator[tuple[Written, Operation[Any]]]:
        """What can be written to make one more, the least first."""
        assert kind.create is not None
        fields = fields_of(kind.create, leave_out=frozenset(known), required=kind.required)
        begin = beginnings(fields, None) if not SPECS[kind.create].changes else dict.fromkeys(names_of(fields), "")
        tags = {each.name: each.choices[0] for each in fields if each.required and each.kind == "choice"}
        least = [{**begin, **tags}]
        for field in fields:
            if field.required and field.name not in tags and field.is_there(least[0]):
                values = await self.values(kind, known, field)
                least = [{**written, field.name: value} for written in least for value in values]
        optional = [each for each in fields if not each.required and each.is_there(least[0])]
        more = [{**least[0], each.name: (await self.values(kind, known, each))[0]} for each in optional]
        places = [each for each in optional if self._lists_places(kind, known, each)]
        outside = [each for each in (least[0], *more) if not any(each[place.name] for place in places)]
        for place in places:  # what one may do differs with the one it is made in
            values = await self.values(kind, known, place)
            more += [{**written, place.name: value} for written in outside for value in values]
        for written in (*least, *more):
            made = make(kind.create, fields, known, begin, written, anew=not SPECS[kind.create].changes)
            if made.operation is not None:
                yield written, made.operation

    async def to_change(
        self, kind: Resource[Any], known: Known, thing: Any
    ) -> AsyncIterator[tuple[str, str, Operation[Any]]]:
        """A field, what can be written there instead, and the request that makes."""
        assert kind.update is not None
        here = kind.known_of(known, thing)
        fields = fields_of(kind.update, leave_out=frozenset(here))
        begin = beginnings(fields, kind.written(thing))
        for field in fields:
            if not field.is_there(begin):
                continue
            for fits in await self.values(kind, here, field):
                value = another(field, fits, begin[field.name])
                made = make(kind.update, fields, here, begin, {**begin, field.name: value}, anew=False)
                if made.operation is not None:
                    yield field.name, value, made.operation

    async def values(self, kind: Resource[Any], known: Known, field: FormField) -> Sequence[str]:
        """What fits in a field."""
        if field.name == "font_faces":
            return [f"- weight: 400\n  storageKey: {key}\n" for key in keys_of_files(self._world)]
        if field.kind in ("choice", "choices"):
            return list(reversed(field.choices))
        found = [each.value for each in await self._choices(kind, known, field)]
        return found[-MOST:] or [fitting(field)]

    async def called(self, kind: Resource[Any], known: Known, field: FormField, value: str) -> str:
        """What is typed to pick something."""
        choices = await self._choices(kind, known, field)
        return next((each.title for each in choices if each.value == value), field.label_of(value))

    def _lists_places(self, kind: Resource[Any], known: Known, field: FormField) -> bool:
        lists = references(self._shell, known, kind.references).get(field.name)
        return lists is not None and isinstance(lists.op({}), spaces.List | collections.List)

    async def _choices(self, kind: Resource[Any], known: Known, field: FormField) -> Sequence[Choice[str]]:
        lists = references(self._shell, known, kind.references).get(field.name)
        op = lists.op({}) if lists is not None and "reference" in (field.kind, field.items) else None
        if lists is None or op is None:
            return ()
        if op not in self._listed:
            self._listed[op] = await self._ask(op)
        return [lists.choice(each) for each in lists.items(self._listed[op])]


def another(field: FormField, fits: str, now: str | None) -> str:
    """What fits in a field and is not what is there."""
    if fits != now:
        return fits
    return "no" if field.kind == "yes or no" else f"{fits} 2" if field.kind == "line" else fits


def names_of(fields: Iterable[FormField]) -> list[str]:
    """What fields are called."""
    return [each.name for each in fields]
