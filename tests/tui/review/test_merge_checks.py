"""The checks before a merge predict the result of the merge on the embedded platform."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from pydantic import SecretStr

from octavo.api import change_requests
from octavo.api.content import Change, ContentEdit, DeletePage
from octavo.api.operation import ChangeRequestRef
from octavo.client.client import Client
from octavo.client.responses import Application
from octavo.data.drafts import Drafts
from octavo.data.live import Live
from octavo.data.response_cache import ResponseCache
from octavo.data.state_db import StateDb
from octavo.data.writes.outbox import Outbox
from octavo.documents.page_trees import Json
from octavo.tui.review.merge_checks import Checks, run_checks, why_blocked
from octavo.tui.review.merge_dialog import reverted_pages_phrase
from octavo.tui.widgets.short_texts import InfoRow
from tests.server.refusing_platform import Platform
from tests.server.small_platform import Ask, Clock, small_context
from tests.server.space_editor import SpaceEditor, insert, update

Ids: TypeAlias = dict[str, str]
Work: TypeAlias = Callable[[Ids], list[ContentEdit]]
RunChecks: TypeAlias = Callable[[ChangeRequestRef], Awaitable[Checks]]

PAGES = (
    "# Alpha\n\nOne.\n\nTwo.\n\nThree.\n",
    "# Beta\n\nWords of beta.\n",
    "# Gamma\n\nWords of gamma.\n",
    "# Delta\n\nWords of delta.\n",
)


@pytest.fixture
def platform() -> Iterator[Platform]:
    context = small_context(Clock())
    platform = Platform(context)
    yield platform
    platform.close()
    context.store.close()


@asynccontextmanager
async def connected(platform: Application, folder: Path) -> AsyncIterator[Live]:
    """Yield a `Live` of the user ada for the platform."""
    client = Client("http://octavo.local", SecretStr("key-ada"), transport=platform)
    state = StateDb(folder, "ada@test")
    shelf = ResponseCache(None, "ada@test")
    live = Live(client, shelf, Outbox(client, state, Drafts(state)))
    yield live
    await live.close()
    await live.outbox.close()
    await client.aclose()
    shelf.close()
    state.close()


@pytest.fixture
def run_checks_at(platform: Platform, tmp_path: Path) -> RunChecks:
    async def run_checks_of(at: ChangeRequestRef) -> Checks:
        async with connected(platform, tmp_path) as asked:
            return await run_checks(asked, at)

    return run_checks_of


async def check_and_merge(platform: Platform, run_checks_at: RunChecks, here: Work, there: Work) -> tuple[Checks, str]:
    """Run the checks of a change request and merge it, after the edits `here` in main and `there` in the change
    request. Returns the checks and the result of the merge."""
    editor = await SpaceEditor.open(Ask(platform), *PAGES)
    ids = {page.title: page.id for page in (await editor.tree()).walk()}
    at = await editor.propose(*there(ids))
    await editor.publish(*here(ids))
    known = await run_checks_at(at)
    return known, (await editor.merge(at)).result


DISAGREEMENTS: dict[str, tuple[Work, Work, str]] = {
    "both edit the same words": (
        lambda ids: [update(ids["Beta"], "# Beta\n\nHere.\n")],
        lambda ids: [update(ids["Beta"], "# Beta\n\nThere.\n")],
        "Beta",
    ),
    "both leave a block of math open": (
        lambda ids: [update(ids["Beta"], "# Beta\n\nWords of beta.\n\n$$\n\nx\n")],
        lambda ids: [update(ids["Beta"], "# Beta\n\nWords of beta.\n\n$$\n\ny\n")],
        "Beta",
    ),
    "both rename": (
        lambda ids: [update(ids["Beta"], title="Here")],
        lambda ids: [update(ids["Beta"], title="There")],
        "There",
    ),
    "both set the emoji": (
        lambda ids: [update(ids["Beta"], emoji="1f600")],
        lambda ids: [update(ids["Beta"], emoji="1f680")],
        "Beta",
    ),
    "both set the description": (
        lambda ids: [update(ids["Beta"], description="As it is here")],
        lambda ids: [update(ids["Beta"], description="As it is there")],
        "Beta",
    ),
    "both move": (
        lambda ids: [update(ids["Beta"], into=ids["Gamma"])],
        lambda ids: [update(ids["Beta"], into=ids["Delta"])],
        "Beta",
    ),
    "each below the other": (
        lambda ids: [update(ids["Beta"], into=ids["Gamma"])],
        lambda ids: [update(ids["Gamma"], into=ids["Beta"])],
        "Gamma",
    ),
    "both reorder": (
        lambda ids: [update(ids["Beta"], at=3)],
        lambda ids: [update(ids["Beta"], at=2)],
        "Beta",
    ),
    "deleted here, moved there": (
        lambda ids: [DeletePage(page=ids["Beta"])],
        lambda ids: [update(ids["Beta"], into=ids["Delta"])],
        "Beta",
    ),
    "moved here, deleted there": (
        lambda ids: [update(ids["Beta"], into=ids["Delta"])],
        lambda ids: [DeletePage(page=ids["Beta"])],
        "Beta",
    ),
    "deleted here, edited there": (
        lambda ids: [DeletePage(page=ids["Beta"])],
        lambda ids: [update(ids["Beta"], "# Beta\n\nThere.\n")],
        "Beta",
    ),
    "renamed here, deleted there": (
        lambda ids: [update(ids["Beta"], title="Here")],
        lambda ids: [DeletePage(page=ids["Beta"])],
        "Here",
    ),
    "deleted here, a new page below it there": (
        lambda ids: [DeletePage(page=ids["Beta"])],
        lambda ids: [insert("# New\n\nWords.\n", into=ids["Beta"])],
        "New",
    ),
    "a new page here below one deleted there": (
        lambda ids: [insert("# New\n\nWords.\n", into=ids["Beta"])],
        lambda ids: [DeletePage(page=ids["Beta"])],
        "New",
    ),
}


@pytest.mark.parametrize(("here", "there", "page"), DISAGREEMENTS.values(), ids=DISAGREEMENTS)
async def test_conflicts_of_a_merge_are_predicted(
    platform: Platform, run_checks_at: RunChecks, here: Work, there: Work, page: str
) -> None:
    known, result = await check_and_merge(platform, run_checks_at, here, there)
    assert result == "conflicts"
    assert known.conflicts == (page,)
    assert info_row(known, "conflicts").mark == "bad"


AGREEMENTS: dict[str, tuple[Work, Work]] = {
    "other pages": (
        lambda ids: [update(ids["Beta"], "# Beta\n\nHere.\n")],
        lambda ids: [update(ids["Gamma"], "# Gamma\n\nThere.\n")],
    ),
    "other blocks of a page": (
        lambda ids: [update(ids["Alpha"], PAGES[0].replace("One", "1"))],
        lambda ids: [update(ids["Alpha"], PAGES[0].replace("Three", "3"))],
    ),
    "the next block of a page": (
        lambda ids: [update(ids["Alpha"], PAGES[0].replace("One", "1"))],
        lambda ids: [update(ids["Alpha"], PAGES[0].replace("Two", "2"))],
    ),
    "the same words": (
        lambda ids: [update(ids["Beta"], "# Beta\n\nThe same.\n")],
        lambda ids: [update(ids["Beta"], "# Beta\n\nThe same.\n")],
    ),
    "its name and its emoji": (
        lambda ids: [update(ids["Beta"], emoji="1f600")],
        lambda ids: [update(ids["Beta"], description="There")],
    ),
    "moved and edited": (
        lambda ids: [update(ids["Beta"], into=ids["Gamma"])],
        lambda ids: [update(ids["Beta"], "# Beta\n\nThere.\n")],
    ),
    "deleted on both sides": (
        lambda ids: [DeletePage(page=ids["Beta"])],
        lambda ids: [DeletePage(page=ids["Beta"])],
    ),
    "deleted here, left alone there": (
        lambda ids: [DeletePage(page=ids["Beta"])],
        lambda ids: [update(ids["Gamma"], "# Gamma\n\nThere.\n")],
    ),
}


@pytest.mark.parametrize(("here", "there"), AGREEMENTS.values(), ids=AGREEMENTS)
async def test_clean_merge_has_no_predicted_conflicts(
    platform: Platform, run_checks_at: RunChecks, here: Work, there: Work
) -> None:
    known, result = await check_and_merge(platform, run_checks_at, here, there)
    assert result == "merge"
    assert known.conflicts == ()
    assert info_row(known, "conflicts").mark == "ok"


ALREADY_IN_MAIN: dict[str, tuple[Work, Work, bool]] = {
    "the same words": (*AGREEMENTS["the same words"], True),
    "deleted on both sides": (*AGREEMENTS["deleted on both sides"], True),
    "more on main": (
        lambda ids: [
            update(ids["Alpha"], PAGES[0].replace("One", "1").replace("Three", "3")),
            DeletePage(page=ids["Gamma"]),
        ],
        lambda ids: [update(ids["Alpha"], PAGES[0].replace("One", "1"))],
        True,
    ),
    "more words of a paragraph on main": (
        lambda ids: [update(ids["Beta"], "# Beta\n\nOld words of old beta.\n")],
        lambda ids: [update(ids["Beta"], "# Beta\n\nWords of old beta.\n")],
        True,
    ),
    "moved below the same page": (
        lambda ids: [update(ids["Beta"], into=ids["Gamma"])],
        lambda ids: [update(ids["Beta"], into=ids["Gamma"])],
        True,
    ),
    "moved to the same place": (
        lambda ids: [update(ids["Beta"], at=0)],
        lambda ids: [update(ids["Beta"], at=0)],
        True,
    ),
    "the same title and emoji": (
        lambda ids: [update(ids["Beta"], title="Bee", emoji="1f600")],
        lambda ids: [update(ids["Beta"], title="Bee", emoji="1f600")],
        True,
    ),
    "less on main": (
        lambda ids: [update(ids["Alpha"], PAGES[0].replace("One", "1"))],
        lambda ids: [update(ids["Alpha"], PAGES[0].replace("One", "1").replace("Three", "3"))],
        False,
    ),
    "the same words, and a page moved": (
        lambda ids: [update(ids["Beta"], "# Beta\n\nSame.\n")],
        lambda ids: [update(ids["Beta"], "# Beta\n\nSame.\n"), update(ids["Beta"], at=0)],
        False,
    ),
    "a page of the same text created on both sides": (
        lambda ids: [insert("# New\n\nWords.\n")],
        lambda ids: [insert("# New\n\nWords.\n")],
        False,
    ),
    "a page created": (
        lambda ids: [DeletePage(page=ids["Beta"])],
        lambda ids: [insert("# New\n\nWords.\n")],
        False,
    ),
    "no changes": (lambda ids: [DeletePage(page=ids["Beta"])], lambda ids: [], False),
    "other words": (
        lambda ids: [update(ids["Beta"], "# Beta\n\nHere.\n")],
        lambda ids: [update(ids["Beta"], "# Beta\n\nThere.\n")],
        False,
    ),
}


async def main_content(editor: SpaceEditor) -> list[tuple[str, str]]:
    """Return everything in main: the tree, and the fields and the text of each page."""
    found = [("", await editor.outline())]
    for each in (await editor.tree()).walk():
        page = await editor.page(each.title)
        found.append((f"{page.id} {page.title} {page.emoji} {page.description}", page.markdown or ""))
    return found


@pytest.mark.parametrize(("here", "there", "is_on_main"), ALREADY_IN_MAIN.values(), ids=ALREADY_IN_MAIN)
async def test_change_request_already_in_main_changes_nothing(
    platform: Platform, run_checks_at: RunChecks, here: Work, there: Work, is_on_main: bool
) -> None:
    editor = await SpaceEditor.open(Ask(platform), *PAGES)
    ids = {page.title: page.id for page in (await editor.tree()).walk()}
    at = await editor.propose(*there(ids))
    await editor.publish(*here(ids))
    known, before = await run_checks_at(at), await main_content(editor)
    assert known.is_on_main is is_on_main
    if known.is_on_main:
        assert not known.conflicts
        assert info_row(known, "conflicts").text == "none: main already has the same changes"
        assert not [each for each in known.info_rows if each.label == "merged text"]
        await editor.ask(change_requests.UpdateFromMain(at=at))
        updated = await run_checks_at(at)
        assert (updated.changes, updated.is_on_main) == ((), True)
    await editor.merge(at)
    assert (await main_content(editor) == before) is (is_on_main or not known.changes)


def with_other_changes(platform: Platform, change: Json, more: int) -> Any:
    """Return the platform with one more change in each list of changes. The server says that it left out `more`
    changes."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        sent: list[Any] = []

        async def keep(message: Any) -> None:
            sent.append(message)

        await platform(scope, receive, keep)
        start, body = sent[0], b"".join(message.get("body", b"") for message in sent[1:])
        if scope["path"].endswith("/changes"):
            body = json.dumps(
                {"changes": [*json.loads(body)["changes"], *([change] if change else [])], "more": more}
            ).encode()
        headers = [pair for pair in start["headers"] if pair[0] not in (b"content-length", b"etag")]
        await send({**start, "headers": [*headers, (b"content-length", str(len(body)).encode())]})
        await send({"type": "http.response.body", "body": body})

    return app


