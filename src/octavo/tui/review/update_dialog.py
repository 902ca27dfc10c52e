"""The dialog before an update from main: the incoming changes, the conflicts and the result."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from octavo.api import change_requests, content, spaces
from octavo.api.change_requests import ChangeRequest
from octavo.api.errors import Forbidden, NotFound
from octavo.api.places import ChangeRequestRef, RevisionRef
from octavo.data.writes.change_request_kinds import MergeBasis, changes_since
from octavo.data.writes.change_request_writes import update
from octavo.tui.review import merge_checks
from octavo.tui.review.changed_pages import entry_keys
from octavo.tui.review.checked_dialog import CheckedDialog, CheckedWrite, Shown
from octavo.tui.review.readiness import offer_to_archive
from octavo.tui.widgets.text_widgets import Fact

if TYPE_CHECKING:
    from octavo.data.live import Live
    from octavo.tui.shell.shell import Shell


@dataclass(frozen=True)
class UpdatePreview:
    """What an update would do."""

    basis: MergeBasis
    """The change request, and the revision of main that would come in."""
    comes: tuple[content.Change, ...]
    foreseen: merge_checks.Forecast

    @property
    def change_request(self) -> ChangeRequest:
        return self.basis.change_request

    @property
    def facts(self) -> tuple[Fact, ...]:
        """What is shown of it."""
        facts = [
            merge_checks.currency(self.change_request),
            merge_checks.conflict_fact(self.change_request, self.foreseen),
            *merge_checks.words_facts(self.foreseen),
            *merge_checks.names_fact(self.change_request, self.foreseen.namesakes),
        ]
        if self.comes:
            facts.insert(1, Fact("note", "incoming", merge_checks.goes_out(self.comes)))
        return tuple(facts)


async def preview_update(live: Live, at: ChangeRequestRef) -> UpdatePreview:
    """What an update of a change request would bring. Raises ApiError when the facts cannot be had."""
    change_request, space = await asyncio.gather(
        live.fetch(change_requests.Get(at=at)), live.fetch(spaces.Get(at=at.space))
    )
    # The changes are read after the change request: changes of an older revision would hide a conflict.
    changed = await live.fetch(content.ListChanges(at=at, limit=1000))
    foreseen, comes = await asyncio.gather(
        merge_checks.forecast(live, at, change_request, changed, main=space.revision),
        _comes(live, at, change_request, space.revision),
    )
    return UpdatePreview(MergeBasis(change_request, space.revision), comes, foreseen)


async def _comes(
    live: Live, at: ChangeRequestRef, change_request: ChangeRequest, main: str | None
) -> tuple[content.Change, ...]:
    """Return the changes of main since the change request was started or last updated."""
    from octavo.documents.revision_changes import changes_between

    if not change_request.outdated or change_request.base is None or main is None:
        return ()
    sides = [RevisionRef(space_id=at.space_id, revision_id=each) for each in (change_request.base, main)]
    try:
        before, after = await asyncio.gather(*(live.cached_or_fetch(content.Get(at=each)) for each in sides))
    except (NotFound, Forbidden):
        return ()
    return await asyncio.to_thread(changes_between, before, after)


Resolve = Callable[[], bool]
"""Shows the conflicts. Returns False if you went elsewhere meanwhile: then nothing is shown."""


def update_dialog(
    app: Shell, at: ChangeRequestRef, change_request: ChangeRequest, then: Resolve
) -> CheckedDialog[UpdatePreview]:
    """The dialog that shows what would come in and what may conflict, and updates."""

    def reopen() -> None:
        app.push_screen(update_dialog(app, at, change_request, then))

    return CheckedDialog(
        app,
        CheckedWrite(
            title=f"Update #{change_request.number} from main?",
            verb="Update",
            intro=change_request.title,
            label="checks",
            not_yet="The checks are still running.",
            unknown="Could not load the checks, so you cannot update yet. Press r to retry.",
            ask=lambda: preview_update(app.session.live, at),
            shown=lambda seen: _shown(app, at, seen, reopen),
            send=lambda seen: send(app, at, seen, then),
            again="Review the checks again before you update.",
            what_changed=lambda before, after: changes_since(
                app.session.live.cached_or_fetch, at, before.basis.basis, after.basis
            ),
        ),
    )


def _shown(app: Shell, at: ChangeRequestRef, seen: UpdatePreview, reopen: Callable[[], None]) -> Shown:
    after, archive = "", None
    if seen.foreseen.is_on_main:
        archive = offer_to_archive(app, at, seen.change_request)
        after = (
            merge_checks.ALREADY_ON_MAIN
            if archive is None
            else f"{merge_checks.ALREADY_ON_MAIN} {merge_checks.PRESS_L}"
        )
    elif seen.foreseen.will_have_markers or not seen.foreseen.is_known:
        after = (
            "If there are conflicts, the text will contain both versions, marked with conflict markers. "
            "You can resolve the conflicts after the update."
        )
    elif seen.foreseen.conflicts:
        after = "You can resolve the conflicts after the update."
    blocked = "" if seen.change_request.outdated else "This change request is up to date with main."
    return Shown(
        seen.facts,
        after=after,
        blocked=blocked,
        show_diff=partial(_show_diff, app, at, seen, reopen) if seen.comes else None,
        archive=archive,
    )


def _show_diff(app: Shell, at: ChangeRequestRef, seen: UpdatePreview, reopen: Callable[[], None]) -> None:
    from octavo.tui.review.diff_cache import Sides
    from octavo.tui.review.incoming_changes import IncomingChanges  # lazy: the diff, shown on request

    base, main = seen.change_request.base, seen.basis.main
    if base is None or main is None:
        return
    old, new = (RevisionRef(space_id=at.space_id, revision_id=each) for each in (base, main))
    conflicting = {key for each in seen.foreseen.conflicts for key in entry_keys(each.kind, each.id)}
    app.push_screen(IncomingChanges(seen.change_request, seen.comes, Sides(old, new), conflicting, reopen))


async def send(app: Shell, at: ChangeRequestRef, seen: UpdatePreview, then: Resolve) -> str:
    """Update what was seen, once, and say what became of it. With conflicts, `then` is called.

    Return what changed since, if nothing was sent because of that.
    """
    change_request = seen.change_request
    # Kept before the update: afterwards the base of the change request is the revision of main.
    met = {"base": change_request.base, "main": seen.basis.main, "mine": change_request.revision}
    app.session.state.set_fact(f"update {change_request.id}", met)
    number = app.notices.say(f"Updating #{change_request.number}…", seconds=90)
    sent = await update(app.session.live, at, seen.basis)
    app.notices.close(number)
    if sent.kind == "changed":
        return sent.message
    name = f"#{change_request.number}"
    if sent.kind != "done" or sent.result is None:
        app.say(sent.message, tone="failed")
        return ""
    app.writes.forbid_undo(f"You cannot undo the update of {name} by pressing u.")
    result = sent.result.result
    if result == "conflicts" or (not result and seen.foreseen.conflicts):
        made = sent.result.revision if result else None
        app.session.state.set_fact(f"update {change_request.id}", {**met, "conflicts": made})
        if not then():
            app.say(
                f"Updated {name} with conflicts. Press R on this change request to resolve the conflicts.", tone="care"
            )
    elif result and (count := len(seen.foreseen.suggestions)):
        paragraphs = "1 paragraph was" if count == 1 else f"{count} paragraphs were"
        app.say(f"Updated {name}. {paragraphs} merged word by word. Press R to check the text.", tone="care")
    elif result and seen.foreseen.is_on_main:
        app.say(f"Updated {name}. {merge_checks.ALREADY_ON_MAIN} {merge_checks.PRESS_L}")
    elif result:
        app.say(sent.message or f"Updated {name}.")
    else:
        # The response was lost, which says whether there were conflicts.
        app.say(
            f"Updated {name}. The server's response was lost, so Octavo does not know whether the update caused conflicts. "
            "Press R on this change request to check.",
            tone="care",
        )
    return ""
