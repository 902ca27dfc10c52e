"""Actions on threads and pending comments, such as reply, resolve, react, edit and delete."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from octavo.api import comments
from octavo.api.bodies import Markdown
from octavo.api.comments import Comment, Reply
from octavo.api.operation import ChangeRequestRef, Discussion
from octavo.data.queries import all_threads_op
from octavo.data.state_db import NotSaved
from octavo.data.writes.comment_kinds import normalize
from octavo.data.writes.direct import SendResult
from octavo.data.writes.machine import ExpectedState, NewWrite, OutboxEntry
from octavo.documents.emoji import to_emoji
from octavo.documents.suggestions import find_suggestions, one_line_text
from octavo.lazy_import import lazy
from octavo.tui.core.permissions import why_not_in_discussion
from octavo.tui.core.write_queue import LocalChange
from octavo.tui.render.threads import quote_excerpt, quote_markdown
from octavo.tui.widgets.short_texts import plural, shorten

if TYPE_CHECKING:
    from octavo.data.writes.machine import DurableWrite
    from octavo.tui.core.shell import Shell
    from octavo.tui.widgets.confirm import Confirmed

_choose_emoji = lazy("octavo.tui.comments.autocomplete:choose_emoji")
_open_composer = lazy("octavo.tui.comments.composer:open_composer")
_confirm_dialog = lazy("octavo.tui.widgets.confirm:ConfirmDialog")


MAX_BLOCK_TEXT = 200
"""Maximum number of characters of a block's text that are stored with a comment on the block."""
_QUOTE_LENGTH = 28
"""Maximum number of characters of a comment that the label of its thread quotes."""
_SINGLE_QUOTES = str.maketrans('“”„"', "‘’‚'")


def _check_allowed(
    app: Shell, at: Discussion, action: str, thread: Comment | None = None, message: Comment | Reply | None = None
) -> bool:
    reason = why_not_in_discussion(app, at, action, thread, message)
    if reason is not None:
        app.explain(reason)
    return reason is None


def start_thread(
    app: Shell,
    at: Discussion,
    *,
    page_id: str | None,
    node: str | None,
    title: str,
    excerpt: str,
    quotes_excerpt: bool = False,
    current_node: Callable[[], str | None] | None = None,
    is_code: bool = False,
    source: str = "",
    added_text: str = "",
) -> None:
    """Open the composer for a new thread on the block with the key `node`. If `node` is None, the thread is on the page
    `page_id`, or on no page if `page_id` is None too. `current_node` returns the key of the block at the time when the
    comment is sent, None if the block is gone. The comment starts with a quote of `excerpt` if `quotes_excerpt`, or if
    this key is not `node`. The quote is code if `is_code`. `source` is the Markdown of the block, for a suggested
    change. `added_text` is appended to the draft."""
    if not _check_allowed(app, at, "comment"):
        return

    def make_operation(text: str) -> DurableWrite:
        key = current_node() if current_node is not None else node
        quote = quote_markdown(excerpt, is_code=is_code) if quotes_excerpt or key != node else ""
        # The draft of an undone or refused comment already begins with the quote.
        text = text if text.startswith(quote) else f"{quote}\n\n{text}"
        # A suggestion stays on the old block, so that it never replaces the newer text of the block.
        target_node = node if find_suggestions(text) else key or node
        target_fields = {name: value for name, value in (("page", page_id), ("node", target_node)) if value is not None}
        return comments.Create(at=at, body=Markdown(markdown=text), **target_fields)

    draft_key = f"comment {_location_key(at)} {page_id or ''} {node or ''}"
    title_text = f"Comment on {title}"
    _compose(
        app,
        at,
        draft_key,
        title_text,
        excerpt,
        make_operation,
        action="comment",
        message="Sending comment…",
        label=title,
        source=source,
        block_text=excerpt[:MAX_BLOCK_TEXT] if node is not None and not quotes_excerpt else "",
        added_text=added_text,
    )


def reply(app: Shell, at: Discussion, comment: Comment, *, resolve: bool = False, added_text: str = "") -> None:
    """Open the composer for a reply. With `resolve`, sending resolves the thread. `added_text` extends the draft."""
    if not _check_allowed(app, at, "reply_resolve" if resolve else "reply", comment):
        return

    def make_operation(text: str) -> DurableWrite:
        return comments.CreateReply(at=at, comment_id=comment.id, body=Markdown(markdown=text))

    label = thread_label(comment)
    resolutions = _resolution_writes(app, at, comment) if resolve and comment.is_open else []
    _compose(
        app,
        at,
        reply_draft_key(at, comment),
        f"Reply to {comment.posted_by.name}" + (" and resolve the thread" if resolve else ""),
        comment.body.text,
        make_operation,
        action="reply",
        message=f"Sending reply and resolving {_threads_label(resolutions)}…" if resolutions else "Sending reply…",
        label=label,
        later_writes=resolutions,
        added_text=added_text,
    )


