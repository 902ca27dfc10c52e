"""Diagrams are drawn by a child process with limits, or shown as source."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from pathlib import Path

import pytest

from octavo.documents.blocks import Block
from octavo.documents.source_reader import parse
from octavo.tui.reader.page_view import PageView
from octavo.tui.render import diagrams
from octavo.tui.render.deferred import DiagramQuery
from octavo.tui.render.diagrams import draw_diagram, drawing_problem, normalize_diagram
from octavo.tui.render.layout import deferred_content, render_block
from octavo.tui.render.layout_context import LayoutContext, ViewState
from octavo.tui.render.styled_lines import Line
from octavo.tui.render.styles import ASCII, Styles
from octavo.tui.terminal.limited_programs import run_bounded
from tests.tui.reader.panes import PaneApp, bar_column, screen

SMALL_DIAGRAM = "flowchart LR\n  A[Measure] --> B[Publish]"
WIDE_DIAGRAM = "flowchart LR\n" + "\n".join(f"  N{n}[Station {n}] --> N{n + 1}[Station {n + 1}]" for n in range(20))
SLOW_DIAGRAM = """flowchart RL
    M0["A"] --> M2["B"]
    M1["C"] --> M2 & M16["D"] & M17["E"]
    M3["F"] --> M2 & M16 & M17
    M6["G"] --> M2
    M5["H"] --> M3 & M16 & M17 & M2
    M4["I"] --> M1 & M2 & M16 & M17
    M7["J"] --> M16 & M17 & M2 & M0
    M8["K"] --> M17 & M16 & M2
    M9["L"] --> M0 & M17 & M16 & M1 & M2
    M10["M"] --> M17 & M16 & M2
    M11["N"] --> M17 & M16 & M2
    M12["O"] --> M17 & M16 & M2 & M0
    M13["P"] --> M17 & M16 & M2 & M0
    M14["Q"] --> M17 & M16 & M2 & M1
    M15["R"] --> M17 & M16 & M2
    M16 --> M2
    M17 --> M2
    M18["S"] --> M1 & M17 & M16
    M2 --> M0 & M5 & M9
