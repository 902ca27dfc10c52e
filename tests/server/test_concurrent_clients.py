"""Concurrent clients: no update is lost, no partial revision is visible, and writes are serialized."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from pydantic import SecretStr

from octavo.api import change_requests, comments, content, spaces
from octavo.api.bodies import Markdown
from octavo.api.content import Page
from octavo.api.operation import ContentRef, OrganizationRef, RevisionRef, SpaceRef
from octavo.client.client import Client
from octavo.server.rest import RequestContext
from octavo.server.store import Store
from tests.server.refusing_platform import Platform
from tests.server.small_platform import ACME, Clock, small_context
from tests.server.space_editor import insert, update

MANY = 32
SIDES = ("left", "right")
"""Each client has two pages with the same text: one edit changes both."""


@dataclass
class ConcurrentClients:
    """Clients that share a space. Each client has two pages."""

    clients: list[Client]
    space: SpaceRef
    pages: dict[str, str]
    """Page ids by title."""
    working: int = 0
    seen: set[str] = field(default_factory=set)
    """Revisions that were read during writes."""

    @classmethod
    async def begin(cls, clients: list[Client], organization: OrganizationRef) -> ConcurrentClients:
        space = await clients[0](spaces.Create(at=organization, title="Together"))
        concurrent = cls(clients, space.ref, {})
        empty = (await clients[0](content.ListPages(at=space.ref))).pages[0]
        await concurrent.publish(clients[0], content.DeletePage(page=empty.id))
        for side in SIDES:
            pages = [insert("first", title=f"{side}-{number}") for number in range(len(clients))]
            await concurrent.publish(clients[0], *pages)
        tree = await clients[0](content.ListPages(at=space.ref))
        concurrent.pages = {page.title: page.id for page in tree.pages}
        return concurrent

    async def publish(self, client: Client, *changes: content.ContentEdit) -> None:
        """Merge a change request with these changes."""
        made = await client(change_requests.Create(at=self.space))
        await client(content.Edit(at=made.ref(self.space), changes=changes, compat=False))
        await client(change_requests.Merge(at=made.ref(self.space)))

    def edits_of(self, number: int, texts: str) -> list[content.ContentEdit]:
        """Return the edit of both pages of a client."""
        return [update(self.pages[f"{side}-{number}"], texts) for side in SIDES]

    async def run_all(self, work: Callable[[int, Client], Awaitable[None]]) -> None:
        """Run the work of each client at the same time, while a quarter of the clients read."""
        self.working = len(self.clients)

        async def work_and_count(number: int, client: Client) -> None:
            try:
                await work(number, client)
            finally:
                self.working -= 1

        async with asyncio.TaskGroup() as group:
            for number, client in enumerate(self.clients[::4]):
                group.create_task(self.read(number, client))
            for number, client in enumerate(self.clients):
                group.create_task(work_and_count(number, client))

    async def read(self, number: int, client: Client) -> None:
        """Read until all clients are done, and once more. Check that each revision is complete."""
        done = False
        while not done:
            done = not self.working
            space = await client(spaces.Get(at=self.space))
            assert space.revision
            revision = RevisionRef(space_id=space.id, revision_id=space.revision)
            trees = [await self.tree(client, at) for at in (self.space, revision)]
            texts = set()
            for side in SIDES:
                title = f"{side}-{number}"
                op = content.GetPage(at=revision, page_id=self.pages[title], format="markdown")
                page = await client(op)
                assert page.document_id == trees[1][title].document_id
                texts.add(page.markdown)
            assert len(texts) == 1
            self.seen.add(space.revision)
            number = (number + 1) % len(self.clients)

    async def tree(self, client: Client, at: ContentRef) -> dict[str, Page]:
        """Return the pages by title. Check that all pages exist, and that both pages of a client are from the same edit."""
        pages = {page.title: page for page in (await client(content.ListPages(at=at))).pages}
        assert {title: page.id for title, page in pages.items()} == self.pages
        for number in range(len(self.clients)):
            left, right = (pages[f"{side}-{number}"] for side in SIDES)
            assert left.document_id == right.document_id
        return pages

    async def texts(self, at: ContentRef) -> list[str]:
        """Return the texts of the pages of each client."""
        found = []
        for number, client in enumerate(self.clients):
            ops = [content.GetPage(at=at, page_id=self.pages[f"{side}-{number}"], format="markdown") for side in SIDES]
            left, right = [(await client(op)).markdown for op in ops]
            assert left == right
            found.append((left or "").strip())
        return found


async def check_nothing_is_lost(concurrent: ConcurrentClients) -> None:
    """Let all clients write to the same places, and check that all writes are kept."""
    first, space, many = concurrent.clients[0], concurrent.space, len(concurrent.clients)
    shared = await first(comments.Create(at=space, body=Markdown(markdown="A thread of all")))
    draft = (await first(change_requests.Create(at=space))).ref(space)
    fields = [{"title": "Renamed"}, {"emoji": "🎉"}, {"edit_mode": "locked"}, {"default_level": "read"}]

    async def work(number: int, client: Client) -> None:
        await client(comments.Create(at=space, body=Markdown(markdown=f"comment {number}")))
        await client(comments.Update(at=space, comment_id=shared.id, added_reactions=(f"{number}",)))
        await client(comments.CreateReply(at=space, comment_id=shared.id, body=Markdown(markdown=f"reply {number}")))
        if number < len(fields):
            await client(spaces.Update.model_validate({"at": space, **fields[number]}))
        await client(content.Edit(at=draft, changes=concurrent.edits_of(number, f"draft {number}"), compat=False))
        for round_ in range(2):
            await concurrent.publish(client, *concurrent.edits_of(number, f"round {round_} of {number}"))

    await concurrent.run_all(work)
    assert len(concurrent.seen) > 1

    listed = first.pages(comments.List(at=space))
    said = [each.body.markdown or "" async for page in listed for each in page.items]
    assert sorted(said) == sorted(["A thread of all", *(f"comment {number}" for number in range(many))])
    replies = first.pages(comments.ListReplies(at=space, comment_id=shared.id))
    assert {each.body.markdown async for page in replies for each in page.items} == {
        f"reply {number}" for number in range(many)
    }
    thread = await first(comments.Get(at=space, comment_id=shared.id))
    assert {each.emoji for each in thread.reactions} == {f"{number}" for number in range(many)}
    assert thread.replies == many
    shown = await first(spaces.Get(at=space))
    assert (shown.title, shown.emoji, shown.edit_mode, shown.default_level) == ("Renamed", "🎉", "locked", "read")
    assert (shown.comments, shown.change_requests) == (many + 1, 4 + 2 * many)
    merged = first.pages(change_requests.List(at=space, status="merged"))
    numbers = {each.number async for page in merged for each in page.items}
    assert numbers == {1, 2, 3, *range(5, 5 + 2 * many)}
    assert await concurrent.texts(space) == [f"round 1 of {number}" for number in range(many)]
    assert await concurrent.texts(draft) == [f"draft {number}" for number in range(many)]


@asynccontextmanager
async def open_clients(*platforms: Platform) -> AsyncIterator[list[Client]]:
    """Yield 32 clients of an administrator, distributed among the platforms."""
    async with AsyncExitStack() as stack:
        clients = []
        for number in range(MANY):
            transport = platforms[number % len(platforms)]
            clients.append(Client("http://octavo.test", SecretStr("key-ada"), transport=transport))
            stack.push_async_callback(clients[-1].aclose)
        yield clients


class RecordedStore:
    """A store that records its statements and the threads that write."""

    def __init__(self, store: Store) -> None:
        self.begun: set[str] = set()
        self.writers: set[int] = set()
        self.outside: list[str] = []
        self._inside = False
        store._db.set_trace_callback(self._record)

    def _record(self, statement: str) -> None:
        word = statement.split(None, 1)[0].upper()
        if word == "BEGIN":
            self.begun.add(statement)
            self._inside = True
        elif word in ("COMMIT", "ROLLBACK"):
            self._inside = False
        elif word in ("INSERT", "UPDATE", "DELETE", "REPLACE"):
            self.writers.add(threading.get_ident())
            if not self._inside:
                self.outside.append(statement)


async def test_concurrent_requests_lose_nothing_and_writes_are_serialized(tmp_path: Path) -> None:
    store = Store(tmp_path / "platform.db")
    platform = Platform(small_context(Clock(), store))
    watched = RecordedStore(store)
    async with open_clients(platform) as clients:
        await check_nothing_is_lost(await ConcurrentClients.begin(clients, ACME))
    assert watched.begun == {"BEGIN IMMEDIATE"}
    assert len(watched.writers) == 1
    assert threading.get_ident() not in watched.writers
    assert watched.outside == []
    platform.close()
    store.close()


async def test_platforms_that_share_a_file_lose_nothing(tmp_path: Path) -> None:
    file = tmp_path / "platform.db"
    first = small_context(Clock(), Store(file))
    contexts = [first, RequestContext(Store(file), now=Clock())]
    platforms = [Platform(context) for context in contexts]
    async with open_clients(*platforms) as clients:
        await check_nothing_is_lost(await ConcurrentClients.begin(clients, ACME))
    for platform in platforms:
        platform.close()
        platform.context.store.close()


@pytest.mark.long
def test_concurrent_clients_over_a_socket_lose_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "README.md").write_text("# Hello\n\nWorld.\n")
    kept = {f"OCTAVO_{name}_DIR": str(tmp_path / name) for name in ("CONFIG", "DATA", "STATE", "CACHE")}
    command = [sys.executable, "-m", "octavo", "serve", "--load", str(folder)]

    async def work(origin: str, key: str) -> None:
        clients = [Client(origin, SecretStr(key)) for _ in range(MANY)]
        await check_nothing_is_lost(await ConcurrentClients.begin(clients, OrganizationRef(organization_id="local")))
        for client in clients:
            await client.aclose()

    with subprocess.Popen(command, env={**os.environ, **kept}, stdout=subprocess.PIPE, text=True) as serving:
        assert serving.stdout is not None
        origin = serving.stdout.readline().split()[-1]
        key_file = Path(serving.stdout.readline().removeprefix("The API key is in ").strip())
        try:
            asyncio.run(work(origin, key_file.read_text().strip()))
        finally:
            serving.send_signal(signal.SIGINT)
            assert serving.wait(120) in (0, 130)
