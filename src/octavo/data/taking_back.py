"""Undo of the last writes: unsent changes are canceled, sent writes are undone, and a message says how many."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from octavo.data import ledger
from octavo.data.pending import Also, Pending
from octavo.data.writes.machine import Entry, QueuedWrite, gathered_again

Fate = Literal["Canceled", "Pending again", "Undone", "", "late"]
"""The result of the undo of one write. Empty: no change. `late`: it is being sent, and undo can be tried again."""


@dataclass(frozen=True)
class UndoResult:
    """What `undo` did, or why it did nothing."""

    sentence: str
    done: bool
    """Whether the write is taken back, or its inverse is on its way."""
    place: str = ""
    text: str = ""
    """What was typed: it is the draft of `place` again."""
    back: tuple[Entry, ...] = ()
    """What came back, in the order it was written."""


@dataclass(frozen=True)
class _Told:
    entry: Entry
    fate: Fate
    reason: str = ""


async def take_back(
    group: Sequence[str], pending: Pending, put_back: Also, add: Callable[[Sequence[QueuedWrite]], Awaitable[object]]
) -> tuple[UndoResult | None, tuple[str, ...]]:
    """Take back the writes of `group`, which were begun together. None: nothing is left of them. Also answers which of
    them are on their way and can be tried again. Raises NotSaved.

    `put_back` keeps the words of what is forgotten, `add` takes over what undoes the rest.
    """
    newest_first = tuple(reversed(group))
    here = [entry for each in newest_first if (entry := pending.find(each)) is not None]
    let_go = [each.id for each in here if each.review and each.state in ("held", "queued") and not each.is_verdict]
    states = ("gathered", "held", "queued")
    waiting = [each.id for each in here if each.state in states and each.id not in let_go]
    removed = await pending.remove(waiting, put_back, *states) if waiting else ()
    if let_go:
        await pending.release(let_go, gathered_again)
    again = [each for each in pending.entries if each.id in let_go and each.state == "gathered"]
    fates = {each.id: _Told(each, "Canceled") for each in removed}
    fates |= {each.id: _Told(each, "Pending again") for each in again}
    undoing = []
    for each in newest_first:
        if each in fates:
            continue
        entry = pending.find(each) or pending.state.read(partial(ledger.done, entry_id=each))
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


def _opposite(entry: Entry) -> tuple[_Told, list[QueuedWrite]]:
    """What becomes of a write that does not wait any more, and what undoes it."""
    from octavo.data.writes.kinds import kind_of  # lazy: the areas of the API that write

    if entry.state == "failed" or entry.asks:
        return _Told(entry, "", f"Nothing to undo: {entry.reason}"), []
    if entry.needless:
        return _Told(entry, "", f"Could not undo “{entry.doing}”: another person did it first."), []
    opposite: Any = kind_of(entry.op).undo(entry.op, entry.basis)
    if not isinstance(opposite, str):
        going = "" if entry.state == "done" else "It was already being sent, and is undone after that."
        return _Told(entry, "Undone", going), [QueuedWrite(opposite, f"undo “{entry.doing}”", about=entry.about)]
    if entry.state == "done":
        return _Told(entry, "", opposite), []
    return _Told(entry, "late", f"Could not undo “{entry.doing}” yet: it is being sent. Press u again soon."), []


def _sentence(told: Sequence[_Told]) -> str:
    """What became of each kind of write: `Canceled: resolve the thread, 76 of 77 (1 was already sent).`"""
    kinds = dict.fromkeys(each.entry.doing for each in told)
    return " ".join(_of_kind(doing, [each for each in told if each.entry.doing == doing]) for doing in kinds)


def _of_kind(doing: str, told: Sequence[_Told]) -> str:
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
