"""Where one can go, as values: `shell.go(ToPage(...))`. Which screen shows it is known to the app alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from octavo.api.places import ChangeRequestRef, CollectionRef, SpaceRef

if TYPE_CHECKING:
    from octavo.api.change_requests import ChangeRequest
    from octavo.api.comments import Comment


@dataclass(frozen=True)
class Route:
    """A place to go to."""


@dataclass(frozen=True)
class ToPage(Route):
    """A page of a space, and a part of it: a block, or with # the heading a link names. Without a page the one read last."""

    space: str
    page: str | None = None
    part: str = ""


@dataclass(frozen=True)
class ToCollection(Route):
    """A collection, among the spaces."""

    collection: str


@dataclass(frozen=True)
class ToAccess(Route):
    """Who may do what in a space or a collection."""

    at: SpaceRef | CollectionRef


@dataclass(frozen=True)
class ToChangeRequest(Route):
    """A change request, over the list of them, and a thread in it. What is not known of it is read before it is shown."""

    at: ChangeRequestRef
    known: ChangeRequest | None = None
    thread: Comment | None = None


@dataclass(frozen=True)
class ToSearch(Route):
    """Searching everywhere, for some words to begin with."""

    words: str = ""


@dataclass(frozen=True)
class ToThread(Route):
    """Where something was written: its thread, as far as it is known, else the page and block it is about."""

    at: SpaceRef | ChangeRequestRef
    thread: Comment | None
    page: str | None
    node: str
    view: str
    """The view it was written in."""


@dataclass(frozen=True)
class ToActivity(Route):
    """What is written and waits or failed, and what was asked last."""
