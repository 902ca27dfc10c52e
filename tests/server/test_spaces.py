from __future__ import annotations

import pytest

from octavo.api import collections, content, spaces
from octavo.api.places import CollectionRef, OrganizationRef, SpaceRef
from octavo.api.spaces import CollectionPointer, Position, SpacePointer
from octavo.server.world import World
from tests.server.asking import Ask, Clock, Refusal

ACME = OrganizationRef(organization_id="acme")


async def test_a_space_begins_with_one_empty_page(ask: Ask) -> None:
    space = await ask(spaces.Create(at=ACME, title="Handbook"), "mia")
    assert (space.title, space.visibility, space.emoji) == ("Handbook", "private", "📘")
    tree = await ask(content.ListPages(at=space.ref), "sam")
    assert len(tree.pages) == 1
    page = await ask(content.GetPage(at=space.ref, page_id=tree.pages[0].id, format="markdown"), "sam")
    assert not page.markdown
