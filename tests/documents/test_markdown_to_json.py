"""Markdown as a JSON document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.api.bodies import document_text
from octavo.documents.markdown_to_json import link_reference, to_json_document
from octavo.documents.source_reader import parse
from octavo.server.store import image_size

PAGE = """# Title

A **bold *both*** `code` [link **bold**](/pages/p1#part) :rocket: $$x^2$$ end.

1. one
   * inside

- [x] done
- [ ] open

{% hint style="warning" %}
Take care.
{% endhint %}

{% tabs %}
{% tab title="Linux" %}
apt
{% endtab %}
{% endtabs %}

```py title="a.py"
x = 1

y = 2
```

| Name | Size |
| :--- | ---: |
| a    | 1    |
| b    | 2    |

<details>

<summary>More</summary>

Hidden words.

</details>

<figure><img src="/files/f1" alt="A picture"><figcaption><p>Below it</p></figcaption></figure>

***

> Quoted.

{% embed url="https://a.example/v" %}
"""


def all_nodes(value: Any) -> Iterator[dict[str, Any]]:
    """Yield every block, inline and text node of a document."""
    if isinstance(value, dict):
        if "object" in value:
            yield value
        for each in value.values():
            yield from all_nodes(each)
    elif isinstance(value, list):
        for each in value:
            yield from all_nodes(each)


def nodes_of_type(document: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return [node for node in all_nodes(document) if node.get("type") == name]


def test_blocks_have_their_types() -> None:
    document = to_json_document(PAGE)
    assert [block["type"] for block in document["nodes"]] == [
        "heading-1",
        "paragraph",
        "list-ordered",
        "list-tasks",
        "hint",
        "tabs",
        "code",
        "table",
        "expandable",
        "images",
        "divider",
        "blockquote",
        "embed",
    ]
    assert [item["data"] for item in nodes_of_type(document, "list-tasks")[0]["nodes"]] == [
        {"checked": True},
        {"checked": False},
    ]
    assert nodes_of_type(document, "hint")[0]["data"] == {"style": "warning"}
    assert nodes_of_type(document, "tabs-item")[0]["data"] == {"title": "Linux"}
    assert nodes_of_type(document, "embed")[0]["data"] == {"url": "https://a.example/v"}


def test_json_blocks_have_the_block_keys() -> None:
    keys = {
        block.key for block in parse(PAGE).walk() if block.kind in ("heading", "paragraph", "code", "hint", "table")
    }
    assert keys <= {node.get("key") for node in all_nodes(to_json_document(PAGE))}


def test_code_is_kept_line_by_line() -> None:
    (code,) = (node for node in nodes_of_type(to_json_document(PAGE), "code") if node["object"] == "block")
    lines = [line["nodes"][0]["leaves"][0]["text"] for line in code["nodes"]]
    assert (code["data"], lines) == ({"syntax": "py", "title": "a.py"}, ["x = 1", "", "y = 2"])


def test_text_has_marks_and_links_have_targets() -> None:
    document = to_json_document(PAGE)
    marked = {leaf["text"]: {mark["type"] for mark in leaf["marks"]} for leaf in all_nodes(document) if "marks" in leaf}
    assert marked["both"] == {"bold", "italic"}
    assert marked["code"] == {"code"}
    (link,) = nodes_of_type(document, "link")
    assert link["data"] == {"ref": {"kind": "anchor", "anchor": "part", "page": "p1"}}
    assert document_text({"object": "block", "nodes": link["nodes"]}) == "link bold"
    assert nodes_of_type(document, "emoji")[0]["data"] == {"code": "rocket"}
    assert nodes_of_type(document, "inline-math")[0]["data"] == {"formula": "x^2"}


def test_table_has_its_cells_as_fragments() -> None:
    (table,) = nodes_of_type(to_json_document(PAGE), "table")
    columns = table["data"]["view"]["columns"]
    assert [table["data"]["definition"][column]["title"] for column in columns] == ["Name", "Size"]
    assert table["data"]["definition"][columns[1]]["textAlignment"] == "right"
    says = {fragment["fragment"]: document_text(fragment["nodes"][0]) for fragment in table["fragments"]}
    rows = sorted(table["data"]["records"].values(), key=lambda row: row["orderIndex"])
    assert [[says[row["values"][column]] for column in columns] for row in rows] == [["a", "1"], ["b", "2"]]


@given(st.text(alphabet="ab *_`#>-\n|[]()!$:{}%<>/\\1.~", max_size=120))
def test_every_word_of_a_page_is_in_its_json_document(markdown: str) -> None:
    said = "".join(node["text"] for node in all_nodes(to_json_document(markdown)) if node["object"] == "leaf")
    for block in parse(markdown).walk():
        for run in block.runs:
            if run.kind == "text":
                assert run.text in said


def test_an_empty_page_is_an_empty_paragraph() -> None:
    assert [block["type"] for block in to_json_document("")["nodes"]] == ["paragraph"]


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("/pages/p1", {"kind": "page", "page": "p1"}),
        ("/files/f1", {"kind": "file", "file": "f1"}),
        ("/pages/guides/setup.md", {"kind": "url", "url": "/pages/guides/setup.md"}),
        ("#top", {"kind": "anchor", "anchor": "top"}),
        ("https://a.example/#x", {"kind": "url", "url": "https://a.example/#x"}),
        ("setup.md", {"kind": "url", "url": "setup.md"}),
    ],
)
def test_links_become_typed_references(address: str, expected: dict[str, str]) -> None:
    assert link_reference(address) == expected


@pytest.mark.parametrize(
    ("data", "size"),
    [
        (b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + b"\0\0\x01\0\0\0\0\x02", (256, 2)),
        (b"GIF89a\x03\0\x04\0", (3, 4)),
        (b"\xff\xd8\xff\xe0\0\x04JF\xff\xc0\0\x11\x08\0\x05\0\x06", (6, 5)),
        (b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x06\0\0\x07\0\0", (7, 8)),
        (b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a\x09\0\x0a\0", (9, 10)),
        (b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f\x0a\xc0\x02\x00", (11, 12)),
        (b"\x89PNG\r\n\x1a\n", None),
        (b"\xff\xd8\xff\xe0", None),
        (b"<svg/>", None),
        (b"", None),
    ],
)
def test_size_of_an_image_is_read_from_its_file(data: bytes, size: tuple[int, int] | None) -> None:
    assert image_size(data) == (size and {"width": size[0], "height": size[1]})


@given(
    st.binary(max_size=64),
    st.sampled_from([b"\x89PNG\r\n\x1a\n", b"\xff\xd8", b"GIF87a", b"RIFF0000WEBPVP8X", b"RIFF0000WEBPVP8L"]),
)
def test_damaged_image_has_no_size_or_a_positive_size(data: bytes, start: bytes) -> None:
    size = image_size(start + data)
    assert size is None or (size["width"] > 0 and size["height"] > 0)
