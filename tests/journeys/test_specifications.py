"""Interfaces that old blocks say the address of: filed in the organization, a file of the space, or not read."""

from __future__ import annotations

import pytest

from octavo.api.places import OrganizationRef
from octavo.documents import links
from octavo.tui import specifications
from octavo.tui.screens.content import ContentScreen
from tests.journeys.stage import Stage


@pytest.mark.parametrize(
    ("named", "is_address"), [("pets", False), ("../.gitbook/assets/a.json", True), ("https://a.example/b", True)]
)
def test_a_name_is_no_address(named: str, is_address: bool) -> None:
    assert specifications.is_address(named) is is_address


async def test_an_address_is_read_from_what_is_filed_or_a_file_and_strangers_are_not_asked(stage: Stage) -> None:
    async with stage.play() as run:
        session, screen = run.app.session, run.app.screen
        assert isinstance(screen, ContentScreen)
        space = screen.space
        assert space is not None
        at = OrganizationRef(organization_id=space.organization)
        strange = "https://raw.example/petstore.json"
        found = await specifications.at_address(session, at, strange, space.ref, links.ToUrl(strange, "raw.example"))
        assert found.trouble.startswith(f"It is described in {strange}, which is not filed in this organization")
        picture = links.ToFile("", "surge.svg")
        found = await specifications.at_address(session, at, "assets/surge.svg", space.ref, picture)
        assert found.trouble == "The file surge.svg that describes it is no JSON: it is not read."
        gone = links.ToFile("", "none.json")
        found = await specifications.at_address(session, at, "assets/none.json", space.ref, gone)
        assert found.trouble == "The file none.json that describes it is gone."
