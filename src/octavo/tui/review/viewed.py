"""Which pages of a change request one has looked at, and where one is in it: kept over restarts."""

from __future__ import annotations

from collections.abc import Collection

from octavo.data.state import State


class Viewed:
    """Marks on pages. A mark holds for a page as it was in the revision it was made in: what changed since has lost it."""

    def __init__(self, state: State, change_request_id: str) -> None:
        self._state = state
        self._marks, self._place = f"viewed {change_request_id}", f"place {change_request_id}"
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
        kept = self._state.recall(self._marks)
        kept = kept if isinstance(kept, dict) else {}
        earlier = str(kept.get("revision", ""))
        if revision == self._revision:
            return None
        self._revision = revision
        is_same = earlier in ("", revision)
        self.keys = _names(kept.get("keys")) if is_same else frozenset()
        self.changed = _names(kept.get("changed")) if is_same else frozenset()
        self._is_waiting = not is_same
        return None if is_same else earlier

    def renew(self, changed: Collection[str] | None) -> None:
        """Keep the marks of the earlier revision but those of what `changed` since. None: nobody knows what did."""
        if not self._is_waiting:
            return
        self._is_waiting = False
        kept = self._state.recall(self._marks)
        marked, before = _names(kept.get("keys")), _names(kept.get("changed"))
        gone = marked if changed is None else marked & frozenset(changed)
        self.changed = (gone | before) - self.keys
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
        kept = {"revision": self._revision, "keys": sorted(self.keys), "changed": sorted(self.changed)}
        self._state.remember(self._marks, kept)

    @property
    def place(self) -> str:
        """What one looked at last."""
        return str(self._state.recall(self._place, ""))

    @place.setter
    def place(self, key: str) -> None:
        if key != self.place:
            self._state.remember(self._place, key)


def _names(kept: object) -> frozenset[str]:
    return frozenset(str(each) for each in kept) if isinstance(kept, list) else frozenset()
