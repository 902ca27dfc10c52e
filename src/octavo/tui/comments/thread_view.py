"""The pane that shows a thread: the comment, its replies, and the commands for the selected message."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from rich.segment import Segment
from textual.events import Click, Resize
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from octavo.api import content
from octavo.api.comments import Comment, Reply
from octavo.api.content import Page
from octavo.api.operation import ChangeRequestRef, Discussion, ListPage
from octavo.data.drafts import UnsentText
from octavo.data.live import Snapshot
from octavo.data.queries import replies_op
from octavo.documents.emoji import to_emoji
from octavo.documents.source_reader import parse
from octavo.documents.suggestions import find_suggestions
from octavo.tui.comments.diff_threads import SuggestionDiffs
from octavo.tui.comments.thread_commands import NO_THREAD, THREAD, UNSENT, ThreadTarget, is_own_comment
from octavo.tui.core.shell import shell_of, stop_subscriptions, subscriptions_of
from octavo.tui.core.workspace import PENDING
from octavo.tui.render.layout import lay_out
from octavo.tui.render.styled_lines import Line, StyledText, truncate, wrap
from octavo.tui.render.styles import Styles
from octavo.tui.render.threads import keep_quoted_lines
from octavo.tui.terminal.textual_internals import is_being_removed, is_fully_mounted
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.short_texts import as_clause, long_age, plural
from octavo.tui.widgets.text_widgets import ScrollWidget, scroll_by_page

_BLOCK_DELETED = "Outdated: the block was deleted from the page."
_MAX_DRAFT_LINES = 4
_MAX_QUOTE_LINES = 4


@dataclass(frozen=True)
class MessageLayout:
    """Message of a thread, and the numbers of its lines in the pane."""

    message: Comment | Reply
    line_numbers: range


_SINGLE_THREAD: Commands[ThreadTarget] = (
    THREAD.with_changed("reply", id="thread.reply", help="Reply to this thread")
    .with_changed("resolve", id="comment.resolve", help="Resolve or reopen this thread")
    .with_changed("reply_resolve", id="thread.reply_resolve", help="Reply to this thread and resolve it")
    .with_changed("react", id="comment.react", help="Add or remove an emoji reaction", shown=True)
    .with_changed(
        "edit", id="comment.edit", title="Edit comment", help="Edit your comment", shown=True, applies=is_own_comment
    )
    .with_changed("delete", id="comment.delete", help="Delete your comment")
    .with_changed("copy", id="comment.copy", help="Copy the text of this comment")
    .for_target(
        lambda view: view.thread_target if view.why_not_this_thread() is None else None,
        context="threads",
        no_target=lambda view: view.why_not_this_thread() or NO_THREAD,
    )
)
"""Commands for the thread that a pane shows, or for the selected message of this thread."""


def _has_suggestion(view: ThreadView) -> bool:
    return view.message is not None and bool(find_suggestions(view.message.body.text))


SUGGESTION: Commands[ThreadView] = Commands(
    "suggestion",
    (
        Command("apply", "a", "Apply", "Apply the suggested change to the page", writes=True,
                run=lambda app, view: app.apply_suggestion(view.at, view.comment, view.message, False),
                why_not=lambda app, view: app.why_not_apply(view.at, view.comment, view.message, False),
                is_available=lambda app, view: _has_suggestion(view)),
        Command("apply_resolve", "ampersand", "Apply and resolve", "Apply the suggested change and resolve the thread", key_display="&", writes=True,
                run=lambda app, view: app.apply_suggestion(view.at, view.comment, view.message, True),
                why_not=lambda app, view: app.why_not_apply(view.at, view.comment, view.message, True),
                is_available=lambda app, view: _has_suggestion(view)),
    ),
)  # fmt: skip
MESSAGES: Commands[ThreadView] = Commands(
    "thread",
    (
        Command("open", "enter", "Show on page", "Show the thread on its page", run=lambda app, view: view.post_message(view.ShowOnPageRequested()), shown=False),
        Command("down", "j,down", "Next", "Go to the next comment", run=lambda app, view: view.move(1), shown=False),
        Command("up", "k,up", "Previous", "Go to the previous comment", run=lambda app, view: view.move(-1), shown=False),
        Command("top", "g,home", "Top", "Go to the first comment", run=lambda app, view: view.move(-999), shown=False),
        Command("bottom", "G,end", "Bottom", "Go to the last comment", run=lambda app, view: view.move(999), shown=False),
        Command("page_down", "ctrl+d,pagedown,space", "Page down", "Scroll down", run=lambda app, view: scroll_by_page(view, 1), shown=False),
        Command("page_up", "ctrl+u,pageup,b", "Page up", "Scroll up", run=lambda app, view: scroll_by_page(view, -1), shown=False),
    ),
)  # fmt: skip


class ThreadView(ScrollWidget, can_focus=True, inherit_bindings=False):
    """Pane that shows one thread. The cursor moves from message to message."""

    shell = cached_property(shell_of)
    subscriptions = cached_property(subscriptions_of)
    on_unmount = stop_subscriptions

    HELP_NAME: ClassVar[str] = "threads"
    HELP: ClassVar[str] = (
        "This pane shows a thread and its replies. Press c to reply, d to resolve or reopen the thread, "
        "+ to react to the selected comment, or e to edit your comment. Press esc to go back."
    )
    DEFAULT_CSS: ClassVar[str] = """
    ThreadView {
        background: $background; color: $foreground; overflow-x: hidden; overflow-y: auto; scrollbar-size-vertical: 1;
    }
    """
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (
        MESSAGES.only("open"),
        _SINGLE_THREAD.only("reply"),
        _SINGLE_THREAD.only("resolve", "reply_resolve", "react"),
        SUGGESTION,
        _SINGLE_THREAD.only("edit", "delete", "copy"),
        UNSENT.with_changed(
            "discard", id="thread.discard", help="Discard your unsent drafts in this thread (press u to undo)"
        ),
        MESSAGES.without("open"),
    )

    class Updated(Message):
        """Posted when the thread was updated, or when another message was selected."""

    class ShowOnPageRequested(Message):
        """Request to show the thread on its page."""

    def __init__(self) -> None:
        super().__init__(id="thread")
        self.at: Discussion | None = None
        self.comment: Comment | None = None
        self._title = ""
        self._is_page_visible = False
        self._outdated_note = _BLOCK_DELETED
        self._lines: list[Line] = []
        self._messages: list[MessageLayout] = []
        self._cursor = 0
        self.why_not_this_thread: Callable[[], str | None] = lambda: None
        """Returns why commands do not act on this thread, such as a selection of other threads. None if they do."""
        self._line_styles = Styles()
        self._shows_drafts = False
        self._suggestions = SuggestionDiffs(lambda: self.shell, self._lay_out)

    @property
    def drafts_in_selection(self) -> Sequence[UnsentText]:
        """Your unsent drafts in this thread. Empty if commands do not act on the thread."""
        if self.at is None or self.comment is None or self.why_not_this_thread() is not None:
            return ()
        return self.shell.workspace.unsent.index.of_thread(self.at, self.comment.id)

    @property
    def message(self) -> Comment | Reply | None:
        """Selected message: the comment or a reply. None if no thread is shown."""
        return self._messages[self._cursor].message if self._cursor < len(self._messages) else self.comment

    def show(
        self,
        at: Discussion,
        comment: Comment,
        *,
        title: str = "",
        is_page_visible: bool = False,
        outdated_note: str = _BLOCK_DELETED,
        is_loading_delayed: bool = False,
    ) -> None:
        """Show a thread. With `title`, show a heading above it: the title, and sometimes the quoted text of the block
        and a note. The text is quoted if the page is not visible, or if `title` ends with a colon. The note
        `outdated_note` is shown if the thread is outdated and the page is not visible. If `is_loading_delayed`, only
        cached replies are shown until `load` is called."""
        if self.comment is None or self.comment.id != comment.id:
            self._cursor = 0
            self.scroll_to(y=0, animate=False)
        self.at, self.comment, self._title, self._is_page_visible = at, comment, title, is_page_visible
        self._outdated_note = outdated_note or _BLOCK_DELETED
        if is_loading_delayed:
            self.subscriptions.stop()
            self._suggestions.set_page_text("")
        else:
            self.load()
        self._lay_out()

    def load(self) -> None:
        """Load the replies of the thread and the page that its suggestion changes. Keep both up to date."""
        at, comment = self.at, self.comment
        if at is None or comment is None:
            return
        if comment.id.startswith("pending-"):
            self.subscriptions.follow("replies", None)
        else:
            self.subscriptions.follow("replies", replies_op(at, comment.id), self._show_replies)
        page, page_op = comment.target.page, None
        if page is not None and isinstance(at, ChangeRequestRef) and find_suggestions(comment.body.text):
            page_op = content.GetPage(at=at, page_id=page.id, format="markdown")
        if page_op != self.subscriptions.operation("page"):
            self._suggestions.set_page_text("")  # The old text belongs to another page.
        self.subscriptions.follow("page", page_op, self._read_page_text)

    def refresh_replies(self) -> None:
        for op in self.subscriptions.operations():
            self.shell.background(self.shell.session.live.refresh(op))

    def clear(self) -> None:
        """Show no thread."""
        self.subscriptions.stop()
        self.comment, self._messages = None, []
        self._lay_out()

    @property
    def _replies(self) -> Snapshot[ListPage[Reply]]:
        """The followed replies. Before `load`, the cached replies."""
        if self.at is None or self.comment is None or self.subscriptions.operation("replies") is not None:
            return self.subscriptions.snapshot("replies")
        return self.shell.session.live.peek(replies_op(self.at, self.comment.id))

    def _show_replies(self, _: Snapshot[ListPage[Reply]]) -> None:
        pending_count_before = sum(layout.message.id.startswith("pending-") for layout in self._messages)
        self._lay_out()
        if sum(layout.message.id.startswith("pending-") for layout in self._messages) > pending_count_before:
            # The user has just sent a message: scroll to it.
            self.call_after_refresh(self.scroll_end, animate=False)

    def _read_page_text(self, snapshot: Snapshot[Page]) -> None:
        if snapshot.value is not None:
            self._suggestions.set_page_text(snapshot.value.markdown or "")

    def notify_style_update(self) -> None:
        super().notify_style_update()
        styles = Styles.from_theme(self.app.theme_variables, ascii=self.shell.settings.ascii)
        if is_fully_mounted(self) and styles != self._line_styles:
            self._line_styles = styles
            self._lay_out()

    def on_mount(self) -> None:
        self.shell.workspace.unsent.text_changed.subscribe(self, lambda _: self._show_drafts())
        self._line_styles = Styles.from_theme(self.app.theme_variables, ascii=self.shell.settings.ascii)

    def on_resize(self, event: Resize) -> None:
        self._lay_out()

    def watch_show_vertical_scrollbar(self) -> None:
        # The scroll bar appears after the layout, and takes a column from the text.
        if is_fully_mounted(self):
            self._lay_out()

    def _lay_out(self) -> None:
        if is_being_removed(self):
            return  # The diff of a suggestion arrived while this pane was being removed.
        width = max(20, min(self.size.width - self.scrollbar_size_vertical - 1, 90))
        selected_id = self._messages[self._cursor].message.id if self._messages else None
        self._lines, self._messages = [], []
        if self.comment is not None:
            self._lines += self._heading_lines(self.comment, width) if self._title else []
            replies = self._replies.value.items if self._replies.value else ()
            messages: list[Comment | Reply] = [self.comment, *replies]
            new_from = self._index_after_own_message(messages)
            for index, message in enumerate(messages):
                first_line = len(self._lines)
                self._lines += self._message_lines(message, width, is_new=index >= new_from)
                self._messages.append(MessageLayout(message, range(first_line, len(self._lines))))
                self._lines.append(Line([]))
            draft_lines = self._lines_of_drafts(width)
            self._shows_drafts = bool(draft_lines)
            self._lines += [*draft_lines, *self._reply_status_lines()]
        ids = [layout.message.id for layout in self._messages]
        # If the selected message was deleted or has got another ID, the message at its position is selected.
        self._cursor = ids.index(selected_id) if selected_id in ids else min(self._cursor, max(0, len(ids) - 1))
        self.virtual_size = Size(self.size.width, len(self._lines))
        self.refresh()
        self.refresh_bindings()
        if is_fully_mounted(self):
            self.post_message(self.Updated())

    def _heading_lines(self, comment: Comment, width: int) -> list[Line]:
        styles, target = self._line_styles, comment.target
        lines = [Line(truncate([StyledText(" "), StyledText(self._title, styles.strong)], width))]
        text = " ".join((target.node.preview or "").split()) if target.node is not None else ""
        is_quoted = not self._is_page_visible or self._title.endswith(":")
        if text and is_quoted:
            wrapped = wrap([StyledText(text, styles.muted)], max(16, width - 3))
            is_cut = len(wrapped) > _MAX_QUOTE_LINES
            for number, pieces in enumerate(wrapped[:_MAX_QUOTE_LINES]):
                ellipsis = [StyledText("…", styles.muted)] if is_cut and number == _MAX_QUOTE_LINES - 1 else []
                lines.append(Line([StyledText(f" {styles.glyphs.dotted_vertical} ", styles.note), *pieces, *ellipsis]))
        if target.page is not None and target.page.outdated and not self._is_page_visible:
            lines.append(Line([StyledText(" "), StyledText(self._outdated_note, styles.muted)]))
        return [*lines, Line([])]

    def _message_lines(self, message: Comment | Reply, width: int, *, is_new: bool) -> list[Line]:
        styles, is_reply = self._line_styles, isinstance(message, Reply)
        indent = 3 if is_reply else 0
        is_open, glyphs = self.comment is None or self.comment.is_open, styles.glyphs
        state_sign, state_style = (glyphs.dot, styles.note) if is_open else (glyphs.yes, styles.success)
        sign = StyledText(f"{glyphs.reply} ", styles.note) if is_reply else StyledText(f"{state_sign} ", state_style)
        age = self.shell.workspace.sending_status(message.id) or long_age(message.posted_at)
        age_label = f" · {age}" if age else ""
        edit_label = " · edited" if message.edited_at else ""
        head_pieces = [
            StyledText(" " * indent),
            sign,
            StyledText(message.posted_by.name, styles.strong),
            StyledText(age_label + edit_label, styles.muted),
        ]
        if isinstance(message, Comment) and age != PENDING:
            status_label = message.status if not message.is_open else "review" if message.is_review_text else "open"
            resolver = f" by {message.resolved_by.name}" if message.resolved_by and not message.is_open else ""
            head_pieces.append(StyledText(f" · {status_label}{resolver}", state_style))
        if is_new:
            head_pieces.append(StyledText(" · new", state_style))
        lines = [Line(truncate(head_pieces, width))]
        text_width = max(16, width - indent - 2)
        body_lines: list[Line] | None = None
        if self.comment is not None and self.at is not None:
            body_lines = self._suggestions.lines(self.at, self.comment, message, text_width, styles)
        if body_lines is None:
            text = keep_quoted_lines(message.body.text or "(no text)")
            body_lines = lay_out(parse(text).blocks, text_width, styles, source=text)
        lines += [Line([StyledText(" " * (indent + 2)), *line.pieces]) for line in body_lines]
        if message.reactions:
            reactions_text = "  ".join(f"{to_emoji(reaction.emoji)} {reaction.count}" for reaction in message.reactions)
            lines.append(Line([StyledText(" " * (indent + 2)), StyledText(reactions_text, styles.muted)]))
        return lines

    def _index_after_own_message(self, messages: Sequence[Comment | Reply]) -> int:
        """Return the index after your last message. `len(messages)` if you wrote none, or if the thread is not open."""
        me = self.shell.workspace.my_id
        own_indexes = [index for index, each in enumerate(messages) if each.posted_by.id == me]
        is_open = self.comment is not None and self.comment.is_open_thread
        return own_indexes[-1] + 1 if own_indexes and is_open else len(messages)

    def _show_drafts(self) -> None:
        if self.comment is not None and (self._shows_drafts or self.drafts_in_selection):
            self._lay_out()

    def _lines_of_drafts(self, width: int) -> list[Line]:
        drafts = [draft for draft in self.drafts_in_selection if draft.draft_key]
        if not drafts:
            return []
        styles, lines = self._line_styles, []
        text_width = max(16, width - 3)
        for draft in drafts:
            text = " ".join((self.shell.session.drafts.get(draft.draft_key) or "").split())
            heading = "Your edit" if draft.kind == "edit" else "Your reply"
            heading, style = (
                (f"{heading}, not saved yet", styles.error) if draft.is_late else (f"{heading}, not sent", styles.note)
            )
            head_pieces = [StyledText(f"{styles.glyphs.pen} ", style), StyledText(heading, style)]
            # Accents may have no width, so take more characters than the lines have cells.
            shown_text = text[: 4 * _MAX_DRAFT_LINES * text_width]
            wrapped = wrap([StyledText(shown_text, styles.muted)], text_width)
            lines.append(Line([StyledText(" "), *head_pieces]))
            lines += [Line([StyledText("   "), *line]) for line in wrapped[:_MAX_DRAFT_LINES]]
            if len(wrapped) > _MAX_DRAFT_LINES or shown_text != text:
                lines[-1] = Line([*lines[-1].pieces, StyledText("…", styles.muted)])
        keys = (
            [StyledText("c", styles.accent), StyledText(" continue   ", styles.muted)]
            if drafts[0].kind == "reply"
            else []
        )
        keys += [StyledText("ctrl+x", styles.accent), StyledText(" discard", styles.muted)]
        return [*lines, Line([StyledText("   "), *keys]), Line([])]

    def _reply_status_lines(self) -> list[Line]:
        styles, more = self._line_styles, self._replies.value.next if self._replies.value else None
        if self._replies.error is not None:
            heading = "load" if self._replies.value is None else "refresh"
            pieces = [
                StyledText("✗ ", styles.error),
                StyledText(f"Could not {heading} the replies: {as_clause(str(self._replies.error))}", styles.muted),
            ]
            keys = [
                StyledText("r", styles.accent),
                StyledText(" retry   ", styles.muted),
                StyledText("!", styles.accent),
            ]
            lines = [*wrap(pieces, max(16, self.size.width - 2)), [*keys, StyledText(" activity", styles.muted)]]
            return [Line(line) for line in lines]
        if self._replies.is_loading and self._replies.value is None and self.comment and self.comment.replies:
            return [Line([StyledText(f"  Loading {plural(self.comment.replies, 'reply', 'replies')}…", styles.muted)])]
        return [Line([StyledText("  There are more replies. Press G to load them.", styles.muted)])] if more else []

    def render_line(self, y: int) -> Strip:
        width, line_number = self.size.width, y + self.scroll_offset.y
        if line_number >= len(self._lines):
            return Strip.blank(width, self.rich_style)
        styles = self._line_styles
        is_selected = len(self._messages) > 1 and line_number in self._messages[self._cursor].line_numbers
        bar = Segment(
            styles.glyphs.bar if is_selected else " ",
            (styles.accent if self.has_focus else styles.muted) if is_selected else None,
        )
        segments = [bar, *(Segment(piece.text, piece.style) for piece in self._lines[line_number].pieces)]
        return Strip(segments).adjust_cell_length(width).apply_style(self.rich_style)

    def on_click(self, event: Click) -> None:
        line = event.y + self.scroll_offset.y
        for index, layout in enumerate(self._messages):
            if layout.line_numbers.start <= line <= layout.line_numbers.stop:
                self._select(index)

    @property
    def thread_target(self) -> ThreadTarget | None:
        """Target of the commands: the thread and its selected message. None if no thread is shown."""
        if self.at is None or self.comment is None or self.message is None:
            return None
        return ThreadTarget(self.at, self.comment, self.message)

    def _select(self, index: int) -> None:
        self._cursor = max(0, min(index, len(self._messages) - 1))
        if self._messages:
            line_numbers = self._messages[self._cursor].line_numbers
            height, offset = self.size.height, self.scroll_offset.y
            if self._cursor == 0:
                self.scroll_to(y=0, animate=False)
            elif line_numbers.start < offset or len(line_numbers) >= height:
                self.scroll_to(y=line_numbers.start, animate=False)
            elif line_numbers.stop > offset + height:
                self.scroll_to(y=line_numbers.stop - height, animate=False)
        self.refresh()
        self.refresh_bindings()
        self.post_message(self.Updated())

    def move(self, step: int) -> None:
        """Select the message `step` messages below the selected one. If `step` > 1, load another page of replies."""
        self._select(self._cursor + step)
        if (
            step > 1
            and self._replies.value
            and self._replies.value.next
            and (op := self.subscriptions.operation("replies"))
        ):
            self.shell.background(self.shell.session.live.fetch_next_page(op))  # type: ignore[arg-type]  # a list
