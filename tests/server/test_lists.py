"""Every list is paged. The pages have the same items in the same order as the whole list, with any page size."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any, Literal
from urllib.parse import urlencode

import pytest

from octavo.api import change_requests, collections, comments, permissions, site_structure, spaces, teams
from octavo.api.bodies import Markdown
from octavo.api.operation import ChangeRequestRef, CollectionRef, Listing, Operation, SpaceRef, load
from octavo.api.spaces import CollectionPointer, Position, Space, SpacePointer
from octavo.api.wire import Route, encode, operation_for_route, query_fields, routes
from octavo.server.handlers.spaces import add_edit_revision, get_current, new_page, set_current, with_stored_text
from octavo.server.rest import RequestContext
from octavo.server.store import Json
from tests.operation_walk import CHANGE_REQUEST, COLLECTION, ORGANIZATION, SITE, SPACE, Walk, full_context
from tests.server.refusing_platform import Platform
from tests.server.sample_sites import create_site
from tests.server.small_platform import ACME, Ask, Clock, space_with

NOWHERE = "http://127.0.0.1:9/"
"""Hosts that the platform must not contact: no test leaves this machine."""
ROUTES = {route.key: route for op, spec in load().items() if issubclass(op, Listing) for route in routes(spec)}
"""Every list, at every kind of place that has it."""

WITHOUT_PAGES = {"change_requests.ListContributors"}
"""Lists without pages, as documented."""

every_list = pytest.mark.parametrize(
    "key", [key for key, route in ROUTES.items() if route.spec.name not in WITHOUT_PAGES]
)


class FilledLists:
    """A platform with three of each listed item, and requests of an administrator."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.clock = Clock()
        self.context = full_context(self.clock)
        self.platform = Platform(self.context)
        self.client = Ask(self.platform)
        self.walk = Walk(self.ask, page_url=NOWHERE, put=self.put)
        for _ in range(3):
            self.walk = Walk(self.ask, NOWHERE, self.put, known=dict(self.walk.known), made=self.walk.made)
            self.walk.create_all()
            self.clock.forward(hours=1)
        self.fill_pages()
        self.fill_lists()

    def fill_pages(self) -> None:
        """Add pages and files with links to existing content."""
        context, space = self.context.for_user("ada"), self.walk.known["spaceId"]
        before = get_current(context, space)
        nested = before["pages"][1]["pages"]
        nested[0] = with_stored_text(
            context, nested[0], "[One](a.md), [two](b.md), ![chart](/files/chart), [tides](../tides.md)."
        )
        words = "Of tides: [springs](more/springs.md), ![chart](/files/chart), [far](https://sea.example/far)."
        pages = [new_page(context, f"Tides {each}", words) for each in range(3)]
        files = [{**before["files"][0], "id": f"chart-{each}"} for each in range(3)]
        after = add_edit_revision(context, before, pages=before["pages"] + pages, files=before["files"] + files)
        set_current(context, space, after)
        self.walk.known["revisionId"] = after["id"]
        for another in context.store.all("/spaces"):
            if another["title"] == "Another":
                moved = add_edit_revision(context, get_current(context, another["id"]), pages=pages)
                set_current(context, another["id"], moved)
        known = self.walk.at(f"POST {CHANGE_REQUEST}/update")
        assert self.send("POST", f"{CHANGE_REQUEST}/update".format(**known))[0] == 200

    def fill_lists(self) -> None:
        """Add items of lists in which the walk creates only one, because the item exists or belongs to other users."""
        south = {"id": "south", "title": "South", "createdAt": self.context.timestamp()}
        self.context.store.put("/orgs/south", south)
        self.context.store.put(
            "/orgs/south/members/ada", {"id": "ada", "role": "admin", "joinedAt": south["createdAt"]}
        )
        self.send_checked(
            "POST", f"{SITE}/redirects", {**self.walk.other_values(f"POST {SITE}/redirects"), "source": "/three"}
        )
        for title in ("One", "Two", "Three"):
            key = f"POST {ORGANIZATION}/teams"
            collection = self.walk.known[COLLECTION]
            self.send_checked("POST", f"{ORGANIZATION}/spaces", {"title": title, "parent": collection})
            team = self.send_checked("PUT", f"{ORGANIZATION}/teams", {"title": title, "members": ["jun"]})["id"]
            for place in (SPACE, COLLECTION):
                self.send_checked(
                    "POST", f"{place}/permissions", {"role": "comment", "users": ["tom", "jun"], "teams": [team]}
                )
            known = self.walk.at(f"{key} {SPACE}/x")
            asked = self.send_checked("POST", f"{SPACE}/change-requests", {"subject": title}, known)
            self.send_checked(
                "PATCH", f"{CHANGE_REQUEST}", {"status": "open"}, {**known, "changeRequestId": asked["id"]}
            )
        self.send_checked("POST", f"{CHANGE_REQUEST}/requested-reviewers", {"users": ["jun", "mia"]})
        for user in ("jun", "zoe"):
            for place in (SPACE, CHANGE_REQUEST):
                self.send_checked("POST", f"{place}/comments", {"body": {"markdown": "Hello"}}, user=user)

    def send_checked(self, method: str, path: str, body: Json, names: Json | None = None, user: str = "ada") -> Any:
        names = names or self.walk.at(f"{method} {path}/x")
        status, answer = self.send(method, path.format(**names), user=user, json=body)
        assert status < 300, answer
        return answer

    def ask(self, route: Route, values: Json) -> tuple[int, Any]:
        request = encode(operation_for_route(route, values))
        return self.send(request.method, request.url, json=request.body)

    def put(self, url: str, content: bytes) -> None:
        self.loop.run_until_complete(self.client.http("PUT", url, None, content=content))

    def send(self, method: str, url: str, **options: Any) -> tuple[int, Any]:
        answer = self.loop.run_until_complete(self.client.http(method, url, **options))
        return answer.status_code, answer.json() if answer.content else None

    def page(self, key: str, **cut: Any) -> Json:
        """Return one page of a list."""
        status, answer = self.ask(ROUTES[key], {**self.walk.at(key), **self.walk.other_values(key), **cut})
        assert status == 200, answer
        found: Json = answer
        return found

    def url(self, key: str, **cut: str) -> tuple[str, str, Json | None]:
        """Return the URL of a page of a list, with a limit that operations do not allow."""
        request = encode(operation_for_route(ROUTES[key], {**self.walk.at(key), **self.walk.other_values(key)}))
        if request.body is not None and not query_fields(ROUTES[key].spec):
            return request.method, request.url, {**request.body, **cut}
        return request.method, request.url + ("&" if "?" in request.url else "?") + urlencode(cut), request.body

    def close(self) -> None:
        self.platform.close()
        self.context.store.close()
        self.loop.close()


