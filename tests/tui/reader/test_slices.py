"""Long blocks are laid out in slices, and look the same as in one piece."""

import pytest
from rich.style import Style

from octavo.documents.source_reader import parse
from octavo.tui.reader.page_view import PageView
from octavo.tui.render.block_slices import whole_block
from octavo.tui.render.layout import block_ranges, lay_out, render_block, split_into_chunks
from octavo.tui.render.layout_context import LayoutContext, ViewState
from octavo.tui.render.styled_lines import Line
from octavo.tui.render.styles import Styles
from octavo.tui.widgets.themes import themes
from tests.tui.reader.panes import PaneApp, screen

LOOK = Styles.from_theme(themes()[0].to_color_system().generate(), ascii=False)
ROWS = "".join(f"| row {number} | {'some words of a cell ' * (1 + number % 7)} | {number} |\n" for number in range(150))
TABLE = f"| Name | What it is | Count |\n| --- | --- | ---: |\n{ROWS}"
LONG_CELLS = "| Name | What it is |\n| --- | --- |\n" + "".join(
    f"| row {number} | {'some **words** of a `long` cell ' * (12 + 9 * (number % 5))} |\n" for number in range(40)
)
PARTS = "".join(f"Part {number}\n\n{'## Title' if number % 9 == 5 else '* one'}\n\n" for number in range(90))
STEPS = "".join(f"{{% step %}}\n## Step {number}\n\nDo it.\n{{% endstep %}}\n" for number in range(90))
ITEMS = "".join(f"{number}. item {number}\n" for number in range(8, 240))
CODE = "".join(f"    name_{number} = {number}  # {'some words ' * (number % 5)}\n" for number in range(400))
WIDE_CODE = "".join(
    f"    name_{number} = {number}  # {'港の水位は毎時' * (number * 7 % 19)}\n" for number in range(200)
)
CARDS = "".join(f"<tr><td>Card {number}</td><td>{'words ' * (number % 30)}</td></tr>" for number in range(150))
MERGED = "".join(
    f"<tr>{'<td rowspan=2>both</td>' * (number % 2 == 0)}<td>row {number}</td><td>{'words ' * (number % 30)}</td></tr>"
    for number in range(150)
)
BOTH_WAYS = "".join(
    f"<tr>{'<td rowspan=2 colspan=2>both ways</td>' * (number % 2 == 0)}<td>row {number}</td><td>{'words ' * (number % 30)}</td></tr>"
    for number in range(150)
)
METHOD = "".join(
    f'{{% swagger-parameter in="{"query" if number < 60 else "header"}" name="p{number}" type="string" %}}\n{"It says. " * 9}\n'
    "{% endswagger-parameter %}\n"
    for number in range(120)
)
BLOCKS = {
    "list": ITEMS,
    "loose list": ITEMS.replace("\n", "\n\n"),
    "list in an item": "* before\n* holds\n\n" + "".join(f"  {line}\n" for line in ITEMS.splitlines()) + "* after\n",
    "tasks": "* [x] done\n* [ ] to do\n" * 120,
    "quote": "".join(f"> {line}\n" for line in PARTS.splitlines()),
    "hint": f'{{% hint style="warning" %}}\n{PARTS}{{% endhint %}}\n',
    "hint with a title": f'{{% hint style="info" %}}\n## Its title\n\n{PARTS}{{% endhint %}}\n',
    "hints in a hint": "{% hint %}\nfirst\n\n{% hint %}\n" + PARTS + "{% endhint %}\n\nlast\n{% endhint %}\n",
    "expandable": f"<details open>\n<summary>Much</summary>\n\n{PARTS}</details>\n",
    "tabs": f'{{% tabs %}}\n{{% tab title="A" %}}\n{PARTS}{{% endtab %}}\n{{% tab title="B" %}}\nb\n{{% endtab %}}\n{{% endtabs %}}',
    "steps": f"{{% stepper %}}\n{STEPS}{{% endstepper %}}\n",
    "a long step": f"{{% stepper %}}\n{{% step %}}\n## One\n\n{PARTS}{{% endstep %}}\n{STEPS}{{% endstepper %}}\n",
    "table": TABLE,
    "wide table": TABLE.replace("some words of a cell", "somewordsofacellthat"),
    "table of long cells": LONG_CELLS,
    "table in a hint": f"{{% hint %}}\nwords\n\n{TABLE}\nwords\n{{% endhint %}}\n",
    "code": f"```python\n{CODE}```\n",
    "code with numbers": f'{{% code title="Much" lineNumbers="true" %}}\n```python\n{CODE}```\n{{% endcode %}}\n',
    "code that wraps": f'{{% code overflow="wrap" %}}\n```\n{CODE}```\n{{% endcode %}}\n',
    "code with wide letters": f"```python\n{WIDE_CODE}```\n",
    "code with wide letters and notes": '<pre class="language-python"><code>'
    + WIDE_CODE.replace("= 8 ", '= <a data-footnote-ref href="#user-content-fn-1">8</a> ').replace(
        "= 189 ", '= <a data-footnote-ref href="#user-content-fn-1">189</a> '
    )
    + "</code></pre>\n\n[^1]: It is said.\n",
    "code in an item": "* before\n\n  ```\n"
    + "".join(f"  {line}\n" for line in CODE.splitlines())
    + "  ```\n* after\n",
    "code in a hint": f"{{% hint %}}\nwords\n\n```\n{CODE}```\n\nwords\n{{% endhint %}}\n",
    "prompt": f'{{% prompt description="Ask" defaultExpanded="full" %}}\n{CODE}{{% endprompt %}}\n',
    "columns": "".join(
        ("{% columns %}\n", *(f"{{% column %}}\n{PARTS}{{% endcolumn %}}\n" for _ in range(4)), "{% endcolumns %}\n")
    ),
    "condition": f"{{% if visitor.a %}}\n{PARTS}{{% else %}}\n{PARTS}{{% endif %}}\n",
    "conflict": f"<<<<<<< main\n{PARTS}=======\n{PARTS}>>>>>>> #1\n",
    "cards": f'<table data-view="cards"><thead><tr><th></th><th></th></tr></thead><tbody>{CARDS}</tbody></table>\n',
    "merged cells": f"<table><tbody>{MERGED}</tbody></table>\n",
    "cells merged both ways": f"<table><tbody>{BOTH_WAYS}</tbody></table>\n",
    "images": "<div>" + "".join(f'<img src="{at}.png" alt="Number {at}">' for at in range(400)) + "</div>\n",
    "unknown": f'{{% frob a="b" %}}\n{PARTS}{{% endfrob %}}\n',
    "operation": f'{{% swagger method="get" path="/a" summary="S" %}}\n{METHOD}{{% endswagger %}}\n',
    "long heading": f"## {'Words of a heading ' * 900}\n",
    "updates": "{% updates %}\n"
    + "".join(f'{{% update date="2026-01-{day:02}" %}}\nwords\n\n{PARTS}{{% endupdate %}}\n' for day in (1, 2))
    + "{% endupdates %}\n",
}


