"""Deleting spaces and collections, and restoring deleted spaces from the trash."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from octavo.api import content, site_structure, sites, spaces
from octavo.api.errors import ApiError
from octavo.api.places import OrganizationRef, SiteRef, SpaceRef
from octavo.api.spaces import Space
from octavo.data.live import Live
from octavo.data.writes.direct import send_plain
from octavo.tui.content.space_places import Held, kind_of, title_of
from octavo.tui.resources import resource_writes
from octavo.tui.resources.organization_resources import COLLECTIONS
from octavo.tui.resources.resource import Resource
from octavo.tui.resources.resource_commands import text_to_type
from octavo.tui.resources.space_resources import MANAGED_SPACES
from octavo.tui.shell.dialog_draft import DialogDraft
from octavo.tui.shell.permissions import why_no_permission
from octavo.tui.shell.write_queue import DirectUndo, show_progress
from octavo.tui.widgets import wording
from octavo.tui.widgets.chooser import Choice
from octavo.tui.widgets.confirm import ConfirmDialog, Confirmed, Field
from octavo.tui.widgets.picker import Picker
from octavo.tui.widgets.text_widgets import Fact
from octavo.tui.widgets.wording import plural

if TYPE_CHECKING:
    from octavo.tui.content.managed_spaces import ManagedSpaces
    from octavo.tui.shell.shell import Shell

DAY = timedelta(days=1)
KEPT = timedelta(days=7)
"""How long the server keeps what was deleted (specification 6)."""
MOST_KNOWN = 50
"""Deleted spaces that are remembered."""
MOST_SITES = 30
"""Sites that are asked whether a space is on them."""


def delete(app: Shell, managed: ManagedSpaces) -> None:
    """Delete the selected space or collection after a confirmation that lists what is deleted with it."""
    if (thing := managed.thing) is None:
        return
    resource: Resource[Any] = MANAGED_SPACES if isinstance(thing, Space) else COLLECTIONS
    at = OrganizationRef(organization_id=managed.organization.id)
    known, live, name = {"at": at}, app.session.live, title_of(thing)
    back = resource_writes.undo_of_deletion(live, resource, known, (thing,))
    typed = text_to_type("delete", resource, (thing,))

    def decided(answer: Confirmed | None) -> None:
        if answer is None:
            return
        app.writes.send(
            f"delete {name}",
            resource_writes.delete_items(live, resource, known, (thing,)),
            message=f"Deleted {name}.",
            make_undo=None if back is None else lambda _: back,
            on_success=lambda _: _gone(app, managed, thing),
        )

    days = plural(KEPT.days, "day")
    told = (
        f"You can restore the {kind_of(thing)} within {days}. To restore it right after you delete it, press u. "
        "To restore it later, press a and choose Trash."
        if back is not None
        else "You cannot undo this."
    )
    begin = _known_facts(managed, thing)
    dialog = ConfirmDialog(
        f"Delete the {kind_of(thing)} {name}?",
        verb="Delete",
        intro=told,
        facts=[*begin, Fact("asking", "", "Checking pages and sites…")] if isinstance(thing, Space) else begin,
        word=typed,
        word_reason=f"Type {typed} to confirm.",
    )
    app.push_screen(dialog, decided)
    if isinstance(thing, Space):
        app.background(_look(live, at, thing, begin, dialog))


def _known_facts(managed: ManagedSpaces, thing: Held) -> list[Fact]:
    if isinstance(thing, Space):
        return [Fact("care", "", said) for said in MANAGED_SPACES.delete_effects(thing)]
    inside = sum(each.parent == thing.id for each in managed.spaces)
    folders = sum(each.parent == thing.id for each in managed.collections)
    held = " and ".join(
        said for number, said in ((inside, plural(inside, "space")), (folders, plural(folders, "collection"))) if number
    )
    where = next(
        (f"to {title_of(each)}" for each in managed.collections if each.id == thing.parent), "to the top level"
    )
    facts = [Fact("care", "", f"{held} in this collection will be moved {where}.")] if held else []
    return [*facts, Fact("care", "", "Members and teams will lose the access that they have through this collection.")]


async def _look(live: Live, at: OrganizationRef, space: Space, known: Sequence[Fact], dialog: ConfirmDialog) -> None:
    pages, on_sites = await asyncio.gather(_pages(live, space.ref), _sites(live, at, space))
    dialog.update(facts=[pages, *known, *on_sites])


async def _pages(live: Live, space: SpaceRef) -> Fact:
    try:
        tree = await live.fetch(content.ListPages(at=space))
    except ApiError as error:
        return Fact("bad", "", f"Could not count the pages in the space: {error}")
    number = sum(1 for _ in tree.walk())
    return Fact("care", "", f"{plural(number, 'page')} will be deleted with the space.")


async def _sites(live: Live, at: OrganizationRef, space: Space) -> list[Fact]:
    try:
        listed = (await live.fetch(sites.List(at=at, limit=1000))).items
        asked = listed[:MOST_SITES]
        ops = [
            site_structure.ListSiteSpaces(at=SiteRef(organization_id=at.organization_id, site_id=each.id), limit=1000)
            for each in asked
        ]
        answers = await asyncio.gather(*map(live.fetch, ops))
    except ApiError as error:
        return [Fact("bad", "", f"Could not check which sites use the space: {error}")]
    on = [
        Fact(
            "care",
            "",
            f"The {'published ' if site.published else ''}site {site.title or site.id} uses this space. The pages of this space will be removed from the site.",
        )
        for site, answer in zip(asked, answers, strict=True)
        if any(each.space is not None and each.space.id == space.id for each in answer.items)
    ]
    if len(listed) > len(asked):
        on.append(
            Fact("note", "", f"{plural(len(listed) - len(asked), 'more site was', 'more sites were')} not checked.")
        )
    return on or [Fact("ok", "", "No site uses this space.")]


def _gone(app: Shell, managed: ManagedSpaces, thing: Held) -> None:
    if isinstance(thing, Space):
        remember(app, managed.organization.id, thing)
    managed.left(thing.id)


# The trash. The API has no list of deleted spaces: Octavo remembers those deleted on this machine.


def remember(app: Shell, organization: str, space: Space) -> None:
    """Remember a space that was deleted on this machine."""
    others = [each for each in _remembered(app) if each["id"] != space.id]
    mine = {"id": space.id, "title": space.title, "organization": organization, "at": wording.clock().isoformat()}
    app.session.state.set_fact("deleted spaces", [mine, *others][:MOST_KNOWN])


def _remembered(app: Shell) -> list[dict[str, str]]:
    found = app.session.state.get_fact("deleted spaces")
    return [
        each for each in (found if isinstance(found, list) else ())
        if isinstance(each, dict) and all(isinstance(each.get(name), str) for name in ("id", "title", "organization", "at"))
    ]  # fmt: skip


def show_deleted(app: Shell, managed: ManagedSpaces) -> None:
    """Show the trash: deleted spaces with the days left to restore each."""
    app.background(_show_deleted(app, managed))


async def _show_deleted(app: Shell, managed: ManagedSpaces) -> None:
    live, no_writes = app.session.live, app.session.read_only
    names = [each["id"] for each in _remembered(app) if each["organization"] == managed.organization.id]
    with show_progress(app, "Loading the trash…"):
        found = await asyncio.gather(*(_as_it_is(live, name) for name in names))
    choices: list[Choice[str]] = []
    for space in found:
        if space is None or space.deleted_at is None:
            continue
        left = space.deleted_at + KEPT - wording.clock()
        off = no_writes or (
            "" if left > timedelta() else "You can no longer restore this space: it was deleted more than 7 days ago."
        )
        off = off or why_no_permission((space,), "admin", "restore this space", "space") or ""
        days = f"{plural(round(left / DAY), 'day')} left" if left > DAY else "less than a day left"
        ago = f"deleted {wording.long_age(space.deleted_at)}"
        choices.append(Choice(space.id, title_of(space), detail=ago, right=days, disabled_reason=off))
    about = "for spaces deleted outside Octavo or on another computer"
    choices.append(Choice("", "Restore by ID", detail=about, disabled_reason=no_writes))
    names_of = {space.id: title_of(space) for space in found if space is not None}

    def chosen(name: str | None) -> None:
        if name:
            restore(app, managed, name, names_of[name])
        elif name is not None:
            _ask_id(app, managed)

    app.push_screen(Picker("Trash", choices), chosen)


async def _as_it_is(live: Live, name: str) -> Space | None:
    """Return a deleted space. None if the server no longer knows it."""
    try:
        return await live.send(spaces.Get(at=SpaceRef(space_id=name)))
    except ApiError:
        return None


def _ask_id(app: Shell, managed: ManagedSpaces) -> None:
    draft = DialogDraft(app, "deleted space to restore")
    field = Field(
        "Space ID",
        draft.text,
        required_error="Enter the ID of a space.",
        save_draft=draft.autosave,
        save_draft_now=draft.autosave_now,
    )
    intro = "The ID is part of the link to the space. You can also paste the whole link."

    def decided(answer: Confirmed | None) -> None:
        if answer is not None:
            draft.delete()
            restore(app, managed, answer.text.rstrip("/").rpartition("/")[2], f"space {answer.text}")

    app.push_screen(ConfirmDialog("Restore a deleted space?", verb="Restore", intro=intro, field=field), decided)


def restore(app: Shell, managed: ManagedSpaces, name: str, title: str) -> None:
    """Restore a deleted space."""
    live, at = app.session.live, SpaceRef(space_id=name)
    undo = DirectUndo(
        f"delete {title} again",
        partial(send_plain, live, spaces.Delete(at=at), f"Could not undo the restoration of {title}"),
        f"Deleted {title} again.",
    )
    app.writes.send(
        f"restore {title}",
        send_plain(live, spaces.Restore(at=at), f"Could not restore {title}"),
        message=f"Restored {title}.",
        make_undo=lambda _: undo,
        on_success=lambda _: managed.came(name),
    )
