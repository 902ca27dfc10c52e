"""Merges of single pages, compared character by character.

The cases are in `merges.txt`: three versions of a page, the number of conflicts, and the text for each choice.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path
from textwrap import indent
from types import FrameType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.documents.merging.merged_page import NEVER_BOTH, ChoiceKind, MergeChoice
from octavo.documents.merging.page_merge import merge
from octavo.documents.source_blocks import read_page
from tests.documents.random_lines import three_texts

STABLE = settings(max_examples=100, deadline=None, derandomize=True)
SIDES: dict[str, ChoiceKind] = {"main": "main", "request": "request", "both": "both", "words": "words"}


def read_cases() -> dict[str, dict[str, str]]:
    """Return the parts of each case by their headings."""
    found: dict[str, dict[str, str]] = {}
    for case in re.split(r"^=== ", Path(__file__).with_name("merges.txt").read_text(), flags=re.M)[1:]:
        name, _, rest = case.partition("\n")
        parts: dict[str, str] = {}
        for part in re.split(r"^--- (?=[a-z])", rest, flags=re.M)[1:]:
            heading, _, text = part.partition("\n")
            label, _, value = heading.partition(": ")
            if value.startswith("same as "):
                parts[label] = parts[value.removeprefix("same as ")]
            else:
                parts[label] = value if label == "conflicts" else text.strip("\n") + "\n" if text.strip("\n") else ""
        found[name] = parts
    return found


CASES = read_cases()


@pytest.mark.parametrize("name", CASES)
def test_resolved_merge_equals_expected_page(name: str) -> None:
    case = CASES[name]
    merged = merge(case["base"], case["main"], case["request"])
    suggested = len(merged.named_conflicts) - len(merged.conflicts)
    counts = f"{len(merged.conflicts)}" + (f", suggestions: {suggested}" if suggested else "")
    assert counts == case.get("conflicts", "0")
    if "merged" in case:
        assert merged.text().strip("\n") == case["merged"].strip("\n")
    for label, side in SIDES.items():
        if f"decided {label}" in case:
            assert merged.text_with_choice(side).strip("\n") == case[f"decided {label}"].strip("\n")


@pytest.mark.parametrize("name", CASES)
def test_swapped_sides_give_the_same_page(name: str) -> None:
    case = CASES[name]
    one, other = (
        merge(case["base"], *sides) for sides in ((case["main"], case["request"]), (case["request"], case["main"]))
    )
    mirrored: tuple[tuple[ChoiceKind, ChoiceKind], ...] = (("main", "request"), ("request", "main"), ("both", "both"))
    for side, opposite in mirrored:
        if side == "both" and any(each.kind in NEVER_BOTH for _, each in one.all_named_conflicts):
            continue  # This conflict does not offer both sides.
        assert Counter(re.findall(r"\w+", one.text_with_choice(side))) == Counter(
            re.findall(r"\w+", other.text_with_choice(opposite))
        )


def test_windows_line_ends_are_kept() -> None:
    usual = ("A one.\n\nB two.\n", "A one!\n\nB two.\n", "A one.\n\nB two.\n\nC three.\n")
    base, main, request = (text.replace("\n", "\r\n") for text in usual)
    assert merge(base, main, request).text() == merge(*usual).text().replace("\n", "\r\n")
    assert merge(usual[0], usual[1], request).text() == merge(*usual).text().replace("\n", "\r\n")
    mixed = merge("A one.\r\n\nB two.\n", "A one!\r\n\nB two.\n", "A one.\r\n\nB two.\n\nC three.\n")
    assert mixed.text() == "A one!\r\n\nB two.\n\nC three.\n"


def test_page_without_a_final_line_end_stays_so() -> None:
    assert merge("- a one\n- b two", "- a one\n- b two\n- c three", "- a one\n- b two\n- d four").text() == (
        "- a one\n- b two\n- c three\n- d four"
    )


def test_edited_block_goes_to_its_place_on_main() -> None:
    long = "Long alpha is the first of all."
    texts = (
        f"{long}\n\nB one.\n\nC one.\n\nD one.\n",
        f"B one.\n\n{long}\n\nC one.\n\nD one.\n",
        f"B one.\n\nC one.\n\n{long}\n\nD one.\n",
    )
    merged = merge(*texts)
    ((name, _),) = merged.named_conflicts
    assert merged.text({name: MergeChoice("own", "\nMine.\n")}) == "B one.\n\nMine.\n\nC one.\n\nD one.\n"
    assert merged.text({name: MergeChoice("own", "\n")}) == "B one.\n\nC one.\n\nD one.\n"


def test_long_page_of_equal_lines_is_merged() -> None:
    base = "row\n\n" * 4000
    assert merge(base, f"top\n\n{base}", f"{base}end\n").text() == f"top\n\n{base}end\n"


GRID = "| A | B | C |\n| - | - | - |\n| 1 | 2 | 3 |\n"
REORDERED = "| B | A | C |\n| - | - | - |\n| 2 | 1 | 3 |\n"


def test_reordered_columns_keep_edits_of_the_other_side() -> None:
    edited = GRID.replace("3 |", "9 |")
    expected = REORDERED.replace("3 |", "9 |")
    assert merge(GRID, edited, REORDERED).text() == merge(GRID, REORDERED, edited).text() == expected
    other = "| A | C | B |\n| - | - | - |\n| 1 | 3 | 2 |\n"
    assert [each.kind for each in merge(GRID, REORDERED, other).conflicts] == ["columns"]


def test_replaced_column_is_not_a_renamed_column() -> None:
    replaced = "| A | D | C |\n| - | - | - |\n| 1 | 8 | 3 |\n"
    merged = merge(GRID, f"{GRID}| 4 | 5 | 6 |\n", replaced)
    assert [each.kind for each in merged.conflicts] == ["columns"]
    assert merged.text_with_choice("request") == replaced


def test_rows_added_twice_are_compared_without_spaces() -> None:
    merged = merge(GRID, f"{GRID}| foo | one | two |\n", f"{GRID}| foo  | one | three |\n")
    assert len(merged.conflicts) == 1


def test_sentence_added_by_both_sides_is_suggested_once() -> None:
    one, new, other = "The light turns.", "It is red now.", "The log is kept."
    merged = merge(f"{one} {other}\n", f"{one} {new} {other}\n", f"{new} {one} {other}\n")
    assert len(merged.conflicts) == 1
    assert merged.text_with_choice("request") == f"{new} {one} {other}\n"


def test_suggestion_for_a_paragraph_resolves_no_other_conflict() -> None:
    quay, wind = (
        "The keeper opens the old quay each day in summer.",
        "Wind comes from the west at noon and turns all sails.",
    )
    winter, storm = quay.replace("summer", "winter"), "Storms break the piers of the harbour in autumn."
    base, main = f"{quay}\n\nEnd.\n\n{wind}\n", f"{winter}\n\nEnd.\n\n{storm}\n"
    merged = merge(base, main, f"{quay.replace('keeper', 'man')}\n\nEnd.\n\n{winter}\n")
    assert [each.main for each in merged.conflicts] == [storm]
    assert f"<<<<<<< main\n\n{storm}" in merged.text()


def test_code_wrapped_in_a_code_tag_keeps_its_fence() -> None:
    fence = "```js\na\nb\n```\n"
    wrapped = f"{{% code %}}\n{fence}{{% endcode %}}\n"
    assert merge(fence, wrapped, fence.replace("b", "c")).text() == wrapped.replace("b", "c")


def test_old_place_of_text_moved_twice_has_no_markers() -> None:
    blocks = [
        "Alpha text stands here.",
        "Charlie keeps the log.",
        "Bravo walks along the quay.",
        "Delta opens the gate.",
    ]
    main = [blocks[2], blocks[0], blocks[1], blocks[3]]
    request = [blocks[0], blocks[1], blocks[3], blocks[2].replace("walks", "runs")]
    base, main_text, request_text = ("\n\n".join(each) + "\n" for each in (blocks, main, request))
    marked = merge(base, main_text, request_text).text()
    assert marked.count("<<<<<<<") == 2
    assert "<<<<<<< main\n\n=======\n\n>>>>>>>" not in marked


def test_line_ends_are_kept_for_a_side_of_one_line() -> None:
    lines = "a\r\n\r\nb\r\n"
    for request in ("x", ""):
        assert merge(lines, lines.replace("b", "c"), request).text_with_choice("main").rstrip() == "a\r\n\r\nc"
    mixed = merge("a b\r\n\nc d\n", "a c\r\n\r\nc d\r\n", "a b\r\n\nc d\nnew\n")
    assert "\r\r" not in mixed.text_with_choice("main") + mixed.text_with_choice("request")


@pytest.mark.before_release("{% hint %}\\n-{% endhint %}\\n", "<details>\\n-</details>\\n")
@pytest.mark.parametrize(
    ("line", "close"),
    [("{% hint %}\n", "{% endhint %}\n"), ("> ", ""), ("* ", ""), ("<details>\n", "</details>\n")],
)
def test_text_nested_ten_thousand_deep_is_merged(line: str, close: str) -> None:
    deep = line * 10_000 + "Word.\n" + close * 10_000
    merged = merge(deep, deep.replace("Word", "Other"), f"{deep}\nEnd.\n")
    assert "Other." in merged.text_with_choice("main")


def test_list_nested_five_hundred_deep_is_merged() -> None:
    deep = "".join(f"{' ' * depth}* item {depth}\n" for depth in range(500))
    assert "item 7 here" in merge(deep, deep.replace("item 7\n", "item 7 here\n"), f"{deep}\nEnd.\n").text()


MANY = 3000
HOSTILE = {
    "sentence ends": "." * 100_000,
    "rows that are never closed": f"<table>{'<tr>' * 25_000}</table>\n",
    "cells that are never closed": f"<table><tr>{'<td>' * 25_000}</tr></table>\n",
    "fences": "```\n" * 25_000,
    "tags": "{% hint %}\n" * 10_000,
    "two words": "a b " * 25_000 + "\n",
    "equal items": "* a b\n" * 15_000,
    "other paragraphs": "\n\n".join(f"a{number} b{number} c{number} d{number}" for number in range(MANY)),
    "other rows": "| a |\n|---|\n" + "".join(f"| a{number} |\n" for number in range(MANY)),
}


def count_calls_of_merge(count: int) -> int:
    """Return the number of calls in a merge of pages to which both sides added the same paragraphs in different places."""
    added = "\n\n".join(f"a{number} b{number} c{number} d{number} e{number}" for number in range(count))
    calls = 0

    def on_event(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(on_event)
    try:
        merged = merge("One.\n\nTwo.\n", f"One.\n\n{added}\n\nTwo.\n", f"One.\n\nTwo.\n\n{added}\n")
    finally:
        sys.setprofile(None)
    assert len(merged.conflicts) == 1
    return calls


def test_work_for_equal_additions_grows_with_their_number() -> None:
    assert count_calls_of_merge(800) < 2.5 * count_calls_of_merge(400)


@pytest.mark.before_release(
    "equal items", "fences", "other paragraphs", "other rows", "rows that are never closed", "tags", "two words"
)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_pages_are_merged_before_the_test_times_out(name: str) -> None:
    base = HOSTILE[name]
    main, request = (
        f"Begin.\n\n{base.replace('a', 'm')}\nEnd of main.\n",
        f"{base.replace('a', 'r')}\nEnd of the request.\n",
    )
    merged = merge(base, main, request)
    assert "End of main." in merged.text_with_choice("main")
    assert "End of the request." in merged.text_with_choice("request")
    assert merge(base[:100], main, request).text_with_choice("both")


@STABLE
@given(three_texts())
def test_change_of_one_side_is_taken(texts: tuple[str, str, str]) -> None:
    base, main, request = texts
    assert merge(base, base, request).text() == request
    assert merge(base, main, base).text() == main
    assert merge(base, main, main).text() == main


@STABLE
@given(three_texts())
def test_merge_has_every_added_word(texts: tuple[str, str, str]) -> None:
    base, main, request = texts
    there = set(merge(base, main, request).text(request="#42").split())
    for side in (main, request):
        added = Counter(side.split()) - Counter(base.split())
        assert not {word for word in added if word.isalpha()} - there


@STABLE
@given(three_texts())
def test_swapped_sides_have_the_same_conflicts(texts: tuple[str, str, str]) -> None:
    base, main, request = texts
    assert bool(merge(base, main, request).conflicts) == bool(merge(base, request, main).conflicts)


@pytest.mark.parametrize("html", ["<table><tr><td>Pier</td></tr></table>", "<pre>Pier</pre>", "<p>Pier</p></figure>"])
@pytest.mark.parametrize("blank", ["", " "])
def test_tag_after_html_opens_a_container(html: str, blank: str) -> None:
    tab = '{{% tab title="{}" %}}\n{}\n{{% endtab %}}\n'
    tabs = "{% tabs %}\n" + tab.format("North", "The gate opens at six.") + "{% endtabs %}\n"
    more = tabs.replace("{% endtabs", "\n" + tab.format("South", "The lamps burn.") + "{% endtabs")
    merged = merge(f"{html}\n\n{tabs}", f"{html}{blank}{tabs.replace('six', 'nine')}", f"{html}\n\n{more}")
    assert not merged.named_conflicts
    assert merged.text() == f"{html}{blank}{more.replace('six', 'nine')}"


@pytest.mark.parametrize("edited_item", ["at six", "the boats"])
def test_html_list_rewritten_in_markdown_is_one_conflict(edited_item: str) -> None:
    items = ["<b>gate</b> - opens each morning at six", "<b>pier</b> - where <i>the boats</i> wait for the tide"]
    page = "# Harbor\n\nThe keeper knows all of it.\n\n{}\n\n## End\n\nThe end of the page.\n"
    base = page.format("<ul>\n\n" + "\n\n".join(f"<li>{item}</li>" for item in items) + "\n\n</ul>")
    main = base.replace(edited_item, "something else")
    request = page.format(re.sub("</?b>", "**", re.sub("</?i>", "_", "\n".join(f"* {item}" for item in items))))
    merged = merge(base, main, request)
    assert merged.text_with_choice("main") == main
    assert merged.text_with_choice("request") == request


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("```js\nlet one = '{1}' && roles.{0}(each => each.waits && each.lamp.isLit && all);\n```", "find", "all.find"),
        ("![Map of {1} and of all the gates, walls and lamps](../../pictures/{0}.png)", "harbour", "harbour/long/new"),
        (
            "Read about the {1} that come to the pier at six on each day of the week in the [list]({0}).",
            "bad",
            "../of/it.md",
        ),
    ],
)
def test_equal_edits_of_different_texts_are_no_conflict(text: str, old: str, new: str) -> None:
    def page(first: str, second: str) -> str:
        return f"{text.format(first, 'Boats and lamps')}\n\nA text between.\n\n{text.format(second, 'Tides')}\n"

    for main, request in ((page(new, old), page(old, new)), (page(old, new), page(new, old))):
        merged = merge(page(old, old), main, request)
        assert not merged.named_conflicts
        assert merged.text() == page(new, new)


@pytest.mark.parametrize(
    "form", ["<table>\n{}</table>", "<pre>\n{}</pre>", "{% hint %}\n<table>\n{}</table>\n{% endhint %}"]
)
@pytest.mark.parametrize(
    "text", ["The pilots walk along the long pier at six.", "{% include 'pilots-of-the-pier.md' %}"]
)
def test_text_after_a_closing_tag_is_merged_once(form: str, text: str) -> None:
    inside = "".join(f"<tr>\n<td>{each}</td>\n</tr>\n" for each in ("tide", "boat", "pier"))
    block, edited_block = (form.replace("{}", each) for each in (inside, inside.replace("boat", "barge")))
    joined, separate = f"{block}{text}\n\nEnd.\n", f"{block}\n\n{text}\n\nEnd.\n"
    for base, other in ((joined, separate), (separate, joined)):
        edited = base.replace(block, edited_block)
        for sides in ((other, edited), (edited, other)):
            merged = merge(base, *sides)
            assert not merged.named_conflicts
            assert merged.text() == other.replace(block, edited_block)


@pytest.mark.parametrize("opening", ["<div>", '<p align="center">', "<center>"])
def test_pictures_in_a_row_are_one_block(opening: str) -> None:
    closing = f"</{opening[1:].split()[0].rstrip('>')}>"
    pictures = [f'<figure><img src="{each}.png" alt=""></figure>' for each in ("boat", "pier")]
    row = f"{opening}{' '.join(pictures)}{closing}"
    blocks = ["# Harbour", row, "The boats come in."]
    assert [block.source for block in read_page("\n\n".join(blocks)).children or ()] == blocks


@pytest.mark.parametrize(
    "block", ["## Tides", "High water is at six.", "{% hint %}\nHigh water.\n{% endhint %}", "***", "![](pier.png)"]
)
def test_both_sides_deleting_one_of_two_equal_blocks_delete_the_same(block: str) -> None:
    base = f"# Harbour\n\nThe boats come in.\n\n{block}\n\n{block}\n\nThe pilots walk along the pier.\n"
    once = base.replace(f"{block}\n\n", "", 1)
    for edited in (once.replace("come in", "go out"), once.replace("along", "to")):
        for sides in ((once, edited), (edited, once)):
            merged = merge(base, *sides)
            assert not merged.named_conflicts
            assert merged.text() == edited


@pytest.mark.parametrize(
    "form", ["![](../assets/image%20%28{}%29.png)", '<figure><img src="../.assets/image ({}).png" alt=""></figure>']
)
def test_another_picture_is_no_edit_of_a_moved_picture(form: str) -> None:
    old_picture, moved_picture, new_picture = (form.replace("{}", number) for number in ("29", "27", "31"))
    steps = "\n\n### Tides\n\n* Walk to the pier.\n"
    base = f"{old_picture}{steps}\n{moved_picture}\n"
    main, request = f"{moved_picture}{steps}", f"{new_picture}{steps}\n{old_picture}\n"
    for sides in ((main, request), (request, main)):
        merged = merge(base, *sides)
        assert [merged.text_with_choice(side) for side in ("main", "request")] == [*sides]


@pytest.mark.parametrize("marker", ["", "## "])
def test_a_colored_text_that_one_side_moved_is_published_once(marker: str) -> None:
    old, colored, renamed = (
        f'{marker}<mark style="color:{color};">{name} Settings</mark>\n'
        for color, name in (("orange", "Accessing"), ("red", "Accessing"), ("orange", "App"))
    )
    steps = "Tap a game to play it.\n\nTap the plus to import the games.\n"
    main, request = f"{colored}\n{steps}", f"{steps}\n{renamed}"
    for sides in ((main, request), (request, main)):
        merged = merge(f"{old}\n{steps}", *sides)
        expected = [f"{steps}\n{colored if side == main else renamed}" for side in sides]
        assert [merged.text_with_choice(side) for side in ("main", "request")] == expected


def test_lines_of_code_with_a_tag_after_html_stay_whole() -> None:
    for text in ("```\n</table>{% tabs %}\n```\n", "* ```\n  </pre>{% tabs %}\n  ```\n", "    </pre>{% tabs %}\n"):
        assert read_page(text).source == text
        assert not any(block.kind == "tag" for block in read_page(text).walk())


@STABLE
@given(st.lists(st.text("abc", min_size=1, max_size=3), min_size=3, max_size=12), st.data())
def test_edits_of_different_paragraphs_keep_both(paragraphs: list[str], data: st.DataObject) -> None:
    owners = data.draw(st.lists(st.sampled_from("-mp"), min_size=len(paragraphs), max_size=len(paragraphs)))
    named = [f"{paragraph} {number}" for number, paragraph in enumerate(paragraphs)]

    def page(*sides: str) -> str:
        changed = [f"{text} by {who}" if who in sides else text for text, who in zip(named, owners, strict=True)]
        return "\n\n".join(changed) + "\n"

    merged = merge(page(), page("m"), page("p"))
    assert merged.text() == page("m", "p")
    assert not merged.named_conflicts


@STABLE
@given(three_texts())
def test_every_character_of_random_lines_belongs_to_one_block(texts: tuple[str, str, str]) -> None:
    for text in texts:
        assert read_page(text).source == text


@pytest.mark.before_release
def test_unclosed_fences_take_linear_time() -> None:
    # The test times out if each fence is compared with all fences after it.
    text = "`````a\n```\nb\n" * 200_000
    assert read_page(text).source == text


def test_headings_without_a_space_and_tables_with_loose_dashes_are_blocks() -> None:
    heading, table = read_page("##One\n| a | b |\n| : | : |\n| c | d |\n").children or ()
    assert (heading.kind, heading.level) == ("heading", 2)
    assert (table.kind, [row.head for row in table.children or ()]) == ("table", ["| c | d |"])


def test_html_element_around_blocks_is_merged_as_a_whole() -> None:
    page = "## One\n\nThe keeper opens the gate.\n\n## Two\n\nThe boats leave at noon.\n\n{}\n\nThe end of the page.\n"
    base = page.format("## What is next?")
    for name in ("ol", "div", "section"):
        wrapped = base.replace("## One", f"<{name}>\n\n## One").replace("noon.", f"noon.\n\n</{name}>")
        request = page.format("<h2>What is next?</h2>")
        for merged in (merge(base, wrapped, request), merge(base, request, wrapped)):
            assert not merged.conflicts
            assert merged.text() == wrapped.replace("## What is next?", "<h2>What is next?</h2>")
    unclosed = "<div>\n\nOne.\n\n<div>\n\nTwo.\n\n</div>\n"
    assert read_page(unclosed).source == unclosed
    assert [block.kind for block in read_page(unclosed).children or ()] == ["literal", "paragraph", "container"]


def test_line_added_to_code_gets_the_new_indentation_of_the_code() -> None:
    base = "1. Add the packages:\n\n   ```bash\n   cd harbor\n   add gate\n   ```\n2. Start it.\n"
    main = "1.  Add the packages:\n\n    ```bash\n    cd harbor\n    add gate\n    ```\n2.  Start it.\n"
    request = base.replace("add gate\n", "add gate\n   add pier\n")
    expected = main.replace("add gate\n", "add gate\n    add pier\n")
    assert merge(base, main, request).text() == expected
    assert merge(base, request, main).text() == expected


@pytest.mark.parametrize(
    ("block", "end", "added"),
    [
        ("```bash\ncd the/harbor/of/boats\nadd gate\n```", "add gate\n", "add pier\n"),
        ("{% hint %}\nAll boats wait at the gate until six.\n{% endhint %}", "six.\n", "\nThe lamps burn all night.\n"),
        ("* All boats wait at the gate.\n* They leave at six.", "", "\n* The lamps burn all night."),
    ],
)
def test_text_added_to_a_block_that_moved_into_an_item_is_indented(block: str, end: str, added: str) -> None:
    longer_block = block.replace(end, end + added) if end else block + added
    base, request = (
        f"## Set up\n\n{{% stepper %}}\n{{% step %}}\n**Add it**\n\n{each}\n{{% endstep %}}\n{{% endstepper %}}\n"
        for each in (block, longer_block)
    )
    main, expected = (
        f"## Set up\n\n1.  **Add it**\n\n{indent(each.replace('boats', 'ships'), '    ')}\n"
        for each in (block, longer_block)
    )
    assert merge(base, main, request).text_with_choice("main") == expected
    assert merge(base, request, main).text_with_choice("request") == expected


def test_one_choice_decides_about_text_of_a_container_that_the_sides_took_apart() -> None:
    text = "Take a look at the manual if you would like to help us."
    base = f"# Harbor\n\n{{% hint %}}\n{text}\n{{% endhint %}}\n\n## Boats\n\nThe boats leave at noon.\n"
    main = f"# Harbor\n\n## Boats\n\nThe boats leave at noon.\n\n{text}\n"
    request = base.replace(f"{{% hint %}}\n{text}\n{{% endhint %}}", f"### {text}")
    for first, second in ((main, request), (request, main)):
        merged = merge(base, first, second)
        assert len(merged.named_conflicts) == 1
        assert merged.text_with_choice("main") == first
        assert merged.text_with_choice("request") == second