UNREAD = {"type": "page_edited", "page": {"id": {"not": "an id"}}}
NOT_SHOWN = {"type": "file_edited", "file": {"id": "f", "name": "chart.png"}}


@pytest.mark.parametrize(
    ("change", "more", "info_rows"),
    [
        pytest.param(UNREAD, 0, ["1 change could not be read"], id="unread"),
        pytest.param(NOT_SHOWN, 0, [], id="not shown"),
        pytest.param({}, 3, ["3 changes not listed by the server"], id="not listed"),
    ],
)
@pytest.mark.parametrize("has_changes", [True, False])
async def test_change_request_with_unlisted_changes_is_not_already_in_main(
    platform: Platform, tmp_path: Path, change: Json, more: int, info_rows: list[str], *, has_changes: bool
) -> None:
    editor = await SpaceEditor.open(Ask(platform), *PAGES)
    beta = await editor.id("Beta")
    at = await editor.propose(*([update(beta, "# Beta\n\nSame.\n")] if has_changes else []))
    await editor.publish(update(beta, "# Beta\n\nSame.\n"))
    async with connected(platform, tmp_path) as asked:
        assert (await run_checks(asked, at)).why_no_effect
    async with connected(with_other_changes(platform, change, more), tmp_path) as asked:
        known = await run_checks(asked, at)
        assert not known.is_on_main
        assert not known.why_no_effect
        assert [each.text for each in known.info_rows if each.label == "changes"] == info_rows


async def test_merged_change_request_is_already_merged(platform: Platform, run_checks_at: RunChecks) -> None:
    editor = await SpaceEditor.open(Ask(platform), *PAGES)
    at = await editor.propose(update(await editor.id("Beta"), "# Beta\n\nNew.\n"))
    await editor.merge(at)
    assert why_blocked(await run_checks_at(at)) == "This change request is already merged."


@pytest.mark.parametrize(
    ("pages", "expected"),
    [([], ""), (["a", "a"], "this page"), (["a", "b"], "these 2 pages")],
    ids=["none", "one", "two"],
)
def test_revert_hint_counts_pages_only(pages: list[str], expected: str) -> None:
    changes = [*({"type": "page_edited", "page": {"id": each}} for each in pages), NOT_SHOWN]
    assert reverted_pages_phrase([Change.model_validate(each) for each in changes]) == expected


def info_row(known: Checks, label: str) -> InfoRow:
    return next(each for each in known.info_rows if each.label == label)
