"""The merge dialog: it shows live checks and the changes, merges, and says the result."""

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
from octavo.tui.review.checked_dialog import CheckedDialog, CheckedWrite, Shown
from octavo.tui.review.merge_checks import PRESS_L, Checks, check, goes_out
from octavo.tui.review.readiness import offer_to_archive
from octavo.tui.widgets import wording
from octavo.tui.widgets.notices import Tone

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell


def merge_dialog(app: Shell, at: ChangeRequestRef, change_request: ChangeRequest) -> CheckedDialog[Checks]:
    """The dialog that shows live checks and what goes live, names conflicts, and merges."""
    space = app.workspace.space(at.space_id)
    return CheckedDialog(
        app,
        CheckedWrite(
            title=f"Merge #{change_request.number} into {space.title if space else 'this space'}?",
            verb="Merge",
            intro=change_request.title,
            label="checks",
            not_yet="The checks are still running.",
            unknown="Could not load the checks, so you cannot merge yet. Press r to retry.",
            ask=lambda: check(app.session.live, at),
            shown=lambda checks: _shown(app, at, checks),
            send=lambda checks: send(app, at, checks.basis),
            again="Review the checks again before you merge.",
            what_changed=lambda before, after: changes_since(
                app.session.live.cached_or_fetch, at, before.basis.basis, after.basis
            ),
            goes_live=True,
        ),
    )


def _shown(app: Shell, at: ChangeRequestRef, checks: Checks) -> Shown:
    if checks.why_idle:
        archive = offer_to_archive(app, at, checks.change_request)
        why = f"{checks.why_idle} {PRESS_L}" if checks.can_merge and archive is not None else blocked(checks)
        return Shown(facts=checks.facts, intro=checks.change_request.title, blocked=why, archive=archive)
    after = [f"Pages   {goes_out(checks.changes)}"]
    if pages := pages_to_revert(checks.changes):
        after.append(f"To revert   press Z after the merge to create a change request that reverts {pages}")
    why = why_typed(checks)
    if checks.conflicts and checks.will_have_markers:
        why = f"Readers may see conflict markers on {merge_effects.some(checks.will_have_markers)}"
    if checks.change_request.outdated and checks.space.permissions.edit:
        if why:
            why = f"{why}. To update from main first, press esc, then U"  # beside the warning: the rest may be out of sight
        else:
            after.append("Main has changed   press esc, then U to update from main first")
    typed = str(checks.change_request.number) if why else ""
    return Shown(
        facts=tuple(checks.facts),
        intro=f"{checks.change_request.title}\n\n{checks.live}",
        after="\n".join(after),
        blocked=blocked(checks),
        typed=typed,
        why_typed=f"{why}. To merge anyway, type the number of the change request ({typed}) and press enter."
        if why
        else "",
    )


def blocked(checks: Checks) -> str:
    """Return why it cannot be merged, in a sentence. Empty if it can."""
    if not checks.can_merge:
        against = (fact.text for fact in checks.facts if fact.mark == "bad" and fact.label in ("status", "permission"))
        why = str(next(against, "the server does not allow this merge"))
        return f"{why[:1].upper()}{why[1:]}."
    return checks.why_idle


def pages_to_revert(changes: Sequence[Change]) -> str:
    """Return the pages that a revert of `changes` restores, such as `these 2 pages`. Empty if no page changes."""
    pages = len({each.page.id for each in changes if each.page is not None})
    return "this page" if pages == 1 else f"these {pages} pages" if pages else ""


def why_typed(checks: Checks) -> str:
    """Return why the number has to be typed to merge it. Empty if `y` is enough."""
    if checks.conflicts:
        return "Pages may conflict"
    if checks.marked:
        return "Readers would see conflict markers"
    if checks.deleted:
        return f"This change request deletes {wording.plural(len(checks.deleted), 'page')}"
    return ""


async def send(app: Shell, at: ChangeRequestRef, checked: MergeBasis) -> str:
    """Merge what was checked, once, and say what became of it. Return what changed since, if nothing was sent."""
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
    app.say(became(sent, f"#{change_request.number}"), tone=_tone(sent))
    return ""


def became(sent: SendResult[MergeResult], name: str) -> str:
    """Return the result of the merge of `name` in sentences."""
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