def toggle_resolved(app: Shell, at: Discussion, comment: Comment) -> None:
    """Resolve an open thread or reopen a resolved one, with all linked threads (the same remark on other blocks)."""
    if _check_allowed(app, at, "resolve", comment):
        writes = _resolution_writes(app, at, comment)
        app.writes.queue(
            *writes, message=f"{'Resolving' if comment.is_open else 'Reopening'} {_threads_label(writes)}…"
        )


def resolution_write(at: Discussion, thread: Comment) -> NewWrite:
    """Return the write that resolves an open thread, or reopens a resolved thread."""
    action = "resolve the thread" if thread.is_open else "reopen the thread"
    op = comments.Update(at=at, comment_id=thread.id, resolved=thread.is_open)
    return NewWrite(op, action, context=thread_label(thread))


def _resolution_writes(app: Shell, at: Discussion, comment: Comment) -> list[NewWrite]:
    return [
        resolution_write(at, each)
        for each in (comment, *linked_threads(app, at, comment))
        if each.is_open is comment.is_open and (each is comment or not why_not_in_discussion(app, at, "resolve", each))
    ]


def _threads_label(writes: Sequence[NewWrite]) -> str:
    return "thread" if len(writes) == 1 else f"{len(writes)} linked threads"


_SAME_REMARK = "The same remark is on “"
"""Start of the last line of a remark on several blocks. The line names the blocks."""
_MAX_NAMED_BLOCKS = 5
_NOT_IN_NAMES = re.compile(r"[^\w\s.,;:()%/+=-]|://")
"""Characters to leave out of the name of a block, because they could be Markdown."""


def remark_on_blocks(remark: str, block_texts: Sequence[str]) -> str:
    """Return the text of a comment: `remark`, and if it is on several blocks, a last line that names the blocks."""
    if len(block_texts) < 2:
        return remark
    names = [short_quote(_NOT_IN_NAMES.sub("", text)) for text in block_texts[:_MAX_NAMED_BLOCKS]]
    more_count = len(block_texts) - len(names)
    last_name = plural(more_count, "more block") if more_count else names.pop()
    return f"{remark}\n\n{_SAME_REMARK[:-1]}{', '.join(names)} and {last_name}."


def _block_names_line(text: str) -> str:
    """Return the last line of a comment if `remark_on_blocks` added it to name several blocks. Empty otherwise."""
    line = text.rpartition("\n")[2]
    return line if line.startswith(_SAME_REMARK) else ""


def linked_threads(app: Shell, at: Discussion, comment: Comment) -> list[Comment]:
    """Return the other loaded threads of a remark that its author sent to several blocks at once. Threads that are
    pending, failed or perhaps not sent are left out. Empty if the last line of `comment` does not name the blocks."""
    text = normalize(comment.body.text)
    if not _block_names_line(text):
        return []
    loaded_threads = app.session.live.peek(all_threads_op(at)).value
    return [
        each
        for each in (loaded_threads.items if loaded_threads is not None else ())
        if each.id != comment.id
        and each.posted_by.id == comment.posted_by.id
        and normalize(each.body.text) == text
        and app.workspace.sending_status(each.id) in ("", "queued")
    ]


def react(app: Shell, at: Discussion, comment: Comment, message: Comment | Reply, emoji_code: str) -> None:
    """Add the reaction `emoji_code` to a message, or remove it if you already reacted with it."""
    is_mine = emoji_code in my_reactions(app, message)
    changed_reactions = {"removed_reactions" if is_mine else "added_reactions": (emoji_code,)}
    op: DurableWrite
    if isinstance(message, Reply):
        op = comments.UpdateReply(at=at, comment_id=comment.id, comment_reply_id=message.id, **changed_reactions)
    else:
        op = comments.Update(at=at, comment_id=comment.id, **changed_reactions)
    action = "remove the reaction" if is_mine else "react"
    notice = f"Removing {to_emoji(emoji_code)}…" if is_mine else f"Reacting with {to_emoji(emoji_code)}…"
    app.writes.queue(NewWrite(op, action, context=thread_label(comment)), message=notice)


