"""The dialogs that merge one change request, or several in order. Before each of several merges, the checks are loaded
again. Before a single merge, they are loaded again if they are older than `checked_dialog.MAX_AGE` seconds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from octavo.api.change_requests import ChangeRequest, MergeResult
from octavo.api.content import Change, Changes
from octavo.api.errors import ApiError
from octavo.api.operation import ChangeRequestRef
from octavo.data.live import Live
from octavo.data.writes.change_request_kinds import MergeState, describe_changes_since
from octavo.data.writes.change_request_writes import merge
from octavo.data.writes.direct import SendResult
from octavo.settings.programs import Linter
from octavo.tui.core.write_queue import show_progress
from octavo.tui.review import merge_effects
from octavo.tui.review.checked_dialog import CheckedDialog, CheckedWrite, DialogContent
from octavo.tui.review.merge_checks import (
    ARCHIVE_HINT,
    MERGED_TEXT_LABEL,
    Checks,
    change_line,
    predict_conflicts,
    run_checks,
    why_blocked,
    why_number_required,
)
from octavo.tui.review.merge_effects import list_first_names
from octavo.tui.review.status_changes import archive_opener
from octavo.tui.terminal.textual_internals import is_fully_mounted
from octavo.tui.widgets import short_texts
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.confirm import ConfirmDialog
from octavo.tui.widgets.notices import Tone
from octavo.tui.widgets.short_texts import InfoRow, Mark, as_clause

if TYPE_CHECKING:
    from octavo.tui.core.shell import Shell


def make_merge_dialog(app: Shell, at: ChangeRequestRef, change_request: ChangeRequest) -> CheckedDialog[Checks]:
    return CheckedDialog(
        app,
        CheckedWrite(
            title=f"Merge #{change_request.number} into {app.workspace.space_title(at.space_id) or 'this space'}?",
            verb="Merge",
            intro=change_request.title,
            checks_label="checks",
            blocked_while_loading="The checks are still loading.",
            blocked_on_error="Could not load the checks, so you cannot merge yet. Press r to retry.",
            load=lambda: run_checks(app.session.live, at, app.settings.linters),
            make_content=lambda checks: _dialog_content(app, at, checks),
            send=lambda checks: send_merge(app, at, checks.merge_state),
            next_step="Review the checks again before you merge.",
            describe_changes=lambda before, after: describe_changes_since(
                app.session.live.cached_or_fetch, at, before.merge_state.expected, after.merge_state
            ),
            rows=27 if change_request.outdated else 22,
            goes_live=True,
        ),
    )


def _dialog_content(app: Shell, at: ChangeRequestRef, checks: Checks) -> DialogContent:
    if checks.why_no_effect:
        archive = archive_opener(app, at, checks.change_request)
        reason = why_blocked(checks)
        if checks.can_merge and archive is not None:
            reason = f"{checks.why_no_effect} {ARCHIVE_HINT}"
        return DialogContent(
            info_rows=checks.info_rows, intro=checks.change_request.title, blocked=reason, archive=archive
        )
    info_rows = [*checks.info_rows, InfoRow("note", "pages", change_line(checks.changes))]
    if pages := reverted_pages_phrase(checks.changes):
        hint = f"press Z after the merge to create a change request that reverts {pages}"
        info_rows.append(InfoRow("note", "to revert", hint))
    if app.session.kind == "folder":
        info_rows.append(InfoRow("note", "your files", "unchanged until you run: octavo export FOLDER --write"))
    warning = why_number_required(checks)
    if checks.conflicts and checks.names_with_markers:
        warning = f"Readers may see conflict markers on {merge_effects.list_first_names(checks.names_with_markers)}"
    if checks.change_request.outdated and checks.space.permissions.edit:
        if warning:
            # The hint shares the line of the warning, because further lines may be out of view.
            warning = f"{warning}. To update from main first, press esc, then U"
        else:
            info_rows.append(InfoRow("note", "to update", "main has changed: press esc, then U to update first"))
    required_number = str(checks.change_request.number) if warning else ""
    return DialogContent(
        info_rows=tuple(info_rows),
        intro=f"{checks.change_request.title}\n\n{checks.publication_sentence}",
        blocked=why_blocked(checks),
        confirmation_text=required_number,
        confirmation_reason=f"{warning}. To merge anyway, type the number of the change request ({required_number}) and press enter."
        if warning
        else "",
    )


def reverted_pages_phrase(changes: Sequence[Change]) -> str:
    """Return a phrase for the changed pages: `this page`, or for example `these 2 pages`. Empty if no page changed."""
    page_count = len({each.page.id for each in changes if each.page is not None})
    return "this page" if page_count == 1 else f"these {page_count} pages" if page_count else ""


async def send_merge(app: Shell, at: ChangeRequestRef, checked: MergeState) -> str:
    """Merge the checked revision and show the result. If data changed since the checks, merge nothing and return a
    sentence about the changes. Otherwise, return an empty text, even if the merge has failed."""
    change_request = checked.change_request
    name = f"#{change_request.number}"
    with show_progress(app, f"Merging {name}…") as show:
        searching_text = f"The result of the merge is unknown. Checking whether {name} is merged…"
        sent = await merge(app.session.live, at, checked, partial(show, searching_text))
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


@dataclass(frozen=True)
class QueuedMerge:
    """Change request in the queue of a bulk merge."""

    at: ChangeRequestRef
    change_request: ChangeRequest
    space: str
    """Title of the space. Shown because a number is unique only within its space."""

    @property
    def name(self) -> str:
        return f"#{self.change_request.number} in {self.space}"

    def info_row(self, mark: Mark, text: str) -> InfoRow:
        """Return the row of this change request in the dialog. `text` is the status of its merge."""
        return InfoRow(mark, f"#{self.change_request.number}", f"{self.space} · {self.change_request.title} · {text}")


CheckedMerges: TypeAlias = "Sequence[tuple[QueuedMerge, Checks]]"


@dataclass(frozen=True)
class MergeReadiness:
    """Result of the merge checks of a change request in the queue of a bulk merge."""

    queued: QueuedMerge
    info_row: InfoRow
    reason: str = ""
    """Reason why the change request cannot be merged together with other change requests. Empty if it can."""
    checks: Checks | None = None
    """Results of the checks. None while they are loading, and if they could not be loaded."""


_MERGE_BY_ITSELF = "merge this change request by itself"


def why_not_in_bulk(checks: Checks) -> str:
    """Return the reason why a change request cannot be merged together with others. Empty if it can."""
    if reason := why_blocked(checks):
        return as_clause(reason)
    if reason := why_number_required(checks):
        names_text = f": {list_first_names(checks.conflicts)}" if checks.conflicts else ""
        return f"{as_clause(reason)}{names_text} ({_MERGE_BY_ITSELF})"
    if any(info_row.label == MERGED_TEXT_LABEL for info_row in checks.info_rows):
        return (
            "main and this change request changed the same paragraph, so the two versions would be merged word by word "
            f"({_MERGE_BY_ITSELF} and check the text)"
        )
    bad_rows = [info_row for info_row in checks.info_rows if info_row.mark == "bad"]
    if rule_rows := [info_row for info_row in bad_rows if info_row.label in ("merge rules", "")]:
        unmet_rules = [str(info_row.text) for info_row in rule_rows if not info_row.label] or [str(rule_rows[0].text)]
        return f"the merge rules are not met ({', '.join(unmet_rules)})"
    return next((f"{info_row.text} ({_MERGE_BY_ITSELF})" for info_row in bad_rows), "")


async def check_queued(
    live: Live, queued: QueuedMerge, earlier_merges: CheckedMerges = (), linters: Sequence[Linter] = ()
) -> MergeReadiness:
    """Return the merge checks, and why `queued` cannot be merged after `earlier_merges`. Linters run only if they can
    block a merge. If the checks raise ApiError, the reason contains the error."""
    try:
        checks = await run_checks(live, queued.at, linters)
        reason = why_not_in_bulk(checks) or await _why_not_merge_after(live, queued, checks, earlier_merges)
    except ApiError as error:
        info_row = queued.info_row("bad", f"not checked: {error}")
        reason = f"the checks could not be loaded ({as_clause(str(error))})"
        return MergeReadiness(queued, info_row, reason)
    if reason:
        return MergeReadiness(queued, queued.info_row("bad", reason), reason, checks)
    warnings = ["draft"] if checks.change_request.status == "draft" else []
    labels = [info_row.label for info_row in checks.info_rows if info_row.mark == "care" and info_row.label]
    warnings += [f"warnings: {', '.join(labels)}"] if labels else []
    mark: Mark = "care" if warnings else "ok"
    page_count = len({change.page.id for change in checks.changes if change.page is not None})
    return MergeReadiness(
        queued, queued.info_row(mark, " · ".join([short_texts.plural(page_count, "page"), *warnings])), checks=checks
    )


async def _why_not_merge_after(live: Live, queued: QueuedMerge, checks: Checks, earlier: CheckedMerges) -> str:
    changed_ids = _changed_ids(checks)
    for other_merge, other_checks in earlier:
        if other_merge.at.space_id != queued.at.space_id:
            continue
        if checks.must_be_up_to_date:
            return (
                f"this change request will be outdated after {other_merge.name} is merged, and a merge rule blocks outdated change "
                f"requests (after {other_merge.name} is merged, press U to update this change request from main)"
            )
        if not changed_ids & _changed_ids(other_checks):
            continue
        outdated_request = checks.change_request.model_copy(update={"outdated": True})
        changes = Changes(changes=checks.changes)
        prediction = await predict_conflicts(
            live, queued.at, outdated_request, changes, main=other_checks.change_request.revision
        )
        if prediction.conflicts:
            return f"this change request may conflict with {other_merge.name}, which will be merged first (conflicts: {list_first_names(prediction.names)})"
        if prediction.is_on_main:
            return (
                f"all changes in this change request are also in {other_merge.name}, which will be merged first "
                f"(after {other_merge.name} is merged, press L to archive this change request)"
            )
        if prediction.word_merges:
            return (
                f"this change request changes the same paragraph as {other_merge.name}, which will be merged first "
                f"(after {other_merge.name} is merged, merge this change request by itself and check the text)"
            )
    return ""


def _changed_ids(checks: Checks) -> set[str]:
    return {each.id for change in checks.changes for each in (change.page, change.file) if each is not None}


@dataclass(frozen=True)
class BulkMergeResult:
    """Result of merging several change requests."""

    merged_names: tuple[str, ...]
    reason: str = ""
    """Reason why the merge stopped. Empty if all change requests were merged."""


async def merge_in_order(
    live: Live,
    queue: Sequence[QueuedMerge],
    shown_checks: Sequence[Checks | None],
    show_row: Callable[[int, InfoRow], None],
    may_continue: Callable[[], bool],
    linters: Sequence[Linter] = (),
) -> BulkMergeResult:
    """Check and merge the change requests in order. Stop at the first problem, or when `may_continue()` returns False.
    `shown_checks` has the checks that the user saw. Missing checks (None) or a later edit count as a problem.
    `show_row` is called with the index of a change request and its new row."""
    merged_names: list[str] = []
    for index, (queued, earlier_checks) in enumerate(zip(queue, shown_checks, strict=True)):
        if not may_continue():
            return BulkMergeResult(tuple(merged_names), f"Stopped before {queued.name} because you canceled the merge")
        show_row(index, queued.info_row("asking", "checking again…"))
        readiness = await check_queued(live, queued, linters=linters)
        checks = readiness.checks
        show_row(index, readiness.info_row)
        if checks is None or readiness.reason:
            return BulkMergeResult(tuple(merged_names), f"Stopped at {queued.name}: {readiness.reason}")
        if earlier_checks is None or checks.change_request.revision != earlier_checks.change_request.revision:
            show_row(index, queued.info_row("bad", _EDITED))
            return BulkMergeResult(tuple(merged_names), f"Stopped at {queued.name}: {_EDITED}")
        if not may_continue():
            return BulkMergeResult(tuple(merged_names), f"Stopped before {queued.name} because you canceled the merge")
        show_row(index, queued.info_row("asking", "merging…"))
        searching = queued.info_row("asking", "result unknown, checking whether it is merged…")
        sent = await merge(live, queued.at, checks.merge_state, partial(show_row, index, searching))
        is_clean = sent.kind == "done" and (sent.result is None or sent.result.result != "conflicts")
        mark_and_text: tuple[Literal["ok", "bad"], str] = (
            ("ok", "merged") if is_clean else ("bad", result_message(sent, f"#{queued.change_request.number}"))
        )
        show_row(index, queued.info_row(*mark_and_text))
        if sent.kind == "done":
            merged_names.append(queued.name)
        if not is_clean:
            return BulkMergeResult(tuple(merged_names), f"Stopped at {queued.name}: {as_clause(mark_and_text[1])}")
    return BulkMergeResult(tuple(merged_names))


_FINISHED = "The merge has ended. Press esc to close this dialog."
_CHECKING = "The checks are still loading."
_EDITED = "this change request was edited after the checks ran"
_INTRO = (
    "Octavo will merge the change requests in this order. Before each merge, Octavo will repeat the checks. "
    "Octavo will stop at the first problem."
)


ORDER_COMMANDS: Commands[MergeSeveralDialog] = Commands(
    "several",
    (
        Command("later", "J", "Move down", "Move this change request down in the merge order",
                run=lambda _, dialog: dialog.move(1), why_not=lambda _, dialog: dialog.why_not_moved(1)),
        Command("earlier", "K", "Move up", "Move this change request up in the merge order",
                run=lambda _, dialog: dialog.move(-1), why_not=lambda _, dialog: dialog.why_not_moved(-1)),
    ),
)  # fmt: skip


class MergeSeveralDialog(ConfirmDialog):
    """Dialog that checks several change requests and merges them in order. Esc stops after the current merge."""

    HELP_NAME = "merging several change requests"
    HELP = (
        "This dialog lists the change requests in the order in which they will be merged. Press j or k to select a change "
        "request, J or K to move the selected change request, or y to merge. "
        "While Octavo is merging, press esc to stop after the current merge."
    )
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (ORDER_COMMANDS,)

    def __init__(self, app: Shell, queue: Sequence[QueuedMerge]) -> None:
        spaces = tuple(dict.fromkeys(queued.space for queued in queue))
        location = f"in {spaces[0]}" if len(spaces) == 1 else f"in {len(spaces)} spaces"
        super().__init__(
            f"Merge {short_texts.plural(len(queue), 'change request')} {location}?",
            verb=f"Merge {len(queue)}",
            intro=_INTRO,
            blocked=_CHECKING,
            check_again=self._start_checks,
        )
        self._shell = app
        self._readiness = [MergeReadiness(queued, queued.info_row("asking", "loading the checks…")) for queued in queue]
        """Results of the checks, in merge order."""
        self._selected = 0
        """Index of the selected change request."""
        self._mergeable_count = 0
        """Number of change requests before the first that cannot be merged."""
        self._has_checks = False
        self._is_merging = self._is_finished = False
        self._may_continue = True

    def on_mount(self) -> None:
        self._draw()
        self._start_checks()

    def _start_checks(self) -> None:
        if not self._is_merging:
            self._has_checks = False
            self.update(blocked=_CHECKING)
            self.run_worker(self._load_checks(), exclusive=True, group="checks")

    async def _load_checks(self) -> None:
        earlier_merges: list[tuple[QueuedMerge, Checks]] = []
        is_stopped = False
        for index, queued in enumerate([each.queued for each in self._readiness]):
            shell = self._shell
            readiness = await check_queued(shell.session.live, queued, earlier_merges, shell.settings.linters)
            self._readiness[index] = readiness
            is_stopped = is_stopped or bool(readiness.reason)
            # Change requests after the first problem are not merged, so they cause no conflicts.
            if readiness.checks is not None and not is_stopped:
                earlier_merges.append((queued, readiness.checks))
            self._draw()
        self._has_checks = True
        self.require_reading()
        self._show_mergeable()

    def _show_mergeable(self) -> None:
        total = len(self._readiness)
        self._mergeable_count = next(
            (index for index, readiness in enumerate(self._readiness) if readiness.reason), total
        )
        after = reason = ""
        if self._mergeable_count < total:
            first_stopped = self._readiness[self._mergeable_count]
            problem = f"{first_stopped.queued.name}: {first_stopped.reason}"
            if self._mergeable_count:
                unmerged = total - self._mergeable_count
                after = f"Octavo will stop before {problem}. {short_texts.plural(unmerged, 'change request')} will not be merged. Press J or K to change the order."
            elif total == 1:
                reason = f"{problem}."
            else:
                reason = (
                    f"The first change request is blocking the merge. {problem}. "
                    "Select this change request and press J to move it down."
                )
        self.update(blocked=reason, after=after, verb=self._current_verb, foot="J/K change order · r check again")

    @property
    def _current_verb(self) -> str:
        if self._mergeable_count in (0, len(self._readiness)):
            return f"Merge {len(self._readiness)}"
        return "Merge the first" if self._mergeable_count == 1 else f"Merge the first {self._mergeable_count}"

    def _draw(self) -> None:
        sign = ">" if self._shell.settings.ascii else "›"
        marked_rows = [
            replace(
                each.info_row,
                label=f"{sign if index == self._selected and not self._is_merging else ' '} {each.info_row.label}",
            )
            for index, each in enumerate(self._readiness)
        ]
        self.update(info_rows=marked_rows)

    def why_not_moved(self, step: int) -> str | None:
        """Return why the selected change request cannot be moved down (up if `step` is -1). None if it can."""
        if self._is_merging or self._is_finished:
            return "You cannot change the order while Octavo is merging." if self._is_merging else _FINISHED
        if not self._has_checks:
            return _CHECKING
        if not 0 <= self._selected + step < len(self._readiness):
            return f"{self._readiness[self._selected].queued.name} is already {'last' if step > 0 else 'first'} in the merge order."
        return None

    def scroll_body(self, step: int) -> None:
        """Select the next row, or the previous row if `step` is -1. During and after the merge, scroll instead."""
        if self._is_merging or self._is_finished:
            super().scroll_body(step)
            return
        self._selected = max(0, min(len(self._readiness) - 1, self._selected + step))
        self._draw()

    def move(self, step: int) -> None:
        """Move the selected change request down, or up if `step` is -1. Then load the checks again."""
        index, new_index = self._selected, self._selected + step
        self._readiness.insert(new_index, self._readiness.pop(index))
        self._selected = new_index
        self._draw()
        self._start_checks()  # The checks depend on the order of the merges.

    @property
    def can_confirm(self) -> bool:
        return not self._is_merging and not self._is_finished

    def confirm(self) -> None:
        if self._is_answered or self._is_merging or self._is_finished:
            return
        self._is_merging = True
        self._draw()
        self.update(
            foot="esc stop after the current merge",
            after="",
            blocked="Merging the change requests. Press esc to stop after the current merge.",
        )
        self._shell.background(self._merge())

    def cancel(self) -> None:
        self._may_continue = False
        self.workers.cancel_group(self, "checks")
        super().cancel()

    async def _merge(self) -> None:
        app, count = self._shell, self._mergeable_count
        queue = [each.queued for each in self._readiness[:count]]
        shown_checks = [each.checks for each in self._readiness[:count]]
        result = await merge_in_order(
            app.session.live, queue, shown_checks, self._show_row, lambda: self._may_continue, app.settings.linters
        )
        if result.merged_names:
            app.writes.forbid_undo(
                "You cannot undo a merge by pressing u. To revert a merge, select the merged change request and press Z."
            )
        names = result.merged_names
        merged_phrase = names[0] if len(names) == 1 else short_texts.plural(len(names), "change request")
        merged_text = f"Merged {merged_phrase}" if names else "Nothing was merged"
        reason = result.reason
        if not reason and count < len(self._readiness):
            reason = f"Stopped before {self._readiness[count].queued.name}: {self._readiness[count].reason}"
        message = f"{merged_text}. {reason}." if reason else f"{merged_text}."
        app.say(message, tone="care" if reason else "done", seconds=15)
        self._is_merging, self._is_finished = False, True
        self.update(foot="esc close", after=message, blocked=_FINISHED)

    def _show_row(self, number: int, info_row: InfoRow) -> None:
        if is_fully_mounted(self):
            self._readiness[number] = replace(self._readiness[number], info_row=info_row)
            self._draw()
