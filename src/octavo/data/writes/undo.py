"""Undo of the last writes.

Unsent changes are canceled, sent writes are undone, and a message says how many.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

from octavo.data.writes.machine import NewWrite, OutboxEntry, returned_to_review
from octavo.data.writes.store import Also, OutboxEntries, done_entry

Fate = Literal["Canceled", "Pending again", "Undone", "", "late"]
"""The result of the undo of one write. Empty: no change. `late`: it is being sent, and undo can be tried again."""


class WriteGroup(NamedTuple):
    """Writes that one undo undoes."""

    ids: tuple[str, ...]
    review: str = ""
    """The id of the review that submitted them. Empty if the writes were added together."""


@dataclass(frozen=True)
class UndoResult:
    """Result of an undo."""

    message: str
    done: bool
    """True if a write is canceled, or its undo is being sent."""
    draft_key: str = ""
    text: str = ""
    """Text that is the draft of `draft_key` again."""
    undone: tuple[OutboxEntry, ...] = ()
    """The entries that were undone, in the order they were written."""


@dataclass(frozen=True)
class _Undone:
    entry: OutboxEntry
    fate: Fate
    reason: str = ""


async def undo_writes(
    group: WriteGroup,
    pending: OutboxEntries,
    put_back: Also,
    add: Callable[[Sequence[NewWrite]], Awaitable[object]],
) -> tuple[UndoResult | None, tuple[str, ...]]:
    """Undo the writes of `group`. None if nothing is left to undo. Raises NotSaved.

    Also returns the ids of those that are being sent: their undo can be tried again. `put_back` stores the text of a
    canceled write as a draft, and `add` puts the writes that undo the others into the outbox.
    """
    newest_first = [each for each in reversed(group.ids) if _is_in(group, pending.find(each))]
    here = [entry for each in newest_first if (entry := pending.find(each)) is not None]
    submitted = [each.id for each in here if each.review and each.state in ("held", "queued") and not each.is_review]
    states = ("pending", "held", "queued")
    waiting = [each.id for each in here if each.state in states and each.id not in submitted]
    removed = await pending.remove(waiting, put_back, *states) if waiting else ()
    again = await pending.step_all(submitted, returned_to_review) if submitted else ()
    fates = {each.id: _Undone(each, "Canceled") for each in removed}
    fates |= {each.id: _Undone(each, "Pending again") for each in again}
    undoing = []
    for each in newest_first:
        if each in fates:
            continue
        entry = pending.find(each) or pending.state.read(partial(done_entry, entry_id=each))
        if entry is not None and _is_in(group, entry):
            fates[each], writes = _opposite(entry)
            undoing += writes
    if undoing:
        await add(undoing)
    results = [fates[each] for each in newest_first if each in fates]
    late = tuple(each.entry.id for each in reversed(results) if each.fate == "late")
    if not results:
        return None, ()
    typed = next((entry for entry in removed if entry.text), removed[0] if removed else None)
    draft_key, text = (typed.draft_key, typed.text) if typed is not None else ("", "")
    changed = tuple(each.entry for each in reversed(results) if each.fate not in ("", "late"))
    return UndoResult(_sentence(results), done=bool(changed), draft_key=draft_key, text=text, undone=changed), late


def _is_in(group: WriteGroup, entry: OutboxEntry | None) -> bool:
    """Return whether `entry` still belongs to `group`. An undo in another instance takes a comment out of its review."""
    return entry is None or group.review in ("", entry.review)


def _opposite(entry: OutboxEntry) -> tuple[_Undone, list[NewWrite]]:
    """Return the fate of a write that does not wait any more, and the write that undoes it."""
    from octavo.data.writes.kinds import kind_of  # lazy: the areas of the API that write

    if entry.state == "failed" or entry.needs_user:
        return _Undone(entry, "", f"Nothing to undo: {entry.reason}"), []
    if entry.already_done:
        return _Undone(entry, "", f"Nothing to undo for “{entry.action}”: someone else did this first."), []
    opposite: Any = kind_of(entry.op).undo(entry.op, entry.basis)
    if not isinstance(opposite, str):
        going = "" if entry.state == "done" else "The change is already being sent. Octavo will undo it afterward."
        return _Undone(entry, "Undone", going), [NewWrite(opposite, f"undo “{entry.action}”", context=entry.context)]
    if entry.state == "done":
        return _Undone(entry, "", opposite), []
    return _Undone(
        entry, "late", f"Could not undo “{entry.action}” yet: it is being sent. Press u again in a moment."
    ), []


def _sentence(results: Sequence[_Undone]) -> str:
    """Return what became of each kind of write: `Canceled: resolve the thread, 76 of 77 (1 was already sent).`"""
    kinds = dict.fromkeys(each.entry.action for each in results)
    return " ".join(_of_kind(action, [each for each in results if each.entry.action == action]) for action in kinds)


def _of_kind(action: str, results: Sequence[_Undone]) -> str:
    changed = [each for each in results if each.fate not in ("", "late")]
    undone = [each for each in changed if each.fate == "Undone"]
    reasons = dict.fromkeys(each.reason for each in results if each.reason)
    if not changed:
        return " ".join(reasons)
    head = next((each.fate for each in changed if each.fate != "Undone"), "Undone")
    contexts = {each.entry.context for each in results}
    named = f"{action} · {next(iter(contexts))}" if len(contexts) == 1 and contexts != {""} else action
    missing = len(results) - len(changed)
    if len(results) == 1:
        amount = ""
    elif missing:
        gone = all(each.fate == "late" or each.entry.state == "done" for each in results if each not in changed)
        amount = f", {len(changed)} of {len(results)} ({_were(missing)} {'already sent' if gone else 'not undone'})"
    else:
        amount = ", both" if len(results) == 2 else f", all {len(results)}"
        if 0 < len(undone) < len(results):
            amount += f" ({_were(len(undone))} already sent and had to be undone)"
    return " ".join((f"{head}: {named}{amount}.", *reasons))


def _were(count: int) -> str:
    return f"{count} {'was' if count == 1 else 'were'}"
