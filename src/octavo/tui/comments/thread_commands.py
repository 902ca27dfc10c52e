"""Commands for threads and for unsent drafts. One `u` undoes a command for several selected threads."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from octavo.api import comments
from octavo.api.bodies import Markdown
from octavo.api.comments import Comment, Reply
from octavo.api.operation import ChangeRequestRef, Discussion
from octavo.data.drafts import UnsentText
from octavo.data.writes.machine import NewWrite
from octavo.data.writes.outbox import Discarded
from octavo.documents.emoji import to_emoji
from octavo.lazy_import import lazy
from octavo.tui.comments import thread_actions
from octavo.tui.core.external_links import confirm_link, copy_text, missing_link_reason
from octavo.tui.core.permissions import why_not_in_discussion
from octavo.tui.core.routes import ToChangeRequest, ToPage
from octavo.tui.core.write_queue import LocalChange
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.short_texts import plural

if TYPE_CHECKING:
    from octavo.tui.comments.thread_filters import Thread
    from octavo.tui.core.shell import Shell

_choose_emoji = lazy("octavo.tui.comments.autocomplete:choose_emoji")
_open_composer = lazy("octavo.tui.comments.composer:open_composer")


NO_DRAFTS = "You have no unsent drafts here."


EDITOR_DRAFT_LEFT = (
    "You have an unsent draft of this page from your editor. Press e to continue, send, or discard the draft."
)


def why_not_discard(app: Shell, drafts: Sequence[UnsentText]) -> str | None:
    """Return the reason why `drafts` has nothing to discard. None if it has a draft or a pending comment."""
    if any(draft.draft_key or draft.entry_id for draft in drafts):
        return None
    return EDITOR_DRAFT_LEFT if drafts else NO_DRAFTS


def discard(app: Shell, drafts: Sequence[UnsentText]) -> None:
    """Discard drafts and pending comments. There is no confirmation, because `u` restores them."""
    outbox = app.session.outbox
    drafts = [draft for draft in drafts if draft.draft_key or draft.entry_id]
    draft_keys = [draft.draft_key for draft in drafts if draft.draft_key]
    pending_ids = [draft.entry_id for draft in drafts if draft.entry_id]
    discarded = Discarded()

    async def discard_all() -> bool:
        nonlocal discarded
        discarded = await outbox.discard_unsent(draft_keys, pending_ids)
        return bool(draft_keys or discarded.comments)

    async def restore() -> None:
        await outbox.restore_discarded(discarded)

    drafts_text, pending_text = plural(len(draft_keys), "draft"), plural(len(pending_ids), "pending comment")
    object_name = " and ".join([drafts_text] * bool(draft_keys) + [pending_text] * bool(pending_ids))
    if len(drafts) == 1:
        object_name = "draft" if draft_keys else "pending comment"
    restored_message = f"Restored your {object_name}."
    app.writes.apply_change(
        LocalChange(f"discard the {object_name}", discard_all, restore, restored_message),
        message=f"{object_name[:1].upper()}{object_name[1:]} discarded",
    )


UNSENT: Commands[Sequence[UnsentText]] = Commands(
    "draft",
    (
        Command("discard", "ctrl+x", "Discard draft", "Discard your unsent drafts here (press u to undo)",
                run=discard, why_not=why_not_discard, acts_at_once=True, shown=False),
    ),
    find_target=lambda view: view.drafts_in_selection,
)  # fmt: skip
"""Commands for unsent drafts. A view provides the drafts as its `drafts_in_selection`."""


class BulkSelection(NamedTuple):
    """Selected threads to which an action applies. `reason` says why the other selected threads are skipped."""

    action: str
    threads: tuple[Thread, ...]
    skipped_count: int = 0
    reason: str = ""

    @property
    def skipped_note(self) -> str:
        """End of a message about skipped threads, such as ` Skipped 2 other threads: …`. Empty if none is skipped."""
        return f" Skipped {plural(self.skipped_count, 'other thread')}: {self.reason}" if self.skipped_count else ""


def select_actionable(app: Shell, action: str, selected: Sequence[Thread]) -> BulkSelection:
    """Return the threads in `selected` that allow `action`, the number of other threads, and the first reason why not.
    If the action resolves threads, and a selected thread is open, resolved threads are neither returned nor counted."""
    candidates = list(selected)
    if action in ("resolve", "reply_resolve"):
        candidates = [each for each in selected if each.comment.is_open] or candidates
    reasons = [why_not_in_discussion(app, each.at, action, each.comment) for each in candidates]
    threads = tuple(each for each, reason in zip(candidates, reasons, strict=True) if reason is None)
    return BulkSelection(action, threads, len(candidates) - len(threads), next(filter(None, reasons), ""))


def why_not_single(selected: Collection[Hashable], current_key: Hashable) -> str | None:
    """Return why a command for a single thread is disabled: other threads are selected. None if it is enabled."""
    if set(selected) <= {current_key}:
        return None
    is_or_are = "thread is" if len(selected) == 1 else "threads are"
    return f"{len(selected)} {is_or_are} selected in the list. To act on the selection, press esc to go back to the list. To clear the selection, press esc twice."


def resolve(app: Shell, selection: BulkSelection, on_queued: Callable[[], None]) -> None:
    """Resolve the threads of `selection`, or reopen them if all are resolved. Then call `on_queued`."""
    is_reopening = not selection.threads[0].comment.is_open
    writes = [thread_actions.resolution_write(thread.at, thread.comment) for thread in selection.threads]
    status = f"{'Reopening' if is_reopening else 'Resolving'} {plural(len(selection.threads), 'thread')}…"
    app.writes.queue(*writes, message=f"{status}{selection.skipped_note}")
    on_queued()


def reply_to_all(app: Shell, selection: BulkSelection, on_queued: Callable[[], None]) -> None:
    """Open the composer for a reply to each thread of `selection`. For the action `reply_resolve`, the threads are also
    resolved. Call `on_queued` when the replies are queued."""
    threads, is_resolving = selection.threads, selection.action == "reply_resolve"
    pronoun = "them" if len(threads) > 1 else "it"
    drafts = app.session.drafts
    shared_key = f"reply to several {blake2b(' '.join(each.comment.id for each in threads).encode()).hexdigest()[:16]}"
    draft_keys = [thread_actions.reply_draft_key(each.at, each.comment) for each in threads]
    own_drafts = {drafts.get(draft_key) for draft_key in draft_keys}
    # If all threads have the same draft, the draft is a reply that was undone. Start with this draft.
    initial_text = next(iter(own_drafts)) or "" if len(own_drafts) == 1 else ""

    def send(text: str) -> None:
        writes = []
        for number, (each, draft_key) in enumerate(zip(threads, draft_keys, strict=True)):
            # Delete only the drafts that have the sent text, or the text that the composer showed at first.
            draft_keys_of_thread = (draft_key,) if drafts.get(draft_key) in (text, initial_text or None) else ()
            used_keys = (shared_key, *draft_keys_of_thread) if number == 0 else draft_keys_of_thread
            label = thread_actions.thread_label(each.comment)
            op = comments.CreateReply(at=each.at, comment_id=each.comment.id, body=Markdown(markdown=text))
            writes.append(NewWrite(op, "reply", draft_key, context=label, used_draft_keys=used_keys))
            if is_resolving and each.comment.is_open:
                writes.append(thread_actions.resolution_write(each.at, each.comment))
        resolving_text = f" and resolving {pronoun}" if is_resolving else ""
        notice = f"Sending reply to {plural(len(threads), 'thread')}{resolving_text}…"
        app.writes.queue(*writes, message=f"{notice}{selection.skipped_note}")
        on_queued()

    title = f"Reply to {plural(len(threads), 'thread')}" + (f" and resolve {pronoun}" if is_resolving else "")
    excerpt = " · ".join(thread_actions.thread_label(each.comment) for each in threads)
    _open_composer(app, threads[0].at, shared_key, title, send, excerpt=excerpt, initial_text=initial_text)


def react(app: Shell, selection: BulkSelection, on_queued: Callable[[], None]) -> None:
    """Let the user choose an emoji. Remove it if the user has added it to all threads, else add it where missing."""
    threads = selection.threads
    my_reactions_by_thread = [thread_actions.my_reactions(app, each.comment) for each in threads]

    def on_chosen(code: str) -> None:
        is_removal = all(code in each for each in my_reactions_by_thread)
        changed_reactions = {"removed_reactions" if is_removal else "added_reactions": (code,)}
        writes = [
            NewWrite(
                comments.Update(at=each.at, comment_id=each.comment.id, **changed_reactions),
                "remove the reaction" if is_removal else "react",
                context=thread_actions.thread_label(each.comment),
            )
            for each, my_reactions in zip(threads, my_reactions_by_thread, strict=True)
            if is_removal or code not in my_reactions
        ]
        target = f"{'from' if is_removal else 'to'} {plural(len(writes), 'thread')}"
        status = f"Removing {to_emoji(code)} {target}…" if is_removal else f"Reacting with {to_emoji(code)} {target}…"
        app.writes.queue(*writes, message=f"{status}{selection.skipped_note}")
        on_queued()

    _choose_emoji(
        app, f"React to {plural(len(threads), 'thread')}", set.intersection(*my_reactions_by_thread), (), on_chosen
    )


def copy(app: Shell, selection: BulkSelection, on_queued: Callable[[], None]) -> None:
    """Copy the first comment of each thread. The threads stay selected, so `on_queued` is not called."""
    text = "\n\n".join(thread.comment.body.text for thread in selection.threads)
    copy_text(app, text, f"Copied the text of {plural(len(selection.threads), 'thread')}.")


def open_on_page(app: Shell, at: Discussion, thread: Comment | None) -> None:
    """Open a thread's change request, or its page at the block. Without a page or a loaded `thread`, open `at`."""
    page, node = (thread.target.page, thread.target.node) if thread is not None else (None, None)
    if isinstance(at, ChangeRequestRef):
        app.go(ToChangeRequest(at, thread=thread))
    elif page is not None:
        app.go(ToPage(at.space_id, page.id, node.id if node else ""))
    else:
        app.go(ToPage(at.space_id))


