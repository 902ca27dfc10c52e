"""Pages are shown from Markdown and from JSON."""

from __future__ import annotations

import pytest

from octavo.api.content import Page
from octavo.tui.reader.page_view import PageView, show_page
from tests.tui.reader.panes import PaneApp, screen

WORDS = {"object": "text", "leaves": [{"object": "leaf", "text": "Low water at six."}]}
JSON = {"object": "document", "nodes": [{"object": "block", "type": "paragraph", "nodes": [WORDS]}]}


@pytest.mark.parametrize("body", [{"markdown": "Low water at six."}, {"document": JSON}])
async def test_page_is_shown_from_markdown_or_json(body: dict[str, object]) -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(60, 12)) as pilot:
        show_page(app.pane, Page.model_validate({"id": "tides", "title": "Tides", "emoji": "1f30a", **body}), "tides")
        await pilot.pause()
        assert "🌊 Tides" in screen(app.pane)
        assert "Low water at six." in screen(app.pane)
