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
from octavo.documents.emoji import to_emoji
from octavo.documents.suggestions import suggestion_fence
from octavo.tui.render.threads import quote_excerpt, quote_markdown
from octavo.tui.shell.dialog_draft import DialogDraft
from octavo.tui.shell.permissions import why_not_in_discussion
from octavo.tui.widgets.wording import plural

if TYPE_CHECKING:
    from octavo.data.writes.write_kind import DurableWrite
    from octavo.tui.shell.shell import Shell

_NAME = 28
"""Characters of a thread that are enough to know it by."""


def _may(
    app: Shell, at: Discussion, deed: str, thread: Comment | None = None, message: Comment | Reply | None = None
) -> bool:
    """Return whether `deed` is allowed, and say why if it is not: no text is asked for that could not be sent."""
    why = why_not_in_discussion(app, at, deed, thread, message)
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
    """Write a comment on a block of a page, on a page, or on the whole place. `quote`: the comment begins with the words
    it is about, because they no longer stand on the page; `is_code`: in a fence. `source`: how the block is written, so that
    another wording can be suggested."""
    if not _may(app, at, "comment"):
        return

    def send(text: str) -> DurableWrite:
        text = f"{quote_markdown(excerpt, is_code=is_code)}\n\n{text}" if quote else text
        target = {name: value for name, value in (("page", page), ("node", node)) if value is not None}
        return comments.Create(at=at, body=Markdown(markdown=text), **target)

    place = f"comment {_where(at)} {page or ''} {node or ''}"
    named = f"Comment on {title}"
    _compose(app, at, place, named, excerpt, send, doing="comment", said="Sending comment…", about=title, source=source)


def reply(app: Shell, at: Discussion, comment: Comment, *, resolve: bool = False) -> None:
    """Reply to a thread, and with `resolve` resolve it when the reply is sent."""
    if not _may(app, at, "reply_resolve" if resolve else "reply", comment):
        return

    def send(text: str) -> DurableWrite:
        return comments.CreateReply(at=at, comment_id=comment.id, body=Markdown(markdown=text))

    resolves = resolve and comment.is_open
    about = name(comment)
    resolving = NewWrite(
        comments.Update(at=at, comment_id=comment.id, resolved=True), "resolve the thread", context=about
    )
    _compose(
        app,
        at,
        place_of_reply(at, comment),
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
    if not _may(app, at, "resolve", comment):
        return
    op = comments.Update(at=at, comment_id=comment.id, resolved=comment.is_open)
    if comment.is_open:
        app.writes.queue(NewWrite(op, "resolve the thread", context=name(comment)), message="Resolving thread…")
    else:
        app.writes.queue(NewWrite(op, "reopen the thread", context=name(comment)), message="Reopening thread…")


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
    said = f"Removing {to_emoji(chosen)}…" if mine else f"Reacting with {to_emoji(chosen)}…"
    app.writes.queue(NewWrite(op, doing, context=name(comment)), message=said)


def choose_reaction(app: Shell, at: Discussion, comment: Comment, to: Comment | Reply) -> None:
    """Ask which emoji, then react with it."""
    if not _may(app, at, "react", comment, to):
        return

    from octavo.tui.comments import reactions  # with the names of emoji

    def chosen(code: str) -> None:
        react(app, at, comment, to, code)

    reactions.pick(app, "React", my_reactions(app, to), [each.emoji for each in to.reactions], chosen)


def my_reactions(app: Shell, to: Comment | Reply) -> set[str]:
    """The emoji the caller reacted with."""
    me = app.workspace.me.id if app.workspace.me else None
    return {each.emoji for each in to.reactions if any(user.user.id == me for user in each.users)}


def edit(app: Shell, at: Discussion, comment: Comment, what: Comment | Reply) -> None:
    """Change the words of a comment or reply of one's own."""
    if (held := app.workspace.pending_entry(what.id)) is not None:
        from octavo.tui.comments.held_comments import edit_held  # few are held

        edit_held(app, held)
        return
    if not _may(app, at, "edit", comment, what):
        return

    def send(text: str) -> DurableWrite:
        body = Markdown(markdown=text)
        if isinstance(what, Reply):
            return comments.UpdateReply(at=at, comment_id=comment.id, comment_reply_id=what.id, body=body)
        return comments.Update(at=at, comment_id=comment.id, body=body)

    kind = "reply" if isinstance(what, Reply) else "comment"
    place = f"edit {_where(at)} {comment.id} {what.id}"
    _compose(
        app,
        at,
        place,
        f"Edit your {kind}",
        "",
        send,
        doing=f"edit the {kind}",
        said=f"Saving {kind}…",
        about=name(comment),
        start=what.body.text,
        basis=Basis(what.body.markdown),
    )


def delete(app: Shell, at: Discussion, comment: Comment, what: Comment | Reply) -> None:
    """Delete a comment with its replies, or a reply, after a confirmation."""
    if (held := app.workspace.pending_entry(what.id)) is not None:
        from octavo.tui.comments.held_comments import drop_held  # few are held

        drop_held(app, held)
        return
    if not _may(app, at, "delete", comment, what):
        return
    from octavo.tui.widgets.confirm import ConfirmDialog, Confirmed

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
            app.writes.queue(NewWrite(op, f"delete the {kind}", context=name(comment)), message=f"Deleting {kind}…")

    said = f"“{quote_excerpt(plain_text(what.body.text))}”"
    seconds = plural(max(1, round(app.settings.undo_seconds)), "second")
    undo = f"You will have {seconds} to undo this." if app.settings.undo_seconds else "This cannot be undone."
    dialog = ConfirmDialog(
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
        app.writes.queue(NewWrite(send(text), doing, place, basis, about), *after, message=said)

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
    """Let a text be written about `excerpt`, then give it to `written`, or to `hold` when it is to go out with a review.
    It is the draft of `place` until then, and begins as `start`. `source` is what a suggested wording begins with."""
    from octavo.tui.comments.composer import Composer
    from octavo.tui.comments.people import People
    from octavo.tui.reader.markdown_preview import preview
    from octavo.tui.terminal.external_editor import FileNote

    kept, state = DialogDraft(app, place, start), app.session.state

    def closed(text: str | None) -> None:
        if text and composer.is_held and hold is not None:
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
        trouble=lambda: kept.save_problem,
        preview=preview,
        editing_folder=app.settings.state_folder / "editing",
        about=FileNote(title, place, state.namespace),
        people=People(app, at),
        can_hold=hold is not None,
        suggestion=suggestion_fence(source) if source else "",
        replies=app.settings.quick_replies,
    )
    app.push_screen(composer, closed)


def name(comment: Comment) -> str:
    """Return a short name of a thread: its first words and its page."""
    said, page = first_words(comment.body.text), comment.target.page
    title = (page.title or page.path) if page is not None else ""
    return f"{said} on {title}" if title else said


def first_words(text: str) -> str:
    """Return the first words of a text in quotes, cut to fit a row."""
    words = plain_text(text)
    return f"“{words if len(words) <= _NAME else words[: _NAME - 1].rstrip() + '…'}”"


def place_of_reply(at: Discussion, comment: Comment) -> str:
    """Return the key of the draft of a reply."""
    return f"reply {_where(at)} {comment.id}"


def _where(at: Discussion) -> str:
    return " ".join(str(getattr(at, name)) for name in type(at).model_fields)
