"""The composer: a dialog at the bottom of the screen that keeps what you type as a draft."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.events import AppBlur, Key, Paste, ScreenSuspend
from textual.widget import Widget
from textual.widgets import Static, TextArea

from octavo.api.safety import safe_text
from octavo.data.state_db import NotSaved
from octavo.documents.suggestions import find_suggestions, has_incomplete_fence, suggestion_fence
from octavo.tui.comments.autocomplete import (
    Autocomplete,
    EmojiCompletions,
    MemberCompletions,
    MentionCandidates,
    MentionText,
    emoji_prefix,
    mention_markdown,
    with_names,
)
from octavo.tui.core.dialog_draft import DialogDraft, save_or_get_error
from octavo.tui.core.session import RETRY_SECONDS
from octavo.tui.reader.page_view import comment_preview
from octavo.tui.render.threads import quote_excerpt
from octavo.tui.terminal.external_editor import Edited, FileNote, edit_text
from octavo.tui.widgets.chooser import Choice, Picker
from octavo.tui.widgets.commands import Command, Commands, HostApp
from octavo.tui.widgets.delay import DraftDelay
from octavo.tui.widgets.dialog import Dialog, DialogFrame, dialog_styles
from octavo.tui.widgets.short_texts import plural, safe
from octavo.tui.widgets.text_inputs import MAX_BRACKET_SEARCH, TextEditor
from octavo.tui.widgets.text_widgets import ChangingText

if TYPE_CHECKING:
    from octavo.api.operation import Discussion
    from octavo.api.users import User
    from octavo.documents.emoji import NamedEmoji
    from octavo.tui.core.shell import Shell

_MAX_QUOTED_LINES = 3
_SAVED_MESSAGE = "draft saved · clear the text to discard it"

COMPOSER: Commands[Composer] = Commands(
    "composer",
    (
        Command("send", "ctrl+s,ctrl+enter", "Send", "Send the comment", writes=True, run=lambda _, composer: composer.send(),
                why_not=lambda _, composer: composer.why_not_send(), priority=True),
        Command("hold", "ctrl+t", "Add to review", "Add the comment to your pending review", writes=True, run=lambda _, composer: composer.add_to_review(),
                why_not=lambda _, composer: composer.why_not_send(), is_available=lambda _, composer: composer.can_add_to_review, priority=True),
        Command("suggest", "ctrl+g", "Suggest", "Insert a suggested change",
                run=lambda _, composer: composer.insert_suggestion(), is_available=lambda _, composer: bool(composer.suggestion), priority=True),
        Command("edit", "ctrl+e", "Editor", "Edit in your external editor", run=lambda _, composer: composer.edit_in_editor(),
                priority=True),
        Command("preview", "ctrl+r", "Preview", "Switch between preview and editing", run=lambda _, composer: composer.toggle_preview(),
                title_now=lambda _, composer: "Write" if composer.is_previewing else None, priority=True),
        Command("mention", "at", "Mention", "Mention a member", run=lambda _, composer: composer.mention_member(),
                is_available=lambda _, composer: composer.text_area.has_focus, key_display="@", priority=True),
        Command("reply", "ctrl+l", "Quick reply", "Insert a quick reply", run=lambda _, composer: composer.insert_quick_reply(),
                is_available=lambda _, composer: bool(composer.replies), priority=True, shown=False),
        Command("close", "escape", "Close", "Close and keep the text as a draft", run=lambda _, composer: composer.close_keeping_draft(), priority=True),
    ),
)  # fmt: skip


class Composer(Dialog[str | None]):
    """Dialog to write a comment. The result is the text to send, or None if the user only closes the dialog."""

    CSS_PATH = dialog_styles(__file__, "composer.tcss")
    HELP_NAME: ClassVar[str] = "composer"
    text_area: TextEditor
    """The text area that contains the comment."""
    HELP: ClassVar[str] = (
        "Write a comment in Markdown. Press ctrl+s to send the comment, ctrl+r to preview it, ctrl+e to open your editor, "
        "or @ to mention a member. Press esc to close the composer and keep the draft."
    )
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (COMPOSER,)

    def __init__(
        self,
        title: str,
        draft: DialogDraft,
        *,
        members: MentionCandidates,
        preview: Callable[[str], Widget],
        editing_folder: Path,
        file_note: FileNote | None = None,
        quoted: str = "",
        added_text: str = "",
        verb: str = "send",
        can_add_to_review: bool = False,
        suggestion: str = "",
        replies: Sequence[str] = (),
    ) -> None:
        """`quoted` is shown above the comment. `added_text` is appended to the draft. `verb` says what ctrl+s does,
        such as `send`. `suggestion` is the Markdown that starts a suggested change. `replies` are the quick replies."""
        super().__init__()
        self._title, self._quoted, self._verb = title, quoted, verb
        self._draft = draft
        self._initial_text = self._last_text = "\n\n".join(filter(None, (draft.merged_text(), added_text)))
        self._saved_text = draft.text if draft.is_saved else ""
        self._mentions = MentionText()
        self._preview = preview
        self._members = members
        self._editing_folder, self._file_note = editing_folder, file_note
        self.can_add_to_review: bool = can_add_to_review
        self.suggestion: str = suggestion
        self.replies: Sequence[str] = [safe_text(reply) for reply in replies]
        self._length = len(self._mentions.to_text(self._initial_text))
        self._declined_at: tuple[int, int] | None = None
        """Line and column of the `:` after which the user closed the list of emoji. None if there is no such `:`."""
        self.is_pending = False
        """True if the user added the comment to the pending review instead of sending it."""
        self._saving_text: str | None = None
        """Newest text that is being saved. None if no save is running."""
        self._draft_delay = DraftDelay(self)
        self._is_sending = self._is_closed = False
        self._queued_input: list[Key | Paste] = []
        """Keys and pasted texts that arrive during the save before sending. The screen below the dialog gets them."""

    def body(self) -> ComposeResult:
        with DialogFrame() as frame:
            frame.set_border_texts(self._title, self._key_hints())
            quoted = [line for line in with_names(self._quoted).splitlines() if line.strip()][:_MAX_QUOTED_LINES]
            if quoted:
                lines = [Content.styled("┊ ", "$octavo-note") + safe(line) for line in quoted]
                yield Static(Content("\n").join(lines), classes="composer--quoted")
            self.text_area = TextEditor(self._mentions.to_text(self._initial_text), placeholder="Write a comment")
            yield self.text_area
            yield VerticalScroll(classes="composer--preview")
            with Horizontal(classes="composer--state"):
                yield Static(classes="composer--draft")
                yield ChangingText(classes="composer--count")

    def on_mount(self) -> None:
        text_area = self.text_area
        self.focus_at_once(text_area)
        text_area.move_cursor(text_area.document.end)
        if self._initial_text != self._saved_text:
            self._show_status(self._draft.why_not_saved or "not saved yet", "$error")
            self._save_in_background(self._initial_text)
        elif self._initial_text:
            self._show_status("draft" if self._verb == "send" else "")
        self._show_length(len(self.text))
        if isinstance(self.app, HostApp):
            self.app.exit_callbacks.add(self.save_now)
        self.app.app_suspend_signal.subscribe(self, lambda _: self.save_now())
        self.set_interval(RETRY_SECONDS, self._retry_saving)

    def on_unmount(self) -> None:
        self.save_now()
        if isinstance(self.app, HostApp):
            self.app.exit_callbacks.discard(self.save_now)

    @property
    def text(self) -> str:
        """Markdown to send, with links in place of the names of mentioned members."""
        return self._mentions.to_markdown(self.text_area.text)

    def start_saving(self) -> None:
        """Save the text as a draft in the background, if it has changed."""
        text = self._current_text
        if not self._is_closed and text != (self._saved_text if self._saving_text is None else self._saving_text):
            self._save_in_background(text)

    def save_now(self) -> None:
        """Save the text as a draft before returning, because the app may be quitting."""
        self._draft_delay.mark_saved()
        if not self._is_closed and self._current_text != self._saved_text:
            try:
                self._draft.save_now(self._current_text)
            except NotSaved as error:
                self._show_status(str(error), "$error")
                return
            self._saved_text = self._current_text
            self._show_status(_SAVED_MESSAGE)

    def _save_in_background(self, text: str) -> None:
        self._draft_delay.mark_saved()
        self._saving_text = text
        # The app runs this, because the save must outlive the dialog.
        self.app.run_worker(self._finish_saving(text, self._draft.save(text)))

    async def _finish_saving(self, text: str, saving: Awaitable[None]) -> bool:
        error: NotSaved | None = None
        try:
            await saving
        except NotSaved as save_failure:
            error = save_failure
        else:
            self._saved_text = text
        if self._saving_text == text:
            self._saving_text = None
        if self._is_closed and error is not None:
            self.app.notify(str(error), severity="error", markup=False)
        elif not self._is_closed and self._current_text == text:
            self._show_status(_SAVED_MESSAGE if error is None else str(error), "" if error is None else "$error")
            self.refresh_bindings()
        return error is None

    def _retry_saving(self) -> None:
        if self._is_sending or self._is_closed or self._draft_delay.is_waiting:
            return
        if self._saving_text is not None:
            self._show_status(self._draft.why_not_saved, "$error")
        elif self._draft.why_not_saved or self._current_text != self._saved_text:
            self._save_in_background(self._current_text)

    @property
    def _current_text(self) -> str:
        # When the app ends, Textual removes the text area before this screen.
        areas = self.query(TextEditor)
        return self._mentions.to_markdown(areas.first().text) if areas else self._last_text

    def why_not_send(self) -> str | None:
        """Return the reason why the text cannot be sent. None if it can be sent."""
        if why := self._draft.why_not_saved:
            return why
        if not self.text.strip():
            return "Write some text first."
        unchanged_texts = {each.text for each in find_suggestions(self.suggestion)}
        if any(each.text in unchanged_texts for each in find_suggestions(self.text)):
            return "Your suggestion does not change the block. Edit the suggestion, or delete it."
        if self.suggestion and has_incomplete_fence(self.text):
            return "A suggestion or code block needs a line with ``` above and below it. One of these lines is missing."
        return self._draft.why_not_resolved(self.text)

    @property
    def is_previewing(self) -> bool:
        """True if the preview is shown instead of the text."""
        return self.has_class("-preview")

    def _key_hints(self) -> str:
        keys = [
            f"ctrl+s {self._verb}",
            "ctrl+t add to review" if self.can_add_to_review else "",
            "ctrl+g suggest" if self.suggestion else "ctrl+e editor",
        ]
        if not self.can_add_to_review:
            # There is no space for these keys if `ctrl+t` is shown.
            keys += [f"ctrl+r {'write' if self.is_previewing else 'preview'}", "@ mention"]
        return " · ".join(key for key in keys if key)

    @on(TextArea.Changed)
    def _on_text_changed(self) -> None:
        typed = self.text_area.text  # Read once, because TextArea joins all lines at each access.
        text = self._last_text = self._mentions.to_markdown(typed)
        self._show_length(len(text))
        self._draft_delay.stop()
        if text != self._saved_text:
            self._show_status("")
            self._draft_delay.save_soon(self.start_saving)
        is_one_letter, self._length = len(typed) == self._length + 1, len(typed)
        self._offer_emoji(is_one_letter)

    def _offer_emoji(self, is_one_letter: bool) -> None:
        """Offer emoji after `:` and at least two letters, if the last edit inserted one letter (`is_one_letter`)."""
        text_area = self.text_area
        if not text_area.selection.is_empty or text_area.read_only or self.app.screen is not self:
            return
        if len(text_area.text) > MAX_BRACKET_SEARCH:
            return  # In a long text, finding out whether the cursor is in code takes too long.
        row, column = text_area.cursor_location
        if ":" not in text_area.document.get_line(row)[:column]:
            return
        prefix = emoji_prefix(text_area.get_text_range((0, 0), (row, column)))
        start = (row, column - len(prefix))
        if not prefix:
            self._declined_at = None
        elif is_one_letter and start != self._declined_at:

            def on_chosen(answer: NamedEmoji | str | None) -> None:
                cursor = text_area.cursor_location
                if isinstance(answer, str):
                    self._declined_at = start
                    text_area.replace(f":{answer}", start, cursor)
                elif answer is not None:
                    text_area.replace(f"{answer.character} ", start, cursor)

            self.app.push_screen(Autocomplete(EmojiCompletions(prefix[1:])), on_chosen)

    def on_app_blur(self, event: AppBlur) -> None:
        self.start_saving()

    def on_screen_suspend(self, event: ScreenSuspend) -> None:
        self.start_saving()

    def _show_status(self, text: str, style: str = "") -> None:
        for result in self.query(".composer--draft").results(Static):
            result.update(safe(text).stylize(style))

    def _show_length(self, count: int) -> None:
        self.query_one(".composer--count", Static).update(Content(plural(count, "character")))
        self.refresh_bindings()

    def send(self) -> None:
        """Save the draft, then close with the text as the result. Stay open if saving fails."""
        if not self._is_closed and not self._is_sending:
            self._is_sending = self.text_area.read_only = True
            self._draft_delay.mark_saved()
            self.app.run_worker(self._send(self.text, self._draft.save(self.text)))

    def insert_suggestion(self) -> None:
        """Insert the Markdown of the block as a suggested change, for the user to edit."""
        text_area = self.text_area
        if text_area.read_only:
            return
        row, column = text_area.cursor_location
        text_area.insert(("\n" if column else "") + self.suggestion)
        # The user starts to edit in the first line inside the fence.
        text_area.move_cursor((row + bool(column) + 1, 0))
        text_area.focus()

    def insert_quick_reply(self) -> None:
        """Let the user choose a quick reply, and insert it."""

        def on_chosen(text: str | None) -> None:
            if text is not None and not self.text_area.read_only:
                self.text_area.insert(text)

        choices = [Choice(reply, " ".join(reply.split())) for reply in self.replies]
        self.app.push_screen(Picker("Quick replies", choices), on_chosen)

    def add_to_review(self) -> None:
        """Save the draft, then close. The comment becomes part of the pending review."""
        if not self._is_closed and not self._is_sending:
            self.is_pending = True
            self.send()

    @on(Key)
    @on(Paste)
    def _queue_while_sending(self, event: Key | Paste) -> None:
        if self._is_sending:
            event.stop()
            self._queued_input.append(event)

    async def _send(self, text: str, saving: Awaitable[None]) -> None:
        """Wait until the text is saved, then close with the text as the result. Stay open if saving fails."""
        is_saved = await self._finish_saving(text, saving)
        queued_input, self._queued_input = self._queued_input, []
        if self._is_closed:
            return
        if is_saved and self.app.screen is self:
            self._is_closed = True
            self.dismiss(text)
            for event in queued_input:
                self.app.post_message(Key(event.key, event.character) if isinstance(event, Key) else Paste(event.text))
        else:
            self._is_sending = self.text_area.read_only = self.is_pending = False
            for event in queued_input:
                # Keys were meant for the screen below, but a pasted text must not be lost.
                if isinstance(event, Paste):
                    self.text_area.post_message(Paste(event.text))

    async def close_keeping_draft(self) -> None:
        """Close and keep the draft. In the preview, go back to editing instead."""
        if self.is_previewing:
            await self.toggle_preview()
        elif not self._is_closed:
            self.start_saving()
            self._is_closed = True
            self.dismiss(None)

    def edit_in_editor(self) -> None:
        """Edit the text in the user's external editor."""
        if self.text_area.read_only:
            return
        self.save_now()
        result = edit_text(
            self.app, self.text, self._editing_folder, save_text=self._save_edited_text, note=self._file_note
        )
        if isinstance(result, Edited):
            self.text_area.load_text(self._mentions.to_text(_normalize_lines(result.text)))
            self.text_area.move_cursor(self.text_area.document.end)
            self.start_saving()
        else:
            self._show_status(result.message, "$warning")

    def _save_edited_text(self, text: str) -> str:
        # Saved at once, because the file of the editor is deleted next.
        return save_or_get_error(self._draft.save_now, _normalize_lines(text))

    def mention_member(self) -> None:
        """Replace the selection with an `@`. At the start of a word, ask for the member to mention."""
        text_area = self.text_area
        if text_area.read_only:
            return
        text_area.replace("@", *text_area.selection)
        row, column = text_area.cursor_location
        text_before = text_area.document.get_line(row)[: column - 1]
        if text_before and not text_before.endswith((" ", "\t", "(", "“", '"', "*", "_")):
            return  # Inside a word, `@` is part of an email address.

        def on_chosen(member: User | str | None) -> None:
            if isinstance(member, str) or member is None:
                text_area.insert(member or "")
            else:
                cursor = text_area.cursor_location
                text_area.replace(
                    f"{self._mentions.add(mention_markdown(member), text_area.text)} ",
                    (cursor[0], cursor[1] - 1),
                    cursor,
                )

        self.app.push_screen(Autocomplete(MemberCompletions(self._members)), on_chosen)

    async def toggle_preview(self) -> None:
        """Switch between the preview and editing."""
        box = self.query_one(".composer--preview", VerticalScroll)
        await box.remove_children()
        if self.is_previewing:
            self.remove_class("-preview")
            self.text_area.focus()
        else:
            await box.mount(self._preview(self.text))
            self.add_class("-preview")
            box.focus()
        title = f"{self._title} · preview" if self.is_previewing else self._title
        self.query_one(DialogFrame).set_border_texts(title, self._key_hints())


