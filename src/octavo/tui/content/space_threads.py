"""The threads of the open space: counted in the page tree, shown on the open page, and listed in the side panel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from octavo.api.comments import Comment
from octavo.api.operation import ListPage
from octavo.api.places import SpaceRef
from octavo.data.live import Snapshot
from octavo.data.unsent_index import UnsentText, by_block
from octavo.documents.blocks import Block
from octavo.tui.comments.thread_anchoring import ThreadAnchors
from octavo.tui.content.cursor_target import CursorTarget
from octavo.tui.reader.page_view import PageView
from octavo.tui.shell.tree_rows import under

if TYPE_CHECKING:
    from octavo.tui.content.open_space import OpenSpace


class SpaceThreads:
    """Threads of a space and of its open page (`DiscussionView`)."""

    is_old_version = False

    def __init__(self, screen: OpenSpace, target: CursorTarget) -> None:
        """Create the threads of a view. `target` is the target of its keys."""
        self._screen, self._target = screen, target
        self.all: tuple[Comment, ...] = ()
        self._are_known = False
        self._trouble = ""
        """Error of the last refresh. Empty if it succeeded."""
        self._hanging = ThreadAnchors()

    def forget(self) -> None:
        """Remove the threads of a closed space."""
        self.all, self._are_known, self._trouble = (), False, ""

    def show(self, snapshot: Snapshot[ListPage[Comment]]) -> None:
        """Show loaded threads."""
        self._trouble = str(snapshot.error) if snapshot.error is not None else ""
        if snapshot.value is not None:
            self.all, self._are_known = snapshot.value.items, True
            self._screen.draw_pages()
        self.draw()

    def draw(self) -> None:
        """Show the threads of the open page on its blocks and in the side panel."""
        page, view, side_panel = self._screen.page, self._screen.view, self._screen.side_panel
        if page is not None and view.document is not None and self._screen.shows_open_page:
            threads, whole = self.known_threads, view.contents.is_whole
            self._hanging = self._hanging.for_document(view.document, whole=whole)
            hanging = self._hanging.by_likely_block(threads)
            unsent = self._unsent_on(page.id, hanging)
            view.set_threads(hanging, {key: len(words) for key, words in unsent.items()}, known=self._are_known)
            known = threads if self._are_known else None
            side_panel.show(
                view.document, known, page, whole=whole, since=self._hanging.block_change, unsent=self.unsent_in
            )
        if self._trouble:
            side_panel.fail_threads(self._trouble, known=self._are_known)

    # Unsent drafts

    def unsent_by_page(self) -> dict[str, list[UnsentText]]:
        """Return your unsent drafts by the id of their page."""
        space, index = self._screen.space, self._screen.shell.workspace.unsent.index
        return index.by_page(space.ref, self.all) if space is not None and index else {}

    def unsent_in(self, thread: Comment) -> Sequence[UnsentText]:
        """Return your unsent drafts in a thread."""
        at = self.discussion
        return self._screen.shell.workspace.unsent.index.of_thread(at, thread.id) if at is not None else ()

    def unsent_on(self, block: Block) -> Sequence[UnsentText]:
        """Return your unsent drafts on a block of the open page and on the blocks inside it."""
        page = self._screen.page
        if page is None or not self._screen.shows_open_page:
            return ()
        found = self._unsent_on(page.id, self._hanging.by_likely_block(self.known_threads))
        return [each for key in dict.fromkeys(part.key for part in block.walk()) for each in found.get(key, ())]

    def _unsent_on(self, page: str, hanging: Mapping[str, Sequence[Comment]]) -> dict[str, list[UnsentText]]:
        """Return your unsent drafts on a page by the key of their block."""
        words = self.unsent_by_page().get(page, ())
        found = by_block(words)
        if any(each.thread for each in words):
            threads = {thread.id: key for key, among in hanging.items() for thread in among}
            for each in words:
                if each.thread in threads:
                    found.setdefault(threads[each.thread], []).append(each)
        return found

    # Threads of the open page

    @property
    def discussion(self) -> SpaceRef | None:
        return self._screen.space.ref if self._screen.space else None

    @property
    def visible_page(self) -> tuple[str, str] | None:
        page = self._screen.page
        return (page.id, page.title or "this page") if page and self._screen.shows_open_page else None

    @property
    def target_page(self) -> tuple[str, str] | None:
        return self._target.page

    @property
    def selected_block(self) -> Block | None:
        stop = self._screen.view.cursor.stop() if self._screen.shows_open_page else None
        return stop[3] if stop else None

    @property
    def known_threads(self) -> tuple[Comment, ...]:
        """The threads of the open page, open ones first."""
        if (page := self._screen.page) is None:
            return ()
        here = [each for each in self.all if each.target.page and each.target.page.id == page.id]
        return tuple(sorted(here, key=lambda each: not each.is_open))

    def threads_on(self, block: Block) -> list[Comment]:
        return under(block, self._hanging.by_likely_block(self.known_threads)) if self._screen.shows_open_page else []

    @property
    def pane(self) -> PageView:
        return self._screen.view

    def go_to_thread(self, thread: Comment) -> bool:
        if not self._screen.shows_open_page:
            return False
        key = next((key for key, hanging in self._hanging.by_likely_block((thread,)).items() if hanging), "")
        return bool(key) and self._screen.view.place.go_to_block(key, None)

    def outdated_note(self, thread: Comment) -> str:
        return self._hanging.outdated_note(thread) if self._screen.shows_open_page else ""

    def source_of(self, block: Block) -> str:
        return ""

    def why_no_block(self) -> str | None:
        return self._target.why_not_here()

    def why_not_commentable(self, *, whole: bool) -> str | None:
        page = self._screen.page
        if self._target.row is not None:
            return self._target.why_no_text("text to comment on") if whole else None
        if page is not None and not self._screen.shows_open_page:
            return f"{page.title or 'This page'} is still loading."
        return None
