"""Direct writes: snapshots during the write, after a refusal and after a lost response."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from octavo.api import change_requests, comments, content, spaces
from octavo.api.bodies import Markdown
from octavo.api.errors import Forbidden, Lost, NotSent
from octavo.api.operation import ChangeRequestRef, Operation, OrganizationRef, SpaceRef
from octavo.data.live import Live, affected_path
from tests.data.background_requests import wait_idle
from tests.data.connections import RequestGate
from tests.data.snapshot_watcher import SnapshotWatcher
from tests.server.refusing_platform import Platform


def rename_space(title: str) -> Any:
    return lambda space: space.model_copy(update={"title": title})


@pytest.fixture
def user() -> str:
    return "ada"


async def test_edit_is_shown_at_once_and_then_the_response(live: Live, gate: RequestGate, here: SpaceRef) -> None:
    screen = SnapshotWatcher()
    live.watch(spaces.Get(at=here), screen)
    await wait_idle(live)
    gate.hold()
    writing = asyncio.create_task(
        live.write(spaces.Update(at=here, title="New"), (spaces.Get(at=here), rename_space("Ahead")))
    )
    await asyncio.sleep(0)
    assert (screen.now.value.title, screen.now.pending_count) == ("Ahead", 1)
    gate.release()
    assert (await writing).title == "New"
    await wait_idle(live)
    assert (screen.now.value.title, screen.now.pending_count) == ("New", 0)
    assert "Handbook" not in [each.value.title for each in screen.seen[2:]], "Nothing flickers in between"


async def test_refused_edit_is_reverted(live: Live, platform: Platform, here: SpaceRef) -> None:
    screen = SnapshotWatcher()
    live.watch(spaces.Get(at=here), screen)
    await wait_idle(live)
    platform.refuse_next(spaces.Update, 403, "Only administrators may rename a space.")
    with pytest.raises(Forbidden, match="Only administrators"):
        await live.write(spaces.Update(at=here, title="New"), (spaces.Get(at=here), rename_space("Ahead")))
    assert [each.value.title for each in screen.seen[-2:]] == ["Ahead", "Handbook"]
    assert screen.now.error is None


async def test_confirmed_edit_stays_while_the_refresh_fails(live: Live, gate: RequestGate, here: SpaceRef) -> None:
    screen = SnapshotWatcher()
    live.watch(spaces.Get(at=here), screen)
    await wait_idle(live)
    gate.hold()
    writing = asyncio.create_task(
        live.write(spaces.Update(at=here, title="New"), (spaces.Get(at=here), rename_space("New")))
    )
    await asyncio.sleep(0)
    gate.errors.append(NotSent("Can't affected_path the server."))
    gate.release()
    await writing
    await wait_idle(live)
    assert (screen.now.value.title, screen.now.pending_count, str(screen.now.error)) == (
        "New",
        0,
        "Can't affected_path the server.",
    )
    await live.refresh(spaces.Get(at=here))
    assert screen.now.value.title == "New"


async def test_lost_response_causes_a_refresh(live: Live, here: SpaceRef, gate: RequestGate) -> None:
    class LosingClient:
        async def __call__(self, op: Operation[Any]) -> Any:
            answer = await gate(op)
            if isinstance(op, spaces.Update):
                raise Lost("The connection broke.")
            return answer

    screen = SnapshotWatcher()
    live.send = LosingClient()
    live.watch(spaces.Get(at=here), screen)
    await wait_idle(live)
    with pytest.raises(Lost):
        await live.write(spaces.Update(at=here, title="New"))
    await wait_idle(live)
    assert screen.now.value.title == "New"


async def test_canceled_write_causes_a_refresh(live: Live, here: SpaceRef, gate: RequestGate) -> None:
    arrived = asyncio.Event()

    async def send(op: Operation[Any]) -> Any:
        answer = await gate(op)
        if isinstance(op, spaces.Update):
            arrived.set()
            await asyncio.Event().wait()
        return answer

    screen = SnapshotWatcher()
    live.send = send
    live.watch(spaces.Get(at=here), screen)
    await wait_idle(live)
    writing = asyncio.create_task(live.write(spaces.Update(at=here, title="New")))
    await arrived.wait()
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    await wait_idle(live)
    assert screen.now.value.title == "New"


async def test_lists_that_show_the_change_are_refreshed(live: Live, here: SpaceRef) -> None:
    screen = SnapshotWatcher()
    live.watch(spaces.List(at=OrganizationRef(organization_id="acme")), screen)
    await wait_idle(live)
    await live.write(spaces.Update(at=here, title="New"))
    await wait_idle(live)
    assert [each.title for each in screen.now.value.items] == ["New"]


def test_write_invalidates_responses_of_its_target() -> None:
    space = SpaceRef(space_id="s")
    request = ChangeRequestRef(space_id="s", change_request_id="c")
    reaches: dict[str, Operation[Any]] = {
        "/v1/spaces/s": change_requests.Merge(at=request),
        "/v1/spaces/s/change-requests/c": change_requests.UpdateFromMain(at=request),
        "/v1/spaces/s/change-requests": change_requests.Create(at=space),
        "/v1/spaces/s/comments": comments.Create(at=space, body=Markdown(markdown="Hello")),
    }
    assert {path: affected_path(op) for path, op in reaches.items()} == {path: path for path in reaches}
    edit = content.Edit(at=request, changes=(content.DeletePage(page="p"),))
    assert affected_path(edit) == "/v1/spaces/s/change-requests/c"
    assert affected_path(spaces.Restore(at=space)) == "/v1/spaces/s"