NO_THREAD = "No thread is selected."


@dataclass(frozen=True)
class ThreadTarget:
    """Target of thread commands: a message of a thread, or the threads that are selected in a list."""

    at: Discussion
    thread: Comment
    message: Comment | Reply
    selected: tuple[Thread, ...] = ()
    clear_selection: Callable[[], None] = lambda: None

    @property
    def url(self) -> str:
        """URL of the thread. Empty if the server returned no URL."""
        return self.thread.urls.app or self.thread.urls.published or ""


def _why_disabled_by_selection(target: ThreadTarget) -> str | None:
    if not target.selected or [(each.at, each.comment.id) for each in target.selected] == [
        (target.at, target.thread.id)
    ]:
        return None
    is_or_are = "thread is" if len(target.selected) == 1 else "threads are"
    return f"{len(target.selected)} {is_or_are} selected. This key acts on one thread at a time. Press esc to clear the selection."


def _bulk_command(
    name: str,
    keys: str,
    title: str,
    help: str,
    run_one: Callable[[Shell, ThreadTarget], object],
    run_selected: Callable[[Shell, BulkSelection, Callable[[], None]], None],
    *,
    writes: bool = False,
    acts_at_once: bool = False,
    shown: bool = False,
    key_display: str | None = None,
    title_now: Callable[[Shell, ThreadTarget], str | None] = lambda app, target: None,
) -> Command[ThreadTarget]:
    """Return a command that acts on the selected threads, else on one thread. With `writes`, selected threads to which
    the command does not apply are left out. `run_selected` also gets a function that clears the selection."""

    def run(app: Shell, target: ThreadTarget) -> None:
        if not target.selected:
            run_one(app, target)
        elif writes:
            run_selected(app, select_actionable(app, name, target.selected), target.clear_selection)
        else:
            run_selected(app, BulkSelection(name, target.selected), target.clear_selection)

    def why_not(app: Shell, target: ThreadTarget) -> str | None:
        if not writes:
            return None
        if target.selected:
            selection = select_actionable(app, name, target.selected)
            return None if selection.threads else f"{selection.reason} This applies to all selected threads."
        return why_not_in_discussion(app, target.at, name, target.thread, target.message)

    return Command(
        name,
        keys,
        title,
        help,
        run,
        why_not,
        title_now,
        shown=shown,
        key_display=key_display,
        writes=writes,
        acts_at_once=acts_at_once,
    )


