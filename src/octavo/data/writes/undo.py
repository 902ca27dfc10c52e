"""Undo of writes of the outbox: cancels what was not sent, and adds the opposite of what was sent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal, NamedTuple

from octavo.data.writes.machine import NewWrite, OutboxEntry, return_to_review
from octavo.data.writes.store import ExtraWork, OutboxEntries, find_done_entry, kind_of


class WriteGroup(NamedTuple):
    """Writes that are undone together."""

    ids: tuple[str, ...]
    review: str = ""
    """Id of the review that the writes belong to. Empty if they belong to no review."""


class UndoResult(NamedTuple):
    """Result of an undo."""

    message: str
    undone: tuple[OutboxEntry, ...]
    """The entries that were canceled or are pending again, or whose opposite is being sent, in the order written."""
    late: tuple[str, ...]
    """Ids of the writes that are being sent now. In a moment, their undo can be tried again."""
    ended: frozenset[str]
    """Ids of the writes of which nothing is left to undo."""


class _EntryResult(NamedTuple):
    entry: OutboxEntry
    kind: Literal["Canceled", "Pending again", "Undone", "unchanged", "late"]
    """`late` means that the write is being sent now: the user can try the undo again in a moment."""
    reason: str = ""

    @property
    def is_changed(self) -> bool:
        return self.kind not in ("unchanged", "late")


async def undo_writes(
    group: WriteGroup,
    entries: OutboxEntries,
    restore_draft: ExtraWork,
    add: Callable[[Sequence[NewWrite]], Awaitable[object]],
) -> UndoResult | None:
    """Undo the writes of `group`. None if nothing is left to undo. Raises NotSaved.

    `restore_draft` stores the text of a canceled write as a draft. `add` adds the opposite writes to the outbox.
    """
    newest_first = [entry_id for entry_id in reversed(group.ids) if _is_in(group, entries.find(entry_id))]
    unsent = [entry for entry_id in newest_first if (entry := entries.find(entry_id)) is not None]
    submitted = [
        entry.id for entry in unsent if entry.review and entry.state in ("held", "queued") and not entry.facts.is_review
    ]
    states = ("pending", "held", "queued")
    waiting = [entry.id for entry in unsent if entry.state in states and entry.id not in submitted]
    removed = await entries.remove(waiting, restore_draft, *states) if waiting else ()
    returned = await entries.step_all(submitted, return_to_review) if submitted else ()
    by_id = {entry.id: _EntryResult(entry, "Canceled") for entry in removed}
    by_id |= {entry.id: _EntryResult(entry, "Pending again") for entry in returned}
    opposites = []
    for entry_id in newest_first:
        if entry_id in by_id:
            continue
        entry = entries.find(entry_id) or find_done_entry(entries.state, entry_id)
        if entry is not None and _is_in(group, entry):
            by_id[entry_id], writes = _opposite(entry)
            opposites += writes
    if opposites:
        await add(opposites)
    results = [by_id[entry_id] for entry_id in newest_first if entry_id in by_id]
    if not results:
        return None
    changed = tuple(result.entry for result in reversed(results) if result.is_changed)
    late = tuple(result.entry.id for result in reversed(results) if result.kind == "late")
    ended = frozenset(result.entry.id for result in results if result.kind not in ("late", "Pending again"))
    return UndoResult(_message(results), changed, late, ended)


def _is_in(group: WriteGroup, entry: OutboxEntry | None) -> bool:
    """Return whether `entry` still belongs to `group`. An undo in another instance may have removed it from its
    review."""
    return entry is None or group.review in ("", entry.review)


def _opposite(entry: OutboxEntry) -> tuple[_EntryResult, list[NewWrite]]:
    """Return the result for a write that was sent or has failed, and the opposite write, if there is one."""
    if entry.state == "failed" or entry.needs_user:
        return _EntryResult(entry, "unchanged", f"Nothing to undo: {entry.reason}"), []
    if entry.already_done:
        reason = f"Nothing to undo for “{entry.action}”: someone else did this first."
        return _EntryResult(entry, "unchanged", reason), []
    opposite: Any = kind_of(entry.op).undo(entry.op, entry.basis)
    if not isinstance(opposite, str):
        is_done = entry.state == "done"
        reason = "" if is_done else "The change is already being sent. Octavo will undo it afterward."
        undo = NewWrite(opposite, f"undo “{entry.action}”", context=entry.context)
        return _EntryResult(entry, "Undone", reason), [undo]
    if entry.state == "done":
        return _EntryResult(entry, "unchanged", opposite), []
    reason = f"Could not undo “{entry.action}” yet: it is being sent. Press u again in a moment."
    return _EntryResult(entry, "late", reason), []


def _message(results: Sequence[_EntryResult]) -> str:
    """Return one sentence for each action, such as `Canceled: resolve the thread, 76 of 77 (1 was already sent).`"""
    actions = dict.fromkeys(result.entry.action for result in results)
    return " ".join(_sentence(action, [each for each in results if each.entry.action == action]) for action in actions)


def _sentence(action: str, results: Sequence[_EntryResult]) -> str:
    changed = [result for result in results if result.is_changed]
    undone = [result for result in changed if result.kind == "Undone"]
    reasons = dict.fromkeys(result.reason for result in results if result.reason)
    if not changed:
        return " ".join(reasons)
    verb = next((result.kind for result in changed if result.kind != "Undone"), "Undone")
    contexts = {result.entry.context for result in results}
    name = f"{action} · {next(iter(contexts))}" if len(contexts) == 1 and contexts != {""} else action
    missing = [result for result in results if not result.is_changed]
    if len(results) == 1:
        amount = ""
    elif missing:
        are_sent = all(result.kind == "late" or result.entry.state == "done" for result in missing)
        cause = "already sent" if are_sent else "not undone"
        amount = f", {len(changed)} of {len(results)} ({_count_and_verb(len(missing))} {cause})"
    else:
        amount = ", both" if len(results) == 2 else f", all {len(results)}"
        if 0 < len(undone) < len(results):
            amount += f" ({_count_and_verb(len(undone))} already sent and had to be undone)"
    return " ".join((f"{verb}: {name}{amount}.", *reasons))


def _count_and_verb(count: int) -> str:
    return f"{count} {'was' if count == 1 else 'were'}"
