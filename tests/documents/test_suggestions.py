"""Suggested changes are found in comments and applied to pages, and single blocks are reverted, without other changes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.documents.source_reader import find_markers, parse
from octavo.documents.suggestions import (
    UnknownBlock,
    apply_suggestion,
    block_source,
    find_block_source,
    find_suggestions,
    has_fewer_blocks,
    has_incomplete_fence,
    revert_blocks,
    suggestion_fence,
    with_conflict_markers,
)

PAGE = """# Time

All times are in UTC.

- one
- two

```python
ticks = "```"
```

All times are in UTC.

{% hint style="info" %}
Mind the gap.
{% endhint %}
"""
THEN = "# A\n\nfirst\n\nsecond\n\nthird\n"
NOW = "# A\n\nFIRST\n\nsecond\n\nadded\n"


def key_of(page: str, words: str, kind: str = "") -> str:
    return next(
        each.key for each in parse(page).walk() if words in each.plain() and kind in ("", each.kind) and each.lines[1]
    )


TEXTS = st.text(st.sampled_from("a `~\n#<>-{%}|\\_*é😀=s"), max_size=60)


@pytest.mark.parametrize(
    ("comment", "is_incomplete"),
    [
        ("Shorter:\n```suggestion\nAll times.\n```\nOK?", False),
        ("Shorter:\n```suggestion\nAll times.\n``\nOK?", True),
        ("Shorter:\nAll times.\n```\nOK?", True),
        ("No ``` fence", False),
    ],
)
def test_fence_without_its_first_or_last_line_is_incomplete(comment: str, is_incomplete: bool) -> None:
    assert has_incomplete_fence(comment) == is_incomplete


@given(TEXTS, TEXTS, TEXTS)
def test_suggestion_survives_writing_and_reading(before: str, source: str, after: str) -> None:
    before, after = (each.replace("`", "").replace("~", "") for each in (before, after))
    comment = f"{before}\n{suggestion_fence(source)}{after}"
    assert [each.text for each in find_suggestions(comment)] == [source]


@pytest.mark.parametrize(
    "comment",
    [
        "No fence: suggestion",
        "```python\nsuggestion\n```",
        "````\n```suggestion\nnot one\n```\n````",
        "    ```suggestion\n    x",
    ],
)
def test_other_fences_are_no_suggestions(comment: str) -> None:
    assert find_suggestions(comment) == ()


def test_suggestion_is_found_if_its_language_has_a_capital() -> None:
    (found,) = find_suggestions("```Suggestion\none\n```")
    assert found.text == "one"


def test_several_suggestions_and_an_unclosed_one_are_read() -> None:
    found = find_suggestions("Better:\n\n```suggestion\none\n```\nor\n~~~ Suggestion\ntwo\n~~~\n```suggestion\nthree")
    assert [each.text for each in found] == ["one", "two", "three"]
    assert found[0].lines == (2, 5)


@pytest.mark.parametrize(
    "wanted",
    [
        "All times are in UTC+0.",
        "<<<<<<< main\na\n=======\nb\n>>>>>>> x",
        "````\n```\n````",
        "{% hint %}",
        "<details>",
        "a\n\nb",
        "| a |\n| - |",
    ],
)
def test_applied_suggestion_changes_only_its_block(wanted: str) -> None:
    key = key_of(PAGE, "All times")
    done = apply_suggestion(PAGE, key, find_block_source(PAGE, key), wanted)
    assert done.kind == "applied"
    assert done.text == PAGE.replace("All times are in UTC.", wanted, 1)


def test_source_of_items_and_nested_blocks_is_their_lines() -> None:
    item = key_of(PAGE, "two", "item")
    assert find_block_source(PAGE, item) == "- two"
    assert apply_suggestion(PAGE, item, "- two", "- three").text == PAGE.replace("- two", "- three")
    inside = key_of(PAGE, "Mind the gap.", "paragraph")
    assert apply_suggestion(PAGE, inside, "Mind the gap.", "Mind it.").text == PAGE.replace("Mind the gap.", "Mind it.")


def test_changed_block_is_not_overwritten() -> None:
    key = key_of(PAGE, "Mind the gap.", "paragraph")
    for now in (
        PAGE.replace("Mind the gap.", "Mind the gaps."),
        PAGE.replace("Mind the gap.", "Mind **the** gap."),
        "# Time",
    ):
        done = apply_suggestion(now, key, "Mind the gap.", "Mind it.")
        assert (done.kind, done.text) == ("changed", now)


def test_block_of_unknown_source_is_not_overwritten() -> None:
    key = key_of(PAGE, "Mind the gap.", "paragraph")
    assert apply_suggestion(PAGE, key, None, "Mind it.").kind == "changed"


def test_moved_block_is_found_by_its_lines() -> None:
    now = PAGE.replace("# Time\n\nAll times are in UTC.\n", "# Time\n")
    second = key_of(PAGE, "All times") + "-2"
    assert second in {each.key for each in parse(PAGE).walk()}
    done = apply_suggestion(now, second, "All times are in UTC.", "In UTC.")
    assert done.text == now.replace("All times are in UTC.", "In UTC.")


