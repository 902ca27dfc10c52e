"""Creating, editing, duplicating and transferring spaces and collections, and importing pages into spaces."""

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
from octavo.data.writes.direct import SendResult, send_plain
from octavo.tui.content import deleting_spaces, space_places
from octavo.tui.content.space_places import Held, title_of
from octavo.tui.resources import resource_forms
from octavo.tui.resources.form import open_form
from octavo.tui.resources.form_state import FormRequest
from octavo.tui.resources.organization_resources import COLLECTIONS
from octavo.tui.resources.space_resources import MANAGED_SPACES
from octavo.tui.shell.routes import ToChangeRequest, ToPage
from octavo.tui.shell.write_queue import DirectUndo, show_progress
from octavo.tui.widgets.chooser import Choice
from octavo.tui.widgets.picker import Picker
from octavo.tui.widgets.text_widgets import Fact
from octavo.tui.widgets.wording import long_age, plural
from octavo.tui.writing import target_request
from octavo.tui.writing.target_request import TargetRequest

if TYPE_CHECKING:
    from octavo.tui.content.managed_spaces import ManagedSpaces
    from octavo.tui.shell.shell import Shell
    from octavo.tui.widgets.confirm import Confirmed

Deed = Callable[[], object]


def create(app: Shell, managed: ManagedSpaces) -> None:
    """Ask whether to create a space or a collection, and where. Then show the form."""
    at, inside = OrganizationRef(organization_id=managed.organization.id), managed.collection
    where: list[Collection | None] = [inside] if inside is not None else []
    choices: list[Choice[Deed]] = []
    for resource in (MANAGED_SPACES, COLLECTIONS):
        for folder in (*where, None):
            place = "at the top level" if folder is None else f"in {title_of(folder)}"
            off = managed.why_may_not_add_to(folder) or ""
            known = {"at": at} if folder is None else {"at": at, "parent": folder.id}
            named = replace(resource, create_title=f"New {resource.singular} {place}")
            open_form_of = partial(resource_forms.open_create_form, app, named, known, managed.came)
            choices.append(Choice(open_form_of, named.create_title, disabled_reason=off))
    app.push_screen(Picker("Create", choices), _do)


def _do(deed: Deed | None) -> None:
    if deed is not None:
        deed()


def change(app: Shell, managed: ManagedSpaces) -> None:
    """Show the settings form of the selected space or collection."""
    thing, at = managed.thing, OrganizationRef(organization_id=managed.organization.id)
    if isinstance(thing, Space):
        resource_forms.open_edit_form(app, MANAGED_SPACES, {"at": at}, thing)
    elif thing is not None:
        resource_forms.open_edit_form(app, COLLECTIONS, {"at": at}, thing)


def choose(app: Shell, managed: ManagedSpaces) -> None:
    """Show the menu of further actions for the selected space or collection."""
    thing, no_writes = managed.thing, app.session.read_only
    choices: list[Choice[Deed]] = []
    if isinstance(thing, Space):
        may_not = no_writes or managed.why_may_not_copy() or ""
        choices += [
            Choice(
                partial(_import, app, thing),
                "Import pages",
                "from a website, a document, or an archive",
                disabled_reason=no_writes or _why_no_import(thing),
            ),
            Choice(
                partial(_duplicate, app, managed, thing),
                "Duplicate",
                "with its pages and files, but without its comments",
                disabled_reason=may_not,
            ),
            Choice(partial(_git_info, app, thing), "Git Sync", "show the connected repository"),
        ]
    if thing is not None:
        off = no_writes or managed.why_may_not("transfer") or _why_no_other(app)
        about = "with everything in the collection" if isinstance(thing, Collection) else "with all its pages"
        choices.append(
            Choice(
                partial(_choose_organization, app, managed, thing),
                "Move to another organization",
                about,
                disabled_reason=off,
            )
        )
    choices.append(
        Choice(
            partial(deleting_spaces.show_deleted, app, managed), "Trash", "restore spaces deleted in the last 7 days"
        )
    )
    app.push_screen(Picker(title_of(thing) if thing is not None else managed.organization.title, choices), _do)


# Copying


def _duplicate(app: Shell, managed: ManagedSpaces, space: Space) -> None:
    live = app.session.live

    def back(copy: Space) -> DirectUndo:
        unmade = partial(send_plain, live, spaces.Delete(at=copy.ref), f"Could not delete {title_of(copy)}")
        return DirectUndo(f"delete {title_of(copy)}", unmade, f"Deleted {title_of(copy)}.")

    app.writes.send(
        f"duplicate {title_of(space)}",
        send_plain(live, spaces.Duplicate(at=space.ref), f"Could not duplicate {title_of(space)}"),
        message=f"Duplicated {title_of(space)}.",
        make_undo=back,
        on_success=lambda copy: managed.came(copy.id),
    )


# To another organization


def _why_no_other(app: Shell) -> str:
    known = app.workspace.organizations.value
    return "" if known is not None and len(known.items) > 1 else "You are not a member of any other organization."


def _choose_organization(app: Shell, managed: ManagedSpaces, thing: Held) -> None:
    known = app.workspace.organizations.value
    others = [each for each in (known.items if known is not None else ()) if each.id != managed.organization.id]
    choices = [
        Choice(
            each,
            each.title,
            disabled_reason=""
            if each.permissions.create_content
            else "Your role in this organization does not let you create content.",
        )
        for each in others
    ]

    def chosen(to: Organization | None) -> None:
        if to is not None:
            _transfer(app, managed, thing, to)

    app.push_screen(Picker(f"Move {title_of(thing)} to…", choices), chosen)


