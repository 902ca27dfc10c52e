"""JSON documents are edited as Markdown: unedited blocks stay, and blocks without a Markdown form are not edited."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.documents.json_editing import apply_markdown_edit, document_to_markdown
from octavo.documents.json_inline import MAX_JSON_DEPTH
from octavo.documents.markdown_to_json import to_json_document

FORMATTED = """## Why

Support gets this **every** week, see [the list](https://sea.example/list) and `wait_ms`.

- one
- two, _slowly_

1. first
2. second

- [x] done
- [ ] open

> Quoted.

```py
x = "`a_b`"

y = 2
```

{% hint style="warning" %}
Take care.
{% endhint %}"""

TABLE = "| a | b |\n| - | - |\n| 1 | 2 |"


def paragraph(*leaves: tuple[str, str], **fields: Any) -> dict[str, Any]:
    """Return a paragraph of texts, each with a mark or without."""
    made = [
        {"object": "leaf", "text": text, "marks": [{"object": "mark", "type": mark}] if mark else []}
        for text, mark in leaves
    ]
    return {"object": "block", "type": "paragraph", **fields, "nodes": [{"object": "text", "leaves": made}]}


def document(*nodes: Any) -> dict[str, Any]:
    return {"object": "document", "data": {"schemaVersion": 11}, "nodes": list(nodes)}


def with_server_keys(made: dict[str, Any]) -> dict[str, Any]:
    """Return the document with keys in the style of another server."""
    for number, node in enumerate(made["nodes"]):
        node["key"] = f"server-{number}"
    return made


def test_edit_of_a_word_keeps_the_rest_of_a_formatted_document() -> None:
    before = with_server_keys(to_json_document(FORMATTED))
    text = document_to_markdown(before)
    assert text is not None
    after = apply_markdown_edit(deepcopy(before), text.replace("two, _slowly_", "three, _slowly_"))
    assert after is not None
    changed = [
        number for number, (was, now) in enumerate(zip(before["nodes"], after["nodes"], strict=True)) if was != now
    ]
    assert changed == [2]
    assert document_to_markdown(after) == text.replace("two, _slowly_", "three, _slowly_")
    assert {name: value for name, value in after.items() if name != "nodes"} == {
        name: value for name, value in before.items() if name != "nodes"
    }


@pytest.mark.parametrize("block", FORMATTED.split("\n\n")[:6])
def test_every_block_is_written_as_its_markdown(block: str) -> None:
    assert document_to_markdown(to_json_document(block)) == block.replace(
        "](https://sea.example/list)", "](<https://sea.example/list>)"
    )


def test_added_or_removed_block_leaves_the_others() -> None:
    before = with_server_keys(to_json_document(FORMATTED))
    text = document_to_markdown(before)
    assert text is not None
    more = apply_markdown_edit(before, f"New.\n\n{text}\n\nEnd.")
    assert more is not None
    assert more["nodes"][1:-1] == before["nodes"]
    less = apply_markdown_edit(before, text.removeprefix("## Why\n\n"))
    assert less is not None
    assert less["nodes"] == before["nodes"][1:]


def test_unedited_markdown_is_the_same_document() -> None:
    before = with_server_keys(to_json_document(FORMATTED))
    assert apply_markdown_edit(before, document_to_markdown(before) or "") == before


def test_empty_markdown_makes_no_document() -> None:
    assert apply_markdown_edit(to_json_document(FORMATTED), " \n") is None
    assert document_to_markdown(None) == ""
    made = apply_markdown_edit(None, "**Why.**")
    assert made is not None
    assert made["object"] == "document"
    assert document_to_markdown(made) == "**Why.**"


@pytest.mark.parametrize(
    "markdown",
    [
        TABLE,
        "![a](https://sea.example/a.png)",
        ":smile:",
        '{% code title="a.py" %}\n```py\nx\n```\n{% endcode %}',
        "<details>\n<summary>More</summary>\n\nx\n\n</details>",
    ],
)
def test_all_kinds_of_blocks_are_edited_as_markdown(markdown: str) -> None:
    before = with_server_keys(to_json_document(f"Before.\n\n{markdown}"))
    text = document_to_markdown(before)
    assert text is not None
    assert apply_markdown_edit(before, text) == before
    after = apply_markdown_edit(before, text.replace("Before.", "After."))
    assert after is not None
    assert after["nodes"][1:] == before["nodes"][1:]


@pytest.mark.parametrize(
    "node",
    [
        paragraph(("red", "color")),
        paragraph(("a", ""), data={"align": "middle"}),
        paragraph(("a", ""), meta={"id": "x"}),
        {"object": "block", "type": "heading-4", "nodes": paragraph(("a", ""))["nodes"]},
        {"object": "block", "type": "unheard-of", "nodes": [paragraph(("a", ""))]},
        {"object": "inline", "type": "mention", "data": {"ref": {"user": "u"}}},
    ],
)
def test_document_with_unknown_content_is_not_edited(node: dict[str, Any]) -> None:
    if node["object"] == "inline":
        node = {"object": "block", "type": "paragraph", "nodes": [node]}
    assert document_to_markdown(document(node)) is None


def test_document_that_is_too_deep_is_not_editable() -> None:
    deep = paragraph(("a", ""))
    for _ in range(5 * MAX_JSON_DEPTH):
        deep = {"object": "block", "type": "blockquote", "nodes": [deep]}
    assert document_to_markdown(document(deep)) is None


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("See https://sea.example/a now", "See https://sea.example/a now"),
        ("wait_ms is a*b [x]", "wait_ms is a*b [x]"),
        ("- no list", "\\- no list"),
        ("*no* mark", "\\*no\\* mark"),
        ("&amp;", "\\&amp;"),
    ],
)
def test_plain_text_is_escaped_only_if_needed(text: str, markdown: str) -> None:
    assert document_to_markdown(document(paragraph((text, "")))) == markdown


def test_bold_edge_spaces_and_empty_paragraphs_allow_editing() -> None:
    before = document(paragraph(("bold ", "bold"), ("words", "")), paragraph(("", "")), paragraph(("More.", "")))
    text = document_to_markdown(before)
    assert text == "**bold** words\n\nMore."
    after = apply_markdown_edit(before, text.replace("More.", "Less."))
    assert after is not None
    assert after["nodes"][0] == before["nodes"][0]


BLOCKS = st.sampled_from([*FORMATTED.split("\n\n")[:6], "***", "# Louder", "a_b and *c*", TABLE])


def check_edited_document(blocks: list[str], typed: list[str]) -> None:
    before = with_server_keys(to_json_document("\n\n".join(blocks)))
    if (text := document_to_markdown(before)) is not None:
        assert apply_markdown_edit(before, text) == before
    after = apply_markdown_edit(before, "\n\n".join(typed))
    assert document_to_markdown(after) == (document_to_markdown(to_json_document("\n\n".join(typed))) if typed else "")


@settings(max_examples=60)
@given(st.lists(BLOCKS, min_size=1, max_size=6), st.lists(BLOCKS, max_size=6))
def test_edited_document_matches_typed_markdown(blocks: list[str], typed: list[str]) -> None:
    check_edited_document(blocks, typed)


@pytest.mark.long
@settings(max_examples=2000)
@given(st.lists(BLOCKS, min_size=1, max_size=6), st.lists(BLOCKS, max_size=6))
def test_document_with_random_edits_matches_typed_markdown(blocks: list[str], typed: list[str]) -> None:
    check_edited_document(blocks, typed)


def test_headings_of_other_servers_have_no_ids() -> None:
    heading = {**paragraph(("Why", "")), "type": "heading-2"}
    assert document_to_markdown(document(heading)) == "## Why"
