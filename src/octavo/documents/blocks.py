"""The blocks and runs of a page, the tree of open blocks while it is parsed, and size limits.

A page is parsed into `Block` objects. A leaf block has runs (text with formats) or plain text. `attrs` has only the
attributes that the source sets, with the names below. Read them with `attrs.get`. Values are single lines, except in
`arguments`. Each kind of block has only the runs, children or text that its row names.
The text of `runs` is as displayed, with escapes resolved. `text` is exactly as in the source.

| kind          | attrs                                                   | runs, text, children                       |
|---------------|---------------------------------------------------------|--------------------------------------------|
| document      |                                                         | children: any block                        |
| heading       | level 1-6, id (anchor), align                           | runs                                       |
| paragraph     | align, dir                                              | runs                                       |
| list          | ordered, start, tight                                   | children: item, task                       |
| item          |                                                         | children: any block                        |
| task          | checked                                                 | children: any block                        |
| quote         |                                                         | children: any block                        |
| code          | language, title, wrap, numbers, expandable, full_width, | text                                       |
|               | highlighted (line indices), notes ((line, label)...),   |                                            |
|               | source (True: a page too big or too deep to be parsed)  |                                            |
| math          |                                                         | text: LaTeX                                |
| divider       |                                                         |                                            |
| table         | columns (TableColumn...), header_hidden, header_sticky, | children: row                              |
|               | full_width, search                                      |                                            |
| row           | head (a further head row)                               | children: cell, one per column at most     |
| cell          | value (bool of a checkbox, int of a rating), colspan,   | runs: blocks in it are separated by breaks,|
|               | rowspan                                                 | items begin with a bullet                  |
| cards         | columns, size (medium, large), titles_hidden,           | children: card                             |
|               | full_width                                              |                                            |
| card          | target, cover, cover_dark (URLs)                        | children: cell, one per column at most,    |
|               |                                                         | also of hidden columns                     |
| hint          | style (info success warning danger), icon               | children: heading (its title), any block   |
| tabs          |                                                         | children: tab                              |
| tab           | title, icon, slug                                       | children: any block                        |
| stepper       |                                                         | children: step                             |
| step          | icon                                                    | children: heading (its title), any block   |
| columns       | full_width                                              | children: column                           |
| column        | width (percent, float), valign                          | children: any block                        |
| expandable    | open                                                    | runs: its title; children: any block       |
| updates       | format (full, short, numeric)                           | children: update                           |
| update        | date, tags (names...)                                   | children: any block                        |
| prompt        | description, icon, expanded (hidden partial full),      | children: code                             |
|               | providers                                               |                                            |
| figure        | align, frame, full_width                                | children: image; several are a gallery     |
| image         | src, alt, title, dark (src), width, height, size, link, | runs: its caption                          |
|               | drawing                                                 |                                            |
| file          | src                                                     | runs: its caption                          |
| embed         | url, full_width, html (iframe, video, audio)            | runs: its caption                          |
| content-ref   | url                                                     | runs: fallback text from the source        |
| openapi       | variant (operation schemas webhook file), spec, src,    | runs: fallback text from the source;       |
|               | path, method, name, schemas (names...), grouped,        | children: blocks inside, rarely any        |
|               | expanded, full_width                                    |                                            |
| api-method    | method, path, host, summary                             | children: api-section, api-parameter,      |
|               |                                                         | api-response, any block                    |
| api-section   | name (description, headers, path-parameters, ...)       | children: any block                        |
| api-parameter | name, type, in, required                                | children: any block                        |
| api-response  | status, description                                     | children: any block                        |
| include       | target                                                  | children: the included blocks, if a server |
|               |                                                         | inserted them                              |
| if            | expression                                              | children: any block, else last             |
| else          | expression (of an else-if)                              | children: any block                        |
| integration   | name, arguments (names to texts)                        | text: its `content`; children: any block   |
| conflict      |                                                         | children: side                             |
| side          | name (from the marker: main, #12)                       | children: any block                        |
| footnotes     |                                                         | children: footnote                         |
| footnote      | label                                                   | children: any block                        |
| unknown       | name, arguments (names to texts)                        | children: any block                        |

| run        | text              | attrs                                                  | link                       |
|------------|-------------------|--------------------------------------------------------|----------------------------|
| text       | words             | color, background (names, `$names` or CSS colors)      | URL, if it is a link       |
| code       | words             |                                                        | URL, if it is a link       |
| math       | LaTeX             |                                                        |                            |
| image      | alternative text  | src, dark, width, height, size, title                  | target of a click          |
| icon       |                   | name (`github`, without a prefix)                      | URL, if it is a link       |
| emoji      | the character     | code (as written: `rocket`, `1f4a1`)                   | URL, if it is a link       |
| mention    | words of the link |                                                        | URL                        |
| button     | its label         | style (primary, secondary), icon, action, query,       | URL, if it has one         |
|            |                   | disabled                                               |                            |
| footnote   | mark or words     | label; inline (True: the words are annotated)          |                            |
| break      | a line feed       |                                                        |                            |
| expression | the expression    |                                                        |                            |
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from octavo.api.safety import safe_text

if TYPE_CHECKING:
    from markdown_it.token import Token

NO_ATTRS: Mapping[str, Any] = MappingProxyType({})
"""The attributes of a block or run without attributes."""
NO_MARKS: frozenset[str] = frozenset()

Role = Literal["any length", "container", "opened", "series", "part", "grid", "titled"]
"""Properties of kinds of blocks that decide how pages are compared and which blocks have anchors.

