"""Pages are reverted to an earlier version, also on servers without an operation for that."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from octavo.api import change_requests, content
from octavo.api.content import ContentEdit, DeletePage, DocumentBody, InsertPage, PageTree, RevertPage, UpdatePage
from octavo.api.operation import RevisionRef, SpaceRef
from octavo.data.live import Live
from octavo.data.writes.content_writes import edit, page_source, restore_pages
from tests.data.connections import RequestGate
from tests.server.refusing_platform import Platform
from tests.server.small_platform import Ask


@pytest.fixture
def user() -> str:
    return "ada"


def page_facts(tree: PageTree) -> list[tuple[str | None, str | None, str | None, list[str]]]:
    return [
        (page.title, page.emoji, page.description, [below.title or "" for below in page.pages]) for page in tree.walk()
    ]


def insert_page(_: PageTree) -> ContentEdit:
    return InsertPage(title="New", document=DocumentBody(markdown="New."))


def edit_page(tree: PageTree) -> ContentEdit:
    last = [*tree.walk()][-1]
    document = DocumentBody(markdown="# Other\n\nOther words.")
    return UpdatePage(page="intro", title="Other", emoji="1f600", document=document, into=last.id)


def delete_page(_: PageTree) -> ContentEdit:
    return DeletePage(page="intro")


@pytest.mark.parametrize("change", [insert_page, edit_page, delete_page])
async def test_revert_without_an_operation_writes_the_earlier_page(
    live: Live,
    gate: RequestGate,
    ask: Ask,
    here: SpaceRef,
    platform: Platform,
    change: Callable[[PageTree], ContentEdit],
) -> None:
    at = (await ask(change_requests.Create(at=here, subject="Say more"))).ref(here)
    before = await ask(content.ListPages(at=at))
    text = await page_source(live, at, "intro")
    start = await ask(change_requests.Get(at=at))
    assert start.base is not None
    written = await edit(live, at, start.revision, (change(before),))
    assert written.kind == "done"
    now = await ask(content.ListPages(at=at))
    assert page_facts(now) != page_facts(before)
    made = next((page.id for page in now.walk() if page.title == "New"), "intro")
    platform.refuse_next(content.Edit, 400, "changes.0.operation must be one of insert_page, update_page, delete_page.")
    outcome = await restore_pages(live, at, written.revision, (RevertPage(page=made, revision=start.base),))
    assert outcome.kind == "done", outcome.message
    after = await ask(content.ListPages(at=at))
    assert page_facts(after) == page_facts(before)
    page = next(
        page for page in after.walk() if page.title == next(each.title for each in before.walk() if each.id == "intro")
    )
    assert text is not None
    again = await page_source(live, at, page.id)
    assert again is not None
    assert again.text == text.text
    assert not live.can_revert_pages, "the next time it is not asked for what it refuses"


async def test_revert_refused_for_another_reason_is_reported(
    live: Live, gate: RequestGate, ask: Ask, here: SpaceRef, platform: Platform
) -> None:
    at = (await ask(change_requests.Create(at=here, subject="Say more"))).ref(here)
    start = await ask(change_requests.Get(at=at))
    assert start.base is not None
    platform.refuse_next(content.Edit, 403, "You may not edit this page.")
    outcome = await restore_pages(live, at, start.revision, (RevertPage(page="intro", revision=start.base),))
    assert outcome.kind == "refused"
    assert "You may not edit this page." in outcome.message
    assert live.can_revert_pages
    assert await page_source(live, RevisionRef(space_id=here.space_id, revision_id=start.base), "intro") is not None
