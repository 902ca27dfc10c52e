"""Text is found on a page in every notation, and matches are marked exactly."""

from __future__ import annotations

import pytest

from octavo.api.folding import fold
from octavo.documents.source_reader import parse
from octavo.tui.render.layout import render_block, render_chunk, split_into_chunks
from octavo.tui.render.layout_context import LayoutContext, ViewState
from octavo.tui.render.painting import BlockTextFinder, match_spans
from octavo.tui.render.styled_lines import cells
from octavo.tui.render.styles import Styles
from tests.api.test_folding import ALIKE


@pytest.mark.parametrize("stored", [0, 1])
@pytest.mark.parametrize("pair", ALIKE.values(), ids=ALIKE)
def test_text_is_found_and_marked_in_every_notation(pair: tuple[str, str], stored: int) -> None:
    written, typed = pair[stored], pair[1 - stored]
    blocks = parse(f"İß before {written} ßİ after\n\n* also {written}\n").blocks
    finds = [find for find in BlockTextFinder(enumerate(blocks)).find(typed) if find is not None]
    assert [find.chunk_index for find in finds] == [0, 1]
    context = LayoutContext(Styles.plain(), ViewState(), render_block, available_width=110)
    for chunk in split_into_chunks(blocks):
        lines = render_chunk(context, chunk, 76)
        (mark,) = match_spans(lines, typed)
        text = lines[mark.line].text
        start = next(at for at in range(len(text) + 1) if cells(text[:at]) == mark.start)
        end = max(at for at in range(len(text) + 1) if cells(text[:at]) == mark.end)
        assert fold(text[start:end]).strip() == fold(typed)


def test_text_across_a_line_break_is_found() -> None:
    blocks = parse("Die große Straße " * 20).blocks
    context = LayoutContext(Styles.plain(), ViewState(), render_block, available_width=110)
    (chunk,) = split_into_chunks(blocks)
    lines = render_chunk(context, chunk, 30)
    finds = [find for find in BlockTextFinder(enumerate(blocks)).find("GROSSE STRASSE") if find is not None]
    assert len(finds) == len({mark.match_number for mark in match_spans(lines, "GROSSE STRASSE")}) == 20


@pytest.mark.parametrize(
    ("page", "needle"),
    [
        ('<figure><img src="a.png" alt="The map."><figcaption><p>The map</p></figcaption></figure>\n', "map"),
        (
            "<table><thead><tr><th>Name</th><th data-hidden>Other</th></tr></thead><tbody><tr><td>map</td><td>map</td></tr>"
            "</tbody></table>\n",
            "map",
        ),
        (
            '{% openapi-operation spec="s" path="/map" method="get" %}\n[OpenAPI map](https://a.example)\n'
            "{% endopenapi-operation %}\n",
            "map",
        ),
    ],
    ids=["caption", "hidden column", "openapi"],
)
def test_only_visible_text_is_found(page: str, needle: str) -> None:
    blocks = parse(page).blocks
    finds = [find for find in BlockTextFinder(enumerate(blocks)).find(needle) if find is not None]
    context = LayoutContext(Styles.plain(), ViewState(), render_block)
    lines = [line for chunk in split_into_chunks(blocks) for line in render_chunk(context, chunk, 76)]
    assert len(finds) == len({mark.match_number for mark in match_spans(lines, needle)}) == 1


API = (
    '{% swagger method="post" path="/v1/refunds" baseUrl="https://api.example.com" summary="Create a refund" %}\n'
    '{% swagger-parameter in="body" name="amount" type="integer" %}\nIn cents.\n{% endswagger-parameter %}\n'
    '{% swagger-response status="200: OK" description="Refunded" %}\n{% endswagger-response %}\n{% endswagger %}\n'
)
SELECT = (
    '<table><thead><tr><th>Name</th><th data-type="select">State<select><option value="x1" label="In review"></option>'
    '</select></th><th data-type="checkbox">Done</th></tr></thead><tbody><tr><td>map</td><td>x1</td><td>true</td></tr>'
    "</tbody></table>\n"
)
TABS = (
    '{% tabs %}\n{% tab title="npm" %}\nRun it.\n{% endtab %}\n{% tab title="yarn" %}\nRun yarn.\n{% endtab %}\n'
    "{% endtabs %}\n"
)
UPDATES = '{% updates %}\n{% update date="2026-05-02" tags="new" %}\nWords.\n{% endupdate %}\n{% endupdates %}\n'


@pytest.mark.parametrize(
    ("page", "needle", "count"),
    [
        (API, "post", 1),
        (API, "example.com/v1", 1),
        (API, "integer", 1),
        (API, "200", 1),
        (SELECT, "in review", 1),
        (SELECT, "x1", 0),
        (SELECT, "true", 0),
        (TABS, "yarn", 1),
        (UPDATES, "new", 1),
        ("{% if visitor.claims.beta %}\nWords.\n{% endif %}\n", "claims", 1),
        ('{% carousel speed="fast" %}\nWords.\n{% endcarousel %}\n', "fast", 1),
        ('{% content-ref url="guide/start.md" %}\n[start.md](guide/start.md)\n{% endcontent-ref %}\n', "start", 1),
        ('{% file src=".gitbook/assets/terms.pdf" %}\nNew words.\n{% endfile %}\n', "terms", 1),
    ],
)
def test_shown_text_of_attributes_is_found(page: str, needle: str, count: int) -> None:
    view_state = ViewState()
    context = LayoutContext(Styles.plain(), view_state, render_block)
    blocks = parse(page).blocks
    finds = [
        find
        for find in BlockTextFinder(enumerate(blocks)).find(needle)
        if find is not None and not view_state.hides(find.path)
    ]
    lines = [line for chunk in split_into_chunks(blocks) for line in render_chunk(context, chunk, 76)]
    assert len({mark.match_number for mark in match_spans(lines, needle)}) == count
    assert len(finds) == count
