"""What other clients say in a JSON document is kept as the same words in markdown."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.api import comments, reviews
from octavo.api.bodies import Markdown, paragraphs, plain
from octavo.documents.blocks import Block
from octavo.documents.parse import parse
from octavo.server.json_to_markdown import markdown
from octavo.server.markdown_to_json import json_document
from tests.server.asking import Ask, refused, space_with

SAID = """Five *degrees*, **not** four: see [the table](https://sea.example/t) and `x = 1`.

1. one
2. two
   - inside

- [x] done
- [ ] open

> Quoted.

```py
x = "`"

y = 2
```

# Louder

{% hint style="warning" %}
Take care.
{% endhint %}

3\\. is no list, \\# is no heading, \\* is a star, <kbd>ctrl</kbd>+c, ~~gone~~."""


def shape(blocks: tuple[Block, ...]) -> list[Any]:
    """What blocks are and say, whatever they are called."""
    return [
        (
            each.kind,
            [(run.text, run.link, sorted(run.marks), run.kind) for run in each.runs],
            each.text.strip(),
            shape(each.children),
        )
        for each in blocks
    ]


def test_what_is_said_in_blocks_is_said_in_markdown() -> None:
    assert shape(parse(markdown(json_document(SAID))).blocks) == shape(parse(SAID).blocks)


@given(
    st.text(
        st.characters(
            min_codepoint=32, max_codepoint=0x2FFF, exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp", "Cf", "Mn"]
        ),
        min_size=1,
    )
)
def test_words_stay_words_whatever_signs_are_in_them(words: str) -> None:
    document = paragraphs(words)
    (block,) = parse(markdown(document)).blocks
    assert block.kind == "paragraph"
    assert block.plain().split() == words.split()


@pytest.mark.parametrize(
    "hostile",
    [
        {},
        {"nodes": 3},
        {"nodes": [None, 1, "x", {"object": "block", "nodes": [{"object": "text", "leaves": [{"text": 7}]}]}]},
        {"nodes": [{"object": "block", "type": "code", "data": [], "nodes": [{"nodes": 1}]}]},
        {"nodes": [{"object": "block", "type": "list-ordered", "data": {"start": "x"}, "nodes": [{}]}]},
    ],
)
def test_what_is_no_document_is_written_as_far_as_it_says_anything(hostile: Any) -> None:
    assert isinstance(markdown(hostile), str)


def test_no_document_is_too_deep() -> None:
    deep: dict[str, Any] = {"object": "block", "type": "blockquote", "nodes": []}
    for _ in range(5000):
        deep = {"object": "block", "type": "blockquote", "nodes": [deep]}
    assert isinstance(markdown({"object": "document", "nodes": [deep]}), str)


async def test_a_comment_a_reply_and_a_review_may_be_sent_as_documents(ask: Ask) -> None:
    here = (await space_with(ask, intro="Hello.")).ref
    said = Markdown.model_validate({"document": json_document("Is it **five**?")})
    made = await ask(comments.Create(at=here, page="intro", body=said))
    assert made.body.markdown == "Is it **five**?"
    again = await ask(comments.Get(at=here, comment_id=made.id, format="document"))
    assert again.body.markdown is None
    assert plain(again.body.document) == "Is it five?"
    reply = await ask(
        comments.CreateReply(at=here, comment_id=made.id, body=Markdown(document=json_document("No, *four*.")))
    )
    assert reply.body.markdown == "No, _four_."
    changed = await ask(
        comments.Update(at=here, comment_id=made.id, body=Markdown(document=json_document("Is it six?")))
    )
    assert changed.body.markdown == "Is it six?"
    none: tuple[dict[str, Any], ...] = ({}, {"document": {}}, {"document": paragraphs("")})
    for empty in none:
        op = comments.Create(at=here, body=Markdown.model_validate(empty))
        assert "say something" in await refused(ask(op), 400)
    assert reviews.Submit.model_fields["comment"].annotation == Markdown | None
