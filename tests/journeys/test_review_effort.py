"""Twelve seeded faults of ten kinds in three change requests: how many keys it takes to see them with findings, with
the changes sorted by risk, and in the order of the page."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from octavo.settings.programs import Linter
from octavo.tui.review.request_view import ChangeRequestScreen
from tests.journeys.request_scenario import RequestScenario, add_page, edit_page
from tests.journeys.stage import Run, Stage

BUOYS = """\
# Buoys {0}

The buoys of the estuary are listed in the [old list](gone.md), and the crew
inspects every buoy of the list before the winter and after the winter.

## Mooring

Each buoy of the outer row is moored with a chain of 1200 kg and two anchors, because the current is strong.

Please ask the office for the dates of the dives, because a diver checks the shackles.

Please use only one anchor for the inner row, as [the plan](no-plan.md) of the row says.

## Readings

The sensor writes a value to the card, and the card holds the values of one season.

```sh
buoy read --interval 1515 --unit cm
```

The **lamps** are described in [Lamps {0}](lamps-{0}.md).

## Paint

A yellow paint is used for the upper half. It lasts for several years.

The lower half is black.

## Version

These pages describe firmware 2026.3 of the buoys.
"""
LAMPS = """\
# Lamps {0}

Every lamp has a letter and a colour.

## Power

| Part | Power |
| - | - |
| Lamp | 300 W |
| Radio | 20 W |

A broken lamp must be replaced within 4848 minutes after the alarm.

The harbour office calls the crew, and the crew takes the boat of the pilot.

## Letters

* A is the lamp at the mole.
* B is the lamp at the rock.
* C is the lamp at the church.

The letters are painted in white so that the crew of a ship can read them at night.
"""
MOVED = "\nPlease use only one anchor for the inner row, as [the plan](no-plan.md) of the row says.\n"
"""Paragraph that is moved to the end of the first page, with a wrong term and a broken link."""
INNOCENT = {
    BUOYS: (
        ("[old list](gone.md), and the crew\ninspects", "[old list](gone.md), and the\ncrew inspects"),
        ("because the current is strong", "since the current is strong there"),
        ("Please use only one anchor for the inner row, as [the plan](no-plan.md) of the row says.\n\n", ""),
        ("It lasts for several years.", "It lasts for years."),
        ("**lamps**", "lamps"),
        ("The lower half is black.", "The lower half is black.\n\nBoth halves are dry after a day."),
        ("2026.3", "2026.4"),
    ),
    LAMPS: (
        ("a letter and a colour", "a colour and a letter"),
        ("The harbour office calls the crew, and the crew takes the boat", "The office calls the crew, who take the boat"),
        ("* B is the lamp at the rock.\n* C is the lamp at the church.", "* C is the lamp at the church.\n* B is the lamp at the rock."),
        ("so that the crew of a ship can read them at night", "so that ships can read them at night"),
    ),
}  # fmt: skip
"""Changes without a fault: rewording, moves, formatting, line breaks, a new paragraph, and a new version. The first page
has broken links and wrong terms in its unchanged words."""


@dataclass(frozen=True)
class Fault:
    """A fault: the replaced words, and a word of the block that has them afterwards."""

    page: str
    old: str
    new: str
    sign: str
    has_rule: bool = True


FAULTS = {
    "n1": Fault(BUOYS, "1200 kg", "2100 kg", "2100", has_rule=False),
    "n2": Fault(LAMPS, "300 W", "3000 W", "3000", has_rule=False),
    "n3": Fault(BUOYS, "1515", "5151", "5151", has_rule=False),
    "n4": Fault(LAMPS, "4848", "8484", "8484", has_rule=False),
    "l1": Fault(BUOYS, "of one season.", "of one season, see [Cards](cards-of-it.md).", "Cards"),
    "l2": Fault(LAMPS, "the mole.", "the mole, as in [Power](#powers).", "mole"),
    "l3": Fault(BUOYS, "(lamps-{0}.md)", "(lamp-{0}.md)", "Lamps"),
    "t1": Fault(BUOYS, "is used for", "is utilised for", "utilised"),
    "t2": Fault(LAMPS, "\n## Letters", "\nThe crew leverages the pilot.\n\n## Letters", "leverages"),
    "t3": Fault(LAMPS, "the church.", "the church, please.", "church"),
}
REQUESTS = (
    ("n1", "n2", "l1", "t1"),
    ("n3", "l2", "l3", "t2"),
    ("n1", "n4", "l1", "t3"),
)
NAMES = ("heron", "plover", "curlew")
"""Words in the subjects of the change requests."""
STYLE = """\
import re, sys
for number, line in enumerate(open(sys.argv[1], encoding="utf-8"), 1):
    for found in re.finditer("(?i)utilise|leverage|please", line):
        print(f"{sys.argv[1]}:{number}:{found.start() + 1}: Avoid “{found[0]}” [warning/Terms]")
