"""Commands for the suggestions on a page, and a preview of the page with the suggestions that the user includes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from octavo.api import change_requests
from octavo.api.comments import Comment, Reply
from octavo.api.errors import ApiError
from octavo.api.operation import ChangeRequestRef
from octavo.api.safety import safe_text
from octavo.data.writes.direct import SendResult
from octavo.data.writes.text_edits import (
    SuggestionOutcome,
    SuggestionResult,
    apply_suggestions,
    preview_suggestions,
    resolve_write,
    suggested_texts,
)
from octavo.documents.suggestions import TwoVersionAnchors, find_suggestions
from octavo.tui.comments.diff_threads import DiffThreads
from octavo.tui.comments.thread_actions import thread_label
from octavo.tui.comments.thread_commands import ThreadTarget
from octavo.tui.core.permissions import why_not_in_change_request, why_not_in_discussion
from octavo.tui.core.shell import Shell
from octavo.tui.editing.page_edit import apply_to_page, send_suggestions, why_not_apply
from octavo.tui.reader.diff_view import DiffPreviewScreen
from octavo.tui.render.comparison import PageComparison, compare
from octavo.tui.render.threads import ThreadSummary
from octavo.tui.widgets.commands import Command, Commands, StillLoading
from octavo.tui.widgets.short_texts import plural

if TYPE_CHECKING:
    from octavo.tui.review.page_diff import PageDiff

PREVIEW_COMMANDS: Commands[SuggestionPreviewScreen] = Commands(
    "suggestions",
    (
        Command("close", "escape", "Back", "Go back without applying", run=lambda app, _: app.pop_screen()),
        Command("apply", "ctrl+s", "Apply", "Apply the suggestions and resolve their threads", writes=True,
                run=lambda app, screen: screen.apply(app), why_not=lambda _, screen: screen.why_not_apply()),
        Command("include", "x", "Include", "Include or leave out the selected suggestion",
                run=lambda _, screen: screen.toggle(), why_not=lambda _, screen: screen.why_not_toggle()),
        Command("next", "t", "Next suggestion", "Go to the next suggestion", run=lambda _, screen: screen.go_to_suggestion(1)),
        Command("previous", "T", "Previous suggestion", "Go to the previous suggestion", run=lambda _, screen: screen.go_to_suggestion(-1), shown=False),
    ),
)  # fmt: skip


class SuggestionPreviewScreen(DiffPreviewScreen):
    """Preview of a page with suggestions applied, as a diff against the page. Threads are below their blocks."""

    HELP_NAME = "preview of suggestions"
    HELP = (
        "This is a preview of the page with all suggestions applied. "
        "Press t to go to the next suggestion, x to include it or leave it out, or ctrl+s to apply the included suggestions. "
        "Press esc to go back without applying."
    )
    KEYBAR: ClassVar[tuple[str, ...]] = (
        "suggestions.close",
        "suggestions.apply",
        "suggestions.include",
        "suggestions.next",
    )
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (PREVIEW_COMMANDS,)

    def __init__(self, at: ChangeRequestRef, title: str, location: str, threads: Sequence[Comment]) -> None:
        """`title` is the page title, `location` the text at the left of the status line. Only threads with exactly one
        suggestion in their text are shown."""
        super().__init__(title, location)
        self._at = at
        self._threads = {thread.id: thread for thread in threads if len(suggested_texts(thread, thread)) == 1}
        self._included = set(self._threads)
        self._inapplicable: dict[str, SuggestionResult] = {}
        """Results of the suggestions that cannot be applied, by thread ID."""
        self._outcome: SuggestionOutcome | None = None
        """The page with the included suggestions applied. None until it is loaded."""
        self._has_failed = False

    def on_mount(self) -> None:
        self._start()

    def refresh_data(self) -> None:
        super().refresh_data()
        self._start()

    def _start(self) -> None:
        self._outcome, self._has_failed = None, False
        self._inapplicable.clear()  # The page or the included suggestions may have changed.
        self._show_banner()
        self.run_worker(self._load(), exclusive=True)

    def _threads_to_apply(self) -> list[Comment]:
        return [thread for key, thread in self._threads.items() if key in self._included - self._inapplicable.keys()]

    async def _load(self) -> None:
        live = self.shell.session.live
        try:
            revision = (await live.fetch(change_requests.Get(at=self._at))).revision or ""
            while True:
                included_threads = self._threads_to_apply()
                texts = [text for thread in included_threads for text in suggested_texts(thread, thread)]
                outcome = await preview_suggestions(live, self._at, revision, texts)
                threads_and_results = zip(included_threads, outcome.results, strict=True)
                inapplicable = {thread.id: result for thread, (_, result) in threads_and_results if result != "applied"}
                if not inapplicable:
                    break
                self._inapplicable |= inapplicable
        except ApiError as error:
            self.view.state.fail(f"Could not load {self.page_title}", str(error))
            self._has_failed = True
            self._show_banner()
            return
        page = next(iter(outcome.texts.values()), None)
        old_text, new_text = (page.before.text, page.after.text) if page is not None else ("", "")
        compared = await asyncio.to_thread(compare, safe_text(old_text), safe_text(new_text))
        anchors, threads = TwoVersionAnchors((compared.old, compared.new)), tuple(self._threads.values())
        self._outcome = outcome
        self._show(compared, anchors.by_block(threads))

    def _show(self, compared: PageComparison, blocks: Mapping[str, Sequence[Comment]]) -> None:
        self.view.show(compared, title=self.page_title, key="outcome")
        self.view.set_threads({key: [self._summary(each) for each in threads] for key, threads in blocks.items()})
        self._show_banner()
        self.show_position()

    def _summary(self, thread: Comment) -> ThreadSummary:
        """Return the row that shows a thread below its block. The text leaves out a suggestion that will be applied."""
        result, is_included = self._inapplicable.get(thread.id), thread.id in self._included
        status = "will be applied" if is_included else "left out"
        if result is not None:
            status = "changes nothing" if result == "same" else "cannot be applied"
        (suggestion,) = find_suggestions(thread.body.text)
        lines, (first, end) = thread.body.text.split("\n"), suggestion.lines
        is_applied = is_included and result is None
        return ThreadSummary(
            thread.posted_by.name,
            status,
            "\n".join([*lines[:first], *lines[end:]]).strip() if is_applied else thread.body.text,
            key=thread.id,
            word_change="" if result in (None, "same") else "changed",
        )

    def _show_banner(self) -> None:
        included_count, label = len(self._threads_to_apply()), plural(len(self._threads), "suggestion")
        self.show_banner(f"{included_count} of {label} will be applied", "press ctrl+s to apply", self.why_not_apply())

    @property
    def _selected_thread_id(self) -> str:
        selected, chunks = self.view.cursor.current(), self.view.contents.shown_diff.chunks
        if selected is None:
            return ""
        if selected.block.key in self._threads:
            return selected.block.key
        chunks_below = chunks[selected.chunk_index + 1 : selected.chunk_index + 2]
        return next((thread.key for chunk in chunks_below for thread, _ in chunk.threads), "")

    def go_to_suggestion(self, step: int) -> None:
        """Go to the next suggestion (1) or to the previous one (-1). Say so if there is none."""
        if not self.view.navigation.go_to_thread(step):
            self.shell.explain("There are no more suggestions in this direction.")

    def why_not_toggle(self) -> str | None:
        """Return the reason why you cannot include or leave out the selected suggestion. None if you can."""
        result = self._inapplicable.get(self._selected_thread_id)
        if result == "same":
            return "This suggestion changes nothing: the page already has its text."
        if result is not None:
            return "This suggestion cannot be applied: its block was edited, or another suggestion changes the block."
        return None if self._selected_thread_id else "Press t to select a suggestion first."

    def toggle(self) -> None:
        """Include the selected suggestion, or leave it out if it is included."""
        self._included ^= {self._selected_thread_id}
        self._start()

    def why_not_apply(self) -> str | None:
        """Return the reason why the included suggestions cannot be applied. None if they can."""
        if self._has_failed:
            return "The preview could not be loaded. Press r to retry."
        if self._outcome is None:
            return StillLoading("The preview is still loading.")
        if not self._threads_to_apply():
            return "No suggestion can be applied." if self._inapplicable else "Press x to include a suggestion first."
        reasons = (
            why_not_in_discussion(self.shell, self._at, "resolve", thread) for thread in self._threads_to_apply()
        )
        return next(filter(None, reasons), None)

    def apply(self, app: Shell) -> None:
        """Apply the included suggestions and resolve their threads, if the page was not edited after the preview."""
        outcome, included_threads, at, live = self._outcome, self._threads_to_apply(), self._at, app.session.live
        if outcome is None:
            return
        resolve_writes = [resolve_write(at, thread, thread_label(thread)) for thread in included_threads]
        label = plural(len(included_threads), "suggestion")

        async def send() -> SendResult[SuggestionOutcome]:
            texts = [text for text, _ in outcome.results]
            result = await apply_suggestions(live, at, texts, resolve_writes, previewed=outcome)
            if result.kind == "changed":
                reason = "the page was edited after the preview. Press % to preview them again."
                return SendResult("refused", f"Could not apply {label}: {reason}")
            if result.kind == "done":
                return result
            return SendResult(result.kind, f"Could not apply {label}: {result.message}")

        threads = plural(len(included_threads), "thread")
        app.pop_screen()
        send_suggestions(app, at, send, f"apply {label}", f"Applied {label} to {self.page_title}. Resolving {threads}…")


_SEVERAL_SUGGESTIONS = "This thread has several suggestions. Press enter to open the thread, then select one."


class SuggestionReview:
    """Suggestions of the threads on the page that a diff shows, and the commands that apply them."""

    def __init__(self, diff: PageDiff, threads: DiffThreads) -> None:
        self._diff, self._threads = diff, threads

    def _suggesting_messages(self) -> list[tuple[ThreadTarget, Comment | Reply]]:
        target = self._diff.page_discussion.selected_thread
        if target is None:
            return []
        messages: list[Comment | Reply] = [target.thread, *self._threads.replies_of(target.thread)]
        return [(target, each) for each in messages if find_suggestions(each.body.text)]

    def why_not_apply(self, app: Shell) -> str | None:
        """Return the reason why the suggestion of the selected thread cannot be applied. None if it can be applied."""
        if self._diff.page_discussion.selected_thread is None:
            return self._diff.page_discussion.why_no_thread
        messages = self._suggesting_messages()
        if len(messages) != 1:
            return _SEVERAL_SUGGESTIONS if messages else "The selected thread has no suggestion."
        target, message = messages[0]
        return why_not_apply(app, target.at, target.thread, message, resolve=True)

    def apply(self, app: Shell) -> None:
        """Apply the suggestion of the selected thread, and resolve the thread."""
        for target, message in self._suggesting_messages():
            apply_to_page(app, target.at, target.thread, message, resolve=True)

    def _open_threads_with_suggestion(self) -> list[Comment]:
        return [each for each in self._diff.page_threads if each.is_open and find_suggestions(each.body.text)]

    def why_not_apply_all(self, app: Shell) -> str | None:
        """Return the reason why no suggestion on the page can be applied. None if some can be applied."""
        if not self._open_threads_with_suggestion():
            return "No open thread on this page has a suggested change."
        return why_not_in_change_request(app, self._diff.change_request, self._diff.space_ref, "edit", "draft", "open")

    def preview_all(self, app: Shell) -> None:
        """Open a preview of the page with the suggestions of all open threads applied."""
        if (page := self._diff.visible_page) is not None:
            change_request, title = self._diff.change_request, page[1]
            location = f"Changes › #{change_request.number} {change_request.title} › Suggestions for {title}"
            app.push_screen(
                SuggestionPreviewScreen(self._diff.discussion, title, location, self._open_threads_with_suggestion())
            )


SUGGESTION_COMMANDS: Commands[SuggestionReview] = Commands(
    "suggestion",
    (
        Command("apply_here", "ampersand", "Apply and resolve",
                "Apply this thread's suggestion and resolve the thread", key_display="&", shown=False,
                writes=True, run=lambda app, review: review.apply(app), why_not=lambda app, review: review.why_not_apply(app)),
        Command("apply_all", "percent_sign", "Apply suggestions", "Preview all suggestions on this page, then apply", key_display="%", shown=False,
                writes=True, run=lambda app, review: review.preview_all(app), why_not=lambda app, review: review.why_not_apply_all(app)),
    ),
    context="pages and diffs",
    find_target=lambda view: view.suggestion_review,
)  # fmt: skip
"""Commands for the suggestions on the shown page."""
