"""Stored marks on the viewed pages of a change request, and the reading position in each page."""

from __future__ import annotations

from collections.abc import Collection

from octavo.data.state_db import StateDb
from octavo.tui.render.reading_position import position_from_json

MAX_POSITIONS = 200
"""Maximum number of pages of a change request whose reading positions are stored."""


class ViewedMarks:
    """Viewed marks on the pages of a change request. A page loses its mark when a later revision changes the page."""

    def __init__(self, state: StateDb, change_request_id: str) -> None:
        self._state = state
        self._marks_key, self._position_key = f"viewed {change_request_id}", f"place {change_request_id}"
        stored = state.get_fact(self._position_key)
        stored = stored if isinstance(stored, dict) else {}
        self.last_page = str(stored.get("at", ""))
        """Key of the last viewed page."""
        by_page = stored.get("within")
        by_page = by_page if isinstance(by_page, dict) else {}
        positions = {str(key): position_from_json(fact) for key, fact in by_page.items()}
        self.positions = {key: position for key, position in positions.items() if position is not None}
        """Reading positions by page key."""
        self._revision = ""
        self._needs_renewal = False
        """Whether the stored marks belong to an earlier revision, so that `keep_unchanged` has to be called."""
        self.keys: frozenset[str] = frozenset()
        """Keys of the viewed pages."""
        self.changed: frozenset[str] = frozenset()
        """Keys of the pages that changed after you viewed them."""

    def load(self, revision: str) -> str | None:
        """Load the marks for `revision`. If the stored marks belong to an earlier revision, return that revision, and
        expect a call of `keep_unchanged`. Otherwise return None."""
        before = self._state.get_fact(self._marks_key)
        before = before if isinstance(before, dict) else {}
        earlier = str(before.get("revision", ""))
        if revision == self._revision:
            return None
        self._revision = revision
        is_same = earlier in ("", revision)
        self.keys = _key_set(before.get("keys")) if is_same else frozenset()
        self.changed = _key_set(before.get("changed")) if is_same else frozenset()
        self._needs_renewal = not is_same
        return None if is_same else earlier

    def keep_unchanged(self, changed: Collection[str] | None) -> None:
        """Keep the marks of the earlier revision, except on the pages in `changed`. If `changed` is None, keep no
        marks."""
        if not self._needs_renewal:
            return
        self._needs_renewal = False
        before = self._state.get_fact(self._marks_key)
        marked = _key_set(before.get("keys"))
        lost = marked if changed is None else marked & frozenset(changed)
        self.changed = (lost | _key_set(before.get("changed"))) - self.keys
        self.keys |= marked - lost
        self._save()

    def toggle(self, key: str) -> bool:
        """Mark the page `key` as viewed, or remove the mark. Return whether the page is marked now."""
        self.keys ^= {key}
        self.changed -= {key}
        self._save()
        return key in self.keys

    def _save(self) -> None:
        if self._needs_renewal:
            return  # The marks of the earlier revision are still stored, and would be lost.
        marks = {"revision": self._revision, "keys": sorted(self.keys), "changed": sorted(self.changed)}
        self._state.set_fact(self._marks_key, marks)

    def save_position(self) -> None:
        """Store the last viewed page and the reading positions."""
        by_page = {key: page_position.fact for key, page_position in [*self.positions.items()][-MAX_POSITIONS:]}
        fact = {"at": self.last_page, "within": by_page}
        if self._state.get_fact(self._position_key) != fact:
            self._state.set_fact(self._position_key, fact)


def _key_set(value: object) -> frozenset[str]:
    return frozenset(str(each) for each in value) if isinstance(value, list) else frozenset()
