"""Random pages as trees of blocks: each kind of block with each of its attributes, as in the table of the block model.

The tables below repeat the block model. `test_block_model.py` checks that they are complete.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from random import Random

from hypothesis import strategies as st

from octavo.documents.blocks import Block, Document, Heading, Run, TableColumn, plain_text

LONG = "a sentence that is long enough to be broken over several lines of a narrow column, and more of it. "
TEXTS = (
    *("", " ", "x", "two words", LONG, "unbreakable" * 20),
    *(
        "漢字かな交じり文は空白なしで続く" * 3,
        "שלום עולם",
        "👩‍💻 🇩🇪 e\u0301 ☑️",
        "src/octavo/documents/blocks.py:12",
        "•• [x] **",
    ),
)
ADDRESSES = (
    *("", "page.md", "../a/b.md#part", "#part", "https://example.com/" + "path/" * 30, "mailto:a@b.example"),
    *("/broken/pages/p1", "broken-reference", "javascript:alert(1)", "/files/f1", "http://[bad", "%zz%1b"),
)
FORMULAS = ("", "x", r"\frac{a}{b} \\ \sum_{i=0}^n i", r"\begin{matrix} a & b \\ c", "{" * 30, r"\left(" * 9, "\\")
CODE = (
    "",
    "\n",
    "one line",
    "\n".join(f"line {at}" for at in range(11)),
    "\n".join(f"\tline {at}" for at in range(14)),
)

flags = st.booleans()
texts = st.sampled_from(TEXTS)
addresses = st.sampled_from(ADDRESSES)
icons = st.sampled_from(("", "bolt", "fa-github", "no-such-icon"))
aligns = st.sampled_from((None, "left", "center", "right"))
lengths = st.sampled_from(("", "10", "100%", "375", "99999px", "a lot"))
arguments = st.dictionaries(
    st.sampled_from(("url", "content", "name", "x" * 60)), texts | st.just("two\n\tlines"), max_size=3
)
indexes = st.integers(0, 45)

Attributes = dict[str, st.SearchStrategy[object]]

RUNS: dict[str, Attributes] = {
    "text": {"color": st.sampled_from(("red", "$primary", "#ff0000", "no colour")), "background": texts},
    "code": {},
    "math": {},
    "image": {"src": addresses, "dark": addresses, "width": lengths, "height": lengths, "size": texts, "title": texts},
    "icon": {"name": icons},
    "emoji": {"code": texts},
    "mention": {},
    "button": {
        "style": st.sampled_from(("primary", "secondary")),
        "icon": icons,
        "action": st.sampled_from(("ask", "search", "select")),
        "query": texts,
        "disabled": flags,
    },
    "footnote": {"label": st.sampled_from(("1", "12", "a note")), "inline": flags},
    "break": {},
    "expression": {},
}
"""The kinds of runs and their attributes."""
MARKS = ("bold", "italic", "strike", "code", "kbd", "sub", "sup", "underline", "mark")

KINDS: dict[str, Attributes] = {
    "heading": {"level": st.integers(1, 6), "id": texts, "align": aligns},
    "paragraph": {"align": aligns, "dir": st.sampled_from(("rtl", "ltr"))},
    "list": {"ordered": flags, "start": st.sampled_from((0, 1, 7, 999, 10**9)), "tight": flags},
    "item": {},
    "task": {"checked": flags},
    "quote": {},
    "code": {
        "language": st.sampled_from(("", "python", "no-such-language", "mermaid", "json")),
        "title": texts,
        "wrap": flags,
        "numbers": flags,
        "expandable": flags,
        "full_width": flags,
        "highlighted": st.lists(indexes, max_size=3).map(tuple),
        "notes": st.lists(st.tuples(indexes, st.sampled_from(("1", "12", "a note"))), max_size=3).map(tuple),
        "source": st.just(True),
    },
    "math": {},
    "divider": {},
    "table": {"header_hidden": flags, "header_sticky": flags, "full_width": flags, "search": flags},
    "row": {"head": flags},
    "cell": {
        "value": st.sampled_from((True, False, 0, 3, 99, -1)),
        "colspan": st.sampled_from((1, 2, 100)),
        "rowspan": st.sampled_from((1, 2, 100)),
    },
    "cards": {"size": st.sampled_from(("medium", "large")), "titles_hidden": flags, "full_width": flags},
    "card": {"target": addresses, "cover": addresses, "cover_dark": addresses},
    "hint": {"style": st.sampled_from(("info", "success", "warning", "danger", "new one")), "icon": icons},
    "tabs": {},
    "tab": {"title": texts, "icon": icons, "slug": texts},
    "stepper": {},
    "step": {"icon": icons},
    "columns": {"full_width": flags},
    "column": {
        "width": st.sampled_from((0.0, 0.5, 5.0, 16.67, 25.0, 33.333333, 50.0, 83.33, 100.0, 1000.0)),
        "valign": st.sampled_from(("top", "middle", "bottom")),
    },
    "expandable": {"open": flags},
    "updates": {"format": st.sampled_from(("full", "short", "numeric"))},
    "update": {
        "date": st.sampled_from(("", "2026-01-02", "2026-13-99", "soon", "2026-01-02T10:00:00Z")),
        "tags": st.lists(texts, max_size=3).map(tuple),
    },
    "prompt": {
        "description": texts,
        "icon": icons,
        "expanded": st.sampled_from(("hidden", "partial", "full")),
        "providers": flags,
    },
    "figure": {"align": aligns, "frame": flags, "full_width": flags},
    "image": {
        "src": addresses,
        "alt": texts,
        "title": texts,
        "dark": addresses,
        "width": lengths,
        "height": lengths,
        "size": st.sampled_from(("line", "original")),
        "link": addresses,
        "drawing": flags,
    },
    "file": {"src": addresses},
    "embed": {"url": addresses, "full_width": flags, "html": st.sampled_from(("iframe", "video", "audio"))},
    "content-ref": {"url": addresses},
    "openapi": {
        "variant": st.sampled_from(("operation", "schemas", "webhook", "file")),
        "spec": texts,
        "src": addresses,
        "path": st.sampled_from(("", "/pets/{id}", "/very/long" * 30)),
        "method": st.sampled_from(("", "get", "POST", "no such")),
        "name": texts,
        "schemas": st.lists(texts, max_size=3).map(tuple),
        "grouped": flags,
        "expanded": flags,
        "full_width": flags,
    },
    "api-method": {
        "method": st.sampled_from(("", "get", "no such")),
        "path": texts,
        "host": addresses,
        "summary": texts,
    },
    "api-section": {"name": st.sampled_from(("description", "headers", "path-parameters", "")) | texts},
    "api-parameter": {"name": texts, "type": texts, "in": st.sampled_from(("path", "query", "")), "required": flags},
    "api-response": {"status": st.sampled_from(("200", "200: OK", "", LONG)), "description": texts},
    "include": {"target": addresses},
    "if": {"expression": texts},
    "else": {"expression": texts},
    "integration": {"name": st.sampled_from(("@mermaid/diagram", "@a/b", "")), "arguments": arguments},
    "conflict": {},
    "side": {"name": texts},
    "footnotes": {},
    "footnote": {"label": st.sampled_from(("1", "12", "a note"))},
    "unknown": {"name": texts, "arguments": arguments},
}
"""The kinds of blocks except the page, and their attributes. Tables and cards have columns, too."""
HAVE_RUNS = {"heading", "paragraph", "cell", "expandable", "image", "file", "embed", "content-ref", "openapi"}
HAVE_TEXT = {"code": CODE, "math": FORMULAS, "integration": TEXTS}
ANY = "any block"
CHILDREN: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("item", "task", "quote", "hint", "tab", "step", "column", "expandable", "update"), (ANY,)),
    **dict.fromkeys(("api-section", "api-parameter", "api-response", "openapi", "else", "integration"), (ANY,)),
    **dict.fromkeys(("side", "footnote", "unknown", "include"), (ANY,)),
    "api-method": ("api-section", "api-parameter", "api-response", ANY),
    "if": (ANY, "else"),
    "list": ("item", "task"),
    "table": ("row",),
    "row": ("cell",),
    "cards": ("card",),
    "card": ("cell",),
    "tabs": ("tab",),
    "stepper": ("step",),
    "columns": ("column",),
    "updates": ("update",),
    "prompt": ("code",),
    "figure": ("image",),
    "conflict": ("side",),
    "footnotes": ("footnote",),
}
INNER = {kind for kinds in CHILDREN.values() for kind in kinds} - {ANY, "code", "image"}
"""Kinds of blocks that occur only in others."""
ANYWHERE = tuple(sorted(set(KINDS) - INNER))
_DEEPEST = 4


@st.composite
def _attributes(draw: st.DrawFn, named: Attributes) -> dict[str, object]:
    return {name: draw(value) for name, value in named.items() if draw(flags)}


@st.composite
def _run(draw: st.DrawFn) -> Run:
    kind = draw(st.sampled_from(tuple(RUNS)))
    text = "\n" if kind == "break" else draw(st.sampled_from(FORMULAS) if kind == "math" else texts)
    link = draw(st.none() | addresses) if kind not in ("math", "footnote", "break", "expression") else None
    return Run(text, draw(st.frozensets(st.sampled_from(MARKS), max_size=2)), link, kind, draw(_attributes(RUNS[kind])))


_runs = st.lists(_run(), max_size=4).map(tuple)


@st.composite
def _column(draw: st.DrawFn) -> TableColumn:
    types = ("text", "number", "checkbox", "select", "users", "files", "rating", "content-ref", "image", "new one")
    return TableColumn(
        draw(st.lists(_run(), max_size=1).map(tuple)),
        draw(st.sampled_from(types)),
        draw(aligns),
        draw(st.sampled_from((None, 0, 120, 9999))),
        draw(st.sampled_from((False, False, True))),
        draw(st.sampled_from((None, "target", "cover", "cover-dark"))),
        draw(st.sampled_from((5, 0, 99))),
        {"two": "Two words"},
    )


@st.composite
def _block(draw: st.DrawFn, kind: str, depth: int = 0) -> Block:
    attrs = draw(_attributes(KINDS[kind]))
    if kind in ("table", "cards"):
        attrs["columns"] = tuple(draw(st.lists(_column(), max_size=4)))
    children: list[Block] = []
    inner = CHILDREN.get(kind, ())
    if kind == "integration" and draw(flags):
        inner = ()
    if inner and (depth < _DEEPEST or ANY not in inner):
        for _ in range(draw(st.sampled_from((0, 1, 1, 2, 3)))):
            which = draw(st.sampled_from(inner))
            children.append(draw(_block(draw(st.sampled_from(ANYWHERE)) if which == ANY else which, depth + 1)))
        if kind == "if":
            children.sort(key=lambda each: each.kind == "else")
    block = Block(kind, attrs, tuple(children))
    if kind in HAVE_RUNS:
        block = block._replace(runs=draw(_runs))
    elif kind in HAVE_TEXT and not children:
        block = block._replace(text=draw(st.sampled_from(HAVE_TEXT[kind])))
    return block


def _enlarged(block: Block) -> Block:
    """Return the block with far more text or children than are laid out at a time."""
    if block.text:
        return block._replace(text=(block.text + "\n") * (20_000 // len(block.text)))
    if block.children:
        return block._replace(children=block.children * 60)
    return block._replace(runs=block.runs * 150)


def _with_one_huge(block: Block, which: int) -> Block:
    """Return a copy of a block in which one block, counted in source order, is huge."""
    if which == 0:
        return _enlarged(block)
    children = list(block.children)
    which -= 1
    for at, child in enumerate(children):
        size = sum(1 for _ in child.walk())
        if which < size:
            children[at] = _with_one_huge(child, which)
            break
        which -= size
    return block._replace(children=tuple(children))


def blocks(kinds: Sequence[str] = ANYWHERE) -> st.SearchStrategy[Block]:
    """Generate a block of these kinds with its children."""
    return st.sampled_from(tuple(kinds)).flatmap(_block)


@st.composite
def pages(draw: st.DrawFn, most: int = 3) -> Document:
    """Generate a page of at most `most` top-level blocks. Every third page has one huge block."""
    made = draw(st.lists(blocks(), max_size=most))
    if made and draw(st.sampled_from((False, False, True))):
        first = made[0]
        made[0] = _with_one_huge(first, draw(st.integers(0, sum(1 for _ in first.walk()) - 1)))
    return page_of(made)


def page_of(blocks: Sequence[Block]) -> Document:
    """Return the blocks as a page, with unique keys and lines."""
    numbers, heads = count(), []

    def with_position(block: Block) -> Block:
        number = next(numbers)
        children = tuple(map(with_position, block.children))
        last = children[-1].lines[1] if children else number + 1
        found = block._replace(children=children, key=f"b{number}", lines=(number, last))
        if block.kind == "heading":
            heads.append(Heading(int(block.attrs.get("level", 2)), plain_text(block.runs), found.key, found))
        return found

    made = tuple(map(with_position, blocks))
    source = "\n".join(f"{block.kind} {block.key}" for block in _walk(made))
    return Document("A page", made, source, headings=tuple(heads))


def edited(document: Document, random: Random) -> Document:
    """Return the page with random parts deleted, moved, added and changed."""
    return page_of(_edited(document.blocks, random))


def _edited(blocks: Sequence[Block], random: Random) -> list[Block]:
    out: list[Block] = []
    for block in blocks:
        match random.randrange(12):
            case 0:
                continue
            case 1:
                out.append(block)
            case 2 if block.attrs:
                gone = random.choice(sorted(block.attrs))
                block = block._replace(attrs={name: block.attrs[name] for name in block.attrs if name != gone})
            case 3 if block.runs:
                block = block._replace(runs=(*block.runs[1:], Run("other words")))
            case 4 if block.text:
                block = block._replace(text=block.text[1:] + "\nmore")
            case 5 if block.children:
                block = block._replace(children=block.children[::-1])
            case 6 if block.children and block.kind in ANYWHERE:
                out += [child for child in block.children if child.kind in ANYWHERE]
                continue
            case 7 if block.kind in ANYWHERE:
                block = Block("quote", children=(block,))
        out.append(block._replace(children=tuple(_edited(block.children, random))))
    return out


def _walk(blocks: Sequence[Block]) -> Iterator[Block]:
    for block in blocks:
        yield from block.walk()
