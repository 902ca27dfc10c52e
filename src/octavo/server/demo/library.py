"""Builds the demo library: an invented maker of tide gauges, with its manuals, its site and its writers.

The large demo is as big as a large organization: 200 spaces, 10,000 pages, 5,000 open threads and 600 change requests
that are not merged. Its texts are made from the word lists in `large.toml`.
"""

from __future__ import annotations

import shutil
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any, Literal

from octavo.api import change_requests, collections, comments, content, openapi, reviews, site_structure, sites
from octavo.api.bodies import Markdown
from octavo.api.content import DocumentBody
from octavo.api.operation import (
    ChangeRequestRef,
    CollectionRef,
    Discussion,
    Operation,
    OrganizationRef,
    SiteRef,
    SpaceRef,
)
from octavo.documents import page_trees
from octavo.documents.markdown_to_json import to_json_document
from octavo.documents.source_reader import parse
from octavo.server.app import run_operation
from octavo.server.demo import history, register
from octavo.server.demo.history import DemoClock, DemoIds, list_actions
from octavo.server.handlers import spaces
from octavo.server.handlers.comments import create_comment
from octavo.server.handlers.permissions import ROLES
from octavo.server.handlers.spaces import add_revision, get_revision_at, new_page, page_of, page_text, set_current
from octavo.server.loader import load
from octavo.server.rest import RequestContext, iso
from octavo.server.store import Json

MIN_SPACES = 200
MIN_OPEN_THREADS = 5000
MIN_CHANGE_REQUESTS = 600
_MONTH_COUNT = 46
_DISCUSSED_MONTH_COUNT = 8
"""Number of months, up to the latest, that have threads in a space of the large demo."""
_FIRST_YEAR = 2023
_STATION_SPACES_AGE = timedelta(days=110)
_MAX_ACTIVITY_AGE = timedelta(days=90)
"""Maximum age of threads and change requests in the large demo."""
_COLLECTION = "harbours"

Action = Callable[[], None]


@dataclass(frozen=True)
class _StationSpace:
    """A space of the large demo about one station. `months` has the IDs of its pages, one for each month."""

    id: str
    place: str
    months: tuple[str, ...]


def add_large_demo(
    context: RequestContext, clock: DemoClock, ids: DemoIds, today: datetime, share: float = 1.0
) -> None:
    """Add the content of the large demo, or only a `share` of it, from 0 to 1. All of it takes half a minute."""
    rng = Random("large")
    clock.moment = today - _STATION_SPACES_AGE
    titles = _titles()
    station_spaces = [
        _create_station_space(context, ids, place, kind, rng)
        for place, kind in titles[: max(1, round(len(titles) * share))]
    ]
    actions = [
        *_threads(context, station_spaces, rng, ids, round(MIN_OPEN_THREADS * share)),
        *_change_requests(context, station_spaces, rng, ids, round(MIN_CHANGE_REQUESTS * share)),
    ]
    for age, action in sorted(actions, key=lambda pair: pair[0], reverse=True):
        clock.moment = today - age
        action()


def _titles() -> list[tuple[str, str]]:
    titles = [(station.name, kind) for kind in _word_lists()["books"] for station in register.stations()]
    return titles[: MIN_SPACES - 4]


def _create_station_space(context: RequestContext, ids: DemoIds, station: str, kind: str, rng: Random) -> _StationSpace:
    writer = context.for_user(rng.choice(_people_with_role("edit")))
    if context.store.find(f"/collections/{_COLLECTION}") is None:
        ids.name = _COLLECTION
        at = OrganizationRef(organization_id=history.ORGANIZATION)
        run_operation(collections.Create(at=at, title="Harbours"), context.for_user(history.PEOPLE[0].id))
        update = collections.Update(at=CollectionRef(collection_id=_COLLECTION), description="A book for each place")
        run_operation(update, context.for_user(history.PEOPLE[0].id))
    ids.name = page_trees.page_slug(f"{station} {kind}")
    space = spaces.create_space(
        writer, history.ORGANIZATION, title=f"{station}: {kind.lower()}", parent=_COLLECTION, emoji="🧭"
    )
    ids.name = f"{space['id']}-page"
    first_page = new_page(writer, f"{kind} of {station}", _sentence(rng, "about", station, "") + "\n")
    years: dict[str, Json] = {}
    months = []
    for month in _months():
        year = month.split()[1]
        year_page = years.setdefault(year, new_page(writer, year, f"All of {year} at {station}.\n"))
        page = new_page(writer, month, _month_text(rng, station, month))
        year_page["pages"].append(page)
        months.append(page["id"])
    pages = [first_page, *years.values()]
    ids.name = f"{space['id']}-revision"
    revision = add_revision(writer, space["id"], {"pages": pages}, type="edits", parents=[])
    set_current(writer, space["id"], revision)
    return _StationSpace(space["id"], station, tuple(months))