"""


@dataclass
class Effort:
    """What it took to see the faults."""

    keys: int = 0
    stops: int = 0
    """Number of changes or findings looked at."""
    seen: set[tuple[int, str]] = field(default_factory=set)
    elsewhere: list[str] = field(default_factory=list)
    """Messages of findings that are on no fault."""

    def __str__(self) -> str:
        return f"{len(self.seen)} of 12 faults with {self.keys} keys and {self.stops} stops"


def edited(number: int, page: str) -> str:
    """Return a page of a change request, with innocent changes and faults."""
    text = page
    faults = [FAULTS[each] for each in REQUESTS[number] if FAULTS[each].page is page]
    for old, new in (*INNOCENT[page], *((each.old, each.new) for each in faults)):
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text + MOVED * (page is BUOYS)


async def seed(run: Run) -> list[str]:
    """Publish the pages, and propose the change requests. Return their numbers."""
    scenario, numbers = RequestScenario(run), []
    for number in range(len(REQUESTS)):
        pages = [page.replace("{0}", str(number)) for page in (BUOYS, LAMPS)]
        await scenario.publish(*map(add_page, pages), subject=f"Write about buoys {number}")
        ids = [(await scenario.page(f"{title} {number}")).id for title in ("Buoys", "Lamps")]
        texts = [edited(number, page).replace("{0}", str(number)) for page in (BUOYS, LAMPS)]
        await scenario.propose(*map(edit_page, ids, texts), subject=f"Seeded {NAMES[number]}")
        numbers.append(f"#{scenario.number}")
    return numbers


async def review(run: Run, key: str) -> Effort:
    """Open each change request, and press a key on each page until all faults of the page were selected, or until the
    key does not move anymore."""
    effort = Effort()
    await run.press("3")
    for number in range(len(REQUESTS)):
        await run.press("/", *NAMES[number], "enter")
        await run.see("▌ ◐ #")
        await run.press("enter")
        await run.see("page 1 of 2", "▲")
        await run.later(seconds=1)
        await run.press("enter")
        view = run.app.screen
        assert isinstance(view, ChangeRequestScreen)
        if key == "S":
            await run.press("S")
            effort.keys += 1
        for page in (BUOYS, LAMPS):
            await review_page(run, view, number, page, key, effort)
            await run.press("J")
            effort.keys += 1
        await run.press("escape", "escape", "escape")
        await run.see("Changes ·")
    return effort


async def review_page(run: Run, view: ChangeRequestScreen, number: int, page: str, key: str, effort: Effort) -> None:
    pane, by_findings = view.main_pane, key == "semicolon"
    wanted = {each for each in REQUESTS[number] if FAULTS[each].page is page}
    stop = None
    while wanted:
        if stop is not None or by_findings:
            await run.press("n" if key == "S" else key)
            effort.keys += 1
        span = pane.cursor.current()
        assert span is not None
        if span.block is stop or (by_findings and view.page_findings.selected is None):
            break
        stop = span.block
        effort.stops += 1
        if by_findings:
            block = view.page_diff.visible_block
            words = block.plain() if block is not None else ""
        else:
            words = " ".join(each.plain() for each in pane.contents.shown_diff.chunks[span.chunk_index].blocks)
        seen = {each for each in wanted if FAULTS[each].sign in words}
        if by_findings and not seen:
            effort.elsewhere.append(f"{span.block.text}: {words}")
        wanted -= seen
        effort.seen |= {(number, each) for each in seen}


@pytest.mark.before_release
async def test_seeded_faults_need_fewest_keys_with_findings_and_risk(stage: Stage, tmp_path: Path) -> None:
    script = tmp_path / "style.py"
    script.write_text(STYLE, encoding="utf-8")
    linter = Linter("style", (sys.executable, str(script), "{file}"), "lines", is_automatic=True)
    efforts: list[Effort] = []
    for key, person in (("semicolon", "mara-lindqvist"), ("S", "tomas-okafor"), ("n", "noor-haddad")):
        async with stage.play(person, linters=(linter,)) as run:
            if not efforts:
                await seed(run)
            efforts.append(await review(run, key))
            print(key, efforts[-1], efforts[-1].elsewhere)
    by_findings, by_risk, by_page = efforts
    assert not by_findings.elsewhere, "no finding is on unchanged words or on an innocent change"
    assert {FAULTS[fault].has_rule for _, fault in by_findings.seen} == {True}
    assert len(by_findings.seen) == 7
    assert len(by_risk.seen) == len(by_page.seen) == 12
    assert by_findings.keys < by_risk.keys < by_page.keys
