"""The dialog that reverts a merge: it creates a change request that reverts the pages, open for review."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from octavo.api import change_requests
from octavo.api.change_requests import ChangeRequest
from octavo.api.errors import ApiError
from octavo.api.places import ChangeRequestRef, SpaceRef
from octavo.tui.review.checked_dialog import CheckedDialog, CheckedWrite, Shown
from octavo.tui.review.merge_effects import some
from octavo.tui.review.request_at_hand import RequestAtHand, may_not
from octavo.tui.shell.permissions import why_no_editing
from octavo.tui.shell.routes import ToChangeRequest
from octavo.tui.widgets import wording
from octavo.tui.widgets.text_widgets import Fact

if TYPE_CHECKING:
    from octavo.tui.review.merge_reversal import Plan
    from octavo.tui.shell.shell import Shell

_NO_BEFORE = "Octavo cannot revert this merge: the server did not return the revision before the merge."
_SHOWN = 8


def may_not_undo(app: Shell, request: RequestAtHand) -> str | None:
    """Return why the merge cannot be reverted, in a sentence. None if it can."""
    if request.about.status != "merged":
        return f"{request.name} is not merged. Only merged change requests can be reverted."
    if request.about.revision_merged is None:
        return _NO_BEFORE
    return why_no_editing(app) or may_not(app, request, "edit")


def ask_to_undo(app: Shell, request: RequestAtHand) -> None:
    """Show what would be reverted, and ask whether to create the change request."""
    app.push_screen(undo_dialog(app, request.at.space, request.about))


def undo_dialog(app: Shell, space: SpaceRef, change_request: ChangeRequest) -> CheckedDialog[Undoing]:
    """Return the dialog that shows what would be reverted, and what not, before anything is written."""
    return CheckedDialog(
        app,
        CheckedWrite(
            title=f"Revert the merge of #{change_request.number}?",
            verb="Revert",
            intro=f"{change_request.title}\n\nOctavo will create a change request that reverts the changed pages. "
            "Main will not change until you merge that change request.",
            label="reverts",
            not_yet="The checks are still running.",
            unknown="Could not load the changes, so you cannot revert them yet. Press r to retry.",
            ask=lambda: _look(app, space, change_request),
            shown=_shown,
            send=lambda seen: undo(app, space, seen.of),
            again="Review the list before you revert.",
        ),
    )


@dataclass(frozen=True)
class Undoing:
    """A merge and the plan of its revert. None: the server does not name the revision before the merge."""

    of: ChangeRequest
    planned: Plan | None


async def _look(app: Shell, space: SpaceRef, change_request: ChangeRequest) -> Undoing:
    """Return what a revert of the merge would change now. Raises ApiError."""
    from octavo.tui.review import merge_reversal

    live = app.session.live
    of = await live.fetch(change_requests.Get(at=change_request.ref(space)))
    three = await merge_reversal.sides(live, space, of, None)
    if three is None:
        return Undoing(of, None)
    return Undoing(of, merge_reversal.plan(three, await merge_reversal.changes_of(live, space, three)))


def _shown(seen: Undoing) -> Shown:
    if seen.planned is None:
        return Shown((), blocked=_NO_BEFORE)
    return Shown(facts(seen.planned), blocked="" if seen.planned else "There is nothing left to revert.")


def facts(planned: Plan) -> tuple[Fact, ...]:
    """Return the facts about what would be reverted, and what stays."""
    lines = planned.lines
    said = "   ".join(lines[:_SHOWN]) + (f"   and {len(lines) - _SHOWN} more" if len(lines) > _SHOWN else "")
    found = [Fact("ok", "reverts", said or "nothing")]
    if planned.met:
        titles = some([met.title for met in planned.met])
        found.append(
            Fact(
                "care", "edited later", f"{titles} · later edits will be kept, and conflicts will be marked in the text"
            )
        )
    found += [Fact("care", "not reverted", line) for line in planned.left[:_SHOWN]]
    if len(planned.left) > _SHOWN:
        found.append(Fact("care", "not reverted", f"and {len(planned.left) - _SHOWN} more"))
    return tuple(found)


async def undo(app: Shell, space: SpaceRef, of: ChangeRequest) -> None:
    """Create the change request, revert the pages in it, open it for review, and show it.

    A revert that was interrupted continues in its draft, which is found by its subject.
    """
    number = app.notices.say(f"Reverting #{of.number}…", seconds=90)
    try:
        sentence, at = await _undone(app, space, of)
    except ApiError as error:
        app.say(f"Could not revert #{of.number}: {error} Press Z to retry.", tone="failed")
        return
    finally:
        app.notices.close(number)
    if at is None:
        app.say(sentence, tone="failed")
        return
    app.writes.forbid_undo(
        "You cannot undo a revert by pressing u. To discard the revert, press L to archive the new change request."
    )
    app.say(sentence)
    change_request = await app.session.live.fetch(change_requests.Get(at=at))
    app.go(ToChangeRequest(change_request.ref(space), change_request))


async def _undone(app: Shell, space: SpaceRef, of: ChangeRequest) -> tuple[str, ChangeRequestRef | None]:
    """What is said of it, and which change request it is if it was made. Raises ApiError."""
    from octavo.data.writes.content_writes import CHANGES_OF_ONE_EDIT, restore_pages
    from octavo.tui.review import merge_reversal

    live = app.session.live
    draft, sentence = await _draft(app, space, f"Revert #{of.number} {of.subject}".strip()[:100])
    if draft is None:
        return sentence, None
    three = await merge_reversal.sides(live, space, of, draft.revision)
    if three is None:
        return _NO_BEFORE, None
    planned = merge_reversal.plan(three, await merge_reversal.changes_of(live, space, three))
    made = await merge_reversal.reversal_edits(live, space, three, planned, f"#{draft.number}")
    at, head = draft.ref(space), draft.revision
    for start in range(0, len(made.edits), CHANGES_OF_ONE_EDIT):
        outcome = await restore_pages(live, at, head, made.edits[start : start + CHANGES_OF_ONE_EDIT])
        if outcome.kind != "done":
            return (
                f"Could not revert #{of.number}: {outcome.cause} Press Z to continue the revert in draft #{draft.number}.",
                None,
            )
        head = outcome.revision
    await live.write(change_requests.Update(at=at, status="open"))
    if made.contested:
        pages = wording.plural(len(made.contested), "page")
        return f"Created #{draft.number} to revert #{of.number}. Conflicts on {pages} are marked in the text.", at
    return f"Created #{draft.number} to revert #{of.number}. #{draft.number} is open for review.", at


async def _draft(app: Shell, space: SpaceRef, subject: str) -> tuple[ChangeRequest | None, str]:
    """A draft of mine with this subject, made if there is none. Raises ApiError."""
    from octavo.data.writes.change_request_writes import create

    live, me = app.session.live, app.workspace.me
    mine = {"creator": me.id} if me is not None else {}
    drafts = await live.fetch(change_requests.List(at=space, status="draft", limit=100, **mine))
    found = next((each for each in drafts.items if each.subject == subject), None)
    if found is not None:
        return await live.fetch(change_requests.Get(at=found.ref(space))), ""
    sent = await create(live, space, subject)
    return (sent.result, "") if sent.kind == "done" else (None, sent.message)
