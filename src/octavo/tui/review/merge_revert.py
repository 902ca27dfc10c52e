"""Dialog that reverts a merge. The pages are reverted in a new change request, which is opened for review."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from octavo.api import change_requests
from octavo.api.change_requests import ChangeRequest
from octavo.api.errors import ApiError
from octavo.api.places import ChangeRequestRef, SpaceRef
from octavo.data.writes.change_request_writes import create
from octavo.data.writes.content_writes import CHANGES_OF_ONE_EDIT, restore_pages
from octavo.tui.core.permissions import why_no_editing
from octavo.tui.core.routes import ToChangeRequest
from octavo.tui.review.checked_dialog import CheckedDialog, CheckedWrite, DialogContent
from octavo.tui.review.merge_effects import name_first
from octavo.tui.review.request_target import RequestTarget, why_not_allowed
from octavo.tui.widgets import wording
from octavo.tui.widgets.text_widgets import Fact

if TYPE_CHECKING:
    from octavo.tui.core.shell import Shell
    from octavo.tui.review.merge_revert_plan import RevertPlan

_NO_BEFORE = "Octavo cannot revert this merge: the server did not return the revision before the merge."
MAX_LINES = 8


def why_no_revert(app: Shell, target: RequestTarget) -> str | None:
    """Return why the merge cannot be reverted, in a sentence. None if it can."""
    if target.change_request.status != "merged":
        return f"{target.name} is not merged. Only merged change requests can be reverted."
    if target.change_request.revision_merged is None:
        return _NO_BEFORE
    return why_no_editing(app) or why_not_allowed(app, target, "edit")


def open_revert_dialog(app: Shell, target: RequestTarget) -> None:
    """Open the dialog that shows the pages to revert, then creates the change request."""
    change_request, space = target.change_request, target.at.space
    write = CheckedWrite(
        title=f"Revert the merge of #{change_request.number}?",
        verb="Revert",
        intro=f"{change_request.title}\n\nOctavo will create a change request that reverts the changed pages. "
        "Main will not change until you merge that change request.",
        label="reverts",
        blocked_while_loading="The checks are still running.",
        blocked_on_error="Could not load the changes, so you cannot revert them yet. Press r to retry.",
        load=lambda: _load_checks(app, space, change_request),
        content=_dialog_content,
        send=lambda checks: revert_merge(app, space, checks.merged),
        next_step="Review the list before you revert.",
    )
    app.push_screen(CheckedDialog(app, write))


@dataclass(frozen=True)
class RevertChecks:
    """Merge and the plan of its revert. The plan is None if the server does not name the revision before the merge."""

    merged: ChangeRequest
    planned: RevertPlan | None


async def _load_checks(app: Shell, space: SpaceRef, change_request: ChangeRequest) -> RevertChecks:
    """Load the plan of the revert. Raises ApiError."""
    from octavo.tui.review import merge_revert_plan  # lazy: the merge engine, rarely needed

    live = app.session.live
    merged = await live.fetch(change_requests.Get(at=change_request.ref(space)))
    sides = await merge_revert_plan.load_sides(live, space, merged, None)
    if sides is None:
        return RevertChecks(merged, None)
    changes = await merge_revert_plan.load_changes(live, space, sides)
    return RevertChecks(merged, merge_revert_plan.make_plan(sides, changes))


def _dialog_content(checks: RevertChecks) -> DialogContent:
    if checks.planned is None:
        return DialogContent((), blocked=_NO_BEFORE)
    return DialogContent(facts(checks.planned), blocked="" if checks.planned else "There is nothing left to revert.")


def facts(planned: RevertPlan) -> tuple[Fact, ...]:
    """Return the rows of the dialog: the pages to revert, and the changes that cannot be reverted."""
    lines = planned.lines
    pages = "   ".join(lines[:MAX_LINES]) + (f"   and {len(lines) - MAX_LINES} more" if len(lines) > MAX_LINES else "")
    found = [Fact("ok", "reverts", pages or "nothing")]
    if planned.later_edited:
        titles = name_first([page.title for page in planned.later_edited])
        text = f"{titles} · later edits will be kept, and conflicts will be marked in the text"
        found.append(Fact("care", "edited later", text))
    found += [Fact("care", "not reverted", line) for line in planned.not_reverted[:MAX_LINES]]
    if len(planned.not_reverted) > MAX_LINES:
        found.append(Fact("care", "not reverted", f"and {len(planned.not_reverted) - MAX_LINES} more"))
    return tuple(found)


async def revert_merge(app: Shell, space: SpaceRef, merged: ChangeRequest) -> None:
    """Create the change request, revert the pages in it, open it for review, and show it. An interrupted revert
    continues in its draft, which Octavo finds by its title."""
    number = app.notices.say(f"Reverting #{merged.number}…", seconds=90)
    try:
        sentence, at = await _write_revert(app, space, merged)
    except ApiError as error:
        app.say(f"Could not revert #{merged.number}: {error} Press Z to retry.", tone="failed")
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


async def _write_revert(app: Shell, space: SpaceRef, merged: ChangeRequest) -> tuple[str, ChangeRequestRef | None]:
    """Return a message, and the new change request if the revert is complete. Raises ApiError."""
    from octavo.tui.review import merge_revert_plan  # lazy: the merge engine, rarely needed

    live = app.session.live
    draft, sentence = await _find_or_create_draft(app, space, f"Revert #{merged.number} {merged.subject}".strip()[:100])
    if draft is None:
        return sentence, None
    sides = await merge_revert_plan.load_sides(live, space, merged, draft.revision)
    if sides is None:
        return _NO_BEFORE, None
    planned = merge_revert_plan.make_plan(sides, await merge_revert_plan.load_changes(live, space, sides))
    reversal = await merge_revert_plan.revert_edits(live, space, sides, planned, f"#{draft.number}")
    at, head = draft.ref(space), draft.revision
    for start in range(0, len(reversal.edits), CHANGES_OF_ONE_EDIT):
        outcome = await restore_pages(live, at, head, reversal.edits[start : start + CHANGES_OF_ONE_EDIT])
        if outcome.kind != "done":
            return (
                f"Could not revert #{merged.number}: {outcome.cause} Press Z to continue the revert in draft #{draft.number}.",
                None,
            )
        head = outcome.revision
    await live.write(change_requests.Update(at=at, status="open"))
    if reversal.with_conflicts:
        pages = wording.plural(len(reversal.with_conflicts), "page")
        return f"Created #{draft.number} to revert #{merged.number}. Conflicts on {pages} are marked in the text.", at
    return f"Created #{draft.number} to revert #{merged.number}. #{draft.number} is open for review.", at


async def _find_or_create_draft(app: Shell, space: SpaceRef, subject: str) -> tuple[ChangeRequest | None, str]:
    """Return the user's draft change request with this subject, or create one. Return a message on failure. Raises
    ApiError."""

    live, me = app.session.live, app.workspace.me
    mine = {"creator": me.id} if me is not None else {}
    drafts = await live.fetch(change_requests.List(at=space, status="draft", limit=100, **mine))
    found = next((each for each in drafts.items if each.subject == subject), None)
    if found is not None:
        return await live.fetch(change_requests.Get(at=found.ref(space))), ""
    sent = await create(live, space, subject)
    return (sent.result, "") if sent.kind == "done" else (None, sent.message)