def pieces_of(lines: list[Line]) -> list[list[tuple[str, Style]]]:
    return [[(piece.text, piece.style) for piece in line.pieces] for line in lines]


@pytest.mark.before_release(
    "cards",
    "cells merged both ways",
    "code",
    "code in a hint",
    "code in an item",
    "code that wraps",
    "code with numbers",
    "code with wide letters",
    "code with wide letters and notes",
    "condition",
    "conflict",
    "expandable",
    "hint",
    "images",
    "list",
    "list in an item",
    "long heading",
    "loose list",
    "merged cells",
    "prompt",
    "quote",
    "steps",
    "table",
    "table in a hint",
    "table of long cells",
    "tabs",
    "tasks",
    "unknown",
    "wide table",
)
@pytest.mark.parametrize("page", [pytest.param(page, id=name) for name, page in BLOCKS.items()])
def test_slices_look_like_whole_block(page: str) -> None:
    block = next(iter(parse(page).blocks))
    for width, room in ((40, 40), (76, 110)):
        for offset in (0, 24, 10_000):
            view_state = [ViewState(pan_offsets={each.key: offset for each in block.walk()}) for _ in range(2)]
            in_slices = lay_out([block], width, LOOK, view_state[0], available_width=room)
            whole = render_block(LayoutContext(LOOK, view_state[1], render_block, available_width=room), block, width)
            assert [line.text for line in in_slices] == [line.text for line in whole]
            assert pieces_of(in_slices) == pieces_of(whole)
            assert view_state[0].overflow == view_state[1].overflow
    assert len(list(split_into_chunks([block]))) > 2


