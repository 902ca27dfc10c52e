"""The source view of a page, which is split into blocks that render separately."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.documents.blocks import Block
from octavo.tui.render.layout import lay_out, source_blocks, split_into_chunks
from octavo.tui.render.styles import Styles

ROWS = st.lists(
    st.one_of(
        st.text("ab ", max_size=9),
        st.integers(1_990, 2_010).map("x".__mul__),
        st.sampled_from(["y" * 8_000, "z" * 24_001]),
    ),
    max_size=40,
)


@settings(max_examples=100)
@given(rows=ROWS, edges=st.lists(st.integers(0, 60), max_size=6), repeated=st.integers(1, 120))
def test_source_view_keeps_every_character_in_its_line(rows: list[str], edges: list[int], repeated: int) -> None:
    source = "\n".join([*rows, *["short"] * repeated])
    owners = {low: Block("paragraph", lines=(low, high), key=f"{low}") for low, high in pairwise(edges) if low < high}
    found = source_blocks(source, owners.values())
    lines = source.split("\n")
    line_number = 0
    rest = lines[0]
    for block in found:
        assert block.lines[0] == line_number
        assert len(block.text) <= 8_000
        for number, row in enumerate(block.text.split("\n")):
            assert rest.startswith(row)
            if number < block.text.count("\n") or block.lines[1] == line_number + number + 1:
                assert rest == row
                rest = (*lines, "")[line_number + number + 1]
            else:
                rest = rest[len(row) :]
        line_number = block.lines[1]
        edges_within = {
            edge for each in owners.values() for edge in each.lines if block.lines[0] < edge < block.lines[1]
        }
        assert not edges_within
    assert line_number == len(lines)
    assert len({block.key for block in found}) == len(found)


def test_source_view_keeps_the_keys_of_blocks() -> None:
    blocks = [Block("heading", lines=(0, 1), key="h"), Block("paragraph", lines=(2, 4), key="p")]
    found = source_blocks("# One\n\ntwo\nthree\n\nfour", blocks)
    assert [(block.key, block.text, block.attrs.get("of")) for block in found] == [
        ("h", "# One", "heading"),
        ("source-1", "", None),
        ("p", "two\nthree", "paragraph"),
        ("source-3", "\nfour", None),
    ]


def test_source_of_very_many_blocks_has_a_limited_number_of_chunks() -> None:
    blocks = [
        Block("divider", lines=(line_number, line_number + 1), key=f"{line_number}")
        for line_number in range(0, 80_000, 2)
    ]
    found = source_blocks("---\n\n" * 40_000, blocks, blocks[777])
    assert len(found) < 2_200
    assert [block.lines[0] for block in found if block.key == "1554"] == [1554]


def test_part_of_a_page_that_is_too_large_keeps_its_line_numbers() -> None:
    text = "\n".join(["words of the rest"] * 3_000)
    block = Block("code", {"language": "markdown", "source": True}, text=text, lines=(700, 3_700), key="rest")
    hint, *source_parts = [chunk.block for chunk in split_into_chunks([block])]
    assert hint.plain() == "This part of the page is too large to format, so it is shown as source."
    assert (source_parts[0].lines[0], source_parts[-1].lines[1]) == (700, 3_700)
    assert all(above.lines[1] == below.lines[0] for above, below in pairwise(source_parts))
    assert lay_out(source_parts[:1], 100, Styles.plain())[0].text == "  701 words of the rest"


def test_parts_of_a_page_that_are_too_large_have_different_keys() -> None:
    attrs = {"language": "html", "source": True}
    blocks = [Block("code", attrs, text="<b>" * 20_000, lines=(line, line + 1), key=f"{line}") for line in (2, 4)]
    keys = [chunk.block.key for chunk in split_into_chunks(blocks) if chunk.block.kind == "source"]
    assert len(keys) == len(set(keys)) > 2
