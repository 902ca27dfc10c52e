"""Commands on spaces and collections, such as create, edit settings, duplicate, import pages and show Git Sync."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from octavo.api import collections, content, imports, spaces
from octavo.api.collections import Collection
from octavo.api.errors import ApiError, NotFound
from octavo.api.labels import label
from octavo.api.operation import CollectionRef, ContentRef, Operation, OrganizationRef
from octavo.api.organizations import Organization
from octavo.api.spaces import Space
from octavo.data.writes.direct import SendResult, send_unchecked
from octavo.tui.content import space_changes, space_target
from octavo.tui.content.space_target import SpaceOrCollection, SpaceTarget, title_of
from octavo.tui.core.external_links import copy_text
from octavo.tui.core.permissions import why_no_permission
from octavo.tui.core.routes import ToChangeRequest, ToPage
from octavo.tui.core.shell import Shell, opening
from octavo.tui.core.write_queue import DirectUndo, show_progress
from octavo.tui.editing import target_change_request
from octavo.tui.editing.target_change_request import TargetChangeRequest
from octavo.tui.resources import resource_forms
from octavo.tui.resources.form import open_form
from octavo.tui.resources.form_state import FormRequest, SubmittedForm
from octavo.tui.resources.organization_resources import COLLECTIONS
from octavo.tui.resources.space_resources import MANAGED_SPACES
from octavo.tui.widgets.chooser import Choice, Picker
from octavo.tui.widgets.confirm import ConfirmDialog, Confirmed
from octavo.tui.widgets.short_texts import InfoRow, long_age, plural

Action = Callable[[], object]


def open_create_picker(app: Shell, target: SpaceTarget) -> None:
    """Ask whether to create a space or a collection, and where. Then open the form for the new item."""
    organization_ref, collection = OrganizationRef(organization_id=target.organization.id), target.collection
    parents: list[Collection | None] = [collection] if collection is not None else []
    choices: list[Choice[Action]] = []
    for resource in (MANAGED_SPACES, COLLECTIONS):
        for parent in (*parents, None):
            location = "at the top level" if parent is None else f"in {title_of(parent)}"
            disabled_reason = target.why_not_add_to(parent) or ""
            values = {"at": organization_ref} if parent is None else {"at": organization_ref, "parent": parent.id}
            titled_resource = replace(resource, create_title=f"New {resource.singular} {location}")
            open_create_form = partial(resource_forms.open_create_form, app, titled_resource, values, target.on_created)
            choices.append(Choice(open_create_form, titled_resource.create_title, disabled_reason=disabled_reason))
    app.ask(Picker("Create", choices), lambda action: action())


def edit_settings(app: Shell, target: SpaceTarget) -> None:
    """Open the settings form of the selected space or collection."""
    item, at = target.selected, OrganizationRef(organization_id=target.organization.id)
    if isinstance(item, Space):
        resource_forms.open_edit_form(app, MANAGED_SPACES, {"at": at}, item)
    elif item is not None:
        resource_forms.open_edit_form(app, COLLECTIONS, {"at": at}, item)


def show_actions(app: Shell, target: SpaceTarget) -> None:
    """Open the menu with further actions for the selected space or collection."""
    item, no_writes = target.selected, app.session.read_only_reason
    choices: list[Choice[Action]] = []
    if isinstance(item, Space):
        choices += [
            Choice(
                partial(_import, app, item),
                "Import pages",
                "from a website, a document, or an archive",
                disabled_reason=no_writes or _why_no_import(item),
            ),
            Choice(
                partial(_duplicate, app, target, item),
                "Duplicate",
                "with its pages and files, but without its comments",
                disabled_reason=no_writes or target.why_not_duplicate() or "",
            ),
            Choice(lambda: app.background(_show_git_info(app, item)), "Git Sync", "show the connected repository"),
        ]
    if item is not None:
        disabled_reason = no_writes or target.why_not("transfer") or _why_no_transfer(app)
        detail = "with everything in the collection" if isinstance(item, Collection) else "with all its pages"
        choices.append(
            Choice(
                partial(_choose_organization, app, target, item),
                "Move to another organization",
                detail,
                disabled_reason=disabled_reason,
            )
        )
    choices.append(
        Choice(partial(space_changes.show_trash, app, target), "Trash", "restore spaces deleted in the last 7 days")
    )
    app.ask(Picker(title_of(item) if item is not None else target.organization.title, choices), lambda action: action())


def _duplicate(app: Shell, target: SpaceTarget, space: Space) -> None:
    live = app.session.live

    def undo_duplicate(copy: Space) -> DirectUndo:
        delete_copy = partial(send_unchecked, live, spaces.Delete(at=copy.ref), f"Could not delete {title_of(copy)}")
        return DirectUndo(f"delete {title_of(copy)}", delete_copy, f"Deleted {title_of(copy)}.")

    app.writes.send(
        f"duplicate {title_of(space)}",
        send_unchecked(live, spaces.Duplicate(at=space.ref), f"Could not duplicate {title_of(space)}"),
        message=f"Duplicated {title_of(space)}.",
        make_undo=undo_duplicate,
        on_success=lambda copy: target.on_created(copy.id),
    )


def _why_no_transfer(app: Shell) -> str:
    loaded = app.workspace.organizations.value
    return "" if loaded is not None and len(loaded.items) > 1 else "You are not a member of any other organization."


def _choose_organization(app: Shell, target: SpaceTarget, item: SpaceOrCollection) -> None:
    loaded = app.workspace.organizations.value
    others = [each for each in (loaded.items if loaded is not None else ()) if each.id != target.organization.id]
    choices = [
        Choice(
            each,
            each.title,
            disabled_reason=why_no_permission((each,), "create_content", "create content", "organization") or "",
        )
        for each in others
    ]

    app.ask(
        Picker(f"Move {title_of(item)} to…", choices), lambda destination: _transfer(app, target, item, destination)
    )


def _transfer(app: Shell, target: SpaceTarget, item: SpaceOrCollection, destination: Organization) -> None:
    live, name, organization = app.session.live, title_of(item), target.organization
    items: Any = target.spaces if isinstance(item, Space) else target.collections
    position = space_target.position_of(item, items)

    async def undo_transfer() -> SendResult[Any]:
        sent = await send_unchecked(live, _transfer_operation(item, organization.id), f"Could not move {name} back")
        if sent.kind == "done" and (position.parent or position.before or position.after):
            return await send_unchecked(
                live,
                space_target.move_operation(item, position),
                f"Moved {name} back to the top level, but not to its original position",
            )
        return sent

    def on_decided(answer: Confirmed) -> None:
        undo = DirectUndo(f"move {name} back", undo_transfer, f"Moved {name} back to {organization.title}.")
        app.writes.send(
            f"move {name} to {destination.title}",
            send_unchecked(live, _transfer_operation(item, destination.id), f"Could not move {name}"),
            message=f"Moved {name} to {destination.title}.",
            make_undo=lambda _: undo,
            on_success=lambda _: target.on_removed(item.id),
        )

    info_rows = [
        InfoRow(
            "care",
            "",
            f"Members of {organization.title} will lose access unless they are also members of {destination.title}.",
        ),
        InfoRow(
            "note",
            "",
            f"{name} will be moved to the top level of {destination.title}. Spaces that are on a site or shared with teams cannot be moved.",
        ),
    ]
    app.ask(
        ConfirmDialog(
            f"Move {name} to {destination.title}?",
            verb="Move",
            intro="You can undo the move by pressing u.",
            info_rows=info_rows,
        ),
        on_decided,
    )


def _transfer_operation(item: SpaceOrCollection, organization_id: str) -> Operation[Any]:
    if isinstance(item, Space):
        return spaces.Transfer(at=item.ref, organization=organization_id)
    return collections.Transfer(at=CollectionRef(collection_id=item.id), organization=organization_id)


def _why_no_import(space: Space) -> str:
    if space.permissions.edit:
        return ""
    return f"You need the Editor role in {title_of(space)} to import pages."


def _import(app: Shell, space: Space) -> None:
    if space.edit_mode != "locked":
        _show_import_form(app, space, space.ref, title_of(space), None)
    else:
        app.background(
            target_change_request.choose_target(
                app, space.ref, "Import pages", partial(_import_into_request, app, space)
            )
        )


async def _import_into_request(app: Shell, space: Space, request: TargetChangeRequest) -> None:
    with show_progress(app, f"Opening {request.title}…"):
        change_request = await target_change_request.find_or_create(app, request)
    if change_request is not None:
        started_request = replace(request, change_request=change_request)
        _show_import_form(app, space, change_request.ref(space.ref), started_request.title, started_request)


def _show_import_form(
    app: Shell, space: Space, at: ContentRef, target_title: str, request: TargetChangeRequest | None
) -> None:
    existing_page_ids: set[str] = set()

    async def load_existing_page_ids() -> None:
        try:
            existing_page_ids.update(
                each.id for each in (await app.session.live.fetch(content.ListPages(at=at))).walk()
            )
        except ApiError:
            return  # Without the page IDs, no imported page is opened.

    def on_sent(sent: SubmittedForm) -> None:
        imported: imports.Imported | None = sent.response
        count = imported.imported_resources if imported is not None else 0
        failed_count = imported.total_resources - count if imported is not None else 0
        imported_label = (
            f"Imported {plural(count, 'page') if imported is not None else 'the pages'} into {target_title}"
        )
        failed_note = f" {plural(failed_count, 'page')} could not be read." if failed_count > 0 else ""
        app.say(f"{imported_label}.{failed_note}", tone="care" if failed_count > 0 else "done")
        if request is not None and request.change_request is not None:
            target_change_request.record_edit(app, space.ref, request.change_request)
            app.go(ToChangeRequest(request.change_request.ref(space.ref), request.change_request))
        else:
            app.writes.forbid_undo(
                "You cannot undo an import into main by pressing u. To remove an imported page, select the page and press X."
            )
            app.background(_open_imported(app, space, existing_page_ids))

    if request is None:
        app.background(load_existing_page_ids())
    visibility = (
        "Readers will see the pages immediately." if request is None else "Readers will see the pages after the merge."
    )
    open_form(
        FormRequest(
            app,
            imports.Create,
            title=f"Import pages into {target_title}",
            arguments={"at": at},
            draft_name=f"form import {space.id}",
            on_sent=on_sent,
            verb="Import",
            intro=f"The pages will be added after the last page. {visibility}",
            progress_notice="Importing… The server responds only after all the pages are imported.",
        )
    )


async def _open_imported(app: Shell, space: Space, existing_page_ids: set[str]) -> None:
    page = None
    if existing_page_ids:
        try:
            tree = await app.session.live.fetch(content.ListPages(at=space.ref))
            new_pages = (
                each.id for each in tree.walk() if each.id not in existing_page_ids and each.type == "document"
            )
            page = next(new_pages, None)
        except ApiError:
            page = None  # The view of the space shows the error.
    if not app.is_ending:
        app.go(ToPage(space.id, page))


async def _show_git_info(app: Shell, space: Space) -> None:
    title = title_of(space)
    with opening(app, f"Loading Git Sync for {title}…", f"Could not load Git Sync for {title}"):
        try:
            git_info = await app.session.live.fetch(spaces.GetGitInfo(at=space.ref))
        except NotFound:
            app.say(f"{title} is not connected to a Git repository.")
            return
    info_rows = (
        ("repository", git_info.repo_name),
        ("provider", label(git_info.installation_provider or "")),
        ("link", git_info.url),
        ("integration", git_info.integration),
        ("last sync", long_age(git_info.updated_at) if git_info.updated_at is not None else ""),
    )
    choices = [Choice(value, name, detail=value) for name, value in info_rows if value]

    picker = Picker(f"Git Sync for {title}", choices, empty="The server returned no details.")
    app.ask(picker, lambda value: copy_text(app, value, "Copied the value."))
