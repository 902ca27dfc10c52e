"""OpenAPI specifications are stored, fetched, read and versioned. Failures are reported."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from octavo.api import openapi
from octavo.api.openapi import OpenApiSpec, Source
from octavo.documents.openapi import SpecificationError, read_specification
from octavo.server.app import fail_unfinished_specs
from octavo.server.rest import RequestContext
from tests.server.refusing_platform import Platform
from tests.server.small_platform import ACME, Ask, check_refused
from tests.server.web_server import WebServer, run_web_server

PETS = {"openapi": "3.1.0", "info": {"title": "Pets", "version": "1"}, "paths": {"/pets": {}}}
YAML = """
openapi: 3.0.3
info: {title: Pets, version: 2024-01-01}
paths:
  /pets:
    get:
      responses:
        200: {description: All of them}
"""


@pytest.fixture
def web() -> Iterator[WebServer]:
    with run_web_server() as web:
        yield web


@pytest.fixture
def local_ask(platform: Platform, ask: Ask) -> Ask:
    """Return requests to a platform that may fetch from this machine."""
    platform.context = replace(platform.context, allows_private_imports=True)
    return ask


async def _get(ask: Ask, slug: str = "pets") -> OpenApiSpec:
    return await ask(openapi.Get(at=ACME, spec_slug=slug))


async def test_specification_as_text_is_processed_after_the_response(ask: Ask) -> None:
    made = await ask(openapi.Create(at=ACME, slug="pets", source=Source(text=json.dumps(PETS))))
    assert (made.slug, made.processing_state, made.visibility, made.source_url) == ("pets", "pending", "private", None)
    assert made.permissions.edit
    found = await _get(ask)
    assert (found.processing_state, found.last_process_error_code, found.last_processed_errors) == (
        "complete",
        None,
        (),
    )
    assert found.last_version is not None
    latest = await ask(openapi.GetLatestVersion(at=ACME, spec_slug="pets"))
    assert latest.id == found.last_version
    kept = await ask(openapi.GetLatestContent(at=ACME, spec_slug="pets"))
    assert kept.filesystem == {"pets.json": PETS}
    assert (await ask.http("GET", kept.url)).json() == PETS


async def test_byte_order_mark_of_a_specification_is_ignored(local_ask: Ask, web: WebServer) -> None:
    text = f"\ufeff{json.dumps(PETS)}"
    for source in (Source(text=text), Source(url=web.put("/pets.json", text, "application/json; charset=utf-8"))):
        await local_ask(openapi.Put(at=ACME, spec_slug="pets", source=source))
        assert (await _get(local_ask)).last_process_error_code is None


async def test_specification_is_fetched_and_refetched(local_ask: Ask, web: WebServer) -> None:
    url = web.put("/pets.yaml", YAML, "application/yaml")
    await local_ask(openapi.Create(at=ACME, slug="pets", source=Source(url=url)))
    first = await _get(local_ask)
    assert (first.source_url, first.processing_state, first.last_process_error_code) == (url, "complete", None)
    kept = await local_ask(openapi.GetLatestContent(at=ACME, spec_slug="pets"))
    assert list(kept.filesystem["pets.json"]["paths"]["/pets"]["get"]["responses"]) == ["200"]
    web.put("/pets.yaml", json.dumps(PETS), "application/json")
    again = await local_ask(openapi.Put(at=ACME, spec_slug="pets", source=Source(url=url)))
    assert (again.id, again.processing_state, again.last_version) == (first.id, "pending", first.last_version)
    versions = (await local_ask(openapi.ListVersions(at=ACME, spec_slug="pets"))).items
    assert [each.id for each in versions] == [first.last_version, (await _get(local_ask)).last_version]


async def test_put_creates_a_missing_specification(ask: Ask) -> None:
    made = await ask(openapi.Put(at=ACME, spec_slug="pets", source=Source(text=YAML)))
    assert [each.id for each in (await ask(openapi.List(at=ACME))).items] == [made.id]


async def test_failed_update_is_reported_and_keeps_the_last_version(local_ask: Ask, web: WebServer) -> None:
    await local_ask(openapi.Create(at=ACME, slug="pets", source=Source(text=YAML)))
    good = await _get(local_ask)
    url = f"{web.origin}/nothing"
    await local_ask(openapi.Put(at=ACME, spec_slug="pets", source=Source(url=url)))
    bad = await _get(local_ask)
    assert (bad.processing_state, bad.last_process_error_code, bad.last_version) == (
        "complete",
        "FETCH_ERROR",
        good.last_version,
    )
    assert "responded with status 404" in bad.last_processed_errors[0].message
    web.put("/nothing", "<p>no specification</p>")
    await local_ask(openapi.Put(at=ACME, spec_slug="pets", source=Source(url=url)))
    assert (await _get(local_ask)).last_process_error_code == "PARSE_ERROR"
    await local_ask(openapi.Put(at=ACME, spec_slug="pets", source=Source(text=YAML)))
    mended = await _get(local_ask)
    assert (mended.last_process_error_code, mended.last_processed_errors, mended.source_url) == (None, (), None)


async def test_fetch_from_a_private_network_is_refused(ask: Ask, web: WebServer) -> None:
    url = web.put("/pets.yaml", YAML)
    await ask(openapi.Create(at=ACME, slug="pets", source=Source(url=url)))
    failed = await _get(ask)
    assert failed.last_process_error_code == "FETCH_ERROR"
    assert "private network" in failed.last_processed_errors[0].message
    assert web.requested_paths == []
    assert "latest" in await check_refused(ask(openapi.GetLatestVersion(at=ACME, spec_slug="pets")), 404)
    await check_refused(ask(openapi.GetLatestContent(at=ACME, spec_slug="pets")), 404)


async def test_specification_in_progress_at_shutdown_has_failed(ask: Ask, context: RequestContext) -> None:
    await ask(openapi.Create(at=ACME, slug="pets", source=Source(text=YAML)))
    context.store.update("/orgs/acme/openapi/pets", processingState="progress")
    fail_unfinished_specs(context)
    found = await _get(ask)
    assert (found.processing_state, found.last_process_error_code) == ("complete", "FETCH_TIMEOUT")


async def test_slugs_of_specifications_are_unique_and_valid(ask: Ask) -> None:
    create = openapi.Create(at=ACME, slug="pets", source=Source(text=YAML))
    await ask(create)
    assert "already" in await check_refused(ask(create), 400)
    await ask.http("POST", "/v1/orgs/acme/openapi", json={"slug": "Pets--", "source": {"text": "x"}})
    assert ask.last.status_code == 400
    for source in ({}, {"url": "https://a.example", "text": "x"}, {"url": "ftp://a.example"}, {"text": ""}):
        await ask.http("PUT", "/v1/orgs/acme/openapi/pets", json={"source": source})
        assert ask.last.status_code == 400, source
        assert "source" in ask.last.json()["error"]["message"]


async def test_specifications_are_made_public_and_deleted(ask: Ask) -> None:
    await ask(openapi.Create(at=ACME, slug="pets", source=Source(text=YAML)))
    changed = await ask(openapi.Update(at=ACME, spec_slug="pets", visibility="public"))
    assert changed.visibility == "public"
    await ask(openapi.Delete(at=ACME, spec_slug="pets"))
    await ask(openapi.Delete(at=ACME, spec_slug="pets"))
    assert "no OpenAPI specification “pets”" in await check_refused(_get(ask), 404)
    await check_refused(ask(openapi.ListVersions(at=ACME, spec_slug="pets")), 404)
    await check_refused(ask(openapi.Update(at=ACME, spec_slug="pets", visibility="public")), 404)


async def test_members_read_and_creators_write_specifications(ask: Ask) -> None:
    source = Source(text=YAML)
    await ask(openapi.Create(at=ACME, slug="pets", source=source), "mia")
    seen = await ask(openapi.Get(at=ACME, spec_slug="pets"), "sam")
    assert (seen.permissions.view, seen.permissions.edit) == (True, False)
    assert "need the Creator role" in await check_refused(
        ask(openapi.Create(at=ACME, slug="b", source=source), "tom"), 403
    )
    await check_refused(ask(openapi.Put(at=ACME, spec_slug="pets", source=source), "tom"), 403)
    await check_refused(ask(openapi.Update(at=ACME, spec_slug="pets", visibility="public"), "tom"), 403)
    await check_refused(ask(openapi.Delete(at=ACME, spec_slug="pets"), "tom"), 403)
    for op in (openapi.List(at=ACME), openapi.ListVersions(at=ACME, spec_slug="pets")):
        await check_refused(ask(op, "gil"), 403)
    await check_refused(ask(openapi.GetLatestVersion(at=ACME, spec_slug="pets"), "gil"), 403)
    await check_refused(ask(openapi.List(at=ACME), "eve"), 404)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", "is not valid JSON"),
        ("a: [", "is not valid YAML"),
        ("hello", "is not an object"),
        ("[]", "is not an object"),
        ('{"info": {"title": "x"}, "paths": {}}', "Neither `openapi"),
        ('{"openapi": "3.0.0", "paths": {}}', "info.title is missing"),
        ('{"openapi": "3.0.0", "info": {"title": "x"}}', "paths is missing"),
        ("[" * 5000 + "]" * 5000, "Could not read the file: it has more than 200 levels"),
        ("a: &a !!python/object:os.system x", "is not valid YAML"),
        ("a: 0x" + "f" * 5000, "too large"),
    ],
)
def test_invalid_specification_reports_the_cause(text: str, sentence: str) -> None:
    with pytest.raises(SpecificationError, match=sentence):
        read_specification(text)


def test_yaml_alias_bomb_is_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    with pytest.raises(SpecificationError, match="more than"):
        read_specification("\n".join(lines))
    with pytest.raises(SpecificationError, match="larger than"):
        read_specification("x" * (5 << 20))


def test_recursive_yaml_is_no_specification() -> None:
    with pytest.raises(SpecificationError, match="nested levels"):
        read_specification("a: &a [*a]")
