"""Embeds, images, files, hints and icons."""

from __future__ import annotations

import pytest

from octavo.documents.source_reader import parse
from octavo.tui.render.layout import lay_out
from octavo.tui.render.styled_lines import clickable_spans
from octavo.tui.render.styles import Styles


def embedded(url: str, width: int) -> str:
    lines = lay_out(parse(f'{{% embed url="{url}" %}}').blocks, width, Styles.plain())
    return " / ".join(line.text.strip() for line in lines)


@pytest.mark.parametrize(
    ("width", "expected"),
    [
        (54, "youtube.com  https://www.youtube.com/watch?v=abc"),
        (40, "youtube.com  /watch?v=abc"),
        (24, "youtube.com / /watch?v=abc"),
        (20, "youtube.com / /watch?v=abc"),
    ],
)
def test_narrow_embed_shows_its_host_once(width: int, expected: str) -> None:
    assert embedded("https://www.youtube.com/watch?v=abc", width) == f"↗ {expected}"


@pytest.mark.parametrize("url", ["https://example.com", "https://example.com/"])
def test_narrow_embed_of_a_site_is_its_host(url: str) -> None:
    assert embedded(url, 24) == "↗ example.com"


@pytest.mark.parametrize("url", ["mailto:a@example.com", "http://[bad"])
def test_url_without_a_host_is_shown_once(url: str) -> None:
    assert [embedded(url, width) for width in (30, 60)] == [f"↗ {url}"] * 2


def test_long_url_wraps_without_its_query() -> None:
    address = "https://example.com/a-guide-that/goes-on/for-long?of=whom&and=how"
    assert embedded(address, 30) == "↗ example.com / /a-guide-that/goes-on/for- / long"
    uploaded = "https://files.example.com/v0/b/x/o/spaces%2Fabc%2Fuploads%2FA%20film.mov?alt=media"
    assert embedded(uploaded, 40) == "↗ files.example.com  A film.mov"


@pytest.mark.parametrize("query", ["", "?lang=en"])
def test_long_url_wraps_with_its_anchor(query: str) -> None:
    address = f"https://example.com/a-guide-that/goes-on/for-long{query}#an-anchor"
    assert embedded(address, 30) == "↗ example.com / /a-guide-that/goes-on/for- / long#an-anchor"


def test_long_url_wraps_without_text_that_browsers_highlight() -> None:
    address = "https://example.com/a-guide-that/goes-on/for-long#:~:text=A%20sentence"
    assert embedded(address, 30) == "↗ example.com / /a-guide-that/goes-on/for- / long"


def test_long_alternative_text_is_shown_completely() -> None:
    alt = " ".join(f"word{number}" for number in range(90))
    lines = lay_out(parse(f"![{alt}](a.png)").blocks, 40, Styles.plain())
    assert all(f"word{number}" in "".join(line.text for line in lines) for number in range(90))


def test_long_file_name_replaces_a_missing_alternative_text() -> None:
    name = "a-picture-whose-name-is-much-too-long-for-its-frame.png"
    lines = lay_out(parse(f"![]({name})").blocks, 40, Styles.plain())
    assert "".join(line.text.strip(" │") for line in lines[1:-1]) == name


def test_middle_of_a_long_id_without_extension_is_left_out() -> None:
    title, text = framed("![](https://example.com/il56OS6H1gdzHbMY9dONNHXmwdu1oNlocqhc4TWfSPGRfYX73xHhQUdnxp0gMGYMa)")
    assert (title, text) == ("▣ il56OS6H1gdzHbMY9d…X73xHhQUdnxp0gMGYMa ─ example.com", "no alternative text")


def test_middle_of_a_long_file_name_is_left_out_beside_an_alternative_text() -> None:
    name = "a-picture-whose-name-is-much-too-long-for-its-frame {}.png"
    for number in (1, 2):
        title, *_ = lay_out(parse(f"![It](<{name.format(number)}>)").blocks, 40, Styles.plain())
        assert title.text == f"╭─ ▣ a-picture-whose…-its-frame {number}.png ─╮"
    title, *_ = lay_out(parse(f"![It](<https://example.com/{name.format(1)}>)").blocks, 40, Styles.plain())
    assert title.text == "╭─ ▣ a-pictur…ame 1.png ─ example.com ─╮"


def framed(source: str) -> list[str]:
    lines = [line.text for line in lay_out(parse(source).blocks, 60, Styles.plain())]
    return [text.strip("╭╮╰╯│─ ") for text in lines if text.strip("╭╮╰╯│─ ")]


