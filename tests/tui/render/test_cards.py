"""Lines of cards and of inactive buttons."""

from __future__ import annotations

import pytest
from rich.style import Style

from octavo.documents.source_reader import parse
from octavo.tui.render.layout import lay_out
from octavo.tui.render.layout_context import ViewState
from octavo.tui.render.styled_lines import Line, StyledText
from octavo.tui.render.styles import Styles
from tests.tui.reader.test_every_page import STYLES_BY_NAME

CARDS = """\
<table {} data-view="cards"><thead><tr><th>Name of it</th><th>Rank</th><th></th>
<th data-hidden data-card-target data-type="content-ref">Goes to</th></tr></thead><tbody>
<tr><td>Tides</td><td>First</td><td>Untitled</td><td><a href="tides.md">t</a></td></tr>
<tr><td>Wind</td><td></td><td></td><td></td></tr>
</tbody></table>
"""


def lines(markdown: str, look: Styles | None = None, width: int = 80) -> list[Line]:
    return lay_out(parse(markdown).blocks, width, look or Styles.plain(), ViewState())


def card_texts(markdown: str, width: int = 80) -> list[list[str]]:
    """Return the lines of each card from top to bottom. A line without text is empty."""
    found = [line.text.split("│")[1::2] for line in lines(markdown, width=width) if "│" in line.text]
    return [[part.strip() for part in card] for card in zip(*found, strict=True)]


def test_cards_show_titles_of_nonempty_columns() -> None:
    first, second = card_texts(CARDS.format(""))
    assert first == ["Name of it", "Tides", "", "Rank", "First", "", "Untitled"]
    assert [words for words in second if words] == ["Name of it", "Wind"]


def test_cards_with_hidden_titles_show_only_values() -> None:
    first, second = card_texts(CARDS.format("data-column-title-hidden"))
    assert first == ["Tides", "First", "Untitled"]
    assert [words for words in second if words] == ["Wind"]


@pytest.mark.parametrize(
    ("word", "cards_per_row"),
    [
        ("a" * 20, 3),
        ("a" * 21, 2),
        ("<ul><li>" + "a" * 31 + "</li></ul>", 2),
        ("<ul><li>" + "a" * 32 + "</li></ul>", 1),
        ("well-" * 8, 3),
        ("a" * 73, 3),
    ],
)
def test_fewer_cards_are_side_by_side_if_that_keeps_a_word_whole(word: str, cards_per_row: int) -> None:
    rows = "".join(f"<tr><td>{each}</td></tr>" for each in ("b", word, "c"))
    table = f'<table data-view="cards"><thead><tr><th></th></tr></thead><tbody>{rows}</tbody></table>'
    assert lines(table, width=76)[0].text.count("╭") == cards_per_row


def test_values_of_a_linked_card_are_its_link() -> None:
    look = STYLES_BY_NAME["coloured"]
    underlined = [
        piece.text
        for line in lines(CARDS.format(""), look)
        for piece in line.pieces
        if piece.style.underline and piece.text.strip()
    ]
    assert underlined == ["Tides"]


def test_card_with_broken_link_says_so() -> None:
    # The platform writes this address for a page that was deleted.
    broken = CARDS.format("").replace('href="tides.md"', 'href="/broken/pages/x"')
    feet = [next(line.text for line in lines(cards) if line.text.startswith("╰")) for cards in (CARDS, broken)]
    assert [sign for sign in "→✗" if sign in feet[0]] == ["→"]
    assert [sign for sign in "→✗" if sign in feet[1]] == ["✗"]
    look = Styles.plain()._replace(error=Style(color="red"))
    pieces = [piece for line in lines(broken, look) for piece in line.pieces]
    assert [piece.style.color for piece in pieces if piece.text.strip() == "Tides"] == [look.error.color]


def button(markdown: str, look: Styles) -> StyledText:
    return next(piece for line in lines(markdown, look) for piece in line.pieces if "Go" in piece.text)


@pytest.mark.parametrize("look", STYLES_BY_NAME)
@pytest.mark.parametrize(
    "written",
    [
        '<a class="button primary">Go</a>',
        '<a class="button secondary" href="">Go</a>',
        '<a class="button primary" href="broken-reference">Go</a>',
        '<a class="button secondary" href="javascript:go()">Go</a>',
        '<a class="button primary" href="https://a.example" disabled>Go</a>',
        '<button class="button secondary" disabled data-action="search" data-query="tides">Go</button>',
        '<button class="button primary">Go</button>',
        '<button class="button primary" data-action="dance">Go</button>',
    ],
)
def test_inactive_button_looks_different(written: str, look: str) -> None:
    off = button(written, STYLES_BY_NAME[look])
    for style in ("primary", "secondary"):
        works = button(f'<a class="button {style}" href="https://a.example">Go</a>', STYLES_BY_NAME[look])
        assert works.clickable is not None
        assert off.style != works.style
    assert (
        off.style.dim
        or off.style.color != button('<a class="button" href="x.md">Go</a>', STYLES_BY_NAME[look]).style.color
    )
    assert off.clickable is None or off.clickable.target == "broken-reference"
