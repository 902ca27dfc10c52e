"""Remembers which revision of a change request a command showed last, so that a review is about what was read."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from octavo.api.change_requests import ChangeRequest
    from octavo.tui.core.session import Session


def remember_viewed(session: Session, change_request: ChangeRequest) -> None:
    """Remember that the current revision of a change request was shown."""
    if change_request.revision:
        session.state.set_fact(_name(change_request), change_request.revision)


def viewed_revision(session: Session, change_request: ChangeRequest) -> str | None:
    """Return the revision that a command showed last. None if no command showed the change request."""
    fact = session.state.get_fact(_name(change_request))
    return fact if isinstance(fact, str) else None


def _name(change_request: ChangeRequest) -> str:
    return f"viewed revision {change_request.id}"
