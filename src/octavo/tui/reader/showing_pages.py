"""A page as the server gave it, shown in a page view."""

from __future__ import annotations

from octavo.api.content import Page
from octavo.documents.emoji import to_emoji
from octavo.tui.reader.page_view import PageView


def show_page(view: PageView, page: Page, key: str) -> None:
    """Show a page in a view: its Markdown, else the JSON document that stands in its place."""
    title = f"{to_emoji(page.emoji)} {page.title}".strip()
    if page.markdown is None and page.document is not None:
        from octavo.documents.json_document import read_document  # Markdown is asked for: hardly a page comes without

        view.show(read_document(page.document), title=title, description=page.description, key=key)
    else:
        view.show_markdown(page.markdown or "", title=title, description=page.description, key=key)
