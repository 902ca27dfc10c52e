"""Which pages of a change request one has looked at, and where one is in it: kept over restarts."""

from __future__ import annotations

from collections.abc import Collection

from octavo.data.state_db import StateDb
from octavo.tui.render.reading_position import position_from_json

MOST_PLACES = 200
"""In how many pages of a change request one comes back to where one was."""


class ViewedMarks:
    """Marks on pages. A mark holds for a page as it was in the revision it was made in: what changed since has lost it."""

    def __init__(self, state: StateDb, change_request_id: str) -> None:
        self._state = state
        self._marks, self._place = f"viewed {change_request_id}", f"place {change_request_id}"
        place = state.get_fact(self._place)
        place = place if isinstance(place, dict) else {}
        self.place = str(place.get("at", ""))
        """What one looked at last."""
        within = place.get("within")
        within = within if isinstance(within, dict) else {}
        self.places = {str(key): here for key, fact in within.items() if (here := position_from_json(fact)) is not None}
        """Where one was in what one looked at."""
        self._revision = ""
        self._is_waiting = False
        """Whether it is not known yet which of the earlier marks hold."""
        self.keys: frozenset[str] = frozenset()
        """What is marked."""
        self.changed: frozenset[str] = frozenset()
        """What was marked, and changed since."""

    def at(self, revision: str) -> str | None:
        """Take up the marks as they are in `revision`. If they were made in another one that is the answer: `renew`
        says then which of them hold."""
        before = self._state.get_fact(self._marks)
        before = before if isinstance(before, dict) else {}
        earlier = str(before.get("revision", ""))
        if revision == self._revision:
            return None
        self._revision = revision
        is_same = earlier in ("", revision)
        self.keys = _names(before.get("keys")) if is_same else frozenset()
        self.changed = _names(before.get("changed")) if is_same else frozenset()
        self._is_waiting = not is_same
        return None if is_same else earlier

    def renew(self, changed: Collection[str] | None) -> None:
        """Keep the marks of the earlier revision but those of what `changed` since. None: nobody knows what did."""
        if not self._is_waiting:
            return
        self._is_waiting = False
        before = self._state.get_fact(self._marks)
        marked = _names(before.get("keys"))
        gone = marked if changed is None else marked & frozenset(changed)
        self.changed = (gone | _names(before.get("changed"))) - self.keys
        self.keys |= marked - gone
        self._keep()

    def toggle(self, key: str) -> bool:
        """Mark what is called `key`, or take its mark back. Whether it is marked now."""
        self.keys ^= {key}
        self.changed -= {key}
        self._keep()
        return key in self.keys

    def _keep(self) -> None:
        if self._is_waiting:
            return  # the earlier marks are still to come
        marks = {"revision": self._revision, "keys": sorted(self.keys), "changed": sorted(self.changed)}
        self._state.set_fact(self._marks, marks)

    def keep_place(self) -> None:
        """Keep what one looks at, and where one is in it."""
        within = {key: here.fact for key, here in [*self.places.items()][-MOST_PLACES:]}
        fact = {"at": self.place, "within": within}
        if self._state.get_fact(self._place) != fact:
            self._state.set_fact(self._place, fact)


def _names(kept: object) -> frozenset[str]:
    return frozenset(str(each) for each in kept) if isinstance(kept, list) else frozenset()
