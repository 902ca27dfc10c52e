"""Finding and replacing a renamed term on the pages of a space, with the embedded platform and the search index."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from octavo.api import change_requests, content
from octavo.api.content import DocumentBody, UpdatePage
from octavo.api.errors import NotSent
from octavo.api.operation import ChangeRequestRef, Operation, RevisionRef, SpaceRef
from octavo.data.live import Live
from octavo.data.search_index import SearchIndex
from octavo.data.term_search import PageMatches, TermResults, search_term
from octavo.data.writes.content_writes import page_source
from octavo.data.writes.text_edits import PageReplacement, replace_term, revert_term
from octavo.documents.terms import TermChange
from tests.data.connections import RequestGate
from tests.documents.renamed_term import NEW, OLD, RenamedPage, renamed_pages
from tests.server.small_platform import Ask, space_with

RENAME = TermChange(OLD, NEW)


@pytest.fixture
def user() -> str:
    return "ada"


@pytest.fixture
def index() -> Iterator[SearchIndex]:
    index = SearchIndex(None)
    yield index
    index.close()


@dataclass
class Rename:
    """A change request in a space with pages that have the old term."""

    live: Live
    gate: RequestGate
    ask: Ask
    index: SearchIndex
    at: ChangeRequestRef
    pages: dict[str, RenamedPage]

    async def head(self) -> RevisionRef:
        revision = (await self.ask(change_requests.Get(at=self.at))).revision
        assert revision is not None
        return RevisionRef(space_id=self.at.space_id, revision_id=revision)

    async def search(self) -> tuple[TermResults, int]:
        """Search the head of the change request. Return the results and the number of pages that were loaded."""
        before = len(self.loaded_pages())
        results = TermResults()
        async for each in search_term(self.live, self.index, await self.head(), RENAME):
            results = each
        return results, len(self.loaded_pages()) - before

    def loaded_pages(self) -> list[content.GetPage]:
        return [op for op in self.gate.requests if isinstance(op, content.GetPage)]

    async def read_on_main(self, *ids: str) -> None:
        """Read pages of main, which adds them to the index."""
        for page in ids:
            op = content.GetPage(at=SpaceRef(space_id=self.at.space_id), page_id=page, format="markdown")
            self.index.add(op, await self.ask(op))
        self.index.flush()

    async def edit(self, page: str, text: str) -> None:
        """Edit a page of the change request as another user."""
        await self.ask(content.Edit(at=self.at, changes=(UpdatePage(page=page, document=DocumentBody(markdown=text)),)))

    async def text(self, page: str) -> str:
        raw = await page_source(self.live, self.at, page)
        assert raw is not None
        return raw.text


@pytest.fixture
def page_count() -> int:
    """Return the number of pages of the space."""
    return 40


in_many_pages = pytest.mark.parametrize("page_count", [140, pytest.param(400, marks=pytest.mark.long)])


@pytest.fixture
async def rename(page_count: int, live: Live, gate: RequestGate, ask: Ask, index: SearchIndex) -> Rename:
    pages = {f"page-{number}": page for number, page in enumerate(renamed_pages(seed=2, count=page_count))}
    space = await space_with(ask, **{name: page.source for name, page in pages.items()})
    at = (await ask(change_requests.Create(at=space.ref, subject="Rename"))).ref(space.ref)
    return Rename(live, gate, ask, index, at, pages)


def replacements(pages: tuple[PageMatches, ...]) -> list[PageReplacement]:
    return [PageReplacement(each.page.id, each.page.title, each.text, each.matches) for each in pages]


def share(results: TermResults, pages: dict[str, RenamedPage]) -> tuple[float, float]:
    """Return the recall and the precision of the results."""
    expected = {(name, place.start, place.end) for name, page in pages.items() for place in page.places}
    found = {(each.page.id, match.start, match.end) for each in results.pages for match in each.matches}
    return len(found & expected) / len(expected), len(found & expected) / len(found)


@in_many_pages
async def test_rename_in_many_pages_is_found_without_an_index(rename: Rename) -> None:
    count = len(rename.pages)
    results, loaded = await rename.search()
    assert (results.searched_count, results.page_count, loaded) == (count, count, count)
    recall, precision = share(results, rename.pages)
    assert min(recall, precision) >= 0.99


@pytest.mark.before_release
@in_many_pages
async def test_index_saves_reading_the_pages_without_the_words(rename: Rename) -> None:
    await rename.read_on_main(*rename.pages)
    results, loaded = await rename.search()
    assert (results.searched_count, results.page_count) == (len(rename.pages), len(rename.pages))
    recall, precision = share(results, rename.pages)
    assert min(recall, precision) >= 0.99
    with_words = [page for page in rename.pages.values() if "tide" in page.source.lower()]
    assert len(results.pages) <= loaded <= len(with_words) < len(rename.pages)


async def test_pages_that_the_index_does_not_have_are_read(rename: Rename) -> None:
    await rename.read_on_main(*list(rename.pages)[:10])
    results, _ = await rename.search()
    assert min(share(results, rename.pages)) >= 0.99


async def test_page_that_the_change_request_edits_is_read_again(rename: Rename) -> None:
    await rename.read_on_main(*rename.pages)
    page = next(name for name, page in rename.pages.items() if not page.places)
    await rename.edit(page, "Now it has a tide table.")
    results, _ = await rename.search()
    assert [len(each.matches) for each in results.pages if each.page.id == page] == [1]


async def test_pages_that_cannot_be_loaded_are_not_counted_as_searched(rename: Rename) -> None:
    lost = {f"page-{number}" for number in range(10)}
    send = rename.live.send

    async def send_some(op: Operation[object]) -> object:
        if isinstance(op, content.GetPage) and op.page_id in lost:
            raise NotSent("offline")
        return await send(op)

    rename.live.send = send_some  # type: ignore[assignment]  # A connection that loses some requests.
    results, _ = await rename.search()
    assert (results.searched_count, results.page_count) == (len(rename.pages) - len(lost), len(rename.pages))
    assert "offline" in results.failure


@in_many_pages
async def test_replacing_all_matches_renames_every_page_and_undo_restores_them(rename: Rename) -> None:
    results, _ = await rename.search()
    sent = await replace_term(rename.live, rename.at, RENAME, replacements(results.pages))
    assert sent.kind == "done"
    assert sent.result is not None
    assert not sent.result.refused
    head = await rename.head()
    for name, page in rename.pages.items():
        raw = await page_source(rename.live, head, name)
        assert raw is not None
        assert raw.text == page.renamed, f"{name} must have the new term and no other change"
    edits = [op for op in rename.gate.requests if isinstance(op, content.Edit)]
    assert len(edits) == -(-len(results.pages) // 50)
    undone = await revert_term(rename.live, rename.at, sent.result)
    assert undone.kind == "done"
    assert [await rename.text(name) for name in list(rename.pages)[:20]] == [
        page.source for page in list(rename.pages.values())[:20]
    ]


async def test_page_that_was_edited_after_the_search_is_refused_and_named(rename: Rename) -> None:
    results, _ = await rename.search()
    moved, other = results.pages[0], results.pages[1]
    await rename.edit(moved.page.id, moved.text + "\nMore.")
    sent = await replace_term(rename.live, rename.at, RENAME, replacements((moved, other)))
    assert sent.result is not None
    assert sent.result.refused == {moved.page.id: "was edited in the meantime"}
    assert list(sent.result.written) == [other.page.id]
    assert await rename.text(moved.page.id) == moved.text + "\nMore."
    assert await rename.text(other.page.id) == rename.pages[other.page.id].renamed


async def test_undo_leaves_a_page_that_was_edited_afterward(rename: Rename) -> None:
    results, _ = await rename.search()
    sent = await replace_term(rename.live, rename.at, RENAME, replacements(results.pages[:2]))
    assert sent.result is not None
    first, second = (each.page for each in results.pages[:2])
    await rename.edit(first.id, "Rewritten.")
    undone = await revert_term(rename.live, rename.at, sent.result)
    assert undone.result is not None
    assert undone.result.refused == {first.id: "was edited in the meantime"}
    assert await rename.text(first.id) == "Rewritten."
    assert await rename.text(second.id) == rename.pages[second.id].source


async def test_edit_of_someone_else_during_the_replacement_is_kept(rename: Rename) -> None:
    results, _ = await rename.search()
    page = results.pages[0]
    waiting = [f"{page.text}\n\nA new last line.\n"]

    async def send(op: Operation[object]) -> object:
        if isinstance(op, content.Edit) and waiting:
            await rename.edit(page.page.id, waiting.pop())
        return await rename.gate(op)

    rename.live.send = send  # type: ignore[assignment]  # Another user saves at the same moment.
    sent = await replace_term(rename.live, rename.at, RENAME, replacements((page,)))
    assert sent.kind == "done"
    text = await rename.text(page.page.id)
    assert "A new last line." in text
    assert NEW in text.lower()


async def test_merged_change_request_is_refused(rename: Rename) -> None:
    results, _ = await rename.search()
    await rename.ask(change_requests.Update(at=rename.at, status="archived"))
    sent = await replace_term(rename.live, rename.at, RENAME, replacements(results.pages[:1]))
    assert sent.kind == "refused"
    assert sent.message == "the change request is now archived."
