"""Moves spaces and collections in their tree, deletes them, and restores deleted spaces from the trash."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from typing import Any

from octavo.api import content, site_structure, sites, spaces
from octavo.api.errors import ApiError, Forbidden, NotFound
from octavo.api.operation import Operation, OrganizationRef, SiteRef, SpaceRef
from octavo.api.spaces import Space
from octavo.data.live import Live
from octavo.data.queries import collections_op, spaces_op
from octavo.data.writes.direct import SendResult, send_unchecked
from octavo.tui.content import space_target
from octavo.tui.content.space_target import SpaceOrCollection, SpacePosition, SpaceTarget, title_of
from octavo.tui.core.dialog_draft import DialogDraft
from octavo.tui.core.permissions import why_no_permission
from octavo.tui.core.shell import Shell, opening
from octavo.tui.core.write_queue import DirectUndo
from octavo.tui.resources import resource_forms
from octavo.tui.resources.organization_resources import COLLECTIONS
from octavo.tui.resources.resource import Resource
from octavo.tui.resources.resource_commands import confirmation_text
from octavo.tui.resources.space_resources import MANAGED_SPACES
from octavo.tui.widgets import short_texts
from octavo.tui.widgets.chooser import Choice, Picker
from octavo.tui.widgets.confirm import ConfirmDialog, Confirmed, DialogField
from octavo.tui.widgets.short_texts import InfoRow, plural


def move_by(app: Shell, target: SpaceTarget, step: int) -> None:
    """Move the selected space or collection one position up (`step` is -1) or down (1)."""
    if (item := target.selected) is not None:
        find_position = partial(space_target.position_at_step, step=step)
        _move(app, target, item, find_position, f"Moved {title_of(item)} {'up' if step < 0 else 'down'}.")


def choose_parent(app: Shell, target: SpaceTarget) -> None:
    """Ask for a collection and a position, then move the selected space or collection there."""
    if (item := target.selected) is None:
        return
    parent_choices = [("", "Top level, not in a collection", target.why_not_add_to(None))]
    for each, depth in space_target.possible_parents(item, target.collections):
        parent_choices.append((each.id, f"{'  ' * depth}{title_of(each)}", target.why_not_add_to(each)))
    current_id = item.parent or ""
    choices = [
        Choice(
            parent_id,
            title,
            right="current" if parent_id == current_id else "",
            disabled_reason=(reason or "") if parent_id != current_id else "",
        )
        for parent_id, title, reason in parent_choices
    ]

    parent_picker = Picker(f"Move {title_of(item)} to…", choices, initial=current_id)
    app.ask(parent_picker, lambda parent: _choose_position(app, target, item, parent or None))


def _choose_position(app: Shell, target: SpaceTarget, item: SpaceOrCollection, parent_id: str | None) -> None:
    siblings = [each for each in _all_of_same_kind(target, item) if each.parent == parent_id and each.id != item.id]
    parent_title = next((title_of(each) for each in target.collections if each.id == parent_id), "the top level")

    def on_chosen(position: SpacePosition) -> None:
        destination = f"to {parent_title}" if parent_id else "to the top level"
        _move(app, target, item, lambda *_: position, f"Moved {title_of(item)} {destination}.")

    if not siblings:
        on_chosen(SpacePosition(parent_id))
        return
    choices = [
        Choice(SpacePosition(parent_id, after=siblings[-1].id), "Last"),
        Choice(SpacePosition(parent_id, before=siblings[0].id), "First"),
        *(Choice(SpacePosition(parent_id, after=each.id), f"After {title_of(each)}") for each in siblings[:-1]),
    ]
    app.ask(Picker(f"Position of {title_of(item)} {'in' if parent_id else 'at'} {parent_title}", choices), on_chosen)


def _all_of_same_kind(target: SpaceTarget, item: SpaceOrCollection) -> Any:
    return target.spaces if isinstance(item, Space) else target.collections


def _move(
    app: Shell,
    target: SpaceTarget,
    item: SpaceOrCollection,
    find_position: Callable[[Any, Any], SpacePosition | None],
    message: str,
) -> None:
    """Move `item` to the position that `find_position(item, items of its kind)` returns. Then show `message`."""
    live, name = app.session.live, title_of(item)
    list_op: Operation[Any] = (spaces_op if isinstance(item, Space) else collections_op)(target.organization.id)
    undo: DirectUndo | str = ""

    async def send() -> SendResult[Any]:
        nonlocal undo
        # An earlier move may have changed the list since the key was pressed.
        items = getattr(live.peek(list_op).value, "items", _all_of_same_kind(target, item))
        current = next((each for each in items if each.id == item.id), item)
        position, position_before = find_position(current, items), space_target.position_of(current, items)
        if position is None or position == position_before:
            return SendResult("same", f"{name} is already in this position.")
        undo_op = space_target.move_operation(current, position_before)
        undo_sender = partial(send_unchecked, live, undo_op, f"Could not move {name} back")
        undo = DirectUndo(f"move {name} back", undo_sender, f"Moved {name} back.")
        cache_edit = list_op, lambda page: space_target.list_after_move(page, current, position)
        op = space_target.move_operation(current, position)
        return await send_unchecked(live, op, f"Could not move {name}", cache_edit)

    app.writes.send(f"move {name}", send(), message=message, make_undo=lambda _: undo, is_visible=True)


DAY = timedelta(days=1)
TRASH_RETENTION = timedelta(days=7)
"""Time for which the server keeps deleted spaces."""
MAX_REMEMBERED_SPACES = 50
MAX_CHECKED_SITES = 30


def delete(app: Shell, target: SpaceTarget) -> None:
    """Ask for confirmation, then delete the selected space or collection. The dialog lists the effects."""
    if (item := target.selected) is None:
        return
    resource: Resource[Any] = MANAGED_SPACES if isinstance(item, Space) else COLLECTIONS
    at = OrganizationRef(organization_id=target.organization.id)
    arguments, live, name = {"at": at}, app.session.live, title_of(item)
    undo = resource_forms.undo_of_deletion(live, resource, arguments, (item,))
    typed = confirmation_text("delete", resource, (item,))

    def on_decided(response: Confirmed) -> None:
        app.writes.send(
            f"delete {name}",
            resource_forms.delete_items(live, resource, arguments, (item,)),
            message=f"Deleted {name}.",
            make_undo=None if undo is None else lambda _: undo,
            on_success=lambda _: _after_deletion(app, target, item),
        )

    days_text = plural(TRASH_RETENTION.days, "day")
    consequence = (
        f"You can restore the {item.object} within {days_text}. To restore it right after you delete it, press u. "
        "To restore it later, press a and choose Trash."
        if undo is not None
        else "You cannot undo this."
    )
    effects = _known_effects(target, item)
    dialog = ConfirmDialog(
        f"Delete the {item.object} {name}?",
        verb="Delete",
        intro=consequence,
        info_rows=[*effects, InfoRow("asking", "", "Checking pages and sites…")]
        if isinstance(item, Space)
        else effects,
        word=typed,
        word_reason=f"Type {typed} to confirm.",
    )
    app.ask(dialog, on_decided)
    if isinstance(item, Space):
        app.background(_show_effects(live, at, item, effects, dialog))


def _known_effects(target: SpaceTarget, item: SpaceOrCollection) -> list[InfoRow]:
    if isinstance(item, Space):
        return [InfoRow("care", "", sentence) for sentence in MANAGED_SPACES.delete_effects(item)]
    space_count = sum(each.parent == item.id for each in target.spaces)
    collection_count = sum(each.parent == item.id for each in target.collections)
    counts = ((space_count, "space"), (collection_count, "collection"))
    summary = " and ".join(plural(number, noun) for number, noun in counts if number)
    destination = next(
        (f"to {title_of(each)}" for each in target.collections if each.id == item.parent), "to the top level"
    )
    info_rows = [InfoRow("care", "", f"{summary} in this collection will be moved {destination}.")] if summary else []
    return [
        *info_rows,
        InfoRow("care", "", "Members and teams will lose the access that they have through this collection."),
    ]


async def _show_effects(
    live: Live, at: OrganizationRef, space: Space, effects: Sequence[InfoRow], dialog: ConfirmDialog
) -> None:
    pages, on_sites = await asyncio.gather(_page_row(live, space.ref), _site_rows(live, at, space))
    dialog.update(info_rows=[pages, *effects, *on_sites])


async def _page_row(live: Live, space: SpaceRef) -> InfoRow:
    try:
        tree = await live.fetch(content.ListPages(at=space))
    except ApiError as error:
        return InfoRow("bad", "", f"Could not count the pages in the space: {error}")
    page_count = sum(page.type != "group" for page in tree.walk())
    return InfoRow("care", "", f"{plural(page_count, 'page')} will be deleted with the space.")


async def _site_rows(live: Live, at: OrganizationRef, space: Space) -> list[InfoRow]:
    try:
        all_sites = (await live.fetch(sites.List(at=at, limit=1000))).items
        checked = all_sites[:MAX_CHECKED_SITES]
        ops = [
            site_structure.ListSiteSpaces(at=SiteRef(organization_id=at.organization_id, site_id=each.id), limit=1000)
            for each in checked
        ]
        responses = await asyncio.gather(*map(live.fetch, ops))
    except ApiError as error:
        return [InfoRow("bad", "", f"Could not check which sites use the space: {error}")]
    info_rows = [
        InfoRow(
            "care",
            "",
            f"The {'published ' if site.published else ''}site {site.title or site.id} uses this space. The pages of this space will be removed from the site.",
        )
        for site, response in zip(checked, responses, strict=True)
        if any(each.space is not None and each.space.id == space.id for each in response.items)
    ]
    if len(all_sites) > len(checked):
        info_rows.append(
            InfoRow(
                "note", "", f"{plural(len(all_sites) - len(checked), 'more site was', 'more sites were')} not checked."
            )
        )
    return info_rows or [InfoRow("ok", "", "No site uses this space.")]


def _after_deletion(app: Shell, target: SpaceTarget, item: SpaceOrCollection) -> None:
    if isinstance(item, Space):
        remember_deleted_space(app, target.organization.id, item)
    target.on_removed(item.id)


# The trash. The API does not list deleted spaces, so Octavo stores which spaces were deleted here.


def remember_deleted_space(app: Shell, organization_id: str, space: Space) -> None:
    """Store on this computer that a space was deleted, so that the trash lists the space."""
    now = short_texts.clock().isoformat()
    entry = {"id": space.id, "title": space.title, "organization": organization_id, "at": now}

    def with_entry(stored: object) -> list[dict[str, str]]:
        return [entry, *(each for each in _spaces_in(stored) if each["id"] != space.id)][:MAX_REMEMBERED_SPACES]

    app.session.state.change_value("deleted spaces", with_entry)


def _spaces_in(stored: object) -> list[dict[str, str]]:
    return [
        each for each in (stored if isinstance(stored, list) else ())
        if isinstance(each, dict) and all(isinstance(each.get(name), str) for name in ("id", "title", "organization", "at"))
    ]  # fmt: skip


def show_trash(app: Shell, target: SpaceTarget) -> None:
    """List the deleted spaces, with the days left to restore each space. Restore the space that the user chooses."""
    app.background(_show_trash(app, target))


async def _show_trash(app: Shell, target: SpaceTarget) -> None:
    live, no_writes = app.session.live, app.session.read_only_reason
    stored_spaces = _spaces_in(app.session.state.get_value("deleted spaces"))
    remembered_spaces = [each for each in stored_spaces if each["organization"] == target.organization.id]
    with opening(app, "Loading the trash…", "Could not load the trash"):
        deleted = await asyncio.gather(*(_find_deleted(live, each["id"]) for each in remembered_spaces))
    choices: list[Choice[str]] = []
    for space in deleted:
        if space is None or space.deleted_at is None:
            continue
        time_left = space.deleted_at + TRASH_RETENTION - short_texts.clock()
        disabled_reason = no_writes or (
            ""
            if time_left > timedelta()
            else "You can no longer restore this space: it was deleted more than 7 days ago."
        )
        disabled_reason = disabled_reason or why_no_permission((space,), "admin", "restore this space", "space") or ""
        days_text = f"{plural(round(time_left / DAY), 'day')} left" if time_left > DAY else "less than a day left"
        deleted_label = f"deleted {short_texts.long_age(space.deleted_at)}"
        choices.append(
            Choice(space.id, title_of(space), detail=deleted_label, right=days_text, disabled_reason=disabled_reason)
        )
    hint = "for spaces deleted outside Octavo or on another computer"
    choices.append(Choice("", "Restore by ID", detail=hint, disabled_reason=no_writes))
    titles = {space.id: title_of(space) for space in deleted if space is not None}

    def on_chosen(space_id: str) -> None:
        if space_id:
            restore(app, target, space_id, titles[space_id])
        else:
            _ask_id(app, target)

    app.ask(Picker("Trash", choices), on_chosen)


async def _find_deleted(live: Live, space_id: str) -> Space | None:
    try:
        return await live.send(spaces.Get(at=SpaceRef(space_id=space_id)))
    except (NotFound, Forbidden):
        return None


def _ask_id(app: Shell, target: SpaceTarget) -> None:
    draft = DialogDraft(app, "deleted space to restore")
    field = DialogField(
        "Space ID",
        draft.text,
        required_error="Enter the ID of a space.",
        save_draft=draft.autosave,
        save_draft_now=draft.autosave_now,
    )
    intro = "The ID is part of the link to the space. You can also paste the whole link."

    def on_decided(response: Confirmed) -> None:
        draft.delete()
        space_id = space_id_in(response.text)
        restore(app, target, space_id, f"space {space_id}")

    app.ask(ConfirmDialog("Restore a deleted space?", verb="Restore", intro=intro, field=field), on_decided)


def space_id_in(text: str) -> str:
    """Return the ID of the space in a link. For other text, return the part after its last slash, or the whole text."""
    match = re.search(r"/s/([^/?#]+)", text)
    return match[1] if match else text.strip().rstrip("/").rpartition("/")[2]


def restore(app: Shell, target: SpaceTarget, space_id: str, title: str) -> None:
    live, at = app.session.live, SpaceRef(space_id=space_id)
    undo = DirectUndo(
        f"delete {title} again",
        partial(send_unchecked, live, spaces.Delete(at=at), f"Could not undo the restoration of {title}"),
        f"Deleted {title} again.",
    )
    app.writes.send(
        f"restore {title}",
        send_unchecked(live, spaces.Restore(at=at), f"Could not restore {title}"),
        message=f"Restored {title}.",
        make_undo=lambda _: undo,
        on_success=lambda _: target.on_created(space_id),
    )