def choose_reaction(app: Shell, at: Discussion, comment: Comment, message: Comment | Reply) -> None:
    """Ask for an emoji, and add it to a message as a reaction. If it is your reaction already, remove it."""
    if not _check_allowed(app, at, "react", comment, message):
        return

    _choose_emoji(
        app,
        "React",
        my_reactions(app, message),
        [reaction.emoji for reaction in message.reactions],
        partial(react, app, at, comment, message),
    )


def my_reactions(app: Shell, message: Comment | Reply) -> set[str]:
    """Return the codes of the emoji with which you reacted to a message."""
    me = app.workspace.my_id
    return {reaction.emoji for reaction in message.reactions if any(user.user.id == me for user in reaction.users)}


def edit(app: Shell, at: Discussion, comment: Comment, message: Comment | Reply) -> None:
    if (pending := app.workspace.pending_entry(message.id)) is not None:
        edit_pending(app, pending)
        return
    if not _check_allowed(app, at, "edit", comment, message):
        return

    def make_operation(text: str) -> DurableWrite:
        body = Markdown(markdown=text)
        if isinstance(message, Reply):
            return comments.UpdateReply(at=at, comment_id=comment.id, comment_reply_id=message.id, body=body)
        return comments.Update(at=at, comment_id=comment.id, body=body)

    kind = "reply" if isinstance(message, Reply) else "comment"
    draft_key = f"edit {_location_key(at)} {comment.id} {message.id}"
    _compose(
        app,
        at,
        draft_key,
        f"Edit your {kind}",
        "",
        make_operation,
        action=f"edit the {kind}",
        message=f"Saving {kind}…",
        label=thread_label(comment),
        edited=message.body.text,
        expected=ExpectedState(message.body.markdown),
    )


def delete(app: Shell, at: Discussion, comment: Comment, message: Comment | Reply) -> None:
    """Ask for confirmation, then delete a reply or a comment with its replies, or make a pending comment a draft."""
    if (pending := app.workspace.pending_entry(message.id)) is not None:
        remove_pending(app, pending)
        return
    if not _check_allowed(app, at, "delete", comment, message):
        return
    op: DurableWrite
    if isinstance(message, Reply):
        kind, object_name = "reply", "this reply"
        op = comments.DeleteReply(at=at, comment_id=comment.id, comment_reply_id=message.id)
    else:
        kind, object_name = (
            "comment",
            "this comment" + (f" and its {plural(message.replies, 'reply', 'replies')}" if message.replies else ""),
        )
        op = comments.Delete(at=at, comment_id=comment.id)

    def on_decided(answer: Confirmed) -> None:
        app.writes.queue(NewWrite(op, f"delete the {kind}", context=thread_label(comment)), message=f"Deleting {kind}…")

    quote = f"“{quote_excerpt(one_line_text(message.body.text))}”"
    seconds_text = plural(max(1, round(app.settings.undo_seconds)), "second")
    undo_note = f"You will have {seconds_text} to undo this." if app.settings.undo_seconds else "This cannot be undone."
    dialog = _confirm_dialog(
        f"Delete {object_name}?",
        verb="Delete",
        intro=quote,
        after=f"{object_name[:1].upper()}{object_name[1:]} will be deleted for everyone. {undo_note}",
    )
    app.ask(dialog, on_decided)


def _compose(
    app: Shell,
    at: Discussion,
    draft_key: str,
    title: str,
    excerpt: str,
    make_operation: Callable[[str], DurableWrite],
    *,
    action: str,
    message: str,
    label: str,
    edited: str | None = None,
    expected: ExpectedState | None = None,
    later_writes: Sequence[NewWrite] = (),
    source: str = "",
    block_text: str = "",
    added_text: str = "",
) -> None:
    def new_write(text: str) -> NewWrite:
        return NewWrite(make_operation(text), action, draft_key, expected, label, block_text=block_text)

    def send(text: str) -> None:
        app.writes.queue(new_write(text), *later_writes, message=message)

    def add_to_review(text: str) -> None:
        app.writes.queue(new_write(text), in_review=True)

    can_add_to_review = isinstance(at, ChangeRequestRef) and action in ("comment", "reply") and not later_writes
    _open_composer(
        app,
        at,
        draft_key,
        title,
        send,
        excerpt=excerpt,
        edited=edited,
        added_text=added_text,
        add_to_review=add_to_review if can_add_to_review else None,
        source=source,
    )


def thread_label(comment: Comment) -> str:
    """Return a short name of a thread, such as `“Is this still true?” on Install`."""
    quote, page = short_quote(comment.body.text), comment.target.page
    page_name = (page.title or page.path) if page is not None else ""
    return f"{quote} on {page_name}" if page_name else quote


