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
from octavo.tui.comments.people import MentionText, mention, named
from octavo.tui.shell.dialog_draft import why_not_saved
from octavo.tui.shell.left_unsent import AGAIN
from octavo.tui.terminal.external_editor import Edited, FileNote, edit_text
from octavo.tui.widgets.commands import Command, Commands, HostApp
from octavo.tui.widgets.dialog import STYLES, Dialog, DialogFrame
from octavo.tui.widgets.safe_text import safe
from octavo.tui.widgets.text_inputs import MAX_BRACKET_SEARCH, DraftClock, TextEditor
from octavo.tui.widgets.text_widgets import ChangingText
from octavo.tui.widgets.wording import plural

if TYPE_CHECKING:
    from octavo.api.users import User
    from octavo.documents.emoji import NamedEmoji
    from octavo.tui.comments.offers import MentionCandidates

_QUOTED_LINES = 3
_SAVED = "draft saved · clear the text to discard it"

COMPOSER: Commands[Composer] = Commands(
    "composer",
    (
        Command("send", "ctrl+s,ctrl+enter", "Send", "Send the comment", writes=True, run=lambda _, composer: composer.send(),
                why_not=lambda _, composer: composer.why_not_send(), priority=True),
        Command("hold", "ctrl+t", "Add to review", "Add the comment to your pending review", writes=True, run=lambda _, composer: composer.hold(),
                why_not=lambda _, composer: composer.why_not_send(), is_available=lambda _, composer: composer.can_hold, priority=True),
        Command("suggest", "ctrl+g", "Suggest", "Insert a suggested change",
                run=lambda _, composer: composer.suggest(), is_available=lambda _, composer: bool(composer.suggestion), priority=True),
        Command("edit", "ctrl+e", "Editor", "Edit in your external editor", run=lambda _, composer: composer.edit_outside(),
                is_available=lambda _, composer: composer.can_edit_outside, priority=True),
        Command("preview", "ctrl+r", "Preview", "Switch between preview and editing", run=lambda _, composer: composer.show_preview(),
                title_now=lambda _, composer: "Write" if composer.is_previewing else None,
                is_available=lambda _, composer: composer.can_preview, priority=True),
        Command("mention", "at", "Mention", "Mention a member", run=lambda _, composer: composer.name_somebody(),
                is_available=lambda _, composer: composer.can_name_somebody, key_display="@", priority=True),
        Command("reply", "ctrl+l", "Quick reply", "Insert a quick reply", run=lambda _, composer: composer.reply_quickly(),
                is_available=lambda _, composer: bool(composer.replies), priority=True, shown=False),
        Command("close", "escape", "Close", "Close and keep the text as a draft", run=lambda _, composer: composer.leave(), priority=True),
    ),
    find=lambda view: view,
)  # fmt: skip


