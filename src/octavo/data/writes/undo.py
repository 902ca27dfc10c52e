"""Undo of the last writes, and of the unsent text that was discarded.

Unsent changes are canceled, sent writes are undone, and a message says how many.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from octavo.data.drafts import Drafts, Version, give_back, take_all
from octavo.data.writes.machine import Entry, QueuedWrite, returned_to_review
from octavo.data.writes.store import Also, Kept, OutboxEntries, done_entry, restore_entry, take_pending_comment

Fate = Literal["Canceled", "Pending again", "Undone", "", "late"]
"""The result of the undo of one write. Empty: no change. `late`: it is being sent, and undo can be tried again."""


@dataclass(frozen=True)
class UndoResult:
    """What `undo` did, or why it did nothing."""

    sentence: str
    done: bool
    """Whether the write is canceled, or its undo is being sent."""
    place: str = ""
    text: str = ""
    """Text that is the draft of `place` again."""
    back: tuple[Entry, ...] = ()
    """The entries that were undone, in the order they were written."""


@dataclass(frozen=True)
class _Undone:
    entry: Entry
    fate: Fate
    reason: str = ""


async def undo_writes(
    group: Sequence[str],
    pending: OutboxEntries,
    put_back: Also,
    add: Callable[[Sequence[QueuedWrite]], Awaitable[object]],
) -> tuple[UndoResult | None, tuple[str, ...]]:
    """Undo the writes of `group`, which were begun together. None if nothing is left of them. Raises NotSaved.

    Also returns the ids of those that are being sent: their undo can be tried again. `put_back` stores the text of a
    canceled write as a draft, and `add` puts the writes that undo the others into the outbox.
    """
    newest_first = tuple(reversed(group))
    here = [entry for each in newest_first if (entry := pending.find(each)) is not None]
    let_go = [each.id for each in here if each.review and each.state in ("held", "queued") and not each.is_verdict]
    states = ("gathered", "held", "queued")
    waiting = [each.id for each in here if each.state in states and each.id not in let_go]
    removed = await pending.remove(waiting, put_back, *states) if waiting else ()
    if let_go:
        await pending.release(let_go, returned_to_review)
    again = [each for each in pending.entries if each.id in let_go and each.state == "gathered"]
    fates = {each.id: _Undone(each, "Canceled") for each in removed}
    fates |= {each.id: _Undone(each, "Pending again") for each in again}
    undoing = []
    for each in newest_first:
        if each in fates:
            continue
        entry = pending.find(each) or pending.state.read(partial(done_entry, entry_id=each))
        if entry is not None:
            fates[each], inverse = _opposite(entry)
            undoing += inverse
    if undoing:
        await add(undoing)
    told = [fates[each] for each in newest_first if each in fates]
    late = tuple(each.entry.id for each in reversed(told) if each.fate == "late")
    if not told:
        return None, ()
    typed = next((entry for entry in removed if entry.words), removed[0] if removed else None)
    place, text = (typed.place, typed.words) if typed is not None else ("", "")
    back = tuple(each.entry for each in reversed(told) if each.fate not in ("", "late"))
    return UndoResult(_sentence(told), done=bool(back), place=place, text=text, back=back), late


def _opposite(entry: Entry) -> tuple[_Undone, list[QueuedWrite]]:
    """Return the fate of a write that does not wait any more, and the write that undoes it."""
    from octavo.data.writes.kinds import kind_of  # lazy: the areas of the API that write

    if entry.state == "failed" or entry.asks:
        return _Undone(entry, "", f"Nothing to undo: {entry.reason}"), []
    if entry.needless:
        return _Undone(entry, "", f"Nothing to undo for “{entry.doing}”: someone else did this first."), []
    opposite: Any = kind_of(entry.op).undo(entry.op, entry.basis)
    if not isinstance(opposite, str):
        going = "" if entry.state == "done" else "The change is already being sent, and will be undone after that."
        return _Undone(entry, "Undone", going), [QueuedWrite(opposite, f"undo “{entry.doing}”", about=entry.about)]
    if entry.state == "done":
        return _Undone(entry, "", opposite), []
    return _Undone(
        entry, "late", f"Could not undo “{entry.doing}” yet: it is being sent. Press u again in a moment."
    ), []


def _sentence(told: Sequence[_Undone]) -> str:
    """Return what became of each kind of write: `Canceled: resolve the thread, 76 of 77 (1 was already sent).`"""
    kinds = dict.fromkeys(each.entry.doing for each in told)
    return " ".join(_of_kind(doing, [each for each in told if each.entry.doing == doing]) for doing in kinds)


def _of_kind(doing: str, told: Sequence[_Undone]) -> str:
    back = [each for each in told if each.fate not in ("", "late")]
    undone = [each for each in back if each.fate == "Undone"]
    reasons = dict.fromkeys(each.reason for each in told if each.reason)
    if not back:
        return " ".join(reasons)
    head = next((each.fate for each in back if each.fate != "Undone"), "Undone")
    about = {each.entry.about for each in told}
    named = f"{doing} · {next(iter(about))}" if len(about) == 1 and about != {""} else doing
    missing = len(told) - len(back)
    if len(told) == 1:
        much = ""
    elif missing:
        gone = all(each.fate == "late" or each.entry.state == "done" for each in told if each not in back)
        much = f", {len(back)} of {len(told)} ({_were(missing)} {'already sent' if gone else 'not undone'})"
    else:
        much = ", both" if len(told) == 2 else f", all {len(told)}"
        if 0 < len(undone) < len(told):
            much += f" ({_were(len(undone))} already sent and undone)"
    return " ".join((f"{head}: {named}{much}.", *reasons))


def _were(count: int) -> str:
    return f"{count} {'was' if count == 1 else 'were'}"


@dataclass(frozen=True)
class Discarded:
    """Drafts and pending comments that were discarded, as they were stored."""

    drafts: tuple[Version, ...] = ()
    held: tuple[Kept, ...] = ()


async def discard_words(
    pending: OutboxEntries, drafts: Drafts, places: Sequence[str], held: Sequence[str]
) -> Discarded:
    """Discard every version of the drafts of `places`, and the pending comments with the ids `held`, in one transaction.

    A comment that is not pending any more stays. Raises NotSaved, and then nothing is discarded.
    """
    namespace = pending.state.namespace
    turns = {place: drafts.turn(place) for place in places}

    def work(db: sqlite3.Connection) -> Discarded:
        kept = tuple(each for name in held if (each := take_pending_comment(db, name)) is not None)
        return Discarded(tuple(take_all(db, namespace, places)), kept)

    discarded = await pending.state.write(work)
    for place, turn in turns.items():
        drafts.forget(place, turn)
    pending.reload()
    return discarded


async def restore_discarded(pending: OutboxEntries, drafts: Drafts, discarded: Discarded) -> None:
    """Undo `discard_words`: the comments are pending again, in their old order. Raises NotSaved."""
    namespace = pending.state.namespace

    def work(db: sqlite3.Connection) -> None:
        give_back(db, namespace, discarded.drafts)
        for each in discarded.held:
            restore_entry(db, namespace, each)

    await pending.state.write(work)
    drafts.changed.notify()
    pending.reload()
