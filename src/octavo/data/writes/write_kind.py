"""Facts about a kind of write, and about one attempt to send a write. Pure."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar

from octavo.api.errors import ApiError, NotSent, Outcome, RateLimited, Unauthorized
from octavo.api.operation import SPECS, Operation
from octavo.api.wire import location
from octavo.data.sending import Send

if TYPE_CHECKING:
    from datetime import datetime

    from octavo.api import comments, reviews

    DurableWrite: TypeAlias = (
        comments.Create
        | comments.CreateReply
        | comments.Update
        | comments.UpdateReply
        | comments.Delete
        | comments.DeleteReply
        | reviews.Submit
    )
    """An operation that may wait in the outbox: its row in `KINDS` is durable."""

W = TypeVar("W", bound=Operation[Any])


@dataclass(frozen=True, slots=True)
class WriteFacts:
    """The facts of a write on which order, checks and messages depend."""

    thread: str = ""
    """Id of the comment that the write changes or replies to. Empty for a new thread and for a review."""
    page: str = ""
    """Id of the page of a new thread."""
    node: str = ""
    """Key of the block of a new thread."""
    text: str = ""
    """Text that the write sends."""
    creates: bool = False
    """True if the write creates an item. Sent twice, the item would exist twice."""
    is_review: bool = False
    """True if the write submits a review."""
    only_resolves: bool = False
    """True if the write only resolves or reopens a thread."""


@dataclass(frozen=True)
class Basis:
    """The state of the target when the user wrote: a write is sent only if the target has not changed since."""

    text: str | None = None
    """Markdown of the comment. None if the comment is not loaded as markdown."""
    is_open: bool | None = None
    """True if the thread is open. None if unknown."""
    revision: str | None = None
    """Head revision of the change request. None if unknown."""
    base: str | None = None
    """Revision of main that the change request is based on. None if unknown."""
    status: str | None = None
    """Status of the change request. None if unknown."""
    is_outdated: bool | None = None
    """True if main has changed since the base. None if unknown."""
    main: str | None = None
    """Revision of main. None if unknown."""
    review: str | None = None
    """Id of the review that a new request makes outdated. None if the request is for another reason."""


@dataclass(frozen=True)
class Attempt(Generic[W]):
    """One attempt to send a write, and the facts known before it."""

    op: W
    basis: Basis = Basis()
    baseline: tuple[str, ...] | None = None
    """Result of `check` before the first attempt: ids, or the signs of a change by others. None if there was no
    check."""
    since: datetime | None = None
    """Time of the newest item of the baseline, by the clock of the server. None if unknown."""
    me: str | None = None
    """Id of the signed-in user. None if the server does not say."""
    claimed: frozenset[str] = frozenset()
    """Ids of what other writes of this profile created: no two writes create the same."""


@dataclass(frozen=True)
class Ready:
    """The write may be sent. `baseline` and `since` go into the attempt."""

    baseline: tuple[str, ...] = ()
    since: datetime | None = None


@dataclass(frozen=True)
class AlreadyDone:
    """The server has what the write asks for."""

    remote_id: str = ""
    """Id of what the write created. Empty if it creates nothing."""
    result: Any = None
    """The response that the server would have sent. None if only the id matters."""
    remark: str = ""
    """Sentence for the user if the write was not needed. Empty if its result says enough."""


@dataclass(frozen=True)
class Changed:
    """The target has changed since the user saw it: the write is not sent."""

    reason: str
    """The reason, without a full stop. For a durable write, it follows “Could not …: ”."""
    now: str | None = None
    """Head revision of the change request. None if something else has changed."""

    @property
    def message(self) -> str:
        """The reason as a sentence of its own."""
        return f"{self.reason[:1].upper()}{self.reason[1:]}."


Check: TypeAlias = Ready | AlreadyDone | Changed
Overlay: TypeAlias = Callable[[Any, Any, Any, Any], Any]
"""Returns a response with a write of the outbox on it. Takes the read operation, its response, the entry and the user."""


async def no_check(send: Send, attempt: Attempt[Any]) -> Check:
    """Return Ready: the write depends on nothing that could have changed."""
    return Ready()


def _no_facts(op: Operation[Any]) -> WriteFacts:
    return WriteFacts()


def _no_undo(op: Operation[Any], basis: Basis) -> str:
    return "You cannot undo this change by pressing u."


def _path(op: Operation[Any], basis: Basis) -> str:
    return f"{SPECS[type(op)].method.lower()} {location(op)}"


@dataclass(frozen=True)
class WriteKind(Generic[W]):
    """The functions that check, find, undo and show one kind of write. `check` and `find` raise ApiError."""

    check: Callable[[Send, Attempt[W]], Awaitable[Check]]
    """Compares the target with the basis, before the write is sent."""
    find: Callable[[Send, Attempt[W]], Awaitable[AlreadyDone | None]]
    """Looks for the write on the server after its response was lost. None if it is not there."""
    facts: Callable[[W], WriteFacts] = _no_facts
    undo: Callable[[W, Basis], Operation[Any] | str] = _no_undo
    """Returns the operation that undoes the write, else the sentence that says why there is none."""
    overlay: Mapping[type[Operation[Any]], Overlay] = field(default_factory=dict)
    """Optimistic updates of the responses on screen, by read operation."""
    is_durable: bool = False
    """True if the write may wait in the outbox."""
    claim: Callable[[W, Basis], str] = _path
    """Names a direct write: equal writes have equal names, and are sent one at a time."""


Fate: TypeAlias = Literal["refused", "waiting", "unknown"]


def fate(error: ApiError, *, has_left: bool) -> Fate:
    """Return what an error means for a write.

    `refused`: the server does not do it. `waiting`: the write was not sent, and may be sent later. `unknown`: the server
    may have done it. `has_left`: the write itself failed, not a read before it.
    """
    if isinstance(error, (Unauthorized, RateLimited, NotSent)) or error.outcome is Outcome.NOT_SENT:
        return "waiting"
    if error.outcome is Outcome.REFUSED:
        return "refused"
    return "unknown" if has_left else "waiting"