def _single_command(
    name: str,
    keys: str,
    title: str,
    help: str,
    run: Callable[[Shell, ThreadTarget], None],
    why_not: Callable[[Shell, ThreadTarget], str | None],
    *,
    writes: bool = False,
) -> Command[ThreadTarget]:

    def why_not_now(app: Shell, target: ThreadTarget) -> str | None:
        return _why_disabled_by_selection(target) or why_not(app, target)

    return Command(name, keys, title, help, run, why_not_now, shown=False, writes=writes)


def _resolve_label(app: Shell, target: ThreadTarget) -> str | None:
    threads = [each.comment for each in target.selected] or [target.thread]
    return None if any(thread.is_open for thread in threads) else "Reopen"


def is_own_comment(app: Shell, target: ThreadTarget) -> bool:
    """Return True if you wrote the selected message, or if it is not known yet who you are."""
    return app.workspace.me is None or app.workspace.me.id == target.message.posted_by.id


def _permission_check(action: str) -> Callable[[Shell, ThreadTarget], str | None]:
    return lambda app, target: why_not_in_discussion(app, target.at, action, target.thread, target.message)


def _why_no_comment_on_page(app: Shell, target: ThreadTarget) -> str | None:
    if target.thread.target.page is None:
        return "This thread is not on a page."
    return why_not_in_discussion(app, target.at, "comment")


