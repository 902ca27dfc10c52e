"""What is read again though nothing speaks for it."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from octavo.api.comments import Comment
from octavo.api.places import Discussion, SpaceRef
from octavo.api.spaces import Space
from octavo.api.users import Contributor, User
from octavo.data.inbox_parts import NEAR as CONCERNS_ONE
from octavo.data.inbox_parts import OTHERS, Part, again, of_spaces, of_threads
from tests.server.asking import START

NEAR, FAR = ["a", "b", "c", "d", "e", "f"], ["u", "v", "w", "x", "y", "z"]


def places(names: list[str]) -> list[Part]:
    return list(of_spaces(Space(id=name, title=name, comments=1) for name in names))


@pytest.mark.parametrize(
    ("pages", "read"),
    [
        ({}, "abcdu"),
        ({"c": 2}, "abcu"),
        ({"a": 3}, "abu"),
        ({"a": 9}, "au"),
        ({"u": 9}, "au"),
        ({"b": 4}, "acdeu"),
    ],
)
def test_places_of_many_pages_take_the_room_of_others(pages: dict[str, int], read: str) -> None:
    parts = {part.at.space_id: part for part in places(NEAR + FAR)}
    read_at = {part.url: START + timedelta(minutes=number) for number, part in enumerate(parts.values())}
    alive: dict[Discussion, datetime] = {SpaceRef(space_id=name): START for name in NEAR}
    long = {parts[name].url: number for name, number in pages.items()}
    chosen = again(parts.values(), read_at, alive, START + timedelta(hours=1), long)
    assert "".join(sorted(part.at.space_id for part in chosen)) == read


def test_where_no_thread_concerns_the_person_all_room_is_for_others() -> None:
    parts = places(FAR)
    chosen = again(parts, {part.url: START for part in parts}, {}, START, {})
    assert [part.at.space_id for part in chosen] == FAR[:5]


def test_who_replied_is_taken_from_servers_that_say_it() -> None:
    mia, tom, zoe = (User(id=name) for name in ("mia", "tom", "zoe"))
    here, later = SpaceRef(space_id="s"), START + timedelta(hours=1)

    def part(*repliers: Contributor, says_it: bool = True) -> Part:
        root = Comment(id="k", posted_by=tom, replies=2, repliers=repliers if says_it else None)
        (found,) = of_threads(here, [root], "mia", on_mine=False)
        return found

    of_others = part(Contributor(user=zoe, count=2, updated_at=START))
    with_mine = part(Contributor(user=zoe, count=1, updated_at=START), Contributor(user=mia, updated_at=START))
    assert (part(says_it=False).rank, of_others.rank, with_mine.rank) == (OTHERS, OTHERS, CONCERNS_ONE)
    assert of_others.stamp == with_mine.stamp != part(says_it=False).stamp
    assert part(Contributor(user=zoe, count=2, updated_at=later)).stamp != of_others.stamp