def open_composer(
    app: Shell,
    at: Discussion,
    draft_key: str,
    title: str,
    send: Callable[[str], None],
    *,
    excerpt: str = "",
    edited: str | None = None,
    initial_text: str = "",
    added_text: str = "",
    add_to_review: Callable[[str], None] | None = None,
    source: str = "",
    verb: str = "send",
    is_recoverable: bool = True,
) -> None:
    """Open a composer for a comment in `at`. The composer calls `send` with the text, or `add_to_review` if the user
    adds the comment to the pending review. `excerpt` is quoted above the input. `edited` is the text to edit,
    `initial_text` begins a new text if there is no draft, and `added_text` is appended to any draft. `source`
    is the Markdown of the block, for a suggested change. `verb` says what ctrl+s does. `is_recoverable` is True if a
    crash must not lose the text."""

    def on_closed(text: str | None) -> None:
        if text and composer.is_pending and add_to_review is not None:
            add_to_review(text)
        elif text:
            send(text)

    draft = DialogDraft(app, draft_key, edited, initial_text)
    composer = Composer(
        title,
        draft,
        quoted=quote_excerpt(draft.change_note("comment") or excerpt),
        added_text=added_text,
        verb=verb,
        preview=comment_preview,
        editing_folder=app.settings.state_folder / "editing",
        file_note=FileNote(title, draft_key, app.session.state.namespace) if is_recoverable else None,
        members=MentionCandidates(app, at),
        can_add_to_review=add_to_review is not None,
        suggestion=suggestion_fence(source) if source else "",
        replies=app.settings.quick_replies,
    )
    app.push_screen(composer, on_closed)


def _normalize_lines(text: str) -> str:
    return text.replace("\r\n", "\n").removesuffix("\n")