def _months() -> Iterator[str]:
    for number in range(_MONTH_COUNT):
        year, month = divmod(number, 12)
        yield f"{register.MONTHS[month]} {_FIRST_YEAR + year}"


def _month_text(rng: Random, place: str, month: str) -> str:
    parts = [_sentence(rng, "opening", place, month)]
    parts += [_sentence(rng, "middle", place, month) for _ in range(rng.randrange(1, 3))]
    if rng.random() < 0.3:
        parts.append(f'{{% hint style="warning" %}}\n{_sentence(rng, "warning", place, month)}\n{{% endhint %}}')
    parts += [
        "## What was done",
        "\n".join(f"* {_sentence(rng, 'work', place, month)}." for _ in range(rng.randrange(2, 5))),
    ]
    rows = [f"| {day} | {rng.randrange(210, 460) / 100:.2f} | {rng.randrange(1, 9)} |" for day in (1, 15)]
    parts += ["## Levels", "\n".join(["| Day | High water, m | Wind, Bft |", "|--:|--:|--:|", *rows])]
    return "\n\n".join([*parts, _sentence(rng, "closing", place, month)]) + "\n"


def _threads(
    context: RequestContext, station_spaces: list[_StationSpace], rng: Random, ids: DemoIds, count: int
) -> Iterator[tuple[timedelta, Action]]:
    """Yield an age and a function for each of `count` threads of the large demo. The function creates the thread."""
    weights = [rng.paretovariate(1.2) for _ in station_spaces]
    for number in range(count):
        space = rng.choices(station_spaces, weights)[0]
        age = _MAX_ACTIVITY_AGE * rng.random() ** 2
        at, own_rng = SpaceRef(space_id=space.id), Random(f"thread {number}")
        yield age, partial(_create_thread, context, ids, at, space, f"l{number}", own_rng)


def _create_thread(
    context: RequestContext, ids: DemoIds, at: Discussion, space: _StationSpace, name: str, rng: Random
) -> None:
    page_id, month = rng.choice(list(zip(space.months, _months(), strict=True))[-_DISCUSSED_MONTH_COUNT:])
    author = rng.choice(_people_with_role("comment"))
    text = _sentence(rng, "question", space.place, month)
    if rng.random() < 0.12:
        text = f"{text} {_mention(rng, space.place, month)}"
    ids.name, block_key = name, None
    if rng.random() < 0.4:
        page = page_of(get_revision_at(context, at), page_id)
        block_key = _first_block(page_text(context, page))
    create_comment(context.for_user(author), at, text, page_id=page_id, block_key=block_key)
    ids.name = f"{name}-r"
    for _ in range(rng.choices((0, 1, 2, 5), (60, 25, 12, 3))[0]):
        reply = Markdown(markdown=_sentence(rng, "answer", space.place, month))
        replier = context.for_user(rng.choice(_people_with_role("comment")))
        run_operation(comments.CreateReply(at=at, comment_id=name, body=reply), replier)


def _change_requests(
    context: RequestContext, station_spaces: list[_StationSpace], rng: Random, ids: DemoIds, count: int
) -> Iterator[tuple[timedelta, Action]]:
    """Yield an age and a function for each change request to create: `count` open ones, and some merged ones."""
    proposals = [
        _Proposal(context, ids, rng.choice(station_spaces), f"c{number}", Random(f"change {number}"))
        for number in range(count)
    ]
    for number, proposal in enumerate(proposals):
        yield _MAX_ACTIVITY_AGE * (0.02 + 0.98 * rng.random() ** 1.6), proposal.propose
        if number % 12 == 0:
            merged = _Proposal(context, ids, proposal.space, f"m{number}", Random(f"merged {number}"))
            yield timedelta(days=1.5), merged.merge


