"""Content of a page that is loaded after the first paint: highlighted code, images, diagrams, OpenAPI operations and
titles of linked pages. Each kind has an `AsyncCache`. Start with `DeferredContent`."""

from __future__ import annotations

import asyncio
import re
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property, partial
from threading import local
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from octavo.documents import links
from octavo.documents.blocks import Run
from octavo.documents.emoji import to_emoji
from octavo.tui.render.block_slices import run_guarded
from octavo.tui.render.styles import Styles
from octavo.tui.widgets.short_texts import as_clause

if TYPE_CHECKING:
    from octavo.api.content import Page, PageTree
    from octavo.api.operation import ContentRef
    from octavo.documents.openapi import Operation, Specification
    from octavo.tui.render.styled_lines import Line
    from octavo.tui.terminal.display import ScaledPicture

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

BATCH_SECONDS = 0.05
"""Seconds for which loaded results are collected before they are shown together."""


class AsyncCache(Generic[K, V]):
    """Cache whose values are loaded in the background. `get` never waits: it adds a key whose value is not loaded yet
    to `missing`. Pass the keys in `missing` to `request`, then await `load_requested`."""

    def __init__(self, load: Callable[[K], Awaitable[V | None]], capacity: int = 200) -> None:
        self._load = load
        self._capacity = capacity
        self._results: OrderedDict[K, V | None] = OrderedDict()
        self._requested: dict[K, None] = {}
        self._loaded_count = 0
        self._lock = asyncio.Lock()
        self._missing_by_thread = local()

    @property
    def missing(self) -> list[K]:
        """Keys that were not loaded when this thread called `get`. `DeferredContent.take_missing` clears this list."""
        missing: list[K] = self._missing_by_thread.__dict__.setdefault("keys", [])
        return missing

    @property
    def has_requests(self) -> bool:
        """True if some requested keys are not loaded yet."""
        return bool(self._requested)

    def get(self, key: K) -> V | None:
        """Return the value for `key`. None if loading gave no value, or if `key` is not loaded yet. In the second case,
        add `key` to `missing`."""
        with suppress(KeyError):
            value = self._results[key]
            self._results.move_to_end(key)
            return value
        self.missing.append(key)
        return None

    def has_loaded(self, key: K) -> bool:
        """Return True if `key` was loaded, even if it has no value."""
        return key in self._results

    def request(self, key: K) -> None:
        """Add `key` to the keys that `load_requested` loads, unless it is loaded already."""
        if key not in self._results:
            self._requested[key] = None

    def clear_requests(self) -> None:
        """Drop the requested keys that are not loaded yet. Called when another page is shown."""
        self._requested.clear()

    async def load_requested(self) -> bool:
        """Load requested keys, but stop after `BATCH_SECONDS` if a value was loaded. Return True if a value
        was loaded since the call, by this call or another. The caller must then show the new values."""
        count_before = self._loaded_count
        async with self._lock:
            start_time = time.monotonic()
            while self._requested and (
                self._loaded_count == count_before or time.monotonic() - start_time <= BATCH_SECONDS
            ):
                key = next(iter(self._requested))
                (result,) = await asyncio.gather(self._load(key), return_exceptions=True)
                value = self._results[key] = run_guarded(partial(_result_or_raise, result), lambda: None)
                self._requested.pop(key, None)
                self._loaded_count += value is not None
        while len(self._results) > self._capacity:
            self._results.popitem(last=False)
        return self._loaded_count != count_before


def _result_or_raise(result: V | BaseException | None) -> V | None:
    if isinstance(result, BaseException):
        raise result
    return result


Tokens = list[list[tuple[str, str]]]
"""For each line of code, pairs of kind and text, such as `("keyword", "return")`. Plain text has an empty kind."""

MAX_LINE_LENGTH, MAX_CODE_LENGTH = 2_000, 60_000
_LEXER_NAMES = {
    "markup": "html",
    "json5": "json",
    "jsonp": "js",
    "jsonc": "json",
    "curl": "bash",
    "cli": "console",
    "cshtml": "html",
    "razor": "html",
    "service": "ini",
    "env": "bash",
    "hbs": "html",
    "shell-session": "console",
    "solidity": "js",
}
_PLAIN_LANGUAGES = frozenset({"", "text", "plaintext", "none", "plain", "txt", "code", "log", "csv", "url", "mermaid"})
_JSON_WORDS = frozenset({"true", "false", "null"})
_KIND_BY_PREFIX = (
    ("Token.Keyword", "keyword"),
    ("Token.Name.Tag", "keyword"),
    ("Token.Operator.Word", "keyword"),
    ("Token.Name.Attribute", "name"),
    ("Token.Name.Function", "name"),
    ("Token.Name.Class", "name"),
    ("Token.Name.Builtin", "name"),
    ("Token.Name.Decorator", "name"),
    ("Token.Literal.String", "string"),
    ("Token.Literal.Number", "number"),
    ("Token.Comment", "comment"),
    ("Token.Generic.Heading", "heading"),
    ("Token.Generic.Subheading", "heading"),
    ("Token.Generic.Deleted", "removed"),
    ("Token.Generic.Inserted", "added"),
    ("Token.Generic.Prompt", "comment"),
)


