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
from octavo.tui.comments.filters import Thread
from octavo.tui.shell.permissions import why_not_in_discussion
from octavo.tui.terminal import clipboard
from octavo.tui.widgets.wording import plural

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell


@dataclass(frozen=True)
class BulkSelection:
    """The selected threads that an action applies to, and why it does not apply to the others."""

    deed: str
    threads: tuple[Thread, ...]
    left: int = 0
    why: str = ""

    @property
    def others(self) -> str:
        """The end of a message: how many selected threads were skipped, and why. Empty if none."""
        return f" Skipped {plural(self.left, 'other thread')}: {self.why}" if self.left else ""


def choose(app: Shell, deed: str, ticked: Sequence[Thread]) -> BulkSelection:
    """Return the selected threads that `deed` applies to. Resolving prefers open threads."""
    wanted = list(ticked)
    if deed in ("resolve", "reply_resolve"):
        wanted = [each for each in ticked if each.comment.is_open] or wanted
    whys = [why_not_in_discussion(app, each.at, deed, each.comment) for each in wanted]
    may = tuple(each for each, why in zip(wanted, whys, strict=True) if why is None)
    return BulkSelection(deed, may, len(wanted) - len(may), next(filter(None, whys), ""))


def why_not(app: Shell, deed: str, ticked: Sequence[Thread]) -> str | None:
    """Return why `deed` cannot be done to any of the selected threads. None if it can be done to some."""
    several = choose(app, deed, ticked)
    return None if several.threads else f"{several.why} This applies to all selected threads."


def why_not_one(ticked: Collection[Hashable], under_cursor: Hashable) -> str | None:
    """Return why a key does not act on the previewed thread alone: other threads are selected in the list."""
    if set(ticked) <= {under_cursor}:
        return None
    are = "thread is" if len(ticked) == 1 else "threads are"
    return f"{len(ticked)} {are} selected in the list. To act on the selection, press esc to go back to the list. To clear the selection, press esc twice."


def resolve(app: Shell, several: BulkSelection, then: Callable[[], None]) -> None:
    """Resolve open threads, reopen resolved ones. `then`: it is written."""
    opens = not several.threads[0].comment.is_open
    doing = "reopen the thread" if opens else "resolve the thread"
    writes = [
        NewWrite(
            comments.Update(at=each.at, comment_id=each.comment.id, resolved=not opens),
            doing,
            context=thread_actions.name(each.comment),
        )
        for each in several.threads
    ]
    doing_now = f"{'Reopening' if opens else 'Resolving'} {plural(len(several.threads), 'thread')}…"
    app.writes.queue(*writes, message=f"{doing_now}{several.others}")
    then()


def reply(app: Shell, several: BulkSelection, then: Callable[[], None]) -> None:
    """Write one reply to all of them, and with `reply_resolve` resolve them when theirs is sent. `then`: it was written."""
    threads, resolves = several.threads, several.deed == "reply_resolve"
    them = "them" if len(threads) > 1 else "it"
    drafts = app.session.drafts
    shared = f"reply to several {blake2b(' '.join(each.comment.id for each in threads).encode()).hexdigest()[:16]}"
    places = [thread_actions.place_of_reply(each.at, each.comment) for each in threads]
    returned = {drafts.get(place) for place in places}
    begin = next(iter(returned)) or "" if len(returned) == 1 else ""  # it was taken back, and they all have it

    def written(text: str) -> None:
        writes = []
        for number, (each, place) in enumerate(zip(threads, places, strict=True)):
            # What was begun for one of them alone stays a draft, unless it is what all of them get.
            own = (place,) if drafts.get(place) in (text, begin or None) else ()
            came_from = (shared, *own) if number == 0 else own
            about, where = thread_actions.name(each.comment), {"at": each.at, "comment_id": each.comment.id}
            op = comments.CreateReply(**where, body=Markdown(markdown=text))
            writes.append(NewWrite(op, "reply", place, context=about, used_draft_keys=came_from))
            if resolves and each.comment.is_open:
                writes.append(NewWrite(comments.Update(**where, resolved=True), "resolve the thread", context=about))
        resolving = f" and resolving {them}" if resolves else ""
        sending = f"Sending reply to {plural(len(threads), 'thread')}{resolving}…"
        app.writes.queue(*writes, message=f"{sending}{several.others}")
        then()

    title = f"Reply to {plural(len(threads), 'thread')}" + (f" and resolve {them}" if resolves else "")
    excerpt = " · ".join(thread_actions.name(each.comment) for each in threads)
    thread_actions.compose(app, threads[0].at, shared, title, excerpt, written, start=begin)


def react(app: Shell, several: BulkSelection, then: Callable[[], None]) -> None:
    """Ask which emoji, then react with it to all of them, or take it back where all have it. `then`: it is done."""
    threads = several.threads
    mine = [thread_actions.my_reactions(app, each.comment) for each in threads]

    def chosen(code: str) -> None:
        takes_back = all(code in each for each in mine)
        change = {"removed_reactions" if takes_back else "added_reactions": (code,)}
        writes = [
            NewWrite(
                comments.Update(at=each.at, comment_id=each.comment.id, **change),
                "remove the reaction" if takes_back else "react",
                context=thread_actions.name(each.comment),
            )
            for each, has in zip(threads, mine, strict=True)
            if takes_back or code not in has
        ]
        to = f"{'from' if takes_back else 'to'} {plural(len(writes), 'thread')}"
        reacting = f"Removing {to_emoji(code)} {to}…" if takes_back else f"Reacting with {to_emoji(code)} {to}…"
        app.writes.queue(*writes, message=f"{reacting}{several.others}")
        then()

    from octavo.tui.comments import reactions  # with the names of emoji

    reactions.pick(app, f"React to {plural(len(threads), 'thread')}", set.intersection(*mine), (), chosen)


def copy(app: Shell, several: BulkSelection, then: Callable[[], None]) -> None:
    """Copy the words of all of them, which stay ticked."""
    words = "\n\n".join(each.comment.body.text for each in several.threads)
    clipboard.copy(app, words, f"Copied the text of {plural(len(several.threads), 'thread')}.")