def test_slices_of_long_footnote_keep_blank_lines() -> None:
    text = "Words[^1]\n\n[^1]: First\n\n" + "".join(f"    {line}\n" for line in PARTS.splitlines())
    footnote = parse(text).blocks[-1].children[0]
    whole = render_block(LayoutContext(LOOK, ViewState(), render_block), footnote, 76)
    assert len(list(split_into_chunks([footnote]))) > 2
    assert [line.text for line in lay_out([footnote], 76, LOOK)] == [line.text for line in whole]


def test_code_above_very_long_line_scrolls() -> None:
    (block,) = parse(f"```\n{CODE}{'x' * 100 + ' end of the row'}\n{'letters ' * 5000}\n```\n").blocks
    view_state = ViewState()
    assert "end of the row" not in "".join(line.text for line in lay_out([block], 76, LOOK, view_state))
    assert view_state.pan_by(block.key, 60)
    assert "end of the row" in "".join(line.text for line in lay_out([block], 76, LOOK, view_state))


@pytest.mark.parametrize("page", [pytest.param(page, id=name) for name, page in BLOCKS.items()])
def test_blocks_are_selected_not_slices(page: str) -> None:
    block = next(iter(parse(page).blocks))
    known = {id(each) for each in block.walk()}
    spans = [each for _, _, each in block_ranges(lay_out([block], 76, LOOK))]
    assert all(id(each) in known for each in spans)
    parts = [chunk.slice for chunk in split_into_chunks([block]) if chunk.slice is not None]
    assert all(whole_block(part) is block for part in parts)
    leaves = {each.key for part in parts for each in part.walk() if not each.children}
    has_leaves = block.kind != "prompt"  # A prompt consists of one text.
    assert leaves >= {each.key for each in block.walk() if not each.children and each.kind != "tab" and has_leaves}


def test_long_paragraph_is_sliced_without_losing_words() -> None:
    words = " ".join(f"word{number} **strong{number}** and more" for number in range(2000))
    (block,) = parse(words).blocks
    lines = lay_out([block], 76, LOOK)
    assert " ".join(line.text for line in lines).split() == words.replace("*", "").split()
    assert len(list(split_into_chunks([block]))) > 5


@pytest.mark.parametrize(
    "words", ["x" * 40_000, "港の水位は" * 6_000, "short words " + "e\u0301" * 20_000 + " and more"]
)
def test_long_word_is_sliced_without_losing_letters(words: str) -> None:
    (block,) = parse(words).blocks
    parts = [chunk.slice for chunk in split_into_chunks([block]) if chunk.slice is not None]
    assert len(parts) > 3
    assert "".join(part.plain() for part in parts).replace(" ", "") == block.plain().replace(" ", "")
    assert not any(part.plain().startswith("\u0301") for part in parts)


async def test_sliced_expandable_expands_and_collapses() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 20)) as pilot:
        app.pane.show(parse(f"{BLOCKS['expandable'].replace(' open', '')}\nAfter all."), key="p")
        closed = screen(app.pane)
        assert "Part 0" not in closed
        assert "After all." in closed
        await pilot.press("tab", "enter")
        assert "Part 0" in screen(app.pane)
        await pilot.press("G")
        assert "Part 89" in screen(app.pane)
        assert "After all." in screen(app.pane)
        await pilot.press("g", "tab", "enter")
        assert screen(app.pane) == closed


def test_long_table_head_loses_no_row_between_slices() -> None:
    words = "much that is said of it " * 80
    heads = "".join(f"<tr><th>Part {number}</th><th>Head {number} {words}</th></tr>" for number in range(12))
    block = parse(f"<table><thead>{heads}</thead><tbody><tr><td>a</td><td>{words}</td></tr></tbody></table>\n").blocks[
        0
    ]
    assert len(list(split_into_chunks([block]))) > 2
    text = "\n".join(line.text for line in lay_out([block], 90, LOOK))
    assert [number for number in range(12) if f"Head {number} " not in text] == []
