"""Finding the old term of a change on other pages, and replacing it."""

from __future__ import annotations

import re

import pytest

from octavo.documents.diff import diff
from octavo.documents.source_reader import parse
from octavo.documents.terms import MAX_MATCHES, TermChange, changed_terms, find_matches, index_queries, replace_matches
from tests.documents.renamed_term import NEW, OLD, PLACES, TRAPS, RenamedPage, renamed_pages

RENAME = TermChange(OLD, NEW)


def terms(old: str, new: str) -> list[tuple[str, str]]:
    return [(each.old, each.new) for each in changed_terms(diff(parse(old), parse(new)).entries)]


def texts(change: TermChange, source: str) -> list[str]:
    return [each.text for each in find_matches(change, source)]


@pytest.mark.parametrize("text", PLACES)
def test_each_place_is_found_and_replaced(text: str) -> None:
    page = RenamedPage()
    page.add(text)
    found = find_matches(RENAME, page.source)
    assert [(each.start, each.end) for each in found] == [(place.start, place.end) for place in page.places]
    assert replace_matches(page.source, found) == page.renamed


def test_matches_of_both_forms_have_one_limit() -> None:
    source = "word " * MAX_MATCHES + "words " * MAX_MATCHES
    assert len(find_matches(TermChange("word", "term"), source)) == MAX_MATCHES


@pytest.mark.parametrize("text", TRAPS)
def test_trap_is_not_found(text: str) -> None:
    assert texts(RENAME, text) == []


def test_attribute_after_an_empty_text_is_not_found() -> None:
    source = '<figure><img src="a.png" alt="" width="375"><figcaption>The width</figcaption></figure>'
    assert [each.start for each in find_matches(TermChange("width", "breadth"), source)] == [source.index("width<")]


def test_recall_and_precision_on_seeded_pages() -> None:
    found_right = found_wrong = missed = 0
    for page in renamed_pages(seed=1, count=400):
        expected = {(place.start, place.end) for place in page.places}
        found = {(each.start, each.end) for each in find_matches(RENAME, page.source)}
        found_right += len(found & expected)
        found_wrong += len(found - expected)
        missed += len(expected - found)
    assert found_right > 500
    assert found_right / (found_right + missed) >= 0.99, f"{missed} places were missed"
    assert found_right / (found_right + found_wrong) >= 0.99, f"{found_wrong} other texts were found"


def test_changed_word_offers_longer_terms() -> None:
    found = terms("Read the tide table today.", "Read the tide chart today.")
    assert found == [("table", "chart"), ("tide table", "tide chart"), ("table today", "chart today")]


def test_changed_number_takes_its_unit() -> None:
    assert terms("It waits for 30 s.", "It waits for 45 s.") == [("30 s", "45 s")]
    assert terms("It costs $20 now.", "It costs $25 now.") == [("$20", "$25")]
    assert terms("At most 3.5 % of it.", "At most 3.6 % of it.") == [("3.5 %", "3.6 %")]


def test_changed_unit_takes_its_number() -> None:
    assert terms("It waits for 30 seconds.", "It waits for 30 minutes.") == [("30 seconds", "30 minutes")]


def test_number_without_unit_takes_the_next_word_first() -> None:
    assert terms("Up to 50 guests.", "Up to 60 guests.") == [("50 guests", "60 guests"), ("50", "60")]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("| a | b |\n|-|-|\n| the tide table | 5 |\n", "| a | b |\n|-|-|\n| the tide chart | 5 |\n"),
        ("- one\n- the tide table\n", "- one\n- the tide chart\n"),
        ("> the tide table\n", "> the tide chart\n"),
    ],
)
def test_term_inside_another_block_is_a_change(old: str, new: str) -> None:
    assert ("tide table", "tide chart") in terms(old, new)


def test_only_the_terms_of_the_block_are_returned() -> None:
    old, new = parse("Use a winch.\n\nUse a crane.\n"), parse("Use a hoist.\n\nUse a lift.\n")
    [one] = changed_terms(diff(old, new).entries, {new.blocks[1].key})
    assert (one.old, one.new) == ("crane", "lift")


