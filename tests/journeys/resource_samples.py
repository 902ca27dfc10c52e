"""A library with items of every declared resource, and requests for each resource that the server accepts."""

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
from octavo.api.operation import SPECS, CollectionRef, Operation, OrganizationRef, SpaceRef
from octavo.cli.arguments import PEOPLE_BY_ROLE
from octavo.server import handlers
from octavo.server.app import run_operation
from octavo.server.demo.history import ORGANIZATION
from octavo.server.demo.library import SITE
from octavo.server.handlers.uploads import receive_file
from octavo.server.rest import BackgroundWork, Refusal, RequestContext
from octavo.server.store import MissingResource
from octavo.tui.core.shell import Shell
from octavo.tui.resources.form_fields import FormField, fields_of
from octavo.tui.resources.form_values import build_request, initial_texts
from octavo.tui.resources.resource import Arguments, Resource, reference_lists
from octavo.tui.widgets.chooser import Choice
from tests.tui.resources.test_form_values import valid_text

NOOR = "noor-haddad"
"""Administrator of the organization."""
PARTIAL_ADMINISTRATORS = {"owner of a space": "hedda-rehman", "owner of a collection": "selin-dahlgren"}
"""Users who administer only one space or one collection. One is a guest of the organization, and one is a reader."""
BARE_SITE_TITLE = "Handbook of the harbour"
"""Title of a site that has no single items such as an adaptive schema."""
ORGANIZATION_REF = OrganizationRef(organization_id=ORGANIZATION)
LIMPET, INSTRUMENTS = SpaceRef(space_id="limpet"), CollectionRef(collection_id="instruments")
ALWAYS_CHECKED_KEYS = {
    PEOPLE_BY_ROLE["commenter"],
    SITE.site_id,
    BARE_SITE_TITLE,
    LIMPET.space_id,
    INSTRUMENTS.collection_id,
}
"""Keys of items that are always checked: the owner of a team, and the items with the most children."""
SPEC = openapi.Source(text='{"openapi": "3.1.0", "info": {"title": "Tides", "version": "1"}, "paths": {}}')
MISSING_RESOURCES: tuple[Operation[Any], ...] = (
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
    invites.CreateLink(at=ORGANIZATION_REF, role="read"),
    sso.CreateProvider(at=ORGANIZATION_REF, label="Harbour ID", entity_id="urn:harbour", certificate="MIIC"),
    openapi.Create(at=ORGANIZATION_REF, slug="tides", source=SPEC),
    translations.Create(at=ORGANIZATION_REF, title="Into French"),
)
"""Operations that create at least one item of each resource that the demo does not contain."""
ROLE_EXAMPLES: tuple[Operation[Any], ...] = (
    sites.Create(at=ORGANIZATION_REF, title=BARE_SITE_TITLE, spaces="sample"),
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
        for at, person in zip((LIMPET, INSTRUMENTS), PARTIAL_ADMINISTRATORS.values(), strict=True)
    ),
    collections.Update(at=CollectionRef(collection_id="field-work"), default_level="read"),
    invites.CreateLink(at=ORGANIZATION_REF, level="read", space=LIMPET.space_id),
    invites.CreateLink(at=ORGANIZATION_REF, level="read", collection=INSTRUMENTS.collection_id),
)
"""Operations that create more items, so that the permissions of roles differ."""


def create_all_resources(context: RequestContext) -> None:
    """Create items of every resource, and upload files for more fonts."""
    handlers.load()  # The server may not have loaded its handlers yet in this process.
    for op in (*MISSING_RESOURCES, *ROLE_EXAMPLES):
        made = run_operation(op, context.for_user(NOOR))
        if isinstance(made, BackgroundWork):
            made.finish(made.run())
    link = next(
        each
        for each in run_operation(share_links.List(at=SITE), context.for_user(NOOR))["items"]
        if each["name"] == "Partners"
    )
    run_operation(share_links.Update(at=SITE, share_link_id=link["id"], active=False), context.for_user(NOOR))
    keys = [_upload_font(context) for _ in range(3)]
    faces = (fonts.NewFace(weight=400, storage_key=keys[0]),)
    run_operation(fonts.Create(at=ORGANIZATION_REF, font_family="Tide", font_faces=faces), context.for_user(NOOR))


def _upload_font(context: RequestContext) -> str:
    data = b"wOF2" + bytes(60)
    file = storage.FileToSend(name="tide.woff2", type="font/woff2", size=len(data))
    signed = run_operation(
        storage.Upload(at=ORGANIZATION_REF, file=file, kind="customization_font"), context.for_user(NOOR)
    )
    organization, key, secret = signed["url"].rsplit("/", 3)[1:]
    receive_file(context, organization, key, secret, data)
    return str(signed["key"])


def keys_of_files(context: RequestContext) -> list[str]:
    """Return the keys of uploaded files that are not used yet."""
    return [each["id"] for each in context.store.all(f"/orgs/{ORGANIZATION}/uploads")]


class _RolledBack(Exception):
    """Rolls back a transaction."""


def status_for(context: RequestContext, op: Operation[Any], person: str) -> int:
    """Return the status of the response to a user. The write is rolled back."""
    try:
        with context.store.transaction():
            run_operation(op, context.for_user(person))
            raise _RolledBack
    except _RolledBack:
        return SPECS[type(op)].success
    except Refusal as refused:
        return refused.status
    except MissingResource:
        return 404


