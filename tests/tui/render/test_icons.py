"""Icons are shown as a symbol, or by their name."""

from __future__ import annotations

import pytest

from octavo.documents.source_reader import parse
from octavo.tui.render.layout import lay_out
from octavo.tui.render.styled_lines import cells
from octavo.tui.render.styles import Styles, icon_sign, icon_words


def shown(source: str, *, ascii: bool = False) -> str:
    return "\n".join(line.text for line in lay_out(parse(source).blocks, 60, Styles.plain(ascii=ascii))).strip()


@pytest.mark.parametrize(
    ("name", "sign"),
    [
        ("check", "✓"),
        ("square-check", "✓"),
        ("arrow-circle-down", "↓"),
        ("arrow-up-wide-short", "↑"),
        ("file-medical", "▤"),
        ("file-pdf", "▤"),
        ("rocket-launch", "🚀"),
        ("shield-halved", "🛡"),
        ("face-angry", "😠"),
        ("windows", "⊞"),
        ("square-6", "6"),
        ("square", "■"),
        ("github", None),
        ("google-drive", None),
        ("square-github", None),
        ("", None),
    ],
)
def test_icon_has_the_sign_of_its_name_prefix(name: str, sign: str | None) -> None:
    assert icon_sign(name) == icon_sign(f"fa-{name}") == sign
    assert cells(sign or "") <= 2


def test_icon_without_a_sign_is_shown_by_name() -> None:
    assert (
        shown('See <i class="fa-openai">:openai:</i> and <i class="fa-google-drive"></i>.')
        == "See [openai] and [google\u00a0drive]."
    )
    assert icon_words("fa-square-github") == "github"
    assert (
        shown('<a href="https://a.example" class="button" data-icon="github">Get it</a>') == "[github]\u00a0Get\u00a0it"
    )


def test_icon_is_omitted_beside_its_name() -> None:
    assert shown('On <i class="fa-github"></i> GitHub') == "On GitHub"
    assert shown('<i class="fa-google-drive"></i> Google Drive') == "Google Drive"
    assert shown('<a href="https://a.example" class="button" data-icon="github">GitHub</a>') == "GitHub"
    assert shown('{% tabs %}\n{% tab title="GitLab" icon="gitlab" %}\na\n{% endtab %}\n{% endtabs %}').startswith(
        "GitLab"
    )


def test_invalid_icon_name_is_shown_as_a_generic_sign() -> None:
    for name in ("a[/]b", "x" * 51, "UPPER", "a--b"):
        assert icon_words(name) is None
        assert "◆" in shown(f'{{% tabs %}}\n{{% tab title="T" icon="{name}" %}}\na\n{{% endtab %}}\n{{% endtabs %}}')


def test_icon_in_ascii_is_a_character_or_its_name() -> None:
    assert (icon_sign("check", ascii=True), icon_sign("xmark", ascii=True), icon_sign("rocket", ascii=True)) == (
        "v",
        "x",
        None,
    )
    assert shown('a <i class="fa-rocket"></i> b', ascii=True) == "a [rocket] b"


def test_wrapped_title_of_a_hint_is_indented_after_its_sign() -> None:
    title = "A title that is much too long for one line of the hint it is the title of"
    rows = shown(f'{{% hint style="info" icon="rocket" %}}\n#### {title}\n\nText\n{{% endhint %}}').split("\n")
    assert [row.strip(" ▌") for row in rows] == [
        "🚀 A title that is much too long for one line of the hint",
        "it is the title of",
        "Text",
    ]
    assert cells(rows[0][: rows[0].index("A title")]) == cells(rows[1][: rows[1].index("it is")])
    assert max(map(cells, rows)) == 60
