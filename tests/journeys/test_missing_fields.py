"""Fields that a server omits are optional, or Octavo derives them from the request."""

from __future__ import annotations

from typing import Any

import pytest

from tests.journeys.faulty_server import altered
from tests.journeys.stage import Stage


@pytest.mark.before_release
async def test_space_without_an_organization_belongs_to_the_requested_one(stage: Stage) -> None:
    def remove_organizations(answer: Any) -> None:
        for each in answer["items"]:
            each["organization"] = None

    async with stage.play(over=altered("/v1/orgs/[^/]+/spaces", remove_organizations)) as run:
        await run.see("Harbour API › Welcome", "how deep is the water now")
