"""What stands beside a page: its outline, its threads, and facts about it."""

from __future__ import annotations

from collections.abc import Iterable

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from octavo.api.comments import Comment
from octavo.api.content import Page
from octavo.documents.blocks import Document, Heading
from octavo.tui.ages import long_age, short_age
from octavo.tui.widgets.rows import Row, Rows


class Aside(Vertical):
    """The right column of a page. Its two lists send `Lines.Chosen`: `#outline` an anchor, `#threads` a comment id."""

    DEFAULT_CSS = """
    Aside {
        background: $background;
        Rows { height: auto; background: $background; }
        #outline { max-height: 40%; }
        #threads { min-height: 4; max-height: 1fr; }
        #facts { height: auto; color: $octavo-muted; padding: 0 1; margin-top: 1; }
        .pane-title { margin-top: 0; }
        #threads-title { margin-top: 1; }
    }
    """

    def compose(self) -> ComposeResult:
        outline: Rows[Heading] = Rows(
            self._draw_heading, key=lambda heading: heading.anchor, empty="No headings.", id="outline"
        )
        threads: Rows[Comment] = Rows(
            self._draw_thread,
            key=lambda comment: comment.id,
            two_lines=True,
            empty="Nobody has commented here.",
            hint="c comments on a block",
            id="threads",
        )
        yield Static("OUTLINE", classes="pane-title")
        yield outline
        yield Static("THREADS", classes="pane-title", id="threads-title")
        yield threads
        yield Static("", id="facts")

    @property
    def outline(self) -> Rows[Heading]:
        return self.query_one("#outline", Rows)

    @property
    def threads(self) -> Rows[Comment]:
        return self.query_one("#threads", Rows)

    def show(self, document: Document, threads: Iterable[Comment], page: Page) -> None:
        """Show what belongs to `page`."""
        threads = tuple(threads)
        self.outline.show([heading for heading in document.headings if heading.level <= 3])
        self.threads.show(threads)
        still_open = sum(thread.is_open for thread in threads)
        done = len(threads) - still_open
        title = Content.assemble(
            "THREADS  ", (f"{still_open} open" if still_open else "", "$octavo-note"), f"  {done} done" if done else ""
        )
        self.query_one("#threads-title", Static).update(title)
        facts = [
            f"path  {page.path}" if page.path else "",
            f"changed {long_age(page.updated_at)}" if page.updated_at else "",
        ]
        self.query_one("#facts", Static).update(Content("\n".join(fact for fact in facts if fact)))

    def fail_threads(self, sentence: str) -> None:
        """Say that the threads did not load."""
        self.threads.fail("Threads did not load", sentence)

    def _draw_heading(self, heading: Heading) -> Row:
        return Row(text="  " * max(0, heading.level - 2) + heading.title, dim=heading.level > 2)

    def _draw_thread(self, thread: Comment) -> Row:
        words = " ".join(thread.body.text.split())
        age = "sending" if thread.id.startswith("pending-") else short_age(thread.posted_at)
        replies = f" ↳{thread.replies}" if thread.replies else ""
        return Row(
            text=thread.posted_by.name,
            right=Content.styled(f"{age}{replies}", "$octavo-muted"),
            below=words,
            sign=Content.styled("●", "$octavo-note") if thread.is_open else Content.styled("✓", "$success"),
            dim=not thread.is_open,
        )
