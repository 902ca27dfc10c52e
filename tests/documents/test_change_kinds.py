"""What changes affect: numbers and links rank before wording. Some changes leave the meaning of a page unchanged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from octavo.documents.change_kinds import (
    KINDS,
    ChangeKind,
    ChangeKinds,
    leading_kind,
    may_affect_meaning,
    risk_sort_key,
    text_facts,
)
from octavo.documents.diff import diff
from octavo.documents.diff_model import (
    ChangedBlock,
    ContainerChange,
    DiffEntry,
    MovedBlock,
    RemovedBlock,
    RestructuredBlocks,
    TextChange,
)
from octavo.documents.source_reader import parse
from tests.documents.test_corpus import CORPUS, needs_corpus

LONG = (
    "The service keeps a copy of each reading for {} days, after which the copies are removed by a task that runs at night"
    " and which nobody has to start."
)
REWORDED = (
    "Each reading is copied, and the service keeps those copies for {} days; a nightly task, which starts on its own, then"
    " removes them."
)
FIRST = "The first paragraph is about the harbour and about all the ships that come here in the summer."
SECOND = "The second paragraph tells how the keeper of the light counts the ships and writes them down."
PAIRS = CORPUS / "pairs"


def kinds_of(before: str, after: str) -> list[frozenset[ChangeKind]]:
    """Return the kinds of each change, in the order of the page."""
    changed = diff(parse(before), parse(after))
    kinds = ChangeKinds(changed.entries)
    return [kinds.of(entry) for entry in walk(changed.entries) if kinds.of(entry)]


def walk(entries: Sequence[DiffEntry]) -> Iterator[DiffEntry]:
    for entry in entries:
        yield entry
        parts = getattr(entry, "content_change", None)
        if not (isinstance(entry, RestructuredBlocks) and entry.is_replaced):
            yield from walk(parts.entries if isinstance(parts, ContainerChange) else getattr(entry, "entries", ()))


def only_kinds(before: str, after: str) -> frozenset[ChangeKind]:
    (kinds,) = kinds_of(before, after)
    return kinds


def counts(before: str, after: str) -> Mapping[ChangeKind, int]:
    return ChangeKinds(diff(parse(before), parse(after)).entries).counts


def test_number_changed_in_long_reworded_sentence_is_number() -> None:
    kinds = only_kinds(LONG.format(30), REWORDED.format(90))
    assert leading_kind(kinds) == "number"
    assert "wording" in kinds


@pytest.mark.parametrize(
    ("before", "after"),
    [("Keep it for ten days.", "Keep it for ~~ten days~~."), ("Wait 102 days.", "Wait 10<sup>2</sup> days.")],
)
def test_struck_or_raised_words_are_more_than_formatting(before: str, after: str) -> None:
    assert may_affect_meaning(only_kinds(before, after))


def test_moved_step_of_numbered_list_has_meaning() -> None:
    stop, start = "Stop the pump and wait.", "Open the valve of the tank."
    assert counts(f"1. {stop}\n2. {start}\n", f"1. {start}\n2. {stop}\n") == {"number": 1}
    assert counts(f"- {stop}\n- {start}\n", f"- {start}\n- {stop}\n") == {"move": 1}


def test_reworded_sentence_with_same_number_is_wording() -> None:
    assert only_kinds(LONG.format(30), REWORDED.format(30)) == {"wording"}


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ("Wait 30 seconds for it.", "Wait 30 minutes for it.", "unit"),
        ("Timeouts are in seconds.", "Timeouts are in milliseconds.", "unit"),
        ("It may use 10 MB of memory.", "It may use 10 Mb of memory.", "unit"),
        ("A rise of 5% is usual.", "A rise of 5‰ is usual.", "unit"),
        ("Set it to -5 degrees.", "Set it to 5 degrees.", "number"),
        ("From 5 to 10 ships.", "From 10 to 5 ships.", "number"),
        ("Use version 2.0.1 of it.", "Use version 2.1.0 of it.", "number"),
        ("It is kept for two days.", "It is kept for three days.", "number"),
        ("Enter at least 8 letters.", "Enter at most 8 letters.", "number"),
        ("Call /v1/ships to list them.", "Call /v2/ships to list them.", "number"),
        ("The hash is 9f8e7a now.", "The hash is 9f8e7b now.", "number"),
        ("You can delete it.", "You can not delete it.", "warning"),
        ("You should wait.", "You must wait.", "warning"),
        ("Run `npm install octavo` here.", "Run `npm remove octavo` here.", "command"),
        ("Set `color` to the name.", "Set `colour` to the name.", "code"),
        ("See [the tides](tides.md).", "See [the tides](moon.md).", "link"),
        ("See https://a.example/x for more.", "See https://a.example/y for more.", "link"),
        ("![Map](map-old.png)", "![Map](map-new.png)", "link"),
        ("The keeper counts ships.", "The guard counts ships.", "wording"),
        ("The **keeper** counts ships.", "The keeper counts ships.", "formatting"),
        ("## Ships\n", "### Ships\n", "formatting"),
    ],
)
def test_edited_text_has_its_most_important_kind(before: str, after: str, kind: str) -> None:
    assert leading_kind(only_kinds(before, after)) == kind


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Wait 30 seconds for the tide.", "Wait 30 s until the tide."),
        ("You cannot delete the ship.", "You can't delete the ships."),
        ("One of the ships is here.", "Some of the ships are here."),
    ],
)
def test_other_spelling_of_same_fact_is_wording(before: str, after: str) -> None:
    assert only_kinds(before, after) == {"wording"}


@pytest.mark.parametrize(
    "text",
    [
        "It returns `List<Boat>`.",
        "It is a list of < Boat > in order.",
        "Open Settings > General first.",
        "Put the name in <name> here.",
        "We own up to our errors.",
        "Set it to %(name)s or %Y.",
        "Set it in $HOME or ${DATA}.",
    ],
)
def test_brackets_and_signs_of_names_are_no_numbers_or_units(text: str) -> None:
    assert only_kinds("First.\n", f"First.\n\n{text}\n").isdisjoint({"number", "unit"})


def test_heading_with_other_words_and_level_is_wording() -> None:
    assert only_kinds("## Boats\n\nLast.\n", "# The harbour\n\nLast.\n") == {"formatting", "wording"}


def test_format_that_ends_inside_a_word_is_formatting() -> None:
    assert only_kinds("By default, `in_tai`l reads it.", "By default, `in_tail` reads it.") == {"formatting"}


@pytest.mark.parametrize(
    ("before", "after"),
    [("< 5", "> 5"), ("<5", ">5"), (">= x", "<= x"), ("5 < x", "5 > x"), ("up to one hour", "one hour")],
)
def test_turned_comparison_is_number(before: str, after: str) -> None:
    assert leading_kind(only_kinds(f"It is open if {before} holds.", f"It is open if {after} holds.")) == "number"


def test_space_that_left_a_link_is_no_changed_link() -> None:
    before = "It costs fees. Check the [boat book section](/a) and the [tide book](/b) for additional details"
    after = "It costs a fee. See [boat book](/a) and the [tide book](/b) for details."
    (entry,) = diff(parse(before), parse(after)).entries
    assert isinstance(entry, ChangedBlock)
    assert isinstance(entry.content_change, TextChange)
    assert entry.content_change.kinds == {"words"}


def test_other_image_in_a_rewritten_text_is_link() -> None:
    text, image = "{} Ask the keeper of the light.", '<img src="{}.png" alt="" data-size="line"> '
    before = image.format("anchor") + LONG.format(30)
    assert "link" in only_kinds(before, text.format(image.format("buoy")))
    assert "link" not in only_kinds(before, text.format(image.format("anchor")))


def test_alignment_of_a_column_is_formatting() -> None:
    table = "| Name | Size |\n| - | {} |\n| Boat | 7 |\n"
    assert only_kinds(table.format("-"), table.format("-:")) == {"formatting"}


def test_changed_code_blocks_are_commands_or_code() -> None:
    python, shell = "```python\nprint({})\n```", "```bash\nmake {}\n```"
    assert only_kinds(python.format("a"), python.format("b")) == {"code"}
    assert only_kinds(python.format(1), python.format(2)) == {"code", "number"}
    assert only_kinds(shell.format("all"), shell.format("install")) == {"command"}


def test_changed_indentation_of_code_counts_and_trailing_space_does_not() -> None:
    code = "```yaml\na:\n{}b: c{}\n```"
    assert only_kinds(code.format("  ", ""), code.format("", "")) == {"code"}
    assert only_kinds(code.format("  ", ""), code.format("  ", "   ")) == {"white space"}


def test_text_in_warning_hint_is_warning() -> None:
    hint = '{{% hint style="{}" %}}\nKeep {} from the rail.\n{{% endhint %}}'
    assert "warning" in only_kinds(hint.format("danger", "away"), hint.format("danger", "back"))
    assert only_kinds(hint.format("info", "away"), hint.format("info", "back")) == {"wording"}
    assert only_kinds(hint.format("info", "away"), hint.format("danger", "away")) == {"warning"}


def test_number_in_table_is_number_of_its_table() -> None:
    table = "| Name | Limit |\n| - | - |\n| ships | {} |\n| boats | 7 |\n"
    assert leading_kind(only_kinds(table.format(100), table.format(1000))) == "number"


def test_moved_block_is_without_meaning() -> None:
    kinds = kinds_of(f"{FIRST}\n\n{SECOND}\n\n# Ships\n", f"{SECOND}\n\n{FIRST}\n\n# Ships\n")
    assert kinds == [{"move"}, {"move"}]
    assert not any(map(may_affect_meaning, kinds))


def test_moved_block_with_changed_number_has_meaning() -> None:
    text = f"{FIRST} They are 30 in number, or a few more."
    changed = diff(parse(f"{text}\n\n{SECOND}\n\n# End\n"), parse(f"{SECOND}\n\n# End\n\n{text.replace('30', '80')}\n"))
    kinds = ChangeKinds(changed.entries)
    moves = [entry for entry in changed.entries if isinstance(entry, MovedBlock)]
    assert [(entry.is_arrival, may_affect_meaning(kinds.of(entry))) for entry in moves] == [
        (False, False),
        (True, True),
    ]
    assert kinds.counts == {"number": 1}


def test_split_paragraph_is_formatting() -> None:
    assert counts(f"{FIRST} {SECOND}\n\n# End\n", f"{FIRST}\n\n{SECOND}\n\n# End\n") == {"formatting": 1}
    assert "number" in counts(f"{FIRST} At 5. {SECOND}\n\n# End\n", f"{FIRST} At 6.\n\n{SECOND}\n\n# End\n")


def test_removed_block_is_deletion_and_removed_warning_is_warning() -> None:
    hint = '{% hint style="danger" %}\nKeep away.\n{% endhint %}'
    assert only_kinds(f"{FIRST}\n\nGone 5 times.\n", f"{FIRST}\n") == {"deletion"}
    assert only_kinds(f"{FIRST}\n\n{hint}\n", f"{FIRST}\n") == {"deletion", "warning"}
    assert "deletion" in only_kinds(f"{FIRST} Nobody counts these five here.\n", f"{FIRST}\n")


def test_risk_puts_changed_numbers_before_added_numbers_and_words() -> None:
    changes: list[set[ChangeKind]] = [{"wording"}, {"number", "addition"}, {"move"}, {"number", "wording"}, {"link"}]
    ordered = sorted(changes, key=risk_sort_key)
    assert ordered == [{"number", "wording"}, {"number", "addition"}, {"link"}, {"wording"}, {"move"}]


@pytest.mark.parametrize(
    ("text", "numbers", "units"),
    [
        ("1,000.50 of 10:30 and 2024-05-01", ("1,000.50", "10:30", "2024", "05", "01"), ()),
        ("10k, 5 s, 30s, $7 and 9 GB", ("10", "5", "30", "7", "9"), ("k", "s", "s", "$", "GB")),
        ("the second minute of 2 in the list", ("2",), ()),
        ("OAuth2 < 3 -> S3", ("oauth2", "<", "3", "s3"), ()),
        ("100%的，不是 5 %的", ("100", "5"), ("%", "%")),
    ],
)
def test_numbers_and_units_of_text(text: str, numbers: tuple[str, ...], units: tuple[str, ...]) -> None:
    facts = text_facts(text)
    assert (facts.numbers, facts.units) == (numbers, units)


@needs_corpus
@pytest.mark.parametrize("folder", sorted(PAIRS.iterdir()) if PAIRS.is_dir() else [], ids=lambda path: path.name[:2])
def test_each_change_of_real_pages_has_a_kind(folder: Path) -> None:
    changed = diff(*(parse((folder / name).read_text()) for name in ("before.md", "after.md")))
    kinds = ChangeKinds(changed.entries)
    for entry in walk(changed.entries):
        if isinstance(entry, (RemovedBlock, MovedBlock)) or (isinstance(entry, RestructuredBlocks) and entry.note):
            assert kinds.of(entry) <= set(KINDS)
            assert kinds.of(entry)
    assert sum(kinds.counts.values()) > 0


TABLE = "| Part | Wait at most 10 s |\n| - | - |\n| Pump | yes |\n| Valve | no |\n"


def test_changed_title_of_a_column_has_the_kinds_of_its_words() -> None:
    assert only_kinds(TABLE, TABLE.replace("10 s", "90 s")) == {"number", "wording"}
    assert only_kinds(TABLE, TABLE.replace("Part", "**Part**")) == {"formatting"}


def test_swapped_titles_of_columns_have_meaning() -> None:
    swapped = TABLE.replace("| Part | Wait at most 10 s |", "| Wait at most 10 s | Part |")
    assert may_affect_meaning(only_kinds(TABLE, swapped))


def test_removed_column_is_a_deletion() -> None:
    removed = "| Part |\n| - |\n| Pump |\n| Valve |\n"
    assert "deletion" in only_kinds(TABLE, removed)
    assert "addition" in only_kinds(removed, TABLE)


@pytest.mark.parametrize(("style", "has_meaning"), [("danger", True), ("warning", True), ("info", False)])
def test_unwrapped_words_of_a_warning_have_meaning(style: str, *, has_meaning: bool) -> None:
    text = "Do not touch the lamp while it is on."
    hint = f'{{% hint style="{style}" %}}\n{text}\n{{% endhint %}}'
    for before, after in ((hint, text), (text, hint)):
        assert all(may_affect_meaning(kinds) is has_meaning for kinds in kinds_of(before, after))


def test_white_space_that_joins_words_is_wording() -> None:
    assert "wording" in only_kinds("Use **no** ship.", "Use**no** ship.")
    assert only_kinds("Use no ship.", "Use  no\nship.") == {"white space"}


def test_split_row_has_the_kinds_of_its_words() -> None:
    rows = "| Name | Use |\n| - | - |\n| retries default of retries | How often the keeper tries to send a reading |\n"
    split = (
        rows.replace(" default of retries", "").replace("tries to", "may try 5 times to") + "| default of retries | |\n"
    )
    assert "number" in only_kinds(rows, split)


def test_list_around_paragraphs_is_one_change() -> None:
    steps = [f"Step of the harbour: {each}." for each in ("look at the tide", "count the ships", "write them down")]
    assert counts("\n\n".join(steps), "\n".join(f"* {step}" for step in steps)) == {"formatting": 1}


def test_replaced_heading_is_no_change_of_formatting() -> None:
    assert only_kinds(f"## Tides\n\n{FIRST}", f"## Ships\n\n{FIRST}") == {"wording"}


def test_digit_in_a_name_makes_no_unit() -> None:
    assert text_facts("See web3's guide.").units == ()
    assert text_facts("Wait 3 s, or five minutes.").units == ("s", "min")


def test_switches_and_anchors_are_settings_only() -> None:
    assert only_kinds("* [ ] Count the ships\n", "* [x] Count the ships\n") == {"setting"}
    heading = '# Ships <a href="#{0}" id="{0}"></a>\n'
    assert only_kinds(heading.format("ship-3"), heading.format("ship-7")) == {"setting"}
