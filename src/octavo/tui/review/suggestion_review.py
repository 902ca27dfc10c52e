"""Commands for the suggestions in the diff of a page: apply the suggestion of the selected thread, or preview all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from octavo.api.comments import Comment, Reply
from octavo.documents.suggestions import find_suggestions
from octavo.lazy_import import lazy
from octavo.tui.comments.diff_threads import DiffThreads
from octavo.tui.comments.thread_commands import ThreadTarget
from octavo.tui.core.permissions import why_not_in_change_request
from octavo.tui.editing.suggestion_commands import apply_to_page, why_not_apply
from octavo.tui.widgets.commands import Command, Commands

if TYPE_CHECKING:
    from octavo.tui.core.shell import Shell
    from octavo.tui.review.page_diff import PageDiff

_preview_screen = lazy("octavo.tui.review.suggestion_preview:SuggestionPreviewScreen")

_CHOOSE = "This thread has several suggestions. Press enter to open the thread, then select one."


class SuggestionReview:
    """The suggestions for the page that a diff shows."""

    def __init__(self, diff: PageDiff, threads: DiffThreads) -> None:
        self._diff, self._threads = diff, threads

    def _messages(self) -> list[tuple[ThreadTarget, Comment | Reply]]:
        """Return the messages of the selected thread that suggest a change."""
        target = self._diff.page_discussion.selected_thread
        if target is None:
            return []
        messages: list[Comment | Reply] = [target.thread, *self._threads.replies_of(target.thread)]
        return [(target, each) for each in messages if find_suggestions(each.body.text)]

    def why_not_apply(self, app: Shell) -> str | None:
        """Return the reason why the suggestion of the selected thread cannot be applied. None if it can be applied."""
        if self._diff.page_discussion.selected_thread is None:
            return self._diff.page_discussion.why_no_thread
        messages = self._messages()
        if len(messages) != 1:
            return _CHOOSE if messages else "The selected thread has no suggestion."
        target, message = messages[0]
        return why_not_apply(app, target.at, target.thread, message, resolve=True)

    def apply(self, app: Shell) -> None:
        """Apply the suggestion of the selected thread, and resolve the thread."""
        for target, message in self._messages():
            apply_to_page(app, target.at, target.thread, message, resolve=True)

    def _open_threads(self) -> list[Comment]:
        """Return the open threads of the page that suggest a change."""
        return [each for each in self._diff.page_threads if each.is_open and find_suggestions(each.body.text)]

    def why_not_apply_all(self, app: Shell) -> str | None:
        """Return the reason why no suggestions can be applied to the page. None if some can be applied."""
        if not self._open_threads():
            return "No open thread on this page has a suggested change."
        return why_not_in_change_request(app, self._diff.change_request, self._diff.space_ref, "edit", "draft", "open")

    def preview_all(self, app: Shell) -> None:
        """Open a preview of the page with all suggestions. The user can apply the suggestions there."""
        if (page := self._diff.visible_page) is not None:
            change_request, title = self._diff.change_request, page[1]
            location = f"Changes › #{change_request.number} {change_request.title} › Suggestions for {title}"
            app.push_screen(_preview_screen(self._diff.discussion, title, location, self._open_threads()))


SUGGESTION_COMMANDS: Commands[SuggestionReview] = Commands(
    "suggestion",
    (
        Command("apply_here", "ampersand", "Apply and resolve", "Apply this thread’s suggestion and resolve the thread", key_display="&", shown=False,
                writes=True, run=lambda app, review: review.apply(app), why_not=lambda app, review: review.why_not_apply(app)),
        Command("apply_all", "percent_sign", "Apply suggestions", "Preview all suggestions on this page, then apply", key_display="%", shown=False,
                writes=True, run=lambda app, review: review.preview_all(app), why_not=lambda app, review: review.why_not_apply_all(app)),
    ),
    context="pages and diffs",
    find=lambda view: view.suggestion_review,
)  # fmt: skip
"""Commands on the suggestions for the shown page."""