- any length: two blocks can match even if their lengths are very different
- container: blocks can move into and out of the block
- opened: if the block is unchanged, a diff shows only its content near comments
- series: readers see only the elements, such as list items, and not the block around them
- part: an element of a series or grid, which counts as moved even if it is short
- grid: the block consists of rows of cells
- titled: the title has an anchor, like the heading of a section
"""
ROLES: Mapping[str, tuple[Role, ...]] = {
    **dict.fromkeys(("list", "tabs", "stepper", "columns", "updates"), ("any length", "container", "opened", "series")),
    **dict.fromkeys(("quote", "hint", "column"), ("any length", "container", "opened")),
    "expandable": ("any length", "container", "opened", "titled"),
    **dict.fromkeys(("tab", "step"), ("any length", "container", "opened", "part", "titled")),
    "update": ("container", "opened", "part", "titled"),
    **dict.fromkeys(("item", "task"), ("any length", "container", "part")),
    "if": ("any length", "container"),
    **dict.fromkeys(("else", "unknown"), ("container",)),
    **dict.fromkeys(("table", "cards"), ("any length", "grid")),
    **dict.fromkeys(("row", "card"), ("part",)),
    **dict.fromkeys(("conflict", "footnotes"), ("any length",)),
    **dict.fromkeys(("side", "footnote", "figure", "prompt", "include", "openapi", "integration"), ()),
    **dict.fromkeys(("api-method", "api-section", "api-parameter", "api-response"), ()),
}
"""The roles of each kind of block with children, by kind."""


class Run(NamedTuple):
    """A piece of text with one format."""

    text: str
    marks: frozenset[str] = NO_MARKS
    """A subset of bold, italic, strike, code, kbd, sub, sup, underline and mark."""
    link: str | None = None
    """The link target as written in the source, still percent-encoded. None without a link."""
    kind: str = "text"
    attrs: Mapping[str, Any] = NO_ATTRS


class TableColumn(NamedTuple):
    """A column of a table or of cards."""

    title: tuple[Run, ...] = ()
    type: str = "text"
    align: str | None = None
    width: int | None = None
    """Width in pixels. None if the source sets none."""
    hidden: bool = False
    role: str | None = None
    """The purpose of a hidden column of cards: target, cover or cover-dark. None for other columns."""
    max: int = 5
    options: Mapping[str, str] = NO_ATTRS
    """Labels of the options of a select, by option ID."""

    @property
    def has_title(self) -> bool:
        """True if the title has text, an image, an icon or another inline element."""
        return any(run.text.strip() or run.kind not in ("text", "break") for run in self.title)


class Block(NamedTuple):
    """A block of a page, as the table in the module docstring defines."""

    kind: str
    attrs: Mapping[str, Any] = NO_ATTRS
    children: tuple[Block, ...] = ()
    runs: tuple[Run, ...] = ()
    text: str = ""
    lines: tuple[int, int] = (0, 0)
    """First line in the source, counted from 0, and the line after the last. (0, 1) for a block without source."""
    key: str = ""
    """Unique ID of the block on its page: the key from JSON if that is valid, or else a hash."""
    text_line: int = 0
    """Source line of the start of `text`, counted from 0. This line may be after `lines[0]`."""

    def plain(self) -> str:
        """Return the texts of the block and its descendants, joined by line breaks. Blocks without text add no line."""
        return "\n".join([own_text for block in self.walk() if (own_text := block.text or plain_text(block.runs))])

    def walk(self) -> Iterator[Block]:
        """Yield the block and its descendants in source order."""
        stack = [self]  # Iterative, because recursive generators would pass each block up through every level.
        while stack:
            block = stack.pop()
            yield block
            stack += block.children[::-1]

    def has(self, key: str) -> bool:
        """Return whether the block or a descendant has `key`."""
        return any(block.key == key for block in self.walk())


class Diagnostic(NamedTuple):
    """A problem in the source of a page, with its line, counted from 0."""

    line: int
    message: str
    tag: str = ""
    """Start of the tag that lacks its partner, such as `{% hint`. Empty for other problems."""


class Heading(NamedTuple):
    """A heading in the outline of a page."""

    level: int
    title: str
    anchor: str
    block: Block


class Document(NamedTuple):
    """A parsed page. `title` comes from the front matter, or else from the first heading of level 1."""

    title: str
    blocks: tuple[Block, ...]
    source: str
    diagnostics: tuple[Diagnostic, ...] = ()
    headings: tuple[Heading, ...] = ()
    front_matter: str = ""
    """The YAML between the two `---` lines at the top, unparsed."""
    metadata: Mapping[str, Any] = NO_ATTRS
    """The parsed front matter: strings, booleans, lists of strings, and mappings of these."""

    def walk(self) -> Iterator[Block]:
        """Yield all blocks in source order."""
        for block in self.blocks:
            yield from block.walk()

    def find(self, key: str) -> Block | None:
        """Return the block with `key`. None if the page has no such block."""
        return next((block for block in self.walk() if block.key == key), None)


EMPTY_PAGE = Document("", (), "")


def kinds_with(role: Role) -> frozenset[str]:
    """Return the kinds of blocks that have a role."""
    return frozenset(kind for kind, roles in ROLES.items() if role in roles)


UNMARKED_CONTAINERS = kinds_with("series") | {"item", "task"}
"""Containers that a diff does not name if they were added or removed around content that stayed."""

FALLBACK_KINDS = frozenset({"content-ref", "openapi"})
"""Kinds of blocks whose text is shown only if the block itself cannot be shown."""


def plain_text(runs: tuple[Run, ...]) -> str:
    """Return the joined text of runs."""
    return "".join([run.text for run in runs])


MAX_CONTAINER_DEPTH = 40
"""Maximum nesting of tags and HTML. Deeper containers become siblings."""


@dataclass(slots=True, eq=False)
class DraftBlock:
    """A block under construction. Its kind may be one that no finished block has, such as `group`."""

    kind: str
    attrs: dict[str, Any] = field(default_factory=dict)
    children: list[DraftBlock] = field(default_factory=list)
    runs: tuple[Run, ...] = ()
    text: str = ""
    first_line: int = 0
    """The first line of the block in the source, counted from 0."""
    end_line: int = 0
    """The line after the last line of the block."""
    key: str = ""
    """The key in the platform's JSON. Empty for Markdown."""
    is_plain_text: bool = False
    """True if the text contains no Markdown syntax and is displayed unchanged."""
    text_line: int = 0
    """The line on which `text` begins, if it is not the first line of the block. Else 0."""