class Composer(Dialog[str | None]):
    """Writes one text. The answer is the text to send, or None: closed, and the draft kept.

    `save_draft` is called with what is typed, and has kept it once it was awaited; `save_draft_now` has when it
    returns. Both raise NotSaved. What they are called with last is what stays. Whoever sends the text removes the draft.
    """

    CSS_PATH: ClassVar[str | PurePath | list[str | PurePath] | None] = [
        STYLES / "dialog.tcss",
        PurePath(__file__).with_name("composer.tcss"),
    ]
    CONTEXT: ClassVar[str] = "composer"
    writing: TextEditor
    """Where the text is written."""
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
        """`title` says what it answers, `quoted` is an excerpt of that. `draft` is what the text begins with;
        `is_saved`: it is on disk.

        `preview` gives a widget that shows a text as it will look. `editing_folder` is where a file for the editor
        may be; without it there is no editor. `about` says what is in it. `limit` is the most characters that can be
        sent. `trouble` says why nothing can be saved, when nothing can: then nothing can be sent. `people` can be named
        with `@`. `can_hold`: it may be held for a review instead of sent; then `is_held` says which. `suggestion` is
        what a suggested wording begins with. `replies` are short texts that may be put in.
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
        """Where a `:` stands for which no emoji was wanted."""
        self.is_held = False
        """Whether the comment was added to the pending review instead of sent."""
        self._under_way: str | None = None
        """What is being kept: the newest of it."""
        self._clock = DraftClock()
        self._timer: Timer | None = None
        self._sending = self._done = False
        self._typed_ahead: list[Key] = []
        """Keys pressed while the text is on its way to the disk: they are for the screen below."""

    def body(self) -> ComposeResult:
        with DialogFrame() as frame:
            frame.set_border_texts(self._title, self._keys())
            quoted = [line for line in named(self._quoted).splitlines() if line.strip()][:_QUOTED_LINES]
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
        if isinstance(self.app, HostApp):
            self.app.before_end.add(self.keep_now)
        self.app.app_suspend_signal.subscribe(self, lambda _: self.keep_now())
        self.set_interval(AGAIN, self._try_again)

    def on_unmount(self) -> None:
        self.keep_now()
        if isinstance(self.app, HostApp):
            self.app.before_end.discard(self.keep_now)

    @property
    def text(self) -> str:
        """Return the text as it is sent."""
        return self._named.sent(self.writing.text)

    def keep(self) -> None:
        """Begin to keep what is typed."""
        text = self._current
        if not self._done and text != (self._saved if self._under_way is None else self._under_way):
            self._begin_to_keep(text)

    def keep_now(self) -> None:
        """Keep what is typed before this returns: the app ends, or stops."""
        self._stop_timer()
        if not self._done and self._current != self._saved:
            try:
                self._save_draft_now(self._current)
            except NotSaved as error:
                self._say(str(error), "$error")
                return
            self._saved = self._current
            self._say(_SAVED)

    def _begin_to_keep(self, text: str) -> None:
        self._stop_timer()
        self._under_way = text
        # Of the app: it goes on when this is closed.
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
            self._say(_SAVED if error is None else str(error), "" if error is None else "$error")
            self.refresh_bindings()
        return error is None

    def _try_again(self) -> None:
        """Nothing could be saved: that may be over, and only who saves something knows."""
        if self._sending or self._done or self._timer is not None:
            return
        trouble = self._trouble()
        if self._under_way is not None:
            self._say(trouble, "$error")
        elif trouble or self._current != self._saved:
            self._begin_to_keep(self._current)

    def _stop_timer(self) -> None:
        self._clock.mark_saved()
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    @property
    def _current(self) -> str:
        # While the app ends, the widget is gone before this screen is.
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
            # Where there is more to choose from, the key bar names the rest.
            f"ctrl+r {'write' if self.is_previewing else 'preview'}"
            if self._preview is not None and not self.can_hold
            else "",
            "@ mention" if self._people is not None and not self.can_hold else "",
        ]
        return " · ".join(key for key in keys if key)

    @on(TextArea.Changed)
    def _typed(self) -> None:
        written = self.writing.text  # put together anew whenever it is asked for, as is what is sent of it
        text = self._typed_last = self._named.sent(written)
        self._count(len(text))
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        if text != self._saved:
            self._say("")
            self._timer = self.set_timer(self._clock.seconds_until_save(monotonic()), self.keep)
        is_letter, self._length = len(written) == self._length + 1, len(written)
        self._offer_emoji(is_letter)

    def _offer_emoji(self, is_letter: bool) -> None:
        """Offer emoji where the name of one is begun by a letter that was typed, not pasted."""
        writing = self.writing
        if not writing.selection.is_empty or writing.read_only or self.app.screen is not self:
            return
        if len(writing.text) > MAX_BRACKET_SEARCH:
            return  # whether one writes code there is in all that stands before
        row, column = writing.cursor_location
        if ":" not in writing.document.get_line(row)[:column]:
            return
        from octavo.tui.comments.offers import EmojiNames, Offers, emoji_begun  # with the names of emoji

        begun = emoji_begun(writing.get_text_range((0, 0), (row, column)))
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

            self.app.push_screen(Offers(EmojiNames(begun[1:])), chosen)

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
        """Close with what is written, once that is kept."""
        if not self._done and not self._sending:
            self._sending = self.writing.read_only = True
            self._stop_timer()
            self.app.run_worker(self._send(self.text, self._save_draft(self.text)))

    def suggest(self) -> None:
        """Put in the source of the block, to be changed."""
        writing = self.writing
        if writing.read_only:
            return
        row, column = writing.cursor_location
        writing.insert(("\n" if column else "") + self.suggestion)
        # To the end of the first line in the fence: there one begins to change it.
        writing.move_cursor((row + bool(column) + 1, 0))
        writing.focus()

    def reply_quickly(self) -> None:
        """Ask which of the short texts to put in."""
        from octavo.tui.widgets.chooser import Choice
        from octavo.tui.widgets.picker import Picker

        def chosen(text: str | None) -> None:
            if text is not None and not self.writing.read_only:
                self.writing.insert(text)

        choices = [Choice(each, " ".join(each.split())) for each in self.replies]
        self.app.push_screen(Picker("Quick replies", choices), chosen)

    def hold(self) -> None:
        """Send it, with the review."""
        if not self._done and not self._sending:
            self.is_held = True
            self.send()

    def on_key(self, event: Key) -> None:
        if self._sending:
            event.stop()
            self._typed_ahead.append(event)

    async def _send(self, text: str, saving: Awaitable[None]) -> None:
        """Close with `text` once it is kept: until the outbox has it, it is a draft."""
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
        """Close, and keep the draft; from the preview go back to it."""
        if self.has_class("-preview"):
            await self.show_preview()
        elif not self._done:
            self.keep()
            self._done = True
            self.dismiss(None)

    def edit_outside(self) -> None:
        """Go on in the person's own editor."""
        if self._folder is None:
            return
        self.keep_now()
        result = edit_text(self.app, self.text, self._folder, keep=self._keep_edited, note=self._about)
        if isinstance(result, Edited):
            self.writing.load_text(self._named.shown(_as_typed(result.text)))
            self.writing.move_cursor(self.writing.document.end)
            self.keep()
        else:
            self._say(result.message, "$warning")

    def _keep_edited(self, text: str) -> str:
        # Before its file goes: whatever ends us next finds it in one place or the other.
        return why_not_saved(self._save_draft_now, _as_typed(text))

    def name_somebody(self) -> None:
        """Write the `@`, and where it begins a word ask whom it is to name."""
        from octavo.tui.comments.offers import Offers, People

        writing = self.writing
        if self._people is None or writing.read_only:
            return
        writing.replace("@", *writing.selection)
        row, column = writing.cursor_location
        before = writing.document.get_line(row)[: column - 1]
        if before and not before.endswith((" ", "\t", "(", "“", '"', "*", "_")):
            return  # within a word it is an address

        def chosen(who: User | str | None) -> None:
            if isinstance(who, str) or who is None:
                writing.insert(who or "")
            else:
                here = writing.cursor_location
                writing.replace(f"{self._named.add(mention(who), writing.text)} ", (here[0], here[1] - 1), here)

        self.app.push_screen(Offers(People(self._people)), chosen)

    async def show_preview(self) -> None:
        """Show the text as it will look, or write on."""
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
        self.query_one(DialogFrame).set_border_texts(title, self._keys())


def _as_typed(text: str) -> str:
    """The text of a file as it would be typed: lines end as they do here, and the last does not."""
    return text.replace("\r\n", "\n").removesuffix("\n")
