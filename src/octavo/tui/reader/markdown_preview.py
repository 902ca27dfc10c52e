"""A text as it will look once it is sent."""

from __future__ import annotations

from octavo.tui.reader.page_view import PageView
from octavo.tui.render.quotes import lines_kept


def preview(text: str) -> PageView:
    """A page view of markdown that is still being written."""
    view = PageView()
    view.call_later(view.show_markdown, lines_kept(text), key="preview")
    return view