@dataclass(frozen=True)
class _Proposal:
    """Creates a change request that edits pages of a space, with reviewers, reviews and threads."""

    context: RequestContext
    ids: DemoIds
    space: _StationSpace
    id: str
    rng: Random

    @property
    def at(self) -> ChangeRequestRef:
        return ChangeRequestRef(space_id=self.space.id, change_request_id=self.id)

    def _create(self, author: str) -> None:
        rng, space = self.rng, self.space
        context, self.ids.name = self.context.for_user(author), self.id
        month = rng.choice(list(_months()))
        subject = _sentence(rng, "subject", space.place, month)
        run_operation(change_requests.Create(at=SpaceRef(space_id=space.id), subject=subject), context)
        if why := _sentence(rng, "why", space.place, month):
            run_operation(change_requests.Update(at=self.at, description=to_json_document(why)), context)
        page_ids = set(rng.sample(space.months, rng.choice((1, 1, 2, 4))))
        self.ids.name = f"{self.id}-edit"
        edits = tuple(
            content.UpdatePage(
                page=page["id"], document=DocumentBody(markdown=self._new_text(page_text(context, page), month))
            )
            for page in page_trees.walk(get_revision_at(context, self.at)["pages"])
            if page["id"] in page_ids
        )
        run_operation(content.Edit(at=self.at, changes=edits, compat=False), context)

    def _new_text(self, text: str, month: str) -> str:
        added, closing = (_sentence(self.rng, kind, self.space.place, month) for kind in ("addition", "closing"))
        begin, head, rest = text.partition("## What was done")
        return f"{begin}{added}\n\n{head}{rest.rstrip().rpartition(chr(10))[0]}\n{closing}\n"

    def propose(self) -> None:
        rng = self.rng
        author = rng.choice(_people_with_role("edit"))
        self._create(author)
        context = self.context.for_user(author)
        if rng.random() < 0.2:
            return
        run_operation(change_requests.Update(at=self.at, status="open"), context)
        reviewers = sorted(
            {rng.choice(_people_with_role("review")) for _ in range(rng.choice((0, 1, 1, 2)))} - {author}
        )
        if reviewers:
            run_operation(reviews.Request(at=self.at, users=tuple(reviewers)), context)
        for reviewer in reviewers:
            if rng.random() < 0.4:
                self._review(reviewer)
        if reviewers and rng.random() < 0.2:
            self.ids.name = f"{self.id}-again"
            page = page_of(get_revision_at(context, self.at), self.space.months[-1])
            text = page_text(context, page) + "\nSeen again since.\n"
            edit = content.UpdatePage(page=page["id"], document=DocumentBody(markdown=text))
            run_operation(content.Edit(at=self.at, changes=(edit,), compat=False), context)
        for number in range(rng.choices((0, 1, 3), (55, 30, 15))[0]):
            _create_thread(self.context, self.ids, self.at, self.space, f"{self.id}-t{number}", rng)

    def _review(self, author: str) -> None:
        status: Literal["approved", "changes-requested"] = (
            "approved" if self.rng.random() < 0.65 else "changes-requested"
        )
        self.ids.name = f"{self.id}-review"
        words = Markdown(markdown=self.rng.choice(_word_lists()["verdict"]))
        run_operation(reviews.Submit(at=self.at, status=status, comment=words), self.context.for_user(author))

    def merge(self) -> None:
        self._create(history.PEOPLE[0].id)
        self.ids.name = f"{self.id}-merge"
        run_operation(change_requests.Merge(at=self.at), self.context.for_user(history.PEOPLE[0].id))


@cache
def _first_block(text: str) -> str:
    return next(iter(parse(text).walk())).key


@cache
def _people_with_role(lowest_role: str) -> tuple[str, ...]:
    roles = ROLES[ROLES.index(lowest_role) :]
    return tuple(
        each.id for each in (*history.PEOPLE, *history.members()[: history.NEVER_DISABLED_COUNT]) if each.role in roles
    )


def _mention(rng: Random, place: str, month: str) -> str:
    person = rng.choice((history.DEFAULT_PERSON, *history.PEOPLE[2:5]))
    return _sentence(rng, "asking", place, month, f"[@{person.name}](/users/{person.id})")


def _sentence(rng: Random, kind: str, place: str, month: str, person: str = "") -> str:
    template: str = rng.choice(_word_lists()[kind])
    return template.format(place=place, month=month, n=rng.randrange(2, 12), mm=rng.randrange(13, 60), who=person)


@cache
def _word_lists() -> Any:
    return tomllib.loads((Path(__file__).parent / "large.toml").read_text(encoding="utf-8"))


SITE = SiteRef(organization_id=history.ORGANIZATION, site_id="docs")


