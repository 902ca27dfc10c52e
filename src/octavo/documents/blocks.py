"""What a page is made of: a tree of blocks, with runs of text in its leaves.

`attrs` holds only what the source says, under the names below: read an attribute with `attrs.get`. Its texts are lines, but
for those of `arguments`. A block has runs or children or text as its row says, and never others. Texts of `runs` are as
they are shown, `text` is exact.

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
| table         | columns (Column...), header_hidden, header_sticky,      | children: row                              |
|               | full_width, search                                      |                                            |
| row           | head (a further head row)                               | children: cell, one per column at most     |
| cell          | value (bool of a checkbox, int of a rating), colspan,   | runs: blocks in it are divided by breaks,  |
|               | rowspan                                                 | items begin with a bullet                  |
| cards         | columns, size (medium, large), titles_hidden,           | children: card                             |
|               | full_width                                              |                                            |
| card          | target, cover, cover_dark (addresses)                   | children: cell, one per column at most,    |
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
| content-ref   | url                                                     | runs: the words of the source, a fallback  |
| openapi       | variant (operation schemas webhook file), spec, src,    | runs: the words of the source, a fallback; |
|               | path, method, name, schemas (names...), grouped,        | children: blocks within, seldom any        |
|               | expanded, full_width                                    |                                            |
| api-method    | method, path, host, summary                             | children: api-section, api-parameter,      |
|               |                                                         | api-response, any block                    |
| api-section   | name (description, headers, path-parameters, ...)       | children: any block                        |
| api-parameter | name, type, in, required                                | children: any block                        |
| api-response  | status, description                                     | children: any block                        |
| include       | target                                                  | children: what it includes, where a server |
|               |                                                         | put that in its place                      |
| if            | expression                                              | children: any block, else last             |
| else          | expression (of an else-if)                              | children: any block                        |
| integration   | name, arguments (names to texts)                        | text: its `content`; children: any block   |
| conflict      |                                                         | children: side                             |
| side          | name (what the marker names: main, #12)                 | children: any block                        |
| footnotes     |                                                         | children: footnote                         |
| footnote      | label                                                   | children: any block                        |
| unknown       | name, arguments (names to texts)                        | children: any block                        |

| run        | text              | attrs                                                  | link                       |
|------------|-------------------|--------------------------------------------------------|----------------------------|
| text       | words             | color, background (names, `$names` or CSS colours)     | address, if it is a link   |
| code       | words             |                                                        | address, if it is a link   |
| math       | LaTeX             |                                                        |                            |
| image      | alternative text  | src, dark, width, height, size, title                  | where a click on it leads  |
| icon       |                   | name (`github`, without a prefix)                      | address, if it is a link   |
| emoji      | the character     | code (as written: `rocket`, `1f4a1`)                   | address, if it is a link   |
| mention    | words of the link |                                                        | address                    |
| button     | its label         | style (primary, secondary), icon, action, query,       | address, if it has one     |
|            |                   | disabled                                               |                            |
| footnote   | its mark or words | label; inline (True: the words are the annotated ones) |                            |
| break      | a line feed       |                                                        |                            |
| expression | the expression    |                                                        |                            |
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

NO_ATTRS: Mapping[str, Any] = MappingProxyType({})
"""The attributes of a block or run that has none."""
NO_MARKS: frozenset[str] = frozenset()

Role = Literal["any length", "frame", "opened", "series", "part", "grid"]
"""What a block that others stand in is where pages are compared:
- any length: one of its kind may have changed into another however much longer;
- frame: a reader looks into it, and what is in it may have been elsewhere;
- opened: one that did not change, but holds a thread, is shown only around that;
- series: it is seen by what is in it, and has no name of its own;
- part: one of a series or grid, which is known again however short it is;
- grid: rows of cells."""
ROLES: Mapping[str, tuple[Role, ...]] = {
    **dict.fromkeys(("list", "tabs", "stepper", "columns", "updates"), ("any length", "frame", "opened", "series")),
    **dict.fromkeys(("quote", "hint", "expandable", "column"), ("any length", "frame", "opened")),
    **dict.fromkeys(("tab", "step"), ("any length", "frame", "opened", "part")),
    "update": ("frame", "opened", "part"),
    **dict.fromkeys(("item", "task"), ("frame", "part")),
    "if": ("any length", "frame"),
    **dict.fromkeys(("else", "unknown"), ("frame",)),
    **dict.fromkeys(("table", "cards"), ("any length", "grid")),
    **dict.fromkeys(("row", "card"), ("part",)),
    **dict.fromkeys(("conflict", "footnotes"), ("any length",)),
    **dict.fromkeys(("side", "footnote", "figure", "prompt", "include", "openapi", "integration"), ()),
    **dict.fromkeys(("api-method", "api-section", "api-parameter", "api-response"), ()),
}
"""Those of each kind of block that has children."""


class Run(NamedTuple):
    """A stretch of text that looks the same throughout."""

    text: str
    marks: frozenset[str] = NO_MARKS
    """bold, italic, strike, code, kbd, sub, sup, underline, mark."""
    link: str | None = None
    """The address as it is written: percent-encoded parts stay encoded."""
    kind: str = "text"
    attrs: Mapping[str, Any] = NO_ATTRS


class Column(NamedTuple):
    """A column of a table or of cards. `width` is in pixels; `options` gives the labels of a select by id."""

    title: tuple[Run, ...] = ()
    type: str = "text"
    align: str | None = None
    width: int | None = None
    hidden: bool = False
    role: str | None = None
    """What a hidden column of cards is for: target, cover, cover-dark."""
    max: int = 5
    options: Mapping[str, str] = NO_ATTRS


class Block(NamedTuple):
    """A part of a page, as the table above says."""

    kind: str
    attrs: Mapping[str, Any] = NO_ATTRS
    children: tuple[Block, ...] = ()
    runs: tuple[Run, ...] = ()
    text: str = ""
    lines: tuple[int, int] = (0, 0)
    """Where it stands in the source: first line and the line after its last, counted from 0. Without source (0, 1)."""
    key: str = ""
    """Names the block within its page: as the platform does in its JSON, or else by content. Then it stays while blocks
    around it come and go: a leaf is known by its words, a container by its title and what it opens with; the n-th with
    the same ones has `-n` appended."""
    text_line: int = 0
    """The line of the source that `text` begins on, counted from 0: fences and tags may stand before it."""

    def plain(self) -> str:
        """The words of the block and those in it, a line for each leaf."""
        return "\n".join([own for block in self.walk() if (own := block.text or plain_text(block.runs))])

    def walk(self) -> Iterator[Block]:
        """The block and all in it, in the order of the source."""
        left = [self]  # each block is met once: a generator in each would hand what is deep up through all of them
        while left:
            block = left.pop()
            yield block
            left += block.children[::-1]

    def has(self, key: str) -> bool:
        """Whether it is the block called `key`, or has that in it."""
        return self.key == key or any(block.key == key for block in self.walk())


class Diagnostic(NamedTuple):
    """What the source has wrong, and the line it stands on, counted from 0."""

    line: int
    message: str


class Heading(NamedTuple):
    """An entry of the outline."""

    level: int
    title: str
    anchor: str
    block: Block


class Document(NamedTuple):
    """A page, read. `title` is that of the front matter or else of the first heading of level 1."""

    title: str
    blocks: tuple[Block, ...]
    source: str
    diagnostics: tuple[Diagnostic, ...] = ()
    headings: tuple[Heading, ...] = ()
    front_matter: str = ""
    """The YAML between the dashes at the top, as it is written."""
    metadata: Mapping[str, Any] = NO_ATTRS
    """What the front matter says: texts, booleans, lists of texts, and mappings of these."""

    def walk(self) -> Iterator[Block]:
        """All blocks, in the order of the source."""
        for block in self.blocks:
            yield from block.walk()

    def find(self, key: str) -> Block | None:
        """The block called `key`."""
        return next((block for block in self.walk() if block.key == key), None)


def kinds_with(role: Role) -> frozenset[str]:
    """The kinds of blocks that have a role."""
    return frozenset(kind for kind, roles in ROLES.items() if role in roles)


def plain_text(runs: tuple[Run, ...]) -> str:
    """The text of runs, one after the other."""
    return "".join([run.text for run in runs])