def test_number_in_a_name_takes_the_name() -> None:
    assert terms("Use a Limpet 3 here.", "Use a Limpet Classic here.")[0] == ("Limpet 3", "Limpet Classic")
    assert terms("Use a Limpet 3R here.", "Use a Limpet 4R here.")[0] == ("Limpet 3R", "Limpet 4R")


def test_capital_inside_a_sentence_is_part_of_the_name() -> None:
    old, new = "Limpet 3 floats. A Limpet 3 dives.", "Limpet Classic floats. A Limpet Classic dives."
    [change] = [each for each in changed_terms(diff(parse(old), parse(new)).entries) if each.old == "Limpet 3"]
    assert texts(change, "Limpet 3, limpet 3, LIMPET 3, Limpet 30 and Limpet 3R") == ["Limpet 3", "LIMPET 3"]


def test_common_words_and_code_with_signs_are_no_terms() -> None:
    assert terms("Take one of them.", "Take the of them.") == []
    assert terms("```\nparts = dict(a)\n```", "```\nparts = [a]\n```") == []


def test_added_and_deleted_words_are_no_terms() -> None:
    assert terms("Use the winch.", "Use the big winch.") == []
    assert terms("Use the big winch.", "Use the winch.") == []


def test_code_matches_code_and_other_text_exactly() -> None:
    [change] = changed_terms(diff(parse("Set `retry_limit` to 5."), parse("Set `retry_count` to 5.")).entries)
    assert change == TermChange("retry_limit", "retry_count", is_code=True)
    source = "`retry_limit: 5` and Retry_Limit and my_retry_limit\n\n```\nretry_limit = 3\n```\nhttps://a.b/retry_limit"
    assert texts(change, source) == ["retry_limit", "retry_limit"]
    assert "retry_count = 3" in replace_matches(source, find_matches(change, source))


@pytest.mark.parametrize(
    "marked",
    [
        '{% tab title="The «title» of a tab" %}\n\n«title»\n\n{% endtab %}',
        '<img title="«title» first" alt="" src="title/title.png" data-title="title">',
        '<figure><img src="title.png" alt="A «title» here"><figcaption>«title»</figcaption></figure>',
        '<code class="title">«title» in code</code>',
        "<style>.title { color: red }</style><script>var title</script>",
        "<!-- a title -->\n\nA «title».",
        '{% embed url="https://a.b/title" %}',
        '{% content-ref url="title.md" %}\n[Page](title.md)\n{% endcontent-ref %}',
        '{% hint style="title" %}`«title»` and `<img «title»="x">`{% endhint %}',
        '```html\n<img «title»="x"> <!-- «title» -->\n```',
        "<a title='x' href='title'>«title»</a> and 1 < 2, «title» > 1",
    ],
)
def test_code_is_found_only_in_text_that_readers_see(marked: str) -> None:
    source = re.sub("[«»]", "", marked)
    for each in reversed(find_matches(TermChange("title", "name", is_code=True), source)):
        source = f"{source[: each.start]}«{each.text}»{source[each.end :]}"
    assert source == marked


@pytest.mark.parametrize(
    ("old", "source", "found"),
    [
        ("30 s", "30 s, 30s, 130 s, 1.30 s, 30 ms, 30 S, -30 s, 30\u00a0s", ["30 s", "30s", "30\u00a0s"]),
        ("50", "50, 50 ms, 150, 2050, 50-60, 5.50, 50.5, (50), $50, 50 %", ["50", "50"]),
        ("$20", "$20, $200, US$20, $20.50, 20", ["$20"]),
    ],
)
def test_number_matches_only_the_same_quantity(old: str, source: str, found: list[str]) -> None:
    assert texts(TermChange(old, "7"), source) == found


def test_capitals_of_a_name_must_match() -> None:
    assert texts(TermChange("Go", "Rust"), "Go, go, gO and GO") == ["Go", "GO"]
    assert texts(TermChange("API", "SDK"), "API, api, Api and APIs") == ["API", "APIs"]


