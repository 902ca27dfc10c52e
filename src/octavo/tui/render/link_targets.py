"""Targets of the links of a page, with their titles. Titles from the page tree are available immediately, other titles
are loaded."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from octavo.documents import links
from octavo.documents.blocks import Run
from octavo.documents.emoji import to_emoji
from octavo.tui.render.caches import AsyncCache
from octavo.tui.widgets.short_texts import as_clause

if TYPE_CHECKING:
    from octavo.api.content import Page, PageTree
    from octavo.api.places import ContentRef

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


class LinkDestination(Enum):
    """Kind of destination of a URL or path in a link."""

    PAGE = "page"
    ANCHOR = "anchor"
    OUTSIDE = "outside"
    MAIL = "mail"
    BROKEN = "broken"
    REFUSED = "refused"
    """An address that Octavo never opens: it has another scheme than http, https and mailto, or begins with `//`."""


def link_destination(address: str) -> LinkDestination:
    """Return the kind of destination of a link, as written in the source."""
    if not address or "broken-reference" in address or address.startswith(("/broken/", "broken/")):
        return LinkDestination.BROKEN
    if address.startswith("#"):
        return LinkDestination.ANCHOR
    if address.startswith("//"):
        return LinkDestination.REFUSED
    scheme = _SCHEME.match(address)
    if scheme is None:
        return LinkDestination.PAGE
    name = scheme.group().lower()
    if name in ("http:", "https:"):
        return (
            LinkDestination.BROKEN
            if "/broken/" in address and "app.gitbook.com" in address
            else LinkDestination.OUTSIDE
        )
    return LinkDestination.MAIL if name == "mailto:" else LinkDestination.REFUSED


NOT_AVAILABLE_OFFLINE = "not in this folder"
"""Text that is shown as the location of a link target outside the local folder."""
_MEANINGLESS_TEXTS = frozenset({"", "broken-reference", "mention"})


class LinkTitle(NamedTuple):
    """Title and location of a link target."""

    title: str = ""
    emoji: str = ""
    """Emoji of the page."""
    where: str = ""
    """Path, space, or type and size, to distinguish equal titles."""
    problem: str = ""
    """Sentence that says why the link is broken. Empty if the link works."""

    @property
    def text(self) -> str:
        """Emoji and title."""
        return f"{self.emoji} {self.title}".strip()


class TitleQuery(NamedTuple):
    """Link target to find the title of, as seen from `page_ref`."""

    page_ref: ContentRef
    target: links.Target


@dataclass(frozen=True)
class LinkContext:
    """Page tree in which links are resolved. `origins` are the URLs of the platform's app."""

    tree: PageTree
    page_ref: ContentRef
    origins: tuple[str, ...] = ()
    is_folder: bool = False
    """True if the tree is a local folder. Links to targets outside it are then shown as not available, not as
    broken."""

    @cached_property
    def pages(self) -> dict[str, Page]:
        """Pages of the tree by id."""
        return {page.id: page for page in self.tree.walk()}

    @cached_property
    def known_places(self) -> links.SpaceIndex:
        """Pages of the tree by path and ID, the space, and the URLs of the app, for resolving links."""
        pages = links.ids_by_path(
            (page.id, page.path, page.git.path if page.git is not None else None) for page in self.pages.values()
        )
        return links.SpaceIndex(pages, frozenset(self.pages), None, self.page_ref.space_id, self.origins)

    def page_path(self, page_id: str) -> str:
        """Return the path from which the relative links of a page are resolved. Empty if the page is not in the
        tree."""
        page = self.pages.get(page_id)
        if page is None:
            return ""
        if page.git is not None and page.git.path:
            return page.git.path
        return f"{page.path or ''}/" if page.pages else page.path or ""


