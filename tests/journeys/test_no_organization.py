"""If no organization can be loaded, no view claims to be empty."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from octavo.api import change_requests, organizations, spaces
from octavo.api.operation import OrganizationRef
from tests.journeys.faulty_server import serving
from tests.journeys.stage import CONNECTED, MARA, Run, Stage
from tests.server.refusing_platform import Platform

TEXTS_OF_EMPTY_VIEWS = (
    "Nothing needs your attention",
    "You do not have access to any",
    "No open change requests",
    "No open threads",
    "No sites.",
    "No members.",
)


def with_response(platform: Platform, path: str, status: int, answer: Any) -> Any:
    """Return the platform with a fixed response to requests whose path ends with `path`."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["path"].endswith(path):
            body = json.dumps(answer).encode()
            headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": body})
        else:
            await platform(scope, receive, send)

    return app


async def check_all_views(run: Run, said: str, *, is_live: bool = True) -> None:
    for view in "123456":
        await run.press(view)
        await run.see(said)
        assert [words for words in TEXTS_OF_EMPTY_VIEWS if words in run.text] == []
        assert is_live == bool(CONNECTED.search(run.lines[0]))


@pytest.mark.before_release
@pytest.mark.parametrize(
    ("status", "answer", "said"),
    [
        (403, {"error": {"code": 403, "message": "It is Sunday."}}, "Could not load your"),
        pytest.param(200, {"items": "none"}, "Could not load your", marks=pytest.mark.long),
        pytest.param(200, {"items": [{"id": 5}]}, "Could not read your", marks=pytest.mark.long),
        (200, {"items": []}, "You are not a member"),
    ],
)
async def test_no_view_claims_to_be_empty_without_an_organization(
    stage: Stage, status: int, answer: Any, said: str
) -> None:
    @asynccontextmanager
    async def over(platform: Platform) -> AsyncIterator[str]:
        async with serving(with_response(platform, "/v1/orgs", status, answer)) as origin:
            yield origin

    async with stage.play(over=over, start="inbox") as run:
        await check_all_views(run, f"✗ {said}", is_live="Could not load" not in said)
        if status == 403:
            assert "It is Sunday." in run.text
            await run.see("○ not allowed")
            assert "server error" not in run.text


@pytest.mark.before_release
async def test_views_and_menu_say_that_the_organizations_are_loading(stage: Stage) -> None:
    async with stage.play(start="inbox", shut=True) as run:
        for key, name in zip("123456", ("Inbox", "Content", "Changes", "Comments", "Sites", "Admin"), strict=True):
            await run.press(key)
            assert run.lines[-2].strip().startswith(name)
            assert "·  ·" not in run.lines[-2]
        await run.press("ctrl+o")
        await run.see("Loading organizations…")


@pytest.mark.before_release
async def test_left_organization_disappears_and_views_can_be_refreshed(stage: Stage) -> None:
    async with stage.play(start="inbox") as run:
        known = run.app.workspace.organizations.value
        assert known is not None
        for number, organization in enumerate(known.items, 1):
            at = OrganizationRef(organization_id=organization.id)
            await run.ask(organizations.DeleteMember(at=at, user_id=MARA), MARA)
            await run.press(":", *"refresh all", "enter")
            rest = [each.title for each in known.items[number:]]
            await run.until(lambda rest=rest: titles(run) == rest)  # type: ignore[misc]  # The lambda binds the current value.
            assert (run.app.workspace.organization is None) == (not rest)
        assert "comments" not in run.app.workspace.attention_counts, (
            "threads of the left organization must not be counted"
        )
        await check_all_views(run, "✗ You are not a member")


@pytest.mark.before_release
async def test_combined_list_reports_lists_that_failed(stage: Stage) -> None:
    def refuse(platform: Platform) -> None:
        platform.refuse_next(spaces.List, 403, "Spaces are counted today.", times=9)
        platform.refuse_next(change_requests.ListOfOrganization, 403, "They are being sorted.", times=99)

    async with stage.play(start="comments", change=refuse) as run:
        await run.see("Could not load some threads", "Spaces are counted today. (and 2 more errors)")
        assert "No open threads" not in run.text
        await run.press("s", *"zzz")
        await run.see("Could not search all content")
        assert "No results for" not in run.text


def titles(run: Run) -> list[str]:
    value = run.app.workspace.organizations.value
    return [each.title for each in value.items] if value is not None else []


@pytest.mark.before_release
@pytest.mark.parametrize("view", ["5", "6"])
async def test_keys_of_a_table_work_without_an_organization(stage: Stage, view: str) -> None:
    @asynccontextmanager
    async def over(platform: Platform) -> AsyncIterator[str]:
        async with serving(
            with_response(platform, "/v1/orgs", 403, {"error": {"code": 403, "message": "It is Sunday."}})
        ) as at:
            yield at

    async with stage.play(over=over, start="inbox") as run:
        await run.press(view)
        await run.see("✗ Could not load your organizations")
        for key in (*"jkgGxv*[]SFXeayYJK b/z", "enter", "ctrl+n", "ctrl+e", "space", "tab"):
            await run.press(key if key != " " else "space", "escape")
        await run.press(view)
        await run.see("✗ Could not load your organizations")
