"""Preview of a comment or a page that is still being written."""

from __future__ import annotations

import asyncio

from octavo.tui.reader.page_view import PageView
from octavo.tui.render.threads import keep_quoted_lines
from octavo.tui.terminal.textual_internals import is_being_removed


def preview(text: str) -> PageView:
    """Return a page view of Markdown text."""
    view = PageView()

    async def show() -> None:
        markdown = await asyncio.to_thread(keep_quoted_lines, text)  # In a thread: slow for a megabyte of quotes.
        if not is_being_removed(view):
            view.show_markdown(markdown, key="preview")

    view.call_later(show)
    return view
