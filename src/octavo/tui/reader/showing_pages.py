"""Shows a page from the server in a page view."""

from __future__ import annotations

from octavo.api.content import Page
from octavo.documents.emoji import sign_of
from octavo.tui.reader.page_view import PageView


def show_page(view: PageView, page: Page, key: str) -> None:
    """Show a page: its Markdown, or its JSON document if it has no Markdown."""
    title = f"{sign_of(page.emoji)} {page.title}".strip()
    if page.markdown is None and page.document is not None:
        from octavo.documents.json_document import read_document  # lazy: almost every page has Markdown

        view.show(read_document(page.document), title=title, description=page.description, key=key)
    else:
        view.show_markdown(page.markdown or "", title=title, description=page.description, key=key)
