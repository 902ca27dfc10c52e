"""The version in which each block of a page was written."""

from __future__ import annotations

from collections.abc import Sequence

from octavo.documents.blame import Blame
from octavo.documents.blocks import Document
from octavo.documents.source_reader import parse


def origins(*versions: str) -> dict[str, int]:
    """Return the number of the version in which each block was written, by the text of the block. The oldest version has
    the number 1."""
    documents = [parse(version) for version in versions]
    return _texts(_blame("page", documents), documents[-1])


def _blame(page: str, documents: Sequence[Document]) -> Blame[int]:
    blame: Blame[int] = Blame(page, documents[-1])
    for number in range(len(documents), 1, -1):
        blame.compare(number, {page: documents[number - 2]})
    blame.finish(1)
    return blame


def _texts(blame: Blame[int], document: Document) -> dict[str, int]:
    return {block.plain().replace("\n", " "): blame.origins[block.key].version for block in blame.blocks}


FIRST = "The tide table of the harbour is printed once a year by the port office."
SECOND = "Boats that stay for more than three nights pay the fee in advance."


def test_edited_and_added_blocks_have_their_version() -> None:
    found = origins(
        f"# Harbour\n\n{FIRST}\n\n{SECOND}",
        f"# Harbour\n\n{FIRST}\n\n{SECOND} Ask at the kiosk.",
        f"# Harbour\n\n{FIRST}\n\nA new block.\n\n{SECOND} Ask at the kiosk.",
    )
    assert found == {"Harbour": 1, FIRST: 1, "A new block.": 3, f"{SECOND} Ask at the kiosk.": 2}


def test_block_that_moved_keeps_its_origin() -> None:
    found = origins(f"# A\n\n{FIRST}\n\n# B\n\n{SECOND}", f"# A\n\n# B\n\n{SECOND}\n\n{FIRST}\n\nLast words.")
    assert found == {"A": 1, "B": 1, SECOND: 1, FIRST: 1, "Last words.": 2}


def test_block_that_was_split_keeps_its_origin() -> None:
    assert origins("# A", f"# A\n\n{FIRST} {SECOND}", f"# A\n\n{FIRST}\n\n{SECOND}") == {"A": 1, FIRST: 2, SECOND: 2}


def test_part_of_split_block_that_was_edited_before_has_that_version() -> None:
    found = origins(f"# A\n\n{FIRST} Boats pay.", f"# A\n\n{FIRST} {SECOND}", f"# A\n\n{FIRST}\n\n{SECOND}")
    assert found == {"A": 1, FIRST: 1, SECOND: 2}


def test_shortened_block_has_the_version_that_shortened_it() -> None:
    assert origins(f"{FIRST} {SECOND}", FIRST) == {FIRST: 2}


def test_new_format_keeps_the_origin_and_new_link_does_not() -> None:
    found = origins("The *tide* table.\n\n[The port](a.md) office.", "The **tide** table.\n\n[The port](b.md) office.")
    assert found == {"The tide table.": 1, "The port office.": 2}


def test_rows_items_and_titles_are_blocks_of_their_own() -> None:
    before = "* one item\n* two items\n\n| A | B |\n| - | - |\n| x1 | y1 |\n| x2 | y2 |\n\n```\ncode\n```\n"
    folded = "\n<details>\n\n<summary>More about fees</summary>\n\nText in it.\n\n</details>\n"
    after = before.replace("two items", "two of them").replace("y2", "y3") + folded
    assert origins(before + folded, after) == {
        "one item": 1,
        "two of them": 2,
        "x1 y1": 1,
        "x2 y3": 2,
        "code": 1,
        "More about fees": 1,
        "Text in it.": 1,
    }


def test_equal_rows_of_a_table_split_by_a_paragraph_keep_their_origin() -> None:
    head, first, rows = "| A | B |\n| - | - |\n", "| x1 | y1 |\n", "| x2 | y2 |\n" * 3
    blame = _blame("page", [parse(head + first + rows), parse(f"{head}{first}\nBetween.\n\n{head}{rows}")])
    versions = [blame.origins[block.key].version for block in blame.blocks if block.kind == "row"]
    assert versions == [1, 1, 1, 1]


def test_block_from_another_page_has_its_origin_there() -> None:
    old, new = parse(f"# New\n\nWords.\n\n{FIRST}"), parse("# New\n\nWords.")
    blame: Blame[int] = Blame("new", old)
    assert blame.compare(3, {"new": new})
    blame.trace_to_other_pages({"old": (parse(f"# Old\n\n{FIRST}"), parse("# Old"))})
    assert blame.page_ids == {"new", "old"}
    blame.compare(2, {"old": parse("# Old\n\nThe tide table.")})
    blame.finish(1)
    assert _texts(blame, old) == {"New": 1, "Words.": 1, FIRST: 2}
    assert [blame.origins[block.key].page_id for block in blame.blocks] == ["new", "new", "old"]


def test_copied_block_has_the_version_that_copied_it() -> None:
    page = parse(f"# New\n\n{FIRST}")
    blame: Blame[int] = Blame("new", page)
    blame.compare(2, {"new": None})
    blame.trace_to_other_pages({"old": (parse(f"# Old\n\n{FIRST}"), parse(f"# Old\n\n{FIRST}"))})
    assert _texts(blame, page) == {"New": 2, FIRST: 2}
    assert not blame.page_ids
