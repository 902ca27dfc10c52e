"""Spaces and collections made and changed, copied, given to another organization, and filled from elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from octavo.api import collections, content, imports, spaces
from octavo.api.collections import Collection
from octavo.api.errors import ApiError, NotFound
from octavo.api.labels import label
from octavo.api.operation import Operation
from octavo.api.organizations import Organization
from octavo.api.places import CollectionRef, ContentRef, OrganizationRef
from octavo.api.spaces import Space
from octavo.data.send_once import Sent
from octavo.tui.content import deleting_spaces, space_places
from octavo.tui.content.space_places import Held, title_of
from octavo.tui.resources import filling, writing
from octavo.tui.resources.form import fill_in
from octavo.tui.resources.organization_resources import COLLECTIONS
from octavo.tui.resources.space_resources import SPACES
from octavo.tui.shell.progress import meanwhile
from octavo.tui.shell.routes import ToChangeRequest, ToPage
from octavo.tui.shell.write_queue import UndoAction
from octavo.tui.widgets.chooser import Choice
from octavo.tui.widgets.fact_list import Fact
from octavo.tui.widgets.picker import Picker
from octavo.tui.widgets.wording import long_age, plural
from octavo.tui.writing import target_request
from octavo.tui.writing.target_request import TargetRequest

if TYPE_CHECKING:
    from octavo.tui.content.managed_spaces import ManagedSpaces
    from octavo.tui.shell.shell import Shell
    from octavo.tui.widgets.confirm import Confirmed

Deed = Callable[[], object]


def create(app: Shell, managed: ManagedSpaces) -> None:
    """Ask whether a space or a collection is to be made, and where; then what it is to be."""
    at, inside = OrganizationRef(organization_id=managed.organization.id), managed.collection
    where: list[Collection | None] = [inside] if inside is not None else []
    choices: list[Choice[Deed]] = []
    for resource in (SPACES, COLLECTIONS):
        for folder in (*where, None):
            place = "at the top" if folder is None else f"in {title_of(folder)}"
            off = managed.why_may_not_add_to(folder) or ""
            known = {"at": at} if folder is None else {"at": at, "parent": folder.id}
            named = replace(resource, new=f"New {resource.one} {place}")
            choices.append(Choice(partial(filling.create, app, named, known, managed.came), named.new, off=off))
    app.push_screen(Picker("Make", choices), _do)


def _do(deed: Deed | None) -> None:
    if deed is not None:
        deed()


def change(app: Shell, managed: ManagedSpaces) -> None:
    """Let what the cursor is on be changed."""
    thing, at = managed.thing, OrganizationRef(organization_id=managed.organization.id)
    if isinstance(thing, Space):
        filling.change(app, SPACES, {"at": at}, thing)
    elif thing is not None:
        filling.change(app, COLLECTIONS, {"at": at}, thing)


def choose(app: Shell, managed: ManagedSpaces) -> None:
    """Ask what else is to be done."""
    thing, no_writes = managed.thing, app.session.read_only
    choices: list[Choice[Deed]] = []
    if isinstance(thing, Space):
        may_not = no_writes or managed.why_may_not_copy() or ""
        choices += [
            Choice(
                partial(_import, app, thing),
                "Import pages",
                "of a website, a document or an archive: an address, or a file",
                off=no_writes or _why_no_import(thing),
            ),
            Choice(
                partial(_duplicate, app, managed, thing),
                "Copy",
                "its pages and files, without its comments",
                off=may_not,
            ),
            Choice(partial(_git_info, app, thing), "Repository", "what it is kept in step with"),
        ]
    if thing is not None:
        off = no_writes or managed.why_may_not("transfer") or _why_no_other(app)
        about = "with all it holds" if isinstance(thing, Collection) else "with all its pages"
        choices.append(
            Choice(partial(_choose_organization, app, managed, thing), "Move to another organization", about, off=off)
        )
    choices.append(
        Choice(partial(deleting_spaces.show_deleted, app, managed), "Deleted spaces", "brought back within 7 days")
    )
    app.push_screen(Picker(title_of(thing) if thing is not None else managed.organization.title, choices), _do)


# Copying


def _duplicate(app: Shell, managed: ManagedSpaces, space: Space) -> None:
    live = app.session.live

    def back(copy: Space) -> UndoAction:
        unmade = partial(writing.send, live, spaces.Delete(at=copy.ref), f"{title_of(copy)} was not taken away")
        return UndoAction(f"take {title_of(copy)} away", unmade, f"{title_of(copy)} is gone again.")

    app.writes.send_once(
        f"copy {title_of(space)}",
        writing.send(live, spaces.Duplicate(at=space.ref), f"{title_of(space)} was not copied"),
        said=f"There is a copy of {title_of(space)}.",
        back=back,
        then=lambda copy: managed.came(copy.id),
    )


# To another organization


def _why_no_other(app: Shell) -> str:
    known = app.workspace.organizations.value
    return "" if known is not None and len(known.items) > 1 else "You are in no other organization."


def _choose_organization(app: Shell, managed: ManagedSpaces, thing: Held) -> None:
    known = app.workspace.organizations.value
    others = [each for each in (known.items if known is not None else ()) if each.id != managed.organization.id]
    choices = [
        Choice(
            each,
            each.title,
            off="" if each.permissions.create_content else "Your role there does not let you create content.",
        )
        for each in others
    ]

    def chosen(to: Organization | None) -> None:
        if to is not None:
            _transfer(app, managed, thing, to)

    app.push_screen(Picker(f"Move {title_of(thing)} to", choices), chosen)


def _transfer(app: Shell, managed: ManagedSpaces, thing: Held, to: Organization) -> None:
    from octavo.tui.widgets.confirm import Confirm

    live, name, here = app.session.live, title_of(thing), managed.organization
    place = space_places.place_of(thing, managed.spaces if isinstance(thing, Space) else managed.collections)  # type: ignore[type-var]  # both are of its kind

    async def back() -> Sent[Any]:
        sent = await writing.send(live, _transferring(thing, here.id), f"{name} was not moved back")
        if sent.kind == "done" and (place.parent or place.before or place.after):
            return await writing.send(live, space_places.move(thing, place), f"{name} is back, and at the top")
        return sent

    def decided(answer: Confirmed | None) -> None:
        if answer is None:
            return
        undo = UndoAction(f"move {name} back", back, f"{name} is back in {here.title}.")
        app.writes.send_once(
            f"move {name} to {to.title}",
            writing.send(live, _transferring(thing, to.id), f"{name} was not moved"),
            said=f"{name} is in {to.title} now.",
            back=lambda _: undo,
            then=lambda _: managed.left(thing.id),
        )

    facts = [
        Fact("care", "", f"People of {here.title} see it no more, unless they are in {to.title} too."),
        Fact("note", "", "It comes to the top there. Spaces on a site, or shared with teams, are not moved."),
    ]
    app.push_screen(Confirm(f"Move {name} to {to.title}?", verb="Move", intro="u moves it back.", facts=facts), decided)


def _transferring(thing: Held, to: str) -> Operation[Any]:
    if isinstance(thing, Space):
        return spaces.Transfer(at=thing.ref, organization=to)
    return collections.Transfer(at=CollectionRef(collection_id=thing.id), organization=to)


# Importing


def _why_no_import(space: Space) -> str:
    if space.permissions.edit:
        return ""
    return f"Your role in {title_of(space)} does not let you edit: it takes the right to edit it. An administrator of the space can give it to you."


def _import(app: Shell, space: Space) -> None:
    """Into the space itself where it is edited live, else into a change request."""
    if space.edit_mode != "locked":
        _fill_import(app, space, space.ref, title_of(space), None)
    else:
        app.background(target_request.choose(app, space.ref, "Import pages", partial(_import_into, app, space)))


async def _import_into(app: Shell, space: Space, into: TargetRequest) -> None:
    with meanwhile(app, f"Opening {into.title}…"):
        change_request = await target_request.started(app, into)
    if change_request is not None:
        named = replace(into, change_request=change_request)
        _fill_import(app, space, change_request.ref(space.ref), named.title, named)


def _fill_import(app: Shell, space: Space, at: ContentRef, where: str, into: TargetRequest | None) -> None:
    pages_before: set[str] = set()

    async def look() -> None:
        try:
            pages_before.update(each.id for each in (await app.session.live.fetch(content.ListPages(at=at))).walk())
        except ApiError:
            return  # the space is opened where one was

    def sent(op: Operation[imports.Imported], answer: imports.Imported | None) -> None:
        count = answer.imported_resources if answer is not None else 0
        left = answer.total_resources - count if answer is not None else 0
        said = f"{plural(count, 'page')} came into {where}" if answer is not None else f"The pages came into {where}"
        app.say(f"{said}{f', {left} could not be read' if left > 0 else ''}.", tone="care" if left > 0 else "done")
        if into is not None and into.change_request is not None:
            target_request.wrote(app, space.ref, into.change_request)
            app.go(ToChangeRequest(into.change_request.ref(space.ref), into.change_request))
        else:
            app.writes.is_final("What was imported is live and cannot be taken back with u: X deletes its pages.")
            app.background(_open_imported(app, space, pages_before))

    if into is None:
        app.background(look())
    live_now = "Readers have the pages at once." if into is None else "Readers have them when it is merged."
    fill_in(
        app,
        imports.Create,
        title=f"Import pages into {where}",
        known={"at": at},
        draft=f"form import {space.id}",
        sent=sent,
        verb="Import",
        intro=f"They come after the last page. {live_now}",
        doing="The server is reading it, and answers when all of it is there.",
    )


async def _open_imported(app: Shell, space: Space, before: set[str]) -> None:
    """Show the first page that was not there before: that is what one wants to see now."""
    page = None
    if before:
        try:
            tree = await app.session.live.fetch(content.ListPages(at=space.ref))
            page = next((each.id for each in tree.walk() if each.id not in before and each.type == "document"), None)
        except ApiError:
            page = None  # the space says so
    if not app.ending:
        app.go(ToPage(space.id, page))


# The repository


def _git_info(app: Shell, space: Space) -> None:
    app.background(_show_git_info(app, space))


async def _show_git_info(app: Shell, space: Space) -> None:
    try:
        with meanwhile(app, f"Asking what {title_of(space)} is kept in step with…"):
            git = await app.session.live.fetch(spaces.GetGitInfo(at=space.ref))
    except NotFound:
        app.say(f"{title_of(space)} is not kept in step with a repository.")
        return
    except ApiError as error:
        app.say(f"It is not known what {title_of(space)} is kept in step with: {error}", tone="failed")
        return
    facts = (
        ("repository", git.repo_name),
        ("at", label(git.installation_provider or "")),
        ("address", git.url),
        ("integration", git.integration),
        ("in step", long_age(git.updated_at) if git.updated_at is not None else ""),
    )
    choices = [Choice(value, name, detail=value) for name, value in facts if value]

    def chosen(value: str | None) -> None:
        from octavo.tui.terminal import clipboard

        if value is not None:
            clipboard.copy(app, value, "Copied.")

    app.push_screen(Picker(f"Repository of {title_of(space)}", choices, empty="The server says nothing of it."), chosen)