def short_quote(text: str) -> str:
    """Return the first words of a text, such as `“Is this still true?”`. Inner quotes become single quotes."""
    return f"“{shorten(one_line_text(text).translate(_SINGLE_QUOTES), _QUOTE_LENGTH)}”"


def reply_draft_key(at: Discussion, comment: Comment) -> str:
    return f"reply {_location_key(at)} {comment.id}"


def _location_key(at: Discussion) -> str:
    return " ".join(str(getattr(at, name)) for name in type(at).model_fields)


MAX_LISTED_PENDING = 8


def location_label(entry: OutboxEntry, titles: Mapping[str, str]) -> str:
    """Return the page title of a pending comment, or `General comments` without a page. For a reply, return a label
    such as `Reply: “Why?” on Setup`."""
    if entry.traits.thread_id:
        return f"Reply: {entry.context}" if entry.context else "Reply"
    page = entry.traits.page_id
    return titles.get(page) or entry.context or ("Untitled page" if page else "General comments")


def describe_pending(
    pending: tuple[OutboxEntry, ...], titles: Mapping[str, str], note: Callable[[OutboxEntry], str]
) -> list[str]:
    """Return lines that list the pending comments. `note` returns how the quoted words changed, or an empty text."""
    if not pending:
        return []
    lines = [f"{plural(len(pending), 'pending comment')} will be sent with the review:"]
    for entry in pending[:MAX_LISTED_PENDING]:
        note_text = f" ({note(entry)})" if note(entry) else ""
        lines.append(f"• {location_label(entry, titles)}: {shorten(one_line_text(entry.traits.text), 60)}{note_text}")
    if len(pending) > MAX_LISTED_PENDING:
        lines.append(f"and {len(pending) - MAX_LISTED_PENDING} more. Press H to show all.")
    return lines


def edit_pending(app: Shell, entry: OutboxEntry) -> None:
    """Open the composer to edit a pending comment. A remark on several blocks is edited in all its pending comments."""
    draft_key, outbox = f"held {entry.id}", app.session.outbox
    assert isinstance(entry.at, ChangeRequestRef)
    text, linked, block_names = entry.traits.text, [entry], _block_names_line(entry.traits.text)
    if block_names:
        linked += [
            each for each in outbox.pending_comments(entry.at) if each.traits.text == text and each.id != entry.id
        ]

    def save(text: str) -> None:
        async def edit() -> bool:
            body = Markdown(markdown=f"{text}\n\n{block_names}" if block_names else text)
            results = [
                await outbox.edit_pending_comment(each, each.op.model_copy(update={"body": body}), draft_key)
                for each in linked
            ]
            return results[0]

        message = (
            f"Edited {plural(len(linked), 'linked pending comment')}." if linked[1:] else "Edited the pending comment."
        )
        app.writes.apply_change(LocalChange("edit the comment", edit), message=message)

    title = "Edit a pending comment" if not linked[1:] else f"Edit {len(linked)} linked pending comments"
    _open_composer(
        app,
        entry.at,
        draft_key,
        title,
        save,
        edited=text.removesuffix(block_names).rstrip() if block_names else text,
        verb="save",
        is_recoverable=False,
    )


def remove_pending(app: Shell, entry: OutboxEntry) -> None:
    """Ask for confirmation, then remove a pending comment from the review. Its text stays as a draft."""

    async def remove() -> bool:
        return await app.session.outbox.discard(entry.id) is not None

    def on_decided(answer: Confirmed) -> None:
        change = LocalChange("remove the comment", remove)
        app.writes.apply_change(change, message="Removed the comment from the review and kept it as a draft.")

    quote = f"“{shorten(' '.join(entry.traits.text.split()), 240)}”"
    after = (
        "No one else has seen this comment, because it has not been sent. Its text will be kept as a draft: "
        "to continue writing, press c in the same place."
    )
    app.ask(_confirm_dialog("Remove this pending comment?", verb="Remove", intro=quote, after=after), on_decided)


def send_pending(app: Shell, at: ChangeRequestRef, name: str) -> None:
    """Send the pending comments of the change request `at` without a review. `name` is its number, such as `#7`."""

    async def submit() -> SendResult[tuple[OutboxEntry, ...]]:
        try:
            return SendResult("done", result=await app.session.outbox.submit_review(at))
        except NotSaved as error:
            return SendResult("refused", str(error))

    comment_count = len(app.session.outbox.pending_comments(at))
    pending_label = plural(comment_count, "pending comment")
    app.writes.submit_review(
        f"send the {pending_label} on {name}", submit(), message=f"Sending {pending_label} on {name} without a review…"
    )