class CodeQuery(NamedTuple):
    """Code to highlight. `language` is the name of a Pygments lexer."""

    language: str
    text: str


def code_query(language: str, text: str) -> CodeQuery | None:
    """Return code as a key for `DeferredContent.tokens`. None if the code is too long or cannot be highlighted."""
    language = language.strip().lower()
    if language in _PLAIN_LANGUAGES or len(text) > MAX_CODE_LENGTH:
        return None
    return CodeQuery(_LEXER_NAMES.get(language, language), text)


async def highlight_code(code: CodeQuery) -> Tokens | None:
    """Return the syntax tokens of code, computed in a worker thread. None if the code cannot be highlighted."""
    return await asyncio.to_thread(tokenize, *code)


def tokenize(language: str, code: str) -> Tokens | None:
    """Return the syntax tokens of code. None if there is no lexer for the language, or if a line is too long."""
    from pygments.lexers import get_lexer_by_name  # lazy: loads Pygments in 30 ms

    if any(len(line) > MAX_LINE_LENGTH for line in code.split("\n")):
        return None
    try:
        lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ValueError:  # Pygments has no lexer with this name.
        return None
    lines: Tokens = [[]]
    names: dict[object, str] = {}
    for token, text in lexer.get_tokens(code):
        if (kind := names.get(token)) is None:
            name = str(token)
            kind = names[token] = next((kind for prefix, kind in _KIND_BY_PREFIX if name.startswith(prefix)), "")
        if kind == "keyword" and language == "json" and text.isalpha() and text not in _JSON_WORDS:
            kind = ""  # In invalid JSON, the lexer takes letters such as `t` and `n` for keywords.
        first, *rest = text.split("\n")
        lines[-1].append((kind, first))
        for more in rest:
            lines.append([(kind, more)])
    return lines


class ThumbnailQuery(NamedTuple):
    """Image to load for a page: `target` is the link to the image, and `content_ref` the space or change request of the
    page. `columns` and `rows` limit the size in cells."""

    content_ref: ContentRef
    target: links.Target
    columns: int
    rows: int


class DiagramQuery(NamedTuple):
    """Mermaid source to draw. If `ascii` is True, the drawing has only ASCII characters."""

    source: str
    ascii: bool


