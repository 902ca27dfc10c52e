"""One page in Textual's own Markdown widget: `markdown_app.py FILE`."""

from __future__ import annotations

import sys
from pathlib import Path

from textual.app import App, ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Markdown


class MarkdownApp(App[None]):
    """Shows one page."""

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield Markdown(Path(sys.argv[1]).read_text("utf-8"))


if __name__ == "__main__":
    MarkdownApp().run()
