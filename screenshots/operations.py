"""Write by which keys each operation of the interface is reached in the app, or why it has no place there.

.venv/bin/python -m screenshots.operations

What keys ask for is seen while journeys run (`tests/journeys/pressed.py`) and kept in `tests/pressed.tsv`, each with the
journey it was seen in, which shows what is written again whenever it runs, some of them in long runs alone. The keys are
read off the commands. After keys came or went:

    RECORD_KEYS=one.tsv .venv/bin/pytest -n auto --dist worksteal -m "not long or before_release" tests/journeys
    RECORD_KEYS=one.tsv .venv/bin/pytest -m long tests/journeys/test_every_kind.py
    .venv/bin/python -m screenshots.operations one.tsv

Of several records only what all of them have is kept.
"""

from __future__ import annotations

import csv
import io
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any, NamedTuple

from octavo.api.operation import load
from octavo.api.wire import routes

TESTS = Path(__file__).resolve().parent.parent / "tests"
INTERFACE, PRESSED, TABLE = TESTS / "operations.tsv", TESTS / "pressed.tsv", TESTS / "reached.tsv"
AGAIN = ("view.refresh", "view.refresh_all", "view.back", "view.forward", "write.undo", "app.palette", "list.tick")
"""What does or asks again what others did first."""
MOST = 3
"""Commands that are named for an operation that only reads: it is asked by many."""

NO_PLACE = {
    "site_structure.MoveSection": "deprecated: structure/sort does it for all parts of a site (supplement 2.8)",
    "content.GetPageByPath": "pages are opened by their ids, which stay what they are when a page is moved",
    "content.GetReusableContent": "a page is asked for with the reusable content that is in it",
    "links.ListOfPage": "the links of a page are among those of its space, which are read anyway",
    "links.ListToPage": "what leads to a page is listed as readers have it: its links are looked at before a merge (links.ListOfChangeRequest)",
    "links.ListToFile": "where a file is used is listed as readers have it: files are those of the space",
    "organizations.Ping": "tells others that one is here: reading says nothing of the reader",
}
"""Why an operation is reached by no key."""


class Pressed(NamedTuple):
    """That a key asked for an operation."""

    route: str
    """Method and path."""
    commands: str
    """The id of the command the key ran; before it, where that is in a dialog, of the one that opened it."""
    place: str
    """The view, and the kinds of things that one went through there."""
    journey: str
    """The test in which it is seen."""

    @property
    def writes(self) -> bool:
        """Whether the operation changes anything."""
        return not self.route.startswith("GET ")


def pressed() -> list[Pressed]:
    """What is kept of that."""
    with PRESSED.open(encoding="utf-8", newline="") as lines:
        return [Pressed(**row) for row in csv.DictReader(lines, delimiter="\t")]


def chosen(records: Sequence[Path]) -> list[Pressed]:
    """Of what was seen in all of these: what to keep, each command in one place."""
    found = [{Pressed(*line.split("\t")) for line in path.read_text(encoding="utf-8").splitlines()} for path in records]
    seen = set.intersection(*found)
    writing = {each.commands for each in seen if each.writes}

    def rank(id: str) -> tuple[bool, bool]:
        """What others did first, and what is looked at before and after something is sent, is named where nothing else is."""
        return id in AGAIN, not writing.isdisjoint((id, id.split()[0]))

    tests = Counter((each.route, each.commands) for each in seen)
    wanted = set()
    for route in {each.route for each in seen}:
        of_route = sorted({each.commands for each in seen if each.route == route and each.commands})
        ranked = sorted(of_route, key=lambda id: (rank(id), -tests[route, id]))
        first = [id for id in ranked if rank(id) == rank(ranked[0])]
        wanted |= {(route, id) for id in (first[:MOST] if route.startswith("GET ") else of_route)}
    kept: list[Pressed] = []
    while wanted:  # by as few journeys as do
        shows: defaultdict[str, dict[tuple[str, str], Pressed]] = defaultdict(dict)
        for each in sorted(seen, key=lambda each: (-each.place.count("›"), each)):
            # Of several ways the last one stays, which is the shortest.
            if (each.route, each.commands) in wanted:
                shows[each.journey][each.route, each.commands] = each
        best = max(sorted(shows), key=lambda journey: ("[" not in journey, len(shows[journey])))
        kept += shows[best].values()
        wanted -= shows[best].keys()
    return sorted(kept)


def keys() -> dict[str, str]:
    """The first key of every command, by its id; `:` where it is done from the palette alone."""
    from octavo import tui
    from octavo.tui.widgets.commands import HasCommands, key_name

    for module in walk_packages(tui.__path__, f"{tui.__name__}."):
        if ".bounded." not in module.name:
            import_module(module.name)
    found: dict[str, str] = {}
    for place in sorted(_below(HasCommands), key=lambda place: f"{place.__module__}.{place.__name__}"):
        for id, (_, command) in place.__dict__.get("_commands_by_id", {}).items():
            found.setdefault(id, key_name(command.keys.partition(",")[0]) if command.keys else ":")
    return found


def _below(kind: type[Any]) -> set[type[Any]]:
    found = {kind}
    for each in kind.__subclasses__():
        found |= _below(each)
    return found


def said(each: Pressed, key_of: dict[str, str]) -> str:
    """What a person presses, and where."""
    view, _, way = each.place.partition(" › ")
    ids = each.commands.split()
    name = f"view.{view}"
    if ids == [name]:
        return f"{key_of[name]} {way}".rstrip()
    where = f" in {key_of[name]} {way}".rstrip() if name in key_of else ""
    return f"{' '.join(key_of[id] for id in ids)} ({ids[-1]}){where}"


def rows() -> list[dict[str, str]]:
    """Every operation of the interface: the keys that reach it, or why none does. Both empty: it has no place yet."""
    names = {route.key: spec.name for spec in load().values() if not spec.repeats_request for route in routes(spec)}
    key_of, by_route = keys(), defaultdict(list)
    for each in pressed():
        by_route[each.route].append(said(each, key_of))
    found = []
    with INTERFACE.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines, delimiter="\t"):
            route = f"{row['method']} {row['path']}"
            reached = ", ".join(sorted(by_route[route]))
            why = "" if reached else NO_PLACE.get(names[route], "")
            found.append(
                {
                    "operation": names[route],
                    "method": row["method"],
                    "path": row["path"],
                    "keys": reached,
                    "why not": why,
                }
            )
    return found


def table(known: Sequence[dict[str, str]]) -> str:
    """All rows, tab-separated."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(known[0]), delimiter="\t", lineterminator="\n")
    writer.writeheader()
    writer.writerows(known)
    return text.getvalue()


if __name__ == "__main__":
    if records := [Path(each) for each in sys.argv[1:]]:
        PRESSED.write_text(table([each._asdict() for each in chosen(records)]), encoding="utf-8")
    TABLE.write_text(table(rows()), encoding="utf-8")
