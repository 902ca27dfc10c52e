"""Commands for threads in the list of threads, in the thread view, and on blocks of pages and diffs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from octavo.api.comments import Comment, Reply
from octavo.api.places import Discussion
from octavo.tui.comments import bulk_actions, thread_actions
from octavo.tui.comments.bulk_actions import BulkSelection
from octavo.tui.comments.thread_filters import Thread
from octavo.tui.core.external_links import confirm_link, missing_link_reason
from octavo.tui.core.permissions import why_not_in_discussion
from octavo.tui.terminal import clipboard
from octavo.tui.widgets.commands import Command, Commands

if TYPE_CHECKING:
    from octavo.tui.core.shell import Shell


NO_THREAD = "No thread is selected."


@dataclass(frozen=True)
class ThreadTarget:
    """The target of the keys of threads: a comment of a thread, or the selected threads."""

    at: Discussion
    thread: Comment
    message: Comment | Reply
    selected: tuple[Thread, ...] = ()
    clear_selection: Callable[[], None] = lambda: None

    @property
    def url(self) -> str:
        """Return the URL of the thread. Empty if the server gave none."""
        return self.thread.urls.app or self.thread.urls.published or ""


def _why_others_selected(target: ThreadTarget) -> str | None:
    """Return why a command for one thread does not run: other threads are selected. None if no others are."""
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
    run_one: Callable[[Shell, ThreadTarget], None],
    run_selected: Callable[[Shell, BulkSelection, Callable[[], None]], None],
    *,
    writes: bool = False,
    shown: bool = False,
    key_display: str | None = None,
    title_now: Callable[[Shell, ThreadTarget], str | None] = lambda app, target: None,
) -> Command[ThreadTarget]:
    """Return a command for all selected threads, or for one thread if none is selected. A command that writes checks
    the permission of its name with `not_allowed_with`. Other commands apply to every thread."""

    def run(app: Shell, target: ThreadTarget) -> None:
        if not target.selected:
            run_one(app, target)
        elif writes:
            run_selected(app, bulk_actions.select_actionable(app, name, target.selected), target.clear_selection)
        else:
            run_selected(app, BulkSelection(name, target.selected), target.clear_selection)

    def why_not(app: Shell, target: ThreadTarget) -> str | None:
        if not writes:
            return None
        if target.selected:
            return bulk_actions.why_not_any(app, name, target.selected)
        return why_not_in_discussion(app, target.at, name, target.thread, target.message)

    return Command(
        name, keys, title, help, run, why_not, title_now, shown=shown, key_display=key_display, writes=writes
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
        return _why_others_selected(target) or why_not(app, target)

    return Command(name, keys, title, help, run, why_not_now, shown=False, writes=writes)


def _resolve_label(app: Shell, target: ThreadTarget) -> str | None:
    """Return “Reopen” if all threads the key acts on are resolved, else None."""
    threads = [each.comment for each in target.selected] or [target.thread]
    return None if any(each.is_open for each in threads) else "Reopen"


def is_own_comment(app: Shell, target: ThreadTarget) -> bool:
    """Return whether the user wrote the selected comment. True while the user is not loaded."""
    return app.workspace.me is None or app.workspace.me.id == target.message.posted_by.id


def _why_not_allowed(action: str) -> Callable[[Shell, ThreadTarget], str | None]:
    return lambda app, target: why_not_in_discussion(app, target.at, action, target.thread, target.message)


def _why_no_comment_on_page(app: Shell, target: ThreadTarget) -> str | None:
    if target.thread.target.page is None:
        return "This thread is not on a page."
    return why_not_in_discussion(app, target.at, "comment")


def _comment_on_page(app: Shell, target: ThreadTarget) -> None:
    if (page := target.thread.target.page) is not None:
        name = page.title or page.path or ""
        title = f"the page {name}" if name else "this page"
        thread_actions.start_thread(app, target.at, page=page.id, node=None, title=title, excerpt=name)


def _why_no_link(app: Shell, target: ThreadTarget) -> str | None:
    if target.url and not app.session.is_embedded:
        return None
    return missing_link_reason(app, "comment")


def _open_in_browser(app: Shell, target: ThreadTarget) -> None:
    confirm_link(app, target.url)


THREAD: Commands[ThreadTarget] = Commands(
    "comments",
    (
        _bulk_command("resolve", "d", "Resolve", "Resolve or reopen the selected threads", shown=True, writes=True, title_now=_resolve_label,
                run_one=lambda app, target: thread_actions.toggle_resolved(app, target.at, target.thread), run_selected=bulk_actions.resolve),
        _bulk_command("reply", "c", "Reply", "Reply to the selected threads", shown=True, writes=True,
                run_one=lambda app, target: thread_actions.reply(app, target.at, target.thread), run_selected=bulk_actions.reply),
        _single_command("new", "C", "Comment on page", "Comment on this thread's page",
                _comment_on_page, _why_no_comment_on_page, writes=True),
        _bulk_command("reply_resolve", "D", "Reply and resolve", "Reply to the selected threads and resolve them", writes=True,
                run_one=lambda app, target: thread_actions.reply(app, target.at, target.thread, resolve=True), run_selected=bulk_actions.reply),
        _bulk_command("react", "plus", "React", "React to the selected threads with an emoji", key_display="+", writes=True,
                run_one=lambda app, target: thread_actions.choose_reaction(app, target.at, target.thread, target.message), run_selected=bulk_actions.react),
        _single_command("edit", "e", "Edit", "Edit your comment",
                lambda app, target: thread_actions.edit(app, target.at, target.thread, target.message), _why_not_allowed("edit"), writes=True),
        _single_command("delete", "X", "Delete", "Delete your comment",
                lambda app, target: thread_actions.delete(app, target.at, target.thread, target.message), _why_not_allowed("delete"), writes=True),
        _bulk_command("copy", "y", "Copy text", "Copy the text of the selected threads",
                run_one=lambda app, target: clipboard.copy(app, target.message.body.text, "Copied the text of the comment."), run_selected=bulk_actions.copy),
        _single_command("copy_address", "Y", "Copy link", "Copy a link to the comment",
                lambda app, target: clipboard.copy(app, target.url, "Copied the link to the comment."), _why_no_link),
        _single_command("open_browser", "o", "Open in browser", "Open the comment in the browser", _open_in_browser, _why_no_link),
    ),
    context="comments",
    no_target=NO_THREAD,
)  # fmt: skip
"""Commands for a thread. In the list of threads most of them act on the selected threads."""
