"""The merge dialog, which shows the merge checks and the changes, then merges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from octavo.api.change_requests import ChangeRequest, MergeResult
from octavo.api.content import Change
from octavo.api.places import ChangeRequestRef
from octavo.data.writes.change_request_kinds import MergeBasis, changes_since
from octavo.data.writes.change_request_writes import merge
from octavo.data.writes.direct import SendResult
from octavo.tui.review import merge_effects
from octavo.tui.review.checked_dialog import CheckedDialog, CheckedWrite, DialogContent
from octavo.tui.review.merge_checks import ARCHIVE_HINT, Checks, change_line, run_checks
from octavo.tui.review.status_changes import offer_to_archive
from octavo.tui.widgets import wording
from octavo.tui.widgets.notices import Tone

if TYPE_CHECKING:
    from octavo.tui.core.shell import Shell


def merge_dialog(app: Shell, at: ChangeRequestRef, change_request: ChangeRequest) -> CheckedDialog[Checks]:
    """Return the merge dialog of a change request."""
    space = app.workspace.space(at.space_id)
    return CheckedDialog(
        app,
        CheckedWrite(
            title=f"Merge #{change_request.number} into {space.title if space else 'this space'}?",
            verb="Merge",
            intro=change_request.title,
            label="checks",
            blocked_while_loading="The checks are still running.",
            blocked_on_error="Could not load the checks, so you cannot merge yet. Press r to retry.",
            load=lambda: run_checks(app.session.live, at),
            content=lambda checks: _dialog_content(app, at, checks),
            send=lambda checks: send_merge(app, at, checks.basis),
            next_step="Review the checks again before you merge.",
            describe_changes=lambda before, after: changes_since(
                app.session.live.cached_or_fetch, at, before.basis.basis, after.basis
            ),
            goes_live=True,
        ),
    )


def _dialog_content(app: Shell, at: ChangeRequestRef, checks: Checks) -> DialogContent:
    if checks.why_no_effect:
        archive = offer_to_archive(app, at, checks.change_request)
        reason = why_blocked(checks)
        if checks.can_merge and archive is not None:
            reason = f"{checks.why_no_effect} {ARCHIVE_HINT}"
        return DialogContent(facts=checks.facts, intro=checks.change_request.title, blocked=reason, archive=archive)
    after = [f"Pages   {change_line(checks.changes)}"]
    if pages := pages_to_revert(checks.changes):
        after.append(f"To revert   press Z after the merge to create a change request that reverts {pages}")
    warning = why_typed(checks)
    if checks.conflicts and checks.will_have_markers:
        warning = f"Readers may see conflict markers on {merge_effects.name_first(checks.will_have_markers)}"
    if checks.change_request.outdated and checks.space.permissions.edit:
        if warning:
            # The hint is in the line of the warning, because further lines may be scrolled out of view.
            warning = f"{warning}. To update from main first, press esc, then U"
        else:
            after.append("Main has changed   press esc, then U to update from main first")
    typed = str(checks.change_request.number) if warning else ""
    return DialogContent(
        facts=tuple(checks.facts),
        intro=f"{checks.change_request.title}\n\n{checks.live}",
        after="\n".join(after),
        blocked=why_blocked(checks),
        typed=typed,
        why_typed=f"{warning}. To merge anyway, type the number of the change request ({typed}) and press enter."
        if warning
        else "",
    )


def why_blocked(checks: Checks) -> str:
    """Return why the change request cannot be merged, in a sentence. Empty if it can."""
    if not checks.can_merge:
        reasons = (fact.text for fact in checks.facts if fact.mark == "bad" and fact.label in ("status", "permission"))
        reason = str(next(reasons, "the server does not allow this merge"))
        return f"{reason[:1].upper()}{reason[1:]}."
    return checks.why_no_effect


def pages_to_revert(changes: Sequence[Change]) -> str:
    """Return the pages that a revert of `changes` restores, such as `these 2 pages`. Empty if no page changes."""
    pages = len({each.page.id for each in changes if each.page is not None})
    return "this page" if pages == 1 else f"these {pages} pages" if pages else ""


def why_typed(checks: Checks) -> str:
    """Return why you have to type the number of the change request to merge it. Empty if `y` is enough."""
    if checks.conflicts:
        return "Pages may conflict"
    if checks.with_markers:
        return "Readers would see conflict markers"
    if checks.deleted:
        return f"This change request deletes {wording.plural(len(checks.deleted), 'page')}"
    return ""


async def send_merge(app: Shell, at: ChangeRequestRef, checked: MergeBasis) -> str:
    """Merge the checked revision once and show the result. If something changed since the checks, send nothing and
    return the changes in sentences. Otherwise return an empty string."""
    change_request = checked.change_request
    number = app.notices.say(f"Merging #{change_request.number}…", seconds=90)
    sent = await merge(app.session.live, at, checked)
    app.notices.close(number)
    if sent.kind == "changed":
        return sent.message
    if sent.kind in ("done", "unknown"):
        app.writes.forbid_undo(
            f"You cannot undo the merge of #{change_request.number} by pressing u. "
            f"To revert the merge, open #{change_request.number} and press Z."
        )
    app.say(result_message(sent, f"#{change_request.number}"), tone=_tone(sent))
    return ""


def result_message(sent: SendResult[MergeResult], name: str) -> str:
    """Return a message with the result of the merge of the change request `name`."""
    if sent.kind != "done" or sent.message:
        return sent.message
    if sent.result is not None and sent.result.result == "conflicts":
        return (
            f"Merged {name} with conflicts. Readers now see both versions of each conflict."
            " Press R on this change request to resolve the conflicts."
        )
    if sent.result is not None and not sent.result.result:
        return (
            f"Merged {name}. The server's response was lost, so Octavo does not know whether the merge caused conflicts. "
            f"Select {name}, then press R to check."
        )
    return f"Merged {name}."


def _tone(sent: SendResult[MergeResult]) -> Tone:
    if sent.kind != "done":
        return "failed"
    return "care" if sent.result is not None and sent.result.result == "conflicts" else "done"
