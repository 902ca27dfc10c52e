"""The block tree of a page: blocks, and runs of text in the leaf blocks.

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
| hint          | style (info success warning danger), icon               | children: any block; a first heading titles|
| tabs          |                                                         | children: tab                              |
| tab           | title, icon, slug                                       | children: any block                        |
| stepper       |                                                         | children: step                             |
| step          | icon                                                    | children: any block; a first heading titles|
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
| text       | words             | color, background (names, `$names` or CSS colours)     | URL, if it is a link       |
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

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

NO_ATTRS: Mapping[str, Any] = MappingProxyType({})
"""The attributes of a block or run without attributes."""
NO_MARKS: frozenset[str] = frozenset()

Role = Literal["any length", "container", "opened", "series", "part", "grid"]
"""Properties of the kinds of blocks with children. Only the comparison of pages uses them.

- any length: a block can match a block of the same kind whose length is very different
- container: blocks can move into and out of the block
- opened: if the block is unchanged but has a thread, only the parts near the thread are shown
- series: readers do not see the block itself, only its parts
- part: an element of a series or grid, which can match a moved part even if it is short
- grid: the block consists of rows of cells
"""
ROLES: Mapping[str, tuple[Role, ...]] = {
    **dict.fromkeys(("list", "tabs", "stepper", "columns", "updates"), ("any length", "container", "opened", "series")),
    **dict.fromkeys(("quote", "hint", "expandable", "column"), ("any length", "container", "opened")),
    **dict.fromkeys(("tab", "step"), ("any length", "container", "opened", "part")),
    "update": ("container", "opened", "part"),
    **dict.fromkeys(("item", "task"), ("container", "part")),
    "if": ("any length", "container"),
    **dict.fromkeys(("else", "unknown"), ("container",)),
    **dict.fromkeys(("table", "cards"), ("any length", "grid")),
    **dict.fromkeys(("row", "card"), ("part",)),
    **dict.fromkeys(("conflict", "footnotes"), ("any length",)),
    **dict.fromkeys(("side", "footnote", "figure", "prompt", "include", "openapi", "integration"), ()),
    **dict.fromkeys(("api-method", "api-section", "api-parameter", "api-response"), ()),
}
"""The roles of each kind of block with children."""


class Run(NamedTuple):
    """A piece of text with one format."""

    text: str
    marks: frozenset[str] = NO_MARKS
    """A subset of bold, italic, strike, code, kbd, sub, sup, underline and mark."""
    link: str | None = None
    """The link target as written in the source. Percent encoding is not decoded."""
    kind: str = "text"
    attrs: Mapping[str, Any] = NO_ATTRS


class TableColumn(NamedTuple):
    """A column of a table or of cards. `width` is in pixels. `options` maps the ids of a select column to labels."""

    title: tuple[Run, ...] = ()
    type: str = "text"
    align: str | None = None
    width: int | None = None
    hidden: bool = False
    role: str | None = None
    """The purpose of a hidden column of cards: target, cover or cover-dark."""
    max: int = 5
    options: Mapping[str, str] = NO_ATTRS


class Block(NamedTuple):
    """A block of a page, as the table in the module docstring defines."""

    kind: str
    attrs: Mapping[str, Any] = NO_ATTRS
    children: tuple[Block, ...] = ()
    runs: tuple[Run, ...] = ()
    text: str = ""
    lines: tuple[int, int] = (0, 0)
    """First line and line after the last line in the source, counted from 0. (0, 1) if there is no source."""
    key: str = ""
    """Id of the block on its page. This is the platform's key if the page comes from JSON, else a hash of the content.
    The hash covers the words of a leaf, or the title and first child of a container. So other edits do not change the
    key. Repeated keys get the suffix `-2`, `-3` and so on."""
    text_line: int = 0
    """The source line on which `text` begins, counted from 0. It may be after `lines[0]`, because of a fence or tag."""

    def plain(self) -> str:
        """Return the text of the block and its descendants, one line for each leaf."""
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
        return self.key == key or any(block.key == key for block in self.walk())


class Diagnostic(NamedTuple):
    """A problem in the source of a page, with its line, counted from 0."""

    line: int
    message: str
    tag: str = ""
    """The beginning of the tag that has no partner, such as `{% hint` or `</details`. Empty for other errors."""


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


def kinds_with(role: Role) -> frozenset[str]:
    """Return the kinds of blocks that have a role."""
    return frozenset(kind for kind, roles in ROLES.items() if role in roles)


def plain_text(runs: tuple[Run, ...]) -> str:
    """Return the text of runs, joined."""
    return "".join([run.text for run in runs])