def test_suggestion_already_on_the_page_is_same() -> None:
    key = key_of(PAGE, "Mind the gap.", "paragraph")
    now = apply_suggestion(PAGE, key, "Mind the gap.", "Mind it.").text
    assert apply_suggestion(now, key, "Mind the gap.", "Mind it.").kind == "same"


def test_suggestion_gets_the_line_breaks_of_the_page() -> None:
    page = PAGE.replace("\n", "\r\n")
    key = key_of(page, "Mind the gap.", "paragraph")
    done = apply_suggestion(page, key, find_block_source(page, key), "Mind\nit.")
    assert done.text == page.replace("Mind the gap.", "Mind\r\nit.")


def test_empty_suggestion_removes_the_block() -> None:
    key = key_of(PAGE, "two", "item")
    assert apply_suggestion(PAGE, key, "- two", "").text == PAGE.replace("- two\n\n", "")


@given(TEXTS, TEXTS)
def test_applied_suggestion_changes_no_other_line(page: str, wanted: str) -> None:
    for block in parse(page).walk():
        was = find_block_source(page, block.key)
        done = apply_suggestion(page, block.key, was, wanted)
        if done.kind == "applied":
            assert was is not None
            assert done.text.count("\n") - page.count("\n") <= wanted.count("\n")
            kept = [line for line in page.split("\n") if line not in was.split("\n")]
            assert all(line in done.text.split("\n") for line in kept if line.strip())


def test_conflict_markers_are_at_the_block_or_at_the_end() -> None:
    key = key_of(PAGE, "Mind the gap.", "paragraph")
    both = "<<<<<<< current text\nMind the gap.\n=======\nMind it.\n>>>>>>> suggested change"
    assert with_conflict_markers(PAGE, key, "Mind it.") == PAGE.replace("Mind the gap.", both)
    assert with_conflict_markers("# Time", key, "Mind it.") == f"# Time\n{both.replace(f'{chr(10)}Mind the gap.', '')}"
    assert len(find_markers(with_conflict_markers(PAGE, key, "Mind it."))) == 1


def test_composer_source_equals_applied_source() -> None:
    document = parse(PAGE)
    for block in document.walk():
        assert block_source(document.source, block) == find_block_source(PAGE, block.key)


def test_block_is_reverted_by_either_key() -> None:
    for chosen in (key_of(NOW, "FIRST"), key_of(THEN, "first")):
        assert revert_blocks(THEN, NOW, {chosen}) == "# A\n\nfirst\n\nsecond\n\nadded\n"


def test_reverting_all_blocks_restores_the_page() -> None:
    assert revert_blocks(THEN, NOW, {key_of(NOW, "FIRST"), key_of(THEN, "third")}) == THEN


def test_unchanged_block_is_not_reverted() -> None:
    assert revert_blocks(THEN, NOW, {key_of(NOW, "second")}) == NOW


def test_unknown_block_raises_an_error() -> None:
    with pytest.raises(UnknownBlock, match="nonsense"):
        revert_blocks(THEN, NOW, {"nonsense"})


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\r", "\r\n"])
def test_other_line_separators_do_not_move_the_reverted_lines(separator: str) -> None:
    start = f"a{separator}b{separator}c{separator}d\n\n"
    then, now = start + THEN, start + NOW
    assert revert_blocks(then, now, {key_of(now, "FIRST")}) == then.replace("third", "added")


@pytest.mark.parametrize("number", [0, 1])
def test_suggestion_for_one_of_two_equal_blocks_is_applied_once(number: int) -> None:
    page = "Close the valve.\n\nWait.\n\nClose the valve.\n"
    key = [block.key for block in parse(page).blocks][number * 2]
    first = apply_suggestion(page, key, "Close the valve.", "Close both valves.")
    blocks = ["Close the valve.", "Wait.", "Close the valve."]
    blocks[number * 2] = "Close both valves."
    assert first == ("applied", "\n\n".join(blocks) + "\n")
    is_lost = has_fewer_blocks(first.text, page, "Close the valve.")
    again = apply_suggestion(first.text, key, "Close the valve.", "Close both valves.", is_equal_block_lost=is_lost)
    assert again == ("same", first.text)


def test_suggestions_for_both_of_two_equal_blocks_are_applied_together() -> None:
    page = "Close the valve.\n\nWait.\n\nClose the valve.\n"
    after = page
    for block in parse(page).blocks[::2]:
        after = apply_suggestion(after, block.key, "Close the valve.", "Close both valves.").text
    assert after == page.replace("the valve", "both valves")


def test_suggestion_is_applied_if_an_earlier_block_has_the_suggested_text() -> None:
    page = "Is it on?\n\nYes\n\nIs it off?\n\nNo\n"
    key = parse(page).blocks[3].key
    assert apply_suggestion(page, key, "No", "Yes") == ("applied", page.replace("No", "Yes"))