"""
"""A diagram that takes the drawing library minutes."""


def block_of(markdown: str) -> Block:
    return parse(markdown).blocks[0]


def layout_context(*, look: Styles | None = None) -> LayoutContext:
    return LayoutContext(look or Styles(), ViewState(), render_block, deferred=deferred_content())


async def draw(markdown: str, width: int, *, look: Styles | None = None) -> tuple[list[Line], LayoutContext]:
    """Return the lines of a drawn diagram, and the layout context."""
    context, block = layout_context(look=look), block_of(markdown)
    render_block(context, block, width)
    assert context.deferred is not None
    for late, key in context.deferred.take_missing():
        late.request(key)
        assert await late.load_requested()
    return render_block(context, block, width), context


def text_of(lines: list[Line]) -> str:
    return "\n".join(line.text.rstrip() for line in lines)


async def test_diagram_is_drawn_once_loaded() -> None:
    lines, _ = await draw(f"```mermaid\n{SMALL_DIAGRAM}\n```", 60)
    assert "```" not in text_of(lines)
    assert "│ Measure " in text_of(lines)
    assert "►" in text_of(lines)
    assert {line.width for line in lines} == {60}
    before = render_block(layout_context(), block_of(f"```mermaid\n{SMALL_DIAGRAM}\n```"), 60)
    assert "A[Measure] --> B[Publish]" in text_of(before)
    assert "Not drawn" not in text_of(before)


async def test_integration_block_with_a_diagram_is_drawn() -> None:
    lines, _ = await draw(f'{{% @mermaid/diagram content="{SMALL_DIAGRAM}\n" %}}', 60)
    assert "│ Measure " in text_of(lines)


async def test_wide_diagram_scrolls_sideways() -> None:
    lines, context = await draw(f"```mermaid\n{WIDE_DIAGRAM}\n```", 60)
    block = block_of(f"```mermaid\n{WIDE_DIAGRAM}\n```")
    assert "more columns ›" in lines[-1].text
    assert "Station 19" not in text_of(lines)
    context.view_state.pan_by(block.key, 10_000)
    moved = render_block(context, block, 60)
    assert "Station" in text_of(moved)
    assert "more columns" in moved[-1].text
    assert {line.width for line in moved} == {60}


async def test_wide_diagram_first_shows_its_beginning() -> None:
    ways = "\n".join(
        f'  S{{Which}} -- "harbour{number}.example" --> S{number}[The pier {number}]' for number in range(7)
    )
    source = f"```mermaid\ngraph TD\n  A([A ship]) --> S\n{ways}\n```"
    lines, context = await draw(source, 40)
    assert "A ship" in text_of(lines[:6])
    context.view_state.pan_by(block_of(source).key, -10_000)
    assert "A ship" not in text_of(render_block(context, block_of(source), 40))


async def test_ascii_mode_draws_diagram_in_ascii() -> None:
    lines, _ = await draw(f"```mermaid\n{SMALL_DIAGRAM}\n```", 60, look=Styles(glyphs=ASCII))
    assert text_of(lines).isascii()
    assert "Measure" in text_of(lines)


async def test_diagram_that_takes_too_long_is_stopped_and_shows_its_source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagrams, "MAX_DRAWING_SECONDS", 0.7)
    lines, _ = await draw(f"```mermaid\n{SLOW_DIAGRAM}```", 60)
    assert 'M18["S"]' in text_of(lines)
    assert "Could not draw the diagram: it took longer than 0.7 s." in text_of(lines)


async def test_diagram_program_has_limits_of_memory_and_output() -> None:
    given = json.dumps({"source": WIDE_DIAGRAM, "ascii": False}).encode()
    small = await run_bounded("draw_diagram", given, seconds=10, memory=16 << 20, max_bytes=1 << 20)
    assert small.output == b""
    assert not small.exceeded_limit
    short = await run_bounded("draw_diagram", given, seconds=10, memory=diagrams.MAX_DRAWING_MEMORY, max_bytes=500)
    assert short.exceeded_limit
    assert len(short.output) == 500


async def test_drawing_has_no_terminal_sequences() -> None:
    found = await draw_diagram(DiagramQuery("flowchart LR\n  A[x\x1b]52;c;aGk=\x07y] --> B[\x9b31m]", False))
    said = "\n".join("\n".join(lines) for lines in found.drawings) + found.problem
    assert not any((char < " " and char != "\n") or "\x7f" <= char < "\xa0" for char in said)


@pytest.mark.parametrize("answer", [b"warning: odd\n", b"[1]\n", b"[" * 99_999 + b"\n", b"\xff\n"])
def test_unexpected_output_of_diagram_program_is_ignored(answer: bytes) -> None:
    assert list(diagrams.parse_drawings(b'"a"\n' + answer + b'"b"\n')) == [("a",)]


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("", "empty"),
        ("C4Context\n Person(a)", "“C4Context” is not a supported diagram type"),
        ("graph LR\n" + "A-->B\n" * 1_200, "longer than 6,000 characters"),
    ],
)
def test_unsupported_diagram_is_not_drawn(source: str, why: str) -> None:
    assert why in drawing_problem(normalize_diagram(source)[1])
    shown = text_of(render_block(layout_context(), block_of(f"```mermaid\n{source}\n```"), 70))
    assert why in " ".join(shown.split())


def test_settings_and_comments_of_diagram_are_not_drawn() -> None:
    text = '---\ntitle: "Two steps"\nconfig:\n  a: 1\n---\n%%{init: {"a": {"b": 1}}}%%\n%% a remark\n' + SMALL_DIAGRAM
    assert normalize_diagram(text) == ("Two steps", SMALL_DIAGRAM)


async def test_diagram_program_gets_no_private_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OCTAVO_API_KEY", "gb_api_secret")
    request = json.dumps({"source": SLOW_DIAGRAM, "ascii": False}).encode()
    running = asyncio.create_task(
        run_bounded("draw_diagram", request, seconds=30, memory=diagrams.MAX_DRAWING_MEMORY, max_bytes=1 << 20)
    )
    async with asyncio.timeout(30):
        while not (environments := environments_of_children("draw_diagram")):  # noqa: ASYNC110  # There is no event.
            await asyncio.sleep(0.01)
    assert environments == [b""]
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


def environments_of_children(program: str) -> list[bytes]:
    """Return the environments of the running child processes whose command line names a program."""
    found = []
    for task in Path("/proc/self/task").iterdir():
        for pid in (task / "children").read_text().split():
            process = Path("/proc", pid)
            with suppress(FileNotFoundError):  # The process has ended.
                if program.encode() in (process / "cmdline").read_bytes().split(b"\0"):
                    found.append((process / "environ").read_bytes())
    return found


def test_flowchart_label_has_the_same_line_breaks_everywhere() -> None:
    assert normalize_diagram('graph LR\nA["one<br/>two"] --> B')[1] == 'graph LR\nA["one\\ntwo"] --> B'
    assert (
        normalize_diagram("sequenceDiagram\nNote over A: one<br>two")[1] == "sequenceDiagram\nNote over A: one<br>two"
    )


@pytest.mark.parametrize("group", ['Depot["Bus<br/>depot (old)"]', 'Depot ["Bus depot (old)"]', '"Bus<br>depot (old)"'])
async def test_group_in_flowchart_shows_only_its_title(group: str) -> None:
    lines, _ = await draw(f"```mermaid\ngraph TD\n  subgraph {group}\n    A --> B\n  end\n```", 60)
    assert [line.text.strip("│ ") for line in lines if "depot" in line.text] == ["Bus depot (old)"]


@pytest.mark.parametrize(
    "arrow",
    [
        '-- "asks for it" -->',
        '--"asks for it"---',
        '== "asks<br>for it" ==>',
        '-. "asks for it" .->',
        '-->|"asks<br/>for it"|',
    ],
)
async def test_label_of_arrow_in_flowchart_has_no_quotes(arrow: str) -> None:
    lines, _ = await draw(f"```mermaid\ngraph LR\n  Ann {arrow} Ben\n```", 60)
    text = text_of(lines)
    assert "asks for it" in text
    assert '"' not in text
    assert text.count("┌") == 2


async def test_arrow_to_group_in_flowchart_adds_no_box() -> None:
    lines, _ = await draw(
        '```mermaid\ngraph TD\n  subgraph Depot["Garage"]\n    A --> B\n  end\n  C --> Depot\n```', 60
    )
    assert "Garage" in text_of(lines)
    assert "Depot" not in text_of(lines)


@pytest.mark.parametrize("opened", [False, True], ids=["drawn", "unfolded"])
async def test_cursor_stays_visible_when_diagram_above_grows(opened: bool) -> None:
    steps = "\n".join(f"S{number} --> S{number + 1}" for number in range(6))
    tall = f"```mermaid\ngraph TD\n{steps}\n```"
    hidden = (
        "<details><summary>More</summary>\n\n"
        + "\n\n".join(f"Hidden {number}." for number in range(9))
        + "\n\n</details>"
    )
    app = PaneApp(PageView())
    async with app.run_test(size=(60, 14)) as pilot:
        app.pane.show_markdown(f"{hidden if opened else tall}\n\nBelow it.", key="p")
        await pilot.pause()
        app.pane.cursor.select(app.pane.cursor.visible_spans()[-1])
        assert bar_column(app.pane) == ["Below it."]
        if opened:
            app.pane.open_clickable(app.pane.clickables.visible_spans()[0], in_browser=False)
        async with asyncio.timeout(60):
            while "Below it." in screen(app.pane):
                await pilot.pause(0.02)
        assert bar_column(app.pane) != []


@pytest.mark.parametrize("kind", ["flowchart LR", "sequenceDiagram", "stateDiagram-v2", "pie"])
@pytest.mark.parametrize(
    "described", ["accDescr: {one} line", "accDescr {\n  What it shows,\n  in (two) lines.\n  }", "accDescr{x}"]
)
def test_accessible_title_of_a_diagram_becomes_its_title(kind: str, described: str) -> None:
    spoken = f"{kind}\n    accTitle: A short name\n    {described}\n    A-->B\n"
    assert [normalize_diagram(spoken)[0], *normalize_diagram(spoken)[1].split()] == [
        "A short name",
        *normalize_diagram(f"{kind}\n    A-->B\n")[1].split(),
    ]
    assert normalize_diagram(f"---\ntitle: Own\n---\n{spoken}")[0] == "Own"


async def test_chart_with_named_lines_is_drawn() -> None:
    chart = 'xychart-beta\n  x-axis "Q" 0 --> 9\n  line "Cost of it" [8, 6]\n  bar Sold [1, 5]\n'
    lines, _ = await draw(f"```mermaid\n{chart}```", 60)
    assert "Cost of it, Sold" in lines[0].text
    assert "│" in text_of(lines)
    assert "line" not in text_of(lines)


async def test_sequence_diagram_allows_blanks_and_long_arrows() -> None:
    lines, _ = await draw(
        """```mermaid
sequenceDiagram
  title: Who asks whom
  autonumber 10 10
  participant API Gateway
  actor Big User as U@x
  box Aqua Services
    participant "Order Store" as Q
  end
  rect rgb(0, 99, 0)
    API Gateway ->>+ Order Store: get
  end
  Order Store--->>-API Gateway: rows
  Alice Jones->Bob: hi there; now
  loop Every day
    Bob-xAlice Jones: no
  end
  Note over API Gateway,Order Store: one<br>two
  destroy Alice Jones
```""",
        100,
    )
    text = text_of(lines)
    assert "Who asks whom" in lines[0].text
    for shown in (
        "│ API Gateway │",
        "│ Q │",
        "│ Alice Jones │",
        "│ Bob │",
        "1: get",
        "2: rows",
        "3: hi there; now",
        "two",
    ):
        assert shown in text
    for unseen in ("rgb", "Order_Store", "API_Gateway", "Alice_Jones", "-Bob", "[rect]", "box"):
        assert unseen not in text
    assert text.count("[loop] Every day") == 1


@pytest.mark.parametrize(
    ("line", "drawn_as"),
    [
        ("A->>B: x", "A->>B: x"),
        ("my-x-service-->>b-y: a -> b", "my-x-service-->>b-y: a -> b"),
        ("Alt->>Loop: x;", "Alt->>Loop: x"),
        ("A -) B: x", "A-)B: x"),
        ("A --->> B", "A-->>B: "),
        ("A<<--->>B: both", "A<<-->>B: both"),
        ('participant A@{ "type": "boundary" } as The gate', "participant A as The gate"),
        ("links A: {}", ""),
        ("autonumber off", ""),
        ("else not<br/>so", "else not so"),
    ],
)
def test_sequence_diagram_line_is_normalized(line: str, drawn_as: str) -> None:
    assert normalize_diagram(f"sequenceDiagram\n{line}")[1] == f"sequenceDiagram\n{drawn_as}".rstrip("\n")


@pytest.mark.parametrize(
    ("arrow", "drawn_as"),
    [
        ("A --> B", "A --> B"),
        ("A ----> B", "A --> B"),
        ("A <----> B", "A <--> B"),
        ("A --- B ----- C", "A --- B --- C"),
        ("A ====> B === C ===== D", "A ==> B === C === D"),
        ("A -...-> B -.-> C -..- D", "A -.-> B -.-> C -.- D"),
        ("A -- so ---> B", "A -- so --> B"),
        ("A --->|no ---> so| B", "A -->|no ---> so| B"),
        ('A["x ---> y"] ---> B("y ---- z")', 'A["x ---> y"] --> B("y ---- z")'),
        ("A ---o B ---x C", "A --o B --x C"),
    ],
)
async def test_flowchart_arrows_have_minimum_length(arrow: str, drawn_as: str) -> None:
    source = normalize_diagram(f"flowchart LR\n{arrow}")[1]
    assert source == f"flowchart LR\n{drawn_as}"
    assert (await draw_diagram(DiagramQuery(source, False))).drawings
