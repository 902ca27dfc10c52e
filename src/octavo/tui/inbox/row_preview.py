"""What stands beside the inbox: why the row is there, then the change request, the thread or the words it is about."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, cast

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content

from octavo.api import comments
from octavo.api.change_requests import ChangeRequest
from octavo.api.comments import Comment
from octavo.api.places import SpaceRef
from octavo.data.inbox import DraftRef, InboxRow, ThreadRef, WriteRef
from octavo.data.live import Snapshot
from octavo.tui.comments.thread_view import ThreadView
from octavo.tui.inbox.sections import SIGNS
from octavo.tui.review.request_summary import Summary
from octavo.tui.review.status_summary import RequestStatus
from octavo.tui.shell.view import Subscriptions
from octavo.tui.widgets.safe_text import safe
from octavo.tui.widgets.text_widgets import ChangingText
from octavo.tui.widgets.wording import long_age

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell


_AROUND_WHY = 2
"""Cells free at either side of why a row is there."""


class Words(VerticalScroll, can_focus=False):
    """Words that are not sent, and what can be done with them."""

    def compose(self) -> ComposeResult:
        yield ChangingText()

    def show(self, words: Content) -> None:
        """Show these."""
        self.query_one(ChangingText).update(words)

    def scroll_page_on(self, direction: int) -> bool:
        """Scroll one page. False at the end in that direction: there was nothing more."""
        at_end = self.scroll_y >= self.max_scroll_y if direction > 0 else self.scroll_y <= 0
        if not at_end:
            self.scroll_relative(y=direction * max(1, self.size.height - 2), animate=False)
        return not at_end


class RowPreview(Vertical):
    """Shows one row of the inbox. One of its panes is on show: that for what the row is about."""

    DEFAULT_CSS: ClassVar[str] = """
    RowPreview {
        width: 1fr; background: $background;
        & > #why { height: auto; padding: 0 2 1 2; }
        & > Summary, & > ThreadView, & > Words { display: none; width: 100%; height: 1fr; }
        & > ThreadView { padding: 0 1; }
        & > Words { padding: 0 2; scrollbar-size-vertical: 1; }
        &.-request > Summary, &.-thread > ThreadView, &.-words > Words { display: block; }
    }
    """

    def __init__(self, stands: Callable[[ChangeRequest], RequestStatus], id: str | None = None) -> None:
        """`stands` says how a change request stands, as far as that is known."""
        super().__init__(id=id)
        self._row: InboxRow | None = None
        self._subscriptions = Subscriptions(self)
        self.summary, self.thread, self.words = Summary(stands, id="summary"), ThreadView(id="thread"), Words()

    @property
    def shell(self) -> Shell:
        return cast("Shell", self.app)

    def on_unmount(self) -> None:
        self._subscriptions.stop()

    def compose(self) -> ComposeResult:
        yield ChangingText(id="why")
        yield self.summary
        yield self.thread
        yield self.words

    def show(self, row: InboxRow | None) -> None:
        """Show what a row is about, as far as that is known. None: nothing."""
        feed = self.shell.workspace.inbox
        self._row = row
        request, comment = feed.change_request(row), feed.comment(row)
        if row is None:
            self._clear()
        elif request is not None and request.space:
            self._begin(row, "request")
            self.summary.show(request, SpaceRef(space_id=request.space))
        elif comment is not None and isinstance(row.target, ThreadRef):
            self._begin(row, "thread")
            shown = self.thread.comment
            if shown is None or shown.id != comment.id:  # what was read of it since is newer
                self.thread.show(row.target.at, comment, about=row.context)
        else:
            self._show_words(row)

    def read_on_show(self) -> None:
        """The cursor rests here: read a thread anew, which may have been read long ago."""
        row = self._row
        op = None
        if row is not None and isinstance(row.target, ThreadRef):
            op = comments.Get(at=row.target.at, comment_id=row.target.comment_id, format="markdown")
        self._subscriptions.follow("thread", op, self._show_thread)

    def _show_thread(self, snapshot: Snapshot[Comment]) -> None:
        row, value = self._row, snapshot.value
        if (
            value is not None
            and row is not None
            and isinstance(row.target, ThreadRef)
            and row.target.comment_id == value.id
        ):
            self.thread.show(row.target.at, value, about=row.context)

    def _show_words(self, row: InboxRow) -> None:
        """Show what was typed and not sent, or why a write is not done, and what can be done."""
        self._begin(row, "words")
        lines = [safe(row.title).stylize("bold"), Content.styled(row.context, "$octavo-muted"), Content("")]
        match row.target:
            case DraftRef(draft_key=place):
                text = self.shell.session.drafts.get(place)
                lines += [safe(text if text is not None else "This draft no longer exists."), Content("")]
                lines.append(_keys(("enter", "continue writing"), ("X", "discard the draft")))
            case WriteRef(entry_id=name):
                entry = next((each for each in self.shell.session.outbox.entries if each.id == name), None)
                if entry is not None:
                    lines += [safe(entry.reason or "This change may already have reached the server."), Content("")]
                    lines += [safe(entry.facts.text), Content("")] if entry.facts.text else []
                lines.append(
                    _keys(
                        ("!", "open the activity list to retry the change"),
                        ("X", "discard the change and keep the text as a draft"),
                    )
                )
            case _:
                lines.append(
                    Content.styled(
                        "No preview: the item is still loading or was deleted. Press r to refresh.",
                        "$octavo-muted",
                    )
                )
        self.words.show(Content("\n").join(lines))

    def _clear(self) -> None:
        self._pane("")
        self.query_one("#why", ChangingText).update("")
        self.summary.clear()
        self.thread.clear()

    def scroll_page_on(self, direction: int) -> bool:
        """Read on. False at the end in that direction, or when it is not on show: there was nothing more."""
        if not self.display:
            return False
        pane = next((each for each in (self.summary, self.thread, self.words) if each.display), None)
        return pane is not None and pane.scroll_page_on(direction)

    def _begin(self, row: InboxRow, pane: str) -> None:
        self._pane(pane)
        self.query_one("#why", ChangingText).update(why(row, self.size.width - 2 * _AROUND_WHY))

    def on_resize(self) -> None:
        if self._row is not None:
            self.query_one("#why", ChangingText).update(why(self._row, self.size.width - 2 * _AROUND_WHY))

    def _pane(self, pane: str) -> None:
        for each in ("request", "thread", "words"):
            self.set_class(each == pane, f"-{each}")
        if pane != "thread":
            self.thread.clear()


def why(row: InboxRow, room: int) -> Content:
    """Why a row is there, each reason in a line of `room` cells, and since when: of what is long the end goes, never the age."""
    sign, style = SIGNS[row.reason]
    first, *others = (safe(each) for each in row.words.split(" · "))
    age = Content.styled(f" · {long_age(row.moment)}" if row.moment is not None else "", "$octavo-muted")
    begin, room = Content.styled(f"{sign} ", style), max(room, 12)
    line = begin + first.truncate(max(1, room - begin.cell_length - age.cell_length), ellipsis=True) + age
    return Content("\n").join([line, *((Content("  ") + each).truncate(room, ellipsis=True) for each in others)])


def _keys(*keys: tuple[str, str]) -> Content:
    pieces = [piece for key, does in keys for piece in ((key, "$primary"), (f" {does}   ", "$octavo-muted"))]
    return Content.assemble(*pieces)
