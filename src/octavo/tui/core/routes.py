"""Destinations of navigation as values: `shell.go(ToPage(...))`. The package `app` maps each route to its screen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from octavo.api.places import ChangeRequestRef, CollectionRef, SpaceRef

if TYPE_CHECKING:
    from octavo.api.change_requests import ChangeRequest
    from octavo.api.comments import Comment


@dataclass(frozen=True)
class Route:
    """A destination of navigation."""


@dataclass(frozen=True)
class ToPage(Route):
    """A page of a space, by default the last page the user read. `part` is the key of a block, or `#` and an anchor."""

    space: str
    page: str | None = None
    part: str = ""


@dataclass(frozen=True)
class ToCollection(Route):
    """A collection in the list of spaces."""

    collection: str


@dataclass(frozen=True)
class ToAccess(Route):
    """Access settings of a space or collection."""

    at: SpaceRef | CollectionRef


@dataclass(frozen=True)
class ToChangeRequest(Route):
    """A change request, and optionally one of its threads. Missing data is loaded before the screen opens."""

    at: ChangeRequestRef
    change_request: ChangeRequest | None = None
    thread: Comment | None = None


@dataclass(frozen=True)
class ToSearch(Route):
    """The search screen with initial search words."""

    query: str = ""


@dataclass(frozen=True)
class ToThread(Route):
    """The place of a comment or reply: its thread if it is loaded, else the page and block."""

    at: SpaceRef | ChangeRequestRef
    thread: Comment | None
    page: str | None
    node: str
    view: str
    """The view in which the user wrote the comment."""


@dataclass(frozen=True)
class ToActivity(Route):
    """The outbox and the latest requests."""
