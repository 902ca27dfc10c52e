"""The threads of the space that is open: counted in its tree, hung on the page on show, and listed beside that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from octavo.api.comments import Comment
from octavo.api.operation import ListPage
from octavo.api.places import SpaceRef
from octavo.data.live import Snapshot
from octavo.data.unsent_index import UnsentText, by_block
from octavo.documents.blocks import Block
from octavo.tui.comments.thread_anchoring import ThreadAnchors
from octavo.tui.content.cursor_target import CursorTarget
from octavo.tui.content.side_panel import SidePanel
from octavo.tui.reader.link_names import ShowsPage
from octavo.tui.reader.page_view import PageView
from octavo.tui.shell.tree_rows import threads_in_block


class ReadsPage(ShowsPage, Protocol):
    """A view of the pages of a space, with one of them on show and what belongs to it beside that."""

    @property
    def aside(self) -> SidePanel: ...

    @property
    def is_in_view(self) -> bool:
        """Whether the page in the view is the one wanted."""

    def draw_pages(self) -> None:
        """Show the pages as they are now."""


class SpaceThreads:
    """Threads of a space and of its open page (`ShowsDiscussion`)."""

    is_on_old_side = False

    def __init__(self, screen: ReadsPage, target: CursorTarget) -> None:
        """`target` is what the keys are about, in the page or in the tree beside it."""
        self._screen, self._target = screen, target
        self.all: tuple[Comment, ...] = ()
        self._are_known = False
        self._trouble = ""
        """Why they could not be refreshed, while that is so."""
        self._hanging = ThreadAnchors()

    def forget(self) -> None:
        """Their space is left."""
        self.all, self._are_known, self._trouble = (), False, ""

    def show(self, snapshot: Snapshot[ListPage[Comment]]) -> None:
        """Show them as they came."""
        self._trouble = str(snapshot.error) if snapshot.error is not None else ""
        if snapshot.value is not None:
            self.all, self._are_known = snapshot.value.items, True
            self._screen.draw_pages()
        self.draw()

    def draw(self) -> None:
        """Show those of the page on show, on it and beside it."""
        page, view, aside = self._screen.page, self._screen.view, self._screen.aside
        if page is not None and view.document is not None and self._screen.is_in_view:
            threads, whole = self.known_threads, view.contents.is_whole
            self._hanging = self._hanging.on(view.document, whole=whole)
            hanging = self._hanging.likely(threads)
            unsent = self._unsent_on(page.id, hanging)
            view.set_threads(hanging, {key: len(words) for key, words in unsent.items()}, known=self._are_known)
            known = threads if self._are_known else None
            aside.show(view.document, known, page, whole=whole, since=self._hanging.since, unsent=self.unsent_in)
        if self._trouble:
            aside.fail_threads(self._trouble, known=self._are_known)

    # What is written and not sent

    def unsent_by_page(self) -> dict[str, list[UnsentText]]:
        """Return your unsent drafts by the id of their page."""
        space, index = self._screen.space, self._screen.shell.workspace.unsent.index
        return index.by_page(space.ref, self.all) if space is not None and index else {}

    def unsent_in(self, thread: Comment) -> Sequence[UnsentText]:
        """The same of a thread."""
        at = self.discussion
        return self._screen.shell.workspace.unsent.index.of_thread(at, thread.id) if at is not None else ()

    def unsent_on(self, block: Block) -> Sequence[UnsentText]:
        """The same of a block of the page on show, or of what is in it."""
        page = self._screen.page
        if page is None or not self._screen.is_in_view:
            return ()
        found = self._unsent_on(page.id, self._hanging.likely(self.known_threads))
        return [each for key in dict.fromkeys(part.key for part in block.walk()) for each in found.get(key, ())]

    def _unsent_on(self, page: str, hanging: Mapping[str, Sequence[Comment]]) -> dict[str, list[UnsentText]]:
        """By the keys of blocks."""
        words = self.unsent_by_page().get(page, ())
        found = by_block(words)
        if any(each.thread for each in words):
            threads = {thread.id: key for key, among in hanging.items() for thread in among}
            for each in words:
                if each.thread in threads:
                    found.setdefault(threads[each.thread], []).append(each)
        return found

    # What is said of the page on show

    @property
    def discussion(self) -> SpaceRef | None:
        return self._screen.space.ref if self._screen.space else None

    @property
    def page_on_show(self) -> tuple[str, str] | None:
        page = self._screen.page
        return (page.id, page.title or "this page") if page and self._screen.is_in_view else None

    @property
    def page_at_hand(self) -> tuple[str, str] | None:
        return self._target.page

    @property
    def block_on_show(self) -> Block | None:
        stop = self._screen.view.cursor.stop() if self._screen.is_in_view else None
        return stop[3] if stop else None

    @property
    def known_threads(self) -> tuple[Comment, ...]:
        """The threads of the page on show, open ones first."""
        if (page := self._screen.page) is None:
            return ()
        here = [each for each in self.all if each.target.page and each.target.page.id == page.id]
        return tuple(sorted(here, key=lambda each: not each.is_open))

    def threads_on(self, block: Block) -> list[Comment]:
        return threads_in_block(block, self._hanging.likely(self.known_threads)) if self._screen.is_in_view else []

    @property
    def pane(self) -> PageView:
        return self._screen.view

    def go_to_thread(self, thread: Comment) -> bool:
        if not self._screen.is_in_view:
            return False
        key = next((key for key, hanging in self._hanging.likely((thread,)).items() if hanging), "")
        return bool(key) and self._screen.view.place.go_to_block(key, None)

    def since(self, thread: Comment) -> str:
        return self._hanging.said_since(thread) if self._screen.is_in_view else ""

    def source_of(self, block: Block) -> str:
        return ""

    def why_no_block(self) -> str | None:
        return self._target.why_not_here()

    def why_nothing_to_say(self, *, whole: bool) -> str | None:
        page = self._screen.page
        if self._target.row is not None:
            return self._target.why_no_text("text to comment on") if whole else None
        if page is not None and not self._screen.is_in_view:
            return f"{page.title or 'This page'} is still loading."
        return None