def site_operations() -> Iterator[tuple[str, Operation[Any]]]:
    """Yield an ID and an operation for each step of creating the site. A created resource gets this ID."""
    site = history.organization_setup()["site"]
    yield SITE.site_id, sites.Create(at=OrganizationRef(organization_id=history.ORGANIZATION), title=site["title"])
    for section in site["sections"]:
        fields = {"space_id": section["space"], "title": section["title"], "icon": section["icon"]}
        yield section["id"], site_structure.CreateSection(at=SITE, **fields)
    yield SITE.site_id, sites.Update(at=SITE, basename=SITE.site_id)
    yield SITE.site_id, sites.Publish(at=SITE)


TODAY = datetime(2026, 11, 16, 9, 0, tzinfo=UTC)
"""Default date of the demo."""

_FOLDER = Path(__file__).parent
_GUEST_SPACE = "harbour-api"
_SPACES_AGE = timedelta(days=1300)
_PAGES_AGE = timedelta(days=120)
"""Age of the demo's pages on the date of the demo."""


def build(context: RequestContext, today: datetime = TODAY, *, large: float = 0.0) -> None:
    """Build the demo library in an empty store, as of the date `today`. `large` is the share of the large demo to add,
    from 0 to 1. The caller must add an API key."""
    clock, ids = DemoClock(today - _SPACES_AGE), DemoIds()
    past = replace(context, now=clock, new_id=ids)
    with context.store.transaction():
        _create_organization(past, today)
        _create_spaces(past.for_user(history.PEOPLE[0].id), ids)
        clock.moment = today - _PAGES_AGE
        _load_pages(past.for_user(history.DEFAULT_PERSON.id), ids)
        for path in sorted((_FOLDER / "openapi").glob("*.json")):
            ids.name = path.stem
            _upload_specification(past.for_user(history.PEOPLE[0].id), path)
        for ids.name, op in site_operations():
            run_operation(op, past.for_user(history.PEOPLE[0].id))
        for action in list_actions():
            clock.moment, ids.name = today - action.age, action.id_prefix
            for op in action.make_operations(past.for_user(action.user_id)):
                run_operation(op, past.for_user(action.user_id))
        if large:
            add_large_demo(past, clock, ids, today, large)


def _create_organization(context: RequestContext, today: datetime) -> None:
    created_at = iso(today - timedelta(days=4400))
    organization = {"createdAt": created_at, **history.organization_setup()["organization"]}
    context.store.put(f"/orgs/{history.ORGANIZATION}", organization)
    history.add_people(context, today)


def _create_spaces(context: RequestContext, ids: DemoIds) -> None:
    at = OrganizationRef(organization_id=history.ORGANIZATION)
    for collection in history.organization_setup()["collections"]:
        ids.name, parent_id = collection["id"], collection.get("parent")
        parent_field = {"parent": parent_id} if parent_id else {}
        run_operation(collections.Create(at=at, title=collection["title"], **parent_field), context)
        at_collection = CollectionRef(collection_id=collection["id"])
        run_operation(collections.Update(at=at_collection, description=collection["description"]), context)
    for space in history.organization_setup()["spaces"]:
        ids.name = space["id"]
        spaces.create_space(context, history.ORGANIZATION, **space)
    for team in history.organization_setup()["teams"]:
        ids.name = team["id"]
        history.create_team(context, team)
    for guest in (person for person in history.members() if person.role is None):
        context.store.put(f"/spaces/{_GUEST_SPACE}/permissions/users/{guest.id}", {"id": guest.id, "role": "comment"})


def _load_pages(context: RequestContext, ids: DemoIds) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder_copy = Path(temporary) / "stations"
        shutil.copytree(_FOLDER / "stations", folder_copy)
        for path, text in register.generated_files().items():
            (folder_copy / path).parent.mkdir(parents=True, exist_ok=True)
            (folder_copy / path).write_text(text, encoding="utf-8")
        for space in history.organization_setup()["spaces"]:
            ids.name = f"{space['id']}-page"
            folder = folder_copy if space["id"] == "stations" else _FOLDER / space["id"]
            load(context, folder, organization_id=history.ORGANIZATION, author_id=context.caller, space_id=space["id"])


def _upload_specification(context: RequestContext, path: Path) -> None:
    source = openapi.Source(text=path.read_text(encoding="utf-8"))
    at = OrganizationRef(organization_id=history.ORGANIZATION)
    work = run_operation(openapi.Create(at=at, slug=path.stem, source=source), context)
    work.finish(work.run())