def changes(context: RequestContext, op: Operation[Any], listed: Operation[Any]) -> bool:
    """Return whether the server accepts a write that changes the list. The write is rolled back."""

    def now() -> Any:
        try:
            return run_operation(listed, context.for_user(NOOR))
        except (MissingResource, Refusal):
            return None

    before = now()
    try:
        with context.store.transaction():
            is_later = isinstance(run_operation(op, context.for_user(NOOR)), BackgroundWork)
            raise _RolledBack(is_later or now() != before)
    except _RolledBack as undone:
        return bool(undone.args[0])
    except (MissingResource, Refusal):
        return False


FieldTexts = dict[str, str | None]
MAX_REFERENCES = 12
"""Maximum number of items to try for a reference. Some items may already be in use."""


class Forms:
    """Form values that the server accepts."""

    def __init__(self, shell: Shell, ask: Callable[[Operation[Any]], Awaitable[Any]], context: RequestContext) -> None:
        """`ask` sends a request as an administrator, who can see all references."""
        self._shell, self._ask, self._context = shell, ask, context
        self._listed: dict[Operation[Any], Any] = {}

    async def to_make(self, kind: Resource[Any], known: Arguments) -> AsyncIterator[tuple[FieldTexts, Operation[Any]]]:
        """Yield texts and requests that create an item, those with the fewest fields first."""
        assert kind.create is not None
        fields = fields_of(kind.create, leave_out=frozenset(known), required_fields=kind.required_fields)
        begin = initial_texts(fields, None) if not SPECS[kind.create].is_update else dict.fromkeys(names_of(fields), "")
        tags = {each.name: each.choices[0] for each in fields if each.is_required and each.kind == "choice"}
        least = [{**begin, **tags}]
        for field in fields:
            if field.is_required and field.name not in tags and field.is_shown(least[0]):
                values = await self.values(kind, known, field)
                least = [{**written, field.name: value} for written in least for value in values]
        optional = [each for each in fields if not each.is_required and each.is_shown(least[0])]
        more = [{**least[0], each.name: (await self.values(kind, known, each))[0]} for each in optional]
        places = [each for each in optional if self._lists_places(kind, known, each)]
        outside = [each for each in (least[0], *more) if not any(each[place.name] for place in places)]
        for place in places:  # Permissions may differ between the places of a new item.
            values = await self.values(kind, known, place)
            more += [{**written, place.name: value} for written in outside for value in values]
        for written in (*least, *more):
            made = build_request(kind.create, fields, known, begin, written, is_new=not SPECS[kind.create].is_update)
            if made.operation is not None:
                yield written, made.operation

    async def to_change(
        self, kind: Resource[Any], known: Arguments, thing: Any
    ) -> AsyncIterator[tuple[str, str, Operation[Any]]]:
        """Yield each field that can be changed, with a new text and the request."""
        assert kind.update is not None
        here = kind.arguments_for(known, thing)
        fields = fields_of(kind.update, leave_out=frozenset(here))
        begin = initial_texts(fields, kind.as_update(thing))
        for field in fields:
            if not field.is_shown(begin):
                continue
            for fits in await self.values(kind, here, field):
                value = another(field, fits, begin[field.name])
                made = build_request(kind.update, fields, here, begin, {**begin, field.name: value}, is_new=False)
                if made.operation is not None:
                    yield field.name, value, made.operation

    async def values(self, kind: Resource[Any], known: Arguments, field: FormField) -> Sequence[str]:
        """Return valid texts for a field."""
        if field.name == "font_faces":
            return [f"- weight: 400\n  storageKey: {key}\n" for key in keys_of_files(self._context)]
        if field.kind in ("choice", "choices"):
            return list(reversed(field.choices))
        found = [each.value for each in await self._choices(kind, known, field)]
        return found[-MAX_REFERENCES:] or [valid_text(field)]

    async def called(self, kind: Resource[Any], known: Arguments, field: FormField, value: str) -> str:
        """Return the text that a user types to choose a reference."""
        choices = await self._choices(kind, known, field)
        return next((each.title for each in choices if each.value == value), field.label_of(value))

    def _lists_places(self, kind: Resource[Any], known: Arguments, field: FormField) -> bool:
        lists = reference_lists(self._shell, known, kind.reference_lists).get(field.name)
        return lists is not None and isinstance(lists.list_operation({}), spaces.List | collections.List)

    async def _choices(self, kind: Resource[Any], known: Arguments, field: FormField) -> Sequence[Choice[str]]:
        lists = reference_lists(self._shell, known, kind.reference_lists).get(field.name)
        op = lists.list_operation({}) if lists is not None and "reference" in (field.kind, field.item_kind) else None
        if lists is None or op is None:
            return ()
        if op not in self._listed:
            self._listed[op] = await self._ask(op)
        return [lists.choice_of(each) for each in lists.items_in(self._listed[op])]


def another(field: FormField, fits: str, now: str | None) -> str:
    """Return a valid text for a field that differs from the current text."""
    if fits != now:
        return fits
    return "no" if field.kind == "yes or no" else f"{fits} 2" if field.kind == "line" else fits


def names_of(fields: Iterable[FormField]) -> list[str]:
    return [each.name for each in fields]
