"""A text as it will look once it is sent."""

from __future__ import annotations

from octavo.tui.reader.page_view import PageView
from octavo.tui.render.quotes import lines_kept


class Preview(PageView):
    """Shows markdown that is still being written."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def on_mount(self) -> None:
        self.show_markdown(lines_kept(self._text), key="preview")