class BlockTree:
    """The blocks of a page while it is parsed. Open blocks have keys, such as `tag:hint` or `markdown:list`."""

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        self.root = DraftBlock("document")
        self.diagnostics = diagnostics
        self._open: list[tuple[str, DraftBlock]] = [("", self.root)]
        self._ignored_keys: list[str] = []
        self._markdown: list[DraftBlock | None] = []

    @property
    def innermost(self) -> DraftBlock:
        """The innermost open block."""
        return self._open[-1][1]

    def report(self, line: int, message: str, tag: str = "") -> None:
        """Add a diagnostic for a source line. `tag` is the beginning of an unpaired tag, such as `{% hint`."""
        self.diagnostics.append(Diagnostic(max(line, 0), message, tag))

    def add(self, draft: DraftBlock) -> DraftBlock:
        """Append a finished block to the innermost open block, and return it."""
        self.innermost.children.append(draft)
        return draft

    def open(self, key: str, draft: DraftBlock) -> DraftBlock:
        """Append a block that stays open, and return it. The following blocks become its children until `close` is
        called with `key`. A container that is nested too deeply does not stay open, and is reported."""
        self.add(draft)
        if key.startswith("markdown:"):
            self._markdown.append(draft)
            self._open.append((key, draft))
        elif len(self._open) < MAX_CONTAINER_DEPTH:
            self._open.append((key, draft))
        else:
            self._ignored_keys.append(key)
            self.report(draft.first_line, f"{_describe(key)} is nested too deeply: its content is shown after it.")
        return draft

    def close(self, key: str, line: int) -> bool:
        """Close the innermost block that was opened with `key`. Report and close the open blocks in it. Return
        whether such a block was open. Also True if `open` ignored the block because it was nested too deeply."""
        if self._ignored_keys and self._ignored_keys[-1] == key:
            self._ignored_keys.pop()
            return True
        for index in range(len(self._open) - 1, 0, -1):
            if self._open[index][0] == key:
                for inner_key, draft in self._open[index + 1 :]:
                    if inner_key.startswith("markdown:"):
                        self.report(line - 1, f"{_describe(inner_key)} continues past the end of {_describe(key)}.")
                    else:
                        message = f"{_describe(inner_key)} is not closed before {_describe(key)} ends."
                        self.report(draft.first_line, message, _tag_start(inner_key))
                self._close_from(index, line)
                return True
        return False

    def close_markdown(self, line: int) -> None:
        """Close the innermost Markdown container unless it is closed already. Report and close open blocks in it."""
        container = self._markdown.pop()
        if container is None:
            return
        index = next(index for index, (_, draft) in enumerate(self._open) if draft is container)
        for inner_key, draft in self._open[index + 1 :]:
            self.report(draft.first_line, f"{_describe(inner_key)} is not closed.", _tag_start(inner_key))
        self._ignored_keys.clear()
        self._close_from(index, line)

    def take_finished(self) -> list[DraftBlock]:
        """Return the finished blocks of the top level, and remove them from the tree."""
        children = self.root.children
        count = len(children) - (len(self._open) > 1)
        finished_blocks, self.root.children = children[:count], children[count:]
        return finished_blocks

    def finish(self, line: int) -> DraftBlock:
        """Close all open blocks, report unclosed tags, and return the root. `line` is the line after the page's end."""
        for key, draft in self._open[1:]:
            self.report(draft.first_line, f"{_describe(key)} is not closed.", _tag_start(key))
        self._close_from(1, line)
        self.root.end_line = line
        return self.root

    def find_open_sibling(self, key: str, *parents: str) -> DraftBlock | None:
        """Return the innermost open block with `key`. None if there is none, or if a Markdown container or a block with
        a key of `parents` is open inside it."""
        for open_key, draft in reversed(self._open):
            if open_key == key:
                return draft
            if open_key in parents or open_key.startswith("markdown:"):
                return None
        return None

    def _close_from(self, index: int, line: int) -> None:
        for key, draft in self._open[index:]:
            draft.end_line = line
            if key.startswith("markdown:"):
                self._markdown = [None if each is draft else each for each in self._markdown]
        del self._open[index:]