@pytest.fixture(scope="module")
def filled_lists() -> Iterator[FilledLists]:
    filled_lists = FilledLists()
    yield filled_lists
    filled_lists.close()


@every_list
def test_pages_of_any_size_have_the_same_items(key: str, filled_lists: FilledLists) -> None:
    before = filled_lists.page(key, limit=1000)
    assert "next" not in before
    assert before["count"] == len(before["items"])
    assert len(before["items"]) > 2
    for limit in (1, 2):
        found: list[Json] = []
        answer: Json = {"next": {}}
        while "next" in answer:
            answer = filled_lists.page(key, limit=limit, **answer["next"])
            assert 0 < len(answer["items"]) <= limit
            assert answer["count"] == before["count"]
            found += answer["items"]
        assert found == before["items"]


@every_list
def test_limit_above_a_thousand_is_refused(key: str, filled_lists: FilledLists) -> None:
    for limit, status in (("1000", 200), ("1001", 400)):
        method, url, body = filled_lists.url(key, limit=limit)
        assert filled_lists.send(method, url, json=body)[0] == status
    assert filled_lists.client.last.json()["error"]["message"] == "limit may be at most 1000."


@every_list
def test_invalid_page_cursor_is_refused(key: str, filled_lists: FilledLists) -> None:
    for cursor in ("garbage", "ÿ", "bnVsbA", "e30", "TmFO"):  # The last three cursors encode null, {} and NaN.
        method, url, body = filled_lists.url(key, page=cursor)
        status, answer = filled_lists.send(method, url, json=body)
        assert (cursor, status) == (cursor, 400)
        assert answer["error"]["message"].startswith("page does not name a page in this list.")


@dataclass
class ChangingList:
    """A list, with functions that add an item and remove an item."""

    listing: Listing[Any]
    add: Callable[[], Awaitable[str]]
    remove: Callable[[str], Awaitable[None]]


def _comments(ask: Ask, space: Space, order: Literal["asc", "desc"]) -> ChangingList:
    async def add() -> str:
        return (await ask(comments.Create(at=space.ref, body=Markdown(markdown="Hello")))).id

    async def remove(identity: str) -> None:
        await ask(comments.Delete(at=space.ref, comment_id=identity))

    return ChangingList(comments.List(at=space.ref, order=order), add, remove)


def _spaces(ask: Ask, space: Space) -> ChangingList:
    async def add() -> str:
        return (await ask(spaces.Create(at=ACME, title="One more"))).id

    async def remove(identity: str) -> None:
        await ask(spaces.Delete(at=SpaceRef(space_id=identity)))

    return ChangingList(spaces.List(at=ACME), add, remove)


def _change_requests(ask: Ask, space: Space) -> ChangingList:
    async def add() -> str:
        return (await ask(change_requests.Create(at=space.ref))).id

    async def remove(identity: str) -> None:
        at = ChangeRequestRef(space_id=space.id, change_request_id=identity)
        await ask(change_requests.Update(at=at, status="archived"))

    return ChangingList(change_requests.List(at=space.ref, status="draft"), add, remove)


