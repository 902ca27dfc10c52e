"""Embeds: the host they are from, and what else fits of their address. Signs of icons."""

from __future__ import annotations

import pytest

from octavo.documents.parse import parse
from octavo.tui.page.layout import lay_out
from octavo.tui.page.look import Look


def embedded(url: str, width: int) -> str:
    (line,) = lay_out(parse(f'{{% embed url="{url}" %}}').blocks, width, Look.plain()).lines
    return line.text.strip()


@pytest.mark.parametrize(
    ("width", "said"),
    [
        (54, "youtube.com  https://www.youtube.com/watch?v=abc"),
        (40, "youtube.com  /watch?v=abc"),
        (24, "youtube.com  /watch…"),
    ],
)
def test_a_narrow_embed_says_its_host_once(width: int, said: str) -> None:
    assert embedded("https://www.youtube.com/watch?v=abc", width) == f"↗ {said}"


@pytest.mark.parametrize("url", ["https://example.com", "https://example.com/"])
def test_a_narrow_embed_of_a_whole_site_is_its_host(url: str) -> None:
    assert embedded(url, 24) == "↗ example.com"


@pytest.mark.parametrize("url", ["mailto:a@example.com", "http://[bad"])
def test_an_address_without_a_host_is_said_once(url: str) -> None:
    assert [embedded(url, width) for width in (30, 60)] == [f"↗ {url}"] * 2


def test_what_is_never_opened_says_so_beside_its_address() -> None:
    said = embedded("javascript:alert(1)", 54)
    assert said.startswith("✗ javascript:alert(1)  ")
    assert said.endswith("never opened")
    assert said.count("alert") == 1


def test_icons_have_their_signs_by_older_names_too() -> None:
    icons = "".join(
        f'<i class="fa-{name}"></i>' for name in ("info-circle", "exclamation-triangle", "gitbook-assistant")
    )
    (line,) = lay_out(parse(f"So: {icons}").blocks, 40, Look.plain()).lines
    assert line.text.strip() == "So: i!★"
