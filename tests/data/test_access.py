"""What the server and the plan allow."""

from __future__ import annotations

from typing import Any

import pytest

from octavo.api import comments, content, fonts, links, sites, spaces
from octavo.api.errors import ApiError
from octavo.api.operation import Operation, SpaceRef
from octavo.data.live import Live
from tests.data.connections import RequestGate
from tests.server.refusing_platform import Platform
from tests.server.small_platform import ACME

NO_ROUTE = "Cannot GET that."


async def send_and_fail(live: Live, op: Operation[Any]) -> None:
    with pytest.raises(ApiError):
        await live.send(op)


@pytest.mark.parametrize("status", [405, 501])
async def test_status_for_an_unknown_route_marks_the_operation_unavailable(
    live: Live, platform: Platform, status: int
) -> None:
    platform.refuse_next(sites.List, status, NO_ROUTE)
    assert live.availability.why_unavailable(sites.List) is None
    await send_and_fail(live, sites.List(at=ACME))
    said = (
        f"This server does not support this operation: it returned {status} for GET /v1/orgs/{{organizationId}}/sites."
    )
    assert live.availability.why_unavailable(sites.List(at=ACME, published=True)) == said
    assert live.availability.why_unavailable(sites.List) == said
    assert live.availability.why_unavailable(sites.Create) is None, "each operation by itself"


async def test_list_not_found_in_an_existing_space_is_unavailable(
    live: Live, platform: Platform, here: SpaceRef
) -> None:
    op = links.ListOfSpace(at=here)
    platform.refuse_next(links.ListOfSpace, 404, NO_ROUTE)
    await send_and_fail(live, op)
    assert live.availability.why_unavailable(op) == (
        "This server does not support this operation: it returned 404 for GET /v1/spaces/{spaceId}/links."
    )
    assert live.availability.why_unavailable(links.ListOfPage(at=here, page_id="intro")) is None
    platform.refuse_next(links.ListToPage, 404, NO_ROUTE)
    await send_and_fail(live, links.ListToPage(at=here, page_id="intro"))
    assert live.availability.why_unavailable(links.ListToPage) is not None, "the page it is about is there"


async def test_missing_space_says_nothing_about_the_operation(live: Live, here: SpaceRef) -> None:
    gone = SpaceRef(space_id="gone")
    for op in (
        links.ListOfSpace(at=gone),
        links.ListToPage(at=here, page_id="gone"),
        comments.List(at=gone),
        spaces.Get(at=gone),
        content.GetPage(at=here, page_id="gone"),
    ):
        await send_and_fail(live, op)
        assert live.availability.why_unavailable(op) is None, f"{op} is there for others"


async def test_only_refused_operations_are_investigated(
    live: Live, gate: RequestGate, platform: Platform, here: SpaceRef
) -> None:
    before = len(gate.requests)
    await live.send(links.ListOfSpace(at=here))
    assert len(gate.requests) == before + 1
    platform.refuse_next(spaces.Get, 404, NO_ROUTE)
    await send_and_fail(live, spaces.Get(at=here))
    assert len(gate.requests) == before + 2, "a thing that is not found may just not be there"
    platform.refuse_next(links.ListOfSpace, 503, "Later.", times=9)
    await send_and_fail(live, links.ListOfSpace(at=here))
    assert live.availability.why_unavailable(links.ListOfSpace) is None


async def test_operation_outside_the_plan_is_unavailable_at_that_path_only(live: Live, platform: Platform) -> None:
    platform.refuse_next(fonts.List, 402, "Custom fonts take the plan pro.")
    await send_and_fail(live, fonts.List(at=ACME))
    north = ACME.model_copy(update={"organization_id": "north"})
    said = live.availability.why_unavailable(fonts.List(at=ACME))
    assert said is not None
    assert said.startswith("Your plan does not include this feature: ")
    assert "Custom fonts take the plan pro." in said
    assert live.availability.why_unavailable(fonts.List(at=north)) is None


async def test_successful_response_makes_the_operation_available(live: Live, platform: Platform) -> None:
    platform.refuse_next(sites.List, 501, NO_ROUTE)
    await send_and_fail(live, sites.List(at=ACME))
    assert live.availability.why_unavailable(sites.List)
    await live.send(sites.List(at=ACME))
    assert live.availability.why_unavailable(sites.List) is None
