"""Actions on all selected threads, undone together. The message says which threads were skipped and why."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

from octavo.api import comments
from octavo.api.bodies import Markdown
from octavo.data.writes.machine import NewWrite
from octavo.documents.emoji import to_emoji
from octavo.tui.comments import thread_actions
from octavo.tui.comments.thread_filters import Thread
from octavo.tui.core.permissions import why_not_in_discussion
from octavo.tui.terminal import clipboard
from octavo.tui.widgets.wording import plural

if TYPE_CHECKING:
    from octavo.tui.core.shell import Shell


@dataclass(frozen=True)
class BulkSelection:
    """The selected threads that an action applies to, and why it does not apply to the others."""

    action: str
    threads: tuple[Thread, ...]
    skipped: int = 0
    reason: str = ""

    @property
    def skipped_note(self) -> str:
        """The end of a message: how many selected threads were skipped, and why. Empty if none."""
        return f" Skipped {plural(self.skipped, 'other thread')}: {self.reason}" if self.skipped else ""


def select_actionable(app: Shell, action: str, selected: Sequence[Thread]) -> BulkSelection:
    """Return the selected threads that `action` applies to. Resolving prefers open threads."""
    candidates = list(selected)
    if action in ("resolve", "reply_resolve"):
        candidates = [each for each in selected if each.comment.is_open] or candidates
    reasons = [why_not_in_discussion(app, each.at, action, each.comment) for each in candidates]
    allowed = tuple(each for each, reason in zip(candidates, reasons, strict=True) if reason is None)
    return BulkSelection(action, allowed, len(candidates) - len(allowed), next(filter(None, reasons), ""))


def why_not_any(app: Shell, action: str, selected: Sequence[Thread]) -> str | None:
    """Return why `action` cannot be done to any of the selected threads. None if it can be done to some."""
    selection = select_actionable(app, action, selected)
    return None if selection.threads else f"{selection.reason} This applies to all selected threads."


def why_not_single(selected: Collection[Hashable], current_key: Hashable) -> str | None:
    """Return why a key does not act on the previewed thread alone: other threads are selected in the list."""
    if set(selected) <= {current_key}:
        return None
    is_or_are = "thread is" if len(selected) == 1 else "threads are"
    return f"{len(selected)} {is_or_are} selected in the list. To act on the selection, press esc to go back to the list. To clear the selection, press esc twice."


def resolve(app: Shell, selection: BulkSelection, on_queued: Callable[[], None]) -> None:
    """Resolve the open threads or reopen the resolved threads. Call `on_queued` once the writes are queued."""
    opens = not selection.threads[0].comment.is_open
    doing = "reopen the thread" if opens else "resolve the thread"
    writes = [
        NewWrite(
            comments.Update(at=each.at, comment_id=each.comment.id, resolved=not opens),
            doing,
            context=thread_actions.thread_label(each.comment),
        )
        for each in selection.threads
    ]
    status = f"{'Reopening' if opens else 'Resolving'} {plural(len(selection.threads), 'thread')}…"
    app.writes.queue(*writes, message=f"{status}{selection.skipped_note}")
    on_queued()


def reply(app: Shell, selection: BulkSelection, on_queued: Callable[[], None]) -> None:
    """Open a composer for one reply to all threads. `reply_resolve` also resolves them. Call `on_queued` once the writes are
    queued."""
    threads, resolves = selection.threads, selection.action == "reply_resolve"
    pronoun = "them" if len(threads) > 1 else "it"
    drafts = app.session.drafts
    shared_key = f"reply to several {blake2b(' '.join(each.comment.id for each in threads).encode()).hexdigest()[:16]}"
    draft_keys = [thread_actions.reply_draft_key(each.at, each.comment) for each in threads]
    own_drafts = {drafts.get(draft_key) for draft_key in draft_keys}
    # An undone reply left the same draft in each thread.
    initial_text = next(iter(own_drafts)) or "" if len(own_drafts) == 1 else ""

    def send(text: str) -> None:
        writes = []
        for number, (each, draft_key) in enumerate(zip(threads, draft_keys, strict=True)):
            # A draft of a single thread stays, unless its text is the sent text or the shared draft.
            draft_keys_of_thread = (draft_key,) if drafts.get(draft_key) in (text, initial_text or None) else ()
            used_keys = (shared_key, *draft_keys_of_thread) if number == 0 else draft_keys_of_thread
            label, ids = thread_actions.thread_label(each.comment), {"at": each.at, "comment_id": each.comment.id}
            op = comments.CreateReply(**ids, body=Markdown(markdown=text))
            writes.append(NewWrite(op, "reply", draft_key, context=label, used_draft_keys=used_keys))
            if resolves and each.comment.is_open:
                writes.append(NewWrite(comments.Update(**ids, resolved=True), "resolve the thread", context=label))
        resolving = f" and resolving {pronoun}" if resolves else ""
        sending = f"Sending reply to {plural(len(threads), 'thread')}{resolving}…"
        app.writes.queue(*writes, message=f"{sending}{selection.skipped_note}")
        on_queued()

    title = f"Reply to {plural(len(threads), 'thread')}" + (f" and resolve {pronoun}" if resolves else "")
    excerpt = " · ".join(thread_actions.thread_label(each.comment) for each in threads)
    from octavo.tui.comments.composer import open_composer  # lazy: the text area

    open_composer(app, threads[0].at, shared_key, title, send, excerpt=excerpt, start=initial_text)


def react(app: Shell, selection: BulkSelection, on_queued: Callable[[], None]) -> None:
    """Ask for an emoji and react with it to all threads, or remove the reaction if all threads have it. Call `on_queued`
    once the writes are queued."""
    threads = selection.threads
    my_reactions_by_thread = [thread_actions.my_reactions(app, each.comment) for each in threads]

    def on_chosen(code: str) -> None:
        removes = all(code in each for each in my_reactions_by_thread)
        change = {"removed_reactions" if removes else "added_reactions": (code,)}
        writes = [
            NewWrite(
                comments.Update(at=each.at, comment_id=each.comment.id, **change),
                "remove the reaction" if removes else "react",
                context=thread_actions.thread_label(each.comment),
            )
            for each, my_reactions in zip(threads, my_reactions_by_thread, strict=True)
            if removes or code not in my_reactions
        ]
        target = f"{'from' if removes else 'to'} {plural(len(writes), 'thread')}"
        status = f"Removing {to_emoji(code)} {target}…" if removes else f"Reacting with {to_emoji(code)} {target}…"
        app.writes.queue(*writes, message=f"{status}{selection.skipped_note}")
        on_queued()

    from octavo.tui.comments import reactions  # lazy: the names of emoji, rarely needed

    reactions.choose_emoji(
        app, f"React to {plural(len(threads), 'thread')}", set.intersection(*my_reactions_by_thread), (), on_chosen
    )


def copy(app: Shell, selection: BulkSelection, on_queued: Callable[[], None]) -> None:
    """Copy the text of all threads. The threads stay selected."""
    text = "\n\n".join(each.comment.body.text for each in selection.threads)
    clipboard.copy(app, text, f"Copied the text of {plural(len(selection.threads), 'thread')}.")
