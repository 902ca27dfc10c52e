"""Texts that are split, joined or divided at other places: only real edits are shown."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.documents import diff_splits
from octavo.documents.diff import diff
from octavo.documents.diff_model import RestructuredBlocks
from octavo.documents.source_reader import parse
from tests.call_counter import CallCounter
from tests.documents.diff_lines import lines
from tests.documents.rebuilt_pages import check_rebuilt_pages

FIRST = "The first paragraph is about the harbour and **all the ships** that come here in the summer."
SECOND = "The keeper of the light counts the ships and writes them down in a [book](book.md)."
THIRD = "In the winter nobody comes here, so the light burns for the gulls."
CHINESE = ("港口里有很多船。", "灯塔的看守人数船，并且把它们记下来。")

CASES = {
    "split": (f"{FIRST} {SECOND} {THIRD}", f"{FIRST}\n\n{SECOND}\n\n{THIRD}", ["% 1 paragraph split into 3", "  = 3"]),
    "joined": (f"{FIRST}\n\n{SECOND}", f"{FIRST} {SECOND}", ["% 2 paragraphs joined into 1", "  = 1"]),
    "joined without spaces": ("\n\n".join(CHINESE), "".join(CHINESE), ["% 2 paragraphs joined into 1", "  = 1"]),
    "split at a line break": (f"{FIRST}\\\n{SECOND}", f"{FIRST}\n\n{SECOND}", ["% 1 paragraph split into 2", "  = 2"]),
    "divided elsewhere": (
        f"{FIRST}\n\n{SECOND} {THIRD}",
        f"{FIRST} {SECOND}\n\n{THIRD}",
        ["% paragraph ×2 rearranged", "  = 2"],
    ),
    "split and edited": (
        f"{FIRST} {SECOND}",
        f"{FIRST}\n\n{SECOND.replace('keeper', 'man')}",
        [
            "% 1 paragraph split into 2",
            "  = 1",
            "  ~ paragraph",
            "    The [-keeper][+man] of the light counts the ships and writes them down in a book.",
        ],
    ),
    "split with many new words": (
        f"{FIRST} He writes them down each day. {THIRD}",
        f"{FIRST[:-1]}, and of the gulls that wait on the rocks for the tide to turn.\n\n**How he counts**: he sits on the"
        f" wall and draws a line for each mast between the islands. {THIRD}",
        [
            "% 1 paragraph split into 2",
            "  ~ paragraph",
            "    The first paragraph is about the harbour and all the ships that come here in the summer[+, and of the gulls"
            " that wait on the rocks for the tide to turn].",
            "  ~ paragraph",
            "    [-He writes them down ][+How he counts][+: he sits on the wall and draws a line for ]each [-day][+mast"
            " between the islands]. In the winter nobody comes here, so the light burns for the gulls.",
        ],
    ),
    "edited, and a text with the same end added": (
        f"The keeper opens the gate each morning. {THIRD}",
        f"The keeper opens the gate each evening. {THIRD}\n\nBoats leave the quay each morning. {THIRD}",
        [
            "~ paragraph",
            "  The keeper opens the gate each [-morning][+evening]. In the winter nobody comes here, so the light burns for"
            " the gulls.",
            "+ paragraph Boats leave the quay each morning. In the winter nobody comes here, so the light burns for the"
            " gulls.",
        ],
    ),
    "joined and edited": (
        f"{FIRST}\n\n{SECOND}",
        f"{FIRST[:-1]}, and {SECOND[0].lower()}{SECOND[1:]}",
        [
            "% 2 paragraphs joined into 1",
            "  ~ paragraph",
            "    The first paragraph is about the harbour and all the ships that come here in the summer[-. The][+, and"
            " the] keeper of the light counts the ships and writes them down in a book.",
        ],
    ),
    "between other edits": (
        f"Old words.\n\n{FIRST} {SECOND}\n\n## Winter\n\n{THIRD}",
        f"{FIRST}\n\n{SECOND}\n\n## Cold winter",
        [
            "- paragraph Old words.",
            "% 1 paragraph split into 2",
            "  = 2",
            "~ heading",
            "  rewritten [-Winter][+Cold winter]",
            "- paragraph In the winter nobody comes here, so the light burns for the gulls.",
        ],
    ),
    "sentences made a list": (
        f"{FIRST} One ship is red. Two ships are blue.",
        f"{FIRST}\n\n* One ship is red.\n* Two ships are blue.",
        ["% paragraph → paragraph, list", "  = 2"],
    ),
    "a heading made the first words": (
        f"#### Ships\n{FIRST}",
        f"**Ships**\n{FIRST}",
        [
            "% heading, paragraph → paragraph",
            "  ~ paragraph",
            "    [fShips] The first paragraph is about the harbour and all the ships that come here in the summer.",
        ],
    ),
    "an item made a heading with new words and a paragraph": (
        f"* The keeper of the light counts the ships – {THIRD}",
        f"## The keeper of the light counts the boats\n\n{THIRD}",
        [
            "% list → heading, paragraph",
            "  ~ heading",
            "    The keeper of the light counts the [-ships –][+boats]",
            "  = 1",
        ],
    ),
    "split between words without space": (
        f"{FIRST}`keeper`\n\n{SECOND}`gull`\n\n{THIRD}",
        f"{FIRST}\n\n`keeper`\n\n{SECOND}\n\n`gull`\n\n{THIRD}",
        ["% 1 paragraph split into 2", "  = 2", "% 1 paragraph split into 2", "  = 2", "= 1"],
    ),
    "the end of a list made a paragraph": (
        f"* {FIRST}\n* {SECOND}\n{THIRD}",
        f"* {FIRST}\n* {SECOND}\n\n{THIRD}",
        ["= 1", "% paragraph unwrapped from an item", "= 1"],
    ),
    "a paragraph made the end of an edited list": (
        f"* {FIRST}\n* {SECOND}\n\n{THIRD}",
        f"* {FIRST.replace('summer', 'autumn')}\n* {SECOND} {THIRD}",
        [
            "% list, paragraph → list",
            "  ~ list",
            "    ~ item",
            "      ~ paragraph",
            "        The first paragraph is about the harbour and all the ships that come here in the [-summer][+autumn].",
            "    = 1",
        ],
    ),
    "an item split": (
        f"* {FIRST} {SECOND}\n* {THIRD}",
        f"* {FIRST}\n* {SECOND}\n* {THIRD}",
        ["~ list", "  % 1 item split into 2", "    = 2", "  = 1"],
    ),
    "paragraphs of an item joined": (
        f"* {FIRST}\n\n  {SECOND}\n* {THIRD}",
        f"* {FIRST} {SECOND}\n\n* {THIRD}",
        ["~ list", "  ~ item", "    % 2 paragraphs joined into 1", "      = 1", "  = 1"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_only_edited_words_are_changes(case: str) -> None:
    before, after, expected = CASES[case]
    old, new = parse(before), parse(after)
    found = diff(old, new)
    assert lines(found) == expected
    check_rebuilt_pages(found, old, new)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"{FIRST} {SECOND}", f"{FIRST}\n\n{THIRD}"),
        (f"{FIRST} {SECOND} {THIRD}", f"{SECOND}\n\nThe gulls like it, too."),
        ("Press the red button and hold it.", "Press the button.\n\nPress the red switch and hold it down."),
        (f'{FIRST}\n\n{{% content-ref url="a.md" %}}\n[a](a.md)\n{{% endcontent-ref %}}', f"{FIRST} [a](a.md)"),
    ],
)
def test_texts_with_other_words_are_not_joined(before: str, after: str) -> None:
    for old, new in ((before, after), (after, before)):
        assert not [entry for entry in diff(parse(old), parse(new)).entries if isinstance(entry, RestructuredBlocks)]


WORDS = st.lists(
    st.sampled_from(("tide", "ship", "**keeper**", "`light`", "[gull](a.md)", "counts")), min_size=6, max_size=30
)


@settings(max_examples=60, deadline=None)
@given(WORDS, st.sets(st.integers(1, 29), min_size=1, max_size=5), st.sets(st.integers(1, 29), max_size=5))
def test_words_divided_at_any_places_are_unchanged(words: list[str], cuts: set[int], others: set[int]) -> None:
    words = [f"{word} {number}" for number, word in enumerate(words)]
    pages = []
    for places in (cuts, others):
        edges = [0, *sorted(place for place in places if place < len(words)), len(words)]
        parts = [" ".join(words[start:end]) for start, end in pairwise(edges)]
        pages.append(parse("Start.\n\n" + "\n\n".join(parts) + "\n\n# End"))
    found = diff(*pages)
    assert (found.size.added, found.size.removed) == (0, 0)
    check_rebuilt_pages(found, *pages)


def _work(count: int) -> int:
    """Return how many words are read to find that `count` paragraphs were joined in pairs."""
    paragraphs = [" ".join(f"word{number * 8 + word}" for word in range(8)) for number in range(count)]
    joined = [" ".join(pair) for pair in zip(paragraphs[::2], paragraphs[1::2], strict=True)]
    before, after = parse("\n\n".join(paragraphs)), parse("\n\n".join(joined))
    with CallCounter(diff_splits._words) as calls:
        size = diff(before, after).size
    assert (size.added, size.removed) == (0, 0)
    return calls.counts.total()


def test_page_with_many_splits_is_not_compared_again_for_each() -> None:
    assert _work(160) <= 8 * _work(40)
