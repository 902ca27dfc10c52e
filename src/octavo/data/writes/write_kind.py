"""The type of a kind of write (`WriteKind`), the types of its functions, and the meaning of errors for a write.

The table of all kinds is in kinds.py."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar

from octavo.api.errors import MAY_BE_DONE, ApiError, NotSent, Outcome, RateLimited, Unauthorized, Unreachable
from octavo.api.operation import SPECS, Operation
from octavo.api.wire import url_path
from octavo.data.availability import Send

if TYPE_CHECKING:
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
    """An operation that can wait in the outbox. Its row in kinds.py has `is_durable=True`."""

W = TypeVar("W", bound=Operation[Any])

CLOCKS_APART = timedelta(minutes=2)
"""Maximum difference between the clocks of the machines that the server runs on."""


@dataclass(frozen=True, slots=True)
class WriteFacts:
    """Properties of a write that decide its order, checks and messages."""

    thread: str = ""
    """Id of the comment that the write changes or replies to. Empty for a new thread and for a review."""
    page: str = ""
    """Id of the page of a new thread. Empty for all other writes, and for a thread on no page."""
    node: str = ""
    """Key of the block of a new thread. Empty for all other writes, and for a thread on no block."""
    text: str = ""
    """Text that the write sends. Empty if it sends no text."""
    creates: bool = False
    """True if the write creates an item. If it were sent twice, the item would exist twice."""
    is_review: bool = False
    """True if the write submits a review."""
    only_resolves: bool = False
    """True if the write only resolves or reopens a thread."""


@dataclass(frozen=True)
class Basis:
    """The state of the target when the user saw it. A write is sent only if the target has not changed since."""

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
    """Id of the user's own review that this write withdraws, by requesting the review again. None for all other
    writes."""


@dataclass(frozen=True)
class Attempt(Generic[W]):
    """One attempt to send a write, with the facts known before the request leaves."""

    op: W
    basis: Basis = Basis()
    baseline: tuple[str, ...] | None = None
    """State of the server before the first attempt: ids of items, or texts that change when others change the target.
    None if there was no check."""
    newest_at: datetime | None = None
    """Time of the newest item of the baseline, by the clock of the server. None if unknown."""
    me: str | None = None
    """Id of the signed-in user. None if the server does not send it."""
    other_created_ids: frozenset[str] = frozenset()
    """Ids of the items that other writes of this profile created. They cannot be the result of this write."""


@dataclass(frozen=True)
class Ready:
    """Result of a check: the write may be sent. Both fields are copied to the attempt or the outbox entry."""

    baseline: tuple[str, ...] = ()
    newest_at: datetime | None = None


@dataclass(frozen=True)
class AlreadyDone:
    """Result of a check or of a search: the server already has the change."""

    remote_id: str = ""
    """Id of the item that the write created. Empty if the write creates nothing."""
    result: Any = None
    """The response that the server would have sent. None if the caller needs only the id."""
    remark: str = ""
    """Sentence for the user that says why nothing was sent. Empty if the result needs no explanation."""


@dataclass(frozen=True)
class Changed:
    """Result of a check: the target has changed since the user saw it. The write is not sent."""

    reason: str
    """The reason, without a full stop. For a durable write, it is used after “Could not …: ”."""
    new_revision: str | None = None
    """Head revision of the change request, if the head has changed. Otherwise None."""

    @property
    def message(self) -> str:
        """The reason as a sentence of its own."""
        return f"{self.reason[:1].upper()}{self.reason[1:]}."


Check: TypeAlias = Ready | AlreadyDone | Changed


async def _no_check(send: Send, attempt: Attempt[Any]) -> Check:
    return Ready()


def _no_facts(op: Operation[Any]) -> WriteFacts:
    return WriteFacts()


def _no_undo(op: Operation[Any], basis: Basis) -> str:
    return "You cannot undo this change by pressing u."


def _path(op: Operation[Any], basis: Basis) -> str:
    return f"{SPECS[type(op)].method.lower()} {url_path(op)}"


@dataclass(frozen=True)
class WriteKind(Generic[W]):
    """Functions that find, check and undo one kind of write."""

    find: Callable[[Send, Attempt[W]], Awaitable[AlreadyDone | None]]
    """Searches the server for the result of the write after its response was lost. Returns None if it is not there.
    Raises ApiError."""
    check: Callable[[Send, Attempt[W]], Awaitable[Check]] = _no_check
    """Compares the target with the basis before the write is sent. Raises ApiError."""
    facts: Callable[[W], WriteFacts] = _no_facts
    undo: Callable[[W, Basis], Operation[Any] | str] = _no_undo
    """Returns the operation that undoes the write, or a sentence that says why it cannot be undone."""
    is_durable: bool = False
    """True if the write can wait in the outbox."""
    lock_name: Callable[[W, Basis], str] = _path
    """Returns the name of the lock of a direct write. Writes with the same name are never sent at the same time."""


Failure: TypeAlias = Literal["refused", "waiting", "unknown"]


def classify_failure(error: ApiError, *, was_sent: bool) -> Failure:
    """Return what an error means for a write.

    `refused` means that the server will not make the change. `waiting` means that the write was not sent and can be
    sent later. `unknown` means that the server may have made the change. `was_sent` is True if the request of the write
    failed, and False if a read before it failed.
    """
    if isinstance(error, (Unauthorized, RateLimited, NotSent)) or error.outcome is Outcome.NOT_SENT:
        return "waiting"
    if error.outcome is Outcome.REFUSED:
        return "refused"
    return "unknown" if was_sent else "waiting"


def cause_of(error: ApiError) -> str:
    """Return the message of an error without its last sentence, which warns that the change may have been made."""
    return str(error).removesuffix(MAY_BE_DONE).rstrip()


def concerns_one_request(error: ApiError) -> bool:
    """Return True if the error concerns only this request, so other requests may succeed."""
    return not isinstance(error, (Unreachable, RateLimited, Unauthorized))
