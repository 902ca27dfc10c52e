"""Differences between two pages."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from octavo.documents.blocks import Run
from octavo.documents.change_kinds import ChangeKinds
from octavo.documents.diff import diff
from octavo.documents.diff_model import (
    AddedBlock,
    AttributeChange,
    ChangedBlock,
    CodeChange,
    ContainerChange,
    Diff,
    MovedBlock,
    RemovedBlock,
    RestructuredBlocks,
    RowChange,
    TableChange,
    TextChange,
    UnchangedBlocks,
)
from octavo.documents.diff_nodes import changed_attributes, changed_run_attributes
from octavo.documents.diff_text import diff_lines, diff_runs, source_diff
from octavo.documents.sequences import diff_ranges
from octavo.documents.source_reader import parse
from tests.documents.diff_lines import lines, marked
from tests.documents.page_edits import edited_by_both
from tests.documents.rebuilt_pages import (
    all_text,
    blocks_after,
    blocks_before,
    check_rebuilt_pages,
    shown_letters,
)
from tests.documents.test_parser_properties import pages


def diff_of(old: str, new: str) -> Diff:
    return diff(parse(old), parse(new))


def only_change(old: str, new: str) -> ChangedBlock:
    """Return the only change between two pages."""
    found = [entry for entry in diff_of(old, new).entries if not isinstance(entry, UnchangedBlocks)]
    (entry,) = found
    assert isinstance(entry, ChangedBlock)
    return entry


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("The quick fox runs home.", "The quick dog runs home.", "The quick [-fox][+dog] runs home."),
        ("one two three four", "one two and three four", "one two [+and ]three four"),
        ("It is **bold** now, see", "It is bold now, see", "It is [fbold] now, see"),
        ("go [here](a.md) now, friend", "go [here](b.md) now, friend", "go [lhere] now, friend"),
        ("資料表示為文件結構", "資料表示成文件結構", "資料表示[-為][+成]文件結構"),
        ("# Old title here", "# New title here", "[-Old][+New] title here"),
        ("call `old_name` twice today", "call `new_name` twice today", "call [-old][+new]_name twice today"),
    ],
)
def test_changed_words_are_marked(old: str, new: str, expected: str) -> None:
    entry = only_change(old, new)
    assert isinstance(entry.content_change, TextChange)
    assert marked(entry.content_change.words) == expected


def test_format_change_and_link_change_are_distinguished() -> None:
    bold, link = (
        only_change("a b c d", "a **b** c d").content_change,
        only_change("[a b c](x)", "[a b c](y)").content_change,
    )
    assert isinstance(bold, TextChange)
    assert isinstance(link, TextChange)
    assert bold.kinds == frozenset({"format"})
    assert link.kinds == frozenset({"link"})
    assert bold.changed_share == link.changed_share == 0
    (word,) = link.words
    assert word.old
    assert (word.old.link, word.run.link) == ("x", "y")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("See [Guide](a.md) now", 'See [Guide](a.md "mention") now', "See [fGuide] now"),
        ('See [Guide](a.md "mention")s', "See [Guide](b.md)x", "See [fGuide][-s][+x]"),
        ("[Start](a.md)", '<a href="a.md" class="button">Start</a>', "[fStart]"),
        ('[Guide](a.md "mention")', "[Guides](a.md)", "[-Guide][+Guides]"),
    ],
)
def test_link_as_mention_or_button_is_another_format(old: str, new: str, expected: str) -> None:
    parts = only_change(old, new).content_change
    assert isinstance(parts, TextChange)
    assert marked(parts.words) == expected


def test_mostly_changed_text_is_rewritten() -> None:
    words = diff_runs((Run("alpha beta gamma delta"),), (Run("one two three four"),))
    assert words.is_rewritten


def test_changed_settings_are_described() -> None:
    entry = only_change('{% hint style="info" %}\na\n{% endhint %}', '{% hint style="warning" %}\na\n{% endhint %}')
    assert entry.notes == ("style: info → warning",)
    assert isinstance(entry.content_change, ContainerChange)
    assert only_change("### The same words", "#### The same words").notes == ("level: 3 → 4",)
    assert only_change("The same words", "## The same words").notes == ("paragraph → heading",)
    assert only_change("0. The same words", "1. The same words").notes == ("start: 0 → 1",)
    ticked = only_change("* [ ] do this thing", "* [x] do this thing").content_change
    assert isinstance(ticked, ContainerChange)
    (task,) = ticked.entries
    assert isinstance(task, ChangedBlock)
    assert task.notes == ("checked: no → yes",)


def test_changed_code_is_compared_line_by_line() -> None:
    entry = only_change("```\na\nlong line one\nc\n```", "```\na\nlong line two\nc\nd\n```")
    assert isinstance(entry.content_change, CodeChange)
    assert [(line.op, line.old, line.new) for line in entry.content_change.lines] == [
        ("equal", "a", "a"),
        ("change", "long line one", "long line two"),
        ("equal", "c", "c"),
        ("insert", "", "d"),
    ]


def test_container_change_has_entries_of_its_content() -> None:
    old = '{% tabs %}\n{% tab title="A" %}\none two three\n{% endtab %}\n{% tab title="B" %}\nsame\n{% endtab %}\n{% endtabs %}'
    entry = only_change(old, old.replace("two", "2").replace('"A"', '"AA"'))
    assert isinstance(entry.content_change, ContainerChange)
    tab, same = entry.content_change.entries
    assert isinstance(tab, ChangedBlock)
    assert tab.notes == ("title: A → AA",)
    assert isinstance(same, UnchangedBlocks)


def test_changed_tables_are_compared_cell_by_cell() -> None:
    old = "| Name | Value |\n|-|-|\n| a | one two three |\n| b | 2 |\n| c | 3 |\n"
    new = "| Name | New | Value |\n|-|-|-|\n| a | x | one 2 three |\n| b | | 2 |\n| d | | 4 |\n"
    entry = only_change(old, new)
    assert isinstance(entry.content_change, TableChange)
    assert [(pair.old_index, pair.new_index) for pair in entry.content_change.columns] == [(0, 0), (None, 1), (1, 2)]
    first = entry.content_change.rows[0]
    assert isinstance(first, ChangedBlock)
    assert isinstance(first.content_change, RowChange)
    assert [cell.words and marked(cell.words.words) for cell in first.content_change.cells] == [
        None,
        "[+x]",
        "one [-two][+2] three",
    ]
    assert blocks_before(entry.content_change.rows) == list(entry.old.children)
    assert blocks_after(entry.content_change.rows) == list(entry.new.children)


def test_adjacent_unchanged_blocks_are_one_entry() -> None:
    old = "# A\n\none\n\n## B\n\ntwo\n\nthree\n\nfour is here"
    found = diff_of(old, old.replace("four", "five"))
    same, change = found.entries
    assert isinstance(same, UnchangedBlocks)
    assert len(same.new) == len(same.old) == 5
    assert isinstance(change, ChangedBlock)
    assert (found.size.added, found.size.removed) == (1, 1)


def test_moved_block_has_a_departure_and_an_arrival() -> None:
    block = "A paragraph that is long enough to be followed.\n\n"
    rest = "".join(f"Another paragraph number {number}, quite unlike.\n\n" for number in "abcdef")
    found = diff_of(block + rest, rest + block)
    left, _, arrived = found.entries
    assert isinstance(left, MovedBlock)
    assert isinstance(arrived, MovedBlock)
    assert (left.number, left.is_arrival, arrived.number, arrived.is_arrival) == (1, False, 1, True)
    assert (found.size.added, found.size.removed) == (0, 0)


def test_moved_and_edited_block_is_marked_as_edited() -> None:
    block = "A paragraph that is long enough to be followed even when one word of it was changed.\n\n"
    rest = "".join(f"Another paragraph number {number}, quite unlike.\n\n" for number in "abcdef")
    arrived = diff_of(block + rest, rest + block.replace("one", "a")).entries[-1]
    assert isinstance(arrived, MovedBlock)
    assert arrived.is_edited


@pytest.mark.parametrize(
    ("wrapper", "name"),
    [
        ('{{% hint style="info" %}}\n{}\n{{% endhint %}}', "a hint"),
        ("<details>\n\n<summary>More</summary>\n\n{}\n\n</details>", "an expandable “More”"),
        ('{{% tabs %}}\n{{% tab title="x" %}}\n{}\n{{% endtab %}}\n{{% endtabs %}}', "tabs"),
    ],
)
def test_wrapping_in_a_container_is_noted(wrapper: str, name: str) -> None:
    words = "These words go into a container of some kind."
    wrapped = f"# T\n\n{wrapper.format(words)}\n\nend"
    bare = f"# T\n\n{words}\n\nend"
    (into,) = [entry for entry in diff_of(bare, wrapped).entries if isinstance(entry, RestructuredBlocks)]
    (out,) = [entry for entry in diff_of(wrapped, bare).entries if isinstance(entry, RestructuredBlocks)]
    assert into.note == f"wrapped in {name}"
    assert out.note == f"unwrapped from {name}"
    inner = into.entries
    while isinstance(inner[0], AddedBlock):
        (frame,) = inner
        assert isinstance(frame, AddedBlock)
        inner = frame.entries
    removed = [entry.block.plain() for entry in out.entries if isinstance(entry, RemovedBlock)]
    assert removed == (["x"] if name == "tabs" else [])  # The title, which the note does not name.
    assert all(isinstance(entry, UnchangedBlocks) for entry in (*inner, *out.entries[len(removed) :]))


def test_rearranged_blocks_are_restructured() -> None:
    steps = [(f"Title number {n}", f"Some words that say what to do in step {n} of all.") for n in range(3)]
    old = "".join(f"#### {title}\n\n* {body}\n\n" for title, body in steps)
    new = (
        "{% stepper %}\n"
        + "".join(f"{{% step %}}\n### {title}\n\n{body}\n{{% endstep %}}\n\n" for title, body in steps)
        + "{% endstepper %}"
    )
    (entry,) = diff_of(old, new).entries
    assert isinstance(entry, RestructuredBlocks)
    assert entry.note == "heading ×3, list ×3 → stepper"


def test_invisible_change_is_an_empty_diff() -> None:
    found = diff_of("a\\_b\n\n* x\n* y", "a_b\n\n- x\n- y\n")
    assert found.is_empty
    assert found.unseen_line_count == 4


def test_long_values_are_cut_to_show_their_difference() -> None:
    text = "The boats that lie along the long pier leave the harbour at high water, and "
    change = AttributeChange("description", f"{text}the pilots help them.", f"{text}a pilot helps them.")
    assert str(change) == (
        "description: … at high water, and the pilots help them. → … at high water, and a pilot helps them."
    )


def test_changed_front_matter_is_listed() -> None:
    found = diff_of(
        "---\ntitle: A\nlayout:\n  cover: true\n---\n\nx", "---\ntitle: B\nlayout:\n  cover: false\n---\n\nx"
    )
    assert found.metadata == (AttributeChange("title", "A", "B"), AttributeChange("layout.cover", "yes", "no"))
    assert not found.is_empty


@settings(max_examples=120, suppress_health_check=[HealthCheck.too_slow])
@given(pages, pages)
def test_both_pages_can_be_rebuilt_from_the_diff(old: str, new: str) -> None:
    before, after = parse(old), parse(new)
    found = diff(before, after)
    check_rebuilt_pages(found, before, after)
    assert found.size.words_after == diff(after, after).size.words_before


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**9), st.integers(1, 8))
def test_each_removed_and_added_letter_is_shown(seed: int, size: int) -> None:
    texts = edited_by_both(seed, size, (2, 2))
    before, after = parse(texts.main), parse(texts.request)
    removed, added = shown_letters(diff(before, after).entries)
    old_letters, new_letters = (
        Counter("".join("".join(map(all_text, page.blocks)).split())) for page in (before, after)
    )
    assert not old_letters - new_letters - removed
    assert not new_letters - old_letters - added


TITLED = "<details>\n\n<summary>{}</summary>\n\n{}\n\n</details>"
FOUR_TEXTS = {
    "Tides": "The tide turns at six in the morning.",
    "Boats": "Boats wait at the quay until noon.",
    "Keeper": "The keeper counts the ships at night.",
    "Winter": "In the winter nobody comes here.",
}


def test_titles_of_many_removed_containers_are_shown_as_removed() -> None:
    titled = "\n\n".join(TITLED.format(*part) for part in FOUR_TEXTS.items())
    found = diff_of(f"# A\n\n{titled}\n\n# End", "\n\n".join(["# A", *FOUR_TEXTS.values(), "# End"]))
    titles = [line for title in FOUR_TEXTS for line in (f"  - heading {title}", "  = 1")]
    assert lines(found) == ["= 1", "% unwrapped from expandable ×4", *titles, "= 1"]
    assert (found.size.added, found.size.removed) == (0, 4)


def test_titles_of_removed_tabs_do_not_count_as_added_words() -> None:
    inner = "".join(
        f'{{% tab title="{title}" %}}\n{FOUR_TEXTS[title]}\n{{% endtab %}}\n' for title in ("Tides", "Boats")
    )
    found = diff_of(f"{{% tabs %}}\n{inner}{{% endtabs %}}\n", FOUR_TEXTS["Tides"])
    assert (found.size.added, found.size.removed) == (0, 7)


def test_title_that_a_note_names_is_not_repeated() -> None:
    text = FOUR_TEXTS["Tides"]
    found = diff_of(f"# A\n\n{TITLED.format('Tides', text)}\n\n# End", f"# A\n\n{text}\n\n# End")
    assert lines(found) == ["= 1", "% unwrapped from an expandable “Tides”", "  = 1", "= 1"]


def test_new_title_of_a_kept_container_is_one_change() -> None:
    first, second, third, _ = FOUR_TEXTS.values()
    two, all_three = f"{first}\n\n{second}", f"{first}\n\n{second}\n\n{third}"
    found = diff_of(
        f"# A\n\n{TITLED.format('Quite another name', two)}\n\n{third}\n\n# End",
        f"# A\n\n{TITLED.format('Tides', all_three)}\n\n# End",
    )
    assert (found.size.added, found.size.removed) == (1, 3)
    assert sum("Quite another name" in line for line in lines(found)) == 1


_ROWS = st.lists(st.tuples(st.sampled_from("abcdefgh"), st.sampled_from(["one", "two", "3"])), max_size=6, unique=True)


def _table(rows: list[tuple[str, str]]) -> str:
    return "".join(["| a | b |\n|-|-|\n", *(f"| {one} | {other} |\n" for one, other in rows)])


@settings(max_examples=100)
@given(_ROWS, _ROWS)
def test_both_tables_can_be_rebuilt_from_the_diff(old: list[tuple[str, str]], new: list[tuple[str, str]]) -> None:
    before, after = parse(_table(old)), parse(_table(new))
    found = diff(before, after)
    check_rebuilt_pages(found, before, after)
    assert found.is_empty == (old == new)
    assert found.size.words_after == diff(after, after).size.words_before


@settings(max_examples=50)
@given(st.permutations("abcdef"))
def test_reordered_rows_are_only_moved(names: list[str]) -> None:
    rows = [(name, f"what {name} is") for name in "abcdef"]
    found = diff_of(_table(rows), _table(sorted(rows, key=lambda row: names.index(row[0]))))
    for entry in found.entries:
        if isinstance(entry, ChangedBlock):
            assert isinstance(entry.content_change, TableChange)
            assert all(isinstance(row, (UnchangedBlocks, MovedBlock)) for row in entry.content_change.rows)
            numbers = [(row.number, row.is_arrival) for row in entry.content_change.rows if isinstance(row, MovedBlock)]
            assert len(set(numbers)) == len(numbers)
    assert (found.size.added, found.size.removed) == (0, 0)


def test_short_row_can_be_moved() -> None:
    head, one, two = "| a | b |\n|-|-|\n", "| 1 | 2 |\n", "| 3 | 4 |\n"
    found = diff_of(head + one + two + two, head + two + two + one)
    (table,) = found.entries
    assert isinstance(table, ChangedBlock)
    assert isinstance(table.content_change, TableChange)
    assert [type(row) for row in table.content_change.rows] == [MovedBlock, UnchangedBlocks, MovedBlock]


def test_short_block_moved_among_siblings_is_a_move() -> None:
    assert lines(diff_of("Yes.\n\nNo.\n\nOr.", "No.\n\nOr.\n\nYes.")) == [
        "< 1 paragraph Yes.",
        "= 2",
        "> 1 paragraph Yes.",
    ]


@pytest.mark.parametrize("code", ["    The tide turns at six.", "```text\nThe tide\nturns at six.\n```"])
def test_text_that_becomes_code_is_one_change_without_other_words(code: str) -> None:
    pages = [f"# Tides\n\nOne.\n\n{text}\n\n## End" for text in ("The tide turns at six.", code)]
    for old, new in (pages, pages[::-1]):
        found = diff_of(old, new)
        (entry,) = [entry for entry in found.entries if not isinstance(entry, UnchangedBlocks)]
        assert isinstance(entry, ChangedBlock)
        assert entry.notes == (f"{entry.old.kind} → {entry.new.kind}",)
        assert {entry.old.kind, entry.new.kind} == {"paragraph", "code"}
        assert (found.size.added, found.size.removed) == (0, 0)
        assert dict(ChangeKinds(found.entries).counts) == {"code": 1}


def test_code_with_some_words_of_a_paragraph_is_not_its_new_version() -> None:
    found = diff_of("Run `octavo demo` to see the app.", "```\noctavo demo\n```")
    assert not any(isinstance(entry, ChangedBlock) for entry in found.entries)


def test_image_with_another_address_counts_as_one_word_without_its_caption() -> None:
    figure = '<figure><img src="a.png" alt=""><figcaption><p>Boats at the quay</p></figcaption></figure>'
    found = diff_of(figure, figure.replace("a.png", "b.png"))
    assert (found.size.added, found.size.removed) == (1, 1)


def test_page_with_another_text_is_rewritten() -> None:
    old = "\n\n".join(f"The tide turns at {number} and nobody waits for it." for number in range(9))
    new = "\n\n".join(f"Boats that are full leave quay {number}, whoever is late." for number in range(9))
    assert diff_of(old, new).size.is_rewritten
    assert not diff_of(old, f"{old}\n\n{new}").size.is_rewritten
    assert not diff_of(f"{old}\n\n{new}", old).size.is_rewritten
    assert not diff_of("", new).size.is_rewritten
    assert not diff_of("One. Two.", "Three. Four.").size.is_rewritten


def test_links_are_paired_by_target_if_their_names_differ() -> None:
    old = "* [Recommendation Alert Discussion](talk.md)\n* [Recommendation Analytics](count.md)\n* [Recommendation Chart](a.md)"
    new = "* [Alert Action](act.md)\n* [Alert Analytics](count.md)\n* [Alert Discussion](talk.md)\n* [Recommendation Chart](a.md)"
    assert lines(diff_of(old, new)) == [
        "~ list",
        "  + item Alert Action",
        "  + item Alert Analytics",
        "  ~ item",
        "    ~ paragraph",
        "      [-Recommendation ]Alert Discussion",
        "  - item Recommendation Analytics",
        "  = 1",
    ]
    assert lines(diff_of("* [3.0.0-alpha](3.md)", "* [6.0.0-rc](6.md)"))[-1] == "      [-3][+6][l.0.0-][-alpha][+rc]"


def test_line_of_code_with_another_indentation_is_one_change() -> None:
    entry = only_change("```\na {\n        }\n}\n```", "```\na {\n\t}\n}\n```")
    assert isinstance(entry.content_change, CodeChange)
    assert [line.op for line in entry.content_change.lines] == ["equal", "change", "equal"]


def test_moved_bracket_with_new_indentation_does_not_hide_a_changed_line() -> None:
    entry = only_change("```\n}\nreturn length(quay, tide)\n```", "```\nreturn length(quay, wind)\n  }\n```")
    assert isinstance(entry.content_change, CodeChange)
    assert [line.op for line in entry.content_change.lines] == ["delete", "change", "insert"]


def test_items_of_a_long_list_are_paired_correctly() -> None:
    old = "".join(f"* item {number} says where quay {number * 7} is\n" for number in range(600))
    found = diff_of(old, old.replace("says", "tells"))
    assert (found.size.added, found.size.removed) == (600, 600)


@settings(max_examples=100)
@given(pages)
def test_diff_of_equal_pages_is_empty(page: str) -> None:
    found = diff(parse(page), parse(page))
    assert found.is_empty
    assert (found.unseen_line_count, found.size.added, found.size.removed) == (0, 0, 0)


@given(st.text(alphabet="ab c漢字.\n", max_size=60), st.text(alphabet="ab c漢字.\n", max_size=60))
def test_text_change_contains_both_texts(old: str, new: str) -> None:
    words = diff_runs((Run(old),), (Run(new),)).words
    after = "".join(word.run.text for word in words if word.op != "delete")
    before = "".join(word.run.text for word in words if word.op != "insert")
    assert after == new
    assert before.split() == old.split()


@given(st.lists(st.sampled_from("abc"), max_size=30), st.lists(st.sampled_from("abc"), max_size=30))
def test_diff_ranges_cover_both_sequences(old: list[str], new: list[str]) -> None:
    i = j = 0
    for equal, i1, i2, j1, j2 in diff_ranges(old, new):
        assert (i1, j1) == (i, j)
        assert not equal or old[i1:i2] == new[j1:j2]
        i, j = i2, j2
    assert (i, j) == (len(old), len(new))


def test_long_sequences_without_landmarks_are_compared_by_halves() -> None:
    old = [number * 7919 % 13 for number in range(20_000)]
    new = [*old[:9000], 99, *old[9001:]]
    equal = [each for each in diff_ranges(old, new) if each.equal]
    assert sum(each.i2 - each.i1 for each in equal) == 19_999
    other = [99 if number % 1000 == 500 else each for number, each in enumerate(old)]
    equal = [each for each in diff_ranges(old, other) if each.equal]
    assert sum(each.i2 - each.i1 for each in equal) > 19_900


def test_long_sequences_are_compared_between_landmarks() -> None:
    old = [f"line {number}" for number in range(20_000)]
    new = [f"x{number}" if number % 3 else line for number, line in enumerate(old)]
    equal = [each for each in diff_ranges(old, new) if each.equal]
    assert sum(each.i2 - each.i1 for each in equal) == len([number for number in range(20_000) if number % 3 == 0])


@given(st.lists(st.sampled_from(["a", "b", "long line", "long lines", ""]), max_size=12).map("\n".join), pages)
def test_line_changes_contain_both_texts(old: str, new: str) -> None:
    lines = diff_lines(old, new)
    assert "\n".join(line.old for line in lines if line.op != "insert") == old
    assert "\n".join(line.new for line in lines if line.op != "delete") == new
    assert [line.new_number for line in lines if line.op != "delete"] == list(range(new.count("\n") + 1))
    assert [line.old_number for line in lines if line.op != "insert"] == list(range(old.count("\n") + 1))


def test_source_diff_is_split_into_hunks() -> None:
    old = [f"line {number}" for number in range(40)]
    new = [*old[:10], "new", *old[11:30], *old[31:]]
    one, two = source_diff("\n".join(old), "\n".join(new), context=2)
    assert [line.op for line in one.lines] == ["equal", "equal", "delete", "insert", "equal", "equal"]
    assert (one.skipped_count, two.skipped_count) == (8, 15)
    assert [line.op for line in two.lines] == ["equal", "equal", "delete", "equal", "equal"]
    assert source_diff("a\nb", "a\nb") == ()


def test_source_diff_with_more_context_than_lines_is_one_hunk() -> None:
    (hunk,) = source_diff("a\nb\nc", "a\nb\nd", context=10**18)
    assert (hunk.skipped_count, [line.op for line in hunk.lines]) == (0, ["equal", "equal", "delete", "insert"])


@pytest.mark.parametrize("context", [0, 1, 2, 3])
def test_source_diff_shows_the_lines_near_changes(context: int) -> None:
    texts = [f"line {number}" for number in range(12)]
    new = ["new" if number in (0, 4, 5, 11) else text for number, text in enumerate(texts)]
    lines = diff_lines("\n".join(texts), "\n".join(new))
    changed = [number for number, line in enumerate(lines) if line.op != "equal"]
    expected = [line for number, line in enumerate(lines) if any(abs(number - each) <= context for each in changed)]
    hunks = source_diff("\n".join(texts), "\n".join(new), context)
    assert [line for hunk in hunks for line in hunk.lines] == expected


REST = "".join(f"Another paragraph number {number}, quite unlike.\n\n" for number in "abcdef")
TIDE = "The tide turns at six in the morning, and all boats that are full by then leave the quay with it."
BOATS = "Every boat that wants to leave tells the office of the harbour so, a day before that, in writing."


def _tabs(*tabs: tuple[str, str]) -> str:
    inner = "".join(f'{{% tab title="{title}" %}}\n{text}\n{{% endtab %}}\n' for title, text in tabs)
    return f"{{% tabs %}}\n{inner}{{% endtabs %}}\n\n"


def _lines(old: str, new: str) -> list[str]:
    found = diff_of(old, new)
    check_rebuilt_pages(found, parse(old), parse(new))
    assert found.size.words_after == diff_of(new, new).size.words_before
    return lines(found)


def test_block_moved_into_a_container_is_moved_and_edited() -> None:
    told = _lines(f"{TIDE}\n\n{REST}", f"{REST}{_tabs(('Low', TIDE.replace('six', 'ten')), ('High', BOATS))}")
    assert told == [
        f"< 1 paragraph {TIDE.replace('six', 'ten')}",
        "= 6",
        "+ around tabs",
        "  + around tab",
        f"    > 1 paragraph {TIDE.replace('six', 'ten')}",
        f"      {TIDE.replace('six', '[-six][+ten]')}",
        f"  + tab {BOATS}",
    ]


def test_block_moved_out_of_a_container_leaves_the_rest() -> None:
    hint = f"{{% hint %}}\n{BOATS}\n\n{TIDE}\n{{% endhint %}}\n\n"
    told = _lines(f"{hint}{REST}", f"{hint.replace(TIDE, '')}{REST}{TIDE}")
    assert told == ["~ hint", "  = 1", f"  < 1 paragraph {TIDE}", "= 6", f"> 1 paragraph {TIDE}"]


def test_block_moved_between_containers_is_moved() -> None:
    hint = "{{% hint %}}\n{}\n{{% endhint %}}\n\n"
    more = "<details>\n\n<summary>More</summary>\n\n{}\n\n</details>\n\n"
    told = _lines(
        hint.format(f"{BOATS}\n\n{TIDE}") + REST + more.format("x"),
        hint.format(BOATS) + REST + more.format(f"x\n\n{TIDE}"),
    )
    assert f"  < 1 paragraph {TIDE}" in told
    assert f"  > 1 paragraph {TIDE}" in told


def test_moved_and_edited_container_has_inner_entries() -> None:
    old, new = _tabs(("Low", TIDE), ("High", BOATS)), _tabs(("Low", TIDE.replace("six", "ten")), ("High", BOATS))
    told = _lines(old + REST, REST + new)
    assert told == [
        f"< 1 tabs {TIDE.replace('six', 'ten')} / {BOATS}",
        "= 6",
        f"> 1 tabs {TIDE.replace('six', 'ten')} / {BOATS}",
        "  ~ tab",
        "    ~ paragraph",
        f"      {TIDE.replace('six', '[-six][+ten]')}",
        "  = 1",
    ]


_CARDS = '<table data-view="cards"><thead><tr><th></th><th></th></tr></thead><tbody>{}</tbody></table>\n'
_CARD = "<tr><td>{}</td><td>{}</td></tr>"
_TOLD = (
    ("Gates open", "The gates of the lock open an hour before high water."),
    ("Gates close", "They close as soon as the tide turns in the harbour."),
)


@pytest.mark.parametrize("form", ["{}\n\n{}\n\n", "### {}\n\n{}\n\n", "* {}\n* {}\n"])
@pytest.mark.parametrize("is_edited", [False, True])
def test_cards_converted_to_text_are_one_change(form: str, is_edited: bool) -> None:
    cards = _CARDS.format("".join(_CARD.format(*each) for each in _TOLD))
    texts = "".join(form.format(*each) for each in _TOLD)
    if is_edited:
        texts = texts.replace("an hour", "two hours")
    (back,) = [entry for entry in diff_of(cards, texts).entries if isinstance(entry, RestructuredBlocks)]
    assert back.note.startswith("cards → ")
    assert not any(isinstance(entry, (AddedBlock, RemovedBlock)) for entry in back.entries)
    assert [block.kind for block in back.old] == ["cards"]
    assert len(back.new) == (1 if form.startswith("*") else 4)
    (into,) = [entry for entry in diff_of(texts, cards).entries if isinstance(entry, RestructuredBlocks)]
    assert into.note.endswith(" → cards")


def test_column_width_is_shown_in_percent() -> None:
    column = '{{% columns %}}\n{{% column width="{}" %}}\nOne\n{{% endcolumn %}}\n{{% endcolumns %}}\n'
    old, thirds, near = (parse(column.format(width)).blocks[0].children[0] for width in ("50", "66.6667", "66.67"))
    assert [str(each) for each in changed_attributes(old, thirds)] == ["width: 50 % → 67 %"]
    assert [str(each) for each in changed_attributes(thirds, near)] == ["width: 66.6667 % → 66.67 %"]


def test_picture_taken_out_of_a_moved_item_is_moved() -> None:
    picture, end = "![](boats.png)\n\n", "## End\n\nThe end.\n"
    told = _lines(f"{REST}* {BOATS}\n\n  {picture}{end}", f"* {BOATS}\n\n{picture}{REST}{end}")
    assert "    < 2 figure" in told
    assert "> 2 figure" in told


def test_section_that_was_copied_stays_at_its_place() -> None:
    section = f"{TIDE}\n\n```\ncount the boats\n```\n\n"
    old = f"## Test\n\n{REST}### Coins\n\n{section}### Ports\n\n{BOATS}\n\n## Old\n\n### First\n\nNo boats.\n"
    test = f"### Test\n\n{REST}#### Coins on Test\n\n{section}#### Ports\n\n{BOATS}\n\n### First\n\nNo boats.\n"
    told = _lines(old, f"## Dawn\n\n### Coins on Dawn\n\n{section}## Old\n\n{test}")
    assert "+ heading Coins on Dawn" in told
    assert "  Coins[+ on Test]" in told


def test_link_that_includes_more_words_is_new_for_these_words() -> None:
    old = parse("See how to run the [**first formula**](run.md) today.")
    new = parse("See [how to run the **first formula**](run.md) today.")
    words = diff_runs(old.blocks[0].runs, new.blocks[0].runs).words
    assert [str(each) for each in changed_run_attributes(words)] == ["link “how to run the”: none → run.md"]