def test_caption_equal_to_the_alternative_text_is_shown_once() -> None:
    figure = '<figure><img src="a.png" alt="{}"><figcaption><p>{}</p></figcaption></figure>'
    assert framed(figure.format("The one", "The one.")) == ["▣ a.png", "The one."]
    assert framed(figure.format("", "The one.")) == ["▣ a.png", "The one."]
    assert framed(figure.format("It", "The one.")) == ["▣ a.png", "It", "The one."]


def test_file_name_of_a_repeated_copy_is_shortened() -> None:
    copies = " (1)" * 40
    assert framed(f'<figure><img src="it{copies} (7).png" alt=""></figure>')[0] == "▣ it (7).png"
    assert framed(f'<figure><img src="it{copies} ( (7).png" alt=""></figure>')[0] == "▣ it (7).png"
    assert framed('<figure><img src="it (1) (1).png" alt=""></figure>')[0] == "▣ it (1) (1).png"


def test_legacy_api_method_names_each_group_once() -> None:
    part = "{{% api-method-{0} %}}\n{1}\n{{% endapi-method-{0} %}}"
    parameter = '{% api-method-parameter name="id" type="string" %}\nWhich\n{% endapi-method-parameter %}'
    answer = "{% api-method-response-example httpCode=200 %}\n{% api-method-response-example-description %}\n\n"
    answer += "{% endapi-method-response-example-description %}\n{% endapi-method-response-example %}"
    expected = framed(
        '{% api-method method="get" path="/a" %}\n'
        + part.format("summary", "Find one")
        + part.format("request", part.format("headers", parameter + "\n\n" + parameter))
        + part.format("response", answer)
        + "\n{% endapi-method %}"
    )
    one = ["id  string", "Which"]
    assert expected == ["GET  /a", "Find one", "HEADERS", *one, *one, "RESPONSES", "200"]


SUN = "\u2600\ufe0f"


@pytest.mark.parametrize(
    "source",
    [
        f'{{% tabs %}}\n{{% tab title="{SUN} a" %}}\nx\n{{% endtab %}}\n{{% endtabs %}}',
        f'{{% content-ref url="a.md" %}}\n[{SUN} a](a.md)\n{{% endcontent-ref %}}',
        f'{{% code title="{SUN} a" %}}\n```\nx\n```\n{{% endcode %}}',
        f'{{% updates %}}\n{{% update date="2026-01-02" tags="{SUN}" %}}\nx\n{{% endupdate %}}\n{{% endupdates %}}',
        f'{{% prompt description="{SUN} a" %}}\n```\nx\n```\n{{% endprompt %}}',
        f'{{% file src="{SUN}.pdf" %}}',
        f"![{SUN} a](b.png)\n\n![]({SUN}.png)",
        f'<table><thead><tr><th data-type="select"><select><option value="a" label="{SUN}"></option></select></th></tr></thead>'
        '<tbody><tr><td><span data-option="a">a</span></td></tr></tbody></table>',
    ],
)
def test_titles_and_labels_contain_no_ambiguous_widths(source: str) -> None:
    text = "".join(line.text for line in lay_out(parse(source).blocks, 60, Styles.plain()))
    assert "\u2600" in text
    assert "\ufe0f" not in text


def test_blocked_embed_says_so_beside_its_url() -> None:
    expected = embedded("javascript:alert(1)", 54)
    assert expected.startswith("✗ javascript:alert(1)  ")
    assert expected.endswith("not opened")
    assert expected.count("alert") == 1


@pytest.mark.parametrize("words", ["Wet paint.", "Wet paint.\n\n" * 900])
def test_included_content_is_labeled_and_links_to_its_file(words: str) -> None:
    tag = '{% include "../.gitbook/includes/take%20care.md" %}'
    shown = lay_out(parse(f"Before.\n\n{tag}\n\n{words}\n\n{{% endinclude %}}\n\nAfter.").blocks, 40, Styles.plain())
    expected = [line.text.rstrip() for line in shown]
    assert expected[:4] == ["Before.", "", "┊ reusable content: take care.md", "┊ Wet paint."]
    assert expected.count("┊ reusable content: take care.md") == 1
    assert (expected[-3], expected[-1]) == ("┊ Wet paint.", "After.")
    assert [span.target for span in clickable_spans(shown)] == ["../.gitbook/includes/take%20care.md"]


@pytest.mark.parametrize(
    ("target", "expected", "link_count"),
    [
        ("/reusable-content/r1", "from r1", 0),
        ("../.gitbook/includes/gone.md", "from gone.md", 1),
        ("https://app.gitbook.com/s/s1/~/reusable/r1/", "from another space", 1),
    ],
)
def test_unresolved_include_names_its_target(target: str, expected: str, link_count: int) -> None:
    (line,) = lay_out(parse(f'{{% include "{target}" %}}').blocks, 60, Styles.plain())
    assert line.text.strip() == f"◆ Reusable content {expected}"
    assert len(clickable_spans([line])) == link_count


