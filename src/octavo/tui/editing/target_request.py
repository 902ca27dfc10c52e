"""Chooses the change request that receives an edit, and merges and saves the text of a page to it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from octavo.api import change_requests
from octavo.api.change_requests import ChangeRequest
from octavo.api.errors import ApiError, Forbidden, NotFound
from octavo.api.places import ChangeRequestRef, RevisionRef, SpaceRef
from octavo.api.text import Raw
from octavo.data.live import Live
from octavo.data.writes.change_request_writes import create
from octavo.data.writes.content_writes import WrittenText, edit, merge_overwritten, page_source, update_text
from octavo.lazy_import import lazy
from octavo.tui.core.permissions import UNDECIDED
from octavo.tui.core.write_queue import show_progress
from octavo.tui.widgets.chooser import Choice, Picker
from octavo.tui.widgets.short_texts import long_age

if TYPE_CHECKING:
    from octavo.tui.core.shell import Shell

_merge = lazy("octavo.documents.merging.page_merge:merge")


_MAX_SUBJECT_LENGTH = 100


@dataclass(frozen=True)
class TargetRequest:
    """A change request that receives an edit. If `change_request` is None, a new one with `subject` is created."""

    space: SpaceRef
    subject: str = ""
    change_request: ChangeRequest | None = None

    @property
    def ref(self) -> ChangeRequestRef | None:
        return self.change_request.ref(self.space) if self.change_request is not None else None

    @property
    def title(self) -> str:
        """Name of the change request for messages."""
        if self.change_request is None:
            return "a new change request"
        return f"#{self.change_request.number} {self.change_request.title}"


def new_request_target(space: SpaceRef, subject: str) -> TargetRequest:
    """Return the target for a new change request with `subject`."""
    return TargetRequest(
        space, subject if len(subject) <= _MAX_SUBJECT_LENGTH else f"{subject[: _MAX_SUBJECT_LENGTH - 1]}…"
    )


async def choose_target(
    app: Shell, space: SpaceRef, subject: str, on_choice: Callable[[TargetRequest], Coroutine[Any, Any, None]]
) -> None:
    """Ask for the change request that receives an edit, then call `on_choice`. The choices are the change request used last,
    a new one, and other open change requests of the user. If only a new one is possible, the user is not asked. Returns
    when `on_choice` is done or the dialog is open."""
    new_target = new_request_target(space, subject)
    try:
        with show_progress(app, "Loading your change requests…"):
            own, last = await asyncio.gather(_own_open(app, space), _last_used(app, space))
    except ApiError as error:
        app.say(f"Could not load your change requests: {error}", tone="failed")
        return
    others = [each for each in own if last is None or each.id != last.id]
    if last is None and not others:
        await on_choice(new_target)
        return

    def choice(change_request: ChangeRequest, group: str) -> Choice[TargetRequest]:
        target = TargetRequest(space, change_request=change_request)
        return Choice(
            target, f"#{change_request.number} {change_request.title}", _status(app, change_request), group=group
        )

    choices = [choice(last, "Last used")] if last is not None else []
    choices.append(Choice(new_target, "New change request", f"“{new_target.subject}”", group="Or" if choices else ""))
    choices += [choice(each, "Your other open change requests" if last is not None else "Or") for each in others]

    def on_chosen(target: TargetRequest | None) -> None:
        if target is not None:
            app.background(on_choice(target))

    app.push_screen(Picker("Choose a change request", choices), on_chosen)


async def _last_used(app: Shell, space: SpaceRef) -> ChangeRequest | None:
    """Return the last used change request of a space. None if it is no longer open. Raises ApiError."""
    name = app.session.state.get_fact(_last_used_fact(space))
    if not isinstance(name, str):
        return None
    at = ChangeRequestRef(space_id=space.space_id, change_request_id=name)
    try:
        last: ChangeRequest = await app.session.live.fetch(change_requests.Get(at=at))
    except (NotFound, Forbidden):
        return None
    return last if last.status in UNDECIDED else None


async def _own_open(app: Shell, space: SpaceRef) -> list[ChangeRequest]:
    """Return the open change requests of the user in a space, last edited first."""
    me = app.workspace.me
    if me is None:
        return []
    lists = [change_requests.List(at=space, status=status, creator=me.id, limit=100) for status in UNDECIDED]
    own_requests = [item for page in await asyncio.gather(*map(app.session.live.fetch, lists)) for item in page.items]
    return sorted(
        own_requests, key=lambda request: request.updated_at.timestamp() if request.updated_at else 0.0, reverse=True
    )


def _status(app: Shell, change_request: ChangeRequest) -> str:
    age, me, author = long_age(change_request.updated_at), app.workspace.me, change_request.created_by
    author_label = f"by {author.name}" if author is not None and (me is None or author.id != me.id) else ""
    outdated = "outdated" if change_request.outdated else ""
    return " · ".join(each for each in (author_label, change_request.status, age, outdated) if each)


async def ensure_started(app: Shell, target: TargetRequest) -> ChangeRequest | None:
    """Return the change request of a target, and create it if it is new. None after showing the error if that fails."""
    if target.change_request is not None:
        return target.change_request
    sent = await create(app.session.live, target.space, target.subject)
    if sent.result is None:
        app.say(sent.message, tone="failed")
    return sent.result


def record_edit(app: Shell, space: SpaceRef, change_request: ChangeRequest) -> None:
    """Remember the change request as the last used, and make `u` explain that the edit cannot be undone."""
    remember_target(app, space, change_request)
    app.writes.forbid_undo(
        "You cannot undo this change by pressing u. To revert the change, open the change request, select the page, and press Q."
    )


def remember_target(app: Shell, space: SpaceRef, change_request: ChangeRequest) -> None:
    """Make a change request the first choice for the next edit in this space."""
    app.session.state.set_fact(_last_used_fact(space), change_request.id)


def _last_used_fact(space: SpaceRef) -> str:
    return f"written {space.space_id}"


_MAX_ATTEMPTS = 3
"""Number of attempts while other people keep editing the change request."""
OWN_LABEL = "your text"
"""Label of the own text in conflict markers."""
OTHERS_LABEL = "other people's text"


@dataclass(frozen=True)
class PageOutcome:
    """Result of saving a page."""

    kind: Literal["sent", "merged", "same", "conflict", "gone", "refused", "unknown"]
    """`merged`: saved together with edits of other people. `same`: the page already has the text. `conflict`: other
    people edited the same text. `gone`: the page does not exist any more."""
    message: str = ""
    revision: str = ""
    """Latest revision of the change request."""
    text: Raw | None = None
    """The text that was sent. For a conflict, the text with conflict markers, based on `revision`."""


async def write_page(live: Live, at: ChangeRequestRef, page_id: str, base: RevisionRef, mine: Raw) -> PageOutcome:
    """Save `mine` as the text of a page that was loaded from `base`. Edits that other people made since then are kept."""
    try:
        before = await page_source(live, base, page_id)
        for _ in range(_MAX_ATTEMPTS):
            head = (await live.send(change_requests.Get(at=at))).revision or ""
            current = await page_source(live, revision_ref(at, head), page_id) if head else None
            if current is None:
                return PageOutcome("gone", "Could not save the page: it was deleted from this change request.")
            if current == mine:
                return PageOutcome("same", "The page already has this text.", head, mine)
            text = await _merge_or_none(before or current, current, mine)
            if text is None:
                return PageOutcome("conflict", "", head, await _with_markers(before or current, current, mine))
            sent = await edit(live, at, head, (update_text(page_id, text),))
            if sent.kind == "changed":
                continue
            if sent.kind != "done":
                return PageOutcome(sent.kind, sent.message, sent.revision or head, text)
            merged = await merge_overwritten(live, at, sent, {page_id: WrittenText(current, text)})
            if (theirs := merged.conflicts.get(page_id)) is not None:
                return PageOutcome("conflict", "", merged.revision or head, await _with_markers(current, theirs, text))
            saved = merged.texts[page_id].after
            return PageOutcome("sent" if saved == mine else "merged", revision=merged.revision or head, text=saved)
    except ApiError as error:
        return PageOutcome("refused", f"Could not save the page: {error}")
    return PageOutcome("refused", "Could not save the page: others keep changing the page. Try again in a moment.")


async def _merge_or_none(before: Raw, theirs: Raw, mine: Raw) -> Raw | None:
    """Return both texts merged, or None if they conflict."""
    merged = await asyncio.to_thread(_merge, before.text, theirs.text, mine.text)
    return None if merged.named_conflicts else Raw(merged.text())


async def _with_markers(before: Raw, theirs: Raw, mine: Raw) -> Raw:
    """Return both texts merged, with conflict markers."""
    merged = await asyncio.to_thread(_merge, before.text, theirs.text, mine.text)
    return Raw(merged.text(request=OWN_LABEL, main=OTHERS_LABEL))


def revision_ref(at: ChangeRequestRef, revision: str) -> RevisionRef:
    return RevisionRef(space_id=at.space_id, revision_id=revision)
