"""The panel beside a page: its outline, its threads, its path and its age."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from octavo.api.comments import Comment
from octavo.api.content import Page
from octavo.data.unsent_index import UnsentText
from octavo.documents.blocks import Document, Heading
from octavo.documents.suggestions import plain_text
from octavo.tui.core.shell import shell_of
from octavo.tui.core.unsent_texts import with_unsent_mark
from octavo.tui.widgets.row_list import Row, RowList
from octavo.tui.widgets.short_texts import long_age, short_age
from octavo.tui.widgets.text_widgets import ChangingText

_BLOCK_CHANGES = {"changed": "block edited", "gone": "block deleted"}
"""Note about the block of an outdated thread, by the change of the block."""
MAX_HEADING_LEVEL = 3
"""The level of the deepest headings in an outline."""


class SidePanel(Vertical):
    """The right column of a page. Its two lists send `LineList.Opened`: `#outline` an anchor, `#threads` a comment
    id."""

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
        self._block_change: Callable[[Comment], str] = lambda thread: ""
        self._drafts_in: Callable[[Comment], Sequence[UnsentText]] = lambda thread: ()
        self._visible_anchors: dict[str, str] = {}
        """For each heading anchor, the anchor of the nearest heading at or above it that the outline shows."""

    def compose(self) -> ComposeResult:
        outline: RowList[Heading] = RowList(
            self._draw_heading,
            key=lambda heading: heading.anchor,
            search=lambda heading: heading.title,
            empty="",
            id="outline",
        )
        threads: RowList[Comment] = RowList(
            self._draw_thread, key=lambda comment: comment.id, two_lines=True, empty="", id="threads"
        )
        threads.can_focus = False  # focusable once it has rows, so that tab skips an empty list
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
        is_complete: bool = True,
        block_change: Callable[[Comment], str] = lambda thread: "",
        drafts_in: Callable[[Comment], Sequence[UnsentText]] = lambda thread: (),
    ) -> None:
        """Show the outline, threads and facts of `page`.

        `threads` is None while they are loading. `is_complete` says that the whole document is loaded. `block_change`
        returns the change of the block of an outdated thread. `drafts_in` returns your drafts in a thread.
        """
        self._block_change, self._drafts_in = block_change, drafts_in
        self.outline.state.empty = "No headings." if is_complete else "The page is still loading."
        is_other_page = page.id != self._page
        if is_other_page:
            self.outline.set_filter("")
        shown = [heading for heading in document.headings if heading.level <= MAX_HEADING_LEVEL]
        self._visible_anchors, visible_anchor = {}, ""
        for heading in document.headings:
            visible_anchor = heading.anchor if heading.level <= MAX_HEADING_LEVEL else visible_anchor
            self._visible_anchors[heading.anchor] = visible_anchor
        self.outline.show(shown)
        if is_other_page:
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
        """Select the heading of the reading position in the outline: the heading with this anchor, or the shown heading
        above it. Does nothing while the outline has the focus."""
        if self.outline.has_focus:
            return
        if shown := self._visible_anchors.get(anchor):
            self.outline.go_to(shown)
        elif not anchor or anchor in self._visible_anchors:
            self.outline.go_to_first()

    def clear(self) -> None:
        """Show nothing while the next page is loading."""
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
        open_count = sum(thread.is_open_thread for thread in threads)
        resolved_count = len(threads) - open_count
        title = Content.assemble(
            "THREADS",
            (f"  {open_count} open" if open_count else "", "$octavo-note"),
            f" {resolved_count} resolved" if resolved_count else "",
        )
        self.query_one("#threads-title", Static).update(title)

    def _list_threads(self, threads: Sequence[Comment]) -> None:
        if not threads and self.threads.has_focus:
            self.outline.focus()
        self.threads.can_focus = bool(threads)
        self.threads.show(threads)

    def show_threads_error(self, sentence: str, *, is_loaded: bool) -> None:
        """Show that the threads could not be loaded, or not refreshed. `is_loaded` says that older threads are
        shown."""
        self.threads.state.fail(
            "Could not refresh the threads" if is_loaded else "Could not load the threads", sentence
        )

    def _draw_heading(self, heading: Heading) -> Row:
        return Row(text="  " * max(0, heading.level - 2) + heading.title, dim=heading.level > 2)

    def _draw_thread(self, thread: Comment) -> Row:
        age = shell_of(self).workspace.send_status(thread.id) or short_age(thread.posted_at)
        text = plain_text(thread.body.text)
        replies = f" ↳{thread.replies}" if thread.replies else ""
        return Row(
            text=thread.posted_by.name,
            right=with_unsent_mark(self._drafts_in(thread), f"{age}{replies}"),
            second_line=f"{_BLOCK_CHANGES[block_change]}: {text}"
            if (block_change := self._block_change(thread))
            else text,
            sign=Content.styled("●", "$octavo-note") if thread.is_open else Content.styled("✓", "$success"),
            dim=not thread.is_open,
        )
