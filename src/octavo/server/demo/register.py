"""Generates the station register in the demo library: pages about regions and stations, and a log of all stations."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

FOLDER = Path(__file__).parent
FIRST_DAY = date(2017, 4, 3)
LAST_DAY = date(2026, 11, 13)
LOG_LINE_COUNT = 5000
_PLAIN_TEXT_BEFORE = date(2026, 5, 1)
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_STORM_DATES = (date(2019, 1, 8), date(2020, 2, 11), date(2022, 1, 30), date(2024, 1, 17), date(2025, 12, 5))
_SLUGS = {"Queen's Pier": "brannoch-pier"}


@dataclass(frozen=True)
class Station:
    """A station with a tide gauge. `region` is the slug of its region."""

    name: str
    region: str

    @property
    def slug(self) -> str:
        return _SLUGS.get(self.name) or re.sub(r"[^a-z0-9]+", "-", self.name.lower().replace("'", ""))

    @property
    def path(self) -> str:
        """Path of the Markdown file about the station, in the folder of the space."""
        return f"regions/{self.region}/{self.slug}.md"


def stations() -> list[Station]:
    """Return all stations, sorted by region."""
    return [station for region in _word_lists()["region"] for station in _stations_of(region)]


def _stations_of(region: Any) -> list[Station]:
    return [Station(name, region["slug"]) for name in region["stations"]]


def generated_files() -> dict[str, str]:
    """Return the Markdown of all generated pages and of `SUMMARY.md`, by path."""
    texts_by_path: dict[str, str] = {}
    for region in _word_lists()["region"]:
        texts_by_path[f"regions/{region['slug']}/README.md"] = _region_page(region)
        texts_by_path |= {station.path: _station_page(station, region) for station in _stations_of(region)}
    contents = (FOLDER / "stations" / "SUMMARY.md").read_text(encoding="utf-8")
    return texts_by_path | {"SUMMARY.md": contents + "".join(_summary_lines()), "log.md": _log()}


@cache
def _word_lists() -> Any:
    return tomllib.loads((FOLDER / "register.toml").read_text(encoding="utf-8"))


def _summary_lines() -> Iterator[str]:
    for region in _word_lists()["region"]:
        yield f"* [{region['name']}](regions/{region['slug']}/README.md)\n"
        yield from (f"  * [{station.name}]({station.path})\n" for station in _stations_of(region))


def _region_page(region: Any) -> str:
    rows = [f"| [{station.name}]({station.slug}.md) | `{station.slug}` |" for station in _stations_of(region)]
    return str(_word_lists()["pages"]["region"].format(**region, rows="\n".join(rows)))


def _station_page(station: Station, region: Any) -> str:
    facts = _station_facts(station)
    latitude, longitude = facts["position"]
    levels = [f"| {name} | {facts['high'] * share + above:.2f} |" for name, share, above in _word_lists()["levels"]]
    fields = {
        **facts,
        "station": station,
        "region": region,
        "north": latitude,
        "west": -longitude,
        "since": _long_date(facts["since"]),
        "watts": 60 if latitude > 61.8 else 30,
        "levels": "\n".join(levels),
        "recorded": _long_date(facts["recorded"]),
        "hint": f'{{% hint style="warning" %}}\n{facts["known"]}\n{{% endhint %}}\n\n' if facts["known"] else "",
    }
    return str(_word_lists()["pages"]["station"].format_map(fields))


@cache
def _station_facts(station: Station) -> dict[str, Any]:
    """Return a station's properties by name. Properties not in `register.toml` are random, but never change."""
    words, rng = _word_lists()["sheet"], Random(station.slug)
    region = next(each for each in _word_lists()["region"] if each["slug"] == station.region)
    high = region["range"] * rng.uniform(0.97, 1.12)
    random_facts = {name: rng.choice(words[name]) for name in sorted(words) if name != "known"}
    random_facts |= {
        "since": FIRST_DAY + timedelta(days=rng.randrange(1, 2400)),
        "position": [degrees + rng.uniform(-0.09, 0.09) for degrees in region["position"]],
        "high": high,
        "record": high + 0.45 + rng.uniform(0.1, 0.9),
        "recorded": rng.choice(_STORM_DATES),
        "known": rng.choice(words["known"]) if rng.random() < 0.3 else None,
    }
    fixed_facts: dict[str, Any] = _word_lists()["fixed"].get(station.slug, {})
    return random_facts | fixed_facts


def _log() -> str:
    lines = _word_lists()["pages"]["log"].split("\n")
    month, is_plain_text = "", False
    for entry in _log_entries():
        heading = f"{MONTHS[entry.day.month - 1]} {entry.day.year}"
        if heading != month:
            lines += [*(["```"] if is_plain_text else []), *([""] if month else []), f"## {heading}", ""]
            month, is_plain_text = heading, entry.day < _PLAIN_TEXT_BEFORE
            lines += ["```text"] if is_plain_text else []
        if len(lines) == LOG_LINE_COUNT - 1:
            break
        lines.append(entry.as_text() if is_plain_text else entry.as_item())
    return "\n".join([*lines, "```"]) + "\n"


@dataclass(frozen=True)
class _LogEntry:
    day: date
    station: str
    action: str
    initials: str

    def as_item(self) -> str:
        month = MONTHS[self.day.month - 1][:3]
        return f"* **{self.day.day} {month}** {self.station}: {self.action} ({self.initials})"

    def as_text(self) -> str:
        return f"{self.day:%d}  {self.initials}  {self.station:<16}  {self.action}"


def _log_entries() -> Iterator[_LogEntry]:
    """Yield log entries without end, newest first. Each entry is about a station that existed on that day."""
    words, rng = _word_lists()["log"], Random("log")
    start_days = [(_station_facts(station)["since"], station.name) for station in stations()]
    day = LAST_DAY
    while True:
        existing_names = [name for start_day, name in start_days if start_day <= day]
        action = rng.choice(words["work"]).format(mm=rng.randrange(1, 9), n=rng.randrange(2, 9))
        yield _LogEntry(day, rng.choice(existing_names), action, rng.choice(words["initials"]))
        day = max(FIRST_DAY, day - timedelta(days=rng.choice((0, 1, 1, 1))))


def _long_date(day: date) -> str:
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"
