"""The composer: a dialog at the bottom of the screen that keeps what you type as a draft."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path, PurePath
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.events import AppBlur, Key, ScreenSuspend
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static, TextArea

from octavo.api.safety import text as safe_text
from octavo.data.state_db import NotSaved
from octavo.tui.comments.mentions import MentionText, mention_markdown, with_names
from octavo.tui.shell.dialog_draft import why_not_saved
from octavo.tui.shell.left_unsent import AGAIN
from octavo.tui.terminal.external_editor import Edited, FileNote, edit_text
from octavo.tui.widgets.changing_text import ChangingText
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.dialog import STYLES, Dialog, Frame
from octavo.tui.widgets.draft_clock import DraftClock, SavesOnExit
from octavo.tui.widgets.safe_text import safe
from octavo.tui.widgets.text_inputs import SEARCHED, TextEditor
from octavo.tui.widgets.wording import plural

if TYPE_CHECKING:
    from octavo.api.users import User
    from octavo.documents.emoji import NamedEmoji
    from octavo.tui.comments.autocomplete import MentionCandidates

_QUOTED_LINES = 3
_SAVED_MESSAGE = "draft saved · clear the text to discard it"

COMPOSER: Commands[Composer] = Commands(
    "composer",
    (
        Command("send", "ctrl+s,ctrl+enter", "Send", "Send the comment", writes=True, run=lambda _, composer: composer.send(),
                why_not=lambda _, composer: composer.why_not_send(), priority=True),
        Command("hold", "ctrl+t", "Add to review", "Add the comment to your pending review", writes=True, run=lambda _, composer: composer.hold(),
                why_not=lambda _, composer: composer.why_not_send(), there=lambda _, composer: composer.can_hold, priority=True),
        Command("suggest", "ctrl+g", "Suggest", "Insert a suggested change",
                run=lambda _, composer: composer.suggest(), there=lambda _, composer: bool(composer.suggestion), priority=True),
        Command("edit", "ctrl+e", "Editor", "Edit in your external editor", run=lambda _, composer: composer.edit_outside(),
                there=lambda _, composer: composer.can_edit_outside, priority=True),
        Command("preview", "ctrl+r", "Preview", "Switch between preview and editing", run=lambda _, composer: composer.show_preview(),
                called=lambda _, composer: "Write" if composer.is_previewing else None,
                there=lambda _, composer: composer.can_preview, priority=True),
        Command("mention", "at", "Mention", "Mention a member", run=lambda _, composer: composer.name_somebody(),
                there=lambda _, composer: composer.can_name_somebody, key_display="@", priority=True),
        Command("reply", "ctrl+l", "Quick reply", "Insert a quick reply", run=lambda _, composer: composer.reply_quickly(),
                there=lambda _, composer: bool(composer.replies), priority=True, shown=False),
        Command("close", "escape", "Close", "Close and keep the text as a draft", run=lambda _, composer: composer.leave(), priority=True),
    ),
    find=lambda view: view,
)  # fmt: skip


class Composer(Dialog[str | None]):
    """A dialog to write one text. Returns the text to send, or None if it was closed and the draft was kept.

    `save_draft` saves the draft once it is awaited, `save_draft_now` before it returns. Both raise NotSaved. The draft
    is the text of the last call. The caller removes the draft after sending.
    """

    CSS_PATH: ClassVar[str | PurePath | list[str | PurePath] | None] = [
        STYLES / "dialog.tcss",
        PurePath(__file__).with_name("composer.tcss"),
    ]
    CONTEXT: ClassVar[str] = "composer"
    writing: TextEditor
    """The text area."""
    HELP: ClassVar[str] = (
        "Write a comment in Markdown. Press ctrl+s to send the comment, ctrl+r to preview it, ctrl+e to open your editor, "
        "or @ to mention a member. Press esc to close the composer and keep the draft."
    )
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (COMPOSER,)

    def __init__(
        self,
        title: str,
        *,
        quoted: str = "",
        draft: str = "",
        is_saved: bool = True,
        save_draft: Callable[[str], Awaitable[None]],
        save_draft_now: Callable[[str], None],
        trouble: Callable[[], str] = str,
        verb: str = "send",
        placeholder: str = "Write a comment",
        preview: Callable[[str], Widget] | None = None,
        editing_folder: Path | None = None,
        about: FileNote | None = None,
        limit: int | None = None,
        people: MentionCandidates | None = None,
        can_hold: bool = False,
        suggestion: str = "",
        replies: Sequence[str] = (),
    ) -> None:
        """Create a composer with a title, a quoted excerpt and the initial text of the draft.

        `is_saved` means that the draft is on disk. `preview` returns a widget that shows the rendered text.
        `editing_folder` is the folder for files of the external editor: without it, the text cannot be edited outside.
        `about` is the note in such a file. `limit` is the most characters that can be sent. `trouble` returns why
        nothing can be saved or sent. `people` are the members who can be mentioned. With `can_hold`, the comment can be
        added to the pending review, which sets `is_held`. `suggestion` is the Markdown that starts a suggested change.
        `replies` are quick replies.
        """
        super().__init__()
        self._title, self._quoted, self._verb, self._placeholder = title, quoted, verb, placeholder
        self._begun = self._typed_last = draft
        self._saved = draft if is_saved else ""
        self._named = MentionText()
        self._save_draft, self._save_draft_now, self._trouble = save_draft, save_draft_now, trouble
        self._preview, self._limit, self._people = preview, limit, people
        self._folder, self._about = editing_folder, about
        self.can_hold: bool = can_hold
        self.suggestion: str = suggestion
        self.replies: Sequence[str] = [safe_text(each) for each in replies]
        self._length = len(self._named.shown(draft))
        self._declined: tuple[int, int] | None = None
        """Position of a `:` after which the user closed the emoji list without a choice."""
        self.is_held = False
        """Whether the comment was added to the pending review instead of sent."""
        self._under_way: str | None = None
        """Newest text that is being saved. None if no save is running."""
        self._clock = DraftClock()
        self._timer: Timer | None = None
        self._sending = self._done = False
        self._typed_ahead: list[Key] = []
        """Keys pressed while the text is being saved. They are sent to the screen below."""

    def body(self) -> ComposeResult:
        with Frame() as frame:
            frame.name_it(self._title, self._keys())
            quoted = [line for line in with_names(self._quoted).splitlines() if line.strip()][:_QUOTED_LINES]
            if quoted:
                lines = [Content.styled("┊ ", "$octavo-note") + safe(line) for line in quoted]
                yield Static(Content("\n").join(lines), classes="composer--quoted")
            self.writing = TextEditor(self._named.shown(self._begun), placeholder=self._placeholder)
            yield self.writing
            yield VerticalScroll(classes="composer--preview")
            with Horizontal(classes="composer--state"):
                yield Static(classes="composer--draft")
                yield ChangingText(classes="composer--count")

    def on_mount(self) -> None:
        writing = self.writing
        writing.focus()
        writing.move_cursor(writing.document.end)
        if self._begun != self._saved:
            self._say(self._trouble() or "not saved yet", "$error")
            self._begin_to_keep(self._begun)
        elif self._begun:
            self._say("draft" if self._verb == "send" else "")
        self._count(len(self.text))
        if isinstance(self.app, SavesOnExit):
            self.app.before_end.add(self.keep_now)
        self.app.app_suspend_signal.subscribe(self, lambda _: self.keep_now())
        self.set_interval(AGAIN, self._try_again)

    def on_unmount(self) -> None:
        self.keep_now()
        if isinstance(self.app, SavesOnExit):
            self.app.before_end.discard(self.keep_now)

    @property
    def text(self) -> str:
        """Return the text as it is sent."""
        return self._named.sent(self.writing.text)

    def keep(self) -> None:
        """Start saving the text as a draft."""
        text = self._current
        if not self._done and text != (self._saved if self._under_way is None else self._under_way):
            self._begin_to_keep(text)

    def keep_now(self) -> None:
        """Save the text as a draft before returning: the app may end or be suspended next."""
        self._stop_timer()
        if not self._done and self._current != self._saved:
            try:
                self._save_draft_now(self._current)
            except NotSaved as error:
                self._say(str(error), "$error")
                return
            self._saved = self._current
            self._say(_SAVED_MESSAGE)

    def _begin_to_keep(self, text: str) -> None:
        self._stop_timer()
        self._under_way = text
        # Run by the app: the save must outlive this dialog.
        self.app.run_worker(self._until_kept(text, self._save_draft(text)))

    async def _until_kept(self, text: str, saving: Awaitable[None]) -> bool:
        error: NotSaved | None = None
        try:
            await saving
        except NotSaved as failed:
            error = failed
        else:
            self._saved = text
        if self._under_way == text:
            self._under_way = None
        if self._done and error is not None:
            self.app.notify(str(error), severity="error", markup=False)
        elif not self._done and self._current == text:
            self._say(_SAVED_MESSAGE if error is None else str(error), "" if error is None else "$error")
            self.refresh_bindings()
        return error is None

    def _try_again(self) -> None:
        """Save again after a failure: only a new attempt shows whether saving works again."""
        if self._sending or self._done or self._timer is not None:
            return
        trouble = self._trouble()
        if self._under_way is not None:
            self._say(trouble, "$error")
        elif trouble or self._current != self._saved:
            self._begin_to_keep(self._current)

    def _stop_timer(self) -> None:
        self._clock.kept()
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    @property
    def _current(self) -> str:
        # While the app ends, the text area is removed before this screen.
        found = self.query(TextEditor)
        return self._named.sent(found.first().text) if found else self._typed_last

    def why_not_send(self) -> str | None:
        """Return why the text cannot be sent. None if it can."""
        if trouble := self._trouble():
            return trouble
        if not self.text.strip():
            return "Write some text first."
        if self._limit is not None and len(self.text) > self._limit:
            return f"The text is {plural(len(self.text) - self._limit, 'character')} over the limit."
        return None

    @property
    def can_edit_outside(self) -> bool:
        """Return whether the text can be edited in an external editor."""
        return self._folder is not None

    @property
    def can_preview(self) -> bool:
        """Return whether the text has a preview."""
        return self._preview is not None

    @property
    def is_previewing(self) -> bool:
        """Return whether the preview is shown instead of the text."""
        return self.has_class("-preview")

    @property
    def can_name_somebody(self) -> bool:
        """Return whether members can be mentioned here."""
        return self._people is not None and self.writing.has_focus

    def _keys(self) -> str:
        keys = [
            f"ctrl+s {self._verb}",
            "ctrl+t add to review" if self.can_hold else "",
            "ctrl+g suggest" if self.suggestion else "",
            "ctrl+e editor" if self._folder is not None and not self.suggestion else "",
            # With more than these keys, the key bar shows the others.
            f"ctrl+r {'write' if self.is_previewing else 'preview'}"
            if self._preview is not None and not self.can_hold
            else "",
            "@ mention" if self._people is not None and not self.can_hold else "",
        ]
        return " · ".join(key for key in keys if key)

    @on(TextArea.Changed)
    def _typed(self) -> None:
        written = self.writing.text  # read once: TextArea joins all its lines for each access
        text = self._typed_last = self._named.sent(written)
        self._count(len(text))
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        if text != self._saved:
            self._say("")
            self._timer = self.set_timer(self._clock.typed(monotonic()), self.keep)
        is_letter, self._length = len(written) == self._length + 1, len(written)
        self._offer_emoji(is_letter)

    def _offer_emoji(self, is_letter: bool) -> None:
        """Offer emoji after a `:` and two letters, if the last letter was typed and not pasted."""
        writing = self.writing
        if not writing.selection.is_empty or writing.read_only or self.app.screen is not self:
            return
        if len(writing.text) > SEARCHED:
            return  # Whether the cursor is in code depends on all text before the cursor: too slow in a long text.
        row, column = writing.cursor_location
        if ":" not in writing.document.get_line(row)[:column]:
            return
        # lazy: the names of emoji, rarely needed
        from octavo.tui.comments.autocomplete import Autocomplete, EmojiSuggestions, emoji_prefix

        begun = emoji_prefix(writing.get_text_range((0, 0), (row, column)))
        begins = (row, column - len(begun))
        if not begun:
            self._declined = None
        elif is_letter and begins != self._declined:

            def chosen(answer: NamedEmoji | str | None) -> None:
                here = writing.cursor_location
                if isinstance(answer, str):
                    self._declined = begins
                    writing.replace(f":{answer}", begins, here)
                elif answer is not None:
                    writing.replace(f"{answer.sign} ", begins, here)

            self.app.push_screen(Autocomplete(EmojiSuggestions(begun[1:])), chosen)

    def on_app_blur(self, event: AppBlur) -> None:
        self.keep()

    def on_screen_suspend(self, event: ScreenSuspend) -> None:
        self.keep()

    def _say(self, words: str, style: str = "") -> None:
        for each in self.query(".composer--draft").results(Static):
            each.update(safe(words).stylize(style))

    def _count(self, count: int) -> None:
        limit = f" of {self._limit}" if self._limit is not None and count > self._limit * 0.8 else ""
        over = self._limit is not None and count > self._limit
        words = Content(f"{count}{limit} character{'' if count == 1 and not limit else 's'}")
        self.query_one(".composer--count", Static).update(words.stylize("bold $error") if over else words)
        self.refresh_bindings()

    def send(self) -> None:
        """Close with the text as the result, once the draft is saved."""
        if not self._done and not self._sending:
            self._sending = self.writing.read_only = True
            self._stop_timer()
            self.app.run_worker(self._send(self.text, self._save_draft(self.text)))

    def suggest(self) -> None:
        """Insert the source of the block as a suggested change."""
        writing = self.writing
        if writing.read_only:
            return
        row, column = writing.cursor_location
        writing.insert(("\n" if column else "") + self.suggestion)
        # The first line inside the fence: the user starts to edit there.
        writing.move_cursor((row + bool(column) + 1, 0))
        writing.focus()

    def reply_quickly(self) -> None:
        """Ask for a quick reply and insert it."""
        from octavo.tui.widgets.chooser import Choice
        from octavo.tui.widgets.picker import Picker

        def chosen(text: str | None) -> None:
            if text is not None and not self.writing.read_only:
                self.writing.insert(text)

        choices = [Choice(each, " ".join(each.split())) for each in self.replies]
        self.app.push_screen(Picker("Quick replies", choices), chosen)

    def hold(self) -> None:
        """Add the comment to the pending review and close."""
        if not self._done and not self._sending:
            self.is_held = True
            self.send()

    def on_key(self, event: Key) -> None:
        if self._sending:
            event.stop()
            self._typed_ahead.append(event)

    async def _send(self, text: str, saving: Awaitable[None]) -> None:
        """Close with `text` once it is saved: until the outbox has queued it, only the draft has it."""
        kept = await self._until_kept(text, saving)
        ahead, self._typed_ahead = self._typed_ahead, []
        if self._done:
            return
        if kept and self.app.screen is self:
            self._done = True
            self.dismiss(text)
            for key in ahead:
                self.app.post_message(Key(key.key, key.character))
        else:
            self._sending = self.writing.read_only = self.is_held = False

    async def leave(self) -> None:
        """Close and keep the draft. In the preview, go back to editing."""
        if self.has_class("-preview"):
            await self.show_preview()
        elif not self._done:
            self.keep()
            self._done = True
            self.dismiss(None)

    def edit_outside(self) -> None:
        """Edit the text in the user's external editor."""
        if self._folder is None:
            return
        self.keep_now()
        result = edit_text(self.app, self.text, self._folder, keep=self._keep_edited, about=self._about)
        if isinstance(result, Edited):
            self.writing.load_text(self._named.shown(_normalize_lines(result.text)))
            self.writing.move_cursor(self.writing.document.end)
            self.keep()
        else:
            self._say(result.said, "$warning")

    def _keep_edited(self, text: str) -> str:
        # Saved before the edited file is deleted: a crash then cannot lose the text.
        return why_not_saved(self._save_draft_now, _normalize_lines(text))

    def name_somebody(self) -> None:
        """Insert an `@`. At the start of a word, ask for the member to mention."""
        from octavo.tui.comments.autocomplete import Autocomplete, MemberSuggestions

        writing = self.writing
        if self._people is None or writing.read_only:
            return
        writing.replace("@", *writing.selection)
        row, column = writing.cursor_location
        before = writing.document.get_line(row)[: column - 1]
        if before and not before.endswith((" ", "\t", "(", "“", '"', "*", "_")):
            return  # An `@` inside a word is part of an e-mail address.

        def chosen(who: User | str | None) -> None:
            if isinstance(who, str) or who is None:
                writing.insert(who or "")
            else:
                here = writing.cursor_location
                writing.replace(
                    f"{self._named.add(mention_markdown(who), writing.text)} ", (here[0], here[1] - 1), here
                )

        self.app.push_screen(Autocomplete(MemberSuggestions(self._people)), chosen)

    async def show_preview(self) -> None:
        """Switch between the preview and editing."""
        if self._preview is None:
            return
        box = self.query_one(".composer--preview", VerticalScroll)
        await box.remove_children()
        if self.is_previewing:
            self.remove_class("-preview")
            self.writing.focus()
        else:
            await box.mount(self._preview(self.text))
            self.add_class("-preview")
            box.focus()
        title = f"{self._title} · preview" if self.is_previewing else self._title
        self.query_one(Frame).name_it(title, self._keys())


def _normalize_lines(text: str) -> str:
    """Return the text of a file as if it had been typed: with `\\n` line ends and without the last line end."""
    return text.replace("\r\n", "\n").removesuffix("\n")