def _transfer(app: Shell, managed: ManagedSpaces, thing: Held, to: Organization) -> None:
    from octavo.tui.widgets.confirm import ConfirmDialog

    live, name, here = app.session.live, title_of(thing), managed.organization
    place = space_places.place_of(thing, managed.spaces if isinstance(thing, Space) else managed.collections)  # type: ignore[type-var]  # both are of its kind

    async def back() -> SendResult[Any]:
        sent = await send_plain(live, _transferring(thing, here.id), f"Could not move {name} back")
        if sent.kind == "done" and (place.parent or place.before or place.after):
            return await send_plain(
                live,
                space_places.move(thing, place),
                f"Moved {name} back to the top level, but not to its original position",
            )
        return sent

    def decided(answer: Confirmed | None) -> None:
        if answer is None:
            return
        undo = DirectUndo(f"move {name} back", back, f"Moved {name} back to {here.title}.")
        app.writes.send(
            f"move {name} to {to.title}",
            send_plain(live, _transferring(thing, to.id), f"Could not move {name}"),
            message=f"Moved {name} to {to.title}.",
            make_undo=lambda _: undo,
            on_success=lambda _: managed.left(thing.id),
        )

    facts = [
        Fact("care", "", f"Members of {here.title} will lose access unless they are also members of {to.title}."),
        Fact(
            "note",
            "",
            f"{name} will be moved to the top level of {to.title}. Spaces that are on a site or shared with teams cannot be moved.",
        ),
    ]
    app.push_screen(
        ConfirmDialog(
            f"Move {name} to {to.title}?", verb="Move", intro="You can undo the move by pressing u.", facts=facts
        ),
        decided,
    )


def _transferring(thing: Held, to: str) -> Operation[Any]:
    if isinstance(thing, Space):
        return spaces.Transfer(at=thing.ref, organization=to)
    return collections.Transfer(at=CollectionRef(collection_id=thing.id), organization=to)


# Importing


def _why_no_import(space: Space) -> str:
    if space.permissions.edit:
        return ""
    return f"You need the Editor role in {title_of(space)} to import pages."


def _import(app: Shell, space: Space) -> None:
    """Import into the space if live edits are on, else into a change request."""
    if space.edit_mode != "locked":
        _fill_import(app, space, space.ref, title_of(space), None)
    else:
        app.background(target_request.choose_target(app, space.ref, "Import pages", partial(_import_into, app, space)))


async def _import_into(app: Shell, space: Space, into: TargetRequest) -> None:
    with show_progress(app, f"Opening {into.title}…"):
        change_request = await target_request.ensure_started(app, into)
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
        said = f"Imported {plural(count, 'page') if answer is not None else 'the pages'} into {where}"
        missed = f" {plural(left, 'page')} could not be read." if left > 0 else ""
        app.say(f"{said}.{missed}", tone="care" if left > 0 else "done")
        if into is not None and into.change_request is not None:
            target_request.record_edit(app, space.ref, into.change_request)
            app.go(ToChangeRequest(into.change_request.ref(space.ref), into.change_request))
        else:
            app.writes.forbid_undo(
                "You cannot undo an import into main by pressing u. To remove an imported page, select the page and press X."
            )
            app.background(_open_imported(app, space, pages_before))

    if into is None:
        app.background(look())
    live_now = (
        "Readers will see the pages immediately." if into is None else "Readers will see the pages after the merge."
    )
    open_form(
        FormRequest(
            app,
            imports.Create,
            title=f"Import pages into {where}",
            arguments={"at": at},
            draft_name=f"form import {space.id}",
            on_sent=sent,
            verb="Import",
            intro=f"The pages will be added after the last page. {live_now}",
            progress_notice="Importing… The server responds only after all the pages are imported.",
        )
    )


async def _open_imported(app: Shell, space: Space, before: set[str]) -> None:
    """Open the first imported page."""
    page = None
    if before:
        try:
            tree = await app.session.live.fetch(content.ListPages(at=space.ref))
            page = next((each.id for each in tree.walk() if each.id not in before and each.type == "document"), None)
        except ApiError:
            page = None  # the space says so
    if not app.is_ending:
        app.go(ToPage(space.id, page))


# The repository


def _git_info(app: Shell, space: Space) -> None:
    app.background(_show_git_info(app, space))


async def _show_git_info(app: Shell, space: Space) -> None:
    try:
        with show_progress(app, f"Loading Git Sync for {title_of(space)}…"):
            git = await app.session.live.fetch(spaces.GetGitInfo(at=space.ref))
    except NotFound:
        app.say(f"{title_of(space)} is not connected to a Git repository.")
        return
    except ApiError as error:
        app.say(f"Could not load Git Sync for {title_of(space)}: {error}", tone="failed")
        return
    facts = (
        ("repository", git.repo_name),
        ("provider", label(git.installation_provider or "")),
        ("link", git.url),
        ("integration", git.integration),
        ("last sync", long_age(git.updated_at) if git.updated_at is not None else ""),
    )
    choices = [Choice(value, name, detail=value) for name, value in facts if value]

    def chosen(value: str | None) -> None:
        from octavo.tui.terminal import clipboard

        if value is not None:
            clipboard.copy(app, value, "Copied the value.")

    app.push_screen(Picker(f"Git Sync for {title_of(space)}", choices, empty="The server returned no details."), chosen)
