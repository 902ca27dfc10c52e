"""Random trees of blocks, and pairs of trees that differ in a few places."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from octavo.documents.anchors import anchor_of_title
from octavo.documents.blocks import Block, Document, Run, TableColumn, plain_text

_WORDS = [
    "The tide turns at six.",
    "Boats leave when they are full",
    "tide",
    "quay",
    "a b",
    "a  b",
    " ",
    ".",
    "潮 turns",
]
_MARKS = st.sampled_from([(), ("bold",), ("italic",), ("bold", "code")]).map(frozenset)
_LINKS = st.sampled_from([None, None, None, "a.md", "b.md", "https://a.b/c"])
_FLAG = st.sampled_from([None, False, True])


def _attrs(**values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=values)


def _run(text: str, *given: Any, **attrs: Any) -> Run:
    return Run(text, *given, **attrs)


def _column(*given: Any) -> TableColumn:
    return TableColumn(*given)


def _block(kind: str, attrs: dict[str, Any], **parts: Any) -> Block:
    return Block(kind, attrs, **parts)


_RUN = st.one_of(
    st.builds(_run, st.sampled_from(_WORDS), _MARKS, _LINKS),
    st.builds(_run, st.sampled_from(["", "a buoy"]), link=_LINKS, kind=st.just("image"), attrs=_attrs(
        src=st.sampled_from(["a/x.png", "b/x.png", "y.png"]), width=st.sampled_from(["10", "20"]))),
    st.builds(_run, st.just("Go"), link=_LINKS, kind=st.just("button"), attrs=_attrs(
        style=st.sampled_from(["primary", "secondary"]), query=st.sampled_from(["q", "r"]))),
    st.builds(_run, st.just("⚓"), kind=st.just("emoji"), attrs=_attrs(code=st.sampled_from(["anchor", "2693"]))),
    st.builds(_run, st.just(""), kind=st.just("icon"), attrs=_attrs(name=st.sampled_from(["github", "bolt"]))),
    st.builds(_run, st.sampled_from(["1", "2"]), kind=st.just("footnote"), attrs=_attrs(label=st.sampled_from(["1", "2"]))),
)  # fmt: skip
_SOME_ATTRS = _attrs(
    src=st.sampled_from(["a/x.png", "b/x.png"]), color=st.just("red"), label=st.sampled_from(["1", "2"])
)
RUNS = st.lists(_RUN, min_size=1, max_size=3).map(tuple)
_ADDRESS = st.sampled_from(["a.md", "b/a.md", "https://a.b/c"])
_TEXT = st.sampled_from(
    ["make", "make all", "make  ", "make\nmake install", "make\n\nmake install", "make\n \nmake install"]
)


_ATTRS: dict[str, st.SearchStrategy[dict[str, Any]]] = {}
"""The attributes of each kind of block."""


def _leaf(
    kind: str, attrs: st.SearchStrategy[dict[str, Any]], **more: st.SearchStrategy[Any]
) -> st.SearchStrategy[Block]:
    _ATTRS[kind] = attrs
    return st.builds(_block, st.just(kind), attrs, **more)


def _heading(level: int, runs: tuple[Run, ...], own: str | None) -> Block:
    return Block("heading", {"level": level, "id": own or anchor_of_title(plain_text(runs)) or "section"}, runs=runs)


def _tab(title: str, own: str | None, children: tuple[Block, ...]) -> Block:
    return Block("tab", {"title": title, "slug": own or anchor_of_title(title)}, children)


_LEAF = st.one_of(
    _leaf("paragraph", _attrs(align=st.sampled_from(["left", "center"])), runs=RUNS),
    _leaf("paragraph", st.just({}), runs=RUNS),
    st.builds(_heading, st.integers(2, 3), RUNS, st.sampled_from([None, None, "own"])),
    _leaf("code", _attrs(language=st.sampled_from(["sh", "js"]), title=st.sampled_from(["a", "b"]), numbers=_FLAG), text=_TEXT),
    _leaf("math", st.just({}), text=_TEXT),
    _leaf("divider", st.just({})),
    _leaf("content-ref", st.fixed_dictionaries({"url": _ADDRESS}), runs=RUNS),
    _leaf("openapi", _attrs(spec=st.just("a"), path=st.sampled_from(["/a", "/b"]), schemas=st.just(("A", "B"))), runs=RUNS),
    _leaf("embed", _attrs(url=_ADDRESS, full_width=_FLAG), runs=RUNS),
    _leaf("file", _attrs(src=_ADDRESS)),
    _leaf("integration", _attrs(name=st.just("a/b"), arguments=st.sampled_from([{}, {"x": "1"}])), text=_TEXT),
)  # fmt: skip
_IMAGE = _leaf("image", _attrs(
    src=st.sampled_from(["a/x.png", "b/x.png", "y.png"]), alt=st.sampled_from(["a buoy", "a quay"]),
    width=st.sampled_from(["10", "20"]), dark=st.just("d.png")), runs=RUNS | st.just(()))  # fmt: skip
_CELL = st.one_of(  # A value hides the text of a cell. In pages, this text is the value.
    _leaf("cell", _attrs(colspan=st.just(2)), runs=RUNS | st.just(())),
    _leaf("cell", _attrs(value=st.sampled_from([False, True, 0, 3]), colspan=st.just(2))),
)
_COLUMN = st.builds(
    _column, RUNS, st.sampled_from(["text", "checkbox", "rating"]), st.sampled_from([None, "right"]), st.sampled_from([None, 80])
)  # fmt: skip


def _some(of: st.SearchStrategy[Block], most: int = 3) -> st.SearchStrategy[tuple[Block, ...]]:
    return st.lists(of, min_size=1, max_size=most).map(tuple)


def _table(kind: str, row: str) -> st.SearchStrategy[Block]:
    rows = _leaf(row, _attrs(target=_ADDRESS) if row == "card" else _attrs(head=_FLAG), children=_some(_CELL, 2))
    columns = st.lists(_COLUMN, min_size=2, max_size=2).map(tuple)
    return _leaf(kind, st.fixed_dictionaries({"columns": columns}, optional={"search": _FLAG}), children=_some(rows))


def _containers(of: st.SearchStrategy[Block]) -> st.SearchStrategy[Block]:
    several = _some(of)

    def series(kind: str, part: st.SearchStrategy[Block], **attrs: st.SearchStrategy[Any]) -> st.SearchStrategy[Block]:
        return _leaf(kind, _attrs(**attrs), children=_some(part))

    item = _leaf("item", st.just({}), children=several) | _leaf("task", _attrs(checked=_FLAG), children=several)
    return st.one_of(
        series("list", item, ordered=_FLAG, start=st.sampled_from([1, 4]), tight=_FLAG),
        _leaf("quote", st.just({}), children=several),
        _leaf("hint", _attrs(style=st.sampled_from(["info", "danger"]), icon=st.just("bolt")), children=several),
        _leaf("expandable", _attrs(open=_FLAG), runs=RUNS, children=several),
        _leaf("if", _attrs(expression=st.sampled_from(["a", "b"])), children=several),
        series("tabs", st.builds(_tab, st.sampled_from(["One", "Two"]), st.sampled_from([None, None, "own"]), several)),
        series("stepper", _leaf("step", _attrs(icon=st.just("bolt")), children=several)),
        series("columns", _leaf("column", _attrs(width=st.sampled_from([40.0, 60.0])), children=several)),
        series("updates", _leaf("update", _attrs(date=st.just("2026-01-02"), tags=st.just(("new",))), children=several)),
        series("figure", _IMAGE, align=st.just("left")),
        _leaf("integration", _attrs(name=st.just("a/b")), text=_TEXT, children=several),
    )  # fmt: skip


BLOCK = st.recursive(_LEAF | _table("table", "row") | _table("cards", "card") | _leaf("figure", st.just({}), children=_some(_IMAGE)),
    _containers, max_leaves=8)  # fmt: skip
_PARTS = {"list", "tabs", "stepper", "columns", "updates", "figure", "table", "cards", "row", "card"}


@st.composite
def _edited(draw: st.DrawFn, block: Block) -> Block:
    """Generate the block with one random change."""
    change = draw(st.sampled_from(["attrs", "words", "inside", "inside", "around"]))
    if change == "around" and block.kind not in (
        "item",
        "task",
        "tab",
        "step",
        "column",
        "update",
        "row",
        "card",
        "cell",
        "image",
    ):
        if block.children and block.kind in ("hint", "quote"):
            return block.children[0]
        return Block("hint", {"style": "info"}, (block,))
    if block.children and change != "attrs":
        at = draw(st.integers(0, len(block.children) - 1))
        children = list(block.children)
        if change == "inside" or len(children) == 1 or block.kind in ("row", "card"):
            children[at] = draw(_edited(children[at]))
        elif draw(st.booleans()):
            children.insert(draw(st.integers(0, len(children) - 1)), children.pop(at))
        else:
            del children[at]
        return block._replace(children=tuple(children))
    if block.kind == "heading":
        return block._replace(attrs={**block.attrs, "id": draw(st.sampled_from(["own", "other"]))})
    if block.kind == "tab":
        return block._replace(attrs={**block.attrs, "slug": draw(st.sampled_from(["own", "other"]))})
    if block.runs and change != "attrs":
        return block._replace(runs=draw(RUNS | _edited_runs(block.runs)))
    if block.text and change != "attrs":
        return block._replace(text=draw(_TEXT))
    return draw(_CELL) if block.kind == "cell" else block._replace(attrs=draw(_ATTRS[block.kind]))


@st.composite
def _edited_runs(draw: st.DrawFn, runs: tuple[Run, ...]) -> tuple[Run, ...]:
    """Generate the runs with other text, marks, link or attributes in one run."""
    at = draw(st.integers(0, len(runs) - 1))
    other, run = draw(_RUN), runs[at]
    part = draw(st.sampled_from(["text", "marks", "link", "attrs"]))
    new = run._replace(attrs=draw(_SOME_ATTRS)) if part == "attrs" else run._replace(**{part: getattr(other, part)})
    return (*runs[:at], new, *runs[at + 1 :])


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Document, Document]:
    """Generate two pages: usually a page and the same page with a few changes, sometimes two unrelated pages."""
    old = draw(st.lists(BLOCK, min_size=1, max_size=3))
    new = list(old)
    change = draw(st.sampled_from(["one", "one", "two", "moved", "any"]))
    if change == "any":
        return _document(old), _document(draw(st.lists(BLOCK, max_size=3)))
    for _ in range({"one": 1, "two": 2}.get(change, draw(st.integers(0, 1)))):
        at = draw(st.integers(0, len(new) - 1))
        new[at] = draw(_edited(new[at]))
    if change == "moved":
        new.insert(draw(st.integers(0, len(new) - 1)), new.pop(draw(st.integers(0, len(new) - 1))))
    return _document(old), _document(new)


def _document(blocks: list[Block]) -> Document:
    count = 0

    def with_position(block: Block) -> Block:
        nonlocal count
        first, count = count, count + 1
        children = tuple(map(with_position, block.children))
        return block._replace(children=children, lines=(first, count), key=f"k{first}", text_line=first)

    positioned = tuple(map(with_position, blocks))
    return Document("", positioned, "\n" * count)


def canonical(block: Block) -> tuple[Any, ...]:
    """Return a block without its place and derived keys, and with joined runs."""
    given = {
        name: value for name, value in block.attrs.items() if value not in (None, "", False, (), {}) or name == "value"
    }
    given = {name: value for name, value in given.items() if value is not None}
    if block.kind == "heading" and given.get("id") == (anchor_of_title(plain_text(block.runs)) or "section"):
        del given["id"]
    if block.kind == "tab" and given.get("slug") == anchor_of_title(str(given.get("title", ""))):
        del given["slug"]
    if block.attrs.get("tight") is not False:
        given.pop("tight", None)
    else:
        given["tight"] = "loose"
    if "columns" in given:
        given["columns"] = [(_joined(each.title), each[1:]) for each in given["columns"]]
    return (
        block.kind,
        sorted(given.items()),
        _joined(block.runs),
        block.text,
        [canonical(each) for each in block.children],
    )


def _joined(runs: tuple[Run, ...]) -> list[Any]:
    found: list[Any] = []
    for run in runs:
        look = (run.kind, run.marks, run.link, dict(run.attrs))
        if found and found[-1][1] == look and run.kind in ("text", "footnote"):
            found[-1] = (found[-1][0] + run.text, look)
        else:
            found.append((run.text, look))
    return found