class DrawnDiagram(NamedTuple):
    """Drawings of the same diagram in several widths, widest first. If there are none, `problem` says why."""

    drawings: tuple[tuple[str, ...], ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class OperationQuery:
    """The part of an OpenAPI specification that a block shows, such as an operation, or the whole specification."""

    specification: Specification
    variant: str
    """One of `operation`, `webhook`, `schemas`, and `file` for the whole specification."""
    method: str = ""
    path: str = ""
    """Path of the operation such as `/pets`, or name of the webhook."""
    schemas: tuple[str, ...] = ()


class FoundOperation(NamedTuple):
    """Result of looking up an operation in a specification. `operation` is None if the specification lacks it."""

    operation: Operation | None


class OperationDetailsQuery(NamedTuple):
    """Key under which the rendered details of an operation are cached: the operation, the width and the styles."""

    operation_query: OperationQuery
    width: int
    styles: Styles


MissingContents = list[tuple[AsyncCache[Any, Any], Any]]
"""Deferred content that is not loaded yet: pairs of a cache and the key to load."""


@dataclass
class DeferredContent:
    """Caches for content of a page that is loaded after the first paint. A cache that is None loads nothing."""

    tokens: AsyncCache[CodeQuery, Tokens] | None = field(default_factory=lambda: AsyncCache(highlight_code))
    """Tokens of code blocks for syntax highlighting."""
    diagrams: AsyncCache[DiagramQuery, DrawnDiagram] | None = None

    thumbnails: AsyncCache[ThumbnailQuery, ScaledPicture] | None = None
    """Small images in the page. None if the settings do not show them."""
    specifications: AsyncCache[str | links.Target, Specification] | None = None
    """OpenAPI specifications, by slug, or by link target if the block names a file or URL."""
    operations: AsyncCache[OperationQuery, FoundOperation] | None = None
    details: AsyncCache[OperationDetailsQuery, list[Line]] | None = None
    """Rendered details of expanded operations of OpenAPI specifications."""
    specification_key: tuple[str, int] | None = None
    """ID of the space and the `Live.specification_version` for which `specifications` was created. None before that."""
    titles: AsyncCache[TitleQuery, LinkTitle] | None = None
    """Titles of linked pages, spaces and files that are not in the page tree."""
    targets: LinkTargets | None = None
    """Resolves the links of the page, with titles from the page tree or `titles`. If None, no link is resolved."""

    def __iter__(self) -> Iterator[AsyncCache[Any, Any]]:
        return (cache for cache in vars(self).values() if isinstance(cache, AsyncCache))

    def take_missing(self) -> MissingContents:
        """Return the keys that this thread missed in the caches, each with its cache. Forget these keys."""
        missing_keys = [(cache, key) for cache in self for key in cache.missing]
        for cache in self:
            cache.missing.clear()
        return missing_keys


_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


class LinkDestination(Enum):
    """Kind of target that a link leads to. Links of some kinds have a sign after their text."""

    PAGE = "page"
    ANCHOR = "anchor"
    OUTSIDE = "outside"
    MAIL = "mail"
    BROKEN = "broken"
    REFUSED = "refused"
    """A URL that Octavo never opens, such as `javascript:…` or `//example.com`."""


def link_destination(address: str, targets: LinkTargets | None = None) -> LinkDestination:
    """Return the kind of target to which a link leads. Without `targets`, only the URL or path is examined."""
    if targets is not None:
        return targets.destination(address)
    if not address or "broken-reference" in address or address.startswith(("/broken/", "broken/")):
        return LinkDestination.BROKEN
    if address.startswith("#"):
        return LinkDestination.ANCHOR
    if address.startswith("//"):
        return LinkDestination.REFUSED
    scheme_match = _SCHEME.match(address)
    if scheme_match is None:
        return LinkDestination.PAGE
    scheme = scheme_match.group().lower()
    if scheme in ("http:", "https:"):
        return (
            LinkDestination.BROKEN
            if "/broken/" in address and "app.gitbook.com" in address
            else LinkDestination.OUTSIDE
        )
    return LinkDestination.MAIL if scheme == "mailto:" else LinkDestination.REFUSED


NOT_AVAILABLE_OFFLINE = "not in this folder"
"""Text that is shown instead of the location of a linked page outside the local folder."""


class LinkTitle(NamedTuple):
    """Title and location of a linked page, space or file."""

    title: str = ""
    emoji: str = ""
    location: str = ""
    """For a page its path or space, for a file its type and size, else the kind of target. May be empty."""
    problem: str = ""
    """Sentence that says why the link is broken. Empty if the link works."""

    @property
    def text(self) -> str:
        """Emoji and title, such as `🚀 Quickstart`."""
        return f"{self.emoji} {self.title}".strip()


class TitleQuery(NamedTuple):
    """A link target whose title must be loaded. `content_ref` is the space or change request that contains the link."""

    content_ref: ContentRef
    target: links.Target


@dataclass(frozen=True)
class LinkContext:
    """Page tree of a space, to resolve links between its pages. `origins` has the origins of the GitBook app, such as
    `https://app.gitbook.com`."""

    tree: PageTree
    content_ref: ContentRef
    origins: tuple[str, ...] = ()
    folder_root: str | None = None
    """Path of the space's root in the open local folder. None if no folder is open. If a folder is open, a link that
    leads out of it is shown as not available, not as broken."""

    @cached_property
    def pages(self) -> dict[str, Page]:
        """Pages of the tree by ID."""
        return {page.id: page for page in self.tree.walk()}

    @cached_property
    def space_index(self) -> links.SpaceIndex:
        """Index of the pages by path and by ID, for `links.resolve`."""
        pages = links.ids_by_path(
            (page.id, page.path, page.git.path if page.git is not None else None if page.path else page.slug)
            for page in self.pages.values()
        )
        ids, space = frozenset(self.pages), self.content_ref.space_id
        return links.SpaceIndex(pages, ids, None, space, self.origins, self.folder_root or "")

    def page_path(self, page_id: str) -> str:
        """Return the path that relative links of a page start from. Empty if the page is not in the tree."""
        page = self.pages.get(page_id)
        if page is None:
            return ""
        if page.git is not None and page.git.path:
            return page.git.path
        return f"{page.path or ''}/" if page.pages else page.path or ""


class LinkTargets:
    """Resolves the links of one page, and finds the titles of the linked pages."""

    def __init__(
        self,
        context: LinkContext,
        page_id: str,
        titles: AsyncCache[TitleQuery, LinkTitle] | None = None,
        title_of_space: Callable[[str], LinkTitle | None] = lambda space: None,
    ) -> None:
        """`page_id` is the page that contains the links. `title_of_space` returns the title of a space by its ID, or
        None if the title is not known."""
        self.context, self.page_id = context, page_id
        self._titles, self._title_of_space = titles, title_of_space
        self._resolved: dict[str, links.Target] = {}

    def resolve(self, href: str) -> links.Target:
        """Return what `href` on this page points to. The result is cached."""
        if href not in self._resolved:
            self._resolved[href] = links.resolve(href, self.context.page_path(self.page_id), self.context.space_index)
        return self._resolved[href]

    def title_of(self, href: str) -> LinkTitle | None:
        """Return the title and location of the page, space or file that `href` points to. For a broken link, only
        `problem` is set. For a link out of a local folder, only `location` is set, to `NOT_AVAILABLE_OFFLINE`. None if
        the target has no title, or if the title is not loaded yet."""
        match self.resolve(href):
            case links.BrokenLink(is_outside_tree=True) if self.context.folder_root is not None:
                return LinkTitle(location=NOT_AVAILABLE_OFFLINE)
            case links.BrokenLink(reason=reason):
                return LinkTitle(problem=reason)
            case links.PageLink(page_id=target_id, anchor=anchor):
                page = self.context.pages[target_id]
                location = (page.path or "") + (f"#{anchor}" if anchor else "")
                return LinkTitle(page.title or "Untitled", to_emoji(page.emoji), location)
            case links.SpaceLink(space_id=target_id, page=None) if (
                space_title := self._title_of_space(target_id)
            ) is not None:
                return space_title
            case links.UrlLink() | links.AnchorLink() | links.BlockedLink() | links.ReusableContentLink():
                return None
            case target:
                return (
                    self._titles.get(TitleQuery(self.context.content_ref, target)) if self._titles is not None else None
                )

    def destination(self, href: str) -> LinkDestination:
        """Return the kind of target that `href` leads to. `BROKEN` if the target is known to be missing."""
        match self.resolve(href):
            case links.BlockedLink():
                return LinkDestination.REFUSED
            case links.AnchorLink():
                return LinkDestination.ANCHOR
            case links.UrlLink(url=url):
                return LinkDestination.MAIL if url.startswith("mailto:") else LinkDestination.OUTSIDE
        title = self.title_of(href)
        if title is None:
            return LinkDestination.PAGE
        if title.location == NOT_AVAILABLE_OFFLINE and "://" in href:
            return LinkDestination.OUTSIDE
        return LinkDestination.BROKEN if title.problem else LinkDestination.PAGE

    def text_of(self, runs: tuple[Run, ...]) -> str:
        """Return inline text without styles. `replacement_text` replaces link texts that only repeat their URL."""
        return "".join([run.text if run.link is None else self.replacement_text(run) or run.text for run in runs])

    def replacement_text(self, run: Run, *, is_whole_link: bool = True) -> str | None:
        """Return what to show for a mention or for a link text that only repeats its URL: the title of the page, or why
        the link is broken. None to show the link text. `is_whole_link` is False if the link has several runs."""
        address = run.link or ""
        if (
            run.kind not in ("text", "mention", "code")
            or not is_whole_link
            or not (run.kind == "mention" or links.has_no_own_text(run))
        ):
            return None
        title = self.title_of(address)
        if title is None:
            return None
        if title.problem:
            return as_clause(title.problem) if run.text.strip() in links.PLACEHOLDER_TEXTS else None
        return title.text or None


def app_origins(page: Page | None) -> tuple[str, ...]:
    """Return the origin of a page's URL in the app, such as `https://app.gitbook.com`. Empty without a page or URL."""
    app = page.urls.app if page is not None else None
    scheme, has_scheme, rest = (app or "").partition("://")
    return (f"{scheme}://{rest.partition('/')[0]}",) if has_scheme else ()