def test_icons_with_older_names_have_symbols() -> None:
    icons = "".join(
        f'<i class="fa-{name}"></i>' for name in ("info-circle", "exclamation-triangle", "gitbook-assistant")
    )
    (line,) = lay_out(parse(f"So: {icons}").blocks, 40, Styles.plain())
    assert line.text.strip() == "So: i!★"


@pytest.mark.parametrize(
    ("words", "head"),
    [
        ("**Mind the gap**\n\nIt is wide.", "▌ i Mind the gap"),
        ("**Mind the gap**", "▌ i Info"),
        ("**Mind** the gap\n\nIt is wide.", "▌ i Info"),
        ("ما هي المنطقة التي تظهر", "▌                                Info i"),
        ("### ما هي المنطقة\nمساحة", "▌                       ما هي المنطقة i"),
    ],
)
def test_title_of_a_hint_follows_the_direction_of_its_text(words: str, head: str) -> None:
    shown = lay_out(parse(f"{{% hint %}}\n{words}\n{{% endhint %}}").blocks, 40, Styles.plain())
    assert shown[0].text.rstrip() == head


def test_table_without_a_head_has_no_rule() -> None:
    rows = "<tr><td>a</td><td>b</td></tr>" * 2
    table = f"<table><thead><tr><th></th><th></th></tr></thead><tbody>{rows}</tbody></table>"
    assert [line.text.strip() for line in lay_out(parse(table).blocks, 40, Styles.plain())] == ["a   b", "a   b"]


@pytest.mark.parametrize(
    ("markdown", "first"),
    [
        ("Docker הוא כלי שמריץ מכולות במחשב", "right"),
        ("## Docker ו-Kubernetes בסביבת הפיתוח שלנו", "right"),
        ("The word שלום means peace", "left"),
        ("שלום means peace, and much more than that", "left"),
        ("1. שלום\n2. Git הוא כלי", "right"),
        ("- Git\n- API\n- הסבר ארוך על הכלי", "right"),
        ("1. Git: שם\n2. repositoryConfiguration", "left"),
        ("<details>\n\n<summary>פרטים נוספים</summary>\n\nתוכן\n\n</details>", "right"),
        ("{% stepper %}\n{% step %}\n### שלב ראשון\n{% endstep %}\n{% endstepper %}", "right"),
    ],
)
def test_right_to_left_text_is_aligned_right(markdown: str, first: str) -> None:
    line = next(line for line in lay_out(parse(markdown).blocks, 60, Styles.plain()) if line.text.strip())
    assert ("right" if line.width >= 59 else "left") == first


def test_right_to_left_footnotes_have_their_numbers_at_the_right() -> None:
    lines = lay_out(parse("שלום[^1]\n\n[^1]: הערה\n").blocks, 40, Styles.plain())
    assert lines[-1].text == "הערה ¹".rjust(40)


def test_annotated_words_have_the_number_of_their_note() -> None:
    note = '<a data-footnote-ref href="#user-content-fn-{0}">{1}</a>'
    page = f"{note.format(2, 'b')} and {note.format(1, 'a')}\n\n[^1]: One\n[^2]: Two\n"
    for look, marks in ((Styles.plain(), "b² and a¹"), (Styles.plain(ascii=True), "b[2] and a[1]")):
        assert lay_out(parse(page).blocks, 40, look)[0].text.rstrip() == marks


def test_image_with_a_data_url_is_called_an_image() -> None:
    data = "data:image/png;base64,iVBORw0KGgo/AAAA//8="
    svg = "<svg xmlns=&#x22;a&#x22;><path/></svg>"
    for markdown in (
        f"x ![]({data}) y",
        f'x <img src="{data}" alt="{svg}" data-size="line"> y',
        f"![]({data})",
        f'<figure><img src="{data}" alt="{svg}"><figcaption>cap</figcaption></figure>',
        f"| a | b |\n|-|-|\n| x | ![]({data}) |\n",
    ):
        text = "\n".join(line.text for line in lay_out(parse(markdown).blocks, 60, Styles.plain()))
        assert "▣ image" in text.replace("\u00a0", " ")
        assert not any(part in text for part in ("base64", "svg", "AAAA", "8="))


def test_image_in_text_has_decoded_name() -> None:
    lines = lay_out(parse("See ![](assets/two%20boats.png?alt=media) here.").blocks, 60, Styles.plain())
    assert lines[0].text.replace("\u00a0", " ") == "See ▣ two boats.png here."