def test_capital_at_the_start_of_a_sentence_has_no_meaning() -> None:
    [change] = changed_terms(diff(parse("Harbours are open."), parse("Ports are open.")).entries)
    source = "The harbours and Harbours. One harbour."
    assert replace_matches(source, find_matches(change, source)) == "The ports and Ports. One port."


def test_format_inside_a_word_has_no_replacement() -> None:
    [match] = find_matches(RENAME, "A t**id**e table.")
    assert match.replacement is None


def test_new_term_of_another_length_keeps_formats_or_has_no_replacement() -> None:
    change = TermChange("tide table", "chart")
    source = "A tide\ntable, a **tide table** and a **tide** table."
    found = find_matches(change, source)
    assert [each.replacement for each in found] == ["chart", "chart", None]
    assert replace_matches(source, found) == "A chart, a **chart** and a **tide** table."


@pytest.mark.parametrize(
    ("change", "source", "renamed"),
    [
        (TermChange("tokens", "cookies"), "Each token and all tokens.", "Each cookie and all cookies."),
        (TermChange("cookies", "tokens"), "Each cookie and all cookies.", "Each token and all tokens."),
        (TermChange("alert", "series"), "Each alert and all alerts.", "Each series and all series."),
        (TermChange("alerts", "series"), "Each alert and all alerts.", "Each series and all series."),
        (TermChange("state", "status"), "Each state and all states.", "Each status and all statuses."),
        (TermChange("aliases", "names"), "Each alias and all aliases.", "Each name and all names."),
        (
            TermChange("containers", "Kubernetes"),
            "Each container and all containers.",
            "Each Kubernetes and all Kubernetes.",
        ),
        (TermChange("APIs", "endpoints"), "Each API and all APIs.", "Each endpoint and all endpoints."),
        (TermChange("stores", "caches"), "Each store and all stores.", "Each cache and all caches."),
        (TermChange("widths", "sizes"), "Each width and all widths.", "Each size and all sizes."),
        (TermChange("queries", "searches"), "Each query and all queries.", "Each search and all searches."),
    ],
)
def test_other_number_of_a_term_is_replaced(change: TermChange, source: str, renamed: str) -> None:
    assert replace_matches(source, find_matches(change, source)) == renamed


def test_replacement_is_escaped() -> None:
    source = "A winch.\n\n| winch | b |\n|-|-|\n"
    change = TermChange("winch", "hoist*|x")
    assert replace_matches(source, find_matches(change, source)) == "A hoist\\*|x.\n\n| hoist\\*\\|x | b |\n|-|-|\n"


def test_index_queries_cover_plural_and_joined_unit() -> None:
    assert set(index_queries(RENAME)) == {("tide", "table"), ("tide", "tables")}
    assert set(index_queries(TermChange("30 s", "45 s"))) == {("30", "s"), ("30s",)}


@pytest.mark.parametrize(
    "source",
    [
        "Use `the storm\nlantern here` now.",
        "The height is $$storm lantern$$ here.",
        "The height is $$storm\nlantern$$ here.",
        "| A | storm |\n| - | - |\n| a | storm\nlantern b",
    ],
)
def test_term_in_code_or_a_formula_is_not_found(source: str) -> None:
    assert texts(TermChange("storm lantern", "gale lantern"), source) == []


@pytest.mark.parametrize(
    ("source", "new"),
    [
        ("See [storm lantern] there.\n\n[storm lantern]: https://a.example/lantern\n", "gale lantern"),
        ("storm lantern is here.", "1. lantern"),
        ("storm lantern\n", "- lantern"),
    ],
)
def test_replacement_that_changes_more_than_words_is_not_offered(source: str, new: str) -> None:
    other = "\n\nA storm lantern is there.\n"
    change = TermChange("storm lantern", new)
    first, *_, last = find_matches(change, source + other)
    assert first.replacement is None
    assert last.replacement is not None


def test_tag_as_the_new_term_is_escaped() -> None:
    (match,) = find_matches(TermChange("storm lantern", "{% hint %}"), "The storm lantern is here.\n")
    assert match.replacement == r"\{% hint %}"
