"""Lines of diffs: numbers, backgrounds, indents and notes."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.color import Color

from octavo.documents.blocks import Block, Document, Run, TableColumn
from octavo.documents.diff import diff
from octavo.tui.render.comparison import compare
from octavo.tui.render.diff_chunks import ContextSize
from octavo.tui.render.diff_lines import render_diff_chunk
from octavo.tui.render.diff_sequence import build_diff
from octavo.tui.render.diff_sides import SideWidths
from octavo.tui.render.layout import render_block
from octavo.tui.render.layout_context import LayoutContext, ViewState
from octavo.tui.render.styled_lines import Line
from octavo.tui.render.styles import Styles
from tests.documents.block_trees import canonical, pairs
from tests.documents.test_reported_changes import CHANGES

COLOURED = Styles.from_theme({
    "foreground": "#eeeeee", "background": "#000000", "surface": "#101010", "panel": "#202020",
    "octavo-add-line": "#001100", "octavo-add-word": "#003300",
    "octavo-remove-line": "#110000", "octavo-remove-word": "#330000",
})  # fmt: skip


def set_lines(
    before: str, after: str, look: Styles | None = None, *, width: int = 90, split: bool = False
) -> list[Line]:
    context = LayoutContext(look or Styles.plain(), ViewState(), render_block)
    found = build_diff(compare(before, after).diff, ContextSize(), {}, side_by_side=split).complete()
    widths = SideWidths.for_width(width, split=split)
    return [line for chunk in found.chunks for line in render_diff_chunk(context, chunk, widths)]


def rows(before: str, after: str, *, width: int = 90, split: bool = False) -> list[str]:
    return [line.text.rstrip() for line in set_lines(before, after, width=width, split=split)]


def row(text: str, found: list[str]) -> str:
    """Return the only row that contains `text`."""
    (one,) = [each for each in found if text in each]
    return one


STEP = "{{% step %}}\n### {0}\n\nDo what it says about {0}.\n{{% endstep %}}\n\n"


def stepper(*names: str) -> str:
    return "{% stepper %}\n" + "".join(STEP.format(name) for name in names) + "{% endstepper %}\n"


def test_added_and_removed_steps_have_numbers() -> None:
    few, many = stepper("Ask", "Answer"), stepper("Ask", "Listen", "Think", "Wait", "Answer")
    for found, sign in ((rows(few, many), "+"), (rows(many, few), "−")):
        numbers = [
            re.search(rf"[{sign}]  (\d)  {name}", row(f"  {name}", found)) for name in ("Listen", "Think", "Wait")
        ]
        assert [number and number[1] for number in numbers] == ["2", "3", "4"]


def test_added_tab_has_its_title() -> None:
    tab = '{{% tab title="{0}" %}}\nRun {0}.\n{{% endtab %}}\n'
    before = "{% tabs %}\n" + tab.format("npm") + "{% endtabs %}\n"
    found = rows(before, before.replace("{% endtabs", tab.format("yarn") + "{% endtabs"))
    assert re.fullmatch(r" +5 \+ +yarn", row(" yarn", [each for each in found if "Run" not in each]))


TOPICS = {
    "npm": "Run npm install in the folder of the harbour.",
    "yarn": "Run yarn in the folder of the harbour, and wait.",
}


@pytest.mark.parametrize("around", ["tabs", "steps", "expandables", "columns", "hints"])
@pytest.mark.parametrize("out", [False, True])
def test_sections_moved_into_containers_are_word_edits(around: str, out: bool) -> None:
    headed = {name: f"### {name}\n\n{text}\n" for name, text in TOPICS.items()}
    plain = "\n".join(headed.values())
    inside = {
        "tabs": [
            "{% tabs %}",
            *(f'{{% tab title="{n}" %}}\n{t}\n{{% endtab %}}' for n, t in TOPICS.items()),
            "{% endtabs %}",
        ],
        "steps": [
            "{% stepper %}",
            *(f"{{% step %}}\n{t}\n{{% endstep %}}" for t in headed.values()),
            "{% endstepper %}",
        ],
        "expandables": [f"<details>\n\n<summary>{n}</summary>\n\n{t}\n\n</details>\n" for n, t in TOPICS.items()],
        "columns": [
            "{% columns %}",
            *(f"{{% column %}}\n{t}\n{{% endcolumn %}}" for t in headed.values()),
            "{% endcolumns %}",
        ],
        "hints": [f"{{% hint %}}\n{t}\n{{% endhint %}}\n" for t in headed.values()],
    }[around]
    held = "\n".join(inside)
    sides = [f"# Start\n\n{side}\nEnd.\n" for side in ((held, plain) if out else (plain, held))]
    sides[1] = sides[1].replace("and wait", "and rest")
    found = rows(*sides)
    changed = [line[7:].strip() for line in found if line[5:6] in "+−" and "folder" in line]
    assert [line for line in changed if "npm" in line] == [], "an unchanged line of the section must not be marked"
    assert changed == [TOPICS["yarn"], TOPICS["yarn"].replace("wait", "rest")]
    assert not [line for line in found if "moved" in line]


def test_blocks_that_moved_together_are_reported_once() -> None:
    section = "## Tides\n\nThe tide turns at six, and nobody waits.\n\n{}\n\nSo be there by five at the latest, with all that you want to take along.\n\n"
    rest = "".join(f"Paragraph {name} says nothing about that, as said.\n\n" for name in "abcdefgh")
    found = rows(section.format("Yes.") + rest, rest + section.format("Yes."))
    lines = [line.strip() for line in found if "moved" in line]
    assert lines == ["→ 4 blocks moved to lines 17–23: Tides", "→ 4 blocks moved from lines 1–7"], (
        "the short paragraph must be counted too"
    )
    found = rows(section.format("Yes.") + rest, rest + section.format("Yes.").replace("at the latest", "or earlier"))
    assert [line.strip() for line in found if "edited" in line] == ["→ edited"]


def test_signed_urls_show_only_their_difference() -> None:
    block = '{{% openapi src="a.json" path="/a" method="get" %}}\n[a](https://a.b/{}{}{})\n{{% endopenapi %}}\n'
    found = rows(block.format("x" * 150, "OLD", "y" * 100), block.format("x" * 150, "NEW", "y" * 100), width=120)
    assert re.search(r"~ link “a”: …x+OLDy+… → …x+NEWy+…", row("link", found))
    same = '{{% openapi src="{0}" path="/a" method="get" %}}\n[a]({0})\n{{% endopenapi %}}\n'
    assert [line for line in rows(same.format("a.json"), same.format("b.json")) if "link" in line] == []


@pytest.mark.parametrize(
    "opening",
    ["```sh\n", '{% code title="a" %}\n```sh\n', '<pre class="language-sh"><code class="lang-sh">', "\n```\n\n```sh\n"],
)
def test_code_lines_have_their_source_line_numbers(opening: str) -> None:
    closing = "</code></pre>" if "<pre" in opening else "\n```\n{% endcode %}" if "{%" in opening else "\n```"
    source = f"First.\n\n{opening}first=1\nsecond=2{closing}\n"
    changed = source.replace("second=2", "second=3")
    at = changed.split("\n").index(next(line for line in changed.split("\n") if "second=3" in line)) + 1
    assert row("second=3", rows(source, changed)).startswith(f"{at:>4} + ")
    assert row("first=1", rows(source, changed)).startswith(f"{at - 1:>4} │ ")


@pytest.mark.parametrize(
    "block",
    [
        "| Name | What |\n| - | - |\n" + "".join(f"| name {n} | what {n} |\n" for n in range(12)),
        "{% hint %}\nMind the gap.\n{% endhint %}",
        "```sh\nmake\n```",
        '{% openapi src="a.json" path="/pets" method="get" %}\na.json\n{% endopenapi %}',
        "<details>\n\n<summary>More</summary>\n\n```sh\nmake\n```\n\n</details>",
    ],
)
def test_added_and_removed_lines_have_the_background_of_their_sign(block: str) -> None:
    for before, after, ground in (
        ("End.\n", f"End.\n\n{block}\n", "#001100"),
        (f"End.\n\n{block}\n", "End.\n", "#110000"),
    ):
        lines = [line for line in set_lines(before, after, COLOURED) if "+" in line.text[:6] or "−" in line.text[:6]]
        assert lines
        assert {piece.style.bgcolor for line in lines for piece in line.pieces} == {Color.parse(ground)}


NESTED = (
    "* Harbour\n  * North quay\n    1. first bell\n    2. second bell\n\n       It rings at noon.\n  * South quay\n"
)


@pytest.mark.parametrize("split", [False, True])
def test_list_items_keep_their_depth_and_number(split: bool) -> None:
    found = rows(NESTED, NESTED.replace("at noon", "at dusk"), split=split, width=150 if split else 90)
    assert row("It rings at dusk", found).endswith("+         It rings at dusk.")
    assert "      2. second bell" in row("second bell", found)
    found = rows(NESTED, NESTED.replace("South", "West"), split=split, width=150 if split else 90)
    assert row("West", found).endswith("+    ◦ West quay")
    longer = NESTED.replace("    1. first", "    1. new bell\n    2. first").replace("2. second", "3. second")
    found = rows(longer, longer.replace("    1. new bell\n", "").replace("dusk", "noon"), split=split, width=150)
    assert "−      1. new bell" in row("new bell", found)


def test_moved_long_block_is_one_line_at_its_old_position() -> None:
    code = "\n".join(["```", *(f"boat {number} leaves the harbour at six" for number in range(300)), "```"])
    others = "\n\n".join(f"The harbour {number} is closed while the wind is too strong." for number in range(3))
    lines = rows(f"{code}\n\n{others}\n", f"{others}\n\n{code}\n")
    assert "→ moved to line 7: boat 0 leaves" in lines[1]
    assert sum("boat 299 leaves" in line for line in lines) == 1


@pytest.mark.parametrize(
    ("tag", "name"),
    [
        ('{% openapi src="boats.json" path="/boats/{id}" method="get" %}\nTEXT\n{% endopenapi %}', "GET /boats/{id}"),
        ('{% swagger src="boats.json" path="/boats" method="post" %}\nTEXT\n{% endswagger %}', "POST /boats"),
        (
            '{% openapi-operation spec="boats" path="/boats" method="put" %}\nTEXT\n{% endopenapi-operation %}',
            "PUT /boats",
        ),
        ('{% openapi-schemas spec="boats" schemas="Boat,Sail" %}\nTEXT\n{% endopenapi-schemas %}', "Boat, Sail"),
        ('{% swagger method="get" path="/boats" summary="All boats" %}{% endswagger %}', "GET /boats"),
        ('<figure><img src="a/lock%20(1).png" alt=""><figcaption></figcaption></figure>', "lock (1).png"),
        ('{% file src="a/boats.pdf" %}', "boats.pdf"),
    ],
)
def test_moved_block_without_text_is_named_by_path_or_file(tag: str, name: str) -> None:
    block = tag.replace("TEXT", "[boats.json](../assets/boats.json)")
    others = "The boats leave the harbour at six every day.\n\nThe harbour is closed while the wind is too strong."
    lines = [
        line.text.strip()
        for line in set_lines(f"{block}\n\n{others}", f"{others}\n\n{block}")
        if "moved to" in line.text
    ]
    assert lines == [f"→ moved to line 5: {name}"]


@pytest.mark.parametrize("split", [False, True])
def test_items_of_a_split_list_keep_their_old_numbers(split: bool) -> None:
    ways = ["Open the gate of the harbour", "Light the lamps at the wall", "Wait for the tide at the steps"]
    before = "".join(f"{number}. {way}\n" for number, way in enumerate(ways, 1))
    after = f"* {ways[0]}\n\n![gate](gate.png)\n\n* {ways[1]} tonight\n* {ways[2]}\n"
    found = rows(before, after, width=160, split=split)
    assert "−  2. Light" in row("−", found)
    if split:
        assert "│  1. Open" in row("Open", found)
        assert "│  3. Wait" in row("Wait", found)


def test_shifted_list_item_has_the_number_of_its_side() -> None:
    before = "1. one\n2. two has some words\n"
    found = rows(before, "1. zero\n2. one\n3. two has more words\n")
    assert "− 2. two" in re.sub(" +", " ", row("some words", found))
    assert "+ 3. two" in re.sub(" +", " ", row("more words", found))


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(pairs(), st.booleans())
def test_changes_are_shown_exactly_if_pages_differ_visibly(pair: tuple[Document, Document], split: bool) -> None:
    old, new = pair
    context, widths = (
        LayoutContext(Styles.plain(), ViewState(), render_block),
        SideWidths.for_width(150 if split else 90, split=split),
    )
    found = build_diff(diff(old, new), ContextSize(), {}, side_by_side=split).complete()
    same = [canonical(block) for block in old.blocks] == [canonical(block) for block in new.blocks]
    assert (found.change_count == 0) == same
    for chunk in found.chunks:
        lines_of_chunk = [line.text for line in render_diff_chunk(context, chunk, widths)]
        assert chunk.change_number < 0 or chunk.is_tight or any(line.strip() for line in lines_of_chunk)
        if not split:
            removed, added = ([text[7:] for text in lines_of_chunk if text[5:6] == sign] for sign in "−+")
            assert not removed or removed != added


def test_changed_code_options_take_few_lines() -> None:
    before = '{% code title="a.py" lineNumbers="true" %}\n```py\nx = 1\n```\n{% endcode %}\n'
    after = '{% code title="b.py" %}\n```python\nx = 1\n```\n{% endcode %}\n'
    shown = [each.strip() for each in rows(before, after) if " → " in each]
    assert shown == ["~ code language: py → python · title: a.py → b.py · numbers: yes → no"]
    assert len([each for each in rows(before, after, width=64) if " → " in each]) == 2


def test_url_with_a_new_signature_is_reported_as_such() -> None:
    page = "See [the map](https://files.example/map.pdf?alt=media&token={0}) now.\n\n![](https://files.example/a.png?token={0})\n"
    found = rows(page.format("1f6c0a77d2"), page.format("93be01c4aa"))
    assert "link “the map”, only its signature: token 1f6c0a77d2 → token 93be01c4aa" in row("link", found)
    assert "URL, only its signature: token 1f6c0a77d2 → token 93be01c4aa" in row("URL", found)
    other = rows(page.format("1"), page.format("1").replace("map.pdf", "chart.pdf"))
    assert not any("signature" in each for each in other)


def test_code_in_another_markup_is_unchanged() -> None:
    shown = rows("The `key` is <code>wet</code>.\n", "The <code>key</code> is `wet`.\n")
    assert "No visible changes" in row("changed", shown)
    assert not any("formatting" in each for each in shown)


CARDS = (
    '<table data-view="cards"><thead><tr><th></th><th></th></tr></thead><tbody>'
    "<tr><td><strong>Fast</strong></td><td>It answers every question within a second.</td></tr>"
    "<tr><td><strong>Safe</strong></td><td>It keeps all that was written though the machine is off.</td></tr>"
    "</tbody></table>\n"
)


def test_removed_target_of_an_empty_card_is_told() -> None:
    def cards(target: str) -> Document:
        cell = Block("cell", key="c3", lines=(2, 3))
        card = Block("card", {"target": target} if target else {}, (cell,), lines=(1, 3), key="c2")
        table = Block("cards", {"columns": (TableColumn((Run("Guide"),)),)}, (card,), lines=(0, 3), key="c1")
        return Document("", (table,), source="\n\n\n")

    found = build_diff(diff(cards("a.md"), cards("")), ContextSize(), {}, side_by_side=False).complete()
    context, widths = LayoutContext(Styles.plain(), ViewState(), render_block), SideWidths.for_width(90, split=False)
    lines = [line.text.strip() for chunk in found.chunks for line in render_diff_chunk(context, chunk, widths)]
    assert "~ card target: a.md → none" in lines


def test_paragraphs_converted_to_cards_are_word_edits() -> None:
    before = "**Fast**\n\nIt answers every question within a second.\n\n**Safe**\n\nIt keeps what was written though the machine is off.\n"
    found = rows(before, CARDS)
    assert "paragraph ×4 → cards" in "\n".join(found)
    assert [each for each in found if "Fast" in each or "answers" in each] == []
    assert row("keeps what", found).lstrip().startswith("−")
    assert row("keeps all that", found).lstrip().startswith("+")
    headed = rows(before, CARDS.replace("<th></th>", "<th>Name</th>", 1))
    assert not any("→ cards" in each for each in headed)


@pytest.mark.parametrize("split", [False, True])
def test_replaced_image_does_not_repeat_its_alternative_text(split: bool) -> None:
    figure = '<figure><img src="{}" alt="{}"><figcaption></figcaption></figure>\n'
    long = " ".join(["The gate that opens in the early morning, long before high water"] * 3)
    for before, after in (("The lock", "The new lock"), ("The lock", long), ("The lock", "")):
        found = rows(
            figure.format("a.png", before), figure.format("b.png", after), width=150 if split else 90, split=split
        )
        assert "▣ a.png" in row("a.png", found)
        assert "▣ b.png" in row("b.png", found)
        assert not [each for each in found if "alternative text:" in each]
    hidden = rows(figure.format("a/lock.png", "The lock"), figure.format("b/lock.png", "The lock"))
    assert "URL: a/lock.png → b/lock.png" in row("URL", hidden)


def test_joined_rows_are_one_row_with_word_edits() -> None:
    found = rows(*CHANGES["a row folded into the cell above"])
    assert row("with their names", found).split() == ["~", "with", "their", "names", "and", "sizes"]
    assert row("2 rows joined into 1", found)


def test_removed_parameters_and_responses_have_names() -> None:
    found = rows(*CHANGES["an operation that a specification describes now"])
    assert row("berth  integer", found).split() == ["−", "berth", "integer"]
    assert row("name required", found)
    assert row("201", found)


@pytest.mark.parametrize("width", [90, 30])
@pytest.mark.parametrize(("space", "visible"), [("\t", r"\t"), ("\n", r"\n")])
def test_setting_that_differs_only_in_white_space_shows_it(space: str, visible: str, width: int) -> None:
    found = rows('{% widget name="one two" %}\n', f'{{% widget name="one{space}two" %}}\n', width=width)
    assert f"one{visible}two" in row(visible, found)
    assert not set("\n\r\t") & set("".join(found))


def test_setting_that_lost_a_space_at_its_end_shows_it() -> None:
    found = rows('---\ndescription: "All boats "\n---\n\nx\n', "---\ndescription: All boats\n---\n\nx\n")
    assert row("description: All boats· → All boats", found)


def words_on(ground: str, found: list[Line]) -> list[str]:
    """Return the text of all pieces with this background."""
    color = Color.parse(ground)
    return [
        piece.text for line in found for piece in line.pieces if piece.style.bgcolor == color and piece.text.strip()
    ]


def test_marks_in_a_line_of_code_fit_its_words_after_another_indent() -> None:
    found = set_lines(
        "```\n  wait 5 and send the words\n```\n", "```\n      wait 7 and send the words\n```\n", COLOURED
    )
    assert (words_on("#330000", found), words_on("#003300", found)) == (["5"], ["7"])


def test_changed_white_space_in_an_empty_line_of_code_is_named() -> None:
    found = rows("```\na {\n  \n}\n```\n", "```\na {\n \n}\n```\n")
    assert row("invisible characters", found).split("characters: ")[1] == "2 spaces → space"


@pytest.mark.parametrize("split", [False, True])
def test_changed_white_space_of_code_is_named_below_its_line(split: bool) -> None:
    found = rows("```\n    long line\nwait 5\n```\n", "```\n\tlong line\nwait 7\n```\n", split=split)
    changed = next(index for index, each in enumerate(found) if "long" in each)
    assert "tab" in found[changed + 1]
    assert "wait 5" in found[changed + 2]


@pytest.mark.parametrize(
    ("before", "after"), [("# 3. Tides", "# 3\u20e3 Tides"), ("Tides 1 and 2", "Tides 1\ufe0f\u20e3 or 2")]
)
def test_added_sign_that_a_terminal_cannot_show_is_named_beside_changed_words(before: str, after: str) -> None:
    for texts in ((before, after), (after, before)):
        found = rows(*(f"{text} of the harbour.\n" for text in texts))
        assert "combining enclosing keycap" in row("invisible characters", found)


def test_words_of_a_link_that_shows_its_page_are_no_invisible_characters() -> None:
    before, after = (f'See [{name}]({url} "mention") first.\n' for name, url in (("Tides", "t/"), ("Tides.md", "t.md")))
    found = rows(before, after)
    assert row("words of the link", found).split("link: ")[1] == "Tides → Tides.md"


def test_changed_and_added_column_titles_are_marked() -> None:
    found = set_lines(
        "| Name | Size of it |\n| - | - |\n| a | 1 |\n",
        "| Name | Length of it | Type |\n| - | - | - |\n| a | 1 | b |\n",
        COLOURED,
    )
    assert words_on("#330000", found) == ["Size"]
    assert words_on("#003300", found)[:2] == ["Length", "Type"]


def test_note_of_a_moved_row_is_true_of_both_positions() -> None:
    head, one, two = "| Name |\n| - |\n", "| The keeper of the light |\n", "| The ships in the harbour |\n"
    found = rows(head + one + two, head + two + one)
    assert [each.split()[0] for each in found if "keeper" in each or "harbour" in each].count("→") == 2
    assert row("moved", found).strip() == "~ 1 row moved. → marks the old position (faint) and the new position."


def test_each_moved_row_counts_once_in_the_notes_of_tables() -> None:
    head = "| Name | Use |\n| - | - |\n"
    one, two, three = (
        f"| The {name} | counts the ships in the {name} |\n" for name in ("big lighthouse", "old harbour", "new lock")
    )
    tables = (f"{head}{{}}\nText.\n\n{head}| c | d |\n{{}}").format
    found = rows(tables(one + two + three, ""), tables(two + one, three))
    assert sum("1 row moved." in each for each in found) == 2


def test_figure_with_another_frame_is_shown_with_its_image() -> None:
    figure = '<figure><img src="harbour.png" alt=""><figcaption><p>The pier</p></figcaption></figure>'
    framed = f'<div data-with-frame="true">{figure}</div>'
    before, after = (f"# Page\n\nFirst.\n\n{each}\n\nLast.\n" for each in (figure, framed))
    found = rows(before, after)
    assert row("frame: no → yes", found)
    assert row("harbour.png", found)
    size = compare(before, after).diff.size
    assert (size.added, size.removed) == (0, 0)


def test_long_row_that_moved_is_removed_once_and_added_once() -> None:
    long_row = f"| moved {'word ' * 3000} | end |\n"
    others = [f"| row {number} | text of row {number} |\n" for number in range(6)]
    head = "| a | b |\n| - | - |\n"
    before, after = f"{head}{long_row}{''.join(others)}", f"{head}{''.join(others)}{long_row}"
    found = rows(before, after)
    assert sum("moved word" in each for each in found) == 2
