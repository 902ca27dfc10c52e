"""Code blocks with all options, and in all containers."""

from __future__ import annotations

from itertools import product

import pytest

from octavo.documents.blocks import Block
from octavo.documents.source_reader import parse
from octavo.tui.render.block_slices import split_block
from octavo.tui.render.deferred import DeferredContent, code_query
from octavo.tui.render.layout import lay_out, render_block
from octavo.tui.render.layout_context import LayoutContext, ViewState
from octavo.tui.render.styles import Styles

NOTES = ((), ((2, "1"),), ((12, "1"),), ((2, "1"), (12, "x")), ((40, "1"),))


@pytest.mark.parametrize("notes", NOTES)
@pytest.mark.parametrize("rows", [0, 1, 10, 14, 30])
def test_code_is_rendered_with_every_combination_of_options(rows: int, notes: tuple[tuple[int, str], ...]) -> None:
    text = "\n".join(f"line {row}" for row in range(rows))
    for expandable, numbers, wraps, title, width in product((True, False), (True, False), (True, False), "T ", (8, 60)):
        attrs = {"expandable": expandable, "numbers": numbers, "wrap": wraps, "title": title.strip(), "notes": notes}
        lines = lay_out((Block(kind="code", attrs=attrs, text=text, key="k"),), width, Styles())
        shown = "\n".join("".join(piece.text for piece in line.pieces) for line in lines)
        assert ("line 0" in shown) == (rows > 0)
        assert ("line 11" in shown) == (rows > 11 and not expandable)


@pytest.mark.parametrize(("available", "wide"), [(60, 60), (90, 90), (200, 113)])
def test_code_uses_the_available_width_and_is_cut_at_its_box(available: int, wide: int) -> None:
    row = "const client = await ServiceClientFactory.init<NetworkIndexer>({ network: Network.MAIN_NETWORK_INDEXER_LONG });"
    block = Block(kind="code", attrs={}, text=row[:109], key="k")
    view_state = ViewState()
    lines = lay_out((block,), 60, Styles.plain(), view_state, available_width=available)
    shown = row[: wide - 5] + "…" if wide < 113 else row[:109]
    assert [line.text for line in lines][1] == f"│ {shown} │"
    view_state.pan_by("k", 10_000)
    moved = lay_out((block,), 60, Styles.plain(), view_state, available_width=available)[1].text
    assert moved == (f"│ …{row[109 - wide + 5 : 109]} │" if wide < 113 else f"│ {shown} │")


ROW = "const client = await ServiceClientFactory.init({ network: Network.MAIN_NETWORK_INDEXER });"
CONTAINERS_WITHOUT_RIGHT_EDGE = {
    "list": "* item\n\n  CODE",
    "list in a list": "* item\n  1. inner\n\n     CODE",
    "tab": '{% tabs %}\n{% tab title="A" %}\nCODE\n{% endtab %}\n{% endtabs %}',
    "step": "{% stepper %}\n{% step %}\n## One\n\nCODE\n{% endstep %}\n{% endstepper %}",
    "expandable": "<details open>\n\n<summary>More</summary>\n\nCODE\n\n</details>",
    "update": '{% updates %}\n{% update date="2024-01-02" %}\nCODE\n{% endupdate %}\n{% endupdates %}',
    "quote": "> CODE",
    "condition": '{% if "a" %}\nCODE\n{% endif %}',
    "tab in a step": (
        "{% stepper %}\n{% step %}\n## One\n\n"
        '{% tabs %}\n{% tab title="A" %}\nCODE\n{% endtab %}\n{% endtabs %}\n{% endstep %}\n{% endstepper %}'
    ),
}
CONTAINERS_WITH_RIGHT_EDGE = {
    "hint": "{% hint %}\nCODE\n{% endhint %}",
    "column": "{% columns %}\n{% column %}\nCODE\n{% endcolumn %}\n{% column %}\nb\n{% endcolumn %}\n{% endcolumns %}",
    "list in a hint": "{% hint %}\n* item\n\n  CODE\n{% endhint %}",
}


def put_into(container: str, code: str) -> str:
    before = container[: container.index("CODE")].rsplit("\n", 1)[-1]
    return container.replace("CODE", code.replace("\n", "\n" + before))


@pytest.mark.parametrize(
    "container", [pytest.param(page, id=name) for name, page in CONTAINERS_WITHOUT_RIGHT_EDGE.items()]
)
def test_code_in_a_container_without_right_edge_uses_more_width(container: str) -> None:
    blocks = parse(put_into(container, f"```js\n{ROW}\n```")).blocks
    wide = lay_out(blocks, 60, Styles.plain(), available_width=160)
    assert any(ROW in line.text for line in wide)
    most = max(line.width for line in lay_out(blocks, 60, Styles.plain(), available_width=80))
    assert most in (69, 70)  # The left edge stays, and steps keep one space at the right.
    assert max(line.width for line in lay_out(blocks, 60, Styles.plain())) in (59, 60)


@pytest.mark.parametrize(
    "container", [pytest.param(page, id=name) for name, page in CONTAINERS_WITH_RIGHT_EDGE.items()]
)
def test_code_in_a_container_with_right_edge_stays_inside(container: str) -> None:
    blocks = parse(put_into(container, f"```js\n{ROW}\n```")).blocks
    assert max(line.width for line in lay_out(blocks, 72, Styles.plain(), available_width=130)) <= 72


@pytest.mark.parametrize(("available", "rows"), [(60, 2), (80, 2), (len(ROW) + 4, 1), (200, 1)])
def test_wrapped_code_uses_the_available_width(available: int, rows: int) -> None:
    block = Block(kind="code", attrs={"wrap": True}, text=ROW, key="k")
    lines = lay_out((block,), 60, Styles.plain(), available_width=available)
    assert len(lines) == rows + 2
    assert {line.width for line in lines} == {len(ROW) + 4 if rows == 1 else 60}


def test_table_in_a_list_uses_more_width() -> None:
    names = [f"ServiceClientFactoryOptions{at}" for at in "ABC"]
    page = f"* item\n\n  | a | b | c |\n  | --- | --- | --- |\n  | {' | '.join(names)} |\n"
    lines = lay_out(parse(page).blocks, 60, Styles.plain(), available_width=200)
    assert any(all(name in line.text for name in names) for line in lines)


async def test_highlighted_row_in_several_slices_is_shown_once() -> None:
    block = Block("code", {"language": "python"}, text=f"a = 1\ns = '{'é' * 1700}'\nb = 2", key="k")
    deferred = DeferredContent()
    assert deferred.tokens is not None
    query = code_query("python", block.text)
    assert query is not None
    deferred.tokens.request(query)
    assert await deferred.tokens.load_requested()
    context = LayoutContext(Styles(), ViewState(), render_block, deferred=deferred)
    slices = list(split_block(block, 600))
    assert len(slices) > 3
    lines = [line for each in slices for line in render_block(context, each, 60)]
    assert "".join(line.text for line in lines).count("é") == 1700
