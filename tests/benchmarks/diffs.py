"""How long two sides of a page take to be compared, and how long an app waits meanwhile.

    OCTAVO_CORPUS=FOLDER .venv/bin/python tests/benchmarks/diffs.py [--rounds 9] [--only words] [--long]

Compared are the pairs of `pairs/*/{before,after}.md` and two pages of `pages` when OCTAVO_CORPUS names a folder, pages of
46 KB edited in 40 places and against each other, and the 60 pages of the demo's largest change request; with `--long`
also pages of 200 KB that are one long block, every seventh word another.

For each, in milliseconds: comparing alone, parsing both sides and comparing, and comparing the sources (median and worst
of the rounds; the first one is thrown away); then the longest time an event loop did not come round while both sides were
parsed and compared in a thread, as the app does it. Python hands over between threads every 5 ms.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from octavo.api import change_requests
from octavo.api.places import ChangeRequestRef, RevisionRef
from octavo.documents import page_trees
from octavo.documents.blocks import Document
from octavo.documents.diff import diff
from octavo.documents.diff_text import source_diff
from octavo.documents.parse import parse
from octavo.server.demo import library, people
from octavo.server.dispatch import answer
from octavo.server.handlers import revisions
from octavo.server.store import Store
from octavo.server.world import World
from octavo.tui.app.garbage_collection import Garbage
from tests.benchmarks.texts import long_blocks, made_page

Pair = tuple[str, str]
_LONG = 46_000
_WORDS = ("harbour", "tide", "lantern", "which then", "")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", default="")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--size", type=int, default=_LONG, help="of the made page, in characters")
    given = parser.parse_args(arguments)
    print(f"{'':34}{'KB':>5}{'diff':>8}{'worst':>8}{'parsed':>8}{'worst':>8}{'source':>8}{'worst':>8}{'waited':>8}")
    kinds: list[tuple[str, Iterator[tuple[str, Pair]]]] = [("pairs", _pairs()), ("long pages", _long_pages(given.size))]
    if given.long:
        kinds.append(("one block", _blocks()))
    for kind, pairs in kinds:
        found = [_row(name, pair, given.rounds) for name, pair in pairs if given.only in name]
        if len(found) > 1:
            _summary(kind, found)
    if given.only in "demo":
        pages = _demo()
        _many(f"demo, {len(pages)} pages", pages, given.rounds)


def _row(name: str, pair: Pair, rounds: int) -> list[list[float]]:
    """Print the figures of one pair, and return those of its rounds: comparing, with parsing, the sources."""
    sides = parse(pair[0]), parse(pair[1])
    found = [
        _times(lambda: diff(*sides), rounds),
        _times(lambda: diff(parse(pair[0]), parse(pair[1])), rounds),
        _times(lambda: source_diff(*pair), rounds),
    ]
    waited = max(asyncio.run(_waited(lambda: diff(parse(pair[0]), parse(pair[1])))) for _ in range(3))
    size = max(len(each.encode()) for each in pair) / 1000
    _print(name, size, found, waited)
    return found


def _print(name: str, size: float, found: list[list[float]], waited: float | None = None) -> None:
    columns = "".join(f"{statistics.median(each):8.1f}{max(each):8.1f}" for each in found)
    print(f"{name[:33]:34}{size:5.0f}{columns}" + ("" if waited is None else f"{waited:8.1f}"), flush=True)


def _summary(kind: str, rows: list[list[list[float]]]) -> None:
    medians = [[statistics.median(row[column]) for row in rows] for column in range(3)]
    print(f"{f'{len(rows)} {kind}: median, most':39}", end="")
    print("".join(f"{statistics.median(each):8.1f}{max(each):8.1f}" for each in medians), "\n", flush=True)


def _many(name: str, pairs: list[Pair], rounds: int) -> None:
    """Print the figures of all pages of a change request, one after the other."""

    def compared() -> None:
        for old, new in pairs:
            diff(parse(old), parse(new))

    sides: list[tuple[Document, Document]] = [(parse(old), parse(new)) for old, new in pairs]
    found = [
        _times(lambda: [diff(*each) for each in sides], rounds),
        _times(compared, rounds),
        _times(lambda: [source_diff(*pair) for pair in pairs], rounds),
    ]
    _print(name, sum(len(new.encode()) for _, new in pairs) / 1000, found, asyncio.run(_waited(compared)))


def _times(work: Callable[[], object], rounds: int) -> list[float]:
    work()
    found = []
    for _ in range(rounds):
        start = perf_counter()
        work()
        found.append((perf_counter() - start) * 1000)
    return found


async def _waited(work: Callable[[], object]) -> float:
    """The longest time, in milliseconds, that the loop did not come round while the work was done in a thread."""
    Garbage().start()
    task = asyncio.create_task(asyncio.to_thread(work))
    longest, last = 0.0, perf_counter()
    while not task.done():
        await asyncio.sleep(0.0005)
        now = perf_counter()
        longest, last = max(longest, now - last), now
    await task
    return longest * 1000


def _pairs() -> Iterator[tuple[str, Pair]]:
    for folder in _corpus("pairs/*"):
        yield folder.name, (_text(folder / "before.md"), _text(folder / "after.md"))


def _long_pages(size: int) -> Iterator[tuple[str, Pair]]:
    pages = {path.stem: _text(path) for name in ("030-elsa", "068-nso") for path in _corpus(f"pages/{name}.md")}
    pages["made"] = made_page(size)
    for name, text in pages.items():
        yield f"{name}, 40 edits", (text, edited(text, 40))
    names = list(pages)
    for one, other in pairwise(names):
        yield f"{one} against {other}", (pages[one], pages[other])


def _blocks() -> Iterator[tuple[str, Pair]]:
    for name, text in long_blocks().items():
        words = re.split(r"\b([a-z]{5,})\b", text)
        words[7::14] = [f"un{word}" for word in words[7::14]]
        yield name, (text, "".join(words))


def edited(text: str, places: int) -> str:
    """The page with changes in so many places: a word put in, one replaced, one taken out, a line gone, a line more."""
    lines = text.split("\n")
    among = [index for index, line in enumerate(lines) if len(line.split()) > 6 and line[0].isalpha()]
    for number in range(places):
        at = among[number * len(among) // places]
        words = lines[at].split(" ")
        words[3:4] = [*_WORDS[number % len(_WORDS)].split(), *words[3 : 3 + number % 2]]
        lines[at] = " ".join(words)
        if number % 8 == 7:
            lines[at] = ""
        elif number % 8 == 5:
            lines[at] += f"\n\nA paragraph that was not there before, number {number}."
    return "\n".join(lines)


def _demo() -> list[Pair]:
    """The pages of the demo's change request of 60 pages, on both sides."""
    with tempfile.TemporaryDirectory(prefix="octavo-bench-") as folder:
        store = Store(Path(folder, "demo.db"))
        library.build(World(store), library.TODAY)
        world = World(store).for_user(people.DEFAULT_PERSON.id)
        at = ChangeRequestRef(space_id="stations", change_request_id="limpet-classic")
        base = RevisionRef(
            space_id=at.space_id, revision_id=answer(change_requests.Get(at=at), world)["revisionInitial"]
        )
        old, new = (
            {
                page["id"]: revisions.page_text(world, page)
                for page in page_trees.walk(revisions.get_at(world, each)["pages"])
                if page["type"] == "document"
            }
            for each in (base, at)
        )
        store.close()
        return [(old[page], text) for page, text in new.items() if page in old and old[page] != text]


def _corpus(pattern: str) -> list[Path]:
    corpus = os.environ.get("OCTAVO_CORPUS")
    return sorted(Path(corpus).glob(pattern)) if corpus else []


def _text(path: Path) -> str:
    return path.read_text("utf-8", "replace")


if __name__ == "__main__":
    main()