def _describe(key: str) -> str:
    source, _, name = key.partition(":")
    if source == "tag":
        return f"{{% {name} %}}"
    return f"<{name}>" if source == "html" else f"The {name}"


def _tag_start(key: str) -> str:
    source, _, name = key.partition(":")
    return f"{{% {name}" if source == "tag" else f"<{name}" if source == "html" else ""


MAX_PAGE_LENGTH = 5_000_000
"""Maximum number of characters of a page. A larger page is shown as Markdown source."""

MAX_PAGE_LINES = 200_000

MAX_BLOCK_TOKENS = 60_000
"""Maximum number of tokens in a top-level block. A larger block, and the rest of the page, are shown as source."""

MAX_LINE_VISITS = 60_000
"""Maximum number of lines that the parser reads in a page, higher for long pages. A line in nested quotes counts once
per level. The rest of the page is shown as Markdown source."""

MAX_ROW_LENGTH = 20_000
"""Maximum number of characters of a table row in Markdown. A longer row is shown as Markdown source."""

MAX_MARKS = 10_000
"""Maximum number of formatting marks in a paragraph, and of `<` in a piece of HTML."""

SLICE_LENGTH = 3000
"""Number of characters that are parsed at a time. Doubled for a block that is longer."""

FENCE_ESCAPE = "\U0010f7e5"
"""Private character that replaces zero-width spaces before a fence inside code, so that the code does not end there.
The parser removes this character from the text."""

