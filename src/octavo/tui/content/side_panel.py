"""The column beside a page: its outline, its threads, its path and its age."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, cast

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from octavo.api.comments import Comment
from octavo.api.content import Page
from octavo.data.comment_text import plain_text
from octavo.data.unsent_index import UnsentText
from octavo.documents.blocks import Document, Heading
from octavo.tui.shell.unsent_texts import with_unsent_mark
from octavo.tui.widgets.row_list import Row, RowList
from octavo.tui.widgets.text_widgets import ChangingText
from octavo.tui.widgets.wording import long_age, short_age

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell


_SINCE = {"changed": "block edited", "gone": "block deleted"}
"""What happened to the block of an outdated thread."""
DEEPEST = 3
"""The level of the deepest headings in an outline."""


class SidePanel(Vertical):
    """The right column of a page. Its two lists send `LineList.Opened`: `#outline` an anchor, `#threads` a comment id."""

    DEFAULT_CSS = """
    SidePanel {
        background: $background;
        RowList { height: auto; background: $background; }
        #outline { max-height: 40%; }
        #threads { min-height: 4; max-height: 1fr; }
        #facts { height: auto; color: $octavo-muted; padding: 0 1; margin-top: 1; }
        .pane-title { margin-top: 0; }
        #threads-title { margin-top: 1; }
    }
    """

    _page = ""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._since: Callable[[Comment], str] = lambda thread: ""
        self._unsent: Callable[[Comment], Sequence[UnsentText]] = lambda thread: ()
        self._shown_as: dict[str, str] = {}
        """For the anchor of each heading that of the last one at or above it that the outline shows."""

    def compose(self) -> ComposeResult:
        outline: RowList[Heading] = RowList(
            self._draw_heading,
            key=lambda heading: heading.anchor,
            search=lambda heading: heading.title,
            empty="",
            id="outline",
        )
        threads: RowList[Comment] = RowList(
            self._draw_thread,
            key=lambda comment: comment.id,
            two_lines=True,
            empty="",
            id="threads",
        )
        threads.can_focus = False  # until there are any: where there is nothing, tab does not stop
        yield Static("OUTLINE", classes="pane-title")
        yield outline
        yield ChangingText("THREADS", classes="pane-title", id="threads-title")
        yield threads
        yield ChangingText("", id="facts")

    @property
    def outline(self) -> RowList[Heading]:
        return self.query_one("#outline", RowList)

    @property
    def threads(self) -> RowList[Comment]:
        return self.query_one("#threads", RowList)

    def show(
        self,
        document: Document,
        threads: Iterable[Comment] | None,
        page: Page,
        *,
        whole: bool = True,
        since: Callable[[Comment], str] = lambda thread: "",
        unsent: Callable[[Comment], Sequence[UnsentText]] = lambda thread: (),
    ) -> None:
        """Show what belongs to `page`. Threads are None while nobody knows them; `whole`: all of it is read; `since`:
        a word for what became of what a thread hangs on; `unsent`: what is written in one and not sent."""
        self._since, self._unsent = since, unsent
        self.outline.state.empty = "No headings." if whole else "The page is still loading."
        other = page.id != self._page
        if other:
            self.outline.set_filter("")
        shown = [heading for heading in document.headings if heading.level <= DEEPEST]
        self._shown_as, above = {}, ""
        for heading in document.headings:
            above = heading.anchor if heading.level <= DEEPEST else above
            self._shown_as[heading.anchor] = above
        self.outline.show(shown)
        if other:
            self._page = page.id
            self.outline.go_to_first()
            self.threads.go_to_first()
        if threads is not None:
            self.show_threads(tuple(threads))
        facts = [
            f"path  {page.path}" if page.path else "",
            f"edited {long_age(page.updated_at)}" if page.updated_at else "",
        ]
        self.query_one("#facts", Static).update(Content("\n".join(fact for fact in facts if fact)))

    def follow(self, anchor: str) -> None:
        """Show in the outline where one reads: at the heading of this anchor, at the one above it where it is too deep
        to be shown, or above the first. The keys in it come first."""
        if self.outline.has_focus:
            return
        if shown := self._shown_as.get(anchor):
            self.outline.go_to(shown)
        elif not anchor or anchor in self._shown_as:
            self.outline.go_to_first()

    def clear(self) -> None:
        """Show nothing: its page is gone, and the next is not there yet."""
        self.outline.state.empty = self.threads.state.empty = self.threads.state.hint = ""
        self.outline.show([])
        self._list_threads([])
        for name in ("#threads-title", "#facts"):
            self.query_one(name, Static).update("THREADS" if name == "#threads-title" else "")

    def show_threads(self, threads: Sequence[Comment]) -> None:
        """Show the threads of the page."""
        self.threads.state.empty, self.threads.state.hint = (
            "No comments on this page.",
            "Press c on a block to comment.",
        )
        self._list_threads(threads)
        still_open = sum(thread.is_open_thread for thread in threads)
        done = len(threads) - still_open
        title = Content.assemble(
            "THREADS",
            (f"  {still_open} open" if still_open else "", "$octavo-note"),
            f" {done} resolved" if done else "",
        )
        self.query_one("#threads-title", Static).update(title)

    def _list_threads(self, threads: Sequence[Comment]) -> None:
        if not threads and self.threads.has_focus:
            self.outline.focus()
        self.threads.can_focus = bool(threads)
        self.threads.show(threads)

    def fail_threads(self, sentence: str, *, known: bool) -> None:
        """Say that the threads could not be loaded, or if they are `known`, not refreshed."""
        self.threads.state.fail("Could not refresh the threads" if known else "Could not load the threads", sentence)

    def _draw_heading(self, heading: Heading) -> Row:
        return Row(text="  " * max(0, heading.level - 2) + heading.title, dim=heading.level > 2)

    def _draw_thread(self, thread: Comment) -> Row:
        age = cast("Shell", self.app).workspace.send_status(thread.id) or short_age(thread.posted_at)
        said = plain_text(thread.body.text)
        replies = f" ↳{thread.replies}" if thread.replies else ""
        return Row(
            text=thread.posted_by.name,
            right=with_unsent_mark(self._unsent(thread), f"{age}{replies}"),
            second_line=f"{_SINCE[since]}: {said}" if (since := self._since(thread)) else said,
            sign=Content.styled("●", "$octavo-note") if thread.is_open else Content.styled("✓", "$success"),
            dim=not thread.is_open,
        )
