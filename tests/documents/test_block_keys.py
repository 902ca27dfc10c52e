"""Keys of blocks, to which comments are attached."""

from __future__ import annotations

import re

from octavo.documents.blocks import Block
from octavo.documents.source_reader import parse


def key(page: str, kind: str) -> str:
    return next(block.key for block in parse(page).walk() if block.kind == kind)


def test_key_of_a_block_stays_when_other_blocks_change() -> None:
    before, after = parse("one\n\ntwo"), parse("# New\n\none\n\n* x\n\ntwo")
    keys = {block.key for block in after.walk()}
    assert {block.key for block in before.walk()} <= keys


def test_key_depends_on_the_words() -> None:
    assert key("one", "paragraph") != key("two", "paragraph")
    assert key("a **b**", "paragraph") == key("a b", "paragraph")


def test_container_key_depends_on_title_and_first_child() -> None:
    page = '{% tabs %}\n{% tab title="A" %}\none\n{% endtab %}\n{% tab title="B" %}\ntwo\n{% endtab %}\n{% endtabs %}'
    assert key(page, "tabs") == key(page.replace("two", "2"), "tabs")
    assert key(page, "tabs") != key(page.replace("one", "1"), "tabs")


def test_equal_blocks_are_numbered() -> None:
    first, second, third = (block.key for block in parse("same\n\nsame\n\nsame").blocks)
    assert (second, third) == (f"{first}-2", f"{first}-3")


def test_keys_are_path_safe_and_find_their_block() -> None:
    document = parse("# T\n\n* one\n* two\n\n```\nx\n```")
    for block in document.walk():
        assert re.fullmatch(r"[A-Za-z0-9_-]{1,128}", block.key)
        assert document.find(block.key) is block
    assert document.find("nothing") is None


def test_plain_contains_the_text_of_descendants() -> None:
    item = Block("item", children=parse("one\n\ntwo").blocks)
    assert item.plain() == "one\ntwo"


def test_white_space_in_a_long_text_does_not_change_the_key() -> None:
    """The words of a long text are read in slices."""
    rows = [f"word {number} of a line" for number in range(3000)]
    (plain,) = parse("```\n" + "\n".join(rows) + "\n```").blocks
    (spaced,) = parse("```\n" + "\n\n   ".join(row.replace(" ", "\t ") for row in rows) + "\n```").blocks
    (other,) = parse("```\n" + "\n".join([*rows[:-1], "another"]) + "\n```").blocks
    assert plain.text != spaced.text
    assert plain.key == spaced.key != other.key