class LinkTargets:
    """Targets of the links of one page."""

    def __init__(
        self,
        context: LinkContext,
        page_id: str,
        titles: AsyncCache[TitleQuery, LinkTitle] | None = None,
        space_of: Callable[[str], LinkTitle | None] = lambda space: None,
    ) -> None:
        """Resolve the links of the page `page_id` in `context`. `space_of` returns the title of a space, or None."""
        self.context, self.page_id = context, page_id
        self._titles, self._space_title = titles, space_of
        self._resolved: dict[str, links.Target] = {}

    def with_titles(self, titles: AsyncCache[TitleQuery, LinkTitle] | None) -> LinkTargets:
        """Return the same targets with `titles` as their titles. If these targets load no titles, the returned targets
        load none either."""
        return LinkTargets(self.context, self.page_id, titles if self._titles is not None else None, self._space_title)

    def resolve(self, href: str) -> links.Target:
        """Return the target of `href`."""
        if href not in self._resolved:
            self._resolved[href] = links.resolve(href, self.context.page_path(self.page_id), self.context.known_places)
        return self._resolved[href]

    def title_of(self, href: str) -> LinkTitle | None:
        """Return the title of the target of `href`. None if it has none, or if it is not loaded yet."""
        match self.resolve(href):
            case links.BrokenLink(is_outside_tree=True) if self.context.is_folder:
                return LinkTitle(where=NOT_AVAILABLE_OFFLINE)
            case links.BrokenLink(reason=reason):
                return LinkTitle(problem=reason)
            case links.PageLink(page=name, anchor=anchor):
                page = self.context.pages[name]
                where = (page.path or "") + (f"#{anchor}" if anchor else "")
                return LinkTitle(page.title or "Untitled", to_emoji(page.emoji), where)
            case links.SpaceLink(space=name, page=None) if (known := self._space_title(name)) is not None:
                return known
            case links.UrlLink() | links.AnchorLink() | links.BlockedScheme() | links.ReusableContentLink():
                return None
            case target:
                return self._titles.get(TitleQuery(self.context.page_ref, target)) if self._titles is not None else None

    def destination(self, href: str) -> LinkDestination:
        """Return the kind of destination of `href`."""
        match self.resolve(href):
            case links.BlockedScheme():
                return LinkDestination.REFUSED
            case links.AnchorLink():
                return LinkDestination.ANCHOR
            case links.UrlLink(url=url):
                return LinkDestination.MAIL if url.startswith("mailto:") else LinkDestination.OUTSIDE
        named = self.title_of(href)
        if named is None:
            return LinkDestination.PAGE
        if named.where == NOT_AVAILABLE_OFFLINE and "://" in href:
            return LinkDestination.OUTSIDE
        return LinkDestination.BROKEN if named.problem else LinkDestination.PAGE

    def text_of(self, runs: tuple[Run, ...]) -> str:
        """Return the visible text of runs."""
        return "".join([run.text if run.link is None else self.replacement_text(run) or run.text for run in runs])

    def replacement_text(self, run: Run, *, alone: bool = True) -> str | None:
        """Return the title to show instead of a link text that only repeats the URL. None to keep the text. `alone`:
        the link has no other text."""
        address = run.link or ""
        if (
            run.kind not in ("text", "mention", "code")
            or not alone
            or not (run.kind == "mention" or repeats_address(run))
        ):
            return None
        named = self.title_of(address)
        if named is None:
            return None
        if named.problem:
            return as_clause(named.problem) if run.text.strip() in _MEANINGLESS_TEXTS else None
        return named.text or None


def app_origins(page: Page | None) -> tuple[str, ...]:
    """Return the URL of the platform's app that shows a page."""
    app = page.urls.app if page is not None else None
    scheme, found, rest = (app or "").partition("://")
    return (f"{scheme}://{rest.partition('/')[0]}",) if found else ()


def repeats_address(run: Run) -> bool:
    """Return True if the text of a link only repeats its file name or URL."""
    text, address = run.text.strip(), run.link or ""
    if not text or text in _MEANINGLESS_TEXTS:
        return bool(address)
    if "://" in address and "://" not in text:
        return False
    path = unquote(address.partition("#")[0])
    return text in (address, path, path.rpartition("/")[2]) and ("/" in text or "." in text)
