"""Pages in the platform's JSON form have the same trees as in Markdown."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.documents.blocks import Block
from octavo.documents.json_document import read_document
from octavo.documents.markdown_to_json import to_json_document
from octavo.documents.source_reader import parse
from tests.documents.json_nodes import Node, block, inline, paragraph, text, void
from tests.documents.json_pages import PAIRS


def document(*nodes: Any) -> Node:
    return {"object": "document", "data": {"schemaVersion": 9}, "nodes": list(nodes)}


def without_lines(one: Block) -> Block:
    """Return a block without its source lines."""
    return one._replace(
        lines=(0, 0), text_line=0, attrs=dict(one.attrs), children=tuple(map(without_lines, one.children))
    )


@pytest.mark.parametrize(("markdown", "nodes"), [pair[1:] for pair in PAIRS], ids=[pair[0] for pair in PAIRS])
def test_json_and_markdown_have_the_same_tree(markdown: str, nodes: list[Node]) -> None:
    assert list(map(without_lines, read_document(document(*nodes)).blocks)) == list(
        map(without_lines, parse(markdown).blocks)
    )


def test_json_text_is_not_parsed_as_markdown() -> None:
    page = document(
        block("heading-2", "Use {#this} {#id}"),
        block("list-unordered", block("list-item", paragraph("[x] not a task"))),
        paragraph("{% hint %} :rocket: **b** https://a.example"),
    )
    heading, items, words = read_document(page).blocks
    assert heading.plain() == "Use {#this} {#id}"
    assert (items.children[0].kind, items.plain()) == ("item", "[x] not a task")
    assert [(run.kind, run.link) for run in words.runs] == [("text", None)]


def test_blocks_keep_their_json_keys() -> None:
    page = document(
        {**block("paragraph", "a"), "key": "k1"},
        {**block("list-unordered", {**block("list-item", paragraph("b")), "key": "k2"}), "key": "k1"},
        {**block("paragraph", "c"), "key": "../no key"},
    )
    read = read_document(page)
    assert read.blocks[0].key == "k1"
    assert read.blocks[1].children[0].key == "k2"
    assert len({each.key for each in read.walk()}) == len(list(read.walk()))


def test_unknown_block_keeps_all_its_text() -> None:
    page = document(
        {
            **block("carousel", paragraph("one"), "loose", speed=3, deep={"er": ["words", {"more": "here"}]}),
            "fragments": [{"object": "fragment", "fragment": "f", "nodes": [paragraph("two")]}],
        },
        paragraph("a ", inline("sparkle", "three", data="x"), " b ", inline("timer", until="noon"), " c"),
    )
    box, words = read_document(page).blocks
    assert (box.kind, box.attrs["name"]) == ("unknown", "carousel")
    assert box.attrs["arguments"] == {"speed": "3", "deep": "words here"}
    assert box.plain() == "one\nloose\ntwo"
    assert words.plain() == "a three b timer noon c"


def test_unexpected_children_follow_their_block() -> None:
    page = document(
        {**void("divider", {"x": [paragraph("one")]}), "nodes": [paragraph("two")]},
        block("images", void("image", ref={"kind": "url", "url": "a.png"}), paragraph("three")),
        block("tabs", paragraph("four"), block("tabs-item", paragraph("five"), title="T")),
        void("table", {"f": [paragraph("six")]}, view={}, definition={}, records={}),
    )
    words = "\n".join(each.plain() for each in read_document(page).blocks)
    assert words.split() == ["two", "one", "three", "four", "five", "six"]


def test_deep_documents_keep_their_words() -> None:
    deep = paragraph("the bottom")
    for _ in range(400):
        deep = block("blockquote", deep)
    read = read_document(document(deep))
    assert "the bottom" in read.blocks[0].plain()
    assert "too many nested levels" in read.diagnostics[0].message
    linked: Node = text("end")
    for _ in range(400):
        linked = inline("link", linked, ref={"kind": "url", "url": "u"})
    assert read_document(document(paragraph(linked))).blocks[0].plain() == "end"


def test_hostile_text_is_sanitized() -> None:
    page = document(
        paragraph("\x1b]52;c;x\x07", inline("link", "a", ref={"kind": "url", "url": "java\x1bscript:\u202e"})),
        void("embed", url="https://a\n\x1b[0m"),
        block("code", block("code-line", "\x9b31m")),
    )
    for each in read_document(page).walk():
        said = each.plain() + str(each.attrs.get("url")) + "".join(str(run.link) for run in each.runs)
        assert not any(sign in said for sign in "\x1b\x07\x9b\u202e")


NAMES = ["paragraph", "list-ordered", "list-item", "code", "code-line", "images", "image", "expandable", "tabs", "x"]
NAMES += ["tabs-item", "table", "updates", "update", "column", "columns", "openapi-schemas", "integration", "link"]
NAMES += ["heading-1", "annotation", "emoji", "inline-image", "mention", "button", "prompt", "swagger", "drawing"]
FIELDS = ["object", "type", "data", "nodes", "fragments", "leaves", "text", "marks", "ref", "kind", "url", "code"]
FIELDS += ["view", "definition", "records", "columns", "values", "orderIndex", "options", "start", "width", "tags"]
FIELDS += ["schemas", "props", "checked", "key", "meta", "id", "fragment", "max", "columnWidths"]
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.sampled_from(NAMES)
    | st.sampled_from(["block", "inline", "text", "wword", "1f680"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=5)
    | st.fixed_dictionaries(
        {"object": st.sampled_from(["block", "inline", 7]), "type": st.sampled_from(NAMES)},
        optional={"data": inner, "nodes": st.lists(inner, max_size=3), "fragments": st.lists(inner, max_size=2)},
    ),
    max_leaves=30,
)  # fmt: skip


@settings(max_examples=150)
@given(anything)
def test_random_damaged_documents_are_read(broken: Any) -> None:
    read = read_document({"nodes": broken} if isinstance(broken, list) else broken)
    keys = [each.key for each in read.walk()]
    assert len(keys) == len(set(keys))
    assert all(isinstance(run.text, str) for each in read.walk() for run in each.runs)
    read_document({"nodes": [broken]})


def test_malformed_columns_of_a_table_are_ignored() -> None:
    data = {"view": {"columns": 5}, "definition": {"a": {"title": "A"}}, "records": {}}
    (table,) = read_document(document(block("table", **data))).blocks
    assert [column.hidden for column in table.attrs["columns"]] == [True]


@pytest.mark.parametrize("tags", [7, True, {"a": 1}, "", " , "])
def test_malformed_update_tags_are_ignored(tags: Any) -> None:
    read = read_document(document(block("updates", block("update", paragraph("x"), tags=tags))))
    assert [each.attrs["tags"] for each in read.walk() if each.kind == "update"] == [()]


@pytest.mark.parametrize("markdown", [pair[1] for pair in PAIRS], ids=[pair[0] for pair in PAIRS])
def test_json_of_the_server_equals_its_markdown(markdown: str) -> None:
    assert list(map(without_lines, read_document(to_json_document(markdown)).blocks)) == list(
        map(without_lines, parse(markdown).blocks)
    )
