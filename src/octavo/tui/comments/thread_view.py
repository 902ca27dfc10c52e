"""A thread, whole: the comment, its replies, and what can be done with the one the cursor is on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, cast

from rich.segment import Segment
from rich.style import Style
from textual.events import Click, Resize
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from octavo.api import comments, content
from octavo.api.comments import Comment, Reply
from octavo.api.content import Page
from octavo.api.operation import ListPage
from octavo.api.places import ChangeRequestRef, Discussion
from octavo.data.live import Snapshot
from octavo.data.unsent_index import UnsentText
from octavo.documents.emoji import to_emoji
from octavo.documents.suggestions import find_suggestions
from octavo.tui.comments.discarding import UNSENT
from octavo.tui.comments.suggested_wording import Suggested
from octavo.tui.comments.thread_commands import NOTHING, THREAD, ThreadTarget, is_own_comment
from octavo.tui.render.styled_lines import Line, Piece, truncate
from octavo.tui.render.styles import Styles
from octavo.tui.render.threads import keep_quoted_lines
from octavo.tui.shell.view import Subscriptions
from octavo.tui.shell.workspace import PENDING
from octavo.tui.terminal.textual_internals import is_being_removed, is_whole
from octavo.tui.widgets.commands import Command, Commands, HasCommands
from octavo.tui.widgets.scrolling import ScrollWidget
from octavo.tui.widgets.wording import long_age, plural

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell

_DRAFT_MOST = 4
"""Lines of a draft that are shown below a thread."""
_ABOUT_MOST = 4
"""Lines of the words a thread hangs on that are shown above it."""


@dataclass(frozen=True)
class Part:
    """A message of the thread as it is drawn: its lines, from `top`."""

    message: Comment | Reply
    top: int
    lines: tuple[Line, ...]


_OF_ONE: Commands[ThreadTarget] = (
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
        lambda view: view.thread_target if view.not_for_this() is None else None,
        context="threads",
        no_target=lambda view: view.not_for_this() or NOTHING,
    )
)
"""Commands for the thread, or for its selected comment."""
SUGGESTION: Commands[ThreadView] = Commands(
    "suggestion",
    (
        Command(
            "apply",
            "a",
            "Apply",
            "Apply the suggested change to the page",
            writes=True,
            run=lambda app, view: app.suggestions.apply(view.at, view.comment, view.message),
            why_not=lambda app, view: app.suggestions.why_not_apply(view.at, view.comment, view.message),
            is_available=lambda app, view: view.message is not None and bool(find_suggestions(view.message.body.text)),
        ),
    ),
    find=lambda view: view,
)
MESSAGES: Commands[ThreadView] = Commands(
    "thread",
    (
        Command("open", "enter", "Show on page", "Show the thread on its page", run=lambda app, view: view.post_message(view.PlaceWanted()), shown=False),
        Command("down", "j,down", "Next", "Go to the next comment", run=lambda app, view: view.move(1), shown=False),
        Command("up", "k,up", "Previous", "Go to the previous comment", run=lambda app, view: view.move(-1), shown=False),
        Command("top", "g,home", "Top", "Go to the first comment", run=lambda app, view: view.move(-999), shown=False),
        Command("bottom", "G,end", "Bottom", "Go to the last comment", run=lambda app, view: view.move(999), shown=False),
        Command("page_down", "ctrl+d,pagedown,space", "Page down", "Scroll down", run=lambda app, view: view.scroll_page_on(1), shown=False),
        Command("page_up", "ctrl+u,pageup,b", "Page up", "Scroll up", run=lambda app, view: view.scroll_page_on(-1), shown=False),
    ),
    find=lambda view: view,
)  # fmt: skip


class ThreadView(HasCommands, ScrollWidget, can_focus=True, inherit_bindings=False):
    """One thread. The cursor goes from message to message; the keys act on the thread or on that message."""

    CONTEXT: ClassVar[str] = "threads"
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
        _OF_ONE.only("reply"),
        _OF_ONE.only("resolve", "reply_resolve", "react"),
        SUGGESTION,
        _OF_ONE.only("edit", "delete", "copy"),
        UNSENT.with_changed(
            "discard", id="thread.discard", help="Discard your unsent drafts in this thread (press u to undo)"
        ),
        MESSAGES.without("open"),
    )

    class Changed(Message):
        """What is known of the thread is different, or the cursor is on another message."""

    class PlaceWanted(Message):
        """The person wants to see what the thread is about."""

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self.at: Discussion | None = None
        self.comment: Comment | None = None
        self._replies: Snapshot[ListPage[Reply]] = Snapshot()
        self._about = ""
        self._on_page = False
        self._head: list[Line] = []
        self._parts: list[Part] = []
        self._cursor = 0
        self._subscriptions = Subscriptions(self)
        self.not_for_this: Callable[[], str | None] = lambda: None
        """Why what the keys do is not for this thread alone now, in a sentence. A list beside it sets it."""
        self._look = Styles()
        self._drafts: list[Line] = []
        """What is written here and not sent, below the last message."""
        self._suggested = Suggested(lambda: self.shell, self._arrange)

    @property
    def shell(self) -> Shell:
        return cast("Shell", self.app)

    @property
    def unsent_at_hand(self) -> Sequence[UnsentText]:
        """Return your unsent drafts in this thread."""
        if self.at is None or self.comment is None or self.not_for_this() is not None:
            return ()
        return self.shell.workspace.unsent.index.of_thread(self.at, self.comment.id)

    @property
    def message(self) -> Comment | Reply | None:
        """The message the cursor is on."""
        return self._parts[self._cursor].message if self._cursor < len(self._parts) else self.comment

    def show(self, at: Discussion, comment: Comment, *, about: str = "", on_page: bool = False) -> None:
        """Show the thread that `comment` begins, below what it is `about` and the words it hangs on, where the page is
        not on show. The same thread again keeps the cursor. `on_page`: the page is on show, and what it is `about` says
        what became of the words."""
        if self.comment is None or self.comment.id != comment.id:
            self._cursor = 0
            self._replies = Snapshot(loading=True)
            self.scroll_to(y=0, animate=False)
        self.at, self.comment, self._about, self._on_page = at, comment, about, on_page
        if comment.id.startswith("pending-"):
            self._subscriptions.follow("replies", None)
            self._replies = Snapshot()
        else:
            op = comments.ListReplies(at=at, comment_id=comment.id, format="markdown", limit=200)
            self._subscriptions.follow("replies", op, self._show_replies)
        page = comment.target.page
        if page is not None and isinstance(at, ChangeRequestRef) and find_suggestions(comment.body.text):
            now = content.GetPage(at=at, page_id=page.id, format="markdown")
            self._subscriptions.follow("page", now, self._show_page)
        else:
            self._subscriptions.follow("page", None)
        self._arrange()

    def ask_again(self) -> None:
        """Ask the server again for the replies."""
        for op in self._subscriptions.operations():
            self.shell.background(self.shell.session.live.refresh(op))

    def clear(self) -> None:
        """Show nothing."""
        self._subscriptions.stop()
        self.comment, self._parts = None, []
        self._arrange()

    def _show_replies(self, snapshot: Snapshot[ListPage[Reply]]) -> None:
        on_way = sum(part.message.id.startswith("pending-") for part in self._parts)
        self._replies = snapshot
        self._arrange()
        if sum(part.message.id.startswith("pending-") for part in self._parts) > on_way:
            self.call_after_refresh(self.scroll_end, animate=False)  # what one just wrote is seen

    def _show_page(self, snapshot: Snapshot[Page]) -> None:
        if snapshot.value is not None:
            self._suggested.page_says(snapshot.value.markdown or "")

    def on_unmount(self) -> None:
        self._subscriptions.stop()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        if is_whole(self):
            self._look = Styles.from_theme(self.app.theme_variables, ascii=self.shell.settings.ascii)
            self._arrange()

    def on_mount(self) -> None:
        self.shell.workspace.unsent.text_changed.subscribe(self, lambda _: self._show_drafts())
        self._look = Styles.from_theme(self.app.theme_variables, ascii=self.shell.settings.ascii)

    def on_resize(self, event: Resize) -> None:
        self._arrange()

    def watch_show_vertical_scrollbar(self) -> None:
        # The bar comes when the words are set already, and takes a column of theirs.
        if is_whole(self):
            self._arrange()

    # Setting

    def _arrange(self) -> None:
        if is_being_removed(self):
            return  # what is suggested was compared meanwhile
        width = max(20, min(self.size.width - self.scrollbar_size_vertical - 1, 90))
        self._parts = []
        self._head = self._set_head(self.comment, width) if self.comment is not None and self._about else []
        top = len(self._head)
        if self.comment is not None:
            replies = self._replies.value.items if self._replies.value else ()
            messages: list[Comment | Reply] = [self.comment, *replies]
            for message in messages:
                lines = tuple(self._set(message, width))
                self._parts.append(Part(message, top, lines))
                top += len(lines) + 1
        self._cursor = min(self._cursor, max(0, len(self._parts) - 1))
        self._drafts = self._set_drafts(width)
        self.virtual_size = Size(self.size.width, top + len(self._foot()))
        self.refresh()
        self.refresh_bindings()
        if is_whole(self):
            self.post_message(self.Changed())

    def _set_head(self, comment: Comment, width: int) -> list[Line]:
        """Return the lines that show where the thread is, and the text of its block."""
        from octavo.tui.render.wrap import wrap

        look, target = self._look, comment.target
        lines = [Line(truncate([Piece(" "), Piece(self._about, look.strong)], width))]
        said = " ".join((target.node.preview or "").split()) if target.node is not None else ""
        if said:
            wrapped = wrap([Piece(said, look.muted)], max(16, width - 3))
            cut = len(wrapped) > _ABOUT_MOST
            for number, pieces in enumerate(wrapped[:_ABOUT_MOST]):
                more = [Piece("…", look.muted)] if cut and number == _ABOUT_MOST - 1 else []
                lines.append(Line([Piece(f" {look.glyphs.rail} ", look.note), *pieces, *more]))
        if target.page is not None and target.page.outdated and not self._on_page:
            lines.append(Line([Piece(" "), Piece("Outdated: the block was deleted from the page.", look.muted)]))
        return [*lines, Line([])]

    def _set(self, message: Comment | Reply, width: int) -> list[Line]:
        from octavo.documents.parse import parse
        from octavo.tui.render.layout import lay_out

        look, is_reply = self._look, isinstance(message, Reply)
        indent = 3 if is_reply else 0
        sign = (
            Piece(f"{look.glyphs.reply} ", look.note)
            if is_reply
            else Piece(f"{self._state_sign()} ", self._state_style())
        )
        age = self.shell.workspace.send_status(message.id) or long_age(message.posted_at)
        said = f" · {age}" if age else ""
        edited = " · edited" if message.edited_at else ""
        head = [
            Piece(" " * indent),
            sign,
            Piece(message.posted_by.name, look.strong),
            Piece(said + edited, look.muted),
        ]
        if isinstance(message, Comment) and age != PENDING:
            word = message.status if not message.is_open else "review" if message.is_review else "open"
            who = f" by {message.resolved_by.name}" if message.resolved_by and not message.is_open else ""
            head.append(Piece(f" · {word}{who}", self._state_style()))
        if self._is_new(message):
            head.append(Piece(" · new", self._state_style()))
        lines = [Line(truncate(head, width))]
        room = max(16, width - indent - 2)
        body: list[Line] | None = None
        if self.comment is not None and self.at is not None:
            body = self._suggested.lines(self.at, self.comment, message, room, look)
        if body is None:
            text = keep_quoted_lines(message.body.text or "(no text)")
            body = lay_out(parse(text).blocks, room, look, source=text).lines
        lines += [Line([Piece(" " * (indent + 2)), *line.pieces]) for line in body]
        if message.reactions:
            said = "  ".join(f"{to_emoji(each.emoji)} {each.count}" for each in message.reactions)
            lines.append(Line([Piece(" " * (indent + 2)), Piece(said, look.muted)]))
        return lines

    def _is_new(self, message: Comment | Reply) -> bool:
        """Return whether others wrote a message after your last message in an open thread, as the inbox counts them."""
        if self.comment is None or not self.comment.is_open_thread:
            return False
        me = self.shell.workspace.me.id if self.shell.workspace.me is not None else ""
        messages = (self.comment, *(self._replies.value.items if self._replies.value is not None else ()))
        mine = [place for place, each in enumerate(messages) if each.posted_by.id == me]
        return bool(mine) and message.id in [each.id for each in messages[mine[-1] + 1 :]]

    def _show_drafts(self) -> None:
        """What is written here and not sent may be something else."""
        if self.comment is not None and (self._drafts or self.unsent_at_hand):
            self._arrange()

    def _set_drafts(self, width: int) -> list[Line]:
        """The drafts of this thread, each with how it begins. What is held stands among the messages."""
        drafts = [each for each in self.unsent_at_hand if each.draft_key]
        if not drafts:
            return []
        from octavo.tui.render.wrap import wrap

        look, lines = self._look, []
        for each in drafts:
            words = " ".join((self.shell.session.drafts.get(each.draft_key) or "").split())
            what = "Your edit" if each.kind == "edit" else "Your reply"
            what, style = (f"{what}, not saved yet", look.error) if each.is_late else (f"{what}, not sent", look.note)
            head = [Piece(f"{look.glyphs.pen} ", style), Piece(what, style)]
            wrapped = wrap([Piece(words, look.muted)], max(16, width - 3))
            lines.append(Line([Piece(" "), *head]))
            lines += [Line([Piece("   "), *line]) for line in wrapped[:_DRAFT_MOST]]
            if len(wrapped) > _DRAFT_MOST:
                lines[-1] = Line([*lines[-1].pieces, Piece("…", look.muted)])
        keys = [Piece("c", look.accent), Piece(" continue   ", look.muted)] if drafts[0].kind == "reply" else []
        keys += [Piece("ctrl+x", look.accent), Piece(" discard", look.muted)]
        return [*lines, Line([Piece("   "), *keys]), Line([])]

    def _state_sign(self) -> str:
        glyphs = self._look.glyphs
        return glyphs.dot if self.comment is None or self.comment.is_open else glyphs.yes

    def _state_style(self) -> Style:
        return self._look.note if self.comment is None or self.comment.is_open else self._look.success

    def _foot(self) -> list[Line]:
        return [] if self.comment is None else [*self._drafts, *self._said_of_replies()]

    def _said_of_replies(self) -> list[Line]:
        """Return the lines that say why not all replies are shown."""
        from octavo.tui.render.wrap import wrap

        look, more = self._look, self._replies.value.next if self._replies.value else None
        if self._replies.error is not None:
            what = "load" if self._replies.value is None else "refresh"
            pieces = [
                Piece("✗ ", look.error),
                Piece(f"Could not {what} the replies: {self._replies.error}", look.muted),
            ]
            keys = [Piece("r", look.accent), Piece(" retry   ", look.muted), Piece("!", look.accent)]
            lines = [*wrap(pieces, max(16, self.size.width - 2)), [*keys, Piece(" log", look.muted)]]
            return [Line(line) for line in lines]
        if self._replies.loading and self._replies.value is None and self.comment and self.comment.replies:
            return [Line([Piece(f"  Loading {plural(self.comment.replies, 'reply', 'replies')}…", look.muted)])]
        return [Line([Piece("  There are more replies. Press G to load them.", look.muted)])] if more else []

    # Drawing

    def render_line(self, y: int) -> Strip:
        width, line_number = self.size.width, y + self.scroll_offset.y
        if self.comment is None:
            return Strip.blank(width, self.rich_style)
        here: Part | None = None
        for part in self._parts:
            if part.top <= line_number < part.top + len(part.lines):
                here = part
                break
        if line_number < len(self._head):
            return self._strip(self._head[line_number].pieces, width, chosen=False)
        if here is None:
            last = self._parts[-1] if self._parts else None
            after = line_number - (last.top + len(last.lines) + 1) if last else -1
            foot = self._foot()
            pieces = foot[after].pieces if 0 <= after < len(foot) else []
            return self._strip(pieces, width, chosen=False)
        chosen = self._parts.index(here) == self._cursor and len(self._parts) > 1
        return self._strip(here.lines[line_number - here.top].pieces, width, chosen=chosen)

    def _strip(self, pieces: list[Piece], width: int, *, chosen: bool) -> Strip:
        look = self._look
        bar = Segment(
            look.glyphs.bar if chosen else " ", (look.accent if self.has_focus else look.muted) if chosen else None
        )
        segments = [bar, *(Segment(piece.text, piece.style) for piece in pieces)]
        return Strip(segments).adjust_cell_length(width).apply_style(self.rich_style)

    def on_click(self, event: Click) -> None:
        line = event.y + self.scroll_offset.y
        for index, part in enumerate(self._parts):
            if part.top <= line <= part.top + len(part.lines):
                self._go(index)

    # Acting

    @property
    def thread_target(self) -> ThreadTarget | None:
        """Return the target of the keys: the thread and its selected comment."""
        if self.at is None or self.comment is None or self.message is None:
            return None
        return ThreadTarget(self.at, self.comment, self.message)

    def _go(self, index: int) -> None:
        self._cursor = max(0, min(index, len(self._parts) - 1))
        if self._parts:
            part = self._parts[self._cursor]
            height, offset = self.size.height, self.scroll_offset.y
            if self._cursor == 0:
                self.scroll_to(y=0, animate=False)
            elif part.top < offset or len(part.lines) >= height:
                self.scroll_to(y=part.top, animate=False)
            elif part.top + len(part.lines) > offset + height:
                self.scroll_to(y=part.top + len(part.lines) - height, animate=False)
        self.refresh()
        self.refresh_bindings()
        self.post_message(self.Changed())

    def move(self, step: int) -> None:
        """Go so many messages on, or back."""
        self._go(self._cursor + step)
        if (
            step > 1
            and self._replies.value
            and self._replies.value.next
            and (op := self._subscriptions.operation("replies"))
        ):
            self.shell.background(self.shell.session.live.fetch_next_page(op))  # type: ignore[arg-type]  # the slot holds a listing

    def scroll_page_on(self, direction: int) -> bool:
        """Scroll one page. False at the end in that direction: there was nothing more."""
        offset = self.scroll_offset.y
        if offset >= self.max_scroll_y if direction > 0 else offset <= 0:
            return False
        self.scroll_relative(y=direction * max(1, self.size.height - 2), animate=False)
        return True
