"""What a table of many members costs beside one of a few teams, in the app: shown, walked, filtered and sorted.

    .venv/bin/python -m tests.benchmarks.members [--members 10000] [--rounds 5] [--keys 20]

The app, its client and the platform are in this process, without a terminal. Processor time in ms, medians; to show a
table for the first time takes asking for it, and reading the answer, too. A key in a table of many should cost what it
costs in one of a few.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import process_time
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from octavo.server.demo.library import build
from octavo.server.demo.people import ORGANIZATION
from octavo.server.store import Store
from octavo.server.world import World
from octavo.tui.resources.resource_browser import BrowserScreen
from octavo.tui.widgets.row_list import RowList
from tests.journeys.managed import NOOR
from tests.journeys.moods import altered
from tests.journeys.stage import Run, Stage

Figures = dict[str, list[float]]


async def measure(stage: Stage, members: int, rounds: int, keys: int) -> Figures:
    """The processor time of each thing done, in ms."""
    figures: Figures = {}

    def many(answer: Any) -> None:
        one = answer["items"][0]
        answer["items"] = [
            {
                **one,
                "id": f"m-{number}",
                "user": {**one["user"], "id": f"m-{number}", "displayName": f"Member {number}"},
            }
            for number in range(members)
        ]
        answer.pop("next", None)

    members_only = altered(f"/v1/orgs/{ORGANIZATION}/members", many)
    async with stage.play(NOOR, over=members_only, deadline=600) as run:
        begun = process_time()
        await run.press("6")
        await run.see(f"Members · {members}")
        figures["shown first, and asked for"] = [1000 * (process_time() - begun)]
        view = run.app.screen
        assert isinstance(view, BrowserScreen)
        for _ in range(rounds):
            await _kind(run, view, "teams")
            begun = process_time()
            view.table_list.go_to("members")
            await _until(run, lambda: len(view.rows.items) == members)
            figures.setdefault("shown again", []).append(1000 * (process_time() - begun))
            await _in_table(run, view.rows, f"{members} members", keys, figures)
            await _sorted(run, view, figures)
            await _kind(run, view, "teams")
            await _in_table(run, view.rows, "teams", keys, figures)
    return figures


async def _kind(run: Run, view: BrowserScreen, kind: str) -> None:
    view.table_list.go_to(kind)
    await run.until(lambda: view.level.resource.plural == kind and view.snapshot.value is not None, f"open {kind}")
    view.rows.focus()
    await run.settle()


async def _until(run: Run, holds: Any) -> None:
    while not holds():
        await run.pilot.pause()
    await run.pilot.pause()


async def _timed(run: Run, figures: Figures, what: str, act: Any) -> None:
    begun = process_time()
    act()
    await run.pilot.pause()
    figures.setdefault(what, []).append(1000 * (process_time() - begun))


async def _in_table(run: Run, rows: RowList[Any], name: str, keys: int, figures: Figures) -> None:
    await run.settle()
    for _ in range(keys):
        step = 1 if rows.cursor + 1 < len(rows.items) else -rows.cursor
        await _timed(run, figures, f"j in {name}", lambda step=step: rows.move(step))
    for _ in range(2):
        await _timed(run, figures, f"G in {name}", rows.go_to_last)
        await _timed(run, figures, f"g in {name}", rows.go_to_first)
    begun = process_time()
    await run.press("slash")
    await run.settle()
    figures.setdefault(f"filter line opened in {name}", []).append(1000 * (process_time() - begun))
    for end in range(1, len("member 73") + 1):
        await _timed(
            run, figures, f"a letter of a filter in {name}", lambda end=end: rows.set_filter("member 73"[:end])
        )
    await run.press("enter", "escape")
    await run.settle()
    assert not rows.query_text


async def _sorted(run: Run, view: BrowserScreen, figures: Figures) -> None:
    table = view.table
    for title in ("NAME", "JOINED", "NAME"):
        column = next(each for each in table.resource.columns if each.title == title)

        def sort(column: Any = column) -> None:
            table.sort_by(column)
            view.redraw_list()

        await _timed(run, figures, "sorted by a column", sort)
    table.sort_by(None)
    view.redraw_list()
    await run.settle()


def report(figures: Figures) -> list[str]:
    """A line for each thing done."""
    return [
        f"{what:42} {statistics.median(found):8.1f} ms [{min(found):.1f}-{max(found):.1f}]  n={len(found)}"
        for what, found in figures.items()
    ]


async def _alone(members: int, rounds: int, keys: int) -> Figures:
    with tempfile.TemporaryDirectory() as folder:
        store = Store(library := Path(folder) / "library.db")
        build(World(store))
        store.set_setting("library", "demo")
        store.close()
        return await measure(Stage(Path(folder), library), members, rounds, keys)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--members", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--keys", type=int, default=20)
    options = parser.parse_args(arguments)
    print("\n".join(report(asyncio.run(_alone(options.members, options.rounds, options.keys)))))


if __name__ == "__main__":
    main()
