"""The session that the app shows, with its inbox and unsent texts. Also the ways to sign in. `cli` creates sessions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from textual.content import Content

from octavo.api.activity import Activity
from octavo.api.operation import ChangeRequestRef, ListPage, Operation
from octavo.concurrency import run_in_thread
from octavo.data.drafts import Drafts, UnsentIndex, UnsentText
from octavo.data.live import Live
from octavo.data.offline_spaces import OfflineSpaces
from octavo.data.search_index import SearchIndex
from octavo.data.state_db import StateDb
from octavo.data.writes.outbox import Outbox
from octavo.lazy_import import lazy
from octavo.tui.widgets.commands import HostApp
from octavo.tui.widgets.short_texts import plural

if TYPE_CHECKING:
    from datetime import datetime

    from textual.signal import Signal
    from textual.timer import Timer

    from octavo.api.change_requests import ChangeRequest
    from octavo.api.comments import Comment
    from octavo.api.organizations import Organization
    from octavo.data.inbox import InboxRow
    from octavo.data.inbox_loader import InboxLoader, InboxSnapshot
    from octavo.data.inbox_marks import InboxMarks, MarkedRows
    from octavo.data.proposed_notes import ProposedNotes

_new_loader = lazy("octavo.data.inbox_loader:InboxLoader")
_new_marks = lazy("octavo.data.inbox_marks:InboxMarks")
_proposed_notes = lazy("octavo.data.proposed_notes:ProposedNotes")  # lazy: only views of change requests show notes


class DemoRoles(NamedTuple):
    """Roles in which the user can try the demo."""

    roles: tuple[str, ...]
    """Names of the roles, the highest first."""
    current_role: str
    open_session: Callable[[str], Session]
    """Opens the demo as a user with the given role. Raises OSError or ValueError."""


class ServerAccount(NamedTuple):
    """An account on a server to which the user is signed in."""

    profile_name: str
    """Name of the profile. Empty if the API key comes from an environment variable."""
    origin: str
    host: str
    user_name: str
    """Name of the user in the profile. Empty if unknown."""


@dataclass(frozen=True)
class Session:
    """Data of one account on a server, of the demo, or of a folder: the cache, the outbox, the drafts and the saved
    state. The app shows one session at a time."""

    live: Live
    outbox: Outbox
    drafts: Drafts
    state: StateDb
    kind: Literal["demo", "folder", "server"]
    label: str
    """Label in the top bar, such as `mara@docs.example.com`, `DEMO`, or the name of a folder."""
    latest_requests: Callable[[], Iterator[Activity]]
    """Yields the latest API requests, the newest first."""
    download: Callable[[str, int], AsyncGenerator[bytes, None]]
    """Yields the bytes of a file. The arguments are its download URL and the maximum size in bytes. Raises ApiError."""
    upload: Callable[[str, AsyncIterable[bytes], int, str], Awaitable[None]]
    """Sends a file to an upload URL, without the API key and without retries. The arguments are the URL, the chunks,
    the size in bytes and the MIME type. Raises ApiError."""
    close_client: Callable[[], Awaitable[None]]
    """Closes the connections to the server. For the demo or a folder, stops the embedded platform."""
    offline: OfflineSpaces
    search_index: SearchIndex = field(default_factory=lambda: SearchIndex(None))
    """Local full-text index of the pages, threads and change requests that Octavo has loaded."""
    response_wait: Callable[[], float] = lambda: 0.0
    """Returns for how many seconds the oldest unanswered request has been waiting. 0 if none is waiting."""
    read_only_reason: str = ""
    """Reason why the session is read-only, as a sentence. Empty if the user can make changes."""
    demo_roles: DemoRoles | None = None
    """Roles in which the user can try the demo. None outside the demo."""
    account: ServerAccount | None = None
    """Account on the server. None for the demo and for a folder."""
    reopen: Callable[[], Session] | None = None
    """Opens a new session with the same account or folder. None if that is impossible. Raises OSError or ValueError."""
    connect: Callable[[], None] = lambda: None
    """Allows requests without starting background work."""
    on_first_paint: Callable[[], None] = lambda: None
    """Allows requests and starts background work. Called after the first paint."""
    folder_root: Callable[[], str | None] = lambda: None
    """Returns the path of the space's root in the open folder, such as `docs`. Empty if the folder itself is the root.
    None if the session shows no folder."""
    folder_warnings: Callable[[], Awaitable[Sequence[str]]] | None = None
    """Returns warnings about files of the folder that could not be loaded. None if the session shows no folder."""
    wait_until_indexed: Callable[[], Awaitable[None]] | None = None
    """Waits until search finds all pages of the folder. None if the session shows no folder."""
    load_progress: Callable[[], str] = lambda: ""
    """Returns a sentence about the progress of loading a folder. Empty when loading is complete."""
    first_titles: Callable[[], Sequence[str]] = tuple
    """Returns page titles, indented by level, to show until the folder is loaded. Empty without a folder."""
    reload_files: Callable[[], Awaitable[bool]] | None = None
    """Loads changed files of the folder. Returns True if the space changed. None without a folder. Raises OSError."""
    greeting: str = ""
    """Notification that appears when the app shows the session. Empty for none."""

    async def disconnect(self) -> None:
        """End the undo delays, wait up to 2 s for running writes, and end all requests. Unsent writes stay."""
        await self.live.close()
        await self.outbox.close()
        await self.offline.close()
        await self.close_client()

    async def close(self) -> None:
        """Call `disconnect`, then close the search index, the cache and `state.db`."""
        await self.disconnect()
        # Close the files at the same time, because each waits for the disk.
        files = (self.search_index, self.live.cache, self.state)
        await asyncio.gather(*(run_in_thread(each.close) for each in files))

    def finish_writing(self) -> None:
        """Write everything to disk before the process ends. The files of the cache and of the search index stay open,
        because SQLite would move new rows from their logs into the files, and wait for the disk."""
        self.search_index.finish_writing()
        self.live.cache.flush()
        self.state.flush()

    @cached_property
    def proposed_notes(self) -> ProposedNotes:
        """Review notes that other programs propose for change requests."""
        notes: ProposedNotes = _proposed_notes(self.state, self.outbox)
        return notes

    @property
    def is_embedded(self) -> bool:
        """True for the demo and for a folder, whose pages a web browser cannot open."""
        return self.kind != "server"


class SignInResult(NamedTuple):
    """The new session, and sentences about its API key. Each sentence comes with its tone: `ok` or `care`."""

    session: Session
    key_notes: tuple[tuple[Literal["ok", "care"], str], ...]


class SignInMethods(NamedTuple):
    """Functions that sign in and out. They raise ApiError, OSError or ValueError, with a message for the user."""

    host: str
    """Server for which the user pastes an API key, such as `api.gitbook.com`."""
    reason: str
    """Sentence that says why a new API key is needed. Empty on the first sign-in."""
    previous_label: str
    """Label of the session to which the user can go back. Empty if there is none."""
    describe_storage: Callable[[], Awaitable[str]]
    """Returns sentences that say where the API key will be stored. Asking the keyring may take a while."""
    sign_in: Callable[[str], Awaitable[SignInResult]]
    """Checks an API key, stores it, and connects to the server."""
    open_previous: Callable[[], Awaitable[Session]]
    """Opens the session again that the user left for the sign-in screen."""
    open_demo: Callable[[], Awaitable[Session]]
    """Opens the demo, which has sample documentation."""
    open_folder: Callable[[str], Awaitable[Session]]
    """Loads a folder of pages into the embedded platform, and connects to it."""
    accounts: Callable[[], Sequence[ServerAccount]]
    """Returns the accounts that are signed in on this computer."""
    methods_for_new_key: Callable[[str, Session], SignInMethods]
    """Takes the reason to show and the session to go back to. Returns functions to sign in with a new API key."""
    switch_account: Callable[[str], SignInState]
    """Switches to the account of a profile, by name. The session in the result is None if there is no API key."""
    sign_out: Callable[[ServerAccount], Awaitable[Callable[[], SignInState]]]
    """Deletes an account and its API key. After the session has ended, call the returned function: it deletes the
    cached pages and returns what the app shows next."""


SignInState = tuple[SignInMethods, Session | None]
"""Sign-in methods, and the session that the app shows next, or None for the sign-in screen."""


RETRY_SECONDS = 2.0
"""Seconds between two attempts to save drafts after an error."""


class UnsentTexts:
    """Texts that the user has written but not sent: drafts and pending comments. Saves drafts again after a failure."""

    def __init__(self, app: HostApp[Any], on_change: Callable[[], None]) -> None:
        """`on_change` is called each time before `changed` is published."""
        self.changed: Signal[None] = app.signal("left unsent")
        """Published when an unsent text appears, disappears or moves to another page, or if saving a draft fails."""
        self.text_changed: Signal[None] = app.signal("drafts")
        """Published when an unsent text may have been edited."""
        self.index = UnsentIndex()
        self._before_publish = on_change
        self._session: Session | None = None
        self._app = app
        self._save_timer: Timer | None = None
        """Timer that retries saving. None while all drafts are saved."""
        self._indexed_keys: tuple[frozenset[str], frozenset[str], tuple[str, ...]] = frozenset(), frozenset(), ()
        self._unsubscribers: list[Callable[[], None]] = []

    def watch_session(self, session: Session) -> None:
        self._session = session
        self._unsubscribers = [
            session.drafts.changed.add(self._on_texts_changed),
            session.outbox.changed.add(self._on_texts_changed),
        ]
        self._on_texts_changed()

    def forget_session(self) -> None:
        """Stop watching the drafts of the session, and forget them."""
        while self._unsubscribers:
            self._unsubscribers.pop()()
        if self._save_timer is not None:
            self._save_timer.stop()
        self._save_timer = None
        self._session, self.index, self._indexed_keys = None, UnsentIndex(), (frozenset(), frozenset(), ())

    def _on_texts_changed(self) -> None:
        if self._session is None:
            return
        pending_entries = [each for each in self._session.outbox.own_entries if each.state == "pending"]
        unsaved_keys = self._session.drafts.late_keys()
        indexed_keys = self._session.drafts.keys(), unsaved_keys, tuple(each.id for each in pending_entries)
        if unsaved_keys and self._save_timer is None:
            self._save_timer = self._app.set_interval(RETRY_SECONDS, self._retry_saving)
        elif not unsaved_keys and self._save_timer is not None:
            self._save_timer.stop()
            self._save_timer = None
        if indexed_keys != self._indexed_keys:
            self._indexed_keys, self.index = indexed_keys, UnsentIndex(indexed_keys[0], pending_entries, unsaved_keys)
            self._before_publish()
            self.changed.publish(None)
        self.text_changed.publish(None)

    def _retry_saving(self) -> None:
        if self._session is not None:
            self._app.background(self._session.drafts.save_again())

    @property
    def why_not_saved(self) -> str:
        """Sentence part such as `2 drafts not saved yet: the disk is full`. Empty if all drafts are saved."""
        unsaved_keys = self._indexed_keys[1]
        if self._session is None or not unsaved_keys:
            return ""
        return f"{plural(len(unsaved_keys), 'draft')} not saved yet: {self._session.drafts.unsaved_reason}"


def unsent_mark(texts: Iterable[UnsentText], *, symbols_only: bool = False) -> Content:
    """Return counts of unsent texts, such as `✎ 2 drafts`, or only symbols such as `✎`. Empty without `texts`."""
    all_texts = tuple(texts)
    pending_count = sum(bool(each.entry_id) for each in all_texts)
    late_count = sum(each.is_late for each in all_texts)
    draft_count, note, error = len(all_texts) - pending_count - late_count, "$octavo-note", "$error"
    parts = [("!", "not saved yet" if late_count == 1 else f"{late_count} not saved yet", error)] * bool(late_count)
    parts += [("✎", "draft" if draft_count == 1 else f"{draft_count} drafts", note)] * bool(draft_count)
    parts += [("◌", "pending" if pending_count == 1 else f"{pending_count} pending", note)] * bool(pending_count)
    shown_parts = [Content.styled(sign if symbols_only else f"{sign} {label}", style) for sign, label, style in parts]
    return Content("" if symbols_only else " ").join(shown_parts)


def with_unsent_mark(texts: Iterable[UnsentText], label: str) -> Content:
    """Return `label` for the right end of a row. If there are `texts`, a mark such as `✎ 2 drafts` comes first."""
    label_text, mark = Content.styled(label, "$octavo-muted"), unsent_mark(texts)
    return Content.assemble(mark, "  ", label_text) if mark else label_text


_COUNT_KEY = "count of the inbox"


class InboxFeed:
    """Loads the inbox of the current organization, and groups its rows into active, done and snoozed."""

    def __init__(self, app: HostApp[Any], on_comments_read: Callable[[str, ListPage[Comment]], None]) -> None:
        """`on_comments_read` is called with the ID of a change request and its loaded open comments."""
        self._on_comments_read = on_comments_read
        self._reported_comments: dict[ChangeRequestRef, tuple[Comment, ...]] = {}
        """Open comments of each change request, as given to `on_comments_read`."""
        self.changed: Signal[None] = app.signal("inbox")
        """Published when a row, or the data of a row, has changed."""
        self.loader: InboxLoader | None = None
        """Loads the inbox rows. None before `start`, and without an organization."""
        self.marks: InboxMarks | None = None
        self.snapshot: InboxSnapshot | None = None
        """All loaded rows, including done and snoozed rows. None until the first rows are loaded."""
        self.rows: MarkedRows | None = None
        """The rows of `snapshot`, grouped into active, done and snoozed. None until the first rows are loaded."""
        self._session: Session | None = None
        self._organization: Organization | None = None
        self._is_started = False
        self._last_count: int | None = None
        """How many rows needed attention in the last complete inbox, maybe of an earlier run. None if unknown."""
        self._unsubscribe: Callable[[], None] | None = None

    def switch_organization(self, session: Session, organization: Organization) -> None:
        """Switch to the inbox of `organization`. Load it if `start` was called before."""
        self._reset()
        self._session, self._organization = session, organization
        stored = session.state.get_value(_COUNT_KEY)
        is_same_organization = isinstance(stored, dict) and stored.get("organization") == organization.id
        self._last_count = stored["count"] if is_same_organization and isinstance(stored.get("count"), int) else None
        if self._is_started:
            self.start()

    def start(self) -> None:
        self._is_started = True
        if self.loader is not None or self._session is None or self._organization is None:
            return
        session = self._session
        self.marks = _new_marks(session.state)
        self.loader = _new_loader(session.live, session.drafts, self._organization)
        self._unsubscribe = self.loader.subscribe(self._on_snapshot)

    async def poll(self) -> None:
        """Fetch changes if the user has ever opened the inbox. Regroup the rows if a mark changed or a snooze ended."""
        if self._last_count is not None:
            self.start()
        if self.loader is not None:
            await self.loader.poll()
        if self.snapshot is not None and self.marks is not None:
            self.marks.reload()
            # The groups differ if another instance changed marks, or if a snooze ended.
            if self.marks.group(self.snapshot.rows) != self.rows:
                self.regroup()

    def rebuild(self) -> None:
        """Build the rows again, because an unsent text has appeared or disappeared."""
        if self.loader is not None:
            self.loader.rebuild()

    @property
    def current_as_of(self) -> datetime | None:
        """Time at which all lists of the inbox were last known to be current. None if a list is not loaded."""
        return self.loader.current_as_of if self.loader is not None else None

    @property
    def list_operations(self) -> tuple[Operation[Any], ...]:
        """Operations that load the lists from which the inbox is built. Empty until loading has started."""
        return self.loader.list_operations if self.loader is not None else ()

    def clear_organization(self) -> None:
        """Stop loading the inbox and forget the rows, because the user is no longer in the organization."""
        self._reset()
        self._organization = None
        self.changed.publish(None)

    def stop(self) -> None:
        """Stop loading the inbox, because the session ends."""
        self._reset()
        self._session = self._organization = None
        self._is_started = False

    def regroup(self) -> None:
        """Group the rows again, because a row was marked or a snooze has ended."""
        if self.snapshot is not None and self.marks is not None:
            self.rows = self.marks.group(self.snapshot.rows)
            self._save_count()
            self.changed.publish(None)

    @property
    def count(self) -> int:
        """Number of rows that need attention. Until rows are loaded, the last known number, or 0."""
        snapshot, rows = self.snapshot, self.rows
        if snapshot is None or rows is None or not (snapshot.rows or _is_complete(snapshot)):
            return self._last_count or 0
        return len(rows.active)

    @property
    def is_complete(self) -> bool:
        """True if everything is loaded that can add a row to the inbox."""
        return self.snapshot is not None and _is_complete(self.snapshot)

    def change_request(self, row: InboxRow | None) -> ChangeRequest | None:
        """Return the change request of a row. None if the row has none, or if it is not loaded."""
        if self.loader is None or row is None or not isinstance(row.target, ChangeRequestRef):
            return None
        return self.loader.change_request(row.target)

    def comment(self, row: InboxRow | None) -> Comment | None:
        """Return the first comment of a row's thread. None if the row has no thread or the comment is not loaded."""
        return self.loader.comment(row.target) if self.loader is not None and row is not None else None

    def _on_snapshot(self, snapshot: InboxSnapshot) -> None:
        self.snapshot = snapshot
        comments_by_request = self.loader.threads_of_requests if self.loader is not None else {}
        for at, comments in comments_by_request.items():
            if self._reported_comments.get(at) is not comments:
                self._on_comments_read(at.change_request_id, ListPage(items=comments))
        self._reported_comments = comments_by_request
        self.regroup()

    def _save_count(self) -> None:
        session, organization, count = self._session, self._organization, self.count
        if self.snapshot is None or session is None or organization is None or count == self._last_count:
            return
        if _is_complete(self.snapshot):
            self._last_count = count
            session.state.set_value(_COUNT_KEY, {"organization": organization.id, "count": count})

    def _reset(self) -> None:
        if self._unsubscribe is not None:
            self._unsubscribe()
        self._unsubscribe = self.loader = self.marks = self.snapshot = self.rows = None
        self._last_count = None
        self._reported_comments = {}


def _is_complete(snapshot: InboxSnapshot) -> bool:
    return not (snapshot.is_loading or snapshot.failed or snapshot.unknown.summary)
