"""Actions in threads: comment, reply, resolve, react, edit, delete. Every write goes through the outbox."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from octavo.api import comments
from octavo.api.bodies import Markdown
from octavo.api.comments import Comment, Reply
from octavo.api.places import ChangeRequestRef, Discussion
from octavo.data.comment_text import plain_text
from octavo.data.writes.machine import NewWrite
from octavo.data.writes.write_kind import Basis
from octavo.documents.emoji import sign_of
from octavo.documents.suggestions import suggestion_fence
from octavo.tui.render.threads import quote_excerpt, quote_markdown
from octavo.tui.shell.dialog_draft import DialogDraft
from octavo.tui.shell.permissions import not_allowed_with
from octavo.tui.widgets.wording import plural

if TYPE_CHECKING:
    from octavo.data.writes.write_kind import DurableWrite
    from octavo.tui.shell.shell import Shell

_QUOTE_LENGTH = 28
"""The most characters of a comment in the name of its thread."""


def _check_allowed(
    app: Shell, at: Discussion, deed: str, thread: Comment | None = None, message: Comment | Reply | None = None
) -> bool:
    """Return whether `deed` is allowed, and show the reason if it is not: no text is written that cannot be sent."""
    why = not_allowed_with(app, at, deed, thread, message)
    if why is not None:
        app.explain(why)
    return why is None


def start_thread(
    app: Shell,
    at: Discussion,
    *,
    page: str | None,
    node: str | None,
    title: str,
    excerpt: str,
    quote: bool = False,
    is_code: bool = False,
    source: str = "",
) -> None:
    """Open a composer for a comment on a block, on a page, or on a whole space or change request.

    With `quote`, the comment starts with the excerpt, because the current page does not have that text: as a fenced
    block if it `is_code`. `source` is the Markdown of the block, for a suggested change.
    """
    if not _check_allowed(app, at, "comment"):
        return

    def send(text: str) -> DurableWrite:
        text = f"{quote_markdown(excerpt, is_code=is_code)}\n\n{text}" if quote else text
        target = {name: value for name, value in (("page", page), ("node", node)) if value is not None}
        return comments.Create(at=at, body=Markdown(markdown=text), **target)

    place = f"comment {_location_key(at)} {page or ''} {node or ''}"
    named = f"Comment on {title}"
    _compose(app, at, place, named, excerpt, send, doing="comment", said="Sending comment…", about=title, source=source)


def reply(app: Shell, at: Discussion, comment: Comment, *, resolve: bool = False) -> None:
    """Reply to a thread, and with `resolve` resolve it when the reply is sent."""
    if not _check_allowed(app, at, "reply_resolve" if resolve else "reply", comment):
        return

    def send(text: str) -> DurableWrite:
        return comments.CreateReply(at=at, comment_id=comment.id, body=Markdown(markdown=text))

    resolves = resolve and comment.is_open
    about = thread_label(comment)
    resolving = NewWrite(
        comments.Update(at=at, comment_id=comment.id, resolved=True), "resolve the thread", context=about
    )
    _compose(
        app,
        at,
        reply_draft_key(at, comment),
        f"Reply to {comment.posted_by.name}" + (" and resolve the thread" if resolve else ""),
        comment.body.text,
        send,
        doing="reply",
        said="Sending reply and resolving thread…" if resolves else "Sending reply…",
        about=about,
        after=(resolving,) if resolves else (),
    )


def toggle_resolved(app: Shell, at: Discussion, comment: Comment) -> None:
    """Resolve an open thread, reopen a resolved one."""
    if not _check_allowed(app, at, "resolve", comment):
        return
    op = comments.Update(at=at, comment_id=comment.id, resolved=comment.is_open)
    if comment.is_open:
        app.writes.queue(NewWrite(op, "resolve the thread", context=thread_label(comment)), said="Resolving thread…")
    else:
        app.writes.queue(NewWrite(op, "reopen the thread", context=thread_label(comment)), said="Reopening thread…")


def react(app: Shell, at: Discussion, comment: Comment, to: Comment | Reply, chosen: str) -> None:
    """Add an emoji reaction, or remove it if you already reacted with that emoji."""
    mine = chosen in my_reactions(app, to)
    change = {"removed_reactions" if mine else "added_reactions": (chosen,)}
    op: DurableWrite
    if isinstance(to, Reply):
        op = comments.UpdateReply(at=at, comment_id=comment.id, comment_reply_id=to.id, **change)
    else:
        op = comments.Update(at=at, comment_id=comment.id, **change)
    doing = "remove the reaction" if mine else "react"
    said = f"Removing {sign_of(chosen)}…" if mine else f"Reacting with {sign_of(chosen)}…"
    app.writes.queue(NewWrite(op, doing, context=thread_label(comment)), said=said)


def choose_reaction(app: Shell, at: Discussion, comment: Comment, to: Comment | Reply) -> None:
    """Ask for an emoji, then add or remove the reaction."""
    if not _check_allowed(app, at, "react", comment, to):
        return

    from octavo.tui.comments import reactions  # lazy: the names of emoji, rarely needed

    def chosen(code: str) -> None:
        react(app, at, comment, to, code)

    reactions.choose_emoji(app, "React", my_reactions(app, to), [each.emoji for each in to.reactions], chosen)


def my_reactions(app: Shell, to: Comment | Reply) -> set[str]:
    """Return the emoji you reacted with."""
    me = app.workspace.me.id if app.workspace.me else None
    return {each.emoji for each in to.reactions if any(user.user.id == me for user in each.users)}


def edit(app: Shell, at: Discussion, comment: Comment, what: Comment | Reply) -> None:
    """Edit your comment or reply."""
    if (held := app.workspace.held(what.id)) is not None:
        from octavo.tui.comments.pending_comments import edit_pending  # few are held

        edit_pending(app, held)
        return
    if not _check_allowed(app, at, "edit", comment, what):
        return

    def send(text: str) -> DurableWrite:
        body = Markdown(markdown=text)
        if isinstance(what, Reply):
            return comments.UpdateReply(at=at, comment_id=comment.id, comment_reply_id=what.id, body=body)
        return comments.Update(at=at, comment_id=comment.id, body=body)

    kind = "reply" if isinstance(what, Reply) else "comment"
    place = f"edit {_location_key(at)} {comment.id} {what.id}"
    _compose(
        app,
        at,
        place,
        f"Edit your {kind}",
        "",
        send,
        doing=f"edit the {kind}",
        said=f"Saving {kind}…",
        about=thread_label(comment),
        start=what.body.text,
        basis=Basis(what.body.markdown),
    )


def delete(app: Shell, at: Discussion, comment: Comment, what: Comment | Reply) -> None:
    """Delete a comment with its replies, or a reply, after a confirmation."""
    if (held := app.workspace.held(what.id)) is not None:
        from octavo.tui.comments.pending_comments import remove_pending  # few are held

        remove_pending(app, held)
        return
    if not _check_allowed(app, at, "delete", comment, what):
        return
    from octavo.tui.widgets.confirm import Confirm, Confirmed

    op: DurableWrite
    if isinstance(what, Reply):
        kind, goes = "reply", "this reply"
        op = comments.DeleteReply(at=at, comment_id=comment.id, comment_reply_id=what.id)
    else:
        kind, goes = (
            "comment",
            "this comment" + (f" and its {plural(what.replies, 'reply', 'replies')}" if what.replies else ""),
        )
        op = comments.Delete(at=at, comment_id=comment.id)

    def decided(answer: Confirmed | None) -> None:
        if answer is not None:
            app.writes.queue(
                NewWrite(op, f"delete the {kind}", context=thread_label(comment)), said=f"Deleting {kind}…"
            )

    said = f"“{quote_excerpt(plain_text(what.body.text))}”"
    seconds = plural(max(1, round(app.settings.undo_seconds)), "second")
    undo = f"You will have {seconds} to undo this." if app.settings.undo_seconds else "This cannot be undone."
    dialog = Confirm(
        f"Delete {goes}?",
        verb="Delete",
        intro=said,
        after=f"{goes[:1].upper()}{goes[1:]} will be deleted for everyone. {undo}",
    )
    app.push_screen(dialog, decided)


def _compose(
    app: Shell,
    at: Discussion,
    place: str,
    title: str,
    excerpt: str,
    send: Callable[[str], DurableWrite],
    *,
    doing: str,
    said: str,
    about: str,
    start: str = "",
    basis: Basis | None = None,
    after: Sequence[NewWrite] = (),
    source: str = "",
) -> None:
    def written(text: str) -> None:
        app.writes.queue(NewWrite(send(text), doing, place, basis, about), *after, said=said)

    def hold(text: str) -> None:
        app.writes.queue(NewWrite(send(text), doing, place, basis, about), in_review=True)

    can_hold = isinstance(at, ChangeRequestRef) and doing in ("comment", "reply") and not after
    compose(app, at, place, title, excerpt, written, start=start, hold=hold if can_hold else None, source=source)


def compose(
    app: Shell,
    at: Discussion,
    place: str,
    title: str,
    excerpt: str,
    written: Callable[[str], None],
    *,
    start: str = "",
    hold: Callable[[str], None] | None = None,
    source: str = "",
) -> None:
    """Open a composer about `excerpt` and call `written` with its text, or `hold` if the text is added to the pending
    review.

    Until then the text is the draft with the key `place`. It begins with `start` if there is no draft. `source` is the
    Markdown that a suggested change starts with.
    """
    from octavo.tui.comments.composer import Composer
    from octavo.tui.comments.mentions import MentionCandidates
    from octavo.tui.reader.markdown_preview import preview
    from octavo.tui.terminal.external_editor import FileNote

    kept, state = DialogDraft(app, place, start), app.session.state

    def closed(text: str | None) -> None:
        if text and composer.is_pending and hold is not None:
            hold(text)
        elif text:
            written(text)

    composer = Composer(
        title,
        quoted=quote_excerpt(excerpt),
        draft=kept.text,
        save_draft=kept.save,
        save_draft_now=kept.save_now,
        is_saved=kept.is_saved,
        save_error=lambda: kept.trouble,
        preview=preview,
        editing_folder=app.settings.state_folder / "editing",
        file_note=FileNote(title, place, state.namespace),
        members=MentionCandidates(app, at),
        can_add_to_review=hold is not None,
        suggestion=suggestion_fence(source) if source else "",
        replies=app.settings.quick_replies,
    )
    app.push_screen(composer, closed)


def thread_label(comment: Comment) -> str:
    """Return a short name of a thread: its first words and its page."""
    said, page = short_quote(comment.body.text), comment.target.page
    title = (page.title or page.path) if page is not None else ""
    return f"{said} on {title}" if title else said


def short_quote(text: str) -> str:
    """Return the first words of a text in quotes, cut to fit a row."""
    words = plain_text(text)
    return f"“{words if len(words) <= _QUOTE_LENGTH else words[: _QUOTE_LENGTH - 1].rstrip() + '…'}”"


def reply_draft_key(at: Discussion, comment: Comment) -> str:
    """Return the key of the draft of a reply."""
    return f"reply {_location_key(at)} {comment.id}"


def _location_key(at: Discussion) -> str:
    return " ".join(str(getattr(at, name)) for name in type(at).model_fields)
