"""Deferred content of a page, which is loaded after the first paint: its caches, and the queries that are their keys.
Also syntax highlighting of code."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from octavo.tui.render.caches import AsyncCache
from octavo.tui.render.styles import Styles

if TYPE_CHECKING:
    from octavo.api.places import ContentRef
    from octavo.documents import links
    from octavo.documents.openapi import Operation, Specification
    from octavo.tui.render.link_targets import LinkTargets, LinkTitle, TitleQuery
    from octavo.tui.render.styled_lines import Line
    from octavo.tui.terminal.graphics import ScaledPicture


Tokens = list[list[tuple[str, str]]]
"""Kind and text of the tokens of each line. Kinds: keyword, string, number, comment, name, heading, removed, added, and
the empty string."""

LONGEST_LINE, LONGEST = 2_000, 60_000
_ALIASES = {
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
_KINDS = (
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
    """Code to highlight: its language by the name of a lexer, and its text."""

    language: str
    text: str


def code_query(language: str, text: str) -> CodeQuery | None:
    """Return the code to highlight. None if it has no language or is too long."""
    language = language.strip().lower()
    if language in _PLAIN_LANGUAGES or len(text) > LONGEST:
        return None
    return CodeQuery(_ALIASES.get(language, language), text)


async def highlight_code(code: CodeQuery) -> Tokens | None:
    """Return the tokens of code. None if the code is not highlighted."""
    return await asyncio.to_thread(tokenize, *code)


def tokenize(language: str, code: str) -> Tokens | None:
    """Return the tokens of code. None if the language is unknown or a line is too long."""
    from pygments.lexers import get_lexer_by_name  # lazy: Pygments, 30 ms

    if any(len(line) > LONGEST_LINE for line in code.split("\n")):
        return None
    try:
        lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ValueError:  # There is no such lexer.
        return None
    lines: Tokens = [[]]
    names: dict[object, str] = {}
    for token, text in lexer.get_tokens(code):
        if (kind := names.get(token)) is None:
            name = str(token)
            kind = names[token] = next((kind for prefix, kind in _KINDS if name.startswith(prefix)), "")
        if kind == "keyword" and language == "json" and text.isalpha() and text not in _JSON_WORDS:
            kind = ""  # In text that is not JSON, the lexer takes letters such as `t` and `n` for keywords.
        first, *rest = text.split("\n")
        lines[-1].append((kind, first))
        for more in rest:
            lines.append([(kind, more)])
    return lines


class ThumbnailQuery(NamedTuple):
    """Thumbnail to load: the link to its image, the space that the link is in, and the maximum size in cells."""

    page: ContentRef
    target: links.Target
    columns: int
    rows: int


class DiagramQuery(NamedTuple):
    """Diagram to draw: its normalized source, and whether only ASCII is allowed."""

    source: str
    ascii: bool


@dataclass(frozen=True)
class DrawnDiagram:
    """Drawings of one diagram, the widest first, or the reason why there is none."""

    drawings: tuple[tuple[str, ...], ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class OperationQuery:
    """Part of an OpenAPI specification that a block refers to."""

    specification: Specification
    variant: str
    """One of operation, webhook, schemas and file."""
    method: str = ""
    path: str = ""
    """Path of the operation, or name of the webhook."""
    schemas: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FoundOperation:
    """Result of looking up an operation. `operation` is None if the specification does not have the operation."""

    operation: Operation | None


@dataclass(frozen=True, slots=True)
class OperationLayout:
    """Request to lay out the details of an operation."""

    query: OperationQuery
    width: int
    styles: Styles


@dataclass
class DeferredContent:
    """Content of a page that is loaded after the first paint: one cache for each kind. Content whose cache is None is
    never loaded."""

    tokens: AsyncCache[CodeQuery, Tokens] | None = field(default_factory=lambda: AsyncCache(highlight_code))
    """Tokens of code blocks, for syntax highlighting."""
    diagrams: AsyncCache[DiagramQuery, DrawnDiagram] | None = None
    """Diagrams drawn as text."""

    thumbnails: AsyncCache[ThumbnailQuery, ScaledPicture] | None = None
    """Small images, if the settings show them in pages."""
    specifications: AsyncCache[str | links.Target, Specification] | None = None
    """OpenAPI specifications, by slug or by the target of the link."""
    operations: AsyncCache[OperationQuery, FoundOperation] | None = None
    """Operations in those specifications."""
    details: AsyncCache[OperationLayout, list[Line]] | None = None
    """Rendered details of operations that are expanded."""
    specifications_of: tuple[str, int] | None = None
    """Id of the space whose links lead to the specifications, and the value of `Live.specifications_parsed` when their
    cache was created."""
    titles: AsyncCache[TitleQuery, LinkTitle] | None = None
    """Titles of link targets outside the page tree."""
    targets: LinkTargets | None = None
    """Targets of the links of the page, with the titles from the page tree. Other titles come from `titles`."""

    def __iter__(self) -> Iterator[AsyncCache[Any, Any]]:
        return (cache for cache in vars(self).values() if isinstance(cache, AsyncCache))

    def for_background_thread(self) -> DeferredContent:
        """Return a copy for use in the background thread. It has the same content, but its own lists of missing
        keys."""
        other = copy(self)
        for name, cache in vars(self).items():
            if isinstance(cache, AsyncCache):
                setattr(other, name, cache.for_background_thread())
        if self.targets is not None:
            other.targets = self.targets.with_titles(other.titles)
        return other

    def take_missing(self, original: DeferredContent | None = None) -> list[tuple[AsyncCache[Any, Any], Any]]:
        """Return the missing keys, each with its cache, and clear them. If this is a copy for the background thread,
        `original` is the content that was copied: then the returned caches are those of `original`."""
        taken = [(owner, key) for cache, owner in zip(self, original or self, strict=True) for key in cache.missing]
        for cache in self:
            cache.missing.clear()
        return taken
