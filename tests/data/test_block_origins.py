"""Who wrote each block of a page: the revisions that are followed, and the requests that are sent."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest

from octavo.api import change_requests, content, reviews, spaces
from octavo.api.errors import ApiError, NotSent
from octavo.api.operation import Operation
from octavo.api.wire import encode
from octavo.client.client import Client
from octavo.data.block_origins import REVISIONS_PER_BATCH, ContentVersion, PageBlame, load_people
from octavo.data.live import Live
from octavo.data.response_cache import ResponseCache
from tests.data.conftest import ManualOutbox
from tests.data.connections import RequestGate
from tests.data.edit_history import AuthoredBlock, EditHistory, markdown
from tests.server.refusing_platform import Platform
from tests.server.small_platform import Ask, Clock, space_with

PAGES = ("intro", "usage", "fees", "rules")


async def load_all(blame: PageBlame) -> PageBlame:
    """Check all revisions. Return `blame`."""
    while blame.has_older:
        async for _ in blame.load():
            pass
    return blame


@pytest.fixture
async def history(ask: Ask) -> EditHistory:
    """A space with four pages of eight blocks, written by ada outside of change requests."""
    history = EditHistory(ask, {page: page.title() for page in PAGES})
    kinds = ("paragraph", "heading", "paragraph", "item", "item", "row", "row", "code")
    history.pages = {page: [AuthoredBlock(kind, history.sentence()) for kind in kinds] for page in PAGES}
    texts = {page: markdown(page.title(), blocks) for page, blocks in history.pages.items()}
    history.at = (await space_with(ask, **texts)).ref
    return history


async def edited_by_many(history: EditHistory) -> None:
    """Edit, move, split, rename and merge in 30 change requests of three writers."""
    for number in range(20):
        page, other = PAGES[number % 4], PAGES[(number + 1) % 4]
        edits = [history.edit(page), history.add(page, ("paragraph", "item", "row", "heading")[number % 4])]
        if number % 3 == 0:
            edits += [history.add_two_sentences(other), history.delete(page)]
        await history.change(("ada", "mia", "jun")[number % 3], *edits)
    await history.change("mia", history.split("intro"), history.edit("intro"))
    await history.change("jun", history.split("usage"), history.add("usage"))
    await history.change("ada", history.move("intro", "intro"), history.move("usage", "usage"))
    await history.change("mia", history.move("fees", "rules"), history.add("rules"))
    await history.change("jun", history.move("rules", "intro"), history.move("usage", "fees"))
    history.titles["fees"] = "Harbour fees"
    await history.change("ada", history.edit("fees"))
    # Two change requests from the same revision, merged in the other order.
    first, second = await history.open_request("mia"), await history.open_request("jun")
    for change_request, writer, page in ((first, "mia", "usage"), (second, "jun", "rules")):
        template = AuthoredBlock("paragraph", "", writer, change_request.number)
        for edit in (history.edit(page), history.add(page), history.edit(page)):
            edit(history.pages, template)
        await history.send(change_request, writer, {page: history.pages[page]})
    await history.merge(second)
    await history.merge(first)
    await history.change("ada", history.edit("rules"), history.move("rules", "rules"))


def _version(blame: PageBlame, key: str) -> ContentVersion:
    origin = blame.origin(key)
    assert origin is not None, f"the origin of {key} must be known"
    return origin.version


def _origins(blame: PageBlame) -> dict[str, tuple[str, int]]:
    """Return the writer and the number of the change request of each block, by its text. Ada wrote without change
    request."""
    found = {}
    for block in blame.blocks:
        request = _version(blame, block.key).change_request
        creator = request.created_by.id if request is not None and request.created_by is not None else "ada"
        text = block.children[0].plain() if block.kind == "row" else block.plain()
        found[text] = (creator, request.number if request is not None else 0)
    return found


async def test_known_history_has_right_writers(history: EditHistory, live: Live) -> None:
    await edited_by_many(history)
    right, wrong = 0, []
    for page in PAGES:
        found = _origins(await load_all(PageBlame(live, history.at, page)))
        for block in history.pages[page]:
            if found[block.text] == (block.writer, block.number):
                right += 1
            else:
                wrong.append((page, block, found[block.text]))
    assert right + len(wrong) >= 50
    assert len(wrong) * 25 <= right + len(wrong), wrong  # at least 48 of 50


async def test_kept_revisions_need_three_requests(
    history: EditHistory, live: Live, cache: ResponseCache, gate: RequestGate
) -> None:
    for number in range(12):
        await history.change("mia", history.edit("intro"), history.add(PAGES[number % 4]))
    await load_all(PageBlame(live, history.at, "intro"))
    cache.flush()
    gate.requests.clear()
    blame = await load_all(PageBlame(live, history.at, "intro"))
    request = next(
        origin.version.change_request
        for block in blame.blocks
        if (origin := blame.origin(block.key)) is not None and origin.version.change_request is not None
    )
    people = await load_people(live, history.ref(request), request)
    assert people.editors == ("Mia Lund",)
    assert [type(op) for op in gate.requests] == [spaces.Get, change_requests.ListContributors, reviews.List]


async def test_kept_revisions_are_shown_without_a_connection(
    history: EditHistory, live: Live, cache: ResponseCache, gate: RequestGate
) -> None:
    await history.change("mia", history.add("intro"))
    online = _origins(await load_all(PageBlame(live, history.at, "intro")))
    cache.flush()
    gate.errors.append(NotSent("No connection."))
    assert _origins(await load_all(PageBlame(live, history.at, "intro"))) == online
    assert not gate.errors


@pytest.mark.before_release
async def test_large_space_loads_only_changed_pages(
    ask: Ask, live: Live, cache: ResponseCache, gate: RequestGate
) -> None:
    texts = {f"page{number}": f"# Page{number}\n\nThe words of the page {number}." for number in range(2_000)}
    history = EditHistory(ask, {name: name.title() for name in texts})
    history.at = (await space_with(ask, **texts)).ref
    history.pages = {name: [AuthoredBlock("paragraph", f"The words of the page {name[4:]}.")] for name in texts}
    await history.change("jun", history.add("page7"))
    for number in range(10, 12):
        await history.change("mia", history.add(f"page{number}"))
    gate.requests.clear()
    blame = await load_all(PageBlame(live, history.at, "page7"))
    assert sorted(_origins(blame).values()) == [("ada", 0), ("ada", 0), ("jun", 1)]
    pages = [op for op in gate.requests if isinstance(op, content.GetPage)]
    assert len(pages) == 2, "the page now, and before the change request that edited it"
    cache.flush()
    revision = cache.read_derived(f"revision {history.at.space_id} {pages[0].at.revision_id}")  # type: ignore[union-attr]  # a revision
    assert revision is not None
    assert len(revision) < 5_000, "stored without its pages"


async def test_request_with_60_pages_loads_only_the_page(ask: Ask, live: Live, gate: RequestGate) -> None:
    texts = {f"page{number}": f"# Page{number}\n\nThe words of the page {number}." for number in range(60)}
    history = EditHistory(ask, {name: name.title() for name in texts})
    history.at = (await space_with(ask, **texts)).ref
    history.pages = {name: [AuthoredBlock("paragraph", f"The words of the page {name[4:]}.")] for name in texts}
    change_request = await history.open_request("mia")
    for name in texts:
        history.add(name)(history.pages, AuthoredBlock("paragraph", "", "mia", change_request.number))
    names = list(texts)
    for first in (0, 30):
        some = {name: history.pages[name] for name in names[first : first + 30]}
        await history.send(change_request, "mia", some)
    proposed = await load_all(PageBlame(live, history.ref(change_request), "page7"))
    assert sorted(_origins(proposed).values()) == [("ada", 0), ("ada", 0), ("mia", 1)]
    await history.merge(change_request)
    gate.requests.clear()
    assert sorted(_origins(await load_all(PageBlame(live, history.at, "page7"))).values()) == sorted(
        _origins(proposed).values()
    )
    assert len([op for op in gate.requests if isinstance(op, content.GetPage)]) <= 2


async def test_proposed_blocks_have_the_change_request(history: EditHistory, live: Live) -> None:
    number = await history.change("jun", history.add("intro"))
    change_request = await history.open_request("mia")
    history.add("intro")(history.pages, AuthoredBlock("paragraph", "", "mia", change_request.number))
    await history.send(change_request, "mia", {"intro": history.pages["intro"]})
    blame = await load_all(PageBlame(live, history.ref(change_request), "intro"))
    found = _origins(blame)
    assert {found[block.text] for block in history.pages["intro"]} == {("ada", 0), ("jun", number), ("mia", number + 1)}
    proposed = [block.plain() for block in blame.blocks if _version(blame, block.key).is_proposed]
    assert proposed == [block.text for block in history.pages["intro"] if block.writer == "mia"]


async def test_each_request_may_fail_once(
    history: EditHistory, client: Client, cache: ResponseCache, outbox: ManualOutbox, clock: Clock
) -> None:
    await history.change("mia", history.add("intro"))
    await history.change("jun", history.move("intro", "usage"), history.add("usage"))
    failed: set[str] = set()

    async def fail_first(op: Operation[Any]) -> Any:
        if (url := encode(op).url) not in failed:
            failed.add(url)
            raise NotSent("No connection.")
        return await client(op)

    live = Live(fail_first, cache, outbox, now=clock)
    blame = PageBlame(live, history.at, "usage")
    while blame.has_older:
        with suppress(ApiError):
            async for _ in blame.load():
                pass
    await live.close()
    found = _origins(blame)
    assert {block.text: found[block.text] for block in history.pages["usage"]} == {
        block.text: (block.writer, block.number) for block in history.pages["usage"]
    }
    assert len(failed) > 8


async def test_older_revisions_are_left_for_the_next_call(history: EditHistory, live: Live, clock: Clock) -> None:
    for _ in range(REVISIONS_PER_BATCH + 1):
        clock.forward(hours=1)
        await history.change("mia", history.edit("usage"))
    blame = PageBlame(live, history.at, "intro")
    async for _ in blame.load():
        pass
    assert blame.checked_count == REVISIONS_PER_BATCH
    assert blame.has_older
    assert not blame.is_complete
    assert blame.known_since is not None
    assert clock() - blame.known_since == timedelta(hours=REVISIONS_PER_BATCH - 1)
    assert all(blame.origin(block.key) is None for block in blame.blocks)
    await load_all(blame)
    assert blame.is_complete


async def test_revision_without_access_ends_the_search(history: EditHistory, live: Live, platform: Platform) -> None:
    number = await history.change("mia", history.add("intro"))
    current = (await history.ask(spaces.Get(at=history.at))).revision
    store, revisions = platform.context.store, f"/spaces/{history.at.space_id}/revisions"
    parent = store.get(f"{revisions}/{current}")["parents"][0]
    store.delete(f"{revisions}/{store.get(f'{revisions}/{parent}')['parents'][0]}")
    blame = await load_all(PageBlame(live, history.at, "intro"))
    assert blame.has_no_access
    known = [origin.version.change_request for block in blame.blocks if (origin := blame.origin(block.key)) is not None]
    assert [request.number for request in known if request is not None] == [number]
