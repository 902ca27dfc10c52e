"""Commands for threads in the list of threads, in the thread view, and on blocks of pages and diffs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from octavo.api.comments import Comment, Reply
from octavo.api.places import Discussion
from octavo.tui.comments import bulk_actions, thread_actions
from octavo.tui.comments.bulk_actions import BulkSelection
from octavo.tui.comments.filters import Thread
from octavo.tui.shell.permissions import why_not_in_discussion
from octavo.tui.terminal import clipboard
from octavo.tui.widgets.commands import Command, Commands

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell


NOTHING = "No thread is selected."


@dataclass(frozen=True)
class ThreadTarget:
    """The target of the keys of threads: a comment of a thread, or the selected threads."""

    at: Discussion
    thread: Comment
    message: Comment | Reply
    ticked: tuple[Thread, ...] = ()
    untick: Callable[[], None] = lambda: None

    @property
    def address(self) -> str:
        """Return the URL of the thread. Empty if the server gave none."""
        return self.thread.urls.app or self.thread.urls.published or ""


def _why_not_one_by_one(target: ThreadTarget) -> str | None:
    """Return why a command for one thread does not run: other threads are selected. None if no others are."""
    if not target.ticked or [(each.at, each.comment.id) for each in target.ticked] == [(target.at, target.thread.id)]:
        return None
    are = "thread is" if len(target.ticked) == 1 else "threads are"
    return (
        f"{len(target.ticked)} {are} selected. This key acts on one thread at a time. Press esc to clear the selection."
    )


def _of_all(
    name: str,
    keys: str,
    title: str,
    help: str,
    one: Callable[[Shell, ThreadTarget], None],
    several: Callable[[Shell, BulkSelection, Callable[[], None]], None],
    *,
    writes: bool = False,
    shown: bool = False,
    key_display: str | None = None,
    title_now: Callable[[Shell, ThreadTarget], str | None] = lambda app, target: None,
) -> Command[ThreadTarget]:
    """What is done to all threads that are ticked at once, and to `one` where none is. What writes takes a right
    (`why_not_in_discussion`, which knows it by its name); other things may be done with all that can be read."""

    def run(app: Shell, target: ThreadTarget) -> None:
        if not target.ticked:
            one(app, target)
        elif writes:
            several(app, bulk_actions.choose(app, name, target.ticked), target.untick)
        else:
            several(app, BulkSelection(name, target.ticked), target.untick)

    def why_not(app: Shell, target: ThreadTarget) -> str | None:
        if not writes:
            return None
        if target.ticked:
            return bulk_actions.why_not(app, name, target.ticked)
        return why_not_in_discussion(app, target.at, name, target.thread, target.message)

    return Command(
        name, keys, title, help, run, why_not, title_now, shown=shown, key_display=key_display, writes=writes
    )


def _of_one(
    name: str,
    keys: str,
    title: str,
    help: str,
    run: Callable[[Shell, ThreadTarget], None],
    why_not: Callable[[Shell, ThreadTarget], str | None],
    *,
    writes: bool = False,
) -> Command[ThreadTarget]:
    """Return a command for one thread at a time."""

    def why_not_now(app: Shell, target: ThreadTarget) -> str | None:
        return _why_not_one_by_one(target) or why_not(app, target)

    return Command(name, keys, title, help, run, why_not_now, shown=False, writes=writes)


def _resolve_label(app: Shell, target: ThreadTarget) -> str | None:
    """Return the label of `d` where all threads it acts on are resolved."""
    threads = [each.comment for each in target.ticked] or [target.thread]
    return None if any(each.is_open for each in threads) else "Reopen"


def is_own_comment(app: Shell, target: ThreadTarget) -> bool:
    """Return whether the user wrote the comment at hand, as far as the user is known."""
    return app.workspace.me is None or app.workspace.me.id == target.message.posted_by.id


def _may_not(deed: str) -> Callable[[Shell, ThreadTarget], str | None]:
    return lambda app, target: why_not_in_discussion(app, target.at, deed, target.thread, target.message)


def _why_no_comment_on_page(app: Shell, target: ThreadTarget) -> str | None:
    if target.thread.target.page is None:
        return "This thread is not on a page."
    return why_not_in_discussion(app, target.at, "comment")


def _comment_on_page(app: Shell, target: ThreadTarget) -> None:
    if (page := target.thread.target.page) is not None:
        name = page.title or page.path or ""
        title = f"the page {name}" if name else "this page"
        thread_actions.start_thread(app, target.at, page=page.id, node=None, title=title, excerpt=name)


def _why_no_address(app: Shell, target: ThreadTarget) -> str | None:
    if target.address and not app.session.is_embedded:
        return None
    from octavo.tui.shell.external_links import missing_link_reason

    return missing_link_reason(app, "comment")


def _open(app: Shell, target: ThreadTarget) -> None:
    from octavo.tui.shell.external_links import confirm_link

    confirm_link(app, target.address)


THREAD: Commands[ThreadTarget] = Commands(
    "comments",
    (
        _of_all("resolve", "d", "Resolve", "Resolve or reopen the selected threads", shown=True, writes=True, title_now=_resolve_label,
                one=lambda app, target: thread_actions.toggle_resolved(app, target.at, target.thread), several=bulk_actions.resolve),
        _of_all("reply", "c", "Reply", "Reply to the selected threads", shown=True, writes=True,
                one=lambda app, target: thread_actions.reply(app, target.at, target.thread), several=bulk_actions.reply),
        _of_one("new", "C", "Comment on page", "Comment on this thread's page",
                _comment_on_page, _why_no_comment_on_page, writes=True),
        _of_all("reply_resolve", "D", "Reply and resolve", "Reply to the selected threads and resolve them", writes=True,
                one=lambda app, target: thread_actions.reply(app, target.at, target.thread, resolve=True), several=bulk_actions.reply),
        _of_all("react", "plus", "React", "React to the selected threads with an emoji", key_display="+", writes=True,
                one=lambda app, target: thread_actions.choose_reaction(app, target.at, target.thread, target.message), several=bulk_actions.react),
        _of_one("edit", "e", "Edit", "Edit your comment",
                lambda app, target: thread_actions.edit(app, target.at, target.thread, target.message), _may_not("edit"), writes=True),
        _of_one("delete", "X", "Delete", "Delete your comment",
                lambda app, target: thread_actions.delete(app, target.at, target.thread, target.message), _may_not("delete"), writes=True),
        _of_all("copy", "y", "Copy text", "Copy the text of the selected threads",
                one=lambda app, target: clipboard.copy(app, target.message.body.text, "Copied the text of the comment."), several=bulk_actions.copy),
        _of_one("copy_address", "Y", "Copy link", "Copy a link to the comment",
                lambda app, target: clipboard.copy(app, target.address, "Copied the link to the comment."), _why_no_address),
        _of_one("open_browser", "o", "Open in browser", "Open the comment in the browser", _open, _why_no_address),
    ),
    context="comments",
    no_target=NOTHING,
)  # fmt: skip
"""Commands for a thread. In the list of threads most of them act on the selected threads."""
