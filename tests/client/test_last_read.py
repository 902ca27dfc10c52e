"""Responses with unchanged bytes are not parsed again."""

from __future__ import annotations

import gc

from octavo.api import content, spaces
from octavo.api.operation import SPECS
from octavo.client.responses import ParsedResponseCache

SPACE = SPECS[spaces.Get]
BODY = b'{"object": "space", "id": "s", "title": "Handbook"}'


async def test_same_bytes_return_the_same_object() -> None:
    last = ParsedResponseCache()
    first = await last.parse_response(SPACE, "/a", BODY, "host")
    assert first.title == "Handbook"
    assert await last.parse_response(SPACE, "/a", BODY, "host") is first
    assert await last.parse_response(SPACE, "/b", BODY, "host") is not first, "each URL has its own response"


async def test_changed_bytes_are_parsed_again() -> None:
    last = ParsedResponseCache()
    first = await last.parse_response(SPACE, "/a", BODY, "host")
    assert (await last.parse_response(SPACE, "/a", BODY.replace(b"Hand", b"Note"), "host")).title == "Notebook"
    again = await last.parse_response(SPACE, "/a", BODY, "host")
    assert again == first
    assert again is not first


async def test_unreferenced_response_is_not_kept() -> None:
    last = ParsedResponseCache()
    await last.parse_response(SPACE, "/a", BODY, "host")
    gc.collect()
    assert [known() for _, known in last._last.values()] == [None]
    assert (await last.parse_response(SPACE, "/a", BODY, "host")).title == "Handbook"


async def test_same_bytes_of_another_operation_are_parsed_separately() -> None:
    """Markdown for the screen is sanitized, Markdown for editing is not: the two must not be mixed up."""
    page = b'{"object": "page", "type": "document", "id": "p", "title": "Start", "markdown": "a\\u202eb"}'
    last = ParsedResponseCache()
    shown = await last.parse_response(SPECS[content.GetPage], "/a", page, "host")
    written = await last.parse_response(SPECS[content.GetRawPage], "/a", page, "host")
    assert type(written) is not type(shown)
    assert await last.parse_response(SPECS[content.GetPage], "/a", page, "host") is shown
    assert await last.parse_response(SPECS[content.GetRawPage], "/a", page, "host") is written
