"""What the links of a page lead to, and what that is called: pages of the space at once, all else once it is found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from octavo.documents.blocks import Run
from octavo.documents.emoji import sign_of
from octavo.tui.render.async_cache import AsyncCache
from octavo.tui.render.link_addresses import LinkDestination
from octavo.tui.widgets.wording import in_a_line

if TYPE_CHECKING:
    from octavo.api.content import Page, PageTree
    from octavo.api.places import ContentRef
    from octavo.documents import links

NOT_HERE = "not in this folder"
"""Where something is that a folder's page leads to: in another space."""
_UNSAID = frozenset({"", "broken-reference", "mention"})


class LinkTitle(NamedTuple):
    """What a link leads to, as people know it."""

    title: str = ""
    sign: str = ""
    """Its emoji."""
    where: str = ""
    """What tells it from others of that title: its path, its space, its kind and size."""
    trouble: str = ""
    """Why it leads nowhere: a sentence."""

    @property
    def words(self) -> str:
        return f"{self.sign} {self.title}".strip()


class TitleQuery(NamedTuple):
    """Something to find the name of, as a link from `at` calls it."""

    at: ContentRef
    target: links.Target


@dataclass(frozen=True)
class LinkContext:
    """A tree whose pages link to each other and to elsewhere. `origins` are where the application of the platform is."""

    tree: PageTree
    at: ContentRef
    origins: tuple[str, ...] = ()
    is_folder: bool = False
    """It is a folder on this machine: what is elsewhere is not gone, but not in it."""

    @cached_property
    def pages(self) -> dict[str, Page]:
        """The pages of the tree by id."""
        return {page.id: page for page in self.tree.walk()}

    @cached_property
    def places(self) -> links.LinkTargets:
        """What links may lead to."""
        from octavo.documents import links  # it takes 10 ms to load, and only links need it

        pages = links.ids_by_path(
            (page.id, page.path, page.git.path if page.git is not None else None) for page in self.pages.values()
        )
        return links.LinkTargets(pages, frozenset(self.pages), None, self.at.space_id, self.origins)

    def path(self, page_id: str) -> str:
        """Where a page lies, as its relative links see it."""
        page = self.pages.get(page_id)
        if page is None:
            return ""
        if page.git is not None and page.git.path:
            return page.git.path
        return f"{page.path or ''}/" if page.pages else page.path or ""


class Targets:
    """What the links of one page lead to."""

    def __init__(
        self,
        ground: LinkContext,
        page_id: str,
        titles: AsyncCache[TitleQuery, LinkTitle] | None = None,
        space_of: Callable[[str], LinkTitle | None] = lambda space: None,
    ) -> None:
        """`space_of` names the spaces that are known."""
        self.ground, self.page_id = ground, page_id
        self._titles, self._space_of = titles, space_of
        self._met: dict[str, links.Target] = {}

    def with_titles(self, titles: AsyncCache[TitleQuery, LinkTitle] | None) -> Targets:
        """Return the same targets with other titles, or with none if these have none."""
        return Targets(self.ground, self.page_id, titles if self._titles is not None else None, self._space_of)

    def target(self, href: str) -> links.Target:
        """Where `href` leads."""
        from octavo.documents import links  # it takes 10 ms to load, and only links need it

        if href not in self._met:
            self._met[href] = links.resolve(href, self.ground.path(self.page_id), self.ground.places)
        return self._met[href]

    def named(self, href: str) -> LinkTitle | None:
        """What `href` leads to, if that is known by now and has a name."""
        from octavo.documents import links  # it takes 10 ms to load, and only links need it

        match self.target(href):
            case links.BrokenLink(is_beyond=True) if self.ground.is_folder:
                return LinkTitle(where=NOT_HERE)
            case links.BrokenLink(reason=reason):
                return LinkTitle(trouble=reason)
            case links.ToPage(page=name, anchor=anchor):
                page = self.ground.pages[name]
                where = (page.path or "") + (f"#{anchor}" if anchor else "")
                return LinkTitle(page.title or "Untitled", sign_of(page.emoji), where)
            case links.ToSpace(space=name, page=None) if (known := self._space_of(name)) is not None:
                return known
            case links.ToUrl() | links.ToAnchor() | links.BlockedScheme() | links.ToReusableContent():
                return None
            case target:
                return self._titles.get(TitleQuery(self.ground.at, target)) if self._titles is not None else None

    def leads(self, href: str) -> LinkDestination:
        """What kind of place `href` leads to."""
        from octavo.documents import links  # it takes 10 ms to load, and only links need it

        match self.target(href):
            case links.BlockedScheme():
                return LinkDestination.REFUSED
            case links.ToAnchor():
                return LinkDestination.ANCHOR
            case links.ToUrl(url=url):
                return LinkDestination.MAIL if url.startswith("mailto:") else LinkDestination.OUTSIDE
        named = self.named(href)
        if named is None:
            return LinkDestination.PAGE
        if named.where == NOT_HERE and "://" in href:
            return LinkDestination.OUTSIDE
        return LinkDestination.BROKEN if named.trouble else LinkDestination.PAGE

    def reads(self, runs: tuple[Run, ...]) -> str:
        """The text of runs as it is shown."""
        return "".join([run.text if run.link is None else self.shown(run) or run.text for run in runs])

    def shown(self, run: Run, *, alone: bool = True) -> str | None:
        """What stands in the place of the words of a link that says no more than an address does. `alone`: the link has
        no other words."""
        address = run.link or ""
        if (
            run.kind not in ("text", "mention", "code")
            or not alone
            or not (run.kind == "mention" or repeats_address(run))
        ):
            return None
        named = self.named(address)
        if named is None:
            return None
        if named.trouble:
            return in_a_line(named.trouble) if run.text.strip() in _UNSAID else None
        return named.words or None


def origins(page: Page | None) -> tuple[str, ...]:
    """Where the application of the platform is that shows a page."""
    app = page.urls.app if page is not None else None
    scheme, found, rest = (app or "").partition("://")
    return (f"{scheme}://{rest.partition('/')[0]}",) if found else ()


def repeats_address(run: Run) -> bool:
    """Whether the words of a link are no more than the file name or the address it leads to."""
    said, address = run.text.strip(), run.link or ""
    if not said or said in _UNSAID:
        return bool(address)
    if "://" in address and "://" not in said:
        return False
    path = unquote(address.partition("#")[0])
    return said in (address, path, path.rpartition("/")[2]) and ("/" in said or "." in said)
