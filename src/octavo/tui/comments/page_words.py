"""What happened to the words of the outdated threads of change requests. The page of such threads is loaded once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from octavo.api import content
from octavo.api.errors import ApiError
from octavo.api.places import ChangeRequestRef
from octavo.documents.blocks import Document
from octavo.documents.source_reader import parse
from octavo.documents.thread_anchors import TwoVersionAnchors, WordChange
from octavo.tui.comments.thread_filters import Thread
from octavo.tui.core.view import View

_EMPTY = Document("", (), "")
PageKey = tuple[ChangeRequestRef, str]


class PageWords:
    """The current pages of outdated threads. `redraw` is called when a page is loaded."""

    def __init__(self, view: View, redraw: Callable[[], None]) -> None:
        self._view, self._redraw = view, redraw
        self._pages: dict[PageKey, TwoVersionAnchors | None] = {}
        """The pages that are loaded. None while a page is loading, or if it could not be loaded."""

    def clear(self) -> None:
        """Load the pages again when their threads are drawn, because the user refreshes the view."""
        self._pages.clear()

    def change_of(self, thread: Thread) -> WordChange:
        """Return what happened to the words of a thread. Empty if it is not outdated, or while its page is loading."""
        at, page = thread.at, thread.comment.target.page
        if not isinstance(at, ChangeRequestRef) or page is None or not thread.is_outdated:
            return ""
        if thread.comment.target.node is None:
            return ""
        if (at, page.id) not in self._pages:
            self._pages[at, page.id] = None
            self._view.shell.background(self._load((at, page.id)))
        anchors = self._pages[at, page.id]
        return anchors.word_change(thread.comment) if anchors is not None else ""

    async def _load(self, key: PageKey) -> None:
        op = content.GetPage(at=key[0], page_id=key[1], format="markdown")
        try:
            page = await self._view.shell.session.live.fetch(op)
        except ApiError:
            return  # The rows then say “outdated”, as the server does.
        document = await asyncio.to_thread(parse, page.markdown or "")
        if key in self._pages:
            self._pages[key] = TwoVersionAnchors((_EMPTY, document))
            self._redraw()
