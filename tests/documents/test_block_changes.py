"""The blocks of two versions as one list, and the places of notes in the list."""

from __future__ import annotations

import pytest

from octavo.cli.review_export import BlockFinder
from octavo.documents.blocks import Document
from octavo.documents.diff import block_changes, diff, new_keys
from octavo.documents.source_reader import parse

BEFORE = """# Time

From March to October? Then something drops the zone.

* one
* two words here
* three

| Name | Value |
| - | - |
| first | 2 |
| second | four five six |

```py
x = 1
y = 2
```

A paragraph about other subjects, which nobody needs.

{% hint style="info" %}
Stay here please.
{% endhint %}
"""
AFTER = """# Time

An inserted paragraph about the clocks of ships.

From March to October? Then something on the way drops the zone.

* one
* two words there
* three
* four

| Name | Value |
| - | - |
| first | 2 |
| second | four five seven |

```py
x = 1
y = 3
```

{% hint style="info" %}
Stay here please, dear.
{% endhint %}
"""


def hint(text: str) -> str:
    return f'{{% hint style="danger" %}}\n{text}\n{{% endhint %}}'


def key_of(document: Document, words: str) -> str:
    return [block.key for block in document.walk() if words in block.plain() and (block.runs or block.text)][-1]


def test_changes_are_listed_in_reading_order() -> None:
    found = [
        (each.status, each.block.kind, each.words)
        for each in block_changes(diff(parse(BEFORE), parse(AFTER)))
        if each.status != "same"
    ]
    assert found == [
        ("added", "paragraph", ()),
        ("edited", "paragraph", (("same", "From March to October? Then something "), ("ins", "on the way "), ("same", "drops the zone."))),
        ("edited", "paragraph", (("same", "two words "), ("del", "here"), ("ins", "there"))),
        ("added", "item", ()),
        ("edited", "row", (("same", "second | four five "), ("del", "six"), ("ins", "seven"))),
        ("edited", "code", (("same", "x = 1\ny = "), ("del", "2"), ("ins", "3"), ("same", "\n"))),
        ("deleted", "paragraph", ()),
        ("edited", "paragraph", (("same", "Stay here please"), ("ins", ", dear"), ("same", "."))),
    ]  # fmt: skip


PARAGRAPH = "A paragraph about the harbours and tides of the island."
EDITED = "A paragraph about the harbours and tides of the islands."


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (PARAGRAPH, hint(PARAGRAPH), ["added hint"]),
        (PARAGRAPH, hint(EDITED), ["added hint", "edited paragraph"]),
        (hint(PARAGRAPH), PARAGRAPH, ["deleted hint", "added paragraph"]),
        (hint(PARAGRAPH), EDITED, ["deleted hint", "edited paragraph"]),
        (
            f"## Title\n\n{PARAGRAPH}",
            f"<details>\n<summary>Title</summary>\n\n{PARAGRAPH}\n\n</details>",
            ["edited expandable"],
        ),
        (
            f"{PARAGRAPH} {EDITED}",
            f"{PARAGRAPH}\n\n{EDITED}",
            ["deleted paragraph", "added paragraph", "added paragraph"],
        ),
        ("| A | B |\n|-|-|\n| x | y |", "| A | C |\n|-|-|\n| x | y |", ["edited table"]),
        ("| A | B |\n|-|-|\n| x | y |", "| A | B | C |\n|-|-|-|\n| x | y | |", ["edited table"]),
    ],
)
def test_change_of_a_container_or_column_is_listed(before: str, after: str, expected: list[str]) -> None:
    found = [each for each in block_changes(diff(parse(before), parse(after))) if each.status != "same"]
    assert [f"{each.status} {each.block.kind}" for each in found] == expected


def test_both_versions_can_be_rebuilt_from_the_words() -> None:
    for each in block_changes(diff(parse(BEFORE), parse(AFTER))):
        if each.status == "edited" and each.block.runs and each.old is not None and each.new is not None:
            assert "".join(text for op, text in each.words if op != "ins") == each.old.plain()
            assert "".join(text for op, text in each.words if op != "del") == each.new.plain()


def test_moved_block_is_listed_once() -> None:
    first, second = (
        "A long first paragraph about harbours and tides.",
        "A long second paragraph about lights and bells.",
    )
    moved = block_changes(diff(parse(f"{first}\n\n{second}\n\nEnd."), parse(f"{second}\n\n{first}\n\nEnd.")))
    assert sorted(each.status for each in moved) == ["moved", "same", "same"]


def test_edited_blocks_keep_their_counterparts() -> None:
    before, after = parse(BEFORE), parse(AFTER)
    keys = new_keys(diff(before, after))
    for old, new in (
        ("drops the zone", "drops the zone"),
        ("two words here", "two words there"),
        ("four five six", "four five seven"),
        ("y = 2", "y = 3"),
        ("Stay here", "Stay here"),
        ("three", "three"),
    ):
        assert keys[key_of(before, old)] == key_of(after, new)
    assert key_of(before, "other subjects") not in keys


@pytest.mark.parametrize(
    ("key", "quote", "words", "placed", "side"),
    [
        ("", "on the way drops", "on the way", "words", "after"),
        ("", "other   subjects, which", "other subjects", "words", "before"),
        ("", "x = 1", "x = 1", "words", "after"),
        ("", "| second | four five seven |", "second", "words", "after"),
        ("", "* one * two words there", "three", "words", "after"),
        ("", "From March until October? Then something on the way drops zones", "From March", "likely", "after"),
    ],
)
def test_note_is_placed_by_its_quote(key: str, quote: str, words: str, placed: str, side: str) -> None:
    before, after = parse(BEFORE), parse(AFTER)
    place = BlockFinder(before, after, "time").find(key, quote)
    assert not isinstance(place, str)
    assert (place.match_kind, place.side) == (placed, side)
    assert words in place.block.plain()


def test_note_is_placed_by_its_key() -> None:
    before, after = parse(BEFORE), parse(AFTER)
    places = BlockFinder(before, after, "time")
    for document, words, expected, placed, side in (
        (after, "two words there", "two words there", "exact", "after"),
        (before, "two words here", "two words there", "likely", "after"),
        (before, "other subjects", "other subjects", "exact", "before"),
    ):
        place = places.find(key_of(document, words), "")
        assert not isinstance(place, str)
        assert (expected in place.block.plain(), place.match_kind, place.side) == (True, placed, side)
    place = places.find(key_of(before, "two words here"), "", side="before")
    assert not isinstance(place, str)
    assert (place.match_kind, place.side) == ("exact", "before")


def test_note_for_an_older_revision_follows_its_block() -> None:
    read = parse(AFTER.replace("on the way", "along the road"))
    places = BlockFinder(parse(BEFORE), parse(AFTER), "time")
    place = places.find(key_of(read, "along the road"), "along the road drops", read_version=read)
    assert not isinstance(place, str)
    assert ("on the way" in place.block.plain(), place.match_kind) == (True, "likely")


@pytest.mark.parametrize(
    ("key", "quote", "reason"),
    [
        ("nothing", "", "there is no such block in time anymore"),
        ("", "What a quite different sentence about mountains", "the quote is not in time anymore"),
        ("", "no", "the quote is not in time anymore"),
        ("", "paragraph", "the quote is in 2 blocks of time"),
    ],
)
def test_note_without_a_block_is_refused(key: str, quote: str, reason: str) -> None:
    page = parse("A paragraph, which says nothing.\n\nAnother paragraph.")
    assert BlockFinder(page, page, "time").find(key, quote) == reason