def _comment_on_page(app: Shell, target: ThreadTarget) -> None:
    if (page := target.thread.target.page) is not None:
        name = page.title or page.path or ""
        title = f"the page {name}" if name else "this page"
        thread_actions.start_thread(app, target.at, page_id=page.id, node=None, title=title, excerpt=name)


def _why_no_link(app: Shell, target: ThreadTarget) -> str | None:
    if target.url and not app.session.is_embedded:
        return None
    return missing_link_reason(app, "comment")


THREAD: Commands[ThreadTarget] = Commands(
    "comments",
    (
        _bulk_command("resolve", "d", "Resolve", "Resolve or reopen the selected threads", shown=True, writes=True, acts_at_once=True,
                title_now=_resolve_label, run_one=lambda app, target: thread_actions.toggle_resolved(app, target.at, target.thread), run_selected=resolve),
        _bulk_command("reply", "c", "Reply", "Reply to the selected threads", shown=True, writes=True,
                run_one=lambda app, target: thread_actions.reply(app, target.at, target.thread),
                run_selected=reply_to_all),
        _single_command("new", "C", "Comment on page", "Comment on this thread's page",
                _comment_on_page, _why_no_comment_on_page, writes=True),
        _bulk_command("reply_resolve", "D", "Reply and resolve", "Reply to the selected threads and resolve them", writes=True,
                run_one=lambda app, target: thread_actions.reply(app, target.at, target.thread, resolve=True),
                run_selected=reply_to_all),
        _bulk_command("react", "plus", "React", "React to the selected threads with an emoji", key_display="+", writes=True,
                run_one=lambda app, target: thread_actions.choose_reaction(app, target.at, target.thread, target.message), run_selected=react),
        _single_command("edit", "e", "Edit", "Edit your comment",
                lambda app, target: thread_actions.edit(app, target.at, target.thread, target.message), _permission_check("edit"), writes=True),
        _single_command("delete", "X", "Delete", "Delete your comment",
                lambda app, target: thread_actions.delete(app, target.at, target.thread, target.message), _permission_check("delete"), writes=True),
        _bulk_command("copy", "y", "Copy text", "Copy the first comment of the selected threads",
                run_one=lambda app, target: copy_text(app, target.message.body.text, "Copied the text of the comment."), run_selected=copy),
        _single_command("copy_address", "Y", "Copy link", "Copy a link to the comment",
                lambda app, target: copy_text(app, target.url, "Copied the link to the comment."), _why_no_link),
        _single_command("open_browser", "o", "Open in browser", "Open the comment in the browser",
                lambda app, target: confirm_link(app, target.url), _why_no_link),
    ),
    context="comments",
    no_target=NO_THREAD,
)  # fmt: skip
"""Commands for a thread. In the list of threads, most of them act on the selected threads."""
