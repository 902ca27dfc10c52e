"""The large demo: the demo library, and around it as much as a large organization has.

Two hundred spaces, ten thousand pages, five thousand open threads and six hundred change requests that are not decided,
drawn from the words of `large.toml`. Everything is as likely to concern the default person as in an organization where she
is one of forty who write.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Literal

from octavo.api import change_requests, collections, comments, content, reviews
from octavo.api.bodies import Markdown
from octavo.api.content import DocumentBody
from octavo.api.places import ChangeRequestRef, CollectionRef, Discussion, OrganizationRef, SpaceRef
from octavo.documents import page_trees
from octavo.documents.markdown_to_json import to_json_document
from octavo.documents.parse import parse
from octavo.server.behaviour import revisions, spaces
from octavo.server.behaviour.comments import post
from octavo.server.behaviour.permissions import RANKS
from octavo.server.demo import people, register
from octavo.server.demo.past import Clock, Names
from octavo.server.middleware import answer
from octavo.server.store import Json
from octavo.server.world import World

SPACES, OPEN_THREADS, UNDECIDED = 200, 5000, 600
"""How many there are at least."""
PAGES_OF_BOOK = 51
_MONTHS_OF_BOOK = 46
_SPOKEN_OF = 8
"""Threads are about as many months of a book, the last."""
_FIRST_YEAR = 2023
_BOOKS_WRITTEN = timedelta(days=110)
_LAST_DAYS = timedelta(days=90)
"""All threads and change requests were begun in these."""
_COLLECTION = "harbours"

Act = Callable[[], None]


@dataclass(frozen=True)
class _Book:
    """A space of its own, about a station, and the ids of its pages of months."""

    id: str
    place: str
    months: tuple[str, ...]


def fill(world: World, clock: Clock, names: Names, today: datetime, share: float = 1.0) -> None:
    """Put all of it beside the demo library, which is there already, or a `share` of it. All takes half a minute."""
    chance = Random("large")
    clock.moment = today - _BOOKS_WRITTEN
    titles = _titles()
    books = [_write(world, names, place, kind, chance) for place, kind in titles[: max(1, round(len(titles) * share))]]
    acts = [
        *_threads(world, books, chance, names, round(OPEN_THREADS * share)),
        *_change_requests(world, books, chance, names, round(UNDECIDED * share)),
    ]
    for ago, act in sorted(acts, key=lambda pair: pair[0], reverse=True):
        clock.moment = today - ago
        act()


def _titles() -> list[tuple[str, str]]:
    """Station and kind of each book."""
    found = [(station.name, kind) for kind in _words()["books"] for station in register.stations()]
    return found[: SPACES - 4]


def _write(world: World, names: Names, place: str, kind: str, chance: Random) -> _Book:
    """Make the space of a book and write its pages: what it is, and below each year its months."""
    writer = world.asked_by(chance.choice(_people("edit")))
    if world.store.find(f"/collections/{_COLLECTION}") is None:
        names.name = _COLLECTION
        at = OrganizationRef(organization_id=people.ORGANIZATION)
        answer(collections.Create(at=at, title="Harbours"), world.asked_by(people.PEOPLE[0].id))
        said = collections.Update(at=CollectionRef(collection_id=_COLLECTION), description="A book for each place")
        answer(said, world.asked_by(people.PEOPLE[0].id))
    names.name = page_trees.page_slug(f"{place} {kind}")
    space = spaces.new(writer, people.ORGANIZATION, title=f"{place}: {kind.lower()}", parent=_COLLECTION, emoji="🧭")
    names.name = f"{space['id']}-page"
    first = revisions.new_page(writer, f"{kind} of {place}", _said(chance, "about", place, "") + "\n")
    years: dict[str, Json] = {}
    months = []
    for month in _months():
        year = month.split()[1]
        above = years.setdefault(year, revisions.new_page(writer, year, f"All of {year} at {place}.\n"))
        page = revisions.new_page(writer, month, _month(chance, place, month))
        above["pages"].append(page)
        months.append(page["id"])
    pages = [first, *years.values()]
    names.name = f"{space['id']}-revision"
    revision = revisions.add(writer, space["id"], {"pages": pages}, type="edits", parents=[])
    revisions.move_primary(writer, space["id"], revision)
    return _Book(space["id"], place, tuple(months))


def _months() -> Iterator[str]:
    for number in range(_MONTHS_OF_BOOK):
        year, month = divmod(number, 12)
        yield f"{register.MONTHS[month]} {_FIRST_YEAR + year}"


def _month(chance: Random, place: str, month: str) -> str:
    """What a book says of a month."""
    said = [_said(chance, "opening", place, month)]
    said += [_said(chance, "middle", place, month) for _ in range(chance.randrange(1, 3))]
    if chance.random() < 0.3:
        said.append(f'{{% hint style="warning" %}}\n{_said(chance, "warning", place, month)}\n{{% endhint %}}')
    said += [
        "## What was done",
        "\n".join(f"* {_said(chance, 'work', place, month)}." for _ in range(chance.randrange(2, 5))),
    ]
    rows = [f"| {day} | {chance.randrange(210, 460) / 100:.2f} | {chance.randrange(1, 9)} |" for day in (1, 15)]
    said += ["## Levels", "\n".join(["| Day | High water, m | Wind, Bft |", "|--:|--:|--:|", *rows])]
    return "\n\n".join([*said, _said(chance, "closing", place, month)]) + "\n"


# What people say


def _threads(
    world: World, books: list[_Book], chance: Random, names: Names, most: int
) -> Iterator[tuple[timedelta, Act]]:
    """Threads on the pages of books, each as one act with its answers. Some books have many, most have few."""
    weights = [chance.paretovariate(1.2) for _ in books]
    for number in range(most):
        book = chance.choices(books, weights)[0]
        ago = _LAST_DAYS * chance.random() ** 2
        yield ago, _Talk(world, names, SpaceRef(space_id=book.id), book, f"l{number}", Random(f"thread {number}"))


@dataclass(frozen=True)
class _Talk:
    """Somebody starts a thread on a block of a page, and others may answer."""

    world: World
    names: Names
    at: Discussion
    book: _Book
    name: str
    chance: Random

    def __call__(self) -> None:
        chance, book = self.chance, self.book
        page_id, month = chance.choice(list(zip(book.months, _months(), strict=True))[-_SPOKEN_OF:])
        by = chance.choice(_people("comment"))
        said = _said(chance, "question", book.place, month)
        if chance.random() < 0.12:
            said = f"{said} {_asked(chance, book.place, month)}"
        world, self.names.name = self.world.asked_by(by), self.name
        node = None
        if chance.random() < 0.4:
            page = next(
                each for each in page_trees.walk(revisions.at(world, self.at)["pages"]) if each["id"] == page_id
            )
            node = _first_block(revisions.text(world, page))
        post(world, self.at, said, page=page_id, node=node)
        self.names.name = f"{self.name}-r"
        for _ in range(chance.choices((0, 1, 2, 5), (60, 25, 12, 3))[0]):
            reply = Markdown(markdown=_said(chance, "answer", book.place, month))
            answer(
                comments.CreateReply(at=self.at, comment_id=self.name, body=reply),
                world.asked_by(chance.choice(_people("comment"))),
            )


def _change_requests(
    world: World, books: list[_Book], chance: Random, names: Names, most: int
) -> Iterator[tuple[timedelta, Act]]:
    """The change requests of books. In some books an early one was merged, which leaves the others outdated."""
    proposals = [
        _Proposal(world, names, chance.choice(books), f"c{number}", Random(f"change {number}"))
        for number in range(most)
    ]
    for number, proposal in enumerate(proposals):
        yield _LAST_DAYS * (0.02 + 0.98 * chance.random() ** 1.6), proposal.propose
        if number % 12 == 0:
            yield (
                timedelta(days=1.5),
                _Proposal(world, names, proposal.book, f"m{number}", Random(f"merged {number}")).merge,
            )


@dataclass(frozen=True)
class _Proposal:
    """Somebody changes a page or two of a book, asks for a review, and may get one."""

    world: World
    names: Names
    book: _Book
    id: str
    chance: Random

    @property
    def at(self) -> ChangeRequestRef:
        return ChangeRequestRef(space_id=self.book.id, change_request_id=self.id)

    def _edited(self, by: str) -> None:
        chance, book = self.chance, self.book
        world, self.names.name = self.world.asked_by(by), self.id
        month = chance.choice(list(_months()))
        subject = _said(chance, "subject", book.place, month)
        answer(change_requests.Create(at=SpaceRef(space_id=book.id), subject=subject), world)
        if why := _said(chance, "why", book.place, month):
            answer(change_requests.Update(at=self.at, description=to_json_document(why)), world)
        wanted = set(chance.sample(book.months, chance.choice((1, 1, 2, 4))))
        self.names.name = f"{self.id}-edit"
        edits = tuple(
            content.UpdatePage(
                page=page["id"], document=DocumentBody(markdown=self._changed(revisions.text(world, page), month))
            )
            for page in page_trees.walk(revisions.at(world, self.at)["pages"])
            if page["id"] in wanted
        )
        answer(content.Edit(at=self.at, changes=edits, compat=False), world)

    def _changed(self, text: str, month: str) -> str:
        """A page with a paragraph more, and another closing sentence."""
        added, closing = (_said(self.chance, kind, self.book.place, month) for kind in ("addition", "closing"))
        begin, head, rest = text.partition("## What was done")
        return f"{begin}{added}\n\n{head}{rest.rstrip().rpartition(chr(10))[0]}\n{closing}\n"

    def propose(self) -> None:
        chance = self.chance
        by = chance.choice(_people("edit"))
        self._edited(by)
        world = self.world.asked_by(by)
        if chance.random() < 0.2:
            return  # it stays a draft
        answer(change_requests.Update(at=self.at, status="open"), world)
        reviewers = sorted({chance.choice(_people("review")) for _ in range(chance.choice((0, 1, 1, 2)))} - {by})
        if reviewers:
            answer(reviews.Request(at=self.at, users=tuple(reviewers)), world)
        for each in reviewers:
            if chance.random() < 0.4:
                self._review(each)
        if reviewers and chance.random() < 0.2:
            self.names.name = f"{self.id}-again"
            page = next(
                each
                for each in page_trees.walk(revisions.at(world, self.at)["pages"])
                if each["id"] == self.book.months[-1]
            )
            text = revisions.text(world, page) + "\nSeen again since.\n"
            edit = content.UpdatePage(page=page["id"], document=DocumentBody(markdown=text))
            answer(content.Edit(at=self.at, changes=(edit,), compat=False), world)
        for number in range(chance.choices((0, 1, 3), (55, 30, 15))[0]):
            _Talk(self.world, self.names, self.at, self.book, f"{self.id}-t{number}", chance)()

    def _review(self, by: str) -> None:
        status: Literal["approved", "changes-requested"] = (
            "approved" if self.chance.random() < 0.65 else "changes-requested"
        )
        self.names.name = f"{self.id}-review"
        words = Markdown(markdown=self.chance.choice(_words()["verdict"]))
        answer(reviews.Submit(at=self.at, status=status, comment=words), self.world.asked_by(by))

    def merge(self) -> None:
        self._edited(people.PEOPLE[0].id)
        self.names.name = f"{self.id}-merge"
        answer(change_requests.Merge(at=self.at), self.world.asked_by(people.PEOPLE[0].id))


@cache
def _first_block(text: str) -> str:
    """The key of the first block of a page."""
    return next(iter(parse(text).walk())).key


# Who, and in which words


@cache
def _people(least: str) -> tuple[str, ...]:
    """Those who may do what takes the role `least`: who one can be, and who came first of the others."""
    roles = RANKS[RANKS.index(least) :]
    return tuple(each.id for each in (*people.PEOPLE, *people.members()[: people.NEVER_DISABLED]) if each.role in roles)


def _asked(chance: Random, place: str, month: str) -> str:
    person = chance.choice((people.DEFAULT_PERSON, *people.PEOPLE[2:5]))
    return _said(chance, "asking", place, month, f"[@{person.name}](/users/{person.id})")


def _said(chance: Random, kind: str, place: str, month: str, who: str = "") -> str:
    words: str = chance.choice(_words()[kind])
    return words.format(place=place, month=month, n=chance.randrange(2, 12), mm=chance.randrange(13, 60), who=who)


@cache
def _words() -> Any:
    return tomllib.loads((Path(__file__).parent / "large.toml").read_text(encoding="utf-8"))
