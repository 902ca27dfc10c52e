"""Words that are not sent are thrown away, drafts and held comments together, and come back as they were."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from octavo.data import ledger
from octavo.data.drafts import Drafts, Version, give_back, take_all
from octavo.data.pending import Pending


@dataclass(frozen=True)
class Discarded:
    """What was thrown away, as it was on disk."""

    drafts: tuple[Version, ...] = ()
    held: tuple[ledger.Kept, ...] = ()


async def discard_words(pending: Pending, drafts: Drafts, places: Sequence[str], held: Sequence[str]) -> Discarded:
    """Throw away every version of the drafts of `places`, and what is held of these ids, in one transaction. What is held
    no more stays. Raises NotSaved, and then all stays."""
    namespace = pending.state.namespace
    turns = {place: drafts.turn(place) for place in places}

    def work(db: sqlite3.Connection) -> Discarded:
        kept = tuple(each for name in held if (each := ledger.take_gathered(db, name)) is not None)
        return Discarded(tuple(take_all(db, namespace, places)), kept)

    discarded = await pending.state.write(work)
    for place, turn in turns.items():
        drafts.forget(place, turn)
    pending.reload()
    return discarded


async def bring_back(pending: Pending, drafts: Drafts, discarded: Discarded) -> None:
    """Undo `discard_words`: what was held is held again, where it stood among the others. Raises NotSaved."""
    namespace = pending.state.namespace

    def work(db: sqlite3.Connection) -> None:
        give_back(db, namespace, discarded.drafts)
        for each in discarded.held:
            ledger.give_back(db, namespace, each)

    await pending.state.write(work)
    drafts.changed.notify()
    pending.reload()