_MARK = re.compile(r"[*_\[\]<`&$:{~\\!\n]")


class BlockTooLarge(Exception):
    """Raised if a block has too many tokens, or if too many lines of the page had to be read."""


def max_page_tokens(length: int) -> int:
    """Return the maximum number of tokens of a page with `length` characters. The rest is shown as Markdown source."""
    return max(70_000, length // 20)


def max_table_rows(columns: int) -> int:
    """Return the maximum number of rows of a Markdown table with `columns` columns. More rows are shown as source."""
    return max(1, (MAX_BLOCK_TOKENS - 1000) // (2 + 3 * columns))


def count_tokens(tokens: Iterable[Token]) -> int:
    """Return the number of tokens of a block, for the limits of a page. Tags and HTML count as several tokens."""
    return sum(
        6 if token.type == "platform_tag" else 1 + 3 * token.content.count("<") if token.type == "platform_html" else 1
        for token in tokens
    )


def has_too_many_marks(text: str) -> bool:
    """Return whether a paragraph has so many formatting marks that it is shown as Markdown source."""
    return len(text) > MAX_MARKS and next(islice(_MARK.finditer(text), MAX_MARKS, None), None) is not None


_LINE_END = re.compile("\r\n|[\n\r\x85\u2028\u2029]")


def line_starts(text: str) -> list[int]:
    """Return the index at which each line of a sanitized text starts, with lines counted as in `Block.lines`."""
    return [0, *(line_end.end() for line_end in _LINE_END.finditer(text))]


_SLICE_LENGTH = 10_000


def sanitize(text: str) -> str:
    """Return `safe_text(text)`. A long text is read in slices to save memory."""
    if len(text) < _SLICE_LENGTH or text.isascii():
        return safe_text(text)
    parts, copied_to, start = [], 0, 0
    while start < len(text):
        end = text.find("\n", start + _SLICE_LENGTH, start + 2 * _SLICE_LENGTH) + 1 or start + 2 * _SLICE_LENGTH
        part = text[start:end]
        if (safe_slice := safe_text(part)) is not part:
            parts += [text[copied_to:start], safe_slice]
            copied_to = end
        start = end
    return "".join([*parts, text[copied_to:]]) if parts else text
