"""Links in text and around images."""

from __future__ import annotations

import pytest

from octavo.documents.source_reader import parse
from octavo.tui.render.layout import lay_out
from octavo.tui.render.styles import Styles


def link_targets(markdown: str) -> list[tuple[str, str, str]]:
    """Return the kind, target and text of each clickable piece."""
    lines = lay_out(parse(markdown).blocks, 60, Styles.plain())
    found = [
        (piece.clickable.kind, piece.clickable.target, piece.text)
        for line in lines
        for piece in line.pieces
        if piece.clickable
    ]
    return [each for each in found if each[2] != "↗"]


def shown(markdown: str) -> str:
    return "\n".join(line.text.rstrip() for line in lay_out(parse(markdown).blocks, 60, Styles.plain()))


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("Use [**Casino** ](https://a.b)(coupon)", "Use Casino↗ (coupon)"),
        ("Use[ this](https://a.b) one", "Use this↗ one"),
        ("For availability[ ](https://a.b)refer", "For availability refer"),
        ("See [one ](a.md)two", "See one two"),
        ("See [one **two** ](https://a.b)three", "See one two↗ three"),
    ],
)
def test_spaces_at_the_ends_of_a_link_are_not_part_of_it(markdown: str, text: str) -> None:
    assert shown(markdown) == text


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ('{% page-ref page="guide/faq.md" %}', "→ faq"),
        ('{% content-ref url="faq.md" %}\n[faq.md](faq.md)\n{% endcontent-ref %}', "→ faq"),
        ('{% file src="notes.md" %}', "↓ notes.md file"),
    ],
)
def test_link_block_shows_the_name_of_its_file_once(markdown: str, text: str) -> None:
    assert " ".join(shown(markdown).split()) == text


def test_link_of_spaces_is_not_followable() -> None:
    assert link_targets("For availability[ ](https://a.b)refer") == []


def test_linked_image_can_be_opened_and_followed() -> None:
    page = "[![Join us](badge.svg)](https://chat.example/x)"
    assert ("link", "https://chat.example/x", "Join us") in link_targets(page)
    assert ("image", "badge.svg", "badge.svg") in link_targets(page)
    assert "Join us↗" in shown(page)
    assert "chat.example/x↗" in shown("[![](badge.svg)](https://chat.example/x)")
    inline = "Now [![Join us](badge.svg)](https://chat.example/x) there"
    assert link_targets(inline) == [("image", "badge.svg", "▣\u00a0"), ("link", "https://chat.example/x", "Join us")]
    assert shown(inline) == "Now ▣\u00a0Join us↗ there"


def test_symbol_of_an_image_stays_with_its_name() -> None:
    before = "To delete an image from the gallery of a page, open a menu"
    assert shown(f"{before} ![The icon](icon.svg)").split("\n") == [before, "▣\u00a0The icon"]
    ascii_lines = lay_out(parse("a ![The icon](icon.svg)").blocks, 60, Styles.plain(ascii=True))
    assert all(line.text.isascii() for line in ascii_lines)
