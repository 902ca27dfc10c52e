"""A text as it will look once it is sent."""

from __future__ import annotations

import asyncio

from octavo.tui.reader.page_view import PageView
from octavo.tui.render.threads import keep_quoted_lines
from octavo.tui.terminal.textual_internals import is_being_removed


def preview(text: str) -> PageView:
    """A page view of markdown that is still being written."""
    view = PageView()

    async def show() -> None:
        markdown = await asyncio.to_thread(
            keep_quoted_lines, text
        )  # of a megabyte of quotes it takes longer than a key may
        if not is_being_removed(view):
            view.show_markdown(markdown, key="preview")

    view.call_later(show)
    return view