def _teams(ask: Ask, space: Space) -> ChangingList:
    async def add() -> str:
        return (await ask(teams.Create(at=ACME, title="Harbour"))).id

    async def remove(identity: str) -> None:
        await ask(teams.Delete(at=ACME, team_id=identity))

    return ChangingList(teams.List(at=ACME), add, remove)


def _shared(ask: Ask, space: Space) -> ChangingList:
    people = iter(("mia", "tom", "jun", "zoe", "sam", "gil", "ada"))

    async def add() -> str:
        user = next(people)
        await ask(permissions.Grant(at=space.ref, role="comment", users=(user,)))
        return user

    async def remove(identity: str) -> None:
        await ask(permissions.DeleteUser(at=space.ref, user_id=identity))

    return ChangingList(permissions.ListUsers(at=space.ref), add, remove)


@pytest.mark.parametrize(
    "make_list",
    [
        partial(_comments, order="asc"),
        partial(_comments, order="desc"),
        _spaces,
        _change_requests,
        _teams,
        _shared,
    ],
    ids=["comments up", "comments down", "spaces", "change requests", "teams", "people"],
)
@pytest.mark.parametrize("limit", [1, 2])
async def test_every_list_is_consistent_while_items_change(
    make_list: Callable[[Ask, Space], ChangingList], limit: int, ask: Ask
) -> None:
    changing = make_list(ask, await space_with(ask))
    for _ in range(5):
        await changing.add()
    before = [_id_of(item) for item in (await ask(changing.listing)).items]
    op = changing.listing.model_copy(update={"limit": limit})
    first = await ask(op)
    await changing.remove(_id_of(first.items[-1]))  # The item at the cursor.
    await changing.remove(before[3])
    added = await changing.add()
    read = list(first.items)
    while first.next:
        first = await ask(op.model_copy(update={"page": first.next.page}))
        read += first.items
    found = [_id_of(item) for item in read]
    assert [each for each in found if each != added] == [each for each in before if each != before[3]]
    assert found.count(added) <= 1


def _id_of(item: Any) -> str:
    return str(item.user.id if hasattr(item, "user") else item.id)


async def _read_while(ask: Ask, op: Listing[Any], change: Operation[Any]) -> list[str]:
    """Return the IDs of a list of which the first page was read before `change`, and the others after it."""
    page = await ask(op.model_copy(update={"limit": 2}))
    found = list(page.items)
    await ask(change)
    while page.next:
        page = await ask(op.model_copy(update={"limit": 2, "page": page.next.page}))
        found += page.items
    return [_id_of(each) for each in found]


async def test_deleted_or_moved_collection_hides_no_others_from_a_reader(ask: Ask) -> None:
    made = [(await ask(collections.Create(at=ACME, title=f"C{number}"))).id for number in range(7)]
    inside = await space_with(ask, "Inside", parent=made[0])
    beside = [(await space_with(ask, f"S{number}")).id for number in range(4)]
    to_start = Position(before=CollectionPointer(collection=made[1]))
    move = collections.Move(at=CollectionRef(collection_id=made[6]), position=to_start)
    listing = collections.List(at=ACME)
    read = await _read_while(ask, listing, collections.Delete(at=CollectionRef(collection_id=made[0])))
    assert read == made
    assert await _read_while(ask, listing, move) == made[1:6]
    assert [_id_of(each) for each in (await ask(listing)).items] == [made[6], *made[1:6]]
    read = await _read_while(ask, spaces.List(at=ACME), collections.Delete(at=CollectionRef(collection_id=made[3])))
    assert read == [inside.id, *beside]


async def test_deleted_group_hides_no_others_from_a_reader(ask: Ask) -> None:
    at = await create_site(ask)
    made = [(await ask(site_structure.CreateGroup(at=at, title=f"Group {number}"))).id for number in range(5)]
    delete = site_structure.DeleteGroup(at=at, site_section_group_id=made[0])
    assert await _read_while(ask, site_structure.ListGroups(at=at), delete) == made


async def test_random_moves_lead_to_the_expected_order(ask: Ask, context: RequestContext) -> None:
    made = [(await space_with(ask, f"S{number}")).id for number in range(5)]
    for number, space in enumerate(made[:3]):
        context.store.update(f"/spaces/{space}", position=number)  # as older versions saved it
    random = Random(7)
    for _ in range(150):
        moved = made.pop(random.randrange(len(made)))
        at, index = SpaceRef(space_id=moved), random.randrange(len(made) + 1)
        if index == len(made):
            await ask(spaces.Move(at=at, parent=None))
        elif random.random() < 0.5 or index == 0:
            await ask(spaces.Move(at=at, position=Position(before=SpacePointer(space=made[index]))))
        else:
            await ask(spaces.Move(at=at, position=Position(after=SpacePointer(space=made[index - 1]))))
        made.insert(index, moved)
        if len(made) < 9 and random.random() < 0.1:
            made.append((await space_with(ask, "New")).id)
        assert [each.id for each in (await ask(spaces.List(at=ACME))).items] == made
